// A quadruped walks over hills for ten seconds, with feet that cannot slip and with feet that only drag
// (Drumwright 2015, VII-B): the shipped Mini Cheetah, a trot (trot.h), a height field.
//
// What can be known beforehand and is checked: without slip the contact points of feet stand still to the
// solver's tolerance; viscous feet are pushed by -c times their slip, whatever presses them; the ground's
// impulses are the change of momentum less the weight's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numbers>

#include "capstan/io/picture.h"
#include "capstan/step/contact_forces.h"
#include "capstan/step/failures.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"
#include "experiments/trot.h"

namespace capstan::experiments {
namespace {

constexpr double kDt = 1e-3;              // [s] as in the paper
constexpr double kLong = 10, kShort = 2;  // [s] of a walk
constexpr double kGravity = 9.81;
constexpr double kTipped = 0.8;    // [rad] of the trunk when it counts as fallen
constexpr double kLying = 0.12;    // [m] of the trunk above the ground, likewise
constexpr double kInfinite = 100;  // a coefficient of friction that stands for infinity, as in the paper

// [m] Hills of a few centimetres; level where it starts.
double height_at(double x, double y) {
  constexpr double kTurn = 2 * std::numbers::pi;
  const double rises = std::clamp((x - 0.3) / 0.5, 0.0, 1.0);
  return rises * (0.025 * std::sin(kTurn * (x - 0.3) / 1.3) +
                  0.012 * std::sin(kTurn * (x / 0.8 + 0.3)) * std::cos(kTurn * y / 0.9) +
                  0.01 * std::cos(kTurn * (y / 1.1 + 0.2)) - 0.003);
}

Scene make_scene(double friction) {
  Scene scene = shipped_scene("quadruped");
  scene.name = "quadruped_walk";
  HeightField field;
  constexpr double kCell = 0.1, kLength = 6.4, kWidth = 1.6, kBehind = 0.8;
  field.columns = static_cast<int>(std::lround(kLength / kCell)) + 1;
  field.rows = static_cast<int>(std::lround(kWidth / kCell)) + 1;
  field.half_size = {kLength / 2, kWidth / 2};
  field.base = 0.1;
  auto height = std::make_shared<std::vector<double>>();
  for (int r = 0; r < field.rows; ++r) {
    for (int c = 0; c < field.columns; ++c)
      height->push_back(height_at(c * kCell - kBehind, r * kCell - kWidth / 2));
  }
  field.height = height;
  for (ShapeInstance& shape : scene.shapes) {
    if (shape.name != "floor") continue;
    shape.name = "hills";
    shape.shape = field;
    shape.pose.position = Vec3(kLength / 2 - kBehind, 0, 0);
  }
  for (Material& material : scene.materials) material.friction = friction;
  return scene;
}

struct Feet {
  const char* name;
  bool is_rigid;
  RigidModel model;
  const char* solver;
  double friction, viscosity;  // [1], [N s/m]
};
constexpr Feet kFeet[] = {
    {"no slip, modified PPM", true, RigidModel::no_slip, "modified_ppm", kInfinite, 0},
    {"Stewart-Trinkle, mu 100, Lemke", true, RigidModel::stewart_trinkle, "lemke", kInfinite, 0},
    {"viscous, 200 N s/m, modified PPM", true, RigidModel::viscous, "modified_ppm", 0, 200},
    {"viscous, 200 N s/m, Lemke", true, RigidModel::viscous, "lemke", 0, 200},
    {"viscous, 0.1 N s/m, modified PPM", true, RigidModel::viscous, "modified_ppm", 0, 0.1},
    {"Coulomb (ncp), mu 0.8, newton", true, RigidModel::ncp, "newton", 0.8, 0},
    {"default law (convex), mu 0.8", false, RigidModel::ncp, "", 0.8, 0}};

enum { kNoSlip, kLemke, kViscous, kViscousLemke, kIce };  // in kFeet

struct Walk {
  double time = 0, x = 0, y = 0;  // [s, m] where it ended, or fell
  bool fell = false;
  double tilt = 0, lowest = 1;  // [rad, m] the largest; the trunk's middle above the ground
  double milliseconds = 0, pivots = 0;
  int failed = 0, least = 1000, most = 0;  // contacts in steps of the walk
  double contacts = 0, spread = 0;         // their mean and standard deviation
  double slip = 0, mean_slip = 0;          // [m/s] of what presses; the mean is weighed by the normal force
  double law = 0;                          // viscous: of |f + c slip| over the largest |f|
  double balance = 0;                      // of impulses, over the weight's
  std::vector<double> times, xs, slips;
  std::vector<State> states;
  std::vector<Vec3> trail;
};

class Walker {
 public:
  Walker(const Feet& feet, double duration)
      : s_(make_scene(feet.friction), ContactLaw::regularized_lagged, kDt),
        feet_(feet),
        duration_(duration),
        trot_(s_.model, {}) {
    if (feet.is_rigid) {
      s_.options.rigid.is_on = true;
      s_.options.rigid.options.model = feet.model;
      s_.options.rigid.options.tolerance = 1e-8;
      if (feet.viscosity > 0) s_.options.rigid.options.viscosity = feet.viscosity;
      s_.options.rigid.solver = feet.solver;
    }
    s_.options.fail_if_not_converged = false;
    root_ = s_.model.joints[s_.model.find_joint("root")].q;
    for (const ModelBody& body : s_.model.bodies) mass_ += body.mass;
  }

  const Model& model() const { return s_.model; }

  Walk walk(const std::function<void(double)>& tell) {
    Walk w;
    const Vec6 before = calc_mechanics(s_.model, s_.state).momentum;
    long steps = 0;
    double squares = 0, next_picture = 0, next_point = 0;
    while (s_.state.time < duration_ - 0.5 * kDt && !w.fell) {
      if (s_.state.time >= next_picture - 1e-9) {
        w.states.push_back(s_.state);
        next_picture += duration_ / 6;
        tell(s_.state.time / duration_);
      }
      if (s_.state.time >= next_point - 1e-9) {
        w.trail.push_back(s_.state.q.segment<3>(root_));
        w.times.push_back(s_.state.time);
        w.xs.push_back(s_.state.q[root_]);
        next_point += 0.02;
      }
      trot_.control(s_.model, &s_.state, &s_.input);
      const std::clock_t began = std::clock();
      try {
        s_.step();
      } catch (const StepFailure&) {
        ++w.failed;
        break;
      }
      spent_ += static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
      ++steps;
      w.failed += !s_.report.solver.converged;
      w.pivots += s_.report.solver.iterations;
      const int n = s_.report.contacts;
      w.least = std::min(w.least, n);
      w.most = std::max(w.most, n);
      w.contacts += n;
      squares += 1.0 * n * n;
      look_at_contacts(&w);
      const Vec3 p = s_.state.q.segment<3>(root_);
      w.tilt = std::max(w.tilt, trot_.tilt());
      w.lowest = std::min(w.lowest, p.z() - height_at(p.x(), p.y()));
      w.fell = w.tilt > kTipped || w.lowest < kLying;
    }
    w.states.push_back(s_.state);
    const double count = static_cast<double>(std::max(1L, steps));
    w.time = s_.state.time;
    w.x = s_.state.q[root_];
    w.y = s_.state.q[root_ + 1];
    w.milliseconds = 1e3 * spent_ / count;
    w.pivots /= count;
    w.contacts /= count;
    w.spread = std::sqrt(std::max(0.0, squares / count - w.contacts * w.contacts));
    w.mean_slip = pressed_ > 0 ? slid_ / pressed_ : 0;
    w.law = largest_force_ > 0 ? off_law_ / largest_force_ : 0;
    const double weight = mass_ * kGravity * w.time;  // [N s]
    const Vec6 after = calc_mechanics(s_.model, s_.state).momentum;
    const Vec3 change = after.tail<3>() - before.tail<3>();
    w.balance = (impulse_ - Vec3(0, 0, weight) - change).norm() / weight;
    return w;
  }

 private:
  void look_at_contacts(Walk* w) {
    calc_contact_forces(s_.workspace, &forces_);
    for (const ContactForce& f : forces_) {
      const bool is_ground =
          s_.model.shapes[f.shape_a].name == "hills" || s_.model.shapes[f.shape_b].name == "hills";
      if (!is_ground) continue;
      impulse_ += kDt * (s_.model.shapes[f.shape_a].name == "hills" ? 1 : -1) * f.force_W();
      if (!(f.normal_force > 0)) continue;
      const double slip = f.slip_W.norm();
      w->slip = std::max(w->slip, slip);
      slid_ += slip * f.normal_force;
      pressed_ += f.normal_force;
      off_law_ = std::max(off_law_, (f.friction_W + feet_.viscosity * f.slip_W).norm());
      largest_force_ = std::max(largest_force_, f.friction_W.norm());
    }
  }

  Simulation s_;
  Feet feet_;
  double duration_;
  Trot trot_;
  int root_ = 0;
  double mass_ = 0, spent_ = 0, slid_ = 0, pressed_ = 0, off_law_ = 0, largest_force_ = 0;
  Vec3 impulse_ = Vec3::Zero();
  std::vector<ContactForce> forces_;
};

// The robot at all states that were kept, side by side on the hills.
std::string picture(const Model& model, const Walk& walk) {
  const Scene one = make_scene(1);
  Scene all;
  all.name = one.name;
  for (std::size_t i = 0; i < walk.states.size(); ++i) {
    const auto own = [&](const std::string& name) {
      return name == kWorld ? name : fmt::format("{}_{}", name, i);
    };
    for (Body body : one.bodies) {
      body.name = own(body.name);
      body.parent = own(body.parent);
      for (Joint& joint : body.joints) joint.name = own(joint.name);
      all.bodies.push_back(body);
    }
    for (ShapeInstance shape : one.shapes) {
      if (shape.body == kWorld && i > 0) continue;
      if (shape.body != kWorld) shape.name = own(shape.name);
      shape.body = own(shape.body);
      shape.material = "default";
      all.shapes.push_back(shape);
    }
  }
  const Model copies = compile(all);
  State state = initial_state(copies);
  for (std::size_t i = 0; i < walk.states.size(); ++i) {
    for (const ModelJoint& joint : model.joints) {
      const int at = copies.joints[copies.find_joint(fmt::format("{}_{}", joint.name, i))].q;
      state.q.segment(at, num_positions(joint.type)) =
          walk.states[i].q.segment(joint.q, num_positions(joint.type));
    }
  }
  PictureOptions options;
  options.width = 1100;
  options.height = 400;
  options.azimuth = -0.35;
  options.elevation = 0.5;
  options.trail = walk.trail;
  return draw_picture(copies, {state}, options);
}

void claim_all(const Run& run, const std::vector<Walk>& walks, double asked, Result* result) {
  const Walk &no_slip = walks[kNoSlip], &viscous = walks[kViscous];
  const double duration = run.is_short ? kShort : kLong;
  for (const int i : {kNoSlip, kViscous}) {
    const Walk& w = walks[i];
    const char* name = i == kNoSlip ? "no slip" : "viscous";
    result->claim(
        fmt::format("{}: the quadruped walks over the hills", name), fmt::format("for {:g} s", duration),
        fmt::format("{:.2f} s, {:.2f} m of {:.2f} m asked for, the trunk tilts by {:.0f} degrees at most",
                    w.time, w.x, asked, w.tilt * 180 / std::numbers::pi),
        !w.fell && w.time > duration - kDt && w.x > 0.5 * asked);
    result->claim(fmt::format("{}: steps without an answer", name), "0", fmt::format("{}", w.failed),
                  w.failed == 0);
    result->claim(
        fmt::format("{}: impulses of the ground are weight times time and the change of momentum", name),
        "all of it", fmt::format("{:.1e} of the weight's impulse is missing", w.balance), w.balance < 2e-3);
  }
  result->claim("no slip: slip of what presses", "0", fmt::format("{:.1e} m/s at most", no_slip.slip),
                no_slip.slip < 1e-6);
  result->claim("viscous: friction against -c times the slip, whatever presses", "the same",
                fmt::format("within {:.1e} of the largest", viscous.law), viscous.law < 1e-6);
  result->claim("viscous feet slip all the time, but push as much forwards as backwards",
                "as far as without slip",
                fmt::format("{:.2f} against {:.2f} m, slip {:.0f} mm/s on average", viscous.x, no_slip.x,
                            1e3 * viscous.mean_slip),
                std::abs(viscous.x - no_slip.x) < 0.15 * asked && viscous.mean_slip > 0.005);
  if (run.is_short) return;
  const Walk &lemke = walks[kLemke], &viscous_lemke = walks[kViscousLemke];
  const auto claim_time = [&](const char* what, const char* published, const Walk& ours, const Walk& other,
                              double part) {
    const double found = ours.milliseconds / other.milliseconds;
    const Difference difference{
        "at most 5 contacts here, 30 there: motion, collision and control, which are the same in both, weigh "
        "more",
        "less than 90 % of the time", found < 0.9};
    result->claim(fmt::format("{}: CPU time of the whole walk", what), published,
                  fmt::format("{:.0f} % less: {:.3f} against {:.3f} ms a step", 100 * (1 - found),
                              ours.milliseconds, other.milliseconds),
                  found <= part, difference);
  };
  claim_time("no slip with modified PPM against Stewart-Trinkle with Lemke",
             "28 % less, wall (against Drumwright and Shell's model)", no_slip, lemke, 301.796 / 416.284);
  claim_time("viscous, modified PPM against Lemke", "27 % less, wall", viscous, viscous_lemke,
             2139.73 / 2936.36);
  const Walk& ice = walks[kIce];
  result->claim(
      "viscous, 0.1 N s/m as in the paper: hardly any push", "(not told how far it walked)",
      fmt::format("{:.2f} m{}", ice.x, ice.fell ? fmt::format(", falls at {:.2f} s", ice.time) : ""),
      ice.x < 0.5 * asked);
}

}  // namespace

Result quadruped_walk(const Run& run) {
  Result result;
  const double duration = run.is_short ? kShort : kLong;
  const TrotOptions trot;
  const double asked = trot.speed * (duration - trot.begin);
  Table table{
      "walks",
      fmt::format("The trot for {:g} s over hills, steps of {:g} ms, {:g} m/s asked for from {:g} s on",
                  duration, 1e3 * kDt, trot.speed, trot.begin),
      {"feet", "walked [s]", "x [m]", "y [m]", "largest tilt [deg]", "mean slip [mm/s]", "largest slip [m/s]",
       "contacts: least, mean, most", "step [ms CPU]", "iterations", "without answer", "impulse balance"},
      {}};
  std::vector<Walk> walks(std::size(kFeet));
  std::vector<Series> ways;
  for (std::size_t i = 0; i < std::size(kFeet); ++i) {
    const Feet& feet = kFeet[i];
    if (run.is_short && i != kNoSlip && i != kViscous) continue;
    const double share = 1.0 / std::size(kFeet);
    Walker walker(feet, duration);
    Walk& w = walks[i];
    w = walker.walk([&](double part) { run.tell(share * (static_cast<double>(i) + part), feet.name); });
    table.rows.push_back(
        {feet.name, fmt::format("{:.2f}{}", w.time, w.fell ? ", fell" : ""), fmt::format("{:.3f}", w.x),
         fmt::format("{:.3f}", w.y), fmt::format("{:.1f}", w.tilt * 180 / std::numbers::pi),
         fmt::format("{:.2g}", 1e3 * w.mean_slip), fmt::format("{:.1e}", w.slip),
         fmt::format("{}, {:.1f}, {}", w.least, w.contacts, w.most), fmt::format("{:.3f}", w.milliseconds),
         fmt::format("{:.1f}", w.pivots), fmt::format("{}", w.failed), fmt::format("{:.1e}", w.balance)});
    ways.push_back({feet.name, w.times, w.xs});
    if (i == kNoSlip)
      result.figure("walk", "The walk without slip, every sixth part of its time, and the way of its trunk",
                    picture(walker.model(), w));
  }
  result.tables.push_back(table);
  result.figure("way", "Where the trunk is",
                draw_plot(ways, {760, 400, "", "time [s]", "x [m]", false, false, {}, {}}));
  claim_all(run, walks, asked, &result);
  result.remarks.push_back(
      "The paper's quadruped, terrain and controller are not published; ours are the shipped Mini Cheetah, "
      "hills of "
      "a few centimetres and an open-loop trot (`experiments/trot.h`), whose servos lag behind what is asked "
      "for. "
      "Feet that drag push as far as feet that stick: over a cycle their slips cancel. The slips of the "
      "other models "
      "are those of feet that come down and leave.");
  return result;
}

}  // namespace capstan::experiments
