#include "tests/support/plain_solvers.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "capstan/laws/contact_laws.h"

namespace capstan::test {

MatX dense_A(const Problem& problem) {
  const Model& model = *problem.model;
  const int n = model.num_velocities();
  MatX A = MatX::Zero(n, n);
  for (const Tree& tree : model.trees) {
    expand(model.system_pattern, problem.motion->A.data(), tree.dof_begin, tree.dof_end,
           A.block(tree.dof_begin, tree.dof_begin, tree.num_dofs(), tree.num_dofs()));
  }
  return A;
}

MatX contact_rows(const Problem& problem, const Contacts& contacts) {
  const Model& model = *problem.model;
  const int n = model.num_velocities();
  MatX J(3 * contacts.size(), n), Ja(3, n), Jb(3, n);
  for (int i = 0; i < contacts.size(); ++i) {
    const Placement& placement = problem.motion->placement;
    calc_point_jacobian(model, placement, model.links[contacts.link_a[i]].body, contacts.p_WC[i], Ja);
    calc_point_jacobian(model, placement, model.links[contacts.link_b[i]].body, contacts.p_WC[i], Jb);
    J.middleRows(3 * i, 3) = problem.R_WC[i].transpose() * (Jb - Ja);
  }
  return J;
}

MatX scalar_rows(const Problem& problem) {
  const Model& model = *problem.model;
  const int num_laws = static_cast<int>(problem.laws.size());
  MatX J = MatX::Zero(num_laws + static_cast<int>(problem.dof_laws.size()), model.num_velocities());
  for (const ConstraintGroup& group : problem.groups) {
    if (group.contact_begin != group.contact_end) continue;
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const Tree& tree = model.trees[problem.parts[p].block];
      J.block(group.law_begin, tree.dof_begin, group.num_rows, tree.num_dofs()) +=
          problem.jacobian(group, problem.parts[p]);
    }
  }
  for (std::size_t i = 0; i < problem.dof_laws.size(); ++i)
    J(num_laws + static_cast<int>(i), problem.dof_laws[i].dof) = problem.dof_laws[i].sign;
  return J;
}

namespace {

// The nearest point of the cone |x_t| <= mu x_n.
Vec3 project(const Vec3& x, double mu) {
  const double t = x.head<2>().norm();
  if (t <= mu * x.z()) return x;
  if (mu * t <= -x.z()) return Vec3::Zero();
  const double n = (mu * t + x.z()) / (mu * mu + 1);
  return Vec3(mu * n * x.x() / t, mu * n * x.y() / t, n);
}

}  // namespace

double scaled_distance(const Problem& problem, const VecX& a, const VecX& b) {
  const VecX scale = dense_A(problem).diagonal().cwiseSqrt();
  return scale.cwiseProduct(a - b).norm() / scale.cwiseProduct(b).norm();
}

DualAnswer solve_dual(const Problem& problem, const Contacts& contacts, double tolerance, int most_sweeps) {
  const int nc = contacts.size(), ns = static_cast<int>(problem.laws.size() + problem.dof_laws.size());
  if (nc + ns == 0) return {problem.motion->v_star, true, 0};  // Eigen's solve() wants a column
  const MatX A = dense_A(problem);
  MatX J(3 * nc + ns, A.cols());
  J << contact_rows(problem, contacts), scalar_rows(problem);
  const auto scalar_law = [&](int i) -> const ScalarLaw& {
    const int n = static_cast<int>(problem.laws.size());
    return i < n ? problem.laws[i] : problem.dof_laws[i - n].law;
  };
  VecX R(J.rows()), v_hat = VecX::Zero(J.rows());
  for (int i = 0; i < nc; ++i) {
    const ContactData& d = problem.contacts[i];
    R.segment<3>(3 * i) << d.slip, d.slip, 1 / d.normal.c0;
    v_hat.segment<3>(3 * i) = Vec3(0, 0, d.normal.v_hat) - d.bias;
  }
  for (int i = 0; i < ns; ++i) {
    R[3 * nc + i] = scalar_law(i).R;
    v_hat[3 * nc + i] = scalar_law(i).v_hat;
  }
  const Eigen::LLT<MatX> llt(A);
  const MatX AiJt = llt.solve(J.transpose());
  MatX W = J * AiJt;
  W.diagonal() += R;
  VecX step(nc);
  for (int i = 0; i < nc; ++i) {
    step[i] =
        1 / Eigen::SelfAdjointEigenSolver<Mat3>(Mat3(W.block<3, 3>(3 * i, 3 * i))).eigenvalues().maxCoeff();
  }
  VecX gamma = VecX::Zero(J.rows()), slope = J * problem.motion->v_star - v_hat;  // slope: W gamma + ...
  DualAnswer answer;
  const VecX scale = A.diagonal().cwiseSqrt();
  VecX before = problem.motion->v_star;
  while (answer.iterations < most_sweeps && !answer.converged) {
    ++answer.iterations;
    for (int i = 0; i < nc; ++i) {
      const Vec3 old = gamma.segment<3>(3 * i);
      const Vec3 next = project(old - step[i] * slope.segment<3>(3 * i), problem.contacts[i].mu_xx);
      gamma.segment<3>(3 * i) = next;
      slope += W.middleCols(3 * i, 3) * (next - old);
    }
    for (int i = 3 * nc; i < J.rows(); ++i) {
      const ScalarLaw& law = scalar_law(i - 3 * nc);
      const double next = std::clamp(gamma[i] - slope[i] / W(i, i), law.lower, law.upper);
      slope += W.col(i) * (next - gamma[i]);
      gamma[i] = next;
    }
    if (answer.iterations % 10 == 0) {
      answer.v = problem.motion->v_star + AiJt * gamma;
      answer.converged =
          scale.cwiseProduct(answer.v - before).norm() <= tolerance * scale.cwiseProduct(answer.v).norm();
      before = answer.v;
      slope = W * gamma + J * problem.motion->v_star - v_hat;
    }
  }
  return answer;
}

DualAnswer minimize_by_bfgs(const Problem& problem, const Contacts& contacts, double tolerance,
                            int most_iterations) {
  const MatX A = dense_A(problem), J = contact_rows(problem, contacts);
  const VecX& v_star = problem.motion->v_star;
  VecX impulse;
  const auto gradient_at = [&](const VecX& v) {
    const VecX vc = J * v;
    VecX gamma(J.rows());
    for (int i = 0; i < contacts.size(); ++i) {
      Vec3 g;
      evaluate(problem.options.law, problem.options.normal_law, problem.contacts[i],
               Vec3(vc.segment<3>(3 * i)), nullptr, &g, nullptr);
      gamma.segment<3>(3 * i) = g;
    }
    impulse = J.transpose() * gamma;
    return VecX(A * (v - v_star) - impulse);
  };
  const VecX scale = A.diagonal().cwiseSqrt().cwiseInverse();
  DualAnswer answer;
  answer.v = v_star;
  VecX gradient = gradient_at(answer.v);
  MatX B = A.inverse();
  for (; answer.iterations < most_iterations; ++answer.iterations) {
    const double size = std::max(scale.cwiseProduct(A * answer.v).norm(), scale.cwiseProduct(impulse).norm());
    answer.converged = scale.cwiseProduct(gradient).norm() <= tolerance * size;
    if (answer.converged) break;
    VecX d = -B * gradient;
    if (!(d.dot(gradient) < 0)) {
      B = A.inverse();
      d = -B * gradient;
    }
    double low = 0, high = 1;
    while (gradient_at(answer.v + high * d).dot(d) < 0 && high < 1e6) low = high, high *= 2;
    for (int i = 0; i < 60 && high - low > 1e-6 * high; ++i) {
      const double middle = 0.5 * (low + high);
      (gradient_at(answer.v + middle * d).dot(d) < 0 ? low : high) = middle;
    }
    const VecX s = 0.5 * (low + high) * d, next = gradient_at(answer.v + s), y = next - gradient;
    answer.v += s;
    gradient = next;
    const double sy = s.dot(y);
    if (!(sy > 0)) continue;
    const VecX By = B * y;
    B += (1 + y.dot(By) / sy) / sy * s * s.transpose() - (By * s.transpose() + s * By.transpose()) / sy;
  }
  return answer;
}

}  // namespace capstan::test
