#include "experiments/conic_problem.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "capstan/io/output_file.h"
#include "capstan/math/block_cholesky.h"
#include "capstan/math/branch_matrix.h"

namespace capstan::experiments {

ConicProblem conic_problem(const Problem& problem, const VecX& answer) {
  ConicProblem conic = conic_problem(problem);
  std::vector<VecX> push(conic.A.size());  // A v*
  for (std::size_t b = 0; b < conic.A.size(); ++b)
    push[b] = conic.A[b] * conic.v_star.segment(conic.start[b], conic.A[b].rows());
  for (const DofLaw& law : problem.dof_laws) {
    const auto after = std::upper_bound(conic.start.begin(), conic.start.end(), law.dof);
    const std::size_t b = after - conic.start.begin() - 1;
    const int k = law.dof - conic.start[b];
    double cost, hessian;
    const double impulse = evaluate(law.law, law.sign * answer[law.dof], &cost, &hessian);
    conic.A[b](k, k) += hessian;
    push[b][k] += law.sign * impulse + hessian * answer[law.dof];
  }
  for (std::size_t b = 0; b < conic.A.size(); ++b)
    conic.v_star.segment(conic.start[b], conic.A[b].rows()) = conic.A[b].ldlt().solve(push[b]);
  return conic;
}

ConicProblem conic_problem(const Problem& problem) {
  const Model& model = *problem.model;
  ConicProblem conic;
  conic.start = {0};
  for (const Tree& tree : model.trees) {
    MatX block(tree.num_dofs(), tree.num_dofs());
    expand(model.system_pattern, problem.motion->A.data(), tree.dof_begin, tree.dof_end, block);
    conic.A.push_back(block);
    conic.start.push_back(tree.dof_end);
  }
  conic.v_star = problem.motion->v_star;
  conic.v0 = problem.v0;
  for (const ConstraintGroup& group : problem.groups) {
    for (int i = group.contact_begin; i < group.contact_end; ++i) {
      const ContactData& data = problem.contacts[i];
      ConicProblem::ContactRow row{
          data.mu_xx, Vec3(data.slip, data.slip, 1 / data.normal.c0), data.normal.v_hat - data.bias.z(), {}};
      for (int p = group.part_begin; p < group.part_end; ++p) {
        row.parts.push_back({problem.parts[p].block, problem.X[i].leftCols(group.num_rows) *
                                                         problem.jacobian(group, problem.parts[p])});
      }
      conic.contacts.push_back(row);
    }
  }
  return conic;
}

void save(const ConicProblem& problem, const std::string& path) {
  std::string text = fmt::format("capstan-conic-problem 1\n{} {} {}\n", problem.v_star.size(),
                                 problem.A.size(), problem.contacts.size());
  const auto numbers = [&text](const MatX& m) {
    for (int r = 0; r < m.rows(); ++r) {
      for (int c = 0; c < m.cols(); ++c) fmt::format_to(std::back_inserter(text), " {}", m(r, c));
    }
    text += '\n';
  };
  for (std::size_t b = 0; b < problem.A.size(); ++b) {
    text += fmt::format("block {} {}", problem.start[b], problem.A[b].rows());
    numbers(problem.A[b]);
  }
  text += "v_star";
  numbers(problem.v_star);
  text += "v0";
  numbers(problem.v0);
  for (const ConicProblem::ContactRow& c : problem.contacts) {
    text += fmt::format("contact {} {} {} {} {}\n", c.mu, c.R.x(), c.R.z(), c.v_hat, c.parts.size());
    for (const ConicProblem::Part& part : c.parts) {
      text += fmt::format("part {} {}", problem.start[part.block], part.J.cols());
      numbers(part.J);
    }
  }
  write_file(path, text);
}

namespace {

using Block = ConicProblem::Part;

Vec3 contact_velocity(const ConicProblem& p, const ConicProblem::ContactRow& c, const VecX& v) {
  Vec3 sum = Vec3::Zero();
  for (const Block& part : c.parts) sum += part.J * v.segment(p.start[part.block], part.J.cols());
  return sum;
}

VecX multiply_A(const ConicProblem& p, const VecX& x) {
  VecX y(x.size());
  for (std::size_t b = 0; b < p.A.size(); ++b) {
    y.segment(p.start[b], p.A[b].rows()) = p.A[b] * x.segment(p.start[b], p.A[b].rows());
  }
  return y;
}

VecX generalized_impulse(const ConicProblem& p, const std::vector<Vec3>& gamma) {
  VecX j = VecX::Zero(p.v_star.size());
  for (std::size_t i = 0; i < p.contacts.size(); ++i) {
    for (const Block& part : p.contacts[i].parts) {
      j.segment(p.start[part.block], part.J.cols()) += part.J.transpose() * gamma[i];
    }
  }
  return j;
}

// Vectors of a second-order cone: (axis, x, y), axis >= |(x, y)|.
double cone_det(const Vec3& u) {
  return (u[0] - u.tail<2>().norm()) * (u[0] + u.tail<2>().norm());
}
Vec3 cone_product(const Vec3& u, const Vec3& w) {
  return Vec3(u.dot(w), u[0] * w[1] + w[0] * u[1], u[0] * w[2] + w[0] * u[2]);
}
// x with cone_product(u, x) = r.
Vec3 cone_divide(const Vec3& u, const Vec3& r) {
  const double x0 = (u[0] * r[0] - u.tail<2>().dot(r.tail<2>())) / cone_det(u);
  Vec3 x;
  x << x0, (r.tail<2>() - x0 * u.tail<2>()) / u[0];
  return x;
}

// Largest step along d that stays in the cone.
double cone_step(const Vec3& u, const Vec3& d) {
  const double a = cone_det(d), b = u[0] * d[0] - u.tail<2>().dot(d.tail<2>()), c = cone_det(u);
  double step = d[0] < 0 ? -u[0] / d[0] : 1e30;
  const double disc = b * b - a * c;
  if (disc < 0) return step;
  // Roots of c + 2 b t + a t^2, in the form without cancellation.
  const double q = -(b + std::copysign(std::sqrt(disc), b));
  for (const double t : {q / a, c / q}) {
    if (std::isfinite(t) && t > 0) step = std::min(step, t);
  }
  return step;
}

// Nesterov-Todd scaling: symmetric W with W z = W^-1 s = lambda.
struct Scaling {
  Mat3 W, W2;
  Vec3 lambda;
  Scaling(const Vec3& s, const Vec3& z) {
    const double ds = cone_det(s), dz = cone_det(z), beta = std::pow(ds / dz, 0.25);
    const Mat3 flip = Vec3(1, -1, -1).asDiagonal();
    const Vec3 s1 = s / std::sqrt(ds), z1 = z / std::sqrt(dz);
    const Vec3 w = (s1 + flip * z1) / std::sqrt(2 * (1 + s1.dot(z1)));
    const Vec3 v = (w + Vec3(1, 0, 0)) / std::sqrt(2 * (w[0] + 1));
    W = beta * (2 * v * v.transpose() - flip);
    W2 = beta * beta * (2 * w * w.transpose() - flip);
    lambda = W * z;
  }
};

// The contacts in the coordinates of a standard cone: z = (mu gamma_n, gamma_t), s = (g_n / mu, g_t).
struct Solver {
  const ConicProblem& p;
  int n;
  std::vector<Mat3> T;  // gamma = T z, s = T^T g
  std::vector<std::vector<MatX>> J;
  std::vector<Vec3> R, v_hat, s, z, ds, dz, rz, q;
  std::vector<Mat3> inverse;  // (R + W^2)^-1
  std::vector<Scaling> scaling;
  VecX v, dv, rx;
  BlockPattern pattern;
  BlockCholesky cholesky;

  explicit Solver(const ConicProblem& problem)
      : p(problem), n(static_cast<int>(problem.contacts.size())), v(problem.v_star) {
    for (const MatX& block : p.A) pattern.sizes.push_back(static_cast<int>(block.rows()));
    std::vector<Eigen::LLT<MatX>> factors(p.A.begin(), p.A.end());
    for (const auto& c : p.contacts) {
      Mat3 t;
      t << 0, 1, 0, 0, 0, 1, 1 / c.mu, 0, 0;
      T.push_back(t);
      R.push_back(Vec3(c.R.z() / (c.mu * c.mu), c.R.x(), c.R.y()));
      v_hat.push_back(Vec3(c.v_hat / c.mu, 0, 0));
      std::vector<MatX> rows;
      double w = 0;
      for (const Block& part : c.parts) {
        rows.push_back(t.transpose() * part.J);
        w += (rows.back() * factors[part.block].solve(rows.back().transpose())).trace() / 3;
      }
      J.push_back(rows);
      if (c.parts.size() == 2) pattern.pairs.push_back({c.parts[0].block, c.parts[1].block});
      s.push_back(Vec3(0.1, 0, 0));  // a slow speed [m/s], and the impulse that makes it
      z.push_back(Vec3(0.1 / w, 0, 0));
    }
    ds = dz = rz = q = std::vector<Vec3>(n);
    inverse.resize(n);
    cholesky.analyze(pattern);
  }

  Vec3 velocity(int i, const VecX& x) const {
    Vec3 sum = Vec3::Zero();
    for (std::size_t k = 0; k < J[i].size(); ++k) {
      sum += J[i][k] * x.segment(p.start[p.contacts[i].parts[k].block], J[i][k].cols());
    }
    return sum;
  }

  void add_transposed(int i, const Vec3& f, VecX* y) const {
    for (std::size_t k = 0; k < J[i].size(); ++k) {
      y->segment(p.start[p.contacts[i].parts[k].block], J[i][k].cols()) += J[i][k].transpose() * f;
    }
  }

  bool factor() {
    BlockMatrix& H = cholesky.matrix;
    H.set_zero();
    for (std::size_t b = 0; b < p.A.size(); ++b) {
      Eigen::Map<MatX>(H.block(b, b), p.A[b].rows(), p.A[b].rows()) = p.A[b];
    }
    for (int i = 0, pair = 0; i < n; ++i) {
      const auto& parts = p.contacts[i].parts;
      for (std::size_t a = 0; a < parts.size(); ++a) {
        const MatX DJ = inverse[i] * J[i][a];
        Eigen::Map<MatX>(H.block(parts[a].block, parts[a].block), DJ.cols(), DJ.cols()) +=
            J[i][a].transpose() * DJ;
        if (a == 0) continue;
        const bool lower = parts[1].block > parts[0].block;
        const MatX block = lower ? MatX(DJ.transpose() * J[i][0]) : MatX(J[i][0].transpose() * DJ);
        Eigen::Map<MatX>(H.pair_block(pair++), block.rows(), block.cols()) += block;
      }
    }
    return static_cast<bool>(cholesky.factor());
  }

  // Direction for the right-hand side q = lambda \ r of the complementarity.
  void direction() {
    dv = -rx;
    for (int i = 0; i < n; ++i) add_transposed(i, inverse[i] * (rz[i] + scaling[i].W * q[i]), &dv);
    cholesky.solve_in_place(dv.data(), 1, dv.size());
    for (int i = 0; i < n; ++i) {
      const Vec3 Jdv = velocity(i, dv);
      dz[i] = inverse[i] * (rz[i] + scaling[i].W * q[i] - Jdv);
      // W q - W^2 dz would cancel where the contact opens; this keeps s feasible to the last digit.
      ds[i] = Jdv + R[i].cwiseProduct(dz[i]) - rz[i];
    }
  }

  double largest_step() const {
    double step = 1;
    for (int i = 0; i < n; ++i)
      step = std::min({step, 0.99 * cone_step(s[i], ds[i]), 0.99 * cone_step(z[i], dz[i])});
    return step;
  }

  ConicAnswer answer() const {
    ConicAnswer a;
    a.v = v;
    for (int i = 0; i < n; ++i) a.gamma.push_back(T[i] * z[i]);
    return a;
  }
};

}  // namespace

ConicErrors errors(const ConicProblem& p, const ConicAnswer& a) {
  const VecX j = generalized_impulse(p, a.gamma), change = multiply_A(p, a.v - p.v_star),
             momentum = multiply_A(p, a.v);
  VecX scale(a.v.size());
  for (std::size_t b = 0; b < p.A.size(); ++b) {
    scale.segment(p.start[b], p.A[b].rows()) = p.A[b].diagonal().cwiseSqrt().cwiseInverse();
  }
  ConicErrors e;
  const auto norm = [&](const VecX& x) { return scale.cwiseProduct(x).norm(); };
  e.momentum = norm(change - j) / std::max({norm(momentum), norm(j), 1e-300});
  double cost = 0.5 * (a.v - p.v_star).dot(change), slack = 0;
  for (std::size_t i = 0; i < p.contacts.size(); ++i) {
    const auto& c = p.contacts[i];
    const Vec3 g = contact_velocity(p, c, a.v) - Vec3(0, 0, c.v_hat) + c.R.cwiseProduct(a.gamma[i]);
    slack += std::abs(g.dot(a.gamma[i]));
    cost += 0.5 * a.gamma[i].dot(c.R.cwiseProduct(a.gamma[i]));
  }
  if (!p.contacts.empty() && cost > 0)
    e.complementarity = slack / static_cast<double>(p.contacts.size()) / cost;
  return e;
}

ConicAnswer solve_interior_point(const ConicProblem& p, double tolerance) {
  Solver o(p);
  int iterations = 0;
  bool converged = false;
  for (; iterations < 100; ++iterations) {
    o.rx = multiply_A(p, o.v - p.v_star);
    double gap = 0;
    o.scaling.clear();
    double infeasible = 0, speed = 1e-300;
    for (int i = 0; i < o.n; ++i) {
      o.add_transposed(i, -o.z[i], &o.rx);
      const Vec3 Jv = o.velocity(i, o.v), Rz = o.R[i].cwiseProduct(o.z[i]);
      o.rz[i] = o.s[i] - (Jv - o.v_hat[i] + Rz);
      infeasible = std::max(infeasible, o.rz[i].norm());
      speed = std::max(speed, Jv.norm() + o.v_hat[i].norm() + Rz.norm());
      gap += o.s[i].dot(o.z[i]);
      o.scaling.emplace_back(o.s[i], o.z[i]);
      o.inverse[i] = (o.scaling[i].W2 + Mat3(o.R[i].asDiagonal())).inverse();
    }
    const ConicErrors e = errors(p, o.answer());
    converged = e.momentum < tolerance && e.complementarity < tolerance && infeasible < tolerance * speed;
    if (converged || o.n == 0 || !o.factor()) break;
    const double mu = gap / o.n;
    for (int i = 0; i < o.n; ++i) o.q[i] = -o.scaling[i].lambda;  // predictor: lambda \ (-lambda o lambda)
    o.direction();
    const double predicted = o.largest_step(), sigma = std::pow(1 - predicted, 3);
    for (int i = 0; i < o.n; ++i) {
      const Scaling& w = o.scaling[i];
      const Vec3 correction = cone_product(w.W.inverse() * o.ds[i], w.W * o.dz[i]);
      o.q[i] =
          cone_divide(w.lambda, sigma * mu * Vec3(1, 0, 0) - cone_product(w.lambda, w.lambda) - correction);
    }
    o.direction();
    const double step = o.largest_step();
    o.v += step * o.dv;
    for (int i = 0; i < o.n; ++i) o.s[i] += step * o.ds[i], o.z[i] += step * o.dz[i];
  }
  ConicAnswer answer = o.answer();
  answer.iterations = iterations;
  answer.converged = converged || o.n == 0;
  return answer;
}

void compare_solvers(const Simulation& s, double conic_tolerance, SolverComparison* sum) {
  const Problem& problem = s.workspace.problem;
  NewtonWorkspace newton = make_newton_workspace(s.model);
  double best = 1e30, best_conic = 1e30;
  SolverReport report;
  for (int k = 0; k < 3; ++k) {
    const double began = processor_seconds();
    report = solve_newton(problem, s.options.newton, &newton);
    best = std::min(best, processor_seconds() - began);
  }
  const ConicProblem conic = conic_problem(problem, newton.v);
  ConicAnswer answer;
  for (int k = 0; k < 2; ++k) {
    const double began = processor_seconds();
    answer = solve_interior_point(conic, conic_tolerance);
    best_conic = std::min(best_conic, processor_seconds() - began);
  }
  ++sum->samples;
  if (!answer.converged) {
    ++sum->unsolved;
    return;
  }
  sum->newton_time += best, sum->conic_time += best_conic;
  sum->newton_iterations += report.iterations, sum->conic_iterations += answer.iterations;
  sum->worst_momentum = std::max(sum->worst_momentum, errors(conic, answer).momentum);
  const double ours = calc_cost(problem, newton.v), theirs = calc_cost(problem, answer.v);
  if (std::min(ours, theirs) > 0)
    sum->worst_cost = std::max(sum->worst_cost, std::max(ours, theirs) / std::min(ours, theirs) - 1);
}

}  // namespace capstan::experiments
