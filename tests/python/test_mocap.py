"""Mocap bodies from Python: they go where they are told, and what is tied to them follows."""
import numpy as np
import pytest

import capstan

TEXT = """\
capstan: 1
options: {dt: 0.005, duration: 1}
bodies:
  - {name: hand, mocap: true, position: [0, 0, 1]}
  - {name: tool, position: [0.2, 0, 1], joint: free, shape: {type: box, size: [0.1, 0.05, 0.05], mass: 0.5}}
constraints:
  - {type: weld, body_a: hand, body_b: tool}
"""


def make(more="", **options):
    return capstan.Simulation(capstan.Scene.from_string(TEXT + more), **options)


def turn_z(angle):
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return pose


def test_it_goes_where_it_is_told():
    sim = make()
    assert list(sim.mocap) == ["hand"] == sim.model.mocap_names and len(sim.mocap) == 1
    hand = sim.mocap["hand"]
    for i in range(1, 201):
        pose = turn_z(0.004 * i)
        pose[:3, 3] = [0.001 * i, 0, 1]
        hand.pose = pose
        sim.step()
        np.testing.assert_allclose(hand.pose, pose, atol=1e-13)
    np.testing.assert_allclose(hand.velocity, [0.2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(hand.angular_velocity, [0, 0, 0.8], atol=1e-12)
    np.testing.assert_allclose(sim.body("tool").position, pose[:3, 3] + pose[:3, :3] @ [0.2, 0, 0], atol=1e-4)
    sim.step(2)  # it is there
    np.testing.assert_allclose(hand.pose, pose, atol=1e-13)
    np.testing.assert_array_equal(hand.velocity, 0)


def test_position_and_orientation_are_told_apart():
    sim = make()
    hand = sim.mocap["hand"]
    hand.position = [0.01, 0, 1]
    hand.quat_wxyz = [2, 0, 0, 0.02]
    sim.step()
    np.testing.assert_allclose(hand.position, [0.01, 0, 1], atol=1e-14)
    np.testing.assert_allclose(hand.quat_wxyz, np.array([2, 0, 0, 0.02]) / np.hypot(2, 0.02), atol=1e-14)
    hand.release()
    before = hand.position
    sim.step(10)
    np.testing.assert_allclose(hand.position - before, [0.1, 0, 0], atol=1e-12)  # at 2 m/s
    sim.reset()
    sim.v["hand"][:3] = [0, 1, 0]
    sim.step(10)
    np.testing.assert_allclose(hand.position, [0, 0.05, 1], atol=1e-12)


def test_schedules_lead_it(tmp_path):
    controls = "controls:\n  - {time: 0, control: {hand.y: 0}}\n  - {time: 1, control: {hand.y: 0.5}}\n"
    sim = make(controls)
    sim.run()
    np.testing.assert_allclose(sim.mocap["hand"].position, [0, 0.5, 1], atol=1e-12)
    with pytest.raises(ValueError, match="the schedule moves 'hand'; 'sim.schedule = None'"):
        sim.mocap["hand"].position = [0, 0, 0]

    (tmp_path / "table.csv").write_text("time,hand.y\n0,0\n1,0.5\n")
    other = make()
    other.schedule = tmp_path / "table.csv"
    other.run()
    assert other.hash == sim.hash
    batch = capstan.Batch(capstan.Model(capstan.Scene.from_string(TEXT + controls)), 2)
    batch.step(200)
    assert batch.state(1).hash == sim.hash


def test_recordings_are_replayed(tmp_path, program):
    sim = make()
    with sim.record(tmp_path / "run.capstan"):
        for i in range(100):
            sim.mocap["hand"].position = [0.002 * i, 0, 1]
            sim.step()
    assert "every bit the same" in program("replay", tmp_path / "run.capstan", "--verify")


def test_mistakes_are_told():
    sim = make()
    with pytest.raises(KeyError, match="no mocap body 'hond'; did you mean 'hand'"):
        sim.mocap["hond"]
    with pytest.raises(KeyError, match="the model has none"):
        capstan.load("stack").mocap["hand"]
    hand = sim.mocap["hand"]
    for pose in (np.eye(3), 2 * np.eye(4), np.diag([1, 1, -1, 1])):
        with pytest.raises(ValueError, match="a pose is a matrix"):
            hand.pose = pose
    for position in ([1, 2], [np.nan, 0, 0]):
        with pytest.raises(ValueError):
            hand.position = position
    with pytest.raises(ValueError):
        hand.quat_wxyz = [0, 0, 0, 0]
    sim.step()
    np.testing.assert_array_equal(hand.position, [0, 0, 1])
