#include "capstan/io/log.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "capstan/io/output_file.h"
#include "capstan/io/rod_log.h"
#include "capstan/io/soft_body_log.h"

namespace capstan {
namespace {

constexpr long kMaxBufferedNumbers = 1 << 17;  // 1 MB

struct Component {
  const char* name;  // "" for joints with one number
  const char* unit;
};

std::vector<Component> position_components(JointType type) {
  switch (type) {
    case JointType::weld:
      return {};
    case JointType::prismatic:
      return {{"", "m"}};
    case JointType::revolute:
    case JointType::screw:
      return {{"", "rad"}};
    case JointType::universal:
      return {{".1", "rad"}, {".2", "rad"}};
    case JointType::planar:
      return {{".x", "m"}, {".y", "m"}, {".angle", "rad"}};
    case JointType::ball:
      return {{".quat_w", "1"}, {".quat_x", "1"}, {".quat_y", "1"}, {".quat_z", "1"}};
    case JointType::free:
      return {{".x", "m"},      {".y", "m"},      {".z", "m"},     {".quat_w", "1"},
              {".quat_x", "1"}, {".quat_y", "1"}, {".quat_z", "1"}};
  }
  return {};
}

std::vector<Component> velocity_components(JointType type) {
  switch (type) {
    case JointType::weld:
      return {};
    case JointType::prismatic:
      return {{"", "m/s"}};
    case JointType::revolute:
    case JointType::screw:
      return {{"", "rad/s"}};
    case JointType::universal:
      return {{".1", "rad/s"}, {".2", "rad/s"}};
    case JointType::planar:
      return {{".x", "m/s"}, {".y", "m/s"}, {".angle", "rad/s"}};
    case JointType::ball:
      return {{".angular_x", "rad/s"}, {".angular_y", "rad/s"}, {".angular_z", "rad/s"}};
    case JointType::free:
      return {{".x", "m/s"},           {".y", "m/s"},           {".z", "m/s"},
              {".angular_x", "rad/s"}, {".angular_y", "rad/s"}, {".angular_z", "rad/s"}};
  }
  return {};
}

class CsvLog : public Log {
 public:
  CsvLog(const std::string& path, const LogHeader& header)
      : Log(static_cast<int>(header.columns.size())),
        path_(path),
        num_columns_(header.columns.size()),
        file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) throw OutputError(path_, std::strerror(errno));
    std::setvbuf(file_, nullptr, _IONBF, 0);
    for (std::size_t i = 0; i < header.columns.size(); ++i) {
      if (i > 0) text_ += ',';
      text_ += csv_field(fmt::format("{} [{}]", header.columns[i].name, header.columns[i].unit));
    }
    text_ += '\n';
    write_text();
  }
  ~CsvLog() override {
    try {
      close();
    } catch (const OutputError&) {
    }
    if (file_) std::fclose(file_);
  }
  void close() override {
    if (!file_) return;
    flush();
    FILE* file = std::exchange(file_, nullptr);
    if (std::fclose(file) != 0) throw OutputError(path_, std::strerror(errno));
  }

 protected:
  void write(const double* rows, long num_rows) override {
    text_.clear();
    for (long r = 0; r < num_rows; ++r) {
      for (std::size_t c = 0; c < num_columns_; ++c) {
        fmt::format_to(std::back_inserter(text_), "{}{}", *rows++, c + 1 < num_columns_ ? ',' : '\n');
      }
    }
    write_text();
  }

 private:
  void write_text() {
    if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) {
      throw OutputError(path_, std::strerror(errno));
    }
  }
  std::string path_, text_;
  std::size_t num_columns_;
  FILE* file_;
};

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<LogColumn> log_numbers() {
  std::vector<LogColumn> columns;
  for (const char* kind : {"kinetic", "gravity", "spring", "total"}) {
    columns.push_back({"energy", std::string("energy.") + kind, "J"});
  }
  for (const char* axis : {"x", "y", "z"}) {
    columns.push_back({"momentum", std::string("angular_momentum.") + axis, "N m s"});
  }
  for (const char* axis : {"x", "y", "z"}) {
    columns.push_back({"momentum", std::string("linear_momentum.") + axis, "N s"});
  }
  columns.push_back({"solver", "free_motion.residual", "1"});
  columns.push_back({"solver", "free_motion.iterations", "1"});
  columns.push_back({"solver", "contacts", "1"});
  columns.push_back({"solver", "contacts.ahead", "1"});
  columns.push_back({"solver", "contacts.late", "1"});
  columns.push_back({"solver", "contacts.withdrawn", "1"});
  columns.push_back({"solver", "friction.rounds", "1"});
  columns.push_back({"solver", "friction.violation", "1"});
  columns.push_back({"solver", "contact.deepest", "m"});
  columns.push_back({"solver", "contact.residual", "1"});
  columns.push_back({"solver", "contact.iterations", "1"});
  columns.push_back({"solver", "contact.rounds", "1"});
  columns.push_back({"solver", "contact.islands", "1"});
  columns.push_back({"solver", "contact.factorizations", "1"});
  columns.push_back({"solver", "contact.line_search_evaluations", "1"});
  columns.push_back({"solver", "trees.asleep", "1"});
  columns.push_back({"judge", "judge.momentum", "1"});
  columns.push_back({"judge", "judge.complementarity", "1"});
  columns.push_back({"judge", "judge.law", "1"});
  columns.push_back({"judge", "judge.cone_violation", "N s"});
  columns.push_back({"judge", "judge.penetration", "m"});
  columns.push_back({"judge", "judge.stick_slip", "m/s"});
  columns.push_back({"judge", "judge.friction_gain", "J"});
  columns.push_back({"judge", "judge.dissipated_power", "W"});
  return columns;
}

LogHeader log_header(const Model& model, const std::string& file, const StepOptions& options,
                     const std::vector<LogColumn>& more) {
  LogHeader header{model.name, file, options, {{"time", "time", "s"}}};
  std::vector<LogColumn>& columns = header.columns;
  for (const ModelJoint& joint : model.joints) {
    for (const Component& c : position_components(joint.type)) {
      columns.push_back({"q", joint.name + ".q" + c.name, c.unit});
    }
  }
  for (const ModelJoint& joint : model.joints) {
    for (const Component& c : velocity_components(joint.type)) {
      columns.push_back({"v", joint.name + ".v" + c.name, c.unit});
    }
  }
  // The unit of a control depends on the actuator's gain, which has none in scene files.
  for (const ModelActuator& a : model.actuators) columns.push_back({"control", a.name + ".control", "1"});
  // Nor has an activation, which follows a control.
  for (const ModelActuator& a : model.actuators) {
    if (a.has_activation()) columns.push_back({"activation", a.name + ".activation", "1"});
  }
  for (LogColumn& column : rod_columns(model)) columns.push_back(std::move(column));
  for (LogColumn& column : soft_body_columns(model)) columns.push_back(std::move(column));
  for (LogColumn& column : log_numbers()) columns.push_back(std::move(column));
  columns.insert(columns.end(), more.begin(), more.end());
  return header;
}

void calc_log_numbers(const Model& model, const State& state, const Report& report, VecX* numbers) {
  const Mechanics m = calc_mechanics(model, state);
  numbers->resize(34);
  int n = 0;
  for (const double e : {m.kinetic, m.gravity, m.spring, m.total()}) (*numbers)[n++] = e;
  for (const double p : m.momentum) (*numbers)[n++] = p;
  (*numbers)[n++] = report.free_motion_residual;
  (*numbers)[n++] = report.free_motion_iterations;
  (*numbers)[n++] = report.contacts;
  (*numbers)[n++] = report.ahead_contacts;
  (*numbers)[n++] = report.late_contacts;
  (*numbers)[n++] = report.withdrawn_contacts;
  (*numbers)[n++] = report.solver.friction_rounds;
  (*numbers)[n++] = report.solver.cone_violation;
  (*numbers)[n++] = report.deepest;
  (*numbers)[n++] = report.solver.momentum_residual;
  (*numbers)[n++] = report.solver.most_iterations;
  (*numbers)[n++] = report.solver.rounds;
  (*numbers)[n++] = report.solver.islands;
  (*numbers)[n++] = report.solver.factorizations;
  (*numbers)[n++] = report.solver.line_search_evaluations;
  (*numbers)[n++] = report.asleep;
  const Residual& r = report.judge;
  for (const double x : {r.momentum, r.complementarity, r.law, r.cone_violation, r.penetration, r.stick_slip,
                         r.friction_gain, r.dissipated_power}) {
    (*numbers)[n++] = x;
  }
  CAPSTAN_ASSERT(n == numbers->size());
}

void make_log_row(const Model& model, const State& state, const VecX& numbers, VecX* row) {
  // Joints are logged in their own order, which need not be that of q and v.
  const auto num_rod_numbers = static_cast<Eigen::Index>(rod_columns(model).size()),
             num_soft_numbers = static_cast<Eigen::Index>(soft_body_columns(model).size());
  Eigen::Index num_joint_numbers = 0, num_activations = 0, n = 0;
  for (const ModelJoint& joint : model.joints)
    num_joint_numbers += num_positions(joint.type) + num_velocities(joint.type);
  for (const ModelActuator& a : model.actuators) num_activations += a.has_activation() ? 1 : 0;
  row->resize(1 + num_joint_numbers + state.control.size() + num_activations + num_rod_numbers +
              num_soft_numbers + numbers.size());
  (*row)[n++] = state.time;
  for (const ModelJoint& joint : model.joints) {
    for (int i = 0; i < num_positions(joint.type); ++i) (*row)[n++] = state.q[joint.q + i];
  }
  for (const ModelJoint& joint : model.joints) {
    for (int i = 0; i < num_velocities(joint.type); ++i) (*row)[n++] = state.v[joint.v + i];
  }
  for (const double u : state.control) (*row)[n++] = u;
  for (int i = 0; i < std::ssize(model.actuators); ++i) {
    if (model.actuators[i].has_activation()) (*row)[n++] = state.activation[i];
  }
  calc_rod_numbers(model, state, {row->data() + n, static_cast<std::size_t>(num_rod_numbers)});
  n += num_rod_numbers;
  calc_soft_body_numbers(model, state, {row->data() + n, static_cast<std::size_t>(num_soft_numbers)});
  n += num_soft_numbers;
  row->tail(numbers.size()) = numbers;
  CAPSTAN_ASSERT(n + numbers.size() == row->size());
}

void calc_log_row(const Model& model, const State& state, const Report& report, VecX* row) {
  VecX numbers;
  calc_log_numbers(model, state, report, &numbers);
  make_log_row(model, state, numbers, row);
}

Log::Log(int num_columns) : num_columns_(num_columns), flushed_at_(seconds_now()) {}

void Log::append(const VecX& row) {
  CAPSTAN_ASSERT(row.size() == num_columns_);
  buffer_.insert(buffer_.end(), row.data(), row.data() + row.size());
  ++num_buffered_;
  ++num_rows_;
  if (static_cast<long>(buffer_.size()) >= kMaxBufferedNumbers ||
      seconds_now() - flushed_at_ > kFlushSeconds) {
    flush();
  }
}

void Log::flush() {
  if (num_buffered_ > 0) {
    const long n = std::exchange(num_buffered_, 0);
    write(buffer_.data(), n);
    buffer_.clear();
  }
  flushed_at_ = seconds_now();
}

void Log::close() {
  flush();
}

std::unique_ptr<Log> open_csv_log(const std::string& path, const LogHeader& header) {
  return std::make_unique<CsvLog>(path, header);
}

std::unique_ptr<Log> open_log(const std::string& path, const LogHeader& header) {
  const std::string extension = std::filesystem::path(path).extension();
  if (std::filesystem::is_directory(path)) throw OutputError(path, "it is a folder");
  if (extension == ".csv") return open_csv_log(path, header);
  if (extension == ".h5" || extension == ".hdf5") return open_hdf5_log(path, header);
  throw OutputError(path, fmt::format("a log is .csv, .h5 or .hdf5, not '{}'", extension));
}

}  // namespace capstan
