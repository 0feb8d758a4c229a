// capstan compare: the same step problems, solved by every model and solver of rigid contact.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "apps/capstan/commands.h"
#include "apps/capstan/simulate.h"
#include "capstan/io/output_file.h"
#include "capstan/rigid/rigid_solvers.h"

namespace capstan::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Row {
  RigidModel model;
  const RigidSolver* solver;
  int solved = 0, count = 0;
  std::vector<double> iterations, milliseconds, residuals;
  double distance = 0;  // [m/s] largest difference of a velocity from the convex answer's
};

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::nth_element(x.begin(), x.begin() + static_cast<long>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

void solve(const Workspace& w, int step, const CompareOptions& options, Row* row, std::string* csv) {
  RigidOptions rigid;
  rigid.model = row->model;
  rigid.tolerance = options.tolerance;
  rigid.max_iterations = options.max_iterations;
  const Clock::time_point begin = Clock::now();
  const RigidProblem problem(w.problem, w.contacts, rigid);
  const RigidResult result = row->solver->solve(problem, VecX::Zero(problem.num_rows()));
  row->milliseconds.push_back(1e3 * std::chrono::duration<double>(Clock::now() - begin).count());
  ++row->count;
  row->solved += result.converged;
  row->iterations.push_back(result.iterations);
  row->residuals.push_back(result.residual);
  const VecX v = w.motion.v_star + problem.calc_dv(result.x);
  row->distance = std::max(row->distance, (v - w.newton.v).cwiseAbs().maxCoeff());
  for (std::size_t i = 0; i < result.history.size(); ++i)
    *csv += fmt::format("{},{},{},{},{:.6e}\n", step, kRigidModelNames[static_cast<int>(row->model)],
                        row->solver->name, 5 * i, result.history[i]);
}

}  // namespace

int compare(const CompareOptions& o) {
  const LoadedScene loaded = load(o.scene, false);
  tell_warnings(loaded);
  const StepOptions options =
      choose_contact_law(choose_step_options(step_options(loaded.model), o.dt, ""), o.contact_law);
  if (o.problems < 1) throw UsageError("--problems is below 1; write how many steps are to be solved");
  if (!(o.tolerance > 0)) throw UsageError("--tolerance must be above 0, such as 1e-6");
  const double duration = o.duration.value_or(loaded.model.options.duration);
  const long steps = std::max(1L, std::lround(duration / options.dt));
  std::vector<Row> rows;
  for (int m = 0; m < static_cast<int>(kRigidModelNames.size()); ++m) {
    for (const RigidSolver& solver : rigid_solvers()) {
      if (solver.takes(static_cast<RigidModel>(m)))
        rows.push_back({static_cast<RigidModel>(m), &solver, 0, 0, {}, {}, {}});
    }
  }
  const Schedule schedule = load_schedule(loaded);
  Input input;
  State state = initial_state(loaded.model);
  Workspace w = make_workspace(loaded.model);
  std::string csv = "step,model,solver,iteration,residual\n";
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
    milliseconds.push_back(1e3 * std::chrono::duration<double>(Clock::now() - begin).count());
    iterations.push_back(solved.iterations);
    for (Row& row : rows) solve(w, static_cast<int>(i), o, &row, &csv);
    tell("\r{} of {} problems", problems, o.problems);
  }
  tell("\n");
  if (problems == 0)
    throw InputError({loaded.path, 0}, "nothing touches in this run, and no constraint acts",
                     "choose a scene with contacts, or a longer --duration");
  fmt::print("{} problems, {:.0f} contacts on average\n\n", problems, contacts / problems);
  fmt::print("{:<8}{:<24}{:>8}{:>12}{:>11}{:>13}{:>16}\n", "model", "solver", "solved", "iterations", "ms",
             "residual", "from convex");
  fmt::print("{:<8}{:<24}{:>8}{:>12.0f}{:>11.3f}\n", "convex", traits(options.contact.law).name,
             fmt::format("{}/{}", problems, problems), median(iterations), median(milliseconds));
  for (const Row& row : rows) {
    fmt::print("{:<8}{:<24}{:>8}{:>12.0f}{:>11.3f}{:>13.1e}{:>12.1e} m/s\n",
               kRigidModelNames[static_cast<int>(row.model)], row.solver->name,
               fmt::format("{}/{}", row.solved, row.count), median(row.iterations), median(row.milliseconds),
               *std::max_element(row.residuals.begin(), row.residuals.end()), row.distance);
  }
  fmt::print(
      "\nMedians of iterations and time, without any answer of the step before; the worst residual; the "
      "largest difference "
      "of\n"
      "a velocity from that of the convex law, whose contacts are soft.\n");
  if (!o.csv.empty()) {
    write_file(o.csv, csv);
    fmt::print("wrote {}\n", o.csv);
  }
  return kOk;
}

}  // namespace capstan::cli
