// Narrow phase: pairs per second for each pair of shapes, ours against FCL and Bullet, on the same poses in
// one run.
//
// The poses are those of a pile: signed distances from -2 mm to +2 mm at a shape size of 20 cm. Ours returns
// a manifold with a margin of 2 mm, FCL up to four contacts, Bullet what its dispatcher computes afresh (its
// cache of points is cleared, since a benchmark of random poses has no use for it). Best of several rounds.
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "tests/geometry/collision_twins.h"

#ifdef CAPSTAN_BENCH_FCL
#include <fcl/narrowphase/collision.h>
#include <fcl/narrowphase/collision_object.h>
#include <fcl/narrowphase/distance.h>
#endif
#ifdef CAPSTAN_BENCH_BULLET
#include <btBulletCollisionCommon.h>
#endif

namespace capstan {
namespace {

constexpr int kPoses = 1000, kRounds = 7;

struct PairPoses {
  std::vector<Transform> X_WA, X_WB;
};

// Million calls per second of f(k), k < kPoses.
template <class F>
double rate(const F& f) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < kPoses; ++k) f(k);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, kPoses / seconds * 1e-6);
  }
  return best;
}

#ifdef CAPSTAN_BENCH_FCL
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
    case ColliderType::half_space:
      return std::make_shared<fcl::Halfspaced>(Vec3::UnitZ(), 0);
    case ColliderType::hull: {
      auto vertices = std::make_shared<std::vector<Vec3>>(c.hull->vertices);
      auto faces = std::make_shared<std::vector<int>>();
      for (int f = 0; f < static_cast<int>(c.hull->faces.size()); ++f) {
        const auto loop = c.hull->face_loop(f);
        faces->push_back(static_cast<int>(loop.size()));
        faces->insert(faces->end(), loop.begin(), loop.end());
      }
      return std::make_shared<fcl::Convexd>(vertices, static_cast<int>(c.hull->faces.size()), faces);
    }
    default:
      return nullptr;
  }
}

double fcl_rate(const Collider& A, const Collider& B, const PairPoses& poses) {
  const auto a = fcl_shape(A), b = fcl_shape(B);
  if (!a || !b) return 0;
  fcl::CollisionObjectd o(a), p(b);
  fcl::CollisionRequestd request(4, true);
  const auto pose = [](const Transform& X) {
    fcl::Transform3d T = fcl::Transform3d::Identity();
    T.linear() = X.R;
    T.translation() = X.p;
    return T;
  };
  return rate([&](int k) {
    o.setTransform(pose(poses.X_WA[k]));
    p.setTransform(pose(poses.X_WB[k]));
    fcl::CollisionResultd result;
    fcl::collide(&o, &p, request, result);
  });
}
#endif

#ifdef CAPSTAN_BENCH_BULLET
std::unique_ptr<btCollisionShape> bullet_shape(const Collider& c) {
  const auto v = [](const Vec3& p) {
    return btVector3(static_cast<btScalar>(p.x()), static_cast<btScalar>(p.y()),
                     static_cast<btScalar>(p.z()));
  };
  switch (c.type) {
    case ColliderType::sphere:
      return std::make_unique<btSphereShape>(static_cast<btScalar>(c.rounding));
    case ColliderType::capsule:
      return std::make_unique<btCapsuleShapeZ>(static_cast<btScalar>(c.rounding),
                                               static_cast<btScalar>(2 * c.size.z()));
    case ColliderType::box:
      return std::make_unique<btBoxShape>(v(c.size));
    case ColliderType::cylinder:
      return std::make_unique<btCylinderShapeZ>(v(c.size));
    case ColliderType::half_space:
      return std::make_unique<btStaticPlaneShape>(btVector3(0, 0, 1), btScalar(0));
    case ColliderType::hull: {
      auto hull = std::make_unique<btConvexHullShape>();
      for (const Vec3& p : c.hull->vertices) hull->addPoint(v(p));
      return hull;
    }
    default:
      return nullptr;  // it has no ellipsoid
  }
}

double bullet_rate(const Collider& A, const Collider& B, const PairPoses& poses, double* points) {
  const auto a = bullet_shape(A), b = bullet_shape(B);
  if (!a || !b) return 0;
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btCollisionObject o, p;
  o.setCollisionShape(a.get());
  p.setCollisionShape(b.get());
  btCollisionObjectWrapper wo(nullptr, a.get(), &o, o.getWorldTransform(), -1, -1);
  btCollisionObjectWrapper wp(nullptr, b.get(), &p, p.getWorldTransform(), -1, -1);
  btCollisionAlgorithm* algorithm = dispatcher.findAlgorithm(&wo, &wp, nullptr, BT_CONTACT_POINT_ALGORITHMS);
  btDispatcherInfo info;
  std::vector<btTransform> X_WA, X_WB;
  for (int k = 0; k < kPoses; ++k) {
    for (auto [X, out] : {std::pair{&poses.X_WA[k], &X_WA}, std::pair{&poses.X_WB[k], &X_WB}}) {
      btTransform T;
      const auto s = [](double x) { return static_cast<btScalar>(x); };
      const Mat3& R = X->R;
      T.setBasis({s(R(0, 0)), s(R(0, 1)), s(R(0, 2)), s(R(1, 0)), s(R(1, 1)), s(R(1, 2)), s(R(2, 0)),
                  s(R(2, 1)), s(R(2, 2))});
      T.setOrigin({s(X->p.x()), s(X->p.y()), s(X->p.z())});
      out->push_back(T);
    }
  }
  long count = 0, calls = 0;
  const double r = rate([&](int k) {
    o.setWorldTransform(X_WA[k]);
    p.setWorldTransform(X_WB[k]);
    btManifoldResult result(&wo, &wp);
    algorithm->processCollision(&wo, &wp, info, &result);
    ++calls;
    btManifoldArray manifolds;
    algorithm->getAllContactManifolds(manifolds);
    for (int i = 0; i < manifolds.size(); ++i) {
      count += manifolds[i]->getNumContacts();
      manifolds[i]->clearManifold();
    }
  });
  *points = static_cast<double>(count) / static_cast<double>(calls);
  algorithm->~btCollisionAlgorithm();
  dispatcher.freeCollisionAlgorithm(algorithm);
  return r;
}
#endif

enum class Set { touch, flat, near };

PairPoses make_poses(const Collider& A, const Collider& B, Set set) {
  twin::Poses random(5);
  PairPoses poses;
  for (int k = 0; k < kPoses; ++k) {
    Transform X_WA, X_WB;
    if (set == Set::flat) {
      const double yaw = random.uniform(0, 2 * M_PI), tilt = random.uniform(-1e-3, 1e-3);
      X_WA = random.pose(1);
      Transform X_AB{rotation_about(Vec3::UnitX(), std::cos(tilt), std::sin(tilt)) *
                         rotation_about(Vec3::UnitZ(), std::cos(yaw), std::sin(yaw)),
                     {random.uniform(-0.03, 0.03), random.uniform(-0.03, 0.03), 0}};
      if (B.type == ColliderType::half_space) {
        X_AB.p.z() = -twin::extent(A, -X_AB.R.col(2)) + random.uniform(0, 0.002);
      } else {
        X_AB.p.z() = twin::extent(A, Vec3::UnitZ()) + twin::extent(B, -X_AB.R.row(2).transpose()) -
                     random.uniform(0, 0.002);
      }
      X_WB = X_WA * X_AB;
    } else {
      const double d = set == Set::touch ? random.uniform(-0.002, 0) : random.uniform(0, 0.002);
      random.pair_at(A, B, d, &X_WA, &X_WB);
    }
    poses.X_WA.push_back(X_WA);
    poses.X_WB.push_back(X_WB);
  }
  return poses;
}

void run_set(const char* title, Set set) {
  std::printf("\n%-22s %9s %9s %7s", title, "distance", "manifold", "points");
#ifdef CAPSTAN_BENCH_FCL
  std::printf(" %9s", "FCL");
#endif
#ifdef CAPSTAN_BENCH_BULLET
  std::printf(" %9s %7s %14s", sizeof(btScalar) == 8 ? "Bullet64" : "Bullet32", "points", "ours / Bullet");
#endif
  std::printf("\n");
  const auto& shapes = twin::shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t j = i; j < shapes.size(); ++j) {
      const Collider &A = shapes[i].collider, &B = shapes[j].collider;
      if (A.type == ColliderType::half_space || A.type == ColliderType::triangle) continue;
      if (B.type == ColliderType::triangle) continue;
      const PairPoses poses = make_poses(A, B, set);
      long points = 0, calls = 0;
      double sum = 0;
      const double distance = rate([&](int k) {
        ContactPoint c;
        sum += signed_distance(A, poses.X_WA[k], B, poses.X_WB[k], &c);
      });
      const double manifold = rate([&](int k) {
        Manifold m;
        collide_convex(A, poses.X_WA[k], B, poses.X_WB[k], 0.002, &m);
        points += m.size;
        ++calls;
      });
      std::printf("%-22s %9.3f %9.3f %7.2f", (shapes[i].name + "-" + shapes[j].name).c_str(), distance,
                  manifold, static_cast<double>(points) / static_cast<double>(calls));
#ifdef CAPSTAN_BENCH_FCL
      std::printf(" %9.3f", fcl_rate(A, B, poses));
#endif
#ifdef CAPSTAN_BENCH_BULLET
      double theirs = 0;
      const double bullet = bullet_rate(A, B, poses, &theirs);
      if (bullet > 0) std::printf(" %9.3f %7.2f %14.2f", bullet, theirs, manifold / bullet);
#endif
      std::printf("%s\n", std::isfinite(sum) ? "" : " not finite");
    }
  }
}

void run() {
  std::printf("million pairs per second; points: mean contacts per pair\n");
  run_set("touch", Set::touch);
  run_set("flat", Set::flat);
  run_set("near", Set::near);
}

}  // namespace
}  // namespace capstan

int main() {
  capstan::run();
}
