// What makes a step fail, each with a message that says when, where and what to try.
#pragma once

#include <stdexcept>

#include "capstan/dynamics/free_motion.h"
#include "capstan/problem/islands.h"
#include "capstan/solvers/report.h"

namespace capstan {

// A step could not be made; the state before it is intact. what() says when, where and why.
class StepFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A step was given up because somebody asked for that (StepOptions::stop).
class StepStopped : public StepFailure {
 public:
  using StepFailure::StepFailure;
};

// Each throws StepFailure. A velocity or position that is not finite, or too large for double precision:
void check_finite(const Model& model, const State& before, const State& after, double dt);
// An activation that is not finite at the end of the step:
void check_activations(const Model& model, const State& before, const VecX& after, double dt);
// A free motion that did not converge:
void check_free_motion(const Model& model, const State& state, const Motion& motion, Integrator integrator,
                       double dt);
// Forces of an object that did not (relinearize() in step/relinearize.h tells which; -1: none):
void check_objects(const Model& model, const State& state, const Motion& motion, int failed, double dt,
                   const Scheme& scheme);
// Contacts and constraints that did not:
void check_solver(const Model& model, const State& state, const Islands& islands, const SolverReport& report);

}  // namespace capstan
