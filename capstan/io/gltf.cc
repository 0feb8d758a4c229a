#include "capstan/io/gltf.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "capstan/base/version.h"
#include "capstan/dynamics/tree.h"
#include "capstan/io/soft_surface.h"
#include "capstan/io/surface.h"
#include "capstan/math/rotation.h"
#include "capstan/model/add_soft_body.h"

namespace capstan {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFloat = 5126, kUnsignedInt = 5125, kArrayBuffer = 34962, kElementBuffer = 34963;
constexpr int kSegments = 32;
constexpr double kPlateHalfSize = 10;  // [m]

class Builder {
 public:
  explicit Builder(const Model& model) : model_(model) {
    json_["asset"] = {{"version", "2.0"}, {"generator", std::string("capstan ") + version()}};
    json_["scene"] = 0;
    json_["scenes"] = Json::array({Json{{"name", model.name}, {"nodes", Json::array({0})}}});
    // x stays, z becomes y: a quarter turn back about x.
    json_["nodes"].push_back({{"name", "world"},
                              {"rotation", {-std::sqrt(0.5), 0, 0, std::sqrt(0.5)}},
                              {"children", Json::array()}});
    node_of_link_.assign(model.num_links(), 0);
    for (const int id : find_soft_bodies(model)) {
      const Object& object = model.objects[id];
      std::fill(node_of_link_.begin() + object.link_begin, node_of_link_.begin() + object.link_end, -1);
    }
    for (int l = 1; l < model.num_links(); ++l) {
      if (node_of_link_[l] == 0)
        node_of_link_[l] = add_node({{"name", model.bodies[model.links[l].body].name}}, 0);
    }
    for (const ModelShape& shape : model.shapes) {
      const bool is_drawn = shape.part != SurfacePart::vertex && shape.part != SurfacePart::edge;
      if (is_drawn && node_of_link_[shape.link] >= 0) add_shape(shape);
    }
  }

  void set_poses(const std::vector<State>& states) {
    const int n = model_.num_links();
    std::vector<float> times;
    std::vector<std::vector<float>> positions(n), rotations(n);
    Placement placement = make_placement(model_);
    for (const State& state : states) {
      calc_placement(model_, state.q, &placement);
      times.push_back(static_cast<float>(state.time - states.front().time));
      for (int l = 1; l < n; ++l) {
        if (node_of_link_[l] >= 0) add_pose(placement.X_WL[l], &positions[l], &rotations[l]);
      }
    }
    if (states.empty() || n == 1) return;
    for (int l = 1; l < n; ++l) {
      if (node_of_link_[l] < 0) continue;
      const std::vector<float>&p = positions[l], &r = rotations[l];
      Json& node = json_["nodes"][node_of_link_[l]];
      node["translation"] = {p[0], p[1], p[2]};
      node["rotation"] = {r[0], r[1], r[2], r[3]};
    }
    std::vector<int> soft_nodes;
    for (const int id : find_soft_bodies(model_)) soft_nodes.push_back(add_soft_body(id, states));
    if (states.size() < 2) return;
    const int input = add_accessor(times.data(), times.size(), 1, kFloat, 0);
    Json& accessor = json_["accessors"][input];
    accessor["min"] = Json::array({times.front()});
    accessor["max"] = Json::array({times.back()});
    Json animation = {{"name", "run"}, {"samplers", Json::array()}, {"channels", Json::array()}};
    const auto channel = [&](int node, const char* path, const std::vector<float>& values, int width) {
      const int output = add_accessor(values.data(), values.size() / width, width, kFloat, 0);
      animation["channels"].push_back(
          {{"sampler", animation["samplers"].size()}, {"target", {{"node", node}, {"path", path}}}});
      animation["samplers"].push_back({{"input", input}, {"output", output}, {"interpolation", "LINEAR"}});
    };
    for (int l = 1; l < n; ++l) {
      if (node_of_link_[l] < 0) continue;
      channel(node_of_link_[l], "translation", positions[l], 3);
      channel(node_of_link_[l], "rotation", rotations[l], 4);
    }
    if (!soft_nodes.empty()) add_weights(soft_nodes, states.size(), input, &animation);
    json_["animations"] = Json::array({animation});
  }

  std::string file() {
    json_["buffers"] = Json::array({Json{{"byteLength", binary_.size()}}});
    std::string text = json_.dump(-1, ' ', false, Json::error_handler_t::replace);
    text.resize((text.size() + 3) / 4 * 4, ' ');
    binary_.resize((binary_.size() + 3) / 4 * 4, '\0');
    std::string out;
    const auto word = [&out](std::uint32_t x) { out.append(reinterpret_cast<const char*>(&x), sizeof x); };
    word(0x46546C67);  // "glTF"
    word(2);
    word(static_cast<std::uint32_t>(12 + 8 + text.size() + 8 + binary_.size()));
    word(static_cast<std::uint32_t>(text.size()));
    word(0x4E4F534A);  // "JSON"
    out += text;
    word(static_cast<std::uint32_t>(binary_.size()));
    word(0x004E4942);  // "BIN"
    return out + binary_;
  }

 private:
  int add_node(const Json& node, int parent) {
    const int index = static_cast<int>(json_["nodes"].size());
    json_["nodes"].push_back(node);
    json_["nodes"][parent]["children"].push_back(index);
    return index;
  }

  // The sign of the quaternion is that of the one before, so that viewers turn the short way.
  static void add_pose(const Transform& X, std::vector<float>* positions, std::vector<float>* rotations) {
    for (const double x : X.p) positions->push_back(static_cast<float>(x));
    const Vec4 q = quat_from_matrix(X.R);
    double sign = 1;
    if (const std::size_t n = rotations->size(); n >= 4) {
      const float* before = rotations->data() + n - 4;
      sign = before[0] * q[1] + before[1] * q[2] + before[2] * q[3] + before[3] * q[0] < 0 ? -1 : 1;
    }
    for (const int i : {1, 2, 3, 0}) rotations->push_back(static_cast<float>(sign * q[i]));
  }

  int add_accessor(const void* data, std::size_t count, int width, int type, int target) {
    static constexpr const char* kTypes[] = {"", "SCALAR", "", "VEC3", "VEC4"};
    const std::size_t bytes = count * width * 4;
    Json view = {{"buffer", 0}, {"byteOffset", binary_.size()}, {"byteLength", bytes}};
    if (target != 0) view["target"] = target;
    binary_.append(static_cast<const char*>(data), bytes);
    json_["bufferViews"].push_back(view);
    json_["accessors"].push_back({{"bufferView", json_["bufferViews"].size() - 1},
                                  {"componentType", type},
                                  {"count", count},
                                  {"type", kTypes[width]}});
    return static_cast<int>(json_["accessors"].size()) - 1;
  }

  // Colours of scenes are as on a screen (sRGB); those of glTF are linear.
  static double linear(float c) { return c <= 0.04045f ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }

  int add_material(const std::array<float, 4>& rgba) {
    Json material = {{"pbrMetallicRoughness",
                      {{"baseColorFactor", {linear(rgba[0]), linear(rgba[1]), linear(rgba[2]), rgba[3]}},
                       {"metallicFactor", 0.0},
                       {"roughnessFactor", 0.6}}}};
    if (rgba[3] < 1) material["alphaMode"] = "BLEND";
    for (std::size_t i = 0; i < json_["materials"].size(); ++i) {
      if (json_["materials"][i] == material) return static_cast<int>(i);
    }
    json_["materials"].push_back(material);
    return static_cast<int>(json_["materials"].size()) - 1;
  }

  int add_positions(const std::vector<std::array<float, 3>>& positions) {
    const int accessor = add_accessor(positions.data(), positions.size(), 3, kFloat, kArrayBuffer);
    std::array<float, 3> low = positions[0], high = low;
    for (const auto& p : positions) {
      for (int i = 0; i < 3; ++i) low[i] = std::min(low[i], p[i]), high[i] = std::max(high[i], p[i]);
    }
    json_["accessors"][accessor]["min"] = low;
    json_["accessors"][accessor]["max"] = high;
    return accessor;
  }

  // A mesh of one primitive.
  Json make_mesh(const std::string& name, const std::vector<std::array<float, 3>>& positions,
                 const std::vector<std::array<float, 3>>& normals,
                 const std::vector<std::array<std::uint32_t, 3>>& triangles,
                 const std::array<float, 4>& rgba) {
    const int position = add_positions(positions);
    const int normal = add_accessor(normals.data(), normals.size(), 3, kFloat, kArrayBuffer);
    const int index = add_accessor(triangles.data(), 3 * triangles.size(), 1, kUnsignedInt, kElementBuffer);
    const Json attributes = {{"POSITION", position}, {"NORMAL", normal}};
    const Json primitive = {{"attributes", attributes}, {"indices", index}, {"material", add_material(rgba)}};
    return {{"name", name}, {"primitives", Json::array({primitive})}};
  }

  void add_shape(const ModelShape& shape) {
    const bool plate = std::holds_alternative<HalfSpace>(shape.shape);
    Transform X = shape.X_LS;
    if (plate) X.p -= X.R.col(2) * 0.01;
    const DrawnSurface s =
        make_surface(plate ? Shape(Box{{kPlateHalfSize, kPlateHalfSize, 0.01}}) : shape.shape, kSegments);
    if (s.positions.empty()) return;
    json_["meshes"].push_back(make_mesh(shape.name, s.positions, s.normals, s.triangles, shape.rgba));
    const Vec4 q = quat_from_matrix(X.R);
    add_node({{"name", shape.name},
              {"mesh", json_["meshes"].size() - 1},
              {"translation", {X.p.x(), X.p.y(), X.p.z()}},
              {"rotation", {q[1], q[2], q[3], q[0]}}},
             node_of_link_[shape.link]);
  }

  // The surface in the first state; what it has moved by in each of the others are its targets.
  int add_soft_body(int id, const std::vector<State>& states) {
    const Object& object = model_.objects[id];
    const SoftBody& body = soft_body_of(model_, id);
    const SoftSurface surface = make_soft_surface(body);
    const auto vertices_at = [&](const State& state) {
      return calc_soft_vertices(surface, state.q.segment(object.q_begin, object.num_positions()));
    };
    const SoftVertices first = vertices_at(states[0]);
    const std::string name = soft_body_name(model_, id);
    Json mesh = make_mesh(name, first.positions, first.normals, surface.triangles, body.spec().rgba);
    Json targets = Json::array();
    for (std::size_t k = 1; k < states.size(); ++k) {
      SoftVertices moved = vertices_at(states[k]);
      for (std::size_t v = 0; v < surface.nodes.size(); ++v) {
        for (int i = 0; i < 3; ++i) {
          moved.positions[v][i] -= first.positions[v][i];
          moved.normals[v][i] -= first.normals[v][i];
        }
      }
      const int position = add_positions(moved.positions);
      const int normal = add_accessor(moved.normals.data(), moved.normals.size(), 3, kFloat, kArrayBuffer);
      targets.push_back({{"POSITION", position}, {"NORMAL", normal}});
    }
    if (!targets.empty()) {
      mesh["weights"] = std::vector<double>(targets.size(), 0.0);
      mesh["primitives"][0]["targets"] = std::move(targets);
    }
    json_["meshes"].push_back(std::move(mesh));
    return add_node({{"name", name}, {"mesh", json_["meshes"].size() - 1}}, 0);
  }

  // At each state its own target alone, at the first none: the same for all soft bodies.
  void add_weights(const std::vector<int>& nodes, std::size_t states, int input, Json* animation) {
    const std::size_t targets = states - 1;
    std::vector<float> weights(states * targets, 0.0f);
    for (std::size_t k = 0; k < targets; ++k) weights[(k + 1) * targets + k] = 1;
    const int output = add_accessor(weights.data(), weights.size(), 1, kFloat, 0);
    for (const int node : nodes) {
      (*animation)["channels"].push_back(
          {{"sampler", (*animation)["samplers"].size()}, {"target", {{"node", node}, {"path", "weights"}}}});
    }
    (*animation)["samplers"].push_back({{"input", input}, {"output", output}, {"interpolation", "LINEAR"}});
  }

  const Model& model_;
  std::vector<int> node_of_link_;  // -1: a part of a soft body
  Json json_;
  std::string binary_;
};

}  // namespace

std::string gltf_binary(const Model& model, const std::vector<State>& states) {
  Builder builder(model);
  builder.set_poses(states);
  return builder.file();
}

}  // namespace capstan
