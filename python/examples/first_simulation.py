"""A first simulation: a box is thrown on the floor, slides and stops. Prints where it is and what the floor does to it."""
import numpy as np

import capstan

SCENE = """
capstan: 1
name: thrown box
options: {dt: 0.005}
materials: [{name: wood, friction: 0.4}]
shapes: [{name: floor, type: half_space, material: wood}]
bodies:
  - name: box
    position: [0, 0, 0.3]
    joint: {name: free, type: free}
    shape: {type: box, size: [0.2, 0.2, 0.1], mass: 1, material: wood, color: [0.8, 0.5, 0.2]}
"""


def main(film="thrown_box.capstan"):
    sim = capstan.Simulation(capstan.Scene.from_string(SCENE))
    sim.v["free"][:3] = [2, 0, 0]  # [m/s]; then come angular velocities
    sim.record(film)  # capstan view thrown_box.capstan plays it
    print("  time   position              speed    force of the floor")
    while sim.time < 1.2:
        sim.step(20)
        box = sim.body("box")
        speed, force = np.linalg.norm(box.velocity), sim.contact_force("box")
        print(f"{sim.time:5.1f} s  {np.round(box.position, 3)}  {speed:5.2f} m/s  {np.round(force, 2)} N")
    sim.stop_recording()
    assert speed < 1e-3, "it has stopped"
    assert abs(force[2] - 9.81) < 1e-2, "the floor carries its weight"
    # From where it lands it slides v^2 / (2 mu g) far; landing itself takes some of the speed, too.
    assert 0.4 < box.position[0] < 2 * 0.3 + 4 / (2 * 0.4 * 9.81)
    return sim


if __name__ == "__main__":
    main()
