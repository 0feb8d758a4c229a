// Pressure fields: what a solid would answer to something that enters it.
//
// A field e(x) is 0 at the surface and grows inwards, to 1 where the solid is deepest; the pressure is
// p = E e, with the elastic modulus E. Two solids that overlap touch where their pressures are equal
// (geometry/patch.h); a rigid one, E infinite, at its surface. The model is that of Elandt, Drumwright,
// Sherman and Ruina, "A pressure field model for fast, robust approximation of net contact force and moment
// between nominally rigid objects" (IROS 2019).
//
// Here a field is linear in each of some *cells*, convex polyhedra that together are the solid:
//
//   e(x) = gradient . x + value    where  n_k . x <= d_k  for all planes k of the cell, and e >= 0
//
//   box          six cells, one to each face: e is the distance to the nearest face over the largest
//                distance, H = the least half size
//   half space   one: the depth over `thickness`
//   hull         a pyramid from each face to the middle of the hull, where e is 1
//   tets         each tet; e at a vertex is its distance from the surface over the largest of those
//                distances, so that a vertex in the middle is needed
//   triangles    of a surface that is rigid: the prism behind each
//   round        sphere and ellipsoid, e = 1 - |y|, y in the units of the radii; capsule, e = 1 - distance
//                from the axis / R; cylinder, e = min(R - r, h - |z|) / min(R, h)
//   segment      a part of a rod: the field of its section, swept along z between two planes. The next part
//                goes on there, so that e is not 0 at these, and nothing is counted twice in a straight rod
//
// Those of round shapes are not linear, and flat facets that are fine enough for any load would be many. So
// their cells are made for each patch anew, around where it is and as large as it is: see make_round_cells().
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "capstan/geometry/aabb.h"
#include "capstan/geometry/convex_hull.h"
#include "capstan/geometry/shape.h"
#include "capstan/geometry/tet_mesh.h"

namespace capstan {

struct CellPlane {  // the inside is n . x <= d
  Vec3 n;           // unit
  double d;         // [m]
};

struct PressureCell {
  Vec3 gradient;   // of e [1/m]
  double value;    // of e at the origin
  Aabb box;        // that holds the cell, or what of it may be in the patch; may be infinite
  int first, end;  // planes[first, end) of its list

  double e(const Vec3& x) const { return gradient.dot(x) + value; }
};

struct CellList {
  std::vector<PressureCell> cells;
  std::vector<CellPlane> planes;
  void clear() { cells.clear(), planes.clear(); }
};

// A tree of boxes over cells, depth-first: the first child of an inner node follows it.
struct CellTree {
  struct Node {
    Aabb box;
    int skip = 0;              // the node after this subtree
    int first = 0, count = 0;  // leaf: order[first, first + count); inner: count 0
  };
  std::vector<Node> nodes;
  std::vector<int> order;
};

struct PressureField {
  enum class Form { cells, ellipsoid, capsule, cylinder };
  Form form = Form::cells;
  Vec3 size = Vec3::Zero();  // [m] ellipsoid: radii; capsule and cylinder: (R, R, half length)
  double depth = 0;          // [m] the largest distance from the surface; patches are not deeper
  bool is_solid = true;      // false: a surface without an inside, which can only be rigid
  bool is_convex = true;
  bool is_segment = false;  // of a rod: open at both ends
  int rings = 3;            // of round forms
  Aabb box;                 // of the shape
  CellList list;            // form `cells`
  CellTree tree;            // over them

  bool is_round() const { return form != Form::cells; }
};

// Calls visit(cell) for each cell of the list whose box overlaps `box`, in the order of the tree.
template <class Visit>
void for_each_cell(const PressureField& field, const Aabb& box, Visit&& visit) {
  const int end = static_cast<int>(field.tree.nodes.size());
  for (int i = 0; i < end;) {
    const CellTree::Node& node = field.tree.nodes[i];
    if (!overlaps(node.box, box)) {
      i = node.skip;
      continue;
    }
    for (int k = node.first; k < node.first + node.count; ++k) {
      if (overlaps(field.list.cells[field.tree.order[k]].box, box)) visit(field.tree.order[k]);
    }
    ++i;
  }
}

// The field of a shape. `thickness` [m] is that of the layer of a half space; `tets` the inside of a mesh of
// kind surface or signed_distance, without which it is a rigid surface; `rings` as above. Null for a height
// field, which has none yet. Throws InputError where tets have no vertex inside.
struct FieldOptions {
  double thickness = 0.1;
  int rings = 3;
  std::shared_ptr<const TetMesh> tets;
};
std::shared_ptr<const PressureField> make_pressure_field(const Shape& shape, const FieldOptions& options);

// The field of an edge of a rod along z, a capsule or a box; null for other sections.
std::shared_ptr<const PressureField> make_segment_field(const Shape& shape);

// The cells of a round field that may meet what is in the half space n . x >= c (n unit, its frame): cones of
// flat facets in `rings` rings about the place where n leaves the shape, as wide as that half space cuts it.
// A facet is as far out as the round surface is on the average, so that the mean of e over each cell is that
// of the round field. `list` is replaced; it is empty where the shape does not reach the half space.
void make_round_cells(const PressureField& field, const Vec3& n, double c, CellList* list);

// n . x of the farthest point of a round shape.
double calc_round_support(const PressureField& field, const Vec3& n);

CellTree make_cell_tree(const std::vector<PressureCell>& cells);

// [m] the largest distance of a vertex, or of the middle of a tet, from the surface.
double calc_depth(const TetMesh& mesh);

// A field of one cell behind a triangle in the plane z = 0, whose outside is z > 0: e = -z / depth, down to
// `depth`, between the planes through its edges k (from vertex k to the next one) and along side[k].
void make_cell_behind(const std::array<Vec3, 3>& vertex, const std::array<Vec3, 3>& side, double depth,
                      PressureField* field);

}  // namespace capstan
