// A scene that is written is the scene that is read: the same model, to the bit. Recordings live by it.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "capstan/io/read.h"
#include "capstan/io/write_yaml.h"
#include "capstan/math/rotation.h"
#include "capstan/model/model.h"
#include "capstan/state/state.h"
#include "tests/support/complaints.h"
#include "tests/support/random_scene.h"

namespace capstan::round_trip_test {
namespace {

using test::Random;
using test::uniform;

Scene read_back(const std::string& text) {
  Diagnostics diagnostics;
  Scene scene = read_yaml_text(text, {}, &diagnostics);
  EXPECT_EQ(complaints(diagnostics), "") << text;
  return scene;
}

void expect_same_model(const Scene& scene) {
  const std::string text = write_yaml(scene);
  SCOPED_TRACE(text);
  const Scene again = read_back(text);
  EXPECT_EQ(write_yaml(again), text);
  Diagnostics diagnostics;
  const Model model = compile(scene, &diagnostics), model_again = compile(again, &diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(model_again.fingerprint, model.fingerprint);
  EXPECT_EQ(hash(initial_state(model_again)), hash(initial_state(model)));
}

// A file of this content, as the reader of its kind reads it.
Scene read_as(const std::string& extension, const std::string& text) {
  const std::string path = testing::TempDir() + "/capstan_round_trip." + extension;
  std::ofstream(path, std::ios::binary) << text;
  Diagnostics diagnostics;
  Scene scene = read_scene(path, &diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  return scene;
}

Scene mjcf(const std::string& inside) {
  return read_as("xml", "<mujoco>" + inside + "</mujoco>");
}

TEST(RoundTrip, ASlideJointWithAPosition) {
  expect_same_model(mjcf(R"(<worldbody><body><joint name="x" type="slide" pos="1 2 3" axis="1 0 0"/>
    <geom size=".1"/></body></worldbody>)"));
}

TEST(RoundTrip, AnAxisWithAMinusBeforeItsZero) {
  const Scene scene = read_as("yaml", R"(capstan: 1
bodies:
  - {name: b, position: [-0.0, 0, 1], joint: {type: revolute, position: [0, 0, -0.0], axis: [0, -0.0, 1]},
     shape: {type: sphere, radius: 0.1, position: [0, -0.0, 0]}}
)");
  ASSERT_TRUE(std::signbit(scene.bodies.at(0).joints.at(0).axis[1]));
  expect_same_model(scene);
  EXPECT_TRUE(std::signbit(read_back(write_yaml(scene)).bodies.at(0).joints.at(0).axis[1]));
}

TEST(RoundTrip, AColorBeyondWhiteIsDrawnAsWhiteWithAWarning) {
  const Scene scene =
      mjcf(R"(<worldbody><body><freejoint/><geom name="g" size=".1" rgba="2 -1 .5 1"/></body></worldbody>)");
  expect_same_model(scene);
  Diagnostics diagnostics;
  const Model model = compile(scene, &diagnostics);
  EXPECT_EQ(model.shapes.at(0).rgba, (std::array<float, 4>{1, 0, 0.5f, 1}));
  EXPECT_NE(diagnostics.text().find("warning: shape 'g' has color [2, -1, 0.5, 1], drawn as [1, 0, 0.5, 1]"),
            std::string::npos)
      << diagnostics.text();
}

TEST(RoundTrip, ATendonThatNamesAJointTwice) {
  const Scene scene = mjcf(R"(<worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
    <joint name="y" type="slide" axis="0 1 0"/><geom size=".1"/></body></worldbody>
    <tendon><fixed name="t"><joint joint="x" coef="1.1"/><joint joint="y" coef="3"/>
    <joint joint="x" coef="2.2"/></fixed></tendon>)");
  expect_same_model(scene);
  const Model model = compile(scene);
  const auto& terms = model.tendons.at(0).transmission.terms;
  ASSERT_EQ(terms.size(), 2u);
  EXPECT_EQ(terms[0].coefficient, 1.1 + 2.2);
  EXPECT_EQ(terms[1].coefficient, 3);
}

TEST(RoundTrip, AnInertiaThatWasTurned) {
  expect_same_model(read_as("urdf", R"(<robot name="r"><link name="world"/><link name="a"><inertial>
    <origin rpy="0.3 0.7 -1.1" xyz="0.1 0.2 0.3"/><mass value="1.3"/>
    <inertia ixx="0.3" iyy="0.37" izz="0.41" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial></link>
    <joint name="j" type="continuous"><parent link="world"/><child link="a"/><axis xyz="0 0 1"/>
    <origin rpy="0.1 0.2 0.3"/></joint></robot>)"));
}

// As readers make them of angles and of frames within frames.
TEST(RoundTrip, RotationsThatAreUnitToRounding) {
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    Scene scene = test::random_scene(random, 1);
    Vec4& quat = scene.bodies[0].pose.quat_wxyz;
    for (int k = 0; k < 8; ++k) quat = quat_multiply(quat, test::random_quat(random));
    expect_same_model(scene);
    if (HasFailure()) return;
  }
}

TEST(RoundTrip, MomentumThatIsNotConserved) {
  Scene scene;
  scene.options.conserve_momentum = false;
  EXPECT_FALSE(read_back(write_yaml(scene)).options.conserve_momentum);
}

// --- Random scenes ---------------------------------------------------------------------------------------

// Mostly plain, sometimes a number that formats and comparisons trip over.
double awkward(Random& random, double size) {
  switch (std::uniform_int_distribution<int>(0, 9)(random)) {
    case 0:
      return -0.0;
    case 1:
      return 0;
    case 2:
      return 5e-324;
    case 3:
      return size / 3;
    default:
      return uniform(random, -size, size);
  }
}
double awkward_positive(Random& random, double size) {
  return uniform(random, 0, 1) < 0.1 ? size * 1e-300 : uniform(random, 0.01 * size, size);
}
Vec3 awkward_vector(Random& random, double size) {
  const double x = awkward(random, size), y = awkward(random, size), z = awkward(random, size);
  return {x, y, z};
}
std::string awkward_name(Random& random, const std::string& plain) {
  const char* odd[] = {"yes",       "_1",         "~", "a b", "\"q\" \\", "a: b", "#c",
                       "tab\there", "two\nlines", "ü", "- x", "{}",       "\x7f", "null"};
  const int kind = std::uniform_int_distribution<int>(0, 39)(random);
  return kind < 14 ? plain + odd[kind] : plain;
}
bool maybe(Random& random) {
  return uniform(random, 0, 1) < 0.5;
}

Shape random_shape(Random& random) {
  const auto size = [&] { return uniform(random, 0.01, 1); };
  switch (std::uniform_int_distribution<int>(0, 5)(random)) {
    case 0:
      return Sphere{size()};
    case 1:
      return Box{Vec3(size(), size(), size())};
    case 2:
      return Capsule{size(), size()};
    case 3:
      return Cylinder{size(), size()};
    case 4:
      return Ellipsoid{Vec3(size(), size(), size())};
    default: {
      HeightField field;
      field.rows = 2, field.columns = 3;
      field.half_size = {size(), size()};
      field.base = size();
      std::vector<double> heights;
      for (int i = 0; i < 6; ++i) heights.push_back(awkward(random, 0.3));
      field.height = std::make_shared<const std::vector<double>>(heights);
      return field;
    }
  }
}

Scene decorated_scene(Random& random) {
  Scene scene = test::random_scene(random, std::uniform_int_distribution<int>(1, 8)(random));
  scene.name = awkward_name(random, "");
  scene.options.gravity = awkward_vector(random, 10);
  std::vector<std::string> scalar;
  for (Body& body : scene.bodies) {
    body.pose.position = awkward_vector(random, 1);
    body.gravity_compensated = maybe(random);
    for (Joint& joint : body.joints) {
      joint.name = awkward_name(random, joint.name);
      joint.position = awkward_vector(random, 0.2);
      if (maybe(random)) joint.axis = Vec3(maybe(random) ? 0.0 : -0.0, maybe(random) ? 0.0 : -0.0, 1);
      if (maybe(random)) joint.axis2 = Vec3(1, maybe(random) ? 0.0 : -0.0, maybe(random) ? 0.0 : -0.0);
      joint.spring_reference = awkward(random, 1);
      joint.pitch = awkward(random, 0.1);
      joint.dry_friction = awkward_positive(random, 1);
      if (num_velocities(joint.type) != 1) continue;
      scalar.push_back(joint.name);
      if (maybe(random)) joint.limits = {{-awkward_positive(random, 1), awkward_positive(random, 1)}};
      if (maybe(random)) joint.effort_limit = awkward_positive(random, 10);
      if (maybe(random)) scene.initial.q[joint.name] = {awkward(random, 1)};
      if (maybe(random)) scene.initial.v[joint.name] = {awkward(random, 1)};
    }
  }
  for (int i = 0; i < 2; ++i) {
    Material m;
    m.name = awkward_name(random, "m" + std::to_string(i));
    if (maybe(random)) m.stiffness = maybe(random) ? kInfinity : awkward_positive(random, 1e6);
    m.stiffness_per_kilogram = maybe(random) ? 0 : awkward_positive(random, 1e4);
    m.relaxation_time = maybe(random) ? uniform(random, -3, 0) : awkward_positive(random, 1);
    m.friction = awkward_positive(random, 1);
    if (maybe(random)) m.friction_tensor = FrictionTensor{0.1, 0.7, Vec3(1, -0.0, awkward(random, 1))};
    scene.materials.push_back(m);
  }
  for (int i = 0; i < 6; ++i) {
    ShapeInstance shape;
    shape.name = awkward_name(random, "s" + std::to_string(i));
    if (maybe(random)) shape.body = scene.bodies[i % scene.bodies.size()].name;
    shape.shape = random_shape(random);
    shape.pose = {awkward_vector(random, 1), test::random_quat(random)};
    shape.material = maybe(random) ? "default" : scene.materials[i % 2].name;
    if (maybe(random)) shape.mass = awkward_positive(random, 3);
    shape.density = awkward_positive(random, 2000);
    shape.margin = awkward_positive(random, 0.1);
    shape.group_bits = std::uniform_int_distribution<unsigned>(0, 0xffffffffu)(random);
    shape.collides = maybe(random);
    shape.has_mass = maybe(random);
    shape.surface_velocity = awkward_vector(random, 1);
    for (float& c : shape.rgba) c = static_cast<float>(awkward(random, 3));
    scene.shapes.push_back(shape);
  }
  for (int i = 0; i < 2 && !scalar.empty(); ++i) {
    Tendon tendon;
    tendon.name = awkward_name(random, "t" + std::to_string(i));
    for (int k = 0; k < 3; ++k) {
      tendon.terms.push_back({scalar[(i + 2 * k) % scalar.size()], awkward(random, 2)});
    }
    tendon.stiffness = awkward_positive(random, 1);
    tendon.spring_rest = {-1, awkward_positive(random, 1)};
    scene.tendons.push_back(tendon);
    Actuator actuator;
    actuator.name = awkward_name(random, "a" + std::to_string(i));
    if (maybe(random)) {
      actuator.tendon = tendon.name;
    } else {
      actuator.joint = scalar[0];
    }
    actuator.gain = maybe(random) ? 1 : awkward(random, 5);
    actuator.bias = maybe(random) ? Vec3(-0.0, -actuator.gain, -0.0) : awkward_vector(random, 1);
    actuator.gear[0] = awkward(random, 2);
    actuator.gear[2] = maybe(random) ? -0.0 : 1;
    actuator.control = awkward(random, 1);
    if (maybe(random)) actuator.force_range = {-kInfinity, awkward(random, 1)};
    scene.actuators.push_back(actuator);
  }
  if (scene.bodies.size() > 1) {
    Constraint c;
    c.name = awkward_name(random, "c");
    c.type = maybe(random) ? ConstraintType::weld : ConstraintType::distance;
    c.body_a = scene.bodies[0].name;
    c.body_b = scene.bodies[1].name;
    c.distance = awkward_positive(random, 1);
    c.relaxation_time = maybe(random) ? uniform(random, -3, 0) : awkward_positive(random, 1);
    if (maybe(random)) c.pose_a = Pose{awkward_vector(random, 1), test::random_quat(random)};
    if (maybe(random)) c.pose_b = Pose{awkward_vector(random, 1), Vec4(1, -0.0, 0, 0)};
    if (maybe(random)) c.soft = SoftReference{{awkward_positive(random, 1), 1}, {0.5, 0.9, 0.01, 0.5, 2}};
    c.active = maybe(random);
    scene.constraints.push_back(c);
  }
  return scene;
}

TEST(RoundTrip, RandomScenes) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Scene scene = decorated_scene(random);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_model(scene);
    if (HasFailure()) return;  // one is enough
  }
}

}  // namespace
}  // namespace capstan::round_trip_test
