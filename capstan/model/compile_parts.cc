// Names, transmissions, constraints and keyframes to indices.
#include <fmt/core.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "capstan/base/closest_name.h"
#include "capstan/model/compiler.h"
#include "capstan/model/mocap.h"
#include "capstan/physics/soft_nodes.h"

namespace capstan {

bool is_sound(const Pose& pose) {
  return pose.position.allFinite() && pose.quat_wxyz.allFinite() && pose.quat_wxyz.norm() > 1e-9 &&
         pose.position.cwiseAbs().maxCoeff() <= kLargestNumber;
}

void check_pose(const Pose& pose, const Source& where, const std::string& who, Diagnostics& d) {
  if (is_sound(pose)) return;
  if (pose.position.allFinite() && pose.position.cwiseAbs().maxCoeff() > kLargestNumber) {
    d.error(where,
            fmt::format("{} is at {:g} m, more than double precision can carry in contact", who,
                        pose.position.cwiseAbs().maxCoeff()),
            "write a position in metres, within 1e9 m");
    return;
  }
  d.error(where, who + " has a pose that is not finite or a zero quaternion", "write finite numbers");
}

void check_soft(const SoftReference& soft, const Source& where, const std::string& who, Diagnostics& d) {
  const auto finite = [](double x) { return std::isfinite(x); };
  const auto& [first, second] = soft.solref;
  if (!finite(first) || !finite(second) || !((first > 0 && second > 0) || (first <= 0 && second <= 0)))
    d.error(where, fmt::format("{} has solref [{:g}, {:g}]", who, first, second),
            "write a time constant [s] and a damping ratio, both above 0, or -stiffness [1/s^2] and -damping "
            "[1/s]");
  if (!std::all_of(soft.solimp.begin(), soft.solimp.end(), finite))
    d.error(where, who + " has a solimp that is not finite", "write numbers");
}

void check_range(const Range& range, const Source& where, const std::string& who, Diagnostics& d) {
  if (range.lower <= range.upper) return;
  d.error(where,
          fmt::format("{} has a range [{:g}, {:g}] with the lower above the upper", who, range.lower,
                      range.upper),
          "swap them");
}

int ModelCompiler::resolve(const std::map<std::string, int>& map, const char* kind, const std::string& name,
                           const Source& where, const std::string& user) {
  if (const auto it = map.find(name); it != map.end()) return it->second;
  // A node of a soft body that could not be made: its own mistake is told already.
  if (const auto slash = name.rfind('/'); &map == &body_index && slash != std::string::npos) {
    const auto soft = soft_index.find(name.substr(0, slash));
    if (soft != soft_index.end() && soft->second < std::ssize(soft_objects)) {
      if (soft_objects[soft->second] < 0) return -1;
      const Object& object = model.objects[soft_objects[soft->second]];
      const NodeAdvice advice =
          explain_node(static_cast<const SoftBody&>(*object.physics), name.substr(slash + 1));
      if (!advice.what.empty()) {
        diagnostics.error(where, fmt::format("{} is {} '{}': {}", user, kind, name, advice.what),
                          advice.remedy);
        return -1;
      }
    }
  }
  std::string known;
  std::vector<std::string> names;
  for (const auto& [key, value] : map) names.push_back(key);
  int count = 0;
  // Of bodies the world first, and not each edge of a rod and each node of a soft body.
  const auto is_carrier = [&](int body) {
    const int object = model.links[model.bodies[body].link].object;
    return object >= 0 && !model.objects[object].is_tree();
  };
  if (&map == &body_index && map.count(kWorld)) {
    known = kWorld;
    ++count;
  }
  for (const auto& [key, value] : map) {
    if (&map == &body_index && (key == kWorld || is_carrier(value))) continue;
    if (++count > 8) {
      known += ", ...";
      break;
    }
    known += (known.empty() ? "" : ", ") + key;
  }
  diagnostics.error(where, fmt::format("{} is {} '{}', which does not exist", user, kind, name),
                    known.empty() ? fmt::format("there is no {} at all", kind)
                                  : did_you_mean(name, names, "known are: " + known));
  return -1;
}

void ModelCompiler::compile_transmissions() {
  index_names(scene.tendons, "tendon", &tendon_index, &diagnostics);
  index_names(scene.actuators, "actuator", &actuator_index, &diagnostics);

  // Sets the transmission's tree, and marks the tree as coupled when its dofs are not all on one path to the
  // root.
  const auto finish = [&](Transmission* t, bool implicit) {
    if (t->terms.empty()) return;
    const auto tree_of = [&](int dof) { return model.dofs[dof].object; };
    t->tree = tree_of(t->terms.front().dof);
    for (const auto& term : t->terms) {
      if (tree_of(term.dof) != t->tree) t->tree = -1;
    }
    if (t->tree < 0 || !implicit) return;
    for (const auto& a : t->terms) {
      for (const auto& b : t->terms) {
        const int low = std::min(a.dof, b.dof), high = std::max(a.dof, b.dof);
        const auto begin = model.pattern.columns.begin() + model.pattern.row_start[high];
        const auto end = model.pattern.columns.begin() + model.pattern.row_start[high + 1];
        if (std::find(begin, end, low) == end) model.trees[t->tree].coupled = true;
      }
    }
  };

  for (const Tendon& tendon : scene.tendons) {
    ModelTendon entry{
        tendon.name,   {}, tendon.stiffness, tendon.damping, tendon.dry_friction, tendon.spring_rest,
        tendon.limits, {}};
    const std::string who = quoted("tendon", tendon.name);
    for (const Tendon::Term& term : merged_terms(tendon)) {
      const int joint = resolve(joint_index, "joint", term.joint, tendon.where, "a joint of " + who);
      if (joint < 0) continue;
      if (num_velocities(model.joints[joint].type) != 1) {
        diagnostics.error(tendon.where,
                          fmt::format("{} runs over {} joint '{}', which has several dofs", who,
                                      joint_type_name(model.joints[joint].type), term.joint),
                          "use joints with one dof");
        continue;
      }
      if (!std::isfinite(term.coefficient)) {
        diagnostics.error(tendon.where, who + " has a coefficient that is not finite",
                          "write a finite number");
      }
      entry.transmission.terms.push_back({model.joints[joint].v, term.coefficient});
    }
    if (!tendon.path.empty()) {
      compile_path(tendon, &entry);
    } else if (tendon.terms.empty())
      diagnostics.error(tendon.where, who + " has no joint", "list at least one joint");
    for (const double value : {tendon.stiffness, tendon.damping, tendon.dry_friction, tendon.rotor_inertia}) {
      if (!(value >= 0) || std::isinf(value)) {
        diagnostics.error(
            tendon.where,
            fmt::format("{} has a stiffness, damping, friction or rotor inertia of {:g}", who, value),
            "write finite numbers of 0 or more");
      }
    }
    check_range(tendon.spring_rest, tendon.where, who, diagnostics);
    if (tendon.limits) check_range(*tendon.limits, tendon.where, who, diagnostics);
    if (tendon.rotor_inertia != 0) {
      if (entry.transmission.terms.size() == 1 &&
          entry.path.empty()) {  // a rotor behind a gear: seen at the joint with the ratio squared
        const auto& term = entry.transmission.terms[0];
        model.dofs[term.dof].rotor_inertia += term.coefficient * term.coefficient * tendon.rotor_inertia;
      } else {
        diagnostics.not_understood(
            tendon.where, who + " has a rotor inertia over several joints or sites, which is not simulated",
            "put rotors on the joints");
      }
    }
    finish(&entry.transmission, tendon.stiffness > 0 || tendon.damping > 0);
    model.tendons.push_back(entry);
  }

  for (const Actuator& actuator : scene.actuators) {
    const std::string who = quoted("actuator", actuator.name);
    ModelActuator entry{// Plus zero: -0 and 0 are one number, and so must be one fingerprint.
                        actuator.name,
                        {},
                        actuator.gain,
                        actuator.bias + Vec3::Zero(),
                        actuator.control_range,
                        actuator.force_range,
                        actuator.control,
                        Vec2::Zero(),
                        {},
                        {},
                        {}};
    compile_activation(actuator, &entry);
    if (!actuator.joint.empty() + !actuator.tendon.empty() + !actuator.site.empty() != 1) {
      diagnostics.error(actuator.where, who + " must act on exactly one of a joint, a tendon and a site",
                        "name one");
      continue;
    }
    if (!actuator.site.empty()) {
      if (!entry.bias.tail<2>().isZero(0)) {
        diagnostics.warning(actuator.where,
                            who + " has a bias of length or velocity on a site, which is left out",
                            "use bias[0] only, or act on a joint");
        entry.bias.tail<2>().setZero();
      }
    } else if (!actuator.joint.empty()) {
      const int joint = resolve(joint_index, "joint", actuator.joint, actuator.where, "the joint of " + who);
      if (joint < 0) continue;
      const ModelJoint& j = model.joints[joint];
      const int n = num_velocities(j.type);
      if (j.type == JointType::free && entry.bias[1] != 0) {  // bias[1] times a length that is always 0
        diagnostics.warning(actuator.where,
                            who + " has a position bias on a free joint, which has no length: it is left out",
                            "give the free joint a stiffness, or use bias[0] and bias[2] only");
        entry.bias[1] = 0;
      }
      for (int k = 0; k < n; ++k) {
        if (n == 1 || actuator.gear[k] != 0) entry.transmission.terms.push_back({j.v + k, actuator.gear[k]});
      }
    } else {
      const int tendon =
          resolve(tendon_index, "tendon", actuator.tendon, actuator.where, "the tendon of " + who);
      if (tendon < 0 || tendon >= static_cast<int>(model.tendons.size())) continue;
      for (const auto& term : model.tendons[tendon].transmission.terms) {
        entry.transmission.terms.push_back({term.dof, actuator.gear[0] * term.coefficient});
      }
      if (model.tendons[tendon].transmission.path >= 0) {
        entry.transmission.path = tendon;
        entry.transmission.gear = actuator.gear[0];
        entry.transmission.length = actuator.gear[0] * model.tendons[tendon].transmission.length;
      }
    }
    if (!actuator.gear.allFinite() || !std::isfinite(actuator.gain) || !actuator.bias.allFinite() ||
        !std::isfinite(actuator.control)) {
      diagnostics.error(actuator.where, who + " has a number that is not finite", "write finite numbers");
    }
    if (actuator.bias[1] > 0 || actuator.bias[2] > 0) {
      diagnostics.warning(actuator.where,
                          who + " has a positive position or velocity bias: it feeds energy in",
                          "a spring has a negative bias[1], a damper a negative bias[2]");
    }
    check_range(actuator.control_range, actuator.where, who, diagnostics);
    check_range(actuator.force_range, actuator.where, who, diagnostics);
    finish(&entry.transmission, entry.bias[1] != 0 || entry.bias[2] != 0 || !entry.gain_slope.isZero(0) ||
                                    entry.muscle.has_value());
    model.actuators.push_back(entry);
  }
}

// Sites come after the transmissions: they may be on rods.
void ModelCompiler::compile_site_actuators() {
  for (const Actuator& actuator : scene.actuators) {
    if (actuator.site.empty()) continue;
    const auto site = std::find_if(model.sites.begin(), model.sites.end(),
                                   [&](const ModelSite& s) { return s.name == actuator.site; });
    if (site == model.sites.end()) {
      diagnostics.error(actuator.where,
                        fmt::format("the site of actuator '{}' is '{}', which does not exist", actuator.name,
                                    actuator.site),
                        "write the name of a site");
      continue;
    }
    model.site_actuators.push_back(
        {model.find_actuator(actuator.name), site->body, site->X_BS, actuator.gear});
  }
}

// The box of the same mass and moments: I_x = m / 12 (s_y^2 + s_z^2), and so on.
void ModelCompiler::add_drag_box(const Options& options, int body, const Inertia& inertia) {
  if (!(options.fluid_density > 0) && !(options.fluid_viscosity > 0)) return;
  if (model.bodies[body].link == 0) return;
  const Eigen::SelfAdjointEigenSolver<Mat3> axes(inertia.about_com);
  DragBox box;
  box.body = body;
  box.X_BI.p = inertia.com;
  box.X_BI.R = axes.eigenvectors();
  if (box.X_BI.R.determinant() < 0) box.X_BI.R.col(0) *= -1;
  const double sum = axes.eigenvalues().sum();
  for (int i = 0; i < 3; ++i)
    box.size[i] = std::sqrt(std::max(0.0, sum - 2 * axes.eigenvalues()[i]) * 6 / inertia.mass);
  model.drag_boxes.push_back(box);
}

Transform ModelCompiler::reference_pose(int body) const {
  if (const int carrier = model.bodies[body].link - model.num_tree_links(); carrier >= 0)
    return carrier_poses[carrier];
  Transform X;
  for (int b = body; b > 0; b = model.bodies[b].parent) X = to_transform(sources[b]->pose) * X;
  return X;
}

void ModelCompiler::compile_constraints() {
  for (const Constraint& c : scene.constraints) {
    const std::string who = quoted("constraint", c.name);
    ModelConstraint entry;
    entry.type = c.type;
    entry.name = c.name;
    if (c.type == ConstraintType::coupler) entry.polynomial = c.polynomial;  // other types ignore it
    if (c.type == ConstraintType::distance) entry.distance = c.distance;
    entry.stiffness = c.stiffness;
    entry.relaxation_time = c.relaxation_time < 0 ? -1 : c.relaxation_time;
    entry.soft = c.soft;
    if (c.soft) check_soft(*c.soft, c.where, who, diagnostics);
    entry.active = c.active;
    if (c.type == ConstraintType::coupler) {
      entry.joint_a = resolve(joint_index, "joint", c.joint_a, c.where, "the first joint of " + who);
      if (!c.joint_b.empty()) {
        entry.joint_b = resolve(joint_index, "joint", c.joint_b, c.where, "the second joint of " + who);
      }
      for (const int j : {entry.joint_a, entry.joint_b}) {
        if (j >= 0 && num_velocities(model.joints[j].type) != 1) {
          diagnostics.error(
              c.where,
              fmt::format("{} couples joint '{}', which has several dofs", who, model.joints[j].name),
              "couple joints with one dof");
        }
      }
      if (entry.joint_a >= 0 && entry.joint_a == entry.joint_b) {
        diagnostics.error(c.where, fmt::format("{} couples joint '{}' to itself", who, c.joint_a),
                          "name two joints");
      }
    } else {
      entry.body_a = resolve(body_index, "body", c.body_a, c.where, "the first body of " + who);
      entry.body_b = resolve(body_index, "body", c.body_b, c.where, "the second body of " + who);
      for (const auto& pose : {c.pose_a, c.pose_b}) {
        if (pose) check_pose(*pose, c.where, who, diagnostics);
      }
      if (c.pose_a) entry.X_A = to_transform(*c.pose_a);
      if (c.pose_b) entry.X_B = to_transform(*c.pose_b);
      if (entry.body_a >= 0 && entry.body_b >= 0 && (!c.pose_a || !c.pose_b)) {
        const Transform X_AB = inverse(reference_pose(entry.body_a)) * reference_pose(entry.body_b);
        if (!entry.X_A && !entry.X_B) entry.X_B = Transform{};
        if (!entry.X_A) entry.X_A = X_AB * *entry.X_B;
        if (!entry.X_B) entry.X_B = inverse(X_AB) * *entry.X_A;
      }
      if (entry.body_a >= 0 && entry.body_a == entry.body_b) {
        diagnostics.error(c.where, fmt::format("{} ties body '{}' to itself", who, c.body_a),
                          "name two bodies");
      }
    }
    // What is tied to a node of a soft body does not touch the surface there.
    for (const auto& [body, other] :
         {std::pair{entry.body_a, entry.body_b}, std::pair{entry.body_b, entry.body_a}}) {
      if (c.type == ConstraintType::coupler || body <= 0 || other <= 0 || body == other) continue;
      const std::vector<int> parts = parts_around(model, body, 0);
      if (parts.size() == 1) continue;
      for (const int part : parts)
        model.excluded_bodies.push_back({std::min(part, other), std::max(part, other)});
    }
    const auto is_unmoved = [&](int body) {
      return body >= 0 && (model.bodies[body].link == 0 || is_mocap(model, model.bodies[body].link));
    };
    if (c.type != ConstraintType::coupler && entry.active && is_unmoved(entry.body_a) &&
        is_unmoved(entry.body_b) && model.bodies[entry.body_a].link != model.bodies[entry.body_b].link) {
      diagnostics.warning(
          c.where,
          fmt::format("{} ties '{}' to '{}', and neither is moved by forces; it has no effect", who, c.body_a,
                      c.body_b),
          "tie a mocap body to a body that moves");
      entry.active = false;
    }
    if (!(c.stiffness > 0)) {
      diagnostics.error(c.where, fmt::format("{} has stiffness {:g}", who, c.stiffness),
                        "write a number above 0");
    }
    if (!std::isfinite(c.relaxation_time)) {
      diagnostics.error(c.where, fmt::format("{} has relaxation time {:g} s", who, c.relaxation_time),
                        "write a number of seconds, or leave it out");
    }
    const auto finite = [](double x) { return std::isfinite(x); };
    if (!std::all_of(c.polynomial.begin(), c.polynomial.end(), finite)) {
      diagnostics.error(c.where, who + " has a coefficient that is not finite", "write finite numbers");
    }
    if (c.type == ConstraintType::distance && !(c.distance >= 0 && std::isfinite(c.distance))) {
      diagnostics.error(c.where, fmt::format("{} has distance {:g} m", who, c.distance), "write 0 or more");
    }
    model.constraints.push_back(entry);
  }
}

ModelKeyframe ModelCompiler::make_keyframe(const Keyframe& keyframe) {
  ModelKeyframe result{keyframe.name, keyframe.time, VecX::Zero(model.num_positions),
                       VecX::Zero(model.num_velocities()),
                       VecX::Zero(static_cast<int>(model.actuators.size()))};
  for (const Link& link : model.links) {
    for (int s = link.stage_begin; s < link.stage_end; ++s) {
      const Stage& stage = model.stages[s];
      if (stage.type == StageType::ball) {
        result.q[stage.q] = 1;
      } else if (stage.type == StageType::free) {
        // The pose the body was given, relative to its parent body.
        const Pose& pose = sources[link.body]->pose;
        result.q.segment<3>(stage.q) = pose.position;
        result.q.segment<4>(stage.q + 3) = pose.quat_wxyz / pose.quat_wxyz.norm();
      } else {
        result.q[stage.q] = stage.reference;
      }
    }
  }
  for (const Object& object : model.objects) {
    if (object.is_tree()) continue;
    object.physics->set_initial(result.q.segment(object.q_begin, object.num_positions()),
                                result.v.segment(object.dof_begin, object.num_dofs()));
  }
  for (int i = 0; i < static_cast<int>(model.actuators.size()); ++i)
    result.control[i] = model.actuators[i].control;
  if (model.has_activations) {
    result.activation = VecX::Zero(result.control.size());
    for (std::size_t i = 0; i < model.actuators.size(); ++i)
      result.activation[static_cast<int>(i)] = model.actuators[i].activation.start;
  }

  const std::string who = keyframe.name.empty() ? "the initial state" : quoted("keyframe", keyframe.name);
  const auto fill = [&](const std::map<std::string, std::vector<double>>& values, bool position) {
    for (const auto& [name, numbers] : values) {
      const int j = resolve(joint_index, "joint", name, keyframe.where, "a joint of " + who);
      if (j < 0) continue;
      const ModelJoint& joint = model.joints[j];
      const int n = position ? num_positions(joint.type) : num_velocities(joint.type);
      if (static_cast<int>(numbers.size()) != n) {
        diagnostics.error(
            keyframe.where,
            fmt::format("{} gives {} numbers for the {} of {} joint '{}', which has {}", who, numbers.size(),
                        position ? "position" : "velocity", joint_type_name(joint.type), name, n),
            fmt::format("write {} numbers", n));
        continue;
      }
      const bool finite =
          std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
      if (!finite) {
        diagnostics.error(keyframe.where,
                          fmt::format("{} has a value for joint '{}' that is not finite", who, name),
                          "write finite numbers");
        continue;
      }
      const double largest = std::transform_reduce(
          numbers.begin(), numbers.end(), 0.0, [](double a, double b) { return std::max(a, b); },
          [](double x) { return std::abs(x); });
      if (largest > kLargestNumber) {
        diagnostics.error(
            keyframe.where.file.empty() ? Source{scene.file, 0} : keyframe.where,
            fmt::format("{} has a {} of {:g} for joint '{}', more than double precision can carry "
                        "in contact",
                        who, position ? "position" : "velocity", largest, name),
            "write numbers of m, rad and seconds, within 1e9");
        continue;
      }
      for (int k = 0; k < n; ++k) (position ? result.q[joint.q + k] : result.v[joint.v + k]) = numbers[k];
      const int quat = joint.type == JointType::ball   ? joint.q
                       : joint.type == JointType::free ? joint.q + 3
                                                       : -1;
      if (position && quat >= 0) {
        const double norm = result.q.segment<4>(quat).norm();
        if (!(norm > 1e-9)) {
          diagnostics.error(keyframe.where, fmt::format("{} has a zero quaternion for joint '{}'", who, name),
                            "write a unit quaternion w x y z");
          result.q.segment<4>(quat) = Vec4(1, 0, 0, 0);
        } else {
          result.q.segment<4>(quat) /= norm;
        }
      }
    }
  };
  if (!std::isfinite(keyframe.time)) {
    diagnostics.error(keyframe.where, fmt::format("{} is at time {:g} s", who, keyframe.time),
                      "write a finite number of seconds");
  }
  fill(keyframe.q, true);
  fill(keyframe.v, false);
  for (const auto& [name, value] : keyframe.control) {
    const int a = resolve(actuator_index, "actuator", name, keyframe.where, "an actuator of " + who);
    if (!std::isfinite(value)) {
      diagnostics.error(keyframe.where,
                        fmt::format("{} has a control for actuator '{}' that is not finite", who, name),
                        "write a finite number");
    }
    if (a >= 0 && a < result.control.size()) result.control[a] = value;
  }
  for (const auto& [name, value] : keyframe.activation) {
    const int a = resolve(actuator_index, "actuator", name, keyframe.where, "an actuator of " + who);
    if (a < 0 || a >= std::ssize(model.actuators)) continue;
    if (!model.actuators[a].has_activation() || !std::isfinite(value)) {
      diagnostics.error(keyframe.where,
                        fmt::format("{} has an activation for actuator '{}', which {}", who, name,
                                    std::isfinite(value) ? "has none" : "is not finite"),
                        "write finite numbers, for actuators with dynamics");
      continue;
    }
    result.activation[a] = value;
  }
  return result;
}

void ModelCompiler::compile_keyframes() {
  std::map<std::string, int> index;
  index_names(scene.keyframes, "keyframe", &index, &diagnostics);
  model.initial = make_keyframe(scene.initial);
  for (const Keyframe& keyframe : scene.keyframes) model.keyframes.push_back(make_keyframe(keyframe));
}

}  // namespace capstan
