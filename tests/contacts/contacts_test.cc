#include "capstan/contacts/contacts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "capstan/math/rotation.h"
#include "tests/support/random_scene.h"

namespace capstan::contacts_test {
namespace {

using test::Random;

ShapeInstance make_shape(const std::string& name, const std::string& body, const Shape& shape) {
  ShapeInstance s;
  s.name = name;
  s.body = body;
  s.shape = shape;
  return s;
}

Body free_body(const std::string& name, const Vec3& position) {
  Body body;
  body.name = name;
  body.pose.position = position;
  Joint joint;
  joint.name = name + "_free";
  joint.type = JointType::free;
  body.joints.push_back(joint);
  return body;
}

// Bodies of random shapes in a small volume over a floor, some with two shapes.
Scene pile(Random& random, int n) {
  Scene scene;
  scene.shapes.push_back(make_shape("floor", kWorld, HalfSpace{}));
  for (int i = 0; i < n; ++i) {
    const std::string name = "b" + std::to_string(i);
    Body body = free_body(name, test::random_vector(random, 0.4));
    body.pose.quat_wxyz = test::random_quat(random);
    scene.bodies.push_back(body);
    const Shape shapes[] = {Sphere{0.1}, Box{Vec3(0.1, 0.05, 0.08)}, Capsule{0.05, 0.1}, Cylinder{0.06, 0.1},
                            Ellipsoid{Vec3(0.1, 0.07, 0.05)}};
    scene.shapes.push_back(make_shape(name + "_s", name, shapes[i % 5]));
    if (i % 3 == 0) {
      scene.shapes.push_back(make_shape(name + "_t", name, shapes[(i + 2) % 5]));
      scene.shapes.back().pose.position = Vec3(0.1, 0, 0);
    }
  }
  return scene;
}

struct Found {
  Placement placement;
  Contacts contacts;
};

Found find(const Model& model, const State& state) {
  Found found{make_placement(model), {}};
  calc_placement(model, state.q, &found.placement);
  CollisionWorkspace workspace = make_collision_workspace(model);
  collide(model, found.placement, &workspace, &found.contacts);
  return found;
}

void expect_equal(const Contacts& a, const Contacts& b) {
  EXPECT_EQ(a.shape_a, b.shape_a);
  EXPECT_EQ(a.shape_b, b.shape_b);
  EXPECT_EQ(a.distance, b.distance);
  EXPECT_EQ(a.p_WC, b.p_WC);
  EXPECT_EQ(a.feature, b.feature);
  EXPECT_EQ(a.group_begin, b.group_begin);
}

TEST(Contacts, BroadPhaseMissesNothingAndHistoryDoesNotMatter) {
  Random random(1);
  Scene scene = pile(random, 30);
  const Model model = compile(scene);
  State state = initial_state(model);
  CollisionWorkspace workspace = make_collision_workspace(model);
  Placement placement = make_placement(model);
  int total = 0;
  for (int i = 0; i < 50; ++i) {
    for (double& x : state.v) x = test::uniform(random, -1, 1);
    move(model, state.q, state.v, 0.05, &state.q);
    calc_placement(model, state.q, &placement);
    Contacts with_history, plain;
    collide(model, placement, &workspace, &with_history);
    collide_all_pairs(model, placement, &plain);
    expect_equal(with_history, plain);
    expect_equal(with_history, find(model, state).contacts);
    total += plain.size();
  }
  EXPECT_GT(total, 1000);
}

// Planes along the axes have boxes that end; a tilted one is everywhere.
TEST(Contacts, WallsAreReachedFromTheirOwnSideOnly) {
  Random random(2);
  const double half = std::sqrt(0.5);
  const Vec4 turns[] = {
      {1, 0, 0, 0},       {0, 1, 0, 0},        {half, 0, half, 0},       {half, 0, -half, 0},
      {half, half, 0, 0}, {half, -half, 0, 0}, test::random_quat(random)};
  for (const Vec4& turn : turns) {
    Scene scene = pile(random, 10);
    scene.shapes[0].pose.quat_wxyz = turn;
    scene.shapes[0].pose.position = Vec3(0.1, -0.2, 0.15);
    const Model model = compile(scene);
    State state = initial_state(model);
    const Found found = find(model, state);
    Contacts plain;
    collide_all_pairs(model, found.placement, &plain);
    expect_equal(found.contacts, plain);
    EXPECT_GT(std::count(plain.shape_a.begin(), plain.shape_a.end(), 0), 0);
  }
  // A ball that hovers is no pair for the broad phase, until it comes down within the step.
  Scene scene;
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{}), make_shape("ball", "ball", Sphere{0.1})};
  scene.bodies = {free_body("ball", Vec3(0, 0, 0.2))};
  const Model model = compile(scene);
  State state = initial_state(model);
  CollisionWorkspace workspace = make_collision_workspace(model);
  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  Contacts contacts;
  calc_placement(model, state.q, &placement);
  for (const double speed : {-19.0, -21.0}) {
    state.v[2] = speed;
    calc_velocity(model, placement, state.v, &velocity);
    collide(model, placement, {&velocity, nullptr, 0.005, false}, &workspace, &contacts);
    EXPECT_EQ(workspace.broad_phase.pairs().size(), speed < -20 ? 1u : 0u);
    EXPECT_EQ(contacts.size(), speed < -20 ? 1 : 0);
  }
}

TEST(Contacts, BoxesAndMotionsOfCollidersAreThoseOfAPlainTwin) {
  Random random(3);
  const Model model = compile(pile(random, 20));
  State state = test::random_state(random, model, 2);
  CollisionWorkspace w = make_collision_workspace(model);
  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  Contacts contacts;
  calc_placement(model, state.q, &placement);
  calc_velocity(model, placement, state.v, &velocity);
  const double dt = 0.003;
  collide(model, placement, {&velocity, nullptr, dt, false}, &w, &contacts);
  for (std::size_t i = 1; i < w.shape.size(); ++i) {  // 0 is the floor
    const ModelShape& shape = model.shapes[w.shape[i]];
    const Transform X = placement.X_WL[shape.link] * shape.X_LS;
    const Vec3 centre = X * shape.collider.centre, half = X.R.cwiseAbs() * shape.collider.half_box;
    EXPECT_LT((w.X_WS[i].R - X.R).norm() + (w.X_WS[i].p - X.p).norm(), 1e-14);
    EXPECT_LT((w.boxes[i].lower - (centre - half)).norm() + (w.boxes[i].upper - (centre + half)).norm(),
              1e-14);
    MatX J(3, model.num_velocities());
    calc_point_jacobian(model, placement, shape.body, centre, J);
    const Vec3 travel = dt * (J * state.v) + dt * dt * model.options.gravity;
    const double spin = dt * velocity.V[shape.link].head<3>().norm() * shape.collider.bounding_radius;
    EXPECT_LT((w.travel[i] - travel).norm(), 1e-14);
    EXPECT_NEAR(w.spin[i], spin, 1e-14);
    const Vec3 margin = Vec3::Constant(shape.pair_margin + spin);
    EXPECT_LT((w.swept[i].lower - (centre - half + travel.cwiseMin(0) - margin)).norm(), 1e-14);
    EXPECT_LT((w.swept[i].upper - (centre + half + travel.cwiseMax(0) + margin)).norm(), 1e-14);
  }
}

TEST(Contacts, AreGroupedByPairsOfLinks) {
  Random random(2);
  const Model model = compile(pile(random, 30));
  const Contacts c = find(model, initial_state(model)).contacts;
  std::set<std::pair<int, int>> seen;
  for (int g = 0; g < c.num_groups(); ++g) {
    ASSERT_LT(c.group_begin[g], c.group_begin[g + 1]);
    std::pair<int, int> links;
    for (int i = c.group_begin[g]; i < c.group_begin[g + 1]; ++i) {
      const std::pair<int, int> now = std::minmax(c.link_a[i], c.link_b[i]);
      if (i == c.group_begin[g]) links = now;
      EXPECT_EQ(now, links);
    }
    EXPECT_TRUE(seen.insert(links).second) << "two groups of one pair of links";
  }
  EXPECT_EQ(c.group_begin.back(), c.size());
}

TEST(Contacts, FiltersHold) {
  Scene scene;
  scene.bodies = {free_body("a", {0, 0, 0}), free_body("b", {0.05, 0, 0}), free_body("c", {0, 0.05, 0})};
  scene.bodies[2].parent = "a";
  scene.bodies[2].joints[0].type = JointType::revolute;
  Body welded;
  welded.name = "tip";
  welded.parent = "c";
  scene.bodies.push_back(welded);
  for (const char* name : {"a", "b", "c", "tip"}) scene.shapes.push_back(make_shape(name, name, Sphere{0.1}));
  const auto pairs = [](const Scene& s) {
    const Model model = compile(s);
    const Contacts c = find(model, initial_state(model)).contacts;
    std::set<std::string> names;
    for (int i = 0; i < c.size(); ++i)
      names.insert(model.shapes[c.shape_a[i]].name + "-" + model.shapes[c.shape_b[i]].name);
    return names;
  };
  using Names = std::set<std::string>;
  // a-c is parent and child, and so is a-tip (tip is welded to c); c-tip is one link.
  EXPECT_EQ(pairs(scene), (Names{"a-b", "b-c", "b-tip"}));
  Scene with_parents = scene;
  with_parents.options.collide_parent_child = true;
  EXPECT_EQ(pairs(with_parents), (Names{"a-b", "a-c", "a-tip", "b-c", "b-tip"}));
  Scene excluded = scene;
  excluded.excludes.push_back({"tip", "b", {}});
  EXPECT_EQ(pairs(excluded), (Names{"a-b", "b-c"}));
  Scene bits = scene;
  bits.shapes[1].group_bits = 2;
  bits.shapes[1].mask_bits = 4;
  EXPECT_EQ(pairs(bits), (Names{}));
  bits.shapes[2].mask_bits = 2;  // c asks for group 2
  EXPECT_EQ(pairs(bits), (Names{"b-c"}));
  Scene visual = scene;
  visual.shapes[1].collides = false;
  EXPECT_EQ(pairs(visual), (Names{}));
}

TEST(Contacts, MarginReportsWhatIsNearWithPositiveDistance) {
  Scene scene;
  scene.bodies = {free_body("ball", {0, 0, 0.15})};
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{}), make_shape("ball", "ball", Sphere{0.1})};
  EXPECT_EQ(find(compile(scene), initial_state(compile(scene))).contacts.size(), 0);
  scene.shapes[1].margin = 0.06;
  const Model model = compile(scene);
  const Contacts c = find(model, initial_state(model)).contacts;
  ASSERT_EQ(c.size(), 1);
  EXPECT_NEAR(c.distance[0], 0.05, 1e-15);
  EXPECT_LT((c.normal[0] - Vec3(0, 0, 1)).norm(), 1e-15);
  scene.shapes[1].margin = 0;
  PairOverride pair;
  pair.kind = PairOverride::Kind::shapes;
  pair.a = "ball";
  pair.b = "floor";
  pair.margin = 0.06;
  pair.friction = 0.123;
  scene.pairs.push_back(pair);
  const Model by_pair = compile(scene);
  const Contacts d = find(by_pair, initial_state(by_pair)).contacts;
  ASSERT_EQ(d.size(), 1);
  EXPECT_EQ(d.material[0].friction, 0.123);
}

TEST(Contacts, MaterialsCombineAsDocumented) {
  Scene scene;
  Material soft, hard;
  soft.name = "soft";
  soft.stiffness = 1e4;
  soft.dissipation = 10;
  soft.friction = 1;
  hard.name = "hard";
  hard.stiffness = 3e4;
  hard.dissipation = 50;
  hard.friction = 0.5;
  scene.materials = {soft, hard};
  scene.bodies = {free_body("ball", {0, 0, 0.096})};
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{}), make_shape("ball", "ball", Sphere{0.1})};
  scene.shapes[0].material = "hard";
  scene.shapes[1].material = "soft";
  Model model = compile(scene);
  ContactMaterial m = combine_materials(model, 0, 1);
  EXPECT_DOUBLE_EQ(m.stiffness, 7.5e3);
  EXPECT_DOUBLE_EQ(m.dissipation, 0.25 * 50 + 0.75 * 10);  // the soft one yields three quarters
  EXPECT_DOUBLE_EQ(m.friction, 2 * 0.5 / 1.5);
  // The contact point divides the overlap of 4 mm in the same way: 1 mm below the floor's surface.
  EXPECT_NEAR(find(model, initial_state(model)).contacts.p_WC[0].z(), -0.001, 1e-15);
  scene.materials[1].stiffness = kInfinity;
  model = compile(scene);
  m = combine_materials(model, 0, 1);
  EXPECT_DOUBLE_EQ(m.stiffness, 1e4);
  EXPECT_DOUBLE_EQ(m.dissipation, 10);
  EXPECT_NEAR(find(model, initial_state(model)).contacts.p_WC[0].z(), 0, 1e-15);
}

TEST(Contacts, RaysHitTheNearestShape) {
  Scene scene;
  scene.bodies = {free_body("ball", {0, 0, 1})};
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{}), make_shape("ball", "ball", Sphere{0.1})};
  const Model model = compile(scene);
  Placement placement = make_placement(model);
  calc_placement(model, initial_state(model).q, &placement);
  SceneRayHit hit = cast_ray(model, placement, {0, 0, 3}, {0, 0, -1}, kInfinity);
  EXPECT_EQ(model.shapes[hit.shape].name, "ball");
  EXPECT_NEAR(hit.hit.distance, 1.9, 1e-12);
  hit = cast_ray(model, placement, {0.5, 0, 3}, {0, 0, -1}, kInfinity);
  EXPECT_EQ(model.shapes[hit.shape].name, "floor");
  EXPECT_NEAR(hit.hit.distance, 3, 1e-12);
  EXPECT_EQ(cast_ray(model, placement, {0.5, 0, 3}, {0, 0, -1}, 2.5).shape, -1);
  EXPECT_EQ(cast_ray(model, placement, {0, 0, 3}, {0, 0, 1}, kInfinity).shape, -1);
}

// sap and similar hold what slides mu dt v above the surface, also where it is the belt that moves, and
// endless.
TEST(Contacts, AMovingHalfSpaceReachesWhatGlidesOverIt) {
  Scene scene;
  scene.shapes = {make_shape("belt", kWorld, HalfSpace{}), make_shape("ball", "ball", Sphere{0.1})};
  scene.bodies = {free_body("ball", Vec3(0, 0, 0.105))};
  const double dt = 0.01;
  for (const double speed : {0.0, 1.0}) {
    scene.shapes[0].surface_velocity = Vec3(speed, 0, 0);
    const Model model = compile(scene);
    Placement placement = make_placement(model);
    Velocity velocity = make_velocity(model);
    const State state = initial_state(model);
    calc_placement(model, state.q, &placement);
    calc_velocity(model, placement, state.v, &velocity);
    CollisionWorkspace workspace = make_collision_workspace(model);
    Contacts contacts;
    VecX v_free = state.v;
    v_free[2] -= 9.81 * dt;  // presses them together
    collide(model, placement, {&velocity, &v_free, dt, true}, &workspace, &contacts);
    ASSERT_EQ(contacts.size(), speed > 0 ? 1 : 0);
    EXPECT_EQ(contacts.count(ContactKind::gliding), contacts.size());
    for (const double distance : contacts.distance) EXPECT_NEAR(distance, 0.005, 1e-12);
  }
}

// sap holds it mu (dt + tau) v above: with a small step far more than it travels.
TEST(Contacts, WhatGlidesIsReachedWhenTheStepIsMuchSmallerThanTheRelaxationTime) {
  const double dt = 1e-5, tau = 1e-3, mu = 0.5, speed = 2, glide = mu * (dt + tau) * speed;
  Scene scene;
  scene.materials = {Material{}};
  scene.materials[0].name = "default";
  scene.materials[0].friction = mu;
  scene.materials[0].relaxation_time = tau;
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{}), make_shape("ball", "ball", Sphere{0.1})};
  scene.bodies = {free_body("ball", Vec3(0, 0, 0.1 + 0.99 * glide))};
  const Model model = compile(scene);
  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  State state = initial_state(model);
  calc_placement(model, state.q, &placement);
  CollisionWorkspace workspace = make_collision_workspace(model);
  Contacts contacts;
  for (const double v : {speed, 0.9 * speed}) {
    state.v[0] = v;
    calc_velocity(model, placement, state.v, &velocity);
    VecX v_free = state.v;
    v_free[2] -= 9.81 * dt;
    collide(model, placement, {&velocity, &v_free, dt, true}, &workspace, &contacts);
    EXPECT_EQ(contacts.size(), v == speed ? 1 : 0);
    collide(model, placement, {&velocity, nullptr, dt, true}, &workspace, &contacts);
    EXPECT_EQ(contacts.size(), 0);  // what nothing presses flies past
    collide(model, placement, {&velocity, nullptr, dt, false}, &workspace, &contacts);
    EXPECT_EQ(contacts.size(), 0);  // other laws do not glide
  }
}

// A column of balls that falls onto the floor as one: a ball can meet the one below only after that one has
// been stopped, so that contacts reach up as many gaps as it travels (2 dt v), and no further.
TEST(Contacts, AFallingColumnIsStoppedFromBelow) {
  constexpr double kGap = 0.05, kDt = 0.01;
  constexpr int kBalls = 8;
  Scene scene;
  scene.options.gravity.setZero();
  scene.shapes = {make_shape("floor", kWorld, HalfSpace{})};
  for (int i = 0; i < kBalls; ++i) {
    const std::string name = "ball" + std::to_string(i);
    scene.bodies.push_back(free_body(name, Vec3(0, 0, 0.1 + (0.2 + kGap) * i)));
    scene.shapes.push_back(make_shape(name, name, Sphere{0.1}));
  }
  const Model model = compile(scene);
  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  State state = initial_state(model);
  calc_placement(model, state.q, &placement);
  CollisionWorkspace workspace = make_collision_workspace(model);
  Contacts contacts;
  for (const double gaps : {0.5, 0.99, 1.01, 1.99, 2.01, 4.5}) {
    for (int i = 0; i < kBalls; ++i) state.v[6 * i + 2] = -gaps * kGap / kDt;
    calc_velocity(model, placement, state.v, &velocity);
    collide(model, placement, {&velocity, nullptr, kDt, false}, &workspace, &contacts);
    EXPECT_EQ(contacts.size(), 1 + static_cast<int>(gaps)) << gaps;
  }
}

// Some trees move and others stay, for many steps: the same bits as from a workspace that knows nothing. That
// something is really copied is seen when trees that are called unchanged are not.
TEST(Contacts, OfTreesThatStayAreThoseOfTheLastTime) {
  Random random(5);
  const Model model = compile(pile(random, 40));
  const int num_trees = static_cast<int>(model.trees.size());
  State state = test::random_state(random, model, 2);
  Placement placement = make_placement(model);
  Velocity velocity = make_velocity(model);
  CollisionWorkspace workspace = make_collision_workspace(model);
  Contacts contacts, anew;
  std::vector<char> unchanged(num_trees, false);
  const double dt = 0.005;
  const auto look = [&](int threads) {
    calc_placement(model, state.q, &placement);
    calc_velocity(model, placement, state.v, &velocity);
    collide(model, placement, {&velocity, nullptr, dt, false},
            {.unchanged = unchanged, .threads = Threads(threads)}, &workspace, &contacts);
    CollisionWorkspace fresh = make_collision_workspace(model);
    collide(model, placement, {&velocity, nullptr, dt, false}, &fresh, &anew);
  };
  look(1);
  int same = 0;
  for (int k = 0; k < 30; ++k) {
    for (int t = 0; t < num_trees; ++t) {
      unchanged[t] = random() % 10 < 7;
      if (unchanged[t] != 0) continue;
      state.q.segment<3>(7 * t) += test::random_vector(random, 0.01);
      state.v.segment<3>(6 * t) += test::random_vector(random, 1);
    }
    const Contacts before = contacts;
    look(1 + k % 3);
    expect_equal(contacts, anew);
    for (int i = 0; i < contacts.size(); ++i) {
      if (contacts.is_reused[i] == 0) continue;
      ++same;
      ASSERT_LT(i, before.size());
      EXPECT_EQ(before.feature[i], contacts.feature[i]);
      EXPECT_EQ(before.p_WC[i], contacts.p_WC[i]);
      EXPECT_EQ(before.distance[i], contacts.distance[i]);
    }
  }
  EXPECT_GT(same, 100);
  unchanged.assign(num_trees, true);
  for (int t = 0; t < num_trees; ++t) state.q[7 * t + 2] += 1e-4;
  const Contacts before = contacts;
  look(2);
  EXPECT_EQ(contacts.distance, before.distance);
  EXPECT_NE(contacts.distance, anew.distance);
}

}  // namespace
}  // namespace capstan::contacts_test
