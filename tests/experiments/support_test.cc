// What the experiments stand on: sums, fits, the Hessian and the conic form of a step's problem, the page.
// The experiments themselves run, in their short form, as tests of their own (CMakeLists.txt).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <set>

#include "capstan/step/probe.h"
#include "experiments/clutter.h"
#include "experiments/conic_problem.h"
#include "experiments/dual_arm_task.h"
#include "experiments/experiment.h"
#include "experiments/gear_meshes.h"

namespace capstan::experiments {
namespace {

TEST(Sums, OrderOfAPowerLaw) {
  EXPECT_NEAR(fitted_order({1, 2, 4}, {3, 12, 48}), 2, 1e-12);
  EXPECT_NEAR(fitted_order({1, 10}, {5, 0.5}), -1, 1e-12);
}

// By three errors: what falls by a fixed factor is of order 1 however small that factor is.
TEST(Sums, OrderOfAnIteration) {
  EXPECT_NEAR(convergence_order({1, 0.1, 0.01}), 1, 1e-12);
  EXPECT_NEAR(convergence_order({1e-2, 1e-5, 1e-8}), 1, 1e-12);
  EXPECT_NEAR(convergence_order({0.3, 1e-1, 1e-2, 1e-4}), 2, 1e-12);
  EXPECT_TRUE(std::isnan(convergence_order({1, 0.1})));
}

// The root mean square of sin over whole periods is 1/sqrt 2.
TEST(Sums, ErrorIntegralIsTheRootMeanSquare) {
  ErrorIntegral error;
  for (int i = 0; i <= 1000; ++i) error.add(0.002 * i, std::sin(2 * std::numbers::pi * 0.002 * i));
  EXPECT_NEAR(error.value(), std::sqrt(0.5), 1e-6);
}

TEST(Sums, TrajectoriesAreComparedAtTheTimesOfTheFirst) {
  Trajectory fine, coarse;
  for (int i = 0; i <= 10; ++i) fine.add(0.1 * i, Vec2(0.1 * i, 0));
  for (int i = 0; i <= 2; ++i) coarse.add(0.5 * i, Vec2(0.5 * i, 3));
  EXPECT_NEAR(distance(coarse, fine), 3, 1e-12);
}

// A step of a clutter in which things touch, and none of the contacts is between two regions of its law:
// there an interior-point method comes near the answer only as the root of its gap.
Simulation clutter_step() {
  Simulation s(clutter_scene({12, true, 1e12, 50, -1}), ContactLaw::sap, 0.01);
  s.options.newton.relative_tolerance = 1e-10;
  s.run_until(0.62);
  return s;
}

TEST(StepProblem, CostIsLeastAtTheSolutionAndCurvesAsTheHessianSays) {
  const Simulation s = clutter_step();
  const Problem& p = s.workspace.problem;
  ASSERT_GT(p.contacts.size(), 10u);
  const VecX& v = s.workspace.newton.v;
  const MatX H = dense_hessian(p, v);
  EXPECT_LT((H - H.transpose()).norm(), 1e-9 * H.norm());
  EXPECT_GT(condition_number(H), 1);
  for (int k = 0; k < 5; ++k) {
    const VecX d = VecX::Random(v.size()), small = 1e-7 * d;
    EXPECT_GE(calc_cost(p, v + 0.1 * d), calc_cost(p, v));
    // Away from the kinks of the law, where both sides of v have one formula: H is the slope of the gradient,
    // so the cost rises by d^T H d/2.
    const double rise = 0.5 * small.dot(H * small);
    const double up = calc_cost(p, v + small) - calc_cost(p, v),
                 down = calc_cost(p, v - small) - calc_cost(p, v);
    EXPECT_NEAR(0.5 * (up + down), rise, 0.5 * rise + 1e-15 * calc_cost(p, v));
  }
}

TEST(StepProblem, ConicFormHasTheSameSolution) {
  const Simulation s = clutter_step();
  const ConicProblem conic = conic_problem(s.workspace.problem);
  ASSERT_EQ(conic.contacts.size(), s.workspace.problem.contacts.size());
  const ConicAnswer newton{s.workspace.newton.v, s.workspace.newton.impulse, 0, true};
  EXPECT_LT(errors(conic, newton).momentum, 1e-9);
  EXPECT_LT(errors(conic, newton).complementarity, 1e-12);
  const ConicAnswer interior = solve_interior_point(conic, 1e-9);
  EXPECT_TRUE(interior.converged);
  EXPECT_LT(interior.iterations, 60);
  EXPECT_LT((interior.v - newton.v).norm(), 1e-5 * newton.v.norm() + 1e-7);
  // The judge of the test can fail: a wrong velocity has errors.
  ConicAnswer wrong = newton;
  wrong.v[0] += 0.01;
  EXPECT_GT(errors(conic, wrong).momentum, 1e-5);
}

// A slide that a servo presses against a box on the floor; its force is limited to half of what it asks for,
// or not at all in what matters.
Simulation pushed_box(double limit) {
  Scene scene;
  const auto add = [&](const char* name, const Vec3& p, const Joint& joint) {
    Body body;
    body.name = name, body.pose.position = p, body.joints = {joint};
    scene.bodies.push_back(body);
    ShapeInstance shape;
    shape.name = shape.body = name, shape.shape = Box{Vec3::Constant(0.05)}, shape.mass = 1;
    scene.shapes.push_back(shape);
  };
  Joint slide, free;
  slide.name = "slide", slide.type = JointType::prismatic, slide.axis = Vec3::UnitX();
  free.name = "box", free.type = JointType::free;
  add("slide", Vec3(-0.1, 0, 0.05), slide), add("box", Vec3(0, 0, 0.05), free);
  ShapeInstance floor;
  floor.name = "floor", floor.shape = HalfSpace{};
  scene.shapes.push_back(floor);
  Actuator servo;
  servo.name = servo.joint = "slide", servo.gain = 100, servo.bias = Vec3(0, -100, -1), servo.control = 0.1;
  servo.force_range = {-limit, limit};
  scene.actuators.push_back(servo);
  Simulation s(scene, ContactLaw::sap, 0.005);
  s.options.newton.relative_tolerance = 1e-11;
  s.run_until(0.1);
  return s;
}

// Drives are no contacts: near the answer they are springs, or forces where they are at their limits.
TEST(StepProblem, ConicFormHasDrives) {
  for (const double limit : {5.0, 50.0}) {
    const Simulation s = pushed_box(limit);
    ASSERT_EQ(s.workspace.problem.dof_laws.size(), 1u);
    const VecX& v = s.workspace.newton.v;
    const ConicAnswer newton{v, s.workspace.newton.impulse, 0, true};
    const ConicProblem conic = conic_problem(s.workspace.problem, v);
    EXPECT_LT(errors(conic, newton).momentum, 1e-9) << limit;
    EXPECT_GT(errors(conic_problem(s.workspace.problem), newton).momentum, 1e-3) << limit;
    const ConicAnswer interior = solve_interior_point(conic, 1e-9);
    EXPECT_TRUE(interior.converged);
    EXPECT_LT((interior.v - v).norm(), 1e-5 * v.norm() + 1e-7);
  }
}

TEST(StepProblem, ConicFileSaysWhatItHolds) {
  const Simulation s = clutter_step();
  const ConicProblem conic = conic_problem(s.workspace.problem);
  const std::string path = std::string(CAPSTAN_BINARY_DIR) + "/conic_problem.txt";
  save(conic, path);
  std::ifstream stream(path);
  std::string word, version;
  long dofs, blocks, contacts;
  stream >> word >> version >> dofs >> blocks >> contacts;
  EXPECT_EQ(word + " " + version, "capstan-conic-problem 1");
  EXPECT_EQ(dofs, 72);
  EXPECT_EQ(blocks, 12);
  EXPECT_EQ(contacts, static_cast<long>(conic.contacts.size()));
  stream >> word;
  EXPECT_EQ(word, "block");
}

TEST(Page, TellsWhatHoldsDiffersAndFails) {
  Result result;
  result.claim("a | b", "1", "1.01", true);
  EXPECT_TRUE(result.good());
  result.claim("c", "2", "3", false, Difference{"we count otherwise", "at most 4", true});
  EXPECT_TRUE(result.good());
  Result beyond = result;  // a difference with a text passes only within its bound
  beyond.claim("c", "2", "9", false, Difference{"we count otherwise", "at most 4", false});
  EXPECT_FALSE(beyond.good());
  EXPECT_NE(
      page_part(all_experiments()[0], beyond)
          .find("| c | 2 | 9 | **does not hold**, nor within its bound, at most 4: we count otherwise |"),
      std::string::npos);
  result.claim("d", "4", "5", false);
  EXPECT_FALSE(result.good());
  const std::string part = page_part(all_experiments()[0], result);
  EXPECT_NE(part.find("| a \\| b | 1 | 1.01 | holds |"), std::string::npos) << part;
  EXPECT_NE(part.find("| c | 2 | 3 | differs, at most 4: we count otherwise |"), std::string::npos);
  EXPECT_NE(part.find("| d | 4 | 5 | **does not hold** |"), std::string::npos);
}

TEST(Page, PointsToTheSvgOfAFigureThatKeepsIt) {
  Result result;
  result.figure("f", "a figure", "<svg/>");
  EXPECT_NE(page_part(all_experiments()[0], result).find("/f.svg)"), std::string::npos);
  result.figures[0].keeps_svg = false;
  EXPECT_EQ(page_part(all_experiments()[0], result).find("/f.svg)"), std::string::npos);
  EXPECT_NE(page_part(all_experiments()[0], result).find("/f.png)"), std::string::npos);
}

TEST(DualArm, HasThePublishedDofsAndPalmsGoWhereTheyAreTold) {
  const Model model = compile(make_dual_arm({}));
  EXPECT_EQ(model.num_velocities(), 160);
  const Model arm = compile(make_arm("left"));
  State state = initial_state(arm);
  VecX start(kArmJoints);
  start << 0, 1.3, -0.4, 1.6, 0, -1.4, -1.1;
  ArmCommand command("left", start);
  const Transform goal = palm_at(Vec3(0.65, 0.1, 0.3), Vec3::UnitX(), -Vec3::UnitY(), 0.04);
  EXPECT_LT((goal * Vec3(0.041, 0, kGraspAt) - Vec3(0.65, 0.1, 0.3)).norm(), 1e-12);  // a gap of 1 mm
  command.go(goal, 1);
  while (!command.arrived()) command.advance(0.005);
  state.q = command.q();
  const Transform X = frame_pose(arm, state, "left_palm");
  EXPECT_LT((X.p - goal.p).norm(), 2e-4);
  EXPECT_LT((X.R - goal.R).norm(), 2e-3);
}

TEST(Page, IsPutTogetherFromWhatWasRun) {
  const std::string folder = std::string(CAPSTAN_BINARY_DIR) + "/experiments_page";
  std::filesystem::remove_all(folder);
  Result result;
  result.claim("x", "1", "1", true);
  result.tables.push_back({"t", "a table", {"a, b", "c"}, {{"1", "say \"2\""}}, true});
  result.tables.push_back({"u", "no verdicts", {"a", "b"}, {{"1", "holds"}, {"2", "holds"}}, true});
  write_result(all_experiments()[1], result, folder);
  write_page(folder);
  std::ifstream stream(folder + "/README.md");
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  const Experiment& e = all_experiments()[1];
  EXPECT_NE(page.find(std::string("| ") + e.title + " | " + e.source + " | 1 | 0 | 0 |"), std::string::npos);
  EXPECT_NE(page.find(std::string("## ") + all_experiments()[1].title), std::string::npos);
  EXPECT_NE(page.find(std::string("Not run yet: `") + all_experiments()[0].name), std::string::npos);
  std::ifstream csv(folder + "/" + all_experiments()[1].name + "/t.csv");
  const std::string rows{std::istreambuf_iterator<char>(csv), {}};
  EXPECT_EQ(rows, "\"a, b\",c\n1,\"say \"\"2\"\"\"\n");
}

// Each has a name of its own, and its short form is a test.
TEST(Experiments, AreAllTested) {
  std::ifstream stream(std::string(CAPSTAN_SOURCE_DIR) + "/tests/CMakeLists.txt");
  const std::string cmake{std::istreambuf_iterator<char>(stream), {}};
  std::set<std::string> names;
  for (const Experiment& e : all_experiments()) {
    EXPECT_TRUE(names.insert(e.name).second) << e.name;
    EXPECT_NE(cmake.find(e.name), std::string::npos) << e.name << " is not in tests/CMakeLists.txt";
  }
}

// Gears: a screw is closed, and holds what its profile swept along z holds; the flank of a tooth at the pitch
// circle is a quarter of the pitch from its middle, less half the backlash; a nut's ridge is in the groove.
TEST(GearMeshes, HaveTheirFormulas) {
  Thread t;
  t.length = 4 * t.pitch;
  const TriangleMesh screw = make_screw(t);
  EXPECT_TRUE(is_closed(screw));
  const double pi = std::numbers::pi, around = std::sin(2 * pi / t.sectors) / (2 * pi / t.sectors);
  const double pitch = t.root * t.root * (t.pitch - t.foot) + t.tip * t.tip * t.crest +
                       (t.root * t.root + t.root * t.tip + t.tip * t.tip) / 3 * (t.foot - t.crest);
  EXPECT_NEAR(volume_properties(screw).volume / (4 * pi * around * pitch), 1, 2e-3);

  Gear gear;
  gear.backlash = 2e-5;
  gear.facets = 400;
  const TriangleMesh tooth = make_tooth(gear, 0);
  const double r = gear.pitch_radius(), expected = 0.25 * pi * gear.module - 0.5 * gear.backlash;
  double nearest = 1, width = 0;
  for (const Vec3& v : tooth.vertices) {
    const double away = std::abs(std::hypot(v.x(), v.y()) - r);
    if (away < nearest) nearest = away, width = r * std::abs(std::atan2(v.y(), v.x()));
  }
  EXPECT_NEAR(width, expected, 2e-3 * expected);

  NutRidge ridge;
  ridge.middle = 1e-4, ridge.centre = 3.2e-3;
  double low = 1, high = -1;
  for (const TriangleMesh& piece : make_nut(ridge)) {
    Vec3 middle = Vec3::Zero();
    for (const Vec3& v : piece.vertices) middle += v / static_cast<double>(piece.vertices.size());
    const double turns =
        (middle.z() - ridge.middle) / ridge.lead - std::atan2(middle.y(), middle.x()) / (2 * pi);
    EXPECT_NEAR(turns, std::round(turns), 1e-6);
    low = std::min(low, middle.z()), high = std::max(high, middle.z());
  }
  EXPECT_NEAR(0.5 * (low + high), ridge.centre, 0.5 * ridge.lead);
}

}  // namespace
}  // namespace capstan::experiments
