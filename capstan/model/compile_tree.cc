// Bodies and joints to links, stages and dofs in depth-first order.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "capstan/model/compiler.h"
#include "capstan/model/inertia.h"
#include "capstan/model/mocap.h"

namespace capstan {
namespace {

// Of a mass matrix: 400 MB. A chain of 10,000 dofs, or 2 million free bodies.
constexpr std::int64_t kMaxMatrixValues = 50'000'000;

int body_dofs(const Body& body) {
  int n = 0;
  for (const Joint& joint : body.joints) n += num_velocities(joint.type);
  return n;
}

void check_joint(const Joint& joint, const Body& body, Diagnostics& d) {
  const std::string who = quoted("joint", joint.name);
  const auto bad = [&](const char* what, double value, const char* remedy) {
    d.error(joint.where, fmt::format("{} has {} {:g}", who, what, value), remedy);
  };
  const auto not_negative = [&](const char* what, double value) {
    if (!(value >= 0) || std::isinf(value)) bad(what, value, "write a finite number of 0 or more");
  };
  not_negative("stiffness", joint.stiffness);
  not_negative("damping", joint.damping);
  not_negative("dry friction", joint.dry_friction);
  if (!is_mocap(joint)) not_negative("rotor inertia", joint.rotor_inertia);
  if (is_mocap(joint) && body.parent != kWorld) {
    d.error(joint.where, fmt::format("mocap body '{}' hangs at body '{}'", body.name, body.parent),
            "a mocap body is placed in the world: make 'world' its parent");
  }
  if (!(joint.effort_limit >= 0)) bad("effort limit", joint.effort_limit, "write 0 or more, or leave it out");
  if (!std::isfinite(joint.reference)) bad("reference", joint.reference, "write a finite number");
  if (!std::isfinite(joint.spring_reference))
    bad("spring reference", joint.spring_reference, "write a finite number");
  if (!std::isfinite(joint.pitch)) bad("pitch", joint.pitch, "write a finite number of m/rad");
  if (!joint.position.allFinite())
    d.error(joint.where, who + " has a position that is not finite", "write three numbers");

  const bool uses_axis = joint.type == JointType::revolute || joint.type == JointType::prismatic ||
                         joint.type == JointType::screw || joint.type == JointType::universal ||
                         joint.type == JointType::planar;
  if (uses_axis && !(joint.axis.norm() > 1e-9 && std::isfinite(joint.axis.norm()))) {
    d.error(joint.where, who + " has a zero or non-finite axis", "write a direction such as 0 0 1");
  }
  if (joint.type == JointType::universal || joint.type == JointType::planar) {
    const bool parallel = !(joint.axis2.norm() > 1e-9 && cross(joint.axis, joint.axis2).norm() >
                                                             1e-6 * joint.axis.norm() * joint.axis2.norm());
    if (parallel) {
      d.error(joint.where, who + " has a second axis that is zero or parallel to its first",
              "write two different directions");
    }
  }
  if (joint.type == JointType::free && body.joints.size() > 1) {
    d.error(joint.where, fmt::format("body '{}' has a free joint beside other joints", body.name),
            "a free joint already has all six dofs: remove the others");
  }
  const int n = joint.type == JointType::ball ? 1 : num_velocities(joint.type);
  if (!joint.limits.empty() && static_cast<int>(joint.limits.size()) != n) {
    d.error(joint.where,
            fmt::format("{} has {} limit ranges, but type {} takes {}", who, joint.limits.size(),
                        joint_type_name(joint.type), n),
            "write one range for each dof");
  }
  for (const Range& range : joint.limits) {
    if (joint.type == JointType::ball && (range.lower < 0 || range.upper < 0)) {
      d.error(joint.where,
              fmt::format("{} has limits [{:g}, {:g}], but the turn of a ball joint is between 0 and pi", who,
                          range.lower, range.upper),
              "write a range that begins at 0");
    }
    if (!(range.lower <= range.upper)) {
      d.error(joint.where,
              fmt::format("{} has limits [{:g}, {:g}] with the lower above the upper", who, range.lower,
                          range.upper),
              "swap them");
    }
  }
  if (joint.soft_limits) check_soft(*joint.soft_limits, joint.where, who, d);
}

// Without what its type ignores: scenes that differ only there are one model, and the format of
// docs/scene.md has no place for it.
Joint used_part(Joint joint) {
  const Joint plain;
  const bool one_dof = num_velocities(joint.type) == 1;
  const bool has_axis = one_dof || joint.type == JointType::universal || joint.type == JointType::planar;
  if (joint.type == JointType::prismatic || joint.type == JointType::free) joint.position = plain.position;
  if (!has_axis) joint.axis = plain.axis, joint.spring_reference = plain.spring_reference;
  if (joint.type != JointType::screw) joint.pitch = plain.pitch;
  if (!one_dof || joint.limits.empty()) joint.soft_limits.reset();
  return joint;
}

}  // namespace

std::string quoted(const char* kind, const std::string& name) {
  return fmt::format("{} '{}'", kind, name);
}

bool ModelCompiler::compile_bodies() {
  const int n = static_cast<int>(scene.bodies.size());
  std::map<std::string, int> by_name;  // scene index
  bool usable = true;
  for (int i = 0; i < n; ++i) {
    const Body& body = scene.bodies[i];
    if (body.name.empty()) {
      diagnostics.error(body.where, "a body has no name", "give it one");
      usable = false;
    } else if (body.name == kWorld) {
      diagnostics.error(body.where, "a body is named 'world', which is the name of the fixed frame",
                        "choose another name");
      usable = false;
    } else if (const auto [it, is_new] = by_name.emplace(body.name, i); !is_new) {
      const std::string first = to_string(scene.bodies[it->second].where);
      diagnostics.error(
          body.where,
          fmt::format("body '{}' is defined twice{}", body.name, first.empty() ? "" : ", first at " + first),
          "rename one of them");
      usable = false;
    }
  }
  // Children of each body, in the order of the scene; n stands for the world.
  std::vector<std::vector<int>> children(n + 1);
  for (int i = 0; i < n; ++i) {
    const Body& body = scene.bodies[i];
    if (body.parent == kWorld) {
      children[n].push_back(i);
    } else if (const auto it = by_name.find(body.parent); it != by_name.end()) {
      children[it->second].push_back(i);
    } else {
      resolve(by_name, "body", body.parent, body.where, fmt::format("the parent of body '{}'", body.name));
      usable = false;
    }
    if (!is_sound(body.pose)) {
      check_pose(body.pose, body.where, quoted("body", body.name), diagnostics);
      usable = false;
    }
    for (const Joint& joint : body.joints) check_joint(joint, body, diagnostics);
    if (body_dofs(body) > 6) {
      diagnostics.error(body.where,
                        fmt::format("the joints of body '{}' have {} dofs in all; a rigid body has 6",
                                    body.name, body_dofs(body)),
                        "remove joints, or put a body between them");
      usable = false;
    }
  }
  if (!usable) return false;

  std::vector<const Body*> ordered;
  std::vector<char> reached(n, 0);
  std::vector<int> stack(children[n].rbegin(), children[n].rend());
  while (!stack.empty()) {
    const int i = stack.back();
    stack.pop_back();
    reached[i] = 1;
    ordered.push_back(&scene.bodies[i]);
    stack.insert(stack.end(), children[i].rbegin(), children[i].rend());
  }
  for (int i = 0; i < n; ++i) {
    if (reached[i]) continue;
    // Not reached from the world: it is on a cycle or hangs on one. Walk up to name the cycle once.
    std::vector<char> seen(n, 0);
    int at = i;
    while (!seen[at]) {
      seen[at] = 1;
      at = by_name.at(scene.bodies[at].parent);
    }
    std::string cycle = scene.bodies[at].name;
    int k = at;
    do {
      reached[k] = 1;
      k = by_name.at(scene.bodies[k].parent);
      cycle += " -> " + scene.bodies[k].name;
    } while (k != at);
    diagnostics.error(scene.bodies[at].where, fmt::format("bodies are their own ancestors: {}", cycle),
                      "attach one of them to 'world'; close loops with a constraint");
    return false;
  }
  compile_links(ordered);
  return true;
}

void ModelCompiler::compile_links(const std::vector<const Body*>& ordered) {
  model.links.push_back({});  // the world
  model.bodies.push_back({kWorld, -1, 0, {}, 0});
  body_index[kWorld] = 0;
  sources.push_back(nullptr);
  sources.insert(sources.end(), ordered.begin(), ordered.end());
  std::vector<Inertia> link_inertia(1);

  std::map<std::string, Inertia> from_shapes;
  std::set<std::string> unsound;                     // bodies with a shape whose mass is not known
  for (const ShapeInstance& shape : scene.shapes) {  // compile_shapes() tells what is wrong with the others
    if (why_unsound(shape.shape).empty() && is_sound(shape.pose))
      add_inertia(shape_inertia(shape), {}, &from_shapes[shape.body]);
    else
      unsound.insert(shape.body);
  }

  for (const Body* body : ordered) {
    const int id = static_cast<int>(model.bodies.size());
    const int parent = body_index.at(body->parent);
    body_index[body->name] = id;
    ModelBody entry{body->name, parent, 0, {}, 0};
    const Transform X_PlB = model.bodies[parent].X_LB * to_transform(body->pose);  // in the parent's link
    const int parent_link = model.bodies[parent].link;
    if (body_dofs(*body) == 0) {
      entry.link = parent_link;
      entry.X_LB = X_PlB;
    } else {
      entry.link = model.num_links();
      Link link;
      link.parent = parent_link;
      link.body = id;
      const bool is_free = body->joints.front().type == JointType::free;
      link.X_PL = is_free ? model.bodies[parent].X_LB : X_PlB;
      link.stage_begin = static_cast<int>(model.stages.size());
      link.dof_begin = model.num_velocities();
      if (parent_link == 0) {
        link.object = static_cast<int>(model.trees.size());
        model.trees.push_back({entry.link, 0, link.dof_begin, 0, false});
      } else {
        link.object = model.links[parent_link].object;
      }
      model.links.push_back(link);
      link_inertia.push_back({});
      for (const Joint& joint : body->joints) add_joint(*body, used_part(joint), id);
      model.links.back().stage_end = static_cast<int>(model.stages.size());
      model.links.back().dof_end = model.num_velocities();
      model.trees[link.object].link_end = model.num_links();
      model.trees[link.object].dof_end = model.num_velocities();
    }
    model.bodies.push_back(entry);
    has_unknown_inertia.resize(model.num_links());
    if (!body->inertia && unsound.count(body->name)) has_unknown_inertia[entry.link] = 1;

    Inertia inertia;
    if (body->inertia) {
      inertia = *body->inertia;
    } else if (const auto it = from_shapes.find(body->name); it != from_shapes.end()) {
      inertia = it->second;
    }
    if (body->inertia || inertia.mass > 0) {
      std::string why = why_impossible(inertia);
      if (!why.empty() && scene.options.balance_inertia && inertia.mass > 0 &&
          inertia.about_com.allFinite()) {
        const double mean = inertia.about_com.trace() / 3;
        inertia.about_com = mean * Mat3::Identity();
        diagnostics.warning(
            body->where,
            fmt::format("the inertia of body '{}' is impossible: {}; its moments were replaced by their "
                        "mean {:g} kg m^2",
                        body->name, why, mean));
        why = why_impossible(inertia);
      }
      if (!why.empty()) {
        diagnostics.error(body->where,
                          fmt::format("the inertia of body '{}' is impossible: {}", body->name, why),
                          "check the units (kg, m, kg m^2 about the centre of mass)");
        has_unknown_inertia[entry.link] = 1;
        continue;
      }
      if (body->inertia) {  // of what was rotated the halves differ by rounding
        inertia.about_com = ((inertia.about_com + inertia.about_com.transpose()) / 2).eval();
      }
      model.bodies.back().mass = inertia.mass;
      add_drag_box(scene.options, static_cast<int>(model.bodies.size()) - 1, inertia);
      add_inertia(inertia, entry.X_LB, &link_inertia[entry.link]);
      if (body->gravity_compensated) {
        Link& link = model.links[entry.link];
        const double mass = link.weightless_mass + inertia.mass;
        link.weightless_com =
            (link.weightless_mass * link.weightless_com + inertia.mass * (entry.X_LB * inertia.com)) / mass;
        link.weightless_mass = mass;
      }
    }
  }
  for (int l = model.num_links() - 1; l >= 0; --l) {
    Link& link = model.links[l];
    link.mass = link_inertia[l].mass;
    link.com = link_inertia[l].com;
    link.inertia = link_inertia[l].about_com;
    link.subtree_end = std::max(link.subtree_end, l + 1);
    if (link.parent >= 0) {
      Link& parent = model.links[link.parent];
      parent.subtree_end = std::max(parent.subtree_end, link.subtree_end);
    }
  }
  number_objects();
}

// Trees are the first objects, each with one block. Their positions follow one another.
void ModelCompiler::number_objects() {
  for (const Tree& tree : model.trees) {
    Object object;
    object.link_begin = tree.link_begin;
    object.link_end = tree.link_end;
    object.q_begin = model.stages[model.links[tree.link_begin].stage_begin].q;
    object.dof_begin = tree.dof_begin;
    object.dof_end = tree.dof_end;
    const int id = object.block_begin = static_cast<int>(model.objects.size());
    object.block_end = id + 1;
    if (id > 0) model.objects.back().q_end = object.q_begin;
    for (int k = tree.dof_begin; k < tree.dof_end; ++k) model.dofs[k].object = id;
    model.blocks.push_back({id, tree.dof_begin, tree.num_dofs()});
    model.objects.push_back(object);
  }
  if (!model.objects.empty()) model.objects.back().q_end = model.num_positions;
}

void ModelCompiler::add_stage(StageType type, const Joint& joint, const Vec3& axis, double reference,
                              int num_q, int num_v) {
  Stage stage;
  stage.type = type;
  stage.q = model.num_positions;
  stage.v = model.num_velocities();
  stage.axis = axis.norm() > 0 ? Vec3(axis.normalized()) : Vec3(0, 0, 1);
  stage.position = joint.position;
  stage.pitch = joint.pitch;
  stage.reference = reference;
  model.stages.push_back(stage);
  for (int k = 0; k < num_v; ++k) {
    ModelDof dof;
    dof.joint = static_cast<int>(model.joints.size()) - 1;
    dof.link = model.num_links() - 1;
    dof.q = num_q == num_v ? stage.q + k : -1;
    dof.stiffness = dof.q >= 0 ? joint.stiffness : 0;
    dof.spring_reference = joint.spring_reference;
    dof.damping = joint.damping;
    dof.dry_friction = joint.dry_friction;
    dof.rotor_inertia = is_mocap(joint) ? kMocapInertia : joint.rotor_inertia;
    dof.effort_limit = joint.effort_limit;
    dof.reference = dof.q >= 0 ? reference : 0;
    model.dofs.push_back(dof);
  }
  model.num_positions += num_q;
}

void ModelCompiler::add_joint(const Body& body, const Joint& joint, int body_id) {
  if (joint.type == JointType::weld) return;
  const int id = static_cast<int>(model.joints.size());
  if (joint.name.empty()) {
    diagnostics.error(joint.where, fmt::format("a joint of body '{}' has no name", body.name), "give it one");
  } else if (const auto [it, is_new] = joint_index.emplace(joint.name, id); !is_new) {
    const int first = model.joints[it->second].body;  // this body's own entry comes after its joints
    diagnostics.error(joint.where,
                      first == body_id
                          ? fmt::format("joint '{}' is defined twice on body '{}'", joint.name, body.name)
                          : fmt::format("joint '{}' is defined twice, on bodies '{}' and '{}'", joint.name,
                                        model.bodies[first].name, body.name),
                      "rename one of them");
  }
  ModelJoint entry;
  entry.name = joint.name;
  entry.type = joint.type;
  entry.body = body_id;
  entry.q = model.num_positions;
  entry.v = model.num_velocities();
  entry.stiffness = joint.type == JointType::ball || joint.type == JointType::free ? joint.stiffness : 0;
  entry.limits = joint.limits;
  entry.soft_limits = joint.soft_limits;
  entry.effort_limit = joint.effort_limit;
  entry.dry_friction = joint.dry_friction;
  model.joints.push_back(entry);
  if (!joint.limits.empty() || joint.dry_friction > 0) {
    const bool is_plain =
        joint.limits.size() == 1 && joint.type != JointType::ball && !(joint.dry_friction > 0);
    model.limited_joints.push_back(
        is_plain ? LimitedJoint{id, entry.v, entry.q, joint.limits[0], joint.soft_limits}
                 : LimitedJoint{id, -1, -1, {}, {}});
  }
  switch (joint.type) {
    case JointType::weld:
      break;
    case JointType::revolute:
      add_stage(StageType::revolute, joint, joint.axis, joint.reference, 1, 1);
      break;
    case JointType::prismatic:
      add_stage(StageType::prismatic, joint, joint.axis, joint.reference, 1, 1);
      break;
    case JointType::screw:
      add_stage(StageType::screw, joint, joint.axis, joint.reference, 1, 1);
      break;
    case JointType::universal:
      add_stage(StageType::revolute, joint, joint.axis, 0, 1, 1);
      add_stage(StageType::revolute, joint, joint.axis2, 0, 1, 1);
      break;
    case JointType::planar: {
      const Vec3 z = joint.axis.normalized();
      const Vec3 x = (joint.axis2 - joint.axis2.dot(z) * z).normalized();
      add_stage(StageType::prismatic, joint, x, 0, 1, 1);
      add_stage(StageType::prismatic, joint, cross(z, x), 0, 1, 1);
      add_stage(StageType::revolute, joint, z, 0, 1, 1);
      break;
    }
    case JointType::ball:
      add_stage(StageType::ball, joint, joint.axis, 0, 4, 3);
      break;
    case JointType::free:
      add_stage(StageType::free, joint, joint.axis, 0, 7, 6);
      break;
  }
}

namespace {

// How many numbers a matrix of this pattern has.
std::int64_t count_values(const std::vector<int>& parent) {
  std::int64_t count = 0;
  std::vector<int> row(parent.size());
  for (std::size_t k = 0; k < parent.size(); ++k) count += row[k] = parent[k] < 0 ? 1 : row[parent[k]] + 1;
  return count;
}

bool check_size(const std::vector<int>& parent, const Scene& scene, Diagnostics& d) {
  const std::int64_t count = count_values(parent);
  if (count <= kMaxMatrixValues) return true;
  d.error(
      {scene.file, 0},
      fmt::format("the mass matrix would have {} numbers; at most {} are allowed", count, kMaxMatrixValues),
      "break long chains of joints, or trees of many dofs that a tendon couples, into several trees");
  return false;
}

}  // namespace

bool ModelCompiler::compile_pattern() {
  std::vector<int> parent(model.num_velocities(), -1);
  for (const Link& link : model.links) {
    for (int k = link.dof_begin; k < link.dof_end; ++k) {
      parent[k] = k > link.dof_begin ? k - 1 : (link.parent > 0 ? model.links[link.parent].dof_end - 1 : -1);
    }
  }
  if (!check_size(parent, scene, diagnostics)) return false;
  model.pattern = make_branch_pattern(std::move(parent));
  return true;
}

bool ModelCompiler::compile_system_pattern() {
  std::vector<int> parent = model.pattern.parent;
  for (const Tree& tree : model.trees) {
    if (!tree.coupled) continue;
    for (int k = tree.dof_begin; k < tree.dof_end; ++k) parent[k] = k > tree.dof_begin ? k - 1 : -1;
  }
  if (!check_size(parent, scene, diagnostics)) return false;
  model.system_pattern = make_branch_pattern(std::move(parent));
  model.mass_in_system.resize(model.pattern.num_values());
  for (int k = 0; k < model.num_velocities(); ++k) {
    int at = model.system_pattern.row_start[k];
    for (int i = model.pattern.row_start[k]; i < model.pattern.row_start[k + 1]; ++i) {
      while (model.system_pattern.columns[at] != model.pattern.columns[i]) ++at;
      model.mass_in_system[i] = at;
    }
  }
  return true;
}

}  // namespace capstan
