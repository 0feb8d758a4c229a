// The comparison with other simulators (bench/peers): its scenes are those of the definition, its judge
// measures what it says, and Capstan's program runs.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/peers/judge.h"
#include "bench/peers/scene.h"

namespace {

using bench::Pose;
using bench::Scene;

// First number of splitmix64 from seed 0, as its authors' program prints it.
TEST(BenchScene, RandomNumbersAreSplitmix64) {
  EXPECT_EQ(bench::splitmix64(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(bench::uniform(0, 0), static_cast<double>(0xE220A8397B1DCDAFu >> 11) / 9007199254740992.0);
}

// Values from a separate program (Python's integers) of the same definition.
TEST(BenchScene, ClutterIsTheDefinition) {
  const Scene scene = bench::clutter(40, true, 0);
  ASSERT_EQ(scene.bodies.size(), 40u);
  ASSERT_EQ(scene.statics.size(), 5u);
  EXPECT_FALSE(scene.plane);
  const auto& ball = scene.bodies[0];
  EXPECT_FALSE(ball.is_box);
  EXPECT_EQ(ball.mass, 0.524);
  EXPECT_NEAR(ball.position[0], -0.19233378383572716, 1e-16);
  EXPECT_NEAR(ball.position[1], -0.1986687684965544, 1e-16);
  EXPECT_NEAR(ball.position[2], 0.15, 1e-16);
  const auto& box = scene.bodies[6];
  EXPECT_TRUE(box.is_box);
  EXPECT_EQ(box.mass, 1.0);
  const double expected[4] = {0.9991010919819155, 0.017937325077566686, -0.010375385976603943,
                              0.036981234909641975};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(box.quat_wxyz[i], expected[i], 1e-15);
  EXPECT_NEAR(box.position[2], 0.27, 1e-15);
  EXPECT_NEAR(scene.bodies[39].position[0], 0.20610279173908666, 1e-15);
  EXPECT_NE(bench::clutter(40, true, 1).bodies[0].position[0], ball.position[0]);
}

// Gravity at rest on the slope: tan of its angle is 0.5 where sticking ends.
TEST(BenchScene, InclineIsJustBelowAndAboveSliding) {
  const auto slope = [](const Scene& s) { return -s.gravity[0] / s.gravity[2]; };
  EXPECT_LT(slope(bench::incline(-1)), 0.5);
  EXPECT_GT(slope(bench::incline(5)), 0.5);
  const Scene slide = bench::incline(5);
  EXPECT_NEAR(slide.gravity[0] + 0.5 * slide.gravity[2], 0.955917, 1e-6);  // the exact acceleration
}

// A box that falls freely for three steps and then is 10 mm in the ground.
TEST(BenchJudge, MeasuresDepthEnergyAndCreep) {
  Scene scene = bench::stack(1, 0, 1);
  scene.dt = 0.01;
  scene.tracked = {"b0"};
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  for (const double z : {0.05, 0.06, 0.05, 0.04}) {
    const Pose pose = {{0, 0, z}, {1, 0, 0, 0}};
    ASSERT_EQ(std::fwrite(&pose, sizeof pose, 1, file), 1u);
  }
  const bench::Verdict verdict = bench::judge(scene, file, 3);
  std::fclose(file);
  EXPECT_NEAR(verdict.penetration_mean, 0.01, 1e-12);
  EXPECT_NEAR(verdict.penetration_peak, 0.01, 1e-12);
  // From rest to 1 m/s and 1 cm up, then down at 1 m/s all the time.
  EXPECT_NEAR(verdict.energy_gain, 0.5 + 9.81 * 0.01, 1e-12);
  EXPECT_NEAR(verdict.energy_released, 9.81 * 0.01 - 0.5, 1e-12);
  EXPECT_NEAR(verdict.creep_mean, 0.01 / 0.03, 1e-12);  // 1 cm lower after three steps
  EXPECT_NEAR(verdict.top_shift[2], -0.01, 1e-15);
  EXPECT_NEAR(verdict.height_max, 0.01, 1e-15);
  EXPECT_TRUE(verdict.finite);
}

struct Outcome {
  int code = -1;
  std::string text;
};

Outcome run(const std::string& arguments) {
  std::FILE* pipe = popen((CAPSTAN_BINARY_DIR "/peers/capstan " + arguments + " 2>&1").c_str(), "r");
  Outcome outcome;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.text.append(buffer, n);
  outcome.code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

TEST(BenchProgram, RunsAndCertifies) {
  const Outcome outcome = run("--scene clutter_walls --n 8 --duration 0.2");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const nlohmann::json json = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(json["steps"], 20);
  EXPECT_TRUE(json["complete"]);
  EXPECT_TRUE(json["finite"]);
  EXPECT_EQ(json["ms_parts"].size(), 20u);
  EXPECT_GT(json["residual"], 0);
  EXPECT_LE(json["residual"], 1e-5);
  EXPECT_GT(json["contacts"], 0);
  EXPECT_GT(json["energy_released_J"], 0);
}

// Before anything touches, symplectic Euler falls by g dt^2 n (n + 1) / 2.
TEST(BenchProgram, FallsFreely) {
  const Outcome outcome = run("--scene clutter_open --n 8 --duration 0.1");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const nlohmann::json json = nlohmann::json::parse(outcome.text);
  EXPECT_NEAR(json["height_min_mm"], -1e3 * 9.81 * 1e-4 * 55, 1e-9);
  EXPECT_EQ(json["penetration_peak_mm"], 0);
}

// A contact that was taken back for another one, which the next round of the step made wrong: a ball went
// 20 mm into a box that it had hit at 5 m/s.
TEST(BenchProgram, LooksAgainWhereContactsWereReplaced) {
  const Outcome outcome =
      run("--scene clutter_walls --n 40 --seed 2 --dt 0.01 --duration 0.7 --set law=coulomb");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_LT(nlohmann::json::parse(outcome.text)["penetration_peak_mm"], 5);
}

TEST(BenchProgram, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run("--scene cluter").code, 64);
  EXPECT_NE(run("--scene cluter").text.find("there is no scene 'cluter'"), std::string::npos);
  const Outcome setting = run("--n 8 --set solver=cg");
  EXPECT_EQ(setting.code, 64);
  EXPECT_NE(setting.text.find("Capstan has no setting 'solver'"), std::string::npos);
}

}  // namespace
