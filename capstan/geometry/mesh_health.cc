#include "capstan/geometry/mesh_health.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace capstan {
namespace {

bool is_degenerate(const TriangleMesh& mesh, const std::array<int, 3>& t) {
  if (t[0] == t[1] || t[1] == t[2] || t[2] == t[0]) return true;
  const Vec3 &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
  const double longest2 = std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
  return !(cross(b - a, c - a).norm() > 1e-14 * longest2);
}

// Vertices in the order of their coordinates, then of their index.
std::vector<int> sorted_vertices(const TriangleMesh& mesh) {
  std::vector<int> order(mesh.vertices.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::sort(order.begin(), order.end(), [&](int i, int j) {
    const Vec3 &a = mesh.vertices[i], &b = mesh.vertices[j];
    for (int k = 0; k < 3; ++k) {
      if (a[k] != b[k]) return a[k] < b[k];
    }
    return i < j;
  });
  return order;
}

std::array<int, 3> sorted(std::array<int, 3> t) {
  std::sort(t.begin(), t.end());
  return t;
}

void count_edges(const TriangleMesh& mesh, MeshFindings* f) {
  struct Edge {
    int low, high;
    bool forward;
  };
  std::vector<Edge> edges;
  edges.reserve(3 * mesh.triangles.size());
  for (const auto& t : mesh.triangles) {
    for (int k = 0; k < 3; ++k) {
      const int a = t[k], b = t[(k + 1) % 3];
      if (a != b) edges.push_back({std::min(a, b), std::max(a, b), a < b});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.low != b.low ? a.low < b.low : a.high != b.high ? a.high < b.high : a.forward < b.forward;
  });
  for (size_t i = 0; i < edges.size();) {
    size_t j = i;
    while (j < edges.size() && edges[j].low == edges[i].low && edges[j].high == edges[i].high) ++j;
    if (j - i == 1) ++f->open_edges;
    if (j - i == 2 && edges[i].forward == edges[i + 1].forward) ++f->clashing_edges;
    if (j - i > 2) ++f->crowded_edges;
    i = j;
  }
}

}  // namespace

MeshFindings examine_mesh(const TriangleMesh& mesh) {
  MeshFindings f;
  f.vertices = static_cast<long>(mesh.vertices.size());
  f.triangles = static_cast<long>(mesh.triangles.size());
  if (f.empty() || f.too_large()) return f;
  for (const Vec3& v : mesh.vertices) f.non_finite_vertices += !v.allFinite();
  for (const auto& t : mesh.triangles) {
    f.bad_indices += std::any_of(t.begin(), t.end(), [&](int i) { return i < 0 || i >= f.vertices; });
  }
  if (!f.usable()) return f;

  std::vector<std::array<int, 3>> keys;
  keys.reserve(mesh.triangles.size());
  for (const auto& t : mesh.triangles) {
    f.degenerate_triangles += is_degenerate(mesh, t);
    keys.push_back(sorted(t));
  }
  std::sort(keys.begin(), keys.end());
  for (size_t i = 1; i < keys.size(); ++i) f.duplicate_triangles += keys[i] == keys[i - 1];
  const std::vector<int> order = sorted_vertices(mesh);
  for (size_t i = 1; i < order.size(); ++i) {
    f.duplicate_vertices += mesh.vertices[order[i]] == mesh.vertices[order[i - 1]];
  }
  count_edges(mesh, &f);
  if (f.closed()) f.volume = volume_properties(mesh).volume;
  return f;
}

void report_findings(const MeshFindings& f, const std::string& name, const Source& where, bool solid,
                     Diagnostics* diagnostics) {
  const auto say = [&](bool is_error, std::string what, std::string remedy) {
    what = fmt::format("mesh '{}' {}", name, what);
    if (is_error) {
      diagnostics->error(where, what, remedy);
    } else {
      diagnostics->warning(where, what, remedy);
    }
  };
  if (f.empty()) say(true, "has no triangles", "give a mesh with at least one triangle");
  if (f.too_large()) {
    say(true, fmt::format("has {} triangles, the limit is {}", f.triangles, kMaxMeshTriangles),
        "simplify the mesh");
  }
  if (f.non_finite_vertices > 0) {
    say(true, fmt::format("has {} vertices with a coordinate that is not finite", f.non_finite_vertices),
        "export it anew");
  }
  if (f.bad_indices > 0) {
    say(true, fmt::format("has {} triangles that name a vertex beyond its {}", f.bad_indices, f.vertices),
        "export it anew");
  }
  if (f.degenerate_triangles > 0) {
    say(false, fmt::format("has {} triangles without area", f.degenerate_triangles), "remove them");
  }
  if (f.duplicate_vertices > 0) {
    say(false, fmt::format("has {} vertices at the place of another", f.duplicate_vertices), "merge them");
  }
  if (f.duplicate_triangles > 0) {
    say(false, fmt::format("has {} triangles that repeat another", f.duplicate_triangles), "remove them");
  }
  if (f.open_edges > 0)
    say(solid, fmt::format("is open: {} edges have one triangle only", f.open_edges), "close its holes");
  if (f.clashing_edges > 0) {
    say(solid, fmt::format("has {} edges where two triangles turn opposite ways", f.clashing_edges),
        "turn all triangles counter-clockwise seen from outside");
  }
  if (f.crowded_edges > 0) {
    say(solid, fmt::format("has {} edges with three or more triangles", f.crowded_edges),
        "separate the parts that share an edge");
  }
  if (f.inverted()) {
    say(solid, fmt::format("is inside out: its volume is {} m^3", f.volume),
        "turn its triangles counter-clockwise seen from outside");
  }
}

TriangleMesh repair_mesh(const TriangleMesh& mesh, const std::string& name, const Source& where,
                         Diagnostics* diagnostics) {
  const MeshFindings before = examine_mesh(mesh);
  if (!before.usable()) {
    report_findings(before, name, where, false, diagnostics);
    return {};
  }
  const auto warn = [&](std::string what) {
    diagnostics->warning(where, fmt::format("mesh '{}': {}", name, what));
  };

  // The first vertex at a place stands for all there.
  std::vector<int> first(mesh.vertices.size());
  const std::vector<int> order = sorted_vertices(mesh);
  for (size_t i = 0; i < order.size(); ++i) {
    const bool same = i > 0 && mesh.vertices[order[i]] == mesh.vertices[order[i - 1]];
    first[order[i]] = same ? first[order[i - 1]] : order[i];
  }
  TriangleMesh repaired;
  std::vector<int> index(mesh.vertices.size(), -1);
  std::vector<std::array<int, 3>> kept;
  long dropped = 0;
  for (auto t : mesh.triangles) {
    for (int& i : t) i = first[i];
    if (is_degenerate(mesh, t)) {
      ++dropped;
    } else {
      kept.push_back(t);
    }
  }
  std::vector<std::pair<std::array<int, 3>, int>> keys;
  for (size_t i = 0; i < kept.size(); ++i) keys.push_back({sorted(kept[i]), static_cast<int>(i)});
  std::sort(keys.begin(), keys.end());
  std::vector<bool> repeats(kept.size());
  long repeated = 0;
  for (size_t i = 1; i < keys.size(); ++i) {
    // Only an exact repetition is safe to drop: the same triangle turned around is the other side of a sheet.
    const auto &a = kept[keys[i].second], &b = kept[keys[i - 1].second];
    const bool same_turn = a == b || a == std::array{b[1], b[2], b[0]} || a == std::array{b[2], b[0], b[1]};
    if (keys[i].first == keys[i - 1].first && same_turn) {
      repeats[keys[i].second] = true;
      ++repeated;
    }
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    if (repeats[i]) continue;
    for (int& v : kept[i]) {
      if (index[v] < 0) {
        index[v] = static_cast<int>(repaired.vertices.size());
        repaired.vertices.push_back(mesh.vertices[v]);
      }
      v = index[v];
    }
    repaired.triangles.push_back(kept[i]);
  }
  if (before.duplicate_vertices > 0)
    warn(fmt::format("merged {} vertices at the place of another", before.duplicate_vertices));
  if (dropped > 0) warn(fmt::format("dropped {} triangles without area", dropped));
  if (repeated > 0) warn(fmt::format("dropped {} triangles that repeat another", repeated));
  if (repaired.triangles.empty()) {
    diagnostics->error(where, fmt::format("mesh '{}' has no triangle with an area", name), "export it anew");
    return {};
  }
  if (examine_mesh(repaired).inverted()) {
    for (auto& t : repaired.triangles) std::swap(t[1], t[2]);
    warn("was inside out, turned its triangles around");
  }
  return repaired;
}

}  // namespace capstan
