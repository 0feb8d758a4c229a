// The SAP law against its definition as a projection: a brute-force minimization and the conditions of
// optimality.
#include <gtest/gtest.h>

#include "tests/laws/random_contact.h"

namespace capstan::sap_test {
namespace {

using test::log_uniform;
using test::Random;
using test::uniform;

struct Regularization {
  double R_t, R_n, v_hat, mu;
};

// Written again from sap eq. 29-30.
Regularization regularization(const ContactInput& in) {
  const double tau = in.relaxation_time < 0 ? in.dt : in.relaxation_time;
  return {
      in.sigma * in.w_t,
      std::max(in.beta * in.beta / (4 * M_PI * M_PI) * in.w_n, 1 / (in.dt * in.stiffness * (in.dt + tau))),
      -in.distance / (in.dt + tau), in.friction};
}

ContactInput random_isotropic(Random& random) {
  ContactInput in = test::random_contact(random);
  in.has_friction_tensor = false;
  return in;
}

template <class F>
double golden(const F& f, double low, double high, double* at) {
  const double ratio = 0.6180339887498949;
  double a = high - ratio * (high - low), b = low + ratio * (high - low), fa = f(a), fb = f(b);
  for (int i = 0; i < 60; ++i) {
    if (fa < fb) {
      high = b, b = a, fb = fa, a = high - ratio * (high - low), fa = f(a);
    } else {
      low = a, a = b, fa = fb, b = low + ratio * (high - low), fb = f(b);
    }
  }
  *at = 0.5 * (low + high);
  return f(*at);
}

// Scaled so that lengths are of order one: minimizes 1/2 |x - y|^2 over |x_t| <= c x_n by three nested
// searches.
Vec3 brute_force_projection(const Vec3& y, double c) {
  Vec3 x;
  const auto over_n = [&](double n) {
    const auto over_x = [&](double tx) {
      const double room = std::sqrt(std::max(0.0, c * c * n * n - tx * tx));
      return golden([&](double ty) { return 0.5 * (Vec3(tx, ty, n) - y).squaredNorm(); }, -room, room,
                    &x.y());
    };
    return golden(over_x, -c * n, c * n, &x.x());
  };
  golden(over_n, 0, 2 * y.norm(), &x.z());
  over_n(x.z());
  return x;
}

TEST(SapLaw, IsTheProjectionOnTheConeByBruteForce) {
  Random random(1);
  int count[3] = {0, 0, 0};
  for (int trial = 0; trial < 300; ++trial) {
    const ContactInput in = random_isotropic(random);
    const Regularization r = regularization(in);
    const ContactData d = Sap::make(in);
    const Vec3 v = test::random_velocity(random, ContactLaw::sap, d), s = v + in.bias;
    Vec3 gamma;
    double cost;
    Sap::evaluate(d, v, &cost, &gamma, nullptr);
    // Scale by R^(1/2), the norm of the projection.
    const Vec3 root(std::sqrt(r.R_t), std::sqrt(r.R_t), std::sqrt(r.R_n));
    const Vec3 y = (Vec3(0, 0, r.v_hat) - s).cwiseQuotient(root);
    const double size = y.norm();
    const Vec3 x = size * brute_force_projection(y / size, r.mu * std::sqrt(r.R_t / r.R_n));
    EXPECT_LE((root.cwiseProduct(gamma) - x).norm(), 1e-6 * size) << trial;
    EXPECT_NEAR(cost, 0.5 * x.squaredNorm(), 1e-6 * size * size) << trial;
    ++count[static_cast<int>(Sap::region(d, v))];
  }
  for (int c : count) EXPECT_GT(c, 30);
}

// gamma is the projection if and only if g = v - v_hat + R gamma is in the dual cone and g . gamma = 0.
TEST(SapLaw, IsComplementaryToTheRegularizedVelocity) {
  Random random(2);
  for (int trial = 0; trial < 20000; ++trial) {
    const ContactInput in = random_isotropic(random);
    const Regularization r = regularization(in);
    const ContactData d = Sap::make(in);
    const Vec3 v = test::random_velocity(random, ContactLaw::sap, d);
    Vec3 gamma;
    Sap::evaluate(d, v, nullptr, &gamma, nullptr);
    const Vec3 shifted = v + in.bias - Vec3(0, 0, r.v_hat);
    const Vec3 g = shifted + Vec3(r.R_t, r.R_t, r.R_n).cwiseProduct(gamma);
    const double noise = 1e-14 * (shifted.norm() + std::abs(r.v_hat) + in.bias.norm());
    EXPECT_GE(g.z(), r.mu * g.head<2>().norm() - noise * (1 + r.mu)) << trial;
    EXPECT_LE(std::abs(g.dot(gamma)), 2 * noise * gamma.norm()) << trial;
    EXPECT_LE(gamma.head<2>().norm(), r.mu * gamma.z() * (1 + 1e-14)) << trial;
  }
}

TEST(SapLaw, IsKelvinVoigtWhileItSticks) {
  ContactInput in;
  in.distance = -2e-3;
  in.stiffness = 3e4;
  in.relaxation_time = 0.004;
  in.dt = 1e-3;
  for (double v_n : {-0.3, 0.0, 0.2}) {
    Vec3 gamma;
    Sap::evaluate(Sap::make(in), Vec3(1e-7, 0, v_n), nullptr, &gamma, nullptr);
    // dt (k x - k tau v) at the end of the step, x = x0 - dt v.
    EXPECT_NEAR(gamma.z(), 1e-3 * 3e4 * (2e-3 - 1e-3 * v_n - 0.004 * v_n), 1e-15);
    EXPECT_NEAR(gamma.x(), -1e-7 / (in.sigma * in.w_t), 1e-15);
    const NormalData n = KelvinVoigt::make(in);
    EXPECT_NEAR(gamma.z(), KelvinVoigt::evaluate(n, v_n).impulse, 1e-15);
  }
}

TEST(SapLaw, SlidesAsThePaperDerives) {
  ContactInput in;
  in.distance = -1e-3;
  in.stiffness = 1e4;
  in.relaxation_time = 0.002;
  in.friction = 0.7;
  in.dt = 1e-3;
  const double r = 0.3, v_n = -0.05, phi = in.distance + in.dt * v_n;
  const double ratio = in.sigma * in.w_t * in.dt * in.stiffness * 0.003;  // R_t/R_n
  Vec3 gamma;
  Sap::evaluate(Sap::make(in), Vec3(0, r, v_n), nullptr, &gamma, nullptr);
  const double expected = -1e-3 / (1 + 0.49 * ratio) * 1e4 * (phi - 0.003 * 0.7 * r + 0.002 * v_n);
  EXPECT_NEAR(gamma.z(), expected, 1e-14);
  EXPECT_NEAR(gamma.y(), -0.7 * expected, 1e-14);
  EXPECT_EQ(gamma.x(), 0);
}

TEST(SapLaw, SwitchesBetweenCompliantAndNearRigid) {
  ContactInput in;
  in.relaxation_time = 0;
  in.w_n = 0.25;
  in.dt = 1e-2;
  const double limit = 4 * M_PI * M_PI / (0.25 * 1e-4);  // period of 4 kg equals dt
  in.stiffness = 0.5 * limit;
  EXPECT_NEAR(Sap::make(in).normal.c0, 1e-4 * 0.5 * limit, 1e-9);
  in.stiffness = 2 * limit;
  EXPECT_NEAR(Sap::make(in).normal.c0, 1e-4 * limit, 1e-9);
  in.beta = 0.5;  // a harder floor
  EXPECT_NEAR(Sap::make(in).normal.c0, 1e-4 * 2 * limit, 1e-9);
}

}  // namespace
}  // namespace capstan::sap_test
