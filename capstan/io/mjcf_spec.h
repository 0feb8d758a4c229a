// What MJCF elements say, before they become a Scene: one plain struct for each kind of element that can have
// defaults, with MuJoCo's own defaults. A default class holds one of each; reading an element starts from a
// copy of its class's and overwrites what the element writes. Values are as written (degrees stay degrees
// until the joint's type is known). Internal to the MJCF reader.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capstan/io/xml.h"
#include "capstan/math/transform.h"
#include "capstan/scene/scene.h"

namespace capstan::mjcf {

enum class Limited { no, yes, automatic };

// The orientation is written in one of five ways; all become a quaternion at once.
struct PoseSpec {
  Vec3 position = Vec3::Zero();
  Vec4 quat_wxyz = Vec4(1, 0, 0, 0);
};

struct JointSpec {
  enum Type { free, ball, slide, hinge };
  Type type = hinge;
  Vec3 position = Vec3::Zero(), axis = Vec3(0, 0, 1);
  Limited limited = Limited::automatic;
  std::array<double, 2> range = {0, 0};
  double ref = 0, springref = 0, stiffness = 0, damping = 0, frictionloss = 0, armature = 0;
  std::array<double, 2> spring_damper = {0, 0};  // time constant [s], damping ratio; 0: none
  Limited force_limited = Limited::automatic;
  std::array<double, 2> force_range = {0, 0};
  std::optional<SoftReference> soft_limits;  // where solreflimit or solimplimit is written
};

struct GeomSpec {
  enum Type { plane, hfield, sphere, capsule, ellipsoid, cylinder, box, mesh, sdf };
  Type type = sphere;
  std::array<double, 3> size = {0, 0, 0};
  int num_sizes = 0;
  PoseSpec pose;
  std::optional<std::array<double, 6>> fromto;
  std::optional<double> mass;
  double density = 1000;
  unsigned contype = 1, conaffinity = 1;
  int condim = 3, priority = 0, group = 0;
  double friction = 1, torsional_friction = 0.005, rolling_friction = 0.0001;  // the last two [m]
  double margin = 0;
  // timeconst, dampratio; d0, dwidth, width, midpoint, power
  std::array<double, 2> solref = {0.02, 1};
  std::array<double, 5> solimp = {0.9, 0.95, 0.001, 0.5, 2};
  bool has_sol = false;  // solref or solimp is written somewhere
  double fit_scale = 1;  // of a primitive that is fitted to a mesh
  std::string mesh_name, hfield_name, material;
  std::optional<std::array<float, 4>> rgba;
};

struct SiteSpec {
  PoseSpec pose;
  std::optional<std::array<double, 6>> fromto;
};

struct MeshSpec {
  enum Inertia { convex, exact, legacy, shell };
  Vec3 scale = Vec3::Ones();
  Inertia inertia = legacy;
};

struct MaterialSpec {
  std::optional<std::array<float, 4>> rgba;
};

struct PairSpec {
  int condim = 3;
  bool has_condim = false;
  std::optional<double> friction, torsional_friction, rolling_friction, margin;
  std::array<double, 2> solref = {0.02, 1};
  std::array<double, 5> solimp = {0.9, 0.95, 0.001, 0.5, 2};
  bool has_sol = false;
};

struct EqualitySpec {
  bool active = true;
  std::optional<SoftReference> soft;  // where solref or solimp is written
};

struct TendonSpec {
  Limited limited = Limited::automatic;
  std::array<double, 2> range = {0, 0};
  double stiffness = 0, damping = 0, frictionloss = 0, armature = 0;
  std::optional<std::array<double, 2>> springlength;
};

struct ActuatorSpec {
  enum Gain { fixed, affine, muscle_gain, other_gain };
  enum Bias { none, affine_bias, muscle_bias, other_bias };
  enum Dynamics { no_dynamics, integrator, filter, filter_exact, muscle, other_dynamics };
  Gain gain_type = fixed;
  Bias bias_type = none;
  Dynamics dynamics = no_dynamics;
  // As MuJoCo lays them out; of muscles: range, force, scale, lmin, lmax, vmax, fpmax, fvmax.
  std::array<double, 10> gain = {1}, bias = {};
  std::array<double, 3> dynamics_prm = {1, 0, 0};
  Limited activation_limited = Limited::automatic;
  std::array<double, 2> activation_range = {0, 0}, length_range = {0, 0};
  Vec6 gear = (Vec6() << 1, 0, 0, 0, 0, 0).finished();
  Limited control_limited = Limited::automatic, force_limited = Limited::automatic;
  std::array<double, 2> control_range = {0, 0}, force_range = {0, 0};
  double inherit_range = 0;
  std::string why_not;  // not empty: this kind of actuator is not simulated
};

struct DefaultClass {
  std::string name;
  Source where;
  JointSpec joint;
  GeomSpec geom;
  SiteSpec site;
  MeshSpec mesh;
  MaterialSpec material;
  PairSpec pair;
  EqualitySpec equality;
  TendonSpec tendon;
  ActuatorSpec actuator;
};

struct Compiler {
  bool degrees = true;
  std::string eulerseq = "xyz";
  std::string mesh_directory;
  bool strip_path = false;
  bool autolimits = true;
  enum class FromGeom { no, yes, automatic } inertia_from_geom = FromGeom::automatic;
  std::array<int, 2> inertia_groups = {0, 5};
  bool balance_inertia = false;
  double bound_mass = 0, bound_inertia = 0, total_mass = -1;
  bool contacts_disabled = false;
  double radians(double angle) const { return degrees ? angle * (3.14159265358979323846 / 180) : angle; }
};

}  // namespace capstan::mjcf
