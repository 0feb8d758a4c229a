// The scalar law of limits, ties, dry friction and drives, with bounds of any signs.
#include "capstan/laws/scalar.h"

#include <gtest/gtest.h>

#include "tests/laws/random_contact.h"
#include "tests/support/potential.h"

namespace capstan::scalar_law_test {
namespace {

using test::log_uniform;
using test::Random;
using test::uniform;

TEST(ScalarLaw, GradientAndHessianMatchFiniteDifferencesInEveryRegion) {
  using Vec1 = Eigen::Matrix<double, 1, 1>;
  Random random(1);
  int count[3] = {0, 0, 0};
  for (int trial = 0; trial < 3000; ++trial) {
    ScalarLaw law;
    law.R = log_uniform(random, 1e-4, 1e3);
    law.v_hat = uniform(random, -1, 1);
    // Zero lies within the bounds, so that the cost is not negative.
    if (trial % 4 != 0) law.lower = trial % 8 == 1 ? 0 : -log_uniform(random, 1e-2, 1e2);
    if (trial % 3 != 0) law.upper = trial % 5 == 1 ? 0 : log_uniform(random, 1e-2, 1e2);
    const double v = law.v_hat + uniform(random, -2, 2) * law.R * log_uniform(random, 1e-2, 1e2);
    double width = std::abs(v - law.v_hat) + law.R;
    int region = 1;
    for (const double bound : {law.lower, law.upper}) {
      if (std::isinf(bound)) continue;
      const double border = law.v_hat - law.R * bound;
      width = std::min(width, std::abs(v - border));
      if (bound == law.lower && v > border) region = 0;
      if (bound == law.upper && v < border) region = 2;
    }
    ++count[region];
    const auto evaluate_law = [&](const Vec1& u, double* cost, Vec1* gamma, Vec1* G) {
      double h;
      (*gamma)[0] = evaluate(law, u[0], cost, &h);
      (*G)[0] = h;
    };
    test::check_potential<1>(evaluate_law, Vec1(v), 0.4 * width);
    if (HasFailure()) FAIL() << trial;
  }
  for (const int n : count) EXPECT_GT(n, 100);
}

// gamma(u) = mass (u - z), also where both bounds have one sign.
TEST(ScalarLaw, ResolveGivesTheVelocityOfItsOwnMass) {
  Random random(2);
  for (int trial = 0; trial < 1000; ++trial) {
    ScalarLaw law;
    law.R = log_uniform(random, 1e-4, 1e3);
    law.mass = log_uniform(random, 1e-3, 1e3);
    law.v_hat = uniform(random, -1, 1);
    law.lower = uniform(random, -1, 1);
    law.upper = law.lower + uniform(random, 0, 1);
    const double z = uniform(random, -3, 3), u = resolve(law, z), gamma = scalar_impulse(law, u);
    EXPECT_NEAR(gamma, law.mass * (u - z), 1e-12 * (1 + law.mass) * (1 + 1 / law.R)) << trial;
  }
}

}  // namespace
}  // namespace capstan::scalar_law_test
