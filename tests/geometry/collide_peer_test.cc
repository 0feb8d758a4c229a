// Against FCL, where it is exact: distances of separated pairs, depths of overlapping boxes.
#include <fcl/narrowphase/collision.h>
#include <fcl/narrowphase/distance.h>
#include <gtest/gtest.h>

#include "tests/geometry/collision_twins.h"

namespace capstan::collide_peer_test {
namespace {

std::shared_ptr<fcl::CollisionGeometryd> fcl_shape(const Collider& c) {
  switch (c.type) {
    case ColliderType::sphere:
      return std::make_shared<fcl::Sphered>(c.rounding);
    case ColliderType::capsule:
      return std::make_shared<fcl::Capsuled>(c.rounding, 2 * c.size.z());
    case ColliderType::box:
      return std::make_shared<fcl::Boxd>(2 * c.size);
    case ColliderType::cylinder:
      return std::make_shared<fcl::Cylinderd>(c.size.x(), 2 * c.size.z());
    case ColliderType::ellipsoid:
      return std::make_shared<fcl::Ellipsoidd>(c.size);
    default:
      return nullptr;
  }
}

fcl::Transform3d fcl_pose(const Transform& X) {
  fcl::Transform3d T = fcl::Transform3d::Identity();
  T.linear() = X.R;
  T.translation() = X.p;
  return T;
}

TEST(CollidePeer, SeparatedPairsAgreeWithFcl) {
  for (const auto& A : twin::shapes()) {
    for (const auto& B : twin::shapes()) {
      const auto a = fcl_shape(A.collider), b = fcl_shape(B.collider);
      if (!a || !b) continue;
      SCOPED_TRACE(A.name + " " + B.name);
      twin::Poses poses(61);
      for (int k = 0; k < 50; ++k) {
        Transform X_WA, X_WB;
        poses.pair_at(A.collider, B.collider, poses.uniform(0.01, 0.1), &X_WA, &X_WB);
        fcl::DistanceRequestd request;
        request.gjk_solver_type = fcl::GST_LIBCCD;
        request.distance_tolerance = 1e-10;
        fcl::DistanceResultd result;
        const double theirs =
            fcl::distance(a.get(), fcl_pose(X_WA), b.get(), fcl_pose(X_WB), request, result);
        const double ours = signed_distance(A.collider, X_WA, B.collider, X_WB);
        // libccd stops at its own tolerance, from above.
        ASSERT_NEAR(ours, theirs, 1e-5) << k;
        ASSERT_LT(ours, theirs + 1e-9) << k;
      }
    }
  }
}

TEST(CollidePeer, OverlappingBoxesAgreeWithFcl) {
  const Collider box = make_collider(Box{{0.1, 0.08, 0.06}});
  const auto b = fcl_shape(box);
  twin::Poses poses(62);
  for (int k = 0; k < 500; ++k) {
    Transform X_WA, X_WB;
    poses.pair_at(box, box, poses.uniform(-0.02, -0.0001), &X_WA, &X_WB);
    fcl::CollisionRequestd request(8, true);
    fcl::CollisionResultd result;
    fcl::collide(b.get(), fcl_pose(X_WA), b.get(), fcl_pose(X_WB), request, result);
    double deepest = 0;
    for (std::size_t i = 0; i < result.numContacts(); ++i) {
      deepest = std::max(deepest, result.getContact(i).penetration_depth);
    }
    const double ours = -signed_distance(box, X_WA, box, X_WB);
    // FCL prefers faces: up to 5 % deeper than the least depth.
    ASSERT_LE(ours, deepest + 1e-12) << k;
    ASSERT_GE(ours, deepest / 1.06) << k;
  }
}

}  // namespace
}  // namespace capstan::collide_peer_test
