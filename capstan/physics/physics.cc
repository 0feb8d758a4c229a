#include "capstan/physics/physics.h"

namespace capstan {

Vec3 Physics::place_point(const ConstVector& q, int carrier, const Vec3& p_C) const {
  std::vector<Transform> X_WC(layout().num_carriers);
  place(q, X_WC);
  return X_WC[carrier] * p_C;
}

void Physics::bend(const ConstVector&, int, Collider*) const {}

}  // namespace capstan
