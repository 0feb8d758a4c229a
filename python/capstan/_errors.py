"""Errors of Capstan. The module _core raises them with the library's messages."""
import os
import sys
import warnings


class InputError(ValueError):
    """An input cannot be used: a scene, a saved state, a recording. str() has every problem that was found, with
    file, line and remedy; `diagnostics` is a list of Diagnostic with the same in parts."""

    def __init__(self, text, diagnostics=()):
        super().__init__(text)
        self.diagnostics = list(diagnostics)


class SceneWarning(UserWarning):
    """What is odd in a scene but no error; it says file, line and remedy."""


def tell_warnings(texts):
    """Warns at the line of the user's that called the package."""
    frame, level, folder = sys._getframe(1), 2, os.path.dirname(__file__)
    while frame is not None and frame.f_code.co_filename.startswith(folder):
        frame, level = frame.f_back, level + 1
    for text in texts:
        warnings.warn(text, SceneWarning, stacklevel=level)


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
