// TO BE REMOVED when branch `mjcf` is merged: stands in for its read_mjcf and read_urdf so that this branch
// links by itself.
#include "capstan/io/read.h"

namespace capstan {

__attribute__((weak)) Scene read_urdf(const std::string& path, Diagnostics* diagnostics, const ReadLimits&) {
  diagnostics->error({path, 0}, "the URDF reader is not built in");
  return {};
}

__attribute__((weak)) Scene read_mjcf(const std::string& path, Diagnostics* diagnostics, const ReadLimits&) {
  diagnostics->error({path, 0}, "the MJCF reader is not built in");
  return {};
}

}  // namespace capstan
