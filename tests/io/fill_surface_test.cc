// Soft bodies from closed surfaces, filled by an external mesher: by a script that stands for one, and by
// Gmsh and TetGen where they are installed.
#include "capstan/io/fill_surface.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "capstan/io/read.h"
#include "capstan/io/recording.h"
#include "capstan/model/model.h"
#include "capstan/scene/soft_body.h"
#include "capstan/step/mechanics.h"
#include "capstan/step/step.h"

namespace capstan::fill_surface_test {
namespace {

namespace fs = std::filesystem;

// A cube of 0.1 m from (1, 2, 3) on, as ten triangles and two more.
const char* const kCube =
    "v 1 2 3\nv 1.1 2 3\nv 1 2.1 3\nv 1.1 2.1 3\nv 1 2 3.1\nv 1.1 2 3.1\nv 1 2.1 3.1\nv 1.1 2.1 3.1\n"
    "f 1 3 4\nf 1 4 2\nf 5 6 8\nf 5 8 7\nf 1 2 6\nf 1 6 5\nf 3 7 8\nf 3 8 4\nf 1 5 7\nf 1 7 3\n";
const char* const kLastSide = "f 2 4 8\nf 2 8 6\n";

// Writes a cube of side 1 in five tets to the file after -o, as Gmsh would.
const char* const kFake = R"(#!/bin/sh
while [ "$1" != -o ]; do shift; done
cat > "$2" <<'END'
$MeshFormat
2.2 0 8
$EndMeshFormat
$Nodes
8
1 0 0 0
2 1 0 0
3 0 1 0
4 1 1 0
5 0 0 1
6 1 0 1
7 0 1 1
8 1 1 1
$EndNodes
$Elements
5
1 4 2 0 1 1 2 3 5
2 4 2 0 1 4 3 2 8
3 4 2 0 1 6 5 8 2
4 4 2 0 1 7 8 5 3
5 4 2 0 1 2 3 5 8
$EndElements
END
)";

class FillSurface : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::path(testing::TempDir()) / "capstan_fill_surface").string();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    if (const char* old = std::getenv("CAPSTAN_MESHER")) old_ = old;
    write("cube.obj", std::string(kCube) + kLastSide);
    write("open.obj", kCube);
    use("none");
  }
  void TearDown() override {
    old_.empty() ? ::unsetenv("CAPSTAN_MESHER") : ::setenv("CAPSTAN_MESHER", old_.c_str(), 1);
    fs::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  static void use(const std::string& mesher) { ::setenv("CAPSTAN_MESHER", mesher.c_str(), 1); }
  void use_script(const std::string& text) const {
    write("mesher", text);
    fs::permissions(folder_ + "/mesher", fs::perms::owner_all);
    use(folder_ + "/mesher");
  }
  Scene read(const std::string& keys, Diagnostics* diagnostics) const {
    write("scene.yaml", "capstan: 1\nshapes: [{type: plane}]\nsoft_bodies:\n  - name: part\n    " + keys +
                            "\n    young_modulus: 1e5\n    density: 1000\n");
    return read_scene(folder_ + "/scene.yaml", diagnostics);
  }
  std::string told(const std::string& keys) const {
    Diagnostics diagnostics;
    read(keys, &diagnostics);
    EXPECT_LE(diagnostics.num_errors(), 1) << diagnostics.text();
    return diagnostics.text();
  }
  static double volume_of(const TetMesh& mesh) {
    double sum = 0;
    for (int i = 0; i < static_cast<int>(mesh.tets.size()); ++i) sum += tet_volume(mesh, i);
    return sum;
  }
  std::string folder_, old_;
};

#define EXPECT_HAS(text, what) EXPECT_NE((text).find(what), std::string::npos) << (text)

TEST_F(FillSurface, WhereThereIsNoMesherTheRemedyIsTold) {
  const std::string text = told("file: cube.obj");
  EXPECT_HAS(text, "scene.yaml:5: error: ");
  EXPECT_HAS(text, "cube.obj' is a surface, and there is no program here that fills it with tets");
  EXPECT_HAS(text, "install Gmsh ('apt install gmsh')");
  ::unsetenv("CAPSTAN_MESHER");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder_.c_str(), 1);
  EXPECT_EQ(find_mesher(), "");
  write("tetgen", "#!/bin/sh\n");
  fs::permissions(folder_ + "/tetgen", fs::perms::owner_all);
  EXPECT_EQ(find_mesher(), folder_ + "/tetgen");
  ::setenv("PATH", path.c_str(), 1);
}

TEST_F(FillSurface, WhatCannotBeFilledIsTold) {
  use_script(kFake);
  EXPECT_HAS(told("file: open.obj"), "scene.yaml:5: error: mesh '" + folder_ + "/open.obj' is open: 4 edges");
  EXPECT_HAS(told("file: none.stl"), "none.stl");
  EXPECT_HAS(told("file: cube.obj\n    cell: 1e-4"), "would have 5e+09 tets");
  EXPECT_HAS(told("file: cube.obj\n    cell: -1"), "cell");
  use_script("#!/bin/sh\necho all is well\necho 'Error   : self-intersecting facets'\nexit 1\n");
  EXPECT_HAS(told("file: cube.obj"), "it failed: 'Error   : self-intersecting facets'; try a smaller 'cell'");
  use_script("#!/bin/sh\n");
  EXPECT_HAS(told("file: cube.obj"), "it made no mesh");
  use_script("#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\necho nothing > \"$2\"\n");
  EXPECT_HAS(told("file: cube.obj"), "its mesh cannot be used: the file has no $MeshFormat");
  // Twice as long as the cube that was asked for.
  std::string twice = kFake;
  for (std::size_t i = 0; (i = twice.find(" 1\n", i)) != std::string::npos; ++i) {
    if (i < twice.find("$EndNodes")) twice.replace(i, 3, " 2\n");
  }
  use_script(twice);
  EXPECT_HAS(told("file: cube.obj"), "it filled 0.002 m^3 of 0.001 m^3");
  // Not read with a mesh of a solid: nothing is ignored.
  write("part.msh", "");
  EXPECT_HAS(told("file: part.msh\n    cell: 0.1"), "part.msh");
}

TEST_F(FillSurface, TheSolidIsWhereItsSurfaceIs) {
  use_script(kFake);
  Diagnostics diagnostics;
  const Scene scene = read("file: cube.obj", &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const TetMesh& mesh = *scene.soft_bodies.at(0).mesh;
  EXPECT_EQ(mesh.tets.size(), 5u);
  EXPECT_NEAR(volume_of(mesh), 1e-3, 1e-15);
  for (const Vec3& x : mesh.vertices)
    EXPECT_LT(((x - Vec3(1.05, 2.05, 3.05)).cwiseAbs() - Vec3::Constant(0.05)).cwiseAbs().maxCoeff(), 1e-12);
  Diagnostics again;
  const TetMesh twice = *read("file: cube.obj\n    scale: 2", &again).soft_bodies.at(0).mesh;
  ASSERT_EQ(again.text(), "");
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i)
    EXPECT_LT((twice.vertices[i] - 2 * mesh.vertices[i]).norm(), 1e-12);
}

// What was recorded here is replayed where no mesher is.
TEST_F(FillSurface, RecordingsHoldTheTets) {
  use_script(kFake);
  Diagnostics diagnostics;
  const Scene scene = read("file: cube.obj", &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const Model model = compile(scene);
  const RecordingHeader header = recording_header(scene, model, "scene.yaml", step_options(model), 1);
  use("none");
  fs::remove(folder_ + "/cube.obj");
  const Scene recorded = recorded_scene(header);
  const Model replayed = recorded_model(header, recorded);  // of the same fingerprint, else it would throw
  EXPECT_EQ(recorded.soft_bodies.at(0).mesh->tets, scene.soft_bodies[0].mesh->tets);
  EXPECT_EQ(recorded.soft_bodies[0].mesh->vertices, scene.soft_bodies[0].mesh->vertices);
  EXPECT_EQ(replayed.dofs.size(), model.dofs.size());
}

// Boxes of 0.3 x 0.2 x 0.1 m and balls of 0.1 m with and without a cavity of half their radius, by those that
// are installed.
TEST_F(FillSurface, GmshAndTetgenFillBoxesAndBalls) {
  std::string ball, hollow;
  const int around = 24, down = 12;
  const auto vertex = [&](double radius, int i, int j) {
    const double polar = M_PI * j / down, angle = 2 * M_PI * i / around;
    return "v " + std::to_string(radius * std::sin(polar) * std::cos(angle)) + " " +
           std::to_string(radius * std::sin(polar) * std::sin(angle)) + " " +
           std::to_string(radius * std::cos(polar)) + "\n";
  };
  std::string outer, inner, outward, inward;
  const int shell = around * (down - 1) + 2;
  for (const double radius : {0.1, 0.05}) {
    std::string& points = radius == 0.1 ? outer : inner;
    for (int j = 1; j < down; ++j) {
      for (int i = 0; i < around; ++i) points += vertex(radius, i, j);
    }
    points += vertex(radius, 0, 0) + vertex(radius, 0, down);
  }
  const auto face = [&](int a, int b, int c) {
    const auto text = [](int x, int y, int z) {
      return "f " + std::to_string(x) + " " + std::to_string(y) + " " + std::to_string(z) + "\n";
    };
    outward += text(a, b, c);
    inward += text(shell + a, shell + c, shell + b);
  };
  for (int i = 0; i < around; ++i) {
    const auto at = [&](int k, int j) { return 1 + (j - 1) * around + k % around; };
    face(shell - 1, at(i, 1), at(i + 1, 1));
    face(shell, at(i + 1, down - 1), at(i, down - 1));
    for (int j = 1; j + 1 < down; ++j) {
      face(at(i, j), at(i, j + 1), at(i + 1, j + 1));
      face(at(i, j), at(i + 1, j + 1), at(i + 1, j));
    }
  }
  write("ball.obj", outer + outward);
  write("hollow.obj", outer + inner + outward + inward);
  ::unsetenv("CAPSTAN_MESHER");
  int installed = 0;
  for (const std::string mesher : {"gmsh", "tetgen"}) {
    use(mesher);
    if (find_mesher().empty()) continue;
    ++installed;
    // 24 x 12 facets have 0.959 of the volume of the ball.
    const double whole = 4.0 / 3 * M_PI * 1e-3;
    struct Case {
      const char* keys;
      double volume;
    };
    for (const Case& solid :
         {Case{"file: cube.obj\n    cell: 0.03", 1e-3}, Case{"file: ball.obj", 0.95 * whole},
          Case{"file: hollow.obj\n    cell: 0.04", 0.95 * 0.875 * whole}}) {
      Diagnostics diagnostics, again;
      const Scene scene = read(solid.keys, &diagnostics);
      if (mesher == "tetgen" && std::string(solid.keys).find("hollow") != std::string::npos) {
        EXPECT_HAS(diagnostics.text(), "it filled");  // its cavity, too
        continue;
      }
      ASSERT_EQ(diagnostics.text(), "") << mesher << ", " << solid.keys;
      const TetMesh& mesh = *scene.soft_bodies[0].mesh;
      const double volume = volume_of(mesh);
      const TetMeshQuality quality = examine_tets(mesh);
      std::printf("%s: %s: %zu tets, %.4f of the volume, quality %.2f, worst %.2f\n", mesher.c_str(),
                  solid.keys, mesh.tets.size(), volume / solid.volume, quality.mean, quality.worst);
      EXPECT_NEAR(volume, solid.volume, 0.06 * solid.volume);
      EXPECT_GT(quality.mean, 0.5);
      EXPECT_GT(quality.worst, 0.02);
      const Scene second = read(solid.keys, &again);
      EXPECT_EQ(second.soft_bodies[0].mesh->vertices, mesh.vertices);  // every bit
      EXPECT_EQ(second.soft_bodies[0].mesh->tets, mesh.tets);
      Diagnostics checked;
      compile(scene, &checked);
      EXPECT_EQ(checked.num_errors(), 0) << checked.text();
    }
  }
  if (installed == 0) GTEST_SKIP() << "neither gmsh nor tetgen is installed";
}

}  // namespace
}  // namespace capstan::fill_surface_test
