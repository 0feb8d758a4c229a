#include "capstan/dynamics/free_body.h"

#include <algorithm>
#include <iterator>

#include "capstan/dynamics/free_turn.h"
#include "capstan/dynamics/momentum.h"
#include "capstan/dynamics/motion_batch.h"

namespace capstan {

bool is_free_body(const Model& model, int t) {
  const Tree& tree = model.trees[t];
  const Link& link = model.links[tree.link_begin];
  return tree.link_end == tree.link_begin + 1 && link.stage_end == link.stage_begin + 1 &&
         model.stages[link.stage_begin].type == StageType::free && conserves_momentum(model, t) &&
         link.com.isZero(0) && link.weightless_mass == 0;
}

void calc_free_body(const Model& model, const State& state, const VecX& force, double dt,
                    const Scheme& scheme, int t, Motion* motion) {
  const Tree& tree = model.trees[t];
  const Link& link = model.links[tree.link_begin];
  const int iv = tree.dof_begin, iw = iv + 3;
  const Mat3& F = link.X_PL.R;  // axes of the velocities
  const double m = link.mass;
  const auto v0 = state.v.segment<3>(iv), w0 = state.v.segment<3>(iw);
  motion->v_star.segment<3>(iv) =
      v0 + dt * (F.transpose() * model.options.gravity + force.segment<3>(iv) / m);

  const Mat3 R = F.transpose() * motion->placement.X_WL[tree.link_begin].R;  // body axes to those of the dofs
  Mat3 I;
  FreeTurn& free_turn = motion->scratch->turns_freely[t];
  free_turn = find_free_turn(model, state, dt, *motion, t);
  if (is_isotropic(link.inertia)) {
    I = link.inertia;
    motion->v_star.segment<3>(iw) = w0 + dt / I(0, 0) * force.segment<3>(iw);
  } else {
    I = R * link.inertia * R.transpose();
    const Vec3 w = R.transpose() * w0, L = link.inertia * w, n = R.transpose() * force.segment<3>(iw);
    if (free_turn != FreeTurn::none) {
      Vec3 g;
      motion->v_star.segment<3>(iw) =
          R * calc_mean_turn(link.inertia,
                             free_turn == FreeTurn::spin ? motion->scratch->spinners[t] : Spinner{},
                             L + dt * n, dt, &g);
      motion->scratch->turn.segment<3>(iw) = R * g;
    } else {
      const Vec3 inverse = link.inertia.diagonal().cwiseInverse();  // for the guess, near enough for any body
      const Vec3 guess = w + dt * inverse.cwiseProduct(n - cross(w, L));
      motion->v_star.segment<3>(iw) =
          R * solve_turn(link.inertia, Vec3::Zero(), w, L + dt * n, dt, scheme.theta_vq, guess);
    }
  }

  // Rows of the lower triangle, one after the other; H = L^T D L.
  const int at = model.system_pattern.row_start[iv];
  double *A = motion->A.data() + at, *H = motion->A_factor.data() + at;
  const double d2 = I(2, 2), l20 = I(2, 0) / d2, l21 = I(2, 1) / d2;
  const double d1 = I(1, 1) - l21 * I(2, 1), a10 = I(1, 0) - l21 * I(2, 0), l10 = a10 / d1;
  const double d0 = I(0, 0) - l20 * I(2, 0) - l10 * a10;
  const double rows[] = {m, 0, m,       0,       0, m, 0, 0,       0,       I(0, 0), 0,
                         0, 0, I(1, 0), I(1, 1), 0, 0, 0, I(2, 0), I(2, 1), d2};
  const double factor[] = {m, 0, m, 0, 0, m, 0, 0, 0, d0, 0, 0, 0, l10, d1, 0, 0, 0, l20, l21, d2};
  std::copy(std::begin(rows), std::end(rows), A);
  std::copy(std::begin(factor), std::end(factor), H);
}

}  // namespace capstan
