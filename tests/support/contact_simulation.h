// Small contact scenes and a way to run them, for tests that compare with arithmetic.
#pragma once

#include <cmath>
#include <string>

#include "capstan/step/step.h"

namespace capstan::test {

constexpr double kGravity = 9.81;
constexpr ContactLaw kLaws[] = {ContactLaw::sap, ContactLaw::lagged, ContactLaw::similar,
                                ContactLaw::regularized_lagged};
inline const char* const kLawNames[] = {"sap", "lagged", "similar", "regularized_lagged"};

inline ShapeInstance make_shape(const std::string& name, const std::string& body, const Shape& shape,
                                double mass = 0) {
  ShapeInstance s;
  s.name = name;
  s.body = body;
  s.shape = shape;
  s.has_mass = mass > 0;
  if (mass > 0) s.mass = mass;
  return s;
}

inline Body free_body(const std::string& name, const Vec3& position) {
  Body body;
  body.name = name;
  body.pose.position = position;
  Joint joint;
  joint.name = name;
  joint.type = JointType::free;
  body.joints.push_back(joint);
  return body;
}

// A 1 kg cube of 10 cm on the plane z = 0; both surfaces of stiffness 2 k, so that the contact has k.
inline Scene box_on_plane(double friction, double stiffness) {
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

struct Simulation {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;
  Report report;
  Input input;

  Simulation(const Scene& scene, double dt, ContactLaw law)
      : model(compile(scene)), state(initial_state(model)), workspace(make_workspace(model)) {
    options.dt = dt;
    options.contact.law = law;
    options.newton.relative_tolerance = 1e-8;
  }
  void go(double duration) {
    const int steps = static_cast<int>(std::lround(duration / options.dt));
    for (int i = 0; i < steps; ++i) report = step(model, options, input, &state, &workspace);
  }
};

}  // namespace capstan::test
