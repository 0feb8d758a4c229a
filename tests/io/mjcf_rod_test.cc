// The MJCF reader: flexcomps of one dimension (MuJoCo 4) and cables (MuJoCo 3) as rods.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "capstan/model/add_rod.h"
#include "capstan/scene/rod.h"
#include "capstan/step/step.h"
#include "tests/io/mjcf_helpers.h"

namespace capstan::mjcf_rod_test {
namespace {

constexpr double kPi = std::numbers::pi;

std::string rope(const std::string& attributes, const std::string& inside) {
  return "<worldbody><flexcomp name='rope' dim='1' " + attributes + ">" + inside + "</flexcomp></worldbody>";
}

TEST_F(Mjcf, AFlexcompOfOneDimensionIsARod) {
  const Scene scene = read_clean(rope(
      "type='grid' count='5 1 1' spacing='0.1 0.1 0.1' pos='1 2 3' mass='0.2' radius='0.01' rgba='1 0 0 1'",
      "<pin id='0 1'/><edge equality='true' solref='0.01 1'/>"
      "<elasticity young='1e7' poisson='0.3' damping='0.01'/>"
      "<contact friction='0.3' contype='2' conaffinity='3' margin='0.001'/>"));
  ASSERT_EQ(scene.rods.size(), 1u);
  const RodSpec& rod = scene.rods[0];
  EXPECT_EQ(rod.name, "rope");
  ASSERT_EQ(rod.nodes.size(), 5u);
  expect_near(rod.nodes[0], Vec3(0.8, 2, 3));
  expect_near(rod.nodes[4], Vec3(1.2, 2, 3));
  EXPECT_EQ(rod.section.type, RodSectionType::circle);
  EXPECT_DOUBLE_EQ(rod.section.width, 0.02);
  EXPECT_DOUBLE_EQ(rod.density * kPi * 1e-4 * 0.4, 0.2);
  EXPECT_EQ(rod.young_modulus, 1e7);
  EXPECT_EQ(rod.poisson_ratio, 0.3);
  EXPECT_EQ(rod.beta, 0.01);
  EXPECT_EQ(rod.clamped_edges, std::vector<int>{0});
  EXPECT_TRUE(rod.pinned_nodes.empty());
  EXPECT_EQ(rod.group_bits, 2u);
  EXPECT_EQ(rod.mask_bits, 3u);
  EXPECT_EQ(rod.margin, 0.001);
  EXPECT_EQ(rod.rgba[0], 1.0f);
  EXPECT_EQ(scene.materials[0].friction, 0.3);
  EXPECT_NO_THROW(compile(scene));
}

TEST_F(Mjcf, FlexcompsOfOtherForms) {
  Scene scene = read_clean(
      rope("type='circle' count='13 1 1' spacing='0.1 0.1 0.1' euler='90 0 0'", "<elasticity young='1e6'/>"));
  EXPECT_TRUE(scene.rods.at(0).closed);
  ASSERT_EQ(scene.rods[0].nodes.size(), 12u);  // the last point is the first
  for (int i = 0; i < 12; ++i)
    EXPECT_NEAR((scene.rods[0].nodes[(i + 1) % 12] - scene.rods[0].nodes[i]).norm(), 0.1, 1e-12);
  EXPECT_NEAR(scene.rods[0].nodes[3].z(), 0.05 / std::sin(kPi / 12), 1e-12);  // in MuJoCo, too

  scene = read_clean(rope("type='direct' point='0 0 0  1 0 0  1 1 0' element='0 1 1 2' scale='2 2 2'",
                          "<pin range='1 2'/><elasticity young='1e6' shear='2e5' section='box' "
                          "sectionsize='0.03 0.01'/><contact selfcollide='none'/>"));
  expect_near(scene.rods.at(0).nodes[2], Vec3(2, 2, 0));
  EXPECT_EQ(scene.rods[0].clamped_edges, std::vector<int>{1});
  EXPECT_EQ(scene.rods[0].shear_modulus, 2e5);
  EXPECT_EQ(scene.rods[0].section.type, RodSectionType::rectangle);
  EXPECT_DOUBLE_EQ(scene.rods[0].section.width, 0.06);
  expect_near(scene.rods[0].director, Vec3(0, 1, 0));  // of an edge along x, found by MuJoCo's deflections
  EXPECT_EQ(scene.rods[0].group_bits & scene.rods[0].mask_bits, 0u);
  // Along y of the body it is another one, however the flexcomp came to lie there (MuJoCo's deflections,
  // too).
  scene = read_clean(rope("type='direct' point='0 0 0  1 0 0  2 0 0' element='0 1 1 2' euler='0 0 90'",
                          "<elasticity young='1e6' section='box' sectionsize='0.03 0.01'/>"));
  expect_near(scene.rods.at(0).director, Vec3(0, 0, 1));

  scene = read(rope("count='4 1 1'", ""));
  EXPECT_NE(diagnostics.text().find("a flexcomp without young is read as a rod of E ="), std::string::npos);
  const RodSpec& string = scene.rods.at(0);  // its weight stretches it by a thousandth
  EXPECT_NEAR(string.density * 9.81 * 0.06 / string.young_modulus, 1e-3, 1e-12);
}

TEST_F(Mjcf, PinnedToABodyItIsAttached) {
  const Scene scene = read_clean(
      "<worldbody><body name='hand' pos='0 0 1'><joint type='slide'/><geom size='.1'/>"
      "<flexcomp name='rope' dim='1' count='6 1 1'><pin id='0 1 5'/><elasticity young='1e7'/></flexcomp>"
      "</body></worldbody>");
  const RodSpec& rod = scene.rods.at(0);
  EXPECT_EQ(rod.body, "hand");
  EXPECT_TRUE(rod.clamped_edges.empty());
  ASSERT_EQ(rod.attachments.size(), 2u);
  EXPECT_EQ(rod.attachments[0].node, 5);
  EXPECT_EQ(rod.attachments[1].edge, 0);
  EXPECT_EQ(rod.attachments[1].body, "hand");
  EXPECT_NO_THROW(compile(scene));
}

const std::string kCable =
    "<extension><plugin plugin='mujoco.elasticity.cable'/></extension><worldbody>"
    "<body name='slider' pos='0.5 0 1'><joint type='slide' axis='1 0 0'/><geom size='.01' contype='0' "
    "conaffinity='0'/></body>"
    "<composite prefix='c' type='cable' curve='s' count='11 1 1' size='0.5' offset='0 0 1' initial='none'>"
    "<plugin plugin='mujoco.elasticity.cable'><config key='twist' value='1e6'/><config key='bend' "
    "value='4e6'/>"
    "<config key='vmax' value='0.05'/></plugin><joint kind='main' damping='1e-4'/>"
    "<geom type='capsule' size='.005' rgba='.8 .2 .1 1' density='800'/></composite></worldbody>";

TEST_F(Mjcf, ACableIsARod) {
  const Scene scene =
      read_clean(kCable + "<equality><connect body1='slider' body2='cB_last' anchor='0 0 0'/></equality>");
  const RodSpec& rod = scene.rods.at(0);
  ASSERT_EQ(rod.nodes.size(), 11u);
  expect_near(rod.nodes[10], Vec3(0.5, 0, 1));
  EXPECT_EQ(rod.young_modulus, 4e6);
  EXPECT_EQ(rod.shear_modulus, 1e6);
  EXPECT_EQ(rod.density, 800);
  EXPECT_NEAR(rod.beta, 1e-4 * 0.05 / (4e6 * kPi / 64 * 1e-8), 1e-12);
  EXPECT_EQ(rod.clamped_edges, std::vector<int>{0});
  // The end of the last edge is at the slider: where constraints are at the start.
  const Constraint& c = scene.constraints.at(0);
  EXPECT_EQ(c.body_b, rod.name + "/9");
  expect_near(c.pose_b->position, Vec3(0, 0, 0.025), 1e-12);
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  StepOptions options = step_options(model);
  for (int i = 0; i < 50; ++i) step(model, options, {}, &state, &workspace);
  const auto& made = static_cast<const Rod&>(*model.objects.back().physics);
  const VecX q = state.q.tail(made.layout().num_positions);
  EXPECT_LT((Rod::node(q, 10) - Vec3(0.5 + state.q[0], 0, 1)).norm(), 1e-4);
}

TEST_F(Mjcf, CablesOfOtherForms) {
  Scene scene = read_clean(
      "<worldbody><composite type='cable' vertex='0 0 0 1 0 0 1 1 0' initial='free'>"
      "<joint kind='main' stiffness='0.01'/><geom type='box' size='.1 .02 .004'/></composite></worldbody>");
  EXPECT_EQ(scene.rods.at(0).section.type, RodSectionType::rectangle);
  EXPECT_DOUBLE_EQ(scene.rods[0].section.width, 0.04);
  EXPECT_DOUBLE_EQ(scene.rods[0].section.height, 0.008);
  EXPECT_NEAR(scene.rods[0].young_modulus * 0.04 * std::pow(0.008, 3) / 12, 0.01, 1e-12);
  EXPECT_TRUE(scene.rods[0].pinned_nodes.empty());
  scene = read(
      "<worldbody><composite type='cable' curve='cos(s) sin(s) s' count='21 1 1' size='0.2 .1 4'>"
      "<geom type='capsule' size='.005'/></composite></worldbody>");
  const RodSpec& helix = scene.rods.at(0);
  expect_near(helix.nodes[5], Vec3(0.1 * std::cos(kPi), 0.1 * std::sin(kPi), 0.05), 1e-12);
  EXPECT_EQ(helix.pinned_nodes, std::vector<int>{0});
}

TEST_F(Mjcf, MistakesInRodsAreTold) {
  const struct {
    std::string text, told;
  } cases[] = {
      {rope("count='1 1 1'", ""), "<flexcomp> has 1 points"},
      {rope("count='1e9 1 1'", ""), "<flexcomp> has 1e+09 points"},
      {rope("spacing='0 0 0'", ""), "spacing is 0 m"},
      {rope("radius='0'", "<elasticity young='1e6'/>"), "has mass 1 kg, radius 0 m"},
      {rope("", "<pin id='10'/><elasticity young='1e6'/>"), "<pin> of point 10, of 10"},
      {rope("type='direct' point='0 0 0 1'", ""), "point has 4 numbers"},
      {rope("type='direct' point='0 0 0 1 0 0 2 0 0' element='0 2 2 1'", ""), "is no single chain"},
      {"<worldbody><composite type='cable' curve='tan(s)' count='4 1 1' size='1'/></worldbody>", "tan(s)"},
      {"<worldbody><composite type='cable' curve='s' count='4 1 1' size='1'/></worldbody>",
       "the geom of a cable is no capsule"},
      {"<worldbody><composite type='loop'/></worldbody>", "is no cable"},
      {"<worldbody><flexcomp name='cloth' dim='2'/></worldbody>", "is not supported but for dim 1"},
  };
  for (const auto& c : cases) {
    read(c.text);
    EXPECT_NE(diagnostics.text().find(c.told), std::string::npos) << c.told << "\n" << diagnostics.text();
  }
}

// A rod of 1 m falls about its end. MuJoCo 4.0.0, integrator discrete at 1 ms, has these tips for the same
// file; its edges keep their length, with this solref (with the default one, 20 ms, they stretch by so much
// that the tip is 40 mm elsewhere), and its last point weighs as much as the others.
TEST_F(Mjcf, ARodFallsAsInMuJoCo) {
  struct Case {
    std::string pin;
    Vec3 quarter, half;  // after 0.25 and 0.5 s
  };
  for (const Case& c : {Case{"0 1", {0.90067, 0, 0.71275}, {-0.11304, 0, 0.09238}},
                        Case{"0", {0.88893, 0, 0.70938}, {-0.21053, 0, 0.06252}}}) {
    const Scene scene = read_clean(
        "<option timestep='0.001' integrator='discrete'/>" +
        rope("type='grid' count='101 1 1' spacing='0.01 0.01 0.01' pos='0.5 0 1' mass='0.0785398163'",
             "<pin id='" + c.pin +
                 "'/><edge equality='true' solimp='0.9999 0.9999 0.001' solref='0.002 1'/>"
                 "<elasticity young='1e7' poisson='0.4'/>"
                 "<contact selfcollide='none' contype='0' conaffinity='0'/>"));
    const Model model = compile(scene);
    State state = initial_state(model);
    Workspace workspace = make_workspace(model);
    StepOptions options = step_options(model);
    options.integrator = Integrator::midpoint;
    for (int i = 0; i < 250; ++i) step(model, options, {}, &state, &workspace);
    EXPECT_LT((Rod::node(state.q, 100) - c.quarter).norm(), 0.003) << c.pin;
    for (int i = 0; i < 250; ++i) step(model, options, {}, &state, &workspace);
    EXPECT_LT((Rod::node(state.q, 100) - c.half).norm(), 0.015) << c.pin;
  }
}

}  // namespace
}  // namespace capstan::mjcf_rod_test
