// What a saved state depends on, in 64 bits: states of another model are refused by it.
#include "capstan/base/hash.h"
#include "capstan/geometry/pressure_field.h"
#include "capstan/model/compiler.h"
#include "capstan/physics/physics.h"

namespace capstan {
namespace {

void add(const std::optional<SoftReference>& soft, Hash* hash) {
  if (!soft) return;
  for (const double x : soft->solref) hash->add(x);
  for (const double x : soft->solimp) hash->add(x);
}

}  // namespace

void ModelCompiler::compute_fingerprint() {
  Hash hash;
  hash.add(static_cast<std::int64_t>(model.num_positions));
  for (const ModelBody& body : model.bodies) hash.add(body.name);
  for (const ModelJoint& joint : model.joints) {
    hash.add(joint.name);
    hash.add(static_cast<std::int64_t>(joint.type));
  }
  const auto add_transmission = [&](const Transmission& t) {
    for (const Transmission::Term& term : t.terms) {
      hash.add(static_cast<std::int64_t>(term.dof));
      hash.add(term.coefficient);
    }
  };
  for (const ModelActuator& actuator : model.actuators) {
    hash.add(actuator.name);
    add_transmission(actuator.transmission);
    hash.add(actuator.gain);
    hash.add(actuator.bias.data(), sizeof actuator.bias);
    if (!actuator.gain_slope.isZero(0)) hash.add(actuator.gain_slope.data(), sizeof actuator.gain_slope);
    if (actuator.has_activation()) {
      const Activation& a = actuator.activation;
      hash.add(static_cast<std::int64_t>(a.type));
      for (const double x : {a.time_constant, a.time_constant_off, a.smoothing, a.range.lower, a.range.upper})
        hash.add(x);
    }
    if (actuator.muscle) {
      const Muscle& m = *actuator.muscle;
      for (const double x : {m.length_range.lower, m.length_range.upper, m.operating.lower, m.operating.upper,
                             m.force, m.shortest, m.longest, m.fastest, m.passive, m.lengthening})
        hash.add(x);
    }
  }
  for (const SiteActuator& s : model.site_actuators) {
    hash.add(static_cast<std::int64_t>(s.actuator));
    hash.add(static_cast<std::int64_t>(s.body));
    hash.add(s.X_BS.R.data(), sizeof s.X_BS.R);
    hash.add(s.X_BS.p.data(), sizeof s.X_BS.p);
    hash.add(s.gear.data(), sizeof s.gear);
  }
  if (!model.drag_boxes.empty()) {
    const Options& o = model.options;
    for (const double x : {o.fluid_density, o.fluid_viscosity, o.wind[0], o.wind[1], o.wind[2]}) hash.add(x);
  }
  for (const ModelTendon& tendon : model.tendons) {
    hash.add(tendon.name);
    add_transmission(tendon.transmission);
    for (const ModelTendonPoint& p : tendon.path) {
      for (const int i : {static_cast<int>(p.kind), p.body, static_cast<int>(p.is_sphere), p.side_body})
        hash.add(static_cast<std::int64_t>(i));
      hash.add(p.X_BS.R.data(), sizeof p.X_BS.R);
      hash.add(p.X_BS.p.data(), sizeof p.X_BS.p);
      hash.add(p.side.data(), sizeof p.side);
      hash.add(p.radius);
      hash.add(p.divisor);
    }
    for (const double x :
         {tendon.stiffness, tendon.damping, tendon.spring_rest.lower, tendon.spring_rest.upper})
      hash.add(x);
  }
  for (const Stage& stage : model.stages) {
    hash.add(static_cast<std::int64_t>(stage.type));
    hash.add(stage.axis.data(), sizeof stage.axis);
    hash.add(stage.position.data(), sizeof stage.position);
    hash.add(stage.pitch);
    hash.add(stage.reference);
  }
  for (const Link& link : model.links) {
    hash.add(link.weightless_mass);
    hash.add(link.mass);
    hash.add(link.com.data(), sizeof link.com);
    hash.add(link.inertia.data(), sizeof link.inertia);
    hash.add(link.X_PL.R.data(), sizeof link.X_PL.R);
    hash.add(link.X_PL.p.data(), sizeof link.X_PL.p);
  }
  for (const Object& object : model.objects) {
    if (object.is_tree()) continue;
    hash.add(object.physics->kind());
    hash.add(static_cast<std::int64_t>(object.physics->fingerprint()));
  }
  for (const ModelDof& dof : model.dofs) {
    for (const double x :
         {dof.stiffness, dof.spring_reference, dof.damping, dof.dry_friction, dof.rotor_inertia})
      hash.add(x);
  }
  for (const ModelShape& shape : model.shapes) {
    hash.add(shape.name);
    hash.add(static_cast<std::int64_t>(shape.link));
    hash.add(static_cast<std::int64_t>(shape.shape.index()));
    hash.add(shape.X_LS.R.data(), sizeof shape.X_LS.R);
    hash.add(shape.X_LS.p.data(), sizeof shape.X_LS.p);
    hash.add(shape.collider.size.data(), sizeof shape.collider.size);
    hash.add(shape.collider.half_box.data(), sizeof shape.collider.half_box);
    for (const double x : {shape.collider.rounding, shape.margin, shape.stiffness}) hash.add(x);
    for (int i = 0; i < 3; ++i) hash.add(shape.surface_velocity[i]), hash.add(shape.surface_spin[i]);
    if (shape.field != nullptr) {
      for (const double x : {shape.modulus, shape.field->depth}) hash.add(x);
      for (const int x :
           {shape.field->rings, shape.patch_points, static_cast<int>(shape.field->list.cells.size())})
        hash.add(static_cast<std::int64_t>(x));
    }
    hash.add(static_cast<std::int64_t>(shape.collides) << 1 | static_cast<std::int64_t>(shape.material) << 2);
  }
  for (const Material& m : model.materials) {
    for (const double x : {m.dissipation, m.relaxation_time, m.friction, m.stiction_tolerance}) hash.add(x);
    if (m.restitution > 0) hash.add(m.restitution), hash.add(m.restitution_threshold);
    if (m.torsional_friction > 0 || m.rolling_friction > 0)
      hash.add(m.torsional_friction), hash.add(m.rolling_friction);
  }
  for (const ModelConstraint& c : model.constraints) {
    hash.add(static_cast<std::int64_t>(c.type));
    for (const int x : {c.body_a, c.body_b, c.joint_a, c.joint_b, static_cast<int>(c.active)})
      hash.add(static_cast<std::int64_t>(x));
    for (const double x : {c.distance, c.stiffness, c.relaxation_time}) hash.add(x);
    for (const double x : c.polynomial) hash.add(x);
    add(c.soft, &hash);
  }
  for (const ModelJoint& joint : model.joints) {
    for (const Range& limit : joint.limits) {
      hash.add(limit.lower);
      hash.add(limit.upper);
    }
    add(joint.soft_limits, &hash);
  }
  model.fingerprint = hash.value;
}

}  // namespace capstan
