// Capstan beside its peers. Settings: law, stiffness [N/m], dissipation [s/m], stiction_tolerance [m/s],
// tolerance (eps_r), max_iterations, threads, keep_going (1: steps that do not converge take the best
// iterate, and the residual tells).
#include <stdexcept>

#include "bench/peers/capstan_scene.h"
#include "bench/peers/harness.h"
#include "capstan/base/version.h"
#include "capstan/laws/contact_laws.h"
#include "capstan/math/rotation.h"
#include "capstan/step/step.h"

namespace bench {
namespace {

capstan::ContactLaw law_from_name(const std::string& name) {
  if (name == "sap") return capstan::ContactLaw::sap;
  if (name == "lagged") return capstan::ContactLaw::lagged;
  if (name == "similar") return capstan::ContactLaw::similar;
  if (name == "regularized_lagged") return capstan::ContactLaw::regularized_lagged;
  if (name == "coulomb") return capstan::ContactLaw::coulomb;
  throw std::runtime_error("there is no contact law '" + name + "'");
}

class CapstanEngine : public Engine {
 public:
  CapstanEngine(const Scene& scene, Settings* settings) {
    ContactSettings contact;
    contact.stiffness = settings->take("stiffness", contact.stiffness);
    contact.dissipation = settings->take("dissipation", contact.dissipation);
    contact.stiction_tolerance = settings->take("stiction_tolerance", contact.stiction_tolerance);
    model_ = capstan::compile(make_capstan_scene(scene, contact));
    options_ = capstan::step_options(model_);
    options_.judge = false;  // the other engines have none
    options_.contact.law = law_from_name(settings->take("law", "regularized_lagged"));
    options_.newton.relative_tolerance = settings->take("tolerance", options_.newton.relative_tolerance);
    options_.newton.max_iterations =
        static_cast<int>(settings->take("max_iterations", options_.newton.max_iterations));
    options_.threads = static_cast<int>(settings->take("threads", 1.0));
    options_.fail_if_not_converged = settings->take("keep_going", 0.0) == 0;
    state_ = capstan::initial_state(model_);
    workspace_ = capstan::make_workspace(model_);
    placement_ = capstan::make_placement(model_);
    for (const std::string& name : scene.tracked)
      links_.push_back(model_.bodies[model_.find_body(name)].link);
  }

  void step() override { report_ = capstan::step(model_, options_, {}, &state_, &workspace_); }

  void get_poses(std::span<Pose> poses) override {
    capstan::calc_placement(model_, state_.q, &placement_);
    for (std::size_t i = 0; i < poses.size(); ++i) {
      const capstan::Transform& X = placement_.X_WL[links_[i]];
      const capstan::Vec4 q = capstan::quat_from_matrix(X.R);
      poses[i] = {{X.p[0], X.p[1], X.p[2]}, {q[0], q[1], q[2], q[3]}};
    }
  }

  void set_speed(double speed) override { state_.v[0] = speed; }
  int threads() const override { return options_.threads; }
  int contacts() const override { return report_.contacts; }
  double iterations() const override { return report_.solver.most_iterations; }
  double residual() const override { return report_.solver.momentum_residual; }

 private:
  capstan::Model model_;
  capstan::StepOptions options_;
  capstan::State state_;
  capstan::Workspace workspace_;
  capstan::Placement placement_;
  capstan::Report report_;
  std::vector<int> links_;
};

}  // namespace

const char* const kEngineName = "Capstan";
std::string engine_version() {
  return capstan::version();
}
std::unique_ptr<Engine> make_engine(const Scene& scene, Settings* settings) {
  return std::make_unique<CapstanEngine>(scene, settings);
}

}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program(argc, argv);
}
