// Patches as surfaces: what is drawn has the force, the area and the pressure of the contacts.
#include "capstan/contacts/patch_surface.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/contact_simulation.h"

namespace capstan::patch_surface_test {
namespace {

using namespace test;

// A body in a plane, E 1e6 Pa against a rigid one, or the other way round.
Model make_pair(const Shape& shape, const Vec3& position, bool soft_floor) {
  Scene scene;
  Material soft, rigid;
  soft.name = "soft";
  rigid.name = "rigid";
  soft.contact = rigid.contact = ContactModel::patch;
  soft.elastic_modulus = 1e6;
  rigid.elastic_modulus = kInfinity;
  scene.materials = {soft, rigid};
  scene.bodies = {free_body("a", position)};
  scene.shapes = {make_shape("plane", kWorld, HalfSpace{}), make_shape("a", "a", shape, 1)};
  scene.shapes[soft_floor ? 0 : 1].material = "soft";
  scene.shapes[soft_floor ? 1 : 0].material = "rigid";
  return compile(scene);
}

TEST(PatchSurface, HasForceAreaAndPressureOfTheContacts) {
  const double R = 0.05, d = 0.002;
  for (const bool soft_floor : {false, true}) {
    for (const Shape& shape : {Shape(Sphere{R}), Shape(Box{Vec3(R, R, R)}), Shape(Capsule{R, 0.1})}) {
      const bool upright = std::holds_alternative<Capsule>(shape);
      const Model model = make_pair(shape, Vec3(0.3, -0.2, R + (upright ? 0.1 : 0) - d), soft_floor);
      Placement placement = make_placement(model);
      calc_placement(model, initial_state(model).q, &placement);
      Contacts contacts;
      collide_all_pairs(model, placement, &contacts);
      double force = 0, most = 0;
      for (int i = 0; i < contacts.size(); ++i) {
        const double f = contacts.material[i].stiffness * std::max(0.0, -contacts.distance[i]);
        force += f;
        most = std::max(most, f / contacts.material[i].area);
      }
      ASSERT_GT(force, 1);
      PatchSurface surface;
      PatchSurfaceWorkspace workspace;
      const std::vector<std::pair<int, int>> pairs = {{0, 1}};
      calc_patch_surface(model, placement, pairs, &workspace, &surface);
      ASSERT_FALSE(surface.ends.empty());
      EXPECT_EQ(surface.ends.back(), std::ssize(surface.vertices));
      // Linear in each triangle of the fan: the mean of its corners. The force is along z, so that the area
      // counts as seen from above.
      double drawn = 0, largest = 0;
      int first = 0;
      for (const int end : surface.ends) {
        ASSERT_GE(end - first, 3);
        const auto& v = surface.vertices;
        for (int i = first + 2; i < end; ++i) {
          const double area = 0.5 * std::abs((v[i - 1][0] - v[first][0]) * (v[i][1] - v[first][1]) -
                                             (v[i - 1][1] - v[first][1]) * (v[i][0] - v[first][0]));
          drawn += area * (v[first][3] + v[i - 1][3] + v[i][3]) / 3;
        }
        for (int i = first; i < end; ++i) largest = std::max<double>(largest, v[i][3]);
        first = end;
      }
      EXPECT_NEAR(drawn, force, 2e-3 * force) << soft_floor;
      EXPECT_GE(largest, 0.99 * most);
    }
  }
}

TEST(PatchSurface, PairsWithoutAPatchHaveNone) {
  const Model model = make_pair(Sphere{0.05}, Vec3(0, 0, 0.06), false);  // apart
  Placement placement = make_placement(model);
  calc_placement(model, initial_state(model).q, &placement);
  PatchSurface surface;
  surface.ends = {7};
  PatchSurfaceWorkspace workspace;
  const std::vector<std::pair<int, int>> pairs = {{0, 1}};
  calc_patch_surface(model, placement, pairs, &workspace, &surface);
  EXPECT_TRUE(surface.ends.empty());
  EXPECT_TRUE(surface.vertices.empty());
}

}  // namespace
}  // namespace capstan::patch_surface_test
