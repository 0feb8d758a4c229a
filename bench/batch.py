"""Steps per second of many runs at once: capstan.rollout beside mujoco.rollout and mujoco.batch (PyPI), one and two threads.

    PYTHONPATH=build/release/python build/python/bin/python3 bench/batch.py [--runs 16] [--steps 200] [--rounds 5] [--cpu] [--contact-law name]

Two scenes, both read from the same MJCF: the humanoid of scenes/humanoid.xml from its keyframe "squat" with random
controls, and ten boxes and balls that fall on a floor. Both engines take the same number of steps of the same length. The
best of several rounds is taken, the engines in turn, so that a busy machine disturbs both alike. Also: what a call of
sim.step() costs over the step itself.
"""
import argparse
import os
import pathlib
import time

import numpy as np

import capstan

SOURCE = pathlib.Path(__file__).parents[1]


def clutter():
    """Ten bodies over a floor, as MJCF."""
    random = np.random.default_rng(0)
    bodies = ""
    for i in range(10):
        x, y, z = *random.uniform(-0.12, 0.12, 2), 0.1 + 0.12 * i
        shape = 'type="box" size=".05 .04 .03"' if i % 2 else 'type="sphere" size=".045"'
        bodies += f'<body pos="{x} {y} {z}"><freejoint/><geom {shape} density="500"/></body>'
    return f'<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="2 2 .1"/>{bodies}</worldbody></mujoco>'


def best(work, rounds, clock=time.perf_counter):
    times = []
    for _ in range(rounds):
        begin = clock()
        work()
        times.append(clock() - begin)
    return min(times)


def measure(name, text, path, arguments, dt):
    runs, steps = arguments.runs, arguments.steps
    model = capstan.Model(path if path else capstan.Scene.from_string(text))
    keyframe = "squat" if "squat" in model.keyframe_names else None
    start = capstan.State(model, keyframe)
    controls = np.random.default_rng(1).uniform(-0.3, 0.3, (runs, steps, model.num_controls))
    work = {}
    for threads in (1, 2):
        work["Capstan", threads] = lambda threads=threads: capstan.rollout(
            model, [start] * runs, controls if model.num_controls else None, steps, threads=threads, dt=dt,
            contact_law=arguments.contact_law)
    try:
        import mujoco
        import mujoco.rollout
    except ImportError:
        print("no MuJoCo (pip install mujoco): Capstan alone")
    else:
        peer = mujoco.MjModel.from_xml_path(path) if path else mujoco.MjModel.from_xml_string(text)
        peer.opt.timestep = dt
        data = mujoco.MjData(peer)
        if keyframe:
            mujoco.mj_resetDataKeyframe(peer, data, peer.key(keyframe).id)
        full = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.zeros(mujoco.mj_stateSize(peer, full))
        mujoco.mj_getState(peer, data, state, full)
        for threads in (1, 2):
            pool = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)
            datas = [mujoco.MjData(peer) for _ in range(threads)]
            work[f"MuJoCo {mujoco.__version__}", threads] = lambda pool=pool, datas=datas: pool.rollout(
                peer, datas, np.tile(state, (runs, 1)), controls if peer.nu else None, nstep=steps)
        try:
            import mujoco.batch
        except ImportError:
            print(f"MuJoCo {mujoco.__version__} has no mujoco.batch")
        else:
            start_at = peer.key(keyframe).id if keyframe else -1
            for threads in (1, 2):
                def go(batch=mujoco.batch.Batch(peer, nsim=runs, nthread=threads)):
                    batch.reset(keyframe=start_at)
                    batch.rollout(steps, controls if peer.nu else None)
                work[f"MuJoCo {mujoco.__version__} batch", threads] = go
    times, clock = {key: [] for key in work}, time.process_time if arguments.cpu else time.perf_counter
    for _ in range(arguments.rounds):
        for key, run in work.items():
            times[key].append(best(run, 1, clock))
    rate = {key: runs * steps / min(t) for key, t in times.items()}
    for (engine, threads), steps_per_second in rate.items():
        print(f"{name:10} {engine:18} {threads} thread{'s' if threads > 1 else ' '} {steps_per_second:10.0f} steps/s  "
              f"{steps_per_second / rate[engine, 1]:.2f} of one thread")
    peers = [key for key in rate if key[0] != "Capstan"]
    for key in peers:
        print(f"{name:10} Capstan / {key[0]}, {key[1]} thread(s): {rate['Capstan', key[1]] / rate[key]:.2f}")


def overhead():
    sim = capstan.load("double_pendulum")
    n = 20_000
    def one_call():
        sim.reset()
        sim.step(n)
    def many_calls():
        sim.reset()
        for _ in range(n):
            sim.step()
    print(f"overhead of a call of sim.step(): {1e6 * (best(many_calls, 5, time.process_time) - best(one_call, 5, time.process_time)) / n:.2f} us")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option, value in (("--runs", 16), ("--steps", 200), ("--rounds", 5)):
        parser.add_argument(option, type=int, default=value)
    parser.add_argument("--contact-law", help="Capstan's, if not the default one")
    parser.add_argument("--cpu", action="store_true", help="time of the processors instead of the clock: on a busy machine, "
                        "for one thread; says nothing of how two share the work")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    overhead()
    measure("humanoid", None, str(SOURCE / "scenes/humanoid.xml"), arguments, 0.005)
    measure("clutter", clutter(), None, arguments, 0.005)
