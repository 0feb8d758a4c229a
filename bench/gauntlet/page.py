"""The page docs/results/gauntlet.md: every number on it comes from gauntlet.json and the scene files."""
import pathlib
import subprocess

import yaml

GROUPS = ["free motion", "rest", "sliding and rolling", "impact", "no ghosts", "no tunneling", "grasp", "mechanisms", "rods", "soft bodies",
          "patches"]
PICTURES = ["dominoes", "card_house", "arch", "wobbling_coin", "lift", "cart_rolls_down", "swing_on_three_bars", "curling",
            "rope_slips", "column_buckles", "soft_cantilever", "faceted_wheel_on_tiles"]
PAGE_STEP = 0.005


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
        return "**never**" if not row.get("trouble") else "**stops**"
    ratio = abs(row["error"]) / tolerance
    text = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}" if ratio < 1e4 else "> 10000"
    return text if row["pass"] else f"**{text}**"


def find(column, dt):
    return next((s["rows"] for s in column["steps"] if abs(s["dt"] - dt) < 1e-9), [])


def summary(columns, steps):
    lines = ["| engine | version | " + " | ".join(f"{1e3 * dt:g} ms" for dt in steps) + " | scenes it can express |",
             "|---|---|" + "---|" * (len(steps) + 1)]
    for column in columns:
        counts = [sum(bool(r.get("pass")) for r in find(column, dt)) if find(column, dt) else "not run" for dt in steps]
        able = sum("cannot" not in r for r in find(column, PAGE_STEP))
        lines.append(f"| {column['name']} | {column['version'] or 'this tree'} | " + " | ".join(map(str, counts)) + f" | {able} |")
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
            default = list(dict.fromkeys(k["why"] for k in known if "integrator" not in k))
            midpoint = list(dict.fromkeys(k["why"] for k in known if "integrator" in k and k["why"] not in default))
            why = " ".join(default + (["*With midpoint:*"] if default and midpoint else []) + midpoint)
            lines.append(f"| {t['name']} | " + " | ".join(texts) + f" | {why} |")
    return lines


def dashes(columns):
    lines = ["| engine | scenes | reason |", "|---|---|---|"]
    for column in columns:
        reasons = {}
        for r in find(column, PAGE_STEP):
            if "cannot" in r:
                reasons.setdefault(r["cannot"].split("\n")[0], []).append(r["scene"])
        for reason, scenes in reasons.items():
            lines.append(f"| {column['name']} | {', '.join(scenes)} | {reason} |")
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
        "*Accurate* are settings that we chose for accuracy; the head of each program in `bench/gauntlet/peers` lists them, and they are yet "
        "to be held against each engine's documentation. Where an engine has no way to express a scene, or its program does not make it yet, the table has a dash, and the reason is below.", "",
        "## Scenes that pass", ""]
    lines += summary(columns, steps)
    lines += ["", f"## Every scene at {1e3 * PAGE_STEP:g} ms", "",
              "The error over the tolerance; above 1 it fails and is bold. *never*: what is measured did not happen; *stops*: the engine "
              "gave up."]
    lines += matrix(tasks, columns)
    lines += ["", "## What Capstan fails", "",
              "At which time steps, with the error over the tolerance, and why. `capstan gauntlet` holds itself to `known_failures` in "
              "the scene files; at 5 ms a test does, and fails also where a known failure passes.", ""]
    lines += ours(tasks, columns, steps)
    lines += ["", "## What cannot be expressed", ""] + dashes(columns)
    lines += ["", "## Some of the scenes", ""] + pictures(scenes, build, out)
    (out / "gauntlet.md").write_text("\n".join(lines) + "\n")
    print(f"{out / 'gauntlet.md'}: {len(tasks)} scenes, {len(columns)} columns")
