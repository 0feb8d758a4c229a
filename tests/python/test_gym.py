"""Gymnasium environments."""
import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium (PyPI) is not installed")
import gymnasium
from gymnasium.utils.env_checker import check_env

import capstan.gym


@pytest.mark.parametrize("name", ["reach", "push", "walk"])
def test_the_rules_of_gymnasium(name):
    check_env(capstan.gym.make(name), skip_render_check=True)


@pytest.mark.parametrize("name", ["reach", "push", "walk"])
def test_one_and_many_are_the_same_bits(name):
    many = [capstan.gym.make_vec(name, 3, threads=threads) for threads in (1, 2)]
    one = capstan.gym.make(name)
    actions = np.random.default_rng(3).uniform(-1, 1, (20, 3, one.action_space.shape[0])).astype(np.float32)
    first = [envs.reset(seed=5)[0] for envs in many]
    np.testing.assert_array_equal(first[0], first[1])
    np.testing.assert_array_equal(first[0][0], one.reset(seed=5)[0])
    for action in actions:
        (a, ra, *_), (b, rb, *_) = (envs.step(action) for envs in many)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(ra, rb)
        observation, reward, ended, *_ = one.step(action[0])
        np.testing.assert_array_equal(observation, a[0])
        assert reward == ra[0]
        if ended:
            break


def test_episodes_end_and_begin_anew():
    envs = capstan.gym.make_vec("push", 2)
    envs.reset(seed=1)
    limit = envs._run.task.max_steps
    for k in range(limit + 2):
        _, rewards, ended, cut, _ = envs.step(np.zeros((2, 2), np.float32))
        assert cut.all() == (k == limit - 1)
    assert (rewards < 0).all() and (envs._run.steps == 1).all()


def test_tasks_can_be_done():
    # Reach: position control straight to where the goal was made, found by inverse kinematics, gets there.
    env = capstan.gym.make("reach")
    env.reset(seed=2)
    task, goal = env.task, env._run.goals[0]
    answer = capstan.inverse_kinematics(task.model, "palm", goal, env.state.q, joints=[f"joint{i}" for i in range(1, 8)])
    assert answer.converged
    action = (answer.q[:7] - task.middle) / task.half
    for _ in range(150):
        observation, reward, *_ = env.step(action)
    assert np.linalg.norm(observation[-3:]) < 0.1
    # Walk: standing still earns about nothing and does not fall.
    env = capstan.gym.make("walk")
    env.reset(seed=0)
    for _ in range(100):
        _, reward, ended, *_ = env.step(np.zeros(12))
        assert not ended
    assert abs(reward) < 0.05
    # Push: pushing along x moves the box along x.
    env = capstan.gym.make("push")
    env.reset(seed=0)
    state = env.state
    box = env.task.box
    state.q[box:box + 2], state.q[:2] = [0, 0], [-0.15, 0]
    env._run.batch.set_state(0, state)
    for _ in range(60):
        env.step([0.5, 0])
    assert env.state.q[box] > 0.2
