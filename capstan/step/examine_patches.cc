// Patches that are too soft for what they are to carry.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/contacts/patches.h"
#include "capstan/geometry/collide.h"
#include "capstan/step/examine.h"

namespace capstan {
namespace {

constexpr int kDepths = 8;          // that are tried
constexpr double kSafeModulus = 3;  // times the least modulus is what we advise
constexpr double kAbyss = 1e3;      // [m] no shape that has a bounded size is larger

// A rigid plane with this normal through the origin.
Transform plane_pose(const Vec3& normal) {
  Vec3 x = std::abs(normal.x()) < 0.9 ? Vec3::UnitX() : Vec3::UnitY();
  x = (x - normal.dot(x) * normal).normalized();
  Transform X;
  X.R << x, cross(normal, x), normal;
  X.p.setZero();
  return X;
}

// [N] the largest force with which its field answers to a rigid plane, at any depth.
double largest_force(const ModelShape& shape, const Mat3& R_WS, const Vec3& up, PatchWorkspace* w) {
  const Collider plane = make_collider(HalfSpace{});
  static const std::shared_ptr<const PressureField> field = make_pressure_field(HalfSpace{}, {});
  Transform X_plane = plane_pose(up);
  Transform X_WS;
  X_WS.R = R_WS;
  X_WS.p.setZero();
  std::vector<ContactPoint> points;
  collide(shape.collider, X_WS, plane, X_plane, kAbyss, &points);
  double most = 0;
  if (points.empty()) return kInfinity;
  double distance = kInfinity;
  for (const ContactPoint& point : points) distance = std::min(distance, point.distance);
  for (int k = 1; k <= kDepths; ++k) {
    const double depth = shape.field->depth * k / (kDepths + 0.1);
    Transform X = X_plane;
    X.p = (distance + depth) * up;
    if (!calc_patch({shape.field.get(), X_WS, shape.modulus}, {field.get(), X, kInfinity}, {-up, depth}, w))
      continue;
    double force = 0;
    for (const PatchPoint& point : w->points) force += point.area * std::max(0.0, point.pressure);
    most = std::max(most, force);
  }
  return most;
}

}  // namespace

void examine_patches(const Scene& scene, const Model& model, Diagnostics* diagnostics) {
  const Vec3& gravity = model.options.gravity;
  if (!(gravity.norm() > 0)) return;
  const Vec3 up = -gravity.normalized();
  Placement placement = make_placement(model);
  calc_placement(model, model.initial.q, &placement);
  PatchWorkspace workspace;
  std::vector<double> carried(model.links.size(),
                              0);  // [N] at most; infinite: by something else than patches
  std::vector<int> softest(model.links.size(), -1);
  for (std::size_t s = 0; s < model.shapes.size(); ++s) {
    const ModelShape& shape = model.shapes[s];
    if (!shape.collides || shape.link == 0 || shape.part != SurfacePart::none) continue;
    const bool is_soft = shape.field != nullptr && std::isfinite(shape.modulus);
    carried[shape.link] +=
        is_soft ? largest_force(shape, placement.X_WL[shape.link].R * shape.X_LS.R, up, &workspace)
                : kInfinity;
    int& least = softest[shape.link];
    if (is_soft && (least < 0 || shape.modulus < model.shapes[least].modulus)) least = static_cast<int>(s);
  }
  for (int l = 1; l < model.num_links(); ++l) {
    const Link& link = model.links[l];
    const bool is_free = link.parent == 0 && link.dof_end - link.dof_begin == 6 && link.object >= 0 &&
                         model.objects[link.object].link_end - model.objects[link.object].link_begin == 1;
    const double weight = link.mass * gravity.norm();
    if (softest[l] < 0 || !is_free || carried[l] >= weight) continue;
    const ModelShape& shape = model.shapes[softest[l]];
    const bool meets_any =
        std::any_of(model.shapes.begin(), model.shapes.end(), [&](const ModelShape& other) {
          return other.link != l && other.collides && has_patch(shape, other);
        });
    if (!meets_any) continue;
    const std::string& name = model.bodies[shape.body].name;
    const auto body =
        std::find_if(scene.bodies.begin(), scene.bodies.end(), [&](const Body& b) { return b.name == name; });
    diagnostics->warning(
        body == scene.bodies.end() ? Source{scene.file, 0} : body->where,
        fmt::format("body '{}' weighs {:.3g} N, and its patches carry {:.3g} N at most: it will go through "
                    "what it lies on",
                    name, weight, carried[l]),
        fmt::format("raise elastic_modulus of material '{}' from {:.3g} to {:.2g} Pa or more, or write "
                    "'contact: point'",
                    model.materials[shape.material].name, shape.modulus,
                    kSafeModulus * shape.modulus * weight / std::max(carried[l], 1e-6 * weight)));
  }
}

}  // namespace capstan
