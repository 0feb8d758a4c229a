#include "capstan/dynamics/objects.h"

#include <algorithm>
#include <cmath>

#include "capstan/math/branch_matrix.h"

namespace capstan {
namespace {

constexpr int kMostIterations = 50, kMostHalvings = 20;
constexpr double kSolved = 1e-10;    // of the momentum that free motion changes, or of the largest force
constexpr double kDescent = 1e-4;    // of what the residual would fall by, were it linear
constexpr double kRoundOff = 1e-13;  // of the momentum

auto dofs_of(const Object& object, VecX& x) {
  return x.segment(object.dof_begin, object.num_dofs());
}
auto dofs_of(const Object& object, const VecX& x) {
  return x.segment(object.dof_begin, object.num_dofs());
}

}  // namespace

void place_object(const Model& model, const VecX& q, int id, Placement* placement) {
  const Object& object = model.objects[id];
  auto own = placement->q.segment(object.q_begin, object.num_positions());
  own = q.segment(object.q_begin, object.num_positions());
  const int n = object.link_end - object.link_begin;
  object.physics->place(own, {placement->X_WL.data() + object.link_begin, static_cast<std::size_t>(n)});
  if (n > 0) placement->origin[id] = placement->X_WL[object.link_begin].p;
}

void place_objects(const Model& model, const VecX& q, Placement* placement) {
  for (int i = static_cast<int>(model.trees.size()); i < model.num_objects(); ++i)
    place_object(model, q, i, placement);
}

void calc_twists(const Model& model, const Placement& placement, const VecX& v, int id,
                 std::vector<Vec6>* V) {
  const Object& object = model.objects[id];
  if (!object.is_tree()) {
    const std::size_t n = object.link_end - object.link_begin;
    object.physics->calc_twists(placement.q.segment(object.q_begin, object.num_positions()),
                                dofs_of(object, v), placement.origin[id], {V->data() + object.link_begin, n});
    return;
  }
  for (int l = object.link_begin; l < object.link_end; ++l) {
    const Link& link = model.links[l];
    Vec6 sum = link.parent > 0 ? (*V)[link.parent] : Vec6(Vec6::Zero());
    for (int k = link.dof_begin; k < link.dof_end; ++k) sum += placement.S[k] * v[k];
    (*V)[l] = sum;
  }
}

int calc_point(const Model& model, const Placement& placement, int link, const Vec3& p_W, PointPart* parts) {
  const Object& object = model.objects[model.links[link].object];
  const int n = object.physics->calc_point(placement.q.segment(object.q_begin, object.num_positions()),
                                           link - object.link_begin, p_W, parts);
  for (int i = 0; i < n; ++i) parts[i].block += object.block_begin;
  return n;
}

Vec3 point_velocity(const Model& model, const Placement& placement, const std::vector<Vec6>& V, const VecX& v,
                    int link, const Vec3& p_W) {
  if (link == 0) return Vec3::Zero();
  const int object = model.links[link].object;
  if (model.objects[object].is_tree())
    return V[link].tail<3>() + cross(V[link].head<3>(), Vec3(p_W - placement.origin[object]));
  PointPart parts[kMostPointParts];
  Vec3 sum = Vec3::Zero();
  const int n = calc_point(model, placement, link, p_W, parts);
  for (int i = 0; i < n; ++i) {
    const int first = model.blocks[parts[i].block].dof_begin;
    for (int k = 0; k < parts[i].size; ++k)
      sum += v[first + k] * Eigen::Map<const Vec3>(parts[i].J.data() + 3 * k);
  }
  return sum;
}

void calc_object_motion(const Model& model, const State& state, const VecX& external, double dt,
                        const Scheme& scheme, int id, Motion* motion) {
  const Object& object = model.objects[id];
  ObjectMotion& w = motion_of(model, *motion, id);
  const ObjectStep step{state.q.segment(object.q_begin, object.num_positions()),
                        dofs_of(object, state.v),
                        dofs_of(object, external),
                        model.options.gravity,
                        dt,
                        scheme.theta,
                        scheme.theta_vq,
                        scheme.theta1};
  BlockMatrix& A = w.factor.matrix;
  const auto scaled_norm = [&](const VecX& x) {
    double sum = 0;
    for (int k = 0; k < object.num_dofs(); ++k)
      sum += x[k] * x[k] / motion->A[model.system_pattern.row_start[object.dof_begin + k + 1] - 1];
    return std::sqrt(sum);
  };
  const auto set_diagonal = [&] {
    for (int b = 0; b < A.num_blocks(); ++b) {
      const int n = A.block_size(b), first = object.dof_begin + A.block_start(b);
      for (int k = 0; k < n; ++k)
        motion->A[model.system_pattern.row_start[first + k + 1] - 1] = A.block(b, b)[k * (n + 1)];
    }
  };
  auto v = dofs_of(object, motion->v_star);
  v = dofs_of(object, state.v);
  const double impulse = object.physics->calc_system(step, v, w.m, &A);
  set_diagonal();
  double lightest = kInfinity;  // [kg]
  for (int k = object.dof_begin; k < object.dof_end; ++k)
    lightest = std::min(lightest, motion->A[model.system_pattern.row_start[k + 1] - 1]);
  double norm = scaled_norm(w.m);
  const double size = std::max(norm, impulse / std::sqrt(lightest));
  A.multiply(step.v0.data(), w.dv.data());
  const double momentum = scaled_norm(w.dv);
  // A scheme that takes nothing from the end of the step, and any scheme of linear forces, is solved at once.
  const bool at_once = object.physics->is_linear() || (scheme.theta == 0 && scheme.theta1 == 0);
  w.converged = true;
  for (w.iterations = 0; !(norm <= kSolved * size + kRoundOff * momentum) && w.converged; ++w.iterations) {
    w.converged = w.iterations < kMostIterations && static_cast<bool>(w.factor.factor());
    if (!w.converged) break;
    w.dv = -w.m;
    w.factor.solve_in_place(w.dv.data(), 1, w.dv.size());
    double alpha = 1, next = 0;
    for (int k = 0; k < kMostHalvings; ++k, alpha /= 2) {
      w.v_try = v + alpha * w.dv;
      object.physics->calc_system(step, w.v_try, w.m_try, &A);
      next = scaled_norm(w.m_try);
      if (at_once || next <= (1 - kDescent * alpha) * norm) break;
    }
    w.converged = std::isfinite(next);
    v = w.v_try;
    std::swap(w.m, w.m_try);
    norm = next;
    if (at_once) {
      ++w.iterations;
      break;
    }
  }
  set_diagonal();
  w.residual = size > 0 ? norm / std::max(size, momentum) : 0;
  w.converged = w.converged && static_cast<bool>(w.factor.factor());  // of the A that the problem gets
}

void multiply_A(const Model& model, const Motion& motion, int id, const VecX& x, VecX* y) {
  const Object& object = model.objects[id];
  if (object.is_tree()) {
    multiply(model.system_pattern, motion.A.data(), x.data(), y->data(), object.dof_begin, object.dof_end);
  } else {
    motion_of(model, motion, id)
        .factor.matrix.multiply(x.data() + object.dof_begin, y->data() + object.dof_begin);
  }
}

void solve_A(const Model& model, const Motion& motion, int id, VecX* x) {
  const Object& object = model.objects[id];
  if (object.is_tree()) {
    solve_in_place(model.system_pattern, motion.A_factor.data(), x->data(), object.dof_begin, object.dof_end);
  } else {
    motion_of(model, motion, id).factor.solve_in_place(x->data() + object.dof_begin, 1, object.num_dofs());
  }
}

}  // namespace capstan
