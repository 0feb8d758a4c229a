#include "capstan/base/closest_name.h"

#include <algorithm>

namespace capstan {

int edit_distance(std::string_view a, std::string_view b) {
  // Rows of the dynamic program: two[j], one[j], now[j] are the distances of a's first i-2, i-1, i letters to
  // b's first j (optimal string alignment).
  std::vector<int> two(b.size() + 1), one(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) now[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(two, one);
    std::swap(one, now);
    now[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({one[j] + 1, now[j - 1] + 1, one[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], two[j - 2] + 1);
    }
  }
  return now[b.size()];
}

std::string closest_name(std::string_view word, const std::vector<std::string>& names) {
  constexpr size_t kLongest = 64;  // bounds the work on hostile input
  std::string best;
  if (word.size() > kLongest) return best;
  int best_distance = 1000;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kLongest) continue;
    const int near_enough = std::max(1, static_cast<int>(std::max(name.size(), word.size())) / 3);
    const int distance = edit_distance(word, name);
    if (distance <= near_enough && distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names,
                         std::string otherwise) {
  const std::string name = closest_name(word, names);
  return name.empty() ? otherwise : "did you mean '" + name + "'?";
}

std::string name_one_of(const std::vector<std::string>& names, const std::string& kind) {
  if (names.empty()) return "the scene has no " + kind + "; add one, or leave this out";
  if (names.size() == 1) return "write '" + names[0] + "', the only " + kind;
  const std::string plural = kind.ends_with('y') ? kind.substr(0, kind.size() - 1) + "ies" : kind + "s";
  return "write the name of one of the " + std::to_string(names.size()) + " " + plural;
}

}  // namespace capstan
