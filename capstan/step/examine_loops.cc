// Starts in which a loop is open, or whose velocities would open it.
#include <fmt/core.h>

#include <algorithm>

#include "capstan/problem/gap.h"
#include "capstan/step/examine.h"

namespace capstan {
namespace {

constexpr double kMostOpening = 0.01;  // of the speeds of both sides: who writes three digits is right
constexpr double kNoSpeed = 1e-6;      // [m/s]
constexpr double kMostGap = 1e-3, kMostTurn = 0.01;  // [m], [rad] that a constraint may be open by
constexpr double kWay = 1e-5;                        // [m, rad] that the fastest goes for a difference

// Both sides of a constraint: where they are [m], or a coupler's joints.
std::array<Vec3, 2> sides(const Model& model, const ModelConstraint& c, const VecX& q,
                          const Placement& placement) {
  if (c.type == ConstraintType::coupler) {
    const double a = q[model.joints[c.joint_a].q];
    return {Vec3(a, 0, 0), Vec3(a - calc_gap(model, c, q, placement)[0], 0, 0)};
  }
  return {calc_frame(model, placement, c.body_a, *c.X_A).p, calc_frame(model, placement, c.body_b, *c.X_B).p};
}

const char* gap_unit(const Model& model, const ModelConstraint& c) {
  const bool turns =
      c.type == ConstraintType::coupler && model.joints[c.joint_a].type != JointType::prismatic;
  return turns ? "rad" : "m";
}

// Where the constraint was written, for a start that was written nowhere.
Source place_of(const Scene& scene, const ModelConstraint& c, const Source& start) {
  for (const Constraint& written : scene.constraints)
    if (start.line == 0 && written.name == c.name) return written.where;
  return start;
}

// Whether a rigid constraint begins apart.
void examine_gaps(const Scene& scene, const Model& model, const ModelKeyframe& start, const Source& where,
                  const std::string& what, Diagnostics* diagnostics) {
  Placement placement = make_placement(model);
  calc_placement(model, start.q, &placement);
  for (const ModelConstraint& c : model.constraints) {
    if (!is_rigid(model, c)) continue;
    const Vec6 gap = calc_gap(model, c, start.q, placement);
    const bool is_weld = c.type == ConstraintType::weld;
    const double way = (is_weld ? gap.tail<3>() : gap.head<3>()).norm();
    const double turn = is_weld ? gap.head<3>().norm() : 0;
    if (!(way > kMostGap) && !(turn > kMostTurn)) continue;
    const std::string by =
        way > kMostGap ? fmt::format("{:.3g} {}", way, gap_unit(model, c)) : fmt::format("{:.3g} rad", turn);
    diagnostics->warning(
        place_of(scene, c, where),
        fmt::format("constraint '{}' is open by {} in {}: the run begins by closing it", c.name, by, what),
        "start with positions that fit it");
  }
}

}  // namespace

void examine_loops(const Scene& scene, const Model& model, const ModelKeyframe& start, const Source& where,
                   const std::string& what, Diagnostics* diagnostics) {
  examine_gaps(scene, model, start, where, what, diagnostics);
  const double fastest = start.v.size() > 0 ? start.v.cwiseAbs().maxCoeff() : 0;
  if (!(fastest > 0)) return;
  const std::vector<int> trees = find_constrained_trees(model);
  Placement placement[2] = {make_placement(model), make_placement(model)};
  VecX q[2];
  const double dt = kWay / fastest;
  for (const int k : {0, 1}) {
    q[k] = start.q;
    calc_placement(model, start.q, &placement[k]);
    calc_placement_ahead(model, trees, start.q, start.v, k == 0 ? -dt : dt, &q[k], &placement[k]);
  }
  for (const ModelConstraint& c : model.constraints) {
    if (!is_rigid(model, c) || !is_between_trees(model, c)) continue;
    const Vec6 opening =
        (calc_gap(model, c, q[1], placement[1]) - calc_gap(model, c, q[0], placement[0])) / (2 * dt);
    const auto before = sides(model, c, q[0], placement[0]), after = sides(model, c, q[1], placement[1]);
    const double speed = ((after[0] - before[0]).norm() + (after[1] - before[1]).norm()) / (2 * dt);
    // A weld's turns are judged where it is: its points alone are told.
    const double rate = (c.type == ConstraintType::weld ? opening.tail<3>() : opening.head<3>()).norm();
    if (!(rate > std::max(kNoSpeed, kMostOpening * speed))) continue;
    diagnostics->warning(place_of(scene, c, where),
                         fmt::format("the velocities of {} would open constraint '{}' at {:.3g} {}/s: the "
                                     "first step changes them by an "
                                     "impulse",
                                     what, c.name, rate, gap_unit(model, c)),
                         "give all joints of the loop velocities that fit each other, or start at rest");
  }
}

}  // namespace capstan
