// Stress in a soft body, for those who look at it: von Mises' at the nodes.
//
//   sigma = P F^T / J, of the linear corotational solid R T R^T with T = 2 mu e + lambda tr(e)
//
// von Mises' is sqrt(3/2) of the size of what is not pressure: in a bar that is pulled, the stress along it.
#include <algorithm>
#include <cmath>

#include "capstan/base/diagnostics.h"
#include "capstan/physics/soft_body.h"

namespace capstan {
namespace {

// Of its volume at rest: what has less left is told as if it had that.
constexpr double kLeastVolume = 0.05;

}  // namespace

template <int N>
void SoftBody::add_stresses(const SoftElements<N>& elements, const ConstVector& q, std::span<Mat3> sum,
                            std::span<double> volume) const {
  constexpr int kPoints = SoftElements<N>::kPoints;
  const bool is_linear = spec_.elasticity == Elasticity::linear_corotational;
  for (int k = 0; k < static_cast<int>(elements.nodes.size()); ++k) {
    Eigen::Matrix<double, 3, N> x;
    for (int a = 0; a < N; ++a) x.col(a) = node(q, elements.nodes[k][a]);
    std::array<Mat3, kPoints> stress, of_pressure;
    double mean = 0;  // dilation
    for (int p = 0; p < kPoints; ++p) {
      const Mat3 F = x * elements.gradients[k * kPoints + p].transpose();
      if (is_linear) {
        const Mat3 R = nearest_rotation(F), strain = linear_strain(R, F);
        stress[p] = linear_stress(lame_, R, strain) * R.transpose();
        of_pressure[p].setIdentity();
        mean += strain.trace() / kPoints;
      } else {
        const double J = F.col(0).dot(cross(Vec3(F.col(1)), Vec3(F.col(2))));
        const Mat3 to_cauchy = F.transpose() / std::max(kLeastVolume, J);
        stress[p] = calc_stress(spec_.elasticity, lame_, F) * to_cauchy;
        of_pressure[p] = calc_dilation_gradient(spec_.elasticity, F) * to_cauchy;
        mean += calc_dilation(spec_.elasticity, F) / kPoints;
      }
    }
    for (int p = 0; p < kPoints; ++p) stress[p] += mean_lambda_ * mean * of_pressure[p];
    const double w = kPoints * elements.weight[k * kPoints];
    const auto add = [&](int a, const Mat3& at_node) {
      sum[elements.nodes[k][a]] += w * at_node;
      volume[elements.nodes[k][a]] += w;
    };
    if constexpr (N == 4) {
      for (int a = 0; a < 4; ++a) add(a, stress[0]);
    } else {
      // Linear over the element: what has the values of the four points there has these at the vertices.
      constexpr double kFar = 0.13819660112501051518, kSpan = 0.44721359549995793928;
      const Mat3 far = kFar * (stress[0] + stress[1] + stress[2] + stress[3]);
      for (int p = 0; p < 4; ++p) stress[p] = (stress[p] - far) / kSpan;
      for (int a = 0; a < 4; ++a) add(a, stress[a]);
      for (int e = 0; e < 6; ++e) add(4 + e, 0.5 * (stress[kTetEdges[e][0]] + stress[kTetEdges[e][1]]));
    }
  }
}

void SoftBody::calc_von_mises(const ConstVector& q, std::span<double> stress) const {
  CAPSTAN_ASSERT(static_cast<int>(stress.size()) == num_nodes());
  std::vector<Mat3> sum(rest_.size(), Mat3::Zero());
  std::vector<double> volume(rest_.size(), 0.0);
  std::visit([&](const auto& elements) { add_stresses(elements, q, sum, volume); }, elements_);
  for (int i = 0; i < num_nodes(); ++i) {
    stress[i] = 0;
    if (volume[i] == 0) continue;  // of no element
    const Mat3 s = sum[i] / volume[i];
    stress[i] = std::sqrt(1.5) * (s - s.trace() / 3 * Mat3::Identity()).norm();
  }
}

}  // namespace capstan
