// The rules of CONTRIBUTING.md that a machine can check: which folder may include which, that every source is
// in a CMake list, that files stay short. Each rule is a function of plain text, tested on a wrong example
// before it is applied to the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

constexpr int kMaxLines = 700;

// Files that may be longer, each with its reason.
const std::map<std::string, std::string> kLongFiles = {};

Lines split(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string read(const fs::path& path) {
  std::ifstream stream(path);
  EXPECT_TRUE(stream) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

const fs::path& root() {
  static const fs::path path = CAPSTAN_SOURCE_DIR;
  return path;
}

// Paths, relative to the repository, of all files in some of its folders with one of these extensions.
Lines find_files(const Lines& tops, const Lines& extensions) {
  Lines files;
  for (const std::string& top : tops) {
    if (!fs::exists(root() / top)) continue;
    for (auto it = fs::recursive_directory_iterator(root() / top); it != fs::recursive_directory_iterator();
         ++it) {
      const std::string name = it->path().filename();
      if (it->is_directory() && (name == "node_modules" || name == "build")) it.disable_recursion_pending();
      const std::string extension = it->path().extension();
      if (it->is_regular_file() &&
          std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) {
        files.push_back(fs::relative(it->path(), root()));
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

const Lines kTops = {"apps", "bench", "capstan", "experiments", "python", "tests", "viewer"};

Lines cpp_files() {
  return find_files(kTops, {".h", ".cc"});
}

// Lines that cite a paper by a file that readers do not have, where docs/references.md gives it a name.
Lines cites_unknown_files(const std::string& path, const std::string& text) {
  static const std::regex file(R"(\b(sap|icf|filaments|noslip_viscous|course)\.txt\b)");
  Lines wrong;
  const Lines lines = split(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(lines[i], match, file))
      wrong.push_back(path + ":" + std::to_string(i + 1) + ": " + match[0].str() +
                      " is not here; cite by a name of docs/references.md");
  }
  return wrong;
}

Lines folder_order(const std::string& text) {
  Lines order;
  for (const std::string& line : split(text)) {
    if (!line.empty() && line[0] != '#') order.push_back(line);
  }
  return order;
}

// Types that two headers of the library define in one namespace: the linker would silently mix them up.
Lines types_defined_twice(const std::map<std::string, std::string>& headers) {
  static const std::regex space(R"(namespace ([\w:]+) \{)"),
      type(R"((?:struct|class|enum class) (\w+)(?: final)?(?: :.*)? \{.*)");
  std::map<std::string, std::string> first;
  Lines twice;
  for (const auto& [path, text] : headers) {
    std::string prefix;
    for (const std::string& line : split(text)) {
      std::smatch match;
      if (std::regex_match(line, match, space)) prefix = match[1].str() + "::";
      if (!std::regex_match(line, match, type)) continue;
      const auto [it, is_new] = first.emplace(prefix + match[1].str(), path);
      if (!is_new) twice.push_back(path + ": " + it->first + " is also in " + it->second);
    }
  }
  return twice;
}

int position(const Lines& order, const std::string& folder) {
  const auto it = std::find(order.begin(), order.end(), folder);
  return it == order.end() ? -1 : static_cast<int>(it - order.begin());
}

// What is wrong with the quoted includes of a library file, a line for each.
Lines wrong_includes(const Lines& order, const std::string& path, const std::string& text) {
  static const std::regex include(R"re(\s*#\s*include\s*"([^"]*)".*)re");
  static const std::regex inside(R"(capstan/(\w+)/.+)");
  Lines wrong;
  std::smatch match;
  if (!std::regex_match(path, match, inside)) return {path + ": not in a folder of capstan/"};
  const std::string own = match[1];
  if (position(order, own) < 0) wrong.push_back(path + ": folder " + own + " is not in folders.txt");
  const Lines lines = split(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!std::regex_match(lines[i], match, include)) continue;
    const std::string target = match[1], at = path + ":" + std::to_string(i + 1) + ": ";
    if (!std::regex_match(target, match, inside)) {
      wrong.push_back(at + target + " should be capstan/<folder>/" + target);
    } else if (position(order, match[1]) < 0) {
      wrong.push_back(at + "folder " + match[1].str() + " is not in folders.txt");
    } else if (position(order, match[1]) > position(order, own)) {
      wrong.push_back(at + own + " includes " + match[1].str() + ", which comes after it in folders.txt");
    }
  }
  return wrong;
}

Lines words_of(const std::string& code) {
  static const std::regex separator(R"re([\s()"]+)re");
  return {std::sregex_token_iterator(code.begin(), code.end(), separator, -1), std::sregex_token_iterator()};
}

// Whether a CMakeLists.txt names the file, as a word outside of comments, or as a name of
// capstan_tests(folder name...).
bool names_source(const std::string& cmake, const std::string& file) {
  std::string code;
  for (const std::string& line : split(cmake)) code += line.substr(0, line.find('#')) + '\n';
  const Lines words = words_of(code);
  if (std::find(words.begin(), words.end(), file) != words.end()) return true;
  static const std::regex list(R"re(capstan_tests\(([^)]*)\))re");
  for (std::sregex_iterator at(code.begin(), code.end(), list), end; at != end; ++at) {
    const Lines names = words_of((*at)[1]);
    for (std::size_t i = 1; i < names.size(); ++i) {
      if (file == names[0] + '/' + names[i] + "_test.cc") return true;
    }
  }
  return false;
}

std::string join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

const Lines kOrder = {"base", "math", "scene"};

TEST(IncludeOrder, AcceptsOwnAndEarlierFolders) {
  EXPECT_EQ(join(wrong_includes(kOrder, "capstan/math/a.cc",
                                "#include \"capstan/math/a.h\"\n\n#include <vector>\n#include <fmt/core.h>\n"
                                "#include \"capstan/base/errors.h\"\n")),
            "");
}

TEST(IncludeOrder, RefusesLaterFolder) {
  const Lines wrong =
      wrong_includes(kOrder, "capstan/math/a.h", "#pragma once\n#include \"capstan/scene/s.h\"");
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0], "capstan/math/a.h:2: math includes scene, which comes after it in folders.txt");
}

TEST(IncludeOrder, RefusesLaterFolderHoweverItIsSpelled) {
  EXPECT_EQ(wrong_includes(kOrder, "capstan/base/a.h", "  #  include   \"capstan/math/x.h\"  // why").size(),
            1u);
}

TEST(IncludeOrder, RefusesUnknownFoldersAndShortPaths) {
  EXPECT_EQ(wrong_includes(kOrder, "capstan/utils/a.h", "").size(), 1u);
  EXPECT_EQ(wrong_includes(kOrder, "capstan/scene/a.h", "#include \"capstan/utils/b.h\"").size(), 1u);
  EXPECT_EQ(wrong_includes(kOrder, "capstan/scene/a.h", "#include \"b.h\"").size(), 1u);
  EXPECT_EQ(wrong_includes(kOrder, "capstan/scene/a.h", "#include \"../math/b.h\"").size(), 1u);
  EXPECT_EQ(wrong_includes(kOrder, "capstan/loose.h", "").size(), 1u);
}

TEST(SourceList, FindsWholeWordsOutsideComments) {
  const std::string cmake =
      "add_library(capstan\n  base/a.cc\n  # base/b.cc\n)\ncapstan_test(c_test.cc fmt)\n"
      "capstan_tests(step d\n  e)\n";
  EXPECT_TRUE(names_source(cmake, "base/a.cc"));
  EXPECT_TRUE(names_source(cmake, "c_test.cc"));
  EXPECT_TRUE(names_source(cmake, "step/d_test.cc"));
  EXPECT_TRUE(names_source(cmake, "step/e_test.cc"));
  EXPECT_FALSE(names_source(cmake, "step/f_test.cc"));
  EXPECT_FALSE(names_source(cmake, "base/b.cc"));
  EXPECT_FALSE(names_source(cmake, "a.cc"));
}

TEST(Citation, RefusesFilesThatReadersDoNotHave) {
  const std::string file = std::string("icf") + ".txt";
  EXPECT_EQ(cites_unknown_files("a.yaml", "# The belt\n# of " + file + " XI-A.\n"),
            Lines{"a.yaml:2: " + file + " is not here; cite by a name of docs/references.md"});
  EXPECT_EQ(cites_unknown_files("a.yaml", "# ICF XI-A, folders.txt\n"), Lines{});
}

TEST(Repository, CitesPapersByTheirNames) {
  Lines tops = kTops;
  tops.insert(tops.end(), {"docs", "scenes"});
  const Lines files = find_files(tops, {".h", ".cc", ".py", ".md", ".yaml"});
  EXPECT_GT(files.size(), 500u);
  for (const std::string& file : files) EXPECT_EQ(join(cites_unknown_files(file, read(root() / file))), "");
}

TEST(Repository, FolderOrderIsOneOfDistinctNames) {
  Lines order = folder_order(read(root() / "capstan/folders.txt"));
  EXPECT_GE(order.size(), 2u);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(std::adjacent_find(order.begin(), order.end()), order.end());
}

TEST(Repository, IncludesFollowTheFolderOrder) {
  const Lines order = folder_order(read(root() / "capstan/folders.txt"));
  int num_checked = 0;
  for (const std::string& file : cpp_files()) {
    if (!file.starts_with("capstan/")) continue;
    EXPECT_EQ(join(wrong_includes(order, file, read(root() / file))), "");
    ++num_checked;
  }
  EXPECT_GT(num_checked, 10);
}

TEST(Repository, EverySourceIsInACMakeList) {
  for (const std::string& file : cpp_files()) {
    if (!file.ends_with(".cc")) continue;
    fs::path folder = (root() / file).parent_path();
    while (!fs::exists(folder / "CMakeLists.txt")) folder = folder.parent_path();
    EXPECT_TRUE(
        names_source(read(folder / "CMakeLists.txt"), fs::relative(root() / file, folder).generic_string()))
        << file << " is in no source list; add it to " << folder / "CMakeLists.txt";
  }
}

TEST(Repository, HeadersAreIncludedOnce) {
  for (const std::string& file : cpp_files()) {
    if (!file.ends_with(".h")) continue;
    EXPECT_NE(read(root() / file).find("#pragma once\n"), std::string::npos) << file << " lacks #pragma once";
  }
}

TEST(Repository, FilesStayShort) {
  for (const std::string& file : cpp_files()) {
    const int num_lines = static_cast<int>(split(read(root() / file)).size());
    if (kLongFiles.contains(file)) {
      EXPECT_GT(num_lines, kMaxLines) << file << " needs no exception any more";
    } else {
      EXPECT_LE(num_lines, kMaxLines) << file << ": split it, or give a reason in kLongFiles of this test";
    }
  }
  for (const auto& [file, reason] : kLongFiles) {
    EXPECT_TRUE(fs::exists(root() / file)) << file;
    EXPECT_FALSE(reason.empty()) << file;
  }
}

TEST(Repository, NoTypeIsDefinedInTwoHeaders) {
  EXPECT_EQ(
      types_defined_twice({{"a.h", "namespace n {\nstruct A {\n"}, {"b.h", "namespace n {\nclass A : B {\n"}})
          .size(),
      1u);
  EXPECT_EQ(
      types_defined_twice({{"a.h", "namespace n {\nstruct A {\n"}, {"b.h", "namespace m {\nstruct A {\n"}})
          .size(),
      0u);
  std::map<std::string, std::string> headers;
  for (const std::string& path : cpp_files()) {
    if (path.starts_with("capstan/") && path.ends_with(".h")) headers[path] = read(root() / path);
  }
  EXPECT_EQ(types_defined_twice(headers), Lines{});
}

}  // namespace
