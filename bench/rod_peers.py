#!/usr/bin/env python3
"""Rods of bench/rods.cc beside MuJoCo 4 and PyElastica (PyPI 'mujoco', 'pyelastica', each optional), in one run.

    bench/rod_peers.py build/release/programs/rods

R1: a rod of 1 m and 10 mm, E 1e7 or 1e6 Pa, nu 0.4, 1000 kg/m^3, 100 edges, the first clamped, falls about its clamp:
    distance of its tip from that of a planar discrete rod with stretch (midpoint, 0.2 ms) after 0.5, 1 and 2 s.
R2: the same rod at rest, beside the elastica with stretch.
R3: a rope of 2 mm (E 1e5 Pa, nu 0.4999) around a post of 60 mm, mu 0.2, one end held, the other pulled by 0.01 t N for
    2 s at 1 ms: ratio of the tensions at its ends, and how much longer it is. Friction acts on the surface and tension on
    the axis: exp(mu phi R / (R + r)), if the rope slips everywhere. A rope that cannot stretch need not slip,
    so that a smaller ratio is no wrong answer then; but this rope has a modulus.

MuJoCo's edges are constraints without a modulus. Its points have all the same mass; here the last one is given half of it, as
the end of a rod has.

Times are of the processor, in steps alone. Capstan's runs come before and after those of the others, so that a
busy machine shows; ratios count.
"""
import math
import subprocess
import sys
import time

REFERENCE = {  # tips (x, z) [m] after so many seconds
    1e7: {0.5: (-0.12166, -0.90595), 1: (-0.45102, -0.03789), 2: (0.43399, -0.81846)},
    1e6: {0.5: (-0.19186, -0.91046), 1: (-0.75787, -0.09050), 2: (0.69918, -0.51608)},
}
AT_REST = {1e7: (0.12287, -0.95133), 1e6: (0.03657, -0.98975)}

DROP = """<mujoco><option timestep="{dt}" integrator="discrete" solver="Newton" tolerance="1e-8"/>
<worldbody><flexcomp name="rod" dim="1" type="grid" count="101 1 1" spacing=".01 .01 .01" pos=".5 0 0"
  mass="{mass}" radius="0.005"><pin id="0 1"/><edge equality="true" solimp="0.9999 0.9999 0.001" solref="{solref} 1"/>
<elasticity young="{young}" poisson="0.4" damping="{damping}"/>
<contact selfcollide="none" contype="0" conaffinity="0"/></flexcomp></worldbody></mujoco>"""

ROPE = """<mujoco><option timestep="{dt}" integrator="discrete" solver="Newton" cone="elliptic" tolerance="1e-8"
  gravity="0 0 0"/><size memory="100M"/>
<worldbody><geom type="cylinder" size="0.03 0.025" friction="0.2 0 0" priority="1"/>
<flexcomp name="rope" dim="1" type="direct" point="{point}" element="{element}" mass="{mass}" radius="0.001">
<pin id="0"/><edge equality="true" solimp="{imp} {imp} 0.001" solref="{solref} 1"/>
<elasticity young="1e5" poisson="0.4999"/><contact selfcollide="none" friction="0.2 0 0"/></flexcomp></worldbody></mujoco>"""


def say(text):
    print(text, flush=True)


def capstan(program, name):
    for line in subprocess.run([program, name], capture_output=True, text=True, check=True).stdout.splitlines():
        say("    " + line)


def errors(young, tips):
    return " / ".join(f"{1e3 * math.dist(tips[t], REFERENCE[young][t]):.1f}" for t in (0.5, 1, 2))


def halve_end(mujoco, model, data):
    body = model.flex_vertbodyid[100]
    model.body_mass[body] *= 0.5
    model.body_inertia[body] *= 0.5
    mujoco.mj_setConst(model, data)


def mujoco_drop(mujoco, young, dt, solref):
    model = mujoco.MjModel.from_xml_string(DROP.format(dt=dt, young=young, solref=solref, damping=0,
                                                       mass=1010 * math.pi * 0.005**2))
    data = mujoco.MjData(model)
    halve_end(mujoco, model, data)
    tips, spent, steps = {}, 0.0, 0
    for until in (0.5, 1, 2):
        while steps < round(until / dt):
            start = time.process_time()
            mujoco.mj_step(model, data)
            spent += time.process_time() - start
            steps += 1
        tips[until] = (data.flexvert_xpos[100, 0], data.flexvert_xpos[100, 2])
    say(f"R1  MuJoCo {mujoco.__version__}, E {young:g} dt {dt:g} s solref {solref:g}: {errors(young, tips)} mm off at 0.5 / 1 / 2 s, "
        f"{1e6 * spent / steps:.0f} us/step")


def mujoco_rest(mujoco, young):
    dt = 0.005
    model = mujoco.MjModel.from_xml_string(DROP.format(dt=dt, young=young, solref=0.002, damping=0.5,
                                                       mass=1010 * math.pi * 0.005**2))
    data = mujoco.MjData(model)
    halve_end(mujoco, model, data)
    for _ in range(4000):
        mujoco.mj_step(model, data)
    tip = (data.flexvert_xpos[100, 0], data.flexvert_xpos[100, 2])
    say(f"R2  MuJoCo {mujoco.__version__}, E {young:g}: tip ({tip[0]:.5f}, {tip[1]:.5f}), "
        f"{1e3 * math.dist(tip, AT_REST[young]):.1f} mm from the elastica's; {abs(data.qvel).max():.0e} m/s after 20 s")


def rope_points(wrap):
    post, r, turn = 0.03, 0.001, 0.025 * math.pi
    R, turns = post + r, round(wrap / turn)
    half = R * math.tan(turn / 2)
    at = lambda angle, radius: (-radius * math.cos(angle), radius * math.sin(angle), 0.0)
    along = (math.sin(wrap), math.cos(wrap), 0.0)
    points = [(-R, -(2 * k + 1) * half, 0.0) for k in range(12, 0, -1)]
    points += [at((k - 0.5) * turn, R / math.cos(turn / 2)) for k in range(turns + 2)]
    end = at(wrap, R)
    points += [tuple(end[d] + (2 * k + 1) * half * along[d] for d in range(3)) for k in range(1, 13)]
    return points, along


def length_of(points):
    return sum(math.dist(a, b) for a, b in zip(points, points[1:]))


def mujoco_capstan(mujoco, wrap, imp, solref):
    dt, points, along = 0.001, *rope_points(wrap)
    length = length_of(points)
    model = mujoco.MjModel.from_xml_string(ROPE.format(
        dt=dt, imp=imp, solref=solref, mass=1000 * math.pi * 0.001**2 * length,
        point=" ".join(f"{x:.9g}" for p in points for x in p),
        element=" ".join(f"{i} {i + 1}" for i in range(len(points) - 1))))
    data = mujoco.MjData(model)
    body = model.flex_vertbodyid[len(points) - 1]
    first = next(e for e in range(model.nflexedge) if 0 in model.flex_edge[e])
    ratio, spent, steps = 0.0, 0.0, round(2 / dt)
    for i in range(steps):
        pull = 0.01 * (i + 1) * dt
        data.xfrc_applied[body, :3] = [pull * a for a in along]
        start = time.process_time()
        mujoco.mj_step(model, data)
        spent += time.process_time() - start
        if i >= steps - 50:
            rows = [k for k in range(data.nefc) if data.efc_type[k] == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
            ratio += pull / abs(data.efc_force[rows[first]]) / 50
    exact = math.exp(0.2 * wrap * 0.03 / 0.031)
    now = length_of(data.flexvert_xpos.tolist())
    say(f"R3  MuJoCo {mujoco.__version__}, wrap {wrap / math.pi:.0f} pi, solimp {imp} solref {solref}: ratio {ratio:.4f}, {100 * (ratio / exact - 1):+.1f} % off; "
        f"{1e3 * (now - length):.1f} mm longer of {1e3 * length:.0f} mm; {1e6 * spent / steps:.0f} us/step")


def elastica_drop(young, dt):
    import elastica
    import numpy

    class Simulator(elastica.BaseSystemCollection, elastica.Constraints, elastica.Forcing):
        pass

    simulator = Simulator()
    rod = elastica.CosseratRod.straight_rod(
        100, numpy.zeros(3), numpy.array([1.0, 0, 0]), numpy.array([0, 1.0, 0]), 1.0, 0.005, 1000.0,
        youngs_modulus=young, shear_modulus=young / 2.8)
    simulator.append(rod)
    simulator.constrain(rod).using(elastica.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,))
    simulator.add_forcing_to(rod).using(elastica.GravityForces, acc_gravity=numpy.array([0, 0, -9.81]))
    simulator.finalize()
    stepper = elastica.PositionVerlet()
    tips, spent, steps, at = {}, 0.0, 0, numpy.float64(0)
    at = stepper.step(simulator, at, dt)  # compiles
    steps = 1
    for until in (0.5, 1, 2):
        start, before = time.process_time(), steps
        while steps < round(until / dt):
            at = stepper.step(simulator, at, dt)
            steps += 1
        spent += time.process_time() - start
        tips[until] = (float(rod.position_collection[0, -1]), float(rod.position_collection[2, -1]))
        if not math.dist(tips[until], (0, 0)) < 2:
            say(f"R1  PyElastica, E {young:g} dt {dt:g} s: explodes before {until:g} s")
            return
    say(f"R1  PyElastica, E {young:g} dt {dt:g} s: {errors(young, tips)} mm off at 0.5 / 1 / 2 s, {1e6 * spent / steps:.0f} us/step")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    capstan(sys.argv[1], "drop")
    try:
        import mujoco
    except ImportError:
        mujoco = None
        say("MuJoCo is not there (pip install mujoco)")
    if mujoco is not None:
        for young in (1e7, 1e6):
            for dt, solref in ((1e-3, 0.002), (5e-3, 0.002)):
                mujoco_drop(mujoco, young, dt, solref)
    try:
        for young, dt in ((1e7, 5e-5), (1e7, 1e-4), (1e6, 1e-4)):
            elastica_drop(young, dt)
    except ImportError:
        say("PyElastica is not there (pip install pyelastica)")
    capstan(sys.argv[1], "drop")
    capstan(sys.argv[1], "rest")
    if mujoco is not None:
        for young in (1e7, 1e6):
            mujoco_rest(mujoco, young)
    capstan(sys.argv[1], "capstan")
    if mujoco is not None:
        for wrap in (math.pi, 2 * math.pi):
            for imp, solref in ((0.99, 0.01), (0.99, 0.005), (0.9999, 0.002)):
                mujoco_capstan(mujoco, wrap, imp, solref)


if __name__ == "__main__":
    main()
