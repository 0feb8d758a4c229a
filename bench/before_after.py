#!/usr/bin/env python3
"""Measures one build of Capstan against another: same scenes, in turns, so that a shared machine disturbs both alike.

    bench/before_after.py OLD NEW [--rounds N] [--only SUBSTRING] [--instructions]

OLD and NEW are the programs BUILD/peers/capstan of two builds. Of each twentieth of a run the fastest of all rounds counts
(processor time of the stepping thread); the ratio is NEW / OLD. --instructions counts instructions with valgrind instead, once
and on short runs: slow, but the same on any machine. The last column tells whether both got the same answer (top_shift_mm).
"""
import argparse
import json
import re
import subprocess
import tempfile

# name, scene, bodies, time step, duration [s]
CASES = [
    ("clutter 40, walls", "clutter_walls", 40, 0.01, 10),
    ("clutter 40, open", "clutter_open", 40, 0.01, 10),
    ("clutter 160, walls", "clutter_walls", 160, 0.01, 5),
    ("clutter 160, open", "clutter_open", 160, 0.01, 5),
    ("clutter 1000, walls", "clutter_walls", 1000, 0.01, 2),
    ("humanoids 22", "humanoids", 22, 0.005, 2),
    ("arm and hand", "arm_hand", 1, 0.005, 5),
]


def command(program, case, duration):
    _, scene, n, dt, _ = case
    return [program, "--scene", scene, "--n", str(n), "--dt", str(dt), "--duration", str(duration)]


def run(program, case):
    done = subprocess.run(command(program, case, case[4]), capture_output=True, text=True)
    if done.returncode != 0:
        return None
    return json.loads(done.stdout)


def count(program, case):
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}"]
                              + command(program, case, 0.2 * case[4] / 5), capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    print(f"{'scene':<22}{'old':>14}{'new':>14}{'new / old':>11}   same answer")
    for case in CASES:
        if options.only not in case[0]:
            continue
        if options.instructions:
            old, new = count(options.old, case), count(options.new, case)
            print(f"{case[0]:<22}{old:>14,}{new:>14,}{new / old:>11.3f}", flush=True)
            continue
        runs = {options.old: [], options.new: []}
        for i in range(options.rounds):
            for program in (options.old, options.new)[:: 1 if i % 2 == 0 else -1]:
                result = run(program, case)
                if result:
                    runs[program].append(result)
        if not all(runs.values()):
            print(f"{case[0]:<22}  is not known to both programs")
            continue
        best = [sum(min(parts) for parts in zip(*(r["ms_parts"] for r in runs[p]))) / 20
                for p in (options.old, options.new)]
        same = runs[options.old][0]["top_shift_mm"] == runs[options.new][0]["top_shift_mm"]
        print(f"{case[0]:<22}{best[0]:>11.4f} ms{best[1]:>11.4f} ms{best[1] / best[0]:>11.3f}   "
              f"{'yes' if same else 'no'}", flush=True)


if __name__ == "__main__":
    main()
