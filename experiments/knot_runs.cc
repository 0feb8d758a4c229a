// Knots that are pulled tight, as a rod and as a chain of capsules (filament_runs.h).
#include <algorithm>
#include <cmath>
#include <memory>

#include "capstan/math/rotation.h"
#include "capstan/model/add_rod.h"
#include "experiments/filament_runs.h"
#include "tests/support/knots.h"

namespace capstan::experiments {
namespace {

constexpr int kKnotEdges = 300;
constexpr double kPiOfKnots = 3.14159265358979;
constexpr double kPullSpeed = 0.4;                     // [m/s] of each end
constexpr double kBushing = 3e3, kBushingTurn = 2e-3;  // [N/m], [N m/rad]

// What is told of a knot after a step. `velocities`: of the nodes [m/s].
void look_at_knot(int crossings, double time, double pull, const std::vector<Vec3>& nodes,
                  const std::vector<Vec3>& velocities, KnotRun* knot) {
  const test::KnotInvariants is = test::calc_invariants(nodes);
  knot->keeps_knot = is.casson == (crossings * crossings - 1) / 8 && is.determinant == crossings;
  knot->pull = pull;
  knot->is_tight = knot->is_tight || pull > 1;
  knot->time = time;
  if (!knot->times.empty() && time < knot->times.back() + 1e-3 - 1e-9) return;
  Vec3 area = Vec3::Zero();
  double energy = 0;
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    area += 0.5 * cross(nodes[i] - nodes[0], nodes[i + 1] - nodes[0]);
    energy += velocities[i].squaredNorm();
  }
  knot->times.push_back(time);
  knot->pulls.push_back(pull);
  knot->areas.push_back(area.norm());
  knot->speeds.push_back(std::sqrt(energy / static_cast<double>(nodes.size())));
}

bool goes_on(const KnotRun& knot, double time) {
  return time < 0.7 && knot.pull < 10 && knot.keeps_knot;
}

Scene knot_scene() {
  Scene scene = filament_scene(0, 1e5);
  scene.options.gravity.setZero();
  return scene;
}

std::string capsule_name(int i) {
  return "capsule" + std::to_string(i);
}

// A capsule for each edge, with frames that follow each other without twist; the first and the last one slide
// along x, driven apart.
Scene chain_of_capsules(const RodSpec& rope) {
  Scene scene = knot_scene();
  const double h = (rope.nodes[1] - rope.nodes[0]).norm(), r = 0.5 * rope.section.width;
  Mat3 R = frame_from_z((rope.nodes[1] - rope.nodes[0]).normalized());
  for (int i = 0; i < kKnotEdges; ++i) {
    const Vec3 t = (rope.nodes[i + 1] - rope.nodes[i]).normalized();
    R = rotation_matrix(quat_between(R.col(2), t)) * R;
    Body body;
    body.name = capsule_name(i);
    body.pose = {0.5 * (rope.nodes[i] + rope.nodes[i + 1]), quat_from_matrix(R)};
    Joint joint;
    joint.name = body.name;
    const bool is_end = i == 0 || i + 1 == kKnotEdges;
    joint.type = is_end ? JointType::prismatic : JointType::free;
    if (is_end) joint.axis = R.transpose() * Vec3::UnitX();
    body.joints = {joint};
    ShapeInstance shape;
    shape.name = body.name;
    shape.body = body.name;
    shape.shape = Capsule{r, h};
    shape.mass = rope.density * kPiOfKnots * r * r * h;
    scene.bodies.push_back(body);
    scene.shapes.push_back(shape);
    if (is_end) {
      Actuator pull;
      pull.name = body.name;
      pull.joint = body.name;
      pull.gain = 1e6;
      pull.bias = Vec3(0, -1e6, -1e2);
      scene.actuators.push_back(pull);
    }
    for (int j = std::max(0, i - 2); j < i; ++j) {
      CollisionExclude pair;
      pair.body_a = capsule_name(j);
      pair.body_b = body.name;
      scene.excludes.push_back(pair);
    }
    if (i == 0) continue;
    for (const bool turns : {false, true}) {
      Constraint spring;
      spring.type = turns ? ConstraintType::weld : ConstraintType::ball;
      spring.name = (turns ? "bend" : "link") + std::to_string(i);
      spring.body_a = capsule_name(i - 1);
      spring.body_b = body.name;
      spring.pose_a = Pose{Vec3(0, 0, 0.5 * h), identity_quat()};
      spring.pose_b = Pose{Vec3(0, 0, -0.5 * h), identity_quat()};
      spring.stiffness = turns ? kBushingTurn : kBushing;
      scene.constraints.push_back(spring);
    }
  }
  return scene;
}

}  // namespace

KnotRun tighten_knot(int crossings, double dt) {
  Filaments run(knot_scene(), dt);
  const auto rod = std::make_shared<Rod>(test::knot_rod(crossings, kKnotEdges));
  add_rod("rope", rod, 0, &run.model);
  run.begin();
  run.state.v[0] = -kPullSpeed;
  run.state.v[4 * kKnotEdges] = kPullSpeed;
  KnotRun knot;
  std::vector<Vec3> nodes(kKnotEdges + 1), velocities(kKnotEdges + 1);
  try {
    while (goes_on(knot, run.state.time)) {
      run.advance(&knot.cost);
      for (int i = 0; i <= kKnotEdges; ++i) {
        nodes[i] = Rod::node(run.state.q, i);
        velocities[i] = run.state.v.segment<3>(4 * i);
      }
      look_at_knot(crossings, run.state.time, rod->tension(run.state.q, 0), nodes, velocities, &knot);
    }
  } catch (const std::exception& failure) {
    knot.failure = failure.what();
  }
  return knot;
}

KnotRun tighten_chain_of_capsules(int crossings, double dt) {
  const RodSpec rope = test::knot_rod(crossings, kKnotEdges);
  Filaments run(chain_of_capsules(rope), dt);
  run.begin();
  const double half = 0.5 * (rope.nodes[1] - rope.nodes[0]).norm();
  const int first = run.model.find_actuator(capsule_name(0)),
            last = run.model.find_actuator(capsule_name(kKnotEdges - 1));
  std::vector<int> link;
  for (int i = 0; i < kKnotEdges; ++i) link.push_back(run.model.find_body(capsule_name(i)));
  KnotRun knot;
  std::vector<Vec3> nodes(kKnotEdges + 1), velocities(kKnotEdges + 1), before;
  Placement placement = make_placement(run.model);
  try {
    while (goes_on(knot, run.state.time)) {
      const double travel = kPullSpeed * (run.state.time + dt);
      run.state.control[first] = -travel;
      run.state.control[last] = travel;
      run.advance(&knot.cost);
      calc_placement(run.model, run.state.q, &placement);
      before = nodes;
      double stretch = 0;  // [m] of the first link
      for (int i = 0; i < kKnotEdges; ++i) {
        const Transform& X = placement.X_WL[link[i]];
        nodes[i] = X * Vec3(0, 0, -half);
        if (i == 1) stretch = (nodes[1] - placement.X_WL[link[0]] * Vec3(0, 0, half)).norm();
        nodes[i + 1] = X * Vec3(0, 0, half);
      }
      const bool has_before = knot.cost.steps > 1;
      for (int i = 0; i <= kKnotEdges; ++i)
        velocities[i] = has_before ? Vec3((nodes[i] - before[i]) / dt) : Vec3(Vec3::Zero());
      look_at_knot(crossings, run.state.time, kBushing * stretch, nodes, velocities, &knot);
    }
  } catch (const std::exception& failure) {
    knot.failure = failure.what();
  }
  return knot;
}

}  // namespace capstan::experiments
