// A checkpoint. An even first byte: the rest is the file. An odd one: likewise, after its two checksums were
// made to fit, which no mutation would achieve. What is accepted can be stepped. No bytes at all stand for a
// checkpoint as a run writes it.
#include "capstan/io/checkpoint.h"

#include <cstring>
#include <fstream>

#include "capstan/base/hash.h"
#include "tests/fuzz/fuzz.h"

using namespace capstan;

namespace {

// checkpoint.cc: fields, then their checksum; then the state and its checksum.
constexpr std::size_t kHeaderBytes = 80;

const Model& model() {
  static const Model model = [] {
    Diagnostics diagnostics;
    const Scene scene = read_yaml_text(R"(capstan: 1
options: {sleep: true}
shapes: [{name: floor, type: half_space}]
bodies:
  - {name: ball, position: [0, 0, 0.1], joint: {type: free}, shape: {type: sphere, radius: 0.1}}
  - {name: arm, position: [1, 0, 1], joint: {name: arm, type: revolute}, shape: {type: box, size: [1, 0.1, 0.1]}}
actuators: [{name: motor, type: torque, joint: arm}]
)",
                                       {}, &diagnostics);
    fuzz::require(diagnostics.ok(), diagnostics.text());
    return compile(scene);
  }();
  return model;
}

void fit_checksums(std::string* file) {
  const auto put = [&](std::size_t at, std::size_t begin) {
    Hash hash;
    hash.add(file->data() + begin, at - begin);
    std::memcpy(file->data() + at, &hash.value, sizeof hash.value);
  };
  if (file->size() < kHeaderBytes + 8) return;
  put(kHeaderBytes - 8, 0);
  put(file->size() - 8, kHeaderBytes);
}

std::string plain_file() {
  Checkpoint checkpoint{step_options(model()), 0, 1, initial_state(model())};
  checkpoint.options.sleep.on = true;
  Workspace workspace = make_workspace(model());
  for (int i = 0; i < 5; ++i) step(model(), checkpoint.options, {}, &checkpoint.state, &workspace);
  const std::string path = fuzz::file_of("plain", "");
  write_checkpoint(path, model(), checkpoint);
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}}, fitted = bytes;
  fit_checksums(&fitted);
  fuzz::require(fitted == bytes, "the format of checkpoints changed: fit_checksums() has to follow");
  return bytes;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  static const std::string plain = '\1' + plain_file();
  if (size < kHeaderBytes && plain.size() <= max_size) {
    size = plain.size();
    std::memcpy(data, plain.data(), size);
    data[0] = seed & 1;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string file = size == 0 ? plain_file() : std::string(data + 1, data + size);
  if (size > 0 && data[0] % 2 == 1) fit_checksums(&file);
  Checkpoint checkpoint;
  try {
    checkpoint = read_checkpoint(fuzz::file_of("run.checkpoint", file), model());
  } catch (const InputError&) {
    fuzz::require(size > 0, "a checkpoint as a run writes it is refused");
    return 0;
  }
  Workspace workspace = make_workspace(model());
  try {
    for (int i = 0; i < 3; ++i) step(model(), checkpoint.options, {}, &checkpoint.state, &workspace);
  } catch (const StepFailure&) {
    return 0;
  }
  fuzz::require(checkpoint.state.q.allFinite() && checkpoint.state.v.allFinite(),
                "a state that is not finite");
  return 0;
}
