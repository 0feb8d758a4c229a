#include "capstan/io/mesh_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numbers>
#include <random>

namespace capstan::mesh_file_test {
namespace {

const Source kReferrer{"scene.yaml", 7};
constexpr const char* kCubeObj = R"(# a 2 x 1 x 1 box of quads
mtllib box.mtl
o box
v 0 0 0
v 2 0 0
v 2 1 0
v 0 1 0
v 0 0 1
v 2 0 1
v 2 1 1
v +0.0 1e0 1 1.0
vn 0 0 1
vt 0 0
s off
f 4//1 3//1 2//1 1//1
f 5 6 7 8
f 1/1 2/1 6/1 5/1
f 2 3 7 6
f -6 -5 -1 -2
f 4 1 5 8
)";

std::string write(const std::string& name, const std::string& bytes) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "capstan_mesh_file";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / name).string();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

struct Result {
  std::shared_ptr<const TriangleMesh> mesh;
  Diagnostics diagnostics;
};

Result read(const std::string& name, const std::string& bytes, const Vec3& scale = Vec3::Ones(),
            long max_triangles = 1000) {
  Result result;
  result.mesh = read_mesh(write(name, bytes), scale, kReferrer, max_triangles, &result.diagnostics);
  return result;
}

template <class T>
void put(std::string* bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes->append(raw, sizeof(T));
}

std::string binary_stl(const TriangleMesh& mesh, const std::string& header = "made by a test") {
  std::string bytes = header;
  bytes.resize(80, ' ');
  put<std::uint32_t>(&bytes, static_cast<std::uint32_t>(mesh.triangles.size()));
  for (const auto& t : mesh.triangles) {
    for (int k = 0; k < 3; ++k) put<float>(&bytes, 0);
    for (const int i : t) {
      for (int k = 0; k < 3; ++k) put<float>(&bytes, static_cast<float>(mesh.vertices[i][k]));
    }
    put<std::uint16_t>(&bytes, 0);
  }
  return bytes;
}

std::string ascii_stl(const TriangleMesh& mesh) {
  std::string text = "solid part\n";
  for (const auto& t : mesh.triangles) {
    text += "  facet normal 0 0 0\n    outer loop\n";
    for (const int i : t) {
      text += "      vertex";
      for (int k = 0; k < 3; ++k) text.append(" ").append(std::to_string(mesh.vertices[i][k]));
      text += "\n";
    }
    text += "    endloop\n  endfacet\n";
  }
  return text + "endsolid part\n";
}

std::string msh(const TriangleMesh& mesh) {
  std::string bytes;
  const auto n = static_cast<std::int32_t>(mesh.vertices.size());
  for (const std::int32_t i : {n, n, n, static_cast<std::int32_t>(mesh.triangles.size())}) put(&bytes, i);
  for (const Vec3& v : mesh.vertices) {
    for (int k = 0; k < 3; ++k) put<float>(&bytes, static_cast<float>(v[k]));
  }
  for (int k = 0; k < 5 * n; ++k) put<float>(&bytes, 0.25f);
  for (const auto& t : mesh.triangles) {
    for (const std::int32_t i : t) put(&bytes, i);
  }
  return bytes;
}

void expect_box(const Result& result, const Vec3& size, const Vec3& centre) {
  ASSERT_TRUE(result.mesh) << result.diagnostics.text();
  EXPECT_EQ(result.diagnostics.text(), "");
  EXPECT_EQ(result.mesh->vertices.size(), 8u);
  EXPECT_EQ(result.mesh->triangles.size(), 12u);
  EXPECT_TRUE(is_closed(*result.mesh));
  const VolumeProperties properties = volume_properties(*result.mesh);
  EXPECT_NEAR(properties.volume, size.prod(), 1e-12);
  EXPECT_LT((properties.centroid - centre).norm(), 1e-12);
  EXPECT_NEAR(properties.inertia(0, 0), size.prod() * (size.y() * size.y() + size.z() * size.z()) / 12,
              1e-12);
}

TEST(MeshFile, EveryFormatGivesTheSameBox) {
  const Result obj = read("box.obj", kCubeObj);
  const Vec3 size(2, 1, 1), centre(1, 0.5, 0.5);
  expect_box(obj, size, centre);
  expect_box(read("box.STL", binary_stl(*obj.mesh)), size, centre);
  expect_box(read("solid.stl", binary_stl(*obj.mesh, "solid but binary")), size, centre);
  expect_box(read("text.stl", ascii_stl(*obj.mesh)), size, centre);
  expect_box(read("box.msh", msh(*obj.mesh)), size, centre);
}

TEST(MeshFile, ScaleMultipliesAndMirrorKeepsTheOutsideOutside) {
  expect_box(read("box.obj", kCubeObj, {0.5, 3, 2}), {1, 3, 2}, {0.5, 1.5, 1});
  expect_box(read("box.obj", kCubeObj, {-1, 1, 1}), {2, 1, 1}, {-1, 0.5, 0.5});
  expect_box(read("box.obj", kCubeObj, {-1, -1, -1}), {2, 1, 1}, {-1, -0.5, -0.5});
}

// An L of area 3: a fan from its first corner would leave it.
TEST(MeshFile, ConcavePolygonsAreCutInsideTheirOutline) {
  const Result result =
      read("l.obj", "v 0 2 0\nv 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nf 3 4 5 6 1 2\nf 1 2 3 4 5 6\n");
  ASSERT_TRUE(result.mesh) << result.diagnostics.text();
  ASSERT_EQ(result.mesh->triangles.size(), 8u);
  double area = 0;
  for (const auto& t : result.mesh->triangles) {
    const Vec3 a = result.mesh->vertices[t[0]], b = result.mesh->vertices[t[1]],
               c = result.mesh->vertices[t[2]];
    const double twice = cross(b - a, c - a).z();
    EXPECT_GT(twice, 0);
    area += twice / 2;
  }
  EXPECT_NEAR(area, 2 * 3.0, 1e-14);
}

TEST(MeshFile, TrianglesWithoutAreaAreDroppedWithAWarning) {
  const Result result = read(
      "degenerate.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 2 0 0\nv 9 9 9\nv 1 0 0\nf 1 2 3\nf 1 2 4\nf 1 2 6\n");
  ASSERT_TRUE(result.mesh);
  EXPECT_EQ(result.mesh->triangles.size(), 1u);
  EXPECT_EQ(result.mesh->vertices.size(), 3u);
  ASSERT_EQ(result.diagnostics.num_warnings(), 1);
  EXPECT_NE(result.diagnostics.text().find("2 of 3 triangles without area"), std::string::npos);
}

TEST(MeshFile, BrokenFilesSayWhatIsWrong) {
  const TriangleMesh box = *read("box.obj", kCubeObj).mesh;
  const std::string stl = binary_stl(box), good_msh = msh(box);
  std::string nan_stl = stl, bad_face = good_msh, negative = good_msh;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(nan_stl.data() + 84 + 50 + 16, &nan, 4);
  const std::int32_t eight = 8, minus = -8;
  std::memcpy(bad_face.data() + bad_face.size() - 4, &eight, 4);
  std::memcpy(negative.data(), &minus, 4);
  const struct {
    const char* name;
    std::string bytes;
    const char* fragment;
  } cases[] = {
      {"empty.obj", "", "is empty"},
      {"nofaces.obj", "v 0 0 0\nv 1 0 0\n", "has no triangles"},
      {"flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "has no triangle with an area"},
      {"range.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "has a face with vertex 4 of 3 (its line 4)"},
      {"zero.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", "has a face with vertex 0 of 3"},
      {"back.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -4 1 2\n", "has a face with vertex -4 of 3"},
      {"huge.obj", "v 0 0 0\nf 99999999999 1 1\n", "has '99999999999' where a vertex number belongs"},
      {"word.obj", "v 0 0 zero\n", "has 'zero' where a coordinate belongs (its line 1)"},
      {"short.obj", "v 0 0\n", "fewer than 3 coordinates"},
      {"nan.obj", "v 0 nan 0\n", "has the coordinate 'nan'"},
      {"inf.obj", "v 0 -inf 0\n", "has the coordinate '-inf'"},
      {"over.obj", "v 0 1e999 0\n", "has the coordinate '1e999'"},
      {"two.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", "has a face with 2 vertices (its line 3)"},
      {"cut.stl", stl.substr(0, stl.size() - 1),
       "says it has 12 triangles, which take 684 bytes, but has 683"},
      {"tiny.stl", "abc", "is not an STL file"},
      {"nan.stl", nan_stl, "non-finite coordinate in vertex 3"},
      {"cut2.stl", ascii_stl(box).substr(0, 300), "stops before 'endsolid'"},
      {"word.stl", "solid x\nfacet normal 0 0 1\nouter loop\nvortex 1 2 3\n", "has 'vortex', which is not"},
      {"four.stl", "solid\nfacet\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nvertex 1 1 0\n", "more than 3"},
      {"two.stl", "solid\nfacet\nvertex 0 0 0\nvertex 1 0 0\nendfacet\nendsolid\n",
       "has a facet with 2 vertices"},
      {"loose.stl", "solid\nvertex 0 0 0\nendsolid\n", "vertex outside a facet"},
      {"nothing.stl", "solid\nendsolid\n", "has no triangles"},
      {"cut.msh", good_msh.substr(0, good_msh.size() - 5), "which does not fit its"},
      {"negative.msh", negative, "says it has -8 vertices"},
      {"face.msh", bad_face, "with vertex 8 of 8"},
      {"head.msh", "12345", "the header of an MSH file takes 16"},
      {"gmsh.msh", "$MeshFormat\n4.1 0 8\n", "is a Gmsh file"},
      {"part.dae", "<xml/>", "is not a COLLADA file"},
      {"part.ply", "ply", "is not of a known kind"},
  };
  for (const auto& c : cases) {
    const Result result = read(c.name, c.bytes);
    EXPECT_FALSE(result.mesh) << c.name;
    ASSERT_EQ(result.diagnostics.list.size(), 1u) << c.name << "\n" << result.diagnostics.text();
    const std::string text = to_string(result.diagnostics.list[0]);
    EXPECT_EQ(text.find("scene.yaml:7: error: mesh file '"), 0u) << text;
    EXPECT_NE(text.find(c.fragment), std::string::npos) << text;
    EXPECT_NE(text.find(c.name), std::string::npos) << text;
  }
}

// glTF 2.0: a tetrahedron of 3 dm with 16-bit indices, in a node that is moved, turned and mirrored within
// one that scales; and a strip of two triangles that no node shows.
std::string glb(const std::string& change_from = "", const std::string& change_to = "") {
  std::string json =
      R"({"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[1]}],)"
      R"("nodes":[{"mesh":0,"translation":[1,0,0],"rotation":[0,0,0.7071067811865476,0.7071067811865476],"scale":[1,1,-1]},)"
      R"({"children":[0],"matrix":[2,0,0,0, 0,2,0,0, 0,0,2,0, 0,0,5,1]}],)"
      R"("meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1}]},{"primitives":[{"attributes":{"POSITION":0},"mode":5}]}],)"
      R"("accessors":[{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3"},{"bufferView":1,"componentType":5123,"count":12,"type":"SCALAR"}],)"
      R"("bufferViews":[{"buffer":0,"byteLength":48},{"buffer":0,"byteOffset":48,"byteLength":24}],"buffers":[{"byteLength":72}]})";
  if (!change_from.empty()) json.replace(json.find(change_from), change_from.size(), change_to);
  while (json.size() % 4 != 0) json += ' ';
  const float positions[12] = {0, 0, 0, 0.3f, 0, 0, 0, 0.3f, 0, 0, 0, 0.3f};
  const std::uint16_t indices[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  std::string binary(72, 0);
  std::memcpy(binary.data(), positions, 48);
  std::memcpy(binary.data() + 48, indices, 24);
  const auto word = [](std::size_t x) {
    const auto value = static_cast<std::uint32_t>(x);
    return std::string(reinterpret_cast<const char*>(&value), 4);
  };
  return "glTF" + word(2) + word(28 + json.size() + binary.size()) + word(json.size()) + "JSON" + json +
         word(binary.size()) + std::string("BIN\0", 4) + binary;
}

TEST(MeshFile, Gltf) {
  const Result result = read("tet.glb", glb());
  EXPECT_EQ(result.diagnostics.text(), "");
  ASSERT_TRUE(result.mesh);
  ASSERT_EQ(result.mesh->triangles.size(), 4u);
  const VolumeProperties volume = volume_properties(*result.mesh);
  EXPECT_NEAR(volume.volume, 0.6 * 0.6 * 0.6 / 6, 1e-8);  // 32-bit numbers
  // (x, y, z) -> (1 - y, x, -z), then twice that and 5 m up.
  EXPECT_LT((volume.centroid - Vec3(2 - 0.15, 0.15, 5 - 0.15)).norm(), 1e-7);
  const auto broken = [&](const std::string& from, const std::string& to) {
    return read("bad.glb", glb(from, to)).diagnostics.text();
  };
  EXPECT_NE(broken("\"count\":12", "\"count\":13").find("reaches beyond its numbers"), std::string::npos);
  EXPECT_NE(broken("\"count\":4,", "\"count\":3,").find("a vertex that it does not have"), std::string::npos);
  EXPECT_NE(broken("\"children\":[0]", "\"children\":[1]").find("within each other"), std::string::npos);
  EXPECT_NE(broken("\"mesh\":0", "\"mesh\":7").find("names a mesh"), std::string::npos);
  EXPECT_NE(broken("\"scene\":0", "\"extensionsRequired\":[\"KHR_draco_mesh_compression\"]")
                .find("needs the extension 'KHR_draco_mesh_compression'"),
            std::string::npos);
  EXPECT_NE(read("no.glb", "glTF nothing").diagnostics.text().find("is no .glb file"), std::string::npos);
}

TEST(MeshFile, MissingFoldersScaleAndLimits) {
  Diagnostics diagnostics;
  EXPECT_FALSE(read_mesh("/no/such/hand.stl", Vec3::Ones(), kReferrer, 10, &diagnostics));
  EXPECT_NE(diagnostics.text().find("'/no/such/hand.stl' does not exist"), std::string::npos);
  std::filesystem::create_directories(testing::TempDir() + "/folder.stl");
  EXPECT_FALSE(read_mesh(testing::TempDir() + "/folder.stl", Vec3::Ones(), kReferrer, 10, &diagnostics));
  EXPECT_NE(diagnostics.text().find("is a directory"), std::string::npos);
  EXPECT_NE(read("box.obj", kCubeObj, {1, 0, 1}).diagnostics.text().find("is scaled by (1, 0, 1)"),
            std::string::npos);
  EXPECT_NE(read("box.obj", kCubeObj, Vec3::Ones(), 11).diagnostics.text().find("more than 11 triangles"),
            std::string::npos);
  EXPECT_TRUE(read("box.obj", kCubeObj, Vec3::Ones(), 12).mesh);
}

TEST(MeshFile, TruncationsAndMutationsNeverCrash) {
  const TriangleMesh box = *read("box.obj", kCubeObj).mesh;
  const struct {
    const char* name;
    std::string bytes;
  } files[] = {{"f.obj", kCubeObj},
               {"f.stl", binary_stl(box)},
               {"t.stl", ascii_stl(box)},
               {"f.msh", msh(box)},
               {"f.glb", glb()}};
  std::mt19937 random(5);
  for (const auto& file : files) {
    for (int i = 0; i < 400; ++i) {
      std::string bytes = file.bytes;
      if (i % 4 == 0) {
        bytes.resize(random() % bytes.size());
      } else {
        for (unsigned k = 0; k <= random() % 4; ++k)
          bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      const Result result = read(file.name, bytes);
      EXPECT_EQ(result.mesh != nullptr, result.diagnostics.ok());
      if (!result.mesh) continue;
      for (const Vec3& v : result.mesh->vertices) ASSERT_TRUE(v.allFinite());
    }
  }
}

TEST(MeshFile, AMeshThatIsInsideOutIsTurnedWithAWarning) {
  TriangleMesh mesh = *read("good.obj", kCubeObj).mesh;
  for (auto& triangle : mesh.triangles) std::swap(triangle[0], triangle[1]);
  const Result result = read("inverted.stl", binary_stl(mesh));
  ASSERT_NE(result.mesh, nullptr);
  EXPECT_NE(result.diagnostics.text().find("scene.yaml:7: warning: mesh file"), std::string::npos);
  EXPECT_NE(result.diagnostics.text().find("inside out"), std::string::npos);
  EXPECT_NEAR(volume_properties(*result.mesh).volume, 2, 1e-6);
}

// A tetrahedron of 3 dm in centimetres, moved by its node: three faces as triangles and one as a polygon of a
// list.
TEST(MeshFile, Collada) {
  const std::string dae =
      R"(<?xml version="1.0"?><COLLADA version="1.4.1"><asset><unit name="cm" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">0 0 0 30 0 0 0 30 0 0 0 30</float_array>
<technique_common><accessor source="#a" count="4" stride="3"/></technique_common></source>
<source id="n"><float_array id="b" count="3">0 0 1</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="3"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
<p>0 0 2 0 1 0  0 0 1 0 3 0  0 0 3 0 2 0</p></triangles>
<polylist count="1"><input semantic="VERTEX" source="#v" offset="0"/><vcount>3</vcount><p>1 2 3</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>100 0 0</translate><scale>2 2 2</scale>
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes></COLLADA>)";
  const Result result = read("tet.dae", dae);
  EXPECT_EQ(result.diagnostics.text(), "");
  ASSERT_TRUE(result.mesh);
  ASSERT_EQ(result.mesh->triangles.size(), 4u);
  const VolumeProperties volume = volume_properties(*result.mesh);
  EXPECT_NEAR(volume.volume, 0.6 * 0.6 * 0.6 / 6, 1e-12);
  EXPECT_LT((volume.centroid - Vec3(1.15, 0.15, 0.15)).norm(), 1e-12);
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string text = dae;
    return read("bad.dae", text.replace(text.find(from), from.size(), to)).diagnostics.text();
  };
  EXPECT_NE(broken("<p>1 2 3", "<p>1 2 9").find("has a face with vertex 9 of 4"), std::string::npos);
  EXPECT_NE(broken("0 0 30</float", "0 0 x</float").find("something else than numbers in <float_array>"),
            std::string::npos);
  EXPECT_NE(broken("meter=\"0.01\"", "meter=\"0\"").find("has a unit that is not above 0 m"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan::mesh_file_test
