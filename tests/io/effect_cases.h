// For every key that docs/scene.md lists, a small scene that uses it, and what to change of it
// (effect_test.cc).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace capstan::test {

struct Case {
  std::string key;            // "section/key" of docs/scene.md
  std::string scene;          // with `%`
  std::string base, changed;  // what stands for it
};

// --- Scenes ----------------------------------------------------------------------------------------------

// A box that lands on the ground and slides. The places: after options, material, body, shape, ground, file.
inline std::string slide(const std::string& place) {
  const auto at = [&](const char* name) { return place == name ? std::string("%") : std::string(); };
  return "options: {" + at("options") + "}\nmaterials: [{name: m" +
         std::string(place == "material" ? "" : ", friction: 0.3") + at("material") + "}]\n" +
         "bodies:\n  - name: a\n" + "    position: [0, 0, 0.0498" + (place == "pose" ? "%" : "") + "]\n" +
         at("body") + "    joint: {type: free, initial_velocity: [0.5, 0.1, 0, 0, 0, 0.3]}\n" +
         (place == "shapes"
              ? "    %\n"
              : "    shape: {type: box, size: [0.1, 0.1, 0.1], material: m" + at("shape") + "}\n") +
         "shapes: [{type: half_space" + (place == "ground" ? "" : ", material: m") + at("ground") + "}]\n" +
         at("file");
}

// The same on patches, with a shape of its own.
inline std::string patch_slide(const std::string& shape) {
  return "materials: [{name: default, contact: patch}]\nbodies: [{name: a, position: [0, 0, 0.0498], joint: "
         "{type: "
         "free, initial_velocity: [0.5, 0.1, 0, 0, 0, 3]}, shape: {type: " +
         shape + "%}}]\nshapes: [{type: half_space}]\n";
}

// With a law to which a contact that does not press yet is one of the last step.
inline std::string lagged(std::string scene) {
  const std::string options = "options: {}";
  return scene.replace(scene.find(options), options.size(), "options: {contact_law: regularized_lagged}");
}

// A ball, or what stands for it, that falls onto the ground from 1 cm.
inline std::string drop(const std::string& shape, const std::string& ground = "{type: half_space}") {
  return "bodies: [{name: a, position: [0, 0, 0.11], joint: free, shape: " + shape + "}]\nshapes: [" +
         ground + "]\n";
}

// A pendulum with one joint, driven; the place is in the joint, in its body or in the file.
inline std::string pendulum(const std::string& joint, const std::string& file = "",
                            const std::string& body = "") {
  return "bodies:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0]" + joint +
         "}, shape: {type: box, size: [0.1, 0.1, 0.4], position: [0.02, 0, -0.2]}" + body + "}\n" + file;
}

inline std::string other_joint(const std::string& joint) {
  return "bodies:\n  - {name: a, joint: {" + joint +
         "}, shape: {type: box, size: [0.1, 0.2, 0.4], position: [0.02, 0.03, -0.2]}}\n";
}

// Two pendulums side by side, for what couples them.
inline std::string two(const std::string& file) {
  return "bodies:\n"
         "  - {name: a, joint: {type: revolute, axis: [0, 1, 0], initial: 0.3}, shape: {type: box, size: "
         "[0.1, 0.1, 0.4], position: [0, 0, -0.2]}}\n"
         "  - {name: b, position: [0, 0.5, 0], joint: {type: revolute, axis: [0, 1, 0]}, shape: {type: box, "
         "size: [0.1, 0.1, 0.2], position: [0, 0, -0.1]}}\n" +
         file;
}

inline std::string actuator(const std::string& keys) {
  return pendulum("", "actuators: [{" + keys + "}]\n");
}

// A muscle that pulls a pendulum, which swings beside.
inline std::string muscle(const std::string& keys) {
  return pendulum(
      ", initial_velocity: 1",
      "actuators: [{joint: a, type: muscle, control: 0.5, muscle: {length_range: [-1, 1], " + keys + "}}]\n");
}

// A pendulum on a spring that goes over sites and around a ball.
inline std::string strung(const std::string& keys) {
  return "bodies:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], initial: 0.4}, shape: {type: box, "
         "size: [0.1, 0.1, 0.4], position: [0.02, 0, -0.2]}}\n"
         "shapes: [{type: sphere, radius: 0.06, name: knob, position: [-0.1, 0, -0.05], collides: false}, "
         "{type: cylinder, radius: 0.07, length: 0.2, name: knob2, position: [-0.1, 0, -0.05], rpy_deg: [90, "
         "0, 0], collides: false}]\n"
         "sites: [{name: top, position: [-0.2, 0, 0.1]}, {name: away, position: [0.1, 0, -0.05]}, {name: "
         "low, "
         "body: a, position: [0, 0, -0.3]}, {name: mid, body: a, position: [0.03, 0, -0.2]}]\n"
         "tendons: [{name: t, stiffness: 50, spring_rest: 0.1, " +
         keys + "}]\n";
}

// A rope that is held at one end, swings and hits the ground.
inline std::string rope(const std::string& keys) {
  return "shapes: [{type: half_space}]\nrods: [{name: r, line: {from: [0, 0, 0.2], to: [0.3, 0, 0.2]}, " +
         keys + "}]\n";
}
inline const std::string kRope = "edges: 10, diameter: 0.01, density: 1000, young_modulus: 1e6";

// A soft block that falls on the ground.
inline std::string soft(const std::string& keys) {
  return "shapes: [{type: half_space}]\nsoft_bodies: [{name: s, position: [0, 0, 0.06], " + keys + "}]\n";
}
inline const std::string kSoft =
    "box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, density: 1000, young_modulus: 1e5, damping: {beta: "
    "0.01}";

inline const std::string kSap = "contact_law: sap";

inline std::vector<Case> cases() {
  const std::string mesh = "{type: mesh, file: wedge.obj";
  const std::string ball_tether =
      "bodies: [{name: a, position: [0, 0, 1], joint: free, shape: {type: box, size: [0.1, 0.1, "
      "0.1]}}]\nconstraints: [{";
  return {
      {"The file/initial", pendulum("", "%"), "", "initial: {q: {a: 0.2}}\n"},
      {"The file/rods", "%", "bodies: []\n", rope(kRope)},
      {"The file/soft_bodies", "%", "bodies: []\n", soft(kSoft)},
      // soft bodies
      {"soft_bodies/box", soft("box: {size: [0.1, 0.1, %]}, density: 1000, young_modulus: 1e5"), "0.1",
       "0.11"},
      {"soft_bodies/ball", soft("ball: {radius: 0.05, cells: [%]}, density: 1000, young_modulus: 1e5"), "2",
       "4"},
      {"soft_bodies/cylinder",
       soft("cylinder: {radius: 0.05, length: 0.1, cells: [2, %]}, density: 1000, young_modulus: 1e5"), "2",
       "3"},
      {"soft_bodies/element", soft(kSoft + "%"), "", ", element: quadratic"},
      {"soft_bodies/elasticity", soft(kSoft + "%"), "", ", elasticity: neo_hookean"},
      {"soft_bodies/mass", soft(kSoft + "%"), "", ", mass: consistent"},
      {"soft_bodies/young_modulus",
       soft("box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, density: 1000, young_modulus: %"), "1e5", "2e5"},
      {"soft_bodies/density",
       soft("box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, density: %, young_modulus: 1e5"), "1000",
       "2000"},
      {"soft_bodies/poisson_ratio", soft(kSoft + "%"), "", ", poisson_ratio: 0.2"},
      {"soft_bodies/pressure",
       soft("ball: {radius: 0.05, inner_radius: 0.03, cells: [6]}, density: 1000, young_modulus: 1e5%"), "",
       ", pressure: 1000"},
      {"soft_bodies/sealed",
       soft("ball: {radius: 0.05, inner_radius: 0.03, cells: [6]}, density: 1000, young_modulus: 1e5, "
            "pressure: 1000%"),
       "", ", sealed: true"},
      {"soft_bodies/pressure_around",
       soft("ball: {radius: 0.05, inner_radius: 0.03, cells: [6]}, density: 1000, young_modulus: 1e5, "
            "pressure: 1000, sealed: true%"),
       "", ", pressure_around: 0"},
      {"soft_bodies/damping",
       soft("box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, density: 1000, young_modulus: 1e5%"), "",
       ", damping: {beta: 0.01}"},
      {"soft_bodies/fixed", soft(kSoft + "%"), "",
       ", fixed: [{ball: {centre: [0.05, 0.05, 0.05], radius: 0.01}}]"},
      {"soft_bodies/velocity", soft(kSoft + "%"), "", ", velocity: [1, 0, 0]"},
      {"soft_bodies/angular_velocity", soft(kSoft + "%"), "", ", angular_velocity: [1, 0, 0]"},
      {"soft_bodies/collides", soft(kSoft + "%"), "", ", collides: false"},
      {"soft_bodies/contact", "materials: [{name: default, contact: patch}]\n" + soft(kSoft + "%"), "",
       ", contact: point"},
      {"soft_bodies/group_bits", soft(kSoft + "%"), "", ", group_bits: 2, mask_bits: 2"},
      {"soft_bodies/mask_bits", soft(kSoft + ", group_bits: 2%"), "", ", mask_bits: 2"},
      // rods
      {"rods/line", "rods: [{name: r, line: {from: [0, 0, 0.2], to: [%, 0, 0.2]}, " + kRope + "}]\n", "0.3",
       "0.4"},
      {"rods/edges", rope("edges: %, diameter: 0.01, density: 1000, young_modulus: 1e6"), "10", "11"},
      {"rods/diameter",
       rope("edges: 10, diameter: %, density: 1000, young_modulus: 1e6, fixed_nodes: [first]"), "0.01",
       "0.02"},
      {"rods/density",
       rope("edges: 10, diameter: 0.01, density: %, young_modulus: 1e6, fixed_nodes: [first]"), "1000",
       "2000"},
      {"rods/young_modulus",
       rope("edges: 10, diameter: 0.01, density: 1000, young_modulus: %, fixed_nodes: [first]"), "1e6",
       "1e7"},
      {"rods/damping", rope(kRope + ", fixed_nodes: [first]%"), "", ", damping: {beta: 0.01}"},
      {"rods/fixed_nodes", rope(kRope + "%"), "", ", fixed_nodes: [first]"},
      {"rods/clamped_edges", rope(kRope + "%"), "", ", clamped_edges: [first]"},
      {"rods/velocity", rope(kRope + "%"), "", ", velocity: [1, 0, 0]"},
      {"rods/stretch", rope(kRope + "%"), "", ", stretch: 0.01"},
      {"rods/collides", rope(kRope + "%"), "", ", collides: false"},
      {"rods/contact", "materials: [{name: default, contact: patch}]\n" + rope(kRope + "%"), "",
       ", contact: point"},
      {"rods/group_bits", rope(kRope + "%"), "", ", group_bits: 2, mask_bits: 2"},
      {"rods/mask_bits", rope(kRope + ", group_bits: 2%"), "", ", mask_bits: 2"},
      // options
      {"options/gravity", slide("options"), "", "gravity: [0, 0, -5]"},
      {"options/fluid_density", slide("options"), "", "fluid_density: 1.2"},
      {"options/fluid_viscosity", slide("options"), "", "fluid_viscosity: 1.0e-3"},
      {"options/wind", slide("options"), "fluid_density: 1.2", "fluid_density: 1.2, wind: [3, 0, 0]"},
      {"options/dt", slide("options"), "", "dt: 0.004"},
      {"options/integrator", slide("options"), "", "integrator: midpoint"},
      {"options/contact_law", slide("options"), "", kSap},
      {"options/normal_law", slide("options"), "", "normal_law: kelvin_voigt"},
      {"options/sigma", slide("options"), kSap, kSap + ", sigma: 0.01"},
      {"options/beta", slide("options"), kSap, kSap + ", beta: 4"},
      {"options/constraint_beta", "options: {%}\n" + pendulum(", limits: [0.1, 1]"), "",
       "constraint_beta: 4"},
      {"options/recovery_speed", "options: {%}\n" + pendulum(", limits: [0.1, 1]"), "",
       "recovery_speed: 0.1"},
      {"options/tolerance", slide("options"), "", "tolerance: 0.1"},
      {"options/max_iterations", slide("options"), "max_iterations: 1", ""},
      {"options/sleep", "options: {%}\n" + drop("{type: sphere, radius: 0.1}"), "",
       "sleep: true, sleep_speed: 10, sleep_time: 0.01"},
      {"options/sleep_speed", "options: {%}\n" + drop("{type: sphere, radius: 0.1}"),
       "sleep: true, sleep_time: 0.01", "sleep: true, sleep_time: 0.01, sleep_speed: 10"},
      {"options/sleep_time", "options: {%}\n" + drop("{type: sphere, radius: 0.1}"),
       "sleep: true, sleep_speed: 10", "sleep: true, sleep_speed: 10, sleep_time: 0.01"},
      {"options/conserve_momentum",
       "options: {gravity: [0, 0, 0], %}\nbodies:\n  - name: a\n    joint: {type: free, initial_velocity: "
       "[0, 0, 0, 1, 2, 3]}\n    shape: {type: box, size: [0.1, 0.2, 0.3]}\n    children: [{name: b, joint: "
       "{type: revolute, axis: [1, 0, 0], initial_velocity: 3}, shape: {type: box, size: [0.1, 0.1, 0.4], "
       "position: [0, 0.3, 0.2]}}]\n",
       "", "conserve_momentum: false"},
      {"options/follow_paths",
       "options: {%}\nshapes: [{type: cylinder, radius: 1, length: 0.2, position: [0, 0, -0.1], "
       "surface_spin: "
       "[0, 0, 3]}]\nbodies: [{name: a, position: [0.3, 0, 0.05], joint: {type: free, initial_velocity: [0, "
       "0.9, 0, 0, 0, 3]}, shape: {type: box, size: [0.1, 0.1, 0.1]}}]\n",
       "", "follow_paths: false"},
      {"options/collide_parent_child",
       "options: {%}\n" + pendulum("", "",
                                   ", children: [{name: b, position: [0, 0, -0.35], joint: {type: "
                                   "prismatic}, shape: {type: sphere, radius: 0.08}}]"),
       "", "collide_parent_child: true"},
      {"options/balance_inertia",
       "options: {%}\nbodies: [{name: a, joint: free, inertia: {mass: 1, moments: [1, 1, 9]}}]\n", "",
       "balance_inertia: true"},
      // pose
      {"pose/position", slide("pose"), "", "5"},
      {"pose/quat", slide("body"), "", "    quat: [1, 0.1, 0, 0]\n"},
      {"pose/rpy", slide("body"), "", "    rpy: [0.1, 0, 0]\n"},
      {"pose/rpy_deg", slide("body"), "", "    rpy_deg: [10, 0, 0]\n"},
      {"pose/axis", slide("body"), "    angle: 0.1\n    axis: [1, 0, 0]\n",
       "    angle: 0.1\n    axis: [0, 1, 0]\n"},
      {"pose/angle", slide("body"), "    angle: 0.1\n    axis: [1, 0, 0]\n",
       "    angle: 0.2\n    axis: [1, 0, 0]\n"},
      {"pose/angle_deg", slide("body"), "    angle_deg: 3\n    axis: [1, 0, 0]\n",
       "    angle_deg: 9\n    axis: [1, 0, 0]\n"},
      {"pose/z_axis", slide("body"), "", "    z_axis: [0.1, 0, 1]\n"},
      // bodies
      {"bodies (and children)/parent",
       "bodies: [{name: t, position: [0, 0, 2]}, {name: a, %joint: free, shape: {type: sphere, radius: "
       "0.1}}]\nshapes: [{type: half_space}]\n",
       "", "parent: t, "},
      {"bodies (and children)/joint", other_joint("%"), "type: revolute", "type: prismatic"},
      {"bodies (and children)/joints",
       "bodies: [{name: a, joints: [{type: prismatic}%], shape: {type: box, size: [0.1, 0.1, 0.4], position: "
       "[0.2, 0, 0]}}]\n",
       "", ", {type: revolute, axis: [0, 1, 0]}"},
      {"bodies (and children)/inertia", slide("body"), "",
       "    inertia: {mass: 3, moments: [0.1, 0.1, 0.1]}\n"},
      {"bodies (and children)/mass", slide("body"), "", "    mass: 7\n"},
      {"bodies (and children)/shape", slide("shapes"), "shape: {type: sphere, radius: 0.05}",
       "shape: {type: box, size: [0.1, 0.1, 0.1]}"},
      {"bodies (and children)/shapes", slide("shapes"), "shapes: [{type: sphere, radius: 0.05}]",
       "shapes: [{type: box, size: [0.1, 0.1, 0.1]}]"},
      {"bodies (and children)/mocap",
       "bodies: [{name: a, position: [0, 0, 2], %shape: {type: sphere, radius: 0.1}}]\n", "joint: free, ",
       "mocap: true, "},
      {"bodies (and children)/gravity_compensated", slide("body"), "", "    gravity_compensated: true\n"},
      {"bodies (and children)/children", pendulum("", "", "%"), "",
       ", children: [{name: b, shape: {type: sphere, radius: 0.1}}]"},
      // inertia
      {"inertia/mass", pendulum("", "", ", inertia: {moments: [1, 1, 1], com: [0.1, 0, 0], mass: %}"), "1",
       "2"},
      {"inertia/com", pendulum("", "", ", inertia: {moments: [1, 1, 1], mass: 1, com: [%, 0, 0]}"), "0.1",
       "0.2"},
      {"inertia/moments", pendulum("", "", ", inertia: {mass: 1, com: [0.1, 0, 0], moments: [1, %, 1]}"), "1",
       "2"},
      {"inertia/products",
       other_joint("type: ball, initial_velocity: [1, 2, 3]}, inertia: {mass: 1, com: [0.1, 0, 0], moments: "
                   "[1, 1, 1]%"),
       "", ", products: [0.1, 0, 0]"},
      {"inertia/matrix",
       pendulum("", "", ", inertia: {mass: 1, com: [0.1, 0, 0], matrix: [[1, 0, 0], [0, %, 0], [0, 0, 1]]}"),
       "1", "2"},
      {"inertia/quat", pendulum("", "", ", inertia: {mass: 1, com: [0.1, 0, 0], moments: [1, 2, 2]%}"), "",
       ", quat: [1, 0, 0, 1]"},
      {"inertia/rpy", pendulum("", "", ", inertia: {mass: 1, com: [0.1, 0, 0], moments: [1, 2, 2]%}"), "",
       ", rpy: [0, 0, 1]"},
      // joint
      {"joint/type", other_joint("%"), "type: revolute", "type: ball"},
      {"joint/position", pendulum("%"), "", ", position: [0.1, 0, 0]"},
      {"joint/axis", other_joint("type: revolute%"), ", axis: [0, 1, 0]", ", axis: [1, 0, 0]"},
      {"joint/axis2", other_joint("type: universal, axis: [0, 1, 0]%"), "", ", axis2: [1, 0, 1]"},
      {"joint/pitch", other_joint("type: screw, pitch: %"), "0.1", "0.2"},
      {"joint/reference", pendulum("%"), "", ", reference: 0.3"},
      {"joint/reference_deg", pendulum("%"), "", ", reference_deg: 3"},
      {"joint/stiffness", pendulum("%"), "", ", stiffness: 20"},
      {"joint/spring_reference", pendulum(", stiffness: 20%"), "", ", spring_reference: 0.3"},
      {"joint/spring_reference_deg", pendulum(", stiffness: 20%"), "", ", spring_reference_deg: 3"},
      {"joint/damping", pendulum("%"), "", ", damping: 2"},
      {"joint/dry_friction", pendulum("%"), "", ", dry_friction: 0.2"},
      {"joint/rotor_inertia", pendulum("%"), "", ", rotor_inertia: 1"},
      {"joint/limits", pendulum("%"), "", ", limits: [-1, -0.1]"},
      {"joint/limit_solref", pendulum(", limits: [-1, -0.1]%"), "", ", limit_solref: [0.1, 1]"},
      {"joint/limit_solimp", pendulum(", limits: [-1, -0.1]%"), "", ", limit_solimp: [0.5, 0.5]"},
      {"joint/limits_deg", pendulum("%"), "", ", limits_deg: [-90, -3]"},
      {"joint/effort_limit", pendulum("%", "actuators: [{type: torque, joint: a, control: 5}]\n"), "",
       ", effort_limit: 2"},
      {"joint/velocity_limit", pendulum("%"), "", ", velocity_limit: 0.001"},
      {"joint/initial", pendulum("%"), "", ", initial: 0.1"},
      {"joint/initial_deg", pendulum("%"), "", ", initial_deg: 3"},
      {"joint/initial_velocity", pendulum("%"), "", ", initial_velocity: 1"},
      // shapes
      {"shapes/type", drop("{type: %, radius: 0.1}"), "sphere", "capsule, length: 0.1"},
      {"shapes/body",
       "bodies: [{name: a, joint: free, shape: {type: sphere, radius: 0.1}}]\nshapes: [{type: box, size: "
       "[0.1, 0.1, 0.1]%}]\n",
       "", ", body: a"},
      {"shapes/radius", drop("{type: sphere, radius: %}"), "0.1", "0.09"},
      {"shapes/size", drop("{type: box, size: [0.1, 0.1, %]}"), "0.2", "0.19"},
      {"shapes/length", drop("{type: capsule, radius: 0.05, length: %}"), "0.1", "0.09"},
      {"shapes/from", drop("{type: capsule, radius: 0.05, to: [0, 0, 0.1], from: [0, 0, %]}"), "0", "-0.1"},
      {"shapes/to", drop("{type: capsule, radius: 0.05, from: [0, 0, -0.05], to: [0, %, 0.1]}"), "0", "0.1"},
      {"shapes/radii", drop("{type: ellipsoid, radii: [0.1, 0.1, %]}"), "0.1", "0.09"},
      {"shapes/file", drop("{type: mesh, scale: 0.1, file: %}"), "wedge.obj", "wedge2.obj"},
      {"shapes/scale", drop(mesh + ", scale: %}"), "0.1", "0.2"},
      {"shapes/kind", drop(mesh + ", scale: 0.1, kind: %}"), "convex", "signed_distance"},
      {"shapes/heights",
       drop("{type: sphere, radius: 0.1}",
            "{type: height_field, size: [2, 2], base: 1, heights: [[0, 0], [0, %]]}"),
       "0", "0.5"},
      {"shapes/material", slide("ground"), ", material: m", ""},
      {"shapes/density", slide("shape"), "", ", density: 4000"},
      {"shapes/mass", slide("shape"), "", ", mass: 4"},
      {"shapes/visual", slide("ground"), "", ", visual: true"},
      {"shapes/collides", slide("ground"), "", ", collides: false"},
      {"shapes/has_mass", pendulum("", "shapes: [{type: box, body: a, size: [0.1, 0.3, 0.1]%}]\n"), "",
       ", has_mass: false"},
      {"shapes/group_bits", slide("ground"), ", mask_bits: 0", ", mask_bits: 0, group_bits: 2"},
      {"shapes/mask_bits", slide("ground"), ", group_bits: 2", ", group_bits: 2, mask_bits: 2"},
      {"shapes/margin", lagged(slide("ground")), "", ", margin: 0.01"},
      {"shapes/surface_velocity", slide("ground"), "", ", surface_velocity: [1, 0, 0]"},
      {"shapes/surface_spin", slide("ground"), "", ", surface_spin: [0, 0, 3]"},
      {"shapes/contact", patch_slide("box, size: [0.1, 0.1, 0.1]"), "", ", contact: point"},
      {"shapes/patch_rings", patch_slide("sphere, radius: 0.05"), "", ", patch_rings: 6"},
      {"shapes/patch_points", patch_slide("sphere, radius: 0.05"), "", ", patch_points: 6"},
      {"shapes/thickness",
       "materials: [{name: default, contact: patch}]\n" +
           drop("{type: box, size: [0.2, 0.2, 0.2]}", "{type: half_space%}"),
       "", ", thickness: 0.01"},
      {"shapes/tets", patch_slide("mesh, file: cube.obj, kind: signed_distance, resolution: 16"), "",
       ", tets: cube.vtk"},
      // materials
      {"materials/stiffness", slide("material"), "", ", stiffness: 1e5"},
      {"materials/stiffness_per_kilogram", slide("material"), "", ", stiffness_per_kilogram: 1e5"},
      {"materials/dissipation", slide("material"), "", ", dissipation: 5"},
      {"materials/relaxation_time",
       "options: {normal_law: kelvin_voigt}\n" +
           slide("material").substr(slide("material").find("materials:")),
       "", ", relaxation_time: 0.1"},
      {"materials/friction", slide("material"), "", ", friction: 0.1"},
      {"materials/friction_tensor", slide("material"), "", ", friction_tensor: {along: 0.1, across: 0.7}"},
      {"materials/torsional_friction", slide("material"), "", ", torsional_friction: 0.01"},
      {"materials/rolling_friction", slide("material"), "", ", rolling_friction: 0.01"},
      {"materials/stiction_tolerance", slide("material"), "", ", stiction_tolerance: 0.01"},
      {"materials/restitution", "materials: [{name: default%}]\n" + drop("{type: sphere, radius: 0.1}"), "",
       ", restitution: 0.5"},
      {"materials/restitution_threshold",
       "materials: [{name: default, restitution: 0.5%}]\n" + drop("{type: sphere, radius: 0.1}"), "",
       ", restitution_threshold: 10"},
      {"materials/contact", slide("material"), "", ", contact: patch"},
      {"materials/elastic_modulus", slide("material"), ", contact: patch",
       ", contact: patch, elastic_modulus: 1e5"},
      // models
      {"models/file", "models: [{name: x, file: %}]\n", "ball.yaml", "box.yaml"},
      {"models/parent",
       "bodies: [{name: t, position: [0, 0, 2]}]\nmodels: [{name: x, file: ball.yaml%}]\nshapes: [{type: "
       "half_space, position: [0, 0, -0.2]}]\n",
       "", ", parent: t"},
      {"models/joint", "models: [{name: x, file: ball.yaml%}]\n", "", ", joint: weld"},
      {"models/keyframe", "models: [{name: x, file: swing.yaml%}]\n", "", ", keyframe: up"},
      {"models/initial", "models: [{name: x, file: swing.yaml%}]\n", "", ", initial: {q: {a: 1}}"},
      {"models/repeat", "models: [{name: x, file: ball.yaml%}]\n", "",
       ", repeat: {count: 2, spacing: [1, 0, 0]}"},
      {"models/use_options", "models: [{name: x, file: ball.yaml%}]\n", "", ", use_options: true"},
      // tendons
      {"tendons/joints", two("tendons: [{name: t, stiffness: 5, joints: {a: 1, b: %}}]\n"), "1", "2"},
      {"tendons/stiffness", two("tendons: [{name: t, joints: {a: 1, b: 1}%}]\n"), "", ", stiffness: 5"},
      {"tendons/damping", two("tendons: [{name: t, joints: {a: 1}%}]\n"), "", ", damping: 5"},
      {"tendons/dry_friction", two("tendons: [{name: t, joints: {a: 1, b: 1}%}]\n"), "",
       ", dry_friction: 0.3"},
      {"tendons/rotor_inertia", two("tendons: [{name: t, joints: {a: 1}%}]\n"), "", ", rotor_inertia: 1"},
      {"tendons/spring_rest", two("tendons: [{name: t, joints: {a: 1, b: 1}, stiffness: 5%}]\n"), "",
       ", spring_rest: 0.5"},
      {"tendons/limits", two("tendons: [{name: t, joints: {a: 1, b: 1}%}]\n"), "", ", limits: [0.3, 1]"},
      {"tendons/path", strung("path: [{site: top}, {site: %}]"), "low", "mid"},
      {"path of a tendon/site", strung("path: [{site: top}, {site: %}]"), "low", "mid"},
      {"path of a tendon/wrap", strung("path: [{site: top}, {wrap: %}, {site: low}]"), "knob", "knob2"},
      {"path of a tendon/side", strung("path: [{site: top}, {wrap: knob%}, {site: low}]"), "",
       ", side: away"},
      {"path of a tendon/pulley",
       strung("path: [{site: top}, {site: mid}, {pulley: %}, {site: top}, {site: low}]"), "1", "2"},
      // actuators
      {"actuators/type", actuator("joint: a, damping: 2, target: 1, type: %"), "velocity",
       "pd, stiffness: 9"},
      {"actuators/joint", two("actuators: [{type: torque, control: 1, joint: %}]\n"), "a", "b"},
      {"actuators/site",
       two("sites: [{name: s, body: a, position: [0, 0, -0.4]}, {name: t, body: b, position: [0, 0, "
           "-0.2]}]\nactuators: [{type: torque, control: 1, site: %}]\n"),
       "s", "t"},
      {"actuators/tendon",
       two("tendons: [{name: t, joints: {a: 1}}, {name: u, joints: {b: 1}}]\nactuators: [{type: torque, "
           "control: 1, tendon: %}]\n"),
       "t", "u"},
      {"actuators/stiffness", actuator("joint: a, type: pd, target: 1, stiffness: %"), "5", "6"},
      {"actuators/damping", actuator("joint: a, type: pd, stiffness: 5, target: 1%"), "", ", damping: 1"},
      {"actuators/target", actuator("joint: a, type: pd, stiffness: 5%"), "", ", target: 1"},
      {"actuators/target_deg", actuator("joint: a, type: pd, stiffness: 5%"), "", ", target_deg: 9"},
      {"actuators/control", actuator("joint: a, type: torque%"), "", ", control: 1"},
      {"actuators/gain", actuator("joint: a, type: general, control: 1%"), "", ", gain: 3"},
      {"actuators/bias", actuator("joint: a, type: general, control: 1%"), "", ", bias: [1, 0, 0]"},
      {"actuators/gain_slope", actuator("joint: a, type: general, control: 1%"), "", ", gain_slope: [0, -2]"},
      {"actuators/activation", actuator("joint: a, type: torque, control: 1%"), "",
       ", activation: {type: filter, time_constant: 0.1}"},
      {"activation of an actuator/type",
       actuator("joint: a, type: torque, control: 1, activation: {type: %, time_constant: 0.1}"), "filter",
       "filter_exact"},
      {"activation of an actuator/time_constant",
       actuator("joint: a, type: torque, control: 1, activation: {type: filter, time_constant: %}"), "0.1",
       "0.2"},
      {"activation of an actuator/time_constant_off",
       actuator(
           "joint: a, type: torque, control: 0, activation: {type: muscle, time_constant: 0.1, start: 1%}"),
       "", ", time_constant_off: 0.1"},
      {"activation of an actuator/smoothing",
       actuator("joint: a, type: torque, control: 0.1, activation: {type: muscle, time_constant: 0.1%}"), "",
       ", smoothing: 0.5"},
      {"activation of an actuator/range",
       actuator("joint: a, type: torque, control: 1, activation: {type: integrator%}"), "",
       ", range: [0, 0.1]"},
      {"activation of an actuator/start",
       actuator("joint: a, type: torque, control: 1, activation: {type: integrator%}"), "", ", start: 0.1"},
      {"actuators/muscle", muscle("force: %"), "5", "6"},
      {"muscle of an actuator/force", muscle("force: %"), "5", "6"},
      {"muscle of an actuator/length_range",
       actuator("joint: a, type: muscle, control: 0.5, muscle: {force: 5, length_range: %}"), "[-1, 1]",
       "[-1.1, 1]"},
      {"muscle of an actuator/operating", muscle("force: 5%"), "", ", operating: [0.8, 1.2]"},
      {"muscle of an actuator/shortest", muscle("force: 5%"), "", ", shortest: 0.6"},
      {"muscle of an actuator/longest", muscle("force: 5, operating: [1.1, 1.4]%"), "", ", longest: 1.5"},
      {"muscle of an actuator/fastest", muscle("force: 5%"), "", ", fastest: 1"},
      {"muscle of an actuator/lengthening", muscle("force: 5, operating: [1.1, 1.4]%"), "",
       ", lengthening: 1.4"},
      {"muscle of an actuator/passive", muscle("force: 5, operating: [1.1, 1.4]%"), "", ", passive: 1"},
      {"actuators/gear", actuator("joint: a, type: torque, control: 1%"), "", ", gear: 2"},
      {"actuators/effort_limit", actuator("joint: a, type: torque, control: 5%"), "", ", effort_limit: 1"},
      {"actuators/force_range", actuator("joint: a, type: torque, control: 5%"), "",
       ", force_range: [-1, 1]"},
      {"actuators/control_range", actuator("joint: a, type: torque, control: 5%"), "",
       ", control_range: [-1, 1]"},
      // constraints
      {"constraints/type", ball_tether + "body_a: a, point_a: [0.3, 0, 0], type: %}]\n", "ball", "weld"},
      {"constraints/body_a", two("constraints: [{type: weld, body_a: %}]\n"), "a", "b"},
      {"constraints/body_b", two("constraints: [{type: weld, body_a: a%}]\n"), "", ", body_b: b"},
      {"constraints/point_a", ball_tether + "body_a: a, type: ball, point_a: [%, 0, 0]}]\n", "0.3", "0.2"},
      {"constraints/point_b", ball_tether + "body_a: a, type: ball, point_a: [0.3, 0, 0]%}]\n", "",
       ", point_b: [0.35, 0, 1]"},
      {"constraints/pose_a",
       ball_tether + "body_a: a, type: weld, pose_b: {position: [0, 0, 1]}, pose_a: {rpy: [%, 0, 0]}}]\n",
       "0", "0.1"},
      {"constraints/pose_b", ball_tether + "body_a: a, type: weld, pose_b: {position: [0, 0, %]}}]\n", "1",
       "1.1"},
      {"constraints/distance",
       ball_tether + "body_a: a, type: distance, point_a: [0, 0, 0], point_b: [0, 0, 0], distance: %}]\n",
       "1", "1.1"},
      {"constraints/joint_a", two("constraints: [{type: coupler, joint_a: %}]\n"), "a", "b"},
      {"constraints/joint_b", two("constraints: [{type: coupler, joint_a: a%}]\n"), "", ", joint_b: b"},
      {"constraints/multiplier", two("constraints: [{type: coupler, joint_a: a, joint_b: b%}]\n"), "",
       ", multiplier: 2"},
      {"constraints/offset", two("constraints: [{type: coupler, joint_a: a, joint_b: b%}]\n"), "",
       ", offset: 0.5"},
      {"constraints/polynomial", two("constraints: [{type: coupler, joint_a: a, joint_b: b%}]\n"), "",
       ", polynomial: [0, 3]"},
      {"constraints/stiffness", ball_tether + "body_a: a, type: ball, point_a: [0.3, 0, 0]%}]\n", "",
       ", stiffness: 100"},
      {"constraints/relaxation_time",
       ball_tether + "body_a: a, type: ball, point_a: [0.3, 0, 0], stiffness: 100%}]\n", "",
       ", relaxation_time: 0.2"},
      {"constraints/solref", ball_tether + "body_a: a, type: ball, point_a: [0.3, 0, 0]%}]\n", "",
       ", solref: [0.1, 1]"},
      {"constraints/solimp", ball_tether + "body_a: a, type: ball, point_a: [0.3, 0, 0]%}]\n", "",
       ", solimp: [0.5, 0.5]"},
      {"constraints/active", ball_tether + "body_a: a, type: ball, point_a: [0.3, 0, 0]%}]\n", "",
       ", active: false"},
      // keyframes and initial
      {"keyframes and initial/time", pendulum("", "initial: {%}\n"), "", "time: 2"},
      {"keyframes and initial/q", pendulum("", "initial: {%}\n"), "", "q: {a: 1}"},
      {"keyframes and initial/q_deg", pendulum("", "initial: {%}\n"), "", "q_deg: {a: 9}"},
      {"keyframes and initial/v", pendulum("", "initial: {%}\n"), "", "v: {a: 1}"},
      {"keyframes and initial/control", pendulum("", "actuators: [{type: torque, joint: a}]\ninitial: {%}\n"),
       "", "control: {a: 1}"},
      {"keyframes and initial/activation",
       pendulum("", "actuators: [{type: torque, joint: a, activation: {type: integrator}}]\ninitial: {%}\n"),
       "", "activation: {a: 1}"},
  };
}

// What is not simulated and not meant to be, or is each of the keys within it.
inline const std::map<std::string, std::string> kNotSimulated = {
    {"The file/capstan", "the version"},
    {"The file/name", "a name"},
    {"The file/extra", "for other programs"},
    {"The file/materials", "a list"},
    {"The file/pairs", "a list"},
    {"The file/bodies", "a list"},
    {"The file/shapes", "a list"},
    {"The file/sites", "named frames, for programs"},
    {"The file/models", "a list"},
    {"The file/tendons", "a list"},
    {"The file/actuators", "a list"},
    {"The file/constraints", "a list"},
    {"The file/excludes", "a list"},
    {"The file/keyframes", "starts to choose from"},
    {"The file/controls", "for what calls step(): step/schedule_test.cc"},
    {"The file/sensors", "what is measured: step/sensors_test.cc"},
    {"The file/options", "a map"},
    {"options/duration", "how long a run lasts"},
    {"options/magnetic_field", "what is measured: step/sensors_test.cc"},
    {"bodies (and children)/name", "a name"},
    {"bodies (and children)/sites", "named frames, for programs"},
    {"joint/name", "a name"},
    {"shapes/name", "a name"},
    {"shapes/color", "drawn"},
    {"shapes/resolution",
     "how finely a distance grid is sampled: on the flat faces of a wedge nothing changes"},
    {"shapes/base", "how thick the ground is; what has sunk below it is rare"},
    {"materials/name", "a name"},
    {"models/name", "a name"},
    {"tendons/name", "a name"},
    {"actuators/name", "a name"},
    {"constraints/name", "a name"},
    {"keyframes and initial/name", "a name"},
    {"soft_bodies/attach", "io/yaml_soft_bodies_test.cc"},
    {"soft_bodies/body", "io/yaml_soft_bodies_test.cc"},
    {"soft_bodies/cell", "io/fill_surface_test.cc"},
    {"soft_bodies/color", "is drawn"},
    {"soft_bodies/file", "io/yaml_soft_bodies_test.cc"},
    {"soft_bodies/margin", "io/yaml_soft_bodies_test.cc"},
    {"soft_bodies/material", "io/yaml_soft_bodies_test.cc"},
    {"soft_bodies/mesh", "io/yaml_soft_bodies_test.cc"},
    {"soft_bodies/name", "a name"},
    {"soft_bodies/scale", "io/yaml_soft_bodies_test.cc"},
    {"soft_bodies/self_contact", "io/yaml_soft_bodies_test.cc"},
    {"rods/actuated", "step/rod_actuation_test.cc"},
    {"rods/angles", "io/yaml_rods_test.cc"},
    {"rods/arc", "io/yaml_rods_test.cc"},
    {"rods/attach", "step/rod_attachment_test.cc"},
    {"rods/body", "io/yaml_rods_test.cc"},
    {"rods/circle", "io/yaml_rods_test.cc"},
    {"rods/closed", "io/yaml_rods_test.cc"},
    {"rods/color", "is drawn"},
    {"rods/director", "io/yaml_rods_test.cc"},
    {"rods/file", "io/yaml_rods_test.cc"},
    {"rods/fixed_angles", "io/yaml_rods_test.cc"},
    {"rods/helix", "io/yaml_rods_test.cc"},
    {"rods/margin", "io/yaml_rods_test.cc"},
    {"rods/material", "io/yaml_rods_test.cc"},
    {"rods/name", "a name"},
    {"rods/points", "io/yaml_rods_test.cc"},
    {"rods/poisson_ratio", "io/yaml_rods_test.cc"},
    {"rods/shear_modulus", "io/yaml_rods_test.cc"},
    {"rods/rest", "io/yaml_rods_test.cc"},
    {"rods/rest_lengths", "io/yaml_rods_test.cc"},
    {"rods/section", "io/yaml_rods_test.cc"},
    {"controls/time", "step/schedule_test.cc"},
    {"controls/interpolate", "step/schedule_test.cc"},
    {"controls/keyframe", "step/schedule_test.cc"},
    {"controls/control", "step/schedule_test.cc"},
    {"controls/force", "step/schedule_test.cc"},
    {"controls/surface", "step/schedule_test.cc"},
    {"sensors/name", "step/sensors_test.cc"},
    {"sensors/type", "step/sensors_test.cc"},
    {"sensors/joint", "step/sensors_test.cc"},
    {"sensors/tendon", "step/sensors_test.cc"},
    {"sensors/shape", "step/sensors_test.cc"},
    {"sensors/at_com", "step/sensors_test.cc"},
    {"sensors/relative_site", "step/sensors_test.cc"},
    {"sensors/relative_body", "step/sensors_test.cc"},
    {"sensors/other_body", "step/sensors_test.cc"},
    {"sensors/other_shape", "step/sensors_test.cc"},
    {"sensors/cutoff", "step/sensors_test.cc"},
    {"sensors/actuator", "step/sensors_test.cc"},
    {"sensors/site", "step/sensors_test.cc"},
    {"sensors/body", "step/sensors_test.cc"},
};

}  // namespace capstan::test
