#include "capstan/laws/soft_reference.h"

#include <algorithm>
#include <cmath>

namespace capstan {

double bounded_impedance(double d) {
  return std::clamp(d, kMinImpedance, kMaxImpedance);
}

double calc_impedance(const std::array<double, 5>& solimp, double x) {
  const double d0 = bounded_impedance(solimp[0]), dw = bounded_impedance(solimp[1]), width = solimp[2];
  const double midpoint = bounded_impedance(solimp[3]), power = std::max(1.0, solimp[4]);
  if (width <= 1e-15) return (d0 + dw) / 2;
  const double y = std::min(x / width, 1.0);
  const double s = y <= midpoint ? std::pow(y, power) / std::pow(midpoint, power - 1)
                                 : 1 - std::pow(1 - y, power) / std::pow(1 - midpoint, power - 1);
  return d0 + s * (dw - d0);
}

ScalarLaw make_soft_law(const SoftReference& reference, double x, double v, double size, double W,
                        double delassus, double dt) {
  const double dw = bounded_impedance(reference.solimp[1]), d = calc_impedance(reference.solimp, size);
  double k, b;
  if (reference.solref[0] > 0) {
    const double time = std::max(reference.solref[0], 2 * dt), period = dw * time * reference.solref[1];
    k = 1 / (period * period);
    b = 2 / (dw * time);
  } else {
    k = -reference.solref[0] / (dw * dw);
    b = -reference.solref[1] / dw;
  }
  ScalarLaw law;
  law.mass = 1 / std::max(delassus, 1e-18);
  law.R = (1 - d) / d * std::max(W, 1e-18);
  law.v_hat = v - dt * (b * v + k * d * x);
  return law;
}

}  // namespace capstan
