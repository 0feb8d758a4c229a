// Objects and blocks: how a model's numbers belong together.
#pragma once

#include <memory>
#include <string>

namespace capstan {

class Physics;

// What moves, sleeps, is saved and joined to islands as one. Trees are the first objects of a model, each of
// one block: the t-th tree is object t and block t.
struct Object {
  int link_begin = 0, link_end = 0;  // its carriers: links of a tree, or of what has no joints
  int q_begin = 0, q_end = 0;
  int dof_begin = 0, dof_end = 0;
  int block_begin = 0, block_end = 0;
  int flexible_begin = 0, flexible_end = 0;  // of Model::flexible_shapes
  std::shared_ptr<const Physics> physics;    // null: a kinematic tree

  bool is_tree() const { return physics == nullptr; }
  int num_dofs() const { return dof_end - dof_begin; }
  int num_positions() const { return q_end - q_begin; }
};

// Dofs that are dense together in A.
struct DofBlock {
  int object = 0;
  int dof_begin = 0, size = 0;
};

struct Model;

// Appends an object to a compiled model. Each carrier becomes a link and a body, "name/0", "name/1", ..., to
// which add_carrier_shape() attaches shapes. Returns its index.
int add_object(const std::string& name, std::shared_ptr<const Physics> physics, Model* model);

// Adds a shape to a carrier of an object; `shape` is as in ModelShape, its frame that of the carrier.
struct ShapeInstance;
void add_carrier_shape(int object, int carrier, const ShapeInstance& shape, int material, Model* model);

}  // namespace capstan
