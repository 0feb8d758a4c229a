// Contact only where bodies meet: what slides over seams, flies past corners or spins above a plane keeps its
// speed.
#include <gtest/gtest.h>

#include "capstan/math/rotation.h"
#include "tests/support/contact_simulation.h"

namespace capstan::ghosts_test {
namespace {

using test::Simulation;

constexpr int kNumLaws = static_cast<int>(kContactLawNames.size());
ContactLaw law_of(int l) {
  return static_cast<ContactLaw>(l);
}
constexpr double kSteps[] = {0.001, 0.002, 0.005, 0.01};
constexpr double kKept = 0.995;

// 24 coplanar tiles of 20 cm, their tops at z = 0, along x.
Scene tiles(double friction) {
  Scene scene = test::box_on_plane(friction, 1e6);
  scene.shapes.erase(scene.shapes.begin());
  for (int i = 0; i < 24; ++i) {
    ShapeInstance tile = test::make_shape("tile" + std::to_string(i), kWorld, Box{Vec3(0.1, 0.1, 0.05)});
    tile.pose.position = Vec3(0.2 * i, 0, -0.05);
    scene.shapes.push_back(tile);
  }
  return scene;
}

void expect_kept(Scene scene, double speed, const char* what) {
  scene.initial.v["box"] = {speed, 0, 0, 0, 0, 0};
  for (const double dt : kSteps) {
    for (int l = 0; l < kNumLaws; ++l) {
      Simulation s(scene, dt, law_of(l));
      s.go(1);
      const double kept = s.state.v[0] / speed;
      EXPECT_GT(kept, kKept) << what << ", " << kContactLawNames[l] << ", dt " << dt;
      EXPECT_LT(kept, 1.0001) << what << ", " << kContactLawNames[l] << ", dt " << dt;
      EXPECT_NEAR(s.state.q[2], 0.05, 1e-3) << what << ", " << kContactLawNames[l] << ", dt " << dt;
    }
  }
}

TEST(Ghosts, ABoxSlidesOverTiles) {
  expect_kept(tiles(0), 3, "3 m/s");
}
TEST(Ghosts, ABoxSlidesSlowlyOverTiles) {
  expect_kept(tiles(0), 0.3, "0.3 m/s");
}
TEST(Ghosts, ABallSlidesOverTiles) {
  Scene scene = tiles(0);
  scene.shapes[0] = test::make_shape("box", "box", Sphere{0.05}, 1);
  expect_kept(scene, 3, "ball");
}

// A ball flies past the edge of a slab at `angle` below the horizontal and misses it by `clear`.
double fly_past(double angle, double clear, double speed, double dt, ContactLaw law, double phase) {
  Scene scene = test::box_on_plane(0.5, 1e6);
  scene.options.gravity.setZero();
  scene.shapes[0] = test::make_shape("slab", kWorld, Box{Vec3(0.5, 0.5, 0.1)});
  scene.shapes[0].pose.position = Vec3(-0.5, 0, -0.1);  // its edge is the y axis
  scene.shapes[1] = test::make_shape("box", "box", Sphere{0.05}, 1);
  const Vec3 along(std::cos(angle), 0, -std::sin(angle)), off(std::sin(angle), 0, std::cos(angle));
  const Vec3 p = (0.05 + clear) * off - (0.3 + phase * speed * dt) * along, v = speed * along;
  scene.initial.q["box"] = {p.x(), p.y(), p.z(), 1, 0, 0, 0};
  scene.initial.v["box"] = {v.x(), 0, v.z(), 0, 0, 0};
  Simulation s(scene, dt, law);
  s.go(0.6 / speed + 2 * dt);
  return s.state.v.norm() / speed;
}

TEST(Ghosts, ABallFliesPastACorner) {
  for (const double dt : kSteps) {
    for (int l = 0; l < kNumLaws; ++l) {
      for (int phase = 0; phase < 8; ++phase) {
        EXPECT_NEAR(fly_past(M_PI / 6, 2e-4, 2, dt, law_of(l), phase / 8.0), 1, 1e-12)
            << kContactLawNames[l] << ", dt " << dt << ", " << phase;
        EXPECT_NEAR(fly_past(M_PI / 4, 5e-3, 10, dt, law_of(l), phase / 8.0), 1, 1e-12)
            << kContactLawNames[l] << ", dt " << dt << ", " << phase;
      }
    }
  }
}

// A blade of radius 0.2 m, hinged, or free in space.
Scene blade(bool hinged) {
  Scene scene = test::box_on_plane(0.5, 1e6);
  scene.options.gravity = hinged ? Vec3(0, 0, -9.81) : Vec3(0, 0, 0);
  Body& body = scene.bodies[0];
  body.pose.position = Vec3(0, 0, 0.205);
  if (hinged) {
    body.joints[0].type = JointType::revolute;
    body.joints[0].axis = Vec3(0, 1, 0);
  }
  scene.shapes[1] =
      test::make_shape("box", "box", Box{Vec3(std::sqrt(0.2 * 0.2 - 0.01 * 0.01), 0.02, 0.01)}, 1);
  scene.initial.v["box"] = hinged ? std::vector<double>{60.0} : std::vector<double>{0, 0, 0, 0, 60, 0};
  return scene;
}

TEST(Ghosts, ABladeSpinsAboveAPlane) {
  for (const bool hinged : {true, false}) {
    for (const double dt : kSteps) {
      for (int l = 0; l < kNumLaws; ++l) {
        Simulation s(blade(hinged), dt, law_of(l));
        s.go(1);
        EXPECT_NEAR(s.state.v[hinged ? 0 : 4], 60, 0.3)
            << kContactLawNames[l] << ", dt " << dt << (hinged ? ", hinged" : ", free");
      }
    }
  }
}

// With friction a box on tiles decelerates as on one slab. (Lagged friction is not among these: where a
// second tile takes over a part of the load, its limit is that of the load before, docs/laws.md.)
TEST(Ghosts, ABoxOnTilesStopsAsOnASlab) {
  for (const double dt : kSteps) {
    for (const ContactLaw law : {ContactLaw::sap, ContactLaw::similar, ContactLaw::coulomb}) {
      double stop[2];
      for (const bool slab : {false, true}) {
        Scene scene = tiles(0.3);
        if (slab) {
          scene.shapes.resize(2);
          scene.shapes[1].shape = Box{Vec3(2.5, 0.1, 0.05)};
          scene.shapes[1].pose.position.x() = 2.3;
        }
        scene.initial.v["box"] = {3, 0, 0, 0, 0, 0};
        Simulation s(scene, dt, law);
        s.go(0.5);
        stop[slab] = 3 - s.state.v[0];
      }
      EXPECT_NEAR(stop[0], stop[1], 0.01 * stop[1]) << static_cast<int>(law) << ", dt " << dt;
    }
  }
}

}  // namespace
}  // namespace capstan::ghosts_test
