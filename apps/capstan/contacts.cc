// capstan contacts: what touches in a scene at its start (or a keyframe), and what a ray hits.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/capstan/commands.h"
#include "capstan/contacts/contacts.h"
#include "capstan/step/contact_forces.h"

namespace capstan::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Vec3& v) {
  return Json::array({v.x(), v.y(), v.z()});
}

// A patch and its stiffness along the normal, of all its points that press [N/m].
struct Patch {
  PatchForce force;
  double stiffness = 0;
};

// What the points of each patch do together, at rest: no friction, no dissipation.
std::vector<Patch> find_patches(const Contacts& c) {
  std::vector<ContactForce> forces(c.size());
  for (int i = 0; i < c.size(); ++i) {
    ContactForce& f = forces[i];
    f.shape_a = c.shape_a[i];
    f.shape_b = c.shape_b[i];
    f.p_W = c.p_WC[i];
    f.normal_W = c.normal[i];
    f.area = c.material[i].area;
    if (f.area > 0 && c.is_point(i)) f.normal_force = c.material[i].stiffness * std::max(0.0, -c.distance[i]);
  }
  std::vector<PatchForce> sums;
  sum_patch_forces(forces, &sums);
  std::vector<Patch> patches;
  for (const PatchForce& sum : sums) {
    Patch& patch = patches.emplace_back(sum);
    for (int i = 0; i < c.size(); ++i) {
      if (c.shape_a[i] == sum.shape_a && c.shape_b[i] == sum.shape_b && forces[i].normal_force > 0)
        patch.stiffness += c.material[i].stiffness;
    }
  }
  return patches;
}

Json patches_json(const Model& model, const std::vector<Patch>& patches) {
  Json list = Json::array();
  for (const auto& [p, stiffness] : patches) {
    list.push_back({{"shape_a", model.shapes[p.shape_a].name},
                    {"shape_b", model.shapes[p.shape_b].name},
                    {"points", p.points},
                    {"area", p.area},
                    {"normal_force", p.normal_force},
                    {"force", to_json(p.force_W)},
                    {"moment", to_json(p.moment_W)},
                    {"centre", to_json(p.centre_W)},
                    {"largest_pressure", p.largest_pressure},
                    {"stiffness", stiffness}});
  }
  return list;
}

void print_contacts(const Model& model, const Contacts& c, bool json) {
  if (json) {
    Json list = Json::array();
    for (int i = 0; i < c.size(); ++i) {
      if (!c.is_point(i)) continue;
      list.push_back({{"shape_a", model.shapes[c.shape_a[i]].name},
                      {"shape_b", model.shapes[c.shape_b[i]].name},
                      {"distance", c.distance[i]},
                      {"point", to_json(c.p_WC[i])},
                      {"normal", to_json(c.normal[i])},
                      {"friction", c.material[i].friction},
                      {"torsional_friction", c.material[i].torsional_friction},
                      {"rolling_friction", c.material[i].rolling_friction},
                      {"area", c.material[i].area},
                      {"stiffness", std::isfinite(c.material[i].stiffness) ? Json(c.material[i].stiffness)
                                                                           : Json(nullptr)}});
    }
    const Json all = {{"contacts", list}, {"patches", patches_json(model, find_patches(c))}};
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("{} contact{} between {} pair{} of links (distances in mm, below 0: overlap)\n", c.num_points(),
             c.num_points() == 1 ? "" : "s", c.num_groups(), c.num_groups() == 1 ? "" : "s");
  if (c.size() == 0) return;
  fmt::print("{:>10}  {:>27}  {:>23}  {:>5}  {}\n", "distance", "point [m]", "normal from a to b", "mu",
             "shapes a, b");
  for (int i = 0; i < c.size(); ++i) {
    if (!c.is_point(i)) continue;
    const Vec3 &p = c.p_WC[i], &n = c.normal[i];
    const ContactMaterial& m = c.material[i];
    fmt::print("{:10.4f}  {:8.4f} {:8.4f} {:8.4f}  {:7.4f} {:7.4f} {:7.4f}  {:5.3g}  {}, {}",
               1e3 * c.distance[i], p.x(), p.y(), p.z(), n.x(), n.y(), n.z(), m.friction,
               model.shapes[c.shape_a[i]].name, model.shapes[c.shape_b[i]].name);
    if (m.torsional_friction > 0) fmt::print(", torsional {:g} mm", 1e3 * m.torsional_friction);
    if (m.rolling_friction > 0) fmt::print(", rolling {:g} mm", 1e3 * m.rolling_friction);
    fmt::print("\n");
  }
}

void print_patches(const Model& model, const std::vector<Patch>& patches) {
  if (patches.empty()) return;
  fmt::print("patches: {:>10}  {:>10}  {:>12}  {:>12}  {:>27}  {:>6}  {}\n", "area [cm2]", "force [N]",
             "k [N/m]", "most p [Pa]", "centre of pressure [m]", "points", "shapes a, b");
  for (const auto& [p, stiffness] : patches) {
    const Vec3& c = p.centre_W;
    fmt::print("         {:10.4g}  {:10.5g}  {:12.5g}  {:12.5g}  {:8.4f} {:8.4f} {:8.4f}   {:6}  {}, {}\n",
               1e4 * p.area, p.normal_force, stiffness, p.largest_pressure, c.x(), c.y(), c.z(), p.points,
               model.shapes[p.shape_a].name, model.shapes[p.shape_b].name);
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
    fmt::print("{}\n", j.dump(2, ' ', false, Json::error_handler_t::replace));
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
    print_patches(model, find_patches(found));
    print_first_step(model, state);
  }
  return kOk;
}

}  // namespace capstan::cli
