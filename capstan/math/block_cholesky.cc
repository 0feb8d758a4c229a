#include "capstan/math/block_cholesky.h"

#include <algorithm>
#include <cstring>

#include "capstan/base/diagnostics.h"
#include "capstan/math/block_cholesky_data.h"
#include "capstan/math/front_kernels.h"

namespace capstan {
namespace {

// METIS takes about 0.7 us for each neighbour of a vertex and saves a quarter to a half of a large
// factorization: worth its time in a step of a few Newton iterations when one factorization is predicted to
// take longer than this. Below some hundred blocks minimum degree is as good.
constexpr int kBlocksForNestedDissection = 400;
constexpr double kSecondsForNestedDissection = 1.5e-6;  // for each neighbour

// Where nested dissection is asked for, the order is to serve for long: the best of some. Solids of 1,000 to
// 20,000 nodes need 3 to 30 % fewer operations than with the first one.
constexpr int kBlocksOfTries = 8000, kMostTries = 8, kSeparators = 5;

constexpr int kIterations = 4;  // factor() calls to expect for one factor_frozen()

double step_seconds(const SymbolicFactor& symbolic) {
  return symbolic.frozen_seconds + kIterations * (symbolic.seconds - symbolic.frozen_seconds);
}

template <int Rows, int Columns>
void copy_block(const double* from, int rows, int columns, bool transposed, double* to, long ld) {
  const int m = Rows > 0 ? Rows : rows, n = Columns > 0 ? Columns : columns;
  if (transposed) {
    for (int c = 0; c < n; ++c) {
      for (int r = 0; r < m; ++r) to[c + r * ld] = from[r + c * m];
    }
  } else if (Rows > 0) {
    for (int c = 0; c < n; ++c) {
      for (int r = 0; r < m; ++r) to[r + c * ld] = from[r + c * m];
    }
  } else {
    for (int c = 0; c < n; ++c) std::copy_n(from + c * m, m, to + c * ld);
  }
}

}  // namespace

BlockCholesky::BlockCholesky() : data_(std::make_unique<Data>()) {}
BlockCholesky::~BlockCholesky() = default;
BlockCholesky::BlockCholesky(BlockCholesky&&) noexcept = default;
BlockCholesky& BlockCholesky::operator=(BlockCholesky&&) noexcept = default;

const FactorInfo& BlockCholesky::info() const {
  return data_->info;
}

bool BlockCholesky::analyze(const BlockPattern& pattern, Ordering ordering) {
  Data& d = *data_;
  const bool changed = matrix.set_pattern(pattern);
  d.frozen_factored = d.factored = false;
  if (!changed && d.analyzed && ordering == d.asked) return false;
  d.choose_order(matrix, ordering);
  finish_analysis(ordering);
  return true;
}

bool BlockCholesky::analyze(const BlockPattern& pattern, const std::vector<int>& order) {
  Data& d = *data_;
  CAPSTAN_ASSERT(order.size() == pattern.sizes.size());
  const bool changed = matrix.set_pattern(pattern);
  d.frozen_factored = d.factored = false;
  if (!changed && d.analyzed && d.asked == Ordering::given && d.given == order) return false;
  d.given = order;
  make_graph(matrix, &d.graph);
  d.order.clear();
  for (const int stage : {0, 1}) {
    for (const int b : order) {
      if (d.graph.stage[b] == stage) d.order.push_back(b);
    }
  }
  d.analysis.run(matrix, d.graph, d.order, &d.symbolic);
  d.other_analysis.run(matrix, d.graph, order, &d.other);  // as it is: see choose_order()
  if (step_seconds(d.other) < step_seconds(d.symbolic)) d.symbolic = d.other;
  d.info.ordering = Ordering::given;
  finish_analysis(Ordering::given);
  return true;
}

const std::vector<int>& BlockCholesky::order() const {
  return data_->symbolic.block_order;
}

void BlockCholesky::finish_analysis(Ordering ordering) {
  Data& d = *data_;
  d.left.is_known = false;
  d.asked = ordering;
  d.analyzed = true;
  d.info.num_supernodes = static_cast<int>(d.symbolic.fronts.size());
  d.info.matrix_values = 0;
  for (int j = 0; j < matrix.num_blocks(); ++j) {
    for (int e = matrix.column_start()[j]; e < matrix.column_start()[j + 1]; ++e) {
      d.info.matrix_values +=
          static_cast<long>(matrix.block_size(matrix.entry_row()[e])) * matrix.block_size(j);
    }
  }
  d.info.factor_values = d.symbolic.factor_values;
  d.info.flops = d.symbolic.flops;
  d.info.frozen_flops = d.symbolic.frozen_flops;
  d.factor.reserve(d.symbolic.factor_size);
  d.even.reserve(d.symbolic.even_size);
  d.odd.reserve(d.symbolic.odd_size);
  d.kept.reserve(d.symbolic.kept_size);
}

void BlockCholesky::Data::choose_order(const BlockMatrix& matrix, Ordering ordering) {
  make_graph(matrix, &graph);
  const int n = matrix.num_blocks();
  info.ordering = ordering == Ordering::natural ? Ordering::natural : Ordering::minimum_degree;
  if (ordering == Ordering::natural) {
    order.resize(n);
    int next = 0;
    for (const int stage : {0, 1}) {
      for (int b = 0; b < n; ++b) {
        if (graph.stage[b] == stage) order[next++] = b;
      }
    }
    analysis.run(matrix, graph, order, &symbolic);
    return;
  }
  minimum_degree.order(graph, &order);
  analysis.run(matrix, graph, order, &symbolic);

  // All frozen blocks first may cause much fill. Without that rule only those frozen blocks count that no
  // other block is eliminated before and into, which is less to do when the others are few or close together.
  bool frozen_first = std::find(graph.stage.begin(), graph.stage.end(), 0) != graph.stage.end();
  if (frozen_first) {
    one_stage.assign(n, 1);
    graph.stage.swap(one_stage);
    minimum_degree.order(graph, &other_order);
    graph.stage.swap(one_stage);
    other_analysis.run(matrix, graph, other_order, &other);
    if (step_seconds(other) < step_seconds(symbolic)) {
      symbolic = other;  // a copy: swapped memory would have to grow twice
      frozen_first = false;
    }
  }
  if (ordering == Ordering::minimum_degree) return;
  if (ordering == Ordering::automatic &&
      (n < kBlocksForNestedDissection ||
       step_seconds(symbolic) / kIterations <
           kSecondsForNestedDissection * static_cast<double>(graph.neighbours.size()))) {
    return;
  }
  if (frozen_first) {  // the frozen blocks keep their order; nested dissection takes what they leave behind
    BlockGraph reduced;
    std::vector<int> blocks, dissection;
    analysis.reduced_graph(graph, symbolic, &reduced, &blocks);
    order_by_nested_dissection(reduced, &dissection);
    const auto end =
        std::stable_partition(order.begin(), order.end(), [&](int b) { return graph.stage[b] == 0; });
    std::transform(dissection.begin(), dissection.end(), end, [&](int v) { return blocks[v]; });
  } else {
    order_by_nested_dissection(graph, &order);
  }
  other_analysis.run(matrix, graph, order, &other);
  if (ordering == Ordering::automatic && step_seconds(other) >= step_seconds(symbolic)) return;
  symbolic = other;
  info.ordering = Ordering::nested_dissection;
  if (ordering == Ordering::automatic || frozen_first) return;
  const int tries = std::clamp(kBlocksOfTries / std::max(1, n), 1, kMostTries);
  for (int seed = 1; seed <= tries; ++seed) {
    order_by_nested_dissection(graph, &order, seed, kSeparators);
    other_analysis.run(matrix, graph, order, &other);
    if (step_seconds(other) < step_seconds(symbolic)) symbolic = other;
  }
}

FactorResult BlockCholesky::Data::factor_fronts(const BlockMatrix& matrix, bool frozen) {
  const FrontKernels& kernels = front_kernels();
  for (const Front& front : symbolic.fronts) {
    if (front.frozen != frozen) continue;
    double* const panel = factor.data() + front.panel;
    const long ld = front.panel_rows;
    const bool one_block = front.copies_end == front.copies + 1 && front.children == front.children_end &&
                           symbolic.copies[front.copies].rows == front.num_pivots && front.update_rows == 0;
    if (one_block) {  // which fills all but the padding
      for (int c = 0; c < front.num_pivots; ++c) {
        std::fill(panel + c * ld + front.num_pivots, panel + (c + 1) * ld, 0.0);
      }
    } else {
      std::memset(panel, 0, sizeof(double) * ld * front.num_pivots);
    }
    for (int k = front.copies; k < front.copies_end; ++k) {
      const BlockCopy& copy = symbolic.copies[k];
      const double* from = matrix.entry_block(copy.entry);
      double* to = panel + copy.row + copy.column * ld;
      if (copy.rows == 6 && copy.columns == 6) {
        copy_block<6, 6>(from, 6, 6, copy.transposed, to, ld);
      } else if (copy.rows == 3 && copy.columns == 3) {
        copy_block<3, 3>(from, 3, 3, copy.transposed, to, ld);
      } else {
        copy_block<0, 0>(from, copy.rows, copy.columns, copy.transposed, to, ld);
      }
    }
    const auto for_each_child = [&](const auto& f) {
      for (int k = front.children; k < front.children_end; ++k) f(symbolic.fronts[symbolic.children[k]]);
    };
    for_each_child([&](const Front& child) {
      kernels.add_to_panel(child, symbolic.runs.data() + child.runs, update(child), front, panel);
    });
    double* const below = update(front);
    const int failed = kernels.factor(front, panel, below);
    if (front.num_pivots == 0) {
      std::memset(below, 0, sizeof(double) * front.update_rows * static_cast<long>(front.update_rows));
    }
    // Only now: so U begins as a product, and not as zeros.
    for_each_child([&](const Front& child) {
      kernels.add_to_update(child, symbolic.runs.data() + child.runs, update(child), front, below);
    });
    if (failed >= 0) {
      const int row = front.pivot_start + failed;
      for (const int b : symbolic.block_order) {
        if (row >= symbolic.block_start[b] && row < symbolic.block_start[b] + matrix.block_size(b)) {
          return {b, panel[failed + failed * ld]};
        }
      }
    }
  }
  return {};
}

FactorResult BlockCholesky::factor_frozen() {
  CAPSTAN_ASSERT(data_->analyzed);
  data_->factored = false;
  const FactorResult result = data_->factor_fronts(matrix, true);
  data_->frozen_factored = static_cast<bool>(result);
  return result;
}

FactorResult BlockCholesky::factor() {
  CAPSTAN_ASSERT(data_->analyzed);
  if (!data_->frozen_factored) {
    if (const FactorResult result = factor_frozen(); !result) return result;
  }
  const FactorResult result = data_->factor_fronts(matrix, false);
  data_->factored = static_cast<bool>(result);
  return result;
}

}  // namespace capstan
