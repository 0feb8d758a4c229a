#include "capstan/geometry/mesh_health.h"

#include <gtest/gtest.h>

#include <random>

#include "capstan/geometry/collide.h"
#include "capstan/geometry/ray_cast.h"
#include "test_meshes.h"

namespace capstan::mesh_health_test {
namespace {

// Each triangle with its own three vertices, as STL files have it.
TriangleMesh exploded(const TriangleMesh& mesh) {
  TriangleMesh soup;
  for (const auto& t : mesh.triangles) {
    const int n = static_cast<int>(soup.vertices.size());
    for (int i : t) soup.vertices.push_back(mesh.vertices[i]);
    soup.triangles.push_back({n, n + 1, n + 2});
  }
  return soup;
}

TEST(MeshHealth, AHealthyMeshHasNoFindings) {
  const MeshFindings f = examine_mesh(torus_mesh(1, 0.3, 12, 8));
  EXPECT_TRUE(f.healthy());
  Diagnostics d;
  report_findings(f, "torus", {}, true, &d);
  EXPECT_TRUE(d.list.empty());
  const TriangleMesh same = repair_mesh(torus_mesh(1, 0.3, 12, 8), "torus", {}, &d);
  EXPECT_TRUE(d.list.empty());
  EXPECT_EQ(same.triangles.size(), 192u);
}

TEST(MeshHealth, CountsWhatIsWrong) {
  TriangleMesh mesh = box_mesh({1, 1, 1}, 1);
  mesh.triangles.pop_back();
  EXPECT_EQ(examine_mesh(mesh).open_edges, 3);
  mesh = box_mesh({1, 1, 1}, 1);
  std::swap(mesh.triangles[0][0], mesh.triangles[0][1]);
  EXPECT_EQ(examine_mesh(mesh).clashing_edges, 3);
  mesh = box_mesh({1, 1, 1}, 1);
  mesh.triangles.push_back(mesh.triangles[0]);
  EXPECT_EQ(examine_mesh(mesh).crowded_edges, 3);
  EXPECT_EQ(examine_mesh(mesh).duplicate_triangles, 1);
  mesh = box_mesh({1, 1, 1}, 1);
  mesh.triangles.push_back({0, 0, 1});
  mesh.triangles.push_back({0, 99, 1});
  mesh.vertices[2].x() = std::nan("");
  EXPECT_EQ(examine_mesh(mesh).bad_indices, 1);
  EXPECT_EQ(examine_mesh(mesh).non_finite_vertices, 1);
  EXPECT_TRUE(examine_mesh({}).empty());
  const MeshFindings soup = examine_mesh(exploded(box_mesh({1, 1, 1}, 1)));
  EXPECT_EQ(soup.duplicate_vertices, 36 - 8);
  EXPECT_EQ(soup.open_edges, 36);
}

TEST(MeshHealth, RepairsWhatIsSafe) {
  TriangleMesh mesh = exploded(box_mesh({1, 2, 3}, 2));
  for (auto& t : mesh.triangles) std::swap(t[0], t[1]);  // inside out
  mesh.triangles.push_back({0, 1, 1});
  mesh.triangles.push_back(mesh.triangles[5]);
  mesh.vertices.push_back({7, 7, 7});  // unused
  Diagnostics d;
  const TriangleMesh repaired = repair_mesh(mesh, "crate", {"crate.stl", 0}, &d);
  EXPECT_TRUE(d.ok());
  EXPECT_EQ(d.num_warnings(), 4);
  EXPECT_NE(d.text().find("crate.stl: warning: mesh 'crate': merged"), std::string::npos) << d.text();
  EXPECT_TRUE(examine_mesh(repaired).healthy());
  EXPECT_NEAR(volume_properties(repaired).volume, 48, 1e-12);
}

TEST(MeshHealth, RefusesWhatCannotBeUsed) {
  const auto refused = [](const TriangleMesh& mesh) {
    Diagnostics d;
    const TriangleMesh result = repair_mesh(mesh, "bad", {"bad.obj", 3}, &d);
    EXPECT_TRUE(result.triangles.empty());
    EXPECT_FALSE(d.ok());
    return d.text();
  };
  EXPECT_NE(refused({}).find("bad.obj:3: error: mesh 'bad' has no triangles"), std::string::npos);
  EXPECT_NE(refused({{{0, 0, 0}, {1, 0, 0}}, {{0, 1, 2}}}).find("name a vertex"), std::string::npos);
  EXPECT_NE(refused({{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}, {{0, 1, 2}}}).find("no triangle with an area"),
            std::string::npos);
  EXPECT_NE(refused({{{0, 0, 0}, {1, 0, 0}, {0, 1, std::nan("")}}, {{0, 1, 2}}}).find("not finite"),
            std::string::npos);
  TriangleMesh huge{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {}};
  huge.triangles.assign(kMaxMeshTriangles, {0, 1, 2});
  EXPECT_NE(refused(huge).find("has 10000000 triangles"), std::string::npos);
}

// Damaged meshes of every kind: either an error with a name, or a mesh that collides and answers rays with
// finite numbers.
TEST(MeshHealth, DamagedMeshesNeverCrash) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> die(0, 999);
  std::uniform_real_distribution<double> unit(-1, 1);
  int usable = 0, refused = 0;
  for (int trial = 0; trial < 600; ++trial) {
    TriangleMesh mesh = trial % 3 ? box_mesh({0.3, 0.2, 0.1}, 2) : torus_mesh(0.2, 0.05, 8, 6);
    const int vertices = static_cast<int>(mesh.vertices.size());
    const double share = trial % 10 * 20;
    for (auto& t : mesh.triangles) {
      if (die(random) >= share) continue;
      switch (die(random) % 5) {
        case 0:
          std::swap(t[0], t[1]);
          break;
        case 1:
          t[0] = t[1];
          break;
        case 2:
          t[2] = die(random) % vertices;
          break;
        case 3:
          t = mesh.triangles[0];
          break;
        default:
          if (trial % 4 == 0) t[1] = die(random) - 100;
      }
    }
    if (trial % 7 == 0) mesh.vertices[trial % vertices] = mesh.vertices[0];
    if (trial % 50 == 0) mesh.vertices[3].y() = trial % 100 ? std::nan("") : INFINITY;
    if (trial % 20 == 0)
      for (Vec3& v : mesh.vertices) v.z() = 0;
    Diagnostics d;
    auto repaired = shared(repair_mesh(mesh, "damaged", {}, &d));
    if (!d.ok()) {
      EXPECT_TRUE(repaired->triangles.empty());
      ++refused;
      continue;
    }
    ++usable;
    const Collider c = make_collider(Shape(SurfaceMesh{repaired}));
    for (const Collider& shape :
         {make_collider(Sphere{0.1}), make_collider(Box{{0.1, 0.1, 0.1}}), make_collider(HalfSpace{})}) {
      const Transform X{Mat3::Identity(), 0.3 * Vec3(unit(random), unit(random), unit(random))};
      std::vector<ContactPoint> contacts;
      collide(shape, X, c, {}, 0.01, &contacts);
      for (const ContactPoint& p : contacts) {
        EXPECT_TRUE(p.p_A.allFinite() && p.p_B.allFinite() && std::isfinite(p.distance));
        EXPECT_NEAR(p.normal.norm(), 1, 1e-9);
      }
    }
    RayHit hit;
    if (ray_cast(c, {}, {0.05, 0.03, 1}, {0, 0, -1}, 10, &hit)) {
      EXPECT_TRUE(std::isfinite(hit.distance));
    }
    try {
      make_collider(Shape(SignedDistanceMesh{repaired, 8}));
    } catch (const InputError&) {
    }
    try {
      make_collider(Shape(ConvexMesh{repaired}));
    } catch (const InputError&) {
    }
  }
  EXPECT_GT(usable, 300);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace capstan::mesh_health_test
