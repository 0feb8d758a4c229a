// The loops over pools of contacts allocate nothing, and what a contact costs to evaluate is printed.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "tests/laws/random_contact.h"

namespace {
std::atomic<long> allocations{0};
}

extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

namespace capstan::allocation_test {
namespace {

TEST(ContactPools, AllocateNothing) {
  test::Random random(1);
  const int n = 10000;
  std::vector<ContactInput> input;
  for (int i = 0; i < n; ++i) input.push_back(test::random_contact(random));
  std::vector<ContactData> pool(n);
  std::vector<Vec3> v(n), dv(n), gamma(n);
  std::vector<Mat3> G(n);
  const char* names[] = {"sap", "lagged", "similar", "regularized_lagged"};
  for (ContactLaw law :
       {ContactLaw::sap, ContactLaw::lagged, ContactLaw::similar, ContactLaw::regularized_lagged}) {
    for (NormalLaw normal : {NormalLaw::hunt_crossley, NormalLaw::hertz, NormalLaw::kelvin_voigt}) {
      const long before = allocations;
      for (int i = 0; i < n; ++i) pool[i] = make_contact(law, normal, input[i]);
      for (int i = 0; i < n; ++i) v[i] = test::random_velocity(random, law, pool[i]);
      for (int i = 0; i < n; ++i) dv[i] = test::random_vector(random, 1);
      using Clock = std::chrono::steady_clock;
      double cost = 0, evaluate_ns = 1e300, along_ns = 1e300;
      for (int repeat = 0; repeat < 5; ++repeat) {
        const auto t0 = Clock::now();
        cost += evaluate(law, normal, pool, v, gamma, G);
        const auto t1 = Clock::now();
        cost += evaluate_along(law, normal, pool, v, dv, 0.5).second;
        const auto t2 = Clock::now();
        evaluate_ns = std::min(evaluate_ns, std::chrono::duration<double, std::nano>(t1 - t0).count() / n);
        along_ns = std::min(along_ns, std::chrono::duration<double, std::nano>(t2 - t1).count() / n);
      }
      EXPECT_EQ(allocations - before, 0);
      EXPECT_TRUE(std::isfinite(cost));
      std::printf("%-20s normal law %d: evaluate %.1f ns, along a line %.1f ns per contact\n",
                  names[static_cast<int>(law)], static_cast<int>(normal), evaluate_ns, along_ns);
    }
  }
}

}  // namespace
}  // namespace capstan::allocation_test
