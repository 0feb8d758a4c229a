// What the sensors of a scene read after a step (or before the first one).
//
//   joint_position, joint_velocity    q and v of the joint, as many numbers as it has
//   actuator_position, actuator_velocity, actuator_force
//                                     length, its rate, and force [N or N m] before the gear, after its
//                                     clamps (not the joint's effort limit)
//   frame_position, frame_quat        of a site or body in the world
//   frame_velocity, frame_angular_velocity
//                                     the same, world axes
//   velocimeter, gyro                 linear and angular velocity in the axes of the frame itself
//   accelerometer                     acceleration of its origin less gravity, own axes: (0, 0, g) at rest
//   force, torque                     what the parent of the frame's body exerts on it, own axes, torque
//                                     about the frame's origin: m (a - g) - contact forces - forces from
//                                     outside, over the body and all below it. Forces of loops (welds and
//                                     the like between bodies) and of tendons are not in it.
//   touch                             sum of the normal forces of contacts on the frame's body
//   subtree_com, subtree_momentum     of a body and all below it: centre of mass, linear momentum
//   clock                             time
//
// Positions and velocities are those of the state; accelerations and forces are means over the last step
// (State::a), and zero before there was one. Rotors of joints count for none of them. Parts of objects that
// have no joints (rods) have no accelerometer, force, torque and subtree.
#pragma once

#include <string>
#include <vector>

#include "capstan/step/step.h"

namespace capstan {

struct SensorSet {
  struct Entry {
    std::string name, unit;
    SensorType type = SensorType::clock;
    int index = 0;   // of the joint, actuator or body
    Transform X_BF;  // frame in its body
    int begin = 0, size = 1;
  };
  std::vector<Entry> entries;
  int size = 0;                  // of all values together
  std::vector<Inertia> inertia;  // [bodies] each alone, body frame; empty where no sensor needs it, likewise:
  std::vector<char> is_weightless;       // [bodies] gravity does not act on it
  std::vector<std::vector<char>> below;  // [entries][bodies] 1: the body hangs on the entry's

  // Name of each value: that of the sensor, with .x and so on where it has several; and its unit.
  std::vector<std::pair<std::string, std::string>> columns() const;
};

// Unknown names are errors. `scene` is the one that `model` was compiled from.
SensorSet make_sensors(const Model& model, const Scene& scene, const std::vector<Sensor>& sensors,
                       Diagnostics* diagnostics);

// `workspace` and `input` are those of the last step; null: there was none. `values` may come from the call
// before: force, torque and touch on a tree that sleeps stay as they are there (else 0).
void read_sensors(const Model& model, const SensorSet& sensors, const State& state,
                  const Workspace* workspace, const Input* input, VecX* values);

}  // namespace capstan
