// MuJoCo's soft constraint: a row accelerates, as far as its impedance d lets it, towards
//
//     a = -b v - k d x,     k = 1 / (dw^2 tc^2 zeta^2),  b = 2 / (dw tc)     for solref = (tc, zeta),
//                           k = ks / dw^2,               b = bs / dw         for solref = (-ks, -bs),
//
// x its error and v the rate of that before the step; what acts on it moves it by the rest, 1 - d. In
// velocities
//
//     v_hat = v - dt (b v + k d x),     R = (1 - d) / d W,
//
// with W an estimate of the row's inverse inertia (problem/soft_weights.h), and d = d(|x|) from d0 to dw, the
// first two of solimp. Limits: d = 1 is rigid (kept below 0.9999, as there), d = 0 nothing; tc is at least
// two steps. x acts as it was before the step: what is hardly damped and fast, dt / (tc zeta) above 1, gains
// energy. Source: MuJoCo's documentation, "Computation: the constraint model".
#pragma once

#include "capstan/laws/scalar.h"
#include "capstan/scene/scene.h"

namespace capstan {

constexpr double kMinImpedance = 1e-4, kMaxImpedance = 0.9999;

// An entry d0, dw or midpoint of solimp, within MuJoCo's own bounds.
double bounded_impedance(double d);
// d(x): from d0 to dw along two powers that meet at `midpoint` of the way.
double calc_impedance(const std::array<double, 5>& solimp, double x);

// For a row with error x and rate v before the step, and Delassus estimate `delassus`, which is not W. `size`
// is the error that the impedance goes by: |x|, or that of all rows of a tie.
ScalarLaw make_soft_law(const SoftReference& reference, double x, double v, double size, double W,
                        double delassus, double dt);

}  // namespace capstan
