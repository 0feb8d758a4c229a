#include "capstan/io/rod_log.h"

#include <algorithm>
#include <cmath>

#include "capstan/model/add_rod.h"

namespace capstan {

std::vector<LogColumn> rod_columns(const Model& model) {
  std::vector<LogColumn> columns;
  for (const int object : find_rods(model)) {
    const std::string name = rod_name(model, object);
    const auto add = [&](const char* what, const char* unit) {
      columns.push_back({"rods", name + what, unit});
    };
    add(".tension.least", "N");
    add(".tension.most", "N");
    add(".curvature", "1/m");
    add(".twist", "rad/m");
    add(".energy", "J");
    for (const char* end : {".first.x", ".first.y", ".first.z"}) add(end, "m");
    if (rod_of(model, object).spec().closed) continue;
    for (const char* end : {".last.x", ".last.y", ".last.z"}) add(end, "m");
  }
  return columns;
}

void calc_rod_numbers(const Model& model, const State& state, std::span<double> numbers) {
  auto next = numbers.begin();
  for (const int id : find_rods(model)) {
    const Object& object = model.objects[id];
    const Rod& rod = rod_of(model, id);
    const auto q = state.q.segment(object.q_begin, object.num_positions());
    double least = kInfinity, most = -kInfinity, curvature = 0, twist = 0;
    for (int i = 0; i < rod.num_edges(); ++i) {
      const double tension = rod.tension(q, i);
      least = std::min(least, tension);
      most = std::max(most, tension);
    }
    for (int j = 0; j < rod.num_joints(); ++j) {
      const Vec3 strain = rod.strain(q, j) / rod.rest_span(j);
      curvature = std::max(curvature, strain.head<2>().norm());
      twist = std::max(twist, std::abs(strain[2]));
    }
    for (const double x : {least, most, curvature, twist, rod.calc_elastic_energy(q)}) *next++ = x;
    for (const double x : Rod::node(q, 0)) *next++ = x;
    if (rod.spec().closed) continue;
    for (const double x : Rod::node(q, rod.num_nodes() - 1)) *next++ = x;
  }
  CAPSTAN_ASSERT(next == numbers.end());
}

}  // namespace capstan
