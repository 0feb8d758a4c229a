// The dense kernels of the multifrontal Cholesky (math/block_symbolic.h says how a front lies in memory).
//
// All pointers to panels and updates are aligned to 32 bytes and their leading dimensions are multiples of
// kPad. Rows of padding hold zeros and stay zero. The diagonal of a factored L11 holds 1 / L_jj.
#pragma once

#include "capstan/math/block_symbolic.h"

namespace capstan {

inline constexpr int kManyColumns =
    8;  // right-hand sides that solve_forward_many and solve_backward_many take

struct FrontKernels {
  // Factors the panel in place; then U = -L21 L21^T, if there is any pivot. Returns -1, or the pivot column
  // that is not above zero.
  int (*factor)(const Front& front, double* panel, double* update);
  // Adds the lower triangle of a child's U to the parent's panel, and what is not of the panel to its U.
  void (*add_to_panel)(const Front& child, const UpdateRun* runs, const double* child_update,
                       const Front& parent, double* panel);
  void (*add_to_update)(const Front& child, const UpdateRun* runs, const double* child_update,
                        const Front& parent, double* update);
  // y1 = L11^-1 y1, below = L21 y1 (overwritten). Up to kPad - 1 values after y1 are read and rewritten
  // unchanged; they must be finite.
  void (*solve_forward)(const Front& front, const double* panel, double* y1, double* below);
  // y1 = L11^-T (y1 - L21^T below).
  void (*solve_backward)(const Front& front, const double* panel, double* y1, const double* below);
  // The same with kManyColumns columns, but below = -L21 y1; element (r, c) of y1 and below at r *
  // kManyColumns + c, aligned.
  void (*solve_forward_many)(const Front& front, const double* panel, double* y1, double* below);
  void (*solve_backward_many)(const Front& front, const double* panel, double* y1, const double* below);
  // product += a^T b of kManyColumns columns each, laid out likewise; product(i, j) at i * kManyColumns + j.
  void (*add_products)(const double* a, const double* b, int rows, double* product);
  const char* name;
};

// Those for this processor.
const FrontKernels& front_kernels();

}  // namespace capstan
