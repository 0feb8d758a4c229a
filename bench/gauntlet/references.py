#!/usr/bin/env python3
"""Works every answer of the gauntlet out anew, from the numbers in the scene file, and holds it against the file.

    bench/gauntlet/references.py [--capstan PROGRAM] [SCENE...]

Formulas need nothing but Python. Answers without a formula, which converged simulations give, need --capstan, our program, and take
minutes; without it they are told as skipped. Ends with 1 where an answer is off by more than a tenth of the tolerance, or by more
than the digits that the file has, or where a scene has no reference.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import formulas  # fills REFERENCES
    from reference_tools import REFERENCES, Scene, must
except ImportError:
    print("skipped: python3 has no module yaml")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
SIMULATED = {}  # converged simulations: settings, and how the results lead to the answer


def simulated(name):
    def keep(function):
        SIMULATED[name] = function
        return function
    return keep


def measured(capstan, path, text, dt, options=()):
    """What Capstan measures of a scene with another text."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        file = pathlib.Path(folder) / path.name
        file.write_text(text)
        out = pathlib.Path(folder) / "out.json"
        subprocess.run([capstan, "gauntlet", file, "--dt", str(dt), "--json", out, "--contact-law", "coulomb", *options],
                       capture_output=True)
        return json.loads(out.read_text())["rows"][0]["measured"]


@simulated("pole_vault")
def pole_vault(capstan, path):
    text, midpoint = path.read_text(), ["--integrator", "midpoint"]
    coarse, fine = (measured(capstan, path, text, dt) for dt in (1e-4, 5e-5))
    second = measured(capstan, path, text, 1e-4, midpoint)
    first_order = 2 * fine - coarse  # both lead to the same
    must(abs(first_order - second) < 1e-3, f"semi_implicit leads to {first_order:.5f}, midpoint to {second:.5f}")
    return second


@simulated("soft_cantilever")
def soft_cantilever(capstan, path):
    text = path.read_text()
    results = []
    for cells in (10, 20):
        finer = re.sub(r"cells: \[.*?\]", f"cells: [{cells}, {cells // 5}, {cells // 5}]", text)
        results.append(measured(capstan, path, finer, 0.005))
    return results[1] + (results[1] - results[0]) / 3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--capstan", help="our program, for answers that converged simulations give")
    parser.add_argument("scenes", nargs="*")
    arguments = parser.parse_args()
    bad = count = 0
    print(f"{'scene':<31} {'in the file':>13} {'worked out':>13} {'over tolerance':>14}")
    for path in sorted((HERE / "scenes").glob("*.yaml")):
        if arguments.scenes and path.stem not in arguments.scenes:
            continue
        scene = Scene(path)
        answer, tolerance = float(scene.extra["answer"]), float(scene.extra["tolerance"])
        try:
            if path.stem in REFERENCES:
                value = REFERENCES[path.stem](scene)
            elif path.stem in SIMULATED and not arguments.capstan:
                print(f"{path.stem:<31} {answer:>13g} {'skipped: needs --capstan':>28}")
                continue
            elif path.stem in SIMULATED:
                value = SIMULATED[path.stem](arguments.capstan, path)
            else:
                raise AssertionError("has no reference here")
        except AssertionError as error:
            bad += 1
            print(f"{path.stem:<31} {answer:>13g} {error}")
            continue
        count += 1
        ratio = abs(value - answer) / tolerance
        wrong = ratio > 0.1
        bad += wrong
        print(f"{path.stem:<31} {answer:>13g} {value:>13.6g} {ratio:>14.4f}{'  WRONG' if wrong else ''}")
    print(f"{count} answers worked out anew; {bad} are wrong or missing")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
