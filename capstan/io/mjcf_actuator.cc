// Actuators. MuJoCo's force is gain(...) * u + bias(...), with a gain and a bias that are constant, affine in
// length and velocity, or a muscle's, and u the control or an activation that follows it.
//
// All kinds share one default: <position kp="..."> in a class also changes what a <general> of that class
// starts from. Each shortcut then sets its own gain, bias and activation:
//
//   motor        gain 1,  bias 0
//   position     gain kp, bias -kp length - kv velocity; with a timeconst, an exact filter of the control
//   velocity     gain kv, bias -kv velocity
//   intvelocity  as position, of the integral of the control
//   damper       gain -kv velocity, bias 0
//   cylinder     gain area, bias affine, a filter
//   muscle       curves of length and velocity, and its own activation
#include <fmt/core.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "capstan/io/mjcf_reader.h"

namespace capstan::mjcf {

namespace {

bool is_shortcut_not_simulated(const std::string& tag) {
  for (const char* kind : {"adhesion", "dcmotor", "pid", "orientation", "plugin"}) {
    if (tag == kind) return true;
  }
  return false;
}

bool is_simulated(const std::string& tag) {
  for (const char* kind :
       {"general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle"}) {
    if (tag == kind) return true;
  }
  return false;
}

void read_general(Reader& reader, const XmlElement* element, ActuatorSpec* spec) {
  XmlFiles& xml = reader.xml;
  if (const auto type = xml.keyword(element, "gaintype", {"fixed", "affine", "muscle", "user", "dcmotor"}))
    spec->gain_type = static_cast<ActuatorSpec::Gain>(std::min<int>(*type, ActuatorSpec::other_gain));
  if (const auto type = xml.keyword(element, "biastype", {"none", "affine", "muscle", "user", "dcmotor"}))
    spec->bias_type = static_cast<ActuatorSpec::Bias>(std::min<int>(*type, ActuatorSpec::other_bias));
  if (const auto type = xml.keyword(
          element, "dyntype", {"none", "integrator", "filter", "filterexact", "muscle", "user", "dcmotor"}))
    spec->dynamics = static_cast<ActuatorSpec::Dynamics>(std::min<int>(*type, ActuatorSpec::other_dynamics));
  const auto overlay = [&](const char* name, auto* into) {
    const std::vector<double> given = xml.numbers(element, name);
    for (std::size_t i = 0; i < std::min(given.size(), into->size()); ++i) (*into)[i] = given[i];
  };
  overlay("gainprm", &spec->gain);
  overlay("biasprm", &spec->bias);
  overlay("dynprm", &spec->dynamics_prm);
  if (const auto ratio = xml.number(element, "inheritrange")) spec->inherit_range = *ratio;
  if (xml.integer(element, "actdim").value_or(-1) > 1)
    xml.not_simulated(element, "actdim", "is not simulated: an actuator has one activation");
  spec->why_not.clear();
}

// Their common defaults are in spec already.
void read_muscle(Reader& reader, const XmlElement* element, ActuatorSpec* spec) {
  XmlFiles& xml = reader.xml;
  if (spec->gain_type != ActuatorSpec::muscle_gain) {
    spec->gain = {0.75, 1.05, -1, 200, 0.5, 1.6, 1.5, 1.3, 1.2};
    spec->dynamics_prm = {0.01, 0.04, 0};
  }
  spec->gain_type = ActuatorSpec::muscle_gain;
  spec->bias_type = ActuatorSpec::muscle_bias;
  spec->dynamics = ActuatorSpec::muscle;
  xml.vector(element, "timeconst", 2, 2, spec->dynamics_prm.data());
  if (const auto width = xml.number(element, "tausmooth")) spec->dynamics_prm[2] = *width;
  xml.vector(element, "range", 2, 2, spec->gain.data());
  constexpr const char* names[] = {"force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"};
  for (int i = 0; i < 7; ++i) {
    if (const auto value = xml.number(element, names[i])) spec->gain[2 + i] = *value;
  }
  spec->bias = spec->gain;
  if (!xml.has(element, "ctrlrange") && spec->control_range == std::array<double, 2>{0, 0}) {
    spec->control_range = {0, 1};
    spec->control_limited = Limited::yes;
  }
}

void read_damper(Reader& reader, const XmlElement* element, ActuatorSpec* spec) {
  const double kv = reader.xml.number(element, "kv").value_or(1);
  if (kv < 0)
    reader.xml.attribute_error(element, "kv", fmt::format("<damper> has a negative kv {}", kv),
                               "write a kv of 0 or more");
  spec->gain_type = ActuatorSpec::affine;
  spec->bias_type = ActuatorSpec::none;
  spec->gain = {0, 0, -kv};
  spec->bias = {};
}

void read_cylinder(Reader& reader, const XmlElement* element, ActuatorSpec* spec) {
  XmlFiles& xml = reader.xml;
  spec->gain_type = ActuatorSpec::fixed;
  spec->bias_type = ActuatorSpec::affine_bias;
  spec->dynamics = ActuatorSpec::filter;
  spec->dynamics_prm[0] = xml.number(element, "timeconst").value_or(spec->dynamics_prm[0]);
  if (const auto area = xml.number(element, "area")) spec->gain[0] = *area;
  if (const auto diameter = xml.number(element, "diameter"))
    spec->gain[0] = std::numbers::pi / 4 * *diameter * *diameter;
  xml.vector(element, "bias", 3, 3, spec->bias.data());
}

void read_position(Reader& reader, const XmlElement* element, ActuatorSpec* spec) {
  XmlFiles& xml = reader.xml;
  const double kp = xml.number(element, "kp").value_or(spec->gain[0]);
  const auto kv = xml.number(element, "kv");
  if (kp < 0 || kv.value_or(0) < 0) {
    xml.attribute_error(element, kp < 0 ? "kp" : "kv",
                        fmt::format("<position> has a negative gain {}", kp < 0 ? kp : *kv),
                        "write kp and kv of 0 or more");
  }
  spec->gain_type = ActuatorSpec::fixed;
  spec->bias_type = ActuatorSpec::affine_bias;
  spec->gain = {kp};
  const auto ratio = xml.number(element, "dampratio");
  if (kv && ratio) {
    xml.attribute_error(element, "dampratio", "<position> has both kv and dampratio", "write one of them");
  }
  if (ratio.value_or(0) < 0) {
    xml.attribute_error(element, "dampratio", fmt::format("<position> has a negative dampratio {}", *ratio),
                        "write 1 for critical damping");
  }
  // A ratio is positive, a damping negative; settle_damping() turns one into the other.
  spec->bias = {0, -kp, kv ? -*kv : ratio ? std::max(0.0, *ratio) : spec->bias[2]};
  if (const auto range = xml.number(element, "inheritrange")) spec->inherit_range = *range;
  if (const auto time = xml.number(element, "timeconst"); time && *time > 0) {
    spec->dynamics = ActuatorSpec::filter_exact;
    spec->dynamics_prm[0] = *time;
  }
}

}  // namespace

void overlay_actuator(Reader& reader, const XmlElement* element, ActuatorSpec* spec) {
  XmlFiles& xml = reader.xml;
  const std::string tag = XmlFiles::tag(element);
  if (is_shortcut_not_simulated(tag)) {
    xml.accept_all(element);
    spec->why_not = fmt::format("is of kind {}, which is not supported; it is left out", tag);
    return;
  }
  const auto read_limited = [&](const char* name, Limited* limited) {
    if (const auto value = xml.keyword(element, name, {"false", "true", "auto"})) {
      *limited = static_cast<Limited>(*value);
    }
  };
  if (!is_simulated(tag)) return;  // not an actuator: report_unread() lists it
  read_limited("ctrllimited", &spec->control_limited);
  read_limited("forcelimited", &spec->force_limited);
  xml.vector(element, "ctrlrange", 2, 2, spec->control_range.data());
  xml.vector(element, "forcerange", 2, 2, spec->force_range.data());
  xml.vector(element, "gear", 1, 6, spec->gear.data());
  read_limited("actlimited", &spec->activation_limited);
  xml.vector(element, "actrange", 2, 2, spec->activation_range.data());
  xml.vector(element, "lengthrange", 2, 2, spec->length_range.data());
  if (xml.boolean(element, "actearly").value_or(false))
    xml.not_simulated(element, "actearly",
                      "is not simulated: forces are those of the activation before the step");
  xml.accept_attributes(element, {"group", "user", "interp", "nsample", "cranklength"});
  for (const char* name : {"armature", "damping", "delay"}) {
    xml.not_simulated_unless_zero(element, name, "is not simulated on actuators; write it on the joint");
  }
  if (tag == "general") {
    read_general(reader, element, spec);
    return;
  }
  spec->why_not.clear();
  spec->dynamics = ActuatorSpec::no_dynamics;
  if (tag == "motor") {
    spec->gain_type = ActuatorSpec::fixed;
    spec->bias_type = ActuatorSpec::none;
    spec->gain = {1};
    spec->bias = {};
  } else if (tag == "position" || tag == "intvelocity") {
    read_position(reader, element, spec);
    if (tag == "intvelocity") spec->dynamics = ActuatorSpec::integrator;
  } else if (tag == "muscle") {
    read_muscle(reader, element, spec);
  } else if (tag == "damper") {
    read_damper(reader, element, spec);
  } else if (tag == "cylinder") {
    read_cylinder(reader, element, spec);
  } else {
    // Inherited only from a default that was a velocity actuator itself.
    const bool velocity_before = spec->bias_type == ActuatorSpec::affine_bias && spec->bias[1] == 0;
    const double kv = xml.number(element, "kv").value_or(velocity_before ? spec->gain[0] : 1);
    spec->gain_type = ActuatorSpec::fixed;
    spec->bias_type = ActuatorSpec::affine_bias;
    spec->gain = {kv};
    spec->bias = {0, 0, -kv};
  }
}

namespace {

// The target range of a servo from the range of what it moves.
bool inherit_range(Reader& reader, const XmlElement* element, const ActuatorSpec& spec, Actuator* actuator) {
  if (spec.inherit_range <= 0) return false;
  std::optional<Range> range;
  if (!actuator->site.empty()) {  // it has no range
  } else if (!actuator->joint.empty()) {
    const Joint& joint = reader.joint(actuator->joint);
    if (joint.limits.size() == 1) range = joint.limits[0];
  } else {
    range = reader.scene.tendons[reader.tendon_index.at(actuator->tendon)].limits;
  }
  if (!range) {
    reader.xml.attribute_error(
        element, "inheritrange",
        fmt::format("actuator '{}' inherits a range, but '{}' has none", actuator->name,
                    actuator->joint + actuator->tendon + actuator->site),
        "give the joint or tendon a range, or write ctrlrange");
    return false;
  }
  const double mean = (range->lower + range->upper) / 2;
  const double radius = (range->upper - range->lower) / 2 * spec.inherit_range;
  actuator->control_range = {mean - radius, mean + radius};
  return true;
}

// What the actuator pulls on; false when it is left out.
bool read_transmission(Reader& reader, const XmlElement* element, const std::string& suffix,
                       Actuator* actuator) {
  XmlFiles& xml = reader.xml;
  int given = 0;
  for (const char* name : {"joint", "jointinparent", "tendon", "site", "body", "cranksite", "slidersite"}) {
    given += xml.has(element, name);
  }
  if (given != 1 && !(xml.has(element, "cranksite") && xml.has(element, "slidersite"))) {
    xml.error(element, fmt::format("actuator '{}' acts on {} things", actuator->name, given),
              "write one of joint, jointinparent or tendon");
    return false;
  }
  if (xml.has(element, "tendon")) {
    actuator->tendon = resolved(reader, Kind::tendon, *xml.text(element, "tendon"), suffix);
    if (!reader.check_reference(Kind::tendon, element, "tendon", actuator->tendon)) return false;
    return reader.dropped_tendons.count(actuator->tendon) == 0;
  }
  if (xml.has(element, "site") && !xml.has(element, "refsite")) {
    actuator->site = resolved(reader, Kind::site, *xml.text(element, "site"), suffix);
    return reader.check_reference(Kind::site, element, "site", actuator->site);
  }
  const bool in_parent = xml.has(element, "jointinparent");
  const char* attribute = in_parent ? "jointinparent" : "joint";
  if (!xml.has(element, attribute)) {
    xml.not_simulated(element,
                      "acts on a body, a slider-crank or between two sites, which is not supported; it is "
                      "left out");
    return false;
  }
  actuator->joint = resolved(reader, Kind::joint, *xml.text(element, attribute), suffix);
  if (!reader.check_reference(Kind::joint, element, attribute, actuator->joint)) return false;
  if (!reader.joint_index.count(actuator->joint)) return false;
  const JointType type = reader.joint(actuator->joint).type;
  const bool torque = type == JointType::ball
                          ? actuator->gear.head<3>().norm() > 0
                          : type == JointType::free && actuator->gear.tail<3>().norm() > 0;
  if (torque && !in_parent && xml.once("torque frame " + actuator->name)) {
    xml.diagnostics()->not_understood(
        xml.where(element),
        fmt::format("actuator '{}' turns a {} joint about axes of the moving body; "
                    "axes before the joint are used",
                    actuator->name, joint_type_name(type)),
        "write jointinparent=\"...\"");
  }
  return true;
}

// A negative force stands for scale / acc0, which settle_damping() finds.
Muscle make_muscle(const ActuatorSpec& spec) {
  const auto& p = spec.gain;
  Muscle m;
  m.length_range = {spec.length_range[0], spec.length_range[1]};
  m.operating = {p[0], p[1]};
  m.force = p[2] >= 0 ? p[2] : -p[3];
  m.shortest = p[4];
  m.longest = p[5];
  m.fastest = p[6];
  m.passive = p[7];
  m.lengthening = p[8];
  return m;
}

// The lengths of a muscle from the limits of what it acts on.
bool take_limits(Reader& reader, Actuator& actuator) {
  std::optional<Range> range;
  if (!actuator.joint.empty() && reader.joint(actuator.joint).limits.size() == 1)
    range = reader.joint(actuator.joint).limits[0];
  if (!actuator.tendon.empty()) range = reader.scene.tendons[reader.tendon_index.at(actuator.tendon)].limits;
  if (!range || !std::isfinite(range->upper - range->lower)) return false;
  const double a = actuator.gear[0] * range->lower, b = actuator.gear[0] * range->upper;
  actuator.muscle->length_range = {std::min(a, b), std::max(a, b)};
  return a != b;
}

Activation make_activation(const ActuatorSpec& spec) {
  Activation activation;
  activation.type = static_cast<ActivationType>(spec.dynamics);
  if (spec.dynamics != ActuatorSpec::no_dynamics && spec.dynamics != ActuatorSpec::integrator)
    activation.time_constant = spec.dynamics_prm[0];  // else it has no use for what defaults say
  if (spec.dynamics == ActuatorSpec::muscle) {
    activation.time_constant_off = spec.dynamics_prm[1];
    activation.smoothing = spec.dynamics_prm[2];
  }
  return activation;
}

void read_actuator(Reader& reader, const XmlElement* element, const ActuatorSpec& spec,
                   const std::string& suffix) {
  XmlFiles& xml = reader.xml;
  Actuator actuator;
  actuator.where = xml.where(element);
  actuator.name = reader.claim_name(Kind::actuator, element, suffix, "actuator");
  reader.control_slots.push_back("");
  std::string why_not = spec.why_not;
  const bool is_muscle = spec.gain_type == ActuatorSpec::muscle_gain;
  if (spec.gain_type == ActuatorSpec::other_gain) why_not = "has a gain of a program's own; it is left out";
  if (spec.bias_type == ActuatorSpec::other_bias) why_not = "has a bias of a program's own; it is left out";
  if (spec.dynamics == ActuatorSpec::other_dynamics)
    why_not = "has activation dynamics of a program's own; it is left out";
  if (is_muscle != (spec.bias_type == ActuatorSpec::muscle_bias) || (is_muscle && spec.gain != spec.bias))
    why_not = "has the gain or the bias of a muscle, but not both alike; it is left out";
  if (!why_not.empty()) {
    xml.not_simulated(element, why_not);
    return;
  }
  actuator.gear = spec.gear;
  if (!read_transmission(reader, element, suffix, &actuator)) return;
  actuator.gain = is_muscle ? 1 : spec.gain[0];
  if (spec.gain_type == ActuatorSpec::affine) actuator.gain_slope = Vec2(spec.gain[1], spec.gain[2]);
  if (spec.bias_type == ActuatorSpec::affine_bias)
    actuator.bias = Vec3(spec.bias[0], spec.bias[1], spec.bias[2]);
  if (is_muscle) {
    actuator.muscle = make_muscle(spec);
    if (!(spec.length_range[0] < spec.length_range[1]) && !take_limits(reader, actuator)) {
      xml.not_simulated(element, "is a muscle without lengthrange, on what has no limits; it is left out");
      return;
    }
  }
  actuator.activation = make_activation(spec);
  if (spec.dynamics != ActuatorSpec::no_dynamics &&
      is_limited(reader, element, spec.activation_limited, spec.activation_range, "actrange")) {
    actuator.activation.range = {spec.activation_range[0], spec.activation_range[1]};
  }
  const bool inherits = inherit_range(reader, element, spec, &actuator);
  if (inherits && spec.dynamics == ActuatorSpec::integrator)
    actuator.activation.range = std::exchange(actuator.control_range, {});
  if (!(inherits && spec.dynamics != ActuatorSpec::integrator) &&
      is_limited(reader, element, spec.control_limited, spec.control_range, "ctrlrange")) {
    actuator.control_range = {spec.control_range[0], spec.control_range[1]};
  }
  if (is_limited(reader, element, spec.force_limited, spec.force_range, "forcerange")) {
    actuator.force_range = {spec.force_range[0], spec.force_range[1]};
  }
  reader.control_slots.back() = actuator.name;
  reader.scene.actuators.push_back(std::move(actuator));
}

}  // namespace

void read_actuators(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  // MuJoCo's order, which a key's ctrl follows: those of replicated joints last, copy by copy.
  struct Repeated {
    const XmlElement* element;
    ActuatorSpec spec;
    std::vector<std::string> suffixes;
  };
  std::vector<Repeated> repeated;
  std::size_t most = 0;
  for (const XmlElement* child : xml.children(element)) {
    const std::string tag = XmlFiles::tag(child);
    const bool simulated = is_simulated(tag);
    if (!simulated && !is_shortcut_not_simulated(tag)) continue;  // report_unread() lists it
    xml.accept(child);
    ActuatorSpec spec = find_class(reader, child, "").actuator;
    if (simulated) spec.why_not.clear();  // of a default of another kind
    overlay_actuator(reader, child, &spec);
    const auto suffixes = suffixes_of(reader, child,
                                      {{Kind::joint, "joint"},
                                       {Kind::joint, "jointinparent"},
                                       {Kind::tendon, "tendon"},
                                       {Kind::site, "site"}});
    if (suffixes == std::vector<std::string>{""}) {
      read_actuator(reader, child, spec, "");
    } else {
      repeated.push_back({child, spec, suffixes});
      most = std::max(most, suffixes.size());
    }
  }
  for (std::size_t i = 0; i < most; ++i) {
    for (const Repeated& r : repeated) {
      if (i < r.suffixes.size()) read_actuator(reader, r.element, r.spec, r.suffixes[i]);
    }
  }
}

}  // namespace capstan::mjcf
