// The free-motion velocities v* and the matrix A: what a step would do without contact (SAP II-C, II-D).
//
// The theta-method: with v^x = x v + (1-x) v0 and q^x = q0 moved along v^theta_vq for x dt,
//
//   m(v) = M(q^theta) (v - v0) - dt [ k_2(q^theta, v^theta) + k_1(q^theta1, v^theta1) + external forces ],
//   m(v*) = 0
//
// k_1 are the smooth joint forces (dynamics/forces.h), k_2 gravity and velocity terms.
//
//   scheme            theta  theta_vq  theta1
//   explicit_euler    0      0         0
//   symplectic_euler  0      1         0
//   semi_implicit     0      1         1        springs, damping, PD gains implicit; the rest symplectic
//   implicit_euler    1      1         1
//   midpoint          1/2    1/2       1/2      second order
//
// The springs of joints keep their energy in semi_implicit, too, if they are slow: taken at q0 + dt (v - v0)
// / 4 they are the trapezoidal rule, whatever their stiffness. Where w dt is above 2, three steps a period,
// they become implicit bit by bit, fully so from 4 on, which damps what the step cannot show. Tendons,
// actuators and the springs of ball and free joints are implicit.
//
// Where positions move along the new velocities (theta_vq = 1, theta = 0), these are the velocities half-way
// between two positions, and the velocity terms of k_2 belong to the mean of v0 and v: then the step is the
// same forwards and backwards in time, and energy does not drift. (At v0, a short double pendulum loses
// most of its energy within seconds, at 1 ms as at 5.) Trees that float are balanced otherwise (momentum.h).
//
//   A = M(q^theta) + dt^2 theta1 theta_vq K + dt theta1 D      (eq. 15; symmetric positive definite)
//
// The implicit schemes use Newton with the exact Jacobian of m for each tree (dynamics/tree_derivatives.h).
// Where a tendon couples two trees, its forces are implicit in the residual but not in the Jacobian.
#pragma once

#include <memory>
#include <span>

#include "capstan/dynamics/drives.h"
#include "capstan/dynamics/forces.h"
#include "capstan/dynamics/tree.h"
#include "capstan/dynamics/tree_derivatives.h"
#include "capstan/model/stage_scope.h"
#include "capstan/state/state.h"

namespace capstan {

struct ObjectMotion;

struct Scheme {
  double theta = 0, theta_vq = 1, theta1 = 1;
};
Scheme scheme(Integrator integrator);
// Whether its velocities are those half-way between positions.
inline bool is_staggered(const Scheme& scheme) {
  return scheme.theta == 0 && scheme.theta_vq == 1;
}

// A drive that has left v* and A (dynamics/drives.h), as a law of the rate u = c.v of its transmission.
struct ReleasedDrive {
  int drive = 0;                // in Motion::drives
  double rate = 0;              // u*, before it left [m/s or rad/s]
  double impulse = 0;           // at u*, before limits [N s or N m s]
  double slope = 0;             // that it falls with u [kg or kg m^2] > 0
  double lower = 0, upper = 0;  // [N s or N m s]
  double delassus = 0;          // c A^-1 c^T without the drives of its trees [1/kg or 1/(kg m^2)]
};

// The result of free_motion and its scratch memory; make_motion allocates it, but for the Jacobians of the
// implicit schemes, which come with their first step.
struct Motion {
  Placement placement;  // at q0: contacts and Jacobians are taken here
  Velocity velocity;    // at q0, v0: V; the rest is for calc_free_motion alone
  VecX A;  // of trees: values in the rows of Model::system_pattern, without drives that were released; of
           // other objects the diagonal alone
  VecX A_factor;        // L^T D L of A
  VecX v_star;          // [dofs] without drives that were released
  int iterations = 0;   // Newton steps taken, by the tree that took most
  double residual = 0;  // |m| scaled by diag(M)^-1/2, relative to the momentum scale, at v*: the largest
  bool converged = false;

  std::vector<std::shared_ptr<ObjectMotion>> objects;  // those that are not trees (dynamics/objects.h)

  std::vector<Drive> drives;            // of the model
  std::vector<ReleasedDrive> released;  // since the free motion was computed

  struct Scratch;
  std::shared_ptr<Scratch> scratch;
};
Motion make_motion(const Model& model);

// Computes v* and A from a state. `motion` holds the result, which has the same bits for any number of
// threads. Objects that are asleep get v* = 0 and keep an old A. For trees that are unchanged since the last
// call `motion` has the result already, if no drive was released.
void calc_free_motion(const Model& model, const State& state, const Input& input, double dt,
                      const Scheme& scheme, const StageScope& scope, Motion* motion);
inline void calc_free_motion(const Model& model, const State& state, const Input& input, double dt,
                             const Scheme& scheme, Motion* motion) {
  calc_free_motion(model, state, input, dt, scheme, StageScope{}, motion);
}

// The same of velocity terms alone, for a tree that loops hold, whose mean velocity v, the answer with their
// constraints, tells better: changes v*. True if the answer is another one then.
bool center_velocity_terms(const Model& model, const State& state, double dt, const Scheme& scheme, int tree,
                           const VecX& v, Motion* motion);

// Corrects the root velocity of one tree in v, the velocities after constraints: for trees that only
// constraints within themselves act on (joint limits, self-contact), whose momentum they do not change. The
// root's motion does not change the velocities those constraints see. To be called after calc_free_motion on
// the same state.
void balance_after_constraints(const Model& model, const State& state, double dt, const Scheme& scheme,
                               int tree, Motion* motion, VecX* v);

// Moves q0 along v^theta_vq to q1, and shifts floating trees so that their momentum is kept there
// (balance_position() in dynamics/momentum.h). To be called after calc_free_motion on the same state. If the
// next free motion begins at q1, it finds where the trees are.
void move_on(const Model& model, const State& state, const VecX& v, double dt, double theta_vq,
             const Threads& threads, Motion* motion, VecX* q1);
// The same for one tree and theta_vq = 1, to round-off, and where the tree is then.
void move_on(const Model& model, const State& state, const VecX& v, double dt, int tree, Motion* motion,
             VecX* q1, Placement* placement);

// Takes the drives out of v* and A of the trees that are marked ([trees], not 0), and of those that a drive
// joins to them, which it marks, too. v* is then the motion without these drives. To be called after
// calc_free_motion on the same state, once for each tree; no drive is released where the scheme takes gains
// explicitly.
void release_drives(const Model& model, const State& state, double dt, const Scheme& scheme,
                    std::span<char> trees, Motion* motion);

}  // namespace capstan
