// How MuJoCo weighs a mesh, <mesh inertia="...">. With triangles of area A, centre c and normal n, and f the
// centroid of all triangles:
//
//   exact    the solid that the triangles bound (volume_properties)
//   convex   its hull
//   legacy   pyramids from f to each triangle, of volume |(c - f) . n| A / 3. This is MuJoCo's default. It is
//   the true
//            volume where every triangle is seen from f from within (convex meshes are), and more where not.
//   shell    the surface: the "volume" is the area, and density is per square metre
//
// Source: MuJoCo's user_mesh.cc. Its volume and inertia of `legacy` are those of pyramids from the centre of
// mass that the first set of pyramids gives, and so are these.
#include <cmath>

#include "capstan/geometry/hull_mesh.h"
#include "capstan/io/mjcf_reader.h"

namespace capstan::mjcf {

namespace {

struct Face {
  Vec3 a, b, c, center;
  Vec3 normal_area;  // normal times area
  double area;
};

std::vector<Face> faces_of(const TriangleMesh& mesh) {
  std::vector<Face> faces;
  for (const auto& t : mesh.triangles) {
    Face face{mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]], {}, {}, 0};
    face.center = (face.a + face.b + face.c) / 3;
    face.normal_area = cross(Vec3(face.b - face.a), Vec3(face.c - face.a)) / 2;
    face.area = face.normal_area.norm();
    faces.push_back(face);
  }
  return faces;
}

// Second moments of a triangle (a surface) or of its pyramid to the origin, per unit of area or volume.
Mat3 products(const Face& face, const Vec3& origin, bool surface) {
  const Vec3 a = face.a - origin, b = face.b - origin, c = face.c - origin, s = a + b + c;
  const Mat3 P = a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose();
  return P / (surface ? 12 : 20);
}

}  // namespace

VolumeProperties weigh_mesh(const TriangleMesh& mesh, MeshSpec::Inertia rule) {
  if (rule == MeshSpec::exact) return volume_properties(mesh);
  if (rule == MeshSpec::convex) {
    try {
      return volume_properties(hull_mesh(mesh.vertices));
    } catch (const InputError&) {
      return {};  // flat: told where the shape is compiled
    }
  }
  const std::vector<Face> faces = faces_of(mesh);
  double area = 0;
  Vec3 centroid = Vec3::Zero();
  for (const Face& face : faces) {
    area += face.area;
    centroid += face.area * face.center;
  }
  VolumeProperties result;
  if (!(area > 0)) return result;
  centroid /= area;
  const bool shell = rule == MeshSpec::shell;
  Vec3 com = centroid;
  if (!shell) {
    double volume = 0;
    com.setZero();
    for (const Face& face : faces) {
      const double part = std::abs((face.center - centroid).dot(face.normal_area)) / 3;
      volume += part;
      com += part * (0.75 * face.center + 0.25 * centroid);
    }
    if (!(volume > 0)) return result;
    com /= volume;
  }
  Mat3 P = Mat3::Zero();
  for (const Face& face : faces) {
    const double part = shell ? face.area : std::abs((face.center - com).dot(face.normal_area)) / 3;
    result.volume += part;
    P += part * products(face, com, shell);
  }
  result.centroid = com;
  result.inertia = P.trace() * Mat3::Identity() - P;
  return result;
}

}  // namespace capstan::mjcf
