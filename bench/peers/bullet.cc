// Bullet beside Capstan. Settings: iterations of its sequential-impulse solver.
#include <btBulletDynamicsCommon.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "bench/peers/harness.h"

namespace bench {
namespace {

btVector3 vec(const Vec& v) {
  return {btScalar(v[0]), btScalar(v[1]), btScalar(v[2])};
}

class BulletEngine : public Engine {
 public:
  BulletEngine(const Scene& scene, Settings* settings)
      : dt_(scene.dt),
        dispatcher_(&configuration_),
        world_(&dispatcher_, &broadphase_, &solver_, &configuration_) {
    if (!scene.model_file.empty()) throw std::runtime_error("Bullet has no reader for this model");
    world_.setGravity(vec(scene.gravity));
    world_.getSolverInfo().m_numIterations = static_cast<int>(settings->take("iterations", 10.0));
    // A box in place of the plane: on a static plane a sliding box gets one to three contacts.
    if (scene.plane) add_box({{0, 0, -0.5}, {100, 100, 0.5}}, scene.friction);
    for (const StaticBox& box : scene.statics) add_box(box, scene.friction);
    for (const Body& body : scene.bodies) add_body(body, scene.friction);
    for (const BallJoint& joint : scene.joints) add_joint(scene, joint);
    for (const std::string& name : scene.tracked) tracked_.push_back(bodies_.at(std::stoul(name.substr(1))));
  }
  ~BulletEngine() override {
    for (const auto& joint : joints_) world_.removeConstraint(joint.get());
    while (world_.getNumCollisionObjects() > 0) {
      world_.removeCollisionObject(world_.getCollisionObjectArray()[0]);
    }
  }

  void step() override { world_.stepSimulation(btScalar(dt_), 0); }

  void get_poses(std::span<Pose> poses) override {
    for (std::size_t i = 0; i < poses.size(); ++i) {
      const btTransform& X = tracked_[i]->getWorldTransform();
      const btVector3 p = X.getOrigin();
      const btQuaternion q = X.getRotation();
      poses[i] = {{p.x(), p.y(), p.z()}, {q.w(), q.x(), q.y(), q.z()}};
    }
  }

  void set_speed(double speed) override {
    btVector3 v = bodies_[0]->getLinearVelocity();
    v.setX(btScalar(speed));
    bodies_[0]->setLinearVelocity(v);
  }
  int contacts() const override {
    int n = 0;
    for (int i = 0; i < dispatcher_.getNumManifolds(); ++i) {
      n += dispatcher_.getManifoldByIndexInternal(i)->getNumContacts();
    }
    return n;
  }
  double iterations() const override { return world_.getSolverInfo().m_numIterations; }

 private:
  btRigidBody* add(std::unique_ptr<btCollisionShape> shape, double mass, double friction,
                   const btTransform& X) {
    btVector3 inertia(0, 0, 0);
    if (mass > 0) shape->calculateLocalInertia(btScalar(mass), inertia);
    btRigidBody::btRigidBodyConstructionInfo info(btScalar(mass), nullptr, shape.get(), inertia);
    info.m_friction = btScalar(std::sqrt(friction));  // Bullet multiplies the two
    info.m_startWorldTransform = X;
    owned_.push_back(std::make_unique<btRigidBody>(info));
    owned_.back()->setActivationState(DISABLE_DEACTIVATION);  // sleeping bodies would cost nothing
    world_.addRigidBody(owned_.back().get());
    shapes_.push_back(std::move(shape));
    return owned_.back().get();
  }

  void add_box(const StaticBox& box, double friction) {
    add(std::make_unique<btBoxShape>(vec(box.half)), 0, friction,
        btTransform(btQuaternion::getIdentity(), vec(box.centre)));
  }

  void add_body(const Body& body, double friction) {
    std::unique_ptr<btCollisionShape> shape;
    if (body.is_box) {
      shape = std::make_unique<btBoxShape>(vec(body.half));
    } else {
      shape = std::make_unique<btSphereShape>(btScalar(body.half[0]));
    }
    const auto& q = body.quat_wxyz;
    const btQuaternion turn{btScalar(q[1]), btScalar(q[2]), btScalar(q[3]), btScalar(q[0])};
    bodies_.push_back(add(std::move(shape), body.mass, friction, btTransform(turn, vec(body.position))));
  }

  void add_joint(const Scene& scene, const BallJoint& joint) {
    btRigidBody& a = *bodies_[joint.a];
    const btVector3 on_a = vec(joint.anchor) - vec(scene.bodies[joint.a].position);
    if (joint.b < 0) {
      joints_.push_back(std::make_unique<btPoint2PointConstraint>(a, on_a));
    } else {
      const btVector3 on_b = vec(joint.anchor) - vec(scene.bodies[joint.b].position);
      joints_.push_back(std::make_unique<btPoint2PointConstraint>(a, *bodies_[joint.b], on_a, on_b));
    }
    world_.addConstraint(joints_.back().get());
  }

  double dt_;
  btDefaultCollisionConfiguration configuration_;
  btCollisionDispatcher dispatcher_;
  btDbvtBroadphase broadphase_;
  btSequentialImpulseConstraintSolver solver_;
  btDiscreteDynamicsWorld world_;
  std::vector<std::unique_ptr<btCollisionShape>> shapes_;
  std::vector<std::unique_ptr<btRigidBody>> owned_;
  std::vector<std::unique_ptr<btPoint2PointConstraint>> joints_;
  std::vector<btRigidBody*> bodies_, tracked_;
};

}  // namespace

const char* const kEngineName = "Bullet";
std::string engine_version() {
  return PEER_VERSION;
}
std::unique_ptr<Engine> make_engine(const Scene& scene, Settings* settings) {
  return std::make_unique<BulletEngine>(scene, settings);
}

}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program(argc, argv);
}
