// The gauntlet in MuJoCo: each scene is written as MJCF.
//
// Defaults: those of MuJoCo, but for friction. It has no coefficient of restitution, so that scenes with one
// are not expressed.
//
// Accurate, from MuJoCo's own documentation (https://mujoco.readthedocs.io/en/stable/):
// * against slip, elliptic cones, a large impratio and Newton's method with a tolerance of 1e-10, then the
//   noslip solver, of which 1, 2 or 3 iterations are usually enough (modeling.html, "Solver settings" and
//   "Slow slippage"); ten here;
// * the integrator RK4, for systems that keep energy and for bodies that tumble (computation/index.html,
//   "Choosing timestep and integrator");
// * contacts as stiff as a time step allows: solref of two steps (modeling.html, "Solver parameters");
// * bounces by a negative solref, stiffness and damping (modeling.html, "Restitution"): springs that last ten
//   steps, whose damping ratio gives the restitution.
#include <mujoco/mujoco.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <sstream>

#include "bench/gauntlet/peers/mujoco_flex.h"
#include "bench/gauntlet/peers/program.h"
#include "capstan/math/rotation.h"

namespace capstan::gauntlet {
namespace {

template <class Numbers>
std::string list(const Numbers& numbers) {
  std::ostringstream text;
  text.precision(17);
  for (const double x : numbers) text << x << " ";
  return text.str();
}

class Writer {
 public:
  Writer(const Task& task, const PeerSettings& settings) : task_(task), settings_(settings) {
    xml_.precision(17), asset_.precision(17), equality_.precision(17);
  }

  std::string write() {
    const Scene& scene = task_.scene;
    const double dt = settings_.dt;
    xml_ << "<mujoco>\n<compiler angle='radian' autolimits='true'/>\n<option timestep='" << dt
         << "' gravity='" << list(scene.options.gravity) << "'";
    const bool is_flexible = has_flexes(task_);
    if (is_flexible) xml_ << " integrator='discrete'";
    if (settings_.accurate) {
      xml_ << " cone='elliptic' impratio='10' tolerance='1e-10' iterations='200'";
      if (!is_flexible) xml_ << " integrator='RK4' noslip_iterations='10'";
    }
    xml_ << "/>\n<size memory='200M'/>\n<default>" << defaults() << "</default>\n<worldbody>\n";
    write_shapes(kWorld);
    write_children(kWorld);
    xml_ << write_flexes(task_) << "</worldbody>\n";
    write_constraints();
    xml_ << "<asset>\n" << asset_.str() << "</asset>\n<equality>\n" << equality_.str() << "</equality>\n";
    write_actuators();
    xml_ << "</mujoco>\n";
    return xml_.str();
  }

 private:
  std::string defaults() const {
    const Material material = material_of(task_);
    if (material.friction_tensor) throw CannotExpress("friction has no direction of its own on a surface");
    std::ostringstream text;
    text.precision(17);
    const double dt = settings_.dt;
    text << "<geom friction='" << material.friction << " 0.005 0.0001'";
    if (material.restitution > 0) {
      if (!settings_.accurate) throw CannotExpress("no coefficient of restitution");
      const double l = std::log(material.restitution), pi = std::numbers::pi;
      const double ratio = -l / std::sqrt(pi * pi + l * l), omega = pi / (10 * dt);
      text << " solref='" << -omega * omega << " " << -2 * ratio * omega << "'";
    } else if (settings_.accurate) {
      text << " solref='" << 2 * dt << " 1'";
    }
    text << "/>";
    if (settings_.accurate) {
      text << "<equality solref='" << 2 * dt << " 1'/><joint solreflimit='" << 2 * dt
           << " 1' solreffriction='" << 2 * dt << " 1'/>";
    }
    return text.str();
  }

  void write_pose(const Pose& pose) {
    xml_ << " pos='" << list(pose.position) << "' quat='" << list(pose.quat_wxyz) << "'";
  }

  void write_shapes(const std::string& body) {
    for (const ShapeInstance& shape : task_.scene.shapes) {
      if (shape.body != body || !shape.collides) continue;
      if (shape.surface_velocity != Vec3::Zero()) throw CannotExpress("no belts: surfaces do not move");
      Pose pose = shape.pose;
      std::string what;
      if (const auto* s = std::get_if<Sphere>(&shape.shape)) {
        what = "type='sphere' size='" + list(Vec3(s->radius, 0, 0)) + "'";
      } else if (const auto* box = std::get_if<Box>(&shape.shape)) {
        what = "type='box' size='" + list(box->half_size) + "'";
      } else if (const auto* capsule = std::get_if<Capsule>(&shape.shape)) {
        what = "type='capsule' size='" + list(Vec2(capsule->radius, capsule->half_length)) + "'";
      } else if (const auto* cylinder = std::get_if<Cylinder>(&shape.shape)) {
        what = "type='cylinder' size='" + list(Vec2(cylinder->radius, cylinder->half_length)) + "'";
      } else if (std::holds_alternative<HalfSpace>(shape.shape)) {
        what = "type='plane' size='0 0 1'";
      } else if (const auto* mesh = std::get_if<ConvexMesh>(&shape.shape)) {
        what = "type='mesh' mesh='" + shape.name + "'";
        write_mesh(shape.name, *mesh->mesh);
      } else if (const auto* field = std::get_if<HeightField>(&shape.shape)) {
        what = "type='hfield' hfield='" + shape.name + "'";
        write_field(shape.name, *field, &pose);
      } else {
        throw CannotExpress("a mesh is its convex hull");
      }
      xml_ << "<geom name='" << shape.name << "' " << what;
      write_pose(pose);
      xml_ << "/>\n";
    }
  }

  void write_mesh(const std::string& name, const TriangleMesh& mesh) {
    asset_ << "<mesh name='" << name << "' vertex='";
    for (const Vec3& p : mesh.vertices) asset_ << list(p);
    asset_ << "'/>\n";
  }

  // Heights are relative to the lowest, which is where the shape's frame is put.
  void write_field(const std::string& name, const HeightField& field, Pose* pose) {
    double low = kInfinity, high = -kInfinity;
    for (const double h : *field.height) low = std::min(low, h), high = std::max(high, h);
    asset_ << "<hfield name='" << name << "' nrow='" << field.rows << "' ncol='" << field.columns
           << "' size='" << field.half_size.x() << " " << field.half_size.y() << " "
           << std::max(high - low, 1e-3) << " " << field.base << "' elevation='" << list(*field.height)
           << "'/>\n";
    pose->position.z() += low;
  }

  void write_children(const std::string& parent) {
    for (std::size_t i = 0; i < task_.scene.bodies.size(); ++i) {
      const Body& body = task_.scene.bodies[i];
      if (body.parent != parent) continue;
      xml_ << "<body name='" << body.name << "'";
      write_pose(body.pose);
      xml_ << ">\n";
      for (const Joint& joint : body.joints) write_joint(joint);
      const Inertia I = task_.inertia(i);
      const Mat3& M = I.about_com;
      xml_ << "<inertial pos='" << list(I.com) << "' mass='" << I.mass << "' fullinertia='" << M(0, 0) << " "
           << M(1, 1) << " " << M(2, 2) << " " << M(0, 1) << " " << M(0, 2) << " " << M(1, 2) << "'/>\n";
      write_shapes(body.name);
      write_sites(body.name);
      write_children(body.name);
      xml_ << "</body>\n";
    }
  }

  void write_sites(const std::string& body) {
    for (const Constraint& c : task_.scene.constraints) {
      if (c.body_a == body && c.pose_a)
        xml_ << "<site name='" << c.name << "_a' pos='" << list(c.pose_a->position) << "'/>\n";
      if (c.body_b == body && c.pose_b)
        xml_ << "<site name='" << c.name << "_b' pos='" << list(c.pose_b->position) << "'/>\n";
    }
  }

  void write_joint(const Joint& joint) {
    if (joint.type == JointType::free) {
      xml_ << "<freejoint name='" << joint.name << "'/>\n";
      return;
    }
    const char* type = joint.type == JointType::revolute    ? "hinge"
                       : joint.type == JointType::prismatic ? "slide"
                       : joint.type == JointType::ball      ? "ball"
                       : joint.type == JointType::screw     ? "hinge"
                                                            : nullptr;
    if (!type) throw CannotExpress("no such joint");
    if (joint.type == JointType::screw) {  // a slide that follows the hinge
      xml_ << "<joint name='" << joint.name << "_travel' type='slide' axis='" << list(joint.axis) << "'/>\n";
      equality_ << "<joint joint1='" << joint.name << "_travel' joint2='" << joint.name << "' polycoef='0 "
                << joint.pitch << " 0 0 0'/>\n";
    }
    xml_ << "<joint name='" << joint.name << "' type='" << type << "' pos='" << list(joint.position) << "'";
    if (joint.type != JointType::ball) xml_ << " axis='" << list(joint.axis) << "'";
    xml_ << " stiffness='" << joint.stiffness << "' springref='" << joint.spring_reference << "' damping='"
         << joint.damping << "' frictionloss='" << joint.dry_friction << "'";
    if (!joint.limits.empty())
      xml_ << " range='" << joint.limits[0].lower << " " << joint.limits[0].upper << "'";
    xml_ << "/>\n";
  }

  void write_constraints() {
    for (const Constraint& c : task_.scene.constraints) {
      if (c.type == ConstraintType::ball) {
        equality_ << "<connect site1='" << c.name << "_a' site2='" << c.name << "_b'/>\n";
      } else if (c.type == ConstraintType::coupler) {
        equality_ << "<joint joint1='" << c.joint_a << "' joint2='" << c.joint_b << "' polycoef='"
                  << list(c.polynomial) << "'/>\n";
      } else {
        throw CannotExpress("this constraint is not written here");
      }
    }
  }

  void write_actuators() {
    xml_ << "<actuator>\n";
    for (const Actuator& a : task_.scene.actuators) {
      if (joint_of(task_, a.joint)->type == JointType::free) continue;
      xml_ << "<general name='" << a.name << "' joint='" << a.joint << "' gear='" << a.gear[0]
           << "' gaintype='fixed' gainprm='" << a.gain << "' biastype='affine' biasprm='" << list(a.bias)
           << "'";
      if (std::isfinite(a.force_range.upper))
        xml_ << " forcerange='" << a.force_range.lower << " " << a.force_range.upper << "'";
      xml_ << "/>\n";
    }
    xml_ << "</actuator>\n";
  }

  const Task& task_;
  const PeerSettings& settings_;
  std::ostringstream xml_, asset_, equality_;
};

class MujocoRunner : public Runner {
 public:
  MujocoRunner(const Task& task, const PeerSettings& settings) {
    mju_user_error = [](const char* message) { throw std::runtime_error(message); };
    // Its compiler warns of what it makes none the worse (a flex whose stiffness is far from its mass): said,
    // not thrown, since nothing may be thrown through it. Warnings of steps are looked at in step().
    mju_user_warning = [](const char* message) { std::fprintf(stderr, "MuJoCo warns: %s\n", message); };
    const std::string xml = Writer(task, settings).write();
    char error[1000] = "";
    static mjVFS vfs;
    mj_defaultVFS(&vfs);
    mj_addBufferVFS(&vfs, "scene.xml", xml.data(), static_cast<int>(xml.size()));
    m_ = mj_loadXML("scene.xml", &vfs, error, sizeof error);
    mj_deleteVFS(&vfs);
    if (!m_) throw CannotExpress(std::string("MuJoCo cannot load it: ") + error);
    d_ = mj_makeData(m_);
    for (const Body& body : task.scene.bodies)
      bodies_.push_back(mj_name2id(m_, mjOBJ_BODY, body.name.c_str()));
    set_start(task);
    flexes_.emplace(task, m_, d_);
    for (const Actuator& a : task.scene.actuators) {
      const int id = mj_name2id(m_, mjOBJ_ACTUATOR, a.name.c_str());
      if (id >= 0) d_->ctrl[id] = a.control;
    }
    for (const Wrench& w : wrenches(task)) {
      mjtNum* f = d_->xfrc_applied + 6 * bodies_[w.body];
      for (int k = 0; k < 3; ++k) f[k] = w.force[k], f[3 + k] = w.torque[k];
    }
    mj_forward(m_, d_);
  }
  ~MujocoRunner() override {
    mj_deleteData(d_);
    mj_deleteModel(m_);
  }

  void step() override {
    flexes_->apply_damping();
    mj_step(m_, d_);
    for (int i = 0; i < mjNWARNING; ++i) {
      if (d_->warning[i].number > 0 && i != mjWARN_CONTACTFULL)
        throw std::runtime_error(std::string("MuJoCo warns: ") + mju_warningText(i, d_->warning[i].lastinfo));
    }
  }

  void get(std::span<BodyState> bodies) override {
    mj_kinematics(m_, d_);
    mj_comPos(m_, d_);
    mj_comVel(m_, d_);
    flexes_->get(bodies.subspan(bodies_.size()));
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      const int b = bodies_[i];
      BodyState& s = bodies[i];
      s.position = Eigen::Map<const Vec3>(d_->xpos + 3 * b);
      s.quat_wxyz = Eigen::Map<const Vec4>(d_->xquat + 4 * b);
      mjtNum V[6];
      mj_objectVelocity(m_, d_, mjOBJ_XBODY, b, V, 0);
      s.angular = Vec3(V[0], V[1], V[2]);
      s.velocity = Vec3(V[3], V[4], V[5]);
    }
  }

  Built describe() override {
    Built built;
    built.gravity = Eigen::Map<const Vec3>(m_->opt.gravity);
    for (const int b : bodies_) {
      const Mat3 R = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(d_->ximat + 9 * b);
      const Vec3 moments = Eigen::Map<const Vec3>(m_->body_inertia + 3 * b);
      built.bodies.push_back({m_->body_mass[b], Eigen::Map<const Vec3>(d_->xipos + 3 * b),
                              R * moments.asDiagonal() * R.transpose()});
    }
    for (int g = 0; g < m_->ngeom; ++g) built.shapes.push_back(describe_geom(g));
    return built;
  }

 private:
  BuiltShape describe_geom(int g) const {
    BuiltShape built;
    const int body = m_->geom_bodyid[g];
    if (body > 0) built.body = mj_id2name(m_, mjOBJ_BODY, body);
    built.X = {Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(d_->geom_xmat + 9 * g),
               Eigen::Map<const Vec3>(d_->geom_xpos + 3 * g)};
    const mjtNum* s = m_->geom_size + 3 * g;
    switch (m_->geom_type[g]) {
      case mjGEOM_SPHERE:
        built.type = "sphere", built.size = {s[0]};
        break;
      case mjGEOM_BOX:
        built.type = "box", built.size = {2 * s[0], 2 * s[1], 2 * s[2]};
        break;
      case mjGEOM_CAPSULE:
        built.type = "capsule", built.size = {s[0], 2 * s[1]};
        break;
      case mjGEOM_CYLINDER:
        built.type = "cylinder", built.size = {s[0], 2 * s[1]};
        break;
      case mjGEOM_PLANE:
        built.type = "half_space";
        break;
      case mjGEOM_MESH: {
        const int mesh = m_->geom_dataid[g];
        std::vector<Vec3> points;
        for (int i = 0; i < m_->mesh_vertnum[mesh]; ++i) {
          const float* p = m_->mesh_vert + 3 * (m_->mesh_vertadr[mesh] + i);
          points.push_back(built.X * Vec3(p[0], p[1], p[2]));
        }
        return built_points(built.body, "mesh", points);
      }
      default: {  // a height field: x, y, from the lowest to the highest
        const mjtNum* size = m_->hfield_size + 4 * m_->geom_dataid[g];
        float high = 0;  // as MuJoCo scales them
        const int id = m_->geom_dataid[g], n = m_->hfield_nrow[id] * m_->hfield_ncol[id];
        for (int i = 0; i < n; ++i) high = std::max(high, m_->hfield_data[m_->hfield_adr[id] + i]);
        return built_points(
            built.body, "mesh",
            {built.X * Vec3(-size[0], -size[1], 0), built.X * Vec3(size[0], size[1], size[2] * high)});
      }
    }
    return built;
  }

  void set_start(const Task& task) {
    const Keyframe& initial = task.scene.initial;
    for (const Body& body : task.scene.bodies) {
      for (const Joint& joint : body.joints) {
        const int id = mj_name2id(m_, mjOBJ_JOINT, joint.name.c_str());
        mjtNum* q = d_->qpos + m_->jnt_qposadr[id];
        mjtNum* v = d_->qvel + m_->jnt_dofadr[id];
        if (const auto it = initial.q.find(joint.name); it != initial.q.end())
          std::copy(it->second.begin(), it->second.end(), q);
        const auto it = initial.v.find(joint.name);
        if (it == initial.v.end()) continue;
        std::vector<double> value = it->second;
        if (joint.type == JointType::free || joint.type == JointType::ball) {
          // Ours is in the axes of the world (the parent), theirs in those of the body.
          const bool is_free = joint.type == JointType::free;
          const int at = is_free ? 3 : 0;
          const Vec4 quat(q[at], q[at + 1], q[at + 2], q[at + 3]);
          const Vec3 w = rotate(quat_conjugate(quat), Vec3(value[at], value[at + 1], value[at + 2]));
          for (int k = 0; k < 3; ++k) value[at + k] = w[k];
        }
        std::copy(value.begin(), value.end(), v);
      }
    }
  }

  mjModel* m_ = nullptr;
  mjData* d_ = nullptr;
  std::vector<int> bodies_;
  std::optional<MujocoFlexes> flexes_;
};

}  // namespace

const char* const kEngine = "MuJoCo";
const char* const kNoRods = nullptr;
const char* const kNoSoftBodies = nullptr;
const char* const kNoPatches = "bodies touch at points, not over areas";
std::string engine_version() {
  return mj_versionString();
}
std::unique_ptr<Runner> make_runner(const Task& task, const PeerSettings& settings) {
  return std::make_unique<MujocoRunner>(task, settings);
}

}  // namespace capstan::gauntlet
