#include "capstan/step/bounce.h"

#include <algorithm>
#include <cmath>

#include "capstan/laws/contact_laws.h"

namespace capstan {
namespace {

constexpr int kMostRounds = 60;      // a row of n balls needs about 2 n
constexpr double kStiffness = 1e5;   // of an impact, times the mass of the contact
constexpr double kTolerance = 1e-8;  // of the momentum of a round
constexpr double kOfGravity = 2;     // times what acceleration makes in a step: slower ones do not bounce
constexpr double kRoundOff = 1e-9;   // of the kinetic energy that impacts take part in
constexpr double kParts[] = {1, 0.5, 0};  // of e, until energy does not grow

void calc_contact_velocities(const Problem& problem, const VecX& v, std::vector<Vec3>* velocities) {
  velocities->resize(problem.contacts.size());
  for (const ConstraintGroup& group : problem.groups) {
    if (group.contact_begin == group.contact_end) continue;
    Vec6 U = Vec6::Zero();
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const Tree& tree = problem.model->trees[problem.parts[p].tree];
      U.head(group.num_rows) +=
          problem.jacobian(group, problem.parts[p]) * v.segment(tree.dof_begin, tree.num_dofs());
    }
    for (int i = group.contact_begin; i < group.contact_end; ++i) (*velocities)[i] = problem.X[i] * U;
  }
}

struct Gap {
  double phi;           // [m] at the beginning of the step
  double rate0;         // [m/s] of the gap, before the step
  double rate;          // at v*
  double acceleration;  // [m/s^2] at which free motion closes it
};

// The parabola through the positions of a free motion has at the beginning of a step, whose velocities go
// from v0 to v0 - a dt, the velocity v0 - (theta_vq - 1/2) a dt.
double offset(double theta_vq, double a, double dt) {
  return (theta_vq - 0.5) * a * dt;
}
// What that is above the velocity at the end of the step.
double shift(const Gap& gap, double theta_vq, double dt) {
  return gap.acceleration * dt - offset(theta_vq, gap.acceleration, dt);
}

// [m/s] at first touch, or 0 where they do not meet.
double touch_speed(const Gap& gap, double theta_vq, double dt) {
  const double a = gap.acceleration, u0 = -(gap.rate + shift(gap, theta_vq, dt));
  const double square = u0 * u0 + 2 * a * gap.phi;
  return u0 > 0 && square > 0 ? std::sqrt(square) : 0;
}

// The velocity at the end of the step whose parabola, there, comes from the ground at speed `up`. 0 if that
// does not lead off the ground.
double rate_after(const Gap& gap, double up, double theta_vq, double dt) {
  const double a = gap.acceleration, c = offset(theta_vq, a, dt);
  const double K = up * up - 2 * a * (gap.phi + dt * (1 - theta_vq) * gap.rate0);
  const double square = 0.25 * a * a * dt * dt - c * c + K;
  return square > 0 ? std::max(0.0, std::sqrt(square) - 0.5 * a * dt) : 0;
}

// A contact that wants to be left at rate `after`.
ContactData make_impact(const Problem& problem, int i, double before, double after) {
  using Law = RegularizedLagged<KelvinVoigt>;
  const ContactData& from = problem.contacts[i];
  const Vec3 mass = problem.contact_mass[i];
  ContactData d;
  d.bias = from.bias;
  d.normal = {after, kStiffness * mass.z(), 0, 0};
  d.mu_xx = from.mu_xx, d.mu_xy = from.mu_xy, d.mu_yy = from.mu_yy;
  const double mu = std::max(from.mu_xx, from.mu_yy);
  d.least_slip = std::max(mu, 1e-3) * kSmallestStictionTolerance;
  d.slip_rate = problem.options.sigma / mass.x() * mu * mu;
  Law::set_bound(mass.z() * (after - before), &d);
  return d;
}

void make_inert(ContactData* d) {
  d->normal.c0 = d->normal.c1 = d->normal_impulse = d->mu_xx = d->mu_xy = d->mu_yy = 0;
}

// The problem of one round: contacts that take part, and the ties of the trees that they act on.
void make_round(const Problem& problem, const BounceWorkspace& w, int part,
                const std::vector<char>& takes_part, Problem* round) {
  round->model = problem.model;
  round->motion = problem.motion;
  round->dt = problem.dt;
  round->options = problem.options;
  round->options.law = ContactLaw::coulomb;
  round->options.normal_law = NormalLaw::kelvin_voigt;
  round->v0 = problem.motion->v_star;
  round->v_guess.resize(0);
  round->groups.clear();
  round->parts.clear();
  round->jacobians.clear();
  round->contacts.clear();
  round->X.clear();
  round->R_WC.clear();
  round->contact_mass.clear();
  round->laws.clear();
  round->dof_laws.clear();
  const auto add_group = [&](const ConstraintGroup& group) {
    ConstraintGroup g = group;
    g.part_begin = static_cast<int>(round->parts.size());
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const auto J = problem.jacobian(group, problem.parts[p]);
      GroupPart copy = problem.parts[p];
      copy.jacobian = static_cast<int>(round->jacobians.size());
      round->jacobians.insert(round->jacobians.end(), J.data(), J.data() + J.size());
      round->parts.push_back(copy);
    }
    g.part_end = static_cast<int>(round->parts.size());
    round->groups.push_back(g);
  };
  std::size_t next = 0;
  while (next < w.impacts.size()) {
    const int g = w.impacts[next].group;
    add_group(problem.groups[g]);
    round->groups.back().contact_begin = static_cast<int>(round->contacts.size());
    for (; next < w.impacts.size() && w.impacts[next].group == g; ++next) {
      const BounceWorkspace::Impact& x = w.impacts[next];
      round->contacts.push_back(make_impact(problem, x.contact, x.before, x.after[part]));
      round->X.push_back(problem.X[x.contact]);
      round->R_WC.push_back(problem.R_WC[x.contact]);
      round->contact_mass.push_back(problem.contact_mass[x.contact]);
    }
    round->groups.back().contact_end = static_cast<int>(round->contacts.size());
  }
  for (const ConstraintGroup& group : problem.groups) {
    if (group.contact_begin < group.contact_end) continue;
    const auto parts = problem.parts.begin();
    const bool acts = std::any_of(parts + group.part_begin, parts + group.part_end,
                                  [&](const GroupPart& x) { return takes_part[x.tree] != 0; });
    if (!acts) continue;
    add_group(group);
    round->groups.back().law_begin = static_cast<int>(round->laws.size());
    for (int r = 0; r < group.num_rows; ++r) round->laws.push_back(problem.laws[group.law_begin + r]);
  }
}

}  // namespace

int bounce(const Model& model, const Contacts& contacts, const Scheme& scheme, bool is_first, Motion* motion,
           Problem* whole, BounceWorkspace* workspace) {
  BounceWorkspace& w = *workspace;
  const Problem& problem = *whole;
  if (is_first) {
    w.impulse.clear();
    w.v_free.resize(0);
  }
  const auto bounces = [](const ContactMaterial& m) { return m.restitution > 0; };
  if (std::none_of(contacts.material.begin(), contacts.material.end(), bounces)) return 0;
  const double dt = problem.dt, theta = scheme.theta_vq;
  if (w.v_free.size() == 0) {  // contacts that bounce may be late ones only
    w.v_free = motion->v_star;
    w.is_moved.assign(model.trees.size(), false);
  }
  if (w.newton.solvers == nullptr) w.newton = make_newton_workspace(model);
  calc_contact_velocities(problem, problem.v0, &w.v_before);
  calc_contact_velocities(problem, w.v_free, &w.v_led);
  int rounds = 0;
  for (; rounds < kMostRounds; ++rounds) {
    calc_contact_velocities(problem, motion->v_star, &w.v);
    w.impacts.clear();
    for (int g = 0; g < static_cast<int>(problem.groups.size()); ++g) {
      const ConstraintGroup& group = problem.groups[g];
      const bool moved =
          std::any_of(problem.parts.begin() + group.part_begin, problem.parts.begin() + group.part_end,
                      [&](const GroupPart& x) { return w.is_moved[x.tree] != 0; });
      for (int i = group.contact_begin; i < group.contact_end; ++i) {
        const ContactMaterial& m = contacts.material[i];
        if (contacts.kind[i] == ContactKind::withdrawn || !(m.restitution > 0 || moved)) continue;
        const double bias = problem.contacts[i].bias.z();
        Gap gap;
        gap.phi = contacts.distance[i];
        gap.rate0 = w.v_before[i].z() + bias;
        gap.rate = w.v[i].z() + bias;
        gap.acceleration = (w.v_before[i].z() - w.v_led[i].z()) / dt;
        if (gap.rate >= 0) continue;
        const double u = touch_speed(gap, theta, dt);
        if (u <= std::max(m.restitution_threshold, kOfGravity * std::abs(gap.acceleration) * dt)) continue;
        if (gap.phi + dt * gap.rate >= 0) {  // in a later step: nothing brakes it before
          if (m.restitution > 0) make_inert(&whole->contacts[i]);
          continue;
        }
        BounceWorkspace::Impact impact{i, g, gap.rate, {}, shift(gap, theta, dt)};
        for (int k = 0; k < 3; ++k)
          impact.after[k] = kParts[k] * m.restitution > 0
                                ? rate_after(gap, kParts[k] * m.restitution * u, theta, dt)
                                : std::min(0.0, -gap.phi / dt);
        w.impacts.push_back(impact);
      }
    }
    if (w.impacts.empty()) break;
    std::vector<char>& takes_part = w.takes_part;
    takes_part.assign(model.trees.size(), false);
    for (const BounceWorkspace::Impact& x : w.impacts) {
      const ConstraintGroup& group = problem.groups[x.group];
      for (int p = group.part_begin; p < group.part_end; ++p) takes_part[problem.parts[p].tree] = true;
    }
    NewtonOptions options;
    options.relative_tolerance = kTolerance;
    for (int part = 0; part < 3; ++part) {
      make_round(problem, w, part, takes_part, &w.problem);
      solve_newton(w.problem, options, &w.newton);
      // Work of the impulses, by which kinetic energy changes, at the velocities of the parabolas.
      calc_contact_velocities(w.problem, w.newton.v, &w.v_after);
      double work = 0, size = 0;
      for (std::size_t k = 0; k < w.impacts.size(); ++k) {
        const Vec3& before = w.v[w.impacts[k].contact];
        const Vec3 surface(w.problem.contacts[k].bias.x(), w.problem.contacts[k].bias.y(), 0);
        work += 0.5 * w.newton.impulse[k].dot(before + w.v_after[k] + 2 * surface);
        size += std::abs(w.newton.impulse[k].dot(before));
        work += w.newton.impulse[k].z() * w.impacts[k].shift;
      }
      if (work <= kRoundOff * size) break;
    }
    motion->v_star = w.newton.v;
    w.impulse.resize(contacts.size(), Vec3::Zero());
    for (std::size_t k = 0; k < w.impacts.size(); ++k) w.impulse[w.impacts[k].contact] += w.newton.impulse[k];
    for (std::size_t t = 0; t < takes_part.size(); ++t) w.is_moved[t] = w.is_moved[t] || takes_part[t];
  }
  return rounds;
}

}  // namespace capstan
