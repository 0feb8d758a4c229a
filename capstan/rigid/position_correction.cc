#include "capstan/rigid/position_correction.h"

#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

constexpr double kSoft = 1e-8;  // of W: what is wedged in has no way out, but a best one

}  // namespace

VecX calc_position_correction(const RigidProblem& problem, const VecX& x) {
  const RigidOptions& options = problem.options();
  const RigidStabilization stabilization = stabilization_of(options);
  const bool is_split = stabilization == RigidStabilization::split_impulse;
  if (!is_split && stabilization != RigidStabilization::projection) return {};
  // Velocities at the end of the step, in rows.
  const VecX rate = problem.calc_u(x) - problem.b - problem.R.cwiseProduct(x) + problem.free;
  RigidProblem correction = problem;
  correction.set_model(RigidModel::frictionless);
  correction.b.setZero();
  bool any = false;
  for (RigidBlock& block : correction.blocks) {
    if (!block.is_contact()) {
      if (std::isfinite(block.lower) && std::isfinite(block.upper)) block.lower = block.upper = 0;  // drives
      continue;
    }
    const double end = block.gap + problem.dt() * rate[block.row + 2];
    const double erp = is_split ? calc_compliance(options, problem.dt()).erp : 1;
    const double overlap = std::min(0.0, (is_split ? std::min(block.gap, end) : end) + options.allowance);
    const double b = overlap < 0 ? erp * overlap / problem.dt() : std::max(0.0, end) / problem.dt();
    correction.b[block.row + 2] = b;
    correction.R.segment<3>(block.row) = kSoft * block.W.diagonal();
    any |= b < 0;
  }
  if (!any) return {};
  return correction.calc_dv(solve_reduced(correction, VecX::Zero(problem.num_rows())).x);
}

}  // namespace capstan
