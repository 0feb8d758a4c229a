// What the files of the Python module share: numbers to and from numpy, names to indices, the model that
// Python objects hold in common.
//
// Rules that keep the interpreter alive whatever a user calls: every array from Python is copied or checked
// for its size before the library sees it; memory that numpy looks at is owned by a capsule that the array
// holds; an object that a step works on in one thread refuses all other threads until the step has ended
// (Busy).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "capstan/step/sensors.h"

namespace capstan::python {

namespace nb = nanobind;
using namespace nb::literals;

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// What functions take and give, by the words that Python's annotations have for it: nanobind writes these
// into _core.pyi and checks nothing.
inline bool is_anything(PyObject*) {
  return true;
}
#define CAPSTAN_ANNOTATED(Type, text)                      \
  class Type : public nb::object {                         \
    NB_OBJECT_DEFAULT(Type, nb::object, text, is_anything) \
  };
CAPSTAN_ANNOTATED(FloatArray, "numpy.typing.NDArray[numpy.float64]")
CAPSTAN_ANNOTATED(IntArray, "numpy.typing.NDArray[numpy.int32]")
CAPSTAN_ANNOTATED(RecordArray, "numpy.typing.NDArray[numpy.void]")
CAPSTAN_ANNOTATED(ArrayLike, "numpy.typing.ArrayLike")
CAPSTAN_ANNOTATED(NameOrNumber, "str | int")
CAPSTAN_ANNOTATED(PathLike, "str | os.PathLike[str]")
CAPSTAN_ANNOTATED(SceneLike, "Scene | Model | str | os.PathLike[str]")
CAPSTAN_ANNOTATED(PointsLike, "typing.Iterable[dict[str, typing.Any]] | str | os.PathLike[str]")
CAPSTAN_ANNOTATED(WholeNumber, "typing.SupportsIndex")
CAPSTAN_ANNOTATED(WholeNumbers, "typing.Iterable[typing.SupportsIndex]")
#undef CAPSTAN_ANNOTATED
using Texts = nb::typed<nb::dict, nb::str, nb::str>;
using Things = nb::typed<nb::dict, nb::str, nb::any>;

// Anything that numpy can make an array of, as numbers. `size` -1: any. Throws ValueError that names `what`.
VecX to_vector(nb::handle numbers, Eigen::Index size, const char* what);
VecX to_finite_vector(nb::handle numbers, Eigen::Index size, const char* what);
Vec3 to_vec3(nb::handle numbers, const char* what);
// Rows of `columns` numbers each.
RowMatrix to_matrix(nb::handle numbers, Eigen::Index columns, const char* what);

// A new numpy array with these numbers.
FloatArray to_numpy(const VecX& x);
FloatArray to_numpy(const RowMatrix& x);
inline FloatArray to_numpy(const Vec3& x) {
  return to_numpy(VecX(x));
}

// A numpy array of memory that `owner` keeps alive.
FloatArray view(double* data, std::initializer_list<std::size_t> shape, nb::handle owner);
template <class T>
nb::capsule keep(std::shared_ptr<T> owner) {
  return nb::capsule(new std::shared_ptr<T>(std::move(owner)),
                     [](void* p) noexcept { delete static_cast<std::shared_ptr<T>*>(p); });
}
// A numpy array of records: `bytes` of count records of a dtype.
RecordArray to_records(const void* data, std::size_t bytes, nb::handle dtype);

nb::slice make_slice(int begin, int end);

// str or os.PathLike; refuses a path with a zero byte, which the system would cut off there.
std::string to_path(nb::handle path);

[[noreturn]] void raise_value_error(const std::string& text);

// Names of one kind of things and their indices.
class Names {
 public:
  explicit Names(const char* kind = "") : kind_(kind) {}
  void add(const std::string& name);
  const std::vector<std::string>& list() const { return list_; }
  int size() const { return static_cast<int>(list_.size()); }
  bool has(const std::string& name) const { return index_.contains(name); }
  // By name or by number (negative ones count from the end). Throws KeyError with the nearest name,
  // IndexError, TypeError.
  int find(nb::handle name_or_index) const;

 private:
  std::string known() const;

  const char* kind_;
  std::vector<std::string> list_;
  std::unordered_map<std::string, int> index_;
};

// A scene and its model, which never change: shared by all simulations, states and batches of it.
struct CompiledModel {
  CompiledModel(Scene scene, Model model, SensorSet sensors, Diagnostics diagnostics);
  Scene scene;
  Model model;
  Diagnostics diagnostics;  // warnings of reading and compiling
  SensorSet sensors;
  Names bodies, joints, actuators, shapes, sites, tendons, keyframes, sensor_names, rods, soft_bodies;
};
using ModelPtr = std::shared_ptr<const CompiledModel>;

struct PyScene {
  Scene scene;
  Diagnostics diagnostics;
  bool is_told = false;  // from a pickle: its warnings were told where it was made
};
// Gives what diagnostics have from the `first` on to Python's warnings.
void tell_warnings(const Diagnostics& diagnostics, std::size_t first = 0);

// From a Scene, a Model, or what Scene.load() takes; tells warnings.
ModelPtr to_model(nb::handle scene_or_model);

// A model of the same scene with another friction of a material, or mass of a body [kg]; `m` stays as it is.
ModelPtr with_friction(const CompiledModel& m, double friction, const std::string& material);
ModelPtr with_mass(const CompiledModel& m, double mass, const std::string& body);

struct PyState {
  ModelPtr model;
  State state;
};

struct ContactRecord {  // CONTACT of capstan/_arrays.py
  std::int32_t shape_a, shape_b, body_a, body_b, region, kind;
  Vec3 point, normal, force;
  double distance, normal_force;
  Vec3 friction, slip;
  double area;
  Vec3 torque;
};
static_assert(sizeof(ContactRecord) == 24 + 21 * 8, "no gaps");

// How steps are taken, from keyword arguments with the command line's words. Throws ValueError.
StepOptions choose_options(const Model& model, const nb::kwargs& arguments);
std::string contact_law_name(const StepOptions& options);
void set_option(const std::string& name, nb::handle value, StepOptions* options);
nb::object get_option(const std::string& name, const StepOptions& options);
nb::typed<nb::dict, nb::str, nb::typed<nb::list, nb::str>>
rigid_models();  // {model: its solvers, the default one first}

// Quaternions that are not of unit length are made so; throws ValueError when no step can start from the
// state.
void make_sound(const Model& model, State* state);

// Marks an object as in use while one lives.
class Busy {
 public:
  explicit Busy(std::atomic<bool>* flag) : flag_(flag) {
    if (flag_->exchange(true)) {
      throw std::runtime_error(
          "another thread is stepping this object; give each thread a simulation of its own");
    }
  }
  ~Busy() { flag_->store(false); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool>* flag_;
};

// Looks now and then whether Ctrl-C or another signal has come; for loops that run without the interpreter's
// lock.
class SignalCheck {
 public:
  // True, with the Python error set, when a handler has raised.
  bool is_due_and_raised() {
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return false;
    last_ = now;
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

void bind_errors(nb::module_& m);
void bind_scene(nb::module_& m);
void bind_model(nb::module_& m);
void bind_dynamics(nb::class_<CompiledModel>& model);
void bind_objects(nb::module_& m, nb::class_<CompiledModel>& model);
void bind_state(nb::module_& m);
void bind_report(nb::module_& m);
void bind_simulation(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_hdf5(nb::module_& m);

}  // namespace capstan::python
