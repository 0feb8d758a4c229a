// docs/patches.md: its scene is read without a complaint and comes to rest as the page says.
#include <gtest/gtest.h>

#include "capstan/io/read.h"
#include "capstan/step/step.h"
#include "tests/support/page.h"

namespace capstan::patches_example_test {
namespace {

TEST(PatchesPage, TheBallRestsAtTheDepthOfItsField) {
  Diagnostics diagnostics;
  const Scene scene =
      read_yaml_text(test::between(test::read_text("docs/patches.md"), "```yaml\n", "```"), {}, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  while (state.time < 2) step(model, step_options(model), {}, &state, &workspace);
  EXPECT_NEAR(0.05 - state.q[2], 1.79e-3, 0.01e-3);
}

}  // namespace
}  // namespace capstan::patches_example_test
