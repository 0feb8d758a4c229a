// The convex problem of one step (SAP III, ICF IV):
//
//   min over v   1/2 (v - v*)^T A (v - v*) + sum of l_i(J_i v)
//
// Constraints are in *groups*. A group has up to six rows U = J v, where J has a dense block for each block
// of dofs that it touches:
//
//   contacts     all contacts of one pair of links: U is the relative motion (angular, linear) of b against a
//                at the group's origin, and each contact's velocity is v_c = X_c U, X_c = R_WC^T [-[r]x, 1].
//                Where a pair has but one or two contacts, each is a group of its own, with three rows: U =
//                v_c and X_c = [1, 0]. Friction against turning comes as contacts, too, which follow that
//                of their point (laws/turning.h): X_c = l R_WC^T [1, 0], without a row along the normal
//   rows         one scalar law for each row: ball, weld, distance, coupler, tendon, drive
//
// and *dof laws* act on one velocity each: joint limits, dry friction, drives. Impulses act as J^T gamma.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "capstan/base/deadline.h"
#include "capstan/contacts/contacts.h"
#include "capstan/dynamics/free_motion.h"
#include "capstan/laws/contact.h"
#include "capstan/laws/scalar.h"
#include "capstan/problem/soft_weights.h"

namespace capstan {

using Mat36 = Eigen::Matrix<double, 3, 6>;

struct ConstraintGroup {
  int num_rows = 6;                        // 1 to 6
  int part_begin = 0, part_end = 0;        // in Problem::parts
  int contact_begin = 0, contact_end = 0;  // contacts of the group; empty when it has scalar laws
  int law_begin = 0;                       // first of num_rows scalar laws
  int constraint = -1;                     // of the model, for reports; -1 for contacts
  int tendon = -1;                         // of the model, whose limit or dry friction it is
  double pull = 1;                         // 1: its impulse shortens the tendon, -1: lengthens it
  bool is_patch = false;                   // its contacts are the points of a patch (contacts/patches.h)
  bool operator==(const ConstraintGroup&) const = default;
};

struct GroupPart {
  int block = 0;     // of the model
  int jacobian = 0;  // in Problem::jacobians: num_rows x dofs of the block, column-major
  int last_dof =
      -1;  // of a tree: all columns but those of this dof and its ancestors are zero; -1: not known
  bool operator==(const GroupPart&) const = default;
};

struct DofLaw {
  int dof = 0;
  double sign = 1;  // the law's velocity is sign * v[dof]
  ScalarLaw law;
};

// An entry of contacts that turns (laws/turning.h).
struct Turning {
  double arm = 0;  // [m] its velocity over the angular velocity
  int back = 0;    // its point is so many entries before it; 0: it is a point itself
};

struct Problem {
  const Model* model = nullptr;
  const Motion* motion = nullptr;  // A, v*
  double dt = 0;
  ContactOptions options;
  const Deadline* deadline = nullptr;  // of the step; solvers ask it at every factorization. Null: none
  VecX v0;                             // velocities at the beginning of the step
  VecX v_guess;                        // where the motion goes on as in the step before; empty: not known

  std::vector<ConstraintGroup> groups;
  std::vector<GroupPart> parts;
  std::vector<double> jacobians;
  std::vector<ContactData> contacts;  // in the order of Contacts
  std::vector<Mat36> X;               // contact velocity from its group's U
  std::vector<Mat3> R_WC;             // contact frames; z is the normal
  std::vector<Vec3> sticking_bias;    // part of each contact's bias: its bodies turn (assemble_sticking.cc)
  std::vector<Turning> turning;       // [contacts] or empty: all are points
  std::vector<Vec3> contact_mass;     // [kg] that a contact moves, along each axis of its frame: 1 / Delassus
  std::vector<ScalarLaw> laws;
  std::vector<DofLaw> dof_laws;

  bool is_point(int contact) const { return turning.empty() || turning[contact].back == 0; }
  // The object that a part acts on.
  int object_of(const GroupPart& part) const { return model->blocks[part.block].object; }
  // U = J v of a group; rows that it does not have are zero.
  Vec6 calc_motion(const ConstraintGroup& group, const VecX& v) const {
    Vec6 U = Vec6::Zero();
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const DofBlock& block = model->blocks[parts[p].block];
      const double* J = jacobians.data() + parts[p].jacobian;
      double sum[6] = {};
      for (int k = 0; k < block.size; ++k) {
        for (int r = 0; r < group.num_rows; ++r) sum[r] += J[group.num_rows * k + r] * v[block.dof_begin + k];
      }
      for (int r = 0; r < group.num_rows; ++r) U[r] += sum[r];
    }
    return U;
  }
  int num_constraints() const { return static_cast<int>(contacts.size() + laws.size() + dof_laws.size()); }
  Eigen::Map<const MatX> jacobian(const ConstraintGroup& group, const GroupPart& part) const {
    return {jacobians.data() + part.jacobian, group.num_rows, model->blocks[part.block].size};
  }
};

// Scratch memory of assemble().
struct AssemblyWorkspace {
  VecX column;  // [dofs]
  struct Inverse {
    bool is_valid = false;  // for the A of this step
    bool is_body = false;   // a lone rigid body, its frame in the centre of mass: matrix is (1 / m, turn)
    Mat6 matrix;
    Mat3 turn_W;
  };
  std::vector<Inverse> inverse;          // [trees] of A, where a tree has six dofs
  std::vector<int> trees;                // of those, which contacts act on
  std::vector<Vec6> path;                // [links] Assembler::path_acceleration(), where it is known:
  std::vector<char> has_path;            // [links] in this step
  std::vector<int> constrained_objects;  // that rigid constraints act on
  VecX q_ahead;                          // where these would be with the velocities before the step
  Placement ahead;
  std::vector<double> curvature;      // [laws] that the gaps of rigid constraints have on the way [m or rad]
  std::vector<Vec6> found_curvature;  // [those between trees] along an answer
  // Limits that may act, by their gap [m or rad], and dry frictions [N or N m], whose laws are not made yet.
  struct Wanted {
    bool is_limit;
    double value;
    double rate = 0;                      // [m/s or rad/s] of the gap before the step,
    const SoftReference* soft = nullptr;  // which a soft limit takes, with its inverse inertia
    double weight = 0;
  };
  std::vector<Wanted> wanted_of_dofs, wanted;     // one for each dof law; one for each of some groups
  std::vector<char> has_constraint, is_released;  // [objects] for add_drives(): now; in this step before
  std::vector<ConstraintGroup> old_groups;        // of the last step
  std::vector<GroupPart> old_parts;
  SoftWeights soft_weights;
  std::vector<char> reused_groups;  // [groups] of contacts that the problem has from the last step
};

// What a problem is built from.
struct StepData {
  const State& state;
  const Input& input;
  const Motion& motion;
  const Contacts& contacts;
};

// Builds the problem of a step: contacts at q0, limits and constraints of the model that may act. Objects
// that are asleep have no constraints. Groups of reused contacts among unchanged objects are reused, with the
// workspace and problem of the last call.
void assemble(const Model& model, const StepData& data, double dt, const ContactOptions& options,
              const StageScope& scope, AssemblyWorkspace* workspace, Problem* problem);
inline void assemble(const Model& model, const StepData& data, double dt, const ContactOptions& options,
                     AssemblyWorkspace* workspace, Problem* problem) {
  assemble(model, data, dt, options, StageScope{}, workspace, problem);
}

// Makes rigid constraints between trees anticipate the curvature of the way along v, an answer, in place of
// that along the velocities before the step; marks the objects they act on whose problem is another one then.
// Returns the largest change [m or rad], or 0 where there is none to speak of; infinity, and nothing is
// changed, where it is more than the curvature itself: near poses in which a loop can fold.
double center_ties(const State& state, const VecX& v, AssemblyWorkspace* workspace, Problem* problem,
                   std::vector<char>* objects);
// Goes back to curvatures that the workspace had, [laws]; marks the objects likewise.
void restore_ties(const std::vector<double>& curvature, AssemblyWorkspace* workspace, Problem* problem,
                  std::vector<char>* objects);

// Adds the contacts from group `first_group` on, which are late, to a problem that has all the others. What
// is there keeps its place: groups and contacts that come in are the last.
void add_late_contacts(const StepData& data, int first_group, const StageScope& scope,
                       AssemblyWorkspace* workspace, Problem* problem);

// On trees with constraints, actuators with limits of force become constraints, too (dynamics/drives.h): they
// leave v* and A of the motion that the problem was assembled from. Once more after add_late_contacts().
void add_drives(const State& state, const Scheme& scheme, Motion* motion, AssemblyWorkspace* workspace,
                Problem* problem);

}  // namespace capstan
