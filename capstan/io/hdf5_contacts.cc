#include "capstan/io/hdf5_contacts.h"

#include <hdf5.h>

#include "capstan/io/output_file.h"

namespace capstan {

void add_hdf5_contacts(const std::string& path, const std::vector<std::int64_t>& begin,
                       const std::vector<RecordedContact>& contacts) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  if (file < 0) throw OutputError(path, "HDF5 could not open it again");
  bool ok = true;
  const auto write = [&](const char* name, hid_t type, hsize_t rows, hsize_t columns, const void* data) {
    const hsize_t size[2] = {rows, columns};
    const hid_t space = H5Screate_simple(columns > 1 ? 2 : 1, size, nullptr);
    const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ok = ok && set >= 0 && (rows == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    if (set >= 0) H5Dclose(set);
    H5Sclose(space);
  };
  write("contact_begin", H5T_NATIVE_INT64, begin.size(), 1, begin.data());
  const hsize_t n = contacts.size();
  std::vector<std::int32_t> shape, region;
  std::vector<float> point, normal, force, distance;
  for (const RecordedContact& c : contacts) {
    shape.insert(shape.end(), {c.shape_a, c.shape_b});
    region.push_back(c.region);
    point.insert(point.end(), c.point.begin(), c.point.end());
    normal.insert(normal.end(), c.normal.begin(), c.normal.end());
    force.insert(force.end(), c.force.begin(), c.force.end());
    distance.push_back(c.distance);
  }
  write("contact_shape", H5T_NATIVE_INT32, n, 2, shape.data());
  write("contact_region", H5T_NATIVE_INT32, n, 1, region.data());
  write("contact_point", H5T_NATIVE_FLOAT, n, 3, point.data());
  write("contact_normal", H5T_NATIVE_FLOAT, n, 3, normal.data());
  write("contact_force", H5T_NATIVE_FLOAT, n, 3, force.data());
  write("contact_distance", H5T_NATIVE_FLOAT, n, 1, distance.data());
  ok = H5Fclose(file) >= 0 && ok;
  if (!ok) throw OutputError(path, "HDF5 could not write the contacts");
}

}  // namespace capstan
