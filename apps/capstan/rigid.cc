// Options of rigid contact, for the subcommands that have them.
#include <fmt/core.h>

#include <stdexcept>

#include "apps/capstan/commands.h"
#include "capstan/rigid/rigid_solvers.h"

namespace capstan::cli {

StepOptions choose_rigid(StepOptions options, const RigidChoice& choice) {
  try {
    const RigidSettings settings =
        rigid_settings(choice, [](const std::string& name) { return "--" + name; });
    if (settings.is_on) options.rigid = settings;
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
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
