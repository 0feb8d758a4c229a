"""Sensors and controls over time, against arithmetic, the command line and MuJoCo; and what a user mistypes."""
import os
import pickle
import re
import warnings

import numpy as np
import pytest

import capstan
from conftest import BOX

SLIDER = """\
capstan: 1
options: {gravity: [0, 0, 0], dt: 0.01, duration: 2}
bodies:
  - {name: m, joint: {type: prismatic, axis: [1, 0, 0]}, shape: {type: box, size: [1, 1, 1], mass: 2}}
actuators: [{name: push, type: torque, joint: m, control: 0.5}]
keyframes: [{name: hard, control: {push: 8}}]
controls:
  - {time: 1, control: {push: 0.5}}
  - {time: 2, keyframe: hard}
sensors:
  - {type: joint_velocity, joint: m}
  - {type: accelerometer, body: m}
  - {name: motor, type: actuator_force, actuator: push}
"""


def make(text=SLIDER, **options):
    return capstan.Simulation(capstan.Scene.from_string(text), **options)


def test_sensors_by_arithmetic():
    sim = make()
    assert list(sim.sensors) == sim.model.sensor_names == ["m.joint_velocity", "m.accelerometer", "motor"]
    assert sim.model.sensor_units["m.accelerometer"] == "m/s^2"
    assert sim.sensors["m.joint_velocity"] == 0
    sim.run(1)  # 0.5 N on 2 kg
    reading = sim.sensors
    assert reading["m.joint_velocity"] == pytest.approx(0.25, abs=1e-12)
    np.testing.assert_allclose(reading["m.accelerometer"], [0.25, 0, 0], atol=1e-12)
    assert reading["motor"] == 0.5
    sim.run(1)  # and on a line to 8 N
    assert sim.sensors["m.joint_velocity"] == pytest.approx((0.5 + 4.25) / 2, abs=1e-10)
    assert reading["m.joint_velocity"] == pytest.approx(0.25)  # a copy
    assert pickle.loads(pickle.dumps(reading)).keys() == reading.keys()
    with pytest.raises(KeyError, match="no sensor 'moter'; did you mean 'motor'"):
        sim.sensors["moter"]


def test_schedules_are_replaced():
    sim = make()
    assert sim.schedule == sim.model.schedule
    assert [point["time"] for point in sim.schedule] == [1, 2]
    sim.schedule = None
    sim.run(2)
    assert sim.v[0] == pytest.approx(0.5, abs=1e-12)
    sim.reset()
    sim.schedule = [{"time": 0, "control": {"push": 0}, "force": {"m": [4, 0, 0]}},
                    {"time": 1, "force": {"m": (0, 0, 0)}, "interpolate": "constant"}]
    sim.apply_force("m", force=[2, 0, 0])  # forces add up
    again = pickle.loads(pickle.dumps(sim))
    sim.run(2)
    assert sim.v[0] == pytest.approx((4 * 1 + 2 * 2) / 2, abs=1e-10)
    again.run(2)
    assert again.v[0] == pytest.approx(4 / 2, abs=1e-10)  # forces of apply_force() are not part of a pickle


def test_tables(tmp_path, program):
    (tmp_path / "slider.yaml").write_text(SLIDER)
    (tmp_path / "table.csv").write_text("time,push\n0,0\n1,4\n2,4\n")
    sim = capstan.load(tmp_path / "slider.yaml")
    sim.schedule = tmp_path / "table.csv"
    sim.run()
    assert sim.v[0] == pytest.approx((2 + 4) / 2, abs=1e-10)
    text = program("run", tmp_path / "slider.yaml", "--controls", tmp_path / "table.csv")
    assert f"hash of final state   {sim.hash:016x}" in text
    assert re.search(r"motor\s+4 N", text)
    sim.reset()
    sim.schedule = sim.model.read_schedule(tmp_path / "table.csv", interpolate="constant")
    sim.run()
    assert sim.v[0] == pytest.approx((0 + 4) / 2, abs=1e-10)
    (tmp_path / "table.csv").write_text("time,posh\n0,0\n")
    with pytest.raises(capstan.InputError, match="table.csv:1: error: column 'posh' .*did you mean 'push'"):
        sim.schedule = str(tmp_path / "table.csv")


def test_controls_of_the_scene_give_the_bits_of_the_command_line(tmp_path, program):
    page = open(os.path.join(os.path.dirname(__file__), "../../docs/scene.md")).read()
    begin = page.index("capstan: 1            # gripper.yaml")
    (tmp_path / "gripper.yaml").write_text(page[begin:page.index("```", begin)])
    text = program("run", tmp_path / "gripper.yaml")
    sim = capstan.load(tmp_path / "gripper.yaml").run()
    assert re.search(r"hash of final state\s+([0-9a-f]{16})", text)[1] == f"{sim.hash:016x}"
    assert sim.body("cube").position[2] == pytest.approx(0.19, abs=5e-3)
    np.testing.assert_allclose(sim.sensors["cube.accelerometer"], [0, 0, 9.81], atol=1e-3)
    assert sim.sensors["left.touch"] == pytest.approx(2.5, abs=0.01)  # 500 N/m times 5 mm


@pytest.mark.parametrize("points, message", [
    ([{"time": 0, "control": {"posh": 1}}], "point 0 of the schedule: .*unknown actuator 'posh'; did you mean 'push'"),
    ([{"time": 0, "contrl": {"push": 1}}], "unknown key 'contrl'; did you mean 'control'"),
    ([{"control": {"push": 1}}], "has no time"),
    ([{"time": "now"}], "time is 'now'; give a number"),
    ([{"time": 0, "control": {"push": "hard"}}], "control of 'push' is 'hard'; give a number"),
    ([{"time": 0, "control": 3}], "control is no dict"),
    ([{"time": 0, "force": {"m": [1, 2]}}], "force on 'm' has 2 numbers; give 3"),
    ([{"time": 1}, {"time": 0}], "point 1 of the schedule: .*in the order of time"),
    ([{"time": 0, "interpolate": "cubic"}], "give 'constant', 'linear' or 'smooth'"),
    ([{"time": 0, "control": {"push": float("nan")}}], "not finite"),
    ({"time": 0}, "a list of points"),
    ([3], "point 0 of the schedule is 3; give a dict"),
])
def test_mistakes_in_schedules(points, message):
    sim = make()
    with pytest.raises(ValueError, match=message):
        sim.schedule = points
    assert len(sim.schedule) == 2  # that of before


def test_a_control_that_the_schedule_sets():
    sim = make()
    sim.control["push"] = 1  # before the first point it is the user's
    sim.run(0.5)
    assert sim.v[0] == pytest.approx(0.25, abs=1e-12)
    sim.run(0.75)
    sim.control["push"] = 3
    with pytest.raises(ValueError, match="control of 'push' was set to 3, but the schedule sets it; 'sim.schedule = None'"):
        sim.step()
    sim.schedule = None
    sim.step()
    assert sim.control["push"] == 3


def test_a_step_after_a_reset_is_the_first_step():
    for name in ("stack", "clutter"):
        sim = capstan.load(name)
        sim.step()
        first = sim.hash
        sim.reset()
        sim.step()
        assert sim.hash == first


def test_what_is_mistyped():
    sim = make(BOX)
    with pytest.raises(AttributeError, match="a simulation has no 'contact_lav'; did you mean 'contact_law'"):
        sim.contact_lav = "sap"
    with pytest.raises(AttributeError, match="a simulation has no 'xyz'"):
        sim.xyz = 1
    with pytest.raises(AttributeError):
        sim.body("box").mas = 3

    class Mine(capstan.Simulation):
        pass

    mine = Mine(sim.model)
    mine.notes = "a class of the user's has what the user likes"
    with pytest.raises(TypeError, match=r"a whole number of steps, not 0.1; run\(0.1\) takes seconds"):
        sim.step(0.1)
    sim.step(np.int64(2))
    with pytest.raises(TypeError, match="capstan.scene_from_dict"):
        capstan.load({"capstan": 1})
    with pytest.raises(TypeError, match="a scene is given as 3; give a path"):
        capstan.load(3)
    with pytest.raises(KeyError, match="no body 'bax'; did you mean 'box'"):
        sim.body("bax")
    with pytest.raises(KeyError, match="no body 'carriage'; known are world, box"):
        sim.body("carriage")


def test_recordings_are_no_films(tmp_path):
    sim = make(BOX)
    with pytest.raises(ValueError, match=r"record '.*film.capstan', then capstan.export\('.*film.capstan', '.*film.MP4'\)"):
        sim.record(tmp_path / "film.MP4")
    assert not (tmp_path / "film.MP4").exists() and not sim.is_recording


def scene_file(folder, text):
    path = folder / "scene.yaml"
    path.write_text(text)
    return path


def test_warnings_of_scenes_are_told(tmp_path):
    read = BOX.replace("duration: 1", "duration: 1, sleep_time: 1")  # found by reading
    compiled = BOX.replace("duration: 1", "duration: 1, normal_law: hunt_crossley") + (
        "materials: [{name: default, relaxation_time: 1}]\n")  # found by compiling
    for text, what in (read, "sleep_time"), (compiled, "relaxation_time"):
        with pytest.warns(capstan.SceneWarning, match=what) as told:
            scene = capstan.Scene.from_string(text)
            model = capstan.Model(scene)
            capstan.Simulation(model)
        assert len(told) == len(model.warnings) == 1  # once, at a line of the user's
        assert told[0].filename == __file__ and "<string>:" in str(told[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pickle.loads(pickle.dumps(model))
            with pytest.raises(capstan.SceneWarning):
                capstan.Model(capstan.Scene.from_string(text))
    with pytest.warns(capstan.SceneWarning, match="sleep_time") as told:
        capstan.load(scene_file(tmp_path, read))
    assert [w.filename for w in told] == [__file__]


ARM = """<mujoco><compiler angle="radian"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="a" pos="0 0 1"><joint name="h" axis="0 1 0" damping=".1"/><geom type="box" size=".25 .03 .03" pos=".25 0 0" mass="1"/>
<body name="b" pos=".5 0 0"><joint name="k" type="ball"/><geom type="box" size=".02 .2 .02" pos="0 .2 0" mass=".4"/>
<body name="c" pos="0 .4 0" quat="1 0 1 0"><joint name="s" type="slide" axis="1 0 .5" stiffness="20"/>
<geom type="box" size=".05 .04 .03" mass=".3"/><site name="s" pos=".01 .02 .03" quat="1 .2 .3 .4"/></body></body></body>
<body name="f" pos="1 1 1"><freejoint name="free"/><geom type="box" size=".1 .2 .3" pos=".1 0 0" mass="2"/>
<site name="t" pos=".1 .2 .3" quat="1 -.2 .3 .1"/></body></worldbody>
<tendon><fixed name="ten"><joint joint="h" coef="2"/><joint joint="s" coef="-1"/></fixed></tendon>
<actuator><motor name="m" joint="h" gear="2"/><position name="p" joint="s" kp="30"/><motor name="tm" tendon="ten"/></actuator>
<sensor><jointactuatorfrc name="jf" joint="h"/><tendonpos name="tp" tendon="ten"/><tendonvel name="tv" tendon="ten"/>
<magnetometer name="mg" site="s"/><framexaxis name="fx" objtype="site" objname="s"/><framezaxis name="fz" objtype="xbody" objname="c"/>
<framepos name="fb" objtype="body" objname="a"/><framelinvel name="fl" objtype="body" objname="f"/>
<framelinacc name="fa" objtype="site" objname="t"/><frameangacc name="fn" objtype="site" objname="s"/>
<framepos name="rp" objtype="site" objname="s" reftype="site" refname="t"/><framequat name="rq" objtype="site" objname="s" reftype="xbody" refname="f"/>
<framelinvel name="rv" objtype="site" objname="s" reftype="site" refname="t"/><frameangvel name="rw" objtype="site" objname="s" reftype="site" refname="t"/>
<subtreelinvel name="sv" body="a"/><subtreeangmom name="sm" body="a"/><jointpos name="jp" joint="h"/><jointvel name="jv" joint="s"/><ballquat name="bq" joint="k"/>
<actuatorpos name="ap" actuator="m"/><actuatorvel name="av" actuator="p"/><actuatorfrc name="af" actuator="p"/>
<framepos name="fp" objtype="site" objname="s"/><framequat name="fq" objtype="site" objname="t"/>
<framelinvel name="fv" objtype="site" objname="t"/><frameangvel name="fw" objtype="xbody" objname="b"/>
<velocimeter name="vm" site="t"/><gyro name="gy" site="t"/><gyro name="gs" site="s"/>
<accelerometer name="ac" site="s"/><accelerometer name="at" site="t"/>
<force name="fo" site="s"/><torque name="to" site="s"/><subtreecom name="sc" body="a"/><clock name="cl"/></sensor></mujoco>"""


def test_sensors_agree_with_mujoco():
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(theirs)
    ours = capstan.Scene.from_string(ARM)
    FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
    random = np.random.default_rng(3)
    for _ in range(5):
        mujoco.mj_resetData(theirs, data)
        data.qvel[:] = random.normal(size=theirs.nv)
        data.ctrl[:] = random.normal(size=theirs.nu)
        mujoco.mj_integratePos(theirs, data.qpos, random.normal(size=theirs.nv), 1)
        sim = capstan.Simulation(ours, dt=1e-8)
        # The layout is MuJoCo's, but for angular velocities, which are in the axes before the joint here.
        sim.q[:] = data.qpos
        sim.v[:] = data.qvel
        for joint, kind in enumerate(theirs.jnt_type):
            if kind in (FREE, BALL):
                first = 3 if kind == FREE else 0
                q, v = theirs.jnt_qposadr[joint] + first, theirs.jnt_dofadr[joint] + first
                R = np.zeros(9)
                mujoco.mju_quat2Mat(R, data.qpos[q:q + 4])
                sim.v[v:v + 3] = R.reshape(3, 3) @ data.qvel[v:v + 3]
        sim.control[:] = data.ctrl
        sim.step()  # theirs are measured at the beginning of a step: 1e-8 s earlier
        mujoco.mj_forward(theirs, data)
        readings = sim.sensors
        assert list(readings) == [theirs.sensor(i).name for i in range(theirs.nsensor)]
        for i in range(theirs.nsensor):
            name, value = theirs.sensor(i).name, data.sensordata[theirs.sensor_adr[i]:][:theirs.sensor_dim[i]]
            mine = np.atleast_1d(readings[name])
            if name in ("fq", "bq", "rq") and mine @ value < 0:
                mine = -mine
            np.testing.assert_allclose(mine, value, atol=2e-5, rtol=1e-6, err_msg=name)


def test_touch_agrees_with_mujoco():
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1"/>
<body name="b" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="3"/><site name="s" size=".3"/>
<body name="top" pos="0 0 .2"><geom type="box" size=".05 .05 .05" mass="1"/><site name="w"/></body></body></worldbody>
<sensor><touch name="touch" site="s"/><force name="force" site="w"/><accelerometer name="imu" site="s"/></sensor></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    for _ in range(1000):
        mujoco.mj_step(theirs, data)
    with pytest.warns(capstan.SceneWarning, match="whole body"):
        sim = make(text).run(2)
    readings = sim.sensors
    assert readings["touch"] == pytest.approx(4 * 9.81, rel=1e-5) == pytest.approx(data.sensor("touch").data[0], rel=1e-3)
    np.testing.assert_allclose(readings["force"], data.sensor("force").data, atol=1e-3)
    np.testing.assert_allclose(readings["imu"], data.sensor("imu").data, atol=1e-3)


def test_ranges_and_contact_pairs_agree_with_mujoco():
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><option timestep="0.002" magnetic="0.1 -0.2 0.3"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
<geom name="ball" type="sphere" size=".3" pos="2 0.1 .2"/><geom type="cylinder" size=".2 .5" pos="0 -3 .1"/>
<body name="b" pos="0 0 .1"><freejoint/><geom name="g" type="box" size=".1 .1 .1" mass="3"/>
<site name="x" zaxis="1 0 0"/><site name="y" zaxis="0 -1 0.1"/><site name="down" zaxis="0.1 0.2 -1"/><site name="up"/></body>
<body name="top" pos="0 0 .25"><freejoint/><geom name="h" type="box" size=".05 .05 .05" mass="1"/></body></worldbody>
<sensor><rangefinder name="x" site="x"/><rangefinder name="y" site="y" cutoff="2.5"/><rangefinder name="down" site="down"/>
<rangefinder name="up" site="up"/><magnetometer name="m" site="y"/>
<contact name="n" body1="b" geom2="floor" data="found"/><contact name="f" body1="b" geom2="floor" data="force" reduce="netforce"/>
<contact name="t" geom1="h" data="force" reduce="netforce"/><contact name="p" body1="b" body2="top" data="force" reduce="netforce"/>
</sensor></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    for _ in range(1500):
        mujoco.mj_step(theirs, data)
    with pytest.warns(capstan.SceneWarning, match="geoms that collide"):
        sim = make(text).run(3)
    for i in range(theirs.nsensor):
        name = theirs.sensor(i).name
        np.testing.assert_allclose(np.atleast_1d(sim.sensors[name]), data.sensor(name).data, atol=2e-3, err_msg=name)


DRONE = """<mujoco><option density="1.2" viscosity="0.002" wind="1 -2 0.5" gravity="0 0 -9.81"/><worldbody>
<body name="x2" pos="0 0 1"><freejoint/><inertial pos=".02 .01 0" mass="1.3" diaginertia=".02 .03 .045"/>
<site name="a" pos=".14 .18 .05"/><site name="b" pos="-.14 .18 .05" quat="1 .1 .2 0"/>
<body name="arm" pos="0 0 -.1"><joint name="h" axis="0 1 0"/><geom type="box" size=".02 .03 .1" pos="0 0 -.1" mass=".4"/></body></body>
<body name="s" pos="3 0 0"><joint name="slide" type="slide" axis="1 0 0"/><geom type="box" size=".1 .2 .3" mass="0.5"/></body></worldbody>
<actuator><motor name="a" site="a" gear="0 0 1 0 0 -.02" ctrlrange="0 13"/><motor name="b" site="b" gear="0 0 1 0.1 0 .02" ctrlrange="0 13"/></actuator>
</mujoco>"""


def test_thrusters_and_drag_agree_with_mujoco():
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(DRONE)
    data = mujoco.MjData(theirs)
    ours = capstan.Scene.from_string(DRONE)
    random = np.random.default_rng(5)
    for _ in range(5):  # accelerations at one state
        mujoco.mj_resetData(theirs, data)
        data.qvel[:] = random.normal(size=theirs.nv)
        data.ctrl[:] = 20 * random.random(theirs.nu)
        mujoco.mj_integratePos(theirs, data.qpos, random.normal(size=theirs.nv), 1)
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, data.qpos[3:7])
        R = R.reshape(3, 3)
        sim = capstan.Simulation(ours, dt=1e-7)
        sim.q[:] = data.qpos
        sim.v[:] = data.qvel
        sim.v[3:6] = R @ data.qvel[3:6]
        sim.control[:] = data.ctrl
        before = sim.v.copy()
        sim.step()
        mujoco.mj_forward(theirs, data)
        expected = data.qacc.copy()
        expected[3:6] = R @ expected[3:6]  # of w in the world: dw/dt = R dw_body/dt
        np.testing.assert_allclose((sim.v - before) / 1e-7, expected, atol=2e-4, rtol=1e-5)
    mujoco.mj_resetData(theirs, data)  # and a second of the slide, blown by the wind
    sim = capstan.Simulation(ours, dt=0.002)
    data.qvel[-1] = -3
    sim.v["slide"] = -3
    for _ in range(500):
        mujoco.mj_step(theirs, data)
    sim.step(500)
    assert sim.q["slide"] == pytest.approx(data.qpos[-1], abs=1e-9)


def test_a_thruster_by_arithmetic():
    sim = make("""capstan: 1
options: {gravity: [0, 0, -10], dt: 0.001}
bodies: [{name: b, joint: free, inertia: {mass: 2, moments: [0.1, 0.1, 0.1]}, sites: [{name: s, position: [0, 0, -1], rpy_deg: [0, 90, 0]}]}]
actuators: [{name: jet, type: torque, site: s, gear: [0, 0, 3, 0, 0, 0.5], control: 4}]
sensors: [{type: frame_acceleration, body: b}]
""")
    sim.step()
    # 12 N along x at 1 m below the centre: a = 6 m/s^2, and a torque of -12 N m about y; 2 N m about x.
    np.testing.assert_allclose(sim.v / 0.001, [6, 0, -10, 20, -120, 0], atol=1e-6)
    np.testing.assert_allclose(sim.sensors["b.frame_acceleration"], [6, 0, -10], atol=0.2)  # it begins to turn


def test_springdamper_is_that_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><option integrator="implicit"/><worldbody><body name="a" pos="0 0 2"><joint name="a" axis="0 1 0" springdamper="0.1 0.7" armature=".01"/>
<geom type="box" size=".1 .1 .2" pos="0 0 .2" mass="1" contype="0" conaffinity="0"/>
<body name="b" pos="0 0 .4"><joint name="b" axis="1 0 0" springdamper="0.05 1"/><geom type="box" size=".1 .1 .2" pos="0 0 .2" mass=".5" contype="0" conaffinity="0"/>
</body></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    scene = capstan.Scene.from_string(text).to_yaml()
    for i, name in enumerate("ab"):
        joint = re.search(rf'joints: \[{{name: "?{name}"?,[^}}]*', scene)[0]
        assert float(re.search(r"stiffness: ([^,}]*)", joint)[1]) == pytest.approx(theirs.jnt_stiffness[i], rel=1e-9)
        assert float(re.search(r"damping: ([^,}]*)", joint)[1]) == pytest.approx(theirs.dof_damping[i], rel=1e-9)
