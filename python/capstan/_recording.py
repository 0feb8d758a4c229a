"""Recordings: arrays of a run, shown in a notebook as a film to play."""
from __future__ import annotations

import os
from typing import Any

from . import recording
from ._program import Replay
from ._simulation import SceneLike, Simulation


class Recording(recording.Recording):
    __doc__ = recording.Recording.__doc__

    def replay(self, height: int = 480) -> Replay:
        """What a notebook shows: a film to play."""
        return Replay(self.path, height)

    def _repr_html_(self) -> str:
        try:
            return self.replay()._repr_html_()
        except (RuntimeError, FileNotFoundError) as error:  # no program, or it has no page
            return f"<pre>{self!r}: {error}</pre>"


def record(scene: SceneLike | Simulation, path: str | os.PathLike[str], duration: float | None = None,
           every: int | None = None, keyframe: str | None = None, **options: Any) -> Recording:
    """Runs a scene, or a Simulation from where it is, records it and returns the Recording.

    >>> run = capstan.record("stack", "stack.capstan", 0.1)
    >>> len(run), run.units["energy.kinetic"]
    (11, 'J')

    scene     what Simulation takes, or a Simulation
    path      of the file, .capstan; what is there already is overwritten
    duration  [s]; None: as long as the scene says
    every     steps between frames; None: each 10 ms
    options   of Simulation: dt, contact_law, ...
    """
    if isinstance(scene, Simulation):
        if options or keyframe is not None:
            raise TypeError("a Simulation has its options already; set them there: sim.dt = ...")
        sim = scene
    else:
        sim = Simulation(scene, keyframe, **options)
    if os.path.splitext(os.fspath(path))[1] == ".h5":
        raise ValueError("record() returns arrays of a .capstan file; sim.record() writes .h5, which h5py reads")
    with sim.record(path, every):
        sim.run(duration)
    return Recording(path)
