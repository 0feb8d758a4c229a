"""The programs of python/examples run, and what they say of physics holds."""
import importlib.util
import pathlib

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "python/examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_first_simulation():
    load("first_simulation").main()


def test_grasp():
    slips = load("grasp").main()
    assert slips == {grip: grip < 9.81 * 0.5027 for grip in slips}  # [N]; the rod has 0.5027 kg


def test_contact_laws():
    creep = load("contact_laws").main(1)
    assert abs(creep["coulomb"]) < 1e-4


def test_random_search():
    pytest.importorskip("gymnasium", reason="gymnasium (PyPI) is not installed")
    history = load("random_search").main(rounds=2, directions=2, best=1, steps=20)
    assert len(history) == 2 and np.isfinite(history).all()


def test_all_are_listed():
    assert {p.stem for p in FOLDER.glob("*.py")} == {"first_simulation", "grasp", "contact_laws", "random_search"}
