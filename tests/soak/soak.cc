// soak [--minutes m] [--seed n]: simulations without end, of the kinds that people run, and what leaks shows.
//
// Episode after episode: a random heap or a shipped robot, with a random law, sleep and number of threads, is
// stepped and recorded; the recording is read again and its first steps are taken again. Then the same scene
// runs live, with a server and a client that watches, pulls, steers and goes back. Watched are
//
//   memory, descriptors   after each episode; they may not grow
//   time per step         of the same resting heap at the beginning and at the end
//   energy                of heaps, which nothing drives: never above that of the start
//   bits                  of the steps that are taken again
//
// One line tells the result; the exit code is 1 when one of them fails.
#include "viewer/server.h"

#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "capstan/io/read.h"
#include "tests/support/contact_simulation.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;
namespace asio = boost::asio;
namespace beast = boost::beast;
using viewer::Json;

constexpr int kSteps = 600, kReplayed = 60;
constexpr double kLiveSeconds = 3;
constexpr double kEnergyMargin = 1e-3;          // relative: contacts give back what they stored
constexpr double kGrowth = 8, kGrowthRate = 4;  // [MB], and [MB] for an hour
constexpr double kSlower = 2.5;  // times: of processor time, but caches are shared with other programs

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double resident_megabytes() {
  malloc_trim(0);
  long total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return 1e-6 * static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

int open_descriptors() {
  return static_cast<int>(std::distance(fs::directory_iterator("/proc/self/fd"), {})) - 1;
}

struct Findings {
  int count = 0;
  void add(const std::string& what) {
    ++count;
    fmt::print(stderr, "soak: finding: {}\n", what);
  }
};

class Soak {
 public:
  Soak(double minutes, unsigned seed) : random_(seed), minutes_(minutes) {
    char name[] = "/tmp/capstan_soak_XXXXXX";
    if (mkdtemp(name) == nullptr) throw std::runtime_error("cannot make a folder in /tmp");
    folder_ = name;
  }
  ~Soak() { fs::remove_all(folder_); }

  int run() {
    const double began = wall_seconds();
    const auto hours = [&] { return (wall_seconds() - began) / 3600; };
    int episodes = 0, descriptors = 0;
    double warm_memory = 0, memory = 0, warm_hours = 0;
    const double first = time_of_resting_heap();
    while (episodes < 4 || hours() * 60 < minutes_) {
      episode();
      ++episodes;
      memory = resident_megabytes();
      if (episodes == 4 || (episodes > 4 && hours() * 60 < 0.3 * minutes_)) {  // all kinds were there
        warm_memory = std::max(warm_memory, memory);
        warm_hours = hours();
        descriptors = open_descriptors();
      }
    }
    const double last = time_of_resting_heap();
    const double allowed = kGrowth + kGrowthRate * (hours() - warm_hours);
    if (memory > warm_memory + allowed)
      findings_.add(fmt::format("memory grew from {:.1f} to {:.1f} MB", warm_memory, memory));
    if (open_descriptors() != descriptors)
      findings_.add(fmt::format("{} descriptors are open, and were {}", open_descriptors(), descriptors));
    if (last > kSlower * first)
      findings_.add(fmt::format("a resting heap takes {:.1f} us a step, and took {:.1f}", last, first));
    fmt::print(
        "soak: {:.2f} h, {} episodes, {} steps ({} failed), {} frames seen live, {} steps taken again; "
        "memory {:.1f} MB "
        "when warm, {:.1f} at the end; {} descriptors; resting heap {:.1f} us a step, then {:.1f}; largest "
        "gain of energy "
        "{:.1e}; {} findings\n",
        hours(), episodes, steps_, failed_, frames_, replayed_, warm_memory, memory, descriptors, first, last,
        largest_gain_, findings_.count);
    return findings_.count > 0;
  }

 private:
  template <class... T>
  auto one_of(T... x) {
    const std::common_type_t<T...> list[] = {x...};
    return list[random_() % sizeof...(T)];
  }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) / 9007199254740992.0;
  }

  Scene heap() {
    Scene scene = test::falling_heap(8 + static_cast<int>(random_() % 33));
    for (ShapeInstance& shape : scene.shapes) {
      if (shape.body == kWorld) continue;
      // Within 55 mm of their middles, so that they begin apart: an overlap would be energy that nobody
      // counted.
      const double a = uniform(0.01, 0.03), b = uniform(0.01, 0.025), c = uniform(0.01, 0.03);
      switch (random_() % 5) {
        case 0:
          shape.shape = Sphere{a};
          break;
        case 1:
          shape.shape = Box{Vec3(a, b, c)};
          break;
        case 2:
          shape.shape = Capsule{a, b};
          break;
        case 3:
          shape.shape = Cylinder{a, b};
          break;
        default:
          shape.shape = Ellipsoid{Vec3(a, b, c)};
      }
    }
    scene.materials[0].friction = uniform(0, 1);
    scene.options.dt = one_of(0.002, 0.005, 0.01);
    return scene;
  }
  Scene shipped() {
    const std::string name =
        one_of("quadruped.yaml", "humanoid.xml", "arm_reach.yaml", "conveyor.yaml", "card_house.yaml",
               "grasp.yaml", "scissor_lift.yaml", "rope_over_peg.yaml", "crowned_pulley.yaml",
               "soft_stack.yaml", "patch_gripper.yaml");
    return read_scene(CAPSTAN_SOURCE_DIR "/scenes/" + name);
  }

  // [us] of processor time.
  static double time_of_resting_heap() {
    const Model model = compile(test::falling_heap(16));
    const StepOptions options = step_options(model);
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    for (int i = 0; i < 400; ++i) step(model, options, {}, &state, &workspace);
    double least = kInfinity;
    for (int k = 0; k < 5; ++k) {
      const std::clock_t before = std::clock();
      for (int i = 0; i < 100; ++i) step(model, options, {}, &state, &workspace);
      least = std::min(least, 1e6 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC / 100);
    }
    return least;
  }

  void episode() {
    const bool is_heap = random_() % 2 == 0;
    const Scene scene = is_heap ? heap() : shipped();
    const Model model = compile(scene);
    StepOptions options = step_options(model);
    if (is_heap) {
      options.contact.law =
          one_of(ContactLaw::coulomb, ContactLaw::sap, ContactLaw::lagged, ContactLaw::regularized_lagged);
    }
    options.sleep.on = random_() % 2 == 0;
    options.threads = 1 + static_cast<int>(random_() % 2);
    options.most_seconds = 60;
    const std::string path = folder_ + "/run.capstan";
    simulate(scene, model, options, is_heap, path);
    replay(path);
    live(scene, model, options);
  }

  void simulate(const Scene& scene, const Model& model, const StepOptions& options, bool is_passive,
                const std::string& path) {
    RecordingWriter writer(path, model, recording_header(scene, model, "", options, 1));
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    const double start = calc_mechanics(model, state).total();
    writer.append(state, {}, nullptr, 0);
    for (int i = 0; i < kSteps; ++i) {
      try {
        writer.note_input(state, {});
        const Report report = step(model, options, {}, &state, &workspace);
        writer.append(state, report, &workspace, 0);
        ++steps_;
      } catch (const StepFailure& failure) {
        ++failed_;
        findings_.add(fmt::format("{}: {}", model.name, failure.what()));
        break;
      }
      if (!is_passive) continue;
      const double gain = (calc_mechanics(model, state).total() - start) / std::abs(start);
      largest_gain_ = std::max(largest_gain_, gain);
      if (gain > kEnergyMargin) {
        findings_.add(fmt::format("a heap gained {:.1e} of its energy at step {}", gain, i));
        break;
      }
    }
    writer.close();
  }

  void replay(const std::string& path) {
    Recording recording(path);
    const Model& model = recording.model();
    State state = recording.frame(0).state;
    Workspace workspace = make_workspace(model);
    for (long i = 1; i < std::min<long>(recording.num_frames(), kReplayed); ++i, ++replayed_) {
      step(model, recording.header().options, {}, &state, &workspace);
      if (hash(state) != recording.frame(i).hash) {
        findings_.add(fmt::format("step {} of {} has other bits when it is taken again", i, model.name));
        return;
      }
    }
    for (long i = 0; i < recording.num_frames(); ++i) recording.frame(i);
  }

  void live(const Scene& scene, const Model& model, const StepOptions& options) {
    viewer::LiveRecording live;
    live.open = [&](int part) {
      return std::make_unique<RecordingWriter>(fmt::format("{}/live_{}.capstan", folder_, part % 2), model,
                                               recording_header(scene, model, "", options, 1));
    };
    const auto player = viewer::simulate_live(model, options, initial_state(model), live);
    viewer::ServerOptions server_options;
    server_options.token = "soak";
    viewer::Server server(server_options, player.get());
    player->start(true);
    std::thread serving([&] { server.run(); });
    try {
      watch(server.port(), model);
    } catch (const std::exception& error) {
      findings_.add(fmt::format("the client of {} was told: {}", model.name, error.what()));
    }
    server.stop();
    serving.join();
    player->stop();
  }

  Json random_command(const Model& model) {
    switch (random_() % 8) {
      case 0:
        return {{"command", "pause"}};
      case 1:
        return {{"command", "reset"}};
      case 2:
        return {{"command", "seek"}, {"time", uniform(0, 2)}};
      case 3:
        return {{"command", "speed"}, {"value", uniform(0.5, 4)}};
      case 4:
        return {{"command", "control"}, {"index", 0}, {"value", uniform(-1, 1)}};
      case 5:
        return {{"command", "release"}};
      case 6:
        return {{"command", "drag"},
                {"link", 1 + random_() % (model.links.size() - 1)},
                {"point", {0, 0, 0}},
                {"target", {uniform(-1, 1), uniform(-1, 1), uniform(0, 2)}}};
      default:
        return {{"command", "step"}};
    }
  }

  void watch(unsigned short port, const Model& model) {
    asio::io_context context;
    beast::websocket::stream<beast::tcp_stream> socket(context);
    beast::get_lowest_layer(socket).connect({asio::ip::make_address("127.0.0.1"), port});
    socket.binary(true);
    socket.handshake("127.0.0.1:" + std::to_string(port), "/ws?token=soak");
    const auto send = [&](const Json& message) { socket.write(asio::buffer(Json::to_msgpack(message))); };
    double told = 0;
    for (const double began = wall_seconds(); wall_seconds() - began < kLiveSeconds;) {
      if (wall_seconds() - told > 0.1) {
        send(random_command(model));
        send({{"command", "play"}});
        told = wall_seconds();
      }
      beast::flat_buffer buffer;
      beast::get_lowest_layer(socket).expires_after(std::chrono::seconds(20));
      socket.read(buffer);
      const auto* begin = static_cast<const std::uint8_t*>(buffer.data().data());
      const Json message = Json::from_msgpack(begin, begin + buffer.size());
      if (message["type"] == "frame") {
        ++frames_;
        send({{"command", "seen"}});
      }
    }
    socket.close(beast::websocket::close_code::normal);
  }

  std::mt19937_64 random_;
  double minutes_;
  std::string folder_;
  Findings findings_;
  long steps_ = 0, failed_ = 0, frames_ = 0, replayed_ = 0;
  double largest_gain_ = 0;
};

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  double minutes = 1;
  unsigned seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--minutes") == 0) minutes = std::atof(argv[i + 1]);
    if (std::strcmp(argv[i], "--seed") == 0) seed = static_cast<unsigned>(std::atoi(argv[i + 1]));
  }
  return capstan::Soak(minutes, seed).run();
}
