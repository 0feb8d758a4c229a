// What compile() makes of a good scene.
#include <gtest/gtest.h>

#include <chrono>

#include "capstan/dynamics/tree.h"
#include "capstan/math/rotation.h"
#include "capstan/model/inertia.h"
#include "capstan/model/model.h"
#include "capstan/model/with_friction.h"
#include "capstan/state/state.h"
#include "tests/support/random_scene.h"

namespace capstan::compile_test {
namespace {

using test::Random;

Body make_body(const std::string& name, const std::string& parent,
               std::optional<JointType> type = JointType::revolute) {
  Body body;
  body.name = name;
  body.parent = parent;
  body.inertia = Inertia{1, Vec3(0.1, 0, 0), 0.01 * Mat3::Identity()};
  if (type) {
    Joint joint;
    joint.name = name + "_joint";
    joint.type = *type;
    body.joints.push_back(joint);
  }
  return body;
}

TEST(Compile, BodiesAreDepthFirstWhateverTheOrderOfTheScene) {
  Scene scene;
  // world -> a -> (b -> d, c), e;   children before parents in the list, siblings in its order
  scene.bodies = {make_body("d", "b"), make_body("b", "a"), make_body("c", "a"), make_body("a", kWorld),
                  make_body("e", kWorld)};
  const Model model = compile(scene);
  std::string order;
  for (const ModelBody& body : model.bodies) order += body.name + " ";
  EXPECT_EQ(order, "world a b d c e ");
  const auto link = [&](const char* name) { return model.links[model.bodies[model.find_body(name)].link]; };
  EXPECT_EQ(link("a").subtree_end, 5);
  EXPECT_EQ(link("b").subtree_end, 4);
  EXPECT_EQ(link("c").subtree_end, 5);
  EXPECT_EQ(link("e").subtree_end, 6);
  EXPECT_EQ(link("d").parent, model.bodies[model.find_body("b")].link);
  ASSERT_EQ(model.trees.size(), 2u);
  EXPECT_EQ(model.trees[0].link_begin, 1);
  EXPECT_EQ(model.trees[0].link_end, 5);
  EXPECT_EQ(model.trees[0].num_dofs(), 4);
  EXPECT_EQ(model.trees[1].dof_begin, 4);
  EXPECT_EQ(model.links[0].object, -1);
  EXPECT_EQ(model.find_body("nobody"), -1);
  // Row of d: itself and its ancestors a and b, not its cousin c.
  const int d = 2, c = 3;
  EXPECT_EQ(model.pattern.row_size(d), 3);
  EXPECT_EQ(model.pattern.row_size(c), 2);
}

// On random trees: the invariants that the dynamics rely on.
TEST(Compile, SubtreesAreContiguousRangesOfLinksAndDofs) {
  Random random(11);
  for (int trial = 0; trial < 100; ++trial) {
    const Model model = compile(test::random_scene(random, 1 + trial % 15));
    int dof = 0;
    for (int l = 1; l < model.num_links(); ++l) {
      const Link& link = model.links[l];
      ASSERT_LT(link.parent, l);
      EXPECT_EQ(link.dof_begin, dof);
      dof = link.dof_end;
      EXPECT_GT(link.dof_end, link.dof_begin);
      EXPECT_LE(link.dof_end - link.dof_begin, 6);
      for (int m = 1; m < model.num_links();
           ++m) {  // m is in the subtree of l exactly when walking up says so
        int up = m;
        while (up > l) up = model.links[up].parent;
        EXPECT_EQ(up == l, m >= l && m < link.subtree_end) << l << " " << m;
      }
      EXPECT_EQ(link.object, link.parent == 0 ? link.object : model.links[link.parent].object);
      EXPECT_TRUE(l >= model.trees[link.object].link_begin && l < model.trees[link.object].link_end);
      for (int k = link.dof_begin; k < link.dof_end; ++k) EXPECT_EQ(model.dofs[k].link, l);
    }
    EXPECT_EQ(dof, model.num_velocities());
  }
}

TEST(Compile, JointsHaveTheirLayout) {
  struct Expected {
    JointType type;
    int q, v, stages;
  };
  for (const Expected& e : {Expected{JointType::weld, 0, 0, 0}, Expected{JointType::revolute, 1, 1, 1},
                            Expected{JointType::prismatic, 1, 1, 1}, Expected{JointType::screw, 1, 1, 1},
                            Expected{JointType::universal, 2, 2, 2}, Expected{JointType::ball, 4, 3, 1},
                            Expected{JointType::planar, 3, 3, 3}, Expected{JointType::free, 7, 6, 1}}) {
    SCOPED_TRACE(joint_type_name(e.type));
    Scene scene;
    scene.bodies = {make_body("a", kWorld, e.type), make_body("b", "a")};
    scene.bodies[0].joints[0].axis = Vec3(0, 0, 3);
    const Model model = compile(scene);
    EXPECT_EQ(model.num_positions, e.q + 1);
    EXPECT_EQ(model.num_velocities(), e.v + 1);
    EXPECT_EQ(static_cast<int>(model.stages.size()), e.stages + 1);
    EXPECT_EQ(model.joints.size(), e.v > 0 ? 2u : 1u);  // a weld is no joint of the model
    EXPECT_EQ(model.joints.back().q, e.q);
    EXPECT_EQ(model.joints.back().v, e.v);
    for (const Stage& stage : model.stages) EXPECT_NEAR(stage.axis.norm(), 1, 1e-15);
    for (int k = 0; k < e.v; ++k) EXPECT_EQ(model.dofs[k].q, e.q == e.v ? k : -1);
  }
}

// A tree with welds against its twin, where each weld is a prismatic joint that does not move: every body is
// at the same place, and the mass matrix of the moving dofs is the same.
TEST(Compile, WeldedBodiesFuseIntoLinksThatMoveAsTheUnfusedTwin) {
  Random random(12);
  for (int trial = 0; trial < 40; ++trial) {
    Scene fused = test::random_scene(random, 8);
    for (int i = 2; i < 8; i += 2) {
      fused.bodies[i].joints.clear();
      fused.bodies[i].gravity_compensated = trial % 2 == 0;
    }
    Scene unfused = fused;
    for (Body& body : unfused.bodies) {
      if (!body.joints.empty()) continue;
      Joint joint;
      joint.name = "lock_" + body.name;
      joint.type = JointType::prismatic;
      body.joints.push_back(joint);
    }
    const Model a = compile(fused), b = compile(unfused);
    ASSERT_EQ(a.bodies.size(), b.bodies.size());
    EXPECT_LT(a.num_links(), b.num_links());
    const State sa = test::random_state(random, a, 2);
    State sb = initial_state(b);
    std::vector<int> moving(a.num_velocities());  // dof of b for each of a
    for (const ModelJoint& ja : a.joints) {
      const ModelJoint& jb = b.joints[b.find_joint(ja.name)];
      for (int k = 0; k < num_positions(ja.type); ++k) sb.q[jb.q + k] = sa.q[ja.q + k];
      for (int k = 0; k < num_velocities(ja.type); ++k) {
        sb.v[jb.v + k] = sa.v[ja.v + k];
        moving[ja.v + k] = jb.v + k;
      }
    }
    Placement pa = make_placement(a), pb = make_placement(b);
    Velocity va = make_velocity(a), vb = make_velocity(b);
    TreeWorkspace wa = make_tree_workspace(a), wb = make_tree_workspace(b);
    calc_placement(a, sa.q, &pa);
    calc_placement(b, sb.q, &pb);
    calc_velocity(a, pa, sa.v, &va);
    calc_velocity(b, pb, sb.v, &vb);
    for (const ModelBody& body : a.bodies) {
      const int ia = a.find_body(body.name), ib = b.find_body(body.name);
      const Transform Xa = body_pose(a, pa, ia), Xb = body_pose(b, pb, ib);
      EXPECT_LT((Xa.R - Xb.R).norm() + (Xa.p - Xb.p).norm(), 1e-13);
      EXPECT_LT((body_velocity(a, pa, va, ia) - body_velocity(b, pb, vb, ib)).norm(), 1e-12);
      EXPECT_EQ(body.mass, b.bodies[ib].mass);
    }
    VecX Ma(a.pattern.num_values()), Mb(b.pattern.num_values());
    calc_mass_matrix(a, pa, &wa, &Ma);
    calc_mass_matrix(b, pb, &wb, &Mb);
    const int n = a.num_velocities();
    MatX A(n, n), B(b.num_velocities(), b.num_velocities());
    expand(a.pattern, Ma.data(), 0, n, A);
    expand(b.pattern, Mb.data(), 0, b.num_velocities(), B);
    VecX ta(n), tb(b.num_velocities());
    calc_inverse_dynamics(a, pa, va, nullptr, &wa, &ta);  // also gravity and its compensation
    calc_inverse_dynamics(b, pb, vb, nullptr, &wb, &tb);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) EXPECT_NEAR(A(i, j), B(moving[i], moving[j]), 1e-11 * A.norm());
      EXPECT_NEAR(ta[i], tb[moving[i]], 1e-11 * (1 + ta.norm()));
    }
  }
}

TEST(Compile, AFusedLinkHasTheSumOfItsBodies) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld), make_body("b", "a", std::nullopt),
                  make_body("c", "b", JointType::weld), make_body("post", kWorld, std::nullopt)};
  Random random(3);
  for (Body& body : scene.bodies) {
    body.pose = {test::random_vector(random, 1), test::random_quat(random)};
    body.inertia = test::random_inertia(random);
  }
  scene.bodies[1].gravity_compensated = true;
  const Model model = compile(scene);
  ASSERT_EQ(model.num_links(), 2);
  EXPECT_EQ(model.bodies[model.find_body("post")].link, 0);
  const Transform X_AB = to_transform(scene.bodies[1].pose), X_AC = X_AB * to_transform(scene.bodies[2].pose);
  Inertia sum;
  add_inertia(*scene.bodies[0].inertia, {}, &sum);
  add_inertia(*scene.bodies[1].inertia, X_AB, &sum);
  add_inertia(*scene.bodies[2].inertia, X_AC, &sum);
  EXPECT_NEAR(model.links[1].mass, sum.mass, 1e-14);
  EXPECT_LT((model.links[1].com - sum.com).norm(), 1e-14);
  EXPECT_LT((model.links[1].inertia - sum.about_com).norm(), 1e-14);
  EXPECT_LT((model.bodies[model.find_body("c")].X_LB.p - X_AC.p).norm(), 1e-14);
  EXPECT_EQ(model.links[1].weightless_mass, scene.bodies[1].inertia->mass);
  EXPECT_LT((model.links[1].weightless_com - X_AB * scene.bodies[1].inertia->com).norm(), 1e-15);
}

TEST(Compile, InitialStateAndKeyframesFillInReferences) {
  Scene scene;
  scene.bodies = {make_body("slide", kWorld, JointType::prismatic),
                  make_body("ball", "slide", JointType::ball), make_body("free", kWorld, JointType::free)};
  scene.bodies[0].joints[0].reference = 0.25;
  scene.bodies[2].pose = {Vec3(1, 2, 3), Vec4(0, 2, 0, 0)};
  Actuator motor;
  motor.name = "motor";
  motor.joint = "slide_joint";
  motor.control = 4;
  scene.actuators.push_back(motor);
  scene.initial.v["ball_joint"] = {1, 2, 3};
  Keyframe key;
  key.name = "key";
  key.time = 2;
  key.q["ball_joint"] = {0, 0, 0, -5};  // made unit
  key.control["motor"] = 7;
  scene.keyframes.push_back(key);
  const Model model = compile(scene);
  const State start = initial_state(model), later = keyframe_state(model, "key");
  VecX q(12), v(10);
  q << 0.25, 1, 0, 0, 0, 1, 2, 3, 0, 1, 0, 0;
  v << 0, 1, 2, 3, 0, 0, 0, 0, 0, 0;
  EXPECT_EQ(start.q, q);
  EXPECT_EQ(start.v, v);
  EXPECT_EQ(start.time, 0);
  EXPECT_EQ(start.control[0], 4);
  q.segment<4>(1) = Vec4(0, 0, 0, -1);
  EXPECT_EQ(later.q, q);
  EXPECT_EQ(later.v, VecX::Zero(10));
  EXPECT_EQ(later.time, 2);
  EXPECT_EQ(later.control[0], 7);
  // At the reference, bodies have the pose the scene gave them.
  Placement placement = make_placement(model);
  calc_placement(model, start.q, &placement);
  EXPECT_EQ(body_pose(model, placement, 1).p, Vec3::Zero());
  EXPECT_EQ(body_pose(model, placement, 3).p, Vec3(1, 2, 3));
}

TEST(Compile, TransmissionsOfActuatorsAndTendons) {
  Scene scene;
  scene.bodies = {make_body("palm", kWorld), make_body("finger", "palm"), make_body("thumb", "palm"),
                  make_body("eye", kWorld, JointType::ball), make_body("other", kWorld)};
  Tendon tendon;
  tendon.name = "one";
  tendon.terms = {{"palm_joint", 3}};
  tendon.rotor_inertia = 0.02;
  scene.tendons.push_back(tendon);
  tendon.name = "across";
  tendon.terms = {{"palm_joint", 1}, {"other_joint", -1}};
  tendon.rotor_inertia = 0;
  tendon.damping = 1;
  scene.tendons.push_back(tendon);
  const auto add_actuator = [&](const char* name, const char* joint, const char* tendon_name) {
    Actuator a;
    a.name = name;
    a.joint = joint;
    a.tendon = tendon_name;
    a.gear << 2, 0, -1, 9, 9, 9;
    a.bias[1] = -1;
    scene.actuators.push_back(a);
  };
  add_actuator("on_joint", "finger_joint", "");
  add_actuator("on_tendon", "", "across");
  add_actuator("on_ball", "eye_joint", "");
  Model model = compile(scene);
  EXPECT_NEAR(model.dofs[0].rotor_inertia, 9 * 0.02, 1e-16);
  const auto terms = [&](const Transmission& t) {
    std::string text = std::to_string(t.tree) + ":";
    for (const auto& term : t.terms)
      text += " " + std::to_string(term.dof) + "*" + std::to_string(static_cast<int>(term.coefficient));
    return text;
  };
  EXPECT_EQ(terms(model.tendons[0].transmission), "0: 0*3");
  EXPECT_EQ(terms(model.tendons[1].transmission), "-1: 0*1 6*-1");
  EXPECT_EQ(terms(model.actuators[0].transmission), "0: 1*2");
  EXPECT_EQ(terms(model.actuators[1].transmission), "-1: 0*2 6*-2");
  EXPECT_EQ(terms(model.actuators[2].transmission), "1: 3*2 5*-1");
  EXPECT_FALSE(model.trees[0].coupled);  // palm and other are in two trees, finger alone
  EXPECT_EQ(model.system_pattern.num_values(), model.pattern.num_values());

  // Finger and thumb are siblings: an implicit tendon makes their tree a full triangle, a motor does not.
  tendon.name = "grasp";
  tendon.terms = {{"finger_joint", 1}, {"thumb_joint", 1}};
  tendon.damping = 0;
  scene.tendons.push_back(tendon);
  EXPECT_FALSE(compile(scene).trees[0].coupled);
  scene.tendons.back().stiffness = 1;
  model = compile(scene);
  EXPECT_TRUE(model.trees[0].coupled);
  EXPECT_FALSE(model.trees[1].coupled);
  EXPECT_EQ(model.system_pattern.num_values(), model.pattern.num_values() + 1);
  for (int k = 0; k < model.num_velocities(); ++k) {
    for (int i = model.pattern.row_start[k]; i < model.pattern.row_start[k + 1]; ++i) {
      const int at = model.mass_in_system[i];
      EXPECT_EQ(model.system_pattern.columns[at], model.pattern.columns[i]);
      EXPECT_TRUE(at >= model.system_pattern.row_start[k] && at < model.system_pattern.row_start[k + 1]);
    }
  }
}

TEST(Compile, PairsExcludesAndStiffnessPerKilogram) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld), make_body("b", "a", std::nullopt), make_body("c", kWorld)};
  Material soft;
  soft.name = "soft";
  soft.stiffness_per_kilogram = 2500;
  scene.materials.push_back(soft);
  const auto add_shape = [&](const char* name, const char* body, const char* material) {
    ShapeInstance s;
    s.name = name;
    s.body = body;
    s.shape = Sphere{0.1};
    s.material = material;
    s.pose.position = Vec3(0, 0, 1);
    scene.shapes.push_back(s);
  };
  scene.bodies[1].pose.position = Vec3(1, 0, 0);
  add_shape("on_b", "b", "soft");
  add_shape("floor", kWorld, "soft");
  add_shape("plain", "c", "default");
  PairOverride pair;
  pair.a = "default";
  pair.b = "soft";
  pair.friction = 0.8;
  scene.pairs.push_back(pair);
  pair.kind = PairOverride::Kind::shapes;
  pair.a = "plain";
  pair.b = "floor";
  scene.pairs.push_back(pair);
  scene.excludes = {{"c", "a", {}}, {"b", kWorld, {}}};
  const Model model = compile(scene);
  EXPECT_EQ(model.shapes[0].stiffness, 2500 * 2.0);  // both bodies of the link
  EXPECT_EQ(model.shapes[1].stiffness, kInfinity);   // the other shape decides
  EXPECT_EQ(model.shapes[2].stiffness, 1e6);
  EXPECT_EQ(model.shapes[0].link, 1);
  EXPECT_EQ(model.shapes[0].X_LS.p, Vec3(1, 0, 1));
  ASSERT_EQ(model.pairs.size(), 2u);
  EXPECT_EQ(model.materials[model.pairs[0].a].name, "default");
  EXPECT_EQ(model.materials[model.pairs[0].b].name, "soft");
  EXPECT_EQ(model.shapes[model.pairs[1].a].name, "plain");
  EXPECT_EQ(model.shapes[model.pairs[1].b].name, "floor");
  using Pair = std::array<int, 2>;
  EXPECT_EQ(model.excluded_bodies, (std::vector<Pair>{{0, 2}, {1, 3}}));
}

TEST(Compile, AnEmptySceneAndOneOfFixedBodiesAreModels) {
  Scene scene;
  for (int i = 0; i < 2; ++i) {
    const Model model = compile(scene);
    EXPECT_EQ(model.num_velocities(), 0);
    EXPECT_EQ(model.num_links(), 1);
    EXPECT_EQ(model.trees.size(), 0u);
    scene.bodies = {make_body("post", kWorld, std::nullopt), make_body("sign", "post", JointType::weld)};
  }
}

// What a saved state depends on changes the fingerprint; what it does not depend on does not.
TEST(Compile, TheFingerprintSeesGeometry) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld), make_body("b", "a")};
  const std::uint64_t before = compile(scene).fingerprint;
  EXPECT_EQ(compile(scene).fingerprint, before);
  Scene changed = scene;
  changed.bodies[1].joints[0].axis = Vec3(0, 1, 0);
  EXPECT_NE(compile(changed).fingerprint, before);
  changed = scene;
  changed.bodies[1].joints[0].position = Vec3(0, 1, 0);
  EXPECT_NE(compile(changed).fingerprint, before);
  changed = scene;
  changed.bodies[1].gravity_compensated = true;
  EXPECT_NE(compile(changed).fingerprint, before);
  changed = scene;
  changed.options.duration = 77;
  EXPECT_EQ(compile(changed).fingerprint, before);
}

double seconds_to_compile(const Scene& scene) {
  const auto start = std::chrono::steady_clock::now();
  const Model model = compile(scene);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

Scene free_bodies(int n) {
  Scene scene;
  for (int i = 0; i < n; ++i) {
    scene.bodies.push_back(make_body("body" + std::to_string(i), kWorld, JointType::free));
    scene.bodies.back().inertia.reset();
    ShapeInstance s;
    s.name = "shape" + std::to_string(i);
    s.body = scene.bodies.back().name;
    s.shape = Sphere{0.1};
    scene.shapes.push_back(s);
    scene.initial.v[scene.bodies.back().joints[0].name] = {0, 0, 1, 0, 0, 0};
  }
  return scene;
}

// Growth, not speed, is what is held: eight times the bodies may take 24 times as long, 64 would be
// quadratic.
TEST(Compile, AnotherFrictionNeedsNoCompiling) {
  Scene scene;
  scene.bodies = {make_body("a", kWorld, JointType::free)};
  ShapeInstance shape;
  shape.name = "ball";
  shape.body = "a";
  shape.shape = Sphere{0.1};
  shape.material = "wood";
  scene.shapes = {shape};
  Material wood;
  wood.name = "wood";
  wood.friction = 0.4;
  wood.friction_tensor = FrictionTensor{};
  scene.materials = {wood};
  const Model before = compile(scene);
  const std::uint64_t fingerprint = before.fingerprint;
  const Model changed = with_friction(before, 0, 0.7);
  EXPECT_EQ(changed.materials[0].friction, 0.7);
  EXPECT_FALSE(changed.materials[0].friction_tensor.has_value());
  EXPECT_EQ(before.materials[0].friction, 0.4);
  EXPECT_TRUE(before.materials[0].friction_tensor.has_value());
  EXPECT_EQ(before.fingerprint, fingerprint);
  scene.materials[0].friction = 0.7;
  scene.materials[0].friction_tensor.reset();
  EXPECT_EQ(changed.fingerprint, compile(scene).fingerprint);
  EXPECT_NE(changed.fingerprint, fingerprint);
  // The default material, which the scene does not say.
  ASSERT_EQ(before.materials[1].name, "default");
  EXPECT_EQ(with_friction(before, 1, 0.1).materials[1].friction, 0.1);
}

TEST(Compile, TimeGrowsInProportionToTheScene) {
  const double small = seconds_to_compile(free_bodies(2'500)),
               large = seconds_to_compile(free_bodies(20'000));
  EXPECT_LT(large, 24 * small + 0.1);
  Scene chain;
  for (int i = 0; i < 1000; ++i)
    chain.bodies.push_back(make_body("b" + std::to_string(i), i == 0 ? kWorld : "b" + std::to_string(i - 1)));
  const double long_chain = seconds_to_compile(chain);
  std::printf("compile: 20,000 free bodies %.3f s, chain of 1,000 links %.3f s\n", large, long_chain);
  EXPECT_LT(long_chain, 5);
}

}  // namespace
}  // namespace capstan::compile_test
