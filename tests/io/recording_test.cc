// Recordings: what is read is what was written, bit for bit; cut and damaged files are told, never trusted.
#include "capstan/io/recording.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "capstan/io/read.h"
#include "capstan/io/scene_library.h"
#include "capstan/step/contact_forces.h"

namespace capstan::recording_test {
namespace {

namespace fs = std::filesystem;

std::string scene_path(const std::string& name) {
  return std::string(CAPSTAN_SOURCE_DIR "/scenes/") + name;
}

class RecordingTest : public testing::Test {
 protected:
  RecordingTest() {
    char name[] = "/tmp/capstan_recording_XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ / "run.capstan";
  }
  ~RecordingTest() override { fs::remove_all(folder_); }

  // Steps of the clutter, with a push at body 1 in some of them; the states as they were.
  std::vector<State> record(int steps) {
    const Scene scene = read_scene(scene_path("clutter.yaml"));
    model_ = compile(scene);
    const StepOptions options = step_options(model_);
    RecordingWriter writer(path_, model_, recording_header(scene, model_, "clutter.yaml", options, 1));
    State state = initial_state(model_);
    Workspace workspace = make_workspace(model_);
    std::vector<State> states = {state};
    writer.append(state, {}, nullptr, 0);
    for (int i = 0; i < steps; ++i) {
      Input input;
      if (i % 10 == 3) input.body_forces.push_back({1, Vec3(0, 0, 1), Vec3(5, 0, 0), Vec3::Zero()});
      writer.note_input(state, input);
      const Report report = step(model_, options, input, &state, &workspace);
      writer.append(state, report, &workspace, 1e-3);
      if (i % 20 == 19) writer.flush();
      states.push_back(state);
      calc_recorded_contacts(workspace, &contacts_);
    }
    writer.close();
    return states;
  }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void rewrite(const std::string& content) const { std::ofstream(path_, std::ios::binary) << content; }

  fs::path folder_;
  std::string path_;
  Model model_;
  std::vector<RecordedContact> contacts_;  // of the last step
};

TEST_F(RecordingTest, KeepsEveryBit) {
  const std::vector<State> states = record(60);
  Recording recording(path_);
  ASSERT_EQ(recording.num_frames(), 61);
  EXPECT_TRUE(recording.complete());
  for (const long i : {60L, 0L, 31L, 19L, 20L, 21L}) {  // in any order
    const RecordedFrame& frame = recording.frame(i);
    EXPECT_EQ(frame.hash, hash(states[i]));
    EXPECT_EQ(hash(frame.state), hash(states[i]));
  }
  EXPECT_FALSE(contacts_.empty());
  EXPECT_EQ(recording.frame(60).contacts, contacts_);
  ASSERT_EQ(recording.frame(4).inputs.size(), 1u);  // the push began in step 3 ...
  EXPECT_EQ(recording.frame(4).inputs[0].step, 3);
  EXPECT_EQ(recording.frame(4).inputs[0].input.body_forces.at(0).force_W, Vec3(5, 0, 0));
  ASSERT_EQ(recording.frame(5).inputs.size(), 1u);  // ... and ended after it
  EXPECT_TRUE(recording.frame(5).inputs[0].input.body_forces.empty());
  EXPECT_EQ(recording.frame(6).inputs.size(), 0u);
}

// What sleeps is an object: a tree, a rod or a soft body. A file that kept the rest of trees alone could not
// be used beside a rod, and rods alone came back with another hash.
TEST_F(RecordingTest, KeepsTheRestOfRodsAndSoftBodies) {
  const std::string box =
      "bodies: [{name: box, position: [0.5, 0, 0.05], joint: {type: free}, "
      "shape: {type: box, size: [0.1, 0.1, 0.1]}}]\n";
  for (const bool has_tree : {true, false}) {
    Diagnostics diagnostics;
    const Scene scene = read_yaml_text(
        "capstan: 1\noptions: {dt: 0.005, sleep: true}\n"
        "shapes: [{name: floor, type: half_space}]\n" +
            (has_tree ? box : std::string()) + R"(rods:
  - {name: rope, diameter: 0.01, density: 1000, young_modulus: 1.0e6, edges: 8,
     line: {from: [0, 0, 0.005], to: [0.3, 0, 0.005]}}
soft_bodies:
  - {name: pad, box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, position: [-0.5, 0, 0.05],
     density: 1000, young_modulus: 1.0e6, damping: {beta: 0.01}}
)",
        {}, &diagnostics);
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
    const Model model = compile(scene);
    const StepOptions options = step_options(model);
    RecordingWriter writer(path_, model, recording_header(scene, model, "rest.yaml", options, 1));
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    std::vector<std::uint64_t> hashes = {hash(state)};
    writer.append(state, {}, nullptr, 0);
    int asleep = 0;
    for (int i = 0; i < 400; ++i) {
      const Report report = step(model, options, {}, &state, &workspace);
      asleep = report.asleep;
      writer.append(state, report, &workspace, 1e-3);
      hashes.push_back(hash(state));
    }
    writer.close();
    EXPECT_EQ(asleep, model.num_objects());
    Recording recording(path_);
    ASSERT_EQ(recording.num_frames(), 401);
    EXPECT_EQ(recording.model().fingerprint, model.fingerprint);
    for (long i = 0; i <= 400; ++i) ASSERT_EQ(hash(recording.frame(i).state), hashes[i]) << i;
  }
}

// Contacts of formats 5 and 6 have no area: all else is read as ever.
TEST_F(RecordingTest, ReadsFormatsWithoutAreas) {
  const Scene scene = read_scene(scene_path("patch_gripper.yaml"));
  const Model model = compile(scene);
  StepOptions options = step_options(model);
  for (const bool rigid : {false, true}) {
    options.rigid.is_on = rigid;
    std::vector<RecordedFrame> frames;
    for (const bool has_areas : {true, false}) {
      RecordingHeader header = recording_header(scene, model, "patch_gripper.yaml", options, 1);
      header.has_areas = has_areas;
      State state = initial_state(model);
      Workspace workspace = make_workspace(model);
      {
        RecordingWriter writer(path_, model, header);
        for (int i = 0; i < 3; ++i)
          writer.append(state, step(model, options, {}, &state, &workspace), &workspace, 1e-3);
        writer.close();
      }
      Recording recording(path_);
      EXPECT_EQ(recording.header().has_areas, has_areas);
      EXPECT_EQ(recording.header().options.rigid.is_on, rigid);
      recording.model();  // frames are checked from here on
      frames.push_back(recording.frame(2));
    }
    double area = 0;
    for (RecordedContact& c : frames[0].contacts) area += std::exchange(c.area, 0.0f);
    EXPECT_GT(area, 1e-5);
    EXPECT_EQ(frames[0].contacts, frames[1].contacts);
    EXPECT_EQ(frames[0].hash, frames[1].hash);
  }
}

TEST_F(RecordingTest, TellsModelAndSolverOfRigidContact) {
  const Scene scene = read_scene(scene_path("stack.yaml"));
  const Model model = compile(scene);
  StepOptions options = step_options(model);
  options.rigid.is_on = true;
  options.rigid.solver = "modified_ppm";
  RigidOptions& r = options.rigid.options;
  r.model = RigidModel::no_slip;
  r.restitution = RigidRestitution::poisson;
  r.stabilization = RigidStabilization::split_impulse;
  r.directions = 8;
  r.erp = 0.3;
  r.allowance = 1e-4;
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  {
    RecordingWriter writer(path_, model, recording_header(scene, model, "stack.yaml", options, 1));
    writer.append(state, {}, nullptr, 0);
    for (int i = 0; i < 3; ++i)
      writer.append(state, step(model, options, {}, &state, &workspace), &workspace, 1e-3);
    writer.close();
  }
  Recording recording(path_);
  EXPECT_TRUE(recording.header().options.rigid == options.rigid);
  const RecordedFrame& last = recording.frame(3);
  EXPECT_EQ(last.hash, hash(state));
  ASSERT_FALSE(last.contacts.empty());
  double weight = 0;  // the floor carries all: contact forces are those of the rigid model
  for (const RecordedContact& c : last.contacts) {
    if (model.shapes[c.shape_a].name == "floor" || model.shapes[c.shape_b].name == "floor")
      weight += c.force[2];
  }
  EXPECT_NEAR(std::abs(weight), total_mass(model) * 9.81, 1e-3 * total_mass(model) * 9.81);
}

TEST_F(RecordingTest, FindsFramesByTime) {
  const std::vector<State> states = record(45);
  Recording recording(path_);
  EXPECT_EQ(recording.find(-1), 0);
  EXPECT_EQ(recording.find(1e9), 45);
  for (int i = 0; i <= 45; ++i) {
    EXPECT_EQ(recording.find(states[i].time), i);
    EXPECT_EQ(recording.find(states[i].time + 1e-3), i);
  }
}

TEST_F(RecordingTest, ContactForcesCarryTheWeight) {
  // After the fall the floor's and walls' forces on all bodies balance gravity, on average over the last
  // frames.
  record(300);
  Recording recording(path_);
  double up = 0, mass = 0;
  constexpr int kFrames = 50;
  for (long i = 301 - kFrames; i < 301; ++i) {
    for (const RecordedContact& c : recording.frame(i).contacts) {
      const bool a_fixed = model_.shapes[c.shape_a].link == 0, b_fixed = model_.shapes[c.shape_b].link == 0;
      if (a_fixed && !b_fixed) up += c.force[2] / kFrames;
      if (b_fixed && !a_fixed) up -= c.force[2] / kFrames;
    }
  }
  for (const Link& link : model_.links) mass += link.mass;
  // Momentum at both ends of the 0.5 s is what may be missing.
  const double p0 = recording.frame(250).numbers[9], p1 = recording.frame(300).numbers[9];
  ASSERT_EQ(recording.header().numbers[9].name, "linear_momentum.z");
  EXPECT_NEAR(up, mass * 9.81 + (p1 - p0) / 0.5, 1e-4 * mass * 9.81);
}

// A block on a rail above a belt that moves at 20 um/s, and at 20 mm/s.
TEST(RecordedContacts, WhatCreepsInvisiblySticks) {
  for (const double speed : {2e-5, 2e-2}) {
    Diagnostics diagnostics;
    const Scene scene = read_yaml_text(
        "capstan: 1\nshapes: [{type: box, size: [1, 1, 0.1], position: [0, 0, -0.05], surface_velocity: [" +
            std::to_string(speed) +
            ", 0, 0]}]\nbodies: [{name: a, position: [0, 0, 0.05], joint: {type: prismatic, axis: [0, 0, "
            "1]}, "
            "shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}]\n",
        {}, &diagnostics);
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
    const Model model = compile(scene);
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    for (int i = 0; i < 100; ++i) step(model, step_options(model), {}, &state, &workspace);
    std::vector<ContactForce> forces;
    calc_contact_forces(workspace, &forces);
    ASSERT_FALSE(forces.empty());
    const ContactRegion shown = speed < kVisibleSlip ? ContactRegion::sticking : ContactRegion::sliding;
    EXPECT_EQ(forces[0].region, shown);
    EXPECT_NEAR(forces[0].slip_W.norm(), speed, 1e-9);
    std::vector<RecordedContact> recorded;
    calc_recorded_contacts(workspace, &recorded);
    ASSERT_FALSE(recorded.empty());
    EXPECT_EQ(recorded[0].region, static_cast<int>(shown)) << speed;
  }
}

TEST_F(RecordingTest, EveryShippedSceneComesBackAsTheSameModel) {
  for (const ShippedScene& shipped : shipped_scenes()) {
    SCOPED_TRACE(shipped.name);
    const Scene scene = read_scene(shipped.path);
    const Model model = compile(scene);
    {
      RecordingWriter writer(path_, model,
                             recording_header(scene, model, shipped.path, step_options(model), 1));
      writer.append(initial_state(model), {}, nullptr, 0);
    }
    const Recording recording(path_);
    const Model again = recorded_model(recording.header(), recorded_scene(recording.header()));
    EXPECT_EQ(again.fingerprint, model.fingerprint);
    EXPECT_EQ(hash(initial_state(again)), hash(initial_state(model)));
    EXPECT_EQ(again.options.gravity, model.options.gravity);
  }
}

TEST_F(RecordingTest, ASceneThatIsNotItsModelIsRefusedBeforeTheFirstStep) {
  const Scene scene = read_scene(scene_path("clutter.yaml"));
  const Model other = compile(read_scene(scene_path("stack.yaml")));
  try {
    recording_header(scene, other, "clutter.yaml", step_options(other), 1);
    FAIL() << "not refused";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("clutter.yaml: error: this scene cannot be recorded"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(RecordingTest, MeshesAreInsideTheFile) {
  const auto mesh = std::make_shared<TriangleMesh>();
  mesh->vertices = {{0, 0, 0}, {0.1, 0, 0}, {0, 0.1, 0}, {0, 0, 0.1}};
  mesh->triangles = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
  Scene scene;
  scene.name = "mesh";
  Body body;
  body.name = "body";
  body.joints.push_back({});
  body.joints[0].name = "free";
  body.joints[0].type = JointType::free;
  scene.bodies.push_back(body);
  ShapeInstance shape;
  shape.name = "shape";
  shape.body = "body";
  shape.shape = ConvexMesh{mesh};
  scene.shapes.push_back(shape);
  const Model model = compile(scene);
  {
    RecordingWriter writer(path_, model, recording_header(scene, model, "", step_options(model), 1));
    writer.append(initial_state(model), {}, nullptr, 0);
  }
  const Recording recording(path_);
  const Scene again = recorded_scene(recording.header());
  EXPECT_EQ(std::get<ConvexMesh>(again.shapes.at(0).shape).mesh->vertices, mesh->vertices);
  EXPECT_EQ(recorded_model(recording.header(), again).fingerprint, model.fingerprint);
}

TEST_F(RecordingTest, AKilledRunLeavesWhatWasFlushed) {
  record(60);
  const std::string whole = bytes();
  // Cut anywhere: the frames of whole chunks are there, with a note, or it is told that there are none.
  long last = 0;
  for (std::size_t size = 0; size < whole.size(); size += std::max<std::size_t>(1, whole.size() / 97)) {
    rewrite(whole.substr(0, size));
    try {
      Recording recording(path_);
      EXPECT_FALSE(recording.complete()) << size;
      EXPECT_GE(recording.num_frames(), last);
      last = recording.num_frames();
      EXPECT_EQ(hash(recording.frame(last - 1).state), recording.frame(last - 1).hash);
    } catch (const InputError&) {
      EXPECT_EQ(last, 0) << size;  // only before the first chunk of frames
    }
  }
  EXPECT_GE(last, 41);
}

TEST_F(RecordingTest, DamageIsFound) {
  const std::vector<State> states = record(60);
  const std::string whole = bytes();
  std::mt19937 random(1);
  int refused = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::string damaged = whole;
    damaged[8 + random() % (whole.size() - 8)] ^= static_cast<char>(1 << random() % 8);
    rewrite(damaged);
    try {
      Recording recording(path_);
      for (long i = 0; i < recording.num_frames(); ++i) {
        // What is given out is right.
        EXPECT_EQ(hash(recording.frame(i).state), hash(states[recording.frame(i).state.step]));
      }
    } catch (const InputError& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("damaged at byte"), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, 150);
}

// Sensors, with what acted from outside, and the forces of actuators are the last numbers of a frame.
TEST_F(RecordingTest, HoldsWhatSensorsRead) {
  Diagnostics diagnostics;
  const Scene scene = read_yaml_text(R"(capstan: 1
bodies: [{name: b, joint: {type: prismatic, axis: [1, 0, 0]}, inertia: {mass: 2, moments: [1, 1, 1]}}]
actuators: [{name: push, type: torque, joint: b, control: 6}]
sensors: [{name: a, type: accelerometer, body: b}, {name: f, type: force, body: b}])",
                                     {}, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const Model model = compile(scene);
  {
    RecordingWriter writer(path_, model, recording_header(scene, model, "", step_options(model), 1));
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    writer.append(state, {}, nullptr, 0);
    Input input;
    input.body_forces.push_back({1, Vec3::Zero(), Vec3(4, 5, 0), Vec3::Zero()});
    writer.note_input(state, input);
    const Report report = step(model, step_options(model), input, &state, &workspace);
    writer.append(state, report, &workspace, 0);
  }
  Recording recording(path_);
  const std::vector<LogColumn>& numbers = recording.header().numbers;
  std::map<std::string, double> first, second;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    first[numbers[i].name] = recording.frame(0).numbers[static_cast<int>(i)];
    second[numbers[i].name] = recording.frame(1).numbers[static_cast<int>(i)];
  }
  EXPECT_EQ(numbers.back().group, "sensor");
  EXPECT_EQ(numbers.back().name, "push.force");
  EXPECT_NEAR(first["a.z"], 9.81, 1e-12);
  EXPECT_NEAR(second["a.x"], 5, 1e-9);       // (6 + 4) N on 2 kg
  EXPECT_NEAR(second["f.x"], 10 - 4, 1e-9);  // of which 4 come from outside
  EXPECT_NEAR(second["f.y"], -5, 1e-9);
  EXPECT_EQ(second["push.force"], 6);
}

TEST_F(RecordingTest, WhatIsNoRecordingIsToldSo) {
  rewrite("capstan: 1\n");
  EXPECT_FALSE(is_recording(path_));
  EXPECT_THROW(Recording{path_}, InputError);
  EXPECT_THROW(Recording{folder_ / "absent"}, InputError);
  EXPECT_THROW(Recording{folder_}, InputError);
}

// docs/viewer.md promises 50 MB for a minute of 40 bodies at 100 frames in a second. Measured over the
// settling and the rest of the clutter, where all contacts are there.
TEST_F(RecordingTest, IsSmall) {
  record(500);
  const double megabytes = 1e-6 * static_cast<double>(fs::file_size(path_));
  EXPECT_LT(megabytes * 12, 50) << "a minute would take " << megabytes * 12 << " MB";
}

}  // namespace
}  // namespace capstan::recording_test
