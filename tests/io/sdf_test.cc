// The SDFormat reader: against the same arm in URDF, and with numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "capstan/step/step.h"
#include "tests/io/xml_helpers.h"

namespace capstan::sdf_test {
namespace {

struct Sdf : testing::Test {
  TemporaryFolder folder{"capstan_sdf"};
  Diagnostics diagnostics;
  Scene read(const std::string& inside, const std::string& name = "worlds/scene.sdf") {
    diagnostics = {};
    return read_sdf(folder.write(name, "<sdf version='1.9'>\n" + inside + "\n</sdf>"), &diagnostics);
  }
};

State run(const Scene& scene, double dt, int steps) {
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  StepOptions options = step_options(model);
  options.dt = dt;
  for (int i = 0; i < steps; ++i) step(model, options, {}, &state, &workspace);
  return state;
}

// In URDF a link's frame is its joint's; here links stand elsewhere, and joints are where the URDF has them.
TEST_F(Sdf, SameMotionAsTheUrdf) {
  const Scene urdf = [&] {
    Diagnostics ignored;
    return read_urdf(folder.write("arm.urdf", R"(<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 0.2" rpy="0.3 0 0"/><mass value="2"/><inertia ixx="0.03" iyy="0.02" izz="0.015" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
<link name="fore"><inertial><origin xyz="0 0.1 0.15"/><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="slider"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.1"/><axis xyz="0 1 0"/><limit lower="-2" upper="0.4" effort="80" velocity="3"/><dynamics damping="0.2" friction="0.1"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0 0 0.4" rpy="0 0 1.5707963267948966"/><axis xyz="0 1 0"/></joint>
<joint name="slide" type="prismatic"><parent link="fore"/><child link="slider"/><origin xyz="0 0 0.3"/><axis xyz="1 0 1"/><limit lower="-0.1" upper="0.2" effort="5" velocity="1"/></joint>
</robot>)"),
                     &ignored);
  }();
  const Scene scene = read(R"(<model name="arm">
  <link name="base"/>
  <joint name="bolt" type="fixed"><parent>world</parent><child>base</child></joint>
  <frame name="hip" attached_to="base"><pose>0 0 0.1 0 0 0</pose></frame>
  <link name="upper"><pose relative_to="hip">0 0 0.2 0 0 0</pose>
    <inertial><pose>0 0 0 0.3 0 0</pose><mass>2</mass><inertia><ixx>0.03</ixx><iyy>0.02</iyy><izz>0.015</izz><ixy>0.001</ixy></inertia></inertial></link>
  <joint name="shoulder" type="revolute"><pose relative_to="hip"/><parent>base</parent><child>upper</child>
    <axis><xyz>0 1 0</xyz><limit><lower>-2</lower><upper>0.4</upper><effort>80</effort></limit><dynamics><damping>0.2</damping><friction>0.1</friction></dynamics></axis></joint>
  <link name="fore"><pose degrees="true">0 0 0.5 0 0 90</pose>
    <inertial><pose>0 0.1 0.15 0 0 0</pose><mass>1</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.001</izz></inertia></inertial></link>
  <joint name="elbow" type="continuous"><parent>upper</parent><child>fore</child><axis><xyz expressed_in="__model__">-1 0 0</xyz></axis></joint>
  <link name="slider"><pose relative_to="fore">0 0 0.3 0 0 0</pose><inertial><mass>0.5</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial></link>
  <joint name="slide" type="prismatic"><parent>fore</parent><child>slider</child><axis><xyz>1 0 1</xyz><limit><lower>-0.1</lower><upper>0.2</upper><effort>5</effort></limit></axis></joint>
</model>)");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  const State ours = run(scene, 0.001, 800), theirs = run(urdf, 0.001, 800);
  ASSERT_EQ(ours.q.size(), 3);
  EXPECT_LT((ours.q - theirs.q).norm(), 1e-9) << ours.q.transpose() << " / " << theirs.q.transpose();
  EXPECT_GT(ours.q.head<2>().cwiseAbs().minCoeff(), 0.1);  // it has moved
}

// Hertz: the torque of a patch of radius a is 3 pi / 16 mu a times its load.
TEST_F(Sdf, TorsionalFriction) {
  const auto length = [&](const std::string& torsional) {
    return read(
               "<model name='m'><static>true</static><link name='l'><collision name='c'><geometry><sphere>"
               "<radius>0.1</radius></sphere></geometry><surface><friction><torsional>" +
               torsional + "</torsional></friction></surface></collision></link></model>")
        .materials.at(0)
        .torsional_friction;
  };
  EXPECT_NEAR(length("<coefficient>0.5</coefficient><patch_radius>0.02</patch_radius>"),
              3 * std::numbers::pi / 16 * 0.01, 1e-15);
  EXPECT_EQ(diagnostics.num_warnings(), 0) << diagnostics.text();
  EXPECT_EQ(length("<use_patch_radius>false</use_patch_radius><surface_radius>0.1</surface_radius>"), 0);
  EXPECT_EQ(diagnostics.num_warnings(), 1) << diagnostics.text();
}

TEST_F(Sdf, WorldOfModels) {
  folder.write("models/crate/model.sdf", R"(<sdf version="1.7"><model name="crate"><link name="box">
    <inertial><mass>3</mass><inertia><ixx>0.045</ixx><iyy>0.045</iyy><izz>0.045</izz></inertia></inertial>
    <collision name="c"><geometry><box><size>0.3 0.3 0.3</size></box></geometry>
      <surface><friction><ode><mu>0.3</mu><mu2>0.3</mu2></ode></friction></surface></collision>
    <visual name="v"><geometry><box><size>0.3 0.3 0.3</size></box></geometry><material><diffuse>1 0 0 1</diffuse></material></visual></link>
    <frame name="bottom" attached_to="box"><pose>0 0 -0.15 0 0 0</pose></frame></model></sdf>)");
  const Scene scene = read(
      R"(<world name="w"><gravity>0 0 -9.81</gravity><physics type="ode"><max_step_size>0.002</max_step_size></physics>
  <light name="sun" type="directional"/>
  <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>
  <include><uri>model://crate</uri><name>left</name><placement_frame>bottom</placement_frame><pose>-1 0 0 0 0 0</pose></include>
  <include><uri>../models/crate</uri><name>right</name><pose>1 0 1.15 0 0 0</pose></include>
  <model name="ball"><pose>0 3 0.6 0 0 0</pose><link name="b"><inertial><mass>1</mass><inertia><ixx>0.004</ixx><iyy>0.004</iyy><izz>0.004</izz></inertia></inertial>
    <collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry>
      <surface><bounce><restitution_coefficient>0.5</restitution_coefficient><threshold>0.01</threshold></bounce></surface></collision></link></model>
</world>)");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(scene.options.dt, 0.002);
  const Model model = compile(scene);
  ASSERT_EQ(model.bodies.size(), 5u);
  const State start = initial_state(model);
  const auto height = [&](const State& state, const std::string& joint) {
    return state.q[model.joints[model.find_joint(joint)].q + 2];
  };
  EXPECT_NEAR(height(start, "left/box"), 0.15, 1e-12);
  EXPECT_NEAR(height(start, "right/box"), 1.15, 1e-12);
  // The crates slide with the smaller friction of the two: 0.3 of theirs, 1 of the ground.
  State state = start;
  state.v[model.joints[model.find_joint("left/box")].v + 1] = 1.5;
  Workspace workspace = make_workspace(model);
  const double fall = std::sqrt(2 * 0.5 / 9.81);
  double top = 0;
  for (int i = 0; i < 500; ++i) {
    step(model, step_options(model), {}, &state, &workspace);
    if (state.time > 1.2 * fall && state.time < 2.5 * fall) top = std::max(top, height(state, "ball/b"));
  }
  EXPECT_NEAR(state.q[model.joints[model.find_joint("left/box")].q + 1], 1.5 * 1.5 / (2 * 0.3 * 9.81), 5e-3);
  EXPECT_NEAR(top, 0.1 + 0.25 * 0.5, 5e-3);  // e^2 of the height
  EXPECT_NEAR(height(state, "right/box"), 0.15, 1e-3);
}

TEST_F(Sdf, NestedModelsAndJointsBetweenThem) {
  const Scene scene = read(R"(<model name="outer"><pose>0 0 1 0 0 0</pose>
  <link name="base"><pose>0 0 0.5 0 0 0</pose></link>
  <joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
  <model name="inner"><pose relative_to="base">0.2 0 0 0 0 1.5707963267948966</pose>
    <link name="wheel"><pose>0.1 0 0 0 0 0</pose></link></model>
  <joint name="turn" type="revolute"><parent>base</parent><child>inner::wheel</child><axis><xyz>1 0 0</xyz></axis></joint>
</model>)");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  const Body* wheel = find_named(scene.bodies, "inner/wheel");
  ASSERT_TRUE(wheel);
  EXPECT_EQ(wheel->parent, "base");
  EXPECT_LT((wheel->pose.position - Vec3(0.2, 0.1, 0)).norm(), 1e-12);
  ASSERT_EQ(wheel->joints.size(), 1u);
  EXPECT_EQ(wheel->joints[0].type, JointType::revolute);
  EXPECT_TRUE(wheel->joints[0].limits.empty());
  EXPECT_LT((wheel->joints[0].axis - Vec3(1, 0, 0)).norm(), 1e-12);
}

// Nothing a file can hold makes the reader crash, hang or throw.
TEST_F(Sdf, SurvivesTruncationAndNoise) {
  const std::string good =
      "<sdf version='1.7'><model name='m'><pose>0 0 1 0 0 0</pose><link "
      "name='a'><inertial><mass>2</mass></inertial>"
      "<collision name='c'><geometry><box><size>1 2 "
      "3</size></box></geometry><surface><friction><ode><mu>0.5</mu></ode>"
      "</friction></surface></collision></link><link name='b'><pose relative_to='a'/></link><joint name='j' "
      "type='revolute'><parent>a</parent><child>b</child><axis><xyz expressed_in='a'>0 0 "
      "1</xyz></axis></joint>"
      "<frame name='f' attached_to='b'/><model name='n'><link name='c'/></model></model></sdf>";
  std::mt19937 random(3);
  for (int i = 0; i < 600; ++i) {
    std::string bytes = good;
    if (i % 3 == 0) {
      bytes.resize(random() % bytes.size());
    } else {
      for (unsigned k = 0; k <= random() % 4; ++k)
        bytes[random() % bytes.size()] = static_cast<char>(32 + random() % 95);
    }
    diagnostics = {};
    const Scene scene = read_sdf(folder.write("noise.sdf", bytes), &diagnostics);
    if (diagnostics.ok()) compile(scene, &diagnostics);
  }
}

TEST_F(Sdf, ProblemsAreTold) {
  const auto told = [&](const std::string& inside) {
    read("<model name='m'>" + inside + "</model>");
    return diagnostics.text();
  };
  const auto expect = [&](const std::string& inside, const std::string& text) {
    EXPECT_NE(told(inside).find(text), std::string::npos) << diagnostics.text();
  };
  expect("<link name='a'><pose>1 2 3</pose></link>", "scene.sdf:2: error: <pose> should hold 6 numbers");
  expect("<link name='a'><pose relative_to='b'/></link>", "frame 'b' does not exist");
  expect(
      "<frame name='a'><pose relative_to='b'/></frame><frame name='b'><pose relative_to='a'/></frame>"
      "<link name='l'><pose relative_to='a'/></link>",
      "depends on itself");
  expect(
      "<link name='a'/><link name='b'/><joint name='j' type='ball'><parent>a</parent><child>b</child></joint>"
      "<joint name='k' type='ball'><parent>b</parent><child>a</child></joint>",
      "closes a loop");
  expect("<link name='a'/><joint name='j' type='gearbox'><parent>world</parent><child>a</child></joint>",
         "type 'gearbox', which is not supported");
  expect("<link name='a'><inertial><mass>-1</mass></inertial></link>", "has mass -1 kg");
  expect("<link name='a'><inertial><mass>0</mass></inertial></link>", "has mass 0: it does not move");
  expect("<include><uri>model://nowhere</uri></include>", "'model://nowhere' is not found");
  expect("<link name='a'><collision name='c'><geometry><heightmap/></geometry></collision></link>",
         "is a geometry that is not supported");
  expect("<link name='a'/><plugin name='p' filename='f'/>", "<plugin>");
  expect("<link name='a'><colour>red</colour></link>", "colour");
}

TEST_F(Sdf, OlderVersionsAreTold) {
  const auto told = [&](const std::string& version) {
    Diagnostics found;
    read_sdf(folder.write("old.sdf",
                          "<sdf" + version +
                              "><model name='m'><link name='l'><inertial><mass>1</mass></inertial></link>"
                              "</model></sdf>"),
             &found);
    return found.text();
  };
  EXPECT_EQ(told(" version='1.7'"), "");
  EXPECT_EQ(told(" version='1.11'"), "");
  EXPECT_NE(told(" version='1.5'").find("old.sdf:1: warning: SDFormat 1.5 is older than 1.7"),
            std::string::npos)
      << told(" version='1.5'");
  EXPECT_NE(told("").find("<sdf> does not tell its version, and is read as 1.7"), std::string::npos)
      << told("");
}

}  // namespace
}  // namespace capstan::sdf_test
