#include "capstan/contacts/broad_phase.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <utility>

#include "capstan/base/diagnostics.h"

namespace capstan {
namespace {

// A fat box reaches beyond its box by these shares of its smallest and largest extent, and ahead by the
// motion of so many updates (unless that is more than kMostAhead extents). Larger: fewer searches, more
// candidates to look at each step. Chosen with bench/broad_phase.
constexpr double kMarginOfSmallest = 0.1, kMarginOfLargest = 0.01;
constexpr double kUpdatesAhead = 6, kMostAhead = 2;
// The tree is built anew when this share of its leaves has moved since.
constexpr double kEscapesPerBuild = 0.4;

constexpr int kCollidersInBlock = 512, kSearchesInBlock = 8, kCandidatesInBlock = 256;  // for one thread

constexpr int kLeafSize = 4;
constexpr int kDigitBits = 11, kMortonBits = 17, kClassBits = 4;
constexpr int kKeyBits = 3 * kMortonBits + kClassBits;
constexpr float kInfiniteBound = std::numeric_limits<float>::infinity();

// Least-significant-digit radix sort of the lowest `bits` of key(item), with scratch of the same size.
template <class T, class KeyOf>
void radix_sort(std::vector<T>& items, std::vector<T>& scratch, int bits, KeyOf key) {
  if (items.size() < 200) {
    std::sort(items.begin(), items.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
    return;
  }
  scratch.resize(items.size());
  constexpr std::uint64_t mask = (1u << kDigitBits) - 1;
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    std::array<std::uint32_t, mask + 1> start{};
    for (const T& item : items) ++start[(key(item) >> shift) & mask];
    std::uint32_t sum = 0;
    for (std::uint32_t& s : start) sum += std::exchange(s, sum);
    for (const T& item : items) scratch[start[(key(item) >> shift) & mask]++] = item;
    items.swap(scratch);
  }
}

std::uint64_t spread_bits(std::uint64_t x) {  // bit k moves to bit 3k
  x = (x | x << 32) & 0x1f00000000ffffull;
  x = (x | x << 16) & 0x1f0000ff0000ffull;
  x = (x | x << 8) & 0x100f00f00f00f00full;
  x = (x | x << 4) & 0x10c30c30c30c30c3ull;
  x = (x | x << 2) & 0x1249249249249249ull;
  return x;
}

float round_down(double x) {
  const float f = static_cast<float>(x);
  return static_cast<double>(f) > x ? std::nextafter(f, -kInfiniteBound) : f;
}
float round_up(double x) {
  const float f = static_cast<float>(x);
  return static_cast<double>(f) < x ? std::nextafter(f, kInfiniteBound) : f;
}

template <class FatBox>
bool overlaps(const FatBox& a, const FatBox& b) {
  return (a.lower[0] <= b.upper[0]) & (b.lower[0] <= a.upper[0]) & (a.lower[1] <= b.upper[1]) &
         (b.lower[1] <= a.upper[1]) & (a.lower[2] <= b.upper[2]) & (b.lower[2] <= a.upper[2]);
}

// Of the six sides.
int count_overlaps(const Aabb& a, const Aabb& b) {
  int count = 0;
  for (int k = 0; k < 3; ++k) count += (a.lower[k] <= b.upper[k]) + (b.lower[k] <= a.upper[k]);
  return count;
}

bool is_proper(const Aabb& box) {
  return box.lower[0] <= box.upper[0] && box.lower[1] <= box.upper[1] && box.lower[2] <= box.upper[2];
}

template <class FatBox>
bool contains(const FatBox& fat, const Aabb& box) {
  return fat.lower[0] <= box.lower[0] && fat.lower[1] <= box.lower[1] && fat.lower[2] <= box.lower[2] &&
         box.upper[0] <= fat.upper[0] && box.upper[1] <= fat.upper[1] && box.upper[2] <= fat.upper[2];
}

template <class FatBox>
bool contains(const FatBox& a, const FatBox& b) {
  for (int k = 0; k < 3; ++k) {
    if (b.lower[k] < a.lower[k] || b.upper[k] > a.upper[k]) return false;
  }
  return true;
}

template <class FatBox>
void grow(FatBox& a, const FatBox& b) {
  for (int k = 0; k < 3; ++k) {
    a.lower[k] = std::min(a.lower[k], b.lower[k]);
    a.upper[k] = std::max(a.upper[k], b.upper[k]);
  }
}

}  // namespace

BroadPhase::BroadPhase(std::vector<BroadPhaseCollider> colliders,
                       std::vector<std::array<int, 2>> excluded_bodies,
                       std::vector<std::array<int, 2>> excluded_colliders)
    : colliders_(std::move(colliders)) {
  const size_t n = colliders_.size();
  index_bits_ = std::max(1, static_cast<int>(std::bit_width(n)));
  has_kinds_ = std::any_of(colliders_.begin(), colliders_.end(),
                           [](const BroadPhaseCollider& c) { return c.kind != BroadPhaseCollider{}.kind; });
  // Lists by name, then the one that each collider has; name(i) is that of collider i.
  const auto make = [&](std::vector<std::array<int, 2>>& pairs, const auto& name, Exclusions* exclusions) {
    for (size_t i = 0, size = pairs.size(); i < size; ++i) pairs.push_back({pairs[i][1], pairs[i][0]});
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [a, b] : pairs) exclusions->others.push_back(b);
    for (int i = 0; i < static_cast<int>(n); ++i) {
      const auto at = [&](int value) {
        return static_cast<int>(std::lower_bound(pairs.begin(), pairs.end(), std::array{value, INT_MIN}) -
                                pairs.begin());
      };
      exclusions->range.push_back({at(name(i)), at(name(i) + 1)});
    }
  };
  make(
      excluded_bodies, [&](int i) { return colliders_[i].body; }, &excluded_bodies_);
  make(
      excluded_colliders, [](int i) { return i; }, &excluded_colliders_);
  fat_.resize(n);
  centre_.resize(n);
  made_.resize(n);
  entry_of_.resize(n);
  entries_.reserve(n);
  escaped_.resize(n);
  outside_.resize(n);
  escapees_.reserve(n);
  keys_.reserve(n);
  keys_scratch_.reserve(n);
  nodes_.reserve(2 * n);
  parent_.reserve(2 * n);
  forget();
}

void BroadPhase::forget() {
  kind_.assign(colliders_.size(), Kind::unseen);
  unbounded_.clear();
  nodes_.clear();
  below_.clear();
  candidates_.clear();
  escapes_since_build_ = 0;
}

bool BroadPhase::Exclusions::has(int collider, int other) const {
  const auto [begin, end] = range[collider];
  return begin < end && std::binary_search(others.begin() + begin, others.begin() + end, other);
}

bool BroadPhase::allowed(int i, int j) const {
  return may_pair(colliders_[i], colliders_[j]) && !excluded_bodies_.has(i, colliders_[j].body) &&
         !excluded_colliders_.has(i, j);
}

std::span<const ColliderPair> BroadPhase::update(std::span<const Aabb> boxes, const Threads& threads) {
  const int n = static_cast<int>(colliders_.size());
  if (static_cast<int>(boxes.size()) != n) {
    throw InputError({}, fmt::format("the broad phase has {} colliders but got {} boxes", n, boxes.size()),
                     "give one box for each collider");
  }

  // A coordinate that is not a number fails every comparison, so it shows among those that left their fat
  // box; nothing is changed before all of them have been looked at.
  threads.for_each_block(n, kCollidersInBlock, [&](int begin, int end) {
    for (int i = begin; i < end; ++i)
      outside_[i] = kind_[i] != Kind::bounded || !contains(fat_[i], boxes[i]) || !is_proper(boxes[i]);
  });
  escapees_.clear();
  for (int i = 0; i < n; ++i) {
    if (outside_[i] != 0) escapees_.push_back(i);
  }
  for (int i : escapees_) {
    if (boxes[i].lower.hasNaN() || boxes[i].upper.hasNaN()) {
      throw InputError(
          {}, fmt::format("the box of collider {} (body {}) has a coordinate that is not a number", i,
                          colliders_[i].body));
    }
  }

  ++statistics_.updates;
  bool members_changed = false;
  size_t kept = 0;
  for (int i : escapees_) {
    const Aabb& box = boxes[i];
    // Beyond 1e30 m single precision has no room for a finite fat box.
    const bool bounded = box.lower.minCoeff() > -1e30 && box.upper.maxCoeff() < 1e30;
    const Kind kind = !is_proper(box) ? Kind::empty : bounded ? Kind::bounded : Kind::unbounded;
    if (kind == kind_[i] && kind != Kind::bounded) continue;
    members_changed |= kind != kind_[i];
    make_fat(i, kind, box);
    kind_[i] = kind;
    escaped_[i] = 1;
    escapees_[kept++] = i;
  }
  escapees_.resize(kept);

  if (!escapees_.empty()) {
    statistics_.escapes += static_cast<long>(escapees_.size());
    escapes_since_build_ += static_cast<long>(escapees_.size());
    if (members_changed) {
      unbounded_.clear();
      for (int i = 0; i < n; ++i) {
        if (kind_[i] == Kind::unbounded) unbounded_.push_back(i);
      }
    }
    if (members_changed ||
        static_cast<double>(escapes_since_build_) > kEscapesPerBuild * static_cast<double>(n)) {
      build();
    } else {
      for (int i : escapees_) move_leaf(i);
    }
    search_all(threads);
    merge_candidates();
    for (int i : escapees_) escaped_[i] = 0;
  }

  find_pairs(boxes, threads);
  statistics_.candidates = static_cast<int>(candidates_.size());
  return pairs_;
}

void BroadPhase::make_fat(int i, Kind kind, const Aabb& box) {
  if (kind != Kind::bounded) {
    fat_[i] = {{-kInfiniteBound, -kInfiniteBound, -kInfiniteBound},
               {kInfiniteBound, kInfiniteBound, kInfiniteBound}};
    return;
  }
  const Vec3 extent = box.upper - box.lower, centre = box.lower + extent / 2;
  double margin = 0;
  Vec3 ahead = Vec3::Zero();
  if (!colliders_[i].is_static) {
    margin = kMarginOfSmallest * extent.minCoeff() + kMarginOfLargest * extent.maxCoeff();
    if (kind_[i] == Kind::bounded) {
      const double steps = static_cast<double>(std::max(1L, statistics_.updates - made_[i]));
      ahead = kUpdatesAhead / steps * (centre - centre_[i]);
      if (ahead.norm() > kMostAhead * extent.maxCoeff()) ahead.setZero();  // it would leave soon anyway
    }
  }
  for (int k = 0; k < 3; ++k) {
    fat_[i].lower[k] = round_down(box.lower[k] - margin + std::min(0.0, ahead[k]));
    fat_[i].upper[k] = round_up(box.upper[k] + margin + std::max(0.0, ahead[k]));
  }
  centre_[i] = centre;
  made_[i] = statistics_.updates;
}

void BroadPhase::move_leaf(int i) {
  if (kind_[i] != Kind::bounded) return;
  Entry& entry = entries_[entry_of_[i]];
  entry.box = fat_[i];
  for (int node = entry.node; node >= 0 && !contains(nodes_[node].box, fat_[i]); node = parent_[node]) {
    grow(nodes_[node].box, fat_[i]);
  }
}

void BroadPhase::build() {
  ++statistics_.builds;
  escapes_since_build_ = 0;
  keys_.clear();
  for (int i = 0; i < static_cast<int>(colliders_.size()); ++i) {
    if (kind_[i] == Kind::bounded) keys_.push_back({0, i});
  }
  nodes_.clear();
  below_.clear();
  parent_.clear();
  entries_.clear();
  if (keys_.empty()) return;
  make_keys(0, static_cast<int>(keys_.size()));
  radix_sort(keys_, keys_scratch_, kKeyBits, [](const Key& k) { return k.key; });
  build_range(0, static_cast<int>(keys_.size()), -1);
}

// Keys of keys_[first, last): size class (each four times smaller than the one before), then the Morton code
// of the centre in the box of these colliders.
void BroadPhase::make_keys(int first, int last) {
  float largest = 0;
  FatBox all{{kInfiniteBound, kInfiniteBound, kInfiniteBound},
             {-kInfiniteBound, -kInfiniteBound, -kInfiniteBound}};
  const auto extent = [&](const FatBox& f) {
    return std::max({f.upper[0] - f.lower[0], f.upper[1] - f.lower[1], f.upper[2] - f.lower[2]});
  };
  for (int k = first; k < last; ++k) {
    const FatBox& f = fat_[keys_[k].collider];
    largest = std::max(largest, extent(f));
    for (int x = 0; x < 3; ++x) {
      const float c = 0.5f * f.lower[x] + 0.5f * f.upper[x];
      all.lower[x] = std::min(all.lower[x], c);
      all.upper[x] = std::max(all.upper[x], c);
    }
  }
  std::array<float, 3> scale;
  constexpr float cells = static_cast<float>((1 << kMortonBits) - 1);
  for (int x = 0; x < 3; ++x) {
    const float width = all.upper[x] - all.lower[x];
    scale[x] = width > 0 ? cells / width : 0;
    if (!std::isfinite(scale[x])) scale[x] = 0;
  }
  for (int k = first; k < last; ++k) {
    const FatBox& f = fat_[keys_[k].collider];
    std::uint64_t key = 0;
    for (int x = 0; x < 3; ++x) {
      const float c = 0.5f * f.lower[x] + 0.5f * f.upper[x];
      const float cell = std::clamp((c - all.lower[x]) * scale[x], 0.0f, cells);
      key |= spread_bits(static_cast<std::uint64_t>(cell)) << x;
    }
    const float e = extent(f);
    const int size_class = e > 0 ? std::min((1 << kClassBits) - 1, (std::ilogb(largest) - std::ilogb(e)) / 2)
                                 : (1 << kClassBits) - 1;
    keys_[k].key = key | static_cast<std::uint64_t>(size_class) << (3 * kMortonBits);
  }
}

int BroadPhase::build_range(int first, int last, int parent) {
  const int node = static_cast<int>(nodes_.size()), count = last - first;
  nodes_.push_back({fat_[keys_[first].collider], node + 1, -1});
  parent_.push_back(parent);
  if (has_kinds_) below_.push_back({colliders_[keys_[first].collider].body, 0});
  if (count <= kLeafSize) {
    nodes_[node].leaf = 8 * first + count;
    for (int k = first; k < last; ++k) {
      const int i = keys_[k].collider;
      entry_of_[i] = static_cast<int>(entries_.size());
      entries_.push_back({fat_[i], i, node});
      grow(nodes_[node].box, fat_[i]);
      if (has_kinds_) add_below(node, {colliders_[i].body, colliders_[i].kind});
    }
    return node;
  }
  if (keys_[first].key == keys_[last - 1].key) {
    // One cell holds many: something far away stretched the grid. Lay a finer one over these.
    make_keys(first, last);
    std::sort(keys_.begin() + first, keys_.begin() + last, [](const Key& a, const Key& b) {
      return a.key < b.key || (a.key == b.key && a.collider < b.collider);
    });
  }
  int middle = first + (last - first) / 2;
  if (const std::uint64_t difference = keys_[first].key ^ keys_[last - 1].key; difference != 0) {
    const std::uint64_t bit = std::uint64_t{1} << (std::bit_width(difference) - 1);
    middle = static_cast<int>(std::partition_point(keys_.begin() + first, keys_.begin() + last,
                                                   [&](const Key& k) { return (k.key & bit) == 0; }) -
                              keys_.begin());
  }
  const int left = build_range(first, middle, node), right = build_range(middle, last, node);
  nodes_[node].box = nodes_[left].box;
  grow(nodes_[node].box, nodes_[right].box);
  nodes_[node].skip = static_cast<int>(nodes_.size());
  if (has_kinds_) {
    add_below(node, below_[left]);
    add_below(node, below_[right]);
  }
  return node;
}

void BroadPhase::add_below(int node, const Below& more) {
  Below& all = below_[node];
  if (all.body != more.body) all.body = kMixed;
  all.kinds |= more.kinds;
}

// Two escaped colliders find each other twice; the smaller index keeps the pair.
void BroadPhase::offer(int i, int j, std::vector<std::uint64_t>* found) const {
  if (i == j || (escaped_[j] && j < i) || !allowed(i, j)) return;
  found->push_back(static_cast<std::uint64_t>(std::min(i, j)) << index_bits_ |
                   static_cast<std::uint64_t>(std::max(i, j)));
}

void BroadPhase::search(int i, std::vector<std::uint64_t>* found) const {
  if (kind_[i] == Kind::empty) return;
  if (kind_[i] == Kind::unbounded) {
    for (int j = 0; j < static_cast<int>(colliders_.size()); ++j) {
      if (kind_[j] == Kind::bounded || kind_[j] == Kind::unbounded) offer(i, j, found);
    }
    return;
  }
  const FatBox box = fat_[i];
  const int end = static_cast<int>(nodes_.size());
  for (int node = 0; node < end;) {
    const Node& nd = nodes_[node];
    if (!overlaps(nd.box, box) || (has_kinds_ && (below_[node].body == colliders_[i].body ||
                                                  (below_[node].kinds & colliders_[i].meets) == 0))) {
      node = nd.skip;
      continue;
    }
    if (nd.leaf >= 0) {
      const Entry* entry = entries_.data() + nd.leaf / 8;
      for (int k = nd.leaf % 8; k > 0; --k, ++entry) {
        if (overlaps(entry->box, box)) offer(i, entry->collider, found);
      }
    }
    ++node;
  }
  for (int j : unbounded_) offer(i, j, found);
}

// The pairs of all that have escaped, to found_.
void BroadPhase::search_all(const Threads& threads) {
  // In the order of the tree, so that one search finds the nodes of the last in the cache.
  searchers_.clear();
  for (const Key& k : keys_) {
    if (escaped_[k.collider]) searchers_.push_back(k.collider);
  }
  for (int i : unbounded_) {
    if (escaped_[i]) searchers_.push_back(i);
  }
  const int count = static_cast<int>(searchers_.size());
  const int blocks = (count + kSearchesInBlock - 1) / kSearchesInBlock;
  if (static_cast<int>(found_in_block_.size()) < blocks) found_in_block_.resize(blocks);
  threads.for_each(blocks, [&](int b) {
    found_in_block_[b].clear();
    const int end = std::min(count, (b + 1) * kSearchesInBlock);
    for (int k = b * kSearchesInBlock; k < end; ++k) search(searchers_[k], &found_in_block_[b]);
  });
  found_.clear();
  for (int b = 0; b < blocks; ++b)
    found_.insert(found_.end(), found_in_block_[b].begin(), found_in_block_[b].end());
}

// The candidates whose boxes overlap.
void BroadPhase::find_pairs(std::span<const Aabb> boxes, const Threads& threads) {
  const std::uint64_t mask = (std::uint64_t{1} << index_bits_) - 1;
  const int n = static_cast<int>(candidates_.size());
  const int size = threads.count() > 1 ? kCandidatesInBlock : std::max(1, n);
  const int blocks = (n + size - 1) / size;
  pairs_.resize(n);
  pairs_in_block_.resize(blocks);
  threads.for_each(blocks, [&](int block) {
    ColliderPair* next = pairs_.data() + block * size;
    const int end = std::min(n, (block + 1) * size);
    for (int k = block * size; k < end; ++k) {
      const std::uint64_t key = candidates_[k];
      const int a = static_cast<int>(key >> index_bits_), b = static_cast<int>(key & mask);
      *next = {a, b};
      next += count_overlaps(boxes[a], boxes[b]) == 6;  // no branch: half of them do
    }
    pairs_in_block_[block] = static_cast<int>(next - pairs_.data()) - block * size;
  });
  int count = 0;
  for (int block = 0; block < blocks; ++block) {
    const auto first = pairs_.begin() + block * size;
    if (block * size != count) std::copy_n(first, pairs_in_block_[block], pairs_.begin() + count);
    count += pairs_in_block_[block];
  }
  pairs_.resize(count);
}

// candidates_ := (candidates_ without escaped colliders) merged with found_, both sorted.
void BroadPhase::merge_candidates() {
  radix_sort(found_, scratch_, 2 * index_bits_, [](std::uint64_t k) { return k; });
  const std::uint64_t mask = (std::uint64_t{1} << index_bits_) - 1;
  scratch_.clear();
  auto next = found_.begin();
  for (const std::uint64_t key : candidates_) {
    if (escaped_[key >> index_bits_] || escaped_[key & mask]) continue;
    while (next != found_.end() && *next < key) scratch_.push_back(*next++);
    scratch_.push_back(key);
  }
  scratch_.insert(scratch_.end(), next, found_.end());
  candidates_.swap(scratch_);
}

}  // namespace capstan
