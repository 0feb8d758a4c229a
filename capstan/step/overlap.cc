// Overlaps at the start, from spheres within the shapes (see examine.h). What is told overlaps for certain;
// a thin overlap, or one of meshes, may go unseen.
#include <algorithm>
#include <cmath>

#include "capstan/step/examine.h"

namespace capstan {
namespace {

constexpr double kDepth = 1e-3;  // [m] resting contacts are this deep by intention
constexpr int kMaxSpheres = 8;

struct Ball {
  Vec3 center = Vec3::Zero();
  double radius = 0;
};

// Spheres of the given radius along an axis, from -reach to reach.
void add_row(const Vec3& axis, double reach, double radius, std::vector<Ball>* balls) {
  if (!(radius > 0)) return;
  const int n = std::clamp(1 + static_cast<int>(std::ceil(2 * reach / radius)), 1, kMaxSpheres);
  for (int i = 0; i < n; ++i) {
    const double t = n == 1 ? 0 : -1 + 2.0 * i / (n - 1);
    balls->push_back({t * reach * axis, radius});
  }
}

struct InnerSpheres {
  std::vector<Ball>* balls;
  void operator()(const Sphere& s) const { balls->push_back({Vec3::Zero(), s.radius}); }
  void operator()(const Box& b) const {
    int longest = 0;
    b.half_size.maxCoeff(&longest);
    const double radius = b.half_size.minCoeff();
    add_row(Vec3::Unit(longest), b.half_size[longest] - radius, radius, balls);
  }
  void operator()(const Capsule& c) const { add_row(Vec3::UnitZ(), c.half_length, c.radius, balls); }
  void operator()(const Cylinder& c) const {
    const double radius = std::min(c.radius, c.half_length);
    add_row(Vec3::UnitZ(), c.half_length - radius, radius, balls);
  }
  void operator()(const Ellipsoid& e) const { balls->push_back({Vec3::Zero(), e.radii.minCoeff()}); }
  void operator()(const HalfSpace&) const {}
  void operator()(const ConvexMesh&) const {}
  void operator()(const SurfaceMesh&) const {}
  void operator()(const HeightField&) const {}
};

// Least d.x over a shape, d unit: exact. Infinite for shapes without an inside of their own.
struct LeastAlong {
  Vec3 d;
  double operator()(const Sphere& s) const { return -s.radius; }
  double operator()(const Box& b) const { return -d.cwiseAbs().dot(b.half_size); }
  double operator()(const Capsule& c) const { return -c.radius - std::abs(d.z()) * c.half_length; }
  double operator()(const Cylinder& c) const {
    return -std::abs(d.z()) * c.half_length - std::hypot(d.x(), d.y()) * c.radius;
  }
  double operator()(const Ellipsoid& e) const { return -d.cwiseProduct(e.radii).norm(); }
  double operator()(const HalfSpace&) const { return kInfinity; }
  double operator()(const ConvexMesh& m) const { return least(*m.mesh); }
  double operator()(const SurfaceMesh& m) const { return least(*m.mesh); }
  double operator()(const HeightField&) const { return kInfinity; }
  double least(const TriangleMesh& mesh) const {
    double smallest = kInfinity;
    for (const Vec3& p : mesh.vertices) smallest = std::min(smallest, d.dot(p));
    return smallest;
  }
};

}  // namespace

bool may_collide(const Model& model, int shape_a, int shape_b) {
  const ModelShape &a = model.shapes[shape_a], &b = model.shapes[shape_b];
  if (!a.collides || !b.collides || a.link == b.link) return false;
  if (!(a.group_bits & b.mask_bits) && !(b.group_bits & a.mask_bits)) return false;
  // What is welded to the world is nobody's parent: an arm's first link does collide with the floor.
  const int parent_a = model.links[a.link].parent, parent_b = model.links[b.link].parent;
  const bool related = (parent_a == b.link && b.link != 0) || (parent_b == a.link && a.link != 0);
  if (related && !model.options.collide_parent_child) return false;
  return std::none_of(model.excluded_bodies.begin(), model.excluded_bodies.end(), [&](const auto& pair) {
    return (pair[0] == a.body && pair[1] == b.body) || (pair[0] == b.body && pair[1] == a.body);
  });
}

std::vector<Overlap> find_overlaps(const Model& model, const Placement& placement) {
  struct Entry {
    int shape;
    double x_min, x_max;
    std::vector<Ball> balls;  // world
  };
  std::vector<Overlap> overlaps;
  std::vector<Entry> entries;
  const int n = static_cast<int>(model.shapes.size());
  for (int s = 0; s < n; ++s) {
    const ModelShape& shape = model.shapes[s];
    if (!shape.collides) continue;
    const Transform X_WS = placement.X_WL[shape.link] * shape.X_LS;
    if (std::holds_alternative<HalfSpace>(shape.shape)) {
      const Vec3 normal = X_WS.R.col(2);
      for (int other = 0; other < n; ++other) {
        if (other == s || !may_collide(model, s, other)) continue;
        const ModelShape& o = model.shapes[other];
        const Transform X_WO = placement.X_WL[o.link] * o.X_LS;
        const double height =
            normal.dot(X_WO.p - X_WS.p) + std::visit(LeastAlong{X_WO.R.transpose() * normal}, o.shape);
        if (height < -kDepth) overlaps.push_back({std::min(s, other), std::max(s, other), -height});
      }
      continue;
    }
    Entry entry{s, kInfinity, -kInfinity, {}};
    std::visit(InnerSpheres{&entry.balls}, shape.shape);
    for (Ball& ball : entry.balls) {
      ball.center = X_WS * ball.center;
      entry.x_min = std::min(entry.x_min, ball.center.x() - ball.radius);
      entry.x_max = std::max(entry.x_max, ball.center.x() + ball.radius);
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.x_min != b.x_min ? a.x_min < b.x_min : a.shape < b.shape;
  });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = i + 1; j < entries.size() && entries[j].x_min < entries[i].x_max; ++j) {
      double depth = 0;
      for (const Ball& a : entries[i].balls) {
        for (const Ball& b : entries[j].balls) {
          depth = std::max(depth, a.radius + b.radius - (a.center - b.center).norm());
        }
      }
      const int a = std::min(entries[i].shape, entries[j].shape);
      const int b = std::max(entries[i].shape, entries[j].shape);
      if (depth > kDepth && may_collide(model, a, b)) overlaps.push_back({a, b, depth});
    }
  }
  std::sort(overlaps.begin(), overlaps.end(), [](const Overlap& a, const Overlap& b) {
    return a.shape_a != b.shape_a ? a.shape_a < b.shape_a : a.shape_b < b.shape_b;
  });
  return overlaps;
}

}  // namespace capstan
