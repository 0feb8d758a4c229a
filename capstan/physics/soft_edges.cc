// Edges of the surface of a soft body as carriers, and which carriers are neighbours.
//
// The frame of an edge has z along it and x in the middle of the normals n_0 and n_1 of its two triangles,
// which are across it. It turns with
//
//   w = z x dz/dt + z (z . w_0 + z . w_1) / 2,
//
// w_0 and w_1 how the triangles turn, with z in them.
//
// Two carriers are neighbours if they share a node, or an element has a node of each. Those never touch: what
// is between them is one solid.
#include <algorithm>
#include <map>
#include <span>

#include "capstan/geometry/collider.h"
#include "capstan/physics/soft_body.h"

namespace capstan {
namespace {

Transform frame_of(const Vec3& a, const Vec3& b, const Vec3& n_0, const Vec3& n_1) {
  const Vec3 z = (b - a).normalized();
  Vec3 x = n_0 + n_1;
  if (x.squaredNorm() < 1e-12) x = n_0;  // folded flat
  x = (x - x.dot(z) * z).normalized();
  Transform X;
  X.R << x, cross(z, x), z;
  X.p = 0.5 * (a + b);
  return X;
}

}  // namespace

void SoftBody::find_edges() {
  std::map<std::array<int, 2>, std::vector<int>> sides;  // triangles that have the edge this way
  for (int t = 0; t < static_cast<int>(triangles_.size()); ++t) {
    for (int k = 0; k < 3; ++k) sides[{triangles_[t][k], triangles_[t][(k + 1) % 3]}].push_back(t);
  }
  beside_.assign(triangles_.size(), {-1, -1, -1});
  for (const auto& [nodes, left] : sides) {
    if (left.size() != 1) continue;  // where four triangles meet, two solids touch
    const auto other = sides.find({nodes[1], nodes[0]});
    if (other == sides.end() || other->second.size() != 1) continue;
    const std::array<int, 3>& triangle = triangles_[left[0]];
    beside_[left[0]][std::find(triangle.begin(), triangle.end(), nodes[0]) - triangle.begin()] =
        other->second[0];
    if (spec_.has_edges && nodes[0] < nodes[1]) edges_.push_back({nodes, left[0], other->second[0]});
  }
}

// Of what is convex at rest.
void SoftBody::find_corners() {
  constexpr double kFlat = 0.95;  // cosine between normals
  constexpr double kLevel = 1e-3;
  std::vector<Vec3> normals;
  std::vector<std::vector<int>> around(rest_.size());
  for (int t = 0; t < static_cast<int>(triangles_.size()); ++t) {
    const auto& [a, b, c] = triangles_[t];
    normals.push_back(cross(Vec3(rest_[b] - rest_[a]), Vec3(rest_[c] - rest_[a])).normalized());
    for (const int node : triangles_[t]) around[node].push_back(t);
  }
  corner_.assign(triangles_.size(), {-1, -1, -1});
  for (int t = 0; t < static_cast<int>(triangles_.size()); ++t) {
    for (int k = 0; k < 3; ++k) {
      const Vec3& corner = rest_[triangles_[t][k]];
      double least = kFlat;
      for (const int s : around[triangles_[t][k]]) {
        const double cosine = normals[s].dot(normals[t]);
        if (!(cosine < least) || std::find(beside_[t].begin(), beside_[t].end(), s) != beside_[t].end())
          continue;
        const bool is_behind = std::all_of(triangles_[t].begin(), triangles_[t].end(), [&](int node) {
          const Vec3 x = rest_[node] - corner;
          return normals[s].dot(x) <= kLevel * x.norm();
        });
        if (!is_behind) continue;
        least = cosine;
        corner_[t][k] = s;
      }
    }
  }
}

double SoftBody::edge_area(int edge) const {
  return (triangle_area_[edges_[edge].left] + triangle_area_[edges_[edge].right]) / 3;
}

Transform SoftBody::edge_frame(const ConstVector& q, int edge, const Vec3& n_left,
                               const Vec3& n_right) const {
  const Edge& e = edges_[edge];
  return frame_of(node(q, e.nodes[0]), node(q, e.nodes[1]), n_left, n_right);
}

void SoftBody::bend_edge(const ConstVector& q, int edge, Collider* collider) const {
  const Edge& e = edges_[edge];
  const Vec3 a = node(q, e.nodes[0]), b = node(q, e.nodes[1]);
  const Vec3 n_0 = normal(q, e.left), n_1 = normal(q, e.right);
  const Transform X = frame_of(a, b, n_0, n_1);
  const double r = 0.5 * kVertexRadius * mean_edge_, half = 0.5 * (b - a).norm();
  if (collider->type != ColliderType::capsule || !collider->is_edge)
    *collider = make_collider(Capsule{r, half});
  collider->is_edge = true;
  collider->size.z() = half;
  collider->half_box.z() = collider->bounding_radius = half + r;
  collider->vertex[0] = X.R.transpose() * n_0;
  collider->vertex[1] = X.R.transpose() * n_1;
}

Vec6 SoftBody::edge_twist(const ConstVector& q, const ConstVector& v, const Vec3& origin, int edge,
                          const Vec3& w_left, const Vec3& w_right) const {
  const Edge& e = edges_[edge];
  const Vec3 x_a = node(q, e.nodes[0]), ab = node(q, e.nodes[1]) - x_a;
  const Vec3 v_a = node(v, e.nodes[0]), u_ab = node(v, e.nodes[1]) - v_a;
  const double length = ab.norm();
  const Vec3 z = ab / length;
  const Vec3 w = cross(z, Vec3(u_ab / length)) + 0.5 * z.dot(w_left + w_right) * z;
  Vec6 V;
  V << w, v_a + 0.5 * u_ab + cross(w, Vec3(origin - x_a - 0.5 * ab));
  return V;
}

std::vector<std::array<int, 2>> SoftBody::find_neighbours() const {
  std::vector<std::vector<int>> around(rest_.size()), carriers(rest_.size());
  for (int i = 0; i < num_nodes(); ++i) around[i].push_back(i);
  for (const auto& [a, b] : std::span(pairs_).first(num_element_pairs_)) {
    around[a].push_back(b);
    around[b].push_back(a);
  }
  for (int t = 0; t < static_cast<int>(triangles_.size()); ++t) {
    for (const int i : triangles_[t]) carriers[i].push_back(num_carried() + t);
  }
  for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
    for (const int i : edges_[e].nodes) carriers[i].push_back(first_edge() + e);
  }
  std::vector<std::array<int, 2>> pairs;
  std::vector<int> near;
  // Vertices with triangles, and edges with edges: others never meet.
  const auto add = [&](int carrier, std::initializer_list<int> nodes, int begin, int end) {
    near.clear();
    for (const int i : nodes) {
      for (const int j : around[i]) near.insert(near.end(), carriers[j].begin(), carriers[j].end());
    }
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    for (const int other : near) {
      if (other >= begin && other < end) pairs.push_back({carrier, other});
    }
  };
  for (int c = 0; c < num_carried(); ++c) add(c, {carried_[c]}, num_carried(), first_edge());
  for (int e = 0; e < static_cast<int>(edges_.size()); ++e)
    add(first_edge() + e, {edges_[e].nodes[0], edges_[e].nodes[1]}, first_edge() + e + 1,
        first_edge() + static_cast<int>(edges_.size()));
  return pairs;
}

}  // namespace capstan
