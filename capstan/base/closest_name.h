// "Did you mean ...?": the known name that a mistyped one is nearest to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace capstan {

// Number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

// The nearest of `names` if it is near enough to be what was meant: at most a third of its letters differ
// (one for short names). "" when none is. The first wins among equals.
std::string closest_name(std::string_view word, const std::vector<std::string>& names);

// "did you mean 'mass'?", or `otherwise` when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names,
                         std::string otherwise = "");

}  // namespace capstan
