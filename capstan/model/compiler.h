// The working state of compile(); private to capstan/model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "capstan/model/model.h"

namespace capstan {

// [m, rad, m/s, rad/s] Farther away, positions are a tenth of a micrometre apart, and contacts of larger
// shapes are lost in round-off. Faster than light, too.
constexpr double kLargestNumber = 1e9;
// [m] Less than an atom. Products of the sides of smaller ones vanish long before the sides do, and steps
// that use them end in numbers that are not.
constexpr double kSmallestSize = 1e-12;

struct ModelCompiler {
  const Scene& scene;
  Diagnostics& diagnostics;
  Model model;

  std::vector<const Body*> sources;       // of each model body; null for the world
  std::vector<char> has_unknown_inertia;  // [links] an error about the inertia has been told already
  std::vector<Transform> carrier_poses;   // [carriers of objects without joints] at the start
  std::vector<int> rod_objects;           // [scene.rods] objects; -1: it has errors
  std::vector<int> soft_objects;          // [scene.soft_bodies] likewise
  std::map<std::string, int> body_index, joint_index, tendon_index, actuator_index, material_index,
      shape_index, rod_index, soft_index;

  // Bodies, joints, links, trees, dofs (compile_tree.cc). False when the tree cannot be built at all.
  bool compile_bodies();
  void compile_links(const std::vector<const Body*>& ordered);
  void add_joint(const Body& body, const Joint& joint, int body_id);
  void add_stage(StageType type, const Joint& joint, const Vec3& axis, double reference, int num_q,
                 int num_v);
  void number_objects();
  bool compile_pattern();  // false, with an error, when the mass matrix would not fit in memory
  bool compile_system_pattern();
  void check_mass_matrix();

  // What hangs on the trees (compile_shapes.cc, compile_parts.cc, fingerprint.cc).
  void compile_materials();
  void compile_shapes();
  void compile_patches();
  bool compile_soft_patch(const SoftBodySpec& spec, int object);
  void compile_sites();
  void compile_site_actuators();
  void add_drag_box(const Options& options, int body, const Inertia& inertia);
  void compile_transmissions();
  void compile_path(const Tendon& tendon, ModelTendon* entry);
  bool find_tendon_site(const std::string& name, const Source& where, const std::string& who, int* body,
                        Transform* X_BS);
  bool find_tendon_shape(const TendonPoint& point, const Source& where, const std::string& who,
                         ModelTendonPoint* entry);
  void compile_activation(const Actuator& actuator, ModelActuator* entry);
  void compile_rods();
  void compile_soft_bodies();
  void compile_constraints();
  void compile_attachments();
  void compile_soft_attachments();
  void compile_filters();
  void compile_neighbours();
  void compile_keyframes();
  ModelKeyframe make_keyframe(const Keyframe& keyframe);
  void compute_fingerprint();

  // Pose of a body, or of the edge of a rod, with all joints at their reference.
  Transform reference_pose(int body) const;

  // Index of `name` in `map`, or -1 with an error that names what is known.
  int resolve(const std::map<std::string, int>& map, const char* kind, const std::string& name,
              const Source& where, const std::string& user);
};

// What is wrong with the numbers or the mesh of a shape, or "" when its mass properties can be computed.
std::string why_unsound(const Shape& shape);

bool is_sound(const Pose& pose);  // finite, quaternion not zero

// "revolute joint 'elbow'" etc., for messages.
std::string quoted(const char* kind, const std::string& name);

// What a thing of some thickness [m] that is tied to a body lies in or against there: the body; and of a soft
// body, each node of which is one, the parts of its surface at nodes within the thickness of that node.
std::vector<int> parts_around(const Model& model, int body, double thickness);

// Checks that more than one file of compile() makes.
void check_soft(const SoftReference& soft, const Source& where, const std::string& who, Diagnostics& d);
void check_pose(const Pose& pose, const Source& where, const std::string& who, Diagnostics& d);
void check_range(const Range& range, const Source& where, const std::string& who, Diagnostics& d);

// Registers names of one kind, with an error for those that are empty or there already.
template <class T>
void index_names(const std::vector<T>& things, const char* kind, std::map<std::string, int>* index,
                 Diagnostics* d) {
  for (int i = 0; i < static_cast<int>(things.size()); ++i) {
    if (things[i].name.empty()) {
      d->error(things[i].where, std::string("a ") + kind + " has no name", "give it one");
    } else if (const auto [it, is_new] = index->emplace(things[i].name, i); !is_new) {
      d->error(things[i].where, quoted(kind, things[i].name) + " is defined twice", "rename one of them");
    }
  }
}

}  // namespace capstan
