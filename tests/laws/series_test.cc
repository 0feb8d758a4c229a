// Laws in series with a compliance: the point that laws/series.h finds is on the law and on the compliance.
#include "capstan/laws/series.h"

#include <gtest/gtest.h>

#include "tests/laws/random_contact.h"
#include "tests/support/potential.h"

namespace capstan::series_test {
namespace {

using test::log_uniform;
using test::Random;
using test::random_contact;

template <class T>
class SeriesLaw : public testing::Test {};
using Laws = testing::Types<Lagged<HuntCrossley>, Lagged<Hertz>, Lagged<KelvinVoigt>, Similar<HuntCrossley>,
                            Similar<Hertz>, Similar<KelvinVoigt>, Sap>;
TYPED_TEST_SUITE(SeriesLaw, Laws);

struct Case {
  ContactData d;
  Vec3 rho, z;
};

template <class Law>
Case random_case(Random& random, double least_rho, double largest_rho) {
  Case c;
  c.d = Law::make(random_contact(random));
  const double rho_t = log_uniform(random, least_rho, largest_rho);
  c.rho = Vec3(rho_t, rho_t, rho_t * test::uniform(random, 0.3, 3));
  c.z = test::random_vector(random, log_uniform(random, 1e-4, 1e2));
  return c;
}

// gamma is the law's at u = z + gamma/rho, up to what the last digits of u are worth there.
TYPED_TEST(SeriesLaw, IsOnTheLaw) {
  Random random(11);
  int closed = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    const Case c = random_case<TypeParam>(random, 1e-4, 1e8);
    const SeriesPoint p = Series<TypeParam>::evaluate(c.d, c.rho, c.z);
    const Vec3 u = c.z + p.gamma.cwiseQuotient(c.rho);
    Vec3 gamma;
    Mat3 G;
    TypeParam::evaluate(c.d, u, nullptr, &gamma, &G);
    const double mu = std::sqrt(c.d.mu_xx * c.d.mu_xx + c.d.mu_yy * c.d.mu_yy);
    const double size = (1 + mu) * (u.norm() + c.z.norm() + c.d.bias.norm()) + std::abs(c.d.normal.v_hat);
    EXPECT_LE((gamma - p.gamma).norm(), 1e-12 * p.gamma.norm() + 1e-13 * size * G.norm())
        << trial << ": " << p.gamma.transpose() << ", the law " << gamma.transpose();
    closed += p.gamma.z() > 0;
    if (this->HasFailure()) return;
  }
  EXPECT_GT(closed, 1000);
}

// Of a law of any stiffness, rho limits the Hessian.
TYPED_TEST(SeriesLaw, HessianIsThatOfTheImpulseAndBelowRho) {
  Random random(12);
  int checked = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Case c = random_case<TypeParam>(random, 1e-2, 1e2);
    const SeriesPoint p = Series<TypeParam>::evaluate(c.d, c.rho, c.z);
    const Vec3 scale = c.rho.cwiseSqrt().cwiseInverse();
    const Mat3 scaled = scale.asDiagonal() * p.G * scale.asDiagonal();
    const Vec3 k = Eigen::SelfAdjointEigenSolver<Mat3>(scaled).eigenvalues();
    EXPECT_GE(k.minCoeff(), -1e-13);
    EXPECT_LE(k.maxCoeff(), 1 + 1e-13);
    // Differences of the impulse give the Hessian; not across a border, where Hessians differ.
    const double h = 1e-5 * c.z.norm();
    for (int i = 0; i < 3; ++i) {
      const SeriesPoint a = Series<TypeParam>::evaluate(c.d, c.rho, c.z - h * Vec3::Unit(i));
      const SeriesPoint b = Series<TypeParam>::evaluate(c.d, c.rho, c.z + h * Vec3::Unit(i));
      const double rho = c.rho.maxCoeff();
      if (std::max((a.G - p.G).norm(), (b.G - p.G).norm()) > 1e-3 * rho) continue;
      ++checked;
      EXPECT_LE(((b.gamma - a.gamma) / (2 * h) + p.G.col(i)).norm(), 2e-3 * rho);
    }
    if (this->HasFailure()) return;
  }
  EXPECT_GT(checked, 3000);
}

// A velocity counted from elsewhere is the same velocity.
TYPED_TEST(SeriesLaw, ShiftsWithTheLaw) {
  Random random(13);
  for (int trial = 0; trial < 2000; ++trial) {
    ContactInput in = random_contact(random);
    in.stiffness = log_uniform(random, 1e2, 1e6);
    const ContactData d = TypeParam::make(in);
    const Vec3 shift = test::random_vector(random, 1),
               v = test::random_velocity(random, ContactLaw::lagged, d);
    ContactData moved = d;
    TypeParam::shift(0.5 * shift, &moved);
    TypeParam::shift(0.5 * shift, &moved);
    Vec3 gamma, gamma_moved;
    Mat3 G;
    TypeParam::evaluate(d, v, nullptr, &gamma, &G);
    TypeParam::evaluate(moved, v - shift, nullptr, &gamma_moved, nullptr);
    const double noise = 1e-13 * (1 + std::abs(d.normal.v_hat) + v.norm()) * (G.norm() + 1);
    EXPECT_LE((gamma - gamma_moved).norm(), noise + 1e-11 * gamma.norm()) << trial;
    const Vec3 rho = Vec3::Constant(3);
    EXPECT_LE((Series<TypeParam>::evaluate(d, rho, v).gamma -
               Series<TypeParam>::evaluate(moved, rho, v - shift).gamma)
                  .norm(),
              1e-11 * (1 + std::abs(d.normal.v_hat) + v.norm()))
        << trial;
    if (this->HasFailure()) return;
  }
}

// One bit of u moves the impulse by 1e-4 here; in series it is exact: a spring of 1e12 kg and a mass of 2 kg
// that would go 3 m/s deeper than the breaking velocity get 6 N s.
TEST(StiffContactInSeries, KeepsAllDigitsOfStiffContacts) {
  ContactInput in;
  in.distance = 0.25;
  in.dt = 0.5;
  in.stiffness = 4e12;  // dt^2 k = 1e12 kg
  in.dissipation = 0;
  in.friction = 0;
  const double breaking = -0.5;
  const SeriesPoint p = Series<Lagged<HuntCrossley>>::evaluate(Lagged<HuntCrossley>::make(in),
                                                               Vec3::Constant(2), Vec3(0, 0, breaking - 3));
  EXPECT_NEAR(p.gamma.z(), 6 / (1 + 2e-12), 2e-15);
  EXPECT_NEAR(p.G(2, 2), 2 / (1 + 2e-12), 1e-15);
}

}  // namespace
}  // namespace capstan::series_test
