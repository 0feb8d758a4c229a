"""Many runs at once."""
import dataclasses
import os

import numpy as np

from . import _core


@dataclasses.dataclass
class Rollout:
    """What rollout() returns."""
    time: np.ndarray
    """[runs, rows] [s]"""
    q: np.ndarray
    """[runs, rows, model.num_positions]"""
    v: np.ndarray
    """[runs, rows, model.num_velocities]"""
    failures: list
    """[runs] why a run ended early, or ''; its rows from then on are NaN."""


def rollout(model, states=None, controls=None, steps=None, every=1, threads=None, **options):
    """Runs from many states, or with many controls, on several threads without the interpreter's lock.

    model     a Model, a Scene, a path or a name
    states    a list of State, one State for all, or None: the start
    controls  None, [steps, actuators] for all runs alike, or [runs, steps, actuators]
    steps     steps of each run; None: as many as controls have
    every     keeps each `every`th state
    threads   None: as many as there are processors
    options   of Simulation: dt, contact_law, ...

    Returns a Rollout. Its bits are those of single simulations, for any number of threads.
    """
    if not isinstance(model, _core.Model):
        model = _core.Model(model)
    if controls is not None:
        controls = np.asarray(controls, dtype=float)
        if controls.ndim not in (2, 3):
            raise ValueError("controls must have the shape [steps, actuators] or [runs, steps, actuators]")
        if steps is None:
            steps = controls.shape[-2]
    if steps is None:
        raise ValueError("give steps, or controls that tell how many")
    several = states is not None and not isinstance(states, _core.State)
    if several:
        states = list(states)
        count = len(states)
        if count == 0:
            raise ValueError("there are no states to start from")
    else:
        count = controls.shape[0] if controls is not None and controls.ndim == 3 else 1
    if threads is None:
        threads = min(count, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    batch = _core.Batch(model, count, threads, **options)
    if states is not None:
        for i in range(count):
            batch.set_state(i, states[i] if several else states)
    time, q, v = batch.rollout(steps, controls, every)
    return Rollout(time, q, v, batch.failures)
