#include "bench/peers/judge.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "bench/peers/capstan_scene.h"
#include "capstan/contacts/contacts.h"
#include "capstan/math/rotation.h"
#include "capstan/model/model.h"
#include "capstan/state/state.h"

namespace bench {
namespace {

constexpr double kCreepSeconds = 0.5;

struct Reader {
  std::FILE* file;
  std::size_t num_bodies;

  std::vector<Pose> read(long step) const {
    std::vector<Pose> poses(num_bodies);
    const long offset = step * static_cast<long>(num_bodies * sizeof(Pose));
    if (std::fseek(file, offset, SEEK_SET) != 0 ||
        std::fread(poses.data(), sizeof(Pose), num_bodies, file) != num_bodies) {
      throw std::runtime_error("the recording of poses cannot be read back");
    }
    return poses;
  }
};

capstan::Vec3 position(const Pose& pose) {
  return {pose.position[0], pose.position[1], pose.position[2]};
}
capstan::Vec4 quat(const Pose& pose) {
  return {pose.quat_wxyz[0], pose.quat_wxyz[1], pose.quat_wxyz[2], pose.quat_wxyz[3]};
}

bool all_finite(const std::vector<Pose>& poses) {
  return std::all_of(poses.begin(), poses.end(),
                     [](const Pose& p) { return position(p).allFinite() && quat(p).allFinite(); });
}

// Kinetic energy from the difference of two poses, gravity's at the second one.
double energy(const capstan::Model& model, const std::vector<int>& links, const std::vector<Pose>& before,
              const std::vector<Pose>& now, double dt) {
  double sum = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const capstan::Link& link = model.links[links[i]];
    const capstan::Vec3 com0 = position(before[i]) + capstan::rotate(quat(before[i]), link.com);
    const capstan::Vec3 com1 = position(now[i]) + capstan::rotate(quat(now[i]), link.com);
    const capstan::Vec3 v = (com1 - com0) / dt;
    const capstan::Vec3 w_L =
        capstan::quat_log(capstan::quat_multiply(capstan::quat_conjugate(quat(before[i])), quat(now[i]))) /
        dt;
    sum += 0.5 * link.mass * v.squaredNorm() + 0.5 * w_L.dot(link.inertia * w_L) -
           link.mass * model.options.gravity.dot(com1);
  }
  return sum;
}

capstan::Vec3 vec(const Vec& v) {
  return {v[0], v[1], v[2]};
}

struct Gap {
  double mean = 0, largest = 0;  // [m]
};

// How far ball joints have come apart; the bodies are not turned at the start.
Gap joint_gap(const Scene& scene, const std::vector<Pose>& start, const std::vector<Pose>& now) {
  Gap result;
  const auto anchor = [&](int body, const Vec& p) -> capstan::Vec3 {
    if (body < 0) return vec(p);
    return position(now[body]) + capstan::rotate(quat(now[body]), vec(p) - position(start[body]));
  };
  for (const BallJoint& joint : scene.joints) {
    const double gap = (anchor(joint.a, joint.anchor) - anchor(joint.b, joint.anchor)).norm();
    result.mean += gap / static_cast<double>(scene.joints.size());
    result.largest = std::max(result.largest, gap);
  }
  return result;
}

std::vector<bool> find_balls(const capstan::Model& model, const std::vector<int>& links) {
  std::vector<bool> ball(links.size(), true);
  for (const capstan::ModelShape& shape : model.shapes) {
    const auto link = std::find(links.begin(), links.end(), shape.link);
    if (link != links.end() && !std::holds_alternative<capstan::Sphere>(shape.shape)) {
      ball[link - links.begin()] = false;
    }
  }
  return ball;
}

struct Overlap {
  double mean = 0, deepest = 0;  // [m]
};

Overlap overlap(const capstan::Model& model, const std::vector<int>& links, const std::vector<Pose>& poses,
                capstan::Placement* placement, capstan::CollisionWorkspace* workspace,
                capstan::Contacts* contacts) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    placement->X_WL[links[i]] = {capstan::rotation_matrix(quat(poses[i])), position(poses[i])};
  }
  capstan::collide(model, *placement, workspace, contacts);
  Overlap result;
  int overlapping = 0;
  for (const double distance : contacts->distance) {
    if (distance >= 0) continue;
    ++overlapping;
    result.mean -= distance;
    result.deepest = std::max(result.deepest, -distance);
  }
  if (overlapping > 0) result.mean /= overlapping;
  return result;
}

}  // namespace

Verdict judge(const Scene& scene, std::FILE* recording, long steps) {
  const capstan::Model model = capstan::compile(make_capstan_scene(scene, {}));
  capstan::Placement placement = capstan::make_placement(model);
  capstan::calc_placement(model, capstan::initial_state(model).q, &placement);
  capstan::CollisionWorkspace workspace = capstan::make_collision_workspace(model);
  capstan::Contacts contacts;
  std::vector<int> links;
  for (const std::string& name : scene.tracked) links.push_back(model.bodies[model.find_body(name)].link);
  const Reader reader{recording, scene.tracked.size()};

  Verdict verdict;
  const std::vector<Pose> start = reader.read(0);
  std::vector<Pose> now = start;
  const double e_start = energy(model, links, start, start, scene.dt);
  double e = e_start, e_min = e_start, x_speed_half = 0;
  double height_sum = 0;
  verdict.height_min = INFINITY, verdict.height_max = -INFINITY;
  for (long k = 1; k <= steps; ++k) {
    const std::vector<Pose> before = std::exchange(now, reader.read(k));
    if (!all_finite(now)) {
      verdict.finite = false;
      return verdict;
    }
    const Overlap o = overlap(model, links, now, &placement, &workspace, &contacts);
    verdict.penetration_mean = o.mean;
    verdict.penetration_peak = std::max(verdict.penetration_peak, o.deepest);
    const Gap gap = joint_gap(scene, start, now);
    verdict.joint_gap_mean = gap.mean;
    verdict.joint_gap_peak = std::max(verdict.joint_gap_peak, gap.largest);
    e = energy(model, links, before, now, scene.dt);
    verdict.energy_gain = std::max(verdict.energy_gain, e - e_min);
    e_min = std::min(e_min, e);
    const double height = now[0].position[2] - start[0].position[2];
    height_sum += height;
    verdict.height_min = std::min(verdict.height_min, height);
    verdict.height_max = std::max(verdict.height_max, height);
    const double x_speed = (now[0].position[0] - before[0].position[0]) / scene.dt;
    if (k == steps / 2) x_speed_half = x_speed;
    if (k == steps)
      verdict.acceleration = (x_speed - x_speed_half) / (scene.dt * static_cast<double>(steps - steps / 2));
  }
  verdict.height_mean = height_sum / static_cast<double>(std::max(1L, steps));
  verdict.energy_released = e_start - e;
  for (int i = 0; i < 3; ++i) verdict.top_shift[i] = now.back().position[i] - start.back().position[i];

  const long back = std::clamp(std::lround(kCreepSeconds / scene.dt), 1L, steps);
  const std::vector<Pose> earlier = reader.read(steps - back);
  const std::vector<bool> is_ball = find_balls(model, links);
  const bool only_balls = std::find(is_ball.begin(), is_ball.end(), false) == is_ball.end();
  int counted = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (is_ball[i] && !only_balls) continue;
    const double creep =
        (position(now[i]) - position(earlier[i])).norm() / (scene.dt * static_cast<double>(back));
    ++counted;
    verdict.creep_mean += creep;
    verdict.creep_max = std::max(verdict.creep_max, creep);
  }
  verdict.creep_mean /= std::max(1, counted);
  return verdict;
}

}  // namespace bench
