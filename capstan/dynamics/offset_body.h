// Free bodies whose origin is not their centre of mass, in the steps of staggered schemes (free_motion.h).
//
// Momentum must not depend on where the origin of a body is. After a step its velocity belongs to where it is
// then, and the origin's is that of the centre of mass less w x r1, r1 the arm there. The contact problem has
// Jacobians and A of where it was, with the arm r0: a velocity for r1 there is off by w x (r1 - r0), of order
// dt w^2 r, which makes energy out of nothing wherever something holds the body. So v* and the answer are
// told for r0, and the answer becomes that for r1 when the step ends: the centre of mass keeps its velocity,
// and the body moves as one whose origin is there.
// Limits: trees of several links are not treated so.
#pragma once

#include "capstan/dynamics/free_motion.h"

namespace capstan {

// Whether the tree is such a body, and the motion is that of a staggered scheme.
bool has_offset(const Model& model, const Motion& motion, int tree);

// From the velocity for r0 to that for r1, and back. `turn`, in the axes of the dofs, is what moves the arm:
// w of v, but for bodies of revolution (free_turn.h).
void tell_at_end(const Model& model, const Motion& motion, double dt, int tree, const Vec3& turn, VecX* v);
void tell_at_start(const Model& model, const Motion& motion, double dt, int tree, VecX* v);

}  // namespace capstan
