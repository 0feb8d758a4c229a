"""The arithmetic of the comparison's report (bench/report.py, bench/figure.py)."""
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import compare
import figure
import report


def run(label, parts, seed=0, n=40, complete=True, **more):
    fields = dict(scene="clutter_walls", n=n, dt=0.01, seed=seed, label=label, engine=label.split()[0], version="1", compiler="",
                  ms_parts=parts, ms_mean=sum(parts) / len(parts), ms_p50=1.0, ms_p95=1.0, ms_max=1.0, wall_ms_mean=1.0,
                  complete=complete, finite=True, failure="", iterations=3, contacts=100, residual=-1, memory_MB=10.0,
                  penetration_mean_mm=0.1, penetration_peak_mm=10.0, creep_mean_mm_s=1.0, energy_gain_J=0.0, settled=True,
                  top_shift_mm=[0, 0, 0])
    return {**fields, **more}


class Ratio(unittest.TestCase):
    def test_counts_only_what_both_have(self):
        results = report.Results([run("Capstan", [1, 1, 8]), run("MuJoCo Newton", [2, 2], complete=False)])
        self.assertEqual(results.ratio(("clutter_walls", 40, 0.01), "MuJoCo Newton"), 0.5)

    def test_is_the_median_over_seeds_each_with_its_own(self):
        runs = [run("Capstan", [t], seed) for seed, t in enumerate((1, 2, 9))]
        runs += [run("MuJoCo CG", [1], seed) for seed in range(3)]
        self.assertEqual(report.Results(runs).ratio(("clutter_walls", 40, 0.01), "MuJoCo CG"), 2)


class FirstSeconds(unittest.TestCase):
    CASE = ("clutter_walls", 40, 0.01)

    def test_parts_before_and_after_are_told_apart(self):
        ours, theirs = [3.0] * 6 + [0.1] * 14, [2.0] * 20
        results = report.Results([run("Capstan", ours, duration=10), run("MuJoCo Newton", theirs, duration=10),
                                  run("MuJoCo CG", [4.0] * 20, duration=10)])
        self.assertEqual(report.better_mujoco_at_first(results, self.CASE), 1.5)
        self.assertAlmostEqual(report.better_mujoco_after(results, self.CASE), 0.05)
        self.assertEqual(results.first_ms(self.CASE, "Capstan"), 3)
        self.assertIn("| with walls | 40 | 3 | 1.5 | 0.75 | **1.5** | 0.05 |", report.first_seconds_table(results))

    def test_a_run_that_was_cut_counts_as_far_as_it_went(self):
        results = report.Results([run("Capstan", [1.0] * 20, duration=10), run("MuJoCo CG", [2.0] * 4, duration=10, complete=False)])
        self.assertEqual(report.better_mujoco_at_first(results, self.CASE), 0.5)
        self.assertIsNone(report.better_mujoco_after(results, self.CASE))


class Goes(unittest.TestCase):
    def test_each_part_counts_with_the_fastest(self):
        goes = [run("Capstan", [1, 5], ms_max=7.0, wall_ms_mean=2.0), run("Capstan", [4, 4], ms_max=9.0, wall_ms_mean=1.5)]
        best = compare.fastest(goes)
        self.assertEqual((best["ms_parts"], best["ms_mean"], best["ms_max"], best["wall_ms_mean"]), ([1, 4], 2.5, 7.0, 1.5))

    def test_what_was_cut_short_is_not_mixed(self):
        goes = [run("Capstan", [5], complete=False), run("Capstan", [4, 1], complete=False)]
        self.assertEqual(compare.fastest(goes)["ms_parts"], [4, 1])


class Targets(unittest.TestCase):
    CASE = [run("MuJoCo Newton", [2.0]), run("MuJoCo CG", [4.0])]

    def text(self, ours):
        return report.target_table(report.Results([ours] + self.CASE))

    def test_time_is_over_the_better_solver(self):
        self.assertIn("| 1 | 1.5 | MISSED by a factor of 1.5 |", self.text(run("Capstan", [3.0])))
        self.assertIn("| 1 | 0.5 | met |", self.text(run("Capstan", [1.0])))

    def test_a_run_that_failed_misses_everything(self):
        text = self.text(run("Capstan", [1.0], complete=False, failure="step 3: no"))
        self.assertIn("MISSED: Capstan failed", text)
        self.assertIn("0 of", text)

    def test_a_run_cut_short_counts_for_time_only(self):
        text = self.text(run("Capstan", [1.0], complete=False))
        self.assertIn("| 1 | 0.5 | met |", text)
        self.assertNotIn("depth", text)

    def test_accuracy(self):
        text = self.text(run("Capstan", [1.0], penetration_mean_mm=0.02))
        self.assertIn("| resting depth over MuJoCo's | 0.1 | 0.2 | MISSED by a factor of 2 |", text)


class Page(unittest.TestCase):
    def test_names_the_law_of_the_column(self):
        peer = (pathlib.Path(report.__file__).parent / "peers" / "capstan.cc").read_text()
        law = re.search(r'take\("law", "(\w+)"\)', peer).group(1)
        self.assertIn(f"*Capstan* in the tables is the law `{law}`", report.INTRO)


class Figure(unittest.TestCase):
    def test_ticks_enclose_the_values(self):
        for values in ([0.03, 40.0], [7.0, 7.1], [1.0, 1.0], [3e-9, 5e4]):
            low, high, ticks = figure.ticks(values)
            self.assertLessEqual(low, min(values))
            self.assertGreaterEqual(high, max(values))
            self.assertGreater(high, low)
            self.assertGreaterEqual(len(ticks), 2)

    def test_labels_do_not_overlap(self):
        self.assertEqual(figure.spread([10, 11, 40], 15), [10, 25, 40])

    def test_is_xml_and_skips_what_has_no_logarithm(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/figure.svg"
            self.assertFalse(figure.log_log(path, "", "", "", [("Capstan", [(1, 0, True), (2, 1, True)])]))
            self.assertTrue(figure.log_log(path, "a < b & c", "", "", [("Capstan", [(1, 2, True), (2, 0, True), (3, 4, False)])]))
            circles = xml.etree.ElementTree.parse(path).findall(".//{http://www.w3.org/2000/svg}circle")
            self.assertEqual(len(circles), 2)


if __name__ == "__main__":
    unittest.main()
