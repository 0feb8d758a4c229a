// Patches of meshes found by their cells alone, beside those found by way of points.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "capstan/contacts/patches.h"
#include "capstan/geometry/collide.h"
#include "capstan/geometry/tessellate.h"
#include "tests/support/contact_simulation.h"

namespace capstan::patch_of_cells_test {
namespace {

using namespace test;

// A rigid mesh of a ball of 5 cm with flat facets, over a box of E 1e6 Pa or on a layer.
Model make_pair(const Vec3& position, const Vec4& turn, bool on_layer) {
  Scene scene;
  Material soft, rigid;
  soft.name = "soft";
  rigid.name = "rigid";
  soft.contact = rigid.contact = ContactModel::patch;
  soft.elastic_modulus = 1e6;
  rigid.elastic_modulus = kInfinity;
  scene.materials = {soft, rigid};
  scene.bodies = {free_body("ball", position)};
  scene.bodies[0].pose.quat_wxyz = turn;
  const Facets facets = tessellate(Sphere{0.05}, 16);
  auto mesh = std::make_shared<TriangleMesh>();
  mesh->vertices = facets.vertices;
  for (const std::vector<int>& face : facets.faces) {
    for (std::size_t k = 2; k < face.size(); ++k) mesh->triangles.push_back({face[0], face[k - 1], face[k]});
  }
  scene.shapes = {
      make_shape("block", kWorld, on_layer ? Shape(HalfSpace{}) : Shape(Box{Vec3(0.1, 0.1, 0.05)})),
      make_shape("ball", "ball", SurfaceMesh{mesh}, 1)};
  scene.shapes[0].material = "soft";
  scene.shapes[1].material = "rigid";
  return compile(scene);
}

TEST(PatchOfCells, IsThatOfPoints) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> uniform(-1, 1);
  int found = 0, left = 0;
  for (int i = 0; i < 60; ++i) {
    const bool on_layer = i % 2 == 0;
    const double top = on_layer ? 0 : 0.05;
    const Vec3 p(0.1 * uniform(random), 0.1 * uniform(random), top + 0.05 - 0.02 * (1 + uniform(random)));
    const Vec4 turn = Vec4(uniform(random), uniform(random), uniform(random), uniform(random)).normalized();
    const Model model = make_pair(p, turn, on_layer);
    Placement placement = make_placement(model);
    calc_placement(model, initial_state(model).q, &placement);
    const Transform X_WA = shape_pose(model, placement, 0), X_WB = shape_pose(model, placement, 1);
    CollisionWorkspace::Block by_points, by_cells;
    collide(model.shapes[0].collider, X_WA, model.shapes[1].collider, X_WB, 0, &by_points.points);
    const bool has = replace_by_patch(model, placement, 0, X_WA, 1, X_WB, 0.001, 0, &by_points);
    if (!add_patch_of_cells(model, placement, 0, X_WA, 1, X_WB, 0.001, &by_cells)) {
      ++left;
      EXPECT_TRUE(by_cells.points.empty());
      if (!has) continue;
      // What is deeper than half of the field is left to the points.
      double deepest = 0;
      for (const ContactPoint& c : by_points.points) deepest = std::min(deepest, c.distance);
      EXPECT_LT(deepest, -0.4 * patch_reach(model.shapes[0], model.shapes[1])) << i;
      continue;
    }
    ++found;
    ASSERT_TRUE(has) << i;
    ASSERT_EQ(by_cells.points.size(), by_points.points.size()) << i;
    double force = 0, off = 0, stiffness = 0, other_stiffness = 0;
    for (std::size_t k = 0; k < by_cells.points.size(); ++k) {
      const ContactPoint &x = by_cells.points[k], &y = by_points.points[k];
      EXPECT_LT((x.p_A - y.p_A).norm() + (x.normal - y.normal).norm(), 1e-12);
      EXPECT_EQ(by_cells.materials[k].area, by_points.materials[k].area);
      const double f = -by_cells.materials[k].stiffness * x.distance;
      force += std::abs(f);
      off += std::abs(f + by_points.materials[k].stiffness * y.distance);
      stiffness += by_cells.materials[k].stiffness;
      other_stiffness += by_points.materials[k].stiffness;
    }
    EXPECT_LT(off, 1e-9 * force) << i;
    // What is near the edge of a block is nearer to its side than the points, along their normal, tell.
    EXPECT_GT(stiffness, (1 - 1e-9) * other_stiffness) << i;
    EXPECT_LT(stiffness, (on_layer ? 1.001 : 1.1) * other_stiffness) << i;
  }
  EXPECT_GT(found, 20);
  EXPECT_GT(left, 3);
}

}  // namespace
}  // namespace capstan::patch_of_cells_test
