// The gauntlet in Bullet: rigid bodies, and joints that are constraints between them.
//
// Half spaces are large boxes: on a static plane a sliding box gets one to three contacts.
//
// Defaults: those of Bullet (single precision, 10 iterations, slow bodies sleep), but for friction and
// restitution.
// Accurate: more iterations of the solver, 200 (Bullet's wiki,
// http://www.bulletphysics.org/mediawiki-1.5.8/index.php/BtContactSolverInfo, has 4 to 20 for games; 10 is
// the default); what its headers have against errors that it knows: overlaps undone apart from velocities
// (split impulse, here at every depth; btContactSolverInfo.h), continuous collision detection
// (btCollisionObject.h), edges of meshes smoothed (btInternalEdgeUtility.h); and double precision, no sleep.
// It has a direct solver, too (btMLCPSolver with btDantzigSolver), which no documentation was found to
// recommend, and which is not tried.
#include <BulletCollision/CollisionDispatch/btInternalEdgeUtility.h>
#include <BulletCollision/CollisionShapes/btHeightfieldTerrainShape.h>
#include <BulletDynamics/ConstraintSolver/btGeneric6DofSpring2Constraint.h>
#include <btBulletDynamicsCommon.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <memory>

#include "bench/gauntlet/peers/program.h"
#include "capstan/math/rotation.h"

extern ContactAddedCallback gContactAddedCallback;

namespace capstan::gauntlet {
namespace {

btVector3 vec(const Vec3& v) {
  return {btScalar(v[0]), btScalar(v[1]), btScalar(v[2])};
}
Vec3 vec(const btVector3& v) {
  return {v.x(), v.y(), v.z()};
}
btTransform transform(const Transform& X) {
  const Vec4 q = quat_from_matrix(X.R);
  return btTransform(btQuaternion(btScalar(q[1]), btScalar(q[2]), btScalar(q[3]), btScalar(q[0])), vec(X.p));
}

bool smooth_edges(btManifoldPoint& point, const btCollisionObjectWrapper* a, int part_a, int index_a,
                  const btCollisionObjectWrapper* b, int part_b, int index_b) {
  if (b->getCollisionShape()->getShapeType() == TRIANGLE_SHAPE_PROXYTYPE)
    btAdjustInternalEdgeContacts(point, b, a, part_b, index_b);
  if (a->getCollisionShape()->getShapeType() == TRIANGLE_SHAPE_PROXYTYPE)
    btAdjustInternalEdgeContacts(point, a, b, part_a, index_a);
  return true;
}

const Vec3 kHalfSpace(100, 100, 10);  // [m] half the size of the box that stands for one

struct BulletBody {
  btRigidBody* body = nullptr;
  Transform X_BC;  // Bullet's frame (centre of mass, principal axes) in the body's
};

class BulletRunner : public Runner {
 public:
  BulletRunner(const Task& task, const PeerSettings& settings)
      : task_(task),
        settings_(settings),
        material_(material_of(task)),
        dispatcher_(&configuration_),
        world_(&dispatcher_, &broadphase_, &solver_, &configuration_) {
    world_.setGravity(vec(task.scene.options.gravity));
    if (settings.accurate) {
      world_.getSolverInfo().m_numIterations = 200;
      world_.getSolverInfo().m_splitImpulsePenetrationThreshold = 0;
      gContactAddedCallback = smooth_edges;
    }
    for (const ShapeInstance& shape : task.scene.shapes) {
      if (shape.body == kWorld && shape.collides) add_static(shape);
    }
    const std::vector<BodyState> start = start_of(task);
    for (std::size_t i = 0; i < task.scene.bodies.size(); ++i) add_body(i, start[i]);
    for (std::size_t i = 0; i < task.scene.bodies.size(); ++i) {
      for (const Joint& joint : task.scene.bodies[i].joints) add_joint(i, joint);
    }
    for (const Constraint& c : task.scene.constraints) add_constraint(c);
    add_actuators();
  }
  ~BulletRunner() override {
    for (const auto& joint : joints_) world_.removeConstraint(joint.get());
    while (world_.getNumCollisionObjects() > 0)
      world_.removeCollisionObject(world_.getCollisionObjectArray()[0]);
  }

  void step() override {
    for (const Wrench& w : wrenches_) {
      bodies_[w.body].body->applyCentralForce(vec(w.force));
      bodies_[w.body].body->applyTorque(vec(w.torque));
    }
    for (const Push& push : pushes_) {
      const BulletBody& child = bodies_[push.body];
      const Vec3 axis = world_pose(child).R * push.axis;
      apply(child.body, push, axis);
      if (push.parent >= 0) apply(bodies_[push.parent].body, push, -axis);
    }
    world_.stepSimulation(btScalar(settings_.dt), 0);
  }

  void get(std::span<BodyState> states) override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const Transform X = world_pose(bodies_[i]);
      const Vec3 w = vec(bodies_[i].body->getAngularVelocity());
      const Vec3 com = X.R * bodies_[i].X_BC.p;
      states[i] = {X.p, quat_from_matrix(X.R), vec(bodies_[i].body->getLinearVelocity()) - cross(w, com), w};
    }
  }

  Built describe() override {
    Built built;
    built.gravity = vec(world_.getGravity());
    for (const BulletBody& b : bodies_) {
      const Mat3 R = mat(b.body->getCenterOfMassTransform().getBasis());
      const Vec3 moments = vec(b.body->getLocalInertia());
      built.bodies.push_back({1 / b.body->getInvMass(), vec(b.body->getCenterOfMassPosition()),
                              R * moments.asDiagonal() * R.transpose()});
    }
    for (int i = 0; i < world_.getNumCollisionObjects(); ++i) {
      const btCollisionObject* object = world_.getCollisionObjectArray()[i];
      std::string name;
      for (std::size_t k = 0; k < bodies_.size(); ++k) {
        if (bodies_[k].body == object) name = task_.scene.bodies[k].name;
      }
      describe_shape(name, object->getCollisionShape(), object->getWorldTransform(), &built.shapes);
    }
    return built;
  }

 private:
  static Mat3 mat(const btMatrix3x3& m) {
    Mat3 R;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) R(i, j) = m[i][j];
    }
    return R;
  }

  static void describe_shape(const std::string& body, const btCollisionShape* shape, const btTransform& X,
                             std::vector<BuiltShape>* shapes) {
    BuiltShape built{body, "", {}, {mat(X.getBasis()), vec(X.getOrigin())}};
    switch (shape->getShapeType()) {
      case COMPOUND_SHAPE_PROXYTYPE: {
        const auto* compound = static_cast<const btCompoundShape*>(shape);
        for (int i = 0; i < compound->getNumChildShapes(); ++i)
          describe_shape(body, compound->getChildShape(i), X * compound->getChildTransform(i), shapes);
        return;
      }
      case SPHERE_SHAPE_PROXYTYPE:
        built.type = "sphere", built.size = {static_cast<const btSphereShape*>(shape)->getRadius()};
        break;
      case BOX_SHAPE_PROXYTYPE: {
        const Vec3 half = vec(static_cast<const btBoxShape*>(shape)->getHalfExtentsWithMargin());
        built.type = "box", built.size = {2 * half.x(), 2 * half.y(), 2 * half.z()};
        if (half.x() == kHalfSpace.x() && body.empty()) {
          built.type = "half_space", built.size.clear();
          built.X.p += built.X.R.col(2) * half.z();
        }
        break;
      }
      case CAPSULE_SHAPE_PROXYTYPE: {
        const auto* capsule = static_cast<const btCapsuleShape*>(shape);
        built.type = "capsule", built.size = {capsule->getRadius(), 2 * capsule->getHalfHeight()};
        break;
      }
      case CYLINDER_SHAPE_PROXYTYPE: {
        const Vec3 half = vec(static_cast<const btCylinderShape*>(shape)->getHalfExtentsWithMargin());
        built.type = "cylinder", built.size = {half.x(), 2 * half.z()};
        break;
      }
      case CONVEX_HULL_SHAPE_PROXYTYPE: {
        const auto* hull = static_cast<const btConvexHullShape*>(shape);
        std::vector<Vec3> points;
        for (int i = 0; i < hull->getNumPoints(); ++i) points.push_back(vec(X * hull->getScaledPoint(i)));
        built = built_points(body, "mesh", points);
        break;
      }
      default: {  // triangles and height fields: their bounds, which Bullet widens by its margin
        btVector3 low, high;
        shape->getAabb(X, low, high);
        const Vec3 margin = Vec3::Constant(shape->getMargin());
        built = built_points(body, "mesh", {vec(low) + margin, vec(high) - margin});
      }
    }
    shapes->push_back(built);
  }

  struct Push {  // a constant force along, or torque about, the axis of a joint
    int body = 0, parent = -1;
    Vec3 axis = Vec3::Zero();  // body frame
    bool turns = false;
    double force = 0;
  };

  static void apply(btRigidBody* body, const Push& push, const Vec3& axis) {
    if (push.turns) {
      body->applyTorque(vec(Vec3(push.force * axis)));
    } else {
      body->applyCentralForce(vec(Vec3(push.force * axis)));
    }
  }

  static Transform world_pose(const BulletBody& b) {
    const btTransform& X = b.body->getCenterOfMassTransform();
    Transform X_WC;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) X_WC.R(i, j) = X.getBasis()[i][j];
    }
    X_WC.p = vec(X.getOrigin());
    return X_WC * inverse(b.X_BC);
  }

  // The shape, and where it is in the frame of the capstan shape.
  btCollisionShape* make_shape(const ShapeInstance& instance, Transform* X) {
    const Shape& shape = instance.shape;
    std::unique_ptr<btCollisionShape> made;
    if (const auto* s = std::get_if<Sphere>(&shape)) {
      made = std::make_unique<btSphereShape>(btScalar(s->radius));
    } else if (const auto* box = std::get_if<Box>(&shape)) {
      made = std::make_unique<btBoxShape>(vec(box->half_size));
    } else if (const auto* c = std::get_if<Capsule>(&shape)) {
      made = std::make_unique<btCapsuleShapeZ>(btScalar(c->radius), btScalar(2 * c->half_length));
    } else if (const auto* cy = std::get_if<Cylinder>(&shape)) {
      made = std::make_unique<btCylinderShapeZ>(vec(Vec3(cy->radius, cy->radius, cy->half_length)));
    } else if (std::holds_alternative<HalfSpace>(shape)) {
      made = std::make_unique<btBoxShape>(vec(kHalfSpace));
      X->p = Vec3(0, 0, -kHalfSpace.z());
    } else if (const auto* hull = std::get_if<ConvexMesh>(&shape)) {
      auto convex = std::make_unique<btConvexHullShape>();
      for (const Vec3& p : hull->mesh->vertices) convex->addPoint(vec(p));
      convex->setMargin(btScalar(0.001));  // by default it grows by 40 mm
      made = std::move(convex);
    } else if (const auto* surface = std::get_if<SurfaceMesh>(&shape)) {
      made = make_mesh(*surface->mesh);
    } else if (const auto* field = std::get_if<HeightField>(&shape)) {
      made = make_field(*field, X);
    } else {
      throw CannotExpress("no such shape");
    }
    shapes_.push_back(std::move(made));
    return shapes_.back().get();
  }

  std::unique_ptr<btCollisionShape> make_mesh(const TriangleMesh& mesh) {
    triangles_.push_back(std::make_unique<btTriangleMesh>());
    for (const auto& t : mesh.triangles)
      triangles_.back()->addTriangle(vec(mesh.vertices[t[0]]), vec(mesh.vertices[t[1]]),
                                     vec(mesh.vertices[t[2]]));
    auto shape = std::make_unique<btBvhTriangleMeshShape>(triangles_.back().get(), true);
    if (settings_.accurate) {
      edges_.push_back(std::make_unique<btTriangleInfoMap>());
      btGenerateInternalEdgeInfo(shape.get(), edges_.back().get());
    }
    return shape;
  }

  std::unique_ptr<btCollisionShape> make_field(const HeightField& field, Transform* X) {
    heights_.emplace_back(field.height->begin(), field.height->end());
    const auto [low, high] = std::minmax_element(heights_.back().begin(), heights_.back().end());
    auto shape = std::make_unique<btHeightfieldTerrainShape>(
        field.columns, field.rows, heights_.back().data(), btScalar(1), btScalar(*low), btScalar(*high), 2,
        PHY_FLOAT, false);
    shape->setLocalScaling({btScalar(2 * field.half_size.x() / (field.columns - 1)),
                            btScalar(2 * field.half_size.y() / (field.rows - 1)), 1});
    X->p = Vec3(0, 0, 0.5 * (*low + *high));
    return shape;
  }

  btRigidBody* add(btCollisionShape* shape, double mass, const Vec3& inertia, const btTransform& X) {
    btRigidBody::btRigidBodyConstructionInfo info(btScalar(mass), nullptr, shape, vec(inertia));
    info.m_friction = btScalar(std::sqrt(material_.friction));  // Bullet multiplies the two
    info.m_restitution = btScalar(std::sqrt(material_.restitution));
    info.m_startWorldTransform = X;
    owned_.push_back(std::make_unique<btRigidBody>(info));
    if (settings_.accurate) owned_.back()->setActivationState(DISABLE_DEACTIVATION);
    world_.addRigidBody(owned_.back().get());
    return owned_.back().get();
  }

  void add_static(const ShapeInstance& instance) {
    if (instance.surface_velocity != Vec3::Zero()) throw CannotExpress("no belts: surfaces do not move");
    Transform X;
    btCollisionShape* shape = make_shape(instance, &X);
    btRigidBody* body = add(shape, 0, Vec3::Zero(), transform(to_transform(instance.pose) * X));
    if (const auto& tensor = material_.friction_tensor) {
      body->setAnisotropicFriction(
          {btScalar(tensor->along / material_.friction), btScalar(tensor->across / material_.friction), 1});
    }
    if (settings_.accurate && std::holds_alternative<SurfaceMesh>(instance.shape))
      body->setCollisionFlags(body->getCollisionFlags() | btCollisionObject::CF_CUSTOM_MATERIAL_CALLBACK);
  }

  void add_body(std::size_t i, const BodyState& start) {
    const Inertia I = task_.inertia(i);
    const Eigen::SelfAdjointEigenSolver<Mat3> principal(I.about_com);
    BulletBody b;
    const bool is_diagonal = I.about_com.isDiagonal(1e-9);
    Vec3 moments = I.about_com.diagonal();
    if (!is_diagonal) {
      b.X_BC.R = principal.eigenvectors();
      if (b.X_BC.R.determinant() < 0) b.X_BC.R.col(0) *= -1;
      moments = principal.eigenvalues();
    }
    b.X_BC.p = I.com;
    auto compound = std::make_unique<btCompoundShape>();
    btCollisionShape* only = nullptr;
    double smallest = kInfinity;
    for (const ShapeInstance& instance : task_.scene.shapes) {
      if (instance.body != task_.scene.bodies[i].name || !instance.collides) continue;
      Transform X_S;
      btCollisionShape* shape = make_shape(instance, &X_S);
      const Transform X_CS = inverse(b.X_BC) * (to_transform(instance.pose) * X_S);
      compound->addChildShape(transform(X_CS), shape);
      const bool is_plain = X_CS.p.norm() < 1e-12 && (X_CS.R - Mat3::Identity()).norm() < 1e-12;
      only = is_plain && compound->getNumChildShapes() == 1 ? shape : nullptr;
      btVector3 low, high;
      shape->getAabb(btTransform::getIdentity(), low, high);
      smallest = std::min<double>(smallest, (high - low)[(high - low).minAxis()]);
    }
    btCollisionShape* shape = compound.get();
    shapes_.push_back(std::move(compound));
    if (only) shape = only;
    const Transform X_WC = Transform{rotation_matrix(start.quat_wxyz), start.position} * b.X_BC;
    b.body = add(shape, I.mass, moments, transform(X_WC));
    b.body->setLinearVelocity(vec(Vec3(start.velocity + cross(start.angular, X_WC.p - start.position))));
    b.body->setAngularVelocity(vec(start.angular));
    if (settings_.accurate && std::isfinite(smallest)) {
      b.body->setCcdMotionThreshold(btScalar(smallest / 2));
      b.body->setCcdSweptSphereRadius(btScalar(smallest / 5));
    }
    bodies_.push_back(b);
  }

  // A frame whose x axis is along `axis`.
  static Transform frame(const Vec3& position, const Vec3& axis) {
    const Mat3 F = frame_from_z(axis.normalized());
    Transform X;
    X.R.col(0) = F.col(2), X.R.col(1) = F.col(0), X.R.col(2) = F.col(1);
    X.p = position;
    return X;
  }

  void keep(std::unique_ptr<btTypedConstraint> joint, bool linked) {
    world_.addConstraint(joint.get(), linked);
    joints_.push_back(std::move(joint));
  }

  void add_joint(std::size_t i, const Joint& joint) {
    if (joint.type == JointType::free) return;
    const Body& body = task_.scene.bodies[i];
    const BulletBody& child = bodies_[i];
    const int p = body_index(task_, body.parent);
    if (joint.type == JointType::ball) {
      if (p >= 0) throw CannotExpress("ball joints between bodies are not made here");
      keep(std::make_unique<btPoint2PointConstraint>(*child.body, vec(inverse(child.X_BC) * joint.position)),
           false);
      return;
    }
    if (joint.type != JointType::revolute && joint.type != JointType::prismatic)
      throw CannotExpress("no such joint");
    const bool turns = joint.type == JointType::revolute;
    const int at = turns ? 3 : 0;
    const Transform X = frame(joint.position, joint.axis), X_P = to_transform(body.pose) * X;
    const btTransform in_child = transform(inverse(child.X_BC) * X);
    std::unique_ptr<btGeneric6DofSpring2Constraint> made;
    if (p >= 0) {
      made = std::make_unique<btGeneric6DofSpring2Constraint>(
          *bodies_[p].body, *child.body, transform(inverse(bodies_[p].X_BC) * X_P), in_child);
    } else {
      made = std::make_unique<btGeneric6DofSpring2Constraint>(btTypedConstraint::getFixedBody(), *child.body,
                                                              transform(X_P), in_child);
    }
    for (int k = 0; k < 6; ++k) made->setLimit(k, 0, 0);
    made->setLimit(at, 1, -1);
    if (!joint.limits.empty())
      made->setLimit(at, btScalar(joint.limits[0].lower), btScalar(joint.limits[0].upper));
    if (joint.stiffness > 0) {
      made->enableSpring(at, true);
      made->setStiffness(at, btScalar(joint.stiffness));
      made->setDamping(at, btScalar(joint.damping));
      made->setEquilibriumPoint(at, btScalar(joint.spring_reference));
    }
    if (joint.dry_friction > 0) {
      made->enableMotor(at, true);
      made->setTargetVelocity(at, 0);
      made->setMaxMotorForce(at, btScalar(joint.dry_friction));
    }
    scalar_joints_.push_back({joint.name, made.get(), at});
    keep(std::move(made), p >= 0);
  }

  void add_constraint(const Constraint& c) {
    if (c.type == ConstraintType::ball) {
      const BulletBody &a = bodies_[body_index(task_, c.body_a)], &b = bodies_[body_index(task_, c.body_b)];
      keep(std::make_unique<btPoint2PointConstraint>(*a.body, *b.body,
                                                     vec(inverse(a.X_BC) * c.pose_a->position),
                                                     vec(inverse(b.X_BC) * c.pose_b->position)),
           true);
      return;
    }
    if (c.type != ConstraintType::coupler) throw CannotExpress("this constraint is not made here");
    int a = 0, b = 0;
    const Joint *ja = joint_of(task_, c.joint_a, &a), *jb = joint_of(task_, c.joint_b, &b);
    if (ja->type != JointType::revolute || jb->type != JointType::revolute)
      throw CannotExpress("gears couple hinges only");
    keep(std::make_unique<btGearConstraint>(
             *bodies_[a].body, *bodies_[b].body, vec(Vec3(bodies_[a].X_BC.R.transpose() * ja->axis)),
             vec(Vec3(bodies_[b].X_BC.R.transpose() * jb->axis)), btScalar(-c.polynomial[1])),
         true);
  }

  void add_actuators() {
    wrenches_ = wrenches(task_);
    for (const Actuator& a : task_.scene.actuators) {
      Push push;
      const Joint* joint = joint_of(task_, a.joint, &push.body);
      if (joint->type == JointType::free) continue;
      if (a.bias != Vec3::Zero()) {
        if (std::isfinite(a.force_range.upper))
          throw CannotExpress("no motor with gains and a limit of force");
        for (const auto& [name, made, at] : scalar_joints_) {
          if (name != a.joint) continue;
          made->enableSpring(at, true);
          made->setStiffness(at, btScalar(-a.bias[1]));
          made->setDamping(at, btScalar(-a.bias[2]));
          made->setEquilibriumPoint(at, btScalar(a.control));
        }
        continue;
      }
      push.parent = body_index(task_, task_.scene.bodies[push.body].parent);
      push.axis = joint->axis.normalized();
      push.turns = joint->type == JointType::revolute;
      push.force = a.gain * a.control * a.gear[0];
      pushes_.push_back(push);
    }
  }

  struct ScalarJoint {
    std::string name;
    btGeneric6DofSpring2Constraint* made;
    int at;
  };

  const Task& task_;
  const PeerSettings settings_;
  const Material material_;
  btDefaultCollisionConfiguration configuration_;
  btCollisionDispatcher dispatcher_;
  btDbvtBroadphase broadphase_;
  btSequentialImpulseConstraintSolver solver_;
  btDiscreteDynamicsWorld world_;
  std::vector<std::vector<float>> heights_;
  std::vector<std::unique_ptr<btTriangleMesh>> triangles_;
  std::vector<std::unique_ptr<btTriangleInfoMap>> edges_;
  std::vector<std::unique_ptr<btCollisionShape>> shapes_;
  std::vector<std::unique_ptr<btRigidBody>> owned_;
  std::vector<std::unique_ptr<btTypedConstraint>> joints_;
  std::vector<ScalarJoint> scalar_joints_;
  std::vector<BulletBody> bodies_;
  std::vector<Wrench> wrenches_;
  std::vector<Push> pushes_;
};

}  // namespace

const char* const kEngine = "Bullet";
const char* const kNoRods = "ropes are not made here";
const char* const kNoSoftBodies = "soft bodies are not made here";
const char* const kNoPatches = "bodies touch at points, not over areas";
std::string engine_version() {
  return PEER_VERSION;
}
std::unique_ptr<Runner> make_runner(const Task& task, const PeerSettings& settings) {
  return std::make_unique<BulletRunner>(task, settings);
}

}  // namespace capstan::gauntlet
