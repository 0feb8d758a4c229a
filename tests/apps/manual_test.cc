// Runs every console example of docs/cli.md and docs/tutorial.md: a line that begins with "$ " is a command,
// "# exit code n" says how it ends (0 if not said), and the lines after it must be in what it prints, in this
// order. "..." stands for any text, a line of it alone for any lines.
#include <gtest/gtest.h>

#include <regex>

#include "tests/apps/program.h"

namespace capstan::test {
namespace {

struct Example {
  int line = 0;
  std::string command;
  int code = 0;
  std::vector<std::string> shown;
};

std::vector<std::vector<Example>> read_examples(const std::string& text) {
  std::vector<std::vector<Example>> blocks;
  std::istringstream lines(text);
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line == "```console") {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside && line.starts_with("$ ")) {
      Example example{number, line.substr(2), 0, {}};
      static const std::regex code(R"(\s*# exit code (\d+)$)");
      std::smatch match;
      if (std::regex_search(example.command, match, code)) {
        example.code = std::stoi(match[1]);
        example.command = match.prefix();
      }
      blocks.back().push_back(example);
    } else if (inside) {
      if (blocks.back().empty()) {
        ADD_FAILURE() << "line " << number << ": a console block begins with a command";
      } else {
        blocks.back().back().shown.push_back(line);
      }
    }
  }
  return blocks;
}

bool matches(const std::string& line, const std::string& shown) {
  // Between the "..." of the shown line, all parts must come in order; it begins and ends as shown.
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown.compare(i, 3, "...") == 0) {
      parts.emplace_back();
      i += 2;
    } else {
      parts.back() += shown[i];
    }
  }
  if (parts.size() == 1) return line == shown;
  if (!line.starts_with(parts.front()) || !line.ends_with(parts.back())) return false;
  std::size_t at = 0;
  for (const std::string& part : parts) {
    at = line.find(part, at);
    if (at == std::string::npos) return false;
    at += part.size();
  }
  return true;
}

TEST(Matching, DotsStandForAnything) {
  EXPECT_TRUE(matches("a b c", "a ... c"));
  EXPECT_TRUE(matches("a b c", "...c"));
  EXPECT_FALSE(matches("a b c", "a ... d"));
  EXPECT_FALSE(matches("a b c", "a b"));
  EXPECT_FALSE(matches("x b", "... a b"));
}

// Files that a page shows, whose first line names them in a comment.
void write_files(const std::string& text, const Folder& folder) {
  static const std::regex file("```(yaml|csv)\n([^\n]*# (\\S+)\n[^`]*)```");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), file); it != std::sregex_iterator(); ++it)
    std::ofstream(folder / it->str(3)) << it->str(2);
}

// Returns how many commands the page has.
int run_examples(const std::string& page) {
  const std::string text = read_text(std::string(CAPSTAN_SOURCE_DIR "/") + page);
  const auto blocks = read_examples(text);
  const Folder folder;
  write_files(text, folder);
  int num_commands = 0;
  for (const auto& block : blocks) {
    for (const Example& example : block) {
      SCOPED_TRACE(page + ":" + std::to_string(example.line) + ": " + example.command);
      const Outcome outcome = folder.shell(example.command);
      EXPECT_EQ(outcome.code, example.code) << outcome.err;
      std::vector<std::string> printed;
      std::istringstream lines(outcome.err + outcome.out);
      for (std::string line; std::getline(lines, line);) printed.push_back(line);
      std::size_t at = 0;
      for (const std::string& shown : example.shown) {
        if (shown == "...") continue;
        while (at < printed.size() && !matches(printed[at], shown)) ++at;
        EXPECT_LT(at, printed.size()) << "not printed, or not in this order: " << shown << "\n"
                                      << outcome.err << outcome.out;
        ++at;
      }
      ++num_commands;
    }
  }
  return num_commands;
}

TEST(Manual, EveryExampleDoesWhatItShows) {
  EXPECT_GE(run_examples("docs/cli.md"), 15);
}

TEST(Manual, EveryStepOfTheTutorialDoesWhatItShows) {
  EXPECT_EQ(run_examples("docs/tutorial.md"), 7);
}

TEST(Manual, NamesEveryOption) {
  const Folder folder;
  const std::string manual = read_text(CAPSTAN_SOURCE_DIR "/docs/cli.md");
  for (const char* command :
       {"run", "check", "info", "view", "replay", "export", "plot", "list", "demo", "robots"}) {
    const std::string help = folder.capstan(std::string(command) + " --help").out;
    EXPECT_NE(manual.find(std::string("## capstan ") + command), std::string::npos);
    static const std::regex option(R"(--[a-z-]+)");
    for (auto it = std::sregex_iterator(help.begin(), help.end(), option); it != std::sregex_iterator();
         ++it) {
      if (it->str() == "--help") continue;
      EXPECT_NE(manual.find(it->str()), std::string::npos) << command << " " << it->str();
    }
  }
}

}  // namespace
}  // namespace capstan::test
