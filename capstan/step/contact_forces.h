// The contact forces of the last step, for users: in newtons, in the world frame.
//
// Signs: a force acts on body b and its opposite on body a; the normal points from a to b. So normal_force is
// never negative, friction is perpendicular to the normal, and slip is the velocity of b's surface against
// a's (moving surfaces included), which sliding friction opposes.
#pragma once

#include <vector>

#include "capstan/step/step.h"

namespace capstan {

// [m/s] 6 mm in a minute: what slips less counts as sticking, for who watches and who reads. (A law may say
// of micrometres a second that they slide.)
inline constexpr double kVisibleSlip = 1e-4;

struct ContactForce {
  int shape_a = 0, shape_b = 0;
  Vec3 p_W = Vec3::Zero();         // [m] where it acts
  Vec3 normal_W = Vec3::Zero();    // unit, from a to b
  double distance = 0;             // [m] at the beginning of the step; negative when overlapping
  double normal_force = 0;         // [N]
  Vec3 friction_W = Vec3::Zero();  // [N]
  Vec3 slip_W = Vec3::Zero();      // [m/s] tangential, at the end of the step
  ContactRegion region = ContactRegion::open;
  ContactKind kind = ContactKind::touching;  // how it was found; what is withdrawn has no force

  double area = 0;  // [m^2] of the patch that it stands for; 0: a point

  Vec3 torque_W = Vec3::Zero();  // [N m] of torsional and rolling friction, besides that of the force

  Vec3 force_W() const { return normal_force * normal_W + friction_W; }
};

// Everything that acts between two bodies; a < b, as bodies of the model.
struct BodyPairForce {
  int body_a = 0, body_b = 0;
  int contacts = 0, sticking = 0, sliding = 0;
  double normal_force = 0;         // [N] sum of the normal forces
  Vec3 force_W = Vec3::Zero();     // [N] on b
  Vec3 friction_W = Vec3::Zero();  // [N] on b, its friction part
  Vec3 torque_W = Vec3::Zero();    // [N m] on b about the world's origin
};

// A patch of two shapes (docs/patches.md): what its points do together.
struct PatchForce {
  int shape_a = 0, shape_b = 0;
  int points = 0;
  double area = 0;               // [m^2]
  double normal_force = 0;       // [N] sum of the normal forces
  double largest_pressure = 0;   // [Pa] of any of its points, in this step
  Vec3 centre_W = Vec3::Zero();  // [m] of pressure
  Vec3 force_W = Vec3::Zero();   // [N] on b
  Vec3 moment_W = Vec3::Zero();  // [N m] on b about the centre
};

// One for each point of workspace.contacts, in that order.
void calc_contact_forces(const Workspace& workspace, std::vector<ContactForce>* forces);

// The same summed over each pair of bodies, ordered by (a, b).
void sum_contact_forces(const Model& model, const std::vector<ContactForce>& forces,
                        std::vector<BodyPairForce>* pairs);

// The patches among these contacts that press, in their order.
void sum_patch_forces(const std::vector<ContactForce>& forces, std::vector<PatchForce>* patches);

// What the limit and the dry friction of a tendon pull with [N, or N m], mean over the step.
double calc_tendon_force(const Workspace& workspace, int tendon);

}  // namespace capstan
