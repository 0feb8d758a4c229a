// An object that is not a tree, seen from where it is touched. Nearly all nodes of a long rope or a soft body
// are touched by nothing; their equations, rows e of A (v - v*) = 0, give their velocities for any velocities
// of the rest r. What an iteration sees of the object is
//
//   S (v - v*)_r,   S = A_rr - A_re A_ee^-1 A_er,
//
// and the rest of it follows when the answer is there: static condensation (Guyan: Reduction of stiffness and
// mass matrices, 1965), exact here because the equations are linear.
#pragma once

#include <span>
#include <vector>

#include "capstan/base/parallel.h"
#include "capstan/dynamics/objects.h"
#include "capstan/problem/problem.h"

namespace capstan {

class Condensation {
 public:
  // For A of the motion. touched: [blocks of the object] those that constraints move. Costs nothing when both
  // are those of the last call.
  void update(ObjectMotion& motion, std::span<const char> touched);
  // The next update() takes A to be another, whatever its version.
  void forget() { version_ = -1; }

  bool is_whole() const { return is_whole_; }  // nothing is eliminated: S is A itself
  // Blocks of the object that remain: all that are touched, and what it does not pay to eliminate.
  const std::vector<int>& blocks() const { return blocks_; }
  const BlockMatrix& matrix() const { return is_whole_ ? *A_ : S_; }        // S
  const std::vector<std::array<int, 2>>& pairs() const { return *pairs_; }  // of its pattern

  // For dv = (v - v*) of the whole object, whose blocks that remain are given: the others.
  void extend(double* dv) const {
    if (!is_whole_) (shared_ != nullptr ? *shared_ : factor_).extend_reduced(dv);
  }

 private:
  const BlockMatrix* A_ = nullptr;
  long version_ = -1;  // of A
  std::vector<char> touched_;
  void set_blocks(ObjectMotion& motion, std::span<const char> touched);
  void keep_all(const ObjectMotion& motion);
  bool is_whole_ = true;                   // nothing is eliminated: S is A itself
  BlockCholesky factor_;                   // blocks that are not touched are frozen
  const BlockCholesky* shared_ = nullptr;  // that of A serves: it has eliminated them first; or null
  long analysis_ = -1;                     // of it
  BlockPattern pattern_;
  BlockMatrix S_;
  std::vector<int> blocks_;
  const std::vector<std::array<int, 2>>* pairs_ = nullptr;
};

// The block that a dof is in.
int find_block(const Model& model, int dof);

// Those of all objects of a problem that are not trees, [objects - trees], which some group or dof law acts
// on; groups whose `uses` are 0 count as if they were not there. touched: [blocks] scratch.
void condense(const Problem& problem, std::span<const char> uses, const Threads& threads,
              std::vector<char>* touched, std::vector<Condensation>* result);

}  // namespace capstan
