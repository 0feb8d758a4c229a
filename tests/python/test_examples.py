"""The programs of python/examples run, and what they say of physics holds."""
import importlib.util
import json
import pathlib

import numpy as np
import pytest

import capstan

FOLDER = pathlib.Path(__file__).parents[2] / "python/examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_first_simulation(tmp_path):
    load("first_simulation").main(tmp_path / "film.capstan")
    assert len(capstan.Recording(tmp_path / "film.capstan")) == 131


def test_notebooks(tmp_path, monkeypatch):
    """Cells, one after the other, as Jupyter runs them."""
    monkeypatch.syspath_prepend(str(FOLDER.parents[1] / "tools"))
    monkeypatch.chdir(tmp_path)
    import tutorials
    assert set(tutorials.TUTORIALS) == {p.stem for p in FOLDER.glob("*.py")}
    tutorials.main("notebooks", tmp_path)
    for name in tutorials.TUTORIALS:
        content = json.loads((tmp_path / f"{name}.ipynb").read_text())
        assert content["nbformat"] == 4 and content["cells"][0]["cell_type"] == "markdown"
        *cells, call = [cell["source"] for cell in content["cells"][1:]]
        assert call.startswith("main(")
        if name == "random_search" and importlib.util.find_spec("gymnasium") is None:
            continue
        space = {}
        for cell in cells + ([call] if name in ("first_simulation", "contact_forces") else []):  # the others run above
            exec(compile(cell, name, "exec"), space)
        assert callable(space["main"])


def test_grasp():
    slips = load("grasp").main()
    assert slips == {grip: grip < 9.81 * 0.5027 for grip in slips}  # [N]; the rod has 0.5027 kg


def test_contact_laws():
    creep = load("contact_laws").main(1)
    assert abs(creep["coulomb"]) < 1e-4


def test_contact_forces():
    load("contact_forces").main()


def test_friction_from_recording():
    assert abs(load("friction_from_recording").main() - 0.31) < 2e-3


def test_random_search():
    pytest.importorskip("gymnasium", reason="gymnasium (PyPI) is not installed")
    history = load("random_search").main(rounds=2, directions=2, best=1, steps=20)
    assert len(history) == 2 and np.isfinite(history).all()


def test_all_are_listed():
    assert {p.stem for p in FOLDER.glob("*.py")} == {"first_simulation", "grasp", "contact_laws", "contact_forces",
                                                       "friction_from_recording", "random_search"}
