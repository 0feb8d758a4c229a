// Objects of any kind: where they are, how a point of them moves, and products with A. Trees have their own,
// faster ways (dynamics/tree.h); here is what all stages after dynamics may use without asking which kind it
// is.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "capstan/dynamics/free_motion.h"
#include "capstan/math/band_cholesky.h"
#include "capstan/math/block_cholesky.h"
#include "capstan/physics/physics.h"

namespace capstan {

// The motion of an object that is not a tree, by the tangent of its m at a velocity u:
//
//   m(v) - added = A (v - v*),   A = dm/dv at u,   v* = u - A^-1 (m(u) - added)
//
// `added` are impulses that came into v* after the tangent was made (step/bounce.h).
struct ObjectMotion {
  BlockCholesky factor;      // factor.matrix is A, in the object's own blocks
  std::vector<int> order;    // of elimination, of large solids: found once; else empty
  std::vector<char> likely;  // [blocks] that contacts will touch: `factor` has them last; or empty, for none
  long analysis = 0;         // of `factor`: it changes when `likely` does
  BandCholesky band;         // its factor, where A is a chain or a ring
  bool has_factor = false;   // `factor` has that of A, too: made when project_inverse() is called
  std::mutex making_factor;
  std::vector<std::array<int, 2>> pairs;  // of the layout: pair_block(k) of the matrix is that of pairs[k]
  VecX u, m, added;                       // [dofs of the object]
  VecX m_end;                             // m at the velocity that was looked at last, without `added`
  VecX dv, work;                          // scratch
  ImpulseSize size;                       // at u
  double lightest = 0;                    // [kg or kg m^2] the least of A's diagonal
  int iterations = 0;                     // tangents made in this step
  long version = 0;                       // of A: every tangent has another
  double residual = 0;                    // of momentum, where calc_tangent_error() was last
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

// What a step is made of, for objects that are not trees. To be used after calc_free_motion(), which has the
// external forces.
struct TimeStep {
  const Model& model;
  const State& state;
  double dt = 0;
  Scheme scheme;
};

// W = B^T A^-1 B, for a few columns (math/block_cholesky.h). Safe to call from several threads at a time.
void project_inverse(ObjectMotion& own, std::span<const ColumnsInBlock> B, int num_columns,
                     Eigen::Ref<MatX> W);

// v* and A of an object that is not a tree, by the tangent at the velocities before the step.
void calc_object_motion(const TimeStep& step, int object, Motion* motion);

// The same by the tangent at u, a vector of all dofs.
void set_tangent(const TimeStep& step, int object, const VecX& u, Motion* motion);

// After calc_tangent_error() at u: the same with m at u and the A that there is.
void shift_tangent(const TimeStep& step, int object, const VecX& u, Motion* motion);

// How far the object's m at v is from what the tangent tells; all scaled by diag(A)^-1/2 [sqrt(J)].
struct TangentError {
  double error = 0;       // |m(v) - m(u) - A (v - u)|
  double change = 0;      // |A (v - u)|
  double allowed = 0;     // the error that is small
  bool is_small = false;  // error <= allowed: a tolerance of the impulses on the object, and round-off
};
TangentError calc_tangent_error(const TimeStep& step, int object, const VecX& v, double tolerance,
                                Motion* motion);

// After calc_tangent_error() at v: v* becomes that whose A (v - v*) is m(v), so that what is left of the
// error is not hidden from a judge.
void correct_tangent(const TimeStep& step, int object, const VecX& v, Motion* motion);

// After correct_tangent(): v and v* of an object become those whose momentum is that before the step and the
// impulses on its dofs, to round-off.
void balance_object(const TimeStep& step, int object, const VecX& impulses, VecX* v, Motion* motion);

// Impulses that were added to v* since the tangent was made.
void find_added_impulses(const TimeStep& step, int object, Motion* motion);

// The incremental potential of an object at v, less the work of `added` [J]; and its change from one velocity
// to another by the tangent.
double calc_potential(const TimeStep& step, int object, const VecX& v, const Motion& motion);
double calc_tangent_change(const TimeStep& step, int object, const VecX& from, const VecX& to,
                           Motion* motion);

// y = A x and x = A^-1 x for the dofs of one object; x and y are of all dofs.
void multiply_A(const Model& model, const Motion& motion, int object, const VecX& x, VecX* y);
void solve_A(const Model& model, const Motion& motion, int object, VecX* x);

}  // namespace capstan
