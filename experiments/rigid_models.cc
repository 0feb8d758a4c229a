// The course's scenes for models and solvers of rigid contact (Contact course 1.6 to 1.8, 3.2): what a
// polygon in place of the friction cone does to a slide, how the convex relaxation glides, how sweeps depend
// on the order of rows and on ratios of mass, and an arch of stones that stands by friction.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "capstan/rigid/rigid_solvers.h"
#include "experiments/blocks.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kGravity = 9.81;

Simulation rigid(const Scene& scene, RigidModel model, double dt) {
  Simulation s(scene, ContactLaw::sap, dt);
  s.options.rigid.is_on = true;
  s.options.rigid.options.model = model;
  s.options.rigid.options.tolerance = 1e-8;
  return s;
}

// A flat box is pushed off at 1 m/s in some direction: the friction that it finds in one step, over mu m g.
double friction_found(RigidModel model, int directions, double angle) {
  Scene scene = on_plane(0.5);
  add_box("box", {0, 0, 0.005}, {0.05, 0.05, 0.005}, 1, &scene);
  Simulation s = rigid(scene, model, 1e-3);
  s.options.rigid.options.directions = directions;
  s.run_until(0.05);
  const Vec2 along(std::cos(angle), std::sin(angle));
  s.state.v.head<2>() = along;
  s.step();
  return (1 - along.dot(s.state.v.head<2>())) / (0.5 * kGravity * s.options.dt);
}

void measure_anisotropy(const Run& run, Result* result) {
  const int count = run.is_short ? 16 : 120;
  struct Line {
    const char* name;
    RigidModel model;
    int directions;
  };
  const Line lines[] = {{"ncp", RigidModel::ncp, 0},
                        {"4 directions", RigidModel::stewart_trinkle, 4},
                        {"8 directions", RigidModel::stewart_trinkle, 8},
                        {"box", RigidModel::box, 0}};
  std::vector<Series> series, circle;
  for (const Line& line : lines) {
    run.tell(0.1, fmt::format("anisotropy, {}", line.name));
    Series s{line.name, {}, {}}, c{line.name, {}, {}};
    for (int i = 0; i <= count; ++i) {
      const double angle = 2 * std::numbers::pi * i / count;
      const double strength = friction_found(line.model, std::max(4, line.directions), angle);
      s.x.push_back(angle * 180 / std::numbers::pi);
      s.y.push_back(strength);
      c.x.push_back(strength * std::cos(angle));
      c.y.push_back(strength * std::sin(angle));
    }
    const auto [least, most] = std::minmax_element(s.y.begin(), s.y.end());
    const bool is_box = line.model == RigidModel::box;
    const double low = line.directions > 0 ? std::cos(std::numbers::pi / line.directions) : 1;
    const double high = is_box ? std::sqrt(2.0) : 1;
    result->claim(fmt::format("strength of friction over mu, {}", line.name),
                  fmt::format("{:.3f} to {:.3f}", low, high), fmt::format("{:.3f} to {:.3f}", *least, *most),
                  std::abs(*least - low) < 0.02 && std::abs(*most - high) < 0.02);
    series.push_back(s);
    circle.push_back(c);
  }
  result->figure(
      "anisotropy",
      "Friction against the direction of sliding, over mu times the weight; on the right as a "
      "polar curve",
      arrange(
          {draw_plot(series, {560, 420, "", "direction [deg]", "friction / mu m g", false, false, {}, {}}),
           draw_plot(circle, {560, 420, "", "along x", "along y", false, false, PlotRange{-1.5, 1.5},
                              PlotRange{-1.5, 1.5}})},
          2, 560, 420));
}

void measure_gliding(const Run& run, Result* result) {
  Table table{"gliding",
              "A box pulled at its friction: gap of the relaxed model",
              {"dt [s]", "v [m/s]", "gap [mm]", "dt mu v [mm]"},
              {}};
  double worst = 0;
  for (const double dt : {0.02, 0.01, 0.005}) {
    run.tell(0.3, fmt::format("gliding, dt = {:g} s", dt));
    Scene scene = on_plane(0.5);
    add_box("box", {0, 0, 0.05}, Vec3::Constant(0.05), 1, &scene);
    Simulation s = rigid(scene, RigidModel::ccp, dt);
    s.run_until(0.2);
    s.state.v[0] = 1;
    s.input.generalized_force = VecX::Zero(6);
    s.input.generalized_force[0] = 0.5 * kGravity;
    s.run_until(1.2);
    const double v = s.state.v[0], gap = s.state.q[2] - 0.05, expected = dt * 0.5 * v;
    worst = std::max(worst, std::abs(gap / expected - 1));
    table.rows.push_back({fmt::format("{:g}", dt), fmt::format("{:.4f}", v), fmt::format("{:.4f}", 1e3 * gap),
                          fmt::format("{:.4f}", 1e3 * expected)});
  }
  result->tables.push_back(table);
  result->claim("the convex relaxation glides at a gap of", "dt mu v_t",
                fmt::format("that within {:.2g} %", 100 * worst), worst < 0.02);
}

// Two boxes on a plane, eight contacts without friction: sweeps until 1e-4 in all orders of rows (Fig 16).
void measure_orders(const Run& run, Result* result) {
  Simulation s = rigid(make_two_boxes(0.5, 1), RigidModel::frictionless, 0.01);
  s.run_until(0.5);
  RigidOptions options;
  options.model = RigidModel::frictionless;
  const RigidProblem problem(s.workspace.problem, s.workspace.contacts, options);
  const MatX W = problem.calc_W();
  std::vector<int> order;
  for (const RigidBlock& block : problem.blocks) order.push_back(block.row + 2);
  std::sort(order.begin(), order.end());
  const int n = static_cast<int>(order.size());
  int least = 1 << 30, most = 0, count = 0;
  std::mt19937 random(1);
  std::vector<int> sweeps_of;
  for (bool more = true; more && count < (run.is_short ? 500 : 40320); ++count) {
    LcpProblem lcp = make_plain_lcp(MatX(n, n), VecX(n));
    for (int i = 0; i < n; ++i) {
      lcp.q[i] = problem.b[order[i]];
      for (int j = 0; j < n; ++j) lcp.M(i, j) = W(order[i], order[j]);
    }
    LcpOptions o;
    o.tolerance = 1e-4;
    const int sweeps = solve_pgs(lcp, o).iterations;
    sweeps_of.push_back(sweeps);
    least = std::min(least, sweeps);
    most = std::max(most, sweeps);
    if (run.is_short) {
      std::shuffle(order.begin(), order.end(), random);
    } else {
      more = std::next_permutation(order.begin(), order.end());
    }
  }
  result->claim("two boxes, eight contacts: sweeps of PGS in the best and the worst order of rows",
                "the best below half of the worst", fmt::format("{} and {} of {} orders", least, most, count),
                2 * least < most);
}

// A heavy box on a light one: how sweeps and pivots take the ratio of masses.
void measure_mass_ratio(const Run& run, Result* result) {
  Table table{"mass_ratio",
              "A box on a lighter one: iterations to 1e-8, first step",
              {"ratio", "gauss_seidel", "admm", "newton"},
              {}};
  double first = 0, last = 0, newton_most = 0;
  for (const double ratio : {1.0, 10.0, 100.0, 1000.0}) {
    run.tell(0.6, fmt::format("mass ratio {:g}", ratio));
    Simulation s = rigid(make_two_boxes(0.5, ratio), RigidModel::ncp, 0.01);
    s.step();
    RigidOptions options;
    options.tolerance = 1e-8;
    options.max_iterations = 1000000;
    const RigidProblem problem(s.workspace.problem, s.workspace.contacts, options);
    std::vector<std::string> row = {fmt::format("{:g}", ratio)};
    for (const char* name : {"gauss_seidel", "admm", "newton"}) {
      const RigidResult found = find_rigid_solver(name)->solve(problem, VecX::Zero(problem.num_rows()));
      row.push_back(fmt::format("{}{}", found.iterations, found.converged ? "" : ", not solved"));
      if (std::string(name) == "gauss_seidel") (ratio == 1 ? first : last) = found.iterations;
      if (std::string(name) == "newton" && found.converged)
        newton_most = std::max<double>(newton_most, found.iterations);
    }
    table.rows.push_back(row);
  }
  result->tables.push_back(table);
  result->claim(
      "sweeps at a ratio of masses of 1000 against 1", "many times more",
      fmt::format("{:.0f} against {:.0f}; newton at most {:.0f} iterations", last, first, newton_most),
      last > 10 * first && newton_most > 0);
}

void measure_arch(const Run& run, Result* result) {
  const double duration = run.is_short ? 0.1 : 2;
  for (const bool holds : {true, false}) {
    const double friction = holds ? 0.7 : 0.1;
    run.tell(holds ? 0.75 : 0.9, fmt::format("arch, friction {:g}", friction));
    Simulation s = rigid(make_arch(friction, 9), RigidModel::ncp, 0.01);
    s.options.rigid.options.tolerance = 1e-6;
    s.options.fail_if_not_converged = false;
    const int keystone = s.model.joints[s.model.find_joint("stone_4")].q + 2;
    const double start = s.state.q[keystone];
    int failed = 0;
    s.run_until(holds ? duration : std::max(duration, 0.5), [&] { failed += !s.report.solver.converged; });
    const double sunk = start - s.state.q[keystone];
    result->claim(fmt::format("an arch of nine stones with friction {:g}", friction),
                  holds ? "stands" : "falls",
                  fmt::format("the keystone sinks by {:.3g} mm in {:g} s, {} steps without an answer",
                              1e3 * sunk, s.state.time, failed),
                  holds ? std::abs(sunk) < 0.005 : sunk > 0.02);
  }
}

}  // namespace

Result rigid_models(const Run& run) {
  Result result;
  measure_anisotropy(run, &result);
  measure_gliding(run, &result);
  measure_orders(run, &result);
  measure_mass_ratio(run, &result);
  measure_arch(run, &result);
  result.remarks.push_back(
      "The course draws these scenes and gives no numbers of them: sizes and masses are ours. The statements "
      "are its own, "
      "or arithmetic.");
  return result;
}

}  // namespace capstan::experiments
