#include "apps/capstan/commands.h"

namespace capstan::cli {
int demo(const DemoOptions&) {
  return kOk;
}
}  // namespace capstan::cli
