// What the experiments share: running a scene, and looking into the problem of a step.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "capstan/io/plot.h"
#include "capstan/step/step.h"

namespace capstan::experiments {

struct Law {
  ContactLaw law;
  const char* name;
  LineStyle line = LineStyle::solid;  // Similar is dashed: it often lies on SAP
};
inline constexpr Law kSap = {ContactLaw::sap, "SAP"}, kLagged = {ContactLaw::lagged, "Lagged"},
                     kSimilar = {ContactLaw::similar, "Similar", LineStyle::dashed},
                     kRegularized = {ContactLaw::regularized_lagged, "Lagged, regularized"},
                     kCoulomb = {ContactLaw::coulomb, "Coulomb"};

// A model, its state and what a step needs.
struct Simulation {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;
  Input input;
  Report report;       // of the last step
  double seconds = 0;  // of this thread's processor, of all steps so far, solver, collision and all

  // `scene`: a Scene, or the name of a shipped one.
  Simulation(const Scene& scene, ContactLaw law, double dt = 0);
  Simulation(const std::string& scene, ContactLaw law, double dt = 0);

  const Report& step();
  // Steps until state.time reaches `time`; `each` is called after every step.
  void run_until(double time, const std::function<void()>& each = {});

  double total_energy() const { return calc_mechanics(model, state).total(); }
};

// [s] that the processor has worked for this thread: wall clocks count what other programs do, too.
double processor_seconds();
Scene shipped_scene(const std::string& name);

// --- The problem of the last step (or any other) ---

// Velocity of each contact in its frame at v [m/s], with the surface velocity of belts.
std::vector<Vec3> contact_velocities(const Problem& problem, const VecX& v);

// What the world's shapes do to the one thing that moves in a planar scene, at the end of the last step.
struct GroundContact {
  Vec3 force = Vec3::Zero();  // [N] world axes, all contacts together
  Vec3 velocity = Vec3::Constant(std::numeric_limits<double>::quiet_NaN());  // [m/s] mean of those that push
  bool touches = false;
};
GroundContact ground_contact(const Simulation& simulation);

// The Hessian A + J^T G J of the whole problem, dense.
MatX dense_hessian(const Problem& problem, const VecX& v);
double condition_number(const MatX& symmetric);

// The cost that the step minimizes, at v.
double calc_cost(const Problem& problem, const VecX& v);

// --- Sums over a run ---

// Root mean square over time of |x(t) - reference(t)|, by the trapezoidal rule (sap VI-B, icf XI).
class ErrorIntegral {
 public:
  void add(double time, double error);
  double value() const;

 private:
  double sum_ = 0, last_time_ = 0, last_square_ = 0, first_time_ = 0;
  bool started_ = false;
};

// A trajectory of some numbers, at times that are multiples of dt; between them it is linear.
struct Trajectory {
  std::vector<double> time;
  std::vector<VecX> x;
  void add(double t, const VecX& value);
  VecX at(double t) const;
};

// |a - b| over the times of `a`, as ErrorIntegral.
double distance(const Trajectory& a, const Trajectory& b);

// Slope of log y over log x, least squares: the order of convergence.
double fitted_order(const std::vector<double>& x, const std::vector<double>& y);

// Order p of e_{k+1} = C e_k^p by the last three errors: 1 for linear, 2 for quadratic convergence. NaN when
// there are fewer.
double convergence_order(const std::vector<double>& errors);

double mean(const std::vector<double>& values);
double median(std::vector<double> values);

}  // namespace capstan::experiments
