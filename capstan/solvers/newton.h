// The convex problem of a step by Newton's method, each island apart:
//
//   H dv = -grad,   grad = A (v - v*) - J^T gamma(v),   H = A + J^T G J,   v <- v + alpha dv
//
// All contacts of one pair of links are summed to a 6-vector of impulse and a 6x6 Hessian before a Jacobian
// is applied. It stops when the scaled momentum residual is small (SAP eq. 26):
//
//   |D grad| <= eps_a + eps_r max(|D A v|, |D J^T gamma|),   D = diag(A)^-1/2
//
// for the island, and for each of its objects to 100 eps_r of the impulses that act on it in the step (those
// of contacts, constraints and free motion). The momentum of a fast or heavy body does not count there: it
// would hide the friction on a light one, or that of a short step.
//
// What keeps it from going astray where laws are stiff and not smooth is the *globalization*:
//
//   exact_line_search  G at v; alpha is the root of the directional derivative, by Newton with bisection as
//                      its safeguard, O(contacts) for an evaluation (SAP IV). The cost falls at every
//                      iteration. Each contact that closes or begins to stick on the way may end the step, so
//                      that a hard impact of a large heap takes as many iterations as there are such events.
//   primal_dual        v and the impulses gamma are iterates of their own right. Each contact's law is
//                      linearized at the point (u, gamma(u)) of its curve that is nearest to (v, gamma) as
//                      the mass rho behind the contact measures it (laws/resolve.h). Momentum stays balanced,
//                      or comes to be: (1 - alpha) of what is missing is left. alpha halves until the merit
//                      sum of rho |u - v|^2, the distance from the curves, and the missing momentum squared
//                      falls. At the solution it is Newton's method. The few groups of contacts that are
//                      farthest from their laws after a step are solved apart, all others being linear, and
//                      the step is made anew with them (worst_groups.cc): far fewer iterations in heaps. Near
//                      the solution, where H hardly changes, steps with the last factor come before the next
//                      iteration. If it stalls, exact_line_search goes on from the best velocity found.
//
// With primal_dual, contacts that are open before the step and in free motion (those of soft bodies: before
// the step) are left out at first, with all that they would connect: bodies that fly together are many small
// islands. Whatever an iterate closes comes in, and its island, which may have become larger, goes on from
// where it is. A contact that is open at the answer has neither impulse nor part in the optimality condition,
// so the answer is that of the whole problem.
//
// A *rough* solve (again primal_dual only) ends where the velocities of large islands are about right, so
// that the caller can look where they lead and add what is missing before digits are spent on it.
//
// All start from the best of v0, v* and the velocity that goes on as in the step before (State::a), and
// accept nothing but the residual above. When the steps of a line search become tiny, velocities are counted
// from where they are, so that a stiff contact does not amplify their round-off. Where lagged or similar
// friction makes it creep, the method of multipliers takes over (multipliers.cc). What remains is the
// round-off of the sum of impulses, where bodies squeeze each other with impulses far above their momentum.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capstan/base/parallel.h"
#include "capstan/problem/islands.h"
#include "capstan/solvers/report.h"

namespace capstan {

enum class Globalization { primal_dual, exact_line_search };

constexpr int kObjectsForRough = 40;

struct NewtonOptions {
  double relative_tolerance = 1e-5;   // eps_r
  double absolute_tolerance = 1e-16;  // eps_a [sqrt(J)]
  int max_iterations = 2000;          // the hardest random problems need about 1000
  Globalization globalization = Globalization::primal_dual;
  bool rough = false;           // only until large islands are about right, see above
  bool settle_friction = true;  // law coulomb: else islands whose friction is off are left unfinished
  bool keep_bounds = false;     // law coulomb: go on with the bounds that were found, but settle friction
  int most_worst_rows = 36;  // of the groups of contacts that primal_dual solves apart, at most 36; 0: none
  bool operator==(const NewtonOptions&) const = default;
};

// The answer, and memory that solves of one model reuse.
struct NewtonWorkspace {
  VecX v;                           // [dofs] the solution
  std::vector<Vec3> impulse;        // [contacts] gamma in the contact frame, on b from a [N s]
  std::vector<double> law_impulse;  // [scalar laws]
  std::vector<double> dof_impulse;  // [dof laws] along the law's own direction
  std::vector<double> bound;  // [contacts] n0 of lagged friction: as given, or found (law coulomb) [N s]

  Islands islands;  // of the contacts and constraints that act

  std::vector<char> is_reused;  // [objects] whose answer is that of the solve before

  struct Solvers;
  std::shared_ptr<Solvers> solvers;
};
NewtonWorkspace make_newton_workspace(const Model& model);

// Islands are solved on all `threads`; the answer has the same bits for any number of them. reused groups
// ([groups], the rest and empty: none) are those of the problem that the workspace was last used for, bit for
// bit and in the same place, and of its answer came the v0 of their objects: where nothing else acts, that
// answer, which is v0, is this one's, too.
SolverReport solve_newton(const Problem& problem, const NewtonOptions& options, const Threads& threads,
                          NewtonWorkspace* workspace, std::span<const char> reused_groups = {});
inline SolverReport solve_newton(const Problem& problem, const NewtonOptions& options,
                                 NewtonWorkspace* workspace) {
  return solve_newton(problem, options, Threads(1), workspace);
}

// Goes on from the answer in `workspace` when constraints were added to the problem after all others (late
// contacts, drives), or when it is unfinished: islands that have none of them, and are finished, stay as they
// are. `report` becomes that of both.
void solve_newton_further(const Problem& problem, const NewtonOptions& options, const Threads& threads,
                          NewtonWorkspace* workspace, SolverReport* report);

// Law coulomb: gives the contacts the bounds of friction that were found, so that the answer is that of the
// convex problem.
void set_bounds(const NewtonWorkspace& workspace, Problem* problem);

// A and v* of these objects ([objects], not 0) were changed since the answer in `workspace`: what nothing
// acts on moves at v*, and solve_newton_further() goes on with the islands that the others are in.
void reopen_objects(const Problem& problem, std::span<const char> objects, NewtonWorkspace* workspace);

// Contacts of these groups were changed since the answer in `workspace`, which was changed accordingly, so
// that momentum is balanced: solve_newton_further() goes on with the islands they are in. Groups all whose
// contacts are inert do not connect islands any more.
void reopen_islands(const Problem& problem, std::span<const int> groups, NewtonWorkspace* workspace);

}  // namespace capstan
