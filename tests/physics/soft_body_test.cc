// Soft bodies by themselves: m, A and the incremental potential against differences, the patch test, mass,
// and what carriers tell of their points.
#include "capstan/physics/soft_body.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "capstan/geometry/collider.h"
#include "capstan/math/block_matrix.h"
#include "capstan/math/rotation.h"

namespace capstan::soft_body_test {
namespace {

constexpr Elasticity kAll[] = {Elasticity::linear_corotational, Elasticity::corotated,
                               Elasticity::neo_hookean, Elasticity::saint_venant_kirchhoff};

SoftBodySpec block(SoftElement element, Elasticity elasticity, std::array<int, 3> cells = {2, 1, 1}) {
  SoftBodySpec spec;
  spec.mesh = std::make_shared<const TetMesh>(make_box_tets({0.2, 0.1, 0.1}, cells));
  spec.element = element;
  spec.elasticity = elasticity;
  spec.young_modulus = 1e4;
  spec.poisson_ratio = 0.3;
  spec.density = 1000;
  return spec;
}

VecX random_vector(int n, double size, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  VecX x(n);
  for (double& value : x) value = size * normal(random);
  return x;
}

struct Setting {
  SoftBody body;
  VecX q, v, force;
  explicit Setting(const SoftBodySpec& spec) : body(spec) {
    const int n = 3 * body.num_nodes();
    q.resize(n);
    v.resize(n);
    body.set_initial(q, v);
    q += random_vector(n, 0.004, 1);
    v = random_vector(n, 0.3, 2);
    for (int i = 0; i < body.num_nodes(); ++i) {
      if (body.is_fixed(i)) v.segment<3>(3 * i).setZero();
    }
    force = random_vector(n, 0.1, 3);
  }
  ObjectStep step(double theta1, double theta_vq) const {
    return {q, v, force, Vec3(0, 0, -9.81), 0.01, theta1, theta_vq, theta1};
  }
};

// m by differences of the potential, A by those of m.
void check_derivatives(const SoftBodySpec& spec) {
  const Setting s(spec);
  const ObjectStep step = s.step(0.5, 0.75);
  const int n = static_cast<int>(s.q.size());
  VecX at = s.v + random_vector(n, 0.2, 4);
  for (int i = 0; i < n; ++i) {
    if (s.body.is_fixed(i / 3)) at[i] = 0;
  }
  BlockMatrix A;
  const ObjectLayout layout = s.body.layout();
  A.set_pattern({layout.block_sizes, layout.pairs, {}});
  VecX m(n), up(n), down(n);
  s.body.calc_system(step, at, m, Tangent::exact, &A);
  const MatX dense = A.dense();
  double worst_m = 0, worst_A = 0;
  for (int k = 0; k < n; ++k) {
    if (s.body.is_fixed(k / 3)) continue;
    constexpr double h = 1e-4;
    VecX a = at, b = at;
    a[k] += h;
    b[k] -= h;
    const double slope = (s.body.calc_potential(step, a) - s.body.calc_potential(step, b)) / (2 * h);
    worst_m = std::max(worst_m, std::abs(slope - m[k]));
    s.body.calc_system(step, a, up, Tangent::exact, nullptr);
    s.body.calc_system(step, b, down, Tangent::exact, nullptr);
    for (int i = 0; i < n; ++i) {
      if (!s.body.is_fixed(i / 3))
        worst_A = std::max(worst_A, std::abs((up[i] - down[i]) / (2 * h) - dense(i, k)));
    }
  }
  EXPECT_LT(worst_m, 1e-6 * m.cwiseAbs().maxCoeff()) << static_cast<int>(spec.elasticity);
  EXPECT_LT(worst_A, 1e-6 * dense(n - 1, n - 1)) << static_cast<int>(spec.elasticity);
}

TEST(SoftBody, MomentumAndTangentAreDerivativesOfThePotential) {
  for (const Elasticity elasticity : kAll) {
    for (const SoftElement element : {SoftElement::linear, SoftElement::quadratic}) {
      for (const bool lumped : {true, false}) {
        SoftBodySpec spec = block(element, elasticity, {1, 1, 1});
        spec.alpha = 0.7;
        spec.beta = 0.003;
        spec.lumped_mass = lumped;
        if (lumped) spec.fixed.push_back({false, {-0.1, 0, 0}, {1e-6, 1, 1}, 0});
        check_derivatives(spec);
      }
    }
  }
}

// Near nu = 1/2, where quadratic elements take part of lambda on their mean dilation.
TEST(SoftBody, SoTheyAreWithAMeanDilation) {
  for (const Elasticity elasticity : kAll) {
    SoftBodySpec spec = block(SoftElement::quadratic, elasticity, {1, 1, 1});
    spec.poisson_ratio = 0.49;
    spec.beta = 0.003;
    check_derivatives(spec);
    // And the gradient of the energy itself.
    const Setting s(spec);
    VecX gradient(s.q.size());
    s.body.calc_gradient(s.q, gradient);
    for (const int k : {0, 7, 20, 50}) {
      constexpr double h = 1e-7;
      VecX up = s.q, down = s.q;
      up[k] += h;
      down[k] -= h;
      const double slope = (s.body.calc_elastic_energy(up) - s.body.calc_elastic_energy(down)) / (2 * h);
      EXPECT_NEAR(slope, gradient[k], 1e-6 * gradient.cwiseAbs().maxCoeff()) << static_cast<int>(elasticity);
    }
  }
}

// A bar that is pulled has E times its strain; one that is bent E times curvature times height, which is
// linear in each element. Both wherever they are turned.
TEST(SoftBody, StressIsThatOfBars) {
  const Mat3 R = rotation_matrix(quat_exp({1, -2, 0.5}));
  for (const Elasticity elasticity : kAll) {
    for (const SoftElement element : {SoftElement::linear, SoftElement::quadratic}) {
      SoftBodySpec spec = block(element, elasticity, {4, 2, 2});
      for (const double nu : {0.3, 0.49}) {
        spec.poisson_ratio = nu;
        const SoftBody body(spec);
        VecX q(3 * body.num_nodes());
        std::vector<double> stress(body.num_nodes());
        const double e = 1e-5, k = 1e-4;  // strain, curvature [1/m]
        for (int i = 0; i < body.num_nodes(); ++i) {
          const Vec3 x = body.rest(i);
          q.segment<3>(3 * i) = R * (x + Vec3(e * x.x(), -nu * e * x.y(), -nu * e * x.z()));
        }
        body.calc_von_mises(q, stress);
        for (const double s : stress) EXPECT_NEAR(s, 1e4 * e, 1e-4 * 1e4 * e) << static_cast<int>(elasticity);
        if (element == SoftElement::linear) continue;
        for (int i = 0; i < body.num_nodes(); ++i) {
          const Vec3 x = body.rest(i);
          q.segment<3>(3 * i) =
              R * (x + k * Vec3(x.x() * x.z(), -nu * x.y() * x.z(),
                                -0.5 * (x.x() * x.x() + nu * (x.z() * x.z() - x.y() * x.y()))));
        }
        body.calc_von_mises(q, stress);
        for (int i = 0; i < body.num_nodes(); ++i)
          EXPECT_NEAR(stress[i], 1e4 * k * std::abs(body.rest(i).z()), 1e-3 * 1e4 * k * 0.05);
      }
    }
  }
}

// Far from small strains: a neo-Hookean bar stretched by s along x and t across has (P_x s - P_y t) / J.
TEST(SoftBody, StressIsCauchys) {
  SoftBodySpec spec = block(SoftElement::linear, Elasticity::neo_hookean);
  const SoftBody body(spec);
  const double s = 1.5, t = 0.8, J = s * t * t;
  const Lame lame = lame_constants(1e4, 0.3);
  const double Px = lame.mu * s + ((lame.lambda + lame.mu) * (J - 1) - lame.mu) * t * t;
  const double Py = lame.mu * t + ((lame.lambda + lame.mu) * (J - 1) - lame.mu) * s * t;
  VecX q(3 * body.num_nodes());
  std::vector<double> stress(body.num_nodes());
  for (int i = 0; i < body.num_nodes(); ++i) q.segment<3>(3 * i) = body.rest(i).cwiseProduct(Vec3(s, t, t));
  body.calc_von_mises(q, stress);
  for (const double x : stress) EXPECT_NEAR(x, std::abs(Px * s - Py * t) / J, 1e-9 * 1e4);
}

SoftBodySpec balloon() {
  SoftBodySpec spec = block(SoftElement::linear, Elasticity::linear_corotational);
  spec.mesh = std::make_shared<const TetMesh>(make_shell_tets(0.1, 0.06, 4, 1));
  spec.pressure = 700;
  spec.is_sealed = true;
  spec.pressure_around = 3000;
  return spec;
}

TEST(SoftBody, TheGasOfACavityHasAPotential) {
  SoftBodySpec spec = balloon();
  check_derivatives(spec);
  spec.fixed.push_back({false, {-0.1, 0, 0}, {0.05, 1, 1}, 0});
  check_derivatives(spec);
}

// (p + p_around) V stays; p is minus the slope of the energy; and without a sealed gas p is given.
TEST(SoftBody, ASealedGasKeepsItsPressureTimesVolume) {
  const Setting s(balloon());
  VecX rest(s.q.size()), v(s.q.size());
  s.body.set_initial(rest, v);
  EXPECT_NEAR(s.body.calc_pressure(rest), 700, 1e-9);
  EXPECT_NEAR(s.body.calc_gas_energy(rest), 0, 1e-12);
  const double constant = 3700 * s.body.calc_cavity_volume(rest);
  for (const double scale : {0.5, 0.9, 1.2, 2.0}) {
    const VecX q = scale * rest;
    const double V = s.body.calc_cavity_volume(q);
    EXPECT_NEAR((s.body.calc_pressure(q) + 3000) * V, constant, 1e-12 * constant);
    const double h = 1e-5;
    const VecX more = (scale + h) * rest, less = (scale - h) * rest;
    const double slope = (s.body.calc_gas_energy(more) - s.body.calc_gas_energy(less)) /
                         (s.body.calc_cavity_volume(more) - s.body.calc_cavity_volume(less));
    EXPECT_NEAR(-slope, s.body.calc_pressure(q), 1e-5 * 3700);
  }
}

// Whatever the mesh, a uniform deformation is held by forces at the boundary alone, and has the energy of its
// volume.
TEST(SoftBody, PassesThePatchTest) {
  for (const Elasticity elasticity : kAll) {
    for (const SoftElement element : {SoftElement::linear, SoftElement::quadratic}) {
      SoftBodySpec spec = block(element, elasticity, {3, 3, 3});
      TetMesh mesh = *spec.mesh;
      const VecX jitter = random_vector(3 * static_cast<int>(mesh.vertices.size()), 0.003, 5);
      for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
        const Vec3 x = mesh.vertices[i].cwiseAbs();
        if (x.x() < 0.0999 && x.y() < 0.0499 && x.z() < 0.0499) mesh.vertices[i] += jitter.segment<3>(3 * i);
      }
      spec.mesh = std::make_shared<const TetMesh>(mesh);
      const SoftBody body(spec);
      Mat3 F;
      F << 1.1, 0.05, -0.1, 0.02, 0.95, 0.03, 0.04, -0.06, 1.2;
      VecX q(3 * body.num_nodes()), gradient(q.size());
      for (int i = 0; i < body.num_nodes(); ++i) q.segment<3>(3 * i) = F * body.rest(i) + Vec3(1, 2, 3);
      body.calc_gradient(q, gradient);
      const Lame lame = lame_constants(1e4, 0.3);
      const double density = elasticity == Elasticity::linear_corotational
                                 ? linear_energy(lame, linear_strain(nearest_rotation(F), F))
                                 : calc_energy_density(elasticity, lame, F);
      Vec3 whole = Vec3::Zero();
      for (int i = 0; i < body.num_nodes(); ++i) {
        whole += gradient.segment<3>(3 * i);
        if (!body.is_on_surface(i)) {
          EXPECT_LT(gradient.segment<3>(3 * i).norm(), 1e-9);
        }
      }
      EXPECT_GT(gradient.norm(), 1);
      EXPECT_LT(whole.norm(), 1e-9);
      EXPECT_NEAR(body.calc_elastic_energy(q), 0.002 * density, 1e-9 * density);
      EXPECT_NEAR(body.calc_strain(q).volume, 0.002 * F.col(0).dot(cross(F.col(1), F.col(2))), 1e-12);
    }
  }
}

TEST(SoftBody, HasNoForcesWhereverItIsTurned) {
  for (const Elasticity elasticity : kAll) {
    const SoftBody body(block(SoftElement::quadratic, elasticity));
    const Mat3 R = rotation_matrix(quat_exp({1, -2, 0.5}));
    VecX q(3 * body.num_nodes()), gradient(q.size());
    for (int i = 0; i < body.num_nodes(); ++i) q.segment<3>(3 * i) = R * body.rest(i) + Vec3(1, 2, 3);
    body.calc_gradient(q, gradient);
    EXPECT_LT(gradient.norm(), 1e-9);
    EXPECT_LT(body.calc_elastic_energy(q), 1e-14);  // of E V = 20 J
  }
}

TEST(SoftBody, HasTheMassAndInertiaOfItsSolid) {
  for (const SoftElement element : {SoftElement::linear, SoftElement::quadratic}) {
    for (const bool lumped : {true, false}) {
      SoftBodySpec spec = block(element, Elasticity::neo_hookean, {8, 4, 4});
      spec.lumped_mass = lumped;
      const SoftBody body(spec);
      VecX q(3 * body.num_nodes()), v(q.size());
      body.set_initial(q, v);
      for (int i = 0; i < body.num_nodes(); ++i)
        v.segment<3>(3 * i) = Vec3(1, 0, 0) + cross(Vec3(0, 0, 2), SoftBody::node(q, i));
      Vec3 moment;
      EXPECT_NEAR(body.calc_mass(q, &moment), 2, 1e-12);
      EXPECT_LT(moment.norm(), 1e-12);
      const double I = 2.0 * (0.04 + 0.01) / 12;
      const Vec6 momentum = body.calc_momentum(q, v);
      EXPECT_NEAR(momentum[5 - 2], 2, 1e-12);
      EXPECT_NEAR(momentum[2], 2 * I, lumped ? 0.06 * 2 * I : 1e-12);
      EXPECT_NEAR(body.calc_kinetic_energy(q, v), 1 + 0.5 * I * 4, lumped ? 0.06 * I * 2 : 1e-12);
    }
  }
}

TEST(SoftBody, CarriersMoveAsTheirPointsDo) {
  SoftBodySpec spec = block(SoftElement::linear, Elasticity::neo_hookean);
  spec.has_edges = true;
  const Setting s(spec);
  const int carriers = s.body.layout().num_carriers;
  std::vector<Transform> X(carriers), later(carriers);
  std::vector<Vec6> V(carriers);
  const Vec3 origin(0.3, -0.2, 0.1);
  s.body.place(s.q, X);
  s.body.calc_twists(s.q, s.v, origin, V);
  constexpr double h = 1e-7;
  s.body.place(s.q + h * s.v, later);
  for (int c = 0; c < carriers; ++c) {
    const Mat3 turn = (later[c].R - X[c].R) * X[c].R.transpose() / h;
    const Vec3 w(turn(2, 1), turn(0, 2), turn(1, 0)), p = (later[c].p - X[c].p) / h;
    EXPECT_LT((w - V[c].head<3>()).norm(), 1e-4 * (1 + w.norm()));
    EXPECT_LT((p - V[c].tail<3>() - cross(V[c].head<3>(), Vec3(X[c].p - origin))).norm(), 1e-5);
  }
  // A point of a triangle: weights times nodes.
  for (int t = 0; t < static_cast<int>(s.body.triangles().size()); ++t) {
    const auto& triangle = s.body.triangles()[t];
    const double weights[3] = {0.2, 0.3, 0.5};
    Vec3 p = Vec3::Zero(), v = Vec3::Zero(), sum = Vec3::Zero();
    for (int k = 0; k < 3; ++k) {
      p += weights[k] * SoftBody::node(s.q, triangle[k]);
      v += weights[k] * SoftBody::node(s.v, triangle[k]);
    }
    PointPart parts[kMostPointParts];
    const int n = s.body.calc_point(s.q, s.body.num_carried() + t, p, parts);
    ASSERT_EQ(n, 3);
    for (int k = 0; k < n; ++k)
      sum += Eigen::Map<const Mat3>(parts[k].J.data()) * SoftBody::node(s.v, parts[k].block);
    EXPECT_LT((sum - v).norm(), 1e-12);
    Collider collider;
    s.body.bend(s.q, s.body.num_carried() + t, &collider);
    for (int k = 0; k < 3; ++k)
      EXPECT_LT((X[s.body.num_carried() + t] * collider.vertex[k] - SoftBody::node(s.q, triangle[k])).norm(),
                1e-14);
  }
  // Edges: a closed surface has three for two triangles; capsules from node to node, between two normals.
  const int first = s.body.num_carried() + static_cast<int>(s.body.triangles().size());
  ASSERT_EQ(2 * s.body.edges().size(), 3 * s.body.triangles().size());
  for (int e = 0; e < static_cast<int>(s.body.edges().size()); ++e) {
    const auto& edge = s.body.edges()[e];
    const Vec3 a = SoftBody::node(s.q, edge.nodes[0]), b = SoftBody::node(s.q, edge.nodes[1]);
    PointPart parts[kMostPointParts];
    ASSERT_EQ(s.body.calc_point(s.q, first + e, 0.3 * a + 0.7 * b, parts), 2);
    Vec3 sum = Vec3::Zero();
    for (int k = 0; k < 2; ++k)
      sum += Eigen::Map<const Mat3>(parts[k].J.data()) * SoftBody::node(s.v, parts[k].block);
    EXPECT_LT(
        (sum - 0.3 * SoftBody::node(s.v, edge.nodes[0]) - 0.7 * SoftBody::node(s.v, edge.nodes[1])).norm(),
        1e-12);
    Collider collider;
    s.body.bend(s.q, first + e, &collider);
    EXPECT_TRUE(collider.is_edge);
    EXPECT_LT((X[first + e] * Vec3(0, 0, -collider.size.z()) - a).norm(), 1e-14);
    EXPECT_LT((X[first + e] * Vec3(0, 0, collider.size.z()) - b).norm(), 1e-14);
    const int triangles[2] = {edge.left, edge.right};
    for (int k = 0; k < 2; ++k) {
      const Vec3 n = X[s.body.num_carried() + triangles[k]].R.col(2);
      EXPECT_LT((X[first + e].R * collider.vertex[k] - n).norm(), 1e-12);
    }
    // At rest the edges of a box are flat or convex.
    VecX rest(s.q.size()), still(s.q.size());
    s.body.set_initial(rest, still);
    s.body.bend(rest, first + e, &collider);
    EXPECT_GT(cross(collider.vertex[0], collider.vertex[1]).z(), -1e-12);
  }
}

TEST(SoftBody, NeighboursAreThoseOfOneElement) {
  SoftBodySpec spec = block(SoftElement::linear, Elasticity::corotated, {4, 2, 2});
  EXPECT_TRUE(SoftBody(spec).layout().apart.empty());
  spec.has_edges = spec.self_contact = true;
  const SoftBody body(spec);
  const auto apart = body.layout().apart;
  const auto is_apart = [&](int a, int b) {
    return std::find(apart.begin(), apart.end(), std::array<int, 2>{std::min(a, b), std::max(a, b)}) !=
           apart.end();
  };
  for (int t = 0; t < static_cast<int>(body.triangles().size()); ++t) {
    const auto& triangle = body.triangles()[t];
    for (int c = 0; c < body.num_carried(); ++c) {
      double nearest = kInfinity;
      for (const int i : triangle)
        nearest = std::min(nearest, (body.rest(i) - body.rest(body.carried(c))).norm());
      // Cells are 50 mm.
      const bool found = is_apart(c, body.num_carried() + t);
      EXPECT_TRUE(found || nearest > 1e-9);
      EXPECT_TRUE(!found || nearest < 0.0901);
    }
  }
}

TEST(SoftBody, TellsWhatIsWrong) {
  const auto message = [](const auto& change) {
    SoftBodySpec spec = block(SoftElement::linear, Elasticity::corotated);
    change(&spec);
    try {
      const SoftBody body(spec);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message([](SoftBodySpec* s) { s->young_modulus = -1; }).find("Young's modulus is -1 Pa"),
            std::string::npos);
  EXPECT_NE(message([](SoftBodySpec* s) { s->poisson_ratio = 0.5; }).find("Poisson ratio is 0.5"),
            std::string::npos);
  EXPECT_NE(message([](SoftBodySpec* s) { s->density = 0; }).find("density is 0"), std::string::npos);
  EXPECT_NE(message([](SoftBodySpec* s) { s->mesh = std::make_shared<TetMesh>(); }).find("no tets"),
            std::string::npos);
  const auto broken = [](double z) {
    return [z](SoftBodySpec* s) {
      TetMesh mesh;
      mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.2, 0.2, z}};
      mesh.tets = {{0, 1, 2, 3}};
      s->mesh = std::make_shared<TetMesh>(mesh);
    };
  };
  EXPECT_NE(message(broken(0)).find("tet 0 of the soft body (vertices 0 1 2 3, at 0 0 0) is flat"),
            std::string::npos);
  EXPECT_NE(message(broken(-1)).find("is inverted"), std::string::npos);
  EXPECT_EQ(message(broken(1)), "");
}

}  // namespace
}  // namespace capstan::soft_body_test
