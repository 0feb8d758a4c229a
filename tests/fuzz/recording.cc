// A recording. An even first byte: the rest is the file. An odd one: two bytes of size, a header of that size
// and frames, as they are before they are packed into chunks with checksums that fit. All that is accepted is
// shown as the viewer and export do. No bytes at all stand for a recording as a run writes it.
#include "capstan/io/recording.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "capstan/base/hash.h"
#include "capstan/io/recording_codec.h"
#include "tests/fuzz/fuzz.h"
#include "viewer/view_data.h"

using namespace capstan;

namespace {

constexpr const char* kScene = R"(capstan: 1
shapes: [{name: floor, type: half_space}]
bodies:
  - {name: ball, position: [0, 0, 0.1], joint: {type: free}, shape: {type: sphere, radius: 0.1}}
  - {name: block, position: [1, 0, 0], joint: {type: free}, shape: {type: mesh, file: tetra, mass: 1}}
  - {name: arm, position: [2, 0, 1], joint: {name: arm, type: revolute}, shape: {type: box, size: [1, 0.1, 0.1]}}
actuators: [{name: motor, type: torque, joint: arm}]
rods: [{name: rope, diameter: 0.01, density: 1000, young_modulus: 1.0e6, edges: 3, line: {from: [3, 0, 1], to: [3.3, 0, 1]}}]
soft_bodies: [{name: pad, box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, position: [4, 0, 1], density: 1000, young_modulus: 1.0e6}]
)";

// As RecordingWriter writes it.
std::string chunk(const char* tag, const Bytes& raw, std::uint32_t num_frames) {
  struct {
    char tag[4];
    std::uint32_t num_frames;
    std::uint64_t stored_bytes, raw_bytes;
    double first_time;
    std::uint64_t checksum;
  } header{};
  const Bytes stored = pack(raw);
  std::memcpy(header.tag, tag, sizeof header.tag);
  header.num_frames = num_frames;
  header.stored_bytes = stored.size();
  header.raw_bytes = raw.size();
  Hash hash;
  hash.add(&header, sizeof header - sizeof header.checksum);
  hash.add(stored.data(), stored.size());
  header.checksum = hash.value;
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  return text.append(stored.begin(), stored.end());
}

struct Plain {
  std::string file, parts;  // as a run writes it; and as an input with an odd first byte
};

Plain make_plain() {
  Diagnostics diagnostics;
  auto mesh = std::make_shared<TriangleMesh>();
  mesh->vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  mesh->triangles = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
  const Scene scene = read_yaml_text(kScene, {{"tetra", mesh}}, &diagnostics);
  fuzz::require(diagnostics.ok(), diagnostics.text());
  const Model model = compile(scene);
  StepOptions options = step_options(model);
  options.sleep.on = true;
  const RecordingHeader header = recording_header(scene, model, "", options, 1);
  const std::string path = fuzz::file_of("plain", "");
  RecordingWriter writer(path, model, header);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  writer.append(state, {}, nullptr, 0);
  Input input;
  input.body_forces.resize(1);
  for (int i = 0; i < 4; ++i) {
    writer.note_input(state, input);
    const Report report = step(model, options, input, &state, &workspace);
    writer.append(state, report, &workspace, 0);
  }
  writer.close();
  std::vector<RecordedFrame> frames;
  Recording recording(path);
  for (long i = 0; i < recording.num_frames(); ++i) frames.push_back(recording.frame(i));
  const Bytes head = encode_header(header), body = encode_frames(header, frames);
  std::ifstream stream(path, std::ios::binary);
  Plain plain;
  plain.file.assign(std::istreambuf_iterator<char>(stream), {});
  plain.parts = {'\1', static_cast<char>(head.size() % 256), static_cast<char>(head.size() / 256)};
  plain.parts.append(head.begin(), head.end()).append(body.begin(), body.end());
  return plain;
}
const Plain& plain() {
  static const Plain plain = make_plain();
  return plain;
}

std::string file_of_parts(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return "CAPSREC1";
  const std::size_t head = std::min<std::size_t>(size - 3, data[1] + 256 * data[2]);
  const Bytes header(data + 3, data + 3 + head), frames(data + 3 + head, data + size);
  return "CAPSREC1" + chunk("HEAD", header, 0) + chunk("FRMS", frames, 5);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  if (size < 16) {
    const std::string start = seed % 4 == 0 ? '\0' + plain().file : plain().parts;
    size = std::min(start.size(), max_size);
    std::memcpy(data, start.data(), size);
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const bool is_plain = size == 0;
  const std::string parts = is_plain ? plain().parts : std::string(data, data + size);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(parts.data());
  const std::string file = bytes[0] % 2 == 0 ? parts.substr(1) : file_of_parts(bytes, parts.size());
  long shown = 0;
  try {
    Recording recording(fuzz::file_of("run.capstan", file));
    const Model& model = recording.model();
    viewer::scene_message(model, recording.header().options, recording.header().numbers, 1, "recording");
    viewer::FrameMaker maker(model);
    for (; shown < recording.num_frames() && shown < 10; ++shown) {
      const RecordedFrame& frame = recording.frame(shown);
      maker.frame(frame.state, frame.contacts, frame.numbers);
    }
    recording.find(0.5);
  } catch (const InputError& error) {
    fuzz::require(!is_plain, std::string("a recording as a run writes it is refused: ") + error.what());
  }
  fuzz::require(!is_plain || shown == 5, "frames of a recording as a run writes it are missing");
  return 0;
}
