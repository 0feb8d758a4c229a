// capstan compare: the same step problems, solved by every model and solver of rigid contact.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "apps/capstan/commands.h"
#include "apps/capstan/simulate.h"
#include "capstan/io/file.h"
#include "capstan/io/output_file.h"
#include "capstan/io/plot.h"
#include "capstan/io/rigid_dump.h"
#include "capstan/rigid/rigid_solvers.h"

namespace capstan::cli {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return 1e3 * std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Row {
  Row(RigidModel m, const RigidSolver* s) : model(m), solver(s) {}

  RigidModel model;
  const RigidSolver* solver;
  int solved = 0, count = 0;
  std::vector<double> iterations, milliseconds, residuals;
  double distance = 0;                      // [m/s] largest difference of a velocity from the convex answer's
  std::vector<double> history_at, history;  // of the first problem that was solved
};

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::nth_element(x.begin(), x.begin() + static_cast<long>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

RigidOptions rigid_options(const CompareOptions& o, RigidModel model) {
  RigidOptions rigid;
  rigid.model = model;
  rigid.tolerance = o.tolerance;
  rigid.max_iterations = o.max_iterations;
  rigid.directions = o.directions;
  rigid.viscosity = o.viscosity;
  return rigid;
}

std::vector<Row> make_table(const CompareOptions& o) {
  std::vector<Row> rows;
  for (int m = 0; m < kNumRigidModels; ++m) {
    if (!o.model.empty() && o.model != kRigidModels[m].name) continue;
    for (const RigidSolver& solver : rigid_solvers()) {
      if (solver.takes(static_cast<RigidModel>(m))) rows.emplace_back(static_cast<RigidModel>(m), &solver);
    }
  }
  return rows;
}

void check_options(const CompareOptions& o) {
  if (o.scene.empty()) throw UsageError("no scene; write the name of one, or a problem that --dump wrote");
  if (o.problems < 1) throw UsageError("--problems is below 1; write how many steps are to be solved");
  RigidChoice choice;
  choice.model = o.model.empty() ? kRigidModels[0].name : o.model;
  choice.directions = o.directions;
  choice.viscosity = o.viscosity;
  choice.tolerance = o.tolerance;
  choice.max_iterations = o.max_iterations;
  choose_rigid({}, choice);
}

// Solves one problem by a row's solver; `make` gives the problem of a model. Returns the impulses.
template <class Make>
VecX solve(const Make& make, long step, const CompareOptions& o, Row* row, std::string* csv) {
  RigidProblem problem = make(rigid_options(o, row->model));
  const Clock::time_point begin = Clock::now();
  const RigidResult result = solve_rigid(*row->solver, VecX::Zero(problem.num_rows()), &problem);
  row->milliseconds.push_back(milliseconds_since(begin));
  ++row->count;
  row->solved += result.converged;
  row->iterations.push_back(result.iterations);
  row->residuals.push_back(result.residual);
  for (std::size_t i = 0; i < result.history.size(); ++i) {
    *csv += fmt::format("{},{},{},{},{:.6e}\n", step, traits(row->model).name, row->solver->name,
                        result.history_step * i, result.history[i]);
    if (row->count > 1) continue;
    row->history_at.push_back(static_cast<double>(result.history_step * i + 1));
    row->history.push_back(std::max(result.history[i], 1e-17));
  }
  return problem.calc_dv(result.x);
}

// One panel for each model, residuals over iterations.
std::string draw(const std::vector<Row>& rows, double tolerance) {
  std::vector<std::string> panels;
  for (int m = 0; m < kNumRigidModels; ++m) {
    std::vector<Series> series;
    for (const Row& row : rows) {
      if (static_cast<int>(row.model) == m)
        series.push_back(
            {row.solver->name, row.history_at, row.history, LineStyle::solid, row.history.size() < 3});
    }
    if (series.empty()) continue;
    double last = 1;
    for (const Series& s : series) last = s.x.empty() ? last : std::max(last, s.x.back());
    series.push_back(
        {"tolerance", {1, last}, {tolerance, tolerance}, LineStyle::dashed, false, Series::kGray});
    PlotOptions options;
    options.width = 640;
    options.height = 420;
    options.title = kRigidModels[m].name;
    options.x_label = "iterations + 1";
    options.y_label = "residual";
    options.log_x = options.log_y = true;
    panels.push_back(draw_plot(series, options));
  }
  return arrange(panels, 2, 640, 420);
}

void print_header() {
  fmt::print("{:<18}{:<27}{:>8}{:>12}{:>11}{:>13}{:>16}\n", "model", "solver", "solved", "iterations", "ms",
             "residual", "from convex");
}

void print_rows(const std::vector<Row>& rows, bool has_convex) {
  for (const Row& row : rows) {
    fmt::print("{:<18}{:<27}{:>8}{:>12.0f}{:>11.3f}{:>13.1e}", traits(row.model).name, row.solver->name,
               fmt::format("{}/{}", row.solved, row.count), median(row.iterations), median(row.milliseconds),
               *std::max_element(row.residuals.begin(), row.residuals.end()));
    fmt::print("{}\n", has_convex ? fmt::format("{:>12.1e} m/s", row.distance) : "");
  }
}

void write_outputs(const CompareOptions& o, const std::vector<Row>& rows, const std::string& csv) {
  if (!o.csv.empty()) {
    write_file(o.csv, csv);
    fmt::print("wrote {}\n", o.csv);
  }
  if (!o.svg.empty()) {
    write_file(o.svg, draw(rows, o.tolerance));
    fmt::print("wrote {}\n", o.svg);
  }
}

constexpr const char* kCsvHeader = "step,model,solver,iteration,residual\n";

int compare_dump(const CompareOptions& o) {
  const RigidDump dump = read_rigid_dump(o.scene);
  std::vector<Row> rows = make_table(o);
  std::string csv = kCsvHeader;
  for (Row& row : rows) {
    solve([&](const RigidOptions& options) { return dump.make(options); }, dump.step, o, &row, &csv);
  }
  fmt::print("{}: {}, step {} at t = {:g} s, {} contacts, {} rows\n\n", o.scene, dump.scene, dump.step,
             dump.time, dump.num_contacts(), dump.free.size());
  print_header();
  print_rows(rows, false);
  write_outputs(o, rows, csv);
  return kOk;
}

void dump_problem(const CompareOptions& o, const LoadedScene& loaded, const State& state,
                  const Workspace& w) {
  std::filesystem::create_directories(o.dump);
  const RigidProblem problem(w.problem, w.contacts, rigid_options(o, RigidModel::ncp));
  RigidDump dump = make_dump(problem);
  dump.scene = loaded.model.name;
  dump.step = static_cast<long>(state.step) - 1;  // the state is that after it
  dump.time = state.time - w.problem.dt;
  const std::string name =
      (std::filesystem::path(o.dump) / fmt::format("{}_{}", loaded.model.name, dump.step)).string();
  write_file(name + ".json", to_json(dump));
  if (!write_fclib(name + ".hdf5", problem, dump))
    tell("note: {} has joints, limits or drives, for which fclib has no place: only {}.json\n", name, name);
}

}  // namespace

int compare(const CompareOptions& o) {
  if (o.pairs) {
    fmt::print("{}\n{}", rigid_model_table(), rigid_solver_table());
    return kOk;
  }
  check_options(o);
  if (lower_extension(o.scene) == ".json") return compare_dump(o);
  const LoadedScene loaded = load(o.scene, false);
  tell_warnings(loaded);
  const StepOptions options =
      choose_contact_law(choose_step_options(step_options(loaded.model), o.dt, ""), o.contact_law);
  const double duration = o.duration.value_or(loaded.model.options.duration);
  const long steps = std::max(1L, std::lround(duration / options.dt));
  std::vector<Row> rows = make_table(o);
  const Schedule schedule = load_schedule(loaded);
  Input input;
  State state = initial_state(loaded.model);
  Workspace w = make_workspace(loaded.model);
  std::string csv = kCsvHeader;
  int problems = 0;
  double contacts = 0;
  std::vector<double> milliseconds, iterations;
  for (long i = 0; i < steps; ++i) {
    apply_schedule(loaded.model, schedule, options.dt, &state, &input);
    const Report report = step(loaded.model, options, input, &state, &w);
    if (w.problem.num_constraints() == 0 || (i + 1) * o.problems / steps == i * o.problems / steps) continue;
    ++problems;
    contacts += report.contacts;
    NewtonWorkspace anew = make_newton_workspace(loaded.model);  // that of the run may reuse its last answer
    const Clock::time_point begin = Clock::now();
    const SolverReport solved = solve_newton(w.problem, options.newton, &anew);
    milliseconds.push_back(milliseconds_since(begin));
    iterations.push_back(solved.iterations);
    if (!o.dump.empty()) dump_problem(o, loaded, state, w);
    for (Row& row : rows) {
      const VecX dv = solve([&](const RigidOptions& r) { return RigidProblem(w.problem, w.contacts, r); }, i,
                            o, &row, &csv);
      row.distance = std::max(row.distance, (w.motion.v_star + dv - w.newton.v).cwiseAbs().maxCoeff());
    }
    tell("\r{} of {} problems", problems, o.problems);
  }
  tell("\n");
  if (problems == 0)
    throw InputError({loaded.path, 0}, "nothing touches in this run, and no constraint acts",
                     "choose a scene with contacts, or a longer --duration");
  fmt::print("{} problems, {:.0f} contacts on average\n\n", problems, contacts / problems);
  print_header();
  fmt::print("{:<18}{:<27}{:>8}{:>12.0f}{:>11.3f}\n", "convex", traits(options.contact.law).name,
             fmt::format("{}/{}", problems, problems), median(iterations), median(milliseconds));
  print_rows(rows, true);
  fmt::print(
      "\nMedians of iterations and time, without any answer of the step before; the worst residual; the "
      "largest\n"
      "difference of a velocity from that of the convex law, whose contacts are soft.\n");
  write_outputs(o, rows, csv);
  return kOk;
}

}  // namespace capstan::cli
