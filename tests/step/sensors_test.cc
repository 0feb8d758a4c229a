// Sensors against MuJoCo 4.0 at one state with its accelerations, and at rest with arithmetic.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "capstan/io/read.h"
#include "capstan/step/sensors.h"

namespace capstan::sensors_test {
namespace {

std::map<std::string, std::vector<double>> read_all(const Model& model, const Scene& scene,
                                                    const State& state, const Workspace* workspace = nullptr,
                                                    const Input* input = nullptr) {
  Diagnostics diagnostics;
  const SensorSet set = make_sensors(model, scene, scene.sensors, &diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  VecX values;
  read_sensors(model, set, state, workspace, input, &values);
  EXPECT_EQ(values.size(), set.size);
  EXPECT_EQ(set.columns().size(), static_cast<std::size_t>(set.size));
  std::map<std::string, std::vector<double>> result;
  for (const SensorSet::Entry& e : set.entries)
    result[e.name].assign(values.data() + e.begin, values.data() + e.begin + e.size);
  return result;
}

TEST(Sensors, AgreeWithMujoco) {
  const std::string path = testing::TempDir() + "/capstan_sensors.xml";
  std::ofstream(path) << R"(<mujoco><compiler angle="radian"/><worldbody>
<body name="a" pos="0 0 1"><joint name="h" axis="0 1 0"/><geom type="box" size=".25 .03 .03" pos=".25 0 0" mass="1"/>
<body name="b" pos=".5 0 0"><joint name="k" axis="1 0 0"/><geom type="box" size=".02 .2 .02" pos="0 .2 0" mass=".4"/>
<body name="c" pos="0 .4 0" quat="1 0 1 0"><geom type="box" size=".05 .05 .05" mass=".3"/>
<site name="s" pos=".01 .02 .03" quat="1 .2 .3 .4"/></body></body></body></worldbody>
<actuator><motor name="m" joint="k" gear="2"/></actuator>
<sensor><jointpos name="jp" joint="h"/><jointvel name="jv" joint="k"/><actuatorpos name="ap" actuator="m"/>
<actuatorvel name="av" actuator="m"/><actuatorfrc name="af" actuator="m"/><framepos name="fp" objtype="site" objname="s"/>
<framequat name="fq" objtype="site" objname="s"/><framelinvel name="fv" objtype="site" objname="s"/>
<frameangvel name="fw" objtype="xbody" objname="b"/><velocimeter name="vm" site="s"/><gyro name="gy" site="s"/>
<accelerometer name="ac" site="s"/><force name="fo" site="s"/><torque name="to" site="s"/><subtreecom name="sc" body="b"/>
<clock name="cl"/></sensor></mujoco>)";
  const Scene scene = read_scene(path);
  const Model model = compile(scene);
  State state = initial_state(model);
  state.q << .3, -.5;
  state.v << 1.2, -.7;
  state.control << .5;
  state.a = VecX(2);
  state.a << 27.018729978536843, 24.09941973029529;  // MuJoCo's qacc there
  state.time = 0.25;
  const std::map<std::string, std::vector<double>> expected = {
      {"jp", {.3}},
      {"jv", {-.7}},
      {"ap", {-1}},
      {"av", {-1.4}},
      {"af", {.5}},
      {"fp", {0.44422933305229284, 0.36379042060791444, 0.6426250854776854}},
      {"fv", {-0.5041050916224041, -0.14709418628286824, -0.7763547839035161}},
      {"fw", {-0.6687355423879241, 1.2, 0.20686414466293768}},
      {"vm", {0.820329532489875, -0.3687567521723372, 0.26374857228045556}},
      {"gy", {0.6374850680078965, 0.6825344306976335, -1.0284743744883598}},
      {"ac", {1.3026456409920943, -0.18699963359514482, -11.790226269706231}},
      {"fo", {0.16654081912058305, -0.06646582717845134, -3.41571084313916}},
      {"to", {0.07815537648322052, -0.021616908389681697, 0.008716525340802868}},
      {"sc", {0.43718826334936356, 0.2507378748258207, 0.7213791221415325}},
      {"cl", {.25}},
  };
  auto values = read_all(model, scene, state);
  for (const auto& [name, numbers] : expected) {
    ASSERT_EQ(values[name].size(), numbers.size()) << name;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_NEAR(values[name][i], numbers[i], 1e-9) << name << " " << i;
  }
  const Vec4 quat(0.38709946869657436, 0.2393648398212606, 0.8827492225066553, -0.11667169732230329);
  EXPECT_NEAR(std::abs(quat.dot(Eigen::Map<const Vec4>(values["fq"].data()))), 1, 1e-12);
}

// The name of a soft body or of a rod stands for all of it.
TEST(Sensors, OfAllOfASoftBodyAndARod) {
  Diagnostics diagnostics;
  const Scene scene = read_yaml_text(R"(capstan: 1
options: {dt: 0.005}
shapes: [{name: floor, type: plane}]
soft_bodies:
  - {name: gel, box: {size: [0.1, 0.1, 0.1], cells: [2, 2, 2]}, position: [0.5, 0, 0.05], young_modulus: 1e5,
     density: 1000, damping: {beta: 0.02}}
rods:
  - {name: rope, line: {from: [0, 0.5, 0.005], to: [0.3, 0.5, 0.005]}, edges: 8, diameter: 0.01, young_modulus: 1e6,
     density: 1000}
sensors:
  - {name: under_gel, type: contact_force, shape: floor, other_body: gel}
  - {name: gel, type: touch, body: gel}
  - {name: rope, type: touch, body: rope}
  - {name: rope_and_gel, type: touch, body: rope, other_body: gel}
  - {name: all, type: touch, body: world}
)",
                                     {}, &diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < 400; ++i) step(model, step_options(model), {}, &state, &workspace);
  auto values = read_all(model, scene, state, &workspace);
  const double gel = 9.81, rope = 1000 * 9.81 * M_PI * 0.005 * 0.005 * 0.3;
  EXPECT_NEAR(values["under_gel"][2], -gel, 1e-3 * gel);
  EXPECT_NEAR(values["gel"][0], gel, 1e-3 * gel);
  EXPECT_NEAR(values["rope"][0], rope, 1e-3 * rope);
  EXPECT_EQ(values["rope_and_gel"][0], 0);
  EXPECT_NEAR(values["all"][0], gel + rope, 1e-3 * gel);
}

// A box of 2 kg at rest on the ground, with a 1 kg block welded on top of it: g up, the block's weight in
// between, the whole weight in contact.
TEST(Sensors, AtRest) {
  const std::string path = testing::TempDir() + "/capstan_sensors.yaml";
  std::ofstream(path) << R"(capstan: 1
bodies:
  - name: box
    position: [0, 0, 0.05]
    joint: free
    shape: {type: box, size: [0.1, 0.1, 0.1], mass: 2}
    children:
      - {name: top, position: [0, 0, 0.1], shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
shapes: [{type: plane}]
sensors:
  - {type: accelerometer, body: box}
  - {name: weight, type: force, body: top}
  - {type: touch, body: box}
  - {type: subtree_com, body: box}
  - {type: subtree_momentum, body: box}
  - {type: joint_position, joint: box}
  - {type: clock}
)";
  const Scene scene = read_scene(path);
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < 400; ++i) step(model, step_options(model), {}, &state, &workspace);
  auto values = read_all(model, scene, state, &workspace);
  EXPECT_NEAR(values["box.accelerometer"][2], 9.81, 1e-4);
  EXPECT_NEAR(values["weight"][2], 9.81, 1e-4);
  EXPECT_NEAR(values["box.touch"][0], 3 * 9.81, 1e-3);
  EXPECT_NEAR(values["box.subtree_com"][2], 0.05 + 0.1 / 3, 1e-3);
  EXPECT_NEAR(values["box.subtree_momentum"][2], 0, 1e-4);
  EXPECT_EQ(values["box.joint_position"].size(), 7u);
  EXPECT_NEAR(values["clock"][0], 2, 1e-9);
}

Scene scene_of(const std::string& text) {
  const std::string path = testing::TempDir() + "/capstan_sensors_scene.yaml";
  std::ofstream(path) << "capstan: 1\n" << text;
  return read_scene(path);
}

// A mass of 2 kg turns at w = 3 rad/s on an arm of r = 0.5 m. At its end sits a frame whose x looks along the
// motion and whose y looks to the centre: w r = 1.5 m/s along x, w^2 r = 4.5 m/s^2 along y, and a pull of 9
// N.
TEST(Sensors, TurningArm) {
  const Scene scene = scene_of(R"(options: {gravity: [0, 0, 0], dt: 0.001, integrator: midpoint}
bodies:
  - name: arm
    joint: {type: revolute, axis: [0, 0, 1], initial_velocity: 3}
    inertia: {mass: 1, moments: [0.1, 0.1, 0.1]}
    children:
      - {name: end, position: [0.5, 0, 0], inertia: {mass: 2, moments: [0.1, 0.1, 0.1]}}
sites: [{name: s, body: end, rpy_deg: [0, 0, 90]}]
sensors:
  - {type: velocimeter, site: s}
  - {type: gyro, site: s}
  - {type: accelerometer, site: s}
  - {type: force, site: s}
  - {type: torque, site: s}
  - {type: frame_velocity, site: s}
  - {type: subtree_momentum, body: arm}
)");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < 250; ++i) step(model, step_options(model), {}, &state, &workspace);
  auto values = read_all(model, scene, state, &workspace);
  const auto expect = [&](const std::string& name, const Vec3& expected) {
    const Vec3 value = Vec3::Map(values[name].data());
    EXPECT_NEAR((value - expected).norm(), 0, 1e-9) << name << ": " << value.transpose();
  };
  expect("s.velocimeter", {1.5, 0, 0});
  expect("s.gyro", {0, 0, 3});
  expect("s.accelerometer", {0, 4.5, 0});
  expect("s.force", {0, 9, 0});
  expect("s.torque", {0, 0, 0});
  const double angle = 3 * 0.25;
  expect("s.frame_velocity", {-1.5 * std::sin(angle), 1.5 * std::cos(angle), 0});
  expect("arm.subtree_momentum", {-3 * std::sin(angle), 3 * std::cos(angle), 0});
}

// A body of 3 kg on a vertical slide stands on a leg of 1 kg: the body's weight goes through the leg. A push
// of 7 N at the leg's end, which cannot slip sideways, is borne by the slide, with its torque.
TEST(Sensors, ForceThroughALeg) {
  const Scene scene = scene_of(R"(options: {tolerance: 1.0e-9}
bodies:
  - name: body
    position: [0, 0, 1.05]
    joint: {type: prismatic, axis: [0, 0, 1]}
    inertia: {mass: 3, moments: [0.1, 0.1, 0.1]}
    children:
      - name: leg
        position: [0, 0, -1]
        shape: {type: sphere, radius: 0.05, mass: 1}
shapes: [{type: plane}]
sensors:
  - {type: force, body: leg}
  - {type: force, body: body}
  - {type: torque, body: body}
  - {type: touch, body: leg}
  - {type: touch, body: body}
)");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  Input input;
  input.body_forces.push_back({model.find_body("leg"), Vec3(0, 0, 0.05), Vec3(7, 0, 0), Vec3::Zero()});
  for (int i = 0; i < 2000; ++i) step(model, step_options(model), input, &state, &workspace);
  auto values = read_all(model, scene, state, &workspace, &input);
  EXPECT_NEAR(values["leg.touch"][0], 4 * 9.81, 1e-5);
  EXPECT_EQ(values["body.touch"][0], 0);
  EXPECT_NEAR(values["leg.force"][2], -3 * 9.81, 1e-5);
  EXPECT_NEAR(values["body.force"][2], 0, 1e-5);  // the slide bears nothing along itself
  EXPECT_NEAR(values["leg.force"][0], -7, 1e-9);
  EXPECT_NEAR(values["body.force"][0], -7, 1e-9);
  EXPECT_NEAR(values["body.torque"][1], 7, 1e-3);  // 7 N, 1 m below
}

// Half of the weight of two bodies of 1 kg each is taken away: the wrist feels the other half.
TEST(Sensors, WeightlessBodies) {
  const Scene scene = scene_of(R"(bodies:
  - name: hand
    joint: {type: prismatic, axis: [0, 0, 1], stiffness: 1000, damping: 100}
    inertia: {mass: 1, moments: [0.1, 0.1, 0.1]}
    gravity_compensated: true
    children:
      - {name: load, inertia: {mass: 1, moments: [0.1, 0.1, 0.1]}}
sensors: [{type: force, body: hand}]
)");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < 1000; ++i) step(model, step_options(model), {}, &state, &workspace);
  EXPECT_NEAR(state.q[0], -9.81 / 1000, 1e-9);
  EXPECT_NEAR(read_all(model, scene, state, &workspace)["hand.force"][2], 9.81, 1e-6);
}

// Two boxes, 2 kg on 3 kg, on the ground; a wall 4 m away in the middle of whose way a shape of the sensor's
// own body stands.
TEST(Sensors, RangesFieldsAndPairs) {
  const Scene scene = scene_of(R"(options: {magnetic_field: [0.3, -0.4, 0.5]}
bodies:
  - name: low
    position: [0, 0, 0.1]
    joint: free
    shapes:
      - {name: low_box, type: box, size: [0.2, 0.2, 0.2], mass: 3}
      - {name: mast, type: box, size: [0.01, 0.01, 0.3], position: [0.095, 0, 0.25], mass: 0}
    sites:
      - {name: ahead, z_axis: [1, 0, 0]}
      - {name: turned, rpy_deg: [0, 0, 90]}
      - {name: away, z_axis: [0, -1, 0]}
      - {name: aloft, z_axis: [0, -1, 1]}  # what looks along the ground sees it or not, by the last bit of a pose
  - name: high
    position: [0, 0, 0.25]
    joint: free
    shape: {name: high_box, type: box, size: [0.1, 0.1, 0.1], mass: 2}
shapes:
  - {name: ground, type: plane}
  - {name: wall, type: box, size: [0.1, 10, 10], position: [4, 0, 0]}
sensors:
  - {name: ahead, type: range_finder, site: ahead}
  - {name: near, type: range_finder, site: ahead, cutoff: 1.5}
  - {name: away, type: range_finder, site: aloft, cutoff: 0.5}
  - {name: field, type: magnetometer, site: turned}
  - {name: on_high, type: contact_force, body: high}
  - {name: high_on_low, type: contact_force, body: low, other_body: high}
  - {name: all_on_low, type: contact_force, shape: low_box}
  - {name: high_on_any, type: contact_force, other_shape: high_box}
  - {name: wall, type: contact_force, shape: wall, other_body: low}
  - {name: on_world, type: contact_force, body: world}
  - {name: world_on_low, type: touch, body: low, other_body: world}
  - {name: pairs, type: contact_count, body: low, other_shape: ground}
  - {name: none, type: contact_count, body: high, other_shape: ground}
  - {name: pressed, type: touch, body: low, other_body: high}
  - {name: all, type: touch, shape: low_box}
  - {name: seen, type: frame_position, body: high, relative_site: turned}
  - {name: gap, type: frame_position, shape: mast, relative_body: high}
  - {name: still, type: frame_acceleration, body: low}
  - {name: g, type: frame_proper_acceleration, body: low}
  - {name: up, type: frame_y_axis, site: away}
)");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  for (int i = 0; i < 600; ++i) step(model, step_options(model), {}, &state, &workspace);
  auto values = read_all(model, scene, state, &workspace);
  const auto expect = [&](const std::string& name, const Vec3& expected, double tolerance) {
    const Vec3 value = Vec3::Map(values[name].data());
    EXPECT_NEAR((value - expected).norm(), 0, tolerance) << name << ": " << value.transpose();
  };
  EXPECT_NEAR(values["ahead"][0], 3.95, 1e-3);
  EXPECT_EQ(values["near"][0], 1.5);
  EXPECT_EQ(values["away"][0], -1);
  expect("field", {-0.4, -0.3, 0.5}, 1e-3);
  expect("on_high", {0, 0, 2 * 9.81}, 1e-3);
  expect("high_on_low", {0, 0, -2 * 9.81}, 1e-3);
  expect("all_on_low", {0, 0, 3 * 9.81}, 1e-3);
  expect("high_on_any", {0, 0, -2 * 9.81}, 1e-3);
  expect("wall", Vec3::Zero(), 0);
  expect("on_world", {0, 0, -5 * 9.81}, 1e-3);
  EXPECT_NEAR(values["world_on_low"][0], 5 * 9.81, 1e-3);
  EXPECT_EQ(values["pairs"][0], 4);
  EXPECT_EQ(values["none"][0], 0);
  EXPECT_NEAR(values["pressed"][0], 2 * 9.81, 1e-3);
  EXPECT_NEAR(values["all"][0], 7 * 9.81, 1e-3);
  expect("seen", {0, 0, 0.15}, 1e-3);
  expect("gap", {0.095, 0, 0.1}, 1e-3);
  expect("still", Vec3::Zero(), 1e-4);
  expect("g", {0, 0, 9.81}, 1e-4);
  EXPECT_NEAR(std::abs(values["up"][0]) + std::abs(values["up"][2]), 1, 1e-3);
}

// Joint forces are those of all actuators on it, within its limit; a tendon is the sum it is written as; a
// pair of bodies that turn about each other has spin about their common centre only.
TEST(Sensors, JointsTendonsAndSpin) {
  const Scene scene = scene_of(R"(options: {gravity: [0, 0, 0], dt: 0.001}
bodies:
  - name: a
    joint: {name: slide, type: prismatic, axis: [1, 0, 0], effort_limit: 5}
    inertia: {mass: 1, moments: [0.1, 0.1, 0.1]}
    children:
      - name: b
        joint: {name: turn, type: revolute, axis: [0, 0, 1], initial: 0.5, initial_velocity: 2}
        inertia: {mass: 3, com: [0.4, 0, 0], moments: [0.01, 0.02, 0.03]}
tendons: [{name: t, joints: {slide: 2, turn: -1}}]
actuators:
  - {name: push, type: torque, joint: slide, gear: 2, control: 3}
  - {name: pull, type: torque, joint: slide, control: -2.5}
  - {name: wind, type: torque, joint: turn, control: 0.25}
sensors:
  - {type: joint_force, joint: slide}
  - {type: joint_force, joint: turn}
  - {type: tendon_position, tendon: t}
  - {type: tendon_velocity, tendon: t}
  - {type: subtree_velocity, body: a}
  - {type: subtree_angular_momentum, body: a}
  - {name: com, type: frame_position, body: b, at_com: true}
)");
  const Model model = compile(scene);
  State state = initial_state(model);
  auto values = read_all(model, scene, state);
  EXPECT_NEAR(values["slide.joint_force"][0], 3.5, 1e-12);  // 2 * 3 - 2.5
  EXPECT_NEAR(values["turn.joint_force"][0], 0.25, 1e-12);
  EXPECT_NEAR(values["t.tendon_position"][0], -0.5, 1e-12);
  EXPECT_NEAR(values["t.tendon_velocity"][0], -2, 1e-12);
  const double c = std::cos(0.5), s = std::sin(0.5), w = 2, r = 0.4;
  EXPECT_NEAR(values["a.subtree_velocity"][0], 3.0 / 4 * -w * r * s, 1e-12);
  EXPECT_NEAR(values["a.subtree_velocity"][1], 3.0 / 4 * w * r * c, 1e-12);
  // The spin of b, and the reduced mass of 1 and 3 kg on the arm r.
  EXPECT_NEAR(values["a.subtree_angular_momentum"][2], 0.03 * w + 0.75 * r * r * w, 1e-12);
  EXPECT_NEAR(values["com"][0], r * c, 1e-12);
  EXPECT_NEAR(values["com"][1], r * s, 1e-12);
  state.control[0] = 6;  // 12 - 2.5 is more than the joint may take
  EXPECT_EQ(read_all(model, scene, state)["slide.joint_force"][0], 5);
}

// A weight on a string over a pulley that cannot get longer, on an elastic cord, and a block that a string
// pulls against its friction.
TEST(Sensors, TensionOfTendons) {
  const Scene scene = scene_of(R"(options: {dt: 0.002}
bodies:
  - name: weight
    joint: {name: fall, type: prismatic, axis: [0, 0, -1]}
    inertia: {mass: 3, moments: [0.01, 0.01, 0.01]}
  - name: bob
    joint: {name: sink, type: prismatic, axis: [0, 0, -1], damping: 40}
    inertia: {mass: 2, moments: [0.01, 0.01, 0.01]}
  - name: sled
    joint: {name: run, type: prismatic, axis: [1, 0, 0], initial_velocity: 3}
    inertia: {mass: 1, moments: [0.01, 0.01, 0.01]}
    sites: [{name: hook, position: [0, 1, 0]}]
sites: [{name: post, position: [-1, 1, 0]}]
tendons:
  - {name: string, joints: {fall: 2}, limits: [-1, 0.5]}
  - {name: cord, joints: {sink: 1}, stiffness: 500, spring_rest: [-0.1, 0.1]}
  - {name: brake, path: [{site: post}, {site: hook}], dry_friction: 4}
sensors:
  - {name: string, type: tendon_force, tendon: string}
  - {name: cord, type: tendon_force, tendon: cord}
  - {name: brake, type: tendon_force, tendon: brake}
)");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  EXPECT_EQ(read_all(model, scene, state)["string"][0], 0);
  for (int i = 0; i < 50; ++i) step(model, step_options(model), {}, &state, &workspace);
  EXPECT_NEAR(read_all(model, scene, state, &workspace)["brake"][0], 4, 1e-6);  // it slides yet
  for (int i = 0; i < 2000; ++i) step(model, step_options(model), {}, &state, &workspace);
  auto values = read_all(model, scene, state, &workspace);
  EXPECT_NEAR(values["string"][0], 3 * 9.81 / 2, 1e-5 * 9.81);  // twice as long as its weight has fallen
  EXPECT_NEAR(values["cord"][0], 2 * 9.81, 1e-6);
  EXPECT_NEAR(values["brake"][0], 0, 1e-6);
  Diagnostics diagnostics;
  EXPECT_EQ(make_sensors(model, scene, scene.sensors, &diagnostics).columns()[2],
            std::pair(std::string("brake"), std::string("N")));
}

TEST(Sensors, KeepForcesInSleep) {
  const Scene scene = scene_of(R"(options: {sleep: true}
bodies: [{name: b, position: [0, 0, 0.1], joint: free, shape: {type: box, size: [0.2, 0.2, 0.2], mass: 2}}]
shapes: [{type: plane}]
sensors: [{type: touch, body: b}, {type: accelerometer, body: b}]
)");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  Diagnostics diagnostics;
  const SensorSet set = make_sensors(model, scene, scene.sensors, &diagnostics);
  VecX values;
  int asleep = 0;
  for (int i = 0; i < 400; ++i) {
    asleep = step(model, step_options(model), {}, &state, &workspace).asleep;
    read_sensors(model, set, state, &workspace, nullptr, &values);
  }
  ASSERT_EQ(asleep, 1);
  EXPECT_NEAR(values[0], 2 * 9.81, 1e-3);
  EXPECT_NEAR(values[3], 9.81, 1e-9);
}

TEST(Sensors, MistakesAreTold) {
  const auto problems = [](const std::string& sensor) {
    const std::string path = testing::TempDir() + "/capstan_sensors_bad.yaml";
    std::ofstream(path)
        << "capstan: 1\nbodies: [{name: b, joint: free, shape: {type: sphere, radius: 1}}]\nsensors:\n  - "
        << sensor << "\n";
    Diagnostics diagnostics;
    read_scene(path, &diagnostics);
    return diagnostics.text();
  };
  EXPECT_EQ(problems("{type: gyro, body: b}"), "");
  EXPECT_NE(problems("{type: gyroscope, body: b}").find("bad.yaml:4: error"), std::string::npos);
  EXPECT_NE(problems("{type: gyro, body: c}").find("on the unknown body 'c'"), std::string::npos);
  EXPECT_NE(problems("{type: gyro}").find("is on nothing; write 'site: ...' or 'body: ...'"),
            std::string::npos);
  EXPECT_NE(problems("{body: b}").find("a sensor has no type"), std::string::npos);
  EXPECT_NE(problems("{type: contact_force}").find("write 'body: ...' or 'shape: ...'"), std::string::npos);
  EXPECT_NE(
      problems("{type: contact_force, body: b, other_shape: x}").find("a sensor names the unknown shape 'x'"),
      std::string::npos);
  EXPECT_NE(problems("{type: gyro, body: b, relative_body: b}").find("relative_body"), std::string::npos);
  EXPECT_NE(problems("{type: clock, name: c}\n  - {type: clock, name: c}").find("two sensors 'c'"),
            std::string::npos);
}

}  // namespace
}  // namespace capstan::sensors_test
