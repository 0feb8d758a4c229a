#include "capstan/io/checkpoint.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "capstan/base/hash.h"
#include "capstan/io/file.h"
#include "capstan/io/output_file.h"

namespace capstan {
namespace {

constexpr char kCheckpointMagic[8] = {'C', 'A', 'P', 'S', 'T', 'R', 'U', 'N'};
constexpr std::uint32_t kCheckpointVersion = 2;
constexpr long kMaxCheckpointBytes = 4L << 30;

// In front of the bytes of save(); little-endian as they are. The checksum is of the fields before it; the
// state has its own.
struct Header {
  char magic[8];
  std::uint32_t version;
  std::int32_t integrator, contact_law, keep_going, sleep;
  double sleep_speed, sleep_time, dt, start_time, duration;
  std::uint64_t checksum;
};

std::uint64_t checksum(const Header& header) {
  Hash hash;
  hash.add(&header, offsetof(Header, checksum));
  return hash.value;
}

// What no run writes, told by the field's name and value; "" when all is well. A fitting checksum says only
// that the bytes are those that somebody wrote.
std::string why_unsound(const Header& h) {
  const auto integer = [](const char* name, int value, int most) {
    return value >= 0 && value <= most ? "" : fmt::format("its {} is {}", name, value);
  };
  const auto number = [](const char* name, double value, bool good) {
    return good && std::isfinite(value) ? "" : fmt::format("its {} is {}", name, value);
  };
  for (const std::string& why :
       {integer("integrator", h.integrator, static_cast<int>(Integrator::midpoint)),
        integer("contact law", h.contact_law, static_cast<int>(kContactLawNames.size()) - 1),
        integer("answer to steps that do not converge", h.keep_going, 1),
        integer("switch of sleeping", h.sleep, 1),
        number("speed of sleep", h.sleep_speed, h.sleep_speed >= 0),
        number("time of sleep", h.sleep_time, h.sleep_time >= 0), number("time step", h.dt, h.dt > 0),
        number("start", h.start_time, true), number("duration", h.duration, h.duration >= 0)}) {
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace

void write_checkpoint(const std::string& path, const Model& model, const Checkpoint& checkpoint) {
  Header header{};
  std::memcpy(header.magic, kCheckpointMagic, sizeof kCheckpointMagic);
  header.version = kCheckpointVersion;
  header.integrator = static_cast<std::int32_t>(checkpoint.options.integrator);
  header.contact_law = static_cast<std::int32_t>(checkpoint.options.contact.law);
  header.keep_going = !checkpoint.options.fail_if_not_converged;
  header.sleep = checkpoint.options.sleep.on;
  header.sleep_speed = checkpoint.options.sleep.speed;
  header.sleep_time = checkpoint.options.sleep.time;
  header.dt = checkpoint.options.dt;
  header.start_time = checkpoint.start_time;
  header.duration = checkpoint.duration;
  header.checksum = checksum(header);
  const std::vector<std::uint8_t> state = save(model, checkpoint.state);
  std::vector<std::uint8_t> bytes(sizeof header + state.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, state.data(), state.size());
  write_file(path, bytes.data(), bytes.size());
}

Checkpoint read_checkpoint(const std::string& path, const Model& model) {
  const Source where{path, 0};
  Diagnostics diagnostics;
  std::string bytes;
  if (!read_file(path, kMaxCheckpointBytes, "checkpoint", where, &bytes, &diagnostics))
    throw InputError(diagnostics);
  Header header;
  if (bytes.size() < sizeof header ||
      std::memcmp(bytes.data(), kCheckpointMagic, sizeof kCheckpointMagic) != 0) {
    throw InputError(where, "this is not a checkpoint", "give a file that 'capstan run --checkpoint' wrote");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kCheckpointVersion) {
    throw InputError(where,
                     fmt::format("the checkpoint is of version {}; this program reads version {}",
                                 header.version, kCheckpointVersion),
                     "run the scene again from its start");
  }
  if (header.checksum != checksum(header)) {
    throw InputError(where, "the checkpoint is damaged: its checksum does not fit",
                     "use an earlier checkpoint");
  }
  if (const std::string why = why_unsound(header); !why.empty()) {
    throw InputError(where, "the checkpoint cannot be used: " + why, "use an earlier checkpoint");
  }
  Checkpoint checkpoint;
  checkpoint.options = step_options(model);
  checkpoint.options.dt = header.dt;
  checkpoint.options.integrator = static_cast<Integrator>(header.integrator);
  checkpoint.options.contact.law = static_cast<ContactLaw>(header.contact_law);
  checkpoint.options.fail_if_not_converged = header.keep_going == 0;
  checkpoint.options.sleep = {header.sleep != 0, header.sleep_speed, header.sleep_time};
  checkpoint.start_time = header.start_time;
  checkpoint.duration = header.duration;
  checkpoint.state = restore(model, {bytes.begin() + sizeof header, bytes.end()}, where);
  return checkpoint;
}

}  // namespace capstan
