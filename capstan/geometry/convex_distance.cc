#include "capstan/geometry/convex_distance.h"

#include <algorithm>

#include "capstan/geometry/epa.h"
#include "capstan/geometry/gjk.h"

namespace capstan {
namespace {

// Cramer's rule for a symmetric matrix that must be positive definite; false when it is not.
bool solve_positive(const Mat3& M, const Vec3& r, Vec3* x) {
  const Vec3 c0 = M.col(0), c1 = M.col(1), c2 = M.col(2);
  const Vec3 c12 = cross(c1, c2);
  const double det = c0.dot(c12), minor = M(0, 0) * M(1, 1) - M(0, 1) * M(1, 0);
  if (!(M(0, 0) > 0 && minor > 0 && det > 0)) return false;
  *x = Vec3(r.dot(c12), c0.dot(cross(r, c2)), c0.dot(cross(c1, r))) / det;
  return true;
}

// The support point along n on the same branch as `old`: the same vertex of a polytope, the same cap of a
// cylinder. Points of a cap that is lain on (far from where n leads) stay.
Vec3 on_branch(const Collider& c, const Vec3& old, const Vec3& n) {
  if (c.type == ColliderType::ellipsoid) return support(c, n, nullptr);
  if (c.type != ColliderType::cylinder) return old;
  const double across = std::sqrt(n.x() * n.x() + n.y() * n.y()), r = c.size.x();
  if (n.x() * old.x() + n.y() * old.y() < 0.95 * across * r || across < 1e-9) return old;
  return {n.x() / across * r, n.y() / across * r, old.z()};
}

// One Newton step on the branches w_0 .. w_{k-1} (distinct); see the header. False when s has no local
// maximum in reach.
bool newton_step(CorePair* pair, const Simplex& x, int k, double scale, Vec3* n) {
  if (k >= 3) {
    // All in one plane of normal n.
    const Vec3 m = cross(x.w[1] - x.w[0], x.w[2] - x.w[0]);
    const double length = m.norm();
    if (!(length > 1e-9 * (x.w[1] - x.w[0]).norm() * (x.w[2] - x.w[0]).norm())) return false;
    *n = (m.dot(*n) > 0 ? 1 : -1) / length * m;
    return true;
  }
  const Mat3& R = pair->X_AB.R;
  const Mat3 H = support_curvature(*pair->A, *n) +
                 R * support_curvature(*pair->B, -(R.transpose() * *n)) * R.transpose();
  const double s = n->dot(x.w[0]);
  Vec3 step;
  if (k == 1) {
    const Mat3 M = H + s * Mat3::Identity() + (scale - s) * *n * n->transpose();
    if (!solve_positive(M, x.w[0] - s * *n, &step)) return false;
  } else {
    const Vec3 e = x.w[1] - x.w[0];
    const Vec3 e_t = e - n->dot(e) * *n;
    const double ee = e_t.squaredNorm();
    if (!(ee > 0)) return false;
    const Vec3 f = cross(*n, e_t) / std::sqrt(ee);
    const double bend = f.dot(H * f) + s;
    if (!(bend > 0)) return false;
    step = -n->dot(e) / ee * e_t + f.dot(x.w[0]) / bend * f;
  }
  if (step.squaredNorm() > 0.05) return false;
  *n = (*n + step).normalized();
  return true;
}

// Newton on the branches of the supports that meet in `simplex`, from witness->n. True, with the witness
// replaced, when it ends with points a of A and b of B that have b - a = s(n) n: then n is a local maximum of
// s, and the only one when s > 0.
bool polish(CorePair* pair, const Simplex& simplex, double scale, Witness* witness) {
  constexpr int kMaxSteps = 10;
  if (simplex.size == 0) return false;
  const double exact = 1e-14 * scale;
  Vec3 n = witness->n;
  double start = 0;
  for (int i = 0; i < kMaxSteps; ++i) {
    Simplex x;
    const Vec3 n_B = -(pair->X_AB.R.transpose() * n);
    for (int k = 0; k < simplex.size; ++k) {
      const Vec3 a = on_branch(*pair->A, simplex.a[k], n);
      const Vec3 b_B = pair->X_AB.R.transpose() * (simplex.b[k] - pair->X_AB.p);
      const Vec3 b = pair->X_AB * on_branch(*pair->B, b_B, n_B);
      const Vec3 w = b - a;
      bool repeated = false;
      for (int j = 0; j < x.size; ++j) repeated |= (x.w[j] - w).squaredNorm() <= 1e-16 * scale * scale;
      if (repeated) continue;
      x.w[x.size] = w;
      x.a[x.size] = a;
      x.b[x.size] = b;
      ++x.size;
    }
    const double s = pair->separation(n);
    if (i == 0) start = s;
    const Vec3 s_n = s * n;
    Simplex shifted = x;
    for (int k = 0; k < x.size; ++k) shifted.w[k] -= s_n;
    Vec3 rest = Vec3::Constant(scale);
    const Nearer nearer = move_to_nearest(&shifted, kInfinity, &rest);
    if (nearer == Nearer::inside) return false;
    if (rest.squaredNorm() <= exact * exact && s >= start - exact) {
      Vec3 a = Vec3::Zero();
      for (int k = 0; k < shifted.size; ++k) a += shifted.weight[k] * shifted.a[k];
      *witness = {a, a + s_n, n, s};
      return true;
    }
    if (!newton_step(pair, x, x.size, scale, &n)) return false;
  }
  return false;
}

// Proximal ascent from witness->n; see the header.
void climb(CorePair* pair, double scale, bool curved, Witness* witness) {
  constexpr int kMaxSteps = 12;
  const Vec3 p_AB = pair->X_AB.p;
  double s = pair->separation(witness->n);
  witness->distance = s;
  bool found = false, placed = false;
  Vec3 middle = Vec3::Zero();
  bool rough = curved;  // a rough normal is enough for polish() most of the time
  for (int i = 0; i < kMaxSteps; ++i) {
    const Vec3 shift = (2e-3 * scale - s) * witness->n;
    pair->X_AB.p = p_AB + shift;
    GjkResult g = gjk(pair, witness->n, kInfinity, (rough ? 1e-5 : 1e-14) * scale);
    pair->X_AB.p = p_AB;
    if (g.status != GjkResult::Status::separated) break;
    const Vec3 n = g.witness.n;
    if (curved) {
      for (int k = 0; k < g.simplex.size; ++k) {
        g.simplex.b[k] -= shift;
        g.simplex.w[k] -= shift;
      }
      Witness polished{g.witness.a, g.witness.b, n, s};
      if (polish(pair, g.simplex, scale, &polished) && polished.distance >= s - 1e-14 * scale) {
        *witness = polished;
        return;
      }
    }
    if (rough) {
      rough = false;
      continue;
    }
    const double s_new = pair->separation(n), gain = s_new - s;
    if (!found) middle = (g.witness.a + g.witness.b - shift) / 2;
    placed = true;
    if (gain < (found ? 0 : -1e-12 * scale)) break;
    middle = (g.witness.a + g.witness.b - shift) / 2;
    *witness = {middle - s_new / 2 * n, middle + s_new / 2 * n, n, s_new};
    s = s_new;
    found = true;
    if (gain <= 1e-14 * scale) break;
  }
  if (!found) {
    if (!placed) {
      Vec3 a, b;
      pair->span(witness->n, &a, &b);
      middle = (a + b) / 2;
    }
    witness->a = middle - s / 2 * witness->n;
    witness->b = middle + s / 2 * witness->n;
  }
}

}  // namespace

double convex_distance(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                       Witness* witness) {
  const double rounding = A.rounding + B.rounding;
  const double scale = A.bounding_radius + B.bounding_radius;
  const bool curved = is_curved(A.type) || is_curved(B.type);
  CorePair pair{&A, &B, X_AB};
  GjkResult g = gjk(&pair, X_AB * B.centre - A.centre, cutoff + rounding, (curved ? 1e-5 : 1e-14) * scale);
  if (g.status == GjkResult::Status::beyond_cutoff) {
    witness->distance = g.witness.distance - rounding;
    return witness->distance;
  }
  bool done = false;
  if (g.status == GjkResult::Status::separated) {
    *witness = g.witness;
    const bool exact = !curved && g.gap <= 1e-13 * scale;
    done = exact || polish(&pair, g.simplex, scale, witness);
    if (!done) {
      // Once more from the normal found: a fresh simplex is better conditioned than one that has stalled.
      const double gap = curved ? kInfinity : g.gap;
      g = gjk(&pair, g.witness.n, kInfinity, 1e-14 * scale);
      if (g.status == GjkResult::Status::separated) {
        if (g.gap < gap) *witness = g.witness;
        done = polish(&pair, g.simplex, scale, witness) || std::min(g.gap, gap) <= 1e-3 * witness->distance;
      }
    }
  }
  if (!done) {
    const EpaResult e = epa(&pair, g.simplex, (curved ? 1e-6 : 1e-13) * scale);
    witness->n = e.n;
    if (!polish(&pair, e.simplex, scale, witness)) climb(&pair, scale, curved, witness);
  }
  witness->a += A.rounding * witness->n;
  witness->b -= B.rounding * witness->n;
  witness->distance -= rounding;
  return witness->distance;
}

}  // namespace capstan
