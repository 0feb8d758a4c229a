// Recordings of a run: one row of numbers for each logged step, as CSV or HDF5, with names and units in the
// file.
//
//   CSV    first line "time [s],shoulder.q [rad],...", then a line for each row; numbers are the shortest
//          that read back to the same bits
//   HDF5   datasets time, q, v, control, activation, rods, energy, momentum, solver, judge, those that have
//          columns; rows are steps, columns named by the string-array attributes "name" and "unit"; file
//          attributes scene, file, dt, integrator, version
//
// Rows are gathered in memory and brought to the file in whole batches, at least every kFlushSeconds, so that
// a run that is killed leaves a file that can be read, complete up to the last batch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capstan/step/step.h"

namespace capstan {

inline constexpr double kFlushSeconds = 0.5;

struct LogColumn {
  std::string group;  // dataset of an HDF5 file it belongs to; columns of a group are contiguous
  std::string name;
  std::string unit;
};

struct LogHeader {
  std::string scene, file;
  StepOptions options;
  std::vector<LogColumn> columns;
};

// The columns for a model: time, every q and v of joints, controls, activations of the actuators that have
// one, rods (io/rod_log.h), energies, momentum, residual, iterations, and what the judge says
// (Report::judge).
// `more` come last.
LogHeader log_header(const Model& model, const std::string& file, const StepOptions& options,
                     const std::vector<LogColumn>& more = {});

// The numbers for those columns. The report is that of the step that led to the state.
void calc_log_row(const Model& model, const State& state, const Report& report, VecX* row);

// Their parts: the columns after time, q, v, control and activation, the same for every model, with their
// numbers, and a row put together from a state and those.
std::vector<LogColumn> log_numbers();
void calc_log_numbers(const Model& model, const State& state, const Report& report, VecX* numbers);
void make_log_row(const Model& model, const State& state, const VecX& numbers, VecX* row);

// One open log. All functions throw OutputError; the destructor closes and hides errors, so that a run
// that ends well calls close().
class Log {
 public:
  virtual ~Log() = default;
  void append(const VecX& row);
  void flush();          // what was appended is in the file, and the file can be read
  virtual void close();  // flushes
  long num_rows() const { return num_rows_; }

 protected:
  explicit Log(int num_columns);
  virtual void write(const double* rows, long num_rows) = 0;  // row by row; and make it readable

 private:
  int num_columns_;
  long num_rows_ = 0, num_buffered_ = 0;
  std::vector<double> buffer_;
  double flushed_at_;
};

// Opens a log, replacing an old file. The kind is told by the extension: .csv, .h5 or .hdf5.
std::unique_ptr<Log> open_log(const std::string& path, const LogHeader& header);

// RFC 4180: a field with a comma, quote or line break is quoted, its quotes doubled.
std::string csv_field(const std::string& text);

// The two kinds.
std::unique_ptr<Log> open_csv_log(const std::string& path, const LogHeader& header);
std::unique_ptr<Log> open_hdf5_log(const std::string& path, const LogHeader& header);

}  // namespace capstan
