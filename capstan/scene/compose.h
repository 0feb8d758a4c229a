// Scenes made of scenes: a model is placed in another scene under a name, as often as wanted.
//
// Every name of the model gets the prefix "name/"; references inside the model follow. "world" in the model
// becomes the body the model is attached to. With X = the instance's pose:
//   bodies, shapes and sites on the model's world      pose -> X * pose
//   nodes of rods in the model's world frame           node -> X * node; those that are fixed are attached
//                                                      to the body the model is attached to
//   constraint frames on the model's world             pose -> X * pose
//   q, v of a free joint on the model's world          the pose q -> X * q, v turned by X (initial,
//   keyframes)
// (q of a free joint is the body's pose in its parent's frame.) All else is relative and stays as it is.
#pragma once

#include <optional>
#include <string>

#include "capstan/scene/scene.h"

namespace capstan {

struct Instance {
  std::string name;             // prefix of all names; "" leaves the names as they are
  Pose pose;                    // of the model's world frame in the frame of `parent`
  std::string parent = kWorld;  // body of the scene that the model is attached to
  // How the model's roots (bodies on its world) move relative to `parent`; absent: as the model says; type
  // weld: they do not. An empty name becomes that of the root. Starting positions and keyframe entries of
  // the joints it replaces are dropped.
  std::optional<Joint> root_joint;
  bool use_options = false;  // take the model's gravity, time step, ... too
  // Prefix of materials; absent: `name`. Copies of one model can share their materials through it: a material
  // that the scene already has by the resulting name is not added again.
  std::optional<std::string> materials_name;
};

// Adds the model to the scene. Names are not checked here; compile() does that.
void append(Scene* into, const Scene& model, const Instance& instance);

// The model alone, placed and renamed.
Scene instantiate(const Scene& model, const Instance& instance);

// X_AB * X_BC.
Pose compose(const Pose& X_AB, const Pose& X_BC);

// Bodies, joints, shapes, materials and everything else that a scene lists.
long num_elements(const Scene& scene);

}  // namespace capstan
