// <sensor>: those that mean the same here. Others are reported. MuJoCo measures at the beginning of a step
// what we measure at its end.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "capstan/io/mjcf_reader.h"

namespace capstan::mjcf {

namespace {

struct Known {
  SensorType type;
  const char* attribute;  // that names what it is on; "obj": objtype and objname
};

const std::map<std::string, Known>& known_sensors() {
  static const std::map<std::string, Known> known = {
      {"jointpos", {SensorType::joint_position, "joint"}},
      {"jointvel", {SensorType::joint_velocity, "joint"}},
      {"ballquat", {SensorType::joint_position, "joint"}},
      {"actuatorpos", {SensorType::actuator_position, "actuator"}},
      {"actuatorvel", {SensorType::actuator_velocity, "actuator"}},
      {"actuatorfrc", {SensorType::actuator_force, "actuator"}},
      {"framepos", {SensorType::frame_position, "obj"}},
      {"framequat", {SensorType::frame_quat, "obj"}},
      {"framelinvel", {SensorType::frame_velocity, "obj"}},
      {"frameangvel", {SensorType::frame_angular_velocity, "obj"}},
      {"velocimeter", {SensorType::velocimeter, "site"}},
      {"gyro", {SensorType::gyro, "site"}},
      {"accelerometer", {SensorType::accelerometer, "site"}},
      {"force", {SensorType::force, "site"}},
      {"torque", {SensorType::torque, "site"}},
      {"touch", {SensorType::touch, "site"}},
      {"subtreecom", {SensorType::subtree_com, "body"}},
      {"clock", {SensorType::clock, ""}},
  };
  return known;
}

// A frame of MuJoCo: a site, a body's own frame (xbody), its inertial frame (body) or a geom.
bool read_object(Reader& reader, const XmlElement* element, Sensor* sensor) {
  XmlFiles& xml = reader.xml;
  const std::string type = xml.text(element, "objtype").value_or(""),
                    name = xml.required_text(element, "objname");
  if (xml.has(element, "reftype") || xml.has(element, "refname")) {
    xml.not_simulated(element, "is relative to another frame, which is not supported; it is left out");
    return false;
  }
  if (type == "site") {
    sensor->site = name;
    return reader.check_reference(Kind::site, element, "objname", name);
  }
  if (type == "xbody") {
    sensor->body = name;
    return reader.check_reference(Kind::body, element, "objname", name);
  }
  xml.not_simulated(element, fmt::format("is on a {}, which is not supported; it is left out", type));
  return false;
}

void read_one(Reader& reader, const XmlElement* element, const Known& known) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  Sensor sensor;
  sensor.where = xml.where(element);
  sensor.type = known.type;
  const std::string attribute = known.attribute;
  if (attribute == "obj") {
    if (!read_object(reader, element, &sensor)) return;
  } else if (!attribute.empty()) {
    const std::string name = xml.required_text(element, known.attribute);
    const Kind kind = attribute == "joint"      ? Kind::joint
                      : attribute == "actuator" ? Kind::actuator
                      : attribute == "site"     ? Kind::site
                                                : Kind::body;
    if (!reader.check_reference(kind, element, known.attribute, name)) return;
    (kind == Kind::joint      ? sensor.joint
     : kind == Kind::actuator ? sensor.actuator
     : kind == Kind::site     ? sensor.site
                              : sensor.body) = name;
    if (kind == Kind::actuator && std::find(reader.control_slots.begin(), reader.control_slots.end(), name) ==
                                      reader.control_slots.end()) {
      xml.not_simulated(element, "is on an actuator that is left out");
      return;
    }
  }
  if (known.type == SensorType::touch && xml.once("touch")) {
    xml.diagnostics()->warning(sensor.where,
                               "<touch> sums the contacts of the whole body, not of the site's volume");
  }
  if (xml.number(element, "cutoff").value_or(0) != 0)
    xml.not_simulated(element, "cutoff", "is not applied: the value is not clamped");
  xml.not_simulated_unless_zero(element, "delay", "is not simulated");
  xml.accept_attributes(element, {"noise", "user", "nsample", "interp", "interval"});
  sensor.name = reader.claim_name(Kind::sensor, element, "", XmlFiles::tag(element));
  reader.scene.sensors.push_back(std::move(sensor));
}

}  // namespace

void read_sensors(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  for (const XmlElement* child : xml.children(element)) {
    const auto known = known_sensors().find(XmlFiles::tag(child));
    if (known == known_sensors().end()) {
      xml.not_simulated(child, "is a sensor that is not supported; it is left out");
    } else if (xml.count(child)) {
      read_one(reader, child, known->second);
    }
  }
}

}  // namespace capstan::mjcf
