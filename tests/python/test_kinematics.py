"""Kinematics and dynamics against arithmetic, finite differences and Pinocchio."""
import os

import numpy as np
import pytest

import capstan
from conftest import BOX, SCENES

ARM = os.path.join(SCENES, "arm_hand.xml")
QUADRUPED = os.path.join(SCENES, "quadruped.urdf")


def random_state(model, seed):
    random = np.random.default_rng(seed)
    lower, upper = model.limits
    q, v = capstan.State(model).q.copy(), random.standard_normal(model.num_velocities)
    return model.integrate(q, 0.3 * random.standard_normal(model.num_velocities)), v


@pytest.mark.parametrize("scene", ["arm_hand", "humanoid", "quadruped", "double_pendulum", "grasp"])
def test_jacobian_and_velocity_against_differences(scene):
    model = capstan.Model(scene)
    for seed in range(3):
        q, v = random_state(model, seed)
        for frame in [*model.body_names[-3:], *model.site_names[:2]]:
            J = model.jacobian(q, frame)
            np.testing.assert_allclose(model.frame_velocity(q, v, frame), J @ v, atol=1e-10)
            h = 1e-6
            ahead, behind = (model.frame_pose(model.integrate(q, v, dt), frame) for dt in (h, -h))
            np.testing.assert_allclose(J[3:] @ v, (ahead - behind)[:3, 3] / (2 * h), atol=1e-6)
            turn = (ahead - behind)[:3, :3] / (2 * h) @ model.frame_pose(q, frame)[:3, :3].T
            np.testing.assert_allclose(J[:3] @ v, [turn[2, 1], turn[0, 2], turn[1, 0]], atol=1e-6)


@pytest.mark.parametrize("scene", ["arm_hand", "humanoid", "quadruped", "four_bar"])
def test_mass_matrix_bias_and_both_dynamics_agree(scene):
    model = capstan.Model(scene)
    q, v = random_state(model, 1)
    a = np.random.default_rng(5).standard_normal(model.num_velocities)
    M, bias = model.mass_matrix(q), model.bias(q, v)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0
    tau = model.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(tau, M @ a + bias, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(model.forward_dynamics(q, v, tau), a, rtol=1e-7, atol=1e-7)
    energy = model.energy(q, v)
    if not energy["spring"]:
        assert energy["total"] == energy["kinetic"] + energy["gravity"]
    np.testing.assert_allclose(model.difference(q, model.integrate(q, 0.1 * v)), 0.1 * v, atol=1e-12)


def test_a_pendulum_by_hand():
    model = capstan.Model(capstan.scene_from_dict({
        "capstan": 1, "bodies": [{"name": "bob", "joint": {"name": "hinge", "type": "revolute", "axis": [0, 1, 0]},
                                  "inertia": {"mass": 2, "com": [0, 0, -0.5], "moments": [0.1, 0.1, 0.1]}}]}))
    np.testing.assert_allclose(model.mass_matrix([0.3]), [[0.1 + 2 * 0.25]], rtol=1e-14)
    np.testing.assert_allclose(model.bias([0.3], [1.0]), [2 * 9.81 * 0.5 * np.sin(0.3)], rtol=1e-13)
    np.testing.assert_allclose(model.center_of_mass([np.pi / 2]), [-0.5, 0, 0], atol=1e-15)
    assert model.energy([0.3], [2.0])["kinetic"] == pytest.approx(0.5 * 0.6 * 4)


def test_rays_and_contacts_at_q():
    model = capstan.Model(capstan.Scene.from_string(BOX))
    q = [0, 0, 0.095, 1, 0, 0, 0]
    hit = model.ray_cast(q, [0, 0, 3], [0, 0, -2])
    assert model.shape_names[hit["shape"]] == "sides" and hit["distance"] == pytest.approx(3 - 0.195)
    np.testing.assert_allclose(hit["normal"], [0, 0, 1])
    assert model.ray_cast(q, [0, 0, 3], [0, 0, 1]) is None
    assert model.ray_cast(q, [0, 0, 3], [0, 0, -1], max_distance=1) is None
    contacts = model.collide(q)
    assert len(contacts) == 4
    np.testing.assert_allclose(contacts["distance"], -0.005)
    assert len(model.collide([0, 0, 5, 1, 0, 0, 0])) == 0
    for bad in ([0, 0, 0], [np.nan, 0, 1]):
        with pytest.raises(ValueError):
            model.ray_cast(q, [0, 0, 3], bad)


def test_distances():
    model = capstan.Model(capstan.scene_from_dict({"capstan": 1, "shapes": [{"name": "floor", "type": "half_space"}], "bodies": [
        {"name": "ball", "joint": "free", "shape": {"type": "sphere", "radius": 0.1}},
        {"name": "box", "joint": "free", "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]},
                                                   {"type": "sphere", "radius": 0.05, "position": [-0.3, 0, 0]}]}]}))
    q = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0.])
    near = model.distance(q, "ball", "box")
    assert near["distance"] == pytest.approx(1 - 0.3 - 0.05 - 0.1) and model.shape_bodies[near["shape_b"]] == 2
    np.testing.assert_allclose(near["point_b"] - near["point_a"], near["distance"] * near["normal"], atol=1e-12)
    np.testing.assert_allclose(near["point_a"], [0.1, 0, 1], atol=1e-12)
    assert model.distance(q, "world", "box")["distance"] == pytest.approx(0.9)
    q[7] = 0.1
    assert model.distance(q, "ball", "box")["distance"] == pytest.approx(-0.1, abs=1e-6)
    for bad in (("ball", "ball"), ("ball", "nobody")):
        with pytest.raises((ValueError, KeyError)):
            model.distance(q, *bad)


def test_inverse_kinematics_finds_what_it_can_reach():
    model = capstan.Model(ARM)
    lower, upper = model.limits
    random = np.random.default_rng(7)
    home = capstan.State(model, "home").q if "home" in model.keyframe_names else capstan.State(model).q
    arm = [f"joint{i}" for i in range(1, 8)]
    found = 0
    for _ in range(20):
        goal = home.copy()
        for name in arm:
            place = model.joint(name).q
            goal[place] = np.clip(goal[place] + random.uniform(-0.5, 0.5), *model.joint(name).limits[0])
        pose = model.frame_pose(goal, "flange")
        answer = capstan.inverse_kinematics(model, "flange", pose, home, joints=arm)
        found += answer.converged
        if answer.converged:
            np.testing.assert_allclose(model.frame_pose(answer.q, "flange"), pose, atol=1e-9)
        assert (answer.q >= lower - 1e-12).all() and (answer.q <= upper + 1e-12).all()
        np.testing.assert_array_equal(answer.q[7:], home[7:])  # the hand may not move
    assert found >= 18
    far = capstan.inverse_kinematics(model, "flange", [5, 0, 0], home)
    assert not far.converged and far.error > 1
    with pytest.raises(KeyError):
        capstan.inverse_kinematics(model, "flange", [0.5, 0, 0.5], home, joints=["elbow"])
    with pytest.raises(ValueError):
        capstan.inverse_kinematics(model, "flange", np.zeros((4, 4)), home)


@pytest.mark.parametrize("path", [QUADRUPED, ARM])
def test_against_pinocchio(path):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (PyPI: pin) is not installed")
    model = capstan.Model(path)
    peer = pin.buildModelFromUrdf(path) if path.endswith(".urdf") else pin.buildModelFromMJCF(path)
    data = peer.createData()
    names = [n for n in model.joint_names if peer.existJointName(n)]
    assert len(names) == model.num_velocities == peer.nv
    order = np.array([peer.joints[peer.getJointId(name)].idx_v for name in names])  # theirs for each of ours
    peer.gravity.linear = model.gravity
    worst = 0
    for seed in range(10):
        q, v = random_state(model, seed)
        a = np.random.default_rng(100 + seed).standard_normal(model.num_velocities)
        q_peer, v_peer, a_peer = np.zeros(peer.nq), np.zeros(peer.nv), np.zeros(peer.nv)
        q_peer[order], v_peer[order], a_peer[order] = q, v, a
        pin.forwardKinematics(peer, data, q_peer, v_peer)
        pin.updateFramePlacements(peer, data)
        # Pinocchio 4.1 reads the eulerseq of MJCF another way than MuJoCo (test below) and we do: the thumb is turned.
        frames = [n for n in model.body_names[1:] if peer.existBodyName(n) and not n.startswith("thumb")]
        assert len(frames) >= 10
        for frame in frames:
            number = peer.getBodyId(frame)
            J = np.vstack(pin.computeFrameJacobian(peer, data, q_peer, number, pin.LOCAL_WORLD_ALIGNED))[:, order]
            ours = model.jacobian(q, frame)
            worst = max(worst, np.abs(ours - np.vstack([J[3:], J[:3]])).max())
            worst = max(worst, np.abs(model.frame_pose(q, frame) - data.oMf[number].homogeneous).max())
        if path == ARM:
            continue  # the mass of the thumb is elsewhere, see above
        M = pin.crba(peer, data, q_peer)
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
        worst = max(worst, np.abs(model.mass_matrix(q) - M).max())
        tau = pin.rnea(peer, data, q_peer, v_peer, a_peer)[order]
        worst = max(worst, np.abs(model.inverse_dynamics(q, v, a) - tau).max())
    print(f"{os.path.basename(path)}: largest difference from Pinocchio {worst:.1e}")
    assert worst < 1e-10


def test_inverse_kinematics_against_pinocchio():
    """Poses that Pinocchio's arm has are reached, and Pinocchio's arm is there at our answer."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (PyPI: pin) is not installed")
    model, peer = capstan.Model(ARM), pin.buildModelFromMJCF(ARM)
    data = peer.createData()
    order = np.array([peer.joints[peer.getJointId(name)].idx_v for name in model.joint_names])
    frame, arm = "palm", [f"joint{i}" for i in range(1, 8)]
    home = capstan.State(model, "home").q

    def pose(q):
        q_peer = np.zeros(peer.nq)
        q_peer[order] = q
        pin.forwardKinematics(peer, data, q_peer)
        pin.updateFramePlacements(peer, data)
        return data.oMf[peer.getBodyId(frame)].homogeneous.copy()

    random, worst, found = np.random.default_rng(3), 0, 0
    for _ in range(10):
        goal = home.copy()
        for name in arm:
            goal[model.joint(name).q] = np.clip(goal[model.joint(name).q] + random.uniform(-0.4, 0.4), *model.joint(name).limits[0])
        target = pose(goal)
        answer = capstan.inverse_kinematics(model, frame, target, home, joints=arm, tolerance=1e-11)
        if answer.converged:
            found += 1
            worst = max(worst, np.abs(pose(answer.q) - target).max())
    print(f"{found} of 10 poses reached, Pinocchio is off by {worst:.1e}")
    assert found >= 9 and worst < 1e-10


def test_the_arm_against_mujoco():
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo (PyPI: mujoco) is not installed")
    model = capstan.Model(ARM)
    peer = mujoco.MjModel.from_xml_path(ARM)
    data = mujoco.MjData(peer)
    for seed in range(5):
        q, v = random_state(model, seed)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(peer, data)
        for body in model.body_names[1:]:
            pose = model.frame_pose(q, body)
            np.testing.assert_allclose(pose[:3, 3], data.body(body).xpos, atol=1e-10)
            np.testing.assert_allclose(pose[:3, :3], data.body(body).xmat.reshape(3, 3), atol=1e-10)
            J = np.zeros((6, peer.nv))
            mujoco.mj_jacBody(peer, data, J[3:], J[:3], peer.body(body).id)
            np.testing.assert_allclose(model.jacobian(q, body), J, atol=1e-10)
        np.testing.assert_allclose(model.bias(q, v), data.qfrc_bias, atol=1e-10)
