// What the files of the SDFormat reader share: models as they are written, with names and poses still to be
// resolved, and readers of elements whose values are their text.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capstan/io/xml.h"
#include "capstan/scene/scene.h"

namespace capstan::sdf {

// A pose in a named frame of the same model; "": the default of what it is on.
struct FramedPose {
  Transform X;
  std::string relative_to;
  Source where;
};

struct Link {
  std::string name;
  Source where;
  FramedPose pose;
  std::optional<Inertia> inertia;
  bool gravity = true;
  std::vector<ShapeInstance> shapes;  // in the frame of the link
  bool is_kinematic = false;
};

struct JointAxis {
  Vec3 xyz = Vec3(0, 0, 1);
  std::string expressed_in;  // "": the joint's frame
};

struct SdfJoint {
  Joint joint;  // its position and axes are set when frames are known
  FramedPose pose;
  std::string parent, child;  // links, or frames on links; "world"
  JointAxis axis, axis2;
};

struct Model {
  std::string name;
  Source where;
  FramedPose pose;
  std::string placement_frame;
  bool is_static = false;
  std::vector<Link> links;
  std::vector<SdfJoint> joints;
  std::map<std::string, FramedPose> frames;        // of <frame>, links, joints and nested models
  std::map<std::string, std::string> attached_to;  // of <frame>
  std::vector<std::unique_ptr<Model>> nested;
};

// One file, and those that it includes.
struct Reader {
  Reader(const std::string& path, Diagnostics* diagnostics, const ReadLimits& limits, int depth);
  std::string directory;
  int depth;  // of includes
  XmlFiles xml;
};

// --- Elements whose value is their text. Absent: the default; malformed: an error.

const XmlElement* child(Reader& reader, const XmlElement* element, const char* tag);  // the first, or null
std::string text_of(Reader& reader, const XmlElement* element);
std::vector<double> numbers_of(Reader& reader, const XmlElement* element, std::size_t count);
double number(Reader& reader, const XmlElement* element, const char* tag, double otherwise);
bool flag(Reader& reader, const XmlElement* element, const char* tag, bool otherwise);
std::string text(Reader& reader, const XmlElement* element, const char* tag);
Vec3 vec3(Reader& reader, const XmlElement* element, const char* tag, const Vec3& otherwise);
FramedPose pose(Reader& reader, const XmlElement* element);

// Where a URI leads: model:// and package:// by name, else relative to the file. "" and an error when it is
// not there.
std::string resolve_uri(Reader& reader, const XmlElement* element, const std::string& uri);

// <collision> and <visual> of a link (sdf_shapes.cc). Materials are added to the scene, each once.
void read_shapes(Reader& reader, const XmlElement* element, Scene* scene, Link* link);
// Friction of two materials is the smaller of the two, as ODE has it in Gazebo.
void add_pairs(Scene* scene);

// Bodies and joints of a model at X_WM (sdf_build.cc). `prefix` is that of its names.
void build(const Model& model, const Transform& X_WM, const std::string& prefix, bool is_static, Scene* scene,
           Diagnostics* diagnostics);

}  // namespace capstan::sdf
