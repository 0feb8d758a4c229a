// docs/solvers.md: its program compiles and prints what the page says.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

// [example]
#include <cstdio>

#include "capstan/rigid/lcp.h"

using namespace capstan;

// A plate of 1 kg on four corners after 0.01 s of gravity; its center of mass is 0.6 m from the front ones
// and 0.4 m from the rear ones. Three dofs (height and two tilts), four contacts. Rows of J: how fast a
// corner rises.
void rest_on_four_corners() {
  MatX J(4, 3);
  J << 1, 0.6, 0.3, 1, -0.4, 0.3, 1, -0.4, -0.3, 1, 0.6, -0.3;
  const Vec3 inverse_mass(1, 12, 33);  // 1 / kg, 1 / (kg m^2)
  const Vec3 v(-0.0981, 0, 0);         // m/s, rad/s, rad/s: without contact
  const LcpProblem problem = make_plain_lcp(J * inverse_mass.asDiagonal() * J.transpose(), J * v);
  for (const char* name : {"lemke", "block_pivoting", "pgs"}) {
    const LcpResult result = find_lcp_solver(name)->solve(problem, {});
    std::printf("%s %s: impulses %.4f %.4f %.4f %.4f, sum %.4f N s\n", name, capstan::name(result.status),
                result.z[0], result.z[1], result.z[2], result.z[3], result.z.sum());
  }
}
// [example]

#include "capstan/rigid/rigid_solvers.h"
#include "tests/support/page.h"

namespace {

using capstan::test::between;
using capstan::test::read_text;

TEST(SolversPage, ShowsTheProgramOfThisFile) {
  EXPECT_EQ(between(read_text("docs/solvers.md"), "```cpp\n", "```"),
            between(read_text("tests/docs/solvers_example_test.cc"), "// [example]\n", "// [example]"));
}

TEST(SolversPage, TheProgramPrintsWhatThePageSays) {
  testing::internal::CaptureStdout();
  rest_on_four_corners();
  const std::string printed = testing::internal::GetCapturedStdout();
  std::printf("%s", printed.c_str());
  EXPECT_NE(read_text("docs/solvers.md").find(printed), std::string::npos) << "not in docs/solvers.md:\n"
                                                                           << printed;
}

TEST(SolversPage, NamesEverySolver) {
  const std::string page = read_text("docs/solvers.md");
  for (const LcpSolver& solver : lcp_solvers()) {
    EXPECT_NE(page.find("| `" + std::string(solver.name) + "` |"), std::string::npos) << solver.name;
  }
}

TEST(SolversPage, HasTheTablesOfModelsAndPairs) {
  const std::string page = read_text("docs/solvers.md");
  for (const std::string& table : {rigid_model_table(), rigid_solver_table()})
    EXPECT_NE(page.find(table), std::string::npos) << "not in docs/solvers.md:\n" << table;
}

}  // namespace
