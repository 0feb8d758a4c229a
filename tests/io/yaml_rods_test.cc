// `rods:` of YAML scenes: where nodes are, what may be said of them, models that have rods, mistakes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "capstan/io/read.h"
#include "capstan/io/write_yaml.h"
#include "capstan/model/add_rod.h"
#include "capstan/model/model.h"
#include "capstan/scene/compose.h"
#include "capstan/scene/rod.h"
#include "capstan/state/state.h"

namespace capstan::yaml_rods_test {
namespace {

constexpr double kPi = std::numbers::pi;
const std::string kRest = ", diameter: 0.01, young_modulus: 1e6, density: 1000";

Scene read(const std::string& text) {
  Diagnostics diagnostics;
  Scene scene = read_yaml_text("capstan: 1\n" + text, {}, &diagnostics);
  EXPECT_EQ(diagnostics.text(), "") << text;
  return scene;
}

RodSpec read_rod(const std::string& keys) {
  const Scene scene = read("rods:\n  - {name: r, " + keys + kRest + "}\n");
  EXPECT_EQ(scene.rods.size(), 1u);
  return scene.rods.empty() ? RodSpec{} : scene.rods[0];
}

TEST(YamlRods, NodesOfEveryKindOfPath) {
  const RodSpec line = read_rod("line: {from: [0, 0, 1], to: [2, 0, 1]}, edges: 4");
  ASSERT_EQ(line.nodes.size(), 5u);
  EXPECT_FALSE(line.closed);
  EXPECT_LT((line.nodes[3] - Vec3(1.5, 0, 1)).norm(), 1e-15);

  const RodSpec circle = read_rod("circle: {radius: 2}, edges: 6");
  ASSERT_EQ(circle.nodes.size(), 6u);
  EXPECT_TRUE(circle.closed);
  EXPECT_LT((circle.nodes[1] - Vec3(1, std::sqrt(3), 0)).norm(), 1e-15);

  const RodSpec arc = read_rod("arc: {radius: 1, angle_deg: 90}, edges: 9, position: [5, 0, 0]");
  ASSERT_EQ(arc.nodes.size(), 10u);
  EXPECT_LT((arc.nodes[0] - Vec3(6, 0, 0)).norm(), 1e-15);
  EXPECT_LT((arc.nodes[9] - Vec3(5, 1, 0)).norm(), 1e-15);

  // Its axis, z, is turned to -y.
  const RodSpec helix = read_rod("helix: {radius: 1, pitch: 0.5, turns: 3}, edges: 12, rpy_deg: [90, 0, 0]");
  ASSERT_EQ(helix.nodes.size(), 13u);
  EXPECT_LT((helix.nodes[4] - Vec3(1, -0.5, 0)).norm(), 1e-14);
  EXPECT_LT((helix.nodes[1] - Vec3(0, -0.125, 1)).norm(), 1e-14);
}

TEST(YamlRods, PointsAreNodesOrALineToDivide) {
  const RodSpec points = read_rod("points: [[0, 0, 0], [1, 0, 0], [1, 3, 0]]");
  EXPECT_EQ(points.nodes.size(), 3u);
  const RodSpec divided = read_rod("points: [[0, 0, 0], [1, 0, 0], [1, 3, 0]], edges: 8");
  ASSERT_EQ(divided.nodes.size(), 9u);
  EXPECT_LT((divided.nodes[1] - Vec3(0.5, 0, 0)).norm(), 1e-15);
  EXPECT_LT((divided.nodes[4] - Vec3(1, 1, 0)).norm(), 1e-15);
  EXPECT_LT((divided.nodes[8] - Vec3(1, 3, 0)).norm(), 1e-15);
  const RodSpec ring =
      read_rod("points: [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], closed: true, edges: 8");
  ASSERT_EQ(ring.nodes.size(), 8u);
  EXPECT_LT((ring.nodes[7] - Vec3(0, 0.5, 0)).norm(), 1e-15);
}

TEST(YamlRods, CornersAreRounded) {
  // Half around a peg: 2 m down on both sides of an arc of 1 m.
  const RodSpec rope =
      read_rod("points: [[-1, 0, -2], [-1, 0, 1], [1, 0, 1], [1, 0, -2]], rounding: 1, edges: 100");
  ASSERT_EQ(rope.nodes.size(), 101u);
  EXPECT_LT((rope.nodes[50] - Vec3(0, 0, 1)).norm(), 1e-9);
  double length = 0;
  for (int i = 0; i < 100; ++i) length += (rope.nodes[i + 1] - rope.nodes[i]).norm();
  EXPECT_NEAR(length, 4 + kPi, 1e-3);
  for (const Vec3& node : rope.nodes) {
    if (node.z() > 0) {
      EXPECT_NEAR(node.norm(), 1, 1e-5);
    }
  }
  // A belt about two pulleys of 1 m, 4 m apart.
  const RodSpec belt = read_rod(
      "points: [[-3, -1, 0], [3, -1, 0], [3, 1, 0], [-3, 1, 0]], rounding: 1, closed: true, edges: 400");
  length = 0;
  for (int i = 0; i < 400; ++i) length += (belt.nodes[(i + 1) % 400] - belt.nodes[i]).norm();
  EXPECT_NEAR(length, 8 + 2 * kPi, 1e-3);
  for (const Vec3& node : belt.nodes) {
    if (std::abs(node.x()) > 2.01) {
      EXPECT_NEAR((node - Vec3(node.x() > 0 ? 2 : -2, 0, 0)).norm(), 1, 1e-5);
    }
  }
}

TEST(YamlRods, PointsFromAFile) {
  const std::string folder = ::testing::TempDir() + "/yaml_rods";
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name) << text;
  };
  write("points.csv", "x [m], y [m], z [m]\n# a comment\n0, 0, 0\n\n0.1 0 0\n0.2,0,0.05\n");
  write("scene.yaml", "capstan: 1\nrods:\n  - {name: r, file: points.csv" + kRest + "}\n");
  const Scene scene = read_scene(folder + "/scene.yaml");
  ASSERT_EQ(scene.rods[0].nodes.size(), 3u);
  EXPECT_EQ(scene.rods[0].nodes[2], Vec3(0.2, 0, 0.05));
  write("points.csv", "0, 0, 0\n0.1, 0\n");
  Diagnostics diagnostics;
  read_scene(folder + "/scene.yaml", &diagnostics);
  EXPECT_NE(diagnostics.text().find("points.csv:2: error: '0.1, 0' is not a point; write x, y, z [m]"),
            std::string::npos)
      << diagnostics.text();
}

TEST(YamlRods, WhatElseMayBeSaid) {
  const RodSpec rod = read(
                          "rods:\n"
                          R"(
  - {name: belt, line: {from: [0, 0, 0], to: [1, 0, 0]}, edges: 4, director: [0, 0, 1],
     section: {type: rectangle, width: 0.01, height: 0.002, torsion: polar}, young_modulus: 1e9, density: 900,
     poisson_ratio: 0.3, damping: {alpha: 1, beta: 2}, rest: {curvature: [0.5, 1], twist: 2}, stretch: 0.25,
     angles: [0, 0.1, 0.2, 0.3], fixed_nodes: [first, 2, last], clamped_edges: [first], fixed_angles: [last],
     velocity: [1, 2, 3], material: default, contact: patch, group_bits: 2, mask_bits: 3, margin: 0.001, color: [1, 0, 0],
     attach: [{node: last, body: world, point: [1, 0, 0], stiffness: 100},
              {edge: 1, body: world, pose: {position: [0, 0, 1], rpy_deg: [0, 90, 0]}}]}
)")
                          .rods[0];
  EXPECT_EQ(rod.section.type, RodSectionType::rectangle);
  EXPECT_EQ(rod.section.torsion, TorsionConstant::polar);
  EXPECT_EQ(rod.rest, RodRest::given);
  ASSERT_EQ(rod.natural.size(), 3u);
  EXPECT_EQ(rod.natural[2], Vec3(0.5, 1, 2));
  ASSERT_EQ(rod.rest_length.size(), 4u);
  EXPECT_DOUBLE_EQ(rod.rest_length[1], 0.2);
  EXPECT_EQ(rod.pinned_nodes, (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(rod.held_angles, std::vector<int>{3});
  ASSERT_EQ(rod.attachments.size(), 2u);
  EXPECT_EQ(rod.attachments[0].node, 4);
  EXPECT_EQ(rod.attachments[0].stiffness, 100);
  EXPECT_EQ(rod.attachments[1].edge, 1);
}

void expect_same(const RodSpec& a, const RodSpec& b) {
#define SAME(field) EXPECT_EQ(a.field, b.field)
  SAME(name);
  SAME(body);
  SAME(nodes);
  SAME(closed);
  SAME(director);
  SAME(angles);
  SAME(section.type);
  SAME(section.width);
  SAME(section.height);
  SAME(section.torsion);
  SAME(young_modulus);
  SAME(poisson_ratio);
  SAME(shear_modulus);
  SAME(density);
  SAME(alpha);
  SAME(beta);
  SAME(rest_length);
  SAME(rest);
  SAME(natural);
  SAME(pinned_nodes);
  SAME(held_angles);
  SAME(clamped_edges);
  SAME(velocity);
  SAME(material);
  SAME(collides);
  SAME(group_bits);
  SAME(mask_bits);
  SAME(margin);
  SAME(contact);
  SAME(rgba);
  ASSERT_EQ(a.attachments.size(), b.attachments.size());
  for (std::size_t i = 0; i < a.attachments.size(); ++i) {
    SAME(attachments[i].node);
    SAME(attachments[i].edge);
    SAME(attachments[i].body);
    SAME(attachments[i].stiffness);
    SAME(attachments[i].relaxation_time);
    ASSERT_EQ(a.attachments[i].pose.has_value(), b.attachments[i].pose.has_value());
    if (!a.attachments[i].pose) continue;
    SAME(attachments[i].pose->position);
    SAME(attachments[i].pose->quat_wxyz);
  }
#undef SAME
}

const char* const kScene = R"(
materials: [{name: nylon, friction: 0.2}]
bodies:
  - {name: hand, position: [0, 0, 1], joint: {type: revolute, axis: [0, 1, 0]},
     inertia: {mass: 1, moments: [0.1, 0.1, 0.1]}}
rods:
  - {name: cable, body: hand, helix: {radius: 0.05, pitch: 0.02, turns: 2}, edges: 20, diameter: 0.003,
     young_modulus: 1e8, density: 1200, damping: {beta: 0.01}, rest: straight, material: nylon,
     attach: [{edge: first, body: hand}, {node: 3, body: hand, point: [0.1, 0.2, 0.3], relaxation_time: 0.1}],
     color: [0.1, 0.2, 0.3], velocity: [0.1, 0, 0]}
  - {name: ring, circle: {radius: 0.03}, edges: 12, section: {type: ellipse, width: 0.004, height: 0.002},
     young_modulus: 1e9, shear_modulus: 2e8, density: 7000, rest: {curvature: [1, 2]}, stretch: 0.1, fixed_nodes: [first],
     clamped_edges: [4], fixed_angles: [last], collides: false, director: [0, 0, 1]}
)";

TEST(YamlRods, WrittenAndReadTheyAreTheSame) {
  Scene scene = read(kScene);
  scene.rods[0].angles.assign(20, 0.125);
  Diagnostics diagnostics;
  const Scene again = read_yaml_text(write_yaml(scene), {}, &diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  ASSERT_EQ(again.rods.size(), 2u);
  for (int i : {0, 1}) expect_same(again.rods[i], scene.rods[i]);
  EXPECT_EQ(compile(again).fingerprint, compile(scene).fingerprint);
}

TEST(YamlRods, TheFingerprintKnowsWhatTheMotionDependsOn) {
  const Scene scene = read(kScene);
  const std::uint64_t fingerprint = compile(scene).fingerprint;
  const auto differs = [&](auto&& change) {
    Scene changed = scene;
    change(changed.rods[1]);
    return compile(changed).fingerprint != fingerprint;
  };
  EXPECT_FALSE(differs([](RodSpec& rod) { rod.rgba[0] = 0; }));
  EXPECT_TRUE(differs([](RodSpec& rod) { rod.young_modulus *= 1.01; }));
  EXPECT_TRUE(differs([](RodSpec& rod) { rod.shear_modulus = 1e8; }));
  EXPECT_TRUE(differs([](RodSpec& rod) {
    rod.shear_modulus = 0;
    rod.poisson_ratio = 0.4;
  }));
  EXPECT_TRUE(differs([](RodSpec& rod) { rod.density *= 1.01; }));
  EXPECT_TRUE(differs([](RodSpec& rod) { rod.beta = 0.1; }));
  EXPECT_TRUE(differs([](RodSpec& rod) { rod.rest_length[3] *= 1.01; }));
  EXPECT_TRUE(differs([](RodSpec& rod) { rod.natural[3][0] += 0.1; }));
  EXPECT_TRUE(differs([](RodSpec& rod) { rod.section.torsion = TorsionConstant::polar; }));
  EXPECT_TRUE(differs([](RodSpec& rod) { rod.pinned_nodes = {1}; }));
}

// In the frame of its body; attached to it where it starts.
TEST(YamlRods, ABodyPlacesItsRod) {
  const Model model = compile(read(kScene));
  const State state = initial_state(model);
  const std::vector<int> rods = find_rods(model);
  ASSERT_EQ(rods.size(), 2u);
  EXPECT_EQ(rod_name(model, rods[0]), "cable");
  const auto q = state.q.segment(model.objects[rods[0]].q_begin, model.objects[rods[0]].num_positions());
  EXPECT_LT((Rod::node(q, 0) - Vec3(0.05, 0, 1)).norm(), 1e-15);
  EXPECT_EQ(state.v.segment<3>(model.objects[rods[0]].dof_begin), Vec3(0.1, 0, 0));
  ASSERT_EQ(model.constraints.size(), 2u);
  EXPECT_EQ(model.constraints[0].type, ConstraintType::weld);
  EXPECT_LT((model.constraints[0].X_A->p - 0.5 * (Rod::node(q, 0) + Rod::node(q, 1)) + Vec3(0, 0, 1)).norm(),
            1e-15);
  EXPECT_EQ(model.constraints[1].type, ConstraintType::ball);
  EXPECT_EQ(model.constraints[1].X_A->p, Vec3(0.1, 0.2, 0.3));
}

// A model with rods, placed and renamed: on the world, and on a body, to which what it fixes is attached.
TEST(YamlRods, ModelsBringTheirRods) {
  const Scene model = read(kScene);
  Instance instance;
  instance.name = "left";
  instance.pose.position = {1, 2, 3};
  instance.pose.quat_wxyz = Vec4(std::sqrt(0.5), 0, 0, std::sqrt(0.5));  // x to y
  const Scene placed = instantiate(model, instance);
  ASSERT_EQ(placed.rods.size(), 2u);
  EXPECT_EQ(placed.rods[0].name, "left/cable");
  EXPECT_EQ(placed.rods[0].material, "left/nylon");
  EXPECT_EQ(placed.rods[0].body, "left/hand");
  EXPECT_EQ(placed.rods[0].nodes, model.rods[0].nodes);  // in the frame of the hand
  EXPECT_EQ(placed.rods[0].attachments[1].body, "left/hand");
  EXPECT_LT((placed.rods[1].nodes[0] - Vec3(1, 2.03, 3)).norm(), 1e-15);
  EXPECT_EQ(placed.rods[1].pinned_nodes, std::vector<int>{0});
  compile(placed);

  Scene around = read(
      "bodies: [{name: table, position: [0, 0, 5], joint: free, "
      "inertia: {mass: 1, moments: [1, 1, 1]}}]");
  instance.parent = "table";
  append(&around, model, instance);
  const RodSpec& ring = around.rods[1];
  EXPECT_EQ(ring.body, "table");
  EXPECT_TRUE(ring.pinned_nodes.empty() && ring.clamped_edges.empty());
  ASSERT_EQ(ring.attachments.size(), 2u);
  EXPECT_EQ(ring.attachments[0].node, 0);
  EXPECT_EQ(ring.attachments[0].edge, -1);
  EXPECT_EQ(ring.attachments[1].node, -1);
  EXPECT_EQ(ring.attachments[1].edge, 4);
  const Model compiled = compile(around);
  const Object& object = compiled.objects[find_rods(compiled)[1]];
  EXPECT_LT((compiled.initial.q.segment<3>(object.q_begin) - Vec3(1, 2.03, 8)).norm(), 1e-14);
}

// A rod's name in excludes is all of its edges; edges at an attachment do not touch the body.
TEST(YamlRods, ExcludedFromABody) {
  const std::string bodies =
      "bodies: [{name: bob, joint: free, shape: {type: sphere, radius: 0.1, mass: 1}}]\n"
      "rods:\n  - {name: r, line: {from: [0, 0, 1], to: [0, 0, 0]}, edges: 5" +
      kRest;
  const Model all = compile(read(bodies + "}\nexcludes: [[r, bob]]\n"));
  EXPECT_EQ(all.excluded_bodies.size(), 5u);
  const Model node = compile(read(bodies + ", attach: [{node: 2, body: bob}]}\n"));
  EXPECT_EQ(node.excluded_bodies.size(), 2u);
  const Model edge = compile(read(bodies + ", attach: [{edge: last, body: bob}]}\n"));
  EXPECT_EQ(edge.excluded_bodies.size(), 2u);
}

struct Mistake {
  std::string keys;      // in line 4
  const char* fragment;  // of the message
};

TEST(YamlRods, MistakesAreToldWithLineAndRemedy) {
  const std::string line = "line: {from: [0, 0, 0], to: [1, 0, 0]}",
                    stuff = ", young_modulus: 1e6, density: 1000";
  const Mistake mistakes[] = {
      {line + ", edges: 4, diameter: 0" + stuff, "diameter of rod 'r' is 0; write a number above 0"},
      {line + ", edges: 4, section: {type: rectangle, width: 0.1, height: -1}" + stuff,
       "height of section of rod 'r' is -1; write a number above 0"},
      {line + ", edges: 4, section: {type: rectangle, width: 0.1}" + stuff,
       "section of rod 'r' has no height"},
      {line + ", edges: 4" + stuff, "rod 'r' has no section; write 'diameter: ...' [m]"},
      {"points: [[0, 0, 0], [1, 0, 0], [1, 0, 0]]" + kRest,
       "rod 'r': nodes 1 and 2 of the rod are both at (1, 0, 0); leave one of them out"},
      {line + ", edges: 4, diameter: 0.1, young_modulus: -1, density: 1000",
       "young_modulus of rod 'r' is -1; write a number above 0"},
      {line + ", edges: 4, diameter: 0.1, density: 1",
       "rod 'r' has no young_modulus; write 'young_modulus: ...'"},
      {line + ", edges: 1000000" + kRest,
       "edges of rod 'r' is '1000000'; write a whole number from 1 to 100000"},
      {line + kRest, "rod 'r' does not say how many edges it has; write 'edges: ...'"},
      {"points: [[0, 0, 0], [1, 0, 0]], closed: true" + kRest,
       "rod 'r': the closed rod has 2 nodes; give it at least 3"},
      {"points: [[0, 0, 0]]" + kRest, "rod 'r': the open rod has 1 nodes; give it at least 2"},
      {"circle: {radius: 1}, edges: 2" + kRest, "rod 'r': the closed rod has 2 nodes; give it at least 3"},
      {"diameter: 0.01" + stuff, "rod 'r' has no nodes; write 'points: [[x, y, z], ...]'"},
      {line + ", points: [[0, 0, 0], [1, 0, 0]], edges: 4" + kRest,
       "rod 'r' has points and line; write only"},
      {"points: [[0, 0, 0], [1, 0, 0], [1, 1, 0]], edges: 9, rounding: 1.5" + kRest,
       "rounding of rod 'r' is 1.5 m: the arcs at points 0 and 1 need 1.5 m, which are 1 m apart"},
      {"arc: {radius: 1}, edges: 4" + kRest, "arc of rod 'r' has no angle"},
      {line + ", edges: 4, attach: [{node: last}]" + kRest,
       "an attachment of rod 'r' is to nothing; write 'body:"},
      {line + ", edges: 4, attach: [{node: last, body: bob}]" + kRest,
       "the body of an attachment of rod 'r' is body 'bob', which does not exist"},
      {line + ", edges: 4, attach: [{node: 5, body: world}]" + kRest,
       "node of an attachment of rod 'r' is '5'; write first, last, or a whole number from 0 to 4"},
      {line + ", edges: 4, attach: [{body: world}]" + kRest,
       "is of neither a node nor an edge; write 'node: last'"},
      {line + ", edges: 4, fixed_nodes: [end]" + kRest,
       "an item of fixed_nodes of rod 'r' is 'end'; write first"},
      {line + ", edges: 4, material: silk" + kRest,
       "the material of rod 'r' is material 'silk', which does not"},
      {line + ", edges: 4, poisson_ratio: 0.7" + kRest, "rod 'r': the rod's Poisson ratio is 0.7"},
      {line + ", edges: 4, shear_modulus: -1" + kRest, "rod 'r': the rod's shear modulus is -1"},
      {line + ", edges: 4, rest: {joints: [[0, 0, 0]]}" + kRest,
       "rod 'r': the rod has natural curvature at 1 joints, not 3"},
      {line + ", edges: 4, stretch: -2" + kRest,
       "stretch of rod 'r' is -2; write a part of the length above -1"},
      {line + ", edges: 4, dampin: {beta: 1}" + kRest,
       "rod 'r' has the unknown key 'dampin'; did you mean 'damping'?"},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string text = "capstan: 1\n\nrods:\n  - {name: r, " + mistake.keys + "}\n";
    Diagnostics diagnostics;
    diagnostics.strict = true;
    const Scene scene = read_yaml_text(text, {}, &diagnostics);
    if (diagnostics.ok()) compile(scene, &diagnostics);
    ASSERT_FALSE(diagnostics.ok()) << text;
    EXPECT_NE(diagnostics.text().find(mistake.fragment), std::string::npos) << text << diagnostics.text();
    for (const Diagnostic& d : diagnostics.list) {
      EXPECT_EQ(d.where.line, 4) << text << diagnostics.text();
      EXPECT_NE(d.remedy, "") << text;
    }
  }
}

TEST(YamlRods, NamesAreUnique) {
  const std::string rod = ", line: {from: [0, 0, 0], to: [1, 0, 0]}, edges: 3" + kRest + "}\n";
  Diagnostics diagnostics;
  compile(read("rods:\n  - {name: r" + rod + "  - {name: r" + rod), &diagnostics);
  EXPECT_NE(diagnostics.text().find("rod 'r' is defined twice"), std::string::npos) << diagnostics.text();
  Diagnostics other;
  compile(read("bodies: [{name: r/0}]\nrods:\n  - {name: r" + rod), &other);
  EXPECT_NE(other.text().find("rod 'r' has the edge 'r/0', which is the name of a body"), std::string::npos)
      << other.text();
}

// Built in code, where no reader bounds them: told before memory runs out.
TEST(YamlRods, AMillionNodesAreTooMany) {
  Scene scene;
  RodSpec rod;
  rod.name = "long";
  for (int i = 0; i < 1'000'000; ++i) rod.nodes.push_back({0.01 * i, 0, 0});
  rod.section.width = 0.01;
  rod.young_modulus = 1e6;
  rod.density = 1000;
  scene.rods.push_back(rod);
  Diagnostics diagnostics;
  compile(scene, &diagnostics);
  EXPECT_NE(diagnostics.text().find("rod 'long' has 1000000 nodes"), std::string::npos) << diagnostics.text();
}

}  // namespace
}  // namespace capstan::yaml_rods_test
