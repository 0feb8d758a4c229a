#include "capstan/geometry/tet_mesh.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace capstan {
namespace {

// Vertices of a grid of cells over [-1, 1]^3; index of vertex (i, j, k).
struct Grid {
  std::array<int, 3> cells;
  int index(int i, int j, int k) const { return i + (cells[0] + 1) * (j + (cells[1] + 1) * k); }
  std::vector<Vec3> vertices() const {
    std::vector<Vec3> list;
    for (int k = 0; k <= cells[2]; ++k) {
      for (int j = 0; j <= cells[1]; ++j) {
        for (int i = 0; i <= cells[0]; ++i)
          list.push_back({2.0 * i / cells[0] - 1, 2.0 * j / cells[1] - 1, 2.0 * k / cells[2] - 1});
      }
    }
    return list;
  }
  template <class F>
  void each_cell(const F& f) const {
    for (int k = 0; k < cells[2]; ++k) {
      for (int j = 0; j < cells[1]; ++j) {
        for (int i = 0; i < cells[0]; ++i) f(i, j, k);
      }
    }
  }
};

// Six tets about the diagonal of each cell that points away from the middle, so that none is flat once the
// corners are pushed in. Along directions with an odd number of cells there is no middle; diagonals all point
// the same way there.
void add_six(const Grid& grid, TetMesh* mesh) {
  constexpr std::array<std::array<int, 3>, 6> kOrders = {
      {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}}};
  grid.each_cell([&](int i, int j, int k) {
    const int at[3] = {i, j, k};
    std::array<int, 3> from, step;
    for (int d = 0; d < 3; ++d) {
      const bool back = grid.cells[d] % 2 == 0 && 2 * at[d] < grid.cells[d];
      from[d] = at[d] + (back ? 1 : 0);
      step[d] = back ? -1 : 1;
    }
    for (const auto& order : kOrders) {
      std::array<int, 4> tet;
      std::array<int, 3> p = from;
      tet[0] = grid.index(p[0], p[1], p[2]);
      for (int n = 0; n < 3; ++n) {
        p[order[n]] += step[order[n]];
        tet[n + 1] = grid.index(p[0], p[1], p[2]);
      }
      mesh->tets.push_back(tet);
    }
  });
}

int even(int n) {
  return std::max(2, n + n % 2);
}

// The order of vertices that makes the volume positive.
void turn(TetMesh* mesh) {
  for (std::size_t t = 0; t < mesh->tets.size(); ++t) {
    if (tet_volume(*mesh, static_cast<int>(t)) < 0) std::swap(mesh->tets[t][2], mesh->tets[t][3]);
  }
}

}  // namespace

double tet_volume(const TetMesh& mesh, int tet) {
  const auto& t = mesh.tets[tet];
  const Vec3 &o = mesh.vertices[t[0]], a = mesh.vertices[t[1]] - o, b = mesh.vertices[t[2]] - o,
             c = mesh.vertices[t[3]] - o;
  return a.dot(cross(b, c)) / 6;
}

TetMesh make_box_tets(const Vec3& size, const std::array<int, 3>& cells) {
  const Grid grid{{std::max(1, cells[0]), std::max(1, cells[1]), std::max(1, cells[2])}};
  TetMesh mesh;
  mesh.vertices = grid.vertices();
  for (Vec3& x : mesh.vertices) x = 0.5 * size.cwiseProduct(x);
  grid.each_cell([&](int i, int j, int k) {
    // Corner c is at (i, j, k) + its bits; the middle tet has those of even parity, or of odd.
    const auto corner = [&](int c) {
      return grid.index(i + (c & 1), j + ((c >> 1) & 1), k + ((c >> 2) & 1));
    };
    const bool odd = (i + j + k) % 2 != 0;
    constexpr int kTets[2][5][4] = {{{0, 3, 5, 6}, {1, 0, 3, 5}, {2, 0, 3, 6}, {4, 0, 5, 6}, {7, 3, 5, 6}},
                                    {{1, 2, 4, 7}, {0, 1, 2, 4}, {3, 1, 2, 7}, {5, 1, 4, 7}, {6, 2, 4, 7}}};
    for (const auto& tet : kTets[odd ? 1 : 0])
      mesh.tets.push_back({corner(tet[0]), corner(tet[1]), corner(tet[2]), corner(tet[3])});
  });
  turn(&mesh);
  return mesh;
}

TetMesh make_cylinder_tets(double radius, double length, int across, int along) {
  const Grid grid{{even(across), even(across), even(along)}};
  TetMesh mesh;
  mesh.vertices = grid.vertices();
  for (Vec3& x : mesh.vertices) {
    const double r = x.head<2>().norm(), side = x.head<2>().cwiseAbs().maxCoeff();
    x.head<2>() *= r > 0 ? radius * side / r : 0;
    x.z() *= 0.5 * length;
  }
  add_six(grid, &mesh);
  turn(&mesh);
  return mesh;
}

TetMesh make_ball_tets(double radius, int across) {
  const Grid grid{{even(across), even(across), even(across)}};
  TetMesh mesh;
  mesh.vertices = grid.vertices();
  for (Vec3& x : mesh.vertices) {
    const double r = x.norm();
    x *= r > 0 ? radius * x.cwiseAbs().maxCoeff() / r : 0;
  }
  add_six(grid, &mesh);
  turn(&mesh);
  return mesh;
}

TetMesh make_shell_tets(double radius, double inner_radius, int across, int layers) {
  const int half = std::max(2, even(across) / 2), kept = std::clamp(layers, 1, half - 1);
  const Grid grid{{2 * half, 2 * half, 2 * half}};
  const double hole = 1 - static_cast<double>(kept) / half;
  TetMesh mesh;
  mesh.vertices = grid.vertices();
  std::vector<char> is_inside;
  for (Vec3& x : mesh.vertices) {
    const double r = x.norm(), side = x.cwiseAbs().maxCoeff();
    is_inside.push_back(side < hole + 1e-9);
    x *= r > 0 ? (inner_radius + (radius - inner_radius) * (side - hole) / (1 - hole)) / r : 0;
  }
  add_six(grid, &mesh);
  std::erase_if(mesh.tets, [&](const std::array<int, 4>& tet) {
    return std::all_of(tet.begin(), tet.end(), [&](int v) { return is_inside[v] != 0; });
  });
  turn(&mesh);
  return cleaned(mesh);
}

namespace {

constexpr int kFaces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};  // outward

}  // namespace

std::vector<std::array<int, 3>> surface_of(const TetMesh& mesh) {
  std::map<std::array<int, 3>, std::pair<std::array<int, 3>, int>> faces;
  for (const auto& tet : mesh.tets) {
    for (const auto& f : kFaces) {
      const std::array<int, 3> face = {tet[f[0]], tet[f[1]], tet[f[2]]};
      std::array<int, 3> key = face;
      std::sort(key.begin(), key.end());
      auto& entry = faces[key];
      entry.first = face;
      ++entry.second;
    }
  }
  std::vector<std::array<int, 3>> surface;
  for (const auto& [key, face] : faces) {
    if (face.second == 1) surface.push_back(face.first);
  }
  return surface;
}

std::array<int, 2> find_doubled_tets(const TetMesh& mesh) {
  std::map<std::array<int, 3>, int> tet_of;  // by face, which begins with its lowest vertex
  for (int t = 0; t < static_cast<int>(mesh.tets.size()); ++t) {
    const bool is_inverted = tet_volume(mesh, t) < 0;
    for (const auto& f : kFaces) {
      std::array<int, 3> face;
      for (int k = 0; k < 3; ++k) face[k] = mesh.tets[t][f[is_inverted ? 2 - k : k]];
      std::rotate(face.begin(), std::min_element(face.begin(), face.end()), face.end());
      const auto [place, is_new] = tet_of.emplace(face, t);
      if (!is_new && place->second != t) return {place->second, t};
    }
  }
  return {-1, -1};
}

int find_unused_vertex(const TetMesh& mesh) {
  std::vector<char> is_used(mesh.vertices.size());
  for (const auto& tet : mesh.tets) {
    for (const int v : tet) is_used[v] = 1;
  }
  const auto unused = std::find(is_used.begin(), is_used.end(), 0);
  return unused == is_used.end() ? -1 : static_cast<int>(unused - is_used.begin());
}

TetMesh cleaned(const TetMesh& mesh) {
  TetMesh clean;
  std::vector<int> number(mesh.vertices.size(), -1);
  for (const auto& tet : mesh.tets) {
    for (const int v : tet) number[v] = 0;
  }
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (number[v] < 0) continue;
    number[v] = static_cast<int>(clean.vertices.size());
    clean.vertices.push_back(mesh.vertices[v]);
  }
  for (const auto& tet : mesh.tets)
    clean.tets.push_back({number[tet[0]], number[tet[1]], number[tet[2]], number[tet[3]]});
  turn(&clean);
  return clean;
}

double tet_quality(const TetMesh& mesh, int tet) {
  const auto& t = mesh.tets[tet];
  double squares = 0;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < a; ++b) squares += (mesh.vertices[t[a]] - mesh.vertices[t[b]]).squaredNorm();
  }
  const double edge = std::sqrt(squares / 6);
  return edge > 0 ? std::sqrt(72.0) * tet_volume(mesh, tet) / (edge * edge * edge) : 0;
}

TetMeshQuality examine_tets(const TetMesh& mesh) {
  TetMeshQuality found;
  double sum = 0;
  for (int t = 0; t < static_cast<int>(mesh.tets.size()); ++t) {
    const double quality = tet_quality(mesh, t);
    sum += quality;
    if (found.worst_tet < 0 || !(quality >= found.worst)) {
      found.worst = quality;
      found.worst_tet = t;
    }
  }
  if (!mesh.tets.empty()) found.mean = sum / static_cast<double>(mesh.tets.size());
  return found;
}

}  // namespace capstan
