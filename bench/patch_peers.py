#!/usr/bin/env python3
"""P1, P2 and P3 of bench/patches.cc beside Drake's hydroelastic contact (PyPI 'drake', optional), in one run: CPU time per step.

    bench/patch_peers.py build/release/programs/patches [P1] [scattered] [heap] [P3]

Both have the same sizes, masses, moduli, friction, dissipation and starts; runs take turns, so that a busy machine slows all alike.
Drake's contact is discrete, with the approximation Lagged unless told; `hint` is its resolution of round shapes, `margin` that of
speculative hydroelastic contact. One thread each.
"""
import importlib.metadata
import math
import subprocess
import sys
import time

import numpy
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import (AddCompliantHydroelasticProperties, AddContactMaterial, AddRigidHydroelasticProperties, Box, HalfSpace,
                              ProximityProperties, Sphere)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction, DiscreteContactApproximation
from pydrake.multibody.tree import SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

DRAKE = "Drake " + importlib.metadata.version("drake")
MU, DISSIPATION, G = 0.5, 20.0, 9.81


def uniform(i, j):
    """As bench/peers/scene.h has it, seed 0."""
    mask = (1 << 64) - 1
    z = (8 * i + j + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def turn_of(i):
    u = [2 * uniform(i, k) - 1 for k in range(6)]
    axis = numpy.array(u[2:5]) / numpy.linalg.norm(u[2:5])
    angle = 0.15 * u[5]
    return RotationMatrix(Quaternion(numpy.concatenate([[math.cos(angle / 2)], math.sin(angle / 2) * axis])))


class Scene:
    """A rigid ground, and compliant bodies of 1 kg."""

    def __init__(self, dt, modulus, approximation=DiscreteContactApproximation.kLagged, margin=None):
        self.builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlantSceneGraph(self.builder, dt)
        self.plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
        self.plant.set_discrete_contact_approximation(approximation)
        self.plant.mutable_gravity_field().set_gravity_vector([0, 0, -G])
        self.modulus, self.margin, self.dt, self.starts = modulus, margin, dt, []
        self.add_rigid(HalfSpace(), RigidTransform(), "ground")

    def properties(self):
        result = ProximityProperties()
        AddContactMaterial(dissipation=DISSIPATION, friction=CoulombFriction(MU, MU), properties=result)
        if self.margin is not None:
            result.AddProperty("hydroelastic", "margin", self.margin)
        return result

    def add_rigid(self, shape, pose, name):
        properties = self.properties()
        AddRigidHydroelasticProperties(0.1, properties)
        self.plant.RegisterCollisionGeometry(self.plant.world_body(), pose, shape, name, properties)

    def add_body(self, shape, pose, name, hint):
        unit = UnitInertia.SolidSphere(shape.radius()) if isinstance(shape, Sphere) else UnitInertia.SolidBox(*shape.size())
        body = self.plant.AddRigidBody(name, SpatialInertia(1.0, [0, 0, 0], unit))
        properties = self.properties()
        AddCompliantHydroelasticProperties(hint, self.modulus, properties)
        self.plant.RegisterCollisionGeometry(body, RigidTransform(), shape, name, properties)
        self.starts.append((body, pose))

    def build(self):
        self.plant.Finalize()
        diagram = self.builder.Build()
        self.simulator = Simulator(diagram)
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        for body, pose in self.starts:
            self.plant.SetFreeBodyPose(self.context, body, pose)
        self.simulator.Initialize()
        return self

    def go(self, duration):
        """CPU milliseconds of each step."""
        times, steps = [], round(duration / self.dt)
        for k in range(1, steps + 1):
            begin = time.process_time()
            self.simulator.AdvanceTo(self.simulator.get_context().get_time() + self.dt)
            times.append(1e3 * (time.process_time() - begin))
        return numpy.array(times)

    def faces(self):
        results = self.plant.get_contact_results_output_port().Eval(self.context)
        infos = [results.hydroelastic_contact_info(k) for k in range(results.num_hydroelastic_contacts())]
        return len(infos), sum(info.contact_surface().num_faces() for info in infos)

    def velocities(self):
        return self.plant.GetVelocities(self.context)


def exact_depth(modulus, radius, force):
    low, high = 0.0, radius
    for _ in range(200):
        d = (low + high) / 2
        h = radius - d
        f = modulus * math.pi * (radius**2 - h**2) - 2 * math.pi * modulus * (radius**3 - h**3) / (3 * radius)
        low, high = (d, high) if f < force else (low, d)
    return low


def rest_depth(modulus, hint):
    exact = exact_depth(modulus, 0.05, G)
    scene = Scene(1e-3, modulus)
    scene.add_body(Sphere(0.05), RigidTransform([0, 0, 0.05 - 0.9 * exact]), "ball", hint)
    times = scene.build().go(2)
    depth = 0.05 - scene.plant.EvalBodyPoseInWorld(scene.context, scene.starts[0][0]).translation()[2]
    print(f"| P1 E {modulus:.0e} | {DRAKE}, hint {1e3 * hint:g} mm | {1e3 * depth:.4f} mm (exact {1e3 * exact:.4f}, "
          f"{100 * (depth / exact - 1):+.2f} %), {scene.faces()[1]} faces, {times[1000:].mean():.4f} ms at rest |", flush=True)


def pile(name, is_heap, duration, margin):
    scene = Scene(1e-2, 1e7, margin=margin)
    if is_heap:
        for side in range(4):
            s, along_x = (1 if side < 2 else -1), side % 2 == 0
            scene.add_rigid(Box(0.1, 1.0, 0.8) if along_x else Box(0.8, 0.1, 0.8),
                            RigidTransform([0.45 * s if along_x else 0, 0 if along_x else 0.45 * s, 0.4]), f"wall{side}")
    for i in range(40 if is_heap else 90):
        c = i % 4
        wobble = [0.01 * (2 * uniform(i, k) - 1) for k in range(2)]
        at = ([(0.2 if c & 1 else -0.2) + wobble[0], (0.2 if c & 2 else -0.2) + wobble[1], 0.15 + 0.12 * (i // 4)] if is_heap else
              [0.25 * (i % 10), 0.25 * (i // 10), 0.08])
        scene.add_body(Box(0.1, 0.1, 0.1), RigidTransform(turn_of(i), at), f"box{i}", 0.1)
    times = scene.build().go(duration)
    surfaces, faces = scene.faces()
    fastest = abs(scene.velocities()).max()
    print(f"| P2 {name} | {DRAKE}{'' if margin is None else f', margin {1e3 * margin:g} mm'} | {times.mean():.3f} ms, "
          f"{times[len(times) // 2:].mean():.3f} in the second half, {times.max():.2f} worst; {surfaces} surfaces, {faces} faces; "
          f"fastest {fastest:.1e} at the end |", flush=True)


def spin(dt, approximation, name):
    scene = Scene(dt, 1e7, approximation)
    scene.add_body(Box(0.1, 0.1, 0.1), RigidTransform([0, 0, 0.05 - G * 0.05 / 1e5]), "box", 0.1)
    scene.build()
    v = scene.plant.GetVelocities(scene.context)
    v[2] = 10  # the angular velocity comes first
    scene.plant.SetVelocities(scene.context, v)
    scene.go(0.05)
    a, exact = (scene.velocities()[2] - 10) / 0.05, -MU * G * 0.0382598 * 600
    faces = scene.faces()[1]
    scene.go(0.1)
    print(f"| P3 dt {1e3 * dt:g} ms | {DRAKE}, {name} | {a:.2f} rad/s^2 (exact {exact:.2f}, {100 * (a / exact - 1):+.2f} %), {faces} faces, "
          f"{scene.velocities()[2]:.1e} rad/s after it stopped |", flush=True)


def main():
    program, asked = sys.argv[1], sys.argv[2:] or ["P1", "scattered", "heap", "P3"]
    print("| scene | engine | result |\n|---|---|---|", flush=True)
    for name in asked:
        for line in subprocess.run([program, name], capture_output=True, text=True, check=True).stdout.splitlines():
            print(line, flush=True)
        if name == "P1":
            for modulus, fine in ((1e6, 0.003), (1e7, 0.002)):
                rest_depth(modulus, 0.01)
                rest_depth(modulus, fine)
        elif name in ("scattered", "heap"):
            for margin in (None, 1e-4):
                pile("heap 40" if name == "heap" else "scattered 90", name == "heap", 3 if name == "heap" else 2, margin)
        elif name == "P3":
            for dt in (1e-3, 1e-2):
                spin(dt, DiscreteContactApproximation.kLagged, "Lagged")
                spin(dt, DiscreteContactApproximation.kSap, "SAP")


if __name__ == "__main__":
    main()
