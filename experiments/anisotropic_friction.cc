// Anisotropic friction (ICF appendix B, Contact course 6.1 to 6.3): a puck on a surface with a friction
// tensor M.
//
// Friction of greatest dissipation is f = -m g M w/|w| with w = M v, so dv_x/dv_y = (mu_x/mu_y)^2 v_x/v_y,
// hence
//
//   v_x/v_x0 = (v_y/v_y0)^e,  e = (mu_x/mu_y)^2
//
// exactly, for any shape of the puck, as long as it does not turn: the load moves along the friction force,
// so that the force has no moment about the vertical. The path is the integral of that; here by Runge-Kutta
// with steps of 10 us.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/laws/anisotropy.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kGravity = 9.81;

// Position over time of a point mass under M from velocity v, until it stops.
Trajectory analytic_path(const Mat2& M, Vec2 v) {
  const double dt = 1e-5;
  const auto acceleration = [&](const Vec2& u) {
    const Vec2 w = M * u;
    return Vec2(-kGravity / std::max(w.norm(), 1e-12) * (M * w));
  };
  Trajectory path;
  Vec2 x = Vec2::Zero();
  for (int i = 0; i < 500000; ++i) {
    path.add(i * dt, x);
    const Vec2 k1 = acceleration(v), k2 = acceleration(v + 0.5 * dt * k1),
               k3 = acceleration(v + 0.5 * dt * k2), k4 = acceleration(v + dt * k3);
    const Vec2 dv = dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    if (dv.dot(v) > 0 || dv.norm() > v.norm()) break;
    x += dt * (v + 0.5 * dv);
    v += dv;
  }
  return path;
}

struct Path {
  Trajectory position;  // (x, y)
  std::vector<Vec2> velocity;
  double turn = 0;  // [rad] about the vertical, at the end
};

// The shipped puck on a table of tensor M, thrown with v0 after it has come to rest there.
Path simulate(ContactLaw law, double dt, const FrictionTensor& tensor, const Vec2& v0, double duration) {
  Scene scene = shipped_scene("anisotropic_puck");
  scene.materials[0].friction_tensor = tensor;
  scene.initial.v["puck"] = {0, 0, 0, 0, 0, 0};
  Simulation s(scene, law, dt);
  s.options.newton.relative_tolerance = 1e-9;
  s.run_until(0.3);  // to its resting depth
  const double start = s.state.time;
  const Vec2 origin = s.state.q.head<2>();
  s.state.v.head<2>() = v0;
  Path path;
  const auto record = [&] {
    path.position.add(s.state.time - start, s.state.q.head<2>() - origin);
    path.velocity.push_back(s.state.v.head<2>());
  };
  record();
  s.run_until(start + duration, record);
  path.turn = 2 * std::abs(s.state.q[6]);  // of the quaternion's z
  return path;
}

Series xy(const std::string& name, const Trajectory& t, LineStyle line = LineStyle::solid, int color = -1) {
  Series s{name, {}, {}, line, false, color};
  const std::size_t stride = std::max<std::size_t>(1, t.x.size() / 400);
  for (std::size_t i = 0; i < t.x.size(); i += stride) s.x.push_back(t.x[i][0]), s.y.push_back(t.x[i][1]);
  s.x.push_back(t.x.back()[0]), s.y.push_back(t.x.back()[1]);
  return s;
}

void puck(const Run& run, Result* result) {
  const FrictionTensor tensor{0.2, 0.5, Vec3(1, 0, 0)};
  const Vec2 v0(1, 1);
  const Trajectory exact = analytic_path(Vec2(tensor.along, tensor.across).asDiagonal(), v0);
  const double end = exact.time.back();
  std::vector<Series> paths;
  const double dt = 1e-3;
  for (const Law& law : {kLagged, kSimilar, kRegularized}) {
    const Path path = simulate(law.law, dt, tensor, v0, 1.2 * end);
    paths.push_back(xy(law.name, path.position));
    const double off = (path.position.x.back() - exact.x.back()).norm(), length = exact.x.back().norm();
    result->claim(fmt::format("{}: where the puck stops, dt = 1 ms", law.name),
                  fmt::format("({:.4f}, {:.4f}) m, analytic", exact.x.back()[0], exact.x.back()[1]),
                  fmt::format("({:.4f}, {:.4f}) m", path.position.x.back()[0], path.position.x.back()[1]),
                  off < 5e-3 * length);
    // v_x = v_y^e while it slides, well above the stiction tolerance.
    double worst = 0;
    for (const Vec2& v : path.velocity) {
      if (v.y() > 0.01) worst = std::max(worst, std::abs(v.x() - std::pow(v.y(), 0.16)));
    }
    result->claim(fmt::format("{}: v_x = v_y^(mu_x/mu_y)^2 on the way", law.name), "exact",
                  fmt::format("within {:.1e} m/s", worst), worst < 0.02);
    result->claim(fmt::format("{}: the puck does not turn", law.name), "0 rad as dt goes to 0",
                  fmt::format("{:.1e} rad", path.turn), path.turn < 0.01);
  }
  paths.push_back(xy("analytic", exact, LineStyle::dashed, Series::kGray));  // over the others
  result->figure(
      "path", "Path of the puck, thrown at 45 degrees, grain along x: mu_x = 0.2, mu_y = 0.5",
      draw_plot(
          paths,
          {720, 420, "a puck on brushed metal", "x, along the grain [m]", "y [m]", false, false, {}, {}}));
  const std::vector<double> steps =
      run.is_short ? std::vector<double>{4e-3, 1e-3} : std::vector<double>{8e-3, 4e-3, 2e-3, 1e-3, 5e-4};
  Series error{"Lagged", steps, {}, LineStyle::solid, true};
  for (const double d : steps) {
    const Path path = simulate(ContactLaw::lagged, d, tensor, v0, end);
    error.y.push_back(distance(path.position, exact));
  }
  const double order = fitted_order(steps, error.y);
  result->claim("order of the path's error, Lagged", "1", fmt::format("{:.2f}", order),
                order > 0.8 && order < 1.3);
  result->figure(
      "order", "Error of the puck's path against the time step",
      draw_plot({error}, {720, 360, "error of the path", "time step [s]", "e_q [m]", true, true, {}, {}}));
}

void matchstick(const Run& run, Result* result) {
  const double mu = 0.35, along = 0.2, across = 0.5;
  const Vec2 v0(1, 1);
  const std::vector<double> angles =
      run.is_short ? std::vector<double>{0, 45, 90} : std::vector<double>{0, 22.5, 45, 67.5, 90};
  std::vector<Series> paths;
  Table table{"matchstick",
              "Matchstick: where the puck stops against the angle between the structures of puck and table",
              {"angle [deg]", "mu_t", "mu_b", "analytic [m]", "simulated [m]"},
              {},
              true};
  double worst = 0, bend_first = 0, bend_last = 0;
  for (const double degrees : angles) {
    const double angle = degrees * std::numbers::pi / 180;
    const Vec2 s_table(1, 0), s_puck(std::cos(angle), std::sin(angle));
    const Mat2 M = matchstick_tensor(s_table, s_puck, mu, along, across);
    const Eigen::SelfAdjointEigenSolver<Mat2> eigen(M);
    const Vec2 low = eigen.eigenvectors().col(0);
    const FrictionTensor tensor{eigen.eigenvalues()[0], eigen.eigenvalues()[1], Vec3(low.x(), low.y(), 0)};
    const Trajectory exact = analytic_path(M, v0);
    const Path path = simulate(ContactLaw::lagged, 1e-3, tensor, v0, 1.2 * exact.time.back());
    const VecX &e = exact.x.back(), &p = path.position.x.back();
    worst = std::max(worst, (e - p).norm() / e.norm());
    const double bend = std::atan2(p[1], p[0]) * 180 / std::numbers::pi - 45;
    (degrees == 0 ? bend_first : bend_last) = bend;
    paths.push_back(xy(fmt::format("{:g} degrees", degrees), path.position));
    table.rows.push_back({fmt::format("{:g}", degrees), fmt::format("{:.3f}", tensor.along),
                          fmt::format("{:.3f}", tensor.across), fmt::format("({:.4f}, {:.4f})", e[0], e[1]),
                          fmt::format("({:.4f}, {:.4f})", p[0], p[1])});
  }
  result->claim("Matchstick: stopping points for all angles", "analytic",
                fmt::format("within {:.2f} %", 100 * worst), worst < 5e-3);
  result->claim("Matchstick: parallel structures bend the path, crossed ones do not",
                "anisotropic; isotropic",
                fmt::format("{:.1f} degrees; {:.2f} degrees", bend_first, bend_last),
                bend_first < -5 && std::abs(bend_last) < 0.1);
  result->figure(
      "matchstick",
      "Paths of a puck for several angles between its structure and that of the table (Matchstick model)",
      draw_plot(paths, {720,
                        420,
                        "Matchstick model: angle between the structures",
                        "x [m]",
                        "y [m]",
                        false,
                        false,
                        {},
                        {}}));
  result->tables.push_back(table);
}

// A sawtooth table, a smooth puck, pushed with and against the teeth by tilting gravity.
void texture(Result* result) {
  std::vector<Vec3> sawtooth, smooth = {Vec3(0, 0, 1)};
  for (int i = 0; i < 4; ++i) {  // long gentle flanks and short steep ones, 4 to 1
    sawtooth.push_back(Vec3(-std::sin(0.25), 0, std::cos(0.25)));
  }
  sawtooth.push_back(Vec3(std::sin(1.1), 0, std::cos(1.1)));
  const DirectionalFriction friction = texture_friction(smooth, sawtooth);
  const double tilt = 10 * std::numbers::pi / 180;
  double travelled[2];
  for (const int way : {0, 1}) {
    const double sign = way == 0 ? 1 : -1;
    const Mat2 M = texture_tensor(friction, Vec2(sign, 0));
    Scene scene = shipped_scene("anisotropic_puck");
    scene.materials[0].friction_tensor = FrictionTensor{M(0, 0), M(1, 1), Vec3(1, 0, 0)};
    scene.options.gravity = kGravity * Vec3(sign * std::sin(tilt), 0, -std::cos(tilt));
    scene.initial.v["puck"] = {0, 0, 0, 0, 0, 0};
    Simulation s(scene, ContactLaw::lagged, 1e-3);
    s.run_until(1);
    travelled[way] = sign * s.state.q[0];
  }
  const double slides = 0.5 * kGravity * (std::sin(tilt) - friction.plus_x * std::cos(tilt));
  result->claim(
      "texture: on a slope of 10 degrees a sawtooth lets the puck slide one way",
      fmt::format("g (sin a - mu cos a) t^2/2 = {:.3f} m in 1 s, mu = {:.3f}", slides, friction.plus_x),
      fmt::format("{:.3f} m", travelled[0]), std::abs(travelled[0] - slides) < 0.02 * slides);
  result->claim("texture: and holds it the other way",
                fmt::format("mu = {:.3f} > tan a = {:.3f}: sticks", friction.minus_x, std::tan(tilt)),
                fmt::format("{:.5f} m", travelled[1]),
                travelled[1] < 1e-3 && friction.minus_x > std::tan(tilt));
}

}  // namespace

Result anisotropic_friction(const Run& run) {
  Result result;
  puck(run, &result);
  run.tell(0.5, "Matchstick");
  matchstick(run, &result);
  run.tell(0.9, "texture");
  texture(&result);
  result.remarks.push_back(
      "SAP is isotropic (of a tensor it takes the root mean square) and is left out. The generators are in "
      "`capstan/laws/anisotropy.h`; a tensor cannot tell a direction from its opposite, so textures take the "
      "tensor of "
      "the side that slips.");
  return result;
}

}  // namespace capstan::experiments
