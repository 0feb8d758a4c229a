// docs/tutorial.md: its program compiles, and prints what the page says. Its commands are run by
// apps/manual_test.cc.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#define main              \
  int_main_of_the_page(); \
  void tutorial_main  // the test has a main of its own, and a return type
// [example]
#include <cstdio>

#include "capstan/io/read.h"
#include "capstan/step/probe.h"

int main() {
  using namespace capstan;
  const Model model = compile(read_scene("dominoes.yaml"));
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  while (frame_pose(model, state, "row_19/tile").R(2, 2) > 0.5)  // until the last tile leans by 60 degrees
    step(model, step_options(model), {}, &state, &workspace);
  std::printf("the last tile falls after %.2f s\n", state.time);
}
// [example]
#undef main

#include "tests/support/page.h"

namespace {

using capstan::test::between;
using capstan::test::read_text;

TEST(TutorialPage, ShowsTheProgramOfThisFile) {
  EXPECT_EQ(between(read_text("docs/tutorial.md"), "```cpp\n", "```"),
            between(read_text("tests/docs/tutorial_example_test.cc"), "// [example]\n", "// [example]"));
}

// In a folder with the files of the page.
TEST(TutorialPage, TheProgramPrintsWhatThePageSays) {
  const std::string page = read_text("docs/tutorial.md");
  const auto folder = std::filesystem::path(testing::TempDir()) / "capstan_tutorial";
  std::filesystem::create_directories(folder);
  for (const char* name : {"tile.yaml", "dominoes.yaml"}) {
    const std::string first = std::string("capstan: 1            # ") + name + "\n";
    std::ofstream(folder / name) << first << between(page, first, "```");
  }
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  testing::internal::CaptureStdout();
  tutorial_main();
  const std::string printed = testing::internal::GetCapturedStdout();
  std::filesystem::current_path(before);
  EXPECT_NE(page.find(printed), std::string::npos) << "not in docs/tutorial.md:\n" << printed;
}

}  // namespace
