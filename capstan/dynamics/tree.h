// Kinematics and dynamics of articulated rigid bodies.
//
// Everything of a tree is expressed in world axes about one point O_t, the origin of the tree's root link,
// taken as fixed in space for the instant: no transforms between links are needed, and a body far from the
// world's origin loses no digits. S_k is the motion (angular, linear at O) that a unit v_k gives to the links
// after it:
//
//   V_l = sum of S_k v_k over the dofs on the way to link l
//   A_l = sum of S_k dv_k/dt + (V_before_k x S_k) v_k     (S_k is carried by the frame before its stage)
//
// Gravity enters as an acceleration -g of the world. Featherstone 2008; derivatives as derived in
// dynamics/tree_derivatives.h.
#pragma once

#include <vector>

#include "capstan/math/spatial.h"
#include "capstan/model/model.h"

namespace capstan {

// Where everything is, at one q. Written by calc_placement.
struct Placement {
  std::vector<Transform> X_WL;        // [links]
  std::vector<Vec3> p_OL;             // [links] from O_t to the link's origin [m], world axes
  std::vector<Vec3> origin;           // [objects] O_t [m], world
  std::vector<Vec6> S;                // [dofs] about O_t
  std::vector<RigidInertia> inertia;  // [links] about O_t
  VecX q;                             // where this is, of objects that are not trees; empty: there are none
  std::vector<Collider> flexible;     // [Model::flexible_shapes] in the frames of their links
};

// How everything moves, at one q and v. Written by calc_velocity.
struct Velocity {
  std::vector<Vec6> V;      // [links] (angular, linear at O_t)
  std::vector<Vec6> S_dot;  // [dofs] V_before x S
  std::vector<Vec6> bias;   // [links] sum of S_dot v over the link's own dofs
};

// Scratch memory of the functions below, so that calls allocate nothing.
struct TreeWorkspace {
  std::vector<Vec6> acceleration, force;       // [links]
  std::vector<RigidInertia> composite;         // [links]
  std::vector<Mat6> articulated;               // [links]
  std::vector<Eigen::Matrix<double, 6, 6>> U;  // [links] columns for the link's dofs
  std::vector<Eigen::Matrix<double, 6, 6>> D;  // [links] inverse, leading block of the link's dofs
  std::vector<Vec6> u;                         // [links]
};

Placement make_placement(const Model& model);
Velocity make_velocity(const Model& model);
TreeWorkspace make_tree_workspace(const Model& model);

// Of all links, or of the links [begin, end) of whole trees; likewise below.
void calc_placement(const Model& model, const VecX& q, Placement* placement);
void calc_placement(const Model& model, const VecX& q, Placement* placement, int begin, int end);
// The same bits, for a tree whose free root has only been shifted in q since.
void shift_placement(const Model& model, const VecX& q, int tree, Placement* placement);
void calc_velocity(const Model& model, const Placement& placement, const VecX& v, Velocity* velocity);
void calc_velocity(const Model& model, const Placement& placement, const VecX& v, Velocity* velocity,
                   int begin, int end);

// Pose of a body; (angular, linear) velocity of its frame's origin in world axes.
Transform body_pose(const Model& model, const Placement& placement, int body);
Vec6 body_velocity(const Model& model, const Placement& placement, const Velocity& velocity, int body);

// Recursive Newton-Euler: tau = M(q) a + bias forces(q, v), with gravity, rotor inertia included; no springs,
// damping, actuators (see dynamics/forces.h). a may be null for zero.
void calc_inverse_dynamics(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX* a, TreeWorkspace* workspace, VecX* tau);
void calc_inverse_dynamics(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX* a, TreeWorkspace* workspace, VecX* tau, int begin, int end);

// Composite rigid bodies: the mass matrix with rotor inertia, in the rows of Model::pattern.
void calc_mass_matrix(const Model& model, const Placement& placement, TreeWorkspace* workspace, VecX* values);
void calc_mass_matrix(const Model& model, const Placement& placement, TreeWorkspace* workspace, VecX* values,
                      int begin, int end);

// Articulated bodies, O(n): a = M^-1 (tau - bias forces).
void calc_forward_dynamics(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX& tau, TreeWorkspace* workspace, VecX* a);

// J with (angular; linear velocity of the body-fixed point now at p_W) = J v. 6 x num_velocities, zero
// outside the body's path to its root.
void calc_body_jacobian(const Model& model, const Placement& placement, int body, const Vec3& p_W,
                        Eigen::Ref<MatX> J);
// The linear rows only: 3 x num_velocities.
void calc_point_jacobian(const Model& model, const Placement& placement, int body, const Vec3& p_W,
                         Eigen::Ref<MatX> J);

double calc_kinetic_energy(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX& v);
// Of gravity; zero where the centre of mass is at the world's origin. Springs: see dynamics/forces.h.
double calc_gravity_energy(const Model& model, const Placement& placement);
// (angular momentum about the world's origin, linear momentum). Rotors are not part of it.
Vec6 calc_momentum(const Model& model, const Placement& placement, const Velocity& velocity);
double total_mass(const Model& model);
Vec3 calc_center_of_mass(const Model& model, const Placement& placement);

}  // namespace capstan
