// One time step: the only file that knows the whole order.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "capstan/contacts/late_contacts.h"
#include "capstan/dynamics/free_motion.h"
#include "capstan/dynamics/momentum.h"
#include "capstan/problem/problem.h"
#include "capstan/problem/residual.h"
#include "capstan/solvers/newton.h"
#include "capstan/state/state.h"
#include "capstan/step/bounce.h"
#include "capstan/step/close_loops.h"
#include "capstan/step/failures.h"
#include "capstan/step/mechanics.h"
#include "capstan/step/relinearize.h"
#include "capstan/step/sleep.h"
#include "capstan/step/unchanged.h"
#include "capstan/step/withdraw.h"

namespace capstan {

struct RigidMemory;

// Where the wall time of a step went [s].
struct StepTimes {
  double free_motion = 0, collide = 0, assemble = 0, solve = 0, judge = 0, advance = 0;
  double total() const { return free_motion + collide + assemble + solve + judge + advance; }
};

// What one step did: the certificate.
struct Report {
  int free_motion_iterations = 0;   // Newton steps for v*
  double free_motion_residual = 0;  // relative momentum residual |m(v*)| (dynamics/free_motion.h)
  int contacts = 0;                 // of all kinds but those that were withdrawn
  int ahead_contacts = 0;      // of these, of shapes that were apart and meet in the step (contacts/meet.h)
  int late_contacts = 0;       // likewise, found where the velocities led (contacts/late_contacts.h)
  int withdrawn_contacts = 0;  // taken back (step/withdraw.h)
  int bounce_rounds = 0;       // of impacts with restitution (step/bounce.h)
  int asleep = 0;              // trees that sleep after the step
  int woken = 0;               // trees that woke in it
  int reused = 0;              // objects whose answer is that of the step before (model/stage_scope.h)
  double deepest = 0;          // [m] largest overlap at the beginning of the step
  SolverReport solver;         // the contact problem; momentum_residual is the certificate
  Residual judge;  // of the solver's answer, evaluated apart from it; zeros where options say no judge
  StepTimes times;
};

// Memory that steps of one model work in; made once, so that a step allocates nothing.
struct Workspace {
  Motion motion;
  CollisionWorkspace collision;
  LateWorkspace late;
  WithdrawWorkspace withdraw;
  BounceWorkspace bounce;
  RelinearizeWorkspace relinearize;
  VecX v_moving;                       // [dofs] that moves positions, where it is not the state's
  VecX v_led;                          // [dofs] that moves surfaces (dynamics/free_turn.h), likewise
  VecX v_solved;                       // [dofs] the solver's; the state's is told at the end of the step
  std::vector<Vec3> contact_velocity;  // [contacts] before the step, for schemes that move along a mean:
  std::vector<char> is_stopped;        // [blocks] by a contact, which moves along the new velocities
  std::vector<int> tied_trees;         // by rigid constraints
  std::vector<int> touched_trees;      // floating ones, whose momentum is balanced where the answer leads
  std::vector<int> centered_trees;     // and those that touch something and spin fast: StepRun::center_turns
  std::vector<char> centered;          // [objects] scratch memory
  std::vector<int> bent_groups;        // likewise: of contacts that bend (contacts/late_contacts.h)
  std::vector<int> turned;             // trees that turned by the mean of their velocities (step/balance.h)
  Contacts contacts;                   // of the last step, at its beginning; then those that came late
  AssemblyWorkspace assembly;
  Problem problem;
  NewtonWorkspace newton;  // impulses of the last step
  ResidualWorkspace judge;
  LoopWorkspace loops;
  SleepWorkspace sleep;
  UnchangedWorkspace unchanged;
  std::shared_ptr<RigidMemory> rigid;  // impulses of the last step by a rigid model (solve_rigid.cc)
  Input acting;                        // what acts in the step, where the scene adds to it (body_forces.h)
  Placement acting_placement;
  Velocity acting_velocity;
  State next;  // between steps: the state that the last one began with
  Threads threads;

  // In a .cc file: to move and to free all this is much code, which else every file would compile.
  Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  ~Workspace();
};
Workspace make_workspace(const Model& model);

// What the solver of the last step answered, for the judge.
Answer answer(const Workspace& workspace);

struct StepOptions : StepSettings {   // dt, integrator, contact, newton, sleep: all that an answer depends on
  int threads = 1;                    // changes how long a step takes, never its result
  bool judge = true;                  // grade the answer (Report::judge): a few percent of a step
  bool fail_if_not_converged = true;  // else the best iterate is taken, and SolverReport::converged tells
  // [s] of wall time: a step that takes longer fails. No step becomes another one by it, so that runs stay
  // the same bit for bit; how far they get depends on the machine.
  double most_seconds = kInfinity;
  // Becomes true, in another thread or a signal's handler: the step is given up (StepStopped). Not owned.
  const std::atomic<bool>* stop = nullptr;
};
StepOptions step_options(const Model& model);  // those of the scene

// Advances `state` by one step. Throws StepFailure, leaving `state` as it was.
Report step(const Model& model, const StepOptions& options, const Input& input, State* state,
            Workspace* workspace);

}  // namespace capstan
