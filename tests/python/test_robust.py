"""Whatever is called with whatever: an exception at most, never a crash, and no memory is lost."""
import gc
import os
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import capstan
from conftest import BOX

MODEL = capstan.Model("arm_reach")
SMALL = capstan.Model(capstan.Scene.from_string(BOX))
SOFT = capstan.Model(capstan.Scene.from_string("""
capstan: 1
shapes: [{type: plane, name: floor}]
rods:
  - {name: rope, line: {from: [0, 0, 0.1], to: [0.2, 0, 0.1]}, edges: 4, diameter: 0.01, young_modulus: 1e6, density: 1000,
     actuated: true}
soft_bodies:
  - {name: gel, box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, position: [0, 1, 0.06], young_modulus: 5e4, density: 1000}
"""))


def objects():
    """New ones each time: a call may have left them in any state."""
    sim = capstan.Simulation(SMALL)
    sim.step(2)
    arm = capstan.Simulation(MODEL)
    batch = capstan.Batch(SMALL, 3, threads=2)
    soft = capstan.Simulation(SOFT)
    return [capstan.Scene.from_string(BOX), SMALL, MODEL, capstan.State(SMALL), sim, arm, batch, SMALL.joint(0),
            sim.report, sim.report.solver, sim.body(1), sim.q, arm.control, capstan, soft, soft.rod(0), soft.soft_body("gel"),
            soft.rod(0)._part, soft.soft_body(0)._part, sim.image(8, 6, samples=1)]


# Counts are small, or so large that they must be refused: nothing here is to run for long.
ARGUMENTS = st.one_of(
    st.none(), st.booleans(), st.sampled_from([-(1 << 70), -1, 0, 1, 2, 3, 7, 50, 1 << 70]),
    st.floats(allow_nan=True, allow_infinity=True), st.text(max_size=8), st.binary(max_size=40),
    st.sampled_from(["box", "loose", "sides", "floor", "joint1", "flange", "home", "sap", "midpoint", "q", "dt", "world",
                     "stack", "rope", "gel", "ncp", {"model": "ccp"}, BOX, "<mujoco/>", "<robot name='r'/>", "capstan: 1"]),
    st.lists(st.floats(allow_nan=True, width=32), max_size=8),
    st.sampled_from([np.zeros(0), np.zeros(3), np.ones(6), np.array([0, 0, 1, 1, 0, 0, 0.]), np.zeros((2, 3)),
                     np.zeros((4, 4)), np.eye(4), np.full(7, np.nan), np.array("x"), np.array([1j]), np.zeros((0, 0, 0)),
                     np.arange(7)[::-1], np.zeros(7, np.int8), np.zeros(7, ">f4"), slice(0, 2), object(), {}, {"a": 1},
                     np.full(7, 1e300), np.full(6, 1e-300), (1, 0, 0), print]))


def call(thing, name, arguments, keywords, set_it):
    try:
        if set_it:
            setattr(thing, name, arguments[0] if arguments else None)
            return
        value = getattr(thing, name)
        if callable(value):
            value = value(*arguments, **keywords)
        repr(value)
    except Exception:  # noqa: BLE001 - any exception will do
        pass


@settings(max_examples=int(os.environ.get("CAPSTAN_EXAMPLES", 300)), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 1000), st.lists(ARGUMENTS, max_size=5),
                          st.dictionaries(st.sampled_from(["keyframe", "dt", "threads", "every", "steps", "controls",
                                                           "point", "force", "strict", "states", "count", "rigid", "eye", "pace", "sensors"]), ARGUMENTS,
                                          max_size=2), st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_random_calls(calls):
    things = objects()
    for which, member, arguments, keywords, with_things, set_it in calls:
        thing = things[which]
        names = [name for name in dir(type(thing) if thing is not capstan else thing)
                 if not name.startswith("__") or name in ("__init__", "__reduce__", "__repr__", "__len__", "__getitem__")]
        if isinstance(thing, np.ndarray):
            names = ["__getitem__", "copy", "sum", "__reduce__"]
        if isinstance(thing, capstan.Simulation):
            names = [n for n in names if n not in ("view", "_view")]  # test_image.py has it: steps wait for the clock
        if thing is capstan:
            names = [n for n in capstan.__all__ if n not in ("view", "export", "sweep", "Replay", "record")]  # start programs
            set_it = False
        if with_things:
            arguments = [things[len(str(arguments)) % len(things)], *arguments]
        call(thing, names[member % len(names)], arguments, keywords, set_it)
    for thing in [*things[3:7], things[14]]:  # whatever happened, these can be asked and stepped, or say why not
        call(thing, "step", [2], {}, False)
        call(thing, "hash", [], {}, False)
        call(thing, "poses", [], {}, False)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory):
    """Calls may write files: not here."""
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("files"))
    yield
    os.chdir(before)


def test_objects_that_were_not_made():
    for kind in (capstan.Scene, capstan.Model, capstan.State, capstan.Simulation, capstan.Batch, capstan.Report,
                 capstan.Joint, capstan.Diagnostic):
        try:
            thing = kind.__new__(kind)
        except TypeError:
            continue
        for name in dir(kind):
            if not name.startswith("__"):
                call(thing, name, [], {}, False)
                call(thing, name, [1], {}, False)


def test_damaged_bytes():
    sim = capstan.Simulation(SMALL)
    data = bytearray(sim.save())
    for i in range(len(data)):
        damaged = bytearray(data)
        damaged[i] ^= 0x41
        with pytest.raises(capstan.InputError):
            sim.restore(bytes(damaged))
    parts = list(capstan.Scene.from_string(BOX)._parts())
    for bad in ([["m", np.zeros((2, 3)), np.array([[0, 1, 9]])]], [["m", np.zeros((2, 2)), np.zeros((0, 3))]], [[]], [1]):
        with pytest.raises(Exception):
            capstan.Scene._from_parts(parts[0], bad, "")


def test_a_simulation_may_go_in_any_order():
    sim = capstan.Simulation(SMALL)
    q, state, body, contacts = sim.q, sim.state, sim.body(1), sim.contacts
    joint = SMALL.joint(0)
    model = pickle.loads(pickle.dumps(SMALL))
    other = capstan.Simulation(model)
    view = other.state.q
    del sim, other, model
    gc.collect()
    q[:], view[:] = 1, 2
    assert state.q is not None and body.position is not None and len(contacts) == 0 and joint.q == slice(0, 7)


def resident():
    """[bytes] of memory in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux to tell the memory in use")
def test_no_memory_is_lost_in_10000_cycles():
    def cycle(count):
        for i in range(count):
            sim = capstan.Simulation(capstan.Scene.from_string(BOX))
            sim.step(2)
            sim.contacts, sim.report, sim.q["loose"], sim.state
            if i % 50 == 0:
                soft = capstan.Simulation(SOFT)
                soft.step()
                soft.rod(0).curvature, soft.soft_body(0).triangles, soft.contact_force("gel")
                sim.rigid = "ncp"
                sim.step()
                sim.image(8, 6, samples=1).depth
                capstan.Batch(SMALL, 2, threads=2).step()
            if i % 10 == 0:
                with pytest.raises(KeyError):
                    sim.body("nobody")
                with pytest.raises(ValueError):
                    sim.q = [1]
                    sim.step()
        gc.collect()

    cycle(1000)
    before = resident()
    cycle(10_000)
    growth = resident() - before
    print(f"memory grew by {growth / 1e3:.0f} kB in 10000 cycles")
    assert growth < 2e6
