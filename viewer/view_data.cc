#include "viewer/view_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "capstan/io/surface.h"
#include "capstan/math/rotation.h"
#include "capstan/model/add_rod.h"
#include "capstan/model/add_soft_body.h"

namespace capstan::viewer {
namespace {

constexpr int kSegments = 32;

Json vector_json(const Vec3& x) {
  return {x.x(), x.y(), x.z()};
}

// Position, then quaternion x y z w, as three.js has it.
Json pose_json(const Transform& X) {
  const Vec4 q = quat_from_matrix(X.R);
  return {X.p.x(), X.p.y(), X.p.z(), q[1], q[2], q[3], q[0]};
}

template <class T>
Json binary(const std::vector<T>& data) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(data.data());
  return Json::binary(Bytes(p, p + data.size() * sizeof(T)));
}

// [m] Of the balls that stand for the surface of a soft body where the page looks for what the mouse is on.
double pick_radius(const Model& model, const ModelShape& shape) {
  return 0.3 * soft_body_of(model, model.links[shape.link].object).mean_edge();
}

// An open end is null: pages know no infinity in JSON, and msgpack follows.
Json range_json(const Range& r) {
  const auto end = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  return Json::array({end(r.lower), end(r.upper)});
}

// What the page draws by itself has a size; the rest comes as triangles.
Json geometry(const Shape& shape) {
  if (const auto* s = std::get_if<Sphere>(&shape))
    return {{"type", "sphere"}, {"size", Json::array({s->radius})}};
  if (const auto* b = std::get_if<Box>(&shape)) {
    return {{"type", "box"}, {"size", vector_json(b->half_size)}};
  }
  if (const auto* c = std::get_if<Capsule>(&shape)) {
    return {{"type", "capsule"}, {"size", Json::array({c->radius, c->half_length})}};
  }
  if (const auto* c = std::get_if<Cylinder>(&shape)) {
    return {{"type", "cylinder"}, {"size", Json::array({c->radius, c->half_length})}};
  }
  if (const auto* e = std::get_if<Ellipsoid>(&shape)) {
    return {{"type", "ellipsoid"}, {"size", vector_json(e->radii)}};
  }
  if (std::holds_alternative<HalfSpace>(shape)) return {{"type", "half_space"}};
  const DrawnSurface s = make_surface(shape, kSegments);
  return {{"type", "triangles"},
          {"positions", binary(s.positions)},
          {"normals", binary(s.normals)},
          {"triangles", binary(s.triangles)}};
}

bool is_scalar(const ModelJoint& joint) {
  return num_positions(joint.type) == 1;
}

}  // namespace

Json scene_message(const Model& model, const StepOptions& options, const std::vector<LogColumn>& numbers,
                   double duration, const std::string& kind) {
  Json j = {{"type", "scene"},
            {"name", model.name},
            {"kind", kind},
            {"dt", options.dt},
            {"duration", duration},
            {"gravity", vector_json(model.options.gravity)},
            {"sleeps", options.sleep.on},
            {"num_links", model.num_links()}};
  for (const char* list :
       {"bodies", "links", "shapes", "rods", "soft_bodies", "joints", "actuators", "numbers"}) {
    j[list] = Json::array();
  }
  for (const ModelBody& body : model.bodies) {
    j["bodies"].push_back(
        {{"name", body.name}, {"link", body.link}, {"mass", body.mass}, {"pose", pose_json(body.X_LB)}});
  }
  for (const Link& link : model.links) {
    j["links"].push_back({{"mass", link.mass}, {"com", vector_json(link.com)}, {"tree", link.object}});
  }
  for (const ModelShape& shape : model.shapes) {
    Json s = {{"name", shape.name},         {"body", shape.body},
              {"link", shape.link},         {"pose", pose_json(shape.X_LS)},
              {"collides", shape.collides}, {"rgba", shape.rgba}};
    if (shape.part == SurfacePart::none) {
      s.update(geometry(shape.shape));
    } else {  // drawn as a whole surface; something to pick it by
      s.update(Json{{"type", "sphere"}, {"size", Json::array({pick_radius(model, shape)})}});
    }
    j["shapes"].push_back(std::move(s));
  }
  for (const int id : find_rods(model)) {
    constexpr const char* names[] = {"circle", "rectangle", "ellipse"};
    const Rod& rod = rod_of(model, id);
    const RodSection& section = rod.spec().section;
    const Object& object = model.objects[id];
    j["rods"].push_back(
        {{"first_link", object.link_begin},
         {"num_links", rod.num_edges()},
         {"closed", rod.spec().closed},
         {"section", names[static_cast<int>(section.type)]},
         {"width", section.width},
         {"height", section.type == RodSectionType::circle ? section.width : section.height},
         {"end_half_lengths", {0.5 * rod.rest_length(0), 0.5 * rod.rest_length(rod.num_edges() - 1)}}});
  }
  for (const int id : find_soft_bodies(model)) {
    const SoftBody& body = soft_body_of(model, id);
    const Object& object = model.objects[id];
    std::vector<std::int32_t> triangles;
    std::vector<float> rest;
    for (int c = 0; c < body.num_carried(); ++c) {
      for (const double x : body.rest(body.carried(c))) rest.push_back(static_cast<float>(x));
    }
    for (const auto& triangle : body.triangles()) {
      for (const int node : triangle) triangles.push_back(body.carrier_of(node));
    }
    j["soft_bodies"].push_back({{"first_link", object.link_begin},
                                {"num_links", object.link_end - object.link_begin},
                                {"triangles", binary(triangles)},
                                {"rest", binary(rest)}});
  }
  for (const ModelJoint& joint : model.joints) {
    if (!is_scalar(joint)) continue;
    j["joints"].push_back({{"name", joint.name},
                           {"type", joint_type_name(joint.type)},
                           {"body", joint.body},
                           {"range", range_json(joint.limits.empty() ? Range{} : joint.limits[0])}});
  }
  for (const ModelActuator& a : model.actuators) {
    // A position target without a range of its own has that of its joint.
    Range range = a.control_range;
    if (!std::isfinite(range.lower) && a.bias[1] != 0 && a.transmission.terms.size() == 1) {
      const ModelJoint& joint = model.joints[model.dofs[a.transmission.terms[0].dof].joint];
      if (is_scalar(joint) && !joint.limits.empty()) range = joint.limits[0];
    }
    j["actuators"].push_back({{"name", a.name}, {"range", range_json(range)}, {"is_target", a.bias[1] != 0}});
    if (a.has_activation()) j["actuators"].back()["has_activation"] = true;
  }
  for (const LogColumn& c : numbers) j["numbers"].push_back({{"name", c.name}, {"unit", c.unit}});
  return j;
}

FrameMaker::FrameMaker(const Model& model)
    : model_(model), placement_(make_placement(model)), root_(model.links.size()) {}

Json FrameMaker::frame(const State& state, const std::vector<RecordedContact>& contacts,
                       const VecX& numbers) {
  calc_placement(model_, state.q, &placement_);
  std::vector<float> poses, joints, rates, control, activation;
  for (int l = 1; l < model_.num_links(); ++l) {
    const Transform& X = placement_.X_WL[l];
    const Vec4 q = quat_from_matrix(X.R);
    for (const double x : {X.p.x(), X.p.y(), X.p.z(), q[1], q[2], q[3], q[0]}) {
      poses.push_back(static_cast<float>(x));
    }
  }
  for (const ModelJoint& joint : model_.joints) {
    if (!is_scalar(joint)) continue;
    joints.push_back(static_cast<float>(state.q[joint.q]));
    rates.push_back(static_cast<float>(state.v[joint.v]));
  }
  for (const double u : state.control) control.push_back(static_cast<float>(u));
  for (const double a : state.activation) activation.push_back(static_cast<float>(a));

  for (int l = 0; l < model_.num_links(); ++l) {
    root_[l] = l == 0 ? 0 : model_.objects[model_.links[l].object].link_begin;
  }
  const auto find = [&](int l) {
    while (root_[l] != l) l = root_[l] = root_[root_[l]];
    return l;
  };
  const auto connect = [&](int a, int b) {  // the world connects nothing
    if (a != 0 && b != 0) root_[find(std::max(a, b))] = find(std::min(a, b));
  };
  const int num_shapes = static_cast<int>(model_.shapes.size());
  pairs_.clear();
  for (const RecordedContact& c : contacts) {
    CAPSTAN_ASSERT(c.shape_a >= 0 && c.shape_a < num_shapes && c.shape_b >= 0 && c.shape_b < num_shapes);
    if (c.region != 0) connect(model_.shapes[c.shape_a].link, model_.shapes[c.shape_b].link);
    pairs_.push_back({c.shape_a, c.shape_b});
  }
  std::sort(pairs_.begin(), pairs_.end());
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  calc_patch_surface(model_, placement_, pairs_, &patch_workspace_, &patches_);
  for (const ModelConstraint& c : model_.constraints) {
    if (c.active) connect(model_.bodies[c.body_a].link, model_.bodies[c.body_b].link);
  }
  std::vector<std::int32_t> islands;
  for (int l = 1; l < model_.num_links(); ++l) islands.push_back(find(l));

  std::vector<std::uint8_t> asleep;  // empty: nothing may sleep
  for (int l = 1; l < model_.num_links() && !state.rest.empty(); ++l) {
    asleep.push_back(state.rest[model_.links[l].object].is_asleep());
  }

  std::vector<float> rods;
  for (const int id : find_rods(model_)) {
    const Object& object = model_.objects[id];
    const Rod& rod = rod_of(model_, id);
    const auto q = state.q.segment(object.q_begin, object.num_positions());
    const int last = rod.num_joints() - 1;
    for (int i = 0; i < rod.num_edges(); ++i) {
      Vec3 strain = Vec3::Zero();  // of the joints at both ends of the edge, that of the larger size
      for (const int joint : {i, i == 0 && rod.spec().closed ? last : i - 1}) {
        if (joint < 0 || joint > last) continue;
        const Vec3 own = rod.strain(q, joint) / rod.rest_span(joint);
        if (own.head<2>().norm() > strain.head<2>().norm()) strain.head<2>() = own.head<2>();
        if (std::abs(own[2]) > std::abs(strain[2])) strain[2] = own[2];
      }
      for (const double x : {rod.tension(q, i), strain.head<2>().norm(), strain[2]})
        rods.push_back(static_cast<float>(x));
    }
  }

  std::vector<float> stress;
  for (const int id : find_soft_bodies(model_)) {
    const Object& object = model_.objects[id];
    const SoftBody& body = soft_body_of(model_, id);
    std::vector<double> of_nodes(body.num_nodes());
    body.calc_von_mises(state.q.segment(object.q_begin, object.num_positions()), of_nodes);
    for (int c = 0; c < body.num_carried(); ++c)
      stress.push_back(static_cast<float>(of_nodes[body.carried(c)]));
  }

  Json j = {{"type", "frame"},
            {"time", state.time},
            {"step", state.step},
            {"poses", binary(poses)},
            {"islands", binary(islands)},
            {"asleep", binary(asleep)},
            {"joints", binary(joints)},
            {"rates", binary(rates)},
            {"control", binary(control)},
            {"contacts", binary(contacts)},
            {"rods", binary(rods)},
            {"numbers", binary(std::vector<double>(numbers.begin(), numbers.end()))}};
  if (!activation.empty()) j["activation"] = binary(activation);
  if (!stress.empty()) j["stress"] = binary(stress);
  if (!patches_.ends.empty()) {
    j["patches"] = binary(patches_.vertices);
    j["patch_ends"] = binary(patches_.ends);
  }
  return j;
}

}  // namespace capstan::viewer
