// How assemble() works, internal to problem/: rows first (Jacobians of groups), then the laws on them.
#pragma once

#include <algorithm>
#include <array>
#include <numbers>

#include "capstan/dynamics/objects.h"
#include "capstan/problem/delassus.h"
#include "capstan/problem/problem.h"

namespace capstan {

struct Assembler {
  const Model& model;
  const State& state;
  const Input& input;
  const Motion& motion;
  const Contacts& contacts;
  double dt;
  AssemblyWorkspace& w;
  Problem& problem;
  const StageScope& scope;
  int num_values = static_cast<int>(problem.jacobians.size());  // of the Jacobians so far
  const Placement* rows_at = &motion.placement;                 // where rows are made
  Delassus delassus = {model, motion, problem, w};

  // Constraints connect only objects that sleep together.
  bool sleeps(int dof) const { return scope.is_asleep(model.dofs[dof].object); }
  bool sleeps(const ModelConstraint& c) const {
    if (c.type == ConstraintType::coupler) return sleeps(model.joints[c.joint_a].v);
    const int a = model.bodies[c.body_a].link, b = model.bodies[c.body_b].link, link = a > 0 ? a : b;
    return link > 0 && scope.is_asleep(tree_of(link));
  }

  int tree_of(int link) const { return model.links[link].object; }
  // The block of a tree has the tree's number (model/object.h).
  bool is_tree(int link) const { return link == 0 || model.objects[tree_of(link)].is_tree(); }

  // --- Rows (assemble_rows.cc) ---

  ConstraintGroup begin_group(int num_rows) const {
    ConstraintGroup group;
    group.num_rows = num_rows;
    group.part_begin = group.part_end = static_cast<int>(problem.parts.size());
    group.law_begin = static_cast<int>(problem.laws.size());
    return group;
  }
  // Makes room for the Jacobian of a block in the group being built, unless it has one. The part.
  int find_part(ConstraintGroup* group, int block);
  // Adds a zeroed Jacobian block for a tree to the group being built, or returns the one it has.
  double* part_for(ConstraintGroup* group, int tree);
  // Makes room for the point p_W of a link in the Jacobian of the group being built.
  void declare_point(ConstraintGroup* group, int link, const Vec3& p_W);
  void declare_link(ConstraintGroup* group, int link);
  void set_zero(const ConstraintGroup& group, int part) {
    const GroupPart& p = problem.parts[part];
    std::fill_n(problem.jacobians.data() + p.jacobian, group.num_rows * model.blocks[p.block].size, 0.0);
  }
  void set_zero(const ConstraintGroup& group) {
    for (int p = group.part_begin; p < group.part_end; ++p) set_zero(group, p);
  }
  // Adds sign * (motion of the link at p_W) to the rows of a group that has room for it: 6 rows (angular,
  // linear), or the linear 3 in the axes R_WC. Never inlined: two links of one tree must get the very same
  // numbers for the dofs they share, so that these cancel to zero (step/step.cc).
  void add_motion(const ConstraintGroup& group, int link, const Vec3& p_W, double sign,
                  const Mat3& R_WC = Mat3::Identity());
  // The same for a point of an object that is not a tree; and T times its velocity, to three rows.
  void add_point(const ConstraintGroup& group, int link, const Vec3& p_W, double sign, const Mat3& R_WC);
  void add_rows(const ConstraintGroup& group, int link, const Vec3& p_W, const Mat3& T, int row);

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

  // --- Scalar laws (assemble_rows.cc) ---

  // The R of a law as stiff as the time step can show, on a row with Delassus estimate W.
  double near_rigid_R(double W) const {
    const double beta = problem.options.constraint_beta;
    return beta * beta / (4 * std::numbers::pi * std::numbers::pi) * std::max(W, 1e-18);
  }
  // A law that drives phi to zero, near-rigid or with stiffness k, on a row with Delassus estimate W.
  ScalarLaw make_law(double phi, double W, double stiffness, double relaxation_time) const;
  // Makes a near-rigid law undo no more of an error (>= 0, of which phi is a part) in this step than
  // laws/recovery.h allows.
  void bound_recovery(double phi, double error, ScalarLaw* law) const;

  // --- Normals at the end of the step (assemble_lean.cc) ---

  struct Lean {
    Vec3 normal;                // from link_a to link_b
    double gap_rate = 0;        // [m/s] of the gap besides the velocity along it
    bool any = false;           // or it is that of the beginning
    Vec3 shift = Vec3::Zero();  // [m] from the point to where the body is touched
    double of_sticking = 1;     // times calc_sticking_bias()
  };
  Lean calc_lean(int contact) const;
  bool is_rod(int link) const;
  Vec3 calc_curving(int shape, int link, const Vec3& p_W, const Vec3& normal, double away,
                    const Vec3& u) const;

  // --- Contacts (assemble_contacts.cc) ---

  bool is_reused(int group) const;
  void add_contacts(int first_group);  // of the contacts, and all after it
  std::array<int, 2> links_of(int contact) const;
  void make_contact_group(const ConstraintGroup& group);
  bool is_sphere(int shape) const;
  bool is_face(int shape, int link, const Vec3& normal) const;
  void shift_to_touch(int contact, Vec3* p_a, Vec3* p_b) const;
  void make_contact_alone(const ConstraintGroup& group);
  void set_contact_law(int i, const Mat3& R, const Mat36& X, const Vec3& v0, const Vec3& W,
                       const Vec3& sticking_bias_W, const Lean& lean);
  Vec3 surface_velocity(int id, const Vec3& p_W) const;
  bool has_turning(int begin, int end) const;  // assemble_turning.cc
  void declare_turn(ConstraintGroup* group, int link, const Vec3& p_W);
  void set_turning_law(int i, int back, double sign, const Mat6& W, const Vec3& v0);
  double guess_normal_impulse(int point, const Vec3& v0) const;
  Vec3 surface_spin(int id) const;
  void set_tensor(int i, const Mat3& R_WC, ContactInput* in) const;

  // --- Contacts that stick to what goes curved ways (assemble_sticking.cc) ---

  struct SurfaceMotion {  // at a point
    Vec6 V;               // (angular, linear)
    Vec3 acceleration;
    Vec3 turn;  // that moves the surface: angular without the spin of a body of revolution
  };
  SurfaceMotion surface_motion(int link, int shape, const Vec3& p_W) const;
  bool is_lone_body(int link) const;
  Vec6 path_acceleration(int link) const;
  void find_paths(int first_contact);
  Vec3 wander(int shape, int link, const Vec3& p_W, const Vec3& normal, const Vec3& w_W) const;
  struct Bend {
    Vec3 acceleration;
    double slip, turn;
  };
  Bend calc_bend(int contact) const;
  Vec3 calc_sticking_bias(int contact) const;
  Vec3 calc_sticking_bias(int contact_begin, int contact_end) const;
  double calc_slipping_bias(int contact) const;
  double calc_spin_rate(int i) const;
  Vec3 way_of_surface(int link, const Vec3& p_W) const;

  // --- Limits, dry friction and tendons (assemble_joints.cc) ---

  bool may_reach(double phi, double speed) const;
  ScalarLaw make_limit(double phi, double W) const;
  ScalarLaw make_dry_friction(double force, double W) const;
  ScalarLaw make_law(const AssemblyWorkspace::Wanted& wanted, double W) const;
  void want_dof_law(int dof, double sign, bool is_limit, double value, const SoftReference* soft = nullptr);
  void want_law(const ConstraintGroup& group, bool is_limit, double value);
  void make_laws(int first_group);
  void add_limits(int dof, int q, const Range& limits, const SoftReference* soft = nullptr);
  void add_dof_laws();
  void add_ball_limit(const ModelJoint& joint);
  bool is_ancestor(int a, int dof) const;
  void add_terms(ConstraintGroup* group, const Transmission& transmission, double sign);
  void add_tendons();

  // --- Loops and couplers (assemble_ties.cc) ---

  bool is_midway() const;  // whether constraints act as they are half-way through the step
  double soft_weight(const ModelConstraint& c, int row) const;
  void add_laws(const ConstraintGroup& group, const ModelConstraint& c, const Vec6& phi);
  void add_coupler(const ModelConstraint& c, int id);
  void add_tie(const ModelConstraint& c, int id);
  void set_tie_rows(const ConstraintGroup& group, const ModelConstraint& c);
  void set_distance_row(const ConstraintGroup& row, const ModelConstraint& c);
  Vec6 calc_curvature(const ConstraintGroup& group, const ModelConstraint& c, const VecX& v) const;
};

}  // namespace capstan
