// The gauntlet in DART: a skeleton for each tree of bodies.
//
// Half spaces are large boxes.
//
// Defaults: FCL's collision detector with meshes in place of round shapes, Dantzig's LCP.
// Accurate: the contact problem stays with Dantzig's method, which DART's documentation has for high accuracy
// (docs/background/lcp/07_selection-guide.md of https://github.com/dartsim/dart: "Newton Methods or
// Pivoting", of which 6.12 has the latter). What its documentation holds to be inaccurate is the default
// detector: meshes are "probably less accurate than the analytic result", and FCL's own shapes return a
// single point (dart/collision/fcl/FCLCollisionDetector.hpp). So DART's own detector where all shapes are
// spheres and boxes, which it has analytically, and that of Bullet, which its tutorials take
// (tutorials/tutorial_biped), for cylinders and capsules.
#ifdef PEER_DART_BULLET
#include <dart/collision/bullet/BulletCollisionDetector.hpp>
#endif
#include <dart/collision/dart/DARTCollisionDetector.hpp>
#include <dart/constraint/BallJointConstraint.hpp>
#include <dart/constraint/ConstraintSolver.hpp>
#include <dart/dynamics/BallJoint.hpp>
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/BoxShape.hpp>
#include <dart/dynamics/CapsuleShape.hpp>
#include <dart/dynamics/CylinderShape.hpp>
#include <dart/dynamics/FreeJoint.hpp>
#include <dart/dynamics/PrismaticJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/ScrewJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/dynamics/SphereShape.hpp>
#include <dart/dynamics/WeldJoint.hpp>
#include <dart/simulation/World.hpp>

#include <cmath>
#include <numbers>

#include "bench/gauntlet/peers/program.h"
#include "capstan/math/rotation.h"

namespace capstan::gauntlet {
namespace {

namespace dd = dart::dynamics;

Eigen::Isometry3d isometry(const Transform& X) {
  Eigen::Isometry3d T = Eigen::Isometry3d::Identity();
  T.linear() = X.R;
  T.translation() = X.p;
  return T;
}

const Vec3 kHalfSpace(200, 200, 1);  // [m] the box that stands for one

class DartRunner : public Runner {
 public:
  DartRunner(const Task& task, const PeerSettings& settings)
      : task_(task), material_(material_of(task)), world_(dart::simulation::World::create()) {
    world_->setGravity(task.scene.options.gravity);
    world_->setTimeStep(settings.dt);
    bool is_simple = true;
    for (const ShapeInstance& shape : task.scene.shapes) {
      is_simple = is_simple && (!shape.collides || std::holds_alternative<Sphere>(shape.shape) ||
                                std::holds_alternative<Box>(shape.shape) ||
                                std::holds_alternative<HalfSpace>(shape.shape));
    }
    if (settings.accurate && is_simple)
      world_->getConstraintSolver()->setCollisionDetector(dart::collision::DARTCollisionDetector::create());
#ifdef PEER_DART_BULLET
    if (settings.accurate && !is_simple) {
      world_->getConstraintSolver()->setCollisionDetector(dart::collision::BulletCollisionDetector::create());
      has_capsules_ = true;
    }
#endif
    for (const ShapeInstance& shape : task.scene.shapes) {
      if (shape.body == kWorld && shape.collides) add_static(shape);
    }
    for (std::size_t i = 0; i < task.scene.bodies.size(); ++i) add_body(i);
    for (const dd::SkeletonPtr& skeleton : skeletons_) world_->addSkeleton(skeleton);
    const std::vector<BodyState> start = start_of(task);
    for (const Constraint& c : task.scene.constraints) add_constraint(c, start);
    add_actuators();
  }

  void step() override {
    for (const Wrench& w : wrenches_) {
      bodies_[w.body]->addExtForce(w.force, Vec3::Zero(), false, true);
      bodies_[w.body]->addExtTorque(w.torque, false);
    }
    for (const auto& [joint, force] : forces_) joint->setForce(0, force);
    world_->step();
  }

  void get(std::span<BodyState> states) override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const Eigen::Isometry3d& X = bodies_[i]->getWorldTransform();
      states[i] = {X.translation(), quat_from_matrix(X.linear()), bodies_[i]->getLinearVelocity(),
                   bodies_[i]->getAngularVelocity()};
    }
  }

  Built describe() override {
    Built built;
    built.gravity = world_->getGravity();
    for (const dd::BodyNode* body : bodies_) {
      const Mat3 R = body->getWorldTransform().linear();
      built.bodies.push_back(
          {body->getMass(), body->getCOM(), R * body->getInertia().getMoment() * R.transpose()});
    }
    for (std::size_t s = 0; s < world_->getNumSkeletons(); ++s) {
      const dd::SkeletonPtr skeleton = world_->getSkeleton(s);
      for (dd::BodyNode* body : skeleton->getBodyNodes()) {
        for (dd::ShapeNode* node : body->getShapeNodesWith<dd::CollisionAspect>())
          built.shapes.push_back(describe_shape(skeleton->isMobile() ? body->getName() : "", node));
      }
    }
    return built;
  }

 private:
  static BuiltShape describe_shape(const std::string& body, dd::ShapeNode* node) {
    const Eigen::Isometry3d T = node->getWorldTransform();
    BuiltShape built{body, "", {}, {T.linear(), T.translation()}};
    const dd::ConstShapePtr shape = node->getShape();
    if (const auto sphere = std::dynamic_pointer_cast<const dd::SphereShape>(shape)) {
      built.type = "sphere", built.size = {sphere->getRadius()};
    } else if (const auto capsule = std::dynamic_pointer_cast<const dd::CapsuleShape>(shape)) {
      built.type = "capsule", built.size = {capsule->getRadius(), capsule->getHeight()};
    } else if (const auto cylinder = std::dynamic_pointer_cast<const dd::CylinderShape>(shape)) {
      built.type = "cylinder", built.size = {cylinder->getRadius(), cylinder->getHeight()};
    } else if (const auto box = std::dynamic_pointer_cast<const dd::BoxShape>(shape)) {
      const Vec3& size = box->getSize();
      built.type = "box", built.size = {size.x(), size.y(), size.z()};
      if (size == kHalfSpace && body.empty()) {
        built.type = "half_space", built.size.clear();
        built.X.p += built.X.R.col(2) * size.z() / 2;
      }
    } else {
      const dart::math::BoundingBox& bounds = shape->getBoundingBox();
      std::vector<Vec3> points;
      for (int corner = 0; corner < 8; ++corner) {
        Vec3 p;
        for (int k = 0; k < 3; ++k) p[k] = (corner >> k & 1 ? bounds.getMax() : bounds.getMin())[k];
        points.push_back(T * p);
      }
      built = built_points(body, "mesh", points);
    }
    return built;
  }

  void add_shape(const ShapeInstance& instance, dd::BodyNode* body) {
    const Shape& shape = instance.shape;
    if (instance.surface_velocity != Vec3::Zero()) throw CannotExpress("no belts: surfaces do not move");
    Transform X = to_transform(instance.pose);
    dd::ShapePtr made;
    if (const auto* s = std::get_if<Sphere>(&shape)) {
      made = std::make_shared<dd::SphereShape>(s->radius);
    } else if (const auto* box = std::get_if<Box>(&shape)) {
      made = std::make_shared<dd::BoxShape>(2 * box->half_size);
    } else if (const auto* capsule = std::get_if<Capsule>(&shape)) {
      if (!has_capsules_) throw CannotExpress("no capsules: its default detector, FCL, has none");
      made = std::make_shared<dd::CapsuleShape>(capsule->radius, 2 * capsule->half_length);
    } else if (const auto* cylinder = std::get_if<Cylinder>(&shape)) {
      made = std::make_shared<dd::CylinderShape>(cylinder->radius, 2 * cylinder->half_length);
    } else if (std::holds_alternative<HalfSpace>(shape)) {
      made = std::make_shared<dd::BoxShape>(kHalfSpace);
      X = X * Transform{Mat3::Identity(), Vec3(0, 0, -kHalfSpace.z() / 2)};
    } else {
      throw CannotExpress("meshes and height fields are not made here");
    }
    auto* node = body->createShapeNodeWith<dd::CollisionAspect, dd::DynamicsAspect>(made);
    node->setRelativeTransform(isometry(X));
    dd::DynamicsAspect* surface = node->getDynamicsAspect();
    surface->setFrictionCoeff(material_.friction);
    surface->setRestitutionCoeff(std::sqrt(material_.restitution));  // DART multiplies the two
    if (const auto& tensor = material_.friction_tensor; tensor && instance.body == kWorld) {
      surface->setPrimaryFrictionCoeff(tensor->along);
      surface->setSecondaryFrictionCoeff(tensor->across);
      surface->setFirstFrictionDirection(tensor->direction);
    }
  }

  void add_static(const ShapeInstance& instance) {
    auto skeleton = dd::Skeleton::create("static" + std::to_string(world_->getNumSkeletons()));
    add_shape(instance, skeleton->createJointAndBodyNodePair<dd::WeldJoint>().second);
    skeleton->setMobile(false);
    world_->addSkeleton(skeleton);
  }

  template <class JointKind>
  JointKind* create(const Body& body, const dd::SkeletonPtr& skeleton, dd::BodyNode* parent) {
    auto [joint, node] = skeleton->createJointAndBodyNodePair<JointKind>(parent);
    joint->setName(body.name + "_joint");
    node->setName(body.name);
    bodies_.push_back(node);
    return joint;
  }

  void add_body(std::size_t i) {
    const Body& body = task_.scene.bodies[i];
    if (body.joints.size() != 1) throw CannotExpress("not one joint");
    const Joint& joint = body.joints[0];
    const int p = body_index(task_, body.parent);
    dd::BodyNode* parent = p >= 0 ? bodies_[p] : nullptr;
    dd::SkeletonPtr skeleton = parent ? parent->getSkeleton() : dd::Skeleton::create(body.name);
    if (!parent) skeletons_.push_back(skeleton);
    const Keyframe& initial = task_.scene.initial;
    const auto q = initial.q.find(joint.name), v = initial.v.find(joint.name);
    const bool has_q = q != initial.q.end(), has_v = v != initial.v.end();
    const Transform X = to_transform(body.pose), at{Mat3::Identity(), joint.position};
    dd::Joint* scalar = nullptr;
    switch (joint.type) {
      case JointType::free: {
        auto* made = create<dd::FreeJoint>(body, skeleton, parent);
        made->setTransform(isometry(X));
        if (has_v) {
          const std::vector<double>& u = v->second;
          made->setLinearVelocity(Vec3(u[0], u[1], u[2]));
          made->setAngularVelocity(Vec3(u[3], u[4], u[5]));
        }
        break;
      }
      case JointType::ball: {
        auto* made = create<dd::BallJoint>(body, skeleton, parent);
        made->setTransformFromParentBodyNode(isometry(X * at));
        made->setTransformFromChildBodyNode(isometry(at));
        Mat3 R = Mat3::Identity();
        if (has_q) R = rotation_matrix(Vec4(q->second[0], q->second[1], q->second[2], q->second[3]));
        made->setPositions(dd::BallJoint::convertToPositions(R));
        if (has_v) made->setVelocities(R.transpose() * Vec3(v->second[0], v->second[1], v->second[2]));
        break;
      }
      case JointType::revolute: {
        auto* made = create<dd::RevoluteJoint>(body, skeleton, parent);
        made->setAxis(joint.axis.normalized());
        scalar = made;
        break;
      }
      case JointType::prismatic: {
        auto* made = create<dd::PrismaticJoint>(body, skeleton, parent);
        made->setAxis(joint.axis.normalized());
        scalar = made;
        break;
      }
      case JointType::screw: {
        auto* made = create<dd::ScrewJoint>(body, skeleton, parent);
        made->setAxis(joint.axis.normalized());
        made->setPitch(2 * std::numbers::pi * joint.pitch);  // for a full turn
        scalar = made;
        break;
      }
      default:
        throw CannotExpress("no such joint");
    }
    if (scalar) {
      scalar->setTransformFromParentBodyNode(isometry(X * at));
      scalar->setTransformFromChildBodyNode(isometry(at));
      if (has_q) scalar->setPosition(0, q->second[0]);
      if (has_v) scalar->setVelocity(0, v->second[0]);
      scalar->setSpringStiffness(0, joint.stiffness);
      scalar->setRestPosition(0, joint.spring_reference);
      scalar->setDampingCoefficient(0, joint.damping);
      scalar->setCoulombFriction(0, joint.dry_friction);
      if (!joint.limits.empty()) {
        scalar->setPositionLowerLimit(0, joint.limits[0].lower);
        scalar->setPositionUpperLimit(0, joint.limits[0].upper);
        scalar->setLimitEnforcement(true);
      }
      scalars_.push_back({joint.name, scalar});
    }
    const Inertia I = task_.inertia(i);
    dd::Inertia inertia;
    inertia.setMass(I.mass);
    inertia.setLocalCOM(I.com);
    inertia.setMoment(I.about_com);
    bodies_.back()->setInertia(inertia);
    for (const ShapeInstance& shape : task_.scene.shapes) {
      if (shape.body == body.name && shape.collides) add_shape(shape, bodies_.back());
    }
  }

  void add_constraint(const Constraint& c, const std::vector<BodyState>& start) {
    if (c.type != ConstraintType::ball)
      throw CannotExpress("a mimic joint does not act on the joint that it follows");
    const int a = body_index(task_, c.body_a), b = body_index(task_, c.body_b);
    const Vec3 p = start[a].position + rotate(start[a].quat_wxyz, c.pose_a->position);
    world_->getConstraintSolver()->addConstraint(
        std::make_shared<dart::constraint::BallJointConstraint>(bodies_[a], bodies_[b], p));
  }

  void add_actuators() {
    wrenches_ = wrenches(task_);
    for (const Actuator& a : task_.scene.actuators) {
      for (const auto& [name, joint] : scalars_) {
        if (name != a.joint) continue;
        if (a.bias == Vec3::Zero()) {
          forces_.push_back({joint, a.gain * a.control * a.gear[0]});
          continue;
        }
        if (std::isfinite(a.force_range.upper))
          throw CannotExpress("no motor with gains and a limit of force");
        joint->setSpringStiffness(0, -a.bias[1]);
        joint->setDampingCoefficient(0, -a.bias[2]);
        joint->setRestPosition(0, a.control);
      }
    }
  }

  const Task& task_;
  const Material material_;
  dart::simulation::WorldPtr world_;
  bool has_capsules_ = false;
  std::vector<dd::SkeletonPtr> skeletons_;
  std::vector<dd::BodyNode*> bodies_;
  std::vector<std::pair<std::string, dd::Joint*>> scalars_;
  std::vector<std::pair<dd::Joint*, double>> forces_;
  std::vector<Wrench> wrenches_;
};

}  // namespace

const char* const kEngine = "DART";
const char* const kNoRods = "no rods";
const char* const kNoSoftBodies = "soft bodies are not made here";
const char* const kNoPatches = "bodies touch at points, not over areas";
std::string engine_version() {
  return PEER_VERSION;
}
std::unique_ptr<Runner> make_runner(const Task& task, const PeerSettings& settings) {
  return std::make_unique<DartRunner>(task, settings);
}

}  // namespace capstan::gauntlet
