#include "capstan/step/bounce.h"

#include <algorithm>
#include <cmath>

#include "capstan/dynamics/free_turn.h"
#include "capstan/dynamics/motion_batch.h"
#include "capstan/laws/contact_laws.h"
#include "capstan/step/bounce_energy.h"

namespace capstan {
void calc_contact_velocities(const Problem& problem, const VecX& v, std::vector<Vec3>* velocities) {
  velocities->resize(problem.contacts.size());
  for (const ConstraintGroup& group : problem.groups) {
    if (group.contact_begin == group.contact_end) continue;
    const Vec6 U = problem.calc_motion(group, v);
    for (int i = group.contact_begin; i < group.contact_end; ++i) (*velocities)[i] = problem.X[i] * U;
  }
}

namespace {

constexpr int kMostRounds = 60;      // a row of n balls needs about 2 n
constexpr double kStiffness = 1e5;   // of an impact, times the mass of the contact
constexpr double kTolerance = 1e-8;  // of the momentum of a round
constexpr double kOfGravity = 2;     // times what acceleration makes in a step: slower ones do not bounce
constexpr double kRoundOff = 1e-9;   // of the kinetic energy that impacts take part in
constexpr double kParts[] = {1, 0.5, 0};  // of e, until energy does not grow

struct Gap {
  double phi;           // [m] at the beginning of the step
  double rate0;         // [m/s] of the gap, before the step
  double rate;          // at v*
  double drift;         // at which it changes besides: late contacts, and impacts of this step so far
  double acceleration;  // [m/s^2] at which free motion closes it

  double end(double theta_vq, double dt) const {  // of the step [m]
    return phi + dt * (theta_vq * rate + (1 - theta_vq) * rate0 + drift);
  }
};

// The parabola through the positions of a free motion at the beginning of a step whose velocities go from v0
// to v0 - a dt has the velocity v0 - offset there.
double offset(double theta_vq, double a, double dt) {
  return (theta_vq - 0.5) * a * dt;
}

struct Touch {
  double speed = 0;   // [m/s]; 0: they do not meet
  double left = 0;    // [s] of the step
  double ground = 0;  // [m] the gap there: less than 0 if they overlap at the beginning
};

// By the parabola that leads to the end of the step as it is now: impacts of the step so far may have bent
// it.
Touch find_touch(const Gap& gap, double theta_vq, double dt) {
  const double a = gap.acceleration, u_end = offset(theta_vq, a, dt) - gap.rate, u0 = u_end - a * dt;
  const double phi = gap.end(theta_vq, dt) + u_end * dt - 0.5 * a * dt * dt;  // at the beginning
  if (!(u0 > 0)) return {};
  if (phi <= 0) return {u0, dt, phi};  // since before the step
  const double square = u0 * u0 + 2 * a * phi;
  if (!(square > 0)) return {};
  const double u = std::sqrt(square);
  return {u, dt - std::min(2 * phi / (u0 + u), dt), 0};
}

// What it takes to go on from the ground at speed `up`: the rate at the end of the step, and which part of
// the displacement by the change of velocity is to be taken back, because the impulse comes when they meet
// and moves the bodies for what is left of the step. Schemes that are not staggered have that off what stands
// only: laws of contact take new velocities for the motion of the step. There, a rate does it alone if the
// parabola with it, at the end of the step, comes from the ground at that speed; not if the gap is wider at
// the beginning than it will ever be again.
struct Rebound {
  double rate, idle_part;
};

Rebound find_rebound(const Gap& gap, const Touch& touch, double up, bool at_touch, double theta_vq,
                     double dt) {
  const double a = gap.acceleration, c = offset(theta_vq, a, dt);
  if (!at_touch || theta_vq == 0) {
    const double without = gap.phi - touch.ground + dt * ((1 - theta_vq) * gap.rate0 + gap.drift);
    const double square = 0.25 * a * a * dt * dt - c * c + up * up - 2 * a * without;
    const double alone = square > 0 ? std::sqrt(square) - 0.5 * a * dt : 0;
    if (alone > 0 || theta_vq == 0) return {std::max(0.0, alone), 0};
  }
  double end = touch.ground + up * touch.left - 0.5 * a * touch.left * touch.left;
  double rate = up - a * touch.left + c;
  if (end < touch.ground) end = touch.ground, rate = 0;  // it is back already: there it lies
  const double drift = (end - gap.phi) / dt - theta_vq * rate - (1 - theta_vq) * gap.rate0 - gap.drift;
  return {rate, rate != gap.rate ? std::clamp(-drift / (rate - gap.rate), -1.0, 1.0) : 0};
}

// [m/s] at which spins seem to open a gap.
double spin_rate(const BounceWorkspace& w, int i) {
  return w.v_spin.empty() ? 0.0 : w.v_spin[i].z();
}

// Velocities of contacts, and along the normal the rates of their gaps.
void calc_gap_velocities(const Problem& problem, const VecX& v, const BounceWorkspace& w,
                         std::vector<Vec3>* velocities) {
  calc_contact_velocities(problem, v, velocities);
  for (std::size_t i = 0; i < w.v_spin.size(); ++i) (*velocities)[i].z() -= w.v_spin[i].z();
}

void find_spins(const Model& model, const Motion& motion, const Problem& problem, BounceWorkspace* w) {
  w->v_spin.clear();
  bool any = false;
  for (const int t : motion.scratch->with_spinners) {
    const int first = model.trees[t].dof_end - 3;
    const Vec3 spin = calc_idle_spin(model, motion, t, problem.v0.segment<3>(first));
    if (spin.isZero(0)) continue;
    if (!any) w->spin.setZero(model.num_velocities());
    any = true;
    w->spin.segment<3>(first) = spin;
  }
  if (any) calc_contact_velocities(problem, w->spin, &w->v_spin);
}

// A contact that wants to be left at rate `after`.
ContactData make_impact(const Problem& problem, int i, double before, double after, double spin_rate) {
  using Law = RegularizedLagged<KelvinVoigt>;
  const ContactData& from = problem.contacts[i];
  const Vec3 mass = problem.contact_mass[i];
  ContactData d;
  // Rates of gaps are told without what changes them besides.
  d.bias = Vec3(from.bias.x(), from.bias.y(), -spin_rate);
  d.normal = problem.is_point(i) ? NormalData{after, kStiffness * mass.z(), 0, 0} : from.normal;
  d.mu_xx = from.mu_xx, d.mu_xy = from.mu_xy, d.mu_yy = from.mu_yy;
  const double mu = std::max(from.mu_xx, from.mu_yy);
  d.least_slip = std::max(mu, 1e-3) * kSmallestStictionTolerance;
  d.slip_rate = acting_sigma(problem.options) / mass.x() * mu * mu;
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
  round->deadline = problem.deadline;
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
  round->turning.clear();
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
      round->contacts.push_back(
          make_impact(problem, x.contact, x.before, x.after[part], spin_rate(w, x.contact)));
      round->X.push_back(problem.X[x.contact]);
      round->R_WC.push_back(problem.R_WC[x.contact]);
      round->contact_mass.push_back(problem.contact_mass[x.contact]);
      if (problem.turning.empty()) continue;
      const Turning& turning = round->turning.emplace_back(problem.turning[x.contact]);
      if (turning.back > 0)
        RegularizedLagged<KelvinVoigt>::set_bound(
            round->contacts[round->contacts.size() - 1 - turning.back].normal_impulse,
            &round->contacts.back());
    }
    round->groups.back().contact_end = static_cast<int>(round->contacts.size());
  }
  for (const ConstraintGroup& group : problem.groups) {
    if (group.contact_begin < group.contact_end) continue;
    const auto parts = problem.parts.begin();
    const bool acts = std::any_of(parts + group.part_begin, parts + group.part_end,
                                  [&](const GroupPart& x) { return takes_part[problem.object_of(x)] != 0; });
    if (!acts) continue;
    add_group(group);
    round->groups.back().law_begin = static_cast<int>(round->laws.size());
    for (int r = 0; r < group.num_rows; ++r) round->laws.push_back(problem.laws[group.law_begin + r]);
  }
}

// What lies on something without restitution has it behind itself when it is hit: those contacts take part in
// the same round, and let nothing through that free motion does not bring. (One after the other, a ball would
// push a board into the floor, the floor would take what the board got, and nothing be left.)
void add_supports(const Model& model, const Problem& problem, const Contacts& contacts, BounceWorkspace* w) {
  using Impact = BounceWorkspace::Impact;
  w->takes_part.assign(model.objects.size(), false);
  w->is_impact.assign(contacts.size(), false);
  const auto take = [&](const ConstraintGroup& group) {
    for (int p = group.part_begin; p < group.part_end; ++p)
      w->takes_part[problem.object_of(problem.parts[p])] = true;
  };
  for (const Impact& x : w->impacts) {
    w->is_impact[x.contact] = true;
    take(problem.groups[x.group]);
  }
  for (bool grows = true; grows;) {
    grows = false;
    for (int g = 0; g < static_cast<int>(problem.groups.size()); ++g) {
      const ConstraintGroup& group = problem.groups[g];
      const bool acts =
          std::any_of(problem.parts.begin() + group.part_begin, problem.parts.begin() + group.part_end,
                      [&](const GroupPart& x) { return w->takes_part[problem.object_of(x)] != 0; });
      for (int i = group.contact_begin; acts && i < group.contact_end; ++i) {
        if (w->is_impact[i] != 0 || contacts.kind[i] != ContactKind::touching ||
            contacts.material[i].restitution > 0 || !contacts.is_point(i))
          continue;
        Impact x;
        x.contact = i;
        x.group = g;
        x.is_support = true;
        x.before = w->v[i].z();
        std::fill_n(x.after, 3, std::min(0.0, w->v_led[i].z()));
        w->impacts.push_back(x);
        w->is_impact[i] = true;
        take(group);
        grows = true;
      }
    }
  }
  for (std::size_t k = 0, n = w->impacts.size(); k < n && !problem.turning.empty(); ++k) {
    Impact x;  // what turns about the point
    x.group = w->impacts[k].group;
    x.is_support = true;
    std::fill_n(x.after, 3, 0.0);
    for (x.contact = w->impacts[k].contact + 1; x.contact < contacts.size() && !contacts.is_point(x.contact);
         ++x.contact)
      w->impacts.push_back(x);
  }
  std::sort(w->impacts.begin(), w->impacts.end(),
            [](const Impact& x, const Impact& y) { return x.contact < y.contact; });
}

// An impulse in the middle of a step moves a tree for what is left of it: this part of what the scheme would
// make of the change of velocity is to be taken back. A tree with several impacts has the mean of their
// times, by impulse.
void find_idle_parts(const Model& model, const Problem& problem, int part, BounceWorkspace* w,
                     std::vector<double>* idle) {
  w->idle_sum.assign(model.objects.size(), Vec2::Zero());
  Vec2 all = Vec2::Zero();
  for (std::size_t k = 0; k < w->impacts.size(); ++k) {
    const BounceWorkspace::Impact& x = w->impacts[k];
    if (x.is_support) continue;
    const double n = w->newton.impulse[k].z();
    const Vec2 add(n, n * x.idle_part[part]);
    all += add;
    const ConstraintGroup& group = problem.groups[x.group];
    for (int p = group.part_begin; p < group.part_end; ++p)
      w->idle_sum[problem.object_of(problem.parts[p])] += add;
  }
  idle->assign(model.objects.size(), 0);
  for (std::size_t t = 0; t < model.objects.size(); ++t) {
    const Vec2& sum = w->idle_sum[t].x() > 0 ? w->idle_sum[t] : all;  // all: it is tied to one that was hit
    if (sum.x() > 0) (*idle)[t] = sum.y() / sum.x();
  }
}

// Makes the round's impulses those that lead to its energy, and takes back what its change of velocity must
// not move.
void end_round(const Model& model, const Motion& motion, double dt, const std::vector<double>& idle,
               BounceWorkspace* w) {
  double work = 0;
  for (std::size_t k = 0; k < w->impacts.size(); ++k)
    work += w->newton.impulse[k].dot(0.5 * (w->v[w->impacts[k].contact] + w->v_after[k]));
  const VecX& before = motion.v_star;
  const double scale = scale_of_energy(model, motion, dt, before, w->newton.v, idle, w->new_drift, work);
  if (scale != 1) {
    w->newton.v = before + scale * (w->newton.v - before);
    for (std::size_t k = 0; k < w->impacts.size(); ++k) w->newton.impulse[k] *= scale;
  }
  for (std::size_t t = 0; t < model.objects.size(); ++t) {
    const int begin = model.objects[t].dof_begin, n = model.objects[t].num_dofs();
    w->new_drift.segment(begin, n) -= idle[t] * (w->newton.v.segment(begin, n) - before.segment(begin, n));
  }
}

// What lies or slides on something does not move as free motion has it but, as a rule, as in the last step:
// w->v_borne is what to add to velocities of contacts for that.
void find_borne(const Model& model, const Contacts& contacts, const VecX& acceleration,
                const Problem& problem, BounceWorkspace* w) {
  constexpr double kOfFree = 2;  // a larger acceleration was that of an impact
  w->borne.setZero(model.num_velocities());
  for (int i = 0; i < contacts.size(); ++i) {
    if (contacts.kind[i] != ContactKind::touching) continue;
    for (const int link : {contacts.link_a[i], contacts.link_b[i]}) {
      if (link == 0) continue;
      const Object& object = model.objects[model.links[link].object];
      const auto of = [&](const VecX& x) { return x.segment(object.dof_begin, object.num_dofs()); };
      const double dt = problem.dt, free = (of(w->v_free) - of(problem.v0)).norm();
      if (dt * of(acceleration).norm() > kOfFree * free) continue;
      w->borne.segment(object.dof_begin, object.num_dofs()) =
          of(problem.v0) + dt * of(acceleration) - of(w->v_free);
    }
  }
  calc_contact_velocities(problem, w->borne, &w->v_borne);
}

// Impacts of a body come one after the other: those that another one of it comes before wait for the next
// round, and are looked at again then.
void keep_first(const Model& model, double dt, const Contacts& contacts, BounceWorkspace* w) {
  constexpr double kTogether = 0.05;  // of the step
  using Impact = BounceWorkspace::Impact;
  w->most_left.assign(model.objects.size(), 0);
  const auto each_object = [&](const Impact& x, const auto& f) {
    for (const int link : {contacts.link_a[x.contact], contacts.link_b[x.contact]})
      if (link != 0) f(w->most_left[model.links[link].object]);
  };
  for (const Impact& x : w->impacts) each_object(x, [&](double& left) { left = std::max(left, x.left); });
  std::erase_if(w->impacts, [&](const Impact& x) {
    bool waits = false;
    each_object(x, [&](double left) { waits = waits || x.left < left - kTogether * dt; });
    return waits;
  });
}

// Gaps of the contacts from `begin` on change by the drift, too. Drift moves, but it is no speed: laws with
// phi + (dt + tau) v see only dt of it.
void add_drift_rates(int begin, int end, const VecX& drift, Contacts* contacts, Problem* problem,
                     BounceWorkspace* w) {
  if (drift.size() == 0 || begin >= end) return;
  calc_contact_velocities(*problem, drift, &w->v_drift);
  const bool looks_beyond = traits(acting_normal_law(problem->options)).relaxes;
  const double dt = problem->dt;
  for (int i = begin; i < end; ++i) {
    const double tau = contacts->material[i].relaxation_time, rate = w->v_drift[i].z();
    contacts->gap_rate[i] += rate;
    contacts->drift_rate[i] += rate;
    problem->contacts[i].bias.z() += looks_beyond ? dt / (dt + (tau < 0 ? dt : tau)) * rate : rate;
  }
}

}  // namespace

int bounce(const Model& model, const Scheme& scheme, const VecX& acceleration, bool is_first,
           Contacts* all_contacts, Motion* motion, Problem* whole, BounceWorkspace* workspace) {
  BounceWorkspace& w = *workspace;
  const Problem& problem = *whole;
  const Contacts& contacts = *all_contacts;
  if (is_first) {
    w.impulse.clear();
    w.has_free = w.has_drift = false;
  }
  const auto bounces = [](const ContactMaterial& m) { return m.restitution > 0; };
  if (std::none_of(contacts.material.begin(), contacts.material.end(), bounces)) return 0;
  const double dt = problem.dt, theta = scheme.theta_vq;
  if (!w.has_free) {  // contacts that bounce may be late ones only
    w.has_free = true;
    w.v_free = motion->v_star;
    w.is_moved.assign(model.objects.size(), false);
  }
  if (w.newton.solvers == nullptr) w.newton = make_newton_workspace(model);
  if (!is_first && w.has_drift)
    add_drift_rates(w.num_known, contacts.size(), w.drift, all_contacts, whole, &w);
  w.num_known = contacts.size();
  find_spins(model, *motion, problem, &w);
  calc_gap_velocities(problem, problem.v0, w, &w.v_before);
  calc_gap_velocities(problem, w.v_free, w, &w.v_led);
  find_borne(model, contacts, acceleration, problem, &w);
  w.new_drift.setZero(model.num_velocities());
  int rounds = 0;
  for (; rounds < kMostRounds; ++rounds) {
    calc_gap_velocities(problem, motion->v_star, w, &w.v);
    calc_contact_velocities(problem, w.new_drift, &w.v_drift);
    w.impacts.clear();
    for (int g = 0; g < static_cast<int>(problem.groups.size()); ++g) {
      const ConstraintGroup& group = problem.groups[g];
      const bool moved =
          std::any_of(problem.parts.begin() + group.part_begin, problem.parts.begin() + group.part_end,
                      [&](const GroupPart& x) { return w.is_moved[problem.object_of(x)] != 0; });
      for (int i = group.contact_begin; i < group.contact_end; ++i) {
        const ContactMaterial& m = contacts.material[i];
        if (contacts.kind[i] == ContactKind::withdrawn || !(m.restitution > 0 || moved)) continue;
        Gap gap;
        gap.phi = contacts.distance[i];
        gap.rate0 = w.v_before[i].z();
        gap.rate = w.v[i].z() + w.v_borne[i].z();
        gap.drift = contacts.gap_rate[i] + w.v_drift[i].z();
        gap.acceleration = (w.v_before[i].z() - w.v_led[i].z() - w.v_borne[i].z()) / dt;
        if (gap.rate >= 0) continue;
        const Touch touch = find_touch(gap, theta, dt);
        const double slowest = kOfGravity * std::abs(gap.acceleration) * dt;
        if (touch.speed <= std::max(m.restitution_threshold, slowest)) continue;
        if (gap.end(theta, dt) >= 0) {  // in a later step: nothing brakes it before
          for (int k = i; m.restitution > 0 && k < group.contact_end && (k == i || !contacts.is_point(k));
               ++k)
            make_inert(&whole->contacts[k]);
          continue;
        }
        BounceWorkspace::Impact impact;
        impact.contact = i;
        impact.group = g;
        impact.before = w.v[i].z();
        impact.left = touch.left;
        impact.acceleration = gap.acceleration;
        const bool at_touch = is_staggered(scheme) || contacts.link_a[i] == 0 || contacts.link_b[i] == 0;
        for (int k = 0; k < 3; ++k) {
          const double e = kParts[k] * m.restitution;
          const Rebound rebound = e > 0 ? find_rebound(gap, touch, e * touch.speed, at_touch, theta, dt)
                                        : Rebound{std::min(0.0, -gap.phi / dt - gap.drift), 0};
          impact.after[k] = rebound.rate - w.v_borne[i].z();
          impact.idle_part[k] = rebound.idle_part;
        }
        w.impacts.push_back(impact);
      }
    }
    if (w.impacts.empty()) break;
    keep_first(model, dt, contacts, &w);
    add_supports(model, problem, contacts, &w);
    std::vector<char>& takes_part = w.takes_part;
    NewtonOptions options;
    options.relative_tolerance = kTolerance;
    int part = 0;
    for (;; ++part) {
      make_round(problem, w, part, takes_part, &w.problem);
      solve_newton(w.problem, options, &w.newton);
      // Energy made by the impulses: that of the changed velocities, as parabolas have them, and of the
      // places to which these lead.
      calc_contact_velocities(w.problem, w.newton.v, &w.v_after);
      for (std::size_t k = 0; k < w.impacts.size(); ++k)
        w.v_after[k].z() -= spin_rate(w, w.impacts[k].contact);
      double work = 0, size = 0;
      for (std::size_t k = 0; k < w.impacts.size(); ++k) {
        const BounceWorkspace::Impact& x = w.impacts[k];
        const Vec3 &before = w.v[x.contact], &gamma = w.newton.impulse[k], &bias = w.problem.contacts[k].bias;
        Vec3 mean = 0.5 * (before + w.v_after[k]) + Vec3(bias.x(), bias.y(), 0);
        mean.z() += w.v_borne[x.contact].z() + x.acceleration * dt * (0.5 - x.idle_part[part]);
        work += gamma.dot(mean);
        size += std::abs(gamma.dot(before));
      }
      if (work <= kRoundOff * size || part == 2) break;
    }
    if (theta > 0) {
      thread_local std::vector<double> idle;
      find_idle_parts(model, problem, part, &w, &idle);
      end_round(model, *motion, dt, idle, &w);
    }
    motion->v_star = w.newton.v;
    w.impulse.resize(contacts.size(), Vec3::Zero());
    for (std::size_t k = 0; k < w.impacts.size(); ++k) w.impulse[w.impacts[k].contact] += w.newton.impulse[k];
    for (std::size_t t = 0; t < takes_part.size(); ++t) w.is_moved[t] = w.is_moved[t] || takes_part[t];
  }
  if (rounds == 0) return 0;
  add_drift_rates(0, contacts.size(), w.new_drift, all_contacts, whole, &w);
  if (!w.has_drift) w.drift.setZero(model.num_velocities());
  w.has_drift = true;
  w.drift += w.new_drift;
  return rounds;
}

const VecX& moving_velocity(const BounceWorkspace& w, const VecX& v, double theta_vq, VecX* sum) {
  if (!w.has_drift || theta_vq == 0) return v;
  *sum = v + w.drift / theta_vq;
  return *sum;
}

}  // namespace capstan
