#include "capstan/physics/rod.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "capstan/math/rotation.h"

namespace capstan {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kShortest = 1e-12;      // [m] of an edge
constexpr double kSharpest = -1 + 1e-9;  // cosine of a turn: strains are infinite at -1

void check(const RodSpec& spec) {
  Diagnostics found;
  const auto wrong = [&](bool is_wrong, const std::string& what, const std::string& remedy) {
    if (is_wrong) found.error(spec.where, what, remedy);
    return is_wrong;
  };
  const auto positive = [&](double x, const char* name, const char* unit) {
    wrong(!(x > 0 && std::isfinite(x)), fmt::format("the rod's {} is {:g} {}", name, x, unit),
          fmt::format("write a {} above 0", name));
  };
  const int n = static_cast<int>(spec.nodes.size()), edges = spec.closed ? n : n - 1;
  const int joints = spec.closed ? n : n - 2;
  positive(spec.section.width, spec.section.type == RodSectionType::circle ? "diameter" : "width", "m");
  if (spec.section.type != RodSectionType::circle) positive(spec.section.height, "height", "m");
  positive(spec.young_modulus, "Young's modulus", "Pa");
  positive(spec.density, "density", "kg/m^3");
  wrong(!(spec.poisson_ratio > -1 && spec.poisson_ratio <= 0.5),
        fmt::format("the rod's Poisson ratio is {:g}", spec.poisson_ratio),
        "write one above -1, at most 0.5");
  wrong(!(spec.shear_modulus >= 0 && std::isfinite(spec.shear_modulus)),
        fmt::format("the rod's shear modulus is {:g} Pa", spec.shear_modulus),
        "write one above 0, or leave it out");
  wrong(!(spec.alpha >= 0 && spec.beta >= 0),
        fmt::format("the rod's damping is alpha {:g} 1/s, beta {:g} s", spec.alpha, spec.beta),
        "write numbers from 0 up");
  if (!wrong(n < (spec.closed ? 3 : 2),
             fmt::format("the {} rod has {} nodes", spec.closed ? "closed" : "open", n),
             spec.closed ? "give it at least 3" : "give it at least 2")) {
    int first = -1, count = 0;  // edges without length
    for (int i = 0; i < edges; ++i) {
      const double length = (spec.nodes[(i + 1) % n] - spec.nodes[i]).norm();
      if (length > kShortest && std::isfinite(length)) continue;
      if (count++ == 0) first = i;
    }
    if (count > 0) {
      const Vec3& a = spec.nodes[first];
      const std::string at = fmt::format("({:g}, {:g}, {:g})", a.x(), a.y(), a.z());
      wrong(true,
            count == edges
                ? fmt::format("all {} nodes of the rod are at {}", n, at)
                : fmt::format("nodes {} and {} of the rod are both at {}{}", first, (first + 1) % n, at,
                              count > 1 ? fmt::format(", and {} more pairs are equal", count - 1) : ""),
            count == edges ? "give it a length" : "leave one of them out");
    }
    for (int j = 0; j < joints && found.ok(); ++j) {
      const Vec3 t = (spec.nodes[(j + 1) % n] - spec.nodes[j]).normalized();
      const Vec3 next = (spec.nodes[(j + 2) % n] - spec.nodes[(j + 1) % n]).normalized();
      wrong(t.dot(next) < kSharpest, fmt::format("the rod folds back on itself at node {}", (j + 1) % n),
            "round the fold with a few more nodes");
    }
  }
  const auto size = [&](std::size_t has, int should, const char* name) {
    wrong(has != 0 && static_cast<int>(has) != should,
          fmt::format("the rod has {} {}, not {}", has, name, should), "give one for each, or none");
  };
  size(spec.angles.size(), edges, "angles");
  size(spec.rest_length.size(), edges, "rest lengths");
  for (const double length : spec.rest_length) positive(length, "rest length", "m");
  wrong(spec.rest == RodRest::given && static_cast<int>(spec.natural.size()) != joints,
        fmt::format("the rod has natural curvature at {} joints, not {}", spec.natural.size(), joints),
        "give one for each joint");
  wrong(spec.rest != RodRest::given && !spec.natural.empty(),
        "the rod has natural curvature that is not used", "set its rest to given");
  for (int j = 0; j < joints && static_cast<int>(spec.natural.size()) == joints && found.ok(); ++j) {
    const auto length = [&](int i) {
      return spec.rest_length.empty() ? (spec.nodes[(i + 1) % n] - spec.nodes[i]).norm()
                                      : spec.rest_length[i];
    };
    const double turn = 0.5 * (length(j) + length((j + 1) % edges)) * spec.natural[j].head<2>().norm();
    wrong(!(turn < kPi), fmt::format("the rod's natural curvature turns joint {} by {:g} rad", j, turn),
          "make edges shorter, to turn by less than pi at each");
  }
  const auto index = [&](const std::vector<int>& list, int count, const char* name) {
    for (const int i : list)
      wrong(i < 0 || i >= count, fmt::format("the rod has no {} {}", name, i),
            fmt::format("write one from 0 to {}", count - 1));
  };
  index(spec.pinned_nodes, n, "node");
  index(spec.held_angles, edges, "edge");
  index(spec.clamped_edges, edges, "edge");
  if (!found.ok()) throw InputError(std::move(found));
}

// (kappa_1, kappa_2, tau) over a length: kappa is 2 tan(turn / 2).
Vec3 strain_of(const Vec3& natural, double span) {
  const double turn = span * natural.head<2>().norm();
  CAPSTAN_ASSERT(turn < kPi);
  const double stretch = turn > 1e-8 ? 2 * std::tan(0.5 * turn) / turn : 1;
  return {stretch * span * natural[0], stretch * span * natural[1], span * natural[2]};
}

}  // namespace

Rod::Rod(const RodSpec& spec) : spec_(spec) {
  check(spec);
  section_ = calc_section_constants(spec.section);
  num_nodes_ = static_cast<int>(spec.nodes.size());
  shear_modulus_ =
      spec.shear_modulus > 0 ? spec.shear_modulus : spec.young_modulus / (2 * (1 + spec.poisson_ratio));
  const int edges = spec.closed ? num_nodes_ : num_nodes_ - 1;
  rest_length_ = spec.rest_length;
  for (int i = static_cast<int>(rest_length_.size()); i < edges; ++i)
    rest_length_.push_back((spec.nodes[after(i)] - spec.nodes[i]).norm());
  rest_strain_.assign(spec.closed ? num_nodes_ : num_nodes_ - 2, Vec3::Zero());

  inertia_ = VecX::Zero(num_dofs());
  for (int i = 0; i < edges; ++i) {
    const double per_area = spec.density * rest_length_[i];
    for (const int k : {i, after(i)}) inertia_.segment<3>(4 * k).array() += 0.5 * per_area * section_.area;
    inertia_[4 * i + 3] = per_area * section_.polar();
  }
  held_.assign(num_dofs(), 0);
  const auto hold = [&](int first, int count) { std::fill_n(held_.begin() + first, count, 1); };
  for (const int i : spec.pinned_nodes) hold(4 * i, 3);
  for (const int i : spec.held_angles) hold(4 * i + 3, 1);
  for (const int i : spec.clamped_edges) {
    hold(4 * i, 4);
    hold(4 * after(i), 3);
  }

  has_held_ = std::any_of(held_.begin(), held_.end(), [](char is) { return is != 0; });
  int first_tie = std::numeric_limits<int>::max(), last_tie = -1;
  for (const RodAttachment& a : spec.attachments) {
    const int at = std::max(a.node, a.edge);
    first_tie = std::min(first_tie, at), last_tie = std::max(last_tie, at);
  }
  is_tied_apart_ = last_tie - first_tie > 1;  // an edge and its node are one place
  const std::vector<std::array<int, 2>> pairs = layout().pairs;
  const auto pair = [&](int a, int b) {
    const std::array<int, 2> sorted = {std::min(a, b), std::max(a, b)};
    return static_cast<int>(std::lower_bound(pairs.begin(), pairs.end(), sorted) - pairs.begin());
  };
  for (int i = 0; i < edges; ++i) edge_pair_.push_back(pair(i, after(i)));
  for (int j = 0; j < num_joints(); ++j) joint_pair_.push_back(pair(j, after(after(j))));

  if (spec.rest == RodRest::given) {
    for (int j = 0; j < num_joints(); ++j) set_natural(j, spec.natural[j]);
  } else if (spec.rest == RodRest::as_it_starts) {
    VecX q(layout().num_positions), v(num_dofs());
    set_initial(q, v);
    for (int i = 0; i < static_cast<int>(spec.angles.size()); ++i) q[4 * i + 3] -= spec.angles[i];
    for (int j = 0; j < num_joints(); ++j) rest_strain_[j] = strain(q, j);
  }
}

void Rod::set_natural(int joint, const Vec3& natural) {
  if (joint < 0 || joint >= num_joints() || !natural.allFinite())
    throw InputError({},
                     fmt::format("joint {} of a rod with joints 0 to {} cannot get this natural curvature",
                                 joint, num_joints() - 1),
                     "give a joint of the rod and three finite numbers");
  rest_strain_[joint] = strain_of(natural, rest_span(joint));
}
void Rod::set_rest_length(int edge, double length) {
  if (edge < 0 || edge >= num_edges() || !(length > 0 && std::isfinite(length)))
    throw InputError({},
                     fmt::format("edge {} of a rod with edges 0 to {} cannot get the rest length {:g} m",
                                 edge, num_edges() - 1, length),
                     "give an edge of the rod and a length above 0");
  rest_length_[edge] = length;
}
double Rod::rest_span(int joint) const {
  return 0.5 * (rest_length_[joint] + rest_length_[joint + 1 == num_edges() ? 0 : joint + 1]);
}
Vec3 Rod::stiffness(const ConstVector& q, int joint) const {
  const double span = length_factor(q) * rest_span(joint), E = spec_.young_modulus;
  return Vec3(E * section_.second_moment[0], E * section_.second_moment[1],
              shear_modulus_ * section_.torsion) /
         span;
}

RodEdge Rod::edge(const ConstVector& q, int i) const {
  return make_rod_edge(node(q, after(i)) - node(q, i), director(q, i), q[4 * i + 3]);
}
double Rod::tension(const ConstVector& q, int i) const {
  const double length = (node(q, after(i)) - node(q, i)).norm();
  return spec_.young_modulus * section_.area * (length / (length_factor(q) * rest_length_[i]) - 1);
}
Vec3 Rod::strain(const ConstVector& q, int joint) const {
  return calc_joint_strain(edge(q, joint), edge(q, after(joint)), reference_twist(q, joint));
}

ObjectLayout Rod::layout() const {
  ObjectLayout layout;
  const int edges = num_edges();
  layout.num_positions = num_dofs() + 3 * edges + num_joints() + (spec_.actuated ? 2 : 0);
  layout.block_sizes.assign(num_nodes_, 4);
  if (!spec_.closed) layout.block_sizes.back() = 3;
  layout.num_carriers = edges;
  std::set<std::array<int, 2>> pairs, apart;
  const auto add = [](int a, int b, std::set<std::array<int, 2>>* to) {
    if (a != b) to->insert({std::min(a, b), std::max(a, b)});
  };
  for (int i = 0; i < edges; ++i) add(i, after(i), &pairs);
  for (int j = 0; j < num_joints(); ++j) add(j, after(after(j)), &pairs);
  // What cannot touch without a bend sharper than the section is wide.
  const double diameter = spec_.section.type == RodSectionType::circle
                              ? spec_.section.width
                              : std::max(spec_.section.width, spec_.section.height);
  for (int i = 0; i < edges; ++i) {
    double between = 0;
    for (int k = 1; k < edges && between < kPi / 2 * diameter; ++k) {
      if (!spec_.closed && i + k >= edges) break;
      add(i, (i + k) % edges, &apart);
      between += rest_length_[(i + k) % edges];
    }
  }
  layout.pairs.assign(pairs.begin(), pairs.end());
  layout.apart.assign(apart.begin(), apart.end());
  return layout;
}

void Rod::set_initial(Vector q, Vector v) const {
  v.setZero();
  q.setZero();
  if (spec_.actuated) q.tail<2>().setOnes();
  for (int i = 0; i < num_nodes_; ++i) {
    if (is_free(i)) v.segment<3>(4 * i) = spec_.velocity;
  }
  double total = 0;
  for (int i = 0; i < num_nodes_; ++i) q.segment<3>(4 * i) = spec_.nodes[i];
  Vec3 t = (spec_.nodes[1] - spec_.nodes[0]).normalized();
  Vec3 d = spec_.director - spec_.director.dot(t) * t;
  d = d.norm() > 1e-6 * spec_.director.norm() ? Vec3(d.normalized()) : Vec3(frame_from_z(t).col(0));
  for (int i = 0; i < num_edges(); ++i) {
    const Vec3 next = (spec_.nodes[after(i)] - spec_.nodes[i]).normalized();
    d = parallel_transport(t, next, d);
    d = (d - d.dot(next) * next).normalized();
    t = next;
    q.segment<3>(director_begin() + 3 * i) = d;
    total += rest_length_[i];
  }
  for (int j = 0; j < num_joints(); ++j)
    q[twist_begin() + j] = calc_reference_twist(edge(q, j), edge(q, after(j)), 0);
  if (spec_.closed) {
    double at = 0;
    const double turn = q[twist_begin() + num_joints() - 1];
    for (int i = 1; i < num_edges(); ++i) {
      at += 0.5 * (rest_length_[i - 1] + rest_length_[i]);
      q[4 * i + 3] = turn * at / total;
    }
  }
  for (int i = 0; i < static_cast<int>(spec_.angles.size()); ++i) q[4 * i + 3] += spec_.angles[i];
}

// The edge moves its points as a rigid body that also stretches: with r across the edge and s along it,
//   v = (1 - s) v_a + s v_b + w x r,   w = t x (v_b - v_a) / |e| + gamma' t,
// whose w x r is gamma' t x r - t r.(v_b - v_a) / |e|.
int Rod::calc_point(const ConstVector& q, int carrier, const Vec3& p_W, PointPart* parts) const {
  const int a = carrier, b = after(a);
  const Vec3 x_a = node(q, a), span = node(q, b) - x_a;
  const double length = span.norm();
  const Vec3 t = span / length;
  const double s = t.dot(p_W - x_a) / length;
  const Vec3 r = p_W - x_a - s * span;
  const Mat3 tilt = t * r.transpose() / length;
  parts[0].block = a;
  parts[0].size = 4;
  Eigen::Map<Mat3>(parts[0].J.data()) = (1 - s) * Mat3::Identity() + tilt;
  Eigen::Map<Vec3>(parts[0].J.data() + 9) = cross(t, r);
  parts[1].block = b;
  parts[1].size = !spec_.closed && b + 1 == num_nodes_ ? 3 : 4;
  Eigen::Map<Mat3>(parts[1].J.data()) = s * Mat3::Identity() - tilt;
  Eigen::Map<Vec3>(parts[1].J.data() + 9).setZero();
  return 2;
}

double Rod::calc_kinetic_energy(const ConstVector&, const ConstVector& v) const {
  double sum = 0;
  for (int k = 0; k < num_dofs(); ++k) {
    if (!held_[k]) sum += 0.5 * inertia_[k] * v[k] * v[k];
  }
  return sum;
}

double Rod::calc_elastic_energy(const ConstVector& q) const {
  double sum = 0;
  for (int i = 0; i < num_edges(); ++i) {
    const double force = tension(q, i);
    sum += 0.5 * force * force * length_factor(q) * rest_length_[i] / (spec_.young_modulus * section_.area);
  }
  for (int j = 0; j < num_joints(); ++j) {
    const Vec3 s = strain(q, j) - natural_strain(q, j);
    sum += 0.5 * stiffness(q, j).dot(s.cwiseProduct(s));
  }
  return sum;
}

double Rod::calc_speed(const ConstVector&, const ConstVector& v) const {
  double speed = 0;
  const double radius = std::sqrt(section_.polar() / section_.area);  // of gyration
  for (int i = 0; i < num_nodes_; ++i) speed = std::max(speed, node(v, i).norm());
  for (int i = 0; i < num_edges(); ++i) speed = std::max(speed, radius * std::abs(v[4 * i + 3]));
  return speed;
}

}  // namespace capstan
