#include "tests/support/random_problem.h"

#include <cmath>

#include "capstan/contacts/contacts.h"

namespace capstan::test {
namespace {

double power_of_ten(Random& random, double low, double high) {
  return std::pow(10, uniform(random, low, high));
}

bool chance(Random& random, double probability) {
  return uniform(random, 0, 1) < probability;
}

Material random_material(Random& random, const std::string& name) {
  Material m;
  m.name = name;
  m.stiffness = power_of_ten(random, 2, 12);
  m.friction = chance(random, 0.1) ? 0 : power_of_ten(random, -2, 1);
  m.dissipation = power_of_ten(random, -1, 2);
  return m;
}

Scene extreme_heap(Random& random) {
  const int n = std::min(60, static_cast<int>(std::pow(61, uniform(random, 0, 1))));
  Scene scene = random_heap(random, n, uniform(random, 0, 6));
  if (chance(random, 0.5)) {
    for (int i = 0; i < 3; ++i) scene.materials.push_back(random_material(random, "m" + std::to_string(i)));
    for (std::size_t i = 0; i < scene.shapes.size(); ++i)
      scene.shapes[i].material = "m" + std::to_string(i % 3);
  }
  if (chance(random, 0.2)) {  // squeezed to a fraction of the size: every body inside many others
    const double squeeze = uniform(random, 0.2, 1);
    for (Body& body : scene.bodies) body.pose.position *= squeeze;
  }
  if (chance(random, 0.2)) {
    const std::size_t count = scene.shapes.size();
    for (std::size_t i = 1; i < count; ++i) {
      scene.shapes.push_back(scene.shapes[i]);
      scene.shapes.back().name += "_again";
    }
  }
  return scene;
}

}  // namespace

Scene random_heap(Random& random, int n, double mass_decades) {
  Scene scene;
  scene.materials = {random_material(random, "default")};
  ShapeInstance floor;
  floor.name = "floor";
  floor.shape = HalfSpace{};
  scene.shapes.push_back(floor);
  const double size = 0.06 * std::cbrt(n);
  for (int i = 0; i < n; ++i) {
    Body body;
    body.name = "b" + std::to_string(i);
    body.pose = {random_vector(random, size) + Vec3(0, 0, 0.8 * size), random_quat(random)};
    Joint joint;
    joint.name = body.name;
    joint.type = JointType::free;
    body.joints = {joint};
    scene.bodies.push_back(body);
    ShapeInstance s;
    s.name = s.body = body.name;
    if (i % 3 == 0) {
      s.shape = Sphere{0.05};
    } else if (i % 3 == 1) {
      s.shape = Box{Vec3::Constant(0.05)};
    } else {
      s.shape = Capsule{0.03, 0.04};
    }
    s.mass = power_of_ten(random, -mass_decades / 2, mass_decades / 2);
    scene.shapes.push_back(s);
  }
  return scene;
}

StepProblem::StepProblem(const Scene& scene, Random& random, double speed, double dt,
                         const ContactOptions& options)
    : model(compile(scene)),
      state(initial_state(model)),
      motion(make_motion(model)),
      newton(make_newton_workspace(model)) {
  for (double& x : state.v) x = uniform(random, -speed, speed);
  calc_free_motion(model, state, {}, dt, scheme(Integrator::semi_implicit), &motion);
  CollisionWorkspace collision = make_collision_workspace(model);
  collide(model, motion.placement, &collision, &contacts);
  assemble(model, {state, {}, motion, contacts}, dt, options, &assembly, &problem);
  add_drives(state, scheme(Integrator::semi_implicit), &motion, &assembly, &problem);
}

std::unique_ptr<StepProblem> random_problem(Difficulty difficulty, ContactLaw law, int index) {
  std::seed_seq seed{static_cast<int>(difficulty), static_cast<int>(law), index};
  Random random(seed);
  const double dt = power_of_ten(random, -4, -1.7);
  double speed = power_of_ten(random, -3, 1);
  Scene scene;
  if (difficulty == Difficulty::extreme) {
    scene = extreme_heap(random);
    if (chance(random, 0.1)) speed = uniform(random, 10, 100);
  } else {
    scene = random_heap(random, 1 + index % 12, 1);
    scene.materials[0].stiffness = power_of_ten(random, 3, 7);
    scene.materials[0].friction = uniform(random, 0, 1);
  }
  ContactOptions options;
  options.law = law;
  options.normal_law = static_cast<NormalLaw>(index % 3);
  return std::make_unique<StepProblem>(scene, random, speed, dt, options);
}

}  // namespace capstan::test
