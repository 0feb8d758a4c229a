// What the stages of a step may leave out, and the threads that they work on.
//
// Objects that sleep do not move. Objects that are *unchanged* have the very state that they had when the
// last step began, and the same forces act on them, bit for bit (step/unchanged.h finds them). Each stage
// keeps what it made in its own workspace, so that all that comes from unchanged objects alone is there
// already. What a stage takes from there it marks as *reused*, for the next one:
//
//   objects unchanged -> Motion of these -> Contacts::is_reused -> AssemblyWorkspace::reused_groups
//                     -> NewtonWorkspace::is_reused, objects whose whole answer is that of the last step
//
// This holds from one step to the next with the same workspace, and changes no result by a bit.
#pragma once

#include <span>

#include "capstan/base/parallel.h"

namespace capstan {

struct StageScope {
  std::span<const char> asleep = {};     // [objects] not 0: it sleeps; empty: none does
  std::span<const char> unchanged = {};  // [objects] likewise
  const Threads& threads = one_thread();

  bool is_asleep(int object) const { return !asleep.empty() && asleep[object] != 0; }
  bool is_unchanged(int object) const { return !unchanged.empty() && unchanged[object] != 0; }
};

}  // namespace capstan
