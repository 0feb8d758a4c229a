// Random contact problems: bodies thrown together over a floor, with masses, stiffnesses and frictions over
// many decades. Shared by the tests of solvers and by the program `convergence`.
#pragma once

#include <memory>

#include "capstan/problem/residual.h"
#include "capstan/solvers/newton.h"
#include "tests/support/random_scene.h"

namespace capstan::test {

// `n` free bodies (spheres, boxes, capsules of 5 cm) about as far apart as they are large; one material.
Scene random_heap(Random& random, int n, double mass_decades);

// Everything about one step up to and including its convex problem, and room for the answer. Not to be
// copied: the parts point to one another.
struct StepProblem {
  Model model;
  State state;
  Motion motion;
  Contacts contacts;
  Problem problem;
  AssemblyWorkspace assembly;
  NewtonWorkspace newton;

  StepProblem(const Scene& scene, Random& random, double speed, double dt, const ContactOptions& options);
  StepProblem(const StepProblem&) = delete;

  SolverReport solve(const NewtonOptions& options) { return solve_newton(problem, options, &newton); }
  Answer answer() const { return {&newton.v, newton.impulse, newton.law_impulse, newton.dof_impulse}; }
};

// What random_problem() draws. Each number is drawn anew for each problem.
enum class Difficulty {
  ordinary,  // 1 to 12 bodies, masses within a factor of 10, k 1e3 to 1e7 N/m, mu 0 to 1, speeds to 10 m/s
  extreme,   // 1 to 60 bodies, mass ratios to 1e6, k 1e2 to 1e12 N/m and different from body to body, mu 0 to
             // 10, shapes listed twice (every contact doubled), overlaps as deep as a body, speeds to 100 m/s
};

// Problem number `index`: always the same one.
std::unique_ptr<StepProblem> random_problem(Difficulty difficulty, ContactLaw law, int index);

}  // namespace capstan::test
