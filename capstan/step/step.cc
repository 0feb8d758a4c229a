#include "capstan/step/step.h"

#include <fmt/core.h>

#include <algorithm>

#include "capstan/dynamics/free_turn.h"
#include "capstan/dynamics/lone_turn.h"
#include "capstan/dynamics/offset_body.h"
#include "capstan/model/add_rod.h"
#include "capstan/problem/gap.h"
#include "capstan/step/balance.h"
#include "capstan/step/body_forces.h"
#include "capstan/step/mocap.h"
#include "capstan/step/solve_contacts.h"

namespace capstan {
namespace {

// The velocity that moves positions: v, with what bounces change. Where the scheme moves positions along the
// mean of old and new velocities, what a contact stops would go on into it by half of its old way: it moves
// along the new ones. Of rods and soft bodies only the nodes that are touched: what vibrates in the rest
// would gain energy.
const VecX& find_moving_velocity(const StepRun& run, const VecX& v) {
  constexpr double kMostFalls = 2;  // g dt^2 that contacts at rest may close in a step
  Workspace& w = run.w;
  const double dt = run.options.dt, theta_vq = run.scheme.theta_vq;
  const VecX& moving = moving_velocity(w.bounce, v, theta_vq, &w.v_moving);
  if (theta_vq == 0 || theta_vq == 1 || w.contacts.size() == 0) return moving;
  calc_contact_velocities(w.problem, run.state.v, &w.contact_velocity);
  const double fast = kMostFalls * run.model.options.gravity.norm() * dt;
  w.is_stopped.assign(run.model.blocks.size(), 0);
  bool any = false;
  for (const ConstraintGroup& group : w.problem.groups) {
    bool stops = false;
    for (int i = group.contact_begin; i < group.contact_end && !stops; ++i)
      stops = w.contact_velocity[i].z() < -fast && w.newton.impulse[i].z() > 0;
    if (!stops) continue;
    const int a = w.contacts.link_a[group.contact_begin], b = w.contacts.link_b[group.contact_begin];
    // What touches itself keeps its momentum only as the scheme moves it.
    if (a != 0 && b != 0 && run.model.links[a].object == run.model.links[b].object) continue;
    for (int p = group.part_begin; p < group.part_end; ++p) w.is_stopped[w.problem.parts[p].block] = 1;
    any = true;
  }
  if (!any) return moving;
  if (&moving != &w.v_moving) w.v_moving = moving;
  for (std::size_t i = 0; i < run.model.blocks.size(); ++i) {
    if (w.is_stopped[i] == 0) continue;
    const DofBlock& block = run.model.blocks[i];
    w.v_moving.segment(block.dof_begin, block.size) +=
        (1 - theta_vq) / theta_vq *
        (v.segment(block.dof_begin, block.size) - run.state.v.segment(block.dof_begin, block.size));
  }
  return w.v_moving;
}

// Velocities that lead where surfaces go when bodies move at v.
const VecX& find_led_velocity(const StepRun& run, const VecX& v, bool at_end) {
  Workspace& w = run.w;
  if (!has_spinners(w.motion)) return v;
  w.v_led = v;
  take_out_spins(run.model, w.motion, run.options.dt, at_end, &w.v_led);
  return w.v_led;
}

// Velocities of the answer as they are told after the step.
void end_velocities(const StepRun& run, VecX* v) {
  for (int t = 0; t < static_cast<int>(run.model.trees.size()); ++t) {
    const bool is_told = std::binary_search(run.w.turned.begin(), run.w.turned.end(), t);
    if (!is_told && has_offset(run.model, run.w.motion, t))
      tell_at_end(run.model, run.w.motion, run.options.dt, t,
                  calc_led_turn(run.model, run.w.motion, run.options.dt, t,
                                v->segment<3>(run.model.trees[t].dof_end - 3)),
                  v);
  }
}

// The same of those by which bodies turned, now that they are where these lead.
void end_turns(const StepRun& run, State* next) {
  Workspace& w = run.w;
  for (int t = 0; t < static_cast<int>(run.model.trees.size()); ++t) {
    if (w.newton.is_reused[t] != 0) continue;
    end_free_turn(run.model, next->q, run.options.dt, t, w.motion, &w.newton.v);
  }
  next->v = w.newton.v;
}

// The state after the step: velocities of the answer, and where they lead.
void advance(const StepRun& run, const Threads& threads, State* next) {
  Workspace& w = run.w;
  const double dt = run.options.dt, theta_vq = run.scheme.theta_vq;
  *next = run.state;
  end_velocities(run, &w.newton.v);
  next->v = w.newton.v;
  const VecX& moving = find_moving_velocity(run, next->v);
  move_on(run.model, run.state, find_led_velocity(run, moving, true), dt, theta_vq, threads, &w.motion,
          &next->q);
  add_spins(run.model, w.motion, dt, run.state.q, moving, &next->q);
  for (const int tree : w.turned)
    move_lone_turn(run.model, run.state, next->v, dt, tree, &w.motion, &next->q);
  if (run.options.close_loops) close_loops(run.model, w.problem, w.newton.law_impulse, &w.loops, &next->q);
  end_turns(run, next);
  end_sleep(run.model, run.state, run.input, w.motion.placement, w.problem, dt, run.options.sleep, &w.sleep,
            next);
  next->a = (next->v - run.state.v) / dt;
  next->step = run.state.step + 1;
  next->time = run.state.time + dt;
}

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
  if (options.fail_if_not_converged) check_solver(model, *state, w->newton.islands, run.report.solver);
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
