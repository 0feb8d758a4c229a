#include "capstan/physics/soft_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace capstan {

NodeAdvice explain_node(const SoftBody& body, const std::string& node) {
  int number = -1;
  const char* end = node.data() + node.size();
  if (const auto read = std::from_chars(node.data(), end, number); read.ec != std::errc() || read.ptr != end)
    return {};
  const std::string& name = body.spec().name;
  if (number < 0 || number >= body.num_nodes()) {
    return {fmt::format("soft body '{}' has no node {}", name, number),
            fmt::format("its nodes are 0 to {}", body.num_nodes() - 1)};
  }
  if (body.num_carried() == 0 || body.carrier_of(number) >= 0) return {};
  int nearest = body.carried(0);
  for (int c = 1; c < body.num_carried(); ++c) {
    if ((body.rest(body.carried(c)) - body.rest(number)).norm() <
        (body.rest(nearest) - body.rest(number)).norm())
      nearest = body.carried(c);
  }
  return {fmt::format(
              "node {} is inside soft body '{}', and only nodes of its surface and attached ones are bodies",
              number, name),
          fmt::format("the nearest of those is '{}/{}'; to have this one, attach a region with it", name,
                      nearest)};
}

}  // namespace capstan
