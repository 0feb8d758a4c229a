// What a viewer watches: a simulation that goes on in a thread of its own, or a recording that is played.
// Viewers get frames as often as they are useful, not every step, and never hold the thread up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "capstan/step/schedule.h"
#include "viewer/view_data.h"

namespace capstan::viewer {

using Message = std::shared_ptr<const Bytes>;

class Player {
 public:
  struct Listener {
    std::function<void(Message)> on_frame, on_status;  // called from the player's thread
  };
  virtual ~Player() = default;
  // Stops the thread; to be called before the destructor of a derived class is left.
  void stop();
  void start(bool playing);
  void set_listener(Listener listener);  // when it returns, the one before is no longer called

  Message scene() const { return scene_; }
  Message last_frame() const;
  Message last_status() const;

  // A message of a viewer: {command: "play" | "pause" | "step" | "reset"}, {command: "speed", value},
  // {command: "seek", time}, and for a simulation {command: "control" | "joint", index, value},
  // {command: "drag", link, point, target}, {command: "release"}, {command: "record", on}. Returns what is
  // wrong with it, or "".
  // Commands are carried out by the player's thread; when too many wait, new ones are refused.
  std::string command(const Json& message);

 protected:
  // Called by the thread only. advance() goes on by `seconds` of the scene's time, as far as it gets within
  // `budget` seconds of wall time, and returns how far that was.
  virtual double advance(double seconds, double budget) = 0;
  virtual void step_once() = 0;
  virtual void reset() = 0;
  virtual void carry_out(const std::string& name, const Json& message) = 0;
  virtual std::string check(const std::string& name, const Json& message) const = 0;
  virtual Json frame() = 0;
  virtual void going_on() {}  // it will, from the frame that is shown
  virtual void add_to_status(Json*) const {}

  void set_scene(const Json& scene);
  void pause_with(const std::string& message);  // at the end, or when a step failed

  std::atomic<bool> stopping_ = false;  // set with mutex_ held; a step may look at it, too

 private:
  void loop();
  void turn(const std::deque<Json>& commands);
  void publish_frame();
  void publish_status();

  std::mutex listener_mutex_;
  Listener listener_;
  Message scene_, frame_, status_;
  mutable std::mutex mutex_;  // of what follows and of frame_ and status_
  std::condition_variable wake_;
  std::deque<Json> commands_;
  // Of the thread alone:
  bool playing_ = false;
  double speed_ = 1, rate_ = 0;
  double last_ = 0, told_ = 0,
         advanced_ = 0;  // [s] wall time of the last turn and status, scene's time since
  std::string message_;
  std::thread thread_;
};

// Where a live simulation is recorded. Each part is a run without a break, so that it can be replayed; a new
// part begins where the state is set: after a reset, after going back, when a slider moves a joint.
struct LiveRecording {
  std::function<std::unique_ptr<Recorder>(int part)> open;  // part 1, 2, ...; none: it cannot be recorded
  long every = 1;                                           // steps
};

// A simulation that viewers can steer and pull at. It remembers what was shown of the last minute, as far as
// memory allows: viewers can go back there, and on from there another way. What `sensors` read is plotted.
std::unique_ptr<Player> simulate_live(const Model& model, const StepOptions& options, const State& start,
                                      LiveRecording recording = {}, Schedule schedule = {},
                                      SensorSet sensors = {});

// A recording; its frames are read as they are needed.
std::unique_ptr<Player> play_recording(std::unique_ptr<Recording> recording);

}  // namespace capstan::viewer
