// What rigid contact may be: its model, how impacts bounce, what undoes overlap. Plain values, for
// StepSettings.
#pragma once

#include <array>

namespace capstan {

enum class RigidModel {
  ncp,               // Coulomb's cone
  ccp,               // its convex relaxation
  box,               // two directions, bounds that follow the normal impulse
  box_frozen,        // the same, bounds of a solve without friction
  stewart_trinkle,   // a polyhedral cone; gaps are closed within the step
  anitescu_potra,    // the same at the level of velocities: overlap stays
  no_slip,           // what touches does not slide, whatever the normal impulse
  viscous,           // friction in proportion to the slip at the end of the step
  viscous_explicit,  // to that at its beginning
  frictionless,
};
inline constexpr int kNumRigidModels = 10;

// The one table of models, in the order of the enumeration: the command line and docs/solvers.md read it.
struct RigidModelTraits {
  const char* name;      // as on a command line
  const char* friction;  // what it is
  const char* answers;   // how many there are
  const char* note;      // what to know
  bool has_cone;         // the exact cone: ncp, ccp
  bool is_polyhedral;
  bool has_fixed_rules;  // tangential impulses are free or given, whatever the normal impulse: convex
};
inline constexpr std::array<RigidModelTraits, kNumRigidModels> kRigidModels = {{
    {"ncp", "Coulomb's cone, slip against friction", "at least one for most problems, not always one",
     "not convex: solvers may stall", true, false, false},
    {"ccp", "the cone, relaxed to a convex problem", "one velocity",
     "what slides at v_t is lifted, up to a gap of `dt mu v_t`", true, false, false},
    {"box", "each of two directions bounded by `mu` times the normal impulse", "as ncp",
     "up to `sqrt(2) mu` strong along the diagonal of its box", false, false, false},
    {"box_frozen", "the same, bounds by the normal impulses of a solve without friction", "one velocity",
     "wrong where friction changes normal impulses: wedges, grasps", false, false, false},
    {"stewart_trinkle", "a polygon of `directions` sides in place of the circle", "at least one",
     "`mu cos(pi / directions)` strong between two directions; all overlap is undone in one step", false,
     true, false},
    {"anitescu_potra", "the same", "at least one", "overlap stays unless something else undoes it", false,
     true, false},
    {"no_slip", "what touches does not slide: infinite friction", "one velocity",
     "holds what presses lightly as well as what presses hard", false, false, true},
    {"viscous", "`-viscosity` times the slip at the end of the step", "one velocity",
     "nothing ever sticks; the normal impulse does not matter", false, false, true},
    {"viscous_explicit", "`-viscosity` times the slip at the beginning of the step", "one velocity",
     "unstable where `dt viscosity` exceeds twice the mass that slides", false, false, true},
    {"frictionless", "none", "one velocity", "what the other models add friction to", false, false, true},
}};
inline constexpr const RigidModelTraits& traits(RigidModel model) {
  return kRigidModels[static_cast<int>(model)];
}

enum class RigidRestitution { none, newton, poisson };
inline constexpr std::array<const char*, 3> kRigidRestitutionNames = {"none", "newton", "poisson"};

enum class RigidStabilization {
  automatic,      // see stabilization_of()
  baumgarte,      // the part `erp` of an overlap is undone by velocities, `cfm` makes contacts soft
  split_impulse,  // the part `erp` by velocities that move positions in this step and are forgotten
  projection,     // likewise, all of what the step would leave
  none,
};
inline constexpr std::array<const char*, 5> kRigidStabilizationNames = {
    "automatic", "baumgarte", "split_impulse", "projection", "none"};

struct RigidOptions {
  RigidModel model = RigidModel::ncp;
  int directions = 4;      // of a polyhedral cone: even, at least 4
  double viscosity = 0.1;  // [N s/m] of a contact, models viscous and viscous_explicit
  RigidRestitution restitution = RigidRestitution::newton;
  RigidStabilization stabilization = RigidStabilization::automatic;
  double erp = -1;  // part of an overlap that is undone in a step; negative: the model's own
  double cfm = 0;   // [1/kg] compliance of normal impulses
  double stiffness = 0, damping = 0;  // [N/m], [N s/m]: in place of erp and cfm where stiffness > 0
  double allowance = 0;               // [m] of overlap that is left alone
  bool warm_start = true;             // from the impulses of the last step
  double tolerance = 1e-6;            // of the residual
  int max_iterations = 10000;
  bool operator==(const RigidOptions&) const = default;
};

// With friction a contact may be unable to undo its overlap by velocities: in a corner the wall holds what
// the floor would lift, for mu >= 1 whatever the impulse. So that is left to a second problem, unless numbers
// say how, or the model is made of it.
constexpr RigidStabilization stabilization_of(const RigidOptions& o) {
  if (o.stabilization != RigidStabilization::automatic) return o.stabilization;
  if (o.stiffness > 0 || o.cfm > 0 || o.erp >= 0 || o.model == RigidModel::stewart_trinkle)
    return RigidStabilization::baumgarte;
  return o.model == RigidModel::anitescu_potra ? RigidStabilization::none : RigidStabilization::split_impulse;
}

// Of `options` at a time step: what erp and cfm come to.
struct Compliance {
  double erp, cfm;
};
constexpr Compliance calc_compliance(const RigidOptions& o, double dt) {
  if (o.stiffness > 0) {  // dt k / (dt k + b); 1 / (dt (dt k + b)): a spring and damper, implicit
    const double sum = dt * o.stiffness + o.damping;
    return {dt * o.stiffness / sum, 1 / (dt * sum)};
  }
  const double own = o.model == RigidModel::stewart_trinkle  ? 1
                     : o.model == RigidModel::anitescu_potra ? 0
                                                             : 0.2;
  return {o.erp >= 0 ? o.erp : own, o.cfm};
}

}  // namespace capstan
