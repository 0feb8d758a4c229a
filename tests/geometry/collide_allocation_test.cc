// The narrow phase never asks for memory; contacts appended to a vector do so only until it is warm.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/geometry/collision_twins.h"

namespace {
long allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

namespace capstan::collide_allocation_test {
namespace {

TEST(CollideAllocation, NoneAfterWarmUp) {
  const auto& shapes = twin::shapes();
  twin::Poses poses(51);
  std::vector<ContactPoint> contacts;
  long used = 0, points = 0;
  for (int round = 0; round < 2; ++round) {
    for (const auto& A : shapes) {
      for (const auto& B : shapes) {
        if (!can_collide(A.collider.type, B.collider.type)) continue;
        for (int k = 0; k < 50; ++k) {
          Transform X_WA, X_WB;
          poses.pair_at(A.collider, B.collider, poses.uniform(-0.01, 0.005), &X_WA, &X_WB);
          contacts.clear();
          const long before = allocations;
          collide(A.collider, X_WA, B.collider, X_WB, 0.005, &contacts);
          if (round > 0) used += allocations - before;
          points += static_cast<long>(contacts.size());
        }
      }
    }
  }
  EXPECT_EQ(used, 0);
  EXPECT_GT(points, 2 * 80 * 50);  // at least one each
}

}  // namespace
}  // namespace capstan::collide_allocation_test
