#include "bench/peers/capstan_scene.h"

#include "capstan/io/read.h"
#include "capstan/scene/compose.h"

namespace bench {
namespace {

capstan::Vec3 vec(const Vec& v) {
  return {v[0], v[1], v[2]};
}

void add_bodies(const Scene& scene, capstan::Scene* out) {
  for (std::size_t i = 0; i < scene.bodies.size(); ++i) {
    const Body& body = scene.bodies[i];
    const std::string name = "b" + std::to_string(i);
    capstan::Body b;
    b.name = name;
    b.pose.position = vec(body.position);
    b.pose.quat_wxyz = {body.quat_wxyz[0], body.quat_wxyz[1], body.quat_wxyz[2], body.quat_wxyz[3]};
    capstan::Joint joint;
    joint.name = name;
    joint.type = capstan::JointType::free;
    b.joints.push_back(joint);
    out->bodies.push_back(b);
    capstan::ShapeInstance shape;
    shape.name = shape.body = name;
    shape.mass = body.mass;
    if (body.is_box) {
      shape.shape = capstan::Box{vec(body.half)};
    } else {
      shape.shape = capstan::Sphere{body.half[0]};
    }
    out->shapes.push_back(shape);
  }
}

void add_ground(const Scene& scene, capstan::Scene* out) {
  if (scene.plane) {
    capstan::ShapeInstance shape;
    shape.name = "ground";
    shape.shape = capstan::HalfSpace{};
    out->shapes.push_back(shape);
  }
  for (std::size_t i = 0; i < scene.statics.size(); ++i) {
    capstan::ShapeInstance shape;
    shape.name = "static" + std::to_string(i);
    shape.pose.position = vec(scene.statics[i].centre);
    shape.shape = capstan::Box{vec(scene.statics[i].half)};
    out->shapes.push_back(shape);
  }
}

void add_joints(const Scene& scene, capstan::Scene* out) {
  for (const BallJoint& joint : scene.joints) {
    capstan::Constraint constraint;
    constraint.type = capstan::ConstraintType::ball;
    constraint.name = "joint" + std::to_string(out->constraints.size());
    constraint.body_a = "b" + std::to_string(joint.a);
    const Body& a = scene.bodies[joint.a];  // not turned at the start
    constraint.pose_a = capstan::Pose{vec(joint.anchor) - vec(a.position)};
    if (joint.b >= 0) {
      constraint.body_b = "b" + std::to_string(joint.b);
      constraint.pose_b = capstan::Pose{vec(joint.anchor) - vec(scene.bodies[joint.b].position)};
    } else {
      constraint.pose_b = capstan::Pose{vec(joint.anchor)};
    }
    out->constraints.push_back(constraint);
  }
}

void add_models(const Scene& scene, capstan::Scene* out) {
  capstan::Scene model = capstan::read_scene(scene.model_file);
  for (const capstan::Keyframe& keyframe : model.keyframes) {
    if (keyframe.name == scene.keyframe) model.initial = keyframe;
  }
  for (int i = 0; i < scene.copies; ++i) {
    capstan::Instance instance;
    instance.name = "m" + std::to_string(i);
    instance.pose.position = {scene.spacing * (i % 10), scene.spacing * (i / 10), 0};
    instance.use_options = i == 0;
    instance.materials_name = "m";
    capstan::append(out, model, instance);
  }
}

}  // namespace

capstan::Scene make_capstan_scene(const Scene& scene, const ContactSettings& settings) {
  capstan::Scene out;
  out.name = scene.name;
  capstan::Material material;
  material.name = "default";
  material.friction = scene.friction;
  out.materials.push_back(material);
  if (!scene.model_file.empty()) add_models(scene, &out);
  add_ground(scene, &out);
  add_bodies(scene, &out);
  add_joints(scene, &out);
  for (capstan::Material& m : out.materials) {
    m.stiffness = settings.stiffness;
    m.stiffness_per_kilogram = 0;
    m.dissipation = settings.dissipation;
    m.stiction_tolerance = settings.stiction_tolerance;
  }
  out.options.gravity = vec(scene.gravity);
  out.options.dt = scene.dt;
  return out;
}

}  // namespace bench
