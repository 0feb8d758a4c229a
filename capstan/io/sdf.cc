// SDFormat 1.7 and later: models and worlds.
//
// A link is a body. One that no joint has as its child moves freely, unless its model is static. All poses
// are resolved through the frames of the file (sdf_build.cc); a joint stands in the frame of its child.
// Names of a file with one model are its own; in a world, and in nested and included models, they have the
// model's name and a slash before them.
#include <fmt/core.h>
#include <tinyxml2.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <sstream>

#include "capstan/io/sdf_reader.h"
#include "capstan/io/urdf_repair.h"
#include "capstan/math/rotation.h"
#include "capstan/model/inertia.h"

namespace capstan {

namespace sdf {

namespace fs = std::filesystem;

Reader::Reader(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits, int d)
    : directory(fs::path(path).parent_path().string()), depth(d), xml(diagnostics, limits) {
  xml.replaces_includes = false;
}

const XmlElement* child(Reader& reader, const XmlElement* element, const char* tag) {
  const auto found = reader.xml.children(element, tag);
  for (const XmlElement* each : found) reader.xml.accept(each);
  return found.empty() ? nullptr : found.front();
}

std::string text_of(Reader& reader, const XmlElement* element) {
  reader.xml.accept(element);
  const char* text = element->GetText();
  std::string result = text ? text : "";
  const auto begin = result.find_first_not_of(" \t\r\n"), end = result.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : result.substr(begin, end - begin + 1);
}

std::vector<double> numbers_of(Reader& reader, const XmlElement* element, std::size_t count) {
  std::vector<double> values;
  std::istringstream words(text_of(reader, element));
  bool ok = true;
  for (std::string word; words >> word;) {
    char* end = nullptr;
    values.push_back(std::strtod(word.c_str(), &end));
    ok = ok && *end == '\0' && !std::isnan(values.back());
  }
  if (ok && values.size() == count) return values;
  reader.xml.error(
      element,
      fmt::format("<{}> should hold {} number{}", XmlFiles::tag(element), count, count == 1 ? "" : "s"),
      "write them with blanks between");
  return {};
}

double number(Reader& reader, const XmlElement* element, const char* tag, double otherwise) {
  const XmlElement* found = child(reader, element, tag);
  if (!found) return otherwise;
  const auto values = numbers_of(reader, found, 1);
  return values.empty() ? otherwise : values[0];
}

bool flag(Reader& reader, const XmlElement* element, const char* tag, bool otherwise) {
  const std::string word = text(reader, element, tag);
  if (word.empty()) return otherwise;
  return word == "true" || word == "1" || word == "True";
}

std::string text(Reader& reader, const XmlElement* element, const char* tag) {
  const XmlElement* found = child(reader, element, tag);
  return found ? text_of(reader, found) : "";
}

Vec3 vec3(Reader& reader, const XmlElement* element, const char* tag, const Vec3& otherwise) {
  const XmlElement* found = child(reader, element, tag);
  if (!found) return otherwise;
  const auto v = numbers_of(reader, found, 3);
  return v.empty() ? otherwise : Vec3(v[0], v[1], v[2]);
}

FramedPose pose(Reader& reader, const XmlElement* element) {
  FramedPose result;
  const XmlElement* found = child(reader, element, "pose");
  if (!found) return result;
  result.where = reader.xml.where(found);
  result.relative_to = reader.xml.text(found, "relative_to").value_or("");
  const bool is_quat = reader.xml.text(found, "rotation_format").value_or("euler_rpy") == "quat_xyzw";
  const double unit = reader.xml.boolean(found, "degrees").value_or(false) ? std::numbers::pi / 180 : 1;
  if (text_of(reader, found).empty()) return result;
  const auto v = numbers_of(reader, found, is_quat ? 7 : 6);
  if (v.empty()) return result;
  result.X.p = Vec3(v[0], v[1], v[2]);
  if (is_quat) {
    Vec4 q(v[6], v[3], v[4], v[5]);
    if (q.norm() > 0) result.X.R = rotation_matrix(q / q.norm());
    return result;
  }
  const Vec4 x = quat_from_axis_angle(Vec3(1, 0, 0), unit * v[3]),
             y = quat_from_axis_angle(Vec3(0, 1, 0), unit * v[4]),
             z = quat_from_axis_angle(Vec3(0, 0, 1), unit * v[5]);
  result.X.R = rotation_matrix(quat_multiply(z, quat_multiply(y, x)));
  return result;
}

std::string resolve_uri(Reader& reader, const XmlElement* element, const std::string& uri) {
  if (uri.rfind("file://", 0) == 0) return uri.substr(7);
  for (const std::string scheme : {"model://", "package://"}) {
    if (uri.rfind(scheme, 0) != 0) continue;
    const std::string path = uri.substr(scheme.size());
    const auto slash = path.find('/');
    const std::string folder = path.substr(0, slash),
                      rest = slash == std::string::npos ? "" : path.substr(slash + 1);
    const std::string at = reader.directory.empty() ? "." : reader.directory,
                      file = rest.empty() ? "model.sdf" : rest;
    std::string found = find_in_package(at, folder, file);
    if (found.empty()) found = find_in_package(at, "models", folder + "/" + file);
    if (!found.empty()) return found;
    reader.xml.error(element, fmt::format("'{}' is not found", uri),
                     fmt::format("put a folder '{}' in or above the folder of this file or in a folder "
                                 "'models' there, or name the one "
                                 "that has it in CAPSTAN_PACKAGE_PATH",
                                 folder));
    return "";
  }
  if (uri.find("://") != std::string::npos) {
    reader.xml.error(element, fmt::format("'{}' is on the network", uri),
                     "download it, and write a path or model://NAME");
    return "";
  }
  return (fs::path(reader.directory) / uri).string();
}

namespace {

std::optional<Inertia> read_inertial(Reader& reader, const XmlElement* link, const std::string& name) {
  const XmlElement* element = child(reader, link, "inertial");
  if (!element) return std::nullopt;
  const FramedPose at = pose(reader, element);
  Inertia inertia;
  inertia.mass = number(reader, element, "mass", 1);
  Mat3 I = Mat3::Identity();
  if (const XmlElement* moments = child(reader, element, "inertia")) {
    const auto entry = [&](const char* tag, double otherwise) {
      return number(reader, moments, tag, otherwise);
    };
    const double xy = entry("ixy", 0), xz = entry("ixz", 0), yz = entry("iyz", 0);
    I << entry("ixx", 1), xy, xz, xy, entry("iyy", 1), yz, xz, yz, entry("izz", 1);
  }
  inertia.com = at.X.p;
  inertia.about_com = at.X.R * I * at.X.R.transpose();
  if (inertia.mass < 0) {
    reader.xml.error(element, fmt::format("link '{}' has mass {} kg", name, inertia.mass),
                     "write a mass above 0");
  }
  if (!(inertia.mass > 0)) return inertia;
  const std::string why = why_impossible(inertia), change = repair_inertia(&inertia);
  if (!change.empty()) {
    reader.xml.diagnostics()->not_understood(
        reader.xml.where(element),
        fmt::format("the inertia of link '{}' is impossible: {}; {}", name, why, change),
        "check the units (kg m^2 about the centre of mass)");
  }
  return inertia;
}

void read_link(Reader& reader, const XmlElement* element, Scene* scene, Model* model) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return;
  xml.accept(element);
  Link link;
  link.where = xml.where(element);
  link.name = xml.required_text(element, "name");
  link.pose = pose(reader, element);
  link.inertia = read_inertial(reader, element, link.name);
  if (!link.inertia) {  // SDFormat's default
    link.inertia = Inertia{1, Vec3::Zero(), Mat3::Identity()};
    if (!model->is_static && xml.once("inertial"))
      xml.diagnostics()->warning(link.where,
                                 fmt::format("link '{}' has no <inertial>: SDFormat's default of 1 kg and 1 "
                                             "kg m^2 is used, here and elsewhere",
                                             link.name),
                                 "write its <inertial>");
  }
  link.gravity = flag(reader, element, "gravity", true);
  link.is_kinematic = flag(reader, element, "kinematic", false);
  if (link.inertia->mass == 0) {  // as Bullet has it
    link.inertia.reset();
    link.is_kinematic = true;
    if (!model->is_static)
      xml.diagnostics()->not_understood(link.where,
                                        fmt::format("link '{}' has mass 0: it does not move", link.name),
                                        "write its mass, or make its model static");
  }
  read_shapes(reader, element, scene, &link);
  for (const char* tag : {"sensor", "battery", "projector", "audio_source", "audio_sink", "particle_emitter",
                          "self_collide", "enable_wind", "must_be_base_link", "velocity_decay"}) {
    for (const XmlElement* each : xml.children(element, tag)) xml.not_simulated(each, "is not simulated");
  }
  for (const XmlElement* light : xml.children(element, "light")) xml.accept_all(light);
  model->frames[link.name] = link.pose;
  model->links.push_back(std::move(link));
}

void read_axis(Reader& reader, const XmlElement* element, bool has_limits, Joint* joint, JointAxis* axis) {
  XmlFiles& xml = reader.xml;
  if (const XmlElement* xyz = child(reader, element, "xyz")) {
    axis->expressed_in = xml.text(xyz, "expressed_in").value_or("");
    const auto v = numbers_of(reader, xyz, 3);
    if (!v.empty()) axis->xyz = Vec3(v[0], v[1], v[2]);
  }
  if (flag(reader, element, "use_parent_model_frame", false)) axis->expressed_in = "__model__";  // before 1.7
  if (axis->xyz.norm() < 1e-14)
    xml.error(element, fmt::format("the axis of joint '{}' is zero", joint->name), "write a direction");
  if (const XmlElement* dynamics = child(reader, element, "dynamics")) {
    joint->damping = std::max(0.0, number(reader, dynamics, "damping", 0));
    joint->dry_friction = std::max(0.0, number(reader, dynamics, "friction", 0));
    joint->stiffness = std::max(0.0, number(reader, dynamics, "spring_stiffness", 0));
    joint->spring_reference = number(reader, dynamics, "spring_reference", 0);
  }
  constexpr double kUnlimited = 1e15;  // SDFormat's default is 1e16
  if (const XmlElement* limit = child(reader, element, "limit")) {
    const double lower = number(reader, limit, "lower", -kInfinity),
                 upper = number(reader, limit, "upper", kInfinity);
    const Range range{lower < -kUnlimited ? -kInfinity : lower, upper > kUnlimited ? kInfinity : upper};
    if (range.lower > range.upper)
      xml.error(limit, fmt::format("joint '{}' has its lower limit above the upper one", joint->name),
                "swap them");
    if (has_limits) joint->limits.push_back(range);
    const double effort = number(reader, limit, "effort", -1),
                 velocity = number(reader, limit, "velocity", -1);
    if (effort >= 0) joint->effort_limit = effort;
    if (velocity >= 0) joint->velocity_limit = velocity;
    for (const char* tag : {"stiffness", "dissipation"}) {
      for (const XmlElement* each : xml.children(limit, tag)) xml.not_simulated(each, "is not simulated");
    }
  } else if (has_limits) {
    joint->limits.push_back({});
  }
  for (const XmlElement* each : xml.children(element, "mimic")) xml.not_simulated(each, "is not simulated");
}

void read_joint(Reader& reader, const XmlElement* element, Model* model) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return;
  xml.accept(element);
  SdfJoint read;
  Joint& joint = read.joint;
  joint.where = xml.where(element);
  joint.name = xml.required_text(element, "name");
  read.pose = pose(reader, element);
  read.parent = text(reader, element, "parent");
  read.child = text(reader, element, "child");
  const std::string type = xml.required_text(element, "type");
  const std::map<std::string, JointType> types = {
      {"fixed", JointType::weld},          {"revolute", JointType::revolute},
      {"continuous", JointType::revolute}, {"prismatic", JointType::prismatic},
      {"ball", JointType::ball},           {"screw", JointType::screw},
      {"universal", JointType::universal}};
  const auto known = types.find(type);
  if (known == types.end()) {
    xml.error(element, fmt::format("joint '{}' is of type '{}', which is not supported", joint.name, type),
              "write fixed, revolute, continuous, prismatic, ball, screw or universal");
    return;
  }
  joint.type = known->second;
  const bool has_limits =
      type != "continuous" && num_velocities(joint.type) <= 2 && joint.type != JointType::weld;
  if (const XmlElement* axis = child(reader, element, "axis"))
    read_axis(reader, axis, has_limits, &joint, &read.axis);
  if (const XmlElement* axis2 = child(reader, element, "axis2"))
    read_axis(reader, axis2, has_limits && joint.type == JointType::universal, &joint, &read.axis2);
  if (joint.type == JointType::screw) {
    // thread_pitch: turns in a metre, left-handed; screw_thread_pitch: metres in a turn.
    const double turns = number(reader, element, "thread_pitch", 0);
    const double pitch =
        number(reader, element, "screw_thread_pitch", turns != 0 ? -2 * std::numbers::pi / turns : 1);
    joint.pitch = pitch / (2 * std::numbers::pi);
  }
  const bool bounded = std::any_of(joint.limits.begin(), joint.limits.end(), [](const Range& r) {
    return std::isfinite(r.lower) || std::isfinite(r.upper);
  });
  if (!bounded) joint.limits.clear();
  for (const char* tag : {"sensor", "physics", "gearbox_ratio", "gearbox_reference_body"}) {
    for (const XmlElement* each : xml.children(element, tag)) xml.not_simulated(each, "is not simulated");
  }
  if (read.parent.empty() || read.child.empty()) {
    xml.error(element,
              fmt::format("joint '{}' lacks <{}>", joint.name, read.parent.empty() ? "parent" : "child"),
              "write the name of a link in it");
    return;
  }
  FramedPose frame = read.pose;
  if (frame.relative_to.empty()) frame.relative_to = read.child;
  model->frames[joint.name] = frame;
  model->joints.push_back(std::move(read));
}

std::unique_ptr<Model> read_model(Reader& reader, const XmlElement* element, bool is_static, Scene* scene);

// The model of an included file, with what the <include> says of it.
std::unique_ptr<Model> read_include(Reader& reader, const XmlElement* element, bool is_static, Scene* scene) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return nullptr;
  xml.accept(element);
  const std::string uri = text(reader, element, "uri");
  std::string path = resolve_uri(reader, element, uri);
  if (path.empty()) return nullptr;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) path = (fs::path(path) / "model.sdf").string();
  constexpr int kMostDepth = 32;
  if (reader.depth >= kMostDepth) {
    xml.error(element, "models include each other without end", "remove one of the <include>");
    return nullptr;
  }
  Reader inner(path, xml.diagnostics(), xml.limits(), reader.depth + 1);
  const XmlElement* root = inner.xml.load(path, xml.where(element));
  if (!root) return nullptr;
  const XmlElement* found = XmlFiles::tag(root) == "sdf" ? child(inner, root, "model") : nullptr;
  if (!found) {
    xml.error(element, fmt::format("'{}' has no <model>", path), "include an SDFormat file with one model");
    return nullptr;
  }
  inner.xml.accept(root);
  inner.xml.accept_attributes(root, {"version"});
  std::unique_ptr<Model> model =
      read_model(inner, found, is_static || flag(reader, element, "static", false), scene);
  inner.xml.report_unread();
  if (!model) return nullptr;
  if (const std::string name = text(reader, element, "name"); !name.empty()) model->name = name;
  if (child(reader, element, "pose")) model->pose = pose(reader, element);
  if (const std::string frame = text(reader, element, "placement_frame"); !frame.empty())
    model->placement_frame = frame;
  for (const XmlElement* plugin : xml.children(element, "plugin")) xml.not_simulated(plugin, "is not run");
  return model;
}

void add_nested(std::unique_ptr<Model> nested, Model* model) {
  if (!nested) return;
  model->frames[nested->name] = nested->pose;
  model->nested.push_back(std::move(nested));
}

std::unique_ptr<Model> read_model(Reader& reader, const XmlElement* element, bool is_static, Scene* scene) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return nullptr;
  xml.accept(element);
  auto model = std::make_unique<Model>();
  model->where = xml.where(element);
  model->name = xml.required_text(element, "name");
  model->placement_frame = xml.text(element, "placement_frame").value_or("");
  xml.accept_attributes(element, {"canonical_link"});
  model->pose = pose(reader, element);
  model->is_static = is_static || flag(reader, element, "static", false);
  for (const XmlElement* each : xml.children(element)) {
    const std::string tag = XmlFiles::tag(each);
    if (tag == "link") {
      read_link(reader, each, scene, model.get());
    } else if (tag == "joint") {
      read_joint(reader, each, model.get());
    } else if (tag == "frame") {
      xml.accept(each);
      const std::string name = xml.required_text(each, "name"),
                        attached = xml.text(each, "attached_to").value_or("");
      FramedPose frame = pose(reader, each);
      if (frame.relative_to.empty()) frame.relative_to = attached;
      model->frames[name] = frame;
      model->attached_to[name] = attached;
    } else if (tag == "model") {
      add_nested(read_model(reader, each, model->is_static, scene), model.get());
    } else if (tag == "include") {
      add_nested(read_include(reader, each, model->is_static, scene), model.get());
    } else if (tag == "plugin" || tag == "gripper" || tag == "self_collide") {
      xml.not_simulated(each, "is not simulated");
    } else if (tag == "allow_auto_disable" || tag == "enable_wind") {
      xml.accept_all(each);
    }
  }
  return model;
}

// A world as a model without links of its own, whose frame is the world's.
void read_world(Reader& reader, const XmlElement* element, Scene* scene, Model* world) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  scene->name = xml.text(element, "name").value_or("");
  scene->options.gravity = vec3(reader, element, "gravity", Vec3(0, 0, -9.8));
  for (const XmlElement* each : xml.children(element)) {
    const std::string tag = XmlFiles::tag(each);
    if (tag == "model") {
      add_nested(read_model(reader, each, false, scene), world);
    } else if (tag == "include") {
      add_nested(read_include(reader, each, false, scene), world);
    } else if (tag == "joint") {
      read_joint(reader, each, world);
    } else if (tag == "frame") {
      xml.accept(each);
      world->frames[xml.required_text(each, "name")] = pose(reader, each);
      xml.accept_attributes(each, {"attached_to"});
    } else if (tag == "physics") {
      xml.accept(each);
      xml.accept_attributes(each, {"name", "type", "default"});
      scene->options.dt = number(reader, each, "max_step_size", scene->options.dt);
      for (const char* setting : {"real_time_factor", "real_time_update_rate", "max_contacts", "ode",
                                  "bullet", "dart", "simbody"}) {
        for (const XmlElement* s : xml.children(each, setting)) xml.accept_all(s);
      }
    } else if (tag == "magnetic_field") {
      scene->options.magnetic_field = vec3(reader, element, "magnetic_field", Vec3::Zero());
    } else if (tag == "light" || tag == "gui" || tag == "scene" || tag == "audio" || tag == "road" ||
               tag == "spherical_coordinates" || tag == "atmosphere") {
      xml.accept_all(each);
    } else if (tag == "plugin" || tag == "state" || tag == "population" || tag == "actor" || tag == "wind") {
      xml.not_simulated(each, "is not simulated");
    }
  }
}

}  // namespace
}  // namespace sdf

namespace {

void tell_old_version(sdf::Reader& reader, const XmlElement* root) {
  const std::string version = reader.xml.text(root, "version").value_or("");
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2) {
    reader.xml.warning(root, "<sdf> does not tell its version, and is read as 1.7",
                       "write version=\"1.7\", or that which it is");
  } else if (major < 1 || (major == 1 && minor < 7)) {
    reader.xml.warning(
        root,
        fmt::format(
            "SDFormat {} is older than 1.7, as which it is read; poses with a frame=\"...\", and before "
            "1.5 the axes of joints, may be meant in another frame",
            version),
        "look at it with 'capstan view', or bring it up to date with 'gz sdf -p'");
  }
}

}  // namespace

Scene read_sdf(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits) {
  Scene scene;
  scene.file = path;
  sdf::Reader reader(path, diagnostics, limits, 0);
  const XmlElement* root = reader.xml.load(path, {path, 0});
  if (!root) return scene;
  reader.xml.accept(root);
  reader.xml.accept_attributes(root, {"version"});
  tell_old_version(reader, root);
  sdf::Model top;
  if (const XmlElement* world = sdf::child(reader, root, "world")) {
    sdf::read_world(reader, world, &scene, &top);
    sdf::build(top, {}, "", false, &scene, diagnostics);
  } else if (const XmlElement* element = sdf::child(reader, root, "model")) {
    const std::unique_ptr<sdf::Model> model = sdf::read_model(reader, element, false, &scene);
    if (model) {
      scene.name = model->name;
      sdf::build(*model, model->pose.X, "", model->is_static, &scene, diagnostics);
    }
  } else {
    reader.xml.error(root, "<sdf> has neither a <world> nor a <model>", "write one of them");
  }
  sdf::add_pairs(&scene);
  reader.xml.report_unread();
  return scene;
}

}  // namespace capstan
