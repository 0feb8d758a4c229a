"""Mutated MJCF files in Capstan and in MuJoCo: how each ends.

    python3 tests/fuzz/compare_mujoco.py --capstan build/release/apps/capstan/capstan --count 2000 --seed 1

Both read the same files and step them for the same time, each file with a limit of processor time. MuJoCo runs in a process of
its own, which is started anew when it hangs or dies. Needs the mujoco wheel of PyPI. Prints a table.
"""
import argparse
import collections
import glob
import multiprocessing
import os
import random
import re
import resource
import subprocess
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NUMBER = re.compile(r"(?<![\w.#])-?\d+\.?\d*(?:[eE][-+]?\d+)?(?![\w.])")
EXTREME = ["0", "-1", "1", "1e-300", "1e-9", "1e9", "1e15", "1e38", "1e300", "-1e12", "nan", "inf", "1000", "0.5"]


def mutate(text, rng):
    """One to four changes: of a number, of an attribute's value, of a line."""
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.6:
            numbers = list(NUMBER.finditer(text))
            if not numbers:
                continue
            m = rng.choice(numbers)
            value = rng.choice(EXTREME)
            if rng.random() < 0.5:
                value = repr(float(m.group()) * rng.choice([-1, 0.01, 10, 1e3, 1e6]))
            text = text[: m.start()] + value + text[m.end() :]
        elif kind < 0.75:
            values = list(re.finditer(r'"([^"\n]*)"', text))
            if len(values) > 1:
                a, b = rng.sample(values, 2)
                text = text[: a.start()] + b.group() + text[a.end() :]
        else:
            lines = text.split("\n")
            at = rng.randrange(len(lines))
            if kind < 0.87:
                lines.insert(rng.randrange(len(lines)), lines[at])
            else:
                del lines[at]
            text = "\n".join(lines)
    return text


def step_in_mujoco(pipe, seconds):
    import mujoco
    import numpy

    bad = [mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC]
    while True:
        path = pipe.recv()
        try:
            model = mujoco.MjModel.from_xml_path(path)
            data = mujoco.MjData(model)
        except (ValueError, mujoco.FatalError):
            pipe.send("refused")
            continue
        steps = max(1, min(2000, round(seconds / model.opt.timestep)))
        told = "ran"
        try:
            for _ in range(steps):
                mujoco.mj_step(model, data)
                if not (numpy.isfinite(data.qpos).all() and numpy.isfinite(data.qvel).all()):
                    told = "state not finite"
                    break
            if told == "ran" and any(data.warning[int(w)].number > 0 for w in bad):
                told = "reset to the start, and went on"
        except mujoco.FatalError:
            told = "step failed"
        pipe.send(told)


class MuJoCo:
    def __init__(self, seconds, limit):
        self.seconds, self.limit, self.process = seconds, limit, None

    def processor_time(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def run(self, path):
        if self.process is None:
            self.pipe, theirs = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=step_in_mujoco, args=(theirs, self.seconds), daemon=True)
            self.process.start()
            theirs.close()
        self.pipe.send(path)
        before = used = self.processor_time()
        try:
            while used - before < self.limit:
                if self.pipe.poll(0.2):
                    return self.pipe.recv()
                used = self.processor_time()
            told = "hung"
        except EOFError:
            told = "crashed"
        self.process.kill()
        self.process.join()
        self.process = None
        return told


def run_capstan(program, path, seconds, limit):
    code = subprocess.run([program, "run", "--quiet", "--duration", str(seconds), path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))).returncode
    return {0: "ran", 2: "refused", 3: "step failed", -9: "hung", -24: "hung"}.get(code, "crashed")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--capstan", required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.2, help="simulated")
    parser.add_argument("--limit", type=int, default=10, help="processor time of a file [s]")
    parser.add_argument("--keep", help="keep files that Capstan hung or crashed on in this folder")
    options = parser.parse_args()
    import mujoco

    files = sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/corpus/mjcf/*.xml")))
    files += [os.path.join(ROOT, p) for p in ("tests/io/data/tendons.xml", "scenes/four_bar.xml", "scenes/humanoid_floating.xml")]
    texts = [open(f, encoding="utf-8", errors="replace").read() for f in files]
    rng = random.Random(options.seed)
    peer = MuJoCo(options.seconds, options.limit)
    counts = {"Capstan": collections.Counter(), "MuJoCo": collections.Counter()}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scene.xml")
        for i in range(options.count):
            text = mutate(rng.choice(texts), rng)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            ours = run_capstan(options.capstan, path, options.seconds, options.limit)
            counts["Capstan"][ours] += 1
            counts["MuJoCo"][peer.run(path)] += 1
            if options.keep and ours in ("hung", "crashed"):
                with open(os.path.join(options.keep, f"{ours}_{options.seed}_{i}.xml"), "w", encoding="utf-8") as f:
                    f.write(text)
    print(f"{options.count} files, seed {options.seed}, {options.seconds} s simulated, {options.limit} s of processor time each, MuJoCo {mujoco.__version__}")
    print("| | Capstan | MuJoCo |\n|---|---|---|")
    for how in ("ran", "refused", "step failed", "state not finite", "reset to the start, and went on", "hung", "crashed"):
        print(f"| {how} | {counts['Capstan'][how]} | {counts['MuJoCo'][how]} |")


if __name__ == "__main__":
    main()
