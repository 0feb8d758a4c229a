#include "capstan/model/inertia.h"

#include <fmt/core.h>

#include <Eigen/Eigenvalues>
#include <cmath>

namespace capstan {
namespace {

// [kg] Beyond, products of masses with the squares of impulses are no longer numbers in every solver.
constexpr double kLightest = 1e-40, kHeaviest = 1e40;

// I about a point that is d away from the centre of mass.
Mat3 parallel_axis(double mass, const Vec3& d) {
  return mass * (d.squaredNorm() * Mat3::Identity() - d * d.transpose());
}

}  // namespace

void add_inertia(const Inertia& part, const Transform& X, Inertia* whole) {
  if (part.mass <= 0) return;
  const Mat3& R = X.R;
  const Vec3 com = X * part.com;
  const double mass = whole->mass + part.mass;
  const Vec3 joint_com = (whole->mass * whole->com + part.mass * com) / mass;
  whole->about_com += parallel_axis(whole->mass, whole->com - joint_com) +
                      R * part.about_com * R.transpose() + parallel_axis(part.mass, com - joint_com);
  whole->com = joint_com;
  whole->mass = mass;
}

Inertia shape_inertia(const ShapeInstance& shape) {
  Inertia result;
  if (!shape.has_mass) return result;
  const VolumeProperties volume = volume_properties(shape.shape);
  if (!(volume.volume > 0)) return result;
  const double density = shape.mass ? *shape.mass / volume.volume : shape.density;
  add_inertia({density * volume.volume, volume.centroid, density * volume.inertia}, to_transform(shape.pose),
              &result);
  return result;
}

Vec3 principal_moments(const Mat3& inertia) {
  return Eigen::SelfAdjointEigenSolver<Mat3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
}

std::string why_impossible(const Inertia& inertia) {
  if (!std::isfinite(inertia.mass) || !inertia.com.allFinite() || !inertia.about_com.allFinite()) {
    return "it has a number that is not finite";
  }
  if (inertia.mass <= 0) return fmt::format("its mass is {:g} kg", inertia.mass);
  if (inertia.mass < kLightest || inertia.mass > kHeaviest) {
    return fmt::format(
        "its mass of {:g} kg is not between {:g} and {:g} kg, beyond which double precision cannot "
        "carry it in contact",
        inertia.mass, kLightest, kHeaviest);
  }
  const Mat3& I = inertia.about_com;
  if ((I - I.transpose()).cwiseAbs().maxCoeff() > 1e-9 * I.cwiseAbs().maxCoeff())
    return "its matrix is not symmetric";
  const Vec3 moments = principal_moments(I);
  const double slack = 1e-9 * std::abs(moments[2]);
  if (moments[0] < -slack) {
    return fmt::format("its principal moments ({:g}, {:g}, {:g}) kg m^2 include a negative one", moments[0],
                       moments[1], moments[2]);
  }
  if (moments[2] > moments[0] + moments[1] + slack) {
    return fmt::format(
        "its largest principal moment {:g} kg m^2 exceeds the sum {:g} of the other two, which no "
        "distribution of mass "
        "does",
        moments[2], moments[0] + moments[1]);
  }
  return "";
}

}  // namespace capstan
