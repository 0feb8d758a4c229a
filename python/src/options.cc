// Options of steps by name, with the words of the command line and of scene files.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "capstan/base/closest_name.h"
#include "capstan/rigid/rigid_solvers.h"
#include "capstan/step/choose_rigid.h"
#include "python/src/support.h"

namespace capstan::python {
namespace {

double to_number(nb::handle value, const std::string& name) {
  const double x = PyFloat_AsDouble(value.ptr());
  if (x == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw nb::type_error(fmt::format("{} is not a number", name).c_str());
  }
  return x;
}

double to_positive(nb::handle value, const std::string& name, bool may_be_infinite) {
  const double x = to_number(value, name);
  if (!(x > 0) || (!may_be_infinite && !std::isfinite(x))) {
    raise_value_error(fmt::format("{} is {:g}; give a number above 0", name, x));
  }
  return x;
}

int to_count(nb::handle value, const std::string& name, int most) {
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    throw nb::type_error(fmt::format("{} is not a whole number", name).c_str());
  }
  int overflow = 0;
  const long n = PyLong_AsLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || n < 1 || n > most) raise_value_error(fmt::format("{} must be 1 to {}", name, most));
  return static_cast<int>(n);
}

bool to_bool(nb::handle value, const std::string& name) {
  if (!PyBool_Check(value.ptr())) throw nb::type_error(fmt::format("{} must be True or False", name).c_str());
  return value.ptr() == Py_True;
}

std::string to_text(nb::handle value, const std::string& name) {
  if (!nb::isinstance<nb::str>(value)) throw nb::type_error(fmt::format("{} is not a str", name).c_str());
  return nb::cast<std::string>(value);
}

std::string known(const std::vector<std::string>& names) {
  std::string text = "known are ";
  for (std::size_t i = 0; i < names.size(); ++i) text += (i > 0 ? ", " : "") + names[i];
  return text;
}

std::vector<std::string> rigid_model_names() {
  std::vector<std::string> names;
  for (const RigidModelTraits& model : kRigidModels) names.emplace_back(model.name);
  return names;
}

std::vector<std::string> integrator_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Integrator::midpoint); ++i) {
    names.emplace_back(integrator_name(static_cast<Integrator>(i)));
  }
  return names;
}

const std::vector<std::string> kNames = {
    "dt",    "integrator",     "contact_law",  "tolerance", "threads", "sleep", "fail_if_not_converged",
    "judge", "max_iterations", "step_seconds", "rigid"};

// A rigid model from its name, or from a dict with the words of the command line; None: a contact law.
RigidSettings to_rigid(nb::handle value) {
  RigidChoice choice;
  if (value.is_none()) return {};
  if (nb::isinstance<nb::str>(value)) {
    choice.model = nb::cast<std::string>(value);
  } else if (nb::isinstance<nb::dict>(value)) {
    const auto whole = [](nb::handle x, const std::string& name) { return to_count(x, name, 1'000'000'000); };
    for (const auto& [key, x] : nb::borrow<nb::dict>(value)) {
      const std::string name = to_text(key, "a key of rigid");
      std::string* text = name == "model"           ? &choice.model
                          : name == "solver"        ? &choice.solver
                          : name == "restitution"   ? &choice.restitution
                          : name == "stabilization" ? &choice.stabilization
                                                    : nullptr;
      std::optional<double>* number = name == "viscosity"   ? &choice.viscosity
                                      : name == "erp"       ? &choice.erp
                                      : name == "cfm"       ? &choice.cfm
                                      : name == "stiffness" ? &choice.stiffness
                                      : name == "damping"   ? &choice.damping
                                      : name == "allowance" ? &choice.allowance
                                      : name == "tolerance" ? &choice.tolerance
                                                            : nullptr;
      if (text != nullptr) {
        *text = to_text(x, name);
      } else if (number != nullptr) {
        *number = to_number(x, name);
      } else if (name == "directions") {
        choice.directions = whole(x, name);
      } else if (name == "max_iterations") {
        choice.max_iterations = whole(x, name);
      } else if (name == "warm_start") {
        choice.cold = !to_bool(x, name);
      } else {
        const std::vector<std::string> names = {
            "model", "solver", "restitution", "stabilization", "directions", "max_iterations", "viscosity",
            "erp",   "cfm",    "stiffness",   "damping",       "allowance",  "tolerance",      "warm_start"};
        raise_value_error(
            fmt::format("rigid has no '{}'; {}", name, did_you_mean(name, names, known(names))));
      }
    }
    if (choice.model.empty()) raise_value_error("rigid has no 'model'; " + known(rigid_model_names()));
  } else {
    throw nb::type_error(
        "rigid must be the name of a model, a dict with 'model' and what belongs to it, or None");
  }
  try {
    return rigid_settings(choice, [](std::string name) {
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });
  } catch (const std::invalid_argument& error) {
    raise_value_error(error.what());
  }
}

nb::object from_rigid(const RigidSettings& settings) {
  if (!settings.is_on) return nb::none();
  const RigidOptions& r = settings.options;
  nb::dict words;
  words["model"] = traits(r.model).name;
  words["solver"] = settings.solver;
  words["restitution"] = kRigidRestitutionNames[static_cast<int>(r.restitution)];
  words["stabilization"] = kRigidStabilizationNames[static_cast<int>(r.stabilization)];
  words["directions"] = r.directions;
  words["max_iterations"] = r.max_iterations;
  words["viscosity"] = r.viscosity;
  if (r.stiffness > 0) {
    words["stiffness"] = r.stiffness;
    words["damping"] = r.damping;
  } else {
    if (r.erp >= 0) words["erp"] = r.erp;
    if (r.cfm > 0) words["cfm"] = r.cfm;
  }
  words["allowance"] = r.allowance;
  words["tolerance"] = r.tolerance;
  words["warm_start"] = r.warm_start;
  return words;
}

}  // namespace

nb::typed<nb::dict, nb::str, nb::typed<nb::list, nb::str>> rigid_models() {
  nb::typed<nb::dict, nb::str, nb::typed<nb::list, nb::str>> models;
  for (int i = 0; i < kNumRigidModels; ++i) {
    nb::list solvers;
    const auto model = static_cast<RigidModel>(i);
    solvers.append(default_solver(model));
    for (const RigidSolver& solver : rigid_solvers()) {
      if (solver.takes(model) && std::string(solver.name) != default_solver(model))
        solvers.append(solver.name);
    }
    models[kRigidModels[i].name] = solvers;
  }
  return models;
}

std::string contact_law_name(const StepOptions& options) {
  return traits(options.contact.law).name;
}

void set_option(const std::string& name, nb::handle value, StepOptions* options) {
  if (name == "dt") {
    options->dt = to_positive(value, name, false);
  } else if (name == "integrator") {
    const std::string word = to_text(value, name);
    const auto found = integrator_from_name(word);
    if (!found) {
      const std::vector<std::string> names = integrator_names();
      raise_value_error(
          fmt::format("there is no integrator '{}'; {}", word, did_you_mean(word, names, known(names))));
    }
    options->integrator = *found;
  } else if (name == "contact_law") {
    const std::string word = to_text(value, name);
    const std::vector<std::string> names(kContactLawNames.begin(), kContactLawNames.end());
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) {
      raise_value_error(
          fmt::format("there is no contact law '{}'; {}", word, did_you_mean(word, names, known(names))));
    }
    options->contact.law = static_cast<ContactLaw>(found - names.begin());
  } else if (name == "tolerance") {
    options->newton.relative_tolerance = to_positive(value, name, false);
  } else if (name == "max_iterations") {
    options->newton.max_iterations = to_count(value, name, 1'000'000);
  } else if (name == "threads") {
    options->threads = to_count(value, name, 1024);
  } else if (name == "sleep") {
    options->sleep.on = to_bool(value, name);
  } else if (name == "judge") {
    options->judge = to_bool(value, name);
  } else if (name == "fail_if_not_converged") {
    options->fail_if_not_converged = to_bool(value, name);
  } else if (name == "step_seconds") {
    options->most_seconds = to_positive(value, name, true);
  } else if (name == "rigid") {
    options->rigid = to_rigid(value);
  } else {
    throw nb::type_error(
        fmt::format("there is no option '{}'; {}", name, did_you_mean(name, kNames, known(kNames))).c_str());
  }
}

nb::object get_option(const std::string& name, const StepOptions& options) {
  if (name == "dt") return nb::float_(options.dt);
  if (name == "integrator") return nb::str(integrator_name(options.integrator));
  if (name == "contact_law") return nb::str(contact_law_name(options).c_str());
  if (name == "tolerance") return nb::float_(options.newton.relative_tolerance);
  if (name == "max_iterations") return nb::int_(options.newton.max_iterations);
  if (name == "threads") return nb::int_(options.threads);
  if (name == "sleep") return nb::bool_(options.sleep.on);
  if (name == "judge") return nb::bool_(options.judge);
  if (name == "fail_if_not_converged") return nb::bool_(options.fail_if_not_converged);
  if (name == "step_seconds") return nb::float_(options.most_seconds);
  if (name == "rigid") return from_rigid(options.rigid);
  throw nb::type_error(
      fmt::format("there is no option '{}'; {}", name, did_you_mean(name, kNames, known(kNames))).c_str());
}

StepOptions choose_options(const Model& model, const nb::kwargs& arguments) {
  StepOptions options = step_options(model);
  for (const auto& [key, value] : arguments) {
    if (!value.is_none()) set_option(nb::cast<std::string>(key), value, &options);
  }
  return options;
}

}  // namespace capstan::python
