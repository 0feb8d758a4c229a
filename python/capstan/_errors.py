"""Errors of Capstan. The module _core raises them with the library's messages."""
from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any, Iterable, Sequence

if TYPE_CHECKING:
    from ._core import Diagnostic, Report


class InputError(ValueError):
    """An input cannot be used: a scene, a saved state, a recording. str() has every problem that was found, with
    file, line and remedy; `diagnostics` is a list of Diagnostic with the same in parts.

    >>> try:
    ...     capstan.Scene.from_string("capstan: 1\\nbodies: [{name: a, joint: {type: hinge}}]")
    ... except capstan.InputError as error:
    ...     print(error.diagnostics[0].line)
    2
    """

    def __init__(self, text: str, diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__(text)
        self.diagnostics: list[Diagnostic] = list(diagnostics)


class SceneWarning(UserWarning):
    """What is odd in a scene but no error; it says file, line and remedy."""


class Places:
    """While one is entered, problems of a scene that was written as plain objects are told by the place in these, such as
    bodies[0].joint.type, instead of by a line of text that the user has never seen. paths[i] is that of line i + 1."""

    _now = threading.local()

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    @classmethod
    def name(cls, text: str) -> str:
        paths = getattr(cls._now, "paths", None)
        if paths is None:
            return text
        return re.sub(r"<string>:(\d+)", lambda m: paths[int(m[1]) - 1] or "the scene", text)

    def __enter__(self) -> None:
        self._now.paths = self.paths

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            if isinstance(error, InputError):
                raise InputError(self.name(str(error)), error.diagnostics) from None
        finally:
            self._now.paths = None


def tell_warnings(texts: Iterable[str]) -> None:
    """Warns at the line of the user's that called the package."""
    frame: FrameType | None = sys._getframe(1)
    level, folder = 2, os.path.dirname(__file__)
    while frame is not None and frame.f_code.co_filename.startswith(folder):
        frame, level = frame.f_back, level + 1
    for text in texts:
        warnings.warn(Places.name(text), SceneWarning, stacklevel=level)


class OutputError(OSError):
    """A file cannot be written; str() names it and says why."""


class StepError(RuntimeError):
    """A step could not be made. The simulation's state is that before this step.

    >>> sim = capstan.load("stack", max_iterations=1, fail_if_not_converged=True, tolerance=1e-14)
    >>> try:
    ...     sim.step(100)
    ... except capstan.StepError as error:
    ...     print(error.steps_taken == sim.steps)
    True
    """

    def __init__(self, text: str, steps_taken: int = 0, report: Report | None = None) -> None:
        super().__init__(text)
        self.steps_taken = steps_taken
        """Steps that the call of step() made before this one."""
        self.report = report
        """Report of the last step that was made."""
