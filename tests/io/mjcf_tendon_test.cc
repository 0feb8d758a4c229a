// Spatial tendons and activations against MuJoCo 4.0.0: the numbers of data/tendons_mujoco.txt, which
// data/tendons_mujoco.py printed for the model data/tendons.xml.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>

#include "capstan/dynamics/forces.h"
#include "capstan/dynamics/spatial_tendon.h"
#include "capstan/io/read.h"
#include "capstan/io/write_yaml.h"
#include "capstan/step/step.h"

namespace capstan::mjcf_tendon_test {
namespace {

const std::string kFolder = std::string(CAPSTAN_SOURCE_DIR) + "/tests/io/data/";

struct Line {
  std::string word;
  VecX numbers;
};

std::vector<Line> read_lines() {
  std::ifstream file(kFolder + "tendons_mujoco.txt");
  std::vector<Line> lines;
  for (std::string text; std::getline(file, text);) {
    if (text[0] == '#') continue;
    std::istringstream words(text);
    Line line;
    words >> line.word;
    std::vector<double> numbers;
    for (double x; words >> x;) numbers.push_back(x);
    line.numbers = VecX::Map(numbers.data(), static_cast<int>(numbers.size()));
    lines.push_back(line);
  }
  return lines;
}

struct Tendons : testing::Test {
  Model model;
  std::vector<Line> lines = read_lines();
  int nt = 0, nv = 0, nu = 0;

  void SetUp() override {
    Diagnostics diagnostics;
    model = compile(read_mjcf(kFolder + "tendons.xml", &diagnostics));
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
    nt = static_cast<int>(model.tendons.size());
    nv = model.num_velocities();
    nu = static_cast<int>(model.actuators.size());
    ASSERT_EQ(nt, 9);
    ASSERT_EQ(nu, 11);
    ASSERT_GT(lines.size(), 150u);
  }
  // MuJoCo finds where a string touches a ring to 1e-6 rad, here it is to rounding.
  double tolerance(int tendon) const {
    return model.tendons[tendon].name.find("ring") == std::string::npos ? 1e-9 : 2e-7;
  }
  // Activations of those actuators that have one, to all.
  VecX spread(const VecX& act) const {
    VecX all = VecX::Zero(nu);
    int next = 0;
    for (int i = 0; i < nu; ++i) {
      if (model.actuators[i].has_activation()) all[i] = act[next++];
    }
    EXPECT_EQ(next, act.size());
    return all;
  }
};

TEST_F(Tendons, RestLengthsAreMuJoCos) {
  const VecX& rest = lines[0].numbers;
  ASSERT_EQ(lines[0].word, "rest");
  for (int t = 0; t < nt; ++t) {
    EXPECT_NEAR(model.tendons[t].spring_rest.lower, rest[t], 1e-12) << model.tendons[t].name;
    EXPECT_NEAR(model.tendons[t].spring_rest.upper, rest[nt + t], 1e-12) << model.tendons[t].name;
  }
}

TEST_F(Tendons, LengthsMomentsAndForcesAreMuJoCos) {
  State s = initial_state(model);
  Placement placement = make_placement(model);
  ForceGradient gradient = make_force_gradient(model);
  VecX tau = VecX::Zero(nv);
  int checked = 0;
  for (const Line& line : lines) {
    const VecX& x = line.numbers;
    if (line.word == "state") {
      s.q = x.head(3);
      s.v = x.segment(3, 3);
      s.control = x.segment(6, nu);
      s.activation = spread(x.tail(x.size() - 6 - nu));
      calc_placement(model, s.q, &placement);
    } else if (line.word == "length" || line.word == "rate") {
      for (int t = 0; t < nt; ++t) {
        const TransmissionReading r = read_transmission(model, model.tendons[t].transmission, s.q, s.v);
        EXPECT_NEAR(line.word == "rate" ? r.rate : r.length, x[t], tolerance(t))
            << line.word << " of " << model.tendons[t].name << " at " << s.q.transpose();
      }
    } else if (line.word == "moment") {
      for (int t = 0; t < nt; ++t) {
        VecX J = VecX::Zero(nv);
        for (const auto& term : transmission_at(model, placement, model.tendons[t].transmission).terms)
          J[term.dof] = term.coefficient;
        EXPECT_LT((J - x.segment(nv * t, nv)).norm(), tolerance(t))
            << model.tendons[t].name << " at " << s.q.transpose();
      }
    } else if (line.word == "force") {
      const VecX inputs = calc_actuator_inputs(model, s);
      for (int i = 0; i < nu; ++i)
        EXPECT_NEAR(read_actuator(model, model.actuators[i], s.q, s.v, inputs[i]).force, x[i],
                    1e-9 * (1 + std::abs(x[i])))
            << model.actuators[i].name;
    } else if (line.word == "tau") {
      calc_forces(model, s.q, s.v, calc_actuator_inputs(model, s), &tau, &gradient);
      EXPECT_LT((tau - x).norm(), 1e-9 * (1 + x.norm())) << tau.transpose() << " is not " << x.transpose();
      ++checked;
    }
  }
  EXPECT_EQ(checked, 24);
}

TEST_F(Tendons, ActivationsAreMuJoCos) {
  State s = initial_state(model);
  int checked = 0;
  for (const Line& line : lines) {
    if (line.word == "before") {
      s.control = line.numbers.head(nu);
      s.activation = spread(line.numbers.tail(line.numbers.size() - nu));
    } else if (line.word == "after") {
      advance_activations(model, 0.004, &s);
      EXPECT_LT((s.activation - spread(line.numbers)).norm(), 1e-12)
          << s.activation.transpose() << " is not " << spread(line.numbers).transpose();
      ++checked;
    }
  }
  EXPECT_EQ(checked, 12);
}

TEST_F(Tendons, MotionIsMuJoCos) {
  State s = initial_state(model);
  StepOptions options = step_options(model);
  options.dt = 1e-4;
  options.integrator = Integrator::midpoint;
  Workspace workspace = make_workspace(model);
  int checked = 0;
  for (const Line& line : lines) {
    const VecX& x = line.numbers;
    if (line.word == "start") {
      s.q = x.head(3);
      s.control = x.segment(3, nu);
      s.activation = spread(x.tail(x.size() - 3 - nu));
    } else if (line.word == "at") {
      while (s.time < x[0] - options.dt / 2) step(model, options, {}, &s, &workspace);
      // A tendon jumps to the other side of a wrap on its way; when within the step that is, differs.
      EXPECT_LT((s.q - x.segment(1, 3)).norm(), 2e-4) << s.time;
      EXPECT_LT((s.v - x.segment(4, 3)).norm(), 1e-3) << s.time;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 6);
}

// The semi-implicit scheme takes coefficients at the beginning of a step: first order, and its error falls
// with the step, if not evenly, because of that jump.
TEST_F(Tendons, SemiImplicitStepsConverge) {
  const auto find = [&](const char* word) {
    return std::find_if(lines.begin(), lines.end(), [&](const Line& l) { return l.word == word; })->numbers;
  };
  const VecX start = find("start"), at = find("at");
  double errors[2];
  for (int i = 0; i < 2; ++i) {
    State s = initial_state(model);
    s.q = start.head(3);
    s.control = start.segment(3, nu);
    s.activation = spread(start.tail(start.size() - 3 - nu));
    StepOptions options = step_options(model);
    options.integrator = Integrator::semi_implicit;
    options.dt = i == 0 ? 5e-4 : 5e-5;
    Workspace workspace = make_workspace(model);
    while (s.time < at[0] - options.dt / 2) step(model, options, {}, &s, &workspace);
    errors[i] = (s.q - at.segment(1, 3)).norm();
  }
  EXPECT_LT(errors[0], 2e-3);
  EXPECT_LT(errors[1], errors[0] / 5);
}

// A stiff spring on a spatial tendon is implicit: it does not blow up at steps far above its period.
TEST_F(Tendons, StiffTendonsAreStable) {
  model.tendons[0].stiffness = 1e7;
  model.tendons[0].damping = 0;
  State s = initial_state(model);
  s.q << 0.3, 0.5, 0.02;
  StepOptions options = step_options(model);
  options.integrator = Integrator::semi_implicit;
  options.dt = 2e-3;
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < 500; ++i) step(model, options, {}, &s, &workspace);
  EXPECT_LT(s.v.norm(), 20);
}

// Limits: the tendon is not longer than it may be, and holds a weight.
TEST(SpatialTendon, LimitHoldsAWeight) {
  const char* text =
      "bodies: [{name: w, position: [0.3, 0, -0.4], joint: free, shape: {type: sphere, radius: 0.05, mass: "
      "2}}]\n"
      "sites: [{name: top}, {name: on, body: w}]\n"
      "tendons: [{name: t, path: [{site: top}, {site: on}], limits: [0, 0.6]}]\n";
  Diagnostics diagnostics;
  const Model m = compile(read_yaml_text(std::string("capstan: 1\n") + text, {}, &diagnostics));
  ASSERT_EQ(diagnostics.text(), "");
  State s = initial_state(m);
  const StepOptions options = step_options(m);
  Workspace workspace = make_workspace(m);
  double longest = 0;
  for (int i = 0; i < 600; ++i) {
    step(m, options, {}, &s, &workspace);
    longest = std::max(longest, read_transmission(m, m.tendons[0].transmission, s.q, s.v).length);
  }
  EXPECT_LT(longest, 0.601);
  EXPECT_GT(longest, 0.599);
}

// Two weights on a rope over a cylinder with a spring: at rest the rope's force is m g, and the energy that
// calc_spring_energy() tells has the force for its slope.
TEST(SpatialTendon, RopeOverADrumHangsAtItsStretch) {
  const char* text =
      "options: {dt: 0.002}\n"
      "bodies:\n"
      "  - {name: a, position: [-0.1, 0, -0.5], joint: {type: prismatic, axis: [0, 0, 1], damping: 20}, "
      "inertia: {mass: 2, moments: [1, 1, 1]}}\n"
      "shapes: [{name: drum, type: cylinder, radius: 0.1, length: 0.2, quat: [0.7071067811865476, "
      "0.7071067811865476, 0, 0], collides: false}]\n"
      "sites: [{name: a, body: a}, {name: floor, position: [0.1, 0, -0.5]}, {name: up, position: [0, 0, "
      "1]}]\n"
      "tendons: [{name: t, path: [{site: a}, {wrap: drum, side: up}, {site: floor}], stiffness: 1000}]\n";
  Diagnostics diagnostics;
  const Scene scene = read_yaml_text(std::string("capstan: 1\n") + text, {}, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const Model m = compile(scene);
  // Half a turn of the drum, and two straight parts.
  const double rest = std::numbers::pi * 0.1 + 1;
  EXPECT_NEAR(m.tendons[0].spring_rest.lower, rest, 1e-12);
  State s = initial_state(m);
  const StepOptions options = step_options(m);
  Workspace workspace = make_workspace(m);
  for (int i = 0; i < 3000; ++i) step(m, options, {}, &s, &workspace);
  EXPECT_NEAR(s.q[0], -2 * 9.81 / 1000, 1e-6);
  EXPECT_NEAR(calc_spring_energy(m, s.q), 0.5 * 1000 * s.q[0] * s.q[0], 1e-9);
}

// What is written is read again as the same model, and a saved state has its activations.
TEST_F(Tendons, AreWrittenAndSaved) {
  Diagnostics diagnostics;
  const Scene scene = read_mjcf(kFolder + "tendons.xml", &diagnostics);
  Diagnostics again;
  const Model second = compile(read_yaml_text(write_yaml(scene, {}), {}, &again));
  EXPECT_TRUE(again.ok()) << again.text();
  EXPECT_EQ(second.fingerprint, model.fingerprint);
  State s = initial_state(model);
  for (int i = 0; i < nu; ++i) s.activation[i] = 0.01 * i;
  const State restored = restore(model, save(model, s));
  EXPECT_EQ(restored.activation, s.activation);
  EXPECT_EQ(hash(restored), hash(s));
  s.activation[2] += 1e-9;
  EXPECT_NE(hash(restored), hash(s));
  s.activation.resize(3);
  EXPECT_NE(why_unsound(model, s), "");
}

TEST(SpatialTendon, BadOnesAreTold) {
  const std::string world =
      "bodies: [{name: w, position: [0.3, 0, -0.4], joint: free, shape: {type: box, name: box, size: [0.1, "
      "0.1, 0.1]}}]\nsites: [{name: top}, {name: on, body: w}]\n";
  const auto why = [&](const std::string& tendon) {
    Diagnostics diagnostics;
    const Scene scene =
        read_yaml_text("capstan: 1\n" + world + "tendons: [{name: t, " + tendon + "}]\n", {}, &diagnostics);
    if (diagnostics.ok()) compile(scene, &diagnostics);
    EXPECT_FALSE(diagnostics.ok()) << tendon;
    return diagnostics.text();
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(why("path: [{site: top}]"), "one site only"));
  EXPECT_TRUE(has(why("path: [{site: top}, {site: no}]"), "does not exist"));
  EXPECT_TRUE(has(why("path: [{site: top}, {wrap: box}, {site: on}]"), "neither a sphere nor a cylinder"));
  EXPECT_TRUE(has(why("path: [{site: top}, {site: on}, {wrap: box}]"), "no site before and after"));
  EXPECT_TRUE(has(why("path: [{site: top}, {pulley: 0}, {site: on}]"), "pulley"));
  EXPECT_TRUE(has(why("path: [{site: top}, {}, {site: on}]"), "is nothing"));
}

// Sizes and places of MuJoCo 4.0.0 (geom_size, geom_pos of the compiled model).
TEST(FittedPrimitives, AreMuJoCos) {
  const std::string path = testing::TempDir() + "/capstan_fit.xml";
  std::ofstream(path)
      << "<mujoco><asset><mesh name='m' vertex='0 0 0  1 0 0  0 0.6 0  0 0 0.4  1 0.2 0.1  0.3 "
         "0.5 0.3'/></asset><worldbody><body name='b'><freejoint/>"
         "<geom type='sphere' mesh='m' pos='0.1 0.2 0.3' quat='1 0 0 0'/>"
         "<geom type='capsule' mesh='m'/><geom type='cylinder' mesh='m'/>"
         "<geom type='ellipsoid' mesh='m'/><geom type='box' mesh='m' fitscale='1.5'/>"
         "</body></worldbody></mujoco>";
  Diagnostics diagnostics;
  const Scene scene = read_mjcf(path, &diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  ASSERT_EQ(scene.shapes.size(), 5u);
  const Vec3 centre(0.33681818, 0.21681819, 0.13727273);
  EXPECT_NEAR(std::get<Sphere>(scene.shapes[0].shape).radius, 0.25384906, 1e-7);
  EXPECT_LT((scene.shapes[0].pose.position - Vec3(0.1, 0.2, 0.3) - centre).norm(), 1e-7);
  EXPECT_NEAR(std::get<Capsule>(scene.shapes[1].shape).radius, 0.18541045, 1e-7);
  EXPECT_NEAR(std::get<Capsule>(scene.shapes[1].shape).half_length, 0.29802108, 1e-7);
  EXPECT_NEAR(std::get<Cylinder>(scene.shapes[2].shape).half_length, 0.3907263, 1e-7);
  EXPECT_LT(
      (std::get<Ellipsoid>(scene.shapes[3].shape).radii - Vec3(0.14295502, 0.22786587, 0.3907263)).norm(),
      1e-7);
  EXPECT_LT(
      (std::get<Box>(scene.shapes[4].shape).half_size - Vec3(0.21443253, 0.34179881, 0.58608945)).norm(),
      1e-7);
  EXPECT_LT((scene.shapes[4].pose.position - centre).norm(), 1e-7);
  const Vec4 turn(0.09428014, 0.74131963, -0.01762895, 0.66426326);
  // Axes may point either way.
  const Mat3 R = to_transform(scene.shapes[4].pose).R, S = to_transform(Pose{Vec3::Zero(), turn}).R;
  EXPECT_LT(((R.transpose() * S).cwiseAbs() - Mat3::Identity()).norm(), 1e-6);
}

}  // namespace
}  // namespace capstan::mjcf_tendon_test
