"""Sweeps in two processes, one of which is killed."""
import importlib
import linecache
import os
import sys

import numpy as np
import pytest

import capstan
import sweep_tasks


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Workers find this folder, too."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def test_results_are_those_of_this_process(tmp_path):
    grid = {"friction": [0.1, 0.3, 0.9], "duration": [0.1, 0.2]}
    points = capstan.sweep(sweep_tasks.slide, grid, tmp_path, workers=2)
    assert len(points) == 6 and points[1].point == {"friction": 0.1, "duration": 0.2}
    for p in points:
        assert p.error == ""
        here = sweep_tasks.slide(**p.point)
        np.testing.assert_array_equal(p.result["q"], here["q"])
        assert p.result["hash"] == here["hash"]


def test_a_killed_process_and_a_second_run(tmp_path):
    grid = [{"number": n, "folder": str(tmp_path)} for n in range(6)]
    points = capstan.sweep(sweep_tasks.killed_once, grid, tmp_path / "results", workers=2)
    assert [int(p.result["value"]) if p.result else None for p in points] == [0, 1, 4, None, 16, 25]
    assert "three is not" in points[3].error
    assert (tmp_path / "killed").exists()
    before = {p.path: p.path and open(p.path, "rb").read() for p in points if p.result}
    calls = {n: len((tmp_path / f"calls_{n}").read_text()) for n in (0, 1, 2, 4, 5)}
    again = capstan.sweep(sweep_tasks.killed_once, grid, tmp_path / "results", workers=2)
    assert {p.path: open(p.path, "rb").read() for p in again if p.result} == before
    assert calls == {n: len((tmp_path / f"calls_{n}").read_text()) for n in calls}  # nothing was computed twice
    assert again[3].error


HELPER = "FACTOR = 2\n\n\ndef helper(x):\n    return FACTOR * x\n\n\ndef unused(x):\n    return x\n"
TASK = """\
import functools
import math

import numpy as np

import own_helper
from own_helper import helper

OFFSET = 1


class Shape:
    def area(self, x):
        return square(x)


def square(x):
    return x * x


def task(x):
    return helper(x) + own_helper.helper(x) + OFFSET + Shape().area(x) + math.floor(np.sqrt(0))


def other():
    return "plots"
"""


@pytest.mark.parametrize("file, old, new, value", [
    ("own_helper.py", "return FACTOR * x", "return FACTOR * x + 1", 3 * 4 + 2 + 1 + 9),  # a function that it calls
    ("own_helper.py", "FACTOR = 2", "FACTOR = 5", 2 * 15 + 1 + 9),  # a constant, two calls down
    ("own_task.py", "OFFSET = 1", "OFFSET = 10", 12 + 10 + 9),
    ("own_task.py", "return x * x", "return -x * x", 12 + 1 - 9),  # called by a method
    ("own_task.py", '"plots"', '"figures"', None),  # what it does not use
    ("own_helper.py", "    return x\n", "    return -x\n", None),
    ("own_task.py", "def task", "# a comment\n\n\ndef task", None),
])
def test_results_are_new_where_code_has_changed(tmp_path, monkeypatch, file, old, new, value):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    (tmp_path / "own_helper.py").write_text(HELPER)
    (tmp_path / "own_task.py").write_text(TASK)

    def run():
        for name in ("own_task", "own_helper"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        linecache.clearcache()
        module = importlib.import_module("own_task")
        return capstan.sweep(module.task, {"x": [3]}, tmp_path / "results", workers=1)[0]

    before = run()
    assert before.error == "" and before.result["value"] == 12 + 1 + 9
    text = (tmp_path / file).read_text()
    assert text.count(old) == 1
    (tmp_path / file).write_text(text.replace(old, new))
    after = run()
    if value is None:
        assert after.path == before.path
    else:
        assert after.path != before.path and after.result["value"] == value


def test_files_that_points_name(tmp_path):
    from capstan._sweep import _key
    scene = tmp_path / "scene.yaml"
    scene.write_text("capstan: 1")
    first = _key("", {"scene": str(scene)})
    assert first == _key("", {"scene": str(scene)}) == _key("", {"scene": scene})
    scene.write_text("capstan: 1 ")
    assert first != _key("", {"scene": str(scene)})
