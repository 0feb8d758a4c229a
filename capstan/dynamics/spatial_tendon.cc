#include "capstan/dynamics/spatial_tendon.h"

#include <algorithm>

#include "capstan/geometry/tendon_path.h"

namespace capstan {

void calc_path(const Model& model, const Placement& placement, Transmission* transmission) {
  thread_local std::vector<TendonStation> stations;
  thread_local std::vector<TendonPull> pulls;
  const std::vector<ModelTendonPoint>& path = model.tendons[transmission->path].path;
  stations.clear();
  for (const ModelTendonPoint& point : path) {
    TendonStation s;
    s.kind = static_cast<TendonStation::Kind>(point.kind);
    s.divisor = point.divisor;
    if (point.kind != TendonPoint::Kind::pulley) {
      s.body = point.body;
      s.X_W = body_pose(model, placement, point.body) * point.X_BS;
      s.is_sphere = point.is_sphere;
      s.radius = point.radius;
      if (point.side_body >= 0) s.side = body_pose(model, placement, point.side_body) * point.side;
    }
    stations.push_back(s);
  }
  std::vector<Transmission::Term>& terms = transmission->terms;
  for (Transmission::Term& term : terms) term.coefficient = 0;
  transmission->length = transmission->gear * calc_tendon_length(stations, &pulls);
  for (const TendonPull& pull : pulls) {
    const int link = model.bodies[pull.body].link;
    if (link == 0) continue;
    Vec6 wrench;
    wrench << cross(Vec3(pull.p - placement.origin[model.links[link].object]), pull.direction),
        pull.direction;
    for (int k = model.links[link].dof_end - 1; k >= 0; k = model.pattern.parent[k]) {
      const auto term = std::lower_bound(terms.begin(), terms.end(), k,
                                         [](const Transmission::Term& t, int dof) { return t.dof < dof; });
      term->coefficient += transmission->gear * placement.S[k].dot(wrench);
    }
  }
}

Transmission transmission_at(const Model& model, const Placement& placement,
                             const Transmission& transmission) {
  Transmission result = transmission;
  if (result.path >= 0) calc_path(model, placement, &result);
  return result;
}

}  // namespace capstan
