// One island of a problem in its own coordinates: the dofs of its objects one after the other, in blocks, its
// groups and contacts in order. What an iteration needs of it: products with A and J, the laws at a velocity,
// and the Newton system (A + J^T G J) dv = -gradient. Blocks that no constraint touches are not in it, and A
// of objects with such blocks is what these leave behind (solvers/condensation.h). Memory only grows.
#pragma once

#include <span>
#include <vector>

#include "capstan/math/block_cholesky.h"
#include "capstan/problem/islands.h"
#include "capstan/solvers/condensation.h"

namespace capstan {

// What all islands of a problem share.
struct IslandMaps {
  std::vector<int> local_block;            // [blocks of the model] place in its island; -1: eliminated
  std::vector<Condensation> condensation;  // [objects that are not trees]
};

struct IslandSystem {
  using Vector = Eigen::Map<VecX>;
  using ConstVector = Eigen::Ref<const VecX>;

  const Problem* problem = nullptr;
  const Islands* islands = nullptr;
  const Island* island = nullptr;
  IslandMaps* maps = nullptr;
  std::vector<int> start;          // [blocks + 1] first local dof
  std::vector<int> object_start;   // [objects + 1] likewise
  std::vector<int> contact_start;  // [groups + 1] first local contact
  Vector v0{nullptr, 0}, v_star{nullptr, 0}, A_v_star{nullptr, 0};
  Vector scale{nullptr, 0};  // diag(A)^-1/2

  void begin(const Problem& problem, const Islands& islands, const Island& island, IslandMaps* maps,
             int num_vectors);
  Vector vector(int i);  // the i-th of num_vectors vectors for the caller

  bool is_condensed() const { return is_condensed_; }  // parts of its objects are not in it
  int num_dofs() const { return start.back(); }
  int num_objects() const { return island->object_end - island->object_begin; }
  int num_blocks() const { return static_cast<int>(pattern_.sizes.size()); }
  int num_groups() const { return island->group_end - island->group_begin; }
  int num_contacts() const { return contact_start.back(); }
  int num_rows(int g) const { return groups_[g].rows; }
  int num_dof_laws() const { return island->dof_law_end - island->dof_law_begin; }
  const ConstraintGroup& group(int g) const {
    return problem->groups[islands->groups[island->group_begin + g]];
  }
  bool has_contacts(const ConstraintGroup& c) const { return c.contact_begin < c.contact_end; }
  int dof_law_id(int i) const { return islands->dof_laws[island->dof_law_begin + i]; }
  const DofLaw& dof_law(int i) const { return problem->dof_laws[dof_law_id(i)]; }
  const Object& object(int i) const {
    return problem->model->objects[islands->objects[island->object_begin + i]];
  }
  // Of a block of the model.
  int local_block(int block) const { return maps->local_block[block]; }
  int local_object(int block) const { return object_of_block_[local_block(block)]; }
  int local_dof(int dof) const {
    const int block = find_block(*problem->model, dof);
    return start[local_block(block)] + dof - problem->model->blocks[block].dof_begin;
  }
  // The island's part of a vector of all dofs.
  void gather(const VecX& from, Vector to) const;
  // The other way, for velocities; those of blocks that are not in the system follow from them.
  void scatter_velocities(const ConstVector& from, VecX* to);

  void multiply_A(const ConstVector& x, Vector y) const;
  // U = J x of every group (rows that it does not have are undefined), and from it the velocity of every
  // contact in its frame.
  void calc_motion(const ConstVector& x, std::vector<Vec6>* U, std::vector<Vec3>* contact_velocity) const;
  // y = J^T f, f one 6-vector for each group; dof laws apart.
  void calc_impulse(const std::vector<Vec6>& f, Vector y) const;

  // dv = -(A + J^T G J)^-1 gradient, G one 6x6 for each group and a number for each dof law.
  bool solve(const std::vector<Mat6>& G, const std::vector<double>& dof_G, const ConstVector& gradient,
             Vector dv);
  bool has_factor() const { return has_factor_; }  // of the last solve()
  // The same with H of the last solve().
  void solve_again(const ConstVector& gradient, Vector dv) const;
  // With H of the last solve() and the Jacobian J of a few groups, whose rows follow one another:
  // W = J H^-1 J^T, and dv += H^-1 J^T f.
  void calc_influence(std::span<const int> groups, Eigen::Ref<MatX> W);
  void add_influence(std::span<const int> groups, const ConstVector& f, Vector dv);

 private:
  // Groups and their Jacobians one after the other, in the order in which iterations pass over them.
  struct LocalPart {
    int block, start;    // local block and its first local dof
    int size;            // dofs of the block
    int padded;          // in padded_: the block's dofs; a body has none there
    int dofs, dofs_end;  // in dofs_: those that move the rows of the group; a body's six are not in it
    int jacobian;        // in jacobians_: the transpose of Problem's, column-major, padded_size(size) x rows
  };
  struct LocalGroup {
    int rows, part_begin, part_end;
    bool bodies;  // all its blocks have six dofs
  };
  std::vector<LocalGroup> groups_;
  std::vector<LocalPart> parts_;
  std::vector<int> dofs_;  // within the block
  std::vector<double> jacobians_;
  std::vector<int> padded_start_;       // [blocks]
  mutable std::vector<double> padded_;  // a vector whose other blocks have whole fours, the last with zeros

  std::vector<double> A_values_, arena_, product_;
  std::vector<ColumnsInBlock> columns_;
  std::vector<int> A_start_;          // [blocks] in A_values_: those of trees
  std::vector<int> object_of_block_;  // [blocks] local
  std::vector<int> model_block_;      // [blocks]
  // A of objects that are not trees: blocks off the diagonal, the first pairs of pattern_, and on it.
  std::vector<const double*> couplings_;
  std::vector<const double*> diagonal_;  // [blocks] null: of a tree
  const Condensation& condensation(int o) const {
    return maps->condensation[islands->objects[island->object_begin + o] - problem->model->trees.size()];
  }
  void add_object(int o);
  void calc_A_v_star();
  void fill();
  BlockPattern pattern_;
  BlockCholesky cholesky_;
  bool analyzed_ = false;  // for the pattern; islands that are solved at the start never are
  bool has_factor_ = false;
  bool has_trees_only_ = true, is_condensed_ = false;

  void add_part(const ConstraintGroup& group, const GroupPart& part);
  void add_groups(const std::vector<Mat6>& G);
  static constexpr int kSix[] = {0, 1, 2, 3, 4, 5};
  const int* dofs(const LocalPart& part) const { return part.size == 6 ? kSix : dofs_.data() + part.dofs; }
  static int num_dofs(const LocalPart& part) { return part.size == 6 ? 6 : part.dofs_end - part.dofs; }
};

}  // namespace capstan
