#include "capstan/scene/compose.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "capstan/math/rotation.h"

namespace capstan::compose_test {
namespace {

// One of everything that can hold a name.
Scene model() {
  Scene scene;
  scene.options.dt = 0.001;
  Body base, arm;
  base.name = "base";
  base.pose.position = {1, 0, 0};
  base.joints.resize(1);
  base.joints[0].name = "floating";
  base.joints[0].type = JointType::free;
  arm.name = "arm";
  arm.parent = "base";
  arm.pose.position = {0, 0, 2};
  arm.joints.resize(1);
  arm.joints[0].name = "elbow";
  scene.bodies = {base, arm};
  ShapeInstance on_arm, on_world;
  on_arm.name = "skin";
  on_arm.body = "arm";
  on_arm.material = "rubber";
  on_arm.shape = Sphere{0.1};
  on_world.name = "floor";
  on_world.pose.position = {0, 0, 3};
  on_world.shape = HalfSpace{};
  scene.shapes = {on_arm, on_world};
  Material rubber;
  rubber.name = "rubber";
  scene.materials = {rubber};
  PairOverride of_materials, of_shapes;
  of_materials.a = "rubber";
  of_materials.b = "default";
  of_shapes.kind = PairOverride::Kind::shapes;
  of_shapes.a = "skin";
  of_shapes.b = "floor";
  scene.pairs = {of_materials, of_shapes};
  scene.excludes = {{"arm", "world", {}}};
  Site tip, mark;
  tip.name = "tip";
  tip.body = "arm";
  mark.name = "mark";
  mark.pose.position = {0, 1, 0};
  scene.sites = {tip, mark};
  Tendon tendon;
  tendon.name = "cord";
  tendon.terms = {{"elbow", 2}};
  scene.tendons = {tendon};
  Actuator motor, puller;
  motor.name = "motor";
  motor.joint = "elbow";
  puller.name = "puller";
  puller.tendon = "cord";
  scene.actuators = {motor, puller};
  Constraint pin, follow;
  pin.name = "pin";
  pin.body_a = "arm";
  pin.pose_a = Pose{{5, 0, 0}, identity_quat()};
  pin.pose_b = Pose{{1, 0, 0}, identity_quat()};
  follow.name = "follow";
  follow.type = ConstraintType::coupler;
  follow.joint_a = "elbow";
  scene.constraints = {pin, follow};
  Keyframe key;
  key.name = "home";
  key.q = {{"floating", {1, 0, 0, 1, 0, 0, 0}}, {"elbow", {0.5}}};
  key.v = {{"floating", {1, 0, 0, 0, 1, 0}}, {"elbow", {2}}};
  key.control = {{"motor", 3}};
  scene.keyframes = {key};
  scene.initial = key;
  scene.initial.name.clear();
  return scene;
}

// Turns x to y, then moves by (0, 0, 10).
Instance instance() {
  Instance p;
  p.name = "left";
  p.pose.position = {0, 0, 10};
  p.pose.quat_wxyz = quat_from_axis_angle(Vec3::UnitZ(), M_PI / 2);
  return p;
}

TEST(Compose, PosesMultiplyAsTransforms) {
  const Pose a{{1, 2, 3}, quat_exp({0.3, -0.2, 0.9})}, b{{-1, 0.5, 2}, quat_exp({1, 1, -0.4})};
  const Pose c = compose(a, b);
  const Vec3 point(0.3, 0.7, -0.2);
  const Vec3 by_steps = a.position + rotate(a.quat_wxyz, b.position + rotate(b.quat_wxyz, point));
  EXPECT_LT((c.position + rotate(c.quat_wxyz, point) - by_steps).norm(), 1e-14);
}

TEST(Compose, EveryNameAndReferenceGetsThePrefix) {
  const Scene s = instantiate(model(), instance());
  EXPECT_EQ(s.bodies[0].name, "left/base");
  EXPECT_EQ(s.bodies[0].parent, "world");
  EXPECT_EQ(s.bodies[1].parent, "left/base");
  EXPECT_EQ(s.bodies[1].joints[0].name, "left/elbow");
  EXPECT_EQ(s.shapes[0].name, "left/skin");
  EXPECT_EQ(s.shapes[0].body, "left/arm");
  EXPECT_EQ(s.shapes[0].material, "left/rubber");
  EXPECT_EQ(s.shapes[1].body, "world");
  EXPECT_EQ(s.shapes[1].material, "default");
  EXPECT_EQ(s.materials[0].name, "left/rubber");
  EXPECT_EQ(s.pairs[0].a, "left/rubber");
  EXPECT_EQ(s.pairs[0].b, "default");
  EXPECT_EQ(s.pairs[1].b, "left/floor");
  EXPECT_EQ(s.excludes[0].body_a, "left/arm");
  EXPECT_EQ(s.excludes[0].body_b, "world");
  EXPECT_EQ(s.sites[0].body, "left/arm");
  EXPECT_EQ(s.tendons[0].terms[0].joint, "left/elbow");
  EXPECT_EQ(s.actuators[0].joint, "left/elbow");
  EXPECT_EQ(s.actuators[0].tendon, "");
  EXPECT_EQ(s.actuators[1].tendon, "left/cord");
  EXPECT_EQ(s.constraints[0].body_a, "left/arm");
  EXPECT_EQ(s.constraints[0].body_b, "world");
  EXPECT_EQ(s.constraints[1].joint_a, "left/elbow");
  EXPECT_EQ(s.constraints[1].joint_b, "");
  EXPECT_EQ(s.constraints[1].body_a, "");
  EXPECT_EQ(s.keyframes[0].name, "left/home");
  EXPECT_EQ(s.initial.q.at("left/elbow"), std::vector<double>{0.5});
  EXPECT_EQ(s.initial.control.at("left/motor"), 3);
}

TEST(Compose, WhatStandsOnTheWorldIsPlacedAndTheRestStays) {
  const Scene s = instantiate(model(), instance());
  EXPECT_LT((s.bodies[0].pose.position - Vec3(0, 1, 10)).norm(), 1e-15);
  EXPECT_LT((s.bodies[1].pose.position - Vec3(0, 0, 2)).norm(), 1e-15);
  EXPECT_LT((s.shapes[1].pose.position - Vec3(0, 0, 13)).norm(), 1e-15);
  EXPECT_LT((s.sites[1].pose.position - Vec3(-1, 0, 10)).norm(), 1e-15);
  EXPECT_LT((s.constraints[0].pose_a->position - Vec3(5, 0, 0)).norm(), 1e-15);
  EXPECT_LT((s.constraints[0].pose_b->position - Vec3(0, 1, 10)).norm(), 1e-15);
  // The free joint's q is a pose in the world, and its v is in the world's axes.
  const std::vector<double>& q = s.initial.q.at("left/floating");
  EXPECT_NEAR(q[1], 1, 1e-15);
  EXPECT_NEAR(q[2], 10, 1e-15);
  EXPECT_NEAR(q[3], std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(q[6], std::sqrt(0.5), 1e-15);
  const std::vector<double>& v = s.keyframes[0].v.at("left/floating");
  EXPECT_NEAR(v[1], 1, 1e-15);
  EXPECT_NEAR(v[3], -1, 1e-15);
}

TEST(Compose, AttachesToABodyAndReplacesRootJoints) {
  Instance p = instance();
  p.parent = "table";
  p.root_joint = Joint{};
  p.root_joint->type = JointType::weld;
  Scene s = instantiate(model(), p);
  EXPECT_EQ(s.bodies[0].parent, "table");
  EXPECT_TRUE(s.bodies[0].joints.empty());
  EXPECT_EQ(s.shapes[1].body, "table");
  EXPECT_EQ(s.constraints[0].body_b, "table");
  EXPECT_EQ(s.excludes[0].body_b, "table");
  EXPECT_EQ(s.initial.q.count("left/floating"), 0u);
  EXPECT_EQ(s.keyframes[0].q.count("left/floating"), 0u);
  EXPECT_EQ(s.keyframes[0].q.count("left/elbow"), 1u);

  p.root_joint->type = JointType::prismatic;
  s = instantiate(model(), p);
  ASSERT_EQ(s.bodies[0].joints.size(), 1u);
  EXPECT_EQ(s.bodies[0].joints[0].name, "left/base");
  EXPECT_EQ(s.bodies[1].joints[0].name, "left/elbow");
}

TEST(Compose, AppendKeepsTheSceneAndSharesMaterials) {
  Scene scene;
  scene.options.dt = 0.01;
  for (const char* name : {"a", "b", "c"}) {
    Instance p = instance();
    p.name = name;
    p.materials_name = "robot";
    append(&scene, model(), p);
  }
  EXPECT_EQ(scene.options.dt, 0.01);
  EXPECT_EQ(scene.bodies.size(), 6u);
  ASSERT_EQ(scene.materials.size(), 1u);
  EXPECT_EQ(scene.materials[0].name, "robot/rubber");
  EXPECT_EQ(scene.shapes[4].material, "robot/rubber");
  EXPECT_EQ(scene.pairs.size(), 1u + 3u);
  std::set<std::string> names;
  for (const Body& body : scene.bodies) names.insert(body.name);
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(num_elements(instantiate(model(), instance())), num_elements(model()));

  Instance p = instance();
  p.use_options = true;
  append(&scene, model(), p);
  EXPECT_EQ(scene.options.dt, 0.001);
}

TEST(Compose, EmptyNameChangesNoNameAndOwnDefaultMaterialStaysOwn) {
  Scene with_default = model();
  with_default.materials[0].name = "default";
  with_default.shapes[0].material = "default";
  Instance p;
  EXPECT_EQ(instantiate(with_default, p).bodies[1].parent, "base");
  p.name = "left";
  const Scene s = instantiate(with_default, p);
  EXPECT_EQ(s.materials[0].name, "left/default");
  EXPECT_EQ(s.shapes[0].material, "left/default");
  EXPECT_EQ(s.pairs[0].b, "left/default");
}

}  // namespace
}  // namespace capstan::compose_test
