#include "capstan/geometry/feature_cut.h"

#include <algorithm>
#include <utility>

namespace capstan {
namespace {

using Kind = ContactFeature::Kind;
using Feature = ContactFeature;

struct Corner {
  double x, y;
  std::uint32_t feature;
  std::uint16_t edge;  // label of the edge that starts here; kClipEdge marks those of the clipping polygon
};
constexpr unsigned kClipEdge = 0x4000;

void cut_polygons(const Feature& A, const Feature& B, double tolerance, CutPoints* out) {
  Corner buffer[2][CutPoints::kCapacity];
  double side[CutPoints::kCapacity];
  Corner *from = buffer[0], *to = buffer[1];
  int size = A.count;
  for (int i = 0; i < size; ++i) {
    from[i] = {A.vertex[i].x(), A.vertex[i].y(), feature_id(CutKind::vertex_of_A, A.id[i], 0),
               static_cast<std::uint16_t>(A.id[i] & ~kClipEdge)};
  }
  for (int k = 0; k < B.count && size > 0; ++k) {
    const Vec3 &p = B.vertex[k], &q = B.vertex[k + 1 == B.count ? 0 : k + 1];
    const double ex = q.x() - p.x(), ey = q.y() - p.y();
    const double outside = -tolerance * std::sqrt(ex * ex + ey * ey);
    bool all = true;
    for (int i = 0; i < size; ++i) {
      side[i] = ex * (from[i].y - p.y()) - ey * (from[i].x - p.x());
      all = all && side[i] >= outside;
    }
    if (all) continue;
    int kept = 0;
    const unsigned label = (B.id[k] & (kClipEdge - 1)) | kClipEdge;
    for (int i = 0; i < size; ++i) {
      const int j = i + 1 == size ? 0 : i + 1;
      const bool in_i = side[i] >= outside, in_j = side[j] >= outside;
      if (in_i) to[kept++] = from[i];
      if (in_i != in_j) {
        const double t = std::clamp(side[i] / (side[i] - side[j]), 0.0, 1.0);
        const CutKind kind = from[i].edge & kClipEdge ? CutKind::vertex_of_B : CutKind::crossing;
        to[kept++] = {from[i].x + t * (from[j].x - from[i].x), from[i].y + t * (from[j].y - from[i].y),
                      feature_id(kind, from[i].edge, label),
                      in_i ? static_cast<std::uint16_t>(label) : from[i].edge};
      }
      if (kept > CutPoints::kCapacity - 2) break;
    }
    std::swap(from, to);
    size = kept;
  }
  for (int i = 0; i < size; ++i) {
    const double x = from[i].x, y = from[i].y;
    out->add(x, y, A.z(x, y), B.z(x, y), from[i].feature);
  }
}

bool inside_polygon(const Feature& f, double x, double y, double tolerance) {
  for (int k = 0; k < f.count; ++k) {
    const Vec3 &p = f.vertex[k], &q = f.vertex[k + 1 == f.count ? 0 : k + 1];
    const double ex = q.x() - p.x(), ey = q.y() - p.y();
    if (ex * (y - p.y()) - ey * (x - p.x()) < -tolerance * std::sqrt(ex * ex + ey * ey)) return false;
  }
  return true;
}

Vec3 from_centre(const Feature& disc, double x, double y) {
  return Vec3(x, y, disc.z(x, y)) - disc.centre;
}

bool inside_disc(const Feature& f, double x, double y, double tolerance) {
  const double r = f.radius + tolerance;
  return from_centre(f, x, y).squaredNorm() <= r * r;
}

// The part of p + t e, 0 <= t <= 1, within the disc; false when none.
bool clip_to_disc(const Feature& disc, const Vec3& p, const Vec3& q, double* t0, double* t1) {
  const Vec3 a = from_centre(disc, p.x(), p.y()), e = from_centre(disc, q.x(), q.y()) - a;
  const double ee = e.squaredNorm(), ae = a.dot(e);
  const double root2 = ae * ae - ee * (a.squaredNorm() - disc.radius * disc.radius);
  if (!(ee > 0) || root2 < 0) return false;
  const double root = std::sqrt(root2);
  *t0 = std::max(*t0, (-ae - root) / ee);
  *t1 = std::min(*t1, (-ae + root) / ee);
  return *t0 <= *t1;
}

void cut_polygon_disc(const Feature& polygon, const Feature& disc, bool polygon_is_A, double tolerance,
                      CutPoints* out) {
  const auto add = [&](double x, double y, std::uint32_t id) {
    const double z_p = polygon.z(x, y), z_d = disc.z(x, y);
    out->add(x, y, polygon_is_A ? z_p : z_d, polygon_is_A ? z_d : z_p, id);
  };
  for (int k = 0; k < polygon.count; ++k) {
    const Vec3 &p = polygon.vertex[k], &q = polygon.vertex[k + 1 == polygon.count ? 0 : k + 1];
    if (inside_disc(disc, p.x(), p.y(), tolerance)) {
      add(p.x(), p.y(),
          feature_id(polygon_is_A ? CutKind::vertex_of_A : CutKind::vertex_of_B, polygon.id[k], 0));
    }
    double t0 = 0, t1 = 1;
    if (!clip_to_disc(disc, p, q, &t0, &t1)) continue;
    const Vec3 e = q - p;
    if (t0 > 0) add(p.x() + t0 * e.x(), p.y() + t0 * e.y(), feature_id(CutKind::crossing, polygon.id[k], 0));
    if (t1 < 1) add(p.x() + t1 * e.x(), p.y() + t1 * e.y(), feature_id(CutKind::crossing, polygon.id[k], 1));
  }
  for (int i = 0; i < 4; ++i) {
    const Vec3 r = rim_point(disc, i);
    if (inside_polygon(polygon, r.x(), r.y(), tolerance)) {
      add(r.x(), r.y(), feature_id(CutKind::other, 1, i));
    }
  }
}

void cut_discs(const Feature& A, const Feature& B, double tolerance, CutPoints* out) {
  const auto add = [&](double x, double y, unsigned i, unsigned j) {
    out->add(x, y, A.z(x, y), B.z(x, y), feature_id(CutKind::other, i, j));
  };
  for (int i = 0; i < 4; ++i) {
    const Vec3 a = rim_point(A, i), b = rim_point(B, i);
    if (inside_disc(B, a.x(), a.y(), tolerance)) add(a.x(), a.y(), 2, i);
    if (inside_disc(A, b.x(), b.y(), tolerance)) add(b.x(), b.y(), 3, i);
  }
  // Where the rims cross: as circles first, then Newton on A's rim, |x(t) - centre_B| = r_B in B's plane.
  const double dx = B.centre.x() - A.centre.x(), dy = B.centre.y() - A.centre.y();
  const double d2 = dx * dx + dy * dy;
  if (!(d2 > 0)) return;
  const double along = (d2 + A.radius * A.radius - B.radius * B.radius) / (2 * d2);
  const double across2 = A.radius * A.radius / d2 - along * along;
  if (across2 < 0) return;
  for (const unsigned i : {0u, 1u}) {
    const double across = (i == 0 ? 1 : -1) * std::sqrt(across2);
    const Vec3 q =
        from_centre(A, A.centre.x() + along * dx - across * dy, A.centre.y() + along * dy + across * dx);
    double angle = std::atan2(q.dot(A.axis_v), q.dot(A.axis_u));
    for (int k = 0; k < 6; ++k) {
      const double c = std::cos(angle), s = std::sin(angle);
      const Vec3 x = A.centre + A.radius * (c * A.axis_u + s * A.axis_v);
      const Vec3 dx_dt = A.radius * (c * A.axis_v - s * A.axis_u);
      const Vec3 r = from_centre(B, x.x(), x.y());
      const Vec3 dr_dt(dx_dt.x(), dx_dt.y(), B.slope_x * dx_dt.x() + B.slope_y * dx_dt.y());
      const double excess = r.squaredNorm() - B.radius * B.radius, slope = 2 * r.dot(dr_dt);
      if (std::abs(excess) <= 1e-12 * B.radius * B.radius) {
        add(x.x(), x.y(), 4, i);
        break;
      }
      if (!(std::abs(slope) > 0)) break;
      angle -= std::clamp(excess / slope, -0.5, 0.5);
    }
  }
}

void cut_segment(const Feature& segment, const Feature& flat, bool segment_is_A, double tolerance,
                 CutPoints* out) {
  const Vec3& p = segment.vertex[0];
  const Vec3 e = segment.vertex[1] - p;
  double t0 = 0, t1 = 1;
  if (flat.kind == Kind::disc) {
    if (!clip_to_disc(flat, p, segment.vertex[1], &t0, &t1)) return;
  } else {
    for (int k = 0; k < flat.count; ++k) {
      const Vec3 &a = flat.vertex[k], &b = flat.vertex[k + 1 == flat.count ? 0 : k + 1];
      const double ex = b.x() - a.x(), ey = b.y() - a.y();
      const double slack = tolerance * std::sqrt(ex * ex + ey * ey);
      const double at_p = ex * (p.y() - a.y()) - ey * (p.x() - a.x()) + slack;
      const double rate = ex * e.y() - ey * e.x();
      if (rate > 0) {
        t0 = std::max(t0, -at_p / rate);
      } else if (rate < 0) {
        t1 = std::min(t1, -at_p / rate);
      } else if (at_p < 0) {
        return;
      }
    }
    if (t0 > t1) return;
  }
  const auto add = [&](double t, unsigned end) {
    const Vec3 s = p + t * e;
    const double z = flat.z(s.x(), s.y());
    out->add(s.x(), s.y(), segment_is_A ? s.z() : z, segment_is_A ? z : s.z(),
             feature_id(CutKind::other, 5, segment.id[end]));
  };
  add(t0, 0);
  add(t1, 1);
}

// Nearly parallel segments meet along their overlap. The surfaces bend away across the segments, so where the
// two are `aside` metres apart the distance grows by b - sqrt(b^2 - aside^2), b = bend_A + bend_B.
void cut_segments(const Feature& A, const Feature& B, CutPoints* out) {
  const Vec3 u = A.vertex[1] - A.vertex[0], v = B.vertex[1] - B.vertex[0];
  const double uu = u.x() * u.x() + u.y() * u.y(), vv = v.x() * v.x() + v.y() * v.y();
  const double uxv = u.x() * v.y() - u.y() * v.x();
  if (!(uxv * uxv < kMaxCrossingSine2 * uu * vv)) return;
  // Parameters of B's ends on A, then the overlap.
  const auto on_A = [&](const Vec3& p) {
    return ((p.x() - A.vertex[0].x()) * u.x() + (p.y() - A.vertex[0].y()) * u.y()) / uu;
  };
  const double b0 = on_A(B.vertex[0]), b1 = on_A(B.vertex[1]);
  const double s0 = std::max(0.0, std::min(b0, b1)), s1 = std::min(1.0, std::max(b0, b1));
  if (s0 > s1) return;
  const double bend = std::max(A.bend + B.bend, 1e-3 * std::sqrt(std::min(uu, vv)));
  const auto add = [&](double s, unsigned end) {
    const Vec3 a = A.vertex[0] + s * u;
    const double t = std::clamp((s - b0) / (b1 - b0), 0.0, 1.0);
    const Vec3 b = B.vertex[0] + t * v;
    const double dx = b.x() - a.x(), dy = b.y() - a.y(), aside2 = dx * dx + dy * dy;
    if (aside2 > 0.01 * bend * bend) return;  // the normal would have turned by 0.1
    // The surfaces meet where both have bent by the same angle: nearer to the sharper one.
    const double share = A.bend + B.bend > 0 ? A.bend / (A.bend + B.bend) : 0.5;
    const double rise = bend - std::sqrt(bend * bend - aside2);
    out->add(a.x() + share * dx, a.y() + share * dy, a.z() - share * rise, b.z() + (1 - share) * rise,
             feature_id(CutKind::other, 6, end));
  };
  add(s0, 0);
  add(s1, 1);
}

}  // namespace

Vec3 rim_point(const Feature& disc, int i) {
  const Vec3& axis = i % 2 == 0 ? disc.axis_u : disc.axis_v;
  return disc.centre + (i < 2 ? disc.radius : -disc.radius) * axis;
}

void cut_features(const Feature& A, const Feature& B, double tolerance, CutPoints* points) {
  if (A.kind == Kind::point || B.kind == Kind::point) return;
  if (A.kind == Kind::polygon && B.kind == Kind::polygon) {
    cut_polygons(A, B, tolerance, points);
  } else if (A.kind == Kind::segment && B.kind == Kind::segment) {
    cut_segments(A, B, points);
  } else if (A.kind == Kind::segment) {
    cut_segment(A, B, true, tolerance, points);
  } else if (B.kind == Kind::segment) {
    cut_segment(B, A, false, tolerance, points);
  } else if (A.kind == Kind::polygon) {
    cut_polygon_disc(A, B, true, tolerance, points);
  } else if (B.kind == Kind::polygon) {
    cut_polygon_disc(B, A, false, tolerance, points);
  } else {
    cut_discs(A, B, tolerance, points);
  }
}

}  // namespace capstan
