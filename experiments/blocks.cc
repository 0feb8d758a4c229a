#include "experiments/blocks.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <set>

#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

// [m] Points that are so far apart are contacts: solvers leave gaps of their tolerance under one half of a
// face, and who does not see them tips over its other half.
constexpr double kMargin = 1e-6;

Body free_body(const std::string& name, const Vec3& position) {
  Body body;
  body.name = name;
  body.pose.position = position;
  Joint joint;
  joint.name = name;
  joint.type = JointType::free;
  body.joints.push_back(joint);
  return body;
}

ShapeInstance shape_of(const std::string& name, const std::string& body, const Shape& shape, double mass) {
  ShapeInstance s;
  s.name = name;
  s.body = body;
  s.shape = shape;
  s.has_mass = mass > 0;
  if (mass > 0) s.mass = mass;
  s.margin = kMargin;
  return s;
}

// A wedge by its eight corners, the last index of which changes first: angle, radius, y.
ConvexMesh make_wedge(const std::vector<Vec3>& corners) {
  constexpr int kFaces[6][4] = {{0, 1, 3, 2}, {4, 6, 7, 5}, {0, 4, 5, 1},
                                {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 5, 7, 3}};
  auto mesh = std::make_shared<TriangleMesh>();
  mesh->vertices = corners;
  for (const auto& f : kFaces) {
    mesh->triangles.push_back({f[0], f[1], f[2]});
    mesh->triangles.push_back({f[0], f[2], f[3]});
  }
  return {mesh};
}

}  // namespace

Scene on_plane(double friction) {
  Scene scene;
  Material material;
  material.name = "default";
  material.friction = friction;
  scene.materials = {material};
  scene.shapes = {shape_of("plane", kWorld, HalfSpace{}, 0)};
  return scene;
}

void add_box(const std::string& name, const Vec3& position, const Vec3& half, double mass, Scene* scene) {
  scene->bodies.push_back(free_body(name, position));
  scene->shapes.push_back(shape_of(name, name, Box{half}, mass));
}

Scene make_two_boxes(double friction, double ratio) {
  Scene scene = on_plane(friction);
  add_box("lower", {0, 0, 0.05}, Vec3::Constant(0.05), 1, &scene);
  add_box("upper", {0.005, 0, 0.15}, Vec3::Constant(0.05), ratio, &scene);
  return scene;
}

Scene make_tower(double friction, int boxes) {
  Scene scene = on_plane(friction);
  for (int i = 0; i < boxes; ++i)
    add_box(fmt::format("box_{}", i), {0.005 * (i % 2), 0.005 * (i / 2 % 2), 0.05 + 0.1 * i},
            Vec3::Constant(0.05), 1, &scene);
  return scene;
}

Scene make_tower_and_ball(double friction, int boxes) {
  Scene scene = make_tower(friction, boxes);
  scene.bodies.push_back(free_body("ball", {-0.35, 0, 0.3}));
  scene.shapes.push_back(shape_of("ball", "ball", Sphere{0.05}, 2));
  scene.initial.v["ball"] = {5, 0, 0, 0, 0, 0};
  return scene;
}

Scene make_wall(double friction, int rows, int bricks) {
  constexpr double kPitch = 0.202;
  Scene scene = on_plane(friction);
  for (int r = 0; r < rows; ++r) {
    const double z = 0.05 + 0.1 * r;
    for (int i = 0; i < bricks - r % 2; ++i)
      add_box(fmt::format("brick_{}_{}", r, i), {kPitch * (i + 0.5 * (r % 2)), 0, z}, {0.1, 0.05, 0.05}, 2,
              &scene);
    if (r % 2 == 0) continue;
    add_box(fmt::format("half_{}_0", r), {-0.25 * kPitch, 0, z}, {0.049, 0.05, 0.05}, 1, &scene);
    add_box(fmt::format("half_{}_1", r), {(bricks - 0.75) * kPitch, 0, z}, {0.049, 0.05, 0.05}, 1, &scene);
  }
  return scene;
}

Scene make_arch(double friction, int stones) {
  Scene scene = on_plane(friction);
  const double inner = 0.8, outer = 1.0, width = 0.15, step = std::numbers::pi / stones;
  for (int i = 0; i < stones; ++i) {
    const double a = i * step, b = a + step;
    std::vector<Vec3> corners;
    Vec3 centre = Vec3::Zero();
    for (const double angle : {a, b}) {
      for (const double r : {inner, outer}) {
        for (const double y : {-width, width})
          corners.emplace_back(r * std::cos(angle), y, r * std::sin(angle));
      }
    }
    for (const Vec3& c : corners) centre += c / 8;
    for (Vec3& c : corners) c -= centre;
    const std::string name = fmt::format("stone_{}", i);
    scene.bodies.push_back(free_body(name, centre));
    scene.shapes.push_back(shape_of(name, name, make_wedge(corners), 10));
  }
  return scene;
}

Scene make_card_house(double friction) {
  const std::set<std::string> kept = {"left_00", "right_00", "left_01", "right_01",
                                      "flat_00", "left_10",  "right_10"};
  Scene scene = shipped_scene("card_house");
  std::erase_if(scene.bodies, [&](const Body& body) { return !kept.contains(body.name); });
  std::erase_if(scene.shapes,
                [&](const ShapeInstance& s) { return s.body != kWorld && !kept.contains(s.body); });
  for (ShapeInstance& shape : scene.shapes) shape.margin = kMargin;
  for (Material& material : scene.materials) material.friction = friction;
  return scene;
}

}  // namespace capstan::experiments
