// <geom> to ShapeInstance, <site> to Site.
//
// With fromto the shape's z axis points from the second point to the first and its half length is half their
// distance; box and ellipsoid take size[0] for both x and y. Planes are infinite for contact whatever their
// size says, as in MuJoCo.
#include <fmt/core.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"

namespace capstan::mjcf {

namespace {

// Pose and half length of what lies between two points; false with an error when they coincide.
bool place_between(Reader& reader, const XmlElement* element, const std::array<double, 6>& ends,
                   PoseSpec* pose, double* half_length) {
  const Vec3 from(ends[0], ends[1], ends[2]), to(ends[3], ends[4], ends[5]);
  *half_length = (from - to).norm() / 2;
  if (*half_length < 1e-14) {
    reader.xml.attribute_error(element, "fromto",
                               fmt::format("<{}> fromto: both points are the same", XmlFiles::tag(element)),
                               "write two different points");
    return false;
  }
  pose->position = (from + to) / 2;
  pose->quat_wxyz = quat_of_z_axis(from - to);
  return true;
}

std::optional<Shape> mesh_shape(Reader& reader, const XmlElement* element, const GeomSpec& spec) {
  const auto mesh = reader.meshes.find(spec.mesh_name);
  if (mesh == reader.meshes.end()) {
    reader.xml.attribute_error(element, "mesh",
                               spec.mesh_name.empty()
                                   ? "<geom> of type mesh names no mesh"
                                   : fmt::format("mesh '{}' does not exist", spec.mesh_name),
                               "define it in <asset> and write mesh=\"its name\"");
    return std::nullopt;
  }
  if (!mesh->second) return std::nullopt;  // said where the mesh was read
  return ConvexMesh{mesh->second};
}

// A primitive that is fitted to a mesh, as MuJoCo does it: of the box that has the mesh's mass and moments,
// with half sizes x <= y <= z along their axes, a sphere has the mean for its radius, a cylinder (x + y) / 2
// and z, a capsule the same but half a radius shorter, and box and ellipsoid all three.
std::optional<Shape> fit_shape(Reader& reader, const XmlElement* element, GeomSpec* spec) {
  const auto shape = mesh_shape(reader, element, *spec);
  if (!shape) return shape;
  const TriangleMesh& mesh = *reader.meshes.at(spec->mesh_name);
  const auto rule = reader.mesh_rules.find(&mesh);
  const VolumeProperties weight =
      weigh_mesh(mesh, rule == reader.mesh_rules.end() ? MeshSpec::legacy : rule->second.inertia);
  if (!(weight.volume > 0)) {
    reader.xml.attribute_error(
        element, "mesh", fmt::format("mesh '{}' encloses nothing that could be fitted", spec->mesh_name),
        "use type=\"mesh\"");
    return std::nullopt;
  }
  const Eigen::SelfAdjointEigenSolver<Mat3> axes(weight.inertia);  // ascending: the longest side first
  Transform X;
  X.p = weight.centroid;
  Vec3 half;
  for (int i = 0; i < 3; ++i) {
    X.R.col(i) = axes.eigenvectors().col(2 - i);
    const double side = axes.eigenvalues().sum() - 2 * axes.eigenvalues()[2 - i];
    half[i] = spec->fit_scale * 0.5 * std::sqrt(std::max(0.0, side) * 6 / weight.volume);
  }
  if (X.R.determinant() < 0) X.R.col(0) *= -1;
  const Pose pose = to_pose(to_transform(spec->pose) * X);
  spec->pose.position = pose.position;
  spec->pose.quat_wxyz = pose.quat_wxyz;
  const double radius = (half.x() + half.y()) / 2;
  switch (spec->type) {
    case GeomSpec::sphere:
      return Sphere{half.mean()};
    case GeomSpec::capsule:
      return Capsule{radius, std::max(0.0, half.z() - radius / 2)};
    case GeomSpec::cylinder:
      return Cylinder{radius, half.z()};
    case GeomSpec::ellipsoid:
      return Ellipsoid{half};
    default:
      return Box{half};
  }
}

std::optional<Shape> make_shape(Reader& reader, const XmlElement* element, GeomSpec* spec) {
  XmlFiles& xml = reader.xml;
  constexpr const char* kNames[] = {"plane",    "hfield", "sphere", "capsule", "ellipsoid",
                                    "cylinder", "box",    "mesh",   "sdf"};
  if (spec->type == GeomSpec::mesh) return mesh_shape(reader, element, *spec);
  if (spec->type == GeomSpec::sdf) {
    xml.not_simulated(element, "is a signed distance field, which is not supported; it is left out");
    return std::nullopt;
  }
  if (spec->type == GeomSpec::plane) return HalfSpace{};
  if (spec->type == GeomSpec::hfield) {
    const auto field = reader.hfields.find(spec->hfield_name);
    if (field != reader.hfields.end()) return field->second;
    if (!reader.exists(Kind::hfield, spec->hfield_name)) {
      xml.attribute_error(element, "hfield",
                          spec->hfield_name.empty()
                              ? "<geom> of type hfield names no hfield"
                              : fmt::format("hfield '{}' does not exist", spec->hfield_name),
                          "define it in <asset> and write hfield=\"its name\"");
    }
    return std::nullopt;
  }
  if (!spec->mesh_name.empty()) return fit_shape(reader, element, spec);

  std::array<double, 3> size = spec->size;
  int needed = spec->type == GeomSpec::sphere                                        ? 1
               : spec->type == GeomSpec::capsule || spec->type == GeomSpec::cylinder ? 2
                                                                                     : 3;
  if (spec->fromto) {
    if (spec->type == GeomSpec::sphere) {
      xml.attribute_error(element, "fromto", "a sphere cannot have fromto", "use a capsule, or pos and size");
      return std::nullopt;
    }
    double half_length = 0;
    if (!place_between(reader, element, *spec->fromto, &spec->pose, &half_length)) return std::nullopt;
    if (needed == 3) size[1] = size[0];
    size[needed - 1] = half_length;
    if (spec->num_sizes < 1) size[0] = 0;
  }
  for (int i = 0; i < needed; ++i) {
    if (size[i] > 0) continue;
    xml.attribute_error(element, "size",
                        fmt::format("a {} has size[{}] = {}", kNames[spec->type], i, size[i]),
                        spec->type == GeomSpec::sphere ? "write size=\"radius\", above 0"
                        : needed == 2                  ? "write size=\"radius half_length\", both above 0"
                                                       : "write size=\"half_x half_y half_z\", all above 0");
    return std::nullopt;
  }
  switch (spec->type) {
    case GeomSpec::sphere:
      return Sphere{size[0]};
    case GeomSpec::capsule:
      return Capsule{size[0], size[1]};
    case GeomSpec::cylinder:
      return Cylinder{size[0], size[1]};
    case GeomSpec::ellipsoid:
      return Ellipsoid{Vec3(size[0], size[1], size[2])};
    default:
      return Box{Vec3(size[0], size[1], size[2])};
  }
}

}  // namespace

void read_geom(Reader& reader, const XmlElement* element, const Scope& scope) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return;
  xml.accept(element);
  for (const XmlElement* child : xml.children(element, "plugin")) {
    xml.not_simulated(child, "is not supported");
  }
  GeomSpec spec = find_class(reader, element, scope.childclass).geom;
  overlay_geom(reader, element, &spec);
  ShapeInstance shape;
  shape.where = xml.where(element);
  shape.body = scope.body;
  shape.name = reader.claim_name(Kind::geom, element, scope.suffix, scope.body + "_geom");
  auto made = make_shape(reader, element, &spec);
  if (!made) return;
  shape.shape = std::move(*made);
  shape.pose = to_pose(scope.frame * to_transform(spec.pose));
  shape.material = material_of(reader, element, spec);
  shape.density = spec.density;
  shape.mass = spec.mass;
  const Compiler& compiler = reader.compiler;
  const bool massless = spec.mass ? *spec.mass == 0 : spec.density == 0;
  shape.has_mass = scope.body_index >= 0 && !massless &&
                   compiler.inertia_from_geom != Compiler::FromGeom::no &&
                   spec.group >= compiler.inertia_groups[0] && spec.group <= compiler.inertia_groups[1];
  if (massless) shape.mass.reset();
  shape.group_bits = spec.contype;
  shape.mask_bits = spec.conaffinity;
  shape.collides = (spec.contype != 0 || spec.conaffinity != 0) && !compiler.contacts_disabled;
  shape.margin = spec.margin;
  if (!spec.material.empty()) {
    const auto colour = reader.colours.find(spec.material);
    if (colour == reader.colours.end()) {
      xml.attribute_error(element, "material", fmt::format("material '{}' does not exist", spec.material),
                          "define it in <asset> or correct the name");
    } else if (colour->second.rgba) {
      shape.rgba = *colour->second.rgba;
    }
  }
  if (spec.rgba) shape.rgba = *spec.rgba;
  reader.shape_index[shape.name] = static_cast<int>(reader.scene.shapes.size());
  reader.scene.shapes.push_back(std::move(shape));
}

void read_site(Reader& reader, const XmlElement* element, const Scope& scope) {
  XmlFiles& xml = reader.xml;
  if (!xml.count(element)) return;
  xml.accept(element);
  SiteSpec spec = find_class(reader, element, scope.childclass).site;
  overlay_site(reader, element, &spec);
  double half_length = 0;
  if (spec.fromto && !place_between(reader, element, *spec.fromto, &spec.pose, &half_length)) return;
  Site site;
  site.where = xml.where(element);
  site.body = scope.body;
  site.name = reader.claim_name(Kind::site, element, scope.suffix, scope.body + "_site");
  site.pose = to_pose(scope.frame * to_transform(spec.pose));
  reader.site_index[site.name] = static_cast<int>(reader.scene.sites.size());
  reader.scene.sites.push_back(std::move(site));
}

}  // namespace capstan::mjcf
