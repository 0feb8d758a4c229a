// `rods:` of YAML scenes (yaml_rods.cc, yaml_rod_paths.cc).
#pragma once

#include "capstan/io/yaml_parts.h"
#include "capstan/scene/rod.h"

namespace capstan {

inline constexpr long kMostRodEdges = 100'000;

// points, line, arc, circle, helix or file, with edges, closed, rounding and a pose. Turns the director with
// them, so that this is read before. False when there are no nodes.
bool read_rod_path(YamlReader* reader, YamlFields* fields, RodSpec* rod);

}  // namespace capstan
