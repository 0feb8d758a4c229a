"""The page docs/results/gauntlet.md: every number on it comes from gauntlet.json and the scene files."""
import pathlib
import subprocess

import yaml

GROUPS = ["free motion", "rest", "sliding and rolling", "impact", "no ghosts", "no tunneling", "grasp", "mechanisms", "rods", "soft bodies",
          "patches"]
PICTURES = ["dominoes", "card_house", "arch", "wobbling_coin", "lift", "cart_rolls_down", "swing_on_three_bars", "curling",
            "rope_slips", "column_buckles", "soft_cantilever", "faceted_wheel_on_tiles", "four_legged_table", "lift_and_tilt"]
PAGE_STEP = 0.005
# The head of each program in peers/ says more.
ACCURATE = [
    ("MuJoCo", "elliptic cones, impratio 10, Newton's method to 1e-10, noslip solver, RK4, contacts as stiff as two steps allow; bounces by a "
     "negative solref", "[Solver settings, Slow slippage, Restitution](https://mujoco.readthedocs.io/en/stable/modeling.html), [Choosing "
     "timestep and integrator](https://mujoco.readthedocs.io/en/stable/computation/index.html)"),
    ("Bullet", "double precision, 200 iterations, split impulse at every depth, no sleep, continuous collision detection, smoothed edges of "
     "meshes", "[BtContactSolverInfo](http://www.bulletphysics.org/mediawiki-1.5.8/index.php/BtContactSolverInfo), which has 4 to 20 "
     "iterations for games; `btContactSolverInfo.h`, `btCollisionObject.h`, `btInternalEdgeUtility.h`"),
    ("ODE", "dWorldStep, finite rotation", "[Manual: World](http://www.ode-wiki.org/wiki/index.php?title=Manual:_World), `ode/objects.h`"),
    ("DART", "Dantzig's method (the default); its own detector for spheres and boxes, that of Bullet for other shapes",
     "`dart/collision/fcl/FCLCollisionDetector.hpp`, `tutorials/tutorial_biped`, [LCP selection guide](https://github.com/dartsim/dart/blob/main/"
     "docs/background/lcp/07_selection-guide.md)"),
    ("Drake", "hydroelastic contact of flat shapes, stiction tolerance 1e-5 m/s, near-rigid threshold 0, Similar for impacts and Lagged for "
     "the rest", "[Hydroelastic user guide](https://drake.mit.edu/doxygen_cxx/group__hydroelastic__user__guide.html), "
     "[MultibodyPlant](https://drake.mit.edu/doxygen_cxx/classdrake_1_1multibody_1_1_multibody_plant.html)"),
]


def slim(row):
    """What the page and its readers need of a row."""
    return {k: (float(f"{row[k]:.6g}") if isinstance(row[k], float) else row[k])
            for k in ("scene", "measured", "error", "pass", "trouble", "cannot") if row.get(k) not in (None, "")}


def read(path):
    data = yaml.safe_load(path.read_text())
    task = data["extra"]
    task["name"] = path.stem
    for key in ("answer", "tolerance"):
        task[key] = float(task[key])  # YAML 1.1 reads 1e-05 as a text
    task["duration"] = float(data["options"]["duration"])
    return task


def cell(row, tolerance):
    """Error over tolerance: at most 1 passes."""
    if row is None:
        return ""
    if "cannot" in row:
        return "-"
    if "error" not in row:
        trouble = row.get("trouble", "")
        return "**too slow**" if trouble.startswith("took ") else "**stops**" if trouble else "**never**"
    ratio = abs(row["error"]) / tolerance
    text = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}" if ratio < 1e4 else "> 10000"
    return text if row["pass"] else f"**{text}**"


def find(column, dt):
    return next((s["rows"] for s in column["steps"] if abs(s["dt"] - dt) < 1e-9), [])


def summary(columns, steps, num_scenes):
    """How many pass; of how many, where some are yet to be run."""
    lines = ["| engine | version | " + " | ".join(f"{1e3 * dt:g} ms" for dt in steps) + " | scenes it can express |",
             "|---|---|" + "---|" * (len(steps) + 1)]
    for column in columns:
        counts = []
        for dt in steps:
            rows = find(column, dt)
            passed = sum(bool(r.get("pass")) for r in rows)
            counts.append(str(passed) if len(rows) == num_scenes else f"{passed} of {len(rows)} run" if rows else "not run")
        able = sum("cannot" not in r for r in find(column, PAGE_STEP))
        lines.append(f"| {column['name']} | {column['version'] or 'this tree'} | " + " | ".join(counts) + f" | {able} |")
    return lines


def matrix(tasks, columns):
    lines = []
    for group in GROUPS:
        members = [t for t in tasks if t["group"] == group]
        if not members:
            continue
        lines += ["", f"### {group.capitalize()}", "",
                  "| scene | answer | tolerance | " + " | ".join(c["name"].replace(", ", ",<br>") for c in columns) + " |",
                  "|---|---|---|" + "---|" * len(columns)]
        for t in members:
            rows = [next((r for r in find(c, PAGE_STEP) if r["scene"] == t["name"]), None) for c in columns]
            lines.append(f"| [{t['name']}](../../bench/gauntlet/scenes/{t['name']}.yaml) | {t['answer']:g} | {t['tolerance']:g} | "
                         + " | ".join(cell(r, t["tolerance"]) for r in rows) + " |")
    return lines


def ours(tasks, columns, steps):
    """Each scene that Capstan fails, at which time steps with which law, and why."""
    lines = ["| scene | regularized_lagged | coulomb | coulomb, midpoint | why |", "|---|---|---|---|---|"]
    mine = [c for c in columns if c["name"].startswith("Capstan")]
    for t in tasks:
        texts = []
        for column in mine:
            failed = []
            for dt in steps:
                row = next((r for r in find(column, dt) if r["scene"] == t["name"]), None)
                if row and not row.get("pass"):
                    failed.append(f"{1e3 * dt:g} ms ({cell(row, t['tolerance']).strip('*')})")
            texts.append(", ".join(failed))
        if any(texts):
            known = t.get("known_failures", [])
            laws = {}  # of which a reason is true, without midpoint
            for k in known:
                if "integrator" not in k:
                    laws.setdefault(k["why"], []).extend(k.get("laws", []))
            default = [f"*{', '.join(dict.fromkeys(names))}:* {why}" if len(laws) > 1 and names else why for why, names in laws.items()]
            midpoint = list(dict.fromkeys(k["why"] for k in known if "integrator" in k and k["why"] not in laws))
            why = " ".join(default + (["*With midpoint:*"] if default and midpoint else []) + midpoint)
            lines.append(f"| {t['name']} | " + " | ".join(texts) + f" | {why} |")
    return lines


def dashes(columns):
    """For each engine; one line where its two columns have the same."""
    found = {}
    for column in columns:
        reasons = {}
        for r in find(column, PAGE_STEP):
            if "cannot" in r:
                reasons.setdefault(r["cannot"].split("\n")[0], []).append(r["scene"])
        for reason, scenes in reasons.items():
            found.setdefault((column["name"].split(",")[0], reason, ", ".join(scenes)), []).append(column["name"])
    lines = ["| engine | scenes | reason |", "|---|---|---|"]
    for (engine, reason, scenes), names in found.items():
        lines.append(f"| {engine if len(names) > 1 else names[0]} | {scenes} | {reason} |")
    return lines if len(lines) > 2 else []


def pictures(scenes, build, out):
    lines = []
    (out / "gauntlet").mkdir(exist_ok=True)
    for name in PICTURES:
        scene = next((s for s in scenes if s.stem == name), None)
        picture = out / "gauntlet" / f"{name}.svg"
        if scene and not picture.exists():
            subprocess.run([build / "apps/capstan/capstan", "run", scene, "--quiet", "--contact-law", "coulomb", "--dt", "0.002",
                            "--picture", picture], capture_output=True)
        if picture.exists():
            lines.append(f"![{name}](gauntlet/{name}.svg)")
    return lines


def write(scenes, data, build, out):
    tasks = [read(s) for s in scenes]
    columns = data["columns"]
    steps = sorted({s["dt"] for c in columns for s in c["steps"]})
    lines = [
        "# The gauntlet", "",
        f"{len(tasks)} small scenes with a known answer, the same files for every engine "
        "([bench/gauntlet](../../bench/gauntlet/README.md) says how they are written, run and judged). "
        "`make gauntlet` runs them all and writes this page, with all numbers in [gauntlet.json](gauntlet.json); "
        "`capstan gauntlet` runs ours. A scene passes where the error is within its one tolerance, which is what a demanding user "
        "would accept: 1 % of an analytic answer as a rule, and the same for all engines.", "",
        "Every answer is worked out anew from the numbers in the scene file by `bench/gauntlet/references.py` (`make references`), and what the "
        "engines have built is compared, number by number, on [a page of its own](gauntlet_geometry.md): the geometry and the start are the "
        "same in all of them. *Accurate* are the settings that each engine's own documentation recommends for accuracy; the table below "
        "says which. Where an engine has no way to express a scene, or its program does not make it, the table has a dash, and the reason is "
        "below. A peer that takes more than 60 s of the processor for one scene is stopped.", "",
        "## Scenes that pass", ""]
    lines += summary(columns, steps, len(tasks)) + ["", "## Accurate settings", "", "| engine | settings | from |", "|---|---|---|"]
    lines += [f"| {name} | {settings} | {source} |" for name, settings, source in ACCURATE]
    lines += ["", f"## Every scene at {1e3 * PAGE_STEP:g} ms", "",
              "The error over the tolerance; above 1 it fails and is bold. *never*: what is measured did not happen; *stops*: the engine "
              "gave up; *too slow*: it was stopped after 60 s of the processor."]
    lines += matrix(tasks, columns)
    lines += ["", "## What Capstan fails", "",
              "At which time steps, with the error over the tolerance, and why. `capstan gauntlet` holds itself to `known_failures` in "
              "the scene files; at 5 ms a test does, and fails also where a known failure passes.", ""]
    lines += ours(tasks, columns, steps)
    lines += ["", "## What cannot be expressed", ""] + dashes(columns)
    lines += ["", "## Some of the scenes", ""] + pictures(scenes, build, out)
    (out / "gauntlet.md").write_text("\n".join(lines) + "\n")
    print(f"{out / 'gauntlet.md'}: {len(tasks)} scenes, {len(columns)} columns")
