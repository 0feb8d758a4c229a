#include <fmt/core.h>

#include <algorithm>

#include "apps/capstan/commands.h"
#include "viewer/html.h"
#include "viewer/server.h"

namespace capstan::cli {
namespace {

std::unique_ptr<viewer::Server> open_server(const ViewOptions& o, const std::string& page,
                                            viewer::Player* player) {
  viewer::ServerOptions options;
  options.address = o.host;
  options.token = o.token;
  options.page = page;
  options.port = static_cast<unsigned short>(o.port);
  options.log = [](const std::string& line) { fmt::print(stderr, "viewer: {}\n", line); };
  try {
    return std::make_unique<viewer::Server>(options, player);
  } catch (const std::runtime_error& error) {
    if (o.port == 0 || !o.token.empty()) throw UsageError(error.what());
    options.port = 0;
    try {
      return std::make_unique<viewer::Server>(options, player);
    } catch (const std::runtime_error& second) {
      throw UsageError(second.what());
    }
  }
}

void check_options(const ViewOptions& o) {
  if (o.port < 0 || o.port > 65535) throw UsageError(fmt::format("--port is {}; give 0 to 65535", o.port));
  const bool plain = std::all_of(o.token.begin(), o.token.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
  if (!plain) throw UsageError("--token may have letters, digits, - and _ only");
  choose_step_options({}, o.dt, o.integrator);
  choose_contact_law({}, o.contact_law);
}

}  // namespace

int view(const ViewOptions& o) {
  check_options(o);
  const std::string page = viewer::read_page();
  Model model;
  std::unique_ptr<viewer::Player> player;
  if (is_recording(o.what)) {
    if (o.dt || !o.integrator.empty() || !o.contact_law.empty() || !o.keyframe.empty()) {
      throw UsageError(
          "a recording is played as it is: --dt, --integrator, --contact-law and --keyframe are for scenes");
    }
    auto recording = std::make_unique<Recording>(o.what);
    model = recorded_model(recording->header(), recorded_scene(recording->header()));
    if (!recording->complete()) fmt::print(stderr, "note: {}: {}\n", o.what, recording->note());
    player = viewer::play_recording(std::move(recording), model);
  } else {
    LoadedScene loaded = load(o.what, false);
    tell_warnings(loaded);
    model = std::move(loaded.model);
    const StepOptions step =
        choose_contact_law(choose_step_options(step_options(model), o.dt, o.integrator), o.contact_law);
    player = viewer::simulate_live(
        model, step, o.keyframe.empty() ? initial_state(model) : keyframe_state(model, o.keyframe));
  }
  const std::unique_ptr<viewer::Server> server = open_server(o, page, player.get());
  fmt::print("{}\n", server->url());
  fmt::print("Open this address in a browser; Ctrl-C ends it.\n");
  if (o.host == "127.0.0.1") {
    fmt::print("From another machine: ssh -L {0}:localhost:{0} HOST, then http://localhost:{0}/... there.\n",
               server->port());
  }
  std::fflush(stdout);
  player->start(!o.paused);
  server->run();
  player->stop();
  return kOk;
}

}  // namespace capstan::cli
