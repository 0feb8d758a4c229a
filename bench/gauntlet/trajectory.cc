#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>

#include "bench/gauntlet/gauntlet.h"
#include "capstan/io/output_file.h"

namespace capstan::gauntlet {

void write_trajectory(const Trajectory& trajectory, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) throw OutputError(path, "cannot be opened");
  for (std::size_t k = 0; k < trajectory.time.size(); ++k) {
    fmt::print(file, "{}", trajectory.time[k]);
    for (const BodyState& s : trajectory.at(k)) {
      for (const double x : s.position) fmt::print(file, " {}", x);
      for (const double x : s.quat_wxyz) fmt::print(file, " {}", x);
      for (const double x : s.velocity) fmt::print(file, " {}", x);
      for (const double x : s.angular) fmt::print(file, " {}", x);
    }
    fmt::print(file, "\n");
  }
  if (std::fclose(file) != 0) throw OutputError(path, "the write failed");
}

Trajectory read_trajectory(std::size_t num_bodies, const std::string& path) {
  Trajectory trajectory;
  trajectory.num_bodies = num_bodies;
  std::ifstream file(path);
  if (!file) throw InputError({path, 0}, "the trajectory cannot be read");
  // A text that is no number, such as nan, is one that is not finite: the judge sees it.
  const auto read = [&](double* x) {
    std::string word;
    if (!(file >> word)) return false;
    char* end = nullptr;
    *x = std::strtod(word.c_str(), &end);
    if (*end != 0) *x = std::numeric_limits<double>::quiet_NaN();
    return true;
  };
  for (double t = 0; read(&t);) {
    trajectory.time.push_back(t);
    bool whole = true;
    for (std::size_t i = 0; i < num_bodies; ++i) {
      BodyState s;
      for (double& x : s.position) whole = whole && read(&x);
      for (double& x : s.quat_wxyz) whole = whole && read(&x);
      for (double& x : s.velocity) whole = whole && read(&x);
      for (double& x : s.angular) whole = whole && read(&x);
      trajectory.states.push_back(s);
    }
    if (!whole) throw InputError({path, static_cast<int>(trajectory.time.size())}, "the line is too short");
  }
  return trajectory;
}

}  // namespace capstan::gauntlet
