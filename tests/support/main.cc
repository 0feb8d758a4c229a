// The main function of the test programs: that of GoogleTest, and --file=FOLDER/NAME_test.cc, which runs the
// tests of that source file only.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

// For GoogleTest's --gtest_filter; empty where the program has no test of that file.
std::string filter_of(std::string_view file) {
  std::string filter;
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *program.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (!std::string_view(test.file()).ends_with(file)) continue;
      filter += std::string(suite.name()) + '.' + test.name() + ':';
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view option = "--file=";
  if (argc == 1) return RUN_ALL_TESTS();
  const std::string_view argument = argv[1];
  if (argc > 2 || !argument.starts_with(option)) {
    std::fprintf(stderr, "usage: %s [--file=FOLDER/NAME_test.cc] [GoogleTest's options]\n", argv[0]);
    return 2;
  }
  const std::string names = filter_of(argument.substr(option.size()));
  if (names.empty()) {
    std::fprintf(stderr, "%s: no test of a file %s here\n", argv[0], argv[1] + option.size());
    return 2;
  }
  GTEST_FLAG_SET(filter, names);
  return RUN_ALL_TESTS();
}
