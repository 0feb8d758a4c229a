"""Sweeps in two processes, one of which is killed."""
import sys

import numpy as np
import pytest

import capstan
import sweep_tasks


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Workers find this folder, too."""
    import os
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
