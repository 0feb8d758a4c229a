// Rods and soft bodies as MuJoCo has them since version 4: flexcomps of dimension 1 and 3, with the
// integrator `discrete` that its documentation recommends for them.
//
// Rods are laid out straight where they have no curvature at rest, and bent by their start. A soft body of
// quadratic elements becomes one of linear ones, which MuJoCo has. Each vertex has the mass that is nearest
// to it. Rayleigh's alpha is a force on each vertex, beta the damping of the flex.
#pragma once

#include <mujoco/mujoco.h>

#include "bench/gauntlet/peers/program.h"

namespace capstan::gauntlet {

bool has_flexes(const Task& task);

// Children of the worldbody.
std::string write_flexes(const Task& task);

class MujocoFlexes {
 public:
  // Puts them where they start.
  MujocoFlexes(const Task& task, mjModel* m, mjData* d);
  void apply_damping();  // before each step
  void get(std::span<BodyState> probes) const;

 private:
  struct Flex {
    std::string name;
    double alpha = 0;
    std::vector<int> body;     // [vertices] -1: pinned
    std::vector<double> mass;  // [vertices]
    std::vector<Vec3> start;   // [vertices]
  };
  struct Point {
    int flex = 0, vertex = -1;  // -1: all of it
  };
  BodyState state_of(const Flex& flex, int vertex) const;

  mjModel* m_;
  mjData* d_;
  std::vector<Flex> flexes_;
  std::vector<Point> points_;
};

}  // namespace capstan::gauntlet
