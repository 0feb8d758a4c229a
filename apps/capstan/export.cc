// Recordings out to what other programs read.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/capstan/commands.h"
#include "capstan/base/closest_name.h"
#include "capstan/io/file.h"
#include "capstan/io/gltf.h"
#include "capstan/io/output_file.h"
#include "capstan/io/recording_hdf5.h"
#include "viewer/browser.h"
#include "viewer/html.h"

namespace capstan::cli {
namespace {

// A word of --view (docs/viewer.md, "Addresses"): what it may be, and whether it is a number instead.
struct ViewWord {
  const char* name;
  std::vector<std::string> values;
  bool is_number = false;
};

const std::vector<ViewWord>& view_words() {
  const std::vector<std::string> no_yes = {"0", "1"};
  static const std::vector<ViewWord> words = {
      {"time", {}, true},
      {"ui", no_yes},
      {"theme", {"light", "dark"}},
      {"contacts", no_yes},
      {"points", no_yes},
      {"forces", no_yes},
      {"frames", no_yes},
      {"color",
       {"material", "body", "islands", "sleeping", "strain", "stress", "tension", "curvature", "twist"}},
      {"stress", {}, true},
      {"camera", {"corner", "front", "side", "top"}},
      {"azimuth", {}, true},
      {"elevation", {}, true},
      {"zoom", {}, true},
      {"follow", {}},
      {"fit", {"first", "all"}},
      {"play", no_yes},
      {"adapt", no_yes},
      {"light", {"area"}},
  };
  return words;
}

// The page passes over what it does not know; a command does not.
void check_view(const std::string& view, const Model& model) {
  std::vector<std::string> names;
  for (const ViewWord& word : view_words()) names.push_back(word.name);
  for (std::size_t begin = 0; begin < view.size();) {
    const std::size_t end = std::min(view.find('&', begin), view.size());
    const std::string part = view.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, equals), value = part.substr(std::min(equals + 1, part.size()));
    const auto word = std::find_if(view_words().begin(), view_words().end(),
                                   [&](const ViewWord& w) { return w.name == name; });
    if (word == view_words().end()) {
      throw UsageError(
          fmt::format("--view has the unknown word '{}': {}", name,
                      did_you_mean(name, names, fmt::format("it may have {}", fmt::join(names, ", ")))));
    }
    if (word->is_number) {
      double number = 0;
      const auto [last, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error != std::errc() || last != value.data() + value.size() || !std::isfinite(number))
        throw UsageError(fmt::format("--view has {}: write a number after '{}='", part, name));
      if (name == "zoom" && !(number > 0))
        throw UsageError(fmt::format("--view has {}: zoom is above 0", part));
    } else if (name == "follow") {
      std::vector<std::string> bodies;
      for (std::size_t b = 1; b < model.bodies.size(); ++b) bodies.push_back(model.bodies[b].name);
      if (std::find(bodies.begin(), bodies.end(), value) == bodies.end()) {
        throw UsageError(fmt::format("--view follows the unknown body '{}': {}", value,
                                     did_you_mean(value, bodies, name_one_of(bodies, "body"))));
      }
    } else if (std::find(word->values.begin(), word->values.end(), value) == word->values.end()) {
      throw UsageError(
          fmt::format("--view has {}: {} is one of {}", part, name, fmt::join(word->values, ", ")));
    }
  }
}

constexpr double kTimeSlack = 1e-9;  // [s] times are sums of rounded steps

void check_range(const ExportOptions& o, Recording* recording) {
  const long count = recording->num_frames();
  for (long i = 0; i < count; ++i) {
    const double time = recording->frame(i).state.time;
    if (time < o.from - kTimeSlack) continue;
    if (time <= o.to + kTimeSlack) return;
    break;
  }
  throw UsageError(
      fmt::format("{} has no frame between --from {:g} and --to {:g}: it has {} from {:g} to {:g} s",
                  o.recording, o.from, o.to, count, count == 0 ? 0.0 : recording->frame(0).state.time,
                  count == 0 ? 0.0 : recording->frame(count - 1).state.time));
}

// Calls f with every frame between --from and --to.
template <class F>
long each_frame(Recording* recording, const ExportOptions& o, F&& f) {
  long count = 0;
  for (long i = 0; i < recording->num_frames(); ++i) {
    const RecordedFrame& frame = recording->frame(i);
    if (frame.state.time < o.from - kTimeSlack) continue;
    if (frame.state.time > o.to + kTimeSlack) break;
    f(frame);
    ++count;
  }
  return count;
}

// The same, with no more than --fps frames in a second.
template <class F>
long each_shown_frame(Recording* recording, const ExportOptions& o, F&& f) {
  constexpr double kSlack = 1e-6;  // [frames] times are sums of rounded steps
  double next = -kInfinity;
  long count = 0;
  each_frame(recording, o, [&](const RecordedFrame& frame) {
    if (frame.state.time < next - kSlack / o.fps) return;
    next =
        (std::isfinite(next) ? std::max(next, frame.state.time - 1 / o.fps) : frame.state.time) + 1 / o.fps;
    f(frame);
    ++count;
  });
  return count;
}

// Columns of sensors, which come last in a frame's numbers; and a frame's numbers without its wall time.
std::vector<LogColumn> sensor_columns_of(const RecordingHeader& h) {
  std::vector<LogColumn> columns;
  for (const LogColumn& c : h.numbers)
    if (c.group == "sensor") columns.push_back(c);
  return columns;
}
VecX logged_numbers(const RecordedFrame& frame, std::size_t num_sensed) {
  const auto n = static_cast<Eigen::Index>(log_numbers().size()), s = static_cast<Eigen::Index>(num_sensed);
  VecX numbers(n + s);
  numbers << frame.numbers.head(n), frame.numbers.tail(s);
  return numbers;
}

// The columns of a log of the same run: those that come from the state and the report, not wall times.
long export_csv(LoadedRecording* loaded, const ExportOptions& o) {
  const RecordingHeader& h = loaded->recording.header();
  const std::vector<LogColumn> sensed = sensor_columns_of(h);
  const std::unique_ptr<Log> log = open_log(o.out, log_header(loaded->model, h.file, h.options, sensed));
  VecX row;
  const long count = each_frame(&loaded->recording, o, [&](const RecordedFrame& frame) {
    make_log_row(loaded->model, frame.state, logged_numbers(frame, sensed.size()), &row);
    log->append(row);
  });
  log->close();
  return count;
}

// What 'capstan run --record out.h5' writes.
long export_hdf5(LoadedRecording* loaded, const ExportOptions& o) {
  const RecordingHeader& h = loaded->recording.header();
  const std::vector<LogColumn> sensed = sensor_columns_of(h);
  Hdf5Recorder out(o.out, loaded->model, h.file, h.options, sensed);
  const long count = each_frame(&loaded->recording, o, [&](const RecordedFrame& frame) {
    out.append(frame.state, logged_numbers(frame, sensed.size()), frame.contacts);
  });
  out.close();
  return count;
}

long export_gltf(LoadedRecording* loaded, const ExportOptions& o) {
  std::vector<State> states;
  each_shown_frame(&loaded->recording, o, [&](const RecordedFrame& frame) { states.push_back(frame.state); });
  write_file(o.out, gltf_binary(loaded->model, states));
  return static_cast<long>(states.size());
}

long export_html(LoadedRecording* loaded, const ExportOptions& o) {
  const RecordingHeader& h = loaded->recording.header();
  const std::string page = viewer::read_page();
  viewer::FrameMaker maker(loaded->model);
  viewer::Json frames = viewer::Json::array();
  const long count = each_shown_frame(&loaded->recording, o, [&](const RecordedFrame& frame) {
    frames.push_back(maker.frame(frame.state, frame.contacts, frame.numbers));
  });
  const viewer::Json scene =
      viewer::scene_message(loaded->model, h.options, h.numbers, h.duration, "recording");
  write_file(o.out, viewer::replay_html(page, scene, frames));
  return count;
}

// The last frame between --from and --to.
long export_picture(LoadedRecording* loaded, const ExportOptions& o) {
  const viewer::TemporaryFolder folder;
  ExportOptions html = o;
  html.out = folder / "replay.html";
  export_html(loaded, html);
  viewer::picture_of_html(html.out, "time=1e9&ui=0&theme=light&adapt=0&light=area&" + o.view, o.width,
                          o.height, o.out);
  return 1;
}

long export_film(LoadedRecording* loaded, const ExportOptions& o) {
  const viewer::TemporaryFolder folder;
  ExportOptions html = o;
  html.out = folder / "replay.html";
  const long count = export_html(loaded, html);
  const bool follows = ("&" + o.view).find("&follow=") != std::string::npos;
  const std::string fit = follows ? "" : "fit=all&";
  viewer::film_of_html(html.out, "time=0&ui=0&theme=light&adapt=0&" + fit + o.view, o.width, o.height, o.fps,
                       o.out);
  return count;
}

}  // namespace

void write_html(const std::string& recording, const std::string& html, double fps) {
  LoadedRecording loaded(recording);
  ExportOptions options;
  options.out = html;
  options.fps = fps;
  export_html(&loaded, options);
}

int export_recording(const ExportOptions& o) {
  if (!(o.fps > 0) || !(o.fps <= 1000)) {
    throw UsageError(fmt::format("--fps is {:g}; give a number above 0, at most 1000", o.fps));
  }
  if (!(o.from <= o.to)) throw UsageError(fmt::format("--from {:g} is after --to {:g}", o.from, o.to));
  if (same_file(o.recording, o.out)) {
    throw UsageError("the output is the recording itself; choose another name");
  }
  const std::string kind = lower_extension(o.out);
  const bool film = kind == ".mp4" || kind == ".gif" || kind == ".png";
  const bool known = kind == ".csv" || is_hdf5_name(o.out) || kind == ".glb" || kind == ".html" || film;
  if (!known) {
    throw UsageError(fmt::format(
        "a recording can be exported to .csv, .h5, .glb, .html, .png, .mp4 and .gif, not to '{}'", o.out));
  }
  LoadedRecording loaded(o.recording);
  if (!loaded.recording.complete()) tell("note: {}: {}\n", o.recording, loaded.recording.note());
  check_range(o, &loaded.recording);
  check_view(o.view, loaded.model);
  const long count = kind == ".glb"    ? export_gltf(&loaded, o)
                     : kind == ".html" ? export_html(&loaded, o)
                     : kind == ".png"  ? export_picture(&loaded, o)
                     : film            ? export_film(&loaded, o)
                     : kind == ".csv"  ? export_csv(&loaded, o)
                                       : export_hdf5(&loaded, o);
  std::error_code error;
  fmt::print("{}: {} frames, {:.2f} MB\n", o.out, count,
             1e-6 * static_cast<double>(std::filesystem::file_size(o.out, error)));
  return kOk;
}

}  // namespace capstan::cli
