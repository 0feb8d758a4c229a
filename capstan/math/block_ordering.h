// Elimination orders of the vertices of a weighted graph, for small fill in Cholesky.
//
// A vertex is a block, its weight the block's number of rows. Vertices of stage 0 (frozen blocks) come before
// those of stage 1 in every order.
#pragma once

#include <vector>

namespace capstan {

struct BlockGraph {
  std::vector<int> start;       // [vertices + 1] neighbours of v: start[v] to start[v + 1], without v itself
  std::vector<int> neighbours;  // both (i, j) and (j, i)
  std::vector<int> weight;      // [vertices] >= 1
  std::vector<char> stage;      // [vertices] 0 or 1

  int num_vertices() const { return static_cast<int>(weight.size()); }
};

// Approximate minimum degree on the quotient graph (Amestoy, Davis and Duff 1996), with degrees counted in
// rows. Ties are broken by a fixed rule. The workspace grows only.
class MinimumDegree {
 public:
  void order(const BlockGraph& graph, std::vector<int>* order);

 private:
  void remove_from_bucket(int v);
  void insert_into_bucket(int v);

  std::vector<int> pool_;  // lists of all vertices and elements; new ones are appended
  std::vector<int> begin_, num_elements_, length_, weight_, degree_, last_member_, next_member_;
  std::vector<int> head_, next_, previous_, hash_head_, hash_next_;
  std::vector<long> mark_;
  std::vector<char> state_;
};

// Nested dissection by METIS, which allocates. Takes a graph whose vertices are all of one stage. METIS draws
// from a seed, and takes the best of so many separators each time.
void order_by_nested_dissection(const BlockGraph& graph, std::vector<int>* order, int seed = 1,
                                int separators = 1);

}  // namespace capstan
