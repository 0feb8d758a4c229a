// Drives leave v* and A (drives.h).
#include <algorithm>
#include <span>

#include "capstan/dynamics/motion_batch.h"

namespace capstan {
namespace {

// f(tree) once for each tree that a transmission acts on.
template <class F>
void each_tree(const Model& model, const Transmission& transmission, const F& f) {
  const auto tree_of = [&](const Transmission::Term& term) { return model.dofs[term.dof].object; };
  const auto& terms = transmission.terms;
  if (transmission.tree >= 0) return f(transmission.tree);
  for (auto i = terms.begin(); i != terms.end(); ++i) {
    const int t = tree_of(*i);
    if (std::none_of(terms.begin(), i, [&](const auto& before) { return tree_of(before) == t; })) f(t);
  }
}

// c A^-1 c^T of a transmission; x is scratch.
double calc_delassus(const Model& model, const Motion& motion, const Transmission& c, VecX* x) {
  const BranchPattern& pattern = model.system_pattern;
  if (c.terms.size() == 1) {
    const int dof = c.terms[0].dof, n = pattern.row_size(dof);
    x->head(n).setZero();
    (*x)[n - 1] = c.terms[0].coefficient;
    half_solve_in_place(pattern, motion.A_factor.data(), dof, x->data());
    return x->head(n).squaredNorm();
  }
  double sum = 0;
  each_tree(model, c, [&](int t) {
    const Tree& tree = model.trees[t];
    x->segment(tree.dof_begin, tree.num_dofs()).setZero();
    for (const auto& term : c.terms) {
      if (term.dof >= tree.dof_begin && term.dof < tree.dof_end) (*x)[term.dof] += term.coefficient;
    }
    solve_in_place(pattern, motion.A_factor.data(), x->data(), tree.dof_begin, tree.dof_end);
    for (const auto& term : c.terms) {
      if (term.dof >= tree.dof_begin && term.dof < tree.dof_end) sum += term.coefficient * (*x)[term.dof];
    }
  });
  return sum;
}

}  // namespace

void release_drives(const Model& model, const State& state, double dt, const Scheme& scheme,
                    std::span<char> trees, Motion* motion) {
  enum : char { kNo, kYes, kOldSystem, kNewSystem };  // the last two have drives
  const double kk = dt * dt * scheme.theta1 * scheme.theta_vq, dd = dt * scheme.theta1;
  Motion::Scratch& s = *motion->scratch;
  const std::size_t first = motion->released.size();
  if (dd == 0) return;
  for (bool more = true; more;) {
    more = false;
    for (const Drive& drive : motion->drives) {
      int marked = 0, count = 0;
      if (drive.transmission.tree >= 0) continue;
      each_tree(model, drive.transmission, [&](int t) { ++count, marked += trees[t] != kNo; });
      if (marked == 0 || marked == count) continue;
      each_tree(model, drive.transmission, [&](int t) { trees[t] = kYes; });
      more = true;
    }
  }
  for (int i = 0; i < static_cast<int>(motion->drives.size()); ++i) {
    const Drive& drive = motion->drives[i];
    const Transmission& c = drive.transmission;
    if (trees[model.dofs[c.terms.front().dof].object] == kNo) continue;
    // s.q and s.v are still where k_1 was evaluated last, which is at v*.
    const DriveForce f = calc_drive_force(model, drive, s.q, s.v, state.control);
    ReleasedDrive r{i, 0, dt * f.force, kk * f.stiffness + dd * f.damping, dt * f.lower, dt * f.upper};
    for (const auto& term : c.terms) r.rate += term.coefficient * motion->v_star[term.dof];
    motion->released.push_back(r);
    each_tree(model, c, [&](int t) { trees[t] = std::max(trees[t], char{kOldSystem}); });
    for (const Drive::Member& member : drive.members) {
      ForceGradient::Term& gradient = s.gradient.terms[s.gradient.first_actuator + member.actuator];
      if (gradient.stiffness == 0 && gradient.damping == 0) continue;
      gradient.stiffness = gradient.damping = 0;
      trees[c.tree] = kNewSystem;
    }
  }
  for (const MotionBatch& b : s.batches) {
    for (int t = b.tree_begin; t < b.tree_end; ++t) {
      const Tree& tree = model.trees[t];
      if (trees[t] == kNewSystem) make_system(model, b, tree.dof_begin, tree.dof_end, dt, scheme, motion);
      s.dv.segment(tree.dof_begin, tree.num_dofs()).setZero();
    }
  }
  for (ReleasedDrive& r : std::span(motion->released).subspan(first)) {
    const Transmission& c = motion->drives[r.drive].transmission;
    r.delassus = calc_delassus(model, *motion, c, &s.v_trial);
    for (const auto& term : c.terms)
      s.dv[term.dof] -= term.coefficient * std::clamp(r.impulse, r.lower, r.upper);
  }
  for (int t = 0; t < static_cast<int>(model.trees.size()); ++t) {
    if (trees[t] < kOldSystem) continue;
    const int begin = model.trees[t].dof_begin, end = model.trees[t].dof_end;
    solve_in_place(model.system_pattern, motion->A_factor.data(), s.dv.data(), begin, end);
    motion->v_star.segment(begin, end - begin) += s.dv.segment(begin, end - begin);
  }
}

}  // namespace capstan
