#include "bench/gauntlet/peers/mujoco_flex.h"

#include <algorithm>
#include <numbers>
#include <sstream>

#include "capstan/math/rotation.h"
#include "capstan/scene/rod.h"
#include "capstan/scene/soft_body.h"

namespace capstan::gauntlet {
namespace {

// What of a rod or soft body goes into a flexcomp.
struct FlexPlan {
  std::string name;
  std::vector<Vec3> layout, start;  // [vertices] as compiled, and at the start
  std::vector<int> elements, pins;
  Vec3 velocity = Vec3::Zero(), angular = Vec3::Zero();
  std::vector<double> vertex_mass;  // [kg] what is nearest to each
  double mass = 0, radius = 1e-4, young = 0, poisson = 0, alpha = 0, beta = 0;
  int dimension = 3;
};

FlexPlan plan_rod(const RodSpec& rod) {
  if (rod.section.type != RodSectionType::circle || rod.closed)
    throw CannotExpress("only round open rods are made here");
  FlexPlan plan;
  plan.name = rod.name;
  plan.dimension = 1;
  plan.start = plan.layout = rod.nodes;
  double length = 0;
  const Vec3 along = (rod.nodes[1] - rod.nodes[0]).normalized();
  for (std::size_t i = 1; i < rod.nodes.size(); ++i) {
    const double edge = (rod.nodes[i] - rod.nodes[i - 1]).norm();
    if (rod.rest == RodRest::straight) plan.layout[i] = plan.layout[i - 1] + edge * along;
    length += edge;
    plan.elements.insert(plan.elements.end(), {static_cast<int>(i) - 1, static_cast<int>(i)});
  }
  plan.radius = rod.section.width / 2;
  const double line_density = rod.density * std::numbers::pi * plan.radius * plan.radius;
  plan.mass = line_density * length;
  plan.vertex_mass.assign(rod.nodes.size(), 0);
  for (std::size_t i = 1; i < rod.nodes.size(); ++i) {
    const double half = 0.5 * line_density * (rod.nodes[i] - rod.nodes[i - 1]).norm();
    plan.vertex_mass[i - 1] += half;
    plan.vertex_mass[i] += half;
  }
  plan.young = rod.young_modulus, plan.poisson = rod.poisson_ratio;
  plan.alpha = rod.alpha, plan.beta = rod.beta;
  plan.velocity = rod.velocity;
  std::vector<int> held = rod.pinned_nodes;
  for (const int edge : rod.clamped_edges) held.insert(held.end(), {edge, edge + 1});
  for (const int node : held) {
    if (plan.layout[node] != plan.start[node]) throw CannotExpress("only straight rods are held here");
    plan.pins.push_back(node);
  }
  // A <connect> of a vertex whose point is set after compiling did not hold anything when it was tried.
  if (!rod.attachments.empty()) throw CannotExpress("ends of rods are not tied to bodies here");
  return plan;
}

FlexPlan plan_soft(const SoftBodySpec& soft) {
  FlexPlan plan;
  plan.name = soft.name;
  if (!soft.attachments.empty()) throw CannotExpress("soft bodies are not tied here");
  for (std::size_t i = 0; i < soft.mesh->vertices.size(); ++i) {
    const Vec3& p = soft.mesh->vertices[i];
    plan.layout.push_back(soft.pose.position + rotate(soft.pose.quat_wxyz, p));
    for (const SoftRegion& region : soft.fixed) {
      if (region.contains(p)) plan.pins.push_back(static_cast<int>(i));
    }
  }
  plan.start = plan.layout;
  for (const auto& tet : soft.mesh->tets) {
    const Vec3 a = plan.layout[tet[0]], b = plan.layout[tet[1]] - a, c = plan.layout[tet[2]] - a,
               d = plan.layout[tet[3]] - a;
    const double mass = soft.density / 6 * std::abs(cross(b, c).dot(d));
    plan.mass += mass;
    plan.vertex_mass.resize(plan.layout.size());
    for (const int vertex : tet) plan.vertex_mass[vertex] += mass / 4;
    for (const int vertex : tet) plan.elements.push_back(vertex);
  }
  plan.young = soft.young_modulus, plan.poisson = soft.poisson_ratio;
  plan.alpha = soft.alpha, plan.beta = soft.beta;
  plan.velocity = soft.velocity, plan.angular = soft.angular_velocity;
  return plan;
}

std::vector<FlexPlan> plan_all(const Task& task) {
  std::vector<FlexPlan> plans;
  for (const RodSpec& rod : task.scene.rods) plans.push_back(plan_rod(rod));
  for (const SoftBodySpec& soft : task.scene.soft_bodies) plans.push_back(plan_soft(soft));
  return plans;
}

}  // namespace

bool has_flexes(const Task& task) {
  return !task.scene.rods.empty() || !task.scene.soft_bodies.empty();
}

std::string write_flexes(const Task& task) {
  std::ostringstream xml;
  xml.precision(17);
  const double friction = material_of(task).friction;
  for (const FlexPlan& plan : plan_all(task)) {
    xml << "<flexcomp name='" << plan.name << "' type='direct' dim='" << plan.dimension << "' mass='"
        << plan.mass << "' radius='" << plan.radius << "' point='";
    for (const Vec3& p : plan.layout) xml << p.x() << " " << p.y() << " " << p.z() << " ";
    xml << "' element='";
    for (const int vertex : plan.elements) xml << vertex << " ";
    xml << "'>\n<edge equality='" << (plan.dimension == 1 ? "true" : "false") << "'/><elasticity young='"
        << plan.young << "' poisson='" << std::min(plan.poisson, 0.49) << "' damping='" << plan.beta
        << "'/><contact selfcollide='none' friction='" << friction << " 0.005 0.0001'/>\n";
    if (!plan.pins.empty()) {
      xml << "<pin id='";
      for (const int pin : plan.pins) xml << pin << " ";
      xml << "'/>\n";
    }
    xml << "</flexcomp>\n";
  }
  return xml.str();
}

MujocoFlexes::MujocoFlexes(const Task& task, mjModel* m, mjData* d) : m_(m), d_(d) {
  for (const FlexPlan& plan : plan_all(task)) {
    Flex flex;
    flex.name = plan.name;
    flex.alpha = plan.alpha;
    flex.start = plan.start;
    Vec3 centre = Vec3::Zero();
    for (const Vec3& p : plan.start) centre += p / static_cast<double>(plan.start.size());
    for (std::size_t i = 0; i < plan.start.size(); ++i) {
      const int body = mj_name2id(m, mjOBJ_BODY, (plan.name + "_" + std::to_string(i)).c_str());
      flex.body.push_back(body);
      flex.mass.push_back(body < 0 ? 0 : plan.vertex_mass[i]);
      if (body < 0) continue;
      m->body_mass[body] = plan.vertex_mass[i];
      const Vec3 v = plan.velocity + cross(plan.angular, Vec3(plan.start[i] - centre));
      for (int k = 0; k < 3; ++k) {
        const int joint = m->body_jntadr[body] + k;
        d->qpos[m->jnt_qposadr[joint]] = plan.start[i][k] - plan.layout[i][k];
        d->qvel[m->jnt_dofadr[joint]] = v[k];
      }
    }
    flexes_.push_back(flex);
  }
  if (!flexes_.empty()) {  // what follows from masses; it takes the reference for the state
    const std::vector<mjtNum> q(d->qpos, d->qpos + m->nq), v(d->qvel, d->qvel + m->nv);
    mj_setConst(m, d);
    std::copy(q.begin(), q.end(), d->qpos);
    std::copy(v.begin(), v.end(), d->qvel);
  }
  for (const Probe& probe : task.probes) {
    Point point;
    while (flexes_[point.flex].name != probe.object) ++point.flex;
    double nearest = kInfinity;
    const std::vector<Vec3>& start = flexes_[point.flex].start;
    for (std::size_t i = 0; probe.start && i < start.size(); ++i) {
      const double distance = (start[i] - *probe.start).norm();
      if (distance < nearest) nearest = distance, point.vertex = static_cast<int>(i);
    }
    if (probe.start && nearest > 1e-4) throw CannotExpress("the mesh has no vertex at probe " + probe.name);
    points_.push_back(point);
  }
}

void MujocoFlexes::apply_damping() {
  for (const Flex& flex : flexes_) {
    if (flex.alpha == 0) continue;
    for (std::size_t i = 0; i < flex.body.size(); ++i) {
      for (int k = 0; flex.body[i] >= 0 && k < 3; ++k) {
        const int dof = m_->body_dofadr[flex.body[i]] + k;
        d_->qfrc_applied[dof] = -flex.alpha * flex.mass[i] * d_->qvel[dof];
      }
    }
  }
}

BodyState MujocoFlexes::state_of(const Flex& flex, int vertex) const {
  BodyState s;
  const int body = flex.body[vertex];
  s.position = flex.start[vertex];
  if (body < 0) return s;
  s.position = Eigen::Map<const Vec3>(d_->xpos + 3 * body);
  s.velocity = Eigen::Map<const Vec3>(d_->qvel + m_->body_dofadr[body]);
  return s;
}

void MujocoFlexes::get(std::span<BodyState> probes) const {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Flex& flex = flexes_[points_[i].flex];
    if (points_[i].vertex >= 0) {
      probes[i] = state_of(flex, points_[i].vertex);
      continue;
    }
    double mass = 0;
    BodyState whole;
    Vec3 angular = Vec3::Zero();
    for (std::size_t k = 0; k < flex.body.size(); ++k) {
      const BodyState s = state_of(flex, static_cast<int>(k));
      mass += flex.mass[k];
      whole.position += flex.mass[k] * s.position;
      whole.velocity += flex.mass[k] * s.velocity;
      angular += flex.mass[k] * cross(s.position, s.velocity);
    }
    whole.position /= mass, whole.velocity /= mass;
    whole.angular = angular / mass - cross(whole.position, whole.velocity);
    probes[i] = whole;
  }
}

}  // namespace capstan::gauntlet
