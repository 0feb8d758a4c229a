// Five formats become one list of corners ("soup"), which finish() turns into a TriangleMesh: scaled,
// vertices with the same coordinates merged, triangles without area dropped.
//
// Only the shape is taken: normals, texture coordinates, colours and materials are passed over.
#include "capstan/io/mesh_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "capstan/geometry/hull_mesh.h"
#include "capstan/geometry/mesh_health.h"
#include "capstan/io/file.h"
#include "capstan/io/mesh_dae.h"
#include "capstan/io/mesh_glb.h"

namespace capstan {
namespace {

struct MeshProblem {
  int line;  // of the mesh file; 0 when it has none
  std::string what, remedy;
};

struct Soup {
  std::vector<Vec3> vertices;
  std::vector<std::array<int, 3>> triangles;
  long max_triangles = 0;
  std::vector<MeshProblem> notes;  // things passed over

  void add(int a, int b, int c, int line) {
    if (static_cast<long>(triangles.size()) >= max_triangles) too_many(line);
    triangles.push_back({a, b, c});
  }
  [[noreturn]] void too_many(int line) const {
    throw MeshProblem{line, fmt::format("has more than {} triangles", max_triangles),
                      "simplify the mesh, or raise the limit (ReadLimits::max_mesh_triangles)"};
  }
};

// --- Text ------------------------------------------------------------------------------------------------

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// Lines of a text, and the words of the current one.
struct Words {
  std::string_view text, rest;
  int line = 0;

  bool next_line() {
    if (text.empty()) return false;
    const size_t end = text.find('\n');
    rest = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line;
    return true;
  }
  std::string_view next_word() {
    size_t begin = 0;
    while (begin < rest.size() && is_space(rest[begin])) ++begin;
    size_t end = begin;
    while (end < rest.size() && !is_space(rest[end])) ++end;
    const std::string_view word = rest.substr(begin, end - begin);
    rest.remove_prefix(end);
    return word;
  }
};

double parse_number(std::string_view word, int line) {
  double value = 0;
  std::string_view digits = word;
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  // Too small or too large for a double; strtod tells which: 0 (or a subnormal number), or infinity.
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(word).c_str(), nullptr);
  if ((error != std::errc() && error != std::errc::result_out_of_range) ||
      end != digits.data() + digits.size()) {
    throw MeshProblem{line,
                      word.empty() ? std::string("has a vertex with fewer than 3 coordinates")
                                   : fmt::format("has '{}' where a coordinate belongs", word.substr(0, 40)),
                      "write three numbers"};
  }
  if (!std::isfinite(value)) {
    throw MeshProblem{line, fmt::format("has the coordinate '{}'", word), "coordinates must be finite"};
  }
  return value;
}

Vec3 parse_vertex(Words* words) {
  Vec3 v;
  for (int k = 0; k < 3; ++k) v[k] = parse_number(words->next_word(), words->line);
  return v;
}

// --- OBJ -------------------------------------------------------------------------------------------------

// "7", "7/1", "7//3", "-1/2/3": the vertex of a face's corner; negative counts back from the last so far.
int parse_corner(std::string_view word, int num_vertices, int line) {
  int index = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  if (error != std::errc() || (end != word.data() + word.size() && *end != '/')) {
    throw MeshProblem{line, fmt::format("has '{}' where a vertex number belongs", word.substr(0, 40)), ""};
  }
  const int vertex = index > 0 ? index - 1 : num_vertices + index;
  if (index == 0 || vertex < 0 || vertex >= num_vertices) {
    throw MeshProblem{line, fmt::format("has a face with vertex {} of {}", index, num_vertices),
                      "vertex numbers start at 1 (or -1 for the last one) and vertices come before faces"};
  }
  return vertex;
}

// Twice the vector area of a closed polygon; its direction is the mean normal.
Vec3 vector_area(const std::vector<Vec3>& vertices, const std::vector<int>& polygon) {
  Vec3 area = Vec3::Zero();
  const Vec3& origin = vertices[polygon[0]];
  for (size_t k = 1; k + 1 < polygon.size(); ++k) {
    area += cross(vertices[polygon[k]] - origin, vertices[polygon[k + 1]] - origin);
  }
  return area;
}

// Convex polygons as a fan; others by cutting ears: a corner that turns the right way and whose triangle
// holds no other corner. Polygons above kMaxEars corners, and ones that cross themselves, get a fan, which
// bounds the same volume but may overlap itself.
constexpr size_t kMaxEars = 64;

void triangulate(Soup* soup, std::vector<int> polygon, int line) {
  const std::vector<Vec3>& x = soup->vertices;
  if (polygon.size() > 3 && polygon.size() <= kMaxEars) {
    const Vec3 normal = vector_area(x, polygon);
    auto turn = [&](int a, int b, int c) { return normal.dot(cross(x[b] - x[a], x[c] - x[a])); };
    bool convex = true;
    for (size_t k = 0, n = polygon.size(); k < n; ++k) {
      convex = convex && turn(polygon[k], polygon[(k + 1) % n], polygon[(k + 2) % n]) >= 0;
    }
    while (!convex && polygon.size() > 3) {
      const size_t n = polygon.size();
      size_t ear = n;
      for (size_t k = 0; k < n && ear == n; ++k) {
        const int a = polygon[(k + n - 1) % n], b = polygon[k], c = polygon[(k + 1) % n];
        if (turn(a, b, c) <= 0) continue;
        bool empty = true;
        for (const int p : polygon) {
          if (p == a || p == b || p == c) continue;
          if (turn(a, b, p) >= 0 && turn(b, c, p) >= 0 && turn(c, a, p) >= 0) empty = false;
        }
        if (empty) ear = k;
      }
      if (ear == n) break;
      soup->add(polygon[(ear + n - 1) % n], polygon[ear], polygon[(ear + 1) % n], line);
      polygon.erase(polygon.begin() + static_cast<std::ptrdiff_t>(ear));
    }
  }
  for (size_t k = 1; k + 1 < polygon.size(); ++k) soup->add(polygon[0], polygon[k], polygon[k + 1], line);
}

void read_obj(std::string_view text, Soup* soup) {
  constexpr std::string_view kPassedOver[] = {"vn", "vt", "vp",     "o",      "g",     "s",
                                              "l",  "p",  "usemtl", "mtllib", "usemap"};
  Words words{text, {}, 0};
  std::vector<int> polygon;
  bool told = false;
  while (words.next_line()) {
    const std::string_view key = words.next_word();
    if (key.empty() || key[0] == '#') continue;
    if (key == "v") {
      soup->vertices.push_back(parse_vertex(&words));
    } else if (key == "f") {
      polygon.clear();
      std::string_view word;
      while (!(word = words.next_word()).empty() && word[0] != '#') {
        polygon.push_back(parse_corner(word, static_cast<int>(soup->vertices.size()), words.line));
      }
      if (polygon.size() < 3) {
        throw MeshProblem{words.line, fmt::format("has a face with {} vertices", polygon.size()),
                          "a face needs at least 3"};
      }
      triangulate(soup, polygon, words.line);
    } else if (!told &&
               std::find(std::begin(kPassedOver), std::end(kPassedOver), key) == std::end(kPassedOver)) {
      soup->notes.push_back({words.line, fmt::format("has '{}', which is not understood", key.substr(0, 40)),
                             "only v and f lines are used"});
      told = true;
    }
  }
}

// --- STL -------------------------------------------------------------------------------------------------

template <class T>
T value_at(std::string_view bytes, size_t offset) {
  static_assert(std::endian::native == std::endian::little, "binary meshes are little-endian");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

Vec3 vertex_at(std::string_view bytes, size_t offset, long index) {
  Vec3 v;
  for (int k = 0; k < 3; ++k) v[k] = static_cast<double>(value_at<float>(bytes, offset + 4 * k));
  if (!v.allFinite()) {
    throw MeshProblem{0, fmt::format("has a non-finite coordinate in vertex {}", index),
                      "coordinates must be finite"};
  }
  return v;
}

void read_ascii_stl(std::string_view text, Soup* soup) {
  Words words{text, {}, 0};
  int corners = 0;  // of the facet being read
  bool in_facet = false, ended = false;
  while (words.next_line()) {
    const std::string_view key = words.next_word();
    if (key == "facet") {
      if (in_facet) throw MeshProblem{words.line, "has a facet inside a facet", "close it with 'endfacet'"};
      in_facet = true;
      corners = 0;
    } else if (key == "vertex") {
      if (!in_facet || corners == 3) {
        throw MeshProblem{words.line,
                          in_facet ? "has a facet with more than 3 vertices" : "has a vertex outside a facet",
                          ""};
      }
      soup->vertices.push_back(parse_vertex(&words));
      ++corners;
    } else if (key == "endfacet") {
      if (!in_facet || corners != 3) {
        throw MeshProblem{words.line, fmt::format("has a facet with {} vertices", corners), "write 3"};
      }
      const int n = static_cast<int>(soup->vertices.size());
      soup->add(n - 3, n - 2, n - 1, words.line);
      in_facet = false;
    } else if (key == "endsolid") {
      ended = true;
    } else if (key == "solid") {
      ended = false;
    } else if (!key.empty() && key != "outer" && key != "endloop") {
      throw MeshProblem{words.line, fmt::format("has '{}', which is not a word of STL", key.substr(0, 40)),
                        ""};
    }
  }
  if (in_facet || !ended) {
    throw MeshProblem{words.line, "stops before 'endsolid'",
                      "the file is cut short; copy or export it again"};
  }
}

void read_stl(std::string_view bytes, Soup* soup) {
  // Binary files may begin with "solid" too, so their length decides.
  const bool has_header = bytes.size() >= 84;
  const std::uint64_t count = has_header ? value_at<std::uint32_t>(bytes, 80) : 0;
  const std::uint64_t expected = 84 + 50 * count;
  const size_t start = bytes.find_first_not_of(" \t\r\n");
  const bool says_solid = start != std::string_view::npos && bytes.substr(start, 5) == "solid";
  if (says_solid && bytes.size() != expected) return read_ascii_stl(bytes, soup);
  if (!has_header) {
    throw MeshProblem{0, fmt::format("has {} bytes and is not an STL file", bytes.size()),
                      "a binary STL has at least 84 bytes, an ASCII one begins with 'solid'"};
  }
  if (bytes.size() < expected) {
    throw MeshProblem{0,
                      fmt::format("says it has {} triangles, which take {} bytes, but has {} bytes", count,
                                  expected, bytes.size()),
                      "the file is cut short or not STL; copy or export it again"};
  }
  if (bytes.size() > expected) {
    soup->notes.push_back({0, fmt::format("has {} bytes after its last triangle", bytes.size() - expected),
                           "they are not used"});
  }
  if (static_cast<long>(count) > soup->max_triangles) soup->too_many(0);
  soup->vertices.reserve(3 * count);
  for (std::uint64_t i = 0; i < count; ++i) {
    for (int k = 0; k < 3; ++k) {
      soup->vertices.push_back(vertex_at(bytes, 84 + 50 * i + 12 + 12 * k, static_cast<long>(3 * i + k)));
    }
    const int n = static_cast<int>(soup->vertices.size());
    soup->add(n - 3, n - 2, n - 1, 0);
  }
}

// --- MSH -------------------------------------------------------------------------------------------------

// int32 nvertex, nnormal, ntexcoord, nface; then float32 vertices (3 each), normals (3), texture coordinates
// (2) and int32 faces (3), as MuJoCo's documentation of its legacy format has it.
void read_msh(std::string_view bytes, Soup* soup) {
  if (bytes.substr(0, 11) == "$MeshFormat") {
    throw MeshProblem{0, "is a Gmsh file, not MuJoCo's MSH", "export it as OBJ or STL"};
  }
  if (bytes.size() < 16) {
    throw MeshProblem{0, fmt::format("has {} bytes, but the header of an MSH file takes 16", bytes.size()),
                      "copy or export it again"};
  }
  std::int64_t n[4];
  for (int k = 0; k < 4; ++k) n[k] = value_at<std::int32_t>(bytes, 4 * k);
  const std::int64_t expected = 16 + 4 * (3 * n[0] + 3 * n[1] + 2 * n[2] + 3 * n[3]);
  if (n[0] < 0 || n[1] < 0 || n[2] < 0 || n[3] < 0 || expected != static_cast<std::int64_t>(bytes.size())) {
    throw MeshProblem{0,
                      fmt::format("says it has {} vertices, {} normals, {} texture coordinates and {} faces, "
                                  "which does not fit its {} bytes",
                                  n[0], n[1], n[2], n[3], bytes.size()),
                      "the file is cut short or not MuJoCo's MSH; copy or export it again"};
  }
  if (n[3] > soup->max_triangles) soup->too_many(0);
  soup->vertices.reserve(n[0]);
  for (std::int64_t i = 0; i < n[0]; ++i) soup->vertices.push_back(vertex_at(bytes, 16 + 12 * i, i));
  const size_t faces = 16 + 4 * (3 * n[0] + 3 * n[1] + 2 * n[2]);
  for (std::int64_t i = 0; i < n[3]; ++i) {
    std::array<int, 3> t;
    for (int k = 0; k < 3; ++k) {
      t[k] = value_at<std::int32_t>(bytes, faces + 12 * i + 4 * k);
      if (t[k] < 0 || t[k] >= n[0]) {
        throw MeshProblem{0, fmt::format("has face {} with vertex {} of {}", i, t[k], n[0]),
                          "vertex numbers start at 0"};
      }
    }
    soup->add(t[0], t[1], t[2], 0);
  }
}

// --- All -------------------------------------------------------------------------------------------------

struct VertexHash {
  size_t operator()(const std::array<double, 3>& v) const {
    std::uint64_t hash = 0;
    for (const double x : v) hash = (hash ^ std::bit_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
  }
};

// Vertices keep the order in which the file has them; ones that no kept triangle uses are left out.
TriangleMesh finish(Soup* soup, const Vec3& scale) {
  std::unordered_map<std::array<double, 3>, int, VertexHash> first;
  first.reserve(soup->vertices.size());
  std::vector<int> merged(soup->vertices.size());
  for (size_t i = 0; i < merged.size(); ++i) {
    Vec3& v = soup->vertices[i];
    v = v.cwiseProduct(scale) + Vec3::Zero();  // + 0 makes -0 and 0 the same bits
    if (!v.allFinite()) throw MeshProblem{0, "has coordinates that overflow when scaled", "check the scale"};
    merged[i] = first.try_emplace({v.x(), v.y(), v.z()}, static_cast<int>(i)).first->second;
  }

  TriangleMesh mesh;
  const bool mirrored = scale.prod() < 0;
  for (const auto& corners : soup->triangles) {
    std::array<int, 3> t = {merged[corners[0]], merged[corners[1]], merged[corners[2]]};
    const Vec3 a = soup->vertices[t[1]] - soup->vertices[t[0]],
               b = soup->vertices[t[2]] - soup->vertices[t[0]];
    // Rounding of the cross product is about 1e-16 |a||b|: at and below that there is no normal.
    if (!(cross(a, b).norm() > 4e-16 * a.norm() * b.norm())) continue;
    if (mirrored) std::swap(t[1], t[2]);
    mesh.triangles.push_back(t);
  }
  if (soup->triangles.empty() && soup->vertices.size() >= 4) {
    try {
      return hull_mesh(soup->vertices);
    } catch (const InputError&) {
      throw MeshProblem{0, "has no triangles, and its vertices lie in a plane",
                        "a shape needs a surface; export the mesh with its faces"};
    }
  }
  if (mesh.triangles.empty()) {
    throw MeshProblem{0, soup->triangles.empty() ? "has no triangles" : "has no triangle with an area",
                      "a shape needs a surface; export the mesh with its faces"};
  }
  const size_t dropped = soup->triangles.size() - mesh.triangles.size();
  if (dropped > 0) {
    soup->notes.push_back(
        {0, fmt::format("has {} of {} triangles without area", dropped, soup->triangles.size()),
         "they are dropped"});
  }

  std::vector<int> number(soup->vertices.size(), -1);
  for (const auto& t : mesh.triangles) {
    for (const int i : t) number[i] = 0;
  }
  for (size_t i = 0; i < number.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int>(mesh.vertices.size());
    mesh.vertices.push_back(soup->vertices[i]);
  }
  for (auto& t : mesh.triangles) {
    for (int& i : t) i = number[i];
  }
  return mesh;
}

}  // namespace

std::shared_ptr<const TriangleMesh> read_mesh(const std::string& path, const Vec3& scale,
                                              const Source& referrer, long max_triangles,
                                              Diagnostics* diagnostics) {
  if (!scale.allFinite() || scale.prod() == 0) {
    diagnostics->error(
        referrer,
        fmt::format("mesh file '{}' is scaled by ({}, {}, {})", path, scale.x(), scale.y(), scale.z()),
        "write three finite numbers, none of them 0");
    return nullptr;
  }
  const std::string extension = lower_extension(path);
  if (extension != ".obj" && extension != ".stl" && extension != ".msh" && extension != ".dae" &&
      extension != ".glb") {
    diagnostics->error(referrer, fmt::format("mesh file '{}' is not of a known kind", path),
                       "use .obj, .stl, .dae, .glb or .msh");
    return nullptr;
  }
  // 400 bytes for each triangle is generous for text; 2^30 keeps vertex numbers within int.
  const long max_bytes = std::min(1L << 30, 1024 + 400 * std::min(max_triangles, 1L << 40));
  std::string bytes;
  if (!read_file(path, max_bytes, "mesh", referrer, &bytes, diagnostics)) return nullptr;

  auto text = [&](const MeshProblem& problem) {
    return fmt::format("mesh file '{}' {}{}", path, problem.what,
                       problem.line > 0 ? fmt::format(" (its line {})", problem.line) : "");
  };
  Soup soup;
  soup.max_triangles = max_triangles;
  try {
    if (extension == ".obj") {
      read_obj(bytes, &soup);
    } else if (extension == ".stl") {
      read_stl(bytes, &soup);
    } else if (extension == ".dae") {
      DaeMesh dae = read_dae(bytes, max_triangles);
      if (!dae.problem.empty()) throw MeshProblem{0, dae.problem, dae.remedy};
      soup.vertices = std::move(dae.vertices);
      soup.triangles = std::move(dae.triangles);
    } else if (extension == ".glb") {
      GlbMesh glb = read_glb(bytes, max_triangles);
      if (!glb.problem.empty()) throw MeshProblem{0, glb.problem, glb.remedy};
      soup.vertices = std::move(glb.vertices);
      soup.triangles = std::move(glb.triangles);
    } else {
      read_msh(bytes, &soup);
    }
    auto mesh = std::make_shared<TriangleMesh>(finish(&soup, scale));
    if (examine_mesh(*mesh).inverted()) {
      for (auto& triangle : mesh->triangles) std::swap(triangle[1], triangle[2]);
      diagnostics->warning(referrer,
                           fmt::format("mesh file '{}' is inside out; its triangles were turned", path),
                           "write triangles counter-clockwise seen from outside");
    }
    for (const MeshProblem& note : soup.notes) diagnostics->warning(referrer, text(note), note.remedy);
    return mesh;
  } catch (const MeshProblem& problem) {
    diagnostics->error(referrer, text(problem), problem.remedy);
    return nullptr;
  }
}

}  // namespace capstan
