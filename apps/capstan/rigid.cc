// Options of rigid contact, for the subcommands that have them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "apps/capstan/commands.h"
#include "capstan/base/closest_name.h"
#include "capstan/rigid/rigid_solvers.h"

namespace capstan::cli {
namespace {

int choose_name(const char* option, const char* what, const std::string& name,
                const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  std::string known;
  for (const std::string& n : names) known += (known.empty() ? "known are " : ", ") + n;
  throw UsageError(
      fmt::format("{}: there is no {} '{}'; {}", option, what, name, did_you_mean(name, names, known)));
}

void choose_number(const char* option, const std::optional<double>& value, double low, double high,
                   double* to) {
  if (!value) return;
  if (!(*value >= low && *value <= high))
    throw UsageError(std::isinf(high)
                         ? fmt::format("{} is {:g}; give {:g} or more", option, *value, low)
                         : fmt::format("{} is {:g}; give {:g} to {:g}", option, *value, low, high));
  *to = *value;
}

bool says_more(const RigidChoice& c) {
  return !(c.solver.empty() && c.restitution.empty() && c.stabilization.empty()) || c.directions ||
         c.max_iterations || c.viscosity || c.erp || c.cfm || c.stiffness || c.damping || c.allowance ||
         c.tolerance || c.cold;
}

}  // namespace

StepOptions choose_rigid(StepOptions options, const RigidChoice& c) {
  std::vector<std::string> models;
  for (const RigidModelTraits& model : kRigidModels) models.emplace_back(model.name);
  if (c.model.empty()) {
    if (says_more(c))
      throw UsageError(
          "--solver and the like are options of a model of rigid contact; write --model ncp, or another");
    return options;
  }
  RigidSettings& rigid = options.rigid;
  RigidOptions& r = rigid.options;
  rigid.is_on = true;
  r.model = static_cast<RigidModel>(choose_name("--model", "model", c.model, models));
  rigid.solver = c.solver.empty() ? default_solver(r.model) : c.solver;
  const RigidSolver* solver = find_rigid_solver(rigid.solver);
  if (solver == nullptr || !solver->takes(r.model))
    throw UsageError(
        fmt::format("solver '{}' {} {}; these do: {}", rigid.solver,
                    solver == nullptr ? "is not known, so it does not solve model" : "does not solve model",
                    c.model, solvers_of(r.model)));
  if (!c.restitution.empty())
    r.restitution = static_cast<RigidRestitution>(
        choose_name("--restitution", "restitution", c.restitution,
                    {kRigidRestitutionNames.begin(), kRigidRestitutionNames.end()}));
  if (!c.stabilization.empty())
    r.stabilization = static_cast<RigidStabilization>(
        choose_name("--stabilization", "stabilization", c.stabilization,
                    {kRigidStabilizationNames.begin(), kRigidStabilizationNames.end()}));
  if (c.directions) r.directions = *c.directions;
  if (r.directions < 4 || r.directions > 1000 || r.directions % 2 != 0)
    throw UsageError(fmt::format("--directions is {}; give an even number, 4 to 1000", r.directions));
  if (c.max_iterations) r.max_iterations = *c.max_iterations;
  if (r.max_iterations < 0)
    throw UsageError(fmt::format("--max-iterations is {}; give 0 or more", r.max_iterations));
  choose_number("--viscosity", c.viscosity, 0, kInfinity, &r.viscosity);
  choose_number("--erp", c.erp, 0, 1, &r.erp);
  choose_number("--cfm", c.cfm, 0, kInfinity, &r.cfm);
  choose_number("--stiffness", c.stiffness, 0, kInfinity, &r.stiffness);
  choose_number("--damping", c.damping, 0, kInfinity, &r.damping);
  choose_number("--allowance", c.allowance, 0, kInfinity, &r.allowance);
  choose_number("--tolerance", c.tolerance, 1e-15, 1, &r.tolerance);
  if (r.stiffness > 0 && (c.erp || c.cfm))
    throw UsageError("--stiffness takes the place of --erp and --cfm; leave it or them out");
  r.warm_start = !c.cold;
  return options;
}

std::string rigid_text(const RigidSettings& settings) {
  const RigidOptions& r = settings.options;
  std::string text = fmt::format("model {}, solver {}", traits(r.model).name,
                                 settings.solver.empty() ? default_solver(r.model) : settings.solver);
  if (traits(r.model).is_polyhedral) text += fmt::format(", {} directions", r.directions);
  if (r.model == RigidModel::viscous || r.model == RigidModel::viscous_explicit)
    text += fmt::format(", viscosity {:g} N s/m", r.viscosity);
  text += fmt::format(", restitution {}, stabilization {}",
                      kRigidRestitutionNames[static_cast<int>(r.restitution)],
                      kRigidStabilizationNames[static_cast<int>(stabilization_of(r))]);
  return text;
}

}  // namespace capstan::cli
