// MuJoCo beside Capstan. Settings: solver (newton, cg, pgs), cone (elliptic, pyramidal), tolerance, impratio.
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "bench/peers/harness.h"

namespace bench {
namespace {

template <class Numbers>
std::string list(const Numbers& numbers) {
  std::ostringstream text;
  text.precision(17);
  for (const double x : numbers) text << x << " ";
  return text.str();
}

// Contacts and their friction as MuJoCo has them by default, but for mu and the settings of peers.md.
std::string make_mjcf(const Scene& scene, Settings* settings) {
  std::ostringstream xml;
  xml.precision(17);
  std::string solver = settings->take("solver", "newton"), cone = settings->take("cone", "elliptic");
  if (solver == "newton") solver = "Newton";
  if (solver == "cg") solver = "CG";
  if (solver == "pgs") solver = "PGS";
  xml << "<mujoco>\n<option timestep='" << scene.dt << "' gravity='" << list(scene.gravity) << "' solver='"
      << solver << "' cone='" << cone << "' tolerance='" << settings->take("tolerance", 1e-8)
      << "' impratio='" << settings->take("impratio", 1.0) << "'/>\n";
#if mjVERSION_HEADER >= 300
  xml << "<size memory='2G'/>\n";
#else
  // This version sets its memory apart beforehand, njmax squared of it.
  const std::size_t n = scene.bodies.size() + 10;
  xml << "<size njmax='" << 25 * n << "' nconmax='" << 10 * n << "' nstack='" << 30000 * n << "'/>\n";
#endif
  xml << "<default><geom friction='" << scene.friction << " 0.005 0.0001'/></default>\n";
  if (!scene.model_file.empty()) {
    xml << "<asset><model name='model' file='" << scene.model_file << "'/></asset>\n";
  }
  xml << "<worldbody>\n";
  if (scene.plane) xml << "<geom type='plane' size='0 0 1'/>\n";
  for (const StaticBox& box : scene.statics) {
    xml << "<geom type='box' pos='" << list(box.centre) << "' size='" << list(box.half) << "'/>\n";
  }
  if (!scene.model_file.empty()) {
    for (int i = 0; i < scene.copies; ++i) {
      xml << "<frame pos='" << scene.spacing * (i % 10) << " " << scene.spacing * (i / 10)
          << " 0'><attach model='model' prefix='m" << i << "/'/></frame>\n";
    }
  }
  for (std::size_t i = 0; i < scene.bodies.size(); ++i) {
    const Body& body = scene.bodies[i];
    xml << "<body name='b" << i << "' pos='" << list(body.position) << "' quat='" << list(body.quat_wxyz)
        << "'><freejoint/><geom type='" << (body.is_box ? "box" : "sphere") << "' size='" << list(body.half)
        << "' mass='" << body.mass << "'/></body>\n";
  }
  xml << "</worldbody>\n";
  if (!scene.joints.empty()) xml << "<equality>\n";
  for (const BallJoint& joint : scene.joints) {
    const Vec& p = scene.bodies[joint.a].position;
    const Vec anchor = {joint.anchor[0] - p[0], joint.anchor[1] - p[1], joint.anchor[2] - p[2]};
    xml << "<connect body1='b" << joint.a << "' anchor='" << list(anchor) << "'";
    if (joint.b >= 0) xml << " body2='b" << joint.b << "'";
    xml << "/>\n";
  }
  if (!scene.joints.empty()) xml << "</equality>\n";
  xml << "</mujoco>\n";
  return xml.str();
}

mjModel* load(const std::string& xml) {
  char error[1000] = "";
  static mjVFS vfs;  // large
  mj_defaultVFS(&vfs);
#if mjVERSION_HEADER >= 300
  mj_addBufferVFS(&vfs, "scene.xml", xml.data(), static_cast<int>(xml.size()));
#else
  mj_makeEmptyFileVFS(&vfs, "scene.xml", static_cast<int>(xml.size()));
  std::memcpy(vfs.filedata[mj_findFileVFS(&vfs, "scene.xml")], xml.data(), xml.size());
#endif
  mjModel* model = mj_loadXML("scene.xml", &vfs, error, sizeof error);
  mj_deleteVFS(&vfs);
  if (model == nullptr) throw std::runtime_error(std::string("MuJoCo cannot load the scene: ") + error);
  return model;
}

class MujocoEngine : public Engine {
 public:
  MujocoEngine(const Scene& scene, Settings* settings) {
#if mjVERSION_HEADER < 300
    if (!scene.model_file.empty()) throw std::runtime_error("this MuJoCo cannot attach models");
#endif
    // Its own handlers would end the program and write a file.
    mju_user_error = [](const char* message) { throw std::runtime_error(message); };
    mju_user_warning = [](const char* message) { std::fprintf(stderr, "MuJoCo: %s\n", message); };
    m_ = load(make_mjcf(scene, settings));
    d_ = mj_makeData(m_);
    for (const std::string& name : scene.tracked) {
      bodies_.push_back(mj_name2id(m_, mjOBJ_BODY, name.c_str()));
      if (bodies_.back() < 0) throw std::runtime_error("MuJoCo has no body '" + name + "'");
    }
    if (!scene.keyframe.empty()) start_from(scene);
    mj_forward(m_, d_);
  }
  ~MujocoEngine() override {
    mj_deleteData(d_);
    mj_deleteModel(m_);
  }

  void step() override {
    mj_step(m_, d_);
  }

  void get_poses(std::span<Pose> poses) override {
    mj_kinematics(m_, d_);  // xpos is that of the beginning of the step
    for (std::size_t i = 0; i < poses.size(); ++i) {
      std::copy_n(d_->xpos + 3 * bodies_[i], 3, poses[i].position.data());
      std::copy_n(d_->xquat + 4 * bodies_[i], 4, poses[i].quat_wxyz.data());
    }
  }

  void set_speed(double speed) override {
    d_->qvel[0] = speed;
  }
  int contacts() const override {
    return d_->ncon;
  }
  double iterations() const override {
#if mjVERSION_HEADER >= 300
    const int islands = std::clamp(d_->nisland, 1, mjNISLAND);
    return *std::max_element(d_->solver_niter, d_->solver_niter + islands);
#else
    return d_->solver_iter;
#endif
  }

 private:
  // Every copy at the model's keyframe; attaching keeps one keyframe for each copy, with the others at their
  // reference. Copies come before the other bodies in qpos.
  void start_from(const Scene& scene) {
    for (int i = 0; i < scene.copies; ++i) {
      const std::string prefix = "m" + std::to_string(i) + "/";
      const int key = mj_name2id(m_, mjOBJ_KEY, (prefix + scene.keyframe).c_str());
      if (key < 0) throw std::runtime_error("MuJoCo has no keyframe '" + prefix + scene.keyframe + "'");
      const int nq = (m_->nq - 7 * static_cast<int>(scene.bodies.size())) / scene.copies,
                nu = m_->nu / scene.copies;
      std::copy_n(m_->key_qpos + key * m_->nq + i * nq, nq, d_->qpos + i * nq);
      // A keyframe's place of a free root does not follow the frame that the copy is attached to; qpos0 does.
      if (m_->njnt > 0 && m_->jnt_type[0] == mjJNT_FREE) {
        for (int k = 0; k < 3; ++k) d_->qpos[i * nq + k] += m_->qpos0[i * nq + k] - m_->qpos0[k];
      }
      std::copy_n(m_->key_ctrl + key * m_->nu + i * nu, nu, d_->ctrl + i * nu);
    }
  }

  mjModel* m_ = nullptr;
  mjData* d_ = nullptr;
  std::vector<int> bodies_;
};

}  // namespace

const char* const kEngineName = "MuJoCo";
std::string engine_version() {
  return mj_versionString();
}
std::unique_ptr<Engine> make_engine(const Scene& scene, Settings* settings) {
  return std::make_unique<MujocoEngine>(scene, settings);
}

}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program(argc, argv);
}
