#include "experiments/course.h"

#include <fmt/format.h>

namespace capstan::experiments {

ContactCourse::ContactCourse(const Simulation& start) {
  trajectory.add(start.state.time, start.state.q);
}

void ContactCourse::add(const Simulation& s, const GroundContact& ground) {
  trajectory.add(s.state.time, s.state.q);
  time.push_back(s.state.time);
  slip.push_back(ground.velocity.x());
  normal_velocity.push_back(ground.velocity.z());
  normal_force.push_back(ground.force.z());
  friction.push_back(ground.force.x());
}

Table errors_table(const std::vector<double>& steps) {
  Table table{
      "orders", "Error e_q of the trajectory against Lagged at the smallest step", {"dt [s]"}, {}, true};
  for (const double dt : steps) table.rows.push_back({fmt::format("{:g}", dt)});
  return table;
}

Series calc_errors(const Law& law, const std::vector<double>& steps, const std::string& column,
                   const std::function<double(double dt)>& error, Table* table) {
  Series series{law.name, steps, {}, law.line, true};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    series.y.push_back(error(steps[i]));
    table->rows[i].push_back(fmt::format("{:.3g}", series.y.back()));
  }
  table->columns.push_back(column);
  return series;
}

Series first_order(const Series& series) {
  Series line{"first order", series.x, {}, LineStyle::dotted, false, Series::kGray};
  for (const double dt : series.x) line.y.push_back(series.y[0] * dt / series.x[0]);
  return line;
}

}  // namespace capstan::experiments
