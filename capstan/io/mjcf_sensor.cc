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
      {"jointactuatorfrc", {SensorType::joint_force, "joint"}},
      {"tendonpos", {SensorType::tendon_position, "tendon"}},
      {"tendonvel", {SensorType::tendon_velocity, "tendon"}},
      {"actuatorpos", {SensorType::actuator_position, "actuator"}},
      {"actuatorvel", {SensorType::actuator_velocity, "actuator"}},
      {"actuatorfrc", {SensorType::actuator_force, "actuator"}},
      {"framepos", {SensorType::frame_position, "obj"}},
      {"framequat", {SensorType::frame_quat, "obj"}},
      {"framexaxis", {SensorType::frame_x_axis, "obj"}},
      {"frameyaxis", {SensorType::frame_y_axis, "obj"}},
      {"framezaxis", {SensorType::frame_z_axis, "obj"}},
      {"framelinacc", {SensorType::frame_proper_acceleration, "obj"}},
      {"frameangacc", {SensorType::frame_angular_acceleration, "obj"}},
      {"framelinvel", {SensorType::frame_velocity, "obj"}},
      {"frameangvel", {SensorType::frame_angular_velocity, "obj"}},
      {"velocimeter", {SensorType::velocimeter, "site"}},
      {"gyro", {SensorType::gyro, "site"}},
      {"accelerometer", {SensorType::accelerometer, "site"}},
      {"magnetometer", {SensorType::magnetometer, "site"}},
      {"rangefinder", {SensorType::range_finder, "site"}},
      {"force", {SensorType::force, "site"}},
      {"torque", {SensorType::torque, "site"}},
      {"touch", {SensorType::touch, "site"}},
      {"contact", {SensorType::contact_force, "contact"}},
      {"subtreecom", {SensorType::subtree_com, "body"}},
      {"subtreelinvel", {SensorType::subtree_velocity, "body"}},
      {"subtreeangmom", {SensorType::subtree_angular_momentum, "body"}},
      {"clock", {SensorType::clock, ""}},
  };
  return known;
}

bool has_axes(SensorType type) {
  return type >= SensorType::frame_quat && type <= SensorType::frame_z_axis;
}

// A frame of MuJoCo: a site, a body's own frame (xbody), its inertial frame (body: where its axes do not
// matter) or a geom (where it is not a mesh, whose frame MuJoCo moves).
bool read_object(Reader& reader, const XmlElement* element, Sensor* sensor) {
  XmlFiles& xml = reader.xml;
  const std::string type = xml.text(element, "objtype").value_or(""),
                    name = xml.required_text(element, "objname");
  if (type == "site") {
    sensor->site = name;
    return reader.check_reference(Kind::site, element, "objname", name);
  }
  if (type == "xbody" || (type == "body" && !has_axes(sensor->type))) {
    sensor->body = name;
    sensor->at_com = type == "body";
    return reader.check_reference(Kind::body, element, "objname", name);
  }
  if (type == "geom") {
    if (!reader.check_reference(Kind::geom, element, "objname", name)) return false;
    const auto shape = std::find_if(reader.scene.shapes.begin(), reader.scene.shapes.end(),
                                    [&](const ShapeInstance& s) { return s.name == name; });
    if (shape != reader.scene.shapes.end() && !(std::holds_alternative<ConvexMesh>(shape->shape) ||
                                                std::holds_alternative<SurfaceMesh>(shape->shape))) {
      sensor->shape = name;
      return true;
    }
  }
  xml.not_simulated(element, fmt::format("is on a {}, which is not supported; it is left out", type));
  return false;
}

// What a frame is relative to.
bool read_relative(Reader& reader, const XmlElement* element, Sensor* sensor) {
  XmlFiles& xml = reader.xml;
  if (!xml.has(element, "reftype") && !xml.has(element, "refname")) return true;
  const std::string type = xml.text(element, "reftype").value_or(""),
                    name = xml.required_text(element, "refname");
  if (may_be_relative(sensor->type) && type == "site") {
    sensor->relative_site = name;
    return reader.check_reference(Kind::site, element, "refname", name);
  }
  if (may_be_relative(sensor->type) && type == "xbody") {
    sensor->relative_body = name;
    return reader.check_reference(Kind::body, element, "refname", name);
  }
  xml.not_simulated(element,
                    fmt::format("is relative to a {}, which is not supported; it is left out", type));
  return false;
}

// <contact>: the number of contacts (data="found"), or their force in the world (data="force"
// reduce="netforce"), which MuJoCo tells as that of the first on the second, we as that on the first.
bool read_contact(Reader& reader, const XmlElement* element, Sensor* sensor) {
  XmlFiles& xml = reader.xml;
  const std::string data = xml.text(element, "data").value_or("found"),
                    reduce = xml.text(element, "reduce").value_or("none");
  const double num = xml.number(element, "num").value_or(1);
  for (const char* name : {"subtree1", "subtree2", "site"}) {
    if (!xml.has(element, name)) continue;
    xml.not_simulated(element, fmt::format("asks for {}, which is not supported; it is left out", name));
    return false;
  }
  const bool is_force = data == "force" && reduce == "netforce";
  if ((data != "found" && !is_force) || num != 1) {
    xml.not_simulated(element,
                      fmt::format("with data=\"{}\" reduce=\"{}\" num=\"{:g}\" is not supported, only "
                                  "data=\"found\", or data=\"force\" reduce=\"netforce\"; it is left out",
                                  data, reduce, num));
    return false;
  }
  sensor->type = is_force ? SensorType::contact_force : SensorType::contact_count;
  const auto take = [&](const char* attribute, Kind kind, std::string* name) {
    if (!xml.has(element, attribute)) return true;
    *name = *xml.text(element, attribute);
    return reader.check_reference(kind, element, attribute, *name);
  };
  return take("body1", Kind::body, &sensor->other_body) && take("geom1", Kind::geom, &sensor->other_shape) &&
         take("body2", Kind::body, &sensor->body) && take("geom2", Kind::geom, &sensor->shape);
}

void read_one(Reader& reader, const XmlElement* element, const Known& known) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  xml.accept_attributes(element, {"name", "cutoff", "noise", "user", "nsample", "interp", "interval"});
  Sensor sensor;
  sensor.where = xml.where(element);
  sensor.type = known.type;
  const std::string attribute = known.attribute;
  if (attribute == "obj") {
    if (!read_object(reader, element, &sensor) || !read_relative(reader, element, &sensor)) return;
  } else if (attribute == "contact") {
    if (!read_contact(reader, element, &sensor)) return;
  } else if (!attribute.empty()) {
    const std::string name = xml.required_text(element, known.attribute);
    const Kind kind = attribute == "joint"      ? Kind::joint
                      : attribute == "tendon"   ? Kind::tendon
                      : attribute == "actuator" ? Kind::actuator
                      : attribute == "site"     ? Kind::site
                                                : Kind::body;
    if (!reader.check_reference(kind, element, known.attribute, name)) return;
    (kind == Kind::joint      ? sensor.joint
     : kind == Kind::tendon   ? sensor.tendon
     : kind == Kind::actuator ? sensor.actuator
     : kind == Kind::site     ? sensor.site
                              : sensor.body) = name;
    if (kind == Kind::actuator && std::find(reader.control_slots.begin(), reader.control_slots.end(), name) ==
                                      reader.control_slots.end()) {
      xml.not_simulated(element, "is on an actuator that is left out");
      return;
    }
  }
  if (!sensor.tendon.empty() && reader.dropped_tendons.count(sensor.tendon)) {
    xml.not_simulated(element, "is on a tendon that is left out");
    return;
  }
  if (known.type == SensorType::range_finder) {
    if (const auto data = xml.text(element, "data"); data && *data != "dist") {
      xml.not_simulated(element, "with other data than dist is not supported; it is left out");
      return;
    }
    if (xml.once("rangefinder")) {
      xml.diagnostics()->warning(sensor.where,
                                 "<rangefinder> sees geoms that collide, not those that only draw");
    }
  }
  if (known.type == SensorType::magnetometer && !reader.has_magnetic_field)
    reader.scene.options.magnetic_field = Vec3(0, -0.5, 0);  // MuJoCo's
  if (known.type == SensorType::touch && xml.once("touch")) {
    xml.diagnostics()->warning(sensor.where,
                               "<touch> sums the contacts of the whole body, not of the site's volume");
  }
  sensor.cutoff = std::max(0.0, xml.number(element, "cutoff").value_or(0));
  if (known.type == SensorType::frame_quat) sensor.cutoff = 0;  // as in MuJoCo
  xml.not_simulated_unless_zero(element, "delay", "is not simulated");
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
