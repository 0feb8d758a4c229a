// Point masses on springs: a physics of its own, to show that one goes through every stage by adding a file.
//
//   m_i dv_i/dt = m_i g + sum of f_s,   f_s = (k (|d| - L) + c d|d|/dt) d / |d|,   d = x_j - x_i
//
// A = M + dt^2 theta1 theta_vq K + dt theta1 C with K of a spring k (1 - L / |d|) across it, for the convex
// tangent not below 0, and k along it. Blocks of 3, one for each mass; carriers are the masses, then
// the springs (a point of a spring moves with both ends, by its place between them).
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "capstan/math/block_matrix.h"
#include "capstan/math/rotation.h"
#include "capstan/physics/physics.h"

namespace capstan::test {

class PointMasses : public Physics {
 public:
  struct Spring {
    int a = 0, b = 0;
    double stiffness = 0, damping = 0;  // [N/m], [N s/m]
    double length = 0;                  // [m] at rest
  };
  std::vector<double> mass;  // [kg]; infinity is a mass that stays where it is
  std::vector<Vec3> position;
  std::vector<Spring> springs;

  std::string kind() const override { return "point masses"; }

  ObjectLayout layout() const override {
    ObjectLayout layout;
    const int n = static_cast<int>(mass.size());
    layout.num_positions = 3 * n;
    layout.block_sizes.assign(n, 3);
    layout.num_carriers = n + static_cast<int>(springs.size());
    for (int s = 0; s < static_cast<int>(springs.size()); ++s) {
      layout.pairs.push_back({springs[s].a, springs[s].b});
      layout.apart.push_back({springs[s].a, springs[s].b});
      for (const int end : {springs[s].a, springs[s].b}) layout.apart.push_back({end, n + s});
      for (int t = 0; t < s; ++t) {
        if (springs[s].a == springs[t].b || springs[s].b == springs[t].a)
          layout.apart.push_back({n + t, n + s});
      }
    }
    return layout;
  }

  void set_initial(Vector q, Vector v) const override {
    for (int i = 0; i < static_cast<int>(mass.size()); ++i) q.segment<3>(3 * i) = position[i];
    v.setZero();
  }

  void place(const ConstVector& q, std::span<Transform> X_WC) const override {
    const int n = static_cast<int>(mass.size());
    for (int i = 0; i < n; ++i) X_WC[i] = {Mat3::Identity(), at(q, i)};
    for (int s = 0; s < static_cast<int>(springs.size()); ++s) {
      const Vec3 d = at(q, springs[s].b) - at(q, springs[s].a);
      X_WC[n + s] = {frame_from_z(Vec3(d.normalized())), 0.5 * (at(q, springs[s].a) + at(q, springs[s].b))};
    }
  }

  void calc_twists(const ConstVector& q, const ConstVector& v, const Vec3& origin,
                   std::span<Vec6> V) const override {
    const int n = static_cast<int>(mass.size());
    for (int i = 0; i < n; ++i) V[i] << Vec3::Zero(), at(v, i);
    for (int s = 0; s < static_cast<int>(springs.size()); ++s) {
      const auto [a, b] = std::pair(springs[s].a, springs[s].b);
      const Vec3 d = at(q, b) - at(q, a), w = cross(d, Vec3(at(v, b) - at(v, a))) / d.squaredNorm();
      const Vec3 middle = 0.5 * (at(q, a) + at(q, b)), u = 0.5 * (at(v, a) + at(v, b));
      V[n + s] << w, u + cross(w, Vec3(origin - middle));
    }
  }

  int calc_point(const ConstVector& q, int carrier, const Vec3& p_W, PointPart* parts) const override {
    const int n = static_cast<int>(mass.size());
    const auto set = [&](int k, int block, double weight) {
      parts[k].block = block;
      parts[k].size = 3;
      Eigen::Map<Mat3>(parts[k].J.data()) = weight * Mat3::Identity();
    };
    if (carrier < n) {
      set(0, carrier, 1);
      return 1;
    }
    const Spring& spring = springs[carrier - n];
    const Vec3 d = at(q, spring.b) - at(q, spring.a);
    const double s = std::clamp(d.dot(p_W - at(q, spring.a)) / d.squaredNorm(), 0.0, 1.0);
    set(0, spring.a, 1 - s);
    set(1, spring.b, s);
    return 2;
  }

  ImpulseSize calc_system(const ObjectStep& step, const ConstVector& v, Vector m, Tangent tangent,
                          BlockMatrix* A) const override {
    const double dt = step.dt;
    double largest = 0;
    if (A != nullptr) A->set_zero();
    m.setZero();
    for (int i = 0; i < static_cast<int>(mass.size()); ++i) {
      const double mi = inertia(i);
      if (A != nullptr) Eigen::Map<Mat3>(A->block(i, i)) = mi * Mat3::Identity();
      m.segment<3>(3 * i) = mi * (at(v, i) - at(step.v0, i)) - dt * at(step.force, i);
      if (is_free(i)) m.segment<3>(3 * i) -= dt * mi * step.gravity;
      if (is_free(i)) largest = std::max(largest, dt * mi * step.gravity.norm());
    }
    // Where and how fast springs are taken: theta1 of the way.
    const VecX v_q = step.theta_vq * v + (1 - step.theta_vq) * step.v0;
    const VecX q1 = step.q0 + step.theta1 * dt * v_q, v1 = step.theta1 * v + (1 - step.theta1) * step.v0;
    for (int s = 0; s < static_cast<int>(springs.size()); ++s) {
      const Spring& x = springs[s];
      const Vec3 d = at(q1, x.b) - at(q1, x.a), e = d.normalized();
      const double length = d.norm(), rate = e.dot(at(v1, x.b) - at(v1, x.a));
      const Vec3 force = (x.stiffness * (length - x.length) + x.damping * rate) * e;
      largest = std::max(largest, dt * force.norm());
      m.segment<3>(3 * x.a) -= dt * force;
      m.segment<3>(3 * x.b) += dt * force;
      if (A == nullptr) continue;
      double across = x.stiffness * (1 - x.length / length);
      if (tangent == Tangent::convex) across = std::max(0.0, across);
      const Mat3 along = e * e.transpose(), K = x.stiffness * along + across * (Mat3::Identity() - along);
      const Mat3 G = dt * step.theta1 * (dt * step.theta_vq * K + x.damping * along);
      Eigen::Map<Mat3>(A->block(x.a, x.a)) += G;
      Eigen::Map<Mat3>(A->block(x.b, x.b)) += G;
      Eigen::Map<Mat3>(A->block(std::max(x.a, x.b), std::min(x.a, x.b))) -= G;
    }
    return {largest, 1e-15 * largest};
  }

  double calc_potential(const ObjectStep& step, const ConstVector& v) const override {
    const double dt = step.dt;
    const VecX v_q = step.theta_vq * v + (1 - step.theta_vq) * step.v0;
    const VecX q1 = step.q0 + step.theta1 * dt * v_q, v1 = step.theta1 * v + (1 - step.theta1) * step.v0;
    double sum = 0;
    each_free([&](int i) {
      const Vec3 dv = at(v, i) - at(step.v0, i);
      sum += 0.5 * mass[i] * dv.squaredNorm() - dt * dv.dot(at(step.force, i) + mass[i] * step.gravity);
    });
    if (step.theta1 * step.theta_vq == 0) return sum;
    for (const Spring& x : springs) {
      const Vec3 d = at(q1, x.b) - at(q1, x.a);
      const double stretch = d.norm() - x.length, rate = d.normalized().dot(at(v1, x.b) - at(v1, x.a));
      sum += 0.5 * x.stiffness * stretch * stretch / (step.theta1 * step.theta_vq) +
             0.5 * dt * x.damping * rate * rate / step.theta1;
    }
    return sum;
  }

  void move(const ConstVector& q0, const ConstVector& v, double dt, Vector q1) const override {
    q1 = q0 + dt * v;
  }

  double calc_kinetic_energy(const ConstVector&, const ConstVector& v) const override {
    double sum = 0;
    each_free([&](int i) { sum += 0.5 * mass[i] * at(v, i).squaredNorm(); });
    return sum;
  }
  double calc_elastic_energy(const ConstVector& q) const override {
    double sum = 0;
    for (const Spring& s : springs) {
      const double stretch = (at(q, s.b) - at(q, s.a)).norm() - s.length;
      sum += 0.5 * s.stiffness * stretch * stretch;
    }
    return sum;
  }
  Vec6 calc_momentum(const ConstVector& q, const ConstVector& v) const override {
    Vec6 sum = Vec6::Zero();
    each_free([&](int i) {
      const Vec3 p = mass[i] * at(v, i);
      sum.head<3>() += cross(at(q, i), p);
      sum.tail<3>() += p;
    });
    return sum;
  }
  double calc_mass(const ConstVector& q, Vec3* moment) const override {
    double sum = 0;
    moment->setZero();
    each_free([&](int i) {
      sum += mass[i];
      *moment += mass[i] * at(q, i);
    });
    return sum;
  }
  double calc_speed(const ConstVector&, const ConstVector& v) const override {
    double speed = 0;
    for (int i = 0; i < static_cast<int>(mass.size()); ++i) speed = std::max(speed, at(v, i).norm());
    return speed;
  }

 private:
  static Vec3 at(const ConstVector& x, int i) { return x.segment<3>(3 * i); }
  bool is_free(int i) const { return mass[i] < 1e12; }
  double inertia(int i) const { return is_free(i) ? mass[i] : 1e12; }
  template <class F>
  void each_free(const F& f) const {
    for (int i = 0; i < static_cast<int>(mass.size()); ++i) {
      if (is_free(i)) f(i);
    }
  }
};

}  // namespace capstan::test
