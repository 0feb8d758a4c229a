// What every contact law promises, for each law with each normal law, on random contacts of every region.
#include <gtest/gtest.h>

#include "tests/laws/random_contact.h"
#include "tests/support/potential.h"

namespace capstan::contact_law_test {
namespace {

using test::log_uniform;
using test::Random;
using test::uniform;

struct Value {
  double cost;
  Vec3 gamma;
  Mat3 G;
};

class Laws : public testing::TestWithParam<std::tuple<ContactLaw, NormalLaw>> {
 protected:
  ContactLaw law = std::get<0>(GetParam());
  NormalLaw normal = std::get<1>(GetParam());

  ContactData make(const ContactInput& in) const { return make_contact(law, normal, in); }

  Value at(const ContactData& d, const Vec3& v) const {
    Value value;
    evaluate(law, normal, d, v, &value.cost, &value.gamma, &value.G);
    return value;
  }

  // Distance [m/s] from v to the nearest point where G jumps, or to the scale on which friction bends.
  double smooth_width(const ContactData& d, const Vec3& velocity) const {
    const Vec3 v = velocity + d.bias;
    const double h = d.normal.v_hat - v.z(), r = v.head<2>().norm(), mu = d.mu_xx;
    if (law == ContactLaw::sap) {
      const double mu_hat = mu * d.slip * d.normal.c0;
      const double border =
          std::min(std::abs(r - mu_hat * h) / (1 + mu_hat), std::abs(h + mu * r) / (1 + mu));
      return 0.4 * (r <= mu_hat * h && mu > 0 ? border : mu > 0 ? std::min(border, r) : std::abs(h));
    }
    Mat2 M;
    M << d.mu_xx, d.mu_xy, d.mu_xy, d.mu_yy;
    const double largest = M.norm(), S = std::sqrt((M * v.head<2>()).squaredNorm() + d.slip * d.slip);
    const double bend = largest > 0 ? S / largest : 1e300;
    const bool similar = law == ContactLaw::similar;
    const double u = similar ? h + S - d.slip : h;
    return 0.4 * std::min(std::abs(u) / (similar ? 1 + largest : 1), bend);
  }
};

TEST_P(Laws, GradientAndHessianMatchFiniteDifferencesInEveryRegion) {
  Random random(1);
  int count[3] = {0, 0, 0};
  for (int trial = 0; trial < 6000; ++trial) {
    const ContactInput in = test::random_contact(random);
    const ContactData d = make(in);
    const Vec3 v = test::random_velocity(random, law, d);
    const double width = smooth_width(d, v);
    if (width < 1e-9 * (1 + v.norm())) continue;  // nothing can be differenced there
    ++count[static_cast<int>(region(law, normal, d, v))];
    SCOPED_TRACE(trial);
    test::check_potential<3>([&](const Vec3& x, double* cost, Vec3* gamma,
                                 Mat3* G) { evaluate(law, normal, d, x, cost, gamma, G); },
                             v, width);
    if (HasFailure()) return;
  }
  for (int c : count) EXPECT_GT(c, 300);
}

// The value and the impulse are continuous where G is not: both sides of each border, 1e-9 apart.
TEST_P(Laws, ImpulseIsContinuousAcrossBorders) {
  Random random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    const ContactData d = make(test::random_contact(random));
    const double h = log_uniform(random, 1e-3, 10), angle = uniform(random, 0, 6.3);
    const Vec3 t(std::cos(angle), std::sin(angle), 0);
    std::vector<Vec3> borders = {Vec3(0, 0, d.normal.v_hat)};
    if (law == ContactLaw::sap) {
      borders.push_back(Vec3(0, 0, d.normal.v_hat - h) +
                        d.mu_xx * d.slip * d.normal.c0 * h * t);            // stick, slide
      borders.push_back(Vec3(0, 0, d.normal.v_hat + d.mu_xx * h) + h * t);  // slide, open
    }
    for (const Vec3& border : borders) {
      const Vec3 step = 1e-9 * test::random_vector(random, 1).normalized() * (1 + border.norm());
      const Value a = at(d, border - d.bias + step), b = at(d, border - d.bias - step);
      const double G = std::max(a.G.norm(), b.G.norm());
      EXPECT_LE((a.gamma - b.gamma).norm(), 2.1 * G * step.norm() + 1e-15 * a.gamma.norm());
      EXPECT_NEAR(a.cost, b.cost,
                  2.1 * std::max(a.gamma.norm(), b.gamma.norm()) * step.norm() + 1e-14 * a.cost);
    }
  }
}

TEST_P(Laws, AreConvexAndTheirImpulsesMonotone) {
  Random random(3);
  for (int trial = 0; trial < 20000; ++trial) {
    const ContactData d = make(test::random_contact(random));
    const Vec3 x = test::random_velocity(random, law, d), y = test::random_velocity(random, law, d);
    const Value a = at(d, x), b = at(d, y), middle = at(d, 0.5 * (x + y));
    const Vec3 s = y - x;
    const double noise =
        1e-12 * (a.cost + b.cost) + 1e-15 * (a.gamma.norm() + b.gamma.norm()) * (x.norm() + y.norm());
    EXPECT_LE(middle.cost, 0.5 * (a.cost + b.cost) + noise) << trial;
    EXPECT_GE(b.cost, a.cost - a.gamma.dot(s) - noise - 1e-12 * std::abs(a.gamma.dot(s))) << trial;
    EXPECT_LE((b.gamma - a.gamma).dot(s), 1e-12 * (a.gamma.norm() + b.gamma.norm()) * s.norm()) << trial;
  }
}

TEST_P(Laws, StayInTheirCone) {
  Random random(4);
  for (int trial = 0; trial < 20000; ++trial) {
    const ContactInput in = test::random_contact(random);
    const ContactData d = make(in);
    const Value a = at(d, test::random_velocity(random, law, d));
    EXPECT_GE(a.gamma.z(), 0);
    const bool coupled = law == ContactLaw::sap || law == ContactLaw::similar;
    const double limit = coupled ? a.gamma.z() : d.normal_impulse;
    if (in.has_friction_tensor && law != ContactLaw::sap) {
      const Mat2 M = in.friction_tensor;
      if (std::abs(M.determinant()) < 1e-3 * M.squaredNorm()) continue;
      Mat2 inverse;
      inverse << M(1, 1), -M(0, 1), -M(1, 0), M(0, 0);
      inverse /= M.determinant();
      EXPECT_LE((inverse * a.gamma.head<2>()).norm(), limit * (1 + 1e-12));
    } else {
      EXPECT_LE(a.gamma.head<2>().norm(), d.mu_xx * limit * (1 + 1e-14) + 1e-300);
    }
  }
}

TEST_P(Laws, FrictionOnlyTakesEnergy) {
  Random random(5);
  for (int trial = 0; trial < 5000; ++trial) {
    const ContactData d = make(test::random_contact(random));
    const Vec3 v = test::random_velocity(random, law, d);
    EXPECT_LE(at(d, v).gamma.head<2>().dot((v + d.bias).head<2>()), 0);
  }
}

TEST_P(Laws, DerivativesAlongALineAreThoseOfTheFullHessian) {
  Random random(6);
  for (int trial = 0; trial < 5000; ++trial) {
    const ContactData d = make(test::random_contact(random));
    const Vec3 v = test::random_velocity(random, law, d), dv = test::random_vector(random, 1);
    const Value a = at(d, v);
    const LineDerivatives line =
        evaluate_along(law, normal, std::span(&d, 1), std::span(&v, 1), std::span(&dv, 1), 0);
    EXPECT_NEAR(line.first, -a.gamma.dot(dv), 1e-14 * a.gamma.norm() * dv.norm());
    EXPECT_NEAR(line.second, dv.dot(a.G * dv), 1e-13 * a.G.norm() * dv.squaredNorm());
    EXPECT_GE(line.second, 0);
  }
}

TEST_P(Laws, APoolIsTheSumOfItsContacts) {
  Random random(7);
  std::vector<ContactData> pool;
  std::vector<Vec3> v, dv, gamma(50), gamma_only(50);
  std::vector<Mat3> G(50);
  for (int i = 0; i < 50; ++i) {
    pool.push_back(make(test::random_contact(random)));
    v.push_back(test::random_velocity(random, law, pool.back()));
    dv.push_back(test::random_vector(random, 1));
  }
  const double cost = evaluate(law, normal, pool, v, gamma, G);
  EXPECT_EQ(cost, evaluate(law, normal, pool, v, gamma_only, {}));
  EXPECT_EQ(cost, evaluate(law, normal, pool, v, {}, {}));
  double sum = 0, first = 0;
  for (int i = 0; i < 50; ++i) {
    const Value a = at(pool[i], v[i]);
    sum += a.cost;
    EXPECT_EQ(a.gamma, gamma[i]);
    EXPECT_EQ(a.gamma, gamma_only[i]);
    EXPECT_EQ(a.G, G[i]);
    first -= at(pool[i], v[i] + 0.3 * dv[i]).gamma.dot(dv[i]);
  }
  EXPECT_EQ(cost, sum);
  EXPECT_NEAR(evaluate_along(law, normal, pool, v, dv, 0.3).first, first, 1e-12 * std::abs(first));
}

// A belt is a shift of the velocity, and nothing else.
TEST_P(Laws, SurfaceVelocityShiftsTheContactVelocity) {
  Random random(8);
  for (int trial = 0; trial < 200; ++trial) {
    ContactInput in = test::random_contact(random);
    in.bias.setZero();
    const ContactData still = make(in);
    in.bias = Vec3(0.5, -0.25, 0);
    const ContactData belt = make(in);
    const Vec3 v(uniform(random, -1, 1), uniform(random, -1, 1), still.normal.v_hat - 1);
    const Value a = at(still, v), b = at(belt, v - in.bias);
    EXPECT_LE((a.gamma - b.gamma).norm(), 1e-9 * a.gamma.norm());
    EXPECT_NEAR(a.cost, b.cost, 1e-9 * a.cost);
  }
}

TEST_P(Laws, NanIsNotHidden) {
  ContactInput in;
  in.distance = -1e-3;
  const ContactData d = make(in);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(at(d, Vec3(0, 0, nan)).cost));
  EXPECT_TRUE(std::isnan(at(d, Vec3(nan, 0, 0)).cost));
}

// --- Limits ----------------------------------------------------------------------------------------------

TEST_P(Laws, WithoutFrictionOnlyTheNormalActs) {
  ContactInput in;
  in.friction = 0;
  in.distance = -1e-3;
  in.v0 = Vec3(0, 0, -0.1);
  const ContactData d = make(in);
  for (double slip : {0.0, 1e-9, 1e-4, 1.0, 1e3}) {
    for (double v_n : {-1.0, 0.0, 0.01}) {
      const Value a = at(d, Vec3(slip, 0, v_n)), b = at(d, Vec3(0, 0, v_n));
      EXPECT_EQ(a.gamma, Vec3(0, 0, b.gamma.z()));
      EXPECT_EQ(a.cost, b.cost);
      EXPECT_EQ(a.G, Mat3(Vec3(0, 0, b.G(2, 2)).asDiagonal()));
    }
  }
  EXPECT_GT(at(d, Vec3::Zero()).gamma.z(), 0);
}

TEST_P(Laws, ZeroSlipHasNoFrictionAndAFiniteHessian) {
  ContactInput in;
  in.distance = -1e-3;
  const ContactData d = make(in);
  const Value a = at(d, Vec3::Zero());
  EXPECT_EQ(a.gamma.head<2>(), Vec2::Zero());
  // Sticking stiffness mu n / eps_s, or 1/R_t for sap.
  const double n0 = in.dt * (normal == NormalLaw::hertz ? 1e6 * std::pow(1e-3, 1.5) : 1e3);
  const double eps_s = law == ContactLaw::regularized_lagged
                           ? std::max(in.stiction_tolerance, in.sigma * in.w_t * in.friction * n0)
                           : in.stiction_tolerance;
  const double expected = law == ContactLaw::sap ? 1 / (in.sigma * in.w_t) : in.friction * n0 / eps_s;
  EXPECT_NEAR(a.G(0, 0), expected, 1e-12 * expected);
  EXPECT_EQ(a.G(0, 0), a.G(1, 1));
  EXPECT_EQ(a.G(0, 1), 0);
  EXPECT_EQ(region(law, normal, d, Vec3::Zero()), ContactRegion::sticking);
}

TEST_P(Laws, VeryLargeFrictionHoldsAndStaysFinite) {
  ContactInput in;
  in.distance = -1e-3;
  for (double mu : {1e3, 1e6, 1e9, std::numeric_limits<double>::infinity()}) {
    in.friction = mu;
    const ContactData d = make(in);
    for (double slip : {1e-12, 1e-6, 1e-3, 1.0}) {
      const Value a = at(d, Vec3(slip, 0, 0));
      EXPECT_TRUE(std::isfinite(a.cost) && a.gamma.allFinite() && a.G.allFinite()) << mu;
      EXPECT_LT(a.gamma.x(), 0);
      EXPECT_LE(-a.gamma.x(), mu * std::max(a.gamma.z(), d.normal_impulse) * (1 + 1e-12));
    }
    EXPECT_EQ(region(law, normal, d, Vec3(1e-9, 0, 0)), ContactRegion::sticking);
  }
}

TEST_P(Laws, NoStiffnessNoImpulse) {
  ContactInput in;
  in.distance = -1e-3;
  in.stiffness = 0;
  in.v0 = Vec3(1, 0, -1);
  const ContactData d = make(in);
  for (const Vec3& v : {Vec3(0, 0, 0), Vec3(1, 2, -1), Vec3(0, 0, -1), Vec3(0, 1, 1)}) {
    const Value a = at(d, v);
    EXPECT_EQ(a.cost, 0);
    EXPECT_EQ(a.gamma, Vec3::Zero());
    EXPECT_EQ(a.G, Mat3::Zero());
  }
}

TEST_P(Laws, OpenContactsDoNothing) {
  ContactInput in;
  in.distance = 1e-3;  // the gap closes at 0.2 m/s, or at 0.1 where the damper acts too
  const ContactData d = make(in);
  for (double v_n : {-0.09, 0.0, 1.0}) {
    const Value a = at(d, Vec3(0.001, 0, v_n));
    EXPECT_EQ(a.cost, 0);
    EXPECT_EQ(a.gamma, Vec3::Zero());
    EXPECT_EQ(a.G, Mat3::Zero());
    EXPECT_EQ(region(law, normal, d, Vec3(0, 0, v_n)), ContactRegion::open);
  }
  EXPECT_GT(at(d, Vec3(0, 0, -0.25)).gamma.z(), 0);  // and it stops what would pass through
}

TEST_P(Laws, InfiniteStiffnessIsNearRigid) {
  ContactInput in;
  in.stiffness = std::numeric_limits<double>::infinity();
  in.relaxation_time = 0;
  in.dissipation = 0;
  in.w_n = 0.5;
  in.beta = 0.8;
  const double g = 9.81, depth = in.beta * in.beta * g * in.dt * in.dt / (4 * M_PI * M_PI);
  in.distance = -depth;
  if (normal == NormalLaw::hertz && law != ContactLaw::sap) in.distance = -std::cbrt(depth * depth * 1e-6);
  const Value a = at(make(in), Vec3::Zero());
  EXPECT_NEAR(a.gamma.z(), g * in.dt / in.w_n, 1e-12 * g);
  EXPECT_TRUE(a.G.allFinite());
}

TEST_P(Laws, ImpulseOverTimeStepTendsToTheForce) {
  ContactInput in;
  in.distance = -1e-3;
  in.dissipation = 3;
  in.relaxation_time = 0.02;
  in.w_n = in.w_t = 1e-9;  // sap: neither near-rigid nor soft in slip
  const Vec3 v(0, 0, -0.04);
  in.v0 = v;
  double force = 0;
  if (law == ContactLaw::sap || normal == NormalLaw::kelvin_voigt)
    force = 1e6 * (1e-3 + 0.02 * 0.04);
  else
    force = 1e6 * std::pow(1e-3, normal == NormalLaw::hertz ? 1.5 : 1.0) * (1 + 3 * 0.04);
  for (double dt : {1e-4, 1e-6, 1e-8, 1e-10}) {
    in.dt = dt;
    const Value a = at(make(in), v);
    EXPECT_NEAR(a.gamma.z() / dt, force, force * (2 * dt * 0.04 / 1e-3 + 1e-7)) << dt;
    EXPECT_TRUE(a.G.allFinite());
  }
}

TEST_P(Laws, WeightIsCarriedAtTheStaticDepth) {
  ContactInput in;
  const double m = 2.5, g = 9.81;
  in.w_n = in.w_t = 1 / m;
  in.dt = 1e-3;
  in.stiffness = 1e5;  // compliant at this dt: period 31 ms
  const bool hertz = normal == NormalLaw::hertz && law != ContactLaw::sap;
  in.distance = -std::pow(m * g / in.stiffness, hertz ? 2.0 / 3 : 1);
  for (double d : {0.0, 50.0}) {
    in.dissipation = d;
    EXPECT_NEAR(at(make(in), Vec3::Zero()).gamma.z(), m * g * in.dt, 1e-14);
  }
}

std::string name(const testing::TestParamInfo<std::tuple<ContactLaw, NormalLaw>>& info) {
  const char* laws[] = {"sap", "lagged", "similar", "regularized_lagged"};
  const char* normals[] = {"hunt_crossley", "hertz", "kelvin_voigt"};
  return std::string(laws[static_cast<int>(std::get<0>(info.param))]) + "_with_" +
         normals[static_cast<int>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(Sap, Laws, testing::Values(std::tuple(ContactLaw::sap, NormalLaw::kelvin_voigt)),
                         name);
INSTANTIATE_TEST_SUITE_P(
    Fields, Laws,
    testing::Combine(testing::Values(ContactLaw::lagged, ContactLaw::similar, ContactLaw::regularized_lagged),
                     testing::Values(NormalLaw::hunt_crossley, NormalLaw::hertz, NormalLaw::kelvin_voigt)),
    name);

}  // namespace
}  // namespace capstan::contact_law_test
