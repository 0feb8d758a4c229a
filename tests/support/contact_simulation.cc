#include "tests/support/contact_simulation.h"

#include <cmath>

namespace capstan::test {

ShapeInstance make_shape(const std::string& name, const std::string& body, const Shape& shape, double mass) {
  ShapeInstance s;
  s.name = name;
  s.body = body;
  s.shape = shape;
  s.has_mass = mass > 0;
  if (mass > 0) s.mass = mass;
  return s;
}

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

Scene box_on_plane(double friction, double stiffness) {
  Scene scene;
  Material m;
  m.name = "default";
  m.friction = friction;
  m.stiffness = 2 * stiffness;
  scene.materials = {m};
  scene.bodies = {free_body("box", {0, 0, 0.05})};
  scene.shapes = {make_shape("plane", kWorld, HalfSpace{}),
                  make_shape("box", "box", Box{Vec3::Constant(0.05)}, 1)};
  return scene;
}

Scene boxes_in_pairs(int pairs, int columns) {
  Scene scene;
  scene.shapes.push_back(make_shape("floor", kWorld, HalfSpace{}));
  for (int i = 0; i < 2 * pairs; ++i) {
    const std::string name = "box" + std::to_string(i);
    scene.bodies.push_back(free_body(
        name, {0.5 * (i / 2 % columns) + 0.01 * (i % 3), 0.5 * (i / (2 * columns)), i % 2 ? 0.17 : 0.055}));
    scene.shapes.push_back(make_shape(name, name, Box{Vec3::Constant(0.05)}, 1));
  }
  return scene;
}

void add_pads(double distance, double mass, Scene* scene) {
  for (const int side : {-1, 1}) {
    Body pad = free_body(side < 0 ? "left" : "right", {side * distance, 0, 0});
    pad.joints[0].type = JointType::prismatic;
    pad.joints[0].axis = Vec3(1, 0, 0);
    scene->bodies.push_back(pad);
    scene->shapes.push_back(make_shape(pad.name, pad.name, Box{Vec3(0.01, 0.02, 0.02)}, mass));
  }
}

Scene falling_heap(int count) {
  Scene scene = box_on_plane(1, 5e6);
  scene.bodies.clear();
  scene.shapes = {make_shape("plane", kWorld, HalfSpace{})};
  for (int side = 0; side < 4; ++side) {
    const double s = side < 2 ? 1 : -1;
    const bool along_x = side % 2 == 0;
    ShapeInstance wall = make_shape("wall_" + std::to_string(side), kWorld,
                                    Box{along_x ? Vec3(0.05, 0.5, 0.4) : Vec3(0.4, 0.05, 0.4)});
    wall.pose.position = Vec3(along_x ? 0.45 * s : 0, along_x ? 0 : 0.45 * s, 0.4);
    scene.shapes.push_back(wall);
  }
  for (int i = 0; i < count; ++i) {
    const std::string name = "body_" + std::to_string(i);
    const double wobble = 0.01 * std::sin(7.0 * i), x = i % 2 == 0 ? -0.2 : 0.2, y = i % 4 < 2 ? -0.2 : 0.2;
    scene.bodies.push_back(free_body(name, {x + wobble, y - wobble, 0.15 + 0.12 * (i / 4)}));
    scene.bodies.back().pose.quat_wxyz = Vec4(1, 0.1 * std::sin(3.0 * i), 0.1 * std::cos(3.0 * i), 0);
    scene.bodies.back().pose.quat_wxyz.normalize();
    const bool ball = (i + i / 4) % 2 == 0;
    scene.shapes.push_back(ball ? make_shape(name, name, Sphere{0.05}, 0.5)
                                : make_shape(name, name, Box{Vec3::Constant(0.05)}, 1));
  }
  return scene;
}

Simulation::Simulation(const Scene& scene, double dt, ContactLaw law)
    : model(compile(scene)), state(initial_state(model)), workspace(make_workspace(model)) {
  options.dt = dt;
  options.contact.law = law;
  options.newton.relative_tolerance = 1e-8;
}

void Simulation::go(double duration) {
  const int steps = static_cast<int>(std::lround(duration / options.dt));
  for (int i = 0; i < steps; ++i) report = step(model, options, input, &state, &workspace);
}

}  // namespace capstan::test
