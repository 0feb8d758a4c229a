// URDF as people have it: inertias that no body has, links without mass that move, packages that lie
// elsewhere.
#pragma once

#include <string>

#include "capstan/scene/scene.h"

namespace capstan {

// Makes an inertia possible that is not. With principal moments a <= b <= c: moments below 0 become 0, and
// where c > a + b, a and b both grow by (c - a - b) / 2, so that no axis turns more easily than the file
// says. Returns what was changed in words, "" when nothing was. Not for masses of 0 or less, nor for numbers
// that are not finite.
std::string repair_inertia(Inertia* inertia);

// Links that move and, with all that hangs on them, weigh nothing get 1 g and 1e-6 kg m^2 about each axis,
// with a report (an error with `strict`).
void repair_massless_links(Scene* scene, Diagnostics* diagnostics);

// The file that package://`package`/`rest` means, "" if there is none. Looked for, at `directory` and then
// each folder above it: in the folder itself if it is called `package` or if its package.xml says so, and in
// its folder `package`; then in the folders that the environment variables CAPSTAN_PACKAGE_PATH and
// ROS_PACKAGE_PATH list, separated by ':'.
std::string find_in_package(const std::string& directory, const std::string& package,
                            const std::string& rest);

}  // namespace capstan
