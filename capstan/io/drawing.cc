#include "capstan/io/drawing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "capstan/dynamics/tree.h"

namespace capstan::drawing {
namespace {

constexpr int kCoarse = 48;              // facets around the shapes of ghosts
constexpr int kFewest = 12, kMost = 60;  // facets around a small and a large solid shape

// Radius of what is round about a shape, which decides how many facets it needs [m].
double round_radius(const Shape& shape) {
  if (const auto* s = std::get_if<Sphere>(&shape)) return s->radius;
  if (const auto* c = std::get_if<Capsule>(&shape)) return c->radius;
  if (const auto* c = std::get_if<Cylinder>(&shape)) return c->radius;
  if (const auto* e = std::get_if<Ellipsoid>(&shape)) return e->radii.maxCoeff();
  return 0;
}

// URDF has shapes for the eye and shapes for collision in one place: of a body that has the former, shapes
// that collide and were given no colour are not drawn.
std::vector<bool> find_hidden(const Model& model) {
  std::vector<bool> has_visual(model.bodies.size()), hidden;
  for (const ModelShape& shape : model.shapes) {
    if (!shape.collides) has_visual[shape.body] = true;
  }
  for (const ModelShape& shape : model.shapes) {
    hidden.push_back(
        shape.part == SurfacePart::vertex || shape.part == SurfacePart::edge ||
        (shape.body != 0 && shape.collides && has_visual[shape.body] && shape.rgba == ShapeInstance{}.rgba));
  }
  return hidden;
}

}  // namespace

std::vector<Item> place_shapes(const Model& model, const State& state, double pixels_per_meter) {
  Placement placement = make_placement(model);
  calc_placement(model, state.q, &placement);
  const std::vector<bool> hidden = find_hidden(model);
  std::vector<Item> items;
  for (std::size_t i = 0; i < model.shapes.size(); ++i) {
    const ModelShape& shape = model.shapes[i];
    if (hidden[i] || std::holds_alternative<HalfSpace>(shape.shape) || shape.rgba[3] <= 0.05f) continue;
    const double pixels = pixels_per_meter * round_radius(shape.shape);
    const int fine = std::clamp(4 * static_cast<int>(2.1 * std::sqrt(pixels)), kFewest, kMost);
    Item item{&shape, base_color(model, shape),
              tessellate(shape.shape, pixels_per_meter > 0 ? fine : kCoarse)};
    const Transform X_WS = placement.X_WL[shape.link] * shape.X_LS;
    for (std::size_t k = 0; shape.part == SurfacePart::triangle && k < item.facets.vertices.size(); ++k)
      item.facets.vertices[k] = placement.flexible[shape.flexible].vertex[k];
    for (Vec3& v : item.facets.vertices) v = X_WS * v;
    items.push_back(std::move(item));
  }
  return items;
}

Camera aim(const std::vector<Vec3>& points, const PictureOptions& options) {
  Camera camera;
  Vec3 low = Vec3::Constant(kInfinity), high = Vec3::Constant(-kInfinity);
  for (const Vec3& p : points) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  if (points.empty()) low = Vec3::Constant(-1), high = Vec3::Constant(1);
  camera.target = 0.5 * (low + high);
  const double size = std::max(1e-6, (high - low).norm());
  const double a = options.azimuth, e = options.elevation;
  const Vec3 viewer(std::sin(a) * std::cos(e), -std::cos(a) * std::cos(e), std::sin(e));
  const Vec3 right(std::cos(a), std::sin(a), 0);
  camera.R_CW.row(0) = right;
  camera.R_CW.row(1) = cross(viewer, right);
  camera.R_CW.row(2) = viewer;
  camera.distance = options.perspective > 0 ? size / options.perspective : 0;
  Vec2 least = Vec2::Constant(kInfinity), most = Vec2::Constant(-kInfinity);
  for (const Vec3& p : points) {
    least = least.cwiseMin(camera.project(p));
    most = most.cwiseMax(camera.project(p));
  }
  if (points.empty()) least.setConstant(-1), most.setConstant(1);
  const double margin = 0.09, top = options.title.empty() ? 0 : 34;
  const Vec2 room((1 - 2 * margin) * options.width, (1 - 2 * margin) * (options.height - top));
  const Vec2 extent = (most - least).cwiseMax(Vec2::Constant(1e-9));
  camera.scale = std::min(room.x() / extent.x(), room.y() / extent.y());
  camera.center =
      Vec2(0.5 * options.width, top + 0.5 * (options.height - top)) - 0.5 * camera.scale * (least + most);
  return camera;
}

Color base_color(const Model& model, const ModelShape& shape) {
  constexpr std::uint32_t palette[] = {0x4c8ccf, 0xe0a84a, 0x8f79c9, 0xd9717d, 0x5fb3a5,
                                       0xb7c256, 0xcf86b8, 0x7d94a8, 0xe08a5a, 0x6cb86f};
  constexpr int size = static_cast<int>(std::size(palette)), small = 12;
  if (shape.link == 0 || shape.part != SurfacePart::none || shape.rgba != ShapeInstance().rgba)
    return {shape.rgba[0], shape.rgba[1], shape.rgba[2]};
  const int tree = model.links[shape.link].object;
  const std::uint32_t hex = palette[(model.num_links() > small && tree >= 0 ? tree : shape.link) % size];
  return Color(static_cast<float>(hex >> 16), static_cast<float>(hex >> 8 & 255),
               static_cast<float>(hex & 255)) /
         255;
}

Color shade(const Color& base, const Vec3& normal, const Vec3& to_viewer, double light) {
  const double lambert = light * std::max(0.0, normal.dot(kLight));
  const double sky = 0.5 + 0.5 * normal.z();
  const double mirror = std::max(0.0, normal.dot((kLight + to_viewer).normalized()));
  const double power4 = mirror * mirror * mirror * mirror, power8 = power4 * power4,
               power16 = power8 * power8;
  const double highlight = power16 * power16 * power8;  // mirror^40
  const auto all = static_cast<float>(0.34 + 0.16 * sky + 0.58 * lambert);
  return base * all + Color::Constant(static_cast<float>(0.16 * light * highlight));
}

}  // namespace capstan::drawing
