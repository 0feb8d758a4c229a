// The pressure field of a soft body, which its surface carries along as it deforms: a cell behind each
// triangle.
//
//   e(x) = depth below the plane of the triangle / H,   H: how deep the body is at rest
//
// in the part of the inside that is nearer to this triangle than to its neighbours: between the planes that
// halve the angles at its edges, and those to the faces around an edge or a corner that it only has a vertex
// in common with, down to H. Where the surface is flat, or a box at rest, this is the distance
// to the nearest face over H, as a rigid box has it (geometry/pressure_field.h), and a flat contact has the
// stiffness E A / H. Of a triangle's neighbours the normals count alone, so that cells of a curved surface
// overlap, or leave gaps between them, by (turn of the normal)^2 of their depth.
//
// The patch of a triangle has one normal, for the reason that two convex solids have one (geometry/patch.h):
// that of what it touches. What of it is inclined has its force and stiffness along that. Where two soft
// bodies touch, each pair of their triangles has a patch; together these are the surface of equal pressures.
#pragma once

#include "capstan/dynamics/tree.h"
#include "capstan/geometry/pressure_field.h"
#include "capstan/model/model.h"

namespace capstan {

// Of a shape that is a triangle of a soft body, in its frame.
void make_surface_field(const Model& model, const Placement& placement, int shape, PressureField* field);

}  // namespace capstan
