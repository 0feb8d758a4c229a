#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "apps/capstan/commands.h"
#include "apps/capstan/simulate.h"
#include "capstan/io/output_file.h"
#include "capstan/io/recording_hdf5.h"
#include "viewer/html.h"
#include "viewer/server.h"

namespace capstan::cli {
namespace {

// Left out where stderr is a pipe that nobody reads: whoever connects could make the server wait for ever.
void tell_unless_full(const std::string& line) {
  pollfd out = {STDERR_FILENO, POLLOUT, 0};
  if (poll(&out, 1, 0) != 0) tell("viewer: {}\n", line);
}

std::unique_ptr<viewer::Server> open_server(const ViewOptions& o, const std::string& page,
                                            viewer::Player* player) {
  viewer::ServerOptions options;
  options.address = o.host;
  options.token = o.token;
  options.page = page;
  options.port = static_cast<unsigned short>(o.port);
  if (!o.paused) options.on_first_viewer = [player] { player->command({{"command", "play"}}); };
  options.log = tell_unless_full;
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

// out.capstan, out_2.capstan, out_3.capstan, ...: the file of a part of the run.
std::string part_name(const std::string& path, int part) {
  if (part == 1) return path;
  const std::filesystem::path p = path;
  return (p.parent_path() / fmt::format("{}_{}{}", p.stem().string(), part, p.extension().string())).string();
}

viewer::LiveRecording live_recording(const std::string& path, const LoadedScene& loaded, const Model& model,
                                     const StepOptions& step, std::vector<std::string>* files) {
  viewer::LiveRecording recording;
  if (path.empty()) return recording;
  const bool is_hdf5 = is_hdf5_name(path);
  RecordingHeader header;
  if (!is_hdf5) header = recording_header(loaded.scene, model, loaded.path, step, model.options.duration);
  FILE* probe = std::fopen(path.c_str(), "ab");  // told now, not when the first step is taken
  if (!probe) throw OutputError(path, std::strerror(errno));
  std::fclose(probe);
  recording.every = default_record_every(step.dt);
  recording.open = [path, is_hdf5, file = loaded.path, &model, step, files, header,
                    sensors = logged_sensors(model, loaded.scene)](int part) -> std::unique_ptr<Recorder> {
    const std::string name = part_name(path, part);
    files->push_back(name);
    if (is_hdf5) return std::make_unique<Hdf5Recorder>(name, model, file, step, sensors);
    return std::make_unique<RecordingWriter>(name, model, header);
  };
  return recording;
}

}  // namespace

void open_browser(const std::string& url) {
  const auto is_set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY")) return;
  std::string program = "xdg-open", address = url;
  char* const arguments[] = {program.data(), address.data(), nullptr};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  posix_spawnp(&child, program.c_str(), &quiet, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&quiet);
}

int view(const ViewOptions& o) {
  check_options(o);
  const std::string page = viewer::read_page();
  Model model;
  std::vector<std::string> recorded;
  std::unique_ptr<viewer::Player> player;
  if (is_recording(o.what)) {
    if (o.dt || !o.integrator.empty() || !o.contact_law.empty() || !o.keyframe.empty() || !o.record.empty()) {
      throw UsageError(
          "a recording is played as it is: --dt, --integrator, --contact-law, --keyframe and --record are "
          "for "
          "scenes");
    }
    auto recording = std::make_unique<Recording>(o.what);
    if (!recording->complete()) tell("note: {}: {}\n", o.what, recording->note());
    player = viewer::play_recording(std::move(recording));
  } else {
    LoadedScene loaded = load(o.what, false);
    tell_warnings(loaded);
    model = loaded.model;
    const StepOptions step =
        choose_contact_law(choose_step_options(step_options(model), o.dt, o.integrator), o.contact_law);
    if (!o.record.empty() && same_file(o.record, loaded.path)) {
      throw UsageError(
          fmt::format("--record would overwrite the input file '{}'; choose another name", o.record));
    }
    player = viewer::simulate_live(
        model, step, o.keyframe.empty() ? initial_state(model) : keyframe_state(model, o.keyframe),
        live_recording(o.record, loaded, model, step, &recorded), load_schedule(loaded),
        logged_sensors(model, loaded.scene));
  }
  const std::unique_ptr<viewer::Server> server = open_server(o, page, player.get());
  fmt::print("{}\n", server->url());
  fmt::print("Open this address in a browser; Ctrl-C ends it.\n");
  if (o.host == "127.0.0.1") {
    fmt::print("From another machine: ssh -L {0}:localhost:{0} HOST, then http://localhost:{0}/... there.\n",
               server->port());
  }
  std::fflush(stdout);
  if (!o.no_browser) open_browser(server->url());
  player->start(false);  // until a page is open
  server->run();
  player->stop();
  player.reset();  // ends the recording
  for (const std::string& file : recorded) fmt::print("recorded {}\n", file);
  return kOk;
}

}  // namespace capstan::cli
