"""What the shipped MJCF and URDF scenes promise, judged by MuJoCo: they load without a warning, have the published
masses and dofs, start without overlap, and stay finite for 2 s. Exit code 77 (skipped) where MuJoCo is missing.

    python3 tests/scenes/facts.py [scenes folder]
"""
import pathlib
import sys

try:
    import mujoco
    import numpy as np
except ImportError:
    print("skipped: python3 has no mujoco (pip install mujoco)")
    sys.exit(77)

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "scenes")
failures = []


def expect(true, what):
    if not true:
        failures.append(what)
        print("FAILED:", what)


def expect_near(value, wanted, tolerance, what):
    expect(abs(value - wanted) <= tolerance, f"{what}: {value:.9g}, wanted {wanted:.9g} within {tolerance:g}")


def load(name):
    warnings = []
    mujoco.set_mju_user_warning(warnings.append)
    model = mujoco.MjModel.from_xml_path(str(FOLDER / name))
    expect(not warnings, f"{name} loads with warnings {warnings}")
    return model, mujoco.MjData(model)


def start(model, data, key):
    mujoco.mj_resetDataKeyframe(model, data, model.key(key).id)
    mujoco.mj_forward(model, data)


def overlaps(model, data, allowed=()):
    """Contacts deeper than 1 micrometre between geoms that are not both in `allowed`."""
    found = []
    for contact in data.contact[: data.ncon]:
        names = {model.geom(contact.geom1).name, model.geom(contact.geom2).name}
        if contact.dist < -1e-6 and not names <= set(allowed):
            found.append((sorted(names), contact.dist))
    return found


def within_limits(model, data):
    for j in range(model.njnt):
        if model.jnt_limited[j]:
            q = data.qpos[model.jnt_qposadr[j]]
            if not model.jnt_range[j, 0] <= q <= model.jnt_range[j, 1]:
                return False
    return True


def runs(model, data, name, seconds=2, speed=50):
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
        if not np.abs(data.qvel).max() < speed:
            expect(False, f"{name} is faster than {speed} at {data.time:.3f} s")
            return
    expect(not any(w.number for w in data.warning), f"{name} makes MuJoCo warn while running")


def check_keys(model, data, name, keys):
    expect([model.key(k).name for k in range(model.nkey)] == keys, f"{name} has the keyframes {keys}")
    for key in keys:
        start(model, data, key)
        expect(not overlaps(model, data), f"{name} overlaps in {key}: {overlaps(model, data)}")
        expect(within_limits(model, data), f"{name} starts outside its joint limits in {key}")
        runs(model, data, f"{name} ({key})")


def four_bar():
    model, data = load("four_bar.xml")
    model.eq_solref[:] = 0.004, 1  # MuJoCo's loop stiffer than its default, to see the geometry
    expect(model.nv == 3, "four_bar has 3 dofs")
    check_keys(model, data, "four_bar", ["rest", "turning"])

    start(model, data, "turning")
    gap = data.site("coupler_C").xpos - data.site("rocker_C").xpos
    expect_near(np.abs(gap).max(), 0, 1e-15, "four_bar: gap of the loop at the start [m]")
    expect_near(np.abs(data.efc_vel[:3]).max(), 0, 1e-12, "four_bar: speed at which the loop opens [m/s]")
    points = []
    while data.time < 1.1:
        mujoco.mj_step(model, data)
        points.append(np.r_[data.site("traced").xpos, data.qpos[0]])
    points = np.array(points)
    turn = points[points[:, 3] < 2 * np.pi]
    # Plane geometry: over that half of a turn z is within [0.4, 0.400975]; MuJoCo's soft loop adds 0.1 mm.
    half = turn[(turn[:, 3] < np.pi / 2) | (turn[:, 3] > 1.5 * np.pi)]
    expect(half[:, 0].max() - half[:, 0].min() > 0.39, "four_bar: half a turn of the crank draws 0.4 m")
    expect_near(np.abs(half[:, 2] - 0.4).max(), 0, 1.2e-3, "four_bar: the traced line is straight [m]")


def arm_hand():
    model, data = load("arm_hand.xml")
    expect((model.nv, model.nu) == (23, 23), "arm_hand has 23 dofs and as many actuators")
    arm = sum(model.body(f"link{i}").mass[0] for i in range(1, 8))
    expect_near(arm, 16.062132, 1e-9, "arm_hand: mass of links 1 to 7 of Gaz et al. [kg]")
    start(model, data, "home")
    # Vendor's DH table at the vendor's ready pose, by hand: x = 0.3069, z = 0.5903 (flange, without a tool).
    flange = data.site("flange").xpos
    expect_near(flange[0], 0.30689, 1e-4, "arm_hand: x of the flange at home [m]")
    expect_near(flange[2], 0.59028, 1e-4, "arm_hand: z of the flange at home [m]")
    check_keys(model, data, "arm_hand", ["home", "grasp"])
    start(model, data, "home")
    wanted = data.qpos[:7].copy()
    runs(model, data, "arm_hand")
    expect_near(np.degrees(np.abs(data.qpos[:7] - wanted)).max(), 0, 1.5, "arm_hand: sag under gravity [degrees]")


def humanoid():
    floating, _ = load("humanoid_floating.xml")
    model, data = load("humanoid.xml")
    expect(floating.ngeom == model.ngeom - 1 and floating.nv == model.nv, "humanoid.xml adds only the floor")
    expect((model.nv, model.nu) == (27, 21), "humanoid has 27 dofs, 21 motors")
    expect_near(model.body_mass.sum(), 75, 1e-9, "humanoid: mass [kg]")
    for part, share in dict(head=6.94, chest=15.96, abdomen=16.33, pelvis=11.17, left_upper_arm=2.71, left_forearm=1.62,
                            left_hand=0.61, left_thigh=14.16, left_shank=4.33, left_foot=1.37).items():
        expect_near(model.body(part).mass[0] / 75 * 100, share, 1e-9, f"humanoid: mass share of {part} [%]")
        twin = part.replace("left", "right")
        expect((model.body(part).inertia == model.body(twin).inertia).all(), f"humanoid: {part} and {twin} differ")
    mujoco.mj_forward(model, data)
    floor, head = model.geom("floor").id, model.geom("head").id
    top = data.xpos[model.body("head").id][2] + 0.2017 + 0.085
    expect_near(top, 1.75, 2e-4, "humanoid: stature [m]")
    expect_near(data.subtree_com[1][2] / 1.75, 0.565, 0.015, "humanoid: height of the centre of mass / stature")
    expect(mujoco.mj_geomDistance(model, data, floor, head, 3, None) > 1.5, "humanoid: head up at all zero")

    check_keys(model, data, "humanoid", ["standing", "squat", "lying"])
    for key in ("standing", "squat"):
        start(model, data, key)
        com, ankle = data.subtree_com[1], data.body("left_foot").xpos
        expect(-0.06 < com[0] - ankle[0] < 0.2, f"humanoid: centre of mass over the feet in {key}")
        for sole in ("left_sole", "right_sole"):
            gap = mujoco.mj_geomDistance(model, data, floor, model.geom(sole).id, 1, None)
            expect_near(gap, 0, 1e-3, f"humanoid: {sole} above the floor in {key} [m]")


def quadruped():
    warnings = []
    mujoco.set_mju_user_warning(warnings.append)
    spec = mujoco.MjSpec.from_file(str(FOLDER / "quadruped.urdf"))
    spec.compiler.fusestatic = False
    spec.body("trunk").add_freejoint()
    model = spec.compile()
    expect(not warnings, f"quadruped.urdf loads with warnings {warnings}")
    expect(model.nv == 18, "quadruped has 18 dofs with a free root")
    expect_near(model.body_mass.sum(), 3.3 + 4 * (0.54 + 0.634 + 0.064) + 12 * 0.055, 1e-9, "quadruped: mass [kg]")
    data = mujoco.MjData(model)
    data.qpos[7:] = np.tile([0, 0.8, -1.6], 4)
    data.qpos[2] = 1
    mujoco.mj_forward(model, data)
    expect(not overlaps(model, data), "quadruped overlaps itself standing")
    depth = data.qpos[2] - data.body("fl_foot").xpos[2]
    expect_near(depth, (0.209 + 0.195) * np.cos(0.8), 1e-12, "quadruped: trunk above the feet standing [m]")


for check in (four_bar, arm_hand, humanoid, quadruped):
    before = len(failures)
    check()
    print(f"{check.__name__}: {'ok' if len(failures) == before else 'FAILED'}")
sys.exit(1 if failures else 0)
