#include "capstan/dynamics/tree.h"

#include <cmath>

#include "capstan/dynamics/objects.h"
#include "capstan/math/clones.h"
#include "capstan/math/lanes.h"
#include "capstan/math/rotation.h"
#include "capstan/model/mocap.h"

namespace capstan {
namespace {

// Motion about O of a unit turn about a unit axis through p (relative to O).
inline Vec6 turn(const Vec3& axis, const Vec3& p) {
  Vec6 S;
  S << axis, cross(p, axis);
  return S;
}

inline Vec6 slide(const Vec3& axis) {
  Vec6 S;
  S << 0, 0, 0, axis;
  return S;
}

inline int stage_dofs(StageType type) {
  return type == StageType::ball ? 3 : type == StageType::free ? 6 : 1;
}

// X is turned about its own axis a, which is a_W in the world: Rodrigues' formula on its axes,
// a_W . x_j = a_j.
CAPSTAN_INLINE inline void turn(const Vec3& a, const Four& a_W, double angle, Frame* X) {
  const double c = std::cos(angle), s = std::sin(angle);
  const auto turn_plane = [&](Four& x, Four& y, double sine) CAPSTAN_INLINE {
    const Four before = x;
    x = c * x + sine * y;
    y = c * y - sine * before;
  };
  // About one of its axes the other two turn in their plane.
  if (std::abs(a[0]) == 1) return turn_plane(X->y, X->z, a[0] * s);
  if (std::abs(a[1]) == 1) return turn_plane(X->z, X->x, a[1] * s);
  if (std::abs(a[2]) == 1) return turn_plane(X->x, X->y, a[2] * s);
  const auto turn_axis = [&](Four& x, double a_j) CAPSTAN_INLINE {
    Four across;
    cross(a_W, x, &across);
    x = c * x + s * across + (1 - c) * a_j * a_W;
  };
  turn_axis(X->x, a[0]);
  turn_axis(X->y, a[1]);
  turn_axis(X->z, a[2]);
}

// Moves X by the stage's motion, along or about axis_W through anchor_W.
CAPSTAN_INLINE inline void apply_stage(const Stage& stage, double q, Frame* X, Four* axis_W, Four* anchor_W) {
  Four arm;
  rotate(*X, stage.position.data(), &arm);
  rotate(*X, stage.axis.data(), axis_W);
  *anchor_W = X->p + arm;
  const double angle = q - stage.reference;
  if (stage.type == StageType::prismatic) {
    X->p += angle * *axis_W;
    return;
  }
  turn(stage.axis, *axis_W, angle, X);
  rotate(*X, stage.position.data(), &arm);
  X->p = *anchor_W - arm;
  if (stage.type == StageType::screw) X->p += stage.pitch * angle * *axis_W;
}

// Force that takes back the gravity on the part of a link that gravity does not act on.
Vec6 weight_not_felt(const Model& model, const Placement& placement, int l) {
  const Link& link = model.links[l];
  const Vec3 weight = link.weightless_mass * model.options.gravity;
  Vec6 f;
  f << cross(Vec3(placement.X_WL[l] * link.weightless_com - placement.origin[link.object]), weight), weight;
  return f;
}

// The velocity of a free root, whose axes F do not turn and whose origin is the tree's.
inline void calc_free_velocity(int iv, const Mat3& F, const VecX& v, int l, Velocity* velocity) {
  const Vec3 linear = F * v.segment<3>(iv), angular = F * v.segment<3>(iv + 3);
  velocity->V[l] << angular, linear;
  velocity->bias[l] << 0, 0, 0, cross(linear, angular);
  for (int k = 0; k < 3; ++k) {
    velocity->S_dot[iv + k].setZero();
    velocity->S_dot[iv + 3 + k] << 0, 0, 0, cross(linear, Vec3(F.col(k)));
  }
}

// make_rigid_inertia() of a link with the axes of X, its centre of mass c from O.
CAPSTAN_INLINE inline void calc_inertia(const Link& link, const Frame& X, const Four& c, RigidInertia* I) {
  Four Bx, By, Bz;  // R B, then the diagonal of R B R^T, and its entries (xy, yz, zx)
  rotate(X, link.inertia, &Bx, &By, &Bz);
  const Four square = c * c;
  const Four diagonal =
      Bx * X.x + By * X.y + Bz * X.z + link.mass * (CAPSTAN_YZX(square) + CAPSTAN_ZXY(square));
  const Four others = Bx * CAPSTAN_YZX(X.x) + By * CAPSTAN_YZX(X.y) + Bz * CAPSTAN_YZX(X.z) -
                      link.mass * (c * CAPSTAN_YZX(c));
  I->mass = link.mass;
  store(link.mass * c, I->h.data());
  I->xx = diagonal[0], I->yy = diagonal[1], I->zz = diagonal[2];
  I->xy = others[0], I->yz = others[1], I->xz = others[2];
}

}  // namespace

Placement make_placement(const Model& model) {
  Placement p;
  p.X_WL.resize(model.num_links());
  p.inertia.resize(model.num_links());
  p.p_OL.assign(model.num_links(), Vec3::Zero());
  p.origin.assign(model.objects.size(), Vec3::Zero());
  if (has_objects_beside_trees(model)) p.q = VecX::Zero(model.num_positions);
  p.S.assign(model.num_velocities(), Vec6::Zero());
  for (const int shape : model.flexible_shapes) p.flexible.push_back(model.shapes[shape].collider);
  return p;
}

Velocity make_velocity(const Model& model) {
  Velocity velocity;
  velocity.V.assign(model.num_links(), Vec6::Zero());
  velocity.bias.assign(model.num_links(), Vec6::Zero());
  velocity.S_dot.assign(model.num_velocities(), Vec6::Zero());
  return velocity;
}

TreeWorkspace make_tree_workspace(const Model& model) {
  TreeWorkspace w;
  const int n = model.num_links();
  w.acceleration.assign(n, Vec6::Zero());
  w.force.assign(n, Vec6::Zero());
  w.composite.resize(n);
  w.articulated.assign(n, Mat6::Zero());
  w.U.assign(n, Mat6::Zero());
  w.D.assign(n, Mat6::Zero());
  w.u.assign(n, Vec6::Zero());
  return w;
}

void calc_placement(const Model& model, const VecX& q, Placement* placement) {
  calc_placement(model, q, placement, 1, model.num_tree_links());
  place_objects(model, q, placement);
}

void calc_velocity(const Model& model, const Placement& placement, const VecX& v, Velocity* velocity) {
  calc_velocity(model, placement, v, velocity, 1, model.num_tree_links());
  for (int i = static_cast<int>(model.trees.size()); i < model.num_objects(); ++i)
    calc_twists(model, placement, v, i, &velocity->V);
}

// Where the root is in the world enters only its own p_OL (zero) and, at the end, the links' positions: a
// free tree that is shifted has the same bits in all else.
CAPSTAN_CLONES void calc_placement(const Model& model, const VecX& q, Placement* placement, int begin,
                                   int end) {
  Frame X;  // positions are from O, of the root meanwhile from the world's origin
  for (int l = begin; l < end; ++l) {
    const Link& link = model.links[l];
    const bool is_root = link.parent == 0;
    if (is_root) {
      load(link.X_PL, &X);
    } else {
      if (link.parent != l - 1) {  // else it is still at hand
        load(placement->X_WL[link.parent], &X);
        load(placement->p_OL[link.parent].data(), &X.p);
      }
      multiply(X, link.X_PL, &X);
    }
    Four anchors[6];
    for (int s = link.stage_begin; s < link.stage_end; ++s) {
      const Stage& stage = model.stages[s];
      Vec6* S = &placement->S[stage.v];
      Four* anchor = anchors + (stage.v - link.dof_begin);
      if (stage.type == StageType::free || stage.type == StageType::ball) {
        const bool is_free = stage.type == StageType::free;
        Four arm;
        rotate(X, is_free ? &q[stage.q] : stage.position.data(), &arm);
        X.p += arm;
        const int first = is_free ? 3 : 0;
        for (int k = 0; k < first + 3; ++k) anchor[k] = X.p;
        const auto set_axis = [&](const Four& axis, int k) CAPSTAN_INLINE {
          if (is_free) {
            S[k].head<3>().setZero();
            store(axis, S[k].data() + 3);
          }
          store(axis, S[first + k].data());
          S[first + k].tail<3>().setZero();
        };
        set_axis(X.x, 0);
        set_axis(X.y, 1);
        set_axis(X.z, 2);
        rotate(X, rotation_matrix(q.segment<4>(stage.q + first)), &X.x, &X.y, &X.z);
        if (!is_free) {
          rotate(X, stage.position.data(), &arm);
          X.p -= arm;
        }
        continue;
      }
      Four axis_W;
      apply_stage(stage, q[stage.q], &X, &axis_W, anchor);
      if (stage.type == StageType::prismatic) {
        S->head<3>().setZero();
        store(axis_W, S->data() + 3);
      } else {
        store(axis_W, S->data());
        store((stage.type == StageType::screw ? stage.pitch : 0) * axis_W, S->data() + 3);
      }
    }
    Four origin = {0, 0, 0, 0};
    if (is_root) {
      origin = X.p;
      store(origin, placement->origin[link.object].data());
    }
    for (int k = link.dof_begin; k < link.dof_end; ++k) {
      Vec6& S = placement->S[k];
      Four axis, moved;
      load(S.data(), &axis);
      cross(anchors[k - link.dof_begin] - origin, axis, &moved);
      S[3] += moved[0], S[4] += moved[1], S[5] += moved[2];
    }
    X.p -= origin;
    Four c;
    rotate(X, link.com.data(), &c);
    calc_inertia(link, X, c + X.p, &placement->inertia[l]);
    store(X.p, placement->p_OL[l].data());
    store(X, &placement->X_WL[l]);
    placement->X_WL[l].p += placement->origin[link.object];
  }
}

void shift_placement(const Model& model, const VecX& q, int t, Placement* placement) {
  const Tree& tree = model.trees[t];
  calc_placement(model, q, placement, tree.link_begin, tree.link_begin + 1);
  for (int l = tree.link_begin + 1; l < tree.link_end; ++l)
    placement->X_WL[l].p = placement->p_OL[l] + placement->origin[t];
}

CAPSTAN_CLONES void calc_velocity(const Model& model, const Placement& placement, const VecX& v,
                                  Velocity* velocity, int begin, int end) {
  for (int l = begin; l < end; ++l) {
    const Link& link = model.links[l];
    if (link.parent == 0 && link.stage_end == link.stage_begin + 1 &&
        model.stages[link.stage_begin].type == StageType::free) {
      calc_free_velocity(model.stages[link.stage_begin].v, link.X_PL.R, v, l, velocity);
      continue;
    }
    Vec6 V = link.parent == 0 ? Vec6(Vec6::Zero()) : velocity->V[link.parent];
    Vec6 bias = Vec6::Zero();
    for (int s = link.stage_begin; s < link.stage_end; ++s) {
      const Stage& stage = model.stages[s];
      int k = stage.v;
      if (stage.type == StageType::free) {  // the slides come before the turns
        const Vec6 V_before = V;
        for (; k < stage.v + 3; ++k) {
          velocity->S_dot[k] = cross_motion(V_before, placement.S[k]);
          V += v[k] * placement.S[k];
        }
      }
      const Vec6 V_before = V;
      const int last = stage.v + stage_dofs(stage.type);
      for (; k < last; ++k) {
        velocity->S_dot[k] = cross_motion(V_before, placement.S[k]);
        V += v[k] * placement.S[k];
      }
      for (k = stage.v; k < last; ++k) bias += v[k] * velocity->S_dot[k];
    }
    velocity->V[l] = V;
    velocity->bias[l] = bias;
  }
}

Transform body_pose(const Model& model, const Placement& placement, int body) {
  const ModelBody& b = model.bodies[body];
  return placement.X_WL[b.link] * b.X_LB;
}

Vec6 body_velocity(const Model& model, const Placement& placement, const Velocity& velocity, int body) {
  const int l = model.bodies[body].link;
  if (l == 0) return Vec6::Zero();
  Vec6 V = velocity.V[l];
  const Vec3 p = body_pose(model, placement, body).p - placement.origin[model.links[l].object];
  V.tail<3>() += cross(V.head<3>(), p);
  return V;
}

void calc_inverse_dynamics(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX* a, TreeWorkspace* w, VecX* tau) {
  calc_inverse_dynamics(model, placement, velocity, a, w, tau, 1, model.num_tree_links());
}

void calc_mass_matrix(const Model& model, const Placement& placement, TreeWorkspace* w, VecX* values) {
  calc_mass_matrix(model, placement, w, values, 1, model.num_tree_links());
}

CAPSTAN_CLONES void calc_inverse_dynamics(const Model& model, const Placement& placement,
                                          const Velocity& velocity, const VecX* a, TreeWorkspace* w,
                                          VecX* tau, int begin, int end) {
  const Vec6 minus_g = slide(-model.options.gravity);
  for (int l = begin; l < end; ++l) {
    const Link& link = model.links[l];
    Vec6 A = (link.parent == 0 ? minus_g : w->acceleration[link.parent]) + velocity.bias[l];
    if (a != nullptr) {
      for (int k = link.dof_begin; k < link.dof_end; ++k) A += (*a)[k] * placement.S[k];
    }
    w->acceleration[l] = A;
    const RigidInertia& I = placement.inertia[l];
    w->force[l] = I * A + cross_force(velocity.V[l], I * velocity.V[l]);
    if (link.weightless_mass > 0) w->force[l] += weight_not_felt(model, placement, l);
  }
  for (int l = end - 1; l >= begin; --l) {
    const Link& link = model.links[l];
    for (int k = link.dof_begin; k < link.dof_end; ++k) {
      (*tau)[k] = placement.S[k].dot(w->force[l]);
      if (a != nullptr) (*tau)[k] += model.dofs[k].rotor_inertia * (*a)[k];
    }
    if (link.parent > 0) w->force[link.parent] += w->force[l];
  }
}

CAPSTAN_CLONES void calc_mass_matrix(const Model& model, const Placement& placement, TreeWorkspace* w,
                                     VecX* values, int begin_link, int end_link) {
  for (int l = begin_link; l < end_link; ++l) w->composite[l] = placement.inertia[l];
  for (int l = end_link - 1; l >= begin_link; --l) {
    const Link& link = model.links[l];
    if (link.parent > 0) w->composite[link.parent] += w->composite[l];
    for (int k = link.dof_begin; k < link.dof_end; ++k) {
      const Vec6 F = w->composite[l] * placement.S[k];
      const int begin = model.pattern.row_start[k], end = model.pattern.row_start[k + 1];
      for (int i = begin; i < end; ++i) {
        const double* S = placement.S[model.pattern.columns[i]].data();
        (*values)[i] = (S[0] * F[0] + S[1] * F[1] + S[2] * F[2]) + (S[3] * F[3] + S[4] * F[4] + S[5] * F[5]);
      }
      (*values)[end - 1] += model.dofs[k].rotor_inertia;
    }
  }
}

void calc_forward_dynamics(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX& tau, TreeWorkspace* w, VecX* a) {
  const int n = model.num_tree_links();
  for (int l = 1; l < n; ++l) {
    const Link& link = model.links[l];
    const RigidInertia& I = placement.inertia[l];
    w->articulated[l] = to_matrix(I);
    w->force[l] = cross_force(velocity.V[l], I * velocity.V[l]);
    if (link.weightless_mass > 0) w->force[l] += weight_not_felt(model, placement, l);
  }
  for (int l = n - 1; l > 0; --l) {
    const Link& link = model.links[l];
    const int m = link.dof_end - link.dof_begin;
    Mat6& U = w->U[l];
    Mat6& D = w->D[l];
    Vec6& u = w->u[l];
    for (int i = 0; i < m; ++i) {
      const int k = link.dof_begin + i;
      U.col(i).noalias() = w->articulated[l] * placement.S[k];
      for (int j = 0; j <= i; ++j) D(i, j) = placement.S[link.dof_begin + j].dot(U.col(i));
      D(i, i) += model.dofs[k].rotor_inertia;
      u[i] = tau[k] - placement.S[k].dot(w->force[l]);
    }
    // Cholesky of the leading m x m block in place, then U <- U L^-T and u <- L^-1 u.
    for (int j = 0; j < m; ++j) {
      for (int k = 0; k < j; ++k) D(j, j) -= D(j, k) * D(j, k);
      D(j, j) = std::sqrt(D(j, j));
      for (int i = j + 1; i < m; ++i) {
        for (int k = 0; k < j; ++k) D(i, j) -= D(i, k) * D(j, k);
        D(i, j) /= D(j, j);
      }
    }
    for (int j = 0; j < m; ++j) {
      for (int k = 0; k < j; ++k) {
        U.col(j) -= D(j, k) * U.col(k);
        u[j] -= D(j, k) * u[k];
      }
      U.col(j) /= D(j, j);
      u[j] /= D(j, j);
    }
    if (link.parent > 0) {
      Mat6& I = w->articulated[l];
      Vec6 f = w->force[l] + I * velocity.bias[l];
      for (int i = 0; i < m; ++i) {
        I.noalias() -= U.col(i) * U.col(i).transpose();
        f += U.col(i) * (u[i] - U.col(i).dot(velocity.bias[l]));
      }
      w->articulated[link.parent] += I;
      w->force[link.parent] += f;
    }
  }
  const Vec6 minus_g = slide(-model.options.gravity);
  for (int l = 1; l < n; ++l) {
    const Link& link = model.links[l];
    const int m = link.dof_end - link.dof_begin;
    Vec6 A = (link.parent == 0 ? minus_g : w->acceleration[link.parent]) + velocity.bias[l];
    double x[6];
    for (int i = 0; i < m; ++i) x[i] = w->u[l][i] - w->U[l].col(i).dot(A);
    for (int i = m - 1; i >= 0; --i) {
      for (int j = i + 1; j < m; ++j) x[i] -= w->D[l](j, i) * x[j];
      x[i] /= w->D[l](i, i);
    }
    for (int i = 0; i < m; ++i) {
      (*a)[link.dof_begin + i] = x[i];
      A += x[i] * placement.S[link.dof_begin + i];
    }
    w->acceleration[l] = A;
  }
}

void calc_body_jacobian(const Model& model, const Placement& placement, int body, const Vec3& p_W,
                        Eigen::Ref<MatX> J) {
  J.setZero();
  const int l = model.bodies[body].link;
  if (l == 0) return;
  const Vec3 p = p_W - placement.origin[model.links[l].object];
  for (int k = model.links[l].dof_end - 1; k >= 0; k = model.pattern.parent[k]) {
    const Vec6& S = placement.S[k];
    J.col(k).head<3>() = S.head<3>();
    J.col(k).tail<3>() = S.tail<3>() + cross(S.head<3>(), p);
  }
}

void calc_point_jacobian(const Model& model, const Placement& placement, int body, const Vec3& p_W,
                         Eigen::Ref<MatX> J) {
  J.setZero();
  const int l = model.bodies[body].link;
  if (l == 0) return;
  const Vec3 p = p_W - placement.origin[model.links[l].object];
  for (int k = model.links[l].dof_end - 1; k >= 0; k = model.pattern.parent[k]) {
    const Vec6& S = placement.S[k];
    J.col(k) = S.tail<3>() + cross(S.head<3>(), p);
  }
}

double calc_kinetic_energy(const Model& model, const Placement& placement, const Velocity& velocity,
                           const VecX& v) {
  double twice = 0;
  for (int l = 1; l < model.num_tree_links(); ++l)
    twice += velocity.V[l].dot(placement.inertia[l] * velocity.V[l]);
  for (int k = 0; k < model.num_velocities(); ++k) {
    if (!is_mocap_dof(model, k)) twice += model.dofs[k].rotor_inertia * v[k] * v[k];
  }
  return twice / 2;
}

double calc_gravity_energy(const Model& model, const Placement& placement) {
  double energy = 0;
  for (int l = 1; l < model.num_tree_links(); ++l) {
    const Link& link = model.links[l];
    energy -= link.mass * model.options.gravity.dot(placement.X_WL[l] * link.com);
    if (link.weightless_mass > 0) {
      energy += link.weightless_mass * model.options.gravity.dot(placement.X_WL[l] * link.weightless_com);
    }
  }
  return energy;
}

Vec6 calc_momentum(const Model& model, const Placement& placement, const Velocity& velocity) {
  Vec6 total = Vec6::Zero();
  for (int l = 1; l < model.num_tree_links(); ++l) {
    Vec6 h = placement.inertia[l] * velocity.V[l];
    h.head<3>() += cross(placement.origin[model.links[l].object], h.tail<3>());
    total += h;
  }
  return total;
}

double total_mass(const Model& model) {
  double mass = 0;
  for (int l = 1; l < model.num_tree_links(); ++l) mass += model.links[l].mass;
  return mass;
}

Vec3 calc_center_of_mass(const Model& model, const Placement& placement) {
  Vec3 sum = Vec3::Zero();
  for (int l = 1; l < model.num_tree_links(); ++l)
    sum += model.links[l].mass * (placement.X_WL[l] * model.links[l].com);
  const double mass = total_mass(model);
  return mass > 0 ? Vec3(sum / mass) : Vec3::Zero();
}

}  // namespace capstan
