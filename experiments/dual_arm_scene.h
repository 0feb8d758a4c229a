// The scene of dual arm manipulation (SAP VI-E): two arms with hands, a jar with a lid, marbles, a bowl.
//
// An arm has 7 hinges, about z, y, z, y, z, y, z when it points upwards, as wide apart as those of a robot of
// 0.8 m reach. The palm sits on its flange. Its frame, of a body "left_palm" or "right_palm":
//
//   z  along the fingers      x  out of the palm      y  from finger to finger
//
// Three fingers of 4 dofs (side to side, then three that curl towards x) and a thumb of 4 dofs (round z, then
// three that curl towards z) opposite to the middle one.
//
// The jar is a ring of flat staves on a bottom, its frame in the middle of its lower side, z upwards. The lid
// is a stopper: a plug a little wider than the mouth, which friction holds there, a round nose below it that
// finds the way in, a rim that rests on the jar and a knob. Lid and jar touch over patches, all else at
// points.
#pragma once

#include "capstan/math/transform.h"
#include "capstan/scene/scene.h"

namespace capstan::experiments {

inline constexpr int kArmJoints = 7, kHandJoints = 16, kMarbles = 16;
inline constexpr int kArmDofs = kArmJoints + kHandJoints;
inline constexpr double kJarHeight = 0.16, kJarRadius = 0.039;  // [m] outside
inline constexpr double kKnobRadius = 0.028;                    // [m]
inline constexpr double kGraspHeight = 0.07;                    // [m] of the hand on the jar
inline constexpr double kKnobHeight = 0.2115;                   // [m] of the middle of the knob, lid closed
inline constexpr double kBowlDepth = 0.05, kBowlRadius = 0.11;  // [m] within its rim
inline constexpr double kGraspAt = 0.09;  // [m] z of the palm frame where a hand holds what is round

inline constexpr double kLidFriction = 0.3;  // of lid and jar

struct DualArmOptions {
  bool has_marbles = true, has_lid = true, has_right_arm = true, has_bowl = true;
};

// Where the jar and the bowl stand at first.
inline Vec3 jar_start() {
  return {0.68, 0.08, 0};
}
inline Vec3 bowl_start() {
  return {0.68, -0.12, 0};
}

// An arm alone, whose palm is the last body: for inverse kinematics. side: "left" or "right".
Scene make_arm(const char* side);
Scene make_dual_arm(const DualArmOptions& options);

// Actuators, by the joints' names: left_arm1 to 7, left_index_side, _knuckle, _middle, _end, then middle,
// ring, and thumb_turn, _knuckle, _middle, _end.
std::string joint_of_arm(const char* side, int i);
std::string joint_of_hand(const char* side, int i);

// Targets of a hand's joints [rad]: 0 open, 1 closed.
double hand_target(int joint, double closed);

}  // namespace capstan::experiments
