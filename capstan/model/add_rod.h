#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capstan/physics/rod.h"

namespace capstan {

struct Model;

// Puts a rod into a model, with a shape on each edge: capsules for circles, boxes for rectangles, hulls of 16
// sides for ellipses; these have pressure fields if the rod is to touch over patches. An actuated rod has two
// actuators, NAME.natural and NAME.length. Returns the object.
int add_rod(const std::string& name, std::shared_ptr<const Rod> rod, int material, Model* model);

// Whether its edges are to touch over patches, by what it says itself or its material; whether they do: those
// of an elliptic section touch at points.
bool asks_for_patches(const RodSpec& spec, const Material& material);
bool has_patches(const RodSpec& spec, int material, const Model& model);

// The objects of a model that are rods; one of them, and its name.
std::vector<int> find_rods(const Model& model);
const Rod& rod_of(const Model& model, int object);
std::string rod_name(const Model& model, int object);

// Gives actuated rods the factors that their controls ask for; a step begins with it.
void apply_rod_controls(const Model& model, const VecX& control, VecX* q);

}  // namespace capstan
