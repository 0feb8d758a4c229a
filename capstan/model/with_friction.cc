#include "capstan/model/with_friction.h"

#include <cmath>

#include "capstan/model/compiler.h"

namespace capstan {

Model with_friction(const Model& model, int material, double friction) {
  CAPSTAN_ASSERT(material >= 0 && material < static_cast<int>(model.materials.size()));
  CAPSTAN_ASSERT(friction >= 0 && std::isfinite(friction));
  const Scene none;
  Diagnostics diagnostics;
  ModelCompiler c{none, diagnostics, model, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  c.model.materials[material].friction = friction;
  c.model.materials[material].friction_tensor.reset();
  c.compute_fingerprint();
  return std::move(c.model);
}

}  // namespace capstan
