// The strains of a discrete elastic rod at one node, the joint of two edges e and f, with their first and
// second derivatives, and the constants of its section.
//
//   kb    = 2 t_e x t_f / (1 + t_e.t_f)            curvature binormal, |kb| = 2 tan(turn / 2)
//   kappa = kb.(u_e + u_f) / 2                     u = m2 for kappa_1, u = -m1 for kappa_2
//   tau   = gamma_f - gamma_e + beta               beta: twist of the reference frames
//   E     = sum of k_a / 2 (strain_a - strain_a at rest)^2,  k = (E I_1, E I_2, G J) / l
//
// Dofs of a joint: (x_0, gamma_e, x_1, gamma_f, x_2), 11 numbers; e = x_1 - x_0, f = x_2 - x_1. Derivatives
// are those of a motion that carries the reference frames by parallel transport in time; a second derivative
// then depends on the order of the two, by the moment about an edge times the area its tangent sweeps. What
// is computed here is the symmetric part.
// Limits: no shear; an edge that folds back on its neighbour has infinite curvature. Both strains are per
// node: over the length l between the middles of the edges.
//
// Source: Bergou, Wardetzky, Robinson, Audoly, Grinspun, "Discrete elastic rods"; Bergou, Audoly, Vouga,
// Wardetzky, Grinspun, "Discrete viscous threads"; Li, Chou, "A convex formulation of compliant contact
// between filaments and rigid bodies", section III-A, whose derivatives by the angles are not zero.
#pragma once

#include "capstan/math/types.h"
#include "capstan/scene/rod.h"

namespace capstan {

using Vec11 = Eigen::Matrix<double, 11, 1>;
using Mat11 = Eigen::Matrix<double, 11, 11>;
using JointGradient = Eigen::Matrix<double, 11, 3>;  // of (kappa_1, kappa_2, tau)

// An edge where it is: its material frame is (m1, m2, tangent).
struct RodEdge {
  Vec3 tangent, director, m1, m2;  // unit; the director is m1 turned back by the edge's angle
  double length = 0;               // [m]
  double angle = 0;                // gamma [rad]
};
// With m1, m2 from director and angle.
RodEdge make_rod_edge(const Vec3& span, const Vec3& director, double angle);

// Turns v as the shortest rotation from unit vector a to unit vector b does; opposite vectors: about an axis
// perpendicular to both.
Vec3 parallel_transport(const Vec3& a, const Vec3& b, const Vec3& v);

// beta of two edges, of its values that differ by whole turns the one nearest `previous` [rad].
double calc_reference_twist(const RodEdge& e, const RodEdge& f, double previous);

// (kappa_1, kappa_2, tau).
Vec3 calc_joint_strain(const RodEdge& e, const RodEdge& f, double beta);
JointGradient calc_joint_gradient(const RodEdge& e, const RodEdge& f);

// H += sum of weight_a times the Hessian of strain a, whole.
void add_joint_hessian(const RodEdge& e, const RodEdge& f, const Vec3& weight, Mat11* H);

// --- Sections ----------------------------------------------------------------------------------------------

struct SectionConstants {
  double area = 0;                   // [m^2]
  double second_moment[2] = {0, 0};  // [m^4] I_1 about m2 (for kappa_1), I_2 about m1
  double torsion = 0;                // J [m^4]
  double polar() const { return second_moment[0] + second_moment[1]; }
};
SectionConstants calc_section_constants(const RodSection& section);

}  // namespace capstan
