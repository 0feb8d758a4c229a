// How bodies that are moved from outside (model/mocap.h) go through a step.
#pragma once

#include <vector>

#include "capstan/dynamics/forces.h"
#include "capstan/model/mocap.h"
#include "capstan/state/state.h"

namespace capstan {

// Sets the force that brings such a body (its number) to the pose X_WB in the step of dt that begins at
// `state`: call it before each step. What it has reached it stays at.
void aim_mocap(const Model& model, const State& state, int body, const Transform& X_WB, double dt,
               Input* input);

// Made before a step, finished after it: what they do in the step, whatever acts on them.
class MocapMotion {
 public:
  MocapMotion(const Model& model, const State& state, const Input& input, double dt);
  void finish(State* state) const;

 private:
  struct Body {
    int q, v;
    Eigen::Matrix<double, 7, 1> q1;
    Vec6 v1;
  };
  std::vector<Body> bodies_;
};

}  // namespace capstan
