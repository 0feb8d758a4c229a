// The parts of a free motion that are balanced apart, and what it is computed in. Internal to dynamics/.
#pragma once

#include <Eigen/LU>
#include <vector>

#include "capstan/dynamics/free_motion.h"
#include "capstan/dynamics/free_turn.h"
#include "capstan/dynamics/momentum.h"
#include "capstan/dynamics/tree_lanes.h"

namespace capstan {

// Trees that no force joins to others: whole trees one after the other, one alone as a rule, and all that lie
// between two that a tendon or an actuator joins. Each is balanced apart, so that what one does depends on
// no other.
struct MotionBatch {
  int tree_begin = 0, tree_end = 0;
  int link_begin = 0, link_end = 0;
  int stage_begin = 0, stage_end = 0;
  double mass = 0;          // [kg]
  ForceRange forces;        // has the range of dofs
  bool has_forces = false;  // else k_1 and its gradient stay zero
  bool has_paths = false;   // among them spatial tendons, or actuators on those
  bool is_piecewise_linear = false;
  bool is_free_body = false;
  bool is_in_lanes = false;         // with others in MotionLanes
  bool has_velocity_terms = false;  // that are centred
  int iterations = 0;
  double residual = 0;
  bool converged = true;

  int num_dofs() const { return forces.dof_end - forces.dof_begin; }
  auto of(VecX& x) const { return x.segment(forces.dof_begin, num_dofs()); }
  auto of(const VecX& x) const { return x.segment(forces.dof_begin, num_dofs()); }
};

// Up to four batches of one tree each, equal but for q, v and control, which are computed at a time.
struct MotionLanes {
  TreeLanes trees;
  std::array<int, 4> batches = {};  // those of trees.trees
  std::vector<Lanes1> lengths;      // [tendons] scratch memory
};

struct Motion::Scratch {
  std::vector<MotionBatch> batches;
  Scheme scheme;              // of the last free motion
  bool is_staggered = false;  // that scheme
  VecX spring_mass;  // [dofs] that joint springs move: on the diagonal of M where all joints are at 0
  std::vector<MotionLanes> lanes;
  std::vector<int> blocks;  // batches [blocks[i], blocks[i + 1]) for one thread, without those in lanes
  Placement placement;      // at q^theta
  Velocity velocity;        // at q^theta, v^theta
  TreeWorkspace tree;
  DerivativesWorkspace derivatives;
  ForceGradient gradient;
  VecX q, v, v_vq, a;                  // where the residual is evaluated
  VecX tau, inverse, external;         // k_1, ID, external forces
  VecX M;                              // mass matrix at q^theta
  VecX m, m_trial, v_trial, dv;        // residuals and steps
  VecX M_dv;                           // in calc_residual
  VecX v_free, centering;              // where m(v) = 0, and v* less that (center_momentum.h)
  VecX v_balanced, balancing;          // v* without bounces, and what that was changed by (center_momentum.h)
  std::vector<FreeTurn> turns_freely;  // [trees] and by how much more than its impulses (free_turn.h): g
  VecX turn;                           // [dofs]
  std::vector<Spinner> spinners;       // [trees]
  std::vector<int> with_spinners;      // trees that have one
  std::vector<MatX> jacobian;          // [trees] of m, for the implicit schemes
  std::vector<Eigen::PartialPivLU<MatX>> lu;
  MomentumWorkspace momentum;
  std::vector<char> is_struck;  // [objects] struck_objects.h
};

// Where the semi-implicit scheme takes the spring of a joint (free_motion.h): at q0 + dt (of_v v - of_v0 v0).
struct SpringRule {
  double of_v = 1, of_v0 = 0;
};
SpringRule find_spring_rule(const Motion::Scratch& scratch, const Scheme& scheme, const Model& model, int dof,
                            double dt);

// v* and A of the theta-method for one batch, without the correction of its momentum (dynamics/momentum.h).
void solve_momentum_balance(const Model& model, const State& state, double dt, const Scheme& scheme,
                            MotionBatch& b, Motion* motion);

// Takes the velocity terms of a batch at the mean of v0 and v_end, which is v* and what constraints change of
// it (free_motion.h tells why), in place of where they were taken: Scratch::inverse are the bias forces that
// v* has, with A and its factor. By iteration, which contracts as long as nothing turns by about a radian
// in a step; else, and where v changes by more than there is, v* stays. Returns by how much v* changed,
// relative to the velocities.
double center_velocity_terms(const Model& model, const State& state, double dt, const Scheme& scheme,
                             const MotionBatch& b, const VecX& v_end, Motion* motion);

// A at the gradient of k_1 in the scratch memory, and its factor, for the dofs [begin, end) of whole trees.
void make_system(const Model& model, const MotionBatch& b, int begin, int end, double dt,
                 const Scheme& scheme, Motion* motion);

// Finds batches that can be computed in lanes, and marks them.
std::vector<MotionLanes> make_motion_lanes(const Model& model, std::vector<MotionBatch>* batches);

// The placement (unless it is known) and the velocities of the links at the beginning of the step.
void place(const Model& model, const State& state, bool is_placed, MotionLanes& lanes, Motion* motion);

// What solve_momentum_balance() and balance_momentum() do, after place(), for the theta-method with theta =
// 0. Lanes that are to be left as they are, are told by `is_left`; it is set for those that one Newton step
// does not do for as well, or whose numbers are not finite: A alone is written of these.
void balance(const Model& model, const State& state, double dt, const Scheme& scheme, MotionLanes& lanes,
             std::array<bool, 4>* is_left, Motion* motion);

// What balance_position() does.
void balance_position(const Model& model, const VecX& v, double dt, double theta_vq, MotionLanes& lanes,
                      Motion* motion, VecX* q1);

}  // namespace capstan
