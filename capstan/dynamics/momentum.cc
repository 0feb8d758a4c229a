#include "capstan/dynamics/momentum.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "capstan/math/clones.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

// Velocity::V of a tree; its rates are not needed here.
CAPSTAN_CLONES void calc_link_velocities(const Model& model, const Placement& placement, const VecX& v,
                                         const Tree& tree, Velocity* velocity) {
  for (int l = tree.link_begin; l < tree.link_end; ++l) {
    const Link& link = model.links[l];
    Vec6 V = link.parent == 0 ? Vec6(Vec6::Zero()) : velocity->V[link.parent];
    for (int k = link.dof_begin; k < link.dof_end; ++k) V += v[k] * placement.S[k];
    velocity->V[l] = V;
  }
}

CAPSTAN_CLONES CompositeTree calc_composite(const Model& model, const Placement& placement,
                                            const Velocity& velocity, int t) {
  const Tree& tree = model.trees[t];
  RigidInertia I;
  Vec6 h = Vec6::Zero();
  for (int l = tree.link_begin; l < tree.link_end; ++l) {
    I += placement.inertia[l];
    h += placement.inertia[l] * velocity.V[l];
  }
  return make_composite(I, h, placement.origin[t]);
}

Mat3 parallel_axis(double mass, const Vec3& d) {
  return mass * (d.squaredNorm() * Mat3::Identity() - d * d.transpose());
}

struct Center {
  double mass = 0;
  Vec3 com = Vec3::Zero();  // world
};
Center calc_center(const Model& model, const Placement& placement, int t) {
  double mass = 0;
  Vec3 h = Vec3::Zero();
  for (int l = model.trees[t].link_begin; l < model.trees[t].link_end; ++l) {
    mass += placement.inertia[l].mass;
    h += placement.inertia[l].h;
  }
  return {mass, placement.origin[t] + h / mass};
}

// Gravity on a tree: force, and moment about a point.
Vec6 calc_weight(const Model& model, const Placement& placement, int t, const Center& center,
                 const Vec3& about) {
  double mass = center.mass;
  Vec3 arm = mass * (center.com - about);
  for (int l = model.trees[t].link_begin; l < model.trees[t].link_end; ++l) {
    const Link& link = model.links[l];
    if (link.weightless_mass == 0) continue;
    mass -= link.weightless_mass;
    arm -= link.weightless_mass * (placement.X_WL[l] * link.weightless_com - about);
  }
  Vec6 f;
  f << cross(arm, model.options.gravity), mass * model.options.gravity;
  return f;
}

// Whether f(i) holds for each position of a tree.
template <class F>
bool all_positions(const Model& model, const Tree& tree, const F& f) {
  const int end = model.links[tree.link_end - 1].stage_end;
  for (int s = model.links[tree.link_begin].stage_begin; s < end; ++s) {
    const Stage& stage = model.stages[s];
    const int n = stage.type == StageType::free ? 7 : stage.type == StageType::ball ? 4 : 1;
    for (int i = stage.q; i < stage.q + n; ++i) {
      if (!f(i)) return false;
    }
  }
  return true;
}

// Angular momentum is about the centre of mass (free) or the joint's centre (ball).
Vec3 arm_to_com(const Stage& stage, const CompositeTree& composite, const Transform& X) {
  return composite.com - X * (stage.type == StageType::free ? Vec3::Zero() : stage.position);
}

}  // namespace

CompositeTree make_composite(const RigidInertia& I, const Vec6& h, const Vec3& origin) {
  const Vec3 c = I.h / I.mass;
  return {I.mass, origin + c,
          I.rotational() - I.mass * (c.squaredNorm() * Mat3::Identity() - c * c.transpose()), h.tail<3>(),
          h.head<3>() - cross(c, h.tail<3>())};
}

bool is_isotropic(const Mat3& inertia) {
  const double i = inertia(0, 0);
  return (inertia - i * Mat3::Identity()).cwiseAbs().maxCoeff() <= 1e-15 * i;
}

Vec3 solve_turn(const Mat3& I, const Vec3& l, const Vec3& w0, const Vec3& target, double dt, double theta_vq,
                Vec3 w) {
  Vec3 phi, u, carried;  // u and carried: w and target in the axes that the turn ends with
  Mat3 E;
  const auto error = [&](const Vec3& guess) -> Vec3 {
    phi = dt * (theta_vq * guess + (1 - theta_vq) * w0);
    E = rotation_matrix(quat_exp(-phi));
    u = theta_vq == 1 ? guess : Vec3(E * guess);
    carried = E * target;
    return carried - I * u - l;
  };
  Vec3 e = error(w);
  const double size = target.norm(), enough = 1e-16 * size;
  if (!(e.norm() < 1e-2 * size)) {  // a poor guess: is the old velocity a better one?
    if (const Vec3 e0 = error(w0); !(e.norm() <= e0.norm())) {
      w = w0;
      e = e0;
    } else {
      e = error(w);
    }
  }
  for (int i = 0; i < 30 && e.norm() > enough; ++i) {
    const double before = e.norm();
    const Mat3 J_l = dt * theta_vq * left_jacobian(-phi);
    const Mat3 J = (theta_vq == 1 ? I : Mat3(I * (E + skew(u) * J_l))) - skew(carried) * J_l;
    Vec3 d = J.inverse() * e;
    Vec3 e_try = error(w + d);
    // Shorter steps are of use far from the root only; near it what is left is round-off.
    for (int k = 0; k < 10 && before > 1e-12 * size && !(e_try.norm() < before); ++k) {
      d /= 2;
      e_try = error(w + d);
    }
    if (!(e_try.norm() < before)) break;
    w += d;
    e = e_try;
    if (before < 1e-9 * size) break;  // as good as it gets: Newton doubles the digits
  }
  return w;
}

MomentumWorkspace make_momentum_workspace(const Model& model) {
  return {make_placement(model),
          VecX::Constant(model.num_positions, std::numeric_limits<double>::quiet_NaN()), make_velocity(model),
          VecX::Zero(model.num_velocities())};
}

bool copy_placement(const Model& model, const MomentumWorkspace& w, const VecX& q, int t,
                    Placement* placement) {
  const Tree& tree = model.trees[t];
  const bool is_known = all_positions(
      model, tree, [&](int i) { return q[i] == w.q[i] && std::signbit(q[i]) == std::signbit(w.q[i]); });
  if (!is_known) return false;
  const auto copy = [](const auto& from, int begin, int end, auto* to) {
    std::copy(from.begin() + begin, from.begin() + end, to->begin() + begin);
  };
  copy(w.placement.X_WL, tree.link_begin, tree.link_end, &placement->X_WL);
  copy(w.placement.p_OL, tree.link_begin, tree.link_end, &placement->p_OL);
  copy(w.placement.inertia, tree.link_begin, tree.link_end, &placement->inertia);
  copy(w.placement.S, tree.dof_begin, tree.dof_end, &placement->S);
  placement->origin[t] = w.placement.origin[t];
  return true;
}

bool take_placement(const VecX& q, MomentumWorkspace* w, Placement* placement) {
  const std::size_t bytes = sizeof(double) * static_cast<std::size_t>(q.size());
  if (bytes == 0 || std::memcmp(q.data(), w->q.data(), bytes) != 0 || q.hasNaN()) return false;
  std::swap(w->placement, *placement);
  w->q.setConstant(std::numeric_limits<double>::quiet_NaN());
  return true;
}

bool conserves_momentum(const Model& model, int t) {
  const Link& root = model.links[model.trees[t].link_begin];
  if (root.stage_end != root.stage_begin + 1) return false;
  const StageType type = model.stages[root.stage_begin].type;
  if (type != StageType::free && type != StageType::ball) return false;
  for (int k = root.dof_begin; k < root.dof_end; ++k) {
    if (model.dofs[k].rotor_inertia != 0) return false;
  }
  return true;
}

void balance_momentum(const Model& model, int t, const State& state, const Placement& start,
                      const Velocity& start_velocity, const Placement& at_forces, const VecX& force,
                      double dt, double theta_vq, MomentumWorkspace* w, VecX* v) {
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const Stage& stage = model.stages[root.stage_begin];
  const CompositeTree before = calc_composite(model, start, start_velocity, t);
  CompositeTree after;
  Transform X1;
  if (tree.link_end == tree.link_begin + 1) {
    const bool is_free = stage.type == StageType::free;
    after.mass = root.mass;
    X1 = start.X_WL[tree.link_begin];
    after.com = X1 * root.com;
    after.inertia = X1.R * root.inertia * X1.R.transpose();
    const Vec3 omega = root.X_PL.R * v->segment<3>(is_free ? stage.v + 3 : stage.v);
    after.L = after.inertia * omega;
    if (is_free) {
      after.P = root.mass * (root.X_PL.R * v->segment<3>(stage.v) + cross(omega, Vec3(after.com - X1.p)));
    } else {
      after.P = root.mass * cross(omega, arm_to_com(stage, after, X1));
    }
  } else {
    for (int k = tree.dof_begin; k < tree.dof_end; ++k)
      w->v_vq[k] = theta_vq * (*v)[k] + (1 - theta_vq) * state.v[k];
    move(model, state.q, w->v_vq, dt, &w->q, root.stage_begin, model.links[tree.link_end - 1].stage_end);
    calc_placement(model, w->q, &w->placement, tree.link_begin, tree.link_end);
    calc_link_velocities(model, w->placement, *v, tree, &w->velocity);
    after = calc_composite(model, w->placement, w->velocity, t);
    X1 = w->placement.X_WL[tree.link_begin];
  }
  balance_root(model, t, state, start, before, at_forces, force, dt, theta_vq, after, X1, v);
}

void balance_root(const Model& model, int t, const State& state, const Placement& start,
                  const CompositeTree& before, const Placement& at_forces, const VecX& force, double dt,
                  double theta_vq, const CompositeTree& after, const Transform& X1, VecX* v) {
  const Tree& tree = model.trees[t];
  const Link& root = model.links[tree.link_begin];
  const Stage& stage = model.stages[root.stage_begin];
  const bool is_free = stage.type == StageType::free;
  const Mat3& F = root.X_PL.R;  // axes of the root's velocities
  const int iw = is_free ? stage.v + 3 : stage.v;
  const Transform& X0 = start.X_WL[tree.link_begin];
  const Vec3 f = is_free ? Vec3(F * force.segment<3>(stage.v)) : Vec3::Zero();
  const Center center = calc_center(model, at_forces, t);
  Vec3 P = Vec3::Zero(), L = Vec3::Zero();  // wanted
  if (is_free) {
    // Gravity has a moment about the centre of mass where it does not act on every body.
    const Vec6 weight = calc_weight(model, at_forces, t, center, center.com);
    const Vec3 root_from_com = at_forces.X_WL[tree.link_begin].p - center.com;
    P = before.P + dt * (weight.tail<3>() + f);
    L = before.L + dt * (weight.head<3>() + F * force.segment<3>(iw) + cross(root_from_com, f));
  } else {
    const Vec6 weight = calc_weight(model, at_forces, t, center, X0 * stage.position);
    L = before.L + cross(arm_to_com(stage, before, X0), before.P) +
        dt * (weight.head<3>() + F * force.segment<3>(iw));
  }

  // The tree's shape at q1, in root axes.
  const Vec3 arm = arm_to_com(stage, after, X1), omega = F * v->segment<3>(iw),
             w0 = F * state.v.segment<3>(iw);
  Mat3 inertia = after.inertia;
  Vec3 L_now = after.L;
  if (!is_free) {
    inertia += parallel_axis(after.mass, arm);
    L_now += cross(arm, after.P);
  }
  const Mat3 I = X1.R.transpose() * inertia * X1.R;
  const Vec3 l = X1.R.transpose() * (L_now - inertia * omega);
  const bool is_ball = is_free && tree.link_end == tree.link_begin + 1 && is_isotropic(root.inertia);
  const Vec3 turned = is_ball ? Vec3(L / root.inertia(0, 0))
                              : Vec3(X0.R * solve_turn(I, l, X0.R.transpose() * w0, X0.R.transpose() * L, dt,
                                                       theta_vq, X0.R.transpose() * omega));
  v->segment<3>(iw) = F.transpose() * turned;
  if (is_free) {
    // P = m (u + w x arm) + p, with arm and p (from the joints) carried along by the root.
    const Vec3 u = F * v->segment<3>(stage.v);
    const Vec3 p = X1.R.transpose() * (after.P - after.mass * (u + cross(omega, arm)));
    const Mat3 R1 = rotation_matrix(quat_exp(dt * (theta_vq * turned + (1 - theta_vq) * w0))) * X0.R;
    const Vec3 arm1 = R1 * (X1.R.transpose() * arm);
    v->segment<3>(stage.v) = F.transpose() * ((P - R1 * p) / after.mass - cross(turned, arm1));
  }
}

void shift_root(const Model& model, const Placement& start, const Velocity& start_velocity, int t,
                const CompositeTree& after, double dt, double theta_vq, VecX* q1) {
  const Link& root = model.links[model.trees[t].link_begin];
  const Vec3 P_before = theta_vq < 1 ? calc_composite(model, start, start_velocity, t).P : Vec3::Zero();
  const Vec3 wanted =
      calc_center(model, start, t).com + dt / after.mass * (theta_vq * after.P + (1 - theta_vq) * P_before);
  q1->segment<3>(model.stages[root.stage_begin].q) += root.X_PL.R.transpose() * (wanted - after.com);
}

void balance_position(const Model& model, const Placement& start, const Velocity& start_velocity,
                      const VecX& v, double dt, double theta_vq, int begin, int end, MomentumWorkspace* w,
                      VecX* q1) {
  for (int t = begin; t < end; ++t) {
    const Tree& tree = model.trees[t];
    const Link& root = model.links[tree.link_begin];
    const Stage& stage = model.stages[root.stage_begin];
    if (stage.type != StageType::free || !conserves_momentum(model, t)) continue;
    if (tree.link_end == tree.link_begin + 1 && root.com.isZero(0))
      continue;  // the origin is the centre of mass
    calc_placement(model, *q1, &w->placement, tree.link_begin, tree.link_end);
    calc_link_velocities(model, w->placement, v, tree, &w->velocity);
    const CompositeTree after = calc_composite(model, w->placement, w->velocity, t);
    shift_root(model, start, start_velocity, t, after, dt, theta_vq, q1);
    shift_placement(model, *q1, t, &w->placement);
    all_positions(model, tree, [&](int i) {
      w->q[i] = (*q1)[i];
      return true;
    });
  }
}

}  // namespace capstan
