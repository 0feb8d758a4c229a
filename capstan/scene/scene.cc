#include "capstan/scene/scene.h"

#include <algorithm>
#include <unordered_map>

#include "capstan/math/rotation.h"
#include "capstan/scene/rod.h"
#include "capstan/scene/soft_body.h"

namespace capstan {

Scene::Scene() = default;
Scene::Scene(const Scene&) = default;
Scene::Scene(Scene&&) noexcept = default;
Scene& Scene::operator=(const Scene&) = default;
Scene& Scene::operator=(Scene&&) noexcept = default;
Scene::~Scene() = default;

Transform to_transform(const Pose& pose) {
  return {rotation_matrix(pose.quat_wxyz / pose.quat_wxyz.norm()), pose.position};
}

std::array<float, 4> drawn_color(std::array<float, 4> rgba) {
  for (float& x : rgba) x = x > 0 ? std::min(x, 1.0f) : 0.0f;  // NaN is 0, too
  return rgba;
}

std::vector<Tendon::Term> merged_terms(const Tendon& tendon) {
  std::vector<Tendon::Term> terms;
  std::unordered_map<std::string, std::size_t> place;
  for (const Tendon::Term& term : tendon.terms) {
    const auto [at, is_new] = place.emplace(term.joint, terms.size());
    if (is_new) {
      terms.push_back(term);
    } else {
      terms[at->second].coefficient += term.coefficient;
    }
  }
  return terms;
}

int num_positions(JointType type) {
  switch (type) {
    case JointType::weld:
      return 0;
    case JointType::revolute:
    case JointType::prismatic:
    case JointType::screw:
      return 1;
    case JointType::universal:
      return 2;
    case JointType::planar:
      return 3;
    case JointType::ball:
      return 4;
    case JointType::free:
      return 7;
  }
  return 0;
}

int num_velocities(JointType type) {
  if (type == JointType::ball) return 3;
  if (type == JointType::free) return 6;
  return num_positions(type);
}

const char* joint_type_name(JointType type) {
  constexpr const char* names[] = {"weld",      "revolute", "prismatic", "screw",
                                   "universal", "ball",     "planar",    "free"};
  return names[static_cast<int>(type)];
}

namespace {
constexpr const char* kIntegratorNames[] = {"explicit_euler", "symplectic_euler", "semi_implicit",
                                            "implicit_euler", "midpoint"};
}

const char* integrator_name(Integrator integrator) {
  return kIntegratorNames[static_cast<int>(integrator)];
}

std::optional<Integrator> integrator_from_name(const std::string& name) {
  for (int i = 0; i < 5; ++i) {
    if (name == kIntegratorNames[i]) return static_cast<Integrator>(i);
  }
  return std::nullopt;
}

}  // namespace capstan
