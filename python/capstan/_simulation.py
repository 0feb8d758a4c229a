"""Simulation: the library's with what Python makes pleasant."""
import difflib
import json
import math
import operator
import os

import numpy as np

from . import _core
from ._arrays import named
from ._errors import Places
from ._image import Image
from ._objects import Rod, SoftBody
from ._view import View


# What other programs show: export() makes them of a recording.
_EXPORTS = (".mp4", ".gif", ".png", ".jpg", ".svg", ".webm", ".mov", ".avi", ".mkv", ".glb", ".html", ".csv", ".npz",
            ".json", ".yaml", ".xml")


class Body:
    """A body of a simulation, as it is now: each property asks the simulation."""

    __slots__ = ("_simulation", "index")

    def __init__(self, simulation, index):
        self._simulation, self.index = simulation, index

    @property
    def name(self):
        """Its name."""
        return self._simulation.model.body_names[self.index]

    @property
    def mass(self):
        """[kg]"""
        return float(self._simulation.model.body_masses[self.index])

    @property
    def position(self):
        """Origin of its frame [m], world, shape [3]."""
        return self._simulation._pose(self.index)[0]

    @property
    def quat_wxyz(self):
        """Its orientation as a unit quaternion (w, x, y, z)."""
        return self._simulation._pose(self.index)[1]

    @property
    def rotation(self):
        """Its orientation as a matrix, shape [3, 3]: columns are its axes in the world."""
        return self._simulation._pose(self.index)[2]

    @property
    def pose(self):
        """Position and orientation as a matrix, shape [4, 4]: p_world = pose @ (p_body, 1)."""
        position, _, rotation = self._simulation._pose(self.index)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation, position
        return pose

    @property
    def velocity(self):
        """Of the origin of its frame [m/s], world axes, shape [3]."""
        return self._simulation._velocity(self.index)[3:]

    @property
    def angular_velocity(self):
        """[rad/s], world axes, shape [3]."""
        return self._simulation._velocity(self.index)[:3]

    def __setattr__(self, name, value):
        place = getattr(type(self), name, None)
        if isinstance(place, property) and place.fset is None:
            raise AttributeError(f"the {name} of a body is read from the simulation; write sim.q[...] and sim.v[...] of its joint, "
                                 "or make it a mocap body to lead it")
        super().__setattr__(name, value)

    def __repr__(self):
        return f"<capstan.Body '{self.name}'>"


class Mocap(Body):
    """A mocap body of a simulation: it goes where it is told, and what touches it or is tied to it feels how it moves.

    pose, position and quat_wxyz are where it is now. Set, they are where it is to be after the next step, and then stays: the
    velocity of the step is what leads there. Set them before each step to lead it along a path; a large change in one step is a
    large velocity. release() ends that: it then keeps the velocity it has, sim.v[name], which may be set.
    sim.q[name] puts it elsewhere without any motion.
    """

    __slots__ = ()

    @property
    def position(self):
        """Origin of its frame [m], world, shape [3]; set: where it is to be."""
        return self._simulation._pose(self.index)[0]

    @position.setter
    def position(self, position):
        self._simulation._aim(self.index, position=position)

    @property
    def quat_wxyz(self):
        """Its orientation as a unit quaternion (w, x, y, z); set: how it is to be."""
        return self._simulation._pose(self.index)[1]

    @quat_wxyz.setter
    def quat_wxyz(self, quat_wxyz):
        self._simulation._aim(self.index, quat=quat_wxyz)

    @property
    def pose(self):
        """Position and orientation as a matrix, shape [4, 4]: p_world = pose @ (p_body, 1); set: where it is to be."""
        return Body.pose.fget(self)

    @pose.setter
    def pose(self, pose):
        pose = np.asarray(pose, dtype=float)
        if pose.shape != (4, 4) or not np.allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-6) \
                or not np.allclose(pose[3], [0, 0, 0, 1]) or np.linalg.det(pose[:3, :3]) < 0:
            raise ValueError("a pose is a matrix of shape (4, 4): a rotation and a position, with the last row 0 0 0 1")
        self._simulation._aim(self.index, position=pose[:3, 3], rotation=pose[:3, :3])

    def release(self):
        """Leaves it to the velocity that it has."""
        self._simulation._release(self.index)

    def __repr__(self):
        return f"<capstan.Mocap '{self.name}'>"


class _MocapBodies:
    """sim.mocap: mocap bodies by name."""

    def __init__(self, simulation):
        self._simulation = simulation

    def __getitem__(self, name):
        names = self._simulation.model.mocap_names
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            raise KeyError(f"there is no mocap body '{name}'; " + (f"did you mean '{near[0]}'?" if near else
                           f"the model has {', '.join(names) or 'none: write mocap: true to a body'}"))
        return Mocap(self._simulation, self._simulation.model.body_index(name))

    def __iter__(self):
        return iter(self._simulation.model.mocap_names)

    def __len__(self):
        return len(self._simulation.model.mocap_names)

    def __repr__(self):
        return f"<mocap bodies: {', '.join(self) or 'none'}>"


class Readings(dict):
    """What the sensors of a simulation read: {name: number or array}, a copy."""

    def __init__(self, model, numbers):
        super().__init__({name: float(numbers[place]) if isinstance(place, int) else numbers[place].copy()
                          for name, place in model._sensor_places})
        self._model = model

    def __missing__(self, name):
        self._model.sensor_index(name)  # raises KeyError with the nearest name
        raise KeyError(name)

    def __reduce__(self):
        return dict, (dict(self),)


class _Recording:
    """What record() returns: ends the recording when a with-block is left."""

    def __init__(self, simulation):
        self._simulation = simulation

    def stop(self):
        return self._simulation.stop_recording()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def _array(name, doc):
    """A property that is a view; setting it copies all numbers."""
    def assign(self, numbers):
        array, numbers = getattr(self, "_" + name), np.asarray(numbers, dtype=float)
        if numbers.shape != array.shape:
            raise ValueError(f"{name} has the shape {array.shape}; {numbers.shape} was given")
        array[:] = numbers

    return property(lambda self: getattr(self, "_" + name), assign, doc=doc)


class Simulation(_core.Simulation):
    """A scene that runs: Simulation(scene, keyframe=None, **options).

    `scene` is a Scene, a Model, the path of a scene file, or the name of a scene that comes with Capstan. Options have
    the words of the command line and can be changed later as attributes: dt [s], integrator, contact_law, tolerance,
    max_iterations, threads, sleep, judge, fail_if_not_converged, step_seconds [s], rigid.

    q, v, control, activation, generalized_force and surface_scale are views of the simulation's own memory: steps change them in
    place, and what is written to them takes effect with the next step. They also take names: sim.q["hinge"].
    """

    def __init__(self, scene, keyframe=None, **options):
        super().__init__(scene, keyframe, **options)
        model = self.model
        self._q = named(self._array(0), lambda name: model._places(name)[0])
        self._v = named(self._array(1), lambda name: model._places(name)[1])
        self._control = named(self._array(2), model.actuator_index)
        self._generalized_force = named(self._array(3), lambda name: model._places(name)[1])
        self._surface_scale = named(self._array(4), model.shape_index)
        self._activation = named(self._array(5), model._activation_index)

    q = _array("q", "Positions, shape [model.num_positions] [m, rad, quat_wxyz]; by joint: sim.q['hinge'], and by rod, soft body, or a "
               "body that one joint moves. A view.")
    v = _array("v", "Velocities, shape [model.num_velocities] [m/s, rad/s]; by joint. A view.")
    control = _array(
        "control", "u of each actuator, shape [model.num_controls]; by actuator. Stays until changed. A view.")
    activation = _array(
        "activation", "What the force of each actuator follows in place of its control (docs/scene.md), shape [model.num_controls], "
        "shape [0] where no actuator has one; by actuator. Part of the state. A view.")
    generalized_force = _array(
        "generalized_force",
        "Forces from outside on each dof [N or N m], shape [model.num_velocities]; by joint. Stay. A view.")
    surface_scale = _array(
        "surface_scale", "Factor of the speed of each shape's moving surface (belts), shape [shapes]; by shape. A view.")

    @property
    def mocap(self):
        """Mocap bodies by name: sim.mocap["hand"].position = [0, 0, 1] leads the hand there with the next step (Mocap)."""
        return _MocapBodies(self)

    @property
    def sensors(self):
        """What the sensors of the scene read now: {name: number, or array where it has several}, a copy. Forces and
        accelerations are means over the last step."""
        return Readings(self.model, self._sensors())

    def __setattr__(self, name, value):
        if type(self) is Simulation and not name.startswith("_") and not hasattr(Simulation, name):
            known = [word for word in dir(Simulation) if not word.startswith("_")]
            near = difflib.get_close_matches(name, known, 1)
            raise AttributeError(f"a simulation has no '{name}'; "
                                 + (f"did you mean '{near[0]}'?" if near else "help(capstan.Simulation) lists what it has"))
        super().__setattr__(name, value)

    def step(self, count=1):
        """Takes `count` steps of dt each. Other Python threads run meanwhile; Ctrl-C ends it between two steps.

        Raises StepError when a step cannot be made: the state is then that before this step, and the error's
        steps_taken says how many were made.
        """
        try:
            count = operator.index(count)
        except TypeError:
            raise TypeError(f"step() takes a whole number of steps, not {count!r}; run({count!r}) takes seconds") from None
        super().step(count)

    def run(self, duration=None):
        """Steps for `duration` [s], or as long as the scene says: as many steps as `capstan run` takes."""
        if duration is None:
            duration = self.model.duration
        if not (math.isfinite(duration) and duration >= 0):
            raise ValueError(f"duration is {duration} s; give a finite number of 0 or more")
        self.step(max(0, math.ceil(duration / self.dt - 1e-3)))
        return self

    def body(self, name):
        """A body, by its name or number."""
        try:
            return Body(self, self.model.body_index(name))
        except KeyError:
            for kind, names in (("rod", self.model.rod_names), ("soft_body", self.model.soft_body_names)):
                if name in names:
                    raise KeyError(f"'{name}' is no rigid body; write sim.{kind}('{name}')") from None
            raise

    def rod(self, name):
        """A rod, by its name or number."""
        part = self.model._rod(name)
        return Rod(part, self, name if isinstance(name, str) else self.model.rod_names[name])

    def soft_body(self, name):
        """A soft body, by its name or number."""
        part = self.model._soft_body(name)
        return SoftBody(part, self, name if isinstance(name, str) else self.model.soft_body_names[name])

    def _parts(self, name):
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

    def contact_force(self, body, other=None):
        """Contact force on a body, rod or soft body in the last step [N], world axes, shape [3]: of all that touches it, or
        of `other` alone."""
        begin, end = self._parts(body)
        first, last = (0, len(self.model.body_names)) if other is None else self._parts(other)
        pairs = self.contact_pairs
        a, b = pairs["body_a"], pairs["body_b"]
        on_a, on_b = (a >= begin) & (a < end), (b >= begin) & (b < end)
        by_a, by_b = (a >= first) & (a < last), (b >= first) & (b < last)
        inside = on_a & on_b  # a rod that touches itself
        force = pairs["force"]
        return force[on_b & by_a & ~inside].sum(0) - force[on_a & by_b & ~inside].sum(0)

    def save(self):
        """The whole state as bytes; restore() goes back to it bit for bit."""
        return self.state.to_bytes()

    def restore(self, data):
        """Goes back to what save() returned."""
        self.state = _core.State.from_bytes(self.model, data)

    def record(self, path, every=None):
        """Records from now on into a file, .capstan or .h5, every `every` steps (None: each 10 ms).

            with sim.record("run.capstan"):
                sim.run(2)

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

    def image(self, width=640, height=480, eye=None, target=(0, 0, 0), up=(0, 0, 1), fov=0.8, azimuth=0.65, elevation=0.32,
              samples=2, shadows=True):
        """What a camera sees now, as arrays: an Image with rgb, depth and shapes. Drawn here: no screen, no browser.

        width, height       [px]
        eye, target, up     [m] where the camera is, what it looks at, and what is up; eye None: it sees all of the scene
        fov                 [rad] from the lower to the upper edge
        azimuth, elevation  [rad] of the camera where eye is None
        samples             of colours across a pixel, 1 to 4: more is smoother and slower
        """
        return Image(*self._image(width, height, eye, target, up, fov, azimuth, elevation, samples, shadows))

    def view(self, pace=1.0, address="127.0.0.1", port=0):
        """Starts the viewer for this simulation and prints its address, to be opened in a browser: it shows every state as
        this program steps. Returns a View.

        pace     [s] of the simulation in a second of the clock, at most: steps wait for it; 0: as fast as they are
        address  to listen at, port 0: any that is free
        """
        view = View(self, self._view(pace, address, port))
        print(f"viewer: {view.url}", flush=True)
        return view

    def _repr_svg_(self):
        return self.picture(480, 360)

    def __reduce__(self):
        return _restored, (self.model, {name: getattr(self, name) for name in OPTIONS}, self.save(), self.schedule)

    def __repr__(self):
        return f"<capstan.Simulation of '{self.model.name}': t = {self.time:g} s>"


OPTIONS = ("dt", "integrator", "contact_law", "tolerance", "max_iterations", "threads", "sleep", "judge",
           "fail_if_not_converged", "step_seconds", "rigid")
for _name, _doc in zip(OPTIONS, (
        "Time step [s].",
        "'semi_implicit', 'explicit_euler', 'symplectic_euler', 'implicit_euler' or 'midpoint'.",
        "'coulomb', 'sap', 'lagged', 'similar' or 'regularized_lagged' (docs/laws.md).",
        "Relative momentum residual at which a step is solved.",
        "Of the solver, for an island in a step.",
        "Threads of a step: they change how long it takes, never its result.",
        "Whether islands at rest may sleep.",
        "Whether each answer is graded (report.judge).",
        "Whether a step that does not converge raises StepError; else the best iterate is taken.",
        "Wall time [s] after which a step gives up with StepError.",
        "Rigid contact in place of a contact law: None, a model ('ncp', capstan.rigid_models() lists them), or a dict\n"
        "with 'model' and the words of the command line: solver, restitution, stabilization, directions, viscosity, erp, "
        "cfm,\nstiffness, damping, allowance, tolerance, max_iterations, warm_start (docs/solvers.md).")):
    setattr(Simulation, _name, property(lambda self, name=_name: self._option(name),
                                        lambda self, value, name=_name: self._set_option(name, value), doc=_doc))


def _restored(model, options, data, schedule):
    simulation = Simulation(model, **options)
    simulation.restore(data)
    simulation.schedule = schedule
    return simulation


def load(scene, keyframe=None, **options):
    """A Simulation of a scene file, or of a scene that comes with Capstan by its name."""
    return Simulation(scene, keyframe, **options)


def scene_from_dict(content, strict=False):
    """A Scene from plain objects: dicts, lists, numbers and names as scene files have them (docs/scene.md).

        capstan.scene_from_dict({"capstan": 1, "bodies": [{"name": "ball", "joint": {"type": "free"},
                                                           "shape": {"type": "sphere", "radius": 0.1}}]})
    """
    def plain(x):
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
    lines, paths = [], []

    def write(before, x, path, after):
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
