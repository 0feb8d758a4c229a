// Facets bound a closed surface, face outwards, and approach the volume of the shape.
#include "capstan/geometry/tessellate.h"

#include <gtest/gtest.h>

#include <set>

namespace capstan::tessellate_test {
namespace {

// As triangles, with equal vertices merged.
TriangleMesh to_mesh(const Facets& facets) {
  TriangleMesh mesh;
  std::vector<int> index;
  for (const Vec3& v : facets.vertices) {
    int found = -1;
    for (std::size_t i = 0; i < mesh.vertices.size() && found < 0; ++i) {
      if ((mesh.vertices[i] - v).norm() < 1e-12) found = static_cast<int>(i);
    }
    if (found < 0) {
      found = static_cast<int>(mesh.vertices.size());
      mesh.vertices.push_back(v);
    }
    index.push_back(found);
  }
  for (const auto& face : facets.faces) {
    for (std::size_t i = 1; i + 1 < face.size(); ++i) {
      mesh.triangles.push_back({index[face[0]], index[face[i]], index[face[i + 1]]});
    }
  }
  return mesh;
}

const Shape kShapes[] = {Sphere{0.7}, Box{Vec3(0.3, 1.2, 0.5)}, Capsule{0.4, 0.9}, Cylinder{0.6, 0.2},
                         Ellipsoid{Vec3(0.3, 0.5, 1.1)}};

TEST(Tessellate, SurfacesAreClosed) {
  for (const Shape& shape : kShapes) {
    for (const int segments : {4, 7, 24}) {
      EXPECT_TRUE(is_closed(to_mesh(tessellate(shape, segments)))) << shape_name(shape) << " " << segments;
    }
  }
}

TEST(Tessellate, VolumeApproachesThatOfTheShapeFromWithin) {
  for (const Shape& shape : kShapes) {
    const double exact = volume_properties(shape).volume;
    const double coarse = volume_properties(to_mesh(tessellate(shape, 16))).volume;
    const double fine = volume_properties(to_mesh(tessellate(shape, 64))).volume;
    EXPECT_LE(coarse, exact * (1 + 1e-12)) << shape_name(shape);
    if (std::holds_alternative<Box>(shape)) {
      EXPECT_NEAR(fine, exact, 1e-12 * exact);
    } else {
      // The error is of second order in the size of a facet: 16 times smaller.
      EXPECT_GT(exact - coarse, 0) << shape_name(shape);
      EXPECT_NEAR((exact - coarse) / (exact - fine), 16, 1.5) << shape_name(shape);
    }
  }
}

TEST(Tessellate, HalfSpaceHasNoFacets) {
  EXPECT_TRUE(tessellate(HalfSpace{}, 12).faces.empty());
}

}  // namespace
}  // namespace capstan::tessellate_test
