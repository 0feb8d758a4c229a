// Patches as surfaces to look at: their polygons at one placement, with the pressure of the fields.
//
// The pressure is that of the overlap at this placement, without the part of dissipation, and in each polygon
// linear. It is made from the poses alone, so that recordings, which have these, need not hold polygons.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "capstan/contacts/contacts.h"

namespace capstan {

struct PatchSurface {
  std::vector<std::array<float, 4>> vertices;  // x, y, z [m] world, pressure [Pa]; of polygon after polygon
  std::vector<std::int32_t> ends;              // [polygons] where each ends in `vertices`
};

// Scratch memory, kept from frame to frame.
struct PatchSurfaceWorkspace {
  CollisionWorkspace::Block block;
};

// The patches of these pairs of shapes (a, b); pairs that have none are passed over.
void calc_patch_surface(const Model& model, const Placement& placement,
                        std::span<const std::pair<int, int>> pairs, PatchSurfaceWorkspace* workspace,
                        PatchSurface* surface);

}  // namespace capstan
