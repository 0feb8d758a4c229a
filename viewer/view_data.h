// What the page is told, the same for live simulations, recordings and HTML replays: a scene message once,
// then frames. Messages are msgpack maps; arrays of numbers are little-endian binary.
//
//   scene   {type: "scene", name, kind, dt, gravity, duration, sleeps, bodies, links, shapes, rods,
//            soft_bodies, joints, actuators, numbers}; rods and soft bodies tell how to draw the links of
//            each
//   frame   {type: "frame", time, step, poses, islands, asleep, joints, rates, control, contacts, rods,
//            numbers, activation, stress, patches, patch_ends}; the last four only where there are any
//
//   poses     float32 [links - 1][7]: x y z, quaternion x y z w, of every link but the world
//   islands   int32 [links - 1]: links with one number are connected by contacts or constraints
//   asleep    uint8 [links - 1]: 1 where a link sleeps; empty unless scene.sleeps
//   joints    float32 [1-dof joints]: positions, in the order of scene.joints; rates the same
//   control   float32 [actuators]; activation the same, where some have one (scene.actuators tells)
//   contacts  [n][14]: int32 shape_a, shape_b, region; float32 point, normal, force on b, distance, area
//   rods      float32 [edges][3]: tension [N], curvature [1/m], twist [rad/m], in the order of scene.rods
//   stress    float32 [vertices of soft bodies]: von Mises' [Pa], in the order of scene.soft_bodies
//   patches   float32 [vertices][4]: x y z, pressure [Pa] of the fields at these poses, polygon after polygon
//   patch_ends  int32 [polygons]: where each ends in `patches`
//   numbers   float64, as scene.numbers names them
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "capstan/contacts/patch_surface.h"
#include "capstan/dynamics/tree.h"
#include "capstan/io/recording.h"

namespace capstan::viewer {

using Json = nlohmann::json;
using Bytes = std::vector<std::uint8_t>;

// `kind` is "live" or "recording".
Json scene_message(const Model& model, const StepOptions& options, const std::vector<LogColumn>& numbers,
                   double duration, const std::string& kind);

// Makes frame messages of one model; holds the scratch memory for it.
class FrameMaker {
 public:
  explicit FrameMaker(const Model& model);
  Json frame(const State& state, const std::vector<RecordedContact>& contacts, const VecX& numbers);
  const Placement& placement() const { return placement_; }  // of the last frame made

 private:
  const Model& model_;
  Placement placement_;
  std::vector<int> root_;                   // [links] union-find
  std::vector<std::pair<int, int>> pairs_;  // of shapes that touch
  PatchSurfaceWorkspace patch_workspace_;
  PatchSurface patches_;
};

}  // namespace capstan::viewer
