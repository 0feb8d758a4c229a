// What is allowed of soft bodies but probably not meant (step/examine.h).
#include <fmt/core.h>

#include <cmath>

#include "capstan/model/add_soft_body.h"
#include "capstan/step/examine.h"

namespace capstan {
namespace {

constexpr double kSoftestSolid = 100,
                 kStiffestSolid = 1e13;  // [Pa] softer than any gel, stiffer than diamond
constexpr double kLightestSolid = 10, kHeaviestSolid = 30000;  // [kg/m^3]
constexpr double kPoorest = 0.02;                              // quality of a tet
constexpr double kMostPressure = 0.5;                          // of Young's modulus
constexpr double kLocks = 0.45;                                // poisson_ratio of linear elements
constexpr double kUnresolved = 3;  // [rad] of a vibration in a step, above which midpoint may gain energy

}  // namespace

void examine_soft_bodies(const Scene& scene, const Model& model, const StepOptions& options,
                         Diagnostics* diagnostics) {
  const std::vector<int> bodies = find_soft_bodies(model);
  for (std::size_t i = 0; i < bodies.size() && i < scene.soft_bodies.size(); ++i) {
    const SoftBody& body = soft_body_of(model, bodies[i]);
    const SoftBodySpec& spec = body.spec();
    const auto tell = [&](const std::string& what, const std::string& remedy) {
      diagnostics->warning(spec.where, fmt::format("soft body '{}' {}", spec.name, what), remedy);
    };
    if (spec.young_modulus < kSoftestSolid || spec.young_modulus > kStiffestSolid) {
      tell(fmt::format("has a Young's modulus of {:g} Pa", spec.young_modulus),
           "it is in Pa: foam has 1e4 to 1e5, rubber 1e6 to 1e7");
    }
    if (spec.density < kLightestSolid || spec.density > kHeaviestSolid)
      tell(fmt::format("has a density of {:g} kg/m^3", spec.density),
           "densities are kg/m^3: 1 g/cm^3 is 1000");
    if (const TetMeshQuality quality = examine_tets(*spec.mesh); quality.worst < kPoorest) {
      tell(fmt::format("has a nearly flat tet, {}, of quality {:.2g}", quality.worst_tet, quality.worst),
           "mesh it anew: such tets are too stiff");
    }
    if (spec.element == SoftElement::linear && spec.poisson_ratio > kLocks) {
      tell(fmt::format("has linear elements and poisson_ratio {:g}: they lock", spec.poisson_ratio),
           "write 'element: quadratic'");
    }
    if (!body.cavity().empty() && std::abs(spec.pressure) > kMostPressure * spec.young_modulus) {
      tell(fmt::format("has pressure {:g} Pa, where its Young's modulus is {:g} Pa: no wall of it holds that",
                       spec.pressure, spec.young_modulus),
           "pressures are Pa: 1 kPa is 1000; write a smaller one");
    }
    if (body.is_all_fixed())
      tell("has all its nodes in fixed regions: it never moves", "make the regions smaller");
    const double w = body.largest_frequency(), damping = spec.alpha + spec.beta * w * w;
    if (!is_stable(options.integrator, options.dt, w * w, damping)) {
      tell(fmt::format("swings at up to {:.3g} rad/s, which grows with integrator {} at dt = {:g} s", w,
                       integrator_name(options.integrator), options.dt),
           "use integrator semi_implicit, or a smaller time step");
    } else if (options.integrator == Integrator::midpoint && w * options.dt > kUnresolved && damping < w) {
      tell(fmt::format("has vibrations of up to {:.3g} rad/s, which integrator midpoint neither resolves nor "
                       "damps at dt = {:g} s: where it turns or bends they may gain energy",
                       w, options.dt),
           fmt::format("use integrator semi_implicit, damping beta, or a time step below {:.2g} s",
                       kUnresolved / w));
    }
    if (spec.elasticity == Elasticity::saint_venant_kirchhoff && spec.collides)
      tell(
          "is of saint_venant_kirchhoff: pressed below 58 % of a length it gives way, and may turn inside "
          "out",
          "use neo_hookean where it is pressed hard");
  }
}

}  // namespace capstan
