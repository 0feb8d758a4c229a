#include "experiments/dual_arm_task.h"

#include <algorithm>
#include <cmath>

#include "capstan/math/rotation.h"
#include "capstan/step/probe.h"

namespace capstan::experiments {
namespace {

constexpr const char* kSides[] = {"left", "right"};
constexpr double kGap = 0.001;                    // [m] from the palm to what it is to hold
constexpr double kClear = 0.14;                   // [m] from there, with the thumb beside it
constexpr double kClosing = 0.6, kOpening = 0.5;  // [s]
constexpr double kHeld = 12;                      // [N] of fingers on a thing that is held
constexpr double kLift = 0.22, kPull = 0.07;      // [m]
constexpr double kStands = 3;                     // [N] of the jar on the table
constexpr double kTilt = 2.2;                     // [rad] of the jar that pours

const Vec3 kAside(0.58, -0.4, 0.5);  // [m] where the right hand waits
const Vec3 kLeftAlong(1, 0, 0), kLeftOut(0, -1, 0);
const Vec3 kRightAlong(0.5, 0.8660254037844386, 0), kRightOut(0.8660254037844386, -0.5, 0);

VecX start_of_arm(int side) {
  VecX q(kArmJoints);
  if (side == 0)
    q << -0.01, 1.36, -0.45, 1.57, -0.1, -1.39, -1.11;
  else
    q << -0.23, 0.37, -0.17, 1.77, -1.45, -1.49, -0.57;
  return q;
}

double smooth(double x) {
  return x * x * (3 - 2 * x);
}

Transform raised(const Transform& X, const Vec3& by) {
  return {X.R, X.p + by};
}

bool begins_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

}  // namespace

ArmCommand::ArmCommand(const char* side, const VecX& start)
    : palm_(std::string(side) + "_palm"),
      model_(compile(make_arm(side))),
      state_(initial_state(model_)),
      rest_(start) {
  state_.q = start;
  pose_ = from_ = to_ = frame_pose(model_, state_, palm_);
}

void ArmCommand::go(const Transform& goal, double seconds) {
  from_ = pose_, to_ = goal, seconds_ = seconds, elapsed_ = 0;
  if (seconds > 0) return;
  pose_ = goal;
  follow(500);
}

void ArmCommand::advance(double dt) {
  elapsed_ = std::min(elapsed_ + dt, seconds_);
  if (seconds_ <= 0) return;
  const double part = smooth(elapsed_ / seconds_);
  const Vec3 turn = quat_log(quat_from_matrix(to_.R * from_.R.transpose()));
  pose_.p = from_.p + part * (to_.p - from_.p);
  pose_.R = rotation_matrix(quat_exp(part * turn)) * from_.R;
  follow(3);
}

void ArmCommand::follow(int iterations) {
  constexpr double kDamp = 1e-4, kFree = 0.05;
  for (int i = 0; i < iterations; ++i) {
    const Transform X = frame_pose(model_, state_, palm_);
    Vec6 e;
    e << quat_log(quat_from_matrix(pose_.R * X.R.transpose())), pose_.p - X.p;
    error_ = std::max(0.1 * e.head<3>().norm(), e.tail<3>().norm());
    const MatX J = frame_jacobian(model_, state_, palm_);
    const Mat6 JJ = J * J.transpose() + kDamp * Mat6::Identity();
    const VecX home = kFree * (rest_ - state_.q);
    VecX dq = home + J.transpose() * JJ.ldlt().solve(e - J * home);
    const double most = dq.cwiseAbs().maxCoeff();
    if (most > 0.2) dq *= 0.2 / most;
    state_.q += dq;
    for (int k = 0; k < kArmJoints; ++k) {
      const Range& limits = model_.joints[k].limits[0];
      state_.q[k] = std::clamp(state_.q[k], limits.lower, limits.upper);
    }
  }
}

Transform palm_at(const Vec3& centre, const Vec3& f, const Vec3& n, double radius) {
  Transform X;
  X.R.col(0) = n, X.R.col(1) = cross(f, n), X.R.col(2) = f;
  X.p = centre - kGraspAt * f - (radius + kGap) * n;
  return X;
}

DualArm::DualArm(const DualArmOptions& scene, ContactLaw law, const std::function<void(const DualArm&)>& each)
    : s_(make_dual_arm(scene), law),
      each_(each),
      left_("left", start_of_arm(0)),
      right_("right", start_of_arm(1)),
      has_right_(scene.has_right_arm),
      placement_(make_placement(s_.model)) {
  const Vec3 jar = jar_start() + Vec3(0, 0, kGraspHeight);
  left_.go(palm_at(jar - kClear * kLeftOut, kLeftAlong, kLeftOut, kJarRadius), 0);
  right_.go(palm_at(kAside, kRightAlong, kRightOut, kKnobRadius), 0);
  for (int side = 0; side < (has_right_ ? 2 : 1); ++side) {
    controls_[side] = actuator_index(s_.model, joint_of_arm(kSides[side], 0));
    for (int i = 0; i < kArmDofs; ++i) {
      const std::string name =
          i < kArmJoints ? joint_of_arm(kSides[side], i) : joint_of_hand(kSides[side], i - kArmJoints);
      s_.state.q[s_.model.joints[joint_index(s_.model, name)].q] =
          i < kArmJoints ? arm(side).q()[i] : hand_target(i - kArmJoints, 0);
    }
  }
  say("begin");
}

Transform DualArm::pose(const std::string& body) const {
  return frame_pose(s_.model, s_.state, body);
}

double DualArm::force_between(const std::string& a, const std::string& b) const {
  double sum = 0;
  for (const ContactForce& f : forces_) {
    const std::string& first = s_.model.bodies[s_.model.shapes[f.shape_a].body].name;
    const std::string& second = s_.model.bodies[s_.model.shapes[f.shape_b].body].name;
    if ((begins_with(first, a) && begins_with(second, b)) ||
        (begins_with(first, b) && begins_with(second, a)))
      sum += f.normal_force;
  }
  return sum;
}

void DualArm::say(const std::string& name) {
  events_.push_back({s_.state.time, name});
}

void DualArm::step() {
  const double dt = s_.options.dt;
  for (int side = 0; side < (has_right_ ? 2 : 1); ++side) {
    arm(side).advance(dt);
    worst_following_ = std::max(worst_following_, arm(side).error());
    closed_[side] = std::clamp(closed_[side] + closing_[side] * dt, 0.0, 1.0);
    for (int i = 0; i < kArmDofs; ++i)
      s_.state.control[controls_[side] + i] =
          i < kArmJoints ? arm(side).q()[i] : hand_target(i - kArmJoints, closed_[side]);
  }
  s_.step();
  calc_contact_forces(s_.workspace, &forces_);
  each_(*this);
}

void DualArm::wait(double seconds) {
  const double end = s_.state.time + seconds - 0.5 * s_.options.dt;
  while (s_.state.time < end) step();
}

void DualArm::wait_for_arms() {
  while (!left_.arrived() || !right_.arrived()) step();
}

void DualArm::grasp(int side, const std::string& thing) {
  closing_[side] = 1 / kClosing;
  wait(kClosing);
  for (int i = 0; i < 200 && force_between(std::string(kSides[side]) + "_", thing) < kHeld; ++i) step();
  wait(0.2);
}

void DualArm::release(int side) {
  closing_[side] = -1 / kOpening;
  wait(kOpening + 0.1);
}

void DualArm::lift_jar() {
  say("reach for the jar");
  wait(0.3);
  const Vec3 jar = jar_start() + Vec3(0, 0, kGraspHeight);
  left_.go(palm_at(jar, kLeftAlong, kLeftOut, kJarRadius), 1);
  wait_for_arms();
  say("grasp the jar");
  grasp(0, "jar");
  say("lift the jar");
  left_.go(raised(left_.pose(), Vec3(0, 0, kLift)), 1.2);
  wait_for_arms();
  wait(0.2);
}

void DualArm::open_jar() {
  say("reach for the lid");
  const auto knob = [&] { return pose("lid") * Vec3(0, 0, kKnobHeight - kJarHeight); };
  right_.go(palm_at(knob() - kClear * kRightOut, kRightAlong, kRightOut, kKnobRadius), 1.5);
  wait_for_arms();
  right_.go(palm_at(knob(), kRightAlong, kRightOut, kKnobRadius), 0.8);
  wait_for_arms();
  say("grasp the lid");
  grasp(1, "lid");
  say("pull the lid");
  right_.go(raised(right_.pose(), Vec3(0, 0, kPull)), 1);
  wait_for_arms();
  say("lid aside");
  right_.go(palm_at(kAside, kRightAlong, kRightOut, kKnobRadius), 1.5);
  wait_for_arms();
}

void DualArm::pour() {
  say("over the bowl");
  const Transform before = left_.pose();
  const double reach = (kJarHeight - kGraspHeight) * std::sin(kTilt);
  const Vec3 bowl = bowl_start() + Vec3(0, reach, 0.22);
  left_.go(palm_at(bowl, kLeftAlong, kLeftOut, kJarRadius), 1.2);
  wait_for_arms();
  say("pour");
  const Mat3 turn = rotation_about(kLeftAlong, std::cos(kTilt), std::sin(kTilt));
  Transform tilted{turn * left_.pose().R, Vec3::Zero()};
  tilted.p = bowl + turn * (left_.pose().p - bowl);
  left_.go(tilted, 2);
  wait_for_arms();
  wait(1);
  say("turn back");
  left_.go(palm_at(bowl, kLeftAlong, kLeftOut, kJarRadius), 1.5);
  wait_for_arms();
  left_.go(before, 1.2);
  wait_for_arms();
}

void DualArm::close_jar() {
  say("lid over the jar");
  const auto lid_at = [&](double height) {
    const Transform jar = pose("jar"), lid = pose("lid");
    const Vec3 up = jar.R.col(2), now = lid.R.col(2), axis = cross(now, up);
    const double sine = axis.norm(), cosine = now.dot(up);
    Transform goal{lid.R, jar * Vec3(0, 0, kJarHeight + height)};
    if (sine > 1e-9) goal.R = rotation_about(axis / sine, cosine, sine) * lid.R;
    return goal * (inverse(lid) * right_.pose());
  };
  right_.go(lid_at(0.07), 1.5);
  wait_for_arms();
  right_.go(lid_at(0.04), 0.4);
  wait_for_arms();
  say("close the lid");
  right_.go(lid_at(-0.004), 1.5);
  while (!right_.arrived()) step();
  wait(0.3);
  say("release the lid");
  release(1);
  right_.go(raised(right_.pose(), -kClear * kRightOut), 0.8);
  wait_for_arms();
  right_.go(palm_at(kAside, kRightAlong, kRightOut, kKnobRadius), 1);
}

void DualArm::put_down() {
  say("put the jar down");
  const double height = pose("jar").p.z();
  const Vec3 shift = jar_start() - pose("jar").p;
  left_.go(raised(left_.pose(), Vec3(shift.x(), shift.y(), 0.03 - height)), 1.2);
  wait_for_arms();
  left_.go(raised(left_.pose(), Vec3(0, 0, -0.05)), 1.5);
  while (!left_.arrived() && force_between("jar", kWorld) < kStands) step();
  left_.go(left_.pose(), 0.1);
  say("release the jar");
  release(0);
  left_.go(raised(left_.pose(), -kClear * kLeftOut), 1);
  wait_for_arms();
  say("end");
  wait(0.5);
}

}  // namespace capstan::experiments
