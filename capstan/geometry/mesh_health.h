// What is wrong with a triangle mesh, and what can be put right without changing its shape.
#pragma once

#include <string>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/mesh.h"

namespace capstan {

constexpr long kMaxMeshTriangles = 10'000'000;

struct MeshFindings {
  long vertices = 0, triangles = 0;
  long non_finite_vertices = 0;   // a coordinate is NaN or infinite
  long bad_indices = 0;           // triangles that name a vertex the mesh does not have
  long degenerate_triangles = 0;  // a repeated vertex, or area below 1e-14 of the squared longest side
  long duplicate_vertices = 0;    // at the same place as another
  long duplicate_triangles = 0;   // the same three vertices as another, in whatever order
  long open_edges = 0;            // on one triangle only
  long clashing_edges = 0;        // on two triangles that turn the same way around it
  long crowded_edges = 0;         // on three triangles or more
  double volume = 0;              // [m^3] when closed
  bool empty() const { return triangles == 0; }
  bool too_large() const { return triangles >= kMaxMeshTriangles; }
  bool usable() const { return !empty() && !too_large() && non_finite_vertices == 0 && bad_indices == 0; }
  bool closed() const { return usable() && open_edges == 0 && clashing_edges == 0 && crowded_edges == 0; }
  bool inverted() const { return closed() && volume < 0; }
  bool healthy() const {
    return closed() && volume > 0 && degenerate_triangles == 0 && duplicate_vertices == 0;
  }
};

// Edges are judged by the indices of the triangles: duplicate vertices make open edges.
MeshFindings examine_mesh(const TriangleMesh& mesh);

// Reports each finding once: errors for a mesh that cannot be used, warnings for the others. `name` says
// which mesh. With `solid`, open, clashing and crowded edges are errors.
void report_findings(const MeshFindings& findings, const std::string& name, const Source& where, bool solid,
                     Diagnostics* diagnostics);

// Merges vertices at the same place, drops degenerate and repeated triangles and unused vertices, and turns a
// closed mesh of negative volume inside out, with a warning for each. Meshes that cannot be used are reported
// as errors and returned empty. The shape of the surface does not change.
TriangleMesh repair_mesh(const TriangleMesh& mesh, const std::string& name, const Source& where,
                         Diagnostics* diagnostics);

}  // namespace capstan
