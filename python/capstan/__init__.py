"""Capstan simulates things that touch: robots, rigid objects, with friction that really sticks.

    import capstan
    sim = capstan.load("clutter")
    sim.step(100)
    print(sim.time, sim.q, sim.contacts["force"])

docs/python.md is the manual. SI units, radians, z up; quaternions are (w, x, y, z).
"""
import os as _os

# An installed package carries the scenes with it.
_scenes = _os.path.join(_os.path.dirname(__file__), "scenes")
if _os.path.isdir(_scenes):
    _os.environ.setdefault("CAPSTAN_SCENES", _scenes)

from . import _pickle
from ._arrays import CONTACT, CONTACT_PAIR, NamedArray
from ._core import (Batch, Diagnostic, Joint, Model, Report, Residual, Scene, SolverReport, State, StepTimes,
                    __version__, scene_folder, scenes)
from ._errors import InputError, OutputError, SceneWarning, StepError
from ._kinematics import InverseKinematics, inverse_kinematics
from ._program import Replay, export, find_program, view
from ._rollout import Rollout, rollout
from ._simulation import Body, Simulation, load, scene_from_dict
from ._sweep import SweepPoint, sweep
from .recording import Recording, RecordingError
from .recording import read as read_recording

__all__ = [name for name in dir() if not name.startswith("_")]
