// Knots that are pulled tight, as a rod and as a chain of capsules (filament_runs.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "capstan/io/picture.h"
#include "capstan/math/rotation.h"
#include "capstan/model/add_rod.h"
#include "experiments/filament_runs.h"
#include "tests/support/knots.h"

namespace capstan::experiments {
namespace {

constexpr int kKnotEdges = 300;
constexpr double kPiOfKnots = 3.14159265358979;
constexpr double kDiameter = 0.003;          // [m] of the rope
constexpr double kWay = 0.56, kLook = 2e-4;  // [m] of the ends: in all; from one look to the next

// The first node that is within two diameters of another one, and that other one; (0, 0): none is.
std::pair<int, int> find_loop(const std::vector<Vec3>& nodes) {
  const int n = static_cast<int>(nodes.size()), apart = 10;
  for (int i = 0; i + apart < n; ++i) {
    int nearest = 0;
    double distance = 2 * kDiameter;
    for (int j = i + apart; j < n; ++j) {
      const double d = (nodes[j] - nodes[i]).norm();
      if (d < distance) distance = d, nearest = j;
    }
    if (nearest > 0) return {i, nearest};
  }
  return {0, 0};
}

// [m^2] around which the rope goes between these two.
double loop_area(const std::vector<Vec3>& nodes) {
  const auto [first, last] = find_loop(nodes);
  Vec3 area = Vec3::Zero();
  for (int k = first; k < last; ++k)
    area += 0.5 * cross(nodes[k] - nodes[first], nodes[k + 1] - nodes[first]);
  return area.norm();
}

// What is told of a knot after a step.
void look_at_knot(const KnotPull& asked, double time, double pull, const std::vector<Vec3>& nodes,
                  KnotRun* knot) {
  const int n = asked.crossings;
  const test::KnotInvariants is = test::calc_invariants(nodes);
  knot->keeps_knot = is.casson == (n * n - 1) / 8 && is.determinant == n;
  knot->pull = pull;
  knot->is_tight = knot->is_tight || pull > 1;
  knot->time = time;
  const double way = asked.speed * time;
  if (!knot->ways.empty() && way < knot->ways.back() + kLook - 1e-9) return;
  knot->ways.push_back(way);
  knot->pulls.push_back(pull);
  knot->areas.push_back(loop_area(nodes));
  knot->shapes.push_back(nodes);
}

bool goes_on(const KnotPull& asked, const KnotRun& knot, double time) {
  return asked.speed * time < kWay && knot.pull < 10 && knot.keeps_knot;
}

RodSpec knotted_rope(const KnotPull& pull) {
  RodSpec rope = test::knot_rod(pull.crossings, kKnotEdges);
  rope.alpha = pull.alpha;
  return rope;
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
Scene chain_of_capsules(const RodSpec& rope, const ChainSprings& springs) {
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
      spring.stiffness = turns ? springs.turn : springs.stretch;
      scene.constraints.push_back(spring);
    }
  }
  return scene;
}

}  // namespace

KnotRun tighten_knot(const KnotPull& asked) {
  Filaments run(knot_scene(), asked.dt);
  const auto rod = std::make_shared<Rod>(knotted_rope(asked));
  add_rod("rope", rod, 0, &run.model);
  run.begin();
  run.state.v[0] = -0.5 * asked.speed;
  run.state.v[4 * kKnotEdges] = 0.5 * asked.speed;
  KnotRun knot;
  knot.dofs = static_cast<int>(run.state.v.size());
  std::vector<Vec3> nodes(kKnotEdges + 1);
  try {
    while (goes_on(asked, knot, run.state.time)) {
      run.advance(&knot.cost);
      for (int i = 0; i <= kKnotEdges; ++i) nodes[i] = Rod::node(run.state.q, i);
      look_at_knot(asked, run.state.time, rod->tension(run.state.q, 0), nodes, &knot);
    }
  } catch (const std::exception& failure) {
    knot.failure = failure.what();
  }
  return knot;
}

ChainSprings springs_of_rope() {
  const RodSpec rope = test::knot_rod(3, kKnotEdges);
  const double r = 0.5 * rope.section.width, h = (rope.nodes[1] - rope.nodes[0]).norm(),
               E = rope.young_modulus;
  return {E * kPiOfKnots * r * r / h, E * kPiOfKnots * std::pow(r, 4) / (4 * h)};
}

KnotRun tighten_chain_of_capsules(const KnotPull& asked, const ChainSprings& springs) {
  const RodSpec rope = knotted_rope(asked);
  Filaments run(chain_of_capsules(rope, springs), asked.dt);
  run.begin();
  const double half = 0.5 * (rope.nodes[1] - rope.nodes[0]).norm();
  const int first = run.model.find_actuator(capsule_name(0)),
            last = run.model.find_actuator(capsule_name(kKnotEdges - 1));
  std::vector<int> link;
  for (int i = 0; i < kKnotEdges; ++i) link.push_back(run.model.find_body(capsule_name(i)));
  KnotRun knot;
  knot.dofs = static_cast<int>(run.state.v.size());
  std::vector<Vec3> nodes(kKnotEdges + 1);
  Placement placement = make_placement(run.model);
  // Damping as the rod's, of the links' centres.
  const double r = 0.5 * rope.section.width, mass = rope.density * kPiOfKnots * r * r * 2 * half;
  VecX damping = VecX::Zero(knot.dofs);
  for (int i = 1; i + 1 < kKnotEdges; ++i)
    damping.segment<3>(run.model.joints[link[i] - 1].v).setConstant(-asked.alpha * mass);
  try {
    while (goes_on(asked, knot, run.state.time)) {
      const double travel = 0.5 * asked.speed * (run.state.time + asked.dt);
      run.state.control[first] = -travel;
      run.state.control[last] = travel;
      run.advance(&knot.cost, damping.cwiseProduct(run.state.v));
      calc_placement(run.model, run.state.q, &placement);
      double stretch = 0;  // [m] of the first link
      for (int i = 0; i < kKnotEdges; ++i) {
        const Transform& X = placement.X_WL[link[i]];
        nodes[i] = X * Vec3(0, 0, -half);
        if (i == 1) stretch = (nodes[1] - placement.X_WL[link[0]] * Vec3(0, 0, half)).norm();
        nodes[i + 1] = X * Vec3(0, 0, half);
      }
      look_at_knot(asked, run.state.time, springs.stretch * stretch, nodes, &knot);
    }
  } catch (const std::exception& failure) {
    knot.failure = failure.what();
  }
  return knot;
}

Collapse find_collapse(const KnotRun& knot) {
  constexpr double kWindow = 0.01, kSmall = 3e-4;
  Collapse found;
  const int n = static_cast<int>(knot.ways.size());
  for (int i = 0, j = 0; i < n && knot.areas[i] > kSmall; ++i) {
    while (j + 1 < n && knot.ways[j] < knot.ways[i] + kWindow - 1e-9) ++j;
    const double factor = knot.areas[i] / knot.areas[j];
    if (factor > found.factor) found.factor = factor, found.way = knot.ways[i], found.area = knot.areas[i];
  }
  found.pull_after = found.way > 0 ? knot.pull : 0;
  for (int i = 0; i < n; ++i) {
    if (knot.ways[i] <= found.way) found.pull_before = std::max(found.pull_before, knot.pulls[i]);
    if (knot.ways[i] > found.way && knot.ways[i] < found.way + 2 * kWindow)
      found.pull_after = std::min(found.pull_after, knot.pulls[i]);
  }
  return found;
}

std::string draw_knot(const std::vector<Vec3>& nodes, const std::string& title) {
  constexpr int kBeside = 10;
  const int edges = static_cast<int>(nodes.size()) - 1, first = find_loop(nodes).first,
            last = edges - find_loop({nodes.rbegin(), nodes.rend()}).first;
  Vec3 area = Vec3::Zero(), middle = Vec3::Zero();
  for (int k = first; k < last; ++k) {
    area += cross(nodes[k] - nodes[first], nodes[k + 1] - nodes[first]);
    middle += nodes[k] / (last - first);
  }
  // Turned about the line of the pull until the loop is seen.
  const double angle = std::atan2(area.y(), area.z()), c = std::cos(angle), s = std::sin(angle);
  struct Edge {
    double x, y, x2, y2, depth;  // [m]
    bool is_first_half;
  };
  std::vector<Edge> shown;
  double reach = 0;
  const auto place = [&](int k) {
    const Vec3 p = nodes[k] - middle;
    return Vec3(p.x(), c * p.y() - s * p.z(), s * p.y() + c * p.z());
  };
  for (int k = std::max(0, first - kBeside); k < std::min(edges, last + kBeside); ++k) {
    const Vec3 a = place(k), b = place(k + 1);
    shown.push_back({a.x(), a.y(), b.x(), b.y(), a.z() + b.z(), 2 * k < edges});
    reach = std::max({reach, std::abs(a.x()), 1.5 * std::abs(a.y())});
  }
  std::sort(shown.begin(), shown.end(), [](const Edge& a, const Edge& b) { return a.depth < b.depth; });
  constexpr int kWidth = 360, kHeight = 240;
  const double scale = 0.48 * kWidth / reach;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>"
      "<text x=\"10\" y=\"20\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#444\">{2}</text>"
      "<g stroke-linecap=\"round\">",
      kWidth, kHeight, xml_text(title));
  for (const Edge& e : shown) {
    const auto line = [&](const char* color, double width) {
      svg += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"{:.1f}\"/>",
                         0.5 * kWidth + scale * e.x, 0.5 * kHeight - scale * e.y, 0.5 * kWidth + scale * e.x2,
                         0.5 * kHeight - scale * e.y2, color, width * scale * kDiameter);
    };
    line("#333", 1);
    line(e.is_first_half ? "#4c86bd" : "#d98c40", 0.75);
  }
  return svg + "</g></svg>";
}

}  // namespace capstan::experiments
