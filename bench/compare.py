#!/usr/bin/env python3
"""Measures Capstan against the other simulators that are installed: same scenes, same machine, in turns.

    bench/compare.py [--build build/bench] [--full | --first-seconds] [--only SUBSTRING] [--docs]

Runs the programs in BUILD/peers (bench/peers/harness.h), writes BUILD/results/peers.json, peers.md and figures, and
prints the tables. --docs also writes docs/results/benchmarks.md. --from FILE.json makes the report of an earlier run.
Times are processor time of the stepping thread, so that a shared machine disturbs less, and short runs of the engines that
the targets name have several goes, of which each twentieth of the run keeps the fastest; standard library only.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

import report

ROOT = pathlib.Path(__file__).resolve().parent.parent

SIZES = (8, 40, 80, 160, 320, 1000)

# Engines and settings: label, program, settings. The first is the one the ratios are for.
CAPSTAN = ("Capstan", "capstan", {})
NEWTON = ("MuJoCo Newton", "mujoco", {"solver": "newton"})
CG = ("MuJoCo CG", "mujoco", {"solver": "cg"})
BULLET = ("Bullet 50 it", "bullet", {"iterations": "50"})
MAIN = [CAPSTAN, NEWTON, CG, BULLET]
SAP = ("Capstan sap", "capstan", {"law": "sap"})
MORE = [
    SAP,
    ("MuJoCo Newton, pyramidal", "mujoco", {"solver": "newton", "cone": "pyramidal"}),
    ("MuJoCo 2.2 Newton", "mujoco_debian", {"solver": "newton"}),
    ("Bullet 10 it", "bullet", {"iterations": "10"}),
    ("ODE quick 20", "ode", {"iterations": "20"}),
    ("ODE quick 50", "ode", {"iterations": "50"}),
    ("ODE exact", "ode", {"solver": "exact"}),
    ("DART Dantzig", "dart", {"solver": "dantzig"}),
    ("DART PGS", "dart", {"solver": "pgs"}),
    # With point contact it has one point for each pair of boxes, which is not made for stacks.
    ("Drake hydroelastic", "drake", {"contact": "hydroelastic"}),
    # A box that should slide down a slope hardly does with the modulus of 1e7 Pa; with this one it does.
    ("Drake hydroelastic, 1e6 Pa", "drake", {"contact": "hydroelastic", "modulus": "1e6"}),
]
ALL = MAIN + MORE
TWO_THREADS = ("Capstan, 2 threads", "capstan", {"threads": "2"})
BEST = [CAPSTAN, NEWTON, CG]
# Shared machines become slower by half for seconds at a time. Runs that take less than this have as many goes, in turns.
GOES, LONGEST_GO = 3, 4.0  # [s] of stepping
# Beyond this many bodies these take longer than anyone waits for.
LARGEST = {"DART Dantzig": 80, "DART PGS": 80, "ODE exact": 80, "MuJoCo 2.2 Newton": 80,
           "Drake hydroelastic": 160, "Drake hydroelastic, 1e6 Pa": 160}
# Settings that show how accuracy and time trade against each other, on one scene.
PARETO = ALL + [
    ("Capstan, k 1e5", "capstan", {"stiffness": "1e5"}),
    ("Capstan, k 1e7", "capstan", {"stiffness": "1e7"}),
    ("Capstan, v_s 1e-4", "capstan", {"stiction_tolerance": "1e-4"}),
    ("MuJoCo Newton, impratio 10", "mujoco", {"solver": "newton", "impratio": "10"}),
]


def case(scene, n=1, dt=None, duration=None, engines=ALL, repeat=1, capstan=None):
    """capstan: settings that Capstan needs in this scene, such as a stiffness that fits its masses."""
    return dict(scene=scene, n=n, dt=dt, duration=duration, engines=engines, repeat=repeat, capstan=capstan or {})


def suite(full):
    """The cases, most important first."""
    heavy = {"stiffness": "3e7"}  # persons of 75 kg, a top of 100 kg
    cases = []
    if not full:
        for n in SIZES:
            cases += [case("clutter_walls", n, engines=PARETO if n == 40 else MAIN + [SAP], repeat=5 if n == 8 else 2)]
        cases += [case("clutter_open", n, engines=MAIN + [SAP], repeat=5 if n <= 160 else 2) for n in SIZES]
        for n in SIZES:
            more = dict(engines=MAIN + [SAP], repeat=5) if n <= 40 else dict(engines=BEST)
            cases += [case("clutter_walls", n, dt=0.002, duration=3, **more)]
            cases += [case("clutter_open", n, dt=0.002, duration=3, engines=BEST, repeat=3 if n <= 160 else 1)]
        few = MAIN + [e for e in MORE if e[0] in ("ODE quick 20", "ODE exact", "DART Dantzig") or e[1] == "drake"]
    else:
        for n in SIZES:
            repeat = 3 if n <= 160 else 1
            cases += [case("clutter_walls", n, engines=PARETO if n == 40 else ALL, repeat=repeat)]
            cases += [case("clutter_walls", n, dt=0.002, duration=3, repeat=repeat)]
            cases += [case("clutter_open", n, repeat=repeat)]
            cases += [case("clutter_open", n, dt=0.002, duration=3, repeat=repeat)]
        few = ALL
    cases += [case("stack", 10, engines=few), case("stack_offset", 10, engines=few)]
    cases += [case("stack_heavy_top", 10, engines=few, capstan=heavy), case("pyramid", 10, engines=few)]
    cases += [case("incline_stick", engines=few), case("incline_slide", engines=few)]
    cases += [case("incline_slide", dt=0.01, engines=few)] if full else []
    cases += [case("glide", engines=few), case("glide", dt=0.002, engines=few)]
    ghosts = few + [("Capstan coulomb", "capstan", {"law": "coulomb"})]
    cases += [case(scene, engines=ghosts) for scene in ("tiles_fast", "tiles_slow", "tiles_ball", "dominoes")]
    cases += [case("scattered", 100, engines=few + [TWO_THREADS], repeat=5), case("chain", 200, engines=few)]
    cases += [case("arm_hand", engines=BEST)]
    for n in (1, 22, 100):
        cases += [case("humanoids", n, engines=BEST + [TWO_THREADS] * (n > 1), capstan=heavy, repeat=5)]
    return cases


def first_seconds():
    """Only the first seconds of clutter, when everything moves, beside MuJoCo's two solvers."""
    return [case(scene, n, duration=report.FIRST_SECONDS, engines=BEST, repeat=3 if n <= 40 else 1)
            for scene in ("clutter_walls", "clutter_open") for n in (40, 160, 320, 1000)]


def run_one(program, settings, c, seed, limit):
    """The line of JSON of one run, or the reason why there is none."""
    command, environment = [str(program)], dict(os.environ)
    if program.name == "drake":  # a script; tools/peers puts Drake where no other program sees it
        command = [sys.executable, str(ROOT / "bench/peers/drake_peer.py"), str(program.parent)]
        environment["PYTHONPATH"] = str(ROOT / "build/peers/drake")
    command += ["--scene", c["scene"], "--n", str(c["n"]), "--seed", str(seed), "--time-limit", str(limit)]
    for name in ("dt", "duration"):
        if c[name]:
            command += ["--" + name, str(c[name])]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    try:  # the judge works after the clock has stopped, and some engines are slow to start
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * limit + 120,
                              env=environment)
    except subprocess.TimeoutExpired:
        return dict(error=f"gave no answer within {10 * limit + 120:g} s")
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()
        return dict(error=reason[0] if reason else f"ended with code {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def fastest(goes):
    """One run of several goes: for each part of it the time of the fastest, all else of the fastest as a whole."""
    best = dict(min(goes, key=lambda run: run["ms_mean"]), goes=len(goes),
                wall_ms_mean=min(run["wall_ms_mean"] for run in goes))
    if all(run["complete"] for run in goes):
        parts = [min(times) for times in zip(*(run["ms_parts"] for run in goes))]
        best.update(ms_parts=parts, ms_mean=sum(parts) / len(parts))
    return best


def machine():
    info = dict(date=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"), system=platform.platform(),
                machine=platform.machine(), processors=os.cpu_count(), load=os.getloadavg()[0], processor="")
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith(("model name", "CPU part"))]
        info["processor"] = names[0] if names else ""
    except OSError:
        pass
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    info["commit"] = commit.stdout.strip()
    return info


def measure(build, cases, limit, data, save):
    """All cases, engines in turns; a case that repeats does so with another seed, after all engines had all their goes.
    Fills data's runs, missing and skipped, and saves after every case, so that what was measured is never lost."""
    timed = {engine[0] for engine in MAIN + [TWO_THREADS]}
    for index, c in enumerate(cases):
        print(f"[{index + 1}/{len(cases)}] {c['scene']} {c['n']}" + (f", dt {c['dt']}" if c["dt"] else ""), flush=True)
        for seed, go in ((s, g) for s in range(c["repeat"]) for g in range(GOES)):
            goes = goes if go > 0 else {}
            for label, program, settings in c["engines"]:
                if go > 0 and not (label in timed and label in goes and goes[label][0]["ms_mean"] * goes[label][0]["steps"]
                                   < 1e3 * LONGEST_GO):
                    continue
                path = build / "peers" / program
                if not (ROOT / "build/peers/drake" if program == "drake" else path).exists():
                    if program not in data["missing"]:
                        data["missing"].append(program)
                    continue
                if c["n"] > LARGEST.get(label, c["n"]) and c["scene"].startswith("clutter"):
                    continue
                own = {**c["capstan"], **settings} if program == "capstan" else settings
                run = run_one(path, own, c, seed, limit)
                if "error" in run:
                    data["skipped"].setdefault(f"{label}, {c['scene']} {c['n']}", run["error"])
                    print(f"    {label:28} {run['error']}", flush=True)
                    continue
                run["label"] = label
                goes.setdefault(label, []).append(run)
                cut = "" if run["complete"] else f"  stopped after {run['steps']} steps" + (
                    f": {run['failure'][:100]}" if run["failure"] else ": time limit")
                print(f"    {label:28} {run['ms_mean']:9.4f} ms per step{cut}", flush=True)
            if go == GOES - 1:
                data["runs"] += [fastest(runs) for runs in goes.values()]
        save()


def main():
    parser = argparse.ArgumentParser(description="Measure Capstan against the installed simulators.")
    parser.add_argument("--build", default=str(ROOT / "build/bench"), help="where the programs are built")
    parser.add_argument("--results", default="", help="where results go; default: BUILD/results")
    parser.add_argument("--quick", action="store_true", help="about half an hour: the default")
    parser.add_argument("--full", action="store_true", help="every scene, size, engine and setting: hours")
    parser.add_argument("--first-seconds", action="store_true",
                        help="only the first 3 s of clutter, when everything moves, beside MuJoCo: about ten minutes")
    parser.add_argument("--only", default="", help="only scenes whose name contains this")
    parser.add_argument("--time-limit", type=float, default=0, help="[s] of stepping in one run (30, or 60 with --full)")
    parser.add_argument("--repeat", type=int, default=0, help="runs of every case, each with another seed")
    parser.add_argument("--docs", action="store_true", help="write docs/results/benchmarks.md, too")
    parser.add_argument("--from", dest="source", default="", help="no runs: the report of this JSON file")
    options = parser.parse_args()

    build = pathlib.Path(options.build)
    results = pathlib.Path(options.results) if options.results else build / "results"
    results.mkdir(parents=True, exist_ok=True)
    if options.source:
        with open(options.source) as file:
            data = json.load(file)
    else:
        if not (build / "peers" / "capstan").exists():
            sys.exit(f"error: there is no {build}/peers/capstan; 'make bench' builds it")
        chosen = first_seconds() if options.first_seconds else suite(options.full)
        cases = [c for c in chosen if options.only in c["scene"]]
        if not cases:
            names = sorted({c["scene"] for c in chosen})
            sys.exit(f"error: no scene contains '{options.only}'; there are {', '.join(names)}")
        for c in cases:
            c["repeat"] = options.repeat or c["repeat"]
        limit = options.time_limit or (60 if options.full else 30)
        data = dict(machine=machine(), mode="full" if options.full else "first seconds" if options.first_seconds else "quick", time_limit=limit, goes=GOES, longest_go=LONGEST_GO, missing=[], skipped={},
                    runs=[])

        def save():
            with open(results / "peers.json", "w") as file:
                json.dump(data, file, indent=1)

        try:
            measure(build, cases, limit, data, save)
        except KeyboardInterrupt:
            print("stopped: what follows is what was measured before", file=sys.stderr)
    page = report.write(data, results)
    print("\n" + page)
    print(f"Results: {results}/peers.json, peers.md and figures")
    if options.docs:
        folder = ROOT / "docs/results"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "benchmarks.md").write_text(report.write(data, folder, "benchmarks.md"))
        print(f"Written: {folder}/benchmarks.md")
    ours = [f"{what}: {why}" for what, why in data["skipped"].items() if what.startswith("Capstan")]
    if ours:
        sys.exit("error: " + "; ".join(ours))


if __name__ == "__main__":
    main()
