// Inverse inertias of soft constraints (laws/soft_reference.h), MuJoCo's estimates: of the model in its
// reference pose, rotors included, without what drives and dampers add in a step,
//
//   dof      (M^-1)_kk
//   body     the mean of the three of its centre of mass, and of its three turns
//
// A limit has that of its dof, a joint equality the sum of both dofs, a tie the sums of both bodies.
#pragma once

#include <array>
#include <vector>

#include "capstan/model/model.h"

namespace capstan {

struct SoftWeights {
  std::vector<double> dof;                  // [dofs] [1/kg or 1/(kg m^2)]; 0: not asked for
  std::vector<std::array<double, 2>> link;  // [links] likewise, of ways and of turns
  bool is_known = false;
};

// Of the trees that soft constraints and limits act on.
void calc_soft_weights(const Model& model, SoftWeights* weights);

}  // namespace capstan
