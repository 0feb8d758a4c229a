// Whether two segments whose ends go straight, at constant speed, pass through each other on the way.
//
// The four ends are in one plane where
//
//   f(t) = (a1 - a0) x (b1 - b0) . (b0 - a0) = 0,
//
// a cubic of t. There the segments cross if the lines do between all ends. Limits: segments that lie in one
// plane all the way (f = 0) never cross; an even number of times is none.
#pragma once

#include <array>

#include "capstan/math/types.h"

namespace capstan {

// The ends of a segment at the beginning and at the end of the way.
struct MovingSegment {
  std::array<Vec3, 2> begin, end;
};

bool pass_through(const MovingSegment& a, const MovingSegment& b);

}  // namespace capstan
