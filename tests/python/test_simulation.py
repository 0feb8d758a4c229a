"""Simulation, State, Report against the command line and arithmetic."""
import copy
import gc
import os
import pickle
import re
import signal
import threading
import time

import numpy as np
import pytest

import capstan
from conftest import BOX


def test_results_are_those_of_the_command_line_bit_for_bit(program):
    for scene, duration, flags, options in (
            ("clutter", 0.5, [], {}),
            ("clutter", 0.3, ["--contact-law", "sap", "--dt", "0.005"], {"contact_law": "sap", "dt": 0.005}),
            ("humanoid", 0.5, [], {}),
            ("arm_reach", 0.2, ["--integrator", "midpoint"], {"integrator": "midpoint"}),
            ("conveyor", 0.5, ["--threads", "2"], {"threads": 2}),
            ("stack", 2, ["--sleep"], {"sleep": True}),
            ("four_bar", 0.5, [], {}), ("quadruped", 0.3, [], {})):
        text = program("run", scene, "--duration", duration, *flags)
        expected = re.search(r"hash of final state\s+([0-9a-f]{16})", text)[1]
        sim = capstan.load(scene, **options)
        sim.run(duration)
        assert f"{sim.hash:016x}" == expected, scene
        # One step at a time, with every array looked at and written back between: the same bits.
        sim.reset()
        for _ in range(round(duration / sim.dt)):
            sim.q, sim.v, sim.control = sim.q.copy(), sim.v.copy(), sim.control.copy()
            sim.contacts, sim.poses(), sim.report
            sim.step()
        assert f"{sim.hash:016x}" == expected, scene


def test_a_box_at_rest_is_carried():
    sim = capstan.Simulation(capstan.Scene.from_string(BOX)).run()
    assert sim.time == pytest.approx(1)
    assert sim.steps == 200
    weight = 2 * 9.81
    np.testing.assert_allclose(sim.contact_force("box"), [0, 0, weight], atol=1e-4)
    np.testing.assert_allclose(sim.contact_force("world"), [0, 0, -weight], atol=1e-4)
    np.testing.assert_allclose(sim.contact_force("box", "world"), [0, 0, weight], atol=1e-4)
    contacts = sim.contacts
    assert len(contacts) == 4 and contacts.dtype == capstan.CONTACT
    assert {sim.model.shape_names[i] for i in contacts["shape_b"]} | {
        sim.model.shape_names[i] for i in contacts["shape_a"]} == {"floor", "sides"}
    np.testing.assert_allclose(contacts["normal_force"].sum(), weight, atol=1e-4)
    np.testing.assert_allclose(contacts["force"], contacts["normal"] * contacts["normal_force"][:, None]
                               + contacts["friction"], atol=1e-12)
    assert (contacts["region"] == 1).all()
    assert sim.report.contacts == 4 and sim.report.solver.converged
    assert sim.report.judge.momentum < 1e-4


def test_names_and_views():
    sim = capstan.Simulation(capstan.Scene.from_string(BOX))
    q = sim.q
    assert q.shape == (7,) and sim.v.shape == (6,)
    np.testing.assert_array_equal(sim.q["loose"], [0, 0, 0.1, 1, 0, 0, 0])
    sim.q["loose"][2] = 1  # falls from there
    sim.v["loose"] = [1, 0, 0, 0, 0, 0]
    sim.step(10)
    assert q is sim.q and q[2] < 1  # the same memory
    assert q[0] == pytest.approx(0.05)
    body = sim.body("box")
    np.testing.assert_array_equal(body.position, q[:3])
    with pytest.raises(AttributeError, match=r"write sim\.q\[\.\.\.\]"):
        body.position = [0, 0, 1]
    np.testing.assert_allclose(body.velocity, [1, 0, -9.81 * 0.05], atol=1e-12)
    np.testing.assert_allclose(body.pose[:3, :3], np.eye(3), atol=1e-12)
    assert body.mass == pytest.approx(2)
    assert type(q + 1) is np.ndarray and type(q[:3]) is np.ndarray
    with pytest.raises(KeyError, match="there is no joint 'lose'; did you mean 'loose'"):
        sim.q["lose"]
    with pytest.raises(KeyError, match="did you mean 'box'"):
        sim.body("bix")
    with pytest.raises(ValueError):
        sim.q = [1, 2]
    position, quat = sim.poses()
    np.testing.assert_array_equal(position[1], q[:3])
    del sim
    gc.collect()
    assert np.isfinite(q).all() and q[0] == pytest.approx(0.05)  # the array outlives the simulation


def test_quaternions_from_outside_are_made_unit():
    sim = capstan.Simulation(capstan.Scene.from_string(BOX))
    sim.q[3:] = [2, 0, 0, 2]
    sim.step()
    assert np.linalg.norm(sim.q[3:]) == pytest.approx(1, abs=1e-12)
    sim.q[3:] = 0
    with pytest.raises(ValueError, match="quaternion"):
        sim.step()


def test_control_by_name():
    sim = capstan.load("arm_reach")
    name = sim.model.actuator_names[0]
    before = sim.q.copy()
    sim.control[name] = sim.control[name] + 0.3
    assert sim.control[0] == sim.control[name]
    sim.step(50)
    other = capstan.load("arm_reach")
    other.step(50)
    assert np.abs(sim.q - other.q).max() > 1e-3
    assert np.abs(sim.q - before).max() > 1e-3


def test_forces_from_outside():
    scene = BOX.replace("options: {", "options: {gravity: [0, 0, 0], ").replace("0, 0, 0.1]", "0, 0, 5]")
    sim = capstan.Simulation(capstan.Scene.from_string(scene))
    sim.apply_force("box", force=[4, 0, 0])
    sim.run(1)
    assert sim.v[0] == pytest.approx(2, abs=1e-12)  # 4 N on 2 kg for 1 s
    sim.clear_forces()
    sim.apply_force("box", force=[0, 0, 1], point=sim.body("box").position + [0.1, 0, 0])
    sim.step()
    assert sim.body("box").angular_velocity[1] < 0
    sim.clear_forces()
    sim.generalized_force["loose"] = [-4, 0, 0, 0, 0, 0]
    sim.run(1)
    assert sim.v[0] == pytest.approx(0, abs=1e-9)
    sim.clear_forces()
    assert not sim.generalized_force.any()


def test_save_and_restore_bit_for_bit():
    sim = capstan.load("clutter")
    sim.step(30)
    data, state = sim.save(), sim.state
    sim.step(20)
    end = sim.hash
    sim.restore(data)
    assert sim.steps == 30
    sim.step(20)
    assert sim.hash == end
    sim.state = state
    sim.step(20)
    assert sim.hash == end
    for again in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state), state.copy()):
        assert again.hash == state.hash and again is not state
    other = pickle.loads(pickle.dumps(sim))
    other.step(5)
    sim.step(5)
    assert other.hash == sim.hash
    with pytest.raises(capstan.InputError, match="another model"):
        capstan.load("stack").restore(data)
    with pytest.raises(ValueError, match="another model"):
        capstan.load("stack").state = state
    for damaged in (b"", b"x" * 100, data[:-1], data[:100] + bytes([data[100] ^ 1]) + data[101:]):
        with pytest.raises(capstan.InputError):
            sim.restore(damaged)
    assert sim.hash == other.hash


def test_state_arrays_are_views():
    model = capstan.Model("clutter")
    state = capstan.State(model)
    before = state.hash
    q = state.q
    q[0] += 1
    assert state.q[0] == q[0] and state.hash != before
    state.v = np.ones(model.num_velocities)
    assert (state.v == 1).all()
    with pytest.raises(ValueError):
        state.v = [1]
    del state
    gc.collect()
    assert np.isfinite(q).all()


def test_a_failed_step_leaves_the_state_and_tells():
    sim = capstan.load("double_pendulum", integrator="explicit_euler", dt=0.3)
    sim.v[:] = 1e4
    with pytest.raises(capstan.StepError, match="step .* failed") as failure:
        sim.step(100_000)
    assert failure.value.steps_taken == sim.steps
    assert isinstance(failure.value.report, capstan.Report)
    assert np.isfinite(sim.q).all() and np.isfinite(sim.v).all()
    sim.reset()
    sim.dt, sim.integrator = 0.001, "semi_implicit"
    sim.step(10)  # goes on
    with pytest.raises(capstan.StepError, match="longer than"):
        capstan.load("clutter", step_seconds=1e-9).step()


def test_options():
    sim = capstan.load("stack", contact_law="sap", dt=0.002, threads=2)
    assert (sim.contact_law, sim.dt, sim.threads, sim.integrator) == ("sap", 0.002, 2, "semi_implicit")
    with pytest.raises(ValueError, match="did you mean 'coulomb'"):
        sim.contact_law = "columb"
    with pytest.raises(ValueError, match="there is no integrator 'rk4'"):
        sim.integrator = "rk4"
    for bad in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError):
            sim.dt = bad
    with pytest.raises(TypeError, match="did you mean 'contact_law'"):
        capstan.load("stack", contact_lav="sap")
    with pytest.raises(TypeError):
        sim.dt = "fast"
    assert sim.dt == 0.002


def test_ctrl_c_ends_a_long_run():
    sim = capstan.load("double_pendulum")
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sim.step(1 << 60)
    assert time.monotonic() - begin < 5
    assert sim.steps > 0 and np.isfinite(sim.q).all()
    sim.step()


def test_other_threads_run_and_may_not_touch_what_is_being_stepped():
    sim = capstan.load("clutter")
    seen, done = [], threading.Event()

    def look():
        while not done.is_set():
            try:
                sim.contacts
                sim.step()
                seen.append("in between")
            except RuntimeError as error:
                seen.append(str(error))
            time.sleep(1e-3)

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(100):
        try:
            sim.step(20)
        except RuntimeError:
            time.sleep(2e-3)
    done.set()
    thread.join()
    assert any("another thread is stepping" in text for text in seen)


def test_overhead_of_a_call():
    """sim.step() over step(n): less than 2 us is meant, 0.8 us were measured while four others compiled. Only our own time
    counts, and of many short turns the least, so that a busy machine tells the same within 5 us."""
    sim = capstan.load("double_pendulum")
    n = 1000
    best = [float("inf"), float("inf")]
    for _ in range(40):
        for i, loop in enumerate((lambda: sim.step(n), lambda: [sim.step() for _ in range(n)])):
            sim.reset()
            begin = time.process_time()
            loop()
            best[i] = min(best[i], time.process_time() - begin)
    overhead = (best[1] - best[0]) / n
    print(f"overhead of sim.step(): {1e6 * overhead:.2f} us")
    assert overhead < 5e-6


def test_pictures():
    sim = capstan.load("stack")
    svg = sim.picture(320, 240, title="a < b")
    assert svg.lstrip().startswith("<svg") and "a &lt; b" in svg
    assert sim._repr_svg_().lstrip().startswith("<svg")
    with pytest.raises(ValueError):
        sim.picture(1, 1)


def test_quaternions_in_the_order_of_others():
    np.testing.assert_array_equal(capstan.as_xyzw([1, 2, 3, 4]), [2, 3, 4, 1])
    quats = capstan.load("stack").poses()[1]
    np.testing.assert_array_equal(capstan.as_wxyz(capstan.as_xyzw(quats)), quats)
    with pytest.raises(ValueError, match="4 numbers"):
        capstan.as_xyzw([1, 2, 3])


def test_a_number_by_name_is_a_number():
    sim = capstan.load("double_pendulum")
    name = sim.model.joint_names[0]
    kept = []
    for _ in range(3):
        sim.step(10)
        kept.append(sim.q[name])
    assert np.ndim(kept[0]) == 0 and len(set(kept)) == 3  # no views of the same memory
    sim.q[name] = 0.25
    assert sim.q[0] == sim.q[name] == 0.25
    sim.q[name] = np.array([0.5])  # as what is computed with the slices of model.joint(name)
    assert sim.q[0] == 0.5
    with pytest.raises(ValueError, match=r"'upper' has 1 number; the shape \(2,\) was given"):
        sim.q["upper"] = [1, 2]
    ball = capstan.load("free_body")
    with pytest.raises(ValueError, match=r"has 7 numbers; the shape \(3,\) was given"):
        ball.q[ball.model.joint_names[0]] = [0, 0, 1]


def test_patches_carry_the_weight():
    sim = capstan.Simulation(capstan.Scene.from_string("""capstan: 1
materials: [{name: soft, contact: patch, elastic_modulus: 1e6}, {name: rigid, contact: patch, elastic_modulus: .inf}]
shapes: [{type: plane, name: floor, material: rigid}]
bodies:
  - {name: box, position: [0, 0, 0.05], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1, material: soft}}
""")).run(1)
    [patch] = sim.patches
    np.testing.assert_allclose(np.abs(patch["force"]), [0, 0, 9.81], atol=1e-4)
    np.testing.assert_allclose(patch["moment"], 0, atol=1e-6)
    np.testing.assert_allclose(patch["centre"][:2], 0, atol=1e-6)
    assert abs(patch["area"] - 0.01) < 1e-6
    assert abs(patch["largest_pressure"] - 981) < 5  # less than E d / H at the rim, and a little more inside
    contacts = sim.contacts
    pressing = contacts[contacts["normal_force"] > 0]
    assert len(pressing) == patch["points"]
    np.testing.assert_allclose(pressing["area"].sum(), patch["area"])


def test_what_is_not_there_is_told_where_it_is():
    sim = capstan.load("stack")
    for name, hint in (("joint", r"sim\.model\.joint is the model's"), ("contact", "did you mean 'contacts'"),
                       ("xyz", r"help\(capstan\.Simulation\) lists")):
        with pytest.raises(AttributeError, match=f"a simulation has no '{name}'; {hint}"):
            getattr(sim, name)
    assert not hasattr(sim, "__array__") and not hasattr(sim, "friction")
    with pytest.raises(TypeError, match="states holds a Simulation; give objects of State, such as sim.state"):
        capstan.rollout(sim.model, [sim], steps=1)


def test_limits_of_a_servo_in_ones_own_loop():
    """docs/python.md: explicit springs up to 4 I / dt^2, dampers up to 2 I / dt, and servos of the step without a limit."""
    dt, mass = 0.01, 2
    scene = """capstan: 1
options: {{dt: {dt}, gravity: [0, 0, 0]}}
bodies: [{{name: cart, joint: {{name: rail, type: prismatic, axis: [1, 0, 0]}}, shape: {{type: sphere, radius: 0.1, mass: {mass}}}}}]
actuators: [{{name: motor, joint: rail, {motor}}}]
"""

    def largest(stiffness, damping, motor="type: torque"):
        sim = capstan.Simulation(capstan.Scene.from_string(scene.format(dt=dt, mass=mass, motor=motor)))
        sim.q["rail"], sim.v["rail"] = 0.01, 0.1
        for _ in range(200):
            sim.control["motor"] = -stiffness * sim.q["rail"] - damping * sim.v["rail"] if motor == "type: torque" else 0
            try:
                sim.step()
            except capstan.StepError:
                return np.inf
        return abs(sim.q["rail"]) + abs(sim.v["rail"])

    for factor, holds in ((0.95, True), (1.05, False)):
        assert (largest(factor * 4 * mass / dt**2, 0) < 10) == holds
        assert (largest(0, factor * 2 * mass / dt) < 10) == holds
    assert largest(0, 0, "type: pd, stiffness: 1.0e+7, damping: 1.0e+5") < 0.1
