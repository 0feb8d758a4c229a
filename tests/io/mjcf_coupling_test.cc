// The MJCF reader: what couples bodies and joints, and keyframes.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/io/mjcf_helpers.h"

namespace capstan::mjcf_coupling_test {
namespace {

TEST_F(Mjcf, EqualityConnectAndWeld) {
  const std::string bodies =
      "<compiler angle='radian'/><worldbody><body name='a' pos='1 0 0' euler='0 0 1'><joint name='j'/><geom "
      "size='.1'/>"
      "<site name='s' pos='1 2 3' euler='1 0 0'/></body>"
      "<body name='b' pos='0 1 0' euler='1 0 0'><joint name='k'/><geom size='.1'/><site "
      "name='t'/></body></worldbody>";
  // Reference numbers: MuJoCo's eq_data.
  Scene scene = read_clean(bodies + "<equality><connect body1='a' body2='b' anchor='1 2 3'/></equality>");
  EXPECT_EQ(scene.constraints[0].type, ConstraintType::ball);
  expect_near(scene.constraints[0].pose_a->position, Vec3(1, 2, 3));
  expect_near(scene.constraints[0].pose_b->position, Vec3(-0.14264, 3.02261, 0.84501), 1e-5);
  scene = read_clean(bodies + "<equality><weld name='w' body1='a' body2='b' active='false'/></equality>");
  EXPECT_EQ(scene.constraints[0].type, ConstraintType::weld);
  EXPECT_EQ(scene.constraints[0].name, "w");
  EXPECT_FALSE(scene.constraints[0].active);
  expect_near(scene.constraints[0].pose_a->position, Vec3(0.30117, 1.38177, 0), 1e-5);
  EXPECT_LT((scene.constraints[0].pose_a->quat_wxyz - Vec4(0.77015, 0.42074, -0.22985, -0.42074)).norm(),
            1e-5);
  expect_near(scene.constraints[0].pose_b->position, Vec3(0, 0, 0));
  scene =
      read_clean(bodies + "<equality><weld body1='a' anchor='1 2 3' relpose='4 5 6 2 0 0 0'/></equality>");
  EXPECT_EQ(scene.constraints[0].body_b, "world");
  expect_near(scene.constraints[0].pose_a->position, Vec3(4, 5, 6));
  expect_near(scene.constraints[0].pose_b->position, Vec3(1, 2, 3));
  EXPECT_FALSE(scene.constraints[0].soft);
  scene = read_clean(bodies + "<equality><weld site1='s' site2='t'/></equality>");
  EXPECT_EQ(scene.constraints[0].body_a, "a");
  expect_near(scene.constraints[0].pose_a->position, Vec3(1, 2, 3));
  // What is led by a mocap body is held as softly as MuJoCo has it by default.
  const std::string led =
      "<worldbody><body name='m' mocap='true'/><body name='b'><freejoint/><geom size='.1'/>"
      "</body></worldbody><equality><weld body1='m' body2='b'";
  scene = read_clean(led + "/></equality>");
  EXPECT_EQ(scene.constraints[0].soft->solref, (std::array<double, 2>{0.02, 1}));
  scene = read_clean(led + " solref='0.1 1'/></equality>");
  EXPECT_EQ(scene.constraints[0].soft->solref, (std::array<double, 2>{0.1, 1}));
  scene = read_clean(bodies +
                     "<equality><joint joint1='j' joint2='k' polycoef='1 2'/><joint joint1='j'/></equality>");
  EXPECT_EQ(scene.constraints[0].type, ConstraintType::coupler);
  EXPECT_EQ(scene.constraints[0].polynomial, (std::array<double, 5>{1, 2, 0, 0, 0}));
  EXPECT_EQ(scene.constraints[1].joint_b, "");
}

TEST_F(Mjcf, Tendons) {
  const std::string bodies =
      "<worldbody><body><joint name='j' type='slide'/><joint name='k' type='slide' springref='.5'/><geom "
      "size='1'/></body></worldbody>";
  const std::string joints = "<joint joint='j' coef='2'/><joint joint='k' coef='3'/></fixed></tendon>";
  Scene scene = read_clean(
      bodies +
      "<tendon><fixed name='t' stiffness='1' damping='2' frictionloss='3' armature='4' range='0 2'>" +
      joints);
  const Tendon& t = scene.tendons.at(0);
  EXPECT_EQ(t.terms[1].coefficient, 3);
  EXPECT_EQ(t.spring_rest.lower, 1.5);
  EXPECT_EQ(t.stiffness, 1);
  EXPECT_EQ(t.damping, 2);
  EXPECT_EQ(t.dry_friction, 3);
  EXPECT_EQ(t.rotor_inertia, 4);
  EXPECT_EQ(t.limits->upper, 2);
  scene = read_clean(bodies + "<tendon><fixed springlength='1 2'>" + joints);
  EXPECT_EQ(scene.tendons[0].spring_rest.upper, 2);
  EXPECT_EQ(scene.tendons[0].name, "tendon_1");
  scene = read(bodies +
               "<tendon><spatial name='s'><site site='x'/></spatial></tendon><actuator><motor "
               "tendon='s'/></actuator>");
  EXPECT_TRUE(says(diagnostics, "site 'x' does not exist")) << diagnostics.text();
}

TEST_F(Mjcf, Actuators) {
  const auto act = [&](const std::string& defaults, const std::string& actuator) {
    const Scene scene = read("<compiler angle='radian'/><default>" + defaults +
                             "</default><worldbody><body><joint name='j' range='-1 3'/><geom "
                             "size='.1'/></body></worldbody><actuator>" +
                             actuator + "</actuator>");
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
    return scene.actuators.empty() ? Actuator{} : scene.actuators[0];
  };
  const auto expect = [](const Actuator& a, double gain, const Vec3& bias) {
    EXPECT_EQ(a.joint, "j");
    EXPECT_EQ(a.gain, gain);
    EXPECT_EQ(a.bias, bias);
  };
  const std::string position = "<position kp='7' kv='1'/>";
  expect(act("", "<motor joint='j'/>"), 1, Vec3(0, 0, 0));
  expect(act("", "<position joint='j' kp='5' kv='2'/>"), 5, Vec3(0, -5, -2));
  expect(act(position, "<position joint='j'/>"), 7, Vec3(0, -7, -1));
  expect(act(position, "<position joint='j' kp='3'/>"), 3, Vec3(0, -3, -1));
  expect(act(position, "<motor joint='j'/>"), 1, Vec3(0, 0, 0));
  expect(act(position, "<general joint='j'/>"), 7, Vec3(0, -7, -1));
  expect(act(position, "<velocity joint='j'/>"), 1, Vec3(0, 0, -1));
  expect(act("", "<velocity joint='j' kv='4'/>"), 4, Vec3(0, 0, -4));
  expect(act("", "<general joint='j' gainprm='3' biasprm='1 2 3'/>"), 3, Vec3(0, 0, 0));
  expect(act("", "<general joint='j' gainprm='3' biastype='affine' biasprm='1 2 3'/>"), 3, Vec3(1, 2, 3));
  Actuator a =
      act("<motor ctrlrange='-1 1'/>", "<motor name='m' jointinparent='j' gear='30' forcerange='-2 5'/>");
  EXPECT_EQ(a.name, "m");
  EXPECT_EQ(a.gear[0], 30);
  EXPECT_EQ(a.control_range.upper, 1);
  EXPECT_EQ(a.force_range.lower, -2);
  EXPECT_EQ(a.force_range.upper, 5);
  EXPECT_EQ(diagnostics.text(), "");
  a = act("<motor ctrlrange='-1 1'/>", "<motor joint='j' ctrllimited='false'/>");
  EXPECT_EQ(a.control_range.upper, kInfinity);
  a = act("", "<position joint='j' inheritrange='.5'/>");
  EXPECT_EQ(a.control_range.lower, 0);
  EXPECT_EQ(a.control_range.upper, 2);
  for (const char* dropped :
       {"<adhesion body='b'/>", "<general joint='j' gaintype='user'/>", "<general joint='j' dyntype='user'/>",
        "<general joint='j' gaintype='muscle'/>"}) {
    EXPECT_EQ(act("", dropped).joint, "") << dropped;
    EXPECT_TRUE(says(diagnostics, "left out")) << dropped;
  }
  act("", "<position joint='j' kp='1' dampratio='1' timeconst='.1'/>");
  EXPECT_EQ(diagnostics.text(), "");
  // What follows the control over time; numbers against MuJoCo's are in mjcf_tendon_test.cc.
  a = act("", "<position joint='j' kp='1' timeconst='.1'/>");
  EXPECT_EQ(a.activation.type, ActivationType::filter_exact);
  EXPECT_EQ(a.activation.time_constant, .1);
  a = act("", "<intvelocity joint='j' kp='3' actrange='-1 2'/>");
  EXPECT_EQ(a.activation.type, ActivationType::integrator);
  EXPECT_EQ(a.activation.range.upper, 2);
  a = act("", "<damper joint='j' kv='4' ctrlrange='0 1'/>");
  EXPECT_EQ(a.gain, 0);
  EXPECT_EQ(a.gain_slope, Vec2(0, -4));
  a = act("", "<muscle joint='j' force='5'/>");
  ASSERT_TRUE(a.muscle);
  EXPECT_EQ(a.muscle->length_range.upper, 3);  // the joint's
  EXPECT_EQ(a.control_range.upper, 1);
}

TEST_F(Mjcf, KeyframesInOurLayout) {
  // Angular velocities are in the moving body there, before the joint here: turned by 90 degrees about z.
  const double h = std::sqrt(.5);
  const std::string q = std::to_string(h);
  const Scene scene = read(
      "<worldbody><body><freejoint name='f'/><geom size='1'/><body><joint name='j'/><geom "
      "size='1'/></body></body>"
      "<body><joint name='b' type='ball'/><geom size='1'/></body></worldbody>"
      "<actuator><motor name='m' joint='j'/><muscle joint='j'/><motor name='n' joint='j'/></actuator>"
      "<keyframe><key name='k' time='2' qpos='1 2 3 " +
      q + " 0 0 " + q + " .5 2 0 0 2' qvel='1 2 3 4 5 6 7 1 0 0' ctrl='10 20 30'/></keyframe>");
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  const Keyframe& key = scene.keyframes.at(0);
  EXPECT_EQ(key.name, "k");
  EXPECT_EQ(key.time, 2);
  EXPECT_EQ(key.q.at("j"), std::vector<double>{.5});
  EXPECT_EQ(key.q.at("f")[2], 3);
  EXPECT_NEAR(key.q.at("f")[3], h, 1e-12);
  EXPECT_NEAR(key.q.at("b")[3], h, 1e-15);
  const auto& v = key.v.at("f");
  const std::vector<double> expected = {1, 2, 3, -5, 4, 6};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(v[i], expected[i], 1e-12);
  EXPECT_EQ(key.v.at("j"), std::vector<double>{7});
  EXPECT_NEAR(key.v.at("b")[1], 1, 1e-12);
  EXPECT_EQ(key.control.size(), 2u);  // the muscle is left out, its slot is not
  EXPECT_EQ(key.control.at("m"), 10);
  EXPECT_EQ(key.control.at("n"), 30);
}

}  // namespace
}  // namespace capstan::mjcf_coupling_test
