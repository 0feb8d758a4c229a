#include "capstan/io/recording_codec.h"

#include <fmt/core.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace capstan {
namespace {

static_assert(std::endian::native == std::endian::little, "recordings are little-endian");
static_assert(sizeof(RecordedContact) == 14 * 4, "14 words of 4 bytes");

// Odd versions, and the even ones after them, which have the settings of rigid contact at the end of the
// header. Contacts of versions 5 and 6 have no area: 13 words.
// Odd versions and the even ones after them differ by the options of rigid contact; 9 and 10 have
// activations.
constexpr std::uint32_t kVersion = 7, kWithActivations = 9, kNewest = 10, kOldest = 5;
constexpr int kPackLevel = 3;  // level 6 saves 4 % more bytes for three times the time

class Out {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    put(&value, 1);
  }
  template <class T>
  void put(const T* data, std::size_t count) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(data);
    bytes.insert(bytes.end(), p, p + count * sizeof(T));
  }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    put(text.data(), text.size());
  }
  void put(const VecX& x) {
    put(static_cast<std::uint64_t>(x.size()));
    put(x.data(), static_cast<std::size_t>(x.size()));
  }
  Bytes bytes;
};

class In {
 public:
  explicit In(const Bytes& bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value;
    get(&value, 1);
    return value;
  }
  template <class T>
  void get(T* data, std::size_t count) {
    need(count, sizeof(T));
    if (count > 0) std::memcpy(data, bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
  }
  std::size_t count(std::size_t element_bytes) {  // a number of things that must still be there
    const auto n = get<std::uint64_t>();
    need(n, element_bytes);
    return n;
  }
  std::string text() {
    std::string text(count(1), '\0');
    get(text.data(), text.size());
    return text;
  }
  VecX vector() {
    VecX x(static_cast<Eigen::Index>(count(sizeof(double))));
    get(x.data(), static_cast<std::size_t>(x.size()));
    return x;
  }
  void end() const {
    if (at_ != bytes_.size()) throw std::runtime_error("it is longer than it says");
  }

 private:
  void need(std::uint64_t n, std::size_t element_bytes) const {
    if (n > (bytes_.size() - at_) / element_bytes) throw std::runtime_error("it ends too early");
  }
  const Bytes& bytes_;
  std::size_t at_ = 0;
};

// Bytes of equal rank together: byte b of word w goes to place b * words + w.
Bytes split_planes(const std::uint8_t* words, std::size_t count, std::size_t width) {
  Bytes planes(count * width);
  for (std::size_t b = 0; b < width; ++b) {
    for (std::size_t w = 0; w < count; ++w) planes[b * count + w] = words[w * width + b];
  }
  return planes;
}
void join_planes(const Bytes& planes, std::uint8_t* words, std::size_t count, std::size_t width) {
  for (std::size_t b = 0; b < width; ++b) {
    for (std::size_t w = 0; w < count; ++w) words[w * width + b] = planes[b * count + w];
  }
}

// The area is the last word of a contact.
std::size_t bytes_of_contact(const RecordingHeader& h) {
  return sizeof(RecordedContact) - (h.has_areas ? 0 : sizeof(float));
}

std::size_t words_of_frame(const RecordingHeader& h) {
  return 3 + h.num_q + 2 * h.num_v + h.num_control + h.num_activation + h.numbers.size() +
         (h.num_rest > 0 ? 1 + 2 * static_cast<std::size_t>(h.num_rest) : 0);
}

// time, step, hash, q, v, a, control, numbers, and where objects may sleep how many tell and their Rest, as
// 64-bit words.
void put_words(const RecordingHeader& h, const RecordedFrame& frame, std::uint64_t* w) {
  const auto word = [&w](const auto& x) { *w++ = std::bit_cast<std::uint64_t>(x); };
  word(frame.state.time);
  word(frame.state.step);
  word(frame.hash);
  const VecX zero = VecX::Zero(frame.state.a.size() == 0 ? h.num_v : 0);
  const VecX* const a = frame.state.a.size() == 0 ? &zero : &frame.state.a;
  for (const VecX* x :
       {&frame.state.q, &frame.state.v, a, &frame.state.control, &frame.state.activation, &frame.numbers}) {
    for (const double number : *x) word(number);
  }
  if (h.num_rest == 0) return;
  word(static_cast<std::uint64_t>(frame.state.rest.size()));
  for (int i = 0; i < h.num_rest; ++i) {
    const Rest rest = frame.state.rest.empty() ? Rest{} : frame.state.rest[i];
    *w++ = static_cast<std::uint64_t>(static_cast<std::uint32_t>(rest.still)) << 32 |
           static_cast<std::uint32_t>(rest.island);
    *w++ = rest.digest;
  }
}
void get_words(const RecordingHeader& h, const std::uint64_t* w, RecordedFrame* frame) {
  frame->state.time = std::bit_cast<double>(*w++);
  frame->state.step = std::bit_cast<std::int64_t>(*w++);
  frame->hash = *w++;
  const auto take = [&w](int n, VecX* x) {
    x->resize(n);
    for (double& number : *x) number = std::bit_cast<double>(*w++);
  };
  take(h.num_q, &frame->state.q);
  take(h.num_v, &frame->state.v);
  take(h.num_v, &frame->state.a);
  take(h.num_control, &frame->state.control);
  take(h.num_activation, &frame->state.activation);
  take(static_cast<int>(h.numbers.size()), &frame->numbers);
  if (h.num_rest == 0 || *w++ == 0) return;
  frame->state.rest.resize(h.num_rest);
  for (Rest& rest : frame->state.rest) {
    rest.still = static_cast<std::int32_t>(*w >> 32);
    rest.island = static_cast<std::int32_t>(*w++ & 0xffffffffu);
    rest.digest = *w++;
  }
}

void put_input(const RecordedInput& in, Out* out) {
  out->put(in.step);
  out->put(in.control);
  out->put(in.input.generalized_force);
  out->put(in.input.surface_scale);
  out->put(static_cast<std::uint64_t>(in.input.body_forces.size()));
  for (const BodyForce& f : in.input.body_forces) {
    out->put(static_cast<std::int32_t>(f.body));
    for (const Vec3* x : {&f.point_W, &f.force_W, &f.torque_W}) out->put(x->data(), 3);
  }
}
RecordedInput get_input(In* in) {
  RecordedInput r;
  r.step = in->get<std::int64_t>();
  r.control = in->vector();
  r.input.generalized_force = in->vector();
  r.input.surface_scale = in->vector();
  r.input.body_forces.resize(in->count(4 + 9 * sizeof(double)));
  for (BodyForce& f : r.input.body_forces) {
    f.body = in->get<std::int32_t>();
    for (Vec3* x : {&f.point_W, &f.force_W, &f.torque_W}) in->get(x->data(), 3);
  }
  return r;
}

void put_rigid(const RigidSettings& settings, Out* out) {
  const RigidOptions& r = settings.options;
  out->put(std::string(traits(r.model).name));
  out->put(settings.solver);
  out->put(std::string(kRigidRestitutionNames[static_cast<int>(r.restitution)]));
  out->put(std::string(kRigidStabilizationNames[static_cast<int>(r.stabilization)]));
  for (const double x : {r.viscosity, r.erp, r.cfm, r.stiffness, r.damping, r.allowance, r.tolerance})
    out->put(x);
  for (const int x : {r.directions, r.max_iterations, static_cast<int>(r.warm_start)})
    out->put(static_cast<std::int32_t>(x));
}

// Its place among names.
template <class Names, class NameOf>
int find_name(const Names& names, const std::string& name, const NameOf& name_of) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == name_of(names[i])) return static_cast<int>(i);
  }
  throw std::runtime_error(fmt::format("an option of rigid contact is '{}'", name));
}

void get_rigid(In* in, RigidSettings* settings) {
  RigidOptions& r = settings->options;
  const auto plain = [](const char* name) { return name; };
  settings->is_on = true;
  r.model = static_cast<RigidModel>(
      find_name(kRigidModels, in->text(), [](const RigidModelTraits& m) { return m.name; }));
  settings->solver = in->text();
  r.restitution = static_cast<RigidRestitution>(find_name(kRigidRestitutionNames, in->text(), plain));
  r.stabilization = static_cast<RigidStabilization>(find_name(kRigidStabilizationNames, in->text(), plain));
  for (double* x : {&r.viscosity, &r.erp, &r.cfm, &r.stiffness, &r.damping, &r.allowance, &r.tolerance}) {
    *x = in->get<double>();
    if (!std::isfinite(*x) || (*x < 0 && x != &r.erp))
      throw std::runtime_error(fmt::format("an option of rigid contact is {}", *x));
  }
  r.directions = in->get<std::int32_t>();
  r.max_iterations = in->get<std::int32_t>();
  r.warm_start = in->get<std::int32_t>() != 0;
  if (r.directions < 4 || r.directions > 1000 || r.max_iterations < 0)
    throw std::runtime_error("an option of rigid contact is out of range");
}

}  // namespace

Bytes encode_header(const RecordingHeader& h) {
  Out out;
  out.put((h.num_activation > 0 ? kWithActivations
           : h.has_areas        ? kVersion
                                : kOldest) +
          (h.options.rigid.is_on ? 1 : 0));
  for (const std::string* text : {&h.scene_name, &h.file, &h.version, &h.yaml}) out.put(*text);
  out.put(h.fingerprint);
  const StepOptions& o = h.options;
  for (const double x : {o.dt, o.contact.sigma.value_or(0), o.contact.beta, o.contact.constraint_beta,
                         o.newton.relative_tolerance, o.newton.absolute_tolerance, o.sleep.speed,
                         o.sleep.time, h.duration, o.contact.recovery_speed}) {
    out.put(x);
  }
  for (const int x : {static_cast<int>(o.integrator), static_cast<int>(o.contact.law),
                      static_cast<int>(o.contact.normal_law), o.newton.max_iterations,
                      static_cast<int>(o.fail_if_not_converged), static_cast<int>(o.sleep.on), h.num_q,
                      h.num_v, h.num_control, h.num_rest}) {
    out.put(static_cast<std::int32_t>(x));
  }
  out.put(static_cast<std::uint64_t>(h.numbers.size()));
  for (const LogColumn& c : h.numbers) {
    for (const std::string* text : {&c.group, &c.name, &c.unit}) out.put(*text);
  }
  out.put(static_cast<std::uint64_t>(h.meshes.size()));
  for (const auto& mesh : h.meshes) {
    out.put(static_cast<std::uint64_t>(mesh->vertices.size()));
    for (const Vec3& v : mesh->vertices) out.put(v.data(), 3);
    out.put(static_cast<std::uint64_t>(mesh->triangles.size()));
    for (const auto& t : mesh->triangles) {
      for (const int i : t) out.put(static_cast<std::int32_t>(i));
    }
  }
  if (h.options.rigid.is_on) put_rigid(h.options.rigid, &out);
  return out.bytes;
}

RecordingHeader decode_header(const Bytes& bytes) {
  In in(bytes);
  const auto version = in.get<std::uint32_t>();
  if (version < kOldest || version > kNewest) {
    throw std::runtime_error(
        fmt::format("it is of version {}; this program reads versions {} to {}", version, kOldest, kNewest));
  }
  RecordingHeader h;
  h.has_areas = version >= kVersion;
  for (std::string* text : {&h.scene_name, &h.file, &h.version, &h.yaml}) *text = in.text();
  h.fingerprint = in.get<std::uint64_t>();
  StepOptions& o = h.options;
  double sigma = 0;
  for (double* x : {&o.dt, &sigma, &o.contact.beta, &o.contact.constraint_beta, &o.newton.relative_tolerance,
                    &o.newton.absolute_tolerance, &o.sleep.speed, &o.sleep.time, &h.duration}) {
    *x = in.get<double>();
    if (!std::isfinite(*x) || *x < 0)
      throw std::runtime_error(fmt::format("an option of the step is {}", *x));
  }
  if (sigma > 0) o.contact.sigma = sigma;
  o.contact.recovery_speed = in.get<double>();
  if (std::isnan(o.contact.recovery_speed) || o.contact.recovery_speed < 0)
    throw std::runtime_error(fmt::format("an option of the step is {}", o.contact.recovery_speed));
  for (const double x : {o.dt, o.contact.beta, o.contact.constraint_beta, o.contact.recovery_speed}) {
    if (x == 0) throw std::runtime_error("an option of the step is 0");
  }
  const auto integer = [&in](int least, int most) {
    const auto x = in.get<std::int32_t>();
    if (x < least || x > most) throw std::runtime_error(fmt::format("an option of the step is {}", x));
    return x;
  };
  constexpr int kMany = 100'000'000;
  o.integrator = static_cast<Integrator>(integer(0, static_cast<int>(Integrator::midpoint)));
  o.contact.law = static_cast<ContactLaw>(integer(0, static_cast<int>(kContactLawNames.size()) - 1));
  o.contact.normal_law = static_cast<NormalLaw>(integer(0, static_cast<int>(kNormalLawNames.size()) - 1));
  o.newton.max_iterations = integer(0, kMany);
  o.fail_if_not_converged = integer(0, 1) != 0;
  o.sleep.on = integer(0, 1) != 0;
  h.num_q = integer(0, kMany);
  h.num_v = integer(0, kMany);
  h.num_control = integer(0, kMany);
  h.num_rest = integer(0, kMany);
  if (version >= kWithActivations) h.num_activation = h.num_control;
  h.numbers.resize(in.count(3 * sizeof(std::uint64_t)));
  for (LogColumn& c : h.numbers) {
    for (std::string* text : {&c.group, &c.name, &c.unit}) *text = in.text();
  }
  const std::size_t num_meshes = in.count(2 * sizeof(std::uint64_t));
  for (std::size_t m = 0; m < num_meshes; ++m) {
    auto mesh = std::make_shared<TriangleMesh>();
    mesh->vertices.resize(in.count(3 * sizeof(double)));
    for (Vec3& v : mesh->vertices) in.get(v.data(), 3);
    mesh->triangles.resize(in.count(3 * sizeof(std::int32_t)));
    for (auto& t : mesh->triangles) {
      for (int& i : t) {
        i = in.get<std::int32_t>();
        if (i < 0 || i >= static_cast<int>(mesh->vertices.size())) {
          throw std::runtime_error(fmt::format("a triangle refers to vertex {}", i));
        }
      }
    }
    h.meshes.push_back(std::move(mesh));
  }
  if (version % 2 == 0) get_rigid(&in, &o.rigid);
  in.end();
  return h;
}

Bytes encode_frames(const RecordingHeader& h, const std::vector<RecordedFrame>& frames) {
  const std::size_t n = frames.size(), width = words_of_frame(h);
  // Word after word, each with all frames: what changes little over time is then a run of zeros.
  std::vector<std::uint64_t> words(n * width), now(width), before(width, 0);
  Out out;
  out.put(static_cast<std::uint64_t>(n));
  std::vector<RecordedContact> contacts;
  Out inputs;
  for (std::size_t f = 0; f < n; ++f) {
    put_words(h, frames[f], now.data());
    for (std::size_t w = 0; w < width; ++w) words[w * n + f] = now[w] ^ before[w];
    std::swap(now, before);
    out.put(static_cast<std::uint32_t>(frames[f].contacts.size()));
    out.put(static_cast<std::uint32_t>(frames[f].inputs.size()));
    contacts.insert(contacts.end(), frames[f].contacts.begin(), frames[f].contacts.end());
    for (const RecordedInput& input : frames[f].inputs) put_input(input, &inputs);
  }
  const Bytes planes = split_planes(reinterpret_cast<const std::uint8_t*>(words.data()), words.size(), 8);
  out.put(planes.data(), planes.size());
  const std::size_t contact_bytes = bytes_of_contact(h);
  Bytes joined(contacts.size() * contact_bytes);
  for (std::size_t c = 0; c < contacts.size(); ++c)
    std::memcpy(joined.data() + c * contact_bytes, &contacts[c], contact_bytes);
  const Bytes contact_planes = split_planes(joined.data(), contacts.size(), contact_bytes);
  out.put(contact_planes.data(), contact_planes.size());
  out.put(inputs.bytes.data(), inputs.bytes.size());
  return out.bytes;
}

std::vector<RecordedFrame> decode_frames(const RecordingHeader& h, const Bytes& bytes) {
  In in(bytes);
  const std::size_t width = words_of_frame(h), n = in.count(8 * width + 8);
  if (n == 0) throw std::runtime_error("it has no frames");  // before memory is taken for one
  std::vector<RecordedFrame> frames(n);
  std::vector<std::uint32_t> counts(2 * n);
  in.get(counts.data(), counts.size());
  Bytes planes(n * width * 8);
  in.get(planes.data(), planes.size());
  std::vector<std::uint64_t> words(n * width), now(width, 0);
  join_planes(planes, reinterpret_cast<std::uint8_t*>(words.data()), words.size(), 8);
  std::size_t num_contacts = 0;
  for (std::size_t f = 0; f < n; ++f) {
    for (std::size_t w = 0; w < width; ++w) now[w] ^= words[w * n + f];
    get_words(h, now.data(), &frames[f]);
    const State& state = frames[f].state;
    if (!std::isfinite(state.time) || (f > 0 && state.time < frames[f - 1].state.time)) {
      throw std::runtime_error(fmt::format("a frame is at time {}", state.time));
    }
    num_contacts += counts[2 * f];
  }
  const std::size_t contact_bytes = bytes_of_contact(h);
  if (num_contacts > bytes.size() / contact_bytes) throw std::runtime_error("it ends too early");
  planes.resize(num_contacts * contact_bytes);
  in.get(planes.data(), planes.size());
  Bytes joined(planes.size());
  join_planes(planes, joined.data(), num_contacts, contact_bytes);
  std::vector<RecordedContact> contacts(num_contacts);
  for (std::size_t c = 0; c < num_contacts; ++c)
    std::memcpy(static_cast<void*>(&contacts[c]), joined.data() + c * contact_bytes, contact_bytes);
  auto next = contacts.begin();
  for (std::size_t f = 0; f < n; ++f) {
    frames[f].contacts.assign(next, next + counts[2 * f]);
    next += counts[2 * f];
    for (std::uint32_t i = 0; i < counts[2 * f + 1]; ++i) frames[f].inputs.push_back(get_input(&in));
  }
  in.end();
  return frames;
}

Bytes pack(const Bytes& raw) {
  uLongf size = compressBound(raw.size());
  Bytes packed(size);
  CAPSTAN_ASSERT(compress2(packed.data(), &size, raw.data(), raw.size(), kPackLevel) == Z_OK);
  packed.resize(size);
  return packed;
}

Bytes unpack(const Bytes& packed, std::size_t raw_bytes) {
  constexpr std::size_t kMostExpansion = 1040;  // of zlib: 1032, and a few bytes around it
  if (raw_bytes / kMostExpansion > packed.size()) throw std::runtime_error("its packed bytes do not unpack");
  Bytes raw(raw_bytes);
  uLongf size = raw_bytes;
  if (uncompress(raw.data(), &size, packed.data(), packed.size()) != Z_OK || size != raw_bytes) {
    throw std::runtime_error("its packed bytes do not unpack");
  }
  return raw;
}

}  // namespace capstan
