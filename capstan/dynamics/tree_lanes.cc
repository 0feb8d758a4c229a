#include "capstan/dynamics/tree_lanes.h"

#include <algorithm>
#include <cmath>

#include "capstan/math/rotation.h"
#include "capstan/math/sine_lanes.h"

namespace capstan {
namespace {

static_assert(sizeof(Lanes1) == sizeof(Four) && sizeof(Lanes3) == 4 * sizeof(Vec3) &&
              sizeof(Lanes6) == 4 * sizeof(Vec6) && sizeof(LanesFrame) == 4 * sizeof(Transform) &&
              sizeof(LanesInertia) == 4 * sizeof(RigidInertia));

const Tree& first_tree(const Model& model, const TreeLanes& t) {
  return model.trees[t.trees[0]];
}

int first_position(const Model& model, const Tree& tree) {
  return model.stages[model.links[tree.link_begin].stage_begin].q;
}

int num_positions(StageType type) {
  return type == StageType::free ? 7 : type == StageType::ball ? 4 : 1;
}

bool is_lone_free(const Model& model, const Link& link) {
  return link.stage_end == link.stage_begin + 1 && model.stages[link.stage_begin].type == StageType::free;
}

// With indices that are dq, dv, dl and dg (stages) later in b.
bool are_equal_stages(const Stage& a, const Stage& b, int dq, int dv) {
  return a.type == b.type && a.q + dq == b.q && a.v + dv == b.v && a.axis == b.axis &&
         a.position == b.position && a.pitch == b.pitch && a.reference == b.reference;
}
bool are_equal_dofs(const ModelDof& a, const ModelDof& b, int dq) {
  return (a.q < 0 ? b.q < 0 : a.q + dq == b.q) && a.stiffness == b.stiffness &&
         a.spring_reference == b.spring_reference && a.damping == b.damping &&
         a.rotor_inertia == b.rotor_inertia && a.effort_limit == b.effort_limit;
}
bool are_equal_links(const Link& a, const Link& b, int dl, int dg, int dv) {
  const bool is_root = a.parent == 0;
  return (is_root ? b.parent == 0 : a.parent + dl == b.parent) && a.stage_begin + dg == b.stage_begin &&
         a.stage_end + dg == b.stage_end && a.dof_begin + dv == b.dof_begin && a.dof_end + dv == b.dof_end &&
         (is_root || (a.X_PL.R == b.X_PL.R && a.X_PL.p == b.X_PL.p)) && a.mass == b.mass && a.com == b.com &&
         a.inertia == b.inertia;
}

// Addresses of the numbers of data[index(tree)] of the lanes; null for lanes that repeat a tree.
template <class T, class F>
std::array<const double*, 4> from(const TreeLanes& t, const std::vector<T>& data, const F& index) {
  std::array<const double*, 4> places;
  for (int lane = 0; lane < 4; ++lane)
    places[lane] = reinterpret_cast<const double*>(&data[index(t.trees[lane])]);
  return places;
}
template <class T, class F>
std::array<double*, 4> to(const TreeLanes& t, std::vector<T>& data, const F& index) {
  std::array<double*, 4> places = {};
  for (int lane = 0; lane < t.count; ++lane)
    places[lane] = reinterpret_cast<double*>(&data[index(t.trees[lane])]);
  return places;
}

// XY = X Y, where X has the origin p, and Y is the same in all lanes.
CAPSTAN_INLINE inline void multiply(const LanesFrame& X, const Lanes3& p, const Transform& Y,
                                    LanesFrame* XY) {
  XY->p = p + rotate(X, Y.p.data());
  if (Y.R(0, 0) == 1 && Y.R(1, 1) == 1 && Y.R(2, 2) == 1) {  // no turn
    XY->x = X.x, XY->y = X.y, XY->z = X.z;
    return;
  }
  XY->x = rotate(X, Y.R.data());
  XY->y = rotate(X, Y.R.data() + 3);
  XY->z = rotate(X, Y.R.data() + 6);
}

// X turned by a unit quaternion.
CAPSTAN_INLINE inline void turn(const Lanes1* q, LanesFrame* X) {
  const Four w = q[0].x, x = q[1].x, y = q[2].x, z = q[3].x;
  const LanesFrame B = *X;
  const auto column = [&](const Four& a, const Four& b, const Four& c)
                          CAPSTAN_INLINE { return a * B.x + b * B.y + c * B.z; };
  X->x = column(w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y));
  X->y = column(2 * (x * y - w * z), w * w - x * x + y * y - z * z, 2 * (y * z + w * x));
  X->z = column(2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z);
}

// X turned about its own axis a, which is a_W in the world (see tree.cc).
CAPSTAN_INLINE inline void turn(const Vec3& a, const Four& angle, LanesFrame* X, Lanes3* a_W) {
  Four s, c;
  calc_sine_and_cosine(angle, &s, &c);
  const auto turn_plane = [&](const Lanes3& axis, Lanes3& x, Lanes3& y, double sign) CAPSTAN_INLINE {
    const Lanes3 before = x;
    const Four sine = sign * s;
    x = c * x + sine * y;
    y = c * y - sine * before;
    *a_W = sign * axis;
  };
  if (std::abs(a[0]) == 1) return turn_plane(X->x, X->y, X->z, a[0]);
  if (std::abs(a[1]) == 1) return turn_plane(X->y, X->z, X->x, a[1]);
  if (std::abs(a[2]) == 1) return turn_plane(X->z, X->x, X->y, a[2]);
  const Lanes3 axis = rotate(*X, a.data());
  const Four rest = 1 - c;
  const auto turn_axis = [&](Lanes3& x, double a_j)
                             CAPSTAN_INLINE { x = c * x + s * cross(axis, x) + (rest * a_j) * axis; };
  turn_axis(X->x, a[0]);
  turn_axis(X->y, a[1]);
  turn_axis(X->z, a[2]);
  *a_W = axis;
}

// make_rigid_inertia() of a link with the axes of X, its centre of mass c from O.
CAPSTAN_INLINE inline void calc_inertia(const Link& link, const LanesFrame& X, const Lanes3& c,
                                        LanesInertia* I) {
  const Lanes3 Bx = rotate(X, link.inertia.data()), By = rotate(X, link.inertia.data() + 3),
               Bz = rotate(X, link.inertia.data() + 6);
  const double m = link.mass;
  const Lanes3 h = m * c;
  I->mass = Four{m, m, m, m};
  I->h = h;
  I->xx = Bx.x * X.x.x + By.x * X.y.x + Bz.x * X.z.x + h.y * c.y + h.z * c.z;
  I->yy = Bx.y * X.x.y + By.y * X.y.y + Bz.y * X.z.y + h.z * c.z + h.x * c.x;
  I->zz = Bx.z * X.x.z + By.z * X.y.z + Bz.z * X.z.z + h.x * c.x + h.y * c.y;
  I->xy = Bx.x * X.x.y + By.x * X.y.y + Bz.x * X.z.y - h.x * c.y;
  I->xz = Bx.x * X.x.z + By.x * X.y.z + Bz.x * X.z.z - h.x * c.z;
  I->yz = Bx.y * X.x.z + By.y * X.y.z + Bz.y * X.z.z - h.y * c.z;
}

// sum of S_k v_k over dofs.
CAPSTAN_INLINE inline Lanes6 motion_of(const Lanes6* S, const Lanes1* v, int begin, int end) {
  Lanes6 sum = v[begin].x * S[begin];
  for (int k = begin + 1; k < end; ++k) sum = sum + v[k].x * S[k];
  return sum;
}

}  // namespace

bool are_equal(const Model& model, int a, int b) {
  const Tree &A = model.trees[a], &B = model.trees[b];
  const int n = A.link_end - A.link_begin, dl = B.link_begin - A.link_begin, dv = B.dof_begin - A.dof_begin;
  if (B.link_end - B.link_begin != n || B.num_dofs() != A.num_dofs() || n < 2) return false;
  if (A.coupled || B.coupled) return false;
  const int dg = model.links[B.link_begin].stage_begin - model.links[A.link_begin].stage_begin;
  const int dq = first_position(model, B) - first_position(model, A);
  for (int l = A.link_begin; l < A.link_end; ++l) {
    const Link &link = model.links[l], &other = model.links[l + dl];
    if (!are_equal_links(link, other, dl, dg, dv)) return false;
    if (link.weightless_mass != 0 || other.weightless_mass != 0) return false;
    for (int g = link.stage_begin; g < link.stage_end; ++g) {
      const Stage& stage = model.stages[g];
      if (!are_equal_stages(stage, model.stages[g + dg], dq, dv)) return false;
      if (stage.type == StageType::free && !(link.parent == 0 && is_lone_free(model, link))) return false;
    }
  }
  for (int k = A.dof_begin; k < A.dof_end; ++k) {
    if (!are_equal_dofs(model.dofs[k], model.dofs[k + dv], dq)) return false;
  }
  return true;
}

TreeLanes make_tree_lanes(const Model& model, const std::vector<int>& trees) {
  TreeLanes t;
  t.count = static_cast<int>(trees.size());
  for (int lane = 0; lane < 4; ++lane) t.trees[lane] = trees[std::min(lane, t.count - 1)];
  const Tree& tree = first_tree(model, t);
  t.num_links = tree.link_end - tree.link_begin;
  t.num_dofs = tree.num_dofs();
  t.num_values = model.pattern.row_start[tree.dof_end] - model.pattern.row_start[tree.dof_begin];
  const Link& root = model.links[tree.link_begin];
  for (int g = root.stage_begin; g < model.links[tree.link_end - 1].stage_end; ++g)
    t.num_positions += num_positions(model.stages[g].type);
  t.has_free_root = is_lone_free(model, root);
  std::array<const double*, 4> X_PL;
  for (int lane = 0; lane < 4; ++lane)
    X_PL[lane] = model.links[model.trees[t.trees[lane]].link_begin].X_PL.R.data();
  load_lanes(X_PL, 12, &t.root.x.x);
  t.q.resize(t.num_positions);
  t.A.resize(t.num_values);
  for (auto* x : {&t.v0, &t.v, &t.tau, &t.external, &t.dv}) x->resize(t.num_dofs);
  t.S.resize(t.num_dofs);
  t.p_OL.resize(t.num_links);
  t.X_WL.resize(t.num_links);
  for (auto* x : {&t.V, &t.bias, &t.acceleration, &t.force}) x->resize(t.num_links);
  for (auto* x : {&t.inertia, &t.composite}) x->resize(t.num_links);
  return t;
}

CAPSTAN_CLONES void load_lanes(const std::array<const double*, 4>& from, int n, Four* lanes) {
  to_lanes(from, n, lanes);
}

CAPSTAN_CLONES void store_lanes(const Four* lanes, int n, const std::array<double*, 4>& to) {
  from_lanes(lanes, n, to);
}

CAPSTAN_CLONES void calc_placement(const Model& model, TreeLanes* t) {
  const Tree& tree = first_tree(model, *t);
  const int l0 = tree.link_begin, k0 = tree.dof_begin, q0 = first_position(model, tree);
  for (int l = l0; l < tree.link_end; ++l) {
    const Link& link = model.links[l];
    const bool is_root = link.parent == 0;
    LanesFrame X;
    if (is_root) {
      X = t->root;
    } else {
      multiply(t->X_WL[link.parent - l0], t->p_OL[link.parent - l0], link.X_PL, &X);
    }
    Lanes3 anchors[6];  // of the root's dofs
    for (int g = link.stage_begin; g < link.stage_end; ++g) {
      const Stage& stage = model.stages[g];
      const int first = stage.v - link.dof_begin;
      Lanes6* S = &t->S[stage.v - k0];
      const Lanes1* q = &t->q[stage.q - q0];
      if (stage.type == StageType::free) {  // place_origin() has its position
        const Lanes3 axes[] = {X.x, X.y, X.z};
        for (int k = 0; k < 3; ++k) {
          S[k] = {Lanes3(), axes[k]};
          S[k + 3] = {axes[k], Lanes3()};
        }
        X.p = Lanes3();
        turn(q + 3, &X);
        continue;
      }
      const bool has_arm = stage.position[0] != 0 || stage.position[1] != 0 || stage.position[2] != 0;
      if (has_arm) X.p = X.p + rotate(X, stage.position.data());
      const Lanes3 pivot = X.p;
      const auto set_dof = [&](int k, const Lanes3& axis, const Lanes3& linear) CAPSTAN_INLINE {
        S[k].angular = axis;
        S[k].linear = is_root ? linear : linear + cross(pivot, axis);
        if (is_root) anchors[first + k] = pivot;
      };
      if (stage.type == StageType::ball) {
        set_dof(0, X.x, Lanes3());
        set_dof(1, X.y, Lanes3());
        set_dof(2, X.z, Lanes3());
        turn(q, &X);
      } else {
        const Four angle = q->x - stage.reference;
        Lanes3 axis;
        if (stage.type == StageType::prismatic) {
          axis = rotate(X, stage.axis.data());
          X.p = X.p + angle * axis;
          set_dof(0, Lanes3(), axis);
        } else {
          turn(stage.axis, angle, &X, &axis);
          if (stage.type == StageType::screw) {
            X.p = X.p + (stage.pitch * angle) * axis;
            set_dof(0, axis, stage.pitch * axis);
          } else {
            set_dof(0, axis, Lanes3());
          }
        }
      }
      if (has_arm) X.p = X.p - rotate(X, stage.position.data());
    }
    if (is_root) {
      t->origin = X.p;
      for (int k = 0; k < link.dof_end - link.dof_begin && !t->has_free_root; ++k)
        t->S[k].linear = t->S[k].linear + cross(anchors[k] - X.p, t->S[k].angular);
      X.p = Lanes3();
    }
    calc_inertia(link, X, X.p + rotate(X, link.com.data()), &t->inertia[l - l0]);
    t->p_OL[l - l0] = X.p;
    t->X_WL[l - l0] = X;
  }
  place_origin(model, t);
}

CAPSTAN_CLONES void place_origin(const Model&, TreeLanes* t) {
  if (t->has_free_root) {
    const Lanes1* q = t->q.data();
    t->origin = t->root.p + q[0].x * t->root.x + q[1].x * t->root.y + q[2].x * t->root.z;
  }
  const Lanes3 origin = t->origin;
  for (int l = 0; l < t->num_links; ++l) t->X_WL[l].p = t->p_OL[l] + origin;
}

void move(const Model& model, const std::vector<Lanes1>& v, double dt, TreeLanes* t) {
  const Tree& tree = first_tree(model, *t);
  const int k0 = tree.dof_begin, q0 = first_position(model, tree);
  const int end = model.links[tree.link_end - 1].stage_end;
  for (int g = model.links[tree.link_begin].stage_begin; g < end; ++g) {
    const Stage& stage = model.stages[g];
    const bool is_free = stage.type == StageType::free;
    Lanes1* q = &t->q[stage.q - q0];
    const Lanes1* w = &v[stage.v - k0];
    for (int k = 0; k < (is_free ? 3 : stage.type == StageType::ball ? 0 : 1); ++k) q[k].x += dt * w[k].x;
    if (!is_free && stage.type != StageType::ball) continue;
    if (is_free) q += 3, w += 3;
    for (int lane = 0; lane < 4; ++lane) {
      const Vec4 before(q[0].x[lane], q[1].x[lane], q[2].x[lane], q[3].x[lane]);
      const Vec4 quat = quat_multiply(quat_exp(dt * Vec3(w[0].x[lane], w[1].x[lane], w[2].x[lane])), before);
      for (int k = 0; k < 4; ++k) q[k].x[lane] = quat[k] / quat.norm();
    }
  }
}

CAPSTAN_CLONES void calc_velocity(const Model& model, const std::vector<Lanes1>& velocities, TreeLanes* t) {
  const Tree& tree = first_tree(model, *t);
  const int l0 = tree.link_begin, k0 = tree.dof_begin;
  const Lanes1* v = velocities.data();
  for (int l = l0; l < tree.link_end; ++l) {
    const Link& link = model.links[l];
    Lanes6 V = {}, bias = {};
    if (link.parent != 0) V = t->V[link.parent - l0];
    for (int g = link.stage_begin; g < link.stage_end; ++g) {
      const Stage& stage = model.stages[g];
      int k = stage.v - k0;
      const auto add = [&](int n) CAPSTAN_INLINE {
        const Lanes6 motion = motion_of(t->S.data(), v, k, k + n);
        bias = bias + cross_motion(V, motion);
        V = V + motion;
        k += n;
      };
      if (stage.type == StageType::free) {  // the slides come before the turns
        add(3);
        add(3);
      } else if (stage.type == StageType::ball) {
        add(3);
      } else {
        add(1);
      }
    }
    t->V[l - l0] = V;
    t->bias[l - l0] = bias;
  }
}

CAPSTAN_CLONES void calc_link_velocities(const Model& model, const std::vector<Lanes1>& v, TreeLanes* t) {
  const Tree& tree = first_tree(model, *t);
  const int l0 = tree.link_begin, k0 = tree.dof_begin;
  for (int l = l0; l < tree.link_end; ++l) {
    const Link& link = model.links[l];
    Lanes6 V = {};
    if (link.parent != 0) V = t->V[link.parent - l0];
    for (int k = link.dof_begin - k0; k < link.dof_end - k0; ++k) V = V + v[k].x * t->S[k];
    t->V[l - l0] = V;
  }
}

CAPSTAN_CLONES void calc_inverse_dynamics(const Model& model, TreeLanes* t, std::vector<Lanes1>* tau) {
  const Tree& tree = first_tree(model, *t);
  const int l0 = tree.link_begin, k0 = tree.dof_begin;
  const Vec3 g = model.options.gravity;
  Lanes6 minus_g = {};
  minus_g.linear = {minus_g.linear.x - g[0], minus_g.linear.y - g[1], minus_g.linear.z - g[2]};
  for (int l = l0; l < tree.link_end; ++l) {
    const Link& link = model.links[l];
    const int i = l - l0;
    const Lanes6& before = link.parent == 0 ? minus_g : t->acceleration[link.parent - l0];
    const Lanes6 a = before + t->bias[i];
    t->acceleration[i] = a;
    t->force[i] = t->inertia[i] * a + cross_force(t->V[i], t->inertia[i] * t->V[i]);
  }
  for (int l = tree.link_end - 1; l >= l0; --l) {
    const Link& link = model.links[l];
    const Lanes6 force = t->force[l - l0];
    for (int k = link.dof_begin - k0; k < link.dof_end - k0; ++k) dot(t->S[k], force, &(*tau)[k].x);
    if (link.parent > 0) t->force[link.parent - l0] = t->force[link.parent - l0] + force;
  }
}

CAPSTAN_CLONES void calc_mass_matrix(const Model& model, TreeLanes* t) {
  const Tree& tree = first_tree(model, *t);
  const int l0 = tree.link_begin, k0 = tree.dof_begin;
  const BranchPattern& pattern = model.pattern;
  const int first = pattern.row_start[k0];
  std::copy_n(fours(t->inertia), 10 * t->num_links, fours(t->composite));
  for (int l = tree.link_end - 1; l >= l0; --l) {
    const Link& link = model.links[l];
    const LanesInertia& I = t->composite[l - l0];
    if (link.parent > 0) add(I, &t->composite[link.parent - l0]);
    for (int k = link.dof_begin; k < link.dof_end; ++k) {
      const Lanes6 F = I * t->S[k - k0];
      const int begin = pattern.row_start[k], end = pattern.row_start[k + 1];
      for (int i = begin; i < end; ++i) dot(t->S[pattern.columns[i] - k0], F, &t->A[i - first].x);
      t->A[end - 1 - first].x += model.dofs[k].rotor_inertia;
    }
  }
}

CAPSTAN_CLONES void calc_sums(const TreeLanes& t, std::array<RigidInertia, 4>* inertia,
                              std::array<Vec6, 4>* momentum) {
  LanesInertia I = {};
  Lanes6 h = {};
  for (int l = 0; l < t.num_links; ++l) {
    add(t.inertia[l], &I);
    h = h + t.inertia[l] * t.V[l];
  }
  std::array<double*, 4> to_inertia, to_momentum;
  for (int lane = 0; lane < 4; ++lane) {
    to_inertia[lane] = &(*inertia)[lane].mass;
    to_momentum[lane] = (*momentum)[lane].data();
  }
  store_lanes(&I.mass, 10, to_inertia);
  store_lanes(&h.angular.x, 6, to_momentum);
}

void load_placement(const Model& model, const Placement& placement, TreeLanes* t) {
  const auto first_link = [&](int tree) { return model.trees[tree].link_begin; };
  const auto first_dof = [&](int tree) { return model.trees[tree].dof_begin; };
  load_lanes(from(*t, placement.S, first_dof), 6 * t->num_dofs, fours(t->S));
  load_lanes(from(*t, placement.inertia, first_link), 10 * t->num_links, fours(t->inertia));
}

void store_placement(const Model& model, const TreeLanes& t, Placement* placement) {
  const auto first_link = [&](int tree) { return model.trees[tree].link_begin; };
  const auto first_dof = [&](int tree) { return model.trees[tree].dof_begin; };
  store_lanes(fours(t.X_WL), 12 * t.num_links, to(t, placement->X_WL, first_link));
  store_lanes(fours(t.p_OL), 3 * t.num_links, to(t, placement->p_OL, first_link));
  store_lanes(&t.origin.x, 3, to(t, placement->origin, [](int tree) { return tree; }));
  store_lanes(fours(t.S), 6 * t.num_dofs, to(t, placement->S, first_dof));
  store_lanes(fours(t.inertia), 10 * t.num_links, to(t, placement->inertia, first_link));
}

}  // namespace capstan
