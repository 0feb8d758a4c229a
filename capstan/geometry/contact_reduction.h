// Many contacts of one pair of bodies to a few that carry the same load.
#pragma once

#include <cstddef>
#include <vector>

#include "capstan/geometry/contact_point.h"

namespace capstan {

// Of contacts[first..): those whose normals lie within `angle` radians of the deepest one's form a patch, of
// which at most four stay: the deepest, the farthest from it, and the two that span most area with them.
// Points nearer to each other than `same` metres are one. Then the same for the rest. Works in place.
void reduce_contacts(std::size_t first, double same, double angle, std::vector<ContactPoint>* contacts);

}  // namespace capstan
