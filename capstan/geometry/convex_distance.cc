#include "capstan/geometry/convex_distance.h"

#include <limits>

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

// Newton on the sphere; see the header. True when it ends at a stationary point at least as good as the
// start.
bool polish(CorePair* pair, double scale, Witness* witness) {
  constexpr int kMaxSteps = 12;
  const Mat3& R = pair->X_AB.R;
  Vec3 n = witness->n, a, b;
  pair->span(n, &a, &b);
  double s = n.dot(b - a);
  const double first = s;
  for (int i = 0; i < kMaxSteps; ++i) {
    const Vec3 tangential = (b - a) - s * n;
    if (tangential.squaredNorm() <= 1e-28 * scale * scale) {
      if (!(s >= first - 1e-15 * scale)) return false;
      *witness = {a, b, n, s};
      return true;
    }
    const Vec3 n_B = -(R.transpose() * n);
    Mat3 M = support_curvature(*pair->A, n) + R * support_curvature(*pair->B, n_B) * R.transpose();
    M += s * Mat3::Identity() + (scale - s) * n * n.transpose();
    Vec3 step;
    if (!solve_positive(M, tangential, &step)) return false;
    if (step.squaredNorm() > 0.1) return false;
    n = (n + step).normalized();
    pair->span(n, &a, &b);
    const double s_new = n.dot(b - a);
    if (s_new < s - 1e-12 * scale) return false;
    s = s_new;
  }
  return false;
}

// Proximal ascent from n; see the header.
void climb(CorePair* pair, double scale, double tolerance, Witness* witness) {
  constexpr int kMaxSteps = 12;
  const Vec3 p_AB = pair->X_AB.p;
  double s = pair->separation(witness->n);
  witness->distance = s;
  bool found = false;
  for (int i = 0; i < kMaxSteps; ++i) {
    const double t = -s + 2e-3 * scale;
    const Vec3 shift = t * witness->n;
    pair->X_AB.p = p_AB + shift;
    const GjkResult g = gjk(pair, witness->n, std::numeric_limits<double>::infinity(), 1e-14 * scale);
    pair->X_AB.p = p_AB;
    if (g.status != GjkResult::Status::separated) break;
    const Vec3 n = g.witness.n;
    const double s_new = pair->separation(n);
    if (found && s_new <= s) break;
    if (s_new < s - 1e-12 * scale) break;
    const double gain = s_new - s;
    const Vec3 a = g.witness.a, b = g.witness.b - shift;
    const Vec3 middle = (a + b) / 2;
    *witness = {middle - s_new / 2 * n, middle + s_new / 2 * n, n, s_new};
    s = s_new;
    found = true;
    if (gain <= tolerance) break;
  }
  if (!found) {
    Vec3 a, b;
    pair->span(witness->n, &a, &b);
    const Vec3 middle = (a + b) / 2;
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
  const GjkResult g = gjk(&pair, X_AB * B.centre - A.centre, cutoff + rounding, 1e-14 * scale);
  if (g.status == GjkResult::Status::beyond_cutoff) {
    witness->distance = g.witness.distance - rounding;
    return witness->distance;
  }
  if (g.status == GjkResult::Status::separated) {
    *witness = g.witness;
  } else {
    const EpaResult e = epa(&pair, g.simplex, (curved ? 1e-6 : 1e-13) * scale);
    witness->n = e.n;
    climb(&pair, scale, 1e-14 * scale, witness);
  }
  if (curved) polish(&pair, scale, witness);
  witness->a += A.rounding * witness->n;
  witness->b -= B.rounding * witness->n;
  witness->distance -= rounding;
  return witness->distance;
}

}  // namespace capstan
