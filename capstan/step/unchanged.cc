#include "capstan/step/unchanged.h"

#include <algorithm>
#include <cstring>

namespace capstan {
namespace {

int tree_of_dof(const Model& model, int dof) {
  return model.links[model.dofs[dof].link].tree;
}

void find_positions(const Model& model, std::vector<int>* positions) {
  positions->clear();
  for (const Tree& tree : model.trees)
    positions->push_back(model.stages[model.links[tree.link_begin].stage_begin].q);
  positions->push_back(model.num_positions);
}

void find_apt(const Model& model, std::vector<char>* is_apt) {
  is_apt->assign(model.trees.size(), true);
  const auto exclude_link = [&](int link) {
    if (link > 0) (*is_apt)[model.links[link].tree] = false;
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

void find_unchanged(const Model& model, const State& before, const State& state, const Input& input,
                    const StepSettings& settings, UnchangedWorkspace* w) {
  const int n = static_cast<int>(model.trees.size());
  if (static_cast<int>(w->is_apt.size()) != n) {
    find_apt(model, &w->is_apt);
    find_positions(model, &w->positions);
    w->is_pushed.assign(n, false);
    w->is_known = false;
  }
  const bool is_known = w->is_known && w->settings == settings && !settings.sleep.on &&
                        before.a.size() == state.a.size() &&
                        have_same_bits(w->surface_scale, input.surface_scale);
  w->settings = settings;
  w->surface_scale = input.surface_scale;
  w->trees.clear();
  if (is_known) {
    w->trees.resize(n);
    for (int t = 0; t < n; ++t) {
      const Tree& tree = model.trees[t];
      w->trees[t] =
          w->is_apt[t] != 0 && w->is_pushed[t] == 0 &&
          have_same_bits(before.v, state.v, tree.dof_begin, tree.dof_end) &&
          (state.a.size() == 0 || have_same_bits(before.a, state.a, tree.dof_begin, tree.dof_end)) &&
          have_same_bits(before.q, state.q, w->positions[t], w->positions[t + 1]);
    }
  }
  std::fill(w->is_pushed.begin(), w->is_pushed.end(), char{false});
  const auto push = [&](int tree) {
    if (tree < 0) return;
    w->is_pushed[tree] = true;
    if (is_known) w->trees[tree] = false;
  };
  for (int k = 0; k < std::min<int>(input.generalized_force.size(), model.num_velocities()); ++k) {
    if (input.generalized_force[k] != 0) push(tree_of_dof(model, k));
  }
  for (const BodyForce& f : input.body_forces) {
    if (f.body >= 0 && f.body < static_cast<int>(model.bodies.size()))
      push(model.links[model.bodies[f.body].link].tree);
  }
}

}  // namespace capstan
