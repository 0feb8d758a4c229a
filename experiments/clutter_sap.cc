// Clutter with the SAP law (SAP VI-C): iterations and time of a step, convergence of Newton's method,
// scaling with the number of bodies, errors, and the slip parameter sigma. Near-rigid contact (k = 1e12 N/m),
// dt = 10 ms, mu = 1.
//
// The paper's solver is Newton's method with a line search; our default, primal-dual, is measured beside it.
// `Iterations' are those of the island that needs most: the paper solves all bodies as one problem.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/clutter.h"
#include "experiments/programs.h"

namespace capstan::experiments {
namespace {

constexpr double kDt = 0.01, kGravity = 9.81;
constexpr double kMomentumError = 1e-5;  // eps_r of the paper

struct Solver {
  Globalization globalization;
  const char* name;
  LineStyle line;
};
constexpr Solver kPaper = {Globalization::exact_line_search, "line search", LineStyle::solid},
                 kDefault = {Globalization::primal_dual, "primal-dual", LineStyle::dashed};

Simulation make(int bodies, bool walls, const Solver& solver = kPaper) {
  Simulation s(clutter_scene({bodies, walls, 1e12, 50, -1}), ContactLaw::sap, kDt);
  s.options.newton.globalization = solver.globalization;
  s.options.newton.relative_tolerance = island_tolerance(kMomentumError);
  return s;
}

// The cost after 0, 1, 2, ... Newton iterations over that of the start, by solving the last step's problem
// again and again; and the distance of the velocities from the last ones.
struct Convergence {
  Series cost;
  std::vector<double> error;  // [m/s and rad/s] while it is above round-off
  int iterations = 0;         // to the tolerance of the run
};
Convergence convergence(const Simulation& s, const std::string& name) {
  const Problem& problem = s.workspace.problem;
  NewtonWorkspace newton = make_newton_workspace(s.model);
  NewtonOptions options = s.options.newton;
  options.relative_tolerance = 1e-14;
  std::vector<double> costs;
  std::vector<VecX> velocities;
  for (int k = 0; k <= 60; ++k) {
    options.max_iterations = k;
    const SolverReport report = solve_newton(problem, options, &newton);
    costs.push_back(calc_cost(problem, newton.v));
    velocities.push_back(newton.v);
    if (report.converged) break;
  }
  Convergence c{{name, {}, {}, LineStyle::solid, true}, {}, 0};
  for (std::size_t k = 0; k + 1 < costs.size(); ++k) {
    if (costs[k] - costs.back() < 1e-15 * costs[0]) break;  // round-off
    c.cost.x.push_back(static_cast<double>(k));
    c.cost.y.push_back((costs[k] - costs.back()) / costs[0]);
  }
  for (const VecX& v : velocities) {
    const double error = (v - velocities.back()).norm();
    if (error < 1e-12 * velocities.back().norm()) break;
    c.error.push_back(error);
  }
  options = s.options.newton;
  c.iterations = solve_newton(problem, options, &newton).most_iterations;
  return c;
}

int count_pushing(const Simulation& s) {
  int count = 0;
  for (const Vec3& gamma : s.workspace.newton.impulse) count += gamma.z() > 0;
  return count;
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
  std::vector<double> time, iterations, cost, early, late, residual, complementarity;
  std::vector<Convergence> histories;
  std::vector<double> orders;
  s.run_until(duration, [&] {
    time.push_back(s.state.time);
    iterations.push_back(s.report.solver.most_iterations);
    cost.push_back(1e3 * s.seconds);
    (s.state.time < 1 ? early : late).push_back(iterations.back());
    residual.push_back(momentum_error(s));
    complementarity.push_back(complementarity_error(s));
    const std::int64_t step = s.state.step;
    if (step == 60 || step == (run.is_short ? 180 : 520))
      histories.push_back(convergence(s, fmt::format("step {}", step)));
    if (step >= 56 && step <= 64) orders.push_back(convergence_order(convergence(s, "").error));
    run.tell(0.2 * s.state.time / duration, "40 bodies with walls");
  });
  for (std::size_t i = cost.size(); i-- > 1;) cost[i] -= cost[i - 1];  // from sums to steps
  for (int repeat = 0; repeat < 2; ++repeat) {  // each run does the same; the best time of each step
    Simulation again = make(40, true);
    double before = 0;
    again.run_until(duration, [&, i = std::size_t{0}]() mutable {
      cost[i] = std::min(cost[i], 1e3 * (again.seconds - before));
      before = again.seconds, ++i;
    });
  }
  const std::vector<double> steady(iterations.end() - iterations.size() / 4, iterations.end());
  if (!run.is_short) {
    result->claim("iterations in steady state (last quarter, mean)", "about 3",
                  fmt::format("{:.1f}", mean(steady)), mean(steady) <= 4);
  }
  result->claim("iterations in the transient, largest", "about 20",
                fmt::format("{:.0f}", *std::max_element(early.begin(), early.end())),
                *std::max_element(early.begin(), early.end()) <= 30);
  const double worst = *std::max_element(residual.begin(), residual.end());
  result->claim("momentum error e_m, largest over all steps", "below eps_r = 1e-5",
                fmt::format("{:.2e}", worst), worst <= kMomentumError);
  const double slackness = *std::max_element(complementarity.begin(), complementarity.end());
  result->claim("complementarity error e_mu, largest over all steps", "exact to machine precision",
                fmt::format("{:.1e}", slackness), slackness < 1e-12);
  const Convergence &impact = histories[0], &rest = histories[1];
  const bool monotone = falls(impact.cost) && falls(rest.cost);
  result->claim("the cost falls at every iteration", "monotonically", monotone ? "yes" : "no", monotone);
  std::sort(orders.begin(), orders.end());
  result->claim(
      "steps 56 to 64 end with quadratic convergence",
      "quadratic after linear: e_{k+1} as e_k to the power 2 (1 if linear)",
      fmt::format("power {:.2f} to {:.2f}, median {:.2f}, by the last three errors of v above round-off",
                  orders.front(), orders.back(), orders[orders.size() / 2]),
      orders[orders.size() / 2] > 1.5);
  if (!run.is_short) {
    result->claim("iterations of steps 60 and 520", "21 and 5",
                  fmt::format("{} and {}", impact.iterations, rest.iterations),
                  impact.iterations <= 30 && rest.iterations <= 7);
  }
  const auto panel = [](const char* title, const char* label) {
    return PlotOptions{640, 320, title, "time [s]", label, false, false, {}, {}};
  };
  result->figure("over_time",
                 "Newton iterations and processor time of each step (best of three runs), 40 bodies with "
                 "walls (figure 9)",
                 arrange({draw_plot({{"", time, iterations}}, panel("iterations", "iterations of a step")),
                          draw_plot({{"", time, cost}}, panel("processor time", "time of a step [ms]"))},
                         2, 640, 320));
  result->figure("convergence",
                 "Cost above its minimum, over that of the first guess, against iterations (figure 10)",
                 draw_plot({impact.cost, rest.cost}, {720,
                                                      380,
                                                      "convergence of Newton's method",
                                                      "iteration",
                                                      "(cost - minimum) / first cost",
                                                      false,
                                                      true,
                                                      {},
                                                      {}}));
}

// Contacts that push when all has come to rest, by our default solver: which one found them does not matter.
void contacts_at_rest(const Run& run, Result* result) {
  const std::vector<int> sizes =
      run.is_short ? std::vector<int>{20, 60} : std::vector<int>{8, 16, 40, 80, 160, 320};
  const double duration = run.is_short ? 3 : 10;
  std::vector<Series> contacts;
  for (const bool walls : {true, false}) {
    contacts.push_back({walls ? "with walls" : "without walls", {}, {}, LineStyle::solid, true});
    for (const int n : sizes) {
      run.tell(0.6, fmt::format("{} bodies, contacts at rest", n));
      Simulation s = make(n, walls, kDefault);
      std::vector<double> counts;  // balls rock and roll: the mean over the last second
      s.run_until(duration, [&] {
        if (s.state.time > duration - 1) counts.push_back(count_pushing(s));
      });
      contacts.back().x.push_back(n), contacts.back().y.push_back(mean(counts));
    }
  }
  std::string ratios;
  bool more = true, near = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double ratio = contacts[1].y[i] / contacts[0].y[i];
    more = more && ratio > 1;
    near = near && ratio > 0.85 && ratio < 1.15;
    ratios += fmt::format("{}{:.2f}", ratios.empty() ? "" : ", ", ratio);
  }
  result->claim(
      fmt::format("contacts at {:g} s without walls over those with walls, {} to {} bodies", duration,
                  sizes.front(), sizes.back()),
      "more without walls", ratios, more,
      Difference{
          "boxes that lie flat have four points each on the ground, and in a pile more: two faces that "
          "overlap have up to eight here, where the paper's engine has one for each pair",
          "as many within 15 %", near});
  result->figure(
      "contacts", fmt::format("Contacts that push, mean of the last second of {:g} s (figure 11)", duration),
      draw_plot(contacts,
                {680, 360, "contacts", "number of bodies", "contacts that push", true, true, {}, {}}));
}

// The same three seconds, of fall, impact and spreading, for every number of bodies; times are the best of
// some runs.
void scaling(const Run& run, Result* result) {
  const std::vector<int> sizes =
      run.is_short ? std::vector<int>{8, 20, 60} : std::vector<int>{8, 16, 40, 80, 160, 320, 640, 1000};
  const double duration = run.is_short ? 1.5 : 3;
  Table table{
      "scaling",
      fmt::format(
          "Size and time against the number of bodies; contacts and islands at {:g} s, the rest means "
          "over the run",
          duration),
      {"bodies", "walls", "solver", "contacts", "islands", "iterations", "time of a step [ms]", "e_m"},
      {},
      true};
  std::vector<Series> times, errors;
  double worst = 0;
  for (const Solver& solver : {kPaper, kDefault}) {
    for (const bool walls : {true, false}) {
      Series time{
          fmt::format("{}, {}", solver.name, walls ? "walls" : "no walls"), {}, {}, solver.line, true},
          error = time;
      for (const int n : sizes) {
        run.tell(0.2 + 0.12 * static_cast<double>(times.size()), fmt::format("{} bodies, {}", n, time.name));
        std::vector<double> iterations, residual, per_step;
        int touching = 0, islands = 0;
        for (int repeat = 0; repeat < (n > 160 || run.is_short ? 1 : 3); ++repeat) {
          Simulation s = make(n, walls, solver);
          s.run_until(duration, [&] {
            if (repeat > 0) return;
            iterations.push_back(s.report.solver.most_iterations);
            // The judge is slow: not all steps of many bodies.
            if (n <= 80 || s.state.step % 20 == 0) residual.push_back(momentum_error(s));
          });
          per_step.push_back(1e3 * s.seconds / static_cast<double>(s.state.step));
          touching = count_pushing(s);
          islands = s.report.solver.islands;
        }
        const double best = *std::min_element(per_step.begin(), per_step.end());
        time.x.push_back(n), time.y.push_back(best);
        error.x.push_back(n), error.y.push_back(mean(residual));
        worst = std::max(worst, *std::max_element(residual.begin(), residual.end()));
        table.rows.push_back({std::to_string(n), walls ? "yes" : "no", solver.name, std::to_string(touching),
                              std::to_string(islands), fmt::format("{:.2f}", mean(iterations)),
                              fmt::format("{:.3g}", best), fmt::format("{:.1e}", mean(residual))});
      }
      times.push_back(time), errors.push_back(error);
      if (run.is_short || walls) continue;
      const double order = fitted_order(time.x, time.y);
      result->claim(
          fmt::format("without walls, time grows less than as the square of the number of bodies: {}",
                      solver.globalization == kPaper.globalization ? "the paper's line search"
                                                                   : "primal-dual, our default"),
          "islands (no figure given)", fmt::format("bodies to the power {:.2f}", order), order < 2);
    }
  }
  contacts_at_rest(run, result);
  result->claim(
      fmt::format("e_m for all sizes up to {} bodies: every step, above 80 bodies every 20th", sizes.back()),
      "below 1e-5", fmt::format("{:.2e} at most", worst), worst <= kMomentumError);
  const auto panel = [](const char* title, const char* label) {
    return PlotOptions{680, 360, title, "number of bodies", label, true, true, {}, {}};
  };
  result->figure("scaling", "Mean time of a step against the number of bodies",
                 draw_plot(times, panel("time of a step", "time [ms]")));
  result->figure(
      "momentum_error", "Mean momentum error e_m against the number of bodies (figure 13)",
      draw_plot(errors, {760, 380, "momentum error", "number of bodies", "e_m", true, true, {}, {}}));
  result->tables.push_back(table);
}

// Slip of the contacts that push, after the last step, and the speed below which Coulomb's law lets them
// stick.
struct Slip {
  double all = 0, sticking = 0, largest = 0;  // [m/s] means, and the largest of all
  double bound = 0;  // [m/s] mean of R_t mu gamma_n, the most that regularization allows
  int pushing = 0, sliding = 0;
};
Slip calc_slip(const Simulation& s) {
  const std::vector<Vec3> v = contact_velocities(s.workspace.problem, s.workspace.newton.v);
  Slip slip;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Vec3& gamma = s.workspace.newton.impulse[i];
    if (!(gamma.z() > 0)) continue;
    const double speed = v[i].head<2>().norm();
    const ContactData& c = s.workspace.problem.contacts[i];
    const bool slides = gamma.head<2>().norm() > 0.999 * c.mu_xx * gamma.z();
    ++slip.pushing, slip.sliding += slides;
    slip.all += speed, slip.sticking += slides ? 0 : speed;
    slip.bound += c.slip * c.mu_xx * gamma.z();
    slip.largest = std::max(slip.largest, speed);
  }
  slip.all /= std::max(1, slip.pushing), slip.bound /= std::max(1, slip.pushing);
  slip.sticking /= std::max(1, slip.pushing - slip.sliding);
  return slip;
}

std::string listed(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:.2g}", text.empty() ? "" : ", ", value);
  return text;
}

void slip_parameter(const Run& run, Result* result) {
  const std::vector<double> sigmas =
      run.is_short ? std::vector<double>{1e-4, 1e-2} : std::vector<double>{1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
  const double duration = run.is_short ? 4 : 10, rest_begin = 50, rest_end = 60;  // [s]
  std::vector<Series> slips, conditions, iterations;
  Series rest{"with walls, sticking, 60 s", {}, {}, LineStyle::dotted, true};
  // For each sigma, over sigma mu dt g.
  struct Ratios {
    std::vector<double> all, sticking, bound, share_sliding, energy;  // [1, 1, 1, 1, mJ] at `duration`
    std::string sliding;
    double largest = 0;
  } with, without;
  std::vector<double> at_rest, load;  // with walls, from rest_begin on
  double most = 0;
  for (const bool walls : {true, false}) {
    const std::string name = walls ? "with walls" : "without walls";
    slips.push_back({fmt::format("{}, {:g} s", name, duration), {}, {}, LineStyle::solid, true});
    conditions.push_back({name, {}, {}, LineStyle::solid, true}), iterations.push_back(conditions.back());
    for (const double sigma : sigmas) {
      run.tell(0.7 + (walls ? 0 : 0.15), fmt::format("sigma = {:g} {}", sigma, name));
      Simulation s = make(40, walls);
      s.options.contact.sigma = sigma;
      s.options.newton.max_iterations = 1000;  // small sigmas need many in impacts
      std::vector<double> counts;
      s.run_until(duration, [&] { counts.push_back(s.report.solver.most_iterations); });
      const Slip slip = calc_slip(s);
      const double estimate = sigma * kDt * kGravity;
      slips.back().x.push_back(sigma), slips.back().y.push_back(slip.all);
      conditions.back().x.push_back(sigma);
      conditions.back().y.push_back(
          condition_number(dense_hessian(s.workspace.problem, s.workspace.newton.v)));
      iterations.back().x.push_back(sigma), iterations.back().y.push_back(mean(counts));
      most = std::max(most, *std::max_element(counts.begin(), counts.end()));
      Ratios& r = walls ? with : without;
      r.all.push_back(slip.all / estimate), r.sticking.push_back(slip.sticking / estimate);
      r.bound.push_back(slip.bound / estimate);
      r.share_sliding.push_back(static_cast<double>(slip.sliding) / std::max(1, slip.pushing));
      r.energy.push_back(1e3 * calc_mechanics(s.model, s.state).kinetic);
      r.sliding += fmt::format("{}{} of {}", r.sliding.empty() ? "" : ", ", slip.sliding, slip.pushing);
      r.largest = std::max(r.largest, slip.largest / estimate);
      if (run.is_short || !walls) continue;
      std::vector<double> late, late_load;
      s.run_until(rest_end, [&] {
        if (s.state.time < rest_begin) return;
        const Slip now = calc_slip(s);
        late.push_back(now.sticking), late_load.push_back(now.bound);
      });
      at_rest.push_back(mean(late) / estimate), load.push_back(mean(late_load) / estimate);
      rest.x.push_back(sigma), rest.y.push_back(mean(late));
    }
  }
  Series estimate{"sigma mu dt g", sigmas, {}, LineStyle::dashed, false, Series::kGray};
  for (const double sigma : sigmas) estimate.y.push_back(sigma * kDt * kGravity);
  if (!run.is_short) {
    slips.push_back(rest);
    const auto below = [](const std::vector<double>& ratios) {
      return *std::max_element(ratios.begin(), ratios.end()) < 1;
    };
    const auto every = [&](auto&& holds) {
      for (std::size_t i = 0; i < sigmas.size(); ++i) {
        if (!holds(i)) return false;
      }
      return true;
    };
    result->claim(
        "with walls, mean slip of the contacts that stick, 50 to 60 s", "below sigma mu dt g",
        fmt::format("ratio {} from the smallest sigma to the largest", listed(at_rest)), below(at_rest),
        Difference{
            "the estimate is that of one body that bears only itself, with w = 1/m. Our w_t, the mean of "
            "the two tangential entries of W, is 3.5/m for a ball (the paper's, the rms of all nine, "
            "1.7/m), and contacts in a pile bear more",
            fmt::format("below what regularization allows, R_t mu gamma_n, in the mean {} times that",
                        listed(load)),
            every([&](std::size_t i) { return at_rest[i] < load[i]; })});
    const std::string not_at_rest =
        "not at rest after 10 s (kinetic energy {} mJ): nothing brakes balls that roll or spin, and some "
        "contacts slide, at up to {:.0f} times sigma mu dt g";
    result->claim(
        "with walls, mean slip of all contacts at 10 s", "below sigma mu dt g",
        fmt::format("ratio {}; {} contacts slide", listed(with.all), with.sliding), below(with.all),
        Difference{fmt::format(fmt::runtime(not_at_rest), listed(with.energy), with.largest),
                   fmt::format("those that stick {}, below R_t mu gamma_n, {}, and at most 15 % slide",
                               listed(with.sticking), listed(with.bound)),
                   every([&](std::size_t i) {
                     return with.sticking[i] < with.bound[i] && with.share_sliding[i] < 0.15;
                   })});
    result->claim(
        "without walls, mean slip of all contacts at 10 s", "much smaller than with walls",
        fmt::format("ratio {}; {} contacts slide", listed(without.all), without.sliding),
        every([&](std::size_t i) { return without.all[i] < with.all[i] / 3; }),
        Difference{
            fmt::format(fmt::runtime(not_at_rest), listed(without.energy), without.largest),
            fmt::format("those that stick {}, a third of those with walls or less", listed(without.sticking)),
            every([&](std::size_t i) { return without.sticking[i] < with.sticking[i] / 3; })});
    std::vector<double> speed;
    for (std::size_t i = 0; i < sigmas.size(); ++i) speed.push_back(with.sticking[i] * estimate.y[i]);
    const double order = fitted_order(sigmas, speed);
    result->claim("with walls, how the slip of contacts that stick grows with sigma, 10 s",
                  "closely follows the slope of the estimate, sigma^1", fmt::format("as sigma^{:.2f}", order),
                  order > 0.7 && order < 1.2);
  }
  slips.push_back(estimate);
  const double order = fitted_order(sigmas, conditions[0].y);
  result->claim("condition number of the Hessian", "as 1/sigma",
                fmt::format("as sigma^{:.2f} with walls", order), order < -0.7 && order > -1.3);
  // As ln(sigma): a fixed number more for each decade. As a power of sigma it would be a factor.
  std::vector<double> added;
  for (std::size_t i = 1; i < sigmas.size(); ++i)
    added.push_back(iterations[0].y[i - 1] - iterations[0].y[i]);
  const double per_decade =
      (iterations[0].y.front() - iterations[0].y.back()) / std::log10(sigmas.back() / sigmas.front());
  result->claim(
      "iterations grow slowly as sigma falls", "roughly proportional to ln(sigma)",
      fmt::format("{:.2f} at {:g}, {:.2f} at {:g}; {:.1f} more for each decade ({}), in one step at most "
                  "{:.0f}",
                  iterations[0].y.front(), sigmas.front(), iterations[0].y.back(), sigmas.back(), per_decade,
                  listed(added), most),
      per_decade > 0 && *std::max_element(added.begin(), added.end()) < 2.5 * per_decade);
  const auto panel = [](const char* title, const char* label, bool log) {
    return PlotOptions{560, 340, title, "sigma", label, true, log, {}, {}};
  };
  result->figure(
      "slip",
      "Mean slip of all contacts after 10 s, and of those that stick from 50 to 60 s, against the slip "
      "parameter "
      "sigma (figure 14)",
      draw_plot(slips, {760, 400, "slip at rest", "sigma", "mean slip [m/s]", true, true, {}, {}}));
  result->figure("sigma",
                 "Condition number of the Hessian at the end and mean iterations against sigma (figure 15)",
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
      "Islands are solved apart, to 1e-5 / sqrt(2) each, which makes e_m of all bodies together, as the "
      "paper "
      "has it, at most 1e-5. From 100 bodies on they start in 16 columns instead of 4.");
  return result;
}

}  // namespace capstan::experiments
