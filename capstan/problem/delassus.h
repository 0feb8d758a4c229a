// How much a constraint gives way to an impulse: W = J A^-1 J^T of a group (SAP V-B), with the factor of
// A.
#pragma once

#include <algorithm>
#include <span>

#include "capstan/problem/problem.h"

namespace capstan {

struct Delassus {
  const Model& model;
  const Motion& motion;
  const Problem& problem;  // its groups so far
  AssemblyWorkspace& w;

  // Symmetric, num_rows x num_rows.
  Mat6 calc(const ConstraintGroup& group) const;

  // The diagonal alone, of a group with up to three rows.
  Vec3 calc_diagonal(const ConstraintGroup& group) const;

  // Of one dof.
  double calc(int dof) const;

  // What A^-1 of a tree with six dofs is, found when first asked for in a step; those of trees with contacts
  // are known before.
  const AssemblyWorkspace::Inverse& inverse(int tree) const {
    AssemblyWorkspace::Inverse& inverse = w.inverse[tree];
    if (!inverse.is_valid) {
      calc_inverse(tree);
      inverse.is_valid = true;
    }
    return inverse;
  }
  void calc_inverse(int tree) const;

  // Whether a group touches nothing but single bodies.
  bool has_bodies_only(const ConstraintGroup& group) const {
    return std::all_of(problem.parts.begin() + group.part_begin, problem.parts.begin() + group.part_end,
                       [&](const GroupPart& p) {
                         return model.blocks[p.block].size == 6 && is_tree(p) && inverse(p.block).is_body;
                       });
  }

  // The diagonal of a contact's W, in its frame, when has_bodies_only().
  Vec3 calc_of_bodies(const ConstraintGroup& group, const Vec3& p_W, const Mat3& R_WC) const {
    Vec3 W = Vec3::Zero();
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const int t = problem.parts[p].block;
      const AssemblyWorkspace::Inverse& inverse = w.inverse[t];
      const Vec3 r = p_W - motion.placement.origin[t];
      for (int i = 0; i < 3; ++i) {
        const Vec3 arm = cross(r, Vec3(R_WC.col(i)));
        W[i] += inverse.matrix(0, 0) + arm.dot(inverse.turn_W * arm);
      }
    }
    return W;
  }

  bool is_tree(const GroupPart& part) const { return model.object_of_block(part.block).is_tree(); }

 private:
  void add_of_object(const ConstraintGroup& group, int first_part, Mat6* W) const;
  void add_of_block(const ConstraintGroup& group, const GroupPart& part, int object, Mat6* W) const;
  std::span<const int> dofs_of(const GroupPart& part) const;
};

}  // namespace capstan
