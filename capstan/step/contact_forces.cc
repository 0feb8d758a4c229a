#include "capstan/step/contact_forces.h"

#include <algorithm>

#include "capstan/laws/contact_laws.h"

namespace capstan {
namespace {

// Of an entry that turns, to the force of its point.
void add_torque(const Workspace& w, int i, ContactForce* f) {
  Vec3 gamma = w.newton.impulse[i];
  if (i < static_cast<int>(w.bounce.impulse.size())) gamma += w.bounce.impulse[i];
  const bool rolls = w.contacts.rows[i] == ContactRows::rolling;
  const Vec3 in_frame = rolls ? gamma : Vec3(0, 0, gamma.x());
  f->torque_W += w.problem.turning[i].arm / w.problem.dt * (w.problem.R_WC[i] * in_frame);
}

}  // namespace

void calc_contact_forces(const Workspace& w, std::vector<ContactForce>* forces) {
  const Problem& problem = w.problem;
  const Contacts& contacts = w.contacts;
  forces->resize(contacts.size());
  int num_turning = 0;  // so far
  for (const ConstraintGroup& group : problem.groups) {
    if (group.contact_begin == group.contact_end) continue;
    const Vec6 U = problem.calc_motion(group, w.v_solved);
    for (int i = group.contact_begin; i < group.contact_end; ++i) {
      if (!problem.is_point(i)) {
        add_torque(w, i, &(*forces)[i - ++num_turning]);
        continue;
      }
      ContactForce& f = (*forces)[i - num_turning];
      f.torque_W.setZero();
      const Mat3& R = problem.R_WC[i];
      const Vec3 v = problem.X[i] * U;
      Vec3 gamma = w.newton.impulse[i];
      if (i < static_cast<int>(w.bounce.impulse.size())) gamma += w.bounce.impulse[i];
      f.shape_a = contacts.shape_a[i];
      f.shape_b = contacts.shape_b[i];
      f.p_W = contacts.p_WC[i];
      f.normal_W = R.col(2);  // where the step took it from (problem/assemble_lean.cc)
      f.distance = contacts.distance[i];
      f.kind = contacts.kind[i];
      f.area = contacts.material[i].area;
      f.normal_force = gamma.z() / problem.dt;
      f.friction_W = R.leftCols<2>() * gamma.head<2>() / problem.dt;
      f.slip_W = R.leftCols<2>() * (v + problem.contacts[i].bias).head<2>();
      // Rigid models stick to the tolerance of their solvers.
      f.region = w.rigid ? gamma.z() <= 0 ? ContactRegion::open : ContactRegion::sliding
                         : region(problem.options.law, problem.options.normal_law, problem.contacts[i], v);
      if (f.region == ContactRegion::sliding && f.slip_W.norm() < kVisibleSlip)
        f.region = ContactRegion::sticking;
      // Without friction a law tells the two not apart.
      if (f.region == ContactRegion::sticking && contacts.material[i].friction == 0 &&
          f.slip_W.norm() >= kVisibleSlip)
        f.region = ContactRegion::sliding;
    }
  }
  forces->resize(contacts.size() - num_turning);
}

void sum_contact_forces(const Model& model, const std::vector<ContactForce>& forces,
                        std::vector<BodyPairForce>* pairs) {
  pairs->clear();
  for (const ContactForce& f : forces) {
    int a = model.shapes[f.shape_a].body, b = model.shapes[f.shape_b].body;
    const double sign = a < b ? 1 : -1;  // of the force on the later body
    if (a > b) std::swap(a, b);
    auto at = std::lower_bound(pairs->begin(), pairs->end(), std::pair(a, b),
                               [](const BodyPairForce& pair, const std::pair<int, int>& key) {
                                 return std::pair(pair.body_a, pair.body_b) < key;
                               });
    if (at == pairs->end() || at->body_a != a || at->body_b != b) {
      at = pairs->insert(at, BodyPairForce{});
      at->body_a = a;
      at->body_b = b;
    }
    ++at->contacts;
    at->sticking += f.region == ContactRegion::sticking;
    at->sliding += f.region == ContactRegion::sliding;
    at->normal_force += f.normal_force;
    at->force_W += sign * f.force_W();
    at->friction_W += sign * f.friction_W;
    at->torque_W += sign * (cross(f.p_W, f.force_W()) + f.torque_W);
  }
}

void sum_patch_forces(const std::vector<ContactForce>& forces, std::vector<PatchForce>* patches) {
  patches->clear();
  const auto presses = [](const ContactForce& f) { return f.area > 0 && f.normal_force > 0; };
  for (std::size_t begin = 0; begin < forces.size();) {
    std::size_t end = begin;
    PatchForce patch{forces[begin].shape_a, forces[begin].shape_b};
    for (;
         end < forces.size() && forces[end].shape_a == patch.shape_a && forces[end].shape_b == patch.shape_b;
         ++end) {
      const ContactForce& f = forces[end];
      if (!presses(f)) continue;
      ++patch.points;
      patch.area += f.area;
      patch.normal_force += f.normal_force;
      patch.largest_pressure = std::max(patch.largest_pressure, f.normal_force / f.area);
      patch.centre_W += f.normal_force * f.p_W;
      patch.force_W += f.force_W();
    }
    if (patch.points > 0) {
      patch.centre_W /= patch.normal_force;
      for (std::size_t i = begin; i < end; ++i) {
        if (presses(forces[i]))
          patch.moment_W +=
              cross(Vec3(forces[i].p_W - patch.centre_W), forces[i].force_W()) + forces[i].torque_W;
      }
      patches->push_back(patch);
    }
    begin = end;
  }
}

double calc_tendon_force(const Workspace& w, int tendon) {
  double impulse = 0;
  for (const ConstraintGroup& group : w.problem.groups) {
    if (group.tendon != tendon) continue;
    const Vec6 U = w.problem.calc_motion(group, w.v_solved);
    impulse += group.pull * scalar_impulse(w.problem.laws[group.law_begin], U[0]);
  }
  return impulse == 0 ? 0 : impulse / w.problem.dt;
}

}  // namespace capstan
