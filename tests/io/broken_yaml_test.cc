// Broken scene files, each with the message it must give.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "capstan/io/read.h"

namespace capstan::broken_yaml_test {
namespace {

const std::string kFolder = CAPSTAN_SOURCE_DIR "/tests/io/data/broken/";

struct Case {
  const char* file;
  int line;  // of the message; -1: any
  const char* fragment;
};

const Case kCases[] = {
    {"yaml_syntax.yaml", -1, "this is not YAML"},
    {"yaml_tab.yaml", -1, "this is not YAML"},
    {"yaml_no_version.yaml", 1, "does not say that it is a Capstan scene"},
    {"yaml_version_2.yaml", 2, "the version of the scene format is '2'"},
    {"yaml_list_root.yaml", 1, "the scene is a list of 2, not a map"},
    {"yaml_comment_only.yaml", -1, "the file has no content"},
    {"yaml_two_documents.yaml", 3, "second YAML document"},
    {"yaml_duplicate_key.yaml", 4, "the key 'dt' is written twice; it is at line 3 already"},
    {"yaml_merge_key.yaml", 4, "merge key '<<'"},
    {"yaml_alias_inside_itself.yaml", 3, "an alias (*) stands inside the thing it names"},
    {"yaml_unknown_alias.yaml", 2, "this is not YAML: the referenced anchor is not defined"},
    {"yaml_unknown_option.yaml", 3, "options has the unknown key 'gravty'; did you mean 'gravity'?"},
    {"yaml_unknown_top.yaml", 2, "the scene has the unknown key 'bodys'; did you mean 'bodies'?"},
    {"yaml_gravity_scalar.yaml", 2,
     "gravity of options is '-9.81', not a list of 3 numbers; write it as [x, y, z]"},
    {"yaml_gravity_two.yaml", 3, "is a list of 2, not a list of 3 numbers"},
    {"yaml_dt_zero.yaml", 2, "dt of options is 0; write a number above 0"},
    {"yaml_dt_unit.yaml", 3, "dt of options is '5 ms', not a number; write one plain number in SI units"},
    {"yaml_dt_empty.yaml", 3, "dt of options is empty"},
    {"yaml_integrator.yaml", 2, "did you mean 'midpoint'?"},
    {"yaml_flag.yaml", 2, "is 'yes'; write true or false"},
    {"yaml_nan_position.yaml", 4, "number 2 of position of body 'a' is not a number (NaN)"},
    {"yaml_inf_position.yaml", 4, "is '1e999', which is not finite"},
    {"yaml_body_no_name.yaml", 3, "body 1 of the scene has no name"},
    {"yaml_body_world.yaml", 3, "a body is named 'world'"},
    {"yaml_body_not_map.yaml", 3, "body 1 of the scene is 'arm', not a map"},
    {"yaml_bodies_map.yaml", 3, "bodies of the scene is a map, not a list; begin each entry with '- '"},
    {"yaml_child_parent.yaml", 5, "body 'b' has a parent, but is a child of 'a'"},
    {"yaml_joint_type.yaml", 4, "type of joint 'a' is 'hinge'; write one of: weld, revolute"},
    {"yaml_joint_word.yaml", 4, "type of joint 'a' is 'fre'; did you mean 'free'?"},
    {"yaml_joint_no_type.yaml", 4, "joint 'a' has no type"},
    {"yaml_joint_axis_zero.yaml", 4, "axis of joint 'a' has no direction"},
    {"yaml_joint_limits_order.yaml", 4, "limits of joint 'a' is [1, -1]; write the lower end first"},
    {"yaml_joint_limits_both.yaml", 7, "joint 'a' has limits and limits_deg; write only one"},
    {"yaml_joint_limits_deg_prismatic.yaml", 4, "has limits_deg, but does not only turn"},
    {"yaml_joint_limits_free.yaml", 4, "a free joint has none"},
    {"yaml_joint_and_joints.yaml", 5, "body 'a' has joint and joints; write only one of them"},
    {"yaml_joint_damping.yaml", 4, "damping of joint 'a' is -1; write 0 or a number above it"},
    {"yaml_joint_initial_count.yaml", 4, "initial of joint 'a' is a list of 3, not a list of 4 numbers"},
    {"yaml_screw_no_pitch.yaml", 4, "is a screw without pitch"},
    {"yaml_pose_two_turns.yaml", 4, "pose of body 'a' has quat and rpy; write only one of them"},
    {"yaml_pose_and_position.yaml", 5, "body 'a' has both pose and position"},
    {"yaml_quat_zero.yaml", 4, "quat of body 'a' has length 0"},
    {"yaml_axis_no_angle.yaml", 4, "has an axis but no angle"},
    {"yaml_mass_negative.yaml", 4, "mass of inertia of body 'hand' is -1; write a number above 0"},
    {"yaml_mass_zero.yaml", 5, "mass of inertia of body 'hand' is 0"},
    {"yaml_inertia_no_moments.yaml", 4, "inertia of body 'hand' has no moments"},
    {"yaml_inertia_matrix.yaml", 4, "is not symmetric"},
    {"yaml_mass_no_shape.yaml", 4, "body 'hand' has a mass but no shape to spread it over"},
    {"yaml_shape_type.yaml", 3, "type of a shape is 'cube'; write one of: sphere, box"},
    {"yaml_shape_no_radius.yaml", 3, "shape 'ball' has no radius"},
    {"yaml_shape_radius.yaml", 3, "radius of sphere of body 'world' is -0.1; write a number above 0"},
    {"yaml_shape_wrong_key.yaml", 3, "sphere of body 'world' has the unknown key 'lenght'"},
    {"yaml_shape_half_size.yaml", 3, "size of box of body 'world' is a list of 2"},
    {"yaml_shape_from_is_to.yaml", 3, "are the same point"},
    {"yaml_shape_from_and_pose.yaml", 3, "has from and to, and position"},
    {"yaml_mesh_missing.yaml", 4, "no_such.stl' does not exist"},
    {"yaml_mesh_truncated.yaml", 4, "truncated.stl' stops before 'endsolid' (its line 5)"},
    {"yaml_mesh_index.yaml", 4, "index.obj' has a face with vertex 9 of 3 (its line 4)"},
    {"yaml_height_rows.yaml", 8, "row 2 of heights has 2 numbers, the first row has 3"},
    {"yaml_color.yaml", 3, "color of half_space of body 'world' has 255"},
    {"yaml_material_friction.yaml", 3, "friction of material 'ice' is -0.1"},
    {"yaml_material_no_name.yaml", 3, "a material has no name"},
    {"yaml_pair_three.yaml", 3, "a pair names a list of 3; write two names: [a, b]"},
    {"yaml_tendon_empty.yaml", 3, "tendon 't' names no joints"},
    {"yaml_actuator_target.yaml", 3,
     "an actuator acts on nothing; write 'joint: ...', 'tendon: ...' or 'site: ...'"},
    {"yaml_actuator_word.yaml", 3,
     "type of actuator 'a' is 'position', which is MuJoCo's word; write 'type: pd'"},
    {"yaml_actuator_pd.yaml", 3, "actuator 'a' has no stiffness"},
    {"yaml_actuator_key.yaml", 3, "torque actuator 'a' has the unknown key 'stiffness'"},
    {"yaml_constraint_type.yaml", 3, "type of constraint 'constraint1' is 'connect'"},
    {"yaml_constraint_distance.yaml", 3, "has no distance"},
    {"yaml_exclude_three.yaml", 3, "an exclude is a list of 3, not two bodies"},
    {"yaml_initial_joint.yaml", 7, "q of initial names the unknown joint 'elbw'; did you mean 'elbow'?"},
    {"yaml_initial_count.yaml", 6, "q of free joint 'box' is a list of 3, not a list of 7 numbers"},
    {"yaml_initial_deg.yaml", 6, "is not an angle; write it under q"},
    {"yaml_keyframe_control.yaml", 3, "control of keyframe 'k' names the unknown actuator 'motor'"},
    {"yaml_model_missing.yaml", 3, "nowhere/arm.xml' does not exist"},
    {"yaml_model_no_file.yaml", 3, "a model has no file"},
    {"yaml_model_itself.yaml", 3, "includes itself: yaml_model_itself.yaml -> yaml_model_itself.yaml"},
    {"yaml_model_circle_a.yaml", -1,
     "includes itself: yaml_model_circle_a.yaml -> yaml_model_circle_b.yaml -> yaml_model_circle_a.yaml"},
    {"yaml_model_mesh.yaml", 3, "is a mesh, not a scene"},
    {"yaml_repeat_huge.yaml", 4,
     "count of repeat of model 'good_part' is 10000000000 in all, the limit is 100000"},
    {"yaml_repeat_elements.yaml", 7, "brings the scene to more than 1000000 elements"},
    {"yaml_repeat_fraction.yaml", 4, "is 2.5; write whole numbers"},
    {"yaml_repeat_names.yaml", 4, "is 'p{i}', without {j}; the copies would have the same name"},
    {"yaml_model_joint_typo.yaml", 4, "names the unknown joint 'hing'; did you mean 'hinge'?"},
    {"yaml_model_keyframe.yaml", 4, "did you mean 'home'?"},
    {"yaml_joint_pitch.yaml", 4, "revolute joint 'a' has the unknown key 'pitch'"},
    {"yaml_joint_reference_deg.yaml", 4,
     "prismatic joint 'a' has the unknown key 'reference_deg'; did you mean 'reference'?"},
    {"yaml_model_twice.yaml", 4, "a model named 'left' is placed a second time; the first is at line 3"},
    {"yaml_model_parent.yaml", 5, "attached to the unknown body 'left/prt'; did you mean 'left/part'?"},
    {"yaml_laughs.yaml", 9, "more than 16000000 values, aliases written out"},
    {"yaml_deep.yaml", 2, "the nesting is deeper than 256"},
};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(BrokenYaml, EachFileGivesItsMessageAtItsLine) {
  for (const Case& c : kCases) {
    Diagnostics diagnostics;
    diagnostics.strict = true;
    const std::string path = kFolder + c.file;
    ASSERT_NE(text_of(path), "") << path;
    read_scene(path, &diagnostics);
    EXPECT_FALSE(diagnostics.ok()) << c.file;
    bool found = false;
    for (const Diagnostic& d : diagnostics.list) {
      if (to_string(d).find(c.fragment) == std::string::npos) continue;
      found = true;
      if (c.line >= 0) {
        EXPECT_EQ(to_string(d.where), path + ":" + std::to_string(c.line)) << c.file;
      }
      EXPECT_NE(d.where.file, "");
    }
    EXPECT_TRUE(found) << c.file << " should say: " << c.fragment << "\nbut says:\n" << diagnostics.text();
    // One mistake, one message: what follows from it is not told again.
    EXPECT_EQ(diagnostics.list.size(), 1u) << c.file << "\n" << diagnostics.text();
  }
}

TEST(BrokenYaml, EveryBrokenFileIsInTheTable) {
  std::set<std::string> listed = {"yaml_model_circle_b.yaml"};
  for (const Case& c : kCases) listed.insert(c.file);
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("yaml_", 0) == 0) {
      EXPECT_EQ(listed.count(name), 1u) << name;
    }
  }
}

TEST(BrokenYaml, AllProblemsOfAFileAreToldAtOnce) {
  Diagnostics diagnostics;
  const std::string path = testing::TempDir() + "/capstan_many.yaml";
  std::ofstream(path) << "capstan: 1\n"
                         "options: {dt: -1, gravty: [0, 0, 0]}\n"
                         "bodies:\n"
                         "  - {name: a, joint: {type: hinge}}\n"
                         "  - {name: b, position: [0, 0]}\n"
                         "shapes:\n"
                         "  - {type: box, size: [1, -1, 1]}\n";
  read_scene(path, &diagnostics);
  ASSERT_EQ(diagnostics.list.size(), 5u) << diagnostics.text();
  EXPECT_EQ(diagnostics.num_warnings(), 1);  // the unknown key, as this is not strict
  std::multiset<int> lines;
  for (const Diagnostic& d : diagnostics.list) lines.insert(d.where.line);
  EXPECT_EQ(lines, (std::multiset<int>{2, 2, 4, 5, 7}));
}

TEST(BrokenYaml, FilesThatAreNotScenes) {
  const struct {
    std::string name, bytes;
    const char* fragment;
  } cases[] = {
      {"empty.yaml", "", "is empty"},
      {"blank.yaml", " \n\n", "has only blanks"},
      {"robot.xml", "<?xml version='1.0'?>\n<!-- a > b --><collada version='1.6'/>",
       "has the root element <collada>"},
      {"empty.sdf", "<sdf version='1.7'/>", "has neither a <world> nor a <model>"},
      {"text.xml", "hello", "has no root element"},
      {"text.txt", "hello", "is not a scene of a known kind"},
      {"part.stl", "solid\nendsolid\n", "is a mesh, not a scene"},
      {"arm.xacro", "<robot name='a'/>", "run xacro on it"},
  };
  const std::string folder = testing::TempDir() + "/capstan_not_scenes/";
  std::filesystem::create_directories(folder);
  for (const auto& c : cases) {
    std::ofstream(folder + c.name) << c.bytes;
    Diagnostics diagnostics;
    read_scene(folder + c.name, &diagnostics);
    ASSERT_EQ(diagnostics.num_errors(), 1) << c.name;
    EXPECT_NE(diagnostics.text().find(c.fragment), std::string::npos) << diagnostics.text();
    EXPECT_NE(diagnostics.text().find(c.name), std::string::npos) << diagnostics.text();
  }
  Diagnostics diagnostics;
  read_scene(folder + "missing.yaml", &diagnostics);
  read_scene(folder, &diagnostics);
  std::ofstream(folder + "large.yaml") << "capstan: 1\n# 0123456789\n";
  ReadLimits limits;
  limits.max_file_bytes = 20;
  read_scene(folder + "large.yaml", &diagnostics, limits);
  ASSERT_EQ(diagnostics.list.size(), 3u) << diagnostics.text();
  EXPECT_NE(diagnostics.list[0].what.find("missing.yaml' does not exist"), std::string::npos);
  EXPECT_NE(diagnostics.list[1].what.find("is a directory"), std::string::npos);
  EXPECT_NE(diagnostics.list[2].what.find("has 24 bytes, the limit is 20"), std::string::npos);
  EXPECT_THROW(read_scene(folder + "missing.yaml"), InputError);
}

}  // namespace
}  // namespace capstan::broken_yaml_test
