// A discrete elastic rod: nodes x_i, and on each edge an angle gamma that turns the section about it.
//
//   M dv/dt = -dE/dq - (alpha M + beta K) v + gravity + external,   E = E_stretch + E_bend + E_twist
//   E_stretch = sum over edges of E A / 2 (|e| / L - 1)^2 L;        bend and twist: physics/rod_energy.h
//   A = (1 + alpha theta1 dt) M + theta1 dt (beta + theta_vq dt) K
//
// v has a block (velocity of node i, rate of the angle of the edge that follows) for each node; the last node
// of an open rod has no edge. q has the same, then the reference director of each edge (a unit vector across
// it; the material frame is the director's frame turned by gamma), then the twist beta of the reference
// frames at each joint of two edges, counted in whole turns, too; an actuated rod then has the factors of its
// natural turns and of its rest lengths, which controls set before a step. Directors go with the edges by
// parallel transport in time, so that the rate of gamma is the edge's angular velocity about itself.
//
// A step balances momentum with the forces that the rod has at its end (midpoint: in its middle), contact
// included (semi_implicit gives back what that takes from a rope that swings: physics/rod_swing.cc): A is the
// tangent at the velocity where it ends (step/relinearize.h). It takes the exact K, or, where that is not
// positive definite, less of it element by element (physics/rod_system.cc). Rayleigh's beta acts on the
// change of strains in the step, so that it does not damp a rigid motion, however fast.
//
// A rod that nothing holds nor touches keeps both momenta to round-off, those of the sections about their
// edges included; one that spins as a whole keeps its angular momentum where it is touched, too
// (physics/spin.h).
//
// A clamped edge holds its direction at its middle: a cantilever is free from there on. Held dofs keep the
// velocity they have, zero or what the state is given: no force changes it.
//
// Limits: no shear, no warping, sections stay as they are when stretched. The section's rotary inertia acts
// about the edge alone; its gyroscopic moment is that of balance() alone, on a free rod as a whole. Shapes on
// edges have the length at rest: capsules leave no gap while an edge is stretched by less than a diameter;
// boxes leave a wedge at each bend. An edge that turns by about a right angle in one step may take either way
// round. Midpoint does not damp bending that is faster than the step: without beta it may grow until a step
// fails.
//
// Source: as physics/rod_energy.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capstan/physics/physics.h"
#include "capstan/physics/rod_energy.h"
#include "capstan/physics/spin.h"

namespace capstan {

struct RodElement;

class Rod : public Physics {
 public:
  explicit Rod(const RodSpec& spec);  // throws InputError

  int num_nodes() const { return num_nodes_; }
  int num_edges() const { return static_cast<int>(rest_length_.size()); }
  int num_joints() const { return static_cast<int>(rest_strain_.size()); }  // joint j: of edges j and j + 1
  int num_dofs() const { return 3 * num_nodes_ + num_edges(); }
  const RodSpec& spec() const { return spec_; }
  const SectionConstants& section() const { return section_; }
  double shear_modulus() const { return shear_modulus_; }  // [Pa]
  const VecX& inertia() const { return inertia_; }         // [dofs] of nodes [kg], of angles [kg m^2]
  bool is_held(int dof) const { return held_[dof] != 0; }

  static Vec3 node(const ConstVector& q, int i) { return q.segment<3>(4 * i); }
  RodEdge edge(const ConstVector& q, int i) const;
  double reference_twist(const ConstVector& q, int joint) const { return q[twist_begin() + joint]; }
  double tension(const ConstVector& q, int edge) const;  // elastic [N]
  // Which part of the turn of an edge in a step, made on a curved way along the rod, its forces have turned
  // with: the rest is given back (rod_swing.cc).
  double calc_turned_share(const ConstVector& q, const ConstVector& v, int edge, double dt) const;
  Vec3 strain(const ConstVector& q, int joint) const;  // (kappa_1, kappa_2, tau), over rest_span()
  double rest_length(int edge) const { return rest_length_[edge]; }
  double first_rest_length(int edge) const;  // [m] that it was made with
  double wave_speed() const;                 // [m/s] of stretch
  double rest_span(int joint) const;         // [m] between the middles of the joint's edges

  // Of an actuated rod: 1 is as it was made. Others have 1.
  double natural_factor(const ConstVector& q) const { return spec_.actuated ? q[factor_begin()] : 1; }
  double length_factor(const ConstVector& q) const { return spec_.actuated ? q[factor_begin() + 1] : 1; }
  double most_natural_factor() const;  // at which a joint turns by nearly pi
  void set_factors(double natural, double length, Vector q) const;
  Vec3 natural_strain(const ConstVector& q, int joint) const;  // (kappa_1, kappa_2, tau) at rest

  // Change the shape at rest between steps, joint by joint. Neither is part of the state, nor wakes a rod.
  void set_natural(int joint, const Vec3& natural);  // as RodSpec::natural
  void set_rest_length(int edge, double length);

  // dE/dq and the exact K (its symmetric part), dense, of all dofs, for modes and tests.
  void calc_gradient(const ConstVector& q, Vector gradient) const;
  MatX calc_stiffness(const ConstVector& q) const;

  std::string kind() const override { return "rod"; }
  ObjectLayout layout() const override;
  void set_initial(Vector q, Vector v) const override;
  void place(const ConstVector& q, std::span<Transform> X_WC) const override;
  void calc_twists(const ConstVector& q, const ConstVector& v, const Vec3& origin,
                   std::span<Vec6> V) const override;
  int calc_point(const ConstVector& q, int carrier, const Vec3& p_W, PointPart* parts) const override;
  Vec3 place_point(const ConstVector& q, int carrier, const Vec3& p_C) const override;
  // The shape of an edge is as long as the edge: a cord that is stretched has no gaps between its nodes, one
  // that is hauled in does not press against itself.
  void bend(const ConstVector& q, int edge, Collider* collider) const override;
  std::uint64_t fingerprint() const override;
  ImpulseSize calc_system(const ObjectStep& step, const ConstVector& v, Vector m, Tangent tangent,
                          BlockMatrix* A) const override;
  void balance(const ObjectStep& step, Vector v) const override;
  double calc_potential(const ObjectStep& step, const ConstVector& v) const override;
  void move(const ConstVector& q0, const ConstVector& v, double dt, Vector q1) const override;
  double calc_kinetic_energy(const ConstVector& q, const ConstVector& v) const override;
  double calc_elastic_energy(const ConstVector& q) const override;
  Vec6 calc_momentum(const ConstVector& q, const ConstVector& v) const override;
  double calc_mass(const ConstVector& q, Vec3* moment) const override;
  double calc_speed(const ConstVector& q, const ConstVector& v) const override;

 private:
  int after(int node) const { return node + 1 == num_nodes_ ? 0 : node + 1; }
  int director_begin() const { return num_dofs(); }
  int twist_begin() const { return num_dofs() + 3 * num_edges(); }
  Vec3 director(const ConstVector& q, int edge) const { return q.segment<3>(director_begin() + 3 * edge); }
  int factor_begin() const { return twist_begin() + num_joints(); }
  Vec3 stiffness(const ConstVector& q, int joint) const;  // (E I_1, E I_2, G J) / span
  bool is_free(int node) const { return held_[4 * node] == 0; }
  // rod_momentum.cc
  NodeMasses masses() const { return {inertia_.data(), 4, 4, num_nodes_}; }
  bool keeps_momentum(const ObjectStep& step) const {
    return step.conserves_momentum && !has_held_ && !is_tied_apart_;
  }
  SpinKeeper keep_spin(const ObjectStep& step, std::span<const Vec3> swing) const;
  // [edges] or none: a force on the node where an edge ends, its opposite on the other (rod_swing.cc). Of the
  // thread's memory.
  std::span<const Vec3> calc_swing(const ObjectStep& step) const;
  double stretch_damping(const ObjectStep& step) const;  // of EA, on the change of stretch (rod_system.cc)
  // The parts of calc_system(): with the memory of the thread (rod_system.cc).
  void place_in_step(const ObjectStep& step, const ConstVector& v, bool damps) const;
  void add_stretch(const ObjectStep& step, int edge, Tangent tangent, Vector m, BlockMatrix* A,
                   double* largest) const;
  void add_element(int joint, double dt, RodElement* element, Vector m, BlockMatrix* A) const;
  double free(int dof) const {
    return held_[dof] != 0 ? 0.0 : 1.0;
  }  // what acts on held ones changes nothing

  RodSpec spec_;
  SectionConstants section_;
  int num_nodes_ = 0;
  double shear_modulus_ = 0;
  VecX inertia_;
  std::vector<char> held_;  // [dofs]
  bool has_held_ = false;   // any
  // By attachments in two places: what it is tied to takes part in its spin. To keep that of its own it would
  // take from what it carries what swing gives (rod_swing.cc), or tear it off.
  bool is_tied_apart_ = false;
  std::vector<double> rest_length_;  // [edges]
  std::vector<Vec3> rest_strain_;    // [joints]
  std::vector<int> edge_pair_;       // [edges] of its blocks in ObjectLayout::pairs
  std::vector<int> joint_pair_;      // [joints] of the first and the last of its three blocks
};

}  // namespace capstan
