#include "capstan/math/alignment.h"

namespace capstan {

const char CAPSTAN_ALIGNMENT_NAME = 0;

}  // namespace capstan
