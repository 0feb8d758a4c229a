// Scenes of boxes and stones on a floor, as the course on contact draws them. Sizes and masses are ours: the
// course gives none.
#pragma once

#include "capstan/scene/scene.h"

namespace capstan::experiments {

// A floor; everything has this coefficient of friction.
Scene on_plane(double friction);
// A free box.
void add_box(const std::string& name, const Vec3& position, const Vec3& half, double mass, Scene* scene);

// Two cubes of 0.1 m, the upper one `ratio` times as heavy, 5 mm aside.
Scene make_two_boxes(double friction, double ratio);
// Cubes of 0.1 m and 1 kg, each a little aside.
Scene make_tower(double friction, int boxes);
// The tower, and a ball of 2 kg that comes along x at 5 m/s.
Scene make_tower_and_ball(double friction, int boxes);
// Bricks of 0.2 x 0.1 x 0.1 m and 2 kg in rows, every second row half a brick aside, with half bricks at its
// ends.
Scene make_wall(double friction, int rows, int bricks);
// Stones of a half circle on the floor, 10 kg each.
Scene make_arch(double friction, int stones);
// Two pairs of cards, a flat one on top and a pair on it, of the shipped card house.
Scene make_card_house(double friction);

}  // namespace capstan::experiments
