#include "capstan/dynamics/muscle.h"

#include <algorithm>

namespace capstan {
namespace {

// 1 at L = 1, 0 outside [shortest, longest].
double calc_length_factor(const Muscle& m, double L) {
  if (L <= m.shortest || L >= m.longest) return 0;
  const double end = L < 1 ? m.shortest : m.longest;  // of this flank
  const double half = 0.5 * (1 + end);
  const bool is_outer = L < 1 ? L < half : L > half;
  const double x = is_outer ? (L - end) / (half - end) : (L - 1) / (half - 1);
  return is_outer ? 0.5 * x * x : 1 - 0.5 * x * x;
}

struct ValueAndSlope {
  double value = 0, slope = 0;
};

ValueAndSlope calc_rate_factor(const Muscle& m, double V) {
  const double y = m.lengthening - 1;
  if (V <= -1) return {0, 0};
  if (V <= 0) return {(1 + V) * (1 + V), 2 * (1 + V)};
  if (V < y) return {m.lengthening - (y - V) * (y - V) / y, 2 * (y - V) / y};
  return {m.lengthening, 0};
}

double calc_passive_factor(const Muscle& m, double L) {
  if (L <= 1) return 0;
  const double half = 0.5 * (1 + m.longest), x = (L - 1) / (half - 1);
  return m.passive * (x <= 1 ? 0.5 * x * x : x - 0.5);
}

}  // namespace

MuscleForce calc_muscle_force(const Muscle& m, double activation, double length, double rate) {
  const double L0 = (m.length_range.upper - m.length_range.lower) / (m.operating.upper - m.operating.lower);
  const double L = m.operating.lower + (length - m.length_range.lower) / L0;
  const double per_rate = 1 / (L0 * m.fastest);
  const ValueAndSlope speed = calc_rate_factor(m, rate * per_rate);
  const double active = m.force * activation * calc_length_factor(m, L);
  return {-active * speed.value - m.force * calc_passive_factor(m, L),
          std::max(0.0, active * speed.slope * per_rate)};
}

}  // namespace capstan
