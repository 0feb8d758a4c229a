#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "apps/capstan/commands.h"
#include "capstan/dynamics/tree.h"
#include "capstan/io/recording_hdf5.h"
#include "capstan/model/add_rod.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/model/mocap.h"
#include "capstan/step/examine.h"

namespace capstan::cli {
namespace {

using Json = nlohmann::ordered_json;

std::map<int, std::vector<int>> joints_by_body(const Model& model) {
  std::map<int, std::vector<int>> joints;
  for (int j = 0; j < static_cast<int>(model.joints.size()); ++j) joints[model.joints[j].body].push_back(j);
  return joints;
}

// [kg] of all bodies; dynamics' total_mass() counts those that move.
double mass_of_bodies(const Model& model) {
  double mass = 0;
  for (const ModelBody& body : model.bodies) mass += body.mass;
  return mass;
}

bool is_carrier(const Model& model, const ModelBody& body) {
  return body.link >= model.num_tree_links();
}

double length_of(const Rod& rod) {
  double length = 0;
  for (int i = 0; i < rod.num_edges(); ++i) length += rod.rest_length(i);
  return length;
}
// All of it, held nodes included.
double mass_of(const Rod& rod) {
  return rod.spec().density * rod.section().area * length_of(rod);
}

std::string section_text(const RodSection& section) {
  if (section.type == RodSectionType::circle) return fmt::format("circle of {:.4g} mm", 1e3 * section.width);
  return fmt::format("{} of {:.4g} x {:.4g} mm",
                     section.type == RodSectionType::rectangle ? "rectangle" : "ellipse", 1e3 * section.width,
                     1e3 * section.height);
}

void print_rods(const Model& model) {
  const std::vector<int> rods = find_rods(model);
  if (!rods.empty()) fmt::print("\nrods\n");
  for (const int id : rods) {
    const Rod& rod = rod_of(model, id);
    fmt::print("  {}: {:.4g} m, {}, {:.4g} kg, {} nodes, {}, E {:.4g} Pa, waves of stretch {:.4g} m/s\n",
               rod_name(model, id), length_of(rod), rod.spec().closed ? "closed" : "open", mass_of(rod),
               rod.num_nodes(), section_text(rod.spec().section), rod.spec().young_modulus, rod.wave_speed());
  }
}

double mass_of(const SoftBody& body) {
  return body.spec().density * body.rest_volume();
}

const char* elasticity_name(Elasticity kind) {
  constexpr const char* names[] = {"linear corotational", "corotated", "neo-Hookean",
                                   "Saint Venant-Kirchhoff"};
  return names[static_cast<int>(kind)];
}

void print_soft_bodies(const Model& model) {
  const std::vector<int> bodies = find_soft_bodies(model);
  if (!bodies.empty()) fmt::print("\nsoft bodies\n");
  for (const int id : bodies) {
    const SoftBody& body = soft_body_of(model, id);
    const SoftBodySpec& spec = body.spec();
    const TetMeshQuality quality = examine_tets(*spec.mesh);
    fmt::print("  {}: {:.4g} kg, {:.4g} m^3, {} nodes, {} {} tets, {} triangles on its surface\n",
               soft_body_name(model, id), mass_of(body), body.rest_volume(), body.num_nodes(),
               body.num_elements(), spec.element == SoftElement::linear ? "linear" : "quadratic",
               body.triangles().size());
    fmt::print("    {}, E {:.4g} Pa, nu {:.4g}; quality of tets {:.2g}, the worst, {}, {:.2g}\n",
               elasticity_name(spec.elasticity), spec.young_modulus, spec.poisson_ratio, quality.mean,
               quality.worst_tet, quality.worst);
  }
}

std::string range_text(const Range& r) {
  return fmt::format("[{:.4g}, {:.4g}]", r.lower, r.upper);
}

std::string joint_text(const Model& model, const ModelJoint& joint) {
  if (is_mocap_dof(model, joint.v)) return fmt::format("mocap '{}'", joint.name);
  std::string text = fmt::format("{} '{}'", joint_type_name(joint.type), joint.name);
  for (const Range& limit : joint.limits) text += " " + range_text(limit);
  return text;
}

// The dofs an actuator pulls at, by joint name.
std::string target_text(const Model& model, const Transmission& transmission) {
  std::string text;
  int last = -1;
  for (const Transmission::Term& term : transmission.terms) {
    const int joint = model.dofs[term.dof].joint;
    if (joint != last) text += (text.empty() ? "" : " + ") + model.joints[joint].name;
    last = joint;
  }
  return text;
}

std::string actuator_text(const ModelActuator& a) {
  if (a.bias.isZero()) return fmt::format("torque, gain {:.4g}", a.gain);
  if (a.gain > 0 && a.bias[0] == 0 && a.bias[1] == -a.gain) {
    return fmt::format("PD, stiffness {:.4g}, damping {:.4g}", a.gain, 0 - a.bias[2]);
  }
  if (a.gain > 0 && a.bias[0] == 0 && a.bias[1] == 0 && a.bias[2] == -a.gain) {
    return fmt::format("velocity, gain {:.4g}", a.gain);
  }
  return fmt::format("gain {:.4g}, bias ({:.4g}, {:.4g}, {:.4g})", a.gain, a.bias[0], a.bias[1], a.bias[2]);
}

struct TreePrinter {
  const Model& model;
  std::map<int, std::vector<int>> joints, children;
  std::map<int, int> shapes;

  explicit TreePrinter(const Model& m) : model(m), joints(joints_by_body(m)) {
    for (int b = 1; b < static_cast<int>(m.bodies.size()); ++b) {
      if (!is_carrier(m, m.bodies[b])) children[std::max(0, m.bodies[b].parent)].push_back(b);
    }
    for (const ModelShape& shape : m.shapes) ++shapes[shape.body];
  }

  void print(int body, const std::string& prefix) {
    const std::vector<int>& below = children[body];
    for (std::size_t i = 0; i < below.size(); ++i) {
      const bool last = i + 1 == below.size();
      const ModelBody& b = model.bodies[below[i]];
      std::string line = fmt::format("{}{}{}", prefix, last ? "└─ " : "├─ ", b.name);
      line += b.mass > 0 ? fmt::format("  {:.4g} kg", b.mass) : "";
      const int n = shapes.count(below[i]) ? shapes[below[i]] : 0;
      if (n > 0) line += fmt::format("  {} shape{}", n, n == 1 ? "" : "s");
      if (joints[below[i]].empty()) line += "  welded";
      for (const int j : joints[below[i]]) line += "  " + joint_text(model, model.joints[j]);
      fmt::print("{}\n", line);
      print(below[i], prefix + (last ? "   " : "│  "));
    }
  }
};

void print_text(const LoadedScene& loaded) {
  const Model& m = loaded.model;
  const auto row = [](const char* name, const std::string& value) {
    fmt::print("  {:<14}{}\n", name, value);
  };
  fmt::print("{}\n", m.name.empty() ? "(unnamed scene)" : m.name);
  row("file", loaded.path);
  const auto num_bodies = std::count_if(m.bodies.begin() + 1, m.bodies.end(),
                                        [&](const ModelBody& body) { return !is_carrier(m, body); });
  row("bodies", fmt::format("{} in {} tree{}, {:.6g} kg", num_bodies, m.trees.size(),
                            m.trees.size() == 1 ? "" : "s", mass_of_bodies(m)));
  if (const std::vector<int> rods = find_rods(m); !rods.empty()) {
    double mass = 0;
    for (const int id : rods) mass += mass_of(rod_of(m, id));
    row("rods", fmt::format("{}, {:.6g} kg", rods.size(), mass));
  }
  if (const std::vector<int> bodies = find_soft_bodies(m); !bodies.empty()) {
    double mass = 0;
    for (const int id : bodies) mass += mass_of(soft_body_of(m, id));
    row("soft bodies", fmt::format("{}, {:.6g} kg", bodies.size(), mass));
  }
  row("joints",
      fmt::format("{}: {} dofs, {} positions", m.joints.size(), m.num_velocities(), m.num_positions));
  row("shapes", fmt::format("{}, {} materials", m.shapes.size(), m.materials.size()));
  row("actuators", fmt::format("{}, {} tendons, {} constraints", m.actuators.size(), m.tendons.size(),
                               m.constraints.size()));
  const Vec3& g = m.options.gravity;
  row("gravity", fmt::format("({:g}, {:g}, {:g}) m/s^2", g.x(), g.y(), g.z()));
  row("step", fmt::format("{:g} s, {}; a run lasts {:g} s", m.options.dt,
                          integrator_name(m.options.integrator), m.options.duration));
  std::string keyframes;
  for (const ModelKeyframe& k : m.keyframes) keyframes += (keyframes.empty() ? "" : ", ") + k.name;
  row("keyframes", keyframes.empty() ? "none" : keyframes);

  const int on_world = static_cast<int>(
      std::count_if(m.shapes.begin(), m.shapes.end(), [](const ModelShape& s) { return s.body == 0; }));
  fmt::print("\nworld{}\n",
             on_world > 0 ? fmt::format("  {} shape{}", on_world, on_world == 1 ? "" : "s") : "");
  TreePrinter(m).print(0, "");
  print_rods(m);
  print_soft_bodies(m);
  if (!m.actuators.empty()) fmt::print("\nactuators\n");
  for (const ModelActuator& a : m.actuators) {
    std::string line =
        fmt::format("  {} on {}: {}", a.name, target_text(m, a.transmission), actuator_text(a));
    if (std::isfinite(a.control_range.lower) || std::isfinite(a.control_range.upper)) {
      line += ", control " + range_text(a.control_range);
    }
    if (std::isfinite(a.force_range.lower) || std::isfinite(a.force_range.upper)) {
      line += ", force " + range_text(a.force_range);
    }
    fmt::print("{}\n", line);
  }
}

// JSON has no infinity: an open end is null.
Json range_json(const Range& r) {
  const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  return Json::array({number(r.lower), number(r.upper)});
}

// The starting state and the mass matrix in it, in the order of v; for comparisons with other programs.
void add_mass_matrix(const Model& model, Json* j) {
  const State state = initial_state(model);
  const int n = model.num_velocities();
  Placement placement = make_placement(model);
  TreeWorkspace workspace = make_tree_workspace(model);
  VecX values(model.pattern.num_values());
  MatX M(n, n);
  calc_placement(model, state.q, &placement);
  calc_mass_matrix(model, placement, &workspace, &values);
  expand(model.pattern, values.data(), 0, n, M);
  (*j)["q"] = std::vector<double>(state.q.data(), state.q.data() + state.q.size());
  (*j)["mass_matrix"] = Json::array();
  for (int i = 0; i < n; ++i) {
    Json row = Json::array();
    for (int k = 0; k < n; ++k) row.push_back(M(i, k));
    (*j)["mass_matrix"].push_back(row);
  }
}

void print_json(const LoadedScene& loaded, bool mass_matrix) {
  const Model& m = loaded.model;
  Json j;
  j["name"] = m.name;
  j["file"] = loaded.path;
  j["total_mass"] = mass_of_bodies(m);
  j["num_dofs"] = m.num_velocities();
  j["num_positions"] = m.num_positions;
  j["num_trees"] = m.trees.size();
  j["gravity"] = {m.options.gravity.x(), m.options.gravity.y(), m.options.gravity.z()};
  j["dt"] = m.options.dt;
  j["integrator"] = integrator_name(m.options.integrator);
  j["duration"] = m.options.duration;
  j["fingerprint"] = fmt::format("{:016x}", m.fingerprint);
  j["bodies"] = Json::array();
  for (std::size_t b = 1; b < m.bodies.size(); ++b) {
    const ModelBody& body = m.bodies[b];
    if (is_carrier(m, body)) continue;
    j["bodies"].push_back({{"name", body.name},
                           {"parent", m.bodies[std::max(0, body.parent)].name},
                           {"mass", body.mass},
                           {"link", body.link}});
  }
  j["rods"] = Json::array();
  for (const int id : find_rods(m)) {
    const Rod& rod = rod_of(m, id);
    const RodSection& section = rod.spec().section;
    const bool is_round = section.type == RodSectionType::circle;
    j["rods"].push_back({{"name", rod_name(m, id)},
                         {"length", length_of(rod)},
                         {"mass", mass_of(rod)},
                         {"closed", rod.spec().closed},
                         {"num_nodes", rod.num_nodes()},
                         {"width", section.width},
                         {"height", is_round ? section.width : section.height},
                         {"young_modulus", rod.spec().young_modulus},
                         {"wave_speed", rod.wave_speed()},
                         {"q", m.objects[id].q_begin},
                         {"v", m.objects[id].dof_begin}});
  }
  j["soft_bodies"] = Json::array();
  for (const int id : find_soft_bodies(m)) {
    const SoftBody& body = soft_body_of(m, id);
    const TetMeshQuality quality = examine_tets(*body.spec().mesh);
    j["soft_bodies"].push_back({{"name", soft_body_name(m, id)},
                                {"mass", mass_of(body)},
                                {"volume", body.rest_volume()},
                                {"num_nodes", body.num_nodes()},
                                {"num_tets", body.num_elements()},
                                {"num_triangles", body.triangles().size()},
                                {"young_modulus", body.spec().young_modulus},
                                {"poisson_ratio", body.spec().poisson_ratio},
                                {"worst_tet", quality.worst_tet},
                                {"worst_quality", quality.worst},
                                {"q", m.objects[id].q_begin},
                                {"v", m.objects[id].dof_begin}});
  }
  j["joints"] = Json::array();
  for (const ModelJoint& joint : m.joints) {
    Json limits = Json::array();
    for (const Range& r : joint.limits) limits.push_back(range_json(r));
    j["joints"].push_back({{"name", joint.name},
                           {"type", joint_type_name(joint.type)},
                           {"body", m.bodies[joint.body].name},
                           {"q", joint.q},
                           {"v", joint.v},
                           {"num_q", num_positions(joint.type)},
                           {"num_v", num_velocities(joint.type)},
                           {"limits", limits}});
    if (is_mocap_dof(m, joint.v)) j["joints"].back()["mocap"] = true;
  }
  j["shapes"] = Json::array();
  for (const ModelShape& shape : m.shapes) {
    j["shapes"].push_back({{"name", shape.name},
                           {"type", shape_name(shape.shape)},
                           {"body", m.bodies[shape.body].name},
                           {"material", m.materials[shape.material].name},
                           {"collides", shape.collides}});
  }
  j["actuators"] = Json::array();
  for (const ModelActuator& a : m.actuators) {
    j["actuators"].push_back({{"name", a.name},
                              {"on", target_text(m, a.transmission)},
                              {"gain", a.gain},
                              {"bias", {a.bias[0], a.bias[1], a.bias[2]}},
                              {"control_range", range_json(a.control_range)},
                              {"force_range", range_json(a.force_range)}});
  }
  j["keyframes"] = Json::array();
  for (const ModelKeyframe& k : m.keyframes) j["keyframes"].push_back(k.name);
  if (mass_matrix) add_mass_matrix(m, &j);
  fmt::print("{}\n", j.dump(mass_matrix ? -1 : 2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

int info(const InfoOptions& options) {
  if (is_recording(options.scene)) {
    print_recording_info(options.scene, options.json);
    return kOk;
  }
  if (is_hdf5_file(options.scene)) {
    print_hdf5_info(options.scene, options.json);
    return kOk;
  }
  const LoadedScene loaded = load(options.scene, false);
  if (!loaded.diagnostics.list.empty()) tell("{}\n", loaded.diagnostics.text());
  if (options.json) {
    print_json(loaded, options.mass_matrix);
  } else {
    print_text(loaded);
  }
  return kOk;
}

}  // namespace capstan::cli
