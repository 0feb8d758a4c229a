// A knot that is pulled tight stays the knot it is: the rope never passes through itself. A sum over
// crossings tells, which is tried on a rope that does.
#include <gtest/gtest.h>

#include <memory>

#include "capstan/model/add_rod.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/knots.h"

namespace capstan {
namespace {

using namespace test;

std::vector<Vec3> nodes_of(const Rod& rod, const VecX& q) {
  std::vector<Vec3> nodes;
  for (int i = 0; i < rod.num_nodes(); ++i) nodes.push_back(Rod::node(q, i));
  return nodes;
}

TEST(RodKnot, InvariantsTellKnotsAndWhereARopePassesThroughItself) {
  for (const int n : {3, 5, 7, 9}) {
    std::vector<Vec3> nodes = make_knot(n, 400, 1, 0.003, 0.016, 0.06);
    ASSERT_EQ(nodes.size(), 401u);
    const KnotInvariants knot = calc_invariants(nodes);
    EXPECT_EQ(knot.casson, (n * n - 1) / 8) << n;
    EXPECT_EQ(knot.determinant, n);
    // From another side, with all that a bent and turned rope shows, it is the same.
    std::vector<Vec3> bent = nodes;
    for (Vec3& node : bent) {
      const double c = std::cos(5 * node.x()), s = std::sin(5 * node.x());
      node = Vec3(node.x(), c * node.y() - s * node.z(), s * node.y() + c * node.z() + node.x() * node.x());
    }
    EXPECT_EQ(calc_invariants(bent).casson, knot.casson);
    EXPECT_EQ(calc_invariants(bent).determinant, knot.determinant);
    // One strand of the middle crossing goes through the other: T(2, n - 2) is left.
    std::vector<Vec3> passed = nodes;
    double z = 0;  // whether the strand that comes first is below there
    for (std::size_t i = 0; i < nodes.size() / 2; ++i) {
      if (std::abs(nodes[i].x()) < 0.003 && std::abs(nodes[i].y()) < 0.02) z += nodes[i].z();
    }
    for (std::size_t i = 0; i < nodes.size() / 2; ++i) {
      if (std::abs(nodes[i].x()) < 0.0075 && std::abs(nodes[i].y()) < 0.02)
        passed[i].z() += (z > 0 ? -0.02 : 0.02) * (1 - std::abs(nodes[i].x()) / 0.0075);
    }
    const KnotInvariants less = calc_invariants(passed);
    EXPECT_EQ(less.casson, ((n - 2) * (n - 2) - 1) / 8) << n;
    EXPECT_EQ(less.determinant, n - 2);
  }
}

// At 1 ms, ten times the step of Li and Chou, the ends going apart at 0.8 m/s.
TEST(RodKnot, AnOverhandKnotIsPulledTight) {
  Scene scene;
  Material material;
  material.name = "default";
  material.friction = 0;
  material.stiffness = 1e5;
  scene.materials = {material};
  scene.options.gravity.setZero();
  Simulation run(scene, 0.001, ContactLaw::coulomb);
  const auto rod = std::make_shared<Rod>(knot_rod(3, 200));
  add_rod("rope", rod, 0, &run.model);
  run.state = initial_state(run.model);
  run.workspace = make_workspace(run.model);
  run.state.v[0] = -0.4;
  run.state.v[4 * 200] = 0.4;
  double pull = 0;
  int contacts = 0;
  for (int k = 0; k < 700 && pull < 1; ++k) {
    run.go(0.001);
    const KnotInvariants knot = calc_invariants(nodes_of(*rod, run.state.q));
    ASSERT_EQ(knot.casson, 1) << run.state.time;
    ASSERT_EQ(knot.determinant, 3) << run.state.time;
    pull = rod->tension(run.state.q, 0);
    contacts = std::max(contacts, run.report.contacts);
  }
  EXPECT_GE(pull, 1);  // [N] tight
  EXPECT_GT(contacts, 10);
  EXPECT_LT(run.report.deepest, 3e-4);
}

}  // namespace
}  // namespace capstan
