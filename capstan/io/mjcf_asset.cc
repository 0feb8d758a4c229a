// Meshes, height fields and the colours of materials.
//
// A mesh's vertices become scale * R(refquat)^T (v - refpos); a mirroring scale flips its triangles.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "capstan/geometry/hull_mesh.h"
#include "capstan/io/mesh_file.h"
#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"

namespace capstan::mjcf {

namespace {

std::string asset_path(const Reader& reader, const XmlElement* element, const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path name = reader.compiler.strip_path ? fs::path(file).filename() : fs::path(file);
  // operator/ keeps an absolute right side as it is.
  return XmlFiles::either_path(
      (fs::path(reader.xml.include_directory) / reader.compiler.mesh_directory / name).string(),
      reader.xml.where(element).file, name.string());
}

// A mesh of vertices alone is their hull, as in MuJoCo.
std::shared_ptr<TriangleMesh> hull_of_vertices(Reader& reader, const XmlElement* element,
                                               const TriangleMesh& mesh) {
  try {
    return std::make_shared<TriangleMesh>(hull_mesh(mesh.vertices));
  } catch (const InputError& problem) {
    reader.xml.attribute_error(
        element, "vertex", fmt::format("<mesh> has no faces, and its vertices no hull: {}", problem.what()),
        "write face=\"...\", or vertices that are not in one plane");
    return nullptr;
  }
}

std::shared_ptr<TriangleMesh> inline_mesh(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  const std::vector<double> vertices = xml.numbers(element, "vertex");
  const std::vector<double> faces = xml.numbers(element, "face");
  if (vertices.size() % 3 != 0 || vertices.size() < 12) {
    xml.attribute_error(element, "vertex", fmt::format("<mesh> vertex has {} numbers", vertices.size()),
                        "write three for each of at least four vertices");
    return nullptr;
  }
  auto mesh = std::make_shared<TriangleMesh>();
  for (std::size_t i = 0; i < vertices.size(); i += 3) {
    mesh->vertices.emplace_back(vertices[i], vertices[i + 1], vertices[i + 2]);
  }
  if (faces.empty()) {
    if (xml.has(element, "face")) return nullptr;
    return hull_of_vertices(reader, element, *mesh);
  }
  if (faces.size() % 3 != 0) {
    xml.attribute_error(element, "face", fmt::format("<mesh> face has {} numbers", faces.size()),
                        "write three vertex numbers, from 0, for each triangle");
    return nullptr;
  }
  const double num_vertices = static_cast<double>(mesh->vertices.size());
  for (std::size_t i = 0; i < faces.size(); i += 3) {
    for (int k = 0; k < 3; ++k) {
      if (!(faces[i + k] >= 0 && faces[i + k] < num_vertices) || faces[i + k] != std::floor(faces[i + k])) {
        xml.attribute_error(element, "face",
                            fmt::format("<mesh> face names vertex {} of {}", faces[i + k], num_vertices),
                            "number vertices from 0");
        return nullptr;
      }
    }
    mesh->triangles.push_back(
        {static_cast<int>(faces[i]), static_cast<int>(faces[i + 1]), static_cast<int>(faces[i + 2])});
  }
  return mesh;
}

void read_mesh_asset(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  MeshSpec spec = find_class(reader, element, "").mesh;
  overlay_mesh(reader, element, &spec);
  const auto file = xml.text(element, "file");
  std::string name = xml.text(element, "name").value_or("");
  if (name.empty() && file) name = std::filesystem::path(*file).stem().string();
  if (name.empty()) {
    xml.attribute_error(element, "name", "<mesh> has no name", "write name=\"...\"");
    return;
  }
  if (reader.exists(Kind::mesh, name)) {
    xml.error(element, fmt::format("mesh '{}' is defined twice", name),
              fmt::format("rename one; the other is at {}", to_string(reader.names.at({Kind::mesh, name}))));
    return;
  }
  reader.names[{Kind::mesh, name}] = xml.where(element);
  xml.accept_attributes(element, {"normal", "texcoord", "smoothnormal", "material", "content_type"});

  std::shared_ptr<TriangleMesh> mesh;
  if (xml.has(element, "builtin") && xml.text(element, "builtin") != "none") {
    xml.not_simulated(element, "is a built-in mesh, which is not supported; geoms that use it are left out");
    reader.meshes[name] = nullptr;
    return;
  }
  if (file) {
    const auto loaded =
        read_mesh(asset_path(reader, element, *file), Vec3::Ones(), xml.where(element, "file"),
                  xml.limits().max_mesh_triangles, xml.diagnostics());
    if (loaded) mesh = std::make_shared<TriangleMesh>(*loaded);
  } else if (xml.has(element, "vertex")) {
    mesh = inline_mesh(reader, element);
  } else if (!xml.children(element, "plugin").empty()) {
    xml.accept_all(element);
    xml.error(element,
              fmt::format("mesh '{}' is made by a plugin of MuJoCo, which Capstan does not have", name),
              "export its mesh and write file=\"...\"");
  } else {
    xml.error(element, fmt::format("mesh '{}' has neither file nor vertex", name), "write file=\"...\"");
  }
  reader.meshes[name] = nullptr;
  const Vec3 origin = xml.vec3(element, "refpos").value_or(Vec3::Zero());
  Vec4 turn = identity_quat();
  if (xml.vector(element, "refquat", 4, 4, turn.data()) && turn.norm() < 1e-14) {
    xml.attribute_error(element, "refquat", "<mesh> refquat is zero", "write w x y z");
    return;
  }
  if (!mesh) return;
  const Mat3 R_T = rotation_matrix(turn.normalized()).transpose();
  for (Vec3& v : mesh->vertices) v = spec.scale.cwiseProduct(R_T * (v - origin));
  if (spec.scale.prod() < 0) {
    for (auto& t : mesh->triangles) std::swap(t[1], t[2]);
  }
  reader.meshes[name] = mesh;
  reader.mesh_rules[mesh.get()] = {name, spec.inertia};
}

// size = (half x, half y, top, base). Elevations are scaled to [0, 1] and then by top; the first row written
// is that of the largest y.
void read_hfield_asset(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  const auto file = xml.text(element, "file");
  std::string name = xml.text(element, "name").value_or("");
  if (name.empty() && file) name = std::filesystem::path(*file).stem().string();
  if (name.empty()) {
    xml.attribute_error(element, "name", "<hfield> has no name", "write name=\"...\"");
    return;
  }
  if (reader.exists(Kind::hfield, name)) {
    xml.error(element, fmt::format("hfield '{}' is defined twice", name), "rename one");
    return;
  }
  reader.names[{Kind::hfield, name}] = xml.where(element);
  std::array<double, 4> size = {0, 0, 0, 0};
  if (!xml.vector(element, "size", 4, 4, size.data()) || *std::min_element(size.begin(), size.end()) <= 0) {
    xml.attribute_error(element, "size", fmt::format("hfield '{}' has no usable size", name),
                        "write size=\"half_x half_y top base\", all above 0");
    return;
  }
  xml.accept_attributes(element, {"content_type"});
  if (file && !file->empty()) {
    xml.not_simulated(element,
                      "reads its heights from a file, which is not supported; write elevation=\"...\"");
    return;
  }
  const int rows = xml.integer(element, "nrow").value_or(0),
            columns = xml.integer(element, "ncol").value_or(0);
  if (rows < 2 || columns < 2 || static_cast<long>(rows) * columns > xml.limits().max_mesh_triangles) {
    xml.error(element, fmt::format("hfield '{}' has {} rows and {} columns", name, rows, columns),
              fmt::format("write at least 2 of each and at most {} points", xml.limits().max_mesh_triangles));
    return;
  }
  const std::vector<double> written = xml.numbers(element, "elevation");
  if (!written.empty() && static_cast<long>(written.size()) != static_cast<long>(rows) * columns) {
    xml.attribute_error(
        element, "elevation",
        fmt::format("hfield '{}' has {} elevations for {} x {} points", name, written.size(), rows, columns),
        fmt::format("write {}", static_cast<long>(rows) * columns));
    return;
  }
  auto height = std::make_shared<std::vector<double>>(static_cast<std::size_t>(rows) * columns, 0.0);
  if (!written.empty()) {
    const auto [low, high] = std::minmax_element(written.begin(), written.end());
    const double scale = *high > *low ? size[2] / (*high - *low) : 0;
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        (*height)[r * columns + c] = scale * (written[(rows - 1 - r) * columns + c] - *low);
      }
    }
  }
  reader.hfields[name] = {rows, columns, Vec2(size[0], size[1]), size[3], height};
}

}  // namespace

void read_assets(Reader& reader, const XmlElement* element) {
  XmlFiles& xml = reader.xml;
  xml.accept(element);
  for (const XmlElement* child : xml.children(element)) {
    const std::string tag = XmlFiles::tag(child);
    if (tag == "mesh") {
      read_mesh_asset(reader, child);
    } else if (tag == "hfield") {
      read_hfield_asset(reader, child);
    } else if (tag == "material") {
      MaterialSpec spec = find_class(reader, child, "").material;
      const std::string name = xml.required_text(child, "name");
      overlay_material(reader, child, &spec);
      reader.colours[name] = spec;
    } else if (tag == "texture" || tag == "skin") {
      xml.accept_all(child);
    } else if (tag == "model") {
      read_model_asset(reader, child);
    }
  }
}

}  // namespace capstan::mjcf
