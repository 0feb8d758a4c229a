// Many contacts of one pair of bodies to a few that carry the same load.
#pragma once

#include <cstddef>
#include <vector>

#include "capstan/geometry/contact_point.h"

namespace capstan {

// Of contacts[first..): those whose normals lie within `angle` radians of the deepest one's form a patch. Of
// a patch stay: the deepest (of several, the outermost), the farthest from it, the two that span most area
// with these, and up to four more where the patch reaches beyond those by a twentieth of its size. Points
// nearer to each other than `same` metres, or depths nearer than a thousandth of that, count as equal. Then
// the same for the rest. Works in place; the result does not depend on the order of the contacts.
void reduce_contacts(std::size_t first, double same, double angle, std::vector<ContactPoint>* contacts);

}  // namespace capstan
