// Friction in a polyhedral cone, as a linear complementarity problem: k directions d_j in the tangential
// plane, even k, so that with each there is its opposite. With D = (d_1, ..., d_k), impulses beta >= 0 along
// them and the slip lambda >= 0,
//
//   0 <= x_n    _|_  u_n >= 0
//   0 <= beta   _|_  D^T u_t + lambda e >= 0       of all directions those most against the slip
//   0 <= lambda _|_  mu x_n - e^T beta >= 0        and where it slides, as much as the cone has
//
// The matrix is copositive-plus for mu >= 0: Lemke's method ends with an answer. `box` is the same with two
// directions and their opposites, and a lambda for each of the two. Limits: k = 4 is a pyramid
// in the cone, cos(45 deg) mu strong between two directions; k -> infinity is the cone. k + 2 unknowns for
// each contact.
//
// stewart_trinkle has u_n = phi / h + the velocity, so that positions do not overlap at the end of the step;
// anitescu_potra has the velocity alone where contacts touch.
//
// Sources: Stewart and Trinkle 1996; Anitescu and Potra 1997; Contact course 1.6.
#include <cmath>
#include <limits>
#include <numbers>

#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

Vec2 direction(int j, int directions) {
  const double angle = 2 * std::numbers::pi * j / directions;
  return Vec2(std::cos(angle), std::sin(angle));
}

// The directions of friction: how many, and how many bounds they share, direction j that of j modulo these.
struct Directions {
  int count = 4, bounds = 1;

  int num_unknowns(const RigidBlock& block) const { return block.is_contact() ? 1 + count + bounds : 1; }
};
Directions directions_of(const RigidOptions& options) {
  return options.model == RigidModel::box ? Directions{4, 2} : Directions{options.directions, 1};
}

}  // namespace

LcpProblem make_polyhedral_lcp(const RigidProblem& problem) {
  const Directions directions = directions_of(problem.options());
  const int k = directions.count;
  int n = 0;
  for (const RigidBlock& block : problem.blocks) n += directions.num_unknowns(block);
  // x = E z.
  MatX E = MatX::Zero(problem.num_rows(), n), C = MatX::Zero(n, n);
  LcpProblem lcp = make_plain_lcp(MatX(), VecX::Zero(n));
  int at = 0;
  for (const RigidBlock& block : problem.blocks) {
    if (block.is_contact()) {
      E(block.row + 2, at) = 1;
      for (int j = 0; j < k; ++j) {
        const int lambda = at + 1 + k + j % directions.bounds;
        E.block<2, 1>(block.row, at + 1 + j) = direction(j, k);
        C(at + 1 + j, lambda) = 1;
        C(lambda, at + 1 + j) = -1;
        C(lambda, at) = block.mu;
      }
    } else {
      E(block.row, at) = 1;
      lcp.lower[at] = block.lower;
      lcp.upper[at] = block.upper;
    }
    at += directions.num_unknowns(block);
  }
  const MatX WE = problem.calc_W() * E;
  lcp.M = E.transpose() * WE + C;
  lcp.q = E.transpose() * problem.b;
  return lcp;
}

VecX polyhedral_impulses(const RigidProblem& problem, const VecX& z) {
  const Directions directions = directions_of(problem.options());
  const int k = directions.count;
  VecX x = VecX::Zero(problem.num_rows());
  int at = 0;
  for (const RigidBlock& block : problem.blocks) {
    if (block.is_contact()) {
      x[block.row + 2] = z[at];
      for (int j = 0; j < k; ++j) x.segment<2>(block.row) += z[at + 1 + j] * direction(j, k);
    } else {
      x[block.row] = z[at];
    }
    at += directions.num_unknowns(block);
  }
  return x;
}

RigidResult solve_polyhedral(const RigidProblem& problem, const RigidSolver& solver) {
  const LcpProblem lcp = make_polyhedral_lcp(problem);
  LcpOptions options;
  options.deadline = problem.deadline();
  RigidResult result;
  result.history_step = 1;
  options.residuals = &result.history;
  options.max_iterations = most_iterations(solver, lcp.size(), problem.options().max_iterations);
  const LcpResult found = solver.lcp(lcp, options);
  result.x = polyhedral_impulses(problem, found.z);
  result.iterations = found.iterations;
  result.residual = problem.calc_residual(result.x);
  result.converged = result.residual <= problem.options().tolerance;
  return result;
}

}  // namespace capstan
