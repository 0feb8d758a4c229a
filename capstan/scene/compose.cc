#include "capstan/scene/compose.h"

#include <algorithm>
#include <set>

#include "capstan/math/rotation.h"
#include "capstan/scene/rod.h"
#include "capstan/scene/soft_body.h"

namespace capstan {
namespace {

struct Renamer {
  const Instance& instance;
  bool own_default_material;  // the model lists a material "default"

  std::string operator()(const std::string& name) const {
    return name.empty() || instance.name.empty() ? name : instance.name + "/" + name;
  }
  std::string body(const std::string& name) const { return name == kWorld ? instance.parent : (*this)(name); }
  std::string material(const std::string& name) const {
    if (name == "default" && !own_default_material) return name;
    const std::string& prefix = instance.materials_name ? *instance.materials_name : instance.name;
    return name.empty() || prefix.empty() ? name : prefix + "/" + name;
  }
};

void append_bodies(Scene* into, const Scene& model, const Renamer& rename) {
  const Instance& instance = rename.instance;
  for (Body body : model.bodies) {
    const bool root = body.parent == kWorld;
    if (root && instance.root_joint) {
      body.joints.clear();
      if (instance.root_joint->type != JointType::weld) {
        body.joints.push_back(*instance.root_joint);
        if (body.joints[0].name.empty()) body.joints[0].name = body.name;
      }
    }
    if (root) body.pose = compose(instance.pose, body.pose);
    body.parent = rename.body(body.parent);
    body.name = rename(body.name);
    for (Joint& joint : body.joints) joint.name = rename(joint.name);
    into->bodies.push_back(std::move(body));
  }
}

void append_materials(Scene* into, const Scene& model, const Renamer& rename) {
  const size_t num_before = into->materials.size();
  auto had = [&](const std::string& name) {
    return std::any_of(into->materials.begin(),
                       into->materials.begin() + static_cast<std::ptrdiff_t>(num_before),
                       [&](const Material& m) { return m.name == name; });
  };
  for (Material material : model.materials) {
    material.name = rename.material(material.name);
    if (!had(material.name)) into->materials.push_back(std::move(material));
  }
  for (PairOverride pair : model.pairs) {
    if (pair.kind == PairOverride::Kind::shapes) {
      pair.a = rename(pair.a);
      pair.b = rename(pair.b);
    } else {
      pair.a = rename.material(pair.a);
      pair.b = rename.material(pair.b);
      const bool known = std::any_of(into->pairs.begin(), into->pairs.end(), [&](const PairOverride& other) {
        return other.kind == pair.kind && other.a == pair.a && other.b == pair.b;
      });
      if (known) continue;
    }
    into->pairs.push_back(std::move(pair));
  }
}

// Joints whose entries in keyframes need more than a new name.
struct RootJoints {
  std::set<std::string> free, replaced;
};

RootJoints root_joints(const Scene& model, const Instance& instance) {
  RootJoints result;
  for (const Body& body : model.bodies) {
    if (body.parent != kWorld) continue;
    for (const Joint& joint : body.joints) {
      if (instance.root_joint) {
        result.replaced.insert(joint.name);
      } else if (joint.type == JointType::free) {
        result.free.insert(joint.name);
      }
    }
  }
  return result;
}

std::vector<double> placed_free_position(const Pose& X, const std::vector<double>& q) {
  if (q.size() != 7) return q;  // compile() reports the wrong length
  Vec4 quat(q[3], q[4], q[5], q[6]);
  if (quat.norm() > 0) quat.normalize();
  const Pose placed = compose(X, {Vec3(q[0], q[1], q[2]), quat});
  const Vec3& p = placed.position;
  const Vec4& r = placed.quat_wxyz;
  return {p.x(), p.y(), p.z(), r[0], r[1], r[2], r[3]};
}

std::vector<double> placed_free_velocity(const Pose& X, const std::vector<double>& v) {
  if (v.size() != 6) return v;
  const Vec3 linear = rotate(X.quat_wxyz, {v[0], v[1], v[2]}),
             angular = rotate(X.quat_wxyz, {v[3], v[4], v[5]});
  return {linear.x(), linear.y(), linear.z(), angular.x(), angular.y(), angular.z()};
}

Keyframe placed(const Keyframe& key, const RootJoints& roots, const Renamer& rename) {
  Keyframe result;
  result.name = rename(key.name);
  result.where = key.where;
  result.time = key.time;
  const Pose& X = rename.instance.pose;
  for (const auto& [joint, q] : key.q) {
    if (roots.replaced.count(joint)) continue;
    result.q[rename(joint)] = roots.free.count(joint) ? placed_free_position(X, q) : q;
  }
  for (const auto& [joint, v] : key.v) {
    if (roots.replaced.count(joint)) continue;
    result.v[rename(joint)] = roots.free.count(joint) ? placed_free_velocity(X, v) : v;
  }
  for (const auto& [actuator, u] : key.control) result.control[rename(actuator)] = u;
  for (const auto& [actuator, a] : key.activation) result.activation[rename(actuator)] = a;
  return result;
}

// What the model fixes to its world is attached to the instance's parent where that is a body.
void append_rods(Scene* into, const Scene& model, const Renamer& rename) {
  const Pose& X = rename.instance.pose;
  for (RodSpec rod : model.rods) {
    rod.name = rename(rod.name);
    rod.material = rename.material(rod.material);
    for (RodAttachment& a : rod.attachments) {
      if (a.body == kWorld && a.pose) a.pose = compose(X, *a.pose);
      a.body = rename.body(a.body);
    }
    if (rod.body == kWorld) {
      for (Vec3& node : rod.nodes) node = X.position + rotate(X.quat_wxyz, node);
      rod.director = rotate(X.quat_wxyz, rod.director);
      rod.velocity = rotate(X.quat_wxyz, rod.velocity);
    }
    rod.body = rename.body(rod.body);
    if (rename.instance.parent != kWorld) {
      RodAttachment fixed;
      fixed.where = rod.where;
      fixed.body = rename.instance.parent;
      for (fixed.node = -1; const int node : rod.pinned_nodes) {
        fixed.node = node;
        rod.attachments.push_back(fixed);
      }
      for (fixed.node = -1; const int edge : rod.clamped_edges) {
        fixed.edge = edge;
        rod.attachments.push_back(fixed);
      }
      rod.pinned_nodes.clear();
      rod.clamped_edges.clear();
    }
    into->rods.push_back(std::move(rod));
  }
}

void append_soft_bodies(Scene* into, const Scene& model, const Renamer& rename) {
  const Pose& X = rename.instance.pose;
  for (SoftBodySpec body : model.soft_bodies) {
    body.name = rename(body.name);
    body.material = rename.material(body.material);
    for (SoftAttachment& a : body.attachments) a.body = rename.body(a.body);
    if (body.body == kWorld) {
      body.pose = compose(X, body.pose);
      body.velocity = rotate(X.quat_wxyz, body.velocity);
      body.angular_velocity = rotate(X.quat_wxyz, body.angular_velocity);
    }
    body.body = rename.body(body.body);
    if (rename.instance.parent != kWorld) {
      for (const SoftRegion& region : body.fixed)
        body.attachments.push_back({body.where, region, rename.instance.parent, kInfinity, -1});
      body.fixed.clear();
    }
    into->soft_bodies.push_back(std::move(body));
  }
}

void append_couplings(Scene* into, const Scene& model, const Renamer& rename) {
  for (Tendon tendon : model.tendons) {
    tendon.name = rename(tendon.name);
    for (Tendon::Term& term : tendon.terms) term.joint = rename(term.joint);
    for (TendonPoint& point : tendon.path) {
      if (!point.name.empty()) point.name = rename(point.name);
      if (!point.side.empty()) point.side = rename(point.side);
    }
    into->tendons.push_back(std::move(tendon));
  }
  for (Actuator actuator : model.actuators) {
    actuator.name = rename(actuator.name);
    actuator.joint = rename(actuator.joint);
    actuator.tendon = rename(actuator.tendon);
    actuator.site = rename(actuator.site);
    into->actuators.push_back(std::move(actuator));
  }
  for (Constraint constraint : model.constraints) {
    const Pose& X = rename.instance.pose;
    if (constraint.body_a == kWorld && constraint.pose_a) constraint.pose_a = compose(X, *constraint.pose_a);
    if (constraint.body_b == kWorld && constraint.pose_b) constraint.pose_b = compose(X, *constraint.pose_b);
    constraint.name = rename(constraint.name);
    constraint.body_a = rename.body(constraint.body_a);
    constraint.body_b = rename.body(constraint.body_b);
    constraint.joint_a = rename(constraint.joint_a);
    constraint.joint_b = rename(constraint.joint_b);
    into->constraints.push_back(std::move(constraint));
  }
}

// Points of one time stay in the order in which they came; each keeps its own way of being reached.
void append_controls(Scene* into, const Scene& model, const Renamer& rename) {
  for (const ControlPoint& point : model.controls) {
    ControlPoint renamed;
    renamed.where = point.where;
    renamed.time = point.time;
    renamed.interpolation = point.interpolation;
    renamed.keyframe = rename(point.keyframe);
    for (const auto& [actuator, value] : point.control) renamed.control[rename(actuator)] = value;
    for (const auto& [body, force] : point.force)
      renamed.force[rename.body(body)] = rotate(rename.instance.pose.quat_wxyz, force);
    for (const auto& [shape, value] : point.surface) renamed.surface[rename(shape)] = value;
    into->controls.push_back(std::move(renamed));
  }
  std::stable_sort(into->controls.begin(), into->controls.end(),
                   [](const ControlPoint& a, const ControlPoint& b) { return a.time < b.time; });
  for (Sensor sensor : model.sensors) {
    sensor.name = rename(sensor.name);
    for (std::string* name : {&sensor.joint, &sensor.tendon, &sensor.actuator, &sensor.site, &sensor.shape,
                              &sensor.relative_site, &sensor.other_shape})
      *name = rename(*name);
    for (std::string* body : {&sensor.body, &sensor.relative_body, &sensor.other_body})
      if (!body->empty()) *body = rename.body(*body);
    into->sensors.push_back(std::move(sensor));
  }
}

}  // namespace

Pose compose(const Pose& X_AB, const Pose& X_BC) {
  Vec4 quat = quat_multiply(X_AB.quat_wxyz, X_BC.quat_wxyz);
  quat /= quat.norm();
  return {X_AB.position + rotate(X_AB.quat_wxyz, X_BC.position), quat};
}

void append(Scene* into, const Scene& model, const Instance& instance) {
  const bool own_default = std::any_of(model.materials.begin(), model.materials.end(),
                                       [](const Material& m) { return m.name == "default"; });
  const Renamer rename{instance, own_default};
  if (instance.use_options) into->options = model.options;
  append_bodies(into, model, rename);
  append_materials(into, model, rename);
  for (ShapeInstance shape : model.shapes) {
    if (shape.body == kWorld) shape.pose = compose(instance.pose, shape.pose);
    shape.name = rename(shape.name);
    shape.body = rename.body(shape.body);
    shape.material = rename.material(shape.material);
    into->shapes.push_back(std::move(shape));
  }
  for (Site site : model.sites) {
    if (site.body == kWorld) site.pose = compose(instance.pose, site.pose);
    site.name = rename(site.name);
    site.body = rename.body(site.body);
    into->sites.push_back(std::move(site));
  }
  for (CollisionExclude exclude : model.excludes) {
    exclude.body_a = rename.body(exclude.body_a);
    exclude.body_b = rename.body(exclude.body_b);
    into->excludes.push_back(std::move(exclude));
  }
  append_rods(into, model, rename);
  append_soft_bodies(into, model, rename);
  append_couplings(into, model, rename);

  append_controls(into, model, rename);

  const RootJoints roots = root_joints(model, instance);
  for (const Keyframe& key : model.keyframes) into->keyframes.push_back(placed(key, roots, rename));
  Keyframe initial = placed(model.initial, roots, rename);
  into->initial.q.merge(initial.q);
  into->initial.v.merge(initial.v);
  into->initial.control.merge(initial.control);
  into->initial.activation.merge(initial.activation);
}

Scene instantiate(const Scene& model, const Instance& instance) {
  Scene scene;
  scene.name = model.name;
  scene.file = model.file;
  scene.options = model.options;
  append(&scene, model, instance);
  return scene;
}

long num_elements(const Scene& scene) {
  size_t count = scene.bodies.size() + scene.shapes.size() + scene.materials.size() + scene.pairs.size() +
                 scene.excludes.size() + scene.sites.size() + scene.tendons.size() + scene.actuators.size() +
                 scene.constraints.size() + scene.keyframes.size() + scene.controls.size() +
                 scene.sensors.size();
  for (const Body& body : scene.bodies) count += body.joints.size();
  for (const RodSpec& rod : scene.rods) count += 1 + rod.nodes.size() + rod.attachments.size();
  for (const SoftBodySpec& body : scene.soft_bodies)
    count += 1 + (body.mesh ? body.mesh->vertices.size() : 0) + body.attachments.size();
  for (const Tendon& tendon : scene.tendons) count += tendon.terms.size() + tendon.path.size();
  for (const Keyframe& key : scene.keyframes) count += key.q.size() + key.v.size() + key.control.size();
  return static_cast<long>(count);
}

}  // namespace capstan
