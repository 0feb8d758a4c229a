#!/usr/bin/env python3
"""F1 and F2 of bench/soft_bodies.cc beside MuJoCo 4 (PyPI 'mujoco', optional), in one run: CPU milliseconds per step.

    bench/soft_peers.py build/release/programs/soft_bodies

F1: a cube of 0.1 m with 1,000 nodes, E 1e5 Pa, nu 0.4, 1000 kg/m^3, stiffness damping 0.01 s, falls 0.1 m on a plane,
    mu 0.5, steps of 10 ms.
F2: a cantilever of 0.2 x 0.04 x 0.04 m, E 1e6 Pa, nu 0.3, under its own weight; the solid's limit is 15.00 mm.

Runs take turns, so that a busy machine slows all alike; ratios count. Both have the same
mesh; MuJoCo gives each vertex the same mass.
"""
import itertools
import subprocess
import sys
import time

F1 = """<mujoco><option timestep="0.01" integrator="discrete" solver="{solver}" cone="elliptic" tolerance="1e-6"/>
<size memory="200M"/>
<worldbody><geom type="plane" size="1 1 .1" friction="0.5"/>
<body name="b" pos="0 0 0.15"><flexcomp name="cube" type="direct" dim="3" point="{point}" element="{element}"
  mass="1" radius="1e-4"><edge equality="false"/>
<elasticity young="1e5" poisson="0.4" damping="0.01"/><contact selfcollide="none" friction="0.5"/>
</flexcomp></body></worldbody></mujoco>"""

F2 = """<mujoco><option timestep="0.002" integrator="discrete" solver="CG" tolerance="1e-8"/><size memory="200M"/>
<worldbody><body name="b"><flexcomp name="beam" type="direct" dim="3" point="{point}" element="{element}"
  mass="0.32" radius="1e-4"><edge equality="false"/><pin id="{pins}"/>
<elasticity young="1e6" poisson="0.3" damping="0.02"/><contact selfcollide="none" contype="0" conaffinity="0"/>
</flexcomp></body></worldbody></mujoco>"""


def mesh(size, cells):
    """Points and tets of a box as Capstan cuts it: five for each cell, turned from cell to cell."""
    nx, ny, nz = (n + 1 for n in cells)
    points = [[size[d] * (at[d] / cells[d] - 0.5) for d in range(3)]
              for at in ((i, j, k) for k in range(nz) for j in range(ny) for i in range(nx))]
    tets = []
    for i, j, k in itertools.product(*(range(n) for n in cells)):
        corner = lambda c: i + (c & 1) + nx * (j + (c >> 1 & 1) + ny * (k + (c >> 2 & 1)))
        odd = ((1, 2, 4, 7), (0, 1, 2, 4), (3, 1, 2, 7), (5, 1, 4, 7), (6, 2, 4, 7))
        even = ((0, 3, 5, 6), (1, 0, 3, 5), (2, 0, 3, 6), (4, 0, 5, 6), (7, 3, 5, 6))
        for tet in odd if (i + j + k) % 2 else even:
            a, b, c, d = (corner(v) for v in tet)
            u, v, w = ([points[q][n] - points[a][n] for n in range(3)] for q in (b, c, d))
            volume = sum(u[n] * (v[n - 2] * w[n - 1] - v[n - 1] * w[n - 2]) for n in range(3))
            tets.append((a, b, c, d) if volume > 0 else (a, b, d, c))
    text = lambda rows: " ".join(f"{x:.9g}" for row in rows for x in row)
    return points, {"point": text(points), "element": text(tets)}


def mujoco_drop(mujoco, solver):
    model = mujoco.MjModel.from_xml_string(F1.format(solver=solver, **mesh((0.1, 0.1, 0.1), (9, 9, 9))[1]))
    data = mujoco.MjData(model)
    flight, contact, lowest = [], [], 0.0
    for _ in range(200):
        start = time.process_time()
        mujoco.mj_step(model, data)
        (contact if data.ncon > 0 else flight).append(1e3 * (time.process_time() - start))
        lowest = min(lowest, data.flexvert_xpos[:, 2].min())
    speed = abs(data.qvel).max()
    print(f"F1  MuJoCo {mujoco.__version__} {solver:7s} {sum(flight) / len(flight):6.1f} ms/step in flight, "
          f"{sum(contact) / max(1, len(contact)):6.1f} in contact; lowest node {1e3 * lowest:.2f} mm, {speed:.1e} m/s at 2 s", flush=True)
    return sum(contact) / max(1, len(contact))


def mujoco_cantilever(mujoco, nx, ny):
    points, words = mesh((0.2, 0.04, 0.04), (nx, ny, ny))
    pins = " ".join(str(n) for n, x in enumerate(points) if x[0] < -0.0999)
    model = mujoco.MjModel.from_xml_string(F2.format(pins=pins, **words))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    tip = data.flexvert_xpos[:, 0] > 0.0999
    height = data.flexvert_xpos[tip, 2].mean()
    start = time.process_time()
    for _ in range(1500):
        mujoco.mj_step(model, data)
    ms = 1e3 * (time.process_time() - start) / 1500
    drop = 1e3 * (height - data.flexvert_xpos[tip, 2].mean())
    print(f"F2  MuJoCo {mujoco.__version__} {nx}x{ny}x{ny} cells: {drop:.2f} mm, {100 * (drop / 14.997 - 1):+.1f} % of 15.00 mm, "
          f"{ms:.2f} ms/step of 2 ms, {abs(data.qvel).max():.1e} m/s at 3 s", flush=True)


def capstan(program, name):
    output = subprocess.run([program, name], capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        print("   ", line, flush=True)
    return output


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        import mujoco
    except ImportError:
        mujoco = None
        print("MuJoCo is not there (pip install mujoco): Capstan alone")
    output = capstan(sys.argv[1], "drop")
    if mujoco is not None:
        ours = float(output.split("in flight,")[1].split()[0])
        for solver in ("CG", "Newton"):
            print(f"    in contact {mujoco_drop(mujoco, solver) / ours:.2f} times Capstan's linear corotational")
    capstan(sys.argv[1], "cantilever")
    if mujoco is not None:
        for nx, ny in ((10, 2), (20, 4)):
            mujoco_cantilever(mujoco, nx, ny)


if __name__ == "__main__":
    main()
