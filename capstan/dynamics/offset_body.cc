#include "capstan/dynamics/offset_body.h"

#include "capstan/dynamics/momentum.h"
#include "capstan/dynamics/motion_batch.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

// w x (r1 - r0), in the axes of the dofs.
Vec3 calc_difference(const Model& model, const Placement& start, double dt, int t, const Vec3& turn,
                     const VecX& v) {
  const int l = model.trees[t].link_begin;
  const Link& root = model.links[l];
  const Mat3& F = root.X_PL.R;
  const Vec3 w = F * v.segment<3>(model.stages[root.stage_begin].v + 3), r0 = start.X_WL[l].R * root.com;
  const Vec3 r1 = rotation_matrix(quat_exp(dt * (F * turn))) * r0;
  return F.transpose() * cross(w, Vec3(r1 - r0));
}

int first_dof_of(const Model& model, int t) {
  return model.stages[model.links[model.trees[t].link_begin].stage_begin].v;
}

}  // namespace

bool has_offset(const Model& model, const Motion& motion, int t) {
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  return motion.scratch->is_staggered && model.options.conserve_momentum &&
         tree.link_end == tree.link_begin + 1 && !root.com.isZero(0) && conserves_momentum(model, t) &&
         model.stages[root.stage_begin].type == StageType::free;
}

void tell_at_end(const Model& model, const Motion& motion, double dt, int t, const Vec3& turn, VecX* v) {
  v->segment<3>(first_dof_of(model, t)) -= calc_difference(model, motion.placement, dt, t, turn, *v);
}

void tell_at_start(const Model& model, const Motion& motion, double dt, int t, VecX* v) {
  v->segment<3>(first_dof_of(model, t)) +=
      calc_difference(model, motion.placement, dt, t, v->segment<3>(first_dof_of(model, t) + 3), *v);
}

}  // namespace capstan
