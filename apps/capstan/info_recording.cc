#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "apps/capstan/commands.h"
#include "capstan/io/recording_hdf5.h"

namespace capstan::cli {

void print_recording_info(const std::string& path, bool json) {
  Recording recording(path);
  const RecordingHeader& h = recording.header();
  const double start = recording.frame(0).state.time;
  const RecordedFrame last = recording.frame(recording.num_frames() - 1);
  const double span = last.state.time - start;
  const double megabytes = 1e-6 * static_cast<double>(recording.bytes());
  if (json) {
    nlohmann::ordered_json j;
    j["scene"] = h.scene_name;
    j["file"] = h.file;
    j["version"] = h.version;
    j["fingerprint"] = fmt::format("{:016x}", h.fingerprint);
    j["dt"] = h.options.dt;
    j["integrator"] = integrator_name(h.options.integrator);
    if (h.options.rigid.is_on) {
      j["model"] = traits(h.options.rigid.options.model).name;
      j["solver"] = h.options.rigid.solver;
    }
    j["num_frames"] = recording.num_frames();
    j["start"] = start;
    j["end"] = last.state.time;
    j["bytes"] = recording.bytes();
    j["complete"] = recording.complete();
    j["hash"] = fmt::format("{:016x}", last.hash);
    j["num_positions"] = h.num_q;
    j["num_dofs"] = h.num_v;
    for (const LogColumn& c : h.numbers) j["numbers"].push_back(fmt::format("{} [{}]", c.name, c.unit));
    fmt::print("{}\n", j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  const auto row = [](const char* name, const std::string& value) {
    fmt::print("  {:<14}{}\n", name, value);
  };
  fmt::print("{} (recording)\n", h.scene_name.empty() ? "(unnamed scene)" : h.scene_name);
  row("file", path);
  row("scene", h.file);
  row("made by", h.version);
  row("model", fmt::format("{} dofs, {} positions, {} actuators, fingerprint {:016x}", h.num_v, h.num_q,
                           h.num_control, h.fingerprint));
  row("step", fmt::format("{:g} s, {}", h.options.dt, integrator_name(h.options.integrator)));
  row("contact", h.options.rigid.is_on ? rigid_text(h.options.rigid) : traits(h.options.contact.law).name);
  row("time", fmt::format("{:g} to {:g} s of {:g} s asked for", start, last.state.time, h.duration));
  row("frames", fmt::format("{}, {:.1f} in a second", recording.num_frames(),
                            span > 0 ? static_cast<double>(recording.num_frames() - 1) / span : 0.0));
  row("size",
      span > 0 ? fmt::format("{:.2f} MB, {:.2f} MB for a simulated minute", megabytes, megabytes * 60 / span)
               : fmt::format("{:.2f} MB", megabytes));
  row("final state", fmt::format("hash {:016x}, {} contacts", last.hash, last.contacts.size()));
  row("end", recording.complete() ? "complete" : recording.note());
}

void print_hdf5_info(const std::string& path, bool json) {
  const Hdf5Summary s = read_hdf5_summary(path);
  if (json) {
    nlohmann::ordered_json j = {{"scene", s.scene},           {"file", s.file},
                                {"version", s.version},       {"dt", s.dt},
                                {"integrator", s.integrator}, {"num_frames", s.num_frames},
                                {"start", s.start},           {"end", s.end}};
    if (s.num_contacts >= 0) j["num_contacts"] = s.num_contacts;
    fmt::print("{}\n", j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  const auto row = [](const char* name, const std::string& value) {
    fmt::print("  {:<14}{}\n", name, value);
  };
  const bool log = s.num_contacts < 0;
  fmt::print("{} (HDF5 {})\n", s.scene.empty() ? "(unnamed scene)" : s.scene, log ? "log" : "recording");
  row("file", path);
  row("scene", s.file);
  row("made by", s.version);
  row("step", fmt::format("{:g} s, {}", s.dt, s.integrator));
  row("time", fmt::format("{:g} to {:g} s", s.start, s.end));
  row(log ? "rows" : "frames", fmt::format("{}", s.num_frames));
  if (!log) row("contacts", fmt::format("{} in all frames", s.num_contacts));
}

}  // namespace capstan::cli
