#include "capstan/io/mesh_glb.h"

#include <fmt/core.h>

#include <Eigen/Geometry>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace capstan {

namespace {

using GlbJson = nlohmann::json;

struct GlbProblem {
  std::string what;
  std::string remedy = "export it again as .glb without compression, or as .obj";
};

constexpr int kMostGlbDepth = 64;

template <class T>
T read_word(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class Glb {
 public:
  Glb(const std::string& bytes, long max_triangles, GlbMesh* mesh)
      : bytes_(bytes), max_triangles_(max_triangles), mesh_(mesh) {
    if (bytes.size() < 20 || std::memcmp(bytes.data(), "glTF", 4) != 0) throw GlbProblem{"is no .glb file"};
    if (read_word<std::uint32_t>(bytes, 4) != 2)
      throw GlbProblem{"is of a glTF version other than 2", "export it again as glTF 2.0"};
    for (std::size_t at = 12; at + 8 <= bytes.size();) {
      const std::size_t size = read_word<std::uint32_t>(bytes, at);
      const std::uint32_t kind = read_word<std::uint32_t>(bytes, at + 4);
      if (size > bytes.size() - at - 8) throw GlbProblem{"is cut off"};
      if (kind == 0x4E4F534A && json_.is_null()) {
        json_ = GlbJson::parse(bytes.begin() + static_cast<std::ptrdiff_t>(at + 8),
                               bytes.begin() + static_cast<std::ptrdiff_t>(at + 8 + size), nullptr, false);
      } else if (kind == 0x004E4942 && binary_size_ == 0) {
        binary_ = at + 8;
        binary_size_ = size;
      }
      at += 8 + (size + 3) / 4 * 4;
    }
    if (!json_.is_object()) throw GlbProblem{"has no JSON that can be read"};
    for (const GlbJson& name : list("extensionsRequired")) {
      if (name.is_string() && name != "KHR_materials_unlit" && name != "KHR_texture_transform")
        throw GlbProblem{fmt::format("needs the extension '{}'", name.get<std::string>())};
    }
  }

  void read() {
    const GlbJson& scenes = list("scenes");
    if (scenes.empty()) {  // all meshes, as they are
      for (std::size_t i = 0; i < list("meshes").size(); ++i) add_mesh(i, Eigen::Affine3d::Identity());
      return;
    }
    const GlbJson& scene = at(scenes, index(json_, "scene", 0), "scene");
    for (const GlbJson& node : list(scene, "nodes")) add_node(to_index(node), Eigen::Affine3d::Identity(), 0);
  }

 private:
  const GlbJson& list(const GlbJson& of, const char* key) const {
    static const GlbJson none = GlbJson::array();
    const auto found = of.find(key);
    return found == of.end() || !found->is_array() ? none : *found;
  }
  const GlbJson& list(const char* key) const { return list(json_, key); }
  static std::size_t to_index(const GlbJson& value) {
    if (!value.is_number_unsigned()) throw GlbProblem{"has an index that is no number"};
    return value.get<std::size_t>();
  }
  static std::size_t index(const GlbJson& of, const char* key, std::size_t otherwise) {
    const auto found = of.find(key);
    return found == of.end() ? otherwise : to_index(*found);
  }
  static const GlbJson& at(const GlbJson& things, std::size_t i, const char* what) {
    if (i >= things.size() || !things[i].is_object())
      throw GlbProblem{fmt::format("names a {} that it does not have", what)};
    return things[i];
  }

  static std::vector<double> numbers(const GlbJson& of, const char* key, std::size_t count) {
    std::vector<double> values;
    const auto found = of.find(key);
    if (found == of.end()) return values;
    if (found->is_array()) {
      for (const GlbJson& x : *found)
        if (x.is_number()) values.push_back(x.get<double>());
    }
    if (values.size() != count)
      throw GlbProblem{fmt::format("has a node whose {} is not {} numbers", key, count)};
    return values;
  }

  void add_node(std::size_t i, const Eigen::Affine3d& X_parent, int depth) {
    if (depth > kMostGlbDepth || ++num_nodes_ > 1'000'000)
      throw GlbProblem{"has nodes within each other without end"};
    const GlbJson& node = at(list("nodes"), i, "node");
    Eigen::Affine3d X = X_parent;
    if (const auto m = numbers(node, "matrix", 16); !m.empty()) {
      X = X * Eigen::Affine3d(Eigen::Map<const Eigen::Matrix4d>(m.data()));
    } else {
      if (const auto t = numbers(node, "translation", 3); !t.empty()) X.translate(Vec3(t[0], t[1], t[2]));
      if (const auto q = numbers(node, "rotation", 4); !q.empty())
        X.rotate(Eigen::Quaterniond(q[3], q[0], q[1], q[2]).normalized());
      if (const auto s = numbers(node, "scale", 3); !s.empty()) X.scale(Vec3(s[0], s[1], s[2]));
    }
    if (node.contains("mesh")) add_mesh(index(node, "mesh", 0), X);
    for (const GlbJson& child : list(node, "children")) add_node(to_index(child), X, depth + 1);
  }

  // Where the entries of an accessor are.
  struct View {
    std::size_t first = 0, stride = 0, count = 0;
    int component = 0;
  };
  View view(std::size_t accessor_index, const char* type, std::size_t components) const {
    const GlbJson& accessor = at(list("accessors"), accessor_index, "accessor");
    if (accessor.contains("sparse") || !accessor.contains("bufferView"))
      throw GlbProblem{"has a sparse accessor"};
    if (accessor.value("type", "") != type) throw GlbProblem{"has an accessor of the wrong type"};
    const GlbJson& buffer = at(list("bufferViews"), index(accessor, "bufferView", 0), "bufferView");
    if (index(buffer, "buffer", 0) != 0) throw GlbProblem{"keeps its numbers in another file"};
    View v;
    v.component = static_cast<int>(index(accessor, "componentType", 0));
    const std::size_t size = v.component == 5126 || v.component == 5125   ? 4
                             : v.component == 5123 || v.component == 5122 ? 2
                                                                          : 1;
    v.count = index(accessor, "count", 0);
    v.stride = index(buffer, "byteStride", size * components);
    const std::size_t offset = index(buffer, "byteOffset", 0), inner = index(accessor, "byteOffset", 0);
    if (v.stride < size * components || v.stride > 4096 || offset > binary_size_ || inner > binary_size_ ||
        v.count > binary_size_ ||
        offset + inner + (v.count > 0 ? (v.count - 1) * v.stride + size * components : 0) > binary_size_)
      throw GlbProblem{"has an accessor that reaches beyond its numbers"};
    v.first = binary_ + offset + inner;
    return v;
  }

  int vertex_index(const View& v, std::size_t i) const {
    const std::size_t at_byte = v.first + i * v.stride;
    if (v.component == 5125) return static_cast<int>(read_word<std::uint32_t>(bytes_, at_byte) & 0x7fffffff);
    if (v.component == 5123) return read_word<std::uint16_t>(bytes_, at_byte);
    if (v.component == 5121) return static_cast<unsigned char>(bytes_[at_byte]);
    throw GlbProblem{"has vertex numbers of an unknown kind"};
  }

  void add_mesh(std::size_t i, const Eigen::Affine3d& X) {
    for (const GlbJson& primitive : list(at(list("meshes"), i, "mesh"), "primitives")) {
      const std::size_t mode = index(primitive, "mode", 4);
      const auto attributes = primitive.find("attributes");
      if (mode < 4 || attributes == primitive.end() || !attributes->contains("POSITION")) continue;
      const View p = view(index(*attributes, "POSITION", 0), "VEC3", 3);
      if (p.component != 5126) throw GlbProblem{"has vertices that are not 32-bit numbers"};
      const int first = static_cast<int>(mesh_->vertices.size());
      if (mesh_->vertices.size() + p.count > (std::size_t{1} << 30))
        throw GlbProblem{"has too many vertices"};
      for (std::size_t k = 0; k < p.count; ++k) {
        Eigen::Vector3f v;
        std::memcpy(v.data(), bytes_.data() + p.first + k * p.stride, 12);
        mesh_->vertices.push_back(X * v.cast<double>());
        if (!mesh_->vertices.back().allFinite()) throw GlbProblem{"has a vertex that is not finite"};
      }
      std::vector<int> corners;
      if (primitive.contains("indices")) {
        const View n = view(index(primitive, "indices", 0), "SCALAR", 1);
        for (std::size_t k = 0; k < n.count; ++k) corners.push_back(vertex_index(n, k));
      } else {
        for (std::size_t k = 0; k < p.count; ++k) corners.push_back(static_cast<int>(k));
      }
      const bool turned = X.linear().determinant() < 0;
      const auto add = [&](int a, int b, int c) {
        if (static_cast<long>(mesh_->triangles.size()) >= max_triangles_)
          throw GlbProblem{fmt::format("has more than {} triangles", max_triangles_), "simplify the mesh"};
        for (const int x : {a, b, c})
          if (x >= static_cast<int>(p.count))
            throw GlbProblem{"has a triangle of a vertex that it does not have"};
        if (turned) std::swap(b, c);
        mesh_->triangles.push_back({first + a, first + b, first + c});
      };
      const int count = static_cast<int>(corners.size());
      for (int k = 0; k + 2 < count; k += mode == 4 ? 3 : 1) {
        if (mode == 6) {
          add(corners[0], corners[k + 1], corners[k + 2]);
        } else if (mode == 5 && k % 2 == 1) {
          add(corners[k + 1], corners[k], corners[k + 2]);
        } else {
          add(corners[k], corners[k + 1], corners[k + 2]);
        }
      }
    }
  }

  const std::string& bytes_;
  long max_triangles_;
  GlbMesh* mesh_;
  GlbJson json_;
  std::size_t binary_ = 0, binary_size_ = 0;
  int num_nodes_ = 0;
};

}  // namespace

GlbMesh read_glb(const std::string& bytes, long max_triangles) {
  GlbMesh mesh;
  try {
    Glb(bytes, max_triangles, &mesh).read();
    if (mesh.triangles.empty()) throw GlbProblem{"has no triangles"};
  } catch (const GlbProblem& problem) {
    mesh.problem = problem.what;
    mesh.remedy = problem.remedy;
  } catch (const GlbJson::exception&) {
    mesh.problem = "has JSON of another form than glTF's";
    mesh.remedy = GlbProblem{}.remedy;
  }
  return mesh;
}

}  // namespace capstan
