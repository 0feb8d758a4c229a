// What slides along the inside of something stays on it, and keeps its energy: drums, bowls, loops of meshes,
// distance grids and height fields (contacts/late_contacts.h).
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/contact_simulation.h"

namespace capstan::curved_test {
namespace {

using test::Simulation;

constexpr double kSteps[] = {0.001, 0.002, 0.005, 0.01};
constexpr double kRadius = 0.015, kDrum = 0.2;  // [m]

// A ring about y, with so many facets inside and outside.
std::shared_ptr<TriangleMesh> ring_mesh(double inner, double outer, double half_width, int facets) {
  auto mesh = std::make_shared<TriangleMesh>();
  for (int i = 0; i < facets; ++i) {
    const double angle = 2 * std::numbers::pi * i / facets;
    for (const double r : {inner, outer}) {
      for (const double y : {-half_width, half_width})
        mesh->vertices.push_back(Vec3(r * std::cos(angle), y, r * std::sin(angle)));
    }
  }
  for (int i = 0; i < facets; ++i) {
    const int a = 4 * i, b = 4 * ((i + 1) % facets);
    const auto quad = [&](int p, int q, int r, int s) {
      mesh->triangles.push_back({p, q, r});
      mesh->triangles.push_back({p, r, s});
    };
    quad(a, b, b + 1, a + 1);          // inside
    quad(a + 2, a + 3, b + 3, b + 2);  // outside
    quad(a, a + 2, b + 2, b);
    quad(a + 1, b + 1, b + 3, a + 3);
  }
  return mesh;
}

Scene ball_in(const Shape& shape, const Vec3& position, const Vec3& velocity, bool has_gravity) {
  Scene scene = test::box_on_plane(0, 1e6);
  scene.shapes.clear();
  scene.bodies.clear();
  if (!has_gravity) scene.options.gravity.setZero();
  scene.shapes.push_back(test::make_shape("inside", kWorld, shape));
  scene.bodies.push_back(test::free_body("ball", position));
  scene.shapes.push_back(test::make_shape("ball", "ball", Sphere{kRadius}, 0.035));
  scene.initial.v["ball"] = {velocity.x(), velocity.y(), velocity.z(), 0, 0, 0};
  return scene;
}

// At 2 m/s it is deeper by up to 1 mm in a step of 10 ms than the plane of its contact tells. A stranger's
// ball left the drum through its wall at 5 ms. 0.035 v^2 / 0.185 = 0.757 N.
TEST(Curved, ABallRunsRoundInADrum) {
  const auto ring = ring_mesh(kDrum, kDrum + 0.03, 0.03, 720);
  const Shape shapes[] = {SurfaceMesh{ring}, SignedDistanceMesh{ring, 64}};
  for (const Shape& shape : shapes) {
    for (const double dt : kSteps) {
      for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::regularized_lagged, ContactLaw::sap}) {
        Simulation s(ball_in(shape, Vec3(kDrum - kRadius, 0, 0), Vec3(0, 0, 2), false), dt, law);
        double outermost = 0, impulse = 0;
        while (s.state.time < 1.5) {
          s.go(dt);
          outermost = std::max(outermost, std::hypot(s.state.q[0], s.state.q[2]) + kRadius);
          for (const Vec3& gamma : s.workspace.newton.impulse) impulse += gamma.z();
        }
        const double speed = s.state.v.head<3>().norm(), force = impulse / s.state.time;
        std::printf("drum, %s, law %d, %g ms: %.3f mm deep, %.4f m/s, %.3f N\n", shape_name(shape),
                    static_cast<int>(law), 1e3 * dt, 1e3 * (outermost - kDrum), speed, force);
        EXPECT_LT(outermost - kDrum, 0.02 * kRadius);
        EXPECT_NEAR(speed, 2, 0.03);
        EXPECT_NEAR(force, 0.757, 0.02);
      }
    }
  }
}

// The same where positions move along the mean of old and new velocities. A stranger's ball gained energy in
// a bowl, and fell through it.
TEST(Curved, ABallRunsRoundWithMidpoint) {
  const auto ring = ring_mesh(kDrum, kDrum + 0.03, 0.03, 720);
  for (const double dt : kSteps) {
    Simulation s(ball_in(SurfaceMesh{ring}, Vec3(kDrum - kRadius, 0, 0), Vec3(0, 0, 2), false), dt,
                 ContactLaw::coulomb);
    s.options.integrator = Integrator::midpoint;
    double outermost = 0;
    while (s.state.time < 1.5) {
      s.go(dt);
      outermost = std::max(outermost, std::hypot(s.state.q[0], s.state.q[2]) + kRadius);
    }
    const double speed = s.state.v.head<3>().norm();
    std::printf("drum, midpoint, %g ms: %.3f mm deep, %.4f m/s\n", 1e3 * dt, 1e3 * (outermost - kDrum),
                speed);
    EXPECT_LT(outermost - kDrum, 0.02 * kRadius);
    EXPECT_NEAR(speed, 2, 0.05);
  }
}

// With friction it rolls: from a start without spin 5/7 of the angular momentum about the touch are left.
TEST(Curved, ABallRollsRoundInADrum) {
  const auto ring = ring_mesh(kDrum, kDrum + 0.03, 0.03, 720);
  for (const bool spins : {false, true}) {
    for (const double dt : kSteps) {
      Scene scene = ball_in(SignedDistanceMesh{ring, 64}, Vec3(kDrum - kRadius, 0, 0), Vec3(0, 0, 2), false);
      scene.materials[0].friction = 0.5;
      if (spins) scene.initial.v["ball"][4] = 2 / kRadius;
      Simulation s(scene, dt, ContactLaw::coulomb);
      double outermost = 0;
      while (s.state.time < 1) {
        s.go(dt);
        outermost = std::max(outermost, std::hypot(s.state.q[0], s.state.q[2]) + kRadius);
      }
      const double speed = s.state.v.head<3>().norm();
      std::printf("drum with friction, %s, %g ms: %.3f mm deep, %.4f m/s\n", spins ? "rolls" : "slides",
                  1e3 * dt, 1e3 * (outermost - kDrum), speed);
      EXPECT_LT(outermost - kDrum, 0.02 * kRadius);
      EXPECT_NEAR(speed, spins ? 2 : 10.0 / 7, 0.03 + 3 * dt);
    }
  }
}

// A box and a cylinder in a drum of 1 m with facets of 2 degrees, as a stranger had them: each facet takes a
// little energy, nothing gives any.
TEST(Curved, ABoxSlidesRoundInADrum) {
  const auto ring = ring_mesh(1, 1.05, 0.3, 180);
  const Shape shapes[] = {Box{Vec3(0.05, 0.1, 0.05)}, Cylinder{0.06, 0.05}};
  for (const Shape& shape : shapes) {
    for (const double dt : kSteps) {
      Scene scene = ball_in(SurfaceMesh{ring}, Vec3(0, 0, -0.945), Vec3(9, 0, 0), true);
      scene.shapes.back() = test::make_shape("ball", "ball", shape, 1);
      scene.initial.v["ball"][4] = -9 / 0.945;
      Simulation s(scene, dt, ContactLaw::coulomb);
      double deepest = 0, rise = 0, energy = calc_mechanics(s.model, s.state).total();
      const double start = energy, kinetic = calc_mechanics(s.model, s.state).kinetic;
      while (s.state.time < 1) {
        s.go(dt);
        const double now = calc_mechanics(s.model, s.state).total();
        rise = std::max(rise, now - energy);
        energy = now;
        deepest = std::max(deepest, s.report.deepest);
      }
      std::printf("%s in a drum, %g ms: %.2f mm deep, %.1f %% lost, at most %.2f %% won in a step\n",
                  shape_name(shape), 1e3 * dt, 1e3 * deepest, 1e2 * (start - energy) / kinetic,
                  1e2 * rise / kinetic);
      EXPECT_LT(deepest, 0.004);
      EXPECT_LT(rise, 0.005 * kinetic);
      EXPECT_LT(energy, start + 0.002 * kinetic);
      EXPECT_GT(energy, start - 0.5 * kinetic);
    }
  }
}

// In z = r^2 / 2 it circles at 0.3 m, where v^2 = g r dz/dr, and runs up and down.
TEST(Curved, ABallCirclesInABowl) {
  constexpr int kSamples = 101;
  auto height = std::make_shared<std::vector<double>>();
  for (int i = 0; i < kSamples; ++i) {
    for (int j = 0; j < kSamples; ++j) {
      const double y = 0.01 * (i - 50), x = 0.01 * (j - 50);
      height->push_back(0.5 * (x * x + y * y));
    }
  }
  const HeightField bowl{kSamples, kSamples, Vec2(0.5, 0.5), 0.05, height};
  for (const double upwards : {0.0, 1.0}) {
    for (const double dt : kSteps) {
      const double r = 0.3, slope = std::atan(r);
      const Vec3 center(r - kRadius * std::sin(slope), 0, 0.5 * r * r + kRadius * std::cos(slope));
      const Vec3 v = upwards * Vec3(-std::cos(slope), 0, -std::sin(slope)) +
                     std::sqrt(9.81 * center.x() * std::tan(slope)) * Vec3(0, 1, 0);
      Simulation s(ball_in(bowl, center, v, true), dt, ContactLaw::coulomb);
      const double start = calc_mechanics(s.model, s.state).total();
      double deepest = 0;
      while (s.state.time < 3) {
        s.go(dt);
        deepest = std::max(deepest, s.report.deepest);
      }
      const double kinetic = 0.5 * 0.035 * v.squaredNorm(),
                   lost = (start - calc_mechanics(s.model, s.state).total()) / kinetic;
      std::printf("bowl, %g m/s downwards, %g ms: %.3f mm deep, %.1f %% of the energy lost\n", upwards,
                  1e3 * dt, 1e3 * deepest, 1e2 * lost);
      EXPECT_LT(deepest, 0.02 * kRadius);
      EXPECT_NEAR(lost, 0, 0.03);
    }
  }
}

}  // namespace
}  // namespace capstan::curved_test
