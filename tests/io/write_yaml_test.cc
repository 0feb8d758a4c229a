#include "capstan/io/write_yaml.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "capstan/io/read.h"
#include "capstan/model/model.h"
#include "tests/support/complaints.h"

namespace capstan {
namespace {

const std::string kEverything = CAPSTAN_SOURCE_DIR "/tests/io/data/everything.yaml";

Scene read(const std::string& path) {
  Diagnostics diagnostics;
  Scene scene = read_scene(path, &diagnostics);
  EXPECT_EQ(complaints(diagnostics), "") << path;
  return scene;
}

}  // namespace

// Overloads for every struct, in the structs' own namespace so that the templates find the later ones.
#define SAME(field) EXPECT_EQ(a.field, b.field)

static void expect_same(const Range& a, const Range& b) {
  SAME(lower);
  SAME(upper);
}
static void expect_same(const Pose& a, const Pose& b) {
  SAME(position);
  SAME(quat_wxyz);
}
static void expect_same(const FrictionTensor& a, const FrictionTensor& b) {
  SAME(along);
  SAME(across);
  SAME(direction);
}
template <class T>
static void expect_same(const std::optional<T>& a, const std::optional<T>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (a) expect_same(*a, *b);
}
template <class T>
static void expect_same(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i]);
}
static void expect_same(const Inertia& a, const Inertia& b) {
  SAME(mass);
  SAME(com);
  SAME(about_com);
}
static void expect_same(const SoftReference& a, const SoftReference& b) {
  SAME(solref);
  SAME(solimp);
}
static void expect_same(const Joint& a, const Joint& b) {
  expect_same(a.soft_limits, b.soft_limits);
  SAME(name);
  SAME(type);
  SAME(position);
  SAME(axis);
  SAME(axis2);
  SAME(pitch);
  SAME(reference);
  SAME(stiffness);
  SAME(spring_reference);
  SAME(damping);
  SAME(dry_friction);
  SAME(rotor_inertia);
  expect_same(a.limits, b.limits);
  SAME(effort_limit);
  SAME(velocity_limit);
}
static void expect_same(const Body& a, const Body& b) {
  SAME(name);
  SAME(parent);
  expect_same(a.pose, b.pose);
  expect_same(a.joints, b.joints);
  expect_same(a.inertia, b.inertia);
  SAME(gravity_compensated);
}
static void expect_same(const Material& a, const Material& b) {
  SAME(name);
  SAME(stiffness);
  SAME(stiffness_per_kilogram);
  SAME(dissipation);
  SAME(relaxation_time);
  SAME(friction);
  expect_same(a.friction_tensor, b.friction_tensor);
  SAME(stiction_tolerance);
  SAME(restitution);
  SAME(restitution_threshold);
  SAME(elastic_modulus);
  SAME(contact);
}
static void expect_same(const PairOverride& a, const PairOverride& b) {
  SAME(kind);
  SAME(a);
  SAME(b);
  SAME(stiffness);
  SAME(dissipation);
  SAME(relaxation_time);
  SAME(friction);
  SAME(restitution);
  SAME(margin);
  expect_same(a.friction_tensor, b.friction_tensor);
}
static void expect_same(const TriangleMesh& a, const TriangleMesh& b) {
  SAME(vertices);
  SAME(triangles);
}

struct SameShape {
  const Shape& other;
  void operator()(const Sphere& a) const { EXPECT_EQ(a.radius, std::get<Sphere>(other).radius); }
  void operator()(const Box& a) const { EXPECT_EQ(a.half_size, std::get<Box>(other).half_size); }
  void operator()(const Capsule& a) const {
    const auto& b = std::get<Capsule>(other);
    SAME(radius);
    SAME(half_length);
  }
  void operator()(const Cylinder& a) const {
    const auto& b = std::get<Cylinder>(other);
    SAME(radius);
    SAME(half_length);
  }
  void operator()(const Ellipsoid& a) const { EXPECT_EQ(a.radii, std::get<Ellipsoid>(other).radii); }
  void operator()(const HalfSpace&) const {}
  void operator()(const ConvexMesh& a) const { expect_same(*a.mesh, *std::get<ConvexMesh>(other).mesh); }
  void operator()(const SurfaceMesh& a) const { expect_same(*a.mesh, *std::get<SurfaceMesh>(other).mesh); }
  void operator()(const SignedDistanceMesh& a) const {
    const auto& b = std::get<SignedDistanceMesh>(other);
    expect_same(*a.mesh, *b.mesh);
    SAME(resolution);
  }
  void operator()(const HeightField& a) const {
    const auto& b = std::get<HeightField>(other);
    SAME(rows);
    SAME(columns);
    SAME(half_size);
    SAME(base);
    EXPECT_EQ(*a.height, *b.height);
  }
};

static void expect_same(const ShapeInstance& a, const ShapeInstance& b) {
  SAME(name);
  SAME(body);
  expect_same(a.pose, b.pose);
  ASSERT_EQ(a.shape.index(), b.shape.index());
  std::visit(SameShape{b.shape}, a.shape);
  SAME(material);
  if (!a.mass) {  // else it is not used, and not written
    SAME(density);
  }
  SAME(mass);
  SAME(collides);
  SAME(has_mass);
  SAME(group_bits);
  SAME(mask_bits);
  SAME(margin);
  SAME(patch.contact);
  SAME(patch.rings);
  SAME(patch.points);
  SAME(patch.thickness);
  SAME(rgba);
}
static void expect_same(const Site& a, const Site& b) {
  SAME(name);
  SAME(body);
  expect_same(a.pose, b.pose);
}
static void expect_same(const CollisionExclude& a, const CollisionExclude& b) {
  SAME(body_a);
  SAME(body_b);
}
static void expect_same(const Tendon::Term& a, const Tendon::Term& b) {
  SAME(joint);
  SAME(coefficient);
}
static void expect_same(const Tendon& a, const Tendon& b) {
  SAME(name);
  expect_same(a.terms, b.terms);
  SAME(stiffness);
  SAME(damping);
  SAME(dry_friction);
  SAME(rotor_inertia);
  expect_same(a.spring_rest, b.spring_rest);
  expect_same(a.limits, b.limits);
}
static void expect_same(const Actuator& a, const Actuator& b) {
  SAME(name);
  SAME(joint);
  SAME(tendon);
  SAME(gear);
  SAME(gain);
  SAME(bias);
  expect_same(a.control_range, b.control_range);
  expect_same(a.force_range, b.force_range);
  SAME(control);
}
static void expect_same(const Constraint& a, const Constraint& b) {
  SAME(type);
  SAME(name);
  SAME(body_a);
  SAME(body_b);
  expect_same(a.pose_a, b.pose_a);
  expect_same(a.pose_b, b.pose_b);
  SAME(joint_a);
  SAME(joint_b);
  SAME(polynomial);
  SAME(distance);
  SAME(stiffness);
  SAME(relaxation_time);
  expect_same(a.soft, b.soft);
  SAME(active);
}
static void expect_same(const Keyframe& a, const Keyframe& b) {
  SAME(name);
  SAME(time);
  SAME(q);
  SAME(v);
  SAME(control);
}
static void expect_same(const Scene& a, const Scene& b) {
  SAME(name);
  SAME(options.gravity);
  SAME(options.dt);
  SAME(options.integrator);
  SAME(options.duration);
  SAME(options.sleep.on);
  SAME(options.sleep.speed);
  SAME(options.sleep.time);
  SAME(options.collide_parent_child);
  SAME(options.balance_inertia);
  expect_same(a.bodies, b.bodies);
  expect_same(a.shapes, b.shapes);
  expect_same(a.materials, b.materials);
  expect_same(a.pairs, b.pairs);
  expect_same(a.excludes, b.excludes);
  expect_same(a.sites, b.sites);
  expect_same(a.tendons, b.tendons);
  expect_same(a.actuators, b.actuators);
  expect_same(a.constraints, b.constraints);
  expect_same(a.keyframes, b.keyframes);
  expect_same(a.initial, b.initial);
}

namespace {

TEST(WriteYaml, WhatIsWrittenIsReadBackToTheSameBits) {
  const Scene scene = read(kEverything);
  EXPECT_EQ(scene.name, "every \"key\" \\ there is");
  ASSERT_EQ(scene.shapes.size(), 11u);
  const std::string path = testing::TempDir() + "/capstan_written.yaml";
  Diagnostics diagnostics;
  ASSERT_TRUE(save_yaml(scene, path, &diagnostics)) << diagnostics.text();
  EXPECT_TRUE(std::filesystem::exists(testing::TempDir() + "/capstan_written_mesh2.obj"));
  expect_same(scene, read(path));
}

// A stiffness of 1e6 that is written is not the default, which may be more for what is heavy.
TEST(WriteYaml, AMillionIsWrittenWhereItWasSet) {
  for (const bool is_set : {false, true}) {
    Scene scene;
    scene.materials.resize(1);
    scene.materials[0].name = "default";
    if (is_set) scene.materials[0].stiffness = 1e6;
    scene.bodies.resize(1);
    scene.bodies[0].name = "slab";
    scene.bodies[0].joints.resize(1);
    scene.bodies[0].joints[0].name = "slab";
    scene.bodies[0].joints[0].type = JointType::free;
    scene.shapes.resize(1);
    scene.shapes[0].name = scene.shapes[0].body = "slab";
    scene.shapes[0].shape = Box{Vec3::Constant(1)};
    const Model model = compile(scene);
    EXPECT_EQ(model.shapes[0].stiffness == 1e6, is_set);
    const std::string path = testing::TempDir() + "stiffness.yaml";
    Diagnostics diagnostics;
    EXPECT_TRUE(save_yaml(scene, path, &diagnostics));
    const Scene again = read(path);
    EXPECT_EQ(again.materials.at(0).stiffness.has_value(), is_set);
    EXPECT_EQ(compile(again).fingerprint, model.fingerprint);
  }
}

TEST(WriteYaml, AMeshWithoutAFileIsLeftOutWithAComment) {
  const std::string text = write_yaml(read(kEverything));
  EXPECT_NE(text.find("# shape \"world_convex_mesh\" of body \"world\" is left out"), std::string::npos)
      << text;
}

TEST(WriteYaml, AFileThatCannotBeWrittenIsAnError) {
  Diagnostics diagnostics;
  EXPECT_FALSE(save_yaml(Scene(), "/no/such/folder/x.yaml", &diagnostics));
  EXPECT_NE(diagnostics.text().find("cannot be written"), std::string::npos);
}

}  // namespace
}  // namespace capstan
