"""Identifying friction from a recording: a box slides over the floor and stops. Which coefficient does it have?

The "measurement" is a recording of a run with a coefficient that the search does not know, with noise on the positions as a
camera would have. We look for the friction whose run is nearest to it, by Gauss and Newton's method on one number; the
derivative comes from a second run beside it. By hand: the slope of the speed is -mu g.
"""
import os
import tempfile

import numpy as np

import capstan

DT, SECONDS, SPEED = 0.002, 0.6, 1.8  # [s], [s], [m/s]


def box(friction):
    sim = capstan.Simulation(capstan.scene_from_dict({
        "capstan": 1, "options": {"dt": DT},
        "materials": [{"name": "wood", "friction": friction}],
        "shapes": [{"name": "floor", "type": "half_space", "material": "wood"}],
        "bodies": [{"name": "box", "position": [0, 0, 0.05], "joint": "free",
                    "shape": {"type": "box", "size": [0.2, 0.2, 0.1], "mass": 1, "material": "wood"}}]}))
    sim.v["box"][0] = SPEED
    return sim


def path(friction, folder):
    """x of the box [frames] as a recording has it."""
    run = capstan.record(box(friction), os.path.join(folder, "run.capstan"), SECONDS, every=5)
    return run.time, run.q[:, 0]


def identify(measured, folder, guess=0.2):
    friction = guess
    for k in range(20):
        now, beside = path(friction, folder)[1], path(friction + 1e-4, folder)[1]
        slope, rest = (beside - now) / 1e-4, measured - now
        change = slope @ rest / (slope @ slope)
        friction = np.clip(friction + change, 0.5 * friction, 2 * friction)
        print(f"round {k}: friction {friction:.5f}, off by {1e3 * np.sqrt(np.mean(rest**2)):.3f} mm")
        if abs(change) < 1e-6:
            break
    return friction


def main(truth=0.31, noise=5e-4):
    with tempfile.TemporaryDirectory() as folder:
        time, x = path(truth, folder)
        measured = x + noise * np.random.default_rng(0).standard_normal(len(x))
        found = identify(measured, folder)
    moving = time < 0.8 * SPEED / (truth * 9.81)
    by_hand = -2 * np.polyfit(time[moving], measured[moving], 2)[0] / 9.81
    print(f"friction {found:.4f} by fitting runs, {by_hand:.4f} by a parabola, {truth} is true")
    assert abs(found - truth) < 2e-3 and abs(by_hand - truth) < 1e-2
    return found


if __name__ == "__main__":
    main()
