#include "capstan/geometry/sdf_contact.h"

#include <algorithm>
#include <cmath>

#include "capstan/geometry/contact_reduction.h"

namespace capstan {
namespace {

constexpr double kSdfPatchAngle = 0.25;  // [rad] contacts with normals this close are reduced together
constexpr double kSlope =
    0.15;  // [m/m] a point that a deeper one near it undercuts by more is no contact of its own
constexpr int kMaxCuts = 24;

// A minimum of s on a part of a triangle, in the frame of A.
struct Candidate {
  Vec3 x;
  double s;
  int triangle;
  std::uint32_t id;
  bool operator<(const Candidate& o) const { return s != o.s ? s < o.s : id < o.id; }
};

// Drops the candidates that only lie on the slope towards a deeper one. Sorted by depth on return.
void keep_local_minima(double slope, double reach, double slack, std::vector<Candidate>* candidates) {
  std::sort(candidates->begin(), candidates->end());
  std::size_t kept = 0;
  for (const Candidate& c : *candidates) {
    bool slides = kept > 0 && c.s == (*candidates)[kept - 1].s &&
                  c.x == (*candidates)[kept - 1].x;  // a corner that parts share
    for (std::size_t i = 0; i < kept && !slides; ++i) {
      const double distance2 = (c.x - (*candidates)[i].x).squaredNorm(),
                   rise = c.s - (*candidates)[i].s - slack;
      slides = distance2 < reach * reach && rise > 0 && rise * rise > slope * slope * distance2;
    }
    if (!slides) (*candidates)[kept++] = c;
  }
  candidates->erase(candidates->begin() + static_cast<std::ptrdiff_t>(kept), candidates->end());
}

struct Search {
  const SdfGrid& grid;
  const Transform& X_WA;
  const MeshBvh& mesh;
  Transform X_AB;
  double margin;
  std::vector<ContactPoint>* contacts;
  std::vector<Candidate>& candidates;

  // The interpolant may be off by this much.
  double slack() const { return std::min(grid.cell / 2, 2 * grid.error); }

  void part(int t, const Vec3& a, const Vec3& b, const Vec3& c, std::uint32_t id, int cuts) {
    const Vec3 centroid = (a + b + c) / 3;
    const double radius = std::sqrt(
        std::max({(a - centroid).squaredNorm(), (b - centroid).squaredNorm(), (c - centroid).squaredNorm()}));
    if (sdf_value(grid, centroid) - radius > margin + slack()) return;
    if (radius > 2 * grid.cell && cuts < kMaxCuts) {
      // Across the longest side: a strip of a cylinder becomes few parts.
      const double ab = (b - a).squaredNorm(), bc = (c - b).squaredNorm(), ca = (a - c).squaredNorm();
      if (ab >= bc && ab >= ca) return halves(t, c, a, b, id, cuts);
      return bc >= ca ? halves(t, a, b, c, id, cuts) : halves(t, b, c, a, id, cuts);
    }
    Vec3 x;
    const double value = minimize_on_triangle(grid, a, b, c, &x);
    if (value <= margin + slack()) candidates.push_back({x, value, t, id});
  }

  void halves(int t, const Vec3& tip, const Vec3& a, const Vec3& b, std::uint32_t id, int cuts) {
    const Vec3 middle = (a + b) / 2;
    part(t, tip, a, middle, 2 * id + 1, cuts + 1);
    part(t, tip, middle, b, 2 * id + 2, cuts + 1);
  }

  // The interpolant is half a cell off at sharp edges of A: a few more steps with the distance to the mesh
  // itself.
  void refine(const Vec3& a, const Vec3& b, const Vec3& c, Vec3* x) const {
    const auto exact = [&](const Vec3& p, Vec3* gradient) {
      const MeshPoint q = closest_point_signed(*grid.surface, p);
      *gradient = std::abs(q.distance) > 1e-9 * grid.cell
                      ? Vec3((p - q.point) / q.distance)
                      : feature_normal(*grid.surface, q.triangle, q.feature);
      return q.distance;
    };
    Vec3 g;
    double s = exact(*x, &g), step = grid.cell / 2;
    for (int i = 0; i < 32 && step > 1e-4 * grid.cell; ++i) {
      TriangleFeature feature;
      const Vec3 y = closest_point_on_triangle(*x - step * g, a, b, c, &feature);
      Vec3 g_y;
      const double s_y = exact(y, &g_y);
      if (s_y < s - 1e-9 * grid.cell) {
        *x = y;
        s = s_y;
        g = g_y;
      } else {
        step /= 2;
      }
    }
  }

  ContactPoint make_contact(const Vec3& x, std::uint32_t id) const {
    const MeshBvh& surface = *grid.surface;
    const MeshPoint q = closest_point(surface, x);
    const Vec3 m = feature_normal(surface, q.triangle, q.feature), r = x - q.point;
    const bool inside = r.dot(m) < 0;
    const double d = inside ? -q.distance : q.distance;
    Vec3 n = m;
    if (q.feature == TriangleFeature::face) {
      n = surface.face_normal[q.triangle];
    } else if (q.distance > 1e-9 * grid.cell) {
      n = r / d;
    }
    ContactPoint c;
    c.normal = X_WA.R * n;
    c.p_A = X_WA * q.point;
    c.distance = d;
    c.p_B = c.p_A + d * c.normal;
    c.feature = id;
    return c;
  }

  void run() {
    candidates.clear();
    const int end = static_cast<int>(mesh.nodes.size());
    for (int i = 0; i < end;) {
      const MeshBvh::Node& node = mesh.nodes[i];
      const Vec3 centre = X_AB * Vec3((node.box.lower + node.box.upper) / 2);
      const double radius = (node.box.upper - node.box.lower).norm() / 2;
      if (sdf_value(grid, centre) - radius > margin + slack()) {
        i = node.skip;
        continue;
      }
      for (int k = node.first; k < node.first + node.count; ++k) {
        const int t = mesh.order[k];
        part(t, X_AB * mesh.vertex(t, 0), X_AB * mesh.vertex(t, 1), X_AB * mesh.vertex(t, 2),
             static_cast<std::uint32_t>(t) * 0x9e3779b1u, 0);
      }
      ++i;
    }
    // Loosely with the interpolant, then with the distance to the mesh; exact steps only for the few that
    // stay.
    keep_local_minima(2 * kSlope, 8 * grid.cell, 2 * slack(), &candidates);
    for (Candidate& c : candidates) c.s = closest_point_signed(*grid.surface, c.x).distance;
    keep_local_minima(kSlope, 8 * grid.cell, slack() / 2, &candidates);
    const std::size_t first = contacts->size();
    for (const Candidate& c : candidates) {
      if (c.s <= margin + slack()) contacts->push_back(make_contact(c.x, c.id));
    }
    reduce_contacts(first, 1e-3 * grid.cell, kSdfPatchAngle, contacts);
    std::size_t kept = first;
    for (std::size_t k = first; k < contacts->size(); ++k) {
      const std::uint32_t id = (*contacts)[k].feature;
      const auto same_id = [&](const Candidate& c) { return c.id == id; };
      Candidate c = *std::find_if(candidates.begin(), candidates.end(), same_id);
      const int t = c.triangle;
      refine(X_AB * mesh.vertex(t, 0), X_AB * mesh.vertex(t, 1), X_AB * mesh.vertex(t, 2), &c.x);
      const ContactPoint contact = make_contact(c.x, id);
      if (contact.distance <= margin) (*contacts)[kept++] = contact;
    }
    contacts->erase(contacts->begin() + static_cast<std::ptrdiff_t>(kept), contacts->end());
  }
};

// Keeps its memory from pair to pair.
std::vector<Candidate>& scratch() {
  thread_local std::vector<Candidate> candidates;
  return candidates;
}

}  // namespace

double minimize_on_triangle(const SdfGrid& grid, const Vec3& a, const Vec3& b, const Vec3& c, Vec3* x) {
  constexpr int kMaxSteps = 14;
  Vec3 g;
  *x = (a + b + c) / 3;
  double s = sdf_value(grid, *x, &g);
  const double size =
      std::sqrt(std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()}));
  for (const Vec3* v : {&a, &b, &c}) {
    Vec3 g_v;
    const double s_v = sdf_value(grid, *v, &g_v);
    if (s_v < s) {
      s = s_v;
      g = g_v;
      *x = *v;
    }
  }
  double step = size / 2;
  for (int i = 0; i < kMaxSteps && step > 1e-2 * size; ++i) {
    TriangleFeature feature;
    const Vec3 y = closest_point_on_triangle(*x - step * g, a, b, c, &feature);
    Vec3 g_y;
    const double s_y = sdf_value(grid, y, &g_y);
    if (s_y < s - 1e-12 * size) {
      *x = y;
      s = s_y;
      g = g_y;
    } else {
      step /= 2;
    }
  }
  return s;
}

void collide_sdf_mesh(const SdfGrid& grid, const Transform& X_WA, const MeshBvh& mesh, const Transform& X_WB,
                      double margin, std::vector<ContactPoint>* contacts) {
  const std::size_t first = contacts->size();
  Search{grid, X_WA, mesh, inverse(X_WA) * X_WB, margin, contacts, scratch()}.run();
  reduce_contacts(first, 1e-3 * grid.cell, kSdfPatchAngle, contacts);
}

void collide_sdf_sdf(const SdfGrid& A, const Transform& X_WA, const SdfGrid& B, const Transform& X_WB,
                     double margin, std::vector<ContactPoint>* contacts) {
  const std::size_t first = contacts->size();
  Search{A, X_WA, *B.surface, inverse(X_WA) * X_WB, margin, contacts, scratch()}.run();
  const std::size_t second = contacts->size();
  Search{B, X_WB, *A.surface, inverse(X_WB) * X_WA, margin, contacts, scratch()}.run();
  for (std::size_t i = second; i < contacts->size(); ++i) {
    (*contacts)[i] = swapped((*contacts)[i]);
    (*contacts)[i].feature ^= 0x80000000u;
  }
  reduce_contacts(first, 1e-3 * std::min(A.cell, B.cell), kSdfPatchAngle, contacts);
}

}  // namespace capstan
