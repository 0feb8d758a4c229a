#include "capstan/step/withdraw.h"

#include <algorithm>
#include <tuple>

#include "capstan/contacts/meet.h"
#include "capstan/dynamics/objects.h"
#include "capstan/laws/contact_laws.h"

namespace capstan {
namespace {

constexpr double kApart = 1e-4;   // of the smaller bounding radius: shapes farther apart do not touch
constexpr double kSlow = 0.01;    // of the bounding radius: the way of a shape in a step
constexpr double kLittle = 0.25;  // of what late contacts leave alone: a gap that a guess may have wrong

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
  MovingShape moving_without(int shape) const {
    const int link = model.shapes[shape].link;
    const auto V = [&](int l) { return link_velocity(model, placement, w.v_without, l); };
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

  bool test(std::span<const Entry> pair) {
    if (is_as_before(pair)) return false;
    const bool acts = std::any_of(pair.begin(), pair.end(), [&](const Entry& entry) {
      return !newton.impulse[entry.contact].isZero(0);
    });
    const int a = pair[0].shape_a, b = pair[0].shape_b;
    if (!acts || is_slow(a) + is_slow(b) == 2 || touched(a, b)) return false;
    const int link_a = model.shapes[a].link, link_b = model.shapes[b].link;
    const MovingShape A = moving(a), B = moving(b);
    const double size = std::min(A.collider->bounding_radius, B.collider->bounding_radius);
    if (end_distance(A, B, &w.scratch) <= kApart * size) return false;
    calc_velocity_without(pair);
    const MovingShape A0 = moving_without(a), B0 = moving_without(b);
    w.points.clear();
    const double margin = contacts.material[pair[0].contact].margin;
    const double depth = std::max(link_a == 0 ? 0.0 : collision.stand_depth[link_a],
                                  link_b == 0 ? 0.0 : collision.stand_depth[link_b]);
    Told told{contacts.normal[pair[0].contact]};
    for (const Entry& entry : pair)
      told.gap = std::min(
          told.gap, contacts.distance[entry.contact] +
                        problem.dt * (contacts.gap_rate[entry.contact] - contacts.drift_rate[entry.contact]) +
                        calc_opening(A0, B0, contacts.normal[entry.contact], contacts.p_WC[entry.contact]));
    const Meeting meeting = meet(model, a, A0, b, B0, told, margin, 2 * depth, &w.scratch, &w.points);
    if (meeting.kind == Meeting::Kind::along) return false;
    if (meeting.is_covered) w.points.clear();
    double gap = kInfinity;
    for (const ContactPoint& c : w.points) {
      gap = std::min(gap, c.distance + calc_opening(A, B, c.normal, c.p_A));
    }
    if (meeting.kind != Meeting::Kind::none &&
        (gap <= margin + kLittle * kLateTolerance * size || was_replaced(a, b)))
      return false;
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
