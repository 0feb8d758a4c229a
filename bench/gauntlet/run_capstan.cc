#include <stdexcept>

#include "bench/gauntlet/gauntlet.h"
#include "capstan/dynamics/tree.h"
#include "capstan/math/rotation.h"
#include "capstan/step/step.h"

namespace capstan::gauntlet {
namespace {

class CapstanRunner : public Runner {
 public:
  CapstanRunner(const Task& task, double dt, const CapstanSettings& settings)
      : model_(compile(task.scene)),
        options_(step_options(model_)),
        state_(initial_state(model_)),
        workspace_(make_workspace(model_)),
        placement_(make_placement(model_)),
        velocity_(make_velocity(model_)) {
    options_.dt = dt;
    if (!settings.law.empty()) {
      const auto law = std::find(kContactLawNames.begin(), kContactLawNames.end(), settings.law);
      if (law == kContactLawNames.end()) throw std::runtime_error("there is no law " + settings.law);
      options_.contact.law = static_cast<ContactLaw>(law - kContactLawNames.begin());
    }
    if (!settings.integrator.empty()) {
      const auto integrator = integrator_from_name(settings.integrator);
      if (!integrator) throw std::runtime_error("there is no integrator " + settings.integrator);
      options_.integrator = *integrator;
    }
    for (const Body& body : task.scene.bodies) bodies_.push_back(model_.find_body(body.name));
  }

  void step() override { capstan::step(model_, options_, {}, &state_, &workspace_); }

  void get(std::span<BodyState> bodies) override {
    calc_placement(model_, state_.q, &placement_);
    calc_velocity(model_, placement_, state_.v, &velocity_);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const Transform X = body_pose(model_, placement_, bodies_[i]);
      const Vec6 V = body_velocity(model_, placement_, velocity_, bodies_[i]);
      bodies[i] = {X.p, quat_from_matrix(X.R), V.tail<3>(), V.head<3>()};
    }
  }

 private:
  Model model_;
  StepOptions options_;
  State state_;
  Workspace workspace_;
  Placement placement_;
  Velocity velocity_;
  std::vector<int> bodies_;
};

}  // namespace

std::unique_ptr<Runner> make_capstan(const Task& task, double dt, const CapstanSettings& settings) {
  return std::make_unique<CapstanRunner>(task, dt, settings);
}

}  // namespace capstan::gauntlet
