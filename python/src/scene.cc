// Scene: from files, text and plain objects; put together; out as YAML.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "capstan/io/output_file.h"
#include "capstan/io/read.h"
#include "capstan/io/recording.h"
#include "capstan/io/scene_kind.h"
#include "capstan/io/scene_library.h"
#include "capstan/io/write_yaml.h"
#include "capstan/model/with_friction.h"
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

void append_scene(PyScene& into, const PyScene& model, const std::string& name, const ArrayLike& position,
                  const ArrayLike& quat_wxyz, const std::string& parent,
                  const std::optional<std::string>& joint) {
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
  Names known("material");
  for (const Material& m : s.scene.materials) known.add(m.name);
  known.add("default");
  known.find(nb::str(material.c_str()));  // throws KeyError with the nearest name
  Material added;
  added.name = "default";
  added.friction = friction;
  s.scene.materials.push_back(added);
}

// Shapes keep their shares of it, and so does the inertia.
// `compiled`: the model of the scene, where there is one.
void set_mass_of(PyScene& s, double mass, const std::string& body, const Model* compiled) {
  if (!(mass > 0) || !std::isfinite(mass))
    raise_value_error(fmt::format("mass is {:g} kg; give a finite number above 0", mass));
  Names known("body");
  for (Body& b : s.scene.bodies) {
    known.add(b.name);
    if (b.name != body) continue;
    if (b.inertia) {
      if (!(b.inertia->mass > 0))
        raise_value_error(fmt::format("body '{}' has an inertia without mass", body));
      b.inertia->about_com *= mass / b.inertia->mass;
      b.inertia->mass = mass;
      return;
    }
    const Model made = compiled == nullptr ? compile(s.scene) : Model();
    const Model& model = compiled == nullptr ? made : *compiled;
    const double before = model.bodies[model.find_body(body)].mass;
    if (!(before > 0)) raise_value_error(fmt::format("body '{}' has no shape that could have a mass", body));
    std::vector<ShapeInstance*> carriers;
    for (ShapeInstance& shape : s.scene.shapes) {
      if (shape.body == body && shape.has_mass) carriers.push_back(&shape);
    }
    for (ShapeInstance* shape : carriers) {
      if (shape->mass) *shape->mass *= mass / before;
      shape->density *= mass / before;
    }
    if (carriers.size() == 1) carriers[0]->mass = mass;  // to the last bit
    return;
  }
  known.find(nb::str(body.c_str()));  // throws KeyError with the nearest name
}

void set_mass(PyScene& s, double mass, const std::string& body) {
  set_mass_of(s, mass, body, nullptr);
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

ModelPtr with_friction(const CompiledModel& m, double friction, const std::string& material) {
  PyScene scene{m.scene, m.diagnostics};
  set_friction(scene, friction, material);
  const std::vector<Material>& materials = m.model.materials;  // "default" is always one
  const auto index = static_cast<int>(std::find_if(materials.begin(), materials.end(),
                                                   [&](const Material& x) { return x.name == material; }) -
                                      materials.begin());
  const nb::gil_scoped_release release;
  return std::make_shared<const CompiledModel>(std::move(scene.scene),
                                               capstan::with_friction(m.model, index, friction), m.sensors,
                                               std::move(scene.diagnostics));
}

ModelPtr with_mass(const CompiledModel& m, double mass, const std::string& body) {
  PyScene scene{m.scene, {}};
  set_mass_of(scene, mass, body, &m.model);
  Diagnostics all = m.diagnostics;
  const std::size_t told = all.list.size();
  ModelPtr result;
  {
    const nb::gil_scoped_release release;
    Model model = compile(scene.scene, &scene.diagnostics);
    SensorSet sensors;
    if (scene.diagnostics.ok())
      sensors = make_sensors(model, scene.scene, scene.scene.sensors, &scene.diagnostics);
    if (!scene.diagnostics.ok()) throw InputError(std::move(scene.diagnostics));
    for (const Diagnostic& d : scene.diagnostics.list) {  // what was told of `m` is not told again
      const auto is_same = [&](const Diagnostic& old) { return to_string(old) == to_string(d); };
      if (std::none_of(m.diagnostics.list.begin(), m.diagnostics.list.end(), is_same)) all.list.push_back(d);
    }
    result = std::make_shared<const CompiledModel>(std::move(scene.scene), std::move(model),
                                                   std::move(sensors), std::move(all));
  }
  tell_warnings(result->diagnostics, told);
  return result;
}

void bind_scene(nb::module_& m) {
  nb::class_<PyScene>(
      m, "Scene",
      "What is to be simulated, as a scene file says it (docs/scene.md). Model(scene) compiles it.\n\n>>> "
      "scene = capstan.Scene.load(\"stack\")\n>>> scene.name, len(scene.body_names)\n('stack', 10)")
      .def_static(
          "load",
          [](const PathLike& path_or_name, bool strict) {
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
          "folder; XML text can name files by absolute paths only.\n\n>>> scene = "
          "capstan.Scene.from_string('''\n... capstan: 1\n... bodies:\n...   - {name: ball, joint: free, "
          "shape: {type: sphere, radius: 0.1, mass: 1}}\n... ''')\n>>> scene.body_names\n['ball']")
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
      .def_prop_ro(
          "material_names",
          [](const PyScene& s) {
            std::vector<std::string> names;
            for (const Material& material : s.scene.materials) names.push_back(material.name);
            return names;
          },
          "Names of the materials that the scene says; set_friction() takes these, and 'default'.")
      .def("append", &append_scene, "scene"_a, "name"_a = "", "position"_a = nb::none(),
           "quat_wxyz"_a = nb::none(), "parent"_a = "world", "joint"_a = nb::none(),
           "Places another scene in this one. All its names get the prefix 'name/'.\n\n"
           "position [3] [m] and quat_wxyz [4] place its world frame in the frame of body `parent`; joint "
           "'free' or "
           "'weld'\nsays how its root bodies move, None leaves it as it is.\n\n>>> two = "
           "capstan.Scene.load(\"double_pendulum\")\n>>> two.append(capstan.Scene.load(\"double_pendulum\"), "
           "\"right\", position=[1, 0, 0])\n>>> capstan.Model(two).num_velocities\n4")
      .def(
          "set_friction", &set_friction, "friction"_a, "material"_a = "default",
          "Changes the friction coefficient of a material in the scene: models that are compiled from now on "
          "have it.\n\n"
          "Where two materials meet, mu = 2 a b / (a + b); `pairs` of the scene that say their own friction "
          "keep it.\nSimulation.set_friction() changes it for a simulation that runs.\n\n>>> scene = "
          "capstan.Scene.load(\"stack\")\n>>> scene.set_friction(0.1)\n>>> model = capstan.Model(scene)")
      .def("set_mass", &set_mass, "mass"_a, "body"_a,
           "Changes the mass of a body [kg] in the scene, and its inertia in proportion: models that are "
           "compiled from\nnow on have it. Simulation.set_mass() changes it for a simulation that runs.")
      .def(
          "to_yaml", [](const PyScene& s) { return write_yaml(s.scene); },
          "The scene as YAML text. Shapes with meshes are left out, with a comment; save() writes those, "
          "too.")
      .def(
          "save",
          [](const PyScene& s, const PathLike& path) {
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
        Texts result;
        for (const ShippedScene& scene : shipped_scenes()) {
          result[nb::str(scene.name.c_str())] = nb::str(scene.description.c_str());
        }
        return result;
      },
      "The scenes that come with Capstan: {name: what it shows}.");
}

}  // namespace capstan::python
