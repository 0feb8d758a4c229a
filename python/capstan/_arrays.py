"""Arrays with names, and the layouts of record arrays."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CONTACT = np.dtype([
    ("shape_a", "<i4"), ("shape_b", "<i4"),  # numbers of the model's shapes
    ("body_a", "<i4"), ("body_b", "<i4"),  # numbers of the bodies that carry them
    ("region", "<i4"),  # 0 open, 1 sticking, 2 sliding
    ("kind", "<i4"),  # how it was found: 0 touching, 1 and 2 ahead of the step, 3 gliding, 4 late
    ("point", "<f8", 3),  # [m] where it acts, world, with the bodies where they were at the beginning of the step
    ("normal", "<f8", 3),  # unit, from a to b, world
    ("force", "<f8", 3),  # [N] on b, world: normal_force * normal + friction; a feels the opposite
    ("distance", "<f8"),  # [m] at the beginning of the step; negative where the shapes overlap
    ("normal_force", "<f8"),  # [N] never negative
    ("friction", "<f8", 3),  # [N] on b, world
    ("slip", "<f8", 3),  # [m/s] velocity of b's surface against a's, world
    ("area", "<f8"),  # [m^2] of the patch that it stands for (docs/patches.md); 0: a point
    ("torque", "<f8", 3),  # [N m] on b, world: torsional and rolling friction, besides that of the force
])
"""One contact of a step."""

CONTACT_PAIR = np.dtype([
    ("body_a", "<i4"), ("body_b", "<i4"),  # numbers of bodies, a < b
    ("contacts", "<i4"), ("sticking", "<i4"), ("sliding", "<i4"), ("_", "<i4"),
    ("normal_force", "<f8"),  # [N] sum of the normal forces
    ("force", "<f8", 3),  # [N] on b, world
    ("friction", "<f8", 3),  # [N] its friction part
    ("torque", "<f8", 3),  # [N m] on b about the world's origin
])
"""All that acts between two bodies in a step."""

PATCH = np.dtype([
    ("shape_a", "<i4"), ("shape_b", "<i4"),  # numbers of the model's shapes
    ("body_a", "<i4"), ("body_b", "<i4"),  # numbers of the bodies that carry them
    ("points", "<i4"), ("_", "<i4"),  # contacts that stand for it
    ("area", "<f8"),  # [m^2]
    ("normal_force", "<f8"),  # [N] sum of the normal forces
    ("largest_pressure", "<f8"),  # [Pa] of any of its points
    ("centre", "<f8", 3),  # [m] of pressure, world
    ("force", "<f8", 3),  # [N] on b, world
    ("moment", "<f8", 3),  # [N m] on b about the centre, world
])
"""A patch of two shapes in a step: what its points do together."""


def as_xyzw(quat_wxyz: npt.ArrayLike) -> Floats:
    """Quaternions (w, x, y, z), shape [..., 4], without a unit, in the order (x, y, z, w) of SciPy and ROS.

    >>> capstan.as_xyzw([1, 2, 3, 4])
    array([2., 3., 4., 1.])
    """
    return np.roll(_quaternions(quat_wxyz), -1, axis=-1)


def as_wxyz(quat_xyzw: npt.ArrayLike) -> Floats:
    """Quaternions (x, y, z, w), shape [..., 4], without a unit, in our order (w, x, y, z).

    >>> capstan.as_wxyz([2, 3, 4, 1])
    array([1., 2., 3., 4.])
    """
    return np.roll(_quaternions(quat_xyzw), 1, axis=-1)


def _quaternions(numbers: npt.ArrayLike) -> Floats:
    array = np.asarray(numbers, dtype=float)
    if array.ndim == 0 or array.shape[-1] != 4:
        raise ValueError(f"quaternions have 4 numbers; the shape {array.shape} was given")
    return array


class NamedArray(np.ndarray[Any, np.dtype[np.float64]]):
    """A view of a simulation's numbers that also takes names: sim.control["push"] = 2, sim.q["arm_1"].

    >>> sim = capstan.load("double_pendulum")
    >>> sim.q["lower"] = 0.5
    >>> float(sim.q[1])
    0.5

    What has one number is given as a number, a copy; what has several as a view. All else is as with any numpy array; what is
    computed from it, and parts of it, are plain arrays.
    """

    _places: Callable[[str], Any] | None = None

    def __array_finalize__(self, other: Any) -> None:
        self._places = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, out: Any = None, **options: Any) -> Any:
        def plain(x: Any) -> Any:
            return x.view(np.ndarray) if isinstance(x, NamedArray) else x

        if out is not None:
            options["out"] = tuple(plain(x) for x in out)
        result = getattr(ufunc, method)(*map(plain, inputs), **options)
        return out[0] if out is not None and len(out) == 1 else result

    def _place(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        if self._places is None:
            raise IndexError("this array has no names")
        return self._places(key)

    def __getitem__(self, key: Any) -> Any:
        place = self._place(key)
        if place is not key and isinstance(place, slice) and place.stop - place.start == 1:
            place = place.start
        return self.view(np.ndarray)[place]

    def __setitem__(self, key: Any, value: npt.ArrayLike) -> None:  # type: ignore[override]
        place, plain = self._place(key), self.view(np.ndarray)
        if isinstance(key, str):
            part, given = plain[place:place + 1] if isinstance(place, int) else plain[place], np.asarray(value, dtype=float)
            if given.shape not in ((), (1,), part.shape):
                raise ValueError(f"'{key}' has {part.size} number{'s' * (part.size > 1)}; the shape {given.shape} was given")
            part[...] = given
        else:
            plain[place] = value

    def __reduce__(self) -> Any:
        return np.array, (self.tolist(), np.float64)


def named(array: Floats, places: Callable[[str], Any]) -> NamedArray:
    """The array as one that finds places(name)."""
    result = array.view(NamedArray)
    result._places = places
    return result
