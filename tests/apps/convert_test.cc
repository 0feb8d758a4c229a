// 'capstan convert': the same motion, and a scene of which 'capstan check' tells nothing that it did not tell
// of the file it was made from.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/apps/program.h"

namespace capstan::test {
namespace {

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::string hash_line(const Outcome& outcome) {
  const std::size_t at = outcome.out.find("hash of final state");
  return at == std::string::npos ? outcome.err : outcome.out.substr(at);
}

TEST(Convert, ShippedScenesMoveTheSameAndHaveNoNewWarnings) {
  const Folder folder;
  std::istringstream names(folder.shell("capstan list | cut -d' ' -f1").out);
  int converted = 0;
  for (std::string name; std::getline(names, name); ++converted) {
    const Outcome outcome = folder.capstan("convert -q " + name + " out.yaml");
    ASSERT_EQ(outcome.code, 0) << name << "\n" << outcome.err;
    const std::string before = folder.capstan("check " + name).err,
                      after = folder.capstan("check out.yaml").err;
    EXPECT_LE(count(after, "warning:"), count(before, "warning:")) << name << "\n" << after;
    if (!name.starts_with("four_bar") && !name.starts_with("quadruped"))
      continue;  // those that are tidied up
    const auto run = [&](const std::string& scene) {
      return hash_line(folder.capstan("run --duration 0.1 " + scene));
    };
    EXPECT_EQ(run(name), run("out.yaml")) << name;
  }
  EXPECT_GE(converted, 30);
}

TEST(Convert, TellsWhatItLeavesOut) {
  const Folder folder;
  const Outcome outcome = folder.capstan("convert " CAPSTAN_SOURCE_DIR "/scenes/quadruped.urdf out.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("note: effort_limit of 12 joints on which no actuator acts is left out"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(read_text(folder / "out.yaml").find("effort_limit"), std::string::npos);
}

}  // namespace
}  // namespace capstan::test
