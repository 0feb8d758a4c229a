// A clamped strip that is buckled to an arch snaps through under a finger, as theory has it.
//
// A clamped beam of length L that is shortened by D L, D small, stands w0 = 2 L sqrt(D) / pi high. Pushed
// down at its middle it stays symmetric until the load along it has grown to that of the second way to
// buckle, P = (8.9868 / L)^2 EI with tan(k) = k, k = 4.4934. From there on P stays, the arch tilts to one
// side, and what it pushes back with is proportional to the height w of its middle:
//
//   w = 2 B (tan u - u),  F = 2 B EI (2 k)^3 / L^3,  u = k / 2,  B from D:  F = 207.7 EI w / L^3,
//   the most of which is F* = 91.59 EI / L^2 sqrt(2 D) at w = 0.979 w0.
//
// A finger that is moved follows that down to w = 0, where the arch leaves it and snaps to -w0.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "capstan/io/read.h"
#include "capstan/model/add_rod.h"
#include "capstan/step/step.h"

namespace capstan::rod_snap_test {
namespace {

constexpr double kMost = 91.5917, kSlope = 207.745;

struct Snap {
  double most = 0, half = 0;                          // [N] the largest force, and that at w = w0 / 2
  double at_most = 0;                                 // [m] w there
  double end = 0;                                     // [m] w in the end
  double EI = 0, length = 0, w0 = 0, shortening = 0;  // of theory
};

Snap push(double height, double dt, double seconds) {
  Scene scene = read_scene(CAPSTAN_SOURCE_DIR "/scenes/snap_through.yaml");
  RodSpec& spec = scene.rods.at(0);
  const int edges = static_cast<int>(spec.nodes.size()) - 1, middle = edges / 2;
  for (Vec3& node : spec.nodes) node.z() *= height;
  const auto length = [&](int edge) { return (spec.nodes[edge + 1] - spec.nodes[edge]).norm(); };
  Snap snap;
  const double I = spec.section.width * std::pow(spec.section.height, 3) / 12;
  snap.EI = spec.young_modulus * I;
  double between = 0;  // [m] the clamped edges
  for (int i = 1; i + 1 < edges; ++i) between += length(i);
  snap.length = between + 0.5 * (length(0) + length(edges - 1));
  const double strain = std::pow(8.9868 / snap.length, 2) * I / (spec.section.width * spec.section.height);
  const double apart = (spec.nodes[edges - 1] - spec.nodes[1]).norm();
  snap.shortening = (between - apart) / snap.length - strain;
  snap.w0 = 2 / std::numbers::pi * snap.length * std::sqrt(snap.shortening);
  constexpr double kRadius = 0.0003;  // [m] of the finger: a larger one holds the arch where that tilts
  for (ShapeInstance& shape : scene.shapes) {
    if (shape.body == "finger") shape.shape = Sphere{kRadius};
  }
  for (Material& material : scene.materials) material.friction = 0;
  Body& finger = scene.bodies.at(0);
  finger.pose.position.x() = 5e-5;  // that it tilts one way
  finger.pose.position.z() = snap.w0 + 0.5 * spec.section.height + kRadius + 0.001;
  const double stiffness = 1000, damping = 5, way = 1.9 * snap.w0;  // [N/m], [N s/m] of its servo, [m]
  scene.controls = {};

  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  StepOptions options = step_options(model);
  options.dt = dt;
  const int q_begin = model.objects.back().q_begin;
  const auto w = [&] { return Rod::node(state.q.segment(q_begin, 4 * edges + 3), middle).z(); };
  while (state.time < 0.5 + seconds) {
    state.control[0] = -way * std::max(0.0, state.time - 0.5) / seconds;
    const double before = w();
    step(model, options, {}, &state, &workspace);
    const double force = stiffness * (state.q[0] - state.control[0]) + damping * state.v[0];
    if (force > snap.most) snap.most = force, snap.at_most = w();
    if (before > snap.w0 / 2 && w() <= snap.w0 / 2) snap.half = force;
  }
  snap.end = w();
  return snap;
}

// The force is more than F* where the tilt takes its time to grow while the finger goes on, and less where
// the finger, a little beside the middle, tilts the arch before.
TEST(RodSnap, AnArchSnapsThroughAsTheoryHasIt) {
  for (const double height : {0.3, 1.0}) {
    for (const double dt : {0.001, 0.002}) {
      SCOPED_TRACE(testing::Message() << height << " times as high, " << dt << " s");
      const Snap snap = push(height, dt, 8);
      const double most = kMost * snap.EI / std::pow(snap.length, 2) * std::sqrt(2 * snap.shortening);
      const double half = 0.5 * kSlope * snap.EI / std::pow(snap.length, 3) * snap.w0;
      EXPECT_NEAR(snap.half, half, 0.01 * half);
      EXPECT_NEAR(snap.most, most, 0.03 * most);
      EXPECT_NEAR(snap.at_most, 0.979 * snap.w0, 0.01 * snap.w0);
      EXPECT_NEAR(snap.end, -snap.w0, 0.005 * snap.w0);
    }
  }
}

}  // namespace
}  // namespace capstan::rod_snap_test
