#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capstan/physics/rod.h"

namespace capstan {

struct Model;

// Puts a rod into a model, with a shape on each edge: capsules for circles, boxes for rectangles, hulls of 16
// sides for ellipses. Returns the object.
int add_rod(const std::string& name, std::shared_ptr<const Rod> rod, int material, Model* model);

// The objects of a model that are rods; one of them, and its name.
std::vector<int> find_rods(const Model& model);
const Rod& rod_of(const Model& model, int object);
std::string rod_name(const Model& model, int object);

}  // namespace capstan
