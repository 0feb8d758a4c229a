// Meshes of solids: volume and surface of those that are made, and what is told of bad ones.
#include "capstan/geometry/tet_mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>

#include "capstan/geometry/mesh.h"

namespace capstan::tet_mesh_test {
namespace {

double volume_of(const TetMesh& mesh) {
  double sum = 0;
  for (int t = 0; t < static_cast<int>(mesh.tets.size()); ++t) {
    EXPECT_GT(tet_volume(mesh, t), 0);
    sum += tet_volume(mesh, t);
  }
  return sum;
}

// Closed, outward, and around all of the volume.
void expect_sound(const TetMesh& mesh, double worst) {
  TriangleMesh surface;
  surface.vertices = mesh.vertices;
  surface.triangles = surface_of(mesh);
  EXPECT_TRUE(is_closed(surface));
  EXPECT_NEAR(volume_properties(surface).volume, volume_of(mesh), 1e-12);
  EXPECT_GT(examine_tets(mesh).worst, worst);
}

TEST(TetMesh, ABoxHasItsCells) {
  const TetMesh mesh = make_box_tets({0.1, 0.2, 0.3}, {9, 9, 9});
  EXPECT_EQ(mesh.vertices.size(), 1000u);
  EXPECT_EQ(mesh.tets.size(), 3645u);
  EXPECT_NEAR(volume_of(mesh), 0.006, 1e-12);
  expect_sound(mesh, 0.1);
  expect_sound(make_box_tets({1, 1, 1}, {3, 2, 4}), 0.3);
}

TEST(TetMesh, RoundOnesConvergeToTheirVolume) {
  const double cylinder = std::numbers::pi * 0.01 * 0.5, ball = 4.0 / 3 * std::numbers::pi * 0.001;
  double before = 1;
  for (const int n : {4, 8, 16}) {
    const TetMesh c = make_cylinder_tets(0.1, 0.5, n, 2 * n), b = make_ball_tets(0.1, n);
    expect_sound(c, 0.05);
    expect_sound(b, 0.05);
    const double error = std::abs(volume_of(b) / ball - 1);
    EXPECT_LT(std::abs(volume_of(c) / cylinder - 1), 4.0 / (n * n));
    EXPECT_LT(error, 0.4 * before);
    before = error;
  }
}

// A wheel is its own mirror image, whatever number of cells it is asked for: else it would roll to one side.
TEST(TetMesh, ACylinderIsItsMirrorImage) {
  for (const int along : {1, 2, 3}) {
    const TetMesh mesh = make_cylinder_tets(0.1, 0.05, 4, along);
    const auto sides = [&](double sign) {
      std::multiset<std::array<long, 12>> set;
      for (const auto& tet : mesh.tets) {
        std::array<std::array<long, 3>, 4> corners;
        for (int k = 0; k < 4; ++k) {
          const Vec3& x = mesh.vertices[tet[k]];
          corners[k] = {std::lround(1e9 * x.x()), std::lround(1e9 * x.y()), std::lround(1e9 * sign * x.z())};
        }
        std::sort(corners.begin(), corners.end());
        std::array<long, 12> flat;
        for (int k = 0; k < 12; ++k) flat[k] = corners[k / 3][k % 3];
        set.insert(flat);
      }
      return set;
    };
    EXPECT_EQ(sides(1), sides(-1)) << along;
  }
}

TEST(TetMesh, QualityIsOneForARegularTet) {
  TetMesh mesh;
  mesh.vertices = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}, {0, 0, 0}};
  mesh.tets = {{0, 1, 3, 2}};
  if (tet_volume(mesh, 0) < 0) std::swap(mesh.tets[0][2], mesh.tets[0][3]);
  EXPECT_NEAR(tet_quality(mesh, 0), 1, 1e-12);
  std::swap(mesh.tets[0][2], mesh.tets[0][3]);
  EXPECT_NEAR(tet_quality(mesh, 0), -1, 1e-12);
  const TetMesh clean = cleaned(mesh);
  EXPECT_EQ(clean.vertices.size(), 4u);
  EXPECT_NEAR(tet_quality(clean, 0), 1, 1e-12);
}

}  // namespace
}  // namespace capstan::tet_mesh_test
