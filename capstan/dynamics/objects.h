// Objects of any kind: where they are, how a point of them moves, and products with A. Trees have their own,
// faster ways (dynamics/tree.h); here is what all stages after dynamics may use without asking which kind it
// is.
#pragma once

#include <memory>
#include <vector>

#include "capstan/dynamics/free_motion.h"
#include "capstan/math/block_cholesky.h"
#include "capstan/physics/physics.h"

namespace capstan {

// The free motion of an object that is not a tree; factor.matrix is its A, in its own blocks.
struct ObjectMotion {
  BlockCholesky factor;
  std::vector<std::array<int, 2>> pairs;  // of the layout: pair_block(k) of the matrix is that of pairs[k]
  VecX m, dv, v_try, m_try;               // [dofs of the object]
  int iterations = 0;
  double residual = 0;
  bool converged = false;
};

inline bool has_objects_beside_trees(const Model& model) {
  return model.objects.size() > model.trees.size();
}
inline ObjectMotion& motion_of(const Model& model, const Motion& motion, int object) {
  return *motion.objects[object - model.trees.size()];
}

// Places the carriers of an object that is not a tree; those of all such objects.
void place_object(const Model& model, const VecX& q, int object, Placement* placement);
void place_objects(const Model& model, const VecX& q, Placement* placement);

// (angular, linear at the object's origin) of the carriers of any object, when it moves at v.
void calc_twists(const Model& model, const Placement& placement, const VecX& v, int object,
                 std::vector<Vec6>* V);

// The blocks of the model that move the point of a link of an object that is not a tree; how many there are.
int calc_point(const Model& model, const Placement& placement, int link, const Vec3& p_W, PointPart* parts);

// Velocity of the point of any link that is now at p_W; V are the velocities of tree links at v.
Vec3 point_velocity(const Model& model, const Placement& placement, const std::vector<Vec6>& V, const VecX& v,
                    int link, const Vec3& p_W);

// v* and A of an object that is not a tree; `external` are forces on all dofs.
void calc_object_motion(const Model& model, const State& state, const VecX& external, double dt,
                        const Scheme& scheme, int object, Motion* motion);

// y = A x and x = A^-1 x for the dofs of one object; x and y are of all dofs.
void multiply_A(const Model& model, const Motion& motion, int object, const VecX& x, VecX* y);
void solve_A(const Model& model, const Motion& motion, int object, VecX* x);

}  // namespace capstan
