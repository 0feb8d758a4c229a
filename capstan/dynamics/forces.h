// Smooth forces at the joints: springs, damping, tendons, actuators. These are the k_1 of SAP II-D:
// forces whose derivatives -dk/dq and -dk/dv are (made) positive semi-definite, so that they can be treated
// implicitly.
//
//   tau = -k (q - q_rest) - d v                        each dof; for ball joints the rotation vector replaces
//   q - q_rest
//       + c (gain u + bias_0 + bias_1 s + bias_2 ds/dt)   each actuator, s = c.q (or the length of a spatial
//                                                         tendon; muscles: muscle.h), clamped to its range,
//                                                         then
//       the sum on
//                                                         each dof to the joint's effort limit (where
//                                                         contact acts, too: dynamics/drives.h)
//       - c (k (s - rest) + d ds/dt)                   each tendon; no spring force while s is within the
//       rest range
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "capstan/dynamics/tree.h"
#include "capstan/model/model.h"

namespace capstan {

// Forces from outside, constant over a step.
struct BodyForce {
  int body = 0;
  Vec3 point_W = Vec3::Zero();   // [m] where it acts, at the beginning of the step
  Vec3 force_W = Vec3::Zero();   // [N]
  Vec3 torque_W = Vec3::Zero();  // [N m]
};
struct Input {
  VecX generalized_force;  // [N or N m] on each dof; empty: none
  std::vector<BodyForce> body_forces;
  VecX surface_scale;  // [shapes] factor of each shape's surface velocity and spin; empty: 1
};

// Dofs [dof_begin, dof_end) of whole trees, with all that acts on them.
struct ForceRange {
  int dof_begin = 0, dof_end = 0;
  std::vector<int> joints;  // ball and free joints with a spring
  std::vector<int> tendons, actuators;
  bool has_motors_only = true;  // no actuator's force depends on q or v
};
// The ranges between the dofs `bounds` (ascending). A transmission is within one range.
std::vector<ForceRange> make_force_ranges(const Model& model, const std::vector<int>& bounds);

// -dtau/dq and -dtau/dv as a diagonal and terms (stiffness, damping) c c^T. Rates of positions are taken as
// v.
struct ForceGradient {
  struct Term {
    const Transmission* transmission = nullptr;
    double stiffness = 0, damping = 0;
    bool is_actuator = false;  // then it does not act on saturated dofs
    signed char side = 0;      // of its rest or force range: 1 above it, -1 below, 0 within
  };
  VecX stiffness, damping;  // [dofs]
  std::vector<Term> terms;  // of each tendon, then of each actuator: zeros where it does not act, or joins
                            // two trees
  int first_actuator = 0;   // in `terms`
  VecX magnitude;           // [dofs] sum of the sizes of what tau is the sum of: the scale of its round-off
  std::vector<signed char> saturated;  // [dofs] the side on which the effort limit holds, or 0: if it does,
                                       // actuator terms do not act on this dof
  VecX actuator_force;                 // [dofs] scratch: sum of actuator forces
  ForceRange all;

  // Of spatial tendons and of actuators on them, where take_paths() was called last: `terms` point here.
  std::shared_ptr<std::vector<Transmission>> paths;
  std::vector<int> path_of;  // [terms] in `paths`, or -1
  VecX path_q;               // q where they are taken
};

// For one control: differs when springs, tendons or actuators of a range have begun or ceased to act, or act
// on the other side of their ranges: A may then be no longer that of the gradient.
std::uint64_t signature(const ForceGradient& gradient, const ForceRange& range);

// Whether tau is linear in (q, v) as long as the signature is the same, and the gradient is that of tau: not
// with springs at ball joints, forces that grow with what they act on, transmissions between trees, or
// actuators on several dofs, of which some may be at their effort limits.
bool is_piecewise_linear(const Model& model, const ForceRange& range);

// Whether spatial tendons, or actuators on them, act in it.
bool has_paths(const Model& model, const ForceRange& range);

ForceGradient make_force_gradient(const Model& model);

// The coefficients of the spatial tendons of a range, for the calls of calc_forces() that follow. The
// placement is that of q.
void take_paths(const Model& model, const ForceRange& range, const Placement& placement, const VecX& q,
                ForceGradient* gradient);

// tau at (q, v, control); gradient may not be null (it holds the scratch memory too).
void calc_forces(const Model& model, const VecX& q, const VecX& v, const VecX& control, VecX* tau,
                 ForceGradient* gradient);
// The same for some dofs alone, with spatial tendons as take_paths() left them. `again`: after a call with
// other q and v but the same control, which motors need not be asked again for (what they add to the
// magnitude is then missing).
void calc_forces(const Model& model, const ForceRange& range, const VecX& q, const VecX& v,
                 const VecX& control, VecX* tau, ForceGradient* gradient, bool again = false);

// Energy stored in joint and tendon springs [J]. Actuators are not counted.
double calc_spring_energy(const Model& model, const VecX& q);

// Force of one actuator after clamping and before [N or N m, before the gear], and the length and rate it
// sees.
struct ActuatorReading {
  double length = 0, rate = 0, force = 0, unlimited = 0;
  bool saturated = false;
  double magnitude = 0;               // sum of the sizes of the parts of the force
  double stiffness = 0, damping = 0;  // how it falls with length and rate, before limits; at least 0
};
ActuatorReading read_actuator(const Model& model, const ModelActuator& actuator, const VecX& q, const VecX& v,
                              double control);

// Length and rate of a transmission.
struct TransmissionReading {
  double length = 0, rate = 0;
};
TransmissionReading read_transmission(const Model& model, const Transmission& transmission, const VecX& q,
                                      const VecX& v);

}  // namespace capstan
