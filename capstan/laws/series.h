// A law in series with a compliance 1/rho: the contact gives way by gamma/rho before the law does,
//
//   u = argmin l(u) + 1/2 (u - z)^T diag(rho) (u - z),     gamma = gamma(u) = rho (u - z)
//
// which as a function of z is a convex potential again (the Moreau envelope of l), with the impulse gamma and
// the Hessian (G^-1 + 1/rho)^-1 <= rho, however stiff l is. resolve.h finds the same u, fast and roughly;
// here u is found to the last digits, as slip M v_t and depth rate y = v_hat - v_n, so that gamma is exact to
// round-off even where one bit of u moves it by far more than its size.
//
// rho_x = rho_y. Limits: rho -> infinity the law itself; a law without impulse at z gives u = z, gamma = 0.
#pragma once

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "capstan/laws/resolve.h"

namespace capstan {

struct SeriesPoint {
  Vec3 gamma;
  Mat3 G;
};

// The root of an increasing function f(x, &slope) between low and high, to round-off: Newton from x,
// bisection where its steps do not halve.
template <class F>
double find_root(const F& f, double low, double high, double x) {
  double last_step = high - low;
  for (int i = 0; i < 200; ++i) {
    double slope;
    const double value = f(x, &slope);
    if (value == 0) return x;
    (value > 0 ? high : low) = x;
    double next = x - value / slope;
    if (!(next > low && next < high && std::abs(next - x) <= 0.5 * last_step)) next = 0.5 * (low + high);
    last_step = std::abs(next - x);
    if (last_step <= 2.3e-16 * std::abs(next)) return next;
    x = next;
  }
  return x;
}

// (G^-1 + 1/rho)^-1
Mat3 in_series(const Mat3& G, const Vec3& rho);

// The slip s of a mass rho that would slip at t without friction, under the normal impulse n: rho (t - s) =
// n M w/S with w = M s.
struct ResolvedSlip {
  Vec2 s, change;  // change: s - t
};
ResolvedSlip resolve_slip(const ContactData& d, double rho, const Vec2& t, double n);

// The normal law at a depth rate y.
template <class Normal>
NormalResponse evaluate_at_depth(NormalData normal, double y) {
  normal.v_hat = y;
  return Normal::evaluate(normal, 0);
}

// Where to look for the depth rate first: where it would be if only the normal velocity could change.
template <class Normal>
double guess_depth(NormalData normal, double rho, double free) {
  normal.v_hat = free;
  return std::clamp(free - resolve_normal<Normal>(normal, rho, 0), 1e-12 * free, free);
}

template <class Law>
struct Series;

template <class Normal, bool kRegularized>
struct Series<LaggedLaw<Normal, kRegularized>> {
  static SeriesPoint evaluate(const ContactData& d, const Vec3& rho, const Vec3& z) {
    const double free = d.normal.v_hat - z.z() - d.bias.z();
    const auto f = [&](double y, double* slope) {
      const NormalResponse n = evaluate_at_depth<Normal>(d.normal, y);
      *slope = 1 + n.slope / rho.z();
      return y - free + n.impulse / rho.z();
    };
    const double y = free > 0 ? find_root(f, 0, free, guess_depth<Normal>(d.normal, rho.z(), free)) : free;
    const Vec2 s = resolve_slip(d, rho.x(), (z + d.bias).template head<2>(), d.normal_impulse).s;
    SeriesPoint p;
    LaggedLaw<Normal, kRegularized>::respond(d, evaluate_at_depth<Normal>(d.normal, y),
                                             SoftSlip(d, s.x(), s.y()), nullptr, &p.gamma, &p.G);
    p.G = in_series(p.G, rho);
    return p;
  }
};

// The slip depends on the normal impulse, which depends on the slip: one equation for the depth rate, y =
// free - n(y)/rho_n + |M s(n(y))|_s, whose right side falls with y.
template <class Normal>
struct Series<Similar<Normal>> {
  static SeriesPoint evaluate(const ContactData& d, const Vec3& rho, const Vec3& z) {
    if (is_turning(d)) return Series<TurningLaw>::evaluate(d, rho, z);
    const double free = d.normal.v_hat - z.z() - d.bias.z();
    const Vec2 t = (z + d.bias).template head<2>();
    const auto f = [&](double y, double* slope) {
      const NormalResponse n = evaluate_at_depth<Normal>(d.normal, y);
      const ResolvedSlip r = resolve_slip(d, rho.x(), t, n.impulse);
      const SoftSlip slip(d, r.s.x(), r.s.y());
      const Vec2 from_bias = z.template head<2>() + r.change;
      const Vec3 h = n.impulse * slip.hessian(d);
      Mat2 H;
      H << h[0] + rho.x(), h[1], h[1], h[2] + rho.x();
      const Vec2 g(slip.gradient_x, slip.gradient_y);
      *slope = 1 + n.slope * (1 / rho.z() + g.dot(H.inverse() * g));
      return y - free + n.impulse / rho.z() -
             Similar<Normal>::counted_norm(d, from_bias.x(), from_bias.y(), slip);
    };
    const double most = free + Similar<Normal>::counted_norm(d, z.x(), z.y(), SoftSlip(d, t.x(), t.y()));
    const double y = most > 0 ? find_root(f, 0, most, guess_depth<Normal>(d.normal, rho.z(), most)) : most;
    const NormalResponse n = evaluate_at_depth<Normal>(d.normal, y);
    const Vec2 s = resolve_slip(d, rho.x(), t, n.impulse).s;
    SeriesPoint p;
    Similar<Normal>::respond(d, n, SoftSlip(d, s.x(), s.y()), nullptr, &p.gamma, &p.G);
    p.G = in_series(p.G, rho);
    return p;
  }
};

// Two compliances in series are one: the same law with R + 1/rho.
template <>
struct Series<Sap> {
  static SeriesPoint evaluate(const ContactData& d, const Vec3& rho, const Vec3& z);
};

}  // namespace capstan
