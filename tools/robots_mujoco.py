"""One file in MuJoCo, for robots.py: prints JSON, or says why not with exit code 3."""
import json
import sys
import time

try:
    import mujoco
    import numpy
except ImportError:
    print("the Python package mujoco is not installed")
    sys.exit(3)


def main(file, seconds):
    try:
        model = mujoco.MjModel.from_xml_path(file)
    except ValueError as problem:
        print(" ".join(str(problem).split()))
        sys.exit(3)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    M = numpy.zeros((model.nv, model.nv))
    if model.nv <= 400:
        for k in range(model.nv):
            unit = numpy.zeros(model.nv)
            unit[k] = 1
            column = numpy.zeros(model.nv)
            mujoco.mj_mulM(model, data, column, unit)
            M[:, k] = column
    result = {"mass": float(model.body_mass[1:].sum()), "M": M.tolist() if model.nv <= 400 else [],
              "q": data.qpos.tolist(),
              "masses": {model.body(b).name: float(model.body_mass[b]) for b in range(1, model.nbody)}}
    if seconds > 0:
        steps = int(seconds / model.opt.timestep)
        began = time.process_time()
        done = 0
        while done < steps and time.process_time() - began < 60:
            chunk = min(10, steps - done)
            mujoco.mj_step(model, data, chunk)
            done += chunk
        result["step_us"] = 1e6 * (time.process_time() - began) / max(done, 1)
        bad = [mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC]
        result["stable"] = all(data.warning[int(w)].number == 0 for w in bad)
        result["speed"] = float(abs(data.qvel).max()) if model.nv else 0.0
    print(json.dumps(result))


main(sys.argv[1], float(sys.argv[2]))
