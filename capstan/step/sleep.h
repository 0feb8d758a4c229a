// Resting islands sleep: objects that constraints connect, all slower than SleepOptions::speed for
// SleepOptions::time, are left where they are until something changes for one of them.
//
// Asleep, an object has v = 0 and keeps every bit of q. It has no free motion, no constraints, and its shapes
// are tested against those of awake objects alone. An island wakes as a whole, and the step in which it does
// is the very one that would have been made had it never slept (from the same q and v = 0), when
//
//   - a shape of an awake object touches, or may touch within the step, one of its shapes: a contact;
//   - a force, a control, or the motion of a surface (its own, or the world's) is not what it was when it
//   fell
//     asleep, or its q or v was changed from outside.
//
// How fast it is: the largest root mean square speed of the mass of one of its parts. Limits: contacts
// within sleeping islands are not reported; what creeps slower than the speed stops.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capstan/base/union_find.h"
#include "capstan/problem/problem.h"
#include "capstan/state/state.h"

namespace capstan {

struct SleepWorkspace {
  std::vector<Rest> rest;    // [objects] what the step makes of State::rest; empty when nothing may sleep
  std::vector<char> asleep;  // [objects] in this step; likewise
  int num_asleep = 0, num_woken = 0;
  std::vector<std::uint64_t> digest;  // [objects] of what acts on them
  UnionFind sets;                     // of objects that sleep together
  std::vector<char> all_still;        // [objects] at the lowest of its set: all of them
  Velocity velocity;
};

// Before a step: who sleeps, after those have been woken on whom something else acts than when they fell
// asleep.
void begin_sleep(const Model& model, const State& state, const Input& input, double dt,
                 const SleepOptions& options, SleepWorkspace* workspace);

// Wakes the islands that contacts with awake objects touch. Whether there were any: then free motion and
// contacts are to be found anew, with them.
bool wake_touched(const Model& model, const Contacts& contacts, SleepWorkspace* workspace);

// After a step to `next`: sleeping objects stay as they were in `state`, and islands that have been still for
// long enough fall asleep. `placement` is that of `state`.
void end_sleep(const Model& model, const State& state, const Input& input, const Placement& placement,
               const Problem& problem, double dt, const SleepOptions& options, SleepWorkspace* workspace,
               State* next);

}  // namespace capstan
