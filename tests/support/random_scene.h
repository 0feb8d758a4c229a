// Random articulated scenes with every joint type, for tests that compare a clever routine with its plain
// twin.
#pragma once

#include <random>

#include "capstan/model/model.h"
#include "capstan/scene/scene.h"
#include "capstan/state/state.h"

namespace capstan::test {

using Random = std::mt19937;

double uniform(Random& random, double low, double high);
Vec3 random_vector(Random& random, double size);
Vec4 random_quat(Random& random);

// An inertia that some set of point masses has.
Inertia random_inertia(Random& random);

// `num_bodies` bodies on random parents, with welds in between, several joints on one body, rotors, springs
// and damping.
Scene random_scene(Random& random, int num_bodies);

// A state with random positions (unit quaternions) and velocities.
State random_state(Random& random, const Model& model, double speed);

}  // namespace capstan::test
