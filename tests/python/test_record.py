"""Recordings from Python: those of the command line."""
import numpy as np
import pytest

import capstan


def test_a_recording_is_that_of_the_command_line(program, tmp_path):
    ours, theirs = tmp_path / "a.capstan", tmp_path / "b.capstan"
    sim = capstan.load("clutter")
    with sim.record(ours):
        assert sim.is_recording
        with pytest.raises(RuntimeError, match="already"):
            sim.record(tmp_path / "c.capstan")
        sim.run(0.5)
    assert not sim.is_recording
    program("run", "clutter", "--duration", "0.5", "--record", theirs, "--quiet")
    a, b = capstan.read_recording(ours), capstan.read_recording(theirs)
    for field in ("time", "step", "hash", "q", "v", "a", "control"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), field)
    for name in a.numbers:
        if name != "step.wall_time":
            np.testing.assert_array_equal(a.numbers[name], b.numbers[name], name)
    for i in range(len(a)):
        np.testing.assert_array_equal(a.contacts(i), b.contacts(i))
    assert a.complete and len(a) == 51
    program("replay", ours, "--verify")
    np.testing.assert_array_equal(a.q[-1], sim.q)


def test_the_command_line_replays_what_python_pushed(program, tmp_path):
    path = tmp_path / "pushed.capstan"
    sim = capstan.load("stack")
    with sim.record(path, every=4):
        sim.apply_force(1, force=[3, 0, 0])
        sim.step(37)
        sim.clear_forces()
        sim.step(5)
    run = capstan.read_recording(path)
    assert run.step[-1] == 42 and list(run.step[:3]) == [0, 4, 8]
    program("replay", path, "--verify")  # fails (CalledProcessError) when a state does not come out bit for bit


def test_what_cannot_be_written_is_told(tmp_path):
    sim = capstan.load("stack")
    with pytest.raises(capstan.OutputError, match="no/such"):
        sim.record(tmp_path / "no/such/run.capstan")
    assert not sim.is_recording and sim.stop_recording() == 0
    with pytest.raises(ValueError):
        sim.record(tmp_path / "x.capstan", every=0)
    with pytest.raises(capstan.RecordingError):
        (tmp_path / "x.capstan").write_bytes(b"nothing")
        capstan.read_recording(tmp_path / "x.capstan")
    with pytest.raises(capstan.InputError, match="recording, not a scene"):
        with sim.record(tmp_path / "y.capstan"):
            sim.step()
        capstan.load(tmp_path / "y.capstan")


def test_export_and_replay(program, tmp_path, monkeypatch):
    path = tmp_path / "run.capstan"
    sim = capstan.load("gyroscope")
    with sim.record(path):
        sim.run(0.1)
    capstan.export(path, tmp_path / "run.csv", from_=0.05)
    assert (tmp_path / "run.csv").read_text().startswith("time [s],")
    with pytest.raises(RuntimeError, match="can be exported to"):
        capstan.export(path, tmp_path / "run.obj")
    try:
        page = capstan.Replay(path)._repr_html_()
    except RuntimeError as error:
        assert "page" in str(error)  # the viewer's page was not built: no npm
    else:
        assert page.startswith("<iframe")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CAPSTAN")
    with pytest.raises(FileNotFoundError, match="CAPSTAN"):
        capstan.export(path, tmp_path / "run.csv")


def test_record_runs_and_returns_arrays(tmp_path):
    path = tmp_path / "stack.capstan"
    run = capstan.record("stack", path, 0.2, contact_law="sap")
    sim = capstan.load("stack", contact_law="sap").run(0.2)
    assert run.hash[-1] == sim.hash and isinstance(run, capstan.Recording) and run.complete
    assert "21 frames to t = 0.2 s" in repr(run)
    again = capstan.Recording(path)
    np.testing.assert_array_equal(again.q, run.q)
    more = capstan.record(sim, path, 0.1, every=1)  # from where it is, over the file
    assert more.time[0] == pytest.approx(0.2) and len(more) == 1 + round(0.1 / sim.dt) and not sim.is_recording
    with pytest.raises(TypeError, match="sim.dt"):
        capstan.record(sim, path, 0.1, dt=0.1)
    with pytest.raises(ValueError, match="h5py"):
        capstan.record("stack", tmp_path / "x.h5", 0.1)
    with sim.record(tmp_path / "y.h5"):
        sim.step()
    with pytest.raises(capstan.RecordingError, match="HDF5.*h5py"):
        capstan.Recording(tmp_path / "y.h5")
    html = run._repr_html_()
    assert html.startswith("<iframe") or "page" in html or "program" in html
