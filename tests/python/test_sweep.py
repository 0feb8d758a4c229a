"""Sweeps in two processes and on a cluster of two workers, one of which is killed."""
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


def test_results_are_hdf5_files(tmp_path):
    arrays = {"float": np.linspace(0, 1, 6).reshape(2, 3), "single": np.float32([1, 2]), "int": np.arange(-3, 3), "byte": np.uint8([1, 255]),
              "bool": np.array([[True], [False]]), "text": np.array(["sap", "\u03bc = 0.5"]), "number": np.array(2.5),
              "none": np.zeros((0, 3)), "backwards": np.arange(3.0)[::-1], "other order": np.arange(3, dtype=">i4")}
    path = tmp_path / "a.h5"
    capstan._core._write_hdf5(path, arrays, {"point": "{}"})
    back = capstan._core._read_hdf5(path)
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array, name)
        assert back[name].shape == array.shape and back[name].dtype.kind == array.dtype.kind
    try:
        import h5py
    except ImportError:
        pass
    else:
        with h5py.File(path) as file:
            np.testing.assert_array_equal(file["float"][:], arrays["float"])
            assert file["bool"].dtype == bool and file["text"].asstr()[1] == "\u03bc = 0.5" and file.attrs["point"] == "{}"
    for bad in ({"a/b": [1]}, {"a": np.array([1j])}, {"a": np.array([object()])}):
        with pytest.raises((ValueError, TypeError)):
            capstan._core._write_hdf5(path, bad, {})
    with pytest.raises(RuntimeError, match="cannot be read"):
        capstan._core._read_hdf5(tmp_path / "none.h5")
    with pytest.raises(RuntimeError, match="cannot be written"):
        capstan._core._write_hdf5(tmp_path / "no/such.h5", {}, {})


def test_a_cluster_one_worker_of_which_is_killed(tmp_path):
    """Each worker is a process of its own, which its nanny starts again."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed (PyPI) is not installed")
    grid = [{"number": n, "folder": str(tmp_path)} for n in range(8)]
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            before = set(client.run(os.getpid).values())
            points = capstan.sweep(sweep_tasks.killed_once, grid, tmp_path / "results", client=client)
            assert (tmp_path / "killed").exists()
            client.wait_for_workers(2)
            assert set(client.run(os.getpid).values()) != before  # one is new
            assert [int(p.result["value"]) if p.result else None for p in points] == [0, 1, 4, None, 16, 25, 36, 49]
            assert "three is not" in points[3].error
            # In processes of this machine the rest of the same sweep goes on: nothing is computed twice.
            stamp = {p.path: os.stat(p.path).st_mtime_ns for p in points if p.result}
            again = capstan.sweep(sweep_tasks.killed_once, grid + [{"number": 8, "folder": str(tmp_path)}], tmp_path / "results",
                                  client=client)
            assert int(again[-1].result["value"]) == 64
            assert stamp == {path: os.stat(path).st_mtime_ns for path in stamp}
