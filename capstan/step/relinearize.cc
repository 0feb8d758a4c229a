#include "capstan/step/relinearize.h"

#include <Eigen/Cholesky>
#include <algorithm>

#include "capstan/dynamics/struck_objects.h"
#include "capstan/laws/contact_laws.h"
#include "capstan/physics/rod.h"
#include "capstan/physics/soft_body.h"

namespace capstan {
namespace {

constexpr int kMostPasses = 100, kMostHalvings = 12, kMostDoublings = 10;
constexpr double kSmallError = 1e-6;  // of the impulses on an object
// After so many passes: solves that settle friction differ by that much.
constexpr int kManyPasses = 10;
constexpr double kRoughError = 1e-5;
constexpr double kTrusted = 0.1;  // of what a tangent changes: its error, where no line search is needed
constexpr double kSafety = 0.3;   // of the error that is allowed, where an old tangent is expected to lead
constexpr double kEnough = 1e-3;  // of the promised fall of the potential
constexpr double kPotentialRoundOff = 1e-12;
constexpr double kFarther = 1.2;  // times the fall so far: that of twice the way, for which it is taken
constexpr double kProbe = 1e-3;   // of the way: where slopes are taken
constexpr char kOld = 0, kNew = 1, kShifted = 2;                   // of is_new
constexpr char kDone = 0, kHalving = 1, kDoubling = 2, kBack = 3;  // of is_searched

// The lowest object of the island.
int root_of(const Islands& islands, int object) {
  const int island = islands.of_object[object];
  return island < 0 ? object : islands.objects[islands.list[island].object_begin];
}

// Whether two passes with the A that there is, each of which errs by the same share of what it changes, are
// enough for what touches nothing. In an island a pass costs more than a tangent.
bool is_tangent_enough(const TangentError& e) {
  if (!(e.error <= kTrusted * e.change)) return false;
  const double share = e.error / e.change;
  return share * share * e.error <= kSafety * e.allowed;
}

// Adds the costs of all constraints at v, and of trees, to those of their islands.
void add_convex_costs(const Problem& problem, const Islands& islands, const VecX& v, VecX* off, VecX* change,
                      std::vector<double>* sum) {
  const Model& model = *problem.model;
  with_law(problem.options.law, problem.options.normal_law, [&](auto law) {
    for (const ConstraintGroup& group : problem.groups) {
      if (group.part_begin == group.part_end) continue;
      const Vec6 U = problem.calc_motion(group, v);
      double cost = 0, l, slope;
      for (int i = group.contact_begin; i < group.contact_end; ++i) {
        decltype(law)::evaluate(problem.contacts[i], problem.X[i] * U, &l, nullptr, nullptr);
        cost += l;
      }
      for (int r = 0; r < group.num_rows && group.contact_begin == group.contact_end; ++r) {
        evaluate(problem.laws[group.law_begin + r], U[r], &l, &slope);
        cost += l;
      }
      (*sum)[root_of(islands, problem.object_of(problem.parts[group.part_begin]))] += cost;
    }
  });
  for (const DofLaw& law : problem.dof_laws) {
    double l, slope;
    evaluate(law.law, law.sign * v[law.dof], &l, &slope);
    (*sum)[root_of(islands, model.dofs[law.dof].object)] += l;
  }
  *off = v - problem.motion->v_star;
  change->resize(off->size());
  for (int i = 0; i < static_cast<int>(model.trees.size()); ++i) {
    if (islands.of_object[i] < 0) continue;
    const Object& tree = model.objects[i];
    multiply_A(model, *problem.motion, i, *off, change);
    (*sum)[root_of(islands, i)] +=
        0.5 *
        off->segment(tree.dof_begin, tree.num_dofs()).dot(change->segment(tree.dof_begin, tree.num_dofs()));
  }
}

// m(u).d less the slope of the potential along d, of each island that is searched.
void find_unlike(const TimeStep& step, const Islands& islands, Motion* motion, RelinearizeWorkspace* w) {
  const int n = step.model.num_objects(), first = static_cast<int>(step.model.trees.size());
  w->unlike.assign(n, 0.0);
  for (const double side : {1.0, -1.0}) {
    w->probe = w->u + side * kProbe * w->d;
    for (int i = first; i < n; ++i) {
      const int root = root_of(islands, i);
      if (w->is_searched[root] == kDone) continue;
      const double told = calc_tangent_change(step, i, w->u, w->probe, motion);
      w->unlike[root] += side * (told - calc_potential(step, i, w->probe, *motion)) / (2 * kProbe);
    }
  }
}

// Where the potential falls enough from u to u + alpha (v - u), alpha for each island; moves v there. Islands
// that are not searched stay where they are.
void search_along(const TimeStep& step, const Problem& problem, const Islands& islands, Motion* motion,
                  RelinearizeWorkspace* w, VecX* v) {
  const Model& model = step.model;
  const int n = model.num_objects(), first = static_cast<int>(model.trees.size());
  const auto calc = [&](const VecX& at, std::vector<double>* sum) {
    sum->assign(n, 0.0);
    add_convex_costs(problem, islands, at, &w->off, &w->change, sum);
    for (int i = first; i < n; ++i) {
      if (const int root = root_of(islands, i); w->is_searched[root] != kDone)
        (*sum)[root] += calc_potential(step, i, at, *motion);
    }
  };
  // What the problem promised: the change by the tangents, and of all that is convex.
  w->at_u.assign(n, 0.0);
  w->promised.assign(n, 0.0);
  add_convex_costs(problem, islands, w->u, &w->off, &w->change, &w->at_u);
  add_convex_costs(problem, islands, *v, &w->off, &w->change, &w->promised);
  for (int i = 0; i < n; ++i) w->promised[i] -= w->at_u[i];
  for (int i = first; i < n; ++i) {
    if (const int root = root_of(islands, i); w->is_searched[root] != kDone)
      w->promised[root] += calc_tangent_change(step, i, w->u, *v, motion);
  }
  w->d = *v - w->u;
  w->part.assign(n, 1.0);
  w->fall.assign(n, 0.0);
  calc(w->u, &w->at_u);
  find_unlike(step, islands, motion, w);
  const auto each = [&](char state, const auto& f) {  // the lowest objects of islands in this state
    for (int i = 0; i < n; ++i) {
      if (root_of(islands, i) == i && w->is_searched[i] == state) f(i);
    }
  };
  const auto go = [&](char state) {
    for (int i = 0; i < n; ++i) {
      const Object& object = model.objects[i];
      const int root = root_of(islands, i), begin = object.dof_begin, size = object.num_dofs();
      if (w->is_searched[root] != state) continue;
      v->segment(begin, size) = w->u.segment(begin, size) + w->part[root] * w->d.segment(begin, size);
      w->is_new[i] = object.is_tree() ? kOld : kNew;
    }
  };
  const auto fall_of = [&](int i) { return w->at_u[i] - w->at_v[i] - w->part[i] * w->unlike[i]; };
  bool is_halving = true, is_doubling = false;
  for (int k = 0; is_halving; ++k) {
    is_halving = false;
    calc(*v, &w->at_v);
    each(kHalving, [&](int i) {
      w->fall[i] = fall_of(i);
      const double slack = kPotentialRoundOff * (std::abs(w->at_u[i]) + std::abs(w->at_v[i]));
      const bool enough = w->fall[i] >= -kEnough * w->part[i] * w->promised[i] - slack;
      if (enough || k == kMostHalvings) {
        const bool goes_on = enough && k == 0 && w->fall[i] > slack;
        w->is_searched[i] = goes_on ? kDoubling : kDone;
        is_doubling = is_doubling || goes_on;
        return;
      }
      w->part[i] /= 2;
      is_halving = true;
    });
    if (is_halving) go(kHalving);
  }
  for (int k = 0; is_doubling; ++k) {
    is_doubling = false;
    each(kDoubling, [&](int i) { w->part[i] *= 2; });
    go(kDoubling);
    calc(*v, &w->at_v);
    each(kDoubling, [&](int i) {
      if (const double fall = fall_of(i); fall > kFarther * w->fall[i] && k < kMostDoublings) {
        w->fall[i] = fall;
        is_doubling = true;
        return;
      }
      w->part[i] /= 2;
      w->is_searched[i] = kBack;
    });
    go(kBack);
    each(kBack, [&](int i) { w->is_searched[i] = kDone; });
  }
}

}  // namespace

void begin_relinearization(const State& state, RelinearizeWorkspace* w) {
  w->u = state.v;
}

int relinearize(const TimeStep& step, std::span<const char> asleep, bool has_impacts,
                const NewtonOptions& options, const Threads& threads, Motion* motion, Problem* problem,
                NewtonWorkspace* newton, RelinearizeWorkspace* w, SolverReport* report) {
  const Model& model = step.model;
  const int n = model.num_objects(), first = static_cast<int>(model.trees.size());
  if (first == n) return -1;
  const Islands& islands = newton->islands;
  const auto is_still = [&](int i) {
    return (!asleep.empty() && asleep[i] != 0) || newton->is_reused[i] != 0;
  };
  for (int i = first; i < n && has_impacts; ++i) {
    if (!is_still(i)) find_added_impulses(step, i, motion);
  }
  for (int pass = 0;; ++pass) {
    if (problem->deadline != nullptr) problem->deadline->check();
    bool any = false, any_searched = false;
    w->is_new.assign(n, kOld);
    w->is_searched.assign(n, kDone);
    for (int i = first; i < n; ++i) {
      if (is_still(i)) continue;
      ObjectMotion& own = motion_of(model, *motion, i);
      const double tolerance = pass < kManyPasses ? kSmallError : kRoughError;
      const TangentError e = calc_tangent_error(step, i, newton->v, tolerance, motion);
      own.converged = e.is_small;
      if (e.is_small) continue;
      any = true;
      w->is_new[i] = islands.of_object[i] < 0 && is_tangent_enough(e) ? kShifted : kNew;
      if (e.error <= kTrusted * e.change) continue;
      any_searched = true;
      w->is_searched[root_of(islands, i)] = kHalving;
    }
    if (!any) return -1;
    if (pass == kMostPasses)
      return static_cast<int>(std::find_if(w->is_new.begin(), w->is_new.end(), [](char is) { return is; }) -
                              w->is_new.begin());
    if (any_searched) {
      if (problem->options.law == ContactLaw::coulomb) set_bounds(*newton, problem);
      search_along(step, *problem, islands, motion, w, &newton->v);
    }
    for (int i = first; i < n; ++i) {
      if (w->is_new[i] == kNew) {
        set_tangent(step, i, newton->v, motion);
        if (!motion_of(model, *motion, i).converged) return i;  // A has no factor to go on with
      }
      if (w->is_new[i] == kShifted) shift_tangent(step, i, newton->v, motion);
    }
    w->u = newton->v;
    reopen_objects(*problem, w->is_new, newton);
    const ContactLaw law = problem->options.law;
    if (law == ContactLaw::coulomb && pass >= kManyPasses) {
      set_bounds(*newton, problem);
      problem->options.law = ContactLaw::regularized_lagged;
    }
    solve_newton_further(*problem, options, threads, newton, report);
    problem->options.law = law;
  }
}

namespace {

// What the contacts or the laws of a group do to its rows.
Vec6 impulse_of(const Problem& problem, const NewtonWorkspace& newton, const ConstraintGroup& group) {
  Vec6 f = Vec6::Zero();
  for (int i = group.contact_begin; i < group.contact_end; ++i) {
    if (group.num_rows == 3) {
      f.head<3>() += newton.impulse[i];
    } else {
      f += problem.X[i].transpose() * newton.impulse[i];
    }
  }
  for (int r = 0; r < group.num_rows && group.contact_begin == group.contact_end; ++r)
    f[r] = newton.law_impulse[group.law_begin + r];
  return f;
}

// Couples that contacts are short of on soft bodies: a contact acts at one point p of the world for both
// sides, but on the nodes of a vertex or a triangle, with no lever of the way that p is off it, which is the
// gap at the beginning of the step. What the other side has of that moment is lost, if it is not along the
// normal: the couple is p x F less the moment of the impulses on nodes. [objects]
void find_missing_couples(const Problem& problem, const Contacts& contacts, const NewtonWorkspace& newton,
                          const VecX& q, std::vector<Vec3>* couples) {
  const Model& model = *problem.model;
  couples->assign(model.num_objects(), Vec3::Zero());
  for (const ConstraintGroup& group : problem.groups) {
    if (group.num_rows != 3 || group.contact_begin == group.contact_end) continue;
    const Vec3 &p = contacts.p_WC[group.contact_begin], &f = newton.impulse[group.contact_begin];
    for (int k = group.part_begin; k < group.part_end; ++k) {
      const GroupPart& part = problem.parts[k];
      const DofBlock& block = model.blocks[part.block];
      const Object& object = model.objects[block.object];
      if (dynamic_cast<const SoftBody*>(object.physics.get()) == nullptr) continue;
      const Vec3 x = q.segment<3>(object.q_begin + block.dof_begin - object.dof_begin);
      const Vec3 impulse = problem.jacobian(group, part).transpose() * f;
      (*couples)[block.object] += cross(Vec3(p - x), impulse);
    }
  }
}

// The same of rods that touch floating trees, or are tied to them: these have contacts at arms of the end of
// the step (problem/assemble_lean.cc), and the edges of a rod take no moments across their tangents.
void find_lost_couples(const Problem& problem, const NewtonWorkspace& newton, const VecX& q,
                       std::vector<Vec3>* couples) {
  const Model& model = *problem.model;
  for (const ConstraintGroup& group : problem.groups) {
    int object = -1;
    bool touches_tree = false;
    Vec3 moment = Vec3::Zero();  // of both sides, about the world's origin
    const Vec6 f = impulse_of(problem, newton, group);
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const GroupPart& part = problem.parts[p];
      const DofBlock& block = model.blocks[part.block];
      const Object& own = model.objects[block.object];
      const auto on_dof = [&](int k) {
        double sum = 0;
        for (int r = 0; r < group.num_rows; ++r)
          sum += problem.jacobians[part.jacobian + group.num_rows * k + r] * f[r];
        return sum;
      };
      if (own.is_tree()) {
        const Link& root = model.links[own.link_begin];
        if (model.stages[root.stage_begin].type != StageType::free) continue;
        const Mat3& R = root.X_PL.R;
        Vec6 impulse;
        for (int k = 0; k < 6; ++k) impulse[k] = on_dof(k);
        touches_tree = true;
        moment += R * impulse.tail<3>() +
                  cross(problem.motion->placement.X_WL[own.link_begin].p, Vec3(R * impulse.head<3>()));
      } else if (const auto* rod = dynamic_cast<const Rod*>(own.physics.get())) {
        object = block.object;
        const auto own_q = q.segment(own.q_begin, own.num_positions());
        const int node = (block.dof_begin - own.dof_begin) / 4;
        moment += cross(Vec3(Rod::node(own_q, node)), Vec3(on_dof(0), on_dof(1), on_dof(2)));
        if (block.size == 4) moment += on_dof(3) * rod->edge(own_q, node).tangent;
      }
    }
    if (object >= 0 && touches_tree) (*couples)[object] -= moment;
  }
}

// Adds impulses that are a couple alone to those on the nodes of a rod, and on its edges, which bear it about
// the axis of a straight one.
void add_couple(const Rod& rod, const VecX& q, const Object& object, const Vec3& couple, VecX* impulses) {
  const auto own_q = q.segment(object.q_begin, object.num_positions());
  Vec3 centre = Vec3::Zero();
  for (int i = 0; i < rod.num_nodes(); ++i) centre += Vec3(Rod::node(own_q, i)) / rod.num_nodes();
  Mat3 I = Mat3::Zero();
  for (int i = 0; i < rod.num_nodes(); ++i) {
    const Vec3 r = Rod::node(own_q, i) - centre;
    I += r.squaredNorm() * Mat3::Identity() - r * r.transpose();
  }
  const auto turning = [&](int i) {  // [m^2] of an edge, beside those of its nodes
    const double length = rod.rest_length(i);
    return length * length;
  };
  for (int i = 0; i < rod.num_edges(); ++i) {
    const Vec3 t = rod.edge(own_q, i).tangent;
    I += turning(i) * t * t.transpose();
  }
  const Vec3 d = I.ldlt().solve(couple);
  for (int i = 0; i < rod.num_nodes(); ++i)
    impulses->segment<3>(object.dof_begin + 4 * i) += cross(d, Vec3(Rod::node(own_q, i) - centre));
  for (int i = 0; i < rod.num_edges(); ++i)
    (*impulses)[object.dof_begin + 4 * i + 3] += turning(i) * d.dot(rod.edge(own_q, i).tangent);
}

// Adds impulses that are a couple alone to those on the nodes of a soft body, as a rigid body of equal nodes
// takes it.
void add_couple(const VecX& q, const Object& object, const Vec3& couple, VecX* impulses) {
  const int n = object.num_dofs() / 3;
  const auto node = [&](int i) { return Vec3(q.segment<3>(object.q_begin + 3 * i)); };
  Vec3 centre = Vec3::Zero();
  for (int i = 0; i < n; ++i) centre += node(i) / n;
  Mat3 I = Mat3::Zero();
  for (int i = 0; i < n; ++i) {
    const Vec3 r = node(i) - centre;
    I += r.squaredNorm() * Mat3::Identity() - r * r.transpose();
  }
  const Vec3 d = I.ldlt().solve(couple);
  for (int i = 0; i < n; ++i)
    impulses->segment<3>(object.dof_begin + 3 * i) += cross(d, Vec3(node(i) - centre));
}

// Whether contacts of rods with a link act at arms of the end of the step, not the beginning: those with
// trees that the world holds (problem/assemble_lean.cc).
bool is_leant_on(const Model& model, int link) {
  const Object& object = model.objects[model.links[link].object];
  if (!object.is_tree()) return false;
  const Link& root = model.links[object.link_begin];
  return model.stages[root.stage_begin].type != StageType::free;
}

// Whether a rod is pressed so hard, by impulses of this sum, that the angular momentum which its forces take
// at the end of the step is many times what it can bear: a cord wound under tension on a drum that turns.
bool is_wound(const Rod& rod, const Object& object, const VecX& q, double dt, double load) {
  constexpr double kMostLoad = 0.3;
  const auto own_q = q.segment(object.q_begin, object.num_positions());
  Vec3 moment;
  const double mass = rod.calc_mass(own_q, &moment);
  const Vec3 centre = moment / mass;
  double squares = 0;
  for (int i = 0; i < rod.num_nodes(); ++i) squares += (Rod::node(own_q, i) - centre).squaredNorm();
  return dt * load > kMostLoad * mass * std::sqrt(squares / rod.num_nodes());
}

// Impulses of contacts on the dofs of objects beside trees, their sum by size (load), and whether nothing but
// contacts with what moves and ties to it act on an object.
void find_contact_impulses(const Problem& problem, const Contacts& contacts, const NewtonWorkspace& newton,
                           VecX* impulses, std::vector<double>* load, std::vector<char>* among_movers) {
  const Model& model = *problem.model;
  load->assign(model.num_objects(), 0.0);
  impulses->setZero(model.num_velocities());
  among_movers->assign(model.num_objects(), 1);
  for (const DofLaw& law : problem.dof_laws) (*among_movers)[model.dofs[law.dof].object] = 0;
  for (const ConstraintGroup& group : problem.groups) {
    bool moves = true, is_leant = false;
    const auto take = [&](int a, int b) {
      moves = moves && a != 0 && b != 0;
      is_leant = is_leant || (moves && (is_leant_on(model, a) || is_leant_on(model, b)));
    };
    for (int i = group.contact_begin; i < group.contact_end; ++i)
      take(contacts.link_a[i], contacts.link_b[i]);
    const bool is_tie = group.contact_begin == group.contact_end;
    if (is_tie && group.constraint >= 0) {
      const ModelConstraint& c = model.constraints[group.constraint];
      take(model.bodies[c.body_a].link, model.bodies[c.body_b].link);
    }
    const Vec6 f = impulse_of(problem, newton, group);
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const DofBlock& block = model.blocks[problem.parts[p].block];
      if (model.objects[block.object].is_tree()) continue;
      const bool is_rod = dynamic_cast<const Rod*>(model.objects[block.object].physics.get()) != nullptr;
      if ((!moves || (is_rod && is_leant)) && !f.isZero(0)) (*among_movers)[block.object] = 0;
      if (is_tie && (!is_rod || group.constraint < 0)) (*among_movers)[block.object] = 0;
      const auto J = problem.jacobian(group, problem.parts[p]);
      for (int k = 0; k < block.size; ++k) {  // a product of matrices of such sizes would allocate
        double sum = 0;
        for (int row = 0; row < group.num_rows; ++row) sum += J(row, k) * f[row];
        (*impulses)[block.dof_begin + k] += sum;
      }
      (*load)[block.object] += f.norm() / (group.part_end - group.part_begin);
    }
  }
}

}  // namespace

void end_relinearization(const TimeStep& step, const Problem& problem, const Contacts& contacts,
                         std::span<const char> asleep, Motion* motion, NewtonWorkspace* newton) {
  if (!has_objects_beside_trees(step.model)) return;
  thread_local VecX impulses;
  thread_local std::vector<char> among_movers;
  thread_local std::vector<Vec3> couples;
  thread_local std::vector<double> load;
  find_contact_impulses(problem, contacts, *newton, &impulses, &load, &among_movers);
  find_missing_couples(problem, contacts, *newton, step.state.q, &couples);
  find_lost_couples(problem, *newton, step.state.q, &couples);
  for (int i = static_cast<int>(step.model.trees.size()); i < step.model.num_objects(); ++i) {
    if (!asleep.empty() && asleep[i] != 0) continue;
    const ObjectMotion& own = motion_of(step.model, *motion, i);
    correct_tangent(step, i, newton->v, motion);
    // Where arms are not those of the beginning, the two sides of a contact have others.
    const bool is_told =
        newton->islands.of_object[i] < 0 || step.scheme.theta_vq == 1 || is_struck(*motion, i);
    const Object& object = step.model.objects[i];
    if (const auto* rod = dynamic_cast<const Rod*>(object.physics.get());
        rod != nullptr && among_movers[i] != 0 && load[i] > 0)
      among_movers[i] = !is_wound(*rod, object, step.state.q, step.dt, load[i]);
    if (!couples[i].isZero(0)) {
      if (const auto* rod = dynamic_cast<const Rod*>(object.physics.get())) {
        add_couple(*rod, step.state.q, object, couples[i], &impulses);
      } else if (dynamic_cast<const SoftBody*>(object.physics.get()) != nullptr) {
        add_couple(step.state.q, object, couples[i], &impulses);
      }
    }
    if (is_told && among_movers[i] != 0 && newton->is_reused[i] == 0 && step.model.options.conserve_momentum)
      balance_object(step, i, impulses, &newton->v, motion);
    motion->iterations = std::max(motion->iterations, own.iterations);
    motion->residual = std::max(motion->residual, own.residual);
    motion->converged = motion->converged && own.converged;
  }
}

}  // namespace capstan
