// The middle of a step: from contacts to velocities. Internal to step/.
//
// Contacts are found where bodies are and where they would go freely. The answer leads elsewhere, so it is
// looked at: contacts that hold apart what would not have met are withdrawn, pairs that get deeper than their
// contacts tell get late ones, and the solver goes on from where it is, in rounds, until nothing is to be
// revised.
#pragma once

#include <chrono>

#include "capstan/step/step.h"

namespace capstan {

class Stopwatch {
 public:
  double lap() {  // [s] since the last call, or the beginning
    const Clock::time_point before = last_;
    last_ = Clock::now();
    return std::chrono::duration<double>(last_ - before).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

// Whether a group of contacts, which is not empty, is between links of one object.
inline bool touches_itself(const Model& model, const Contacts& contacts, const ConstraintGroup& group) {
  const int a = contacts.link_a[group.contact_begin], b = contacts.link_b[group.contact_begin];
  return a != 0 && b != 0 && model.links[a].object == model.links[b].object;
}

// A step under way.
struct StepRun {
  const Model& model;
  const StepOptions& options;
  const Input& input;
  const Deadline& deadline;
  const State& state;  // at its beginning
  Workspace& w;
  Scheme scheme;
  Report report = {};
  Stopwatch watch = {};

  // What stages may leave out, and how many threads are worth it.
  StageScope scope() const;
  // [m/s] at which gravity may close contacts at rest.
  double speed_at_rest() const { return 2 * model.options.gravity.norm() * options.dt; }
  // Solves with the contacts found by collide(), and revises them. False: something that sleeps was touched
  // and woke, so that the step has to begin anew.
  bool solve_contacts();
  // The same with a complementarity model, without rounds: contacts are those that collide() found.
  void solve_rigid();
  // Solves on until the velocity terms of trees in loops are those at the mean velocity of the step.
  void center_turns(const NewtonOptions& newton, const StageScope& scope);
  // The same of their momenta, with schemes that move positions along mean velocities.
  void center_momenta(const NewtonOptions& newton, const StageScope& scope);
  // Solves on until floating trees that touch something have the momentum that impulses give them where the
  // answer leads.
  void begin_balance(const StageScope& scope);
  void balance_momenta(const NewtonOptions& newton, const StageScope& scope);
  // Solves on until forces of objects are those at the velocities of the answer, unless that is a rough one.
  void relinearize_objects(const NewtonOptions& newton, const StageScope& scope);
};

}  // namespace capstan
