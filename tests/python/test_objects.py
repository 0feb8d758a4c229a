"""Rods and soft bodies from Python, against beam theory, statics and the command line."""
import numpy as np
import pytest

import capstan

BEAM = """\
capstan: 1
options: {dt: 0.005}
rods:
  - name: beam
    line: {from: [0, 0, 0], to: [0.5, 0, 0]}
    edges: 40
    diameter: 0.01
    young_modulus: 1e9
    density: 1000
    damping: {alpha: 20, beta: 0.01}
    clamped_edges: [first]
"""
FINGER = """\
capstan: 1
options: {dt: 0.005, gravity: [0, 0, 0]}
rods:
  - name: finger
    line: {from: [0, 0, 0], to: [0.2, 0, 0]}
    edges: 20
    diameter: 0.01
    young_modulus: 1e6
    density: 1000
    damping: {alpha: 20, beta: 0.01}
    rest: {curvature: [0, 20]}
    clamped_edges: [first]
    actuated: true
"""
GEL = """\
capstan: 1
options: {dt: 0.01}
shapes: [{type: plane, name: floor}]
bodies:
  - {name: plate, position: [0, 0, 0.111], joint: free, shape: {type: box, size: [0.1, 0.1, 0.01], mass: 0.5}}
soft_bodies:
  - name: gel
    box: {size: [0.1, 0.1, 0.1], cells: [3, 3, 3]}
    position: [0, 0, 0.051]
    young_modulus: 5e4
    poisson_ratio: 0.4
    density: 1000
    damping: {alpha: 2, beta: 0.02}
"""


def load(text):
    return capstan.Simulation(capstan.Scene.from_string(text))


def test_a_cantilever_hangs_as_beam_theory_says():
    sim = load(BEAM)
    beam = sim.rod("beam")
    positions = beam.positions
    assert positions.shape == beam.velocities.shape == (41, 3) and positions.base is not None
    np.testing.assert_allclose(positions[:, 0], np.linspace(0, 0.5, 41), atol=1e-15)
    sim.run(3)
    r, length = 0.005, 0.5 - 0.5 / 80  # free from the middle of the clamped edge
    load_per_length, bending = 1000 * np.pi * r**2 * 9.81, 1e9 * np.pi * r**4 / 4
    assert -positions[-1, 2] == pytest.approx(load_per_length * length**4 / (8 * bending), rel=0.02)  # a view: it moved
    assert beam.mass == pytest.approx(1000 * np.pi * r**2 * (0.5 - 1.5 * 0.0125))  # the first two nodes are held
    moment = np.abs(beam.curvature[0, :2]).max() * bending  # at the first joint, 0.4875 m from the end
    assert moment == pytest.approx(load_per_length * 0.4875**2 / 2, rel=0.02)
    assert beam.elastic_energy == pytest.approx(load_per_length**2 * length**5 / (40 * bending), rel=0.04)
    assert abs(beam.tension).max() < 0.05 * load_per_length * length
    assert beam.kinetic_energy < 1e-9 and abs(beam.velocities).max() < 1e-4
    np.testing.assert_allclose(beam.natural_curvature, 0, atol=1e-12)
    assert len(beam.rest_lengths) == len(beam.angles) == len(beam.spins) == len(beam.tension) == 40


def test_forces_on_nodes():
    sim = load(BEAM)
    beam = sim.rod("beam")
    sim.run(2)
    before = beam.positions[-1].copy()
    beam.forces[-1] = [0, 0.01, 0]
    sim.run(2)
    bending = 1e9 * np.pi * 0.005**4 / 4
    assert beam.positions[-1, 1] - before[1] == pytest.approx(0.01 * 0.49375**3 / (3 * bending), rel=0.02)
    assert sim.generalized_force[beam._part.v][-2] == 0.01  # the same memory


def test_actuated_rods_curl_by_their_controls():
    sim = load(FINGER)
    assert sim.model.actuator_names == ["finger.natural", "finger.length"]
    finger = sim.rod("finger")
    for factor in (0, 1, 0.5):
        sim.control["finger.natural"] = factor
        sim.run(3)
        natural = 2 * np.tan(0.5 * 20 * factor * 0.01) / 0.01  # edges are 10 mm
        np.testing.assert_allclose(np.linalg.norm(finger.natural_curvature[:, :2], axis=1), natural, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(finger.curvature[:, :2], axis=1), natural, atol=0.1)
        assert finger.elastic_energy < 1e-8


def test_a_soft_body_carries_a_plate():
    sim = load(GEL)
    gel = sim.soft_body("gel")
    assert gel.positions.shape == gel.rest_positions.shape == (64, 3) and gel.triangles.shape == (108, 3)
    assert gel.tets.shape == (135, 4) and not gel.fixed.any()
    np.testing.assert_allclose(gel.positions, gel.rest_positions + [0, 0, 0.051], atol=1e-15)
    assert gel.rest_volume == pytest.approx(1e-3) and gel.mass == pytest.approx(1)
    sim.run(4)
    np.testing.assert_allclose(sim.contact_force("gel", "world"), [0, 0, 1.5 * 9.81], atol=0.05)
    np.testing.assert_allclose(sim.contact_force("gel", "plate"), [0, 0, -0.5 * 9.81], atol=0.05)
    np.testing.assert_allclose(sim.contact_force("plate", "gel"), [0, 0, 0.5 * 9.81], atol=0.05)
    np.testing.assert_allclose(gel.contact_force, [0, 0, 9.81], atol=0.05)
    assert 0.9 * gel.rest_volume < gel.volume < gel.rest_volume
    assert 0 < gel.largest_strain < 0.2 and gel.elastic_energy > 0
    np.testing.assert_allclose(gel.center_of_mass[:2], 0, atol=1e-3)
    assert gel.momentum.shape == (6,) and gel.kinetic_energy < 1e-7


def test_the_stress_of_a_soft_body_that_is_pulled():
    sim = load(GEL)
    gel = sim.soft_body("gel")
    assert gel.largest_stress < 1e-6
    gel.positions[:] = gel.rest_positions * [1.01, 0.996, 0.996]  # by 1 %, with nu = 0.4
    np.testing.assert_allclose(gel.von_mises, 5e4 * 0.01, rtol=1e-9)
    assert gel.von_mises.shape == (64,) and gel.largest_stress == gel.von_mises.max()


def test_many_frames_at_once(tmp_path):
    sim = load(GEL)
    run = capstan.record(sim, tmp_path / "gel.capstan", 0.2)
    nodes = sim.soft_body("gel").positions_of(run.q)
    assert nodes.shape == (len(run), 64, 3) and np.shares_memory(nodes, run.q)
    np.testing.assert_array_equal(nodes[-1], sim.soft_body(0).positions)
    batch = capstan.Batch(sim.model, 3)
    batch.step(20)
    np.testing.assert_array_equal(sim.soft_body("gel").positions_of(batch.q)[1], nodes[-1])
    np.testing.assert_array_equal(sim.soft_body("gel").velocities_of(batch.v)[2], sim.soft_body("gel").velocities)
    with pytest.raises(ValueError, match="its last part must be"):
        sim.soft_body("gel").positions_of(np.zeros(3))


def test_names():
    sim = load(GEL)
    assert sim.model.soft_body_names == ["gel"] and sim.model.rod_names == []
    np.testing.assert_array_equal(sim.q["gel"].reshape(-1, 3), sim.soft_body("gel").positions)
    sim.v["plate"][:3] = [0, 0, 1]  # the body that one joint moves
    assert sim.body("plate").velocity[2] == 1
    with pytest.raises(KeyError, match="there is no rod 'gel'"):
        sim.rod("gel")
    with pytest.raises(KeyError, match="did you mean 'gel'"):
        sim.soft_body("gell")
    with pytest.raises(KeyError, match="sim.soft_body"):
        sim.body("gel")


def test_closed_rods():
    sim = capstan.load("belt_drive")
    rod = sim.rod(0)
    assert rod.is_closed and len(rod.rest_lengths) == rod.num_nodes == len(rod.angles)
    lengths = np.linalg.norm(np.roll(rod.positions, -1, axis=0) - rod.positions, axis=1)
    np.testing.assert_allclose(lengths, rod.rest_lengths, rtol=0.1)
