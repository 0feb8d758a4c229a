#include "capstan/dynamics/objects.h"

#include <algorithm>
#include <cmath>

#include "capstan/dynamics/motion_batch.h"
#include "capstan/dynamics/place_carriers.h"
#include "capstan/dynamics/struck_objects.h"
#include "capstan/math/branch_matrix.h"
#include "capstan/physics/soft_body.h"

namespace capstan {
namespace {

constexpr double kRoundOff = 1e-13;   // of an object's momentum
constexpr double kSafeRoundOff = 10;  // times that of single forces

auto dofs_of(const Object& object, VecX& x) {
  return x.segment(object.dof_begin, object.num_dofs());
}
auto dofs_of(const Object& object, const VecX& x) {
  return x.segment(object.dof_begin, object.num_dofs());
}

ObjectStep make_step(const TimeStep& step, int id, const Eigen::Ref<const VecX>& force,
                     const Motion& motion) {
  const Object& object = step.model.objects[id];
  const Scheme own = is_struck(motion, id) ? scheme(Integrator::semi_implicit) : step.scheme;
  return {step.state.q.segment(object.q_begin, object.num_positions()),
          dofs_of(object, step.state.v),
          force,
          step.model.options.gravity,
          step.dt,
          own.theta,
          own.theta_vq,
          own.theta1,
          step.model.options.conserve_momentum};
}

ObjectStep make_step(const TimeStep& step, int id, const Motion& motion) {
  return make_step(step, id, dofs_of(step.model.objects[id], motion.scratch->external), motion);
}

bool factor(ObjectMotion& w) {
  w.has_factor = !w.band.is_worth_it() && w.factor.factor_frozen() && w.factor.factor();
  return w.has_factor || (w.band.is_worth_it() && w.band.factor(w.factor.matrix));
}
void solve_in_place(const ObjectMotion& w, double* x) {
  if (w.band.is_worth_it()) {
    w.band.solve_in_place(x);
  } else {
    w.factor.solve_in_place(x, 1, w.factor.matrix.num_rows());
  }
}

// A = E + factor (A - E), block by block; both have the same blocks.
void go_from(const BlockMatrix& E, double factor, BlockMatrix* A) {
  for (int j = 0; j < A->num_blocks(); ++j) {
    for (int e = A->column_start()[j]; e < A->column_start()[j + 1]; ++e) {
      const int i = A->entry_row()[e], size = A->block_size(i) * A->block_size(j);
      double* a = A->block(i, j);
      const double* from = E.entry_block(e);
      for (int k = 0; k < size; ++k) a[k] = from[k] + factor * (a[k] - from[k]);
    }
  }
}

// Of an exact tangent that is not positive definite and a convex one, which is: the first of
// exact + part (convex - exact), part = 1/64, 1/32, ..., 1, that has a factor. A rod that is about to buckle,
// or that contact keeps from it, needs a tangent near the exact one: by the convex one, which leaves out what
// stress takes from stiffness, each pass would correct less than a hundredth of what is wrong.
bool factor_between(const BlockMatrix& exact, ObjectMotion& w) {
  constexpr double kLeastPart = 1.0 / 64;
  go_from(exact, kLeastPart, &w.factor.matrix);
  for (double part = kLeastPart;; part *= 2) {
    if (factor(w)) return true;
    if (part >= 1) return false;
    go_from(exact, 2, &w.factor.matrix);
  }
}

// The surface of a large soft body on planes of the world: what they touch as it moves now is eliminated
// last, so that one factorization is that of A and of the equations that contacts see
// (solvers/condensation.h). A guess serves: where it misses, those are made anew.
void find_likely(const TimeStep& step, const Object& object, const SoftBody& body,
                 std::vector<char>* likely) {
  constexpr double kMargin = 0.2;      // of the way that gravity moves things in a step
  constexpr double kMostLikely = 0.3;  // of the blocks
  const int n = body.num_nodes();
  const double margin = kMargin * step.dt * step.dt * step.model.options.gravity.norm();
  const double radius = kVertexRadius * body.mean_edge();
  likely->assign(n, 0);
  int count = 0;
  for (const ModelShape& shape : step.model.shapes) {
    if (shape.link != 0 || !shape.collides || !std::holds_alternative<HalfSpace>(shape.shape)) continue;
    const Vec3 normal = shape.X_LS.R.col(2);
    for (int i = 0; i < n; ++i) {
      if (!body.is_on_surface(i)) continue;
      const Vec3 x = step.state.q.segment<3>(object.q_begin + 3 * i),
                 v = step.state.v.segment<3>(object.dof_begin + 3 * i);
      if (normal.dot(x + step.dt * v - shape.X_LS.p) > radius + margin) continue;
      count += (*likely)[i] == 0;
      (*likely)[i] = 1;
    }
  }
  if (count == 0 || count > kMostLikely * n) likely->clear();
}

void order_for_contacts(const TimeStep& step, const Object& object, ObjectMotion* w) {
  const auto* body = dynamic_cast<const SoftBody*>(object.physics.get());
  if (w->order.empty() || body == nullptr) return;
  thread_local std::vector<char> likely;
  find_likely(step, object, *body, &likely);
  if (likely == w->likely) return;
  w->likely = likely;
  BlockPattern pattern{std::vector<int>(body->num_nodes(), 3), w->pairs, {}};
  for (const char is_likely : likely) pattern.frozen.push_back(is_likely == 0);
  w->factor.analyze(pattern, w->order);
  ++w->analysis;
}

// |D x|, D = diag(A)^-1/2.
double scaled_norm(const BlockMatrix& A, const VecX& x) {
  double sum = 0;
  for (int b = 0; b < A.num_blocks(); ++b) {
    const int n = A.block_size(b);
    const double *D = A.block(b, b), *y = x.data() + A.block_start(b);
    for (int k = 0; k < n; ++k) sum += y[k] * y[k] / D[k * (n + 1)];
  }
  return std::sqrt(sum);
}

}  // namespace

void place_carriers(const Model& model, const VecX& q, int id, Placement* placement) {
  const Object& object = model.objects[id];
  auto own = placement->q.segment(object.q_begin, object.num_positions());
  own = q.segment(object.q_begin, object.num_positions());
  const int n = object.link_end - object.link_begin;
  object.physics->place(own, {placement->X_WL.data() + object.link_begin, static_cast<std::size_t>(n)});
  if (n > 0) placement->origin[id] = placement->X_WL[object.link_begin].p;
}

void bend_collider(const Model& model, int id, Placement* placement) {
  const ModelShape& shape = model.shapes[id];
  if (shape.flexible < 0) return;
  const Object& object = model.objects[model.links[shape.link].object];
  object.physics->bend(placement->q.segment(object.q_begin, object.num_positions()),
                       shape.link - object.link_begin, &placement->flexible[shape.flexible]);
}

void place_object(const Model& model, const VecX& q, int id, Placement* placement) {
  place_carriers(model, q, id, placement);
  const Object& object = model.objects[id];
  for (int k = object.flexible_begin; k < object.flexible_end; ++k)
    bend_collider(model, model.flexible_shapes[k], placement);
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

void project_inverse(ObjectMotion& w, std::span<const ColumnsInBlock> B, int num_columns,
                     Eigen::Ref<MatX> W) {
  const auto make_factor = [&] {
    const std::lock_guard lock(w.making_factor);
    if (!w.has_factor) w.has_factor = static_cast<bool>(w.factor.factor());
    return w.has_factor;
  };
  if (make_factor()) {
    w.factor.project_inverse(B, num_columns, W);
    return;
  }
  // A is positive definite for the band by a hair.
  MatX X = MatX::Zero(w.factor.matrix.num_rows(), num_columns);
  for (const ColumnsInBlock& part : B) {
    const int first = w.factor.matrix.block_start(part.block), n = w.factor.matrix.block_size(part.block);
    for (int c = 0; c < part.num_columns; ++c)
      X.col(part.first_column + c).segment(first, n) +=
          Eigen::Map<const VecX>(part.values + c * part.leading_dimension, n);
  }
  const MatX all = X;
  for (int c = 0; c < num_columns; ++c) solve_in_place(w, X.col(c).data());
  W = all.transpose() * X;
}

void calc_object_motion(const TimeStep& step, int id, Motion* motion) {
  ObjectMotion& w = motion_of(step.model, *motion, id);
  w.iterations = 0;
  w.added.setZero();
  order_for_contacts(step, step.model.objects[id], &w);
  set_tangent(step, id, step.state.v, motion);
}

void forget_struck_objects(const Model& model, Motion* motion) {
  motion->scratch->is_struck.assign(model.num_objects(), 0);
}

bool is_struck(const Motion& motion, int id) {
  return motion.scratch->is_struck[id] != 0;
}

void strike_object(const TimeStep& step, int id, const VecX& u, Motion* motion) {
  motion->scratch->is_struck[id] = 1;
  set_tangent(step, id, u, motion);
}

void set_tangent(const TimeStep& step, int id, const VecX& u, Motion* motion) {
  const Model& model = step.model;
  const Object& object = model.objects[id];
  ObjectMotion& w = motion_of(model, *motion, id);
  const ObjectStep own = make_step(step, id, *motion);
  BlockMatrix& A = w.factor.matrix;
  w.u = dofs_of(object, u);
  w.size = object.physics->calc_system(own, w.u, w.m, Tangent::exact, &A);
  w.converged = factor(w);
  if (!w.converged) {
    thread_local BlockMatrix exact;  // its memory is kept
    exact = A;
    w.size = object.physics->calc_system(own, w.u, w.m, Tangent::convex, &A);
    w.converged = factor_between(exact, w);
  }
  ++w.iterations;
  ++w.version;
  w.lightest = kInfinity;
  for (int b = 0; b < A.num_blocks(); ++b) {
    const int n = A.block_size(b), first = object.dof_begin + A.block_start(b);
    for (int k = 0; k < n; ++k) {
      const double diagonal = A.block(b, b)[k * (n + 1)];
      motion->A[model.system_pattern.row_start[first + k + 1] - 1] = diagonal;
      w.lightest = std::min(w.lightest, diagonal);
    }
  }
  w.work = w.added - w.m;
  if (w.converged) solve_in_place(w, w.work.data());
  dofs_of(object, motion->v_star) = w.u + w.work;
}

void shift_tangent(const TimeStep& step, int id, const VecX& u, Motion* motion) {
  const Object& object = step.model.objects[id];
  ObjectMotion& w = motion_of(step.model, *motion, id);
  w.u = dofs_of(object, u);
  w.m = w.m_end + w.added;
  w.work = -w.m_end;
  solve_in_place(w, w.work.data());
  dofs_of(object, motion->v_star) = w.u + w.work;
}

TangentError calc_tangent_error(const TimeStep& step, int id, const VecX& v, double tolerance,
                                Motion* motion) {
  const Object& object = step.model.objects[id];
  ObjectMotion& w = motion_of(step.model, *motion, id);
  const BlockMatrix& A = w.factor.matrix;
  TangentError e;
  if (object.physics->is_linear()) {
    w.residual = 0;
    e.is_small = w.converged;  // A has a factor
    return e;
  }
  const ObjectStep own = make_step(step, id, *motion);
  object.physics->calc_system(own, dofs_of(object, v), w.m_end, Tangent::exact, nullptr);
  w.dv = dofs_of(object, v) - w.u;
  A.multiply(w.dv.data(), w.work.data());
  e.change = scaled_norm(A, w.work);
  w.work += w.m - w.added;  // the impulses of constraints, as the tangent has them
  const double constraints = scaled_norm(A, w.work);
  w.m_end -= w.added;
  w.work -= w.m_end;
  e.error = scaled_norm(A, w.work);
  const double root = std::sqrt(w.lightest), size = std::max(constraints, w.size.largest / root);
  e.allowed = tolerance * size + kSafeRoundOff * w.size.round_off / root;
  if (e.error > e.allowed) {
    A.multiply(own.v0.data(), w.work.data());
    e.allowed += kRoundOff * scaled_norm(A, w.work);
  }
  e.is_small = e.error <= e.allowed;
  w.residual = e.error > 0 ? e.error / std::max(size, 1e-300) : 0;
  return e;
}

void correct_tangent(const TimeStep& step, int id, const VecX& v, Motion* motion) {
  const Object& object = step.model.objects[id];
  ObjectMotion& w = motion_of(step.model, *motion, id);
  if (object.physics->is_linear()) return;  // it is that already
  w.work = -w.m_end;
  solve_in_place(w, w.work.data());
  dofs_of(object, motion->v_star) = dofs_of(object, v) + w.work;
}

void balance_object(const TimeStep& step, int id, const VecX& impulses, VecX* v, Motion* motion) {
  const Object& object = step.model.objects[id];
  ObjectMotion& w = motion_of(step.model, *motion, id);
  w.work = dofs_of(object, *v);
  w.dv = dofs_of(object, motion->scratch->external) + dofs_of(object, impulses) / step.dt;
  object.physics->balance(make_step(step, id, w.dv, *motion), w.work);
  dofs_of(object, motion->v_star) += w.work - dofs_of(object, *v);
  dofs_of(object, *v) = w.work;
}

void find_added_impulses(const TimeStep& step, int id, Motion* motion) {
  const Object& object = step.model.objects[id];
  ObjectMotion& w = motion_of(step.model, *motion, id);
  w.work = w.u - dofs_of(object, motion->v_star);
  w.factor.matrix.multiply(w.work.data(), w.added.data());
  w.added = w.m - w.added;
}

double calc_potential(const TimeStep& step, int id, const VecX& v, const Motion& motion) {
  const Object& object = step.model.objects[id];
  const ObjectMotion& w = motion_of(step.model, motion, id);
  return object.physics->calc_potential(make_step(step, id, motion), dofs_of(object, v)) -
         w.added.dot(dofs_of(object, v) - w.u);
}

double calc_tangent_change(const TimeStep& step, int id, const VecX& from, const VecX& to, Motion* motion) {
  const Object& object = step.model.objects[id];
  ObjectMotion& w = motion_of(step.model, *motion, id);
  w.dv = 0.5 * (dofs_of(object, from) + dofs_of(object, to)) - w.u;
  w.factor.matrix.multiply(w.dv.data(), w.work.data());
  return (dofs_of(object, to) - dofs_of(object, from)).dot(w.m - w.added + w.work);
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
    solve_in_place(motion_of(model, motion, id), x->data() + object.dof_begin);
  }
}

}  // namespace capstan
