// What the user asked for: plain structs with defaults, SI units, radians, z up. Readers (capstan/io) fill
// them, users may build them in code, compile() (capstan/model) turns them into a Model.
//
// Things refer to each other by name. Names are unique within their kind (bodies, joints, ...); compile()
// resolves them and reports unknown, duplicate and cyclic ones. "world" is the body that never moves; it
// always exists and is never listed in Scene::bodies (shapes on it have body "world").
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capstan/base/diagnostics.h"
#include "capstan/geometry/shape.h"
#include "capstan/math/transform.h"
#include "capstan/scene/contact_options.h"
#include "capstan/scene/controls.h"
#include "capstan/scene/sensor.h"

namespace capstan {

inline constexpr const char* kWorld = "world";

struct TetMesh;  // geometry/tet_mesh.h

struct Pose {
  Vec3 position = Vec3::Zero();       // [m] in the parent frame
  Vec4 quat_wxyz = Vec4(1, 0, 0, 0);  // unit; readers normalize
};

Transform to_transform(const Pose& pose);

struct Range {
  double lower = -kInfinity;
  double upper = kInfinity;
};

// --- Bodies
// --------------------------------------------------------------------------------------------------

struct Inertia {
  double mass = 0;                // [kg] > 0
  Vec3 com = Vec3::Zero();        // [m] centre of mass in the body frame
  Mat3 about_com = Mat3::Zero();  // [kg m^2] about the centre of mass, axes of the body frame; symmetric
};

enum class JointType { weld, revolute, prismatic, screw, universal, ball, planar, free };

// One joint between a body and what comes before it. A body may carry several, applied in order (as in MJCF);
// none at all welds the body to its parent. At q = reference the body has the pose that Body::pose says.
//
//   type       dofs  q                          v
//   weld       0     -                          -
//   revolute   1     angle [rad] about axis     rad/s
//   prismatic  1     travel [m] along axis      m/s
//   screw      1     angle [rad] about axis; travels pitch * angle along it
//   universal  2     angle about axis, then angle about the turned axis2
//   ball       3     quat_wxyz (4 numbers)      angular velocity [rad/s], axes of the frame before the joint
//   planar     3     x, y [m], angle [rad]      along two axes perpendicular to `axis`, turn about `axis`
//   free       6     x, y, z, quat_wxyz (7)     velocity of the body origin [m/s], angular velocity [rad/s],
//   both
//                                               in the axes of the frame before the joint (the world)
// MuJoCo's soft constraint in place of a near-rigid one (laws/soft_reference.h).
struct SoftReference {
  std::array<double, 2> solref = {0.02, 1};                   // time constant [s], damping ratio; or negative
                                                              // stiffness [1/s^2], damping [1/s]
  std::array<double, 5> solimp = {0.9, 0.95, 0.001, 0.5, 2};  // impedance at 0, from width [m or rad] on
};

struct Joint {
  std::string name;
  Source where;
  JointType type = JointType::revolute;
  Vec3 position = Vec3::Zero();  // [m] the joint's centre, in the body frame (ignored by prismatic, free)
  Vec3 axis = Vec3(0, 0, 1);     // in the body frame at q = reference; need not be unit
  Vec3 axis2 = Vec3(1, 0, 0);  // universal: second axis. planar: direction of x (made perpendicular to axis)
  double pitch = 0;            // screw: [m/rad]
  double reference = 0;        // value of q in the pose that Body::pose says (1-dof joints) [rad or m]

  double stiffness = 0;         // spring [N m/rad or N/m] on every dof
  double spring_reference = 0;  // rest position of the spring (1-dof, and each dof of universal and planar)
  double damping = 0;           // [N m s/rad or N s/m] on every dof
  double dry_friction = 0;      // Coulomb torque or force on every dof [N m or N]
  double rotor_inertia = 0;     // reflected inertia on every dof [kg m^2 or kg]
  std::vector<Range> limits;  // empty: none. One range for each dof in order; ball: one, of the turn [0, max]
  std::optional<SoftReference> soft_limits;  // 1-dof joints: acts once a limit is passed; absent: near-rigid
  double effort_limit = kInfinity;           // bound of the sum of actuator forces on each dof [N m or N]
  double velocity_limit = kInfinity;         // told to users (URDF); not enforced [rad/s or m/s]
};

struct Body {
  std::string name;
  Source where;
  std::string parent = kWorld;
  Pose pose;                         // in the parent body's frame, with its joints at their reference
  std::vector<Joint> joints;         // applied in order; at most 6 dofs in all
  std::optional<Inertia> inertia;    // absent: from the shapes' masses or densities
  bool gravity_compensated = false;  // gravity does not act on this body (MJCF gravcomp="1")
};

// --- Shapes and materials --------------------------------------------------------------------------------

// Friction that depends on direction: coefficients along and across a direction fixed in the shape.
struct FrictionTensor {
  double along = 0.5, across = 0.5;
  Vec3 direction = Vec3(1, 0, 0);  // in the frame of the shape; projected to the contact plane
};

// How shapes touch: at points, or over a patch where their pressure fields are equal
// (geometry/pressure_field.h). Two shapes have a patch if both ask for it and one of them at least is not
// rigid.
enum class ContactModel { point, patch };
inline constexpr std::array<const char*, 2> kContactModelNames = {"point", "patch"};

struct Material {
  std::string name;
  Source where;
  // k [N/m]; may be infinite (near-rigid). Not set: 1e6, or more for shapes that may carry more
  // (model/default_stiffness.h). The springs of two shapes that touch are in series.
  std::optional<double> stiffness;
  double stiffness_per_kilogram =
      0;                    // if > 0 replaces stiffness: k = this * mass of the body [1/s^2] (MJCF solref)
  double dissipation = 50;  // Hunt-Crossley d [s/m]
  double relaxation_time = -1;  // tau_d [s] of the Kelvin-Voigt law; negative: the time step
  double friction = 0.5;        // Coulomb coefficient mu
  std::optional<FrictionTensor> friction_tensor;
  double torsional_friction = 0;        // [m] torque about the normal over normal force
  double rolling_friction = 0;          // [m] torque about tangents over normal force
  double stiction_tolerance = 1e-6;     // v_s [m/s]
  double restitution = 0;               // e: an impact at speed u is left at e u; 0 to 1
  double restitution_threshold = 0.05;  // [m/s] slower impacts do not bounce
  ContactModel contact = ContactModel::point;
  double elastic_modulus = 1e7;  // E [Pa] of patches: the pressure where the field is 1; infinite: rigid
};

// What holds between two materials, or (kind shapes) two named shapes, in place of the combination rule.
struct PairOverride {
  enum class Kind { materials, shapes };
  Kind kind = Kind::materials;
  std::string a, b;
  Source where;
  std::optional<double> stiffness, dissipation, relaxation_time, friction, restitution, margin;
  std::optional<double> torsional_friction, rolling_friction;  // [m]
  std::optional<FrictionTensor> friction_tensor;               // direction in the frame of a's shape
};

// How a shape takes part in patches.
struct PatchOptions {
  std::optional<ContactModel> contact;  // absent: as its material says
  int rings = 3;                        // of facets of a round shape, from the middle of a patch outwards
  int points = 0;                       // a patch of more contact points is reduced to so many; 0: all stay
  double thickness = 0.1;               // [m] of the layer of a half space that yields
  std::shared_ptr<const TetMesh> tets;  // the inside of a mesh that is not convex; null: it is rigid
};

struct ShapeInstance {
  std::string name;
  Source where;
  std::string body = kWorld;
  Pose pose;  // in the body frame
  Shape shape;
  std::string material = "default";  // of Scene::materials; "default" exists even when not listed
  double density = 1000;             // [kg/m^3] used when the body has no inertia and no mass is given here
  std::optional<double> mass;        // [kg] wins over density
  bool collides = true;
  bool has_mass = true;  // false: visual only, adds no mass
  // Collides with another where (a.group_bits & b.mask_bits) or the reverse.
  std::uint64_t group_bits = 1, mask_bits = 1;
  double margin = 0;  // [m] contacts are reported within this distance
  // The surface moves along itself (a belt, a turntable) at surface_velocity [m/s] + surface_spin [rad/s] x
  // r, r from the shape's origin, both in the shape's frame; its part along the normal does nothing.
  Vec3 surface_velocity = Vec3::Zero(), surface_spin = Vec3::Zero();
  PatchOptions patch;
  std::array<float, 4> rgba = {0.6f, 0.6f, 0.65f, 1.0f};
};

// Two bodies whose shapes never collide.
struct CollisionExclude {
  std::string body_a, body_b;
  Source where;
};

struct Site {  // a named frame on a body
  std::string name;
  Source where;
  std::string body = kWorld;
  Pose pose;
};

// --- Couplings and actuators -------------------------------------------------------------------------------

// A station on the way of a spatial tendon (Tendon::path).
struct TendonPoint {
  enum class Kind { site, wrap, pulley };
  Kind kind = Kind::site;
  std::string name;    // of a site; of the sphere or cylinder that the tendon lies on between two sites
  std::string side;    // wrap: a site on the side where it passes; if inside the shape, it passes through
  double divisor = 1;  // pulley: lengths after it count by 1 / divisor, until the next; the way begins anew
};

// Either length = sum of coefficient * q over 1-dof joints; one that is named twice counts twice. Or the
// length of a string along `path`, straight between sites and shortest over what it wraps around.
struct Tendon {
  struct Term {
    std::string joint;
    double coefficient = 1;
  };
  std::string name;
  Source where;
  std::vector<Term> terms;
  double stiffness = 0, damping = 0, dry_friction = 0, rotor_inertia = 0;
  Range spring_rest = {0, 0};  // no spring force while the length is within
  std::optional<Range> limits;
  std::vector<TendonPoint> path;      // empty: over joints, by `terms`
  bool is_rest_of_reference = false;  // spring_rest is the length with all joints at their reference
};

// How an actuator's activation a follows its control u (clamped to control_range), explicitly in each step.
//
//   none          there is no activation: the control acts at once
//   integrator    da/dt = u
//   filter        da/dt = (u - a) / t
//   filter_exact  the same, integrated exactly over the step
//   muscle        da/dt = (u - a) / tau, tau = t_on (0.5 + 1.5 a) where u > a, else t_off / (0.5 + 1.5 a)
enum class ActivationType { none, integrator, filter, filter_exact, muscle };
inline constexpr std::array<const char*, 5> kActivationNames = {"none", "integrator", "filter",
                                                                "filter_exact", "muscle"};

struct Activation {
  ActivationType type = ActivationType::none;
  double time_constant = 1;      // t or t_on [s]
  double time_constant_off = 1;  // t_off [s], of muscle
  double smoothing = 0;          // of muscle: width in u - a over which tau changes from t_off to t_on
  Range range;                   // a is kept within
  double start = 0;              // a at the start
};

// A muscle pulls with force * (a FL(L) FV(V) + FP(L)), where L is the length of the transmission in units of
// the rest length L0 of the fibres, V its rate in units of fastest * L0 per second: length_range is mapped to
// `operating`. FL is 1 at L = 1 and 0 outside [shortest, longest]; FV is 0 at V = -1, 1 at 0 and
// `lengthening` from V = lengthening - 1; FP is 0 to L = 1 and passive / 2 half-way to `longest`.
struct Muscle {
  Range length_range;              // [m], gear included
  Range operating = {0.75, 1.05};  // of L
  double force = 1;                // [N] at rest length, of full activation
  double shortest = 0.5, longest = 1.6, fastest = 1.5, passive = 1.3, lengthening = 1.2;
  bool operator==(const Muscle&) const = default;
};

// force = gain * u + bias[0] + bias[1] * length + bias[2] * velocity, clamped to force_range, where u is the
// control clamped to control_range, length = gear * (q or tendon length), velocity its rate. The generalized
// force is gear * force. Torque: gain 1. PD with stiffness kp, damping kd: gain kp, bias (0, -kp, -kd): u is
// the target. On a site, gear is (force, torque) for each unit of force, in the axes of the site, as a
// thruster or propeller exerts them; there is no length. The gain may itself depend on length and velocity,
// gain + gain_slope . (length, velocity): a damper whose strength is controlled. With an activation, that
// takes the place of u.
struct Actuator {
  std::string name;
  Source where;
  std::string joint, tendon, site;  // exactly one of them
  Vec6 gear = (Vec6() << 1, 0, 0, 0, 0, 0)
                  .finished();  // scalar joints and tendons use gear[0] only; for ball
                                // the first three act on the rotation, for free joints (force, torque)
  double gain = 1;
  Vec3 bias = Vec3::Zero();
  Range control_range, force_range;
  double control = 0;  // u at the start
  Vec2 gain_slope = Vec2::Zero();
  Activation activation;
  std::optional<Muscle> muscle;  // in place of gain and bias
};

enum class ConstraintType { ball, weld, distance, coupler };

// Closes loops and couples joints. ball: point_a of body a and point_b of body b coincide. weld: the frames
// pose_a and pose_b coincide. distance: those two points keep `distance` (rigid, or a spring). coupler:
// q_a - ref = sum_k polynomial[k] (q_b - ref)^k, references as the joints have them; with no joint_b, q_a -
// ref = polynomial[0].
struct Constraint {
  ConstraintType type = ConstraintType::ball;
  std::string name;
  Source where;
  std::string body_a, body_b = kWorld;
  std::optional<Pose> pose_a,
      pose_b;  // in the body frames; an absent one is where the other is with all joints at their reference
  std::string joint_a, joint_b;  // coupler: 1-dof joints
  std::array<double, 5> polynomial = {0, 1, 0, 0, 0};
  double distance = 0;                // [m]
  double stiffness = kInfinity;       // [N/m, N m/rad]; infinite: near-rigid
  double relaxation_time = -1;        // [s]; negative: the time step
  std::optional<SoftReference> soft;  // in place of those two
  bool active = true;
};

// --- What has no joints --------------------------------------------------------------------------------

struct RodSpec;       // scene/rod.h, for who reads Scene::rods
struct SoftBodySpec;  // scene/soft_body.h

// --- States and options ------------------------------------------------------------------------------------

// Positions, velocities and controls by name; what is not named is at its reference, at rest, at the
// actuator's own control. Lengths are those of the joint's q and v (see JointType).
struct Keyframe {
  std::string name;
  Source where;
  double time = 0;                                  // [s]
  std::map<std::string, std::vector<double>> q, v;  // by joint name
  std::map<std::string, double> control;            // by actuator name
  std::map<std::string, double> activation;         // likewise, of those that have one
};

// The schemes of docs/physics.md; semi_implicit treats springs, damping and PD gains implicitly and the rest
// as symplectic Euler does.
enum class Integrator { explicit_euler, symplectic_euler, semi_implicit, implicit_euler, midpoint };

// Islands at rest may sleep (step/sleep.h).
struct SleepOptions {
  bool on = false;
  double speed = 1e-3;  // [m/s] slower than this ...
  double time = 0.5;    // [s] ... for so long
  bool operator==(const SleepOptions&) const = default;
};

struct Options {
  Vec3 gravity = Vec3(0, 0, -9.81);        // [m/s^2]
  Vec3 magnetic_field = Vec3(0, 5e-5, 0);  // [T] that magnetometers read, as long as files are in tesla
  double dt = 0.005;                       // [s]
  Integrator integrator = Integrator::semi_implicit;
  ContactOptions contact;
  double tolerance = 1e-5;    // eps_r: relative momentum residual at which the contact problem is solved
  int max_iterations = 2000;  // of an island in a step; one that needs more is not solved, and the step fails
  SleepOptions sleep;
  double duration = 5;            // [s] of a run, when the command line does not say
  bool conserve_momentum = true;  // of floating trees and those on a ball joint, exactly (docs/physics.md)
  bool follow_paths = true;       // contacts that stick know that what they touch turns (docs/physics.md)
  bool collide_parent_child = false;  // shapes of a body against those of its parent (never within one body)
  // Air or water around all bodies, which brakes them as boxes of their inertia (docs/physics.md); 0: none.
  double fluid_density = 0;      // [kg/m^3]
  double fluid_viscosity = 0;    // [Pa s]
  Vec3 wind = Vec3::Zero();      // [m/s] of the fluid, world axes
  bool balance_inertia = false;  // an inertia that breaks the triangle inequality is made possible, with a
                                 // warning (MJCF balanceinertia), instead of being an error
  bool operator==(const Options&) const = default;
};

struct Scene {
  std::string name;
  std::string file;  // where it came from, "" when built in code
  Options options;
  std::vector<Body> bodies;  // any order; parents by name
  std::vector<ShapeInstance> shapes;
  std::vector<Material> materials;
  std::vector<PairOverride> pairs;
  std::vector<CollisionExclude> excludes;
  std::vector<Site> sites;
  std::vector<Tendon> tendons;
  std::vector<Actuator> actuators;
  std::vector<Constraint> constraints;
  std::vector<RodSpec> rods;
  std::vector<SoftBodySpec> soft_bodies;
  std::vector<Keyframe> keyframes;
  std::vector<ControlPoint> controls;  // over time; in the order of time
  std::vector<Sensor> sensors;
  Keyframe initial;  // the start, unless a keyframe is asked for by name

  // In a .cc file: to copy and to free all this is much code, which else every file would compile.
  Scene();
  Scene(const Scene&);
  Scene(Scene&&) noexcept;
  Scene& operator=(const Scene&);
  Scene& operator=(Scene&&) noexcept;
  ~Scene();
};

// A color as it is drawn and written: each part from 0 to 1, which MJCF and URDF do not ask for.
std::array<float, 4> drawn_color(std::array<float, 4> rgba);

// A tendon's terms with each joint once: where one is named again, its coefficients are added.
std::vector<Tendon::Term> merged_terms(const Tendon& tendon);

// How many numbers q and v of a joint have.
int num_positions(JointType type);
int num_velocities(JointType type);
const char* joint_type_name(JointType type);
const char* integrator_name(Integrator integrator);
std::optional<Integrator> integrator_from_name(const std::string& name);

}  // namespace capstan
