#!/usr/bin/env python3
"""Tries every MJCF, URDF and SDFormat file of some folders in Capstan and, where the Python package `mujoco` is installed, in
MuJoCo: does it load, what is not understood, mass, mass matrix, five seconds, time of a step.

    capstan robots FOLDER... [--markdown FILE] [--json FILE] [--load-only] [--match TEXT]

which starts this script (it also serves alone: tools/robots.py FOLDER...).

Each file is tried in processes of its own with a time limit, so that no file can stop the others. Nothing of the
folders is kept but the table.
"""
import argparse
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
MUJOCO_PART = os.path.join(HERE, "robots_mujoco.py")


def find_models(folders):
    """(folder, file) of every file with <mujoco>, <robot> or <sdf> at its root."""
    for folder in folders:
        for path, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                file = os.path.join(path, name)
                if name.endswith((".xml", ".urdf", ".sdf")) and root_tag(file) in ("mujoco", "robot", "sdf"):
                    yield folder, file


def root_tag(file):
    try:
        for _, element in xml.etree.ElementTree.iterparse(file, events=("start",)):
            return element.tag
    except (xml.etree.ElementTree.ParseError, OSError, UnicodeError, ValueError):
        return None


def run(command, limit):
    """Exit code, output, errors. A process that takes too long has exit code "time"."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return "time", "", f"took longer than {limit} s"


def kind_of(message):
    """What a message is about, without the names and numbers in it: messages of one kind are counted together."""
    message = re.sub(r"^.*?: (error|warning): ", "", message)
    message = re.sub(r"'[^']*'", "...", message)
    message = re.sub(r'="[^"]*"', "", message)
    return re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "N", message).strip()


def try_capstan(program, file, seconds, limit):
    code, out, err = run([program, "info", file, "--json", "--mass-matrix"], limit)
    lines = [line for line in err.splitlines() if ": error: " in line or ": warning: " in line]
    result = {"code": code, "errors": [x for x in lines if ": error: " in x],
              "warnings": [x for x in lines if ": warning: " in x]}
    if code != 0:
        result["errors"] = result["errors"] or [f"exit code {code}: {err.strip()[-200:]}"]
        return result
    info = json.loads(out)
    result["mass"] = info["total_mass"]
    result["masses"] = {body["name"]: body["mass"] for body in info["bodies"]}
    result["joints"] = [(j["type"], j["q"], j["v"]) for j in info["joints"] if not j.get("mocap")]
    result["q"] = info.get("q", [])
    result["M"] = info.get("mass_matrix", [])
    drop_mocap(info["joints"], result)
    if seconds > 0:
        with tempfile.TemporaryDirectory() as scratch:
            log = os.path.join(scratch, "log.csv")
            every = max(1, round(0.1 / info["dt"]))
            code, out, err = run([program, "run", file, "--duration", str(seconds), "--log", log, "--log-every",
                                  str(every), "--keep-going", "--verbose"], limit)
            result["run"] = code
            if code == 0:
                # Of the loop alone: loading takes longer than many a run, and is not the same twice.
                steps = int(re.search(r"^ *steps +(\d+)", out, re.MULTILINE).group(1))
                spent = float(re.search(r"^ *processor time +([\d.]+) s", out, re.MULTILINE).group(1))
                result["step_us"] = 1e6 * spent / max(steps, 1)
                result["speed"] = last_speed(log)
            else:
                result["run_error"] = err.strip().splitlines()[-1][:300] if err.strip() else ""
    return result


def drop_mocap(joints, result):
    """MuJoCo's mocap bodies have no q and no dofs; here they have those of free joints, which are left out."""
    moved = [j for j in joints if j.get("mocap")]
    if not moved or not result["M"]:
        return
    gone_q = {i for j in moved for i in range(j["q"], j["q"] + j["num_q"])}
    gone_v = {i for j in moved for i in range(j["v"], j["v"] + j["num_v"])}
    keep = [i for i in range(len(result["M"])) if i not in gone_v]
    result["M"] = [[result["M"][i][k] for k in keep] for i in keep]
    result["q"] = [x for i, x in enumerate(result["q"]) if i not in gone_q]
    before = lambda gone, index: sum(i < index for i in gone)
    result["joints"] = [(kind, q - before(gone_q, q), v - before(gone_v, v)) for kind, q, v in result["joints"]]


def last_speed(log):
    """The largest entry of v in the last row of a log."""
    with open(log, encoding="utf-8") as lines:
        columns = next(lines).rstrip("\n").split(",")
        row = columns
        for row in lines:
            pass
    values = row.rstrip("\n").split(",") if isinstance(row, str) else row
    speeds = [abs(float(x)) for name, x in zip(columns, values) if re.search(r"\.v(\.\w+)? \[", name)]
    return max(speeds, default=0.0)


def try_mujoco(file, seconds, limit):
    code, out, err = run([sys.executable, MUJOCO_PART, file, str(seconds)], limit)
    if code != 0:
        return {"error": (err.strip().splitlines() or ["crash"])[-1][:300] if code != 3 else out.strip()[:300]}
    return json.loads(out.splitlines()[-1])


def rotation(q):
    w, x, y, z = q
    n = math.sqrt(w * w + x * x + y * y + z * z)
    w, x, y, z = w / n, x / n, y / n, z / n
    return [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]


def mass_matrix_error(ours, theirs):
    """Largest difference over the largest entry. MuJoCo's angular velocities of free and ball joints are in the axes of
    the body, ours in those before the joint: v = T v_mujoco, M_mujoco = T^T M T."""
    M, N, q = ours["M"], theirs["M"], ours["q"]
    n = len(M)
    if n == 0 or n != len(N) or len(q) != len(theirs["q"]):
        return None
    if max(abs(a - b) for a, b in zip(q, theirs["q"])) > 1e-6:
        return None  # the poses differ
    T = [[float(i == k) for k in range(n)] for i in range(n)]
    for kind, iq, iv in ours["joints"]:
        if kind in ("ball", "free"):
            a, b = (iq, iv) if kind == "ball" else (iq + 3, iv + 3)
            R = rotation(q[a:a + 4])
            for i in range(3):
                for k in range(3):
                    T[b + i][b + k] = R[i][k]
    nonzero = [[(i, T[i][k]) for i in range(n) if T[i][k]] for k in range(n)]
    worst = largest = 0.0
    for i in range(n):
        for k in range(n):
            value = sum(s * t * M[a][b] for a, s in nonzero[i] for b, t in nonzero[k])
            worst = max(worst, abs(value - N[i][k]))
            largest = max(largest, abs(N[i][k]))
    return worst / largest if largest > 0 else None


def compare(job):
    folder, file, options = job
    seconds = 0 if options.load_only else options.seconds
    path = os.path.abspath(file)  # MuJoCo does not find all files of a model that is given by a relative path
    ours = try_capstan(options.capstan, path, seconds, options.limit)
    theirs = try_mujoco(path, seconds, options.limit)
    row = {"folder": folder, "file": os.path.relpath(file, folder), "capstan": ours, "mujoco": theirs}
    if ours["code"] == 0 and "error" not in theirs:
        row["mass_error"] = abs(ours["mass"] - theirs["mass"]) / max(theirs["mass"], 1e-9)
        row["M_error"] = mass_matrix_error(ours, theirs)
        if "step_us" in ours and theirs.get("step_us"):
            row["ratio"] = ours["step_us"] / theirs["step_us"]
    for side in (ours, theirs):  # large, and used up
        for key in ("M", "q", "joints"):
            side.pop(key, None)
    print(f"{'ok ' if ours['code'] == 0 else 'NO '}{'' if 'error' not in theirs else '(MuJoCo: no) '}{file}",
          file=sys.stderr, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--capstan", default=os.path.join(HERE, "../build/release/apps/capstan/capstan"))
    parser.add_argument("--markdown", help="file to write the tables to")
    parser.add_argument("--json", help="file to write every result to, after each model; what it has already is not tried again")
    parser.add_argument("--load-only", action="store_true", help="do not simulate")
    parser.add_argument("--seconds", type=float, default=5, help="simulated time (5)")
    parser.add_argument("--limit", type=float, default=120, help="wall time of a process [s]")
    parser.add_argument("--jobs", type=int, default=1, help="files at once; times are fair with 1 only")
    parser.add_argument("--note", default="", help="a sentence for the page: where the models are from")
    parser.add_argument("--match", default="", help="only files with this in their path")
    options = parser.parse_args()
    models = [(a, b) for a, b in find_models(options.folders) if options.match in b]
    known = {}
    if options.json and os.path.exists(options.json):  # of a run that was stopped: what it tried is not tried again
        with open(options.json, encoding="utf-8") as file:
            known = {(row["folder"], row["file"]): row for row in json.load(file)}
    rows = [known[key] for a, b in models if (key := (a, os.path.relpath(b, a))) in known]
    jobs = [(a, b, options) for a, b in models if (a, os.path.relpath(b, a)) not in known]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(compare, jobs):
            rows.append(row)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as out:
                    json.dump(rows, out, indent=1)
    import robots_table
    text = robots_table.tables(rows, kind_of, not options.load_only, options.note)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as out:
            out.write(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
