#include <algorithm>
#include <cmath>
#include <numbers>

#include "bench/gauntlet/gauntlet.h"
#include "capstan/math/rotation.h"

namespace capstan::gauntlet {
namespace {

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

std::size_t body_index(const Task& task, const std::string& name) {
  const std::vector<Body>& bodies = task.scene.bodies;
  std::size_t i = 0;
  while (i < bodies.size() && bodies[i].name != name) ++i;
  if (i < bodies.size()) return i;
  while (i < task.num_recorded() && task.probes[i - bodies.size()].name != name) ++i;
  return i;
}

Vec3 point_position(const BodyState& s, const Vec3& point) {
  return s.position + rotate(s.quat_wxyz, point);
}
Vec3 point_velocity(const BodyState& s, const Vec3& point) {
  return s.velocity + cross(s.angular, rotate(s.quat_wxyz, point));
}
// Angle between the body's z axis and the world's.
double tilt(const BodyState& s) {
  return std::acos(std::clamp(rotate(s.quat_wxyz, Vec3(0, 0, 1)).z(), -1.0, 1.0));
}

// Energy and momentum of all bodies with the masses of the scene; momentum of whole rods and soft bodies,
// too.
struct Sum {
  double kinetic = 0, gravity = 0;
  Vec3 linear = Vec3::Zero(), angular = Vec3::Zero();
};
Sum sum_of(const Task& task, const std::vector<Inertia>& inertias, std::span<const BodyState> bodies) {
  Sum sum;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Inertia& I = inertias[i];
    const BodyState& s = bodies[i];
    if (i >= task.scene.bodies.size()) {
      sum.linear += I.mass * s.velocity;
      sum.angular += I.mass * (cross(s.position, s.velocity) + s.angular);
      continue;
    }
    const Vec3 c = point_position(s, I.com), v = point_velocity(s, I.com);
    const Mat3 R = rotation_matrix(s.quat_wxyz);
    const Vec3 spin = R * (I.about_com * (R.transpose() * s.angular));
    sum.kinetic += 0.5 * I.mass * v.squaredNorm() + 0.5 * s.angular.dot(spin);
    sum.gravity -= I.mass * task.scene.options.gravity.dot(c);
    sum.linear += I.mass * v;
    sum.angular += I.mass * cross(c, v) + spin;
  }
  return sum;
}

double wrapped(double angle) {
  return std::remainder(angle, 2 * std::numbers::pi);
}

// The quantity at every sample of [from, to]; `time` are those samples' times.
std::vector<double> history(const Task& task, const Trajectory& trajectory, std::vector<double>* time) {
  const Measure& m = task.measure;
  const std::string& q = m.quantity;
  const std::size_t body = body_index(task, m.body), other = body_index(task, m.relative_to);
  std::vector<Inertia> inertias;
  for (std::size_t i = 0; i < trajectory.num_bodies; ++i) inertias.push_back(task.inertia(i));
  const bool relative = !m.relative_to.empty();
  Vec3 first = Vec3::Zero(), first_momentum = Vec3::Zero();
  Vec4 last_quat = identity_quat();
  double angle = 0, azimuth = 0;
  std::vector<double> values;
  for (std::size_t k = 0; k < trajectory.time.size(); ++k) {
    const double t = trajectory.time[k];
    if (t < m.from - 1e-9 || t > m.to + 1e-9) continue;
    const bool is_first = values.empty();
    const std::span<const BodyState> bodies = trajectory.at(k);
    double x = 0;
    if (q == "kinetic" || q == "energy" || q == "momentum" || q == "angular_momentum") {
      const Sum sum = sum_of(task, inertias, bodies);
      const Vec3 momentum = q == "momentum" ? sum.linear : sum.angular;
      if (is_first) first_momentum = momentum;
      if (q == "kinetic") x = sum.kinetic;
      if (q == "energy") x = sum.kinetic + sum.gravity;
      if (q[0] == 'm' || q[0] == 'a') x = (momentum - first_momentum).norm();
    } else if (q == "tilted") {
      for (std::size_t i = 0; i < task.scene.bodies.size(); ++i) {
        const bool counts = task.scene.bodies[i].name.starts_with(m.bodies);
        x += counts && tilt(bodies[i]) > m.value;
      }
    } else {
      const BodyState& s = bodies[body];
      Vec3 p = point_position(s, m.point), v = point_velocity(s, m.point), w = s.angular;
      if (relative && q != "gap") {
        p -= bodies[other].position, v -= bodies[other].velocity, w -= bodies[other].angular;
      }
      if (is_first) first = p;
      if (q == "x" || q == "y" || q == "z") x = p[q[0] - 'x'];
      if (q == "vx" || q == "vy" || q == "vz") x = v[q[1] - 'x'];
      if (q == "wx" || q == "wy" || q == "wz") x = w[q[1] - 'x'];
      if (q == "speed") x = v.norm();
      if (q == "spin") x = w.norm();
      if (q == "displacement") x = (p - first).norm();
      if (q == "gap") x = (p - bodies[other].position).norm();
      if (q == "tilt") x = tilt(s);
      if (q == "azimuth") {
        const double now = std::atan2(p.y(), p.x());
        x = is_first ? now : angle + wrapped(now - azimuth);
        angle = x, azimuth = now;
      }
      if (q == "turn") {
        // From sample to sample, so that turns beyond pi add up.
        if (!is_first) {
          const Vec3 phi = quat_log(quat_multiply(s.quat_wxyz, quat_conjugate(last_quat)));
          angle += phi.dot(m.axis.normalized());
        }
        last_quat = s.quat_wxyz;
        x = angle;
      }
    }
    values.push_back(x);
    time->push_back(t);
  }
  return values;
}

// When the history gets above `value` (or below, with sign -1), the n-th time; linear between samples.
double crossing(const std::vector<double>& time, const std::vector<double>& x, double value, double sign,
                int nth) {
  for (std::size_t k = 0; k + 1 < x.size(); ++k) {
    const double a = sign * (x[k] - value), b = sign * (x[k + 1] - value);
    if (!(a <= 0 && b > 0)) continue;
    if (--nth == 0) return time[k] + (time[k + 1] - time[k]) * (-a / (b - a));
  }
  return kNever;
}

}  // namespace

double measure(const Task& task, const Trajectory& trajectory) {
  std::vector<double> time;
  const std::vector<double> x = history(task, trajectory, &time);
  if (x.empty()) return kNever;
  for (const double value : x) {
    if (!std::isfinite(value)) return kNever;
  }
  const Measure& m = task.measure;
  if (m.over == "end") return x.back();
  if (m.over == "max") return *std::max_element(x.begin(), x.end());
  if (m.over == "min") return *std::min_element(x.begin(), x.end());
  if (m.over == "change") return x.back() - x.front();
  if (m.over == "mean") {
    double sum = 0;
    for (const double value : x) sum += value;
    return sum / static_cast<double>(x.size());
  }
  if (m.over == "largest_change") {
    double largest = 0;
    for (const double value : x) largest = std::max(largest, std::abs(value - x.front()));
    return largest;
  }
  return crossing(time, x, m.value, m.over == "time_above" ? 1 : -1, m.nth);
}

Verdict judge(const Task& task, const Trajectory& trajectory, const std::string& trouble) {
  Verdict verdict;
  verdict.trouble = trouble;
  verdict.measured = trouble.empty() ? measure(task, trajectory) : kNever;
  verdict.error = verdict.measured - task.answer;
  verdict.pass = std::abs(verdict.error) <= task.tolerance;  // not where it is NaN
  return verdict;
}

Trajectory run(const Task& task, double dt, Runner* runner, std::string* trouble) {
  Trajectory trajectory;
  trajectory.num_bodies = task.num_recorded();
  const auto record = [&](double time) {
    trajectory.time.push_back(time);
    trajectory.states.resize(trajectory.states.size() + trajectory.num_bodies);
    runner->get(
        {trajectory.states.data() + trajectory.states.size() - trajectory.num_bodies, trajectory.num_bodies});
  };
  const long num_steps = std::lround(task.duration() / dt);
  try {
    record(0);
    for (long k = 1; k <= num_steps; ++k) {
      runner->step();
      record(static_cast<double>(k) * dt);
    }
  } catch (const CannotExpress&) {
    throw;
  } catch (const std::exception& error) {
    *trouble = error.what();
  }
  return trajectory;
}

}  // namespace capstan::gauntlet
