#!/usr/bin/env python3
"""What a scene without a stiffness, a solver or a warning does: bounces, rest at any scale, starts that are out of place, friction's cone.

    bench/defaults.py [--capstan build/release/apps/capstan/capstan] [--page docs/results/defaults.md]

Each row of the first three parts is a small scene, run by 'capstan gauntlet FILE --trajectory' with the defaults (law coulomb), and measured from
the motion of its bodies; rows of the last are the scenes that ship, by their logs. Prints the page, and fails where a promise of docs/scene.md or
docs/physics.md is not kept.
"""
import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TASK = """extra: {title: t, shows: s, group: rest, why: w, answer: 0, tolerance: 1, measure: {quantity: momentum, over: end}}
"""


class Runner:
    def __init__(self, program):
        self.program = program

    def __call__(self, scene, dt):
        """[(time, [(position, velocity, angular velocity) of each body])] of a scene file's text."""
        with tempfile.TemporaryDirectory() as folder:
            file, motion = pathlib.Path(folder, "scene.yaml"), pathlib.Path(folder, "motion.txt")
            file.write_text("capstan: 1\n" + TASK + scene)
            done = subprocess.run([self.program, "gauntlet", file, "--dt", str(dt), "--trajectory", motion],
                                  capture_output=True, text=True)
            if not motion.exists():
                sys.exit(done.stderr + done.stdout)
            rows = [[float(x) for x in line.split()] for line in motion.read_text().splitlines()]
        bodies = range((len(rows[0]) - 1) // 13)
        return [(r[0], [(r[1 + 13 * i:4 + 13 * i], r[8 + 13 * i:11 + 13 * i], r[11 + 13 * i:14 + 13 * i]) for i in bodies])
                for r in rows]


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] +
                     ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def size(vector):
    return sum(x * x for x in vector) ** 0.5


def bounces(run):
    """A ball falls 1 m: how high it comes back, against e^2."""
    steps, rows, worst = (0.0005, 0.001, 0.002, 0.005, 0.01), [], 0
    for e in (0.2, 0.5, 0.8, 0.95):
        row = [e, f"{e * e:.4g}"]
        for dt in steps:
            motion = run(f"""options: {{duration: 1.2}}
materials: [{{name: default, restitution: {e}}}]
shapes: [{{type: plane, name: floor}}]
bodies: [{{name: ball, position: [0, 0, 1.1], joint: free, shape: {{type: sphere, radius: 0.1, mass: 1}}}}]
""", dt)
            touch = next(i for i, (_, b) in enumerate(motion) if b[0][1][2] > 0)
            height = max(b[0][0][2] - 0.1 for _, b in motion[touch:])
            worst = max(worst, abs(height / (e * e) - 1) if e >= 0.5 else 0)
            row.append(f"{height:.4g}")
        rows.append(row)
    text = table(["e", "e^2 [m]"] + [f"{1e3 * dt:g} ms" for dt in steps], rows)
    return f"A ball of 1 kg falls 1 m; the height to which it comes back [m].\n\n{text}", worst <= 0.001


def scales(run):
    """Cubes of water from 1 mm to 100 m, alone and ten in a stack whose top is 1000 times as heavy: depth over size."""
    steps, rows, worst = (0.001, 0.005, 0.01), [], 0
    for edge in (0.001, 0.01, 0.1, 1, 10, 100):
        mass = 1000 * edge ** 3
        row = [f"{edge:g}", f"{mass:.0e}"]
        for count in (1, 10):
            for dt in steps:
                bodies = "".join(
                    f"  - {{name: b{i}, position: [0, 0, {edge * (i + 0.5):.9g}], joint: free, shape: {{type: box, "
                    f"size: [{edge}, {edge}, {edge}], mass: {mass * (1000 if count > 1 and i == count - 1 else 1):.9g}}}}}\n" for i in range(count))
                motion = run(f"options: {{duration: 1}}\nshapes: [{{type: plane, name: floor}}]\nbodies:\n{bodies}", dt)
                heights = [b[0][2] for b in motion[-1][1]]
                sunk = edge / 2 - heights[0]
                for low, high in zip(heights, heights[1:]):
                    sunk = max(sunk, edge - (high - low))
                worst = max(worst, sunk / edge)
                row.append(f"{sunk / edge:.1e}")
        rows.append(row)
    head = ["edge [m]", "mass [kg]"] + [f"{name}, {1e3 * dt:g} ms" for name in ("alone", "stack") for dt in steps]
    text = table(head, rows)
    return ("Cubes of water with the default material, alone and ten in a stack whose top is 1000 times as heavy, after 1 s: the "
            f"deepest overlap over the edge.\n\n{text}"), worst <= 1.001e-3


STARTS = {
    "hinge 1 rad beyond its limit": ("""options: {duration: 3, gravity: [0, 0, 0]}
bodies:
  - name: arm
    joint: {type: revolute, axis: [0, 1, 0], limits: [-0.5, 0.5], initial: 1.5}
    shape: {type: box, size: [1, 0.1, 0.1], position: [0.5, 0, 0], mass: 1}
""", "angular", "rad/s"),
    "ball constraint that starts 0.3 m open": ("""options: {duration: 3, gravity: [0, 0, 0]}
bodies:
  - {name: a, joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
  - {name: b, position: [0.5, 0, 0], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
constraints: [{name: tie, type: ball, body_a: a, body_b: b, point_a: [0.1, 0, 0], point_b: [-0.1, 0, 0]}]
""", "velocity", "m/s"),
    "two cubes of 0.1 m half inside each other": ("""options: {duration: 3, gravity: [0, 0, 0]}
bodies:
  - {name: a, joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
  - {name: b, position: [0.05, 0.01, 0.005], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}
""", "velocity", "m/s"),
    "cube of 0.1 m half in the floor": ("""options: {duration: 3}
shapes: [{type: plane, name: floor}]
bodies: [{name: a, joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1}}]
""", "velocity", "m/s"),
}


def starts(run):
    """The largest speed that an error at the start becomes."""
    steps, rows, worst = (0.001, 0.002, 0.005, 0.01), [], 0
    for name, (scene, what, unit) in STARTS.items():
        row = [name, unit]
        for dt in steps:
            motion = run(scene, dt)
            speeds = [max(size(b[1 if what == "velocity" else 2]) for b in bodies) for _, bodies in motion]
            worst = max(worst, max(speeds))
            row.append(f"{max(speeds):.3g}")
        rows.append(row)
    text = table(["what starts out of place", "largest speed"] + [f"{1e3 * dt:g} ms" for dt in steps], rows)
    return ("`recovery_speed` is 1 (m/s or rad/s) by default; it is that of a joint, or of the gap of a constraint.\n\n" + text), worst <= 1.001


SETTLED, MOST_CONTACTS = 1e-3, 256  # what the law coulomb tries to reach in islands of up to so many contacts


def violations(run):
    """The error of friction at its own normal impulse in every step of every scene that ships."""
    names = [line.split()[0] for line in subprocess.run([run.program, "list"], capture_output=True, text=True, check=True).stdout.splitlines()]
    rows, few, kept = [], [], 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log.csv")
            done = subprocess.run([run.program, "run", name, "--quiet", "--log", log], capture_output=True, text=True)
            if not log.exists():
                sys.exit(done.stderr)
            with open(log) as file:
                steps = list(csv.DictReader(file))[1:]  # the first line is the start
        contacts = [int(float(s["contacts [1]"])) for s in steps]
        if done.returncode != 0 or not any(contacts):
            rows += [[name, len(steps), 0, "", "", "it stops: " + done.stderr.strip().splitlines()[-1]]] if done.returncode != 0 else []
            continue
        values = sorted(float(s["friction.violation [1]"]) for s in steps)
        above = sum(v > SETTLED for v in values)
        kept += above == 0
        if above > 0 and max(contacts) <= MOST_CONTACTS:
            few.append(f"`{name}`")
        rows.append([name, len(steps), max(contacts), f"{values[-1]:.1e}", f"{values[int(0.95 * (len(values) - 1))]:.1e}",
                     f"{100 * above / len(values):.3g}"])
        print(*rows[-1], file=sys.stderr, flush=True)
    text = table(["scene", "steps", "most contacts", "largest violation", "95 % of the steps have at most", f"steps above {SETTLED:g} [%]"], rows)
    return ("The column `friction.violation` of logs, over all steps of the scenes that ship and have contacts: by how much the friction of the worst contact "
            "leaves the cone of its own normal impulse, over the contact's impulse and 1 % of the largest in its island. "
            f"In {kept} of {len(rows)} scenes it is never above {SETTLED:g}; where islands have more than {MOST_CONTACTS} contacts it is not meant to be "
            f"([laws](../laws.md#which-law)). Above it without so many: {', '.join(few) or 'none'} (`arm_hand` starts with its hand in its forearm)."
            f"\n\n{text}"), kept == len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--capstan", type=pathlib.Path, default=ROOT / "build/release/apps/capstan/capstan")
    parser.add_argument("--page", type=pathlib.Path, help="write it here, too")
    options = parser.parse_args()
    run, page, good = Runner(options.capstan), ["# Defaults: bounces, scales, starts, friction\n\nWritten by `bench/defaults.py --page "
                                                "docs/results/defaults.md`. Do not edit.\n"], True
    for title, part, promise in (("Bounces", bounces, "from e = 0.5 on within 0.1 % of e^2"),
                                 ("Any scale", scales, "at most 1e-3"), ("Soft starts", starts, "at most 1"),
                                 ("Friction's cone", violations, f"at most {SETTLED:g} in every step")):
        text, holds = part(run)
        good &= holds or part is violations
        page.append(f"## {title}\n\n{text}\n{'Wish' if part is violations else 'Promise'}: {promise}: {'holds' if holds else '**does not hold**'}.\n")
    text = "\n".join(page)
    print(text)
    if options.page:
        options.page.write_text(text)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
