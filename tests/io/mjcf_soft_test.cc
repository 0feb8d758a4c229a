// solref and solimp of equality constraints and of limits: motions measured in MuJoCo 4.0.0.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <numbers>

#include "capstan/laws/soft_reference.h"
#include "tests/io/mjcf_helpers.h"
#include "tests/support/contact_simulation.h"

namespace capstan::mjcf_soft_test {
namespace {

// Two slides that a joint equality couples, a slide and a hinge that run into their limits, a ball that is
// tied to a point. Where bodies have their centres of mass at the joint or the point, MuJoCo's estimate of
// the inverse inertia is exact, and so are ours.
const char* const kModel = R"(
  <option timestep="0.002" gravity="0 0 0" integrator="Euler"/>
  <default><geom type="sphere" size="0.05" contype="0" conaffinity="0"/></default>
  <worldbody>
    <body><joint name="a" type="slide" axis="1 0 0"/><geom mass="1"/></body>
    <body pos="0 1 0"><joint name="b" type="slide" axis="1 0 0"/><geom mass="2"/></body>
    <body pos="0 2 0">
      <joint type="slide" axis="1 0 0" limited="true" range="-1 0.1"
             solreflimit="0.03 0.7" solimplimit="0.7 0.95 0.02 0.4 3"/>
      <geom mass="1.5"/>
    </body>
    <body name="d" pos="0 3 0"><freejoint/><geom mass="1"/></body>
    <body pos="0 4 0">
      <joint axis="0 1 0" limited="true" range="-90 20" solreflimit="-400 -10"/><geom mass="1"/>
    </body>
  </worldbody>
  <equality>
    <joint joint1="a" joint2="b" polycoef="0.1 1 0 0 0" solref="0.05 0.5" solimp="0.8 0.9 0.01"/>
    <connect body1="d" anchor="0 0 0" solref="0.04 0.3"/>
  </equality>
  <keyframe><key name="start" qpos="0.3 0 0  0.02 3.01 0  1 0 0 0  0" qvel="0 0.5 2  0 0 0.3  0 0 0  3"/></keyframe>
  )";

TEST_F(Mjcf, SoftConstraintsMoveAsInMujoco) {
  struct Row {
    double time;
    std::array<double, 7> q;  // of a, b, c, the ball's x, y, z, and the hinge
  };
  const Row rows[] = {
      {0.05,
       {0.196754153537, 0.0766229232313, 0.1, -0.00420080134359, 2.99789959933, -0.000755116453532, 0.15}},
      {0.1,
       {0.181294079661, 0.10935296017, 0.110514670511, -9.63929013912e-05, 2.99995180355, 0.000242208878417,
        0.3}},
      {0.2,
       {0.236076047592, 0.131961976204, 0.0682814364007, -0.000122104844289, 2.99993894758,
        -4.68937881002e-06, 0.450632486013}},
      {0.4,
       {0.300069391958, 0.199965304021, -0.0161850318194, 8.38075897734e-07, 3.00000041904,
        -6.59050579135e-09, 0.161137208748}},
  };
  test::Simulation run(read_clean(kModel), 0.002, ContactLaw::coulomb);
  run.state = keyframe_state(run.model, "start");
  for (const Row& row : rows) {
    run.go(row.time - run.state.time);
    const VecX& q = run.state.q;
    const double ours[] = {q[0], q[1], q[2], q[3], q[4], q[5], q[10]};
    for (int i = 0; i < 7; ++i) EXPECT_NEAR(ours[i], row.q[i], 1e-6) << "number " << i << " at " << row.time;
  }
}

TEST(SoftReference, Impedance) {
  EXPECT_DOUBLE_EQ(calc_impedance({0.9, 0.95, 0.001, 0.5, 2}, 0), 0.9);
  EXPECT_DOUBLE_EQ(calc_impedance({0.9, 0.95, 0.001, 0.5, 2}, 0.0005), 0.925);
  EXPECT_DOUBLE_EQ(calc_impedance({0.9, 0.95, 0.001, 0.5, 2}, 1), 0.95);
  EXPECT_DOUBLE_EQ(calc_impedance({0, 1, 0.001, 0.5, 2}, 1), kMaxImpedance);
}

// Held against a steady force, a limit of impedance d gives way by (1 - d) / d a / (d k), a that of the
// force.
TEST_F(Mjcf, ALoadedLimitGivesWayByWhatItsImpedanceSays) {
  const Scene scene = read_clean(R"(
  <option timestep="0.001" gravity="0 0 -10"/>
  <worldbody><body><joint type="slide" axis="0 0 1" limited="true" range="0 1" solreflimit="0.02 1"
    solimplimit="0.8 0.8 0.001"/><geom type="sphere" size="0.05" mass="3"/></body></worldbody>)");
  test::Simulation run(scene, 0.001, ContactLaw::coulomb);
  run.go(1);
  const double d = 0.8, k = 1 / (d * d * 0.02 * 0.02);
  EXPECT_NEAR(run.state.q[0], -(1 - d) * 10 / (d * d * k), 1e-9);
}

// The same of a joint with dry friction, which is another kind of limited joint to the engine.
TEST_F(Mjcf, ALoadedLimitGivesWayWithDryFrictionToo) {
  const Scene scene = read_clean(R"(
  <option timestep="0.001" gravity="0 0 -10"/>
  <worldbody><body><joint type="slide" axis="0 0 1" limited="true" range="0 1" solreflimit="0.02 1"
    solimplimit="0.8 0.8 0.001" frictionloss="0.003"/><geom type="sphere" size="0.05" mass="3"/></body></worldbody>)");
  test::Simulation run(scene, 0.001, ContactLaw::coulomb);
  run.go(1);
  const double d = 0.8, k = 1 / (d * d * 0.02 * 0.02), depth = (1 - d) * 10 / (d * d * k);
  EXPECT_NEAR(run.state.q[0], -depth, 2e-4 * depth);  // friction carries 1e-4 of the weight
}

// Pressed on by a servo, a limit gives way where both torques agree, at every time step: 1000 N m/rad (0.2 -
// x) = k x, k = 0.1 kg m^2 d^2 k_0 / (1 - d) = 5000 N m/rad. (By the inverse inertia of the step, servo and
// all, it gave way by 28 mrad at 1 ms and 9.5 at 10.)
TEST_F(Mjcf, ASoftLimitIsAsSoftAtEveryStepWhateverDrivesTheJoint) {
  for (const char* integrator : {"Euler", "implicitfast"}) {
    for (const double dt : {0.001, 0.002, 0.005, 0.01}) {
      const Scene scene = read_clean(fmt::format(R"(
  <option gravity="0 0 0" integrator="{}"/>
  <worldbody><body><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
    <joint name="elbow" axis="0 1 0" limited="true" range="-100 50" solreflimit="0.02 1"/></body></worldbody>
  <actuator><position joint="elbow" kp="1000" kv="20" ctrlrange="-3 3"/></actuator>)",
                                                 integrator));
      test::Simulation run(scene, dt, ContactLaw::coulomb);
      const double limit = 50 * std::numbers::pi / 180;
      run.state.control[0] = limit + 0.2;
      run.go(2);
      EXPECT_NEAR(run.state.q[0], limit + 0.2 / 6, 1e-6) << integrator << " dt " << dt;
      EXPECT_NEAR(run.state.v[0], 0, 1e-6) << integrator << " dt " << dt;
    }
  }
}

// A lever on a hinge whose tip a connect holds: at rest in MuJoCo 4.0.0 after 4 s at 2 ms.
TEST_F(Mjcf, ATieOffTheCentreOfMassIsAsSoftAsInMujoco) {
  const Scene scene = read_clean(R"(
  <option timestep="0.005"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody><body name="lever" pos="0 0 1"><joint axis="0 1 0"/>
    <geom type="box" size="0.25 0.02 0.02" pos="0.25 0 0" mass="1"/></body></worldbody>
  <equality><connect body1="lever" anchor="0.5 0 0" solref="0.05 1" solimp="0.9 0.9 0.01"/></equality>)");
  for (const double dt : {0.005, 0.001}) {
    test::Simulation run(scene, dt, ContactLaw::coulomb);
    run.go(3);
    EXPECT_NEAR(run.state.q[0], 6.12145493e-04, 1e-6) << dt;
  }
}

}  // namespace
}  // namespace capstan::mjcf_soft_test
