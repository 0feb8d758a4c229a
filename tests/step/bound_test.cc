// A step has a bound: of time, of iterations, of what double precision can carry; and it ends when it is
// asked to. What is given up leaves the state as it was, and the next step is as if it had not been tried.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "capstan/io/read.h"
#include "capstan/step/bounce.h"
#include "capstan/step/step.h"

namespace capstan::bound_test {
namespace {

Scene clutter() {
  return read_scene(CAPSTAN_SOURCE_DIR "/scenes/clutter.yaml");
}

Scene scene_of(const std::string& text) {
  Diagnostics diagnostics;
  Scene scene = read_yaml_text("capstan: 1\n" + text, {}, &diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  return scene;
}

// What compile() says of it.
std::string complaint(const std::string& text) {
  try {
    compile(scene_of(text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string failure(const Model& model, const StepOptions& options, State* state, Workspace* workspace) {
  try {
    step(model, options, {}, state, workspace);
  } catch (const StepFailure& error) {
    return error.what();
  }
  return "";
}

TEST(Bound, AStepThatTakesTooLongFailsAndLeavesNoTrace) {
  const Model model = compile(clutter());
  const StepOptions options = step_options(model);
  State state = initial_state(model), plain = state;
  Workspace workspace = make_workspace(model), other = make_workspace(model);
  for (int i = 0; i < 150; ++i) {
    if (i % 10 == 0) {
      const std::uint64_t before = hash(state);
      StepOptions short_of_time = options;
      short_of_time.most_seconds = i % 20 == 0 ? 1e-9 : 1e-4;  // at once; and somewhere within
      const std::string told = failure(model, short_of_time, &state, &workspace);
      if (i % 20 == 0) {
        EXPECT_NE(told.find("takes longer than the 1e-09 s"), std::string::npos) << told;
      }
      if (told.empty()) state = plain;  // it was fast enough
      EXPECT_EQ(hash(state), before);
    }
    step(model, options, {}, &state, &workspace);
    step(model, options, {}, &plain, &other);
    ASSERT_EQ(hash(state), hash(plain)) << i;
  }
}

TEST(Bound, AllThreadsGiveUp) {
  const Model model = compile(clutter());
  StepOptions options = step_options(model);
  options.threads = 4;
  State state = initial_state(model), plain = state;
  Workspace workspace = make_workspace(model), other = make_workspace(model);
  std::atomic<bool> stop = false;
  for (int i = 0; i < 100; ++i) {
    options.stop = &stop;
    stop = true;
    EXPECT_THROW(step(model, options, {}, &state, &workspace), StepStopped);
    stop = false;
    step(model, options, {}, &state, &workspace);
    options.stop = nullptr;
    step(model, options, {}, &plain, &other);
    ASSERT_EQ(hash(state), hash(plain)) << i;
  }
}

// Boxes of very different masses squeezed into each other: a step of seconds, if it is let.
Scene hard_step() {
  std::string text = "options: {dt: 0.1, tolerance: 1e-14}\nshapes: [{type: half_space}]\nbodies:\n";
  for (int i = 0; i < 400; ++i) {
    const double x = 0.05 * (i % 10), y = 0.05 * (i / 10 % 10), z = 0.05 * (i / 100);
    text += "  - {name: b" + std::to_string(i) + ", position: [" + std::to_string(x) + ", " +
            std::to_string(y) + ", " + std::to_string(z) +
            "], joint: {type: free}, shape: {type: box, size: [0.1, 0.1, 0.1], mass: " +
            (i % 2 == 0 ? "1e-3" : "1e3") + "}}\n";
  }
  return scene_of(text);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSecond = 20;  // one factorization, which is not broken off, takes so much longer
#else
constexpr double kSecond = 1;
#endif

TEST(Bound, AStepIsStoppedWithinASecond) {
  const Model model = compile(hard_step());
  StepOptions options = step_options(model);
  std::atomic<bool> stop = false;
  options.stop = &stop;
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  std::chrono::steady_clock::time_point asked;
  std::thread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    asked = std::chrono::steady_clock::now();
    stop = true;
  });
  EXPECT_THROW(step(model, options, {}, &state, &workspace), StepStopped);  // it is not done in 0.3 s
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
  asker.join();
  EXPECT_LT(seconds, kSecond);
  EXPECT_EQ(state.step, 0);
}

TEST(Bound, IterationsAreThoseOfTheScene) {
  Scene scene = clutter();
  scene.options.max_iterations = 1;
  const Model model = compile(scene);
  StepOptions options = step_options(model);
  EXPECT_EQ(options.newton.max_iterations, 1);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  std::string told;
  for (int i = 0; i < 200 && told.empty(); ++i) told = failure(model, options, &state, &workspace);
  EXPECT_NE(told.find("did not converge"), std::string::npos) << told;
}

TEST(Bound, SizesPlacesAndSpeedsBeyondDoublePrecisionAreRefused) {
  const auto body = [](const std::string& position, const std::string& joint, const std::string& shape) {
    return "bodies: [{name: a, position: " + position + ", joint: " + joint + ", shape: " + shape + "}]\n";
  };
  const auto rod = [](const std::string& keys) {
    return "rods: [{name: r, line: {from: [0, 0, 0], to: [1, 0, 0]}, edges: 4, young_modulus: 1e7, density: "
           "1000, " +
           keys + "}]\n";
  };
  const auto soft = [](const std::string& keys) {
    return "soft_bodies: [{name: s, young_modulus: 1e5, density: 1000, " + keys + "}]\n";
  };
  EXPECT_EQ(complaint(rod("diameter: 0.01")), "");
  EXPECT_EQ(complaint(soft("box: {size: [1, 1, 1]}, angular_velocity: [0, 100, 0]")), "");
  const std::string ball = "{type: sphere, radius: 0.1}", free = "{type: free}", here = "[0, 0, 0]";
  EXPECT_EQ(complaint(body(here, free, ball)), "");
  EXPECT_EQ(complaint(body("[0, 1e9, 0]", free, "{type: sphere, radius: 1e9}")), "");
  for (const std::string& text : {
           body(here, free, "{type: box, size: [9e18, 9e18, 9e18]}"),
           body(here, free, "{type: sphere, radius: 2e9}"),
           body(here, free, "{type: capsule, radius: 1, length: 1e12, mass: 1}"),
           body("[0, 0, 3e9]", free, ball),
           body(here, "{type: free, initial_velocity: [0, 0, -1e10, 0, 0, 0]}", ball),
           body(here, "{type: revolute, initial: 1e10}", ball),
           std::string(
               "shapes: [{type: height_field, size: [4, 2], base: 0.5, heights: [[0, 1e10], [0, 1]]}]\n"),
           std::string("shapes: [{type: box, size: [1, 1, 1], position: [0, 0, -9e18]}]\n"),
           rod("diameter: 4e9"),
           rod("diameter: 0.01, velocity: [0, 2e9, 0]"),
           soft("box: {size: [4e9, 1, 1]}"),
           soft("box: {size: [1, 1, 1]}, velocity: [0, 2e9, 0]"),
           soft("box: {size: [1, 1, 1]}, angular_velocity: [0, 3e9, 0]"),
       }) {
    EXPECT_NE(complaint(text).find("more than double precision can carry"), std::string::npos)
        << text << complaint(text);
  }
  EXPECT_NE(complaint(body(here, free, "{type: sphere, radius: 1e-13, mass: 1}")).find("radius 1e-13 m"),
            std::string::npos);
}

// Its matrix has no factor with those velocities: found by a mutated scene, which ended the process.
TEST(Bound, ASoftBodyThatSpinsTooFastFailsTheStepAndLeavesTheState) {
  const Model model =
      compile(read_scene(CAPSTAN_SOURCE_DIR "/tests/fuzz/corpus/yaml/soft_spin_without_factor.yaml"));
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const std::uint64_t before = hash(state);
  const std::string told = failure(model, step_options(model), &state, &workspace);
  EXPECT_NE(told.find("it turns or bends too much in one step"), std::string::npos) << told;
  EXPECT_EQ(hash(state), before);
}

TEST(Bound, AStateBeyondDoublePrecisionFailsTheStepWithTheReason) {
  const Model model =
      compile(scene_of("bodies: [{name: a, joint: {type: free}, shape: {type: sphere, radius: 0.1}}]\n"));
  const StepOptions options = step_options(model);
  Workspace workspace = make_workspace(model);
  for (const bool is_speed : {false, true}) {
    State state = initial_state(model);
    (is_speed ? state.v : state.q)[0] = 0.9e12;
    EXPECT_EQ(failure(model, options, &state, &workspace), "");
    (is_speed ? state.v : state.q)[0] = 1.1e12;
    const std::uint64_t before = hash(state);
    const std::string told = failure(model, options, &state, &workspace);
    EXPECT_NE(told.find("joint 'a' of body 'a'"), std::string::npos) << told;
    EXPECT_NE(told.find("more than double precision can carry"), std::string::npos) << told;
    EXPECT_EQ(hash(state), before);
  }
}

// Numbers that are none once they are squared: each made NaNs that a step took seconds to give up on.
TEST(Bound, FrictionOfAnySizeIsCarried) {
  const auto run = [](const std::string& friction) {
    const Model model =
        compile(scene_of("options: {dt: 0.005}\nmaterials: [{name: default, friction: " + friction +
                         ", contact: patch, elastic_modulus: 1e6}, {name: steel, friction: 0.3, contact: "
                         "patch, elastic_modulus: "
                         "1e7}]\nshapes: [{type: plane, material: steel, thickness: 0.05}]\nbodies:\n"
                         "  - {name: box, position: [0, 0, 0.049], joint: free, shape: {type: box, size: "
                         "[0.1, 0.1, 0.1], mass: 1}}\n"
                         "  - {name: top, position: [0, 0, 0.148], joint: free, shape: {type: box, size: "
                         "[0.1, 0.1, 0.1], mass: 1}}\n"
                         "initial: {v: {box: [1, 0, 0, 0, 0, 0]}}\n"));
    const StepOptions options = step_options(model);
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(failure(model, options, &state, &workspace), "") << friction;
    return state.v;
  };
  EXPECT_EQ(run("1e-300"), run("0"));
  EXPECT_EQ(run("1e-160"), run("0"));
  EXPECT_EQ(run("1e308"), run("1e9"));
}

TEST(Bound, MassesModuliAndTensorsBeyondDoublePrecisionAreRefused) {
  const auto of_mass = [](const std::string& mass) {
    return complaint("bodies: [{name: a, joint: free, shape: {type: sphere, radius: 0.1, mass: " + mass +
                     "}}]\n");
  };
  for (const char* mass : {"1e-41", "1e41", "1e-300", "1e300"})
    EXPECT_NE(of_mass(mass).find("beyond which double precision cannot carry it"), std::string::npos) << mass;
  for (const char* mass : {"1e-39", "1e39"}) EXPECT_EQ(of_mass(mass), "");
  const auto of_material = [](const std::string& what) {
    return complaint("materials: [{name: default, " + what + "}]\nshapes: [{type: plane}]\n");
  };
  EXPECT_NE(of_material("contact: patch, elastic_modulus: 1e300").find("write at most 1e20 Pa"),
            std::string::npos);
  EXPECT_EQ(of_material("contact: patch, elastic_modulus: 1e20"), "");
  for (const char* mu : {"1e308", "1e-200"})
    EXPECT_NE(
        of_material(std::string("friction_tensor: {along: ") + mu + ", across: 0.5, direction: [1, 0, 0]}")
            .find("write 0, or a coefficient from 1e-50 to 1e9"),
        std::string::npos);
}

TEST(Bound, StiffnessBeyondDoublePrecisionIsRefused) {
  const auto of = [](const std::string& material, const std::string& pairs) {
    return complaint("materials: [{name: default, " + material + "}]\n" + pairs +
                     "shapes: [{type: plane}]\n");
  };
  const auto pair = [](const std::string& k) {
    return "pairs: [{materials: [default, default], stiffness: " + k + "}]\n";
  };
  for (const char* good : {"1e20", ".inf"})
    EXPECT_EQ(of(std::string("stiffness: ") + good, pair(good)), "") << good;
  for (const char* bad : {"1e21", "1e100", "1e308"}) {
    EXPECT_NE(of(std::string("stiffness: ") + bad, "").find("write at most 1e20 N/m"), std::string::npos)
        << bad;
    EXPECT_NE(of("friction: 1", pair(bad)).find("write at most 1e20 N/m"), std::string::npos) << bad;
    EXPECT_NE(of(std::string("stiffness_per_kilogram: ") + bad, "").find("at most 1e20"), std::string::npos)
        << bad;
  }
}

// Contact laws whose numbers are none, as no scene can have them: it used to take 4000 iterations.
TEST(Bound, ImpulsesThatAreNotFiniteFailTheStepAtOnce) {
  Model model = compile(scene_of(
      "shapes: [{type: half_space}]\nbodies:\n"
      "  - {name: b, position: [0, 0, 0.05], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1]}}\n"
      "  - {name: c, position: [0, 0, 0.15], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1]}}\n"));
  for (ModelShape& shape : model.shapes) shape.stiffness = 1e308;
  for (const ContactLaw law : {ContactLaw::regularized_lagged, ContactLaw::similar, ContactLaw::lagged,
                               ContactLaw::coulomb}) {  // that of sap is bounded by its near-rigid floor
    StepOptions options = step_options(model);
    options.contact.law = law;
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    const std::uint64_t before = hash(state);
    const std::string told = failure(model, options, &state, &workspace);
    EXPECT_NE(
        told.find("impulses of contact and constraints are not finite among the 2 object(s) with body 'b'"),
        std::string::npos)
        << traits(law).name << told;
    EXPECT_EQ(hash(state), before);
  }
}

// What happens before contacts are solved has the bound of the step, too.
TEST(Bound, BouncesAreStopped) {
  const Model model = compile(
      scene_of("materials: [{name: default, restitution: 0.5}]\nshapes: [{type: plane}]\nbodies:\n"
               "  - {name: ball, position: [0, 0, 0.1], joint: free, shape: {type: sphere, radius: 0.1}}\n"
               "initial: {v: {ball: [0, 0, -1, 0, 0, 0]}}\n"));
  const StepOptions options = step_options(model);
  State state = initial_state(model);
  Workspace w = make_workspace(model);
  ASSERT_GT(step(model, options, {}, &state, &w).bounce_rounds, 0);
  EXPECT_GT(state.v[2], 0);
  const std::atomic<bool> stop = true;
  const Deadline deadline(1e9, &stop);
  const Scheme rule = scheme(options.integrator);
  w.problem.deadline = &deadline;
  w.motion.v_star = w.problem.v0;  // as before the bounce
  EXPECT_THROW(bounce(model, rule, state.a, true, &w.contacts, &w.motion, &w.problem, &w.bounce),
               Deadline::Passed);
}

// A filter that is faster than a step swings to the other side, farther each time.
TEST(Bound, AnActivationThatDoesNotStayFiniteFailsTheStepAndLeavesTheState) {
  const Model model =
      compile(scene_of("bodies: [{name: a, joint: {type: prismatic}, shape: {type: sphere, radius: 0.1}}]\n"
                       "actuators: [{name: push, type: torque, joint: a, control: 1, force_range: [-1, 1],"
                       " activation: {type: filter, time_constant: 1e-12}}]\n"));
  const StepOptions options = step_options(model);
  Workspace workspace = make_workspace(model);
  State state = initial_state(model);
  std::string told;
  for (int i = 0; i < 200 && told.empty(); ++i) {
    ASSERT_TRUE(state.activation.allFinite());
    const std::uint64_t before = hash(state);
    told = failure(model, options, &state, &workspace);
    EXPECT_EQ(hash(state) == before, !told.empty());
  }
  EXPECT_NE(told.find("of actuator 'push' with control 1 would not stay finite"), std::string::npos) << told;
}

}  // namespace
}  // namespace capstan::bound_test
