#include "experiments/gear_meshes.h"

#include <cmath>
#include <numbers>

#include "capstan/geometry/hull_mesh.h"

namespace capstan::experiments {
namespace {

constexpr double kPi = std::numbers::pi;

double involute(double x) {
  return std::tan(x) - x;
}

}  // namespace

TriangleMesh make_tooth(const Gear& gear, double psi) {
  const double r = gear.pitch_radius(), base = r * std::cos(gear.pressure_angle);
  const double root = r - gear.dedendum * gear.module, tip = r + gear.addendum * gear.module;
  const auto half_width = [&](double rho) {
    const double turn = rho > base ? involute(std::acos(base / rho)) : 0;
    return kPi / (2 * gear.teeth) + involute(gear.pressure_angle) - turn - gear.backlash / (2 * r);
  };
  std::vector<double> radii = {root};
  const double begin = std::max(root, base);
  for (int k = root < base ? 0 : 1; k <= gear.facets; ++k)
    radii.push_back(begin + (tip - begin) * k / gear.facets);
  std::vector<Vec3> points;
  for (const double z : {-0.5 * gear.face, 0.5 * gear.face}) {
    for (const double rho : radii) {
      for (const double side : {-1.0, 1.0}) {
        const double angle = psi + gear.twist * z + side * half_width(rho);
        points.emplace_back(rho * std::cos(angle), rho * std::sin(angle), z);
      }
    }
  }
  return hull_mesh(points);
}

TriangleMesh make_screw(const Thread& t) {
  const int starts = static_cast<int>(std::lround(t.lead / t.pitch));
  constexpr int kLoop = 6;  // vertices of a pitch: root, foot, crest, middle, crest, foot
  const double s[kLoop] = {-0.5 * t.pitch, -0.5 * t.foot, -0.5 * t.crest, 0, 0.5 * t.crest, 0.5 * t.foot};
  const double radius[kLoop] = {t.root, t.root, t.tip, t.tip, t.tip, t.root};
  // Sector i has the places j along s; what is beyond the last sector is the first one, a lead further, which
  // therefore has `shift` places more.
  const int pitches = static_cast<int>(std::ceil(t.length / t.pitch)), shift = starts * kLoop;
  const int places = pitches * kLoop + 1, n = t.sectors;
  const double first = std::round((t.centre - t.middle) / t.pitch - 0.5 * (pitches + starts));
  TriangleMesh mesh;
  for (int i = 0; i < n; ++i) {
    const double theta = 2 * kPi * i / n;
    for (int j = 0; j < (i == 0 ? places + shift : places); ++j) {
      const double z = t.middle + (first + j / kLoop) * t.pitch + s[j % kLoop] + t.lead * i / n;
      mesh.vertices.emplace_back(radius[j % kLoop] * std::cos(theta), radius[j % kLoop] * std::sin(theta), z);
    }
  }
  const auto index = [&](int i, int j) { return i == 0 ? j : i == n ? j + shift : i * places + shift + j; };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j + 1 < places; ++j) {
      mesh.triangles.push_back({index(i, j), index(i + 1, j), index(i + 1, j + 1)});
      mesh.triangles.push_back({index(i, j), index(i + 1, j + 1), index(i, j + 1)});
    }
  }
  for (const bool is_top : {false, true}) {
    const int j = is_top ? places - 1 : 0, centre = static_cast<int>(mesh.vertices.size());
    std::vector<int> loop;
    double z = 0;
    for (int i = 0; i <= n; ++i) loop.push_back(index(i, j));
    for (int k = shift - 1; k > 0; --k) loop.push_back(j + k);
    for (const int v : loop) z += mesh.vertices[v].z() / static_cast<double>(loop.size());
    mesh.vertices.emplace_back(0, 0, z);
    for (std::size_t k = 0; k < loop.size(); ++k) {
      const int a = loop[k], b = loop[(k + 1) % loop.size()];
      mesh.triangles.push_back(is_top ? std::array<int, 3>{centre, a, b} : std::array<int, 3>{centre, b, a});
    }
  }
  return mesh;
}

std::vector<TriangleMesh> make_nut(const NutRidge& n) {
  std::vector<TriangleMesh> pieces;
  const int count = static_cast<int>(std::lround(n.turns * n.sectors));
  for (int k = 0; k < count; ++k) {
    std::vector<Vec3> points;
    for (const int end : {k, k + 1}) {
      // The ridge passes z = middle at theta = 0; `theta` is such that the pieces are about `centre`.
      const double theta =
          2 * kPi * ((end - 0.5 * count) / n.sectors + std::floor((n.centre - n.middle) / n.lead));
      const double z = n.middle + n.lead * theta / (2 * kPi);
      for (const double side : {-0.5, 0.5}) {
        points.emplace_back(n.inner * std::cos(theta), n.inner * std::sin(theta), z + side * n.crest);
        points.emplace_back(n.outer * std::cos(theta), n.outer * std::sin(theta), z + side * n.foot);
      }
    }
    pieces.push_back(hull_mesh(points));
  }
  return pieces;
}

}  // namespace capstan::experiments
