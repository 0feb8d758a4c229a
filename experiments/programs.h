// The experiments, one file each.
#pragma once

#include "experiments/experiment.h"

namespace capstan::experiments {

Result spring_cylinder(const Run& run);
Result clutter_sap(const Run& run);
Result clutter_laws(const Run& run);
Result conveyor_belt(const Run& run);
Result falling_sphere(const Run& run);
Result sliding_rod(const Run& run);
Result grasp(const Run& run);
Result grasp_pads(const Run& run);
Result barrett_finger(const Run& run);
Result crowned_pulley(const Run& run);
Result anisotropic_friction(const Run& run);
Result conic_solvers(const Run& run);
Result slip_control(const Run& run);
Result dual_arm(const Run& run);
Result simulation_benchmarks(const Run& run);
Result no_ghosts(const Run& run);
Result no_slip_grasp(const Run& run);
Result quadruped_walk(const Run& run);
Result rigid_models(const Run& run);
Result course_scenes(const Run& run);
Result ncp_solvers(const Run& run);
Result knots(const Run& run);
Result ring_chain(const Run& run);
Result filament_gripper(const Run& run);
Result shoelace(const Run& run);

}  // namespace capstan::experiments
