#include "capstan/step/step.h"

#include <fmt/core.h>

namespace capstan {
namespace {

// Names the first body with a velocity or position that is not finite.
void check_finite(const Model& model, const State& before, const State& after, double dt) {
  if (after.q.allFinite() && after.v.allFinite()) return;
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

}  // namespace

StepOptions step_options(const Model& model) {
  return {model.options.dt, model.options.integrator};
}

Workspace make_workspace(const Model& model) {
  return {make_motion(model), make_momentum_workspace(model), initial_state(model),
          VecX::Zero(model.num_velocities())};
}

Report step(const Model& model, const StepOptions& options, const Input& input, State* state, Workspace* w) {
  const double dt = options.dt;
  const Scheme theta = scheme(options.integrator);
  calc_free_motion(model, *state, input, dt, theta, &w->motion);
  const VecX& v = w->motion.v_star;

  w->next = *state;
  w->v_advance = theta.theta_vq * v + (1 - theta.theta_vq) * state->v;
  w->next.v = v;
  move(model, state->q, w->v_advance, dt, &w->next.q);
  if (model.options.conserve_momentum) {
    balance_position(model, *state, w->motion.placement, v, dt, theta.theta_vq, &w->momentum, &w->next.q);
  }
  w->next.step = state->step + 1;
  w->next.time = state->time + dt;
  check_finite(model, *state, w->next, dt);
  if (!w->motion.converged) {
    throw StepFailure(
        fmt::format("step {} at t = {:g} s failed: the free motion of integrator {} did not converge in {} "
                    "iterations (relative "
                    "residual {:.1e}). Try a smaller time step than {:g} s",
                    state->step, state->time, integrator_name(options.integrator), w->motion.iterations,
                    w->motion.residual, dt));
  }
  std::swap(*state, w->next);
  return {w->motion.iterations, w->motion.residual};
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
  return m;
}

}  // namespace capstan
