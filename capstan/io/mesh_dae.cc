#include "capstan/io/mesh_dae.h"

#include <fmt/core.h>
#include <tinyxml2.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>

namespace capstan {

namespace {

using tinyxml2::XMLElement;
using Affine = Eigen::Affine3d;

struct DaeError {
  std::string what, remedy;
};

constexpr const char* kDaeRemedy = "export it again as COLLADA 1.4, or as OBJ or STL";
constexpr int kMaxDepth = 64;         // of nodes
constexpr int kMaxInstances = 10000;  // nodes may refer to nodes, which multiplies

template <class T>
std::vector<T> numbers_in(const XMLElement* element, const char* what) {
  std::vector<T> values;
  const char* at = element && element->GetText() ? element->GetText() : "";
  const char* const end = at + std::char_traits<char>::length(at);
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (true) {
    while (at != end && space(*at)) ++at;
    if (at == end) return values;
    T value{};
    const auto [next, problem] = std::from_chars(at, end, value);
    if (problem != std::errc() || (next != end && !space(*next)))
      throw DaeError{fmt::format("has something else than numbers in <{}>", what), kDaeRemedy};
    values.push_back(value);
    at = next;
  }
}

std::string attribute(const XMLElement* element, const char* name) {
  const char* text = element->Attribute(name);
  return text ? text : "";
}

// "#id" refers to the element with that id.
std::string reference(const XMLElement* element, const char* name) {
  const std::string text = attribute(element, name);
  return text.empty() || text[0] != '#' ? "" : text.substr(1);
}

struct Reader {
  DaeMesh* mesh;
  long max_triangles;
  std::map<std::string, const XMLElement*> by_id = {};
  int instances = 0;

  void index(const XMLElement* element, int depth = 0) {
    for (; element; element = element->NextSiblingElement()) {
      const std::string id = attribute(element, "id");
      if (!id.empty()) by_id.emplace(id, element);
      if (depth < kMaxDepth) index(element->FirstChildElement(), depth + 1);
    }
  }
  const XMLElement* find(const std::string& id, const char* tag) const {
    const auto found = by_id.find(id);
    return found != by_id.end() && std::string(found->second->Name()) == tag ? found->second : nullptr;
  }

  std::vector<Vec3> positions(const XMLElement* geometry_mesh, const std::string& vertices_id) const {
    const XMLElement* vertices = find(vertices_id, "vertices");
    for (const XMLElement* input = vertices ? vertices->FirstChildElement("input") : nullptr; input;
         input = input->NextSiblingElement("input")) {
      if (attribute(input, "semantic") != "POSITION") continue;
      const XMLElement* source = find(reference(input, "source"), "source");
      const XMLElement* array = source ? source->FirstChildElement("float_array") : nullptr;
      if (!array) break;
      int stride = 3;
      if (const XMLElement* technique = source->FirstChildElement("technique_common")) {
        if (const XMLElement* accessor = technique->FirstChildElement("accessor"))
          stride = accessor->IntAttribute("stride", 3);
      }
      const std::vector<double> values = numbers_in<double>(array, "float_array");
      if (stride < 3 || stride > 64) break;
      std::vector<Vec3> points;
      for (std::size_t i = 0; i + 3 <= values.size(); i += static_cast<std::size_t>(stride))
        points.emplace_back(values[i], values[i + 1], values[i + 2]);
      return points;
    }
    throw DaeError{fmt::format("has a mesh at line {} without positions", geometry_mesh->GetLineNum()),
                   kDaeRemedy};
  }

  // One <triangles>, <polylist> or <polygons>.
  void add_faces(const XMLElement* geometry_mesh, const XMLElement* faces, const Affine& X) {
    const std::string tag = faces->Name();
    int offset = -1, width = 0;
    std::string vertices_id;
    for (const XMLElement* input = faces->FirstChildElement("input"); input;
         input = input->NextSiblingElement("input")) {
      const int at = input->IntAttribute("offset", 0);
      if (at < 0 || at > 64) throw DaeError{"has an input with an offset out of range", kDaeRemedy};
      width = std::max(width, at + 1);
      if (attribute(input, "semantic") != "VERTEX") continue;
      offset = at;
      vertices_id = reference(input, "source");
    }
    if (offset < 0) return;
    const std::vector<Vec3> points = positions(geometry_mesh, vertices_id);
    const int first = static_cast<int>(mesh->vertices.size());
    for (const Vec3& p : points) mesh->vertices.push_back(X * p);
    std::vector<int> sizes;
    if (tag == "polylist") sizes = numbers_in<int>(faces->FirstChildElement("vcount"), "vcount");
    std::size_t polygon = 0;
    for (const XMLElement* p = faces->FirstChildElement("p"); p; p = p->NextSiblingElement("p")) {
      const std::vector<int> indices = numbers_in<int>(p, "p");
      const std::size_t corners = indices.size() / static_cast<std::size_t>(width);
      const auto corner = [&](std::size_t i) {
        const int index = indices[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(offset)];
        if (index < 0 || index >= static_cast<int>(points.size()))
          throw DaeError{fmt::format("has a face with vertex {} of {}", index, points.size()), kDaeRemedy};
        return first + index;
      };
      for (std::size_t at = 0; at < corners;) {
        std::size_t size = tag == "triangles" ? 3 : corners;  // <polygons> has one <p> for each
        if (tag == "polylist") {
          if (polygon >= sizes.size() || sizes[polygon] < 0) break;
          size = static_cast<std::size_t>(sizes[polygon++]);
        }
        if (size > corners - at) break;
        for (std::size_t i = 2; i < size; ++i) {
          if (static_cast<long>(mesh->triangles.size()) >= max_triangles)
            throw DaeError{fmt::format("has more than {} triangles", max_triangles),
                           "simplify the mesh, or raise the limit (ReadLimits::max_mesh_triangles)"};
          mesh->triangles.push_back({corner(at), corner(at + i - 1), corner(at + i)});
        }
        if (size == 0 && tag != "polylist") break;
        at += size;
      }
    }
  }

  void add_geometry(const XMLElement* geometry, const Affine& X) {
    const XMLElement* content = geometry->FirstChildElement("mesh");
    if (!content) return;
    for (const char* tag : {"triangles", "polylist", "polygons"}) {
      for (const XMLElement* faces = content->FirstChildElement(tag); faces;
           faces = faces->NextSiblingElement(tag))
        add_faces(content, faces, X);
    }
  }

  static Affine placed(const XMLElement* node, Affine X) {
    for (const XMLElement* e = node->FirstChildElement(); e; e = e->NextSiblingElement()) {
      const std::string tag = e->Name();
      const std::size_t count = tag == "matrix"                        ? 16
                                : tag == "rotate"                      ? 4
                                : tag == "translate" || tag == "scale" ? 3
                                                                       : 0;
      if (count == 0) continue;
      const std::vector<double> n = numbers_in<double>(e, e->Name());
      if (n.size() != count) throw DaeError{fmt::format("has {} numbers in <{}>", n.size(), tag), kDaeRemedy};
      if (tag == "matrix") {
        Eigen::Matrix4d M;
        M << n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], 0, 0, 0, 1;
        X = X * Affine(M);
      } else if (tag == "translate") {
        X.translate(Vec3(n[0], n[1], n[2]));
      } else if (tag == "scale") {
        X.scale(Vec3(n[0], n[1], n[2]));
      } else if (Vec3(n[0], n[1], n[2]).norm() > 0) {
        X.rotate(Eigen::AngleAxisd(n[3] * std::numbers::pi / 180, Vec3(n[0], n[1], n[2]).normalized()));
      }
    }
    return X;
  }

  void add_node(const XMLElement* node, const Affine& X_parent, int depth) {
    if (depth > kMaxDepth || ++instances > kMaxInstances)
      throw DaeError{"has nodes that are nested too deep, or too many", kDaeRemedy};
    const Affine X = placed(node, X_parent);
    for (const XMLElement* e = node->FirstChildElement(); e; e = e->NextSiblingElement()) {
      const std::string tag = e->Name();
      if (tag == "node") add_node(e, X, depth + 1);
      if (tag == "instance_node") {
        if (const XMLElement* other = find(reference(e, "url"), "node")) add_node(other, X, depth + 1);
      }
      if (tag == "instance_geometry") {
        if (const XMLElement* geometry = find(reference(e, "url"), "geometry")) add_geometry(geometry, X);
      }
    }
  }
};

void read(const XMLElement* root, Reader* reader) {
  reader->index(root);
  Affine X = Affine::Identity();
  if (const XMLElement* asset = root->FirstChildElement("asset")) {
    if (const XMLElement* unit = asset->FirstChildElement("unit")) {
      const double meter = unit->DoubleAttribute("meter", 1);
      if (!(meter > 0) || !std::isfinite(meter))
        throw DaeError{"has a unit that is not above 0 m", kDaeRemedy};
      X.scale(meter);
    }
  }
  const XMLElement* scenes = root->FirstChildElement("library_visual_scenes");
  for (const XMLElement* scene = scenes ? scenes->FirstChildElement("visual_scene") : nullptr; scene;
       scene = scene->NextSiblingElement("visual_scene")) {
    for (const XMLElement* node = scene->FirstChildElement("node"); node;
         node = node->NextSiblingElement("node"))
      reader->add_node(node, X, 0);
  }
  if (!reader->mesh->triangles.empty() || scenes) return;
  // Without a scene: every geometry as it is.
  const XMLElement* geometries = root->FirstChildElement("library_geometries");
  for (const XMLElement* g = geometries ? geometries->FirstChildElement("geometry") : nullptr; g;
       g = g->NextSiblingElement("geometry"))
    reader->add_geometry(g, X);
}

}  // namespace

DaeMesh read_dae(const std::string& bytes, long max_triangles) {
  DaeMesh mesh;
  tinyxml2::XMLDocument document;
  if (document.Parse(bytes.data(), bytes.size()) != tinyxml2::XML_SUCCESS || !document.RootElement() ||
      std::string(document.RootElement()->Name()) != "COLLADA") {
    mesh.problem = "is not a COLLADA file";
    mesh.remedy = kDaeRemedy;
    return mesh;
  }
  Reader reader{&mesh, max_triangles};
  try {
    read(document.RootElement(), &reader);
  } catch (const DaeError& problem) {
    mesh.problem = problem.what;
    mesh.remedy = problem.remedy;
  }
  return mesh;
}

}  // namespace capstan
