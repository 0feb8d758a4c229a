#!/usr/bin/env python3
"""The gauntlet in every engine that is built, at 1, 2, 5 and 10 ms: docs/results/gauntlet.md and gauntlet.json.

    bench/gauntlet/run.py --build build/bench [--only ENGINE] [--steps s ...] [--scenes NAME ...] [--missing] [--out docs/results] [--merge JSON ...] [--page]

Each engine is a program that runs the scene files and prints, for each, what the judge of all engines measured
(bench/gauntlet/measure.cc). Results are saved after every time step of an engine, and those that are not asked for stay as they
are, so that a long run can be made in parts: --missing runs only scenes that the JSON does not have yet. --page only writes the page anew, from the JSON that is there.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import page

HERE = pathlib.Path(__file__).resolve().parent
STEPS = [0.001, 0.002, 0.005, 0.01]
# Name of a column, its program and options; programs of peers are in BUILD/gauntlet.
COLUMNS = [
    ("Capstan, regularized_lagged", "capstan", ["--contact-law", "regularized_lagged"]),
    ("Capstan, coulomb", "capstan", ["--contact-law", "coulomb"]),
    ("Capstan, coulomb, midpoint", "capstan", ["--contact-law", "coulomb", "--integrator", "midpoint"]),
    ("MuJoCo", "mujoco", []),
    ("MuJoCo, accurate", "mujoco", ["--accurate"]),
    ("Bullet", "bullet", []),
    ("Bullet, accurate", "bullet_double", ["--accurate"]),
    ("ODE", "ode", []),
    ("ODE, accurate", "ode", ["--accurate"]),
    ("DART", "dart", []),
    ("DART, accurate", "dart", ["--accurate"]),
    ("Drake", "drake", []),
    ("Drake, accurate", "drake", ["--accurate"]),
]
DRAKE = HERE.parent.parent / "build/peers/drake"
TIME_LIMIT = 60  # [s] of the processor for one scene of a peer, which then stops itself


def run_capstan(build, options, dt, scenes):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [build / "apps/capstan/capstan", "gauntlet", "--dt", str(dt), "--json", file.name, *options]
        result = subprocess.run(command + [s.stem for s in scenes], capture_output=True, text=True)
        if result.returncode not in (0, 5):
            sys.exit(result.stderr)
        return json.loads(pathlib.Path(file.name).read_text())["rows"]


def run_peer(command, dt, scenes):
    """One process for all; where it ends early, the scene that it was at has failed, and the rest goes to a new one."""
    rows = []
    while len(rows) < len(scenes):
        left = scenes[len(rows):]
        try:
            result = subprocess.run([*command, "--dt", str(dt), "--limit", str(TIME_LIMIT), *left], capture_output=True, text=True,
                                    timeout=10 * TIME_LIMIT * len(left), env=dict(os.environ, PYTHONPATH=str(DRAKE)))
            out, why = result.stdout, f"the program ended with {result.returncode}"
        except subprocess.TimeoutExpired as error:
            out, why = (error.stdout or b"").decode(), "did not come to an end"
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        rows += lines
        if len(lines) < len(left):
            rows.append(dict(scene=left[len(lines)].stem, measured=None, error=None, **{"pass": False}, trouble=why))
    return rows


def save(path, columns):
    """A line for each scene."""
    text = json.dumps(dict(columns=[columns[c[0]] for c in COLUMNS if c[0] in columns]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace('{"scene"', '\n{"scene"') + "\n")


def put_rows(column, dt, rows):
    """Rows of scenes at a time step into a column, in place of those that it has of the same scenes."""
    step = next((s for s in column["steps"] if abs(s["dt"] - dt) < 1e-9), None)
    if step is None:
        step = dict(dt=dt, rows=[])
        column["steps"] = sorted(column["steps"] + [step], key=lambda s: s["dt"])
    new = {r["scene"]: r for r in rows}
    step["rows"] = sorted([r for r in step["rows"] if r["scene"] not in new] + rows, key=lambda r: r["scene"])


def has_rows(column, dt):
    """Names of the scenes that it has results of."""
    return {r["scene"] for s in column["steps"] if abs(s["dt"] - dt) < 1e-9 for r in s["rows"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build/bench")
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent.parent / "docs/results")
    parser.add_argument("--only", default="", help="columns whose name begins so; others stay as the JSON has them")
    parser.add_argument("--steps", type=float, nargs="+", default=STEPS, help="time steps [s]; others stay, too")
    parser.add_argument("--scenes", nargs="+", default=[], help="only these; others stay")
    parser.add_argument("--missing", action="store_true", help="only scenes that the JSON has no result of")
    parser.add_argument("--merge", type=pathlib.Path, nargs="*", default=[], help="take columns of these JSON files")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    scenes = sorted((HERE / "scenes").glob("*.yaml"))
    unknown = set(arguments.scenes) - {s.stem for s in scenes}
    if unknown:
        sys.exit(f"error: there is no scene '{unknown.pop()}' in {HERE}/scenes")
    wanted = [s for s in scenes if not arguments.scenes or s.stem in arguments.scenes]
    path = arguments.out / "gauntlet.json"
    old = json.loads(path.read_text()) if path.exists() else {"columns": []}
    columns = {c["name"]: c for c in old["columns"]}
    for other in arguments.merge:
        for column in json.loads(other.read_text())["columns"]:
            known = columns.setdefault(column["name"], dict(column, steps=[]))
            known["version"] = column["version"] or known["version"]
            for step in column["steps"]:
                put_rows(known, step["dt"], step["rows"])
        save(path, columns)
    for name, program, options in COLUMNS:
        if arguments.page or not name.startswith(arguments.only):
            continue
        executable = build / "gauntlet" / program
        command = [executable, *options]
        if program == "drake":
            command = [sys.executable, HERE / "peers/drake_peer.py", build / "apps/capstan/capstan", *options]
            if not DRAKE.exists():
                print(f"{name}: not there; tools/peers unpacks it")
                continue
        elif program != "capstan" and not executable.exists():
            print(f"{name}: not built")
            continue
        column = columns.setdefault(name, dict(name=name, version="", steps=[]))
        for dt in arguments.steps:
            todo = [s for s in wanted if not arguments.missing or s.stem not in has_rows(column, dt)]
            if not todo:
                continue
            rows = run_capstan(build, options, dt, todo) if program == "capstan" else run_peer(command, dt, todo)
            column["version"] = next((r["version"] for r in rows if "version" in r), column["version"])
            put_rows(column, dt, [page.slim(r) for r in rows])
            passed = sum(bool(r.get("pass")) for r in rows)
            print(f"{name}, {1e3 * dt:g} ms: {passed} of {sum('cannot' not in r for r in rows)}", flush=True)
            save(path, columns)
    if not path.exists():
        sys.exit("no results")
    page.write(scenes, json.loads(path.read_text()), build, arguments.out)


if __name__ == "__main__":
    main()
