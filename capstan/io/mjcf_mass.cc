// <compiler inertiafromgeom="true">: an <inertial> gives way to the body's shapes, where any has mass.
// <compiler boundmass boundinertia settotalmass>: MuJoCo applies these after it has the inertia of each body,
// so where one is asked for, the inertia that compile() would infer from the shapes is computed here.
#include <fmt/core.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"

namespace capstan::mjcf {

namespace {

const TriangleMesh* mesh_of(const ShapeInstance& shape) {
  const auto* mesh = std::get_if<ConvexMesh>(&shape.shape);
  return mesh ? mesh->mesh.get() : nullptr;
}

// What meshes weigh where MuJoCo's rule gives another volume than the true one.
using MeshVolumes = std::map<const TriangleMesh*, VolumeProperties>;

// Sum over the shapes with mass of a body: mass, centre, and moments by the parallel-axis rule.
std::optional<Inertia> inertia_of_shapes(const Scene& scene, const std::vector<int>& shapes,
                                         const MeshVolumes& meshes) {
  struct Part {
    double mass;
    Vec3 com;
    Mat3 about_com;
  };
  std::vector<Part> parts;
  Inertia total;
  for (const int s : shapes) {
    const ShapeInstance& shape = scene.shapes[s];
    if (!shape.has_mass) continue;
    const auto by_rule = meshes.find(mesh_of(shape));
    const VolumeProperties volume =
        by_rule == meshes.end() ? volume_properties(shape.shape) : by_rule->second;
    if (!(volume.volume > 0)) continue;
    const double density = shape.mass ? *shape.mass / volume.volume : shape.density;
    const Mat3 R = rotation_matrix(shape.pose.quat_wxyz);
    const Part part{density * volume.volume, shape.pose.position + R * volume.centroid,
                    density * R * volume.inertia * R.transpose()};
    total.mass += part.mass;
    total.com += part.mass * part.com;
    parts.push_back(part);
  }
  if (!(total.mass > 0)) return std::nullopt;
  total.com /= total.mass;
  for (const Part& part : parts) {
    const Mat3 S = skew(part.com - total.com);
    total.about_com += part.about_com - part.mass * S * S;
  }
  return total;
}

bool differ(const VolumeProperties& a, const VolumeProperties& b) {
  const double size = std::cbrt(std::abs(b.volume));
  return std::abs(a.volume - b.volume) > 1e-6 * std::abs(b.volume) ||
         (a.centroid - b.centroid).norm() > 1e-6 * size ||
         (a.inertia - b.inertia).cwiseAbs().maxCoeff() > 1e-6 * b.inertia.cwiseAbs().maxCoeff();
}

// Bodies that are weighed by their meshes, where the rule of a mesh matters: they get their inertia here.
MeshVolumes weigh_by_rule(Reader& reader, const std::map<std::string, std::vector<int>>& shapes_of) {
  Scene& scene = reader.scene;
  MeshVolumes meshes;
  std::set<const TriangleMesh*> seen;
  double most = 1;
  std::string worst;
  for (Body& body : scene.bodies) {
    const auto shapes = shapes_of.find(body.name);
    if (body.inertia || shapes == shapes_of.end()) continue;
    bool matters = false;
    for (const int s : shapes->second) {
      const TriangleMesh* mesh = mesh_of(scene.shapes[s]);
      const auto rule = reader.mesh_rules.find(mesh);
      if (!scene.shapes[s].has_mass || rule == reader.mesh_rules.end()) continue;
      if (seen.insert(mesh).second) {
        const VolumeProperties by_rule = weigh_mesh(*mesh, rule->second.inertia),
                               solid = volume_properties(*mesh);
        if (differ(by_rule, solid)) {
          meshes[mesh] = by_rule;
          const double ratio = by_rule.volume / solid.volume;
          if (rule->second.inertia == MeshSpec::legacy && !(std::abs(ratio - 1) <= std::abs(most - 1))) {
            most = ratio;
            worst = rule->second.name;
          }
        }
      }
      matters = matters || meshes.count(mesh) > 0;
    }
    if (matters) body.inertia = inertia_of_shapes(scene, shapes->second, meshes);
  }
  if (!worst.empty() && std::abs(most - 1) > 0.01) {
    reader.xml.diagnostics()->warning(
        {scene.file, 0},
        fmt::format("{} mesh{} weighed by MuJoCo's rule 'legacy', which is not the volume that they enclose: "
                    "'{}' weighs {:.3g} times as much",
                    meshes.size(), meshes.size() == 1 ? " is" : "es are", worst, most),
        "write inertia=\"exact\" on <mesh> for closed meshes, or <inertial> in the bodies");
  }
  return meshes;
}

// <inertial mass="0">, which frames of cameras and the like have: such a body weighs nothing, whatever its
// shapes are.
void drop_massless(Reader& reader) {
  for (Body& body : reader.scene.bodies) {
    if (!reader.massless.count(body.name) || !body.inertia) continue;
    const double moment = body.inertia->about_com.cwiseAbs().maxCoeff();
    body.inertia.reset();
    for (ShapeInstance& shape : reader.scene.shapes) {
      if (shape.body == body.name) shape.has_mass = false;
    }
    if (moment == 0) continue;
    reader.xml.diagnostics()->warning(
        body.where,
        fmt::format("body '{}' has mass 0 and moments of inertia up to {:g} kg m^2, which are left out",
                    body.name, moment),
        "write its mass, or remove <inertial>");
  }
}

}  // namespace

std::map<std::string, std::optional<Inertia>> calc_inertias(const Scene& scene) {
  std::map<std::string, std::vector<int>> shapes_of;
  for (std::size_t s = 0; s < scene.shapes.size(); ++s)
    shapes_of[scene.shapes[s].body].push_back(static_cast<int>(s));
  std::map<std::string, std::optional<Inertia>> inertias;
  for (const Body& body : scene.bodies) {
    inertias[body.name] = body.inertia ? body.inertia : inertia_of_shapes(scene, shapes_of[body.name], {});
  }
  return inertias;
}

std::map<std::string, double> calc_masses(const Scene& scene) {
  std::map<std::string, double> masses;
  for (const auto& [name, inertia] : calc_inertias(scene)) masses[name] = inertia ? inertia->mass : 0;
  return masses;
}

void settle_masses(Reader& reader) {
  const Compiler& compiler = reader.compiler;
  Scene& scene = reader.scene;
  if (compiler.inertia_from_geom == Compiler::FromGeom::yes) {
    std::set<std::string> weighed;
    for (const ShapeInstance& shape : scene.shapes) {
      if (shape.has_mass) weighed.insert(shape.body);
    }
    for (Body& body : scene.bodies) {
      if (weighed.count(body.name)) body.inertia.reset();
    }
  }
  std::map<std::string, std::vector<int>> shapes_of;
  for (std::size_t s = 0; s < scene.shapes.size(); ++s) {
    shapes_of[scene.shapes[s].body].push_back(static_cast<int>(s));
  }
  const MeshVolumes meshes = weigh_by_rule(reader, shapes_of);
  const bool bounds = compiler.bound_mass > 0 || compiler.bound_inertia > 0;
  if (compiler.bound_mass <= 0) drop_massless(reader);
  if (!bounds && compiler.total_mass <= 0) return;
  double total = 0;
  for (Body& body : scene.bodies) {
    if (!body.inertia) body.inertia = inertia_of_shapes(scene, shapes_of[body.name], meshes);
    if (!body.inertia && bounds) body.inertia = Inertia{};
    if (!body.inertia) continue;
    body.inertia->mass = std::max(body.inertia->mass, compiler.bound_mass);
    if (compiler.bound_inertia > 0) {
      const Eigen::SelfAdjointEigenSolver<Mat3> principal(body.inertia->about_com);
      const Vec3 moments = principal.eigenvalues().cwiseMax(compiler.bound_inertia);
      const Mat3& R = principal.eigenvectors();
      if (moments != principal.eigenvalues())
        body.inertia->about_com = R * moments.asDiagonal() * R.transpose();
    }
    total += body.inertia->mass;
  }
  if (compiler.total_mass > 0 && total > 0) {
    for (Body& body : scene.bodies) {
      if (!body.inertia) continue;
      body.inertia->mass *= compiler.total_mass / total;
      body.inertia->about_com *= compiler.total_mass / total;
    }
  }
}

}  // namespace capstan::mjcf
