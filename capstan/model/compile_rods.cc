// Rods to objects, and their attachments to constraints.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "capstan/model/add_rod.h"
#include "capstan/model/compiler.h"

namespace capstan {
namespace {

constexpr std::size_t kMostNodes = 100'000;  // of all rods: a shape of a kilobyte and more for each

bool check_spec(const RodSpec& spec, const std::string& who, Diagnostics& d) {
  const int before = d.num_errors();
  for (const Vec3& node : spec.nodes) {
    if (node.allFinite() && node.cwiseAbs().maxCoeff() <= kLargestNumber) continue;
    d.error(spec.where, fmt::format("{} has a node at ({:g}, {:g}, {:g})", who, node.x(), node.y(), node.z()),
            "write finite positions in metres, within 1e9 m");
    break;
  }
  const auto finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(spec.angles.begin(), spec.angles.end(), finite) || !spec.director.allFinite() ||
      !spec.velocity.allFinite() || !finite(spec.alpha) || !finite(spec.beta)) {
    d.error(spec.where, who + " has an angle, director, velocity or damping that is not finite",
            "write finite numbers");
  }
  if (const double size = std::max(spec.section.width, spec.section.height); size > kLargestNumber) {
    d.error(spec.where, fmt::format("{} is {:g} m thick, more than double precision can carry", who, size),
            "write diameter, or width and height, in metres, within 1e9 m");
  }
  if (const double speed = spec.velocity.norm(); speed > kLargestNumber) {
    d.error(spec.where,
            fmt::format("{} begins at {:g} m/s, more than double precision can carry", who, speed),
            "write a velocity in m/s, within 1e9");
  }
  if (!(spec.margin >= 0) || std::isinf(spec.margin)) {
    d.error(spec.where, fmt::format("{} has margin {:g} m", who, spec.margin),
            "write a finite number of 0 or more");
  }
  return d.num_errors() == before;
}

// A rod in the world's frame, or null with its errors told.
std::shared_ptr<const Rod> make_rod(RodSpec spec, const Transform& X_WB, const std::string& who,
                                    Diagnostics& d) {
  for (Vec3& node : spec.nodes) node = X_WB * node;
  spec.director = X_WB.R * spec.director;
  spec.velocity = X_WB.R * spec.velocity;
  try {
    return std::make_shared<const Rod>(spec);
  } catch (const InputError& error) {
    for (const Diagnostic& found : error.diagnostics().list)
      d.error(found.where, who + ": " + found.what, found.remedy);
    return nullptr;
  }
}

}  // namespace

void ModelCompiler::compile_rods() {
  index_names(scene.rods, "rod", &rod_index, &diagnostics);
  model.initial.q.setZero(model.num_positions);
  model.initial.v.setZero(model.num_velocities());
  std::size_t nodes = 0;
  for (const RodSpec& spec : scene.rods) {
    rod_objects.push_back(-1);
    const std::string who = quoted("rod", spec.name);
    const int material =
        resolve(material_index, "material", spec.material, spec.where, "the material of " + who);
    const int body = resolve(body_index, "body", spec.body, spec.where, "the body of " + who);
    if ((nodes += spec.nodes.size()) > kMostNodes) {
      diagnostics.error(spec.where,
                        fmt::format("{} has {} nodes, and the rods up to it {}; {} is the most", who,
                                    spec.nodes.size(), nodes, kMostNodes),
                        "make edges longer: one or two diameters are fine enough for most rods");
      continue;
    }
    if (!check_spec(spec, who, diagnostics) || material < 0 || body < 0) continue;
    const auto rod = make_rod(spec, reference_pose(body), who, diagnostics);
    if (!rod) continue;
    if (const std::string first = spec.name + "/0"; body_index.count(first)) {
      diagnostics.error(spec.where,
                        fmt::format("{} has the edge '{}', which is the name of a body", who, first),
                        "rename the rod or the body");
      continue;
    }
    const int object = rod_objects.back() = add_rod(spec.name, rod, material, &model);
    const Object& added = model.objects[object];
    for (std::size_t a = 0; a < model.actuators.size(); ++a)
      actuator_index.emplace(model.actuators[a].name, static_cast<int>(a));
    const std::size_t place = carrier_poses.size();
    carrier_poses.resize(place + rod->num_edges());
    rod->place(model.initial.q.segment(added.q_begin, added.num_positions()),
               std::span(carrier_poses).subspan(place));
    for (int l = added.link_begin; l < added.link_end; ++l)
      body_index.emplace(model.bodies[model.links[l].body].name, model.links[l].body);
  }
}

// A node becomes a ball, an edge a weld, between the edge as a body and the body it is attached to.
void ModelCompiler::compile_attachments() {
  for (std::size_t r = 0; r < scene.rods.size(); ++r) {
    const RodSpec& spec = scene.rods[r];
    for (const RodAttachment& a : spec.attachments) {
      const std::string who = "an attachment of " + quoted("rod", spec.name);
      const int body = resolve(body_index, "body", a.body, a.where, "the body of " + who);
      const Object* object = rod_objects[r] < 0 ? nullptr : &model.objects[rod_objects[r]];
      if ((a.node < 0) == (a.edge < 0)) {
        diagnostics.error(a.where, who + " is of neither a node nor an edge, or of both",
                          "give one of them, from 0 up");
        continue;
      }
      if (!(a.stiffness > 0)) {
        diagnostics.error(a.where, fmt::format("{} has stiffness {:g}", who, a.stiffness),
                          "write a number above 0");
      }
      if (!std::isfinite(a.relaxation_time)) {
        diagnostics.error(a.where, fmt::format("{} has relaxation time {:g} s", who, a.relaxation_time),
                          "write a number of seconds, or leave it out");
      }
      if (a.pose) check_pose(*a.pose, a.where, who, diagnostics);
      if (!object || body < 0 || (a.pose && !is_sound(*a.pose))) continue;
      const auto& rod = static_cast<const Rod&>(*object->physics);
      const bool is_node = a.node >= 0;
      const int wanted = is_node ? a.node : a.edge, count = is_node ? rod.num_nodes() : rod.num_edges();
      if (wanted >= count) {
        diagnostics.error(
            a.where,
            fmt::format("{} is at {} {}, which it does not have", who, is_node ? "node" : "edge", wanted),
            fmt::format("write one from 0 to {}", count - 1));
        continue;
      }
      const int edge = std::min(wanted, rod.num_edges() - 1);
      const int carrier = model.links[object->link_begin + edge].body;
      if (body == carrier) {
        diagnostics.error(a.where, who + " ties an edge to itself", "name another body");
        continue;
      }
      ModelConstraint entry;
      entry.type = is_node ? ConstraintType::ball : ConstraintType::weld;
      entry.name = fmt::format("{}/{}{}", spec.name, is_node ? "node" : "edge", wanted);
      entry.body_a = body;
      entry.body_b = carrier;
      entry.X_B = Transform{};
      Vec3 at_start = reference_pose(carrier).p;
      if (is_node) {
        const double half = 0.5 * rod.rest_length(edge);
        entry.X_B->p.z() = wanted > edge ? half : -half;
        at_start = Rod::node(model.initial.q.segment(object->q_begin, object->num_positions()), wanted);
      }
      entry.X_A = a.pose ? to_transform(*a.pose)
                         : inverse(reference_pose(body)) * Transform{reference_pose(carrier).R, at_start};
      entry.stiffness = a.stiffness;
      entry.relaxation_time = a.relaxation_time < 0 ? -1 : a.relaxation_time;
      model.constraints.push_back(entry);
      if (body == 0) continue;
      // Edges at the node, or the edge and its neighbours, lie in the body or against it.
      const std::vector<int> held =
          parts_around(model, body, std::max(spec.section.width, spec.section.height));
      for (int i = wanted - 1; i <= wanted + (is_node ? 0 : 1); ++i) {
        const int n = rod.num_edges(), near = spec.closed ? (i + n) % n : i;
        if (near < 0 || near >= n) continue;
        const int other = model.links[object->link_begin + near].body;
        for (const int part : held)
          model.excluded_bodies.push_back({std::min(part, other), std::max(part, other)});
      }
    }
  }
}

}  // namespace capstan
