"""Choosing a contact law: a box on a slope that friction should just hold. How far does each law let it creep?

Friction 0.6 against a slope of 0.55 (tan): with Coulomb's law nothing moves. docs/laws.md says what each law does.
"""
import numpy as np

import capstan

SLOPE = 0.55


def creep(law, seconds):
    """[m] that the box creeps down."""
    g = 9.81 / np.hypot(1, SLOPE)
    scene = capstan.scene_from_dict({
        "capstan": 1, "options": {"gravity": [SLOPE * g, 0, -g], "dt": 0.005},
        "materials": [{"name": "m", "friction": 0.6}],
        "shapes": [{"name": "floor", "type": "half_space", "material": "m"}],
        "bodies": [{"name": "box", "position": [0, 0, 0.1], "joint": {"name": "free", "type": "free"},
                    "shape": {"type": "box", "size": [0.2, 0.2, 0.2], "mass": 1, "material": "m"}}]})
    return capstan.Simulation(scene, contact_law=law).run(seconds).q[0]


def main(seconds=5):
    result = {}
    for law in ("coulomb", "lagged", "regularized_lagged", "sap", "similar"):
        result[law] = creep(law, seconds)
        print(f"{law:20} {1e3 * result[law]:9.4f} mm in {seconds} s")
    assert all(abs(x) < 0.05 for x in result.values())
    return result


if __name__ == "__main__":
    main()
