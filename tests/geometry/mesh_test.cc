// Mass properties of meshes against arithmetic, and their behaviour under motion, joining and inversion.
#include "capstan/geometry/mesh.h"

#include <gtest/gtest.h>

#include <utility>

#include "capstan/math/rotation.h"

namespace capstan::mesh_test {
namespace {

// Right-angled corner at the origin, edges a, b, c along the axes.
TriangleMesh corner(double a, double b, double c) {
  return {{{0, 0, 0}, {a, 0, 0}, {0, b, 0}, {0, 0, c}}, {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}};
}

TriangleMesh block(const Vec3& lower, const Vec3& upper) {
  TriangleMesh mesh;
  for (int k = 0; k < 8; ++k) {
    mesh.vertices.emplace_back(k & 1 ? upper.x() : lower.x(), k & 2 ? upper.y() : lower.y(),
                               k & 4 ? upper.z() : lower.z());
  }
  mesh.triangles = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                    {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  return mesh;
}

TriangleMesh join(const TriangleMesh& a, const TriangleMesh& b) {
  TriangleMesh both = a;
  const int offset = static_cast<int>(a.vertices.size());
  both.vertices.insert(both.vertices.end(), b.vertices.begin(), b.vertices.end());
  for (const auto& t : b.triangles) both.triangles.push_back({t[0] + offset, t[1] + offset, t[2] + offset});
  return both;
}

TriangleMesh inverted(TriangleMesh mesh) {
  for (auto& t : mesh.triangles) std::swap(t[1], t[2]);
  return mesh;
}

Mat3 block_inertia(double mass, const Vec3& size) {
  const Vec3 s2 = size.cwiseAbs2();
  return Mat3(Vec3(mass / 12 * (Vec3::Constant(s2.sum()) - s2)).asDiagonal());
}

// Inertia about a point at `offset` from the centroid.
Mat3 shifted(const VolumeProperties& p, const Vec3& offset) {
  return p.inertia + p.volume * (offset.squaredNorm() * Mat3::Identity() - Mat3(offset * offset.transpose()));
}

void expect_near(const Mat3& a, const Mat3& b, double tolerance) {
  EXPECT_LE((a - b).norm(), tolerance) << a << "\nagainst\n" << b;
}

TEST(MeshVolume, BlockByArithmetic) {
  const Vec3 lower(-0.2, 1, 3), upper(0.4, 1.5, 5);
  const VolumeProperties p = volume_properties(block(lower, upper));
  EXPECT_NEAR(p.volume, 0.6 * 0.5 * 2, 1e-14);
  EXPECT_LE((p.centroid - (lower + upper) / 2).norm(), 1e-14);
  expect_near(p.inertia, block_inertia(0.6, upper - lower), 1e-14);
}

// Over the corner tetrahedron: V = abc/6, the integral of x^2 is V a^2/10 and of xy is V ab/20.
TEST(MeshVolume, CornerTetrahedronByArithmetic) {
  const double a = 1, b = 2, c = 0.5, V = a * b * c / 6;
  const VolumeProperties p = volume_properties(corner(a, b, c));
  EXPECT_NEAR(p.volume, V, 1e-15);
  EXPECT_LE((p.centroid - Vec3(a, b, c) / 4).norm(), 1e-15);
  Mat3 about_origin;
  about_origin << (b * b + c * c) / 10, -a * b / 20, -a * c / 20,  //
      -a * b / 20, (a * a + c * c) / 10, -b * c / 20,              //
      -a * c / 20, -b * c / 20, (a * a + b * b) / 10;
  expect_near(shifted(p, p.centroid), V * about_origin, 1e-15);
}

TEST(MeshVolume, TurnsAndMovesWithTheMesh) {
  const VolumeProperties before = volume_properties(corner(1, 2, 0.5));
  const Mat3 R = rotation_matrix(quat_exp(Vec3(0.3, -1.1, 0.7)));
  const Vec3 p(4, -5, 6);
  TriangleMesh mesh = corner(1, 2, 0.5);
  for (Vec3& v : mesh.vertices) v = R * v + p;
  const VolumeProperties after = volume_properties(mesh);
  EXPECT_NEAR(after.volume, before.volume, 1e-14);
  EXPECT_LE((after.centroid - (R * before.centroid + p)).norm(), 1e-14);
  expect_near(after.inertia, R * before.inertia * R.transpose(), 1e-13);
}

// A part modelled far from its frame's origin loses only the digits that its vertices lost.
TEST(MeshVolume, KeepsItsDigitsFarFromTheOrigin) {
  const Vec3 far(1e4, -1e4, 1e4), size(0.1, 0.2, 0.3);
  const VolumeProperties p = volume_properties(block(far, far + size));
  EXPECT_NEAR(p.volume, 0.006, 0.006 * 1e-10);
  expect_near(p.inertia, block_inertia(0.006, size), 1e-14);
}

TEST(MeshVolume, AddsOverDisjointParts) {
  const TriangleMesh a = block({0, 0, 0}, {1, 1, 1}), b = corner(3, 2, 1);
  TriangleMesh moved = b;
  for (Vec3& v : moved.vertices) v += Vec3(5, 0, 0);
  const VolumeProperties pa = volume_properties(a), pb = volume_properties(moved);
  const VolumeProperties p = volume_properties(join(a, moved));
  EXPECT_NEAR(p.volume, pa.volume + pb.volume, 1e-14);
  const Vec3 centroid = (pa.volume * pa.centroid + pb.volume * pb.centroid) / p.volume;
  EXPECT_LE((p.centroid - centroid).norm(), 1e-14);
  expect_near(p.inertia, shifted(pa, centroid - pa.centroid) + shifted(pb, centroid - pb.centroid), 1e-12);
}

// A hollow block: the inner wall is inverted and takes its volume away.
TEST(MeshVolume, SubtractsAnInvertedInnerWall) {
  const TriangleMesh hollow =
      join(block({-1, -1, -1}, {1, 1, 1}), inverted(block({-0.5, -0.5, -0.5}, {0.5, 0.5, 0.5})));
  EXPECT_TRUE(is_closed(hollow));
  const VolumeProperties p = volume_properties(hollow);
  EXPECT_NEAR(p.volume, 8 - 1, 1e-14);
  expect_near(p.inertia, block_inertia(8, Vec3::Constant(2)) - block_inertia(1, Vec3::Ones()), 1e-13);
}

TEST(MeshVolume, IsNegativeWhenInverted) {
  const VolumeProperties out = volume_properties(corner(1, 2, 0.5));
  const VolumeProperties in = volume_properties(inverted(corner(1, 2, 0.5)));
  EXPECT_DOUBLE_EQ(in.volume, -out.volume);
  EXPECT_LE((in.centroid - out.centroid).norm(), 1e-15);
  expect_near(in.inertia, -out.inertia, 1e-15);
  EXPECT_TRUE(is_closed(inverted(corner(1, 2, 0.5))));
}

TEST(MeshVolume, OfNothingAndOfAFlatMeshIsZeroAndFinite) {
  EXPECT_EQ(volume_properties(TriangleMesh{}).volume, 0);
  const TriangleMesh flat = {{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}, {0, 2, 1}}};
  const VolumeProperties p = volume_properties(flat);
  EXPECT_EQ(p.volume, 0);
  EXPECT_TRUE(p.centroid.allFinite());
  EXPECT_TRUE(p.inertia.allFinite());
}

TEST(MeshClosed, ClosedSolids) {
  EXPECT_TRUE(is_closed(corner(1, 1, 1)));
  EXPECT_TRUE(is_closed(block({0, 0, 0}, {1, 1, 1})));
  EXPECT_TRUE(is_closed(join(corner(1, 1, 1), block({5, 5, 5}, {6, 6, 6}))));
}

TEST(MeshClosed, NotWithoutTriangles) {
  EXPECT_FALSE(is_closed(TriangleMesh{}));
}

TEST(MeshClosed, NotWithAnyTriangleMissing) {
  const TriangleMesh whole = block({0, 0, 0}, {1, 1, 1});
  for (size_t i = 0; i < whole.triangles.size(); ++i) {
    TriangleMesh mesh = whole;
    mesh.triangles.erase(mesh.triangles.begin() + static_cast<long>(i));
    EXPECT_FALSE(is_closed(mesh)) << "without triangle " << i;
  }
}

TEST(MeshClosed, NotWithATriangleTurnedOrDoubled) {
  TriangleMesh turned = corner(1, 1, 1);
  std::swap(turned.triangles[2][0], turned.triangles[2][1]);
  EXPECT_FALSE(is_closed(turned));
  TriangleMesh doubled = corner(1, 1, 1);
  doubled.triangles.push_back(doubled.triangles[0]);
  EXPECT_FALSE(is_closed(doubled));
}

// Vertices that coincide but are not merged (as STL has them) leave open edges.
TEST(MeshClosed, NotWithUnmergedVertices) {
  TriangleMesh mesh = corner(1, 1, 1);
  mesh.vertices.push_back(mesh.vertices[3]);
  mesh.triangles[3][2] = 4;
  EXPECT_FALSE(is_closed(mesh));
}

TEST(MeshClosed, NotWithADegenerateTriangle) {
  TriangleMesh mesh = corner(1, 1, 1);
  mesh.vertices.emplace_back(2, 2, 2);
  mesh.triangles.push_back({4, 4, 1});
  EXPECT_FALSE(is_closed(mesh));
}

}  // namespace
}  // namespace capstan::mesh_test
