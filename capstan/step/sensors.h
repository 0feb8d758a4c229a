// What the sensors of a scene read after a step (or before the first one).
//
//   joint_position, joint_velocity    q and v of the joint, as many numbers as it has
//   joint_force                       sum of what actuators exert on each of its dofs, within the joint's
//                                     effort limit
//   tendon_position, tendon_velocity  length and its rate
//   tendon_force                      what its spring, damper, limit and dry friction pull with; what
//   actuators
//                                     pull along it is theirs
//   actuator_position, actuator_velocity, actuator_force
//                                     length, its rate, and force [N or N m] before the gear, after its
//                                     clamps (not the joint's effort limit)
//   frame_position, frame_quat, frame_x_axis (y, z)
//                                     of a site, body or shape in the world, or in another frame
//   frame_velocity, frame_angular_velocity
//                                     the same, world axes; relative to another frame: as seen from it, in
//                                     its axes
//   frame_acceleration, frame_angular_acceleration
//                                     of its origin, world axes; 0 at rest
//   frame_proper_acceleration         less gravity: (0, 0, g) at rest
//   velocimeter, gyro                 linear and angular velocity in the axes of the frame itself
//   accelerometer                     acceleration of its origin less gravity, own axes: (0, 0, g) at rest
//   magnetometer                      Options::magnetic_field, own axes
//   range_finder                      from its origin along its z axis to the first surface of a shape that
//                                     collides and is not on the frame's body; -1: there is none
//   force, torque                     what the parent of the frame's body exerts on it, own axes, torque
//                                     about the frame's origin: m (a - g) - contact forces - forces from
//                                     outside, over the body and all below it. Forces of loops (welds and
//                                     the like between bodies) and of tendons are not in it.
//   touch                             sum of the normal forces of contacts on the frame's body, or shape
//   contact_force                     on a body or shape, world axes; with `other` by that one alone
//   contact_count                     of those contacts, that press
//   subtree_com, subtree_velocity, subtree_momentum, subtree_angular_momentum
//                                     of a body and all below it: centre of mass, its velocity, linear
//                                     momentum, and angular momentum about that centre
//   clock                             time
//
// Positions and velocities are those of the state; accelerations and forces are means over the last step
// (State::a), and zero before there was one. Rotors of joints count for none of them. Parts of objects that
// have no joints (rods) have no acceleration, force, torque and subtree.
#pragma once

#include <string>
#include <vector>

#include "capstan/step/step.h"

namespace capstan {

// What is not kept while a tree sleeps, for nothing is solved for it.
inline bool is_of_forces(SensorType type) {
  return type == SensorType::force || type == SensorType::torque || type == SensorType::touch ||
         type == SensorType::contact_force || type == SensorType::contact_count;
}

inline bool is_of_subtree(SensorType type) {
  return type == SensorType::force || type == SensorType::torque ||
         (type >= SensorType::subtree_com && type <= SensorType::subtree_angular_momentum);
}

inline bool is_of_acceleration(SensorType type) {
  return type == SensorType::accelerometer ||
         (type >= SensorType::frame_acceleration && type <= SensorType::frame_proper_acceleration);
}

inline bool is_of_joint(SensorType type) {
  return type <= SensorType::joint_force;
}

struct SensorSet {
  struct Frame {
    int body = -1;   // -1: the world
    Transform X_BF;  // in the body
  };
  struct Contact {  // what a contact is with
    int body = -1, shape = -1;
    int object = -1;  // all of a rod or a soft body
    bool is_any() const { return body < 0 && shape < 0 && object < 0; }
  };
  struct Entry {
    std::string name, unit;
    SensorType type = SensorType::clock;
    int index = 0;   // of the joint, tendon, actuator or body
    Transform X_BF;  // frame in its body
    Frame relative;  // of sensors of frames
    Contact on, other;
    double cutoff = kInfinity;
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
