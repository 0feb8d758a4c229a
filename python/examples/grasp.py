"""A grasp, and reading contact forces: two fingers hold a rod and grip less and less. When does it slip?

Each pad can give at most mu times its grip, so that the rod slips below a grip of m g / (2 mu) = 4.9 N.
"""
import numpy as np

import capstan


def main():
    sim = capstan.load("grasp")
    sim.step(200)  # it settles
    mass, hand = sim.body("rod").mass, sim.save()
    grips, full = ("grip_left", "grip_right"), sim.control["grip_left"]
    print(f"the rod weighs {9.81 * mass:.2f} N; friction 0.5 holds it with a grip above {9.81 * mass / (2 * 0.5):.2f} N")
    slips = {}
    for grip in (14, 8, 6, 5.5, 4.5, 4):
        sim.restore(hand)
        for name in grips:
            sim.control[name] = np.sign(full) * grip
        before = sim.body("rod").position[2]
        sim.step(100)  # 0.1 s
        sunk = before - sim.body("rod").position[2]
        slips[grip] = bool(sunk > 1e-4)  # [m]
        left = sim.contact_force("finger_left", "rod")
        print(f"grip {grip:4} N: the left pad feels {np.round(left, 2)} N, the rod sinks {1e3 * sunk:7.3f} mm and "
              f"{'slips' if slips[grip] else 'holds'}")
    return slips


if __name__ == "__main__":
    main()
