#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "capstan/base/closest_name.h"
#include "capstan/io/read.h"
#include "capstan/io/scene_kind.h"
#include "capstan/math/rotation.h"
#include "tests/support/complaints.h"

namespace capstan::yaml_test {
namespace {

constexpr double kDegree = M_PI / 180;

std::string write(const std::string& name, const std::string& text) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "capstan_yaml";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / name).string();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// The scene of a text that must be read without a complaint.
Scene read(const std::string& text, const std::string& name = "test.yaml") {
  Diagnostics diagnostics;
  Scene scene = read_scene(write(name, text), &diagnostics);
  EXPECT_EQ(complaints(diagnostics), "");
  return scene;
}

const Body& body(const Scene& scene, const std::string& name) {
  for (const Body& b : scene.bodies) {
    if (b.name == name) return b;
  }
  throw std::runtime_error("no body " + name);
}

TEST(Yaml, ExtraIsForOtherPrograms) {
  const Scene scene = read("capstan: 1\nextra: {answer: 42, list: [{a: b}]}\nname: n\n");
  EXPECT_EQ(scene.name, "n");
}

TEST(ClosestName, FindsTyposAndLeavesStrangersAlone) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("mass", "msas"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  const std::vector<std::string> names = {"mass", "com", "moments"};
  EXPECT_EQ(closest_name("moment", names), "moments");
  EXPECT_EQ(closest_name("msas", names), "mass");
  EXPECT_EQ(closest_name("friction", names), "");
  EXPECT_EQ(closest_name(std::string(10000, 'm'), names), "");
  EXPECT_EQ(name_one_of({}, "actuator"), "the scene has no actuator; add one, or leave this out");
  EXPECT_EQ(name_one_of({"box"}, "body"), "write 'box', the only body");
  EXPECT_EQ(name_one_of({"a", "b", "c"}, "body"), "write the name of one of the 3 bodies");
}

TEST(SceneKind, RootElementIsFoundBehindPrologueAndComments) {
  EXPECT_EQ(xml_root("<mujoco/>"), "mujoco");
  EXPECT_EQ(xml_root("\xEF\xBB\xBF<?xml version='1.0'?>\n<!-- <robot> -->\n<!DOCTYPE x>\n<robot name='a'>"),
            "robot");
  EXPECT_EQ(xml_root("capstan: 1"), "");
  EXPECT_EQ(xml_root("<!-- open"), "");
  EXPECT_EQ(xml_root("<"), "");
}

TEST(Yaml, DefaultsAreThoseOfTheStructs) {
  const Scene scene = read("capstan: 1\n", "lamp.yaml"), plain;
  EXPECT_EQ(scene.name, "lamp");
  EXPECT_EQ(scene.options.dt, plain.options.dt);
  EXPECT_EQ(scene.options.gravity, plain.options.gravity);
  EXPECT_TRUE(scene.bodies.empty());
}

TEST(Yaml, OptionsMaterialsAndPairs) {
  const Scene scene = read(R"(
capstan: 1
name: all of it
options: {gravity: [0, 1, -2], dt: 1e-3, integrator: implicit_euler, duration: 3, sleep: true, sleep_speed: 0.02, sleep_time: 0.3, collide_parent_child: true, balance_inertia: true}
materials:
  - {name: default, friction: 0.1}
  - name: rubber
    stiffness: .inf
    dissipation: 3
    relaxation_time: 0.01
    friction: 0.9
    friction_tensor: {along: 0.2, across: 0.8, direction: [0, 1, 0]}
    stiction_tolerance: 1e-5
    elastic_modulus: 1e8
  - {name: soft, stiffness_per_kilogram: 5000}
pairs:
  - {materials: [rubber, default], friction: 0.3, stiffness: 1e4, dissipation: 1, relaxation_time: 0.1}
  - {shapes: [a, b], margin: 0.01}
)");
  EXPECT_EQ(scene.name, "all of it");
  EXPECT_EQ(scene.options.gravity, Vec3(0, 1, -2));
  EXPECT_EQ(scene.options.dt, 1e-3);
  EXPECT_EQ(scene.options.integrator, Integrator::implicit_euler);
  EXPECT_EQ(scene.options.duration, 3);
  EXPECT_TRUE(scene.options.collide_parent_child);
  EXPECT_TRUE(scene.options.sleep.on);
  EXPECT_EQ(scene.options.sleep.speed, 0.02);
  EXPECT_EQ(scene.options.sleep.time, 0.3);
  EXPECT_TRUE(scene.options.balance_inertia);
  ASSERT_EQ(scene.materials.size(), 3u);
  const Material& rubber = scene.materials[1];
  EXPECT_EQ(rubber.where.line, 7);
  EXPECT_EQ(rubber.stiffness, kInfinity);
  EXPECT_EQ(rubber.dissipation, 3);
  EXPECT_EQ(rubber.relaxation_time, 0.01);
  EXPECT_EQ(rubber.friction, 0.9);
  EXPECT_EQ(rubber.friction_tensor->across, 0.8);
  EXPECT_EQ(rubber.friction_tensor->direction, Vec3(0, 1, 0));
  EXPECT_EQ(rubber.stiction_tolerance, 1e-5);
  EXPECT_EQ(rubber.elastic_modulus, 1e8);
  EXPECT_EQ(scene.materials[2].stiffness_per_kilogram, 5000);
  EXPECT_EQ(scene.pairs[0].b, "default");
  EXPECT_EQ(*scene.pairs[0].friction, 0.3);
  EXPECT_FALSE(scene.pairs[0].margin);
  EXPECT_EQ(scene.pairs[1].kind, PairOverride::Kind::shapes);
  EXPECT_EQ(*scene.pairs[1].margin, 0.01);
}

TEST(Yaml, EveryWayToTurnGivesTheSameTurn) {
  // 90 degrees about x takes z to -y.
  const Scene scene = read(R"(
capstan: 1
bodies:
  - {name: a, quat: [2, 2, 0, 0]}
  - {name: b, rpy: [1.5707963267948966, 0, 0]}
  - {name: c, pose: {rpy_deg: [90, 0, 0]}}
  - {name: d, axis: [3, 0, 0], angle: 1.5707963267948966}
  - {name: e, axis: [-1, 0, 0], angle_deg: -90}
  - {name: f, z_axis: [0, -5, 0]}
)");
  for (const Body& b : scene.bodies) {
    EXPECT_LT((b.pose.quat_wxyz - Vec4(std::sqrt(0.5), std::sqrt(0.5), 0, 0)).norm(), 1e-15) << b.name;
  }
  // Roll, pitch, yaw about fixed axes, in that order.
  const Mat3 R = rotation_matrix(
      body(read("capstan: 1\nbodies: [{name: a, rpy: [0.3, -0.5, 1.1]}]\n"), "a").pose.quat_wxyz);
  const Mat3 expected = rotation_about(Vec3::UnitZ(), std::cos(1.1), std::sin(1.1)) *
                        rotation_about(Vec3::UnitY(), std::cos(-0.5), std::sin(-0.5)) *
                        rotation_about(Vec3::UnitX(), std::cos(0.3), std::sin(0.3));
  EXPECT_LT((R - expected).norm(), 1e-15);
}

TEST(Yaml, BodiesNestAndNameTheirParents) {
  const Scene scene = read(R"(
capstan: 1
bodies:
  - name: base
    gravity_compensated: true
    children:
      - name: upper
        position: [0, 0, 1]
        joint: revolute
        children: [{name: lower, joint: {type: revolute}}]
  - {name: tool, parent: lower}
)");
  ASSERT_EQ(scene.bodies.size(), 4u);
  EXPECT_EQ(body(scene, "base").parent, "world");
  EXPECT_TRUE(body(scene, "base").gravity_compensated);
  EXPECT_EQ(body(scene, "upper").parent, "base");
  EXPECT_EQ(body(scene, "lower").parent, "upper");
  EXPECT_EQ(body(scene, "tool").parent, "lower");
  EXPECT_EQ(body(scene, "upper").joints[0].name, "upper");
  EXPECT_EQ(body(scene, "upper").where.line, 7);
}

TEST(Yaml, JointsCarryEverything) {
  const Scene scene = read(R"(
capstan: 1
bodies:
  - name: a
    joint:
      name: elbow
      type: revolute
      position: [1, 2, 3]
      axis: [0, 2, 0]
      reference_deg: 10
      stiffness: 5
      spring_reference: 0.2
      damping: 0.3
      dry_friction: 0.4
      rotor_inertia: 0.5
      limits_deg: [-90, 45]
      effort_limit: 6
      velocity_limit: 7
      initial_deg: 30
      initial_velocity: -2
  - {name: b, joint: {type: screw, pitch: 0.01, limits: [-.inf, 1]}}
  - {name: c, joint: {type: universal, axis2: [0, 1, 0], limits_deg: [[-10, 10], [-20, 20]], initial: [0.1, 0.2]}}
  - {name: d, joint: {type: ball, limits: 1.5, initial: [1, 0, 0, 0], initial_velocity: [1, 2, 3]}}
  - {name: e, joint: {type: planar, limits: [[0, 1], [0, 2], [-3, 3]]}}
  - {name: f, joint: {type: free, initial: [1, 2, 3, 1, 0, 0, 0]}}
  - name: g
    joints:
      - {type: prismatic, axis: [1, 0, 0]}
      - {type: revolute, name: turn}
)");
  const Joint& elbow = body(scene, "a").joints[0];
  EXPECT_EQ(elbow.position, Vec3(1, 2, 3));
  EXPECT_EQ(elbow.axis, Vec3(0, 2, 0));
  EXPECT_DOUBLE_EQ(elbow.reference, 10 * kDegree);
  EXPECT_EQ(elbow.stiffness, 5);
  EXPECT_EQ(elbow.spring_reference, 0.2);
  EXPECT_EQ(elbow.damping, 0.3);
  EXPECT_EQ(elbow.dry_friction, 0.4);
  EXPECT_EQ(elbow.rotor_inertia, 0.5);
  EXPECT_DOUBLE_EQ(elbow.limits[0].lower, -90 * kDegree);
  EXPECT_DOUBLE_EQ(elbow.limits[0].upper, 45 * kDegree);
  EXPECT_EQ(elbow.effort_limit, 6);
  EXPECT_EQ(elbow.velocity_limit, 7);
  EXPECT_DOUBLE_EQ(scene.initial.q.at("elbow")[0], 30 * kDegree);
  EXPECT_EQ(scene.initial.v.at("elbow")[0], -2);
  EXPECT_EQ(body(scene, "b").joints[0].pitch, 0.01);
  EXPECT_EQ(body(scene, "b").joints[0].limits[0].lower, -kInfinity);
  EXPECT_EQ(body(scene, "c").joints[0].axis2, Vec3(0, 1, 0));
  EXPECT_DOUBLE_EQ(body(scene, "c").joints[0].limits[1].upper, 20 * kDegree);
  EXPECT_EQ(scene.initial.q.at("c"), (std::vector<double>{0.1, 0.2}));
  EXPECT_EQ(body(scene, "d").joints[0].limits[0].upper, 1.5);
  EXPECT_EQ(body(scene, "d").joints[0].limits[0].lower, 0);
  EXPECT_EQ(scene.initial.v.at("d"), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(body(scene, "e").joints[0].limits.size(), 3u);
  EXPECT_EQ(scene.initial.q.at("f").size(), 7u);
  EXPECT_EQ(body(scene, "g").joints[0].name, "g_1");
  EXPECT_EQ(body(scene, "g").joints[1].name, "turn");
}

TEST(Yaml, InertiaByMomentsMatrixAxesOrShapes) {
  const Scene scene = read(R"(
capstan: 1
bodies:
  - {name: a, inertia: {mass: 2, com: [1, 0, 0], moments: [1, 2, 3], products: [0.1, 0.2, 0.3]}}
  - {name: b, inertia: {mass: 2, matrix: [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]]}}
  - {name: c, inertia: {mass: 2, moments: [1, 2, 3], rpy_deg: [0, 0, 90]}}
  - name: d
    mass: 9
    shapes:
      - {type: box, size: [1, 1, 1]}
      - {type: box, size: [1, 1, 2], density: 500}
      - {type: sphere, radius: 3, visual: true}
      - {type: box, size: [1, 1, 1], density: 250}
)");
  const Mat3 a = body(scene, "a").inertia->about_com;
  EXPECT_EQ(a, body(scene, "b").inertia->about_com);
  EXPECT_EQ(a(0, 2), 0.2);
  EXPECT_EQ(a(1, 2), 0.3);
  EXPECT_EQ(body(scene, "a").inertia->com, Vec3(1, 0, 0));
  EXPECT_LT((body(scene, "c").inertia->about_com.diagonal() - Vec3(2, 1, 3)).norm(), 1e-14);
  EXPECT_FALSE(body(scene, "d").inertia);
  EXPECT_DOUBLE_EQ(*scene.shapes[0].mass, 4);
  EXPECT_DOUBLE_EQ(*scene.shapes[1].mass, 4);
  EXPECT_FALSE(scene.shapes[2].mass);
  EXPECT_DOUBLE_EQ(*scene.shapes[3].mass, 1);
  EXPECT_EQ(scene.shapes[0].name, "d_box");
  EXPECT_EQ(scene.shapes[1].name, "d_box2");
  EXPECT_EQ(scene.shapes[2].name, "d_sphere");
  EXPECT_FALSE(scene.shapes[2].collides);
}

TEST(Yaml, ShapesTakeFullLengths) {
  write("tetrahedron.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
  const Scene scene = read(R"(
capstan: 1
shapes:
  - {type: sphere, radius: 0.5, name: ball, body: arm, material: rubber, density: 10, group_bits: 2, mask_bits: 5, margin: 0.01, color: [1, 0, 0]}
  - {type: box, size: [1, 2, 3], mass: 4}
  - {type: capsule, radius: 0.1, length: 2}
  - {type: cylinder, radius: 0.1, from: [1, 0, 0], to: [3, 0, 0]}
  - {type: ellipsoid, radii: [1, 2, 3], collides: false}
  - {type: plane, z_axis: [1, 0, 0], has_mass: false}
  - {type: mesh, file: tetrahedron.obj, scale: [2, 1, 1]}
  - {type: mesh, file: tetrahedron.obj, scale: 3, kind: surface}
  - {type: mesh, file: tetrahedron.obj, scale: [2, 1, 1]}
  - {type: height_field, size: [4, 2], base: 0.5, heights: [[0, 1, 2], [3, 4, 5]]}
)");
  const auto& s = scene.shapes;
  ASSERT_EQ(s.size(), 10u);
  EXPECT_EQ(std::get<Sphere>(s[0].shape).radius, 0.5);
  EXPECT_EQ(s[0].body, "arm");
  EXPECT_EQ(s[0].material, "rubber");
  EXPECT_EQ(s[0].density, 10);
  EXPECT_EQ(s[0].group_bits, 2u);
  EXPECT_EQ(s[0].mask_bits, 5u);
  EXPECT_EQ(s[0].margin, 0.01);
  EXPECT_EQ(s[0].rgba[0], 1.0f);
  EXPECT_EQ(s[0].rgba[3], 1.0f);
  EXPECT_EQ(std::get<Box>(s[1].shape).half_size, Vec3(0.5, 1, 1.5));
  EXPECT_EQ(*s[1].mass, 4);
  EXPECT_EQ(std::get<Capsule>(s[2].shape).half_length, 1);
  EXPECT_EQ(std::get<Cylinder>(s[3].shape).half_length, 1);
  EXPECT_EQ(s[3].pose.position, Vec3(2, 0, 0));
  EXPECT_LT((rotate(s[3].pose.quat_wxyz, Vec3::UnitZ()) - Vec3::UnitX()).norm(), 1e-15);
  EXPECT_EQ(std::get<Ellipsoid>(s[4].shape).radii, Vec3(1, 2, 3));
  EXPECT_FALSE(s[4].collides);
  EXPECT_TRUE(std::holds_alternative<HalfSpace>(s[5].shape));
  EXPECT_FALSE(s[5].has_mass);
  EXPECT_NEAR(volume_properties(s[6].shape).volume, 2.0 / 6, 1e-15);
  EXPECT_NEAR(volume_properties(s[7].shape).volume, 27.0 / 6, 1e-14);
  EXPECT_TRUE(std::holds_alternative<SurfaceMesh>(s[7].shape));
  EXPECT_EQ(std::get<ConvexMesh>(s[6].shape).mesh, std::get<ConvexMesh>(s[8].shape).mesh);  // read once
  const HeightField& field = std::get<HeightField>(s[9].shape);
  EXPECT_EQ(field.rows, 2);
  EXPECT_EQ(field.columns, 3);
  EXPECT_EQ(field.half_size, Vec2(2, 1));
  EXPECT_EQ((*field.height)[3], 3);
}

constexpr const char* kCoupled = R"(
capstan: 1
bodies:
  - {name: a, joint: {type: revolute}}
  - {name: b, joint: {type: revolute}}
sites:
  - {name: mark, body: a, pose: {position: [1, 2, 3]}}
tendons:
  - {name: cord, joints: {a: 1, b: -0.5}, stiffness: 1, damping: 2, dry_friction: 3, rotor_inertia: 4, spring_rest: [0.1, 0.2], limits: [-1, 1]}
actuators:
  - {type: torque, joint: a, gear: 50, effort_limit: 3, control: 1, control_range: [-1, 1]}
  - {name: servo, type: pd, joint: b, stiffness: 100, damping: 5, target_deg: 90, force_range: [-2, 3]}
  - {name: spin, type: velocity, tendon: cord, damping: 7, target: 2}
  - {name: any, type: general, joint: a, gain: 2, bias: [1, 2, 3], gear: [0, 0, 1]}
constraints:
  - {type: ball, body_a: a, point_a: [1, 0, 0], body_b: b, stiffness: 1e5, relaxation_time: 0.1}
  - {name: hold, type: weld, body_a: a, pose_b: {position: [0, 0, 1], rpy_deg: [0, 0, 90]}, active: false}
  - {type: distance, body_a: a, body_b: b, point_a: [0, 0, 0], point_b: [0, 0, 0], distance: 2}
  - {type: mimic, joint_a: a, joint_b: b, multiplier: 2, offset: 0.5}
  - {type: coupler, joint_a: a, joint_b: b, polynomial: [0, 0, 3]}
excludes: [[a, b]]
keyframes:
  - {name: home, time: 2, q: {a: 1}, q_deg: {b: 90}, v: {a: [3]}, control: {servo: 4}}
initial: {q: {a: 0.25}}
)";

TEST(Yaml, CouplingsActuatorsAndStates) {
  const Scene scene = read(kCoupled);
  EXPECT_EQ(scene.sites[0].pose.position, Vec3(1, 2, 3));
  const Tendon& cord = scene.tendons[0];
  EXPECT_EQ(cord.terms[1].joint, "b");
  EXPECT_EQ(cord.terms[1].coefficient, -0.5);
  EXPECT_EQ(cord.rotor_inertia, 4);
  EXPECT_EQ(cord.spring_rest.upper, 0.2);
  EXPECT_EQ(cord.limits->lower, -1);
  const Actuator &motor = scene.actuators[0], &servo = scene.actuators[1], &spin = scene.actuators[2],
                 &any = scene.actuators[3];
  EXPECT_EQ(motor.name, "a");
  EXPECT_EQ(motor.gear[0], 50);
  EXPECT_EQ(motor.force_range.lower, -3);
  EXPECT_EQ(motor.control, 1);
  EXPECT_EQ(motor.control_range.upper, 1);
  EXPECT_EQ(motor.gain, 1);
  EXPECT_EQ(servo.gain, 100);
  EXPECT_EQ(servo.bias, Vec3(0, -100, -5));
  EXPECT_DOUBLE_EQ(servo.control, 90 * kDegree);
  EXPECT_EQ(servo.force_range.upper, 3);
  EXPECT_EQ(spin.tendon, "cord");
  EXPECT_EQ(spin.gain, 7);
  EXPECT_EQ(spin.bias, Vec3(0, 0, -7));
  EXPECT_EQ(any.bias, Vec3(1, 2, 3));
  EXPECT_EQ(any.gear[0], 0);
  EXPECT_EQ(any.gear[2], 1);
  const auto& c = scene.constraints;
  EXPECT_EQ(c[0].type, ConstraintType::ball);
  EXPECT_EQ(c[0].pose_a->position, Vec3(1, 0, 0));
  EXPECT_FALSE(c[0].pose_b);
  EXPECT_EQ(c[0].stiffness, 1e5);
  EXPECT_EQ(c[1].name, "hold");
  EXPECT_EQ(c[1].body_b, "world");
  EXPECT_NEAR(c[1].pose_b->quat_wxyz[3], std::sqrt(0.5), 1e-15);
  EXPECT_FALSE(c[1].active);
  EXPECT_EQ(c[2].distance, 2);
  EXPECT_EQ(c[3].type, ConstraintType::coupler);
  EXPECT_EQ(c[3].polynomial, (std::array<double, 5>{0.5, 2, 0, 0, 0}));
  EXPECT_EQ(c[4].polynomial, (std::array<double, 5>{0, 0, 3, 0, 0}));
  EXPECT_EQ(scene.excludes[0].body_b, "b");
  const Keyframe& home = scene.keyframes[0];
  EXPECT_EQ(home.time, 2);
  EXPECT_DOUBLE_EQ(home.q.at("b")[0], 90 * kDegree);
  EXPECT_EQ(home.v.at("a")[0], 3);
  EXPECT_EQ(home.control.at("servo"), 4);
  EXPECT_EQ(scene.initial.q.at("a")[0], 0.25);
}

TEST(Yaml, ModelsArePlacedRenamedAndRepeated) {
  write("coupled.yaml", kCoupled);
  write("fast.yaml",
        "capstan: 1\noptions: {dt: 0.25, duration: 9}\nmodels: [{file: coupled.yaml, name: inner}]\n");
  const Scene scene = read(R"(
capstan: 1
options: {duration: 7}
bodies:
  - {name: table, joint: free}
models:
  - {file: coupled.yaml, name: left, parent: table, position: [0, 0, 1], keyframe: home, initial: {q: {b: 5}}}
  - {file: coupled.yaml, name: "", joint: weld}
  - file: fast.yaml
    name: row
    use_options: true
    rpy_deg: [0, 0, 90]
    repeat: {count: 3, spacing: [1, 2, 0]}
  - {file: coupled.yaml, repeat: {count: [2, 3], spacing: [1, 10, 0], names: "c{j}x{i}"}}
initial: {q: {left/a: 8}}
)");
  EXPECT_EQ(scene.options.dt, 0.25);
  EXPECT_EQ(scene.options.duration, 7);  // the scene's own word wins
  EXPECT_EQ(body(scene, "left/a").parent, "table");
  EXPECT_EQ(body(scene, "left/a").pose.position, Vec3(0, 0, 1));
  EXPECT_EQ(scene.initial.q.at("left/a")[0], 8);
  EXPECT_EQ(scene.initial.q.at("left/b")[0], 5);
  EXPECT_EQ(scene.initial.control.at("left/servo"), 4);
  EXPECT_TRUE(body(scene, "a").joints.empty());
  EXPECT_EQ(scene.initial.q.count("a"), 0u);
  const Body& third = body(scene, "row_2/inner/b");
  EXPECT_LT((third.pose.position - Vec3(2, 4, 0)).norm(), 1e-15);
  EXPECT_NEAR(third.pose.quat_wxyz[3], std::sqrt(0.5), 1e-15);
  EXPECT_EQ(body(scene, "c2x1/a").pose.position, Vec3(1, 20, 0));
  EXPECT_EQ(scene.bodies.size(), 1u + 2 + 2 + 3 * 2 + 6 * 2);
  EXPECT_EQ(scene.tendons.back().terms[0].joint, "c2x1/a");
}

TEST(Yaml, ModelOptionsAreNotTakenUnlessAskedFor) {
  write("slow.yaml", "capstan: 1\noptions: {dt: 0.25, gravity: [0, 0, 0]}\n");
  EXPECT_EQ(read("capstan: 1\nmodels: [{file: slow.yaml}]\n").options.dt, Options().dt);
  EXPECT_EQ(read("capstan: 1\nmodels: [{file: slow.yaml, use_options: true}]\n").options.dt, 0.25);
}

TEST(Yaml, JointOfAModelThatCannotMoveItIsTold) {
  write("fixed.yaml", "capstan: 1\nshapes: [{type: sphere, radius: 1}]\n");
  Diagnostics diagnostics;
  read_scene(write("test.yaml", "capstan: 1\nmodels:\n  - file: fixed.yaml\n    joint: free\n"),
             &diagnostics);
  ASSERT_EQ(diagnostics.num_warnings(), 1) << diagnostics.text();
  EXPECT_NE(diagnostics.text().find("moves nothing"), std::string::npos);
}

TEST(Yaml, AliasesWork) {
  const Scene scene = read("capstan: 1\nshapes:\n  - &ball {type: sphere, radius: 1}\n  - *ball\n");
  ASSERT_EQ(scene.shapes.size(), 2u);
  EXPECT_EQ(scene.shapes[1].name, "world_sphere2");
}

// A chain of files that include the next one twice: 2^40 placements of nothing would never end.
TEST(Yaml, FilesAreReadOnceHoweverOftenTheyAreIncluded) {
  for (int i = 0; i < 40; ++i) {
    const std::string next = "chain" + std::to_string(i + 1) + ".yaml";
    write("chain" + std::to_string(i) + ".yaml",
          "capstan: 1\nmodels:\n  - {file: " + next + ", name: a}\n  - {file: " + next + ", name: b}\n");
  }
  write("chain40.yaml", "capstan: 1\n");
  EXPECT_TRUE(read("capstan: 1\nmodels: [{file: chain0.yaml}]\n").bodies.empty());
}

TEST(Yaml, TruncationsAndMutationsNeverCrashOrHang) {
  std::string good;
  for (const char* page : {"/docs/scene.md", ""}) {
    if (*page == 0) {
      good = kCoupled;
    } else {
      std::ostringstream text;
      text << std::ifstream(std::string(CAPSTAN_SOURCE_DIR) + page).rdbuf();
      const size_t begin = text.str().find("capstan: 1            # gripper.yaml");
      good = text.str().substr(begin, text.str().find("```", begin) - begin);
    }
    ASSERT_GT(good.size(), 500u);
    std::mt19937 random(7);
    const std::string spice = ":[]{}-#&*!|>'\"%@`,\n\t 0123.einfax?<";
    for (int i = 0; i < 600; ++i) {
      std::string text = good;
      if (i % 5 == 0) {
        text.resize(1 + random() % text.size());
      } else {
        for (unsigned k = 0; k <= random() % 4; ++k) {
          const size_t at = random() % text.size();
          switch (random() % 4) {
            case 0:
              text[at] = static_cast<char>(random());
              break;
            case 1:
              text[at] = spice[random() % spice.size()];
              break;
            case 2:
              text.erase(at, 1 + random() % 5);
              break;
            default:
              text.insert(at, text.substr(random() % text.size(), random() % 30));
          }
          if (text.empty()) text = "x";
        }
      }
      Diagnostics diagnostics;
      const Scene scene = read_yaml(write("mutant.yaml", text), &diagnostics);
      if (!diagnostics.ok()) continue;
      for (const Body& b : scene.bodies) {
        ASSERT_TRUE(b.pose.position.allFinite());
        ASSERT_NEAR(b.pose.quat_wxyz.norm(), 1, 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace capstan::yaml_test
