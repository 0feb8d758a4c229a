// What examine() finds: each finding has a scene that shows it and one, nearly the same, that does not.
#include "capstan/step/examine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "capstan/scene/rod.h"

namespace capstan::examine_test {
namespace {

Body make_body(const std::string& name, JointType type = JointType::revolute) {
  Body body;
  body.name = name;
  Joint joint;
  joint.name = name + "_joint";
  joint.type = type;
  body.joints = {joint};
  return body;
}

ShapeInstance make_shape(const std::string& body, Shape shape, const Vec3& position = Vec3::Zero()) {
  ShapeInstance instance;
  instance.name = body + "_shape";
  instance.body = body;
  instance.shape = shape;
  instance.pose.position = position;
  return instance;
}

Scene one_body(JointType type = JointType::revolute) {
  Scene scene;
  scene.bodies = {make_body("a", type)};
  scene.shapes = {make_shape("a", Box{Vec3(0.05, 0.05, 0.05)})};  // 1 kg
  return scene;
}

std::vector<Diagnostic> find(const Scene& scene) {
  Diagnostics diagnostics;
  const Model model = compile(scene, &diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  diagnostics.list.clear();
  examine(scene, model, step_options(model), &diagnostics);
  EXPECT_EQ(diagnostics.num_errors(), 0);
  return diagnostics.list;
}

// The one finding's text, "" when there is none.
std::string finding(const Scene& scene) {
  const std::vector<Diagnostic> found = find(scene);
  EXPECT_LE(found.size(), 1u) << to_string(found.back());
  return found.empty() ? "" : found[0].what;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Examine, AnOrdinarySceneHasNoFindings) {
  EXPECT_EQ(finding(one_body()), "");
  EXPECT_EQ(finding(one_body(JointType::free)), "");
}

TEST(Examine, Density) {
  Scene scene = one_body();
  scene.shapes[0].density = 1e6;  // grams for kilograms
  EXPECT_HAS(finding(scene), "1e+06 kg/m^3");
  scene.shapes[0].density = 0.5;
  EXPECT_HAS(finding(scene), "0.5 kg/m^3");
  scene.shapes[0].density = 19300;  // gold
  EXPECT_EQ(finding(scene), "");
  scene.shapes[0].mass = 1000;  // in a litre
  EXPECT_HAS(finding(scene), "1e+06 kg/m^3");
}

TEST(Examine, SoftLimits) {
  Scene scene = one_body();
  scene.options.dt = 0.01;
  scene.bodies[0].joints[0].limits = {Range{-1, 1}};
  scene.bodies[0].joints[0].soft_limits = SoftReference{};
  EXPECT_EQ(finding(scene), "");
  scene.bodies[0].joints[0].soft_limits->solref = {0.02, 0.3};
  EXPECT_NE(finding(scene).find("swings by 1.7 rad in a time step of 0.01 s"), std::string::npos);
  scene.options.dt = 0.005;
  EXPECT_EQ(finding(scene), "");
  scene.bodies[0].joints[0].soft_limits->solref = {-1e5, 0};
  EXPECT_NE(finding(scene).find("swings by 1.6 rad"), std::string::npos);
  scene.bodies[0].joints[0].soft_limits->solref = {0, 0};
  EXPECT_NE(finding(scene).find("does nothing"), std::string::npos);
}

TEST(Examine, GivenInertiaAgainstShapes) {
  Scene scene = one_body();
  Inertia inertia;
  inertia.mass = 1;
  inertia.about_com = Mat3::Identity() / 600;  // m s^2 / 6 with s = 0.1: the cube's own
  scene.bodies[0].inertia = inertia;
  EXPECT_EQ(finding(scene), "");
  scene.bodies[0].inertia->about_com *= 9;
  EXPECT_EQ(finding(scene), "");
  scene.bodies[0].inertia->about_com *= 1.3;
  EXPECT_HAS(finding(scene), "have 0.005");
  scene.bodies[0].inertia->about_com = Mat3::Identity() / 6600;
  EXPECT_HAS(finding(scene), "moments of inertia");
  scene.bodies[0].inertia = inertia;
  scene.bodies[0].inertia->mass = 1e5;
  EXPECT_EQ(find(scene).size(), 2u);  // density and inertia
}

TEST(Examine, MassRatioOfNeighbours) {
  Scene scene = one_body();
  Body tip = make_body("tip");
  tip.parent = "a";
  tip.pose.position = Vec3(1, 0, 0);
  scene.bodies.push_back(tip);
  scene.shapes.push_back(make_shape("tip", Box{Vec3(0.002, 0.002, 0.002)}));
  scene.shapes[1].density = 2000;  // 0.128 g: 1 : 7812
  EXPECT_EQ(finding(scene), "");
  scene.shapes[1].density = 1000;
  EXPECT_HAS(finding(scene), "differ by 15625");
}

TEST(Examine, Names) {
  Scene scene = one_body();
  scene.bodies[0].joints[0].name = " a";
  EXPECT_HAS(finding(scene), "blanks");
  scene.bodies[0].joints[0].name = "a,b";
  EXPECT_HAS(finding(scene), "quote");
  scene.bodies[0].joints[0].name = "a";
  scene.bodies.push_back(make_body("A"));
  scene.bodies[1].pose.position = Vec3(1, 0, 0);
  scene.shapes.push_back(make_shape("A", Box{Vec3(0.05, 0.05, 0.05)}));
  scene.shapes[1].name = "other";
  EXPECT_HAS(finding(scene), "upper and lower case");
}

TEST(Examine, StartsAndKeyframesOutsideLimits) {
  Scene scene = one_body();
  scene.bodies[0].joints[0].limits = {{-1, 1}};
  EXPECT_EQ(finding(scene), "");
  scene.initial.q["a_joint"] = {1.5};
  EXPECT_HAS(finding(scene), "the start puts joint 'a_joint' at 1.5, outside its limits [-1, 1]");
  scene.initial.q["a_joint"] = {1};
  EXPECT_EQ(finding(scene), "");
  Keyframe keyframe;
  keyframe.name = "up";
  keyframe.where = {"scene.yaml", 12};
  keyframe.q["a_joint"] = {-2};
  scene.keyframes = {keyframe};
  EXPECT_HAS(finding(scene), "keyframe 'up'");
  EXPECT_EQ(find(scene)[0].where.line, 12);

  Scene ball = one_body(JointType::ball);
  ball.bodies[0].joints[0].limits = {{0, 0.5}};
  ball.initial.q["a_joint"] = {std::cos(0.2), std::sin(0.2), 0, 0};  // turned by 0.4
  EXPECT_EQ(finding(ball), "");
  ball.initial.q["a_joint"] = {-std::cos(0.3), 0, -std::sin(0.3), 0};  // by 0.6, the other quaternion
  EXPECT_HAS(finding(ball), "at 0.6");
}

TEST(Examine, ControlsOutsideTheirRange) {
  Scene scene = one_body();
  Actuator motor;
  motor.name = "motor";
  motor.joint = "a_joint";
  motor.control_range = {-1, 1};
  scene.actuators = {motor};
  EXPECT_EQ(finding(scene), "");
  scene.actuators[0].control = 3;
  EXPECT_HAS(finding(scene), "sets actuator 'motor' to 3");
}

TEST(Examine, ControlsOverTime) {
  Scene scene = one_body();
  Actuator motor;
  motor.name = "motor";
  motor.joint = "a_joint";
  motor.control_range = {-1, 1};
  scene.actuators = {motor};
  scene.options.duration = 2;
  scene.controls.resize(2);
  scene.controls[0].control = {{"motor", 1}};
  scene.controls[1].time = 3;
  scene.controls[1].control = {{"motor", -1}};
  EXPECT_EQ(finding(scene), "");
  scene.controls[1].control["motor"] = -1.5;
  EXPECT_EQ(finding(scene), "at 3 s actuator 'motor' is set to -1.5, outside its range [-1, 1]");
  scene.controls.erase(scene.controls.begin());
  scene.controls[0].control["motor"] = 0;
  EXPECT_EQ(finding(scene), "the controls begin at 3 s; the run ends at 2 s");
}

TEST(Examine, UnusedMaterials) {
  Scene scene = one_body();
  Material rubber;
  rubber.name = "rubber";
  scene.materials = {rubber};
  EXPECT_HAS(finding(scene), "no shape uses material 'rubber'");
  scene.shapes[0].material = "rubber";
  EXPECT_EQ(finding(scene), "");
}

TEST(Examine, Overlaps) {
  Scene scene;
  for (const char* name : {"a", "b"}) {
    scene.bodies.push_back(make_body(name, JointType::free));
    scene.shapes.push_back(make_shape(name, Capsule{0.05, 0.5}));
  }
  scene.initial.q["b_joint"] = {0.2, 0, 0.7, 1, 0, 0, 0};
  EXPECT_EQ(finding(scene), "");
  scene.initial.q["b_joint"] = {0.06, 0, 0.7, 1, 0, 0, 0};
  EXPECT_HAS(finding(scene), "overlap");
  scene.excludes = {{"b", "a", {}}};
  EXPECT_EQ(finding(scene), "");
  scene.excludes.clear();
  scene.shapes[0].group_bits = scene.shapes[0].mask_bits = 2;
  EXPECT_EQ(finding(scene), "");
}

TEST(Examine, OverlapWithTheGroundIsExact) {
  Scene scene = one_body(JointType::free);
  scene.shapes.push_back(make_shape(kWorld, HalfSpace{}));
  const double half_diagonal = 0.05 * std::sqrt(3.0);
  // The cube on a corner: (1,1,1)/sqrt(3) turned to z.
  const double angle = std::acos(1 / std::sqrt(3.0));
  const double c = std::cos(angle / 2), s = std::sin(angle / 2) / std::sqrt(2.0);
  scene.initial.q["a_joint"] = {0, 0, half_diagonal - 0.0005, c, s, -s, 0};
  EXPECT_EQ(finding(scene), "");
  scene.initial.q["a_joint"][2] = half_diagonal - 0.02;
  EXPECT_HAS(finding(scene), "overlap by 0.02 m");
}

TEST(Examine, ParentAndChildMayOverlapButNotGrandchild) {
  Scene scene = one_body();
  for (const char* name : {"b", "c"}) {
    Body body = make_body(name);
    body.parent = scene.bodies.back().name;
    scene.bodies.push_back(body);
  }
  scene.shapes.push_back(make_shape("b", Sphere{0.05}));
  scene.shapes.push_back(make_shape("c", Sphere{0.05}, Vec3(0.2, 0, 0)));
  EXPECT_EQ(finding(scene), "");
  scene.shapes.back().pose.position.setZero();
  EXPECT_HAS(finding(scene), "body 'a' and sphere 'c_shape' of body 'c'");
  scene.options.collide_parent_child = true;
  EXPECT_EQ(find(scene).size(), 3u);
}

// --- Time step ---------------------------------------------------------------------------------------------

TEST(StiffestMode, OfASpringIsItsFrequency) {
  Scene scene = one_body(JointType::prismatic);
  scene.bodies[0].joints[0].stiffness = 400;
  scene.bodies[0].joints[0].damping = 3;
  const Model model = compile(scene);
  const StiffestMode mode = calc_stiffest_mode(model, initial_state(model));
  EXPECT_NEAR(mode.frequency_squared, 400, 1e-6);
  EXPECT_NEAR(mode.damping, 3, 1e-9);
  EXPECT_EQ(mode.dof, 0);
}

TEST(StiffestMode, OfAChainIsItsHighestEigenfrequency) {
  // Eight masses of 1 kg, springs of 100 N/m: 2 sqrt(k/m) sin((2n-1) pi / (2 (2n+1))).
  Scene scene;
  for (int i = 0; i < 8; ++i) {
    Body body = make_body("m" + std::to_string(i), JointType::prismatic);
    body.joints[0].axis = Vec3(1, 0, 0);
    body.joints[0].stiffness = 100;
    if (i > 0) body.parent = "m" + std::to_string(i - 1);
    body.pose.position = Vec3(0.2, 0, 0);
    scene.bodies.push_back(body);
    scene.shapes.push_back(make_shape(body.name, Box{Vec3(0.05, 0.05, 0.05)}));
  }
  const Model model = compile(scene);
  const double exact = 20 * std::sin(15 * M_PI / 34);
  EXPECT_NEAR(std::sqrt(calc_stiffest_mode(model, initial_state(model)).frequency_squared), exact,
              1e-3 * exact);
}

// The claim of is_stable against the scheme itself, on both sides of the limit.
TEST(IsStable, AgreesWithSteps) {
  int num_stable = 0, num_unstable = 0;
  for (const Integrator integrator : {Integrator::explicit_euler, Integrator::symplectic_euler}) {
    for (const double damping : {0.0, 1.0, 30.0, 150.0, 250.0}) {
      for (const double stiffness : {0.0, 50.0, 1000.0, 30000.0, 39000.0, 41000.0}) {
        Scene scene = one_body(JointType::prismatic);
        scene.options.gravity.setZero();
        scene.options.dt = 0.01;
        scene.options.integrator = integrator;
        scene.bodies[0].joints[0].stiffness = stiffness;
        scene.bodies[0].joints[0].damping = damping;
        const Model model = compile(scene);
        State state = initial_state(model);
        state.q[0] = 1;
        state.v[0] = 1;
        Workspace workspace = make_workspace(model);
        double largest = 0;
        try {
          for (int i = 0; i < 3000; ++i) {
            step(model, step_options(model), {}, &state, &workspace);
            largest = std::max(largest, std::abs(state.q[0]));
          }
        } catch (const StepFailure&) {
          largest = kInfinity;
        }
        const bool bounded = largest < 1e3;
        EXPECT_EQ(is_stable(integrator, 0.01, stiffness, damping), bounded)
            << integrator_name(integrator) << " k " << stiffness << " d " << damping << " reached "
            << largest;
        (bounded ? num_stable : num_unstable) += 1;
      }
    }
  }
  EXPECT_GT(num_stable, 10);
  EXPECT_GT(num_unstable, 10);
}

TEST(Examine, TimeStepTooLargeForAnExplicitSpring) {
  Scene scene = one_body(JointType::prismatic);
  scene.options.dt = 0.01;
  scene.bodies[0].joints[0].stiffness = 41000;
  EXPECT_EQ(finding(scene), "");  // semi_implicit
  scene.options.integrator = Integrator::symplectic_euler;
  EXPECT_HAS(finding(scene), "joint 'a_joint'");
  EXPECT_HAS(find(scene)[0].remedy, "0.0099 s");  // 2 / sqrt(41000)
  scene.bodies[0].joints[0].stiffness = 39000;
  EXPECT_EQ(finding(scene), "");
  scene.options.integrator = Integrator::explicit_euler;
  EXPECT_HAS(finding(scene), "explicit_euler");
  // A PD actuator counts as a spring does.
  scene.bodies[0].joints[0].stiffness = 0;
  scene.options.integrator = Integrator::symplectic_euler;
  Actuator pd;
  pd.name = "pd";
  pd.joint = "a_joint";
  pd.gain = 50000;
  pd.bias = Vec3(0, -50000, -1);
  scene.actuators = {pd};
  EXPECT_HAS(finding(scene), "PD gain");
}

Scene one_rod() {
  Scene scene;
  RodSpec rod;
  rod.name = "rope";
  rod.where = {"rope.yaml", 7};
  for (int i = 0; i <= 20; ++i) rod.nodes.push_back({0.05 * i, 0, 0});
  rod.section.width = 0.01;
  rod.young_modulus = 1e7;
  rod.density = 1000;
  scene.rods = {rod};
  return scene;
}

TEST(Examine, Rods) {
  EXPECT_EQ(finding(one_rod()), "");
  const auto found = [](auto&& change) {
    Scene scene = one_rod();
    change(scene, scene.rods[0]);
    return finding(scene);
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_PRED2(has, found([](Scene&, RodSpec& rod) { rod.young_modulus = 200; }),
               "rod 'rope' has a Young's modulus of 200 Pa");
  EXPECT_PRED2(has, found([](Scene&, RodSpec& rod) { rod.density = 1.2; }), "density of 1.2 kg/m^3");
  EXPECT_PRED2(has, found([](Scene&, RodSpec& rod) { rod.section.width = 0.4; }),
               "is 1 m long and 0.4 m wide");
  EXPECT_PRED2(has, found([](Scene&, RodSpec& rod) {
                 rod.nodes.push_back({1.0005, 0, 0});
               }),
               "an edge of 0.0005 m, 0.05 of its width");
  // Stretch at 2 c / L = 4000 rad/s: symplectic Euler is bounded up to 0.5 ms.
  for (const double dt : {0.00049, 0.00051}) {
    const std::string text = found([&](Scene& scene, RodSpec&) {
      scene.options.integrator = Integrator::symplectic_euler;
      scene.options.dt = dt;
    });
    EXPECT_EQ(has(text, "swings at up to 4e+03 rad/s, which grows with integrator symplectic_euler"),
              dt > 0.0005)
        << text;
  }
  // A spring of a joint is still looked at, and a material of a rod is used.
  Scene scene = one_body();
  scene.rods = one_rod().rods;
  scene.bodies[0].joints[0].stiffness = 1e6;
  scene.options.integrator = Integrator::explicit_euler;
  scene.rods[0].alpha = 0;
  bool is_told = false;
  for (const Diagnostic& d : find(scene)) is_told = is_told || has(d.what, "joint 'a_joint'");
  EXPECT_TRUE(is_told);
  EXPECT_EQ(found([](Scene& s, RodSpec& rod) {
              s.materials.resize(1);
              s.materials[0].name = rod.material = "hemp";
            }),
            "");
}

// Rods that begin in each other, or in a body: told at the rod, or at the shape.
TEST(Examine, OverlapsOfRods) {
  Scene scene = one_rod();
  scene.rods.push_back(scene.rods[0]);
  scene.rods[1].name = "other";
  for (Vec3& node : scene.rods[1].nodes) node = Vec3(0.52, node.x() - 0.475, 0.002);
  const std::vector<Diagnostic> found = find(scene);
  ASSERT_EQ(found.size(), 1u);
  const std::string text = to_string(found[0]);
  EXPECT_NE(text.find("rope.yaml:7: warning: at the start, capsule 'rope/10'"), std::string::npos) << text;
}

}  // namespace
}  // namespace capstan::examine_test
