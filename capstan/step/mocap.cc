#include "capstan/step/mocap.h"

#include "capstan/math/rotation.h"

namespace capstan {
namespace {

// Velocities and ways below these are round-off of a target that is reached.
constexpr double kStill = 1e-12;  // [m/s, rad/s; m, rad]

const Stage& stage_of(const Model& model, int link) {
  return model.stages[model.links[link].stage_begin];
}

// The shorter way from one orientation to another: a rotation vector.
Vec3 turn_between(const Vec4& from, const Vec4& to) {
  Vec4 turn = quat_multiply(to, quat_conjugate(from));
  if (turn[0] < 0) turn = -turn;
  return quat_log(turn);
}

}  // namespace

void aim_mocap(const Model& model, const State& state, int body, const Transform& X_WB, double dt,
               Input* input) {
  const int link = model.bodies[body].link;
  CAPSTAN_ASSERT(is_mocap(model, link));
  const Stage& stage = stage_of(model, link);
  // q is relative to X_PL, and of the body whose frame is that of the link.
  const Transform X = inverse(model.links[link].X_PL) * X_WB * inverse(model.bodies[body].X_LB);
  Vec6 way;
  way << X.p - state.q.segment<3>(stage.q),
      turn_between(state.q.segment<4>(stage.q + 3), quat_from_matrix(X.R));
  for (double& x : way) x = std::abs(x) < kStill ? 0 : x;
  if (input->generalized_force.size() == 0) input->generalized_force.setZero(model.num_velocities());
  input->generalized_force.segment<6>(stage.v) =
      (way / dt - state.v.segment<6>(stage.v)) * (kMocapInertia / dt);
}

MocapMotion::MocapMotion(const Model& model, const State& state, const Input& input, double dt) {
  for (const Tree& tree : model.trees) {
    if (!is_mocap(model, tree.link_begin)) continue;
    const Stage& stage = stage_of(model, tree.link_begin);
    Body body{stage.q, stage.v, state.q.segment<7>(stage.q), state.v.segment<6>(stage.v)};
    if (input.generalized_force.size() > 0)
      body.v1 += dt / kMocapInertia * input.generalized_force.segment<6>(stage.v);
    for (double& x : body.v1) x = std::abs(x) < kStill ? 0 : x;
    body.q1.head<3>() += dt * body.v1.head<3>();
    if (const Vec3 w = body.v1.tail<3>(); !w.isZero(0))
      body.q1.tail<4>() = quat_multiply(quat_exp(dt * w), Vec4(body.q1.tail<4>())).normalized();
    bodies_.push_back(body);
  }
}

void MocapMotion::finish(State* state) const {
  for (const Body& body : bodies_) {
    state->q.segment<7>(body.q) = body.q1;
    state->v.segment<6>(body.v) = body.v1;
  }
}

}  // namespace capstan
