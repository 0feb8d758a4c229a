#include "capstan/scene/mistakes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace capstan {
namespace {

constexpr double kTwoTurns = 4 * std::numbers::pi, kMostDegrees = 720;
constexpr double kLongestStep = 0.1, kShortestStep = 1e-7;  // [s]
constexpr double kLargestGravity = 100;                     // [m/s^2]
constexpr double kLightest = 10;                            // [kg/m^3] foam has 15 and more
constexpr double kLargest = 10, kSmallest = 1e-4;           // [m]
constexpr double kHeaviest = 1e6;                           // [kg]
constexpr double kMostFriction = 10;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// --- Angles ----------------------------------------------------------------------------------------------

// A number that nobody writes in radians: beyond two turns, and a multiple of half a degree.
bool looks_like_degrees(double angle) {
  return std::abs(angle) > kTwoTurns && std::abs(angle) <= kMostDegrees && std::fmod(angle, 0.5) == 0;
}

// Positions of these are angles, and not of many turns as a screw's may be.
bool is_angle(JointType type) {
  return type == JointType::revolute || type == JointType::universal;
}

struct Angles {
  const Scene& scene;
  Diagnostics* diagnostics;

  void tell(const Source& where, const std::string& what, const std::string& value, const char* key) const {
    const Source at = where.line > 0 ? where : Source{scene.file, 0};
    const std::string remedy = ends_with(at.file, ".urdf") ? "URDF has radians: 90 degrees are 1.5708"
                               : ends_with(at.file, ".xml")
                                   ? "write <compiler angle=\"degree\"/>, or radians: 90 degrees are 1.5708"
                                   : fmt::format("angles are radians: write '{}_deg: {}'", key, value);
    diagnostics->warning(at, fmt::format("{} {} rad, which looks like degrees", what, value), remedy);
  }

  void examine_joint(const Joint& joint) const {
    if (!is_angle(joint.type)) return;
    for (const Range& range : joint.limits) {
      if (!looks_like_degrees(range.lower) && !looks_like_degrees(range.upper)) continue;
      tell(joint.where, fmt::format("joint '{}' has limits", joint.name),
           fmt::format("[{:g}, {:g}]", range.lower, range.upper), "limits");
    }
    if (looks_like_degrees(joint.reference)) {
      tell(joint.where, fmt::format("joint '{}' has reference", joint.name),
           fmt::format("{:g}", joint.reference), "reference");
    }
    if (looks_like_degrees(joint.spring_reference)) {
      tell(joint.where, fmt::format("joint '{}' has spring_reference", joint.name),
           fmt::format("{:g}", joint.spring_reference), "spring_reference");
    }
  }

  void examine_start(const Keyframe& key) const {
    const std::string who = key.name.empty() ? "the start" : fmt::format("keyframe '{}'", key.name);
    for (const Body& body : scene.bodies) {
      for (const Joint& joint : body.joints) {
        const auto q = key.q.find(joint.name);
        if (!is_angle(joint.type) || q == key.q.end()) continue;
        for (const double angle : q->second) {
          if (!looks_like_degrees(angle)) continue;
          tell(key.where.line > 0 ? key.where : joint.where,
               fmt::format("{} puts joint '{}' at", who, joint.name), fmt::format("{:g}", angle),
               key.name.empty() && key.where.line == 0 ? "initial" : "q");
        }
      }
    }
  }

  void examine_target(const Actuator& actuator) const {
    const bool is_position = actuator.bias[1] < 0 && actuator.gain == -actuator.bias[1];
    if (!is_position || !looks_like_degrees(actuator.control)) return;
    for (const Body& body : scene.bodies) {
      for (const Joint& joint : body.joints) {
        if (joint.name != actuator.joint || !is_angle(joint.type)) continue;
        tell(actuator.where, fmt::format("actuator '{}' has the target", actuator.name),
             fmt::format("{:g}", actuator.control), "target");
      }
    }
  }
};

// --- Options ---------------------------------------------------------------------------------------------

void examine_options(const Scene& scene, double dt, Diagnostics* diagnostics) {
  const Source where{scene.file, 0};
  if (dt > kLongestStep) {
    diagnostics->warning(where, fmt::format("the time step is {:g} s", dt),
                         dt >= 1 && dt <= 100
                             ? fmt::format("dt is in seconds: {:g} ms are {:g}", dt, 1e-3 * dt)
                             : "write seconds; 0.001 to 0.01 is usual");
  } else if (dt < kShortestStep) {
    diagnostics->warning(where, fmt::format("the time step is {:g} s", dt),
                         "write seconds; 0.001 to 0.01 is usual");
  }
  const Vec3& g = scene.options.gravity;
  if (g.norm() > kLargestGravity) {
    diagnostics->warning(
        where, fmt::format("gravity is {:g} m/s^2", g.norm()),
        "lengths are metres: on Earth write [0, 0, -9.81]; in millimetres, scale the whole scene by 0.001");
  }
  if (g.z() > 0 && g.z() >= std::hypot(g.x(), g.y())) {
    diagnostics->warning(
        where, fmt::format("gravity is [{:g}, {:g}, {:g}]: things fall upwards", g.x(), g.y(), g.z()),
        "z points up: write [0, 0, -9.81]");
  }
}

// --- Shapes and materials --------------------------------------------------------------------------------

const TriangleMesh* mesh_of(const Shape& shape) {
  if (const auto* mesh = std::get_if<ConvexMesh>(&shape)) return mesh->mesh.get();
  if (const auto* mesh = std::get_if<SurfaceMesh>(&shape)) return mesh->mesh.get();
  if (const auto* mesh = std::get_if<SignedDistanceMesh>(&shape)) return mesh->mesh.get();
  return nullptr;
}

// [m] the longest side of its box along its own axes; 0 of what has none.
double longest_side(const Shape& shape) {
  if (const auto* sphere = std::get_if<Sphere>(&shape)) return 2 * sphere->radius;
  if (const auto* box = std::get_if<Box>(&shape)) return 2 * box->half_size.maxCoeff();
  if (const auto* c = std::get_if<Capsule>(&shape)) return 2 * (c->radius + c->half_length);
  if (const auto* c = std::get_if<Cylinder>(&shape)) return 2 * std::max(c->radius, c->half_length);
  if (const auto* ellipsoid = std::get_if<Ellipsoid>(&shape)) return 2 * ellipsoid->radii.maxCoeff();
  const TriangleMesh* mesh = mesh_of(shape);
  if (!mesh || mesh->vertices.empty()) return 0;
  Vec3 lower = mesh->vertices[0], upper = lower;
  for (const Vec3& v : mesh->vertices) lower = lower.cwiseMin(v), upper = upper.cwiseMax(v);
  return (upper - lower).maxCoeff();
}

// Bodies that have a joint between them and the world.
std::map<std::string, bool> moving_bodies(const Scene& scene) {
  std::map<std::string, const Body*> by_name;
  for (const Body& body : scene.bodies) by_name[body.name] = &body;
  std::map<std::string, bool> moves;
  for (const Body& body : scene.bodies) {
    bool& moving = moves[body.name];
    const Body* at = &body;
    for (std::size_t depth = 0; at && depth <= scene.bodies.size(); ++depth) {
      for (const Joint& joint : at->joints) moving = moving || joint.type != JointType::weld;
      const auto parent = by_name.find(at->parent);
      at = parent == by_name.end() ? nullptr : parent->second;
    }
  }
  return moves;
}

void examine_shapes(const Scene& scene, Diagnostics* diagnostics) {
  const std::map<std::string, bool> moves = moving_bodies(scene);
  std::map<std::string, bool> has_inertia;
  for (const Body& body : scene.bodies) has_inertia[body.name] = body.inertia.has_value();
  for (const ShapeInstance& s : scene.shapes) {
    const auto moving = moves.find(s.body);
    if (moving == moves.end() || !moving->second) continue;
    const std::string who = fmt::format("{} '{}' of body '{}'", shape_name(s.shape), s.name, s.body);
    const bool weighs = s.has_mass && !has_inertia[s.body];
    const double side = longest_side(s.shape);
    const double volume = weighs ? std::abs(volume_properties(s.shape).volume) : 0;
    const double mass = s.mass.value_or(s.density * volume);
    if (weighs && !s.mass && s.density >= 1 && s.density < kLightest) {  // below 1 examine() tells
      diagnostics->warning(
          s.where, fmt::format("{} has a density of {:g} kg/m^3, less than foam", who, s.density),
          fmt::format("densities are kg/m^3: {:g} g/cm^3 are {:g}", s.density, 1e3 * s.density));
    }
    if (side > kLargest && mesh_of(s.shape)) {
      diagnostics->warning(
          s.where, fmt::format("{} is {:.3g} m long", who, side),
          "is the mesh in millimetres? then write 'scale: 0.001' (URDF: scale=\"0.001 0.001 0.001\")");
    } else if (side > kLargest && weighs && mass > kHeaviest) {
      diagnostics->warning(s.where, fmt::format("{} is {:.3g} m long and weighs {:.2g} kg", who, side, mass),
                           "sizes are metres: 100 mm are 0.1");
    } else if (side > 0 && side < kSmallest) {
      diagnostics->warning(s.where, fmt::format("{} is only {:.3g} m long", who, side),
                           "sizes are metres; was a mesh scaled twice?");
    }
  }
}

void examine_friction(const Scene& scene, Diagnostics* diagnostics) {
  const auto tell = [&](const Source& where, const std::string& who, double friction) {
    if (!(friction > kMostFriction) || std::isinf(friction)) return;
    diagnostics->warning(where, fmt::format("{} has friction {:g}", who, friction),
                         "it is a coefficient: rubber on asphalt has about 1");
  };
  for (const Material& m : scene.materials) {
    const std::string who = fmt::format("material '{}'", m.name);
    tell(m.where, who, m.friction);
    if (m.friction_tensor) tell(m.where, who, std::max(m.friction_tensor->along, m.friction_tensor->across));
  }
  for (const PairOverride& p : scene.pairs) {
    const std::string who = fmt::format("pair '{}', '{}'", p.a, p.b);
    if (p.friction) tell(p.where, who, *p.friction);
    if (p.friction_tensor) tell(p.where, who, std::max(p.friction_tensor->along, p.friction_tensor->across));
  }
}

// Lengths that were taken for coefficients.
void examine_turning_friction(const Scene& scene, Diagnostics* diagnostics) {
  for (const ShapeInstance& shape : scene.shapes) {
    const auto* ball = std::get_if<Sphere>(&shape.shape);
    const auto* capsule = std::get_if<Capsule>(&shape.shape);
    const auto* cylinder = std::get_if<Cylinder>(&shape.shape);
    if (!shape.collides || (ball == nullptr && capsule == nullptr && cylinder == nullptr)) continue;
    const double radius = ball != nullptr      ? ball->radius
                          : capsule != nullptr ? capsule->radius
                                               : cylinder->radius;
    for (const Material& m : scene.materials) {
      if (m.name != shape.material || !(std::max(m.rolling_friction, m.torsional_friction) > radius))
        continue;
      const bool rolls = m.rolling_friction > radius;
      diagnostics->warning(
          shape.where,
          fmt::format("{} friction {:g} m of material '{}' is more than the radius {:g} m of shape '{}'",
                      rolls ? "rolling" : "torsional", rolls ? m.rolling_friction : m.torsional_friction,
                      m.name, radius, shape.name),
          "it is a length, in metres: a coefficient of rolling resistance times the radius");
    }
  }
}

// What materials say of contact that rods and soft bodies do not have.
void examine_flexible(const Scene& scene, Diagnostics* diagnostics) {
  const auto look = [&](const auto& spec, const char* kind, bool turns) {
    for (const Material& m : scene.materials) {
      if (m.name != spec.material) continue;
      const auto tell = [&](const std::string& what, const char* remedy) {
        diagnostics->warning(
            spec.where,
            fmt::format("{} of material '{}' has no effect on {} '{}'", what, m.name, kind, spec.name),
            remedy);
      };
      if (m.restitution > 0)
        tell("restitution",
             "it bounces as it yields: less damping lets it bounce more; remove 'restitution'");
      const bool is_patch = spec.contact.value_or(m.contact) == ContactModel::patch;
      if (!turns && !is_patch && (m.rolling_friction > 0 || m.torsional_friction > 0))
        tell(m.rolling_friction > 0 ? "rolling_friction" : "torsional_friction",
             "at points it turns against nothing: write 'contact: patch', or remove it");
    }
  };
  for (const RodSpec& rod : scene.rods) look(rod, "rod", true);
  for (const SoftBodySpec& body : scene.soft_bodies) look(body, "soft body", false);
}

// YAML scenes tell it when they are read, with the line of the key.
void examine_velocity_limits(const Scene& scene, Diagnostics* diagnostics) {
  int count = 0;
  const Joint* first = nullptr;
  for (const Body& body : scene.bodies) {
    for (const Joint& joint : body.joints) {
      if (std::isinf(joint.velocity_limit) || !ends_with(joint.where.file, ".urdf")) continue;
      if (count++ == 0) first = &joint;
    }
  }
  if (count == 0) return;
  diagnostics->warning(first->where,
                       fmt::format("the velocity limit of joint '{}'{} is not enforced", first->name,
                                   count > 1 ? fmt::format(" (and of {} more)", count - 1) : ""),
                       "limit the speed in your controller, or give the joint damping");
}

}  // namespace

void find_mistakes(const Scene& scene, double dt, Diagnostics* diagnostics) {
  examine_options(scene, dt, diagnostics);
  const Angles angles{scene, diagnostics};
  for (const Body& body : scene.bodies) {
    for (const Joint& joint : body.joints) angles.examine_joint(joint);
  }
  angles.examine_start(scene.initial);
  for (const Keyframe& keyframe : scene.keyframes) angles.examine_start(keyframe);
  for (const Actuator& actuator : scene.actuators) angles.examine_target(actuator);
  examine_shapes(scene, diagnostics);
  examine_friction(scene, diagnostics);
  examine_turning_friction(scene, diagnostics);
  examine_flexible(scene, diagnostics);
  examine_velocity_limits(scene, diagnostics);
}

}  // namespace capstan
