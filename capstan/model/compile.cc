#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "capstan/model/compiler.h"
#include "capstan/model/default_stiffness.h"
#include "capstan/model/inertia.h"

namespace capstan {
namespace {

void check_options(const Scene& scene, Diagnostics& d) {
  const Options& o = scene.options;
  const Source where{scene.file, 0};
  if (!(o.dt > 0) || std::isinf(o.dt)) {
    d.error(where, fmt::format("the time step is {:g} s", o.dt),
            "write a finite number above 0, such as 0.005");
  }
  if (!(o.contact.recovery_speed > 0)) {
    d.error(where, fmt::format("the recovery speed is {:g}", o.contact.recovery_speed),
            "write a number of m/s above 0, or infinity");
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
// after it. Examined with all joints at their reference: a mass matrix that is singular elsewhere fails in
// the step.
void ModelCompiler::check_mass_matrix() {
  std::vector<Inertia> composite(model.num_links());  // of each subtree, link frame
  for (int l = model.num_links() - 1; l > 0; --l) {
    const Link& link = model.links[l];
    const Body* body = sources[link.body];
    add_inertia({link.mass, link.com, link.inertia}, {}, &composite[l]);
    const bool is_free = model.stages[link.stage_begin].type == StageType::free;
    add_inertia(composite[l], is_free ? link.X_PL * to_transform(body->pose) : link.X_PL,
                &composite[link.parent]);
    if (has_unknown_inertia[l]) has_unknown_inertia[link.parent] = 1;
  }
  std::vector<int> as_written(model.num_links() - 1);  // links in the order of the scene's bodies
  std::iota(as_written.begin(), as_written.end(), 1);
  std::sort(as_written.begin(), as_written.end(),
            [&](int a, int b) { return sources[model.links[a].body] < sources[model.links[b].body]; });
  for (const int l : as_written) {
    if (has_unknown_inertia[l]) continue;
    const Link& link = model.links[l];
    const Body* body = sources[link.body];
    const Inertia& whole = composite[l];
    bool has_rotors = true;
    for (int k = link.dof_begin; k < link.dof_end; ++k)
      has_rotors = has_rotors && model.dofs[k].rotor_inertia > 0;
    if (has_rotors) continue;
    if (!(whole.mass > 0)) {
      diagnostics.error(
          body->where,
          fmt::format("body '{}' moves but neither it nor anything attached to it has mass", body->name),
          "give it an inertia, or a shape with a density, or remove its joint");
      continue;
    }
    for (int s = link.stage_begin; s < link.stage_end; ++s) {
      const Stage& stage = model.stages[s];
      const ModelDof& dof = model.dofs[stage.v];
      if (stage.type == StageType::prismatic || dof.rotor_inertia > 0) continue;
      // About the joint's centre; a free body turns about its centre of mass.
      const Vec3 d = stage.type == StageType::free ? Vec3::Zero() : Vec3(whole.com - stage.position);
      const Mat3 I = whole.about_com + whole.mass * (d.squaredNorm() * Mat3::Identity() - d * d.transpose());
      const bool is_scalar = stage.type == StageType::revolute || stage.type == StageType::screw;
      const double smallest = is_scalar
                                  ? stage.axis.dot(I * stage.axis) + stage.pitch * stage.pitch * whole.mass
                                  : principal_moments(I)[0];
      if (smallest > 1e-14 * I.trace()) continue;
      diagnostics.error(body->where,
                        fmt::format("joint '{}' turns something without inertia about {}",
                                    model.joints[dof.joint].name, is_scalar ? "its axis" : "some axis"),
                        "give the body moments of inertia above 0, or the joint a rotor inertia");
    }
  }
}

Model compile(const Scene& scene, Diagnostics* diagnostics) {
  ModelCompiler c{scene, *diagnostics, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  c.model.name = scene.name;
  c.model.options = scene.options;
  check_options(scene, *diagnostics);
  if (!c.compile_bodies()) return std::move(c.model);
  if (!c.compile_pattern()) return std::move(c.model);
  c.check_mass_matrix();
  c.compile_materials();
  c.compile_shapes();
  c.compile_transmissions();
  if (!c.compile_system_pattern()) return std::move(c.model);
  c.compile_rods();
  c.compile_soft_bodies();
  c.compile_patches();
  c.compile_sites();
  c.compile_site_actuators();
  set_default_stiffness(&c.model);
  c.compile_constraints();
  c.compile_attachments();
  c.compile_soft_attachments();
  c.compile_neighbours();
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

Model::Model() = default;
Model::Model(const Model&) = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(const Model&) = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

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
