#pragma once

#include <memory>
#include <string>

#include "capstan/physics/rod.h"

namespace capstan {

struct Model;

// Puts a rod into a model, with a shape on each edge: capsules for circles, boxes for rectangles, hulls of 16
// sides for ellipses. Returns the object.
int add_rod(const std::string& name, std::shared_ptr<const Rod> rod, int material, Model* model);

}  // namespace capstan
