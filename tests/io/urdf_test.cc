// The URDF reader with numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numbers>
#include <random>

#include "capstan/model/model.h"
#include "tests/io/xml_helpers.h"

namespace capstan::urdf_test {
namespace {

struct Urdf : testing::Test {
  TemporaryFolder folder{"capstan_urdf"};
  Diagnostics diagnostics;
  Scene read(const std::string& inside) {
    diagnostics = {};
    return read_urdf(folder.write("robot/urdf/robot.urdf", "<robot name='r'>\n" + inside + "\n</robot>"),
                     &diagnostics);
  }
};

void expect_near(const Vec3& a, const Vec3& b) {
  EXPECT_LT((a - b).norm(), 1e-14) << a.transpose() << " is not " << b.transpose();
}

TEST_F(Urdf, ContactOfALink) {
  const Scene scene = read(R"(
    <link name="ball"><contact><lateral_friction value="0.8"/><restitution value="0.6"/>
      <rolling_friction value="0.001"/><spinning_friction value="0.002"/></contact>
      <collision><geometry><sphere radius="0.1"/></geometry></collision></link>)");
  EXPECT_EQ(diagnostics.text(), "");
  ASSERT_EQ(scene.materials.size(), 1u);
  EXPECT_EQ(scene.materials[0].friction, 0.8);
  EXPECT_EQ(scene.materials[0].restitution, 0.6);
  EXPECT_EQ(scene.materials[0].rolling_friction, 0.001);
  EXPECT_EQ(scene.materials[0].torsional_friction, 0.002);
  EXPECT_EQ(scene.shapes[0].material, scene.materials[0].name);
  read("<link name='a'><contact><restitution value='1.5'/></contact></link>");
  EXPECT_NE(diagnostics.text().find("<restitution> of link 'a' is 1.5"), std::string::npos)
      << diagnostics.text();
}

TEST_F(Urdf, LinksAndJoints) {
  const Scene scene = read(R"(
    <link name="base"/>
    <link name="arm"><inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="4"/>
      <inertia ixx="1" iyy="2" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <link name="slide"/><link name="wheel"/><link name="flat"/><link name="loose"/><link name="tip"/>
    <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>
      <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="30" velocity="4"/><dynamics damping="0.5" friction="0.25"/></joint>
    <joint name="s" type="prismatic"><parent link="arm"/><child link="slide"/><limit lower="0" upper="1" effort="5" velocity="1"/></joint>
    <joint name="w" type="continuous"><parent link="arm"/><child link="wheel"/><axis xyz="0 0 1"/><mimic joint="s" multiplier="2" offset="0.5"/></joint>
    <joint name="p" type="planar"><parent link="base"/><child link="flat"/><axis xyz="0 0 1"/></joint>
    <joint name="f" type="floating"><parent link="base"/><child link="loose"/></joint>
    <joint name="t" type="fixed"><parent link="arm"/><child link="tip"/></joint>)");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(diagnostics.num_warnings(), 4) << diagnostics.text();  // links that move without mass
  EXPECT_EQ(scene.name, "r");
  ASSERT_EQ(scene.bodies.size(), 7u);
  const Body& base = *find_named(scene.bodies, "base");
  EXPECT_EQ(base.parent, "world");
  EXPECT_TRUE(base.joints.empty());  // welded to the world
  const Body& arm = *find_named(scene.bodies, "arm");
  EXPECT_EQ(arm.parent, "base");
  EXPECT_EQ(arm.pose.position, Vec3(0, 0, 1));
  const Vec4 x = quat_from_axis_angle(Vec3(1, 0, 0), .1), y = quat_from_axis_angle(Vec3(0, 1, 0), .2),
             z = quat_from_axis_angle(Vec3(0, 0, 1), .3);
  EXPECT_LT((arm.pose.quat_wxyz - quat_multiply(z, quat_multiply(y, x))).norm(), 1e-14);
  EXPECT_EQ(arm.inertia->mass, 4);
  EXPECT_EQ(arm.inertia->com, Vec3(1, 2, 3));
  EXPECT_NEAR(arm.inertia->about_com(0, 0), 2, 1e-14);  // turned by 90 degrees
  EXPECT_NEAR(arm.inertia->about_com(1, 1), 1, 1e-14);
  const Joint& j = *find_joint(scene, "j");
  EXPECT_EQ(j.type, JointType::revolute);
  EXPECT_EQ(j.axis, Vec3(0, 1, 0));
  EXPECT_EQ(j.limits[0].upper, 2);
  EXPECT_EQ(j.effort_limit, 30);
  EXPECT_EQ(j.velocity_limit, 4);
  EXPECT_EQ(j.damping, .5);
  EXPECT_EQ(j.dry_friction, .25);
  EXPECT_EQ(find_joint(scene, "s")->type, JointType::prismatic);
  EXPECT_EQ(find_joint(scene, "s")->axis, Vec3(1, 0, 0));  // URDF's default
  EXPECT_TRUE(find_joint(scene, "w")->limits.empty());
  EXPECT_EQ(find_joint(scene, "p")->type, JointType::planar);
  EXPECT_NEAR(find_joint(scene, "p")->axis2.dot(Vec3(0, 0, 1)), 0, 1e-14);
  EXPECT_EQ(find_joint(scene, "f")->type, JointType::free);
  EXPECT_EQ(find_joint(scene, "t")->type, JointType::weld);
  ASSERT_EQ(scene.constraints.size(), 1u);
  const Constraint& mimic = scene.constraints[0];
  EXPECT_EQ(mimic.type, ConstraintType::coupler);
  EXPECT_EQ(mimic.joint_a, "w");
  EXPECT_EQ(mimic.joint_b, "s");
  EXPECT_EQ(mimic.polynomial, (std::array<double, 5>{.5, 2, 0, 0, 0}));
}

TEST_F(Urdf, RootNamedWorldIsTheWorld) {
  const Scene scene = read(R"(
    <link name="world"><collision><geometry><box size="1 2 3"/></geometry></collision></link><link name="a"/>
    <joint name="j" type="floating"><parent link="world"/><child link="a"/></joint>)");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  ASSERT_EQ(scene.bodies.size(), 1u);
  EXPECT_EQ(scene.bodies[0].parent, "world");
  EXPECT_EQ(scene.shapes[0].body, "world");
}

// a <= b <= c with c > a + b: both smaller ones grow by half of what lacks.
TEST_F(Urdf, ImpossibleInertiasAreRepairedAndTold) {
  const auto link = [](const std::string& mass, const std::string& moments) {
    return "<link name='a'><inertial><mass value='" + mass + "'/><inertia " + moments +
           " ixy='0' ixz='0' iyz='0'/></inertial></link>";
  };
  Scene scene = read(link("2", "ixx='1' iyy='9' izz='2'"));
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_NE(diagnostics.text().find("its principal moments (1, 2, 9) became (4, 5, 9) kg m^2"),
            std::string::npos)
      << diagnostics.text();
  expect_near(1e-6 * scene.bodies.at(0).inertia->about_com.diagonal(), 1e-6 * Vec3(4, 9, 5));
  compile(scene);
  scene = read(link("2", "ixx='-1' iyy='3' izz='3'"));
  EXPECT_NE(diagnostics.text().find("(-1, 3, 3) became (0, 3, 3)"), std::string::npos) << diagnostics.text();
  scene = read(link("0", "ixx='1' iyy='1' izz='1'"));
  EXPECT_NE(diagnostics.text().find("link 'a' has mass 0 and moments of inertia up to 1 kg m^2"),
            std::string::npos);
  EXPECT_FALSE(scene.bodies.at(0).inertia);
  diagnostics.strict = true;
  diagnostics.list.clear();
  read_urdf(folder.write("robot/urdf/robot.urdf",
                         "<robot name='r'>" + link("2", "ixx='1' iyy='9' izz='2'") + "</robot>"),
            &diagnostics);
  EXPECT_FALSE(diagnostics.ok());
}

TEST_F(Urdf, LinksThatMoveWithoutMassGetALittle) {
  const Scene scene = read(R"(<link name="a"/><link name="b"/><link name="c"/>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
    <joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint>)");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(diagnostics.num_warnings(), 1) << diagnostics.text();
  EXPECT_NE(diagnostics.text().find("link 'b' moves and nothing of it has mass; it gets 0.001 kg"),
            std::string::npos);
  EXPECT_EQ(find_named(scene.bodies, "b")->inertia->mass, 1e-3);
  compile(scene);
  // What it carries has mass: nothing to repair.
  read(R"(<link name="a"/><link name="b"/><link name="c"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
    <joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint>)");
  EXPECT_EQ(diagnostics.text(), "");
}

TEST_F(Urdf, PackagesAreSearched) {
  const std::string tet = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
  folder.write("robot/package.xml", "<package><name>my_description</name></package>");
  folder.write("robot/meshes/tet.obj", tet);
  const std::string in_folder = folder.write("elsewhere/parts/meshes/tet.obj", tet);
  const auto uses = [&](const std::string& file) {
    return read("<link name='a'><collision><geometry><mesh filename='" + file +
                "'/></geometry></collision></link>")
        .shapes.size();
  };
  EXPECT_EQ(uses("package://my_description/meshes/tet.obj"), 1u) << diagnostics.text();
  EXPECT_EQ(uses("package://parts/meshes/tet.obj"), 0u);
  EXPECT_NE(diagnostics.text().find("CAPSTAN_PACKAGE_PATH"), std::string::npos) << diagnostics.text();
  const std::filesystem::path elsewhere =
      std::filesystem::path(in_folder).parent_path().parent_path().parent_path();
  setenv("CAPSTAN_PACKAGE_PATH", ("/nowhere:" + elsewhere.string()).c_str(), 1);
  EXPECT_EQ(uses("package://parts/meshes/tet.obj"), 1u) << diagnostics.text();
  unsetenv("CAPSTAN_PACKAGE_PATH");
}

TEST_F(Urdf, ShapesOfNoSizeAreLeftOut) {
  const Scene scene = read(R"(<link name="a"><visual><geometry><box size="0 0 0"/></geometry></visual>
    <collision><geometry><sphere radius="0"/></geometry></collision></link>)");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(diagnostics.num_warnings(), 2) << diagnostics.text();
  EXPECT_TRUE(scene.shapes.empty());
}

TEST_F(Urdf, Shapes) {
  folder.write("robot/meshes/tet.obj",
               "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
  const Scene scene = read(R"(
    <material name="red"><color rgba="1 0 0 1"/></material>
    <link name="a"><visual><origin xyz="0 0 1"/><geometry><cylinder radius="0.1" length="4"/></geometry><material name="red"/></visual>
      <visual><geometry><mesh filename="package://robot/meshes/missing.dae"/></geometry></visual>
      <collision><geometry><box size="1 2 3"/></geometry></collision>
      <collision><geometry><capsule radius="0.1" length="4"/></geometry></collision>
      <collision><geometry><sphere radius="0.1"/></geometry></collision>
      <collision><geometry><mesh filename="package://robot/meshes/tet.obj" scale="2 2 2"/></geometry></collision></link>)");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(diagnostics.num_warnings(), 1) << diagnostics.text();  // the mesh that only draws
  ASSERT_EQ(scene.shapes.size(), 5u);
  const ShapeInstance& visual = *find_named(scene.shapes, "a_visual_1");
  EXPECT_FALSE(visual.collides);
  EXPECT_FALSE(visual.has_mass);
  expect_near(visual.pose.position, Vec3(0, 0, 1));
  EXPECT_EQ(std::get<Cylinder>(visual.shape).half_length, 2);
  EXPECT_EQ(visual.rgba, (std::array<float, 4>{1, 0, 0, 1}));
  const ShapeInstance& box = *find_named(scene.shapes, "a_collision_1");
  EXPECT_EQ(std::get<Box>(box.shape).half_size, Vec3(.5, 1, 1.5));
  EXPECT_TRUE(box.collides);
  EXPECT_FALSE(box.has_mass);
  EXPECT_EQ(std::get<Capsule>(find_named(scene.shapes, "a_collision_2")->shape).half_length, 2);
  const auto& mesh = std::get<ConvexMesh>(find_named(scene.shapes, "a_collision_4")->shape).mesh;
  EXPECT_NEAR(volume_properties(*mesh).volume, 8.0 / 6, 1e-12);
}

TEST_F(Urdf, ReportsWhatItDoesNotSimulate) {
  read(R"(<link name="a"/><link name="b"><sensors/></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/><calibration rising="0"/><safety_controller k_velocity="1"/></joint>
    <transmission name="t"><type>x</type></transmission><gazebo reference="a"/>)");
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(diagnostics.num_warnings(), 6) << diagnostics.text();
  EXPECT_TRUE(says(diagnostics, "<sensors> is not understood", 2));
  EXPECT_TRUE(says(diagnostics, "<transmission>", 4));
}

TEST_F(Urdf, SurvivesTruncationAndNoise) {
  const std::string good =
      "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
      "izz='1'/></inertial>"
      "<collision><geometry><box size='1 1 1'/></geometry></collision></link><link name='b'/><link name='c'/>"
      "<joint name='j' type='revolute'><parent link='a'/><child link='b'/><limit lower='-1' upper='1' "
      "effort='1' velocity='1'/>"
      "</joint><joint name='k' type='continuous'><parent link='b'/><child link='c'/><mimic "
      "joint='j'/></joint></robot>";
  const auto attempt = [&](const std::string& content) {
    Diagnostics d;
    EXPECT_NO_THROW(read_urdf(folder.write("noise.urdf", content), &d));
  };
  for (std::size_t length = 0; length < good.size(); length += 3) attempt(good.substr(0, length));
  std::mt19937 random(1);
  for (int k = 0; k < 800; ++k) {
    std::string bad = good;
    for (int c = 0; c < 1 + static_cast<int>(random() % 3); ++c) {
      const std::size_t at = random() % bad.size();
      if (random() % 2) {
        bad[at] = "abcjk'<>/ 0-"[random() % 12];
      } else {
        bad.insert(at, bad.substr(random() % bad.size(), random() % 60));
      }
    }
    attempt(bad);
  }
}

}  // namespace
}  // namespace capstan::urdf_test
