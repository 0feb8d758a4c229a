// What the programs of the other engines have in common. A program is one engine: it implements make_runner()
// and nothing else.
//
//   mujoco [--accurate] [--dt s] [--limit s] [--trajectory file] FILE...   a line of JSON for each scene file
//   mujoco --describe FILE...                                             what it has made of each
//
// --limit: a scene that takes more than so many seconds of the processor is stopped, and says so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/gauntlet/gauntlet.h"

namespace capstan::gauntlet {

struct PeerSettings {
  double dt = 0.005;
  bool accurate = false;  // settings chosen for accuracy; else the engine's defaults
};

// Defined by each program. Throws CannotExpress with the reason.
std::unique_ptr<Runner> make_runner(const Task& task, const PeerSettings& settings);
extern const char* const kEngine;
extern const char* const kNoRods;        // why it runs no rods; null: it does
extern const char* const kNoSoftBodies;  // likewise
extern const char* const kNoPatches;     // likewise
std::string engine_version();

int run_program(int argc, char** argv);

// Where all bodies and probes are at the start, and how they move.
std::vector<BodyState> start_of(const Task& task);

// The one material of a task (README.md: every pair of shapes has its friction and restitution).
Material material_of(const Task& task);

int body_index(const Task& task, const std::string& name);  // -1: the world
const Joint* joint_of(const Task& task, const std::string& name, int* body = nullptr);

// A constant force and torque on a free body, in world axes; those of the actuators on free joints.
struct Wrench {
  int body = 0;
  Vec3 force = Vec3::Zero(), torque = Vec3::Zero();
};
std::vector<Wrench> wrenches(const Task& task);

}  // namespace capstan::gauntlet
