"""Reading contact forces: a stack of three boxes with a push from the side. Who presses on whom, and how near is it to slipping?

At rest each pair carries the weight of all that is above it; a push on the top box goes down through every pair as friction,
and the torque of the push moves the weight towards the far edge.
"""
import numpy as np

import capstan


def stack(count=3, mass=2.0, size=0.2):
    """A tower of boxes."""
    return capstan.scene_from_dict({
        "capstan": 1, "name": "tower", "options": {"dt": 0.005},
        "materials": [{"name": "wood", "friction": 0.5}],
        "shapes": [{"name": "floor", "type": "half_space", "material": "wood"}],
        "bodies": [{"name": f"box_{i}", "position": [0, 0, size * (i + 0.5)], "joint": "free",
                    "shape": {"type": "box", "size": [size] * 3, "mass": mass, "material": "wood",
                              "color": [0.85, 0.35 + 0.15 * i, 0.2]}} for i in range(count)]})


def tell(sim):
    """One line for each pair of bodies; {(a, b): force on b [N]}."""
    names, forces = sim.model.body_names, {}
    for pair in sim.contact_pairs:
        a, b = names[pair["body_a"]], names[pair["body_b"]]
        used = np.linalg.norm(pair["friction"]) / max(pair["normal_force"], 1e-12)
        print(f"  {a:6} carries {b}: {np.round(pair['force'], 2)} N at {pair['contacts']} points, {used / 0.5:5.1%} of its friction")
        forces[a, b] = pair["force"].copy()
    return forces


def main():
    sim = capstan.Simulation(stack()).run(1)
    print("at rest")
    rest = tell(sim)
    sim.apply_force("box_2", force=[4, 0, 0], point=sim.body("box_2").position)
    sim.run(0.5)
    print("pushed with 4 N")
    pushed = tell(sim)
    # One by one: where on the lowest box does the floor press?
    contacts = sim.contacts
    contacts = contacts[(contacts["body_a"] == 0) | (contacts["body_b"] == 0)]  # body 0 is the world
    centre = (contacts["normal_force"][:, None] * contacts["point"]).sum(0) / contacts["normal_force"].sum()
    lever = 4 * 0.5 / (6 * 9.81)  # torque of the push over the weight of all
    print(f"the floor presses at x = {1e3 * centre[0]:.1f} mm, by hand {1e3 * lever:.1f} mm")
    for i, pair in enumerate([("world", "box_0"), ("box_0", "box_1"), ("box_1", "box_2")]):
        assert abs(rest[pair][2] - (3 - i) * 2 * 9.81) < 0.01, "each pair carries what is above it"
        assert abs(pushed[pair][0] + 4) < 0.01, "the push goes down through every pair"
    assert abs(centre[0] - lever) < 1e-3
    return sim


if __name__ == "__main__":
    main()
