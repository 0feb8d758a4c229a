// The MJCF reader's own state and its parts, one file for each concern. Internal: users call read_mjcf().
//
//   mjcf.cc           the order of the sections, names, keyframes
//   mjcf_compiler.cc  <compiler>, <option>, orientations
//   mjcf_defaults.cc  default classes; what each element writes over its class
//   mjcf_asset.cc     meshes, height fields, materials' colours
//   mjcf_body.cc      <worldbody>: bodies, frames, replicates, joints
//   mjcf_geom.cc      shapes and sites
//   mjcf_rod.cc       flexcomps of one dimension and cables
//   mjcf_flex.cc      <flex dim="1">
//   mjcf_contact.cc   solref/solimp to Material, pairs, excludes
//   mjcf_coupling.cc  equality constraints and fixed tendons
//   mjcf_actuator.cc  actuators
//   mjcf_sensor.cc    sensors
//   mjcf_mass.cc      inertiafromgeom, boundmass, boundinertia, settotalmass
//   mjcf_mesh_mass.cc how meshes are weighed
//   mjcf_damping.cc   dampratio of servos
//   mjcf_attach.cc    <attach>: bodies of other models
//   mjcf_flexcomp.cc  <flexcomp dim="3">: soft bodies
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capstan/io/mjcf_spec.h"

namespace capstan::mjcf {

enum class Kind { body, joint, geom, site, mesh, hfield, material, tendon, actuator, equality, key, sensor };

struct Reader {
  Reader(Diagnostics* diagnostics, const ReadLimits& limits) : xml(diagnostics, limits) {}

  XmlFiles xml;
  Scene scene;
  Compiler compiler;
  std::map<std::string, DefaultClass> classes;                        // "main" always exists
  std::map<std::string, std::shared_ptr<const TriangleMesh>> meshes;  // null: could not be read
  struct MeshRule {
    std::string name;
    MeshSpec::Inertia inertia = MeshSpec::legacy;
  };
  std::map<const TriangleMesh*, MeshRule> mesh_rules;  // how each is weighed
  std::map<std::string, HeightField> hfields;
  std::map<std::string, MaterialSpec> colours;             // <asset><material>
  std::map<std::string, Transform> world_pose;             // of each body at the reference
  std::map<std::string, std::pair<int, int>> joint_index;  // body, joint in it
  std::map<std::string, int> shape_index, site_index, tendon_index;
  const Joint& joint(const std::string& name) const {
    const auto& [body, joint] = joint_index.at(name);
    return scene.bodies[body].joints[joint];
  }
  // What a geom says about contact, beside its material; parallel to scene.materials.
  struct Contact {
    double friction = 1, torsional_friction = 0.005, rolling_friction = 0.0001;
    int condim = 3, priority = 0;
    bool has_sol = false;  // solref or solimp are written
    std::array<double, 2> solref = {};
    std::array<double, 5> solimp = {};
    bool operator==(const Contact&) const = default;
  };
  std::vector<Contact> contacts;
  std::map<std::string, int> num_pairs;            // in how many <pair> a geom is
  std::map<std::string, std::uint64_t> pair_bits;  // collision bits of geoms for the sake of their pairs

  // Names. Unnamed things get a unique one. `replicas` lists, for the name as written inside a <replicate>,
  // the suffixes of its copies.
  std::map<std::pair<Kind, std::string>, Source> names;
  std::map<std::pair<Kind, std::string>, std::vector<std::string>> replicas;
  std::set<std::string> written_names;  // every name attribute in the files
  std::map<std::pair<Kind, std::string>, int> next_generated;
  std::string claim_name(Kind kind, const XmlElement* element, const std::string& suffix,
                         const std::string& generated_stem);
  bool exists(Kind kind, const std::string& name) const { return names.count({kind, name}) > 0; }
  // Error at the attribute when the named thing does not exist.
  bool check_reference(Kind kind, const XmlElement* element, const char* attribute, const std::string& name);

  // Slots of MuJoCo's control vector in order: scene name, or "" when the actuator is not simulated.
  std::vector<std::string> control_slots;
  std::set<std::string> massless;                               // bodies whose <inertial> says mass 0
  std::map<std::string, std::array<double, 2>> spring_dampers;  // of joints, by name
  bool has_magnetic_field = false;                              // the file says one
  std::set<std::string> dropped_tendons;                        // present in the file, not simulated

  // Raw flexes of one dimension, which are known before the bodies that are their points or twist.
  struct Flex {
    const XmlElement* element = nullptr;
    std::string name;
    std::vector<std::string> bodies;  // [vertices]
    std::vector<Vec3> vertices;       // in their frames
    bool closed = false;
  };
  std::vector<Flex> flexes;
  std::set<std::string> flex_points, flex_twists;  // bodies that may be one
  struct FlexPoint {
    std::string parent;
    double mass = 0;  // [kg]
  };
  std::map<std::string, FlexPoint> points;  // those that are one

  // A body that MuJoCo makes of a rod: the edge of it, and where the body is in its frame.
  struct CableBody {
    std::string edge;
    Transform X_EdgeBody;
  };
  std::map<std::string, CableBody> cable_bodies;

  struct AttachedModel {
    std::string file;
    bool is_read = false;
    std::shared_ptr<Reader> reader;  // null: not read yet, or it cannot be
  };
  std::map<std::string, AttachedModel> models;  // <asset><model>
  int attach_depth = 0;                         // 0: the main file
};

// Reads a file into the reader; false with errors when it is no MJCF.
bool read_model(Reader& reader, const std::string& path, const Source& referrer);
// mjcf_attach.cc
void read_model_asset(Reader& reader, const XmlElement* element);

// Where in the tree an element is read.
struct Scope {
  std::string body = kWorld;
  int body_index = -1;     // in Scene::bodies; -1: the world
  std::string childclass;  // of the nearest ancestor; empty: main
  Transform frame;         // of enclosing frames and replicates, in the body
  std::string suffix;      // of enclosing replicates
  int depth = 0;
};

// mjcf_compiler.cc
void read_compiler(Reader& reader, const XmlElement* element);
void read_option(Reader& reader, const XmlElement* element);
// Reads pos and whichever orientation is written; true if any of them is.
bool read_pose(Reader& reader, const XmlElement* element, PoseSpec* pose);
Vec4 quat_of_z_axis(const Vec3& direction);  // the shortest turn of z; about x when opposite
Vec4 quat_of_euler(const std::string& sequence, const Vec3& radians);
Transform to_transform(const PoseSpec& pose);
Pose to_pose(const Transform& X);

// mjcf_defaults.cc
void read_defaults(Reader& reader, const XmlElement* element);
const DefaultClass& find_class(Reader& reader, const XmlElement* element, const std::string& childclass);
void overlay_joint(Reader& reader, const XmlElement* element, JointSpec* spec);
void overlay_geom(Reader& reader, const XmlElement* element, GeomSpec* spec);
void overlay_site(Reader& reader, const XmlElement* element, SiteSpec* spec);
void overlay_mesh(Reader& reader, const XmlElement* element, MeshSpec* spec);
void overlay_material(Reader& reader, const XmlElement* element, MaterialSpec* spec);
void overlay_pair(Reader& reader, const XmlElement* element, PairSpec* spec);
void overlay_equality(Reader& reader, const XmlElement* element, EqualitySpec* spec);
void overlay_tendon(Reader& reader, const XmlElement* element, TendonSpec* spec);
// mjcf_actuator.cc
void overlay_actuator(Reader& reader, const XmlElement* element, ActuatorSpec* spec);

// Is a range in force? Errors: a range that is not ordered but asked for, or given with autolimits off.
bool is_limited(Reader& reader, const XmlElement* element, Limited limited,
                const std::array<double, 2>& range, const char* attribute);

void read_assets(Reader& reader, const XmlElement* element);
// mjcf_body.cc and mjcf_geom.cc
void read_body_contents(Reader& reader, const XmlElement* element, const Scope& scope);
void read_geom(Reader& reader, const XmlElement* element, const Scope& scope);
void read_site(Reader& reader, const XmlElement* element, const Scope& scope);
void read_attach(Reader& reader, const XmlElement* element, const Scope& scope);
// mjcf_flexcomp.cc
void read_flex_solid(Reader& reader, const XmlElement* element, const Scope& scope);

// mjcf_rod.cc
void read_flex_rod(Reader& reader, const XmlElement* element, const Scope& scope);
void read_composite(Reader& reader, const XmlElement* element, const Scope& scope);
// What a flexcomp and a flex have alike: section, elasticity, contact, colour. `rod` has its points already,
// in the frame of its body; `what` it is, where it has no modulus. False with an error.
bool read_flex_properties(Reader& reader, const XmlElement* element, double mass, const char* what,
                          RodSpec* rod);
// Edges between two held nodes are clamped, other held nodes pinned; on a body both are attachments.
void hold(std::vector<int> held, const Source& where, const std::string& body, RodSpec* rod);
std::vector<Transform> edge_frames(const RodSpec& rod);  // z along the edge, x = m1, in the middle
// Whether elements are 0 1, 1 2, ..., without a gap, of n points.
bool is_chain(const std::vector<double>& elements, int n, bool* closed);
inline constexpr char kNoChain[] = "is no single chain of points 0 1, 1 2, ...; it is left out";
// A body of a cable or a flex by the name of the edge, with what is said in the body's frame in that of the
// edge.
void name_edges(const Reader& reader, std::string* body, std::optional<Pose>* pose);

// mjcf_flex.cc: before the bodies, for each of them (true: it is a part of a flex), and after them.
void find_flex_rods(Reader& reader, const XmlElement* section);
bool take_flex_body(Reader& reader, const XmlElement* element, const Scope& scope);
void read_flexes(Reader& reader);

// mjcf_contact.cc
struct SolverMapping {
  double stiffness_per_kilogram = 0;  // [1/s^2]
  double relaxation_time = 0;         // [s]
  bool clamped = false;               // d0 or dw was beyond MuJoCo's bounds
};
// `load` [m/s^2] is what a contact carries over the mass that it moves.
SolverMapping map_solver_parameters(const std::array<double, 2>& solref, const std::array<double, 5>& solimp,
                                    double load = 9.81);
std::string material_of(Reader& reader, const XmlElement* element, const GeomSpec& geom);
// The name of a material that says this, which is added under a name of its own where there is none.
std::string find_or_add_material(Reader& reader, Material material, const Reader::Contact& contact);
void settle_loads(Reader& reader);
void combine_materials(Reader& reader);
void read_contact(Reader& reader, const XmlElement* element);

void read_equality(Reader& reader, const XmlElement* element);
void read_tendon(Reader& reader, const XmlElement* element);
void read_actuators(Reader& reader, const XmlElement* element);
void read_keyframes(Reader& reader, const XmlElement* element);
void read_sensors(Reader& reader, const XmlElement* element);
void settle_masses(Reader& reader);
// At density 1; `shell` has the area for its volume.
VolumeProperties weigh_mesh(const TriangleMesh& mesh, MeshSpec::Inertia rule);
// Of each body of the scene, from its shapes where it has none of its own; none where these weigh nothing.
std::map<std::string, std::optional<Inertia>> calc_inertias(const Scene& scene);
// mjcf_damping.cc
void settle_damping(Reader& reader);
// [kg] of each body of the scene, its shapes counted where it has no inertia.
std::map<std::string, double> calc_masses(const Scene& scene);

// An element outside the body tree that names something inside a <replicate> is repeated with it, as MuJoCo
// does: the suffixes to use, {""} in the ordinary case.
std::vector<std::string> suffixes_of(Reader& reader, const XmlElement* element,
                                     std::initializer_list<std::pair<Kind, const char*>> references);
// The name to use in the copy with `suffix`: with it if that exists, else as written.
std::string resolved(const Reader& reader, Kind kind, const std::string& name, const std::string& suffix);

}  // namespace capstan::mjcf
