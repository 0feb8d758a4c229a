// Soft bodies in scene files: what is read, what is told of mistakes, mesh files, and scenes written and read
// again.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "capstan/io/read.h"
#include "capstan/io/tet_file.h"
#include "capstan/io/write_yaml.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/model/model.h"
#include "capstan/scene/soft_body.h"
#include "capstan/step/examine.h"
#include "capstan/step/mechanics.h"
#include "capstan/step/schedule.h"
#include "capstan/step/sensors.h"

namespace capstan::yaml_soft_bodies_test {
namespace {

Scene read(const std::string& text, Diagnostics* diagnostics) {
  return read_yaml_text("capstan: 1\n" + text, {}, diagnostics);
}

const char* const kBlock = R"(bodies:
  - {name: hand, position: [0, 0, 1], joint: free, shape: {type: sphere, radius: 0.1}}
soft_bodies:
  - name: pad
    box: {size: [0.1, 0.2, 0.3], cells: [1, 2, 3]}
    position: [1, 2, 3]
    element: quadratic
    elasticity: neo_hookean
    mass: consistent
    young_modulus: 1e5
    poisson_ratio: 0.45
    density: 900
    damping: {alpha: 0.5, beta: 0.01}
    fixed: [{box: {centre: [0, 0, -0.15], size: [1, 1, 0.01]}}, {ball: {radius: 0.01}}]
    attach: [{body: hand, ball: {centre: [0, 0, 0.15], radius: 0.2}, stiffness: 1e4}]
    velocity: [1, 0, 0]
    angular_velocity: [0, 0, 2]
    margin: 0.001
    color: [1, 0, 0]
)";

TEST(YamlSoftBodies, ReadsEveryKey) {
  Diagnostics diagnostics;
  const Scene scene = read(kBlock, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  ASSERT_EQ(scene.soft_bodies.size(), 1u);
  const SoftBodySpec& body = scene.soft_bodies[0];
  EXPECT_EQ(body.name, "pad");
  EXPECT_EQ(body.mesh->tets.size(), 30u);
  EXPECT_EQ(body.pose.position, Vec3(1, 2, 3));
  EXPECT_EQ(body.element, SoftElement::quadratic);
  EXPECT_EQ(body.elasticity, Elasticity::neo_hookean);
  EXPECT_FALSE(body.lumped_mass);
  EXPECT_EQ(body.young_modulus, 1e5);
  EXPECT_EQ(body.poisson_ratio, 0.45);
  EXPECT_EQ(body.density, 900);
  EXPECT_EQ(body.alpha, 0.5);
  EXPECT_EQ(body.beta, 0.01);
  ASSERT_EQ(body.fixed.size(), 2u);
  EXPECT_EQ(body.fixed[0].half_size, Vec3(0.5, 0.5, 0.005));
  EXPECT_TRUE(body.fixed[1].is_ball);
  ASSERT_EQ(body.attachments.size(), 1u);
  EXPECT_EQ(body.attachments[0].body, "hand");
  EXPECT_EQ(body.attachments[0].stiffness, 1e4);
  EXPECT_EQ(body.velocity, Vec3(1, 0, 0));
  EXPECT_EQ(body.angular_velocity, Vec3(0, 0, 2));
  EXPECT_EQ(body.margin, 0.001);
  EXPECT_EQ(body.rgba[0], 1.0f);
  const Model model = compile(scene);
  EXPECT_EQ(find_soft_bodies(model).size(), 1u);
  EXPECT_EQ(soft_body_name(model, find_soft_bodies(model)[0]), "pad");
  EXPECT_FALSE(model.constraints.empty());
}

TEST(YamlSoftBodies, WhatIsWrittenIsReadAgain) {
  Diagnostics diagnostics;
  const Scene scene = read(kBlock, &diagnostics);
  const Scene again = read_yaml_text(write_yaml(scene), {}, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  EXPECT_EQ(compile(again).fingerprint, compile(scene).fingerprint);
  EXPECT_EQ(write_yaml(again), write_yaml(scene));
}

TEST(YamlSoftBodies, TellsMistakesWithTheirLine) {
  const auto told = [](const std::string& keys) {
    Diagnostics diagnostics;
    const Scene scene =
        read("soft_bodies:\n  - name: pad\n    young_modulus: 1e5\n    density: 1000\n    " + keys + "\n",
             &diagnostics);
    if (diagnostics.ok()) compile(scene, &diagnostics);
    return diagnostics.text();
  };
  const auto has = [&](const std::string& keys, const std::string& what) {
    const std::string text = told(keys);
    EXPECT_NE(text.find(what), std::string::npos) << keys << "\n" << text;
  };
  EXPECT_EQ(told("box: {size: [1, 1, 1]}"), "");
  has("element: linear", "soft body 'pad' has no mesh");
  has("box: {size: [1, 1, 1]}\n    poisson_ratio: 0.5", "Poisson ratio is 0.5");
  has("box: {size: [1, -1, 1]}", "size");
  has("box: {}", "has no size");
  has("box: {size: [1, 1, 1], cells: [1, 2]}", "cells");
  has("box: {size: [1, 1, 1], cells: [1.5, 2, 2]}", "whole numbers");
  has("box: {size: [1, 1, 1], cell: 1e-3}", "5e+09 tets");
  has("ball: {radius: 1}\n    box: {size: [1, 1, 1]}", "box");
  has("ball: {radius: 1}\n    attach: [{body: hand, ball: {radius: 1}}]", "'hand'");
  has("ball: {radius: 1}\n    attach: [{ball: {radius: 1}}]", "is to nothing");
  has("ball: {radius: 1}\n    fixed: [{}]", "has no region");
  has("ball: {radius: 1}\n    fixed: [{ball: {radius: 0.1, centre: [5, 0, 0]}}]", "has no nodes");
  has("ball: {radius: 1}\n    elasticity: rubber", "neo_hookean");
  has("ball: {radius: 1}\n    young: 3", "young");
  has("file: part.stl", "part.stl");
  has("file: part.png", "the surface of the solid (.stl, .obj)");
  has("file: part.msh", "part.msh");
  has("mesh: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 0]], tets: [[0, 1, 2, 3]]}", "is flat");
  has("mesh: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, -1]], tets: [[0, 1, 2, 3]]}", "is inverted");
  has("mesh: {vertices: [[0, 0, 0]], tets: [[0, 1, 2, 3]]}", "vertex 1 of 1");
  const std::string corners =
      "mesh: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [2, 2, 2]], tets: ";
  has(corners + "[[0, 1, 2, 3], [0, 1, 2, 3]]}", "tets 0 and 1 of soft body 'pad' overlap");
  has(corners + "[[0, 1, 2, 3], [1, 2, 0, 4]]}", "tets 0 and 1 of soft body 'pad' overlap");
  has(corners + "[[0, 1, 2, 3]]}", "vertex 4 of soft body 'pad' belongs to no tet");
  EXPECT_NE(told("box: {}").find(":6:"), std::string::npos) << told("box: {}");
  has("ball: {radius: 1, inner_radius: 2}", "write a smaller one");
  has("ball: {radius: 1}\n    pressure: 100",
      ":7: error: soft body 'pad' has pressure 100 Pa, and no cavity");
  // The line of the key, what may be written instead, and nothing that is not so.
  has("ball: {radius: 1}\n    poisson_ratio: 0.5", ":7: error");
  has("ball: {radius: 1}\n    material: gum", ":7: error");
  has("mesh: {vertices: [[0, 0, 0]], tets: [[0, 1, 2, 3]]}", "from 0 to 0");
  has("ball: {radius: 1}\n    attach: [{body: earth, ball: {radius: 1}}]", "known are: world");
  has("ball: {radius: 1}\n    attach: [{body: pad/0, ball: {radius: 1}}]", "a part of itself");
  has("ball: {radius: 1}\n    fixed: [{ball: {radius: 0.1, centre: [5, 0, 0]}}]",
      "from (-1, -1, -1) to (1, 1, 1)");
  EXPECT_EQ(told("box: {size: [1, -1, 1], cells: [2, 2, 2]}").find("unknown"), std::string::npos);
}

// What is wrong with a soft body is told once; what names its nodes is not wrong for that.
TEST(YamlSoftBodies, ToldOnceIsEnough) {
  for (const char* wrong :
       {"box: {size: [1, -1, 1], cells: [2, 2, 2]}, young_modulus: 1e5, density: 1000",
        "box: {size: [1, 1, 1]}, young_modulus: -1, density: 1000",
        "box: {size: [1, 1, 1]}, young_modulus: 1e5",
        "box: {size: [1, 1, 1]}, young_modulus: 1e5, density: 1000, poisson_ratio: 0.6"}) {
    Diagnostics diagnostics;
    const Scene scene = read(std::string("soft_bodies: [{name: pad, ") + wrong +
                                 "}]\nsites: [{name: tip, body: pad/0}]\n"
                                 "sensors: [{type: frame_position, body: pad/1}]\n"
                                 "controls: [{time: 0, force: {pad/2: [0, 0, 1]}}]\n",
                             &diagnostics);
    compile(scene, &diagnostics);  // as `capstan check` does
    EXPECT_EQ(diagnostics.num_errors(), 1) << diagnostics.text();
  }
}

// pad/7 is a body for sites, sensors and forces: node 7, which is at (0.1, 0.2, 0.3) of a box of one cell.
TEST(YamlSoftBodies, NodesAreBodiesForSitesSensorsAndForces) {
  Diagnostics diagnostics;
  const Scene scene = read(R"(options: {dt: 0.01, gravity: [0, 0, 0]}
soft_bodies:
  - {name: pad, box: {size: [0.2, 0.4, 0.6], cells: [1, 1, 1]}, young_modulus: 1e6, density: 1000}
sites: [{name: above, body: pad/7, position: [0, 0, 0.05]}]
sensors:
  - {name: p, type: frame_position, site: above}
  - {name: v, type: frame_velocity, body: pad/7}
controls: [{time: 0, force: {pad/7: [0, 0, 4.8]}}]
)",
                           &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const Model model = compile(scene);
  const Schedule schedule = make_schedule(model, scene.controls, &diagnostics);
  const SensorSet sensors = make_sensors(model, scene, scene.sensors, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  Input input;
  VecX values;
  read_sensors(model, sensors, state, nullptr, nullptr, &values);
  EXPECT_LT((values.head<3>() - Vec3(0.1, 0.2, 0.35)).norm(), 1e-12);
  for (int i = 0; i < 10; ++i) {
    apply_schedule(model, schedule, 0.01, &state, &input);
    step(model, step_options(model), input, &state, &workspace);
  }
  read_sensors(model, sensors, state, &workspace, &input, &values);
  EXPECT_NEAR(values[2] - 0.05, state.q[3 * 7 + 2], 1e-12);
  EXPECT_NEAR(values[5], state.v[3 * 7 + 2], 1e-12);
  EXPECT_NEAR(calc_mechanics(model, state).momentum[5], 4.8 * 0.1, 1e-9);  // of 48 kg
}

// Node 13 of 27 is inside; node 30 is not there. Both are told as such, wherever they are named.
TEST(YamlSoftBodies, TellsOfNodesThatAreNoBodies) {
  const auto told = [](const std::string& more) {
    Diagnostics diagnostics;
    const Scene scene = read(
        "soft_bodies: [{name: gel, box: {size: [1, 1, 1], cells: [2, 2, 2]}, density: 1000, young_modulus: "
        "1e5}]\n" +
            more,
        &diagnostics);
    compile(scene, &diagnostics);
    return diagnostics.text();
  };
  for (const char* more :
       {"sites: [{name: tip, body: gel/13}]\n", "sensors: [{type: frame_position, body: gel/13}]\n",
        "controls: [{time: 0, force: {gel/13: [0, 0, 1]}}]\n"}) {
    const std::string text = told(more);
    EXPECT_NE(text.find("node 13 is inside soft body 'gel'"), std::string::npos) << text;
    EXPECT_NE(text.find("the nearest of those is 'gel/4'"), std::string::npos) << text;
  }
  const std::string text = told("sites: [{name: tip, body: gel/30}]\n");
  EXPECT_NE(text.find("soft body 'gel' has no node 30; its nodes are 0 to 26"), std::string::npos) << text;
  EXPECT_EQ(told("sites: [{name: tip, body: gel/12}]\n"), "");
}

// Edges are there where something may touch them.
TEST(YamlSoftBodies, SelfContactAndOtherBodiesMakeEdges) {
  const auto edges = [](const std::string& keys, const std::string& more) {
    Diagnostics diagnostics;
    const std::string solid = ", box: {size: [1, 1, 1], cells: [1, 1, 1]}, density: 1000, young_modulus: 1e5";
    const Scene scene =
        read("soft_bodies: [{name: gel" + solid + keys + "}" +
                 (more.empty() ? "" : ", {name: other, position: [3, 0, 0]" + solid + more + "}") + "]\n",
             &diagnostics);
    EXPECT_EQ(diagnostics.text(), "");
    const Model model = compile(scene);
    EXPECT_EQ(model.objects[0].physics->touches_itself(), keys == ", self_contact: true");
    return soft_body_of(model, 0).edges().size();
  };
  EXPECT_EQ(edges("", ""), 0u);
  EXPECT_EQ(edges(", self_contact: true", ""), 18u);
  EXPECT_EQ(edges("", ", color: [1, 0, 0]"), 18u);
  EXPECT_EQ(edges("", ", group_bits: 2, mask_bits: 2"), 0u);
}

// One message for each pair of things, not for each pair of triangles.
TEST(YamlSoftBodies, OverlapsOfASoftBodyAreToldOnce) {
  Diagnostics diagnostics;
  const Scene scene = read(
      "shapes: [{type: plane, name: floor}]\nsoft_bodies: [{name: gel, box: {size: [1, 1, 1], cells: [3, 3, "
      "3]}, "
      "density: 1000, young_modulus: 1e5}]\n",
      &diagnostics);
  const Model model = compile(scene, &diagnostics);
  examine(scene, model, step_options(model), &diagnostics);
  EXPECT_EQ(diagnostics.num_warnings(), 1) << diagnostics.text();
  EXPECT_NE(diagnostics.text().find("and soft body 'gel' overlap in 28 places, by 0.5"), std::string::npos)
      << diagnostics.text();
}

TEST(YamlSoftBodies, CheckTellsWhatIsProbablyNotMeant) {
  const auto told = [](const std::string& keys, Integrator integrator) {
    Diagnostics diagnostics;
    const Scene scene = read(
        "soft_bodies: [{name: pad, box: {size: [1, 1, 1], cells: [2, 2, 2]}, density: 1000, " + keys + "}]\n",
        &diagnostics);
    const Model model = compile(scene, &diagnostics);
    StepOptions options = step_options(model);
    options.integrator = integrator;
    examine(scene, model, options, &diagnostics);
    return diagnostics.text();
  };
  const Integrator usual = Integrator::semi_implicit;
  EXPECT_EQ(told("young_modulus: 1e5", usual), "");
  EXPECT_NE(told("young_modulus: 1e5, fixed: [{ball: {radius: 9}}]", usual).find("it never moves"),
            std::string::npos);
  EXPECT_NE(told("young_modulus: 1e5, elasticity: saint_venant_kirchhoff", usual).find("turn inside out"),
            std::string::npos);
  Diagnostics blown;
  const Scene bubble = read(
      "soft_bodies: [{name: b, ball: {radius: 1, inner_radius: 0.9}, density: 1000, young_modulus: 1e5, "
      "pressure: 1e7}]\n",
      &blown);
  const Model model = compile(bubble, &blown);
  examine(bubble, model, step_options(model), &blown);
  EXPECT_NE(blown.text().find("no wall of it holds that"), std::string::npos) << blown.text();
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  std::string failure;
  try {
    for (int i = 0; i < 200; ++i) step(model, step_options(model), {}, &state, &workspace);
  } catch (const StepFailure& error) {
    failure = error.what();
  }
  EXPECT_TRUE(failure.empty() || failure.find("is blown up by its pressure") != std::string::npos) << failure;
  EXPECT_EQ(told("young_modulus: 1e5", Integrator::midpoint), "");
  EXPECT_NE(told("young_modulus: 1e9", Integrator::midpoint).find("may gain energy"), std::string::npos);
}

struct TemporaryFile {
  std::string path;
  TemporaryFile(const std::string& name, const std::string& text)
      : path((std::filesystem::temp_directory_path() / ("capstan_" + name)).string()) {
    std::ofstream(path) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

TEST(TetFile, ReadsMshVtkAndVtu) {
  const TemporaryFile old(
      "a.msh",
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n7 0 0 1\n"
      "9 5 5 5\n$EndNodes\n$Elements\n2\n1 2 2 0 1 1 2 3\n2 4 2 0 1 1 2 3 7\n$EndElements\n");
  const TemporaryFile recent(
      "b.msh",
      "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 7\n3 1 0 4\n1\n2\n3\n7\n0 0 0\n1 0 0\n"
      "0 1 0\n0 0 1\n$EndNodes\n$Elements\n2 2 1 2\n2 1 2 1\n1 1 2 3\n3 1 4 1\n2 1 2 3 7\n$EndElements\n");
  const TemporaryFile vtk(
      "c.vtk",
      "# vtk DataFile Version 3.0\na part\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0\n"
      "0 1 0 0 0 1\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n");
  const std::string head =
      "<VTKFile type=\"UnstructuredGrid\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
      "<UnstructuredGrid><Piece NumberOfPoints=\"4\" NumberOfCells=\"2\"><Points>\n";
  const std::string cells =
      "</Points><Cells><DataArray type=\"Int32\" Name=\"connectivity\" format=\"ascii\">0 1 2 0 1 2 3\n"
      "</DataArray><DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">3 7</DataArray>\n"
      "<DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">5 10</DataArray></Cells></Piece>\n"
      "</UnstructuredGrid></VTKFile>\n";
  const TemporaryFile vtu(
      "e.vtu", head +
                   "<DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">\n0 0 0 1 0 0\n"
                   "0 1 0 0 0 1</DataArray>" +
                   cells);
  // 48 bytes of float, after their number.
  const TemporaryFile packed("f.vtu",
                             head +
                                 "<DataArray type=\"Float32\" NumberOfComponents=\"3\" format=\"binary\">"
                                 "MAAAAAAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAAAAAAAAAAAAAAACAPw=="
                                 "</DataArray>" +
                                 cells);
  for (const std::string& path : {old.path, recent.path, vtk.path, vtu.path, packed.path}) {
    Diagnostics diagnostics;
    const auto mesh = read_tets(path, 2, {}, &diagnostics);
    ASSERT_TRUE(mesh) << diagnostics.text();
    EXPECT_EQ(mesh->vertices.size(), 4u);
    ASSERT_EQ(mesh->tets.size(), 1u);
    EXPECT_NEAR(tet_volume(*mesh, 0), 8.0 / 6, 1e-12);
  }
}

TEST(TetFile, TellsWhatIsWrongAndWhere) {
  const auto told = [](const std::string& text, const char* name = "d.msh") {
    const TemporaryFile file(name, text);
    Diagnostics diagnostics;
    EXPECT_FALSE(read_tets(file.path, 1, {"scene.yaml", 7}, &diagnostics));
    return diagnostics.text();
  };
  EXPECT_NE(told("hello").find("no $MeshFormat"), std::string::npos);
  EXPECT_NE(told("$MeshFormat\n2.2 1 8\n").find("d.msh:2: error: the MSH file is binary"), std::string::npos);
  EXPECT_NE(told("$MeshFormat\n3.9 0 8\n").find("2.2 and 4.1"), std::string::npos);
  EXPECT_NE(told("$MeshFormat\n2.2 0 8\n$Nodes\n99999999999\n").find("more than the file"),
            std::string::npos);
  EXPECT_NE(told("$MeshFormat\n2.2 0 8\n$Nodes\n1\n1 0 x 0\n").find("d.msh:5: error: 'x'"),
            std::string::npos);
  EXPECT_NE(told("$MeshFormat\n2.2 0 8\n$Elements\n1\n1 4 0 1 2 3 4\n").find("node 1, which is not there"),
            std::string::npos);
  EXPECT_NE(told("$MeshFormat\n2.2 0 8\n").find("scene.yaml:7: error"), std::string::npos);
  EXPECT_NE(told("<a", "d.vtu").find("no XML"), std::string::npos);
  EXPECT_NE(told("\n<VTKFile type='UnstructuredGrid' compressor='vtkZLibDataCompressor'/>", "d.vtu")
                .find("d.vtu:2: error: the VTK file is compressed"),
            std::string::npos);
  EXPECT_NE(told("<VTKFile type='PolyData'/>", "d.vtu").find("has a PolyData"), std::string::npos);
}

}  // namespace
}  // namespace capstan::yaml_soft_bodies_test
