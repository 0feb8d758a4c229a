// Eigen aligns its matrices for the widest vectors that a file is compiled for: 16 bytes in general, 32 or 64
// with -march=native. Two files that differ in it disagree on the layout of our structs and on how memory is
// freed. The CMake target capstan::capstan says the same to all that link it: 16 bytes for members and
// variables, 64, which suits every processor, for memory (EIGEN_MAX_ALIGN_BYTES; with less, Eigen 3.4 still
// allocates as the flags say). A file with another alignment than the library's refers to a name that the
// library does not have, so that the linker tells instead of a crash.
#pragma once

#include <Eigen/Core>

#define CAPSTAN_ALIGNMENT_NAME_2(dynamic, fixed) \
  this_file_is_compiled_with_EIGEN_MAX_ALIGN_BYTES_##dynamic##_and_EIGEN_MAX_STATIC_ALIGN_BYTES_##fixed##_but_the_library_is_not__link_the_CMake_target_capstan_capstan_or_see_docs_build_md
#define CAPSTAN_ALIGNMENT_NAME_1(dynamic, fixed) CAPSTAN_ALIGNMENT_NAME_2(dynamic, fixed)
#define CAPSTAN_ALIGNMENT_NAME CAPSTAN_ALIGNMENT_NAME_1(EIGEN_MAX_ALIGN_BYTES, EIGEN_MAX_STATIC_ALIGN_BYTES)

namespace capstan {

extern const char CAPSTAN_ALIGNMENT_NAME;  // math/alignment.cc
namespace {
[[gnu::used]] const char* const alignment_is_that_of_the_library = &CAPSTAN_ALIGNMENT_NAME;
}

}  // namespace capstan
