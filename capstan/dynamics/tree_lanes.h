// Kinematics and dynamics (dynamics/tree.h) of up to four equal trees at a time, one in each lane of a
// register: what it costs is little more than for one. The numbers of a lane depend on no other lane.
//
// Trees are equal that are copies of one another, but for where the root is: then all constants are those of
// the first, and only q, v and what comes from them differ.
#pragma once

#include <array>
#include <vector>

#include "capstan/dynamics/tree.h"
#include "capstan/math/spatial_lanes.h"

namespace capstan {

// All indices of links, dofs, positions and values of the mass matrix count from the tree's first.
struct TreeLanes {
  std::array<int, 4> trees = {};  // where there are fewer than four, the last ones are the same
  int count = 0;                  // of different trees
  int num_links = 0, num_dofs = 0, num_positions = 0, num_values = 0;
  bool has_free_root = false;  // a lone free joint, else there is none

  LanesFrame root;  // X_PL of the root; constant

  // Placement at q: written by calc_placement.
  std::vector<Lanes1> q;         // [positions]
  std::vector<LanesFrame> X_WL;  // [links]
  std::vector<Lanes3> p_OL;      // [links]
  Lanes3 origin;
  std::vector<Lanes6> S;              // [dofs]
  std::vector<LanesInertia> inertia;  // [links]

  // Velocity at q and some v: written by calc_velocity.
  std::vector<Lanes6> V, bias;  // [links]

  std::vector<Lanes1> A;  // [values] of the mass matrix, then of A of equation 15, then of its factor

  std::vector<Lanes1> v0, v, tau, external, dv;  // [dofs] of motion_lanes.cc
  std::vector<Lanes6> acceleration, force;       // [links] scratch memory
  std::vector<LanesInertia> composite;           // [links] scratch memory
};

// Whether `b` is a copy of tree `a`, and of a kind that TreeLanes know: several links, a free joint only as
// the lone one of the root, gravity on all of it, no branches that a tendon joins.
bool are_equal(const Model& model, int a, int b);

// Of up to four such trees.
TreeLanes make_tree_lanes(const Model& model, const std::vector<int>& trees);

// The Fours of an array of Lanes1, Lanes3, ...
template <class T>
Four* fours(std::vector<T>& x) {
  return reinterpret_cast<Four*>(x.data());
}
template <class T>
const Four* fours(const std::vector<T>& x) {
  return reinterpret_cast<const Four*>(x.data());
}

// n numbers at each of four places to lanes, and back to those of the places that are not null.
void load_lanes(const std::array<const double*, 4>& from, int n, Four* lanes);
void store_lanes(const Four* lanes, int n, const std::array<double*, 4>& to);

// Moves lanes->q along v.
void move(const Model& model, const std::vector<Lanes1>& v, double dt, TreeLanes* lanes);

// At lanes->q. A free tree that is shifted since may take place_origin() alone: the same bits.
void calc_placement(const Model& model, TreeLanes* lanes);
void place_origin(const Model& model, TreeLanes* lanes);

void calc_velocity(const Model& model, const std::vector<Lanes1>& v, TreeLanes* lanes);
// V alone.
void calc_link_velocities(const Model& model, const std::vector<Lanes1>& v, TreeLanes* lanes);

// tau without acceleration.
void calc_inverse_dynamics(const Model& model, TreeLanes* lanes, std::vector<Lanes1>* tau);

// The mass matrix with rotor inertia into A.
void calc_mass_matrix(const Model& model, TreeLanes* lanes);

// The inertia of a whole tree about its origin, and its (angular, linear) momentum, from `inertia` and V.
void calc_sums(const TreeLanes& lanes, std::array<RigidInertia, 4>* inertia, std::array<Vec6, 4>* momentum);

// `S` and `inertia` of a placement; and all of a placement, back.
void load_placement(const Model& model, const Placement& placement, TreeLanes* lanes);
void store_placement(const Model& model, const TreeLanes& lanes, Placement* placement);

}  // namespace capstan
