#include "capstan/io/urdf_repair.h"

#include <fmt/core.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "capstan/model/inertia.h"

namespace capstan {

namespace {

namespace fs = std::filesystem;

constexpr double kLeastMass = 1e-3;    // [kg]
constexpr double kLeastMoment = 1e-6;  // [kg m^2] a ball of 1 g and 5 cm

// Does the folder's package.xml have <name>package</name>?
bool is_package(const fs::path& folder, const std::string& package) {
  std::error_code ignored;
  const fs::path file = folder / "package.xml";
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) > (1u << 20)) return false;
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str().find("<name>" + package + "</name>") != std::string::npos;
}

std::string file_in(const fs::path& folder, const std::string& package, const std::string& rest) {
  std::error_code ignored;
  for (const fs::path& candidate : {folder.filename() == package ? folder : fs::path(), folder / package,
                                    is_package(folder, package) ? folder : fs::path()}) {
    if (!candidate.empty() && fs::is_regular_file(candidate / rest, ignored))
      return (candidate / rest).string();
  }
  return "";
}

}  // namespace

std::string repair_inertia(Inertia* inertia) {
  const Mat3& I = inertia->about_com;
  if (!(inertia->mass > 0) || !I.allFinite() || why_impossible(*inertia).empty()) return "";
  const Eigen::SelfAdjointEigenSolver<Mat3> principal(0.5 * (I + I.transpose()));
  const Vec3 before = principal.eigenvalues();
  Vec3 moments = before.cwiseMax(0.0);
  const double lack = moments[2] - moments[0] - moments[1];
  if (lack > 0) {  // a little more than needed, so that rounding cannot undo it
    moments[0] += lack * (0.5 + 1e-9);
    moments[1] += lack * (0.5 + 1e-9);
  }
  const Mat3& R = principal.eigenvectors();
  inertia->about_com = R * moments.asDiagonal() * R.transpose();
  inertia->about_com = (0.5 * (inertia->about_com + inertia->about_com.transpose())).eval();
  return fmt::format("its principal moments ({:.4g}, {:.4g}, {:.4g}) became ({:.4g}, {:.4g}, {:.4g}) kg m^2",
                     before[0], before[1], before[2], moments[0], moments[1], moments[2]);
}

void repair_massless_links(Scene* scene, Diagnostics* diagnostics) {
  std::map<std::string, double> mass;  // of each body with all that hangs on it
  std::map<std::string, const Body*> by_name;
  for (const Body& body : scene->bodies) by_name[body.name] = &body;
  for (const Body& body : scene->bodies) {
    if (!body.inertia) continue;
    std::string at = body.name;
    for (std::size_t depth = 0; depth <= scene->bodies.size() && by_name.count(at); ++depth) {
      mass[at] += body.inertia->mass;
      at = by_name.at(at)->parent;
    }
  }
  for (Body& body : scene->bodies) {
    const bool moves = std::any_of(body.joints.begin(), body.joints.end(),
                                   [](const Joint& joint) { return num_velocities(joint.type) > 0; });
    if (!moves || mass[body.name] > 0) continue;
    body.inertia = Inertia{kLeastMass, Vec3::Zero(), kLeastMoment * Mat3::Identity()};
    diagnostics->not_understood(
        body.where,
        fmt::format("link '{}' moves and nothing of it has mass; it gets {:g} kg and {:g} kg m^2", body.name,
                    kLeastMass, kLeastMoment),
        "write its <inertial>, or make its joint fixed");
  }
}

std::string find_in_package(const std::string& directory, const std::string& package,
                            const std::string& rest) {
  std::error_code ignored;
  fs::path at = fs::absolute(directory, ignored).lexically_normal();
  if (at.filename().empty()) at = at.parent_path();
  for (int depth = 0; depth < 64; ++depth) {
    if (std::string found = file_in(at, package, rest); !found.empty()) return found;
    if (!at.has_parent_path() || at.parent_path() == at) break;
    at = at.parent_path();
  }
  for (const char* variable : {"CAPSTAN_PACKAGE_PATH", "ROS_PACKAGE_PATH"}) {
    const char* value = std::getenv(variable);
    std::stringstream folders(value ? value : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (folder.empty()) continue;
      if (std::string found = file_in(folder, package, rest); !found.empty()) return found;
    }
  }
  return "";
}

}  // namespace capstan
