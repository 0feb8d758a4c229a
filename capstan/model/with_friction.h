// A model whose friction is another, without compiling its scene again.
#pragma once

#include "capstan/model/model.h"

namespace capstan {

// The model of the same scene with this coefficient of friction (finite, 0 or more) for one of
// Model::materials, whose friction tensor, if it has one, goes: every bit, the fingerprint included, is that
// of compile(). Pairs of materials or shapes that say their own friction keep it.
//
// Of all numbers of a scene friction is the one that nothing else is computed from. Mass changes inertia,
// default stiffness and drag; a scene with another mass is compiled.
//
// States of the two models are laid out alike. What sleeps in one may have to slide in the other: clear
// State::rest. A Workspace is made anew.
Model with_friction(const Model& model, int material, double friction);

}  // namespace capstan
