// Looks at a compiled scene for what is allowed but probably not meant, before it runs. Everything found is a
// warning with the place in the file and a remedy.
//
//   density    mass over volume of a body's shapes, outside 1 to 30000 kg/m^3
//   inertia    trace against that of the body's shapes at uniform density and the same mass, off by > 10
//   masses     neighbouring links whose masses differ by > 10^4
//   names      blanks at the ends, characters that logs quote, names of a kind that differ by case only
//   start      joint positions outside limits, controls outside their range, open constraints (start and
//              keyframes)
//   controls   over time: outside their range, or from the end of the run on
//   units      find_mistakes (scene/mistakes.h): degrees for radians, millimetres for metres, ...
//   time step  springs and PD gains that the chosen scheme treats explicitly, beyond its stability limit, or
//              implicitly but so stiff that they swing many times in a step
//   materials  not used by any shape, rod or pair
//   patches    fields that cannot carry the weight of their free body
//   rods       moduli and densities in other units, as wide as long, edges shorter than a tenth of the width,
//              waves that the chosen scheme does not keep bounded
//   soft bodies  moduli and densities in other units, poor tets, locking, frequencies that the chosen scheme
//   does
//              not keep bounded
//   overlaps   shapes that may collide and begin inside each other
#pragma once

#include <string>
#include <vector>

#include "capstan/dynamics/tree.h"
#include "capstan/step/step.h"

namespace capstan {

// `model` is compile(scene). The options are those that the run will use.
void examine(const Scene& scene, const Model& model, const StepOptions& options, Diagnostics* diagnostics);

// Its part about the velocities of a start, `what`, in loops.
void examine_loops(const Scene& scene, const Model& model, const ModelKeyframe& start, const Source& where,
                   const std::string& what, Diagnostics* diagnostics);

// Its parts about patches, rods and soft bodies.
void examine_patches(const Scene& scene, const Model& model, Diagnostics* diagnostics);
void examine_rods(const Scene& scene, const Model& model, const StepOptions& options,
                  Diagnostics* diagnostics);
void examine_soft_bodies(const Scene& scene, const Model& model, const StepOptions& options,
                         Diagnostics* diagnostics);

// Shapes that may collide and overlap by more than 1 mm, each pair once with its largest depth.
struct Overlap {
  int shape_a = 0, shape_b = 0;
  double depth = 0;  // [m]
};
std::vector<Overlap> find_overlaps(const Model& model, const Placement& placement);

// The joint springs, PD gains and damping as a step meets them at q: the largest w^2 of K x = w^2 M x, the
// dof that has the largest part in it, and the damping d = x^T D x / x^T M x of that mode [1/s].
struct StiffestMode {
  double frequency_squared = 0;  // [1/s^2]
  double damping = 0;            // [1/s]
  int dof = -1;
};
StiffestMode calc_stiffest_mode(const Model& model, const State& state);

// Whether the scheme keeps x'' = -w^2 x - d x' bounded at this step (exact, from the eigenvalues of one
// step):
//   explicit Euler    w^2 dt <= d  and  2 d dt <= 4 + w^2 dt^2
//   symplectic Euler  w^2 dt^2 + 2 d dt <= 4
//   others            always
bool is_stable(Integrator integrator, double dt, double frequency_squared, double damping);

}  // namespace capstan
