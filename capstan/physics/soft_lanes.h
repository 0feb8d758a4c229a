// Forces and stiffness of linear tets of the linear corotational solid (physics/soft_system.cc), four at a
// time: one in each lane of a Four. Internal to physics/.
#pragma once

#include "capstan/math/clones.h"
#include "capstan/physics/elasticity.h"

namespace capstan {

// What all tets of a step share.
struct SoftLaneStep {
  Lame lame;
  Mat3 spin;           // of the whole body in the step
  double damping = 0;  // of the change of strain, over the stiffness against strain
  double push = 0;     // [s] momentum for forces
  double block = 0;    // [s^2] blocks for stiffness, with damping
};

// Numbers of four tets, the coordinates of their nodes as [node][coordinate].
struct SoftLanes {
  using Vector = Four[3];
  Vector before[4], x[4];  // [m] at the beginning of the step, and where forces are taken
  Vector gradients[4];     // [1/m]
  Four weight;             // [m^3]
  Vector push[4];          // [N s] on the nodes
  Four blocks[10][9];      // of nodes a >= b, number a (a + 1) / 2 + b, column-major
};

// Sets push, and, if they are wanted, blocks.
void calc_soft_lanes(const SoftLaneStep& step, bool wants_blocks, SoftLanes* lanes);

}  // namespace capstan
