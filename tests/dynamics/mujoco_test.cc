// Against MuJoCo on the shipped MJCF scenes: kinematics, mass matrix, bias and passive forces, forward
// dynamics. Only built where MuJoCo is installed (bench/peers.cmake).
//
// MuJoCo's velocities of free and ball joints turn in the body's axes, ours in the axes before the joint: v =
// T v_mj with the body's rotation in T, so M_mj = T^T M T and tau_mj = T^T tau. Accelerations transform like
// velocities.
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include "capstan/dynamics/forces.h"
#include "capstan/dynamics/tree.h"
#include "capstan/io/read.h"
#include "capstan/math/rotation.h"
#include "tests/support/random_scene.h"

namespace capstan::mujoco_test {
namespace {

class AgainstMujoco : public testing::TestWithParam<const char*> {};

TEST_P(AgainstMujoco, DynamicsAgree) {
  const std::string path = std::string(CAPSTAN_SOURCE_DIR "/scenes/") + GetParam();
  char error[1000] = "";
  mjModel* m = mj_loadXML(path.c_str(), nullptr, error, sizeof error);
  ASSERT_NE(m, nullptr) << error;
  mjData* d = mj_makeData(m);
  const Model model = compile(read_scene(path));
  const int n = model.num_velocities();
  ASSERT_EQ(n, m->nv);
  ASSERT_EQ(model.num_positions, m->nq);

  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  TreeWorkspace workspace = make_tree_workspace(model);
  ForceGradient gradient = make_force_gradient(model);
  VecX values(model.pattern.num_values()), bias(n), forces(n), a(n);
  MatX M(n, n), M_mj(n, n);
  // MuJoCo before version 3 diagonalizes the inertias of compound bodies with rotations good to 1e-8 only.
  const double accuracy = mj_version() < 300 ? 1e-7 : 1e-9;
  test::Random random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const State s = test::random_state(random, model, 3);
    MatX T = MatX::Identity(n, n);
    for (const ModelJoint& joint : model.joints) {
      if (joint.type == JointType::ball)
        T.block<3, 3>(joint.v, joint.v) = rotation_matrix(s.q.segment<4>(joint.q));
      if (joint.type == JointType::free)
        T.block<3, 3>(joint.v + 3, joint.v + 3) = rotation_matrix(s.q.segment<4>(joint.q + 3));
    }
    const VecX v_mj = T.transpose() * s.v;
    for (int i = 0; i < m->nq; ++i) d->qpos[i] = s.q[i];
    for (int i = 0; i < n; ++i) d->qvel[i] = v_mj[i];
    VecX control = s.control;
    for (int i = 0; i < m->nu; ++i) d->ctrl[i] = control[i] = test::uniform(random, -0.5, 0.5);
    m->opt.disableflags |= mjDSBL_CONSTRAINT | mjDSBL_CONTACT;
    mj_forward(m, d);

    calc_placement(model, s.q, &placement);
    calc_velocity(model, placement, s.v, &velocity);
    for (int b = 1; b < m->nbody; ++b) {
      const int body = model.find_body(mj_id2name(m, mjOBJ_BODY, b));
      ASSERT_GE(body, 0);
      EXPECT_LT(
          (body_pose(model, placement, body).p - Vec3(d->xpos[3 * b], d->xpos[3 * b + 1], d->xpos[3 * b + 2]))
              .norm(),
          1e-12);
    }
    calc_mass_matrix(model, placement, &workspace, &values);
    expand(model.pattern, values.data(), 0, n, M);
    for (int k = 0; k < n; ++k) {
      const VecX unit = VecX::Unit(n, k);
      mj_mulM(m, d, M_mj.col(k).data(), unit.data());
    }
    EXPECT_LT((T.transpose() * M * T - M_mj).cwiseAbs().maxCoeff(), accuracy * M_mj.cwiseAbs().maxCoeff());

    calc_inverse_dynamics(model, placement, velocity, nullptr, &workspace, &bias);
    const Eigen::Map<VecX> bias_mj(d->qfrc_bias, n);
    EXPECT_LT((T.transpose() * bias - bias_mj).cwiseAbs().maxCoeff(),
              accuracy * bias_mj.cwiseAbs().maxCoeff());

    calc_forces(model, s.q, s.v, control, &forces, &gradient);
    const VecX forces_mj = Eigen::Map<VecX>(d->qfrc_passive, n) + Eigen::Map<VecX>(d->qfrc_actuator, n);
    EXPECT_LT((T.transpose() * forces - forces_mj).cwiseAbs().maxCoeff(),
              1e-9 * (1 + forces_mj.cwiseAbs().maxCoeff()));

    calc_forward_dynamics(model, placement, velocity, forces, &workspace, &a);
    const Eigen::Map<VecX> a_mj(d->qacc_smooth, n);
    EXPECT_LT((T.transpose() * a - a_mj).cwiseAbs().maxCoeff(), accuracy * a_mj.cwiseAbs().maxCoeff());
  }
  mj_deleteData(d);
  mj_deleteModel(m);
}

INSTANTIATE_TEST_SUITE_P(Scenes, AgainstMujoco,
                         testing::Values("humanoid.xml", "humanoid_floating.xml", "arm_hand.xml",
                                         "four_bar.xml"));

}  // namespace
}  // namespace capstan::mujoco_test
