#include "capstan/problem/residual.h"

#include <algorithm>
#include <cmath>

#include "capstan/dynamics/objects.h"
#include "capstan/laws/contact_laws.h"
#include "capstan/model/mocap.h"

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

// On links of trees it goes to `wrench`, on others to the dofs.
void add_impulse(const Model& model, const Placement& placement, int link, const Vec3& p_W,
                 const Vec3& impulse_W, std::vector<Vec6>* wrench, VecX* generalized) {
  if (link == 0) return;
  if (!model.objects[model.links[link].object].is_tree()) {
    PointPart parts[kMostPointParts];
    const int n = calc_point(model, placement, link, p_W, parts);
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < parts[i].size; ++k)
        (*generalized)[model.blocks[parts[i].block].dof_begin + k] +=
            Eigen::Map<const Vec3>(parts[i].J.data() + 3 * k).dot(impulse_W);
    }
    return;
  }
  Vec6& w = (*wrench)[link];
  w.head<3>() += cross(Vec3(p_W - placement.origin[model.links[link].object]), impulse_W);
  w.tail<3>() += impulse_W;
}

// The same of an impulse [N m s] that turns a link. What is not of a tree turns as two points of its carrier
// beside p_W say (Assembler::add_point).
void add_turning_impulse(const Model& model, const Placement& placement, int link, const Vec3& p_W,
                         const Vec3& impulse_W, std::vector<Vec6>* wrench, VecX* generalized) {
  if (link == 0) return;
  if (model.objects[model.links[link].object].is_tree()) {
    (*wrench)[link].head<3>() += impulse_W;
    return;
  }
  const Mat3& R = placement.X_WL[link].R;
  const Vec3 m1 = R.col(0), m2 = R.col(1), t = R.col(2);
  const Vec3 at_1 = t.dot(impulse_W) * m2 - m2.dot(impulse_W) * t, at_2 = m1.dot(impulse_W) * t;
  add_impulse(model, placement, link, p_W + m1, at_1, wrench, generalized);
  add_impulse(model, placement, link, p_W + m2, at_2, wrench, generalized);
  add_impulse(model, placement, link, p_W, -(at_1 + at_2), wrench, generalized);
}

Vec3 angular_velocity(const Model& model, const Placement& placement, const std::vector<Vec6>& V,
                      const VecX& v, int link, const Vec3& p_W) {
  if (link == 0) return Vec3::Zero();
  if (model.objects[model.links[link].object].is_tree()) return V[link].head<3>();
  const Mat3& R = placement.X_WL[link].R;
  const Vec3 m1 = R.col(0), m2 = R.col(1), t = R.col(2);
  const Vec3 v0 = point_velocity(model, placement, V, v, link, p_W);
  const Vec3 v1 = point_velocity(model, placement, V, v, link, p_W + m1) - v0;
  const Vec3 v2 = point_velocity(model, placement, V, v, link, p_W + m2) - v0;
  return m2.dot(v1) * t - t.dot(v1) * m2 + t.dot(v2) * m1;
}

// J^T gamma of impulses on links: each link passes on to its parent what acts on it.
void collect_at_joints(const Model& model, const Placement& placement, std::vector<Vec6>* wrench,
                       VecX* generalized) {
  for (int l = model.num_tree_links() - 1; l > 0; --l) {
    const Link& link = model.links[l];
    for (int k = link.dof_begin; k < link.dof_end; ++k) (*generalized)[k] = placement.S[k].dot((*wrench)[l]);
    if (link.parent > 0) (*wrench)[link.parent] += (*wrench)[l];
  }
}

// What the contacts of a problem say, but for the balance of momentum; their impulses go to J^T gamma.
void judge_contacts(const Problem& problem, const Contacts& contacts, const Answer& answer,
                    ResidualWorkspace* w, Residual* r) {
  const Model& model = *problem.model;
  const Placement& placement = problem.motion->placement;
  calc_velocity(model, placement, *answer.v, &w->velocity);
  w->wrench.assign(model.num_links(), Vec6::Zero());
  double slackness = 0, taken = 0;  // [J] of friction
  int num_points = contacts.size();
  const auto relative = [&](int i, const auto& velocity_of) -> Vec3 {
    return problem.R_WC[i].transpose() * (velocity_of(contacts.link_b[i]) - velocity_of(contacts.link_a[i]));
  };
  with_law(problem.options.law, problem.options.normal_law, [&](auto law) {
    using Law = decltype(law);
    for (int i = 0; i < contacts.size(); ++i) {
      const Mat3& R = problem.R_WC[i];
      const Vec3& p = contacts.p_WC[i];
      const ContactData& data = problem.contacts[i];
      if (!contacts.is_point(i)) {
        --num_points;
        const double arm = problem.turning[i].arm;
        const bool rolls = contacts.rows[i] == ContactRows::rolling;
        const Vec3 gamma = answer.impulse[i];
        const Vec3 impulse_W = R * (arm * (rolls ? gamma : Vec3(0, 0, gamma.x())));
        const Vec3 turn = arm * relative(i, [&](int link) {
                            return angular_velocity(model, placement, w->velocity.V, *answer.v, link, p);
                          });
        const Vec3 velocity = rolls ? Vec3(turn.x(), turn.y(), 0) : Vec3(turn.z(), 0, 0);
        add_turning_impulse(model, placement, contacts.link_a[i], p, -impulse_W, &w->wrench, &w->generalized);
        add_turning_impulse(model, placement, contacts.link_b[i], p, impulse_W, &w->wrench, &w->generalized);
        Vec3 expected;
        double cost;
        Law::evaluate(data, velocity, &cost, &expected, nullptr);
        r->cost += cost;
        r->law = std::max(r->law, (gamma - expected).norm());
        r->cone_violation = std::max(
            r->cone_violation, gamma.norm() - data.mu_xx * answer.impulse[i - problem.turning[i].back].z());
        const double work = gamma.dot(velocity + data.bias);
        taken -= work;
        r->friction_gain = std::max(r->friction_gain, work);
        continue;
      }
      const Vec3 gamma = answer.impulse[i], impulse_W = R * gamma;
      const Vec3 velocity = relative(
          i, [&](int link) { return point_velocity(model, placement, w->velocity.V, *answer.v, link, p); });
      add_impulse(model, placement, contacts.link_a[i], p, -impulse_W, &w->wrench, &w->generalized);
      add_impulse(model, placement, contacts.link_b[i], p, impulse_W, &w->wrench, &w->generalized);
      Vec3 expected;
      double cost;
      Law::evaluate(data, velocity, &cost, &expected, nullptr);
      r->cost += cost;
      if (traits(problem.options.law).is_projection) slackness += calc_slackness(data, velocity, gamma);
      r->law = std::max(r->law, (gamma - expected).norm());
      r->largest_impulse = std::max(r->largest_impulse, gamma.norm());
      const Vec2 slip = (velocity + data.bias).head<2>();
      const double mu = contacts.material[i].friction, tangential = gamma.head<2>().norm();
      if (contacts.material[i].tensor == nullptr) {
        r->cone_violation = std::max(r->cone_violation, tangential - mu * gamma.z());
        if (gamma.z() > 0 && tangential < 0.99 * mu * gamma.z())
          r->stick_slip = std::max(r->stick_slip, slip.norm());
      }
      const double work = gamma.head<2>().dot(slip);
      taken -= work;
      r->friction_gain = std::max(r->friction_gain, work);
      if (contacts.kind[i] == ContactKind::withdrawn) continue;
      r->penetration = std::max(r->penetration,
                                -(contacts.distance[i] + problem.dt * (velocity.z() + contacts.gap_rate[i])));
    }
  });
  collect_at_joints(model, placement, &w->wrench, &w->generalized);
  if (num_points > 0) r->complementarity = slackness / num_points;
  if (r->largest_impulse > 0) r->law /= r->largest_impulse;
  r->dissipated_power = taken / problem.dt;
}

}  // namespace

Residual calc_residual(const Problem& problem, const Contacts& contacts, const Answer& answer) {
  ResidualWorkspace workspace;
  return calc_residual(problem, contacts, answer, &workspace);
}

Residual calc_residual(const Problem& problem, const Contacts& contacts, const Answer& answer,
                       ResidualWorkspace* w) {
  const Model& model = *problem.model;
  const int n = model.num_velocities();
  const VecX& v = *answer.v;
  Residual r;
  if (w->velocity.V.empty()) w->velocity = make_velocity(model);
  w->generalized.setZero(n);
  w->change.resize(n);
  w->momentum.resize(n);
  judge_contacts(problem, contacts, answer, w, &r);
  VecX& generalized = w->generalized;

  for (const ConstraintGroup& group : problem.groups) {
    if (group.contact_begin != group.contact_end) continue;
    const Vec6 U = problem.calc_motion(group, v);
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const DofBlock& block = model.blocks[problem.parts[p].block];
      const auto J = problem.jacobian(group, problem.parts[p]);
      for (int row = 0; row < group.num_rows; ++row) {
        generalized.segment(block.dof_begin, block.size) +=
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

  w->off = v - problem.motion->v_star;
  multiply(model.system_pattern, problem.motion->A.data(), w->off.data(), w->change.data());
  multiply(model.system_pattern, problem.motion->A.data(), v.data(), w->momentum.data());
  for (int i = static_cast<int>(model.trees.size()); i < model.num_objects(); ++i) {
    multiply_A(model, *problem.motion, i, w->off, &w->change);
    multiply_A(model, *problem.motion, i, v, &w->momentum);
  }
  r.cost += 0.5 * w->off.dot(w->change);
  if (r.cost > 0) r.complementarity /= r.cost;
  double error = 0, p = 0, j = 0, heaviest = 0;
  for (int k = 0; k < n; ++k) {
    if (!is_mocap_dof(model, k))
      heaviest = std::max(heaviest, problem.motion->A[model.system_pattern.row_start[k + 1] - 1]);
  }
  const auto scale_of = [&](int k) {
    const double scale = 1 / problem.motion->A[model.system_pattern.row_start[k + 1] - 1];
    // What is moved from outside counts as if it were as heavy as the heaviest of the others.
    return is_mocap_dof(model, k) ? scale * scale * heaviest : scale;
  };
  for (int k = 0; k < n; ++k) {
    if (w->change[k] == 0 && w->momentum[k] == 0 && generalized[k] == 0) continue;  // may sleep, without A
    const double scale = scale_of(k);
    error += scale * std::pow(w->change[k] - generalized[k], 2);
    p += scale * w->momentum[k] * w->momentum[k];
    j += scale * generalized[k] * generalized[k];
  }
  // Impulses of single joints, a limit's and that of the drive which presses on it, may cancel.
  for (std::size_t i = 0; i < problem.dof_laws.size(); ++i)
    j = std::max(j, scale_of(problem.dof_laws[i].dof) * std::pow(answer.dof_impulse[i], 2));
  const double size = std::sqrt(std::max(p, j));
  r.momentum = size > 0 ? std::sqrt(error) / size : 0;
  return r;
}

}  // namespace capstan
