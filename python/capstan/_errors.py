"""Errors of Capstan. The module _core raises them with the library's messages."""
import os
import re
import sys
import threading
import warnings


class InputError(ValueError):
    """An input cannot be used: a scene, a saved state, a recording. str() has every problem that was found, with
    file, line and remedy; `diagnostics` is a list of Diagnostic with the same in parts."""

    def __init__(self, text, diagnostics=()):
        super().__init__(text)
        self.diagnostics = list(diagnostics)


class SceneWarning(UserWarning):
    """What is odd in a scene but no error; it says file, line and remedy."""


class Places:
    """While one is entered, problems of a scene that was written as plain objects are told by the place in these, such as
    bodies[0].joint.type, instead of by a line of text that the user has never seen. paths[i] is that of line i + 1."""

    _now = threading.local()

    def __init__(self, paths):
        self.paths = paths

    @classmethod
    def name(cls, text):
        paths = getattr(cls._now, "paths", None)
        if paths is None:
            return text
        return re.sub(r"<string>:(\d+)", lambda m: paths[int(m[1]) - 1] or "the scene", text)

    def __enter__(self):
        self._now.paths = self.paths

    def __exit__(self, kind, error, trace):
        try:
            if isinstance(error, InputError):
                raise InputError(self.name(str(error)), error.diagnostics) from None
        finally:
            self._now.paths = None


def tell_warnings(texts):
    """Warns at the line of the user's that called the package."""
    frame, level, folder = sys._getframe(1), 2, os.path.dirname(__file__)
    while frame is not None and frame.f_code.co_filename.startswith(folder):
        frame, level = frame.f_back, level + 1
    for text in texts:
        warnings.warn(Places.name(text), SceneWarning, stacklevel=level)


class OutputError(OSError):
    """A file cannot be written; str() names it and says why."""


class StepError(RuntimeError):
    """A step could not be made. The simulation's state is that before this step."""

    def __init__(self, text, steps_taken=0, report=None):
        super().__init__(text)
        self.steps_taken = steps_taken
        """Steps that the call of step() made before this one."""
        self.report = report
        """Report of the last step that was made."""
