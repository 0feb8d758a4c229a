"""Activations of actuators: against arithmetic, the same in simulations, batches, rollouts, states and recordings."""
import pickle

import numpy as np
import pytest

import capstan

TEXT = """\
capstan: 1
options: {gravity: [0, 0, 0], dt: 0.01, duration: 1}
bodies:
  - {name: m, joint: {type: prismatic, axis: [1, 0, 0]}, shape: {type: box, size: [1, 1, 1], mass: 2}}
actuators:
  - {name: now, type: torque, joint: m}
  - {name: slow, type: torque, joint: m, control: 3, activation: {type: filter_exact, time_constant: 0.2}}
  - {name: plain, type: torque, joint: m, gear: 0, control: 3, activation: {type: filter, time_constant: 0.2}}
  - {name: sum, type: torque, joint: m, gear: 0, control: 0.5, activation: {type: integrator, range: [-1, 0.3]}}
keyframes: [{name: full, activation: {slow: 3, sum: -1}}]
"""


@pytest.fixture
def model():
    return capstan.Model(capstan.Scene.from_string(TEXT))


def test_they_follow_controls(model):
    sim = capstan.Simulation(model)
    assert sim.activation.shape == (model.num_controls,)
    np.testing.assert_array_equal(sim.activation, 0)
    for k in range(1, 101):
        sim.step()
        assert sim.activation["slow"] == pytest.approx(3 * (1 - np.exp(-0.01 * k / 0.2)), abs=1e-12)
        assert sim.activation["plain"] == pytest.approx(3 * (1 - (1 - 0.01 / 0.2)**k), abs=1e-12)  # explicit Euler
        assert sim.activation["sum"] == pytest.approx(min(0.005 * k, 0.3), abs=1e-12)
    # v = integral of a over the mass, by the rule of the left ends, for the force of a step is that before it.
    ends = 3 * (1 - np.exp(-0.01 * np.arange(100) / 0.2))
    assert sim.v["m"] == pytest.approx(ends.sum() * 0.01 / 2, rel=1e-12)


def test_they_are_set_and_are_part_of_the_state(model):
    sim = capstan.Simulation(model)
    sim.activation["slow"] = 3  # the control is there already: a constant force
    sim.step(10)
    assert sim.activation["slow"] == 3
    assert sim.v["m"] == pytest.approx(3 / 2 * 0.1, rel=1e-12)

    before, data = sim.hash, sim.save()
    sim.activation["sum"] += 1e-9
    assert sim.hash != before
    sim.restore(data)
    assert sim.hash == before
    copy = pickle.loads(pickle.dumps(sim))
    np.testing.assert_array_equal(copy.activation, sim.activation)
    sim.activation = [0, 1, 2, 0.25]
    state = sim.state
    np.testing.assert_array_equal(state.activation, [0, 1, 2, 0.25])
    assert pickle.loads(pickle.dumps(state)).hash == state.hash == sim.hash
    state.activation[1] = -1
    sim.state = state
    assert sim.activation["slow"] == -1

    sim.reset("full")
    np.testing.assert_array_equal(sim.activation, [0, 3, 0, -1])
    np.testing.assert_array_equal(capstan.State(model, "full").activation, [0, 3, 0, -1])


def test_what_cannot_be_is_told(model):
    sim = capstan.Simulation(model)
    with pytest.raises(KeyError, match="'now' has no activation; sim.control sets it"):
        sim.activation["now"] = 1
    with pytest.raises(KeyError, match="did you mean 'slow'"):
        sim.activation["slaw"]
    with pytest.raises(ValueError, match="shape"):
        sim.activation = [1, 2]
    sim.activation["slow"] = np.nan
    with pytest.raises(ValueError, match="activation"):
        sim.step()
    sim = capstan.load("stack")
    assert sim.activation.shape == (0,) and sim.state.activation.shape == (0,)


def test_batches_and_rollouts_have_them(model):
    batch = capstan.Batch(model, 3, threads=2)
    assert batch.activation.shape == (3, model.num_controls)
    batch.activation[:, 1] = [0, 1, 3]
    sims = [capstan.Simulation(model) for _ in range(3)]
    for sim, a in zip(sims, [0, 1, 3]):
        sim.activation["slow"] = a
    batch.step(20)
    for i, sim in enumerate(sims):
        sim.step(20)
        np.testing.assert_array_equal(batch.activation[i], sim.activation)
        assert batch.state(i).hash == sim.hash

    controls = np.zeros((50, model.num_controls))
    controls[:, 1] = 3
    runs = capstan.rollout(model, [capstan.State(model), capstan.State(model, "full")], controls, every=10)
    assert runs.activation.shape == (2, 5, model.num_controls)
    np.testing.assert_allclose(runs.activation[0, :, 1], 3 * (1 - np.exp(-runs.time[0] / 0.2)), atol=1e-12)
    np.testing.assert_array_equal(runs.activation[1, :, 1], 3)
    assert capstan.rollout("stack", steps=2).activation.shape == (1, 2, 0)


def test_recordings_have_them(model, tmp_path):
    sim = capstan.Simulation(model)
    with sim.record(tmp_path / "run.capstan", every=1):
        sim.run(0.5)
    run = capstan.Recording(tmp_path / "run.capstan")
    assert run.activation.shape == (51, model.num_controls)
    np.testing.assert_allclose(run.activation[:, 1], 3 * (1 - np.exp(-run.time / 0.2)), atol=1e-12)
    np.testing.assert_array_equal(run.activation[-1], sim.activation)
    assert run.numbers["energy.kinetic"][-1] == pytest.approx(sim.v["m"]**2, rel=1e-12)
    capstan.record("stack", tmp_path / "stack.capstan", 0.05)
    assert capstan.Recording(tmp_path / "stack.capstan").activation.shape[1] == 0
