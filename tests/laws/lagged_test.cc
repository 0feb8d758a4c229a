// What Lagged takes from the beginning of the step, and its values of stick and slip; Similar beside it.
#include <gtest/gtest.h>

#include "capstan/laws/contact_laws.h"

namespace capstan::lagged_test {
namespace {

using HuntCrossleyLagged = Lagged<HuntCrossley>;
using HuntCrossleyRegularized = RegularizedLagged<HuntCrossley>;

ContactInput contact() {
  ContactInput in;
  in.distance = -2e-3;
  in.stiffness = 1e5;
  in.dissipation = 4;
  in.v0 = Vec3(0.3, 0, -0.05);
  in.dt = 1e-3;
  in.friction = 0.6;
  in.w_n = 0.5;
  in.w_t = 2;
  return in;
}

template <class Law>
Vec3 impulse(const ContactInput& in, const Vec3& v) {
  Vec3 gamma;
  Law::evaluate(Law::make(in), v, nullptr, &gamma, nullptr);
  return gamma;
}

TEST(LaggedLaw, TakesTheNormalImpulseOfTheBeginning) {
  const ContactInput in = contact();
  // dt k x0 (1 - d v_n0), whatever v_n becomes.
  const double n0 = 1e-3 * 1e5 * 2e-3 * (1 + 4 * 0.05);
  EXPECT_NEAR(HuntCrossleyLagged::make(in).normal_impulse, n0, 1e-16);
  for (double v_n : {-1.0, 0.0, 5.0}) {
    EXPECT_NEAR(impulse<HuntCrossleyLagged>(in, Vec3(0, -100, v_n)).y(), 0.6 * n0, 1e-9);
  }
  ContactInput shifted = in;
  shifted.bias = Vec3(0, 0, -0.05);
  EXPECT_NEAR(HuntCrossleyLagged::make(shifted).normal_impulse, 1e-3 * 1e5 * 2e-3 * (1 + 4 * 0.1), 1e-16);
}

TEST(LaggedLaw, TakesABetterImpulseFromTheCaller) {
  ContactInput in = contact();
  in.lagged_impulse = 0.125;
  EXPECT_EQ(HuntCrossleyLagged::make(in).normal_impulse, 0.125);
  in.lagged_impulse = 0;
  EXPECT_EQ(impulse<HuntCrossleyLagged>(in, Vec3(1, 0, 0)).x(), 0);
}

TEST(LaggedLaw, HasNoFrictionBeforeTheTouch) {
  ContactInput in = contact();
  in.distance = 1e-6;
  const Vec3 gamma = impulse<HuntCrossleyLagged>(in, Vec3(1, 0, -1));
  EXPECT_GT(gamma.z(), 0);
  EXPECT_EQ(gamma.x(), 0);
  EXPECT_LT(impulse<Similar<HuntCrossley>>(in, Vec3(1, 0, -1)).x(), 0);
}

TEST(LaggedLaw, RegularizesWithTheTangentialInverseMass) {
  ContactInput in = contact();
  in.lagged_impulse = 3;
  EXPECT_NEAR(HuntCrossleyLagged::make(in).slip, 0.6 * 1e-4, 1e-18);  // mu v_s
  EXPECT_NEAR(HuntCrossleyRegularized::make(in).slip, 0.6 * 1e-3 * 2 * 0.6 * 3, 1e-17);
  in.lagged_impulse = 1e-3;  // a light contact: v_s
  EXPECT_NEAR(HuntCrossleyRegularized::make(in).slip, 0.6 * 1e-4, 1e-18);
}

// f(s) = s/sqrt(1 + s^2) at s = |v_t|/v_s.
TEST(LaggedLaw, FrictionAgainstSlip) {
  ContactInput in = contact();
  in.lagged_impulse = 2;
  for (double s : {0.0, 0.1, 0.75, 1.0, 10.0, 1e4}) {
    const double expected = s / std::sqrt(1 + s * s), v = s * in.stiction_tolerance;
    const Vec3 a = impulse<HuntCrossleyLagged>(in, Vec3(0.6 * v, -0.8 * v, 0));
    EXPECT_NEAR(a.x(), -0.6 * expected * 0.6 * 2, 1e-15);
    EXPECT_NEAR(a.y(), 0.8 * expected * 0.6 * 2, 1e-15);
    const Vec3 b = impulse<Similar<HuntCrossley>>(in, Vec3(0.6 * v, -0.8 * v, 0));
    EXPECT_NEAR(b.head<2>().norm(), 0.6 * expected * b.z(), 1e-15 * b.z());
  }
  const ContactData d = HuntCrossleyLagged::make(in);
  EXPECT_EQ(HuntCrossleyLagged::region(d, Vec3(0.99e-4, 0, 0)), ContactRegion::sticking);
  EXPECT_EQ(HuntCrossleyLagged::region(d, Vec3(1.01e-4, 0, 0)), ContactRegion::sliding);
  EXPECT_EQ(HuntCrossleyLagged::region(d, Vec3(0, 0, 0.26)), ContactRegion::open);  // beyond 1/d
}

// An isotropic tensor is a coefficient; a turned tensor gives turned impulses.
TEST(FrictionTensor, AgreesWithTheCoefficientAndTurns) {
  ContactInput in = contact(), tensor = contact();
  tensor.has_friction_tensor = true;
  tensor.friction_tensor = 0.6 * Mat2::Identity();
  const Vec3 v(2e-4, -1e-4, -0.1);
  EXPECT_LE((impulse<HuntCrossleyLagged>(in, v) - impulse<HuntCrossleyLagged>(tensor, v)).norm(), 1e-17);
  EXPECT_LE((impulse<Similar<Hertz>>(in, v) - impulse<Similar<Hertz>>(tensor, v)).norm(), 1e-17);

  Mat2 R;
  R << 0.8, -0.6, 0.6, 0.8;
  tensor.friction_tensor << 0.9, 0.1, 0.1, 0.2;
  ContactInput turned = tensor;
  turned.friction_tensor = R * tensor.friction_tensor * R.transpose();
  Vec3 v_turned = v;
  v_turned.head<2>() = R * v.head<2>();
  const Vec3 a = impulse<Similar<HuntCrossley>>(tensor, v),
             b = impulse<Similar<HuntCrossley>>(turned, v_turned);
  EXPECT_LE((R * a.head<2>() - b.head<2>()).norm(), 1e-14 * a.norm());
  EXPECT_NEAR(a.z(), b.z(), 1e-14 * a.z());
}

}  // namespace
}  // namespace capstan::lagged_test
