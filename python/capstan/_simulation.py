"""Simulation: the library's with what Python makes pleasant."""
from __future__ import annotations

import difflib
import json
import math
import operator
import os
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats, NamedArray, named
from ._errors import Places
from ._image import Image
from ._objects import Rod, SoftBody
from ._view import View

SceneLike = Union[_core.Scene, _core.Model, str, "os.PathLike[str]"]

# What other programs show: export() makes them of a recording.
_EXPORTS = (".mp4", ".gif", ".png", ".jpg", ".svg", ".webm", ".mov", ".avi", ".mkv", ".glb", ".html", ".csv", ".npz",
            ".json", ".yaml", ".xml")


class Body:
    """A body of a simulation, as it is now: each property asks the simulation.

    >>> body = capstan.load("stack").body(1)
    >>> body.position.shape, body.pose.shape
    ((3,), (4, 4))
    """

    __slots__ = ("_simulation", "index")

    _simulation: Simulation
    index: int

    def __init__(self, simulation: Simulation, index: int) -> None:
        self._simulation, self.index = simulation, index

    @property
    def name(self) -> str:
        """Its name."""
        return self._simulation.model.body_names[self.index]

    @property
    def mass(self) -> float:
        """[kg]"""
        return float(self._simulation.model.body_masses[self.index])

    @property
    def position(self) -> Floats:
        """Origin of its frame [m], world, shape [3]."""
        return self._simulation._pose(self.index)[0]

    @property
    def quat_wxyz(self) -> Floats:
        """Its orientation as a unit quaternion (w, x, y, z), shape [4]."""
        return self._simulation._pose(self.index)[1]

    @property
    def rotation(self) -> Floats:
        """Its orientation as a matrix, shape [3, 3]: columns are its axes in the world, unit vectors."""
        return self._simulation._pose(self.index)[2]

    @property
    def pose(self) -> Floats:
        """Position [m] and orientation as a matrix, shape [4, 4]: p_world = pose @ (p_body, 1)."""
        position, _, rotation = self._simulation._pose(self.index)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation, position
        return pose

    @property
    def velocity(self) -> Floats:
        """Of the origin of its frame [m/s], world axes, shape [3]."""
        return self._simulation._velocity(self.index)[3:]

    @property
    def angular_velocity(self) -> Floats:
        """[rad/s], world axes, shape [3]."""
        return self._simulation._velocity(self.index)[:3]

    def __setattr__(self, name: str, value: Any) -> None:
        place = getattr(type(self), name, None)
        if isinstance(place, property) and place.fset is None:
            raise AttributeError(f"the {name} of a body is read from the simulation; write sim.q[...] and sim.v[...] of its joint, "
                                 "or make it a mocap body to lead it")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"<capstan.Body '{self.name}'>"


class Mocap(Body):
    """A mocap body of a simulation: it goes where it is told, and what touches it or is tied to it feels how it moves.

    pose, position and quat_wxyz are where it is now. Set, they are where it is to be after the next step, and then stays: the
    velocity of the step is what leads there. Set them before each step to lead it along a path; a large change in one step is a
    large velocity. release() ends that: it then keeps the velocity it has, sim.v[name], which may be set.
    sim.q[name] puts it elsewhere without any motion.

    >>> sim = capstan.Simulation(capstan.scene_from_dict({"capstan": 1, "bodies": [{"name": "hand", "mocap": True}]}))
    >>> sim.mocap["hand"].position = [0, 0, 0.01]
    >>> sim.step()
    >>> sim.body("hand").position.round(6)
    array([0.  , 0.  , 0.01])
    """

    __slots__ = ()

    @property
    def position(self) -> Floats:
        """Origin of its frame [m], world, shape [3]; set: where it is to be."""
        return self._simulation._pose(self.index)[0]

    @position.setter
    def position(self, position: npt.ArrayLike) -> None:
        self._simulation._aim(self.index, position=position)

    @property
    def quat_wxyz(self) -> Floats:
        """Its orientation as a unit quaternion (w, x, y, z), shape [4]; set: how it is to be."""
        return self._simulation._pose(self.index)[1]

    @quat_wxyz.setter
    def quat_wxyz(self, quat_wxyz: npt.ArrayLike) -> None:
        self._simulation._aim(self.index, quat=quat_wxyz)

    @property
    def pose(self) -> Floats:
        """Position [m] and orientation as a matrix, shape [4, 4]: p_world = pose @ (p_body, 1); set: where it is to be."""
        return super().pose

    @pose.setter
    def pose(self, given: npt.ArrayLike) -> None:
        pose = np.asarray(given, dtype=float)
        if pose.shape != (4, 4) or not np.allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-6) \
                or not np.allclose(pose[3], [0, 0, 0, 1]) or np.linalg.det(pose[:3, :3]) < 0:
            raise ValueError("a pose is a matrix of shape (4, 4): a rotation and a position, with the last row 0 0 0 1")
        self._simulation._aim(self.index, position=pose[:3, 3], rotation=pose[:3, :3])

    def release(self) -> None:
        """Leaves it to the velocity that it has."""
        self._simulation._release(self.index)

    def __repr__(self) -> str:
        return f"<capstan.Mocap '{self.name}'>"


class _MocapBodies:
    """sim.mocap: mocap bodies by name."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def __getitem__(self, name: str) -> Mocap:
        names = self._simulation.model.mocap_names
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            raise KeyError(f"there is no mocap body '{name}'; " + (f"did you mean '{near[0]}'?" if near else
                           f"the model has {', '.join(names) or 'none: write mocap: true to a body'}"))
        return Mocap(self._simulation, self._simulation.model.body_index(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._simulation.model.mocap_names)

    def __len__(self) -> int:
        return len(self._simulation.model.mocap_names)

    def __repr__(self) -> str:
        return f"<mocap bodies: {', '.join(self) or 'none'}>"


class Readings(dict):  # type: ignore[type-arg]
    """What the sensors of a simulation read: {name: number or array}, a copy."""

    def __init__(self, model: _core.Model, numbers: Floats) -> None:
        super().__init__({name: float(numbers[place]) if isinstance(place, int) else numbers[place].copy()
                          for name, place in model._sensor_places})
        self._model = model

    def __missing__(self, name: str) -> Any:
        self._model.sensor_index(name)  # raises KeyError with the nearest name
        raise KeyError(name)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class _Recording:
    """What record() returns: ends the recording when a with-block is left."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def stop(self) -> int:
        return self._simulation.stop_recording()

    def __enter__(self) -> _Recording:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


class _ArrayView:
    """A property that is a view; setting it copies all numbers."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, simulation: Any, owner: type | None = None) -> NamedArray:
        return self if simulation is None else getattr(simulation, "_" + self._name)  # type: ignore[return-value]

    def __set__(self, simulation: Any, numbers: npt.ArrayLike) -> None:
        array, given = getattr(simulation, "_" + self._name), np.asarray(numbers, dtype=float)
        if given.shape != array.shape:
            raise ValueError(f"{self._name} has the shape {array.shape}; {given.shape} was given")
        array[:] = given


class _Option:
    """An option of a simulation, by the words of the command line."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, simulation: Any, owner: type | None = None) -> Any:
        return self if simulation is None else simulation._option(self._name)

    def __set__(self, simulation: Any, value: Any) -> None:
        simulation._set_option(self._name, value)


class Simulation(_core.Simulation):
    """A scene that runs: Simulation(scene, keyframe=None, **options).

    `scene` is a Scene, a Model, the path of a scene file, or the name of a scene that comes with Capstan. Options have
    the words of the command line and can be changed later as attributes: dt [s], integrator, contact_law, tolerance,
    max_iterations, threads, sleep, judge, fail_if_not_converged, step_seconds [s], rigid.

    q, v, control, activation, generalized_force and surface_scale are views of the simulation's own memory: steps change them in
    place, and what is written to them takes effect with the next step. They also take names: sim.q["hinge"].

    >>> sim = capstan.Simulation("double_pendulum", dt=0.002)
    >>> sim.q["upper"] = 0.3
    >>> sim.step(100)
    >>> round(sim.time, 6), sim.q.shape
    (0.2, (2,))
    """

    def __init__(self, scene: SceneLike, keyframe: str | None = None, **options: Any) -> None:
        super().__init__(scene, keyframe, **options)
        model = self.model
        self._q = named(self._array(0), lambda name: model._places(name)[0])
        self._v = named(self._array(1), lambda name: model._places(name)[1])
        self._control = named(self._array(2), model.actuator_index)
        self._generalized_force = named(self._array(3), lambda name: model._places(name)[1])
        self._surface_scale = named(self._array(4), model.shape_index)
        self._activation = named(self._array(5), model._activation_index)

    q = _ArrayView("Positions, shape [model.num_positions] [m, rad, quat_wxyz]; by joint: sim.q['hinge'], and by rod, soft body, or a "
               "body that one joint moves. A view.")
    v = _ArrayView("Velocities, shape [model.num_velocities] [m/s, rad/s]; by joint. A view.")
    control = _ArrayView(
        "u of each actuator in its unit [N, N m, m, rad, ...], shape [model.num_controls]; by actuator. Stays until changed. A view.")
    activation = _ArrayView(
        "What the force of each actuator follows in place of its control (docs/scene.md), in the same unit, shape [model.num_controls], "
        "shape [0] where no actuator has one; by actuator. Part of the state. A view.")
    generalized_force = _ArrayView(
        "Forces from outside on each dof [N or N m], shape [model.num_velocities]; by joint. Stay. A view.")
    surface_scale = _ArrayView(
        "Factor of the speed of each shape's moving surface (belts), shape [shapes]; by shape. A view.")

    dt = _Option("Time step [s].")
    integrator = _Option("'semi_implicit', 'explicit_euler', 'symplectic_euler', 'implicit_euler' or 'midpoint'.")
    contact_law = _Option("'coulomb', 'sap', 'lagged', 'similar' or 'regularized_lagged' (docs/laws.md).")
    tolerance = _Option("Relative momentum residual at which a step is solved.")
    max_iterations = _Option("Of the solver, for an island in a step.")
    threads = _Option("Threads of a step: they change how long it takes, never its result.")
    sleep = _Option("Whether islands at rest may sleep.")
    judge = _Option("Whether each answer is graded (report.judge).")
    fail_if_not_converged = _Option("Whether a step that does not converge raises StepError; else the best iterate is taken.")
    step_seconds = _Option("Wall time [s] after which a step gives up with StepError.")
    rigid = _Option(
        "Rigid contact in place of a contact law: None, a model ('ncp', capstan.rigid_models() lists them), or a dict\n"
        "with 'model' and the words of the command line: solver, restitution, stabilization, directions, viscosity, erp, "
        "cfm,\nstiffness, damping, allowance, tolerance, max_iterations, warm_start (docs/solvers.md).")

    @property
    def mocap(self) -> _MocapBodies:
        """Mocap bodies by name: sim.mocap["hand"].position = [0, 0, 1] leads the hand there with the next step (Mocap)."""
        return _MocapBodies(self)

    @property
    def sensors(self) -> Readings:
        """What the sensors of the scene read now: {name: number, or array where it has several}, a copy. Forces and
        accelerations are means over the last step. model.sensor_units has the units.

        >>> capstan.load("stack").sensors
        {}
        """
        return Readings(self.model, self._sensors())

    if not TYPE_CHECKING:  # which find such mistakes themselves
        def __getattr__(self, name: str) -> Any:
            """Of what is not there: says where it is, or what may be meant."""
            if not name.startswith("_"):
                known = [word for word in dir(type(self)) if not word.startswith("_")]
                near = difflib.get_close_matches(name, known, 1)
                there = f"sim.model.{name} is the model's" if hasattr(self.model, name) else ""
                hint = there or (f"did you mean '{near[0]}'?" if near else "help(capstan.Simulation) lists what it has")
                raise AttributeError(f"a simulation has no '{name}'; {hint}")
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if type(self) is Simulation and not name.startswith("_") and not hasattr(Simulation, name):
            known = [word for word in dir(Simulation) if not word.startswith("_")]
            near = difflib.get_close_matches(name, known, 1)
            raise AttributeError(f"a simulation has no '{name}'; "
                                 + (f"did you mean '{near[0]}'?" if near else "help(capstan.Simulation) lists what it has"))
        super().__setattr__(name, value)

    def step(self, count: int = 1) -> None:
        """Takes `count` steps of dt each. Other Python threads run meanwhile; Ctrl-C ends it between two steps.

        Raises StepError when a step cannot be made: the state is then that before this step, and the error's
        steps_taken says how many were made.
        """
        try:
            count = operator.index(count)
        except TypeError:
            raise TypeError(f"step() takes a whole number of steps, not {count!r}; run({count!r}) takes seconds") from None
        super().step(count)

    def run(self, duration: float | None = None) -> Simulation:
        """Steps for `duration` [s], or as long as the scene says: as many steps as `capstan run` takes. Returns
        the simulation itself.

        >>> capstan.load("stack", dt=0.005).run(0.5).steps
        100
        """
        if duration is None:
            duration = self.model.duration
        if not (math.isfinite(duration) and duration >= 0):
            raise ValueError(f"duration is {duration} s; give a finite number of 0 or more")
        self.step(max(0, math.ceil(duration / self.dt - 1e-3)))
        return self

    def body(self, name: str | int) -> Body:
        """A body, by its name or number."""
        try:
            return Body(self, self.model.body_index(name))
        except KeyError:
            for kind, names in (("rod", self.model.rod_names), ("soft_body", self.model.soft_body_names)):
                if name in names:
                    raise KeyError(f"'{name}' is no rigid body; write sim.{kind}('{name}')") from None
            raise

    def rod(self, name: str | int) -> Rod:
        """A rod, by its name or number."""
        part = self.model._rod(name)
        return Rod(part, self, name if isinstance(name, str) else self.model.rod_names[name])

    def soft_body(self, name: str | int) -> SoftBody:
        """A soft body, by its name or number."""
        part = self.model._soft_body(name)
        return SoftBody(part, self, name if isinstance(name, str) else self.model.soft_body_names[name])

    def _parts(self, name: str | int) -> tuple[int, int]:
        """Numbers of bodies that contacts may name for this body, rod or soft body: [begin, end)."""
        model = self.model
        try:
            index = model.body_index(name)
            return index, index + 1
        except KeyError:
            if name in model.rod_names:
                bodies = model._rod(name).bodies
            elif name in model.soft_body_names:
                bodies = model._soft_body(name).bodies
            else:
                raise
            return bodies.start, bodies.stop

    def contact_force(self, body: str | int, other: str | int | None = None) -> Floats:
        """Contact force on a body, rod or soft body in the last step [N], world axes, shape [3]: of all that touches it, or
        of `other` alone.

        >>> sim = capstan.load("stack").run(0.5)
        >>> sim.contact_force(1).shape
        (3,)
        """
        begin, end = self._parts(body)
        first, last = (0, len(self.model.body_names)) if other is None else self._parts(other)
        pairs = self.contact_pairs
        a, b = pairs["body_a"], pairs["body_b"]
        on_a, on_b = (a >= begin) & (a < end), (b >= begin) & (b < end)
        by_a, by_b = (a >= first) & (a < last), (b >= first) & (b < last)
        inside = on_a & on_b  # a rod that touches itself
        force = pairs["force"]
        return np.asarray(force[on_b & by_a & ~inside].sum(0) - force[on_a & by_b & ~inside].sum(0))

    def save(self) -> bytes:
        """The whole state as bytes; restore() goes back to it bit for bit.

        >>> sim = capstan.load("stack")
        >>> data = sim.save()
        >>> sim.run(0.1).restore(data)
        >>> sim.time
        0.0
        """
        return self.state.to_bytes()

    def restore(self, data: bytes) -> None:
        """Goes back to what save() returned, of this simulation or another one of the same model."""
        self.state = _core.State.from_bytes(self.model, data)

    def record(self, path: str | os.PathLike[str], every: int | None = None) -> _Recording:
        """Records from now on into a file, .capstan or .h5, every `every` steps (None: each 10 ms).

        >>> sim = capstan.load("stack")
        >>> with sim.record("run.capstan"):
        ...     end = sim.run(0.1)
        >>> len(capstan.Recording("run.capstan"))
        11

        stop_recording(), or leaving the with-block, ends it.
        """
        name = os.fspath(path)
        stem, ending = os.path.splitext(name)
        if ending.lower() in _EXPORTS:
            raise ValueError(f"'{name}' would be a recording that is no {ending} file; record '{stem}.capstan', then "
                             f"capstan.export('{stem}.capstan', '{name}') makes it")
        if ending.lower() not in (".capstan", ".h5"):
            raise ValueError(f"'{name}' does not say what to write; a recording ends in .capstan, or in .h5")
        if every is None:
            every = max(1, round(min(0.01 / self.dt, 1e9)))
        self._record(path, every)
        return _Recording(self)

    def image(self, width: int = 640, height: int = 480, eye: npt.ArrayLike | None = None,
              target: npt.ArrayLike = (0, 0, 0), up: npt.ArrayLike = (0, 0, 1), fov: float = 0.8, azimuth: float = 0.65,
              elevation: float = 0.32, samples: int = 2, shadows: bool = True) -> Image:
        """What a camera sees now, as arrays: an Image with rgb, depth and shapes. Drawn here: no screen, no browser.

        width, height       [px]
        eye, target, up     [3] [m] where the camera is, what it looks at, and what is up; eye None: it sees all of the scene
        fov                 [rad] from the lower to the upper edge
        azimuth, elevation  [rad] of the camera where eye is None
        samples             of colours across a pixel, 1 to 4: more is smoother and slower
        """
        return Image(*self._image(width, height, eye, target, up, fov, azimuth, elevation, samples, shadows))

    def view(self, pace: float = 1.0, address: str = "127.0.0.1", port: int = 0) -> View:
        """Starts the viewer for this simulation and prints its address, to be opened in a browser: it shows every state as
        this program steps. Returns a View.

        pace     [s] of the simulation in a second of the clock, at most: steps wait for it; 0: as fast as they are
        address  to listen at, port 0: any that is free
        """
        view = View(self, self._view(pace, address, port))
        print(f"viewer: {view.url}", flush=True)
        return view

    def _repr_svg_(self) -> str:
        return self.picture(480, 360)

    def __reduce__(self) -> Any:
        return _restored, (self.model, {name: getattr(self, name) for name in OPTIONS}, self.save(), self.schedule)

    def __repr__(self) -> str:
        return f"<capstan.Simulation of '{self.model.name}': t = {self.time:g} s>"


OPTIONS = tuple(name for name, value in vars(Simulation).items() if isinstance(value, _Option))


def _restored(model: _core.Model, options: dict[str, Any], data: bytes, schedule: Any) -> Simulation:
    simulation = Simulation(model, **options)
    simulation.restore(data)
    simulation.schedule = schedule
    return simulation


def load(scene: SceneLike, keyframe: str | None = None, **options: Any) -> Simulation:
    """A Simulation of a scene file, or of a scene that comes with Capstan by its name.

    >>> sim = capstan.load("stack", dt=0.01)
    >>> sim.step(10)
    >>> round(sim.time, 6)
    0.1
    """
    return Simulation(scene, keyframe, **options)


def scene_from_dict(content: Mapping[str, Any], strict: bool = False) -> _core.Scene:
    """A Scene from plain objects: dicts, lists, numbers and names as scene files have them (docs/scene.md).

    >>> scene = capstan.scene_from_dict({"capstan": 1, "bodies": [{"name": "ball", "joint": {"type": "free"},
    ...                                                            "shape": {"type": "sphere", "radius": 0.1}}]})
    >>> scene.body_names
    ['ball']
    """
    def plain(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return plain(x.tolist())
        if isinstance(x, np.generic):
            return plain(x.item())
        if isinstance(x, dict):
            return {str(key): plain(value) for key, value in x.items()}
        if isinstance(x, (list, tuple)):
            return [plain(value) for value in x]
        if isinstance(x, os.PathLike):
            return os.fspath(x)
        if x is None or isinstance(x, (bool, int, str)):
            return x
        if isinstance(x, float):
            if math.isfinite(x):
                return x
            if math.isinf(x):  # JSON has none; as YAML writes it
                return ".inf" if x > 0 else "-.inf"
            raise ValueError(f"a scene holds {x}; give a number, or leave it out")
        raise TypeError(f"a scene holds a {type(x).__name__}; give dicts, lists, numbers and text")
    # JSON is YAML, and every number keeps its bits. Each line is told by its place in the objects.
    lines: list[str] = []
    paths: list[str] = []

    def write(before: str, x: Any, path: str, after: str) -> None:
        is_dict = isinstance(x, dict)
        if not x or not (is_dict or isinstance(x, list)):
            lines.append(before + json.dumps(x) + after)
            paths.append(path)
            return
        lines.append(before + ("{" if is_dict else "["))
        paths.append(path)
        for i, key in enumerate(x if is_dict else range(len(x))):
            inner = f"{path}.{key}".lstrip(".") if is_dict else f"{path}[{key}]"
            write(json.dumps(key) + ": " if is_dict else "", x[key], inner, "," if i + 1 < len(x) else "")
        lines.append(("}" if is_dict else "]") + after)
        paths.append(path)

    write("", plain(content), "", "")
    with Places(paths):
        return _core.Scene.from_string("\n".join(lines), strict)
