#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capstan/physics/soft_body.h"

namespace capstan {

struct Model;

// Puts a soft body into a model, with shapes on its surface: a small ball at each vertex, the triangles
// between them and, with spec.has_edges, capsules along edges (SurfacePart). Each has stiffness by its area,
// so that a body pressed to a plane has the same for any mesh: the material's over a sixth of the surface,
// or, where it gives none, 1000 E / size [N/m^3]. That is a thousand times what the body itself yields under
// the same pressure. Returns the object.
int add_soft_body(const std::string& name, std::shared_ptr<const SoftBody> body, int material, Model* model);

// The objects of a model that are soft bodies; one of them, and its name.
std::vector<int> find_soft_bodies(const Model& model);
const SoftBody& soft_body_of(const Model& model, int object);
std::string soft_body_name(const Model& model, int object);

}  // namespace capstan
