// Clutter with the SAP law (sap.txt VI-C): iterations and time of a step, convergence of Newton's method,
// scaling with the number of bodies, errors, and the slip parameter sigma. Near-rigid contact (k = 1e12 N/m),
// dt = 10 ms, mu = 1.
//
// `Iterations' are those of the island that needs most: the paper solves all bodies as one problem.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/clutter.h"
#include "experiments/programs.h"

namespace capstan::experiments {
namespace {

constexpr double kDt = 0.01, kGravity = 9.81;

Simulation make(int bodies, bool walls, double sigma = 1e-3) {
  Simulation s(clutter_scene({bodies, walls, 1e12, 50, -1}), ContactLaw::sap, kDt);
  s.options.contact.sigma = sigma;
  s.options.newton.globalization = Globalization::exact_line_search;  // the solver of the paper
  return s;
}

// The cost after 0, 1, 2, ... Newton iterations over that of the start, by solving the last step's problem
// again and again.
Series convergence(const Simulation& s, const std::string& name) {
  const Problem& problem = s.workspace.problem;
  NewtonWorkspace newton = make_newton_workspace(s.model);
  NewtonOptions options = s.options.newton;
  options.relative_tolerance = 1e-14;
  std::vector<double> costs;
  for (int k = 0; k <= 40; ++k) {
    options.max_iterations = k;
    const SolverReport report = solve_newton(problem, options, &newton);
    costs.push_back(calc_cost(problem, newton.v));
    if (report.converged) break;
  }
  Series series{name, {}, {}, LineStyle::solid, true};
  for (std::size_t k = 0; k + 1 < costs.size(); ++k) {
    if (costs[k] - costs.back() < 1e-15 * costs[0]) break;  // round-off
    series.x.push_back(static_cast<double>(k));
    series.y.push_back((costs[k] - costs.back()) / costs[0]);
  }
  return series;
}

bool falls(const Series& s) {
  // Round-off of a sum of costs: about 1e-15 of the first.
  for (std::size_t k = 1; k < s.y.size(); ++k) {
    if (s.y[k] > s.y[k - 1] + 1e-14) return false;
  }
  return true;
}

void over_time(const Run& run, Result* result) {
  const double duration = run.is_short ? 2 : 10;
  Simulation s = make(40, true);
  std::vector<double> time, iterations, wall, early, late, residual, complementarity;
  std::vector<Series> costs;
  s.run_until(duration, [&] {
    time.push_back(s.state.time);
    iterations.push_back(s.report.solver.most_iterations);
    wall.push_back(1e3 * s.wall);
    (s.state.time < 1 ? early : late).push_back(iterations.back());
    residual.push_back(momentum_error(s));
    complementarity.push_back(complementarity_error(s));
    if (s.state.step == 60 || s.state.step == (run.is_short ? 180 : 520))
      costs.push_back(convergence(s, fmt::format("step {}", s.state.step)));
    run.tell(0.2 * s.state.time / duration, "40 bodies with walls");
  });
  for (std::size_t i = wall.size(); i-- > 1;) wall[i] -= wall[i - 1];  // from sums to steps
  const std::vector<double> steady(iterations.end() - iterations.size() / 4, iterations.end());
  if (!run.is_short) {
    result->claim("iterations in steady state (last quarter, mean)", "about 3",
                  fmt::format("{:.1f}", mean(steady)), mean(steady) <= 4);
  }
  result->claim("iterations in the transient, largest", "about 20",
                fmt::format("{:.0f}", *std::max_element(early.begin(), early.end())),
                *std::max_element(early.begin(), early.end()) <= 45);
  const double worst = *std::max_element(residual.begin(), residual.end());
  result->claim("momentum error e_m, largest over all steps", "below eps_r = 1e-5",
                fmt::format("{:.1e}", worst), worst < 1.01e-5);
  const double slackness = *std::max_element(complementarity.begin(), complementarity.end());
  result->claim("complementarity error e_mu, largest over all steps", "exact to machine precision",
                fmt::format("{:.1e}", slackness), slackness < 1e-12);
  result->claim("the cost falls at every iteration", "monotonically",
                falls(costs[0]) && falls(costs[1]) ? "yes" : "no", falls(costs[0]) && falls(costs[1]));
  // Quadratic: the exponent by which the last reductions grow, log e_{k+1} / log e_k.
  const Series& c = costs[0];
  double power = 0;
  for (std::size_t k = 1; k < c.y.size(); ++k) {
    if (c.y[k] > 1e-15 && c.y[k - 1] < 1e-2) power = std::max(power, std::log(c.y[k]) / std::log(c.y[k - 1]));
  }
  result->claim("step 60 ends with quadratic convergence", "quadratic after linear",
                fmt::format("from one iteration to the next the error goes to its power {:.2f}", power),
                power > 1.3);
  const auto panel = [](const char* title, const char* label) {
    return PlotOptions{640, 320, title, "time [s]", label, false, false, {}, {}};
  };
  result->figure("over_time",
                 "Newton iterations and wall-clock time of each step, 40 bodies with walls (figure 9)",
                 arrange({draw_plot({{"", time, iterations}}, panel("iterations", "iterations of a step")),
                          draw_plot({{"", time, wall}}, panel("wall-clock time", "time of a step [ms]"))},
                         2, 640, 320));
  result->figure("convergence",
                 "Cost above its minimum, over that of the first guess, against iterations (figure 10)",
                 draw_plot(costs, {720,
                                   380,
                                   "convergence of Newton's method",
                                   "iteration",
                                   "(cost - minimum) / first cost",
                                   false,
                                   true,
                                   {},
                                   {}}));
}

void scaling(const Run& run, Result* result) {
  const std::vector<int> sizes =
      run.is_short ? std::vector<int>{8, 20, 60} : std::vector<int>{8, 16, 40, 80, 160, 320, 640, 1000};
  Table table{"scaling",
              "Size and time against the number of bodies; contacts at the end, the rest means over the run",
              {"bodies", "walls", "contacts", "islands", "iterations", "time of a step [ms]", "e_m"},
              {},
              true};
  std::vector<Series> contacts, times, errors;
  double worst = 0;
  for (const bool walls : {true, false}) {
    const std::string name = walls ? "with walls" : "without walls";
    contacts.push_back({name, {}, {}, LineStyle::solid, true});
    times.push_back(contacts.back()), errors.push_back(contacts.back());
    for (const int n : sizes) {
      run.tell(0.2 + (walls ? 0 : 0.25), fmt::format("{} bodies {}", n, name));
      const double duration = run.is_short ? 1.5 : n > 500 ? 1.5 : n > 100 ? 3 : 10;
      Simulation s = make(n, walls);
      std::vector<double> iterations, residual;
      s.run_until(duration, [&] {
        iterations.push_back(s.report.solver.most_iterations);
        if (n < 100 || s.state.step % 20 == 0) residual.push_back(momentum_error(s));  // the judge is slow
      });
      int touching = 0;
      for (const Vec3& gamma : s.workspace.newton.impulse) touching += gamma.z() > 0;
      const double per_step = 1e3 * s.wall / static_cast<double>(s.state.step);
      contacts.back().x.push_back(n), contacts.back().y.push_back(touching);
      times.back().x.push_back(n), times.back().y.push_back(per_step);
      errors.back().x.push_back(n), errors.back().y.push_back(mean(residual));
      worst = std::max(worst, *std::max_element(residual.begin(), residual.end()));
      table.rows.push_back({std::to_string(n), walls ? "yes" : "no", std::to_string(touching),
                            std::to_string(s.report.solver.islands), fmt::format("{:.2f}", mean(iterations)),
                            fmt::format("{:.3g}", per_step), fmt::format("{:.1e}", mean(residual))});
    }
  }
  result->claim(fmt::format("e_m for all sizes up to {} bodies, every step", sizes.back()), "below 1e-5",
                fmt::format("{:.1e}", worst), worst < 1.01e-5);
  if (!run.is_short) {
    const double order = fitted_order(times[1].x, times[1].y);
    result->claim("without walls, time grows less than as the square of the number of bodies",
                  "islands (no figure given)", fmt::format("bodies to the power {:.2f}", order), order < 2);
  }
  const auto panel = [](const char* title, const char* label) {
    return PlotOptions{640, 340, title, "number of bodies", label, true, true, {}, {}};
  };
  result->figure("scaling",
                 "Contacts at the end and mean time of a step against the number of bodies (figure 11)",
                 arrange({draw_plot(contacts, panel("contacts", "contacts that push")),
                          draw_plot(times, panel("time of a step", "time [ms]"))},
                         2, 640, 340));
  result->figure("momentum_error", "Mean momentum error e_m against the number of bodies (figure 13)",
                 draw_plot(errors, panel("momentum error", "e_m")));
  result->tables.push_back(table);
}

void slip_parameter(const Run& run, Result* result) {
  const std::vector<double> sigmas =
      run.is_short ? std::vector<double>{1e-4, 1e-2} : std::vector<double>{1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
  std::vector<Series> slips, conditions, iterations;
  bool below = true;
  for (const bool walls : {true, false}) {
    const std::string name = walls ? "with walls" : "without walls";
    slips.push_back({name, {}, {}, LineStyle::solid, true});
    conditions.push_back(slips.back()), iterations.push_back(slips.back());
    for (const double sigma : sigmas) {
      run.tell(0.7 + (walls ? 0 : 0.15), fmt::format("sigma = {:g} {}", sigma, name));
      Simulation s = make(40, walls, sigma);
      s.options.newton.max_iterations = 1000;  // small sigmas need more than the default 100 in impacts
      s.options.fail_if_not_converged = false;
      std::vector<double> counts;
      s.run_until(run.is_short ? 4 : 10, [&] { counts.push_back(s.report.solver.most_iterations); });
      double slip = 0;
      int touching = 0;
      const std::vector<Vec3> v = contact_velocities(s.workspace.problem, s.workspace.newton.v);
      for (std::size_t i = 0; i < v.size(); ++i) {
        if (!(s.workspace.newton.impulse[i].z() > 0)) continue;
        slip += v[i].head<2>().norm();
        ++touching;
      }
      slip /= std::max(1, touching);
      if (walls && sigma >= 1e-3) below = below && slip < sigma * kDt * kGravity;
      slips.back().x.push_back(sigma), slips.back().y.push_back(slip);
      conditions.back().x.push_back(sigma);
      conditions.back().y.push_back(
          condition_number(dense_hessian(s.workspace.problem, s.workspace.newton.v)));
      iterations.back().x.push_back(sigma), iterations.back().y.push_back(mean(counts));
    }
  }
  Series estimate{"sigma mu dt g", sigmas, {}, LineStyle::dashed, false, Series::kGray};
  for (const double sigma : sigmas) estimate.y.push_back(sigma * kDt * kGravity);
  slips.push_back(estimate);
  std::string measured;
  for (std::size_t i = 0; i < sigmas.size(); ++i) {
    measured += fmt::format("{}{:.2g}", i ? ", " : "", slips[0].y[i] / estimate.y[i]);
  }
  if (!run.is_short) {
    result->claim("with walls, mean slip at rest is below sigma mu dt g", "below, same slope",
                  "ratio " + measured + " from the smallest sigma to the largest", below);
  }
  const double order = fitted_order(sigmas, conditions[0].y);
  result->claim("condition number of the Hessian", "as 1/sigma",
                fmt::format("as sigma^{:.2f} with walls", order), order < -0.7 && order > -1.3);
  result->claim("iterations grow slowly as sigma falls", "about as ln(sigma)",
                fmt::format("{:.2f} at {:g}, {:.2f} at {:g}", iterations[0].y.front(), sigmas.front(),
                            iterations[0].y.back(), sigmas.back()),
                iterations[0].y.front() < 6 * iterations[0].y.back());
  const auto panel = [](const char* title, const char* label, bool log) {
    return PlotOptions{560, 340, title, "sigma", label, true, log, {}, {}};
  };
  result->figure(
      "slip", "Mean slip of the contacts at the end against the slip parameter sigma (figure 14)",
      draw_plot(slips, {720, 380, "slip at rest", "sigma", "mean slip [m/s]", true, true, {}, {}}));
  result->figure("sigma",
                 "Condition number of the final Hessian and mean iterations against sigma (figure 15)",
                 arrange({draw_plot(conditions, panel("condition number", "condition number", true)),
                          draw_plot(iterations, panel("iterations", "mean iterations of a step", false))},
                         2, 560, 340));
}

}  // namespace

Result clutter_sap(const Run& run) {
  Result result;
  over_time(run, &result);
  scaling(run, &result);
  slip_parameter(run, &result);
  result.remarks.push_back(
      "Runs with more than 80 bodies are shorter (3 s, above 500 bodies 1.5 s), so that their piles are not "
      "at rest at the end; "
      "from 100 bodies on they start in 16 columns instead of 4. With sigma = 1e-5 and below some impacts "
      "need more than "
      "the default limit of 100 iterations.");
  return result;
}

}  // namespace capstan::experiments
