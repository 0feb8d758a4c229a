#!/usr/bin/env python3
"""What each engine has built of the scenes, held against what Capstan has: one geometry, one start, in all.

    bench/gauntlet/compare.py --build build/bench [--scenes NAME ...] [--out docs/results/gauntlet_geometry.md]

Every program of peers/ prints, with --describe, what its engine itself tells: masses, centres and inertias, poses and velocities
at the start, gravity, and the shapes that collide. Drake's program reads the files with a YAML reader and by README.md alone; the
others share our reader of files. Ends with 1 where any number differs by more than the tolerance, 1e-5 of its size (meshes, which
some engines keep in single precision, as well).
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

from run import DRAKE, HERE

ENGINES = [("MuJoCo", "mujoco", ["--accurate"]), ("Bullet", "bullet", []), ("Bullet, double", "bullet_double", []), ("ODE", "ode", []),
           ("DART", "dart", ["--accurate"]), ("Drake", "drake", [])]
TOLERANCE = 1e-5


def described(command, scenes):
    result = subprocess.run([*command, "--describe", *scenes], capture_output=True, text=True,
                            env=dict(os.environ, PYTHONPATH=str(DRAKE)))
    rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    if len(rows) < len(scenes):
        sys.exit(f"error: {command[0]} ended at {scenes[len(rows)].stem}: {result.stderr[-500:]}")
    return {row["scene"]: row.get("built") for row in rows}


def off(a, b, scale=1.0):
    """The largest difference of two lists of numbers, over a scale."""
    if len(a) != len(b):
        return math.inf
    return max((abs(x - y) for x, y in zip(a, b)), default=0.0) / scale


def size(values):
    return max(map(abs, values), default=0.0) or 1.0


def bodies_off(ours, theirs):
    """Names of what differs most, and by how much."""
    worst = {}
    if [b["name"] for b in ours] != [b["name"] for b in theirs]:
        return {"bodies": math.inf}
    for a, b in zip(ours, theirs):
        found = dict(mass=off([a["mass"]], [b["mass"]], a["mass"]), centre=off(a["com"], b["com"]),
                     inertia=off(a["inertia"], b["inertia"], size(a["inertia"])), pose=max(off(a["position"], b["position"]),
                                                                                          off(a["rotation"], b["rotation"])),
                     velocity=max(off(a[k], b[k], max(1.0, size(a[k]))) for k in ("velocity", "angular")))
        worst = {k: max(v, worst.get(k, 0.0)) for k, v in found.items()}
    return worst


def shape_off(a, b):
    if a["type"] != b["type"] or a["body"] != b["body"]:
        return math.inf
    if a["type"] == "half_space":
        n, m = a["rotation"][6:], b["rotation"][6:]
        heights = [sum(x * y for x, y in zip(n, s["position"])) for s in (a, b)]
        return max(off(n, m), abs(heights[0] - heights[1]))
    worst = off(a["size"], b["size"], max(1e-3, size(a["size"])))
    if a["type"] == "mesh":
        return worst
    worst = max(worst, off(a["position"], b["position"]))
    if a["type"] == "box":
        worst = max(worst, off(a["rotation"], b["rotation"]))
    elif a["type"] in ("capsule", "cylinder"):  # either way round
        z, w = a["rotation"][6:], b["rotation"][6:]
        worst = max(worst, min(off(z, w), off(z, [-x for x in w])))
    return worst


def shapes_off(ours, theirs):
    if len(ours) != len(theirs):
        return math.inf
    left, worst = list(theirs), 0.0
    for a in ours:
        nearest = min(left, key=lambda b: shape_off(a, b))
        worst = max(worst, shape_off(a, nearest))
        left.remove(nearest)
    return worst


def compare(ours, theirs):
    return dict(gravity=off(ours["gravity"], theirs["gravity"]), **bodies_off(ours["bodies"], theirs["bodies"]),
                shapes=shapes_off(ours["shapes"], theirs["shapes"]))


def write(path, table, total):
    lines = ["# One geometry, one start", "",
             "What each engine has built of the scenes of the [gauntlet](gauntlet.md), as the engine itself tells it, held against Capstan: "
             "`bench/gauntlet/compare.py` prints this page. The largest difference over all its scenes, relative to the size of the number "
             f"(metres, radians and metres a second below 1 as they are); more than {TOLERANCE:g} is an error.", "",
             "Drake's program was written from the scene files and [the page that says how they are written](../../bench/gauntlet/README.md) "
             "alone: it reads them with Python's YAML reader, works masses and inertias of shapes out with Drake's own functions, and shares "
             "no code with the others. Bullet is in single precision by default; MuJoCo keeps meshes so.", "",
             f"| engine | scenes of {total} | gravity | mass | centre of mass | inertia | pose | velocity | shapes | scenes that differ |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for name, count, worst, bad in table:
        numbers = " | ".join(f"{worst.get(k, 0):.1e}" for k in ("gravity", "mass", "centre", "inertia", "pose", "velocity", "shapes"))
        lines.append(f"| {name} | {count} | {numbers} | {', '.join(bad) or 'none'} |")
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build/bench")
    parser.add_argument("--scenes", nargs="+", default=[])
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    scenes = [s for s in sorted((HERE / "scenes").glob("*.yaml")) if not arguments.scenes or s.stem in arguments.scenes]
    programs = arguments.build.resolve() / "gauntlet"
    ours, table, differs = described([programs / "capstan"], scenes), [], False
    for name, program, options in ENGINES:
        command = [programs / program, *options]
        if program == "drake":
            command = [sys.executable, HERE / "peers/drake_peer.py", "-", *options]
        if not (DRAKE if program == "drake" else programs / program).exists():
            print(f"{name}: not built")
            continue
        theirs = {k: v for k, v in described(command, scenes).items() if v}
        worst, bad = {}, []
        for scene, built in theirs.items():
            found = compare(ours[scene], built)
            worst = {k: max(v, worst.get(k, 0.0)) for k, v in found.items()}
            if max(found.values()) > TOLERANCE:
                bad.append(scene)
                print(f"{name}, {scene}: " + ", ".join(f"{k} {v:.2g}" for k, v in found.items() if v > TOLERANCE))
        print(f"{name}: {len(theirs)} scenes, {len(bad)} differ; largest " + ", ".join(f"{k} {v:.1e}" for k, v in worst.items()), flush=True)
        table.append((name, len(theirs), worst, bad))
        differs = differs or bool(bad)
    if arguments.out:
        write(arguments.out, table, len(scenes))
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
