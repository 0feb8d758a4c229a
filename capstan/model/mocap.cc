#include "capstan/model/mocap.h"

#include <iterator>

namespace capstan {
namespace {

void add_track_names(const std::string& body, std::vector<std::string>* names) {
  for (const char* track : kMocapTracks) names->push_back(body + "." + track);
}

}  // namespace

Joint make_mocap_joint(const Body& body) {
  Joint joint;
  joint.name = body.name;
  joint.where = body.where;
  joint.type = JointType::free;
  joint.rotor_inertia = kInfinity;
  return joint;
}

std::vector<int> find_mocap_links(const Model& model) {
  std::vector<int> links;
  for (const Tree& tree : model.trees) {
    if (is_mocap(model, tree.link_begin)) links.push_back(tree.link_begin);
  }
  return links;
}

std::vector<std::string> mocap_track_names(const Scene& scene) {
  std::vector<std::string> names;
  for (const Body& body : scene.bodies) {
    if (body.joints.size() == 1 && is_mocap(body.joints[0])) add_track_names(body.name, &names);
  }
  return names;
}

std::vector<std::string> mocap_track_names(const Model& model) {
  std::vector<std::string> names;
  for (const int link : find_mocap_links(model))
    add_track_names(model.bodies[model.links[link].body].name, &names);
  return names;
}

MocapTrackName find_mocap_track(const Model& model, const std::string& name) {
  for (const int link : find_mocap_links(model)) {
    const int body = model.links[link].body;
    for (int i = 0; i < static_cast<int>(std::size(kMocapTracks)); ++i) {
      if (name == model.bodies[body].name + "." + kMocapTracks[i]) return {body, i};
    }
  }
  return {};
}

}  // namespace capstan
