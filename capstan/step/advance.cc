#include "capstan/step/advance.h"

#include <algorithm>

#include "capstan/dynamics/free_turn.h"
#include "capstan/dynamics/lone_turn.h"
#include "capstan/dynamics/offset_body.h"
#include "capstan/dynamics/struck_objects.h"

namespace capstan {
namespace {

// Whether a contact learned the gap that it ends with (contacts/late_contacts.h).
bool bends(const Contacts& contacts, int i) {
  return contacts.kind[i] == ContactKind::touching && contacts.gap_rate[i] < 0;
}

// The velocity that moves positions: v, with what bounces change. Where the scheme moves positions along the
// mean of old and new velocities, what a contact stops would go on into it by half of its old way: it moves
// along the new ones, as struck rods do; so does what follows a surface that bends, as its gap was found
// along these. Of other rods and of soft bodies only the nodes that are touched: what vibrates in the rest
// would gain energy.
const VecX& find_moving_velocity(const StepRun& run, const VecX& v) {
  Workspace& w = run.w;
  const double theta_vq = run.scheme.theta_vq;
  const VecX& moving = moving_velocity(w.bounce, v, theta_vq, &w.v_moving);
  if (theta_vq == 0 || theta_vq == 1 || w.contacts.size() == 0) return moving;
  calc_contact_velocities(w.problem, run.state.v, &w.contact_velocity);
  const double fast = run.speed_at_rest();
  w.is_stopped.assign(run.model.blocks.size(), 0);
  bool any = false;
  for (const ConstraintGroup& group : w.problem.groups) {
    bool stops = false;
    for (int i = group.contact_begin; i < group.contact_end && !stops; ++i)
      stops = (w.contact_velocity[i].z() < -fast || bends(w.contacts, i)) && w.newton.impulse[i].z() > 0;
    if (!stops) continue;
    // What touches itself keeps its momentum only as the scheme moves it.
    if (touches_itself(run.model, w.contacts, group)) continue;
    for (int p = group.part_begin; p < group.part_end; ++p) w.is_stopped[w.problem.parts[p].block] = 1;
    any = true;
  }
  if (!any) return moving;
  if (&moving != &w.v_moving) w.v_moving = moving;
  for (std::size_t i = 0; i < run.model.blocks.size(); ++i) {
    const DofBlock& block = run.model.blocks[i];
    if (w.is_stopped[i] == 0 || is_struck(w.motion, block.object)) continue;
    w.v_moving.segment(block.dof_begin, block.size) +=
        (1 - theta_vq) / theta_vq *
        (v.segment(block.dof_begin, block.size) - run.state.v.segment(block.dof_begin, block.size));
  }
  return w.v_moving;
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

}  // namespace

const VecX& find_led_velocity(const StepRun& run, const VecX& v, bool at_end) {
  Workspace& w = run.w;
  if (!has_spinners(w.motion)) return v;
  w.v_led = v;
  take_out_spins(run.model, w.motion, run.options.dt, at_end, &w.v_led);
  return w.v_led;
}

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

}  // namespace capstan
