#include "capstan/step/coulomb.h"

#include <algorithm>
#include <cmath>

#include "capstan/laws/contact_laws.h"

namespace capstan {
namespace {

// Velocities of the contacts of a group.
template <class F>
void each_contact_velocity(const Problem& problem, const ConstraintGroup& group, const VecX& v, const F& f) {
  Vec6 U = Vec6::Zero();
  for (int p = group.part_begin; p < group.part_end; ++p) {
    const Tree& tree = problem.model->trees[problem.parts[p].tree];
    const double* J = problem.jacobians.data() + problem.parts[p].jacobian;
    for (int k = 0; k < tree.num_dofs(); ++k) {
      for (int r = 0; r < group.num_rows; ++r) U[r] += J[k * group.num_rows + r] * v[tree.dof_begin + k];
    }
  }
  for (int i = group.contact_begin; i < group.contact_end; ++i) f(i, Vec3(problem.X[i] * U));
}

void set_shift(double s, double* shift, ContactData* d) {
  d->bias.z() += s - *shift;
  *shift = s;
}

}  // namespace

void begin_friction(const Contacts& contacts, int first, std::span<const char> kept, CoulombWorkspace* w,
                    Problem* problem) {
  w->shifts.resize(problem->contacts.size());
  for (std::size_t g = 0; g < problem->groups.size(); ++g) {
    const ConstraintGroup& group = problem->groups[g];
    if (group.contact_end <= first || group.contact_begin == group.contact_end) continue;
    if (g < kept.size() && kept[g] != 0) continue;
    const bool touches = contacts.kind[group.contact_begin] == ContactKind::touching;
    // A contact that touches starts with the smaller of two slips, now and as the motion goes on: with too
    // large an s it would open.
    const auto set_slip = [&](const VecX& v, bool is_first) {
      each_contact_velocity(*problem, group, v, [&](int i, const Vec3& velocity) {
        ContactData& d = problem->contacts[i];
        const double x = velocity.x() + d.bias.x(), y = velocity.y() + d.bias.y();
        const double slip = std::hypot(d.mu_xx * x + d.mu_xy * y, d.mu_xy * x + d.mu_yy * y);
        if (is_first) w->shifts[i] = 0;
        if (is_first || slip < w->shifts[i]) set_shift(slip, &w->shifts[i], &d);
      });
    };
    set_slip(touches ? problem->v0 : problem->motion->v_star, true);
    if (touches && problem->v_guess.size() > 0) set_slip(problem->v_guess, false);
  }
}

bool update_friction(bool update, CoulombWorkspace* w, Problem* problem, NewtonWorkspace* newton) {
  w->groups.clear();
  w->glide = 0;
  const double dt = problem->dt, fall = problem->model->options.gravity.norm() * dt;
  with_law(ContactLaw::coulomb, problem->options.normal_law, [&](auto law) {
    if constexpr (requires { decltype(law)::glide(ContactData(), Vec3()); }) {
      for (int g = 0; g < static_cast<int>(problem->groups.size()); ++g) {
        const ConstraintGroup& group = problem->groups[g];
        if (group.contact_begin == group.contact_end) continue;
        bool changed = false;
        each_contact_velocity(*problem, group, newton->v, [&](int i, const Vec3& velocity) {
          ContactData& d = problem->contacts[i];
          if (is_inert(d)) return;
          double& shift = w->shifts[i];
          const double n = newton->impulse[i].z();
          // Open contacts stay so if they are without their shift.
          const double goal = n > 0 ? decltype(law)::glide(d, velocity) : 0;
          if (!(n > 0) && velocity.z() + d.bias.z() - shift >= d.normal.v_hat) return;
          const double error = std::abs(goal - shift);
          w->glide = std::max(w->glide, dt * error);
          if (!update || error <= kGlideTolerance * (fall + goal)) return;
          set_shift(goal, &shift, &d);
          changed = true;
        });
        if (changed) w->groups.push_back(g);
      }
    }
  });
  if (w->groups.empty()) return false;
  reopen_islands(*problem, w->groups, newton);
  return true;
}

}  // namespace capstan
