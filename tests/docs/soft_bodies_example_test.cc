// docs/soft_bodies.md: its scene is read without a complaint and comes to rest as the page says.
#include <gtest/gtest.h>

#include "capstan/io/read.h"
#include "capstan/step/contact_forces.h"
#include "capstan/step/step.h"
#include "tests/support/page.h"

namespace capstan::soft_bodies_example_test {
namespace {

TEST(SoftBodiesPage, TheFloorCarriesGelAndPlate) {
  Diagnostics diagnostics;
  const Scene scene = read_yaml_text(
      test::between(test::read_text("docs/soft_bodies.md"), "```yaml\n", "```"), {}, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  while (state.time < 4) step(model, step_options(model), {}, &state, &workspace);
  std::vector<ContactForce> forces;
  calc_contact_forces(workspace, &forces);
  double sum = 0;
  for (const ContactForce& f : forces) {
    if (model.shapes[f.shape_a].name == "floor") sum += f.normal_force;
  }
  EXPECT_NEAR(sum, 1.5 * 9.81, 1e-4 * 1.5 * 9.81);
}

}  // namespace
}  // namespace capstan::soft_bodies_example_test
