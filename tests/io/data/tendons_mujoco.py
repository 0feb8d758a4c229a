#!/usr/bin/env python3
"""What MuJoCo makes of tendons.xml: writes tendons_mujoco.txt, which tests/io/mjcf_tendon_test.cc reads.

    tests/io/data/tendons_mujoco.py   (with the Python package mujoco)
"""
import os

import mujoco
import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
model = mujoco.MjModel.from_xml_path(os.path.join(HERE, "tendons.xml"))
data = mujoco.MjData(model)
random = numpy.random.default_rng(28)


def row(out, word, *arrays):
    print(word, *(repr(float(x)) for a in arrays for x in numpy.ravel(a)), file=out)


def moments(kind):
    """Lengths, then the derivative of each to each velocity."""
    J = numpy.zeros((model.ntendon, model.nv))
    for t in range(model.ntendon):
        begin, count = model.ten_J_rowadr[t], model.ten_J_rownnz[t]
        for k in range(begin, begin + count):
            J[t, model.ten_J_colind[k]] = data.ten_J.ravel()[k]
    return J


with open(os.path.join(HERE, "tendons_mujoco.txt"), "w", encoding="utf-8") as out:
    print(f"# MuJoCo {mujoco.__version__}, by tendons_mujoco.py", file=out)
    row(out, "rest", model.tendon_lengthspring[:, 0], model.tendon_lengthspring[:, 1])
    for _ in range(24):
        data.qpos[:] = random.uniform([-1.5, -1.8, -0.1], [1.5, 1.8, 0.1])
        data.qvel[:] = random.normal(size=model.nv)
        data.ctrl[:] = random.uniform(-1.2, 1.2, model.nu)
        data.act[:] = random.uniform(0, 1, model.na)
        mujoco.mj_forward(model, data)
        row(out, "state", data.qpos, data.qvel, data.ctrl, data.act)
        row(out, "length", data.ten_length)
        row(out, "rate", data.ten_velocity)
        row(out, "moment", moments(model))
        row(out, "force", data.actuator_force)
        row(out, "tau", data.qfrc_passive + data.qfrc_actuator)
    # One explicit step of the activations.
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.timestep = 0.004
    for _ in range(12):
        mujoco.mj_resetData(model, data)
        data.ctrl[:] = random.uniform(-1.2, 1.2, model.nu)
        data.act[:] = random.uniform(0, 1, model.na)
        row(out, "before", data.ctrl, data.act)
        mujoco.mj_step(model, data)
        row(out, "after", data.act)
    # A motion: all activations at rest, so that both integrate the same smooth forces.
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = 1e-4
    mujoco.mj_resetData(model, data)
    data.qpos[:] = [0.3, 0.5, 0.02]
    data.ctrl[:] = [-1, 0.4, 0.5, 0.2, 1, 0, 0.3, 0.4, 0.2, 0.1, 0.5]
    data.act[:] = [0.5, 0.2, 0.05, 0.3, 0.4, 0.2, 0.1]
    row(out, "start", data.qpos, data.ctrl, data.act)
    for k in range(1, 6001):
        mujoco.mj_step(model, data)
        if k % 1000 == 0:
            row(out, "at", [data.time], data.qpos, data.qvel, data.ten_length)
