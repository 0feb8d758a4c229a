// SDFormat: frames are resolved, and links and joints become bodies.
#include <fmt/core.h>

#include <set>

#include "capstan/io/sdf_reader.h"
#include "capstan/math/rotation.h"

namespace capstan::sdf {

namespace {

Pose to_scene_pose(const Transform& X) {
  return {X.p, quat_from_matrix(X.R)};
}

// Poses in the frame of one model, by name; "a::b" is b of the nested model a.
class Frames {
 public:
  Frames(const Model& model, Diagnostics* diagnostics) : model_(model), diagnostics_(diagnostics) {}

  Transform find(const std::string& name, const Source& where) {
    if (name.empty() || name == "__model__" || name == "world") return {};
    if (const auto known = resolved_.find(name); known != resolved_.end()) return known->second;
    if (const auto colon = name.find("::"); colon != std::string::npos) {
      for (const auto& nested : model_.nested) {
        if (nested->name != name.substr(0, colon)) continue;
        Frames inner(*nested, diagnostics_);
        return resolved_[name] = place(*nested) * inner.find(name.substr(colon + 2), where);
      }
    }
    const auto frame = model_.frames.find(name);
    if (frame == model_.frames.end()) {
      error(where, fmt::format("frame '{}' does not exist", name),
            "write the name of a link, joint or frame");
      return {};
    }
    if (!open_.insert(name).second) {
      error(where, fmt::format("the pose of '{}' depends on itself", name), "change one relative_to");
      return {};
    }
    const Transform X = find(frame->second.relative_to, where) * frame->second.X;
    open_.erase(name);
    return resolved_[name] = X;
  }

  // A nested model's frame.
  Transform place(const Model& nested) {
    const Transform X = find(nested.pose.relative_to, nested.where) * nested.pose.X;
    if (nested.placement_frame.empty()) return X;
    Frames inner(nested, diagnostics_);
    return X * inverse(inner.find(nested.placement_frame, nested.where));
  }

  // The link that a frame is on, with "/" for "::".
  std::string link_of(const std::string& name, const Source& where, int depth = 0) {
    if (name == "world") return kWorld;
    for (const Link& link : model_.links) {
      if (link.name == name) return name;
    }
    if (const auto colon = name.find("::"); colon != std::string::npos) {
      for (const auto& nested : model_.nested) {
        if (nested->name == name.substr(0, colon))
          return nested->name + "/" + Frames(*nested, diagnostics_).link_of(name.substr(colon + 2), where);
      }
    }
    if (const auto frame = model_.attached_to.find(name);
        frame != model_.attached_to.end() && !frame->second.empty() && depth < 64)
      return link_of(frame->second, where, depth + 1);
    for (const auto& nested : model_.nested) {  // a model stands for its first link
      if (nested->name == name && !nested->links.empty()) return name + "/" + nested->links.front().name;
    }
    error(where, fmt::format("link '{}' does not exist", name), "write the name of a link");
    return "";
  }

 private:
  void error(const Source& where, const std::string& what, const std::string& remedy) {
    diagnostics_->error(where, what, remedy);
  }
  const Model& model_;
  Diagnostics* diagnostics_;
  std::map<std::string, Transform> resolved_;
  std::set<std::string> open_;
};

// A joint between bodies that the scene already has, each with its pose in the world.
struct Built {
  std::map<std::string, std::size_t> body;  // by name, in Scene::bodies
  std::map<std::string, Transform> X_W;     // of every body
  std::set<std::string> is_child;
};

bool hangs_on(const Scene& scene, const Built& built, const std::string& body, const std::string& ancestor) {
  std::string at = body;
  for (std::size_t i = 0; i <= scene.bodies.size() && at != kWorld; ++i) {
    if (at == ancestor) return true;
    at = scene.bodies[built.body.at(at)].parent;
  }
  return false;
}

void add_links(const Model& model, Frames* frames, const Transform& X_WM, const std::string& prefix,
               bool is_static, Scene* scene, Built* built, Diagnostics* diagnostics) {
  for (const Link& link : model.links) {
    const std::string name = prefix + link.name;
    const Transform X_W = X_WM * frames->find(link.name, link.where);
    if (built->body.count(name)) {
      diagnostics->error(link.where, fmt::format("there are two links '{}'", name), "rename one of them");
      continue;
    }
    Body body;
    body.name = name;
    body.where = link.where;
    body.pose = to_scene_pose(X_W);
    if (!is_static) body.inertia = link.inertia;
    body.gravity_compensated = !link.gravity;
    if (!is_static && !link.is_kinematic) {
      Joint free;
      free.name = name;
      free.where = link.where;
      free.type = JointType::free;
      body.joints = {free};
    }
    built->body[name] = scene->bodies.size();
    built->X_W[name] = X_W;
    scene->bodies.push_back(std::move(body));
    for (ShapeInstance shape : link.shapes) {
      shape.body = name;
      shape.name = prefix + shape.name;
      scene->shapes.push_back(std::move(shape));
    }
  }
}

void add_joint(const SdfJoint& read, Frames* frames, const Transform& X_WM, const std::string& prefix,
               Scene* scene, Built* built, Diagnostics* diagnostics) {
  const Source& where = read.joint.where;
  const std::string parent_link = frames->link_of(read.parent, where),
                    child_link = frames->link_of(read.child, where);
  if (parent_link.empty() || child_link.empty()) return;
  const std::string parent = parent_link == kWorld ? kWorld : prefix + parent_link,
                    name = prefix + child_link;
  const bool is_loop =
      child_link != kWorld && (built->is_child.count(name) || hangs_on(*scene, *built, parent, name));
  if (child_link == kWorld || is_loop) {
    diagnostics->error(where,
                       is_loop ? fmt::format("joint '{}' closes a loop at link '{}'", read.joint.name, name)
                               : fmt::format("joint '{}' has the world as its child", read.joint.name),
                       is_loop ? "leave it out, and close the loop with a constraint in a YAML scene"
                               : "swap parent and child");
    return;
  }
  if (!built->body.count(name) || (parent != kWorld && !built->body.count(parent))) return;
  built->is_child.insert(name);
  Body& body = scene->bodies[built->body.at(name)];
  const Transform X_WP = parent == kWorld ? Transform{} : built->X_W.at(parent), X_WC = built->X_W.at(name);
  body.parent = parent;
  body.pose = to_scene_pose(inverse(X_WP) * X_WC);
  if (body.joints.empty()) return;  // static: welded
  const Transform X_WJ = X_WM * frames->find(read.joint.name, where), X_CJ = inverse(X_WC) * X_WJ;
  const auto axis_in_child = [&](const JointAxis& axis) -> Vec3 {
    if (axis.expressed_in.empty()) return X_CJ.R * axis.xyz;
    return X_WC.R.transpose() * (X_WM * frames->find(axis.expressed_in, where)).R * axis.xyz;
  };
  Joint joint = read.joint;
  joint.name = prefix + joint.name;
  joint.position = X_CJ.p;
  joint.axis = axis_in_child(read.axis);
  if (joint.type == JointType::universal) joint.axis2 = axis_in_child(read.axis2);
  body.joints.clear();
  if (joint.type != JointType::weld) body.joints = {std::move(joint)};
}

void build_into(const Model& model, const Transform& X_WM, const std::string& prefix, bool is_static,
                Scene* scene, Built* built, Diagnostics* diagnostics) {
  Frames frames(model, diagnostics);
  add_links(model, &frames, X_WM, prefix, is_static, scene, built, diagnostics);
  for (const auto& nested : model.nested) {
    build_into(*nested, X_WM * frames.place(*nested), prefix + nested->name + "/",
               is_static || nested->is_static, scene, built, diagnostics);
  }
  for (const SdfJoint& joint : model.joints)
    add_joint(joint, &frames, X_WM, prefix, scene, built, diagnostics);
}

}  // namespace

void build(const Model& model, const Transform& X_WM, const std::string& prefix, bool is_static, Scene* scene,
           Diagnostics* diagnostics) {
  Built built;
  build_into(model, X_WM, prefix, is_static, scene, &built, diagnostics);
}

}  // namespace capstan::sdf
