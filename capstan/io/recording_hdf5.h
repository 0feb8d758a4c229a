// A run as an HDF5 file for other programs: the log of its frames (io/log.h) with the contacts of each.
//
// Beside the datasets of a log there are contact_begin [frames + 1], where the contacts of each frame begin,
// and with a row for each contact contact_shape [n, 2], contact_region [n] (0 open, 1 sticking, 2 sliding),
// contact_point, contact_normal, contact_force [n, 3] (on the second shape) and contact_distance [n]; and
// shape_name, which contact_shape counts in. It cannot be replayed: that takes a .capstan file.
//
// Frames reach the file in batches, at least every kFlushSeconds, each followed by a flush: a killed run
// leaves a file that can be read, without the frames of the last batch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capstan/io/recording.h"

namespace capstan {

// All functions throw OutputError; the destructor closes and hides errors.
class Hdf5Recorder : public Recorder {
 public:
  // `file` is where the scene came from, for people. What `sensors` read is the group "sensor".
  Hdf5Recorder(const std::string& path, const Model& model, const std::string& file,
               const StepOptions& options, const SensorSet& sensors);
  // The same with columns whose numbers the caller has.
  Hdf5Recorder(const std::string& path, const Model& model, const std::string& file,
               const StepOptions& options, const std::vector<LogColumn>& sensor_columns);
  ~Hdf5Recorder() override;

  void note_input(const State&, const Input& input) override { sensors_.note_input(input); }
  void append(const State& state, const Report& report, const Workspace* workspace, double wall) override;
  // The same from a recording: `numbers` are those of log_numbers(), then of sensors.
  void append(const State& state, const VecX& numbers, const std::vector<RecordedContact>& contacts);
  void flush();
  void close() override;
  long num_frames() const override { return num_frames_; }
  long bytes() const override;

 private:
  struct Contacts;  // the datasets
  std::string path_;
  const Model& model_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<Contacts> sets_;
  SensorReader sensors_;
  long num_frames_ = 0;
  double flushed_at_ = 0;
  std::vector<VecX> rows_;  // not yet in the file, and their contacts
  std::vector<RecordedContact> contacts_, scratch_;
  std::vector<std::int64_t> ends_;
  std::int64_t num_contacts_ = 0;
};

// Whether a name asks for such a file: .h5 or .hdf5.
bool is_hdf5_name(const std::string& path);

// Whether a file is of that kind, by its first bytes; and what to say where it does not serve.
bool is_hdf5_file(const std::string& path);
inline constexpr const char* kHdf5 = "this is an HDF5 file, which is for other programs to read";
inline constexpr const char* kHdf5Remedy =
    "give a .capstan recording; 'capstan info' tells what an HDF5 file holds";

// What such a file, or a log of that kind, holds. Throws InputError.
struct Hdf5Summary {
  std::string scene, file, integrator, version;
  double dt = 0, start = 0, end = 0;       // [s]
  long num_frames = 0, num_contacts = -1;  // -1: a log, without contacts
};
Hdf5Summary read_hdf5_summary(const std::string& path);

}  // namespace capstan
