// ODE beside Capstan. Settings: solver (quick, exact), iterations of the quick one.
#include <ode/ode.h>

#include <algorithm>
#include <stdexcept>

#include "bench/peers/harness.h"

namespace bench {
namespace {

constexpr int kMaxContacts = 8;  // of one pair

class OdeEngine : public Engine {
 public:
  OdeEngine(const Scene& scene, Settings* settings) : dt_(scene.dt), friction_(scene.friction) {
    if (!scene.model_file.empty()) throw std::runtime_error("ODE has no reader for this model");
    const std::string solver = settings->take("solver", "quick");
    if (solver != "quick" && solver != "exact")
      throw std::runtime_error("ODE has no solver '" + solver + "'");
    quick_ = solver == "quick";
    iterations_ = static_cast<int>(settings->take("iterations", 20.0));
    dInitODE2(0);
    world_ = dWorldCreate();
    // Sweep and prune: the hash space misses pairs on aarch64.
    space_ = dSweepAndPruneSpaceCreate(nullptr, dSAP_AXES_XYZ);
    joints_ = dJointGroupCreate(0);
    dWorldSetGravity(world_, scene.gravity[0], scene.gravity[1], scene.gravity[2]);
    dWorldSetQuickStepNumIterations(world_, iterations_);
    if (scene.plane) dCreatePlane(space_, 0, 0, 1, 0);
    for (const StaticBox& box : scene.statics) {
      const dGeomID geom = dCreateBox(space_, 2 * box.half[0], 2 * box.half[1], 2 * box.half[2]);
      dGeomSetPosition(geom, box.centre[0], box.centre[1], box.centre[2]);
    }
    for (const Body& body : scene.bodies) add_body(body);
    for (const BallJoint& joint : scene.joints) {
      const dJointID id = dJointCreateBall(world_, nullptr);
      dJointAttach(id, bodies_[joint.a], joint.b < 0 ? nullptr : bodies_[joint.b]);
      dJointSetBallAnchor(id, joint.anchor[0], joint.anchor[1], joint.anchor[2]);
    }
    for (const std::string& name : scene.tracked) tracked_.push_back(bodies_.at(std::stoul(name.substr(1))));
  }
  ~OdeEngine() override {
    dJointGroupDestroy(joints_);
    dSpaceDestroy(space_);
    dWorldDestroy(world_);
    dCloseODE();
  }

  void step() override {
    dJointGroupEmpty(joints_);
    contacts_ = 0;
    dSpaceCollide(space_, this, &OdeEngine::near);
    if (quick_) {
      dWorldQuickStep(world_, dt_);
    } else {
      dWorldStep(world_, dt_);
    }
  }

  void get_poses(std::span<Pose> poses) override {
    for (std::size_t i = 0; i < poses.size(); ++i) {
      std::copy_n(dBodyGetPosition(tracked_[i]), 3, poses[i].position.data());
      std::copy_n(dBodyGetQuaternion(tracked_[i]), 4, poses[i].quat_wxyz.data());
    }
  }

  void set_speed(double speed) override {
    const dReal* v = dBodyGetLinearVel(bodies_[0]);
    dBodySetLinearVel(bodies_[0], speed, v[1], v[2]);
  }
  int contacts() const override { return contacts_; }
  double iterations() const override { return quick_ ? iterations_ : -1; }

 private:
  static void near(void* self, dGeomID a, dGeomID b) { static_cast<OdeEngine*>(self)->collide(a, b); }

  void collide(dGeomID a, dGeomID b) {
    const dBodyID body_a = dGeomGetBody(a), body_b = dGeomGetBody(b);
    if (body_a == nullptr && body_b == nullptr) return;
    dContact contacts[kMaxContacts];
    const int n = dCollide(a, b, kMaxContacts, &contacts[0].geom, sizeof(dContact));
    for (int i = 0; i < n; ++i) {
      contacts[i].surface.mode = dContactApprox1;
      contacts[i].surface.mu = friction_;
      dJointAttach(dJointCreateContact(world_, joints_, &contacts[i]), body_a, body_b);
    }
    contacts_ += n;
  }

  void add_body(const Body& body) {
    const dBodyID id = dBodyCreate(world_);
    dMass mass;
    dGeomID geom;
    if (body.is_box) {
      const dReal x = 2 * body.half[0], y = 2 * body.half[1], z = 2 * body.half[2];
      dMassSetBoxTotal(&mass, body.mass, x, y, z);
      geom = dCreateBox(space_, x, y, z);
    } else {
      dMassSetSphereTotal(&mass, body.mass, body.half[0]);
      geom = dCreateSphere(space_, body.half[0]);
    }
    dBodySetMass(id, &mass);
    dGeomSetBody(geom, id);
    dBodySetPosition(id, body.position[0], body.position[1], body.position[2]);
    const dQuaternion q = {body.quat_wxyz[0], body.quat_wxyz[1], body.quat_wxyz[2], body.quat_wxyz[3]};
    dBodySetQuaternion(id, q);
    bodies_.push_back(id);
  }

  double dt_, friction_;
  bool quick_ = true;
  int iterations_ = 20, contacts_ = 0;
  dWorldID world_;
  dSpaceID space_;
  dJointGroupID joints_;
  std::vector<dBodyID> bodies_, tracked_;
};

}  // namespace

const char* const kEngineName = "ODE";
std::string engine_version() {
  return PEER_VERSION;
}
std::unique_ptr<Engine> make_engine(const Scene& scene, Settings* settings) {
  return std::make_unique<OdeEngine>(scene, settings);
}

}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program(argc, argv);
}
