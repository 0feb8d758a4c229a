#include "capstan/solvers/convex_solver.h"

#include <algorithm>
#include <cmath>

namespace capstan {

// Where to look before the first iteration. What lies or rolls on level ground would swing about its height
// by as much as the tolerance lets it, and need an iteration in every other step: a velocity that leads to
// the right height leads beyond it when it is kept for the next step. So v, which is evaluated, is tried
// without its part along the free motion of the step, or v = 0 if there is hardly anything else. It must be
// slow in that already and need no friction, which a law that is not rigid has only in motion. False: nothing
// to try.
bool ConvexSolver::try_level() {
  if (contacts.empty() || friction > 1e-4 * pressure) return false;
  double now = 0, free = 0, along = 0, fall = 0;
  for (int k = 0; k < v.size(); ++k) {
    const double d = system.scale[k] * system.scale[k], w = system.v_star[k] - system.v0[k];
    now += v[k] * v[k] / d;
    free += d * system.A_v_star[k] * system.A_v_star[k];
    along += w * v[k] / d;
    fall += w * w / d;
  }
  if (now == 0) return false;
  if (now <= 1e-4 * free) {
    v.setZero();
  } else if (along != 0 && std::abs(along) <= 1e-3 * fall) {
    v -= along / fall * (system.v_star - system.v0);
  } else {
    return false;
  }
  evaluate(v, false);
  return true;
}

// Whether the motion may go on as in the last step: what rolls, creeps or turns in a heap mostly does. Makes
// the guess the start, v_best, if it is much nearer than v, which is judged; else all is as it was. True: it
// is the solution.
bool ConvexSolver::try_guess(const NewtonOptions& options, double* cost, IslandResult* result) {
  constexpr double kMuchNearer = 0.3;  // residuals
  const double residual = result->residual;
  system.gather(problem().v_guess, v);
  if (v == v_best) return false;
  const double cost_of_guess = evaluate(v, false);
  if (is_solved(options, options.relative_tolerance, result)) return true;
  if (result->residual < kMuchNearer * residual) {
    v_best = v;
    *cost = cost_of_guess;
    return false;
  }
  v = v_best;
  evaluate(v, false);
  is_solved(options, options.relative_tolerance, result);
  return false;
}

void ConvexSolver::solve_convex(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                                std::span<const int> idle, const Following& following, IslandResult* result) {
  find_solution(options, known, go_on, idle, following, result);
  polish(options, result);
}

// A condensed object follows its touched blocks wherever they go. So whatever residual the tolerance lets
// them have is momentum that the object as a whole gains or loses, where forces within a whole one would
// cancel: steps with the last factor, or else another one of Newton's method, take it to the last digits.
// Where friction is stiff that may lead away from the answer, though the cost falls; then the answer stays.
void ConvexSolver::polish(const NewtonOptions& options, IslandResult* result) {
  constexpr double kExact = 1e-12;
  if (!system.is_condensed() || !result->converged || result->interrupted) return;
  const double before = result->residual;
  if (before <= kExact) return;
  if (polish_with_last_factor(options, result)) return;
  v_best = base + v;
  solve_line_search(options, kExact, result->iterations + 1, result);
  is_solved(options, options.relative_tolerance, result);
  if (!(result->residual <= before)) {
    v = v_best - base;  // which the line search has moved
    evaluate(v, false);
    is_solved(options, options.relative_tolerance, result);
  }
  result->at_round_off = false;
}

// True: that was enough. Else v is the best that was found.
bool ConvexSolver::polish_with_last_factor(const NewtonOptions& options, IslandResult* result) {
  constexpr double kNearlyExact = 1e-10, kContraction = 0.1;
  if (!system.has_factor() || result->has_duals) return false;
  evaluate(v, false);
  is_solved(options, options.relative_tolerance, result);
  for (double last = kInfinity; result->residual > kNearlyExact;) {
    if (!(result->residual < kContraction * last)) return false;
    last = result->residual;
    v_best = v;
    ++result->evaluations;
    system.solve_again(gradient, Adv);
    v += Adv;
    evaluate(v, false);
    is_solved(options, options.relative_tolerance, result);
    if (result->converged && result->residual < last) continue;
    v = v_best;
    evaluate(v, false);
    is_solved(options, options.relative_tolerance, result);
    return false;
  }
  return true;
}

void ConvexSolver::find_solution(const NewtonOptions& options, const NewtonWorkspace& known, bool go_on,
                                 std::span<const int> idle, const Following& following,
                                 IslandResult* result) {
  constexpr double kGood = 1e-3;  // of the tolerance: level enough
  if (go_on) {
    system.gather(known.v, v);
  } else {
    v = system.v0;
  }
  v_best = v;
  double best = evaluate(v, false);
  const bool converged = is_solved(options, options.relative_tolerance, result);
  const double residual = result->residual;
  if (!go_on && residual > kGood * options.relative_tolerance && try_level()) {
    if (is_solved(options, options.relative_tolerance, result) && result->residual < residual) return;
    v = v_best;
    evaluate(v, false);
    is_solved(options, options.relative_tolerance, result);
  }
  if (converged) return;
  if (!go_on && problem().v_guess.size() > 0 && try_guess(options, &best, result)) return;
  if (options.globalization == Globalization::primal_dual) {
    const bool is_warm = start_primal_dual(go_on ? &known : nullptr, *result);
    if (solve_primal_dual(options, known, idle, is_warm ? following.warm : following.cold, result)) return;
  }
  solve_from_best(options, best, result);
}

// By line search, from the best of v_best, whose cost is known, v* and where the primal-dual iteration got
// to.
void ConvexSolver::solve_from_best(const NewtonOptions& options, double best, IslandResult* result) {
  constexpr int kPatience = 60;  // iterations of the line search; nearly all problems need fewer
  if (result->iterations > 0 && v.allFinite()) {
    const double cost = evaluate(v, false);
    if (cost < best) best = cost, v_best = v;
  }
  v = evaluate(system.v_star, false) < best ? system.v_star : v_best;
  const bool stiff_friction = !traits(problem().options.law).is_projection && !contacts.empty();
  solve_line_search(options, options.relative_tolerance,
                    stiff_friction ? std::min(options.max_iterations, result->iterations + kPatience)
                                   : options.max_iterations,
                    result);
  if (!result->converged && v.allFinite()) solve_by_multipliers(options, result);
}

}  // namespace capstan
