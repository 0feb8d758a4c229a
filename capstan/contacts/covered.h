// Surfaces that are covered are not surfaces.
//
// A floor of tiles, a link of several capsules, a wall that stands on the ground: shapes of one link touch
// each other, and what lies between them can not be hit. A contact at the point p of shape S, whose surface
// points along n there, belongs to the surface of all shapes together unless a neighbour T is in the way:
//
//   1. T is nearer to p + s n than s: p is not the point of both that is nearest to it.
//   2. And the surface of S does not go on beyond T: with m the normal of T, the point that is reached from p
//      along S, out of T, is no longer on S. (Where a wall stands on a floor it is: both are surfaces.)
//
// So the side of a tile that the next one covers gives no contact, the edge between two tiles that lie level
// has one normal, not a quarter circle of them, and a step that is higher than the probe s is one. Limits:
// s is kProbe of the least half width of S and T, and twice the depth of the contact; gaps and steps below it
// are none. Two different links do not cover each other.
#pragma once

#include <optional>

#include "capstan/contacts/contacts.h"

namespace capstan {

constexpr double kProbe = 2e-3;

// Whether shape a or shape b of the contact is covered where it is said to touch. Poses are those that the
// contact was found with. If so, `instead` is the contact along the normal of what covers it, or has an
// infinite distance if that can not be told.
bool is_covered(const Model& model, int shape_a, const Transform& X_WA, int shape_b, const Transform& X_WB,
                const ContactPoint& point, ContactPoint* instead);

}  // namespace capstan
