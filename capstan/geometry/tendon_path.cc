#include "capstan/geometry/tendon_path.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/math/types.h"

namespace capstan {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kTiny = 1e-15;  // of lengths [m] and sines

double cross2(const Vec2& a, const Vec2& b) {
  return a.x() * b.y() - a.y() * b.x();
}

Vec2 on_circle(double radius, double angle) {
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Whether the segments from a to b and from c to d have a common point.
bool do_cross(const Vec2& a, const Vec2& b, const Vec2& c, const Vec2& d) {
  const Vec2 ab = b - a, cd = d - c;
  const double det = cross2(ab, cd);
  if (std::abs(det) < kTiny) return false;
  const double s = cross2(c - a, cd) / det, t = cross2(c - a, ab) / det;
  return s >= 0 && s <= 1 && t >= 0 && t <= 1;
}

// The point of the segment that is nearest to the centre.
Vec2 nearest_to_centre(const Vec2& a, const Vec2& b) {
  const Vec2 ab = b - a;
  const double square = ab.squaredNorm();
  return a + (square > 0 ? std::clamp(-a.dot(ab) / square, 0.0, 1.0) : 0.0) * ab;
}

struct FlatWrap {
  Vec2 first, last;
  double length = 0;
};

// Round the outside of the circle.
std::optional<FlatWrap> wrap_outside(const Vec2& a, const Vec2& b, double r, std::optional<Vec2> side) {
  if (a.norm() < r || b.norm() < r) return {};
  const Vec2 nearest = nearest_to_centre(a, b);
  if (side && cross2(*side, a) * cross2(*side, b) >= 0) side.reset();
  if (nearest.norm() > r && (!side || side->dot(nearest) >= 0)) return {};
  const double phi_a = std::atan2(a.y(), a.x()), phi_b = std::atan2(b.y(), b.x());
  const double beta_a = std::acos(std::min(1.0, r / a.norm())),
               beta_b = std::acos(std::min(1.0, r / b.norm()));
  std::optional<FlatWrap> best;
  double best_score = 0;
  for (const double s : {1.0, -1.0}) {
    const double begin = phi_a + s * beta_a, end = phi_b - s * beta_b;
    FlatWrap way{on_circle(r, begin), on_circle(r, end)};
    if (do_cross(a, way.first, b, way.last)) continue;
    double arc = std::fmod(s * (end - begin), kTurn);
    if (arc < 0) arc += kTurn;
    way.length = r * arc;
    const Vec2 middle = way.first + way.last;
    const double score =
        side ? side->dot(middle) / std::max(kTiny, middle.norm()) : -(way.first - way.last).squaredNorm();
    if (best && score <= best_score) continue;
    best = way;
    best_score = score;
  }
  return best;
}

// Through a ring: the point between the directions of a and b where |a - p| + |b - p| is least.
std::optional<FlatWrap> wrap_inside(const Vec2& a, const Vec2& b, double r) {
  if (a.norm() <= r || b.norm() <= r || nearest_to_centre(a, b).norm() <= r) return {};
  const double phi = std::atan2(a.y(), a.x());
  const double turn = std::atan2(cross2(a, b), a.dot(b));  // to b, the shorter way
  const auto slope = [&](double t) {                       // of the length, along the turn
    const Vec2 p = on_circle(r, phi + t * turn), along(-p.y(), p.x());
    return turn * along.dot((p - a).normalized() + (p - b).normalized());
  };
  double low = 0, high = 1;
  for (int i = 0; i < 200 && high - low > 1e-16; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (slope(middle) < 0 ? low : high) = middle;
  }
  const Vec2 p = on_circle(r, phi + 0.5 * (low + high) * turn);
  return FlatWrap{p, p, 0};
}

}  // namespace

std::optional<TendonWrap> wrap_tendon(const Vec3& a_W, const TendonStation& obstacle, const Vec3& b_W) {
  const Transform& X = obstacle.X_W;
  const double r = obstacle.radius;
  const Vec3 a = X.R.transpose() * (a_W - X.p), b = X.R.transpose() * (b_W - X.p);
  if (!(r > 0) || a.norm() < kTiny || b.norm() < kTiny) return {};
  // The axes of the plane that the string turns in, in the obstacle's frame.
  Vec3 x = Vec3::UnitX(), y = Vec3::UnitY();
  if (obstacle.is_sphere) {
    x = a.normalized();
    Vec3 normal = cross(a, b);
    if (normal.norm() <= kTiny * a.norm() * b.norm()) {  // a line through the centre: any plane
      int least;
      x.cwiseAbs().minCoeff(&least);
      normal = cross(x, Vec3(Vec3::Unit(least)));
    }
    y = cross(Vec3(normal.normalized()), x);
  }
  std::optional<Vec2> side;
  bool is_ring = false;
  if (obstacle.side) {
    const Vec3 s = X.R.transpose() * (*obstacle.side - X.p);
    is_ring = s.norm() < r;
    side = Vec2(s.dot(x), s.dot(y));
    if (side->norm() > kTiny) side->normalize();
  }
  const Vec2 a2(a.dot(x), a.dot(y)), b2(b.dot(x), b.dot(y));
  const auto flat = is_ring ? wrap_inside(a2, b2, r) : wrap_outside(a2, b2, r, side);
  if (!flat) return {};
  TendonWrap wrap;
  Vec3 first = flat->first.x() * x + flat->first.y() * y, last = flat->last.x() * x + flat->last.y() * y;
  wrap.length = flat->length;
  if (!obstacle.is_sphere) {
    const double before = (flat->first - a2).norm(), after = (b2 - flat->last).norm();
    const double all = before + flat->length + after;
    const double rise = all > 0 ? (b.z() - a.z()) / all : 0;
    first.z() = a.z() + rise * before;
    last.z() = a.z() + rise * (before + flat->length);
    wrap.length = std::hypot(flat->length, last.z() - first.z());
  }
  wrap.first = X * first;
  wrap.last = X * last;
  return wrap;
}

double calc_tendon_length(std::span<const TendonStation> stations, std::vector<TendonPull>* pulls) {
  pulls->clear();
  double sum = 0, part = 1;
  const auto add = [&](int body_a, const Vec3& a, int body_b, const Vec3& b) {
    const Vec3 way = b - a;
    const double length = way.norm();
    sum += part * length;
    if (body_a == body_b || !(length > kTiny)) return;
    const Vec3 direction = part / length * way;
    pulls->push_back({body_a, a, -direction});
    pulls->push_back({body_b, b, direction});
  };
  const TendonStation *last = nullptr, *obstacle = nullptr;
  for (const TendonStation& s : stations) {
    if (s.kind == TendonStation::Kind::pulley) {
      part = 1 / s.divisor;
      last = obstacle = nullptr;
      continue;
    }
    if (s.kind == TendonStation::Kind::wrap) {
      obstacle = &s;
      continue;
    }
    if (last) {
      const auto wrap = obstacle ? wrap_tendon(last->X_W.p, *obstacle, s.X_W.p) : std::nullopt;
      if (wrap) {
        add(last->body, last->X_W.p, obstacle->body, wrap->first);
        sum += part * wrap->length;
        add(obstacle->body, wrap->last, s.body, s.X_W.p);
      } else {
        add(last->body, last->X_W.p, s.body, s.X_W.p);
      }
    }
    last = &s;
    obstacle = nullptr;
  }
  return sum;
}

}  // namespace capstan
