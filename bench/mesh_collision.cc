// Contacts with meshes: microseconds for each pair, at rest (sunk 1 mm) on a floor of triangles smaller than
// the shape, on hills, and for two rings with distance grids linked in a chain or lying on each other.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>

#include "capstan/geometry/collide.h"
#include "capstan/geometry/support.h"
#include "capstan/math/rotation.h"

using namespace capstan;

namespace {

// Of this thread only: other programs on the machine do not count.
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

TriangleMesh torus(double R, double r, int n, int m) {
  TriangleMesh mesh;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      const double a = 2 * M_PI * i / n, b = 2 * M_PI * j / m, w = R + r * std::cos(b);
      mesh.vertices.push_back({w * std::cos(a), w * std::sin(a), r * std::sin(b)});
      const int p = i * m + j, q = (i + 1) % n * m + j, s = (i + 1) % n * m + (j + 1) % m,
                t = i * m + (j + 1) % m;
      mesh.triangles.push_back({p, q, s});
      mesh.triangles.push_back({p, s, t});
    }
  }
  return mesh;
}

HeightField ground(double amplitude) {
  auto heights = std::make_shared<std::vector<double>>();
  for (int r = 0; r < 128; ++r) {
    for (int c = 0; c < 128; ++c) heights->push_back(amplitude * std::sin(0.4 * r) * std::cos(0.3 * c));
  }
  return {128, 128, {2, 2}, 1, heights};
}

void measure(const char* what, const Collider& A, const Collider& B, Transform X, double turn) {
  std::vector<ContactPoint> contacts;
  size_t total = 0;
  int count = 0;
  const double start = cpu_seconds();
  while (cpu_seconds() - start < 0.2) {
    const double angle = turn * count;
    const Transform X_A{
        rotation_about(Vec3::UnitZ(), std::cos(angle), std::sin(angle)) * X.R,
        X.p + Vec3(0.3 * std::sin(0.37 * count), 0.3 * std::sin(0.23 * count), 0) * (turn != 0)};
    contacts.clear();
    collide(A, X_A, B, {}, 0.001, &contacts);
    total += contacts.size();
    ++count;
  }
  std::printf("%-28s %10.2f us %8.1f contacts\n", what, 1e6 * (cpu_seconds() - start) / count,
              static_cast<double>(total) / count);
}

}  // namespace

int main() {
  const Collider flat = make_collider(Shape(ground(0))), hills = make_collider(Shape(ground(0.01)));
  const struct {
    const char* name;
    Collider collider;
  } shapes[] = {{"sphere", make_collider(Sphere{0.05})},
                {"box", make_collider(Box{{0.05, 0.05, 0.05}})},
                {"capsule", make_collider(Capsule{0.03, 0.05})},
                {"cylinder", make_collider(Cylinder{0.05, 0.05})},
                {"ellipsoid", make_collider(Ellipsoid{{0.05, 0.04, 0.05}})}};
  for (const auto& shape : shapes) {
    int start = 0;
    const double reach = support(shape.collider, Vec3::UnitZ(), &start).z() + shape.collider.rounding;
    const Transform X{Mat3::Identity(), {0, 0, reach - 0.001}};
    char name[64];
    std::snprintf(name, sizeof name, "%s on a flat floor", shape.name);
    measure(name, shape.collider, flat, X, 0.1);
    std::snprintf(name, sizeof name, "%s on hills", shape.name);
    measure(name, shape.collider, hills, X, 0.1);
  }
  const double R = 0.1, r = 0.02;
  const double before = cpu_seconds();
  const Collider ring =
      make_collider(Shape(SignedDistanceMesh{std::make_shared<const TriangleMesh>(torus(R, r, 96, 48)), 64}));
  std::printf("grid of 64 cells from 9216 triangles: %.0f ms\n", 1e3 * (cpu_seconds() - before));
  measure("ring on a flat floor", ring, flat, {Mat3::Identity(), {0, 0, r - 0.001}}, 0.1);
  measure("ring linked, touching", ring, ring,
          {rotation_about(Vec3::UnitX(), 0, 1), {2 * (R - r) + 0.0005, 0, 0}}, 0);
  measure("ring on ring", ring, ring, {Mat3::Identity(), {0, 0, 2 * r - 0.0005}}, 0);
  measure("ring linked, free", ring, ring, {rotation_about(Vec3::UnitX(), 0, 1), {R, 0, 0}}, 0);
}
