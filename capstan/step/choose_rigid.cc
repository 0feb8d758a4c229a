#include "capstan/step/choose_rigid.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "capstan/base/closest_name.h"
#include "capstan/rigid/rigid_solvers.h"

namespace capstan {
namespace {

using Spell = std::function<std::string(std::string)>;

template <class... T>
[[noreturn]] void refuse(fmt::format_string<T...> format, T&&... values) {
  throw std::invalid_argument(fmt::format(format, std::forward<T>(values)...));
}

int choose_name(const std::string& option, const char* what, const std::string& name,
                const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  std::string known;
  for (const std::string& n : names) known += (known.empty() ? "known are " : ", ") + n;
  refuse("{}: there is no {} '{}'; {}", option, what, name, did_you_mean(name, names, known));
}

void choose_number(const std::string& option, const std::optional<double>& value, double low, double high,
                   double* to) {
  if (!value) return;
  if (!(*value >= low && *value <= high)) {
    if (std::isinf(high)) refuse("{} is {:g}; give {:g} or more", option, *value, low);
    refuse("{} is {:g}; give {:g} to {:g}", option, *value, low, high);
  }
  *to = *value;
}

bool says_more(const RigidChoice& c) {
  return !(c.solver.empty() && c.restitution.empty() && c.stabilization.empty()) || c.directions ||
         c.max_iterations || c.viscosity || c.erp || c.cfm || c.stiffness || c.damping || c.allowance ||
         c.tolerance || c.cold;
}

}  // namespace

RigidSettings rigid_settings(const RigidChoice& c, const Spell& spell) {
  RigidSettings rigid;
  RigidOptions& r = rigid.options;
  if (c.model.empty()) {
    if (says_more(c))
      refuse("{} and the like are options of a model of rigid contact; write {} ncp, or another",
             spell("solver"), spell("model"));
    return rigid;
  }
  std::vector<std::string> models;
  for (const RigidModelTraits& model : kRigidModels) models.emplace_back(model.name);
  rigid.is_on = true;
  r.model = static_cast<RigidModel>(choose_name(spell("model"), "model", c.model, models));
  rigid.solver = c.solver.empty() ? default_solver(r.model) : c.solver;
  const RigidSolver* solver = find_rigid_solver(rigid.solver);
  if (solver == nullptr || !solver->takes(r.model))
    refuse("solver '{}' {} {}; these do: {}", rigid.solver,
           solver == nullptr ? "is not known, so it does not solve model" : "does not solve model", c.model,
           solvers_of(r.model));
  if (!c.restitution.empty())
    r.restitution = static_cast<RigidRestitution>(
        choose_name(spell("restitution"), "restitution", c.restitution,
                    {kRigidRestitutionNames.begin(), kRigidRestitutionNames.end()}));
  if (!c.stabilization.empty())
    r.stabilization = static_cast<RigidStabilization>(
        choose_name(spell("stabilization"), "stabilization", c.stabilization,
                    {kRigidStabilizationNames.begin(), kRigidStabilizationNames.end()}));
  if (c.directions) r.directions = *c.directions;
  if (r.directions < 4 || r.directions > 1000 || r.directions % 2 != 0)
    refuse("{} is {}; give an even number, 4 to 1000", spell("directions"), r.directions);
  if (c.max_iterations) r.max_iterations = *c.max_iterations;
  if (r.max_iterations < 0) refuse("{} is {}; give 0 or more", spell("max-iterations"), r.max_iterations);
  choose_number(spell("viscosity"), c.viscosity, 0, kInfinity, &r.viscosity);
  choose_number(spell("erp"), c.erp, 0, 1, &r.erp);
  choose_number(spell("cfm"), c.cfm, 0, kInfinity, &r.cfm);
  choose_number(spell("stiffness"), c.stiffness, 0, kInfinity, &r.stiffness);
  choose_number(spell("damping"), c.damping, 0, kInfinity, &r.damping);
  choose_number(spell("allowance"), c.allowance, 0, kInfinity, &r.allowance);
  choose_number(spell("tolerance"), c.tolerance, 1e-15, 1, &r.tolerance);
  if (r.stiffness > 0 && (c.erp || c.cfm))
    refuse("{} takes the place of {} and {}; leave it or them out", spell("stiffness"), spell("erp"),
           spell("cfm"));
  r.warm_start = !c.cold;
  return rigid;
}

}  // namespace capstan
