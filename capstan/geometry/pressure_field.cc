#include "capstan/geometry/pressure_field.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/cell_list.h"
#include "capstan/geometry/collider.h"
#include "capstan/geometry/mesh_bvh.h"

namespace capstan {
namespace {

constexpr int kCellsInLeaf = 4;

void include_box(const Aabb& of, Aabb* box) {
  *box = merged(*box, of);
}

int build_cell_node(const std::vector<PressureCell>& cells, int first, int count, CellTree* tree) {
  const int id = static_cast<int>(tree->nodes.size());
  tree->nodes.emplace_back();
  Aabb box;
  for (int k = first; k < first + count; ++k) include_box(cells[tree->order[k]].box, &box);
  tree->nodes[id].box = box;
  if (count <= kCellsInLeaf) {
    tree->nodes[id].first = first;
    tree->nodes[id].count = count;
  } else {
    int axis = 0;
    (box.upper - box.lower).maxCoeff(&axis);
    const auto begin = tree->order.begin() + first;
    const auto middle = [&](int c) { return cells[c].box.lower[axis] + cells[c].box.upper[axis]; };
    std::sort(begin, begin + count,
              [&](int x, int y) { return middle(x) != middle(y) ? middle(x) < middle(y) : x < y; });
    build_cell_node(cells, first, count / 2, tree);
    build_cell_node(cells, first + count / 2, count - count / 2, tree);
  }
  tree->nodes[id].skip = static_cast<int>(tree->nodes.size());
  return id;
}

// The plane through three points that has `inner` inside.
void add_plane_through(const Vec3& p, const Vec3& q, const Vec3& r, const Vec3& inner, CellList* list) {
  Vec3 n = cross(Vec3(q - p), Vec3(r - p));
  if (!(n.norm() > 0)) return;
  if (n.dot(inner - p) > 0) n = -n;
  add_cell_plane(n, n.dot(p), list);
}

void add_box_cells(const Vec3& half, PressureField* field) {
  const double H = half.minCoeff();
  field->depth = H;
  for (int axis = 0; axis < 3; ++axis) {
    for (const double sign : {-1.0, 1.0}) {
      const Vec3 outward = sign * Vec3::Unit(axis);
      PressureCell& cell = begin_cell(-outward / H, half[axis] / H, &field->list);
      cell.box = {-half, half};
      // As deep as the others let it be.
      (sign > 0 ? cell.box.lower : cell.box.upper)[axis] = sign * (half[axis] - H);
      add_cell_plane(-outward, 0, &field->list);
      for (const int other : {(axis + 1) % 3, (axis + 2) % 3}) {
        for (const double side : {-1.0, 1.0}) {
          // half[axis] - outward.x <= half[other] - side x[other]
          add_cell_plane(side * Vec3::Unit(other) - outward, half[other] - half[axis], &field->list);
        }
      }
    }
  }
}

// Of a rod's edge: cells to the four sides.
void add_flat_segment_cells(const Vec3& half, PressureField* field) {
  const double H = std::min(half.x(), half.y());
  field->depth = H;
  for (int axis = 0; axis < 2; ++axis) {
    for (const double sign : {-1.0, 1.0}) {
      const Vec3 outward = sign * Vec3::Unit(axis), beside = Vec3::Unit(1 - axis);
      PressureCell& cell = begin_cell(-outward / H, half[axis] / H, &field->list);
      cell.box = {-half, half};
      (sign > 0 ? cell.box.lower : cell.box.upper)[axis] = sign * (half[axis] - H);
      add_cell_plane(-outward, 0, &field->list);
      for (const double side : {-1.0, 1.0}) {
        add_cell_plane(side * beside - outward, half[1 - axis] - half[axis], &field->list);
        add_cell_plane(side * Vec3::UnitZ(), half.z(), &field->list);
      }
    }
  }
}

void add_hull_cells(const ConvexHull& hull, PressureField* field) {
  const Vec3& middle = hull.interior;
  for (int f = 0; f < static_cast<int>(hull.faces.size()); ++f) {
    const ConvexHull::Face& face = hull.faces[f];
    const double height = face.offset - face.normal.dot(middle);
    field->depth = std::max(field->depth, height);
    PressureCell& cell = begin_cell(-face.normal / height, face.offset / height, &field->list);
    include(cell.box, middle);
    const std::span<const int> loop = hull.face_loop(f);
    Vec3 inner = Vec3::Zero();
    for (const int v : loop) {
      include(cell.box, hull.vertices[v]);
      inner += hull.vertices[v] / static_cast<double>(loop.size());
    }
    for (std::size_t k = 0; k < loop.size(); ++k) {
      add_plane_through(middle, hull.vertices[loop[k]], hull.vertices[loop[(k + 1) % loop.size()]], inner,
                        &field->list);
    }
  }
}

// A rigid surface: behind each triangle a prism, whose field nothing asks for but its plane.
void add_triangle_cells(const TriangleMesh& mesh, PressureField* field) {
  field->is_solid = field->is_convex = false;
  for (const auto& [i, j, k] : mesh.triangles) {
    const Vec3 &a = mesh.vertices[i], &b = mesh.vertices[j], &c = mesh.vertices[k];
    Vec3 n = cross(Vec3(b - a), Vec3(c - a));
    const double length = n.norm();
    if (!(length > 0)) continue;  // it has no area
    n /= length;
    PressureCell& cell = begin_cell(-n, n.dot(a), &field->list);
    for (const Vec3& v : {a, b, c}) include(cell.box, v);
    const Vec3 inner = (a + b + c) / 3;
    for (const auto& [p, q] : {std::pair(a, b), std::pair(b, c), std::pair(c, a)})
      add_plane_through(p, q, p + n * (q - p).norm(), inner, &field->list);
  }
}

void add_tet_cells(const TetMesh& mesh, PressureField* field) {
  field->is_convex = false;
  auto surface = std::make_shared<TriangleMesh>();
  surface->vertices = mesh.vertices;
  surface->triangles = surface_of(mesh);
  const MeshBvh bvh = make_mesh_bvh(surface);
  std::vector<double> e(mesh.vertices.size(), -1);
  for (const auto& triangle : surface->triangles) {
    for (const int v : triangle) e[v] = 0;
  }
  for (std::size_t v = 0; v < e.size(); ++v) {
    if (e[v] < 0) e[v] = closest_point(bvh, mesh.vertices[v]).distance;
    field->depth = std::max(field->depth, e[v]);
  }
  if (!(field->depth > 0)) {
    throw InputError({},
                     "the tets of a pressure field have no vertex inside: the pressure is zero everywhere",
                     "make a finer mesh, with vertices in the middle");
  }
  for (double& value : e) value /= field->depth;
  for (const auto& tet : mesh.tets) {
    const auto v = [&](int k) -> const Vec3& { return mesh.vertices[tet[k]]; };
    if (e[tet[0]] + e[tet[1]] + e[tet[2]] + e[tet[3]] == 0) continue;  // no pressure: all on the surface
    Mat3 edges;
    for (int k = 0; k < 3; ++k) edges.row(k) = v(k + 1) - v(0);
    const Vec3 rise(e[tet[1]] - e[tet[0]], e[tet[2]] - e[tet[0]], e[tet[3]] - e[tet[0]]);
    // Cramer's rule, by the rows of the inverse.
    const Vec3 r0 = edges.row(0), r1 = edges.row(1), r2 = edges.row(2);
    const double det = r0.dot(cross(r1, r2));
    if (!(det > 0)) continue;
    const Vec3 gradient = (cross(r1, r2) * rise[0] + cross(r2, r0) * rise[1] + cross(r0, r1) * rise[2]) / det;
    PressureCell& cell = begin_cell(gradient, e[tet[0]] - gradient.dot(v(0)), &field->list);
    for (int k = 0; k < 4; ++k) include(cell.box, v(k));
    const Vec3 inner = (v(0) + v(1) + v(2) + v(3)) / 4;
    for (int k = 0; k < 4; ++k)
      add_plane_through(v((k + 1) % 4), v((k + 2) % 4), v((k + 3) % 4), inner, &field->list);
  }
}

void set_round(PressureField::Form form, const Vec3& size, const Vec3& half_box, PressureField* field) {
  field->form = form;
  field->size = size;
  field->box = {-half_box, half_box};
}

void finish_cells(PressureField* field) {
  field->tree = make_cell_tree(field->list.cells);
  for (const PressureCell& cell : field->list.cells) include_box(cell.box, &field->box);
}

struct FieldMaker {
  const FieldOptions& options;
  PressureField* field;

  bool operator()(const Sphere& s) const { return (*this)(Ellipsoid{Vec3::Constant(s.radius)}); }
  bool operator()(const Ellipsoid& s) const {
    set_round(PressureField::Form::ellipsoid, s.radii, s.radii, field);
    field->depth = s.radii.minCoeff();
    return true;
  }
  bool operator()(const Capsule& s) const {
    set_round(PressureField::Form::capsule, {s.radius, s.radius, s.half_length},
              {s.radius, s.radius, s.half_length + s.radius}, field);
    field->depth = s.radius;
    return true;
  }
  bool operator()(const Cylinder& s) const {
    const Vec3 size(s.radius, s.radius, s.half_length);
    set_round(PressureField::Form::cylinder, size, size, field);
    field->depth = size.minCoeff();
    return true;
  }
  bool operator()(const Box& s) const {
    add_box_cells(s.half_size, field);
    return true;
  }
  bool operator()(const HalfSpace&) const {
    field->depth = options.thickness;
    begin_cell(-Vec3::UnitZ() / options.thickness, 0, &field->list).box = {Vec3::Constant(-kInfinity),
                                                                           Vec3(kInfinity, kInfinity, 0)};
    return true;
  }
  bool operator()(const ConvexMesh& s) const {
    add_hull_cells(make_convex_hull(s.mesh->vertices), field);
    return true;
  }
  bool of_mesh(const TriangleMesh& mesh) const {
    if (options.tets) {
      add_tet_cells(cleaned(*options.tets), field);
    } else {
      add_triangle_cells(mesh, field);
    }
    return true;
  }
  bool operator()(const SurfaceMesh& s) const { return of_mesh(*s.mesh); }
  bool operator()(const SignedDistanceMesh& s) const { return of_mesh(*s.mesh); }
  bool operator()(const HeightField& s) const {
    add_triangle_cells(height_field_mesh(s), field);
    return true;
  }
};

}  // namespace

CellTree make_cell_tree(const std::vector<PressureCell>& cells) {
  CellTree tree;
  tree.order.resize(cells.size());
  std::iota(tree.order.begin(), tree.order.end(), 0);
  if (!cells.empty()) build_cell_node(cells, 0, static_cast<int>(cells.size()), &tree);
  return tree;
}

double calc_depth(const TetMesh& mesh) {
  auto surface = std::make_shared<TriangleMesh>();
  surface->vertices = mesh.vertices;
  surface->triangles = surface_of(mesh);
  const MeshBvh bvh = make_mesh_bvh(surface);
  std::vector<char> is_outside(mesh.vertices.size(), 0);
  for (const auto& triangle : surface->triangles) {
    for (const int v : triangle) is_outside[v] = 1;
  }
  double depth = 0;
  for (std::size_t v = 0; v < mesh.vertices.size(); ++v) {
    if (is_outside[v] == 0) depth = std::max(depth, closest_point(bvh, mesh.vertices[v]).distance);
  }
  for (const auto& [a, b, c, d] : mesh.tets) {
    const Vec3 middle = (mesh.vertices[a] + mesh.vertices[b] + mesh.vertices[c] + mesh.vertices[d]) / 4;
    depth = std::max(depth, closest_point(bvh, middle).distance);
  }
  return depth;
}

void make_cell_behind(const std::array<Vec3, 3>& vertex, const std::array<Vec3, 3>& side, double depth,
                      PressureField* field) {
  constexpr double kMostFlare = 1.5;  // by which the box grows sideways over the depth
  field->form = PressureField::Form::cells;
  field->is_convex = false;
  field->is_solid = true;
  field->depth = depth;
  field->list.clear();
  PressureCell& cell = begin_cell(-Vec3::UnitZ() / depth, 0, &field->list);
  for (const Vec3& p : vertex) include(cell.box, p);
  double flare = 0;
  for (int k = 0; k < 3; ++k) {
    const Vec3 n = cross(Vec3(vertex[(k + 1) % 3] - vertex[k]), side[k]);
    const double along = n.head<2>().norm();
    if (!(along > 0)) continue;
    add_cell_plane(n, n.dot(vertex[k]), &field->list);
    flare = std::max(flare, std::min(kMostFlare, n.z() / along));
  }
  add_cell_plane(-Vec3::UnitZ(), depth, &field->list);
  cell.box.lower -= depth * Vec3(flare, flare, 1);
  cell.box.upper += depth * Vec3(flare, flare, 0);
  field->box = cell.box;
  field->tree.nodes.resize(1);
  field->tree.nodes[0] = {cell.box, 1, 0, 1};
  field->tree.order.assign(1, 0);
}

std::shared_ptr<const PressureField> make_pressure_field(const Shape& shape, const FieldOptions& options) {
  auto field = std::make_shared<PressureField>();
  field->rings = options.rings;
  if (!std::visit(FieldMaker{options, field.get()}, shape)) return nullptr;
  if (!field->is_round()) finish_cells(field.get());
  return field;
}

std::shared_ptr<const PressureField> make_segment_field(const Shape& shape) {
  auto field = std::make_shared<PressureField>();
  field->is_segment = true;
  if (const auto* capsule = std::get_if<Capsule>(&shape)) {
    const Vec3 size(capsule->radius, capsule->radius, capsule->half_length);
    set_round(PressureField::Form::capsule, size, size, field.get());
    field->depth = capsule->radius;
    return field;
  }
  const auto* box = std::get_if<Box>(&shape);
  if (box == nullptr) return nullptr;
  add_flat_segment_cells(box->half_size, field.get());
  finish_cells(field.get());
  return field;
}

}  // namespace capstan
