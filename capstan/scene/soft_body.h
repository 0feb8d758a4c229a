// A soft body as the user asked for it: a solid of finite elements. physics/soft_body.h has its equation.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capstan/geometry/tet_mesh.h"
#include "capstan/scene/scene.h"

namespace capstan {

enum class SoftElement {
  linear,     // 4 nodes; too stiff in bending unless the mesh is fine, and for poisson_ratio near 0.5
  quadratic,  // 10 nodes: the vertices and the middles of the edges
};
// physics/elasticity.h has their energies.
enum class Elasticity { linear_corotational, corotated, neo_hookean, saint_venant_kirchhoff };

// Nodes in a part of space, in the frame of the mesh.
struct SoftRegion {
  bool is_ball = false;  // else a box
  Vec3 centre = Vec3::Zero();
  Vec3 half_size = Vec3::Zero();  // [m] of a box
  double radius = 0;              // [m] of a ball
  Source where = {};
  bool contains(const Vec3& p) const {
    const Vec3 d = p - centre;
    return is_ball ? d.norm() <= radius : (d.cwiseAbs() - half_size).maxCoeff() <= 0;
  }
};

// Nodes of a region that go with a body, each by a ball joint; the surface about them does not touch it.
struct SoftAttachment {
  Source where = {};
  SoftRegion region;
  std::string body = kWorld;
  double stiffness = kInfinity;  // as Constraint, of each node
  double relaxation_time = -1;
};

struct SoftBodySpec {
  std::string name;
  Source where = {};
  bool is_incomplete = false;               // a reader could not read all of it, and has told so
  std::map<std::string, Source> key_where;  // of keys of the file, where they are known
  Source source_of(const std::string& key) const {
    const auto at = key_where.find(key);
    return at == key_where.end() ? where : at->second;
  }
  std::string body = kWorld;  // whose frame, with all joints at their reference, `pose` is in
  Pose pose;                  // of the mesh
  std::shared_ptr<const TetMesh> mesh;
  SoftElement element = SoftElement::linear;
  Elasticity elasticity = Elasticity::linear_corotational;
  double young_modulus = 0;    // [Pa]
  double poisson_ratio = 0.4;  // below 0.5
  double density = 0;          // [kg/m^3]
  double alpha = 0, beta = 0;  // damping [1/s], [s]
  bool lumped_mass = true;     // at the nodes
  double pressure = 0;         // [Pa] in its cavities, above that around it
  // A sealed gas: (pressure + pressure_around) times the volume of the cavities stays as it is at the start.
  bool is_sealed = false;
  double pressure_around = 101325;  // [Pa]
  std::vector<SoftRegion> fixed;    // nodes there keep the velocity they have: zero
  std::vector<SoftAttachment> attachments;
  Vec3 velocity = Vec3::Zero();          // [m/s] of all nodes that are not fixed, at the start
  Vec3 angular_velocity = Vec3::Zero();  // [rad/s] about the centre of mass
  // As ShapeInstance has them.
  std::string material = "default";
  std::optional<ContactModel> contact;  // absent: as its material says
  bool collides = true;
  bool self_contact = false;  // parts of its surface that are no neighbours touch each other
  bool has_edges = false;     // edges of its surface touch those of soft bodies; compile() sets it
  std::uint64_t group_bits = 1, mask_bits = 1;
  double margin = 0;  // [m]
  std::array<float, 4> rgba = {0.45f, 0.65f, 0.55f, 1.0f};
};

}  // namespace capstan
