"""Capstan simulates things that touch: robots, rigid objects, with friction that really sticks.

    import capstan
    sim = capstan.load("clutter")
    sim.step(100)
    print(sim.time, sim.q, sim.contacts["force"])

docs/python.md is the manual. SI units, radians, z up; quaternions are (w, x, y, z).
"""
import os as _os

# An installed package carries the scenes and the viewer's page with it.
for _variable, _place in (("CAPSTAN_SCENES", "scenes"), ("CAPSTAN_VIEWER_PAGE", "viewer/page.html")):
    _path = _os.path.join(_os.path.dirname(__file__), "share/capstan", _place)
    if _os.path.exists(_path):
        _os.environ.setdefault(_variable, _path)

from . import _pickle, recording
from ._arrays import CONTACT, CONTACT_PAIR, PATCH, NamedArray, as_wxyz, as_xyzw
from ._core import (Diagnostic, Joint, Model, Report, Residual, Scene, SolverReport, State, StepTimes,
                    __version__, rigid_models, scene_folder, scenes)
from ._errors import InputError, OutputError, SceneWarning, StepError
from ._image import Image
from ._kinematics import InverseKinematics, inverse_kinematics
from ._objects import Rod, SoftBody
from ._program import Replay, export, find_program, view
from ._rollout import Batch, Rollout, rollout
from ._simulation import Body, Mocap, Simulation, load, scene_from_dict
from ._sweep import SweepPoint, sweep
from ._view import View
from ._recording import Recording, record
from .recording import RecordingError

read_recording = Recording

# Written out, for type checkers; a test compares it with what is here.
__all__ = [
    "Batch", "Body", "CONTACT", "CONTACT_PAIR", "Diagnostic", "Image", "InputError", "InverseKinematics", "Joint", "Mocap",
    "Model", "NamedArray", "OutputError", "PATCH", "Recording", "RecordingError", "Replay", "Report", "Residual", "Rod",
    "Rollout", "Scene", "SceneWarning", "Simulation", "SoftBody", "SolverReport", "State", "StepError", "StepTimes",
    "SweepPoint", "View", "as_wxyz", "as_xyzw", "export", "find_program", "inverse_kinematics", "load", "read_recording",
    "record", "recording", "rigid_models", "rollout", "scene_folder", "scene_from_dict", "scenes", "sweep", "view",
]
