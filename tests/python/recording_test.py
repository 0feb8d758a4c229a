"""The Python reader against the program that writes: python3 recording_test.py CAPSTAN. Exit code 77 without numpy."""
import csv
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(SOURCE / "python"))
try:
    import numpy as np
except ImportError:
    print("skipped: python3 has no numpy (Debian: python3-numpy)")
    sys.exit(77)
import capstan_recording

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)


def capstan(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def read_csv(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    return {name.split(" [")[0]: np.array([float(row[i]) for row in rows[1:]]) for i, name in enumerate(rows[0])}


def whole_chunks(path):
    """(begin, end, number of frames) of each chunk's content, as capstan/io/recording.h describes them."""
    data = pathlib.Path(path).read_bytes()
    at, chunks = 8, []
    while at + 40 <= len(data):
        frames, stored = struct.unpack_from("<IQ", data, at + 4)
        if at + 40 + stored > len(data):
            break
        chunks.append((at + 40, at + 40 + stored, frames))
        at += 40 + stored
    return chunks


class Reader(unittest.TestCase):
    def test_numbers_are_those_of_the_log_bit_for_bit(self):
        for scene, steps, dt in (("clutter", 60, 0.01), ("arm_reach", 40, 0.002), ("double_pendulum", 300, 0.001)):
            arguments = ["--record-every", "1", "--quiet", "--record", "a.capstan", "--log", "a.csv"]
            capstan("run", scene, "--dt", str(dt), "--duration", str(steps * dt), *arguments)
            log, run = read_csv("a.csv"), capstan_recording.read("a.capstan")
            self.assertEqual(run.scene, scene)
            self.assertTrue(run.complete)
            self.assertEqual(len(run), steps + 1)
            self.assertEqual(run.dt, dt)
            np.testing.assert_array_equal(run.time, log["time"])
            np.testing.assert_array_equal(run.step, np.arange(steps + 1))
            names = list(log)
            begin = 1
            for part in (run.q, run.v, run.control):
                for i in range(part.shape[1]):
                    np.testing.assert_array_equal(part[:, i], log[names[begin + i]], names[begin + i])
                begin += part.shape[1]
            np.testing.assert_array_equal(run.a, np.vstack([0 * run.v[:1], np.diff(run.v, axis=0) / dt]))
            forces = {name.rsplit(".", 1)[0] + ".force" for name in names[begin - run.control.shape[1]:begin]}
            for name in names[begin:]:
                if name in forces:  # those of actuators are in logs alone
                    continue
                np.testing.assert_array_equal(run.numbers[name], log[name], name)
            self.assertEqual(set(run.numbers) - set(names), {"step.wall_time"})

    def test_contact_forces_carry_the_weight(self):
        # A box of 2 kg at rest on the floor: the forces on it sum to its weight, 2 * 9.81 N, in single precision.
        pathlib.Path("box.yaml").write_text(
            "capstan: 1\nname: box\noptions: {dt: 0.005, duration: 1}\nshapes:\n  - {name: floor, type: half_space}\n"
            "bodies:\n  - {name: box, position: [0, 0, 0.1], joint: {type: free}, "
            "shape: {type: box, size: [0.2, 0.2, 0.2], mass: 2}}\n")
        capstan("run", "box.yaml", "--record", "box.capstan", "--quiet")
        run = capstan_recording.read("box.capstan")
        self.assertEqual(len(run.contacts(0)), 0)  # no step led to the first frame
        last = run.contacts(-1)
        self.assertEqual(len(last), 4)
        sign = np.where(last["normal"][:, 2] > 0, 1, -1)  # normals point from a to b, forces act on b
        np.testing.assert_allclose((last["force"].T * sign).sum(axis=1), [0, 0, 2 * 9.81], atol=2e-4)
        np.testing.assert_allclose(np.abs(last["point"][:, :2]), 0.1, atol=1e-6)
        with self.assertRaises(IndexError):
            run.contacts(len(run))

    def test_tells_who_sleeps(self):
        capstan("run", "clutter", "--duration", "8", "--sleep", "--record", "heap.capstan", "--quiet")
        recording = capstan_recording.read("heap.capstan")
        self.assertEqual(recording.asleep.shape, (len(recording), 40))
        np.testing.assert_array_equal(recording.asleep.sum(axis=1), recording.numbers["trees.asleep"])
        self.assertGreater(recording.asleep[-1].sum(), 0)
        self.assertEqual(recording.asleep[0].sum(), 0)

    def test_meshes_come_along(self):
        pathlib.Path("t.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        pathlib.Path("t.yaml").write_text(
            "capstan: 1\nname: t\nbodies:\n  - {name: t, joint: {type: free}, shape: {type: mesh, file: t.obj, mass: 1}}\n")
        capstan("run", "t.yaml", "--duration", "0.02", "--record", "t.capstan", "--quiet")
        (vertices, triangles), = capstan_recording.read("t.capstan").meshes
        self.assertEqual((len(vertices), len(triangles)), (4, 4))
        self.assertEqual(vertices.max(), 1)

    def test_a_cut_file_is_read_as_far_as_it_goes_and_damage_is_told(self):
        process = subprocess.Popen([PROGRAM, "run", "clutter", "--duration", "1e6", "--record", "k.capstan", "--quiet"])
        while not os.path.exists("k.capstan") or len(whole_chunks("k.capstan")) < 3:
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        process.kill()  # maybe while it writes the next
        process.wait()
        chunks = whole_chunks("k.capstan")
        run = capstan_recording.read("k.capstan")
        self.assertFalse(run.complete)
        self.assertEqual(len(run), sum(frames for *_, frames in chunks))
        self.assertIn(f"frames        {len(run)},", capstan("info", "k.capstan"))
        data = bytearray(pathlib.Path("k.capstan").read_bytes())
        (begin, end, frames), (_, end_of_next, _) = chunks[1:3]  # the first is the header
        pathlib.Path("d.capstan").write_bytes(data[:end_of_next - 1])
        cut = capstan_recording.read("d.capstan")
        np.testing.assert_array_equal(cut.q, run.q[:frames])
        self.assertFalse(cut.complete)
        data[(begin + end) // 2] ^= 1
        pathlib.Path("d.capstan").write_bytes(data)
        with self.assertRaisesRegex(capstan_recording.RecordingError, "d.capstan: .*damaged"):
            capstan_recording.read("d.capstan")
        for content, why in ((b"", "not a recording"), (b"CAPSREC1", "no header")):
            pathlib.Path("d.capstan").write_bytes(content)
            with self.assertRaisesRegex(capstan_recording.RecordingError, why):
                capstan_recording.read("d.capstan")

    def test_the_example_of_the_manual(self):
        text = (SOURCE / "docs/recordings.md").read_text()
        commands, = re.findall(r"```sh\n(.*?)```", text, re.S)
        example, = re.findall(r"```python\n(.*?)```", text, re.S)
        for line in commands.splitlines():
            capstan(*line.split()[1:])
        result = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True,
                                env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"clutter: 101 frames to t = 1 s, q is \(101, 280\)\n"
                         r"largest kinetic energy \d+\.\d J at t = 0\.\d\d s\n\d+ contacts, \d+ of them slide; ")


if __name__ == "__main__":
    unittest.main()
