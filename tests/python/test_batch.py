"""Many runs at once: the bits of single ones, for any number of threads."""
import os
import pickle
import signal
import threading

import numpy as np
import pytest

import capstan


def starts(model, count):
    """States that differ."""
    random = np.random.default_rng(1)
    states = []
    for _ in range(count):
        state = capstan.State(model)
        state.v += 0.1 * random.standard_normal(model.num_velocities)
        states.append(state)
    return states


@pytest.mark.parametrize("scene, steps", [("clutter", 30), ("humanoid", 40), ("arm_reach", 60)])
def test_rollouts_are_single_runs_bit_for_bit(scene, steps):
    model = capstan.Model(scene)
    states = starts(model, 5)
    controls = 0.1 * np.random.default_rng(2).standard_normal((5, steps, model.num_controls))
    runs = [capstan.rollout(model, states, controls, threads=threads) for threads in (1, 2, 3)]
    for run in runs[1:]:
        for field in ("time", "q", "v"):
            np.testing.assert_array_equal(getattr(run, field), getattr(runs[0], field))
    for i, state in enumerate(states):
        sim = capstan.Simulation(model)
        sim.state = state
        for k in range(steps):
            sim.control[:] = controls[i, k]
            sim.step()
            np.testing.assert_array_equal(runs[0].q[i, k], sim.q)
            np.testing.assert_array_equal(runs[0].v[i, k], sim.v)
            assert runs[0].time[i, k] == sim.time
    assert runs[0].failures == [""] * 5


def test_rows_and_shapes():
    model = capstan.Model("arm_reach")
    u = np.zeros((7, model.num_controls))
    run = capstan.rollout(model, controls=u, every=3)
    assert run.q.shape == (1, 2, model.num_positions)
    np.testing.assert_array_equal(run.q[0], capstan.rollout(model, controls=u).q[0, 2::3])
    run = capstan.rollout(model, steps=4, states=[capstan.State(model)] * 3)
    assert run.v.shape == (3, 4, model.num_velocities)
    for bad in (dict(), dict(steps=0), dict(steps=3, every=4), dict(steps=3, controls=u), dict(steps=3, states=[]),
                dict(controls=np.zeros(3)), dict(controls=np.full_like(u, np.nan)), dict(steps=3, threads=0),
                dict(steps=1 << 40)):
        with pytest.raises((ValueError, MemoryError)):
            capstan.rollout(model, **bad)
    with pytest.raises(ValueError, match="another model"):
        capstan.rollout(model, [capstan.State(capstan.Model("stack"))], steps=1)


def test_batch():
    model = capstan.Model("clutter")
    batch = capstan.Batch(model, 4, threads=2)
    assert len(batch) == batch.size == 4 and batch.q.shape == (4, model.num_positions)
    q = batch.q
    batch.q[2, 2] += 0.01
    batch.step(10)
    sim = capstan.Simulation(model)
    sim.step(10)
    np.testing.assert_array_equal(batch.q[0], sim.q)
    np.testing.assert_array_equal(q, batch.q)  # a view
    assert (batch.q[2] != sim.q).any()
    assert batch.state(0).hash == sim.hash
    np.testing.assert_array_equal(batch.poses()[0][0], sim.poses()[0])
    batch.reset([2])
    assert batch.time[2] == 0 and batch.time[1] == pytest.approx(10 * batch.dt)
    batch.set_state(-1, sim.state)
    for bad in (4, -5):
        with pytest.raises(IndexError):
            batch.state(bad)
    batch.q[1, 0] = np.nan
    with pytest.raises(ValueError, match="simulation 1: .*not finite"):
        batch.step()


def test_a_run_that_fails_stands_still_and_the_others_go_on():
    model = capstan.Model("double_pendulum")
    batch = capstan.Batch(model, 3)
    batch.v[1] = 1e13  # more than a step lets through
    time, q, v = batch.rollout(200)
    assert batch.failed == [False, True, False] and "failed" in batch.failures[1]
    assert np.isfinite(q[[0, 2]]).all() and np.isnan(q[1, -1]).all()
    assert np.isfinite(batch.q).all()
    batch.reset([1])
    assert not any(batch.failed)


def test_ctrl_c_ends_a_batch():
    batch = capstan.Batch("double_pendulum", 4, threads=2)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        batch.step(1 << 60)
    assert np.isfinite(batch.q).all()
    batch.step()


def test_states_go_to_other_processes():
    model = capstan.Model("stack")
    assert pickle.loads(pickle.dumps(capstan.State(model))).hash == capstan.State(model).hash


CART = """\
capstan: 1
options: {dt: 0.005}
shapes: [{name: floor, type: half_space}]
bodies:
  - name: cart
    position: [0, 0, 0.5]
    joint: {name: rail, type: prismatic, axis: [1, 0, 0]}
    shape: {type: box, size: [0.2, 0.1, 0.1], mass: 2}
  - {name: box, position: [0, 1, 0.1], joint: free, shape: {type: box, size: [0.2, 0.2, 0.2], mass: 3}}
actuators:
  - {name: motor, type: torque, joint: rail}
controls:
  - {time: 0, control: {motor: 0}, force: {box: [0, 0, 0]}}
  - {time: 0.5, control: {motor: 4}, force: {box: [1, 0, 0]}}
sensors:
  - {name: imu, type: accelerometer, body: cart}
  - {name: speed, type: joint_velocity, joint: rail}
  - {name: touch, type: touch, body: box}
"""


def test_sensors_and_controls_over_time_are_those_of_single_runs():
    model = capstan.Model(capstan.Scene.from_string(CART))
    sim, batch = capstan.Simulation(model), capstan.Batch(model, 3, threads=2)
    assert batch.sensors["imu"].shape == (3, 3) and batch.sensors["speed"].shape == (3,)
    assert [p["time"] for p in batch.schedule] == [0, 0.5]
    speed = batch.sensors["speed"]  # a view
    batch.v[2] += 0.25
    batch.step(80)
    sim.step(80)
    assert batch.state(0).hash == sim.hash
    for name, value in sim.sensors.items():
        np.testing.assert_array_equal(batch.sensors[name][1], value)
    assert sim.sensors["touch"] == pytest.approx(3 * 9.81, rel=1e-3)
    assert speed[2] - speed[0] == pytest.approx(0.25)
    batch.reset([0])
    assert speed[0] == 0 and batch.sensors["touch"][0] == 0

    time, q, v, sensed = capstan.Batch(model, 2).rollout(80, every=8, sensors=True)
    assert sensed["imu"].shape == (2, 10, 3)
    np.testing.assert_array_equal(sensed["speed"][0, -1], sim.sensors["speed"])
    np.testing.assert_array_equal(sensed["speed"][1], v[1, :, 0])
    run = capstan.rollout(model, steps=80, sensors=True)
    np.testing.assert_array_equal(run.sensors["imu"][0, -1], sim.sensors["imu"])
    assert capstan.rollout(model, steps=2).sensors == {}


def test_controls_that_are_given_take_the_place_of_the_schedule():
    model = capstan.Model(capstan.Scene.from_string(CART))
    sim = capstan.Simulation(model)
    sim.schedule = [{**p, "control": {}} for p in sim.schedule]  # its forces stay
    sim.control["motor"] = -3
    sim.step(40)
    run = capstan.rollout(model, controls=np.full((40, 1), -3.0))
    np.testing.assert_array_equal(run.q[0, -1], sim.q)
    batch = capstan.Batch(model, 2)
    batch.control[1] = 5
    with pytest.raises(ValueError, match="simulation 1: control of 'motor' was set to 5, but the schedule"):
        batch.step()
    batch.schedule = None
    batch.step(20)
    assert batch.v[1, 0] == pytest.approx(5 / 2 * 20 * 0.005) and batch.v[0, 0] == 0
    with pytest.raises(capstan.InputError, match="motr"):
        batch.schedule = [{"time": 0, "control": {"motr": 1}}]
