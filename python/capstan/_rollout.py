"""Many runs at once."""
import dataclasses
import os

import numpy as np

from . import _core


def _by_name(model, numbers):
    """{sensor: its part of the last axis}, views."""
    return {name: numbers[..., place] for name, place in model._sensor_places}


class Batch(_core.Batch):
    """Many simulations of one model, stepped by several threads: Batch(model, size, threads=1, keyframe=None, **options).

    Options are those of Simulation. Results have the same bits for any number of threads, and are those of single
    simulations. A simulation whose step fails stands still from then on (`failed`, `failures`), until it is reset; the
    others go on.
    """

    @property
    def sensors(self):
        """What the sensors read after the last step, reset() or set_state(): {name: array [size] or [size, numbers]}.
        Views, which steps change."""
        return _by_name(self.model, self._sensors)

    def rollout(self, steps, controls=None, every=1, sensors=False):
        """Takes steps and keeps every `every`th state: (time [size, rows], q [size, rows, num_positions],
        v [size, rows, dofs]), rows = steps // every; with `sensors` a fourth, {name: [size, rows] or [size, rows,
        numbers]}. Rows that a failed simulation did not get to are NaN.

        controls: None, [steps, actuators] for all alike, or [size, steps, actuators]; these take the place of the
        schedule's.
        """
        time, q, v, _, sensed = self._rollout(steps, controls, every, bool(sensors))
        return (time, q, v, _by_name(self.model, sensed)) if sensors else (time, q, v)


@dataclasses.dataclass
class Rollout:
    """What rollout() returns."""
    time: np.ndarray
    """[runs, rows] [s]"""
    q: np.ndarray
    """[runs, rows, model.num_positions]"""
    v: np.ndarray
    """[runs, rows, model.num_velocities]"""
    activation: np.ndarray
    """[runs, rows, actuators] of the actuators' activations; [runs, rows, 0] where none has one"""
    failures: list
    """[runs] why a run ended early, or ''; its rows from then on are NaN."""
    sensors: dict
    """{sensor: [runs, rows] or [runs, rows, numbers]}; empty unless asked for"""


def rollout(model, states=None, controls=None, steps=None, every=1, threads=None, sensors=False, **options):
    """Runs from many states, or with many controls, on several threads without the interpreter's lock.

    model     a Model, a Scene, a path or a name
    states    a list of State, one State for all, or None: the start
    controls  None: those of the scene over time; [steps, actuators] for all runs alike, or [runs, steps, actuators]
    steps     steps of each run; None: as many as controls have
    every     keeps each `every`th state
    threads   None: as many as there are processors
    sensors   whether to keep what the sensors read, too
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
    batch = Batch(model, count, threads, **options)
    if states is not None:
        for i in range(count):
            batch.set_state(i, states[i] if several else states)
    time, q, v, activation, sensed = batch._rollout(steps, controls, every, bool(sensors))
    return Rollout(time, q, v, activation, batch.failures, _by_name(model, sensed) if sensors else {})
