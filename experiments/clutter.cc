#include "experiments/clutter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "capstan/math/rotation.h"

namespace capstan::experiments {
namespace {

// splitmix64: the same numbers everywhere.
struct Random {
  std::uint64_t state = 2022;
  double uniform(double low, double high) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return low + (high - low) * static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
};

void add_falling_body(int i, int columns, Random* random, Scene* scene) {
  const bool is_box = random->uniform(0, 1) < 0.5;
  const int layer = i / columns, column = i % columns, side = columns == 4 ? 2 : 4;
  const double spacing = columns == 4 ? 0.4 : 0.2, first = -0.5 * spacing * (side - 1);
  Body body;
  body.name = fmt::format("{}_{}", is_box ? "box" : "ball", i);
  body.pose.position =
      Vec3(first + spacing * (column % side) + random->uniform(-0.01, 0.01),
           first + spacing * (column / side) + random->uniform(-0.01, 0.01), 0.15 + 0.12 * layer);
  const Vec3 axis(random->uniform(-1, 1), random->uniform(-1, 1), random->uniform(-1, 1));
  const double half = 0.5 * random->uniform(-0.15, 0.15);
  if (is_box) body.pose.quat_wxyz << std::cos(half), std::sin(half) * axis.normalized();
  Joint joint;
  joint.name = body.name;
  joint.type = JointType::free;
  body.joints = {joint};
  ShapeInstance shape;
  shape.name = shape.body = body.name;
  shape.mass = is_box ? 1.0 : 0.524;
  if (is_box) shape.shape = Box{Vec3::Constant(0.05)};
  if (!is_box) shape.shape = Sphere{0.05};
  scene->bodies.push_back(body);
  scene->shapes.push_back(shape);
}

bool is_wall(const ShapeInstance& shape) {
  return shape.name.rfind("wall", 0) == 0;
}

}  // namespace

Scene clutter_scene(const ClutterOptions& o) {
  Scene scene = shipped_scene("clutter");
  if (o.num_bodies != 40) {
    std::erase_if(scene.shapes, [](const ShapeInstance& s) { return s.body != kWorld; });
    scene.bodies.clear();
    scene.initial = {};
    Random random;
    const int columns = o.num_bodies < 100 ? 4 : 16;
    for (int i = 0; i < o.num_bodies; ++i) add_falling_body(i, columns, &random, &scene);
    const double height = std::max(0.8, 0.004 * o.num_bodies);
    for (ShapeInstance& s : scene.shapes) {
      if (!is_wall(s)) continue;
      std::get<Box>(s.shape).half_size.z() = 0.5 * height;
      s.pose.position.z() = 0.5 * height;
    }
  }
  if (!o.walls) std::erase_if(scene.shapes, is_wall);
  for (Material& m : scene.materials) {
    m.stiffness = 2 * o.stiffness;  // two surfaces in series
    m.dissipation = o.dissipation;
    m.relaxation_time = o.relaxation_time;
  }
  return scene;
}

double stiction_tolerance(const Simulation& s) {
  const Problem& p = s.workspace.problem;
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < p.contacts.size(); ++i) {
    const double n = s.workspace.newton.impulse[i].z(), mu = p.contacts[i].mu_xx;
    if (!(n > 0)) continue;
    sum += p.options.law == ContactLaw::sap ? p.contacts[i].slip * mu * n : p.contacts[i].slip / mu;
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

double complementarity_error(const Simulation& s) {
  const Problem& p = s.workspace.problem;
  const std::vector<Vec3> v = contact_velocities(p, s.workspace.newton.v);
  double sum = 0;
  for (std::size_t i = 0; i < p.contacts.size(); ++i) {
    const ContactData& c = p.contacts[i];
    const Vec3& gamma = s.workspace.newton.impulse[i];
    const Vec3 R(c.slip, c.slip, 1 / c.normal.c0);
    const Vec3 g = v[i] - Vec3(0, 0, c.normal.v_hat) + R.cwiseProduct(gamma);
    sum += std::abs(g.dot(gamma));
  }
  const double cost = calc_cost(p, s.workspace.newton.v);
  return p.contacts.empty() || cost == 0 ? 0 : sum / static_cast<double>(p.contacts.size()) / cost;
}

double momentum_error(const Simulation& s) {
  return s.report.judge.momentum;
}

}  // namespace capstan::experiments
