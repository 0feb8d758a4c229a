#include "capstan/io/recording.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include "capstan/base/hash.h"
#include "capstan/base/version.h"
#include "capstan/io/output_file.h"
#include "capstan/io/read.h"
#include "capstan/io/recording_codec.h"
#include "capstan/io/recording_hdf5.h"
#include "capstan/io/surface.h"
#include "capstan/io/write_yaml.h"
#include "capstan/step/contact_forces.h"

namespace capstan {
namespace {

constexpr char kMagic[] = "CAPSREC1", kEnd[] = "CAPSEND1";
constexpr std::size_t kMagicBytes = 8, kMaxChunkBytes = std::size_t{1} << 30;
constexpr std::int64_t kMaxChunkFrames = kMaxChunkBytes / 8;
constexpr std::size_t kFlushBytes = 1 << 20;  // of frames in memory
constexpr const char* kRemedy = "give a file that 'capstan run --record' wrote";

struct ChunkHeader {
  char tag[4];
  std::uint32_t num_frames;
  std::uint64_t stored_bytes, raw_bytes;
  double first_time;
  std::uint64_t checksum;  // of the fields before it and of the stored bytes
};
static_assert(sizeof(ChunkHeader) == 40);

struct Footer {
  std::int64_t index_offset;
  char magic[kMagicBytes];
};

std::uint64_t checksum(const ChunkHeader& header, const Bytes& stored) {
  Hash hash;
  hash.add(&header, offsetof(ChunkHeader, checksum));
  hash.add(stored.data(), stored.size());
  return hash.value;
}

std::size_t frame_bytes(const RecordedFrame& f) {
  return 8 * static_cast<std::size_t>(f.state.q.size() + f.state.v.size() + f.state.control.size() +
                                      f.numbers.size()) +
         f.contacts.size() * sizeof(RecordedContact) + f.inputs.size() * 64;
}

void check_reads_back(const RecordingHeader& header) {
  std::string why;
  try {
    recorded_model(header, recorded_scene(header));
    return;
  } catch (const InputError& error) {
    why = error.diagnostics().list.front().what;
  }
  throw InputError(Source{header.file, 0},
                   "this scene cannot be recorded, since it is not the same when it is read back: " + why,
                   "record to a .h5 file, which holds no scene, and report this scene as a bug");
}

}  // namespace

RecordingHeader recording_header(const Scene& scene, const Model& model, const std::string& file,
                                 const StepOptions& options, double duration) {
  RecordingHeader h;
  h.scene_name = scene.name;
  h.file = file;
  h.version = std::string("capstan ") + version();
  std::map<const TriangleMesh*, std::string> names;
  for (const auto& mesh : meshes_of(scene)) {
    h.meshes.push_back(mesh);
    names[mesh.get()] = fmt::format("mesh{}", h.meshes.size());
  }
  h.yaml = write_yaml(scene, names);
  h.fingerprint = model.fingerprint;
  h.options = options;
  h.duration = duration;
  h.num_q = model.num_positions;
  h.num_v = model.num_velocities();
  h.num_control = static_cast<int>(model.actuators.size());
  h.num_activation = model.has_activations ? h.num_control : 0;
  h.num_rest = options.sleep.on ? static_cast<int>(model.num_objects()) : 0;
  h.numbers = log_numbers();
  h.numbers.push_back({"timing", "step.wall_time", "s"});
  h.sensors = logged_sensors(model, scene);
  for (LogColumn& column : sensor_columns(h.sensors)) h.numbers.push_back(std::move(column));
  check_reads_back(h);
  return h;
}

Scene recorded_scene(const RecordingHeader& header) {
  std::map<std::string, std::shared_ptr<const TriangleMesh>> meshes;
  for (std::size_t i = 0; i < header.meshes.size(); ++i) {
    meshes[fmt::format("mesh{}", i + 1)] = header.meshes[i];
  }
  Diagnostics diagnostics;
  Scene scene = read_yaml_text(header.yaml, meshes, &diagnostics);
  if (!diagnostics.ok()) throw InputError(std::move(diagnostics));
  scene.file = header.file;
  return scene;
}

Model recorded_model(const RecordingHeader& header, const Scene& scene) {
  Model model = compile(scene);
  const bool fits = model.fingerprint == header.fingerprint && model.num_positions == header.num_q &&
                    model.num_velocities() == header.num_v &&
                    static_cast<int>(model.actuators.size()) == header.num_control &&
                    (header.num_activation > 0) == model.has_activations;
  if (!fits) {
    throw InputError(Source{header.file, 0},
                     fmt::format("the recording's scene gives another model ({:016x}) than the one recorded "
                                 "({:016x}); it was made by {}",
                                 model.fingerprint, header.fingerprint, header.version),
                     "run the scene again with this version");
  }
  return model;
}

void calc_recorded_contacts(const Workspace& workspace, std::vector<RecordedContact>* out) {
  std::vector<ContactForce> forces;
  calc_contact_forces(workspace, &forces);
  out->clear();
  for (const ContactForce& f : forces) {
    if (f.region == ContactRegion::open && f.distance > 0) continue;  // only speculative
    out->push_back({f.shape_a, f.shape_b, static_cast<std::int32_t>(f.region), floats(f.p_W),
                    floats(f.normal_W), floats(f.force_W()), static_cast<float>(f.distance),
                    static_cast<float>(f.area)});
  }
}

RecordingWriter::RecordingWriter(const std::string& path, const Model& model, const RecordingHeader& header)
    : path_(path), model_(model), header_(header), sensors_(model, header.sensors) {
  if (std::filesystem::is_directory(path)) throw OutputError(path, "it is a folder");
  file_ = std::fopen(path.c_str(), "wb");
  if (!file_) throw OutputError(path_, std::strerror(errno));
  std::setvbuf(file_, nullptr, _IONBF, 0);
  if (std::fwrite(kMagic, 1, kMagicBytes, file_) != kMagicBytes)
    throw OutputError(path_, std::strerror(errno));
  offset_ = kMagicBytes;
  write_chunk("HEAD", encode_header(header), 0, 0);
  header_.yaml.clear();  // only the sizes are needed from here on
  header_.meshes.clear();
  flushed_at_ = seconds_now();
}

RecordingWriter::~RecordingWriter() {
  try {
    close();
  } catch (const OutputError&) {
  }
  if (file_) std::fclose(file_);
}

void RecordingWriter::write_chunk(const char* tag, const Bytes& raw, long num_frames, double first_time) {
  const Bytes stored = pack(raw);
  ChunkHeader header{};
  std::memcpy(header.tag, tag, sizeof header.tag);
  header.num_frames = static_cast<std::uint32_t>(num_frames);
  header.stored_bytes = stored.size();
  header.raw_bytes = raw.size();
  header.first_time = first_time;
  header.checksum = checksum(header, stored);
  if (std::fwrite(&header, 1, sizeof header, file_) != sizeof header ||
      std::fwrite(stored.data(), 1, stored.size(), file_) != stored.size()) {
    throw OutputError(path_, std::strerror(errno));
  }
  offset_ += static_cast<std::int64_t>(sizeof header + stored.size());
}

void RecordingWriter::note_input(const State& state, const Input& input) {
  sensors_.note_input(input);
  const bool has_force =
      input.generalized_force.size() > 0 || !input.body_forces.empty() || input.surface_scale.size() > 0;
  const bool same_control =
      last_control_.size() == state.control.size() && (last_control_.array() == state.control.array()).all();
  if (!has_force && !had_force_ && same_control) return;
  inputs_.push_back({state.step, state.control, input});
  last_control_ = state.control;
  had_force_ = has_force;
}

void RecordingWriter::append(const State& state, const Report& report, const Workspace* workspace,
                             double wall) {
  RecordedFrame frame{state, hash(state), {}, {}, std::move(inputs_)};
  inputs_.clear();
  VecX numbers;
  calc_log_numbers(model_, state, report, &numbers);
  const VecX& sensed = sensors_.read(state, workspace);
  frame.numbers.resize(numbers.size() + 1 + sensed.size());
  frame.numbers << numbers, wall, sensed;
  CAPSTAN_ASSERT(frame.numbers.size() == static_cast<int>(header_.numbers.size()));
  if (workspace) calc_recorded_contacts(*workspace, &frame.contacts);
  buffered_bytes_ += frame_bytes(frame);
  buffer_.push_back(std::move(frame));
  ++num_frames_;
  if (buffered_bytes_ >= kFlushBytes || seconds_now() - flushed_at_ > kFlushSeconds) flush();
}

void RecordingWriter::flush() {
  if (!buffer_.empty()) {
    const std::vector<RecordedFrame> frames = std::exchange(buffer_, {});
    const auto n = static_cast<std::int64_t>(frames.size());
    index_.push_back({offset_, num_frames_ - n, n, frames.front().state.time});
    write_chunk("FRMS", encode_frames(header_, frames), n, frames.front().state.time);
  }
  buffered_bytes_ = 0;
  flushed_at_ = seconds_now();
}

void RecordingWriter::close() {
  if (!file_) return;
  flush();
  Bytes raw(index_.size() * sizeof(ChunkPlace));
  if (!raw.empty()) std::memcpy(raw.data(), index_.data(), raw.size());
  Footer footer{offset_, {}};
  std::memcpy(footer.magic, kEnd, kMagicBytes);
  write_chunk("INDX", raw, num_frames_, 0);
  if (std::fwrite(&footer, 1, sizeof footer, file_) != sizeof footer) {
    throw OutputError(path_, std::strerror(errno));
  }
  offset_ += sizeof footer;
  if (std::fclose(std::exchange(file_, nullptr)) != 0) throw OutputError(path_, std::strerror(errno));
}

bool is_recording(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  char magic[kMagicBytes];
  return file && std::fread(magic, 1, kMagicBytes, file.get()) == kMagicBytes &&
         std::memcmp(magic, kMagic, kMagicBytes) == 0;
}

Recording::Recording(const std::string& path)
    : path_(path),
      file_(std::filesystem::is_directory(path) ? nullptr : std::fopen(path.c_str(), "rb"),
            [](FILE* f) { return f ? std::fclose(f) : 0; }) {
  if (!file_) {
    throw InputError(
        Source{path, 0},
        fmt::format("the recording cannot be opened: {}",
                    std::filesystem::is_directory(path) ? "it is a folder" : std::strerror(errno)),
        kRemedy);
  }
  if (is_hdf5_file(path)) throw InputError(Source{path, 0}, kHdf5, kHdf5Remedy);
  if (!is_recording(path)) throw InputError(Source{path, 0}, "this is not a recording", kRemedy);
  bytes_ = static_cast<std::int64_t>(std::filesystem::file_size(path));
  const Bytes raw = read_chunk("HEAD", kMagicBytes);
  try {
    header_ = decode_header(raw);
  } catch (const std::runtime_error& error) {
    damaged(kMagicBytes, error.what());
  }
  read_index();
  if (index_.empty()) scan();
  for (const auto& chunk : index_) num_frames_ += chunk.num_frames;
  if (num_frames_ == 0) {
    throw InputError(Source{path_, 0},
                     "the recording has no frames: the run ended before its first state was written",
                     "run it again");
  }
}

void Recording::damaged(std::int64_t offset, const std::string& why) const {
  throw InputError(Source{path_, 0}, fmt::format("the recording is damaged at byte {}: {}", offset, why),
                   "record the run again");
}

Bytes Recording::read_chunk(const char* tag, std::int64_t offset) {
  ChunkHeader header;
  if (offset < 0 || offset > bytes_ - static_cast<std::int64_t>(sizeof header) ||
      std::fseek(file_.get(), offset, SEEK_SET) != 0 ||
      std::fread(&header, 1, sizeof header, file_.get()) != sizeof header) {
    damaged(offset, "the file ends there");
  }
  if (std::memcmp(header.tag, tag, sizeof header.tag) != 0) {
    damaged(offset, fmt::format("there is no {} chunk", tag));
  }
  const std::int64_t left = bytes_ - offset - static_cast<std::int64_t>(sizeof header);
  if (header.stored_bytes > static_cast<std::uint64_t>(left) || header.raw_bytes > kMaxChunkBytes) {
    damaged(offset,
            fmt::format("a {} chunk of {} bytes does not fit into the file", tag, header.stored_bytes));
  }
  Bytes stored(header.stored_bytes);
  if (std::fread(stored.data(), 1, stored.size(), file_.get()) != stored.size()) {
    damaged(offset, "it cannot be read");
  }
  if (checksum(header, stored) != header.checksum) {
    damaged(offset, fmt::format("the checksum of a {} chunk does not fit", tag));
  }
  try {
    return unpack(stored, header.raw_bytes);
  } catch (const std::runtime_error& error) {
    damaged(offset, error.what());
  }
}

void Recording::read_index() {
  Footer footer;
  if (bytes_ < static_cast<std::int64_t>(sizeof footer) ||
      std::fseek(file_.get(), bytes_ - static_cast<std::int64_t>(sizeof footer), SEEK_SET) != 0 ||
      std::fread(&footer, 1, sizeof footer, file_.get()) != sizeof footer ||
      std::memcmp(footer.magic, kEnd, kMagicBytes) != 0) {
    return;
  }
  try {
    const Bytes raw = read_chunk("INDX", footer.index_offset);
    index_.resize(raw.size() / sizeof(RecordingWriter::ChunkPlace));
    if (!index_.empty()) std::memcpy(index_.data(), raw.data(), index_.size() * sizeof index_[0]);
  } catch (const InputError&) {
    index_.clear();  // the frames may be whole all the same
  }
  std::int64_t first = 0;
  for (const auto& chunk : index_) {
    if (chunk.first_frame != first || chunk.num_frames <= 0 || chunk.num_frames > kMaxChunkFrames) {
      return index_.clear();
    }
    first += chunk.num_frames;
  }
}

void Recording::scan() {
  std::int64_t offset = kMagicBytes, first = 0;
  ChunkHeader header{};
  for (;;) {
    if (offset + static_cast<std::int64_t>(sizeof header) > bytes_ ||
        std::fseek(file_.get(), offset, SEEK_SET) != 0 ||
        std::fread(&header, 1, sizeof header, file_.get()) != sizeof header) {
      note_ = "it has no end: the run was killed, or the file cut off";
      break;
    }
    const std::string tag(header.tag, sizeof header.tag);
    const std::int64_t left = bytes_ - offset - static_cast<std::int64_t>(sizeof header);
    if (tag == "INDX") {
      note_ = "its index is damaged; the frames were found without it";
      break;
    }
    if (tag != "HEAD" && tag != "FRMS") {
      note_ = fmt::format("it is damaged at byte {}; what comes after is lost", offset);
      break;
    }
    if (header.stored_bytes > static_cast<std::uint64_t>(left)) {
      note_ = fmt::format("it is cut off within {} frames from t = {:g} s on", header.num_frames,
                          header.first_time);
      break;
    }
    if (tag == "FRMS" && header.num_frames > 0) {
      index_.push_back({offset, first, header.num_frames, header.first_time});
      first += header.num_frames;
    }
    offset += static_cast<std::int64_t>(sizeof header + header.stored_bytes);
  }
}

void Recording::load_chunk(std::size_t chunk) {
  if (loaded_ == chunk) return;
  const Bytes raw = read_chunk("FRMS", index_[chunk].offset);
  loaded_ = static_cast<std::size_t>(-1);
  try {
    frames_ = decode_frames(header_, raw);
  } catch (const std::runtime_error& error) {
    damaged(index_[chunk].offset, error.what());
  }
  if (static_cast<std::int64_t>(frames_.size()) != index_[chunk].num_frames) {
    damaged(index_[chunk].offset, "it has another number of frames than the index says");
  }
  for (std::size_t f = 0; f < frames_.size() && model_; ++f) {
    if (const std::string why = why_unsound(frames_[f]); !why.empty()) {
      damaged(index_[chunk].offset, fmt::format("frame {} cannot be used: {}", f, why));
    }
  }
  loaded_ = chunk;
}

const Model& Recording::model() {
  if (!model_) {
    model_ = std::make_unique<const Model>(recorded_model(header_, recorded_scene(header_)));
    if (header_.num_rest != 0 && header_.num_rest != model_->num_objects()) {
      damaged(kMagicBytes,
              fmt::format("{} of {} objects may sleep", header_.num_rest, model_->num_objects()));
    }
    const std::size_t logged = log_numbers().size() + 1;  // then those of sensors
    const std::vector<LogColumn>& numbers = header_.numbers;
    const auto is_sensor = [](const LogColumn& c) { return c.group == "sensor"; };
    const auto first = std::find_if(numbers.begin(), numbers.end(), is_sensor);
    if (first - numbers.begin() != static_cast<std::ptrdiff_t>(logged) ||
        !std::all_of(first, numbers.end(), is_sensor)) {
      damaged(kMagicBytes, fmt::format("it has {} numbers before those of sensors, not {}",
                                       first - numbers.begin(), logged));
    }
    loaded_ = static_cast<std::size_t>(-1);  // not checked yet
  }
  return *model_;
}

std::string Recording::why_unsound(const RecordedFrame& frame) const {
  std::string why = capstan::why_unsound(*model_, frame.state);
  if (!why.empty()) return why;
  const auto has = [](const auto& list, int i) { return i >= 0 && i < std::ssize(list); };
  const auto is_finite = [](const auto& list) {
    return std::all_of(list.begin(), list.end(), [](auto x) { return std::isfinite(x); });
  };
  for (const RecordedContact& c : frame.contacts) {
    for (const int shape : {c.shape_a, c.shape_b}) {
      if (!has(model_->shapes, shape)) return fmt::format("a contact is of shape {}", shape);
    }
    if (c.region < 0 || c.region > static_cast<int>(ContactRegion::sliding)) {
      return fmt::format("a contact is in region {}", c.region);
    }
    if (!is_finite(c.point) || !is_finite(c.normal) || !is_finite(c.force) || !std::isfinite(c.distance) ||
        !std::isfinite(c.area)) {
      return "a contact has a number that is not finite";
    }
  }
  for (const RecordedInput& in : frame.inputs) {
    const VecX &force = in.input.generalized_force, &scale = in.input.surface_scale;
    if (in.control.size() != frame.state.control.size() ||
        (force.size() != 0 && force.size() != frame.state.v.size()) ||
        (scale.size() != 0 && scale.size() != std::ssize(model_->shapes))) {
      return "an input has other sizes than the model";
    }
    if (!is_finite(in.control) || !is_finite(force) || !is_finite(scale)) return "an input is not finite";
    for (const BodyForce& f : in.input.body_forces) {
      if (!has(model_->bodies, f.body)) return fmt::format("a force acts on body {}", f.body);
      if (!is_finite(f.point_W) || !is_finite(f.force_W) || !is_finite(f.torque_W)) {
        return "a force is not finite";
      }
    }
  }
  return "";
}

const RecordedFrame& Recording::frame(long index) {
  CAPSTAN_ASSERT(index >= 0 && index < num_frames_);
  const auto after = std::upper_bound(index_.begin(), index_.end(), index,
                                      [](long i, const auto& chunk) { return i < chunk.first_frame; });
  const auto chunk = static_cast<std::size_t>(after - index_.begin()) - 1;
  load_chunk(chunk);
  return frames_[static_cast<std::size_t>(index - index_[chunk].first_frame)];
}

long Recording::find(double time) {
  const auto after = std::upper_bound(index_.begin(), index_.end(), time,
                                      [](double t, const auto& chunk) { return t < chunk.first_time; });
  if (after == index_.begin()) return 0;
  const auto chunk = static_cast<std::size_t>(after - index_.begin()) - 1;
  load_chunk(chunk);
  const auto next = std::upper_bound(frames_.begin(), frames_.end(), time,
                                     [](double t, const RecordedFrame& f) { return t < f.state.time; });
  return index_[chunk].first_frame + std::max<long>(0, next - frames_.begin() - 1);
}

}  // namespace capstan
