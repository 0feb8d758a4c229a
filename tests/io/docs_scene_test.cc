// Every complete example of docs/scene.md is read without a complaint.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "capstan/io/read.h"
#include "capstan/model/add_rod.h"
#include "capstan/step/step.h"

namespace capstan::docs_scene_test {
namespace {

namespace fs = std::filesystem;

struct Example {
  std::string file, text;
  int line = 0;  // of docs/scene.md
};

// Fenced blocks that begin with "capstan: 1   # name.yaml", and meshes that begin with "# name.obj".
std::vector<Example> examples() {
  std::ifstream page(CAPSTAN_SOURCE_DIR "/docs/scene.md");
  EXPECT_TRUE(page.good());
  std::vector<Example> result;
  Example block;
  std::string line, language;
  for (int number = 1; std::getline(page, line); ++number) {
    if (line.rfind("```", 0) != 0) {
      if (!language.empty()) block.text += line + "\n";
      continue;
    }
    if (language.empty()) {
      language = line.substr(3);
      block = {"", "", number};
      continue;
    }
    if (language == "obj" || (language == "yaml" && block.text.rfind("capstan:", 0) == 0)) {
      const size_t comment = block.text.find("# ");
      EXPECT_LT(comment, block.text.find('\n'))
          << "block at line " << block.line << " does not name its file";
      block.file = block.text.substr(comment + 2, block.text.find('\n') - comment - 2);
      result.push_back(block);
    }
    language.clear();
  }
  EXPECT_TRUE(language.empty()) << "a block is not closed";
  return result;
}

TEST(DocsScene, EveryExampleIsReadWithoutDiagnostics) {
  const fs::path folder = fs::path(testing::TempDir()) / "capstan_docs_scene";
  fs::create_directories(folder);
  const std::vector<Example> all = examples();
  for (const Example& example : all) std::ofstream(folder / example.file) << example.text;
  std::map<std::string, Scene> scenes;
  for (const Example& example : all) {
    if (example.file.find(".yaml") == std::string::npos) continue;
    Diagnostics diagnostics;
    scenes[example.file] = read_scene((folder / example.file).string(), &diagnostics);
    EXPECT_EQ(diagnostics.text(), "") << "example at docs/scene.md:" << example.line;
  }
  ASSERT_GE(scenes.size(), 7u);
  // The page says what these contain.
  const Scene& stack = scenes["stack.yaml"];
  ASSERT_EQ(stack.bodies.size(), 7u);
  EXPECT_EQ(stack.bodies.front().name, "crate_0_0_0/crate");
  EXPECT_EQ(stack.bodies[5].name, "crate_1_0_2/crate");
  EXPECT_LT((stack.bodies[5].pose.position - Vec3(0.5, 0, 0.75)).norm(), 1e-15);
  EXPECT_EQ(stack.bodies[6].name, "wrecker/rod");
  EXPECT_EQ(stack.materials.size(), 1u);
  EXPECT_NEAR(stack.initial.q.at("wrecker/rod")[0], 100 * 3.14159265358979 / 180, 1e-13);
  EXPECT_EQ(stack.options.dt, 0.005);
  EXPECT_EQ(scenes["gripper.yaml"].pairs[0].a, "left_box");
  EXPECT_EQ(*scenes["crate.yaml"].shapes[0].mass, 3);
  EXPECT_EQ(std::get<HeightField>(scenes["terrain.yaml"].shapes[1].shape).columns, 4);
  const Model slab = compile(scenes["slab.yaml"]);
  EXPECT_NEAR(slab.shapes[0].stiffness, 9.81e6, 1);
  State state = initial_state(slab);
  Workspace workspace = make_workspace(slab);
  for (int i = 0; i < 1000; ++i) step(slab, step_options(slab), Input{}, &state, &workspace);
  EXPECT_NEAR(0.1 - state.q[2], 0.5e-3, 1e-6);
  EXPECT_NEAR(0.1 - state.q[9], 2.7e-3, 1e-5);
  const Model lamp = compile(scenes["lamp.yaml"]);
  State hanging = initial_state(lamp);
  Workspace room = make_workspace(lamp);
  while (hanging.time < 3) step(lamp, step_options(lamp), Input{}, &hanging, &room);
  const int cord = find_rods(lamp)[0];
  const auto q = hanging.q.segment(lamp.objects[cord].q_begin, lamp.objects[cord].num_positions());
  EXPECT_NEAR(rod_of(lamp, cord).tension(q, 24), 0.5 * 9.81, 0.03);  // 0.02 N for half an edge and the ring
}

}  // namespace
}  // namespace capstan::docs_scene_test
