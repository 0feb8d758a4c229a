// Tree dynamics against a plain twin: poses by composing transforms one after the other in long double,
// everything else by differentiating those poses numerically (fourth order) and summing over bodies.
#include "capstan/dynamics/tree.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <functional>

#include "capstan/math/rotation.h"
#include "tests/support/random_scene.h"

namespace capstan::tree_test {
namespace {

using test::Random;
using Real = long double;
using Mat3L = Eigen::Matrix<Real, 3, 3>;
using Vec3L = Eigen::Matrix<Real, 3, 1>;
using Vec4L = Eigen::Matrix<Real, 4, 1>;

struct PoseL {
  Mat3L R = Mat3L::Identity();
  Vec3L p = Vec3L::Zero();
};

Mat3L turn(const Vec3L& phi) {
  const Real a = phi.norm();
  if (a == 0) return Mat3L::Identity();
  return Eigen::AngleAxis<Real>(a, phi / a).toRotationMatrix();
}

// The pose of every body of the scene for q moved by the tangent vector `d` (first order exact: turns act
// from the left in the axes before the joint).
std::map<std::string, PoseL> twin_poses(const Scene& scene, const Model& model, const VecX& q,
                                        const Eigen::Matrix<Real, -1, 1>& d) {
  std::map<std::string, PoseL> poses;
  poses[kWorld] = {};
  std::size_t done = 0;
  while (poses.size() < scene.bodies.size() + 1) {
    for (const Body& body : scene.bodies) {
      if (poses.count(body.name) || !poses.count(body.parent)) continue;
      PoseL X = poses[body.parent];
      const auto quat = [](const Vec4L& w) {
        return Eigen::Quaternion<Real>(w[0], w[1], w[2], w[3]).normalized();
      };
      const bool is_free = !body.joints.empty() && body.joints[0].type == JointType::free;
      if (!is_free) {
        X.p += X.R * body.pose.position.cast<Real>();
        X.R = X.R * quat(body.pose.quat_wxyz.cast<Real>()).toRotationMatrix();
      }
      for (const Joint& joint : body.joints) {
        const ModelJoint& m = model.joints[model.find_joint(joint.name)];
        const auto value = [&](int k) { return static_cast<Real>(q[m.q + k]) + d[m.v + k]; };
        const Vec3L position = joint.position.cast<Real>(), axis = joint.axis.cast<Real>().normalized();
        const auto rotate_about = [&](const Mat3L& R) {
          const Vec3L anchor = X.p + X.R * position;
          X.R = X.R * R;
          X.p = anchor - X.R * position;
        };
        switch (joint.type) {
          case JointType::weld:
            break;
          case JointType::revolute:
            rotate_about(turn(axis * (value(0) - joint.reference)));
            break;
          case JointType::prismatic:
            X.p += X.R * axis * (value(0) - joint.reference);
            break;
          case JointType::screw: {
            const Vec3L travel = X.R * axis * (joint.pitch * (value(0) - joint.reference));
            rotate_about(turn(axis * (value(0) - joint.reference)));
            X.p += travel;
            break;
          }
          case JointType::universal:
            rotate_about(turn(axis * value(0)));
            rotate_about(turn(joint.axis2.cast<Real>().normalized() * value(1)));
            break;
          case JointType::planar: {
            const Vec3L x =
                (joint.axis2.cast<Real>() - joint.axis2.cast<Real>().dot(axis) * axis).normalized();
            X.p += X.R * (x * value(0) + axis.cross(x) * value(1));
            rotate_about(turn(axis * value(2)));
            break;
          }
          case JointType::ball: {
            const Vec3L phi = d.segment(m.v, 3);
            rotate_about(turn(phi) * quat(q.segment<4>(m.q).cast<Real>()).toRotationMatrix());
            break;
          }
          case JointType::free: {
            const Vec3L phi = d.segment(m.v + 3, 3);
            X.p += X.R * (q.segment<3>(m.q).cast<Real>() + d.segment(m.v, 3));
            X.R = X.R * turn(phi) * quat(q.segment<4>(m.q + 3).cast<Real>()).toRotationMatrix();
            break;
          }
        }
      }
      poses[body.name] = X;
    }
    EXPECT_GT(poses.size(), done);
    done = poses.size();
  }
  return poses;
}

struct Derivatives {
  Vec3L c, dc, ddc;  // centre of mass and its time derivatives
  Vec3L w, dw;       // angular velocity and acceleration
  Mat3L R;
};

// Of every body along q(t) = q moved by v t + a t^2/2.
std::map<std::string, Derivatives> along(const Scene& scene, const Model& model, const VecX& q, const VecX& v,
                                         const VecX& a) {
  const Real h = 1e-3L;
  std::vector<std::map<std::string, PoseL>> at;
  for (int i = -2; i <= 2; ++i) {
    const Real t = i * h;
    at.push_back(twin_poses(scene, model, q, v.cast<Real>() * t + a.cast<Real>() * (t * t / 2)));
  }
  const auto first = [&](auto f) -> decltype(f(0)) {
    return ((f(0) - f(4)) / 12 - (f(1) - f(3)) * 2 / 3) / h;
  };
  const auto second = [&](auto f) -> decltype(f(0)) {
    return (-(f(0) + f(4)) / 12 + (f(1) + f(3)) * 4 / 3 - f(2) * 5 / 2) / (h * h);
  };
  std::map<std::string, Derivatives> result;
  for (const Body& body : scene.bodies) {
    const auto com = [&](int i) -> Vec3L {
      const PoseL& X = at[i][body.name];
      return X.p + X.R * body.inertia->com.cast<Real>();
    };
    const auto R = [&](int i) -> Mat3L { return at[i][body.name].R; };
    Derivatives d;
    d.R = R(2);
    d.c = com(2);
    d.dc = first(com);
    d.ddc = second(com);
    const Mat3L W = first(R) * d.R.transpose(), Z = second(R) * d.R.transpose();
    d.w = Vec3L(W(2, 1), W(0, 2), W(1, 0));
    d.dw = Vec3L(Z(2, 1) - Z(1, 2), Z(0, 2) - Z(2, 0), Z(1, 0) - Z(0, 1)) / 2;
    result[body.name] = d;
  }
  return result;
}

struct TwinDynamics {
  MatX M;
  VecX inverse;
  double kinetic = 0, gravity = 0;
  Vec6 momentum = Vec6::Zero();
};

TwinDynamics twin_dynamics(const Scene& scene, const Model& model, const State& s, const VecX& a) {
  const int n = model.num_velocities();
  const VecX zero = VecX::Zero(n);
  std::vector<std::map<std::string, Derivatives>> columns;
  for (int k = 0; k < n; ++k) columns.push_back(along(scene, model, s.q, VecX::Unit(n, k), zero));
  auto moving = along(scene, model, s.q, s.v, a);
  TwinDynamics twin{MatX::Zero(n, n), zero};
  for (const Body& body : scene.bodies) {
    const Derivatives& d = moving[body.name];
    const Real m = body.inertia->mass;
    const Mat3L I = d.R * body.inertia->about_com.cast<Real>() * d.R.transpose();
    const Vec3L g = scene.options.gravity.cast<Real>();
    if (model.bodies[model.find_body(body.name)].link == 0) continue;
    const Vec3L force = m * (d.ddc - g), moment = I * d.dw + d.w.cross(I * d.w);
    for (int i = 0; i < n; ++i) {
      const Derivatives& ci = columns[i][body.name];
      twin.inverse[i] += static_cast<double>(force.dot(ci.dc) + moment.dot(ci.w));
      for (int j = 0; j < n; ++j) {
        const Derivatives& cj = columns[j][body.name];
        twin.M(i, j) += static_cast<double>(m * ci.dc.dot(cj.dc) + ci.w.dot(I * cj.w));
      }
    }
    twin.kinetic += static_cast<double>(m * d.dc.squaredNorm() + d.w.dot(I * d.w)) / 2;
    twin.gravity -= static_cast<double>(m * g.dot(d.c));
    twin.momentum.head<3>() += (I * d.w + m * d.c.cross(d.dc)).cast<double>();
    twin.momentum.tail<3>() += (m * d.dc).cast<double>();
  }
  for (int k = 0; k < n; ++k) {
    const double rotor = model.dofs[k].rotor_inertia;
    twin.M(k, k) += rotor;
    twin.inverse[k] += rotor * a[k];
    twin.kinetic += rotor * s.v[k] * s.v[k] / 2;
  }
  return twin;
}

class RandomTrees : public testing::Test {
 protected:
  void for_each(const std::function<void(const Scene&, const Model&, const State&, const VecX&)>& body) {
    Random random(7);
    int covered = 0;
    for (int i = 0; i < 40; ++i) {
      const Scene scene = test::random_scene(random, 1 + i % 8);
      const Model model = compile(scene);
      if (model.num_velocities() == 0) continue;
      const State state = test::random_state(random, model, 3);
      VecX a(model.num_velocities());
      for (double& x : a) x = test::uniform(random, -5, 5);
      SCOPED_TRACE("scene " + std::to_string(i));
      body(scene, model, state, a);
      for (const ModelJoint& joint : model.joints) covered |= 1 << static_cast<int>(joint.type);
    }
    EXPECT_EQ(covered, 0b11111110) << "every joint type but weld";
  }
};

TEST_F(RandomTrees, MassMatrixBiasEnergyAndMomentumMatchTheTwin) {
  for_each([](const Scene& scene, const Model& model, const State& s, const VecX& a) {
    Placement placement = make_placement(model);
    Velocity velocity = make_velocity(model);
    TreeWorkspace workspace = make_tree_workspace(model);
    calc_placement(model, s.q, &placement);
    calc_velocity(model, placement, s.v, &velocity);
    const TwinDynamics twin = twin_dynamics(scene, model, s, a);
    const int n = model.num_velocities();

    VecX values(model.pattern.num_values()), tau(n), forward(n);
    calc_mass_matrix(model, placement, &workspace, &values);
    MatX M(n, n);
    expand(model.pattern, values.data(), 0, n, M);
    EXPECT_LT((M - twin.M).cwiseAbs().maxCoeff(), 1e-8 * (1 + twin.M.cwiseAbs().maxCoeff()));

    calc_inverse_dynamics(model, placement, velocity, &a, &workspace, &tau);
    EXPECT_LT((tau - twin.inverse).cwiseAbs().maxCoeff(), 1e-8 * (1 + tau.cwiseAbs().maxCoeff()));

    calc_forward_dynamics(model, placement, velocity, tau, &workspace, &forward);
    EXPECT_LT((forward - a).cwiseAbs().maxCoeff(), 1e-9 * (1 + a.cwiseAbs().maxCoeff()));

    EXPECT_NEAR(calc_kinetic_energy(model, placement, velocity, s.v), twin.kinetic,
                1e-8 * (1 + twin.kinetic));
    EXPECT_NEAR(calc_gravity_energy(model, placement), twin.gravity, 1e-10 * (1 + std::abs(twin.gravity)));
    EXPECT_LT((calc_momentum(model, placement, velocity) - twin.momentum).norm(),
              1e-8 * (1 + twin.momentum.norm()));
  });
}

TEST_F(RandomTrees, JacobiansMatchTheTwin) {
  Random random(3);
  for_each([&](const Scene& scene, const Model& model, const State& s, const VecX&) {
    Placement placement = make_placement(model);
    Velocity velocity = make_velocity(model);
    calc_placement(model, s.q, &placement);
    calc_velocity(model, placement, s.v, &velocity);
    const int n = model.num_velocities();
    const int body = std::uniform_int_distribution<int>(1, static_cast<int>(model.bodies.size()) - 1)(random);
    const Scene* found = &scene;
    const Body& b = *std::find_if(found->bodies.begin(), found->bodies.end(),
                                  [&](const Body& x) { return x.name == model.bodies[body].name; });
    const Transform X = body_pose(model, placement, body);
    const Vec3 p_W = X * b.inertia->com;
    MatX J(6, n), Jp(3, n);
    calc_body_jacobian(model, placement, body, p_W, J);
    calc_point_jacobian(model, placement, body, p_W, Jp);
    EXPECT_EQ(Jp, J.bottomRows<3>());
    for (int k = 0; k < n; ++k) {
      auto column = along(scene, model, s.q, VecX::Unit(n, k), VecX::Zero(n));
      const Derivatives& d = column[b.name];
      EXPECT_LT((J.col(k).head<3>() - d.w.cast<double>()).norm(), 1e-9);
      EXPECT_LT((J.col(k).tail<3>() - d.dc.cast<double>()).norm(), 1e-9);
      EXPECT_LT((X.R - d.R.cast<double>()).norm(), 1e-12);
    }
    const Vec6 V = body_velocity(model, placement, velocity, body);
    calc_body_jacobian(model, placement, body, X.p, J);
    EXPECT_LT((J * s.v - V).norm(), 1e-12 * (1 + V.norm()));
  });
}

// A humanoid far from the origin keeps its digits: the mass matrix does not change when the scene is moved by
// 1 km.
TEST(Tree, FarFromTheOriginTheMassMatrixKeepsItsDigits) {
  Random random(5);
  Scene scene = test::random_scene(random, 6);
  scene.bodies[0].joints.resize(1);
  scene.bodies[0].joints[0].type = JointType::free;
  scene.bodies[0].joints[0].name = "root";
  for (std::size_t i = 1; i < scene.bodies.size(); ++i) scene.bodies[i].parent = "b0";
  const Model model = compile(scene);
  State state = test::random_state(random, model, 1);
  Placement placement = make_placement(model);
  TreeWorkspace workspace = make_tree_workspace(model);
  VecX near(model.pattern.num_values()), far = near;
  calc_placement(model, state.q, &placement);
  calc_mass_matrix(model, placement, &workspace, &near);
  state.q.segment<3>(model.joints[model.find_joint("root")].q) += Vec3(1000, -1000, 500);
  calc_placement(model, state.q, &placement);
  calc_mass_matrix(model, placement, &workspace, &far);
  EXPECT_LT((near - far).cwiseAbs().maxCoeff(), 1e-11);
}

}  // namespace
}  // namespace capstan::tree_test
