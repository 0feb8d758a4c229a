"""Inverse kinematics by damped least squares."""
from __future__ import annotations

import dataclasses
from typing import Sequence

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats


@dataclasses.dataclass
class InverseKinematics:
    """What inverse_kinematics() returns."""
    q: Floats
    """Positions [m, rad, quat_wxyz], shape [model.num_positions]."""
    error: float
    """Distance [m] and turn [rad] that are left, as one number: the norm of both."""
    iterations: int
    """Steps that were taken."""
    converged: bool
    """Whether error is within the tolerance."""


def _rotation_vector(R: Floats) -> Floats:
    """Turn of a rotation matrix as a vector [rad]."""
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    sine, cosine = np.linalg.norm(axis), (np.trace(R) - 1) / 2
    angle = np.arctan2(sine, cosine)
    if sine > 1e-8:
        return np.asarray(axis * (angle / sine))
    if cosine > 0:
        return axis
    # A half turn: the axis is the column of (R + 1) / 2 that is longest.
    S = (R + np.eye(3)) / 2
    column = S[:, np.argmax(np.diag(S))]
    return np.asarray(np.pi * column / np.linalg.norm(column))


def inverse_kinematics(model: _core.Model, frame: str | int, target: npt.ArrayLike, q: npt.ArrayLike | None = None,
                       joints: Sequence[str] | None = None, tolerance: float = 1e-10,
                       max_iterations: int = 200) -> InverseKinematics:
    """Positions at which a body or site is at `target`, near q, within joint limits.

    frame      name of a body or site, or number of a body
    target     a position, shape [3] [m], or a pose, shape [4, 4], in the world
    q          where to begin, shape [model.num_positions]; None: the start of the scene
    joints     names of the joints that may move; None: all
    tolerance  of the error [m and rad, as one number]

    Damped least squares: dq = J^T (J J^T + (|e|^2 + 1e-12) 1)^-1 e, joints at a limit left out (Nakamura and Hanafusa
    1986). Finds one answer of many; where there is none, converged is False and q the nearest that was found.

    >>> model = capstan.Model("double_pendulum")
    >>> start = capstan.State(model).q
    >>> answer = capstan.inverse_kinematics(model, 2, model.frame_pose(start + 0.1, 2)[:3, 3])
    >>> answer.converged
    True
    """
    target = np.asarray(target, dtype=float)
    if target.shape not in ((3,), (4, 4)) or not np.isfinite(target).all():
        raise ValueError("target must be a position [3] or a pose [4, 4] of finite numbers")
    if target.shape == (4, 4) and np.abs(target[:3, :3] @ target[:3, :3].T - np.eye(3)).max() > 1e-6:
        raise ValueError("the upper left of target is not a rotation")
    at_q: Floats = np.array(_core.State(model).q if q is None else q, dtype=float)
    may_move = np.zeros(model.num_velocities, dtype=bool)
    place = np.full(model.num_velocities, -1)  # where a dof is in q, for those that are plain numbers
    for number in range(len(model.joint_names)):
        joint = model.joint(number)
        if joints is None or joint.name in joints:
            may_move[joint.v] = True
        if joint.q.stop - joint.q.start == joint.v.stop - joint.v.start:
            place[joint.v] = np.arange(joint.q.start, joint.q.stop)
    for name in joints or ():
        model.joint_index(name)  # tells of unknown ones
    lower, upper = model.limits
    bounded = (place >= 0) & (np.isfinite(lower) | np.isfinite(upper))

    def error_at(q: Floats) -> Floats:
        pose = model.frame_pose(q, frame)
        if target.shape == (3,):
            return np.asarray(target - pose[:3, 3])
        return np.concatenate([_rotation_vector(target[:3, :3] @ pose[:3, :3].T), target[:3, 3] - pose[:3, 3]])

    error = error_at(at_q)
    damping = 1.0
    for iteration in range(max_iterations + 1):
        size = float(np.linalg.norm(error))
        if size <= tolerance or iteration == max_iterations:
            break
        J = model.jacobian(at_q, frame)[3 if target.shape == (3,) else 0:]
        free = may_move.copy()
        while True:
            A = J[:, free]
            dq = np.zeros(model.num_velocities)
            dq[free] = A.T @ np.linalg.solve(A @ A.T + damping * (size**2 + 1e-12) * np.eye(len(J)), error)
            dq *= min(1, 0.5 / max(np.abs(dq).max(initial=0), 1e-300))  # at most half a radian or metre at a time
            at = at_q[place]
            beyond = free & bounded & (((at <= lower) & (dq < 0)) | ((at >= upper) & (dq > 0)))
            if not beyond.any():
                break
            free &= ~beyond
        new = model.integrate(at_q, dq)
        new[place[bounded]] = np.clip(new[place[bounded]], lower[bounded], upper[bounded])
        new_error = error_at(new)
        if np.linalg.norm(new_error) < size:
            at_q, error, damping = new, new_error, max(damping / 4, 1e-6)
        else:
            damping *= 8
            if damping > 1e12:
                break
    return InverseKinematics(at_q, size, iteration, size <= tolerance)
