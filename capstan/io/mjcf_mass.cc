// <compiler inertiafromgeom="true">: an <inertial> gives way to the body's shapes, where any has mass.
// <compiler boundmass boundinertia settotalmass>: MuJoCo applies these after it has the inertia of each body,
// so where one is asked for, the inertia that compile() would infer from the shapes is computed here.
#include <Eigen/Eigenvalues>
#include <algorithm>

#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"

namespace capstan::mjcf {

namespace {

// Sum over the shapes with mass of a body: mass, centre, and moments by the parallel-axis rule.
std::optional<Inertia> inertia_of_shapes(const Scene& scene, const std::vector<int>& shapes) {
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
    const VolumeProperties volume = volume_properties(shape.shape);
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

}  // namespace

std::map<std::string, double> calc_masses(const Scene& scene) {
  std::map<std::string, std::vector<int>> shapes_of;
  for (std::size_t s = 0; s < scene.shapes.size(); ++s)
    shapes_of[scene.shapes[s].body].push_back(static_cast<int>(s));
  std::map<std::string, double> masses;
  for (const Body& body : scene.bodies) {
    const std::optional<Inertia> inertia =
        body.inertia ? body.inertia : inertia_of_shapes(scene, shapes_of[body.name]);
    masses[body.name] = inertia ? inertia->mass : 0;
  }
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
  const bool bounds = compiler.bound_mass > 0 || compiler.bound_inertia > 0;
  if (!bounds && compiler.total_mass <= 0) return;
  std::map<std::string, std::vector<int>> shapes_of;
  for (std::size_t s = 0; s < scene.shapes.size(); ++s) {
    shapes_of[scene.shapes[s].body].push_back(static_cast<int>(s));
  }
  double total = 0;
  for (Body& body : scene.bodies) {
    if (!body.inertia) body.inertia = inertia_of_shapes(scene, shapes_of[body.name]);
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
