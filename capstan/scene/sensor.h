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
  actuator_position,
  actuator_velocity,
  actuator_force,
  frame_position,
  frame_quat,
  frame_velocity,
  frame_angular_velocity,
  velocimeter,
  gyro,
  accelerometer,
  force,
  torque,
  touch,
  subtree_com,
  subtree_momentum,
  clock,
};

struct SensorTypeInfo {
  const char* name;  // in scene files
  const char* on;    // "joint", "actuator", "frame" (a site or a body), "body" or "": what it is on
  int size;          // numbers; 0: as many as the joint has
  const char* unit;
};
inline constexpr std::array<SensorTypeInfo, 18> kSensorTypes = {
    {{"joint_position", "joint", 0, ""},
     {"joint_velocity", "joint", 0, ""},
     {"actuator_position", "actuator", 1, ""},
     {"actuator_velocity", "actuator", 1, ""},
     {"actuator_force", "actuator", 1, "N"},
     {"frame_position", "frame", 3, "m"},
     {"frame_quat", "frame", 4, ""},
     {"frame_velocity", "frame", 3, "m/s"},
     {"frame_angular_velocity", "frame", 3, "rad/s"},
     {"velocimeter", "frame", 3, "m/s"},
     {"gyro", "frame", 3, "rad/s"},
     {"accelerometer", "frame", 3, "m/s^2"},
     {"force", "frame", 3, "N"},
     {"torque", "frame", 3, "N m"},
     {"touch", "frame", 1, "N"},
     {"subtree_com", "body", 3, "m"},
     {"subtree_momentum", "body", 3, "N s"},
     {"clock", "", 1, "s"}}};
inline const SensorTypeInfo& sensor_info(SensorType type) {
  return kSensorTypes[static_cast<std::size_t>(type)];
}

struct Sensor {
  std::string name;
  Source where;
  SensorType type = SensorType::clock;
  std::string joint, actuator, site, body;  // the one that its type asks for
};

}  // namespace capstan
