// capstan contacts: what touches in a scene at its start (or a keyframe), and what a ray hits.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/capstan/commands.h"
#include "capstan/contacts/contacts.h"
#include "capstan/step/step.h"

namespace capstan::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Vec3& v) {
  return Json::array({v.x(), v.y(), v.z()});
}

void print_contacts(const Model& model, const Contacts& c, bool json) {
  if (json) {
    Json list = Json::array();
    for (int i = 0; i < c.size(); ++i) {
      list.push_back({{"shape_a", model.shapes[c.shape_a[i]].name},
                      {"shape_b", model.shapes[c.shape_b[i]].name},
                      {"distance", c.distance[i]},
                      {"point", to_json(c.p_WC[i])},
                      {"normal", to_json(c.normal[i])},
                      {"friction", c.material[i].friction},
                      {"area", c.material[i].area},
                      {"stiffness", std::isfinite(c.material[i].stiffness) ? Json(c.material[i].stiffness)
                                                                           : Json(nullptr)}});
    }
    fmt::print("{}\n", list.dump(2));
    return;
  }
  fmt::print("{} contact{} between {} pair{} of links (distances in mm, below 0: overlap)\n", c.size(),
             c.size() == 1 ? "" : "s", c.num_groups(), c.num_groups() == 1 ? "" : "s");
  if (c.size() == 0) return;
  fmt::print("{:>10}  {:>27}  {:>23}  {:>5}  {}\n", "distance", "point [m]", "normal from a to b", "mu",
             "shapes a, b");
  for (int i = 0; i < c.size(); ++i) {
    const Vec3 &p = c.p_WC[i], &n = c.normal[i];
    fmt::print("{:10.4f}  {:8.4f} {:8.4f} {:8.4f}  {:7.4f} {:7.4f} {:7.4f}  {:5.3g}  {}, {}\n",
               1e3 * c.distance[i], p.x(), p.y(), p.z(), n.x(), n.y(), n.z(), c.material[i].friction,
               model.shapes[c.shape_a[i]].name, model.shapes[c.shape_b[i]].name);
  }
}

// Patches: what the points of each pair of shapes do together, at rest.
void print_patches(const Model& model, const Contacts& c) {
  bool has_head = false;
  for (int begin = 0; begin < c.size();) {
    int end = begin;
    double area = 0, force = 0, stiffness = 0, most = 0;
    Vec3 centre = Vec3::Zero();
    for (; end < c.size() && c.shape_a[end] == c.shape_a[begin] && c.shape_b[end] == c.shape_b[begin];
         ++end) {
      const ContactMaterial& m = c.material[end];
      const double f = m.stiffness * std::max(0.0, -c.distance[end]);
      if (!(m.area > 0) || !(f > 0)) continue;
      area += m.area;
      force += f;
      stiffness += m.stiffness;
      most = std::max(most, f / m.area);
      centre += f * c.p_WC[end];
    }
    if (force > 0) {
      if (!has_head)
        fmt::print("patches: {:>10}  {:>10}  {:>12}  {:>12}  {:>27}  {:>6}  {}\n", "area [cm2]", "force [N]",
                   "k [N/m]", "most p [Pa]", "centre of pressure [m]", "points", "shapes a, b");
      has_head = true;
      centre /= force;
      fmt::print("         {:10.4g}  {:10.5g}  {:12.5g}  {:12.5g}  {:8.4f} {:8.4f} {:8.4f}   {:6}  {}, {}\n",
                 1e4 * area, force, stiffness, most, centre.x(), centre.y(), centre.z(), end - begin,
                 model.shapes[c.shape_a[begin]].name, model.shapes[c.shape_b[begin]].name);
    }
    begin = end;
  }
}

// What a step from here finds: also what meets within it.
void print_first_step(const Model& model, State state) {
  Workspace workspace = make_workspace(model);
  try {
    const Report report = step(model, step_options(model), {}, &state, &workspace);
    fmt::print(
        "a step of {:g} ms from here has {} contacts, {} of them of shapes that meet in it and {} found "
        "late; {} "
        "withdrawn\n",
        1e3 * model.options.dt, report.contacts, report.ahead_contacts, report.late_contacts,
        report.withdrawn_contacts);
  } catch (const StepFailure& failure) {
    fmt::print("{}\n", failure.what());
  }
}

void print_ray(const Model& model, const Placement& placement, const std::vector<double>& ray, bool json) {
  const Vec3 origin(ray[0], ray[1], ray[2]), direction(ray[3], ray[4], ray[5]);
  if (!origin.allFinite() || !direction.allFinite() || !(direction.norm() > 0)) {
    throw UsageError(
        "--ray takes six finite numbers, a point and a direction that is not zero, such as 0 0 2 0 0 -1");
  }
  const SceneRayHit hit = cast_ray(model, placement, origin, direction.normalized(), kInfinity);
  if (json) {
    const Json j = hit.shape < 0 ? Json(nullptr)
                                 : Json{{"shape", model.shapes[hit.shape].name},
                                        {"distance", hit.hit.distance},
                                        {"point", to_json(hit.hit.point)},
                                        {"normal", to_json(hit.hit.normal)}};
    fmt::print("{}\n", j.dump(2));
  } else if (hit.shape < 0) {
    fmt::print("the ray hits nothing\n");
  } else {
    const Vec3 &p = hit.hit.point, &n = hit.hit.normal;
    fmt::print(
        "the ray hits shape '{}' after {:.6g} m at ({:.6g}, {:.6g}, {:.6g}), normal ({:.4g}, {:.4g}, "
        "{:.4g})\n",
        model.shapes[hit.shape].name, hit.hit.distance, p.x(), p.y(), p.z(), n.x(), n.y(), n.z());
  }
}

}  // namespace

int contacts(const ContactsOptions& options) {
  const LoadedScene loaded = load(options.scene, false);
  if (!loaded.diagnostics.list.empty()) tell("{}\n", loaded.diagnostics.text());
  const Model& model = loaded.model;
  const State state =
      options.keyframe.empty() ? initial_state(model) : keyframe_state(model, options.keyframe);
  Placement placement = make_placement(model);
  calc_placement(model, state.q, &placement);
  if (!options.ray.empty()) {
    print_ray(model, placement, options.ray, options.json);
    return kOk;
  }
  CollisionWorkspace workspace = make_collision_workspace(model);
  Contacts found;
  collide(model, placement, &workspace, &found);
  print_contacts(model, found, options.json);
  if (!options.json) {
    print_patches(model, found);
    print_first_step(model, state);
  }
  return kOk;
}

}  // namespace capstan::cli
