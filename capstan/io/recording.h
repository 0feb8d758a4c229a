// Recordings of runs: the model, states bit for bit, contacts with their forces, and the numbers of a log.
//
// A .capstan file is appended to as the run goes, so that a killed run leaves a file that can be read. All is
// little-endian:
//
//   "CAPSREC1"
//   chunk HEAD   scene as YAML with its meshes, fingerprint, step options, names of the numbers
//   chunk FRMS   some frames, each time about half a second of wall time or 1 MB
//   ...
//   chunk INDX   where the FRMS chunks are; written by close(). Without it they are found by scanning
//   offset of INDX, "CAPSEND1"
//
// A chunk is a header (tag, number of frames, sizes, time of its first frame, checksum) and a payload packed
// by zlib. Within a chunk a word of a frame is xor-ed with that of the frame before, and bytes of equal rank
// are put together, which is what makes doubles of a resting body small (recording_codec.h).
//
// Limits: contacts are in single precision; frames of one recording are of one model.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "capstan/io/sensor_log.h"
#include "capstan/step/step.h"

namespace capstan {

struct RecordedContact {
  std::int32_t shape_a = 0, shape_b = 0;
  std::int32_t region = 0;           // of ContactRegion
  std::array<float, 3> point = {};   // [m] world, at the beginning of the step that led to the frame
  std::array<float, 3> normal = {};  // unit, from a to b
  std::array<float, 3> force = {};   // [N] on b, world, mean over that step
  float distance = 0;                // [m] negative when overlapping
  float area = 0;                    // [m^2] of the patch that it stands for; 0: a point
  bool operator==(const RecordedContact&) const = default;
};

// What acted from outside in one step, where it differs from the step before.
struct RecordedInput {
  std::int64_t step = 0;  // State::step before that step
  VecX control;
  Input input;
};

struct RecordedFrame {
  State state;
  std::uint64_t hash = 0;  // of the state
  VecX numbers;            // as RecordingHeader::numbers names them
  std::vector<RecordedContact> contacts;
  std::vector<RecordedInput> inputs;  // of the steps since the frame before
};

struct RecordingHeader {
  std::string scene_name, file, version;
  std::string yaml;  // the scene; its meshes are called mesh1, mesh2, ...
  std::vector<std::shared_ptr<const TriangleMesh>> meshes;
  std::uint64_t fingerprint = 0;
  StepOptions options;
  double duration = 0;  // [s] that the run was to last
  int num_q = 0, num_v = 0, num_control = 0;
  int num_activation = 0;  // num_control where actuators have activations, else 0
  int num_rest = 0;        // objects, where the run lets them sleep; else 0, and frames do not tell
  bool has_areas = true;   // of contacts; false: versions 5 and 6 of the format, which do not tell them
  std::vector<LogColumn> numbers;  // of the log, step.wall_time, then those of sensors
  SensorSet sensors;               // for who writes; not in the file
};

// `file` is where the scene came from, for people. Throws InputError when the scene, written and read back,
// is not this model: told before the first step, not when the recording is to be replayed.
RecordingHeader recording_header(const Scene& scene, const Model& model, const std::string& file,
                                 const StepOptions& options, double duration);

// The scene of a recording, and its model. Throws InputError when it is not the one that was recorded.
Scene recorded_scene(const RecordingHeader& header);
Model recorded_model(const RecordingHeader& header, const Scene& scene);

// The touching contacts of the last step in a workspace.
void calc_recorded_contacts(const Workspace& workspace, std::vector<RecordedContact>* contacts);

// Takes the frames of a run as it goes.
class Recorder {
 public:
  virtual ~Recorder() = default;
  // Before every step: what acts in it.
  virtual void note_input(const State&, const Input&) {}
  // A state and the step that led to it: `workspace` may be null at the start, wall is the step's time [s].
  virtual void append(const State& state, const Report& report, const Workspace* workspace, double wall) = 0;
  virtual void close() = 0;
  virtual long num_frames() const = 0;
  virtual long bytes() const = 0;  // in the file
};

// Writes a recording. All functions throw OutputError; the destructor closes and hides errors.
class RecordingWriter : public Recorder {
 public:
  RecordingWriter(const std::string& path, const Model& model, const RecordingHeader& header);
  ~RecordingWriter() override;
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  void note_input(const State& state, const Input& input) override;
  void append(const State& state, const Report& report, const Workspace* workspace, double wall) override;
  void flush();
  void close() override;
  long num_frames() const override { return num_frames_; }
  long bytes() const override { return offset_; }

  struct ChunkPlace {
    std::int64_t offset = 0, first_frame = 0, num_frames = 0;
    double first_time = 0;
  };

 private:
  void write_chunk(const char* tag, const std::vector<std::uint8_t>& raw, long num_frames, double first_time);

  std::string path_;
  const Model& model_;
  RecordingHeader header_;
  SensorReader sensors_;
  FILE* file_ = nullptr;
  std::int64_t offset_ = 0;
  long num_frames_ = 0;
  std::size_t buffered_bytes_ = 0;
  double flushed_at_ = 0;
  std::vector<RecordedFrame> buffer_;
  std::vector<RecordedInput> inputs_;
  VecX last_control_;
  bool had_force_ = false;
  std::vector<ChunkPlace> index_;
};

// Reads a recording, complete or not. All functions throw InputError, which tells the byte that is damaged.
class Recording {
 public:
  explicit Recording(const std::string& path);
  const RecordingHeader& header() const { return header_; }
  const std::string& path() const { return path_; }
  long num_frames() const { return num_frames_; }
  std::int64_t bytes() const { return bytes_; }
  bool complete() const { return note_.empty(); }
  const std::string& note() const { return note_; }  // what is missing at the end of the file; "" nothing

  // Compiled on the first call. From then on every frame is checked to be one of this model: sizes, indices
  // of shapes, bodies and objects, numbers that are not finite. A fitting checksum says nothing of them.
  const Model& model();
  const RecordedFrame& frame(long index);  // valid until the next call
  long find(double time);                  // the last frame at or before `time`, or the first one

 private:
  void read_index();
  void scan();
  std::vector<std::uint8_t> read_chunk(const char* tag, std::int64_t offset);
  void load_chunk(std::size_t chunk);
  std::string why_unsound(const RecordedFrame& frame) const;
  [[noreturn]] void damaged(std::int64_t offset, const std::string& why) const;

  std::string path_, note_;
  std::unique_ptr<FILE, int (*)(FILE*)> file_;
  std::int64_t bytes_ = 0;
  long num_frames_ = 0;
  RecordingHeader header_;
  std::vector<RecordingWriter::ChunkPlace> index_;
  std::size_t loaded_ = static_cast<std::size_t>(-1);
  std::vector<RecordedFrame> frames_;  // of the loaded chunk
  std::unique_ptr<const Model> model_;
};

// Whether a file begins as a recording does.
bool is_recording(const std::string& path);

}  // namespace capstan
