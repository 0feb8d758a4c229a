// Actuators. MuJoCo's force is gain(...) * u + bias(...); what Capstan has is a constant gain and a bias that
// is affine in length and velocity, which is what motor, position, velocity and most general actuators are.
//
// All kinds share one default: <position kp="..."> in a class also changes what a <general> of that class
// starts from. Each shortcut then sets its own gain and bias:
//
//   motor     gain 1,  bias 0
//   position  gain kp, bias -kp length - kv velocity
//   velocity  gain kv, bias -kv velocity
#include <fmt/core.h>

#include "capstan/io/mjcf_reader.h"

namespace capstan::mjcf {

namespace {

bool is_shortcut_not_simulated(const std::string& tag) {
  for (const char* kind : {"damper", "intvelocity", "cylinder", "muscle", "adhesion", "dcmotor", "pid",
                           "orientation", "plugin"}) {
    if (tag == kind) return true;
  }
  return false;
}

void read_general(Reader& reader, const XmlElement* element, ActuatorSpec* spec) {
  XmlFiles& xml = reader.xml;
  if (const auto type = xml.keyword(element, "gaintype", {"fixed", "affine", "muscle", "user", "dcmotor"})) {
    spec->gain_type = *type == 0   ? ActuatorSpec::fixed
                      : *type == 1 ? ActuatorSpec::affine
                                   : ActuatorSpec::other_gain;
  }
  if (const auto type = xml.keyword(element, "biastype", {"none", "affine", "muscle", "user", "dcmotor"})) {
    spec->bias_type = *type == 0   ? ActuatorSpec::none
                      : *type == 1 ? ActuatorSpec::affine_bias
                                   : ActuatorSpec::other_bias;
  }
  if (const auto type = xml.keyword(
          element, "dyntype", {"none", "filter", "filterexact", "integrator", "muscle", "user", "dcmotor"})) {
    spec->dynamics = *type == 0   ? ActuatorSpec::no_dynamics
                     : *type <= 2 ? ActuatorSpec::filter
                                  : ActuatorSpec::other_dynamics;
    if (spec->dynamics == ActuatorSpec::filter) {
      xml.not_simulated(element, "dyntype", "is not simulated: the control acts at once");
    }
  }
  std::vector<double> gain = xml.numbers(element, "gainprm"), bias = xml.numbers(element, "biasprm");
  for (std::size_t i = 0; i < std::min<std::size_t>(gain.size(), 3); ++i) spec->gain[i] = gain[i];
  for (std::size_t i = 0; i < std::min<std::size_t>(bias.size(), 3); ++i) spec->bias[i] = bias[i];
  if (const auto ratio = xml.number(element, "inheritrange")) spec->inherit_range = *ratio;
  xml.accept_attributes(element, {"dynprm", "actdim", "actlimited", "actrange", "actearly"});
  spec->why_not.clear();
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
  spec->gain = {kp, 0, 0};
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
  xml.not_simulated_unless_zero(element, "timeconst", "is not simulated: the control acts at once");
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
  if (tag != "general" && tag != "motor" && tag != "position" && tag != "velocity") {
    return;  // not an actuator: report_unread() lists it
  }
  read_limited("ctrllimited", &spec->control_limited);
  read_limited("forcelimited", &spec->force_limited);
  xml.vector(element, "ctrlrange", 2, 2, spec->control_range.data());
  xml.vector(element, "forcerange", 2, 2, spec->force_range.data());
  xml.vector(element, "gear", 1, 6, spec->gear.data());
  xml.accept_attributes(element, {"group", "user", "lengthrange", "interp", "nsample", "cranklength"});
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
    spec->gain = {1, 0, 0};
    spec->bias = {0, 0, 0};
  } else if (tag == "position") {
    read_position(reader, element, spec);
  } else {
    // Inherited only from a default that was a velocity actuator itself.
    const bool velocity_before = spec->bias_type == ActuatorSpec::affine_bias && spec->bias[1] == 0;
    const double kv = xml.number(element, "kv").value_or(velocity_before ? spec->gain[0] : 1);
    spec->gain_type = ActuatorSpec::fixed;
    spec->bias_type = ActuatorSpec::affine_bias;
    spec->gain = {kv, 0, 0};
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

void read_actuator(Reader& reader, const XmlElement* element, const ActuatorSpec& spec,
                   const std::string& suffix) {
  XmlFiles& xml = reader.xml;
  Actuator actuator;
  actuator.where = xml.where(element);
  actuator.name = reader.claim_name(Kind::actuator, element, suffix, "actuator");
  reader.control_slots.push_back("");
  std::string why_not = spec.why_not;
  if (spec.gain_type != ActuatorSpec::fixed) why_not = "has a gain that is not constant; it is left out";
  if (spec.bias_type == ActuatorSpec::other_bias) why_not = "has a bias that is not affine; it is left out";
  if (spec.dynamics == ActuatorSpec::other_dynamics) why_not = "has activation dynamics; it is left out";
  if (!why_not.empty()) {
    xml.not_simulated(element, why_not);
    return;
  }
  actuator.gear = spec.gear;
  if (!read_transmission(reader, element, suffix, &actuator)) return;
  actuator.gain = spec.gain[0];
  if (spec.bias_type == ActuatorSpec::affine_bias)
    actuator.bias = Vec3(spec.bias[0], spec.bias[1], spec.bias[2]);
  if (!inherit_range(reader, element, spec, &actuator) &&
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
    const bool simulated = tag == "general" || tag == "motor" || tag == "position" || tag == "velocity";
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
