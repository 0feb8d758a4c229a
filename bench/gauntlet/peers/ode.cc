// The gauntlet in ODE: rigid bodies, joints and contact joints.
//
// Springs and motors with gains are joint stops with ERP and CFM, as its manual says. Meshes and height
// fields are triangle meshes.
//
// Defaults: the quick step (20 iterations), ERP 0.2, CFM as it is, friction as a coefficient (a pyramid).
// Accurate, from ODE's own manual and headers:
// * dWorldStep, which solves each step as a whole and is "the most accurate method" that it has
//   (ode/objects.h; http://www.ode-wiki.org/wiki/index.php?title=Manual:_World);
// * finite rotation of bodies, "more accurate for high speed rotations" (dBodySetFiniteRotationMode,
//   ode/objects.h; http://www.ode-wiki.org/wiki/index.php?title=Manual:_Rigid_Body_Functions).
// ERP and CFM stay: the manual knows no other values that are more accurate in double precision.
#include <ode/ode.h>

#include <cmath>
#include <list>

#include "bench/gauntlet/peers/program.h"
#include "capstan/math/rotation.h"

namespace capstan::gauntlet {
namespace {

constexpr int kMaxContacts = 16;  // of one pair

struct Triangles {
  std::vector<double> vertices;
  std::vector<dTriIndex> indices;
  void add_vertex(const Vec3& p) { vertices.insert(vertices.end(), {p.x(), p.y(), p.z()}); }
  void add(int a, int b, int c) {
    for (const int i : {a, b, c}) indices.push_back(static_cast<dTriIndex>(i));
  }
};

Triangles triangles_of(const TriangleMesh& mesh) {
  Triangles t;
  for (const Vec3& p : mesh.vertices) t.add_vertex(p);
  for (const auto& triangle : mesh.triangles) t.add(triangle[0], triangle[1], triangle[2]);
  return t;
}

Triangles triangles_of(const HeightField& field) {
  Triangles t;
  for (int row = 0; row < field.rows; ++row) {
    for (int column = 0; column < field.columns; ++column) {
      t.add_vertex(Vec3(field.half_size.x() * (2.0 * column / (field.columns - 1) - 1),
                        field.half_size.y() * (2.0 * row / (field.rows - 1) - 1),
                        (*field.height)[row * field.columns + column]));
      if (row == 0 || column == 0) continue;
      const int d = row * field.columns + column, c = d - 1, b = d - field.columns, a = b - 1;
      t.add(a, b, d);
      t.add(a, d, c);
    }
  }
  return t;
}

class OdeRunner : public Runner {
 public:
  OdeRunner(const Task& task, const PeerSettings& settings)
      : task_(task), settings_(settings), material_(material_of(task)) {
    dInitODE2(0);
    dSetErrorHandler(fail), dSetDebugHandler(fail), dSetMessageHandler(ignore);
    world_ = dWorldCreate();
    space_ = dSweepAndPruneSpaceCreate(nullptr, dSAP_AXES_XYZ);
    contacts_ = dJointGroupCreate(0);
    const Vec3& g = task.scene.options.gravity;
    dWorldSetGravity(world_, g.x(), g.y(), g.z());
    for (const ShapeInstance& shape : task.scene.shapes) {
      if (shape.body == kWorld && shape.collides) add_geom(shape, nullptr, Vec3::Zero());
    }
    // Joints are made where they are at 0; then bodies go where they start.
    Task reference = task;
    reference.scene.initial = {};
    const std::vector<BodyState> at_zero = start_of(reference);
    for (std::size_t i = 0; i < task.scene.bodies.size(); ++i) add_body(i, at_zero[i]);
    for (std::size_t i = 0; i < task.scene.bodies.size(); ++i) {
      for (const Joint& joint : task.scene.bodies[i].joints) add_joint(i, joint, at_zero[i]);
    }
    add_actuators();
    const std::vector<BodyState> start = start_of(task);
    for (std::size_t i = 0; i < start.size(); ++i) place(i, start[i]);
    for (const Constraint& c : task.scene.constraints) add_constraint(c, start);
  }
  ~OdeRunner() override {
    dJointGroupDestroy(contacts_);
    dSpaceDestroy(space_);
    dWorldDestroy(world_);
    dCloseODE();
  }

  void step() override {
    for (const Wrench& w : wrenches_) {
      dBodyAddForce(bodies_[w.body], w.force.x(), w.force.y(), w.force.z());
      dBodyAddTorque(bodies_[w.body], w.torque.x(), w.torque.y(), w.torque.z());
    }
    for (const auto& [joint, force] : forces_) {
      if (dJointGetType(joint) == dJointTypeHinge) {
        dJointAddHingeTorque(joint, force);
      } else {
        dJointAddSliderForce(joint, force);
      }
    }
    dJointGroupEmpty(contacts_);
    dSpaceCollide(space_, this, &OdeRunner::near);
    if (settings_.accurate) {
      dWorldStep(world_, settings_.dt);
    } else {
      dWorldQuickStep(world_, settings_.dt);
    }
  }

  void get(std::span<BodyState> states) override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      BodyState& s = states[i];
      s.quat_wxyz = Eigen::Map<const Vec4>(dBodyGetQuaternion(bodies_[i]));
      s.angular = Eigen::Map<const Vec3>(dBodyGetAngularVel(bodies_[i]));
      const Vec3 com = rotate(s.quat_wxyz, coms_[i]);
      s.position = Eigen::Map<const Vec3>(dBodyGetPosition(bodies_[i])) - com;
      s.velocity = Eigen::Map<const Vec3>(dBodyGetLinearVel(bodies_[i])) - cross(s.angular, com);
    }
  }

  Built describe() override {
    Built built;
    dVector3 g;
    dWorldGetGravity(world_, g);
    built.gravity = Eigen::Map<const Vec3>(g);
    for (const dBodyID body : bodies_) {
      dMass mass;
      dBodyGetMass(body, &mass);
      const Mat3 R = matrix(dBodyGetRotation(body));
      built.bodies.push_back(
          {mass.mass, Eigen::Map<const Vec3>(dBodyGetPosition(body)), R * matrix(mass.I) * R.transpose()});
    }
    for (int i = 0; i < dSpaceGetNumGeoms(space_); ++i)
      built.shapes.push_back(describe_geom(dSpaceGetGeom(space_, i)));
    return built;
  }

 private:
  static Mat3 matrix(const dReal* m) {  // rows of four
    return (Mat3() << m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]).finished();
  }

  BuiltShape describe_geom(dGeomID geom) const {
    BuiltShape built;
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      if (bodies_[k] == dGeomGetBody(geom)) built.body = task_.scene.bodies[k].name;
    }
    dVector4 numbers;
    dReal radius = 0, length = 0;
    if (dGeomGetClass(geom) == dPlaneClass) {
      dGeomPlaneGetParams(geom, numbers);
      const Vec3 n(numbers[0], numbers[1], numbers[2]);
      built.type = "half_space", built.X = {frame_from_z(n), numbers[3] * n};
      return built;
    }
    built.X = {matrix(dGeomGetRotation(geom)), Eigen::Map<const Vec3>(dGeomGetPosition(geom))};
    switch (dGeomGetClass(geom)) {
      case dSphereClass:
        built.type = "sphere", built.size = {dGeomSphereGetRadius(geom)};
        break;
      case dBoxClass:
        dGeomBoxGetLengths(geom, numbers);
        built.type = "box", built.size = {numbers[0], numbers[1], numbers[2]};
        break;
      case dCapsuleClass:
        dGeomCapsuleGetParams(geom, &radius, &length);
        built.type = "capsule", built.size = {radius, length};
        break;
      case dCylinderClass:
        dGeomCylinderGetParams(geom, &radius, &length);
        built.type = "cylinder", built.size = {radius, length};
        break;
      default: {
        std::vector<Vec3> points;
        for (int i = 0; i < dGeomTriMeshGetTriangleCount(geom); ++i) {
          dVector3 corners[3];
          dGeomTriMeshGetTriangle(geom, i, &corners[0], &corners[1], &corners[2]);
          for (const dVector3& corner : corners) points.emplace_back(corner[0], corner[1], corner[2]);
        }
        built = built_points(built.body, "mesh", points);
      }
    }
    return built;
  }

  static void fail(int, const char* message, va_list) { throw std::runtime_error(message); }
  static void ignore(int, const char*, va_list) {}
  static void near(void* self, dGeomID a, dGeomID b) { static_cast<OdeRunner*>(self)->collide(a, b); }

  void collide(dGeomID a, dGeomID b) {
    const dBodyID body_a = dGeomGetBody(a), body_b = dGeomGetBody(b);
    if (!body_a && !body_b) return;
    if (body_a && body_b && dAreConnectedExcluding(body_a, body_b, dJointTypeContact)) return;
    dContact contacts[kMaxContacts] = {};
    const int n = dCollide(a, b, kMaxContacts, &contacts[0].geom, sizeof(dContact));
    for (int i = 0; i < n; ++i) {
      dSurfaceParameters& surface = contacts[i].surface;
      surface.mode = dContactApprox1;
      surface.mu = material_.friction;
      if (material_.restitution > 0) {
        surface.mode |= dContactBounce;
        surface.bounce = material_.restitution;
      }
      if (belt_ != Vec3::Zero()) {
        surface.mode |= dContactFDir1 | dContactMotion1;
        for (int k = 0; k < 3; ++k) contacts[i].fdir1[k] = belt_.normalized()[k];
        surface.motion1 = dGeomGetBody(a) ? -belt_.norm() : belt_.norm();
      }
      if (const auto& tensor = material_.friction_tensor) {
        surface.mode |= dContactFDir1 | dContactMu2;
        for (int k = 0; k < 3; ++k) contacts[i].fdir1[k] = tensor->direction[k];
        surface.mu = tensor->along;
        surface.mu2 = tensor->across;
      }
      dJointAttach(dJointCreateContact(world_, contacts_, &contacts[i]), body_a, body_b);
    }
  }

  dGeomID mesh_geom(Triangles triangles) {
    meshes_.push_back(std::move(triangles));
    const Triangles& t = meshes_.back();
    const dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, t.vertices.data(), 3 * sizeof(double),
                                static_cast<int>(t.vertices.size() / 3), t.indices.data(),
                                static_cast<int>(t.indices.size()), 3 * sizeof(dTriIndex));
    return dCreateTriMesh(space_, data, nullptr, nullptr, nullptr);
  }

  void add_geom(const ShapeInstance& instance, dBodyID body, const Vec3& com) {
    const Shape& shape = instance.shape;
    const Transform X = to_transform(instance.pose);
    dGeomID geom = nullptr;
    if (instance.surface_velocity != Vec3::Zero()) belt_ = X.R * instance.surface_velocity;
    if (const auto* s = std::get_if<Sphere>(&shape)) {
      geom = dCreateSphere(space_, s->radius);
    } else if (const auto* box = std::get_if<Box>(&shape)) {
      const Vec3 size = 2 * box->half_size;
      geom = dCreateBox(space_, size.x(), size.y(), size.z());
    } else if (const auto* capsule = std::get_if<Capsule>(&shape)) {
      geom = dCreateCapsule(space_, capsule->radius, 2 * capsule->half_length);
    } else if (const auto* cylinder = std::get_if<Cylinder>(&shape)) {
      geom = dCreateCylinder(space_, cylinder->radius, 2 * cylinder->half_length);
    } else if (std::holds_alternative<HalfSpace>(shape)) {
      const Vec3 n = X.R.col(2);
      dCreatePlane(space_, n.x(), n.y(), n.z(), n.dot(X.p));
      return;
    } else if (const auto* hull = std::get_if<ConvexMesh>(&shape)) {
      geom = mesh_geom(triangles_of(*hull->mesh));
    } else if (const auto* surface = std::get_if<SurfaceMesh>(&shape)) {
      geom = mesh_geom(triangles_of(*surface->mesh));
    } else if (const auto* field = std::get_if<HeightField>(&shape)) {
      geom = mesh_geom(triangles_of(*field));
    } else {
      throw CannotExpress("no such shape");
    }
    const Vec4 q = quat_from_matrix(X.R);
    const dQuaternion quat = {q[0], q[1], q[2], q[3]};
    if (body) {
      dGeomSetBody(geom, body);
      const Vec3 p = X.p - com;
      dGeomSetOffsetPosition(geom, p.x(), p.y(), p.z());
      dGeomSetOffsetQuaternion(geom, quat);
    } else {
      dGeomSetPosition(geom, X.p.x(), X.p.y(), X.p.z());
      dGeomSetQuaternion(geom, quat);
    }
  }

  void add_body(std::size_t i, const BodyState& state) {
    const Inertia I = task_.inertia(i);
    const dBodyID body = dBodyCreate(world_);
    dMass mass;
    const Mat3& M = I.about_com;
    dMassSetParameters(&mass, I.mass, 0, 0, 0, M(0, 0), M(1, 1), M(2, 2), M(0, 1), M(0, 2), M(1, 2));
    dBodySetMass(body, &mass);
    if (settings_.accurate) dBodySetFiniteRotationMode(body, 1);
    bodies_.push_back(body);
    coms_.push_back(I.com);
    for (const ShapeInstance& shape : task_.scene.shapes) {
      if (shape.body == task_.scene.bodies[i].name && shape.collides) add_geom(shape, body, I.com);
    }
    place(i, state);
  }

  void place(std::size_t i, const BodyState& s) {
    const Vec3 com = rotate(s.quat_wxyz, coms_[i]), p = s.position + com,
               v = s.velocity + cross(s.angular, com);
    const dQuaternion q = {s.quat_wxyz[0], s.quat_wxyz[1], s.quat_wxyz[2], s.quat_wxyz[3]};
    dBodySetPosition(bodies_[i], p.x(), p.y(), p.z());
    dBodySetQuaternion(bodies_[i], q);
    dBodySetLinearVel(bodies_[i], v.x(), v.y(), v.z());
    dBodySetAngularVel(bodies_[i], s.angular.x(), s.angular.y(), s.angular.z());
  }

  // As the manual has it: a stop at `target` that is a spring and damper.
  void add_spring(dJointID joint, double k, double d, double target) {
    const double h = settings_.dt;
    const auto set = [&](int parameter, double value) {
      if (dJointGetType(joint) == dJointTypeHinge) {
        dJointSetHingeParam(joint, parameter, value);
      } else {
        dJointSetSliderParam(joint, parameter, value);
      }
    };
    set(dParamLoStop, target), set(dParamHiStop, target);
    set(dParamStopERP, h * k / (h * k + d));
    set(dParamStopCFM, 1 / (h * k + d));
  }

  void add_joint(std::size_t i, const Joint& joint, const BodyState& at_zero) {
    if (joint.type == JointType::free) return;
    const int p = body_index(task_, task_.scene.bodies[i].parent);
    const dBodyID parent = p >= 0 ? bodies_[p] : nullptr;
    const Vec3 anchor = at_zero.position + rotate(at_zero.quat_wxyz, joint.position);
    const Vec3 axis = rotate(at_zero.quat_wxyz, joint.axis);
    dJointID made = nullptr;
    if (joint.type == JointType::ball) {
      made = dJointCreateBall(world_, nullptr);
      dJointAttach(made, bodies_[i], parent);
      dJointSetBallAnchor(made, anchor.x(), anchor.y(), anchor.z());
      return;
    }
    if (joint.type == JointType::revolute) {
      made = dJointCreateHinge(world_, nullptr);
      dJointAttach(made, bodies_[i], parent);
      dJointSetHingeAnchor(made, anchor.x(), anchor.y(), anchor.z());
      dJointSetHingeAxis(made, axis.x(), axis.y(), axis.z());
      if (!joint.limits.empty()) {
        dJointSetHingeParam(made, dParamLoStop, joint.limits[0].lower);
        dJointSetHingeParam(made, dParamHiStop, joint.limits[0].upper);
      }
      if (joint.dry_friction > 0) {
        dJointSetHingeParam(made, dParamVel, 0);
        dJointSetHingeParam(made, dParamFMax, joint.dry_friction);
      }
    } else if (joint.type == JointType::prismatic) {
      made = dJointCreateSlider(world_, nullptr);
      dJointAttach(made, bodies_[i], parent);
      dJointSetSliderAxis(made, axis.x(), axis.y(), axis.z());
      if (joint.dry_friction > 0) {
        dJointSetSliderParam(made, dParamVel, 0);
        dJointSetSliderParam(made, dParamFMax, joint.dry_friction);
      }
    } else {
      throw CannotExpress("no such joint");
    }
    if (joint.stiffness > 0) add_spring(made, joint.stiffness, joint.damping, joint.spring_reference);
    joints_.push_back({joint.name, made});
  }

  void add_constraint(const Constraint& c, const std::vector<BodyState>& start) {
    if (c.type != ConstraintType::ball) throw CannotExpress("joints are not coupled");
    const int a = body_index(task_, c.body_a), b = body_index(task_, c.body_b);
    const dJointID joint = dJointCreateBall(world_, nullptr);
    dJointAttach(joint, bodies_[a], bodies_[b]);
    const Vec3 p = start[a].position + rotate(start[a].quat_wxyz, c.pose_a->position);
    dJointSetBallAnchor(joint, p.x(), p.y(), p.z());
  }

  void add_actuators() {
    wrenches_ = wrenches(task_);
    for (const Actuator& a : task_.scene.actuators) {
      if (joint_of(task_, a.joint)->type == JointType::free) continue;
      for (const auto& [name, joint] : joints_) {
        if (name != a.joint) continue;
        if (a.bias != Vec3::Zero()) {
          if (std::isfinite(a.force_range.upper))
            throw CannotExpress("no motor with gains and a limit of force");
          add_spring(joint, -a.bias[1], -a.bias[2], a.control);
        } else {
          forces_.push_back({joint, a.gain * a.control * a.gear[0]});
        }
      }
    }
  }

  const Task& task_;
  const PeerSettings settings_;
  const Material material_;
  dWorldID world_;
  dSpaceID space_;
  dJointGroupID contacts_;
  Vec3 belt_ = Vec3::Zero();
  std::list<Triangles> meshes_;
  std::vector<dBodyID> bodies_;
  std::vector<Vec3> coms_;
  std::vector<std::pair<std::string, dJointID>> joints_;
  std::vector<std::pair<dJointID, double>> forces_;
  std::vector<Wrench> wrenches_;
};

}  // namespace

const char* const kEngine = "ODE";
const char* const kNoRods = "no rods";
const char* const kNoSoftBodies = "no soft bodies";
const char* const kNoPatches = "bodies touch at points, not over areas";
std::string engine_version() {
  return PEER_VERSION;
}
std::unique_ptr<Runner> make_runner(const Task& task, const PeerSettings& settings) {
  return std::make_unique<OdeRunner>(task, settings);
}

}  // namespace capstan::gauntlet
