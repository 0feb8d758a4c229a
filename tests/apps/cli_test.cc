// The real program: exit codes, messages, checkpoints. Logs are in log_test.cc, the manual in manual_test.cc,
// patches in patch_check_test.cc.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/apps/program.h"

namespace capstan::test {
namespace {

using ::testing::TestWithParam;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "in:\n" << (text)

// A spring that explicit Euler blows up within a second.
constexpr const char* kStiff = R"(capstan: 1
name: stiff
options: {dt: 0.01, duration: 100, integrator: explicit_euler}
bodies:
  - name: block
    joint: {name: slide, type: prismatic, axis: [1, 0, 0], stiffness: 1e6, initial: 0.1}
    shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}
)";

std::string hash_of(const Outcome& outcome) {
  const std::size_t at = outcome.out.find("hash of final state");
  return at == std::string::npos ? "none" : outcome.out.substr(at + 22, 16);
}

TEST(Usage, HelpListsCommandsAndExitCodes) {
  const Folder folder;
  const Outcome help = folder.capstan("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* part : {"run", "check", "info", "view", "replay", "export", "plot", "list", "demo",
                           "docs/cli.md has the exit codes"})
    EXPECT_HAS(help.out, part);
  EXPECT_HAS(folder.capstan("run --help").out, "--checkpoint-every");
  EXPECT_HAS(folder.capstan("--version").out, "capstan 0.");
}

TEST(Usage, WrongCommandLinesExitWith64) {
  const Folder folder;
  for (const char* line :
       {"", "dance", "run", "run double_pendulum --fast", "run double_pendulum --dt quick",
        "run double_pendulum --log-every 0 --log a.csv", "run double_pendulum --checkpoint-every 1",
        "run double_pendulum --checkpoint-every -1 --checkpoint a",
        "run arm_hand --keyframe home --resume x"}) {
    const Outcome outcome = folder.capstan(line);
    EXPECT_EQ(outcome.code, 64) << line << "\n" << outcome.err;
    EXPECT_FALSE(outcome.err.empty()) << line;
  }
}

TEST(Usage, WordsForNumbersAreToldWithTheirOption) {
  const Folder folder;
  const Outcome outcome = folder.capstan("run double_pendulum --dt quick");
  EXPECT_EQ(outcome.err,
            "error: --dt is 'quick', which is not what it takes; give a number, as 'capstan COMMAND --help' "
            "shows\n");
}

TEST(Usage, PicturesOfARunAreSvg) {
  const Folder folder;
  const Outcome outcome = folder.capstan("run double_pendulum --duration 0.1 --picture x.png");
  EXPECT_EQ(outcome.code, 64);
  EXPECT_HAS(outcome.err,
             "give '--picture x.svg', or for a .png '--record x.capstan', then 'capstan export "
             "x.capstan x.png'");
  EXPECT_FALSE(fs::exists(folder / "x.png"));
  EXPECT_EQ(folder.capstan("run double_pendulum --duration 0.1 --picture x.svg").code, 0);
  EXPECT_HAS(read_text(folder / "x.svg"), "<svg");
}

TEST(Usage, UnknownCommandsAreNamed) {
  const Folder folder;
  const Outcome near = folder.capstan("rnu clutter"), far = folder.capstan("picture clutter");
  EXPECT_EQ(near.code, 64);
  EXPECT_HAS(near.err, "there is no command 'rnu'; did you mean 'run'?");
  EXPECT_HAS(far.err, "there is no command 'picture'; the commands are: run, ");
}

TEST(Usage, UnknownOptionsAreNamed) {
  const Folder folder;
  const Outcome near = folder.capstan("run clutter --duraton 3"),
                far = folder.capstan("run clutter --xyzzy=3");
  EXPECT_EQ(near.code, 64);
  EXPECT_HAS(near.err, "'run' has no option '--duraton'; did you mean '--duration'?");
  EXPECT_HAS(far.err, "'run' has no option '--xyzzy'; 'capstan run --help' shows all");
}

TEST(Usage, UnknownIntegratorSuggestsTheNearest) {
  const Folder folder;
  for (const char* command : {"run", "check"}) {
    const Outcome outcome = folder.capstan(std::string(command) + " double_pendulum --integrator midpont");
    EXPECT_EQ(outcome.code, 64);
    EXPECT_HAS(outcome.err, "did you mean 'midpoint'?");
    EXPECT_HAS(outcome.err, "implicit_euler");
  }
}

TEST(Usage, TimesOutOfRangeAreRefused) {
  const Folder folder;
  for (const char* option : {"--dt -0.01", "--dt 0", "--dt nan", "--dt inf", "--duration -1",
                             "--duration nan", "--duration inf", "--duration 1e300", "--duration 1e18"}) {
    const Outcome outcome = folder.capstan(std::string("run double_pendulum ") + option);
    EXPECT_EQ(outcome.code, 64) << option << "\n" << outcome.err;
    EXPECT_HAS(outcome.err, "error: ");
  }
  EXPECT_HAS(folder.capstan("run double_pendulum --duration 1e18").err, "steps");
  EXPECT_EQ(folder.capstan("run double_pendulum --duration 0").code, 0);
}

TEST(Input, MissingFilesFoldersAndOtherFiles) {
  const Folder folder;
  for (const char* command : {"run", "check", "info"}) {
    const std::string c = std::string(command) + " ";
    Outcome outcome = folder.capstan(c + "double_pendulm");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_HAS(outcome.err, "did you mean 'double_pendulum'?");
    EXPECT_EQ(folder.capstan(c + "no/such/file.yaml").code, 2);
    outcome = folder.capstan(c + ".");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_HAS(outcome.err, "folder");
    EXPECT_EQ(folder.capstan(c + "/dev/null").code, 2);
    write_text(folder / "noise.yaml", std::string("\0\1\2{[", 5));
    EXPECT_EQ(folder.capstan(c + "noise.yaml").code, 2);
  }
}

TEST(Input, EveryProblemIsToldAtOnce) {
  const Folder folder;
  write_text(folder / "bad.yaml", R"(capstan: 1
name: bad
bodies:
  - name: a
    joint: {name: j, type: hinge_of_sorts}
    shape: {type: sphere, radius: 1}
  - name: b
    parent: nobody
    joint: {name: k, type: revolute, axis: [0, 0, 1]}
    shape: {type: sphere, radius: -1}
)");
  const Outcome outcome = folder.capstan("check bad.yaml");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_HAS(outcome.err, "bad.yaml:5: error: ");
  EXPECT_HAS(outcome.err, "bad.yaml:10: error: ");
  EXPECT_HAS(outcome.out, "errors");
  EXPECT_EQ(folder.capstan("run bad.yaml").code, 2);
}

TEST(Input, UnknownKeyframeListsTheKnown) {
  const Folder folder;
  const Outcome outcome = folder.capstan("run arm_hand --keyframe hmoe --duration 0.01");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_HAS(outcome.err, "hmoe");
  EXPECT_HAS(outcome.err, "home");
  EXPECT_EQ(folder.capstan("run arm_hand --keyframe home --duration 0.01").code, 0);
}

TEST(Input, WhatIsNotUnderstoodIsAnErrorWhenStrict) {
  const Folder folder;
  write_text(folder / "odd.xml", R"(<mujoco model="odd"><worldbody><body name="b"><freejoint name="f"/>
    <geom type="sphere" size="0.1" mass="1" sparkle="yes"/></body></worldbody></mujoco>)");
  EXPECT_EQ(folder.capstan("run odd.xml --duration 0.01").code, 0);
  EXPECT_HAS(folder.capstan("run odd.xml --duration 0.01").err, "sparkle");
  EXPECT_EQ(folder.capstan("run odd.xml --duration 0.01 --strict").code, 2);
  EXPECT_EQ(folder.capstan("check odd.xml").code, 0);
  EXPECT_EQ(folder.capstan("check odd.xml --strict").code, 2);
}

// A name that is no UTF-8 was the end of 'contacts --json'.
TEST(Input, NamesOfAnyBytesBecomeJson) {
  const Folder folder;
  write_text(folder / "s.yaml",
             "capstan: 1\nshapes: [{type: plane, name: \"fl\xff\xfe\"}]\n"
             "bodies: [{name: \"b\xc3(\", position: [0, 0, 0.0999], joint: free, shape: {type: sphere, "
             "radius: 0.1}}]\n");
  for (const char* line :
       {"contacts --json s.yaml", "contacts --json --ray 0 0 2 0 0 -1 s.yaml", "info --json s.yaml"}) {
    const Outcome outcome = folder.capstan(line);
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.err;
    EXPECT_TRUE(nlohmann::json::accept(outcome.out)) << line << "\n" << outcome.out;
  }
}

TEST(Check, WarningsGiveOneOnlyWhenStrict) {
  const Folder folder;
  write_text(folder / "stiff.yaml", kStiff);
  const Outcome outcome = folder.capstan("check stiff.yaml");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_HAS(outcome.err, "joint 'slide'");
  EXPECT_HAS(outcome.out, "0 errors, 1 warning\n");
  EXPECT_EQ(folder.capstan("check stiff.yaml --strict").code, 1);
  EXPECT_EQ(folder.capstan("check stiff.yaml --strict --integrator implicit_euler").code, 0);
}

TEST(Check, TellsAStiffnessThatItChose) {
  const Folder folder;
  const char* slab = R"(capstan: 1
materials: [{{name: default, friction: 1{}}}]
bodies: [{{name: slab, position: [0, 0, 0.5], joint: free, shape: {{type: box, size: [1, 1, 1]}}}}]
shapes: [{{type: plane, name: floor}}]
)";
  write_text(folder / "slab.yaml", fmt::format(fmt::runtime(slab), ""));
  const Outcome outcome = folder.capstan("check slab.yaml --strict");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_HAS(outcome.err, "note: shapes without a written stiffness have 9.81e+06 N/m");
  write_text(folder / "slab.yaml", fmt::format(fmt::runtime(slab), ", stiffness: 1e6"));
  EXPECT_EQ(folder.capstan("check slab.yaml --strict").err, "");
}

TEST(Check, TellsARollingFrictionThatIsNoLength) {
  const Folder folder;
  const char* ball = R"(capstan: 1
materials: [{{name: sand, rolling_friction: {}}}]
bodies: [{{name: ball, position: [0, 0, 0.05], joint: free, shape: {{type: sphere, radius: 0.05, mass: 1, material: sand}}}}]
shapes: [{{type: plane, name: floor}}]
)";
  write_text(folder / "ball.yaml", fmt::format(fmt::runtime(ball), 1));
  EXPECT_HAS(folder.capstan("check ball.yaml").err,
             "rolling friction 1 m of material 'sand' is more than the radius");
  write_text(folder / "ball.yaml", fmt::format(fmt::runtime(ball), 0.01));
  EXPECT_EQ(folder.capstan("check ball.yaml --strict").code, 0);
}

// A box on a stiff spring comes to rest at a wall: nothing moves, and there is nothing that round-off could
// be relative to.
TEST(Run, NothingIsBalancedExactly) {
  const Folder folder;
  write_text(folder / "wall.yaml", R"(capstan: 1
options: {duration: 10, gravity: [0, 0, 0]}
bodies: [{name: a, joint: {type: prismatic, axis: [1, 0, 0], stiffness: 1e6, initial: 0.001}, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}]
shapes: [{type: plane, name: wall, position: [-0.05, 0, 0], z_axis: [1, 0, 0]}]
)");
  const std::string out = folder.capstan("run wall.yaml").out;
  EXPECT_HAS(out, "every step balances forces");
  const std::string how = out.substr(out.find("balances forces"), 26);
  EXPECT_TRUE(how.find("exactly") != std::string::npos || how.find("e-0") != std::string::npos) << out;
}

// What spins too fast for its steps is told, with a step that will do; a ball, which turns evenly, is not,
// nor a disc, which may spin about its axis.
TEST(Run, SpinsThatAStepCannotFollowAreTold) {
  const Folder folder;
  const auto run = [&](const std::string& shape, const std::string& dt) {
    write_text(
        folder / "top.yaml",
        "capstan: 1\noptions: {duration: 0.1}\nshapes: [{type: plane}]\nbodies:\n"
        "  - {name: top, position: [0, 0, 0.05], joint: {type: free, initial_velocity: [0, 0, 0, 0, 0, "
        "300]}, shape: {" +
            shape + "}}\n");
    return folder.capstan("run top.yaml --dt " + dt).err;
  };
  const std::string box = "type: box, size: [0.2, 0.2, 0.1]", ball = "type: sphere, radius: 0.05";
  const std::string disc = "type: cylinder, radius: 0.05, length: 0.1";
  EXPECT_HAS(run(box, "0.005"), "warning: body 'top' turns by 1.5 rad in a step");
  EXPECT_EQ(run(box, "0.001").find("rad in a step"), std::string::npos);
  EXPECT_EQ(run(disc, "0.005").find("rad in a step"), std::string::npos);
  EXPECT_EQ(run(ball, "0.005").find("rad in a step"), std::string::npos);
}

TEST(Check, ShippedScenesAreCleanAndSayWhatIsNotSimulated) {
  const Folder folder;
  std::istringstream names(folder.shell("capstan list | cut -d' ' -f1").out);
  int count = 0;
  for (std::string name; std::getline(names, name); ++count) {
    // The identified inertias of the arm (Gaz et al. 2019) are larger than its shapes can have; and its zero
    // pose, from which arm_hand begins, is not one it can take.
    const bool arm = name.starts_with("arm_");
    // Told, too: limits of speed that a URDF must have, and a relaxation time that is for the law sap.
    const bool other = name.starts_with("quadruped") || name.starts_with("spring_cylinder");
    const Outcome outcome = folder.capstan("check --strict " + name);
    EXPECT_EQ(outcome.code, arm || other ? 1 : 0) << name << "\n" << outcome.err;
  }
  EXPECT_GE(count, 9);
}

TEST(List, FindsScenesWhereToldTo) {
  const Folder folder;
  EXPECT_HAS(folder.capstan("list").out, "double_pendulum");
  EXPECT_HAS(folder.capstan("list --paths").out, "double_pendulum.yaml");
  write_text(folder / "mine.yaml", std::string("# My own scene. And more.\n") + kStiff);
  const Outcome mine = folder.shell("CAPSTAN_SCENES=. capstan list");
  EXPECT_EQ(mine.out, "mine  My own scene\n");
  EXPECT_EQ(folder.shell("CAPSTAN_SCENES=. capstan info mine").code, 0);
  const Outcome none = folder.shell("CAPSTAN_SCENES=/no/such/folder capstan list");
  EXPECT_EQ(none.code, 2);
  EXPECT_HAS(none.err, "CAPSTAN_SCENES");
}

constexpr const char* kSlider = R"(capstan: 1
options: {gravity: [0, 0, 0], dt: 0.01, duration: 2}
bodies: [{name: m, joint: {type: prismatic, axis: [1, 0, 0]}, shape: {type: box, size: [1, 1, 1], mass: 2}}]
actuators: [{name: push, type: torque, joint: m, control: 0.5}]
sensors: [{name: speed, type: joint_velocity, joint: m}, {name: motor, type: actuator_force, actuator: push}]
)";

TEST(Controls, TheMotorOfAHingeHasATorque) {
  const Folder folder;
  write_text(folder / "hinge.yaml", R"(capstan: 1
options: {gravity: [0, 0, 0], duration: 0.1}
bodies: [{name: m, joint: {type: revolute, axis: [0, 0, 1]}, shape: {type: box, size: [1, 1, 1], mass: 2}}]
actuators: [{name: push, type: torque, joint: m, control: 0.5}]
sensors: [{name: motor, type: actuator_force, actuator: push}]
)");
  EXPECT_HAS(folder.capstan("run hinge.yaml").out, "motor                 0.5 N m");
}

// 2 kg: from 0 to 4 N in a second, then 4 N: 6 N s in all.
TEST(Controls, FollowATableAndSensorsTell) {
  const Folder folder;
  write_text(folder / "slider.yaml", kSlider);
  write_text(folder / "table.csv", "time [s],push.control [N]\n0,0\n1,4\n");
  const Outcome linear = folder.capstan("run slider.yaml --controls table.csv --log log.csv");
  EXPECT_EQ(linear.code, 0) << linear.err;
  EXPECT_HAS(linear.out,
             "sensors at the end\n    speed                 3 m/s\n    motor                 4 N\n");
  const std::string log = read_text(folder / "log.csv");
  EXPECT_HAS(log.substr(0, log.find('\n')), ",speed [m/s],motor [N],push.force [N]");
  EXPECT_HAS(folder.capstan("run slider.yaml --controls table.csv --interpolate constant").out,
             "speed                 2 m/s");
  EXPECT_HAS(folder.capstan("run slider.yaml").out, "speed                 0.5 m/s");
}

TEST(Controls, AreThoseOfALog) {
  const Folder folder;
  write_text(folder / "slider.yaml", kSlider);
  write_text(folder / "table.csv", "time,push\n0,0\n1,4\n");
  ASSERT_EQ(folder.capstan("run slider.yaml --controls table.csv --log log.csv").code, 0);
  const Outcome again = folder.capstan("run slider.yaml --controls log.csv --log again.csv");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_HAS(again.out, "motor                 4 N");
}

TEST(Controls, MistakesAreTold) {
  const Folder folder;
  write_text(folder / "slider.yaml", kSlider);
  write_text(folder / "table.csv", "time,posh\n0,0\n1,4\n");
  const Outcome unknown = folder.capstan("run slider.yaml --controls table.csv");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err,
            "table.csv:1: error: column 'posh' is no actuator of the scene; did you mean 'push'?\n");
  EXPECT_EQ(folder.capstan("run slider.yaml --controls none.csv").code, 2);
  EXPECT_EQ(folder.capstan("run slider.yaml --controls table.csv --interpolate cubic").code, 64);
  EXPECT_HAS(folder.capstan("run slider.yaml --interpolate smooth").err, "needs --controls FILE.csv");
  EXPECT_HAS(folder.capstan("run slider.yaml --record film.mp4").err,
             "give '--record film.capstan', then 'capstan export film.capstan film.mp4'");
}

TEST(Sleep, IsAsTheSceneSaysUnlessToldOtherwise) {
  const Folder folder;
  const auto asleep = [&](const char* scene, const char* flag) {
    write_text(folder / "box.yaml",
               std::string("capstan: 1\noptions: {duration: 2") + scene +
                   "}\nshapes: [{type: plane}]\nbodies: [{name: b, position: [0, 0, 0.1], "
                   "joint: free, shape: {type: box, size: [0.2, 0.2, 0.2]}}]\n");
    return folder.capstan(std::string("run box.yaml ") + flag).out.find("1 of 1 at the end") !=
           std::string::npos;
  };
  EXPECT_FALSE(asleep("", ""));
  EXPECT_TRUE(asleep("", "--sleep"));
  EXPECT_TRUE(asleep(", sleep: true", ""));
  EXPECT_FALSE(asleep(", sleep: true", "--no-sleep"));
}

TEST(Info, TextAndJsonAgree) {
  const Folder folder;
  const Outcome text = folder.capstan("info arm_hand");
  EXPECT_EQ(text.code, 0);
  EXPECT_HAS(text.out, "23 dofs");
  EXPECT_HAS(text.out, "└─ ");
  const auto json = nlohmann::json::parse(folder.capstan("info arm_hand --json").out);
  EXPECT_EQ(json["num_dofs"], 23);
  EXPECT_NEAR(json["total_mass"].get<double>(), 17.67, 0.01);
  EXPECT_EQ(json["actuators"].size(), 23u);
  EXPECT_EQ(json["keyframes"], (std::vector<std::string>{"home", "grasp"}));
}

class Resume : public TestWithParam<const char*> {};

TEST_P(Resume, GivesTheBitsOfARunThatWasNotStopped) {
  const Folder folder;
  for (const std::string scene : {"double_pendulum", "gyroscope", "quadruped", "arm_hand --keyframe home"}) {
    const std::string options = std::string(" --integrator ") + GetParam() + " --dt 0.001";
    const std::string name = scene.substr(0, scene.find(' '));
    const Outcome whole = folder.capstan("run " + scene + options + " --duration 0.1");
    ASSERT_EQ(whole.code, 0) << whole.err;
    ASSERT_EQ(folder.capstan("run " + scene + options + " --duration 0.037 --checkpoint a.state").code, 0);
    // The checkpoint knows dt and integrator; only the new end is told.
    const Outcome second =
        folder.capstan("run " + name + " --resume a.state --duration 0.1 --checkpoint b.state");
    EXPECT_EQ(hash_of(second), hash_of(whole)) << scene << "\n" << second.err;
    EXPECT_HAS(second.out, "(63 steps");
    const Outcome end = folder.capstan("run " + name + " --resume b.state");
    EXPECT_EQ(hash_of(end), hash_of(whole));
    EXPECT_HAS(end.err, "already at the end");
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIntegrator, Resume,
                         ::testing::Values("explicit_euler", "symplectic_euler", "semi_implicit",
                                           "implicit_euler", "midpoint"));

TEST(Checkpoint, DamageIsTold) {
  const Folder folder;
  ASSERT_EQ(folder.capstan("run double_pendulum --duration 0.01 --checkpoint a.state").code, 0);
  const std::string good = read_text(folder / "a.state");
  for (std::size_t i = 0; i < good.size(); i += 3) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    write_text(folder / "bad.state", bad);
    const Outcome outcome = folder.capstan("run double_pendulum --resume bad.state");
    EXPECT_EQ(outcome.code, 2) << "byte " << i;
    EXPECT_HAS(outcome.err, "bad.state: error: ");
  }
  write_text(folder / "bad.state", good.substr(0, good.size() - 9));
  EXPECT_HAS(folder.capstan("run double_pendulum --resume bad.state").err, "damaged");
  write_text(folder / "bad.state", "");
  EXPECT_EQ(folder.capstan("run double_pendulum --resume bad.state").code, 2);
  EXPECT_HAS(folder.capstan("run gyroscope --resume a.state").err, "another model");
  EXPECT_EQ(folder.capstan("run double_pendulum --resume none.state").code, 2);
}

TEST(Checkpoint, IsWrittenWhileRunning) {
  const Folder folder;
  const Started started(folder, {"run", "double_pendulum", "--duration", "1e6", "--checkpoint", "a.state",
                                 "--checkpoint-every", "0.5"});
  ASSERT_TRUE(wait_for_size(folder / "a.state", 0));
  usleep(500'000);
  EXPECT_EQ(started.stop(SIGKILL), 128 + SIGKILL);
  const Outcome resumed = folder.capstan("run double_pendulum --resume a.state --duration 0.01");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST(Stop, CtrlCWritesLogAndCheckpointAndCanGoOn) {
  const Folder folder;
  const Started started(folder, {"run", "double_pendulum", "--duration", "1e6", "--log", "a.csv",
                                 "--checkpoint", "a.state", "--log-every", "100"});
  ASSERT_TRUE(wait_for_size(folder / "a.csv", 2000));
  EXPECT_EQ(started.stop(SIGINT), 130);
  EXPECT_HAS(read_text(folder / ".started_err"), "--resume a.state");
  EXPECT_HAS(read_text(folder / ".started_out"), "hash of final state");
  // The last row is the state of the checkpoint.
  const std::string log = read_text(folder / "a.csv");
  ASSERT_EQ(log.back(), '\n');
  const std::size_t line = log.rfind('\n', log.size() - 2) + 1;
  const double last = std::stod(log.substr(line));
  const Outcome resumed = folder.capstan("run double_pendulum --resume a.state --duration 0 --log b.csv");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const std::string second = read_text(folder / "b.csv");
  EXPECT_EQ(std::stod(second.substr(second.find('\n') + 1)), last);
}

TEST(Stop, AHangupEndsTheRecordingUnlessNohupSaysOtherwise) {
  const Folder folder;
  const Started started(folder, {"run", "double_pendulum", "--duration", "1e6", "--record", "a.capstan"});
  ASSERT_TRUE(wait_for_size(folder / "a.capstan", 20'000));
  EXPECT_EQ(started.stop(SIGHUP), 129);
  const Outcome info = folder.capstan("info a.capstan");
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_HAS(info.out, "complete");
  const Outcome ignored =
      folder.shell("trap '' HUP; '" + program() +
                   "' run double_pendulum --duration 20 -q & sleep 0.3; kill -HUP $!; wait $!");
  EXPECT_EQ(ignored.code, 0) << ignored.err;
}

// Boxes of very different masses squeezed into each other: the first step takes seconds.
std::string hard_scene() {
  std::string text =
      "capstan: 1\noptions: {dt: 0.1, tolerance: 1e-14}\nshapes: [{type: half_space}]\nbodies:\n";
  for (int i = 0; i < 400; ++i) {
    text += "  - {name: b" + std::to_string(i) + ", position: [" + std::to_string(0.05 * (i % 10)) + ", " +
            std::to_string(0.05 * (i / 10 % 10)) + ", " + std::to_string(0.05 * (i / 100)) +
            "], joint: {type: free}, shape: {type: box, size: [0.1, 0.1, 0.1], mass: " +
            (i % 2 == 0 ? "1e-3" : "1e3") + "}}\n";
  }
  return text;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Stop, ASignalWithinAStepIsAnsweredWithinASecond) {
  const Folder folder;
  write_text(folder / "hard.yaml", hard_scene());
  const Started started(folder, {"run", "hard.yaml", "--record", "a.capstan", "--checkpoint", "a.state"});
  ASSERT_TRUE(wait_for_size(folder / "a.state", 0));
  usleep(1'000'000);  // it is in its first step
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_EQ(started.stop(SIGTERM), 143);
  EXPECT_LT(seconds_since(asked), 1);
  EXPECT_HAS(read_text(folder / ".started_err"), "stopped at t = 0 s, within a step; go on with");
  const Outcome info = folder.capstan("info a.capstan");
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_HAS(info.out, "complete");
}

TEST(Failure, AStepThatTakesTooLongSaysSo) {
  const Folder folder;
  write_text(folder / "hard.yaml", hard_scene());
  const Outcome outcome = folder.capstan("run hard.yaml --step-seconds 0.2 --quiet");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_HAS(outcome.err, "step 0 at t = 0 s failed: it takes longer than the 0.2 s");
  EXPECT_EQ(folder.capstan("run hard.yaml --step-seconds 0").code, 64);
  EXPECT_EQ(folder.capstan("run gyroscope --duration 0.01 --step-seconds 10 --quiet").code, 0);
}

// Nobody hears the messages; that is no reason to end a run, nor may they get into a file.
TEST(Stop, AClosedOrFullStandardErrorDoesNot) {
  const Folder folder;
  for (const std::string to : {"2>&-", "2>/dev/full", "<&- 2>&-"}) {
    const Outcome run =
        folder.capstan("run double_pendulum --duration 0.1 --record a.capstan --log a.csv " + to);
    EXPECT_EQ(run.code, 0) << to << run.err;
    EXPECT_EQ(read_text(folder / "a.csv").find("simulated"), std::string::npos) << to;
    const Outcome replay = folder.capstan("replay --verify a.capstan " + to);
    EXPECT_EQ(replay.code, 0) << to << replay.err;
    EXPECT_EQ(folder.capstan("check absent.yaml " + to).code, 2) << to;
    EXPECT_EQ(folder.capstan("run " + to).code, 64) << to;
  }
}

TEST(Failure, AStepThatFailsSaysWhyAndKeepsTheLog) {
  const Folder folder;
  write_text(folder / "stiff.yaml", kStiff);
  const Outcome outcome = folder.capstan("run stiff.yaml --log a.csv --checkpoint a.state");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_HAS(outcome.err, "slide");
  EXPECT_HAS(outcome.err, "smaller time step");
  const std::string log = read_text(folder / "a.csv");
  EXPECT_GT(std::count(log.begin(), log.end(), '\n'), 10);
  EXPECT_EQ(log.find("nan"), std::string::npos);
  // The same run goes on with another integrator, from before it was lost.
  ASSERT_EQ(folder.capstan("run stiff.yaml --duration 0.1 --checkpoint b.state").code, 0);
  EXPECT_EQ(folder.capstan("run stiff.yaml --resume b.state --integrator implicit_euler --duration 1.6").code,
            0);
}

TEST(Output, UnwritablePathsAreTold) {
  const Folder folder;
  for (const char* option : {"--log no/folder/a.csv", "--log no/folder/a.h5", "--log a.txt", "--log .",
                             "--checkpoint no/folder/a.state", "--checkpoint .", "--picture no/folder/a.svg",
                             "--record no/folder/a.capstan", "--record no/folder/a.h5", "--record ."}) {
    const Outcome outcome = folder.capstan(std::string("run double_pendulum --duration 0.01 ") + option);
    EXPECT_EQ(outcome.code, 4) << option << "\n" << outcome.err;
    EXPECT_HAS(outcome.err, "cannot write");
  }
  if (fs::exists(CAPSTAN_BINARY_DIR "/viewer/page.html")) {
    const Outcome view = folder.capstan("view double_pendulum --port 0 --record no/folder/a.capstan");
    EXPECT_EQ(view.code, 4) << view.err;
  }
  fs::create_symlink("/dev/full", folder / "full.csv");
  const Outcome full = folder.capstan("run double_pendulum --duration 0.01 --log full.csv");
  EXPECT_EQ(full.code, 4);
  EXPECT_HAS(full.err, "No space left on device");
  EXPECT_EQ(folder.shell("capstan list > /dev/full").code, 4);
}

TEST(Output, NeverReplacesAnInput) {
  const Folder folder;
  write_text(folder / "scene.csv", kStiff);
  fs::rename(folder / "scene.csv", folder / "s.yaml");
  fs::create_symlink("s.yaml", folder / "link.csv");
  Outcome outcome = folder.capstan("run s.yaml --duration 0.01 --log link.csv");
  EXPECT_EQ(outcome.code, 64);
  EXPECT_HAS(outcome.err, "would overwrite the input");
  EXPECT_EQ(folder.capstan("run s.yaml --duration 0.01 --checkpoint s.yaml").code, 64);
  ASSERT_EQ(folder.capstan("run s.yaml --duration 0.01 --checkpoint a.state").code, 0);
  EXPECT_EQ(folder.capstan("run s.yaml --resume a.state --checkpoint a.state").code, 64);
  EXPECT_EQ(folder.capstan("run s.yaml --log a.csv --picture a.csv").code, 64);
  EXPECT_EQ(read_text(folder / "s.yaml"), kStiff);
}

TEST(Output, QuietIsQuiet) {
  const Folder folder;
  const Outcome outcome = folder.capstan("run double_pendulum --duration 0.01 --quiet");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "");
  const Outcome plain = folder.capstan("run double_pendulum --duration 0.01");
  EXPECT_EQ(plain.err, "");
  EXPECT_EQ(std::count(plain.out.begin(), plain.out.end(), '\n'), 4) << plain.out;
  EXPECT_HAS(plain.out, "times as fast as the clock");
}

TEST(Input, RodsThatCannotBeAreInputErrors) {
  Folder folder;
  const std::string line = "line: {from: [0, 0, 0], to: [1, 0, 0]}, ",
                    rest = ", young_modulus: 1e6, density: 1000";
  const std::pair<std::string, const char*> cases[] = {
      {line + "edges: 4, diameter: 0" + rest, "bad.yaml:3: error: diameter of rod 'r' is 0"},
      {"points: [[0, 0, 0], [0, 0, 0]], diameter: 0.01" + rest,
       "bad.yaml:3: error: rod 'r': all 2 nodes of the rod are at (0, 0, 0)"},
      {line + "edges: 4, diameter: 0.01, young_modulus: -1, density: 1", "bad.yaml:3: error: young_modulus"},
      {line + "edges: 1000000, diameter: 0.01" + rest, "bad.yaml:3: error: edges of rod 'r'"},
      {"points: [[0, 0, 0], [1, 0, 0]], closed: true, diameter: 0.01" + rest,
       "bad.yaml:3: error: rod 'r': the closed rod has 2 nodes"},
      {line + "edges: 4, diameter: 0.01, attach: [{node: last}]" + rest,
       "bad.yaml:3: error: an attachment of"},
      {line + "edges: 4, diameter: 0.01, attach: [{node: last, body: ghost}]" + rest,
       "bad.yaml:3: error: the body of an attachment of rod 'r' is body 'ghost', which does not exist"},
  };
  for (const auto& [keys, message] : cases) {
    write_text(folder / "bad.yaml", "capstan: 1\nrods:\n  - {name: r, " + keys + "}\n");
    for (const char* command : {"check ", "run ", "info "}) {
      const Outcome outcome = folder.capstan(std::string(command) + "bad.yaml");
      EXPECT_EQ(outcome.code, 2) << command << keys << outcome.err;
      EXPECT_NE((outcome.out + outcome.err).find(message), std::string::npos) << command << outcome.err;
    }
  }
}

}  // namespace
}  // namespace capstan::test
