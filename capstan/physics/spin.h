// The momentum of an object of nodes, a soft body or a rod, and how a step keeps it.
//
// With x = q0 + (1 - theta_vq) dt v0, a step to q1 = q0 + dt v^theta_vq changes the angular momentum by
//
//   sum q1 x M v1 - sum q0 x M v0 = sum x x M (v1 - v0),
//
// because v x M v vanishes in the sum. So it is kept if inner forces have no moment about x. They have none
// about where they are taken, x_f: at the end of a step (midpoint: in its middle, which is as good). What a
// body that spins at w loses by that, w^2 dt of its angular momentum in a second, is given back as the
// impulses M (d x r) of a rigid rotation, r from the centre of mass of x.
//
// How much that is, follows from a body that goes on to spin as it does: its velocities u, seen from the
// centre of mass, turn by Q = exp(dt w), which takes inner forces and the correction together the impulses
// M (Q - 1) u; so I d = sum (x_f - x) x M (Q - 1) u. It is known before the step, and A and the potential
// have nothing of it but a force.
// What is left for a body that nothing touches, of the order of its vibration, balance() takes away after
// the step; and for one that touches only what moves (step/relinearize.h). Contacts with the world turn a
// body by where they are at the end of the step, with which a soft wheel rolls on as a rigid one does.
#pragma once

#include "capstan/physics/physics.h"

namespace capstan {

// Nodes have three numbers of every `stride` in q and v.
struct NodeMasses {
  const double* mass = nullptr;  // [kg] of node i: mass[mass_stride * i]
  int mass_stride = 1, stride = 3, count = 0;
  double of(int i) const { return mass[mass_stride * i]; }
  Vec3 node(const Physics::ConstVector& x, int i) const { return x.segment<3>(stride * i); }
  // Where arms are taken from: x above.
  Vec3 arm(const ObjectStep& step, int i) const {
    return node(step.q0, i) + (1 - step.theta_vq) * step.dt * node(step.v0, i);
  }
  Vec3 mean_of(const Physics::ConstVector& x) const;  // by mass
};

struct SpinInertia {
  Vec3 centre = Vec3::Zero();  // of mass
  double mass = 0;
  Mat3 I = Mat3::Zero();  // about the centre
};
SpinInertia calc_inertia(const NodeMasses& nodes, const ObjectStep& step);  // of the arms

// Of a body, its inertia and its angular momentum about its centre of mass; w = I^-1 L.
struct MeanSpin {
  Mat3 I = Mat3::Zero();
  Vec3 L = Vec3::Zero();
  Vec3 w() const;
};
MeanSpin calc_mean_spin(const NodeMasses& nodes, const Physics::ConstVector& q,
                        const Physics::ConstVector& v);

// M (d x r), the force known before the step.
struct SpinKeeper {
  Vec3 centre = Vec3::Zero(), d = Vec3::Zero();
  bool is_on() const { return !d.isZero(0); }
  Vec3 change(const Vec3& x) const { return cross(d, Vec3(x - centre)); }
};
// w: of the body. I: of the arms, as calc_inertia() has it or with more.
SpinKeeper make_spin_keeper(const NodeMasses& nodes, const ObjectStep& step, const Vec3& w,
                            const SpinInertia& inertia);

}  // namespace capstan
