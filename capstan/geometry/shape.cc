#include "capstan/geometry/shape.h"

#include <numbers>

namespace capstan {
namespace {

using std::numbers::pi;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

VolumeProperties diagonal(double volume, const Vec3& inertia) {
  return {volume, Vec3::Zero(), Mat3(inertia.asDiagonal())};
}

// Cylinder and two half balls; the half balls' centroids are 3/8 r beyond the flat faces.
VolumeProperties capsule_properties(const Capsule& capsule) {
  const double r = capsule.radius, l = 2 * capsule.half_length;
  const double cylinder = pi * r * r * l, ball = 4.0 / 3 * pi * r * r * r;
  const double axial = cylinder * r * r / 2 + ball * 0.4 * r * r;
  const double across =
      cylinder * (r * r / 4 + l * l / 12) + ball * (0.4 * r * r + l * l / 4 + 3.0 / 8 * l * r);
  return diagonal(cylinder + ball, {across, across, axial});
}

}  // namespace

const char* shape_name(const Shape& shape) {
  constexpr const char* names[] = {"sphere",     "box",         "capsule",      "cylinder",     "ellipsoid",
                                   "half_space", "convex_mesh", "surface_mesh", "height_field", "sdf_mesh"};
  return names[shape.index()];
}

VolumeProperties volume_properties(const Shape& shape) {
  return std::visit(Overloaded{
                        [](const Sphere& s) {
                          const double volume = 4.0 / 3 * pi * s.radius * s.radius * s.radius;
                          return diagonal(volume, Vec3::Constant(0.4 * volume * s.radius * s.radius));
                        },
                        [](const Box& b) {
                          const Vec3 h2 = b.half_size.cwiseAbs2();
                          const double volume = 8 * b.half_size.prod();
                          return diagonal(volume, volume / 3 * (Vec3::Constant(h2.sum()) - h2));
                        },
                        [](const Capsule& c) { return capsule_properties(c); },
                        [](const Cylinder& c) {
                          const double r2 = c.radius * c.radius, volume = 2 * pi * r2 * c.half_length;
                          const double across = volume * (r2 / 4 + c.half_length * c.half_length / 3);
                          return diagonal(volume, {across, across, volume * r2 / 2});
                        },
                        [](const Ellipsoid& e) {
                          const Vec3 r2 = e.radii.cwiseAbs2();
                          const double volume = 4.0 / 3 * pi * e.radii.prod();
                          return diagonal(volume, volume / 5 * (Vec3::Constant(r2.sum()) - r2));
                        },
                        [](const HalfSpace&) { return VolumeProperties{}; },
                        [](const ConvexMesh& m) { return volume_properties(*m.mesh); },
                        [](const SurfaceMesh& m) { return volume_properties(*m.mesh); },
                        [](const HeightField&) { return VolumeProperties{}; },
                        [](const SignedDistanceMesh& m) { return volume_properties(*m.mesh); },
                    },
                    shape);
}

}  // namespace capstan
