"""Many runs at once."""
from __future__ import annotations

import dataclasses
import os
from typing import Any, Sequence

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats
from ._simulation import SceneLike


def _by_name(model: _core.Model, numbers: Floats) -> dict[str, Floats]:
    """{sensor: its part of the last axis}, views."""
    return {name: numbers[..., place] for name, place in model._sensor_places}


class Batch(_core.Batch):
    """Many simulations of one model, stepped by several threads: Batch(model, size, threads=1, keyframe=None, **options).

    Options are those of Simulation. Results have the same bits for any number of threads, and are those of single
    simulations. A simulation whose step fails stands still from then on (`failed`, `failures`), until it is reset; the
    others go on.

    >>> batch = capstan.Batch("double_pendulum", 3, threads=2)
    >>> batch.q[:, 0] = [0.1, 0.2, 0.3]
    >>> batch.step(10)
    >>> batch.q.shape, bool(batch.q[0, 0] < batch.q[2, 0])
    ((3, 2), True)
    """

    @property
    def sensors(self) -> dict[str, Floats]:
        """What the sensors read after the last step, reset() or set_state(): {name: array [size] or [size, numbers]},
        in the units of model.sensor_units. Views, which steps change."""
        return _by_name(self.model, self._sensors)

    def rollout(self, steps: int, controls: npt.ArrayLike | None = None, every: int = 1, sensors: bool = False) -> tuple[Any, ...]:
        """Takes steps and keeps every `every`th state: (time [size, rows] [s], q [size, rows, num_positions]
        [m, rad, quat_wxyz], v [size, rows, dofs] [m/s, rad/s]), rows = steps // every; with `sensors` a fourth, {name: [size, rows] or [size, rows,
        numbers]}. Rows that a failed simulation did not get to are NaN.

        controls: None, [steps, actuators] for all alike, or [size, steps, actuators]; these take the place of the
        schedule's.
        """
        time, q, v, _, sensed = self._rollout(steps, controls, every, bool(sensors))
        return (time, q, v, _by_name(self.model, sensed)) if sensors else (time, q, v)


@dataclasses.dataclass
class Rollout:
    """What rollout() returns."""
    time: Floats
    """[runs, rows] [s]"""
    q: Floats
    """[runs, rows, model.num_positions] [m, rad, quat_wxyz]"""
    v: Floats
    """[runs, rows, model.num_velocities] [m/s, rad/s]"""
    activation: Floats
    """[runs, rows, actuators] of the actuators' activations; [runs, rows, 0] where none has one"""
    failures: list[str]
    """[runs] why a run ended early, or ''; its rows from then on are NaN."""
    sensors: dict[str, Floats]
    """{sensor: [runs, rows] or [runs, rows, numbers]}; empty unless asked for"""


def rollout(model: SceneLike, states: _core.State | Sequence[_core.State] | None = None,
            controls: npt.ArrayLike | None = None, steps: int | None = None, every: int = 1, threads: int | None = None,
            sensors: bool = False, **options: Any) -> Rollout:
    """Runs from many states, or with many controls, on several threads without the interpreter's lock.

    model     a Model, a Scene, a path or a name
    states    a list of State, one State for all, or None: the start
    controls  None: those of the scene over time; [steps, actuators] for all runs alike, or [runs, steps, actuators],
              each in its actuator's unit [N, N m, m, rad, ...]
    steps     steps of each run; None: as many as controls have
    every     keeps each `every`th state
    threads   None: as many as there are processors
    sensors   whether to keep what the sensors read, too
    options   of Simulation: dt, contact_law, ...

    Returns a Rollout. Its bits are those of single simulations, for any number of threads.

    >>> runs = capstan.rollout("double_pendulum", steps=100, every=10)
    >>> runs.q.shape, round(float(runs.time[0, -1]), 6)
    ((1, 10, 2), 0.1)
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
    each = None if states is None or isinstance(states, _core.State) else list(states)
    if each is not None:
        count = len(each)
        if count == 0:
            raise ValueError("there are no states to start from")
        for state in each:
            if not isinstance(state, _core.State):
                raise TypeError(f"states holds a {type(state).__name__}; give objects of State, such as sim.state")
    else:
        count = controls.shape[0] if controls is not None and controls.ndim == 3 else 1
    if threads is None:
        threads = min(count, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    batch = Batch(model, count, threads, **options)
    for i in range(count if states is not None else 0):
        batch.set_state(i, states if isinstance(states, _core.State) else each[i])  # type: ignore[index]
    time, q, v, activation, sensed = batch._rollout(steps, controls, every, bool(sensors))
    return Rollout(time, q, v, activation, batch.failures, _by_name(model, sensed) if sensors else {})
