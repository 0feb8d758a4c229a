"""Gymnasium environments: reach, push and walk. Needs gymnasium (pip install gymnasium).

    import capstan.gym
    env = capstan.gym.make("reach")                         # a gymnasium.Env
    envs = capstan.gym.make_vec("walk", 64, threads=2)      # a gymnasium.vector.VectorEnv, stepped by C++ threads

Actions are from -1 to 1. A task is a class with arrays of all environments at a time, so that one environment and many
are the same code; write one of your own and give it to Environment or VectorEnvironment.
"""
from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats
from ._rollout import Batch
from ._simulation import scene_from_dict


class Task:
    """What an environment asks for. Arrays have a row for each environment, n of them, in the units of the model [m, rad, s]."""
    frame_skip = 1  # steps of the simulation for each action
    max_steps = 200  # actions until an episode is cut off
    num_actions = 0
    num_goals = 0  # numbers that an episode is to reach
    model: _core.Model

    def __init__(self) -> None:
        pass

    def start(self, random: np.random.Generator) -> tuple[_core.State, Floats]:
        """(State, goal [num_goals] [m, or what the task takes]) of a new episode."""
        raise NotImplementedError

    def control(self, actions: Floats) -> Floats:
        """Controls [n, actuators] [N, N m, m, rad, ...] for actions [n, num_actions], from -1 to 1."""
        raise NotImplementedError

    def observe(self, batch: Batch, goals: Floats) -> Floats:
        """Observations [n, numbers] [m, rad, m/s, rad/s]."""
        raise NotImplementedError

    def score(self, batch: Batch, goals: Floats, actions: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """(rewards [n], without a unit; whether the episode has ended, bool [n])."""
        raise NotImplementedError


class Reach(Task):
    """The palm of the arm (scene arm_hand) gets to a point: reward is -distance [m], less a little for effort."""
    frame_skip, max_steps, num_actions, num_goals = 10, 150, 7, 3

    def __init__(self) -> None:
        self.model = _core.Model("arm_hand")
        self.home = _core.State(self.model, "home")
        self.palm = self.model.body_index("palm")
        lower, upper = (x[:7] for x in self.model.limits)
        self.middle, self.half = self.home.q[:7].copy(), 0.8 * np.ones(7)
        self.lower, self.upper = lower, upper

    def start(self, random: np.random.Generator) -> tuple[_core.State, Floats]:
        state = self.home.copy()
        state.q[:7] = np.clip(self.middle + random.uniform(-0.1, 0.1, 7), self.lower, self.upper)
        reachable = np.clip(self.middle + random.uniform(-0.6, 0.6, 7), self.lower, self.upper)
        q = state.q.copy()
        q[:7] = reachable
        return state, self.model.frame_pose(q, "palm")[:3, 3]

    def control(self, actions: Floats) -> Floats:
        control = np.tile(self.home.control, (len(actions), 1))
        control[:, :7] = np.clip(self.middle + self.half * actions, self.lower, self.upper)
        return control

    def observe(self, batch: Batch, goals: Floats) -> Floats:
        palm = batch.poses()[0][:, self.palm]
        return np.hstack([batch.q[:, :7], batch.v[:, :7], palm, goals - palm])

    def score(self, batch: Batch, goals: Floats, actions: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        distance = np.linalg.norm(goals - batch.poses()[0][:, self.palm], axis=1)
        return -distance - 1e-3 * (actions**2).sum(axis=1), np.zeros(len(goals), dtype=bool)


class Push(Task):
    """A finger that moves in the plane pushes a box to a place: reward is -distance [m] of the box from it, and a
    tenth of that of the finger from the box."""
    frame_skip, max_steps, num_actions, num_goals = 10, 200, 2, 2

    def __init__(self) -> None:
        def joint(name: str, axis: list[int]) -> dict[str, Any]:
            return {"name": name, "type": "prismatic", "axis": axis, "limits": [-0.6, 0.6]}

        def motor(name: str) -> dict[str, Any]:
            return {"name": name, "joint": name, "type": "pd", "stiffness": 400, "damping": 40,
                              "effort_limit": 20, "control_range": [-0.6, 0.6]}

        self.model = _core.Model(scene_from_dict({
            "capstan": 1, "name": "push", "options": {"dt": 0.005},
            "shapes": [{"name": "table", "type": "half_space"}],
            "bodies": [
                {"name": "finger", "position": [0, 0, 0.06], "joints": [joint("x", [1, 0, 0]), joint("y", [0, 1, 0])],
                 "shape": {"name": "tip", "type": "sphere", "radius": 0.03, "mass": 0.5}},
                {"name": "box", "position": [0, 0, 0.05], "joint": {"name": "box", "type": "free"},
                 "shape": {"name": "box", "type": "box", "size": [0.1, 0.1, 0.1], "mass": 0.5}}],
            "actuators": [motor("x"), motor("y")]}))
        self.box = self.model.joint("box").q.start

    def start(self, random: np.random.Generator) -> tuple[_core.State, Floats]:
        state = _core.State(self.model)
        state.q[self.box:self.box + 2] = random.uniform(-0.25, 0.25, 2)
        away = state.q[self.box:self.box + 2].copy()
        state.q[:2] = away - 0.15 * away / max(np.linalg.norm(away), 1e-9) if away.any() else [-0.15, 0]
        state.control[:] = state.q[:2]
        return state, random.uniform(-0.25, 0.25, 2)

    def control(self, actions: Floats) -> Floats:
        return 0.6 * actions

    def observe(self, batch: Batch, goals: Floats) -> Floats:
        box = batch.q[:, self.box:self.box + 2]
        return np.hstack([batch.q[:, :2], batch.v[:, :2], batch.q[:, self.box:self.box + 7], goals - box])

    def score(self, batch: Batch, goals: Floats, actions: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        box = batch.q[:, self.box:self.box + 2]
        distance = np.linalg.norm(goals - box, axis=1)
        return -distance - 0.1 * np.linalg.norm(batch.q[:, :2] - box, axis=1), np.zeros(len(goals), dtype=bool)


class Walk(Task):
    """The quadruped walks along x: reward is its speed [m/s], up to 1, less a little for effort; an episode ends when
    the trunk comes too low or tips over."""
    frame_skip, max_steps, num_actions, num_goals = 10, 250, 12, 0

    def __init__(self) -> None:
        self.model = _core.Model("quadruped")
        self.home = _core.State(self.model)
        root = next(self.model.joint(i) for i in range(len(self.model.joint_names)) if self.model.joint(i).type == "free")
        self.q, self.v = root.q.start, root.v.start
        self.height = self.home.q[self.q + 2]

    def start(self, random: np.random.Generator) -> tuple[_core.State, Floats]:
        state = self.home.copy()
        legs = np.ones(len(state.q), dtype=bool)
        legs[self.q:self.q + 7] = False
        state.q[legs] += random.uniform(-0.05, 0.05, legs.sum())
        return state, np.zeros(0)

    def control(self, actions: Floats) -> Floats:
        return self.home.control + 0.4 * actions

    def observe(self, batch: Batch, goals: Floats) -> Floats:
        others = np.ones(batch.q.shape[1], dtype=bool)
        others[self.q:self.q + 2] = False  # where it is does not matter
        return np.hstack([batch.q[:, others], batch.v])

    def score(self, batch: Batch, goals: Floats, actions: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        quat = batch.q[:, self.q + 3:self.q + 7]
        upright = 1 - 2 * (quat[:, 1]**2 + quat[:, 2]**2)  # z component of its z axis
        ended = (batch.q[:, self.q + 2] < 0.5 * self.height) | (upright < 0.5)
        return np.minimum(batch.v[:, self.v], 1) - 5e-3 * (actions**2).sum(axis=1) - ended, ended


TASKS: dict[str, type[Task]] = {"reach": Reach, "push": Push, "walk": Walk}


class _Run:
    """Episodes of a task in a batch."""

    def __init__(self, task: Task, size: int, threads: int, options: dict[str, Any]) -> None:
        self.task = task
        self.batch = Batch(task.model, size, threads, **options)
        self.batch.schedule = None  # actions are the controls
        self.goals = np.zeros((size, task.num_goals))
        self.steps = np.zeros(size, dtype=int)

    def begin(self, index: int, random: np.random.Generator) -> None:
        state, self.goals[index] = self.task.start(random)
        self.batch.set_state(index, state)
        self.steps[index] = 0

    def step(self, given: npt.ArrayLike) -> tuple[npt.NDArray[np.float32], Floats, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        actions: Floats = np.clip(np.nan_to_num(np.asarray(given, dtype=float)), -1, 1)
        self.batch.control[:] = self.task.control(actions)
        self.batch.step(self.task.frame_skip)
        self.steps += 1
        rewards, ended = self.task.score(self.batch, self.goals, actions)
        ended = ended | np.array(self.batch.failed)  # a step that cannot be made ends an episode, too
        return self.observe(), rewards, ended, self.steps >= self.task.max_steps

    def observe(self) -> npt.NDArray[np.float32]:
        return self.task.observe(self.batch, self.goals).astype(np.float32)


def _spaces(run: _Run) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    box = gymnasium.spaces.Box
    return (box(-np.inf, np.inf, (run.observe().shape[1],), np.float32),
            box(-1, 1, (run.task.num_actions,), np.float32))


class Environment(gymnasium.Env):
    """One environment of a task: gymnasium.Env.

    >>> env = capstan.gym.make("reach")
    >>> observation, _ = env.reset(seed=0)
    >>> observation, reward, ended, cut, _ = env.step(env.action_space.sample())
    >>> observation.shape
    (20,)
    """
    metadata = {"render_modes": []}

    def __init__(self, task: Task, **options: Any) -> None:
        self._run = _Run(task, 1, 1, options)
        self.observation_space, self.action_space = _spaces(self._run)

    @property
    def task(self) -> Task:
        """The task."""
        return self._run.task

    @property
    def state(self) -> _core.State:
        """A copy of the simulation's State."""
        return self._run.batch.state(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode: (observation [numbers], {})."""
        super().reset(seed=seed)
        self._run.begin(0, self.np_random)
        return self._run.observe()[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """(observation, reward, terminated, truncated, {})."""
        observations, rewards, ended, cut = self._run.step(np.asarray(action)[None])
        return observations[0], float(rewards[0]), bool(ended[0]), bool(cut[0]), {}


class VectorEnvironment(gymnasium.vector.VectorEnv):
    """Many environments of a task, stepped by C++ threads. An episode that ended begins anew with the next step."""

    def __init__(self, task: Task, num_envs: int, threads: int = 1, **options: Any) -> None:
        self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
        self.num_envs = num_envs
        self._run = _Run(task, num_envs, threads, options)
        self.single_observation_space, self.single_action_space = _spaces(self._run)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self._ended = np.zeros(num_envs, dtype=bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins all episodes: (observations, {})."""
        super().reset(seed=seed)
        for i in range(self.num_envs):
            self._run.begin(i, self.np_random)
        self._ended[:] = False
        return self._run.observe(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """(observations, rewards, terminated, truncated, {}), a row for each environment."""
        begun = np.flatnonzero(self._ended)
        _, rewards, ended, cut = self._run.step(actions)
        for i in begun:
            self._run.begin(int(i), self.np_random)
        rewards, ended, cut = (np.where(self._ended, 0, x) for x in (rewards, ended, cut))
        ended, cut = ended.astype(bool), cut.astype(bool)
        self._ended = ended | cut
        return self._run.observe(), rewards, ended, cut, {}


def make(name: str, **options: Any) -> Environment:
    """An Environment: 'reach', 'push' or 'walk'. Options are those of Simulation."""
    return Environment(TASKS[name](), **options)


def make_vec(name: str, num_envs: int, threads: int = 1, **options: Any) -> VectorEnvironment:
    """A VectorEnvironment of as many, stepped by `threads` threads."""
    return VectorEnvironment(TASKS[name](), num_envs, threads, **options)
