#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "bench/gauntlet/gauntlet.h"
#include "capstan/dynamics/tree.h"
#include "capstan/math/rotation.h"
#include "capstan/model/add_rod.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/step/step.h"

namespace capstan::gauntlet {
namespace {

int find_flexible(const Model& model, const std::string& name) {
  for (const int object : find_rods(model)) {
    if (rod_name(model, object) == name) return object;
  }
  for (const int object : find_soft_bodies(model)) {
    if (soft_body_name(model, object) == name) return object;
  }
  throw std::runtime_error("there is no rod or soft body " + name);
}

// A probe in the model: a node of an object, or (node < 0) all of it.
struct NodeProbe {
  int object = 0, node = -1;
  int stride = 0;  // numbers of q and of v for each node

  NodeProbe(const Model& model, const VecX& q, const Probe& probe)
      : object(find_flexible(model, probe.object)) {
    if (!probe.start) return;
    const bool is_rod = model.objects[object].physics->kind() == "rod";
    stride = is_rod ? 4 : 3;
    const int num_nodes =
        is_rod ? rod_of(model, object).num_nodes() : soft_body_of(model, object).num_nodes();
    double nearest = kInfinity;
    for (int i = 0; i < num_nodes; ++i) {
      const double distance =
          (q.segment<3>(model.objects[object].q_begin + stride * i) - *probe.start).norm();
      if (distance < nearest) nearest = distance, node = i;
    }
    if (nearest > 1e-4)
      throw std::runtime_error(fmt::format("probe {}: the nearest node of {} is {:.3g} m away", probe.name,
                                           probe.object, nearest));
  }

  BodyState get(const Model& model, const State& state) const {
    const Object& o = model.objects[object];
    BodyState s;
    if (node >= 0) {
      s.position = state.q.segment<3>(o.q_begin + stride * node);
      s.velocity = state.v.segment<3>(o.dof_begin + stride * node);
      return s;
    }
    const auto q = state.q.segment(o.q_begin, o.num_positions());
    const auto v = state.v.segment(o.dof_begin, o.num_dofs());
    Vec3 moment;
    const double mass = o.physics->calc_mass(q, &moment);
    const Vec6 momentum = o.physics->calc_momentum(q, v);
    s.position = moment / mass;
    s.velocity = momentum.tail<3>() / mass;
    s.angular = momentum.head<3>() / mass - cross(s.position, s.velocity);
    return s;
  }
};

class CapstanRunner : public Runner {
 public:
  CapstanRunner(const Task& task, double dt, const CapstanSettings& settings)
      : model_(compile(task.scene)),
        options_(step_options(model_)),
        state_(initial_state(model_)),
        workspace_(make_workspace(model_)),
        placement_(make_placement(model_)),
        velocity_(make_velocity(model_)) {
    options_.dt = dt;
    if (!settings.law.empty()) {
      const auto law = std::find(kContactLawNames.begin(), kContactLawNames.end(), settings.law);
      if (law == kContactLawNames.end()) throw std::runtime_error("there is no law " + settings.law);
      options_.contact.law = static_cast<ContactLaw>(law - kContactLawNames.begin());
    }
    if (!settings.integrator.empty()) {
      const auto integrator = integrator_from_name(settings.integrator);
      if (!integrator) throw std::runtime_error("there is no integrator " + settings.integrator);
      options_.integrator = *integrator;
    }
    for (const Body& body : task.scene.bodies) bodies_.push_back(model_.find_body(body.name));
    for (const Probe& probe : task.probes) probes_.emplace_back(model_, state_.q, probe);
  }

  void step() override { capstan::step(model_, options_, {}, &state_, &workspace_); }

  void get(std::span<BodyState> bodies) override {
    calc_placement(model_, state_.q, &placement_);
    calc_velocity(model_, placement_, state_.v, &velocity_);
    for (std::size_t i = 0; i < probes_.size(); ++i)
      bodies[bodies_.size() + i] = probes_[i].get(model_, state_);
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      const Transform X = body_pose(model_, placement_, bodies_[i]);
      const Vec6 V = body_velocity(model_, placement_, velocity_, bodies_[i]);
      bodies[i] = {X.p, quat_from_matrix(X.R), V.tail<3>(), V.head<3>()};
    }
  }

  Built describe() override {
    calc_placement(model_, state_.q, &placement_);
    Built built;
    built.gravity = model_.options.gravity;
    for (const int b : bodies_) {
      const Link& link = model_.links[model_.bodies[b].link];
      const Transform X = body_pose(model_, placement_, link.body);
      built.bodies.push_back({link.mass, X * link.com, X.R * link.inertia * X.R.transpose()});
    }
    for (const ModelShape& shape : model_.shapes) {
      const bool is_rigid =
          shape.body == 0 || std::find(bodies_.begin(), bodies_.end(), shape.body) != bodies_.end();
      if (!shape.collides || !is_rigid) continue;
      const ModelBody& body = model_.bodies[shape.body];
      const Transform X = body_pose(model_, placement_, model_.links[shape.link].body) * shape.X_LS;
      built.shapes.push_back(describe_shape(body.name, shape.shape, X));
      if (shape.body == 0) built.shapes.back().body.clear();
    }
    return built;
  }

 private:
  static BuiltShape describe_shape(const std::string& body, const Shape& shape, const Transform& X) {
    BuiltShape built{body, "", {}, X};
    std::vector<Vec3> points;
    if (const auto* sphere = std::get_if<Sphere>(&shape)) {
      built.type = "sphere", built.size = {sphere->radius};
    } else if (const auto* box = std::get_if<Box>(&shape)) {
      built.type = "box";
      for (const double half : box->half_size) built.size.push_back(2 * half);
    } else if (const auto* capsule = std::get_if<Capsule>(&shape)) {
      built.type = "capsule", built.size = {capsule->radius, 2 * capsule->half_length};
    } else if (const auto* cylinder = std::get_if<Cylinder>(&shape)) {
      built.type = "cylinder", built.size = {cylinder->radius, 2 * cylinder->half_length};
    } else if (std::holds_alternative<HalfSpace>(shape)) {
      built.type = "half_space";
    } else if (const auto* hull = std::get_if<ConvexMesh>(&shape)) {
      for (const Vec3& p : hull->mesh->vertices) points.push_back(X * p);
    } else if (const auto* surface = std::get_if<SurfaceMesh>(&shape)) {
      for (const Vec3& p : surface->mesh->vertices) points.push_back(X * p);
    } else if (const auto* field = std::get_if<HeightField>(&shape)) {
      for (const double h : *field->height) {
        for (const double side : {-1.0, 1.0})
          points.push_back(X * Vec3(side * field->half_size.x(), side * field->half_size.y(), h));
      }
    }
    return points.empty() ? built : built_points(body, "mesh", points);
  }

  Model model_;
  StepOptions options_;
  State state_;
  Workspace workspace_;
  Placement placement_;
  Velocity velocity_;
  std::vector<int> bodies_;
  std::vector<NodeProbe> probes_;
};

}  // namespace

double flexible_mass(const Scene& scene, const std::string& name) {
  const Model model = compile(scene);
  const State state = initial_state(model);
  const Object& o = model.objects[find_flexible(model, name)];
  Vec3 moment;
  return o.physics->calc_mass(state.q.segment(o.q_begin, o.num_positions()), &moment);
}

BuiltShape built_points(const std::string& body, const std::string& type, const std::vector<Vec3>& points) {
  Vec3 low = Vec3::Constant(kInfinity), high = -low;
  for (const Vec3& p : points) low = low.cwiseMin(p), high = high.cwiseMax(p);
  BuiltShape built{body, type, {}, {}};
  for (const Vec3& corner : {low, high}) built.size.insert(built.size.end(), corner.begin(), corner.end());
  return built;
}

std::unique_ptr<Runner> make_capstan(const Task& task, double dt, const CapstanSettings& settings) {
  return std::make_unique<CapstanRunner>(task, dt, settings);
}

}  // namespace capstan::gauntlet
