// glTF files: what the specification asks of their structure, and the poses that were recorded.
#include "capstan/io/gltf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "capstan/dynamics/tree.h"
#include "capstan/io/read.h"
#include "capstan/math/rotation.h"
#include "capstan/model/add_soft_body.h"
#include "capstan/step/step.h"

namespace capstan::gltf_test {
namespace {

using Json = nlohmann::json;

struct Glb {
  Json json;
  std::string binary;

  explicit Glb(const std::string& file) {
    EXPECT_EQ(file.substr(0, 4), "glTF");
    EXPECT_EQ(word(file, 4), 2u);
    EXPECT_EQ(word(file, 8), file.size());
    const std::uint32_t text = word(file, 12);
    EXPECT_EQ(text % 4, 0u);
    EXPECT_EQ(file.substr(16, 4), "JSON");
    json = Json::parse(file.substr(20, text));
    EXPECT_EQ(word(file, 20 + text) + 28 + text, file.size());
    EXPECT_EQ(file.substr(24 + text, 4), std::string("BIN\0", 4));
    binary = file.substr(28 + text);
  }
  static std::uint32_t word(const std::string& file, std::size_t at) {
    std::uint32_t x;
    std::memcpy(&x, file.data() + at, sizeof x);
    return x;
  }
  template <typename T>
  std::vector<T> values(int accessor) const {
    const Json& a = json["accessors"][accessor];
    const Json& view = json["bufferViews"][a["bufferView"].get<int>()];
    std::vector<T> out(view["byteLength"].get<std::size_t>() / sizeof(T));
    std::memcpy(out.data(), binary.data() + view["byteOffset"].get<std::size_t>(), out.size() * sizeof(T));
    return out;
  }
};

// What readers rely on: sizes that fit, indices in range, bounds that hold, a tree of nodes.
void check_structure(const Glb& glb) {
  const Json& j = glb.json;
  EXPECT_EQ(j["asset"]["version"], "2.0");
  const auto length = j["buffers"][0]["byteLength"].get<std::size_t>();
  EXPECT_LE(length, glb.binary.size());
  EXPECT_LT(glb.binary.size() - length, 4u);
  std::size_t end = 0;
  for (const Json& view : j["bufferViews"]) {  // one after the other, nothing between them
    EXPECT_EQ(view["byteOffset"], end);
    EXPECT_EQ(end % 4, 0u);
    end += view["byteLength"].get<std::size_t>();
  }
  EXPECT_EQ(end, length);
  const std::map<std::string, std::size_t> widths = {{"SCALAR", 1}, {"VEC3", 3}, {"VEC4", 4}};
  for (std::size_t i = 0; i < j["accessors"].size(); ++i) {
    const Json& a = j["accessors"][i];
    const std::size_t width = widths.at(a["type"]), count = a["count"];
    EXPECT_GT(count, 0u);
    EXPECT_EQ(j["bufferViews"][a["bufferView"].get<int>()]["byteLength"], 4 * width * count);
    if (!a.contains("min")) continue;
    const std::vector<float> values = glb.values<float>(static_cast<int>(i));
    for (std::size_t k = 0; k < width; ++k) {
      float low = INFINITY, high = -INFINITY;
      for (std::size_t v = k; v < values.size(); v += width) {
        low = std::min(low, values[v]), high = std::max(high, values[v]);
      }
      EXPECT_EQ(a["min"][k].get<float>(), low);
      EXPECT_EQ(a["max"][k].get<float>(), high);
    }
  }
  for (const Json& mesh : j["meshes"]) {
    const Json& p = mesh["primitives"][0];
    const int position = p["attributes"]["POSITION"], normal = p["attributes"]["NORMAL"];
    const std::size_t vertices = j["accessors"][position]["count"];
    EXPECT_EQ(j["accessors"][normal]["count"], vertices);
    EXPECT_TRUE(j["accessors"][position].contains("min"));
    EXPECT_LT(p["material"].get<std::size_t>(), j["materials"].size());
    const auto indices = glb.values<std::uint32_t>(p["indices"]);
    EXPECT_EQ(indices.size() % 3, 0u);
    for (const std::uint32_t i : indices) ASSERT_LT(i, vertices);
    const auto normals = glb.values<float>(normal);
    for (std::size_t i = 0; i < normals.size(); i += 3) {
      EXPECT_NEAR(std::hypot(normals[i], normals[i + 1], normals[i + 2]), 1, 1e-5);
    }
  }
  for (const Json& mesh : j["meshes"]) {
    const Json& p = mesh["primitives"][0];
    if (!p.contains("targets")) continue;
    EXPECT_EQ(mesh["weights"].size(), p["targets"].size());
    for (const Json& target : p["targets"]) {
      for (const char* name : {"POSITION", "NORMAL"}) {
        EXPECT_EQ(j["accessors"][target[name].get<int>()]["count"],
                  j["accessors"][p["attributes"][name].get<int>()]["count"]);
      }
      EXPECT_TRUE(j["accessors"][target["POSITION"].get<int>()].contains("min"));
    }
  }
  std::set<int> seen = {0};
  for (const Json& node : j["nodes"]) {
    if (!node.contains("children")) continue;
    EXPECT_FALSE(node["children"].empty());
    for (const int child : node["children"]) EXPECT_TRUE(seen.insert(child).second) << "two parents";
  }
  EXPECT_EQ(seen.size(), j["nodes"].size());
}

std::vector<State> simulate(const Model& model, int steps) {
  std::vector<State> states = {initial_state(model)};
  State state = states[0];
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < steps; ++i) {
    step(model, step_options(model), {}, &state, &workspace);
    states.push_back(state);
  }
  return states;
}

Model shipped(const std::string& file) {
  return compile(read_scene(std::string(CAPSTAN_SOURCE_DIR "/scenes/") + file));
}

class Gltf : public testing::TestWithParam<const char*> {};

TEST_P(Gltf, HasTheStructureAndTheRecordedPoses) {
  const Model model = shipped(GetParam());
  const std::vector<State> states = simulate(model, 30);
  const Glb glb(gltf_binary(model, states));
  check_structure(glb);

  const Json& animation = glb.json["animations"][0];
  ASSERT_EQ(animation["channels"].size(), 2u * (model.num_links() - 1));
  Placement placement = make_placement(model);
  for (const Json& channel : animation["channels"]) {
    const Json& sampler = animation["samplers"][channel["sampler"].get<int>()];
    const auto times = glb.values<float>(sampler["input"]), values = glb.values<float>(sampler["output"]);
    ASSERT_EQ(times.size(), states.size());
    EXPECT_EQ(times[0], 0);
    for (std::size_t i = 1; i < times.size(); ++i) ASSERT_GT(times[i], times[i - 1]);
    const int link = channel["target"]["node"];
    const bool turns = channel["target"]["path"] == "rotation";
    ASSERT_EQ(values.size(), (turns ? 4 : 3) * states.size());
    for (const std::size_t i : {std::size_t{0}, std::size_t{7}, std::size_t{30}}) {
      calc_placement(model, states[i].q, &placement);
      const Transform& X = placement.X_WL[link];
      EXPECT_NEAR(times[i], states[i].time - states[0].time, 1e-6);
      if (turns) {
        const float* q = values.data() + 4 * i;  // x y z w
        const Mat3 R = rotation_matrix(Vec4(q[3], q[0], q[1], q[2]));
        EXPECT_LT((R - X.R).cwiseAbs().maxCoeff(), 1e-6);
      } else {
        for (int k = 0; k < 3; ++k) EXPECT_NEAR(values[3 * i + k], X.p[k], 1e-6 * (1 + std::abs(X.p[k])));
      }
    }
    if (!turns) continue;
    for (std::size_t i = 4; i < values.size(); i += 4) {  // viewers turn the short way
      float dot = 0;
      for (int k = 0; k < 4; ++k) dot += values[i + k] * values[i + k - 4];
      EXPECT_GT(dot, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, Gltf, testing::Values("clutter.yaml", "humanoid.xml", "arm_reach.yaml"));

// The surface of each soft body as the file has it at each of its times, against the recorded positions.
TEST(GltfFile, SoftBodiesAreMeshesThatMorph) {
  const Model model = shipped("soft_stack.yaml");
  const std::vector<State> states = simulate(model, 12);
  const Glb glb(gltf_binary(model, states));
  check_structure(glb);
  const std::vector<int> bodies = find_soft_bodies(model);
  ASSERT_GT(bodies.size(), 1u);
  std::map<std::string, const Json*> nodes;
  for (const Json& node : glb.json["nodes"]) nodes[node["name"]] = &node;
  EXPECT_EQ(nodes.count(soft_body_name(model, bodies[0]) + "/face0"), 0u);
  const Json& animation = glb.json["animations"][0];
  int found = 0;
  for (const Json& channel : animation["channels"]) {
    if (channel["target"]["path"] != "weights") continue;
    const Json& sampler = animation["samplers"][channel["sampler"].get<int>()];
    const auto weights = glb.values<float>(sampler["output"]);
    const Json& node = glb.json["nodes"][channel["target"]["node"].get<int>()];
    EXPECT_FALSE(node.contains("translation"));
    const Json& primitive = glb.json["meshes"][node["mesh"].get<int>()]["primitives"][0];
    const Json& targets = primitive["targets"];
    ASSERT_EQ(weights.size(), states.size() * targets.size());
    const int id = bodies[found++];
    EXPECT_EQ(node["name"], soft_body_name(model, id));
    const Object& object = model.objects[id];
    const SoftBody& body = soft_body_of(model, id);
    const auto triangles = glb.values<std::uint32_t>(primitive["indices"]);
    ASSERT_EQ(triangles.size(), 3 * body.triangles().size());
    double moved = 0;
    for (std::size_t frame = 0; frame < states.size(); ++frame) {
      auto x = glb.values<float>(primitive["attributes"]["POSITION"]),
           normals = glb.values<float>(primitive["attributes"]["NORMAL"]);
      for (std::size_t t = 0; t < targets.size(); ++t) {
        const float weight = weights[frame * targets.size() + t];
        const auto dx = glb.values<float>(targets[t]["POSITION"]),
                   dn = glb.values<float>(targets[t]["NORMAL"]);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += weight * dx[i], normals[i] += weight * dn[i];
      }
      const auto q_at = [&](std::size_t k) {
        return states[k].q.segment(object.q_begin, object.num_positions());
      };
      for (std::size_t c = 0; c < triangles.size(); ++c) {
        const auto& triangle = body.triangles()[c / 3];
        const auto corner = [&](int k) { return SoftBody::node(q_at(frame), triangle[k]); };
        const Vec3 p = corner(c % 3), area = cross(Vec3(corner(1) - corner(0)), Vec3(corner(2) - corner(0)));
        const float* vertex = x.data() + 3 * triangles[c];
        const Eigen::Map<const Eigen::Vector3f> normal(normals.data() + 3 * triangles[c]);
        for (int k = 0; k < 3; ++k) ASSERT_NEAR(vertex[k], p[k], 1e-6);
        EXPECT_NEAR(normal.norm(), 1, 1e-5);
        // No vertex has both sides of a crease.
        EXPECT_GT(normal.cast<double>().dot(area.normalized()), 0.75);
        moved = std::max(moved, (p - SoftBody::node(q_at(0), triangle[c % 3])).norm());
      }
    }
    EXPECT_GT(moved, 1e-3);
  }
  EXPECT_EQ(found, static_cast<int>(bodies.size()));
  const Glb one(gltf_binary(model, {states[0]}));
  check_structure(one);
  EXPECT_FALSE(one.json["meshes"].back().contains("weights"));
}

TEST(GltfFile, OneStateHasNoAnimationAndAWorldAloneIsValid) {
  const Model arm = shipped("arm_reach.yaml");
  const Glb one(gltf_binary(arm, {initial_state(arm)}));
  check_structure(one);
  EXPECT_FALSE(one.json.contains("animations"));
  Scene scene;
  ShapeInstance floor;
  floor.name = "floor";
  floor.shape = HalfSpace{};
  scene.shapes.push_back(floor);
  const Model world = compile(scene);
  check_structure(Glb(gltf_binary(world, {initial_state(world)})));
}

}  // namespace
}  // namespace capstan::gltf_test
