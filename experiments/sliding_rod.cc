// Sliding rod (ICF XI-C, after Pfeiffer and Glocker 5.3): an impact without a collision. With the tip
// ahead of the centre, c = cos phi, s = sin phi, a normal force f moves the tip by f/m (1 + 3 c (c - mu s)):
// where mu s c > 1/3 + c^2 a larger force drives the tip deeper (Painleve), which needs mu > 4/3.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/course.h"
#include "experiments/programs.h"

namespace capstan::experiments {
namespace {

constexpr double kDuration = 0.03;  // [s]
constexpr double kSettled = 0.005;  // [s] the jolt of the start is over
constexpr Law kLaws[] = {kSap, kLagged, kSimilar};

struct Course : ContactCourse {
  using ContactCourse::ContactCourse;
  double impact_at = 0, impact_force = 0;  // [s, N] where the normal force is largest
  double stiction = 0;                     // [s] how long the tip sticks
  double jump = 0;                         // [m/s] upward speed of the centre after the impact
  double pitch_at_impact = 0;              // [rad]
};

// Height above the ground at which `law` is at rest while it slides at the first speed, 10 m/s (icf VII-A).
double glide_height(ContactLaw law, double dt, double tau) {
  const double mu_v = 2.3 * 10;
  return law == ContactLaw::sap ? mu_v * (dt + tau) : law == ContactLaw::similar ? mu_v * dt : 0;
}

Course simulate(ContactLaw law, double dt, bool dissipates, double record_every) {
  Scene scene = shipped_scene("sliding_rod");
  if (!dissipates) {
    for (Material& m : scene.materials) m.dissipation = m.relaxation_time = 0;
  }
  Simulation s(scene, law, dt);
  s.options.newton.relative_tolerance = 1e-9;
  s.state.q[1] += glide_height(law, dt, scene.materials[0].relaxation_time);  // else it is thrown up at once
  Course c(s);
  const long every = std::max(1L, std::lround(record_every / dt));
  s.run_until(kDuration, [&] {
    const GroundContact ground = ground_contact(s);
    if (s.state.time > kSettled && ground.force.z() > c.impact_force)
      c.impact_force = ground.force.z(), c.impact_at = s.state.time, c.pitch_at_impact = s.state.q[2];
    if (ground.touches && ground.velocity.head<2>().norm() < 1e-4) c.stiction += dt;
    if (s.state.step % every != 0) return;
    c.add(s, ground);
  });
  c.jump = s.state.v[1];
  return c;
}

void draw(const std::vector<Course>& courses, bool dissipates, Result* result) {
  std::vector<Series> force, velocity, normal;
  for (std::size_t i = 0; i < courses.size(); ++i) {
    const Course& c = courses[i];
    force.push_back({kLaws[i].name, c.time, c.normal_force, kLaws[i].line});
    velocity.push_back({kLaws[i].name, c.time, c.slip, kLaws[i].line});
    normal.push_back({kLaws[i].name, c.time, c.normal_velocity, kLaws[i].line});
  }
  double first = 1, last = 0;
  for (const Course& c : courses) first = std::min(first, c.impact_at), last = std::max(last, c.impact_at);
  const PlotRange near{first - 2e-3, last + 1e-3}, before{0, last + 3e-3};
  const auto panel = [](const char* title, const char* label, PlotRange x, std::optional<PlotRange> y) {
    return PlotOptions{640, 320, title, "time [s]", label, false, false, x, y};
  };
  result->figure(
      dissipates ? "with_dissipation" : "without_dissipation",
      fmt::format(
          "Contact force and velocity of the tip {} dissipation; on the right close to the impact (figures "
          "{})",
          dissipates ? "with" : "without", dissipates ? "11 and 12" : "9 and 10"),
      arrange({draw_plot(force, panel("normal force", "f_z [N]", before, PlotRange{0, 400})),
               draw_plot(force, panel("normal force", "f_z [N]", near, {})),
               draw_plot(velocity, panel("slip", "v_x [m/s]", before, {})),
               draw_plot(velocity, panel("slip", "v_x [m/s]", near, {})),
               draw_plot(normal, panel("normal velocity", "v_z [m/s]", before, {})),
               draw_plot(normal, panel("normal velocity", "v_z [m/s]", near, {}))},
              2, 640, 320));
}

void check_impacts(const std::vector<Course>& free, const std::vector<Course>& damped, Result* result) {
  const double weight = 0.3 * 9.81;
  for (std::size_t i = 0; i < free.size(); ++i) {
    const Course& c = free[i];
    result->claim(
        fmt::format("{}, no dissipation: jams and jumps", kLaws[i].name), "yes",
        fmt::format("{:.0f} times the weight, leaves at {:.2f} m/s", c.impact_force / weight, c.jump),
        c.impact_force > 100 * weight && c.jump > 0.5);
    result->claim(fmt::format("{}, no dissipation: how long the tip sticks", kLaws[i].name), "about 0.2 ms",
                  fmt::format("{:.2f} ms", 1e3 * c.stiction), c.stiction > 0.5e-4 && c.stiction < 4e-4);
  }
  const double spread = std::max(std::abs(free[0].impact_at - free[1].impact_at),
                                 std::abs(free[2].impact_at - free[1].impact_at));
  result->claim("no dissipation: the three models meet at the same time", "nearly identical",
                fmt::format("within {:.3f} ms of {:.2f} ms", 1e3 * spread, 1e3 * free[1].impact_at),
                spread < 1e-4);
  const double lagged = damped[1].impact_at - free[1].impact_at;
  const double sap = damped[0].impact_at - free[1].impact_at,
               similar = damped[2].impact_at - free[1].impact_at;
  result->claim("dissipation hardly moves the impact of Lagged", "minimal",
                fmt::format("{:+.3f} ms", 1e3 * lagged),
                std::abs(lagged) < 0.5 * std::min(std::abs(sap), std::abs(similar)));
  result->claim("with dissipation Similar meets earlier", "earlier", fmt::format("{:+.3f} ms", 1e3 * similar),
                similar < lagged);
  result->claim("with dissipation SAP meets later", "later, as much as Similar earlier",
                fmt::format("{:+.3f} ms", 1e3 * sap), sap > lagged);
}

}  // namespace

Result sliding_rod(const Run& run) {
  Result result;
  const double fine = 1e-7;  // larger ones move the impact of SAP and Similar, also in the short form
  std::vector<Course> courses[2];
  for (const bool dissipates : {false, true}) {
    for (const Law& law : kLaws) {
      run.tell(dissipates ? 0.25 : 0, fmt::format("{} at dt = {:g} s", law.name, fine));
      courses[dissipates].push_back(simulate(law.law, fine, dissipates, 4e-6));
    }
    draw(courses[dissipates], dissipates, &result);
  }
  check_impacts(courses[0], courses[1], &result);

  const std::vector<double> steps = {6.4e-4, 1.6e-4, 4e-5, 1e-5};
  std::vector<std::string> plots;
  Table table = errors_table(steps);
  for (const bool dissipates : {false, true}) {
    std::vector<Series> series;
    const Trajectory& reference = courses[dissipates][1].trajectory;
    for (const Law& law : kLaws) {
      run.tell(dissipates ? 0.75 : 0.5, "orders of convergence");
      const auto error = [&](double dt) {
        return distance(simulate(law.law, dt, dissipates, dt).trajectory, reference);
      };
      const std::string column = std::string(law.name) + (dissipates ? ", dissipation" : "");
      series.push_back(calc_errors(law, steps, column, error, &table));
    }
    if (!dissipates) {
      const double apart = std::abs(std::log(series[0].y[1] / series[2].y[1]));
      result.claim("no dissipation: SAP and Similar cannot be told apart", "indistinguishable",
                   fmt::format("errors at 0.16 ms: {:.3g} and {:.3g}", series[0].y[1], series[2].y[1]),
                   apart < 0.2);
      result.claim("no dissipation: Lagged has the largest error at the largest step", "yes",
                   fmt::format("{:.3g} against {:.3g} of Similar", series[1].y[0], series[2].y[0]),
                   series[1].y[0] > series[2].y[0]);
      const double order =
          fitted_order({steps.end() - 3, steps.end()}, {series[1].y.end() - 3, series[1].y.end()});
      result.claim("no dissipation: order of Lagged at smaller steps", "1", fmt::format("{:.2f}", order),
                   order > 0.7 && order < 1.5);
    }
    series.push_back({"first order", steps, {}, LineStyle::dashed, false, Series::kGray});
    for (const double dt : steps) series.back().y.push_back(series[0].y.back() * dt / steps.back());
    plots.push_back(draw_plot(series, {640,
                                       380,
                                       dissipates ? "with dissipation" : "without dissipation",
                                       "time step [s]",
                                       "e_q [m, rad]",
                                       true,
                                       true,
                                       {},
                                       {}}));
  }
  result.figure("orders", "Error of the trajectory against the time step (figure 13)",
                arrange(plots, 2, 640, 380));
  result.tables.push_back(table);
  const Course coarse = simulate(ContactLaw::lagged, 2e-3, false, 2e-3);
  result.claim("Lagged misses the impact at steps above 1 ms", "misses it",
               fmt::format("largest force at 2 ms: {:.0f} N, in the reference {:.0f} N", coarse.impact_force,
                           courses[0][1].impact_force),
               coarse.impact_force < 0.1 * courses[0][1].impact_force);
  result.remarks.push_back(
      "The paper does not say how high the tip is at the start. Here it just touches with Lagged, and is as "
      "high as SAP and Similar let it glide at the first speed, mu (dt + tau) v and mu dt v; lower, they "
      "would "
      "throw the rod up at once, the more the larger the step.");
  return result;
}

}  // namespace capstan::experiments
