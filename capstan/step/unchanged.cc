#include "capstan/step/unchanged.h"

#include <algorithm>
#include <cstring>

namespace capstan {
namespace {

void find_moving_alone(const Model& model, std::vector<char>* moves_alone) {
  moves_alone->assign(model.objects.size(), true);
  std::fill(moves_alone->begin() + static_cast<long>(model.trees.size()), moves_alone->end(), char{false});
  const auto exclude_link = [&](int link) {
    if (link > 0) (*moves_alone)[model.links[link].object] = false;
  };
  const auto exclude = [&](const Transmission& transmission) {
    for (const auto& term : transmission.terms) exclude_link(model.dofs[term.dof].link);
  };
  for (const ModelTendon& tendon : model.tendons) exclude(tendon.transmission);
  for (const ModelActuator& actuator : model.actuators) exclude(actuator.transmission);
  for (const ModelConstraint& c : model.constraints) {
    const bool is_coupler = c.type == ConstraintType::coupler;
    for (const int joint : {c.joint_a, c.joint_b}) {
      if (is_coupler && joint >= 0) exclude_link(model.bodies[model.joints[joint].body].link);
    }
    for (const int body : {c.body_a, c.body_b}) {
      if (!is_coupler) exclude_link(model.bodies[body].link);
    }
  }
}

bool have_same_bits(const VecX& a, const VecX& b, int begin, int end) {
  return begin == end ||  // then there may be no address to compare at
         std::memcmp(a.data() + begin, b.data() + begin, (end - begin) * sizeof(double)) == 0;
}

bool have_same_bits(const VecX& a, const VecX& b) {
  return a.size() == b.size() && have_same_bits(a, b, 0, static_cast<int>(a.size()));
}

}  // namespace

void find_unchanged(const Model& model, const State& before, const VecX& v_after, const State& state,
                    const Input& input, const StepSettings& settings, UnchangedWorkspace* w) {
  const int n = model.num_objects();
  if (static_cast<int>(w->moves_alone.size()) != n) {
    find_moving_alone(model, &w->moves_alone);
    w->is_pushed.assign(n, false);
    w->is_valid = false;
  }
  const bool can_reuse = w->is_valid && w->settings == settings && w->model_options == model.options &&
                         !settings.sleep.on && before.a.size() == state.a.size() &&
                         have_same_bits(w->surface_scale, input.surface_scale);
  w->settings = settings;
  w->model_options = model.options;
  w->surface_scale = input.surface_scale;
  w->objects.clear();
  if (can_reuse) {
    w->objects.resize(n);
    for (int t = 0; t < n; ++t) {
      const Object& object = model.objects[t];
      w->objects[t] =
          w->moves_alone[t] != 0 && w->is_pushed[t] == 0 &&
          have_same_bits(before.v, state.v, object.dof_begin, object.dof_end) &&
          have_same_bits(v_after, state.v, object.dof_begin, object.dof_end) &&
          (state.a.size() == 0 || have_same_bits(before.a, state.a, object.dof_begin, object.dof_end)) &&
          have_same_bits(before.q, state.q, object.q_begin, object.q_end);
    }
  }
  std::fill(w->is_pushed.begin(), w->is_pushed.end(), char{false});
  const auto push = [&](int object) {
    if (object < 0) return;
    w->is_pushed[object] = true;
    if (can_reuse) w->objects[object] = false;
  };
  for (int k = 0; k < std::min<int>(input.generalized_force.size(), model.num_velocities()); ++k) {
    if (input.generalized_force[k] != 0) push(model.dofs[k].object);
  }
  for (const BodyForce& f : input.body_forces) {
    if (f.body >= 0 && f.body < static_cast<int>(model.bodies.size()))
      push(model.links[model.bodies[f.body].link].object);
  }
}

}  // namespace capstan
