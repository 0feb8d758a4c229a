"""Sweeps: one function over many points, in processes or on a cluster, resumable."""
from __future__ import annotations

import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import tempfile
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from . import _core
from ._code import code_of


@dataclasses.dataclass
class SweepPoint:
    """One point of a sweep."""
    point: dict[str, Any]
    """Arguments of the function."""
    result: dict[str, Any] | None
    """{name: array} that the function returned; None when it failed."""
    error: str
    """Why it failed, or ''. It is tried again when the sweep is run again."""
    path: str
    """File of the result (.h5), named by the content it depends on."""


def _key(code: str, point: Mapping[str, Any]) -> str:
    """Hash of all that a result depends on: version, code, point, files that the point names."""
    content = [_core.__version__, code, point]
    for value in point.values():
        if isinstance(value, (str, os.PathLike)) and os.path.isfile(value):
            content.append(hashlib.sha256(pathlib.Path(value).read_bytes()).hexdigest())
    text = json.dumps(content, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _plain(x: Any) -> Any:
    return os.fspath(x) if isinstance(x, os.PathLike) else np.asarray(x).tolist()


def _evaluate(function: Callable[..., Any], point: Mapping[str, Any], path: str) -> None:
    """Runs in a worker. The file appears whole or not at all."""
    result = function(**point)
    if not isinstance(result, dict):
        result = {"value": result}
    descriptor, scratch = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".part")
    os.close(descriptor)
    try:
        _core._write_hdf5(scratch, {name: np.asarray(value) for name, value in result.items()},
                          {"point": json.dumps(point, default=_plain), "version": _core.__version__})
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


def _in_processes(tasks: Iterable[Any], workers: int | None, tries: int) -> dict[str, str]:
    """Errors by path. A worker that is killed takes its pool with it: what is left is given to a new one."""
    errors: dict[str, str] = {}
    left = list(tasks)
    context = multiprocessing.get_context("spawn")  # threads and forks do not go together
    for _ in range(tries):
        broken = []
        with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
            futures = {pool.submit(_evaluate, *task): task for task in left}
            for future, task in futures.items():
                try:
                    future.result()
                except concurrent.futures.process.BrokenProcessPool:
                    broken.append(task)
                except Exception as error:  # noqa: BLE001 - the user's function may raise anything
                    errors[task[2]] = f"{type(error).__name__}: {error}"
        left = [task for task in broken if not os.path.exists(task[2])]
        if not left:
            return errors
    for task in left:
        errors[task[2]] = f"its process was killed {tries} times"
    return errors


def _on_cluster(tasks: Iterable[Any], client: Any) -> dict[str, str]:
    futures = {client.submit(_evaluate, *task, pure=False): task for task in tasks}
    errors: dict[str, str] = {}
    for future, task in futures.items():
        try:
            future.result()
        except Exception as error:  # noqa: BLE001
            errors[task[2]] = f"{type(error).__name__}: {error}"
    return errors


def sweep(function: Callable[..., Any], grid: Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]],
          folder: str | os.PathLike[str], workers: int | None = None, client: Any = None,
          tries: int = 3) -> list[SweepPoint]:
    """Calls function(**point) for every point of a grid and keeps the results in a folder.

    function  returns a dict of arrays or numbers (or one of those); in a module of its own, for processes import it
    grid      {name: list of values}: all combinations; or a list of dicts
    folder    of the results, HDF5 files named by a hash of version, point and code: that of the function and of all
              functions, classes and constants of yours that it uses. A sweep that was killed, or has new points, computes
              only what is not there. Of files, only those that a value of the point names are looked into.
    workers   processes; None: as many as there are processors
    client    a dask.distributed.Client: the sweep runs on its cluster, whose workers must see the folder and import the
              function; what a worker that dies was at is given to another one

    Returns a list of SweepPoint in the order of the grid.
    """
    if isinstance(grid, Mapping):
        points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    else:
        points = [dict(point) for point in grid]
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    code = code_of(function)
    paths = [str(folder / f"{_key(code, point)}.h5") for point in points]
    tasks = {path: (function, point, path) for point, path in zip(points, paths) if not os.path.exists(path)}
    errors: dict[str, str] = {}
    if tasks:
        errors = _on_cluster(tasks.values(), client) if client else _in_processes(tasks.values(), workers, tries)
    answers = []
    for point, path in zip(points, paths):
        result = None
        if os.path.exists(path):
            result = _core._read_hdf5(path)
        answers.append(SweepPoint(point, result, errors.get(path, ""), path))
    return answers
