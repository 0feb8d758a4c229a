// Mass properties of bodies: from shapes and densities, and whether they can exist.
#pragma once

#include <string>
#include <vector>

#include "capstan/scene/scene.h"

namespace capstan {

// Adds `part`, whose frame is at X in the whole's frame, to `whole`.
void add_inertia(const Inertia& part, const Transform& X, Inertia* whole);

// Mass properties of one shape in its body's frame; mass 0 when it has none.
Inertia shape_inertia(const ShapeInstance& shape);

// Why no distribution of mass has this inertia, as a clause ("its largest principal moment 3 exceeds ..."),
// or "" when one has. A relative excess of 1e-9 is forgiven as round-off.
std::string why_impossible(const Inertia& inertia);

// Principal moments, ascending.
Vec3 principal_moments(const Mat3& inertia);

}  // namespace capstan
