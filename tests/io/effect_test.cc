// Nothing in a YAML scene is silently without effect: for every key that docs/scene.md lists there is a small
// scene that uses it, in which changing it changes what 80 steps lead to, or is told. A key that is added to
// the page without a case here fails, and so does a key that the readers know and the page does not.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "capstan/io/read.h"
#include "capstan/step/step.h"
#include "tests/io/effect_cases.h"

namespace capstan::effect_test {
namespace {

using namespace test;
namespace fs = std::filesystem;

// --- What a scene leads to -------------------------------------------------------------------------------

struct Outcome {
  std::string state;  // bits of q, v and time after the steps; what went wrong, if anything
  std::string told;   // diagnostics
};

Outcome simulate(const fs::path& folder, const std::string& text) {
  const fs::path path = folder / "case.yaml";
  std::ofstream(path) << "capstan: 1\n" << text;
  Diagnostics diagnostics;
  const Scene scene = read_scene(path.string(), &diagnostics);
  const Model model = compile(scene, &diagnostics);
  Outcome outcome{"", diagnostics.text()};
  if (!diagnostics.ok()) return {"not compiled", diagnostics.text()};
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const StepOptions options = step_options(model);
  try {
    for (int i = 0; i < 80; ++i) step(model, options, {}, &state, &workspace);
  } catch (const StepFailure& failure) {
    return {"failed", fmt::format("error: {}", failure.what())};  // only max_iterations is meant to
  }
  std::ostringstream bits;
  bits << std::hexfloat << state.q.transpose() << " | " << state.v.transpose() << " | " << state.time;
  outcome.state = bits.str();
  return outcome;
}

std::string put(std::string text, const std::string& what) {
  const std::size_t at = text.find('%');
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? text : text.replace(at, 1, what);
}

class Effect : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::path(testing::TempDir()) / "capstan_effect";
    fs::create_directories(folder);
    for (const char* name : {"wedge.obj", "wedge2.obj"}) {
      std::ofstream(folder / name) << "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 " << (name[5] == '2' ? 2 : 1)
                                   << "\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
    }
    // A cube of 10 cm, and twelve tets from its middle.
    std::string points, triangles, tets, types;
    for (int i = 0; i < 8; ++i)
      points += fmt::format("{} {} {}\n", i & 1 ? 0.05 : -0.05, i & 2 ? 0.05 : -0.05, i & 4 ? 0.05 : -0.05);
    constexpr int faces[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                  {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
    for (const auto& f : faces) {
      triangles += fmt::format("f {} {} {}\n", f[0] + 1, f[1] + 1, f[2] + 1);
      tets += fmt::format("4 8 {} {} {}\n", f[0], f[1], f[2]);
      types += "10\n";
    }
    std::ofstream(folder / "cube.vtk")
        << "# vtk DataFile Version 2.0\ncube\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 9 double\n"
        << points << "0 0 0\nCELLS 12 60\n"
        << tets << "CELL_TYPES 12\n"
        << types;
    std::string vertices;
    std::istringstream lines(points);
    for (std::string line; std::getline(lines, line);) vertices += "v " + line + "\n";
    std::ofstream(folder / "cube.obj") << vertices << triangles;
    std::ofstream(folder / "ball.yaml") << "capstan: 1\noptions: {gravity: [0, 0, -5]}\nbodies: [{name: a, "
                                           "joint: free, shape: {type: sphere, radius: 0.1}}]\n";
    std::ofstream(folder / "box.yaml")
        << "capstan: 1\nbodies: [{name: a, joint: {type: prismatic}, shape: {type: box, size: [1, 1, 1]}}]\n";
    std::ofstream(folder / "swing.yaml") << "capstan: 1\n"
                                         << pendulum("") << "keyframes: [{name: up, q: {a: 3}}]\n";
  }
  fs::path folder;
};

TEST_F(Effect, OfEveryKeyIsSeenOrItIsToldThatThereIsNone) {
  for (const Case& c : cases()) {
    if (kNotSimulated.count(c.key)) continue;
    const Outcome base = simulate(folder, put(c.scene, c.base)),
                  changed = simulate(folder, put(c.scene, c.changed));
    const bool is_wrong = c.key == "options/balance_inertia" || c.key == "options/max_iterations";
    EXPECT_EQ(base.told.find("error") != std::string::npos, is_wrong) << c.key << "\n" << base.told;
    EXPECT_EQ(changed.told.find("error"), std::string::npos) << c.key << "\n" << changed.told;
    EXPECT_EQ(changed.told.find("unknown key"), std::string::npos) << c.key << "\n" << changed.told;
    EXPECT_TRUE(base.state != changed.state || changed.told.find(" has no effect: ") != std::string::npos)
        << c.key << ": '" << c.base << "' and '" << c.changed << "' lead to the same, and nothing is told:\n"
        << changed.told << put(c.scene, c.changed);
  }
}

// The judge can fail: a key that only names something changes nothing, and nothing is told.
TEST_F(Effect, OfANameIsNone) {
  const std::string scene = pendulum(", name: %");
  const Outcome base = simulate(folder, put(scene, "hinge")), changed = simulate(folder, put(scene, "pivot"));
  EXPECT_EQ(base.state, changed.state);
  EXPECT_EQ(changed.told, "");
}

// --- Is any key missing? -----------------------------------------------------------------------------------

// "section/key" for each key in the first column of the tables after "## Every key".
std::set<std::string> documented_keys() {
  std::ifstream page(CAPSTAN_SOURCE_DIR "/docs/scene.md");
  std::set<std::string> keys;
  std::string line, section;
  bool begun = false;
  while (std::getline(page, line)) {
    if (line == "## Every key") begun = true;
    if (line == "## Limits") break;
    if (line.rfind("### ", 0) == 0) section = line.substr(4);
    if (!begun || line.rfind("| `", 0) != 0) continue;
    const std::string cell = line.substr(2, line.find(" |", 2) - 2);
    const std::regex word("`([a-z0-9_]+)`");
    for (std::sregex_iterator it(cell.begin(), cell.end(), word), end; it != end; ++it)
      keys.insert(section + "/" + (*it)[1].str());
  }
  return keys;
}

TEST(EveryKey, OfThePageHasACase) {
  const std::set<std::string> keys = documented_keys();
  EXPECT_GT(keys.size(), 120u);
  std::set<std::string> covered;
  for (const Case& c : cases()) covered.insert(c.key);
  for (const auto& [key, why] : kNotSimulated) covered.insert(key);
  for (const std::string& key : keys) EXPECT_TRUE(covered.count(key)) << key << " has no case here: add one";
  for (const std::string& key : covered) EXPECT_TRUE(keys.count(key)) << key << " is not on the page";
}

// Every key that a reader asks for stands, in backquotes, somewhere on the page.
TEST(EveryKey, OfTheReadersIsOnThePage) {
  std::ifstream file(CAPSTAN_SOURCE_DIR "/docs/scene.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::regex call(
      "(?:number|integer|vec3|flag|text|range|choice|direction|angle|each|find|read_reference|read_values)\\("
      "(?:&?fields, )?\"([a-z0-9_]+)\"");
  int count = 0;
  for (const char* name : {"yaml.cc", "yaml_bodies.cc", "yaml_controls.cc", "yaml_couplings.cc",
                           "yaml_models.cc", "yaml_shapes.cc"}) {
    std::ifstream source(std::string(CAPSTAN_SOURCE_DIR "/capstan/io/") + name);
    const std::string text{std::istreambuf_iterator<char>(source), {}};
    for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it, ++count) {
      const std::string key = (*it)[1].str();
      if (key.back() == '_') continue;  // pose_a and pose_b, put together
      // Within `{along: ...}` and the like the key ends with a colon.
      EXPECT_TRUE(page.find("`" + key + "`") != std::string::npos ||
                  page.find(key + ":") != std::string::npos)
          << name << " reads '" << key << "', which docs/scene.md does not have";
    }
  }
  EXPECT_GT(count, 90);
}

}  // namespace
}  // namespace capstan::effect_test
