// Two boxes by their separating axes.
//
// Half sizes a, b, centre p of B and rotation R in the frame of A, Q = |R|. Along the unit axis l the boxes
// are apart by s(l) = |p.l| - r_A(l) - r_B(l), r(l) = sum_i h_i |e_i.l| (not |h.l|, as Contact course eq. 86
// prints):
//   A's face i   s = |p_i| - a_i - sum_j Q_ij b_j
//   B's face j   s = |p.R_j| - b_j - sum_i a_i Q_ij
//   edges i, j   s = (|p_i2 R_i1j - p_i1 R_i2j| - a_i1 Q_i2j - a_i2 Q_i1j - b_j1 Q_ij2 - b_j2 Q_ij1) / l,
//                l = |e_i x R_j|,  i1, i2 and j1, j2 the other two axes in order
// The largest s <= 0 is the signed distance of overlapping boxes. Apart, it only bounds the distance from
// below (corner against corner), and is exact where points of both boxes are found that far apart. Faces win
// ties, A's first: parallel edges never decide.
#include <cmath>

#include "capstan/geometry/distance_kernels.h"

namespace capstan {
namespace {

struct Axis {
  double s;
  int i, j;  // A's face i (j < 0), B's face j (i < 0), or edges i, j
};

// Edges i, j: s times |e_i x R_j|.
template <int i, int j>
inline double edge_axis(const Vec3& a, const Vec3& b, const Vec3& p, const Mat3& R, const Mat3& Q) {
  constexpr int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
  return std::abs(p[i2] * R(i1, j) - p[i1] * R(i2, j)) - a[i1] * Q(i2, j) - a[i2] * Q(i1, j) -
         b[j1] * Q(i, j2) - b[j2] * Q(i, j1);
}

template <int i, int j>
inline void try_edges(const Vec3& a, const Vec3& b, const Vec3& p, const Mat3& R, const Mat3& Q, double tie,
                      Axis* axis) {
  const double scaled = edge_axis<i, j>(a, b, p, R, Q);
  // |e_i x R_j| <= 1, so a negative value only falls when divided by it.
  if (scaled <= 0 && scaled <= axis->s + tie) return;
  constexpr int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
  const double sine2 = R(i1, j) * R(i1, j) + R(i2, j) * R(i2, j);
  if (sine2 < 1e-16) return;
  const double s = scaled / std::sqrt(sine2);
  if (s > axis->s + tie) *axis = {s, i, j};
}

// False, with axis->s, as soon as an axis parts the boxes by more than cutoff.
bool best_axis(const Vec3& a, const Vec3& b, const Transform& X, double cutoff, double tie, Axis* axis) {
  const Vec3& p = X.p;
  const Mat3& R = X.R;
  const Mat3 Q = R.cwiseAbs();
  const Vec3 face_A = p.cwiseAbs() - a - Q * b;
  axis->j = -1;
  axis->s = face_A.maxCoeff(&axis->i);
  if (axis->s > cutoff) return false;
  const Vec3 face_B = (R.transpose() * p).cwiseAbs() - b - Q.transpose() * a;
  int j;
  const double s = face_B.maxCoeff(&j);
  if (s > axis->s + tie) *axis = {s, -1, j};
  if (axis->s > cutoff) return false;
  try_edges<0, 0>(a, b, p, R, Q, tie, axis);
  try_edges<0, 1>(a, b, p, R, Q, tie, axis);
  try_edges<0, 2>(a, b, p, R, Q, tie, axis);
  try_edges<1, 0>(a, b, p, R, Q, tie, axis);
  try_edges<1, 1>(a, b, p, R, Q, tie, axis);
  try_edges<1, 2>(a, b, p, R, Q, tie, axis);
  try_edges<2, 0>(a, b, p, R, Q, tie, axis);
  try_edges<2, 1>(a, b, p, R, Q, tie, axis);
  try_edges<2, 2>(a, b, p, R, Q, tie, axis);
  return axis->s <= cutoff;
}

}  // namespace

bool box_box_axis(const Collider& A, const Collider& B, const Transform& X_AB, double cutoff,
                  Witness* witness, bool* trusted) {
  const Vec3 &p = X_AB.p, &a = A.size, &b = B.size;
  const Mat3& R = X_AB.R;
  Axis axis;
  const double scale = A.bounding_radius + B.bounding_radius;
  if (!best_axis(a, b, X_AB, cutoff, 1e-11 * scale, &axis)) {
    witness->distance = axis.s;
    return false;
  }
  Vec3 n = axis.j < 0   ? Vec3(Vec3::Unit(axis.i))
           : axis.i < 0 ? Vec3(R.col(axis.j))
                        : cross(Vec3::Unit(axis.i), R.col(axis.j)).normalized();
  if (n.dot(p) < 0) n = -n;
  witness->n = n;
  witness->distance = axis.s;
  // Corners of A and B that reach farthest along n and -n.
  const Vec3 n_B = R.transpose() * n;
  Vec3 q_A, q_B;
  for (int k = 0; k < 3; ++k) {
    q_A[k] = n[k] >= 0 ? a[k] : -a[k];
    q_B[k] = n_B[k] >= 0 ? -b[k] : b[k];
  }
  if (axis.i >= 0 && axis.j >= 0) {
    // Nearest points of the lines q_A + s e_i and q_B + t R_j; their difference is along n.
    const Vec3 u = Vec3::Unit(axis.i), v = R.col(axis.j), apart = X_AB * q_B - q_A;
    const double c = u.dot(v), sine2 = cross(u, v).squaredNorm();
    const double s = (u.dot(apart) - c * v.dot(apart)) / sine2;
    witness->a = q_A + s * u;
    witness->b = witness->a + axis.s * n;
    // Overlapping, the best axis has its points on the edges; apart, they may be beyond the ends.
    const double slack = 1e-14 * scale;
    const double on_B = q_B[axis.j] + v.dot(witness->a) - v.dot(X_AB * q_B);
    *trusted = axis.s <= 0 ||
               (std::abs(witness->a[axis.i]) <= a[axis.i] + slack && std::abs(on_B) <= b[axis.j] + slack);
    return true;
  }
  // Against a face the deepest corner of the other box. Where several are equally deep the manifold decides
  // which of them lie on the face.
  if (axis.j < 0) {
    witness->b = X_AB * q_B;
    witness->a = witness->b - axis.s * n;
  } else {
    witness->a = q_A;
    witness->b = q_A + axis.s * n;
  }
  *trusted = axis.s <= 0;
  return true;
}

}  // namespace capstan
