#include "capstan/base/version.h"

namespace capstan {

const char* version() {
  return CAPSTAN_VERSION;
}

}  // namespace capstan
