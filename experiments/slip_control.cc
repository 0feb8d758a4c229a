// Slip control (SAP VI-D, figures 16 and 17): two soft bubbles hold a spatula by its handle. The grip goes
// between 16 N and 1 N, a square wave with a period of 6 s and a duty of 75 %: held firmly the spatula stays,
// held loosely it pitches by its weight, which the torque of friction over the patches brakes.
//
// The fingers are those of the scene patch_gripper: ellipsoids with a pressure field on a slide each, 8 dofs
// with the spatula. Sizes are ours, the paper tells none. The spatula is held 12 mm from its centre of mass,
// so that a grip of 1 N does not hold its moment, and one of 16 N does many times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/step/contact_forces.h"
#include "experiments/conic_problem.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kPeriod = 6, kDuty = 0.75, kFirm = 16, kLoose = 1;  // [s], [], [N], [N]
constexpr double kConicTolerance = 1e-6;                             // the paper's for geodesic steps
constexpr double kTolerance = 1e-3;                                  // eps_r, as published
constexpr double kSettled = 0.2;                                     // [s] after the grip was made firm
constexpr int kRings = 5;                                            // of facets of a patch
constexpr double kOffset = 0.012;                                    // [m] of the centre of mass
constexpr double kDegree = std::numbers::pi / 180;

Scene make_slip_scene() {
  Scene scene = shipped_scene("patch_gripper");
  for (ShapeInstance& shape : scene.shapes) {
    if (std::holds_alternative<Ellipsoid>(shape.shape)) shape.patch.rings = kRings;
  }
  for (Body& body : scene.bodies) {
    if (body.name == "spatula") body.pose.position.x() = kOffset;
  }
  return scene;
}

double grip_at(double time) {
  return std::fmod(time + 1e-9, kPeriod) < kDuty * kPeriod ? kFirm : kLoose;
}

// Everything a run tells, step by step.
struct SlipRun {
  std::vector<double> time, grip, pitch, contacts, iterations, torque;  // [s], [N], [degrees], [], [], [N m]
  double drop = 0;                                                      // [m] of the spatula, in all
  double worst_momentum = 0;
  SolverComparison solvers;

  // Of the steps in which the grip is this one.
  double mean_of(const std::vector<double>& values, double of_grip) const {
    double sum = 0;
    int count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (grip[i] == of_grip) sum += values[i], ++count;
    }
    return sum / std::max(count, 1);
  }
};

SlipRun run_slip(const Run& run, ContactLaw law, double duration, int compare_every) {
  SlipRun out;
  Simulation s(make_slip_scene(), law);
  s.options.newton.relative_tolerance = kTolerance;
  const int spatula = s.model.bodies[s.model.find_body("spatula")].link;
  Placement placement = make_placement(s.model);
  const double start = s.state.q[s.model.joints[s.model.find_joint("spatula")].q + 2];
  std::vector<ContactForce> forces;
  std::vector<PatchForce> patches;
  s.state.control.setConstant(grip_at(0));
  s.run_until(duration, [&] {
    calc_placement(s.model, s.state.q, &placement);
    calc_contact_forces(s.workspace, &forces);
    sum_patch_forces(forces, &patches);
    const Vec3 along = placement.X_WL[spatula].R.col(0);
    out.time.push_back(s.state.time);
    out.grip.push_back(s.state.control[0]);
    out.pitch.push_back(std::atan2(-along.z(), along.x()) / kDegree);
    out.contacts.push_back(s.report.contacts);
    out.iterations.push_back(s.report.solver.iterations);
    double torque = 0;
    for (const PatchForce& patch : patches) torque += std::abs(patch.moment_W.y());
    out.torque.push_back(torque);
    out.worst_momentum = std::max(out.worst_momentum, s.report.solver.momentum_residual);
    if (compare_every > 0 && s.state.step % compare_every == 0)
      compare_solvers(s, kConicTolerance, &out.solvers);
    s.state.control.setConstant(grip_at(s.state.time));
    if (s.state.step % 100 == 0) run.tell(s.state.time / duration, fmt::format("t = {:.1f} s", s.state.time));
  });
  out.drop = start - s.state.q[s.model.joints[s.model.find_joint("spatula")].q + 2];
  return out;
}

// [degrees] the largest change of the pitch in any firm grip, once it has settled; and the least in a loose
// one.
std::pair<double, double> pitch_changes(const SlipRun& r) {
  double held = 0, least = 1e30;
  for (std::size_t i = 0; i < r.time.size();) {
    std::size_t end = i;
    while (end < r.time.size() && r.grip[end] == r.grip[i]) ++end;
    std::size_t first = i;
    while (first < end && r.time[first] < r.time[i] + kSettled) ++first;
    if (r.grip[i] == kFirm && first < end) {
      const auto [low, high] = std::minmax_element(r.pitch.begin() + first, r.pitch.begin() + end);
      held = std::max(held, *high - *low);
    } else if (r.grip[i] == kLoose) {
      least = std::min(least, r.pitch[end - 1] - r.pitch[i]);
    }
    i = end;
  }
  return {held, least};
}

}  // namespace

Result slip_control(const Run& run) {
  Result result;
  const double duration = kPeriod + 2;  // [s] and firm again
  const SlipRun sap = run_slip(run, ContactLaw::sap, duration, run.is_short ? 60 : 20);
  const SlipRun coulomb = run_slip(run, ContactLaw::coulomb, duration, 0);
  const auto [held, pitched] = pitch_changes(sap);
  const auto [held_c, pitched_c] = pitch_changes(coulomb);
  result.claim("pitch while the grip is firm", "stiction is resolved: it stays",
               fmt::format("changes by {:.3f} degrees at most (coulomb: {:.3f})", held, held_c),
               held < 0.5 && held_c < 0.5);
  result.claim("pitch while the grip is loose", "the spatula pitches in the grasp",
               fmt::format("by {:.1f} degrees or more in each (coulomb: {:.1f})", pitched, pitched_c),
               pitched > 1 && pitched_c > 1);
  result.claim("the spatula stays in the grasp", "it does",
               fmt::format("slides down by {:.1f} mm (coulomb: {:.1f})", 1e3 * sap.drop, 1e3 * coulomb.drop),
               sap.drop < 0.03 && coulomb.drop < 0.03);
  const double iterations = mean(sap.iterations);
  result.claim("iterations in a step", "0.62 on average (eps_r 1e-3)", fmt::format("{:.2f}", iterations),
               iterations <= 0.62,
               Difference{"a step that nothing changes takes none, one in which something slips two or more",
                          "below 2", iterations < 2});
  const double firm = sap.mean_of(sap.contacts, kFirm), loose = sap.mean_of(sap.contacts, kLoose);
  result.claim("contacts", "about 160 while it sticks, 60 while it slips",
               fmt::format("{:.0f} and {:.0f} on average", firm, loose),
               std::abs(firm - 160) < 30 && std::abs(loose - 60) < 20,
               Difference{"facets are as large as the patch, so that their number stays when it shrinks",
                          "60 to 200 in both", firm > 60 && firm < 200 && loose > 60 && loose < 200});
  result.claim("momentum error", "9.99e-4 at most", fmt::format("{:.2e} at most", sap.worst_momentum),
               sap.worst_momentum <= kTolerance);
  const SolverComparison& solvers = sap.solvers;
  result.claim(
      "against an interior-point method, on the same problems",
      "92 times faster than Gurobi (10.1 iterations), 20 times than the geodesic one (5.6)",
      fmt::format(
          "{:.0f} times faster than our own interior point ({:.1f} iterations, e_m {:.1e} at most, {} of {} "
          "problems solved)",
          solvers.ratio(), solvers.conic_iterations / std::max(solvers.solved(), 1), solvers.worst_momentum,
          solvers.solved(), solvers.samples),
      solvers.ratio() > 20 && solvers.unsolved == 0,
      Difference{"both of ours factor the same small matrix, and neither is Gurobi",
                 "faster, with the same minimum within 1 %",
                 solvers.ratio() > 2 && solvers.unsolved == 0 && solvers.worst_cost < 0.01});
  const auto plot = [&](const std::vector<Series>& series, const char* label) {
    return draw_plot(series, {680, 300, "", "time [s]", label, false, false, {}, {}});
  };
  result.figure(
      "slip_control", "Grip and pitch (figure 17), contacts, and iterations of SAP",
      arrange(
          {plot({{"grip", sap.time, sap.grip}}, "grip [N]"),
           plot({{"SAP", sap.time, sap.pitch}, {"Coulomb", coulomb.time, coulomb.pitch, LineStyle::dashed}},
                "pitch [degrees]"),
           plot({{"contacts", sap.time, sap.contacts}}, "contacts"),
           plot({{"iterations", sap.time, sap.iterations}}, "iterations in a step")},
          2, 680, 300));
  Table table{"slip_control",
              "Means over the steps of each grip, law sap",
              {"grip [N]", "contacts", "iterations in a step", "friction torque of the patches [N m]"},
              {},
              true};
  for (const double grip : {kFirm, kLoose}) {
    table.rows.push_back({fmt::format("{:g}", grip), fmt::format("{:.0f}", sap.mean_of(sap.contacts, grip)),
                          fmt::format("{:.2f}", sap.mean_of(sap.iterations, grip)),
                          fmt::format("{:.4f}", sap.mean_of(sap.torque, grip))});
  }
  result.tables.push_back(table);
  std::string remark = fmt::format(
      "Sizes and stiffnesses are ours: bubbles of 25 x 30 x 25 mm with E = 1e5 Pa, a spatula of 80 g and 24 "
      "cm "
      "held {:.0f} mm from its centre of mass, friction 0.8. It also slides down while the grip is loose: a "
      "patch "
      "that slips about its normal does not hold its weight either.",
      1e3 * kOffset);
  if (!run.is_short) {
    const double longer = 3 * kPeriod;
    remark += fmt::format(
        " After three periods, {:g} s, it is {:.0f} mm lower with SAP and {:.0f} mm with Coulomb's law.",
        longer, 1e3 * run_slip(run, ContactLaw::sap, longer, 0).drop,
        1e3 * run_slip(run, ContactLaw::coulomb, longer, 0).drop);
  }
  result.remarks.push_back(remark);
  return result;
}

}  // namespace capstan::experiments
