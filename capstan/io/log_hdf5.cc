// HDF5 by its C interface. The file is in the oldest format on purpose: it has no "open for writing" mark,
// so that what a killed run leaves opens like any other file. Data and index of a batch go to the file
// together, followed by H5Fflush; the file is inconsistent only within that call.
#include <fmt/core.h>
#include <hdf5.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "capstan/base/version.h"
#include "capstan/io/log.h"
#include "capstan/io/output_file.h"

namespace capstan {
namespace {

// Names and units as attributes beyond 64 kB would need the newest format: split over several attributes is
// not worth it, so the two attributes become datasets "<group>_name" and "<group>_unit" there.
constexpr std::size_t kMaxAttributeBytes = 60000;
constexpr std::uintmax_t kSpareBytes = 1 << 20;  // for started chunks and the index

std::string last_error(const std::string& fallback) {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* out) {
        auto* s = static_cast<std::string*>(out);
        if (s->empty() && error->desc) *s = error->desc;
        return herr_t{0};
      },
      &text);
  const std::size_t message = text.find("error message = '");
  if (message != std::string::npos) {
    const std::size_t begin = message + 17;
    text = text.substr(begin, text.find('\'', begin) - begin);
  }
  return text.empty() ? fallback : text;
}

// Any of HDF5's handles.
class Handle {
 public:
  Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() { close(); }
  operator hid_t() const { return id_; }
  void leak() { id_ = -1; }
  herr_t close() { return id_ >= 0 ? close_(std::exchange(id_, -1)) : 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

struct Group {
  std::string name;
  int begin, end;  // columns
  Handle dataset;
};

class Hdf5Log : public Log {
 public:
  Hdf5Log(const std::string& path, const LogHeader& header)
      : Log(static_cast<int>(header.columns.size())),
        path_(path),
        num_columns_(static_cast<int>(header.columns.size())),
        file_(-1, H5Fclose) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    // A plain open first: its reasons (no such folder, no permission) are clearer than HDF5's.
    FILE* probe = std::fopen(path.c_str(), "ab");
    if (!probe) throw OutputError(path_, std::strerror(errno));
    std::fclose(probe);
    file_ = Handle(check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)), H5Fclose);
    attribute(file_, "scene", {header.scene}, true);
    attribute(file_, "file", {header.file}, true);
    attribute(file_, "integrator", {integrator_name(header.options.integrator)}, true);
    attribute(file_, "version", {std::string("capstan ") + version()}, true);
    const Handle space(check(H5Screate(H5S_SCALAR)), H5Sclose);
    const Handle dt(check(H5Acreate2(file_, "dt", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT)),
                    H5Aclose);
    check(H5Awrite(dt, H5T_NATIVE_DOUBLE, &header.options.dt));
    for (int begin = 0; begin < num_columns_;) {
      int end = begin;
      while (end < num_columns_ && header.columns[end].group == header.columns[begin].group) ++end;
      add_group(header, begin, end);
      begin = end;
    }
    check(H5Fflush(file_, H5F_SCOPE_LOCAL));
  }
  ~Hdf5Log() override {
    if (failed_) {
      // HDF5 1.10 crashes when it closes a file whose last writes failed (the disk is full).
      for (Group& group : groups_) group.dataset.leak();
      file_.leak();
      return;
    }
    try {
      close();
    } catch (const OutputError&) {
    }
  }
  void close() override {
    if (file_ < 0 || failed_) return;
    flush();
    groups_.clear();
    if (file_.close() < 0) throw OutputError(path_, last_error("HDF5 could not close it"));
  }

 protected:
  void write(const double* rows, long num_rows) override {
    // A full disk is found before HDF5 meets it, so that the file stays as the last batch left it.
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::absolute(path_, error).parent_path();
    const std::filesystem::space_info space = std::filesystem::space(folder, error);
    const auto bytes = static_cast<std::uintmax_t>(num_rows) * num_columns_ * sizeof(double);
    if (!error && space.available < 2 * bytes + kSpareBytes) {
      throw OutputError(path_, "No space left on device");
    }
    for (Group& group : groups_) {
      const int width = group.end - group.begin;
      block_.resize(num_rows * width);
      for (long r = 0; r < num_rows; ++r) {
        std::copy_n(rows + r * num_columns_ + group.begin, width, block_.data() + r * width);
      }
      const int rank = group.name == "time" ? 1 : 2;
      const hsize_t total[2] = {hsize_t(written_ + num_rows), hsize_t(width)};
      const hsize_t start[2] = {hsize_t(written_), 0};
      const hsize_t count[2] = {hsize_t(num_rows), hsize_t(width)};
      check(H5Dset_extent(group.dataset, total));
      const Handle extent(check(H5Dget_space(group.dataset)), H5Sclose);
      check(H5Sselect_hyperslab(extent, H5S_SELECT_SET, start, nullptr, count, nullptr));
      const Handle memory(check(H5Screate_simple(rank, count, nullptr)), H5Sclose);
      check(H5Dwrite(group.dataset, H5T_NATIVE_DOUBLE, memory, extent, H5P_DEFAULT, block_.data()));
    }
    written_ += num_rows;
    check(H5Fflush(file_, H5F_SCOPE_LOCAL));
  }

 private:
  template <typename T>
  T check(T result) const {
    if (result < 0) {
      failed_ = true;
      throw OutputError(path_, last_error("HDF5 failed without a reason"));
    }
    return result;
  }

  void attribute(hid_t object, const char* name, const std::vector<std::string>& texts, bool scalar) {
    std::size_t width = 1;
    for (const std::string& text : texts) width = std::max(width, text.size() + 1);
    std::vector<char> block(width * texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::memcpy(block.data() + i * width, texts[i].data(), texts[i].size());
    }
    const Handle type(check(H5Tcopy(H5T_C_S1)), H5Tclose);
    check(H5Tset_size(type, width));
    check(H5Tset_cset(type, H5T_CSET_UTF8));
    const hsize_t count = texts.size();
    const Handle space(check(scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr)),
                       H5Sclose);
    if (block.size() <= kMaxAttributeBytes) {
      const Handle attribute(check(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT)),
                             H5Aclose);
      check(H5Awrite(attribute, type, block.data()));
      return;
    }
    char path[256];
    H5Iget_name(object, path, sizeof path);
    const std::string dataset_name = std::string(path) + "_" + name;
    const Handle dataset(
        check(H5Dcreate2(file_, dataset_name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)),
        H5Dclose);
    check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, block.data()));
  }

  void add_group(const LogHeader& header, int begin, int end) {
    const int rank = header.columns[begin].group == "time" ? 1 : 2;
    const hsize_t width = end - begin;
    const hsize_t size[2] = {0, width}, largest[2] = {H5S_UNLIMITED, width};
    const hsize_t chunk[2] = {std::clamp<hsize_t>(8192 / width, 16, 1024), width};
    const Handle space(check(H5Screate_simple(rank, size, largest)), H5Sclose);
    const Handle properties(check(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
    check(H5Pset_chunk(properties, rank, chunk));
    const std::string& name = header.columns[begin].group;
    groups_.push_back({name, begin, end,
                       Handle(check(H5Dcreate2(file_, name.c_str(), H5T_IEEE_F64LE, space, H5P_DEFAULT,
                                               properties, H5P_DEFAULT)),
                              H5Dclose)});
    std::vector<std::string> names, units;
    for (int i = begin; i < end; ++i) {
      names.push_back(header.columns[i].name);
      units.push_back(header.columns[i].unit);
    }
    attribute(groups_.back().dataset, "name", names, rank == 1);
    attribute(groups_.back().dataset, "unit", units, rank == 1);
  }

  std::string path_;
  int num_columns_;
  long written_ = 0;
  mutable bool failed_ = false;
  Handle file_;
  std::vector<Group> groups_;
  std::vector<double> block_;
};

}  // namespace

std::unique_ptr<Log> open_hdf5_log(const std::string& path, const LogHeader& header) {
  return std::make_unique<Hdf5Log>(path, header);
}

}  // namespace capstan
