// A simulation for Python: state, workspace, what acts from outside, recording.
//
// q, v, control and the other arrays that Python sees are this object's own memory, which stays where it is:
// a step copies it into the State, and the new State back. So numpy looks at it without copies, writing to it
// takes effect with the next step, and an array that outlives the simulation is still sound.
#pragma once

#include <map>

#include "capstan/io/image.h"
#include "capstan/io/recording.h"
#include "capstan/step/contact_forces.h"
#include "python/src/controls.h"
#include "python/src/live_view.h"

namespace capstan::python {

class PySimulation {
 public:
  PySimulation(ModelPtr model, const StepOptions& options, State state);

  const ModelPtr& model() const { return model_; }
  void take_steps(long count);

  // Goes on with another friction or mass: the model differs in nothing else. All wake.
  void change_model(ModelPtr model);

  State state();  // as the arrays have it; throws ValueError when it is unsound
  void set_state(State state);
  double time() const { return state_.time; }
  void set_time(double time);
  long steps() const { return state_.step; }
  const Report& report() const { return report_; }

  nb::object option(const std::string& name) const { return get_option(name, options_); }
  void choose_option(const std::string& name, nb::handle value);

  // The arrays of Python.
  struct Arrays {
    VecX q, v, control, generalized_force, surface_scale, activation;
  };
  FloatArray array(VecX Arrays::*field);

  RecordArray contacts();
  RecordArray contact_pairs();
  RecordArray patches();
  void apply_force(int body, const Vec3& force_W, const Vec3& torque_W, const Vec3* point_W);
  void clear_forces();
  void clear_surface_scale();
  int num_forces() const { return static_cast<int>(forces_.size()); }

  // Where a mocap body is to be after each step from now on; null: it keeps the velocity it has.
  void aim(int body, const Transform* X_WB);
  const Transform* target(int body) const {  // null: none
    const auto found = targets_.find(body);
    return found == targets_.end() ? nullptr : &found->second;
  }

  nb::typed<nb::list, Things> schedule() const { return from_points(points_); }
  void set_schedule(std::vector<ControlPoint> points);
  FloatArray sensors();  // all numbers

  Transform pose(int body);
  Vec6 velocity(int body);
  std::pair<FloatArray, FloatArray> poses();
  std::string picture(int width, int height, double azimuth, double elevation, const std::string& title);

  // The scene in pixels: (rgb, depth, shapes).
  nb::tuple image(const ImageOptions& options);

  // Starts the viewer's server, or paces the one there is; its address.
  std::string view(double pace, const std::string& address, int port);
  void close_view();

  void record(const std::string& path, long every);
  long stop_recording();  // frames written
  bool is_recording() const { return recorder_ != nullptr; }

 private:
  void load();
  void store();
  void place_forces();
  void check_control() const;  // throws ValueError where a control was written that the schedule sets
  void follow_schedule();
  void aim_mocap_bodies();
  void place();  // where everything is now
  void append_frame(const Workspace* last, double wall);
  bool show_step(bool is_last, double wall, SignalCheck* signals);
  [[noreturn]] void raise_step_error(const std::string& text, long taken) const;

  struct Force {
    int body;
    Vec3 p_B, force_W, torque_W;
  };

  ModelPtr model_;
  StepOptions options_;
  State state_;
  std::shared_ptr<Arrays> arrays_;
  std::unique_ptr<Workspace> workspace_;
  Report report_;
  bool has_step_ = false;  // workspace_ holds the contacts of the last step
  Input input_;
  std::vector<Force> forces_;
  std::map<int, Transform> targets_;  // of mocap bodies
  std::vector<ControlPoint> points_;
  Schedule schedule_;
  Input scheduled_;
  VecX stored_control_, sensed_;
  Placement placement_;
  std::unique_ptr<Recorder> recorder_;
  long record_every_ = 1, since_record_ = 0;
  std::unique_ptr<LiveView> view_;
  std::atomic<bool> busy_ = false;
};

}  // namespace capstan::python
