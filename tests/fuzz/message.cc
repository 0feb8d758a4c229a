// Messages of a viewer's client, each after a byte of its size: to a live simulation, or to a recording that
// is played when the first byte is odd. All of them are carried out, whatever they say, and the player then
// still answers.
#include <chrono>
#include <thread>

#include "tests/fuzz/fuzz.h"
#include "viewer/server.h"

using namespace capstan;
using viewer::Json;

namespace {

constexpr double kPatience = 15;  // [s]

const Model& model() {
  static const Model model = [] {
    Diagnostics diagnostics;
    const Scene scene = read_yaml_text(R"(capstan: 1
shapes: [{name: floor, type: half_space}]
bodies:
  - {name: ball, position: [0, 0, 0.1], joint: {type: free}, shape: {type: sphere, radius: 0.1}}
  - {name: arm, position: [1, 0, 1], joint: {name: arm, type: revolute, limits: [-1, 1]}, shape: {type: box, size: [1, 0.1, 0.1]}}
actuators: [{name: motor, type: pd, joint: arm, stiffness: 10, damping: 1}]
)",
                                       {}, &diagnostics);
    fuzz::require(diagnostics.ok(), diagnostics.text());
    return compile(scene);
  }();
  return model;
}

std::unique_ptr<viewer::Player> make_player(bool of_recording) {
  if (!of_recording) return viewer::simulate_live(model(), step_options(model()), initial_state(model()));
  static const std::string path = [] {
    Diagnostics diagnostics;
    const Scene scene = read_yaml_text(
        "capstan: 1\nbodies: [{name: a, joint: {type: free}, shape: {type: sphere, radius: 0.1}}]\n", {},
        &diagnostics);
    const Model of = compile(scene);
    const StepOptions options = step_options(of);
    const std::string file = fuzz::file_of("played.capstan", "");
    RecordingWriter writer(file, of, recording_header(scene, of, "", options, 1));
    State state = initial_state(of);
    Workspace workspace = make_workspace(of);
    for (int i = 0; i < 5; ++i)
      writer.append(state, step(of, options, {}, &state, &workspace), &workspace, 0);
    writer.close();
    return file;
  }();
  return viewer::play_recording(std::make_unique<Recording>(path));
}

// Until the player's thread has carried out all that was asked for before.
void wait_for(viewer::Player* player) {
  const double speed = 0.12345;
  const auto began = std::chrono::steady_clock::now();
  bool asked = false;
  for (;;) {
    if (!asked) asked = player->command({{"command", "speed"}, {"value", speed}}).empty();
    if (asked && Json::from_msgpack(*player->last_status())["speed"] == speed) return;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    fuzz::require(waited < kPatience, "the player does not answer any more");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto player = make_player(data[0] % 2 == 1);
  player->start(false);
  for (std::size_t i = 1; i < size;) {
    const std::size_t n = std::min<std::size_t>(data[i], size - i - 1);
    viewer::take_message(data + i + 1, n, player.get());
    i += n + 1;
  }
  wait_for(player.get());
  player->stop();
  return 0;
}
