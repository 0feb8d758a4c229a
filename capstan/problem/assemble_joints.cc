#include <cmath>

#include "capstan/dynamics/spatial_tendon.h"
#include "capstan/laws/soft_reference.h"
#include "capstan/math/rotation.h"
#include "capstan/problem/assembler.h"

namespace capstan {
namespace {

constexpr int kLawsInBlock = 4;  // for one thread at a time

}  // namespace

// A limit is in the problem when this step could reach it.
bool Assembler::may_reach(double phi, double speed) const {
  return phi < 4 * dt * std::max(speed, 1.0);
}

// Laws are made for many at a time (make_laws), because each needs an entry of A^-1.
ScalarLaw Assembler::make_limit(double phi, double W) const {
  ScalarLaw law = make_law(phi, W, kInfinity, -1);
  bound_recovery(phi, std::max(0.0, -phi), &law);
  law.lower = 0;
  return law;
}

ScalarLaw Assembler::make_dry_friction(double force, double W) const {
  ScalarLaw law;
  law.mass = 1 / std::max(W, 1e-18);
  law.R = acting_sigma(problem.options) / law.mass;
  law.upper = dt * force;
  law.lower = -law.upper;
  return law;
}

ScalarLaw Assembler::make_law(const AssemblyWorkspace::Wanted& wanted, double W) const {
  if (wanted.soft != nullptr) {
    ScalarLaw law =
        make_soft_law(*wanted.soft, wanted.value, wanted.rate, std::abs(wanted.value), wanted.weight, W, dt);
    law.lower = 0;
    return law;
  }
  return wanted.is_limit ? make_limit(wanted.value, W) : make_dry_friction(wanted.value, W);
}

void Assembler::want_dof_law(int dof, double sign, bool is_limit, double value, const SoftReference* soft) {
  AssemblyWorkspace::Wanted wanted{is_limit, value};
  if (soft != nullptr) {
    wanted.soft = soft;
    wanted.rate = sign * state.v[dof];
    wanted.weight = w.soft_weights.dof[dof];
  }
  w.wanted_of_dofs.push_back(wanted);
  problem.dof_laws.push_back({dof, sign, {}});
}

void Assembler::want_law(const ConstraintGroup& group, bool is_limit, double value) {
  w.wanted.push_back(AssemblyWorkspace::Wanted{is_limit, value});
  problem.laws.emplace_back();
  problem.groups.push_back(group);
}

// The laws that dofs and the groups from `first_group` on want.
void Assembler::make_laws(int first_group) {
  const Threads& threads = scope.threads;
  threads.for_each_block(static_cast<int>(w.wanted_of_dofs.size()), kLawsInBlock, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      DofLaw& law = problem.dof_laws[i];
      law.law = make_law(w.wanted_of_dofs[i], delassus.calc(law.dof));
    }
  });
  threads.for_each_block(static_cast<int>(w.wanted.size()), kLawsInBlock, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const ConstraintGroup& group = problem.groups[first_group + i];
      problem.laws[group.law_begin] = make_law(w.wanted[i], delassus.calc_diagonal(group)[0]);
    }
  });
}

void Assembler::add_limits(int dof, int q, const Range& limits, const SoftReference* soft) {
  const double speed = std::max(std::abs(state.v[dof]), std::abs(motion.v_star[dof]));
  for (const double sign : {1.0, -1.0}) {
    const double phi = sign > 0 ? state.q[q] - limits.lower : limits.upper - state.q[q];
    if (soft == nullptr ? may_reach(phi, speed) : phi < 0) want_dof_law(dof, sign, true, phi, soft);
  }
}

void Assembler::add_dof_laws() {
  for (const LimitedJoint& limited : model.limited_joints) {
    if (limited.dof >= 0) {
      if (!sleeps(limited.dof))
        add_limits(limited.dof, limited.q, limited.limits, limited.soft ? &*limited.soft : nullptr);
      continue;
    }
    const ModelJoint& joint = model.joints[limited.joint];
    if (sleeps(joint.v)) continue;
    if (joint.type == JointType::ball) {
      if (!joint.limits.empty()) add_ball_limit(joint);
    } else {
      for (int i = 0; i < static_cast<int>(joint.limits.size()); ++i)
        add_limits(joint.v + i, model.dofs[joint.v + i].q, joint.limits[i],
                   joint.soft_limits ? &*joint.soft_limits : nullptr);
    }
    if (joint.dry_friction > 0) {
      for (int k = joint.v; k < joint.v + num_velocities(joint.type); ++k)
        want_dof_law(k, 1, false, joint.dry_friction);
    }
  }
}

// The turn of a ball joint stays below its limit: d|phi|/dt = (phi/|phi|) . w.
void Assembler::add_ball_limit(const ModelJoint& joint) {
  const Vec3 turn = quat_log(state.q.segment<4>(joint.q));
  const double angle = turn.norm(), phi = joint.limits[0].upper - angle;
  if (angle < 1e-9 || !may_reach(phi, state.v.segment<3>(joint.v).norm())) return;
  ConstraintGroup group = begin_group(1);
  const int tree = tree_of(model.dofs[joint.v].link);
  double* J = part_for(&group, tree);
  for (int i = 0; i < 3; ++i) J[joint.v + i - model.trees[tree].dof_begin] = -turn[i] / angle;
  want_law(group, true, phi);
}

bool Assembler::is_ancestor(int a, int dof) const {
  while (dof > a) dof = model.pattern.parent[dof];
  return dof == a;
}

void Assembler::add_terms(ConstraintGroup* group, const Transmission& transmission, double sign) {
  for (const auto& term : transmission.terms) {
    const int tree = tree_of(model.dofs[term.dof].link), parts = group->part_end;
    part_for(group, tree)[term.dof - model.trees[tree].dof_begin] += sign * term.coefficient;
    for (int p = group->part_begin; p < group->part_end; ++p) {
      int& last = problem.parts[p].last_dof;
      if (problem.parts[p].block != tree) continue;
      if (p >= parts) {
        last = term.dof;
      } else if (last >= 0) {
        last = is_ancestor(last, term.dof) ? term.dof : is_ancestor(term.dof, last) ? last : -1;
      }
    }
  }
}

void Assembler::add_tendons() {
  for (std::size_t t = 0; t < model.tendons.size(); ++t) {
    const ModelTendon& tendon = model.tendons[t];
    if (!tendon.limits && !(tendon.dry_friction > 0)) continue;
    if (tendon.transmission.terms.empty() || sleeps(tendon.transmission.terms.front().dof)) continue;
    Transmission taken;
    if (tendon.transmission.path >= 0) taken = transmission_at(model, motion.placement, tendon.transmission);
    const Transmission& now = tendon.transmission.path >= 0 ? taken : tendon.transmission;
    double length = now.length, speed = 0;
    for (const auto& term : now.terms) {
      if (now.path < 0) length += term.coefficient * state.q[model.dofs[term.dof].q];
      speed += std::abs(term.coefficient) *
               std::max(std::abs(state.v[term.dof]), std::abs(motion.v_star[term.dof]));
    }
    if (tendon.limits) {
      for (const double sign : {1.0, -1.0}) {
        const double phi = sign > 0 ? length - tendon.limits->lower : tendon.limits->upper - length;
        if (!may_reach(phi, speed)) continue;
        ConstraintGroup group = begin_group(1);
        group.tendon = static_cast<int>(t);
        group.pull = -sign;
        add_terms(&group, now, sign);
        want_law(group, true, phi);
      }
    }
    if (tendon.dry_friction > 0) {
      ConstraintGroup group = begin_group(1);
      group.tendon = static_cast<int>(t);
      group.pull = -1;
      add_terms(&group, now, 1);
      want_law(group, false, tendon.dry_friction);
    }
  }
}

}  // namespace capstan
