// Which pairs of colliders have overlapping boxes: near linear in their number, in canonical order.
//
// Each collider keeps a fat box around its box; fat boxes are the leaves of one binary tree, and the pairs of
// overlapping fat boxes that pass the filters are remembered as candidates. A step looks only for colliders
// that left their fat box: their candidates are dropped, they get a new fat box (in place, their ancestors
// grow) and search the tree. The candidates whose true boxes overlap are the answer. So the answer depends on
// the boxes of this step alone, while the work depends on how much has moved. After enough escapes the tree
// is built anew from keys (size class, Morton code of the centre): colliders of very different size, a floor
// and the pebbles on it, end up in different subtrees. Unbounded boxes stay out of the tree and are compared
// with everything.
//
// Limits: n colliders at rest cost O(n + pairs); all moving far each step cost O(n log n + pairs). Fat boxes
// are single precision rounded outwards, decisions are double precision.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "capstan/base/parallel.h"
#include "capstan/geometry/aabb.h"

namespace capstan {

struct BroadPhaseCollider {
  int body = -1;           // colliders of the same body never pair
  bool is_static = false;  // two static colliders never pair
  std::uint64_t group_bits = 1, mask_bits = 1;
  std::uint8_t kind = 1, meets = 1;  // bits: what it is, and the kinds that it may touch
};

// Two colliders pair when a.group & b.mask or b.group & a.mask, and their kinds meet, on different bodies,
// not both static.
inline bool may_pair(const BroadPhaseCollider& a, const BroadPhaseCollider& b) {
  return a.body != b.body && !(a.is_static && b.is_static) && (a.kind & b.meets) != 0 &&
         ((a.group_bits & b.mask_bits) || (b.group_bits & a.mask_bits));
}

struct ColliderPair {
  int a = 0, b = 0;  // a < b
  friend auto operator<=>(const ColliderPair&, const ColliderPair&) = default;
};

class BroadPhase {
 public:
  BroadPhase() = default;
  // excluded_bodies and excluded_colliders: pairs, in either order, that never pair.
  explicit BroadPhase(std::vector<BroadPhaseCollider> colliders,
                      std::vector<std::array<int, 2>> excluded_bodies = {},
                      std::vector<std::array<int, 2>> excluded_colliders = {});

  // The overlapping pairs of these boxes (one for each collider), sorted by (a, b); valid until the next
  // call. Empty boxes (lower > upper on an axis) pair with nothing. Throws InputError when a coordinate is
  // not a number or the count is wrong; the state is then as before.
  std::span<const ColliderPair> update(std::span<const Aabb> boxes, const Threads& threads = Threads());

  // The answer of the last update.
  std::span<const ColliderPair> pairs() const { return pairs_; }

  // Forgets the fat boxes and candidates. Changes no result.
  void forget();

  struct Statistics {
    long updates = 0, builds = 0, escapes = 0;
    int candidates = 0;
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  struct FatBox {
    std::array<float, 3> lower, upper;
  };
  // Depth-first order: a node's first child follows it, `skip` is the node after its whole subtree.
  struct Node {
    FatBox box;
    int skip;
    int leaf;  // entries [leaf / 8, leaf / 8 + leaf % 8), or -1
  };
  struct Entry {
    FatBox box;
    int collider;
    int node;  // the leaf it is in
  };
  struct Key {
    std::uint64_t key;
    int collider;
  };

  // What is below a node, so that the many parts of a soft body are not searched for those that never pair.
  struct Below {
    int body;            // of all colliders there; kMixed: of several
    std::uint8_t kinds;  // of any of them
  };
  static constexpr int kMixed = -2;

  enum class Kind : unsigned char { unseen, empty, bounded, unbounded };

  // Sorted lists one after the other, each of what some collider never pairs with.
  struct Exclusions {
    std::vector<int> others;
    std::vector<std::array<int, 2>> range;  // [colliders] in others
    bool has(int collider, int other) const;
  };

  bool allowed(int i, int j) const;
  void make_fat(int i, Kind kind, const Aabb& box);
  void move_leaf(int i);
  void build();
  int build_range(int first, int last, int parent);
  void make_keys(int first, int last);
  void add_below(int node, const Below& more);
  void search(int i, std::vector<std::uint64_t>* found) const;
  void offer(int i, int j, std::vector<std::uint64_t>* found) const;
  void search_all(const Threads& threads);
  void merge_candidates();
  void find_pairs(std::span<const Aabb> boxes, const Threads& threads);

  std::vector<BroadPhaseCollider> colliders_;
  Exclusions excluded_bodies_, excluded_colliders_;

  std::vector<Kind> kind_;
  std::vector<FatBox> fat_;
  std::vector<Vec3> centre_;  // of the box when its fat box was made [m]
  std::vector<long> made_;    // the update when its fat box was made
  std::vector<unsigned char> escaped_;
  std::vector<unsigned char> outside_;  // of its fat box
  std::vector<int> escapees_, unbounded_, searchers_;
  bool has_kinds_ = false;    // colliders are of several kinds
  std::vector<Below> below_;  // [nodes], if so
  std::vector<Node> nodes_;
  std::vector<int> parent_;     // of each node
  std::vector<Entry> entries_;  // in the order of the tree
  std::vector<int> entry_of_;   // by collider
  std::vector<Key> keys_, keys_scratch_;
  std::vector<std::uint64_t> candidates_, found_, scratch_;  // pair keys
  std::vector<std::vector<std::uint64_t>> found_in_block_;   // likewise
  std::vector<ColliderPair> pairs_;
  std::vector<int> pairs_in_block_;
  int index_bits_ = 1;  // a pair key is a << index_bits_ | b
  long escapes_since_build_ = 0;
  Statistics statistics_;
};

}  // namespace capstan
