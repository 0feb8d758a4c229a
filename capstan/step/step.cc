#include "capstan/step/step.h"
#include "capstan/physics/physics.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace capstan {
namespace {

// [m, rad, m/s, rad/s] Positions are 0.1 mm apart there; who falls freely gets so far in five days.
constexpr double kLargest = 1e12;

// Names the first body with a velocity or position that is not finite.
void check_finite(const Model& model, const State& before, const State& after, double dt) {
  const auto largest = [](const VecX& x) { return x.size() > 0 ? x.cwiseAbs().maxCoeff() : 0.0; };
  const bool is_finite = after.q.allFinite() && after.v.allFinite();
  if (is_finite && largest(after.q) <= kLargest && largest(after.v) <= kLargest) return;
  for (const ModelJoint& joint : model.joints) {
    if (!is_finite) break;
    const double q = largest(after.q.segment(joint.q, num_positions(joint.type)));
    const double v = largest(after.v.segment(joint.v, num_velocities(joint.type)));
    if (q <= kLargest && v <= kLargest) continue;
    throw StepFailure(
        fmt::format("step {} at t = {:g} s failed: joint '{}' of body '{}' would get to {:g} (m or rad) at a "
                    "speed of {:g}, "
                    "more than double precision can carry with anything of our size. Try a smaller time step "
                    "than {:g} s, or, "
                    "if it flies off, stop it with a floor, a joint or damping",
                    before.step, before.time, joint.name, model.bodies[joint.body].name, q, v, dt));
  }
  for (const Object& object : model.objects) {
    if (object.is_tree()) continue;
    const auto q = after.q.segment(object.q_begin, object.num_positions());
    const auto v = after.v.segment(object.dof_begin, object.num_dofs());
    if (q.allFinite() && v.allFinite() && largest(q) <= kLargest && largest(v) <= kLargest) continue;
    throw StepFailure(
        fmt::format("step {} at t = {:g} s failed: the {} with body '{}' would get a value that is not "
                    "finite, or farther or "
                    "faster than {:g} (m, m/s or rad/s; largest speed before the step: {:g}). Try a smaller "
                    "time step than "
                    "{:g} s, or integrator semi_implicit or implicit_euler",
                    before.step, before.time, object.physics->kind(),
                    model.bodies[model.links[object.link_begin].body].name, kLargest,
                    before.v.cwiseAbs().maxCoeff(), dt));
  }
  for (const ModelJoint& joint : model.joints) {
    const bool good = after.q.segment(joint.q, num_positions(joint.type)).allFinite() &&
                      after.v.segment(joint.v, num_velocities(joint.type)).allFinite();
    if (good) continue;
    throw StepFailure(fmt::format(
        "step {} at t = {:g} s failed: joint '{}' of body '{}' would get a value that is not finite (largest "
        "speed before "
        "the step: {:g}). Try a smaller time step than {:g} s, or integrator semi_implicit or implicit_euler",
        before.step, before.time, joint.name, model.bodies[joint.body].name, before.v.cwiseAbs().maxCoeff(),
        dt));
  }
}

void check_free_motion(const Model& model, const State& state, const Motion& motion,
                       const StepOptions& options) {
  if (!motion.v_star.allFinite()) {
    State next = state;
    next.v = motion.v_star;
    check_finite(model, state, next, options.dt);
  }
  if (motion.converged) return;
  throw StepFailure(
      fmt::format("step {} at t = {:g} s failed: the free motion of integrator {} did not converge in {} "
                  "iterations (relative "
                  "residual {:.1e}). Try a smaller time step than {:g} s",
                  state.step, state.time, integrator_name(options.integrator), motion.iterations,
                  motion.residual, options.dt));
}

// Names the island's first body, so that a user finds the place.
void check_solver(const Model& model, const State& state, const Islands& islands,
                  const SolverReport& report) {
  if (report.converged) return;
  const Island& island = islands.list[std::max(0, report.worst_island)];
  const Object& object = model.objects[islands.objects[island.object_begin]];
  throw StepFailure(fmt::format(
      "step {} at t = {:g} s failed: contact and constraints did not converge (relative momentum "
      "residual {:.1e} after {} "
      "iterations{}) among the {} object(s) with body '{}'. Try a smaller time step, softer contact, "
      "or let the run go on with "
      "the best iterate",
      state.step, state.time, report.momentum_residual, report.most_iterations,
      report.at_round_off ? ", all that round-off lets see" : "", island.object_end - island.object_begin,
      model.bodies[model.links[object.link_begin].body].name));
}

constexpr int kDofsToMove = 48;  // for one thread at a time
// Where less than this moves, 28 free bodies or a robot of 32 dofs, one thread is faster than several.
constexpr int kSquaredDofsForThreads = 1000;
constexpr int kMostRevisions = 8;   // where heaps land hard; nearly all steps have none
constexpr double kLenience = 1.25;  // where a large heap lands, what stops one body sends another one off

// Trees on which only constraints between their own links act keep their momentum exactly, too.
void balance_trees_with_inner_constraints(const Model& model, const State& state, double dt,
                                          const Scheme& theta, Workspace* w) {
  if (!model.options.conserve_momentum) return;
  const Problem& problem = w->problem;
  enum : char { kFree, kInner, kOuter };
  w->tree_kind.assign(model.trees.size(), kFree);
  const auto root_dofs_end = [&](int tree) { return model.links[model.trees[tree].link_begin].dof_end; };
  for (const DofLaw& law : problem.dof_laws) {
    const int tree = model.dofs[law.dof].object;
    if (!model.objects[tree].is_tree()) continue;
    const char kind = law.dof < root_dofs_end(tree) ? kOuter : kInner;
    w->tree_kind[tree] = std::max(w->tree_kind[tree], kind);
  }
  for (const ConstraintGroup& group : problem.groups) {
    for (int p = group.part_begin; p < group.part_end; ++p) {
      // A constraint within the tree does not see the root move: those columns cancel to zero exactly.
      const int tree = problem.parts[p].block;  // and its block
      if (!model.object_of_block(tree).is_tree()) continue;
      const int n = root_dofs_end(tree) - model.trees[tree].dof_begin;
      if (w->tree_kind[tree] == kOuter) continue;
      const double* J = problem.jacobians.data() + problem.parts[p].jacobian;
      const bool moved = std::any_of(J, J + n * group.num_rows, [](double x) { return x != 0; });
      w->tree_kind[tree] = std::max(w->tree_kind[tree], moved ? char{kOuter} : char{kInner});
    }
  }
  for (int t = 0; t < static_cast<int>(model.trees.size()); ++t) {
    if (w->tree_kind[t] == kInner && w->newton.is_kept[t] == 0 && conserves_momentum(model, t)) {
      balance_after_constraints(model, state, dt, theta, t, &w->motion, &w->newton.v);
    }
  }
}

// For one thread at a time.
int num_objects_to_move(const Model& model) {
  return std::max(1, kDofsToMove * model.num_objects() / std::max(1, model.num_velocities()));
}

// Looks where the velocities of the solver lead. Contacts that hold apart what would not have met are
// withdrawn; pairs that are deeper there than their contacts tell get late ones. True when there is any such:
// new groups of contacts are then the last ones. Laws of contact take v for the motion of the step, whatever
// the scheme makes of it.
bool revise_contacts(const Model& model, const State& state, double dt, bool glides, const Threads& threads,
                     Workspace* w) {
  const bool any_late = find_late_pairs(model, w->motion.placement, w->newton.v, dt, w->sleep.asleep,
                                        w->contacts, threads, &w->collision, &w->late);
  w->next.v = moving_velocity(w->bounce, w->newton.v, 1, &w->v_moving);  // which withdrawn contacts change
  const bool withdrawn = withdraw_contacts(model, w->collision, w->late, glides, &w->withdraw, &w->contacts,
                                           &w->problem, &w->newton);
  if (!any_late) return withdrawn;
  w->next.q = state.q;
  const std::vector<int>& objects = w->late.objects;
  threads.for_each_block(
      static_cast<int>(objects.size()), num_objects_to_move(model), [&](int begin, int end) {
        for (int k = begin; k < end; ++k) {
          move_on(model, state, w->next.v, dt, objects[k], &w->motion, &w->next.q, &w->late.end);
        }
      });
  return add_late_contacts(model, w->motion.placement, dt, threads, w->collision, &w->late, &w->contacts) ||
         withdrawn;
}

// Until forces of objects are those at the velocities of the answer.
void relinearize(const Model& model, const State& state, double dt, const Scheme& theta,
                 const NewtonOptions& newton, const Threads& threads, Workspace* w, SolverReport* report) {
  if (newton.rough) return;  // the answer is not one yet
  const int failed =
      relinearize({model, state, dt, theta}, w->sleep.asleep, !w->bounce.impulse.empty(), newton, threads,
                  &w->motion, &w->problem, &w->newton, &w->relinearize, report);
  if (failed < 0) return;
  const Object& object = model.objects[failed];
  const ObjectMotion& motion = motion_of(model, w->motion, failed);
  throw StepFailure(fmt::format(
      "step {} at t = {:g} s failed: the forces of the {} with body '{}' did not converge (relative momentum "
      "residual {:.1e} after {} Newton steps): it turns or bends too much in one step. Try a smaller time "
      "step "
      "than {:g} s, more damping{}",
      state.step, state.time, object.physics->kind(), model.bodies[model.links[object.link_begin].body].name,
      motion.residual, motion.iterations, dt,
      theta.theta1 < 1 ? ", or integrator semi_implicit, which damps fast vibrations" : ""));
}

// Whether enough objects move.
bool is_work_for_threads(const Model& model, const Workspace& w) {
  const auto is = [](const std::vector<char>& list, int object) {
    return !list.empty() && list[object] != 0;
  };
  int work = 0;
  for (int b = 0; b < static_cast<int>(model.blocks.size()) && work < kSquaredDofsForThreads; ++b) {
    const int object = model.blocks[b].object, n = model.blocks[b].size;
    if (!is(w.unchanged.objects, object) && !is(w.sleep.asleep, object)) work += n * n;
  }
  return work >= kSquaredDofsForThreads;
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
  w.next = initial_state(model);
  return w;
}

namespace {

Report take_step(const Model& model, const StepOptions& options, const Input& input, const Deadline& deadline,
                 State* state, Workspace* w) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  const auto lap = [&last] {
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last).count();
    last = now;
    return seconds;
  };
  Report report;
  if (w->threads.count() != options.threads) w->threads = Threads(options.threads);
  const double dt = options.dt;
  const Scheme theta = scheme(options.integrator);
  const bool glides = options.contact.law == ContactLaw::sap || options.contact.law == ContactLaw::similar;
  const bool is_coulomb = options.contact.law == ContactLaw::coulomb;
  begin_sleep(model, *state, input, dt, options.sleep, &w->sleep);
  find_unchanged(model, w->next, *state, input,
                 {dt, options.integrator, options.contact, options.newton, options.sleep, model.options},
                 &w->unchanged);
  w->unchanged.is_known = false;  // should this step fail
  const Threads one;
  const Threads& threads = w->threads.count() > 1 && is_work_for_threads(model, *w) ? w->threads : one;
  for (bool again = true; again;) {
    calc_free_motion(model, *state, input, dt, theta, w->sleep.asleep, w->unchanged.objects, threads,
                     &w->motion);
    check_free_motion(model, *state, w->motion, options);
    deadline.check();
    report.times.free_motion += lap();
    collide(model, w->motion.placement, {&w->motion.velocity, &w->motion.v_star, dt, glides}, w->sleep.asleep,
            w->unchanged.objects, threads, &w->collision, &w->contacts);
    report.times.collide += lap();
    again = wake_touched(model, w->contacts, &w->sleep);
    if (again) continue;
    assemble(model, *state, input, w->motion, w->contacts, dt, options.contact, &w->assembly, &w->problem,
             w->sleep.asleep, w->unchanged.objects, threads);
    add_drives(*state, theta, &w->motion, &w->assembly, &w->problem);
    w->problem.deadline = &deadline;
    deadline.check();
    report.bounce_rounds = bounce(model, theta, true, &w->contacts, &w->motion, &w->problem, &w->bounce);
    report.times.assemble += lap();
    begin_late_contacts(&w->late);
    NewtonOptions newton = options.newton;
    const std::vector<double>& ways = w->collision.way;
    newton.rough = model.num_objects() >= kObjectsForRough && !ways.empty() &&
                   is_fast(*std::max_element(ways.begin(), ways.end()), w->late);
    newton.settle_friction = false;
    begin_relinearization(*state, &w->relinearize);
    report.solver = solve_newton(w->problem, newton, threads, &w->newton, w->assembly.kept);
    relinearize(model, *state, dt, theta, newton, threads, w, &report.solver);
    report.times.solve += lap();
    for (int round = 0; !again; ++round) {
      const int groups = w->contacts.num_groups();
      int bounced = 0;
      const bool revised = round < kMostRevisions && revise_contacts(model, *state, dt, glides, threads, w);
      if (!revised && !report.solver.unfinished) break;
      deadline.check();
      if (revised) {
        report.times.collide += lap();
        again = wake_touched(model, w->contacts, &w->sleep);
        if (again) break;
        add_late_contacts(*state, input, w->contacts, groups, &w->assembly, &w->problem, threads);
        add_drives(*state, theta, &w->motion, &w->assembly, &w->problem);
        bounced = bounce(model, theta, false, &w->contacts, &w->motion, &w->problem, &w->bounce);
        report.bounce_rounds += bounced;
        report.times.assemble += lap();
      }
      if (newton.rough && report.solver.unfinished) w->late.lenience *= kLenience;
      newton.rough = newton.rough && revised;
      newton.settle_friction = !revised;
      if (bounced > 0) {  // v* is another one
        SolverReport anew = solve_newton(w->problem, newton, threads, &w->newton, w->assembly.kept);
        anew.add_effort(report.solver);
        report.solver = anew;
      } else {
        solve_newton_further(w->problem, newton, threads, &w->newton, &report.solver);
      }
      relinearize(model, *state, dt, theta, newton, threads, w, &report.solver);
      report.times.solve += lap();
    }
  }
  report.times.collide += lap();
  end_relinearization({model, *state, dt, theta}, w->sleep.asleep, w->newton.v, &w->motion);
  if (is_coulomb) set_bounds(w->newton, &w->problem);
  if (options.judge) report.judge = calc_residual(w->problem, w->contacts, answer(*w), &w->judge);
  report.times.judge = lap();
  balance_trees_with_inner_constraints(model, *state, dt, theta, w);
  const VecX& v = w->newton.v;

  w->next = *state;
  w->next.v = v;
  move_on(model, *state, moving_velocity(w->bounce, v, theta.theta_vq, &w->v_moving), dt, theta.theta_vq,
          threads, &w->motion, &w->next.q);
  close_loops(model, w->problem, w->newton.law_impulse, &w->loops, &w->next.q);
  end_sleep(model, *state, input, w->motion.placement, w->problem, dt, options.sleep, &w->sleep, &w->next);
  w->next.a = (w->next.v - state->v) / dt;
  w->next.step = state->step + 1;
  w->next.time = state->time + dt;
  check_finite(model, *state, w->next, dt);
  if (options.fail_if_not_converged) check_solver(model, *state, w->newton.islands, report.solver);
  std::swap(*state, w->next);

  report.free_motion_iterations = w->motion.iterations;
  report.free_motion_residual = w->motion.residual;
  report.contacts = w->contacts.size() - w->contacts.count(ContactKind::withdrawn);
  report.ahead_contacts = w->contacts.count(ContactKind::ahead) + w->contacts.count(ContactKind::met);
  report.late_contacts = w->contacts.count(ContactKind::late);
  report.withdrawn_contacts = w->contacts.count(ContactKind::withdrawn);
  report.asleep = w->sleep.num_asleep;
  report.woken = w->sleep.num_woken;
  report.kept = static_cast<int>(std::count(w->newton.is_kept.begin(), w->newton.is_kept.end(), 1));
  w->unchanged.is_known =
      report.late_contacts == 0 && report.withdrawn_contacts == 0 && report.solver.friction_rounds == 0;
  for (int i = 0; i < w->contacts.late_begin; ++i)
    report.deepest = std::max(report.deepest, -w->contacts.distance[i]);
  report.times.advance = lap();
  return report;
}

}  // namespace

Report step(const Model& model, const StepOptions& options, const Input& input, State* state, Workspace* w) {
  const Deadline deadline(options.most_seconds, options.stop);
  const struct Forget {  // the deadline lives no longer than the step
    Problem* problem;
    ~Forget() { problem->deadline = nullptr; }
  } forget{&w->problem};
  try {
    return take_step(model, options, input, deadline, state, w);
  } catch (const Deadline::Passed& passed) {
    const std::string which = fmt::format("step {} at t = {:g} s", state->step, state->time);
    if (passed.stopped) throw StepStopped(which + " was given up on request");
    throw StepFailure(
        fmt::format("{} failed: it takes longer than the {:g} s that a step may take. Allow more, or try "
                    "a smaller time step, softer contact or fewer bodies",
                    which, options.most_seconds));
  }
}

Mechanics calc_mechanics(const Model& model, const State& state) {
  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  calc_placement(model, state.q, &placement);
  calc_velocity(model, placement, state.v, &velocity);
  Mechanics m;
  m.kinetic = calc_kinetic_energy(model, placement, velocity, state.v);
  m.gravity = calc_gravity_energy(model, placement);
  m.spring = calc_spring_energy(model, state.q);
  m.momentum = calc_momentum(model, placement, velocity);
  m.center_of_mass = calc_center_of_mass(model, placement);
  Vec3 moment = Vec3::Zero();
  double mass = 0;
  for (const Object& object : model.objects) {
    if (object.is_tree()) continue;
    const auto q = state.q.segment(object.q_begin, object.num_positions());
    const auto v = state.v.segment(object.dof_begin, object.num_dofs());
    Vec3 own;
    const double own_mass = object.physics->calc_mass(q, &own);
    mass += own_mass;
    moment += own;
    m.kinetic += object.physics->calc_kinetic_energy(q, v);
    m.spring += object.physics->calc_elastic_energy(q);
    m.gravity -= model.options.gravity.dot(own);
    m.momentum += object.physics->calc_momentum(q, v);
  }
  if (mass > 0) {
    const double of_trees = total_mass(model);
    m.center_of_mass = (of_trees * m.center_of_mass + moment) / (of_trees + mass);
  }
  return m;
}

}  // namespace capstan
