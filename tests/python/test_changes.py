"""Friction and mass changed in models and simulations: what goes on is, bit for bit, a scene written so."""
import pickle

import numpy as np
import pytest

import capstan

SLOPE = """\
capstan: 1
name: slope
options: {{gravity: [4.9, 0, -8.5], dt: 0.005}}
materials:
  - {{name: rubber, friction: {mu}}}
  - {{name: steel, friction: 0.9}}
shapes: [{{name: floor, type: half_space, material: steel}}]
bodies:
  - {{name: box, position: [0, 0, 0.1], joint: {{name: free, type: free}},
     shape: {{type: box, size: [0.2, 0.2, 0.2], mass: {mass}, material: rubber}}}}
"""


def slope(mu=0.9, mass=2):
    return capstan.Scene.from_string(SLOPE.format(mu=mu, mass=mass))


def copied(sim, model, **options):
    """A simulation of another model that stands where `sim` does, awake."""
    state = capstan.State(model)
    for name in ("q", "v", "a", "control", "activation"):
        setattr(state, name, getattr(sim.state, name))
    state.time = sim.time
    other = capstan.Simulation(model, **options)
    other.state = state
    return other


def assert_same(a, b):
    for name in ("q", "v"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(a.contacts, b.contacts)


def test_friction_of_a_run():
    sim = capstan.Simulation(slope()).run(0.5)
    assert abs(sim.v["free"][0]) < 1e-4  # it sticks: 0.9 > tan 30 degrees
    old = sim.model
    other = copied(sim, capstan.Model(slope(mu=0.2)))
    sim.set_friction(0.2, "rubber")
    assert len(sim.contacts) == 0
    sim.run(0.5)
    other.run(0.5)
    assert_same(sim, other)
    mu = 2 * 0.2 * 0.9 / (0.2 + 0.9)
    assert sim.v["free"][0] == pytest.approx(0.5 * (4.9 - mu * 8.5), rel=1e-3)
    assert sim.model.fingerprint == capstan.Model(slope(mu=0.2)).fingerprint != old.fingerprint
    assert old.fingerprint == capstan.Model(slope()).fingerprint  # the old model is as it was
    again, fresh = capstan.Simulation(old).run(0.5), capstan.Simulation(slope()).run(0.5)
    assert_same(again, fresh)


def test_mass_of_a_run():
    sim = capstan.Simulation(slope()).run(0.2)
    other = copied(sim, capstan.Model(slope(mass=7.3)))
    old = sim.model
    sim.set_mass(7.3, "box")
    assert sim.body("box").mass == 7.3 and old.body_masses[1] == 2
    sim.apply_force("box", [20, 0, 0])
    other.apply_force("box", [20, 0, 0])
    sim.run(0.3)
    other.run(0.3)
    assert_same(sim, other)
    assert sim.contact_force("box")[2] == pytest.approx(7.3 * 8.5, rel=1e-3)


@pytest.mark.filterwarnings("ignore::capstan.SceneWarning")
@pytest.mark.parametrize("name", sorted(capstan.scenes()))
def test_models_of_every_scene_are_those_of_the_compiler(name):
    """with_friction() compiles nothing; each bit of what it gives is that of a scene that was compiled."""
    model = capstan.Model(name)
    material = model.material_names[0]
    scene = model.scene
    scene.set_friction(0.123, material)
    compiled, changed = capstan.Model(scene), model.with_friction(0.123, material)
    assert changed.fingerprint == compiled.fingerprint != model.fingerprint
    a, b = capstan.Simulation(changed), capstan.Simulation(compiled)
    for sim in (a, b):
        sim.step(2 if sim.model.num_velocities > 2000 else 5)
    assert_same(a, b)
    assert a.model.scene.to_yaml() == b.model.scene.to_yaml()


def test_sleepers_wake():
    """A box that sleeps on a slope slides when its friction goes."""
    sim = capstan.Simulation(slope(), sleep=True).run(3)
    assert sim.report.asleep == 1
    still = sim.q["free"].copy()
    sim.set_friction(0.05, "rubber")
    sim.run(0.5)
    assert sim.q["free"][0] - still[0] > 0.4 and sim.report.asleep == 0


def test_rigid_models_begin_anew():
    sim = capstan.Simulation(slope(), rigid="ncp").run(0.1)
    other = copied(sim, capstan.Model(slope(mu=0.3)), rigid="ncp")
    sim.set_friction(0.3, "rubber")
    sim.run(0.2)
    other.run(0.2)
    assert_same(sim, other)


def test_what_stays():
    """Options, controls, forces, views, the schedule."""
    sim = capstan.load("arm_reach", dt=0.001)
    q, control = sim.q, sim.control
    sim.apply_force("link7", [0, 0, 1])
    schedule = sim.schedule
    sim.step(3)
    sim.set_friction(0.3)
    sim.set_mass(1.5, "link7")
    assert q is sim.q and control is sim.control and sim.dt == 0.001 and sim.steps == 3 and sim.schedule == schedule
    sim.step(2)
    np.testing.assert_array_equal(q, sim.state.q)
    copy = pickle.loads(pickle.dumps(sim))
    assert copy.model.fingerprint == sim.model.fingerprint and copy.hash == sim.hash
    sim.reset()
    assert sim.body("link7").mass == 1.5  # what was changed stays


def test_saved_states_are_of_the_model_they_were_saved_of():
    sim = capstan.Simulation(slope())
    data = sim.save()
    sim.set_friction(0.3, "rubber")
    with pytest.raises(capstan.InputError, match="another model"):
        sim.restore(data)
    sim.set_friction(0.9, "rubber")
    sim.restore(data)


def test_refused(tmp_path):
    sim = capstan.Simulation(slope())
    for bad in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="friction"):
            sim.set_friction(bad)
        with pytest.raises(ValueError, match="mass"):
            sim.set_mass(bad, "box")
    with pytest.raises(KeyError, match="did you mean 'rubber'"):
        sim.set_friction(0.3, "ruber")
    with pytest.raises(KeyError, match="known are rubber, steel, default"):
        sim.set_friction(0.3, "wood")
    with pytest.raises(KeyError, match="did you mean 'box'"):
        sim.set_mass(0.3, "bx")
    with sim.record(tmp_path / "run.capstan"):
        with pytest.raises(RuntimeError, match=r"stop_recording\(\) first"):
            sim.set_friction(0.3, "rubber")
    sim.set_friction(0.3, "rubber")
    assert sim.model.material_names == ["rubber", "steel", "default"]


def test_a_batch_of_another_model():
    model = capstan.Model(slope())
    runs = [capstan.rollout(m, steps=100).q[0, -1, 0] for m in (model, model.with_friction(0.2, "rubber"))]
    assert abs(runs[0]) < 1e-4 and runs[1] > 0.1
