#include "capstan/solvers/newton.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "capstan/physics/soft_body.h"
#include "capstan/solvers/island_solver.h"

namespace capstan {

namespace {

// Nearly all steps have fewer than ten rounds. More come from iterates that go astray: then islands are
// solved to the end before anything comes in, and at last everything does.
constexpr int kMostInterrupts = 10, kMostWakings = 15;
constexpr int kSizeOfBlock = 32;    // contacts and other constraints: a few microseconds of work
constexpr int kSquaredDofs = 16;    // of a block: as much work as a contact
constexpr int kGroupsInBlock = 64;  // likewise

bool acts_on(const std::vector<char>& objects, const Problem& problem, const ConstraintGroup& group) {
  return group.part_begin < group.part_end &&
         objects[problem.object_of(problem.parts[group.part_begin])] != 0;
}

}  // namespace

struct NewtonWorkspace::Solvers {
  using Solver = std::unique_ptr<IslandSolver>;
  // For islands of several objects: one for each place in the order of size, so that patterns mostly stay the
  // same from step to step.
  std::vector<Solver> list;
  // For islands of one object, by its number of dofs: one for each thread, whose memory is still in its cache
  // from the island before.
  struct Shared {
    int num_dofs = 0;
    std::vector<Solver> free;
  };
  std::vector<Shared> shared;
  std::mutex mutex;           // of shared
  VecX v_next;                // what becomes of v in a round: islands look at the velocities of others
  IslandMaps maps;            // islands share no part of it
  std::vector<char> touched;  // [blocks] scratch
  std::vector<IslandResult> results;  // [objects] of the island whose lowest object it is
  std::vector<int> order;             // islands to solve, largest first
  std::vector<int> place;             // [order] in `list`, or -1 for islands of one object

  enum : char { kIdle, kUsed, kNew };
  std::vector<char> is_soft;  // [objects] it is a soft body
  std::vector<char> uses;     // [groups] whether it is in an island; kNew: since the last solve
  std::vector<int> idle;      // groups that are not
  std::vector<int> idle_start, idle_of_island;  // [islands + 1]: those that touch an object of an island

  std::vector<int> size;     // [islands] contacts and other constraints
  std::vector<char> solved;  // [islands] in the last round

  std::vector<int> blocks;  // where each begins in `order`, and its end: for one thread at a time

  UnionFind sets;  // of objects, by all groups, those that are idle, too

  template <class Try>
  void make_solvers(const Problem& problem, const Islands& islands, int num_threads, const Try& try_out);
  Solver take(int num_dofs);
  void put_back(int num_dofs, Solver solver);
  void make_blocks(const Problem& problem, const Islands& islands);
  void find_reused(const Problem& problem, std::span<const char> reused_groups, std::vector<char>* is_reused);
  void find_idle(const Problem& problem, const NewtonOptions& options, const Threads& threads,
                 const std::vector<char>& is_reused);
  void calc_sizes(const Problem& problem, const Islands& islands);
  void assign_idle(const Problem& problem, const Islands& islands);
  bool wake(const Problem& problem, const Islands& islands, bool only_closed, const VecX& v);
  bool has_new(const Islands& islands, int island) const;
};

// Objects all whose groups, and those of all objects that these connect, are reused.
void NewtonWorkspace::Solvers::find_reused(const Problem& problem, std::span<const char> reused_groups,
                                           std::vector<char>* is_reused) {
  const Model& model = *problem.model;
  const int n = model.num_objects(), num_groups = static_cast<int>(problem.groups.size());
  is_reused->assign(n, false);
  if (std::none_of(reused_groups.begin(), reused_groups.end(), [](char x) { return x != 0; })) return;
  sets.reset(n);
  const auto for_each_part = [&](const auto& f) {
    for (int g = 0; g < num_groups; ++g) {
      const ConstraintGroup& group = problem.groups[g];
      for (int p = group.part_begin; p < group.part_end; ++p)
        f(g, problem.object_of(problem.parts[group.part_begin]), problem.object_of(problem.parts[p]));
    }
  };
  for_each_part([&](int, int a, int b) { sets.unite(a, b); });
  // At the roots: a group that is not reused undoes what others say.
  for_each_part([&](int, int, int t) { (*is_reused)[sets.find(t)] = true; });
  for_each_part([&](int g, int, int t) {
    if (g >= static_cast<int>(reused_groups.size()) || reused_groups[g] == 0)
      (*is_reused)[sets.find(t)] = false;
  });
  for (const DofLaw& law : problem.dof_laws) (*is_reused)[sets.find(model.dofs[law.dof].object)] = false;
  for (int t = 0; t < n; ++t) (*is_reused)[t] = (*is_reused)[sets.find(t)];
}

// Contacts that are clearly open before the step and in free motion: by more than gravity moves a body in a
// step, so that a rest has the same islands all the time. (A line search has its whole cost from the
// beginning.) Those of soft bodies, which are many, come in as they close: the more nodes are touched, the
// dearer an iteration, and free motion lets a squeezed body swell as it never does.
void NewtonWorkspace::Solvers::find_idle(const Problem& problem, const NewtonOptions& options,
                                         const Threads& threads, const std::vector<char>& is_reused) {
  constexpr double kSoftMargin = 0.1;  // of that of others
  const Model& model = *problem.model;
  const auto velocity_in = [&](const VecX& v) {
    return [&](int block) { return v.data() + model.blocks[block].dof_begin; };
  };
  is_soft.resize(model.objects.size());
  for (std::size_t i = 0; i < model.objects.size(); ++i)
    is_soft[i] = dynamic_cast<const SoftBody*>(model.objects[i].physics.get()) != nullptr;
  const double margin = problem.dt * model.options.gravity.norm();
  const int num_groups = static_cast<int>(problem.groups.size());
  uses.resize(num_groups);
  idle.clear();
  threads.for_each_block(num_groups, kGroupsInBlock, [&](int begin, int end) {
    for (int g = begin; g < end; ++g) {
      const ConstraintGroup& group = problem.groups[g];
      if (acts_on(is_reused, problem, group)) continue;  // it is what it was
      uses[g] = kNew;
      if (options.globalization != Globalization::primal_dual || group.contact_begin == group.contact_end)
        continue;
      const auto parts = problem.parts.begin();
      const bool any_soft =
          std::any_of(parts + group.part_begin, parts + group.part_end,
                      [&](const GroupPart& part) { return is_soft[problem.object_of(part)] != 0; });
      if (!is_idle(problem, group, any_soft ? kSoftMargin * margin : margin, velocity_in(problem.v0)))
        continue;
      if (!any_soft && !is_idle(problem, group, margin, velocity_in(problem.motion->v_star))) continue;
      uses[g] = kIdle;
    }
  });
  for (int g = 0; g < num_groups; ++g) {
    if (uses[g] == kIdle) idle.push_back(g);
  }
}

void NewtonWorkspace::Solvers::assign_idle(const Problem& problem, const Islands& islands) {
  const auto for_each_island = [&](int g, const auto& f) {
    int last = -1;
    for (int p = problem.groups[g].part_begin; p < problem.groups[g].part_end; ++p) {
      const int island = islands.of_object[problem.object_of(problem.parts[p])];
      if (island >= 0 && island != last) f(last = island);
    }
  };
  idle_start.assign(islands.list.size() + 1, 0);
  for (const int g : idle) for_each_island(g, [&](int island) { ++idle_start[island]; });
  int sum = 0;
  for (int& start : idle_start) start = sum += start;
  idle_of_island.resize(sum);
  for (auto g = idle.rbegin(); g != idle.rend(); ++g) {
    for_each_island(*g, [&](int island) { idle_of_island[--idle_start[island]] = *g; });
  }
}

int num_dofs_of(const Problem& problem, const Islands& islands, int island) {
  return problem.model->objects[islands.objects[islands.list[island].object_begin]].num_dofs();
}

// All that `order` needs. New ones try an island, try_out(solver, island), to get their memory.
template <class Try>
void NewtonWorkspace::Solvers::make_solvers(const Problem& problem, const Islands& islands, int num_threads,
                                            const Try& try_out) {
  place.clear();
  int count = 0, smallest = -1;
  for (const int i : order) {
    const bool is_one = islands.list[i].object_end == islands.list[i].object_begin + 1;
    place.push_back(is_one ? -1 : count++);
    if (!is_one) {
      smallest = i;
      continue;
    }
    const int num_dofs = num_dofs_of(problem, islands, i);
    auto kind =
        std::find_if(shared.begin(), shared.end(), [&](const Shared& x) { return x.num_dofs == num_dofs; });
    if (kind == shared.end()) kind = shared.insert(kind, Shared{num_dofs, {}});
    while (static_cast<int>(kind->free.size()) < num_threads)
      try_out(kind->free.emplace_back(std::make_unique<IslandSolver>()).get(), i);
  }
  if (static_cast<int>(list.size()) >= count) return;
  // With some to spare, because the number of islands varies.
  while (static_cast<int>(list.size()) < count + count / 2 + 2)
    try_out(list.emplace_back(std::make_unique<IslandSolver>()).get(), smallest);
}

NewtonWorkspace::Solvers::Solver NewtonWorkspace::Solvers::take(int num_dofs) {
  const std::lock_guard lock(mutex);
  std::vector<Solver>& free = std::find_if(shared.begin(), shared.end(), [&](const Shared& x) {
                                return x.num_dofs == num_dofs;
                              })->free;
  if (free.empty()) return std::make_unique<IslandSolver>();  // one ended with an exception
  Solver solver = std::move(free.back());
  free.pop_back();
  return solver;
}

void NewtonWorkspace::Solvers::put_back(int num_dofs, Solver solver) {
  const std::lock_guard lock(mutex);
  std::find_if(shared.begin(), shared.end(), [&](const Shared& x) {
    return x.num_dofs == num_dofs;
  })->free.push_back(std::move(solver));
}

void NewtonWorkspace::Solvers::make_blocks(const Problem& problem, const Islands& islands) {
  const auto load_of_objects = [&](const Island& island) {
    int load = 0;
    for (int k = island.object_begin; k < island.object_end; ++k) {
      const Object& object = problem.model->objects[islands.objects[k]];
      for (int b = object.block_begin; b < object.block_end; ++b) {
        const int n = problem.model->blocks[b].size;
        load += n * n / kSquaredDofs;
      }
    }
    return load;
  };
  blocks.assign(1, 0);
  int load = 0;
  for (int k = 0; k < static_cast<int>(order.size()); ++k) {
    load += size[order[k]] + load_of_objects(islands.list[order[k]]);
    if (load < kSizeOfBlock && k + 1 < static_cast<int>(order.size())) continue;
    blocks.push_back(k + 1);
    load = 0;
  }
}

void NewtonWorkspace::Solvers::calc_sizes(const Problem& problem, const Islands& islands) {
  size.clear();
  for (const Island& island : islands.list) {
    size.push_back(0);
    for (int i = island.group_begin; i < island.group_end; ++i) {
      const ConstraintGroup& group = problem.groups[islands.groups[i]];
      size.back() += std::max(1, group.contact_end - group.contact_begin);
    }
  }
}

// What closes at v comes in; with it, unless `only_closed`, all the rest.
bool NewtonWorkspace::Solvers::wake(const Problem& problem, const Islands& islands, bool only_closed,
                                    const VecX& v) {
  solved.assign(islands.list.size(), false);
  for (const int i : order) solved[i] = true;
  const std::size_t before = idle.size();
  std::erase_if(idle, [&](int g) {
    const ConstraintGroup& group = problem.groups[g];
    const auto has_moved = [&](const GroupPart& part) {
      const int island = islands.of_object[problem.object_of(part)];
      return island >= 0 && solved[island];
    };
    const auto parts = problem.parts.begin();
    if (std::none_of(parts + group.part_begin, parts + group.part_end, has_moved)) return false;
    const bool open = is_idle(problem, group, 0,
                              [&](int block) { return v.data() + problem.model->blocks[block].dof_begin; });
    if (!open) uses[g] = kNew;
    return !open;
  });
  const bool any = idle.size() < before;
  if (any && !only_closed) {
    for (const int g : idle) uses[g] = kNew;
    idle.clear();
  }
  return any;
}

bool NewtonWorkspace::Solvers::has_new(const Islands& islands, int island) const {
  const Island& i = islands.list[island];
  return std::any_of(islands.groups.begin() + i.group_begin, islands.groups.begin() + i.group_end,
                     [&](int g) { return uses[g] == kNew; });
}

NewtonWorkspace make_newton_workspace(const Model& model) {
  NewtonWorkspace w;
  w.v = VecX::Zero(model.num_velocities());
  w.solvers = std::make_shared<NewtonWorkspace::Solvers>();
  w.solvers->maps.local_block.resize(model.blocks.size());
  w.solvers->results.resize(model.objects.size());
  return w;
}

SolverReport solve_newton(const Problem& problem, const NewtonOptions& options, const Threads& threads,
                          NewtonWorkspace* workspace, std::span<const char> reused_groups) {
  SolverReport report;
  const Model& model = *problem.model;
  workspace->solvers->find_reused(problem, reused_groups, &workspace->is_reused);
  workspace->v = problem.motion->v_star;
  for (int i = 0; i < model.num_objects(); ++i) {
    const Object& object = model.objects[i];
    if (workspace->is_reused[i] != 0)
      workspace->v.segment(object.dof_begin, object.num_dofs()) =
          problem.v0.segment(object.dof_begin, object.num_dofs());
  }
  workspace->impulse.resize(problem.contacts.size());
  for (const ConstraintGroup& group : problem.groups) {
    if (acts_on(workspace->is_reused, problem, group)) continue;
    std::fill(workspace->impulse.begin() + group.contact_begin,
              workspace->impulse.begin() + group.contact_end, Vec3::Zero());
  }
  workspace->bound.clear();
  workspace->law_impulse.clear();
  workspace->dof_impulse.clear();
  for (Condensation& condensation : workspace->solvers->maps.condensation) condensation.forget();
  workspace->solvers->find_idle(problem, options, threads, workspace->is_reused);
  solve_newton_further(problem, options, threads, workspace, &report);
  return report;
}

void solve_newton_further(const Problem& problem, const NewtonOptions& options, const Threads& threads,
                          NewtonWorkspace* workspace, SolverReport* total) {
  SolverReport& report = *total;
  workspace->impulse.resize(problem.contacts.size(), Vec3::Zero());
  for (std::size_t i = workspace->bound.size(); i < problem.contacts.size(); ++i)
    workspace->bound.push_back(problem.contacts[i].normal_impulse);
  workspace->law_impulse.resize(problem.laws.size(), 0);
  workspace->dof_impulse.resize(problem.dof_laws.size(), 0);
  NewtonWorkspace::Solvers& s = *workspace->solvers;
  s.uses.resize(problem.groups.size(), s.kNew);
  Islands& islands = workspace->islands;
  const auto result_of = [&](int island) -> IslandResult& {
    return s.results[islands.objects[islands.list[island].object_begin]];
  };

  bool has_woken = true;     // something came in since the last solve
  bool about_right = false;  // all islands that were solved last
  for (int round = 0;; ++round, ++report.rounds) {
    const bool leaves = options.rough || !options.settle_friction;  // islands unfinished
    if (leaves && round > 0 && ((options.rough && about_right) || !has_woken)) break;
    condense(problem, s.uses, threads, &s.touched, &s.maps.condensation);
    find_islands(problem, s.uses, &islands);
    s.assign_idle(problem, islands);
    s.order.clear();
    for (int i = 0; i < static_cast<int>(islands.list.size()); ++i) {
      const bool begins =
          report.rounds == 0 && workspace->is_reused[islands.objects[islands.list[i].object_begin]] == 0;
      if (begins || s.has_new(islands, i) || result_of(i).interrupted) s.order.push_back(i);
    }
    has_woken = has_woken && !s.order.empty();
    if (s.order.empty()) {
      report.rounds = std::max(report.rounds, islands.list.empty() ? 0 : 1);  // that of reused answers
      break;
    }
    s.calc_sizes(problem, islands);
    std::sort(s.order.begin(), s.order.end(),
              [&](int a, int b) { return s.size[a] != s.size[b] ? s.size[a] > s.size[b] : a < b; });
    const int count = static_cast<int>(s.order.size());
    for (const int i : s.order) {
      const Island& island = islands.list[i];
      for (int k = island.object_begin; k < island.object_end; ++k)
        workspace->is_reused[islands.objects[k]] = false;
    }
    s.make_solvers(problem, islands, threads.count(), [&](IslandSolver* solver, int i) {
      solver->begin(problem, islands, islands.list[i], workspace->bound, &s.maps);
      solver->solve(options, *workspace, report.rounds > 0, {}, Followed::no);
    });
    const auto solve = [&](IslandSolver* solver, int i) {
      const std::span idle(s.idle_of_island.data() + s.idle_start[i], s.idle_start[i + 1] - s.idle_start[i]);
      solver->begin(problem, islands, islands.list[i], workspace->bound, &s.maps);
      result_of(i) = solver->solve(options, *workspace, report.rounds > 0,
                                   has_woken && round < kMostInterrupts ? idle : std::span<const int>(),
                                   report.rounds > 0 ? result_of(i).followed : Followed::no);
      solver->finish(result_of(i).has_duals, workspace, &s.v_next);
    };
    s.make_blocks(problem, islands);
    s.v_next = workspace->v;
    threads.for_each(static_cast<int>(s.blocks.size()) - 1, [&](int b) {
      NewtonWorkspace::Solvers::Solver shared;
      int num_dofs = 0;  // that `shared` is for
      for (int k = s.blocks[b]; k < s.blocks[b + 1]; ++k) {
        const int i = s.order[k];
        if (s.place[k] >= 0) {
          solve(s.list[s.place[k]].get(), i);
          continue;
        }
        const int n = num_dofs_of(problem, islands, i);
        if (n != num_dofs) {
          if (shared) s.put_back(num_dofs, std::move(shared));
          shared = s.take(num_dofs = n);
        }
        solve(shared.get(), i);
      }
      if (shared) s.put_back(num_dofs, std::move(shared));
    });
    std::swap(workspace->v, s.v_next);
    int most = 0;
    about_right = true;
    for (int k = 0; k < count; ++k) {
      const IslandResult& result = result_of(s.order[k]);
      about_right = about_right && result.about_right;
      report.iterations += result.iterations;
      report.factorizations += result.factorizations;
      report.line_search_evaluations += result.evaluations;
      report.friction_rounds += result.friction_rounds;
      most = std::max(most, result.iterations);
    }
    report.most_iterations += most;
    std::replace(s.uses.begin(), s.uses.end(), char{s.kNew}, char{s.kUsed});
    has_woken = s.wake(problem, islands, round < kMostWakings, workspace->v);
  }

  report.islands = static_cast<int>(islands.list.size());
  report.unfinished = has_woken;
  report.converged = !has_woken;
  report.momentum_residual = report.cone_violation = 0;
  for (int i = 0; i < report.islands; ++i) {
    const IslandResult& result = result_of(i);
    report.converged = report.converged && result.converged;
    report.cone_violation = std::max(report.cone_violation, result.cone_violation);
    report.unfinished = report.unfinished || result.interrupted;
    if (!(result.residual <= report.momentum_residual) && !std::isnan(report.momentum_residual)) {
      report.momentum_residual = result.residual;
      report.worst_island = i;
      report.at_round_off = result.at_round_off;
    }
  }
}

void set_bounds(const NewtonWorkspace& workspace, Problem* problem) {
  with_law(problem->options.law, problem->options.normal_law, [&](auto law) {
    for (std::size_t i = 0; i < problem->contacts.size(); ++i) {
      if constexpr (requires(ContactData * d) { decltype(law)::set_bound(0.0, d); }) {
        if (!is_inert(problem->contacts[i]))
          decltype(law)::set_bound(workspace.bound[i], &problem->contacts[i]);
      }
    }
  });
}

void reopen_objects(const Problem& problem, std::span<const char> objects, NewtonWorkspace* workspace) {
  NewtonWorkspace::Solvers& s = *workspace->solvers;
  const Islands& islands = workspace->islands;
  for (int t = 0; t < problem.model->num_objects(); ++t) {
    if (objects[t] == 0) continue;
    if (const int i = islands.of_object[t]; i >= 0) {
      for (int k = islands.list[i].object_begin; k < islands.list[i].object_end; ++k)
        s.results[islands.objects[k]].interrupted = true;
      continue;
    }
    const Object& object = problem.model->objects[t];
    workspace->v.segment(object.dof_begin, object.num_dofs()) =
        problem.motion->v_star.segment(object.dof_begin, object.num_dofs());
  }
  std::erase_if(s.idle, [&](int g) {
    const ConstraintGroup& group = problem.groups[g];
    const auto parts = problem.parts.begin();
    if (std::none_of(parts + group.part_begin, parts + group.part_end,
                     [&](const GroupPart& part) { return objects[problem.object_of(part)] != 0; }))
      return false;
    const bool open = is_idle(problem, group, 0, [&](int block) {
      return workspace->v.data() + problem.model->blocks[block].dof_begin;
    });
    if (!open) s.uses[g] = s.kNew;
    return !open;
  });
}

void reopen_islands(const Problem& problem, std::span<const int> groups, NewtonWorkspace* workspace) {
  NewtonWorkspace::Solvers& s = *workspace->solvers;
  const Islands& islands = workspace->islands;
  for (const int g : groups) {
    const ConstraintGroup& group = problem.groups[g];
    for (int p = group.part_begin; p < group.part_end; ++p) {
      const int i = islands.of_object[problem.object_of(problem.parts[p])];
      if (i < 0) continue;
      for (int k = islands.list[i].object_begin; k < islands.list[i].object_end; ++k)
        s.results[islands.objects[k]].interrupted = true;
    }
    const auto contacts = problem.contacts.begin();
    const bool inert = std::all_of(contacts + group.contact_begin, contacts + group.contact_end, is_inert);
    std::erase(s.idle, g);
    if (inert) {
      s.uses[g] = s.kIdle;
    } else if (s.uses[g] == s.kIdle) {
      s.uses[g] = s.kNew;
    }
  }
}

}  // namespace capstan
