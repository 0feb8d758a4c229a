// Normal laws against their definition: the impulse is dt f_n(phi0 + dt v, v), the cost its integral by
// quadrature.
#include <gtest/gtest.h>

#include "tests/laws/random_contact.h"

namespace capstan::normal_law_test {
namespace {

using test::log_uniform;
using test::Random;
using test::uniform;

// Integral of f over [a, b] after t = a + (b - a) s^4 (5 - 4 s), which flattens roots at a; 5-point Gauss in
// 64 panels.
template <class F>
double integrate(const F& f, double a, double b) {
  const double x[5] = {0, 0.5384693101056831, -0.5384693101056831, 0.9061798459386640, -0.9061798459386640};
  const double w[5] = {0.5688888888888889, 0.4786286704993665, 0.4786286704993665, 0.2369268850561891,
                       0.2369268850561891};
  double sum = 0;
  for (int panel = 0; panel < 64; ++panel) {
    for (int i = 0; i < 5; ++i) {
      const double s = (panel + 0.5 + 0.5 * x[i]) / 64;
      sum += w[i] / 128 * f(a + (b - a) * s * s * s * s * (5 - 4 * s)) * (b - a) * 20 * s * s * s * (1 - s);
    }
  }
  return sum;
}

template <class Normal>
class NormalLaws : public testing::Test {};
using All = testing::Types<HuntCrossley, Hertz, KelvinVoigt>;
TYPED_TEST_SUITE(NormalLaws, All);

TYPED_TEST(NormalLaws, ImpulseIsTheForceAtTheEndOfTheStep) {
  Random random(1);
  int pushing = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const ContactInput in = test::random_contact(random);
    const NormalData d = TypeParam::make(in);
    const double v = d.v_hat + uniform(random, -1.5, 0.5) * (0.1 + std::abs(d.v_hat));
    const double n = TypeParam::evaluate(d, v).impulse;
    const double expected = in.dt * TypeParam::force(in, in.distance + in.dt * v, v);
    pushing += n > 0;
    EXPECT_EQ(n > 0, expected > 0) << trial;
    EXPECT_NEAR(n, expected, 1e-10 * expected + 1e-300) << trial;
  }
  EXPECT_GT(pushing, 5000);
}

TYPED_TEST(NormalLaws, CostIsTheIntegralOfTheImpulse) {
  Random random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    const ContactInput in = test::random_contact(random);
    const NormalData d = TypeParam::make(in);
    const double v = d.v_hat - log_uniform(random, 1e-6, 2) * (0.1 + std::abs(d.v_hat));
    const double expected =
        integrate([&](double s) { return TypeParam::evaluate(d, s).impulse; }, d.v_hat, v);
    EXPECT_NEAR(TypeParam::evaluate(d, v).cost, -expected, 1e-9 * std::abs(expected)) << trial;
  }
}

TYPED_TEST(NormalLaws, MeetTheConditionsForConvexity) {
  Random random(3);
  for (int trial = 0; trial < 20000; ++trial) {
    const ContactInput in = test::random_contact(random);
    const double phi = uniform(random, -0.01, 0.002), v = uniform(random, -1, 1);
    const double f = TypeParam::force(in, phi, v);
    EXPECT_GE(f, 0);
    EXPECT_LE(TypeParam::force(in, phi + log_uniform(random, 1e-9, 1e-2), v), f);
    EXPECT_LE(TypeParam::force(in, phi, v + log_uniform(random, 1e-6, 1)), f);
  }
}

// Nothing is lost a hair below the breaking velocity: relative accuracy for u down to 1e-12 of the scale.
TYPED_TEST(NormalLaws, KeepRelativePrecisionAtTheBreakingVelocity) {
  for (double phi : {-1e-2, 0.0}) {
    ContactInput in;
    in.distance = phi;
    in.dissipation = 20;  // v_hat = 1/d = 0.05 for the deep one
    const NormalData d = TypeParam::make(in);
    const double u = std::ldexp(1.0, -40);
    const NormalResponse a = TypeParam::evaluate(d, d.v_hat - u), b = TypeParam::evaluate(d, d.v_hat - 2 * u);
    const double exact_u = d.v_hat - (d.v_hat - u), exact_2u = d.v_hat - (d.v_hat - 2 * u);
    const bool root = std::is_same_v<TypeParam, Hertz> && phi == 0;
    const double power = root ? 1.5 : 1;
    EXPECT_NEAR(b.impulse / a.impulse, std::pow(exact_2u / exact_u, power), 1e-7);
    EXPECT_NEAR(b.cost / a.cost, std::pow(exact_2u / exact_u, power + 1), 1e-7);
    EXPECT_NEAR(a.cost / (a.impulse * exact_u), 1 / (power + 1), 1e-7);
  }
}

// The antiderivative printed in icf VI, up to its constant.
TEST(HuntCrossleyLaw, IsThePapersAntiderivative) {
  Random random(4);
  for (int trial = 0; trial < 1000; ++trial) {
    ContactInput in;
    in.distance = -uniform(random, 1e-3, 1e-2);
    in.dissipation = log_uniform(random, 0.1, 100);
    in.dt = log_uniform(random, 1e-3, 1e-2);
    const double phi0 = in.distance, dt = in.dt, d = in.dissipation;
    const auto N = [&](double v) {
      return dt * in.stiffness * (-v * (phi0 + 0.5 * dt * v) + d * v * v / 2 * (phi0 + 2.0 / 3 * dt * v));
    };
    const double v_hat = std::min(-phi0 / dt, 1 / d);
    const NormalData data = HuntCrossley::make(in);
    EXPECT_EQ(data.v_hat, v_hat);
    const double v = v_hat - uniform(random, 0.01, 1);
    EXPECT_NEAR(HuntCrossley::evaluate(data, v).cost, N(v_hat) - N(v),
                1e-10 * (std::abs(N(v)) + std::abs(N(v_hat))));
  }
}

TEST(HuntCrossleyLaw, ReleasesAtTheVelocityOfTheMaterial) {
  ContactInput in;
  in.distance = -1e-2;  // deep: the spring alone would push up to 2 m/s
  in.dissipation = 10;
  const NormalData d = HuntCrossley::make(in);
  EXPECT_EQ(d.v_hat, 0.1);
  EXPECT_EQ(HuntCrossley::evaluate(d, 0.1).impulse, 0);
  EXPECT_GT(HuntCrossley::evaluate(d, 0.0999).impulse, 0);
  in.dissipation = 0;
  EXPECT_EQ(HuntCrossley::make(in).v_hat, 2);
}

}  // namespace
}  // namespace capstan::normal_law_test
