#include "capstan/geometry/mesh_bvh.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/base/diagnostics.h"

namespace capstan {
namespace {

constexpr int kLeafSize = 4;

// Median split along the longest side of the box of the centroids.
struct Builder {
  MeshBvh& bvh;
  std::vector<Aabb> box;
  std::vector<Vec3> centroid;

  Aabb build(int first, int last) {
    const int node = static_cast<int>(bvh.nodes.size());
    bvh.nodes.emplace_back();
    Aabb all;
    if (last - first <= kLeafSize) {
      for (int k = first; k < last; ++k) all = merged(all, box[bvh.order[k]]);
      bvh.nodes[node] = {all, node + 1, first, last - first};
      return all;
    }
    Aabb centres;
    for (int k = first; k < last; ++k) include(centres, centroid[bvh.order[k]]);
    int axis;
    (centres.upper - centres.lower).maxCoeff(&axis);
    const int middle = first + (last - first) / 2;
    std::nth_element(bvh.order.begin() + first, bvh.order.begin() + middle, bvh.order.begin() + last,
                     [&](int a, int b) {
                       const double x = centroid[a][axis], y = centroid[b][axis];
                       return x < y || (x == y && a < b);
                     });
    all = build(first, middle);
    all = merged(all, build(middle, last));
    bvh.nodes[node] = {all, static_cast<int>(bvh.nodes.size()), 0, 0};
    return all;
  }
};

struct DirectedEdge {
  int a, b, triangle, k;
  bool operator<(const DirectedEdge& o) const {
    return a != o.a ? a < o.a : b != o.b ? b < o.b : triangle < o.triangle;
  }
};

void make_adjacency(MeshBvh* bvh) {
  const auto& triangles = bvh->mesh->triangles;
  const auto& vertices = bvh->mesh->vertices;
  const int n = static_cast<int>(triangles.size());
  bvh->face_normal.resize(n);
  bvh->vertex_normal.assign(vertices.size(), Vec3::Zero());
  std::vector<DirectedEdge> edges;
  edges.reserve(3 * triangles.size());
  std::vector<std::array<int, 2>> joined;
  joined.reserve(6 * triangles.size());
  for (int t = 0; t < n; ++t) {
    const Vec3 &a = bvh->vertex(t, 0), &b = bvh->vertex(t, 1), &c = bvh->vertex(t, 2);
    const Vec3 area = cross(b - a, c - a);
    const double norm = area.norm();
    const double longest2 = std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
    bvh->face_normal[t] = norm > 1e-14 * longest2 ? Vec3(area / norm) : Vec3::Zero();
    for (int k = 0; k < 3; ++k) {
      const int i = triangles[t][k], j = triangles[t][(k + 1) % 3], l = triangles[t][(k + 2) % 3];
      const Vec3 e = vertices[j] - vertices[i], f = vertices[l] - vertices[i];
      bvh->vertex_normal[i] += std::atan2(cross(e, f).norm(), e.dot(f)) * bvh->face_normal[t];
      edges.push_back({i, j, t, k});
      joined.push_back({i, j});
      joined.push_back({j, i});
    }
  }
  std::sort(edges.begin(), edges.end());
  bvh->neighbour.assign(n, {-1, -1, -1});
  bvh->solid = true;
  for (size_t e = 0; e < edges.size(); ++e) {
    const DirectedEdge& edge = edges[e];
    const auto same = [&](const DirectedEdge& x) { return x.a == edge.a && x.b == edge.b; };
    const bool repeated = (e > 0 && same(edges[e - 1])) || (e + 1 < edges.size() && same(edges[e + 1]));
    const auto other = std::lower_bound(edges.begin(), edges.end(), DirectedEdge{edge.b, edge.a, -1, 0});
    const bool found = other != edges.end() && other->a == edge.b && other->b == edge.a;
    const bool twice =
        found && other + 1 != edges.end() && (other + 1)->a == edge.b && (other + 1)->b == edge.a;
    if (found && !twice && !repeated) {
      bvh->neighbour[edge.triangle][edge.k] = other->triangle;
    } else {
      bvh->solid = false;
    }
  }
  std::sort(joined.begin(), joined.end());
  joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
  bvh->first_fan.assign(vertices.size() + 1, 0);
  for (const auto& [i, j] : joined) {
    ++bvh->first_fan[i + 1];
    bvh->fan.push_back(j);
  }
  for (size_t v = 0; v < vertices.size(); ++v) bvh->first_fan[v + 1] += bvh->first_fan[v];
}

struct ClosestSearch {
  const MeshBvh& bvh;
  const Vec3& p;
  MeshPoint best;
  double best2;

  void visit(int i) {
    const MeshBvh::Node& node = bvh.nodes[i];
    if (node.count > 0) {
      for (int k = node.first; k < node.first + node.count; ++k) {
        const int t = bvh.order[k];
        TriangleFeature feature;
        const Vec3 q =
            closest_point_on_triangle(p, bvh.vertex(t, 0), bvh.vertex(t, 1), bvh.vertex(t, 2), &feature);
        const double d2 = (p - q).squaredNorm();
        if (d2 < best2 || (d2 == best2 && (best.triangle < 0 || t < best.triangle))) {
          best2 = d2;
          best.triangle = t;
          best.feature = feature;
          best.point = q;
        }
      }
      return;
    }
    int near = i + 1, far = bvh.nodes[i + 1].skip;
    double d_near = squared_distance(bvh.nodes[near].box, p), d_far = squared_distance(bvh.nodes[far].box, p);
    if (d_far < d_near) {
      std::swap(near, far);
      std::swap(d_near, d_far);
    }
    if (d_near <= best2) visit(near);
    if (d_far <= best2) visit(far);
  }
};

bool ray_hits_box(const Aabb& box, const Vec3& origin, const Vec3& inverse, double max_t) {
  double t0 = 0, t1 = max_t;
  for (int k = 0; k < 3; ++k) {
    if (std::isinf(inverse[k])) {
      if (origin[k] < box.lower[k] || origin[k] > box.upper[k]) return false;
      continue;
    }
    const double a = (box.lower[k] - origin[k]) * inverse[k], b = (box.upper[k] - origin[k]) * inverse[k];
    t0 = std::max(t0, std::min(a, b));
    t1 = std::min(t1, std::max(a, b));
  }
  return t0 <= t1 * (1 + 1e-14);
}

}  // namespace

Vec3 closest_point_on_triangle(const Vec3& p, const Vec3& a, const Vec3& b, const Vec3& c,
                               TriangleFeature* feature) {
  using enum TriangleFeature;
  const Vec3 ab = b - a, ac = c - a, ap = p - a, bp = p - b, cp = p - c;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap), d3 = ab.dot(bp), d4 = ac.dot(bp), d5 = ab.dot(cp),
               d6 = ac.dot(cp);
  if (d1 <= 0 && d2 <= 0) return *feature = vertex_0, a;
  if (d3 >= 0 && d4 <= d3) return *feature = vertex_1, b;
  if (d6 >= 0 && d5 <= d6) return *feature = vertex_2, c;
  const double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
  if (vc <= 0 && d1 >= 0 && d3 <= 0 && d1 > d3) return *feature = edge_0, a + d1 / (d1 - d3) * ab;
  if (vb <= 0 && d2 >= 0 && d6 <= 0 && d2 > d6) return *feature = edge_2, a + d2 / (d2 - d6) * ac;
  const double e4 = d4 - d3, e5 = d5 - d6;
  if (va <= 0 && e4 >= 0 && e5 >= 0 && e4 + e5 > 0) return *feature = edge_1, b + e4 / (e4 + e5) * (c - b);
  const double sum = va + vb + vc;
  if (sum > 0) return *feature = face, a + vb / sum * ab + vc / sum * ac;
  // No area: the nearest of the three sides.
  const Vec3 corner[3] = {a, b, c};
  Vec3 best = a;
  double best2 = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 3; ++k) {
    const Vec3 e = corner[(k + 1) % 3] - corner[k];
    const double ee = e.squaredNorm();
    const double t = ee > 0 ? std::clamp(e.dot(p - corner[k]) / ee, 0.0, 1.0) : 0;
    const Vec3 q = corner[k] + t * e;
    if ((q - p).squaredNorm() < best2) {
      best2 = (q - p).squaredNorm();
      best = q;
      *feature = static_cast<TriangleFeature>(1 + k);
    }
  }
  return best;
}

MeshBvh make_mesh_bvh(std::shared_ptr<const TriangleMesh> mesh) {
  if (!mesh || mesh->triangles.empty()) {
    throw InputError({}, "the mesh has no triangles", "give a mesh with at least one triangle");
  }
  const int num_vertices = static_cast<int>(mesh->vertices.size());
  for (size_t v = 0; v < mesh->vertices.size(); ++v) {
    if (!mesh->vertices[v].allFinite()) {
      throw InputError({}, fmt::format("vertex {} of the mesh has a coordinate that is not finite", v));
    }
  }
  for (size_t t = 0; t < mesh->triangles.size(); ++t) {
    for (int i : mesh->triangles[t]) {
      if (i < 0 || i >= num_vertices) {
        throw InputError({},
                         fmt::format("triangle {} of the mesh names vertex {} of {}", t, i, num_vertices));
      }
    }
  }
  MeshBvh bvh;
  bvh.mesh = std::move(mesh);
  const int n = static_cast<int>(bvh.mesh->triangles.size());
  Builder builder{bvh, {}, {}};
  builder.box.resize(n);
  builder.centroid.resize(n);
  bvh.order.resize(n);
  for (int t = 0; t < n; ++t) {
    for (int k = 0; k < 3; ++k) include(builder.box[t], bvh.vertex(t, k));
    builder.centroid[t] = (builder.box[t].lower + builder.box[t].upper) / 2;
    bvh.order[t] = t;
  }
  bvh.nodes.reserve(n);
  builder.build(0, n);
  make_adjacency(&bvh);
  return bvh;
}

TriangleMesh height_field_mesh(const HeightField& field) {
  const size_t count =
      static_cast<size_t>(std::max(0, field.rows)) * static_cast<size_t>(std::max(0, field.columns));
  if (field.rows < 2 || field.columns < 2 || !field.height || field.height->size() != count) {
    throw InputError({},
                     fmt::format("the height field has {} rows, {} columns and {} heights", field.rows,
                                 field.columns, field.height ? field.height->size() : 0),
                     "give at least 2 rows, 2 columns and rows * columns heights");
  }
  if (!(field.half_size.x() > 0) || !(field.half_size.y() > 0)) {
    throw InputError(
        {}, fmt::format("the height field has half size {} x {} m", field.half_size.x(), field.half_size.y()),
        "give sizes above 0");
  }
  TriangleMesh mesh;
  mesh.vertices.reserve(count);
  for (int r = 0; r < field.rows; ++r) {
    for (int c = 0; c < field.columns; ++c) {
      mesh.vertices.push_back({field.half_size.x() * (2.0 * c / (field.columns - 1) - 1),
                               field.half_size.y() * (2.0 * r / (field.rows - 1) - 1),
                               (*field.height)[static_cast<size_t>(r) * field.columns + c]});
    }
  }
  mesh.triangles.reserve(2 * count);
  for (int r = 0; r + 1 < field.rows; ++r) {
    for (int c = 0; c + 1 < field.columns; ++c) {
      const int i = r * field.columns + c, j = i + field.columns;
      mesh.triangles.push_back({i, i + 1, j + 1});
      mesh.triangles.push_back({i, j + 1, j});
    }
  }
  return mesh;
}

MeshBvh make_height_field_bvh(const HeightField& field) {
  MeshBvh bvh = make_mesh_bvh(std::make_shared<const TriangleMesh>(height_field_mesh(field)));
  bvh.solid = true;
  // At least one cell deep, so that a thin field too pushes out what has sunk below it.
  const double cell =
      2 * std::max(field.half_size.x() / (field.columns - 1), field.half_size.y() / (field.rows - 1));
  bvh.base = std::max(field.base, cell - bvh.nodes[0].box.lower.z());
  return bvh;
}

MeshPoint closest_point(const MeshBvh& bvh, const Vec3& p, double max_distance) {
  ClosestSearch search{bvh, p, {}, max_distance * max_distance};
  if (squared_distance(bvh.nodes[0].box, p) <= search.best2) search.visit(0);
  if (search.best.triangle >= 0) search.best.distance = std::sqrt(search.best2);
  return search.best;
}

Vec3 feature_normal(const MeshBvh& bvh, int triangle, TriangleFeature feature) {
  const int f = static_cast<int>(feature);
  Vec3 n = bvh.face_normal[triangle];
  if (f >= 4) {
    n = bvh.vertex_normal[bvh.mesh->triangles[triangle][f - 4]];
  } else if (f >= 1 && bvh.neighbour[triangle][f - 1] >= 0) {
    n += bvh.face_normal[bvh.neighbour[triangle][f - 1]];
  }
  const double norm = n.norm();
  return norm > 1e-12 ? Vec3(n / norm) : bvh.face_normal[triangle];
}

MeshPoint closest_point_signed(const MeshBvh& bvh, const Vec3& p) {
  MeshPoint q = closest_point(bvh, p);
  if ((p - q.point).dot(feature_normal(bvh, q.triangle, q.feature)) < 0) q.distance = -q.distance;
  return q;
}

bool ray_cast(const MeshBvh& bvh, const Vec3& origin, const Vec3& direction, double max_t, MeshRayHit* hit) {
  const Vec3 inverse = direction.cwiseInverse();
  hit->triangle = -1;
  double best = max_t;
  const int end = static_cast<int>(bvh.nodes.size());
  for (int i = 0; i < end;) {
    const MeshBvh::Node& node = bvh.nodes[i];
    if (!ray_hits_box(node.box, origin, inverse, best)) {
      i = node.skip;
      continue;
    }
    for (int k = node.first; k < node.first + node.count; ++k) {
      const int t = bvh.order[k];
      // Moller and Trumbore; sides inclusive, so that a ray through an edge hits one of its triangles.
      const Vec3 &a = bvh.vertex(t, 0), e1 = bvh.vertex(t, 1) - a, e2 = bvh.vertex(t, 2) - a;
      const Vec3 q = cross(direction, e2);
      const double det = e1.dot(q);
      if (det == 0) continue;
      const Vec3 s = origin - a, r = cross(s, e1);
      const double u = s.dot(q) / det, v = direction.dot(r) / det, at = e2.dot(r) / det;
      constexpr double slack = 1e-12;
      if (u < -slack || v < -slack || u + v > 1 + slack || at < 0 || at > best) continue;
      if (at < best || hit->triangle < 0 || t < hit->triangle) {
        best = at;
        hit->triangle = t;
      }
    }
    ++i;
  }
  hit->t = best;
  return hit->triangle >= 0;
}

}  // namespace capstan
