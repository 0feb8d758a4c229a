#include "capstan/geometry/patch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "capstan/geometry/face_contact.h"

namespace capstan {
namespace {

constexpr double kAgainstNormal = -0.5;                  // cosine: below it a polygon is dropped
constexpr double kSliver = 1e-12;                        // of the square of the overlap's size
constexpr double kLeftToOthers = 0.5;                    // of the depth of both fields
constexpr double kFacing = 0.5;                          // cosine: triangles that do count in full
constexpr double kAheadCosine = 0.7;                     // below it there are no polygons ahead
constexpr double kCrumb = 1e-3;                          // of the force of the patch
constexpr double kOnePoint = 0.01, kFourPoints = 0.125;  // of the second moment of the patch
constexpr double kSlackOfDepth = 1e-3;  // round cells reach a little farther than the overlap is known to
constexpr int kMostVertices = 160;

using Buffer = std::array<Vec3, kMostVertices>;

// Keeps what is inside of a plane; returns the number of vertices.
int keep_inside(const CellPlane& plane, int count, Buffer* from, Buffer* to) {
  double before = plane.n.dot((*from)[count - 1]) - plane.d;
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const Vec3 &p = (*from)[i], &q = (*from)[(i == 0 ? count : i) - 1];
    const double now = plane.n.dot(p) - plane.d;
    if ((now > 0) != (before > 0)) (*to)[kept++] = q + before / (before - now) * (p - q);
    if (now <= 0) (*to)[kept++] = p;
    before = now;
  }
  return kept;
}

Aabb box_in(const Transform& X, const Aabb& box) {
  if (!box.lower.allFinite() || !box.upper.allFinite())
    return {Vec3::Constant(-kInfinity), Vec3::Constant(kInfinity)};
  const Vec3 centre = X * Vec3((box.lower + box.upper) / 2);
  const Vec3 half = X.R.cwiseAbs() * Vec3((box.upper - box.lower) / 2);
  return {centre - half, centre + half};
}

Aabb common(const Aabb& a, const Aabb& b) {
  return {a.lower.cwiseMax(b.lower), a.upper.cwiseMin(b.upper)};
}

// A cell as another frame sees it.
void append_cell(const Transform& X, const CellList& from, int id, CellList* to) {
  const PressureCell& cell = from.cells[id];
  const int first = static_cast<int>(to->planes.size());
  const Vec3 gradient = X.R * cell.gradient;
  for (int k = cell.first; k < cell.end; ++k) {
    const Vec3 n = X.R * from.planes[k].n;
    to->planes.push_back({n, from.planes[k].d + n.dot(X.p)});
  }
  to->cells.push_back({gradient, cell.value - gradient.dot(X.p), box_in(X, cell.box), first,
                       static_cast<int>(to->planes.size())});
}

struct PatchMaker {
  const PatchSide &first, &second;
  double sign;  // of the normal from first to second
  double depth, margin;
  PatchWorkspace& w;
  Transform X;  // of the second in the frame of the first
  double share_first, share_second;

  PatchMaker(const PatchSide& a, const PatchSide& b, double to_second, const PatchRequest& request,
             PatchWorkspace* workspace)
      : first(a), second(b), sign(to_second), depth(request.depth), margin(request.margin), w(*workspace) {
    for (const PatchSide* side : {&a, &b}) {
      const PressureField::Form form = side->field->form;
      if (form == PressureField::Form::ellipsoid || form == PressureField::Form::capsule) margin = 0;
    }
    X = inverse(a.X_W) * b.X_W;
    share_first = std::isinf(a.modulus) ? 1 : std::isinf(b.modulus) ? 0 : a.modulus / (a.modulus + b.modulus);
    share_second = 1 - share_first;
    if (!std::isinf(a.modulus) && !std::isinf(b.modulus)) share_second = b.modulus / (a.modulus + b.modulus);
  }

  // [Pa/m] by which the pressure changes along the normal; infinite for a rigid one.
  static double series(double a, double b) {
    if (std::isinf(a)) return b;
    if (std::isinf(b)) return a;
    return a > 0 && b > 0 ? a * b / (a + b) : 0;
  }

  // The polygon of two cells, both in the frame of the first shape.
  void cut(const CellList& list_a, const PressureCell& a, const CellList& list_b, const PressureCell& b) {
    const Vec3 grad_s = share_first * a.gradient - share_second * b.gradient;
    const double steep = grad_s.norm();
    const double steep_a = a.gradient.norm(), steep_b = b.gradient.norm();
    if (!(steep > 1e-9 * std::max(share_first * steep_a, share_second * steep_b))) return;
    const Vec3 n = -grad_s / steep;
    const bool rigid_a = std::isinf(first.modulus), rigid_b = std::isinf(second.modulus);
    const double along_a = -a.gradient.dot(n), along_b = b.gradient.dot(n);
    if (!rigid_a && along_a < kAgainstNormal * steep_a) return;
    if (!rigid_b && along_b < kAgainstNormal * steep_b) return;
    const Aabb box = inflated(common(a.box, b.box), margin);
    const Vec3 centre = (box.lower + box.upper) / 2, half = (box.upper - box.lower) / 2;
    if (!((half.array() >= 0).all())) return;
    const double s = share_first * a.e(centre) - share_second * b.e(centre);
    if (std::abs(s) > grad_s.cwiseAbs().dot(half) * (1 + 1e-9)) return;

    Buffer buffers[2];
    Buffer *now = &buffers[0], *next = &buffers[1];
    const double size = half.norm();
    int least = 0;
    n.cwiseAbs().minCoeff(&least);
    const Vec3 t1 = cross(n, Vec3(Vec3::Unit(least))).normalized(), t2 = cross(n, t1);
    const Vec3 foot = centre + s / steep * n;
    for (int k = 0; k < 4; ++k)
      (*now)[k] = foot + size * ((k == 1 || k == 2 ? 1 : -1) * t1 + (k >= 2 ? 1 : -1) * t2);
    int count = 4;
    const auto keep = [&](const CellPlane& plane) {
      count = keep_inside(plane, count, now, next);
      std::swap(now, next);
      return count >= 3 && count < kMostVertices - 2;
    };
    for (int k = a.first; k < a.end; ++k) {
      if (!keep(list_a.planes[k])) return;
    }
    for (int k = b.first; k < b.end; ++k) {
      if (!keep(list_b.planes[k])) return;
    }
    const PressureCell& soft = rigid_a ? b : a;
    const double modulus = rigid_a ? second.modulus : first.modulus;
    const double steep_soft = rigid_a ? steep_b : steep_a;
    const double g =
        series(rigid_a ? kInfinity : first.modulus * along_a, rigid_b ? kInfinity : second.modulus * along_b);
    const auto add = [&](bool is_ahead, int vertices, const Vec3* v) {
      const std::size_t before = w.polygons.size();
      if (vertices >= 3) add_polygon(v, vertices, n, t1, t2, kSliver * size * size);
      if (w.polygons.size() == before) return;
      PatchPolygon& polygon = w.polygons.back();
      polygon.is_ahead = is_ahead;
      polygon.pressure = modulus * soft.e(polygon.centroid);
      polygon.pressure = is_ahead ? std::min(0.0, polygon.pressure) : std::max(0.0, polygon.pressure);
      polygon.gradient = modulus * (soft.gradient - soft.gradient.dot(n) * n);
      polygon.stiffness = polygon.area * std::max(g, 1e-12 * modulus * steep_soft);
    };
    if (!(steep_soft > 0)) return add(false, count, now->data());
    // Inside, e >= 0; ahead, 0 > p >= -margin g.
    const CellPlane surface{-soft.gradient / steep_soft, soft.value / steep_soft};
    const bool has_ahead = margin > 0 && g > 0 && (rigid_a || along_a >= kAheadCosine * steep_a) &&
                           (rigid_b || along_b >= kAheadCosine * steep_b);
    if (!has_ahead) return keep(surface) ? add(false, count, now->data()) : void();
    Buffer third;
    add(false, keep_inside(surface, count, now, &third), third.data());
    const double gap = margin * g / (modulus * steep_soft);  // [m] in this cell
    if (keep({-surface.n, -surface.d}) && keep({surface.n, surface.d + gap})) add(true, count, now->data());
  }

  // Area, centroid and second moments; its stiffness is not yet known: negative.
  void add_polygon(const Vec3* v, int count, const Vec3& n, const Vec3& t1, const Vec3& t2, double least) {
    double twice = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    const Vec3& o = v[0];
    for (int i = 1; i + 1 < count; ++i) {
      const Vec3 p = v[i] - o, q = v[i + 1] - o;
      const double px = t1.dot(p), py = t2.dot(p), qx = t1.dot(q), qy = t2.dot(q);
      const double d = px * qy - py * qx;
      twice += d;
      x += d * (px + qx) / 3;
      y += d * (py + qy) / 3;
      xx += d * (px * px + px * qx + qx * qx) / 6;
      yy += d * (py * py + py * qy + qy * qy) / 6;
      xy += d * (2 * px * py + px * qy + qx * py + 2 * qx * qy) / 12;
    }
    if (!(twice / 2 > least)) return;
    x /= twice, y /= twice;
    xx = std::max(0.0, xx / twice - x * x), yy = std::max(0.0, yy / twice - y * y), xy = xy / twice - x * y;
    const double mean = (xx + yy) / 2, half = (xx - yy) / 2, root = std::sqrt(half * half + xy * xy);
    const double angle = root > 1e-9 * mean ? 0.5 * std::atan2(xy, half) : 0.0;
    const double c = std::cos(angle), sn = std::sin(angle);
    PatchPolygon& polygon = w.polygons.emplace_back();
    polygon.first = static_cast<int>(w.vertices.size());
    polygon.normal = n;
    polygon.centroid = o + x * t1 + y * t2;
    polygon.area = twice / 2;
    polygon.axis_1 = std::sqrt(mean + root) * (c * t1 + sn * t2);
    polygon.axis_2 = std::sqrt(std::max(0.0, mean - root)) * (c * t2 - sn * t1);
    polygon.stiffness = -1;
    w.vertices.insert(w.vertices.end(), v, v + count);
    polygon.end = static_cast<int>(w.vertices.size());
  }

  void cut_lists(const CellList& list_a, const CellList& list_b) {
    for (const PressureCell& b : list_b.cells) {
      for (const PressureCell& a : list_a.cells) {
        if (overlaps(inflated(a.box, margin), b.box)) cut(list_a, a, list_b, b);
      }
    }
  }

  // Cells of the second shape that are near the first one, in the order of their numbers.
  void find_candidates() {
    w.candidates.clear();
    const Aabb box = inflated(box_in(inverse(X), first.field->box), margin);
    for_each_cell(*second.field, box, [&](int id) { w.candidates.push_back(id); });
    std::sort(w.candidates.begin(), w.candidates.end());
  }

  void cut_round_by_cells(const Vec3& normal) {
    find_candidates();
    if (second.field->is_convex) {  // one set of cells for the whole overlap
      const double support = calc_round_support(*first.field, normal);
      make_round_cells(*first.field, normal, support - (1 + kSlackOfDepth) * depth - margin, &w.first);
      w.second.clear();
      for (const int id : w.candidates) append_cell(X, second.field->list, id, &w.second);
      cut_lists(w.first, w.second);
      return;
    }
    Vec3 last_n = Vec3::Zero();
    double last_c = kInfinity;
    for (const int id : w.candidates) {
      w.second.clear();
      append_cell(X, second.field->list, id, &w.second);
      const PressureCell& b = w.second.cells[0];
      if (!overlaps(inflated(b.box, margin), first.field->box) || b.gradient.isZero(0)) continue;
      const Vec3 n = b.gradient.normalized();
      const Vec3 centre = (b.box.lower + b.box.upper) / 2, half = (b.box.upper - b.box.lower) / 2;
      const double c =
          std::max(-b.value / b.gradient.norm(), n.dot(centre) - n.cwiseAbs().dot(half)) - margin;
      if ((n - last_n).norm() > 1e-12 || std::abs(c - last_c) > 1e-12 * first.field->depth) {
        make_round_cells(*first.field, n, c, &w.first);
        last_n = n, last_c = c;
      }
      cut_lists(w.first, w.second);
    }
  }

  void cut_round_by_round(const Vec3& normal) {
    const double reach = (1 + kSlackOfDepth) * depth + margin;
    make_round_cells(*first.field, normal, calc_round_support(*first.field, normal) - reach, &w.first);
    const Vec3 other = -(X.R.transpose() * normal);
    CellList& own = w.made;
    make_round_cells(*second.field, other, calc_round_support(*second.field, other) - reach, &own);
    w.second.clear();
    for (int id = 0; id < static_cast<int>(own.cells.size()); ++id) append_cell(X, own, id, &w.second);
    cut_lists(w.first, w.second);
  }

  void cut_cells_by_cells() {
    find_candidates();
    const Aabb region = inflated(common(first.field->box, box_in(X, second.field->box)), margin);
    for (const int id : w.candidates) {
      w.second.clear();
      append_cell(X, second.field->list, id, &w.second);
      const PressureCell& b = w.second.cells[0];
      const Aabb box = common(inflated(b.box, margin), region);
      if (!(box.lower.array() <= box.upper.array()).all()) continue;
      for_each_cell(*first.field, box,
                    [&](int k) { cut(first.field->list, first.field->list.cells[k], w.second, b); });
    }
  }

  void make(const Vec3& normal_W) {
    w.polygons.clear();
    w.vertices.clear();
    const Vec3 normal = sign * (first.X_W.R.transpose() * normal_W);
    if (first.field->is_round() && second.field->is_round()) {
      cut_round_by_round(normal);
    } else if (first.field->is_round()) {
      cut_round_by_cells(normal);
    } else {
      cut_cells_by_cells();
    }
    for (PatchPolygon& polygon : w.polygons) {
      polygon.normal = sign * (first.X_W.R * polygon.normal);
      polygon.centroid = first.X_W * polygon.centroid;
      polygon.gradient = first.X_W.R * polygon.gradient;
      polygon.axis_1 = first.X_W.R * polygon.axis_1;
      polygon.axis_2 = first.X_W.R * polygon.axis_2;
    }
    for (Vec3& v : w.vertices) v = first.X_W * v;
  }
};

// The same normal for all polygons, each with its force and its stiffness along it.
void share_normal(const Vec3& normal, PatchWorkspace* w) {
  for (PatchPolygon& polygon : w->polygons) {
    const double cosine = std::max(0.0, normal.dot(polygon.normal));
    polygon.normal = normal;
    polygon.area *= cosine;
    polygon.stiffness *= cosine * cosine;
  }
  std::erase_if(w->polygons, [](const PatchPolygon& polygon) { return !(polygon.area > 0); });
}

// That of their force.
void share_normal_of_force(PatchWorkspace* w) {
  Vec3 force = Vec3::Zero();
  for (const PatchPolygon& polygon : w->polygons) {
    if (!polygon.is_ahead) force += polygon.area * polygon.pressure * polygon.normal;
  }
  if (const double size = force.norm(); size > 0) share_normal(force / size, w);
}

// Of a triangle of a surface that bends and something else, which holds it as its own surface lies: a smooth
// plane gives it no momentum along itself. That is how the other's pressure changes, on the mean; of the
// triangle's own, by 1 / depth along its normal n_t, and of the plane s = 0 that is left. The normals point
// from the triangle to the other if sign is 1.
void share_normal_of_other(const PatchSide& triangle, const PatchSide& other, double sign,
                           PatchWorkspace* w) {
  if (std::isinf(other.modulus)) return share_normal_of_force(w);
  const double own = triangle.modulus / triangle.field->depth;  // [Pa/m]
  const Vec3 inward = -own * triangle.X_W.R.col(2);
  Vec3 sum = Vec3::Zero();
  for (const PatchPolygon& polygon : w->polygons) {
    const Vec3 n = sign * polygon.normal;
    const double g_own = -inward.dot(n), g = polygon.stiffness / polygon.area;
    if (polygon.is_ahead || !(g_own > g)) continue;
    const double g_other = 1 / (1 / g - 1 / g_own);
    // Both pressures change alike in the plane of the polygon.
    const Vec3 gradient = inward + (g_own + g_other) * n;
    sum += polygon.area * polygon.pressure * gradient.normalized();
  }
  if (const double size = sum.norm(); size > 0) return share_normal(sign / size * sum, w);
  share_normal_of_force(w);
}

// Of a part, which is the cell of a triangle in one of the fields (make_cell_behind()). Two triangles have
// the normal half-way between theirs.
void share_normal_of_part(const PatchSide& a, const PatchSide& b, PatchWorkspace* w) {
  const auto is_triangle = [](const PressureField& f) { return !f.is_convex && f.list.cells.size() == 1; };
  const Vec3 n_a = a.X_W.R.col(2), n_b = b.X_W.R.col(2);
  if (!is_triangle(*b.field)) return share_normal_of_other(a, b, 1, w);
  if (!is_triangle(*a.field)) return share_normal_of_other(b, a, -1, w);
  const double part = std::min(1.0, (-n_a.dot(n_b) - kLeastFacing) / (kFacing - kLeastFacing));
  if (!(part > 0)) return w->polygons.clear();
  share_normal((n_a - n_b).normalized(), w);
  for (PatchPolygon& polygon : w->polygons) {
    polygon.area *= part;
    polygon.stiffness *= part;
  }
}

// [m] The overlap where the pressure is largest, at corners of polygons or in their middle: triangles of soft
// bodies have no depth of their own.
double depth_of_pressure(const PatchSide& a, const PatchSide& b, bool at_corners, const PatchWorkspace& w) {
  double most = 0;
  for (const PatchPolygon& polygon : w.polygons) {
    most = std::max(most, polygon.pressure);
    for (int i = polygon.first; at_corners && !polygon.is_ahead && i < polygon.end; ++i)
      most = std::max(most, polygon.pressure + polygon.gradient.dot(w.vertices[i] - polygon.centroid));
  }
  const auto depth = [&](const PatchSide& s) {
    return std::isinf(s.modulus) ? 0.0 : most / s.modulus * s.field->depth;
  };
  return depth(a) + depth(b);
}

// What places points: phi is no deeper than the overlap.
struct PointPlacer {
  double depth;
  std::vector<PatchPoint>& points;

  double stiffness(const PatchPolygon& polygon, double pressure) const {
    return std::max(polygon.stiffness, pressure * polygon.area / depth);
  }
  void add(const PatchPolygon& polygon, const Vec3& p, double part) {
    const double pressure = polygon.pressure + polygon.gradient.dot(p - polygon.centroid);
    if (polygon.is_ahead ? !(pressure < 0) : !(pressure > 0)) return;
    points.push_back({p, polygon.normal, part * polygon.area, pressure, part * stiffness(polygon, pressure)});
  }
};

// Three points in each triangle of the fan about the centroid, exact for polynomials of degree two.
void add_fan_points(const PatchPolygon& polygon, const std::vector<Vec3>& vertices, PointPlacer* placer) {
  const Vec3& c = polygon.centroid;
  for (int i = polygon.first; i < polygon.end; ++i) {
    const Vec3 &p = vertices[i], &q = vertices[i + 1 < polygon.end ? i + 1 : polygon.first];
    const double part = 0.5 * polygon.normal.dot(cross(Vec3(p - c), Vec3(q - c))) * (1 / polygon.area);
    if (!(std::abs(part) > 1e-6)) continue;
    for (const Vec3& x : {Vec3(4 * c + p + q), Vec3(c + 4 * p + q), Vec3(c + p + 4 * q)})
      placer->add(polygon, x / 6, std::abs(part) / 3);
  }
}

// What is too small to count alone, at its centre of pressure.
void add_crumbs(const PatchPoint& sum, const Vec3& force, std::vector<PatchPoint>* points) {
  const double size = force.norm();
  if (!(size > 0) || !(sum.area > 0)) return;
  const double scale = sum.pressure * sum.area;  // the sum of their forces
  points->push_back({sum.p / scale, force / size, sum.area, size / sum.area, sum.stiffness * size / scale});
}

// v or -v, whichever of the two it was: an axis has the sign of the frame that it was found in.
Vec3 upward(const Vec3& v) {
  int largest = 0;
  v.cwiseAbs().maxCoeff(&largest);
  return v[largest] < 0 ? Vec3(-v) : v;
}

// The points of those polygons that press, or of those ahead.
void place_points(bool ahead, const PatchRequest& request, PatchWorkspace* w) {
  PointPlacer placer{request.depth, w->points};
  double area = 0, spread = 0, force = 0;
  Vec3 centre = Vec3::Zero();
  for (const PatchPolygon& polygon : w->polygons) {
    if (polygon.is_ahead != ahead) continue;
    area += polygon.area;
    centre += polygon.area * polygon.centroid;
    force += polygon.area * polygon.pressure;
  }
  if (!(area > 0)) return;
  centre /= area;
  const auto own = [](const PatchPolygon& p) {
    return p.area * (p.axis_1.squaredNorm() + p.axis_2.squaredNorm());
  };
  for (const PatchPolygon& polygon : w->polygons) {
    if (polygon.is_ahead == ahead)
      spread += own(polygon) + polygon.area * (polygon.centroid - centre).squaredNorm();
  }
  PatchPoint crumbs{Vec3::Zero(), Vec3::Zero(), 0, 0, 0};
  Vec3 crumb_force = Vec3::Zero();
  double crumb_sum = 0;
  for (const PatchPolygon& polygon : w->polygons) {
    if (polygon.is_ahead != ahead) continue;
    const double f = polygon.area * polygon.pressure;
    if (ahead && polygon.area < kCrumb * area) continue;
    if (!ahead && f < kCrumb * force) {
      crumbs.p += f * polygon.centroid;
      crumbs.area += polygon.area;
      crumbs.stiffness += placer.stiffness(polygon, polygon.pressure);
      crumb_sum += f;
      crumb_force += f * polygon.normal;
      continue;
    }
    const double m = own(polygon) / spread;
    if (m < (request.is_part ? kFourPoints : kOnePoint)) {
      placer.add(polygon, polygon.centroid, 1);
    } else if (request.is_part) {
      const Vec3 up = std::sqrt(2.0) * upward(polygon.axis_2), side = std::sqrt(1.5) * polygon.axis_1;
      for (const Vec3& r : {up, Vec3(side - 0.5 * up), Vec3(-side - 0.5 * up)})
        placer.add(polygon, polygon.centroid + r, 1.0 / 3);
    } else if (m < kFourPoints) {
      const double root2 = std::sqrt(2.0);
      for (const Vec3& axis : {polygon.axis_1, polygon.axis_2}) {
        for (const double side : {-root2, root2}) placer.add(polygon, polygon.centroid + side * axis, 0.25);
      }
    } else {
      add_fan_points(polygon, w->vertices, &placer);
    }
  }
  if (crumbs.area > 0) {
    crumbs.pressure = crumb_sum / crumbs.area;
    add_crumbs(crumbs, crumb_force, &w->points);
  }
}

}  // namespace

bool calc_patch(const PatchSide& a, const PatchSide& b, const PatchRequest& request, PatchWorkspace* w) {
  w->polygons.clear();
  w->points.clear();
  w->vertices.clear();
  const bool rigid_a = std::isinf(a.modulus), rigid_b = std::isinf(b.modulus);
  const bool is_known = request.depth > 0;
  if ((rigid_a && rigid_b) || (!is_known && (a.field->is_round() || b.field->is_round()))) return false;
  const double reach = (rigid_a ? 0 : a.field->depth) + (rigid_b ? 0 : b.field->depth);
  if (request.depth > reach) return false;
  if (!a.field->is_round() && b.field->is_round()) {
    PatchMaker(b, a, -1, request, w).make(request.normal_W);
  } else {
    PatchMaker(a, b, 1, request, w).make(request.normal_W);
  }
  PatchRequest known = request;
  if (!is_known) {
    known.depth = depth_of_pressure(a, b, true, *w);
    if (!(known.depth > 0) || known.depth > kLeftToOthers * reach) return false;
  }
  if (request.is_part) {
    known.depth = std::max(known.depth, depth_of_pressure(a, b, false, *w));
    share_normal_of_part(a, b, w);
  } else if (a.field->is_convex && b.field->is_convex) {
    share_normal_of_force(w);
  }
  place_points(false, known, w);
  if (w->points.empty()) return false;
  place_points(true, known, w);
  if (request.most_points > 0) reduce_patch(request.most_points, w);
  return true;
}

}  // namespace capstan
