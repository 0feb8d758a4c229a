// "Did you mean ...?": the known name that a mistyped one is nearest to.
#pragma once

#include <cstddef>
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

// Of 3 things of kind "body": "write the name of one of the 3 bodies"; where there is one, which; none, that.
std::string name_one_of(const std::vector<std::string>& names, const std::string& kind);

}  // namespace capstan
