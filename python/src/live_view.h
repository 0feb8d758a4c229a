// The viewer of a simulation that Python steps: a server in threads of its own, which never look at the
// simulation. The simulation leaves copies of its state for them, as often as viewers can use them.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "capstan/step/step.h"
#include "python/src/support.h"
#include "viewer/server.h"

namespace capstan::python {

class LiveView {
 public:
  // Listens at once. Throws InputError when the page was not built, std::runtime_error when the port cannot
  // be had.
  LiveView(ModelPtr model, const StepOptions& options, const State& state, const std::string& address,
           unsigned short port);
  ~LiveView();
  std::string url() const { return server_->url(); }

  // After each step, and when the state was set (`workspace` null). Costs a look at the clock, and a copy of
  // the state 60 times a second. `is_last`: no step follows soon.
  void show(const State& state, const Report& report, const Workspace* workspace, const Input& input,
            double wall, bool is_last);

  // [s] of the simulation for each second of the clock, at most; 0: as fast as steps are.
  void set_pace(double pace);
  double pace() const { return pace_; }
  // What is to be waited for before the next step, in seconds.
  double seconds_early(double time);

 private:
  class Shown;
  std::unique_ptr<Shown> player_;
  std::unique_ptr<viewer::Server> server_;
  std::thread thread_;
  double pace_ = 0, last_shown_ = 0;
  double start_time_ = 0, start_clock_ = -1;  // of the simulation and of the clock, since the pace is kept
};

}  // namespace capstan::python
