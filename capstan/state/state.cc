#include "capstan/state/state.h"
#include "capstan/physics/physics.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "capstan/base/hash.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

static_assert(std::endian::native == std::endian::little, "saved states are little-endian");

constexpr char kMagic[8] = {'C', 'A', 'P', 'S', 'T', 'A', 'T', 'E'};
constexpr std::uint32_t kVersion = 4;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t fingerprint;
  std::int64_t num_q, num_v, num_a, num_control, num_rest, num_activation;
  std::int64_t step;
  double time;
};

std::size_t body_bytes(const Header& h) {
  return sizeof h + (h.num_q + h.num_v + h.num_a + h.num_control + h.num_activation) * sizeof(double) +
         h.num_rest * sizeof(Rest);
}

State make_state(const ModelKeyframe& keyframe) {
  return {keyframe.time,    0,  keyframe.q,         keyframe.v, VecX::Zero(keyframe.v.size()),
          keyframe.control, {}, keyframe.activation};
}

std::uint64_t hash_bytes(const std::uint8_t* data, std::size_t bytes) {
  Hash hash;
  hash.add(data, bytes);
  return hash.value;
}

}  // namespace

State initial_state(const Model& model) {
  return make_state(model.initial);
}

State keyframe_state(const Model& model, const std::string& name) {
  const int index = model.find_keyframe(name);
  if (index < 0) {
    std::string known;
    for (const ModelKeyframe& k : model.keyframes) known += (known.empty() ? "" : ", ") + k.name;
    throw InputError(Source{}, fmt::format("there is no keyframe '{}'", name),
                     known.empty() ? "the scene has no keyframes" : "known are: " + known);
  }
  return make_state(model.keyframes[index]);
}

VecX calc_actuator_inputs(const Model& model, const State& state) {
  VecX inputs = state.control;
  for (int i = 0; i < state.activation.size(); ++i) {
    if (model.actuators[i].has_activation()) inputs[i] = state.activation[i];
  }
  return inputs;
}

namespace {

// da/dt.
double calc_activation_rate(const Activation& activation, double u, double a) {
  constexpr double kLeastTime = 1e-15;  // [s]
  if (activation.type == ActivationType::integrator) return u;
  if (activation.type != ActivationType::muscle)
    return (u - a) / std::max(kLeastTime, activation.time_constant);
  const double change = std::clamp(u, 0.0, 1.0) - a, excited = 0.5 + 1.5 * std::clamp(a, 0.0, 1.0);
  const double on = activation.time_constant * excited, off = activation.time_constant_off / excited;
  double part = change > 0 ? 1 : 0;
  if (activation.smoothing > 0) {
    const double x = std::clamp(change / activation.smoothing + 0.5, 0.0, 1.0);
    part = x * x * x * (x * (6 * x - 15) + 10);
  }
  return change / std::max(kLeastTime, off + (on - off) * part);
}

}  // namespace

void advance_activations(const Model& model, double dt, State* state) {
  for (int i = 0; i < state->activation.size(); ++i) {
    const ModelActuator& actuator = model.actuators[i];
    const Activation& activation = actuator.activation;
    if (!actuator.has_activation()) continue;
    const double u =
        std::clamp(state->control[i], actuator.control_range.lower, actuator.control_range.upper);
    double& a = state->activation[i];
    double time = dt;
    if (activation.type == ActivationType::filter_exact && activation.time_constant > 0)
      time = -activation.time_constant * std::expm1(-dt / activation.time_constant);
    a = std::clamp(a + time * calc_activation_rate(activation, u, a), activation.range.lower,
                   activation.range.upper);
  }
}

std::string why_unsound(const Model& model, const State& state) {
  const auto num_objects = static_cast<std::int64_t>(model.objects.size());
  if (state.q.size() != model.num_positions || state.v.size() != model.num_velocities() ||
      (state.a.size() != 0 && state.a.size() != state.v.size()) ||
      state.control.size() != std::ssize(model.actuators) ||
      state.activation.size() != (model.has_activations ? std::ssize(model.actuators) : 0) ||
      (!state.rest.empty() && std::ssize(state.rest) != num_objects)) {
    return "it has other sizes than the model";
  }
  if (!std::isfinite(state.time)) return fmt::format("its time is {}", state.time);
  if (state.step < 0) return fmt::format("its step is {}", state.step);
  for (const auto& [x, name] :
       {std::pair{&state.q, "a position"}, std::pair{&state.v, "a velocity"},
        std::pair{&state.a, "an acceleration"}, std::pair{&state.control, "a control"},
        std::pair{&state.activation, "an activation"}}) {
    if (!x->allFinite()) return fmt::format("it has {} that is not finite", name);
  }
  for (const Stage& stage : model.stages) {
    if (stage.type != StageType::ball && stage.type != StageType::free) continue;
    const double norm = state.q.segment<4>(stage.type == StageType::free ? stage.q + 3 : stage.q).norm();
    if (!(norm > 1e-9) || !std::isfinite(norm)) return fmt::format("it has a quaternion of length {}", norm);
  }
  for (const Rest& rest : state.rest) {
    if (rest.still < 0 || rest.island < -1 || rest.island >= num_objects) {
      return fmt::format("an object of it is at rest for {} steps, in island {} of {}", rest.still,
                         rest.island, num_objects);
    }
  }
  return "";
}

std::vector<std::uint8_t> save(const Model& model, const State& state) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.header_bytes = sizeof header;
  header.fingerprint = model.fingerprint;
  header.num_q = state.q.size();
  header.num_v = state.v.size();
  header.num_a = state.a.size();
  header.num_control = state.control.size();
  header.num_rest = static_cast<std::int64_t>(state.rest.size());
  header.num_activation = state.activation.size();
  header.step = state.step;
  header.time = state.time;
  const std::size_t body = body_bytes(header);
  std::vector<std::uint8_t> bytes(body + sizeof(std::uint64_t));
  std::uint8_t* p = bytes.data();
  const auto append = [&p](const void* data, std::size_t n) {
    if (n > 0) std::memcpy(p, data, n);
    p += n;
  };
  append(&header, sizeof header);
  for (const VecX* x : {&state.q, &state.v, &state.a, &state.control, &state.activation})
    append(x->data(), x->size() * sizeof(double));
  append(state.rest.data(), state.rest.size() * sizeof(Rest));
  const std::uint64_t checksum = hash_bytes(bytes.data(), body);
  append(&checksum, sizeof checksum);
  return bytes;
}

State restore(const Model& model, const std::vector<std::uint8_t>& bytes, const Source& where) {
  Header header;
  if (bytes.size() < sizeof header + sizeof(std::uint64_t) ||
      std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    throw InputError(where, "this is not a saved state", "give a file that 'capstan run --checkpoint' wrote");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kVersion || header.header_bytes != sizeof header) {
    throw InputError(where,
                     fmt::format("the saved state is of version {}; this program reads version {}",
                                 header.version, kVersion),
                     "run the scene again from its start");
  }
  const std::size_t body = bytes.size() - sizeof(std::uint64_t);
  std::uint64_t checksum;
  std::memcpy(&checksum, bytes.data() + body, sizeof checksum);
  if (checksum != hash_bytes(bytes.data(), body)) {
    throw InputError(where, "the saved state is damaged: its checksum does not fit",
                     "use an earlier checkpoint");
  }
  if (header.fingerprint != model.fingerprint || header.num_q != model.num_positions ||
      header.num_v != model.num_velocities() || (header.num_a != 0 && header.num_a != header.num_v) ||
      header.num_control != static_cast<int>(model.actuators.size()) ||
      header.num_activation != (model.has_activations ? header.num_control : 0) ||
      (header.num_rest != 0 && header.num_rest != static_cast<std::int64_t>(model.objects.size())) ||
      body != body_bytes(header)) {
    throw InputError(where, "the saved state belongs to another model than this scene",
                     "resume with the scene file, unchanged, that the run was started with");
  }
  State state;
  state.time = header.time;
  state.step = header.step;
  const std::uint8_t* p = bytes.data() + sizeof header;
  const auto take = [&](VecX* x, std::int64_t n) {
    x->resize(n);
    if (n > 0) std::memcpy(x->data(), p, n * sizeof(double));
    p += n * sizeof(double);
  };
  take(&state.q, header.num_q);
  take(&state.v, header.num_v);
  take(&state.a, header.num_a);
  take(&state.control, header.num_control);
  take(&state.activation, header.num_activation);
  state.rest.resize(header.num_rest);
  if (header.num_rest > 0) std::memcpy(state.rest.data(), p, header.num_rest * sizeof(Rest));
  if (const std::string why = why_unsound(model, state); !why.empty()) {
    throw InputError(where, "the saved state cannot be used: " + why, "use an earlier checkpoint");
  }
  return state;
}

std::uint64_t hash(const State& state) {
  Hash h;
  h.add(state.time);
  h.add(state.step);
  const VecX zero = VecX::Zero(state.a.size() == 0 ? state.v.size() : 0);
  for (const VecX* x :
       {&state.q, &state.v, state.a.size() == 0 ? &zero : &state.a, &state.control, &state.activation})
    h.add(x->data(), x->size() * sizeof(double));
  h.add(state.rest.data(), state.rest.size() * sizeof(Rest));
  return h.value;
}

void move(const Model& model, const VecX& q0, const VecX& v, double dt, VecX* q) {
  move(model, q0, v, dt, q, 0, static_cast<int>(model.stages.size()));
  for (int i = static_cast<int>(model.trees.size()); i < model.num_objects(); ++i)
    move_object(model, i, q0, v, dt, q);
}

void move_object(const Model& model, int id, const VecX& q0, const VecX& v, double dt, VecX* q) {
  const Object& object = model.objects[id];
  const int first = object.q_begin, n = object.num_positions();
  object.physics->move(q0.segment(first, n), v.segment(object.dof_begin, object.num_dofs()), dt,
                       q->segment(first, n));
}

void move(const Model& model, const VecX& q0, const VecX& v, double dt, VecX* q, int stage_begin,
          int stage_end) {
  for (int s = stage_begin; s < stage_end; ++s) {
    const Stage& stage = model.stages[s];
    int iq = stage.q, iv = stage.v;
    if (stage.type == StageType::free) {
      q->segment<3>(iq) = q0.segment<3>(iq) + dt * v.segment<3>(iv);
      iq += 3, iv += 3;
    } else if (stage.type != StageType::ball) {
      (*q)[iq] = q0[iq] + dt * v[iv];
      continue;
    }
    const Vec4 quat = quat_multiply(quat_exp(dt * v.segment<3>(iv)), q0.segment<4>(iq));
    q->segment<4>(iq) = quat / quat.norm();
  }
}

void difference(const Model& model, const VecX& q0, const VecX& q1, VecX* v) {
  for (const Stage& stage : model.stages) {
    int iq = stage.q, iv = stage.v;
    if (stage.type == StageType::free) {
      v->segment<3>(iv) = q1.segment<3>(iq) - q0.segment<3>(iq);
      iq += 3, iv += 3;
    } else if (stage.type != StageType::ball) {
      (*v)[iv] = q1[iq] - q0[iq];
      continue;
    }
    v->segment<3>(iv) = quat_log(quat_multiply(q1.segment<4>(iq), quat_conjugate(q0.segment<4>(iq))));
  }
}

}  // namespace capstan
