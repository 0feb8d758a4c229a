// Sensors of a scene, their names resolved.
#include <fmt/core.h>

#include <algorithm>

#include "capstan/model/inertia.h"
#include "capstan/step/sensors.h"

namespace capstan {

namespace {

std::vector<char> bodies_below(const Model& model, int root) {
  std::vector<char> below(model.bodies.size(), 0);
  for (std::size_t b = 0; b < below.size(); ++b) {  // parents come first
    const int parent = model.bodies[b].parent;
    below[b] = static_cast<int>(b) == root || (b > 0 && parent >= 0 && below[parent]);
  }
  return below;
}

// Each body alone, as compile() takes it: the model has them summed over links.
void add_bodies(const Model& model, const Scene& scene, SensorSet* set) {
  set->inertia.assign(model.bodies.size(), {});
  set->is_weightless.assign(model.bodies.size(), 0);
  std::vector<char> written(model.bodies.size(), 0);
  for (const Body& body : scene.bodies) {
    const int b = model.find_body(body.name);
    if (b < 0) continue;
    set->is_weightless[b] = body.gravity_compensated;
    if (!body.inertia) continue;
    set->inertia[b] = *body.inertia;
    written[b] = 1;
  }
  for (const ShapeInstance& shape : scene.shapes) {
    const int b = model.find_body(shape.body);
    if (b > 0 && !written[b]) add_inertia(shape_inertia(shape), {}, &set->inertia[b]);
  }
  for (Inertia& inertia : set->inertia) {
    if (scene.options.balance_inertia && inertia.mass > 0 && !why_impossible(inertia).empty())
      inertia.about_com = inertia.about_com.trace() / 3 * Mat3::Identity();
  }
}

// Parts of objects without joints have no acceleration that is known, and no inertia of their own.
bool check_object(const Model& model, const Sensor& sensor, int body, Diagnostics* diagnostics) {
  const int object = model.links[model.bodies[body].link].object;
  if (object < 0 || model.objects[object].is_tree()) return true;
  if (!is_of_acceleration(sensor.type) && !is_of_subtree(sensor.type)) return true;
  diagnostics->error(sensor.where,
                     fmt::format("sensor '{}' of type {} is on '{}', a part of something without joints",
                                 sensor.name, sensor_info(sensor.type).name, model.bodies[body].name),
                     "put it on a body, or measure position, velocity or touch there");
  return false;
}

// Resolves the names of a sensor.
struct SensorMaker {
  const Model& model;
  const Sensor& sensor;
  Diagnostics* diagnostics;

  int find_body(const std::string& name) const { return name == kWorld ? 0 : model.find_body(name); }
  int find_shape(const std::string& name) const {
    for (std::size_t s = 0; s < model.shapes.size(); ++s) {
      if (model.shapes[s].name == name) return static_cast<int>(s);
    }
    return -1;
  }
  bool find_site(const std::string& name, SensorSet::Frame* frame) const {
    for (const ModelSite& site : model.sites) {
      if (site.name != name) continue;
      *frame = {site.body, site.X_BS};
      return true;
    }
    return false;
  }

  bool unknown(const std::string& target, const char* remedy) const {
    diagnostics->error(sensor.where,
                       fmt::format("sensor '{}' of type {} is on '{}', which does not exist", sensor.name,
                                   sensor_info(sensor.type).name, target),
                       remedy);
    return false;
  }

  bool on_joint(SensorSet::Entry* e) const {
    e->index = model.find_joint(sensor.joint);
    if (e->index < 0) return unknown(sensor.joint, "write the name of a joint");
    const ModelJoint& joint = model.joints[e->index];
    e->size = e->type == SensorType::joint_position ? num_positions(joint.type) : num_velocities(joint.type);
    if (e->size != 1) return true;
    const bool slides = joint.type == JointType::prismatic;
    e->unit = e->type == SensorType::joint_force ? (slides ? "N" : "N m") : slides ? "m" : "rad";
    if (e->type == SensorType::joint_velocity) e->unit += "/s";
    return true;
  }

  // Whether its force is a torque, on hinges alone.
  bool turns(const ModelActuator& actuator) const {
    const Transmission& transmission = actuator.transmission;
    return !transmission.terms.empty() && transmission.path < 0 &&
           std::all_of(transmission.terms.begin(), transmission.terms.end(),
                       [&](const Transmission::Term& term) {
                         const int joint = model.dofs[term.dof].joint;
                         return joint >= 0 && model.joints[joint].type == JointType::revolute;
                       });
  }

  bool on_tendon(SensorSet::Entry* e) const {
    for (std::size_t t = 0; t < model.tendons.size(); ++t) {
      if (model.tendons[t].name != sensor.tendon) continue;
      e->index = static_cast<int>(t);
      // That of a sum of joints is what its coefficients make of it.
      if (!model.tendons[t].path.empty()) {
        e->unit = e->type == SensorType::tendon_position   ? "m"
                  : e->type == SensorType::tendon_velocity ? "m/s"
                                                           : "N";
      }
      return true;
    }
    return unknown(sensor.tendon, "write the name of a tendon");
  }

  bool on_frame(SensorSet::Entry* e) const {
    SensorSet::Frame frame;
    if (!sensor.site.empty()) {
      if (!find_site(sensor.site, &frame)) return unknown(sensor.site, "write the name of a site");
    } else if (!sensor.shape.empty()) {
      const int s = find_shape(sensor.shape);
      if (s < 0) return unknown(sensor.shape, "write the name of a shape");
      const ModelShape& shape = model.shapes[s];
      frame = {shape.body, inverse(model.bodies[shape.body].X_LB) * shape.X_LS};
    } else {
      frame.body = sensor.body.empty() ? -1 : find_body(sensor.body);
      if (frame.body < 0) return unknown(sensor.body, "write the name of a site or body");
    }
    e->index = frame.body;
    e->X_BF = frame.X_BF;
    if (!sensor.relative_site.empty() && !find_site(sensor.relative_site, &e->relative))
      return unknown(sensor.relative_site, "write the name of a site");
    if (!sensor.relative_body.empty()) {
      e->relative.body = find_body(sensor.relative_body);
      if (e->relative.body < 0) return unknown(sensor.relative_body, "write the name of a body");
    }
    return true;
  }

  // A rod or a soft body as a whole, whose parts are name/0 and so on; -1: there is none.
  int find_flexible(const std::string& name) const {
    for (const ModelBody& body : model.bodies) {
      const int object = model.links[body.link].object;
      if (object >= 0 && !model.objects[object].is_tree() && body.name.starts_with(name + "/")) return object;
    }
    return -1;
  }

  bool find_contact(const std::string& body, const std::string& shape, SensorSet::Contact* contact) const {
    if (!body.empty() && (contact->body = find_body(body)) < 0 && (contact->object = find_flexible(body)) < 0)
      return unknown(body, "write the name of a body, a rod or a soft body");
    if (!shape.empty() && (contact->shape = find_shape(shape)) < 0)
      return unknown(shape, "write the name of a shape");
    return true;
  }

  // The body that sleeps or not is that which the sensor is on.
  bool on_contacts(SensorSet::Entry* e) const {
    if (!find_contact(sensor.body, sensor.shape, &e->on) ||
        !find_contact(sensor.other_body, sensor.other_shape, &e->other))
      return false;
    const SensorSet::Contact& on = e->on.is_any() ? e->other : e->on;
    if (on.is_any()) return unknown("", "write the name of a body or shape");
    e->index = on.body >= 0     ? on.body
               : on.object >= 0 ? model.links[model.objects[on.object].link_begin].body
                                : model.shapes[on.shape].body;
    return true;
  }

  bool make(SensorSet::Entry* e) const {
    const bool is_relative = !sensor.relative_site.empty() || !sensor.relative_body.empty();
    if (is_relative && !may_be_relative(sensor.type)) {
      diagnostics->error(sensor.where,
                         fmt::format("sensor '{}' of type {} cannot be relative to another frame",
                                     sensor.name, sensor_info(sensor.type).name),
                         "leave that out, or measure position, axes or velocity of a frame");
      return false;
    }
    const std::string on = sensor_info(sensor.type).on;
    if (on.empty()) return true;
    if (on == "joint") return on_joint(e);
    if (on == "tendon") return on_tendon(e);
    if (on == "actuator") {
      e->index = model.find_actuator(sensor.actuator);
      if (e->index >= 0 && e->type == SensorType::actuator_force && turns(model.actuators[e->index]))
        e->unit = "N m";
      return e->index >= 0 || unknown(sensor.actuator, "write the name of an actuator");
    }
    const bool touches_all = sensor.type == SensorType::touch && sensor.site.empty() &&
                             sensor.shape.empty() && !sensor.body.empty() &&
                             find_body(sensor.body) < 0;  // of a rod or a soft body
    if (on == "contact" || touches_all) return on_contacts(e);
    if (!on_frame(e)) return false;
    if (sensor.type == SensorType::touch) {
      if (!find_contact("", sensor.shape, &e->on)) return false;
      if (sensor.shape.empty()) e->on.body = e->index;
      if (!find_contact(sensor.other_body, sensor.other_shape, &e->other)) return false;
    }
    return check_object(model, sensor, e->index, diagnostics);
  }
};

}  // namespace

SensorSet make_sensors(const Model& model, const Scene& scene, const std::vector<Sensor>& sensors,
                       Diagnostics* diagnostics) {
  SensorSet set;
  bool needs_inertia = false;
  for (const Sensor& sensor : sensors) {
    SensorSet::Entry e;
    const SensorTypeInfo& type = sensor_info(sensor.type);
    e.name = sensor.name;
    e.unit = type.unit;
    e.type = sensor.type;
    e.size = type.size;
    if (sensor.cutoff > 0) e.cutoff = sensor.cutoff;
    if (!SensorMaker{model, sensor, diagnostics}.make(&e)) continue;
    e.begin = set.size;
    set.size += e.size;
    needs_inertia = needs_inertia || is_of_subtree(e.type) || sensor.at_com;
    set.below.push_back(is_of_subtree(e.type) ? bodies_below(model, e.index) : std::vector<char>{});
    set.entries.push_back(std::move(e));
  }
  if (!needs_inertia) return set;
  add_bodies(model, scene, &set);
  for (const Sensor& sensor : sensors) {
    if (!sensor.at_com) continue;
    for (SensorSet::Entry& e : set.entries) {
      if (e.name == sensor.name) e.X_BF.p = set.inertia[e.index].com;
    }
  }
  return set;
}

}  // namespace capstan
