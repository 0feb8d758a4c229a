// Drives: actuators with gains and limits of force. Free motion clamps their force at v* (dynamics/forces.h);
// where contact or a constraint acts on the same tree, v differs from v*, and the clamp must hold at v. There
// the drive leaves v* and A (release_drives) and is a law beside the others:
//
//   gamma(u) = clamp(gamma* - s (u - u*), lower, upper),    u = c.v the rate of its transmission
//
// with gamma* its impulse at v* without limits, s = dt^2 theta1 theta_vq kp + dt theta1 kd what its gains
// have in A. Limits: where it ends unsaturated, the step is that of an actuator without limits; without any
// constraint, v* is the answer.
//
// A drive is
//
//   one actuator with a force range, none of whose dofs has an effort limit; or
//   all actuators on one dof with an effort limit: their sum is clamped, so that each of them acts on this
//     dof alone, and if more than one has gains, then none of these has a range of its own.
//
// Other limits (of actuators on spatial tendons, of muscles and where the gain is not constant; the effort
// limit of a dof that a tendon's actuator pulls at, too; that of several actuators with gains and ranges)
// hold at v* only.
#pragma once

#include <vector>

#include "capstan/model/model.h"

namespace capstan {

struct Drive {
  struct Member {
    int actuator = 0;
    double coefficient = 1;  // its gear on a dof; 1 where the transmission is the actuator's own
  };
  Transmission transmission;  // one dof with the coefficient 1, or that of the one actuator
  std::vector<Member> members;
  double effort_limit = kInfinity;  // of the sum of its members [N or N m]
};
std::vector<Drive> find_drives(const Model& model);

// Force [N or N m] along the transmission, before limits, at (q, v, control); its limits; and what its gains
// take from it as the transmission gets longer and faster.
struct DriveForce {
  double force = 0, lower = 0, upper = 0;
  double stiffness = 0, damping = 0;
};
DriveForce calc_drive_force(const Model& model, const Drive& drive, const VecX& q, const VecX& v,
                            const VecX& control);

}  // namespace capstan
