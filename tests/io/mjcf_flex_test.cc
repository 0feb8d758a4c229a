// The MJCF reader: raw <flex dim="1">, as MuJoCo 4 saves flexcomps, as rods.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/model/add_rod.h"
#include "capstan/scene/rod.h"
#include "capstan/step/step.h"
#include "tests/io/mjcf_helpers.h"

namespace capstan::mjcf_flex_test {
namespace {

const std::string kOption = "<option timestep='0.001' integrator='discrete'/>";
const std::string kInside =
    "<elasticity young='1e7' poisson='0.3' section='box' sectionsize='0.006 0.004'/>"
    "<contact contype='2' conaffinity='3' friction='0.3' margin='0.001'/>";

std::string point(const std::string& name, const Vec3& at, double mass) {
  return fmt::format(
      "<body name='{}' pos='{} {} {}'><inertial pos='0 0 0' mass='{}' diaginertia='1e-7 1e-7 1e-7'/>"
      "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/><joint type='slide'/></body>",
      name, at.x(), at.y(), at.z(), mass);
}
std::string twist(const std::string& name) {
  return fmt::format(
      "<body name='{}'><inertial pos='0 0 0' mass='1e-09' diaginertia='2e-06 2e-06 2e-06'/>"
      "<joint name='{}' axis='1 0 0'/></body>",
      name, name);
}

struct Saved {
  std::string bodies, twists, flex;
};

// What MuJoCo 4.0.0 writes for <flexcomp name='rope' dim='1' count='n 1 1' spacing='h' mass='m'> with its
// first two points pinned to `body`; its middle is at `middle` in that body.
Saved save(int n, double h, double mass, const Vec3& middle, const std::string& body,
           const std::string& inside, double radius = 0.01) {
  Saved saved;
  std::string names, vertices, elements;
  for (int i = 0; i < n; ++i) {
    const Vec3 at = middle + Vec3((i - 0.5 * (n - 1)) * h, 0, 0);
    const bool is_pinned = i < 2;
    if (!is_pinned) saved.bodies += point(fmt::format("rope_{}", i), at, mass / n);
    if (i > 0 && i + 1 < n)
      saved.twists += twist(i + 2 == n ? "rope_twist" : fmt::format("rope_twist_{}", i));
    names += (is_pinned ? body : fmt::format("rope_{}", i)) + " ";
    vertices += is_pinned ? fmt::format("{} {} {} ", at.x(), at.y(), at.z()) : "0 0 0 ";
    if (i + 1 < n) elements += fmt::format("{} {} ", i, i + 1);
  }
  saved.flex = fmt::format(
      "<deformable><flex name='rope' dim='1' radius='{}' body='{}' vertex='{}' element='{}'>{}</flex>"
      "</deformable><equality><flex flex='rope' solref='0.002'/></equality>",
      radius, names, vertices, elements, inside);
  return saved;
}

TEST_F(Mjcf, AFlexThatMuJoCoSavedIsTheRodThatItWas) {
  for (const std::string body : {"world", "hand"}) {
    const std::string hand =
        "<body name='hand' pos='0 0 1' euler='0 0 90'><joint type='slide'/><geom size='.1'/>";
    const auto whole = [&](const std::string& content) {
      return "<worldbody>" + (body == "hand" ? hand + content + "</body>" : content) + "</worldbody>";
    };
    const Scene expected = read_clean(
        whole("<flexcomp name='rope' dim='1' count='6 1 1' spacing='.1 .1 .1' pos='1 2 3' mass='0.2' "
              "radius='0.01'><pin id='0 1'/><edge equality='true'/>" +
              kInside + "</flexcomp>"));
    const Saved saved = save(6, 0.1, 0.2, {1, 2, 3}, body, kInside);
    const Scene scene =
        read_clean(whole(saved.bodies + (body == "hand" ? "" : saved.twists)) +
                   (body == "hand" ? "<worldbody>" + saved.twists + "</worldbody>" : "") + saved.flex);
    EXPECT_EQ(scene.bodies.size(), expected.bodies.size());
    ASSERT_EQ(scene.rods.size(), 1u);
    const RodSpec &rod = scene.rods[0], &other = expected.rods.at(0);
    EXPECT_EQ(rod.name, other.name);
    EXPECT_EQ(rod.body, other.body);
    ASSERT_EQ(rod.nodes.size(), other.nodes.size());
    for (int i = 0; i < 6; ++i) expect_near(rod.nodes[i], other.nodes[i], 1e-12);
    EXPECT_NEAR(rod.density, other.density, 1e-9 * other.density);
    EXPECT_EQ(rod.young_modulus, other.young_modulus);
    EXPECT_EQ(rod.section.type, other.section.type);
    EXPECT_EQ(rod.section.width, other.section.width);
    expect_near(rod.director, other.director, 1e-12);
    EXPECT_EQ(rod.clamped_edges, other.clamped_edges);
    EXPECT_EQ(rod.pinned_nodes, other.pinned_nodes);
    ASSERT_EQ(rod.attachments.size(), other.attachments.size());
    for (std::size_t k = 0; k < rod.attachments.size(); ++k) {
      EXPECT_EQ(rod.attachments[k].edge, other.attachments[k].edge);
      EXPECT_EQ(rod.attachments[k].body, other.attachments[k].body);
    }
    EXPECT_EQ(rod.group_bits, 2u);
    EXPECT_EQ(rod.mask_bits, 3u);
    EXPECT_EQ(rod.margin, 0.001);
    EXPECT_NO_THROW(compile(scene));
  }
}

// MuJoCo's tips after 0.25 and 0.5 s, of the file that 4.0.0 saved; its last point weighs as much as the
// others, ours half of it.
TEST_F(Mjcf, AFlexFallsAsInMuJoCo) {
  const Saved saved =
      save(21, 0.05, 0.1, {0.5, 0, 1}, "world", "<elasticity young='1e7' poisson='0.3'/>", 0.005);
  const Scene scene =
      read_clean(kOption + "<worldbody>" + saved.bodies + saved.twists + "</worldbody>" + saved.flex);
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  StepOptions options = step_options(model);
  options.integrator = Integrator::midpoint;
  for (int i = 0; i < 250; ++i) step(model, options, {}, &state, &workspace);
  EXPECT_LT((Rod::node(state.q, 20) - Vec3(0.89872, 0, 0.70471)).norm(), 0.01);
  for (int i = 0; i < 250; ++i) step(model, options, {}, &state, &workspace);
  EXPECT_LT((Rod::node(state.q, 20) - Vec3(-0.10181, 0, 0.11946)).norm(), 0.05);
}

// A bob that a connect holds at the last point.
TEST_F(Mjcf, ConstraintsMayNameThePointsOfAFlex) {
  const Saved saved = save(11, 0.05, 0.1, {0.25, 0, 1}, "world", "<elasticity young='1e7' poisson='0.3'/>");
  const Scene scene = read_clean(
      kOption + "<worldbody>" + saved.bodies + saved.twists +
      "<body name='bob' pos='0.5 0 0.95'><freejoint/><geom size='0.02' mass='0.1'/></body></worldbody>" +
      saved.flex + "<equality><connect body1='rope_10' body2='bob' anchor='0 0 0'/></equality>" +
      "<contact><exclude body1='bob' body2='rope_10'/></contact>");
  EXPECT_EQ(scene.constraints.at(0).body_a, "rope/9");
  const Model model = compile(scene);
  State state = initial_state(model);
  Workspace workspace = make_workspace(model);
  const StepOptions options = step_options(model);
  for (int i = 0; i < 200; ++i) step(model, options, {}, &state, &workspace);
  const Vec3 bob = state.q.head<3>();
  const Vec4 turn = state.q.segment<4>(3);
  const Vec3 held = bob + rotation_matrix(turn) * Vec3(0, 0, 0.05);
  const int q_begin = model.objects.back().q_begin;
  EXPECT_LT(bob.z(), 0.9);
  EXPECT_LT((Rod::node(state.q.segment(q_begin, 44), 10) - held).norm(), 1e-3);
}

TEST_F(Mjcf, WhatOfAFlexIsNoRodIsTold) {
  const auto flex = [](const std::string& attributes, const std::string& mass_b = "0.1") {
    return "<worldbody>" + point("a", {0, 0, 1}, 0.1) + point("b", {0.1, 0, 1}, std::stod(mass_b)) +
           point("c", {0.2, 0, 1}, 0.1) + "</worldbody><deformable><flex name='f' " + attributes +
           "><elasticity young='1e6'/></flex></deformable>";
  };
  const struct {
    std::string text, told;
    std::size_t rods, bodies;
  } cases[] = {
      {flex("dim='1' body='a b c' element='0 1 1 2'"), "", 1, 0},
      {flex("dim='1' body='a b c' element='0 1 1 2'", "0.2"), "weigh 0.1 to 0.2 kg", 1, 0},
      {flex("dim='2' body='a b c' element='0 1 2'"), "is not supported but for dim 1", 0, 3},
      {flex("dim='1' body='a b c' element='0 2 2 1'"), "is no single chain", 0, 3},
      {flex("dim='1' body='a' vertex='0 0 0 1 0 0' element='0 1'"), "has no body for each of its vertices", 0,
       3},
      {flex("dim='1' body='a b nobody' element='0 1 1 2'"), "body 'nobody' does not exist", 0, 1},
      {flex("dim='1' body='a b other' element='0 1 1 2'") +
           "<worldbody><flexcomp name='other' dim='1'><elasticity young='1e6'/></flexcomp></worldbody>",
       "'other' is no body", 1, 1},
      {flex("dim='1' body='world world world' vertex='0 0 0 1 0 0 2 0 0' element='0 1 1 2'"), "has no point",
       0, 3},
  };
  for (const auto& c : cases) {
    const Scene scene = read(c.text);
    EXPECT_EQ(scene.rods.size(), c.rods) << c.text;
    EXPECT_EQ(scene.bodies.size(), c.bodies) << c.text;
    if (c.told.empty()) {
      EXPECT_EQ(diagnostics.text(), "");
    } else {
      EXPECT_NE(diagnostics.text().find(c.told), std::string::npos) << c.told << "\n" << diagnostics.text();
    }
  }
}

}  // namespace
}  // namespace capstan::mjcf_flex_test
