// SDFormat: <collision> and <visual> of links, and what their surfaces say.
//
//   surface/friction/ode   mu along fdir1, mu2 across it; without fdir1 the two should be one number
//   surface/friction/torsional   coefficient and patch_radius: a torque about the normal
//   surface/bounce         restitution_coefficient, threshold
//   surface/contact/ode    kp: stiffness
//
// Without a number mu is 1, as SDFormat has it.
#include <fmt/core.h>

#include <algorithm>
#include <numbers>

#include "capstan/io/mesh_file.h"
#include "capstan/io/sdf_reader.h"
#include "capstan/math/rotation.h"

namespace capstan::sdf {

namespace {

Pose shape_pose_of(const Transform& X) {
  return {X.p, quat_from_matrix(X.R)};
}

bool is_positive(Reader& reader, const XmlElement* element, double size) {
  if (size > 0) return true;
  reader.xml.error(element, fmt::format("<{}> has a size that is not above 0", XmlFiles::tag(element)),
                   "write metres, above 0");
  return false;
}

std::optional<Shape> read_mesh_of(Reader& reader, const XmlElement* element, bool visual) {
  const std::string uri = text(reader, element, "uri");
  const Vec3 scale = vec3(reader, element, "scale", Vec3::Ones());
  for (const XmlElement* each : reader.xml.children(element, "submesh"))
    reader.xml.not_simulated(each, "is not read: the whole mesh is used");
  Diagnostics problems;
  std::shared_ptr<const TriangleMesh> mesh;
  const int before = reader.xml.diagnostics()->num_errors();
  const std::string path = resolve_uri(reader, element, uri);
  if (!path.empty())
    mesh =
        read_mesh(path, scale, reader.xml.where(element), reader.xml.limits().max_mesh_triangles, &problems);
  if (visual && reader.xml.diagnostics()->num_errors() > before) {
    problems.list.push_back(reader.xml.diagnostics()->list.back());
    reader.xml.diagnostics()->list.pop_back();
  }
  for (Diagnostic& problem : problems.list) {  // a mesh that only draws cannot make the model unusable
    if (visual && problem.severity == Severity::error) {
      reader.xml.diagnostics()->not_understood(problem.where, "visual " + problem.what, problem.remedy);
    } else {
      reader.xml.diagnostics()->list.push_back(problem);
    }
  }
  if (!mesh) return std::nullopt;
  if (visual) return SurfaceMesh{mesh};
  return ConvexMesh{mesh};
}

// The shape, and where it stands in the frame of its element.
std::optional<Shape> read_geometry(Reader& reader, const XmlElement* element, bool visual, Transform* X) {
  const XmlElement* geometry = child(reader, element, "geometry");
  const auto list = geometry ? reader.xml.children(geometry) : std::vector<const XmlElement*>{};
  if (list.size() != 1) {
    reader.xml.error(element, fmt::format("<{}> has {} geometries", XmlFiles::tag(element), list.size()),
                     "write one <geometry> with one shape in it");
    return std::nullopt;
  }
  const XmlElement* shape = list.front();
  const std::string tag = XmlFiles::tag(shape);
  reader.xml.accept(shape);
  if (tag == "empty") return std::nullopt;
  if (tag == "mesh") return read_mesh_of(reader, shape, visual);
  if (tag == "box") {
    const Vec3 size = vec3(reader, shape, "size", Vec3::Ones());
    if (is_positive(reader, shape, size.minCoeff())) return Box{size / 2};
  } else if (tag == "sphere") {
    const double radius = number(reader, shape, "radius", 1);
    if (is_positive(reader, shape, radius)) return Sphere{radius};
  } else if (tag == "cylinder" || tag == "capsule") {
    const double radius = number(reader, shape, "radius", tag == "cylinder" ? 1 : 0.5),
                 length = number(reader, shape, "length", 1);
    if (!is_positive(reader, shape, std::min(radius, length))) return std::nullopt;
    if (tag == "cylinder") return Cylinder{radius, length / 2};
    return Capsule{radius, length / 2};
  } else if (tag == "ellipsoid") {
    const Vec3 radii = vec3(reader, shape, "radii", Vec3::Ones());
    if (is_positive(reader, shape, radii.minCoeff())) return Ellipsoid{radii};
  } else if (tag == "plane") {
    const Vec3 normal = vec3(reader, shape, "normal", Vec3(0, 0, 1));
    child(reader, shape, "size");  // of what is drawn: the plane itself has no end
    if (normal.norm() > 0) *X = *X * Transform{frame_from_z(normal.normalized()), Vec3::Zero()};
    return HalfSpace{};
  } else {
    reader.xml.not_simulated(shape, "is a geometry that is not supported; the shape is left out");
  }
  return std::nullopt;
}

// The name of the scene's material that is like this one.
std::string share(Scene* scene, Material material) {
  for (const Material& m : scene->materials) {
    const bool same_tensor =
        m.friction_tensor.has_value() == material.friction_tensor.has_value() &&
        (!m.friction_tensor || (m.friction_tensor->across == material.friction_tensor->across &&
                                m.friction_tensor->direction == material.friction_tensor->direction));
    if (m.friction == material.friction && m.stiffness == material.stiffness && same_tensor &&
        m.restitution == material.restitution && m.restitution_threshold == material.restitution_threshold &&
        m.torsional_friction == material.torsional_friction)
      return m.name;
  }
  material.name = fmt::format("surface_{}", scene->materials.size() + 1);
  scene->materials.push_back(material);
  return material.name;
}

// [m] A patch of radius a that carries its load as a sphere does (Hertz): its torque is (3 pi / 16) a times
// the friction force.
double read_torsional(Reader& reader, const XmlElement* torsional) {
  const double coefficient = std::max(0.0, number(reader, torsional, "coefficient", 1));
  const double radius = std::max(0.0, number(reader, torsional, "patch_radius", 0));
  const bool by_depth = !flag(reader, torsional, "use_patch_radius", true);
  number(reader, torsional, "surface_radius", 0);
  if (by_depth && coefficient > 0) {
    reader.xml.not_simulated(torsional, "by the depth of contact (surface_radius) is not simulated");
    return 0;
  }
  return 3 * std::numbers::pi / 16 * coefficient * radius;
}

std::string read_surface(Reader& reader, const XmlElement* collision, Scene* scene) {
  XmlFiles& xml = reader.xml;
  Material material;
  material.where = xml.where(collision);
  material.friction = 1;
  const XmlElement* surface = child(reader, collision, "surface");
  if (!surface) return share(scene, material);
  if (const XmlElement* friction = child(reader, surface, "friction")) {
    if (const XmlElement* ode = child(reader, friction, "ode")) {
      material.friction = std::max(0.0, number(reader, ode, "mu", 1));
      const double mu2 = std::max(0.0, number(reader, ode, "mu2", material.friction));
      const Vec3 fdir1 = vec3(reader, ode, "fdir1", Vec3::Zero());
      if (mu2 != material.friction && fdir1.norm() > 0) {
        material.friction_tensor = FrictionTensor{material.friction, mu2, fdir1.normalized()};
      } else if (mu2 != material.friction) {
        xml.diagnostics()->not_understood(
            xml.where(ode),
            fmt::format("mu2 = {:g} without fdir1 has no direction; mu = {:g} is used", mu2,
                        material.friction),
            "write fdir1, or the same number twice");
      }
      for (const char* tag : {"slip1", "slip2"}) {
        if (number(reader, ode, tag, 0) != 0) xml.not_simulated(child(reader, ode, tag), "is not simulated");
      }
    }
    if (const XmlElement* torsional = child(reader, friction, "torsional"))
      material.torsional_friction = read_torsional(reader, torsional);
    for (const XmlElement* each : xml.children(friction, "bullet"))
      xml.not_simulated(each, "is not simulated; ode's mu is used");
  }
  if (const XmlElement* bounce = child(reader, surface, "bounce")) {
    material.restitution = std::clamp(number(reader, bounce, "restitution_coefficient", 0), 0.0, 1.0);
    const double threshold = number(reader, bounce, "threshold", 1e5);
    if (threshold < 1e4) material.restitution_threshold = std::max(0.0, threshold);
  }
  if (const XmlElement* contact = child(reader, surface, "contact")) {
    if (const XmlElement* ode = child(reader, contact, "ode")) {
      const double kp = number(reader, ode, "kp", 1e12);
      if (kp > 0 && kp < 1e12) material.stiffness = kp;
      for (const char* tag : {"kd", "max_vel", "min_depth", "soft_cfm", "soft_erp"}) {
        for (const XmlElement* each : xml.children(ode, tag)) xml.accept_all(each);
      }
    }
    for (const char* tag : {"collide_bitmask", "category_bitmask", "collide_without_contact"}) {
      for (const XmlElement* each : xml.children(contact, tag)) xml.not_simulated(each, "is not simulated");
    }
  }
  for (const XmlElement* each : xml.children(surface, "soft_contact"))
    xml.not_simulated(each, "is not simulated");
  return share(scene, material);
}

std::array<float, 4> read_colour_of(Reader& reader, const XmlElement* visual, std::array<float, 4> rgba) {
  const XmlElement* material = child(reader, visual, "material");
  if (!material) return rgba;
  const XmlElement* diffuse = child(reader, material, "diffuse");
  if (diffuse) {
    const auto v = numbers_of(reader, diffuse, 4);
    for (std::size_t i = 0; i < v.size(); ++i) rgba[i] = static_cast<float>(v[i]);
  }
  reader.xml.accept_all(material);
  return rgba;
}

}  // namespace

void read_shapes(Reader& reader, const XmlElement* element, Scene* scene, Link* link) {
  XmlFiles& xml = reader.xml;
  for (const char* tag : {"visual", "collision"}) {
    const bool visual = std::string(tag) == "visual";
    int count = 0;
    for (const XmlElement* each : xml.children(element, tag)) {
      if (!xml.count(each)) return;
      xml.accept(each);
      xml.accept_attributes(each, {"name"});
      ShapeInstance shape;
      shape.where = xml.where(each);
      shape.name = fmt::format("{}_{}_{}", link->name, tag, ++count);
      shape.collides = !visual;
      shape.has_mass = false;
      Transform X = pose(reader, each).X;
      if (visual) {
        shape.rgba = read_colour_of(reader, each, shape.rgba);
        for (const char* drawn : {"cast_shadows", "transparency", "laser_retro", "layers", "visibility_flags",
                                  "meta", "plugin"}) {
          for (const XmlElement* e : xml.children(each, drawn)) xml.accept_all(e);
        }
      } else {
        shape.material = read_surface(reader, each, scene);
        for (const char* other : {"laser_retro", "max_contacts"}) {
          for (const XmlElement* e : xml.children(each, other)) xml.accept_all(e);
        }
      }
      auto made = read_geometry(reader, each, visual, &X);
      if (!made) continue;
      shape.shape = std::move(*made);
      shape.pose = shape_pose_of(X);
      link->shapes.push_back(std::move(shape));
    }
  }
}

void add_pairs(Scene* scene) {
  for (std::size_t i = 0; i < scene->materials.size(); ++i) {
    for (std::size_t j = i + 1; j < scene->materials.size(); ++j) {
      const Material &a = scene->materials[i], &b = scene->materials[j];
      if (a.friction == b.friction || a.friction_tensor || b.friction_tensor) continue;
      PairOverride pair;
      pair.a = a.name;
      pair.b = b.name;
      pair.where = a.where;
      pair.friction = std::min(a.friction, b.friction);
      scene->pairs.push_back(std::move(pair));
    }
  }
}

}  // namespace capstan::sdf
