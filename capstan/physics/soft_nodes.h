// Why a name like "gel/13" is that of no body, for messages.
#pragma once

#include <string>

#include "capstan/physics/soft_body.h"

namespace capstan {

struct NodeAdvice {
  std::string what, remedy;  // empty: the name is no number of a node
};
// `node` is what follows the slash of a name that is not one of the body's carriers.
NodeAdvice explain_node(const SoftBody& body, const std::string& node);

}  // namespace capstan
