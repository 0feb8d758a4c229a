#include "capstan/dynamics/motion_batch.h"
#include "capstan/laws/contact_laws.h"
#include "capstan/math/clones.h"
#include "capstan/math/rotation.h"
#include "capstan/problem/assembler.h"

namespace capstan {
namespace {

constexpr int kTreesInBlock = 64, kGroupsInBlock = 4;  // for one thread at a time
constexpr double kMostSigma = 1e-6;                    // for contacts of what is not rigid

}  // namespace

// Whether a group of contacts is there already, from the last step.
bool Assembler::is_reused(int g) const {
  const ConstraintGroup& group = problem.groups[g];
  if (g >= static_cast<int>(w.old_groups.size()) || !(group == w.old_groups[g])) return false;
  for (int p = group.part_begin; p < group.part_end; ++p) {
    if (!scope.is_unchanged(problem.object_of(problem.parts[p])) || !(problem.parts[p] == w.old_parts[p]))
      return false;
  }
  return std::all_of(contacts.is_reused.begin() + group.contact_begin,
                     contacts.is_reused.begin() + group.contact_end, [](char same) { return same != 0; });
}

// First the groups and the room they take, then what they are: those may be made all at a time.
void Assembler::add_contacts(int first_group) {
  const Threads& threads = scope.threads;
  const int first = static_cast<int>(problem.groups.size());
  for (int g = first_group; g < contacts.num_groups(); ++g) {
    const int begin = contacts.group_begin[g], end = contacts.group_begin[g + 1];
    // One or two contacts have fewer rows apart than together; those on what is not rigid have no common
    // motion.
    const bool apart = (end - begin <= 2 && !has_turning(begin, end)) || !is_tree(contacts.link_a[begin]) ||
                       !is_tree(contacts.link_b[begin]);
    for (int i = begin, next; i < end; i = next) {
      for (next = i + 1; next < end && (!apart || !contacts.is_point(next));) ++next;
      ConstraintGroup group = begin_group(apart && next == i + 1 ? 3 : 6);
      group.is_patch = contacts.material[begin].area > 0;
      group.contact_begin = i;
      group.contact_end = next;
      const auto [link_a, link_b] = links_of(i);
      declare_point(&group, link_a, contacts.p_WC[i]);
      declare_point(&group, link_b, contacts.p_WC[i]);
      if (apart && group.num_rows == 6) {
        for (const int link : {link_a, link_b}) declare_turn(&group, link, contacts.p_WC[i]);
      }
      problem.groups.push_back(group);
    }
  }
  w.reused_groups.resize(problem.groups.size());
  for (int g = first; g < static_cast<int>(problem.groups.size()); ++g)
    w.reused_groups[g] = !scope.unchanged.empty() && is_reused(g);
  w.trees.clear();
  for (const GroupPart& part : problem.parts) {
    if (model.blocks[part.block].size != 6 || !model.object_of_block(part.block).is_tree()) continue;
    AssemblyWorkspace::Inverse& inverse = w.inverse[part.block];
    if (inverse.is_valid) continue;
    inverse.is_valid = true;
    w.trees.push_back(part.block);
  }
  problem.contacts.resize(contacts.size());
  problem.X.resize(contacts.size());
  problem.contact_mass.resize(contacts.size());
  problem.turning.resize(model.has_turning_friction ? contacts.size() : 0);
  problem.R_WC.resize(contacts.size());
  problem.sticking_bias.resize(contacts.size());
  threads.for_each_block(static_cast<int>(w.trees.size()), kTreesInBlock, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) delassus.calc_inverse(w.trees[i]);
  });
  if (first_group < contacts.num_groups()) find_paths(contacts.group_begin[first_group]);
  const int count = static_cast<int>(problem.groups.size()) - first;
  threads.for_each_block(count, kGroupsInBlock, [&](int begin, int end) {
    for (int g = first + begin; g < first + end; ++g) {
      if (w.reused_groups[g] != 0) continue;
      set_zero(problem.groups[g]);
      if (problem.groups[g].num_rows == 3) {
        make_contact_alone(problem.groups[g]);
      } else {
        make_contact_group(problem.groups[g]);
      }
    }
  });
}

// The lower link is "a" for a whole group; contacts listed the other way round get their sign turned.
std::array<int, 2> Assembler::links_of(int i) const {
  return {std::min(contacts.link_a[i], contacts.link_b[i]), std::max(contacts.link_a[i], contacts.link_b[i])};
}

CAPSTAN_FLAT_CLONES void Assembler::make_contact_group(const ConstraintGroup& group) {
  const auto [link_a, link_b] = links_of(group.contact_begin);
  const Vec3 origin = contacts.p_WC[group.contact_begin];
  add_motion(group, link_a, origin, -1);
  add_motion(group, link_b, origin, 1);
  const bool bodies = delassus.has_bodies_only(group);
  const bool turns = has_turning(group.contact_begin, group.contact_end);
  const Mat6 W = bodies && !turns ? Mat6(Mat6::Zero()) : delassus.calc(group);
  const Vec6 U0 = link_motion(link_b, origin) - link_motion(link_a, origin);
  const Vec3 sticking_bias = calc_sticking_bias(group.contact_begin, group.contact_end);
  for (int i = group.contact_begin; i < group.contact_end; ++i) {
    const double sign = contacts.link_a[i] == link_a ? 1 : -1;
    if (!contacts.is_point(i)) {
      const int back = i - 1 > group.contact_begin && !contacts.is_point(i - 1) ? 2 : 1;
      set_turning_law(i, back, sign, W, problem.X[i - back] * U0);
      continue;
    }
    const Mat3 R = frame_from_z(contacts.normal[i]);
    const Vec3 r = sign * (contacts.p_WC[i] - origin);
    Mat36 X;
    for (int k = 0; k < 3; ++k) X.block<1, 3>(k, 0) = cross(r, Vec3(R.col(k)));
    X.rightCols<3>() = sign * R.transpose();
    const Vec3 W_c = bodies ? delassus.calc_of_bodies(group, contacts.p_WC[i], R)
                            : Vec3((X * W).cwiseProduct(X).rowwise().sum());
    const bool is_turned = contacts.link_a[i] != contacts.link_a[group.contact_begin];
    set_contact_law(i, R, X, X * U0, W_c, is_turned ? Vec3(-sticking_bias) : sticking_bias,
                    {contacts.normal[i]});
  }
}

// Whether the normal is that of a face of a shape: what is touched there is told by the other shape.
bool Assembler::is_face(int shape, int link, const Vec3& normal) const {
  constexpr double kAlong = 0.999;
  const ModelShape& s = model.shapes[shape];
  const Mat3 R_WS = link == 0 ? s.X_LS.R : Mat3(motion.placement.X_WL[link].R * s.X_LS.R);
  const Vec3 n = (R_WS.transpose() * normal).cwiseAbs();
  switch (s.collider.type) {
    case ColliderType::sphere:
    case ColliderType::capsule:
    case ColliderType::ellipsoid:
      return false;
    case ColliderType::cylinder:
      return n.z() > kAlong;
    case ColliderType::box:
      return n.maxCoeff() > kAlong;
    default:
      return true;
  }
}

// [m/s] of a point of a link where its surface leads: without the spin of a body of revolution.
Vec3 Assembler::way_of_surface(int link, const Vec3& p_W) const {
  const Vec6 V = link_motion(link, p_W);
  if (link == 0 || !is_tree(link)) return V.tail<3>();
  const Link& root = model.links[model.trees[tree_of(link)].link_begin];
  const Transform& X_WL = motion.placement.X_WL[link];
  const Mat3& F = root.X_PL.R;
  const Vec3 spin = F * calc_idle_spin(model, motion, tree_of(link), F.transpose() * V.head<3>());
  return V.tail<3>() - cross(spin, Vec3(p_W - X_WL.p - X_WL.R * root.com));
}

// Bodies that will bounce have the arms that they have when they touch, as their impulse acts then
// (step/bounce.h): a ball always along the normal; of others, the place on a face is where the body that
// meets it will be.
void Assembler::shift_to_touch(int i, Vec3* p_a, Vec3* p_b) const {
  const int a = contacts.link_a[i], b = contacts.link_b[i];
  const double distance = contacts.distance[i];
  if (!(contacts.material[i].restitution > 0 && distance > 0) || !is_tree(a) || !is_tree(b)) return;
  const int shape_a = contacts.shape_a[i], shape_b = contacts.shape_b[i];
  const Vec3 p = contacts.p_WC[i], n = contacts.normal[i];
  const Vec3 u_a = way_of_surface(a, p), u_b = way_of_surface(b, p);
  const double closing = n.dot(u_a - u_b);
  if (!motion.scratch->is_staggered) {  // impulses act where the step begins
    if (a == 0 || b == 0 || !is_sphere(shape_a) || !is_sphere(shape_b)) return;
    *p_a -= 0.5 * distance * n;
    *p_b += 0.5 * distance * n;
    return;
  }
  if (!(closing > 0)) return;
  const double t = std::min(dt, distance / closing);
  const auto centre_velocity = [&](int link) {
    if (link == 0) return Vec3(Vec3::Zero());
    return Vec3(link_motion(link, motion.placement.X_WL[link] * model.links[link].com).tail<3>());
  };
  // The arms are those of one place of the world then, so that angular momentum is kept.
  const Vec3 v_a = centre_velocity(a), v_b = centre_velocity(b), apart = t * (v_b - v_a);
  const auto arm = [&](int shape, int link, double sign) {
    const ModelShape& s = model.shapes[shape];
    const Vec3 centre = link == 0 ? s.X_LS.p : Vec3(motion.placement.X_WL[link] * s.X_LS.p);
    return Vec3(centre + sign * s.collider.bounding_radius * n);
  };
  const bool ball_a = is_sphere(shape_a), ball_b = is_sphere(shape_b);
  const Vec3 told_by_a = ball_a ? arm(shape_a, a, 1) : Vec3(p + t * (u_a - v_a));
  const Vec3 told_by_b = ball_b ? arm(shape_b, b, -1) : Vec3(p + t * (u_b - v_b));
  const bool face_a = is_face(shape_a, a, n), face_b = is_face(shape_b, b, n);
  const bool tells_a = ball_a || (face_b && !face_a), tells_b = ball_b || (face_a && !face_b);
  const double of_b = tells_a == tells_b ? 0.5 : tells_b ? 1 : 0;
  *p_a = (1 - of_b) * told_by_a + of_b * (told_by_b + apart);
  *p_b = *p_a - apart;
}

bool Assembler::is_sphere(int shape) const {
  return model.shapes[shape].collider.type == ColliderType::sphere;
}

CAPSTAN_FLAT_CLONES void Assembler::make_contact_alone(const ConstraintGroup& group) {
  const int i = group.contact_begin;
  const auto [link_a, link_b] = links_of(i);
  const double sign = contacts.link_a[i] == link_a ? 1 : -1;
  const Lean lean = calc_lean(i);
  const Mat3 R = frame_from_z(lean.normal);
  Vec3 p_a = contacts.p_WC[i], p_b = p_a;
  shift_to_touch(i, sign > 0 ? &p_a : &p_b, sign > 0 ? &p_b : &p_a);
  if (lean.any) (is_tree(link_a) ? p_a : p_b) += lean.shift;
  add_motion(group, link_a, p_a, -sign, R);
  add_motion(group, link_b, p_b, sign, R);
  const Vec6 U0 = sign * (link_motion(link_b, p_b) - link_motion(link_a, p_a));
  Mat36 X = Mat36::Zero();
  X.leftCols<3>().setIdentity();
  set_contact_law(i, R, X, R.transpose() * U0.tail<3>(),
                  delassus.has_bodies_only(group) ? delassus.calc_of_bodies(group, contacts.p_WC[i], R)
                                                  : delassus.calc_diagonal(group),
                  lean.of_sticking * calc_sticking_bias(i), lean);
}

// v0 is the contact's velocity before the step, W the diagonal of its Delassus estimate.
void Assembler::set_contact_law(int i, const Mat3& R, const Mat36& X, const Vec3& v0, const Vec3& W,
                                const Vec3& sticking_bias_W, const Lean& lean) {
  const ContactOptions& o = problem.options;
  const ContactMaterial& m = contacts.material[i];
  ContactInput in;
  in.distance = contacts.distance[i];
  in.stiffness = m.stiffness;
  if (const double e = traits(acting_normal_law(o)).exponent; m.area > 0 && e != 1) {
    // A patch has the force and stiffness that its pressure tells: a law with k x^e has them at another depth
    // x. Ahead of the touch, it has that force where the velocity of now leads.
    const double x = -in.distance, led = std::max(x - dt * v0.z(), 1e-9);
    in.distance *= x > 0 ? e : 1;
    in.stiffness *= x > 0 ? x * std::pow(e * x, -e) : std::pow(led, 1 - e);
  }
  in.dissipation = m.dissipation;
  in.relaxation_time = m.relaxation_time;
  in.friction = m.friction;
  if (m.tensor != nullptr) set_tensor(i, R, &in);
  in.stiction_tolerance = m.stiction_tolerance;
  in.v0 = v0;
  Vec3& sticking_bias = problem.sticking_bias[i];
  sticking_bias = R.transpose() * sticking_bias_W;
  if (sticking_bias_W.isZero(0)) sticking_bias.z() = calc_slipping_bias(i);
  // Others have their gap from where they lead.
  if (contacts.kind[i] != ContactKind::touching && contacts.kind[i] != ContactKind::ahead)
    sticking_bias.z() = -calc_spin_rate(i);
  if (lean.any) sticking_bias.z() = lean.gap_rate;
  in.bias = R.transpose() * (surface_velocity(contacts.shape_b[i], contacts.p_WC[i]) -
                             surface_velocity(contacts.shape_a[i], contacts.p_WC[i]));
  in.bias.z() = contacts.gap_rate[i];
  in.bias += sticking_bias;
  // Others have no impulse of the last step; a late pair has its friction where it touched before.
  if (contacts.kind[i] != ContactKind::touching) in.lagged_impulse = 0;
  in.lagged_at_rest = traits(o.law).finds_bounds;
  in.w_n = std::max(W.z(), 1e-18);
  in.w_t = std::max((W.x() + W.y()) / 2, 1e-18);
  in.dt = dt;
  // Parts of rods and soft bodies are light for what loads them: they would creep.
  const bool is_light = !is_tree(contacts.link_a[i]) || !is_tree(contacts.link_b[i]);
  in.sigma = acting_sigma(o);
  if (is_light && model.options.follow_paths) in.sigma = std::min(in.sigma, kMostSigma);
  in.beta = o.beta;
  in.recovery_speed = o.recovery_speed;
  problem.contacts[i] = make_contact(o.law, o.normal_law, in);
  problem.X[i] = X;
  problem.contact_mass[i] = Vec3(1 / in.w_t, 1 / in.w_t, 1 / in.w_n);
  problem.R_WC[i] = R;
  if (!problem.turning.empty()) problem.turning[i] = {};
}

// [m/s] of a moving surface (belt, turntable) against its own body, world frame.
Vec3 Assembler::surface_velocity(int id, const Vec3& p_W) const {
  const ModelShape& shape = model.shapes[id];
  if (!shape.has_moving_surface) return Vec3::Zero();
  const Transform X_WS = shape.link == 0 ? shape.X_LS : motion.placement.X_WL[shape.link] * shape.X_LS;
  const Vec3 r = p_W - X_WS.p;
  const double scale = input.surface_scale.size() > 0 ? input.surface_scale[id] : 1.0;
  return scale * (X_WS.R * shape.surface_velocity + cross(Vec3(X_WS.R * shape.surface_spin), r));
}

// Friction along and across a direction that is fixed in a shape, in the contact frame.
void Assembler::set_tensor(int i, const Mat3& R_WC, ContactInput* in) const {
  const FrictionTensor& t = *contacts.material[i].tensor;
  const ModelShape& shape =
      model.shapes[contacts.material[i].tensor_of_a ? contacts.shape_a[i] : contacts.shape_b[i]];
  const Mat3 R_WS = shape.link == 0 ? shape.X_LS.R : Mat3(motion.placement.X_WL[shape.link].R * shape.X_LS.R);
  Vec2 u = (R_WC.transpose() * (R_WS * t.direction)).head<2>();
  if (!(u.norm() > 1e-9)) u = Vec2(1, 0);  // the direction is along the normal: any tangent will do
  u.normalize();
  const Vec2 n(-u.y(), u.x());
  in->has_friction_tensor = true;
  in->friction_tensor = t.along * u * u.transpose() + t.across * n * n.transpose();
}

}  // namespace capstan
