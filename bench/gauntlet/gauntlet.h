// The gauntlet: small scenes with a known answer, the same for every engine (README.md here).
//
// A Task is one scene file. An engine turns it into a Trajectory: where all bodies are, and how they move, at
// the start and after every step. measure() reads the one number of the task from that, by the same code for
// all engines; judge() compares it with the answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "capstan/scene/scene.h"

namespace capstan::gauntlet {

// What is measured: a quantity of a body at every sample, and one number of that history.
struct Measure {
  std::string quantity;  // of kQuantities
  std::string over;      // of kReductions
  std::string body, relative_to;
  std::string bodies;               // of tilted: the bodies whose names begin so; "": all
  Vec3 point = Vec3::Zero();        // [m] body frame
  Vec3 axis = Vec3(0, 0, 1);        // of `turn`: world axes
  double value = 0;                 // of time_above, time_below and tilted
  int nth = 1;                      // which crossing
  double from = 0, to = kInfinity;  // [s] samples that count
  std::string unit() const;         // "m", "rad/s", ...
};

// A point of a rod or of a soft body that is recorded as if it were a body, or all of one.
struct Probe {
  std::string name;
  std::string object;         // the rod or soft body
  std::optional<Vec3> start;  // [m] where the point is at the start, world axes; none: the whole object
};

// Settings of Capstan that are known to fail a task, and why.
struct KnownFailure {
  std::vector<std::string> laws;
  std::string integrator = "semi_implicit";
  std::vector<double> steps;  // [s]
  std::string why;
};

struct Task {
  std::string name;  // of the file, without its extension
  std::string title, shows, group, why;
  Scene scene;
  std::vector<Probe> probes;
  Measure measure;
  double answer = 0, tolerance = 0;  // in units of the measure
  std::vector<KnownFailure> known_failures;

  double duration() const { return scene.options.duration; }
  // What a trajectory has states of: the bodies of the scene, then the probes.
  std::size_t num_recorded() const { return scene.bodies.size() + probes.size(); }
  // Mass, centre and inertia of body i of the scene, in its own frame.
  Inertia inertia(std::size_t i) const;
  // Null when Capstan with these settings is expected to pass.
  const KnownFailure* known_failure(const std::string& law, const std::string& integrator, double dt) const;
};

extern const std::vector<std::string> kQuantities, kReductions, kGroups;

// Problems are added to `diagnostics`, as by read_scene().
Task read_task(const std::string& path, Diagnostics* diagnostics);
Task read_task(const std::string& path);  // throws InputError

// The files of the source tree, by name.
std::vector<std::string> task_files();
std::string task_folder();

// Of a probe at a point: its position and velocity. Of one that is a whole object: its centre of mass, the
// velocity of that, and for `angular` its angular momentum about it over its mass [m^2/s].
struct BodyState {
  Vec3 position = Vec3::Zero();       // [m] of the body's frame, world axes
  Vec4 quat_wxyz = Vec4(1, 0, 0, 0);  // unit
  Vec3 velocity = Vec3::Zero();       // [m/s] of the origin of the body's frame, world axes
  Vec3 angular = Vec3::Zero();        // [rad/s] world axes
};

struct Trajectory {
  std::size_t num_bodies = 0;     // in the order of Scene::bodies, then that of Task::probes
  std::vector<double> time;       // [s]
  std::vector<BodyState> states;  // num_bodies for each time
  std::span<const BodyState> at(std::size_t sample) const {
    return {states.data() + sample * num_bodies, num_bodies};
  }
};

// A text file: for each sample a line of the time and, for each body, position, quaternion (w, x, y, z),
// velocity and angular velocity: 1 + 13 numbers for each body.
void write_trajectory(const Trajectory& trajectory, const std::string& path);
Trajectory read_trajectory(std::size_t num_bodies, const std::string& path);

// NaN where what is asked for never happened, or a body has left for infinity.
double measure(const Task& task, const Trajectory& trajectory);

struct Verdict {
  double measured = 0, error = 0;  // error = measured - answer
  bool pass = false;
  std::string trouble;  // why there is no trajectory to the end, or ""
};
Verdict judge(const Task& task, const Trajectory& trajectory, const std::string& trouble);

// What an engine has made of a scene, as the engine itself tells it: world axes, at the start.
struct BuiltBody {
  double mass = 0;              // [kg]
  Vec3 com = Vec3::Zero();      // [m]
  Mat3 inertia = Mat3::Zero();  // [kg m^2] about com
};
struct BuiltShape {
  std::string body;  // "": the world
  std::string type;  // as in a scene file
  std::vector<double>
      size;     // [m] radius; full size; radius, length; of meshes the lowest, the highest corner
  Transform X;  // of meshes not told
};
struct Built {
  std::vector<BuiltBody> bodies;
  std::vector<BuiltShape> shapes;  // those that collide
  Vec3 gravity = Vec3::Zero();
};
BuiltShape built_points(const std::string& body, const std::string& type, const std::vector<Vec3>& points);

// An engine with a scene in it, at its start.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void step() = 0;
  virtual void get(std::span<BodyState> bodies) = 0;
  virtual Built describe() = 0;  // before the first step
};

// The engine has no such thing: a dash in the table, not a failure.
struct CannotExpress : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Steps of dt to the end of the task. What a step throws ends it and is told in `trouble`.
Trajectory run(const Task& task, double dt, Runner* runner, std::string* trouble);

// [kg] of a rod or soft body of the scene.
double flexible_mass(const Scene& scene, const std::string& name);

struct CapstanSettings {
  std::string law;         // "": the default of a scene
  std::string integrator;  // likewise
};
std::unique_ptr<Runner> make_capstan(const Task& task, double dt, const CapstanSettings& settings);

}  // namespace capstan::gauntlet
