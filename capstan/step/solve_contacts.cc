#include "capstan/step/solve_contacts.h"

#include <algorithm>

#include "capstan/dynamics/center_momentum.h"
#include "capstan/dynamics/free_turn.h"
#include "capstan/dynamics/struck_objects.h"
#include "capstan/physics/rod.h"
#include "capstan/problem/ties_midway.h"
#include "capstan/step/balance.h"

namespace capstan {
namespace {

constexpr int kDofsToMove = 48;  // for one thread at a time
// Where less than this moves, 28 free bodies or a robot of 32 dofs, one thread is faster than several.
constexpr int kSquaredDofsForThreads = 1000;
constexpr int kMostRevisions = 8;  // where heaps land hard; nearly all steps have none
constexpr double kToleranceGrowth =
    1.25;  // where a large heap lands, what stops one body sends another one off

// Whether enough objects move.
bool is_work_for_threads(const Model& model, const StageScope& scope) {
  int work = 0;
  for (int b = 0; b < static_cast<int>(model.blocks.size()) && work < kSquaredDofsForThreads; ++b) {
    const int object = model.blocks[b].object, n = model.blocks[b].size;
    if (!scope.is_unchanged(object) && !scope.is_asleep(object)) work += n * n;
  }
  return work >= kSquaredDofsForThreads;
}

void move_to_end(const StepRun& run, const std::vector<int>& objects, const Threads& threads) {
  Workspace& w = run.w;
  const int at_a_time =
      std::max(1, kDofsToMove * run.model.num_objects() / std::max(1, run.model.num_velocities()));
  threads.for_each_block(static_cast<int>(objects.size()), at_a_time, [&](int begin, int end) {
    for (int k = begin; k < end; ++k) {
      move_on(run.model, run.state, w.next.v, run.options.dt, objects[k], &w.motion, &w.next.q, &w.late.end);
    }
  });
}

// Tells the problem of contacts whose gaps were found to bend. Whether there are any.
bool take_bent_gaps(Workspace* w) {
  w->bent_groups.clear();
  for (const LateWorkspace::Bent& x : w->late.bent) {
    w->problem.contacts[x.contact].bias.z() += x.rate;
    const auto group = std::find_if(
        w->problem.groups.begin(), w->problem.groups.end(),
        [&](const ConstraintGroup& g) { return g.contact_begin <= x.contact && x.contact < g.contact_end; });
    w->bent_groups.push_back(static_cast<int>(group - w->problem.groups.begin()));
  }
  reopen_islands(w->problem, w->bent_groups, &w->newton);
  return !w->bent_groups.empty();
}

// Looks where the velocities of the solver lead. True when contacts were withdrawn, late ones found, or gaps
// of others bend: new groups of contacts are then the last ones. Laws of contact take v for the motion of the
// step, whatever the scheme makes of it.
bool revise_contacts(const StepRun& run, const StageScope& scope) {
  const Model& model = run.model;
  const double dt = run.options.dt;
  Workspace& w = run.w;
  w.next.v = moving_velocity(w.bounce, w.newton.v, 1, &w.v_moving);
  take_out_spins(model, w.motion, dt, false, &w.next.v);
  const bool any_late =
      find_late_pairs(model, w.motion.placement, w.next.v, dt, w.contacts, scope, &w.collision, &w.late);
  const bool withdrawn = withdraw_contacts(model, w.collision, w.late, traits(run.options.contact.law).glides,
                                           w.next.v, &w.withdraw, &w.contacts, &w.problem, &w.newton);
  if (!any_late) return withdrawn;
  w.next.q = run.state.q;
  move_to_end(run, w.late.objects, scope.threads);
  const bool added =
      add_late_contacts(model, w.motion.placement, dt, scope.threads, w.collision, &w.late, &w.contacts);
  return take_bent_gaps(&w) || added || withdrawn;
}

// Trees whose turns are taken again where the answer leads: those held by constraints, and bodies of
// revolution that nod fast while something touches them, so that an impulse of the step's beginning soon acts
// across where it did.
void find_centered_trees(const StepRun& run) {
  constexpr double kFastNod = 0.2;  // [rad] in a step
  Workspace& w = run.w;
  w.centered_trees = w.tied_trees;
  if (!has_spinners(w.motion)) return;
  const auto add = [&](int link) {
    const int tree = run.model.links[link].object;
    if (link == 0 || !run.model.objects[tree].is_tree()) return;
    if (run.options.dt * calc_nodding(run.model, w.motion, run.state.v, tree) < kFastNod) return;
    std::vector<int>& trees = w.centered_trees;
    if (std::find(trees.begin(), trees.end(), tree) == trees.end()) trees.push_back(tree);
  };
  for (int i = 0; i < w.contacts.size(); ++i) add(w.contacts.link_a[i]), add(w.contacts.link_b[i]);
}

// Strikes the rods that meet others fast in this step (dynamics/struck_objects.h), with tangents at u. Tells
// which, for the solver to go on with these. [objects]
bool strike_rods(const StepRun& run, const VecX& u, std::vector<char>* struck) {
  const Model& model = run.model;
  Workspace& w = run.w;
  if (!moves_along_mean(run.scheme) || !has_objects_beside_trees(model)) return false;
  const double dt = run.options.dt;
  calc_contact_velocities(w.problem, run.state.v, &w.contact_velocity);
  const auto meets = [&](int i) {
    const double rate = w.contact_velocity[i].z();
    return rate < -run.speed_at_rest() && w.contacts.distance[i] + dt * rate < 0;
  };
  struck->assign(model.num_objects(), 0);
  bool any = false;
  for (const ConstraintGroup& group : w.problem.groups) {
    bool is_met = false;
    for (int i = group.contact_begin; i < group.contact_end && !is_met; ++i) is_met = meets(i);
    if (!is_met || touches_itself(model, w.contacts, group)) continue;
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const int object = model.blocks[w.problem.parts[p].block].object;
      if (dynamic_cast<const Rod*>(model.objects[object].physics.get()) == nullptr ||
          is_struck(w.motion, object))
        continue;
      strike_object({model, run.state, dt, run.scheme}, object, u, &w.motion);
      (*struck)[object] = 1;
      any = true;
    }
  }
  return any;
}

// Whether a large heap moves so fast that contacts will be revised: then a rough answer comes first.
bool begins_rough(const StepRun& run) {
  const std::vector<double>& ways = run.w.collision.way;
  return run.model.num_objects() >= kObjectsForRough && !ways.empty() &&
         is_fast(*std::max_element(ways.begin(), ways.end()), run.w.late);
}

}  // namespace

StageScope StepRun::scope() const {
  const StageScope alone{.asleep = w.sleep.asleep, .unchanged = w.unchanged.objects};
  if (w.threads.count() == 1 || !is_work_for_threads(model, alone)) return alone;
  return {.asleep = w.sleep.asleep, .unchanged = w.unchanged.objects, .threads = w.threads};
}

void StepRun::relinearize_objects(const NewtonOptions& newton, const StageScope& scope) {
  if (newton.rough) return;
  const int failed =
      relinearize({model, state, options.dt, scheme}, scope.asleep, !w.bounce.impulse.empty(), newton,
                  scope.threads, &w.motion, &w.problem, &w.newton, &w.relinearize, &report.solver);
  check_objects(model, state, w.motion, failed, options.dt, scheme);
}

void StepRun::center_momenta(const NewtonOptions& newton, const StageScope& scope) {
  constexpr int kMostPasses = 8;
  constexpr double kContraction = 0.7;
  constexpr double kSettled = 1e-6;      // relative changes of velocities, below which constraints stay
  constexpr double kOfTolerance = 1e-3;  // what is left of an answer is to the same side in each step: energy
                                         // fell by 1.6 % in 20 s at 0.5 ms
  if (w.tied_trees.empty()) return;
  NewtonOptions exact = newton;
  exact.relative_tolerance *= kOfTolerance;
  const auto move_ties = [&](const VecX& v) {
    move_ties_midway({state, input, w.motion, w.contacts}, v, scope, &w.assembly, &w.problem, &w.centered);
  };
  double last = kInfinity;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    w.centered.assign(model.objects.size(), 0);
    double most = 0;
    for (const int tree : w.tied_trees) {
      if (scope.is_asleep(tree) || w.newton.is_reused[tree] != 0) continue;
      w.centered[tree] = 1;
      most = std::max(most, center_momentum(model, state, options.dt, scheme, tree, w.newton.v, &w.motion));
    }
    const bool ends = !(most <= kContraction * last), diverges = ends && most > kSettled;
    if (diverges) {  // it turns too far in a step
      for (const int tree : w.tied_trees) forget_centering(model, tree, &w.motion);
      move_ties(state.v);
    } else if (pass == 0 || most > kSettled) {
      w.v_moving = 0.5 * (state.v + w.newton.v);
      move_ties(w.v_moving);
    } else if (most == 0) {
      return;
    }
    reopen_objects(w.problem, w.centered, &w.newton);
    solve_newton_further(w.problem, exact, scope.threads, &w.newton, &report.solver);
    if (ends) return;
    last = most;
  }
}

void StepRun::center_turns(const NewtonOptions& newton, const StageScope& scope) {
  constexpr int kMostPasses = 8;
  constexpr double kContraction = 0.7;
  constexpr double kSettled = 0.01;  // of the first change: what the tolerance of the solver leaves
  if (newton.rough) return;
  if (moves_along_mean(scheme)) return center_momenta(newton, scope);
  find_centered_trees(*this);
  if (!is_staggered(scheme) || w.centered_trees.empty()) return;
  const auto is_still = [&](int tree) { return scope.is_asleep(tree) || w.newton.is_reused[tree] != 0; };
  thread_local std::vector<double> curvature;  // to go back to
  thread_local std::vector<Vec3> turns;
  curvature = w.assembly.curvature;
  turns.clear();
  for (const int tree : w.centered_trees) turns.push_back(free_turn(model, w.motion, tree));
  double last_turn = kInfinity, last_tie = kInfinity, first_turn = 0, first_tie = 0;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    w.centered.assign(model.objects.size(), 0);
    bool any = false;
    double turn = 0;
    for (const int tree : w.centered_trees) {
      if (is_still(tree)) continue;
      const double turned = center_free_turn(model, options.dt, tree, w.newton.v, &w.motion);
      w.centered[tree] =
          center_velocity_terms(model, state, options.dt, scheme, tree, w.newton.v, &w.motion) || turned > 0;
      any = any || w.centered[tree] != 0;
      turn = std::max(turn, turned);
    }
    const double tie = center_ties(state, w.newton.v, &w.assembly, &w.problem, &w.centered);
    if (first_turn == 0) first_turn = turn;
    if (first_tie == 0) first_tie = tie;
    const bool ends = turn > kContraction * last_turn || tie > kContraction * last_tie;
    const bool diverges =
        tie == kInfinity || (ends && (turn > kSettled * first_turn || tie > kSettled * first_tie));
    if (diverges) {  // it turns too far in a step, or near a pose in which a loop folds
      for (std::size_t i = 0; i < turns.size(); ++i) {
        if (is_still(w.centered_trees[i])) continue;
        set_free_turn(model, w.centered_trees[i], turns[i], &w.motion);
        w.centered[w.centered_trees[i]] = 1;
      }
      restore_ties(curvature, &w.assembly, &w.problem, &w.centered);
    } else if (!any && tie == 0) {
      return;
    }
    reopen_objects(w.problem, w.centered, &w.newton);
    solve_newton_further(w.problem, newton, scope.threads, &w.newton, &report.solver);
    if (diverges || ends) return;
    if (turn > 0) last_turn = turn;
    if (tie > 0) last_tie = tie;
  }
}

void StepRun::begin_balance(const StageScope& scope) {
  find_touched_trees(w.problem, scope, &w.touched_trees);
  if (moves_along_mean(scheme)) {  // those in loops have a balance of their own
    std::erase_if(w.touched_trees, [&](int t) {
      return std::find(w.tied_trees.begin(), w.tied_trees.end(), t) != w.tied_trees.end();
    });
  }
  for (const int tree : w.touched_trees) {
    if (!scope.is_unchanged(tree)) begin_balancing(model, tree, &w.motion);
  }
}

void StepRun::balance_momenta(const NewtonOptions& newton, const StageScope& scope) {
  constexpr int kMostPasses = 8;
  constexpr double kContraction = 0.7;
  if (newton.rough) return;
  NewtonOptions nearby = newton;
  nearby.keep_bounds = true;  // v* hardly moves
  double last = kInfinity;
  for (int pass = 0; pass < kMostPasses && !w.touched_trees.empty(); ++pass) {
    w.centered.assign(model.objects.size(), 0);
    double most = 0;
    for (const int tree : w.touched_trees) {
      if (w.newton.is_reused[tree] != 0) continue;
      const double change = balance_touched(model, state, options.dt, scheme, tree, w.newton.v, &w.motion);
      w.centered[tree] = change > 0;
      most = std::max(most, change);
    }
    if (most == 0) return;
    if (!(most <= kContraction * last)) {  // it turns too far in a step
      for (const int tree : w.touched_trees) {
        if (w.newton.is_reused[tree] != 0) continue;
        forget_balancing(model, tree, &w.motion);
        w.centered[tree] = 1;
      }
      w.touched_trees.clear();
    }
    reopen_objects(w.problem, w.centered, &w.newton);
    solve_newton_further(w.problem, nearby, scope.threads, &w.newton, &report.solver);
    last = most;
  }
}

bool StepRun::solve_contacts() {
  const StageScope scope = this->scope();
  const StepData data{state, input, w.motion, w.contacts};
  assemble(model, data, options.dt, options.contact, scope, &w.assembly, &w.problem);
  thread_local std::vector<char> struck;
  strike_rods(*this, state.v, &struck);
  add_drives(state, scheme, &w.motion, &w.assembly, &w.problem);
  w.problem.deadline = &deadline;
  deadline.check();
  begin_balance(scope);
  if (options.rigid.is_on) {
    report.times.assemble += watch.lap();
    solve_rigid();
    report.times.solve += watch.lap();
    return true;
  }
  w.rigid.reset();
  report.bounce_rounds = bounce(model, scheme, state.a, true, &w.contacts, &w.motion, &w.problem, &w.bounce);
  report.times.assemble += watch.lap();

  begin_late_contacts(&w.late);
  begin_withdrawal(&w.withdraw);
  NewtonOptions newton = options.newton;
  newton.rough = begins_rough(*this);
  newton.settle_friction = false;
  begin_relinearization(state, &w.relinearize);
  report.solver = solve_newton(w.problem, newton, scope.threads, &w.newton, w.assembly.reused_groups);
  center_turns(newton, scope);
  balance_momenta(newton, scope);
  relinearize_objects(newton, scope);
  report.times.solve += watch.lap();
  for (int revisions = 0;;) {
    const int groups = w.contacts.num_groups();
    int bounced = 0;
    const bool revised = revisions < kMostRevisions && revise_contacts(*this, scope);
    revisions += revised;
    report.times.collide += watch.lap();
    if (!revised && !report.solver.unfinished) return true;
    deadline.check();
    if (revised) {
      if (wake_touched(model, w.contacts, &w.sleep)) return false;
      add_late_contacts(data, groups, scope, &w.assembly, &w.problem);
      if (strike_rods(*this, w.newton.v, &struck)) reopen_objects(w.problem, struck, &w.newton);
      add_drives(state, scheme, &w.motion, &w.assembly, &w.problem);
      bounced = bounce(model, scheme, state.a, false, &w.contacts, &w.motion, &w.problem, &w.bounce);
      report.bounce_rounds += bounced;
      report.times.assemble += watch.lap();
    }
    if (newton.rough && report.solver.unfinished) w.late.tolerance_scale *= kToleranceGrowth;
    newton.rough = newton.rough && revised;
    newton.settle_friction = !revised;
    if (bounced > 0) {  // v* is another one
      begin_withdrawal(&w.withdraw);
      const SolverReport before = report.solver;
      report.solver = solve_newton(w.problem, newton, scope.threads, &w.newton, w.assembly.reused_groups);
      report.solver.add_effort(before);
    } else {
      solve_newton_further(w.problem, newton, scope.threads, &w.newton, &report.solver);
    }
    center_turns(newton, scope);
    balance_momenta(newton, scope);
    relinearize_objects(newton, scope);
    report.times.solve += watch.lap();
  }
}

}  // namespace capstan
