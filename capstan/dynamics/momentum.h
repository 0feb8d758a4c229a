// Exact balance of momentum for trees that float or hang on a ball joint.
//
// The theta-method conserves the momentum of an articulated system only up to its order: internal motion
// makes a floating robot drift and turn, and explicit gyroscopic terms make a fast top explode. Here the
// root's velocity is corrected, after v* is known, and the root's position after it has been moved, so that
// the whole tree obeys, to round-off,
//
//   P1 = P0 + dt f,   L1 = L0 + dt n,   c1 = c0 + dt (theta_vq P1 + (1 - theta_vq) P0) / m
//
// P and L are the linear momentum and the angular momentum about the tree's centre of mass c (for a ball
// joint: L about its centre only), taken at (q1, v); f and n come from outside. The correction is of the
// order of the scheme's own error, so the order stays. A lone spinning body takes a backward Euler step of
// its angular momentum in the body frame (an implicit midpoint one with theta_vq = 1/2): stable for any dt.
//
// While the root turns, the tree keeps its shape: with I and l (the part of L from the joints) in root axes,
//
//   L(w) = R1 (I R1^T w + l),   R1 = exp(phi) R0,   phi = dt (theta_vq w + (1 - theta_vq) w0),
//
// three equations for w, solved by Newton in the root's axes. Then the linear velocity follows from P.
#pragma once

#include "capstan/dynamics/tree.h"
#include "capstan/state/state.h"

namespace capstan {

struct MomentumWorkspace {
  Placement placement;
  VecX q;  // of each tree where `placement` is, or NaN
  Velocity velocity;
  VecX v_vq;
};
MomentumWorkspace make_momentum_workspace(const Model& model);

// Copies the placement of a tree if it is known at this very q: a step begins where balance_position() has
// left the tree, as a rule. The bits are those of calc_placement().
bool copy_placement(const Model& model, const MomentumWorkspace& workspace, const VecX& q, int tree,
                    Placement* placement);

// The same for all trees at a time: the two placements change places, and the workspace's is not known any
// more. False, and nothing done, if a tree is not known at q.
bool take_placement(const VecX& q, MomentumWorkspace* workspace, Placement* placement);

// A tree as the root carries it. World axes.
struct CompositeTree {
  double mass = 0;
  Vec3 com = Vec3::Zero();                  // [m] world
  Mat3 inertia = Mat3::Zero();              // about the centre of mass
  Vec3 P = Vec3::Zero(), L = Vec3::Zero();  // L about the centre of mass
};
// From the sums of its links' inertias and momenta, both about its origin.
CompositeTree make_composite(const RigidInertia& inertia, const Vec6& momentum, const Vec3& origin);

// Whether the tree's root is a lone free or ball joint on the world, without rotors on it.
bool conserves_momentum(const Model& model, int tree);

// The w that gives the momentum `target`, near `guess`. All vectors are in the root's axes at the beginning
// of the step, I and l in those it has at any time. Where Newton cannot improve them: the better of guess and
// w0.
Vec3 solve_turn(const Mat3& I, const Vec3& l, const Vec3& w0, const Vec3& target, double dt, double theta_vq,
                Vec3 guess);

// Spheres, cubes and the like: the inertia is the same about every axis, however the body turns.
bool is_isotropic(const Mat3& inertia);

// Corrects the root velocity of a tree that conserves_momentum() says yes to. `start` is at q0, v0;
// `at_forces` is where the moments of gravity and of forces on the root are taken (q^theta); `force` are the
// generalized forces other than gravity. Trees share no memory in the workspace.
void balance_momentum(const Model& model, int tree, const State& state, const Placement& start,
                      const Velocity& start_velocity, const Placement& at_forces, const VecX& force,
                      double dt, double theta_vq, MomentumWorkspace* workspace, VecX* v);

// The same, where the tree is known at the beginning and, with v, at q1, where its root is at X1.
void balance_root(const Model& model, int tree, const State& state, const Placement& start,
                  const CompositeTree& before, const Placement& at_forces, const VecX& force, double dt,
                  double theta_vq, const CompositeTree& after, const Transform& X1, VecX* v);

// Shifts the free roots of the trees [begin, end) in `q1`, which is q0 moved along v^theta_vq, so that each
// tree's centre of mass goes with its momentum.
void balance_position(const Model& model, const Placement& start, const Velocity& start_velocity,
                      const VecX& v, double dt, double theta_vq, int begin, int end,
                      MomentumWorkspace* workspace, VecX* q1);

// The shift of one tree, which is known at q1 with v.
void shift_root(const Model& model, const Placement& start, const Velocity& start_velocity, int tree,
                const CompositeTree& after, double dt, double theta_vq, VecX* q1);

}  // namespace capstan
