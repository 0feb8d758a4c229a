// CAPSTAN_CLONES before a function: it is compiled for AVX2 with fused multiply-add as well, on x86-64, and
// the processor decides which of the two runs. Only what is inlined into it goes along: CAPSTAN_INLINE before
// (for a lambda: after) the parameters' list makes sure of that. CAPSTAN_FLAT_CLONES inlines all that the
// function calls, and what that calls, as far as the compiler sees it.
#pragma once

// x86-64-v3 is what every processor with AVX2 can do; "arch=haswell" would be asked of Haswell itself only.
#if defined(__x86_64__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define CAPSTAN_CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define CAPSTAN_CLONES
#endif
// With the address sanitizer's checks inside, a flat function takes GCC 12 minutes to compile.
#if defined(__SANITIZE_ADDRESS__)
#define CAPSTAN_FLAT_CLONES CAPSTAN_CLONES
#else
#define CAPSTAN_FLAT_CLONES __attribute__((flatten)) CAPSTAN_CLONES
#endif
#define CAPSTAN_INLINE __attribute__((always_inline))

namespace capstan {

// Four and two doubles at any address, for sums that the compiler may not reorder by itself.
typedef double Four __attribute__((vector_size(32), may_alias, aligned(8)));
typedef double Two __attribute__((vector_size(16), may_alias, aligned(8)));
CAPSTAN_INLINE inline double sum_of(const Four& x) {
  return (x[0] + x[1]) + (x[2] + x[3]);
}

}  // namespace capstan
