#pragma once

namespace capstan {

// "0.1.0": the version of the library, as CMake's project() says it.
const char* version();

}  // namespace capstan
