// What the experiments with one body in a plane (icf XI) share: the course of its contact, and errors of
// trajectories against the time step.
#pragma once

#include "experiments/experiment.h"
#include "experiments/simulation.h"

namespace capstan::experiments {

// One entry for each recorded step; the trajectory begins with the initial state.
struct ContactCourse {
  Trajectory trajectory;                            // of q
  std::vector<double> time, slip, normal_velocity;  // [s, m/s, m/s] NaN without contact
  std::vector<double> normal_force, friction;       // [N]

  explicit ContactCourse(const Simulation& start);
  void add(const Simulation& simulation, const GroundContact& ground);
};

// A table of errors: a row for each time step, to which calc_errors() adds a column.
Table errors_table(const std::vector<double>& steps);
Series calc_errors(const Law& law, const std::vector<double>& steps, const std::string& column,
                   const std::function<double(double dt)>& error, Table* table);

// The line of slope 1 through the first point of `series`.
Series first_order(const Series& series);

}  // namespace capstan::experiments
