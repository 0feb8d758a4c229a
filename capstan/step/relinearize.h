// Newton's method around the convex problem of a step, for objects whose forces are not linear in v: rods.
//
// Momentum is balanced where
//
//   m(v) = J^T gamma(J v),
//
// the minimum of the incremental potential: that of the objects (physics/physics.h) plus the costs l(J v) of
// contact and constraints. The convex problem has for m(v) its tangent A (v - v*) at a velocity u
// (dynamics/objects.h), first at that before the step. Its answer v tells where the tangent is wanted: m(v)
// is evaluated there, and where it is not what the tangent told, the next one is made at v and the problem is
// solved again, from the answer before. A rope that rests or slides steadily around a post has its forces at
// once, whatever the free motion, which leads through the post, would make of them.
//
// Where the tangent of an object that touches nothing errs so little that two more passes will do, it stays,
// and m(v) alone is taken from where it leads.
//
// Where a tangent errs by more than a tenth of what it changes, the next one is made where the potential
// falls enough between u and v, found by halving, for each island apart (Armijo's rule with the change that
// the convex problem promised), or beyond v, found by doubling, as long as it falls by much more there.
// Contacts, their laws and Jacobians stay those at the beginning of the step.
//
// The frames of a rod's edges go with them by parallel transport. One that comes to the same direction by two
// ways has turned about itself by the area between them: m(v) is not quite the gradient of a potential, and
// where edges turn by half a radian in a step the direction d = v - u, in which m tells to go, may be one in
// which the potential rises. So what is searched is the potential plus (m(u).d - its slope) alpha.
//
// Coulomb's law has no potential: each solve settles friction anew, and where many contacts of a rope share a
// load, it may settle elsewhere each time. After ten passes the bounds of friction stay what they are until
// the tangents are exact; what they are off by then, the report tells as cone_violation.
//
// Limits: forces that are linear in v (or explicit schemes) need one evaluation of m and no pass; trees
// alone, nothing. The potential has several minima where an edge turns by about a right angle or more in a
// step; then it may not converge, and the step fails.
#pragma once

#include <span>
#include <vector>

#include "capstan/dynamics/objects.h"
#include "capstan/solvers/newton.h"

namespace capstan {

struct RelinearizeWorkspace {
  VecX off, change, probe;   // [dofs] scratch
  VecX u, d;                 // [dofs] the answer before, where the last tangents were made; v - u
  std::vector<char> is_new;  // [objects] gets a new tangent, or a new m for that it has
  std::vector<char>
      is_searched;  // [objects] at the lowest object of an island: it goes only a part of the way
  std::vector<double> at_u, at_v, promised, part;  // [objects] likewise: potential [J]; alpha
  std::vector<double> unlike;                      // [objects] likewise: m(u).d - slope of the potential [J]
  std::vector<double> fall;                        // [objects] likewise: of what is searched, where it is now
};

// Before the first solve of a step.
void begin_relinearization(const State& state, RelinearizeWorkspace* workspace);

// After each solve: makes new tangents and solves again until m(v) is what the tangents tell. `has_impacts`:
// bounce() changed v*. Objects in `asleep` ([objects], or empty for none) do not move. Returns an object
// whose momentum could not be balanced, or -1.
int relinearize(const TimeStep& step, std::span<const char> asleep, bool has_impacts,
                const NewtonOptions& options, const Threads& threads, Motion* motion, Problem* problem,
                NewtonWorkspace* newton, RelinearizeWorkspace* workspace, SolverReport* report);

// After the last of them: A (v - v*) becomes m(v) itself, for the judge. Objects that nothing touches keep
// their momentum to round-off, and those that touch only what moves (rods: only what nothing holds, ties to
// it included), and are not wound under tension, have that of their contacts, with the moment that the other
// side takes: both sides of a contact together keep theirs.
void end_relinearization(const TimeStep& step, const Problem& problem, const Contacts& contacts,
                         std::span<const char> asleep, Motion* motion, NewtonWorkspace* newton);

}  // namespace capstan
