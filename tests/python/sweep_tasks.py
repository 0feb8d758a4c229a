"""Functions that test_sweep.py runs in other processes."""
import os
import pathlib
import signal

import capstan

SLOPE = {
    "capstan": 1, "options": {"gravity": [4.9, 0, -8.5], "dt": 0.005},
    "shapes": [{"name": "floor", "type": "half_space", "material": "wood"}],
    "bodies": [{"name": "box", "position": [0, 0, 0.1], "joint": {"name": "free", "type": "free"},
                "shape": {"type": "box", "size": [0.2, 0.2, 0.2], "material": "wood"}}]}


def slide(friction, duration):
    scene = capstan.scene_from_dict({**SLOPE, "materials": [{"name": "wood", "friction": friction}]})
    sim = capstan.Simulation(scene).run(duration)
    return {"q": sim.q, "hash": sim.hash}


def killed_once(number, folder):
    mark = pathlib.Path(folder) / "killed"
    if number == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 3:
        raise ValueError("three is not a number that we like")
    (pathlib.Path(folder) / f"calls_{number}").open("a").write("x")
    return number**2
