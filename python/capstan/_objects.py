"""Rods and soft bodies of a simulation."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats

if TYPE_CHECKING:
    from ._simulation import Simulation


class _Deformable:
    """What rods and soft bodies have in common."""

    _part: _core._Rod | _core._SoftBody
    _width = 3  # numbers of q, and of v, from one node to the next

    def __init__(self, part: _core._Rod | _core._SoftBody, simulation: Simulation, name: str) -> None:
        self._part, self._simulation, self.name = part, simulation, name

    def _nodes(self, numbers: npt.ArrayLike, place: slice) -> Floats:
        part = np.asarray(numbers)[..., place]
        shape = (*part.shape[:-1], self._part.num_nodes, 3)
        strides = (*part.strides[:-1], self._width * part.strides[-1], part.strides[-1])
        return np.lib.stride_tricks.as_strided(part, shape, strides)

    def positions_of(self, q: npt.ArrayLike) -> Floats:
        """Of nodes [m] in other positions q [..., model.num_positions] of the model, as a recording or a batch has them:
        shape [..., nodes, 3]. A view."""
        return self._nodes(self._checked(q, self._simulation.model.num_positions, "q"), self._part.q)

    def velocities_of(self, v: npt.ArrayLike) -> Floats:
        """Of nodes [m/s] in velocities v [..., model.num_velocities], shape [..., nodes, 3]. A view."""
        return self._nodes(self._checked(v, self._simulation.model.num_velocities, "v"), self._part.v)

    @staticmethod
    def _checked(numbers: npt.ArrayLike, size: int, name: str) -> Floats:
        array = np.asarray(numbers, dtype=float)
        if array.ndim == 0 or array.shape[-1] != size:
            raise ValueError(f"{name} has the shape {array.shape}; its last part must be {size}")
        return array

    @property
    def num_nodes(self) -> int:
        """How many nodes it has."""
        return self._part.num_nodes

    @property
    def positions(self) -> Floats:
        """Of its nodes [m], world, shape [nodes, 3]. A view: what is written to it takes effect with the next step."""
        return self._nodes(self._simulation.q.view(np.ndarray), self._part.q)

    @property
    def velocities(self) -> Floats:
        """Of its nodes [m/s], world, shape [nodes, 3]. A view."""
        return self._nodes(self._simulation.v.view(np.ndarray), self._part.v)

    @property
    def forces(self) -> Floats:
        """From outside on its nodes [N], world, shape [nodes, 3]: its part of sim.generalized_force, which stays until
        changed. A view."""
        return self._nodes(self._simulation.generalized_force.view(np.ndarray), self._part.v)

    @property
    def mass(self) -> float:
        """[kg] of its nodes that are not held."""
        return self._part.mass

    @property
    def center_of_mass(self) -> Floats:
        """Of its nodes that are not held [m], world, shape [3]."""
        return self._part.center_of_mass(self._simulation.q)

    @property
    def elastic_energy(self) -> float:
        """[J]"""
        return self._part.elastic_energy(self._simulation.q)

    @property
    def kinetic_energy(self) -> float:
        """[J]"""
        return self._part.kinetic_energy(self._simulation.q, self._simulation.v)

    @property
    def momentum(self) -> Floats:
        """(angular about the world's origin [kg m^2/s], linear [kg m/s]), shape [6]."""
        return self._part.momentum(self._simulation.q, self._simulation.v)

    @property
    def contact_force(self) -> Floats:
        """Of all that touches it, in the last step [N], world axes, shape [3]."""
        return self._simulation.contact_force(self.name)

    def __repr__(self) -> str:
        return f"<capstan.{type(self).__name__} '{self.name}': {self.num_nodes} nodes>"


class Rod(_Deformable):
    """A rod of a simulation, as it is now: sim.rod(name).

    Edge i is between nodes i and i + 1, and joint j between edges j and j + 1. A rod with `actuated: true` changes its
    natural curvature and its lengths by sim.control["NAME.natural"] and sim.control["NAME.length"] (docs/rods.md).

    >>> rope = capstan.load("rope_over_peg").rod("rope")
    >>> rope.positions.shape == (rope.num_nodes, 3)
    True
    """

    _part: _core._Rod
    _width = 4  # a position and the angle of the edge that follows

    @property
    def is_closed(self) -> bool:
        """Whether its last node is joined to the first."""
        return self._part.is_closed

    @property
    def angles(self) -> Floats:
        """By which sections are turned about their edges [rad], shape [edges]. A view."""
        return self._simulation.q.view(np.ndarray)[self._part.q][3:4 * self.num_nodes:4][:len(self.rest_lengths)]

    @property
    def spins(self) -> Floats:
        """Rates of the angles [rad/s], shape [edges]. A view."""
        return self._simulation.v.view(np.ndarray)[self._part.v][3::4]

    @property
    def rest_lengths(self) -> Floats:
        """Of edges as the rod was made [m], shape [edges]."""
        return self._part.rest_lengths

    @property
    def tension(self) -> Floats:
        """In each edge [N], elastic, shape [edges]; negative where it is pressed."""
        return self._part.tension(self._simulation.q)

    @property
    def curvature(self) -> Floats:
        """At each joint, shape [joints, 3]: about the two axes of the section [1/m], and twist [rad/m]. Where
        edges turn by an angle t, curvature is 2 tan(t / 2) over the length between their middles."""
        return self._part.curvature(self._simulation.q)

    @property
    def natural_curvature(self) -> Floats:
        """The same that it has at rest, shape [joints, 3] [1/m, 1/m, rad/m]: bending energy is zero there."""
        return self._part.natural_curvature(self._simulation.q)


class SoftBody(_Deformable):
    """A soft body of a simulation, as it is now: sim.soft_body(name).

    >>> beam = capstan.load("soft_cantilever").soft_body(0)
    >>> beam.positions.shape == (beam.num_nodes, 3)
    True
    """

    _part: _core._SoftBody

    @property
    def triangles(self) -> npt.NDArray[np.int32]:
        """Of its surface, outward: nodes, shape [triangles, 3]."""
        return self._part.triangles

    @property
    def tets(self) -> npt.NDArray[np.int32]:
        """Corners of its elements: nodes, shape [elements, 4]."""
        return self._part.tets

    @property
    def rest_positions(self) -> Floats:
        """Of nodes in the frame of the mesh [m], shape [nodes, 3]."""
        return self._part.rest_positions

    @property
    def fixed(self) -> npt.NDArray[np.bool_]:
        """Which nodes are held, bool, shape [nodes]."""
        return np.array(self._part.fixed, dtype=bool)

    @property
    def rest_volume(self) -> float:
        """[m^3]"""
        return self._part.rest_volume

    @property
    def volume(self) -> float:
        """[m^3]"""
        return self._part.strain(self._simulation.q)[0]

    @property
    def largest_strain(self) -> float:
        """Of all its elements: the most that a length is longer or shorter than at rest, over that length."""
        return self._part.strain(self._simulation.q)[1]

    @property
    def von_mises(self) -> Floats:
        """Von Mises' stress at its nodes [Pa], without that of damping, shape [nodes]."""
        return self._part.von_mises(self._simulation.q)

    @property
    def largest_stress(self) -> float:
        """The largest of von_mises [Pa]."""
        return float(self.von_mises.max())
