// Files that no run wrote, with checksums that fit: what is in them is checked where it is read.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "capstan/base/hash.h"
#include "capstan/io/checkpoint.h"
#include "capstan/io/read.h"
#include "capstan/io/recording.h"
#include "capstan/io/recording_codec.h"

namespace capstan::forged_test {
namespace {

namespace fs = std::filesystem;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kNanFloat = std::numeric_limits<float>::quiet_NaN();

class ForgedTest : public testing::Test {
 protected:
  ForgedTest() : scene_(read_scene(CAPSTAN_SOURCE_DIR "/scenes/clutter.yaml")), model_(compile(scene_)) {
    char name[] = "/tmp/capstan_forged_XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ / "file";
  }
  ~ForgedTest() override { fs::remove_all(folder_); }

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  Scene scene_;
  Model model_;
  fs::path folder_;
  std::string path_;
};

// --- Recordings ------------------------------------------------------------------------------------------

struct Parts {
  RecordingHeader header;
  std::vector<RecordedFrame> frames;
};

// As RecordingWriter writes it, without the index.
std::string chunk(const char* tag, const Bytes& raw, std::size_t num_frames, double first_time) {
  struct {
    char tag[4];
    std::uint32_t num_frames;
    std::uint64_t stored_bytes, raw_bytes;
    double first_time;
    std::uint64_t checksum;
  } header{};
  const Bytes stored = pack(raw);
  std::memcpy(header.tag, tag, sizeof header.tag);
  header.num_frames = static_cast<std::uint32_t>(num_frames);
  header.stored_bytes = stored.size();
  header.raw_bytes = raw.size();
  header.first_time = first_time;
  Hash hash;
  hash.add(&header, sizeof header - sizeof header.checksum);
  hash.add(stored.data(), stored.size());
  header.checksum = hash.value;
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  return text.append(stored.begin(), stored.end());
}

std::string file_of(const Parts& parts) {
  return "CAPSREC1" + chunk("HEAD", encode_header(parts.header), 0, 0) +
         chunk("FRMS", encode_frames(parts.header, parts.frames), parts.frames.size(), 0);
}

struct RecordingCase {
  const char* told;
  std::function<void(Parts&)> forge;
};

TEST_F(ForgedTest, Recordings) {
  StepOptions options = step_options(model_);
  options.sleep.on = true;
  Parts plain{recording_header(scene_, model_, "", options, 1), {}};
  RecordedFrame frame;
  frame.state = initial_state(model_);
  frame.state.rest.resize(model_.trees.size());
  frame.numbers = VecX::Zero(static_cast<int>(plain.header.numbers.size()));
  frame.contacts.resize(2);
  frame.contacts[1].region = 2;
  frame.inputs.resize(1);
  frame.inputs[0].control = frame.state.control;
  frame.inputs[0].input.body_forces.resize(1);
  plain.frames = {frame, frame};
  write(file_of(plain));
  {
    Recording recording(path_);
    EXPECT_EQ(recording.model().fingerprint, model_.fingerprint);
    EXPECT_EQ(recording.frame(1).contacts.size(), 2u);
  }
  const int num_shapes = static_cast<int>(model_.shapes.size());
  const int num_bodies = static_cast<int>(model_.bodies.size());
  const RecordingCase cases[] = {
      {"is of shape 1000000", [](Parts& p) { p.frames[1].contacts[1].shape_a = 1'000'000; }},
      {"is of shape -1", [](Parts& p) { p.frames[1].contacts[0].shape_b = -1; }},
      {"is of shape", [&](Parts& p) { p.frames[0].contacts[0].shape_b = num_shapes; }},
      {"in region 3", [](Parts& p) { p.frames[0].contacts[0].region = 3; }},
      {"not finite", [](Parts& p) { p.frames[0].contacts[0].force[1] = kNanFloat; }},
      {"position that is not finite", [](Parts& p) { p.frames[0].state.q[2] = kNan; }},
      {"velocity that is not finite", [](Parts& p) { p.frames[1].state.v[0] = kInfinity; }},
      {"quaternion of length 0", [](Parts& p) { p.frames[1].state.q.segment<4>(3).setZero(); }},
      {"its step is -5", [](Parts& p) { p.frames[0].state.step = -5; }},
      {"at time nan", [](Parts& p) { p.frames[1].state.time = kNan; }},
      {"at time -1", [](Parts& p) { p.frames[1].state.time = -1; }},
      {"in island 99999", [](Parts& p) { p.frames[0].state.rest[0].island = 99'999; }},
      {"acts on body 99999", [](Parts& p) { p.frames[0].inputs[0].input.body_forces[0].body = 99'999; }},
      {"acts on body", [&](Parts& p) { p.frames[0].inputs[0].input.body_forces[0].body = num_bodies; }},
      {"a force is not finite",
       [](Parts& p) { p.frames[0].inputs[0].input.body_forces[0].force_W[2] = kInfinity; }},
      {"an input has other sizes", [](Parts& p) { p.frames[0].inputs[0].control.setZero(9); }},
      {"an input has other sizes",
       [](Parts& p) { p.frames[0].inputs[0].input.generalized_force.setZero(1); }},
      {"an input has other sizes", [](Parts& p) { p.frames[0].inputs[0].input.surface_scale.setZero(1); }},
      {"option of the step is nan", [](Parts& p) { p.header.options.dt = kNan; }},
      {"option of the step is 0", [](Parts& p) { p.header.options.dt = 0; }},
      {"option of the step is inf", [](Parts& p) { p.header.options.contact.beta = kInfinity; }},
      {"option of the step is -1", [](Parts& p) { p.header.options.sleep.time = -1; }},
      {"option of the step is 9", [](Parts& p) { p.header.options.integrator = static_cast<Integrator>(9); }},
      {"numbers before those of sensors, not",
       [](Parts& p) {
         p.header.numbers.resize(1);
         for (RecordedFrame& f : p.frames) f.numbers.setZero(1);
       }},
      {"objects may sleep",
       [](Parts& p) {
         p.header.num_rest = 1;
         for (RecordedFrame& f : p.frames) f.state.rest.resize(1);
       }},
      {"it has no frames",
       [](Parts& p) {
         p.header.num_q = p.header.num_v = 100'000'000;  // 2.4 GB for one
         p.frames.clear();
       }},
  };
  for (const RecordingCase& c : cases) {
    Parts parts = plain;
    c.forge(parts);
    std::string bytes = file_of(parts);
    if (parts.frames.empty()) {
      bytes = "CAPSREC1" + chunk("HEAD", encode_header(parts.header), 0, 0) + chunk("FRMS", Bytes(8), 1, 0);
    }
    write(bytes);
    try {
      Recording recording(path_);
      if (!parts.frames.empty()) recording.model();
      for (long i = 0; i < recording.num_frames(); ++i) recording.frame(i);
      ADD_FAILURE() << "accepted: " << c.told;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(c.told), std::string::npos) << c.told << "\n" << error.what();
    }
  }
}

// --- Checkpoints -----------------------------------------------------------------------------------------

struct CheckpointCase {
  const char* told;
  std::function<void(Checkpoint&)> forge;
};

TEST_F(ForgedTest, Checkpoints) {
  const Checkpoint plain{step_options(model_), 0, 1, initial_state(model_)};
  write_checkpoint(path_, model_, plain);
  EXPECT_EQ(hash(read_checkpoint(path_, model_).state), hash(plain.state));
  const CheckpointCase cases[] = {
      {"its integrator is -1", [](Checkpoint& c) { c.options.integrator = static_cast<Integrator>(-1); }},
      {"its integrator is 5", [](Checkpoint& c) { c.options.integrator = static_cast<Integrator>(5); }},
      {"its contact law is 9", [](Checkpoint& c) { c.options.contact.law = static_cast<ContactLaw>(9); }},
      {"its time step is nan", [](Checkpoint& c) { c.options.dt = kNan; }},
      {"its time step is 0", [](Checkpoint& c) { c.options.dt = 0; }},
      {"its time step is inf", [](Checkpoint& c) { c.options.dt = kInfinity; }},
      {"its duration is -1", [](Checkpoint& c) { c.duration = -1; }},
      {"its duration is inf", [](Checkpoint& c) { c.duration = kInfinity; }},
      {"its start is nan", [](Checkpoint& c) { c.start_time = kNan; }},
      {"its speed of sleep is nan", [](Checkpoint& c) { c.options.sleep.speed = kNan; }},
      {"its time of sleep is -2", [](Checkpoint& c) { c.options.sleep.time = -2; }},
      {"its time is nan", [](Checkpoint& c) { c.state.time = kNan; }},
      {"its step is -1", [](Checkpoint& c) { c.state.step = -1; }},
      {"a position that is not finite", [](Checkpoint& c) { c.state.q[0] = kInfinity; }},
      {"a velocity that is not finite", [](Checkpoint& c) { c.state.v[0] = kNan; }},
      {"an acceleration that is not finite", [](Checkpoint& c) { c.state.a[0] = kNan; }},
      {"a quaternion of length 0", [](Checkpoint& c) { c.state.q.segment<4>(3).setZero(); }},
      {"in island 77",
       [&](Checkpoint& c) {
         c.state.rest.resize(model_.trees.size());
         c.state.rest[0].island = 77'777;
       }},
  };
  for (const CheckpointCase& c : cases) {
    Checkpoint forged = plain;
    c.forge(forged);
    write_checkpoint(path_, model_, forged);
    try {
      read_checkpoint(path_, model_);
      ADD_FAILURE() << "accepted: " << c.told;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(c.told), std::string::npos) << c.told << "\n" << error.what();
    }
  }
}

}  // namespace
}  // namespace capstan::forged_test
