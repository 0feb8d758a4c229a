// One point mass on one contact, stepped with a small Newton method: the laws as a user meets them, against
// arithmetic.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "tests/laws/random_contact.h"

namespace capstan::particle_test {
namespace {

constexpr double kGravity = 9.81;

// Minimizes m/2 |v - v_free|^2 + l(v) by Newton with a bisection for the line search, to round-off.
struct Particle {
  ContactLaw law;
  NormalLaw normal;
  ContactInput contact;  // distance and v0 are set from the state
  double mass = 1;
  Vec3 gravity = Vec3(0, 0, -kGravity);
  Vec3 p = Vec3::Zero(), v = Vec3::Zero(), gamma = Vec3::Zero();

  void step() {
    contact.distance = p.z();
    contact.v0 = v;
    contact.w_n = contact.w_t = 1 / mass;
    const ContactData d = make_contact(law, normal, contact);
    const Vec3 free = v + contact.dt * gravity;
    for (int iteration = 0;; ++iteration) {
      Mat3 H;
      evaluate(law, normal, d, v, nullptr, &gamma, &H);
      const Vec3 gradient = mass * (v - free) - gamma;
      // The second term is what one bit of v moves the impulse: 1e-6 N s at k = 1e12 N/m and 4 m/s.
      if (gradient.norm() <= 1e-12 * mass * (1 + free.norm()) + 1e-15 * H.norm() * v.norm()) break;
      ASSERT_LT(iteration, 100) << "residual " << gradient.norm();
      H += mass * Mat3::Identity();
      const Vec3 dv = -H.llt().solve(gradient);
      const auto slope = [&](double a) {
        return mass * (v + a * dv - free).dot(dv) +
               evaluate_along(law, normal, std::span(&d, 1), std::span(&v, 1), std::span(&dv, 1), a).first;
      };
      double low = 0, high = 1;
      if (slope(1) > 0.1 * std::abs(slope(0))) {
        for (int i = 0; i < 50; ++i) (slope(0.5 * (low + high)) < 0 ? low : high) = 0.5 * (low + high);
      }
      v += high * dv;
    }
    p += contact.dt * v;
  }

  void run(double time) {
    for (int i = 0; i < time / contact.dt; ++i) step();
  }
};

class ParticleLaws : public testing::TestWithParam<ContactLaw> {
 protected:
  Particle particle(double dt) const {
    Particle a;
    a.law = GetParam();
    a.normal = NormalLaw::hunt_crossley;
    a.contact.dt = dt;
    a.mass = 0.7;
    return a;
  }
  // Starts at the static depth under the normal load.
  static void rest(Particle* a) { a->p.z() = a->mass * a->gravity.z() / a->contact.stiffness; }
  void incline(double angle, Particle* a) const {
    a->gravity = kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
    rest(a);
  }
};

TEST_P(ParticleLaws, RestsAtTheStaticDepth) {
  Particle a = particle(1e-3);
  a.contact.stiffness = 1e4;
  a.contact.relaxation_time = 0.01;
  a.run(2);
  EXPECT_NEAR(-a.p.z(), a.mass * kGravity / 1e4, 1e-9);
  EXPECT_NEAR(a.gamma.z(), a.mass * kGravity * 1e-3, 1e-9);
}

TEST_P(ParticleLaws, SticksAndSlipsWithinATenthOfADegree) {
  for (double mu : {0.2, 0.5, 1.0}) {
    for (double offset : {-0.1, 0.1}) {
      Particle a = particle(5e-3);
      a.contact.friction = mu;
      a.contact.stiffness = 1e5;
      incline(std::atan(mu) + offset * M_PI / 180, &a);
      a.run(2);
      // Beyond the limit it accelerates by g (sin - mu cos): at least 0.017 m/s^2 here.
      if (offset < 0) {
        EXPECT_LT(a.v.x(), 3e-3) << mu;
      } else {
        EXPECT_GT(a.v.x(), 2e-2) << mu;
      }
    }
  }
}

TEST_P(ParticleLaws, AcceleratesAsCoulombSaysWhenSliding) {
  Particle a = particle(2e-3);
  a.contact.friction = 0.3;
  a.contact.stiffness = 1e6;
  const double angle = 30 * M_PI / 180;
  incline(angle, &a);
  a.run(0.2);
  const double v0 = a.v.x();
  a.run(0.2);
  const double expected = kGravity * (std::sin(angle) - 0.3 * std::cos(angle));
  EXPECT_NEAR((a.v.x() - v0) / 0.2, expected, 1e-3 * expected);
}

TEST_P(ParticleLaws, CreepIsBoundedWhileSticking) {
  Particle a = particle(5e-3);
  a.contact.friction = 0.5;
  a.contact.stiffness = 1e5;
  incline(std::atan(0.5 * 0.8), &a);  // at 0.8 of the limit
  a.run(1);
  const double n = a.mass * kGravity * std::cos(std::atan(0.4)) * a.contact.dt;
  if (GetParam() == ContactLaw::sap) {
    EXPECT_NEAR(a.v.x(), 0.8 * a.contact.sigma * 0.5 * n / a.mass, 1e-6 * a.v.x());
    EXPECT_LT(a.v.x(), a.contact.sigma * 0.5 * a.contact.dt * kGravity);
  } else {
    EXPECT_NEAR(a.v.x(), a.contact.stiction_tolerance * 0.8 / 0.6, 1e-4 * a.v.x());
  }
}

TEST_P(ParticleLaws, StopsAfterTheStoppingDistance) {
  Particle a = particle(1e-3);
  a.contact.friction = 0.4;
  rest(&a);
  a.v.x() = 2;
  a.run(1);
  const double distance = 4 / (2 * 0.4 * kGravity);
  EXPECT_LT(a.v.x(), 1e-6);
  // First order in dt: half a step at the start.
  EXPECT_NEAR(a.p.x(), distance, 2 * 1e-3);
}

// Gliding while it slides at a held speed: none for Lagged, mu dt |v| for Similar, mu (dt + tau) |v| for SAP.
TEST_P(ParticleLaws, GlidesAsDocumented) {
  Particle a = particle(1e-3);
  a.contact.friction = 0.5;
  a.contact.stiffness = 1e5;
  a.contact.relaxation_time = 0.004;
  a.contact.dissipation = 20;
  rest(&a);
  a.gravity.x() = 0.5 * kGravity;  // friction is balanced
  a.v.x() = 2;
  a.run(1);
  const double depth = a.mass * kGravity / 1e5;
  double expected = -depth;
  if (GetParam() == ContactLaw::sap) {
    const double ratio = a.contact.sigma / a.mass * 1e-3 * 1e5 * 0.005;
    expected = -depth * (1 + 0.25 * ratio) + 0.5 * 0.005 * a.v.x();
  } else if (GetParam() == ContactLaw::similar) {
    expected = -depth / (1 + 0.5 * 20 * a.v.x()) + 0.5 * 1e-3 * a.v.x();
  }
  EXPECT_NEAR(a.v.x(), 2, 0.02);
  EXPECT_NEAR(a.p.z(), expected, 1e-3 * (depth + std::abs(expected)));
}

TEST_P(ParticleLaws, ABeltCarriesIt) {
  Particle a = particle(5e-3);
  a.contact.stiffness = 1e5;
  a.contact.bias = Vec3(-0.3, 0, 0);  // A is the belt, moving at 0.3 m/s
  rest(&a);
  a.run(0.03);
  // Accelerated by mu g; sap and similar first rise to their gliding height, and land more softly from it.
  const bool glides = GetParam() == ContactLaw::sap || GetParam() == ContactLaw::similar;
  EXPECT_NEAR(a.v.x(), 0.5 * kGravity * 0.03, glides ? 1e-2 : 1e-4);
  a.run(1);
  EXPECT_NEAR(a.v.x(), 0.3, 1e-6);
}

TEST_P(ParticleLaws, StopsInOneStepAtASpeculativeContact) {
  Particle a = particle(5e-3);
  a.contact.stiffness = 1e12;
  a.p.z() = 0.02;
  a.v.z() = -10;  // 5 cm in this step: through the floor
  a.step();
  EXPECT_GT(a.p.z(), -1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, ParticleLaws,
                         testing::Values(ContactLaw::sap, ContactLaw::lagged, ContactLaw::similar,
                                         ContactLaw::regularized_lagged));

// Hunt and Crossley: rebound speed v' of an impact at v obeys (1 + d v) exp(-d v) = (1 - d v') exp(d v').
TEST(Restitution, OfHuntCrossleyIsItsAnalyticRelation) {
  for (NormalLaw normal : {NormalLaw::hunt_crossley, NormalLaw::hertz}) {
    for (double d : {0.1, 0.5, 2.0}) {
      Particle a{ContactLaw::lagged, normal, {}};
      a.contact.dt = 2e-7;
      a.contact.stiffness = normal == NormalLaw::hertz ? 1e8 : 1e6;
      a.contact.dissipation = d;
      a.contact.friction = 0;
      a.gravity.setZero();
      a.v.z() = -1;
      while (a.p.z() <= 0) a.step();
      // Energy integral: f/m = k x^e (1 - d v) gives v dv/(1 - d v) = -(k/m) x^e dx, the same at both ends.
      const auto side = [&](double v) { return v / d + std::log(std::abs(1 - d * v)) / (d * d); };
      double low = 0, high = std::min(1.0, 0.999999 / d);
      for (int i = 0; i < 100; ++i) {
        const double v = 0.5 * (low + high);
        (side(v) > side(-1) ? low : high) = v;
      }
      EXPECT_NEAR(a.v.z(), low, 2e-3) << d;
      EXPECT_LT(a.v.z(), 1);
    }
  }
}

// An elliptic cone: threshold, limit and direction of sliding along the principal axes and between them.
TEST(Anisotropic, SlidesWhereTheTensorLets) {
  for (ContactLaw law : {ContactLaw::lagged, ContactLaw::similar, ContactLaw::regularized_lagged}) {
    for (double push : {0.28, 0.32, 0.78, 0.82}) {
      for (int axis : {0, 1}) {
        Particle a{law, NormalLaw::hunt_crossley, {}};
        a.contact.dt = 2e-3;
        a.contact.stiffness = 1e5;
        a.contact.has_friction_tensor = true;
        a.contact.friction_tensor << 0.3, 0, 0, 0.8;
        a.p.z() = -a.mass * kGravity / 1e5;
        a.gravity[axis] = push * kGravity;
        a.run(1);
        const double mu = axis == 0 ? 0.3 : 0.8;
        if (push < mu) {
          EXPECT_LT(a.v[axis], 2e-3);
        } else {
          EXPECT_NEAR(a.v[axis], (push - mu) * kGravity, 0.01 * kGravity * push);
        }
      }
    }
    // Slip along (1, 1): the impulse is the point of the ellipse that dissipates most, -n M^2 v/|M v|.
    ContactInput in;
    in.distance = -1e-3;
    in.stiction_tolerance = 1e-9;
    in.lagged_impulse = 5;
    in.has_friction_tensor = true;
    in.friction_tensor << 0.3, 0, 0, 0.8;
    in.sigma = 0;
    Vec3 gamma;
    evaluate(law, NormalLaw::hunt_crossley, make_contact(law, NormalLaw::hunt_crossley, in), Vec3(1, 1, 0),
             nullptr, &gamma, nullptr);
    const double n = law == ContactLaw::similar ? gamma.z() : 5;
    double best = 0, best_angle = 0;
    for (double t = 0; t < 2 * M_PI; t += 1e-4) {
      const double power = -(n * 0.3 * std::cos(t) + n * 0.8 * std::sin(t));
      if (power > best) best = power, best_angle = t;
    }
    EXPECT_NEAR(gamma.x(), n * 0.3 * std::cos(best_angle), 1e-3 * n);
    EXPECT_NEAR(gamma.y(), n * 0.8 * std::sin(best_angle), 1e-3 * n);
  }
}

}  // namespace
}  // namespace capstan::particle_test
