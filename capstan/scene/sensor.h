// What is measured in a run. Each sensor has one or more numbers after every step (step/sensors.h says what
// they are).
#pragma once

#include <array>
#include <string>

#include "capstan/base/diagnostics.h"

namespace capstan {

// In the order of kSensorTypes.
enum class SensorType {
  joint_position,
  joint_velocity,
  joint_force,
  tendon_position,
  tendon_velocity,
  tendon_force,
  actuator_position,
  actuator_velocity,
  actuator_force,
  frame_position,
  frame_quat,
  frame_x_axis,
  frame_y_axis,
  frame_z_axis,
  frame_velocity,
  frame_angular_velocity,
  frame_acceleration,
  frame_angular_acceleration,
  frame_proper_acceleration,
  velocimeter,
  gyro,
  accelerometer,
  magnetometer,
  range_finder,
  force,
  torque,
  touch,
  contact_force,
  contact_count,
  subtree_com,
  subtree_velocity,
  subtree_momentum,
  subtree_angular_momentum,
  clock,
};

struct SensorTypeInfo {
  const char* name;  // in scene files
  const char* on;    // "joint", "tendon", "actuator", "frame" (a site, a body or a shape), "contact" (a body
                     // or a shape, and what touches it), "body" or "": what it is on
  int size;          // numbers; 0: as many as the joint has
  const char* unit;
};
inline constexpr std::array<SensorTypeInfo, 34> kSensorTypes = {
    {{"joint_position", "joint", 0, ""},
     {"joint_velocity", "joint", 0, ""},
     {"joint_force", "joint", 0, ""},
     {"tendon_position", "tendon", 1, ""},
     {"tendon_velocity", "tendon", 1, ""},
     {"tendon_force", "tendon", 1, ""},
     {"actuator_position", "actuator", 1, ""},
     {"actuator_velocity", "actuator", 1, ""},
     {"actuator_force", "actuator", 1, "N"},
     {"frame_position", "frame", 3, "m"},
     {"frame_quat", "frame", 4, ""},
     {"frame_x_axis", "frame", 3, ""},
     {"frame_y_axis", "frame", 3, ""},
     {"frame_z_axis", "frame", 3, ""},
     {"frame_velocity", "frame", 3, "m/s"},
     {"frame_angular_velocity", "frame", 3, "rad/s"},
     {"frame_acceleration", "frame", 3, "m/s^2"},
     {"frame_angular_acceleration", "frame", 3, "rad/s^2"},
     {"frame_proper_acceleration", "frame", 3, "m/s^2"},
     {"velocimeter", "frame", 3, "m/s"},
     {"gyro", "frame", 3, "rad/s"},
     {"accelerometer", "frame", 3, "m/s^2"},
     {"magnetometer", "frame", 3, ""},
     {"range_finder", "frame", 1, "m"},
     {"force", "frame", 3, "N"},
     {"torque", "frame", 3, "N m"},
     {"touch", "frame", 1, "N"},
     {"contact_force", "contact", 3, "N"},
     {"contact_count", "contact", 1, ""},
     {"subtree_com", "body", 3, "m"},
     {"subtree_velocity", "body", 3, "m/s"},
     {"subtree_momentum", "body", 3, "N s"},
     {"subtree_angular_momentum", "body", 3, "N m s"},
     {"clock", "", 1, "s"}}};
inline const SensorTypeInfo& sensor_info(SensorType type) {
  return kSensorTypes[static_cast<std::size_t>(type)];
}

inline bool may_be_relative(SensorType type) {
  return type >= SensorType::frame_position && type <= SensorType::frame_angular_velocity;
}

struct Sensor {
  std::string name;
  Source where;
  SensorType type = SensorType::clock;
  std::string joint, tendon, actuator, site, body, shape;  // the one that its type asks for
  std::string relative_site, relative_body;  // frames: told in this one, and as seen from it; "": the world
  std::string other_body, other_shape;       // touch and contact: only what touches this; "": anything
  bool at_com = false;                       // the frame of a body: at its centre of mass
  double cutoff = 0;                         // numbers are kept within -cutoff and cutoff; 0: as they are
};

}  // namespace capstan
