// Arrays by name in an HDF5 file, as h5py reads and writes them: results of sweeps (capstan/_sweep.py).
//
// Numbers of 1 to 8 bytes, bool (as h5py: an enumeration FALSE, TRUE of 8 bits) and text of fixed length
// (UTF-8). Files are written whole, while the interpreter's lock is held: Debian's HDF5 is not made for
// several threads.
#include <fmt/core.h>
#include <hdf5.h>

#include <utility>

#include "python/src/support.h"

namespace capstan::python {
namespace {

class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what) : id_(id), close_(close) {
    if (id < 0) throw std::runtime_error(what);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void check(herr_t result, const std::string& what) {
  if (result < 0) throw std::runtime_error(what);
}

Handle copy_of(hid_t type) {
  return {H5Tcopy(type), H5Tclose, "HDF5 has no such type"};
}

// The type of a numpy dtype: its kind ('f', 'i', 'u', 'b', 'S') and bytes.
Handle type_of(char kind, std::size_t bytes, const std::string& name) {
  if (kind == 'f' && bytes == 8) return copy_of(H5T_IEEE_F64LE);
  if (kind == 'f' && bytes == 4) return copy_of(H5T_IEEE_F32LE);
  if (kind == 'i' || kind == 'u') {
    Handle type = copy_of(kind == 'i' ? H5T_STD_I64LE : H5T_STD_U64LE);
    if (bytes == 1 || bytes == 2 || bytes == 4) check(H5Tset_precision(type, 8 * bytes), name);
    if (bytes == 1 || bytes == 2 || bytes == 4) check(H5Tset_size(type, bytes), name);
    return type;
  }
  if (kind == 'b') {
    Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose, name);
    signed char value = 0;
    check(H5Tenum_insert(type, "FALSE", &value), name);
    value = 1;
    check(H5Tenum_insert(type, "TRUE", &value), name);
    return type;
  }
  if (kind == 'S') {
    Handle type = copy_of(H5T_C_S1);
    check(H5Tset_size(type, std::max<std::size_t>(bytes, 1)), name);
    check(H5Tset_cset(type, H5T_CSET_UTF8), name);
    return type;
  }
  raise_value_error(
      fmt::format("'{}' is of a kind that HDF5 files do not take here; give numbers, bool or text", name));
}

std::string dtype_of(hid_t type, const std::string& name) {
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return fmt::format("<f{}", bytes);
    case H5T_INTEGER:
      return fmt::format("<{}{}", H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', bytes);
    case H5T_ENUM:
      return "?";
    case H5T_STRING:
      return fmt::format("S{}", bytes);
    default:
      throw std::runtime_error(fmt::format("'{}' is of a kind that is not read here", name));
  }
}

void write_text(hid_t file, const std::string& name, const std::string& text) {
  const Handle type = copy_of(H5T_C_S1), space(H5Screate(H5S_SCALAR), H5Sclose, name);
  check(H5Tset_size(type, H5T_VARIABLE), name);
  check(H5Tset_cset(type, H5T_CSET_UTF8), name);
  const Handle attribute(H5Acreate2(file, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         name);
  const char* const words = text.c_str();
  check(H5Awrite(attribute, type, &words), name);
}

void write(nb::handle path, const nb::dict& arrays, const nb::dict& attributes) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const std::string name = to_path(path), failed = fmt::format("{}: it cannot be written", name);
  const Handle file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, failed);
  const nb::module_ numpy = nb::module_::import_("numpy");
  for (const auto& [key, value] : arrays) {
    const std::string what = nb::cast<std::string>(key);
    if (what.empty() || what.find('/') != std::string::npos || what.find('\0') != std::string::npos)
      raise_value_error(fmt::format("'{}' cannot be a name in an HDF5 file", what));
    nb::object array = numpy.attr("ascontiguousarray")(value).attr("reshape")(numpy.attr("shape")(value));
    if (nb::cast<std::string>(array.attr("dtype").attr("kind")) == "U")
      array = numpy.attr("char").attr("encode")(array, "utf-8");
    if (nb::cast<std::string>(array.attr("dtype").attr("byteorder")) == ">")
      array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("<"));
    const char kind = nb::cast<std::string>(array.attr("dtype").attr("kind"))[0];
    const Handle type = type_of(kind, nb::cast<std::size_t>(array.attr("dtype").attr("itemsize")), what);
    const auto shape = nb::cast<std::vector<unsigned long>>(array.attr("shape"));
    const std::vector<hsize_t> sizes(shape.begin(), shape.end());
    const Handle space(sizes.empty()
                           ? H5Screate(H5S_SCALAR)
                           : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
                       H5Sclose, failed);
    const Handle data(H5Dcreate2(file, what.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                      H5Dclose, fmt::format("{}: '{}' cannot be written", name, what));
    const nb::bytes bytes(array.attr("tobytes")());
    if (bytes.size() > 0) check(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), failed);
  }
  for (const auto& [key, value] : attributes)
    write_text(file, nb::cast<std::string>(key), nb::cast<std::string>(value));
  check(H5Fflush(file, H5F_SCOPE_LOCAL), failed);
}

nb::dict read(nb::handle path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const std::string name = to_path(path), failed = fmt::format("{}: it cannot be read", name);
  const Handle file(H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, failed);
  std::vector<std::string> names;
  check(H5Literate(
            file, H5_INDEX_NAME, H5_ITER_INC, nullptr,
            [](hid_t, const char* what, const H5L_info_t*, void* to) {
              static_cast<std::vector<std::string>*>(to)->emplace_back(what);
              return herr_t{0};
            },
            &names),
        failed);
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::dict arrays;
  for (const std::string& what : names) {
    const Handle data(H5Dopen2(file, what.c_str(), H5P_DEFAULT), H5Dclose, failed);
    const Handle type(H5Dget_type(data), H5Tclose, failed), space(H5Dget_space(data), H5Sclose, failed);
    std::vector<hsize_t> sizes(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    std::string dtype = dtype_of(type, what);
    std::size_t bytes = H5Tget_size(type);
    nb::list shape;
    for (const hsize_t n : sizes) {
      shape.append(n);
      bytes *= n;
    }
    nb::object memory = nb::steal(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
    if (!memory.is_valid()) throw nb::python_error();
    if (bytes > 0)
      check(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, PyByteArray_AsString(memory.ptr())), failed);
    nb::object array = bytes > 0 ? numpy.attr("frombuffer")(memory, dtype) : numpy.attr("zeros")(0, dtype);
    array = array.attr("reshape")(nb::tuple(shape));
    if (dtype[0] == 'S') array = numpy.attr("char").attr("decode")(array, "utf-8");
    arrays[what.c_str()] = array;
  }
  return arrays;
}

}  // namespace

void bind_hdf5(nb::module_& m) {
  m.def("_write_hdf5", &write, "path"_a, "arrays"_a, "attributes"_a);
  m.def("_read_hdf5", &read, "path"_a);
}

}  // namespace capstan::python
