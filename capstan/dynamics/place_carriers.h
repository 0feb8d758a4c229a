// Placing an object that is not a tree in two parts, for those who need no more than some of it: where its
// carriers are, and the forms of colliders that change with it. place_object() does both.
#pragma once

#include "capstan/dynamics/tree.h"

namespace capstan {

void place_carriers(const Model& model, const VecX& q, int object, Placement* placement);
// The form of the collider of a shape where its object was placed, if it is one that changes its form.
void bend_collider(const Model& model, int shape, Placement* placement);

}  // namespace capstan
