// What is allowed of rods but probably not meant (step/examine.h).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/dynamics/tree.h"
#include "capstan/model/add_rod.h"
#include "capstan/step/examine.h"

namespace capstan {
namespace {

constexpr double kSoftest = 1e3, kStiffest = 1e13;   // [Pa] softer than gel, stiffer than diamond
constexpr double kLightest = 10, kHeaviest = 30000;  // [kg/m^3]
constexpr double kStoutest = 3;                      // length over width
constexpr double kShortestEdge = 0.1;                // of the width

// [1/s^2] The largest w^2 of stretch, twist and bending: of a wave that turns from edge to edge.
double calc_stiffest(const Rod& rod) {
  double shortest = kInfinity;
  for (int i = 0; i < rod.num_edges(); ++i) shortest = std::min(shortest, rod.rest_length(i));
  const RodSpec& spec = rod.spec();
  const SectionConstants& s = rod.section();
  const double E = spec.young_modulus, G = rod.shear_modulus(), rho = spec.density;
  const double stretch = 4 * E / (rho * shortest * shortest);
  const double twist = 4 * G * s.torsion / (rho * s.polar() * shortest * shortest);
  const double bend =
      16 * E * std::max(s.second_moment[0], s.second_moment[1]) / (rho * s.area * std::pow(shortest, 4));
  return std::max({stretch, twist, bend});
}

// Attachments that pull at the start, or hold the same node twice.
void examine_attachments(const Model& model, const Placement& placement, const Rod& rod, const Object& object,
                         double width, Diagnostics* diagnostics) {
  const RodSpec& spec = rod.spec();
  const auto q = model.initial.q.segment(object.q_begin, object.num_positions());
  const auto nodes_of = [&](const RodAttachment& a) {  // an edge holds both of its own
    std::vector<int> nodes = {a.node >= 0 ? a.node : a.edge};
    if (a.node < 0) nodes.push_back((a.edge + 1) % rod.num_nodes());
    return nodes;
  };
  for (std::size_t i = 0; i < spec.attachments.size(); ++i) {
    const RodAttachment& a = spec.attachments[i];
    const std::string what = a.node >= 0 ? fmt::format("node {}", a.node) : fmt::format("edge {}", a.edge);
    const std::string who = fmt::format("{} of rod '{}'", what, spec.name);
    const int body = a.body == kWorld ? 0 : model.find_body(a.body);
    if (a.pose && body >= 0) {
      const Vec3 point = body_pose(model, placement, body) * a.pose->position;
      const Vec3 start =
          a.node >= 0 ? Rod::node(q, a.node)
                      : Vec3(0.5 * (Rod::node(q, a.edge) + Rod::node(q, (a.edge + 1) % rod.num_nodes())));
      if ((point - start).norm() > width) {
        diagnostics->warning(
            a.where,
            fmt::format("{} starts {:.3g} m from the point of body '{}' that it is attached to", who,
                        (point - start).norm(), a.body),
            fmt::format("it is pulled there at once: begin the rod at ({:.4g}, {:.4g}, {:.4g}), or leave the "
                        "point out to attach it where it is",
                        point.x(), point.y(), point.z()));
      }
    }
    for (const int node : nodes_of(a)) {
      const bool is_held = rod.is_held(4 * node);
      const bool again =
          std::any_of(spec.attachments.begin(), spec.attachments.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const RodAttachment& other) {
                        const std::vector<int> others = nodes_of(other);
                        return std::find(others.begin(), others.end(), node) != others.end();
                      });
      if (!is_held && !again) continue;
      diagnostics->warning(a.where,
                           fmt::format("node {} of rod '{}' is {}", node, spec.name,
                                       again ? "attached twice" : "attached, and fixed in the world as well"),
                           "keep one of them: two that disagree pull against each other");
      break;
    }
  }
}

}  // namespace

void examine_rods(const Scene& scene, const Model& model, const StepOptions& options,
                  Diagnostics* diagnostics) {
  const std::vector<int> rods = find_rods(model);
  if (rods.empty()) return;
  Placement placement = make_placement(model);
  calc_placement(model, model.initial.q, &placement);
  for (std::size_t i = 0; i < rods.size() && i < scene.rods.size(); ++i) {
    const Rod& rod = rod_of(model, rods[i]);
    const RodSpec& spec = rod.spec();
    const std::string who = fmt::format("rod '{}'", spec.name);
    const auto tell = [&](const std::string& what, const std::string& remedy) {
      diagnostics->warning(spec.where, fmt::format("{} {}", who, what), remedy);
    };
    if (spec.young_modulus < kSoftest || spec.young_modulus > kStiffest) {
      tell(fmt::format("has a Young's modulus of {:g} Pa", spec.young_modulus),
           "it is in Pa: rubber has 1e6 to 1e7, nylon 3e9, steel 2e11");
    }
    if (spec.density < kLightest || spec.density > kHeaviest) {
      tell(fmt::format("has a density of {:g} kg/m^3", spec.density),
           fmt::format("densities are kg/m^3: 1 g/cm^3 is 1000"));
    }
    double length = 0, shortest = kInfinity;
    for (int k = 0; k < rod.num_edges(); ++k) {
      length += rod.rest_length(k);
      shortest = std::min(shortest, rod.rest_length(k));
    }
    const bool is_round = spec.section.type == RodSectionType::circle;
    const double width = is_round ? spec.section.width : std::max(spec.section.width, spec.section.height);
    if (length < kStoutest * width) {
      tell(fmt::format("is {:g} m long and {:g} m wide", length, width),
           "what is no longer than three times its width is no rod; use a body");
    } else if (shortest < kShortestEdge * width) {
      tell(fmt::format("has an edge of {:.2g} m, {:.2g} of its width", shortest, shortest / width),
           "use fewer edges: one or two widths are fine enough for most rods");
    }
    examine_attachments(model, placement, rod, model.objects[rods[i]], width, diagnostics);
    const double w2 = calc_stiffest(rod), damping = spec.alpha + spec.beta * w2;
    if (!is_stable(options.integrator, options.dt, w2, damping)) {
      tell(fmt::format("swings at up to {:.3g} rad/s, which grows with integrator {} at dt = {:g} s",
                       std::sqrt(w2), integrator_name(options.integrator), options.dt),
           "use integrator semi_implicit, or a smaller time step");
    }
  }
}

}  // namespace capstan
