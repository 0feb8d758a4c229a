// Soft bodies on grounds other than planes: height fields and meshes with a grid of distances, by points and
// by patches. They are flat here, with edges of cells and triangles that what slides over them is not to
// feel: what is true on a plane is true on them.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/model/add_soft_body.h"
#include "capstan/step/contact_forces.h"
#include "capstan/step/mechanics.h"
#include "tests/support/contact_simulation.h"

namespace capstan::soft_ground_test {
namespace {

using namespace test;

constexpr double kSide = 0.1, kMass = 1;  // [m], [kg] of a cube
constexpr double kSteps[] = {0.001, 0.005, 0.01};
enum Ground { plane, height_field, grid };
constexpr const char* kGrounds[] = {"plane", "height field", "grid"};

// 2.4 x 0.48 x 0.1 m, its top at z = 0 and cut into cells of 40 mm.
std::shared_ptr<const TriangleMesh> make_slab() {
  const int nx = 60, ny = 12;
  const double dx = 0.04, depth = 0.1;
  auto mesh = std::make_shared<TriangleMesh>();
  const auto vertex = [&](int i, int j, int top) { return ((i * (ny + 1)) + j) * 2 + top; };
  for (int i = 0; i <= nx; ++i) {
    for (int j = 0; j <= ny; ++j) {
      for (const double z : {-depth, 0.0})
        mesh->vertices.push_back(Vec3(dx * (i - nx / 2), dx * (j - ny / 2), z));
    }
  }
  const auto quad = [&](int a, int b, int c, int d) {
    mesh->triangles.push_back({a, b, c});
    mesh->triangles.push_back({a, c, d});
  };
  for (int i = 0; i < nx; ++i) {
    for (int j = 0; j < ny; ++j) {
      quad(vertex(i, j, 1), vertex(i + 1, j, 1), vertex(i + 1, j + 1, 1), vertex(i, j + 1, 1));
      quad(vertex(i, j, 0), vertex(i, j + 1, 0), vertex(i + 1, j + 1, 0), vertex(i + 1, j, 0));
    }
    quad(vertex(i, 0, 0), vertex(i + 1, 0, 0), vertex(i + 1, 0, 1), vertex(i, 0, 1));
    quad(vertex(i + 1, ny, 0), vertex(i, ny, 0), vertex(i, ny, 1), vertex(i + 1, ny, 1));
  }
  for (int j = 0; j < ny; ++j) {
    quad(vertex(0, j + 1, 0), vertex(0, j, 0), vertex(0, j, 1), vertex(0, j + 1, 1));
    quad(vertex(nx, j, 0), vertex(nx, j + 1, 0), vertex(nx, j + 1, 1), vertex(nx, j, 1));
  }
  return mesh;
}

Shape make_ground(Ground ground) {
  if (ground == height_field) {
    HeightField field{13, 61, Vec2(1.2, 0.24), 0.1, nullptr};
    field.height = std::make_shared<const std::vector<double>>(13 * 61, 0.0);
    return field;
  }
  if (ground == grid) return SignedDistanceMesh{make_slab(), 64};
  return HalfSpace{};
}

// A soft cube that starts `above` the ground; gravity as on a slope down along x.
Scene on_ground(Ground ground, bool patches, double friction, double slope, double speed, double above) {
  Scene scene;
  Material material;
  material.name = "gel";
  material.friction = friction;
  if (patches) material.contact = ContactModel::patch;
  material.elastic_modulus = 1e6;
  scene.materials = {material, material};
  scene.materials[1].name = "ground";
  scene.materials[1].elastic_modulus = kInfinity;
  scene.shapes = {make_shape("ground", kWorld, make_ground(ground))};
  scene.shapes[0].material = "ground";
  scene.options.gravity = kGravity * Vec3(std::sin(slope), 0, -std::cos(slope));
  SoftBodySpec spec;
  spec.name = "cube";
  spec.mesh = std::make_shared<const TetMesh>(make_box_tets(Vec3::Constant(kSide), {3, 3, 3}));
  spec.young_modulus = 1e5;
  spec.poisson_ratio = 0.3;
  spec.density = kMass / (kSide * kSide * kSide);
  spec.beta = 0.02;
  spec.pose.position = Vec3(-0.8137, 0.0123, 0.5 * kSide + above);
  spec.material = "gel";
  spec.velocity = Vec3(speed, 0, 0);
  scene.soft_bodies = {spec};
  return scene;
}

Vec3 force_on_cube(const Simulation& run) {
  std::vector<ContactForce> forces;
  calc_contact_forces(run.workspace, &forces);
  Vec3 sum = Vec3::Zero();
  for (const ContactForce& f : forces) sum += (run.model.shapes[f.shape_b].link != 0 ? 1 : -1) * f.force_W();
  return sum;
}

std::string name_of(Ground ground, bool patches, double dt) {
  return fmt::format("{}, {}, {:g} ms", kGrounds[ground], patches ? "patches" : "points", 1e3 * dt);
}

template <class F>
void for_each_ground(const F& check) {
  for (const bool patches : {false, true}) {
    for (const Ground ground : {plane, height_field, grid}) {
      for (const double dt : kSteps) check(ground, patches, dt);
    }
  }
}

// Its weight, and as high as on a plane. By points it stands on balls of 0.02 of the mean edge, pressed in by
// p / k with k = 1000 E / size: 981 Pa / 1e9 Pa/m = 1 um. By patches it is in the ground by p H / E_patch =
// 49 um. Its own weight shortens it by about rho g h^2 / 2 E, and the middle sinks by rho g h^2 / 6 E = 0.16
// mm.
TEST(SoftGround, ACubeRestsWithItsWeight) {
  double height[2] = {};
  for_each_ground([&](Ground ground, bool patches, double dt) {
    const std::string name = name_of(ground, patches, dt);
    Simulation run(on_ground(ground, patches, 0.5, 0, 0, 0.002), dt, ContactLaw::coulomb);
    run.go(1);
    const Vec3 force = force_on_cube(run);
    const double z = calc_mechanics(run.model, run.state).center_of_mass.z();
    std::printf("%s: force %.8f of the weight, sideways %.1e, height %.7f\n", name.c_str(),
                force.z() / (kMass * kGravity), force.head<2>().norm() / (kMass * kGravity), z);
    EXPECT_NEAR(force.z(), kMass * kGravity, 1e-5 * kMass * kGravity) << name;
    EXPECT_LT(force.head<2>().norm(), 1e-4 * kMass * kGravity) << name;
    EXPECT_LT(run.state.v.norm(), 1e-4) << name;
    if (ground == plane && dt == kSteps[0]) height[patches] = z;
    EXPECT_NEAR(z, height[patches], 1e-6) << name;
  });
}

// Over the edges of 15 cells.
TEST(SoftGround, ACubeSlidesWithoutFriction) {
  for_each_ground([&](Ground ground, bool patches, double dt) {
    const std::string name = name_of(ground, patches, dt);
    Simulation run(on_ground(ground, patches, 0, 0, 1, 0.0006), dt, ContactLaw::coulomb);
    run.go(0.6);
    const Mechanics m = calc_mechanics(run.model, run.state);
    std::printf("%s: momentum %.6f %.6f %.6f, x %.5f\n", name.c_str(), m.momentum[3], m.momentum[4],
                m.momentum[5], m.center_of_mass.x() + 0.8137);
    EXPECT_NEAR(m.momentum[3], kMass, 1e-3) << name;
    EXPECT_NEAR(m.momentum[4], 0, 1e-3) << name;
    EXPECT_NEAR(m.center_of_mass.x(), -0.8137 + 0.6, 1e-3) << name;
  });
}

// Half a degree below atan(mu) it stays, half a degree above it slides with g (sin - mu cos).
TEST(SoftGround, ACubeSticksAndSlidesAsCoulombTells) {
  const double mu = 0.5, half_degree = M_PI / 360;
  for_each_ground([&](Ground ground, bool patches, double dt) {
    const std::string name = name_of(ground, patches, dt);
    for (const double sign : {-1.0, 1.0}) {
      const double slope = std::atan(mu) + sign * half_degree;
      Simulation run(on_ground(ground, patches, mu, slope, 0, 0.0005), dt, ContactLaw::coulomb);
      run.go(0.5);
      const double before = calc_mechanics(run.model, run.state).momentum[3];
      run.go(0.2);
      const double gain = calc_mechanics(run.model, run.state).momentum[3] - before;
      const double wanted = std::max(0.0, kMass * kGravity * 0.2 * (std::sin(slope) - mu * std::cos(slope)));
      std::printf("%s, %+.1f degree: %.5f after 0.5 s, gains %.5f, exact %.5f\n", name.c_str(), sign * 0.5,
                  before, gain, wanted);
      EXPECT_NEAR(gain, wanted, 0.002 * mu * kGravity * 0.2) << name << ", " << sign;
    }
  });
}

// A peak of 20 mm comes between the vertices of a block, in a triangle of 0.2 m or in ones of 0.1 m. (With
// patches the former was thrown off with 540 J: as the triangle tilted, the depth of the pair was taken along
// another normal, and what it had grown by was driven out in one step.)
TEST(SoftGround, ABlockRestsOnAPeakBetweenItsVertices) {
  for (const bool patches : {false, true}) {
    for (const int cells : {1, 2}) {
      for (const double dt : kSteps) {
        Scene scene = on_ground(height_field, patches, 0.5, 0, 0, 0.03);
        HeightField field{13, 13, Vec2(0.3, 0.3), 0.1, nullptr};
        std::vector<double> heights(13 * 13, 0.0);
        heights[6 * 13 + 6] = 0.02;
        field.height = std::make_shared<const std::vector<double>>(heights);
        scene.shapes[0] = make_shape("ground", kWorld, field);
        scene.shapes[0].material = "ground";
        SoftBodySpec& spec = scene.soft_bodies[0];
        spec.mesh =
            std::make_shared<const TetMesh>(make_box_tets(Vec3(0.2, 0.2, 0.1), {cells, cells, cells}));
        spec.young_modulus = 5e4;
        spec.density = 500;
        spec.pose.position.head<2>() = Vec2(0.013, 0.011);
        Simulation run(scene, dt, ContactLaw::coulomb);
        const double energy = calc_mechanics(run.model, run.state).total();
        while (run.state.time < 1.5) {
          run.go(dt);
          ASSERT_LT(calc_mechanics(run.model, run.state).total(), 1.001 * energy)
              << name_of(height_field, patches, dt) << ", " << cells << " cells, at " << run.state.time;
        }
        const Mechanics m = calc_mechanics(run.model, run.state);
        std::printf("%s, %d cells: %.5f N s, the middle %.5f m high\n",
                    name_of(height_field, patches, dt).c_str(), cells, m.momentum.tail<3>().norm(),
                    m.center_of_mass.z());
        EXPECT_LT(m.momentum.tail<3>().norm(), 0.01) << dt;  // of 2 kg
        EXPECT_NEAR(m.center_of_mass.z(), 0.065, 0.004) << dt;
      }
    }
  }
}

}  // namespace
}  // namespace capstan::soft_ground_test
