#include "capstan/math/block_symbolic.h"

#include <algorithm>

#include "capstan/base/diagnostics.h"

namespace capstan {
namespace {

// Multiplications and additions to eliminate `pivots` columns of a dense symmetric matrix with `updates`
// more.
double front_flops(double pivots, double updates) {
  const auto squares = [](double m) { return m * (m + 1) * (2 * m + 1) / 6; };
  return squares(pivots + updates) - squares(updates);
}

// Seconds of one front: a call, moving the values of panel and U, and arithmetic. Constants measured with
// AVX2 on piles of 20 to 1000 bodies (the optimum is flat: a factor of 2 in any of them changes times by 5
// %). Only their ratios matter, for merging supernodes and for choosing an order.
double front_seconds(int pivots, int updates) {
  const double rows = padded(pivots) + padded(updates),
               moved = rows * pivots + 0.5 * updates * (updates + 1.0);
  return 100e-9 + 0.8e-9 * moved + front_flops(padded(pivots), padded(updates)) / 24e9;
}

}  // namespace

void make_graph(const BlockMatrix& matrix, MatrixGraph* graph) {
  const int n = matrix.num_blocks();
  const std::vector<int>& column_start = matrix.column_start();
  const std::vector<int>& entry_row = matrix.entry_row();
  graph->weight.resize(n);
  graph->stage.resize(n);
  graph->start.assign(n + 1, 0);
  for (int j = 0; j < n; ++j) {
    graph->weight[j] = std::max(1, matrix.block_size(j));
    graph->stage[j] = matrix.frozen(j) ? 0 : 1;
    for (int e = column_start[j] + 1; e < column_start[j + 1]; ++e) {
      ++graph->start[j];
      ++graph->start[entry_row[e]];
    }
  }
  for (int j = 0, sum = 0; j <= n; ++j) graph->start[j] = sum += graph->start[j];
  graph->neighbours.resize(graph->start[n]);
  graph->entry.resize(graph->start[n]);
  for (int j = n - 1; j >= 0; --j) {
    for (int e = column_start[j + 1] - 1; e > column_start[j]; --e) {
      const int i = entry_row[e];
      graph->neighbours[--graph->start[j]] = i;
      graph->entry[graph->start[j]] = e;
      graph->neighbours[--graph->start[i]] = j;
      graph->entry[graph->start[i]] = e;
    }
  }
}

void SymbolicAnalysis::run(const BlockMatrix& matrix, const MatrixGraph& graph, const std::vector<int>& order,
                           SymbolicFactor* result) {
  make_elimination_tree(graph, order);
  merge_supernodes(matrix, graph, order);
  result->block_order.assign(order.begin(), order.end());
  number_fronts(matrix, graph, result);
  place_rows(matrix, result);
  place_blocks(matrix, graph, result);
  place_updates(result);
}

// parent_[p] is the first row below the diagonal of column p of L (Liu 1990), paths compressed by ancestor_.
void SymbolicAnalysis::make_elimination_tree(const MatrixGraph& graph, const std::vector<int>& order) {
  const int n = graph.num_vertices();
  position_.resize(n);
  for (int p = 0; p < n; ++p) position_[order[p]] = p;
  parent_.assign(n, -1);
  ancestor_.assign(n, -1);
  for (int p = 0; p < n; ++p) {
    for (int k = graph.start[order[p]]; k < graph.start[order[p] + 1]; ++k) {
      for (int q = position_[graph.neighbours[k]]; q >= 0 && q < p;) {
        const int next = ancestor_[q];
        ancestor_[q] = p;
        if (next < 0) parent_[q] = p;
        if (next == p) break;
        q = next;
      }
    }
  }
  frozen_.resize(n);
  for (int p = 0; p < n; ++p) frozen_[p] = graph.stage[order[p]] == 0;
  for (int p = 0; p < n; ++p) {
    if (parent_[p] >= 0 && !frozen_[p]) frozen_[parent_[p]] = 0;
  }
}

// Rows of every column of L, then supernodes: each column begins as one, and takes in a child wherever that
// saves time. A child whose rows are those of the parent always does; others trade zeros for fewer fronts.
void SymbolicAnalysis::merge_supernodes(const BlockMatrix& matrix, const MatrixGraph& graph,
                                        const std::vector<int>& order) {
  const int n = graph.num_vertices();
  first_child_.assign(n, -1);
  last_child_.assign(n, -1);
  next_child_.assign(n, -1);
  const auto add_child = [&](int p, int c) {
    next_child_[c] = -1;
    if (last_child_[p] >= 0) {
      next_child_[last_child_[p]] = c;
    } else {
      first_child_[p] = c;
    }
    last_child_[p] = c;
  };
  mark_.assign(n, -1);
  struct_.clear();
  struct_start_.resize(n + 1);
  first_member_.resize(n);
  last_member_.resize(n);
  next_member_.assign(n, -1);
  pivots_.resize(n);
  updates_.resize(n);
  for (int p = 0; p < n; ++p) {  // children come before their parents
    struct_start_[p] = static_cast<int>(struct_.size());
    mark_[p] = p;
    int rows = 0;
    const auto add_row = [&](int q) {
      if (q < p || mark_[q] == p) return;
      mark_[q] = p;
      struct_.push_back(q);
      rows += matrix.block_size(order[q]);
    };
    for (int k = graph.start[order[p]]; k < graph.start[order[p] + 1]; ++k)
      add_row(position_[graph.neighbours[k]]);
    for (int c = first_child_[p]; c >= 0; c = next_child_[c]) {
      for (int k = struct_start_[c]; k < struct_start_[c + 1]; ++k) add_row(struct_[k]);
    }
    struct_start_[p + 1] = static_cast<int>(struct_.size());
    first_member_[p] = last_member_[p] = p;
    pivots_[p] = matrix.block_size(order[p]);
    updates_[p] = rows;
    if (parent_[p] >= 0) add_child(parent_[p], p);
  }

  for (int p = 0; p < n; ++p) {
    int c = first_child_[p];
    first_child_[p] = last_child_[p] = -1;
    double seconds = front_seconds(pivots_[p], updates_[p]);
    while (c >= 0) {
      const int next = next_child_[c];
      const double merged = front_seconds(pivots_[p] + pivots_[c], updates_[p]);
      if (frozen_[c] != frozen_[p] || merged > seconds + front_seconds(pivots_[c], updates_[c])) {
        add_child(p, c);
      } else {
        seconds = merged;
        pivots_[p] += pivots_[c];
        next_member_[last_member_[c]] = first_member_[p];
        first_member_[p] = first_member_[c];
        if (first_child_[c] >= 0) {
          if (last_child_[p] >= 0) {
            next_child_[last_child_[p]] = first_child_[c];
          } else {
            first_child_[p] = first_child_[c];
          }
          last_child_[p] = last_child_[c];
        }
        first_member_[c] = -1;  // no supernode any more
      }
      c = next;
    }
  }
}

// Fronts in postorder; the blocks are renumbered so that those of a front are consecutive.
void SymbolicAnalysis::number_fronts(const BlockMatrix& matrix, const MatrixGraph& graph,
                                     SymbolicFactor* result) {
  const int n = graph.num_vertices();
  result->fronts.clear();
  result->children.clear();
  number_of_.assign(n, -1);  // front of a supernode, by the position of its last column
  front_of_.resize(n);       // front of a block
  stack_.clear();
  ancestor_.assign(result->block_order.begin(), result->block_order.end());  // the order given
  int* const new_order = result->block_order.data();
  int num_ordered = 0, row = 0;
  result->block_start.resize(n);
  result->permutation.clear();
  const auto finish = [&](int s) {
    const int number = static_cast<int>(result->fronts.size());
    number_of_[s] = number;
    Front front;
    front.pivot_start = row;
    front.frozen = frozen_[s] != 0;
    for (int member = first_member_[s]; member >= 0; member = next_member_[member]) {
      const int block = ancestor_[member], size = matrix.block_size(block);
      new_order[num_ordered++] = block;
      front_of_[block] = number;
      result->block_start[block] = row;
      auto& permutation = result->permutation;
      if (!permutation.empty() &&
          permutation.back()[0] + permutation.back()[2] == matrix.block_start(block)) {
        permutation.back()[2] += size;
      } else {
        permutation.push_back({matrix.block_start(block), row, size});
      }
      row += size;
    }
    front.num_pivots = row - front.pivot_start;
    front.num_updates = updates_[s];
    front.children = static_cast<int>(result->children.size());
    for (int c = first_child_[s]; c >= 0; c = next_child_[c]) {
      result->children.push_back(number_of_[c]);
      result->fronts[number_of_[c]].parent = number;
    }
    front.children_end = static_cast<int>(result->children.size());
    result->fronts.push_back(front);
  };
  row_block_.clear();  // supernode of each front
  for (int root = 0; root < n; ++root) {
    if (parent_[root] >= 0) continue;  // a root is never merged into another
    // Depth first without recursion; mark_ remembers the next child to visit.
    stack_.push_back(root);
    mark_[root] = first_child_[root];
    while (!stack_.empty()) {
      const int s = stack_.back(), c = mark_[s];
      if (c >= 0) {
        mark_[s] = next_child_[c];
        stack_.push_back(c);
        mark_[c] = first_child_[c];
      } else {
        stack_.pop_back();
        finish(s);
        row_block_.push_back(s);
      }
    }
  }
}

// Sorts the rows of every front and finds where they lie in the vector and in the parent.
void SymbolicAnalysis::place_rows(const BlockMatrix& matrix, SymbolicFactor* result) {
  const int num_fronts = static_cast<int>(result->fronts.size());
  result->rows.clear();
  result->runs.clear();
  result->factor_size = 0;
  result->factor_values = 0;
  result->largest_update = 0;
  result->flops = result->frozen_flops = result->seconds = result->frozen_seconds = 0;
  const std::vector<int>& block_start = result->block_start;
  for (int f = 0; f < num_fronts; ++f) {
    Front& front = result->fronts[f];
    const int s = row_block_[f];
    int* const begin = struct_.data() + struct_start_[s];
    int* const end = struct_.data() + struct_start_[s + 1];
    for (int* k = begin; k < end; ++k) *k = ancestor_[*k];  // positions become blocks
    std::sort(begin, end, [&](int a, int b) {
      return block_start[a] != block_start[b] ? block_start[a] < block_start[b] : a < b;
    });
    front.rows = static_cast<int>(result->rows.size());
    int row = 0;
    for (const int* k = begin; k < end; ++k) {
      const int size = matrix.block_size(*k);
      if (size == 0) continue;
      RowRun* last = static_cast<int>(result->rows.size()) > front.rows ? &result->rows.back() : nullptr;
      if (last && last->to + last->length == block_start[*k]) {
        last->length += size;
      } else {
        result->rows.push_back({row, block_start[*k], size});
      }
      row += size;
    }
    front.rows_end = static_cast<int>(result->rows.size());
    CAPSTAN_ASSERT(row == front.num_updates);

    front.pivot_rows = padded(front.num_pivots);
    front.update_rows = padded(front.num_updates);
    front.panel_rows = front.pivot_rows + front.update_rows;
    front.panel = result->factor_size;
    result->factor_size += static_cast<long>(front.panel_rows) * front.num_pivots;
    result->factor_values += static_cast<long>(front.num_pivots) * (front.num_pivots + 1) / 2 +
                             static_cast<long>(front.num_pivots) * front.num_updates;
    result->largest_update = std::max(result->largest_update, front.update_rows);
    const double flops = front_flops(front.num_pivots, front.num_updates);
    result->flops += flops;
    const double seconds = front_seconds(front.num_pivots, front.num_updates);
    result->seconds += seconds;
    if (front.frozen) {
      result->frozen_flops += flops;
      result->frozen_seconds += seconds;
    }
  }

  for (int f = 0; f < num_fronts; ++f) {
    Front& front = result->fronts[f];
    front.runs = front.runs_end = static_cast<int>(result->runs.size());
    if (front.parent < 0) continue;
    const Front& parent = result->fronts[front.parent];
    int in_parent = parent.rows;
    const int pivot_end = parent.pivot_start + parent.num_pivots;
    for (int k = front.rows; k < front.rows_end; ++k) {
      RowRun run = result->rows[k];
      while (run.length >
             0) {  // a run may be cut where the parent's pivots end, or by one of the parent's gaps
        int length = run.length, to = 0;
        if (run.to < pivot_end) {
          to = run.to - parent.pivot_start;
          length = std::min(length, pivot_end - run.to);
        } else {
          while (result->rows[in_parent].to + result->rows[in_parent].length <= run.to) ++in_parent;
          const RowRun& target = result->rows[in_parent];
          to = parent.num_pivots + target.from + run.to - target.to;
          length = std::min(length, target.to + target.length - run.to);
        }
        UpdateRun* last = static_cast<int>(result->runs.size()) > front.runs ? &result->runs.back() : nullptr;
        if (last && last->to + last->length == to && to != parent.num_pivots) {
          last->length += length;
        } else {
          result->runs.push_back({run.from, to, length});
        }
        run.from += length;
        run.to += length;
        run.length -= length;
      }
    }
    front.runs_end = static_cast<int>(result->runs.size());
  }
}

// Which blocks of the matrix go where in each panel: every block belongs to the front that eliminates the
// earlier of its two.
void SymbolicAnalysis::place_blocks(const BlockMatrix& matrix, const MatrixGraph& graph,
                                    SymbolicFactor* result) {
  result->copies.clear();
  offset_.resize(graph.num_vertices());  // row of a block in the panel of the front at hand
  int next_block = 0;
  for (int f = 0; f < static_cast<int>(result->fronts.size()); ++f) {
    Front& front = result->fronts[f];
    const int s = row_block_[f];
    int row = front.pivot_rows;
    for (int k = struct_start_[s]; k < struct_start_[s + 1]; ++k) {
      offset_[struct_[k]] = row;
      row += matrix.block_size(struct_[k]);
    }
    front.copies = static_cast<int>(result->copies.size());
    for (int member = first_member_[s]; member >= 0; member = next_member_[member]) {
      const int b = result->block_order[next_block++];
      const int column = result->block_start[b] - front.pivot_start;
      const int size = matrix.block_size(b);
      result->copies.push_back({matrix.column_start()[b], size, size, column, column, false});
      for (int k = graph.start[b]; k < graph.start[b + 1]; ++k) {
        const int other = graph.neighbours[k];
        const bool pivot = front_of_[other] == f;
        if (front_of_[other] < f) continue;
        if (pivot && (result->block_start[other] < result->block_start[b] || matrix.block_size(other) == 0))
          continue;
        const int target = pivot ? result->block_start[other] - front.pivot_start : offset_[other];
        const bool transposed = other < b;  // stored as (b, other)
        const int other_size = matrix.block_size(other);
        result->copies.push_back({graph.entry[k], transposed ? size : other_size,
                                  transposed ? other_size : size, target, column, transposed});
      }
    }
    front.copies_end = static_cast<int>(result->copies.size());
  }
}

// Offsets of every U: two stacks by the parity of the depth, one pair of passes for frozen fronts and the
// rest.
void SymbolicAnalysis::place_updates(SymbolicFactor* result) {
  const int num_fronts = static_cast<int>(result->fronts.size());
  offset_.resize(num_fronts);  // depth
  for (int f = num_fronts - 1; f >= 0; --f) {
    const int parent = result->fronts[f].parent;
    offset_[f] = parent < 0 ? 0 : offset_[parent] + 1;
  }
  long largest[2] = {0, 0};
  result->kept_size = 0;
  for (const bool frozen : {true, false}) {
    long top[2] = {0, 0};
    for (int f = 0; f < num_fronts; ++f) {
      Front& front = result->fronts[f];
      if (front.frozen != frozen) continue;
      const int parity = offset_[f] % 2;
      const long size = static_cast<long>(front.update_rows) * front.update_rows;
      if (frozen && front.parent >= 0 && !result->fronts[front.parent].frozen) {
        front.place = UpdatePlace::kept;
        front.update = result->kept_size;
        result->kept_size += size;
      } else {
        front.place = parity == 0 ? UpdatePlace::even_stack : UpdatePlace::odd_stack;
        front.update = top[parity];
        top[parity] += size;
        largest[parity] = std::max(largest[parity], top[parity]);
      }
      // The children's updates are consumed: the first of them was the lowest on its stack.
      for (int c = front.children; c < front.children_end; ++c) {
        const Front& child = result->fronts[result->children[c]];
        if (child.place == UpdatePlace::kept) continue;
        top[1 - parity] = std::min(top[1 - parity], child.update);
      }
    }
  }
  result->even_size = largest[0];
  result->odd_size = largest[1];
}

void SymbolicAnalysis::reduced_graph(const MatrixGraph& graph, const SymbolicFactor& symbolic,
                                     BlockGraph* reduced, std::vector<int>* blocks) {
  const int n = graph.num_vertices();
  blocks->clear();
  std::vector<int> number(n, -1);
  for (int b = 0; b < n; ++b) {
    if (graph.stage[b] == 0) continue;
    number[b] = static_cast<int>(blocks->size());
    blocks->push_back(b);
  }
  std::vector<std::vector<int>> cliques_of(n);  // frozen fronts next to a block
  for (int f = 0; f < static_cast<int>(symbolic.fronts.size()); ++f) {
    const Front& front = symbolic.fronts[f];
    if (!front.frozen || front.parent < 0 || symbolic.fronts[front.parent].frozen) continue;
    const int s = row_block_[f];
    for (int k = struct_start_[s]; k < struct_start_[s + 1]; ++k) cliques_of[struct_[k]].push_back(s);
  }
  reduced->start.assign(1, 0);
  reduced->neighbours.clear();
  reduced->weight.clear();
  std::vector<int> seen(n, -1);
  for (const int b : *blocks) {
    seen[b] = b;
    const auto add = [&](int other) {
      if (number[other] < 0 || seen[other] == b) return;
      seen[other] = b;
      reduced->neighbours.push_back(number[other]);
    };
    for (int k = graph.start[b]; k < graph.start[b + 1]; ++k) add(graph.neighbours[k]);
    for (const int s : cliques_of[b]) {
      for (int k = struct_start_[s]; k < struct_start_[s + 1]; ++k) add(struct_[k]);
    }
    reduced->start.push_back(static_cast<int>(reduced->neighbours.size()));
    reduced->weight.push_back(graph.weight[b]);
  }
  reduced->stage.assign(blocks->size(), 1);
}

}  // namespace capstan
