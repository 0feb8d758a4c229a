// Not an engine: gives a recording of poses that another program made (drake_peer.py) to the judge. Settings:
// recording (file), steps.
#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "bench/peers/harness.h"

namespace bench {
namespace {

class Replay : public Engine {
 public:
  Replay(const Scene& scene, Settings* settings)
      : file_(std::fopen(settings->take("recording", "").c_str(), "rb")),
        left_(static_cast<long>(settings->take("steps", 0.0))),
        poses_(scene.tracked.size()) {
    if (file_ == nullptr) throw std::runtime_error("the recording cannot be read");
    for (std::size_t i = 0; i < poses_.size(); ++i) {
      if (scene.tracked[i] != "b" + std::to_string(i))
        throw std::runtime_error("this scene is not free bodies");
    }
    read();
  }
  ~Replay() override { std::fclose(file_); }

  void step() override {
    if (left_-- <= 0) throw std::runtime_error("the recording ends here");
    read();
  }
  void get_poses(std::span<Pose> poses) override { std::copy(poses_.begin(), poses_.end(), poses.begin()); }
  int contacts() const override { return -1; }

 private:
  void read() {
    if (std::fread(poses_.data(), sizeof(Pose), poses_.size(), file_) != poses_.size()) {
      throw std::runtime_error("the recording is too short");
    }
  }

  std::FILE* file_;
  long left_;
  std::vector<Pose> poses_;
};

}  // namespace

const char* const kEngineName = "replay";
std::string engine_version() {
  return "";
}
std::unique_ptr<Engine> make_engine(const Scene& scene, Settings* settings) {
  return std::make_unique<Replay>(scene, settings);
}

}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program(argc, argv);
}
