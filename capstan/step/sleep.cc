#include "capstan/step/sleep.h"
#include "capstan/physics/physics.h"

#include <algorithm>
#include <cmath>

#include "capstan/base/hash.h"
#include "capstan/model/mocap.h"

namespace capstan {
namespace {

// What acts on the objects for which `of` says so, and where they are: 64 bits that differ, in practice, when
// any of it does. Forces of zero are no forces.
template <class Of>
void calc_digests(const Model& model, const VecX& q, const VecX& control, const Input& input, double dt,
                  const Of& of, std::vector<std::uint64_t>* digests) {
  const int n = model.num_objects();
  digests->resize(n);
  const auto add = [&](int t, const void* data, std::size_t bytes) {
    if (t < 0 || !of(t)) return;
    Hash hash;
    hash.value = (*digests)[t];
    hash.add(data, bytes);
    (*digests)[t] = hash.value;
  };
  const auto object_of_dof = [&](int dof) { return model.dofs[dof].object; };
  for (int t = 0; t < n; ++t) {
    (*digests)[t] = Hash{}.value;
    add(t, &dt, sizeof dt);
    add(t, q.data() + model.objects[t].q_begin, model.objects[t].num_positions() * sizeof(double));
  }
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    for (const auto& term : model.actuators[i].transmission.terms)
      add(object_of_dof(term.dof), &control[i], sizeof(double));
  }
  for (int k = 0; k < input.generalized_force.size(); ++k) {
    const double x[2] = {static_cast<double>(k), input.generalized_force[k]};
    if (x[1] != 0) add(object_of_dof(k), x, sizeof x);
  }
  for (const BodyForce& f : input.body_forces) {
    if (f.force_W.isZero(0) && f.torque_W.isZero(0)) continue;
    const int link = model.bodies[f.body].link, t = model.links[link].object;
    const double body = f.body;
    add(t, &body, sizeof body);
    for (const Vec3* x : {&f.point_W, &f.force_W, &f.torque_W}) add(t, x->data(), 3 * sizeof(double));
  }
  for (int s = 0; s < input.surface_scale.size(); ++s) {
    const double x[2] = {static_cast<double>(s), input.surface_scale[s]};
    const ModelShape& shape = model.shapes[s];
    if (!shape.has_moving_surface || x[1] == 1) continue;
    if (shape.link > 0) add(model.links[shape.link].object, x, sizeof x);
    for (int t = 0; t < n && shape.link == 0; ++t) add(t, x, sizeof x);
  }
}

// Wakes the island of a sleeping object.
void wake(int object, SleepWorkspace* w) {
  const int island = w->rest[object].island;
  for (std::size_t t = 0; t < w->rest.size(); ++t) {
    if (w->rest[t].island != island) continue;
    w->rest[t] = {};
    w->asleep[t] = 0;
    --w->num_asleep;
    ++w->num_woken;
  }
}

// Largest root mean square speed of the mass of a link [m/s].
double calc_speed(const Model& model, const Placement& placement, const Velocity& velocity,
                  const Object& tree) {
  double square = 0;
  for (int l = tree.link_begin; l < tree.link_end; ++l) {
    const Vec6& V = velocity.V[l];
    if (model.links[l].mass > 0)
      square = std::max(square, V.dot(placement.inertia[l] * V) / model.links[l].mass);
    if (is_mocap(model, l)) square = std::max(square, V.squaredNorm());  // it may have no mass
  }
  return std::sqrt(square);
}

// Which objects belong together: those that constraints of the step (open contacts among them), or forces,
// connect. Each set is named by its lowest.
void find_sleep_islands(const Model& model, const Problem& problem, UnionFind* sets) {
  const int n = model.num_objects();
  sets->reset(n);
  for (const ConstraintGroup& group : problem.groups) {
    for (int p = group.part_begin; p < group.part_end; ++p)
      sets->unite(problem.object_of(problem.parts[group.part_begin]), problem.object_of(problem.parts[p]));
  }
  const auto unite_terms = [&](const Transmission& transmission) {
    if (transmission.tree >= 0) return;
    for (const auto& term : transmission.terms) {
      sets->unite(model.dofs[transmission.terms.front().dof].object, model.dofs[term.dof].object);
    }
  };
  for (const ModelTendon& tendon : model.tendons) unite_terms(tendon.transmission);
  for (const ModelActuator& actuator : model.actuators) unite_terms(actuator.transmission);
}

}  // namespace

void begin_sleep(const Model& model, const State& state, const Input& input, double dt,
                 const SleepOptions& options, SleepWorkspace* w) {
  w->rest.clear();
  w->asleep.clear();
  w->num_asleep = w->num_woken = 0;
  if (!options.on) return;
  const int n = model.num_objects();
  w->rest = state.rest;
  w->rest.resize(n);
  w->asleep.resize(n);
  for (int t = 0; t < n; ++t) w->num_asleep += w->asleep[t] = w->rest[t].is_asleep();
  if (w->num_asleep == 0) return;
  calc_digests(
      model, state.q, state.control, input, dt, [&](int t) { return w->asleep[t] != 0; }, &w->digest);
  for (int t = 0; t < n; ++t) {
    if (!w->asleep[t]) continue;
    const Object& object = model.objects[t];
    const bool moved = !state.v.segment(object.dof_begin, object.num_dofs()).isZero(0);
    if (moved || w->digest[t] != w->rest[t].digest) wake(t, w);
  }
}

bool wake_touched(const Model& model, const Contacts& contacts, SleepWorkspace* w) {
  if (w->num_asleep == 0) return false;
  const auto is_asleep = [&](int link) { return link > 0 && w->asleep[model.links[link].object] != 0; };
  const int before = w->num_asleep;
  for (int i = 0; i < contacts.size(); ++i) {
    for (const int link : {contacts.link_a[i], contacts.link_b[i]}) {
      if (is_asleep(link)) wake(model.links[link].object, w);
    }
  }
  return w->num_asleep < before;
}

void end_sleep(const Model& model, const State& state, const Input& input, const Placement& placement,
               const Problem& problem, double dt, const SleepOptions& options, SleepWorkspace* w,
               State* next) {
  next->rest.clear();
  if (!options.on) return;
  const int n = model.num_objects();
  const int enough = static_cast<int>(std::min(1e9, std::ceil(options.time / dt)));
  if (w->velocity.V.empty()) w->velocity = make_velocity(model);
  find_sleep_islands(model, problem, &w->sets);
  w->all_still.assign(n, 1);
  for (int t = 0; t < n; ++t) {
    const Object& object = model.objects[t];
    if (w->asleep[t]) {
      next->v.segment(object.dof_begin, object.num_dofs()).setZero();
      const int first = object.q_begin, count = object.num_positions();
      next->q.segment(first, count) = state.q.segment(first, count);
      w->all_still[w->sets.find(t)] = 0;  // it is asleep already
      continue;
    }
    double speed = 0;
    if (object.is_tree()) {
      calc_velocity(model, placement, next->v, &w->velocity, object.link_begin, object.link_end);
      speed = calc_speed(model, placement, w->velocity, object);
    } else {
      speed = object.physics->calc_speed(next->q.segment(object.q_begin, object.num_positions()),
                                         next->v.segment(object.dof_begin, object.num_dofs()));
    }
    const bool is_still = speed < options.speed;
    w->rest[t].still = is_still ? std::min(w->rest[t].still + 1, enough) : 0;
    if (w->rest[t].still < enough) w->all_still[w->sets.find(t)] = 0;
  }
  if (std::any_of(w->all_still.begin(), w->all_still.end(), [](char all) { return all != 0; })) {
    const auto falls_asleep = [&](int t) { return w->all_still[w->sets.find(t)] != 0; };
    calc_digests(model, next->q, next->control, input, dt, falls_asleep, &w->digest);
    for (int t = 0; t < n; ++t) {
      if (!falls_asleep(t)) continue;
      const Object& object = model.objects[t];
      next->v.segment(object.dof_begin, object.num_dofs()).setZero();
      w->rest[t] = {0, w->sets.find(t), w->digest[t]};
      ++w->num_asleep;
    }
  }
  next->rest = w->rest;
}

}  // namespace capstan
