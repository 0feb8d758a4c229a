#include "bench/gauntlet/peers/program.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "capstan/math/rotation.h"
#include "capstan/scene/rod.h"
#include "capstan/scene/soft_body.h"

namespace capstan::gauntlet {

std::vector<BodyState> start_of(const Task& task) {
  std::vector<BodyState> bodies(task.num_recorded());
  make_capstan(task, 0.001, {})->get(bodies);
  return bodies;
}

Material material_of(const Task& task) {
  for (const Material& material : task.scene.materials) {
    if (material.name == "default") return material;
  }
  return {};
}

int body_index(const Task& task, const std::string& name) {
  for (std::size_t i = 0; i < task.scene.bodies.size(); ++i) {
    if (task.scene.bodies[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const Joint* joint_of(const Task& task, const std::string& name, int* body) {
  for (std::size_t i = 0; i < task.scene.bodies.size(); ++i) {
    for (const Joint& joint : task.scene.bodies[i].joints) {
      if (joint.name != name) continue;
      if (body) *body = static_cast<int>(i);
      return &joint;
    }
  }
  throw CannotExpress("there is no joint '" + name + "'");
}

std::vector<Wrench> wrenches(const Task& task) {
  std::vector<Wrench> list;
  for (const Actuator& actuator : task.scene.actuators) {
    Wrench wrench;
    if (joint_of(task, actuator.joint, &wrench.body)->type != JointType::free) continue;
    const double u = actuator.gain * actuator.control;
    wrench.force = u * actuator.gear.head<3>();
    wrench.torque = u * actuator.gear.tail<3>();
    list.push_back(wrench);
  }
  return list;
}

namespace {

// What most engines lack; the rest is told by make_runner().
void refuse(const Task& task) {
  if (!task.scene.rods.empty() && kNoRods) throw CannotExpress(kNoRods);
  if (!task.scene.soft_bodies.empty() && kNoSoftBodies) throw CannotExpress(kNoSoftBodies);
  if (material_of(task).contact == ContactModel::patch && kNoPatches) throw CannotExpress(kNoPatches);
}

nlohmann::json number(double x) {
  return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(nullptr);
}

// Stops when it has taken too long.
class LimitedRunner : public Runner {
 public:
  LimitedRunner(Runner* runner, double limit) : runner_(runner), limit_(limit) {}
  void step() override {
    const double passed = static_cast<double>(std::clock() - began_) / CLOCKS_PER_SEC;
    if (passed > limit_)
      throw std::runtime_error(fmt::format("took more than {:g} s of the processor", limit_));
    runner_->step();
  }
  void get(std::span<BodyState> bodies) override { runner_->get(bodies); }
  Built describe() override { return runner_->describe(); }

 private:
  Runner* runner_;
  double limit_;
  std::clock_t began_ = std::clock();
};

template <class Numbers>
nlohmann::json numbers(const Numbers& values) {
  return std::vector<double>(values.begin(), values.end());
}

nlohmann::json as_json(const Task& task, Runner* runner) {
  const Built built = runner->describe();
  std::vector<BodyState> states(task.num_recorded());
  runner->get(states);
  nlohmann::json bodies = nlohmann::json::array(), shapes = nlohmann::json::array();
  for (std::size_t i = 0; i < built.bodies.size(); ++i) {
    const BuiltBody& body = built.bodies[i];
    const BodyState& s = states[i];
    bodies.push_back({{"name", task.scene.bodies[i].name},
                      {"mass", body.mass},
                      {"com", numbers(body.com)},
                      {"inertia", numbers(body.inertia.reshaped())},
                      {"position", numbers(s.position)},
                      {"rotation", numbers(rotation_matrix(s.quat_wxyz).reshaped())},
                      {"velocity", numbers(s.velocity)},
                      {"angular", numbers(s.angular)}});
  }
  for (const BuiltShape& shape : built.shapes) {
    shapes.push_back({{"body", shape.body},
                      {"type", shape.type},
                      {"size", shape.size},
                      {"position", numbers(shape.X.p)},
                      {"rotation", numbers(shape.X.R.reshaped())}});
  }
  return {{"gravity", numbers(built.gravity)}, {"bodies", bodies}, {"shapes", shapes}};
}

struct ProgramOptions {
  PeerSettings settings;
  std::string trajectory;
  double limit = kInfinity;  // [s]
  bool describes = false;
};

void run_one(const std::string& file, const ProgramOptions& options) {
  const PeerSettings& settings = options.settings;
  const Task task = read_task(file);
  nlohmann::json line = {{"engine", kEngine},
                         {"version", engine_version()},
                         {"accurate", settings.accurate},
                         {"dt", settings.dt},
                         {"scene", task.name}};
  try {
    std::string trouble;
    refuse(task);
    const std::unique_ptr<Runner> runner = make_runner(task, settings);
    if (options.describes) {
      line["built"] = as_json(task, runner.get());
    } else {
      LimitedRunner limited(runner.get(), options.limit);
      const Trajectory trajectory = run(task, settings.dt, &limited, &trouble);
      if (!options.trajectory.empty()) write_trajectory(trajectory, options.trajectory);
      const Verdict verdict = judge(task, trajectory, trouble);
      line["measured"] = number(verdict.measured);
      line["error"] = number(verdict.error);
      line["pass"] = verdict.pass;
      line["trouble"] = verdict.trouble;
    }
  } catch (const CannotExpress& error) {
    line["cannot"] = error.what();
  }
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

}  // namespace

int run_program(int argc, char** argv) {
  ProgramOptions options;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--accurate") == 0) {
      options.settings.accurate = true;
    } else if (std::strcmp(argv[i], "--dt") == 0 && i + 1 < argc) {
      options.settings.dt = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--trajectory") == 0 && i + 1 < argc) {
      options.trajectory = argv[++i];
    } else if (std::strcmp(argv[i], "--limit") == 0 && i + 1 < argc) {
      options.limit = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--describe") == 0) {
      options.describes = true;
    } else {
      files.push_back(argv[i]);
    }
  }
  try {
    for (const std::string& file : files) run_one(file, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", kEngine, error.what());
    return 1;
  }
  return 0;
}

}  // namespace capstan::gauntlet

int main(int argc, char** argv) {
  return capstan::gauntlet::run_program(argc, argv);
}
