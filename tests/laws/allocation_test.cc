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

namespace capstan {
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
      const auto t0 = std::chrono::steady_clock::now();
      double cost = evaluate(law, normal, pool, v, gamma, G);
      const auto t1 = std::chrono::steady_clock::now();
      cost += evaluate_along(law, normal, pool, v, dv, 0.5).second;
      const auto t2 = std::chrono::steady_clock::now();
      EXPECT_EQ(allocations - before, 0);
      EXPECT_TRUE(std::isfinite(cost));
      const auto ns = [&](auto t) { return std::chrono::duration<double, std::nano>(t).count() / n; };
      std::printf("%-20s normal law %d: evaluate %.1f ns, along a line %.1f ns per contact\n",
                  names[static_cast<int>(law)], static_cast<int>(normal), ns(t1 - t0), ns(t2 - t1));
    }
  }
}

}  // namespace
}  // namespace capstan
