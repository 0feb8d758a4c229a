// One island of a problem in its own coordinates: the dofs of its trees one after the other, its groups and
// contacts in order. What an iteration needs of it: products with A and J, the laws at a velocity, and the
// Newton system (A + J^T G J) dv = -gradient. Memory only grows.
#pragma once

#include <span>
#include <vector>

#include "capstan/math/block_cholesky.h"
#include "capstan/problem/islands.h"

namespace capstan {

struct IslandSystem {
  using Vector = Eigen::Map<VecX>;
  using ConstVector = Eigen::Ref<const VecX>;

  const Problem* problem = nullptr;
  const Islands* islands = nullptr;
  const Island* island = nullptr;
  int* local_tree = nullptr;       // [trees of the model] place in its island; shared by all islands
  std::vector<int> start;          // [trees + 1] first local dof
  std::vector<int> contact_start;  // [groups + 1] first local contact
  Vector v0{nullptr, 0}, v_star{nullptr, 0}, A_v_star{nullptr, 0};
  Vector scale{nullptr, 0};  // diag(A)^-1/2

  void begin(const Problem& problem, const Islands& islands, const Island& island, int* local_tree,
             int num_vectors);
  Vector vector(int i);  // the i-th of num_vectors vectors for the caller

  int num_dofs() const { return start.back(); }
  int num_trees() const { return island->tree_end - island->tree_begin; }
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
  const Tree& tree(int t) const { return problem->model->trees[islands->trees[island->tree_begin + t]]; }
  void gather(const VecX& from, Vector to) const;  // the island's part
  int local_dof(int dof) const {
    const Model& model = *problem->model;
    const int tree = model.links[model.dofs[dof].link].tree;
    return start[local_tree[tree]] + dof - model.trees[tree].dof_begin;
  }

  void multiply_A(const ConstVector& x, Vector y) const;
  // U = J x of every group (rows that it does not have are undefined), and from it the velocity of every
  // contact in its frame.
  void calc_motion(const ConstVector& x, std::vector<Vec6>* U, std::vector<Vec3>* contact_velocity) const;
  // y = J^T f, f one 6-vector for each group; dof laws apart.
  void calc_impulse(const std::vector<Vec6>& f, Vector y) const;

  // dv = -(A + J^T G J)^-1 gradient, G one 6x6 for each group and a number for each dof law.
  bool solve(const std::vector<Mat6>& G, const std::vector<double>& dof_G, const ConstVector& gradient,
             Vector dv);
  // The same with H of the last solve().
  void solve_again(const ConstVector& gradient, Vector dv) const;
  // With H of the last solve() and the Jacobian J of a few groups, whose rows follow one another:
  // W = J H^-1 J^T, and dv += H^-1 J^T f.
  void calc_influence(std::span<const int> groups, Eigen::Ref<MatX> W);
  void add_influence(std::span<const int> groups, const ConstVector& f, Vector dv);

 private:
  // Groups and their Jacobians one after the other, in the order in which iterations pass over them.
  struct LocalPart {
    int tree, start;     // local tree and its first local dof
    int size;            // dofs of the tree
    int padded;          // in padded_: the tree's dofs; a body has none there
    int dofs, dofs_end;  // in dofs_: those that move the rows of the group; a body's six are not in it
    int jacobian;        // in jacobians_: the transpose of Problem's, column-major, padded_size(size) x rows
  };
  struct LocalGroup {
    int rows, part_begin, part_end;
    bool bodies;  // all its trees are free bodies
  };
  std::vector<LocalGroup> groups_;
  std::vector<LocalPart> parts_;
  std::vector<int> dofs_;  // within the tree
  std::vector<double> jacobians_;
  std::vector<int> padded_start_;       // [trees]
  mutable std::vector<double> padded_;  // a vector whose larger trees have whole fours, the last with zeros

  std::vector<double> A_values_, arena_, product_;
  std::vector<ColumnsInBlock> columns_;
  std::vector<int> A_start_;
  BlockPattern pattern_;
  BlockCholesky cholesky_;
  bool analyzed_ = false;  // for the pattern; islands that are solved at the start never are

  void add_part(const ConstraintGroup& group, const GroupPart& part);
  void add_groups(const std::vector<Mat6>& G);
  static constexpr int kSix[] = {0, 1, 2, 3, 4, 5};
  const int* dofs(const LocalPart& part) const { return part.size == 6 ? kSix : dofs_.data() + part.dofs; }
  static int num_dofs(const LocalPart& part) { return part.size == 6 ? 6 : part.dofs_end - part.dofs; }
};

}  // namespace capstan
