// A knot that is pulled tight stays the knot it is: the rope never passes through itself. A sum over
// crossings tells, which is tried on a rope that does. A rod that its own bending throws does not pass what
// is thinner than its way in a step.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "capstan/model/add_rod.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/knots.h"

namespace capstan::rod_knot_test {
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

// A rope with a knot whose ends go apart at 0.8 m/s.
struct PulledKnot {
  std::shared_ptr<Rod> rod;
  Simulation run;
  int crossings;

  static Scene scene() {
    Scene scene;
    Material material;
    material.name = "default";
    material.friction = 0;
    material.stiffness = 1e5;
    scene.materials = {material};
    scene.options.gravity.setZero();
    return scene;
  }
  PulledKnot(int n, int edges, double dt)
      : rod(std::make_shared<Rod>(knot_rod(n, edges))), run(scene(), dt, ContactLaw::coulomb), crossings(n) {
    add_rod("rope", rod, 0, &run.model);
    run.state = initial_state(run.model);
    run.workspace = make_workspace(run.model);
    run.state.v[0] = -0.4;
    run.state.v[4 * edges] = 0.4;
  }
  // A step; whether it is still that knot.
  bool keeps_knot() {
    run.go(run.options.dt);
    const KnotInvariants knot = calc_invariants(nodes_of(*rod, run.state.q));
    return knot.casson == (crossings * crossings - 1) / 8 && knot.determinant == crossings;
  }
};

// At 1 ms, ten times the step of Li and Chou.
TEST(RodKnot, AnOverhandKnotIsPulledTight) {
  PulledKnot knot(3, 200, 0.001);
  double pull = 0;
  int contacts = 0;
  for (int k = 0; k < 700 && pull < 1; ++k) {
    ASSERT_TRUE(knot.keeps_knot()) << knot.run.state.time;
    pull = knot.rod->tension(knot.run.state.q, 0);
    contacts = std::max(contacts, knot.run.report.contacts);
  }
  EXPECT_GE(pull, 1);  // [N] tight
  EXPECT_GT(contacts, 10);
  EXPECT_LT(knot.run.report.deepest, 3e-4);
}

// Bends that start with stress throw strands by more than twice the rope's thickness in the first step.
TEST(RodKnot, BendsUnderStressDoNotThrowStrandsThroughEachOther) {
  for (const int crossings : {3, 5, 7}) {
    for (const double dt : {0.001, 0.002, 0.005}) {
      PulledKnot knot(crossings, 300, dt);
      for (int k = 0; k < 10; ++k) {
        const VecX before = knot.run.state.q;
        ASSERT_TRUE(knot.keeps_knot()) << crossings << " at " << dt << ", step " << k;
        double most = 0;  // [m] that a node goes
        for (int i = 0; i <= 300; ++i)
          most = std::max(most, (Rod::node(knot.run.state.q, i) - Rod::node(before, i)).norm());
        if (k == 0) {
          EXPECT_GT(most, 0.003) << crossings << " at " << dt;
        }
      }
    }
  }
}

// A strip that is bent to a quarter circle and clamped at one end springs open. Without the wire, which is in
// the middle of its first step's way, it goes by several times the thickness of both and is apart from where
// the wire would be, on the other side.
TEST(RodKnot, ARodThatSpringsOpenDoesNotPassAWire) {
  constexpr int kEdges = 40, kSwept = 34;  // a node near the tip
  constexpr double kThickness = 0.001;     // [m] of both
  const auto make = [&](double dt, const Vec3* place) {
    Scene scene = PulledKnot::scene();
    if (place) {
      ShapeInstance wire = make_shape("wire", kWorld, Capsule{0.5 * kThickness, 0.05});
      wire.pose.position = *place;
      wire.pose.quat_wxyz = {std::sqrt(0.5), std::sqrt(0.5), 0, 0};  // along y
      scene.shapes = {wire};
    }
    Simulation run(scene, dt, ContactLaw::coulomb);
    RodSpec spec;
    for (int i = 0; i <= kEdges; ++i) {
      const double angle = 0.5 * std::numbers::pi * i / kEdges, radius = 0.0637;
      spec.nodes.push_back({radius * std::sin(angle), 0, radius * (1 - std::cos(angle))});
    }
    spec.section.width = kThickness;
    spec.young_modulus = 2e9;
    spec.density = 1000;
    spec.rest = RodRest::straight;
    spec.clamped_edges = {0};
    add_rod("strip", std::make_shared<Rod>(spec), 0, &run.model);
    run.state = initial_state(run.model);
    run.workspace = make_workspace(run.model);
    return run;
  };
  // [m] how far from the strip's axis a place is; positive on the side to which it opens.
  const auto side = [](const Simulation& run, const Vec3& place) {
    double nearest = kInfinity;
    for (int i = 0; i < kEdges; ++i) {
      const Vec3 p = Rod::node(run.state.q, i), e = Rod::node(run.state.q, i + 1) - p, r = place - p;
      const Vec3 off = r - std::clamp(r.dot(e) / e.squaredNorm(), 0.0, 1.0) * e;
      const double sign = e.z() * r.x() - e.x() * r.z() > 0 ? 1 : -1;
      if (off.norm() < std::abs(nearest)) nearest = sign * off.norm();
    }
    return nearest;
  };
  for (const double dt : {0.002, 0.005}) {
    Simulation free = make(dt, nullptr);
    const Vec3 from = Rod::node(free.state.q, kSwept);
    free.go(dt);
    const Vec3 to = Rod::node(free.state.q, kSwept), wire = 0.5 * (from + to);
    ASSERT_GT((to - from).norm(), 4 * kThickness) << dt;
    ASSERT_LT(side(free, wire), -1.5 * kThickness) << dt;
    Simulation run = make(dt, &wire);
    ASSERT_GT(side(run, wire), 1.5 * kThickness) << dt;
    for (int k = 0; k < 20; ++k) {
      run.go(dt);
      EXPECT_GT(side(run, wire), 0.8 * kThickness) << dt << ", step " << k;
    }
    EXPECT_GT(run.report.contacts, 0);
  }
}

}  // namespace
}  // namespace capstan::rod_knot_test
