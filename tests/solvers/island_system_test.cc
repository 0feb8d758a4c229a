// The system of an island against plain dense matrices.
#include "capstan/solvers/island_system.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "capstan/math/branch_matrix.h"
#include "tests/support/random_scene.h"

namespace capstan::island_system_test {
namespace {

// One group of 1 to 6 rows on up to three trees. On each it acts along the path of a dof to its root, or on
// any dofs.
void add_random_group(test::Random& random, Problem* p) {
  const Model& model = *p->model;
  const int trees = static_cast<int>(model.trees.size());
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  ConstraintGroup group;
  group.num_rows = 1 + below(6);
  group.part_begin = static_cast<int>(p->parts.size());
  for (int t = below(trees), count = 0; t < trees && count < 3; t += 1 + below(trees), ++count) {
    const Tree& tree = model.trees[t];
    const int last = tree.dof_begin + below(tree.num_dofs());
    const bool is_path = below(3) > 0;
    const GroupPart part{t, static_cast<int>(p->jacobians.size()), is_path ? last : -1};
    p->jacobians.resize(p->jacobians.size() + group.num_rows * tree.num_dofs(), 0.0);
    for (int k = tree.dof_begin; k <= last; ++k) {
      const int* path = model.pattern.columns.data() + model.pattern.row_start[last];
      const bool is_on_path = std::binary_search(path, path + model.pattern.row_size(last), k);
      if (is_path ? !is_on_path : below(2) > 0) continue;
      double* column = p->jacobians.data() + part.jacobian + group.num_rows * (k - tree.dof_begin);
      for (int r = 0; r < group.num_rows; ++r) column[r] = test::uniform(random, -1, 1);
    }
    p->parts.push_back(part);
  }
  group.part_end = static_cast<int>(p->parts.size());
  p->groups.push_back(group);
}

TEST(IslandSystem, IsThatOfDenseMatrices) {
  test::Random random(7);
  IslandSystem system;  // one for all: memory that others used before
  int compared = 0, larger = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Model model = compile(test::random_scene(random, 1 + trial % 20));
    const int n = model.num_velocities();
    if (n == 0) continue;
    const State state = test::random_state(random, model, 1);
    Motion motion = make_motion(model);
    calc_free_motion(model, state, {}, 0.01, scheme(Integrator::semi_implicit), &motion);
    Problem p;
    p.model = &model;
    p.motion = &motion;
    p.v0 = state.v;
    for (int g = 0; g < 6; ++g) add_random_group(random, &p);
    Islands islands;
    find_islands(p, std::vector<char>(p.groups.size(), 1), &islands);
    MatX A(n, n);
    expand(model.system_pattern, motion.A.data(), 0, n, A);
    IslandMaps maps;
    maps.local_block.resize(model.trees.size());
    for (const Island& island : islands.list) {
      system.begin(p, islands, island, &maps, 3);
      const int m = system.num_dofs();
      // Columns of the identity that the island has.
      MatX P = MatX::Zero(n, m);
      for (int t = 0; t < system.num_objects(); ++t) {
        const Object& tree = system.object(t);
        P.block(tree.dof_begin, system.start[t], tree.num_dofs(), tree.num_dofs()).setIdentity();
        larger += tree.num_dofs() > 16;
      }
      const MatX A_local = P.transpose() * A * P;
      MatX H = A_local;
      std::vector<MatX> J;
      std::vector<Mat6> G;
      std::vector<Vec6> f, U;
      std::vector<Vec3> contact_velocity;
      const VecX x = VecX::Random(m);
      VecX impulse = VecX::Zero(m);
      for (int g = 0; g < system.num_groups(); ++g) {
        const ConstraintGroup& group = system.group(g);
        MatX whole = MatX::Zero(group.num_rows, n);
        for (int k = group.part_begin; k < group.part_end; ++k) {
          const Tree& tree = model.trees[p.parts[k].block];
          whole.middleCols(tree.dof_begin, tree.num_dofs()) += p.jacobian(group, p.parts[k]);
        }
        J.push_back(whole * P);
        const Mat6 root = Mat6::Random();
        const bool acts = g % 4 != 3;
        G.push_back(acts ? Mat6(root * root.transpose()) : Mat6(Mat6::Zero()));
        f.push_back(acts ? Vec6(Vec6::Random()) : Vec6(Vec6::Zero()));
        const int rows = group.num_rows;
        H += J[g].transpose() * G[g].topLeftCorner(rows, rows) * J[g];
        impulse += J[g].transpose() * f[g].head(rows);
      }
      system.multiply_A(x, system.vector(0));
      EXPECT_LT((system.vector(0) - A_local * x).norm(), 1e-13 * A_local.norm() * x.norm());
      system.calc_motion(x, &U, &contact_velocity);
      for (int g = 0; g < system.num_groups(); ++g) {
        const int rows = system.group(g).num_rows;
        EXPECT_LT((U[g].head(rows) - J[g] * x).norm(), 1e-13 * (1 + J[g].norm() * x.norm()));
      }
      system.calc_impulse(f, system.vector(1));
      EXPECT_LT((system.vector(1) - impulse).norm(), 1e-13 * (1 + impulse.norm()));
      ASSERT_TRUE(system.solve(G, {}, x, system.vector(2)));
      const VecX residual = H * system.vector(2) + x;
      EXPECT_LT(residual.norm(), 1e-12 * H.norm() * system.vector(2).norm()) << trial;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(larger, 20);
}

}  // namespace
}  // namespace capstan::island_system_test
