// MJCF as people have it: what MuJoCo takes and a strict reader would refuse. Numbers are MuJoCo 4.0's, or
// arithmetic.
#include "capstan/model/model.h"
#include "tests/io/mjcf_helpers.h"

namespace capstan::mjcf_wild_test {
namespace {

// A U of 3 x 2 x 1 m with a notch of 1 x 1 m: the walls of the notch are seen from the wrong side.
const std::string kNotched =
    "vertex='0 0 0 3 0 0 3 2 0 2 2 0 2 1 0 1 1 0 1 2 0 0 2 0 0 0 1 3 0 1 3 2 1 2 2 1 2 1 1 1 1 1 1 2 1 0 2 "
    "1' "
    "face='0 4 1 0 5 4 1 3 2 1 4 3 0 6 5 0 7 6 8 9 12 8 12 13 9 10 11 9 11 12 8 13 14 8 14 15 0 1 9 0 9 8 1 "
    "2 10 1 10 "
    "9 2 3 11 2 11 10 3 4 12 3 12 11 4 5 13 4 13 12 5 6 14 5 14 13 6 7 15 6 15 14 7 0 8 7 8 15'";

// Looked for beside the main file, then beside the file that names them.
TEST_F(Mjcf, IncludesAndMeshesOfIncludedFiles) {
  folder.write(
      "parts/inc.xml",
      "<mujoco><include file='deep/more.xml'/><asset><mesh name='t' file='tet.obj'/></asset></mujoco>");
  folder.write("parts/deep/more.xml", "<mujoco><worldbody><geom name='g' size='1'/></worldbody></mujoco>");
  folder.write("parts/tet.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
  const Scene scene =
      read("<include file='parts/inc.xml'/><worldbody><geom type='mesh' mesh='t'/></worldbody>");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(scene.shapes.size(), 2u);
}

TEST_F(Mjcf, MeshesWeighWhatMujocoSays) {
  struct Rule {
    const char* name;
    double mass;
    Vec3 com, moments;
  };
  for (const Rule& rule :
       {Rule{"legacy",
             170 / 3.0,
             {1.5, 0.9545454545454547, 0.5},
             {22.338842975206795, 149 / 3.0, 63.00550964187379}},
        Rule{
            "shell", 220, {1.5, 0.9545454545454546, 0.5}, {137.87878787878796, 790 / 3.0, 331.2121212121212}},
        Rule{"convex", 60, {1.5, 1, 0.5}, {25, 50, 65}}}) {
    SCOPED_TRACE(rule.name);
    const Scene scene = read(std::string("<asset><mesh name='m' inertia='") + rule.name + "' " + kNotched +
                             "/></asset><worldbody><body name='b'><freejoint/><geom type='mesh' mesh='m' "
                             "density='10'/></body></worldbody>");
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
    ASSERT_TRUE(scene.bodies.at(0).inertia);
    const Inertia& inertia = *scene.bodies[0].inertia;
    EXPECT_NEAR(inertia.mass, rule.mass, 1e-12 * rule.mass);
    expect_near(inertia.com, rule.com, 1e-12);
    EXPECT_LT((inertia.about_com - Mat3(rule.moments.asDiagonal())).cwiseAbs().maxCoeff(), 1e-10);
    EXPECT_EQ(diagnostics.num_warnings(), std::string(rule.name) == "legacy") << diagnostics.text();
  }
  // The default is legacy, which is told; exact leaves it to the volume.
  read("<asset><mesh name='m' " + kNotched +
       "/></asset><worldbody><body><freejoint/><geom type='mesh' "
       "mesh='m'/></body></worldbody>");
  EXPECT_TRUE(says(diagnostics, "'m' weighs 1.13 times as much")) << diagnostics.text();
  const Scene exact = read_clean("<asset><mesh name='m' inertia='exact' " + kNotched +
                                 "/></asset><worldbody><body><freejoint/><geom type='mesh' "
                                 "mesh='m'/></body></worldbody>");
  EXPECT_FALSE(exact.bodies.at(0).inertia);
  EXPECT_NEAR(compile(exact).bodies.at(1).mass, 5000, 1e-9);
}

TEST_F(Mjcf, MeshesOfVerticesAreTheirHull) {
  const std::string cube = "-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 1 -1 1 1 1 1 1";
  const std::string body = "<worldbody><body><freejoint/><geom type='mesh' mesh='c'/></body></worldbody>";
  const Scene scene = read_clean("<asset><mesh name='c' vertex='" + cube + "'/></asset>" + body);
  EXPECT_NEAR(compile(scene).bodies.at(1).mass, 8000, 1e-8);
  folder.write("c.obj",
               "v -1 -1 -1\nv 1 -1 -1\nv -1 1 -1\nv 1 1 -1\nv -1 -1 1\nv 1 -1 1\nv -1 1 1\nv 1 1 1\n");
  const Scene file = read_clean("<asset><mesh file='c.obj'/></asset>" + body);
  EXPECT_NEAR(compile(file).bodies.at(1).mass, 8000, 1e-8);
  read("<asset><mesh name='c' vertex='0 0 0 1 0 0 0 1 0 1 1 0'/></asset>" + body);
  EXPECT_TRUE(says(diagnostics, "its vertices no hull")) << diagnostics.text();
}

TEST_F(Mjcf, WhatExportersLeaveBehindIsToldAndTaken) {
  const Scene scene = read(
      "<default><joint limited='true'/></default><worldbody>"
      "<body name='a'><joint name='free' type='free'/><geom size='.1' rgba=''/>"
      "<body name='e'><inertial pos='0 0 0' mass='0' diaginertia='1 1 1'/><geom size='.1'/></body></body>"
      "</worldbody><keyframe><key name='k' qpos='1 2 3 0 0 0 0'/></keyframe>");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_TRUE(says(diagnostics, "<geom> rgba=\"\" is empty; it is taken as not written"));
  EXPECT_TRUE(says(diagnostics, "key 'k' has a zero quaternion for joint 'free'; 1 0 0 0 is taken"));
  EXPECT_TRUE(says(diagnostics, "free joint 'free' is said to be limited"));
  EXPECT_TRUE(says(diagnostics, "body 'e' has mass 0 and moments of inertia up to 1 kg m^2"));
  EXPECT_EQ(diagnostics.num_warnings(), 4) << diagnostics.text();
  EXPECT_EQ(scene.keyframes.at(0).q.at("free"), (std::vector<double>{1, 2, 3, 1, 0, 0, 0}));
  const Model model = compile(scene);
  EXPECT_EQ(model.bodies.at(model.find_body("e")).mass, 0);
}

TEST_F(Mjcf, SettingsOfAnotherSolverAreOneLine) {
  read("<option solver='CG' cone='elliptic' impratio='10' iterations='5'/>");
  EXPECT_EQ(diagnostics.num_warnings(), 1) << diagnostics.text();
  EXPECT_TRUE(says(diagnostics, "<option> impratio, cone, solver, iterations: no effect"))
      << diagnostics.text();
}

TEST_F(Mjcf, DampingFromItsRatio) {
  const Scene scene = read(
      "<worldbody><body name='a'><joint name='h' axis='0 1 0' armature='.1'/><geom type='capsule' "
      "fromto='0 0 0 .5 0 0' size='.03' mass='1'/><body name='b' pos='.5 0 0'><joint name='k' axis='0 1 0'/>"
      "<geom type='capsule' fromto='0 0 0 .3 0 0' size='.02' mass='.4'/></body></body></worldbody>"
      "<tendon><fixed name='t'><joint joint='h' coef='2'/><joint joint='k' coef='-1'/></fixed></tendon>"
      "<actuator><position joint='h' kp='40' dampratio='1'/><position joint='k' kp='10' dampratio='.7' "
      "gear='3'/>"
      "<position tendon='t' kp='5' dampratio='.5'/>"
      "<general joint='k' gainprm='8' biastype='affine' biasprm='0 -8 1.5'/></actuator>");
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  const double expected[] = {5.8743163461035905, 0.12829900659926063, 0.1530205025390157, 0.7377050576613623};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(scene.actuators.at(i).bias[2], -expected[i], 1e-9) << i;
  read(
      "<worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody><actuator><position joint='j' "
      "kv='1' "
      "dampratio='1'/></actuator>");
  EXPECT_TRUE(says(diagnostics, "<position> has both kv and dampratio")) << diagnostics.text();
}

TEST_F(Mjcf, AttachedModels) {
  folder.write("hand.xml", R"(<mujoco><compiler angle="radian"/><default><geom density="500"/></default>
    <worldbody><geom name="table" size="1"/><body name="palm" pos="0 0 1"><geom name="g" size=".1" friction=".3"/>
      <site name="tip" pos="0 0 .1"/>
      <body name="finger" pos="0 .1 0"><joint name="f" range="0 1"/><geom size=".1"/></body></body>
      <body name="other"><joint name="o"/><geom size=".1"/></body></worldbody>
    <actuator><motor name="mf" joint="f"/><motor name="mo" joint="o"/></actuator>
    <sensor><gyro name="gyro" site="tip"/><jointpos name="po" joint="o"/></sensor>
    <equality><joint joint1="f" joint2="o"/></equality></mujoco>)");
  const Scene scene = read_clean(R"(<asset><model name="hand" file="hand.xml"/></asset><worldbody>
    <body name="arm" pos="1 0 0"><joint name="j"/><geom size=".1"/>
      <frame pos="0 0 2" euler="0 0 90"><attach model="hand" body="palm" prefix="left_"/></frame></body></worldbody>
    <actuator><position name="own" joint="left_f" kp="3"/></actuator>
    <keyframe><key name="k" ctrl="1 2"/></keyframe>)");
  ASSERT_EQ(scene.bodies.size(), 3u);
  const Body& palm = scene.bodies[1];
  EXPECT_EQ(palm.name, "left_palm");
  EXPECT_EQ(palm.parent, "arm");
  expect_near(palm.pose.position, Vec3(0, 0, 3));
  expect_same_turn(palm.pose.quat_wxyz, Vec4(1, 0, 0, 1).normalized());
  EXPECT_EQ(scene.bodies[2].parent, "left_palm");
  EXPECT_EQ(scene.bodies[2].joints.at(0).name, "left_f");
  EXPECT_EQ(scene.bodies[2].joints[0].limits.at(0).upper, 1);  // radians, as its own file says
  ASSERT_EQ(scene.actuators.size(), 2u);                       // that of joint 'o' stays behind
  // What is of the file comes first, as MuJoCo has it.
  EXPECT_EQ(scene.actuators[0].name, "own");
  EXPECT_EQ(scene.actuators[1].name, "left_mf");
  EXPECT_EQ(scene.keyframes.at(0).control.at("own"), 1);
  EXPECT_EQ(scene.keyframes.at(0).control.at("left_mf"), 2);
  ASSERT_EQ(scene.sensors.size(), 1u);
  EXPECT_EQ(scene.sensors[0].site, "left_tip");
  EXPECT_TRUE(scene.constraints.empty());
  EXPECT_EQ(find_named(scene.shapes, "table"), nullptr);
  EXPECT_EQ(find_named(scene.shapes, "left_g")->density, 500);
  compile(scene);

  // Twice without a prefix is twice the same name; a whole model; a model that attaches itself.
  const std::string asset = "<asset><model name='hand' file='hand.xml'/></asset>";
  read(asset + "<worldbody><attach model='hand' body='palm'/><attach model='hand' body='palm'/></worldbody>");
  EXPECT_TRUE(says(diagnostics, "has the name 'palm', which exists; write another prefix"))
      << diagnostics.text();
  const Scene whole = read_clean(
      asset + "<worldbody><frame pos='5 0 0'><attach model='hand' prefix='w_'/></frame></worldbody>");
  EXPECT_EQ(whole.bodies.size(), 3u);
  expect_near(find_named(whole.shapes, "w_table")->pose.position, Vec3(5, 0, 0));
  EXPECT_EQ(whole.constraints.size(), 1u);
  read(asset + "<worldbody><attach model='foot'/></worldbody>");
  EXPECT_TRUE(says(diagnostics, "model 'foot' does not exist")) << diagnostics.text();
  read(
      "<asset><model name='self' file='scene.xml'/></asset><worldbody><body><geom size='1'/><attach "
      "model='self' "
      "prefix='s'/></body></worldbody>");
  EXPECT_TRUE(says(diagnostics, "more than 16 deep")) << diagnostics.text();
}

// A floor that is paired with eighty geoms needs one bit; forty pairs of their own need forty of the 53 there
// are, and find too few where a geom has 31 already.
TEST_F(Mjcf, ManyPairs) {
  std::string geoms = "<geom name='floor' type='plane' size='1 1 1' contype='0' conaffinity='0'/>", to_floor,
              apart;
  for (int i = 0; i < 80; ++i) {
    geoms += "<body pos='0 0 " + std::to_string(i) + "'><freejoint/><geom name='g" + std::to_string(i) +
             "' size='.1' contype='0' conaffinity='0'/></body>";
    to_floor += "<pair geom1='g" + std::to_string(i) + "' geom2='floor'/>";
    if (i % 2) apart += "<pair geom1='g" + std::to_string(i) + "' geom2='g" + std::to_string(i - 1) + "'/>";
  }
  const Scene scene = read_clean("<worldbody>" + geoms + "</worldbody><contact>" + to_floor + "</contact>");
  const ShapeInstance& floor = *find_named(scene.shapes, "floor");
  const auto meet = [](const ShapeInstance& a, const ShapeInstance& b) {
    return ((a.group_bits & b.mask_bits) | (b.group_bits & a.mask_bits)) != 0;
  };
  for (int i = 0; i < 80; ++i) {
    const ShapeInstance& g = *find_named(scene.shapes, "g" + std::to_string(i));
    EXPECT_TRUE(g.collides && meet(floor, g));
    EXPECT_FALSE(meet(g, *find_named(scene.shapes, "g" + std::to_string((i + 1) % 80))));
  }
  const Scene pairs = read_clean("<worldbody>" + geoms + "</worldbody><contact>" + apart + "</contact>");
  for (int i = 1; i < 80; i += 2)
    EXPECT_TRUE(meet(*find_named(pairs.shapes, "g" + std::to_string(i)),
                     *find_named(pairs.shapes, "g" + std::to_string(i - 1))));
  const std::string taken = "<geom name='all' size='.1' contype='2147483647' conaffinity='0'/>";
  read("<worldbody>" + taken + geoms + "</worldbody><contact>" + apart + "</contact>");
  EXPECT_FALSE(diagnostics.ok());
  EXPECT_TRUE(says(diagnostics, "needs a collision bit of its own, and all 53 are taken"))
      << diagnostics.text();
}

TEST_F(Mjcf, SensorsThatAreUnderstood) {
  const Scene scene = read(
      R"(<worldbody><body name="b"><joint name="j"/><geom name="g" size=".1"/><site name="s"/></body></worldbody>
    <actuator><motor name="m" joint="j"/></actuator><sensor><jointpos name="p" joint="j"/><actuatorfrc actuator="m"/>
    <framepos objtype="site" objname="s"/><frameangvel objtype="xbody" objname="b"/><touch site="s"/><clock/>
    <rangefinder name="r" site="s"/><framepos objtype="geom" objname="g"/></sensor>)");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  ASSERT_EQ(scene.sensors.size(), 8u);
  EXPECT_EQ(scene.sensors[6].type, SensorType::range_finder);
  EXPECT_EQ(scene.sensors[7].shape, "g");
  EXPECT_EQ(scene.sensors[0].name, "p");
  EXPECT_EQ(scene.sensors[1].name, "actuatorfrc_1");
  EXPECT_EQ(scene.sensors[3].body, "b");
  EXPECT_TRUE(says(diagnostics, "<rangefinder> sees geoms that collide"));
  EXPECT_TRUE(says(diagnostics, "<touch> sums the contacts of the whole body"));
  EXPECT_EQ(diagnostics.num_warnings(), 2) << diagnostics.text();
}

}  // namespace
}  // namespace capstan::mjcf_wild_test
