#include "capstan/state/state.h"

#include <gtest/gtest.h>

#include "capstan/base/hash.h"
#include "capstan/step/step.h"
#include "tests/support/random_scene.h"

namespace capstan::state_test {
namespace {

using test::Random;

Model random_model(int seed) {
  Random random(seed);
  return compile(test::random_scene(random, 8));
}

TEST(State, DifferenceInvertsMoveAndQuaternionsStayUnit) {
  Random random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const Model model = compile(test::random_scene(random, 6));
    const State a = test::random_state(random, model, 1);
    VecX q = a.q, d(a.v.size());
    move(model, a.q, a.v, 0.7, &q);
    difference(model, a.q, q, &d);
    EXPECT_LT((d - 0.7 * a.v).norm(), 1e-13 * (1 + a.v.norm()));
    for (const ModelJoint& joint : model.joints) {
      const int quat = joint.type == JointType::ball   ? joint.q
                       : joint.type == JointType::free ? joint.q + 3
                                                       : -1;
      if (quat >= 0) {
        EXPECT_NEAR(q.segment<4>(quat).norm(), 1, 1e-15);
      }
    }
  }
}

TEST(State, SavedAndRestoredIsBitExact) {
  const Model model = random_model(2);
  Random random(3);
  State state = test::random_state(random, model, 3);
  state.time = 1.0 / 3;
  state.step = 12345678901;
  state.a = VecX::Random(state.v.size());
  const State back = restore(model, save(model, state));
  EXPECT_EQ(back.q, state.q);
  EXPECT_EQ(back.v, state.v);
  EXPECT_EQ(back.a, state.a);
  EXPECT_EQ(back.control, state.control);
  EXPECT_EQ(back.time, state.time);
  EXPECT_EQ(back.step, state.step);
  EXPECT_EQ(hash(back), hash(state));
}

TEST(State, HashSeesEveryBit) {
  const Model model = random_model(2);
  State state = initial_state(model);
  const std::uint64_t before = hash(state);
  for (int i = 0; i < state.q.size(); ++i) {
    State changed = state;
    changed.q[i] = std::nextafter(changed.q[i], 10);
    EXPECT_NE(hash(changed), before);
  }
  for (int i = 0; i < state.a.size(); ++i) {
    State changed = state;
    changed.a[i] = 1e-300;
    EXPECT_NE(hash(changed), before);
  }
  State without = state;
  without.a.resize(0);  // counts as zero, which it is
  EXPECT_EQ(hash(without), before);
  EXPECT_EQ(restore(model, save(model, without)).a.size(), 0);
  state.step += 1;
  EXPECT_NE(hash(state), before);
}

// Stopped, saved, restored into fresh memory and continued: the same bits as never stopped.
TEST(State, AContinuedRunHasTheBitsOfAnUninterruptedOne) {
  const Model model = random_model(5);
  Random random(6);
  const State start = test::random_state(random, model, 1);
  for (const Integrator i : {Integrator::explicit_euler, Integrator::symplectic_euler,
                             Integrator::semi_implicit, Integrator::implicit_euler, Integrator::midpoint}) {
    const StepOptions options{0.002, i};
    State whole = start;
    Workspace workspace = make_workspace(model);
    for (int k = 0; k < 100; ++k) step(model, options, {}, &whole, &workspace);
    State first = start;
    Workspace one = make_workspace(model), two = make_workspace(model);
    for (int k = 0; k < 37; ++k) step(model, options, {}, &first, &one);
    State second = restore(model, save(model, first));
    for (int k = 37; k < 100; ++k) step(model, options, {}, &second, &two);
    EXPECT_EQ(hash(whole), hash(second)) << integrator_name(i);
  }
}

TEST(State, DamagedOrForeignBytesAreRefusedByName) {
  const Model model = random_model(2);
  const std::vector<std::uint8_t> good = save(model, initial_state(model));
  const auto message = [](const Model& m, const std::vector<std::uint8_t>& bytes) -> std::string {
    try {
      restore(m, bytes, {"run.state", 0});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(model, good), "");
  EXPECT_NE(message(model, {}).find("run.state: error: this is not a saved state"), std::string::npos);
  for (std::size_t i = 8; i < good.size(); i += 7) {
    std::vector<std::uint8_t> bad = good;
    bad[i] ^= 16;
    EXPECT_NE(message(model, bad), "") << "byte " << i;
  }
  std::vector<std::uint8_t> shorter(good.begin(), good.end() - 1);
  EXPECT_NE(message(model, shorter).find("damaged"), std::string::npos);
  EXPECT_NE(message(random_model(9), good).find("another model"), std::string::npos);
}

TEST(State, AFailedStepLeavesTheStateAsItWas) {
  const Model model = random_model(2);
  State state = initial_state(model);
  state.v.setConstant(1e200);
  const std::uint64_t before = hash(state);
  Workspace workspace = make_workspace(model);
  EXPECT_THROW(step(model, {0.01, Integrator::symplectic_euler}, {}, &state, &workspace), StepFailure);
  EXPECT_EQ(hash(state), before);
}

// Bytes that end early but carry a right checksum: a crafted file, not a damaged one.
TEST(State, ATruncatedFileWithARightChecksumIsRefused) {
  const Model model = random_model(2);
  std::vector<std::uint8_t> bytes = save(model, initial_state(model));
  for (const std::size_t cut : {std::size_t{8}, std::size_t{64}}) {
    std::vector<std::uint8_t> less(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(8 + cut));
    Hash h;
    h.add(less.data(), less.size());
    const auto* p = reinterpret_cast<const std::uint8_t*>(&h.value);
    less.insert(less.end(), p, p + 8);
    EXPECT_THROW(restore(model, less), InputError) << cut;
  }
}

}  // namespace
}  // namespace capstan::state_test
