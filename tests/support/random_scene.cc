#include "tests/support/random_scene.h"

#include "capstan/math/rotation.h"

namespace capstan::test {

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

Vec3 random_vector(Random& random, double size) {
  const double x = uniform(random, -size, size), y = uniform(random, -size, size),
               z = uniform(random, -size, size);
  return {x, y, z};
}

Vec4 random_quat(Random& random) {
  return quat_exp(random_vector(random, 2));
}

Inertia random_inertia(Random& random) {
  Inertia inertia;
  std::vector<Vec3> points;
  std::vector<double> masses;
  for (int i = 0; i < 5; ++i) {
    points.push_back(random_vector(random, 0.3));
    masses.push_back(uniform(random, 0.1, 1));
    inertia.mass += masses.back();
    inertia.com += masses.back() * points.back();
  }
  inertia.com /= inertia.mass;
  for (int i = 0; i < 5; ++i) {
    const Vec3 d = points[i] - inertia.com;
    inertia.about_com += masses[i] * (d.squaredNorm() * Mat3::Identity() - d * d.transpose());
  }
  return inertia;
}

Scene random_scene(Random& random, int num_bodies) {
  Scene scene;
  scene.name = "random";
  scene.options.gravity = random_vector(random, 10);
  int num_joints = 0;
  const auto add_joint = [&](Body& body, JointType type) {
    Joint joint;
    joint.name = "j" + std::to_string(num_joints++);
    joint.type = type;
    joint.axis = random_vector(random, 1);
    joint.axis2 = random_vector(random, 1);
    joint.position = random_vector(random, 0.2);
    joint.pitch = uniform(random, -0.1, 0.1);
    joint.reference = type == JointType::revolute || type == JointType::prismatic || type == JointType::screw
                          ? uniform(random, -0.5, 0.5)
                          : 0;
    joint.rotor_inertia = uniform(random, 0, 0.05);
    joint.stiffness = uniform(random, 0, 2);
    joint.damping = uniform(random, 0, 1);
    joint.spring_reference = uniform(random, -0.5, 0.5);
    body.joints.push_back(joint);
  };
  for (int i = 0; i < num_bodies; ++i) {
    Body body;
    body.name = "b" + std::to_string(i);
    const int parent = std::uniform_int_distribution<int>(-1, i - 1)(random);
    body.parent = parent < 0 || (i > 0 && parent == 0 && uniform(random, 0, 1) < 0.3)
                      ? kWorld
                      : "b" + std::to_string(parent);
    body.pose = {random_vector(random, 0.5), random_quat(random)};
    body.inertia = random_inertia(random);
    const int kind = std::uniform_int_distribution<int>(0, 9)(random);
    switch (kind) {
      case 0:
        break;  // welded
      case 1:
        add_joint(body, JointType::revolute);
        break;
      case 2:
        add_joint(body, JointType::prismatic);
        break;
      case 3:
        add_joint(body, JointType::screw);
        break;
      case 4:
        add_joint(body, JointType::universal);
        break;
      case 5:
        add_joint(body, JointType::ball);
        break;
      case 6:
        add_joint(body, JointType::planar);
        break;
      case 7:
        add_joint(body, JointType::free);
        break;
      case 8:
        add_joint(body, JointType::prismatic);
        add_joint(body, JointType::revolute);
        add_joint(body, JointType::revolute);
        break;
      default:
        add_joint(body, JointType::revolute);
        add_joint(body, JointType::ball);
        add_joint(body, JointType::prismatic);
        break;
    }
    scene.bodies.push_back(body);
  }
  return scene;
}

State random_state(Random& random, const Model& model, double speed) {
  State state = initial_state(model);
  for (int k = 0; k < state.v.size(); ++k) state.v[k] = uniform(random, -1, 1);
  move(model, state.q, state.v, 1, &state.q);
  for (int k = 0; k < state.v.size(); ++k) state.v[k] = uniform(random, -speed, speed);
  return state;
}

}  // namespace capstan::test
