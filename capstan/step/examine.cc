#include "capstan/step/examine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "capstan/contacts/contacts.h"
#include "capstan/math/rotation.h"
#include "capstan/physics/rod.h"
#include "capstan/physics/soft_body.h"
#include "capstan/scene/mistakes.h"

namespace capstan {
namespace {

constexpr double kLowestDensity = 1, kHighestDensity = 30000;  // [kg/m^3]
constexpr double kInertiaFactor = 10;
constexpr double kMassRatio = 1e4;
constexpr double kMostTurnOfMode = 100;  // [rad] of the stiffest mode in a step, with implicit schemes
constexpr std::size_t kMaxToldOverlaps = 5;

Source body_source(const Scene& scene, const std::string& name) {
  for (const Body& body : scene.bodies) {
    if (body.name == name) return body.where;
  }
  return {scene.file, 0};
}

// Shapes of the scene come first in its model, then those of rods and soft bodies.
Source shape_source(const Scene& scene, const Model& model, int shape) {
  if (shape < static_cast<int>(scene.shapes.size())) return scene.shapes[shape].where;
  const Object& object = model.objects[model.links[model.shapes[shape].link].object];
  const auto* rod = dynamic_cast<const Rod*>(object.physics.get());
  const auto* soft = dynamic_cast<const SoftBody*>(object.physics.get());
  return rod != nullptr ? rod->spec().where : soft != nullptr ? soft->spec().where : Source{scene.file, 0};
}

// --- Masses ------------------------------------------------------------------------------------------------

// Mass properties at density 1 of the shapes that say how large a body is: those that collide, or all.
VolumeProperties body_volume(const Scene& scene, const std::string& body) {
  VolumeProperties sum;
  for (const bool only_colliding : {true, false}) {
    Vec3 first_moment = Vec3::Zero();
    std::vector<std::pair<VolumeProperties, Transform>> parts;
    for (const ShapeInstance& shape : scene.shapes) {
      if (shape.body != body || (only_colliding && !shape.collides)) continue;
      const VolumeProperties part = volume_properties(shape.shape);
      if (!(part.volume > 0)) continue;
      const Transform X = to_transform(shape.pose);
      parts.emplace_back(part, X);
      sum.volume += part.volume;
      first_moment += part.volume * (X * part.centroid);
    }
    if (!(sum.volume > 0)) continue;
    sum.centroid = first_moment / sum.volume;
    for (const auto& [part, X] : parts) {
      const Vec3 r = X * part.centroid - sum.centroid;
      sum.inertia += X.R * part.inertia * X.R.transpose() +
                     part.volume * (r.squaredNorm() * Mat3::Identity() - r * r.transpose());
    }
    return sum;
  }
  return sum;
}

void examine_masses(const Scene& scene, const Model& model, Diagnostics* diagnostics) {
  for (const ShapeInstance& shape : scene.shapes) {
    if (!shape.has_mass) continue;
    const double volume = volume_properties(shape.shape).volume;
    if (!(volume > 0)) continue;
    const auto body = std::find_if(scene.bodies.begin(), scene.bodies.end(),
                                   [&](const Body& b) { return b.name == shape.body; });
    if (body == scene.bodies.end() || body->inertia) continue;
    const double density = shape.mass ? *shape.mass / volume : shape.density;
    if (density >= kLowestDensity && density <= kHighestDensity) continue;
    diagnostics->warning(shape.where,
                         fmt::format("{} '{}' of body '{}' has a density of {:.3g} kg/m^3",
                                     shape_name(shape.shape), shape.name, shape.body, density),
                         "check its size [m] and its mass [kg]; water has 1000, steel 7850");
  }
  for (const Body& body : scene.bodies) {
    if (!body.inertia || !(body.inertia->mass > 0)) continue;
    const VolumeProperties volume = body_volume(scene, body.name);
    if (!(volume.volume > 0)) continue;
    const double density = body.inertia->mass / volume.volume;
    if (density < kLowestDensity || density > kHighestDensity) {
      diagnostics->warning(body.where,
                           fmt::format("body '{}' has {:.3g} kg in shapes of {:.3g} m^3: {:.3g} kg/m^3",
                                       body.name, body.inertia->mass, volume.volume, density),
                           "check the mass [kg] and the shapes' sizes [m]; water has 1000, steel 7850");
    }
    const double given = body.inertia->about_com.trace();
    const double expected = volume.inertia.trace() * density;
    if (given > kInertiaFactor * expected || given * kInertiaFactor < expected) {
      diagnostics->warning(
          body.where,
          fmt::format("body '{}' has moments of inertia of {:.3g} kg m^2 in sum; its shapes, filled evenly "
                      "with its mass, have {:.3g}",
                      body.name, given, expected),
          "give the inertia about the centre of mass in kg m^2, or leave it out to have it computed");
    }
  }
  for (const Link& link : model.links) {
    if (link.parent <= 0) continue;
    const Link& parent = model.links[link.parent];
    if (!(link.mass > 0) || !(parent.mass > 0)) continue;
    const double ratio = std::max(link.mass / parent.mass, parent.mass / link.mass);
    if (ratio <= kMassRatio) continue;
    diagnostics->warning(
        body_source(scene, model.bodies[link.body].name),
        fmt::format("body '{}' ({:.3g} kg) is joined to '{}' ({:.3g} kg): masses differ by {:.0f}",
                    model.bodies[link.body].name, link.mass, model.bodies[parent.body].name, parent.mass,
                    ratio),
        "check the units of both masses");
  }
}

// --- Names
// ---------------------------------------------------------------------------------------------------

template <typename Things>
void examine_names(const char* kind, const Things& things, Diagnostics* diagnostics) {
  std::map<std::string, std::string> by_lower_case;
  for (const auto& thing : things) {
    const std::string& name = thing.name;
    if (name.empty()) continue;
    if (std::isspace(static_cast<unsigned char>(name.front())) ||
        std::isspace(static_cast<unsigned char>(name.back()))) {
      diagnostics->warning(thing.where, fmt::format("{} '{}' has blanks at an end of its name", kind, name),
                           "remove them");
    }
    if (name.find_first_of(",\"\n\r\t[]") != std::string::npos) {
      diagnostics->warning(thing.where,
                           fmt::format("{} '{}' has characters in its name that logs must quote", kind, name),
                           "use letters, digits, _, - and /");
    }
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto [it, added] = by_lower_case.emplace(lower, name);
    if (!added && it->second != name) {
      diagnostics->warning(
          thing.where,
          fmt::format("{}s '{}' and '{}' differ by upper and lower case only", kind, it->second, name),
          "rename one of them");
    }
  }
}

// --- Starts
// --------------------------------------------------------------------------------------------------

void examine_start(const Scene& scene, const Model& model, const ModelKeyframe& start, const Source& where,
                   const std::string& what, Diagnostics* diagnostics) {
  std::map<std::string, Source> joint_where;
  for (const Body& body : scene.bodies) {
    for (const Joint& joint : body.joints) joint_where[joint.name] = joint.where;
  }
  const auto tell = [&](const ModelJoint& joint, double q, const Range& range) {
    constexpr double kSlack = 1e-9;
    if (q >= range.lower - kSlack && q <= range.upper + kSlack) return;
    const Source& at = where.line > 0 ? where : joint_where[joint.name];
    diagnostics->warning(at,
                         fmt::format("{} puts joint '{}' at {:.4g}, outside its limits [{:.4g}, {:.4g}]",
                                     what, joint.name, q, range.lower, range.upper),
                         "change the position or the limits");
  };
  for (const ModelJoint& joint : model.joints) {
    if (joint.limits.empty()) continue;
    if (joint.type == JointType::ball) {
      tell(joint, quat_log(start.q.segment<4>(joint.q)).norm(), joint.limits[0]);
    } else if (joint.type != JointType::free) {
      for (std::size_t i = 0; i < joint.limits.size(); ++i) {
        tell(joint, start.q[joint.q + static_cast<int>(i)], joint.limits[i]);
      }
    }
  }
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const ModelActuator& actuator = model.actuators[i];
    const double u = start.control[static_cast<int>(i)];
    if (u >= actuator.control_range.lower && u <= actuator.control_range.upper) continue;
    diagnostics->warning(
        where.line > 0 || i >= scene.actuators.size() ? where : scene.actuators[i].where,
        fmt::format("{} sets actuator '{}' to {:.4g}, outside its range [{:.4g}, {:.4g}]", what,
                    actuator.name, u, actuator.control_range.lower, actuator.control_range.upper),
        "it will be clamped; change the control or the range");
  }
}

// Soft constraints and limits that do nothing, or that swing faster than a step can follow.
void examine_soft(const Scene& scene, const StepOptions& options, Diagnostics* diagnostics) {
  const auto look = [&](const SoftReference& soft, const Source& where, const std::string& who) {
    const auto& [first, second] = soft.solref;
    if (first == 0 && second == 0) {
      diagnostics->warning(where, who + " has a solref of [0, 0]: it does nothing",
                           "write a time constant [s] and a damping ratio, such as [0.02, 1]");
    }
    const double swing =
        first > 0 ? options.dt / (std::max(first, 2 * options.dt) * second) : options.dt * std::sqrt(-first);
    if (swing <= 1) return;
    diagnostics->warning(
        where,
        fmt::format(
            "{} swings by {:.2g} rad in a time step of {:g} s with its solref [{:g}, {:g}], and may gain "
            "energy",
            who, swing, options.dt, first, second),
        first > 0 ? "write a larger time constant or damping ratio, or take a smaller time step"
                  : "write a smaller stiffness, or take a smaller time step");
  };
  for (const Body& body : scene.bodies) {
    for (const Joint& joint : body.joints)
      if (joint.soft_limits && !joint.limits.empty())
        look(*joint.soft_limits, joint.where, "the limit of joint '" + joint.name + "'");
  }
  for (const Constraint& c : scene.constraints)
    if (c.soft) look(*c.soft, c.where, "constraint '" + c.name + "'");
}

// Controls over time.
void examine_controls(const Scene& scene, const Model& model, Diagnostics* diagnostics) {
  if (scene.controls.empty()) return;
  const ControlPoint& first = scene.controls.front();
  if (first.time >= model.options.duration) {
    diagnostics->warning(first.where,
                         fmt::format("the controls begin at {:g} s; the run ends at {:g} s", first.time,
                                     model.options.duration),
                         "begin earlier, or give 'options' a longer duration");
  }
  for (const ControlPoint& point : scene.controls) {
    for (const auto& [name, u] : point.control) {
      const int i = model.find_actuator(name);
      if (i < 0) continue;
      const Range& range = model.actuators[i].control_range;
      if (u >= range.lower && u <= range.upper) continue;
      diagnostics->warning(point.where,
                           fmt::format("at {:g} s actuator '{}' is set to {:.4g}, outside its range [{:.4g}, "
                                       "{:.4g}]",
                                       point.time, name, u, range.lower, range.upper),
                           "it will be clamped; change the control or the range");
    }
  }
}

// --- Time step
// -----------------------------------------------------------------------------------------------

void examine_time_step(const Scene& scene, const Model& model, const StepOptions& options,
                       Diagnostics* diagnostics) {
  if (model.num_velocities() == 0) return;
  const bool is_implicit = scheme(options.integrator).theta1 > 0;
  const StiffestMode mode = calc_stiffest_mode(model, initial_state(model));
  const double turn = std::sqrt(mode.frequency_squared) * options.dt;  // [rad] of the mode in a step
  if (is_implicit ? turn <= kMostTurnOfMode
                  : is_stable(options.integrator, options.dt, mode.frequency_squared, mode.damping)) {
    return;
  }
  const ModelJoint& joint = model.joints[model.dofs[mode.dof].joint];
  Source where{scene.file, 0};
  for (const Body& body : scene.bodies) {
    for (const Joint& j : body.joints) {
      if (j.name == joint.name) where = j.where;
    }
  }
  if (is_implicit) {
    diagnostics->warning(
        where,
        fmt::format(
            "the spring or PD gain at joint '{}' is so stiff for the inertia there that it swings in {:.2g} "
            "s, {:.0f} times in a step of {:g} s: no step can follow it, and it acts as if rigid",
            joint.name, 2 * std::numbers::pi * options.dt / turn, turn / (2 * std::numbers::pi), options.dt),
        fmt::format(
            "check the units of the gain and of the inertia; a gain {:.0g} times smaller swings once in 6 "
            "steps. What is meant to be rigid needs no joint, or a weld constraint",
            turn * turn));
    return;
  }
  // Explicit Euler is bounded up to d / w^2, the others to the root of w^2 dt^2 + 2 d dt = 4.
  const double w2 = mode.frequency_squared, d = mode.damping;
  const double largest = options.integrator == Integrator::explicit_euler
                             ? (w2 > 0 ? d / w2 : 2 / d)
                             : (w2 > 0 ? (std::sqrt(d * d + 4 * w2) - d) / w2 : 2 / d);
  diagnostics->warning(
      where,
      fmt::format(
          "the spring, PD gain or damping at joint '{}' ({:.3g} rad/s) grows with integrator {} at dt = "
          "{:g} s",
          joint.name, std::sqrt(w2), integrator_name(options.integrator), options.dt),
      largest > 0 ? fmt::format("use dt below {:.2g} s or integrator semi_implicit", largest)
                  : "use integrator semi_implicit");
}

// --- Materials
// -----------------------------------------------------------------------------------------------

void examine_materials(const Scene& scene, Diagnostics* diagnostics) {
  std::set<std::string> used;
  for (const ShapeInstance& shape : scene.shapes) used.insert(shape.material);
  for (const RodSpec& rod : scene.rods) used.insert(rod.material);
  for (const SoftBodySpec& body : scene.soft_bodies) used.insert(body.material);
  for (const Material& material : scene.materials) {
    if (material.name == "default" || used.count(material.name)) continue;
    diagnostics->warning(material.where, fmt::format("no shape uses material '{}'", material.name),
                         "give it to a shape or remove it");
  }
}

// --- Overlaps
// ------------------------------------------------------------------------------------------------

// What of a soft body overlaps with another thing is told once. Returns the other overlaps.
std::vector<Overlap> tell_soft_overlaps(const Scene& scene, const Model& model,
                                        const std::vector<Overlap>& overlaps, Diagnostics* diagnostics) {
  struct Sum {
    int count = 0;
    Overlap deepest;
  };
  std::vector<Overlap> others;
  std::map<std::array<std::string, 2>, Sum> sums;
  const auto owner = [&](int s) {
    const ModelShape& shape = model.shapes[s];
    const Object* object = shape.link > 0 ? &model.objects[model.links[shape.link].object] : nullptr;
    const auto* soft = object != nullptr ? dynamic_cast<const SoftBody*>(object->physics.get()) : nullptr;
    return soft != nullptr ? fmt::format("soft body '{}'", soft->spec().name)
                           : fmt::format("{} '{}' of body '{}'", shape_name(shape.shape), shape.name,
                                         model.bodies[shape.body].name);
  };
  for (const Overlap& overlap : overlaps) {
    const ModelShape &a = model.shapes[overlap.shape_a], &b = model.shapes[overlap.shape_b];
    if (a.part == SurfacePart::none && b.part == SurfacePart::none) {
      others.push_back(overlap);
      continue;
    }
    Sum& sum = sums[{owner(overlap.shape_a), owner(overlap.shape_b)}];
    if (sum.count++ == 0 || overlap.depth > sum.deepest.depth) sum.deepest = overlap;
  }
  for (const auto& [names, sum] : sums) {
    diagnostics->warning(
        shape_source(scene, model, sum.deepest.shape_b),
        fmt::format("at the start, {} and {} overlap in {} place{}, by {:.2g} m or more", names[0], names[1],
                    sum.count, sum.count == 1 ? "" : "s", sum.deepest.depth),
        "move them apart, or exclude the pair");
  }
  return others;
}

}  // namespace

StiffestMode calc_stiffest_mode(const Model& model, const State& state) {
  const int n = model.num_velocities();
  StiffestMode mode;
  if (n == 0) return mode;
  ForceGradient gradient = make_force_gradient(model);
  VecX tau(n);
  calc_forces(model, state.q, state.v, state.control, &tau, &gradient);
  Placement placement = make_placement(model);
  TreeWorkspace workspace = make_tree_workspace(model);
  calc_placement(model, state.q, &placement);
  VecX mass(model.pattern.num_values());
  calc_mass_matrix(model, placement, &workspace, &mass);
  // Rods have other springs (examine_rods), and no place in this matrix.
  for (int k = 0; k < n; ++k) {
    if (model.dofs[k].joint < 0) mass[model.pattern.row_start[k + 1] - 1] = 1;
  }
  VecX factored = mass;
  if (factor(model.pattern, factored.data()) >= 0) return mode;

  const auto multiply_gradient = [&](const VecX& x, bool damping) {
    VecX y = (damping ? gradient.damping : gradient.stiffness).cwiseProduct(x);
    for (const ForceGradient::Term& term : gradient.terms) {
      double rate = 0;
      for (const auto& t : term.transmission->terms) rate += t.coefficient * x[t.dof];
      const double force = (damping ? term.damping : term.stiffness) * rate;
      for (const auto& t : term.transmission->terms) y[t.dof] += t.coefficient * force;
    }
    return y;
  };
  const auto largest = [&](bool damping, VecX* vector) {
    VecX x(n);
    for (int i = 0; i < n; ++i)
      x[i] = 1 + 0.1 * std::sin(1.7 * i);  // any vector that no mode is orthogonal to
    double value = 0;
    for (int k = 0; k < 200; ++k) {
      VecX y = multiply_gradient(x, damping);
      solve_in_place(model.pattern, factored.data(), y.data());
      const double norm = y.norm();
      if (!(norm > 0)) return 0.0;
      const double before = value;
      value = norm / x.norm();
      x = y / norm;
      if (std::abs(value - before) < 1e-6 * value) break;
    }
    *vector = x;
    return value;
  };
  VecX x = VecX::Zero(n);
  mode.frequency_squared = largest(false, &x);
  const bool only_damping = !(mode.frequency_squared > 0);
  if (only_damping) mode.damping = largest(true, &x);
  if (only_damping && !(mode.damping > 0)) return mode;
  VecX Mx(n);
  multiply(model.pattern, mass.data(), x.data(), Mx.data());
  if (!only_damping) mode.damping = x.dot(multiply_gradient(x, true)) / x.dot(Mx);
  x.cwiseProduct(multiply_gradient(x, only_damping)).cwiseAbs().maxCoeff(&mode.dof);
  return mode;
}

bool is_stable(Integrator integrator, double dt, double frequency_squared, double damping) {
  const double w2 = frequency_squared * dt * dt, c = damping * dt;
  constexpr double kSlack = 1e-9;
  if (integrator == Integrator::explicit_euler) return w2 <= c + kSlack && 2 * c <= 4 + w2 + kSlack;
  if (integrator == Integrator::symplectic_euler) return w2 + 2 * c <= 4 + kSlack;
  return true;
}

void examine(const Scene& scene, const Model& model, const StepOptions& options, Diagnostics* diagnostics) {
  find_mistakes(scene, options.dt, diagnostics);
  examine_masses(scene, model, diagnostics);
  examine_names("body", scene.bodies, diagnostics);
  std::vector<Joint> joints;
  for (const Body& body : scene.bodies) joints.insert(joints.end(), body.joints.begin(), body.joints.end());
  examine_names("joint", joints, diagnostics);
  examine_names("actuator", scene.actuators, diagnostics);
  examine_start(scene, model, model.initial, scene.initial.where, "the start", diagnostics);
  examine_loops(scene, model, model.initial, scene.initial.where, "the start", diagnostics);
  for (std::size_t i = 0; i < model.keyframes.size(); ++i) {
    const ModelKeyframe& keyframe = model.keyframes[i];
    const std::string what = "keyframe '" + keyframe.name + "'";
    examine_start(scene, model, keyframe, scene.keyframes[i].where, what, diagnostics);
    examine_loops(scene, model, keyframe, scene.keyframes[i].where, what, diagnostics);
  }
  examine_controls(scene, model, diagnostics);
  examine_time_step(scene, model, options, diagnostics);
  examine_materials(scene, diagnostics);
  examine_soft(scene, options, diagnostics);
  examine_patches(scene, model, diagnostics);
  examine_names("rod", scene.rods, diagnostics);
  examine_rods(scene, model, options, diagnostics);
  examine_names("soft body", scene.soft_bodies, diagnostics);
  examine_soft_bodies(scene, model, options, diagnostics);

  Placement placement = make_placement(model);
  calc_placement(model, model.initial.q, &placement);
  const std::vector<Overlap> overlaps =
      tell_soft_overlaps(scene, model, find_overlaps(model, placement), diagnostics);
  for (std::size_t i = 0; i < overlaps.size(); ++i) {
    const ModelShape &a = model.shapes[overlaps[i].shape_a], &b = model.shapes[overlaps[i].shape_b];
    const Source where = shape_source(scene, model, overlaps[i].shape_a);
    if (i == kMaxToldOverlaps) {
      diagnostics->warning(where,
                           fmt::format("{} more pairs of shapes overlap at the start", overlaps.size() - i),
                           "move them apart, or start from a keyframe");
      break;
    }
    diagnostics->warning(
        where,
        fmt::format("at the start, {} '{}' of body '{}' and {} '{}' of body '{}' overlap by {:.2g} m or more",
                    shape_name(a.shape), a.name, model.bodies[a.body].name, shape_name(b.shape), b.name,
                    model.bodies[b.body].name, overlaps[i].depth),
        "move them apart, start from another keyframe, or exclude the pair");
  }
}

}  // namespace capstan
