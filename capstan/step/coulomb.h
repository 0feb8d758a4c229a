// Coulomb's law within the step: friction in the cone of the normal impulse of the same step, and no gliding.
//
// With the law `coulomb` (laws/coulomb.h) each contact has a number s, and the convex problem is Coulomb's
// law where s = mu |w|, w being its slip at the answer. So a step solves a short sequence of convex problems:
// with s for the slip that the motion of the last step leads to, then, where a contact glides,
//
//   |s - mu |w|| > kGlideTolerance (|g| dt + mu |w|),
//
// with s for the slip of the answer. The solver goes on from its answer,
// with the islands concerned. Friction is within its cone and momentum balanced in every round; what a round
// improves is the normal law, by dt |s - mu |w|| of distance. What sticks, or slides on as it did, needs no
// second round.
//
// Limits: mu = 0, nothing to do. For a single contact on a mass the error shrinks by mu^2/(1 + mu^2) in a
// round. The fixed point need not exist (Painleve's rod, which digs itself in): after kMostFrictionRounds the
// last answer stands, and Report::glide tells how far off the distance is.
#pragma once

#include <span>
#include <vector>

#include "capstan/contacts/contacts.h"
#include "capstan/problem/problem.h"
#include "capstan/solvers/newton.h"

namespace capstan {

constexpr double kGlideTolerance = 2e-3;
constexpr int kMostFrictionRounds = 12;

struct CoulombWorkspace {
  std::vector<double> shifts;  // [contacts] [m/s] s
  std::vector<int> groups;     // of the problem, that changed
  double glide = 0;            // [m] largest dt |s - mu |w||
};

// The first s of the contacts from `first` on, but for groups that are `kept` from the last step, with it
// (AssemblyWorkspace::kept).
void begin_friction(const Contacts& contacts, int first, std::span<const char> kept,
                    CoulombWorkspace* workspace, Problem* problem);

// Whether any s was changed, and islands of the solver reopened: then it has to go on. Without `update` it
// only measures.
bool update_friction(bool update, CoulombWorkspace* workspace, Problem* problem, NewtonWorkspace* newton);

}  // namespace capstan
