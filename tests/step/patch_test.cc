// Bodies that touch over patches, against arithmetic: rest depths, torsional and rolling resistance, impacts.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "capstan/io/read.h"
#include "capstan/step/contact_forces.h"
#include "capstan/step/mechanics.h"
#include "capstan/step/schedule.h"
#include "tests/support/contact_simulation.h"

namespace capstan::patch_test {
namespace {

using namespace test;

constexpr double kPi = std::numbers::pi;

Material patch_material(const std::string& name, double modulus, double friction = 0.5,
                        double dissipation = 50) {
  Material m;
  m.name = name;
  m.contact = ContactModel::patch;
  m.elastic_modulus = modulus;
  m.friction = friction;
  m.dissipation = dissipation;
  return m;
}

// One body of 1 kg above a rigid plane.
Scene on_rigid_plane(const Shape& shape, const Vec3& position, const Material& material) {
  Scene scene;
  scene.materials = {material, patch_material("rigid", kInfinity, material.friction)};
  scene.bodies = {free_body("a", position)};
  scene.shapes = {make_shape("plane", kWorld, HalfSpace{}), make_shape("a", "a", shape, 1)};
  scene.shapes[0].material = "rigid";
  scene.shapes[1].material = material.name;
  return scene;
}

double energy(const Simulation& run) {
  return calc_mechanics(run.model, run.state).total();
}

// F = E pi (R^2 - h^2) - 2 pi E (R^3 - h^3) / (3 R), h = R - d.
double sphere_depth(double E, double R, double force) {
  double low = 0, high = R;
  for (int i = 0; i < 200; ++i) {
    const double d = (low + high) / 2, h = R - d;
    const double f = E * kPi * (R * R - h * h) - 2 * kPi * E * (R * R * R - h * h * h) / (3 * R);
    (f < force ? low : high) = d;
  }
  return low;
}

TEST(Patches, ABallRestsAtTheDepthOfItsField) {
  for (const double E : {1e6, 1e7}) {
    const double exact = sphere_depth(E, 0.05, kGravity);
    Simulation run(on_rigid_plane(Sphere{0.05}, {0, 0, 0.05 - 0.9 * exact}, patch_material("m", E)), 0.001,
                   ContactLaw::coulomb);
    run.go(1);
    EXPECT_NEAR(0.05 - run.state.q[2], exact, 0.01 * exact) << E;
    EXPECT_LE(run.workspace.contacts.size(), 40);
    EXPECT_LT(run.state.v.norm(), 1e-6);
  }
}

TEST(Patches, ABoxRestsAtItsStiffnessWithEveryLaw) {
  const double E = 1e7, exact = kGravity * 0.05 / (E * 0.01);  // m g H / (E A)
  for (const ContactLaw law : {ContactLaw::sap, ContactLaw::lagged, ContactLaw::similar,
                               ContactLaw::regularized_lagged, ContactLaw::coulomb}) {
    for (const NormalLaw normal : {NormalLaw::hunt_crossley, NormalLaw::hertz, NormalLaw::kelvin_voigt}) {
      Simulation run(
          on_rigid_plane(Box{Vec3::Constant(0.05)}, {0, 0, 0.05 - 0.5 * exact}, patch_material("m", E)),
          0.005, law);
      run.options.contact.normal_law = normal;
      run.go(1);
      EXPECT_NEAR(0.05 - run.state.q[2], exact, 1e-3 * exact)
          << traits(law).name << " " << traits(normal).name;
      std::vector<ContactForce> forces;
      std::vector<PatchForce> patches;
      calc_contact_forces(run.workspace, &forces);
      sum_patch_forces(forces, &patches);
      ASSERT_EQ(patches.size(), 1u);
      EXPECT_NEAR(patches[0].force_W.z(), kGravity, 1e-4);
      EXPECT_NEAR(patches[0].area, 0.01, 1e-6);
      EXPECT_NEAR(patches[0].largest_pressure, kGravity / 0.01, 1e-2 * kGravity / 0.01);
      EXPECT_LT(patches[0].centre_W.head<2>().norm(), 1e-6);
    }
  }
}

// mu m g times the mean distance from the middle of the square, 0.0382598 m, over I = m s^2 / 6.
TEST(Patches, ASpinningBoxStopsInTheTimeOfItsFriction) {
  const double mu = 0.5, spin = 10, inertia = 0.01 / 6, rest = kGravity * 0.05 / 1e5;
  const double deceleration = mu * kGravity * 0.0382598 / inertia;
  EXPECT_NEAR(deceleration, 112.60, 0.01);
  // Laws that glide press more where the slip is faster, at the rim: a quarter more torque.
  for (const ContactLaw law : kLaws) {
    Simulation run(
        on_rigid_plane(Box{Vec3::Constant(0.05)}, {0, 0, 0.05 - rest}, patch_material("m", 1e7, mu)), 0.001,
        law);
    run.state.v[5] = spin;
    run.go(0.05);
    EXPECT_NEAR((spin - run.state.v[5]) / 0.05, deceleration,
                (traits(law).glides ? 0.3 : 0.01) * deceleration)
        << traits(law).name;
  }
  for (const double dt : {0.001, 0.01}) {
    Simulation run(
        on_rigid_plane(Box{Vec3::Constant(0.05)}, {0, 0, 0.05 - rest}, patch_material("m", 1e7, mu)), dt,
        ContactLaw::coulomb);
    run.state.v[5] = spin;
    run.go(0.05);
    EXPECT_NEAR((spin - run.state.v[5]) / 0.05, deceleration, 0.01 * deceleration) << dt;
    run.go(0.06);
    EXPECT_NEAR(run.state.v[5], 0, 1e-3);
  }
}

// A box of 1 kg with 1.2 m/s on fixed shapes.
Scene sliding_box(const Material& box, const Material& table) {
  Scene scene;
  scene.materials = {box, table};
  scene.bodies = {free_body("a", {-0.1, 0, 0.00999})};
  scene.shapes = {make_shape("a", "a", Box{Vec3(0.05, 0.05, 0.01)}, 1)};
  scene.shapes[0].material = box.name;
  return scene;
}

void add_table(const Shape& shape, const Vec3& position, Scene* scene) {
  scene->shapes.push_back(make_shape("table" + std::to_string(scene->shapes.size()), kWorld, shape));
  scene->shapes.back().pose.position = position;
  scene->shapes.back().material = scene->materials[1].name;
}

// v^2 / (2 mu g), less v dt / 2 by the steps.
double stopping_distance(const Scene& scene, double dt) {
  Simulation run(scene, dt, ContactLaw::coulomb);
  run.state.v[0] = 1.2;
  run.go(0.5);
  EXPECT_LT(run.state.v.norm(), 1e-3);
  return run.state.q[0] + 0.1 + 0.6 * dt;
}

// The pressure near the edges of a box is equal to that of a soft floor on planes inclined to it, which must
// not brake.
TEST(Patches, ASoftBoxSlidesOnSoftTablesAsFrictionTells) {
  const double exact = 1.2 * 1.2 / (2 * 0.5 * kGravity);
  for (const double table : {1e6, 1e7}) {
    for (const double box : {1e6, 1e7, kInfinity}) {
      for (const double dt : {0.001, 0.005}) {
        for (const bool is_plane : {true, false}) {
          Scene scene = sliding_box(patch_material("box", box), patch_material("table", table));
          if (is_plane) add_table(HalfSpace{}, Vec3::Zero(), &scene);
          if (!is_plane) add_table(Box{Vec3(0.5, 0.25, 0.05)}, {0, 0, -0.05}, &scene);
          EXPECT_NEAR(stopping_distance(scene, dt), exact, 0.03 * exact)
              << box << " " << table << " " << dt << " " << is_plane;
        }
      }
    }
  }
}

// v = g (sin a - mu cos a) t.
TEST(Patches, ASoftBoxSlidesDownASoftSlope) {
  const double angle = 35 * kPi / 180, mu = 0.5, t = 2;
  const Vec4 turn(std::cos(angle / 2), 0, std::sin(angle / 2), 0);
  const Vec3 up(std::sin(angle), 0, std::cos(angle));
  Scene scene = sliding_box(patch_material("box", 1e6, mu), patch_material("table", 1e6, mu));
  scene.shapes[0].shape = Box{Vec3::Constant(0.05)};
  scene.bodies[0].pose.position = 0.04999 * up;
  scene.bodies[0].pose.quat_wxyz = turn;
  add_table(HalfSpace{}, Vec3::Zero(), &scene);
  scene.shapes[1].pose.quat_wxyz = turn;
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  run.go(t);
  const double exact = kGravity * (std::sin(angle) - mu * std::cos(angle)) * t;
  EXPECT_NEAR(run.state.v.head<3>().norm(), exact, 0.02 * exact);
  EXPECT_LT(run.state.v.tail<3>().norm(), 0.01);
}

// Over the joint of two flush tables, whose sides meet what of the box is below their tops.
TEST(Patches, ASoftBoxSlidesOverASeam) {
  const double exact = 1.2 * 1.2 / (2 * 0.5 * kGravity);
  for (const double table : {1e6, kInfinity}) {
    for (const double dt : {0.001, 0.005}) {
      Scene scene = sliding_box(patch_material("box", 1e6), patch_material("table", table));
      for (const double x : {-0.25, 0.25}) add_table(Box{Vec3(0.25, 0.25, 0.05)}, {x, 0, -0.05}, &scene);
      EXPECT_NEAR(stopping_distance(scene, dt), exact, 0.03 * exact) << table << " " << dt;
    }
  }
}

// Boxes that stand on an edge or a corner of a soft floor fall over, with no energy from the patch, and lie.
TEST(Patches, BoxesFallFromEdgesAndCornersOfASoftFloor) {
  for (const Vec4& turn : {Vec4(1, 0.40, 0, 0), Vec4(1, 0.35, 0.3, 0.1)}) {
    for (const double dissipation : {0.1, 50.0}) {
      Scene scene = on_rigid_plane(Box{Vec3(0.05, 0.04, 0.03)}, {0, 0, 0.1},
                                   patch_material("m", 1e6, 0.5, dissipation));
      scene.materials[1].elastic_modulus = 2e6;
      scene.bodies[0].pose.quat_wxyz = turn.normalized();
      Simulation run(scene, 0.002, ContactLaw::coulomb);
      const double start = energy(run);
      double most = start;
      for (int i = 0; i < 2000; ++i) {
        run.go(0.002);
        most = std::max(most, energy(run));
      }
      EXPECT_LT(most - start, 1e-6 * (start + 1)) << turn.transpose() << " " << dissipation;
      if (dissipation > 1) {
        EXPECT_LT(run.state.v.norm(), 1e-4) << turn.transpose();
      }
      EXPECT_LT(run.state.q[2], 0.051);
    }
  }
}

// Dissipation presses more where the ball comes down and less where it lifts: p (1 + d w x) at x before the
// middle, M = d w integral of p x^2 dA. It rolls about the patch, at h below its centre: v = w h, and
//   (m + I / h^2) dv/dt = -M / h = -lambda (m + I / h^2) v.
TEST(Patches, RollingResistance) {
  const double E = 1e5, R = 0.05, d = 2, speed = 0.2, inertia = 0.4 * R * R;
  const double depth = sphere_depth(E, R, kGravity), h = R - depth, a = std::sqrt(R * R - h * h);
  const auto lambda = [&](double dissipation) {
    double moment = 0;                 // over w
    for (int i = 0; i < 10000; ++i) {  // x^2 averages to r^2 / 2 around
      const double r = (i + 0.5) * a / 10000;
      moment += dissipation * E * (1 - std::hypot(r, h) / R) * r * r / 2 * 2 * kPi * r * a / 10000;
    }
    return moment / (h * h + inertia);
  };
  Scene scene = on_rigid_plane(Sphere{R}, {0, 0, R - depth}, patch_material("m", E, 1, d));
  scene.shapes[1].patch.rings = 6;
  const auto error_of = [&](double dt) {
    Simulation run(scene, dt, ContactLaw::coulomb);
    run.go(0.5);  // to rest on it
    run.state.v[0] = speed;
    run.state.v[4] = speed / h;
    run.go(0.1);
    const double before = run.state.v[0];
    run.go(0.2);
    return std::log(before / run.state.v[0]) / 0.2 / lambda(d) - 1;
  };
  for (const double dt : {1e-4, 1e-3, 5e-3}) EXPECT_NEAR(error_of(dt), 0, 0.03) << dt;
}

// Without dissipation wheels roll down a slope as rigid ones do, a = g sin / (1 + I / (m h^2)), at any time
// step: a patch goes along with what rolls.
TEST(Patches, WheelsRollDownASlope) {
  const double R = 0.05, slope = 15 * kPi / 180, t = 1;
  for (const Shape& shape : {Shape(Cylinder{R, 0.1}), Shape(Sphere{R}), Shape(Capsule{R, 0.05}),
                             Shape(Ellipsoid{Vec3::Constant(R)}), Shape(Ellipsoid{Vec3(R, R, 1.6 * R)})}) {
    for (const double dt : {0.001, 0.005, 0.01}) {
      Scene scene = on_rigid_plane(shape, {0, 0, R - 5e-4}, patch_material("m", 1e6, 0.6, 0));
      scene.materials[1].dissipation = 0;
      scene.bodies[0].pose.quat_wxyz = Vec4(std::sqrt(0.5), std::sqrt(0.5), 0, 0);  // its axis along y
      scene.options.gravity = kGravity * Vec3(std::sin(slope), 0, -std::cos(slope));
      Simulation run(scene, dt, ContactLaw::coulomb);
      run.go(t);
      const double h = run.state.q[2];  // it rolls about the patch
      const double inertia = run.model.links[1].inertia(2, 2) / (run.model.links[1].mass * h * h);
      const double exact = kGravity * std::sin(slope) * t / (1 + inertia);
      EXPECT_NEAR(run.state.v[0], exact, 0.02 * exact) << shape_name(shape) << " " << dt;
    }
  }
}

// A cylinder that spins on the spot is driven by mu m g until it rolls: friction of each point is within the
// cone of its own load, however many points there are.
TEST(Patches, ASpinningCylinderIsDrivenByItsFriction) {
  const double mu = 0.3, R = 0.05, w = 40;
  for (const double dt : {0.001, 0.005}) {
    Scene scene = on_rigid_plane(Cylinder{R, 0.1}, {0, 0, R - 2e-4}, patch_material("m", 1e7, mu, 0.5));
    scene.bodies[0].pose.quat_wxyz = Vec4(std::sqrt(0.5), std::sqrt(0.5), 0, 0);  // its axis along y
    Simulation run(scene, dt, ContactLaw::coulomb);
    run.go(0.3);
    run.state.v.segment<3>(3) = Vec3(0, w, 0);
    const double t = 0.1, before = run.state.v[0];
    for (double end = run.state.time + t; run.state.time < end - 1e-9;) {
      run.go(dt);
      EXPECT_LT(run.report.solver.cone_violation, 1e-3);
    }
    EXPECT_NEAR(run.state.v[0] - before, mu * kGravity * t, 0.05 * mu * kGravity * t) << dt;
  }
}

// Six boxes, each dropped askew onto the one below.
TEST(Patches, ATowerComesToRest) {
  for (const double dt : {0.002, 0.01}) {
    Scene scene;
    scene.materials = {patch_material("default", 1e7), patch_material("rigid", kInfinity)};
    scene.shapes = {make_shape("plane", kWorld, HalfSpace{})};
    scene.shapes[0].material = "rigid";
    for (int i = 0; i < 6; ++i) {
      const std::string name = "box" + std::to_string(i);
      scene.bodies.push_back(free_body(name, {0.003 * (i % 2), 0.002 * (i % 3), 0.06 + 0.115 * i}));
      scene.bodies.back().pose.quat_wxyz =
          Vec4(1, 0.03 * std::sin(3.0 * i), 0.03 * std::cos(3.0 * i), 0.1).normalized();
      scene.shapes.push_back(make_shape(name, name, Box{Vec3::Constant(0.05)}, 1));
    }
    Simulation run(scene, dt, ContactLaw::coulomb);
    run.go(4);
    EXPECT_LT(run.state.v.cwiseAbs().maxCoeff(), 5e-3) << dt;
    for (int i = 0; i < 6; ++i) EXPECT_NEAR(run.state.q[7 * i + 2], 0.05 + 0.1 * i, 5e-4) << dt << " " << i;
  }
}

TEST(Patches, NothingGoesThroughAtAnySpeed) {
  for (const double speed : {1.0, 5.0, 30.0, 100.0}) {
    for (const Shape& shape :
         {Shape(Sphere{0.05}), Shape(Box{Vec3(0.05, 0.05, 0.005)}), Shape(Cylinder{0.05, 0.02})}) {
      for (const double modulus : {1e6, 1e8}) {
        Simulation run(on_rigid_plane(shape, {0, 0, 0.2}, patch_material("m", modulus)), 0.005,
                       ContactLaw::coulomb);
        run.state.v[2] = -speed;
        run.go(2);
        EXPECT_GT(run.state.q[2], 0) << speed << " " << shape_name(shape) << " " << modulus;
        EXPECT_LT(run.state.q[2], 0.06) << speed << " " << shape_name(shape) << " " << modulus;
        EXPECT_LT(run.state.v.norm(), 0.05) << speed << " " << shape_name(shape) << " " << modulus;
      }
    }
  }
}

// A body pushed deeper than its field is caught by points and comes out.
TEST(Patches, PunchThroughIsPushedOut) {
  Simulation run(on_rigid_plane(Sphere{0.05}, {0, 0, -0.01}, patch_material("m", 1e6)), 0.005,
                 ContactLaw::coulomb);
  run.go(5);
  EXPECT_GT(run.state.q[2], 0.045);
}

// A ball too soft for its fall, which its field could not stop, comes back no higher than it fell from.
TEST(Patches, PunchThroughGivesNoEnergy) {
  for (const double dissipation : {0.0, 0.1, 50.0}) {
    for (const double dt : {0.001, 0.005}) {
      Simulation run(
          on_rigid_plane(Sphere{0.05}, {0, 0, 1.05}, patch_material("foam", 1e5, 0.8, dissipation)), dt,
          ContactLaw::coulomb);
      const double before = energy(run);
      for (double t = dt; t < 2; t += dt) {
        run.go(dt);
        ASSERT_LT(energy(run), 1.01 * before) << dissipation << " " << dt << " " << t;
      }
    }
  }
}

// Kinetic and potential energy is never more than at the beginning, and a ball that bounces without losses
// comes back lower each time, or as high.
TEST(Patches, EnergyDoesNotGrow) {
  for (const Shape& shape :
       {Shape(Sphere{0.05}), Shape(Box{Vec3(0.05, 0.04, 0.03)}), Shape(Capsule{0.03, 0.05})}) {
    for (const double dissipation : {0.1, 5.0, 50.0}) {
      for (const double dt : {0.001, 0.005}) {
        Scene scene = on_rigid_plane(shape, {0, 0, 0.3}, patch_material("m", 1e6, 0.5, dissipation));
        scene.bodies[0].pose.quat_wxyz = Vec4(1, 0.2, 0.3, 0.1).normalized();
        Simulation run(scene, dt, ContactLaw::coulomb);
        const double start = energy(run);
        double most = start;
        for (int i = 0; i < static_cast<int>(2 / dt); ++i) {
          run.go(dt);
          most = std::max(most, energy(run));
        }
        EXPECT_LT(most - start, 1e-6 * (start + 1)) << shape_name(shape) << " " << dissipation << " " << dt;
      }
    }
  }
}

// Two bodies without gravity: momentum stays, and swapping their order in the scene changes nothing.
TEST(Patches, BodiesPushEachOtherAlike) {
  const auto run_of = [&](bool swapped) {
    Scene scene;
    scene.options.gravity.setZero();
    scene.materials = {patch_material("soft", 1e5, 0.5, 5), patch_material("hard", 1e6, 0.5, 5)};
    const auto add = [&](const char* name, const Shape& shape, const Vec3& p, const char* material) {
      scene.bodies.push_back(free_body(name, p));
      scene.shapes.push_back(make_shape(name, name, shape, 1));
      scene.shapes.back().material = material;
    };
    if (!swapped) add("a", Sphere{0.05}, {0, 0, 0}, "soft");
    add("b", Box{Vec3::Constant(0.05)}, {0.12, 0.03, 0.01}, "hard");
    if (swapped) add("a", Sphere{0.05}, {0, 0, 0}, "soft");
    Simulation run(scene, 0.002, ContactLaw::coulomb);
    run.state.v[swapped ? 6 : 0] = 1;
    run.go(0.3);
    return run;
  };
  const Simulation one = run_of(false), other = run_of(true);
  const Mechanics m = calc_mechanics(one.model, one.state);
  EXPECT_NEAR(m.momentum.tail<3>().x(), 1, 1e-9);
  EXPECT_NEAR(m.momentum.tail<3>().tail<2>().norm(), 0, 1e-9);
  EXPECT_LT(one.state.v[0], 0.9);
  EXPECT_NEAR((one.state.v.head<6>() - other.state.v.tail<6>()).norm(), 0, 1e-5);
  EXPECT_NEAR((one.state.v.tail<6>() - other.state.v.head<6>()).norm(), 0, 1e-4);
}

TEST(Patches, SameBitsForAnyNumberOfThreadsAndWithReuse) {
  Scene scene = falling_heap(24);
  scene.materials[0].contact = ContactModel::patch;
  const auto run_of = [&](int threads) {
    Simulation run(scene, 0.005, ContactLaw::coulomb);
    run.options.threads = threads;
    run.go(1.5);
    return run;
  };
  const Simulation one = run_of(1), two = run_of(2);
  EXPECT_TRUE(one.state.q == two.state.q);
  for (int i = 0; i < 24; ++i) EXPECT_GT(one.state.q[7 * i + 2], 0);
}

// What is taken over from the step before is what would be found anew, with the material of each point.
TEST(Patches, ReuseChangesNothing) {
  Scene scene;
  scene.materials = {patch_material("default", 1e6), patch_material("rigid", kInfinity)};
  scene.shapes = {make_shape("plane", kWorld, HalfSpace{})};
  scene.shapes[0].material = "rigid";
  for (int i = 0; i < 4; ++i) {
    const std::string name = "body" + std::to_string(i);
    scene.bodies.push_back(free_body(name, {0.3 * i, 0, 0.055}));
    scene.shapes.push_back(
        make_shape(name, name, i % 2 ? Shape(Sphere{0.05}) : Shape(Box{Vec3::Constant(0.05)}), 1));
  }
  Simulation run(scene, 0.005, ContactLaw::coulomb);
  run.go(4);
  State state = run.state;
  run.go(0.005);
  Workspace fresh = make_workspace(run.model);
  step(run.model, run.options, {}, &state, &fresh);
  const Contacts &a = run.workspace.contacts, &b = fresh.contacts;
  EXPECT_GT(std::count(a.is_reused.begin(), a.is_reused.end(), 1), 0);
  EXPECT_EQ(std::count(b.is_reused.begin(), b.is_reused.end(), 1), 0);
  ASSERT_EQ(a.size(), b.size());
  for (int i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a.p_WC[i] == b.p_WC[i]);
    EXPECT_EQ(a.distance[i], b.distance[i]);
    EXPECT_TRUE(a.material[i] == b.material[i]);
  }
}

TEST(Patches, RocksRestOnAFewPointsAsOnMany) {
  for (const int points : {0, 8}) {
    Scene scene = on_rigid_plane(Box{Vec3(0.05, 0.04, 0.03)}, {0, 0, 0.05}, patch_material("m", 1e7));
    scene.bodies[0].pose.quat_wxyz = Vec4(1, 0.2, 0.1, 0).normalized();
    scene.shapes[1].patch.points = points;
    Simulation run(scene, 0.005, ContactLaw::coulomb);
    run.go(2);
    EXPECT_LT(run.state.v.norm(), 1e-5);
    EXPECT_NEAR(run.state.q[2], 0.03, 1e-4);
    if (points > 0) {
      EXPECT_LE(run.workspace.contacts.size(), points);
    }
  }
}

// scenes/patch_gripper.yaml: its weight turns the spatula by 0.08 g 0.09, half for each pad.
TEST(Patches, TheShippedGripperHoldsTurnsAndHolds) {
  const Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/patch_gripper.yaml");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  Diagnostics diagnostics;
  const Schedule schedule = make_schedule(model, scene.controls, &diagnostics);
  const StepOptions options = step_options(model);
  Input input;
  std::vector<ContactForce> forces;
  std::vector<PatchForce> patches;
  const auto pitch_at = [&](double time) {
    while (state.time < time - 0.5 * options.dt) {
      apply_schedule(model, schedule, options.dt, &state, &input);
      step(model, options, input, &state, &workspace);
    }
    calc_contact_forces(workspace, &forces);
    sum_patch_forces(forces, &patches);
    return 2 * std::atan2(state.q[7], state.q[5]);  // of the quaternion of the spatula
  };
  const double first = pitch_at(1), held = pitch_at(1.9);
  EXPECT_LT(std::abs(first), 0.05);
  EXPECT_NEAR(held, first, 2e-3);
  ASSERT_EQ(patches.size(), 2u);
  for (const PatchForce& patch : patches) {
    EXPECT_NEAR(patch.normal_force, 16, 0.05);
    EXPECT_NEAR(std::abs(patch.moment_W.y()), 0.5 * 0.08 * kGravity * 0.09, 0.05 * 0.0353);
    EXPECT_NEAR(std::abs(patch.force_W.z()), 0.5 * 0.08 * kGravity, 1e-3);
  }
  const double turned = pitch_at(2.5), end = pitch_at(4);
  EXPECT_GT(turned, 0.5);
  EXPECT_NEAR(end, turned, 5e-3);
}

}  // namespace
}  // namespace capstan::patch_test
