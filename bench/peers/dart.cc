// DART beside Capstan. Settings: solver (dantzig, pgs).
#include <dart/collision/dart/DARTCollisionDetector.hpp>
#include <dart/constraint/BallJointConstraint.hpp>
#include <dart/constraint/BoxedLcpConstraintSolver.hpp>
#include <dart/constraint/DantzigBoxedLcpSolver.hpp>
#include <dart/constraint/PgsBoxedLcpSolver.hpp>
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/BoxShape.hpp>
#include <dart/dynamics/FreeJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/dynamics/SphereShape.hpp>
#include <dart/dynamics/WeldJoint.hpp>
#include <dart/simulation/World.hpp>
#include <stdexcept>

#include "bench/peers/harness.h"

namespace bench {
namespace {

Eigen::Vector3d vec(const Vec& v) {
  return {v[0], v[1], v[2]};
}

class DartEngine : public Engine {
 public:
  DartEngine(const Scene& scene, Settings* settings) : world_(dart::simulation::World::create()) {
    if (!scene.model_file.empty()) throw std::runtime_error("DART has no reader for this model");
    const std::string solver = settings->take("solver", "dantzig");
    std::shared_ptr<dart::constraint::BoxedLcpSolver> lcp;
    if (solver == "dantzig") {
      lcp = std::make_shared<dart::constraint::DantzigBoxedLcpSolver>();
    } else if (solver == "pgs") {
      lcp = std::make_shared<dart::constraint::PgsBoxedLcpSolver>();
    } else {
      throw std::runtime_error("DART has no solver '" + solver + "'");
    }
    world_->setConstraintSolver(std::make_unique<dart::constraint::BoxedLcpConstraintSolver>(lcp));
    // FCL's detector is slower and gets sliding friction wrong.
    world_->getConstraintSolver()->setCollisionDetector(dart::collision::DARTCollisionDetector::create());
    world_->getConstraintSolver()->getCollisionOption().maxNumContacts = 100000;
    world_->setGravity(vec(scene.gravity));
    world_->setTimeStep(scene.dt);
    // Its own detector has no plane: a box in its place.
    if (scene.plane) add_box({{0, 0, -0.5}, {100, 100, 0.5}}, scene.friction);
    for (const StaticBox& box : scene.statics) add_box(box, scene.friction);
    for (const Body& body : scene.bodies) add_body(body, scene.friction);
    for (const BallJoint& joint : scene.joints) {
      using dart::constraint::BallJointConstraint;
      const Eigen::Vector3d anchor = vec(joint.anchor);
      world_->getConstraintSolver()->addConstraint(
          joint.b < 0 ? std::make_shared<BallJointConstraint>(bodies_[joint.a], anchor)
                      : std::make_shared<BallJointConstraint>(bodies_[joint.a], bodies_[joint.b], anchor));
    }
    for (const std::string& name : scene.tracked) tracked_.push_back(bodies_.at(std::stoul(name.substr(1))));
  }

  void step() override { world_->step(); }

  void get_poses(std::span<Pose> poses) override {
    for (std::size_t i = 0; i < poses.size(); ++i) {
      const Eigen::Isometry3d& X = tracked_[i]->getWorldTransform();
      const Eigen::Quaterniond q(X.linear());
      const Eigen::Vector3d p = X.translation();
      poses[i] = {{p.x(), p.y(), p.z()}, {q.w(), q.x(), q.y(), q.z()}};
    }
  }

  void set_speed(double speed) override {
    // Velocities of a FreeJoint are (angular, linear) in the body's axes.
    auto* joint = static_cast<dart::dynamics::FreeJoint*>(bodies_[0]->getParentJoint());
    Eigen::Vector3d v = bodies_[0]->getLinearVelocity();
    v.x() = speed;
    joint->setLinearVelocity(v);
  }
  int contacts() const override {
    return static_cast<int>(world_->getConstraintSolver()->getLastCollisionResult().getNumContacts());
  }

 private:
  void add_box(const StaticBox& box, double friction) {
    auto skeleton = dart::dynamics::Skeleton::create("static" + std::to_string(world_->getNumSkeletons()));
    auto* body = skeleton->createJointAndBodyNodePair<dart::dynamics::WeldJoint>().second;
    shape_of(body, std::make_shared<dart::dynamics::BoxShape>(2 * vec(box.half)), friction);
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.translation() = vec(box.centre);
    body->getParentJoint()->setTransformFromParentBodyNode(X);
    skeleton->setMobile(false);
    world_->addSkeleton(skeleton);
  }

  void add_body(const Body& b, double friction) {
    auto skeleton = dart::dynamics::Skeleton::create("b" + std::to_string(bodies_.size()));
    auto [joint, body] = skeleton->createJointAndBodyNodePair<dart::dynamics::FreeJoint>();
    dart::dynamics::ShapePtr shape;
    if (b.is_box) {
      shape = std::make_shared<dart::dynamics::BoxShape>(2 * vec(b.half));
    } else {
      shape = std::make_shared<dart::dynamics::SphereShape>(b.half[0]);
    }
    shape_of(body, shape, friction);
    dart::dynamics::Inertia inertia;
    inertia.setMass(b.mass);
    inertia.setMoment(shape->computeInertia(b.mass));
    body->setInertia(inertia);
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.translation() = vec(b.position);
    X.linear() =
        Eigen::Quaterniond(b.quat_wxyz[0], b.quat_wxyz[1], b.quat_wxyz[2], b.quat_wxyz[3]).toRotationMatrix();
    joint->setTransform(X);
    world_->addSkeleton(skeleton);
    bodies_.push_back(body);
  }

  static void shape_of(dart::dynamics::BodyNode* body, const dart::dynamics::ShapePtr& shape,
                       double friction) {
    auto* node =
        body->createShapeNodeWith<dart::dynamics::CollisionAspect, dart::dynamics::DynamicsAspect>(shape);
    node->getDynamicsAspect()->setFrictionCoeff(friction);
  }

  dart::simulation::WorldPtr world_;
  std::vector<dart::dynamics::BodyNode*> bodies_, tracked_;
};

}  // namespace

const char* const kEngineName = "DART";
std::string engine_version() {
  return PEER_VERSION;
}
std::unique_ptr<Engine> make_engine(const Scene& scene, Settings* settings) {
  return std::make_unique<DartEngine>(scene, settings);
}

}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program(argc, argv);
}
