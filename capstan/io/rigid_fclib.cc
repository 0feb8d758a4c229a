// The layout of FCLIB (https://frictionalcontactlibrary.github.io), a local problem:
//
//   /fclib_local/spacedim              3
//   /fclib_local/W/{m, n, nz, nzmax}   nz = -1: compressed columns; p [n + 1], i and x [nzmax]
//   /fclib_local/vectors/{q, mu}       [3 contacts], [contacts]
//   /fclib_local/info/{title, description, math_info}
//
// u = W r + q, rows of a contact are normal, then tangential.
#include <hdf5.h>

#include <vector>

#include "capstan/io/output_file.h"
#include "capstan/io/rigid_dump.h"

namespace capstan {
namespace {

struct File {
  std::string path;
  hid_t id = -1;

  explicit File(const std::string& p) : path(p) {
    id = check(H5Fcreate(p.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  }
  ~File() {
    if (id >= 0) H5Fclose(id);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  template <typename T>
  T check(T result) const {
    if (result < 0) throw OutputError(path, "HDF5 could not write the problem");
    return result;
  }
  void group(const char* name) const {
    H5Gclose(check(H5Gcreate2(id, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
  }
  void write(const char* name, hid_t stored, hid_t type, hsize_t size, const void* data) const {
    const hid_t space = check(H5Screate_simple(1, &size, nullptr));
    const hid_t set = check(H5Dcreate2(id, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (size > 0) check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    H5Dclose(set);
    H5Sclose(space);
  }
  void write(const char* name, const std::vector<int>& data) const {
    write(name, H5T_STD_I32LE, H5T_NATIVE_INT, data.size(), data.data());
  }
  void write(const char* name, const std::vector<double>& data) const {
    write(name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, data.size(), data.data());
  }
  void write(const char* name, const std::string& text) const {
    const hid_t type = check(H5Tcopy(H5T_C_S1));
    check(H5Tset_size(type, text.size() + 1));
    const hid_t space = check(H5Screate(H5S_SCALAR));
    const hid_t set = check(H5Dcreate2(id, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()));
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
  }
};

}  // namespace

bool write_fclib(const std::string& path, const RigidProblem& problem, const RigidDump& dump) {
  std::vector<int> rows;  // of ours, in their order
  std::vector<double> mu, q, x;
  std::vector<int> p = {0}, index;
  for (const RigidBlock& block : problem.blocks) {
    if (!block.is_contact()) return false;
    rows.insert(rows.end(), {block.row + 2, block.row, block.row + 1});
    mu.push_back(block.mu);
  }
  const MatX W = problem.calc_W();
  for (const int column : rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (W(rows[i], column) == 0) continue;
      index.push_back(static_cast<int>(i));
      x.push_back(W(rows[i], column));
    }
    p.push_back(static_cast<int>(x.size()));
    q.push_back(problem.b[column]);
  }
  const int n = static_cast<int>(rows.size());
  const File file(path);
  file.group("/fclib_local");
  file.write("/fclib_local/spacedim", std::vector<int>{3});
  file.group("/fclib_local/W");
  file.write("/fclib_local/W/nzmax", std::vector<int>{static_cast<int>(x.size())});
  file.write("/fclib_local/W/m", std::vector<int>{n});
  file.write("/fclib_local/W/n", std::vector<int>{n});
  file.write("/fclib_local/W/nz", std::vector<int>{-1});
  file.write("/fclib_local/W/p", p);
  file.write("/fclib_local/W/i", index);
  file.write("/fclib_local/W/x", x);
  file.group("/fclib_local/vectors");
  file.write("/fclib_local/vectors/q", q);
  file.write("/fclib_local/vectors/mu", mu);
  file.group("/fclib_local/info");
  file.write("/fclib_local/info/title", dump.scene);
  file.write("/fclib_local/info/description",
             "step " + std::to_string(dump.step) + " at t = " + std::to_string(dump.time) + " s, by capstan");
  file.write("/fclib_local/info/math_info", std::to_string(mu.size()) + " contacts");
  return true;
}

}  // namespace capstan
