// What the programs of this folder have in common: the command line, the timed loop, the judge and the line
// of JSON. A program is one engine: it implements make_engine() and nothing else.
//
// The judge is the same for all: the poses of every step go to a file, and after the run overlaps are
// computed by Capstan's narrow phase, speeds and energy from differences of poses. No engine grades itself.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/peers/scene.h"

namespace bench {

struct Pose {
  Vec position;                     // [m] of the body's frame
  std::array<double, 4> quat_wxyz;  // unit
};

// Settings of an engine by name, from the command line: --set name=value.
struct Settings {
  std::map<std::string, std::string> values;
  std::string take(const std::string& name, const std::string& otherwise);  // and forget it
  double take(const std::string& name, double otherwise);
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual void step() = 0;                            // the only thing that is timed
  virtual void get_poses(std::span<Pose> poses) = 0;  // of Scene::tracked
  virtual void set_speed(double) {}                   // of body 0 along x [m/s]
  virtual int threads() const { return 1; }
  virtual int contacts() const = 0;                 // of the last step
  virtual double iterations() const { return -1; }  // of the last step; -1: not told
  virtual double residual() const { return -1; }    // certified, of the last step; -1: not told
};

// Defined by each program. Throws std::runtime_error with a reason when the engine cannot have this scene or
// setting; a setting that it does not know is such a reason.
std::unique_ptr<Engine> make_engine(const Scene& scene, Settings* settings);
extern const char* const kEngineName;
std::string engine_version();

int run_program(int argc, char** argv);

}  // namespace bench
