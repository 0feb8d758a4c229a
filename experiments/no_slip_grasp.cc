// The grasp of Drumwright 2015 (VII-A): four boxes in a row, the outer two are fingers that press inward,
// friction is infinite. Each pair of faces has twelve contacts, 36 in all, far more than the dofs need.
// Stewart and Trinkle's model with a pyramid has 216 unknowns for Lemke's method; without slip there are 36,
// and the modified principal pivoting method needs a few of them.
//
// The boxes here are three slabs each, beside one another: four contacts for each pair of slabs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <string>

#include "capstan/rigid/rigid_solvers.h"
#include "capstan/step/failures.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kHalf = 0.05, kMass = 1;  // [m, kg] of a box
constexpr double kForce = 50;              // [N] of each finger
constexpr double kDropped = 0.01;          // [m] that a box has sunk when it counts as lost
constexpr double kFriction = 100;          // stands for infinity, as in the paper
constexpr double kDt = 0.01;

void add_box(const std::string& name, double x, JointType type, int slabs, Scene* scene) {
  Body body;
  body.name = name;
  body.pose.position = Vec3(x, 0, 0);
  Joint joint;
  joint.name = name;
  joint.type = type;
  joint.axis = Vec3(1, 0, 0);
  body.joints.push_back(joint);
  scene->bodies.push_back(body);
  const double pitch = 2 * kHalf / slabs;
  for (int i = 0; i < slabs; ++i) {
    ShapeInstance slab;
    slab.name = fmt::format("{}_{}", name, i);
    slab.body = name;
    slab.shape = Box{Vec3(kHalf, 0.4 * pitch, kHalf)};  // a little apart: neighbours do not touch across
    slab.pose.position = Vec3(0, (i + 0.5) * pitch - kHalf, 0);
    slab.has_mass = true;
    slab.mass = kMass / slabs;
    scene->shapes.push_back(slab);
  }
}

Scene make_scene(int slabs) {
  Scene scene;
  scene.name = "no_slip_grasp";
  Material material;
  material.name = "default";
  material.friction = kFriction;
  scene.materials = {material};
  const char* names[] = {"left", "first", "second", "right"};
  for (int i = 0; i < 4; ++i)
    add_box(names[i], (2 * i - 3) * kHalf, i % 3 == 0 ? JointType::prismatic : JointType::free, slabs,
            &scene);
  return scene;
}

struct Grasp {
  Simulation s;
  int first = 0, second = 0;  // z of the two boxes in q

  Grasp(int slabs, RigidModel model, const char* solver) : s(make_scene(slabs), ContactLaw::sap, kDt) {
    s.options.rigid.is_on = true;
    s.options.rigid.options.model = model;
    s.options.rigid.solver = solver;
    s.options.fail_if_not_converged = false;
    first = s.model.joints[s.model.find_joint("first")].q + 2;
    second = s.model.joints[s.model.find_joint("second")].q + 2;
    s.input.generalized_force = VecX::Zero(s.model.num_velocities());
    s.input.generalized_force[s.model.joints[s.model.find_joint("left")].v] = kForce;
    s.input.generalized_force[s.model.joints[s.model.find_joint("right")].v] = -kForce;
  }
  double sunk() const { return -std::min(s.state.q[first], s.state.q[second]); }
};

// [ms] of this program, whatever else the machine does.
double cpu_milliseconds() {
  return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Held {
  double time = 0;                       // [s] until a box is lost, or as long as was asked for
  double sunk = 0;                       // [m] at that time
  double milliseconds = 0;               // of a step, the mean
  double pivots = 0, most_pivots = 0;    // of a step
  int contacts = 0, first_contacts = 0;  // on average, in the second step (in the first one nothing presses)
  int failed = 0;                        // steps without an answer
};

Held hold(int slabs, RigidModel model, const char* solver, double duration) {
  Grasp grasp(slabs, model, solver);
  Held held;
  std::vector<double> times;
  double contacts = 0;
  while (grasp.s.state.time < duration - 0.5 * kDt && grasp.sunk() < kDropped) {
    const double before = grasp.s.seconds;
    try {
      grasp.s.step();
    } catch (const StepFailure&) {  // it is thrown out of the grasp
      ++held.failed;
      break;
    }
    times.push_back(1e3 * (grasp.s.seconds - before));
    const SolverReport& solver_report = grasp.s.report.solver;
    held.pivots += solver_report.iterations;
    held.most_pivots = std::max<double>(held.most_pivots, solver_report.iterations);
    held.failed += !solver_report.converged;
    contacts += grasp.s.report.contacts;
    if (times.size() == 2) held.first_contacts = grasp.s.report.contacts;
  }
  const double count = static_cast<double>(std::max<std::size_t>(1, times.size()));
  held.time = grasp.s.state.time;
  held.sunk = grasp.sunk();
  held.milliseconds = std::accumulate(times.begin(), times.end(), 0.0) / count;
  held.pivots /= count;
  held.contacts = static_cast<int>(std::lround(contacts / count));
  return held;
}

struct Method {
  const char* name;
  RigidModel model;
  const char* solver;
};
constexpr Method kMethods[] = {
    {"Stewart-Trinkle, Lemke", RigidModel::stewart_trinkle, "lemke"},
    {"no slip, modified PPM", RigidModel::no_slip, "modified_ppm"},
    {"no slip, incremental pivoting", RigidModel::no_slip, "incremental_pivoting"},
    {"no slip, Lemke", RigidModel::no_slip, "lemke"},
};

// [ms] of the solver alone on the problem of the second step: the least of some, which others disturb least.
double solver_time(int slabs, const Method& method, int* contacts) {
  Grasp grasp(slabs, RigidModel::no_slip, "modified_ppm");
  grasp.s.step();
  grasp.s.step();
  RigidOptions options = grasp.s.options.rigid.options;
  options.model = method.model;
  const RigidProblem problem(grasp.s.workspace.problem, grasp.s.workspace.contacts, options);
  double least = kInfinity, spent = 0;
  for (int k = 0; k < 3 || (k < 200 && spent < 500); ++k) {
    const double before = cpu_milliseconds();
    find_rigid_solver(method.solver)->solve(problem, VecX::Zero(problem.num_rows()));
    const double time = cpu_milliseconds() - before;
    least = std::min(least, time);
    spent += time;
  }
  *contacts = grasp.s.report.contacts;
  return least;
}

// Time against contacts, at the same dofs.
void grow_contacts(const Run& run, Result* result) {
  const Method &lemke = kMethods[0], &ppm = kMethods[1];
  Table table{"contacts",
              "Time of the solver on the problem of the second step against contacts, 14 dofs",
              {"contacts", fmt::format("{} [ms]", lemke.name), fmt::format("{} [ms]", ppm.name)},
              {}};
  Series slow{lemke.name, {}, {}, LineStyle::solid, true}, fast{ppm.name, {}, {}, LineStyle::solid, true};
  const std::vector<int> all = run.is_short ? std::vector<int>{1, 3} : std::vector<int>{1, 2, 4, 8, 16, 32};
  for (const int slabs : all) {
    run.tell(0.7, fmt::format("{} slabs", slabs));
    int contacts = 0;
    fast.y.push_back(solver_time(slabs, ppm, &contacts));
    fast.x.push_back(contacts);
    std::vector<std::string> row = {fmt::format("{}", contacts), "", fmt::format("{:.3f}", fast.y.back())};
    if (slabs <= 8) {
      slow.y.push_back(solver_time(slabs, lemke, &contacts));
      slow.x.push_back(contacts);
      row[1] = fmt::format("{:.3f}", slow.y.back());
    }
    table.rows.push_back(row);
  }
  const long last = std::min<long>(3, static_cast<long>(all.size()));
  const double exponent =
      fitted_order({fast.x.end() - last, fast.x.end()}, {fast.y.end() - last, fast.y.end()});
  if (!run.is_short) {
    result->claim("modified PPM at fixed dofs: exponent of time over contacts", "1 (O(m^3 + m^2 n))",
                  fmt::format("{:.2f}", exponent), exponent < 1.15);
  }
  result->figure("contacts", "Time of the solver against contacts",
                 draw_plot({slow, fast}, {640, 400, "", "contacts", "solver [ms]", true, true, {}, {}}));
  result->tables.push_back(table);
}

}  // namespace

Result no_slip_grasp(const Run& run) {
  Result result;
  const double duration = run.is_short ? 0.5 : 10;
  Table table{
      "methods",
      fmt::format("Four boxes held for {:g} s, steps of {:g} s", duration, kDt),
      {"method", "contacts", "held [s]", "sunk [mm]", "step [ms]", "pivots", "most", "without answer"},
      {}};
  std::vector<Held> held;
  for (const Method& method : kMethods) {
    run.tell(0.1 * static_cast<double>(held.size()), method.name);
    held.push_back(hold(3, method.model, method.solver, duration));
    const Held& h = held.back();
    table.rows.push_back({method.name, fmt::format("{}", h.contacts), fmt::format("{:.2f}", h.time),
                          fmt::format("{:.3g}", 1e3 * h.sunk), fmt::format("{:.3f}", h.milliseconds),
                          fmt::format("{:.1f}", h.pivots), fmt::format("{:.0f}", h.most_pivots),
                          fmt::format("{}", h.failed)});
  }
  const Held &lemke = held[0], &ppm = held[1];
  result.tables.push_back(table);
  result.claim("contacts at the start", "36", fmt::format("{}", ppm.first_contacts),
               ppm.first_contacts == 36);
  const double ratio = lemke.milliseconds / ppm.milliseconds;
  if (!run.is_short) {  // a test judges no times
    result.claim(
        "no slip with modified PPM against Stewart-Trinkle with Lemke, CPU time of a step on average",
        "6.6 times as fast, wall",
        fmt::format("{:.1f} times: {:.2f} against {:.2f} ms", ratio, ppm.milliseconds, lemke.milliseconds),
        ratio >= 6.6);
  }
  result.claim("the no-slip grasp holds", "at least 1 s",
               fmt::format("{:.2f} s, sunk by {:.2g} mm", ppm.time, 1e3 * ppm.sunk),
               ppm.time >= std::min(duration, 10.0) - kDt);
  const Difference difference{
      "Lemke's method here breaks ties lexicographically and solves its last basis anew", "it holds",
      lemke.time >= duration - kDt};
  result.claim("with Stewart-Trinkle and Lemke the boxes fall", "after about ten steps",
               fmt::format("held for {:.2f} s, {} steps without an answer", lemke.time, lemke.failed),
               lemke.time < 0.5, difference);
  result.claim(
      "pivots of the modified PPM in a step", "5.5 on average, at most 7 (of 10 steps)",
      fmt::format("{:.1f}, at most {:.0f}", ppm.pivots, ppm.most_pivots),
      ppm.pivots <= 8 && ppm.most_pivots < 100,
      Difference{"all contacts stay pressed in all steps here",
                 "at most 12 on average, 36 contacts in each step", ppm.pivots <= 12 && ppm.contacts == 36});
  grow_contacts(run, &result);
  result.remarks.push_back(
      "The paper gives neither sizes nor masses nor the force of the fingers: here boxes of 10 cm and 1 kg, "
      "and 50 N. "
      "Fingers slide along x only. Times are of our own programs both, in one run. A step that has to be "
      "solved "
      "anew, with contacts that leave or come to stick, counts all of its pivots.");
  return result;
}

}  // namespace capstan::experiments
