#include "capstan/rigid/active_factor.h"

#include <algorithm>
#include <cmath>

#include "capstan/base/diagnostics.h"

namespace capstan {

void ActiveFactor::reserve(int size) {
  if (size <= L_.rows()) return;
  const int capacity = std::max(size, 2 * static_cast<int>(L_.rows()));
  MatX larger = MatX::Zero(capacity, capacity);
  larger.topLeftCorner(size_, size_) = L_.topLeftCorner(size_, size_);
  L_.swap(larger);
}

bool ActiveFactor::append(const VecX& column, double diagonal, double smallest_pivot) {
  CAPSTAN_ASSERT(column.size() == size_);
  const auto L = L_.topLeftCorner(size_, size_).triangularView<Eigen::Lower>();
  const VecX row = size_ > 0 ? VecX(L.solve(column)) : VecX();
  const double pivot = diagonal - row.squaredNorm();
  if (!(pivot > smallest_pivot)) return false;
  reserve(size_ + 1);
  L_.row(size_).head(size_) = row.transpose();
  L_(size_, size_) = std::sqrt(pivot);
  ++size_;
  return true;
}

void ActiveFactor::remove(int position) {
  CAPSTAN_ASSERT(position >= 0 && position < size_);
  for (int i = position; i + 1 < size_; ++i) L_.row(i).head(i + 2) = L_.row(i + 1).head(i + 2).eval();
  --size_;
  // Rows from `position` on reach one column too far: rotate it away.
  for (int k = position; k < size_; ++k) {
    const double a = L_(k, k), b = L_(k, k + 1), length = std::hypot(a, b);
    if (b == 0) continue;
    const double c = a / length, s = b / length;
    for (int i = k; i < size_; ++i) {
      const double x = L_(i, k), y = L_(i, k + 1);
      L_(i, k) = c * x + s * y;
      L_(i, k + 1) = c * y - s * x;
    }
  }
}

VecX ActiveFactor::solve(const VecX& b) const {
  CAPSTAN_ASSERT(b.size() == size_);
  if (size_ == 0) return b;
  const auto L = L_.topLeftCorner(size_, size_);
  VecX x = L.triangularView<Eigen::Lower>().solve(b);
  L.transpose().triangularView<Eigen::Upper>().solveInPlace(x);
  return x;
}

}  // namespace capstan
