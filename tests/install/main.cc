// Uses one function of each library folder that is compiled, so that a missing one shows at link time, and
// takes some steps, so that a disagreement on the layout of structs shows.
#include <cmath>
#include <cstdio>
#include <numbers>

#include "capstan/geometry/shape.h"
#include "capstan/math/rotation.h"
#include "capstan/scene/scene.h"
#include "capstan/step/step.h"

// A ball of 10 cm that lies on the ground and stays there; its height [m] after some steps.
static double height_of_a_ball() {
  capstan::Scene scene;
  capstan::Body ball;
  ball.name = "ball";
  ball.pose.position = capstan::Vec3(0, 0, 0.1);
  ball.joints.resize(1);
  ball.joints[0].name = "ball";
  ball.joints[0].type = capstan::JointType::free;
  scene.bodies = {ball};
  scene.shapes.resize(2);
  scene.shapes[0].name = "ground";
  scene.shapes[0].shape = capstan::HalfSpace{};
  scene.shapes[1].name = scene.shapes[1].body = "ball";
  scene.shapes[1].shape = capstan::Sphere{.radius = 0.1};
  const capstan::Model model = capstan::compile(scene);
  capstan::State state = capstan::initial_state(model);
  capstan::Workspace workspace = capstan::make_workspace(model);
  const capstan::StepOptions options = capstan::step_options(model);
  for (int i = 0; i < 20; ++i) capstan::step(model, options, {}, &state, &workspace);
  return state.q[2];
}

int main() {
  const double volume = capstan::volume_properties(capstan::Shape(capstan::Sphere{.radius = 1})).volume;
  const capstan::Vec4 quat = capstan::quat_exp(capstan::Vec3(0, 0, std::numbers::pi));
  std::printf("%.6f %.6f %s %.3f\n", volume, quat[3], capstan::joint_type_name(capstan::JointType::free),
              height_of_a_ball());
  return std::abs(volume - 4.0 / 3 * std::numbers::pi) < 1e-12 ? 0 : 1;
}
