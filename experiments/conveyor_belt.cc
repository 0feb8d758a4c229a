// Oscillating conveyor belt (ICF XI-A): a box sticks and slides in turn. While it slides, SAP holds it at
// the height mu (dt + tau_d) |v_t| and Similar at mu dt |v_t| over the belt; Lagged leaves it at m g/k below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/course.h"
#include "experiments/programs.h"

namespace capstan::experiments {
namespace {

constexpr double kDuration = 2;                                           // [s]
constexpr double kMu = 0.7, kTau = 1e-3, kWeight = 9.81, kFrequency = 1;  // box of 1 kg
constexpr Law kLaws[] = {kSap, kLagged, kSimilar};

struct Course : ContactCourse {
  using ContactCourse::ContactCourse;
  std::vector<double> glide;  // height over formula, at every step in full slip
  double largest_vertical_speed = 0, largest_force_error = 0;
};

// Height at which `law` glides at slip speed v.
double glide_height(ContactLaw law, double dt, double v) {
  return law == ContactLaw::sap ? kMu * (dt + kTau) * v : law == ContactLaw::similar ? kMu * dt * v : 0;
}

Course simulate(ContactLaw law, double dt) {
  Simulation s("oscillating_belt", law, dt);
  s.options.newton.relative_tolerance = 1e-9;
  s.input.surface_scale = VecX::Ones(static_cast<int>(s.model.shapes.size()));
  Course c(s);
  while (s.state.time < kDuration - 0.5 * dt) {
    // The belt stands at its end and starts to move; its speed in the middle of the step is that of its
    // travel in the step.
    s.input.surface_scale.setConstant(
        std::sin(2 * std::numbers::pi * kFrequency * (s.state.time + 0.5 * dt)));
    s.step();
    const GroundContact ground = ground_contact(s);
    c.add(s, ground);
    c.largest_vertical_speed = std::max(c.largest_vertical_speed, std::abs(s.state.v[1]));
    c.largest_force_error = std::max(c.largest_force_error, std::abs(ground.force.z() / kWeight - 1));
    const double v = std::abs(ground.velocity.x());
    if (law != ContactLaw::lagged && v > 0.1)
      c.glide.push_back((s.state.q[1] - 0.025) / glide_height(law, dt, v));
  }
  return c;
}

void check_artifacts(const Run& run, Result* result) {
  const double dt = 0.01;
  std::vector<Series> slip, normal, force, friction;
  for (const Law& law : kLaws) {
    const Course c = simulate(law.law, dt);
    if (law.law == ContactLaw::lagged) {
      result->claim("Lagged: no vertical motion", "none",
                    fmt::format("{:.1e} m/s at most", c.largest_vertical_speed),
                    c.largest_vertical_speed < 1e-5);
      result->claim("Lagged: normal force is the weight", "the weight",
                    fmt::format("within {:.1e} of it", c.largest_force_error), c.largest_force_error < 1e-3);
    } else {
      result->claim(fmt::format("{}: glides at {} while it slides", law.name,
                                law.law == ContactLaw::sap ? "mu (dt + tau) v_t" : "mu dt v_t"),
                    "formula",
                    fmt::format("{:.3f} times that (median over all steps in slip)", median(c.glide)),
                    std::abs(median(c.glide) - 1) < 0.05);
      result->claim(fmt::format("{}: normal force has spikes where the box sticks again", law.name), "spikes",
                    fmt::format("up to {:.0f} % away from the weight", 100 * c.largest_force_error),
                    c.largest_force_error > 0.05);
    }
    slip.push_back({law.name, c.time, c.slip, law.line});
    normal.push_back({law.name, c.time, c.normal_velocity, law.line});
    force.push_back({law.name, c.time, c.normal_force, law.line});
    friction.push_back({law.name, c.time, c.friction, law.line});
  }
  run.tell(0.3, "contact at dt = 10 ms");
  const auto panel = [](const char* title, const char* label) {
    return PlotOptions{640, 320, title, "time [s]", label, false, false, {}, {}};
  };
  result->figure("contact", "Velocity of the contact and contact force at dt = 10 ms (figure 3)",
                 arrange({draw_plot(slip, panel("slip against the belt", "v_x [m/s]")),
                          draw_plot(friction, panel("friction", "f_x [N]")),
                          draw_plot(normal, panel("normal velocity", "v_z [m/s]")),
                          draw_plot(force, panel("normal force", "f_z [N]"))},
                         2, 640, 320));
}

void check_orders(const Run& run, Result* result) {
  const std::vector<double> steps = {5e-2, 1e-2, 2e-3, 4e-4};
  run.tell(0.5, "orders of convergence");
  const Trajectory reference = simulate(ContactLaw::lagged, run.is_short ? 1e-4 : 4e-5).trajectory;
  std::vector<Series> errors;
  Table table = errors_table(steps);
  for (const Law& law : kLaws) {
    const auto error = [&](double dt) { return distance(simulate(law.law, dt).trajectory, reference); };
    errors.push_back(calc_errors(law, steps, std::string(law.name) + " [m]", error, &table));
  }
  for (const int law : {1, 2}) {
    const double order = fitted_order(steps, errors[law].y);
    result->claim(fmt::format("{}: order of convergence", kLaws[law].name), "1", fmt::format("{:.2f}", order),
                  order > 0.7 && order < 1.4);
  }
  const double fall = errors[0].y[2] / errors[0].y[3], lagged = errors[1].y[2] / errors[1].y[3];
  result->claim("SAP: its error stays when the step shrinks", "plateau",
                fmt::format("from 2 ms to 0.4 ms {:.1f} times smaller (Lagged {:.1f} times)", fall, lagged),
                fall < 1.5 && lagged > 3);
  std::string ratios;
  bool larger = true, at_small = true, near = true;  // the paper's steps are the first three
  for (std::size_t i = 0; i < 3; ++i) {
    const double ratio = errors[2].y[i] / errors[1].y[i];
    ratios += fmt::format("{}{:.2f} at {:g} ms", ratios.empty() ? "" : ", ", ratio, 1e3 * steps[i]);
    larger = larger && ratio > 1;
    near = near && ratio > 0.9;
    if (i > 0) at_small = at_small && ratio > 1;
  }
  result->claim(
      "Similar's error is larger than Lagged's", "larger at 50, 10 and 2 ms", ratios + " times", larger,
      Difference{"at 50 ms, 20 steps for a period of the belt, the errors of all three laws are that of "
                 "the step and nearly the same",
                 "larger at 10 and 2 ms, at 50 ms at least 0.9 times", at_small && near});
  errors.push_back(first_order(errors[1]));
  result->figure("orders", "Error of the box's trajectory over 2 s against the time step (figure 4)",
                 draw_plot(errors, {720,
                                    400,
                                    "box on a belt: error of the trajectory",
                                    "time step [s]",
                                    "e_q [m]",
                                    true,
                                    true,
                                    {},
                                    {}}));
  result->tables.push_back(table);
}

}  // namespace

Result conveyor_belt(const Run& run) {
  Result result;
  check_artifacts(run, &result);
  check_orders(run, &result);
  return result;
}

}  // namespace capstan::experiments
