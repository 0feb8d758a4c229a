// Principal pivots of a linear complementarity problem on a tableau (murty.cc).
#pragma once

#include <optional>
#include <vector>

#include "capstan/rigid/lcp_run.h"

namespace capstan {

// u = T t + c: u_i = w_i, t_i = y_i for an index at a bound; u_i = y_i, t_i = w_i = 0 for a free one.
class PrincipalPivots {
 public:
  explicit PrincipalPivots(const LcpRun& run);  // every index at the bound nearer to zero

  const std::vector<LcpSide>& sides() const { return sides_; }
  double diagonal(int i) const { return T_(i, i); }
  VecX y() const;
  // Where an index with the wrong sign must go, `free` for one at a bound; or nullopt.
  std::optional<LcpSide> wanted_side(int i, double tolerance) const;
  // Brings index i there, if need be in exchange for another. False if nothing could be exchanged.
  bool change(int i, LcpSide side);
  void put(int i, LcpSide side) { sides_[i] = side, calc_values(); }  // from one bound to the other

 private:
  double bound(int i) const;
  void pivot(const std::vector<int>& set);
  bool exchange(int i);
  void calc_values();

  const LcpRun& run_;
  MatX T_;
  VecX c_, u_;
  std::vector<LcpSide> sides_;
};

// Murty's rule from a partition until it ends.
LcpResult pivot_by_least_index(LcpRun* run, const std::vector<LcpSide>& start);

}  // namespace capstan
