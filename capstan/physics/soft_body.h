// A soft body: a solid of tetrahedral finite elements.
//
//   M dv/dt = -dE/dx - (alpha M + beta K) v + gravity + external,   E = sum over elements of V psi(F)
//   F = sum of x_a (x) grad N_a,   A = (1 + alpha theta1 dt) M + theta1 dt (beta + theta_vq dt) K
//
// q are the positions of the nodes, v their velocities, a block of 3 for each. psi and its tangent are those
// of physics/elasticity.h. Linear elements have 4 nodes and one F; quadratic ones have 10 (the middles of
// edges are the last six) and four points with F each. Mass is lumped at the nodes, or consistent.
//
// Near nu = 1/2 a dilation for each of the four points is more than the nodes can follow: the element locks.
// So of lambda only as much as mu acts at each point, the rest on the mean dilation of the element:
//
//   V (lambda - mu) / 2 (mean of d)^2,   d = tr(e), J - 1 or tr(G), as the material has it.
//
// A step balances momentum with the forces at its end (midpoint: in its middle), contact included. The linear
// corotational solid takes the rotations R of its elements as they are at the beginning of the step, turned
// on by the spin of the whole body: its forces are then linear in v, and a step takes one tangent. The others
// take as many as Newton's method needs (step/relinearize.h). Rayleigh's beta acts on the change of the
// strain e = sym(R^T F) in the step, with the same R for all four, so that it does not damp a rigid motion.
//
// Carriers are nodes on the surface, and those that are attached; then the triangles of the surface, four for
// each face of a quadratic element; then, with spec.has_edges, their edges (soft_edges.cc). Triangles and
// edges change their form, and collide as they are at the beginning of a step.
//
// Nodes of fixed regions keep the velocity they have: no force changes it.
//
// A body that spins keeps its angular momentum: physics/spin.h tells how. Where nothing touches it, both
// momenta are kept to round-off.
//
// Limits: linear elements are too stiff in bending (by 11 % with 4 of them over the thickness) and lock for
// poisson_ratio above 0.45; quadratic ones do neither. Between what moves, contacts keep angular momentum but
// with midpoint (step/relinearize.cc). The tangent has no pressure of contact in it.
//
// Source: Bonet and Wood, Nonlinear Continuum Mechanics for Finite Element Analysis; Sifakis and Barbic, FEM
// Simulation of 3D Deformable Solids (SIGGRAPH 2012 course).
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "capstan/physics/elasticity.h"
#include "capstan/physics/physics.h"
#include "capstan/physics/spin.h"

namespace capstan {

// Of the middles that are nodes 4 to 9 of a quadratic element.
inline constexpr int kTetEdges[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

// Elements of N nodes, and what is constant at their points.
template <int N>
struct SoftElements {
  static constexpr int kPoints = N == 4 ? 1 : 4;
  static constexpr int kPairs = N * (N - 1) / 2;
  using Gradients = Eigen::Matrix<double, 3, N>;
  std::vector<std::array<int, N>> nodes;
  std::vector<std::array<int, kPairs>> pairs;  // of nodes a > b, number a (a - 1) / 2 + b: in the layout
  std::vector<Gradients> gradients;            // [elements * points] of the shape functions [1/m]
  std::vector<double> weight;                  // [elements * points] [m^3]
  std::vector<double> mass;                    // [elements] [kg]
  Eigen::Matrix<double, N, N> mass_shares;     // of an element's mass, of pairs of its nodes
};

// Of the balls at vertices, over the mean edge of the surface. Capsules along edges have half of it: flat
// surfaces are as far apart where two edges cross as where a vertex is on a face.
inline constexpr double kVertexRadius = 0.02;

struct SoftLaneStep;  // soft_lanes.h

// For reports.
struct SoftStrain {
  double volume = 0;   // [m^3]
  double largest = 0;  // of all points: the largest of |s_i - 1| of F
  int inverted = 0;    // points whose F has a negative determinant: inside out
};

class SoftBody : public Physics {
 public:
  // The mesh is placed by spec.pose alone. Throws InputError.
  explicit SoftBody(const SoftBodySpec& spec);

  const SoftBodySpec& spec() const { return spec_; }
  int num_nodes() const { return static_cast<int>(rest_.size()); }
  int num_elements() const { return static_cast<int>(spec_.mesh->tets.size()); }
  const Vec3& rest(int node) const { return rest_[node]; }  // [m] in the frame of the mesh
  bool is_fixed(int node) const { return fixed_[node] != 0; }
  bool is_all_fixed() const {
    return std::all_of(fixed_.begin(), fixed_.end(), [](char f) { return f != 0; });
  }
  double rest_volume() const { return rest_volume_; }
  double mean_edge() const { return mean_edge_; }  // [m] of the triangles of the surface
  double size() const { return size_; }            // [m] the longest side of its box

  // The surface: nodes, and triangles of them (outward). Carrier i < num_carried() is node carried(i).
  const std::vector<std::array<int, 3>>& triangles() const { return triangles_; }
  int num_carried() const { return static_cast<int>(carried_.size()); }
  int carried(int carrier) const { return carried_[carrier]; }
  int carrier_of(int node) const { return carrier_of_[node]; }  // -1: none
  // Edges of the surface between two of its triangles: carriers after those of the triangles.
  struct Edge {
    std::array<int, 2> nodes;
    int left, right;  // triangles; in the left one the edge goes from its first to its second node
  };
  const std::vector<Edge>& edges() const { return edges_; }
  double edge_area(int edge) const;  // [m^2] a third of its two triangles, at rest
  // After the name of the body: "12" of node 12, "face3" of triangle 3, "edge5" of edge 5.
  std::string carrier_name(int carrier) const;
  bool is_on_surface(int node) const { return node_area_[node] > 0; }
  // [m^2] A third of those of its triangles that look one way: the most for any way.
  double node_area(int node) const { return node_area_[node]; }
  int beside(int triangle, int k) const { return beside_[triangle][k]; }  // behind its edge k; -1: none
  double triangle_area(int triangle) const { return triangle_area_[triangle]; }  // [m^2] at rest
  double surface_area() const;
  // The triangles of the surface that are around a cavity, outward of the solid; and what is in it [m^3].
  const std::vector<std::array<int, 3>>& cavity() const { return cavity_; }
  double calc_cavity_volume(const ConstVector& q) const;
  double calc_pressure(const ConstVector& q) const;    // [Pa] in the cavities, above that around
  double calc_gas_energy(const ConstVector& q) const;  // [J] of a sealed gas, zero at the start

  static Vec3 node(const ConstVector& q, int i) { return q.segment<3>(3 * i); }
  SoftStrain calc_strain(const ConstVector& q) const;
  // [nodes] [Pa] von Mises' of Cauchy's stress, without that of damping: the mean of the elements about a
  // node, by their volumes; in quadratic ones what their points tell at it.
  void calc_von_mises(const ConstVector& q, std::span<double> stress) const;
  void calc_gradient(const ConstVector& q, Vector gradient) const;  // dE/dq, R that of q
  double largest_frequency() const;  // [rad/s] a bound from the smallest element

  std::string kind() const override { return "soft body"; }
  ObjectLayout layout() const override;
  void set_initial(Vector q, Vector v) const override;
  void place(const ConstVector& q, std::span<Transform> X_WC) const override;
  void calc_twists(const ConstVector& q, const ConstVector& v, const Vec3& origin,
                   std::span<Vec6> V) const override;
  int calc_point(const ConstVector& q, int carrier, const Vec3& p_W, PointPart* parts) const override;
  Vec3 place_point(const ConstVector& q, int carrier, const Vec3& p_C) const override;
  void bend(const ConstVector& q, int carrier, Collider* collider) const override;
  bool touches_itself() const override { return spec_.self_contact; }
  bool has_local_mass() const override { return true; }
  std::uint64_t fingerprint() const override;
  ImpulseSize calc_system(const ObjectStep& step, const ConstVector& v, Vector m, Tangent tangent,
                          BlockMatrix* A) const override;
  bool is_linear() const override { return spec_.elasticity == Elasticity::linear_corotational; }
  void balance(const ObjectStep& step, Vector v) const override;
  double calc_potential(const ObjectStep& step, const ConstVector& v) const override;
  void move(const ConstVector& q0, const ConstVector& v, double dt, Vector q1) const override;
  double calc_kinetic_energy(const ConstVector& q, const ConstVector& v) const override;
  double calc_elastic_energy(const ConstVector& q) const override;
  Vec6 calc_momentum(const ConstVector& q, const ConstVector& v) const override;
  double calc_mass(const ConstVector& q, Vec3* moment) const override;
  double calc_speed(const ConstVector& q, const ConstVector& v) const override;

 private:
  template <int N>
  void set_elements(SoftElements<N>* elements);
  void make_surface(const std::vector<std::array<int, 3>>& faces);
  // soft_momentum.cc
  bool keeps_momentum(const ObjectStep& step) const;
  NodeMasses masses() const;
  SpinKeeper keep_spin(const ObjectStep& step) const;
  Vec3 mean_spin(const ConstVector& q, const ConstVector& v) const;
  template <class F>
  void add_momentum(const F& f, const ConstVector& v) const;

  template <int N>
  ImpulseSize add_elements(const SoftElements<N>& elements, const ObjectStep& step, const ConstVector& v,
                           Vector m, Tangent tangent, BlockMatrix* A) const;
  int add_in_lanes(const SoftElements<4>& elements, const SoftLaneStep& lane_step, const ObjectStep& step,
                   const ConstVector& v, Vector m, BlockMatrix* A, double* largest) const;
  template <int N>
  void add_stresses(const SoftElements<N>& elements, const ConstVector& q, std::span<Mat3> sum,
                    std::span<double> volume) const;
  template <int N>
  double sum_energies(const SoftElements<N>& elements, const ObjectStep& step, const ConstVector& v) const;
  // soft_gas.cc
  struct Gas {
    VecX g;                      // [dofs] dV/dx [m^2], zero at fixed nodes
    double pressure = 0;         // [Pa] above that around
    double slope = 0;            // dp/dV [Pa/m^3]
    double of_v = 0, of_v0 = 0;  // [s] nodes go by these times v and v0 until forces are taken
    double growth(const ConstVector& v, const ConstVector& v0) const {  // [m^3]
      return of_v * g.dot(v) + of_v0 * g.dot(v0);
    }
  };
  void find_cavity();
  void couple_cavity();
  bool has_gas() const { return !cavity_.empty() && (spec_.pressure != 0 || spec_.is_sealed); }
  double pressure_at(double volume) const;
  Gas calc_gas(const ObjectStep& step) const;
  void add_gas(const ObjectStep& step, const ConstVector& v, Vector m, BlockMatrix* A) const;
  double calc_gas_potential(const ObjectStep& step, const ConstVector& v) const;
  Vec3 normal(const ConstVector& q, int triangle) const;
  Transform triangle_frame(const ConstVector& q, int triangle) const;
  // soft_edges.cc
  void find_edges();
  void find_corners();
  int first_edge() const { return num_carried() + static_cast<int>(triangles_.size()); }
  // n: the normals of its two triangles; w: how these turn.
  Transform edge_frame(const ConstVector& q, int edge, const Vec3& n_left, const Vec3& n_right) const;
  void bend_edge(const ConstVector& q, int edge, Collider* collider) const;
  Vec6 edge_twist(const ConstVector& q, const ConstVector& v, const Vec3& origin, int edge,
                  const Vec3& w_left, const Vec3& w_right) const;
  std::vector<std::array<int, 2>> find_neighbours() const;

  SoftBodySpec spec_;
  Lame lame_;               // at points
  double mean_lambda_ = 0;  // [Pa] what of lambda acts on the mean dilation of an element
  std::vector<Vec3> rest_;  // [nodes]
  std::variant<SoftElements<4>, SoftElements<10>> elements_;
  std::vector<double> node_mass_;  // [nodes] row sums of M [kg]
  std::vector<char> fixed_;        // [nodes]
  bool has_fixed_ = false;
  std::vector<std::array<int, 2>> pairs_;  // those of elements, sorted, then those of a sealed cavity
  std::size_t num_element_pairs_ = 0;
  std::vector<std::array<int, 3>> triangles_, cavity_;
  std::vector<Edge> edges_;
  std::vector<std::array<int, 3>> beside_;  // [triangles] triangles behind their edges
  std::vector<std::array<int, 3>>
      corner_;  // [triangles] the steepest one about a vertex, but those; -1: none
  std::vector<int> cavity_nodes_, cavity_pairs_;  // sorted; of each pair of them in pairs_, if it is sealed
  double rest_cavity_ = 0;                        // [m^3]
  std::vector<int> carried_, carrier_of_;
  std::vector<double> node_area_, triangle_area_;
  std::vector<double> depth_behind_;  // [triangles] [m] of the element there, at rest
  double rest_volume_ = 0, mean_edge_ = 0, size_ = 0;
  double stiffest_ = 0;  // [N/m] the largest (lambda + 2 mu) w |grad N|^2 of all points
};

}  // namespace capstan
