// Bodies that are moved from outside (MJCF: mocap bodies). What touches them or is tied to them feels how
// they move, and does nothing to them.
//
// In a scene such a body hangs at the world by a free joint whose rotor_inertia is infinite. In a model its
// rotors are kMocapInertia, which the solver takes for a body that is much heavier than all others; the
// little that impulses do to it is taken back after the step (step/mocap.h), so that exactly
//
//   v1 = v0 + dt f / kMocapInertia,   q1 = q0 moved along v1 for dt
//
// where f is Input::generalized_force on its dofs: without a force it keeps its velocity, with that of
// aim_mocap() it goes where it is told. Other bodies may hang at it by joints.
// Limits: bodies of 1e-12 of its inertia are moved exactly; what is heavier, by so much less.
#pragma once

#include <string>
#include <vector>

#include "capstan/model/model.h"

namespace capstan {

inline constexpr double kMocapInertia = 1e12;  // [kg, kg m^2]

// Of a joint of a scene.
inline bool is_mocap(const Joint& joint) {
  return joint.type == JointType::free && joint.rotor_inertia >= kMocapInertia;
}

// The joint that makes a body of a scene, which has none, such a body: it is named after the body.
Joint make_mocap_joint(const Body& body);

// Of a link, and of a dof.
inline bool is_mocap(const Model& model, int link) {
  const Link& l = model.links[link];
  return l.parent == 0 && l.dof_end == l.dof_begin + 6 &&
         model.dofs[l.dof_begin].rotor_inertia >= kMocapInertia &&
         model.stages[l.stage_begin].type == StageType::free;
}
inline bool is_mocap_dof(const Model& model, int dof) {
  const ModelDof& d = model.dofs[dof];
  return d.rotor_inertia >= kMocapInertia && d.link >= 0 && is_mocap(model, d.link);
}

// The links, ascending.
std::vector<int> find_mocap_links(const Model& model);

// What tracks of controls may name of such a body (scene/controls.h): "NAME.x", ".y", ".z" [m], ".turn_x",
// ".turn_y", ".turn_z" (the rotation vector of its orientation [rad]), world axes.
inline constexpr const char* kMocapTracks[] = {"x", "y", "z", "turn_x", "turn_y", "turn_z"};

// All of those, of a scene and of a model.
std::vector<std::string> mocap_track_names(const Scene& scene);
std::vector<std::string> mocap_track_names(const Model& model);

// The body that such a name is about and which of kMocapTracks; the body is -1 where it is none.
struct MocapTrackName {
  int body = -1, track = 0;
};
MocapTrackName find_mocap_track(const Model& model, const std::string& name);

}  // namespace capstan
