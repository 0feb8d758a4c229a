#include "experiments/simulation.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <ctime>

#include "capstan/io/read.h"
#include "capstan/io/scene_library.h"
#include "capstan/laws/contact_laws.h"
#include "capstan/math/branch_matrix.h"

namespace capstan::experiments {

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Scene shipped_scene(const std::string& name) {
  return read_scene(find_scene(name));
}

Simulation::Simulation(const Scene& scene, ContactLaw law, double dt)
    : model(compile(scene)), state(initial_state(model)), workspace(make_workspace(model)) {
  // As published; our defaults are smaller.
  for (Material& m : model.materials) m.stiction_tolerance = 1e-4;
  model.options.contact.sigma = 1e-3;
  model.options.follow_paths = false;
  options = step_options(model);
  if (dt > 0) options.dt = dt;
  options.contact.law = law;
}

Simulation::Simulation(const std::string& scene, ContactLaw law, double dt)
    : Simulation(shipped_scene(scene), law, dt) {}

const Report& Simulation::step() {
  const double began = processor_seconds();
  report = capstan::step(model, options, input, &state, &workspace);
  seconds += processor_seconds() - began;
  return report;
}

void Simulation::run_until(double time, const std::function<void()>& each) {
  while (state.time < time - 0.5 * options.dt) {
    step();
    if (each) each();
  }
}

namespace {

Vec6 group_motion(const Problem& problem, const ConstraintGroup& group, const VecX& v) {
  Vec6 U = Vec6::Zero();
  for (int p = group.part_begin; p < group.part_end; ++p) {
    const Tree& tree = problem.model->trees[problem.parts[p].block];
    U.head(group.num_rows) +=
        problem.jacobian(group, problem.parts[p]) * v.segment(tree.dof_begin, tree.num_dofs());
  }
  return U;
}

// Adds J^T H J of one group, whose rows have the Hessian H.
void add_group(const Problem& problem, const ConstraintGroup& group, const Mat6& H, MatX* sum) {
  const int n = group.num_rows;
  for (int a = group.part_begin; a < group.part_end; ++a) {
    const Tree& ta = problem.model->trees[problem.parts[a].block];
    const MatX HJ = H.topLeftCorner(n, n) * problem.jacobian(group, problem.parts[a]);
    for (int b = group.part_begin; b < group.part_end; ++b) {
      const Tree& tb = problem.model->trees[problem.parts[b].block];
      sum->block(tb.dof_begin, ta.dof_begin, tb.num_dofs(), ta.num_dofs()) +=
          problem.jacobian(group, problem.parts[b]).transpose() * HJ;
    }
  }
}

MatX dense_mass(const Problem& problem) {
  const Model& model = *problem.model;
  MatX A = MatX::Zero(model.num_velocities(), model.num_velocities());
  for (const Tree& tree : model.trees) {
    MatX block(tree.num_dofs(), tree.num_dofs());
    expand(model.system_pattern, problem.motion->A.data(), tree.dof_begin, tree.dof_end, block);
    A.block(tree.dof_begin, tree.dof_begin, tree.num_dofs(), tree.num_dofs()) = block;
  }
  return A;
}

}  // namespace

std::vector<Vec3> contact_velocities(const Problem& problem, const VecX& v) {
  std::vector<Vec3> velocities(problem.contacts.size());
  for (const ConstraintGroup& group : problem.groups) {
    const Vec6 U = group_motion(problem, group, v);
    for (int i = group.contact_begin; i < group.contact_end; ++i) {
      velocities[i] = problem.X[i] * U + problem.contacts[i].bias;
    }
  }
  return velocities;
}

GroundContact ground_contact(const Simulation& s) {
  const Workspace& w = s.workspace;
  const std::vector<Vec3> v = contact_velocities(w.problem, w.newton.v);
  GroundContact sum;
  Vec3 velocity = Vec3::Zero();
  int pushing = 0;
  for (int i = 0; i < w.contacts.size(); ++i) {
    if (!(w.newton.impulse[i].z() > 0)) continue;
    const double sign = w.contacts.normal[i].z() > 0 ? 1 : -1;  // on what lies above
    sum.force += sign / s.options.dt * (w.problem.R_WC[i] * w.newton.impulse[i]);
    velocity += sign * (w.problem.R_WC[i] * v[i]);
    ++pushing;
  }
  sum.touches = pushing > 0;
  if (pushing > 0) sum.velocity = velocity / pushing;
  return sum;
}

MatX dense_hessian(const Problem& problem, const VecX& v) {
  MatX H = dense_mass(problem);
  const ContactOptions& o = problem.options;
  for (const ConstraintGroup& group : problem.groups) {
    const Vec6 U = group_motion(problem, group, v);
    Mat6 sum = Mat6::Zero();
    for (int i = group.contact_begin; i < group.contact_end; ++i) {
      Mat3 G;
      evaluate(o.law, o.normal_law, problem.contacts[i], problem.X[i] * U, nullptr, nullptr, &G);
      sum += problem.X[i].transpose() * G * problem.X[i];
    }
    if (group.contact_begin == group.contact_end) {
      for (int r = 0; r < group.num_rows; ++r) {
        double cost;
        evaluate(problem.laws[group.law_begin + r], U[r], &cost, &sum(r, r));
      }
    }
    add_group(problem, group, sum, &H);
  }
  for (const DofLaw& law : problem.dof_laws) {
    double cost, h;
    evaluate(law.law, law.sign * v[law.dof], &cost, &h);
    H(law.dof, law.dof) += h;
  }
  return H;
}

double condition_number(const MatX& symmetric) {
  const Eigen::SelfAdjointEigenSolver<MatX> eigen(symmetric, Eigen::EigenvaluesOnly);
  return eigen.eigenvalues().maxCoeff() / eigen.eigenvalues().minCoeff();
}

double calc_cost(const Problem& problem, const VecX& v) {
  const VecX dv = v - problem.motion->v_star;
  double cost = 0.5 * dv.dot(dense_mass(problem) * dv);
  const ContactOptions& o = problem.options;
  for (const ConstraintGroup& group : problem.groups) {
    const Vec6 U = group_motion(problem, group, v);
    double l, h;
    for (int i = group.contact_begin; i < group.contact_end; ++i) {
      evaluate(o.law, o.normal_law, problem.contacts[i], problem.X[i] * U, &l, nullptr, nullptr);
      cost += l;
    }
    if (group.contact_begin < group.contact_end) continue;
    for (int r = 0; r < group.num_rows; ++r) {
      evaluate(problem.laws[group.law_begin + r], U[r], &l, &h);
      cost += l;
    }
  }
  for (const DofLaw& law : problem.dof_laws) {
    double l, h;
    evaluate(law.law, law.sign * v[law.dof], &l, &h);
    cost += l;
  }
  return cost;
}

void ErrorIntegral::add(double time, double error) {
  const double square = error * error;
  if (!started_) first_time_ = time;
  if (started_) sum_ += 0.5 * (square + last_square_) * (time - last_time_);
  started_ = true;
  last_time_ = time;
  last_square_ = square;
}

double ErrorIntegral::value() const {
  return last_time_ > first_time_ ? std::sqrt(sum_ / (last_time_ - first_time_)) : 0;
}

void Trajectory::add(double t, const VecX& value) {
  time.push_back(t);
  x.push_back(value);
}

VecX Trajectory::at(double t) const {
  const auto after = std::lower_bound(time.begin(), time.end(), t);
  if (after == time.begin()) return x.front();
  if (after == time.end()) return x.back();
  const std::size_t i = after - time.begin();
  const double f = (t - time[i - 1]) / (time[i] - time[i - 1]);
  return (1 - f) * x[i - 1] + f * x[i];
}

double distance(const Trajectory& a, const Trajectory& b) {
  ErrorIntegral error;
  for (std::size_t i = 0; i < a.time.size(); ++i) error.add(a.time[i], (a.x[i] - b.at(a.time[i])).norm());
  return error.value();
}

double fitted_order(const std::vector<double>& x, const std::vector<double>& y) {
  double mx = 0, my = 0, xx = 0, xy = 0;
  const double n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) mx += std::log(x[i]) / n, my += std::log(y[i]) / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (std::log(x[i]) - mx) * (std::log(x[i]) - mx);
    xy += (std::log(x[i]) - mx) * (std::log(y[i]) - my);
  }
  return xy / xx;
}

double convergence_order(const std::vector<double>& e) {
  const std::size_t n = e.size();
  if (n < 3) return std::numeric_limits<double>::quiet_NaN();
  return std::log(e[n - 1] / e[n - 2]) / std::log(e[n - 2] / e[n - 3]);
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace capstan::experiments
