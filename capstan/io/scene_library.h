// The scenes that ship with Capstan, by name. They are looked for in
//
//   $CAPSTAN_SCENES                    if set, only there
//   <executable>/../share/capstan/scenes   of an installed program
//   the scenes/ folder of the source tree that the library was built from
#pragma once

#include <string>
#include <vector>

namespace capstan {

struct ShippedScene {
  std::string name;  // "gyroscope"; with extension where two files share a stem and this is not the first
  std::string path;
  std::string description;  // first sentence of the comment that opens the file
};

// The first folder of the list above that exists; "" when there is none.
std::string scene_folder();

// The scenes of that folder, sorted by name. Of files with one stem, YAML comes first, then MJCF, then URDF.
std::vector<ShippedScene> shipped_scenes();

// The path of a scene given as a path or as the name of a shipped scene; a file of that path wins. Throws
// InputError, with the name that is closest, when there is neither.
std::string find_scene(const std::string& path_or_name);

// The first sentence of the comment that opens the text of a YAML or XML file, on one line; "" if none.
std::string opening_sentence(const std::string& text);

}  // namespace capstan
