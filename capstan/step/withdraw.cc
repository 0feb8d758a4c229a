#include "capstan/step/withdraw.h"

#include <algorithm>
#include <tuple>

#include "capstan/contacts/meet.h"
#include "capstan/dynamics/objects.h"
#include "capstan/laws/contact_laws.h"

namespace capstan {
namespace {

constexpr double kApart = 1e-4;      // of the smaller bounding radius: shapes farther apart do not touch
constexpr double kSlow = 0.01;       // of the bounding radius: the way of a shape in a step
constexpr double kSameFloor = 0.99;  // cosine of the angle between the normals of what is the same floor
constexpr double kDeeper = 2;        // what stands on something does not sink much deeper in a step
constexpr double kLittle = 0.25;     // of what late contacts leave alone: a gap that a guess may have wrong

using Entry = WithdrawWorkspace::Entry;

struct Withdrawal {
  const Model& model;
  const CollisionWorkspace& collision;
  const LateWorkspace& late;
  bool glides;
  WithdrawWorkspace& w;
  Contacts& contacts;
  Problem& problem;
  NewtonWorkspace& newton;
  const Placement& placement = problem.motion->placement;
  int objects[2] = {-1, -1};  // of the pair that is being looked at

  Eigen::VectorBlock<VecX> segment(VecX& x, int object) const {
    return x.segment(model.objects[object].dof_begin, model.objects[object].num_dofs());
  }

  // Contacts that are not of shapes that touched at the beginning, in order of pairs.
  void list_entries() {
    w.entries.clear();
    for (int g = 0; g < static_cast<int>(problem.groups.size()); ++g) {
      for (int i = problem.groups[g].contact_begin; i < problem.groups[g].contact_end; ++i) {
        const ContactKind kind = contacts.kind[i];
        if (kind == ContactKind::touching || kind == ContactKind::gliding || kind == ContactKind::withdrawn)
          continue;
        if (glides && contacts.material[i].friction > 0) continue;  // it acts at a distance
        w.entries.push_back({contacts.shape_a[i], contacts.shape_b[i], i, g});
      }
    }
    std::sort(w.entries.begin(), w.entries.end(), [](const Entry& x, const Entry& y) {
      return std::tie(x.shape_a, x.shape_b, x.contact) < std::tie(y.shape_a, y.shape_b, y.contact);
    });
  }

  // What hardly moves in free motion meets what it was found to meet.
  bool is_slow(int shape) const {
    const Collider& c = model.shapes[shape].collider;
    const int link = model.shapes[shape].link;
    if (link == 0) return true;
    const Vec6& V = collision.V_led[link];
    const Vec3 arm = placement.X_WL[link].p - placement.origin[model.links[link].object];
    const double way = problem.dt * ((V.tail<3>() + cross(V.head<3>(), arm)).norm() +
                                     V.head<3>().norm() * c.bounding_radius);
    return way < kSlow * c.bounding_radius;
  }

  bool touched(int shape_a, int shape_b) const {
    bool any = false;
    each_contact(model, contacts, shape_a, shape_b,
                 [&](int i) { any = any || contacts.kind[i] == ContactKind::touching; });
    return any;
  }

  // A pair's contacts are replaced once in a step.
  bool was_replaced(int shape_a, int shape_b) const {
    for (int i = 0; i < contacts.size(); ++i) {
      if (contacts.kind[i] == ContactKind::withdrawn && contacts.shape_a[i] == shape_a &&
          contacts.shape_b[i] == shape_b)
        return true;
    }
    return false;
  }

  MovingShape moving(int shape) const {
    return moving_shape(model, placement, shape, shape_pose(model, placement, shape), late.V, problem.dt);
  }
  // With velocities v of all dofs.
  MovingShape moving_with(const VecX& v, int shape) const {
    const int link = model.shapes[shape].link;
    const auto V = [&](int l) { return link_velocity(model, placement, v, l); };
    return moving_shape(model, placement, shape, shape_pose(model, placement, shape), V(link),
                        V(parent_link(model, link)), problem.dt);
  }

  // w.change becomes what the impulses of these contacts did to the velocities of the pair's objects,
  // w.v_without is v without it.
  void calc_velocity_without(std::span<const Entry> pair) {
    w.change.resize(model.num_velocities());
    w.v_without.resize(model.num_velocities());
    const auto each_part = [&](const auto& f) {
      for (const Entry& entry : pair) {
        const ConstraintGroup& group = problem.groups[entry.group];
        for (int p = group.part_begin; p < group.part_end; ++p) f(entry, group, problem.parts[p]);
      }
    };
    objects[0] = objects[1] = -1;
    each_part([&](const Entry&, const ConstraintGroup&, const GroupPart& part) {
      const int object = problem.object_of(part);
      if (objects[0] < 0) objects[0] = object;
      if (object != objects[0]) objects[1] = object;
      segment(w.change, object).setZero();
    });
    each_part([&](const Entry& entry, const ConstraintGroup& group, const GroupPart& part) {
      const Vec6 U = problem.X[entry.contact].transpose() * newton.impulse[entry.contact];
      const auto J = problem.jacobian(group, part);
      const DofBlock& block = model.blocks[part.block];
      for (int r = 0; r < group.num_rows; ++r)
        w.change.segment(block.dof_begin, block.size) += U[r] * J.row(r).transpose();
    });
    for (const int t : objects) {
      if (t < 0) continue;
      solve_A(model, *problem.motion, t, &w.change);
      segment(w.v_without, t) = segment(w.v, t) - segment(w.change, t);
    }
  }

  void take_back(std::span<const Entry> pair) {
    for (const Entry& entry : pair) {
      ContactInput nothing;
      nothing.stiffness = nothing.dissipation = nothing.friction = 0;
      nothing.distance = 1;
      nothing.dt = problem.dt;
      problem.contacts[entry.contact] =
          make_contact(problem.options.law, problem.options.normal_law, nothing);
      newton.impulse[entry.contact].setZero();
      contacts.kind[entry.contact] = ContactKind::withdrawn;
      w.groups.push_back(entry.group);
    }
    for (const int t : objects) {
      if (t >= 0) segment(newton.v, t) -= segment(w.change, t);
    }
  }

  void find_moved() {
    w.is_moved.assign(model.objects.size(), 1);
    if (!w.has_before) return;
    for (int t = 0; t < model.num_objects(); ++t) w.is_moved[t] = segment(w.v, t) != segment(w.v_before, t);
  }

  // Whether the pair passed the test before, with the same velocities and impulses.
  bool is_as_before(std::span<const Entry> pair) const {
    for (const int shape : {pair[0].shape_a, pair[0].shape_b}) {
      const int link = model.shapes[shape].link;
      if (link != 0 && w.is_moved[model.links[link].object] != 0) return false;
    }
    return std::all_of(pair.begin(), pair.end(), [&](const Entry& entry) {
      return entry.contact < std::ssize(w.impulse_before) &&
             newton.impulse[entry.contact] == w.impulse_before[entry.contact];
    });
  }

  // What the pair's contacts tell of these motions.
  Told tell(std::span<const Entry> pair, const MovingShape& A, const MovingShape& B) const {
    Told told{contacts.normal[pair[0].contact]};
    for (const Entry& entry : pair)
      told.gap = std::min(
          told.gap, contacts.distance[entry.contact] +
                        problem.dt * (contacts.gap_rate[entry.contact] - contacts.drift_rate[entry.contact]) +
                        calc_opening(A, B, contacts.normal[entry.contact], contacts.p_WC[entry.contact]));
    return told;
  }

  // How it meets as they lead, with w.points.
  Meeting follow(std::span<const Entry> pair, const MovingShape& A, const MovingShape& B, double slack) {
    w.points.clear();
    return meet(model, pair[0].shape_a, A, pair[0].shape_b, B, tell(pair, A, B),
                contacts.material[pair[0].contact].margin, slack, &w.scratch, &w.points);
  }

  // Whether it is another surface than that with this normal, in which the shapes are no deeper than they may
  // stand in each other (slack) where the motions lead: then it is a floor for them, and what they were told
  // is not a wall.
  bool goes_over(const Meeting& meeting, const Vec3& normal, const MovingShape& A, const MovingShape& B,
                 double slack) const {
    return meeting.kind == Meeting::Kind::elsewhere &&
           std::all_of(w.points.begin(), w.points.end(), [&](const ContactPoint& c) {
             return c.normal.dot(normal) < kOtherSurface &&
                    c.distance + calc_opening(A, B, c.normal, 0.5 * (c.p_A + c.p_B)) >= -slack;
           });
  }

  // Those that took the place of others just now have no impulse yet.
  bool acts(int contact) const {
    return contact < std::ssize(newton.impulse) && !newton.impulse[contact].isZero(0);
  }

  // w.stands becomes the contacts with which one of the links stands on something else: those of what
  // touches, and what else bears it. Whether there are any, and none of them has this normal, from a to b, as
  // well: then that is of the same floor.
  bool stands_elsewhere(const Entry& pair, int link_a, int link_b, const Vec3& normal) {
    w.stands.clear();
    for (int i = 0; i < contacts.size(); ++i) {
      const int a = contacts.link_a[i], b = contacts.link_b[i];
      const bool of_a = link_a != 0 && (a == link_a || b == link_a);
      const bool of_b = link_b != 0 && (a == link_b || b == link_b);
      if ((!of_a && !of_b) || (contacts.shape_a[i] == pair.shape_a && contacts.shape_b[i] == pair.shape_b) ||
          (contacts.kind[i] != ContactKind::touching && !acts(i)))
        continue;
      const double cosine = normal.dot(contacts.normal[i]);
      if ((of_a && (a == link_a ? cosine : -cosine) > kSameFloor) ||
          (of_b && (b == link_b ? cosine : -cosine) > kSameFloor))
        return false;
      w.stands.push_back(i);
    }
    return !w.stands.empty();
  }

  // [m] how deep the links stand there where v' leads, at the most.
  double calc_end_depth(int link_a, const MovingShape& A0, int link_b, const MovingShape& B0) const {
    const auto V = [&](int l) { return link_velocity(model, placement, w.v, l); };
    const auto way = [&](int link, const Vec3& p) -> Vec3 {
      if (link == 0) return Vec3::Zero();
      if (link == link_a) return A0.motion.displacement(p);
      if (link == link_b) return B0.motion.displacement(p);
      return link_motion(model, placement, link, V(link), V(parent_link(model, link)), problem.dt)
          .displacement(p);
    };
    double depth = 0;
    for (const int i : w.stands) {
      const Vec3& p = contacts.p_WC[i];
      const Vec3 opening = way(contacts.link_b[i], p) - way(contacts.link_a[i], p);
      depth = std::max(depth, -contacts.distance[i] - contacts.normal[i].dot(opening));
    }
    return depth;
  }

  bool test(std::span<const Entry> pair) {
    if (is_as_before(pair)) return false;
    const bool any_acts =
        std::any_of(pair.begin(), pair.end(), [&](const Entry& e) { return acts(e.contact); });
    const int a = pair[0].shape_a, b = pair[0].shape_b;
    if (!any_acts || touched(a, b)) return false;
    const int link_a = model.shapes[a].link, link_b = model.shapes[b].link;
    double depth = std::max(link_a == 0 ? 0.0 : collision.stand_depth[link_a],
                            link_b == 0 ? 0.0 : collision.stand_depth[link_b]);
    const Vec3 normal = contacts.normal[pair[0].contact];
    const MovingShape A = moving(a), B = moving(b);
    const double size = std::min(A.collider->bounding_radius, B.collider->bounding_radius);
    const bool is_apart = end_distance(A, B, &w.scratch) > kApart * size;
    const auto is_tree = [&](int link) {
      return link == 0 || model.objects[model.links[link].object].is_tree();
    };
    if (is_apart ? is_slow(a) && is_slow(b)
                 : !is_tree(link_a) || !is_tree(link_b) || !stands_elsewhere(pair[0], link_a, link_b, normal))
      return false;
    calc_velocity_without(pair);
    const MovingShape A0 = moving_with(w.v_without, a), B0 = moving_with(w.v_without, b);
    if (!is_apart) {
      const double end_depth = calc_end_depth(link_a, A0, link_b, B0);
      depth = depth > 0 ? std::clamp(end_depth, depth, kDeeper * depth) : std::max(end_depth, kApart * size);
    }
    Meeting meeting = follow(pair, A0, B0, 2 * depth);
    if (!is_apart && !goes_over(meeting, normal, A0, B0, 2 * depth)) {
      // What bears the shapes bears the impulses that are taken away, too, and may lift them in v'; they go
      // on as they came, if that leads through what they were told.
      const MovingShape A1 = moving_with(problem.v0, a), B1 = moving_with(problem.v0, b);
      meeting = follow(pair, A1, B1, 2 * depth);
      const bool is_free = meeting.kind == Meeting::Kind::none && tell(pair, A1, B1).gap < 0;
      if (!is_free && !goes_over(meeting, normal, A1, B1, 2 * depth)) return false;
    }
    const bool is_none = meeting.kind == Meeting::Kind::none;
    if (meeting.kind == Meeting::Kind::along) return false;
    if (meeting.is_covered) w.points.clear();
    double gap = kInfinity;
    for (const ContactPoint& c : w.points) {
      gap = std::min(gap, c.distance + calc_opening(A, B, c.normal, c.p_A));
    }
    const double margin = contacts.material[pair[0].contact].margin;
    const bool is_little = is_apart && gap <= margin + kLittle * kLateTolerance * size;
    if ((!is_none && is_little) || (!(is_none && is_apart) && was_replaced(a, b))) return false;
    // Points take the place of a patch, too.
    const bool was_patch = contacts.material[pair[0].contact].area > 0;
    const ContactMaterial material =
        was_patch ? combine_materials(model, a, b) : contacts.material[pair[0].contact];
    take_back(pair);
    for (const ContactPoint& c : w.points) {
      add_late_contact(model, a, b, c, material, &contacts);
      spread_gap(model, problem.dt, contacts.size() - 1, &contacts);
    }
    if (!w.points.empty()) end_late_group(&contacts);
    return true;
  }
};

}  // namespace

void begin_withdrawal(WithdrawWorkspace* workspace) {
  workspace->has_before = false;
}

bool withdraw_contacts(const Model& model, const CollisionWorkspace& collision, const LateWorkspace& late,
                       bool glides, const VecX& v_moving, WithdrawWorkspace* workspace, Contacts* contacts,
                       Problem* problem, NewtonWorkspace* newton) {
  Withdrawal x{model, collision, late, glides, *workspace, *contacts, *problem, *newton};
  workspace->v = v_moving;
  x.list_entries();
  x.find_moved();
  workspace->v_before = workspace->v;
  workspace->has_before = true;
  workspace->groups.clear();
  bool any = false;
  const std::vector<Entry>& entries = workspace->entries;
  for (auto begin = entries.begin(); begin != entries.end();) {
    const auto end = std::find_if(begin, entries.end(), [&](const Entry& e) {
      return e.shape_a != begin->shape_a || e.shape_b != begin->shape_b;
    });
    any = x.test({begin, end}) || any;
    begin = end;
  }
  workspace->impulse_before.assign(newton->impulse.begin(), newton->impulse.end());
  if (any) reopen_islands(*problem, workspace->groups, newton);
  return any;
}

}  // namespace capstan
