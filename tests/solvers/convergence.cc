// convergence [--law NAME|all] [--extreme|--ordinary] [--first N] [--count N] [--list] [--page FILE.md]
//
// Solves random contact problems (tests/support/random_problem.h) to a relative momentum residual of 1e-8 and
// prints how many reached 1e-5 and 1e-8 by the judge's own sums, the histogram of iterations, and whether the
// cost fell at every iteration of the exact line search (looked at in every 50th problem, by solving it again
// with 1, 2, 3, ... iterations allowed). Fails unless enough of them converge (below) and every cost falls.
// The full form is
//
//   convergence --count 100000
//
// and ctest runs a short one. --list names the problems that did not reach 1e-8; --first N --count 1 repeats
// one.
//
// With the law coulomb, besides: in how many problems the friction of every contact is within 1e-3 of what
// its own normal impulse allows (tests/support/cone.h), and what the others are. --page also writes that as a
// page:
//
//   convergence --law coulomb --count 100000 --page docs/results/random_problems.md
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "capstan/laws/contact_laws.h"
#include "capstan/math/branch_matrix.h"
#include "tests/support/cone.h"
#include "tests/support/random_problem.h"

namespace {

using namespace capstan;
using test::Difficulty;

constexpr const char* kLaws[] = {"sap", "lagged", "similar", "regularized_lagged", "coulomb"};
constexpr int kNumLaws = 5;

// The fraction of problems that must reach 1e-5 and 1e-8. Some extreme problems of similar end at the
// round-off of impulses that cancel (counted apart, below).
struct Demand {
  double loose, tight;
};
constexpr Demand kStrict = {1, 0.999}, kExtreme[kNumLaws] = {kStrict, kStrict, {1, 0.995}, kStrict, kStrict};

struct Arguments {
  std::string law = "all";
  Difficulty difficulty = Difficulty::extreme;
  int first = 0, count = 1000;
  bool list = false;
  std::string page;
};

struct Tally {
  int problems = 0, loose = 0, tight = 0, rounding = 0, costs_checked = 0, costs_rising = 0, most_bodies = 0;
  long contacts = 0;
  double worst = 0, worst_law = 0;
  std::vector<int> histogram;
  test::ConeTally cone;  // law coulomb
};

[[noreturn]] void usage() {
  std::fprintf(
      stderr,
      "usage: convergence [--law sap|lagged|similar|regularized_lagged|coulomb|all] [--extreme|--ordinary] "
      "[--first N] [--count N] [--list] [--page FILE.md]\n");
  std::exit(2);
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : (usage(), ""); };
    const auto number = [&] {
      char* end = nullptr;
      const char* text = value();
      const long n = std::strtol(text, &end, 10);
      if (end == text || *end != '\0' || n < 0) usage();
      return static_cast<int>(n);
    };
    if (option == "--law") {
      a.law = value();
    } else if (option == "--extreme") {
      a.difficulty = Difficulty::extreme;
    } else if (option == "--ordinary") {
      a.difficulty = Difficulty::ordinary;
    } else if (option == "--first") {
      a.first = number();
    } else if (option == "--count") {
      a.count = number();
    } else if (option == "--list") {
      a.list = true;
    } else if (option == "--page") {
      a.page = value();
    } else {
      usage();
    }
  }
  bool known = a.law == "all";
  for (const char* name : kLaws) known = known || a.law == name;
  if (!known || (!a.page.empty() && a.law != "coulomb")) usage();
  return a;
}

// Whether the cost falls from each iteration to the next, up to the round-off of its own sum. The rare long
// solves are looked at every 20th iteration after the 40th. (The primal-dual iteration does not look at
// costs.)
bool cost_falls(test::StepProblem* s, NewtonOptions options) {
  options.globalization = Globalization::exact_line_search;
  const int iterations = s->solve(options).most_iterations;
  double last = 0;
  for (int k = 0; k <= iterations; k += k < 40 ? 1 : 20) {
    NewtonOptions limited = options;
    limited.max_iterations = k;
    s->solve(limited);
    const Residual r = calc_residual(s->problem, s->contacts, s->answer());
    if (k > 0 && r.cost > (1 + 1e-12) * last) return false;
    last = r.cost;
  }
  return true;
}

// How far half the last bits of the velocities of its bodies move the impulse of each contact of a group.
// (The law coulomb takes impulses at velocities that count from zero.)
std::vector<Vec3> calc_velocity_rounding(const test::StepProblem& s, const ConstraintGroup& group) {
  const Problem& problem = s.problem;
  Vec6 U = Vec6::Zero();
  for (int p = group.part_begin; p < group.part_end; ++p) {
    const Tree& tree = s.model.trees[problem.parts[p].block];
    const auto J = problem.jacobian(group, problem.parts[p]);
    U.head(group.num_rows) += J.cwiseAbs() * s.newton.v.segment(tree.dof_begin, tree.num_dofs()).cwiseAbs();
  }
  const Vec6 motion = problem.calc_motion(group, s.newton.v);
  std::vector<Vec3> change;
  for (int i = group.contact_begin; i < group.contact_end; ++i) {
    const bool is_plain = group.num_rows == 3;
    const Vec3 v = is_plain ? Vec3(motion.head<3>()) : Vec3(problem.X[i] * motion);
    const Vec3 bits = is_plain ? Vec3(U.head<3>()) : Vec3(problem.X[i].cwiseAbs() * U);
    Mat3 G;
    evaluate(problem.options.law, problem.options.normal_law, problem.contacts[i], v, nullptr, nullptr, &G);
    change.push_back(G.cwiseAbs() * bits);
  }
  return change;
}

// The momentum residual that half the last bit of every impulse makes: no answer in double precision can be
// told from one that is off by as much.
double calc_rounding(const test::StepProblem& s) {
  const Problem& problem = s.problem;
  const VecX& v = *s.answer().v;
  VecX error = VecX::Zero(v.size()), net = VecX::Zero(v.size()), momentum = VecX::Zero(v.size());
  for (const ConstraintGroup& group : problem.groups) {
    Vec6 f = Vec6::Zero(), size = Vec6::Zero();
    std::vector<Vec3> bits(group.contact_end - group.contact_begin, Vec3::Zero());
    if (problem.options.law == ContactLaw::coulomb) bits = calc_velocity_rounding(s, group);
    for (int i = group.contact_begin; i < group.contact_end; ++i) {
      const Vec3& gamma = s.newton.impulse[i];
      const Vec3 part = gamma.cwiseAbs() + bits[i - group.contact_begin];
      if (group.num_rows == 3) {
        f.head<3>() += gamma;
        size.head<3>() += part;
      } else {
        f += problem.X[i].transpose() * gamma;
        size += problem.X[i].cwiseAbs().transpose() * part;
      }
    }
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const auto J = problem.jacobian(group, problem.parts[p]);
      const Tree& tree = s.model.trees[problem.parts[p].block];
      net.segment(tree.dof_begin, tree.num_dofs()) += J.transpose() * f.head(group.num_rows);
      error.segment(tree.dof_begin, tree.num_dofs()) += J.cwiseAbs().transpose() * size.head(group.num_rows);
    }
  }
  const BranchPattern& pattern = s.model.system_pattern;
  multiply(pattern, problem.motion->A.data(), v.data(), momentum.data());
  double e = 0, p = 0, j = 0;
  for (int k = 0; k < v.size(); ++k) {
    const double scale = 1 / problem.motion->A[pattern.row_start[k + 1] - 1];
    e += scale * error[k] * error[k];
    p += scale * momentum[k] * momentum[k];
    j += scale * net[k] * net[k];
  }
  const double size = std::max(p, j);
  return size > 0 ? 0.5 * std::numeric_limits<double>::epsilon() * std::sqrt(e / size) : 0;
}

Tally solve_all(const Arguments& a, ContactLaw law) {
  Tally tally;
  NewtonOptions options;
  options.relative_tolerance = 1e-8;
  auto told = std::chrono::steady_clock::now();
  for (int i = a.first; i < a.first + a.count; ++i) {
    const auto s = test::random_problem(a.difficulty, law, i);
    const SolverReport report = s->solve(options);
    if (law == ContactLaw::coulomb) {
      set_bounds(s->newton, &s->problem);
      tally.cone.add(*s, report);
      if (a.list && report.cone_violation > test::kConeSettled)
        std::printf("  problem %d: cone violation %.1e\n", i, report.cone_violation);
    }
    const Residual r = calc_residual(s->problem, s->contacts, s->answer());
    const bool tight = report.converged && r.momentum < 2e-8;  // the judge adds up in another order
    ++tally.problems;
    tally.loose += r.momentum < 1e-5;
    tally.tight += tight;
    tally.contacts += s->contacts.size();
    tally.most_bodies = std::max(tally.most_bodies, static_cast<int>(s->model.trees.size()));
    if (!(r.momentum <= tally.worst)) tally.worst = r.momentum;
    if (!(r.law <= tally.worst_law)) tally.worst_law = r.law;
    if (report.most_iterations >= static_cast<int>(tally.histogram.size()))
      tally.histogram.resize(report.most_iterations + 1);
    ++tally.histogram[report.most_iterations];
    const double rounding = tight ? 0 : calc_rounding(*s);
    tally.rounding += rounding > options.relative_tolerance;
    if (a.list && !tight) {
      std::printf(
          "  problem %d: %d bodies, %d contacts, residual %.1e after %d iterations (report: %.1e, %s; half "
          "the "
          "last bits of impulses: %.1e)\n",
          i, static_cast<int>(s->model.trees.size()), s->contacts.size(), r.momentum, report.most_iterations,
          report.momentum_residual, report.at_round_off ? "at round-off" : "not at round-off", rounding);
      std::fflush(stdout);
    }
    if (i % 50 == 0 && law != ContactLaw::coulomb) {  // whose bounds, and so its cost, are found on the way
      ++tally.costs_checked;
      if (!cost_falls(s.get(), options)) {
        ++tally.costs_rising;
        if (a.list) std::printf("  problem %d: the cost rises\n", i);
      }
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - told > std::chrono::seconds(10)) {
      told = now;
      std::fprintf(stderr, "%s: %d of %d\n", kLaws[static_cast<int>(law)], tally.problems, a.count);
    }
  }
  return tally;
}

bool print(const Tally& t, const Arguments& a, int law) {
  const bool extreme = a.difficulty == Difficulty::extreme;
  std::printf("%s, %s: %d problems with 1 to %d bodies and %.1f contacts on average\n", kLaws[law],
              extreme ? "extreme" : "ordinary", t.problems, t.most_bodies,
              static_cast<double>(t.contacts) / t.problems);
  std::printf("  to 1e-5: %d (%.3f %%)   to 1e-8: %d (%.3f %%)   worst residual %.1e\n", t.loose,
              100.0 * t.loose / t.problems, t.tight, 100.0 * t.tight / t.problems, t.worst);
  if (t.tight < t.problems) {
    std::printf(
        "  of the %d others, half the last bits of their impulses (of coulomb: and velocities) are worth "
        "more than 1e-8 in %d\n",
        t.problems - t.tight, t.rounding);
  }
  std::printf("  impulses against the law at the answer's velocities: %.1e of the largest impulse at worst\n",
              t.worst_law);
  if (t.costs_checked > 0)
    std::printf("  cost: fell at every iteration in %d of %d problems\n", t.costs_checked - t.costs_rising,
                t.costs_checked);
  if (static_cast<ContactLaw>(law) == ContactLaw::coulomb) std::printf("%s", t.cone.text().c_str());
  std::printf("  iterations:problems");
  for (std::size_t i = 0; i < t.histogram.size(); ++i) {
    if (t.histogram[i] > 0) std::printf(" %d:%d", static_cast<int>(i), t.histogram[i]);
  }
  std::printf("\n");
  std::fflush(stdout);
  const Demand demand = extreme ? kExtreme[law] : kStrict;
  const bool good = t.loose >= demand.loose * t.problems &&
                    t.tight + t.rounding >= demand.tight * t.problems && t.costs_rising == 0;
  if (!good) {
    std::printf("  FAILED: asked for are %g %% to 1e-5, %g %% to 1e-8 or to round-off, and costs that fall\n",
                100 * demand.loose, 100 * demand.tight);
  }
  return good;
}

// As many extreme ones as asked for, and a fifth of that of ordinary ones.
bool write_page(Arguments a) {
  std::FILE* file = std::fopen(a.page.c_str(), "w");
  if (!file) {
    std::fprintf(stderr, "convergence: %s cannot be written\n", a.page.c_str());
    return false;
  }
  std::fprintf(
      file,
      "# Random problems with the law coulomb\n\nWritten by `convergence --law coulomb --count %d --page "
      "FILE` (`tests/solvers/convergence.cc`; `tests/support/random_problem.h` tells what is drawn). Do not "
      "edit.\n",
      a.count);
  bool good = true;
  for (const Difficulty difficulty : {Difficulty::extreme, Difficulty::ordinary}) {
    const bool is_extreme = difficulty == Difficulty::extreme;
    a.difficulty = difficulty;
    if (!is_extreme) a.count = std::max(1, a.count / 5);
    const Tally t = solve_all(a, ContactLaw::coulomb);
    good &= print(t, a, static_cast<int>(ContactLaw::coulomb));
    const double n = t.problems;
    std::fprintf(file,
                 "\n## %s\n\n| problems | bodies | contacts, mean | momentum to 1e-5 | to 1e-8 | worst | of "
                 "those above "
                 "1e-8, at round-off |\n|---|---|---|---|---|---|---|\n"
                 "| %d | 1 to %d | %.1f | %d (%.3f %%) | %d (%.3f %%) | %.1e | %d of %d |\n\n%s",
                 is_extreme ? "Extreme" : "Ordinary", t.problems, t.most_bodies,
                 static_cast<double>(t.contacts) / n, t.loose, 100 * t.loose / n, t.tight, 100 * t.tight / n,
                 t.worst, t.rounding, t.problems - t.tight, t.cone.page().c_str());
  }
  return std::fclose(file) == 0 && good;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  if (!arguments.page.empty()) return write_page(arguments) ? 0 : 1;
  bool good = true;
  for (int law = 0; law < kNumLaws; ++law) {
    if (arguments.law != "all" && arguments.law != kLaws[law]) continue;
    good &= print(solve_all(arguments, static_cast<ContactLaw>(law)), arguments, law);
  }
  return good ? 0 : 1;
}
