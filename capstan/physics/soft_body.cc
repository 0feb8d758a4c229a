#include "capstan/physics/soft_body.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "capstan/base/hash.h"
#include "capstan/geometry/collider.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

constexpr double kFlattest = 1e-4;  // quality of a tet (geometry/tet_mesh.h)

constexpr double kPointLambda = 1;   // of mu: what of lambda acts at each point of a quadratic element
constexpr double kSharp = 0.2;       // of 2, the sum of two normals: a knife's edge has no middle
constexpr double kInsidePart = 0.5;  // of the element behind a triangle: its inside for what touches it

// [m] of the tets behind these faces of a mesh.
std::vector<double> depths_behind(const TetMesh& mesh, const std::vector<std::array<int, 3>>& faces) {
  std::map<std::array<int, 3>, int> wanted;
  for (int i = 0; i < static_cast<int>(faces.size()); ++i) {
    std::array<int, 3> key = faces[i];
    std::sort(key.begin(), key.end());
    wanted[key] = i;
  }
  std::vector<double> depths(faces.size(), 0.0);
  for (const auto& tet : mesh.tets) {
    for (int k = 0; k < 4; ++k) {
      std::array<int, 3> key = {tet[(k + 1) % 4], tet[(k + 2) % 4], tet[(k + 3) % 4]};
      std::sort(key.begin(), key.end());
      const auto found = wanted.find(key);
      if (found == wanted.end()) continue;
      const std::vector<Vec3>& x = mesh.vertices;
      const Vec3 n = cross(Vec3(x[key[1]] - x[key[0]]), Vec3(x[key[2]] - x[key[0]])).normalized();
      depths[found->second] = std::abs(n.dot(x[tet[k]] - x[key[0]]));
    }
  }
  return depths;
}

void check(const SoftBodySpec& spec) {
  Diagnostics found;
  const auto wrong = [&](bool is_wrong, const char* key, const std::string& what, const std::string& remedy) {
    if (is_wrong) found.error(spec.source_of(key), what, remedy);
    return is_wrong;
  };
  const auto positive = [&](double x, const char* key, const char* name, const char* unit) {
    wrong(!(x > 0 && std::isfinite(x)), key, fmt::format("the soft body's {} is {:g} {}", name, x, unit),
          fmt::format("write a {} above 0", name));
  };
  positive(spec.young_modulus, "young_modulus", "Young's modulus", "Pa");
  positive(spec.density, "density", "density", "kg/m^3");
  wrong(!(spec.poisson_ratio > -1 && spec.poisson_ratio < 0.5), "poisson_ratio",
        fmt::format("the soft body's Poisson ratio is {:g}", spec.poisson_ratio),
        "write one above -1 and below 0.5; 0.49 is nearly incompressible");
  wrong(!(spec.alpha >= 0 && spec.beta >= 0), "damping",
        fmt::format("the soft body's damping is alpha {:g} 1/s, beta {:g} s", spec.alpha, spec.beta),
        "write numbers from 0 up");
  wrong(!std::isfinite(spec.pressure), "pressure",
        fmt::format("the pressure in the soft body is {:g} Pa", spec.pressure), "write a finite number");
  if (spec.is_sealed) {
    wrong(!(spec.pressure_around >= 0 && std::isfinite(spec.pressure_around)), "pressure_around",
          fmt::format("the pressure around the soft body is {:g} Pa", spec.pressure_around),
          "write a number from 0 up; that of air is 101325");
    wrong(!(spec.pressure + spec.pressure_around > 0), "pressure",
          fmt::format("the gas in the soft body has a pressure of {:g} Pa",
                      spec.pressure + spec.pressure_around),
          "'pressure' is above that around it, 'pressure_around' [Pa]: write one whose sum is above 0");
  }
  if (!wrong(!spec.mesh || spec.mesh->tets.empty(), "mesh", "the soft body's mesh has no tets",
             "give it a solid mesh, not a surface")) {
    const TetMesh& mesh = *spec.mesh;
    const int n = static_cast<int>(mesh.vertices.size());
    for (std::size_t t = 0; t < mesh.tets.size() && found.ok(); ++t) {
      for (const int v : mesh.tets[t])
        wrong(v < 0 || v >= n, "mesh", fmt::format("tet {} of the soft body has vertex {} of {}", t, v, n),
              fmt::format("write indices from 0 to {}", n - 1));
    }
    for (std::size_t v = 0; v < mesh.vertices.size() && found.ok(); ++v) {
      wrong(!mesh.vertices[v].allFinite(), "mesh", fmt::format("vertex {} of the soft body is not finite", v),
            "write finite coordinates");
    }
    if (found.ok()) {
      const TetMeshQuality quality = examine_tets(mesh);
      const auto& tet = mesh.tets[quality.worst_tet];
      const Vec3& at = mesh.vertices[tet[0]];
      wrong(!(quality.worst > kFlattest), "mesh",
            fmt::format(
                "tet {} of the soft body (vertices {} {} {} {}, at {:g} {:g} {:g}) is {}: quality {:.2g}",
                quality.worst_tet, tet[0], tet[1], tet[2], tet[3], at.x(), at.y(), at.z(),
                quality.worst < 0 ? "inverted" : "flat", quality.worst),
            "mesh the solid anew; 1 is a regular tet");
    }
  }
  if (!found.ok()) throw InputError(std::move(found));
}

// Gradients of the four barycentric coordinates [1/m].
Eigen::Matrix<double, 3, 4> barycentric_gradients(const Vec3& x0, const Vec3& x1, const Vec3& x2,
                                                  const Vec3& x3, double* volume) {
  const Vec3 a = x1 - x0, b = x2 - x0, c = x3 - x0;
  const double det = a.dot(cross(b, c));
  *volume = det / 6;
  Eigen::Matrix<double, 3, 4> g;
  g.col(1) = cross(b, c) / det;
  g.col(2) = cross(c, a) / det;
  g.col(3) = cross(a, b) / det;
  g.col(0) = -g.col(1) - g.col(2) - g.col(3);
  return g;
}

// Gradients of the shape functions at the points of an element; four points integrate quadratics exactly.
void calc_gradients(const Eigen::Matrix<double, 3, 4>& g, Eigen::Matrix<double, 3, 4>* out) {
  *out = g;
}
void calc_gradients(const Eigen::Matrix<double, 3, 4>& g, Eigen::Matrix<double, 3, 10>* out) {
  constexpr double kNear = 0.58541019662496845446, kFar = 0.13819660112501051518;
  for (int p = 0; p < 4; ++p) {
    Vec4 L = Vec4::Constant(kFar);
    L[p] = kNear;
    for (int i = 0; i < 4; ++i) out[p].col(i) = (4 * L[i] - 1) * g.col(i);
    for (int e = 0; e < 6; ++e) {
      const int i = kTetEdges[e][0], j = kTetEdges[e][1];
      out[p].col(4 + e) = 4 * (L[i] * g.col(j) + L[j] * g.col(i));
    }
  }
}

// Of an element's mass: the integrals of N_a N_b, or those on the diagonal alone, scaled to the whole.
Eigen::Matrix<double, 4, 4> mass_shares(bool lumped, Eigen::Matrix<double, 4, 4>) {
  Eigen::Matrix<double, 4, 4> M;
  if (lumped) {
    M = 0.25 * Eigen::Matrix<double, 4, 4>::Identity();
  } else {
    M.setConstant(0.05);
    M.diagonal().setConstant(0.1);
  }
  return M;
}
Eigen::Matrix<double, 10, 10> mass_shares(bool lumped, Eigen::Matrix<double, 10, 10>) {
  Eigen::Matrix<double, 10, 10> M = Eigen::Matrix<double, 10, 10>::Zero();
  if (lumped) {
    M.diagonal().head<4>().setConstant(6.0 / 216);
    M.diagonal().tail<6>().setConstant(32.0 / 216);
    return M;
  }
  const auto ends = [](int a) {  // bits of the vertices of a node
    return a < 4 ? 1 << a : (1 << kTetEdges[a - 4][0]) | (1 << kTetEdges[a - 4][1]);
  };
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b < 10; ++b) {
      const bool share = (ends(a) & ends(b)) != 0;
      double value;
      if (a < 4 && b < 4) {
        value = a == b ? 6 : 1;
      } else if (a < 4 || b < 4) {
        value = share ? -4 : -6;
      } else {
        value = a == b ? 32 : share ? 16 : 8;
      }
      M(a, b) = value / 420;
    }
  }
  return M;
}

}  // namespace

SoftBody::SoftBody(const SoftBodySpec& spec) : spec_(spec) {
  check(spec);
  lame_ = lame_constants(spec.young_modulus, spec.poisson_ratio);
  if (spec.element == SoftElement::quadratic && lame_.lambda > kPointLambda * lame_.mu) {
    mean_lambda_ = lame_.lambda - kPointLambda * lame_.mu;
    lame_.lambda -= mean_lambda_;
  }
  const TetMesh& mesh = *spec.mesh;
  rest_ = mesh.vertices;
  std::vector<std::array<int, 3>> faces = surface_of(mesh);
  depth_behind_ = depths_behind(mesh, faces);
  if (spec.element == SoftElement::linear) {
    SoftElements<4> elements;
    for (const auto& tet : mesh.tets) elements.nodes.push_back(tet);
    set_elements(&elements);
    elements_ = std::move(elements);
  } else {
    std::map<std::array<int, 2>, int> middles;
    const auto middle = [&](int a, int b) {
      const auto [at, is_new] =
          middles.emplace(std::array<int, 2>{std::min(a, b), std::max(a, b)}, static_cast<int>(rest_.size()));
      if (is_new) rest_.push_back(0.5 * (rest_[a] + rest_[b]));
      return at->second;
    };
    SoftElements<10> elements;
    for (const auto& tet : mesh.tets) {
      std::array<int, 10> nodes = {tet[0], tet[1], tet[2], tet[3]};
      for (int e = 0; e < 6; ++e) nodes[4 + e] = middle(tet[kTetEdges[e][0]], tet[kTetEdges[e][1]]);
      elements.nodes.push_back(nodes);
    }
    set_elements(&elements);
    elements_ = std::move(elements);
    std::vector<std::array<int, 3>> finer;
    for (const auto& [a, b, c] : faces) {
      const int ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
      finer.insert(finer.end(), {{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}});
    }
    std::vector<double> depths;
    for (const double depth : depth_behind_) depths.insert(depths.end(), 4, depth);
    faces = std::move(finer);
    depth_behind_ = std::move(depths);
  }
  fixed_.assign(rest_.size(), 0);
  for (int i = 0; i < num_nodes(); ++i) {
    fixed_[i] = std::any_of(spec.fixed.begin(), spec.fixed.end(),
                            [&](const SoftRegion& region) { return region.contains(rest_[i]); });
    has_fixed_ = has_fixed_ || fixed_[i] != 0;
  }
  make_surface(faces);
  find_edges();
  find_corners();
  find_cavity();
  if (spec.is_sealed) couple_cavity();
}

template <int N>
void SoftBody::set_elements(SoftElements<N>* elements) {
  std::set<std::array<int, 2>> pairs;
  const int n = static_cast<int>(elements->nodes.size());
  constexpr int kPoints = SoftElements<N>::kPoints;
  elements->mass_shares = mass_shares(spec_.lumped_mass, Eigen::Matrix<double, N, N>{});
  node_mass_.assign(rest_.size(), 0.0);
  elements->gradients.resize(n * kPoints);
  for (int e = 0; e < n; ++e) {
    const auto& nodes = elements->nodes[e];
    double volume = 0;
    const auto g =
        barycentric_gradients(rest_[nodes[0]], rest_[nodes[1]], rest_[nodes[2]], rest_[nodes[3]], &volume);
    calc_gradients(g, &elements->gradients[e * kPoints]);
    elements->weight.insert(elements->weight.end(), kPoints, volume / kPoints);
    elements->mass.push_back(spec_.density * volume);
    rest_volume_ += volume;
    for (int a = 0; a < N; ++a) {
      node_mass_[nodes[a]] += elements->mass_shares.row(a).sum() * elements->mass.back();
      for (int b = 0; b < a; ++b) pairs.insert({std::min(nodes[a], nodes[b]), std::max(nodes[a], nodes[b])});
    }
    for (int p = 0; p < kPoints; ++p) {
      const double squares = elements->gradients[e * kPoints + p].colwise().squaredNorm().maxCoeff();
      stiffest_ =
          std::max(stiffest_, (lame_.lambda + mean_lambda_ + 2 * lame_.mu) * volume / kPoints * squares);
    }
  }
  pairs_.assign(pairs.begin(), pairs.end());
  num_element_pairs_ = pairs_.size();
  for (const auto& nodes : elements->nodes) {
    auto& list = elements->pairs.emplace_back();
    for (int a = 0; a < N; ++a) {
      for (int b = 0; b < a; ++b) {
        const std::array<int, 2> pair = {std::min(nodes[a], nodes[b]), std::max(nodes[a], nodes[b])};
        list[a * (a - 1) / 2 + b] =
            static_cast<int>(std::lower_bound(pairs_.begin(), pairs_.end(), pair) - pairs_.begin());
      }
    }
  }
}

void SoftBody::make_surface(const std::vector<std::array<int, 3>>& faces) {
  triangles_ = faces;
  node_area_.assign(rest_.size(), 0.0);
  double edges = 0;
  std::vector<std::vector<int>> around(rest_.size());  // triangles of each node
  std::vector<Vec3> areas;
  for (const auto& [a, b, c] : triangles_) {
    areas.push_back(0.5 * cross(Vec3(rest_[b] - rest_[a]), Vec3(rest_[c] - rest_[a])));
    triangle_area_.push_back(areas.back().norm());
    for (const int i : {a, b, c}) around[i].push_back(static_cast<int>(areas.size()) - 1);
    edges += ((rest_[b] - rest_[a]).norm() + (rest_[c] - rest_[b]).norm() + (rest_[a] - rest_[c]).norm()) / 3;
  }
  // What looks the same way counts: at the edge of a box, one face at a time.
  for (int i = 0; i < num_nodes(); ++i) {
    for (const int t : around[i]) {
      double sum = 0;
      for (const int s : around[i]) sum += std::max(0.0, areas[s].dot(areas[t])) / triangle_area_[t];
      node_area_[i] = std::max(node_area_[i], sum / 3);
    }
  }
  mean_edge_ = edges / static_cast<double>(triangles_.size());
  Vec3 lower = rest_[0], upper = rest_[0];
  for (const Vec3& x : rest_) {
    lower = lower.cwiseMin(x);
    upper = upper.cwiseMax(x);
  }
  size_ = (upper - lower).maxCoeff();
  carrier_of_.assign(rest_.size(), -1);
  for (int i = 0; i < num_nodes(); ++i) {
    const bool is_attached =
        std::any_of(spec_.attachments.begin(), spec_.attachments.end(),
                    [&](const SoftAttachment& a) { return a.region.contains(rest_[i]); });
    if (!is_attached && !is_on_surface(i)) continue;
    carrier_of_[i] = static_cast<int>(carried_.size());
    carried_.push_back(i);
  }
}

std::string SoftBody::carrier_name(int carrier) const {
  if (carrier < num_carried()) return fmt::format("{}", carried_[carrier]);
  return carrier < first_edge() ? fmt::format("face{}", carrier - num_carried())
                                : fmt::format("edge{}", carrier - first_edge());
}

double SoftBody::surface_area() const {
  double sum = 0;
  for (const double area : triangle_area_) sum += area;
  return sum;
}

double SoftBody::largest_frequency() const {
  double lightest = kInfinity;
  for (const double mass : node_mass_) lightest = std::min(lightest, std::abs(mass));
  return std::sqrt(4 * stiffest_ / lightest);
}

ObjectLayout SoftBody::layout() const {
  ObjectLayout layout;
  layout.num_positions = 3 * num_nodes();
  layout.block_sizes.assign(num_nodes(), 3);
  layout.pairs = pairs_;
  layout.num_carriers = first_edge() + static_cast<int>(edges_.size());
  if (spec_.self_contact) layout.apart = find_neighbours();
  return layout;
}

void SoftBody::set_initial(Vector q, Vector v) const {
  const Transform X = to_transform(spec_.pose);
  Vec3 moment = Vec3::Zero();
  double mass = 0;
  for (int i = 0; i < num_nodes(); ++i) {
    q.segment<3>(3 * i) = X * rest_[i];
    moment += node_mass_[i] * q.segment<3>(3 * i);
    mass += node_mass_[i];
  }
  const Vec3 centre = moment / mass;
  for (int i = 0; i < num_nodes(); ++i) {
    v.segment<3>(3 * i).setZero();
    if (!fixed_[i])
      v.segment<3>(3 * i) =
          spec_.velocity + cross(spec_.angular_velocity, Vec3(q.segment<3>(3 * i) - centre));
  }
}

Vec3 SoftBody::normal(const ConstVector& q, int triangle) const {
  const auto& [a, b, c] = triangles_[triangle];
  return cross(Vec3(node(q, b) - node(q, a)), Vec3(node(q, c) - node(q, a))).normalized();
}

// z is the normal, x along the first edge.
Transform SoftBody::triangle_frame(const ConstVector& q, int triangle) const {
  const auto& [a, b, c] = triangles_[triangle];
  const Vec3 x_a = node(q, a), ab = node(q, b) - x_a, ac = node(q, c) - x_a;
  const Vec3 x = ab.normalized(), z = cross(ab, ac).normalized();
  Transform X;
  X.R << x, cross(z, x), z;
  X.p = x_a + (ab + ac) / 3;
  return X;
}

void SoftBody::place(const ConstVector& q, std::span<Transform> X_WC) const {
  const int n = num_carried();
  for (int i = 0; i < n; ++i) X_WC[i] = {Mat3::Identity(), node(q, carried_[i])};
  for (int t = 0; t < static_cast<int>(triangles_.size()); ++t) X_WC[n + t] = triangle_frame(q, t);
  const auto normal_of = [&](int t) -> Vec3 { return X_WC[n + t].R.col(2); };
  for (int e = 0; e < static_cast<int>(edges_.size()); ++e)
    X_WC[first_edge() + e] = edge_frame(q, e, normal_of(edges_[e].left), normal_of(edges_[e].right));
}

void SoftBody::bend(const ConstVector& q, int carrier, Collider* collider) const {
  if (carrier >= first_edge()) return bend_edge(q, carrier - first_edge(), collider);
  const int t = carrier - num_carried();
  const Transform X = triangle_frame(q, t);
  const auto at = [&](int i) { return Vec3(X.R.transpose() * (node(q, triangles_[t][i]) - X.p)); };
  const int solid = collider->solid;
  *collider = make_triangle_collider(at(0), at(1), at(2));
  collider->solid = solid;
  collider->inside = kInsidePart * depth_behind_[t];
  const auto normal_here = [&](int other) { return Vec3(X.R.transpose() * normal(q, other)); };
  for (int k = 0; k < 3; ++k) {
    const Vec3 z = Vec3::UnitZ(), along = collider->vertex[(k + 1) % 3] - collider->vertex[k];
    const Vec3 sum = beside_[t][k] < 0 ? z : Vec3(z + normal_here(beside_[t][k]));
    collider->away[k] = cross(along, sum.norm() > kSharp ? sum : z);
    collider->away[3 + k] = corner_[t][k] < 0 ? Vec3(Vec3::Zero()) : Vec3(normal_here(corner_[t][k]) - z);
  }
}

// The frame of a triangle turns with its normal n and its first edge x: w = n x dn/dt + n (y . dx/dt).
void SoftBody::calc_twists(const ConstVector& q, const ConstVector& v, const Vec3& origin,
                           std::span<Vec6> V) const {
  const int n = num_carried();
  for (int i = 0; i < n; ++i) V[i] << Vec3::Zero(), node(v, carried_[i]);
  for (int t = 0; t < static_cast<int>(triangles_.size()); ++t) {
    const auto& [a, b, c] = triangles_[t];
    const Vec3 x_a = node(q, a), ab = node(q, b) - x_a, ac = node(q, c) - x_a;
    const Vec3 v_a = node(v, a), u_ab = node(v, b) - v_a, u_ac = node(v, c) - v_a;
    const Vec3 area = cross(ab, ac), change = cross(u_ab, ac) + cross(ab, u_ac);
    const double twice = area.norm(), length = ab.norm();
    const Vec3 z = area / twice, x = ab / length, y = cross(z, x);
    const Vec3 w = cross(z, Vec3(change / twice)) + z * (y.dot(u_ab) / length);
    V[n + t] << w, v_a + (u_ab + u_ac) / 3 + cross(w, Vec3(origin - x_a - (ab + ac) / 3));
  }
  for (int e = 0; e < static_cast<int>(edges_.size()); ++e)
    V[first_edge() + e] =
        edge_twist(q, v, origin, e, V[n + edges_[e].left].head<3>(), V[n + edges_[e].right].head<3>());
}

// A vertex moves as its node. A point of a triangle or an edge moves by its barycentric coordinates; one
// beside it as the nearest point of its plane or line.
int SoftBody::calc_point(const ConstVector& q, int carrier, const Vec3& p_W, PointPart* parts) const {
  const auto set = [&](int k, int block, double weight) {
    parts[k].block = block;
    parts[k].size = 3;
    Eigen::Map<Mat3>(parts[k].J.data()) = weight * Mat3::Identity();
  };
  if (carrier < num_carried()) {
    set(0, carried_[carrier], 1);
    return 1;
  }
  constexpr double kNothing = 1e-12;  // of a weight: round-off at a vertex
  if (carrier >= first_edge()) {
    const auto& [a, b] = edges_[carrier - first_edge()].nodes;
    const Vec3 x_a = node(q, a), ab = node(q, b) - x_a;
    const double s = ab.dot(p_W - x_a) / ab.squaredNorm();
    set(0, a, 1 - s);
    set(1, b, s);
    return 2;
  }
  const auto& [a, b, c] = triangles_[carrier - num_carried()];
  const Vec3 x_a = node(q, a), ab = node(q, b) - x_a, ac = node(q, c) - x_a, ap = p_W - x_a;
  const Vec3 area = cross(ab, ac);
  const double squared = area.squaredNorm();
  const double s = area.dot(cross(ap, ac)) / squared, t = area.dot(cross(ab, ap)) / squared;
  const double weights[3] = {1 - s - t, s, t};
  const int nodes[3] = {a, b, c};
  int n = 0;
  for (int k = 0; k < 3; ++k) {
    if (std::abs(weights[k]) > kNothing) set(n++, nodes[k], weights[k]);
  }
  return n;
}

Vec3 SoftBody::place_point(const ConstVector& q, int carrier, const Vec3& p_C) const {
  if (carrier < num_carried()) return node(q, carried_[carrier]) + p_C;
  if (carrier >= first_edge()) {
    const int e = carrier - first_edge();
    return edge_frame(q, e, normal(q, edges_[e].left), normal(q, edges_[e].right)) * p_C;
  }
  return triangle_frame(q, carrier - num_carried()) * p_C;
}

std::uint64_t SoftBody::fingerprint() const {
  Hash hash;
  for (const Vec3& x : rest_) hash.add(x.data(), sizeof x);
  for (const auto& tet : spec_.mesh->tets) hash.add(tet.data(), sizeof tet);
  for (const double x : {spec_.young_modulus, spec_.poisson_ratio, spec_.density, spec_.alpha, spec_.beta})
    hash.add(x);
  if (spec_.pressure != 0) hash.add(spec_.pressure);
  if (spec_.is_sealed) hash.add(spec_.pressure_around);
  hash.add(static_cast<std::int64_t>(spec_.elasticity));
  hash.add(static_cast<std::int64_t>(spec_.lumped_mass));
  hash.add(fixed_.data(), fixed_.size());
  return hash.value;
}

void SoftBody::move(const ConstVector& q0, const ConstVector& v, double dt, Vector q1) const {
  q1 = q0 + dt * v;
}

}  // namespace capstan
