// The stiffness of shapes whose material gives none: enough for what may come to rest on them.
//
//   k = max(1e6, 1000 g m / s)  [N/m]
//
//   s  size of the tree or rod that the shape belongs to: the longest edge of a box about it, in the pose of
//      the scene [m]
//   m  what it may have to carry [kg], the largest of: its own tree or rod; the ten heaviest bodies of the
//   scene
//      that are trees by themselves, in a stack; the heaviest robot with a free joint. Each of them counts
//      for no more than a million times its own tree or rod.
//
// Shapes of the world have the largest k of all trees. The springs of two shapes that touch are in series, so
// that a contact between like bodies has k / 2: four such points carry m at a depth of s / 2000, one of them
// at s / 500. With the normal law hertz, k is divided by sqrt(s / 1000): s / 1590 and s / 630.
// Limits: no gravity, bodies of up to 1 kg and 10 cm in a stack of ten, one of 40 kg and 40 cm: 1e6 N/m.
// What presses without weight (grippers, motors, impacts) does not count: write a stiffness where it does.
#pragma once

#include "capstan/model/model.h"

namespace capstan {

inline constexpr double kLeastStiffness = 1e6;  // [N/m]

// Of every shape whose material gives no stiffness. Model::initial must have the positions of rods.
void set_default_stiffness(Model* model);

}  // namespace capstan
