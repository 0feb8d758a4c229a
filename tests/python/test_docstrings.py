"""Docstrings: their examples run, and arrays are told with shape and unit."""
import doctest
import importlib.util
import inspect
import re

import numpy as np
import pytest

import capstan

if importlib.util.find_spec("gymnasium"):
    import capstan.gym


def public_things():
    """(name, thing) of all that is public, members of classes included."""
    modules = {"capstan": (capstan, capstan.__all__)}
    if hasattr(capstan, "gym"):
        modules["capstan.gym"] = (capstan.gym, ["Task", "Reach", "Push", "Walk", "Environment", "VectorEnvironment", "make", "make_vec"])
    for prefix, (module, names) in modules.items():
        for name in names:
            thing = getattr(module, name)
            if not (inspect.isclass(thing) or callable(thing)):
                continue
            yield f"{prefix}.{name}", thing
            if not inspect.isclass(thing) or issubclass(thing, (Exception, capstan.NamedArray)):
                continue
            for member in dir(thing):
                value = inspect.getattr_static(thing, member)
                if member.startswith("_") or (module is not capstan and (member not in vars(thing) or name in ("Reach", "Push", "Walk"))):
                    continue
                yield f"{prefix}.{name}.{member}", getattr(value, "__func__", value)


THINGS = dict(public_things())


def doc_of(thing):
    return inspect.cleandoc(getattr(thing, "__doc__", None) or "")


EXAMPLES = sorted(name for name, thing in THINGS.items() if ">>>" in doc_of(thing))


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(doc_of(THINGS[name]), {"capstan": capstan, "np": np}, name, None, 0)
    told = []
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=told.append).failed == 0, "".join(told)


def test_what_is_used_most_has_an_example():
    most = """load Simulation Scene Model State Batch rollout record scene_from_dict inverse_kinematics Rod SoftBody Body
        Mocap Image Recording InputError StepError NamedArray as_xyzw as_wxyz rigid_models Simulation.run Simulation.save
        Simulation.record Simulation.contacts Simulation.contact_force Simulation.apply_force Simulation.set_friction
        Simulation.set_mass Simulation.sensors Simulation.schedule Model.with_friction Model.with_mass Model.frame_pose
        Model.jacobian Model.ray_cast Model.distance Scene.set_friction Scene.append Scene.from_string"""
    assert {f"capstan.{name}" for name in most.split()} <= set(EXAMPLES)


SHAPE = re.compile(r"\[(\d|\.\.\.|[a-z_.]+)(, [^\]]+)?\]")
UNIT = re.compile(r"\[[^\]]*\b(m|rad|s|kg|N|J|Pa|px)\b[^\]]*\]|unit|quat_wxyz|uint8|indices|nodes,|bool|[Ff]actor|"
                  r"-1 to 1|of dtype capstan\.CONTACT|dtype CONTACT")


def gives_arrays(name, thing):
    """Whether an array is among what it takes or gives, by its annotations; of nanobind's, by its signature."""
    told = getattr(thing, "__nb_signature__", None)
    if isinstance(thing, property):
        told = told or getattr(thing.fget, "__nb_signature__", None)
        thing = thing.fget
    if told:
        text = " ".join(str(part[0]) for part in told)
    else:
        thing = getattr(type(thing), "__get__", thing) if "ArrayView" in type(thing).__name__ else thing
        text = " ".join(map(str, getattr(thing, "__annotations__", {}).values())) if not inspect.isclass(thing) else ""
    return re.search(r"NDArray|ArrayLike|Floats|NamedArray", text) is not None


def test_arrays_are_told_with_shape_and_unit():
    with_arrays = [name for name, thing in THINGS.items() if gives_arrays(name, thing)]
    assert len(with_arrays) > 80 and "capstan.Model.jacobian" in with_arrays and "capstan.Simulation.q" in with_arrays
    silent = [f"{name}: {doc_of(THINGS[name])}" for name in with_arrays
              if not (SHAPE.search(doc_of(THINGS[name])) and UNIT.search(doc_of(THINGS[name])))]
    assert not silent, "\n".join(silent)
