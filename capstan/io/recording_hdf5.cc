#include "capstan/io/recording_hdf5.h"

#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "capstan/io/file.h"
#include "capstan/io/output_file.h"

namespace capstan {
namespace {

constexpr std::size_t kFlushContacts = 50'000;
constexpr std::uintmax_t kSpareBytes = 1 << 20;  // for started chunks and the index

}  // namespace

// Datasets that grow. The file is opened a second time beside the log, which HDF5 makes one.
struct Hdf5Recorder::Contacts {
  explicit Contacts(std::string p) : path(std::move(p)) {
    file = check(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    begin = make("contact_begin", H5T_STD_I64LE, 1);
    shape = make("contact_shape", H5T_STD_I32LE, 2);
    region = make("contact_region", H5T_STD_I32LE, 1);
    point = make("contact_point", H5T_IEEE_F32LE, 3);
    normal = make("contact_normal", H5T_IEEE_F32LE, 3);
    force = make("contact_force", H5T_IEEE_F32LE, 3);
    distance = make("contact_distance", H5T_IEEE_F32LE, 1);
    area = make("contact_area", H5T_IEEE_F32LE, 1);
  }
  ~Contacts() {
    if (failed) return;  // HDF5 1.10 crashes when it closes a file whose last writes failed
    for (const hid_t set : {begin, shape, region, point, normal, force, distance, area}) {
      if (set >= 0) H5Dclose(set);
    }
    if (file >= 0) H5Fclose(file);
  }
  Contacts(const Contacts&) = delete;
  Contacts& operator=(const Contacts&) = delete;

  template <typename T>
  T check(T result) {
    if (result >= 0) return result;
    failed = true;
    throw OutputError(path, "HDF5 could not write the contacts");
  }
  hid_t make(const char* name, hid_t type, hsize_t width) {
    const hsize_t size[2] = {0, width}, largest[2] = {H5S_UNLIMITED, width}, chunk[2] = {4096, width};
    const int rank = width > 1 ? 2 : 1;
    const hid_t space = check(H5Screate_simple(rank, size, largest));
    const hid_t properties = check(H5Pcreate(H5P_DATASET_CREATE));
    check(H5Pset_chunk(properties, rank, chunk));
    const hid_t set = check(H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Pclose(properties);
    H5Sclose(space);
    return set;
  }
  // Rows `first` and on of a dataset.
  void write(hid_t set, hid_t type, hsize_t first, hsize_t rows, hsize_t width, const void* data) {
    if (rows == 0) return;
    const int rank = width > 1 ? 2 : 1;
    const hsize_t total[2] = {first + rows, width}, start[2] = {first, 0}, count[2] = {rows, width};
    check(H5Dset_extent(set, total));
    const hid_t extent = check(H5Dget_space(set));
    check(H5Sselect_hyperslab(extent, H5S_SELECT_SET, start, nullptr, count, nullptr));
    const hid_t memory = check(H5Screate_simple(rank, count, nullptr));
    check(H5Dwrite(set, type, memory, extent, H5P_DEFAULT, data));
    H5Sclose(memory);
    H5Sclose(extent);
  }
  void write_names(const Model& model) {
    std::size_t width = 1;
    for (const ModelShape& s : model.shapes) width = std::max(width, s.name.size() + 1);
    std::vector<char> block(width * model.shapes.size());
    for (std::size_t i = 0; i < model.shapes.size(); ++i) {
      std::memcpy(block.data() + i * width, model.shapes[i].name.data(), model.shapes[i].name.size());
    }
    const hsize_t count = model.shapes.size();
    const hid_t type = check(H5Tcopy(H5T_C_S1));
    check(H5Tset_size(type, width));
    check(H5Tset_cset(type, H5T_CSET_UTF8));
    const hid_t space = check(H5Screate_simple(1, &count, nullptr));
    const hid_t set =
        check(H5Dcreate2(file, "shape_name", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (count > 0) check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, block.data()));
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
  }
  // `written` contacts are in the file already.
  void append(const std::vector<RecordedContact>& contacts, std::int64_t written) {
    const hsize_t first = static_cast<hsize_t>(written), n = contacts.size();
    std::vector<std::int32_t> words;
    std::vector<float> reals;
    for (const RecordedContact& c : contacts) words.insert(words.end(), {c.shape_a, c.shape_b});
    write(shape, H5T_NATIVE_INT32, first, n, 2, words.data());
    words.clear();
    for (const RecordedContact& c : contacts) words.push_back(c.region);
    write(region, H5T_NATIVE_INT32, first, n, 1, words.data());
    const auto vectors = [&](hid_t set, const std::array<float, 3> RecordedContact::*field) {
      reals.clear();
      for (const RecordedContact& c : contacts) {
        reals.insert(reals.end(), (c.*field).begin(), (c.*field).end());
      }
      write(set, H5T_NATIVE_FLOAT, first, n, 3, reals.data());
    };
    vectors(point, &RecordedContact::point);
    vectors(normal, &RecordedContact::normal);
    vectors(force, &RecordedContact::force);
    const auto scalars = [&](hid_t set, const float RecordedContact::*field) {
      reals.clear();
      for (const RecordedContact& c : contacts) reals.push_back(c.*field);
      write(set, H5T_NATIVE_FLOAT, first, n, 1, reals.data());
    };
    scalars(distance, &RecordedContact::distance);
    scalars(area, &RecordedContact::area);
  }

  std::string path;
  bool failed = false;
  hid_t file = -1, begin = -1, shape = -1, region = -1, point = -1, normal = -1, force = -1, distance = -1,
        area = -1;
};

bool is_hdf5_name(const std::string& path) {
  const std::string kind = lower_extension(path);
  return kind == ".h5" || kind == ".hdf5";
}

bool is_hdf5_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  char magic[8] = {};
  return stream.read(magic, sizeof magic) && std::memcmp(magic, "\x89HDF\r\n\x1a\n", sizeof magic) == 0;
}

Hdf5Summary read_hdf5_summary(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const auto refuse = [&](const std::string& why) {
    if (file >= 0) H5Fclose(file);
    throw InputError(Source{path, 0}, why, "give a file that 'capstan run' wrote with --record or --log");
  };
  if (file < 0) refuse("HDF5 cannot open it: it is damaged or cut off");
  Hdf5Summary s;
  bool ok = true;
  const auto text = [&](const char* name) {
    std::string out;
    const hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    if (attribute < 0) return ok = false, out;
    const hid_t type = H5Aget_type(attribute);
    if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0) {
      out.resize(H5Tget_size(type));
      ok = H5Aread(attribute, type, out.data()) >= 0 && ok;
      out.resize(std::strlen(out.c_str()));
    } else {
      ok = false;
    }
    H5Tclose(type);
    H5Aclose(attribute);
    return out;
  };
  s.scene = text("scene");
  s.file = text("file");
  s.integrator = text("integrator");
  s.version = text("version");
  const hid_t dt = H5Aopen(file, "dt", H5P_DEFAULT);
  ok = dt >= 0 && H5Aread(dt, H5T_NATIVE_DOUBLE, &s.dt) >= 0 && ok;
  if (dt >= 0) H5Aclose(dt);
  const auto rows = [&](const char* name, std::vector<double>* values) {
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    if (set < 0) return -1L;
    const hid_t space = H5Dget_space(set);
    hsize_t size[8] = {};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank >= 1 && rank <= 8) H5Sget_simple_extent_dims(space, size, nullptr);
    if (values) {
      values->resize(rank == 1 ? size[0] : 0);
      ok = rank == 1 && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values->data()) >= 0 &&
           ok;
    }
    H5Sclose(space);
    H5Dclose(set);
    return static_cast<long>(size[0]);
  };
  std::vector<double> times;
  s.num_frames = rows("time", &times);
  s.num_contacts = rows("contact_distance", nullptr);
  if (!ok || s.num_frames < 0) refuse("this HDF5 file is not one of Capstan's, or it is damaged");
  if (!times.empty()) {
    s.start = times.front();
    s.end = times.back();
  }
  H5Fclose(file);
  return s;
}

Hdf5Recorder::Hdf5Recorder(const std::string& path, const Model& model, const std::string& file,
                           const StepOptions& options, const SensorSet& sensors)
    : Hdf5Recorder(path, model, file, options, sensor_columns(sensors)) {
  sensors_ = SensorReader(model, sensors);
}

Hdf5Recorder::Hdf5Recorder(const std::string& path, const Model& model, const std::string& file,
                           const StepOptions& options, const std::vector<LogColumn>& sensor_columns)
    : path_(path),
      model_(model),
      log_(open_hdf5_log(path, log_header(model, file, options, sensor_columns))),
      sets_(std::make_unique<Contacts>(path)),
      sensors_(model, {}) {
  sets_->write_names(model);
  const std::int64_t zero = 0;
  sets_->write(sets_->begin, H5T_NATIVE_INT64, 0, 1, 1, &zero);
  sets_->check(H5Fflush(sets_->file, H5F_SCOPE_LOCAL));
  flushed_at_ = seconds_now();
}

Hdf5Recorder::~Hdf5Recorder() {
  try {
    close();
  } catch (const OutputError&) {
  }
}

void Hdf5Recorder::append(const State& state, const Report& report, const Workspace* workspace, double) {
  VecX numbers;
  calc_log_numbers(model_, state, report, &numbers);
  const VecX& sensed = sensors_.read(state, workspace);
  const Eigen::Index n = numbers.size();
  numbers.conservativeResize(n + sensed.size());
  numbers.tail(sensed.size()) = sensed;
  scratch_.clear();
  if (workspace) calc_recorded_contacts(*workspace, &scratch_);
  append(state, numbers, scratch_);
}

void Hdf5Recorder::append(const State& state, const VecX& numbers,
                          const std::vector<RecordedContact>& contacts) {
  rows_.emplace_back();
  make_log_row(model_, state, numbers, &rows_.back());
  contacts_.insert(contacts_.end(), contacts.begin(), contacts.end());
  ends_.push_back(num_contacts_ + static_cast<std::int64_t>(contacts_.size()));
  ++num_frames_;
  if (contacts_.size() >= kFlushContacts || seconds_now() - flushed_at_ > kFlushSeconds) flush();
}

// Contacts go first: where the rows of the log are, their contacts are.
void Hdf5Recorder::flush() {
  if (!sets_ || sets_->failed) return;
  // A full disk is found before HDF5 meets it, so that the file stays as the last batch left it.
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(path_, error).parent_path();
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (!error && space.available < 2 * contacts_.size() * sizeof(RecordedContact) + kSpareBytes) {
    throw OutputError(path_, "No space left on device");
  }
  sets_->append(contacts_, num_contacts_);
  const auto first = static_cast<hsize_t>(num_frames_) - ends_.size() + 1;
  sets_->write(sets_->begin, H5T_NATIVE_INT64, first, ends_.size(), 1, ends_.data());
  sets_->check(H5Fflush(sets_->file, H5F_SCOPE_LOCAL));  // the log's own covers its own datasets only
  num_contacts_ += static_cast<std::int64_t>(contacts_.size());
  for (const VecX& row : rows_) log_->append(row);
  log_->flush();
  contacts_.clear();
  ends_.clear();
  rows_.clear();
  flushed_at_ = seconds_now();
}

void Hdf5Recorder::close() {
  if (!sets_) return;
  flush();
  sets_.reset();
  log_->close();
}

long Hdf5Recorder::bytes() const {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path_, error);
  return error ? 0 : static_cast<long>(size);
}

}  // namespace capstan
