// Normals of contacts between rods and bodies where the step ends.
//
// A rope under tension T that runs over a peg is pushed towards it by T kappa along the normal n1 of where
// its nodes arrive: the forces of a rod are those of the end of the step. A contact along the normal n0 of
// where they began would leave T kappa (n1 - n0) of that, a brake of T v dt / R^2 per length: without
// friction, a rope with weights of 2 and 0.5 kg over a peg of 25 mm lost a quarter of its speed at 5 ms. With
// n1 the two cancel. On a pulley that turns with the rope, friction would pass the brake on to it, so that a
// body that the world holds is touched there, too: at the arm r1 of where the rope arrives. The gap is told
// from where the motion leads (u: velocity of the rod against the surface, w: turn of the body, r: from its
// origin, K: curvature of its surface),
//
//   n1 = n0 + dt (w x n + K u),   r1 = r0 + dt (u + w x r),
//   phi1(v) = phi0 + dt n1.v - dt^2/2 phi'',   phi'' = u.K u + 2 (w x n).u - n.(w x (w x r)),
//
// up to the third order in dt, and what sticks slips by the same, with the sign turned, as
// assemble_sticking.cc has it for n0 and r0. A rope that is heavy for its tension gets back what its forces
// take (physics/rod_swing.cc): there normals and arms go less far, by the share s, and 1 - 2 s takes the
// place of -1.
//
// Facets and edges have no curvature K, but a rope that is drawn around them has: its normals are across its
// direction t, and turn with it, K u = -(n . dt/ds) (u.t) t, told of the joints at both ends of its edge.
// What holds it, corners of facets, stays where it is while the edge turns about it, so that phi'' has no u.K
// u.
//
// So do free bodies: a drum in space with a cord wound on it would stop. The forces of the rod, at the end of
// the step, brake it by dt v x F, which the body gets back; where the angular momentum of the rod is kept
// (step/relinearize.h), it is with that moment.
#include <algorithm>

#include "capstan/dynamics/motion_batch.h"
#include "capstan/physics/rod.h"
#include "capstan/problem/assembler.h"

namespace capstan {
namespace {

constexpr double kLargestLean = 0.6;  // [rad] in a step: less and less from half of it on
constexpr double kOnItsSide = 0.99;   // sine of the angle between normal and axis, from which on it is round

bool is_curved(ColliderType type) {
  return type == ColliderType::sphere || type == ColliderType::capsule || type == ColliderType::cylinder;
}

// K u as a rope has it that is drawn around facets, or over an edge: p and u on one of its edges.
Vec3 calc_followed(const Rod& rod, const Physics::ConstVector& q, int edge, const Vec3& p, const Vec3& n,
                   const Vec3& u) {
  const int edges = rod.num_edges(), nodes = rod.num_nodes();
  const auto along = [&](int i) { return Vec3(Rod::node(q, (i + 1) % nodes) - Rod::node(q, i)); };
  const double length = along(edge).norm();
  const Vec3 t = along(edge) / length;
  const auto bend = [&](int next) {  // away from n at the joint with the edge before or after it [1/m]
    if (!rod.spec().closed && (next < 0 || next >= edges)) return 0.0;
    const Vec3 e = along((next + edges) % edges);
    return (next < edge ? 2 : -2) * n.dot(e) / (e.norm() * (length + e.norm()));
  };
  const double s = std::clamp((p - Rod::node(q, edge)).dot(t) / length, 0.0, 1.0);
  return std::max(0.0, (1 - s) * bend(edge - 1) + s * bend(edge + 1)) * u.dot(t) * t;
}

}  // namespace

// K u of a shape's surface, u along it; `away` is how far from it what slides has its centre.
Vec3 Assembler::calc_curving(int shape, int link, const Vec3& p_W, const Vec3& normal, double away,
                             const Vec3& u) const {
  const ModelShape& s = model.shapes[shape];
  const ColliderType type = s.collider.type;
  const Transform X_WS = link == 0 ? s.X_LS : motion.placement.X_WL[link] * s.X_LS;
  const Vec3 arm = p_W - X_WS.p, axis = X_WS.R.col(2), along = u - u.dot(normal) * normal;
  if (type == ColliderType::sphere) return along / (arm.norm() + away);
  const Vec3 across = cross(axis, normal);
  if (across.norm() < kOnItsSide) return Vec3::Zero();
  return along.dot(across) / ((arm - axis.dot(arm) * axis).norm() + away) * across;
}

Assembler::Lean Assembler::calc_lean(int i) const {
  const Vec3 &p = contacts.p_WC[i], &normal = contacts.normal[i];
  Lean lean{normal};
  const int a = contacts.link_a[i], b = contacts.link_b[i];
  const ContactKind kind = contacts.kind[i];
  if (is_tree(a) == is_tree(b) || !model.options.follow_paths || !motion.scratch->is_staggered ||
      (kind != ContactKind::touching && kind != ContactKind::ahead))
    return lean;
  const bool is_a = is_tree(a);  // the body
  const int body = is_a ? a : b, carrier = is_a ? b : a;
  const Object& object = model.objects[model.links[carrier].object];
  const auto* rod = dynamic_cast<const Rod*>(object.physics.get());
  if (rod == nullptr) return lean;
  const double sign = is_a ? 1 : -1;
  const int shape = is_a ? contacts.shape_a[i] : contacts.shape_b[i];
  const int thread = is_a ? contacts.shape_b[i] : contacts.shape_a[i];
  const double radius = model.shapes[thread].collider.half_box.minCoeff();
  const Vec3 n = sign * normal, u = sign * (link_motion(b, p) - link_motion(a, p)).tail<3>();
  const Vec3 turn = link_motion(body, p).head<3>();
  const Vec3 r = body == 0 ? Vec3(Vec3::Zero()) : Vec3(p + radius * n - motion.placement.X_WL[body].p);
  const auto q = state.q.segment(object.q_begin, object.num_positions());
  const bool curved = is_curved(model.shapes[shape].collider.type);
  const Vec3 curving = curved ? calc_curving(shape, body, p, n, radius, u)
                              : calc_followed(*rod, q, carrier - object.link_begin, p, n, u);
  const Vec3 turning = cross(turn, n);
  const Vec3 inward = cross(turn, cross(turn, r));
  // What goes farther round a thin body than that is elsewhere at the end.
  const double angle = dt * Vec3(turning + curving).norm();
  if (!(angle < kLargestLean)) return lean;
  const double told = std::min(1.0, 2 * (1 - angle / kLargestLean));
  const double share = told * rod->calc_turned_share(q, state.v.segment(object.dof_begin, object.num_dofs()),
                                                     carrier - object.link_begin, dt);
  lean.any = true;
  lean.normal = sign * (n + share * dt * (turning + curving)).normalized();
  lean.gap_rate =
      told * dt *
      (((curved ? 0.5 : 1) - share) * u.dot(curving) + (1 - share) * turning.dot(u) - 0.5 * n.dot(inward));
  if (body != 0) {
    lean.shift = share * dt * (u + cross(turn, r));
    lean.of_sticking = 1 - 2 * share;
    lean.gap_rate += share * dt * (n.dot(inward) - turning.dot(u));
  }
  return lean;
}

}  // namespace capstan
