// How far friction is from Coulomb's law at the answer of a random problem, told by the kind of the island.
//
// The measure is that of solvers/coulomb.cc, from the answer alone: at the answer's velocities, the friction
// that the law gives with each contact's own normal impulse for its bound, against the friction it has,
//
//   e_i = |gamma_t(v; n_i) - gamma_t(v; n0_i)| / (|gamma_i| + 0.01 max of the island)
//
// and for a pair of links the same of the net wrench of all its contacts: points of a face may share a load
// in many ways that are one and the same for the bodies.
#pragma once

#include <array>
#include <string>

#include "tests/support/random_problem.h"

namespace capstan::test {

constexpr double kConeSettled = 1e-3;
constexpr int kSettledContacts = 32;  // islands of at most so many are counted apart
constexpr int kExactContacts = 256;   // up to so many in an island the solver settles friction

// Islands of one size, or problems: counts by their largest e_i.
struct ConeBands {
  static constexpr std::array<double, 4> kEnds = {1e-3, 1e-2, 1e-1, 1};
  std::array<int, 5> count = {};  // up to each end, and beyond
  int total() const;
  void add(double violation);
};

class ConeTally {
 public:
  // The bounds that were found are set in the problem (set_bounds() in newton.h).
  void add(const StepProblem& s, const SolverReport& report);
  std::string text() const;  // for the terminal
  std::string page() const;  // Markdown

 private:
  ConeBands problems_, small_, large_;  // small: islands of at most kSettledContacts
  // Of islands that are not settled.
  int share_a_face_ = 0;                           // within kConeSettled for each pair of links as a whole
  int slippery_ = 0, rough_ = 0, very_rough_ = 0;  // small ones: largest mu below 0.5, below 1, above
  int disagree_ = 0;  // problems where the report's figure and this one are on two sides of kConeSettled
};

}  // namespace capstan::test
