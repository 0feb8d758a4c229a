// Scene: from files, text and plain objects; put together; out as YAML.
#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "capstan/base/closest_name.h"
#include "capstan/io/output_file.h"
#include "capstan/io/read.h"
#include "capstan/io/recording.h"
#include "capstan/io/scene_kind.h"
#include "capstan/io/scene_library.h"
#include "capstan/io/write_yaml.h"
#include "capstan/scene/compose.h"
#include "capstan/step/schedule.h"
#include "python/src/support.h"

namespace capstan::python {
namespace {

constexpr const char* kText = "<string>";

PyScene read_file(const std::string& path_or_name, bool strict) {
  PyScene result;
  result.diagnostics.strict = strict;
  const std::string path = find_scene(path_or_name);
  if (is_recording(path)) {
    throw InputError(Source{path, 0}, "this is a recording, not a scene", "read it with capstan.Recording");
  }
  result.scene = read_scene(path, &result.diagnostics);
  if (!result.diagnostics.ok()) throw InputError(std::move(result.diagnostics));
  return result;
}

// The readers of XML take files alone: a folder that lives as long as the reading.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text) {
    std::string folder = std::filesystem::temp_directory_path() / "capstan-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw OutputError(folder, "no temporary folder can be made");
    folder_ = folder;
    path_ = folder + "/scene.xml";
    write_file(path_, text);
  }
  ~ScratchFile() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string folder_, path_;
};

void rename_sources(const std::string& from, PyScene* scene) {
  const auto rename = [&](Source* where) {
    if (where->file == from) where->file = kText;
  };
  for (Diagnostic& d : scene->diagnostics.list) rename(&d.where);
  const auto rename_all = [&](auto& things) {
    for (auto& thing : things) rename(&thing.where);
  };
  Scene& s = scene->scene;
  for (Body& body : s.bodies) rename_all(body.joints);
  rename_all(s.bodies);
  rename_all(s.shapes);
  rename_all(s.materials);
  rename_all(s.pairs);
  rename_all(s.excludes);
  rename_all(s.sites);
  rename_all(s.tendons);
  rename_all(s.actuators);
  rename_all(s.constraints);
  rename_all(s.keyframes);
  rename_all(s.controls);
  rename_all(s.sensors);
  rename(&s.initial.where);
  s.file = "";
}

using Meshes = std::map<std::string, std::shared_ptr<const TriangleMesh>>;

PyScene read_text(const std::string& text, bool strict, const Meshes& meshes) {
  PyScene result;
  result.diagnostics.strict = strict;
  if (xml_root(text).empty()) {
    result.scene = read_yaml_text(text, meshes, &result.diagnostics);
    rename_sources("", &result);
  } else {
    const ScratchFile file(text);
    result.scene = read_scene(file.path(), &result.diagnostics);
    rename_sources(file.path(), &result);
  }
  if (!result.diagnostics.ok()) throw InputError(std::move(result.diagnostics));
  return result;
}

PyScene load_scene(nb::handle path_or_name, bool strict) {
  if (nb::isinstance<nb::dict>(path_or_name))
    throw nb::type_error("a scene is given as a dict; make it with capstan.scene_from_dict(...)");
  if (!nb::isinstance<nb::str>(path_or_name) && !nb::hasattr(path_or_name, "__fspath__")) {
    throw nb::type_error(fmt::format("a scene is given as {}; give a path, a name, a Scene or a Model",
                                     nb::repr(path_or_name).c_str())
                             .c_str());
  }
  const std::string path = to_path(path_or_name);
  const nb::gil_scoped_release release;
  return read_file(path, strict);
}

void append_scene(PyScene& into, const PyScene& model, const std::string& name, nb::handle position,
                  nb::handle quat_wxyz, const std::string& parent, const std::optional<std::string>& joint) {
  Instance instance;
  instance.name = name;
  instance.parent = parent;
  if (!position.is_none()) instance.pose.position = to_vec3(position, "position");
  if (!quat_wxyz.is_none()) {
    instance.pose.quat_wxyz = to_finite_vector(quat_wxyz, 4, "quat_wxyz");
    const double norm = instance.pose.quat_wxyz.norm();
    if (!(norm > 1e-9)) throw nb::value_error("quat_wxyz has no direction; (1, 0, 0, 0) does not turn");
    instance.pose.quat_wxyz /= norm;
  }
  if (joint && *joint != "free" && *joint != "weld") {
    raise_value_error(fmt::format("joint is '{}'; give 'free', 'weld' or None", *joint));
  }
  if (joint) {
    instance.root_joint = Joint();
    instance.root_joint->type = *joint == "free" ? JointType::free : JointType::weld;
  }
  const Scene copy = model.scene;  // it may be the very scene that is appended to
  append(&into.scene, copy, instance);
}

void set_friction(PyScene& s, double friction, const std::string& material) {
  if (!(friction >= 0) || !std::isfinite(friction)) {
    raise_value_error(fmt::format("friction is {:g}; give a finite number of 0 or more", friction));
  }
  for (Material& m : s.scene.materials) {
    if (m.name != material) continue;
    m.friction = friction;
    m.friction_tensor.reset();
    return;
  }
  std::vector<std::string> names = {"default"};
  for (const Material& m : s.scene.materials) names.push_back(m.name);
  if (material != "default") {
    throw nb::key_error(
        fmt::format("there is no material '{}'; {}", material, did_you_mean(material, names)).c_str());
  }
  Material added;
  added.name = "default";
  added.friction = friction;
  s.scene.materials.push_back(added);
}

// Shapes keep their shares of it, and so does the inertia.
void set_mass(PyScene& s, double mass, const std::string& body) {
  if (!(mass > 0) || !std::isfinite(mass))
    raise_value_error(fmt::format("mass is {:g} kg; give a finite number above 0", mass));
  std::vector<std::string> names;
  for (Body& b : s.scene.bodies) {
    names.push_back(b.name);
    if (b.name != body) continue;
    if (b.inertia) {
      b.inertia->about_com *= mass / b.inertia->mass;
      b.inertia->mass = mass;
      return;
    }
    const Model model = compile(s.scene);
    const double before = model.bodies[model.find_body(body)].mass;
    if (!(before > 0)) raise_value_error(fmt::format("body '{}' has no shape that could have a mass", body));
    for (ShapeInstance& shape : s.scene.shapes) {
      if (shape.body != body || !shape.has_mass) continue;
      if (shape.mass) *shape.mass *= mass / before;
      shape.density *= mass / before;
    }
    return;
  }
  throw nb::key_error(fmt::format("there is no body '{}'; {}", body, did_you_mean(body, names)).c_str());
}

// The whole of a scene as plain things, for pickle: YAML and the meshes it names.
nb::tuple scene_parts(const PyScene& s) {
  std::map<const TriangleMesh*, std::string> names;
  nb::list meshes;
  for (const auto& mesh : meshes_of(s.scene)) {
    const std::string name = "mesh" + std::to_string(names.size() + 1);
    names[mesh.get()] = name;
    RowMatrix vertices(static_cast<Eigen::Index>(mesh->vertices.size()), 3);
    for (Eigen::Index i = 0; i < vertices.rows(); ++i) vertices.row(i) = mesh->vertices[i].transpose();
    RowMatrix triangles(static_cast<Eigen::Index>(mesh->triangles.size()), 3);
    for (Eigen::Index i = 0; i < triangles.rows(); ++i) {
      for (int k = 0; k < 3; ++k) triangles(i, k) = mesh->triangles[i][k];
    }
    meshes.append(nb::make_tuple(name, to_numpy(vertices), to_numpy(triangles)));
  }
  return nb::make_tuple(write_yaml(s.scene, names), meshes, s.scene.file);
}

PyScene scene_from_parts(const std::string& yaml, const nb::list& list, const std::string& file) {
  Meshes meshes;
  for (const nb::handle item : list) {
    const auto parts = nb::cast<nb::tuple>(item);
    auto mesh = std::make_shared<TriangleMesh>();
    const RowMatrix vertices = to_matrix(parts[1], 3, "vertices");
    const RowMatrix triangles = to_matrix(parts[2], 3, "triangles");
    for (Eigen::Index i = 0; i < vertices.rows(); ++i)
      mesh->vertices.emplace_back(vertices.row(i).transpose());
    for (Eigen::Index i = 0; i < triangles.rows(); ++i) {
      std::array<int, 3> corner{};
      for (int k = 0; k < 3; ++k) {
        const double index = triangles(i, k);
        if (!(index >= 0) || index >= static_cast<double>(vertices.rows())) {
          throw nb::value_error("a triangle of the mesh has a vertex that is not there");
        }
        corner[k] = static_cast<int>(index);
      }
      mesh->triangles.push_back(corner);
    }
    meshes[nb::cast<std::string>(parts[0])] = mesh;
  }
  PyScene scene = read_text(yaml, false, meshes);
  scene.scene.file = file;
  scene.is_told = true;
  return scene;
}

}  // namespace

ModelPtr to_model(nb::handle object) {
  if (nb::isinstance<CompiledModel>(object)) return nb::cast<ModelPtr>(object);
  const bool is_read = nb::isinstance<PyScene>(object);  // and its warnings were told
  PyScene scene = is_read ? nb::cast<PyScene>(object) : load_scene(object, false);
  const std::size_t told = is_read ? scene.diagnostics.list.size() : 0;
  ModelPtr result;
  {
    const nb::gil_scoped_release release;
    Model model = compile(scene.scene, &scene.diagnostics);
    SensorSet sensors;
    if (scene.diagnostics.ok()) {
      sensors = make_sensors(model, scene.scene, scene.scene.sensors, &scene.diagnostics);
      make_schedule(model, scene.scene.controls, &scene.diagnostics);
    }
    if (!scene.diagnostics.ok()) throw InputError(std::move(scene.diagnostics));
    result = std::make_shared<const CompiledModel>(std::move(scene.scene), std::move(model),
                                                   std::move(sensors), std::move(scene.diagnostics));
  }
  if (!scene.is_told) tell_warnings(result->diagnostics, told);
  return result;
}

void bind_scene(nb::module_& m) {
  nb::class_<PyScene>(
      m, "Scene",
      "What is to be simulated, as a scene file says it (docs/scene.md). Model(scene) compiles it.")
      .def_static(
          "load",
          [](nb::handle path_or_name, bool strict) {
            PyScene scene = load_scene(path_or_name, strict);
            tell_warnings(scene.diagnostics);
            return scene;
          },
          "path_or_name"_a, "strict"_a = false,
          "Reads a scene file (YAML, URDF or MJCF), or a scene that comes with Capstan, by its name.\n\n"
          "Raises InputError with every problem found; `strict`: also where a file has something that is "
          "not\n"
          "understood, which is otherwise a warning.")
      .def_static(
          "from_string",
          [](const std::string& text, bool strict) {
            PyScene scene;
            {
              const nb::gil_scoped_release release;
              scene = read_text(text, strict, {});
            }
            tell_warnings(scene.diagnostics);
            return scene;
          },
          "text"_a, "strict"_a = false,
          "Reads a scene from text: YAML, URDF or MJCF. Files that YAML text names are looked for from the "
          "current\n"
          "folder; XML text can name files by absolute paths only.")
      .def_prop_ro(
          "name", [](const PyScene& s) { return s.scene.name; }, "Name of the scene.")
      .def_prop_ro(
          "file", [](const PyScene& s) { return s.scene.file; }, "Where it was read from, or ''.")
      .def_prop_ro(
          "warnings", [](const PyScene& s) { return s.diagnostics.list; },
          "What reading found: a list of Diagnostic.")
      .def_prop_ro(
          "body_names",
          [](const PyScene& s) {
            std::vector<std::string> names;
            for (const Body& body : s.scene.bodies) names.push_back(body.name);
            return names;
          },
          "Names of the bodies, without the world.")
      .def("append", &append_scene, "scene"_a, "name"_a = "", "position"_a = nb::none(),
           "quat_wxyz"_a = nb::none(), "parent"_a = "world", "joint"_a = nb::none(),
           "Places another scene in this one. All its names get the prefix 'name/'.\n\n"
           "position [m] and quat_wxyz place its world frame in the frame of body `parent`; joint 'free' or "
           "'weld'\n"
           "says how its root bodies move, None leaves it as it is.")
      .def("set_friction", &set_friction, "friction"_a, "material"_a = "default",
           "Changes the friction coefficient of a material; compile the scene again to see it act.")
      .def("set_mass", &set_mass, "mass"_a, "body"_a,
           "Changes the mass of a body [kg], and its inertia in proportion; compile the scene again to see "
           "it act.")
      .def(
          "to_yaml", [](const PyScene& s) { return write_yaml(s.scene); },
          "The scene as YAML text. Shapes with meshes are left out, with a comment; save() writes those, "
          "too.")
      .def(
          "save",
          [](const PyScene& s, nb::handle path) {
            const std::string file = to_path(path);
            Diagnostics diagnostics;
            if (!save_yaml(s.scene, file, &diagnostics)) throw InputError(std::move(diagnostics));
          },
          "path"_a, "Writes the scene as a YAML file, and its meshes beside it.")
      .def(
          "copy", [](const PyScene& s) { return s; }, "A scene of its own with the same content.")
      .def("_parts", &scene_parts)
      .def_static("_from_parts", &scene_from_parts)
      .def("__reduce__",
           [](const PyScene& s) {
             return nb::make_tuple(nb::module_::import_("capstan._pickle").attr("make_scene"),
                                   scene_parts(s));
           })
      .def("__repr__", [](const PyScene& s) {
        return fmt::format("<capstan.Scene '{}': {} bodies, {} shapes>", s.scene.name, s.scene.bodies.size(),
                           s.scene.shapes.size());
      });
  m.def("scene_folder", &scene_folder, "Folder of the scenes that come with Capstan; '' when there is none.");
  m.def(
      "scenes",
      [] {
        nb::dict result;
        for (const ShippedScene& scene : shipped_scenes()) {
          result[nb::str(scene.name.c_str())] = nb::str(scene.description.c_str());
        }
        return result;
      },
      "The scenes that come with Capstan: {name: what it shows}.");
}

}  // namespace capstan::python
