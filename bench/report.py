"""The page of a comparison (bench/compare.py): tables, targets, figures."""
import math
import statistics

import figure

OURS = "Capstan"
PARTS = 20  # of a whole run that have a time of their own: bench/peers/harness.cc
FIRST_SECONDS = 3  # of clutter, when everything moves


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0


def part_at(run, time):
    """Which part of a run (ms_parts, PARTS for a whole one) begins at `time` [s]."""
    duration = run.get("duration", 0)
    return round(PARTS * time / duration) if time < duration else (PARTS if time > 0 else 0)


class Results:
    """Runs by case (scene, n, dt) and engine."""

    def __init__(self, runs):
        self.by_case = {}
        for run in runs:
            engines = self.by_case.setdefault((run["scene"], run["n"], run["dt"]), {})
            engines.setdefault(run["label"], []).append(run)

    def value(self, case, label, field):
        """Mean over the repetitions, None without any."""
        runs = self.by_case.get(case, {}).get(label)
        return mean(run[field] for run in runs) if runs else None

    def good(self, case, label):
        runs = self.by_case.get(case, {}).get(label, [])
        return bool(runs) and all(run["complete"] and run["finite"] for run in runs)

    def failed(self, case, label):
        return any(run["failure"] or not run["finite"] for run in self.by_case.get(case, {}).get(label, []))

    def ratio(self, case, label, ours=OURS, first=0, seconds=math.inf):
        """Our time over theirs: over the part of the run that both have, from `first` [s] to `seconds`; median over the seeds.
        None where neither has so much of it."""
        engines, ratios = self.by_case.get(case, {}), []
        for a in engines.get(ours, []):
            for b in engines.get(label, []):
                whole = min(len(a["ms_parts"]), len(b["ms_parts"]))
                begin, end = (min(whole, part_at(a, time)) for time in (first, seconds))
                mine, theirs = sum(a["ms_parts"][begin:end]), sum(b["ms_parts"][begin:end])
                if a["seed"] == b["seed"] and begin < end and theirs > 0:
                    ratios.append(mine / theirs)
        return statistics.median(ratios) if ratios else None

    def first_ms(self, case, label):
        """Time of a step in the first seconds, mean over the repetitions."""
        parts = [run["ms_parts"][:part_at(run, FIRST_SECONDS)] for run in self.by_case.get(case, {}).get(label, [])]
        return mean(mean(p) for p in parts if p) if parts else None


def number(value):
    """Three digits, as short as they go."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def remark(scene, runs):
    """What the scene is there to show."""
    run = runs[0]
    shift = run["top_shift_mm"]
    drift = (shift[0] ** 2 + shift[1] ** 2) ** 0.5
    if not run["finite"]:
        return "not finite"
    if run["failure"]:
        return "FAILED: " + run["failure"].split(":")[0]
    if scene.startswith("stack") or scene == "pyramid":
        state = "FELL, " if abs(shift[2]) > 50 and drift > 20 else ""
        return f"{state}top sinks {number(-shift[2])}, drifts {number(drift)} mm"
    if scene == "incline_slide":
        return f"acceleration {run['acceleration']:.6f} (exact 0.955917) m/s²"
    if scene == "glide":
        low, high = number(run["height_min_mm"]), number(run["height_max_mm"])
        return f"height {number(run['height_mean_mm'])} ({low} to {high}) mm"
    if scene.startswith("tiles"):
        speed = 0.3 if scene == "tiles_slow" else 3
        return f"goes {shift[0] / speed / 10:.2f} % of the way, rises {number(run['height_max_mm'])} mm"
    if scene == "dominoes":
        return "the last tile " + ("falls" if shift[2] < -5 else "STANDS")
    if scene == "chain":
        return f"joints apart {number(run['joint_gap_mean_mm'])}, at most {number(run['joint_gap_peak_mm'])} mm"
    return ""


def case_table(results, case):
    head = ["engine", "ms mean", "p50", "p95", "max", "Capstan / it", "in the first 3 s", "iterations", "contacts", "rest depth mm",
            "peak depth mm", "creep mm/s", "energy gain J", "settled", "MB", "residual", "remark"]
    rows = []
    for label, runs in results.by_case[case].items():
        get = lambda field: results.value(case, label, field)
        cut = "" if results.good(case, label) else " (*)"
        iterations = get("iterations")
        settled = sum(run["settled"] for run in runs)
        rows.append([
            label, number(get("ms_mean")) + cut, number(get("ms_p50")), number(get("ms_p95")), number(get("ms_max")),
            "" if label == OURS else number(results.ratio(case, label)),
            "" if label == OURS or not case[0].startswith("clutter") else number(results.ratio(case, label, seconds=FIRST_SECONDS)),
            number(iterations) if iterations >= 0 else "",
            number(get("contacts")) if get("contacts") >= 0 else "", number(get("penetration_mean_mm")),
            number(max(run["penetration_peak_mm"] for run in runs)), number(get("creep_mean_mm_s")),
            number(max(run["energy_gain_J"] for run in runs)), f"{settled} of {len(runs)}", number(get("memory_MB")),
            number(max(run["residual"] for run in runs)) if get("residual") >= 0 else "", remark(case[0], runs)])
    return table(head, rows)


def better_mujoco(results, case, first=0, seconds=math.inf):
    """Ratio to the faster of MuJoCo's two solvers."""
    ratios = [results.ratio(case, label, first=first, seconds=seconds) for label in ("MuJoCo Newton", "MuJoCo CG")]
    ratios = [r for r in ratios if r is not None]
    return max(ratios) if ratios else None


def better_mujoco_at_first(results, case):
    """The same in the first seconds, when everything moves: whole runs hide it, because what rests is skipped."""
    return better_mujoco(results, case, seconds=FIRST_SECONDS)


def better_mujoco_after(results, case):
    """The same in the rest of the run."""
    return better_mujoco(results, case, first=FIRST_SECONDS)


def first_seconds_table(results):
    """Our time over MuJoCo's in the first seconds of clutter and after them, at 10 ms; '' without such runs."""
    rows = []
    for scene, name in (("clutter_walls", "with walls"), ("clutter_open", "open")):
        for case in sorted(c for c in results.by_case if c[0] == scene and c[2] == 0.01):
            newton, cg = (results.ratio(case, label, seconds=FIRST_SECONDS) for label in ("MuJoCo Newton", "MuJoCo CG"))
            better = better_mujoco_at_first(results, case)
            if better is None:
                continue
            own = results.first_ms(case, OURS)
            rows.append([name, str(case[1]), number(own), number(newton), number(cg), f"**{number(better)}**", number(better_mujoco_after(results, case)),
                         number(better_mujoco(results, case))])
    head = ["clutter", "bodies", "Capstan, ms per step, first 3 s", "over MuJoCo Newton", "over MuJoCo CG", "over the better one, first 3 s", "after 3 s", "whole run"]
    return table(head, rows) if rows else ""


def targets(results):
    """(where, what, limit, measured) of everything that was run; measured None where Capstan failed. A run that was stopped
    by the time limit counts for time, over the part that both have, but not for accuracy."""
    out = []
    for case in results.by_case:
        scene, n, dt = case
        where = f"{scene} {n}, dt {1e3 * dt:g} ms"
        failed = results.failed(case, OURS)

        def add(what, limit, measured):
            if measured is not None:
                out.append((where, what, limit, None if failed else measured))

        if scene.startswith("clutter") and dt == 0.01:
            add("time over MuJoCo's better solver, first 3 s", 1.0, better_mujoco_at_first(results, case))
        if scene == "clutter_walls" and n in (8, 40):
            add("time over MuJoCo's better solver", 1.0, better_mujoco(results, case))
            add("time over Bullet 50 it", 1.5, results.ratio(case, "Bullet 50 it"))
        if scene == "clutter_walls" and n in (80, 160):
            add("time over MuJoCo Newton", 0.25, results.ratio(case, "MuJoCo Newton"))
            add("time over MuJoCo CG", 0.8, results.ratio(case, "MuJoCo CG"))
        if scene == "clutter_walls" and n in (320, 1000):
            add("time over MuJoCo CG", 1.0, results.ratio(case, "MuJoCo CG"))
        for name, to, fewer, limit in (("clutter_walls", 320, 160, 3.5), ("clutter_walls", 1000, 320, 3.5),
                                       ("clutter_open", 1000, 40, 2.3)):  # near-linear: doubled, 2.3 times the time
            def growth(label):
                before, after = (results.value(c, label, "ms_mean") for c in ((scene, fewer, dt), case))
                return (after / before) ** (1 / math.log2(to / fewer)) if before and after else None

            if (scene, n) == (name, to) and results.good(case, OURS):
                theirs = growth("MuJoCo CG")
                add(f"growth per doubling, from {fewer} bodies" + (f" (MuJoCo CG: {theirs:.3g})" if theirs else ""), limit,
                    growth(OURS))
        if scene == "clutter_open":
            add("time over MuJoCo's better solver", 0.7, better_mujoco(results, case))
        if scene == "humanoids":
            add("time over MuJoCo Newton", 1.0 if n == 1 else 0.7, results.ratio(case, "MuJoCo Newton"))
        two = results.value(case, "Capstan, 2 threads", "wall_ms_mean")
        if two:
            add("time of 2 threads over 1", 1 / 1.6, two / results.value(case, OURS, "wall_ms_mean"))
        if n == 1000:
            add("memory [MB]", 200, results.value(case, OURS, "memory_MB"))
        for field, limit, name in (("penetration_mean_mm", 0.1, "resting depth"), ("creep_mean_mm_s", 0.1, "creep"),
                                   ("penetration_peak_mm", 1 / 3, "peak depth")):
            theirs = results.value(case, "MuJoCo Newton", field)
            if scene in ("glide", "incline_slide", "chain") or (field == "creep_mean_mm_s" and scene != "incline_stick"
                                                                and not scene.startswith(("stack", "clutter_walls"))):
                continue  # these move on purpose, or have balls that roll
            complete = results.good(case, "MuJoCo Newton") and (failed or results.good(case, OURS))
            if complete and theirs > 1e-6:
                add(f"{name} over MuJoCo's", limit, results.value(case, OURS, field) / theirs)
        if scene == "stack_heavy_top":
            shift = results.by_case[case].get(OURS, [{}])[0].get("top_shift_mm")
            add("top sinks [mm]", 50, abs(shift[2]) if shift else None)
    return out


def target_table(results):
    rows, met = [], 0
    for where, what, limit, measured in targets(results):
        if measured is None:
            verdict = "MISSED: Capstan failed"
        elif measured <= limit:
            met, verdict = met + 1, "met"
        else:
            verdict = f"MISSED by a factor of {number(measured / limit)}"
        rows.append([where, what, number(limit), number(measured), verdict])
    return f"{met} of {len(rows)} met.\n\n" + table(["scene", "target", "at most", "measured", ""], rows)


def figures(results, folder):
    """Writes the figures that the runs suffice for; [(file, caption)]."""
    written = []
    for scene, title in (("clutter_walls", "with walls"), ("clutter_open", "without walls")):
        for dt in sorted({c[2] for c in results.by_case if c[0] == scene}, reverse=True):
            cases = sorted(c for c in results.by_case if c[0] == scene and c[2] == dt)
            labels = dict.fromkeys(label for c in cases for label in results.by_case[c])
            series = [(label, [(c[1], results.value(c, label, "ms_mean"), results.good(c, label))
                               for c in cases if label in results.by_case[c]])
                      for label in labels if not label.startswith("Capstan,")]
            name = f"{scene}_{1e3 * dt:g}ms.svg"
            if len(cases) > 1 and figure.log_log(folder / name, f"Clutter {title}, dt {1e3 * dt:g} ms: time per step",
                                                 "bodies", "ms per step, mean", series):
                written.append((name, f"Clutter {title}, dt {1e3 * dt:g} ms: mean time per step against bodies "
                                "(hollow: stopped by the time limit, mean over the first part)"))
    for case in results.by_case:
        if case[0] != "clutter_walls" or case[1] != 40:
            continue
        for field, what in (("penetration_mean_mm", "resting depth [mm]"), ("penetration_peak_mm", "peak depth [mm]"),
                            ("creep_mean_mm_s", "creep [mm/s]")):
            series = [(label, [(results.value(case, label, "ms_mean"), results.value(case, label, field),
                                results.good(case, label))])
                      for label in results.by_case[case]]
            name = f"pareto_{field.rsplit('_', 1)[0] if field.endswith('mm') else 'creep'}_{1e3 * case[2]:g}ms.svg"
            if figure.log_log(folder / name, f"Clutter with walls, 40 bodies, dt {1e3 * case[2]:g} ms: {what} against time",
                              "ms per step, mean", what, series, lines=False):
                written.append((name, f"Error against time: {what}, 40 bodies, dt {1e3 * case[2]:g} ms (lower left is better)"))
    return written


INTRO = """# Benchmarks

Made by `bench/compare.py` ({mode}), which `make bench` and `capstan bench` run. Do not edit.

* {date}; {processor}, {processors} processors, {system}; load {load:.1f} at the start
* Capstan {commit}, compiled by {compiler}; one thread, eps_r 1e-5 certified at every step (column *residual*)
* *Capstan* in the tables is the law `regularized_lagged`, which is not the default: that is `coulomb`, exact in small islands and slower in heaps ([laws](../laws.md#which-law)). Other laws are named, as in *Capstan sap*.
* {versions}
* Scenes: `bench/peers/scene.h`. At most {limit:g} s of stepping for one run.

**How it is measured.** Engines take turns on one scene after the other; repetitions have other seeds. Times are processor time
of the stepping thread (with 2 threads: wall time), around the step call only. Where a run of Capstan, MuJoCo or Bullet takes less than
{longest:g} s, there are {goes} goes of it in turns, and each twentieth of the run counts with the fastest: the machine is shared. *Capstan / it* is our time over that engine's, over
the part of the run that both have, median over the seeds: below 1, Capstan is faster. Everything but time is judged alike for all: the poses of every
step go to Capstan's narrow phase, energy and creep come from differences of poses. *Rest depth* is the mean over overlapping contacts
at the end, *peak depth* the deepest ever, *creep* the mean displacement of bodies (but balls, which may roll) in the last half
second over that time, *energy gain* the largest rise of kinetic and gravity energy above an earlier minimum (springs and motors, where a
scene has them, may cause one), *settled* a creep below 1 mm/s. (*): stopped by the time limit or a failure; the values are of the part
that was simulated.
"""


FIRST = """## The first {seconds} s of clutter

When everything moves. Whole runs hide it, because bodies that did not change are skipped. Capstan's time over MuJoCo's, dt 10 ms: below 1, Capstan is
faster.
"""


def write(data, folder, name="peers.md"):
    """Writes the page and its figures; returns the text of the page."""
    results = Results(data["runs"])
    versions = dict.fromkeys(f"{run['engine']} {run['version']}" for run in data["runs"] if run["engine"] != "Capstan")
    compiler = next((run["compiler"] for run in data["runs"] if run["engine"] == "Capstan"), "")
    page = [INTRO.format(mode=data["mode"], compiler=compiler, limit=data["time_limit"], goes=data.get("goes", 1),
                         longest=data.get("longest_go", 0),
                         versions="peers: " + ", ".join(versions) if versions else "no peers were there", **data["machine"])]
    if data.get("note"):  # of who put results together from several runs
        page.append(data["note"] + "\n")
    if data["missing"]:
        page.append(f"Not installed, so not measured: {', '.join(data['missing'])}.\n")
    for what, why in data["skipped"].items():
        page.append(f"* left out: {what}: {why}")
    if data["skipped"]:
        page.append("")
    page += ["## Targets\n", target_table(results)]
    first = first_seconds_table(results)
    if first:
        page += [FIRST.format(seconds=FIRST_SECONDS), first]
    for file, caption in figures(results, folder):
        page.append(f"![{caption}]({file})\n")
    for case in results.by_case:
        scene, n, dt = case
        page += [f"## {scene}, {n}, dt {1e3 * dt:g} ms\n", case_table(results, case)]
    text = "\n".join(page)
    (folder / name).write_text(text)
    return text
