// Complementarity models and their solvers: conditions checked one by one, answers of all solvers beside each
// other, and what theory says of single bodies.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <map>
#include <string>

#include "capstan/rigid/rigid_solvers.h"
#include "tests/support/contact_simulation.h"
#include "tests/support/random_problem.h"

namespace capstan::rigid_test {
namespace {

using namespace test;

RigidOptions options_of(RigidModel model, double tolerance = 1e-6) {
  RigidOptions options;
  options.model = model;
  options.erp = 0.2;  // overlap undone by velocities: harder, since these need not be those of a motion
  options.tolerance = tolerance;
  options.max_iterations = 5000;
  return options;
}

// Coulomb's law of one contact, condition by condition; relative to impulse and velocity sizes.
void expect_coulomb(const Vec3& x, const Vec3& u, double mu, double x_size, double u_size, double tolerance) {
  EXPECT_GE(x.z(), -tolerance * x_size);
  EXPECT_GE(u.z(), -tolerance * u_size);
  EXPECT_LE(std::abs(x.z() * u.z()), tolerance * x_size * u_size);
  const double t = x.head<2>().norm(), slip = u.head<2>().norm();
  EXPECT_LE(t, mu * x.z() + tolerance * x_size);
  EXPECT_LE(slip * (mu * x.z() - t), tolerance * x_size * u_size) << "slides below the limit of friction";
  EXPECT_LE(slip * t + x.head<2>().dot(u.head<2>()), tolerance * x_size * u_size) << "not against the slip";
}

TEST(RigidContact, OneContactObeysCoulomb) {
  Random random(3);
  int sticks = 0, slides = 0;
  for (int i = 0; i < 5000; ++i) {
    Mat3 L;
    for (double& value : L.reshaped()) value = uniform(random, -1, 1);
    const Mat3 W = L * L.transpose() + 0.3 * Mat3::Identity();
    const Vec3 q = 2 * random_vector(random, 1);
    const double mu = uniform(random, 0, 1);
    const Vec3 x = solve_one_contact(W, q, mu), u = W * x + q;
    expect_coulomb(x, u, mu, 1 + x.norm(), 1 + q.norm(), 1e-10);
    if (x.z() > 0) (u.head<2>().norm() < 1e-9 ? sticks : slides) += 1;
  }
  EXPECT_GT(sticks, 200);
  EXPECT_GT(slides, 200);
}

TEST(RigidSolvers, AllFindTheAnswer) {
  for (const RigidModel model : {RigidModel::ncp, RigidModel::ccp, RigidModel::box}) {
    int contacts = 0, tried = 0;
    std::map<std::string, int> solved;
    for (int i = 0; i < 30; ++i) {
      const auto s = random_problem(Difficulty::ordinary, ContactLaw::sap, i);
      if (s->contacts.size() == 0) continue;
      const RigidProblem problem(s->problem, s->contacts, options_of(model));
      const VecX zero = VecX::Zero(problem.num_rows());
      VecX u;  // of the first solver
      contacts += s->contacts.size();
      ++tried;
      for (const RigidSolver& solver : rigid_solvers()) {
        if (!solver.takes(model)) continue;
        const RigidResult result = solver.solve(problem, zero);
        solved[solver.name] += result.converged;
        if (!result.converged) {
          EXPECT_GT(result.residual, problem.options().tolerance) << solver.name;  // and it says so
          continue;
        }
        EXPECT_LE(problem.calc_residual(result.x), problem.options().tolerance) << solver.name;
        const VecX own = problem.calc_u(result.x);
        if (model == RigidModel::ncp) {
          for (const RigidBlock& block : problem.blocks) {
            if (!block.is_contact()) continue;
            expect_coulomb(result.x.segment<3>(block.row), own.segment<3>(block.row), block.mu,
                           result.x.cwiseAbs().maxCoeff(), problem.b.cwiseAbs().maxCoeff(), 1e-4);
          }
        }
        // Velocities of the convex model are unique, impulses need not be.
        if (u.size() > 0 && model == RigidModel::ccp) {
          EXPECT_LT((own - u).norm(), 1e-3 * problem.b.norm()) << solver.name << " " << i;
        }
        u = own;
      }
    }
    EXPECT_GT(contacts, 150);
    for (const auto& [name, count] : solved) {
      // Sweeps are slow where many contacts share a body, all at a time they are slowest; and bounds that
      // follow from one linear problem to the next need not settle.
      const bool is_slow = name == "proximal_jacobi" || find_rigid_solver(name)->lcp != nullptr;
      const double share = is_slow ? 0.6 : 0.9;
      EXPECT_GE(count, share * tried) << name << ", " << traits(model).name;
    }
  }
}

// A box of 1 kg on the floor at v_t: what the next velocity is, by each model.
struct Sliding {
  Simulation run;
  explicit Sliding(double mu, const Vec3& v) : run(box_on_plane(mu, 1e6), 0.01, ContactLaw::sap) {
    run.go(1);  // at rest
    run.state.v.head<3>() = v;
    run.go(0.01);
  }
  VecX next(RigidModel model) {
    const RigidProblem problem(run.workspace.problem, run.workspace.contacts, options_of(model));
    const RigidResult result = solve_gauss_seidel(problem, VecX::Zero(problem.num_rows()));
    EXPECT_TRUE(result.converged);
    return run.workspace.motion.v_star + problem.calc_dv(result.x);
  }
};

TEST(RigidModels, AFastBoxIsSlowedByMuG) {
  Sliding box(0.3, {2, 0, 0});
  const VecX v = box.next(RigidModel::ncp);  // Coulomb: what the normal impulse changes, times mu
  EXPECT_NEAR(2 - v[0], 0.3 * (v[2] - box.run.workspace.motion.v_star[2]), 1e-5);
  EXPECT_NEAR(v[0], 2 - 0.3 * kGravity * 0.01, 1e-3);  // and some overlap is pushed out
  // Along an axis of its contact frame the pyramid is as strong as the cone, along the diagonal sqrt(2)
  // times.
  const double along = 2 - box.next(RigidModel::box)[0];
  Sliding diagonal(0.3, {std::sqrt(2.0), std::sqrt(2.0), 0});
  const double across = 2 - diagonal.next(RigidModel::box).head<2>().norm();
  EXPECT_NEAR(std::max(along, across), std::sqrt(2.0) * 0.3 * kGravity * 0.01, 2e-3);
  EXPECT_NEAR(std::min(along, across), 0.3 * kGravity * 0.01, 2e-3);
}

TEST(RigidModels, TheConvexModelLiftsWhatSlides) {
  Sliding box(0.3, {2, 0, 0});
  const VecX v = box.next(RigidModel::ccp);
  EXPECT_NEAR(v[2], 0.3 * std::abs(v[0]), 0.02);
  EXPECT_GT(v[2], 0.5);
}

TEST(RigidModels, AgreeWhereABoxSticks) {
  Sliding box(0.8, {0.01, 0.02, 0});
  const VecX ncp = box.next(RigidModel::ncp);
  EXPECT_LT(ncp.norm(), 1e-3);
  EXPECT_LT((box.next(RigidModel::ccp) - ncp).norm(), 1e-6);
  EXPECT_LT((box.next(RigidModel::box) - ncp).norm(), 1e-6);
}

}  // namespace
}  // namespace capstan::rigid_test
