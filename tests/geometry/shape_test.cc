// Mass properties of the primitives against two plain twins: counting grid cells inside the solid, and a fine
// mesh of its surface. Limits beside the formulas: a capsule of no length is a ball, and so on.
#include "capstan/geometry/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

namespace capstan::shape_test {
namespace {

using std::numbers::pi;

struct Case {
  Shape shape;
  Vec3 half_extent;                         // of the bounding box, centred
  std::function<bool(const Vec3&)> inside;  // the definition of the solid, in shape.h's words
  // Round ones: the surface point at turn u in [0, 2 pi] and s in [0, pi] from the top to the bottom.
  std::function<Vec3(double u, double s)> at;
};

// Distance from the z axis.
double axial(const Vec3& p) {
  return std::hypot(p.x(), p.y());
}

std::vector<Case> cases() {
  const Vec3 h(0.3, 0.5, 0.9), radii(0.4, 0.7, 1.1);
  const double r = 0.4, l = 0.7;
  return {
      {Sphere{r}, Vec3::Constant(r), [=](const Vec3& p) { return p.norm() <= r; },
       [=](double u, double s) -> Vec3 {
         return r * Vec3(std::sin(s) * std::cos(u), std::sin(s) * std::sin(u), std::cos(s));
       }},
      {Box{h}, h, [=](const Vec3& p) { return (p.cwiseAbs().array() <= h.array()).all(); }, nullptr},
      {Capsule{r, l}, Vec3(r, r, r + l),
       [=](const Vec3& p) { return (p - Vec3(0, 0, std::clamp(p.z(), -l, l))).norm() <= r; },
       [=](double u, double s) -> Vec3 {
         // The two half balls, apart by 2 l; the mesh's band at s = pi/2 becomes the cylinder.
         return Vec3(r * std::sin(s) * std::cos(u), r * std::sin(s) * std::sin(u),
                     r * std::cos(s) + (s < pi / 2 ? l : -l));
       }},
      {Cylinder{r, l}, Vec3(r, r, l), [=](const Vec3& p) { return axial(p) <= r && std::abs(p.z()) <= l; },
       [=](double u, double s) -> Vec3 {
         // A third of s for each of the top, the side and the bottom.
         const double t = 3 * s / pi, rho = r * std::min({t, 3 - t, 1.0});
         return Vec3(rho * std::cos(u), rho * std::sin(u), l * std::clamp(3 - 2 * t, -1.0, 1.0));
       }},
      {Ellipsoid{radii}, radii, [=](const Vec3& p) { return p.cwiseQuotient(radii).norm() <= 1; },
       [=](double u, double s) -> Vec3 {
         return Vec3(radii.x() * std::sin(s) * std::cos(u), radii.y() * std::sin(s) * std::sin(u),
                     radii.z() * std::cos(s));
       }},
  };
}

// The midpoint rule on n^3 cells of the bounding box.
VolumeProperties count_cells(const Case& c, int n) {
  const Vec3 cell = 2 * c.half_extent / n;
  double count = 0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) {
        const Vec3 p = Vec3(i + 0.5, j + 0.5, k + 0.5).cwiseProduct(cell) - c.half_extent;
        if (!c.inside(p)) continue;
        count += 1;
        first += p;
        second += p * p.transpose();
      }
    }
  }
  const double dv = cell.prod();
  return {count * dv, first / count, dv * (second.trace() * Mat3::Identity() - second)};
}

// Rings of constant s, closed by fans at the poles; 2n columns, n bands. n is odd, so that no ring lies at
// pi/2, and divisible by 3, so that rings lie on the cylinder's rims.
TriangleMesh surface(const std::function<Vec3(double, double)>& at, int n) {
  TriangleMesh mesh;
  const int columns = 2 * n;
  for (int i = 1; i < n; ++i) {
    for (int j = 0; j < columns; ++j) mesh.vertices.push_back(at(2 * pi * j / columns, pi * i / n));
  }
  const int top = static_cast<int>(mesh.vertices.size()), bottom = top + 1;
  mesh.vertices.push_back(at(0, 0));
  mesh.vertices.push_back(at(0, pi));
  for (int j = 0; j < columns; ++j) {
    const int next = (j + 1) % columns, last = (n - 2) * columns;
    mesh.triangles.push_back({top, j, next});
    mesh.triangles.push_back({bottom, last + next, last + j});
    for (int i = 0; i < n - 2; ++i) {
      const int a = i * columns + j, b = i * columns + next;
      mesh.triangles.push_back({a, a + columns, b});
      mesh.triangles.push_back({b, a + columns, b + columns});
    }
  }
  return mesh;
}

TEST(ShapeVolume, AgreesWithCountedCells) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(shape_name(c.shape));
    const VolumeProperties exact = volume_properties(c.shape), counted = count_cells(c, 100);
    // Cells cut by the surface count whole or not at all: errors of 0.7e-3 (volume) and 1.2e-3 (inertia) for
    // this n.
    EXPECT_NEAR(counted.volume / exact.volume, 1, 2e-3);
    EXPECT_LE((counted.centroid - exact.centroid).norm(), 1e-12);
    EXPECT_LE((counted.inertia - exact.inertia).norm() / exact.inertia.norm(), 2e-3);
  }
}

// The mesh is inscribed and its error falls as 1/n^2; what is left after extrapolation falls faster.
TEST(ShapeVolume, IsTheLimitOfFineMeshes) {
  int num_checked = 0;
  for (const Case& c : cases()) {
    if (!c.at) continue;
    SCOPED_TRACE(shape_name(c.shape));
    const int n = 45;
    const TriangleMesh coarse = surface(c.at, n), fine = surface(c.at, 3 * n);
    ASSERT_TRUE(is_closed(coarse));
    ASSERT_TRUE(is_closed(fine));
    const VolumeProperties exact = volume_properties(c.shape);
    const VolumeProperties a = volume_properties(coarse), b = volume_properties(fine);
    EXPECT_LT(b.volume, exact.volume);
    EXPECT_NEAR((exact.volume - a.volume) / (exact.volume - b.volume), 9, 0.05);
    EXPECT_NEAR((9 * b.volume - a.volume) / 8 / exact.volume, 1, 1e-6);
    EXPECT_LE(((9 * b.inertia - a.inertia) / 8 - exact.inertia).norm() / exact.inertia.norm(), 1e-5);
    ++num_checked;
  }
  EXPECT_EQ(num_checked, 4);
}

void expect_same(const Shape& a, const Shape& b) {
  const VolumeProperties pa = volume_properties(a), pb = volume_properties(b);
  EXPECT_NEAR(pa.volume / pb.volume, 1, 1e-14);
  EXPECT_LE((pa.inertia - pb.inertia).norm(), 1e-14 * pb.inertia.norm());
}

TEST(ShapeVolume, Limits) {
  expect_same(Capsule{0.3, 0}, Sphere{0.3});
  expect_same(Ellipsoid{Vec3::Constant(0.3)}, Sphere{0.3});
  // A thin capsule is a thin rod: m l^2 / 12 across.
  const VolumeProperties rod = volume_properties(Shape(Capsule{1e-6, 0.5}));
  EXPECT_NEAR(rod.inertia(0, 0) / rod.volume, 1.0 / 12, 1e-5);
}

// I_x + I_y - I_z is twice the integral of z^2, which no solid has below 0: the triangle inequality.
TEST(ShapeVolume, InertiaIsPossible) {
  for (const Case& c : cases()) {
    const Mat3 I = volume_properties(c.shape).inertia;
    const Vec3 twice_moment = Vec3::Constant(I.trace()) - 2 * I.diagonal();
    EXPECT_GT(twice_moment.minCoeff(), 0) << shape_name(c.shape);
  }
}

TEST(ShapeVolume, MeshesAreTakenAsTheirMesh) {
  const auto mesh = std::make_shared<const TriangleMesh>(TriangleMesh{
      {{1, 0, 0}, {2, 0, 0}, {1, 1, 0}, {1, 0, 1}}, {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}});
  for (const Shape& shape : {Shape(ConvexMesh{mesh}), Shape(SurfaceMesh{mesh})}) {
    const VolumeProperties p = volume_properties(shape);
    EXPECT_NEAR(p.volume, 1.0 / 6, 1e-15);
    EXPECT_LE((p.centroid - Vec3(1.25, 0.25, 0.25)).norm(), 1e-15);
  }
}

TEST(ShapeVolume, OfUnboundedShapesIsZero) {
  for (const Shape& shape : {Shape(HalfSpace{}), Shape(HeightField{})}) {
    EXPECT_EQ(volume_properties(shape).volume, 0);
    EXPECT_EQ(volume_properties(shape).inertia, Mat3::Zero());
  }
}

TEST(ShapeName, IsTheWordOfSceneFiles) {
  const std::pair<Shape, const char*> names[] = {{Sphere{}, "sphere"},
                                                 {Box{}, "box"},
                                                 {Capsule{}, "capsule"},
                                                 {Cylinder{}, "cylinder"},
                                                 {Ellipsoid{}, "ellipsoid"},
                                                 {HalfSpace{}, "half_space"},
                                                 {ConvexMesh{}, "convex_mesh"},
                                                 {SurfaceMesh{}, "surface_mesh"},
                                                 {HeightField{}, "height_field"},
                                                 {SignedDistanceMesh{}, "sdf_mesh"}};
  static_assert(std::size(names) == std::variant_size_v<Shape>);
  for (const auto& [shape, name] : names) EXPECT_STREQ(shape_name(shape), name);
}

}  // namespace
}  // namespace capstan::shape_test
