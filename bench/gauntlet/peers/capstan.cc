// The gauntlet in Capstan, as the program of a peer: compare.py holds what other engines build against this.
#include "bench/gauntlet/peers/program.h"

namespace capstan::gauntlet {

const char* const kEngine = "Capstan";
const char* const kNoRods = nullptr;
const char* const kNoSoftBodies = nullptr;
const char* const kNoPatches = nullptr;
std::string engine_version() {
  return "";
}
std::unique_ptr<Runner> make_runner(const Task& task, const PeerSettings& settings) {
  return make_capstan(task, settings.dt, {});
}

}  // namespace capstan::gauntlet
