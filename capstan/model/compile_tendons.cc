// The way of spatial tendons, and what actuators have beside a gain and a bias: activations and muscles.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>

#include "capstan/geometry/tendon_path.h"
#include "capstan/model/compiler.h"

namespace capstan {
namespace {

template <class T>
const T* find_named(const std::vector<T>& things, const std::string& name) {
  const auto found =
      std::find_if(things.begin(), things.end(), [&](const T& thing) { return thing.name == name; });
  return found == things.end() ? nullptr : &*found;
}

// What is wrong with the order of stations, or "".
std::string why_no_way(const std::vector<TendonPoint>& path) {
  using Kind = TendonPoint::Kind;
  int sites = 0;
  for (std::size_t i = 0; i <= path.size(); ++i) {
    if (i == path.size() || path[i].kind == Kind::pulley) {
      if (sites == 1) return "has a branch with one site only; a branch goes from site to site";
      if (i < path.size() && !(path[i].divisor > 0 && std::isfinite(path[i].divisor)))
        return fmt::format("has a pulley with divisor {:g}, which must be above 0", path[i].divisor);
      sites = 0;
      continue;
    }
    if (path[i].kind == Kind::site) {
      ++sites;
      continue;
    }
    const bool is_between =
        i > 0 && i + 1 < path.size() && path[i - 1].kind == Kind::site && path[i + 1].kind == Kind::site;
    if (!is_between) return fmt::format("wraps around '{}' with no site before and after it", path[i].name);
  }
  return path.empty() || std::none_of(path.begin(), path.end(),
                                      [](const TendonPoint& p) { return p.kind == Kind::site; })
             ? "has no sites"
             : "";
}

}  // namespace

// Its body and where it is on it; false, told, where there is none or it is on what has no joints.
bool ModelCompiler::find_tendon_site(const std::string& name, const Source& where, const std::string& who,
                                     int* body, Transform* X_BS) {
  const Site* site = find_named(scene.sites, name);
  if (!site) {
    diagnostics.error(where, fmt::format("{} goes over site '{}', which does not exist", who, name),
                      "write the name of a site");
    return false;
  }
  const auto found = body_index.find(site->body);
  if (found == body_index.end()) {
    diagnostics.error(where,
                      fmt::format("{} goes over site '{}', which is on '{}': spatial tendons go over rigid "
                                  "bodies",
                                  who, name, site->body),
                      "put the site on a body");
    return false;
  }
  *body = found->second;
  *X_BS = to_transform(site->pose);
  return true;
}

bool ModelCompiler::find_tendon_shape(const TendonPoint& point, const Source& where, const std::string& who,
                                      ModelTendonPoint* entry) {
  const ShapeInstance* shape = find_named(scene.shapes, point.name);
  const auto body = shape ? body_index.find(shape->body) : body_index.end();
  if (body == body_index.end()) {
    diagnostics.error(where, fmt::format("{} wraps around '{}', which does not exist", who, point.name),
                      "write the name of a sphere or cylinder");
    return false;
  }
  entry->body = body->second;
  entry->X_BS = to_transform(shape->pose);
  if (const Sphere* sphere = std::get_if<Sphere>(&shape->shape)) {
    entry->radius = sphere->radius;
  } else if (const Cylinder* cylinder = std::get_if<Cylinder>(&shape->shape)) {
    entry->is_sphere = false;
    entry->radius = cylinder->radius;
  } else {
    diagnostics.error(
        where, fmt::format("{} wraps around '{}', which is neither a sphere nor a cylinder", who, point.name),
        "wrap it around a sphere or a cylinder (shapes need not collide)");
    return false;
  }
  if (point.side.empty()) return true;
  Transform X;
  if (!find_tendon_site(point.side, where, who, &entry->side_body, &X)) return false;
  entry->side = X.p;
  return true;
}

void ModelCompiler::compile_path(const Tendon& tendon, ModelTendon* entry) {
  const std::string who = quoted("tendon", tendon.name);
  if (!tendon.terms.empty())
    diagnostics.error(tendon.where, who + " goes both over joints and over sites", "write one of them");
  if (const std::string why = why_no_way(tendon.path); !why.empty()) {
    diagnostics.error(tendon.where, who + " " + why,
                      "write at least two sites, and shapes between two of them");
    return;
  }
  std::set<int> dofs;
  std::vector<TendonStation> stations;
  for (const TendonPoint& point : tendon.path) {
    ModelTendonPoint p;
    p.kind = point.kind;
    p.divisor = point.divisor;
    TendonStation s;
    s.kind = static_cast<TendonStation::Kind>(point.kind);
    s.divisor = point.divisor;
    if (point.kind != TendonPoint::Kind::pulley) {
      const bool found = point.kind == TendonPoint::Kind::site
                             ? find_tendon_site(point.name, tendon.where, who, &p.body, &p.X_BS)
                             : find_tendon_shape(point, tendon.where, who, &p);
      if (!found) return;
      for (int k = model.links[model.bodies[p.body].link].dof_end - 1;
           k >= 0 && model.bodies[p.body].link > 0; k = model.pattern.parent[k])
        dofs.insert(k);
      s.body = p.body;
      s.X_W = reference_pose(p.body) * p.X_BS;
      s.is_sphere = p.is_sphere;
      s.radius = p.radius;
      if (p.side_body >= 0) s.side = reference_pose(p.side_body) * p.side;
    }
    entry->path.push_back(p);
    stations.push_back(s);
  }
  for (const int k : dofs) entry->transmission.terms.push_back({k, 0});
  entry->transmission.path = static_cast<int>(model.tendons.size());
  std::vector<TendonPull> pulls;
  entry->transmission.length = calc_tendon_length(stations, &pulls);
  if (tendon.is_rest_of_reference)
    entry->spring_rest = {entry->transmission.length, entry->transmission.length};
  model.has_spatial_tendons = true;
}

void ModelCompiler::compile_activation(const Actuator& actuator, ModelActuator* entry) {
  const std::string who = quoted("actuator", actuator.name);
  const auto must = [&](bool is_good, const std::string& what, const std::string& remedy) {
    if (!is_good) diagnostics.error(actuator.where, who + " has " + what, remedy);
    return is_good;
  };
  entry->gain_slope = actuator.gain_slope;
  entry->activation = actuator.activation;
  entry->input_range = entry->has_activation() ? Range{} : entry->control_range;
  must(actuator.gain_slope.allFinite(), "a gain that is not finite", "write finite numbers");
  if (entry->has_activation()) {
    const Activation& a = actuator.activation;
    model.has_activations = true;
    must(a.time_constant >= 0 && a.time_constant_off >= 0 && a.smoothing >= 0 &&
             std::isfinite(a.time_constant + a.time_constant_off + a.smoothing),
         "a time constant or smoothing below 0 or not finite", "write seconds of 0 or more");
    must(std::isfinite(a.start), "a start of its activation that is not finite", "write a finite number");
    check_range(a.range, actuator.where, who, diagnostics);
  }
  if (!actuator.muscle) return;
  const Muscle& m = *actuator.muscle;
  must(std::isfinite(m.length_range.lower) && std::isfinite(m.length_range.upper) &&
           m.length_range.upper > m.length_range.lower,
       "a muscle without a range of lengths", "write the shortest and the longest length it has [m]");
  must(m.operating.upper > m.operating.lower && std::isfinite(m.operating.upper + m.operating.lower),
       "a muscle whose operating range is empty", "write a range such as [0.75, 1.05]");
  must(m.force >= 0 && m.shortest < 1 && m.longest > 1 && m.fastest > 0 && m.passive >= 0 &&
           m.lengthening > 1 && std::isfinite(m.force + m.longest + m.fastest + m.passive + m.lengthening),
       "a muscle with numbers that make no curve",
       "force and passive of 0 or more, shortest < 1 < longest, fastest above 0, lengthening above 1");
  if (actuator.site.empty()) entry->muscle = m;
  must(actuator.site.empty(), "a muscle that acts on a site, which has no length",
       "let it act on a tendon or joint");
}

}  // namespace capstan
