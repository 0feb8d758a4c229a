#include "capstan/geometry/mesh_contact.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/geometry/contact_reduction.h"
#include "capstan/geometry/convex_distance.h"
#include "capstan/geometry/feature_cut.h"
#include "capstan/geometry/gjk.h"
#include "capstan/geometry/manifold.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

constexpr double kAngleSlack = 1e-6;  // [rad] normals this near an allowed one are allowed
constexpr double kPatchAngle = 0.1;   // [rad] contacts with normals this close are reduced together

std::uint32_t mix(unsigned a, unsigned b) {
  return (a * 0x9e3779b1u) ^ (b * 0x85ebca77u + 0x165667b1u);
}

// One pair, in the frame M of the mesh.
struct Pair {
  const Collider& C;
  const Transform& X_WC;
  const MeshBvh& bvh;
  const Transform& X_WM;
  double margin;
  std::vector<ContactPoint>* contacts;
  Transform X_MC, X_CM;
  Vec3 centre;                    // of C
  double deepest_skipped = 1e30;  // [m] least distance of a triangle that gave no contact

  // Triangles whose direction of least penetration is not allowed; they wait for what the others say.
  static constexpr int kMaxDeferred = 256;
  std::array<int, kMaxDeferred> deferred{};
  int num_deferred = 0;

  Vec3 support_of_C(const Vec3& n) const {  // farthest along n, rounding included
    int start = -1;
    return X_MC * support(C, X_CM.R * n, &start) + C.rounding * n;
  }

  // n: from the mesh to C. p: on the mesh.
  void add(const Vec3& n, const Vec3& p, double distance, std::uint32_t feature) {
    ContactPoint c;
    c.normal = -(X_WM.R * n);
    c.p_B = X_WM * p;
    c.distance = distance;
    c.p_A = c.p_B - distance * c.normal;
    c.feature = feature;
    contacts->push_back(c);
  }

  bool face_contacts(int t, const Collider& T, const Vec3& n, double gap, const Witness* witness);
  bool arc_contact(int t, const Vec3& n_side, const Collider& T);
  void feature_contacts(int t, const Collider& T, const Witness& witness);
  void sphere_triangle(int t, const Vec3& n_side, double height);
  void triangle(int t);
  void deferred_triangle(int t, std::size_t first, std::size_t last);
  double separation(const Collider& T, const Vec3& n) const;
  void centre_contact();
};

bool is_over(const Collider& T, const Vec3& n, const Vec3& p, double slack) {
  for (int k = 0; k < 3; ++k) {
    const Vec3 e = T.vertex[(k + 1) % 3] - T.vertex[k];
    if (cross(n, e).dot(p - T.vertex[k]) < -slack * e.norm()) return false;
  }
  return true;
}

// The part of C that looks at the face and lies over it. `witness`, when the closest points are on the face.
// True when there is any. When C and T are apart by `gap` > 0, what lies below T is behind the surface, not
// over it.
bool Pair::face_contacts(int t, const Collider& T, const Vec3& n, double gap, const Witness* witness) {
  const bool flipped = n.dot(bvh.face_normal[t]) < 0;
  const Vec3 up = flipped ? Vec3(-n) : n;  // T turns counter-clockwise about it
  const double scale = C.bounding_radius + T.bounding_radius;
  Vec3 lowest = support_of_C(-n);
  if (witness) lowest = X_MC * witness->a;
  const double depth = n.dot(lowest - T.vertex[0]);
  bool lowest_over = witness || is_over(T, up, lowest, 1e-9 * scale);

  CutPoints cut;
  const Transform X_MF{frame_from_z(-n), T.vertex[0]};
  const bool round = C.type == ColliderType::ellipsoid || C.type == ColliderType::sphere;
  if (!round) {
    const Transform X_FM = inverse(X_MF), X_FC = X_FM * X_MC;
    ContactFeature c, f;
    find_feature(C, X_FC, 1, 0.5, 0.5, &c);
    find_feature(T, X_FM, -1, 0.5, 0.5, &f);
    cut_features(c, f, 1e-10 * scale, &cut);
  }
  bool any = false;
  double smallest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < cut.size; ++i) {
    const CutPoint& p = cut.point[i];
    const double d = -p.z_A - C.rounding;  // T lies in z = 0 of F
    if (!(d <= margin) || (gap > 0 && d < gap - 1e-9 * scale)) continue;
    add(n, X_MF * Vec3(p.x, p.y, 0), d, mix(static_cast<unsigned>(t), p.feature));
    smallest = std::min(smallest, d);
    any = true;
  }
  if (lowest_over && depth <= margin && !(gap > 0 && depth < gap - 1e-9 * scale) &&
      !(smallest <= depth + 1e-9 * scale)) {
    add(n, lowest - depth * n, depth, mix(static_cast<unsigned>(t), 0xffffffffu));
    any = true;
  }
  return any;
}

void Pair::feature_contacts(int t, const Collider& T, const Witness& witness) {
  Manifold manifold;
  make_manifold(C, X_WC, T, X_CM, witness, true, margin, &manifold);
  for (int i = 0; i < manifold.size; ++i) {
    ContactPoint c = manifold.points[i];
    c.feature = mix(static_cast<unsigned>(t), c.feature);
    contacts->push_back(c);
  }
}

// C overlaps T and the direction of least penetration is not allowed: the best over the arcs of the convex
// edges, s(n) = min_C n.x - max_T n.y, by ternary search between the two face normals. False when the face
// normal is at least as good. The witness is found by moving T away until GJK sees a gap.
bool Pair::arc_contact(int t, const Vec3& n_side, const Collider& T) {
  const Vec3& n1 = bvh.face_normal[t];
  const double scale = C.bounding_radius + T.bounding_radius;
  double best = separation(T, n_side) + 1e-7 * scale;
  Vec3 n_best = Vec3::Zero();
  for (int k = 0; k < 3; ++k) {
    const int other = bvh.neighbour[t][k];
    if (other < 0 || n_side.dot(n1) < 0) continue;
    const Vec3& n2 = bvh.face_normal[other];
    const double sine = cross(n1, n2).dot((T.vertex[(k + 1) % 3] - T.vertex[k]).normalized());
    if (!(sine > 1e-4)) continue;  // flat or concave
    const double angle = std::atan2(sine, n1.dot(n2));
    const auto normal = [&](double x) {
      return Vec3((std::sin((1 - x) * angle) * n1 + std::sin(x * angle) * n2).normalized());
    };
    double low = 0, high = 1;
    for (int i = 0; i < 60; ++i) {
      const double a = low + (high - low) / 3, b = high - (high - low) / 3;
      if (separation(T, normal(a)) < separation(T, normal(b))) {
        low = a;
      } else {
        high = b;
      }
    }
    const double s = separation(T, normal((low + high) / 2));
    if (s > best) {
      best = s;
      n_best = normal((low + high) / 2);
    }
  }
  if (n_best.isZero()) return false;
  Witness w;
  w.n = -(X_CM.R * n_best);
  w.distance = best;
  CorePair pair{&C, &T, X_CM};
  const double gap = 2e-3 * scale;
  const Vec3 shift = (gap + C.rounding - best) * w.n;
  pair.X_AB.p += shift;
  const GjkResult g = gjk(&pair, w.n, std::numeric_limits<double>::infinity(), 1e-14 * scale);
  Vec3 middle = X_CM * support_of_C(-n_best);
  if (g.status == GjkResult::Status::separated)
    middle = (g.witness.a + g.witness.b - shift + C.rounding * w.n) / 2;
  w.a = middle - best / 2 * w.n;
  w.b = middle + best / 2 * w.n;
  feature_contacts(t, T, w);
  return true;
}

void Pair::sphere_triangle(int t, const Vec3& n_side, double height) {
  TriangleFeature feature;
  const Vec3 q =
      closest_point_on_triangle(centre, bvh.vertex(t, 0), bvh.vertex(t, 1), bvh.vertex(t, 2), &feature);
  if (feature == TriangleFeature::face) {
    if (height - C.rounding <= margin) add(n_side, q, height - C.rounding, mix(static_cast<unsigned>(t), 0));
    return;
  }
  const Vec3 delta = centre - q;
  const double distance = delta.norm();
  if (distance - C.rounding > margin) return;
  // On an edge or a vertex the triangles around it find the same point; the patch reduction merges them.
  const auto& ids = bvh.mesh->triangles[t];
  const int f = static_cast<int>(feature), k = (f - 1) % 3;
  const unsigned id = f >= 4 ? mix(static_cast<unsigned>(ids[k]), 1)
                             : mix(static_cast<unsigned>(std::min(ids[k], ids[(k + 1) % 3])),
                                   static_cast<unsigned>(std::max(ids[k], ids[(k + 1) % 3])));
  if (distance <= 1e-12 * C.rounding) {
    add(n_side, q, -C.rounding, id);
    return;
  }
  const Vec3 n = delta / distance;
  if (n.dot(n_side) > 1 - 1e-13) {
    add(n_side, q, distance - C.rounding, id);
  } else if (is_allowed_normal(bvh, t, feature, n)) {
    add(n, q, distance - C.rounding, id);
  }
}

// Which feature of T is farthest along n.
TriangleFeature extreme_feature(const Collider& T, const Vec3& n) {
  const double h[3] = {n.dot(T.vertex[0]), n.dot(T.vertex[1]), n.dot(T.vertex[2])};
  const double top = std::max({h[0], h[1], h[2]}), slack = 1e-7 * T.bounding_radius;
  bool at_top[3];
  int count = 0;
  for (int k = 0; k < 3; ++k) count += at_top[k] = h[k] >= top - slack;
  if (count == 3) return TriangleFeature::face;
  for (int k = 0; k < 3; ++k) {
    if (count == 2 && at_top[k] && at_top[(k + 1) % 3]) return static_cast<TriangleFeature>(1 + k);
    if (count == 1 && at_top[k]) return static_cast<TriangleFeature>(4 + k);
  }
  return TriangleFeature::face;
}

void Pair::triangle(int t) {
  const Vec3& n_f = bvh.face_normal[t];
  if (n_f.isZero()) return;  // its neighbours hold its points
  const double height = n_f.dot(centre - bvh.vertex(t, 0));
  if (bvh.solid && height < 0) return;
  const Vec3 n_side = height < 0 ? Vec3(-n_f) : n_f;
  if (C.type == ColliderType::sphere) {
    sphere_triangle(t, n_side, std::abs(height));
    return;
  }
  if (n_side.dot(support_of_C(-n_side) - bvh.vertex(t, 0)) > margin) return;
  const Collider T = make_triangle_collider(bvh.vertex(t, 0), bvh.vertex(t, 1), bvh.vertex(t, 2));
  Witness w;
  const double d = convex_distance(C, T, X_CM, margin, &w);
  if (!(d <= margin)) return;
  const Vec3 n = -(X_MC.R * w.n);
  const double alignment = n.dot(n_side);
  if (alignment > 1 - 1e-12) {
    face_contacts(t, T, n_side, d, &w);
    return;
  }
  const TriangleFeature feature = extreme_feature(T, n);
  if (feature != TriangleFeature::face && alignment > -kAngleSlack && is_allowed_normal(bvh, t, feature, n)) {
    feature_contacts(t, T, w);
    return;
  }
  if (d < 0 && num_deferred < kMaxDeferred) {
    deferred[num_deferred++] = t;
  } else {
    face_contacts(t, T, n_side, d, nullptr);
  }
}

// Contacts [first, last) are the allowed ones. If one of their normals frees C from T at less depth than the
// face normal does, C came over an edge or a corner and that contact speaks for T as well.
void Pair::deferred_triangle(int t, std::size_t first, std::size_t last) {
  const Collider T = make_triangle_collider(bvh.vertex(t, 0), bvh.vertex(t, 1), bvh.vertex(t, 2));
  const Vec3& n_f = bvh.face_normal[t];
  const Vec3 n_side = n_f.dot(centre - T.vertex[0]) < 0 ? Vec3(-n_f) : n_f;
  const double by_face = separation(T, n_side), slack = 1e-7 * C.bounding_radius;
  for (std::size_t i = first; i < last; ++i) {
    if ((*contacts)[i].distance > 0) continue;
    const Vec3 n = -(X_WM.R.transpose() * (*contacts)[i].normal);
    if (separation(T, n) > by_face + slack) return;
  }
  if (arc_contact(t, n_side, T)) return;
  if (!face_contacts(t, T, n_side, 0, nullptr)) deepest_skipped = std::min(deepest_skipped, by_face);
}

// s(n) of T and C: how far they are apart along n.
double Pair::separation(const Collider& T, const Vec3& n) const {
  const double top = std::max({n.dot(T.vertex[0]), n.dot(T.vertex[1]), n.dot(T.vertex[2])});
  return n.dot(support_of_C(-n)) - top;
}

// The way out for a shape whose centre is inside, or whose overlap no triangle could explain.
void Pair::centre_contact() {
  const MeshPoint q = closest_point(bvh, centre);
  const Vec3 m = feature_normal(bvh, q.triangle, q.feature), r = centre - q.point;
  Vec3 n = m;
  if (q.distance > 1e-9 * C.bounding_radius) n = (r.dot(m) < 0 && bvh.solid ? -1 : 1) * r / q.distance;
  const Vec3 lowest = support_of_C(-n);
  const double d = n.dot(lowest - q.point);
  if (d <= margin) add(n, lowest - d * n, d, mix(static_cast<unsigned>(q.triangle), 0xfffffffeu));
}

void collide_half_space(const Collider&, const Transform& X_WH, const MeshBvh& bvh, const Transform& X_WM,
                        double margin, std::vector<ContactPoint>* contacts) {
  const Transform X_HM = inverse(X_WH) * X_WM;
  const Vec3 up = X_HM.R.row(2).transpose();  // the half space's normal in the mesh frame
  const int end = static_cast<int>(bvh.nodes.size());
  const std::size_t first = contacts->size();
  for (int i = 0; i < end;) {
    const MeshBvh::Node& node = bvh.nodes[i];
    const Vec3 low = (up.array() >= 0).select(node.box.lower, node.box.upper);
    if (up.dot(low) + X_HM.p.z() > margin) {
      i = node.skip;
      continue;
    }
    for (int k = node.first; k < node.first + node.count; ++k) {
      for (int v : bvh.mesh->triangles[bvh.order[k]]) {
        const double d = up.dot(bvh.mesh->vertices[v]) + X_HM.p.z();
        if (d > margin) continue;
        ContactPoint c;
        c.normal = X_WH.R.col(2);
        c.p_B = X_WM * bvh.mesh->vertices[v];
        c.distance = d;
        c.p_A = c.p_B - d * c.normal;
        c.feature = static_cast<std::uint32_t>(v);
        contacts->push_back(c);
      }
    }
    ++i;
  }
  const double size = (bvh.nodes[0].box.upper - bvh.nodes[0].box.lower).norm();
  reduce_contacts(first, 1e-9 * size, kPatchAngle, contacts);
}

}  // namespace

bool is_allowed_normal(const MeshBvh& bvh, int t, TriangleFeature feature, const Vec3& n) {
  const int f = static_cast<int>(feature);
  if (f == 0) return n.dot(bvh.face_normal[t]) > 1 - kAngleSlack;
  if (f <= 3) {
    const int k = f - 1, other = bvh.neighbour[t][k];
    const Vec3 e = (bvh.vertex(t, (k + 1) % 3) - bvh.vertex(t, k)).normalized();
    if (n.dot(cross(e, bvh.face_normal[t])) < -kAngleSlack) return false;
    return other < 0 || n.dot(cross(bvh.face_normal[other], e)) >= -kAngleSlack;
  }
  const int v = bvh.mesh->triangles[t][f - 4];
  for (int i = bvh.first_fan[v]; i < bvh.first_fan[v + 1]; ++i) {
    const Vec3 e = bvh.mesh->vertices[bvh.fan[i]] - bvh.mesh->vertices[v];
    if (n.dot(e) > kAngleSlack * e.norm()) return false;
  }
  return true;
}

void collide_mesh(const Collider& C, const Transform& X_WC, const MeshBvh& bvh, const Transform& X_WM,
                  double margin, std::vector<ContactPoint>* contacts) {
  if (C.type == ColliderType::half_space) {
    collide_half_space(C, X_WC, bvh, X_WM, margin, contacts);
    return;
  }
  Pair pair{C, X_WC, bvh, X_WM, margin, contacts, inverse(X_WM) * X_WC, {}, {}};
  pair.X_CM = inverse(pair.X_MC);
  pair.centre = pair.X_MC * C.centre;
  const Vec3 half = pair.X_MC.R.cwiseAbs() * C.half_box + Vec3::Constant(margin);
  const Aabb box{pair.centre - half, pair.centre + half};
  Aabb solid = bvh.nodes[0].box;
  if (bvh.base != 0) solid.lower.z() = std::min(solid.lower.z(), -bvh.base);
  if (!overlaps(box, solid)) return;
  const std::size_t first = contacts->size();
  if (bvh.solid && overlaps(solid, Aabb{pair.centre, pair.centre}) &&
      closest_point_signed(bvh, pair.centre).distance < 0) {
    pair.centre_contact();
    return;
  }
  for_each_overlap(bvh, box, [&](int t) { pair.triangle(t); });
  const std::size_t last = contacts->size();
  for (int i = 0; i < pair.num_deferred; ++i) pair.deferred_triangle(pair.deferred[i], first, last);
  if (contacts->size() == first && pair.deepest_skipped < 0) pair.centre_contact();
  reduce_contacts(first, 1e-7 * C.bounding_radius, kPatchAngle, contacts);
}

}  // namespace capstan
