// Problems of rigid contact to files and back.
#include "capstan/io/rigid_dump.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "capstan/io/output_file.h"
#include "capstan/rigid/rigid_solvers.h"
#include "tests/support/random_problem.h"

namespace capstan::rigid_dump_test {
namespace {

using namespace test;

TEST(RigidDump, ReadBackItIsTheSameProblem) {
  const std::string path = testing::TempDir() + "/problem.json";
  int contacts = 0;
  for (int i = 0; i < 10; ++i) {
    const auto s = random_problem(Difficulty::ordinary, ContactLaw::sap, i);
    if (s->contacts.size() == 0) continue;
    RigidOptions options;
    options.tolerance = 1e-9;
    const RigidProblem problem(s->problem, s->contacts, options);
    RigidDump dump = make_dump(problem);
    dump.scene = "heap";
    write_file(path, to_json(dump));
    const RigidDump read = read_rigid_dump(path);
    contacts += read.num_contacts();
    EXPECT_EQ(read.W, dump.W);
    for (const RigidModel model : {RigidModel::ncp, RigidModel::no_slip, RigidModel::stewart_trinkle}) {
      options.model = model;
      const RigidProblem first(s->problem, s->contacts, options), second = read.make(options);
      EXPECT_LT((first.b - second.b).norm(), 1e-12 * (1 + first.b.norm()));
      const VecX x = VecX::LinSpaced(first.num_rows(), 0.1, 1);
      EXPECT_NEAR(first.calc_residual(x), second.calc_residual(x), 1e-9 * first.calc_residual(x));
    }
    const std::string other = testing::TempDir() + "/problem.hdf5";
    EXPECT_TRUE(write_fclib(other, problem, dump));
    EXPECT_GT(std::filesystem::file_size(other), 1000U);
  }
  EXPECT_GT(contacts, 20);
}

TEST(RigidDump, TellsWhatIsWrongWithAFile) {
  const std::string path = testing::TempDir() + "/wrong.json";
  for (const char* text : {"", "{", "{}", "[1, 2]",
                           R"({"capstan_rigid_problem": 1, "scene": "", "step": 0, "time": 0, "dt": 0.1,
                               "contacts": [{"row": 5}], "scalars": [], "free": [0], "W": [[1]]})"}) {
    write_file(path, std::string(text));
    EXPECT_THROW(read_rigid_dump(path), InputError) << text;
  }
}

}  // namespace
}  // namespace capstan::rigid_dump_test
