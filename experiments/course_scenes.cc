// The scenes that the course on contact shows its models and solvers with, each by every model of rigid
// contact and by our convex laws: two boxes, a heavy box on a light one, an arch of stones, a card house, a
// wall, a tower and a ball. And its figures of convergence: the residual of one step's problem over the
// iterations of each solver.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "capstan/rigid/rigid_solvers.h"
#include "capstan/step/failures.h"
#include "experiments/blocks.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kStands = 0.003;  // [m] that something may have moved which counts as standing

struct Course {
  const char* name;
  Scene scene;
  double dt, duration;  // [s]
  bool stands;          // with Coulomb's friction
  bool needs_friction;  // falls without it, at once
};

std::vector<Course> make_courses(bool is_short) {
  std::vector<Course> all = {{"two boxes", make_two_boxes(0.5, 1), 0.01, 0.5, true, false},
                             {"1000 kg on 1 kg", make_two_boxes(0.5, 1000), 0.01, 0.5, true, false},
                             {"arch", make_arch(0.7, 9), 0.01, 0.5, true, true},
                             {"cards", make_card_house(0.6), 0.002, 0.2, true, true},
                             {"wall", make_wall(0.5, 3, 3), 0.01, 0.5, true, false},
                             {"tower and ball", make_tower_and_ball(0.5, 4), 0.005, 0.5, false, false}};
  if (is_short) {
    all = {all[0], all[2]};
    all[1].duration = 0.3;
  }
  return all;
}

struct Way {
  const char* name;
  bool is_rigid;
  RigidModel model;
  ContactLaw law;
  bool is_coulomb;  // stands where Coulomb's friction does
};
constexpr ContactLaw kNone = ContactLaw::sap;
constexpr Way kWays[] = {
    {"ncp", true, RigidModel::ncp, kNone, true},
    {"ccp", true, RigidModel::ccp, kNone, true},
    {"box", true, RigidModel::box, kNone, false},
    {"box_frozen", true, RigidModel::box_frozen, kNone, false},
    {"stewart_trinkle", true, RigidModel::stewart_trinkle, kNone, false},
    {"anitescu_potra", true, RigidModel::anitescu_potra, kNone, false},
    {"no_slip", true, RigidModel::no_slip, kNone, true},
    {"viscous", true, RigidModel::viscous, kNone, false},
    {"frictionless", true, RigidModel::frictionless, kNone, false},
    {"law coulomb", false, RigidModel::ncp, ContactLaw::coulomb, true},
    {"law regularized_lagged", false, RigidModel::ncp, ContactLaw::regularized_lagged, true},
    {"law sap", false, RigidModel::ncp, ContactLaw::sap, false}};

struct Outcome {
  double time = 0;    // [s] that it got to
  double moved = 0;   // [m] the farthest that a body is from where it began, but the ball
  double energy = 0;  // [J] by which it was ever above that of the start, over the kinetic energy of then
  double milliseconds = 0;  // of a step, CPU
  double iterations = 0;    // of a step
  int failed = 0, steps = 0;
  bool is_whole = false;
};

Simulation simulate(const Course& course, const Way& way) {
  Simulation s(course.scene, way.law, course.dt);
  s.model = compile(course.scene);  // with our own tolerances, not with those of the papers
  s.options = step_options(s.model);
  s.options.dt = course.dt;
  s.options.contact.law = way.law;
  s.options.fail_if_not_converged = false;
  if (way.is_rigid) {
    s.options.rigid.is_on = true;
    s.options.rigid.options.model = way.model;
    s.options.rigid.options.viscosity = 10;
  }
  return s;
}

Outcome run_course(const Course& course, const Way& way, double most_seconds) {
  Simulation s = simulate(course, way);
  const VecX q0 = s.state.q;
  const Mechanics start = calc_mechanics(s.model, s.state);
  Outcome outcome;
  const std::clock_t began = std::clock();
  const auto spent = [&] { return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC; };
  while (s.state.time < course.duration - 0.5 * course.dt && spent() < most_seconds) {
    try {
      s.step();
    } catch (const StepFailure&) {
      ++outcome.failed;
      break;
    }
    ++outcome.steps;
    outcome.failed += !s.report.solver.converged;
    outcome.iterations += s.report.solver.iterations;
    if (start.kinetic > 0)
      outcome.energy = std::max(outcome.energy, (s.total_energy() - start.total()) / start.kinetic);
  }
  outcome.milliseconds = 1e3 * spent() / std::max(1, outcome.steps);
  outcome.iterations /= std::max(1, outcome.steps);
  outcome.time = s.state.time;
  outcome.is_whole = s.state.time > course.duration - 0.5 * course.dt;
  for (const ModelJoint& joint : s.model.joints) {
    if (joint.type != JointType::free || joint.name == "ball") continue;
    outcome.moved = std::max(outcome.moved, (s.state.q.segment<3>(joint.q) - q0.segment<3>(joint.q)).norm());
  }
  return outcome;
}

std::string describe(const Course& course, const Outcome& o) {
  std::string text;
  if (!o.is_whole) {
    text = fmt::format("given up at {:.3g} s", o.time);
  } else if (o.moved < kStands) {
    text = fmt::format("stands, {:.2g} mm", 1e3 * o.moved);
  } else {
    text = fmt::format("{}, {:.0f} mm", course.stands ? "moves" : "hit", 1e3 * o.moved);
  }
  if (o.failed > 0) text += fmt::format(", {} steps unsolved", o.failed);
  return text;
}

void run_all(const Run& run, Result* result) {
  const std::vector<Course> courses = make_courses(run.is_short);
  Table outcomes{
      "outcomes",
      fmt::format("What becomes of the scenes: how far the farthest body is from where it began; up to "
                  "{:g} mm it stands. What takes more than {:g} s of processor time is given up",
                  1e3 * kStands, run.is_short ? 20.0 : 6.0),
      {"model or law"},
      {}};
  Table times{"times",
              "Processor time of a step [ms], and iterations of its solver (each model's own)",
              {"model or law"},
              {}};
  for (const Course& course : courses) {
    outcomes.columns.emplace_back(course.name);
    times.columns.emplace_back(course.name);
  }
  std::vector<bool> fall(courses.size(), true);
  std::vector<std::string> who(courses.size());  // does not stand
  double most_energy = 0;
  int done = 0, unsolved = 0;
  for (const Way& way : kWays) {
    const bool counts = way.is_coulomb || way.model == RigidModel::frictionless;
    if (run.is_short && !counts) continue;
    outcomes.rows.push_back({way.name});
    times.rows.push_back({way.name});
    for (std::size_t c = 0; c < courses.size(); ++c) {
      run.tell(0.7 * done / (std::size(kWays) * static_cast<double>(courses.size())),
               fmt::format("{}, {}", way.name, courses[c].name));
      const Outcome o = run_course(courses[c], way, run.is_short ? 20 : 6);
      ++done;
      outcomes.rows.back().push_back(describe(courses[c], o));
      times.rows.back().push_back(fmt::format("{:.2f}, {:.0f}", o.milliseconds, o.iterations));
      const bool is_frictionless = way.is_rigid && way.model == RigidModel::frictionless;
      if (way.is_coulomb) {
        if (!(o.is_whole && o.moved < kStands)) who[c] += std::string(who[c].empty() ? "" : ", ") + way.name;
        unsolved += o.failed;
        if (!courses[c].stands) most_energy = std::max(most_energy, o.energy);
      }
      if (is_frictionless && o.moved < kStands) fall[c] = false;
    }
  }
  for (std::size_t c = 0; c < courses.size(); ++c) {
    if (courses[c].stands)
      result->claim(
          fmt::format("{}: ncp, ccp, no_slip, the laws coulomb and regularized_lagged", courses[c].name),
          "stands", who[c].empty() ? "stands" : "moves by " + who[c], who[c].empty());
    if (courses[c].needs_friction)
      result->claim(fmt::format("{}: without friction", courses[c].name), "falls",
                    fall[c] ? "falls" : "stands", fall[c]);
  }
  if (!run.is_short)
    result->claim("tower and ball: energy above that of the start, over the ball's, the same models", "0",
                  fmt::format("{:.2g}", most_energy), most_energy < 1e-3);
  result->claim("steps of these that no solver solved", "0", fmt::format("{}", unsolved), unsolved == 0);
  result->tables.push_back(outcomes);
  result->tables.push_back(times);
}

// Residual over iterations, all solvers of a model on one problem.
std::string plot_solvers(const Course& course, RigidModel model, int most, Table* table) {
  Simulation s = simulate(course, {"", true, RigidModel::ncp, kNone, true});
  s.run_until(5 * course.dt);
  RigidOptions options;
  options.model = model;
  options.tolerance = 1e-10;
  options.max_iterations = most;
  std::vector<Series> series;
  for (const RigidSolver& solver : rigid_solvers()) {
    if (!solver.takes(model)) continue;
    RigidProblem problem(s.workspace.problem, s.workspace.contacts, options);
    const std::clock_t began = std::clock();
    const RigidResult found = solve_rigid(solver, VecX::Zero(problem.num_rows()), &problem);
    const double ms = 1e3 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    table->rows.push_back({course.name, traits(model).name, solver.name,
                           found.converged ? fmt::format("{}", found.iterations) : "not solved",
                           fmt::format("{:.2f}", ms), fmt::format("{:.1e}", found.residual)});
    Series line{solver.name, {}, {}};
    for (std::size_t i = 0; i < found.history.size(); ++i) {
      line.x.push_back(static_cast<double>(found.history_step * i + 1));
      line.y.push_back(std::max(found.history[i], 1e-17));
    }
    if (line.x.size() > 1) series.push_back(line);
  }
  return draw_plot(series, {620,
                            420,
                            fmt::format("{}: {}", course.name, traits(model).name),
                            "iterations + 1",
                            "residual",
                            true,
                            true,
                            {},
                            PlotRange{1e-13, 10}});
}

void plot_convergence(const Run& run, Result* result) {
  const std::vector<Course> courses = make_courses(false);
  Table table{"convergence",
              "One step's problem to a residual of 1e-10, from zero: box_frozen by the methods for linear "
              "complementarity, ncp by those for cones",
              {"scene", "model", "solver", "iterations", "ms CPU", "residual"},
              {}};
  std::vector<std::string> plots;
  for (const int c : run.is_short ? std::vector<int>{0} : std::vector<int>{0, 1, 2, 4}) {
    for (const RigidModel model : {RigidModel::box_frozen, RigidModel::ncp}) {
      run.tell(0.7 + 0.07 * c, fmt::format("convergence, {}", courses[c].name));
      plots.push_back(plot_solvers(courses[c], model, run.is_short ? 2000 : 5000, &table));
    }
  }
  result->tables.push_back(table);
  result->figure("convergence", "Residual over iterations of the solvers, one problem of each scene",
                 arrange(plots, 2, 620, 420));
}

}  // namespace

Result course_scenes(const Run& run) {
  Result result;
  run_all(run, &result);
  plot_convergence(run, &result);
  result.remarks.push_back(
      "The course gives no sizes, masses and steps: those in `experiments/blocks.cc` are ours. viscous has "
      "10 N s/m "
      "at each contact. The arch needs friction of more than a half of its stones' angle; cards lean by 20 "
      "degrees "
      "and need a third. box_frozen takes its bounds from a solve without friction, in which cards fall: "
      "it cannot hold them. Histories are the solver's own measure for pivoting methods, and the judge's for "
      "others.");
  return result;
}

}  // namespace capstan::experiments
