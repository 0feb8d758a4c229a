// How the lace is laid out. Half a knot is two strands that twist about an axis along x by three half turns,
// so that each comes out on the other side. The second half knot lies above the first: with the other hand
// it makes a reef knot, with the same hand a granny. A bow is a reef knot whose second half is tied with two
// loops: each strand goes through it, turns around, and comes back beside itself. The whole is symmetric:
// half a turn about z takes one end of the lace to the other.
#include "experiments/lace_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/io/picture.h"
#include "capstan/io/read.h"
#include "capstan/model/add_rod.h"
#include "capstan/step/contact_forces.h"
#include "experiments/simulation.h"
#include "tests/support/knots.h"

namespace capstan::experiments {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kDiameter = 0.004;                                       // [m] of the lace
constexpr double kPostRadius = 0.008, kPostAt = 0.016;                    // [m]
constexpr double kAround = kPostRadius + 0.5 * kDiameter + 0.0003;        // [m] of the lace about a post
constexpr double kSlack = 0.095;                                          // [m] the lace hangs below
constexpr double kPull = 8, kTailPull = 0.7, kSqueeze = 20, kOpens = -2;  // [N]
constexpr double kStraightens = 0.4;  // [s] in which the lace forgets how it was laid out

// A twist of three half turns about a line along x.
struct HalfKnot {
  double radius, half_length, height;  // [m]
};
constexpr HalfKnot kFirst = {0.0045, 0.015, 0.0185};
constexpr double kInner = 0.0035;  // [m] radius at which the loops of a bow come back

HalfKnot second_half(LaceKnot knot) {
  const double radius = knot == LaceKnot::bow ? 0.0085 : kFirst.radius;
  return {radius, knot == LaceKnot::bow ? 0.022 : kFirst.half_length,
          kFirst.height + kFirst.radius + radius + 0.008};
}
double tail_end(LaceKnot knot) {
  return second_half(knot).half_length + (knot == LaceKnot::bow ? 0.12 : 0.07);
}

using Path = std::vector<Vec3>;

// The strand that begins below and goes along x (way 1) or against it (-1).
Path twist(const HalfKnot& half, double radius, double way, double side) {
  Path path;
  for (int i = 0; i <= 120; ++i) {
    const double u = i / 120.0, angle = 3 * kPi * u;
    path.push_back({way * half.half_length * (2 * u - 1), side * radius * std::sin(angle),
                    half.height - radius * std::cos(angle)});
  }
  return path;
}
Vec3 first_direction(const Path& path) {
  return (path[1] - path[0]).normalized();
}
Vec3 last_direction(const Path& path) {
  return (path.back() - path[path.size() - 2]).normalized();
}

// On from the end of `path` to b: Hermite's cubic with these tangents.
void curve(Path* path, const Vec3& ta, const Vec3& b, const Vec3& tb) {
  const Vec3 a = path->back();
  for (int i = 1; i <= 60; ++i) {
    const double s = i / 60.0, s2 = s * s, s3 = s2 * s;
    path->push_back((2 * s3 - 3 * s2 + 1) * a + (s3 - 2 * s2 + s) * ta + (3 * s2 - 2 * s3) * b +
                    (s3 - s2) * tb);
  }
}

// From the middle of the lace, slack below the posts, up past the left one to one of its ends.
Path half_lace(LaceKnot knot) {
  const HalfKnot two = second_half(knot);
  Path path = {{0, 0, -kSlack}};
  curve(&path, -0.1 * Vec3::UnitX(), {-kPostAt - kAround, 0, 0}, 0.08 * Vec3::UnitZ());
  const Path first = twist(kFirst, kFirst.radius, 1, 1),
             second = twist(two, two.radius, -1, knot == LaceKnot::granny ? -1 : 1);
  curve(&path, 0.015 * Vec3::UnitZ(), first.front(), 0.015 * first_direction(first));
  path.insert(path.end(), first.begin(), first.end());
  const double reach = 0.03 + two.half_length - kFirst.half_length;
  const Vec3 corner(two.half_length + 0.006, 0, 0.5 * (first.back().z() + second.front().z()));
  curve(&path, 0.8 * reach * last_direction(first), corner, 0.02 * Vec3::UnitZ());
  curve(&path, 0.02 * Vec3::UnitZ(), second.front(), 0.6 * reach * first_direction(second));
  path.insert(path.end(), second.begin(), second.end());
  if (knot == LaceKnot::bow) {
    Path back = twist(two, kInner, -1, 1);
    std::reverse(back.begin(), back.end());
    const Vec3 tip(-two.half_length - 0.055, 0, two.height + kInner + 0.010);
    curve(&path, 0.06 * last_direction(second), tip, -0.04 * Vec3::UnitZ());
    curve(&path, -0.04 * Vec3::UnitZ(), back.front(), 0.06 * first_direction(back));
    path.insert(path.end(), back.begin(), back.end());
    curve(&path, 0.03 * last_direction(back), {tail_end(knot), 0, two.height - kInner}, 0.06 * Vec3::UnitX());
  } else {
    curve(&path, 0.03 * last_direction(second), {-tail_end(knot), 0, two.height + two.radius},
          -0.06 * Vec3::UnitX());
  }
  return path;
}

Path whole_lace(LaceKnot knot) {
  const Path half = half_lace(knot);
  Path path;
  for (auto p = half.rbegin(); p != half.rend(); ++p) path.push_back({-p->x(), -p->y(), p->z()});
  path.insert(path.end(), half.begin() + 1, half.end());
  return path;
}

double path_length(const Path& path) {
  double length = 0;
  for (std::size_t i = 1; i < path.size(); ++i) length += (path[i] - path[i - 1]).norm();
  return length;
}

// A hand slides along x; its two fingers close along y.
struct Hand {
  std::string name;
  double x, z;    // [m]
  double height;  // [m] of its fingers
  double pull;    // [N]
};
std::vector<Hand> make_hands(LaceKnot knot) {
  const HalfKnot two = second_half(knot);
  std::vector<Hand> hands;
  for (const double side : {-1.0, 1.0}) {
    const std::string where = side < 0 ? "left" : "right";
    const bool is_bow = knot == LaceKnot::bow;
    if (is_bow)
      hands.push_back(
          {where + "_loop", side * (two.half_length + 0.051), two.height + kInner + 0.008, 0.016, kPull});
    hands.push_back({where + "_end", side * (tail_end(knot) - 0.006),
                     two.height + (is_bow ? -kInner : two.radius), 0.012, is_bow ? kTailPull : kPull});
  }
  return hands;
}

constexpr const char* kMaterials = R"(
capstan: 1
options: {{dt: {dt}, contact_law: regularized_lagged}}
materials:
  - {{name: lace, contact: {contact}, elastic_modulus: 1e7, friction: {friction}}}
  - {{name: post, contact: {contact}, elastic_modulus: .inf, friction: {friction}}}
  - {{name: pad, contact: {contact}, elastic_modulus: 1e7, friction: 0.8}}
shapes:
  - {{type: cylinder, name: post, radius: 0.008, length: 0.05, position: [-0.016, 0, 0], rpy_deg: [90, 0, 0],
      material: post}}
bodies:
  - name: moved_post
    position: [0.016, 0, 0]
    gravity_compensated: true
    joint: {{name: opening, type: prismatic, axis: [1, 0, 0], limits: [0, 0.15], damping: 20}}
    shape: {{type: cylinder, radius: 0.008, length: 0.05, rpy_deg: [90, 0, 0], mass: 0.05, material: post}}
)";
constexpr const char* kHand = R"(
  - name: {name}
    position: [{x}, 0, {z}]
    gravity_compensated: true
    inertia: {{mass: 0.2, moments: [1e-4, 1e-4, 1e-4]}}
    joint: {{name: {name}, type: prismatic, axis: [{side}, 0, 0], limits: [-0.1, 0.15], damping: 20}}
)";
constexpr const char* kFinger = R"(
  - name: {name}
    parent: {hand}
    position: [0, {y}, 0]
    gravity_compensated: true
    joint: {{name: {name}, type: prismatic, axis: [0, {side}, 0], limits: [-0.006, 0.006], damping: 20}}
    shape: {{type: box, size: [0.012, 0.006, {height}], density: 7000, material: pad}}
)";

double edge_distance(const Path& nodes, int i, int j) {
  const Vec3 d = nodes[i + 1] - nodes[i], e = nodes[j + 1] - nodes[j], r = nodes[i] - nodes[j];
  const double a = d.dot(d), b = d.dot(e), c = e.dot(e), f = d.dot(r), g = e.dot(r), size = a * c - b * b;
  double u = size > 1e-20 ? std::clamp((b * g - c * f) / size, 0.0, 1.0) : 0;
  const double v = std::clamp((b * u + g) / c, 0.0, 1.0);
  u = std::clamp((b * v - f) / a, 0.0, 1.0);
  return (r + u * d - v * e).norm();
}

// Whether two edges meet on the way from `before` to `after`, straight lines of their nodes: goes on by what
// their distance allows until the way is gone, or the distance (1 um).
bool edges_meet(const Path& before, const Path& after, int i, int j, double way) {
  double at = 0;
  Path between(4);
  while (at < 1) {
    const int nodes[4] = {i, i + 1, j, j + 1};
    for (int k = 0; k < 4; ++k) between[k] = before[nodes[k]] + at * (after[nodes[k]] - before[nodes[k]]);
    const double apart = edge_distance(between, 0, 2);
    if (apart < 1e-6) return true;
    at += apart / way;
  }
  return false;
}

// Of edges that are no neighbours: how many pairs pass through each other in a step.
int count_passed(const Path& before, const Path& after) {
  const int n = static_cast<int>(before.size()) - 1;
  double longest = 0;
  for (int i = 0; i < n; ++i) longest = std::max(longest, (before[i + 1] - before[i]).norm());
  int passed = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = i + 2; j < n; ++j) {
      double way = 0;  // the largest that two of their points go against each other
      for (const int a : {i, i + 1}) {
        for (const int b : {j, j + 1})
          way = std::max(way, (after[a] - before[a] - after[b] + before[b]).squaredNorm());
      }
      way = std::sqrt(way);
      if ((before[i] - before[j]).norm() - 2 * longest > way || edge_distance(before, i, j) > way) continue;
      passed += edges_meet(before, after, i, j, way);
    }
  }
  return passed;
}

// Of parts of the lace that are more than two diameters apart along it.
double least_distance(const Path& nodes, double edge) {
  const int n = static_cast<int>(nodes.size()) - 1, apart = static_cast<int>(2 * kDiameter / edge) + 2;
  double least = 1;
  for (int i = 0; i < n; ++i) {
    for (int j = i + apart; j < n; ++j) {
      if ((nodes[i] - nodes[j]).squaredNorm() < 9 * edge * edge)
        least = std::min(least, edge_distance(nodes, i, j));
    }
  }
  return least;
}

// Seen from the front; the ends are taken to the front, and from there far away to both sides.
test::KnotInvariants lace_invariants(const Path& nodes) {
  const double side = nodes.front().x() < nodes.back().x() ? 1 : -1;
  const auto seen = [](const Vec3& p) { return Vec3(p.x(), p.z(), -p.y()); };
  Path line = {seen(nodes.front() - Vec3(2 * side, 0, 0))};
  for (const Vec3& p : nodes) line.push_back(seen(p));
  line.push_back(seen(nodes.back() + Vec3(2 * side, 0, 0)));
  return test::calc_invariants(line);
}

// From the front and a little above; the two halves of the lace in two colours.
std::string draw_lace(const Path& nodes, double opening, const std::string& title) {
  struct Line {
    double x, y, x2, y2, depth;
    const char* color;
  };
  constexpr double kScale = 1050, kTilt = 0.35;  // [px/m], [rad]
  const auto place = [&](const Vec3& p) {
    return Vec3(0.42 * kLacePictureWidth + kScale * p.x(),
                0.40 * kLacePictureHeight - kScale * (std::cos(kTilt) * p.z() + std::sin(kTilt) * p.y()),
                std::sin(kTilt) * p.z() - std::cos(kTilt) * p.y());
  };
  std::vector<Line> lines;
  const int n = static_cast<int>(nodes.size()) - 1;
  for (int k = 0; k < n; ++k) {
    const Vec3 a = place(nodes[k]), b = place(nodes[k + 1]);
    lines.push_back({a.x(), a.y(), b.x(), b.y(), a.z() + b.z(), 2 * k < n ? "#4c86bd" : "#d98c40"});
  }
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.depth < b.depth; });
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>"
      "<text x=\"8\" y=\"18\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#444\">{2}</text>",
      kLacePictureWidth, kLacePictureHeight, xml_text(title));
  for (const double x : {-kPostAt, kPostAt + opening}) {
    const Vec3 back = place({x, 0.025, 0}), front = place({x, -0.025, 0});
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#ccc\" stroke-width=\"{:.1f}\" "
        "stroke-linecap=\"round\"/>",
        back.x(), back.y(), front.x(), front.y(), 2 * kScale * kPostRadius);
  }
  svg += "<g stroke-linecap=\"round\">";
  for (const Line& l : lines) {
    for (const bool inside : {false, true})
      svg +=
          fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"{:.1f}\"/>", l.x,
                      l.y, l.x2, l.y2, inside ? l.color : "#333", (inside ? 0.72 : 1) * kScale * kDiameter);
  }
  return svg + "</g></svg>";
}

double ramp(double time, double from, double to) {
  return std::clamp((time - from) / (to - from), 0.0, 1.0);
}

}  // namespace

std::vector<Vec3> lay_lace(LaceKnot knot, int edges) {
  const Path path = whole_lace(knot);
  const double part = path_length(path) / edges;
  Path nodes;
  double walked = 0;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const double step = (path[i] - path[i - 1]).norm();
    while (static_cast<int>(nodes.size()) < edges && nodes.size() * part <= walked + step)
      nodes.push_back(path[i - 1] + (nodes.size() * part - walked) / step * (path[i] - path[i - 1]));
    walked += step;
  }
  nodes.push_back(path.back());
  return nodes;
}

Scene lace_scene(const LaceTask& task) {
  std::string text =
      fmt::format(kMaterials, fmt::arg("dt", task.dt), fmt::arg("friction", task.friction),
                  fmt::arg("contact", task.contact == ContactModel::patch ? "patch" : "point"));
  std::string actuators = "actuators:\n  - {name: load, joint: opening, type: torque}\n";
  for (const Hand& hand : make_hands(task.knot)) {
    const auto push = [&](const std::string& name) {
      actuators += fmt::format("  - {{name: {0}, joint: {0}, type: torque}}\n", name);
    };
    text += fmt::format(kHand, fmt::arg("name", hand.name), fmt::arg("x", hand.x), fmt::arg("z", hand.z),
                        fmt::arg("side", hand.x < 0 ? -1 : 1));
    push(hand.name);
    for (const int side : {-1, 1}) {
      const std::string name = hand.name + (side < 0 ? "_front" : "_back");
      text += fmt::format(kFinger, fmt::arg("name", name), fmt::arg("hand", hand.name),
                          fmt::arg("y", side * (0.0055 + 0.5 * kDiameter)), fmt::arg("side", -side),
                          fmt::arg("height", hand.height));
      push(name);
    }
  }
  Diagnostics diagnostics;
  Scene scene = read_yaml_text(text + actuators, {}, &diagnostics);
  if (!diagnostics.ok()) throw InputError(diagnostics);
  scene.options.contact.law = task.law;
  RodSpec lace;
  lace.name = "lace";
  lace.nodes =
      lay_lace(task.knot, static_cast<int>(std::lround(path_length(whole_lace(task.knot)) / task.edge)));
  lace.section.width = kDiameter;
  lace.young_modulus = 2e6;
  lace.density = 600;
  lace.alpha = 20;
  lace.beta = 1e-3;
  lace.actuated = true;
  lace.material = "lace";
  lace.rgba = {0.85f, 0.55f, 0.25f, 1};
  // Eyelets: where it goes around the posts.
  for (const double side : {-1.0, 1.0}) {
    const Vec3 eyelet(side * (kPostAt + kAround), 0, 0);
    RodAttachment held;
    for (int i = 0; i < static_cast<int>(lace.nodes.size()); ++i) {
      if (held.node < 0 || (lace.nodes[i] - eyelet).norm() < (lace.nodes[held.node] - eyelet).norm())
        held.node = i;
    }
    held.body = "moved_post";
    if (side < 0) lace.pinned_nodes = {held.node};
    if (side > 0) lace.attachments = {held};
  }
  scene.rods.push_back(lace);
  return scene;
}

LaceRun tie_lace(const LaceTask& task) {
  LaceRun lace;
  Filaments run(lace_scene(task), task.dt);
  for (auto& shape : run.model.shapes) {
    if (task.patch_points > 0) shape.patch_points = task.patch_points;
  }
  run.begin();
  lace.dofs = static_cast<int>(run.state.v.size());
  const Object& object = run.model.objects.back();
  Path nodes(rod_of(run.model, find_rods(run.model)[0]).num_nodes()), before;
  const auto look = [&] {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      nodes[i] = run.state.q.segment<3>(object.q_begin + 4 * static_cast<int>(i));
  };
  look();
  // What each hand that pulls holds: the node nearest to it, and where that is.
  const std::vector<Hand> hands = make_hands(task.knot);
  const auto place_of = [&](const std::string& joint) {
    return run.state.q[run.model.joints[run.model.find_body(joint) - 1].q];
  };
  struct Held {
    int node = 0;
    double at = 0;  // [m] in the hand
  };
  std::vector<Held> held(hands.size());
  const auto in_hand = [&](std::size_t k) {
    return nodes[held[k].node].x() - (hands[k].x < 0 ? -1 : 1) * place_of(hands[k].name);
  };
  for (std::size_t k = 0; k < hands.size(); ++k) {
    const Vec3 hand(hands[k].x, 0, hands[k].z);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if ((nodes[i] - hand).norm() < (nodes[held[k].node] - hand).norm()) held[k].node = static_cast<int>(i);
    }
  }
  const int finger = run.model.find_body(hands[0].name + "_front");
  const bool has_invariants = task.knot != LaceKnot::bow;
  const test::KnotInvariants first = lace_invariants(nodes);
  const auto control = [&](const std::string& name, double value) {
    run.state.control[run.model.find_actuator(name)] = value;
  };
  const auto draw = [&] {
    lace.pictures.push_back(
        draw_lace(nodes, place_of("moved_post"), fmt::format("{:.1f} s", run.state.time)));
  };
  draw();
  std::vector<ContactForce> forces;
  std::vector<double> pinches;
  double opening_before = 0, opening_second = 0;
  Vec3 first_end, last_end;
  const auto is_now = [&](double moment) { return std::abs(run.state.time - moment) < 0.5 * task.dt; };
  try {
    while (run.state.time < task.end - 0.5 * task.dt) {
      const double t = run.state.time;
      control("lace.natural", 1 - ramp(t, kLacePinched, kLacePinched + kStraightens));
      control("load", kLaceLoad * ramp(t, kLaceLoads, kLaceLoaded));
      for (const Hand& hand : hands) {
        const bool pulls = t < kLaceLetGo;
        const double squeeze = pulls ? kSqueeze * ramp(t, 0, 0.1) : kOpens;
        control(hand.name + "_front", squeeze), control(hand.name + "_back", squeeze);
        control(hand.name, pulls ? hand.pull * ramp(t, kLacePinched, kLacePinched + 0.3) *
                                       (1 - 0.9 * ramp(t, kLaceTight, kLaceLetGo))
                                 : (t < kLaceLetGo + 0.1 ? 0 : -kOpens));
      }
      const double began = processor_seconds();
      const Report report = step(run.model, run.options, {}, &run.state, &run.workspace);
      lace.cost.add(report, task.dt, processor_seconds() - began);
      lace.residual = std::max(lace.residual, report.solver.momentum_residual);
      lace.unconverged += !report.solver.converged;
      before = nodes;
      look();
      lace.passed += count_passed(before, nodes);
      lace.least_apart = std::min(lace.least_apart, least_distance(nodes, task.edge));
      if (has_invariants) {
        const test::KnotInvariants now = lace_invariants(nodes);
        lace.keeps_knot =
            lace.keeps_knot && now.casson == first.casson && now.determinant == first.determinant;
      }
      calc_contact_forces(run.workspace, &forces);
      double pinch = 0;
      for (const ContactForce& f : forces) {
        if (run.model.shapes[f.shape_a].body == finger || run.model.shapes[f.shape_b].body == finger)
          pinch += f.normal_force;
      }
      lace.time.push_back(run.state.time);
      lace.opening.push_back(place_of("moved_post"));
      lace.pinch.push_back(pinch);
      for (std::size_t k = 0; k < hands.size(); ++k) {
        if (run.state.time < kLacePinched) held[k].at = in_hand(k);
        if (run.state.time > kLacePinched && run.state.time < kLaceLetGo && hands[k].pull == kPull)
          lace.finger_slip = std::max(lace.finger_slip, std::abs(in_hand(k) - held[k].at));
      }
      if (run.state.time > kLacePinched && run.state.time < kLaceTight) pinches.push_back(pinch);
      if (is_now(kLaceLooks))
        opening_before = lace.opened(), first_end = nodes.front(), last_end = nodes.back();
      if (is_now(task.end - 1)) opening_second = lace.opened();
      if (is_now(0.5) || is_now(kLaceTight) || is_now(kLaceLooks)) draw();
    }
    lace.slip = lace.opened() - opening_before;
    lace.last_slip = lace.opened() - opening_second;
    lace.ends_move = std::max((nodes.front() - first_end).norm(), (nodes.back() - last_end).norm());
  } catch (const std::exception& failure) {
    lace.failure = failure.what();
  }
  draw();
  const double middle = mean(pinches);
  for (double& p : pinches) p = (p - middle) * (p - middle);
  lace.pinch_changes = std::sqrt(mean(pinches));
  return lace;
}

}  // namespace capstan::experiments
