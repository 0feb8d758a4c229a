#include "python/src/support.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "capstan/base/closest_name.h"
#include "capstan/model/add_rod.h"
#include "capstan/model/add_soft_body.h"

namespace capstan::python {
namespace {

using DoubleArray = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

DoubleArray to_array(nb::handle numbers, const char* what) {
  if (numbers.is_none()) raise_value_error(fmt::format("{} is None; give numbers", what));
  nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(numbers, "dtype"_a = "float64");
  return nb::cast<DoubleArray>(array);
}

}  // namespace

void raise_value_error(const std::string& text) {
  throw nb::value_error(text.c_str());
}

VecX to_vector(nb::handle numbers, Eigen::Index size, const char* what) {
  const DoubleArray array = to_array(numbers, what);
  if (array.ndim() != 1) {
    raise_value_error(
        fmt::format("{} has {} dimensions; give a list or an array of one", what, array.ndim()));
  }
  const auto n = static_cast<Eigen::Index>(array.shape(0));
  if (size >= 0 && n != size)
    raise_value_error(fmt::format("{} has {} number{}; give {}", what, n, n == 1 ? "" : "s", size));
  VecX x(n);
  if (n > 0) std::memcpy(x.data(), array.data(), n * sizeof(double));
  return x;
}

VecX to_finite_vector(nb::handle numbers, Eigen::Index size, const char* what) {
  VecX x = to_vector(numbers, size, what);
  if (!x.allFinite()) raise_value_error(fmt::format("{} has a number that is not finite", what));
  return x;
}

Vec3 to_vec3(nb::handle numbers, const char* what) {
  return to_finite_vector(numbers, 3, what);
}

RowMatrix to_matrix(nb::handle numbers, Eigen::Index columns, const char* what) {
  const DoubleArray array = to_array(numbers, what);
  if (array.ndim() != 2 || static_cast<Eigen::Index>(array.shape(1)) != columns) {
    std::string shape;
    for (std::size_t i = 0; i < array.ndim(); ++i) {
      shape += fmt::format("{}{}", i > 0 ? ", " : "", array.shape(i));
    }
    raise_value_error(fmt::format("{} has the shape ({}); give rows of {} numbers", what, shape, columns));
  }
  RowMatrix x(static_cast<Eigen::Index>(array.shape(0)), columns);
  if (x.size() > 0) std::memcpy(x.data(), array.data(), x.size() * sizeof(double));
  return x;
}

FloatArray view(double* data, std::initializer_list<std::size_t> shape, nb::handle owner) {
  static double nothing = 0;  // numpy wants an address, also of no numbers
  return nb::steal<FloatArray>(
      nb::cast(nb::ndarray<nb::numpy, double>(data != nullptr ? data : &nothing, shape, owner)).release());
}

FloatArray to_numpy(const VecX& x) {
  auto copy = std::make_shared<VecX>(x);
  return view(copy->data(), {static_cast<std::size_t>(x.size())}, keep(copy));
}

FloatArray to_numpy(const RowMatrix& x) {
  auto copy = std::make_shared<RowMatrix>(x);
  return view(copy->data(), {static_cast<std::size_t>(x.rows()), static_cast<std::size_t>(x.cols())},
              keep(copy));
}

RecordArray to_records(const void* data, std::size_t bytes, nb::handle dtype) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (bytes == 0) return nb::borrow<RecordArray>(numpy.attr("zeros")(0, dtype));
  // A bytearray, so that the records can be written to: they are the user's own.
  nb::object memory = nb::steal(PyByteArray_FromStringAndSize(static_cast<const char*>(data), bytes));
  return nb::borrow<RecordArray>(numpy.attr("frombuffer")(memory, dtype));
}

nb::slice make_slice(int begin, int end) {
  return nb::steal<nb::slice>(PySlice_New(nb::int_(begin).ptr(), nb::int_(end).ptr(), nullptr));
}

std::string to_path(nb::handle path) {
  const nb::object text = nb::steal(PyOS_FSPath(path.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  if (!nb::isinstance<nb::str>(text)) throw nb::type_error("give the path as a str or a pathlib.Path");
  std::string result = nb::cast<std::string>(text);
  if (result.find('\0') != std::string::npos) throw nb::value_error("the path has a zero byte");
  return result;
}

void Names::add(const std::string& name) {
  if (!name.empty()) index_.emplace(name, size());
  list_.push_back(name);
}

std::string Names::known() const {
  constexpr std::size_t kMost = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(kMost, list_.size()); ++i) names += (i > 0 ? ", " : "") + list_[i];
  if (list_.empty()) return "the model has none";
  return list_.size() > kMost ? fmt::format("known are {} and {} more", names, list_.size() - kMost)
                              : "known are " + names;
}

int Names::find(nb::handle key) const {
  if (nb::isinstance<nb::str>(key)) {
    const std::string name = nb::cast<std::string>(key);
    const auto found = index_.find(name);
    if (found != index_.end()) return found->second;
    const std::string text =
        fmt::format("there is no {} '{}'; {}", kind_, name, did_you_mean(name, list_, known()));
    throw nb::key_error(text.c_str());
  }
  if (!PyIndex_Check(key.ptr())) {
    throw nb::type_error(fmt::format("give the name or the number of a {}", kind_).c_str());
  }
  const Py_ssize_t number = PyNumber_AsSsize_t(key.ptr(), PyExc_IndexError);
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  if (number < -size() || number >= size()) {
    throw nb::index_error(fmt::format("there is no {} {}; the model has {}", kind_, number, size()).c_str());
  }
  return static_cast<int>(number < 0 ? number + size() : number);
}

void tell_warnings(const Diagnostics& diagnostics, std::size_t first) {
  if (first >= diagnostics.list.size()) return;
  nb::list texts;
  for (std::size_t i = first; i < diagnostics.list.size(); ++i) texts.append(to_string(diagnostics.list[i]));
  nb::module_::import_("capstan._errors").attr("tell_warnings")(texts);
}

CompiledModel::CompiledModel(Scene from, Model compiled, SensorSet made, Diagnostics told)
    : scene(std::move(from)),
      model(std::move(compiled)),
      diagnostics(std::move(told)),
      sensors(std::move(made)),
      bodies("body"),
      joints("joint"),
      actuators("actuator"),
      shapes("shape"),
      sites("site"),
      tendons("tendon"),
      keyframes("keyframe"),
      sensor_names("sensor"),
      rods("rod"),
      soft_bodies("soft body") {
  const auto fill = [](const auto& things, Names* names) {
    for (const auto& thing : things) names->add(thing.name);
  };
  fill(model.bodies, &bodies);
  fill(model.joints, &joints);
  fill(model.actuators, &actuators);
  fill(model.shapes, &shapes);
  fill(model.sites, &sites);
  fill(model.tendons, &tendons);
  fill(model.keyframes, &keyframes);
  fill(sensors.entries, &sensor_names);
  for (const int object : find_rods(model)) rods.add(rod_name(model, object));
  for (const int object : find_soft_bodies(model)) soft_bodies.add(soft_body_name(model, object));
}

void make_sound(const Model& model, State* state) {
  const std::string why = why_unsound(model, *state);
  if (!why.empty()) raise_value_error("no step can start from this state: " + why);
  // What the library computed is unit to round-off and keeps its bits.
  constexpr double kOff = 1e-9;
  for (const Stage& stage : model.stages) {
    if (stage.type != StageType::ball && stage.type != StageType::free) continue;
    auto quat = state->q.segment<4>(stage.type == StageType::free ? stage.q + 3 : stage.q);
    const double norm = quat.norm();
    if (std::abs(norm - 1) > kOff) quat /= norm;
  }
}

}  // namespace capstan::python
