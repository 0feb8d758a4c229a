// State: what changes from step to step, and nothing else. With the Model it determines the future of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/model/model.h"

namespace capstan {

// How long an object has been at rest (step/sleep.h).
struct Rest {
  std::int32_t still = 0;    // steps in a row that it was slow enough to sleep
  std::int32_t island = -1;  // asleep: the lowest tree of the island it sleeps in; awake: -1
  std::uint64_t digest = 0;  // asleep: hash of where it is and of what acted on it when it fell asleep

  bool is_asleep() const { return island >= 0; }
  bool operator==(const Rest&) const = default;
};
static_assert(sizeof(Rest) == 16, "saved byte for byte");

struct State {
  double time = 0;              // [s]
  std::int64_t step = 0;        // steps taken since the start
  VecX q;                       // positions, laid out as Model::joints say
  VecX v;                       // velocities
  VecX a = {};                  // acceleration in the last step; empty counts as zero
  VecX control;                 // u of each actuator; stays until changed
  std::vector<Rest> rest = {};  // [objects]; empty where nothing may sleep
  VecX activation = {};         // a of each actuator (scene.h); empty where none has one
};

// The scene's initial state, or that of a named keyframe (throws InputError when there is none of that name).
State initial_state(const Model& model);
State keyframe_state(const Model& model, const std::string& keyframe);

// What the gain of each actuator multiplies: its activation where it has one, else its control.
VecX calc_actuator_inputs(const Model& model, const State& state);
// The activations dt later, with the controls of the state.
void advance_activations(const Model& model, double dt, State* state);

// What is wrong with a state of this model that came from outside, or "": sizes, a number that is not finite,
// a quaternion without a direction, a tree that sleeps with one that is not there.
std::string why_unsound(const Model& model, const State& state);

// The whole state as bytes: versioned, little-endian, with the model's fingerprint and a checksum.
std::vector<std::uint8_t> save(const Model& model, const State& state);

// The state that save() was given, bit for bit. Throws InputError (told at `where`) when the bytes are
// damaged, of another version, of another model, or give a state that no step can start from.
State restore(const Model& model, const std::vector<std::uint8_t>& bytes, const Source& where = {});

// 64 bits that differ, in practice, whenever any bit of the state does.
std::uint64_t hash(const State& state);

// q = q0 moved along v for dt: plain numbers add up, quaternions turn and stay unit. q and q0 may be the
// same.
void move(const Model& model, const VecX& q0, const VecX& v, double dt, VecX* q);
void move(const Model& model, const VecX& q0, const VecX& v, double dt, VecX* q, int stage_begin,
          int stage_end);

// The same for one object that is not a tree.
void move_object(const Model& model, int object, const VecX& q0, const VecX& v, double dt, VecX* q);

// The inverse: v with move(q0, v, 1) = q1 (rotation vectors for quaternions, the shorter way).
void difference(const Model& model, const VecX& q0, const VecX& q1, VecX* v);

}  // namespace capstan
