#include "capstan/contacts/surface_field.h"

#include <algorithm>

#include "capstan/geometry/cell_list.h"

namespace capstan {
namespace {

constexpr double kSharp = 0.2;                // of 2: of an edge as sharp as a knife's there is no middle
constexpr double kFlat = 0.95, kBack = -0.9;  // cosines between normals: nothing is to be halved
constexpr double kLevel = 1e-3;               // sine
constexpr int kMostAround = 64;               // triangles about a vertex

// Calls visit(link) for the triangles around vertex k that have no edge in common with this one. Shapes of
// the triangles of a body follow each other as their links do.
template <class Visit>
void each_around(const Model& model, int shape, int k, const Visit& visit) {
  const int own = model.shapes[shape].link;
  int from = own, link = model.shapes[shape].beside[k];
  for (int count = 0; link >= 0 && link != own && count < kMostAround; ++count) {
    const std::array<int, 3>& beside = model.shapes[shape + link - own].beside;
    const auto back = std::find(beside.begin(), beside.end(), from);
    if (back == beside.end()) return;
    from = link;
    link = beside[(back - beside.begin() + 1) % 3];  // the edge that begins at the vertex
    if (count > 0 && link != own) visit(from);
  }
}

}  // namespace

void make_surface_field(const Model& model, const Placement& placement, int shape, PressureField* field) {
  const ModelShape& s = model.shapes[shape];
  const Transform& X_WL = placement.X_WL[s.link];  // its z axis is the normal of the triangle
  const auto normal_of = [&](int link) -> Vec3 { return X_WL.R.transpose() * placement.X_WL[link].R.col(2); };
  std::array<Vec3, 3> side;
  for (int k = 0; k < 3; ++k) {
    side[k] = Vec3::UnitZ();
    if (s.beside[k] < 0) continue;
    const Vec3 sum = side[k] + normal_of(s.beside[k]);
    if (sum.norm() > kSharp) side[k] = sum;
  }
  const std::array<Vec3, 3>& vertex = placement.flexible[s.flexible].vertex;
  make_cell_behind(vertex, side, s.field->depth, field);
  for (int k = 0; k < 3; ++k) {
    each_around(model, shape, k, [&](int link) {
      const Vec3 n = normal_of(link);
      if (n.z() > kFlat || n.z() < kBack) return;
      const bool is_behind = std::all_of(vertex.begin(), vertex.end(), [&](const Vec3& v) {
        return n.dot(v - vertex[k]) <= kLevel * (v - vertex[k]).norm();
      });
      const Vec3 away = n - Vec3::UnitZ();
      if (is_behind) add_cell_plane(away, away.dot(vertex[k]), &field->list);
    });
  }
}

}  // namespace capstan
