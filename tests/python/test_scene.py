"""Scenes and models: from files, text and objects; what is wrong with them."""
import os
import pathlib
import pickle

import numpy as np
import pytest

import capstan
from conftest import BOX, SCENES

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_by_path_and_by_name():
    by_path = capstan.Scene.load(pathlib.Path(SCENES) / "clutter.yaml")
    by_name = capstan.Scene.load("clutter")
    assert capstan.Model(by_path).fingerprint == capstan.Model(by_name).fingerprint
    assert "clutter" in capstan.scenes() and capstan.scenes()["clutter"]
    with pytest.raises(capstan.InputError, match="cluter") as error:
        capstan.load("cluter")
    assert "clutter" in str(error.value)


@pytest.mark.parametrize("name", sorted(capstan.scenes()))
def test_every_scene_that_ships_runs(name):
    sim = capstan.load(name)
    sim.step(5)
    assert np.isfinite(sim.q).all()
    again = pickle.loads(pickle.dumps(sim.model))
    assert again.fingerprint == sim.model.fingerprint


def test_every_problem_is_told_with_file_line_and_remedy(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("capstan: 1\nbodies:\n  - {name: a, joint: {type: fre}}\n  - {name: b, parnt: a}\n")
    with pytest.raises(capstan.InputError) as error:
        capstan.Scene.load(path, strict=True)
    diagnostics = error.value.diagnostics
    assert {d.line for d in diagnostics} >= {3, 4}
    assert all(d.file == str(path) for d in diagnostics)
    first = next(d for d in diagnostics if d.line == 3)
    assert first.severity == "error" and "fre" in first.what and first.remedy
    assert f"{path}:3" in str(error.value)
    assert issubclass(capstan.InputError, ValueError)
    with pytest.raises(capstan.InputError):
        capstan.Scene.load(tmp_path)
    with pytest.raises(capstan.InputError):
        capstan.Scene.load("")


def test_from_text():
    model = capstan.Model(capstan.Scene.from_string(BOX))
    assert model.body_names == ["world", "box"] and model.joint_names == ["loose"]
    assert model.total_mass == pytest.approx(2)
    with pytest.raises(capstan.InputError, match="<string>:2"):
        capstan.Scene.from_string("capstan: 1\nbodis: []\n", strict=True)
    mjcf = '<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    assert capstan.Model(capstan.Scene.from_string(mjcf)).num_velocities == 6
    urdf = ('<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>'
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            '<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>')
    assert "j" in capstan.Model(capstan.Scene.from_string(urdf)).joint_names
    with pytest.raises(capstan.InputError, match="<string>"):
        capstan.Scene.from_string("<mujoco><worldbody><body><geom type='cube'/></body></worldbody></mujoco>")
    for nothing in ("", "\0", "<", "[", "a: b: c"):
        with pytest.raises(capstan.InputError):
            capstan.Scene.from_string(nothing)


def test_from_plain_objects():
    scene = capstan.scene_from_dict({
        "capstan": 1, "name": "ball",
        "bodies": [{"name": "ball", "position": np.array([0, 0, 0.1 + 0.2]), "joint": {"name": "free", "type": "free"},
                    "shape": {"type": "sphere", "radius": np.float64(0.1), "mass": 1}}]})
    sim = capstan.Simulation(scene)
    assert sim.q[2] == 0.1 + 0.2  # every bit
    with pytest.raises(TypeError):
        capstan.scene_from_dict({"capstan": 1, "bodies": {1, 2}})
    with pytest.raises(ValueError):
        capstan.scene_from_dict({"capstan": 1, "options": {"dt": float("nan")}})
    rigid = capstan.scene_from_dict({"capstan": 1, "materials": [{"name": "m", "elastic_modulus": float("inf")}]})
    assert "elastic_modulus: .inf" in rigid.to_yaml()


def test_scenes_of_scenes():
    scene = capstan.Scene.from_string("capstan: 1\nname: two\nshapes:\n  - {name: ground, type: half_space}\n")
    box = capstan.scene_from_dict({"capstan": 1, "bodies": [
        {"name": "box", "joint": {"name": "free", "type": "free"}, "shape": {"type": "box", "size": [1, 1, 1]}}]})
    scene.append(box, "left", position=[-2, 0, 1])
    scene.append(box, "right", position=[2, 0, 1], quat_wxyz=[0, 0, 0, 2], joint="weld")
    model = capstan.Model(scene)
    assert model.body_names == ["world", "left/box", "right/box"] and model.num_velocities == 6
    np.testing.assert_allclose(capstan.Simulation(model).body("right/box").position, [2, 0, 1])
    with pytest.raises(capstan.InputError, match="twice|duplicate|already|both|unique"):
        scene.append(box, "left")
        capstan.Model(scene)
    with pytest.raises(ValueError):
        scene.append(box, "x", quat_wxyz=[0, 0, 0, 0])
    with pytest.raises(ValueError):
        scene.append(box, "x", joint="slide")


def test_friction_changed_between_runs():
    slope = """\
capstan: 1
options: {gravity: [4.9, 0, -8.5], dt: 0.005}
shapes: [{name: floor, type: half_space}]
bodies: [{name: box, position: [0, 0, 0.1], joint: {name: free, type: free}, shape: {type: box, size: [0.2, 0.2, 0.2]}}]
"""
    scene = capstan.Scene.from_string(slope)
    travel = {}
    for friction in (0.2, 1.0):  # tan 30 degrees = 0.577 is between
        scene.set_friction(friction)
        travel[friction] = capstan.Simulation(scene).run(1).q[0]
    assert travel[1.0] == pytest.approx(0, abs=1e-3)
    assert travel[0.2] == pytest.approx((4.9 - 0.2 * 8.5) / 2, rel=2e-2)
    with pytest.raises(KeyError):
        scene.set_friction(0.5, "ice")
    with pytest.raises(ValueError):
        scene.set_friction(-1)


def test_meshes_are_pickled(tmp_path):
    (tmp_path / "t.obj").write_text(TETRAHEDRON)
    (tmp_path / "t.yaml").write_text(
        "capstan: 1\nname: t\nbodies:\n  - {name: t, joint: {type: free}, shape: {type: mesh, file: t.obj, mass: 1}}\n")
    scene = capstan.Scene.load(tmp_path / "t.yaml")
    data = pickle.dumps(scene)
    os.remove(tmp_path / "t.obj")
    assert capstan.Model(pickle.loads(data)).fingerprint == capstan.Model(scene).fingerprint
    scene.save(tmp_path / "out.yaml")
    assert capstan.Model(tmp_path / "out.yaml").total_mass == pytest.approx(1)
    with pytest.raises(capstan.InputError):
        scene.save(tmp_path / "no" / "such.yaml")


def test_joints_and_sizes():
    model = capstan.Model("arm_reach")
    joint = model.joint(model.joint_names[0])
    assert joint.type == "revolute" and joint.q == slice(0, 1) and joint.v == slice(0, 1)
    lower, upper = model.limits
    assert lower.shape == upper.shape == (model.num_velocities,)
    if joint.limits:
        assert joint.limits[0] == (lower[0], upper[0])
    assert model.control_range.shape == (model.num_controls, 2)
    assert model.body_masses.shape == (len(model.body_names),)
    assert model.total_mass == pytest.approx(model.body_masses[2:].sum())  # link0 is welded to the world
    with pytest.raises(IndexError):
        model.joint(99)
    with pytest.raises(TypeError):
        model.joint(1.5)


def test_everything_public_has_a_docstring():
    for name in capstan.__all__:
        thing = getattr(capstan, name)
        if not (isinstance(thing, type) or callable(thing)):
            continue
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if member.startswith("_") or not (callable(value) or isinstance(value, property)):
                continue
            assert getattr(value, "__doc__", None), f"{name}.{member}"


def test_masses_can_be_changed():
    scene = capstan.scene_from_dict({"capstan": 1, "bodies": [
        {"name": "two", "joint": "free", "shapes": [{"type": "sphere", "radius": 0.1, "mass": 1}, {"type": "box", "size": [0.1, 0.1, 0.1]}]},
        {"name": "given", "joint": "free", "inertia": {"mass": 2, "moments": [1, 2, 2.5]}}]})
    before = capstan.Model(scene)
    q = capstan.State(before).q
    for name, mass in (("two", 5), ("given", 0.5)):
        scene.set_mass(mass, name)
    after = capstan.Model(scene)
    np.testing.assert_allclose(before.body_masses[1:], [2, 2])
    np.testing.assert_allclose(after.body_masses[1:], [5, 0.5])
    scale = np.repeat([2.5, 0.25], 6)
    np.testing.assert_allclose(np.diag(after.mass_matrix(q)), scale * np.diag(before.mass_matrix(q)))
    for bad in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError):
            scene.set_mass(bad, "two")
    with pytest.raises(KeyError, match="did you mean 'given'"):
        scene.set_mass(1, "givn")


def test_problems_of_plain_objects_are_told_by_their_place():
    body = lambda **joint: {"name": "a", "joint": {"name": "j", **joint}, "shape": {"type": "sphere", "radius": 0.1}}
    with pytest.raises(capstan.InputError, match=r"^bodies\[1\]\.joint\.type: error: .*'hinge'"):
        capstan.scene_from_dict({"capstan": 1, "bodies": [body(type="free"), {**body(type="hinge"), "name": "b"}]})
    with pytest.warns(capstan.SceneWarning, match=r"^bodies\[0\]\.joint\.tipe: warning"):
        capstan.scene_from_dict({"capstan": 1, "bodies": [body(type="free", tipe=1)]})
    with pytest.raises(capstan.InputError, match="<string>:1"):  # text is told by its lines, as before
        capstan.Scene.from_string("capstan: 2")
    numbers = {"capstan": 1, "bodies": [{"name": "a", "position": [0.1, 1e-300, 1 / 3], "joint": "free", "shape": {"type": "sphere", "radius": 0.1}}]}
    np.testing.assert_array_equal(capstan.State(capstan.Model(capstan.scene_from_dict(numbers))).q[:3], [0.1, 1e-300, 1 / 3])
