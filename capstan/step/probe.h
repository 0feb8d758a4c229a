// What programs ask of a model at a state, by name. A name that does not exist throws InputError, which tells
// the nearest one. Each call places the model anew: for one body of a few dofs that is below a microsecond;
// in an inner loop keep a Placement (dynamics/tree.h) and call the functions there.
#pragma once

#include <string>
#include <vector>

#include "capstan/step/contact_forces.h"
#include "capstan/step/step.h"

namespace capstan {

// Numbers of named things.
int body_index(const Model& model, const std::string& name);
int joint_index(const Model& model, const std::string& name);
int site_index(const Model& model, const std::string& name);
int shape_index(const Model& model, const std::string& name);
int actuator_index(const Model& model, const std::string& name);

// A frame is a body or a site; a name that both have is the body's. Spatial vectors are (angular, linear) in
// world axes, at the frame's origin.
Transform frame_pose(const Model& model, const State& state, const std::string& frame);
Vec6 frame_velocity(const Model& model, const State& state, const std::string& frame);
MatX frame_jacobian(const Model& model, const State& state, const std::string& frame);  // [6, dofs]

// With rotor inertia; [dofs, dofs].
MatX dense_mass_matrix(const Model& model, const State& state);

// A force [N] and torque [N m] on a body, world axes, for Input::body_forces of the next step. It acts at the
// centre of mass of the body with all that is welded to it, or at a point [m] of the world.
BodyForce force_on(const Model& model, const State& state, const std::string& body, const Vec3& force_W,
                   const Vec3& torque_W = Vec3::Zero());
BodyForce force_at(const Model& model, const std::string& body, const Vec3& point_W, const Vec3& force_W);

// Contact forces of the last step, summed over each pair of bodies that press on each other; others are left
// out. And all on one body together.
std::vector<BodyPairForce> pair_forces(const Model& model, const Workspace& workspace);
Vec3 contact_force_on(const Model& model, const Workspace& workspace, const std::string& body);  // [N]

}  // namespace capstan
