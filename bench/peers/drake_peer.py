#!/usr/bin/env python3
"""Drake beside Capstan: the command line and the line of JSON of the other programs (harness.h).

The scene comes from `capstan --print scene`, the verdict from `replay`, which gives the poses that were recorded here to the
same judge. Settings: contact (hydroelastic, point), approximation (lagged, similar, sap, tamsi), modulus [Pa].
"""
import importlib.metadata
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
from pydrake.geometry import (AddCompliantHydroelasticProperties, AddContactMaterial, AddRigidHydroelasticProperties, Box,
                              HalfSpace, ProximityProperties, Sphere)
from pydrake.math import RigidTransform
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction, DiscreteContactApproximation
from pydrake.multibody.tree import SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

APPROXIMATIONS = dict(lagged=DiscreteContactApproximation.kLagged, similar=DiscreteContactApproximation.kSimilar,
                      sap=DiscreteContactApproximation.kSap, tamsi=DiscreteContactApproximation.kTamsi)
CONTACTS = dict(hydroelastic=ContactModel.kHydroelasticWithFallback, point=ContactModel.kPoint)


def split(arguments):
    """The options that all programs have, the settings, and the limit of time."""
    options, settings, limit = [], {}, 60.0
    for name, value in zip(arguments[::2], arguments[1::2]):
        if name == "--set":
            key, _, text = value.partition("=")
            settings[key] = text
            continue
        if name == "--time-limit":
            limit = float(value)
        options += [name, value]
    return options, settings, limit


def properties(scene, settings, rigid):
    result = ProximityProperties()
    friction = CoulombFriction(scene["friction"], scene["friction"])
    AddContactMaterial(dissipation=50.0, point_stiffness=1e6, friction=friction, properties=result)
    if rigid:
        AddRigidHydroelasticProperties(0.1, result)
    else:
        AddCompliantHydroelasticProperties(0.05, float(settings.get("modulus", 1e7)), result)
    return result


def make(scene, settings):
    """The diagram, its plant and a context at the start; bodies in the order of the scene."""
    if scene["model_file"] or scene["joints"] > 0:
        sys.exit("Drake: this scene has parts that are not made here")
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, scene["dt"])
    plant.set_discrete_contact_approximation(APPROXIMATIONS[settings.get("approximation", "lagged")])
    plant.set_contact_model(CONTACTS[settings.get("contact", "hydroelastic")])
    plant.mutable_gravity_field().set_gravity_vector(scene["gravity"])
    rigid, compliant = properties(scene, settings, True), properties(scene, settings, False)
    if scene["plane"]:
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", rigid)
    for i, box in enumerate(scene["statics"]):
        shape = Box(*(2 * numpy.array(box["half"])))
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(box["centre"]), shape, f"static{i}", rigid)
    bodies = []
    for i, body in enumerate(scene["bodies"]):
        size = 2 * numpy.array(body["half"])
        if body["is_box"]:
            shape, inertia = Box(*size), SpatialInertia.SolidBoxWithMass(body["mass"], *size)
        else:
            shape, inertia = Sphere(size[0] / 2), SpatialInertia.SolidSphereWithMass(body["mass"], size[0] / 2)
        bodies.append(plant.AddRigidBody(f"b{i}", inertia))
        plant.RegisterCollisionGeometry(bodies[-1], RigidTransform(), shape, f"b{i}", compliant)
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    plant_context = plant.GetMyMutableContextFromRoot(context)
    for body, data in zip(bodies, scene["bodies"]):
        q = numpy.array(data["quat_wxyz"])
        start = body.floating_positions_start()
        positions = plant.GetPositions(plant_context)
        positions[start:start + 7] = numpy.concatenate([q / numpy.linalg.norm(q), data["position"]])
        plant.SetPositions(plant_context, positions)
    starts = [body.floating_positions_start() for body in bodies]
    return diagram, plant, context, plant_context, starts


def main():
    folder = pathlib.Path(sys.argv[1])  # of the other programs
    options, settings, limit = split(sys.argv[2:])
    unknown = set(settings) - {"contact", "approximation", "modulus"}
    if unknown:
        sys.exit(f"Drake has no setting '{unknown.pop()}'")
    scene = json.loads(subprocess.run([folder / "capstan", *options, "--print", "scene"], check=True, capture_output=True).stdout)
    diagram, plant, context, plant_context, starts = make(scene, settings)
    simulator = Simulator(diagram, context)
    simulator.Initialize()

    num_steps, seconds, wall, failure = round(scene["duration"] / scene["dt"]), [], [], ""
    with tempfile.NamedTemporaryFile() as recording:
        def record():
            q = plant.GetPositions(plant_context)  # of each body: quaternion, then position
            rows = numpy.array([numpy.concatenate([q[s + 4:s + 7], q[s:s + 4]]) for s in starts])
            recording.write(rows.astype(numpy.float64).tobytes())

        record()
        for k in range(num_steps):
            speed = scene["held_speed"] or (scene["start_speed"] if k == 0 else 0)
            if speed:
                v = plant.GetVelocities(plant_context)  # angular, then linear
                v[3] = speed
                plant.SetVelocities(plant_context, v)
            cpu, begin = time.thread_time(), time.perf_counter()
            try:
                simulator.AdvanceTo((k + 1) * scene["dt"])
            except RuntimeError as error:
                failure = str(error).splitlines()[0]
                break
            seconds.append(time.thread_time() - cpu)
            wall.append(time.perf_counter() - begin)
            record()
            if sum(seconds) > limit:
                break
        recording.flush()
        command = [folder / "replay", *options, "--set", f"recording={recording.name}", "--set", f"steps={len(seconds)}"]
        run = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    finish(run, settings, num_steps, seconds, wall, failure)


def finish(run, settings, num_steps, seconds, wall, failure):
    """Puts in what the replay cannot know, and prints."""
    ms = 1e3 * numpy.array(seconds)
    with open("/proc/self/status") as file:
        memory = [float(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM")][0]
    parts = [ms[k * num_steps // 20:(k + 1) * num_steps // 20] for k in range(20)]
    complete = len(seconds) == num_steps
    run.update(engine="Drake", version=importlib.metadata.version("drake"), settings=settings, failure=failure, complete=complete,
               settled=run["settled"] and complete, iterations=-1, contacts=-1, residual=-1, memory_MB=memory,
               memory_engine_MB=memory, ms_mean=ms.mean(), ms_p50=numpy.quantile(ms, 0.5), ms_p95=numpy.quantile(ms, 0.95),
               ms_max=ms.max(), wall_ms_mean=1e3 * numpy.mean(wall),
               ms_parts=[p.mean() for k, p in enumerate(parts) if (k + 1) * num_steps // 20 <= len(ms) and len(p)])
    print(json.dumps(run))


if __name__ == "__main__":
    main()
