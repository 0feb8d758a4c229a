// Contact: solref and solimp to Material, MuJoCo's way to combine two geoms, <pair> and <exclude>.
//
// MuJoCo makes the contact's acceleration a = (1 - d) a0 + d a_ref, with a0 the acceleration without contact,
// a_ref = k x - b v for depth x and separation speed v = -dx/dt, and
//
//     k = d / (dw^2 tc^2 zeta^2),  b = 2 / (dw tc)         for solref = (tc, zeta)
//     k = d ks / dw^2,             b = bs / dw             for solref = (-ks, -bs)
//
// where the impedance d = d(x) goes from solimp's d0 at x = 0 to dw at x = width. Resting under gravity, a =
// 0 and a0 = -g: d k x = (1 - d) g. A spring of K newtons per metre and kilogram rests at x = g / K, hence
//
//     stiffness_per_kilogram = K = k d / (1 - d),   relaxation_time = b / k,   d = d(g / K).
//
// d is that of the resting depth, found by bisection with g = 9.81 m/s^2 whatever the scene's gravity, so
// that one body on one contact rests where it does in MuJoCo. A foot carries more than the link it is on. On
// links at the ends of trees with a free joint, g is replaced by what the contact carries over the mass of
// the link,
//
//     g max(1, m_tree / (n m_link)),      n the number of ends,
//
// and K m_link is then the spring that rests where MuJoCo's contact does when the ends share the weight
// (settle_loads). MuJoCo has the inverse inertia at the body's centre, in the pose of the file, for 1 /
// m_link: what stands on straight legs, or has heavy rotors, sinks less there. Limits: d0 = dw needs no
// search and K is the same for every load; d -> 1 is rigid, K -> infinity, and MuJoCo keeps d within [1e-4,
// 0.9999] and so do we. zeta and tc enter k as (tc zeta)^-2 and b / k as 2 tc zeta^2 dw / d. The change of d
// away from the resting depth is not kept.
#include <fmt/core.h>
#include <numbers>

#include <algorithm>
#include <cmath>

#include "capstan/io/mjcf_reader.h"
#include "capstan/laws/soft_reference.h"
#include "capstan/scene/rod.h"

namespace capstan::mjcf {

namespace {

constexpr double kGravity = 9.81;  // [m/s^2]
}  // namespace

SolverMapping map_solver_parameters(const std::array<double, 2>& solref, const std::array<double, 5>& solimp,
                                    double load) {
  const double dw = bounded_impedance(solimp[1]);
  double k_over_d = 0, b = 0;
  if (solref[0] > 0) {
    const double w = dw * solref[0] * solref[1];
    k_over_d = 1 / (w * w);
    b = 2 / (dw * solref[0]);
  } else {
    k_over_d = -solref[0] / (dw * dw);
    b = -solref[1] / dw;
  }
  // The root of d^2 k_over_d x = (1 - d) load lies between those of the largest and the smallest d.
  const auto excess = [&](double x) {
    const double d = calc_impedance(solimp, x);
    return d * d * k_over_d * x - (1 - d) * load;
  };
  const double least = std::min(bounded_impedance(solimp[0]), dw),
               most = std::max(bounded_impedance(solimp[0]), dw);
  double low = (1 - most) * load / (most * most * k_over_d);
  double high = (1 - least) * load / (least * least * k_over_d);
  for (int i = 0; i < 200 && high - low > 1e-15 * high; ++i) {
    const double x = 0.5 * (low + high);
    (excess(x) > 0 ? high : low) = x;
  }
  const double d = calc_impedance(solimp, 0.5 * (low + high)), k = d * k_over_d;
  return {k * d / (1 - d), b / k, bounded_impedance(solimp[0]) != solimp[0] || dw != solimp[1]};
}

// Of a spring and damper of ratio zeta between two bodies that are let go where the spring is at rest: half a
// period.
static double restitution(const std::array<double, 2>& solref) {
  const double zeta = solref[0] > 0 ? solref[1] : -solref[1] / (2 * std::sqrt(-solref[0]));
  if (!(zeta < 1)) return 0;
  return std::exp(-std::numbers::pi * std::max(zeta, 0.0) / std::sqrt(1 - zeta * zeta));
}

std::string find_or_add_material(Reader& reader, Material material, const Reader::Contact& contact) {
  std::vector<Material>& all = reader.scene.materials;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (reader.contacts[i] == contact && all[i].friction == material.friction &&
        all[i].stiffness_per_kilogram == material.stiffness_per_kilogram &&
        all[i].relaxation_time == material.relaxation_time && all[i].restitution == material.restitution) {
      return all[i].name;
    }
  }
  const std::string stem = fmt::format("friction_{:g}", material.friction);
  material.name = stem;
  for (int n = 2;
       std::any_of(all.begin(), all.end(), [&](const Material& m) { return m.name == material.name; }); ++n) {
    material.name = fmt::format("{}_{}", stem, n);
  }
  all.push_back(material);
  reader.contacts.push_back(contact);
  return all.back().name;
}

namespace {

// What acts between two geoms.
struct Frictions {
  double friction, torsional, rolling;
  bool operator==(const Frictions&) const = default;
};

// MuJoCo takes the larger friction of two geoms, each of its three numbers, and those that the larger condim
// has; or all of the geom with the higher priority.
Frictions combine(const Reader::Contact& a, const Reader::Contact& b) {
  if (a.priority != b.priority) return a.priority > b.priority ? combine(a, a) : combine(b, b);
  const int condim = std::max(a.condim, b.condim);
  return {condim > 1 ? std::max(a.friction, b.friction) : 0,
          condim > 3 ? std::max(a.torsional_friction, b.torsional_friction) : 0,
          condim > 4 ? std::max(a.rolling_friction, b.rolling_friction) : 0};
}

void set_friction(const Frictions& f, Material* material) {
  material->friction = f.friction;
  material->torsional_friction = f.torsional;
  material->rolling_friction = f.rolling;
}

}  // namespace

// Geoms that say the same share a material. MuJoCo's friction is 1 where nothing is written; stiffness and
// dissipation then stay our defaults.
std::string material_of(Reader& reader, const XmlElement* element, const GeomSpec& geom) {
  XmlFiles& xml = reader.xml;
  Material material;
  Reader::Contact contact{geom.friction, geom.torsional_friction, geom.rolling_friction, geom.condim,
                          geom.priority};
  set_friction(combine(contact, contact), &material);
  if (geom.has_sol) {
    contact.has_sol = true;
    contact.solref = geom.solref;
    contact.solimp = geom.solimp;
    const SolverMapping map = map_solver_parameters(geom.solref, geom.solimp);
    material.stiffness_per_kilogram = map.stiffness_per_kilogram;
    material.relaxation_time = map.relaxation_time;
    material.restitution = restitution(geom.solref);
    if (map.clamped && xml.once("solimp")) {
      xml.diagnostics()->warning(
          xml.where(element, "solimp"),
          fmt::format("solimp {} {} is outside [0.0001, 0.9999] and is set to the nearer end", geom.solimp[0],
                      geom.solimp[1]),
          "write values between them");
    }
  }
  material.where = xml.where(element);
  return find_or_add_material(reader, material, contact);
}

// The load of contacts on the ends of free trees over the mass of the link [m/s^2], see above: by body, for
// all bodies of such links.
static std::map<std::string, double> calc_loads(const Scene& scene) {
  const std::map<std::string, double> masses = calc_masses(scene);
  struct FreeTree {
    double mass = 0;
    std::set<std::string> ends;
  };
  std::map<std::string, std::string> link_of, root_of;  // of each body in a free tree, the first body of each
  std::map<std::string, double> link_mass;
  std::map<std::string, FreeTree> trees;   // by their first body
  for (const Body& body : scene.bodies) {  // parents come first
    const bool is_root = !body.joints.empty() && body.joints[0].type == JointType::free;
    if (!is_root && !link_of.count(body.parent)) continue;
    link_of[body.name] = body.joints.empty() ? link_of[body.parent] : body.name;
    root_of[body.name] = is_root ? body.name : root_of[body.parent];
    FreeTree& tree = trees[root_of[body.name]];
    if (!body.joints.empty()) {
      if (!is_root) tree.ends.erase(link_of[body.parent]);
      tree.ends.insert(body.name);
    }
    tree.mass += masses.at(body.name);
    link_mass[link_of[body.name]] += masses.at(body.name);
  }
  std::map<std::string, double> loads;
  for (const auto& [body, link] : link_of) {
    const FreeTree& tree = trees[root_of[body]];
    if (!tree.ends.count(link) || !(link_mass[link] > 0)) continue;
    const double share = tree.mass / static_cast<double>(tree.ends.size());
    loads[body] = kGravity * std::max(1.0, share / link_mass[link]);
  }
  return loads;
}

// Once masses are known: geoms with solref or solimp on feet get materials for what these carry.
void settle_loads(Reader& reader) {
  if (std::none_of(reader.contacts.begin(), reader.contacts.end(),
                   [](const Reader::Contact& c) { return c.has_sol; }))
    return;
  Scene& scene = reader.scene;
  const std::map<std::string, double> loads = calc_loads(scene);
  std::map<std::string, int> index;
  for (std::size_t i = 0; i < scene.materials.size(); ++i)
    index[scene.materials[i].name] = static_cast<int>(i);
  for (ShapeInstance& shape : scene.shapes) {
    const auto load = loads.find(shape.body);
    const auto found = index.find(shape.material);
    if (load == loads.end() || found == index.end() || !reader.contacts[found->second].has_sol) continue;
    const Reader::Contact contact = reader.contacts[found->second];
    Material material = scene.materials[found->second];
    const SolverMapping map = map_solver_parameters(contact.solref, contact.solimp, load->second);
    material.stiffness_per_kilogram = map.stiffness_per_kilogram;
    material.relaxation_time = map.relaxation_time;
    shape.material = find_or_add_material(reader, material, contact);
  }
  // Materials that no shape has any more go.
  std::set<std::string> used;
  for (const ShapeInstance& shape : scene.shapes) used.insert(shape.material);
  for (const RodSpec& rod : scene.rods) used.insert(rod.material);
  for (std::size_t i = scene.materials.size(); i-- > 0;) {
    if (used.count(scene.materials[i].name) || !reader.contacts[i].has_sol) continue;
    scene.materials.erase(scene.materials.begin() + static_cast<std::ptrdiff_t>(i));
    reader.contacts.erase(reader.contacts.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Overrides say where MuJoCo's rule and ours differ, whose sliding friction is a mean.
void combine_materials(Reader& reader) {
  Scene& scene = reader.scene;
  const std::size_t n = scene.materials.size();
  constexpr std::size_t kMost = 200;  // 20,000 pairs
  if (n > kMost) {
    reader.xml.diagnostics()->warning(
        {scene.file, 0},
        fmt::format("{} different contact settings: frictions of unlike ones combine by "
                    "the harmonic mean, not by MuJoCo's maximum",
                    n),
        "use fewer, through default classes");
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const Reader::Contact &a = reader.contacts[i], &b = reader.contacts[j];
      const Frictions theirs = combine(a, b);
      const Material &ma = scene.materials[i], &mb = scene.materials[j];
      const double fa = ma.friction, fb = mb.friction;
      const Frictions ours{fa + fb > 0 ? 2 * fa * fb / (fa + fb) : 0,
                           std::max(ma.torsional_friction, mb.torsional_friction),
                           std::max(ma.rolling_friction, mb.rolling_friction)};
      if (theirs == ours) continue;
      PairOverride pair;
      pair.kind = PairOverride::Kind::materials;
      pair.a = scene.materials[i].name;
      pair.b = scene.materials[j].name;
      pair.where = scene.materials[j].where;
      pair.friction = theirs.friction;
      if (theirs.torsional != ours.torsional) pair.torsional_friction = theirs.torsional;
      if (theirs.rolling != ours.rolling) pair.rolling_friction = theirs.rolling;
      scene.pairs.push_back(pair);
    }
  }
}

namespace {

// A <pair> collides whatever contype and conaffinity say. Where they forbid it, one of the two geoms gets a
// bit of its own in group_bits, and all that it is paired with have that bit in their masks: there are 53
// bits, of which a file can write 32, and the geom that is in more pairs (the floor, as a rule) needs but one
// for all of them.
void let_collide(Reader& reader, const XmlElement* element, ShapeInstance* a, ShapeInstance* b) {
  const bool already = a->collides && b->collides &&
                       ((a->group_bits & b->mask_bits) != 0 || (b->group_bits & a->mask_bits) != 0);
  if (already || reader.compiler.contacts_disabled) return;
  const auto has_bit = [&](const ShapeInstance* shape) { return reader.pair_bits.count(shape->name) > 0; };
  if (!has_bit(a) && (has_bit(b) || reader.num_pairs[b->name] > reader.num_pairs[a->name])) std::swap(a, b);
  if (!has_bit(a)) {
    std::uint64_t taken = 0;
    for (const ShapeInstance& shape : reader.scene.shapes) taken |= shape.group_bits | shape.mask_bits;
    std::uint64_t bit = std::uint64_t{1} << 52;
    while (bit && (taken & bit)) bit >>= 1;
    if (bit == 0) {
      reader.xml.error(
          element,
          fmt::format("the pair of geoms '{}' and '{}' needs a collision bit of its own, and all 53 are "
                      "taken: it would not collide",
                      a->name, b->name),
          "let the geoms collide by contype and conaffinity, or use fewer bits there");
      return;
    }
    reader.pair_bits[a->name] = bit;
    a->group_bits |= bit;
  }
  b->mask_bits |= reader.pair_bits[a->name];
  a->collides = b->collides = true;
}

// What the pair says of them, else its geoms, where its condim has them.
void set_turning_friction(const Reader& reader, const PairSpec& spec, PairOverride* pair) {
  const auto contact_of = [&](const std::string& geom) -> Reader::Contact {
    const std::string& name = reader.scene.shapes[reader.shape_index.at(geom)].material;
    for (std::size_t i = 0; i < reader.contacts.size(); ++i) {
      if (reader.scene.materials[i].name == name) return reader.contacts[i];
    }
    return {};
  };
  Reader::Contact a = contact_of(pair->a), b = contact_of(pair->b);
  if (spec.has_condim) a.condim = b.condim = spec.condim;
  const Frictions of_geoms = combine(a, b);
  const int condim = a.priority == b.priority  ? std::max(a.condim, b.condim)
                     : a.priority > b.priority ? a.condim
                                               : b.condim;
  if (condim > 3 || spec.has_condim)
    pair->torsional_friction = condim > 3 ? spec.torsional_friction.value_or(of_geoms.torsional) : 0;
  if (condim > 4 || spec.has_condim)
    pair->rolling_friction = condim > 4 ? spec.rolling_friction.value_or(of_geoms.rolling) : 0;
}

void read_pair(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  PairSpec spec = find_class(reader, element, "").pair;
  overlay_pair(reader, element, &spec);
  xml.accept_attributes(element, {"name"});
  const std::string geom1 = xml.required_text(element, "geom1"), geom2 = xml.required_text(element, "geom2");
  for (const std::string& suffix :
       suffixes_of(reader, element, {{Kind::geom, "geom1"}, {Kind::geom, "geom2"}})) {
    PairOverride pair;
    pair.kind = PairOverride::Kind::shapes;
    pair.where = xml.where(element);
    pair.a = resolved(reader, Kind::geom, geom1, suffix);
    pair.b = resolved(reader, Kind::geom, geom2, suffix);
    if (!reader.check_reference(Kind::geom, element, "geom1", pair.a) ||
        !reader.check_reference(Kind::geom, element, "geom2", pair.b)) {
      return;
    }
    if (!reader.shape_index.count(pair.a) || !reader.shape_index.count(pair.b))
      continue;  // left out, said there
    pair.friction = spec.friction;
    if (spec.has_condim && spec.condim == 1) pair.friction = 0;
    set_turning_friction(reader, spec, &pair);
    pair.margin = spec.margin;
    if (spec.has_sol) {
      pair.relaxation_time = map_solver_parameters(spec.solref, spec.solimp).relaxation_time;
      if (xml.once("pair stiffness")) {
        xml.diagnostics()->not_understood(
            xml.where(element),
            "solref of a <pair> sets the relaxation time only; the stiffness is that of the geoms",
            "write solref on the geoms");
      }
    }
    let_collide(reader, element, &reader.scene.shapes[reader.shape_index.at(pair.a)],
                &reader.scene.shapes[reader.shape_index.at(pair.b)]);
    reader.scene.pairs.push_back(pair);
  }
}

}  // namespace

void read_contact(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  for (const XmlElement* child : xml.children(element, "pair")) {
    for (const char* name : {"geom1", "geom2"}) ++reader.num_pairs[xml.peek(child, name)];
  }
  for (const XmlElement* child : xml.children(element)) {
    const std::string tag = XmlFiles::tag(child);
    if (tag == "pair") {
      xml.accept(child);
      read_pair(reader, child);
    } else if (tag == "exclude") {
      xml.accept(child);
      xml.accept_attributes(child, {"name"});
      const std::string body1 = xml.required_text(child, "body1"), body2 = xml.required_text(child, "body2");
      for (const std::string& suffix :
           suffixes_of(reader, child, {{Kind::body, "body1"}, {Kind::body, "body2"}})) {
        CollisionExclude exclude;
        exclude.where = xml.where(child);
        exclude.body_a = resolved(reader, Kind::body, body1, suffix);
        exclude.body_b = resolved(reader, Kind::body, body2, suffix);
        if (reader.check_reference(Kind::body, child, "body1", exclude.body_a) &&
            reader.check_reference(Kind::body, child, "body2", exclude.body_b)) {
          name_edges(reader, &exclude.body_a, nullptr);
          name_edges(reader, &exclude.body_b, nullptr);
          reader.scene.excludes.push_back(exclude);
        }
      }
    }
  }
}

}  // namespace capstan::mjcf
