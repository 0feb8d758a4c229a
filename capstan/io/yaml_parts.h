// The parts of the YAML scene reader; docs/scene.md describes the format. Each part reads one kind of thing
// from its map and adds it to the scene.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capstan/io/yaml_fields.h"
#include "capstan/scene/scene.h"

namespace capstan {

// What one reading of a file and of the files it includes shares.
struct YamlSession {
  const ReadLimits& limits;
  std::vector<std::string> open_files;  // canonical paths, outermost first
  // Models read so far, by canonical path; null: it had errors.
  std::map<std::string, std::shared_ptr<const Scene>> models;
  std::map<std::tuple<std::string, double, double, double>, std::shared_ptr<const TriangleMesh>> meshes;
};

struct YamlReader {
  YamlSource source;
  YamlSession& session;
  Scene& scene;
  std::map<std::string, int> unnamed_shapes;                  // how many have been given each name
  std::map<std::string, int> model_lines;                     // of the models placed, by their names
  std::vector<std::pair<std::string, Source>> model_parents;  // checked when all bodies are known
  // Joints of this file that are given these limits, and where: told when all actuators are known.
  std::vector<std::pair<std::string, Source>> effort_limits, velocity_limits;

  std::string beside(const std::string& path) const;  // relative paths are relative to the scene file
};

// `pose: {...}`, or its keys written directly in the map.
void read_pose(YamlFields* fields, Pose* pose);
// Only a map of a pose.
void read_pose_map(const YamlSource& source, const YamlNode& node, const std::string& what, Pose* pose);
// quat, rpy, rpy_deg, axis with angle or angle_deg, z_axis: at most one. False when there is none.
bool read_rotation(YamlFields* fields, Vec4* quat_wxyz);

void read_materials(YamlReader* reader, YamlFields* root);  // materials and pairs
// Adds to scene.shapes. `body` is the body it is written in, null at the top of the file. The index of the
// shape in scene.shapes, or -1.
int read_shape(YamlReader* reader, const YamlNode& node, const std::string* body,
               bool body_has_inertia = false);
void read_color(YamlFields* fields, std::array<float, 4>* rgba);
bool read_contact_model(YamlFields* fields, ContactModel* contact);  // `contact: point` or `patch`
void read_rods(YamlReader* reader, YamlFields* root);
void read_soft_bodies(YamlReader* reader, YamlFields* root);
// `key: {vertices: [[x, y, z], ...], tets: [[0, 1, 2, 3], ...]}` of what `fields` reads; null with an error.
std::shared_ptr<const TetMesh> read_inline_tets(const YamlFields& fields, const YamlNode& node,
                                                const std::string& key);
void read_site(YamlReader* reader, const YamlNode& node, const std::string* body);
void read_body(YamlReader* reader, const YamlNode& node, const std::string* parent, const std::string& place);
// A joint's map (or only its type as a word); starting values go to `initial`.
Joint read_joint(YamlReader* reader, const YamlNode& node, const std::string& default_name,
                 Keyframe* initial);
void read_models(YamlReader* reader, YamlFields* root);
void check_model_parents(const YamlReader& reader);         // after all bodies are read
void read_couplings(YamlReader* reader, YamlFields* root);  // tendons, actuators, constraints, excludes
// q, q_deg, v, control, time; names are those of `scene`. Entries replace those that `key` has.
void read_state(YamlFields* fields, const Scene& scene, Keyframe* key);
void read_keyframes(YamlReader* reader, YamlFields* root);  // keyframes and initial
void read_controls(YamlReader* reader, YamlFields* root);   // controls and sensors
void tell_without_effect(const YamlReader& reader);         // limits of joints that nothing is held to

// An included YAML file, with the files that are open around it known.
Scene read_yaml_file(const std::string& path, YamlSession* session, Diagnostics* diagnostics);

}  // namespace capstan
