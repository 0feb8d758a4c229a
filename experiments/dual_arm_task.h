// The robot of dual_arm_scene.h at work: what its arms and hands are told, step by step.
//
// Arms follow poses of their palms, straight and smooth from one to the next; joints follow by inverse
// kinematics of an arm alone, with damped least squares. Hands are told to open and to close. Where things
// are and what presses on them is known, as if by sensors: hands are closed until they hold, and go down
// until what they hold stands.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "capstan/dynamics/tree.h"
#include "capstan/step/contact_forces.h"
#include "experiments/dual_arm_scene.h"
#include "experiments/simulation.h"

namespace capstan::experiments {

// Inverse kinematics of an arm, and the pose that its palm is told.
class ArmCommand {
 public:
  ArmCommand(const char* side, const VecX& start);

  const Transform& pose() const { return pose_; }  // X_WP
  const VecX& q() const { return state_.q; }
  void go(const Transform& goal, double seconds);
  void advance(double dt);
  bool arrived() const { return elapsed_ >= seconds_; }
  double error() const { return error_; }  // [m] by which the joints miss the pose; a radian counts as 0.1 m

 private:
  void follow(int iterations);

  std::string palm_;
  Model model_;
  State state_;
  VecX rest_;  // where joints go that are free to
  Transform from_, to_, pose_;
  double seconds_ = 0, elapsed_ = 0, error_ = 0;
};

// A palm that holds something round: fingers along f, the thing in front of the palm along n.
Transform palm_at(const Vec3& centre, const Vec3& f, const Vec3& n, double radius);

struct TaskEvent {
  double time = 0;
  std::string name;
};

class DualArm {
 public:
  // `each` is called after every step.
  DualArm(const DualArmOptions& scene, ContactLaw law, const std::function<void(const DualArm&)>& each);

  Simulation& simulation() { return s_; }
  const Simulation& simulation() const { return s_; }
  const std::vector<TaskEvent>& events() const { return events_; }
  const std::vector<ContactForce>& forces() const { return forces_; }  // of the last step
  const std::string& doing() const { return events_.back().name; }
  Transform pose(const std::string& body) const;
  double force_between(const std::string& a, const std::string& b) const;  // [N] normal; prefixes of bodies
  double worst_following() const { return worst_following_; }  // [m] the largest ArmCommand::error()

  // The left hand takes the jar and lifts it.
  void lift_jar();
  // The right one pulls the lid out and takes it aside.
  void open_jar();
  void pour();
  void close_jar();
  void put_down();

 private:
  void say(const std::string& name);
  void step();
  void wait(double seconds);
  void wait_for_arms();
  void grasp(int side, const std::string& thing);
  void release(int side);
  ArmCommand& arm(int side) { return side == 0 ? left_ : right_; }

  Simulation s_;
  std::function<void(const DualArm&)> each_;
  ArmCommand left_, right_;
  double closed_[2] = {0, 0}, closing_[2] = {0, 0};  // [1], [1/s]
  bool has_right_;
  std::vector<TaskEvent> events_;
  std::vector<ContactForce> forces_;
  Placement placement_;
  int controls_[2] = {-1, -1};
  double worst_following_ = 0;
};

}  // namespace capstan::experiments
