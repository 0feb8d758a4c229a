// Soft bodies to objects, and their attachments to constraints.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/math/rotation.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/model/compiler.h"

namespace capstan {
namespace {

constexpr std::size_t kMostTets = 200'000;  // of all soft bodies: the factor of A alone takes gigabytes

bool check_spec(const SoftBodySpec& spec, const std::string& who, Diagnostics& d) {
  const int before = d.num_errors();
  check_pose(spec.pose, spec.where, who, d);
  if (!spec.velocity.allFinite() || !spec.angular_velocity.allFinite() || !std::isfinite(spec.alpha) ||
      !std::isfinite(spec.beta)) {
    d.error(spec.source_of("velocity"), who + " has a velocity or damping that is not finite",
            "write finite numbers");
  }
  double farthest = 0;
  if (spec.mesh) {
    for (const Vec3& x : spec.mesh->vertices) farthest = std::max(farthest, x.norm());
  }
  if (farthest > kLargestNumber) {
    d.error(spec.source_of("mesh"),
            fmt::format("{} has a vertex at {:g} m, more than double precision can carry", who, farthest),
            "write its size in metres, within 1e9 m");
  }
  if (const double speed = spec.velocity.norm() + farthest * spec.angular_velocity.norm();
      speed > kLargestNumber) {
    d.error(spec.source_of("velocity"),
            fmt::format("{} begins at {:g} m/s, more than double precision can carry", who, speed),
            "write velocities in m/s and rad/s that give less than 1e9 m/s");
  }
  if (!(spec.margin >= 0) || std::isinf(spec.margin)) {
    d.error(spec.source_of("margin"), fmt::format("{} has margin {:g} m", who, spec.margin),
            "write a finite number of 0 or more");
  }
  return d.num_errors() == before;
}

// Whether each tet is there once and each vertex is of use.
bool check_tets(const SoftBodySpec& spec, const std::string& who, Diagnostics& d) {
  if (!spec.mesh) return true;
  if (const auto [a, b] = find_doubled_tets(*spec.mesh); a >= 0) {
    d.error(spec.source_of("mesh"), fmt::format("tets {} and {} of {} overlap", a, b, who),
            "leave one of them out: tets that share a face lie on its two sides");
    return false;
  }
  if (const int vertex = find_unused_vertex(*spec.mesh); vertex >= 0) {
    d.error(spec.source_of("mesh"), fmt::format("vertex {} of {} belongs to no tet", vertex, who),
            "leave it out, and count on from there");
    return false;
  }
  return true;
}

// Where the nodes are that a region may be about.
std::string reach_of(const SoftBody& soft) {
  Vec3 lower = soft.rest(0), upper = lower;
  for (int n = 1; n < soft.num_nodes(); ++n) {
    lower = lower.cwiseMin(soft.rest(n));
    upper = upper.cwiseMax(soft.rest(n));
  }
  return fmt::format(
      "make the region larger; it is in the frame of the mesh, which reaches from ({:g}, {:g}, {:g}) to "
      "({:g}, {:g}, {:g})",
      lower.x(), lower.y(), lower.z(), upper.x(), upper.y(), upper.z());
}

Pose to_pose(const Transform& X) {
  Pose pose;
  pose.position = X.p;
  pose.quat_wxyz = quat_from_matrix(X.R);
  return pose;
}

}  // namespace

void ModelCompiler::compile_soft_bodies() {
  const auto meets_another = [&](const SoftBodySpec& body) {
    return std::any_of(scene.soft_bodies.begin(), scene.soft_bodies.end(), [&](const SoftBodySpec& other) {
      return &other != &body && other.collides &&
             ((body.group_bits & other.mask_bits) != 0 || (other.group_bits & body.mask_bits) != 0);
    });
  };
  index_names(scene.soft_bodies, "soft body", &soft_index, &diagnostics);
  std::size_t tets = 0;
  for (const SoftBodySpec& given : scene.soft_bodies) {
    soft_objects.push_back(-1);
    if (given.is_incomplete) continue;
    const std::string who = quoted("soft body", given.name);
    const int material = resolve(material_index, "material", given.material, given.source_of("material"),
                                 "the material of " + who);
    const int body = resolve(body_index, "body", given.body, given.source_of("body"), "the body of " + who);
    if (given.mesh && (tets += given.mesh->tets.size()) > kMostTets) {
      diagnostics.error(given.source_of("mesh"),
                        fmt::format("{} has {} tets, and the soft bodies up to it {}; {} is the most", who,
                                    given.mesh->tets.size(), tets, kMostTets),
                        "use a coarser mesh: 'element: quadratic' needs far fewer");
      continue;
    }
    if (!check_spec(given, who, diagnostics) || material < 0 || body < 0) continue;
    if (!check_tets(given, who, diagnostics)) continue;
    SoftBodySpec spec = given;
    spec.has_edges = spec.collides && (spec.self_contact || meets_another(given));
    const Transform X_WB = reference_pose(body);
    spec.pose = to_pose(X_WB * to_transform(given.pose));
    spec.velocity = X_WB.R * spec.velocity;
    spec.angular_velocity = X_WB.R * spec.angular_velocity;
    std::shared_ptr<const SoftBody> soft;
    try {
      soft = std::make_shared<const SoftBody>(spec);
    } catch (const InputError& error) {
      for (const Diagnostic& found : error.diagnostics().list)
        diagnostics.error(found.where, who + ": " + found.what, found.remedy);
      continue;
    }
    for (const SoftRegion& region : spec.fixed) {
      bool any = false;
      for (int n = 0; n < soft->num_nodes() && !any; ++n) any = region.contains(soft->rest(n));
      if (any) continue;
      diagnostics.error(region.where.file.empty() ? spec.where : region.where,
                        fmt::format("a fixed region of {} has no nodes", who), reach_of(*soft));
    }
    if ((spec.pressure != 0 || spec.is_sealed) && soft->cavity().empty()) {
      diagnostics.error(spec.source_of(spec.is_sealed ? "sealed" : "pressure"),
                        spec.is_sealed
                            ? fmt::format("{} is sealed, and has no cavity", who)
                            : fmt::format("{} has pressure {:g} Pa, and no cavity", who, spec.pressure),
                        "give it a hollow mesh: 'ball: {radius: ..., inner_radius: ...}', or a file");
    }
    std::string taken;
    for (int c = 0; c < soft->num_carried() && taken.empty(); ++c) {
      if (const std::string node = spec.name + "/" + soft->carrier_name(c); body_index.count(node))
        taken = node;
    }
    if (!taken.empty()) {
      diagnostics.error(spec.where,
                        fmt::format("{} has the node '{}', which is the name of a body", who, taken),
                        "rename the soft body or the body");
      continue;
    }
    const int object = soft_objects.back() = add_soft_body(spec.name, soft, material, &model);
    const Object& added = model.objects[object];
    const std::size_t place = carrier_poses.size();
    carrier_poses.resize(place + (added.link_end - added.link_begin));
    soft->place(model.initial.q.segment(added.q_begin, added.num_positions()),
                std::span(carrier_poses).subspan(place));
    for (int l = added.link_begin; l < added.link_end; ++l)
      body_index.emplace(model.bodies[model.links[l].body].name, model.links[l].body);
  }
}

// Each node of the region becomes a ball joint between itself and the body.
void ModelCompiler::compile_soft_attachments() {
  for (std::size_t s = 0; s < scene.soft_bodies.size(); ++s) {
    const SoftBodySpec& spec = scene.soft_bodies[s];
    for (const SoftAttachment& a : spec.attachments) {
      if (spec.is_incomplete) break;
      const std::string who = "an attachment of " + quoted("soft body", spec.name);
      const int body = resolve(body_index, "body", a.body, a.where, "the body of " + who);
      if (!(a.stiffness > 0)) {
        diagnostics.error(a.where, fmt::format("{} has stiffness {:g}", who, a.stiffness),
                          "write a number above 0");
      }
      if (soft_objects[s] < 0 || body < 0) continue;
      const Object& object = model.objects[soft_objects[s]];
      const auto& soft = static_cast<const SoftBody&>(*object.physics);
      if (model.links[model.bodies[body].link].object == soft_objects[s]) {
        diagnostics.error(a.where, fmt::format("{} is to '{}', a part of itself", who, a.body),
                          "name another body, or 'world'");
        continue;
      }
      const auto body_of = [&](int carrier) { return model.links[object.link_begin + carrier].body; };
      const auto exclude = [&](int carrier) {
        const int other = body_of(carrier);
        if (body != 0) model.excluded_bodies.push_back({std::min(body, other), std::max(body, other)});
      };
      int count = 0;
      for (int node = 0; node < soft.num_nodes(); ++node) {
        if (!a.region.contains(soft.rest(node)) || soft.is_fixed(node)) continue;
        const int carrier = soft.carrier_of(node);
        ModelConstraint entry;
        entry.type = ConstraintType::ball;
        entry.name = fmt::format("{}/node{}", spec.name, node);
        entry.body_a = body;
        entry.body_b = body_of(carrier);
        entry.X_B = Transform{};
        entry.X_A = inverse(reference_pose(body)) * reference_pose(entry.body_b);
        entry.stiffness = a.stiffness;
        entry.relaxation_time = a.relaxation_time < 0 ? -1 : a.relaxation_time;
        model.constraints.push_back(entry);
        exclude(carrier);
        ++count;
      }
      if (count == 0) {
        diagnostics.error(a.where, who + " has no nodes in its region", reach_of(soft));
      }
      for (std::size_t t = 0; t < soft.triangles().size(); ++t) {
        const auto& triangle = soft.triangles()[t];
        if (std::any_of(triangle.begin(), triangle.end(),
                        [&](int node) { return a.region.contains(soft.rest(node)); }))
          exclude(soft.num_carried() + static_cast<int>(t));
      }
    }
  }
}

std::vector<int> parts_around(const Model& model, int body, double thickness) {
  std::vector<int> parts = {body};
  const auto link =
      std::find_if(model.links.begin(), model.links.end(), [&](const Link& l) { return l.body == body; });
  if (body == 0 || link == model.links.end()) return parts;
  const Object& object = model.objects[link->object];
  const auto* soft = dynamic_cast<const SoftBody*>(object.physics.get());
  const int carrier = static_cast<int>(link - model.links.begin()) - object.link_begin;
  if (soft == nullptr || carrier >= soft->num_carried()) return parts;
  const Vec3 middle = soft->rest(soft->carried(carrier));
  const auto is_near = [&](int node) { return (soft->rest(node) - middle).norm() <= thickness; };
  const auto add = [&](int i) { parts.push_back(model.links[object.link_begin + i].body); };
  for (int i = 0; i < soft->num_carried(); ++i) {
    if (i != carrier && is_near(soft->carried(i))) add(i);
  }
  for (std::size_t t = 0; t < soft->triangles().size(); ++t) {
    const auto& nodes = soft->triangles()[t];
    if (std::any_of(nodes.begin(), nodes.end(), is_near)) add(soft->num_carried() + static_cast<int>(t));
  }
  const int first_edge = soft->num_carried() + static_cast<int>(soft->triangles().size());
  for (std::size_t e = 0; e < soft->edges().size(); ++e) {
    const auto& nodes = soft->edges()[e].nodes;
    if (std::any_of(nodes.begin(), nodes.end(), is_near)) add(first_edge + static_cast<int>(e));
  }
  return parts;
}

}  // namespace capstan
