#include "capstan/geometry/gjk.h"

#include <limits>

namespace capstan {
namespace {

// The best sub-simplex found so far.
struct Nearest {
  double squared;
  int size = 0;  // 0: nothing nearer found
  Vec3 v;
  int index[3];
  double weight[3];

  void offer(const Vec3& candidate, int n, const int* i, const double* l) {
    const double s = candidate.squaredNorm();
    if (!(s < squared)) return;
    squared = s;
    v = candidate;
    size = n;
    for (int k = 0; k < n; ++k) {
      index[k] = i[k];
      weight[k] = l[k];
    }
  }
};

void try_segment(const Vec3* w, int i, int j, Nearest* best) {
  const Vec3 e = w[j] - w[i];
  const double ee = e.squaredNorm(), t = ee > 0 ? -w[i].dot(e) / ee : 0;
  const int index[2] = {i, j};
  const double one = 1;
  if (t <= 0) {
    best->offer(w[i], 1, &index[0], &one);
  } else if (t >= 1) {
    best->offer(w[j], 1, &index[1], &one);
  } else {
    const double weight[2] = {1 - t, t};
    best->offer(w[i] + t * e, 2, index, weight);
  }
}

// The origin's foot on the plane has barycentric coordinates l; only edges beyond which it lies are tried.
void try_triangle(const Vec3* w, int i, int j, int k, Nearest* best) {
  const Vec3 ij = w[j] - w[i], ik = w[k] - w[i], jk = w[k] - w[j];
  const Vec3 n = cross(ij, ik);
  const double nn = n.squaredNorm();
  const bool flat = nn <= 1e-24 * ij.squaredNorm() * ik.squaredNorm();
  const double li = -n.dot(cross(jk, w[j])), lj = n.dot(cross(ik, w[i])), lk = -n.dot(cross(ij, w[i]));
  if (!flat && li > 0 && lj > 0 && lk > 0) {
    const int index[3] = {i, j, k};
    const double sum = li + lj + lk, weight[3] = {li / sum, lj / sum, lk / sum};
    best->offer(n * (w[i].dot(n) / nn), 3, index, weight);
    return;
  }
  if (flat || li <= 0) try_segment(w, j, k, best);
  if (flat || lj <= 0) try_segment(w, i, k, best);
  if (flat || lk <= 0) try_segment(w, i, j, best);
}

// True when the origin is inside; else the faces that see it are tried.
bool try_tetrahedron(const Vec3* w, Nearest* best) {
  const Vec3 e1 = w[1] - w[0], e2 = w[2] - w[0], e3 = w[3] - w[0];
  const Vec3 e23 = cross(e2, e3), e31 = cross(e3, e1), e12 = cross(e1, e2);
  const double volume = e1.dot(e23);
  const bool flat = volume * volume <= 1e-24 * e1.squaredNorm() * e2.squaredNorm() * e3.squaredNorm();
  const double sign = volume > 0 ? 1 : -1;
  const double l1 = -sign * w[0].dot(e23), l2 = -sign * w[0].dot(e31), l3 = -sign * w[0].dot(e12);
  const double l0 = sign * w[1].dot(cross(w[2] - w[1], w[3] - w[1]));
  if (!flat && l0 > 0 && l1 > 0 && l2 > 0 && l3 > 0) return true;
  if (flat || l0 <= 0) try_triangle(w, 1, 2, 3, best);
  if (flat || l1 <= 0) try_triangle(w, 0, 2, 3, best);
  if (flat || l2 <= 0) try_triangle(w, 0, 1, 3, best);
  if (flat || l3 <= 0) try_triangle(w, 0, 1, 2, best);
  return false;
}

}  // namespace

Nearer move_to_nearest(Simplex* s, double bound, Vec3* v) {
  Nearest best;
  best.squared = bound;
  const int one = 0;
  const double full = 1;
  switch (s->size) {
    case 1:
      best.offer(s->w[0], 1, &one, &full);
      break;
    case 2:
      try_segment(s->w, 0, 1, &best);
      break;
    case 3:
      try_triangle(s->w, 0, 1, 2, &best);
      break;
    default:
      if (try_tetrahedron(s->w, &best)) return Nearer::inside;
  }
  if (best.size == 0) return Nearer::no_nearer;
  // Sub-simplices list their points in ascending order, so they can be moved down in place.
  for (int k = 0; k < best.size; ++k) {
    const int i = best.index[k];
    s->w[k] = s->w[i];
    s->a[k] = s->a[i];
    s->b[k] = s->b[i];
    s->weight[k] = best.weight[k];
  }
  s->size = best.size;
  *v = best.v;
  return Nearer::moved;
}

GjkResult gjk(CorePair* pair, const Vec3& guess, double cutoff, double tolerance) {
  constexpr int kMaxIterations = 128;
  GjkResult result;
  Simplex& s = result.simplex;
  const double scale = pair->A->bounding_radius + pair->B->bounding_radius;
  const double touching = 1e-7 * scale, same = 1e-15 * scale;

  Vec3 v = guess.squaredNorm() > 0 ? guess : Vec3(Vec3::UnitZ());
  pair->span(v, &s.a[0], &s.b[0]);
  s.w[0] = s.b[0] - s.a[0];
  s.size = 1;
  v = s.w[0];
  double vv = v.squaredNorm();
  result.gap = std::numeric_limits<double>::infinity();

  for (int& i = result.iterations; i < kMaxIterations; ++i) {
    if (vv <= touching * touching) {
      result.status = GjkResult::Status::overlapping;
      return result;
    }
    const double upper = std::sqrt(vv);
    Vec3 a, b;
    pair->span(v, &a, &b);
    const Vec3 w = b - a;
    const double lower = v.dot(w) / upper;
    if (lower > cutoff) {
      result.status = GjkResult::Status::beyond_cutoff;
      result.witness.distance = lower;
      result.witness.n = v / upper;
      return result;
    }
    result.gap = upper - lower;
    if (result.gap <= tolerance && result.gap <= 1e-2 * upper) break;
    bool repeated = false;
    for (int k = 0; k < s.size; ++k) repeated |= (s.w[k] - w).squaredNorm() <= same * same;
    if (repeated) break;
    s.w[s.size] = w;
    s.a[s.size] = a;
    s.b[s.size] = b;
    ++s.size;
    const Nearer nearer = move_to_nearest(&s, vv, &v);
    if (nearer == Nearer::inside) {
      result.status = GjkResult::Status::overlapping;
      return result;
    }
    if (nearer == Nearer::no_nearer) {  // rounding allows no more
      --s.size;
      break;
    }
    vv = v.squaredNorm();
  }

  Witness& out = result.witness;
  out.a.setZero();
  out.b.setZero();
  for (int k = 0; k < s.size; ++k) {
    out.a += s.weight[k] * s.a[k];
    out.b += s.weight[k] * s.b[k];
  }
  out.distance = std::sqrt(vv);
  out.n = v / out.distance;
  return result;
}

}  // namespace capstan
