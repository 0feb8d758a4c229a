// Every way to break a scene, each with the message that compile() must give.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "capstan/model/model.h"

namespace capstan::compile_errors_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A cart on a rail that carries a pole and a ball; every kind of thing a scene has, and nothing to complain
// about.
Scene good() {
  Scene scene;
  scene.file = "good.yaml";
  const auto add_body = [&](const char* name, const char* parent, JointType type) {
    Body body;
    body.name = name;
    body.parent = parent;
    body.where = {"good.yaml", static_cast<int>(10 * (scene.bodies.size() + 1))};
    body.inertia = Inertia{1, Vec3(0.1, 0, 0), 0.01 * Mat3::Identity()};
    Joint joint;
    joint.name = std::string(name) + "_joint";
    joint.where = {"good.yaml", body.where.line + 1};
    joint.type = type;
    body.joints.push_back(joint);
    scene.bodies.push_back(body);
  };
  add_body("cart", kWorld, JointType::prismatic);
  add_body("pole", "cart", JointType::revolute);
  add_body("wrist", "pole", JointType::ball);
  add_body("stone", kWorld, JointType::free);
  scene.bodies[3].inertia.reset();
  Material rubber;
  rubber.name = "rubber";
  scene.materials.push_back(rubber);
  for (const char* name : {"hull", "skin"}) {
    ShapeInstance shape;
    shape.name = name;
    shape.body = "stone";
    shape.shape = Box{Vec3(0.1, 0.2, 0.3)};
    shape.material = "rubber";
    scene.shapes.push_back(shape);
  }
  Site site;
  site.name = "tip";
  site.body = "pole";
  scene.sites.push_back(site);
  Tendon tendon;
  tendon.name = "rope";
  tendon.terms = {{"cart_joint", 1}, {"pole_joint", 0.5}};
  scene.tendons.push_back(tendon);
  Actuator motor;
  motor.name = "motor";
  motor.joint = "cart_joint";
  scene.actuators.push_back(motor);
  Constraint pin;
  pin.name = "pin";
  pin.body_a = "wrist";
  pin.body_b = "stone";
  scene.constraints.push_back(pin);
  Constraint mimic;
  mimic.name = "mimic";
  mimic.type = ConstraintType::coupler;
  mimic.joint_a = "cart_joint";
  mimic.joint_b = "pole_joint";
  scene.constraints.push_back(mimic);
  PairOverride pair;
  pair.a = "rubber";
  pair.b = "default";
  pair.friction = 0.9;
  scene.pairs.push_back(pair);
  scene.excludes.push_back({"pole", "stone", {}});
  Keyframe home;
  home.name = "home";
  home.q["pole_joint"] = {0.5};
  home.v["wrist_joint"] = {1, 2, 3};
  home.control["motor"] = 2;
  scene.keyframes.push_back(home);
  return scene;
}

struct Case {
  const char* name;
  std::function<void(Scene&)> damage;
  const char* fragment;
};

Joint& joint(Scene& s, int body) {
  return s.bodies[body].joints[0];
}

TEST(CompileErrors, TheGoodSceneHasNone) {
  Diagnostics d;
  compile(good(), &d);
  EXPECT_EQ(d.text(), "");
}

void expect_all(const std::vector<Case>& cases, Severity severity) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Scene scene = good();
    c.damage(scene);
    Diagnostics d;
    compile(scene, &d);
    bool found = false;
    for (const Diagnostic& one : d.list) {
      const bool match = to_string(one).find(c.fragment) != std::string::npos;
      EXPECT_TRUE(!match || one.severity == severity) << to_string(one);
      EXPECT_TRUE(!match || !one.remedy.empty()) << to_string(one);
      found = found || match;
    }
    EXPECT_TRUE(found) << "expected: " << c.fragment << "\ngot: " << d.text();
    EXPECT_EQ(d.ok(), severity == Severity::warning) << d.text();
    if (severity == Severity::error) {
      EXPECT_THROW(compile(scene), InputError);
    }
  }
}

const auto null_mesh = std::shared_ptr<const TriangleMesh>();

std::shared_ptr<TriangleMesh> tetrahedron() {
  auto mesh = std::make_shared<TriangleMesh>();
  mesh->vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  mesh->triangles = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
  return mesh;
}

TEST(CompileErrors, OfOptions) {
  expect_all(
      {
          {"dt zero", [](Scene& s) { s.options.dt = 0; }, "good.yaml: error: the time step is 0 s"},
          {"dt negative", [](Scene& s) { s.options.dt = -0.1; }, "the time step is -0.1 s"},
          {"dt nan", [](Scene& s) { s.options.dt = kNan; }, "the time step is nan s"},
          {"dt inf", [](Scene& s) { s.options.dt = kInfinity; }, "the time step is inf s"},
          {"recovery", [](Scene& s) { s.options.contact.recovery_speed = 0; }, "the recovery speed is 0"},
          {"gravity nan", [](Scene& s) { s.options.gravity[1] = kNan; }, "gravity is not finite"},
          {"duration", [](Scene& s) { s.options.duration = -1; }, "the duration is -1 s"},
          {"duration inf", [](Scene& s) { s.options.duration = kInfinity; }, "the duration is inf s"},
      },
      Severity::error);
}

TEST(CompileErrors, OfBodies) {
  expect_all(
      {
          {"no name", [](Scene& s) { s.bodies[3].name = ""; }, "good.yaml:40: error: a body has no name"},
          {"named world", [](Scene& s) { s.bodies[3].name = "world"; }, "a body is named 'world'"},
          {"twice", [](Scene& s) { s.bodies[3].name = "cart"; },
           "good.yaml:40: error: body 'cart' is defined twice, first at good.yaml:10"},
          {"twice in code",
           [](Scene& s) {
             s.bodies[0].where = {};
             s.bodies[3].name = "cart";
           },
           "body 'cart' is defined twice;"},
          {"unknown parent", [](Scene& s) { s.bodies[1].parent = "carr"; },
           "the parent of body 'pole' is body 'carr', which does not exist; did you mean 'cart'?"},
          {"own parent", [](Scene& s) { s.bodies[1].parent = "pole"; },
           "bodies are their own ancestors: pole -> pole"},
          {"cycle", [](Scene& s) { s.bodies[0].parent = "wrist"; }, "bodies are their own ancestors: "},
          {"pose nan", [](Scene& s) { s.bodies[1].pose.position[2] = kNan; },
           "body 'pole' has a pose that is not finite"},
          {"zero quaternion", [](Scene& s) { s.bodies[1].pose.quat_wxyz.setZero(); },
           "body 'pole' has a pose that is not finite or a zero quaternion"},
          {"too many dofs",
           [](Scene& s) {
             for (int i = 0; i < 6; ++i) {
               s.bodies[1].joints.push_back(joint(s, 1));
               s.bodies[1].joints.back().name += std::to_string(i);
             }
           },
           "the joints of body 'pole' have 7 dofs in all; a rigid body has 6"},
          {"mass zero", [](Scene& s) { s.bodies[1].inertia->mass = 0; },
           "the inertia of body 'pole' is impossible: its mass is 0 kg"},
          {"mass negative", [](Scene& s) { s.bodies[1].inertia->mass = -2; }, "its mass is -2 kg"},
          {"mass nan", [](Scene& s) { s.bodies[1].inertia->mass = kNan; },
           "is impossible: it has a number that is not finite"},
          {"com inf", [](Scene& s) { s.bodies[1].inertia->com[0] = kInfinity; },
           "is impossible: it has a number that is not finite"},
          {"not symmetric", [](Scene& s) { s.bodies[1].inertia->about_com(0, 1) = 0.001; },
           "its matrix is not symmetric"},
          {"negative moment",
           [](Scene& s) { s.bodies[1].inertia->about_com = Vec3(1, 1, -0.1).asDiagonal(); },
           "include a negative one"},
          {"triangle inequality",
           [](Scene& s) { s.bodies[1].inertia->about_com = Vec3(3, 1, 1).asDiagonal(); },
           "its largest principal moment 3 kg m^2 exceeds the sum 2 of the other two"},
          {"hidden triangle inequality",  // fine on the diagonal, impossible along the principal axes
           [](Scene& s) { s.bodies[1].inertia->about_com << 2, 1.9, 0, 1.9, 2, 0, 0, 0, 1; },
           "exceeds the sum"},
          {"massless", [](Scene& s) { s.shapes.clear(); },
           "good.yaml:40: error: body 'stone' moves but neither it nor anything attached to it has mass"},
          {"density zero", [](Scene& s) { s.shapes[0].density = s.shapes[1].density = 0; },
           "body 'stone' moves but neither"},
          {"point mass that turns", [](Scene& s) { s.bodies[2].inertia->about_com.setZero(); },
           "joint 'wrist_joint' turns something without inertia about"},
          {"rod that turns about itself",
           [](Scene& s) {
             s.bodies[1].inertia = Inertia{1, Vec3(0, 0, 0.5), Mat3(Vec3(0.1, 0.1, 0).asDiagonal())};
             s.bodies[2].parent = "world";
           },
           "joint 'pole_joint' turns something without inertia about"},
          {"point mass that floats",
           [](Scene& s) {
             s.bodies[3].inertia = Inertia{1, Vec3(0.1, 0.2, 0.3), Mat3::Zero()};
           },
           "joint 'stone_joint' turns something without inertia about"},
      },
      Severity::error);
}

TEST(CompileErrors, OfJoints) {
  expect_all(
      {
          {"no name", [](Scene& s) { joint(s, 1).name = ""; },
           "good.yaml:21: error: a joint of body 'pole' has no name"},
          {"twice", [](Scene& s) { joint(s, 1).name = "cart_joint"; },
           "joint 'cart_joint' is defined twice, on bodies 'cart' and 'pole'"},
          {"twice on one body",
           [](Scene& s) {
             s.bodies[1].joints.push_back(joint(s, 1));
             s.bodies[1].joints.back().where.line = 22;
           },
           "good.yaml:22: error: joint 'pole_joint' is defined twice on body 'pole'"},
          {"stiffness", [](Scene& s) { joint(s, 1).stiffness = -3; },
           "good.yaml:21: error: joint 'pole_joint' has stiffness -3"},
          {"stiffness inf", [](Scene& s) { joint(s, 1).stiffness = kInfinity; }, "has stiffness inf"},
          {"damping", [](Scene& s) { joint(s, 1).damping = kNan; }, "has damping nan"},
          {"friction", [](Scene& s) { joint(s, 1).dry_friction = -1; }, "has dry friction -1"},
          {"rotor", [](Scene& s) { joint(s, 1).rotor_inertia = -1; }, "has rotor inertia -1"},
          {"effort", [](Scene& s) { joint(s, 1).effort_limit = -1; }, "has effort limit -1"},
          {"reference", [](Scene& s) { joint(s, 1).reference = kNan; }, "has reference nan"},
          {"rest", [](Scene& s) { joint(s, 1).spring_reference = kInfinity; }, "has spring reference inf"},
          {"pitch", [](Scene& s) { joint(s, 1).pitch = kInfinity; }, "has pitch inf"},
          {"position", [](Scene& s) { joint(s, 1).position[0] = kNan; }, "has a position that is not finite"},
          {"zero axis", [](Scene& s) { joint(s, 1).axis.setZero(); }, "has a zero or non-finite axis"},
          {"nan axis", [](Scene& s) { joint(s, 1).axis[1] = kNan; }, "has a zero or non-finite axis"},
          {"parallel",
           [](Scene& s) {
             joint(s, 1).type = JointType::universal;
             joint(s, 1).axis = Vec3(0, 0, 2);
             joint(s, 1).axis2 = Vec3(0, 0, -1);
           },
           "has a second axis that is zero or parallel to its first"},
          {"zero second",
           [](Scene& s) {
             joint(s, 1).type = JointType::planar;
             joint(s, 1).axis2.setZero();
           },
           "has a second axis that is zero or parallel to its first"},
          {"free and more",
           [](Scene& s) {
             Joint weld;
             weld.name = "w";
             weld.type = JointType::weld;
             s.bodies[3].joints.push_back(weld);
           },
           "body 'stone' has a free joint beside other joints"},
          {"two limits",
           [](Scene& s) {
             joint(s, 1).limits = {{0, 1}, {0, 1}};
           },
           "has 2 limit ranges, but type revolute takes 1"},
          {"three limits of a ball",
           [](Scene& s) {
             joint(s, 2).limits = {{0, 1}, {0, 1}, {0, 1}};
           },
           "has 3 limit ranges, but type ball takes 1"},
          {"swapped",
           [](Scene& s) {
             joint(s, 1).limits = {{1, -1}};
           },
           "has limits [1, -1] with the lower above the upper"},
          {"limit nan",
           [](Scene& s) {
             joint(s, 1).limits = {{kNan, 1}};
           },
           "has limits [nan, 1]"},
          {"limit of a ball",
           [](Scene& s) {
             joint(s, 2).limits = {{-1, 1}};
           },
           "joint 'wrist_joint' has limits [-1, 1], but the turn of a ball joint is between 0 and pi"},
      },
      Severity::error);
}

TEST(CompileErrors, OfShapesAndMaterials) {
  expect_all(
      {
          {"no name", [](Scene& s) { s.shapes[0].name = ""; }, "a shape has no name"},
          {"twice", [](Scene& s) { s.shapes[0].name = "skin"; }, "shape 'skin' is defined twice"},
          {"body", [](Scene& s) { s.shapes[0].body = "stome"; },
           "the body of shape 'hull' is body 'stome', which does not exist"},
          {"material", [](Scene& s) { s.shapes[0].material = "rubbr"; },
           "the material of shape 'hull' is material 'rubbr', which does not exist"},
          {"sphere", [](Scene& s) { s.shapes[0].shape = Sphere{0}; }, "shape 'hull' has radius 0 m"},
          {"sphere nan", [](Scene& s) { s.shapes[0].shape = Sphere{kNan}; }, "has radius nan m"},
          {"box", [](Scene& s) { s.shapes[0].shape = Box{Vec3(1, -1, 1)}; }, "has half size -1 m"},
          {"box inf", [](Scene& s) { s.shapes[0].shape = Box{Vec3(1, kInfinity, 1)}; },
           "has half size inf m"},
          {"box nan first", [](Scene& s) { s.shapes[0].shape = Box{Vec3(kNan, 1, 1)}; },
           "has half size nan m"},
          {"box nan last", [](Scene& s) { s.shapes[0].shape = Box{Vec3(1, 1, kNan)}; },
           "has half size nan m"},
          {"capsule",
           [](Scene& s) {
             s.shapes[0].shape = Capsule{-0.1, 1};
           },
           "has radius -0.1 m"},
          {"capsule length",
           [](Scene& s) {
             s.shapes[0].shape = Capsule{0.1, kNan};
           },
           "has half length nan m"},
          {"cylinder",
           [](Scene& s) {
             s.shapes[0].shape = Cylinder{0.1, 0};
           },
           "has half length 0 m"},
          {"cylinder radius",
           [](Scene& s) {
             s.shapes[0].shape = Cylinder{0, 1};
           },
           "has radius 0 m"},
          {"ellipsoid", [](Scene& s) { s.shapes[0].shape = Ellipsoid{Vec3(1, kInfinity, 0.1)}; },
           "has radius inf m"},
          {"no mesh", [](Scene& s) { s.shapes[0].shape = ConvexMesh{null_mesh}; },
           "shape 'hull' has no mesh"},
          {"empty mesh", [](Scene& s) { s.shapes[0].shape = SurfaceMesh{std::make_shared<TriangleMesh>()}; },
           "shape 'hull' has no mesh"},
          {"mesh scaled to nothing",
           [](Scene& s) {
             auto mesh = tetrahedron();
             for (Vec3& vertex : mesh->vertices) vertex *= 1e-56;
             s.shapes[0].shape = SignedDistanceMesh{mesh};
           },
           "shape 'hull' has a mesh of size 1e-56 m"},
          {"mesh index",
           [](Scene& s) {
             auto mesh = tetrahedron();
             mesh->triangles[2][1] = 4;
             s.shapes[0].shape = SurfaceMesh{mesh};
           },
           "shape 'hull' has a triangle with vertex 4, but only 4 vertices"},
          {"mesh nan",
           [](Scene& s) {
             auto mesh = tetrahedron();
             mesh->vertices[3][1] = kNan;
             s.shapes[0].shape = ConvexMesh{mesh};
           },
           "shape 'hull' has a vertex that is not finite"},
          {"no heights",
           [](Scene& s) {
             s.shapes[0].body = "world";
             s.shapes[0].shape = HeightField{2, 2, Vec2(1, 1), 0.1, nullptr};
           },
           "shape 'hull' has 0 heights for 2 rows of 2"},
          {"few heights",
           [](Scene& s) {
             s.shapes[0].body = "world";
             s.shapes[0].shape =
                 HeightField{2, 3, Vec2(1, 1), 0.1, std::make_shared<std::vector<double>>(5, 0.0)};
           },
           "shape 'hull' has 5 heights for 2 rows of 3"},
          {"height nan",
           [](Scene& s) {
             s.shapes[0].body = "world";
             s.shapes[0].shape =
                 HeightField{2, 2, Vec2(1, 1), 0.1, std::make_shared<std::vector<double>>(4, kNan)};
           },
           "shape 'hull' has a height that is not finite"},
          {"density", [](Scene& s) { s.shapes[0].density = -1; }, "has density -1 kg/m^3"},
          {"mass", [](Scene& s) { s.shapes[0].mass = kNan; }, "shape 'hull' has mass nan kg"},
          {"margin", [](Scene& s) { s.shapes[0].margin = -0.1; }, "has margin -0.1 m"},
          {"pose", [](Scene& s) { s.shapes[0].pose.quat_wxyz.setZero(); },
           "shape 'hull' has a pose that is not finite or a zero quaternion"},
          {"material twice", [](Scene& s) { s.materials.push_back(s.materials[0]); },
           "material 'rubber' is defined twice"},
          {"k", [](Scene& s) { s.materials[0].stiffness = 0; }, "material 'rubber' has stiffness 0"},
          {"k/m", [](Scene& s) { s.materials[0].stiffness_per_kilogram = -1; },
           "has stiffness per kilogram -1"},
          {"k/m inf", [](Scene& s) { s.materials[0].stiffness_per_kilogram = kInfinity; },
           "has stiffness per kilogram inf"},
          {"d", [](Scene& s) { s.materials[0].dissipation = -1; }, "has dissipation -1"},
          {"tau", [](Scene& s) { s.materials[0].relaxation_time = kNan; }, "has relaxation time nan"},
          {"mu", [](Scene& s) { s.materials[0].friction = -0.1; }, "has friction -0.1"},
          {"v_s", [](Scene& s) { s.materials[0].stiction_tolerance = 0; }, "has stiction tolerance 0"},
          {"e", [](Scene& s) { s.materials[0].restitution = 1.1; }, "has restitution 1.1"},
          {"threshold", [](Scene& s) { s.materials[0].restitution_threshold = -1; },
           "has restitution threshold -1"},
          {"E", [](Scene& s) { s.materials[0].elastic_modulus = -1; }, "has elastic modulus -1"},
          {"rings", [](Scene& s) { s.shapes[0].patch.rings = 17; }, "shape 'hull' has 17 patch rings"},
          {"points", [](Scene& s) { s.shapes[0].patch.points = 2; }, "shape 'hull' has patches of 2 points"},
          {"thickness", [](Scene& s) { s.shapes[0].patch.thickness = 0; }, "shape 'hull' has thickness 0 m"},
          {"tensor",
           [](Scene& s) {
             s.materials[0].friction_tensor = {{0.5, -0.5, Vec3(1, 0, 0)}};
           },
           "has friction tensor entry -0.5"},
          {"tensor inf",
           [](Scene& s) {
             s.materials[0].friction_tensor = {{kInfinity, 1, Vec3(1, 0, 0)}};
           },
           "has friction tensor entry inf"},
          {"tensor direction",
           [](Scene& s) {
             s.materials[0].friction_tensor = {{1, 1, Vec3::Zero()}};
           },
           "has a friction direction that is zero or not finite"},
      },
      Severity::error);
}

TEST(CompileErrors, OfTendonsAndActuators) {
  expect_all(
      {
          {"tendon twice", [](Scene& s) { s.tendons.push_back(s.tendons[0]); },
           "tendon 'rope' is defined twice"},
          {"unknown joint", [](Scene& s) { s.tendons[0].terms[1].joint = "pool"; },
           "a joint of tendon 'rope' is joint 'pool', which does not exist"},
          {"ball", [](Scene& s) { s.tendons[0].terms[1].joint = "wrist_joint"; },
           "tendon 'rope' runs over ball joint 'wrist_joint', which has several dofs"},
          {"coefficient", [](Scene& s) { s.tendons[0].terms[1].coefficient = kNan; },
           "has a coefficient that is not finite"},
          {"empty", [](Scene& s) { s.tendons[0].terms.clear(); }, "tendon 'rope' has no joint"},
          {"stiffness", [](Scene& s) { s.tendons[0].stiffness = -1; },
           "tendon 'rope' has a stiffness, damping, friction or rotor inertia of -1"},
          {"damping", [](Scene& s) { s.tendons[0].damping = kInfinity; }, "rotor inertia of inf"},
          {"rotor",
           [](Scene& s) {
             s.tendons[0].terms.pop_back();
             s.tendons[0].rotor_inertia = -5;
           },
           "tendon 'rope' has a stiffness, damping, friction or rotor inertia of -5"},
          {"rest",
           [](Scene& s) {
             s.tendons[0].spring_rest = {1, 0};
           },
           "tendon 'rope' has a range [1, 0] with the lower above the upper"},
          {"limits",
           [](Scene& s) {
             s.tendons[0].limits = Range{2, kNan};
           },
           "tendon 'rope' has a range [2, nan]"},
          {"actuator twice", [](Scene& s) { s.actuators.push_back(s.actuators[0]); },
           "actuator 'motor' is defined twice"},
          {"neither", [](Scene& s) { s.actuators[0].joint = ""; },
           "actuator 'motor' must act on exactly one of a joint, a tendon and a site"},
          {"both", [](Scene& s) { s.actuators[0].tendon = "rope"; }, "must act on exactly one of"},
          {"joint", [](Scene& s) { s.actuators[0].joint = "rail"; },
           "the joint of actuator 'motor' is joint 'rail', which does not exist"},
          {"tendon",
           [](Scene& s) {
             s.actuators[0].joint = "";
             s.actuators[0].tendon = "rop";
           },
           "the tendon of actuator 'motor' is tendon 'rop', which does not exist"},
          {"gain", [](Scene& s) { s.actuators[0].gain = kNan; }, "has a number that is not finite"},
          {"gear", [](Scene& s) { s.actuators[0].gear[0] = kInfinity; }, "has a number that is not finite"},
          {"bias", [](Scene& s) { s.actuators[0].bias[2] = kNan; }, "has a number that is not finite"},
          {"control", [](Scene& s) { s.actuators[0].control = kNan; }, "has a number that is not finite"},
          {"range",
           [](Scene& s) {
             s.actuators[0].force_range = {5, -5};
           },
           "actuator 'motor' has a range [5, -5] with the lower above the upper"},
          {"range nan",
           [](Scene& s) {
             s.actuators[0].control_range = {kNan, 5};
           },
           "has a range [nan, 5]"},
      },
      Severity::error);
}

TEST(CompileErrors, OfConstraintsFiltersSitesAndKeyframes) {
  expect_all(
      {
          {"body", [](Scene& s) { s.constraints[0].body_a = "rist"; },
           "the first body of constraint 'pin' is body 'rist', which does not exist"},
          {"itself", [](Scene& s) { s.constraints[0].body_b = "wrist"; },
           "constraint 'pin' ties body 'wrist' to itself"},
          {"stiffness", [](Scene& s) { s.constraints[0].stiffness = kNan; },
           "constraint 'pin' has stiffness nan"},
          {"distance",
           [](Scene& s) {
             s.constraints[0].type = ConstraintType::distance;
             s.constraints[0].distance = -1;
           },
           "constraint 'pin' has distance -1 m"},
          {"distance inf",
           [](Scene& s) {
             s.constraints[0].type = ConstraintType::distance;
             s.constraints[0].distance = kInfinity;
           },
           "constraint 'pin' has distance inf m"},
          {"pose",
           [](Scene& s) {
             s.constraints[0].pose_a = Pose{Vec3(kNan, 0, 0), Vec4(1, 0, 0, 0)};
           },
           "constraint 'pin' has a pose that is not finite or a zero quaternion"},
          {"relaxation", [](Scene& s) { s.constraints[0].relaxation_time = kNan; },
           "constraint 'pin' has relaxation time nan"},
          {"joint", [](Scene& s) { s.constraints[1].joint_a = "a"; },
           "the first joint of constraint 'mimic' is joint 'a', which does not exist"},
          {"second joint", [](Scene& s) { s.constraints[1].joint_b = "b"; },
           "the second joint of constraint 'mimic' is joint 'b', which does not exist"},
          {"several dofs", [](Scene& s) { s.constraints[1].joint_b = "wrist_joint"; },
           "couples joint 'wrist_joint', which has several dofs"},
          {"same joint", [](Scene& s) { s.constraints[1].joint_b = "cart_joint"; },
           "couples joint 'cart_joint' to itself"},
          {"polynomial", [](Scene& s) { s.constraints[1].polynomial[2] = kNan; },
           "constraint 'mimic' has a coefficient that is not finite"},
          {"exclude", [](Scene& s) { s.excludes[0].body_a = "p"; },
           "the first body of an exclusion is body 'p', which does not exist"},
          {"exclude b", [](Scene& s) { s.excludes[0].body_b = "p"; },
           "the second body of an exclusion is body 'p', which does not exist"},
          {"pair", [](Scene& s) { s.pairs[0].a = "ice"; },
           "the first of a pair is material 'ice', which does not exist"},
          {"pair of shapes",
           [](Scene& s) {
             s.pairs[0].kind = PairOverride::Kind::shapes;
             s.pairs[0].a = "hull";
             s.pairs[0].b = "rubber";
           },
           "the second of a pair is shape 'rubber', which does not exist"},
          {"pair mu", [](Scene& s) { s.pairs[0].friction = -1; }, "a pair has friction -1"},
          {"pair k", [](Scene& s) { s.pairs[0].stiffness = 0; }, "a pair has stiffness 0"},
          {"pair d", [](Scene& s) { s.pairs[0].dissipation = kNan; }, "a pair has dissipation nan"},
          {"pair tau", [](Scene& s) { s.pairs[0].relaxation_time = kInfinity; },
           "a pair has relaxation time inf"},
          {"pair e", [](Scene& s) { s.pairs[0].restitution = 2; }, "a pair has restitution 2"},
          {"pair margin", [](Scene& s) { s.pairs[0].margin = -1; }, "a pair has margin -1"},
          {"site", [](Scene& s) { s.sites[0].body = "pol"; },
           "the body of site 'tip' is body 'pol', which does not exist"},
          {"site twice", [](Scene& s) { s.sites.push_back(s.sites[0]); }, "site 'tip' is defined twice"},
          {"site pose", [](Scene& s) { s.sites[0].pose.quat_wxyz.setZero(); },
           "site 'tip' has a pose that is not finite or a zero quaternion"},
          {"key twice", [](Scene& s) { s.keyframes.push_back(s.keyframes[0]); },
           "keyframe 'home' is defined twice"},
          {"key joint", [](Scene& s) { s.keyframes[0].q["x"] = {1}; },
           "a joint of keyframe 'home' is joint 'x', which does not exist"},
          {"key count",
           [](Scene& s) {
             s.keyframes[0].q["pole_joint"] = {1, 2};
           },
           "keyframe 'home' gives 2 numbers for the position of revolute joint 'pole_joint', which has 1"},
          {"key velocity count",
           [](Scene& s) {
             s.keyframes[0].v["wrist_joint"] = {1, 2, 3, 4};
           },
           "gives 4 numbers for the velocity of ball joint 'wrist_joint', which has 3"},
          {"key nan", [](Scene& s) { s.keyframes[0].q["pole_joint"] = {kNan}; },
           "keyframe 'home' has a value for joint 'pole_joint' that is not finite"},
          {"key quaternion",
           [](Scene& s) {
             s.keyframes[0].q["wrist_joint"] = {0, 0, 0, 0};
           },
           "has a zero quaternion for joint 'wrist_joint'"},
          {"key actuator", [](Scene& s) { s.keyframes[0].control["x"] = 1; },
           "an actuator of keyframe 'home' is actuator 'x', which does not exist"},
          {"key control", [](Scene& s) { s.keyframes[0].control["motor"] = kNan; },
           "keyframe 'home' has a control for actuator 'motor' that is not finite"},
          {"key time", [](Scene& s) { s.keyframes[0].time = kNan; }, "keyframe 'home' is at time nan s"},
          {"start", [](Scene& s) { s.initial.q["x"] = {1}; },
           "a joint of the initial state is joint 'x', which does not exist"},
      },
      Severity::error);
}

TEST(CompileErrors, Warnings) {
  expect_all(
      {
          {"plane", [](Scene& s) { s.shapes[0].shape = HalfSpace{}; },
           "shape 'hull' is a half_space on a moving body"},
          {"energy", [](Scene& s) { s.actuators[0].bias[1] = 1; }, "it feeds energy in"},
          {"position bias on a free joint",
           [](Scene& s) {
             s.actuators[0].joint = "stone_joint";
             s.actuators[0].bias[1] = -1;
           },
           "actuator 'motor' has a position bias on a free joint, which has no length: it is left out"},
          {"tendon rotor", [](Scene& s) { s.tendons[0].rotor_inertia = 1; },
           "tendon 'rope' has a rotor inertia over several joints or sites, which is not simulated"},
          {"moving surface", [](Scene& s) { s.shapes[0].shape = SurfaceMesh{tetrahedron()}; },
           "shape 'hull' is a surface mesh on a moving body: it does not collide with other surface meshes"},
          {"inverted mesh",
           [](Scene& s) {
             auto mesh = tetrahedron();
             for (auto& t : mesh->triangles) std::swap(t[0], t[1]);
             s.shapes[0].shape = ConvexMesh{mesh};
           },
           "shape 'hull' adds no mass to body 'stone': its mesh encloses no volume"},
      },
      Severity::warning);
}

TEST(CompileErrors, BalanceInertiaRepairsAndTells) {
  Scene scene = good();
  scene.options.balance_inertia = true;
  scene.bodies[1].inertia->about_com = Vec3(3, 1, 1).asDiagonal();
  Diagnostics d;
  const Model model = compile(scene, &d);
  EXPECT_TRUE(d.ok());
  EXPECT_NE(d.text().find("its moments were replaced by their mean 1.66667 kg m^2"), std::string::npos);
  EXPECT_NEAR(model.links[2].inertia(0, 0), 5.0 / 3, 1e-15);
  scene.bodies[1].inertia->mass = -1;  // nothing to balance
  EXPECT_THROW(compile(scene), InputError);
}

TEST(CompileErrors, AreAllToldAtOnceWithoutFollowUps) {
  Scene scene = good();
  scene.options.dt = -1;
  scene.bodies[3].inertia = Inertia{-1, Vec3::Zero(), Mat3::Identity()};
  scene.shapes[1].material = "x";
  scene.actuators[0].joint = "x";
  scene.keyframes[0].q["x"] = {1};
  Diagnostics d;
  compile(scene, &d);
  EXPECT_EQ(d.num_errors(), 5) << d.text();
}

// Also where that is not the order of the tree: c comes after b, but hangs on a.
TEST(CompileErrors, OfMassComeInTheOrderOfTheFile) {
  Scene scene;
  for (const char* name : {"a", "b", "c"}) {
    Body body;
    body.name = name;
    if (body.name == "c") body.parent = "a";
    body.joints.resize(1);
    body.joints[0].name = name;
    body.joints[0].type = JointType::revolute;
    scene.bodies.push_back(body);
  }
  Diagnostics d;
  compile(scene, &d);
  std::vector<std::size_t> places;
  for (const char* name : {"a", "b", "c"})
    places.push_back(d.text().find("body '" + std::string(name) + "' moves"));
  EXPECT_LT(places[0], places[1]) << d.text();
  EXPECT_LT(places[1], places[2]) << d.text();
  EXPECT_NE(places[2], std::string::npos) << d.text();
}

// A chain of n dofs has n^2/2 numbers in its mass matrix: refused before memory runs out.
TEST(CompileErrors, AChainTooLongForMemoryIsRefused) {
  Scene scene;
  std::string parent = kWorld;
  for (int i = 0; i < 20'000; ++i) {
    Body body;
    body.name = "b" + std::to_string(i);
    body.parent = parent;
    body.inertia = Inertia{1, Vec3(0, 0, 0.1), 0.01 * Mat3::Identity()};
    Joint joint;
    joint.name = "j" + std::to_string(i);
    body.joints.push_back(joint);
    scene.bodies.push_back(body);
    parent = body.name;
  }
  Diagnostics d;
  compile(scene, &d);
  EXPECT_NE(d.text().find("the mass matrix would have"), std::string::npos) << d.text().substr(0, 300);
}

}  // namespace
}  // namespace capstan::compile_errors_test
