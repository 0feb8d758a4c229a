#include "capstan/base/diagnostics.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace capstan::diagnostics_test {
namespace {

TEST(Source, NamesFileAndLineAsFarAsKnown) {
  EXPECT_EQ(to_string(Source{"arm.xml", 12}), "arm.xml:12");
  EXPECT_EQ(to_string(Source{"arm.xml"}), "arm.xml");
  EXPECT_EQ(to_string(Source{}), "");
}

TEST(Diagnostic, SaysWhereWhatAndRemedy) {
  Diagnostic diagnostic;
  diagnostic.where = {"arm.xml", 12};
  diagnostic.what = "body 'hand' has mass -1 kg";
  diagnostic.remedy = "write a mass above 0";
  EXPECT_EQ(to_string(diagnostic), "arm.xml:12: error: body 'hand' has mass -1 kg; write a mass above 0");
}

TEST(Diagnostic, LeavesOutWhatIsNotKnown) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::warning;
  diagnostic.what = "no bodies";
  EXPECT_EQ(to_string(diagnostic), "warning: no bodies");
}

TEST(Diagnostics, StartEmptyAndOk) {
  const Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(diagnostics.text(), "");
}

TEST(Diagnostics, CountErrorsAndWarningsApart) {
  Diagnostics diagnostics;
  diagnostics.warning({"a.urdf", 1}, "first");
  EXPECT_TRUE(diagnostics.ok());
  diagnostics.error({"a.urdf", 2}, "second", "remove it");
  diagnostics.warning({}, "third");
  EXPECT_FALSE(diagnostics.ok());
  EXPECT_EQ(diagnostics.num_errors(), 1);
  EXPECT_EQ(diagnostics.num_warnings(), 2);
  EXPECT_EQ(diagnostics.text(),
            "a.urdf:1: warning: first\na.urdf:2: error: second; remove it\nwarning: third");
}

TEST(Diagnostics, NotUnderstoodIsAnErrorOnlyWhenStrict) {
  Diagnostics diagnostics;
  diagnostics.not_understood({"a.xml", 3}, "element <skin>");
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(diagnostics.num_warnings(), 1);
  diagnostics.strict = true;
  diagnostics.not_understood({"a.xml", 4}, "element <skin>");
  EXPECT_EQ(diagnostics.num_errors(), 1);
  EXPECT_EQ(diagnostics.num_warnings(), 1);
}

TEST(InputError, CarriesEveryMessage) {
  Diagnostics diagnostics;
  diagnostics.error({"a.yaml", 1}, "first");
  diagnostics.error({"a.yaml", 9}, "second");
  const InputError error(diagnostics);
  EXPECT_STREQ(error.what(), "a.yaml:1: error: first\na.yaml:9: error: second");
  EXPECT_EQ(error.diagnostics().num_errors(), 2);
}

TEST(InputError, OfOneMessage) {
  const InputError error({"a.yaml", 7}, "dt is -1 s", "write a time above 0");
  EXPECT_STREQ(error.what(), "a.yaml:7: error: dt is -1 s; write a time above 0");
  EXPECT_EQ(error.diagnostics().num_errors(), 1);
}

// Of hundreds, the first errors and how many more there are.
TEST(InputError, OfManyIsShort) {
  Diagnostics diagnostics;
  diagnostics.warning({}, "a warning");
  for (int i = 0; i < 400; ++i) diagnostics.error({"a.yaml", i + 1}, "wrong");
  const InputError error(diagnostics);
  const std::string what = error.what();
  EXPECT_EQ(std::count(what.begin(), what.end(), '\n'), 20);
  EXPECT_EQ(what.find("a.yaml:1: error: wrong\n"), 0u);
  EXPECT_NE(what.find("a.yaml:20: error: wrong\nand 381 more errors and warnings; 'capstan check' lists all"),
            std::string::npos)
      << what;
  EXPECT_EQ(error.diagnostics().num_errors(), 400);
}

TEST(Assert, HoldsSilentlyAndFailsWithConditionAndPlace) {
  EXPECT_NO_THROW(CAPSTAN_ASSERT(1 + 1 == 2));
  try {
    CAPSTAN_ASSERT(1 + 1 == 3);
    FAIL() << "a false condition passed";
  } catch (const std::logic_error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("1 + 1 == 3"), std::string::npos) << what;
    EXPECT_NE(what.find("diagnostics_test.cc:"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace capstan::diagnostics_test
