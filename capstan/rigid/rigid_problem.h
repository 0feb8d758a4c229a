// Contact without compliance: the complementarity models of the field, on the Motion and Contacts of a step.
//
//   u = W x + b,   W = J A^-1 J^T + R,   b = J v* + what stabilizes + what bounces
//
// x are impulses, u velocities, in rows of DelassusOperator: three for each contact in its frame (x, y,
// normal), one for each joint limit, drive, weld row, ... Those take the bounds and the compliance R that the
// convex problem gives them, lower <= x <= upper, u the opposite of where x could still go. Contacts have
// R_n = cfm and one of the models, 0 <= x_n, 0 <= u_n, x_n u_n = 0 and
//
//   ncp           Coulomb: x in the cone K = {|x_t| <= mu x_n} and u_t opposite to x_t where it slides; as
//   one
//                 condition: K contains x, K* contains u + mu |u_t| n, orthogonal
//   ccp           the same without mu |u_t|: convex, the optimum of 1/2 x^T W x + b^T x over K. What slides
//   at
//                 v_t is lifted by mu |v_t|, up to a gap of h mu |v_t|
//   box           |x_1| <= mu x_n and |x_2| <= mu x_n apart: a pyramid around the cone, up to sqrt(2) mu
//                 strong; box_frozen has bounds that were found before
//   polyhedral    x_t in mu x_n times the convex hull of k unit vectors (stewart_trinkle, anitescu_potra)
//   no_slip       u_t = 0 of what touches
//   viscous       u_t = -x_t / (h c) of what touches: R_t = 1 / (h c); viscous_explicit: x_t = -h c u_t(v0)
//
// A contact touches if it overlaps, or would if nothing held it. Stabilization (rigid_options.h): a gap phi >
// 0 may close in the step, b_n = phi / dt; of an overlap the part `erp` is undone by b_n or apart from it.
// Restitution by Newton: what meets at u_n(v0) < 0 leaves at -e u_n(v0), in place of that.
//
// Sources: Contact course 1.5 to 1.9; De Saxce and Feng's bipotential for the one condition of ncp;
// Drumwright 2015 for no_slip and viscous.
#pragma once

#include <string>
#include <vector>

#include "capstan/problem/delassus_operator.h"
#include "capstan/rigid/rigid_options.h"

namespace capstan {

// Rows that are solved together: a contact, or one scalar. What is given, and what the model makes of it.
struct RigidBlock {
  int row = 0, num_rows = 1;

  // Of a contact:
  double mu = 0;
  double gap = 0;              // [m]
  double restitution = 0;      // of the two materials
  double threshold = 0;        // [m/s] slower than this it does not bounce
  Vec3 before = Vec3::Zero();  // [m/s] contact velocity at the beginning of the step, surfaces' own included
  // Of a scalar:
  double lower = 0, upper = 0;
  double v_hat = 0, compliance = 0;  // as of ScalarLaw

  bool bounces = false;       // in this step; b has Newton's restitution already
  bool sticks = false;        // no_slip, viscous: it touches, and its tangential impulses are free
  Vec2 given = Vec2::Zero();  // viscous_explicit: its tangential impulses
  double bound = 0;           // box_frozen: of each of these

  int part_begin = 0, part_end = 0;
  Mat3 W = Mat3::Identity();  // its diagonal block of W, R included; of a scalar the first entry
  double rho = 1;             // [kg] step of a projection: 1 / the trace of W

  bool is_contact() const { return num_rows == 3; }
};

class RigidProblem {
 public:
  RigidProblem(const Problem& problem, const Contacts& contacts, const RigidOptions& options);
  // By a matrix: W without R is J J^T. Blocks have what is given of them.
  RigidProblem(const MatX& J, const VecX& free, double dt, const std::vector<RigidBlock>& blocks,
               const RigidOptions& options);

  int num_rows() const { return static_cast<int>(b.size()); }
  int num_dofs() const { return num_dofs_; }
  double dt() const { return dt_; }
  const RigidOptions& options() const { return options_; }
  const Deadline* deadline() const { return problem_ != nullptr ? problem_->deadline : nullptr; }
  void check_deadline() const {
    if (deadline() != nullptr) deadline()->check();
  }
  // Another model of the same contacts, by whose rules none sticks; b is the caller's matter.
  void set_model(RigidModel model);

  std::vector<RigidBlock> blocks;
  VecX b, R;  // [rows]
  VecX free;  // [rows] J v* with all that moves surfaces: u without impulses, stabilization and restitution

  // u of a block where the velocities are v* + dv, and its impulse x; dv <- dv + A^-1 J^T dx.
  Vec3 calc_u(const RigidBlock& block, const VecX& dv, const Vec3& x) const;
  void add_impulse(const RigidBlock& block, const Vec3& dx, VecX* dv) const;
  VecX calc_dv(const VecX& x) const;  // A^-1 J^T x
  VecX calc_u(const VecX& x) const;   // W x + b
  MatX calc_W() const;                // dense, R included
  // f <- f + J^T e_row of a block [dofs]; a row of J times v; A^-1 f, and A where something touches.
  void add_row(const RigidBlock& block, int r, double factor, VecX* f) const;
  double multiply_row(const RigidBlock& block, int r, const VecX& v) const;
  VecX solve_A(const VecX& f) const;
  MatX calc_A() const;

  static Vec3 segment(const RigidBlock& block, const VecX& x) {
    return block.is_contact() ? Vec3(x.segment<3>(block.row)) : Vec3(x[block.row], 0, 0);
  }
  static void set_segment(const RigidBlock& block, const Vec3& value, VecX* x) {
    x->segment(block.row, block.num_rows) = value.head(block.num_rows);
  }

  // The nearest x that the model allows its block: in the cone, in the pyramid of the x_n at hand, in bounds.
  Vec3 project(const RigidBlock& block, const Vec3& x) const;
  // u as the model's condition has it: with mu |u_t| for ncp.
  Vec3 conditioned(const RigidBlock& block, const Vec3& u) const;
  // How far x is from an answer: the largest of |x - project(x - rho u)| / rho over the blocks, in m/s,
  // relative to the largest |b|. The same for every solver.
  double calc_residual(const VecX& x) const;
  double size() const;  // the largest |b|, or 1

 private:
  struct Part {
    int dof_begin, size;
    int object;  // of the model
    int J, Y;    // in values_: num_rows x size of J; size x num_rows of A^-1 J^T
  };
  struct Piece {  // of the rows of a block: their columns of one block of dofs
    int object, dof_begin;
    MatX J;
  };
  std::vector<Piece> pieces_of(const ConstraintGroup& group, const MatX& X) const;
  void add_contact(const Contacts& contacts, int i, int row, const ConstraintGroup& group);
  void add_turning(const Contacts& contacts, int i, int row, const ConstraintGroup& group);
  void add_scalar(int row, const ScalarLaw& law, const std::vector<Piece>& pieces);
  void apply_model(RigidBlock* block);  // b and R of its rows, and what the model makes of it
  void add_block(RigidBlock block, const std::vector<Piece>& pieces);
  void finish_block(RigidBlock block);
  Eigen::Map<const MatX> J_of(const Part& part, int rows) const {
    return {values_.data() + part.J, rows, part.size};
  }
  Eigen::Map<const MatX> Y_of(const Part& part, int rows) const {
    return {values_.data() + part.Y, part.size, rows};
  }

  const Problem* problem_ = nullptr;  // null: A is the identity
  int num_dofs_ = 0;
  double dt_ = 0;
  RigidOptions options_;
  std::vector<Part> parts_;
  std::vector<double> values_;
};

// The point of the friction cone that is nearest to x.
Vec3 project_to_cone(const Vec3& x, double mu);
// The point nearest to x of a regular polygon of `directions` corners at `radius`, the first on the x axis.
Vec2 project_to_polygon(const Vec2& x, double radius, int directions);

}  // namespace capstan
