// A trot for the shipped quadruped (scenes/quadruped.yaml): diagonal pairs of legs swing in turn, the feet
// that stand are drawn back under the trunk.
//
//   foot of a leg from its hip, in axes of the trunk, at the phase s of its stance or swing:
//     stance: it is drawn back at the velocity v that the trunk should have over it, z = -height
//     swing: from where it was lifted to v T / 2 + k (v_is - v), T the time of a stance, by a smooth
//            curve of s; z = -height + clearance sin^2(pi s)
//
// The servos of the joints get the angles that bring the feet there; as these do not know of the trunk's
// tilt, they push it level with the ground under its feet. To them come torques -J^T f, by which the feet
// that stand carry the weight. Turning and moving sideways under way keep heading and course.
//
// Limits: nothing is known of the ground ahead. Steps are blind; hills must be lower than the clearance.
// Source of the rule where feet come down: Raibert, Legged Robots That Balance, 1986.
#pragma once

#include <array>

#include "capstan/dynamics/forces.h"
#include "capstan/state/state.h"

namespace capstan::experiments {

struct TrotOptions {
  double speed = 0.4;         // [m/s] forwards
  double period = 0.5;        // [s] of one cycle of all legs
  double swing = 0.45;        // part of it that a leg is in the air
  double height = 0.27;       // [m] of the hips above the feet's centres
  double clearance = 0.07;    // [m]
  double begin = 0.5;         // [s] it stands before it walks
  double catch_up = 0.08;     // [s] how far feet go out where the trunk is faster than it should be
  double heading_rate = 1.5;  // [1/s] of the heading's error
  double course_rate = 0.6;   // [1/s] of the distance from y = 0
};

class Trot {
 public:
  // Throws InputError if the model has not the joints of the quadruped.
  Trot(const Model& model, const TrotOptions& options);

  // The controls of the servos for the state's time, and the torques that carry the weight.
  void control(const Model& model, State* state, Input* input);

  double tilt() const { return tilt_; }  // [rad] of the trunk's z axis from the vertical, at the last control

 private:
  struct Leg {
    double front, side;                 // 1 or -1: of the trunk
    std::array<int, 3> q, v, actuator;  // abduction, hip, knee
    Vec3 target = Vec3::Zero();         // [m] of the foot from the abduction joint
    Vec3 lifted = Vec3::Zero();         // [m] where its swing began
    bool swings = false;
  };
  TrotOptions options_;
  std::array<Leg, 4> legs_;
  int root_q_ = 0, root_v_ = 0;
  double weight_ = 0, tilt_ = 0, last_time_ = -1;
};

// Of a leg on the side `side` (1 left, -1 right): where the centre of its foot is, from the abduction joint,
// in axes of the trunk; and the angles of abduction, hip and knee (knee bent backwards) for such a place.
// Places out of reach give the stretched leg that points there.
Vec3 place_foot(double side, const Vec3& angles);
Vec3 find_angles(double side, const Vec3& foot);

}  // namespace capstan::experiments
