#include "capstan/rigid/rigid_solvers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace capstan {
namespace {

constexpr unsigned bit(RigidModel model) {
  return 1U << static_cast<int>(model);
}
constexpr unsigned kCoulomb = bit(RigidModel::ncp), kRelaxed = bit(RigidModel::ccp);
constexpr unsigned kCones = kCoulomb | kRelaxed;
constexpr unsigned kFixedRules = bit(RigidModel::no_slip) | bit(RigidModel::viscous) |
                                 bit(RigidModel::viscous_explicit) | bit(RigidModel::frictionless);
constexpr unsigned kBoxes = bit(RigidModel::box) | bit(RigidModel::box_frozen);
constexpr unsigned kPolyhedral = bit(RigidModel::stewart_trinkle) | bit(RigidModel::anitescu_potra);
constexpr unsigned kAll = (1U << kNumRigidModels) - 1;

constexpr std::array<RigidSolver, 20> kSolvers = {
    {{"gauss_seidel", "block after block, each exactly", kAll & ~kPolyhedral, solve_gauss_seidel, nullptr},
     {"proximal_gauss_seidel", "block after block, by projections", kAll, solve_proximal_gauss_seidel,
      nullptr},
     {"proximal_jacobi", "all blocks at a time, by projections", kAll, solve_proximal_jacobi, nullptr},
     {"accelerated_gradient", "Nesterov's projected gradient with restarts", kRelaxed | kFixedRules,
      solve_accelerated_gradient, nullptr},
     {"admm", "alternating directions, one factorization", kCones | kFixedRules, solve_admm, nullptr},
     {"newton", "alternating directions, then Newton's method", kCones, solve_admm_newton, nullptr},
     {"interior_point", "the cones' path of interior points; ncp as a fixed point of ccp", kCones,
      solve_cone_path, nullptr},
     {"modified_ppm", "tangential rows eliminated, normal ones pivoted (Drumwright)", kFixedRules,
      solve_reduced, nullptr},
     {"lemke", "Lemke's path", kPolyhedral | kBoxes | kFixedRules, nullptr, solve_lemke},
     {"murty", "principal pivots of least index", kBoxes | kFixedRules, nullptr, solve_murty},
     {"block_pivoting", "all wrong signs at once", kBoxes | kFixedRules, nullptr, solve_block_pivoting},
     {"incremental_pivoting", "one index made right after the other", kBoxes | kFixedRules, nullptr,
      solve_incremental_pivoting},
     {"jacobi", "projected Jacobi", kBoxes | kFixedRules, nullptr, solve_projected_jacobi},
     {"pgs", "projected Gauss-Seidel, row after row", kBoxes | kFixedRules, nullptr, solve_pgs},
     {"psor", "the same, overrelaxed", kBoxes | kFixedRules, nullptr, solve_psor},
     {"symmetric_pgs", "the same, forwards and backwards", kBoxes | kFixedRules, nullptr,
      solve_symmetric_pgs},
     {"pgs_sm", "sweeps guess the bounds, exact answers between them", kBoxes | kFixedRules, nullptr,
      solve_pgs_sm},
     {"nncg", "conjugate directions of sweeps", kBoxes | kFixedRules, nullptr, solve_nncg},
     {"minimum_map_newton", "Newton on the minimum map", kPolyhedral | kBoxes | kFixedRules, nullptr,
      solve_minimum_map_newton},
     {"fischer_burmeister_newton", "Newton on the Fischer-Burmeister function",
      kPolyhedral | kBoxes | kFixedRules, nullptr, solve_fischer_burmeister_newton}}};

constexpr int kMostReleases = 20;
constexpr double kLeaves = 10;  // times the tolerance: u_n of a contact that leaves

// What became of a contact of no_slip and viscous.
enum class Hold : char { as_found, released, kept };

bool can_stick(const RigidOptions& options) {
  return options.model == RigidModel::no_slip ||
         (options.model == RigidModel::viscous && options.viscosity > 0);
}

// Contacts that stick and leave are released: friction holds nothing that does not touch. What presses and
// does not stick sticks from then on, for good: a contact that nothing seemed to close, and one that was
// released and then presses (without friction it would stay, with friction it is lifted: slip with infinite
// friction, Lynch and Mason 1995), which leaves and does not slip while it does. True if there were any.
bool release(const VecX& x, std::vector<Hold>* holds, RigidProblem* problem) {
  const VecX dv = problem->calc_dv(x);
  const double least = kLeaves * problem->options().tolerance * problem->size();
  bool changed = false;
  for (std::size_t i = 0; i < problem->blocks.size(); ++i) {
    RigidBlock& block = problem->blocks[i];
    Hold& hold = (*holds)[i];
    if (!block.is_contact() || hold == Hold::kept) continue;
    const Vec3 at = RigidProblem::segment(block, x);
    const bool presses = at.z() > 0;
    if (presses == block.sticks || (!presses && problem->calc_u(block, dv, at).z() <= least)) continue;
    hold = presses ? Hold::kept : Hold::released;
    block.sticks = presses;
    changed = true;
  }
  return changed;
}

// Bounds of friction by the normal impulses of a solve without it.
void freeze_bounds(const RigidSolver& solver, RigidProblem* problem) {
  RigidProblem without = *problem;
  without.set_model(RigidModel::frictionless);
  const RigidResult result = solver.solve(without, VecX::Zero(problem->num_rows()));
  for (RigidBlock& block : problem->blocks) {
    if (block.is_contact()) block.bound = block.mu * std::max(0.0, result.x[block.row + 2]);
  }
}

// Without slip a contact may be unable to undo its overlap: a box in a corner, where the wall holds what the
// floor would lift. Velocities that keep it always exist.
void keep_overlap(RigidProblem* problem) {
  for (const RigidBlock& block : problem->blocks) {
    if (block.is_contact() && block.gap <= 0 && !block.bounces)
      problem->b[block.row + 2] = problem->free[block.row + 2];
  }
}

RigidResult solve_once(const RigidSolver& solver, const VecX& start, RigidProblem* problem) {
  if (problem->options().model == RigidModel::box_frozen) freeze_bounds(solver, problem);
  RigidResult result = solver.solve(*problem, start);
  if (!result.converged && problem->options().model == RigidModel::no_slip) {
    keep_overlap(problem);
    result = solver.solve(*problem, start);
  }
  std::vector<Hold> holds(problem->blocks.size(), Hold::as_found);
  if (!can_stick(problem->options())) return result;
  for (int round = 0; round < kMostReleases && result.converged && release(result.x, &holds, problem);
       ++round) {
    RigidResult next = solver.solve(*problem, result.x);
    next.iterations += result.iterations;
    if (!next.converged) break;  // the answer before is one for what stuck then
    result = std::move(next);
  }
  return result;
}

// Poisson: what presses together in the first solve, x_c, pushes apart with e x_c,n; a second one sees to it
// that nothing overlaps by that. Friction of the expansion acts where that one presses.
RigidResult solve_expansion(const RigidSolver& solver, const RigidResult& compression,
                            const RigidProblem& problem) {
  VecX x = compression.x;
  for (const RigidBlock& block : problem.blocks) {
    if (block.bounces) x[block.row + 2] += block.restitution * compression.x[block.row + 2];
  }
  RigidProblem expansion = problem;
  expansion.b = problem.calc_u(x);
  for (RigidBlock& block : expansion.blocks) {
    if (!block.is_contact()) block.lower -= x[block.row], block.upper -= x[block.row];
    block.given.setZero();
  }
  RigidResult result = solver.solve(expansion, VecX::Zero(x.size()));
  result.x += x;
  result.iterations += compression.iterations;
  result.converged &= compression.converged;
  return result;
}

}  // namespace

std::span<const RigidSolver> rigid_solvers() {
  return kSolvers;
}

const RigidSolver* find_rigid_solver(const std::string& name) {
  for (const RigidSolver& solver : rigid_solvers()) {
    if (solver.name == name) return &solver;
  }
  return nullptr;
}

const char* default_solver(RigidModel model) {
  if (traits(model).has_cone) return "newton";
  if (traits(model).is_polyhedral) return "lemke";
  return traits(model).has_fixed_rules ? "modified_ppm" : "block_pivoting";
}

std::string solvers_of(RigidModel model) {
  std::string names;
  for (const RigidSolver& solver : rigid_solvers()) {
    if (solver.takes(model)) names += fmt::format("{}{}", names.empty() ? "" : ", ", solver.name);
  }
  return names;
}

std::string rigid_model_table() {
  std::string text = "| model | friction | answers | what to know |\n|---|---|---|---|\n";
  for (const RigidModelTraits& m : kRigidModels)
    text += fmt::format("| `{}` | {} | {} | {} |\n", m.name, m.friction, m.answers, m.note);
  return text;
}

std::string rigid_solver_table() {
  std::string text = "| solver |", line = "|---|";
  for (const RigidModelTraits& model : kRigidModels) {
    text += fmt::format(" {} |", model.name);
    line += "---|";
  }
  text += fmt::format(" how |\n{}---|\n", line);
  for (const RigidSolver& solver : rigid_solvers()) {
    text += fmt::format("| `{}` |", solver.name);
    for (int i = 0; i < kNumRigidModels; ++i)
      text += solver.takes(static_cast<RigidModel>(i)) ? " x |" : "  |";
    text += fmt::format(" {} |\n", solver.what);
  }
  return text;
}

RigidResult RigidSolver::solve(const RigidProblem& problem, const VecX& start) const {
  if (function != nullptr) return function(problem, start);
  const RigidModel model = problem.options().model;
  if (traits(model).is_polyhedral || (model == RigidModel::box && lcp == solve_lemke))
    return solve_polyhedral(problem, *this);
  return solve_boxed(problem, start, *this);
}

RigidResult solve_rigid(const RigidSolver& solver, const VecX& start, RigidProblem* problem) {
  const RigidResult result = solve_once(solver, start, problem);
  if (problem->options().restitution != RigidRestitution::poisson) return result;
  const bool bounces = std::any_of(problem->blocks.begin(), problem->blocks.end(),
                                   [](const RigidBlock& block) { return block.bounces; });
  return bounces ? solve_expansion(solver, result, *problem) : result;
}

}  // namespace capstan
