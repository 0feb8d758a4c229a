"""Rigid models and their solvers from Python: the bits of the command line."""
import pickle

import pytest

import capstan
from conftest import BOX


def test_every_model_steps():
    models = capstan.rigid_models()
    assert len(models) == 10 and "ncp" in models and all(models.values())
    for name in models:
        sim = capstan.Simulation(capstan.Scene.from_string(BOX), rigid=name)
        sim.step(20)
        assert sim.rigid["model"] == name and sim.rigid["solver"] == models[name][0]
        assert sim.contact_force("box")[2] == pytest.approx(2 * 9.81, rel=1e-3)


def test_bits_are_those_of_the_command_line(program, tmp_path):
    scene = tmp_path / "box.yaml"
    scene.write_text(BOX)
    for rigid, words in (("ncp", ["--model", "ncp"]),
                         ({"model": "box", "solver": "gauss_seidel", "stabilization": "baumgarte"},
                          ["--model", "box", "--solver", "gauss_seidel", "--stabilization", "baumgarte"]),
                         ({"model": "ccp", "erp": 0.1, "warm_start": False}, ["--model", "ccp", "--erp", "0.1", "--cold"])):
        sim = capstan.Simulation(scene, rigid=rigid)
        sim.run(0.2)
        assert f"{sim.hash:016x}" in program("run", scene, "--duration", "0.2", *words)


def test_options_can_be_changed_and_pickled():
    sim = capstan.Simulation(capstan.Scene.from_string(BOX))
    assert sim.rigid is None
    sim.step(5)
    sim.rigid = {"model": "ccp", "solver": "admm", "tolerance": 1e-8, "restitution": "none"}
    sim.step(5)
    other = pickle.loads(pickle.dumps(sim))
    assert other.rigid == sim.rigid and other.rigid["tolerance"] == 1e-8
    sim.state = sim.state  # what is restored begins without the impulses of the step before
    sim.step(5), other.step(5)
    assert other.hash == sim.hash
    sim.rigid = None
    sim.step(5)
    assert sim.rigid is None


def test_batches_are_single_runs_bit_for_bit():
    single = capstan.Simulation(capstan.Scene.from_string(BOX), rigid="ncp")
    for threads in (1, 2):
        single.reset()
        batch = capstan.Batch(capstan.Scene.from_string(BOX), 3, threads, rigid="ncp")
        batch.v[1] += 0.1
        for _ in range(5):  # each begins with its own impulses
            batch.step(2)
            single.step(2)
        assert batch.state(0).hash == batch.state(2).hash == single.hash != batch.state(1).hash
    fresh = capstan.Simulation(capstan.Scene.from_string(BOX), rigid="ncp")
    fresh.step(10)
    assert fresh.hash == single.hash  # reset() forgets


@pytest.mark.parametrize("bad, says", [
    ("nccp", "did you mean 'ncp'"), ({"solver": "admm"}, "no 'model'"), ({"model": "ncp", "solver": "lemke"}, "does not solve"),
    ({"model": "ncp", "erp": 2}, "erp is 2; give 0 to 1"), ({"model": "ncp", "max_iteration": 2}, "did you mean 'max_iterations'"),
    ({"model": "stewart_trinkle", "directions": 5}, "even number"),
    ({"model": "ncp", "stiffness": 1e4, "erp": 0.1}, "takes the place of erp and cfm")])
def test_wrong_words_are_told(bad, says):
    with pytest.raises(ValueError, match=says):
        capstan.Simulation("stack", rigid=bad)
    with pytest.raises(TypeError):
        capstan.Simulation("stack", rigid=3)
