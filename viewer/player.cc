#include "viewer/player.h"

#include <chrono>
#include <cmath>

namespace capstan::viewer {
namespace {

constexpr double kTick = 1.0 / 60;         // [s] between frames
constexpr double kBudget = 0.05;           // [s] of wall time for the steps of one frame
constexpr double kStatusSeconds = 0.25;    // [s] between messages on the rate
constexpr std::size_t kMaxCommands = 256;  // waiting
constexpr double kMinSpeed = 1e-4, kMaxSpeed = 1000;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Message pack_message(const Json& json) {
  return std::make_shared<const Bytes>(Json::to_msgpack(json));
}

bool has_number(const Json& message, const char* key) {
  const auto it = message.find(key);
  return it != message.end() && it->is_number() && std::isfinite(it->get<double>());
}

// Both move the same thing: whatever a client gave as the index, or both gave none.
bool have_same_index(const Json& a, const Json& b) {
  const auto i = a.find("index"), j = b.find("index");
  return i == a.end() ? j == b.end() : j != b.end() && *i == *j;
}

}  // namespace

void Player::set_scene(const Json& scene) {
  scene_ = pack_message(scene);
}

Message Player::last_frame() const {
  const std::lock_guard lock(mutex_);
  return frame_;
}

Message Player::last_status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Player::set_listener(Listener listener) {
  const std::lock_guard lock(listener_mutex_);
  listener_ = std::move(listener);
}

void Player::start(bool playing) {
  playing_ = playing;
  publish_frame();
  publish_status();
  thread_ = std::thread([this] { loop(); });
}

void Player::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::string Player::command(const Json& message) {
  if (!message.is_object()) return "it is not a map";
  const auto name_field = message.find("command");
  if (name_field == message.end() || !name_field->is_string()) return "it has no command";
  const std::string name = name_field->get<std::string>();
  if (name == "speed") {
    if (!has_number(message, "value")) return "speed needs a value";
  } else if (name != "play" && name != "pause" && name != "step" && name != "reset") {
    const std::string wrong = check(name, message);
    if (!wrong.empty()) return wrong;
  }
  {
    const std::lock_guard lock(mutex_);
    // Of a movement only the last position counts.
    const bool moves = name == "drag" || name == "seek" || name == "control" || name == "joint";
    if (moves && !commands_.empty() && commands_.back()["command"] == name &&
        have_same_index(commands_.back(), message)) {
      commands_.back() = message;
    } else if (commands_.size() >= kMaxCommands) {
      return "too many commands wait";
    } else {
      commands_.push_back(message);
    }
  }
  wake_.notify_one();
  return "";
}

void Player::pause_with(const std::string& message) {
  playing_ = false;
  message_ = message;
}

void Player::publish_frame() {
  const Message message = pack_message(frame());
  {
    const std::lock_guard lock(mutex_);
    frame_ = message;
  }
  const std::lock_guard lock(listener_mutex_);
  if (listener_.on_frame) listener_.on_frame(message);
}

void Player::publish_status() {
  Json status = {{"type", "status"},
                 {"playing", playing_},
                 {"speed", speed_},
                 {"rate", playing_ ? rate_ : 0.0},
                 {"message", message_}};
  add_to_status(&status);
  const Message message = pack_message(status);
  {
    const std::lock_guard lock(mutex_);
    status_ = message;
  }
  const std::lock_guard lock(listener_mutex_);
  if (listener_.on_status) listener_.on_status(message);
}

// Carries out the commands, goes on, and tells.
void Player::turn(const std::deque<Json>& commands) {
  const bool was_playing = playing_;
  for (const Json& message : commands) {
    const std::string name = message["command"];
    if (name == "play" || name == "pause") {
      playing_ = name == "play";
      message_.clear();
      if (playing_ && !was_playing) going_on();
    } else if (name == "step") {
      playing_ = false;
      message_.clear();
      going_on();
      step_once();
    } else if (name == "reset") {
      message_.clear();
      reset();
    } else if (name == "speed") {
      speed_ = std::clamp(message["value"].get<double>(), kMinSpeed, kMaxSpeed);
    } else {
      carry_out(name, message);
    }
  }
  const double time = now();
  if (playing_ && was_playing) {
    // What cannot be caught up is given up: the simulation is then slower than asked for.
    advanced_ += advance(speed_ * std::min(time - last_, 0.1), kBudget);
  }
  last_ = time;
  if (playing_ || was_playing || !commands.empty()) publish_frame();
  if (!commands.empty() || was_playing != playing_ || (playing_ && time - told_ > kStatusSeconds)) {
    rate_ = time > told_ ? advanced_ / (time - told_) : rate_;
    advanced_ = 0;
    told_ = time;
    publish_status();
  }
}

void Player::loop() {
  last_ = told_ = now();
  for (;;) {
    std::deque<Json> commands;
    {
      std::unique_lock lock(mutex_);
      const double wait = playing_ ? std::max(0.0, last_ + kTick - now()) : 3600;
      wake_.wait_for(lock, std::chrono::duration<double>(wait),
                     [&] { return stopping_ || (!playing_ && !commands_.empty()); });
      if (stopping_) return;
      commands.swap(commands_);
    }
    try {
      turn(commands);
    } catch (const std::exception& error) {  // such as a damaged recording: the viewer is told, and goes on
      pause_with(error.what());
      publish_status();
    }
  }
}

}  // namespace capstan::viewer
