#include "capstan/dynamics/motion_batch.h"
#include "capstan/physics/rod.h"
#include "capstan/problem/assembler.h"

namespace capstan {
namespace {

// Of the speed that curved ways tell, what a contact may slip or close before the step and still count as one
// that sticks: fully up to the first, not at all from the second on.
constexpr double kSurelySticks = 3, kSurelySlips = 6;
// [rad] in a step, of bodies against each other and of both together, up to which ways are told well by their
// beginnings: less and less from half of it on.
constexpr double kLargestTurn = 0.3, kLargestCommonTurn = 1;
constexpr double kFlat = 0.05;  // sine of the tilt below which a cylinder stands on its end

}  // namespace

// How the surface of a shape moves at p_W, as the step will move it with the velocities of now: links along
// their joints, centres of mass straight on, nodes too.
Assembler::SurfaceMotion Assembler::surface_motion(int link, int shape, const Vec3& p_W) const {
  SurfaceMotion m{link_motion(link, p_W), Vec3::Zero(), Vec3::Zero()};
  m.turn = m.V.head<3>();
  if (link != 0 && is_tree(link)) {
    const Link& root = model.links[model.trees[tree_of(link)].link_begin];
    if (is_lone_body(link)) {
      // A body of revolution spins in what turns as a whole (dynamics/free_turn.h).
      const Transform& X_WL = motion.placement.X_WL[link];
      const Mat3& F = root.X_PL.R;
      const Vec3 spin = F * calc_spin(model, motion, tree_of(link), F.transpose() * m.turn);
      m.turn -= spin;
      const Vec3 arm = p_W - X_WL.p - X_WL.R * root.com, u = cross(spin, arm);
      m.acceleration = cross(m.turn, Vec3(cross(m.turn, arm) + u));
    } else {
      const Vec6& A = w.path[link];
      const Vec3 r = p_W - motion.placement.origin[tree_of(link)];
      m.acceleration = A.tail<3>() + cross(Vec3(A.head<3>()), r) + cross(m.turn, Vec3(m.V.tail<3>()));
    }
  } else if (link != 0 && is_rod(link)) {  // edges turn with what they are wound on
    m.turn = motion.velocity.V[link].head<3>();
  }
  if (model.shapes[shape].has_moving_surface) {
    const ModelShape& s = model.shapes[shape];
    const double scale = input.surface_scale.size() > 0 ? input.surface_scale[shape] : 1.0;
    const Mat3 R_WS = link == 0 ? s.X_LS.R : Mat3(motion.placement.X_WL[link].R * s.X_LS.R);
    const Vec3 spin = scale * (R_WS * s.surface_spin), u = surface_velocity(shape, p_W);
    m.acceleration += cross(spin, u) + 2 * cross(m.turn, u);
    m.turn += spin;
    m.V.head<3>() += spin;
    m.V.tail<3>() += u;
  }
  return m;
}

bool Assembler::is_rod(int link) const {
  return dynamic_cast<const Rod*>(model.objects[model.links[link].object].physics.get()) != nullptr;
}

// Whether a link is a free body that carries no others.
bool Assembler::is_lone_body(int link) const {
  const Tree& tree = model.trees[tree_of(link)];
  return tree.link_end == tree.link_begin + 1 &&
         model.stages[model.links[tree.link_begin].stage_begin].type == StageType::free;
}

// The acceleration of a link, (angular, linear at the origin of its tree), while its joints keep their
// velocities: (V_before x S) v of all dofs before it (dynamics/tree.h).
Vec6 Assembler::path_acceleration(int link) const {
  const Placement& placement = motion.placement;
  Vec6 A = Vec6::Zero();
  for (int l = link; l != 0; l = model.links[l].parent) {
    const Link& from = model.links[l];
    Vec6 before = from.parent == 0 ? Vec6(Vec6::Zero()) : motion.velocity.V[from.parent];
    for (int s = from.stage_begin; s < from.stage_end; ++s) {
      const Stage& stage = model.stages[s];
      const int end = s + 1 < from.stage_end ? model.stages[s + 1].v : from.dof_end;
      // The slides of a free joint come before its turns; the dofs of a stage do not carry each other.
      const int turns = stage.type == StageType::free ? stage.v + 3 : stage.v;
      for (const auto& [first, last] : {std::pair(stage.v, turns), std::pair(turns, end)}) {
        Vec6 own = Vec6::Zero();
        for (int k = first; k < last; ++k) own += state.v[k] * placement.S[k];
        A += cross_motion(before, own);
        before += own;
      }
    }
  }
  return A;
}

// Those of the links that contacts act on, from this one on: a robot has many contacts on few links.
void Assembler::find_paths(int first_contact) {
  if (!model.options.follow_paths) return;
  for (int i = first_contact; i < contacts.size(); ++i) {
    for (const int link : {contacts.link_a[i], contacts.link_b[i]}) {
      if (link == 0 || !is_tree(link) || w.has_path[link] != 0 || is_lone_body(link)) continue;
      w.path[link] = path_acceleration(link);
      w.has_path[link] = 1;
    }
  }
}

// How fast the place of touch p_W wanders over the surfaces of two bodies that roll on each other at w_W, for
// a round shape on a flat one [m/s]. It stays where shapes turn about a vertex or an edge. A radius is that
// of p_W itself, so that a ball which rolls straight on gets nothing.
Vec3 Assembler::wander(int shape, int link, const Vec3& p_W, const Vec3& normal, const Vec3& w_W) const {
  const ModelShape& s = model.shapes[shape];
  const ColliderType type = s.collider.type;
  const bool is_ball = type == ColliderType::sphere || type == ColliderType::ellipsoid;
  if (!is_ball && type != ColliderType::capsule && type != ColliderType::cylinder) return Vec3::Zero();
  const Transform X_WS = link == 0 ? s.X_LS : motion.placement.X_WL[link] * s.X_LS;
  const Vec3 arm = p_W - X_WS.p, axis = X_WS.R.col(2);
  if (type == ColliderType::ellipsoid) {
    // The point with the outward normal n is D^2 n / |D n|.
    const Vec3 squares = s.collider.size.cwiseAbs2(), n = X_WS.R.transpose() * normal,
               turn = X_WS.R.transpose() * cross(w_W, normal);
    const double length = std::sqrt(n.dot(squares.cwiseProduct(n)));
    const Vec3 p = squares.cwiseProduct(n) / length;
    return X_WS.R * (squares.cwiseProduct(turn) - p * p.dot(turn)) / length;
  }
  if (is_ball) return arm.norm() * cross(w_W, normal);
  const Vec3 across = cross(axis, normal);  // its length is the sine of the tilt
  const double tilt = across.norm();
  if (tilt < kFlat) return Vec3::Zero();
  const double radius = (arm - axis.dot(arm) * axis).norm() / (type == ColliderType::cylinder ? tilt : 1);
  return radius / (tilt * tilt) * cross(w_W, normal).dot(across) * across;
}

// The acceleration of body B's surface against A's where they touch, as far as J v does not tell it, for a
// contact that sticks; how fast it slips meanwhile, and the share of the turns above that its bodies make.
Assembler::Bend Assembler::calc_bend(int i) const {
  const Vec3 &p = contacts.p_WC[i], &normal = contacts.normal[i];
  const int a = contacts.link_a[i], b = contacts.link_b[i];
  const int shape_a = contacts.shape_a[i], shape_b = contacts.shape_b[i];
  const SurfaceMotion on_a = surface_motion(a, shape_a, p), on_b = surface_motion(b, shape_b, p);
  const Vec3 turn = on_b.turn - on_a.turn;
  // Of two round shapes, the way is that of the one whose curvature is the sum of theirs.
  Vec3 way = wander(shape_b, b, p, normal, turn);
  const Vec3 way_a = wander(shape_a, a, p, normal, turn);
  const double length = way.norm(), length_a = way_a.norm();
  if (length_a > 0) way = length > 0 ? Vec3(length_a / (length + length_a) * way) : way_a;
  // The next order is exact for circles: nothing lags behind a turntable.
  const double third = motion.scratch->is_staggered ? dt / 3 : 5 * dt / 12;
  const Vec3& common = on_a.turn.squaredNorm() < on_b.turn.squaredNorm() ? on_a.turn : on_b.turn;
  Bend bend{on_b.acceleration - on_a.acceleration + cross(Vec3((on_b.V - on_a.V).head<3>()), way),
            (on_b.V - on_a.V).tail<3>().norm(),
            dt * (turn.norm() / kLargestTurn + common.norm() / kLargestCommonTurn)};
  bend.acceleration += third * cross(common, bend.acceleration);
  return bend;
}

// What velocity contacts that stick must have at the beginning of the step so that their bodies have not
// slipped, nor left each other, when it ends: both go curved ways, of which J v tells the tangents. Without
// it what sticks on a turntable, or in the fingers of an arm that turns at w, creeps outward at w^2 r dt / 2,
// a foot that stands creeps as its knee bends, and a coin that wobbles loses energy. It is half dt times the
// difference of accelerations, as loops have it (assemble_ties.cc); dt times it where positions move along
// the mean of old and new velocities. World axes, from link_a to link_b of the first contact; one for all
// contacts of two rigid bodies, which could not all follow others.
Vec3 Assembler::calc_sticking_bias(int begin, int end) const {
  if (!model.options.follow_paths) return Vec3::Zero();
  Bend sum{Vec3::Zero(), 0, 0};
  for (int i = begin; i < end; ++i) {
    const Bend bend = calc_bend(i);
    sum.acceleration += (contacts.link_a[i] == contacts.link_a[begin] ? 1 : -1) * bend.acceleration;
    sum.slip += bend.slip;
    sum.turn += bend.turn;
  }
  const double count = end - begin;
  const double factor = (motion.scratch->is_staggered ? 0.5 * dt : dt) / count;
  const double told = factor * sum.acceleration.norm(), slip = sum.slip / count, turn = sum.turn / count;
  if (!(slip < kSurelySlips * told) || !(turn < 1)) return Vec3::Zero();
  const double sticks = std::min(1.0, (kSurelySlips - slip / told) / (kSurelySlips - kSurelySticks));
  return sticks * std::min(1.0, 2 * (1 - turn)) * factor * sum.acceleration;
}

// What velocity a contact that slips must have so that its bodies are no deeper in each other than it tells
// when the step ends: a rim that tumbles over the floor would get deeper in each step. Along the normal; 0
// where they part on their way.
double Assembler::calc_slipping_bias(int i) const {
  if (!model.options.follow_paths) return 0;
  const Bend bend = calc_bend(i);
  const double along = bend.acceleration.dot(contacts.normal[i]);
  if (!(along < 0) || !(bend.turn < 1)) return 0;
  return (motion.scratch->is_staggered ? 0.5 * dt : dt) * std::min(1.0, 2 * (1 - bend.turn)) * along;
}

// At what rate spins about the axes of bodies of revolution seem to open the gap of a contact that lies where
// the axes will be: they do not (dynamics/free_turn.h), but J has the axes of the beginning.
double Assembler::calc_spin_rate(int i) const {
  if (!has_spinners(motion)) return 0;
  const auto rate = [&](int link) {
    if (link == 0 || !is_tree(link)) return 0.0;
    const int t = tree_of(link);
    if (motion.scratch->spinners[t].across == 0) return 0.0;
    const Link& root = model.links[model.trees[t].link_begin];
    const Transform& X_WL = motion.placement.X_WL[link];
    const Vec3 turn = motion.v_star.segment<3>(model.trees[t].dof_end - 3);
    const Vec3 spin = root.X_PL.R * (turn - calc_led_turn(model, motion, dt, t, turn));
    return contacts.normal[i].dot(cross(spin, Vec3(contacts.p_WC[i] - X_WL.p - X_WL.R * root.com)));
  };
  return rate(contacts.link_b[i]) - rate(contacts.link_a[i]);
}

// The same as for several, for a contact whose group has no other: those of two rigid bodies still share it.
Vec3 Assembler::calc_sticking_bias(int i) const {
  int begin = i, end = i + 1;
  const auto is_same_pair = [&](int k) {
    return (contacts.link_a[k] == contacts.link_a[i] && contacts.link_b[k] == contacts.link_b[i]) ||
           (contacts.link_a[k] == contacts.link_b[i] && contacts.link_b[k] == contacts.link_a[i]);
  };
  if (is_tree(contacts.link_a[i]) && is_tree(contacts.link_b[i])) {
    if (i > 0 && is_same_pair(i - 1)) begin = i - 1;
    if (begin == i && i + 1 < contacts.size() && is_same_pair(i + 1)) end = i + 2;
  }
  const Vec3 bias = calc_sticking_bias(begin, end);
  return contacts.link_a[begin] == contacts.link_a[i] ? bias : Vec3(-bias);
}

}  // namespace capstan
