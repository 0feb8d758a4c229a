#include "experiments/trot.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "capstan/base/diagnostics.h"
#include "capstan/math/rotation.h"

namespace capstan::experiments {
namespace {

// scenes/quadruped.urdf [m]
constexpr double kFront = 0.19, kSide = 0.049;  // of the abduction joints, from the trunk's middle
constexpr double kHipOut = 0.062, kThigh = 0.209, kShank = 0.195;
constexpr double kGravity = 9.81;
constexpr const char* kLegs[] = {"fl", "fr", "rl", "rr"};
constexpr const char* kJoints[] = {"_abduction", "_hip", "_knee"};

Mat3 place_foot_rates(double side, const Vec3& angles) {
  constexpr double kStep = 1e-6;
  Mat3 J;
  for (int k = 0; k < 3; ++k) {
    const Vec3 h = kStep * Vec3::Unit(k);
    J.col(k) = (place_foot(side, angles + h) - place_foot(side, angles - h)) / (2 * kStep);
  }
  return J;
}

double smooth(double s) {  // 0 to 1, at rest at both ends
  return s * s * (3 - 2 * s);
}

}  // namespace

Vec3 place_foot(double side, const Vec3& angles) {
  const double x = -kThigh * std::sin(angles[1]) - kShank * std::sin(angles[1] + angles[2]);
  const double z = -kThigh * std::cos(angles[1]) - kShank * std::cos(angles[1] + angles[2]);
  const double y = side * kHipOut, c = std::cos(angles[0]), s = std::sin(angles[0]);
  return {x, c * y - s * z, s * y + c * z};
}

Vec3 find_angles(double side, const Vec3& foot) {
  const double y = side * kHipOut;
  const double down = -std::sqrt(std::max(foot.y() * foot.y() + foot.z() * foot.z() - y * y, 1e-6));
  const double abduction = std::atan2(foot.z(), foot.y()) - std::atan2(down, y);
  const double reach = kThigh + kShank - 1e-4;
  const double length = std::clamp(std::hypot(foot.x(), down), 0.05, reach);
  const double cosine = (length * length - kThigh * kThigh - kShank * kShank) / (2 * kThigh * kShank);
  const double knee = -std::acos(std::clamp(cosine, -1.0, 1.0));
  const double hip =
      std::atan2(-foot.x(), -down) - std::atan2(kShank * std::sin(knee), kThigh + kShank * std::cos(knee));
  return {std::remainder(abduction, 2 * std::numbers::pi), hip, knee};
}

Trot::Trot(const Model& model, const TrotOptions& options) : options_(options) {
  const auto joint = [&](const std::string& name) {
    const int j = model.find_joint(name);
    if (j < 0) throw InputError({}, "the trot needs a joint '" + name + "'", "take the shipped quadruped");
    return j;
  };
  const int root = joint("root");
  root_q_ = model.joints[root].q;
  root_v_ = model.joints[root].v;
  for (const ModelBody& body : model.bodies) weight_ += body.mass * kGravity;
  for (int l = 0; l < 4; ++l) {
    Leg& leg = legs_[l];
    leg.front = l < 2 ? 1 : -1;
    leg.side = l % 2 == 0 ? 1 : -1;
    for (int k = 0; k < 3; ++k) {
      const int j = joint(std::string(kLegs[l]) + kJoints[k]);
      leg.q[k] = model.joints[j].q;
      leg.v[k] = model.joints[j].v;
      leg.actuator[k] = 3 * l + k;  // in the order of the scene
    }
    leg.target = Vec3(0, leg.side * kHipOut, -options_.height);
  }
}

void Trot::control(const Model& model, State* state, Input* input) {
  const Mat3 R_WB = rotation_matrix(state->q.segment<4>(root_q_ + 3));
  const double yaw = std::atan2(R_WB(1, 0), R_WB(0, 0));
  tilt_ = std::acos(std::clamp(R_WB(2, 2), -1.0, 1.0));
  const Vec2 ahead(std::cos(yaw), std::sin(yaw)), left(-ahead.y(), ahead.x());
  const Vec2 velocity = state->v.segment<2>(root_v_);
  const Vec2 is(velocity.dot(ahead), velocity.dot(left));
  const double dt = last_time_ < 0 ? 0 : state->time - last_time_;
  last_time_ = state->time;

  const bool walks = state->time >= options_.begin;
  const Vec2 course = walks ? Vec2(options_.speed, std::clamp(-options_.course_rate * state->q[root_q_ + 1],
                                                              -0.3 * options_.speed, 0.3 * options_.speed))
                            : Vec2(0, 0);
  const double turn = walks ? std::clamp(-options_.heading_rate * yaw, -1.0, 1.0) : 0;
  const double stance_time = options_.period * (1 - options_.swing);
  int standing = 0;
  for (int l = 0; l < 4; ++l) {
    Leg& leg = legs_[l];
    const double cycles =
        (state->time - options_.begin) / options_.period + (leg.front * leg.side > 0 ? 0 : 0.5);
    const double phase = cycles - std::floor(cycles);
    const Vec2 hip(kFront * leg.front, (kSide + kHipOut) * leg.side);
    const Vec2 drawn = course + turn * Vec2(-hip.y(), hip.x());  // [m/s] of the trunk over this foot
    const bool swings = walks && phase < options_.swing;
    if (swings) {
      if (!leg.swings) leg.lifted = leg.target;
      const double s = phase / options_.swing;
      const Vec2 down =
          Vec2(0, leg.side * kHipOut) + 0.5 * stance_time * drawn + options_.catch_up * (is - course);
      leg.target.head<2>() = (1 - smooth(s)) * leg.lifted.head<2>() + smooth(s) * down;
      leg.target.z() = -options_.height + options_.clearance * std::pow(std::sin(std::numbers::pi * s), 2);
    } else {
      leg.target.head<2>() -= dt * drawn;
      leg.target.z() = -options_.height;
      ++standing;
    }
    leg.swings = swings;
  }
  input->generalized_force = VecX::Zero(model.num_velocities());
  for (const Leg& leg : legs_) {
    const Vec3 angles = find_angles(leg.side, leg.target);
    for (int k = 0; k < 3; ++k) state->control[leg.actuator[k]] = angles[k];
    if (leg.swings) continue;
    const Vec3 carried = R_WB.transpose() * Vec3(0, 0, weight_ / standing);
    const Vec3 now(state->q[leg.q[0]], state->q[leg.q[1]], state->q[leg.q[2]]);
    const Vec3 torque = -place_foot_rates(leg.side, now).transpose() * carried;
    for (int k = 0; k < 3; ++k) input->generalized_force[leg.v[k]] = torque[k];
  }
}

}  // namespace capstan::experiments
