// The problem of one contact alone: u of laws/resolve.h, one contact at a time and four at once.
#include "capstan/laws/resolve.h"

#include <gtest/gtest.h>

#include "tests/laws/random_contact.h"

namespace capstan::resolve_test {
namespace {

using test::log_uniform;
using test::Random;

template <class T>
class Resolve : public testing::Test {};
using Laws = testing::Types<RegularizedLagged<HuntCrossley>, Lagged<HuntCrossley>, Lagged<Hertz>, Sap>;
TYPED_TEST_SUITE(Resolve, Laws);

// gamma(u) = rho (u - z), wherever in a list the contact is. Contacts with tensors of friction, of which the
// extreme ones end before that, are as alone.
TYPED_TEST(Resolve, OfAListBringsTheImpulseThatMovesTheMass) {
  Random random(21);
  int sliding = 0, open = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const int n = trial % 11;
    std::vector<ContactData> contacts(n);
    std::vector<Vec3> rho(n), z(n);
    for (int i = 0; i < n; ++i) {
      ContactInput input = test::random_contact(random);
      if (trial % 4 != 0) input.has_friction_tensor = false;
      contacts[i] = TypeParam::make(input);
      const double rho_t = log_uniform(random, 1e-2, 1e2);
      rho[i] = Vec3(rho_t, rho_t, rho_t * test::uniform(random, 0.3, 3));
      z[i] = test::random_vector(random, log_uniform(random, 1e-4, 1e1));
    }
    std::vector<Vec3> u = z;
    resolve_all<TypeParam>(contacts.data(), rho.data(), n, [&](int i) -> Vec3& { return u[i]; });
    for (int i = 0; i < n; ++i) {
      Vec3 gamma;
      Mat3 G;
      TypeParam::evaluate(contacts[i], u[i], nullptr, &gamma, &G);
      const Vec3 pull = rho[i].cwiseProduct(u[i] - z[i]);
      const double bits = 1e-13 * (G.norm() + rho[i].norm()) *
                          (u[i].norm() + contacts[i].bias.norm() + std::abs(contacts[i].normal.v_hat));
      const bool is_tensor = contacts[i].mu_xx != contacts[i].mu_yy || contacts[i].mu_xy != 0;
      EXPECT_LE((gamma - pull).norm(), (is_tensor ? kInfinity : 1e-3 * (gamma.norm() + pull.norm()) + bits))
          << trial << ", " << i;
      // To one alone, whose iteration may end one step earlier.
      const Vec3 alone = Resolvent<TypeParam>::resolve(contacts[i], rho[i], z[i]);
      EXPECT_LE((u[i] - alone).norm(), 1e-4 * (u[i] - z[i]).norm() + 1e-13 * u[i].norm())
          << trial << ", " << i;
      sliding += gamma.head<2>().norm() > 0;
      open += gamma == Vec3::Zero() && u[i] == z[i];
    }
    if (this->HasFailure()) return;
  }
  EXPECT_GT(sliding, 1000);
  EXPECT_GT(open, 100);
}

}  // namespace
}  // namespace capstan::resolve_test
