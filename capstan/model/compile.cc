#include <fmt/core.h>

#include <cmath>

#include "capstan/model/compiler.h"

namespace capstan {
namespace {

void check_options(const Scene& scene, Diagnostics& d) {
  const Options& o = scene.options;
  const Source where{scene.file, 0};
  if (!(o.dt > 0) || std::isinf(o.dt)) {
    d.error(where, fmt::format("the time step is {:g} s", o.dt),
            "write a finite number above 0, such as 0.005");
  }
  if (!o.gravity.allFinite()) d.error(where, "gravity is not finite", "write three numbers of m/s^2");
  if (!(o.duration >= 0) || std::isinf(o.duration)) {
    d.error(where, fmt::format("the duration is {:g} s", o.duration), "write a finite number of 0 or more");
  }
}

template <class T>
int find(const std::vector<T>& things, const std::string& name) {
  for (int i = 0; i < static_cast<int>(things.size()); ++i) {
    if (things[i].name == name) return i;
  }
  return -1;
}

}  // namespace

// A dof that nothing resists has no acceleration: it carries no mass, inertia or rotor, nor does anything
// after it.
void ModelCompiler::check_mass_matrix() {
  std::vector<double> mass(model.num_links());
  for (int l = model.num_links() - 1; l > 0; --l) {
    const Link& link = model.links[l];
    mass[l] += link.mass;
    mass[link.parent] += mass[l];
    bool has_rotors = true;
    for (int k = link.dof_begin; k < link.dof_end; ++k)
      has_rotors = has_rotors && model.dofs[k].rotor_inertia > 0;
    if (mass[l] > 0 || has_rotors) continue;
    const Body* body = sources[link.body];
    diagnostics.error(
        body->where,
        fmt::format("body '{}' moves but neither it nor anything attached to it has mass", body->name),
        "give it an inertia, or a shape with a density, or remove its joint");
  }
}

Model compile(const Scene& scene, Diagnostics* diagnostics) {
  ModelCompiler c{scene, *diagnostics, {}, {}, {}, {}, {}, {}, {}, {}};
  c.model.name = scene.name;
  c.model.options = scene.options;
  check_options(scene, *diagnostics);
  if (!c.compile_bodies()) return std::move(c.model);
  c.compile_pattern();
  c.check_mass_matrix();
  c.compile_materials();
  c.compile_shapes();
  c.compile_sites();
  c.compile_transmissions();
  c.compile_system_pattern();
  c.compile_constraints();
  c.compile_filters();
  c.compile_keyframes();
  c.compute_fingerprint();
  return std::move(c.model);
}

Model compile(const Scene& scene) {
  Diagnostics diagnostics;
  Model model = compile(scene, &diagnostics);
  if (!diagnostics.ok()) throw InputError(std::move(diagnostics));
  return model;
}

int Model::find_body(const std::string& body) const {
  return find(bodies, body);
}
int Model::find_joint(const std::string& joint) const {
  return find(joints, joint);
}
int Model::find_actuator(const std::string& actuator) const {
  return find(actuators, actuator);
}
int Model::find_keyframe(const std::string& keyframe) const {
  return find(keyframes, keyframe);
}

}  // namespace capstan
