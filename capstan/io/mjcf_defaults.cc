// Default classes, and what each kind of element writes over the values of its class.
//
// A class starts as a copy of the class it is nested in, after that one's own elements. An element's class is
// the one it names, else the childclass of its nearest ancestor, else "main".
#include <fmt/core.h>

#include <algorithm>

#include "capstan/io/mjcf_reader.h"

namespace capstan::mjcf {

namespace {

void read_limited(Reader& reader, const XmlElement* element, const char* name, Limited* limited) {
  if (const auto value = reader.xml.keyword(element, name, {"false", "true", "auto"})) {
    *limited = static_cast<Limited>(*value);
  }
}

// A polynomial in newer MuJoCo: the first number is the linear term.
void read_linear_term(Reader& reader, const XmlElement* element, const char* name, double* value) {
  std::array<double, 3> terms = {0, 0, 0};
  if (!reader.xml.vector(element, name, 1, 3, terms.data())) return;
  if (terms[0] < 0) {
    reader.xml.attribute_error(
        element, name, fmt::format("<{}> {}=\"{}\" is negative", XmlFiles::tag(element), name, terms[0]),
        "write a value of 0 or more");
    return;
  }
  *value = terms[0];
  if (terms[1] != 0 || terms[2] != 0) {
    reader.xml.not_simulated(element, name, "has terms of higher order, which are not simulated");
  }
}

void read_at_least_zero(Reader& reader, const XmlElement* element, const char* name, double* value) {
  const auto given = reader.xml.number(element, name);
  if (!given) return;
  if (*given < 0) {
    reader.xml.attribute_error(
        element, name, fmt::format("<{}> {}=\"{}\" is negative", XmlFiles::tag(element), name, *given),
        "write a value of 0 or more");
    return;
  }
  *value = *given;
}

void read_rgba(Reader& reader, const XmlElement* element, std::optional<std::array<float, 4>>* rgba) {
  std::array<double, 4> values = {0.5, 0.5, 0.5, 1};
  if (!reader.xml.vector(element, "rgba", 3, 4, values.data())) return;
  *rgba = {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2]),
           static_cast<float>(values[3])};
}

// The attributes are solrefSUFFIX and solimpSUFFIX. A stiffness of 0 is one that a contact cannot have.
bool read_solver_parameters(Reader& reader, const XmlElement* element, std::array<double, 2>* solref,
                            std::array<double, 5>* solimp, bool is_contact = true,
                            const std::string& suffix = "") {
  const std::string name = "solref" + suffix;
  const bool ref = reader.xml.vector(element, name.c_str(), 1, 2, solref->data()) > 0;
  const bool imp = reader.xml.vector(element, ("solimp" + suffix).c_str(), 1, 5, solimp->data()) > 0;
  const bool standard = (*solref)[0] > 0 && (*solref)[1] > 0,
             direct = (*solref)[0] <= (is_contact ? -1e-300 : 0) && (*solref)[1] <= 0;
  if (ref && !standard && !direct) {
    reader.xml.attribute_error(
        element, name.c_str(),
        fmt::format("{} {} {} is neither of the two forms", name, (*solref)[0], (*solref)[1]),
        "write timeconst and dampratio, both above 0, or -stiffness and -damping");
    *solref = {0.02, 1};
  }
  return ref || imp;
}

}  // namespace

bool is_limited(Reader& reader, const XmlElement* element, Limited limited,
                const std::array<double, 2>& range, const char* attribute) {
  const bool ordered = range[0] < range[1];
  if (limited == Limited::yes && !ordered) {
    reader.xml.attribute_error(element, attribute,
                               fmt::format("<{}> is limited but its {} [{}, {}] is empty",
                                           XmlFiles::tag(element), attribute, range[0], range[1]),
                               fmt::format("write {}=\"lower upper\" with lower < upper", attribute));
    return false;
  }
  if (limited != Limited::automatic) return limited == Limited::yes;
  const bool written = range[0] != 0 || range[1] != 0;
  if (written && !reader.compiler.autolimits) {
    reader.xml.attribute_error(
        element, attribute,
        fmt::format("<{}> has a {} but does not say whether it is limited, and autolimits is off",
                    XmlFiles::tag(element), attribute),
        "write limited=\"true\" or \"false\", or set <compiler autolimits=\"true\"/>");
    return false;
  }
  if (written && !ordered) {
    reader.xml.warning(element,
                       fmt::format("{} [{}, {}] of <{}> is not ordered, so there is no limit", attribute,
                                   range[0], range[1], XmlFiles::tag(element)),
                       "write lower < upper");
  }
  return ordered;
}

void overlay_joint(Reader& reader, const XmlElement* element, JointSpec* spec) {
  XmlFiles& xml = reader.xml;
  if (const auto type = xml.keyword(element, "type", {"free", "ball", "slide", "hinge"})) {
    spec->type = static_cast<JointSpec::Type>(*type);
  }
  if (const auto position = xml.vec3(element, "pos")) spec->position = *position;
  if (const auto axis = xml.vec3(element, "axis")) {
    if (axis->norm() < 1e-14) {
      xml.attribute_error(element, "axis", "the axis of a joint is zero",
                          "write a direction, such as axis=\"0 0 1\"");
    } else {
      spec->axis = *axis;
    }
  }
  read_limited(reader, element, "limited", &spec->limited);
  xml.vector(element, "range", 2, 2, spec->range.data());
  read_limited(reader, element, "actuatorfrclimited", &spec->force_limited);
  xml.vector(element, "actuatorfrcrange", 2, 2, spec->force_range.data());
  if (const auto ref = xml.number(element, "ref")) spec->ref = *ref;
  if (const auto ref = xml.number(element, "springref")) spec->springref = *ref;
  read_linear_term(reader, element, "stiffness", &spec->stiffness);
  read_linear_term(reader, element, "damping", &spec->damping);
  read_at_least_zero(reader, element, "frictionloss", &spec->frictionloss);
  read_at_least_zero(reader, element, "armature", &spec->armature);
  xml.vector(element, "springdamper", 2, 2, spec->spring_damper.data());
  xml.not_simulated_unless_zero(element, "margin", "is not simulated: limits act at the range itself");
  xml.not_simulated_unless_zero(element, "springyield", "is not simulated");
  SoftReference soft = spec->soft_limits.value_or(SoftReference{});
  if (read_solver_parameters(reader, element, &soft.solref, &soft.solimp, false, "limit"))
    spec->soft_limits = soft;
  for (const char* name : {"solreffriction", "solimpfriction"})
    xml.not_simulated(element, name, "is not used: dry friction of joints is near-rigid here");
  if (xml.boolean(element, "actuatorgravcomp").value_or(false)) {
    xml.not_simulated(element, "actuatorgravcomp", "is not simulated");
  }
  xml.accept_attributes(element, {"group", "user"});
}

void overlay_geom(Reader& reader, const XmlElement* element, GeomSpec* spec) {
  XmlFiles& xml = reader.xml;
  if (const auto type = xml.keyword(
          element, "type",
          {"plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf"})) {
    spec->type = static_cast<GeomSpec::Type>(*type);
  }
  if (const int n = xml.vector(element, "size", 1, 3, spec->size.data())) {
    spec->num_sizes = std::max(spec->num_sizes, n);
  }
  read_pose(reader, element, &spec->pose);
  std::array<double, 6> ends;
  if (xml.vector(element, "fromto", 6, 6, ends.data())) spec->fromto = ends;
  if (xml.has(element, "mass")) {
    double mass = 0;
    read_at_least_zero(reader, element, "mass", &mass);
    spec->mass = mass;
  }
  read_at_least_zero(reader, element, "density", &spec->density);
  if (const auto bits = xml.integer(element, "contype")) spec->contype = static_cast<unsigned>(*bits);
  if (const auto bits = xml.integer(element, "conaffinity")) spec->conaffinity = static_cast<unsigned>(*bits);
  if (const auto condim = xml.integer(element, "condim")) {
    if (*condim != 1 && *condim != 3 && *condim != 4 && *condim != 6) {
      xml.attribute_error(element, "condim", fmt::format("<geom> condim=\"{}\" is unknown", *condim),
                          "write 1, 3, 4 or 6");
    } else {
      spec->condim = *condim;
    }
  }
  if (const auto priority = xml.integer(element, "priority")) spec->priority = *priority;
  if (const auto group = xml.integer(element, "group")) spec->group = *group;
  std::array<double, 3> friction = {spec->friction, spec->torsional_friction, spec->rolling_friction};
  if (xml.vector(element, "friction", 1, 3, friction.data())) {
    if (const double least = *std::min_element(friction.begin(), friction.end()); least < 0) {
      xml.attribute_error(element, "friction", fmt::format("<geom> friction {} is negative", least),
                          "write a coefficient of 0 or more");
    } else {
      spec->friction = friction[0];
      spec->torsional_friction = friction[1];
      spec->rolling_friction = friction[2];
    }
  }
  read_at_least_zero(reader, element, "margin", &spec->margin);
  spec->has_sol |= read_solver_parameters(reader, element, &spec->solref, &spec->solimp);
  if (const auto name = xml.text(element, "mesh")) spec->mesh_name = *name;
  if (const auto name = xml.text(element, "hfield")) spec->hfield_name = *name;
  if (const auto name = xml.text(element, "material")) spec->material = *name;
  read_rgba(reader, element, &spec->rgba);
  xml.not_simulated_unless_zero(element, "gap", "is not simulated: contacts within the margin are active");
  if (xml.boolean(element, "shellinertia").value_or(false)) {
    xml.not_simulated(element, "shellinertia", "is not supported: shapes are solid");
  }
  if (xml.text(element, "fluidshape").value_or("none") != "none") {
    xml.not_simulated(element, "fluidshape",
                      "is not simulated: in a fluid its body is braked as a box of its inertia");
  }
  if (xml.number(element, "solmix").value_or(1) != 1) {
    xml.not_simulated(element, "solmix", "is not used: stiffnesses combine in series");
  }
  xml.not_simulated_unless_zero(element, "adhesion", "is not simulated");
  xml.not_simulated_unless_zero(element, "surfacevel", "is not simulated");
  if (const auto scale = xml.number(element, "fitscale")) spec->fit_scale = *scale;
  xml.accept_attributes(element, {"user", "fluidcoef", "castshadow"});
}

void overlay_site(Reader& reader, const XmlElement* element, SiteSpec* spec) {
  read_pose(reader, element, &spec->pose);
  std::array<double, 6> ends;
  if (reader.xml.vector(element, "fromto", 6, 6, ends.data())) spec->fromto = ends;
  reader.xml.accept_attributes(element, {"type", "group", "material", "size", "rgba", "user", "mesh"});
}

void overlay_mesh(Reader& reader, const XmlElement* element, MeshSpec* spec) {
  XmlFiles& xml = reader.xml;
  if (const auto scale = xml.vec3(element, "scale")) {
    if (scale->cwiseAbs().minCoeff() == 0) {
      xml.attribute_error(element, "scale", "a scale of a mesh is zero",
                          "write three numbers that are not 0");
    } else {
      spec->scale = *scale;
    }
  }
  if (const auto rule = xml.keyword(element, "inertia", {"convex", "exact", "legacy", "shell"})) {
    spec->inertia = static_cast<MeshSpec::Inertia>(*rule);
  }
  xml.accept_attributes(element, {"maxhullvert"});
}

void overlay_material(Reader& reader, const XmlElement* element, MaterialSpec* spec) {
  read_rgba(reader, element, &spec->rgba);
  reader.xml.accept_all(element);  // the rest is drawing
}

void overlay_pair(Reader& reader, const XmlElement* element, PairSpec* spec) {
  XmlFiles& xml = reader.xml;
  if (const auto condim = xml.integer(element, "condim")) {
    spec->condim = *condim;
    spec->has_condim = true;
  }
  std::array<double, 5> friction = {0, 0, 0, 0, 0};
  if (const int n = xml.vector(element, "friction", 1, 5, friction.data())) {
    if (const double least = *std::min_element(friction.begin(), friction.end()); least < 0) {
      xml.attribute_error(element, "friction", fmt::format("<pair> friction {} is negative", least),
                          "write coefficients of 0 or more");
    } else {
      if (n > 2) spec->torsional_friction = friction[2];
      if (n > 3) spec->rolling_friction = n > 4 ? (friction[3] + friction[4]) / 2 : friction[3];
      if (n > 4 && friction[3] != friction[4])
        xml.not_simulated(element, "friction", "against rolling differs by direction; the mean is used");
      spec->friction = n > 1 ? (friction[0] + friction[1]) / 2 : friction[0];
      if (n > 1 && friction[0] != friction[1]) {
        xml.not_simulated(element, "friction", "differs by direction; the mean is used");
      }
    }
  }
  if (const auto margin = xml.number(element, "margin")) spec->margin = *margin;
  spec->has_sol |= read_solver_parameters(reader, element, &spec->solref, &spec->solimp);
  xml.not_simulated_unless_zero(element, "gap", "is not simulated: contacts within the margin are active");
  xml.not_simulated_unless_zero(element, "solreffriction", "is not used");
  xml.not_simulated_unless_zero(element, "adhesion", "is not simulated");
}

void overlay_equality(Reader& reader, const XmlElement* element, EqualitySpec* spec) {
  if (const auto active = reader.xml.boolean(element, "active")) spec->active = *active;
  SoftReference soft = spec->soft.value_or(SoftReference{});
  if (read_solver_parameters(reader, element, &soft.solref, &soft.solimp, false)) spec->soft = soft;
}

void overlay_tendon(Reader& reader, const XmlElement* element, TendonSpec* spec) {
  XmlFiles& xml = reader.xml;
  read_limited(reader, element, "limited", &spec->limited);
  xml.vector(element, "range", 2, 2, spec->range.data());
  read_linear_term(reader, element, "stiffness", &spec->stiffness);
  read_linear_term(reader, element, "damping", &spec->damping);
  read_at_least_zero(reader, element, "frictionloss", &spec->frictionloss);
  read_at_least_zero(reader, element, "armature", &spec->armature);
  std::array<double, 2> rest;
  if (const int n = xml.vector(element, "springlength", 1, 2, rest.data())) {
    if (n == 1) rest[1] = rest[0];
    if (rest[0] > rest[1]) {
      xml.attribute_error(element, "springlength", "springlength has its lower end above its upper",
                          "swap them");
    } else if (rest[0] != -1 || rest[1] != -1) {  // -1: the length at the springs' references
      spec->springlength = rest;
    }
  }
  for (const char* name : {"solreflimit", "solimplimit", "solreffriction", "solimpfriction"}) {
    xml.not_simulated(element, name, "is not used: tendon limits and dry friction are near-rigid here");
  }
  for (const char* name : {"margin", "springyield", "actuatorfrcrange"}) {
    xml.not_simulated_unless_zero(element, name, "is not simulated");
  }
  xml.accept_attributes(element, {"group", "user", "material", "rgba", "width", "actuatorfrclimited"});
}

const DefaultClass& find_class(Reader& reader, const XmlElement* element, const std::string& childclass) {
  const auto named = reader.xml.text(element, "class");
  const std::string name = named ? *named : childclass.empty() ? "main" : childclass;
  const auto found = reader.classes.find(name);
  if (found != reader.classes.end()) return found->second;
  if (named) {
    reader.xml.attribute_error(element, "class", fmt::format("default class '{}' does not exist", name),
                               "define it with <default class=\"...\"> or correct the name");
  }
  return reader.classes.at("main");
}

namespace {

void read_default_class(Reader& reader, const XmlElement* element, DefaultClass* c) {
  XmlFiles& xml = reader.xml;
  for (const XmlElement* child : xml.children(element)) {
    const std::string tag = XmlFiles::tag(child);
    if (tag == "default") continue;
    xml.accept(child);
    if (tag == "joint") {
      overlay_joint(reader, child, &c->joint);
    } else if (tag == "geom") {
      overlay_geom(reader, child, &c->geom);
    } else if (tag == "site") {
      overlay_site(reader, child, &c->site);
    } else if (tag == "mesh") {
      overlay_mesh(reader, child, &c->mesh);
    } else if (tag == "material") {
      overlay_material(reader, child, &c->material);
    } else if (tag == "pair") {
      overlay_pair(reader, child, &c->pair);
    } else if (tag == "equality") {
      overlay_equality(reader, child, &c->equality);
    } else if (tag == "tendon") {
      overlay_tendon(reader, child, &c->tendon);
    } else if (tag == "camera" || tag == "light" || tag == "texture") {
      xml.accept_all(child);
    } else {
      overlay_actuator(reader, child, &c->actuator);
    }
  }
  const DefaultClass parent = *c;  // nested classes start from what is known after this one's own elements
  for (const XmlElement* child : xml.children(element, "default")) {
    xml.accept(child);
    const std::string name = xml.required_text(child, "class");
    if (name.empty()) continue;
    const auto [it, fresh] = reader.classes.try_emplace(name, parent);
    if (!fresh) {
      xml.attribute_error(child, "class", fmt::format("default class '{}' is defined twice", name),
                          fmt::format("rename one; the other is at {}", to_string(it->second.where)));
      continue;
    }
    it->second.name = name;
    it->second.where = xml.where(child);
    read_default_class(reader, child, &it->second);
  }
}

}  // namespace

void read_defaults(Reader& reader, const XmlElement* element) {
  reader.xml.accept(element);
  const std::string name = reader.xml.text(element, "class").value_or("main");
  if (name != "main") {
    reader.xml.attribute_error(element, "class",
                               fmt::format("the outermost default class is named '{}'", name),
                               "leave out its name (it is 'main') and nest this class in it");
  }
  read_default_class(reader, element, &reader.classes.at("main"));
}

}  // namespace capstan::mjcf
