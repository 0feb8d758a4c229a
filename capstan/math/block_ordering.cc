// Minimum degree on a quotient graph. A live variable i has a list of elements E_i (cliques left by pivots)
// followed by a list of variables A_i (edges not yet covered by an element). Eliminating p makes the element
//
//   L_p = (A_p u union of L_e, e in E_p) \ p,
//
// which absorbs the e. The degree of i in L_p is bounded by |A_i| + |L_p \ i| + sum of |L_e \ L_p| over its
// other elements. Variables that cannot be told apart are merged and eliminated together.
#include "capstan/math/block_ordering.h"

#include <metis.h>

#include <algorithm>
#include <mutex>

#include "capstan/base/diagnostics.h"

namespace capstan {
namespace {

enum : char { kVariable, kElement, kDead };

}  // namespace

void MinimumDegree::remove_from_bucket(int v) {
  if (next_[v] >= 0) previous_[next_[v]] = previous_[v];
  if (previous_[v] >= 0) {
    next_[previous_[v]] = next_[v];
  } else {
    head_[degree_[v]] = next_[v];
  }
}

void MinimumDegree::insert_into_bucket(int v) {
  const int d = degree_[v];
  next_[v] = head_[d];
  previous_[v] = -1;
  if (head_[d] >= 0) previous_[head_[d]] = v;
  head_[d] = v;
}

void MinimumDegree::order(const BlockGraph& graph, std::vector<int>* order) {
  const int n = graph.num_vertices();
  order->clear();
  order->reserve(n);
  pool_.assign(graph.neighbours.begin(), graph.neighbours.end());
  begin_.assign(graph.start.begin(), graph.start.begin() + n);
  num_elements_.assign(n, 0);
  length_.resize(n);
  weight_.assign(graph.weight.begin(), graph.weight.end());
  degree_.resize(n);
  last_member_.resize(n);
  next_member_.assign(n, -1);
  next_.resize(n);
  previous_.resize(n);
  hash_head_.assign(n, -1);
  hash_next_.resize(n);
  mark_.assign(n, 0);
  state_.assign(n, kVariable);
  int total = 0;  // weight not yet eliminated
  for (int v = 0; v < n; ++v) {
    length_[v] = graph.start[v + 1] - graph.start[v];
    last_member_[v] = v;
    degree_[v] = 0;
    for (int k = graph.start[v]; k < graph.start[v + 1]; ++k) degree_[v] += graph.weight[graph.neighbours[k]];
    total += weight_[v];
  }
  head_.assign(total + 1, -1);
  const long stride = total + 1;
  long tag = 1;

  int stage = 0, least = 0, live_in_stage = 0;
  const auto enter_stage = [&] {
    least = 0;
    live_in_stage = 0;
    for (int v = n - 1; v >= 0; --v) {
      if (state_[v] != kVariable || graph.stage[v] != stage) continue;
      insert_into_bucket(v);
      live_in_stage += weight_[v];
    }
  };
  enter_stage();
  while (total > 0) {
    if (live_in_stage == 0) {
      CAPSTAN_ASSERT(stage == 0);
      stage = 1;
      enter_stage();
      continue;
    }
    while (head_[least] < 0) ++least;
    const int p = head_[least];
    remove_from_bucket(p);

    // L_p. Weights of its variables are negative while p is at work.
    int pivot_weight = weight_[p];
    weight_[p] = -pivot_weight;
    const int Lp = static_cast<int>(pool_.size());
    int Lp_weight = 0;
    const auto add = [&](int i) {
      if (weight_[i] <= 0) return;
      Lp_weight += weight_[i];
      if (graph.stage[i] == stage) remove_from_bucket(i);
      weight_[i] = -weight_[i];
      pool_.push_back(i);
    };
    for (int k = 0; k < length_[p]; ++k) {
      const int item = pool_[begin_[p] + k];
      if (k >= num_elements_[p]) {
        add(item);
      } else if (state_[item] == kElement) {
        for (int m = 0; m < length_[item]; ++m) add(pool_[begin_[item] + m]);
        state_[item] = kDead;
      }
    }
    const int Lp_end = static_cast<int>(pool_.size());
    begin_[p] = Lp;
    state_[p] = kElement;

    // mark_[e] - tag becomes |L_e \ L_p|.
    for (int k = Lp; k < Lp_end; ++k) {
      const int i = pool_[k];
      for (int m = 0; m < num_elements_[i]; ++m) {
        const int e = pool_[begin_[i] + m];
        if (state_[e] != kElement) continue;
        if (mark_[e] < tag) mark_[e] = degree_[e] + tag;
        mark_[e] += weight_[i];  // negative here
      }
    }

    for (int k = Lp; k < Lp_end; ++k) {
      const int i = pool_[k];
      int* list = pool_.data() + begin_[i];
      int kept = 0;
      long degree = 0;
      unsigned hash = static_cast<unsigned>(p);
      for (int m = 0; m < num_elements_[i]; ++m) {
        const int e = list[m];
        if (state_[e] != kElement) continue;
        const long outside = mark_[e] - tag;
        if (outside == 0) {
          state_[e] = kDead;  // covered by L_p
          continue;
        }
        degree += outside;
        hash += static_cast<unsigned>(e);
        list[kept++] = e;
      }
      const int elements = kept;
      for (int m = num_elements_[i]; m < length_[i]; ++m) {
        const int j = list[m];
        if (weight_[j] <= 0) continue;  // in L_p, or gone
        degree += weight_[j];
        hash += static_cast<unsigned>(j);
        list[kept++] = j;
      }
      if (degree == 0 && graph.stage[i] == stage) {  // nothing outside L_p: goes with p
        Lp_weight += weight_[i];
        pivot_weight -= weight_[i];
        weight_[i] = 0;
        state_[i] = kDead;
        next_member_[last_member_[p]] = i;
        last_member_[p] = last_member_[i];
        continue;
      }
      // p becomes the last element of the list: there is room, since i was next to p or to an element of p.
      if (kept > elements) list[kept] = list[elements];
      list[elements] = p;
      num_elements_[i] = elements + 1;
      length_[i] = kept + 1;
      degree_[i] = static_cast<int>(std::min<long>(degree_[i], degree));
      hash %= static_cast<unsigned>(n);
      hash_next_[i] = hash_head_[hash];
      hash_head_[hash] = i;
      previous_[i] = static_cast<int>(hash);
    }
    tag += stride;

    // Merge variables with equal lists.
    for (int k = Lp; k < Lp_end; ++k) {
      if (weight_[pool_[k]] == 0) continue;
      const int bucket = previous_[pool_[k]];
      int i = hash_head_[bucket];
      hash_head_[bucket] = -1;
      for (; i >= 0; i = hash_next_[i]) {
        if (hash_next_[i] < 0) break;
        for (int m = 0; m < length_[i]; ++m) mark_[pool_[begin_[i] + m]] = tag;
        for (int before = i, j = hash_next_[i]; j >= 0; j = hash_next_[j]) {
          bool equal = length_[j] == length_[i] && num_elements_[j] == num_elements_[i] &&
                       graph.stage[j] == graph.stage[i];
          for (int m = 0; equal && m < length_[j]; ++m) equal = mark_[pool_[begin_[j] + m]] == tag;
          if (!equal) {
            before = j;
            continue;
          }
          weight_[i] += weight_[j];
          weight_[j] = 0;
          state_[j] = kDead;
          next_member_[last_member_[i]] = j;
          last_member_[i] = last_member_[j];
          hash_next_[before] = hash_next_[j];
        }
        ++tag;
      }
    }
    tag += stride;

    total -= pivot_weight;
    live_in_stage -= pivot_weight;
    int end = Lp;
    for (int k = Lp; k < Lp_end; ++k) {
      const int i = pool_[k];
      if (weight_[i] == 0) continue;
      weight_[i] = -weight_[i];
      degree_[i] = std::min(degree_[i] + Lp_weight, total) - weight_[i];
      degree_[i] = std::max(degree_[i], 0);
      if (graph.stage[i] == stage) {
        insert_into_bucket(i);
        least = std::min(least, degree_[i]);
      }
      pool_[end++] = i;
    }
    pool_.resize(end);
    length_[p] = end - Lp;
    degree_[p] = Lp_weight;
    weight_[p] = 0;
    for (int member = p; member >= 0; member = next_member_[member]) order->push_back(member);
  }
}

void order_by_nested_dissection(const BlockGraph& graph, std::vector<int>* order, int seed, int separators) {
  idx_t n = graph.num_vertices();
  order->resize(n);
  if (graph.neighbours.empty()) {  // METIS does not take a graph without edges
    for (int v = 0; v < n; ++v) (*order)[v] = v;
    return;
  }
  static_assert(sizeof(idx_t) == sizeof(int));
  std::vector<idx_t> start(graph.start), neighbours(graph.neighbours), weight(graph.weight), position(n);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = seed;
  options[METIS_OPTION_NSEPS] = separators;
  // METIS draws from the C library's rand(), which it seeds at its start: one call at a time keeps it
  // repeatable.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  const int status = METIS_NodeND(&n, start.data(), neighbours.data(), weight.data(), options, order->data(),
                                  position.data());
  CAPSTAN_ASSERT(status == METIS_OK);
}

}  // namespace capstan
