// Hyperelastic solids: energy density, stress and tangent at a deformation gradient F, with Lame's constants
// mu = E / (2 (1 + nu)), lambda = E nu / ((1 + nu) (1 - 2 nu)).
//
//   linear_corotational     mu |e|^2 + lambda / 2 tr(e)^2,   e = sym(R^T F) - I, R a rotation held fixed
//   corotated               mu |F - R|^2 + lambda / 2 (J - 1)^2,   F = R S
//   neo_hookean             mu / 2 (|F|^2 - 3) - mu (J - 1) + (lambda + mu) / 2 (J - 1)^2
//   saint_venant_kirchhoff  mu |G|^2 + lambda / 2 tr(G)^2,   G = (F^T F - I) / 2
//
// All are the same linear solid at F = I. J = det F. The first is quadratic in F; which R it takes is the
// caller's matter. The neo-Hookean one is finite for every F and pushes inverted elements back (Smith, de
// Goes, Kim: Stable Neo-Hookean Flesh Simulation, 2018, without its logarithm). Saint Venant-Kirchhoff's
// gives way under strong pressure: below 58 % of a length the stress falls again, and a flat element is held
// by nothing.
//
// Tangents of isotropic energies psi(s1, s2, s3) are known in the frame F = U diag(s) V^T: with P^ = U^T P V,
//
//   dP^_ii = sum of A_ij dF^_jj,   A_ij = d2 psi / ds_i ds_j
//   dP^_ij = a_k dF^_ij + b_k dF^_ji,   i, j, k all different,
//   a_k + b_k = (psi_i - psi_j) / (s_i - s_j)   a stretch across,
//   a_k - b_k = (psi_i + psi_j) / (s_i + s_j)   a turn.
//
// The tangent is positive semidefinite where A is and these two numbers are not negative, so that it can be
// made so with no more than the eigenvalues of A (Smith, de Goes, Kim: Analytic Eigensystems for Isotropic
// Distortion Energies, 2019).
#pragma once

#include "capstan/math/types.h"
#include "capstan/scene/soft_body.h"

namespace capstan {

struct Lame {
  double mu = 0, lambda = 0;  // [Pa]
};
Lame lame_constants(double young_modulus, double poisson_ratio);

// F = U diag(s) V^T with rotations U, V and |s1| >= s2 >= |s3|; only s3 is negative where F is inverted.
struct SingularFrame {
  Mat3 U, V;
  Vec3 s;
};
SingularFrame calc_singular_frame(const Mat3& F);

// The rotation R nearest to F: U V^T above.
Mat3 nearest_rotation(const Mat3& F);

// dP/dF in the frame U, V.
struct ElasticTangent {
  Mat3 U, V;
  Mat3 A;     // [Pa] symmetric
  Vec3 a, b;  // [Pa] of the pair of axes other than k
};

// Of the linear solid about R, with the strain e = sym(R^T F) - I.
Mat3 linear_strain(const Mat3& R, const Mat3& F);
inline double linear_energy(const Lame& m, const Mat3& strain) {
  const double trace = strain.trace();
  return m.mu * strain.squaredNorm() + 0.5 * m.lambda * trace * trace;
}
inline Mat3 linear_stress(const Lame& m, const Mat3& R, const Mat3& strain) {  // P
  Mat3 T = 2 * m.mu * strain;
  T.diagonal().array() += m.lambda * strain.trace();
  return R * T;
}
ElasticTangent linear_tangent(const Lame& m, const Mat3& R);

// Of the other three. Psd: with as much taken away as makes the tangent positive semidefinite. A pressure p
// [Pa] (positive where it pulls) is that of an energy p d in addition, d the dilation that lambda acts on.
double calc_energy_density(Elasticity kind, const Lame& m, const Mat3& F);  // [J/m^3]
Mat3 calc_stress(Elasticity kind, const Lame& m, const Mat3& F);            // P = d psi / dF [Pa]
ElasticTangent calc_elastic_tangent(Elasticity kind, const Lame& m, const Mat3& F, bool psd,
                                    double pressure = 0);
double calc_dilation(Elasticity kind, const Mat3& F);         // d = J - 1; Saint Venant-Kirchhoff's: tr(G)
Mat3 calc_dilation_gradient(Elasticity kind, const Mat3& F);  // dd/dF

// K_ab = sum_jl g_a[j] dP_ij/dF_kl g_b[l] for gradients g of two nodes, in the frame U of the tangent: to be
// turned by U K U^T. `ga` and `gb` are V^T g.
inline Mat3 tangent_block(const ElasticTangent& t, const Vec3& ga, const Vec3& gb) {
  Mat3 K;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    K(i, i) = t.A(i, i) * ga[i] * gb[i] + t.a[k] * ga[j] * gb[j] + t.a[j] * ga[k] * gb[k];
    K(i, j) = t.A(i, j) * ga[i] * gb[j] + t.b[k] * ga[j] * gb[i];
    K(j, i) = t.A(i, j) * ga[j] * gb[i] + t.b[k] * ga[i] * gb[j];
  }
  return K;
}

}  // namespace capstan
