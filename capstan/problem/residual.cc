#include "capstan/problem/residual.h"

#include <algorithm>
#include <cmath>

#include "capstan/laws/contact_laws.h"

namespace capstan {
namespace {

// |g . gamma| of one sap contact [J].
double calc_slackness(const ContactData& d, const Vec3& velocity, const Vec3& gamma) {
  if (d.normal.c0 == 0) return 0;  // no stiffness: the cone of its impulses is empty
  const Vec3 R(d.slip, d.slip, 1 / d.normal.c0);
  const Vec3 g = velocity + d.bias - Vec3(0, 0, d.normal.v_hat) + R.cwiseProduct(gamma);
  return std::abs(g.dot(gamma));
}

double calc_cost(const ScalarLaw& law, double v) {
  double cost, hessian;
  evaluate(law, v, &cost, &hessian);
  return cost;
}

}  // namespace

Residual calc_residual(const Problem& problem, const Contacts& contacts, const Answer& answer) {
  const Model& model = *problem.model;
  const Placement& placement = problem.motion->placement;
  const int n = model.num_velocities();
  const VecX& v = *answer.v;
  Residual r;

  VecX generalized = VecX::Zero(n);  // J^T gamma
  MatX Ja(3, n), Jb(3, n);
  for (int i = 0; i < contacts.size(); ++i) {
    const Mat3& R = problem.R_WC[i];
    calc_point_jacobian(model, placement, model.links[contacts.link_a[i]].body, contacts.p_WC[i], Ja);
    calc_point_jacobian(model, placement, model.links[contacts.link_b[i]].body, contacts.p_WC[i], Jb);
    const Vec3 gamma = answer.impulse[i], velocity = R.transpose() * ((Jb - Ja) * v);
    generalized += (Jb - Ja).transpose() * (R * gamma);
    Vec3 expected;
    double cost;
    evaluate(problem.options.law, problem.options.normal_law, problem.contacts[i], velocity, &cost, &expected,
             nullptr);
    r.cost += cost;
    if (problem.options.law == ContactLaw::sap)
      r.complementarity += calc_slackness(problem.contacts[i], velocity, gamma) / contacts.size();
    r.law = std::max(r.law, (gamma - expected).norm());
    r.largest_impulse = std::max(r.largest_impulse, gamma.norm());
    const double mu = contacts.material[i].friction, tangential = gamma.head<2>().norm();
    if (contacts.material[i].tensor == nullptr) {
      r.cone_violation = std::max(r.cone_violation, tangential - mu * gamma.z());
      if (gamma.z() > 0 && tangential < 0.99 * mu * gamma.z())
        r.stick_slip = std::max(r.stick_slip, velocity.head<2>().norm());
    }
    r.friction_power = std::max(r.friction_power, gamma.head<2>().dot(velocity.head<2>()));
    r.penetration = std::max(r.penetration, -(contacts.distance[i] + problem.dt * velocity.z()));
  }
  if (r.largest_impulse > 0) r.law /= r.largest_impulse;

  for (const ConstraintGroup& group : problem.groups) {
    if (group.contact_begin != group.contact_end) continue;
    Vec6 U = Vec6::Zero();
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const Tree& tree = model.trees[problem.parts[p].tree];
      const auto J = problem.jacobian(group, problem.parts[p]);
      for (int row = 0; row < group.num_rows; ++row) {
        U[row] += J.row(row).dot(v.segment(tree.dof_begin, tree.num_dofs()));
        generalized.segment(tree.dof_begin, tree.num_dofs()) +=
            answer.law_impulse[group.law_begin + row] * J.row(row).transpose();
      }
    }
    for (int row = 0; row < group.num_rows; ++row)
      r.cost += calc_cost(problem.laws[group.law_begin + row], U[row]);
  }
  for (std::size_t i = 0; i < problem.dof_laws.size(); ++i) {
    const DofLaw& law = problem.dof_laws[i];
    generalized[law.dof] += law.sign * answer.dof_impulse[i];
    r.cost += calc_cost(law.law, law.sign * v[law.dof]);
  }

  VecX change(n), momentum(n);
  const VecX d = v - problem.motion->v_star;
  multiply(model.system_pattern, problem.motion->A.data(), d.data(), change.data());
  multiply(model.system_pattern, problem.motion->A.data(), v.data(), momentum.data());
  r.cost += 0.5 * d.dot(change);
  if (r.cost > 0) r.complementarity /= r.cost;
  double error = 0, p = 0, j = 0;
  for (int k = 0; k < n; ++k) {
    const double scale = 1 / problem.motion->A[model.system_pattern.row_start[k + 1] - 1];
    error += scale * std::pow(change[k] - generalized[k], 2);
    p += scale * momentum[k] * momentum[k];
    j += scale * generalized[k] * generalized[k];
  }
  const double size = std::sqrt(std::max(p, j));
  r.momentum = size > 0 ? std::sqrt(error) / size : 0;
  return r;
}

}  // namespace capstan
