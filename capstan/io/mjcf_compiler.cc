// <compiler>, <option> and the five ways to write an orientation.
#include <fmt/core.h>

#include <cmath>

#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"

namespace capstan::mjcf {

void read_compiler(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  Compiler& compiler = reader.compiler;
  xml.accept(element);
  if (const auto angle = xml.keyword(element, "angle", {"radian", "degree"})) compiler.degrees = *angle == 1;
  if (const auto coordinate = xml.text(element, "coordinate"); coordinate && *coordinate != "local") {
    xml.attribute_error(element, "coordinate",
                        fmt::format("<compiler> coordinate=\"{}\" is not supported", *coordinate),
                        "convert the model to local coordinates (MuJoCo 2.1 can save it so)");
  }
  if (const auto sequence = xml.text(element, "eulerseq")) {
    if (sequence->size() == 3 && sequence->find_first_not_of("xyzXYZ") == std::string::npos) {
      compiler.eulerseq = *sequence;
    } else {
      xml.attribute_error(element, "eulerseq",
                          fmt::format("<compiler> eulerseq=\"{}\" is not a sequence", *sequence),
                          "write three of x, y, z (turning axes) or X, Y, Z (fixed axes)");
    }
  }
  if (const auto directory = xml.text(element, "assetdir")) compiler.mesh_directory = *directory;
  if (const auto directory = xml.text(element, "meshdir")) compiler.mesh_directory = *directory;
  if (const auto strip = xml.boolean(element, "strippath")) compiler.strip_path = *strip;
  if (const auto limits = xml.boolean(element, "autolimits")) compiler.autolimits = *limits;
  if (const auto from = xml.keyword(element, "inertiafromgeom", {"false", "true", "auto"})) {
    compiler.inertia_from_geom = static_cast<Compiler::FromGeom>(*from);
  }
  std::array<double, 2> groups;
  if (xml.vector(element, "inertiagrouprange", 2, 2, groups.data())) {
    compiler.inertia_groups = {static_cast<int>(std::clamp(groups[0], -1e6, 1e6)),
                               static_cast<int>(std::clamp(groups[1], -1e6, 1e6))};
  }
  if (const auto balance = xml.boolean(element, "balanceinertia")) {
    compiler.balance_inertia = *balance;
    reader.scene.options.balance_inertia = *balance;
  }
  const auto at_least_zero = [&](const char* name, double* value) {
    const auto given = xml.number(element, name);
    if (!given) return;
    if (*given < 0) {
      xml.attribute_error(element, name, fmt::format("<compiler> {}=\"{}\" is negative", name, *given),
                          "write a value of 0 or more");
    } else {
      *value = *given;
    }
  };
  at_least_zero("boundmass", &compiler.bound_mass);
  at_least_zero("boundinertia", &compiler.bound_inertia);
  if (const auto total = xml.number(element, "settotalmass")) compiler.total_mass = *total;
  // These change names, drawing, speed or what MuJoCo saves, not the motion.
  xml.accept_attributes(
      element, {"texturedir", "discardvisual", "convexhull", "usethread", "exactmeshinertia", "fusestatic",
                "savecanonical", "savecompiled", "saveinertial", "conflict"});
  if (xml.boolean(element, "fitaabb").value_or(false)) {
    xml.not_simulated(element, "fitaabb",
                      "is not supported: primitives are fitted to the moments of meshes, not to their boxes");
  }
  if (xml.boolean(element, "alignfree").value_or(false)) {
    xml.not_simulated(element, "alignfree", "is not supported: body frames stay where the file has them");
  }
  for (const XmlElement* child : xml.children(element)) {
    if (XmlFiles::tag(child) == "lengthrange") xml.accept_all(child);  // of muscles only
  }
}

namespace {

void read_flags(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  const auto disabled = [&](const char* name) {
    return xml.keyword(element, name, {"disable", "enable"}).value_or(1) == 0;
  };
  if (disabled("gravity")) reader.scene.options.gravity.setZero();
  if (disabled("contact")) reader.compiler.contacts_disabled = true;
  if (disabled("filterparent")) reader.scene.options.collide_parent_child = true;
  for (const char* name : {"constraint", "equality", "frictionloss", "limit", "spring", "damper", "passive",
                           "clampctrl", "actuation"}) {
    if (disabled(name)) xml.not_simulated(element, name, "is not supported: it stays enabled");
  }
  for (const char* name : {"override", "ipc", "sleep", "speculative"}) {
    if (xml.keyword(element, name, {"disable", "enable"}).value_or(0) == 1) {
      xml.not_simulated(element, name, "is not supported: it stays disabled");
    }
  }
  // How MuJoCo computes or what it reports, not what is simulated.
  xml.accept_attributes(
      element, {"warmstart", "refsafe", "sensor", "midphase", "nativeccd", "eulerdamp", "autoreset", "energy",
                "fwdinv", "invdiscrete", "multiccd", "island", "diagexact", "sensornoise"});
}

}  // namespace

void read_option(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  Options& options = reader.scene.options;
  xml.accept(element);
  if (const auto dt = xml.number(element, "timestep")) {
    if (*dt > 0) {
      options.dt = *dt;
    } else {
      xml.attribute_error(element, "timestep", fmt::format("<option> timestep=\"{}\" is not above 0", *dt),
                          "write a step in seconds, such as 0.002");
    }
  }
  if (const auto gravity = xml.vec3(element, "gravity")) options.gravity = *gravity;
  if (const auto integrator =
          xml.keyword(element, "integrator", {"Euler", "RK4", "implicit", "implicitfast", "discrete"})) {
    options.integrator = *integrator == 1 ? Integrator::midpoint : Integrator::semi_implicit;
    if (*integrator == 1) {
      xml.not_simulated(element, "integrator", "is not available; the midpoint scheme, of order 2, is used");
    }
  }
  if (const auto field = xml.vec3(element, "magnetic")) {
    options.magnetic_field = *field;
    reader.has_magnetic_field = true;
  }
  if (const auto wind = xml.vec3(element, "wind")) options.wind = *wind;
  for (const auto& [name, value] :
       {std::pair{"density", &options.fluid_density}, {"viscosity", &options.fluid_viscosity}}) {
    *value = xml.number(element, name).value_or(*value);
    if (*value < 0)
      xml.attribute_error(element, name, fmt::format("<option> {}=\"{}\" is negative", name, *value),
                          "write 0 or more");
  }
  for (const char* name : {"o_margin", "o_solref", "o_solimp", "o_friction"}) {
    xml.not_simulated_unless_zero(element, name, "is not simulated");
  }
  std::string settings;
  Source first;
  for (const char* name :
       {"impratio",          "tolerance",      "ls_tolerance",    "noslip_tolerance",
        "mpr_tolerance",     "ccd_tolerance",  "sleep_tolerance", "cone",
        "jacobian",          "solver",         "iterations",      "ls_iterations",
        "noslip_iterations", "mpr_iterations", "ccd_iterations",  "sdf_iterations",
        "sdf_initpoints",    "collision",      "apirate",         "actuatorgroupdisable"}) {
    if (!xml.text(element, name)) continue;
    if (settings.empty()) first = xml.where(element, name);
    settings += (settings.empty() ? "" : ", ") + std::string(name);
  }
  if (!settings.empty()) {
    xml.diagnostics()->not_understood(
        first, fmt::format("<option> {}: no effect, these are settings of MuJoCo's solver", settings));
  }
  for (const XmlElement* child : xml.children(element)) {
    if (XmlFiles::tag(child) == "flag") read_flags(reader, child);
  }
}

// --- Orientations

Vec4 quat_of_z_axis(const Vec3& direction) {
  const Vec3 z = direction.normalized();
  Vec3 axis(-z.y(), z.x(), 0);  // z x direction
  const double sine = axis.norm();
  axis = sine < 1e-10 ? Vec3(1, 0, 0) : Vec3(axis / sine);
  return quat_from_axis_angle(axis, std::atan2(sine, z.z()));
}

Vec4 quat_of_euler(const std::string& sequence, const Vec3& radians) {
  Vec4 result = identity_quat();
  for (int i = 0; i < 3; ++i) {
    const char c = sequence[i];
    const bool fixed_axis = c <= 'Z';
    const Vec3 axis = Vec3::Unit((fixed_axis ? c - 'X' : c - 'x'));
    const Vec4 turn = quat_from_axis_angle(axis, radians[i]);
    result = fixed_axis ? quat_multiply(turn, result) : quat_multiply(result, turn);
  }
  return result;
}

bool read_pose(Reader& reader, const XmlElement* element, PoseSpec* pose) {
  XmlFiles& xml = reader.xml;
  bool any = xml.has(element, "pos");
  if (const auto position = xml.vec3(element, "pos")) pose->position = *position;

  const char* names[] = {"quat", "axisangle", "euler", "xyaxes", "zaxis"};
  const char* given = nullptr;
  for (const char* name : names) {
    if (!xml.has(element, name)) continue;
    any = true;
    if (given) {
      xml.attribute_error(
          element, name,
          fmt::format("<{}> has two orientations, {} and {}", XmlFiles::tag(element), given, name),
          "keep one of them");
    }
    given = name;
  }
  const auto degenerate = [&](const char* name, const char* remedy) {
    xml.attribute_error(element, name,
                        fmt::format("<{}> {} gives no direction", XmlFiles::tag(element), name), remedy);
  };
  constexpr double kTiny = 1e-14;
  Vec4 q;
  if (xml.vector(element, "quat", 4, 4, q.data())) {
    if (q.norm() < kTiny) {
      degenerate("quat", "write w x y z, not all zero");
    } else {
      pose->quat_wxyz = q.normalized();
    }
  }
  if (xml.vector(element, "axisangle", 4, 4, q.data())) {
    const Vec3 axis = q.head<3>();
    if (axis.norm() < kTiny) {
      degenerate("axisangle", "write an axis that is not zero, then the angle");
    } else {
      pose->quat_wxyz = quat_from_axis_angle(axis.normalized(), reader.compiler.radians(q[3]));
    }
  }
  if (const auto euler = xml.vec3(element, "euler")) {
    const Vec3 radians(reader.compiler.radians(euler->x()), reader.compiler.radians(euler->y()),
                       reader.compiler.radians(euler->z()));
    pose->quat_wxyz = quat_of_euler(reader.compiler.eulerseq, radians);
  }
  Vec6 axes;
  if (xml.vector(element, "xyaxes", 6, 6, axes.data())) {
    const Vec3 x = axes.head<3>().normalized();
    const Vec3 y = axes.tail<3>() - x.dot(axes.tail<3>()) * x;
    if (axes.head<3>().norm() < kTiny || y.norm() < kTiny) {
      degenerate("xyaxes", "write two directions that are not parallel");
    } else {
      Mat3 R;
      R.col(0) = x;
      R.col(1) = y.normalized();
      R.col(2) = cross(x, R.col(1));
      pose->quat_wxyz = quat_from_matrix(R);
    }
  }
  if (const auto z = xml.vec3(element, "zaxis")) {
    if (z->norm() < kTiny) {
      degenerate("zaxis", "write a direction that is not zero");
    } else {
      pose->quat_wxyz = quat_of_z_axis(*z);
    }
  }
  return any;
}

Transform to_transform(const PoseSpec& pose) {
  return {rotation_matrix(pose.quat_wxyz), pose.position};
}

Pose to_pose(const Transform& X) {
  return {X.p, quat_from_matrix(X.R)};
}

}  // namespace capstan::mjcf
