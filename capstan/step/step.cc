#include "capstan/step/step.h"

#include <fmt/core.h>

#include <algorithm>

#include "capstan/dynamics/free_turn.h"
#include "capstan/model/add_rod.h"
#include "capstan/problem/gap.h"
#include "capstan/step/advance.h"
#include "capstan/step/balance.h"
#include "capstan/step/body_forces.h"
#include "capstan/step/crossings.h"
#include "capstan/step/mocap.h"
#include "capstan/step/solve_contacts.h"

namespace capstan {
namespace {

void fill_report(const Workspace& w, Report* report) {
  const Contacts& contacts = w.contacts;
  report->free_motion_iterations = w.motion.iterations;
  report->free_motion_residual = w.motion.residual;
  report->contacts = contacts.num_points();
  report->ahead_contacts = contacts.count(ContactKind::ahead) + contacts.count(ContactKind::met);
  report->late_contacts = contacts.count(ContactKind::late);
  report->withdrawn_contacts = contacts.count(ContactKind::withdrawn);
  report->asleep = w.sleep.num_asleep;
  report->woken = w.sleep.num_woken;
  report->reused = static_cast<int>(std::count(w.newton.is_reused.begin(), w.newton.is_reused.end(), 1));
  for (int i = 0; i < contacts.late_begin; ++i)
    report->deepest = std::max(report->deepest, -contacts.distance[i]);
}

// Whether what slides is held above the surface: then contacts are needed there.
bool glides(const StepSettings& settings) {
  return settings.rigid.is_on ? settings.rigid.options.model == RigidModel::ccp
                              : traits(settings.contact.law).glides;
}

// A later step may reuse what this one made if nothing was added to it or taken back after the first solve.
bool can_be_reused(const StepSettings& settings, const Report& report) {
  return !settings.rigid.is_on && report.late_contacts == 0 && report.withdrawn_contacts == 0 &&
         report.solver.friction_rounds == 0;
}

Report take_step(const Model& model, const StepOptions& options, const Input& input, const Deadline& deadline,
                 State* state, Workspace* w) {
  StepRun run{model, options, input, deadline, *state, *w, scheme(options.integrator)};
  if (w->threads.count() != options.threads) w->threads = Threads(options.threads);
  if (has_objects_beside_trees(model)) apply_rod_controls(model, state->control, &state->q);
  begin_sleep(model, *state, input, options.dt, options.sleep, &w->sleep);
  find_unchanged(model, w->next, w->newton.v, *state, input, options, &w->unchanged);
  w->unchanged.is_valid = false;  // should this step fail
  for (bool is_solved = false; !is_solved;) {
    const StageScope scope = run.scope();
    calc_free_motion(model, *state, input, options.dt, run.scheme, scope, &w->motion);
    check_free_motion(model, *state, w->motion, options.integrator, options.dt);
    deadline.check();
    run.report.times.free_motion += run.watch.lap();
    collide(
        model, w->motion.placement,
        {&w->motion.velocity, &find_led_velocity(run, w->motion.v_star, false), options.dt, glides(options)},
        scope, &w->collision, &w->contacts);
    run.report.times.collide += run.watch.lap();
    is_solved = !wake_touched(model, w->contacts, &w->sleep) && run.solve_contacts();
  }
  end_relinearization({model, *state, options.dt, run.scheme}, w->problem, w->contacts, w->sleep.asleep,
                      &w->motion, &w->newton);
  if (traits(options.contact.law).finds_bounds && !options.rigid.is_on) set_bounds(w->newton, &w->problem);
  balance_trees(w->problem, *state, run.scheme, run.scope(), w->newton.is_reused, &w->motion, &w->newton.v,
                &w->turned);
  run.report.times.advance += run.watch.lap();
  if (options.judge && !options.rigid.is_on)
    run.report.judge = calc_residual(w->problem, w->contacts, answer(*w), &w->judge);
  run.report.times.judge += run.watch.lap();

  w->v_solved = w->newton.v;
  advance(run, run.scope().threads, &w->next);
  check_finite(model, *state, w->next, options.dt);
  if (options.fail_if_not_converged) {
    check_solver(model, *state, w->newton.islands, run.report.solver);
    check_crossings(model, w->collision, *state, w->next, options.dt);
  }
  fill_report(*w, &run.report);
  w->unchanged.is_valid = can_be_reused(options, run.report);
  std::swap(*state, w->next);
  run.report.times.advance += run.watch.lap();
  return run.report;
}

}  // namespace

Answer answer(const Workspace& w) {
  return {&w.newton.v, w.newton.impulse, w.newton.law_impulse, w.newton.dof_impulse};
}

StepOptions step_options(const Model& model) {
  StepOptions options;
  options.dt = model.options.dt;
  options.integrator = model.options.integrator;
  options.contact = model.options.contact;
  options.sleep = model.options.sleep;
  options.newton.relative_tolerance = model.options.tolerance;
  options.newton.max_iterations = model.options.max_iterations;
  return options;
}

Workspace::Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::~Workspace() = default;

Workspace make_workspace(const Model& model) {
  Workspace w;
  w.motion = make_motion(model);
  w.collision = make_collision_workspace(model);
  w.late = make_late_workspace(model);
  w.newton = make_newton_workspace(model);
  w.loops = make_loop_workspace(model);
  w.tied_trees = find_constrained_trees(model);
  forget_spinners(w.tied_trees, &w.motion);
  w.next = initial_state(model);
  return w;
}

namespace {

void check_activation_sizes(const Model& model, const State& state) {
  const std::ptrdiff_t n = std::ssize(model.actuators);
  if (state.activation.size() == n && state.control.size() == n) return;
  throw InputError({},
                   fmt::format("the state has {} controls and {} activations; the model has {} actuators",
                               state.control.size(), state.activation.size(), n),
                   "begin with initial_state() of the same model");
}

// While a step is taken, `control` of its state is what the gains multiply: activations where there are any.
class ActivationsAsControls {
 public:
  ActivationsAsControls(const Model& model, State* state) : state_(state), control_(state->control) {
    state->control = calc_actuator_inputs(model, *state);
  }
  ~ActivationsAsControls() { state_->control = control_; }

 private:
  State* state_;
  VecX control_;
};

// A step with the controls of the state as they are.
Report step_with_controls(const Model& model, const StepOptions& options, const Input& input, State* state,
                          Workspace* w) {
  const Deadline deadline(options.most_seconds, options.stop);
  const struct Forget {  // the deadline lives no longer than the step
    Problem* problem;
    ~Forget() { problem->deadline = nullptr; }
  } forget{&w->problem};
  try {
    if (!adds_forces(model)) return take_step(model, options, input, deadline, state, w);
    w->acting = input;
    add_body_forces(model, *state, &w->acting_placement, &w->acting_velocity, &w->acting);
    return take_step(model, options, w->acting, deadline, state, w);
  } catch (const Deadline::Passed& passed) {
    const std::string which = fmt::format("step {} at t = {:g} s", state->step, state->time);
    if (passed.stopped) throw StepStopped(which + " was given up on request");
    throw StepFailure(
        fmt::format("{} failed: it takes longer than the {:g} s that a step may take. Allow more, or try "
                    "a smaller time step, softer contact or fewer bodies",
                    which, options.most_seconds));
  }
}

}  // namespace

namespace {

Report step_with_activations(const Model& model, const StepOptions& options, const Input& input, State* state,
                             Workspace* w) {
  if (!model.has_activations) return step_with_controls(model, options, input, state, w);
  check_activation_sizes(model, *state);
  VecX later = state->activation;
  advance_activations(model, options.dt, state);
  later.swap(state->activation);
  check_activations(model, *state, later, options.dt);
  Report report;
  {
    const ActivationsAsControls controls(model, state);
    report = step_with_controls(model, options, input, state, w);
  }
  state->activation = later;
  return report;
}

}  // namespace

Report step(const Model& model, const StepOptions& options, const Input& input, State* state, Workspace* w) {
  const MocapMotion mocap(model, *state, input, options.dt);
  const Report report = step_with_activations(model, options, input, state, w);
  mocap.finish(state);
  return report;
}

}  // namespace capstan
