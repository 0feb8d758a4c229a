#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/dynamics/objects.h"
#include "capstan/laws/contact_laws.h"
#include "capstan/laws/recovery.h"
#include "capstan/math/clones.h"
#include "capstan/math/lanes.h"
#include "capstan/math/rotation.h"
#include "capstan/problem/delassus.h"
#include "capstan/problem/gap.h"
#include "capstan/problem/problem.h"

namespace capstan {
namespace {

constexpr double kFourPiSquared = 4 * std::numbers::pi * std::numbers::pi;

// Rigid ties are softer than nothing by this part of the near-rigid R: under a load that accelerates what it
// ties at a, they give way by 2.5e-5 a dt^2. They never open or close, so Newton's method does not mind.
constexpr double kTieSoftness = 0.1;

constexpr int kTreesInBlock = 64, kGroupsInBlock = 4, kLawsInBlock = 4;  // for one thread at a time

struct Assembler {
  const Model& model;
  const State& state;
  const Input& input;
  const Motion& motion;
  double dt;
  AssemblyWorkspace& w;
  Problem& problem;
  std::span<const char> asleep;
  int num_values = static_cast<int>(problem.jacobians.size());  // of the Jacobians so far
  Delassus delassus = {model, motion, problem, w};

  // Constraints connect only objects that sleep together.
  bool sleeps(int dof) const { return !asleep.empty() && asleep[model.dofs[dof].object] != 0; }
  bool sleeps(const ModelConstraint& c) const {
    if (asleep.empty()) return false;
    if (c.type == ConstraintType::coupler) return sleeps(model.joints[c.joint_a].v);
    const int a = model.bodies[c.body_a].link, b = model.bodies[c.body_b].link, link = a > 0 ? a : b;
    return link > 0 && asleep[tree_of(link)] != 0;
  }

  int tree_of(int link) const { return model.links[link].object; }

  // The block of a tree has the tree's number (model/object.h).
  bool is_tree(int link) const { return link == 0 || model.objects[tree_of(link)].is_tree(); }

  // Makes room for the Jacobian of a block in the group being built, unless it has one. The part.
  int find_part(ConstraintGroup* group, int block) {
    for (int p = group->part_begin; p < group->part_end; ++p) {
      if (problem.parts[p].block == block) return p;
    }
    problem.parts.push_back({block, num_values});
    num_values += group->num_rows * model.blocks[block].size;
    if (static_cast<int>(problem.jacobians.size()) < num_values) problem.jacobians.resize(num_values);
    return group->part_end++;
  }

  void set_zero(const ConstraintGroup& group, int part) {
    const GroupPart& p = problem.parts[part];
    std::fill_n(problem.jacobians.data() + p.jacobian, group.num_rows * model.blocks[p.block].size, 0.0);
  }
  void set_zero(const ConstraintGroup& group) {
    for (int p = group.part_begin; p < group.part_end; ++p) set_zero(group, p);
  }

  // Adds a zeroed Jacobian block for a tree to the group being built, or returns the one it has.
  double* part_for(ConstraintGroup* group, int tree) {
    const int end = group->part_end, part = find_part(group, tree);
    if (part == end) set_zero(*group, part);
    return problem.jacobians.data() + problem.parts[part].jacobian;
  }

  // Makes room for the point p_W of a link in the Jacobian of the group being built.
  void declare_point(ConstraintGroup* group, int link, const Vec3& p_W) {
    if (is_tree(link)) return declare_link(group, link);
    PointPart parts[kMostPointParts];
    const int n = calc_point(model, motion.placement, link, p_W, parts);
    for (int i = 0; i < n; ++i) find_part(group, parts[i].block);
  }
  void declare_link(ConstraintGroup* group, int link) {
    if (link == 0) return;
    const int end = group->part_end, part = find_part(group, tree_of(link));
    // Known where this is the only link of its tree.
    problem.parts[part].last_dof = part == end ? model.links[link].dof_end - 1 : -1;
  }

  // Whether a group of contacts is there already, from the last step.
  bool is_kept(const Contacts& contacts, std::span<const char> unchanged, int g) const {
    const ConstraintGroup& group = problem.groups[g];
    if (g >= static_cast<int>(w.old_groups.size()) || !(group == w.old_groups[g])) return false;
    for (int p = group.part_begin; p < group.part_end; ++p) {
      if (unchanged[problem.object_of(problem.parts[p])] == 0 || !(problem.parts[p] == w.old_parts[p]))
        return false;
    }
    return std::all_of(contacts.is_same.begin() + group.contact_begin,
                       contacts.is_same.begin() + group.contact_end, [](char same) { return same != 0; });
  }

  // Adds sign * (motion of the link at p_W) to the rows of a group that has room for it: 6 rows (angular,
  // linear), or the linear 3 in the axes R_WC. Never inlined: two links of one tree must get the very same
  // numbers for the dofs they share, so that these cancel to zero (step/step.cc).
  __attribute__((noinline)) CAPSTAN_CLONES void add_motion(const ConstraintGroup& group, int link,
                                                           const Vec3& p_W, double sign,
                                                           const Mat3& R_WC = Mat3::Identity()) {
    if (link == 0) return;
    if (!is_tree(link)) return add_point(group, link, p_W, sign, R_WC);
    const int tree = tree_of(link), base = model.trees[tree].dof_begin, rows = group.num_rows;
    int part = group.part_begin;
    while (problem.parts[part].block != tree) ++part;
    double* J = problem.jacobians.data() + problem.parts[part].jacobian;
    const Vec3 p = p_W - motion.placement.origin[tree];
    // The linear rows are R (linear + angular x p), R = R_CW: Q_i is R (e_i x p).
    Frame R;
    Four Q[3];
    const Mat3 R_CW = R_WC.transpose();
    load({R_CW, Vec3::Zero()}, &R);
    Q[0] = p[1] * R.z - p[2] * R.y;
    Q[1] = p[2] * R.x - p[0] * R.z;
    Q[2] = p[0] * R.y - p[1] * R.x;
    for (int k = model.links[link].dof_end - 1; k >= 0; k = model.pattern.parent[k]) {
      const double* S = motion.placement.S[k].data();
      double* column = J + rows * (k - base);
      const Four linear = (S[3] * R.x + S[4] * R.y + S[5] * R.z) + (S[0] * Q[0] + S[1] * Q[1] + S[2] * Q[2]);
      if (rows == 6) {
        for (int i = 0; i < 3; ++i) column[i] += sign * S[i];
        column += 3;
      }
      for (int i = 0; i < 3; ++i) column[i] += sign * linear[i];
    }
  }

  // The same for a point of an object that is not a tree. Its carrier turns as two points of it say that are
  // beside the third, w x m1 and w x m2.
  void add_point(const ConstraintGroup& group, int link, const Vec3& p_W, double sign, const Mat3& R_WC) {
    const int rows = group.num_rows;
    add_rows(group, link, p_W, sign * R_WC.transpose(), rows - 3);
    if (rows < 6) return;
    const Mat3& R = motion.placement.X_WL[link].R;
    const Vec3 m1 = R.col(0), m2 = R.col(1), t = R.col(2);
    const Mat3 from_1 = sign * (t * m2.transpose() - m2 * t.transpose()), from_2 = sign * m1 * t.transpose();
    add_rows(group, link, p_W + m1, from_1, 0);
    add_rows(group, link, p_W + m2, from_2, 0);
    add_rows(group, link, p_W, -(from_1 + from_2), 0);
  }
  // Adds T times the velocity of a point to three rows.
  void add_rows(const ConstraintGroup& group, int link, const Vec3& p_W, const Mat3& T, int row) {
    PointPart point[kMostPointParts];
    const int n = calc_point(model, motion.placement, link, p_W, point);
    for (int i = 0; i < n; ++i) {
      int part = group.part_begin;
      while (problem.parts[part].block != point[i].block) ++part;
      double* J = problem.jacobians.data() + problem.parts[part].jacobian + row;
      for (int k = 0; k < point[i].size; ++k)
        Eigen::Map<Vec3>(J + group.num_rows * k) += T * Eigen::Map<const Vec3>(point[i].J.data() + 3 * k);
    }
  }

  ConstraintGroup begin_group(int num_rows) const {
    ConstraintGroup group;
    group.num_rows = num_rows;
    group.part_begin = group.part_end = static_cast<int>(problem.parts.size());
    group.law_begin = static_cast<int>(problem.laws.size());
    return group;
  }

  // (angular, linear) velocity of a link before the step, at p_W.
  Vec6 link_motion(int link, const Vec3& p_W) const {
    if (link == 0) return Vec6::Zero();
    if (!is_tree(link)) {
      Vec6 V = Vec6::Zero();
      V.tail<3>() = point_velocity(model, motion.placement, motion.velocity.V, state.v, link, p_W);
      return V;
    }
    Vec6 V = motion.velocity.V[link];
    V.tail<3>() += cross(V.head<3>(), Vec3(p_W - motion.placement.origin[tree_of(link)]));
    return V;
  }

  // The R of a law as stiff as the time step can show, on a row with Delassus estimate W.
  double near_rigid_R(double W) const {
    const double beta = problem.options.constraint_beta;
    return beta * beta / kFourPiSquared * std::max(W, 1e-18);
  }

  // A law that drives phi to zero, near-rigid or with stiffness k, on a row with Delassus estimate W.
  ScalarLaw make_law(double phi, double W, double stiffness, double relaxation_time) const {
    const double beta = problem.options.constraint_beta, near_rigid = near_rigid_R(W);
    ScalarLaw law;
    // Near-rigid: critically damped at the period beta dt (sap.txt V-B).
    double tau = relaxation_time < 0 ? beta / std::numbers::pi * dt : relaxation_time;
    double R = std::isinf(stiffness) ? 0 : 1 / (dt * stiffness * (dt + tau));
    if (R < near_rigid) {
      R = near_rigid;
      tau = beta / std::numbers::pi * dt;
    }
    law.R = R;
    law.mass = 1 / std::max(W, 1e-18);
    law.v_hat = -phi / (dt + tau);
    return law;
  }
  // Makes a near-rigid law undo no more of an error (>= 0, of which phi is a part) in this step than
  // laws/recovery.h allows.
  void bound_recovery(double phi, double error, ScalarLaw* law) const {
    const double tau = problem.options.constraint_beta / std::numbers::pi * dt;
    const double scale = recovery_scale(problem.options.recovery_speed, error, error / (dt + tau));
    law->v_hat *= scale;
    law->R *= std::max(scale, kStiffestRecovery);
    if (scale < 1) law->left = phi + dt * law->v_hat;
  }

  // First the groups and the room they take, then what they are: those may be made all at a time.
  void add_contacts(const Contacts& contacts, int first_group, std::span<const char> unchanged,
                    const Threads& threads) {
    const int first = static_cast<int>(problem.groups.size());
    for (int g = first_group; g < contacts.num_groups(); ++g) {
      const int begin = contacts.group_begin[g], end = contacts.group_begin[g + 1];
      // One or two contacts have fewer rows apart than together; those on what is not rigid have no common
      // motion.
      const bool apart =
          end - begin <= 2 || !is_tree(contacts.link_a[begin]) || !is_tree(contacts.link_b[begin]);
      for (int i = begin; i < end; i += apart ? 1 : end - begin) {
        ConstraintGroup group = begin_group(apart ? 3 : 6);
        group.contact_begin = i;
        group.contact_end = apart ? i + 1 : end;
        const auto [link_a, link_b] = links_of(contacts, i);
        declare_point(&group, link_a, contacts.p_WC[i]);
        declare_point(&group, link_b, contacts.p_WC[i]);
        problem.groups.push_back(group);
      }
    }
    w.kept.resize(problem.groups.size());
    for (int g = first; g < static_cast<int>(problem.groups.size()); ++g)
      w.kept[g] = !unchanged.empty() && is_kept(contacts, unchanged, g);
    w.trees.clear();
    for (const GroupPart& part : problem.parts) {
      if (model.blocks[part.block].size != 6 || !model.object_of_block(part.block).is_tree()) continue;
      AssemblyWorkspace::Inverse& inverse = w.inverse[part.block];
      if (inverse.known) continue;
      inverse.known = true;
      w.trees.push_back(part.block);
    }
    problem.contacts.resize(contacts.size());
    problem.X.resize(contacts.size());
    problem.contact_mass.resize(contacts.size());
    problem.R_WC.resize(contacts.size());
    threads.for_each_block(static_cast<int>(w.trees.size()), kTreesInBlock, [&](int begin, int end) {
      for (int i = begin; i < end; ++i) delassus.calc_inverse(w.trees[i]);
    });
    const int count = static_cast<int>(problem.groups.size()) - first;
    threads.for_each_block(count, kGroupsInBlock, [&](int begin, int end) {
      for (int g = first + begin; g < first + end; ++g) {
        if (w.kept[g] != 0) continue;
        set_zero(problem.groups[g]);
        if (problem.groups[g].num_rows == 3) {
          make_contact_alone(contacts, problem.groups[g]);
        } else {
          make_contact_group(contacts, problem.groups[g]);
        }
      }
    });
  }

  // The lower link is "a" for a whole group; contacts listed the other way round get their sign turned.
  static std::array<int, 2> links_of(const Contacts& contacts, int i) {
    return {std::min(contacts.link_a[i], contacts.link_b[i]),
            std::max(contacts.link_a[i], contacts.link_b[i])};
  }

  CAPSTAN_FLAT_CLONES void make_contact_group(const Contacts& contacts, const ConstraintGroup& group) {
    const auto [link_a, link_b] = links_of(contacts, group.contact_begin);
    const Vec3 origin = contacts.p_WC[group.contact_begin];
    add_motion(group, link_a, origin, -1);
    add_motion(group, link_b, origin, 1);
    const bool bodies = delassus.has_bodies_only(group);
    const Mat6 W = bodies ? Mat6(Mat6::Zero()) : delassus.calc(group);
    const Vec6 U0 = link_motion(link_b, origin) - link_motion(link_a, origin);
    for (int i = group.contact_begin; i < group.contact_end; ++i) {
      const double sign = contacts.link_a[i] == link_a ? 1 : -1;
      const Mat3 R = frame_from_z(contacts.normal[i]);
      const Vec3 r = sign * (contacts.p_WC[i] - origin);
      Mat36 X;
      for (int k = 0; k < 3; ++k) X.block<1, 3>(k, 0) = cross(r, Vec3(R.col(k)));
      X.rightCols<3>() = sign * R.transpose();
      const Vec3 W_c = bodies ? delassus.calc_of_bodies(group, contacts.p_WC[i], R)
                              : Vec3((X * W).cwiseProduct(X).rowwise().sum());
      set_contact_law(contacts, i, R, X, X * U0, W_c);
    }
  }

  bool is_sphere(int shape) const { return model.shapes[shape].collider.type == ColliderType::sphere; }

  CAPSTAN_FLAT_CLONES void make_contact_alone(const Contacts& contacts, const ConstraintGroup& group) {
    const int i = group.contact_begin;
    const auto [link_a, link_b] = links_of(contacts, i);
    const double sign = contacts.link_a[i] == link_a ? 1 : -1;
    const Mat3 R = frame_from_z(contacts.normal[i]);
    // Balls that will bounce have the arms that they have when they touch, not those to a point between them.
    const bool apart = contacts.material[i].restitution > 0 && contacts.distance[i] > 0 && link_a != 0 &&
                       is_tree(link_a) && is_tree(link_b) && is_sphere(contacts.shape_a[i]) &&
                       is_sphere(contacts.shape_b[i]);
    const Vec3 to_b =
        apart ? Vec3(0.5 * sign * contacts.distance[i] * contacts.normal[i]) : Vec3(Vec3::Zero());
    const Vec3 p_a = contacts.p_WC[i] - to_b, p_b = contacts.p_WC[i] + to_b;
    add_motion(group, link_a, p_a, -sign, R);
    add_motion(group, link_b, p_b, sign, R);
    const Vec6 U0 = sign * (link_motion(link_b, p_b) - link_motion(link_a, p_a));
    Mat36 X = Mat36::Zero();
    X.leftCols<3>().setIdentity();
    set_contact_law(contacts, i, R, X, R.transpose() * U0.tail<3>(),
                    delassus.has_bodies_only(group) ? delassus.calc_of_bodies(group, contacts.p_WC[i], R)
                                                    : delassus.calc_diagonal(group));
  }

  // v0 is the contact's velocity before the step, W the diagonal of its Delassus estimate.
  void set_contact_law(const Contacts& contacts, int i, const Mat3& R, const Mat36& X, const Vec3& v0,
                       const Vec3& W) {
    const ContactOptions& o = problem.options;
    const ContactMaterial& m = contacts.material[i];
    ContactInput in;
    in.distance = contacts.distance[i];
    in.stiffness = m.stiffness;
    in.dissipation = m.dissipation;
    in.relaxation_time = m.relaxation_time;
    in.friction = m.friction;
    if (m.tensor != nullptr) set_tensor(contacts, i, R, &in);
    in.stiction_tolerance = m.stiction_tolerance;
    in.v0 = v0;
    in.bias = R.transpose() * (surface_velocity(contacts.shape_b[i], contacts.p_WC[i]) -
                               surface_velocity(contacts.shape_a[i], contacts.p_WC[i]));
    in.bias.z() = contacts.gap_rate[i];
    // Others have no impulse of the last step; a late pair has its friction where it touched before.
    if (contacts.kind[i] != ContactKind::touching) in.lagged_impulse = 0;
    in.lagged_at_rest = o.law == ContactLaw::coulomb;
    in.w_n = std::max(W.z(), 1e-18);
    in.w_t = std::max((W.x() + W.y()) / 2, 1e-18);
    in.dt = dt;
    in.sigma = o.sigma;
    in.beta = o.beta;
    in.recovery_speed = o.recovery_speed;
    problem.contacts[i] = make_contact(o.law, o.normal_law, in);
    problem.X[i] = X;
    problem.contact_mass[i] = Vec3(1 / in.w_t, 1 / in.w_t, 1 / in.w_n);
    problem.R_WC[i] = R;
  }

  // [m/s] of a moving surface (belt, turntable) against its own body, world frame.
  Vec3 surface_velocity(int id, const Vec3& p_W) const {
    const ModelShape& shape = model.shapes[id];
    if (!shape.has_moving_surface) return Vec3::Zero();
    const Transform X_WS = shape.link == 0 ? shape.X_LS : motion.placement.X_WL[shape.link] * shape.X_LS;
    const Vec3 r = p_W - X_WS.p;
    const double scale = input.surface_scale.size() > 0 ? input.surface_scale[id] : 1.0;
    return scale * (X_WS.R * shape.surface_velocity + cross(Vec3(X_WS.R * shape.surface_spin), r));
  }

  // Friction along and across a direction that is fixed in a shape, in the contact frame.
  void set_tensor(const Contacts& contacts, int i, const Mat3& R_WC, ContactInput* in) const {
    const FrictionTensor& t = *contacts.material[i].tensor;
    const ModelShape& shape =
        model.shapes[contacts.material[i].tensor_of_a ? contacts.shape_a[i] : contacts.shape_b[i]];
    const Mat3 R_WS =
        shape.link == 0 ? shape.X_LS.R : Mat3(motion.placement.X_WL[shape.link].R * shape.X_LS.R);
    Vec2 u = (R_WC.transpose() * (R_WS * t.direction)).head<2>();
    if (!(u.norm() > 1e-9)) u = Vec2(1, 0);  // the direction is along the normal: any tangent will do
    u.normalize();
    const Vec2 n(-u.y(), u.x());
    in->has_friction_tensor = true;
    in->friction_tensor = t.along * u * u.transpose() + t.across * n * n.transpose();
  }

  // A limit is in the problem when this step could reach it.
  bool may_reach(double phi, double speed) const { return phi < 4 * dt * std::max(speed, 1.0); }

  // Laws are made for many at a time (make_laws), because each needs an entry of A^-1.
  ScalarLaw make_limit(double phi, double W) const {
    ScalarLaw law = make_law(phi, W, kInfinity, -1);
    bound_recovery(phi, std::max(0.0, -phi), &law);
    law.lower = 0;
    return law;
  }
  ScalarLaw make_dry_friction(double force, double W) const {
    ScalarLaw law;
    law.mass = 1 / std::max(W, 1e-18);
    law.R = problem.options.sigma / law.mass;
    law.upper = dt * force;
    law.lower = -law.upper;
    return law;
  }
  ScalarLaw make_law(const AssemblyWorkspace::Wanted& wanted, double W) const {
    return wanted.is_limit ? make_limit(wanted.value, W) : make_dry_friction(wanted.value, W);
  }
  void want_dof_law(int dof, double sign, bool is_limit, double value) {
    w.wanted_of_dofs.push_back({is_limit, value});
    problem.dof_laws.push_back({dof, sign, {}});
  }
  void want_law(const ConstraintGroup& group, bool is_limit, double value) {
    w.wanted.push_back({is_limit, value});
    problem.laws.emplace_back();
    problem.groups.push_back(group);
  }

  // The laws that dofs and the groups from `first_group` on want.
  void make_laws(int first_group, const Threads& threads) {
    threads.for_each_block(static_cast<int>(w.wanted_of_dofs.size()), kLawsInBlock, [&](int begin, int end) {
      for (int i = begin; i < end; ++i) {
        DofLaw& law = problem.dof_laws[i];
        law.law = make_law(w.wanted_of_dofs[i], delassus.calc(law.dof));
      }
    });
    threads.for_each_block(static_cast<int>(w.wanted.size()), kLawsInBlock, [&](int begin, int end) {
      for (int i = begin; i < end; ++i) {
        const ConstraintGroup& group = problem.groups[first_group + i];
        problem.laws[group.law_begin] = make_law(w.wanted[i], delassus.calc_diagonal(group)[0]);
      }
    });
  }

  void add_limits(int dof, int q, const Range& limits) {
    const double speed = std::max(std::abs(state.v[dof]), std::abs(motion.v_star[dof]));
    for (const double sign : {1.0, -1.0}) {
      const double phi = sign > 0 ? state.q[q] - limits.lower : limits.upper - state.q[q];
      if (may_reach(phi, speed)) want_dof_law(dof, sign, true, phi);
    }
  }

  void add_dof_laws() {
    for (const LimitedJoint& limited : model.limited_joints) {
      if (limited.dof >= 0) {
        if (!sleeps(limited.dof)) add_limits(limited.dof, limited.q, limited.limits);
        continue;
      }
      const ModelJoint& joint = model.joints[limited.joint];
      if (sleeps(joint.v)) continue;
      if (joint.type == JointType::ball) {
        if (!joint.limits.empty()) add_ball_limit(joint);
      } else {
        for (int i = 0; i < static_cast<int>(joint.limits.size()); ++i)
          add_limits(joint.v + i, model.dofs[joint.v + i].q, joint.limits[i]);
      }
      if (joint.dry_friction > 0) {
        for (int k = joint.v; k < joint.v + num_velocities(joint.type); ++k)
          want_dof_law(k, 1, false, joint.dry_friction);
      }
    }
  }

  // The turn of a ball joint stays below its limit: d|phi|/dt = (phi/|phi|) . w.
  void add_ball_limit(const ModelJoint& joint) {
    const Vec3 turn = quat_log(state.q.segment<4>(joint.q));
    const double angle = turn.norm(), phi = joint.limits[0].upper - angle;
    if (angle < 1e-9 || !may_reach(phi, state.v.segment<3>(joint.v).norm())) return;
    ConstraintGroup group = begin_group(1);
    const int tree = tree_of(model.dofs[joint.v].link);
    double* J = part_for(&group, tree);
    for (int i = 0; i < 3; ++i) J[joint.v + i - model.trees[tree].dof_begin] = -turn[i] / angle;
    want_law(group, true, phi);
  }

  bool is_ancestor(int a, int dof) const {
    while (dof > a) dof = model.pattern.parent[dof];
    return dof == a;
  }

  void add_terms(ConstraintGroup* group, const Transmission& transmission, double sign) {
    for (const auto& term : transmission.terms) {
      const int tree = tree_of(model.dofs[term.dof].link), parts = group->part_end;
      part_for(group, tree)[term.dof - model.trees[tree].dof_begin] += sign * term.coefficient;
      for (int p = group->part_begin; p < group->part_end; ++p) {
        int& last = problem.parts[p].last_dof;
        if (problem.parts[p].block != tree) continue;
        if (p >= parts) {
          last = term.dof;
        } else if (last >= 0) {
          last = is_ancestor(last, term.dof) ? term.dof : is_ancestor(term.dof, last) ? last : -1;
        }
      }
    }
  }

  void add_tendons() {
    for (const ModelTendon& tendon : model.tendons) {
      if (!tendon.limits && !(tendon.dry_friction > 0)) continue;
      if (tendon.transmission.terms.empty() || sleeps(tendon.transmission.terms.front().dof)) continue;
      double length = 0, speed = 0;
      for (const auto& term : tendon.transmission.terms) {
        length += term.coefficient * state.q[model.dofs[term.dof].q];
        speed += std::abs(term.coefficient) *
                 std::max(std::abs(state.v[term.dof]), std::abs(motion.v_star[term.dof]));
      }
      if (tendon.limits) {
        for (const double sign : {1.0, -1.0}) {
          const double phi = sign > 0 ? length - tendon.limits->lower : tendon.limits->upper - length;
          if (!may_reach(phi, speed)) continue;
          ConstraintGroup group = begin_group(1);
          add_terms(&group, tendon.transmission, sign);
          want_law(group, true, phi);
        }
      }
      if (tendon.dry_friction > 0) {
        ConstraintGroup group = begin_group(1);
        add_terms(&group, tendon.transmission, 1);
        want_law(group, false, tendon.dry_friction);
      }
    }
  }

  // The laws of a constraint between joints or links. A rigid one anticipates the curvature of its path, the
  // part of the gap at the end of the step that J v does not tell: taken from the velocities before the step,
  // right to second order in dt (step/close_loops.h does the rest). Then J v is as far below zero after a
  // step as it was above it before, and the constraint does no work (SHAKE); without, a loop that turns at w
  // loses w^2 dt of its energy in a second.
  void add_laws(const ConstraintGroup& group, const ModelConstraint& c, const Vec6& phi) {
    const Mat6 W = delassus.calc(group);
    Vec6 curvature = Vec6::Zero();
    if (is_rigid(model, c)) {
      curvature = calc_gap(model, c, w.q_ahead, w.ahead) - phi - dt * problem.calc_motion(group, state.v);
    }
    // Rows that are a vector together (a turn, a way) keep its direction when its speed is bounded.
    const int rows = std::min(group.num_rows, 3);
    for (int first = 0; first < group.num_rows; first += rows) {
      const double error = phi.segment(first, rows).norm();
      for (int i = first; i < first + rows; ++i) {
        ScalarLaw law = make_law(phi[i], W(i, i), c.stiffness, c.relaxation_time);
        const double R = law.R;
        if (R <= near_rigid_R(W(i, i))) bound_recovery(phi[i], error, &law);
        // A wide turn bends by what both bodies do together, which is not to be undone.
        const bool is_wide_turn = c.type == ConstraintType::weld && first == 0 && law.R < R;
        if (is_wide_turn) law.left = kInfinity;
        if (!is_wide_turn) law.v_hat -= curvature[i] / dt;
        if (is_rigid(model, c)) law.R *= kTieSoftness;
        problem.laws.push_back(law);
      }
    }
    problem.groups.push_back(group);
  }

  void add_coupler(const ModelConstraint& c, int id) {
    const ModelJoint& a = model.joints[c.joint_a];
    double slope = 0;
    if (c.joint_b >= 0) {
      const ModelJoint& b = model.joints[c.joint_b];
      const double x = state.q[b.q] - model.dofs[b.v].reference;
      double power = 1;
      for (int k = 1; k < 5; ++k, power *= x) slope += k * c.polynomial[k] * power;
    }
    ConstraintGroup group = begin_group(1);
    group.constraint = id;
    const int tree_a = tree_of(model.dofs[a.v].link);
    part_for(&group, tree_a)[a.v - model.trees[tree_a].dof_begin] += 1;
    if (c.joint_b >= 0) {
      const ModelJoint& b = model.joints[c.joint_b];
      const int tree_b = tree_of(model.dofs[b.v].link);
      part_for(&group, tree_b)[b.v - model.trees[tree_b].dof_begin] -= slope;
    }
    add_laws(group, c, calc_gap(model, c, state.q, motion.placement));
  }

  void add_tie(const ModelConstraint& c, int id) {
    const Placement& placement = motion.placement;
    const Transform X_WA = calc_frame(model, placement, c.body_a, *c.X_A);
    const Transform X_WB = calc_frame(model, placement, c.body_b, *c.X_B);
    const int link_a = model.bodies[c.body_a].link, link_b = model.bodies[c.body_b].link;
    if (link_a == link_b) return;  // welded together already
    const Vec6 phi = calc_gap(model, c, state.q, placement);
    ConstraintGroup group = begin_group(c.type == ConstraintType::weld ? 6 : 3);
    group.constraint = id;
    // Each point is taken where it is, so that the rows are the exact rate of the gap.
    declare_point(&group, link_a, X_WA.p);
    declare_point(&group, link_b, X_WB.p);
    set_zero(group);
    add_motion(group, link_a, X_WA.p, -1);
    add_motion(group, link_b, X_WB.p, 1);
    if (c.type == ConstraintType::distance) {
      const Vec3 gap = X_WB.p - X_WA.p;
      const double length = gap.norm();
      const Vec3 direction = length > 1e-9 ? Vec3(gap / length) : Vec3(0, 0, 1);
      // One row along the line: the three rows just made, projected.
      ConstraintGroup row = begin_group(1);
      row.constraint = id;
      for (int p = group.part_begin; p < group.part_end; ++p) {
        const GroupPart part = problem.parts[p];
        double* J = part_for(&row, part.block);
        const int n = model.blocks[part.block].size;
        for (int k = 0; k < n; ++k) {
          const double* column = problem.jacobians.data() + part.jacobian + 3 * k;
          J[k] = direction.x() * column[0] + direction.y() * column[1] + direction.z() * column[2];
        }
      }
      add_laws(row, c, phi);
    } else {
      add_laws(group, c, phi);
    }
  }
};

}  // namespace

void assemble(const Model& model, const State& state, const Input& input, const Motion& motion,
              const Contacts& contacts, double dt, const ContactOptions& options,
              AssemblyWorkspace* workspace, Problem* problem, std::span<const char> asleep,
              std::span<const char> unchanged, const Threads& threads) {
  problem->model = &model;
  problem->motion = &motion;
  problem->dt = dt;
  problem->options = options;
  problem->v0 = state.v;
  problem->v_guess.resize(state.a.size());
  if (state.a.size() > 0) problem->v_guess = state.v + dt * state.a;
  workspace->old_groups.swap(problem->groups);
  workspace->old_parts.swap(problem->parts);
  problem->groups.clear();
  problem->parts.clear();
  problem->laws.clear();
  problem->dof_laws.clear();
  workspace->column.resize(model.num_velocities());
  workspace->inverse.resize(model.trees.size());
  for (std::size_t t = 0; t < model.trees.size(); ++t)
    workspace->inverse[t].known &= !unchanged.empty() && unchanged[t] != 0;
  Assembler a{model, state, input, motion, dt, *workspace, *problem, asleep, 0};
  a.add_contacts(contacts, 0, unchanged, threads);
  workspace->wanted.clear();
  workspace->wanted_of_dofs.clear();
  const int first = static_cast<int>(problem->groups.size());
  a.add_dof_laws();
  a.add_tendons();
  a.make_laws(first, threads);
  if (!model.constraints.empty()) {
    if (workspace->ahead.X_WL.empty()) {
      workspace->ahead = make_placement(model);
      workspace->constrained_objects = find_constrained_objects(model);
    }
    workspace->q_ahead = state.q;
    calc_placement_ahead(model, workspace->constrained_objects, state.q, state.v, dt, &workspace->q_ahead,
                         &workspace->ahead);
  }
  for (int i = 0; i < static_cast<int>(model.constraints.size()); ++i) {
    const ModelConstraint& c = model.constraints[i];
    if (!c.active || a.sleeps(c)) continue;
    if (c.type == ConstraintType::coupler) {
      a.add_coupler(c, i);
    } else {
      a.add_tie(c, i);
    }
  }
  problem->jacobians.resize(a.num_values);
  workspace->kept.resize(problem->groups.size());
}

void add_late_contacts(const State& state, const Input& input, const Contacts& contacts, int first_group,
                       AssemblyWorkspace* workspace, Problem* problem, const Threads& threads) {
  Assembler a{*problem->model, state, input, *problem->motion, problem->dt, *workspace, *problem, {}};
  a.add_contacts(contacts, first_group, {}, threads);
  problem->jacobians.resize(a.num_values);
}

}  // namespace capstan
