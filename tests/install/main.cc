// Uses one function of each library folder that is compiled, so that a missing one shows at link time.
#include <cmath>
#include <cstdio>
#include <numbers>

#include "capstan/geometry/shape.h"
#include "capstan/math/rotation.h"
#include "capstan/scene/scene.h"

int main() {
  const double volume = capstan::volume_properties(capstan::Shape(capstan::Sphere{.radius = 1})).volume;
  const capstan::Vec4 quat = capstan::quat_exp(capstan::Vec3(0, 0, std::numbers::pi));
  std::printf("%.6f %.6f %s\n", volume, quat[3], capstan::joint_type_name(capstan::JointType::free));
  return std::abs(volume - 4.0 / 3 * std::numbers::pi) < 1e-12 ? 0 : 1;
}
