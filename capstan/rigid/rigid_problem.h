// Contact without compliance: the complementarity models of the field, on the Motion and Contacts of a step.
//
//   u = W x + b,   W = J A^-1 J^T + R,   b = J v* + what stabilizes
//
// x are impulses, u velocities, in rows of DelassusOperator: three for each contact in its frame (x, y,
// normal), one for each joint limit, drive, weld row, ... Those take the bounds and the compliance R that the
// convex problem gives them, lower <= x <= upper, u the opposite of where x could still go. Contacts have R =
// 0 and one of the models
//
//   ncp        Coulomb: x in the cone K = {|x_t| <= mu x_n}, u_n >= 0, x_n u_n = 0, and u_t opposite to x_t
//              where it slides; as one condition: K contains x, K* contains u + mu |u_t| n, orthogonal
//   ccp        the same without mu |u_t|: convex, the optimum of 1/2 x^T W x + b^T x over K. What slides at
//              v_t is lifted by mu |v_t|, up to a gap of h mu |v_t|
//   box        |x_1| <= mu x_n and |x_2| <= mu x_n apart: a pyramid around the cone, up to sqrt(2) mu strong
//
// Stabilization: a gap phi > 0 may close in the step, b_n = phi / dt; of an overlap the part `erp` is undone.
//
// Sources: Contact course 1.5 to 1.9; De Saxce and Feng's bipotential for the one condition of ncp.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "capstan/problem/delassus_operator.h"

namespace capstan {

enum class RigidModel { ncp, ccp, box };
inline constexpr std::array<const char*, 3> kRigidModelNames = {"ncp", "ccp", "box"};

struct RigidOptions {
  RigidModel model = RigidModel::ncp;
  double erp = 0.2;         // part of an overlap that is undone in a step
  double tolerance = 1e-6;  // of the residual
  int max_iterations = 10000;
  bool operator==(const RigidOptions&) const = default;
};

// Rows that are solved together: a contact, or one scalar.
struct RigidBlock {
  int row = 0, num_rows = 1;
  double mu = 0;                // of a contact
  double lower = 0, upper = 0;  // of a scalar
  int part_begin = 0, part_end = 0;
  Mat3 W = Mat3::Identity();  // its diagonal block of W, R included; of a scalar the first entry
  double rho = 1;             // [kg] step of a projection: 1 / the trace of W

  bool is_contact() const { return num_rows == 3; }
};

class RigidProblem {
 public:
  RigidProblem(const Problem& problem, const Contacts& contacts, const RigidOptions& options);

  int num_rows() const { return static_cast<int>(b.size()); }
  const RigidOptions& options() const { return options_; }
  const Problem& problem() const { return *problem_; }

  std::vector<RigidBlock> blocks;
  VecX b, R;  // [rows]

  // u of a block where the velocities are v* + dv, and its impulse x; dv <- dv + A^-1 J^T dx.
  Vec3 calc_u(const RigidBlock& block, const VecX& dv, const Vec3& x) const;
  void add_impulse(const RigidBlock& block, const Vec3& dx, VecX* dv) const;
  VecX calc_dv(const VecX& x) const;  // A^-1 J^T x
  VecX calc_u(const VecX& x) const;   // W x + b
  MatX calc_W() const;                // dense, R included
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

 private:
  struct Part {
    int dof_begin, size;
    int J, Y;  // in values_: num_rows x size of J; size x num_rows of A^-1 J^T
  };
  void add_block(const DelassusOperator& delassus, RigidBlock block);

  const Problem* problem_;
  RigidOptions options_;
  std::vector<Part> parts_;
  std::vector<double> values_;
};

// The point of the friction cone that is nearest to x.
Vec3 project_to_cone(const Vec3& x, double mu);

}  // namespace capstan
