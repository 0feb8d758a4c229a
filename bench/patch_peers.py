#!/usr/bin/env python3
"""The scenes of bench/patches.cc beside Drake's hydroelastic contact (PyPI 'drake', optional), in one run: CPU time per step, forces.

    bench/patch_peers.py build/release/programs/patches [P1] [scattered] [heap] [P3] [mug] [statics]

Both have the same sizes, masses, moduli, friction, dissipation and starts; runs take turns, so that a busy machine slows all alike.
Drake's contact is discrete, with the approximation Lagged unless told; `hint` is its resolution of round shapes, `margin` that of
speculative hydroelastic contact. One thread each.
"""
import importlib.metadata
import math
import subprocess
import sys
import tempfile
import time

import numpy
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import (AddCompliantHydroelasticProperties, AddCompliantHydroelasticPropertiesForHalfSpace, AddContactMaterial,
                              AddRigidHydroelasticProperties, Box, Capsule, Cylinder, Ellipsoid, FramePoseVector, GeometryFrame,
                              GeometryInstance, HalfSpace, HydroelasticContactRepresentation, Mesh, ProximityProperties, SceneGraph, Sphere)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction, DiscreteContactApproximation
from pydrake.multibody.tree import PdControllerGains, PrismaticJoint, RotationalInertia, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

DRAKE = "Drake " + importlib.metadata.version("drake")
MU, DISSIPATION, G = 0.5, 20.0, 9.81
HINT = 0.002  # [m] resolution of shapes in fixed poses


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

    def __init__(self, dt, modulus, approximation=DiscreteContactApproximation.kLagged, margin=None, has_ground=True):
        self.builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlantSceneGraph(self.builder, dt)
        self.plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
        self.plant.set_discrete_contact_approximation(approximation)
        self.plant.mutable_gravity_field().set_gravity_vector([0, 0, -G])
        self.modulus, self.margin, self.dt, self.starts = modulus, margin, dt, []
        if has_ground:
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


def grip_mug(program, approximation, name):
    """As grip_mug() of bench/patches.cc."""
    dt, duration, swing = 0.005, 3, 0.05
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, f"mug={folder}/mug.obj"], check=True)
        scene = Scene(dt, 1e6, approximation, has_ground=False)
        plant = scene.plant
        inertia = SpatialInertia.MakeFromCentralInertia(0.3, [0, 0, 0], RotationalInertia(4e-4, 4e-4, 4e-4))
        mug = plant.AddRigidBody("mug", inertia)
        properties = scene.properties()
        AddRigidHydroelasticProperties(0.1, properties)
        plant.RegisterCollisionGeometry(mug, RigidTransform(), Mesh(f"{folder}/mug.obj"), "mug", properties)
        scene.starts.append((mug, RigidTransform()))
        palm = plant.AddRigidBody("palm", SpatialInertia(1.0, [0, 0, 0], UnitInertia.SolidBox(0.02, 0.02, 0.02)))
        lift = plant.AddJoint(PrismaticJoint("lift", plant.world_frame(), palm.body_frame(), [0, 0, 1]))
        plant.AddJointActuator("lift", lift).set_controller_gains(PdControllerGains(p=1e4, d=200))
        for side in (-1, 1):
            finger = plant.AddRigidBody(f"finger{side}", SpatialInertia(0.2, [0, 0, 0], UnitInertia.SolidBox(0.04, 0.02, 0.04)))
            properties = scene.properties()
            AddCompliantHydroelasticProperties(0.1, scene.modulus, properties)
            plant.RegisterCollisionGeometry(finger, RigidTransform([0, side * 0.0495, 0]), Box(0.04, 0.02, 0.04), f"pad{side}", properties)
            joint = plant.AddJoint(PrismaticJoint(f"grip{side}", palm.body_frame(), finger.body_frame(), [0, -side, 0]))
            plant.AddJointActuator(f"grip{side}", joint)
        scene.build()
        wanted = plant.get_desired_state_input_port(lift.model_instance())
        times, polygons = [], 0
        plant.get_actuation_input_port().FixValue(scene.context, [0, 20, 20])
        for k in range(round(duration / dt)):
            wanted.FixValue(scene.context, [swing * (1 - math.cos(2 * math.pi * dt * (k + 1))), 0, 0, 0, 0, 0])
            begin = time.process_time()
            scene.simulator.AdvanceTo((k + 1) * dt)
            times.append(1e3 * (time.process_time() - begin))
            if k % 10 == 9:  # not timed
                polygons += scene.faces()[1] / (duration / dt / 10)
        slip = plant.EvalBodyPoseInWorld(scene.context, mug).translation()[2] - lift.get_translation(scene.context)
        times = numpy.array(times)
        print(f"| mug | {DRAKE}, {name} | {times.mean():.3f} ms, worst {times.max():.2f}; {polygons:.0f} faces; "
              f"the mug slips {-1e3 * slip:.3f} mm in {duration} s |", flush=True)


def drake_properties(shape, modulus):
    properties = ProximityProperties()
    if math.isinf(modulus):
        AddRigidHydroelasticProperties(HINT, properties)
    elif isinstance(shape, HalfSpace):
        AddCompliantHydroelasticPropertiesForHalfSpace(0.1, modulus, properties)
    else:
        AddCompliantHydroelasticProperties(HINT, modulus, properties)
    return properties


def drake_wrench(upper, lower, modulus_upper, modulus_lower, pose):
    """The force on the upper shape and its moment about the origin, from the polygons of equal pressure; their number."""
    graph = SceneGraph()
    source = graph.RegisterSource("statics")
    ids = []
    for shape, modulus, name, X in ((lower, modulus_lower, "lower", RigidTransform()), (upper, modulus_upper, "upper", pose)):
        frame = graph.RegisterFrame(source, GeometryFrame(name))
        instance = GeometryInstance(RigidTransform(), shape, name)
        instance.set_proximity_properties(drake_properties(shape, modulus))
        ids.append((frame, graph.RegisterGeometry(source, frame, instance), X))
    context = graph.CreateDefaultContext()
    poses = graph.get_source_pose_port(source)
    vector = FramePoseVector()
    for frame, _, X in ids:
        vector.set_value(frame, X)
    poses.FixValue(context, vector)
    query = graph.get_query_output_port().Eval(context)
    force, moment, faces = numpy.zeros(3), numpy.zeros(3), 0
    for surface in query.ComputeContactSurfaces(HydroelasticContactRepresentation.kTriangle):
        sign = 1 if surface.id_M() == ids[1][1] else -1  # normals point out of N into M
        mesh, field = surface.tri_mesh_W(), surface.tri_e_MN()
        for k in range(surface.num_faces()):
            triangle = mesh.element(k)
            vertices = [mesh.vertex(triangle.vertex(j)) for j in range(3)]
            pressures = [field.EvaluateAtVertex(triangle.vertex(j)) for j in range(3)]
            total = surface.area(k) * sum(pressures) / 3
            # The centre of pressure of a triangle with a linear pressure.
            weights = [(sum(pressures) + p) / 4 for p in pressures]
            f = sign * total * surface.face_normal(k)
            force += f
            if sum(pressures) > 0:
                centre = sum(w * v for w, v in zip(weights, vertices)) / sum(weights)
                moment += numpy.cross(centre, f)
        faces += surface.num_faces()
    return force, moment, faces


def statics(lines):
    """Each row of statics() beside Drake's polygons; the worst of each pair."""
    shapes = {"brick": Box(0.06, 0.1, 0.14), "rigid_brick": Box(0.06, 0.1, 0.14), "block": Box(0.16, 0.16, 0.16), "ball": Sphere(0.05),
              "rigid_block": Box(0.16, 0.16, 0.16), "cylinder": Cylinder(0.05, 0.12), "capsule": Capsule(0.04, 0.12),
              "ellipsoid": Ellipsoid(0.03, 0.05, 0.07), "plane": HalfSpace(), "layer": HalfSpace()}
    moduli = {"block": 3e6, "plane": math.inf, "rigid_block": math.inf, "rigid_brick": math.inf}
    worst = {}
    for line in lines:
        name = line.split()[2]
        upper, lower = (name.rsplit("_", 2)[0], "rigid_block") if name.endswith("rigid_block") else name.rsplit("_", 1)
        numbers = [float(x) for x in line.split("|")[3].split()]
        pose = RigidTransform(RotationMatrix(Quaternion(numpy.array(numbers[4:8]) / numpy.linalg.norm(numbers[4:8]))), numbers[1:4])
        ours, our_moment = numpy.array(numbers[8:11]), numpy.array(numbers[11:14])
        force, moment, faces = drake_wrench(shapes[upper], shapes[lower], moduli.get(upper, 1e6), moduli.get(lower, 1e6), pose)
        size = numpy.linalg.norm(force)
        worst.setdefault(name, []).append((numpy.linalg.norm(ours - force) / size, numpy.linalg.norm(our_moment - moment) / size, faces))
    for name, rows in worst.items():
        off, arm, faces = (numpy.array(x) for x in zip(*rows))
        print(f"| statics {name} | Capstan - {DRAKE} | force off by {100 * off.max():.2f} % at most, {100 * off.mean():.2f} on average; "
              f"its arm by {1e3 * arm.max():.3f} mm at most; {faces.mean():.0f} faces; {len(rows)} poses |", flush=True)


def main():
    program, asked = sys.argv[1], sys.argv[2:] or ["P1", "scattered", "heap", "P3", "mug", "statics"]
    print("| scene | engine | result |\n|---|---|---|", flush=True)
    for name in asked:
        lines = subprocess.run([program, name], capture_output=True, text=True, check=True).stdout.splitlines()
        if name == "statics":
            statics(lines)
            continue
        for line in lines:
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
        elif name == "mug":
            grip_mug(program, DiscreteContactApproximation.kLagged, "Lagged")
            grip_mug(program, DiscreteContactApproximation.kSap, "SAP")


if __name__ == "__main__":
    main()
