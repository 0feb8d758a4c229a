// Where the edges of a rod are, how they turn, and where its velocities lead (physics/rod.h).
#include <cmath>

#include "capstan/physics/rod.h"
#include "capstan/physics/rod_lanes.h"

namespace capstan {
namespace {

// Memory of one thread, for the rod that it is at.
struct JointScratch {
  RodEdgeRows edges;
  std::vector<double> way, strain, twist;
};
JointScratch& joint_scratch() {
  thread_local JointScratch s;
  return s;
}
void fit_joints(std::size_t size, std::vector<double>* x) {
  if (x->size() < size) x->resize(size);
}

}  // namespace

// q1 may be q0.
void Rod::move(const ConstVector& q0, const ConstVector& v, double dt, Vector q1) const {
  JointScratch& s = joint_scratch();
  const int n = num_dofs(), edges = num_edges(), joints = num_joints();
  fit_joints(n + 1, &s.way);
  for (int k = 0; k < n; ++k) s.way[k] = dt * v[k];
  s.way[n] = 0;
  make_edges({edges, num_nodes_, spec_.closed, q0.data(), q0.data() + director_begin(), s.way.data()},
             &s.edges);
  fit_joints(3 * s.edges.stride, &s.strain);
  fit_joints(s.edges.stride, &s.twist);
  calc_joint_strains(s.edges, joints, q0.data() + twist_begin(), false, s.strain.data(), s.twist.data());
  q1.head(n) = q0.head(n) + dt * v.head(n);
  for (int i = 0; i < edges; ++i)
    q1.segment<3>(director_begin() + 3 * i) = s.edges.vector(RodEdgeRows::kDirector, i);
  for (int j = 0; j < joints; ++j) q1[twist_begin() + j] = s.twist[j];
  if (spec_.actuated) q1.tail<2>() = Eigen::Vector2d(q0.tail<2>());
}

void Rod::place(const ConstVector& q, std::span<Transform> X_WC) const {
  JointScratch& s = joint_scratch();
  make_edges({num_edges(), num_nodes_, spec_.closed, q.data(), q.data() + director_begin(), nullptr},
             &s.edges);
  for (int i = 0; i < num_edges(); ++i) {
    X_WC[i].R << s.edges.vector(RodEdgeRows::kM1, i), s.edges.vector(RodEdgeRows::kM2, i),
        s.edges.vector(RodEdgeRows::kTangent, i);
    X_WC[i].p = 0.5 * (node(q, i) + node(q, after(i)));
  }
}

void Rod::calc_twists(const ConstVector& q, const ConstVector& v, const Vec3& origin,
                      std::span<Vec6> V) const {
  for (int i = 0; i < num_edges(); ++i) {
    const int k = after(i);
    const Vec3 span = node(q, k) - node(q, i), middle = 0.5 * (node(q, i) + node(q, k));
    const double square = span.squaredNorm();
    const Vec3 w =
        cross(span, Vec3(node(v, k) - node(v, i))) / square + v[4 * i + 3] / std::sqrt(square) * span;
    V[i] << w, 0.5 * (node(v, i) + node(v, k)) + cross(w, Vec3(origin - middle));
  }
}

}  // namespace capstan
