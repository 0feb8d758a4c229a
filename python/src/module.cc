// The module capstan._core: the library's nouns for Python. The package around it is in python/capstan; users
// see both as one, docs/python.md.
#include "capstan/base/version.h"
#include "capstan/io/output_file.h"
#include "python/src/support.h"

namespace capstan::python {

// The library's errors as those of capstan/_errors.py, with what the library knows of them.
void bind_errors(nb::module_& m) {
  nb::class_<Diagnostic>(m, "Diagnostic",
                         "One problem of an input: where it is, what is wrong, what to write instead.")
      .def_prop_ro(
          "severity", [](const Diagnostic& d) { return d.severity == Severity::error ? "error" : "warning"; },
          "'error' or 'warning'.")
      .def_prop_ro(
          "file", [](const Diagnostic& d) { return d.where.file; },
          "File of the input; '<string>' for text, '' when none applies.")
      .def_prop_ro(
          "line", [](const Diagnostic& d) { return d.where.line; }, "Line, from 1; 0 when none applies.")
      .def_ro("what", &Diagnostic::what, "What is wrong, with name and value.")
      .def_ro("remedy", &Diagnostic::remedy, "What to write instead; may be ''.")
      .def("__str__", [](const Diagnostic& d) { return to_string(d); })
      .def("__repr__", [](const Diagnostic& d) { return "<Diagnostic " + to_string(d) + ">"; });
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    const auto raise = [](const char* name, const char* text, nb::object details) {
      const nb::object type = nb::module_::import_("capstan._errors").attr(name);
      const nb::object error = details.is_valid() ? type(text, details) : type(text);
      PyErr_SetObject(type.ptr(), error.ptr());
    };
    try {
      std::rethrow_exception(pointer);
    } catch (const InputError& error) {
      raise("InputError", error.what(), nb::cast(error.diagnostics().list));
    } catch (const OutputError& error) {
      raise("OutputError", error.what(), nb::object());
    }
  });
}

}  // namespace capstan::python

NB_MODULE(_core, m) {
  using namespace capstan::python;
  nb::set_leak_warnings(false);  // what pytest or a notebook still holds at the end is no leak of ours
  m.attr("__version__") = capstan::version();
  m.def("rigid_models", &rigid_models,
        "Models of rigid contact, and the solvers that take each, its default first: {model: [solver, "
        "...]}.\n\ndocs/solvers.md tells what they are; Simulation(scene, rigid=...) takes them.\n\n>>> "
        "\"ncp\" in capstan.rigid_models()\nTrue");
  bind_errors(m);
  bind_scene(m);
  bind_model(m);
  bind_state(m);
  bind_report(m);
  bind_simulation(m);
  bind_batch(m);
  bind_hdf5(m);
}
