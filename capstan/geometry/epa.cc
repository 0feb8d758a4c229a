#include "capstan/geometry/epa.h"

namespace capstan {
namespace {

struct Face {
  int v[3];       // counter-clockwise seen from outside
  int across[3];  // the face beyond edge v[i] v[i+1]
  Vec3 m;         // unit, outward; zero when the face has no area
  double f;       // distance of its plane from the origin; infinite when the face has no area
  bool alive;
};

struct Polytope {
  static constexpr int kMaxVertices = 160;
  static constexpr int kMaxFaces = 2 * kMaxVertices + 64;

  Vec3 w[kMaxVertices], a[kMaxVertices];  // points of C, and the points of A they come from
  int num_vertices = 0;
  Face face[kMaxFaces];
  int num_faces = 0;  // slots used, dead ones included
  int free_slot[kMaxFaces];
  int num_free = 0;
  struct HorizonEdge {
    int face, edge;
  } horizon[kMaxFaces];
  int horizon_size = 0;
  int face_from[kMaxVertices];  // the new face whose horizon edge starts at this vertex

  int add_face(int i, int j, int k) {
    const int slot = num_free > 0 ? free_slot[--num_free] : num_faces++;
    Face& t = face[slot];
    t.v[0] = i;
    t.v[1] = j;
    t.v[2] = k;
    t.alive = true;
    const Vec3 e1 = w[j] - w[i], e2 = w[k] - w[i];
    const Vec3 n = cross(e1, e2);
    const double squared = n.squaredNorm();
    if (squared > 1e-26 * e1.squaredNorm() * e2.squaredNorm()) {
      t.m = n / std::sqrt(squared);
      t.f = t.m.dot((w[i] + w[j] + w[k]) / 3);
    } else {
      t.m.setZero();
      t.f = kInfinity;
    }
    return slot;
  }

  // Collects the edges around the region that sees p, in order. Recursion is as deep as the region is large.
  void collect(int f, int edge, const Vec3& p, double epsilon) {
    Face& t = face[f];
    if (!t.alive) return;
    if (t.m.dot(p - w[t.v[0]]) <= epsilon) {
      horizon[horizon_size++] = {f, edge};
      return;
    }
    t.alive = false;
    free_slot[num_free++] = f;
    collect(t.across[(edge + 1) % 3], back_edge(f, (edge + 1) % 3), p, epsilon);
    collect(t.across[(edge + 2) % 3], back_edge(f, (edge + 2) % 3), p, epsilon);
  }
  // The index of edge e of face f as its neighbour counts it.
  int back_edge(int f, int e) const {
    const Face& g = face[face[f].across[e]];
    const int start = face[f].v[(e + 1) % 3];
    return g.v[0] == start ? 0 : g.v[1] == start ? 1 : 2;
  }

  // Replaces the faces that see p by a fan from p to their horizon. False when rounding has spoilt the loop.
  bool expand(int nearest, const Vec3& p, const Vec3& p_a, double epsilon) {
    horizon_size = 0;
    face[nearest].alive = false;
    const int free_before = num_free;
    free_slot[num_free++] = nearest;
    for (int e = 0; e < 3; ++e) collect(face[nearest].across[e], back_edge(nearest, e), p, epsilon);
    if (horizon_size < 3) return false;
    const int apex = num_vertices++;
    w[apex] = p;
    a[apex] = p_a;
    for (int v = 0; v < apex; ++v) face_from[v] = -1;
    // New faces must not take a slot that is still read below: slots freed now stay until the fan is linked.
    const int freed = num_free - free_before;
    int keep[kMaxFaces];
    for (int i = 0; i < freed; ++i) keep[i] = free_slot[free_before + i];
    num_free = free_before;
    if (num_faces - num_free + horizon_size > kMaxFaces) return false;
    int fan[kMaxFaces];
    for (int i = 0; i < horizon_size; ++i) {
      const auto [g, e] = horizon[i];
      const int from = face[g].v[(e + 1) % 3], to = face[g].v[e];
      if (face_from[from] >= 0) return false;
      fan[i] = add_face(from, to, apex);
      face[fan[i]].across[0] = g;
      face[g].across[e] = fan[i];
      face_from[from] = fan[i];
    }
    for (int i = 0; i < horizon_size; ++i) {
      const int next = face_from[face[fan[i]].v[1]];
      if (next < 0) return false;
      face[fan[i]].across[1] = next;
      face[next].across[2] = fan[i];
    }
    for (int i = 0; i < freed; ++i) free_slot[num_free++] = keep[i];
    return true;
  }
};

// Support point of C along m, and C's extent there.
double support_of_difference(CorePair* pair, const Vec3& m, Vec3* w, Vec3* a) {
  Vec3 b;
  pair->span(-m, a, &b);
  *w = b - *a;
  return m.dot(*w);
}

// Completes the simplex to a tetrahedron with volume: farthest of both sides along a set of directions away
// from its affine hull. False when C is flat.
bool complete(CorePair* pair, const Simplex& start, double scale, Vec3* w, Vec3* a) {
  const double flat = 1e-12 * scale;
  int n = 0;
  // Keep only points that add a dimension.
  auto away = [&](const Vec3& p) {
    if (n == 0) return true;
    if (n == 1) return (p - w[0]).norm() > flat;
    const Vec3 e = w[1] - w[0];
    if (n == 2) return cross(e, p - w[0]).norm() > flat * e.norm();
    const Vec3 m = cross(e, w[2] - w[0]);
    return std::abs(m.dot(p - w[0])) > flat * m.norm();
  };
  for (int i = 0; i < start.size; ++i) {
    if (!away(start.w[i])) continue;
    a[n] = start.a[i];
    w[n++] = start.w[i];
  }
  while (n < 4) {
    Vec3 directions[3] = {Vec3::UnitX(), Vec3::UnitY(), Vec3::UnitZ()};
    int count = 3;
    if (n == 2) {
      for (Vec3& d : directions) d = cross(w[1] - w[0], d);
    } else if (n == 3) {
      directions[0] = cross(w[1] - w[0], w[2] - w[0]);
      count = 1;
    }
    double farthest = 0;
    Vec3 best = Vec3::Zero(), best_a = Vec3::Zero();
    for (int i = 0; i < 2 * count; ++i) {
      const Vec3& d = directions[i / 2];
      const double length = d.norm();
      if (!(length > 0)) continue;
      const Vec3 m = (i % 2 == 0 ? 1 : -1) / length * d;
      Vec3 p, p_a;
      support_of_difference(pair, m, &p, &p_a);
      const double reach = std::abs(m.dot(p - w[0]));
      if (reach > farthest && away(p)) {
        farthest = reach;
        best = p;
        best_a = p_a;
      }
    }
    if (!(farthest > 0)) return false;
    a[n] = best_a;
    w[n++] = best;
  }
  return true;
}

}  // namespace

EpaResult epa(CorePair* pair, const Simplex& start, double tolerance) {
  EpaResult result;
  const double scale = pair->A->bounding_radius + pair->B->bounding_radius;
  Polytope P;
  result.depth = kInfinity;
  result.gap = kInfinity;
  if (!complete(pair, start, scale, P.w, P.a)) {
    // Two flat cores in one plane: any direction across it parts them at once.
    Vec3 e = start.size > 1 ? Vec3(start.w[1] - start.w[0]) : Vec3(Vec3::UnitX());
    const Vec3 side = start.size > 2 ? Vec3(start.w[2] - start.w[0]) : cross(e, Vec3(e.y(), e.z(), e.x()));
    const Vec3 m = cross(e, side);
    const Vec3 unit = m.norm() > 0 ? Vec3(m.normalized()) : Vec3(Vec3::UnitZ());
    Vec3 w, a;
    result.depth = support_of_difference(pair, unit, &w, &a);
    result.n = -unit;
    return result;
  }
  P.num_vertices = 4;
  const double volume = (P.w[1] - P.w[0]).dot(cross(P.w[2] - P.w[0], P.w[3] - P.w[0]));
  if (volume > 0) {
    std::swap(P.w[0], P.w[1]);
    std::swap(P.a[0], P.a[1]);
  }
  // Now 0 1 2 is counter-clockwise seen from outside.
  constexpr int tetrahedron[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
  for (const auto& t : tetrahedron) P.add_face(t[0], t[1], t[2]);
  constexpr int across[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
  for (int f = 0; f < 4; ++f) {
    for (int e = 0; e < 3; ++e) P.face[f].across[e] = across[f][e];
  }

  int last = -1;
  while (true) {
    int nearest = -1;
    double lower = kInfinity;
    for (int f = 0; f < P.num_faces; ++f) {
      if (P.face[f].alive && P.face[f].f < lower) {
        lower = P.face[f].f;
        nearest = f;
      }
    }
    if (nearest < 0) break;
    last = nearest;
    Vec3 w, a;
    const Vec3 m = P.face[nearest].m;
    const double h = support_of_difference(pair, m, &w, &a);
    if (h < result.depth) {
      result.depth = h;
      result.n = -m;
    }
    result.gap = result.depth - lower;
    if (result.gap <= tolerance) break;
    if (P.num_vertices == Polytope::kMaxVertices) break;
    ++result.iterations;
    const Face face = P.face[nearest];  // its slot is reused by the next
    if (!P.expand(nearest, w, a, 1e-15 * scale)) {
      P.face[nearest] = face;
      break;
    }
  }
  if (last >= 0) {
    result.simplex.size = 3;
    for (int k = 0; k < 3; ++k) {
      const int v = P.face[last].v[k];
      result.simplex.w[k] = P.w[v];
      result.simplex.a[k] = P.a[v];
      result.simplex.b[k] = P.w[v] + P.a[v];
    }
  }
  return result;
}

}  // namespace capstan
