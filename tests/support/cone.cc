#include "tests/support/cone.h"

#include <fmt/core.h>

#include <algorithm>

#include "capstan/laws/contact_laws.h"

namespace capstan::test {
namespace {

struct IslandCone {
  int contacts = 0;
  double violation = 0, net_violation = 0, friction = 0;
};

IslandCone calc_cone(const StepProblem& s, const Island& island) {
  const Problem& problem = s.problem;
  IslandCone cone;
  struct Error {
    double error, size;
  };
  std::vector<Error> points, pairs;
  double most = 0;
  with_law(problem.options.law, problem.options.normal_law, [&](auto law) {
    using Law = decltype(law);
    if constexpr (requires(ContactData * d) { Law::set_bound(0.0, d); }) {
      for (int k = island.group_begin; k < island.group_end; ++k) {
        const ConstraintGroup& group = problem.groups[s.newton.islands.groups[k]];
        const Vec6 U = problem.calc_motion(group, s.newton.v);
        Vec6 net = Vec6::Zero(), net_size = Vec6::Zero();
        for (int i = group.contact_begin; i < group.contact_end; ++i) {
          const Vec3 v = group.num_rows == 3 ? Vec3(U.head<3>()) : Vec3(problem.X[i] * U);
          ContactData d = problem.contacts[i];
          Vec3 has, allowed;
          Law::evaluate(d, v, nullptr, &has, nullptr);
          Law::set_bound(has.z(), &d);
          Law::evaluate(d, v, nullptr, &allowed, nullptr);
          points.push_back({(has - allowed).norm(), allowed.norm()});
          most = std::max(most, allowed.norm());
          cone.friction = std::max(cone.friction, s.contacts.material[i].friction);
          ++cone.contacts;
          if (group.num_rows == 3) {
            net.head<3>() += has - allowed;
            net_size.head<3>() += allowed;
          } else {
            net += problem.X[i].transpose() * (has - allowed);
            net_size += problem.X[i].transpose() * allowed;
          }
        }
        pairs.push_back({net.tail<3>().norm(), net_size.tail<3>().norm()});
        if (group.num_rows == 3) pairs.back() = {net.head<3>().norm(), net_size.head<3>().norm()};
      }
    }
  });
  const auto worst = [&](const std::vector<Error>& list) {
    double e = 0;
    for (const Error& x : list) {
      if (x.error > 0) e = std::max(e, x.error / (x.size + 0.01 * most));
    }
    return e;
  };
  cone.violation = worst(points);
  cone.net_violation = worst(pairs);
  return cone;
}

std::string percent(int part, int whole) {
  return fmt::format("{} ({:.3f} %)", part, whole > 0 ? 100.0 * part / whole : 0);
}

}  // namespace

int ConeBands::total() const {
  int sum = 0;
  for (const int n : count) sum += n;
  return sum;
}

void ConeBands::add(double violation) {
  std::size_t band = 0;
  while (band < kEnds.size() && !(violation <= kEnds[band])) ++band;
  ++count[band];
}

void ConeTally::add(const StepProblem& s, const SolverReport& report) {
  double most = 0;
  for (const Island& island : s.newton.islands.list) {
    const IslandCone cone = calc_cone(s, island);
    if (cone.contacts == 0) continue;
    const bool is_small = cone.contacts <= kSettledContacts;
    (is_small ? small_ : large_).add(cone.violation);
    most = std::max(most, cone.violation);
    if (cone.violation <= kConeSettled) continue;
    share_a_face_ += cone.net_violation <= kConeSettled;
    if (!is_small) continue;
    ++(cone.friction < 0.5 ? slippery_ : cone.friction < 1 ? rough_ : very_rough_);
  }
  problems_.add(most);
  disagree_ += (most <= kConeSettled) != (report.cone_violation <= kConeSettled);
}

std::string ConeTally::text() const {
  const int unsettled = small_.total() - small_.count[0];
  return fmt::format(
      "  cone: settled to 1e-3 in {} of the problems; of islands with at most {} contacts in {}, of larger "
      "ones in {}\n  of {} small islands that are not, {} have friction below 0.5, {} below 1, {} above; {} "
      "of "
      "all that are not are for each pair of bodies as a whole; report and judge disagree in {} problems\n",
      percent(problems_.count[0], problems_.total()), kSettledContacts,
      percent(small_.count[0], small_.total()), percent(large_.count[0], large_.total()), unsettled,
      slippery_, rough_, very_rough_, share_a_face_, disagree_);
}

std::string ConeTally::page() const {
  std::string text = fmt::format(
      "The cone: the largest error of friction at its own normal impulse, relative to the contact's impulse "
      "(and 1 % of the largest in its island). Up to 1e-3 it counts as settled. Islands of more than {} "
      "contacts "
      "are not settled on purpose (`capstan/solvers/coulomb.cc`): their bounds follow the impulses of the "
      "first "
      "iterations.\n\n| | all | up to 1e-3 | to 1e-2 | to 0.1 | to 1 | beyond "
      "|\n|---|---|---|---|---|---|---|\n",
      kExactContacts);
  const auto row = [&](const std::string& name, const ConeBands& bands) {
    text += fmt::format("| {} | {} |", name, bands.total());
    for (const int n : bands.count) text += " " + percent(n, bands.total()) + " |";
    text += "\n";
  };
  row("problems", problems_);
  row(fmt::format("islands of at most {} contacts", kSettledContacts), small_);
  row("larger islands", large_);
  const int unsettled = small_.total() - small_.count[0], all = unsettled + large_.total() - large_.count[0];
  text += fmt::format(
      "\nWhat the rest are:\n\n| islands that are not settled | |\n|---|---|\n| all | {} |\n"
      "| of more than {} contacts | {} |\n| of fewer, largest friction below 0.5 | {} |\n"
      "| of fewer, 0.5 to 1 | {} |\n| of fewer, 1 to 10 | {} |\n"
      "| of any size, only points of one pair of bodies differ: its net force of friction is within 1e-3 | "
      "{} |\n",
      all, kSettledContacts, percent(all - unsettled, all), percent(slippery_, all), percent(rough_, all),
      percent(very_rough_, all), percent(share_a_face_, all));
  text += fmt::format("\nThe solver's own figure and this one are on two sides of 1e-3 in {} problems.\n",
                      disagree_);
  return text;
}

}  // namespace capstan::test
