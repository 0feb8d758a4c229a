// Against conic solvers (SAP VI-A, VI-C 1, figures 12 and 13): the problems of clutter steps, solved by
// SAP, by an interior-point method of our own, and by the conic solvers of PyPI that conic_solvers.py finds.
//
// SAP starts from the velocities of the step before, as in a simulation; interior-point methods start cold.
// Steps are sampled more densely in the first second, of fall and impact, in which SAP needs most iterations;
// each sample counts in a mean as many steps as it stands for.
// Times: SAP and our interior point by the steady clock, best of several; the others as they report it, best
// of several too.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "experiments/clutter.h"
#include "experiments/conic_problem.h"
#include "experiments/programs.h"

namespace capstan::experiments {
namespace {

namespace fs = std::filesystem;
constexpr double kTolerance = 1e-5;  // on e_m of all bodies together
constexpr int kTransient = 100;      // steps, of 10 ms

template <class F>
double best_time(int repeats, F&& f) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const auto began = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  return best;
}

struct Measured {
  double time = 0, iterations = 0, momentum = 0, complementarity = 0;
};
// Of the samples of a case, each counted as often as it says.
struct Weighted {
  double sum = 0, weight = 0;
  void add(double value, double count) { sum += value * count, weight += count; }
  double mean() const { return sum / weight; }
};
struct StepProblem {
  int bodies = 0;
  bool walls = false;
  int stands_for = 1;  // steps
  std::string file;
  std::map<std::string, Measured> by_solver;
};

constexpr const char* kOurs = "SAP (Capstan)";
constexpr const char* kInteriorPoint = "interior point (ours)";

// The problem of the step that `s` has just made.
StepProblem measure(const Simulation& s, int bodies, bool walls, const fs::path& folder, double* difference) {
  const ConicProblem conic = conic_problem(s.workspace.problem);
  StepProblem step{bodies, walls, 1, "", {}};
  NewtonWorkspace newton = make_newton_workspace(s.model);
  NewtonOptions options = s.options.newton;
  options.relative_tolerance = island_tolerance(kTolerance);
  SolverReport report;
  Measured& sap = step.by_solver[kOurs];
  const int repeats = bodies < 100 ? 5 : 2;
  sap.time = best_time(repeats, [&] { report = solve_newton(s.workspace.problem, options, &newton); });
  sap.iterations = report.most_iterations;
  const ConicAnswer by_newton{newton.v, newton.impulse, report.iterations, true};
  const ConicErrors e = errors(conic, by_newton);
  sap.momentum = e.momentum, sap.complementarity = e.complementarity;

  ConicAnswer answer;
  Measured& ipm = step.by_solver[kInteriorPoint];
  ipm.time = best_time(bodies < 100 ? 2 : 1, [&] { answer = solve_interior_point(conic, kTolerance); });
  const ConicErrors ie = errors(conic, answer);
  ipm.iterations = answer.iterations, ipm.momentum = ie.momentum, ipm.complementarity = ie.complementarity;
  if (!answer.converged) ipm.time = std::nan("");
  const double least = calc_cost(s.workspace.problem, newton.v);
  *difference = answer.converged && least > 0 ? calc_cost(s.workspace.problem, answer.v) / least - 1 : 0;
  step.file = folder / fmt::format("clutter_{}_{}_{:04}.txt", bodies, walls ? "walls" : "open", s.state.step);
  save(conic, step.file);
  return step;
}

// Python with the solvers: CAPSTAN_CONIC_PYTHON, or what tools/conic-solvers made. "" when there is none.
std::string find_python() {
  if (const char* given = std::getenv("CAPSTAN_CONIC_PYTHON")) return given;
  const std::string made = std::string(CAPSTAN_SOURCE_DIR) + "/build/conic/bin/python3";
  return fs::exists(made) ? made : "";
}

// Returns what went wrong, or "".
std::string run_python(std::vector<StepProblem>* problems) {
  const std::string python = find_python();
  if (python.empty())
    return "no Python with conic solvers: run tools/conic-solvers, or set CAPSTAN_CONIC_PYTHON";
  std::string command =
      fmt::format("'{}' '{}/experiments/conic_solvers.py' {}", python, CAPSTAN_SOURCE_DIR, kTolerance);
  std::map<std::string, StepProblem*> by_file;
  for (StepProblem& p : *problems) command += " '" + p.file + "'", by_file[p.file] = &p;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot start " + python;
  std::string text(1 << 16, '\0'), output;
  while (const std::size_t n = std::fread(text.data(), 1, text.size(), pipe)) output.append(text, 0, n);
  const int code = ::pclose(pipe);
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string file, solver, time, iterations, momentum, complementarity, status;
    if (!(words >> file >> solver >> time >> iterations >> momentum >> complementarity >> status)) continue;
    std::replace(solver.begin(), solver.end(), '_', ' ');
    const bool solved =
        status.find("olved") != std::string::npos || status.find("ptimal") != std::string::npos;
    by_file.at(file)->by_solver[solver] = {solved ? std::stod(time) : std::nan(""), std::stod(iterations),
                                           std::stod(momentum), std::stod(complementarity)};
  }
  if (output.empty())
    return fmt::format("{} printed nothing (exit code {}): no solver could be imported", python, code);
  return "";
}

}  // namespace

Result conic_solvers(const Run& run) {
  Result result;
  const fs::path folder = fs::temp_directory_path() / "capstan-conic-problems";
  fs::create_directories(folder);
  const std::vector<int> sizes =
      run.is_short ? std::vector<int>{8, 24} : std::vector<int>{4, 8, 16, 40, 80, 160};
  std::vector<StepProblem> problems;
  double worst_difference = 0;
  for (const bool walls : {true, false}) {
    for (const int n : sizes) {
      run.tell(0.4 * n / sizes.back(),
               fmt::format("{} bodies {}", n, walls ? "with walls" : "without walls"));
      Simulation s(clutter_scene({n, walls, 1e12, 50, -1}), ContactLaw::sap, 0.01);
      s.options.newton.relative_tolerance = island_tolerance(kTolerance);
      const int last = run.is_short ? 120 : 1000;
      while (s.state.step < last) {
        s.step();
        const int every = s.state.step <= kTransient ? kTransient / (run.is_short ? 4 : 10) : kTransient;
        if (s.state.step % every != 0 || s.report.contacts == 0) continue;
        double difference = 0;
        problems.push_back(measure(s, n, walls, folder, &difference));
        problems.back().stands_for = every;
        worst_difference = std::max(worst_difference, std::abs(difference));
      }
    }
  }
  run.tell(0.6, "conic solvers of PyPI");
  const std::string trouble = run_python(&problems);

  result.claim("our interior-point method finds the same minimum", "the problem has one solution",
               fmt::format("cost at its velocities above SAP's by {:.1e} of it at most", worst_difference),
               worst_difference < 1e-3);
  double worst_slack = 0, worst_momentum = 0;
  std::vector<std::string> solvers;
  for (const StepProblem& p : problems) {
    worst_slack = std::max(worst_slack, p.by_solver.at(kOurs).complementarity);
    worst_momentum = std::max(worst_momentum, p.by_solver.at(kOurs).momentum);
    for (const auto& [name, m] : p.by_solver) {
      if (name != kOurs && std::find(solvers.begin(), solvers.end(), name) == solvers.end())
        solvers.push_back(name);
    }
  }
  result.claim("SAP's errors", "e_m below 1e-5, e_mu zero",
               fmt::format("e_m {:.2e}, e_mu {:.1e} at most", worst_momentum, worst_slack),
               worst_momentum <= kTolerance && worst_slack < 1e-12);

  Table table{"speedup",
              "Times and errors, means over the sampled steps of each case",
              {"bodies", "walls", "solver", "time [ms]", "times as long as SAP", "in the first second",
               "iterations", "e_m", "e_mu", "solved"},
              {},
              true};
  std::vector<std::string> plots, error_plots;
  // The general solver that is fastest in a case, of those that solved all its steps: [walls, bodies].
  std::map<std::pair<bool, int>, std::pair<double, std::string>> fastest;
  double largest_ipm = 0;
  for (const bool walls : {true, false}) {
    std::vector<Series> series, accuracy;
    std::vector<std::string> names = solvers;
    names.insert(names.begin(), kOurs);
    for (const std::string& solver : names) {
      Series speed{solver, {}, {}, LineStyle::solid, true}, error = speed;
      for (const int n : sizes) {
        Weighted time, ours, transient, transient_ours, iterations, momentum, slack;
        int tried = 0, solved = 0;
        for (const StepProblem& p : problems) {
          if (p.bodies != n || p.walls != walls || !p.by_solver.count(solver)) continue;
          ++tried;
          const Measured& m = p.by_solver.at(solver);
          if (!std::isfinite(m.time)) continue;
          ++solved;
          const double sap = p.by_solver.at(kOurs).time;
          time.add(m.time, p.stands_for), ours.add(sap, p.stands_for);
          if (p.stands_for < kTransient) transient.add(m.time, 1), transient_ours.add(sap, 1);
          iterations.add(m.iterations, p.stands_for), momentum.add(m.momentum, p.stands_for);
          slack.add(m.complementarity, p.stands_for);
        }
        if (tried == 0) continue;
        const double ratio = time.mean() / ours.mean();
        if (solved > 0) {
          if (solver != kOurs) speed.x.push_back(n), speed.y.push_back(ratio);
          error.x.push_back(n), error.y.push_back(momentum.mean());
        }
        if (solved == tried && solver != kOurs && solver != kInteriorPoint) {
          auto& [best, who] = fastest[{walls, n}];
          if (who.empty() || ratio < best) best = ratio, who = solver;
        }
        if (solver == kInteriorPoint) largest_ipm = std::max(largest_ipm, ratio);
        table.rows.push_back(
            {std::to_string(n), walls ? "yes" : "no", solver, fmt::format("{:.3g}", 1e3 * time.mean()),
             fmt::format("{:.3g}", ratio), fmt::format("{:.3g}", transient.mean() / transient_ours.mean()),
             fmt::format("{:.1f}", iterations.mean()), fmt::format("{:.1e}", momentum.mean()),
             fmt::format("{:.1e}", slack.mean()), fmt::format("{} of {}", solved, tried)});
      }
      if (solver != kOurs) series.push_back(speed);
      accuracy.push_back(error);
    }
    plots.push_back(draw_plot(series, {680,
                                       360,
                                       walls ? "with walls" : "without walls",
                                       "number of bodies",
                                       "time / time of SAP",
                                       true,
                                       true,
                                       {},
                                       {}}));
    error_plots.push_back(draw_plot(accuracy, {680,
                                               360,
                                               walls ? "with walls" : "without walls",
                                               "number of bodies",
                                               "momentum error e_m",
                                               true,
                                               true,
                                               {},
                                               {}}));
  }
  result.figure("speedup", "How many times as long as SAP the other solvers take, same problems (figure 12)",
                arrange(plots, 2, 680, 360));
  result.figure("errors", "Momentum error of each solver's answer (figure 13)",
                arrange(error_plots, 2, 680, 360));
  result.tables.push_back(table);
  // Largest and smallest speedup against the fastest general solver over cases from `least` bodies to `most`.
  const auto speedups = [&](bool walls, int least, int most) {
    std::pair<double, double> range{1e30, 0};
    for (const auto& [key, value] : fastest) {
      if (key.first != walls || key.second < least || key.second > most) continue;
      range = {std::min(range.first, value.first), std::max(range.second, value.first)};
    }
    return range;
  };
  if (trouble.empty()) {
    const int small = 39, large = 81, all = sizes.back();
    const double with_walls = speedups(true, 0, small).second, open = speedups(false, 0, small).second;
    result.claim("fewer than 40 bodies: SAP against the fastest general solver",
                 "up to 25 with walls, 50 without",
                 fmt::format("up to {:.0f} with walls, {:.0f} without", with_walls, open),
                 with_walls > 25 && open > 50);
    if (!run.is_short) {
      const auto [open_least, open_most] = speedups(false, large, all);
      result.claim("beyond 80 bodies without walls", "about 10 times faster",
                   fmt::format("{:.1f} times", open_least), open_least > 8);
      const double large_walls = speedups(true, large, all).first;
      result.claim("beyond 80 bodies with walls", "slower than the general solver (Gurobi)",
                   fmt::format("{:.1f} times faster", large_walls), large_walls < 1,
                   Difference{"the solvers are not Gurobi, and our factorization is sparse within an island",
                              "faster than all of them", large_walls > 1});
    }
  } else {
    result.claim("largest speedup against our own interior-point method",
                 "5 against the geodesic one (8 bodies or fewer)", fmt::format("{:.0f} times", largest_ipm),
                 largest_ipm > 2);
    result.remarks.push_back("General conic solvers were skipped: " + trouble + ".");
  }
  result.remarks.push_back(
      "Gurobi and the geodesic interior-point code of the paper are not available here. General solvers are "
      "open-source ones from "
      "PyPI, called through Python; only the time that the solver itself reports counts. Each file of a step "
      "is plain text "
      "(`experiments/conic_problem.h` says how it is laid out), so that anybody can try another solver.");
  return result;
}

}  // namespace capstan::experiments
