// Convex hulls by Qhull (Barber, Dobkin and Huhdanpaa 1996), its reentrant library.
#include "capstan/geometry/convex_hull.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "capstan/base/diagnostics.h"

extern "C" {
#include <libqhull_r/qhull_ra.h>
}

namespace capstan {
namespace {

// Qhull's state, freed in every case. Its messages go to a temporary file.
struct Qhull {
  qhT qh;
  FILE* messages = std::tmpfile();
  Qhull() { qh_zero(&qh, messages); }
  ~Qhull() {
    qh.NOerrexit = True;
    qh_freeqhull(&qh, !qh_ALL);
    int long_count = 0, long_size = 0;
    qh_memfreeshort(&qh, &long_count, &long_size);
    if (messages) std::fclose(messages);
  }
  std::string first_message() const {
    if (!messages) return "";
    std::rewind(messages);
    char line[256] = {};
    if (!std::fgets(line, sizeof line, messages)) return "";
    std::string text = line;
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    return text;
  }
};

// Three numbers that say how far the points spread: length, then across it, then out of that plane.
struct Spread {
  double length = 0, width = 0, thickness = 0;
};
Spread measure_spread(const std::vector<Vec3>& points) {
  Spread s;
  const Vec3& a = points[0];
  size_t far = 0, off = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if ((points[i] - a).norm() > s.length) s.length = (points[i] - a).norm(), far = i;
  }
  if (s.length == 0) return s;
  const Vec3 u = (points[far] - a) / s.length;
  for (size_t i = 0; i < points.size(); ++i) {
    const double w = cross(u, points[i] - a).norm();
    if (w > s.width) s.width = w, off = i;
  }
  if (s.width == 0) return s;
  const Vec3 n = cross(u, points[off] - a).normalized();
  double low = 0, high = 0;
  for (const Vec3& p : points) {
    low = std::min(low, n.dot(p - a));
    high = std::max(high, n.dot(p - a));
  }
  s.thickness = high - low;
  return s;
}

struct RawFacet {
  std::vector<int> points;  // of the input
  std::vector<int> neighbours;
};

// Facets of the hull, triangulated so that their topology is beyond doubt.
std::vector<RawFacet> run_qhull(const std::vector<Vec3>& points) {
  std::vector<coordT> coordinates;
  coordinates.reserve(3 * points.size());
  for (const Vec3& p : points) coordinates.insert(coordinates.end(), p.data(), p.data() + 3);
  Qhull q;
  char command[] = "qhull Qt Pp";
  const int code = qh_new_qhull(&q.qh, 3, static_cast<int>(points.size()), coordinates.data(), False, command,
                                nullptr, q.messages);
  if (code != 0) {
    throw InputError(
        {}, fmt::format("Qhull cannot make a convex hull of {} points: {}", points.size(), q.first_message()),
        "give points that span a volume");
  }
  qhT* qh = &q.qh;
  std::vector<RawFacet> facets;
  std::map<unsigned, int> index;
  facetT* facet;
  FORALLfacets {
    index[facet->id] = static_cast<int>(index.size());
  }
  FORALLfacets {
    RawFacet raw;
    vertexT *vertex, **vertexp;
    FOREACHvertex_(facet->vertices) {
      raw.points.push_back(qh_pointid(qh, vertex->point));
    }
    facetT *neighbor, **neighborp;
    FOREACHneighbor_(facet) {
      raw.neighbours.push_back(index.at(neighbor->id));
    }
    facets.push_back(std::move(raw));
  }
  return facets;
}

// The normal and area of a triangle turned outward.
Vec3 outward_area(const std::vector<Vec3>& points, std::array<int, 3>* t, const Vec3& inside) {
  Vec3 area = cross(points[(*t)[1]] - points[(*t)[0]], points[(*t)[2]] - points[(*t)[0]]) / 2;
  if (area.dot(points[(*t)[0]] - inside) < 0) {
    std::swap((*t)[1], (*t)[2]);
    area = -area;
  }
  return area;
}

}  // namespace

void complete_adjacency(ConvexHull* hull) {
  const int num_vertices = static_cast<int>(hull->vertices.size()),
            num_faces = static_cast<int>(hull->faces.size());
  std::map<std::array<int, 2>, std::array<int, 2>> edges;
  std::vector<std::vector<int>> joined(num_vertices), faces(num_vertices);
  for (int f = 0; f < num_faces; ++f) {
    const auto loop = hull->face_loop(f);
    for (size_t k = 0; k < loop.size(); ++k) {
      const int a = loop[k], b = loop[(k + 1) % loop.size()];
      faces[a].push_back(f);
      joined[a].push_back(b);
      joined[b].push_back(a);
      auto [it, is_new] = edges.try_emplace({std::min(a, b), std::max(a, b)}, std::array<int, 2>{f, f});
      if (!is_new) it->second[1] = f;
    }
  }
  hull->edges.clear();
  for (const auto& [vertex, face] : edges) hull->edges.push_back({vertex, face});
  const auto flatten = [](std::vector<std::vector<int>>& lists, std::vector<int>* first,
                          std::vector<int>* all) {
    first->assign(1, 0);
    all->clear();
    for (auto& list : lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      all->insert(all->end(), list.begin(), list.end());
      first->push_back(static_cast<int>(all->size()));
    }
  };
  flatten(joined, &hull->first_neighbour, &hull->neighbour);
  flatten(faces, &hull->first_face, &hull->vertex_face);
  hull->interior.setZero();
  for (const Vec3& v : hull->vertices) hull->interior += v / num_vertices;
}

ConvexHull make_convex_hull(const std::vector<Vec3>& points, double angle_tolerance) {
  if (points.empty())
    throw InputError({}, "a convex hull needs points but got none", "give at least 4 points");
  for (size_t i = 0; i < points.size(); ++i) {
    if (!points[i].allFinite()) {
      throw InputError({}, fmt::format("point {} of the convex hull has a coordinate that is not finite", i));
    }
  }
  const Spread spread = measure_spread(points);
  const double flat = 1e-9 * spread.length;
  if (spread.length == 0) {
    throw InputError({}, fmt::format("all {} points of the convex hull coincide", points.size()),
                     "use a sphere");
  }
  if (spread.width <= flat) {
    throw InputError(
        {},
        fmt::format("the {} points of the convex hull lie on a line of {} m", points.size(), spread.length),
        "use a capsule");
  }
  if (spread.thickness <= flat) {
    throw InputError(
        {},
        fmt::format("the {} points of the convex hull lie in a plane (thickness {} m, length {} m)",
                    points.size(), spread.thickness, spread.length),
        "give the shape a thickness, or use a thin box");
  }

  const auto fail = [&] {
    throw InputError({}, fmt::format("Qhull gives no clean convex hull of {} points", points.size()),
                     "remove points that nearly coincide");
  };
  std::vector<RawFacet> facets = run_qhull(points);
  Vec3 inside = Vec3::Zero();
  for (const RawFacet& f : facets) {
    for (int p : f.points) inside += points[p] / (3.0 * static_cast<double>(facets.size()));
  }
  const int n = static_cast<int>(facets.size());
  std::vector<std::array<int, 3>> triangle(n);
  std::vector<Vec3> area(n);
  for (int f = 0; f < n; ++f) {
    if (facets[f].points.size() != 3) fail();
    triangle[f] = {facets[f].points[0], facets[f].points[1], facets[f].points[2]};
    area[f] = outward_area(points, &triangle[f], inside);
  }

  // Merge from the largest facet outward: a neighbour joins when all its points lie in the plane of the
  // largest. Slivers, whose own normal is noise, join by their points alone.
  std::vector<int> by_area(n), group(n, -1);
  for (int f = 0; f < n; ++f) by_area[f] = f;
  std::sort(by_area.begin(), by_area.end(), [&](int a, int b) {
    const double x = area[a].squaredNorm(), y = area[b].squaredNorm();
    return x > y || (x == y && a < b);
  });
  const double plane_tolerance = std::max(1e-12 * spread.length, 0.1 * angle_tolerance * spread.length);
  std::vector<Vec3> group_area;
  std::vector<int> stack;
  for (const int seed : by_area) {
    if (group[seed] >= 0) continue;
    const int g = static_cast<int>(group_area.size());
    group_area.push_back(area[seed]);
    const Vec3 normal = area[seed].normalized();
    const double offset = normal.dot(points[triangle[seed][0]]);
    group[seed] = g;
    stack.assign(1, seed);
    while (!stack.empty()) {
      const int f = stack.back();
      stack.pop_back();
      for (const int other : facets[f].neighbours) {
        if (group[other] >= 0) continue;
        const double size = std::sqrt(area[other].norm());
        const bool same_way =
            normal.dot(area[other]) >= std::cos(angle_tolerance) * area[other].norm() - 1e-15 ||
            size < 1e-3 * spread.width;
        bool in_plane = normal.dot(area[other]) >= 0;
        for (int p : triangle[other]) in_plane &= std::abs(normal.dot(points[p]) - offset) <= plane_tolerance;
        if (!same_way || !in_plane) continue;
        group[other] = g;
        group_area[g] += area[other];
        stack.push_back(other);
      }
    }
  }

  // The border of each group is its loop: directed edges without an opposite in the same group.
  ConvexHull hull;
  std::map<int, int> vertex_of;
  std::vector<std::map<int, int>> next(group_area.size());
  std::map<std::array<int, 2>, int> owner;
  for (int f = 0; f < n; ++f) {
    for (int k = 0; k < 3; ++k) owner[{triangle[f][k], triangle[f][(k + 1) % 3]}] = group[f];
  }
  for (const auto& [edge, g] : owner) {
    const auto opposite = owner.find({edge[1], edge[0]});
    if (opposite == owner.end()) fail();
    if (opposite->second != g) next[g][edge[0]] = edge[1];
  }
  // A vertex inside a straight side belongs to two faces only and bounds nothing; three or more keep it.
  std::map<int, int> faces_at;
  for (const auto& m : next) {
    for (const auto& [a, b] : m) ++faces_at[a];
  }
  for (size_t g = 0; g < next.size(); ++g) {
    std::vector<int> loop;
    const int start = next[g].begin()->first;
    int at = start;
    do {
      if (faces_at[at] >= 3) loop.push_back(at);
      const auto step = next[g].find(at);
      if (step == next[g].end()) fail();
      at = step->second;
    } while (at != start && loop.size() <= next[g].size());
    if (loop.size() < 3) continue;
    ConvexHull::Face face;
    face.normal = group_area[g].normalized();
    face.first = static_cast<int>(hull.loop.size());
    face.count = static_cast<int>(loop.size());
    face.offset = -std::numeric_limits<double>::infinity();
    for (int p : loop) {
      face.offset = std::max(face.offset, face.normal.dot(points[p]));
      const auto [it, is_new] = vertex_of.try_emplace(p, static_cast<int>(hull.vertices.size()));
      if (is_new) hull.vertices.push_back(points[p]);
      hull.loop.push_back(it->second);
    }
    hull.faces.push_back(face);
  }
  if (hull.vertices.size() < 4 || hull.faces.size() < 4) {  // what lies in one plane was merged: all of it
    throw InputError(
        {},
        fmt::format("the {} points of the convex hull are so flat that no solid is left (thickness {} m, "
                    "length {} m)",
                    points.size(), spread.thickness, spread.length),
        "give the shape a thickness, or use a thin box");
  }
  complete_adjacency(&hull);
  return hull;
}

}  // namespace capstan
