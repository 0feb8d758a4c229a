#include "bench/gauntlet/peers/program.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

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
  if (material_of(task).contact == ContactModel::patch)
    throw CannotExpress("bodies touch at points, not over areas");
}

nlohmann::json number(double x) {
  return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(nullptr);
}

void run_one(const std::string& file, const PeerSettings& settings, const std::string& trajectory_file) {
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
    const Trajectory trajectory = run(task, settings.dt, runner.get(), &trouble);
    if (!trajectory_file.empty()) write_trajectory(trajectory, trajectory_file);
    const Verdict verdict = judge(task, trajectory, trouble);
    line["measured"] = number(verdict.measured);
    line["error"] = number(verdict.error);
    line["pass"] = verdict.pass;
    line["trouble"] = verdict.trouble;
  } catch (const CannotExpress& error) {
    line["cannot"] = error.what();
  }
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

}  // namespace

int run_program(int argc, char** argv) {
  PeerSettings settings;
  std::string trajectory;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--accurate") == 0) {
      settings.accurate = true;
    } else if (std::strcmp(argv[i], "--dt") == 0 && i + 1 < argc) {
      settings.dt = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--trajectory") == 0 && i + 1 < argc) {
      trajectory = argv[++i];
    } else {
      files.push_back(argv[i]);
    }
  }
  try {
    for (const std::string& file : files) run_one(file, settings, trajectory);
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
