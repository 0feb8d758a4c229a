#include "capstan/solvers/answer_factor.h"

#include "capstan/dynamics/objects.h"
#include "capstan/laws/contact_laws.h"
#include "capstan/solvers/island_system.h"

namespace capstan {

struct AnswerFactor::Data {
  const Problem& problem;
  Islands islands;
  IslandMaps maps;
  std::vector<IslandSystem> systems;  // [islands]
  bool is_factored = true;
};

namespace {

constexpr int kNumVectors = 2;

// G of each group of an island, in the rows of the group.
std::vector<Mat6> calc_group_hessians(const IslandSystem& system, const VecX& v) {
  const Problem& problem = *system.problem;
  std::vector<Mat6> G(system.num_groups(), Mat6::Zero());
  with_law(problem.options.law, problem.options.normal_law, [&](auto law) {
    for (int g = 0; g < system.num_groups(); ++g) {
      const ConstraintGroup& group = system.group(g);
      const Vec6 U = problem.calc_motion(group, v);
      for (int i = group.contact_begin; i < group.contact_end; ++i) {
        Mat3 of_contact;
        decltype(law)::evaluate(problem.contacts[i], Vec3(problem.X[i] * U), nullptr, nullptr, &of_contact);
        G[g] += problem.X[i].transpose() * of_contact * problem.X[i];
      }
      for (int r = 0; r < group.num_rows && !system.has_contacts(group); ++r) {
        double cost;
        evaluate(problem.laws[group.law_begin + r], U[r], &cost, &G[g](r, r));
      }
    }
  });
  return G;
}

std::vector<double> calc_dof_hessians(const IslandSystem& system, const VecX& v) {
  std::vector<double> G(system.num_dof_laws());
  for (int i = 0; i < system.num_dof_laws(); ++i) {
    const DofLaw& law = system.dof_law(i);
    double cost;
    evaluate(law.law, law.sign * v[law.dof], &cost, &G[i]);
  }
  return G;
}

}  // namespace

AnswerFactor::AnswerFactor(const Problem& problem, const VecX& v)
    : data_(new Data{.problem = problem, .islands = {}, .maps = {}, .systems = {}}) {
  Data& d = *data_;
  find_islands(problem, std::vector<char>(problem.groups.size(), 1), &d.islands);
  const Model& model = *problem.model;
  d.maps.local_block.resize(model.blocks.size());
  for (std::size_t i = model.trees.size(); i < model.objects.size();
       ++i) {  // right-hand sides are of any dofs
    const Object& object = model.objects[i];
    d.maps.condensation.emplace_back().update(*problem.motion->objects[i - model.trees.size()],
                                              std::vector<char>(object.block_end - object.block_begin, 1));
  }
  d.systems.resize(d.islands.list.size());
  for (std::size_t i = 0; i < d.systems.size() && d.is_factored; ++i) {
    IslandSystem& system = d.systems[i];
    system.begin(problem, d.islands, d.islands.list[i], &d.maps, kNumVectors);
    system.vector(0).setZero();
    d.is_factored = system.solve(calc_group_hessians(system, v), calc_dof_hessians(system, v),
                                 system.vector(0), system.vector(1));
  }
}

AnswerFactor::~AnswerFactor() = default;
AnswerFactor::AnswerFactor(AnswerFactor&&) noexcept = default;
AnswerFactor::operator bool() const {
  return data_->is_factored;
}

void AnswerFactor::solve_in_place(Eigen::Ref<MatX> X) const {
  const Problem& problem = data_->problem;
  const Model& model = *problem.model;
  VecX x;
  for (int column = 0; column < X.cols(); ++column) {
    x = X.col(column);
    for (int o = 0; o < model.num_objects(); ++o) {
      if (data_->islands.of_object[o] < 0) solve_A(model, *problem.motion, o, &x);
    }
    for (IslandSystem& system : data_->systems) {
      IslandSystem::Vector right = system.vector(0), left = system.vector(1);
      system.gather(x, right);
      right = -right;
      system.solve_again(right, left);
      for (int o = 0; o < system.num_objects(); ++o) {
        const Object& object = system.object(o);
        x.segment(object.dof_begin, object.num_dofs()) =
            left.segment(system.object_start[o], object.num_dofs());
      }
    }
    X.col(column) = x;
  }
}

}  // namespace capstan
