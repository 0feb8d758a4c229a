#include "capstan/geometry/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "capstan/geometry/collide.h"
#include "capstan/geometry/distance_kernels.h"

namespace capstan {
namespace {

constexpr int kBisections = 20;

// Two shapes, and how far from their pivots they reach (MovingShape::radius).
struct MovingPair {
  const MovingShape &A, &B;
  double radius_a = A.radius(), radius_b = B.radius();
};

// How fast they may come nearer along n, from A to B.
double closing_rate(const MovingPair& p, const Vec3& n) {
  const auto turning = [&](const MovingShape& x, double radius) {
    return cross(n, x.motion.turn).norm() * radius;
  };
  return -n.dot(p.B.motion.travel - p.A.motion.travel) + turning(p.A, p.radius_a) + turning(p.B, p.radius_b);
}

// The same along any direction.
double closing_rate(const MovingPair& p) {
  return (p.B.motion.travel - p.A.motion.travel).norm() + p.A.motion.turn.norm() * p.radius_a +
         p.B.motion.turn.norm() * p.radius_b;
}

struct Gap {
  double distance;  // [m] signed, or a lower bound where the shapes are apart
  double rate;      // [m] of approach in all of the motion, at most
};

// Shapes that are not convex are looked at no farther than `limit`.
Gap find_gap(const MovingPair& pair, double s, double limit, std::vector<ContactPoint>* scratch) {
  const MovingShape &A = pair.A, &B = pair.B;
  const Transform X_WA = A.pose(s), X_WB = B.pose(s);
  if (A.collider->type == ColliderType::box && B.collider->type == ColliderType::box) {
    // Separating axes: for less than the distance, and as good to go on by.
    Witness w;
    bool trusted = false;
    const Transform X_AB = {X_WA.R.transpose() * X_WB.R, X_WA.R.transpose() * (X_WB.p - X_WA.p)};
    box_box_axis(*A.collider, *B.collider, X_AB, std::numeric_limits<double>::infinity(), &w, &trusted);
    return {w.distance, closing_rate(pair, X_WA.R * w.n)};
  }
  if (is_convex(A.collider->type) && is_convex(B.collider->type)) {
    ContactPoint contact;
    const double d = signed_distance(*A.collider, X_WA, *B.collider, X_WB, &contact);
    return {d, closing_rate(pair, contact.normal)};
  }
  scratch->clear();
  collide(*A.collider, X_WA, *B.collider, X_WB, limit, scratch);
  double d = limit;
  for (const ContactPoint& point : *scratch) d = std::min(d, point.distance);
  return {d, closing_rate(pair)};
}

}  // namespace

Transform MovingShape::pose(double s) const {
  if (collider->type == ColliderType::sphere && X_WS.p == motion.pivot)  // it does not matter how it turns
    return {X_WS.R, motion.pivot + s * motion.travel};
  const Mat3 R = motion.turn.isZero(0) ? Mat3(Mat3::Identity()) : rotation_matrix(quat_exp(s * motion.turn));
  return {R * X_WS.R, motion.pivot + s * motion.travel + R * (X_WS.p - motion.pivot)};
}

double MovingShape::radius() const {
  if (!std::isfinite(collider->bounding_radius)) return 0;  // half spaces do not turn
  const double offset = (X_WS * collider->centre - motion.pivot).norm();
  return offset + (collider->type == ColliderType::sphere ? 0 : collider->bounding_radius);
}

double first_touch(const MovingShape& A, const MovingShape& B, double tolerance,
                   std::vector<ContactPoint>* scratch) {
  constexpr double kNever = 2;
  const MovingPair pair{A, B};
  const double fastest = closing_rate(pair);
  const auto gap_at = [&](double s) {
    return find_gap(pair, s, tolerance + (1 - s) * fastest + 1e-12, scratch);
  };
  double before = 0;
  for (double s = 0;;) {
    const Gap gap = gap_at(s);
    if (gap.distance <= tolerance) {
      // A least advance may have gone too far: back to where they just touch.
      double after = s;
      for (int i = 0; i < kBisections && gap.distance < 0 && after > before; ++i) {
        const double middle = 0.5 * (before + after);
        (gap_at(middle).distance <= 0 ? after : before) = middle;
      }
      return gap.distance < 0 ? before : s;
    }
    if (s >= 1 || gap.rate * (1 - s) <= gap.distance - tolerance) return kNever;
    before = s;
    s = std::min(1.0, s + std::max(kLeastAdvance, (gap.distance - 0.5 * tolerance) / gap.rate));
  }
}

}  // namespace capstan
