#include "capstan/solvers/condensation.h"

#include <algorithm>
#include <numeric>

namespace capstan {
namespace {

// Below so many blocks, or when a larger share is touched, it costs more than it saves.
constexpr int kFewBlocks = 12;
constexpr double kMostTouched = 0.5;
// Where the factor of A leaves all that is touched, and at most so many times as many blocks, it serves.
constexpr int kMostLeft = 2;

}  // namespace

void Condensation::update(ObjectMotion& motion, std::span<const char> touched) {
  const bool same_blocks = A_ == &motion.factor.matrix && analysis_ == motion.analysis &&
                           std::equal(touched.begin(), touched.end(), touched_.begin(), touched_.end());
  if (same_blocks && version_ == motion.version) return;
  A_ = &motion.factor.matrix;
  version_ = motion.version;
  if (!same_blocks) set_blocks(motion, touched);
  if (is_whole_) return;
  if (shared_ != nullptr) {
    motion.factor.calc_reduced(&S_);
    return;
  }
  factor_.matrix.copy_values(*A_);
  if (factor_.factor_frozen()) {
    factor_.calc_reduced(&S_);
  } else {  // by round-off alone: A has a factor
    keep_all(motion);
    touched_.clear();
  }
}

void Condensation::set_blocks(ObjectMotion& motion, std::span<const char> touched) {
  const int n = A_->num_blocks();
  touched_.assign(touched.begin(), touched.end());
  analysis_ = motion.analysis;
  shared_ = nullptr;
  const long num_touched = n - std::count(touched.begin(), touched.end(), char{0});
  if (n < kFewBlocks || static_cast<double>(num_touched) > kMostTouched * n) {
    keep_all(motion);
    return;
  }
  is_whole_ = false;
  if (!motion.likely.empty()) {
    const std::vector<int>& left = motion.factor.remaining();
    const auto found = std::count_if(left.begin(), left.end(), [&](int b) { return touched[b] != 0; });
    if (found == num_touched && static_cast<long>(left.size()) <= kMostLeft * num_touched) {
      shared_ = &motion.factor;
      blocks_ = left;
      S_.set_pattern(motion.factor.reduced_pattern());
      pairs_ = &motion.factor.reduced_pattern().pairs;
      return;
    }
  }
  pattern_.sizes.resize(n);
  pattern_.frozen.resize(n);
  for (int b = 0; b < n; ++b) {
    pattern_.sizes[b] = A_->block_size(b);
    pattern_.frozen[b] = touched[b] == 0;
  }
  pattern_.pairs = motion.pairs;
  if (!motion.order.empty()) {
    // Found once for the object: minimum degree, which would be asked anew for each set of touched blocks,
    // finds poor orders for large solids.
    factor_.analyze(pattern_, motion.order);
  } else {
    factor_.analyze(pattern_);
  }
  blocks_ = factor_.remaining();
  S_.set_pattern(factor_.reduced_pattern());
  pairs_ = &factor_.reduced_pattern().pairs;
}

void Condensation::keep_all(const ObjectMotion& motion) {
  is_whole_ = true;
  blocks_.resize(A_->num_blocks());
  std::iota(blocks_.begin(), blocks_.end(), 0);
  pairs_ = &motion.pairs;
}

int find_block(const Model& model, int dof) {
  const Object& object = model.objects[model.dofs[dof].object];
  const auto after =
      std::upper_bound(model.blocks.begin() + object.block_begin, model.blocks.begin() + object.block_end,
                       dof, [](int d, const DofBlock& block) { return d < block.dof_begin; });
  return static_cast<int>(after - model.blocks.begin()) - 1;
}

void condense(const Problem& problem, std::span<const char> uses, const Threads& threads,
              std::vector<char>* touched, std::vector<Condensation>* result) {
  const Model& model = *problem.model;
  const int num_trees = static_cast<int>(model.trees.size());
  result->resize(model.num_objects() - num_trees);
  if (result->empty()) return;
  touched->assign(model.blocks.size(), 0);
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const ConstraintGroup& group = problem.groups[g];
    for (int p = group.part_begin; p < group.part_end && uses[g] != 0; ++p)
      (*touched)[problem.parts[p].block] = 1;
  }
  for (const DofLaw& law : problem.dof_laws) (*touched)[find_block(model, law.dof)] = 1;
  threads.for_each(static_cast<int>(result->size()), [&](int i) {
    const Object& object = model.objects[num_trees + i];
    const std::span own(touched->data() + object.block_begin, object.block_end - object.block_begin);
    if (std::find(own.begin(), own.end(), char{1}) != own.end())
      (*result)[i].update(*problem.motion->objects[i], own);
  });
}

}  // namespace capstan
