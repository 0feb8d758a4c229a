// What a step did: the certificate.
#include <fmt/core.h>

#include "python/src/support.h"

namespace capstan::python {

void bind_report(nb::module_& m) {
  nb::class_<StepTimes>(m, "StepTimes", "Where the wall time of a step went [s].")
      .def_ro("free_motion", &StepTimes::free_motion, "Motion without contact.")
      .def_ro("collide", &StepTimes::collide, "Finding contacts.")
      .def_ro("assemble", &StepTimes::assemble, "Making the problem.")
      .def_ro("solve", &StepTimes::solve, "Solving it.")
      .def_ro("judge", &StepTimes::judge, "Grading the answer.")
      .def_ro("advance", &StepTimes::advance, "Moving on.")
      .def_prop_ro("total", &StepTimes::total, "Sum of all.");
  nb::class_<SolverReport>(m, "SolverReport", "What the solver tells of one step.")
      .def_ro("converged", &SolverReport::converged, "Solved to the tolerance.")
      .def_ro("islands", &SolverReport::islands, "Groups of bodies solved apart.")
      .def_ro("iterations", &SolverReport::iterations, "Of all islands together.")
      .def_ro("most_iterations", &SolverReport::most_iterations, "Of one island.")
      .def_ro("factorizations", &SolverReport::factorizations, "Of matrices.")
      .def_ro("momentum_residual", &SolverReport::momentum_residual, "The largest of all islands, relative.")
      .def_ro("cone_violation", &SolverReport::cone_violation,
              "Law coulomb: largest relative error of friction.")
      .def_ro("at_round_off", &SolverReport::at_round_off, "The worst island stopped at round-off.");
  nb::class_<Residual>(m, "Residual", "How good the answer of a step is, evaluated apart from the solver.")
      .def_ro("momentum", &Residual::momentum, "Relative error of the balance of momentum.")
      .def_ro("law", &Residual::law, "Impulses against those of the contact law, relative.")
      .def_ro("cone_violation", &Residual::cone_violation,
              "Friction beyond mu times the normal impulse [N s].")
      .def_ro("penetration", &Residual::penetration, "Largest overlap at the end of the step [m].")
      .def_ro("stick_slip", &Residual::stick_slip, "Largest slip where friction had more to give [m/s].")
      .def_ro("friction_gain", &Residual::friction_gain, "Energy from friction [J]; above 0 would be wrong.")
      .def_ro("dissipated_power", &Residual::dissipated_power, "That friction takes [W].")
      .def_ro("largest_impulse", &Residual::largest_impulse, "Of a contact [N s].");
  nb::class_<Report>(m, "Report", "What one step did: the certificate.")
      .def_ro("contacts", &Report::contacts, "Number of contacts.")
      .def_ro("deepest", &Report::deepest, "Largest overlap at the beginning of the step [m].")
      .def_ro("asleep", &Report::asleep, "Trees that sleep after the step.")
      .def_ro("woken", &Report::woken, "Trees that woke in it.")
      .def_ro("free_motion_iterations", &Report::free_motion_iterations,
              "Newton steps of the motion without contact.")
      .def_ro("free_motion_residual", &Report::free_motion_residual, "Its relative residual.")
      .def_ro("solver", &Report::solver, "SolverReport of the contact problem.")
      .def_ro("judge", &Report::judge, "Residual: the answer, graded.")
      .def_ro("times", &Report::times, "StepTimes.")
      .def("__repr__", [](const Report& r) {
        return fmt::format("<capstan.Report: {} contacts, {} iterations, momentum residual {:.2e}>",
                           r.contacts, r.solver.iterations, r.solver.momentum_residual);
      });
}

}  // namespace capstan::python
