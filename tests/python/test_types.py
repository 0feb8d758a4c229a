"""Annotations: the package and a small program of a user's agree with mypy, and everything public has them."""
import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import capstan

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = pathlib.Path(capstan.__file__).parent

PROGRAM = """\
import numpy as np
import numpy.typing as npt

import capstan

sim = capstan.load("clutter", dt=0.002)
sim.control[:] = 0
sim.q = np.zeros(len(sim.q))
sim.step(3)
height: float = sim.body("box_3").position[2]
pose: npt.NDArray[np.float64] = sim.body(1).pose
force = sim.contacts["force"].sum(axis=0) + sim.contact_force("box_3")
model: capstan.Model = sim.model.with_friction(0.3)
M = model.mass_matrix(sim.q) @ sim.v
place: slice = model.joint(0).v
heavy = capstan.Batch(model.with_mass(2, "box_3"), 4, threads=2)
heavy.control[:, :] = 0
heavy.q[0, place] += 1
runs: capstan.Rollout = capstan.rollout(model, [capstan.State(model)], steps=10)
print(runs.q.mean(), [f"{name}: {what}" for name, what in capstan.scenes().items()])
hit = model.ray_cast(sim.q, [0, 0, 1], [0, 0, -1])
if hit is not None:
    print(hit["distance"])
image: npt.NDArray[np.uint8] = sim.image(32, 24).rgb
run = capstan.record(sim, "run.capstan", 0.1)
energy: npt.NDArray[np.float64] = run.numbers["energy.total"]
try:
    capstan.Scene.from_string("capstan: 2")
except capstan.InputError as error:
    print(error.diagnostics[0].line + 1)
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """A function from arguments to what mypy says. One cache for all: numpy's annotations take it seconds."""
    pytest.importorskip("mypy", reason="mypy (PyPI) is not installed")
    folder = tmp_path_factory.mktemp("mypy")

    def run(*arguments, program=None):
        if program is not None:
            (folder / "program.py").write_text(program)
            arguments = [*arguments, folder / "program.py"]
        command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", folder / "cache", *arguments]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                                env={**os.environ, "MYPYPATH": str(FOLDER.parent)})
        return result.stdout + result.stderr

    return run


def test_the_package(mypy):
    assert mypy("--config-file", ROOT / "pyproject.toml", "-p", "capstan") == ""


def test_a_program(mypy):
    assert mypy("--strict", program=PROGRAM) == ""


MISTAKES = {
    "capstan.load(3)": "arg-type",
    "capstan.load('stack').step('3')": "arg-type",
    "capstan.load('stack').qq": "attr-defined",
    "capstan.Model('stack').with_friction('low')": "arg-type",
    "n: int = capstan.load('stack').body(1).position": "assignment",
    "text: str = capstan.rollout('stack', steps=3).q": "assignment",
}


def test_mistakes_are_found(mypy):
    told = mypy("--strict", program="\n".join(["import capstan", *MISTAKES]))
    for line, what in enumerate(MISTAKES.values(), start=2):
        assert re.search(rf"program.py:{line}: error: .*\[{what}\]", told), (line, told)


def test_every_function_is_annotated():
    bare = []
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            if node.returns is None or any(x and x.annotation is None and x.arg not in ("self", "cls") for x in arguments):
                bare.append(f"{path.name}: {node.name}")
    assert not bare


def test_the_stub_tells_types():
    """The compiled module: nothing public takes or gives a bare `object`."""
    stub = (FOLDER / "_core.pyi").read_text()
    vague = [line.strip() for line in stub.splitlines()
             if re.search(r"def [a-z]\w*\(.*(: object|-> object)", line)]
    assert not vague


def test_what_is_exported():
    """`import *`, type checkers and the page of all functions go by __all__."""
    public = {name for name, thing in vars(capstan).items() if not name.startswith("_")}
    assert public - {"gym"} == set(capstan.__all__)


def test_py_typed_is_there():
    assert (FOLDER / "py.typed").exists() and inspect.signature(capstan.load).return_annotation == "Simulation"
