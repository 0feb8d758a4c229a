#include "capstan/step/failures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/dynamics/objects.h"
#include "capstan/physics/soft_body.h"

namespace capstan {
namespace {

// [m, rad, m/s, rad/s] Positions are 0.1 mm apart there; who falls freely gets so far in five days.
constexpr double kLargest = 1e12;

// A wall that a pressure makes ever thinner has no place to rest: then no time step helps.
constexpr double kStretched = 1;  // strain
void explain_pressure(const Object& object, const State& before) {
  const auto* soft = dynamic_cast<const SoftBody*>(object.physics.get());
  if (soft == nullptr || soft->cavity().empty() || (soft->spec().pressure == 0 && !soft->spec().is_sealed))
    return;
  const auto q = before.q.segment(object.q_begin, object.num_positions());
  const double strain = soft->calc_strain(q).largest, pressure = soft->calc_pressure(q);
  if (!(strain > kStretched || std::abs(pressure) > 0.5 * soft->spec().young_modulus)) return;
  throw StepFailure(fmt::format(
      "step {} at t = {:g} s failed: soft body '{}' is blown up by its pressure: {:.3g} Pa inside, where its "
      "Young's modulus is {:.3g} Pa, and strains of {:.2g}. Write a smaller 'pressure', a thicker wall or a "
      "larger young_modulus",
      before.step, before.time, soft->spec().name, pressure, soft->spec().young_modulus, strain));
}

}  // namespace

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
    explain_pressure(object, before);
    throw StepFailure(
        fmt::format("step {} at t = {:g} s failed: the {} with body '{}' would get a value that is not "
                    "finite, or farther or faster than {:g} (m, m/s or rad/s; largest speed before the step: "
                    "{:g}). Try a smaller time step than {:g} s, or integrator semi_implicit or "
                    "implicit_euler",
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

void check_activations(const Model& model, const State& before, const VecX& after, double dt) {
  if (after.allFinite()) return;
  int i = 0;
  while (std::isfinite(after[i])) ++i;
  throw StepFailure(fmt::format(
      "step {} at t = {:g} s failed: the activation {:g} of actuator '{}' with control {:g} would "
      "not stay finite. Try a time constant of more than the time step of {:g} s, or bound it "
      "with a range",
      before.step, before.time, before.activation[i], model.actuators[i].name, before.control[i], dt));
}

void check_free_motion(const Model& model, const State& state, const Motion& motion, Integrator integrator,
                       double dt) {
  if (!motion.v_star.allFinite()) {
    State next = state;
    next.v = motion.v_star;
    check_finite(model, state, next, dt);
  }
  if (motion.converged) return;
  throw StepFailure(fmt::format(
      "step {} at t = {:g} s failed: the free motion of integrator {} did not converge in {} "
      "iterations (relative "
      "residual {:.1e}). Try a smaller time step than {:g} s",
      state.step, state.time, integrator_name(integrator), motion.iterations, motion.residual, dt));
}

void check_objects(const Model& model, const State& state, const Motion& motions, int failed, double dt,
                   const Scheme& scheme) {
  if (failed < 0) return;
  const Object& object = model.objects[failed];
  const ObjectMotion& motion = motion_of(model, motions, failed);
  explain_pressure(object, state);
  throw StepFailure(fmt::format(
      "step {} at t = {:g} s failed: the forces of the {} with body '{}' did not converge (relative momentum "
      "residual {:.1e} after {} Newton steps): it turns or bends too much in one step. Try a smaller time "
      "step than {:g} s, more damping{}",
      state.step, state.time, object.physics->kind(), model.bodies[model.links[object.link_begin].body].name,
      motion.residual, motion.iterations, dt,
      scheme.theta1 < 1 ? ", or integrator semi_implicit, which damps fast vibrations" : ""));
}

// Names the island's first body, so that a user finds the place.
void check_solver(const Model& model, const State& state, const Islands& islands,
                  const SolverReport& report) {
  if (report.converged) return;
  const Island& island = islands.list[std::max(0, report.worst_island)];
  const Object& object = model.objects[islands.objects[island.object_begin]];
  if (!std::isfinite(report.momentum_residual)) {
    throw StepFailure(fmt::format(
        "step {} at t = {:g} s failed: impulses of contact and constraints are not finite among the {} "
        "object(s) with body '{}': a stiffness, mass, force or speed there is more than double precision can "
        "carry. Try smaller numbers",
        state.step, state.time, island.object_end - island.object_begin,
        model.bodies[model.links[object.link_begin].body].name));
  }
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

}  // namespace capstan
