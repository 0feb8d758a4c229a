// Knots in ropes with two ends, and numbers that tell which knot it is, for tests and benchmarks.
//
// The knot of n crossings, n odd, is the torus knot T(2, n): two strands twisted by n half turns, of which
// one arc leads back. Its unknotting number is (n - 1) / 2: so often must the rope pass through itself to
// come undone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "capstan/scene/rod.h"

namespace capstan::test {

// The knot in the plane z = 0 with its ends along x, `edges` equal edges of a rope of `length`; `aside` is
// the distance of the twisted strands from their axis, `half_turn` the way of a half turn, `loop` the radius
// of the arc's ends [m].
inline std::vector<Vec3> make_knot(int crossings, int edges, double length, double aside, double half_turn,
                                   double loop) {
  constexpr double kPi = std::numbers::pi;
  const double w = 0.5 * crossings * half_turn, fine = 0.1 * half_turn;
  std::vector<Vec3> path;
  const auto twist = [&](double side) {
    for (int i = 0; i <= 20 * crossings; ++i) {
      const double s = i / (20.0 * crossings), angle = crossings * kPi * s;
      path.push_back({w * (2 * s - 1), -side * aside * std::cos(angle), side * aside * std::sin(angle)});
    }
  };
  const auto bend = [&](double x, double y, double from, double to) {
    for (int i = 1; i < 60; ++i) {
      const double angle = from + (to - from) * i / 60;
      path.push_back({x + loop * std::cos(angle), y + loop * std::sin(angle), 0});
    }
  };
  const auto go = [&](const Vec3& to) {
    const Vec3 from = path.back();
    const int n = static_cast<int>((to - from).norm() / fine) + 1;
    for (int i = 1; i <= n; ++i) path.push_back(from + double(i) / n * (to - from));
  };
  twist(1);
  bend(w, aside + loop, -kPi / 2, kPi / 2);
  go({-w, aside + 2 * loop, 0});
  bend(-w, aside + loop, kPi / 2, 1.5 * kPi);
  twist(-1);
  double inner = 0;
  for (std::size_t i = 1; i < path.size(); ++i) inner += (path[i] - path[i - 1]).norm();
  const double tail = 0.5 * (length - inner);
  path.insert(path.begin(), {-w - tail, -aside, 0});
  path.push_back({w + tail, -aside, 0});
  std::vector<Vec3> nodes;
  double walked = 0;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const double step = (path[i] - path[i - 1]).norm();
    while (nodes.size() * length / edges <= walked + step && static_cast<int>(nodes.size()) <= edges)
      nodes.push_back(path[i - 1] +
                      (nodes.size() * length / edges - walked) / step * (path[i] - path[i - 1]));
    walked += step;
  }
  if (static_cast<int>(nodes.size()) == edges) nodes.push_back(path.back());
  return nodes;
}

struct KnotInvariants {
  int crossings = 0;     // in the projection: not one of the knot
  int casson = 0;        // v_2: of T(2, n) it is (n^2 - 1) / 8, of no knot 0. Where the rope passes through
                         // itself, it changes by the linking number of the two loops that meet there
  long determinant = 1;  // |Delta(-1)|: of T(2, n) it is n, of no knot 1
};

// Of a line whose ends are its outermost points along x, closed beyond them; seen from +z, slightly askew.
inline KnotInvariants calc_invariants(const std::vector<Vec3>& nodes) {
  const Vec3 z = Vec3(0.0123, 0.0311, 1).normalized(), x = Vec3(z.z(), 0, -z.x()).normalized(),
             y = cross(z, x);
  std::vector<Vec3> seen;
  for (const Vec3& node : nodes) seen.push_back({x.dot(node), y.dot(node), z.dot(node)});
  struct Crossing {
    double over, under;  // place along the line
    int sign;
  };
  std::vector<Crossing> list;
  const int edges = static_cast<int>(nodes.size()) - 1;
  const auto area = [](const Vec3& a, const Vec3& b) { return a.x() * b.y() - a.y() * b.x(); };
  for (int i = 0; i < edges; ++i) {
    const Vec3 e = seen[i + 1] - seen[i];
    for (int j = i + 2; j < edges; ++j) {
      const Vec3 f = seen[j + 1] - seen[j], d = seen[j] - seen[i];
      const double size = area(e, f);
      if (size == 0) continue;
      const double s = area(d, f) / size, t = area(d, e) / size;
      if (s < 0 || s >= 1 || t < 0 || t >= 1) continue;
      const bool first_is_over = seen[i].z() + s * e.z() > seen[j].z() + t * f.z();
      const int sign = (size > 0) == first_is_over ? 1 : -1;  // of over x under
      list.push_back({first_is_over ? i + s : j + t, first_is_over ? j + t : i + s, sign});
    }
  }
  KnotInvariants k;
  k.crossings = static_cast<int>(list.size());
  for (const Crossing& a : list) {
    for (const Crossing& b : list) {  // Polyak and Viro's sum
      if (a.over < b.under && b.under < a.under && a.under < b.over) k.casson += a.sign * b.sign;
    }
  }
  // Arcs from one crossing below to the next; Fox's colourings, modulo a prime.
  constexpr long kPrime = 2147483647;
  const int n = k.crossings;
  std::sort(list.begin(), list.end(), [](const Crossing& a, const Crossing& b) { return a.under < b.under; });
  std::vector<std::vector<long>> M(n, std::vector<long>(n, 0));
  for (int c = 0; c < n; ++c) {
    const int over =
        static_cast<int>(std::count_if(list.begin(), list.end(),
                                       [&](const Crossing& o) { return o.under < list[c].over; })) %
        n;
    M[c][over] += 2;
    M[c][c] -= 1;
    M[c][(c + 1) % n] -= 1;
  }
  const auto power = [](long base, long exponent) {
    long result = 1;
    for (base %= kPrime; exponent > 0; exponent /= 2) {
      if (exponent % 2 == 1) result = result * base % kPrime;
      base = base * base % kPrime;
    }
    return result;
  };
  long determinant = 1;
  for (int c = 0; c + 1 < n; ++c) {
    int pivot = c;
    while (pivot + 1 < n && (M[pivot][c] % kPrime) == 0) ++pivot;
    if (pivot + 1 >= n) {
      determinant = 0;
      break;
    }
    std::swap(M[c], M[pivot]);
    const long inverse = power((M[c][c] % kPrime + kPrime) % kPrime, kPrime - 2);
    determinant = determinant * ((M[c][c] % kPrime + kPrime) % kPrime) % kPrime;
    for (int r = c + 1; r + 1 < n; ++r) {
      const long factor = (M[r][c] % kPrime + kPrime) % kPrime * inverse % kPrime;
      for (int i = c; factor != 0 && i + 1 < n; ++i)
        M[r][i] = (M[r][i] - factor * ((M[c][i] % kPrime + kPrime) % kPrime)) % kPrime;
    }
  }
  k.determinant = std::min(determinant, kPrime - determinant);
  return k;
}

// The rope of Li and Chou's knots, 3 mm thick and 1 m long, at rest straight; its ends are held, to be given
// a velocity.
inline RodSpec knot_rod(int crossings, int edges) {
  RodSpec rope;
  rope.name = "rope";
  rope.nodes = make_knot(crossings, edges, 1, 0.003, 0.016, 0.06);
  rope.section.width = 0.003;
  rope.young_modulus = 18e6;
  rope.poisson_ratio = 0.5;
  rope.density = 1000;
  rope.alpha = 1;
  rope.rest = RodRest::straight;
  rope.pinned_nodes = {0, edges};
  return rope;
}

}  // namespace capstan::test
