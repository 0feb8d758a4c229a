// Forward dynamics without contact, ours and MuJoCo's on the same model, state and machine, in turns:
// kinematics, mass matrix, bias forces, factorization and solve. Prints time per call and the ratio ours /
// MuJoCo (below 1: we are faster).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "capstan/dynamics/tree.h"
#include "capstan/io/read.h"
#include "capstan/math/branch_matrix.h"
#include "capstan/math/rotation.h"
#include "capstan/state/state.h"

#ifdef PEER_MUJOCO_VERSION
#include <mujoco/mujoco.h>
#endif

namespace {

using namespace capstan;

double seconds(const std::function<void()>& work, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + x.size() / 2, x.end());
  return x[x.size() / 2];
}

struct Candidate {
  const char* name;
  std::function<void()> work;
  std::vector<double> times;
};

void compare(const char* scene) {
  const std::string path = std::string(CAPSTAN_SOURCE_DIR "/scenes/") + scene;
  const Model model = compile(read_scene(path));
  const int n = model.num_velocities();
  State s = initial_state(model);
  for (int k = 0; k < n; ++k) s.v[k] = 0.3 * ((7 * k) % 5 - 2);
  move(model, s.q, s.v, 0.5, &s.q);

  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  TreeWorkspace workspace = make_tree_workspace(model);
  VecX M(model.pattern.num_values()), a(n), tau = VecX::Zero(n);
  std::vector<Candidate> candidates;
  candidates.push_back({"capstan: mass matrix, factor, solve",
                        [&] {
                          calc_placement(model, s.q, &placement);
                          calc_velocity(model, placement, s.v, &velocity);
                          calc_mass_matrix(model, placement, &workspace, &M);
                          calc_inverse_dynamics(model, placement, velocity, nullptr, &workspace, &a);
                          a = tau - a;
                          factor(model.pattern, M.data());
                          solve_in_place(model.pattern, M.data(), a.data());
                        },
                        {}});
  candidates.push_back({"capstan: articulated bodies",
                        [&] {
                          calc_placement(model, s.q, &placement);
                          calc_velocity(model, placement, s.v, &velocity);
                          calc_forward_dynamics(model, placement, velocity, tau, &workspace, &a);
                        },
                        {}});
#ifdef PEER_MUJOCO_VERSION
  char error[1000] = "";
  mjModel* m = mj_loadXML(path.c_str(), nullptr, error, sizeof error);
  if (m == nullptr) {
    std::printf("MuJoCo cannot load %s: %s\n", scene, error);
    return;
  }
  mjData* d = mj_makeData(m);
  for (int i = 0; i < m->nq; ++i) d->qpos[i] = s.q[i];
  MatX T = MatX::Identity(n, n);  // MuJoCo's free joint turns in body axes
  for (const ModelJoint& joint : model.joints) {
    if (joint.type == JointType::free)
      T.block<3, 3>(joint.v + 3, joint.v + 3) = rotation_matrix(s.q.segment<4>(joint.q + 3));
  }
  const VecX v_mj = T.transpose() * s.v;
  for (int i = 0; i < n; ++i) d->qvel[i] = v_mj[i];
  VecX bias(n), a_mj(n);
  candidates.push_back({"MuJoCo " PEER_MUJOCO_VERSION,
                        [&] {
                          mj_kinematics(m, d);
                          mj_comPos(m, d);
    // mj_makeM exists since 3.3; before, and still, mj_crb computes the matrix.
#if mjVERSION_HEADER >= 3003000 || (mjVERSION_HEADER >= 330 && mjVERSION_HEADER < 10000)
                          mj_makeM(m, d);
#else
                          mj_crb(m, d);
#endif
                          mj_factorM(m, d);
                          mj_comVel(m, d);
                          mj_rne(m, d, 0, bias.data());
                          bias = -bias;
                          mj_solveM(m, d, a_mj.data(), bias.data(), 1);
                        },
                        {}});
#endif
  for (Candidate& c : candidates) seconds(c.work, 2000);  // warm up
  for (int round = 0; round < 40; ++round) {
    for (Candidate& c : candidates) c.times.push_back(seconds(c.work, 1000));
  }
  std::printf("%s: %d dofs, %d links\n", scene, n, model.num_links() - 1);
  for (const Candidate& c : candidates) {
    std::printf("  %-36s %7.2f us (fastest %.2f)", c.name, 1e6 * median(c.times),
                1e6 * *std::min_element(c.times.begin(), c.times.end()));
#ifdef PEER_MUJOCO_VERSION
    std::vector<double> ratios;
    for (std::size_t i = 0; i < c.times.size(); ++i)
      ratios.push_back(c.times[i] / candidates.back().times[i]);
    std::printf("   ratio to MuJoCo %.2f", median(ratios));
#endif
    std::printf("\n");
  }
#ifdef PEER_MUJOCO_VERSION
  candidates[0].work();
  const double difference = (T.transpose() * a - a_mj).cwiseAbs().maxCoeff() / a_mj.cwiseAbs().maxCoeff();
  std::printf("  accelerations differ by %.1e (relative)\n", difference);
  mj_deleteData(d);
  mj_deleteModel(m);
#endif
}

}  // namespace

int main() {
#ifndef PEER_MUJOCO_VERSION
  std::printf("MuJoCo is not installed: no ratios\n");
#endif
  for (const char* scene : {"humanoid.xml", "arm_hand.xml"}) compare(scene);
}
