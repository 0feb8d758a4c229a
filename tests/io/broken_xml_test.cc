// Broken MJCF and URDF files: each gives the expected message, at the expected line, and a remedy or a name.
#include <gtest/gtest.h>

#include "tests/io/xml_helpers.h"

namespace capstan::broken_xml_test {
namespace {

struct Case {
  const char* file;
  int line;
  const char* message;
  const char* told_in = nullptr;  // the file the message is about, when it is another
};

const Case kCases[] = {
    {"mjcf_not_closed.xml", 3, "not closed"},
    {"mjcf_bad_attribute.xml", 2, "malformed attribute"},
    {"mjcf_open_comment.xml", 2, "a comment is not closed"},
    {"mjcf_repeated_attribute.xml", 2,
     "malformed attribute; write attributes as name=\"value\", each name once"},
    {"mjcf_wrong_root.xml", 1, "the root element is <scene>, not <mujoco>"},
    {"mjcf_only_text.xml", 1, "not well-formed"},
    {"mjcf_too_deep.xml", 99, "nested deeper than"},
    {"mjcf_unknown_joint_type.xml", 4, "type=\"hing\" is unknown; write one of free, ball, slide, hinge"},
    {"mjcf_unknown_geom_type.xml", 4, "type=\"cube\" is unknown"},
    {"mjcf_unknown_class.xml", 4, "default class 'legs' does not exist"},
    {"mjcf_unknown_childclass.xml", 3, "default class 'legs' does not exist"},
    {"mjcf_class_twice.xml", 4, "default class 'a' is defined twice"},
    {"mjcf_renamed_main.xml", 2, "the outermost default class is named 'a'"},
    {"mjcf_unknown_joint.xml", 3, "joint 'elbow' does not exist"},
    {"mjcf_unknown_tendon.xml", 3, "tendon 't' does not exist"},
    {"mjcf_actuator_on_nothing.xml", 3, "actuator 'm' acts on 0 things"},
    {"mjcf_unknown_body.xml", 3, "body 'a' does not exist"},
    {"mjcf_unknown_geom.xml", 3, "geom 'a' does not exist"},
    {"mjcf_unknown_site.xml", 3, "site 'a' does not exist"},
    {"mjcf_unknown_mesh.xml", 3, "mesh 'm' does not exist"},
    {"mjcf_unknown_material.xml", 3, "material 'm' does not exist"},
    {"mjcf_missing_mesh_file.xml", 3, "nowhere.obj"},
    {"mjcf_missing_include.xml", 2, "nowhere.xml' does not exist"},
    {"mjcf_include_itself.xml", 3, "is included already"},
    {"mjcf_include_loop.xml", 2, "is included already", "mjcf_include_loop_b.xml"},
    {"mjcf_body_name_twice.xml", 4, "body name 'a' is used twice; rename one; the other is at"},
    {"mjcf_joint_name_twice.xml", 5, "joint name 'j' is used twice"},
    {"mjcf_body_named_world.xml", 3, "a body is named 'world'"},
    {"mjcf_negative_mass.xml", 4, "body 'b' has mass -1 kg"},
    {"mjcf_negative_geom_mass.xml", 4, "mass=\"-2\" is negative"},
    {"mjcf_negative_inertia.xml", 4, "negative moment of inertia -1"},
    {"mjcf_no_mass.xml", 4, "<inertial> of body 'b' has no mass"},
    {"mjcf_two_inertials.xml", 5, "has two <inertial>"},
    {"mjcf_nan.xml", 3, "pos=\"0 nan 0\" is not finite"},
    {"mjcf_infinite.xml", 3, "size=\"1e999\" is not finite"},
    {"mjcf_not_a_number.xml", 3, "is not a list of numbers"},
    {"mjcf_wrong_count.xml", 3, "pos=\"0 1\" has 2 numbers; write 3"},
    {"mjcf_zero_size.xml", 3, "a box has size[2] = 0"},
    {"mjcf_zero_quat.xml", 3, "quat gives no direction"},
    {"mjcf_two_orientations.xml", 3, "has two orientations, quat and euler"},
    {"mjcf_zero_axis.xml", 4, "the axis of a joint is zero"},
    {"mjcf_same_fromto.xml", 3, "both points are the same"},
    {"mjcf_empty_range.xml", 4, "is limited but its range [0, 0] is empty"},
    {"mjcf_ball_range.xml", 4, "start the range of a ball joint at 0"},
    {"mjcf_nested_free.xml", 5, "free joint 'f' is on body 'c', a child of 'b'"},
    {"mjcf_joint_in_world.xml", 3, "<joint> in the world"},
    {"mjcf_too_many_dofs.xml", 5, "has 7 degrees of freedom"},
    {"mjcf_huge_replicate.xml", 3, "count 999999999 is above the limit of 100000"},
    {"mjcf_nested_replicate.xml", 3, "<replicate> makes 9.9999e+09 elements, the limit is 1000000"},
    {"mjcf_negative_replicate.xml", 3, "count -1 is not a positive number"},
    {"mjcf_zero_timestep.xml", 2, "timestep=\"0\" is not above 0"},
    {"mjcf_global_coordinates.xml", 2, "coordinate=\"global\" is not supported"},
    {"mjcf_bad_eulerseq.xml", 2, "eulerseq=\"xyw\" is not a sequence"},
    {"mjcf_bad_solref.xml", 3, "solref 0.02 -1 is neither"},
    {"mjcf_negative_friction.xml", 3, "friction -0.5 is negative"},
    {"mjcf_bad_condim.xml", 3, "condim=\"2\" is unknown; write 1, 3, 4 or 6"},
    {"mjcf_bad_face.xml", 3, "face names vertex 9 of 4"},
    {"mjcf_hfield_size.xml", 3, "has 3 elevations for 2 x 2 points"},
    {"mjcf_key_size.xml", 4, "key 'k' has 3 numbers in qpos; write 1"},
    {"mjcf_tendon_of_ball.xml", 5, "joint 'j' is of type ball"},
    {"mjcf_connect_without_anchor.xml", 4, "<connect> has no anchor"},
    {"mjcf_autolimits_off.xml", 4, "autolimits is off"},
    {"mjcf_moving_plane.xml", 5, "geom 'g', a half_space, is on body 'b', which moves"},
    {"urdf_not_closed.urdf", 2, "not closed"},
    {"urdf_wrong_root.urdf", 1, "not <robot>"},
    {"urdf_no_links.urdf", 1, "the robot has no links"},
    {"urdf_unknown_link.urdf", 3, "link 'b' of joint 'j' does not exist"},
    {"urdf_two_parents.urdf", 6, "link 'c' has two parents, by joints 'j' and 'k'"},
    {"urdf_several_roots.urdf", 3, "the robot has 2 root links: 'a', 'b'"},
    {"urdf_cycle.urdf", 7, "the links form a cycle"},
    {"urdf_own_parent.urdf", 3, "the links form a cycle: 'a' -> 'a'"},
    {"urdf_link_name_twice.urdf", 3, "link name 'a' is used twice"},
    {"urdf_joint_name_twice.urdf", 6, "joint name 'j' is used twice"},
    {"urdf_unknown_joint_type.urdf", 4, "type=\"hinge\" is unknown"},
    {"urdf_no_child.urdf", 3, "joint 'j' has no <child>"},
    {"urdf_no_limit.urdf", 4, "revolute joint 'j' has no <limit>"},
    {"urdf_swapped_limit.urdf", 5, "lower limit 1 above upper limit -1"},
    {"urdf_zero_axis.urdf", 5, "the axis of joint 'j' is zero"},
    {"urdf_negative_mass.urdf", 3, "link 'a' has mass -1 kg"},
    {"urdf_no_inertia.urdf", 3, "lacks <inertia>"},
    {"urdf_nan.urdf", 3, "value=\"nan\" is not finite"},
    {"urdf_no_geometry.urdf", 3, "<collision> has 0 geometries"},
    {"urdf_unknown_shape.urdf", 3, "geometry <cone> is unknown"},
    {"urdf_negative_radius.urdf", 3, "radius=\"-1\" is not above 0"},
    {"urdf_missing_mesh.urdf", 3, "nowhere.stl"},
    {"urdf_missing_package.urdf", 3, "'package://no_such_package/a.stl' is not found"},
    {"urdf_unknown_mimic.urdf", 5, "mimics 'k', which does not exist"},
};

TEST(BrokenXml, EachFileIsRefusedWithItsMessage) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.file);
    const std::string folder = std::string(CAPSTAN_SOURCE_DIR) + "/tests/io/data/broken/", file = c.file;
    Diagnostics diagnostics;
    const bool urdf = file.ends_with(".urdf");
    EXPECT_NO_THROW(urdf ? read_urdf(folder + file, &diagnostics) : read_mjcf(folder + file, &diagnostics));
    EXPECT_FALSE(diagnostics.ok());
    bool found = false;
    for (const Diagnostic& d : diagnostics.list) {
      found |= d.severity == Severity::error && d.where.line == c.line &&
               d.where.file == folder + (c.told_in ? c.told_in : c.file) &&
               (d.what + "; " + d.remedy).find(c.message) != std::string::npos;
    }
    EXPECT_TRUE(found) << "expected line " << c.line << ": " << c.message << "\ngot:\n" << diagnostics.text();
    EXPECT_LE(diagnostics.num_errors(), 4) << diagnostics.text();
  }
}

TEST(BrokenXml, LimitsAreKept) {
  TemporaryFolder folder("capstan_limits");
  ReadLimits limits;
  limits.max_file_bytes = 100;
  Diagnostics diagnostics;
  const std::string path = folder.write("big.xml", "<mujoco>" + std::string(200, ' ') + "</mujoco>");
  read_mjcf(path, &diagnostics, limits);
  EXPECT_TRUE(says(diagnostics, "the limit is 100")) << diagnostics.text();

  limits = {};
  limits.max_elements = 3;
  diagnostics = {};
  read_mjcf(folder.write("many.xml", "<mujoco>\n<worldbody>\n<light/>\n<light/></worldbody></mujoco>"),
            &diagnostics, limits);
  EXPECT_TRUE(says(diagnostics, "more than 3 elements", 4)) << diagnostics.text();

  limits = {};
  limits.max_nesting = 3;
  diagnostics = {};
  read_mjcf(
      folder.write("deep.xml", "<mujoco>\n<worldbody>\n<body>\n<geom size='1'/></body></worldbody></mujoco>"),
      &diagnostics, limits);
  EXPECT_TRUE(says(diagnostics, "nested deeper than 3", 4)) << diagnostics.text();
}

}  // namespace
}  // namespace capstan::broken_xml_test
