// Model: everything about a scene that does not change while it runs, resolved to indices. compile() makes
// it.
//
// Bodies that are welded together move as one *link*; dynamics knows links only. Link 0 is the world with
// everything welded to it. Links are in depth-first order, so that a tree, and every subtree, is a contiguous
// range of links and of dofs. The joints of a link are broken into *stages*, each a primitive motion applied
// in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/collider.h"
#include "capstan/math/branch_matrix.h"
#include "capstan/math/transform.h"
#include "capstan/model/object.h"
#include "capstan/scene/scene.h"

namespace capstan {

struct PressureField;  // geometry/pressure_field.h

enum class StageType : std::uint8_t { revolute, prismatic, screw, ball, free };

// A primitive motion. Velocities of ball and free stages are in the axes of the frame before the stage.
struct Stage {
  StageType type = StageType::revolute;
  int q = 0;                     // first position index
  int v = 0;                     // first velocity index
  Vec3 axis = Vec3(0, 0, 1);     // unit, link frame
  Vec3 position = Vec3::Zero();  // [m] link frame
  double pitch = 0;              // screw [m/rad]
  double reference = 0;          // q at which the stage is the identity
};

struct Link {
  int parent = -1;  // link; -1 for the world
  int object = -1;  // the tree, or what it is a carrier of (object.h); -1 for the world
  int body = 0;     // the body whose frame is the link frame
  int stage_begin = 0, stage_end = 0;
  int dof_begin = 0, dof_end = 0;  // at most 6
  int subtree_end = 0;             // links [this, subtree_end) are this and its descendants
  Transform X_PL;   // link frame in the parent link's frame, stages at reference; for a free stage the
                    // frame its q is relative to
  double mass = 0;  // [kg] of all bodies of the link
  Vec3 com = Vec3::Zero();      // [m] link frame
  Mat3 inertia = Mat3::Zero();  // [kg m^2] about com, link frame
  double weightless_mass =
      0;  // [kg] part of the mass that gravity does not act on (gravity_compensated bodies)
  Vec3 weightless_com = Vec3::Zero();  // [m] its centre, link frame
};

struct Tree {
  int link_begin = 0, link_end = 0;
  int dof_begin = 0, dof_end = 0;
  bool coupled = false;  // a tendon or its actuator couples dofs of different branches: A is dense there
  int num_dofs() const { return dof_end - dof_begin; }
};

struct ModelBody {
  std::string name;
  int parent = -1;  // body; -1 for the world
  int link = 0;
  Transform X_LB;   // body frame in its link's frame
  double mass = 0;  // [kg] of this body alone
};

// A joint as the user named it; its dofs are [v, v + num_velocities(type)).
struct ModelJoint {
  std::string name;
  JointType type = JointType::revolute;
  int body = 0;
  int q = 0, v = 0;
  double stiffness = 0;  // ball and free springs; those of scalar dofs are in ModelDof
  std::vector<Range> limits;
  std::optional<SoftReference> soft_limits;
  double effort_limit = kInfinity;
  double dry_friction = 0;
};

// One number of v.
struct ModelDof {
  int joint = 0, link = 0;  // -1: of an object without joints
  int object = 0;
  int q = -1;  // position index when q is a plain number (dq/dt = v), else -1
  double stiffness = 0, spring_reference = 0, damping = 0, dry_friction = 0, rotor_inertia = 0;
  double effort_limit = kInfinity;
  double reference = 0;  // q at which the body has the pose of the scene; 0 where q < 0
};

// A joint with limits or dry friction. Where it is but limits of one dof whose q is a plain number, they are
// here: every step looks at all of them.
struct LimitedJoint {
  int joint = 0;
  int dof = -1, q = -1;  // -1: see the joint
  Range limits;
  std::optional<SoftReference> soft;
};

// length = sum coefficient * q, rate = sum coefficient * v. On dofs of a ball joint the length is coefficient
// times the rotation vector; dofs of a free joint add to the rate only. Of a spatial tendon the coefficients
// depend on q: here they are 0, and calc_path() (dynamics/spatial_tendon.h) sets those of a copy.
struct Transmission {
  struct Term {
    int dof = 0;
    double coefficient = 1;
  };
  std::vector<Term> terms;
  int tree = -1;      // the one tree of all dofs, or -1
  int path = -1;      // in Model::tendons: the spatial tendon it is of, or -1
  double gear = 1;    // of that tendon's length
  double length = 0;  // of a spatial tendon [m] where the coefficients are taken
};

// TendonPoint, resolved.
struct ModelTendonPoint {
  TendonPoint::Kind kind = TendonPoint::Kind::site;
  int body = 0;
  Transform X_BS;  // the site, or the shape, in the body's frame
  bool is_sphere = true;
  double radius = 0;         // [m] of the sphere or cylinder
  int side_body = -1;        // -1: the tendon takes the shorter way
  Vec3 side = Vec3::Zero();  // [m] in the frame of side_body
  double divisor = 1;
};

struct ModelTendon {
  std::string name;
  Transmission transmission;
  double stiffness = 0, damping = 0, dry_friction = 0;
  Range spring_rest = {0, 0};
  std::optional<Range> limits;
  std::vector<ModelTendonPoint> path;  // empty: the coefficients are constant
};

struct ModelActuator {
  std::string name;
  Transmission transmission;  // gear included
  double gain = 1;
  Vec3 bias = Vec3::Zero();
  Range control_range, force_range;
  double control = 0;
  Vec2 gain_slope = Vec2::Zero();
  Activation activation;
  std::optional<Muscle> muscle;
  Range input_range;  // of what the gain multiplies: control_range, or with an activation all

  bool has_activation() const { return activation.type != ActivationType::none; }
};

// An actuator that pushes and turns a body at a site (Actuator::site).
struct SiteActuator {
  int actuator = 0;  // its force is that of this one, whose transmission is empty
  int body = 0;
  Transform X_BS;
  Vec6 gear = Vec6::Zero();  // (force, torque), axes of the site
};

// A body as a fluid sees it: a box of its mass and moments (Options::fluid_density).
struct DragBox {
  int body = 0;
  Transform X_BI;            // its centre of mass and principal axes
  Vec3 size = Vec3::Zero();  // [m] edges along those
};

struct ModelConstraint {
  ConstraintType type = ConstraintType::ball;
  std::string name;
  int body_a = 0, body_b = 0;
  std::optional<Transform> X_A, X_B;  // in the body frames; both are set for ball, weld and distance
  int joint_a = -1, joint_b = -1;
  std::array<double, 5> polynomial = {0, 1, 0, 0, 0};
  double distance = 0, stiffness = kInfinity, relaxation_time = -1;
  std::optional<SoftReference> soft;
  bool active = true;
};

// What of a soft body's surface a shape is. Vertices meet half spaces, meshes and the triangles of soft
// bodies; triangles meet those, convex shapes, what of meshes is between vertices, and all shapes with which
// they have patches; edges meet edges. Of two soft bodies with patches triangles alone meet (has_patch()).
enum class SurfacePart : std::uint8_t { none, vertex, triangle, edge };

struct ModelShape {
  std::string name;
  int body = 0, link = 0;
  Transform X_LS;  // shape frame in the link frame
  Shape shape;
  int material = 0;
  bool collides = true;
  std::uint64_t group_bits = 1, mask_bits = 1;
  double margin = 0;
  bool has_moving_surface = false;
  Vec3 surface_velocity = Vec3::Zero(), surface_spin = Vec3::Zero();  // shape frame (ShapeInstance)
  double stiffness = 1e6;  // [N/m] the material's, or by default_stiffness.h
  double pair_margin = 0;  // [m] the largest margin of any pair it may be in
  Collider collider;       // for the collision engine; empty when it does not collide
  int flexible = -1;       // in Model::flexible_shapes: `collider` is its form at the start only
  SurfacePart part = SurfacePart::none;
  std::array<int, 3> beside = {-1, -1, -1};    // of a triangle: links of those across its edges
  std::shared_ptr<const PressureField> field;  // for patches; null: it touches at points
  double modulus = kInfinity;                  // E [Pa] of its pressure; infinite: rigid
  int patch_points = 0;                        // PatchOptions::points
  // Shapes of the same link that touch or overlap this one, so that they may cover parts of its surface
  // (contacts/covered.h).
  std::vector<int> neighbours;
  std::array<float, 4> rgba = {};
};

struct ModelPair {  // an override between two materials or two shapes
  PairOverride::Kind kind = PairOverride::Kind::materials;
  int a = 0, b = 0;
  PairOverride values;
};

struct ModelSite {
  std::string name;
  int body = 0;
  Transform X_BS;
};

struct ModelKeyframe {
  std::string name;
  double time = 0;
  VecX q, v, control;
  VecX activation = {};  // [actuators]; empty where none has one
};

struct Model {
  std::string name;
  Options options;

  std::vector<Link> links;
  std::vector<Stage> stages;
  std::vector<Tree> trees;
  std::vector<Object> objects;   // trees first
  std::vector<DofBlock> blocks;  // of the objects, in order
  std::vector<ModelDof> dofs;
  BranchPattern pattern;  // of the mass matrix, over all dofs
  BranchPattern
      system_pattern;  // of A = M + ... (SAP eq. 15): the same, but coupled trees are full triangles
  std::vector<int> mass_in_system;  // where each value of the mass matrix is among those of A

  std::vector<ModelBody> bodies;  // bodies[0] is the world
  std::vector<ModelJoint> joints;
  std::vector<LimitedJoint> limited_joints;
  std::vector<ModelTendon> tendons;
  std::vector<ModelActuator> actuators;
  std::vector<SiteActuator> site_actuators;
  std::vector<DragBox> drag_boxes;
  bool has_activations = false, has_spatial_tendons = false;
  std::vector<ModelConstraint> constraints;
  std::vector<ModelShape> shapes;
  std::vector<int> flexible_shapes;  // whose colliders change their form: Placement::flexible has them
  std::vector<Material> materials;
  std::vector<ModelPair> pairs;
  bool has_turning_friction = false;  // torsional or rolling, of any material or pair
  std::vector<std::array<int, 2>> excluded_bodies;
  std::vector<std::array<int, 2>> excluded_links;  // neighbours within an object, sorted
  std::vector<ModelSite> sites;
  std::vector<ModelKeyframe> keyframes;
  ModelKeyframe initial;

  int num_positions = 0;          // length of q
  std::uint64_t fingerprint = 0;  // hash of what a saved state depends on: sizes, names, masses, geometry

  int num_velocities() const { return static_cast<int>(dofs.size()); }
  int num_links() const { return static_cast<int>(links.size()); }
  int num_tree_links() const { return trees.empty() ? 1 : trees.back().link_end; }  // the world's included
  int num_objects() const { return static_cast<int>(objects.size()); }
  const Object& object_of_block(int block) const { return objects[blocks[block].object]; }

  // Index of a named thing, or -1.
  int find_body(const std::string& name) const;
  int find_joint(const std::string& name) const;
  int find_actuator(const std::string& name) const;
  int find_keyframe(const std::string& name) const;

  // In a .cc file: to copy and to free all this is much code, which else every file would compile.
  Model();
  Model(const Model&);
  Model(Model&&) noexcept;
  Model& operator=(const Model&);
  Model& operator=(Model&&) noexcept;
  ~Model();
};

// Resolves and examines a scene. Every problem found is added to `diagnostics`; the model is usable when it
// is ok.
Model compile(const Scene& scene, Diagnostics* diagnostics);

// The same; throws InputError with every message when there is an error.
Model compile(const Scene& scene);

}  // namespace capstan
