#!/usr/bin/env python3
"""The gauntlet in Drake: drake_peer.py CAPSTAN [--accurate] [--dt s] [--limit s] [--describe] FILE..., a line of JSON for each.

The scenes are read from their files by Python's YAML reader, by bench/gauntlet/README.md alone; CAPSTAN, our program, judges the
motion. Drake has no restitution and no dry friction in joints. Where a scene asks for patches, all shapes are compliant as its
material says. --describe runs nothing: it prints what was built, for compare.py. --limit stops a scene after so many seconds of the processor.

Defaults: those of Drake but for friction: point contact (what it falls back to for shapes without hydroelastic properties), the
approximation Lagged.

Accurate, from Drake's own documentation:
* hydroelastic contact, the world rigid and bodies compliant, of boxes and convex meshes, whose contact is an area; round shapes stay
  with point contact, which has them as they are: hydroelastic ones are meshes, and a ball rolls over its facets
  (https://drake.mit.edu/doxygen_cxx/group__hydroelastic__user__guide.html). The modulus of 1e9 Pa is the stiffest of 1e7 to 1e10
  with which a dropped box came to rest.
* stiction tolerance 1e-5 m/s, by its rule "how much slip am I willing to allow?": 1 mm in 60 s
  (MultibodyPlant::set_stiction_tolerance, https://drake.mit.edu/doxygen_cxx/classdrake_1_1multibody_1_1_multibody_plant.html);
* no softening of near-rigid contacts: threshold 0 (MultibodyPlant::set_sap_near_rigid_threshold, the same page);
* the approximation Similar for impacts and Lagged for the rest, as "How to choose an approximation" of DiscreteContactApproximation
  has it (https://drake.mit.edu/doxygen_cxx/namespacedrake_1_1multibody.html).
Integrators with error control, which it has, too, take no fixed time step and are no column here.
"""
import importlib.metadata
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import yaml
from pydrake.geometry import (AddCompliantHydroelasticProperties, AddCompliantHydroelasticPropertiesForHalfSpace, AddContactMaterial, AddRigidHydroelasticProperties, Box, Capsule,
                              Convex, Cylinder, HalfSpace, ProximityProperties, Role, Sphere)
from pydrake.math import RigidTransform, RollPitchYaw, RotationMatrix
from pydrake.common.eigen_geometry import AngleAxis, Quaternion
from pydrake.common.value import Value
from pydrake.multibody.math import SpatialForce, SpatialVelocity
from pydrake.multibody.plant import (AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction, DiscreteContactApproximation,
                                     ExternallyAppliedSpatialForce)
from pydrake.multibody.tree import (BallRpyJoint, CalcSpatialInertia, FixedOffsetFrame, PdControllerGains, PrismaticJoint, PrismaticSpring,
                                    RevoluteJoint, RevoluteSpring, RotationalInertia, ScrewJoint, SpatialInertia)
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder


class CannotExpress(Exception):
    pass


def numbers(values):
    return numpy.array([float(x) for x in values])


def rotation(data):
    if "axis" in data and ("angle_deg" in data or "angle" in data):
        angle = math.radians(float(data["angle_deg"])) if "angle_deg" in data else float(data["angle"])
        axis = numbers(data["axis"])
        return RotationMatrix(AngleAxis(angle, axis / numpy.linalg.norm(axis)))
    if "z_axis" in data:
        return RotationMatrix.MakeFromOneVector(numbers(data["z_axis"]), 2)
    return RotationMatrix()


def pose(data):
    return RigidTransform(rotation(data), numbers(data.get("position", [0, 0, 0])))


def shape_of(data, folder):
    """Drake's shape, and where it is in the body."""
    kind, X = data["type"], pose(data)
    if kind in ("capsule", "cylinder"):
        length, radius = float(data.get("length", 0)), float(data["radius"])
        if "from" in data:
            a, b = numbers(data["from"]), numbers(data["to"])
            length = numpy.linalg.norm(b - a)
            X = RigidTransform(RotationMatrix.MakeFromOneVector((b - a) / length, 2), (a + b) / 2)
        return (Capsule if kind == "capsule" else Cylinder)(radius, length), X
    if kind == "sphere":
        return Sphere(float(data["radius"])), X
    if kind == "box":
        return Box(*numbers(data["size"])), X
    if kind == "half_space":
        return HalfSpace(), X
    if kind == "mesh" and data.get("kind", "convex") == "convex":
        return Convex(str(folder / data["file"])), X
    raise CannotExpress("point contact takes a mesh as its convex hull" if kind == "mesh" else f"no {kind.replace('_', ' ')}s")


def inertia_of(body, shapes, folder):
    if "inertia" in body:
        data = body["inertia"]
        m = numbers(data["moments"])
        return SpatialInertia.MakeFromCentralInertia(float(data["mass"]), numbers(data.get("com", [0, 0, 0])), RotationalInertia(*m))
    total = SpatialInertia.Zero()
    for data in shapes:
        if data.get("visual"):
            continue
        shape, X = shape_of(data, folder)
        unit = CalcSpatialInertia(shape, 1.0)
        density = float(data["mass"]) / unit.get_mass() if "mass" in data else float(data.get("density", 1000))
        total += CalcSpatialInertia(shape, density).ReExpress(X.rotation()).Shift(-X.translation())
    return total


class Scene:
    def __init__(self, path, dt, accurate):
        self.data, self.folder, self.accurate = yaml.safe_load(path.read_text()), path.parent, accurate
        self.options = self.data["options"]
        self.material = (self.data.get("materials") or [{}])[0]
        if float(self.material.get("restitution", 0)) > 0:
            raise CannotExpress("no coefficient of restitution")
        if "friction_tensor" in self.material:
            raise CannotExpress("friction has no direction")
        if self.data.get("rods") or self.data.get("soft_bodies"):
            raise CannotExpress("no rods" if self.data.get("rods") else "soft bodies are not made here")
        builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlantSceneGraph(builder, dt)
        if not accurate and self.material.get("contact") != "patch":
            self.plant.set_contact_model(ContactModel.kPoint)
        if accurate:
            self.plant.set_stiction_tolerance(1e-5)
            self.plant.set_sap_near_rigid_threshold(0)
            if self.data["extra"]["group"] in ("impact", "no tunneling"):
                self.plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSimilar)
        self.plant.mutable_gravity_field().set_gravity_vector(numbers(self.options.get("gravity", [0, 0, -9.81])))
        self.bodies, self.joints, self.joint_data, self.free, self.pushes = [], {}, {}, [], {}
        for data in self.data.get("shapes") or []:
            self.add_shape(data, self.plant.world_body(), data["name"], True)
        for body in self.data["bodies"]:
            self.add_body(body, self.plant.world_body())
        for data in self.data.get("constraints") or []:
            self.add_constraint(data)
        self.add_actuators()
        self.plant.Finalize()
        self.diagram = builder.Build()
        self.context = self.diagram.CreateDefaultContext()
        self.plant_context = self.plant.GetMyMutableContextFromRoot(self.context)
        self.start()

    def add_shape(self, data, body, name, is_world):
        if data.get("visual") or data.get("collides") is False:
            return
        if "surface_velocity" in data:
            raise CannotExpress("belts are not made here")
        shape, X = shape_of(data, self.folder)
        mu = float(self.material.get("friction", 0.5))
        properties = ProximityProperties()
        AddContactMaterial(friction=CoulombFriction(mu, mu), properties=properties)
        if self.material.get("contact") == "patch":
            modulus = float(self.material["elastic_modulus"])
            if isinstance(shape, HalfSpace):
                AddCompliantHydroelasticPropertiesForHalfSpace(float(data.get("thickness", 0.1)), modulus, properties)
            else:
                size = min(getattr(shape, "radius", lambda: 1.0)(), *(shape.size() if isinstance(shape, Box) else [1.0]))
                AddCompliantHydroelasticProperties(0.1 * size, modulus, properties)
        elif self.accurate and not isinstance(shape, (Sphere, Capsule, Cylinder)):
            if is_world:
                AddRigidHydroelasticProperties(0.1, properties)
            else:
                size = min(shape.size()) if isinstance(shape, Box) else 1.0
                AddCompliantHydroelasticProperties(0.25 * size, 1e9, properties)
        self.plant.RegisterCollisionGeometry(body, X, shape, name, properties)

    def add_body(self, data, parent):
        shapes = ([data["shape"]] if "shape" in data else []) + (data.get("shapes") or [])
        body = self.plant.AddRigidBody(data["name"], inertia_of(data, shapes, self.folder))
        for i, shape in enumerate(shapes):
            self.add_shape(shape, body, f"{data['name']}_{i}", False)
        self.bodies.append(body)
        joint = data["joint"] if isinstance(data["joint"], dict) else {"type": data["joint"]}
        name = joint.get("name", data["name"])
        if joint["type"] == "free":
            self.free.append((body, data, joint))
            self.joints[name] = body
        else:
            self.joints[name] = self.make_joint(name, joint, body, data, parent)
        for child in data.get("children") or []:
            self.add_body(child, body)

    def make_joint(self, name, data, body, body_data, parent):
        if float(data.get("dry_friction", 0)) > 0:
            raise CannotExpress("no dry friction in joints")
        axis, kind, X = numbers(data.get("axis", [0, 0, 1])), data["type"], pose(body_data)
        frame = self.plant.AddFrame(FixedOffsetFrame(name + "_frame", parent.body_frame(), X))
        lower, upper = -math.inf, math.inf
        if "limits_deg" in data:
            lower, upper = (math.radians(float(x)) for x in data["limits_deg"])
        if kind == "revolute":
            joint = RevoluteJoint(name, frame, body.body_frame(), axis, lower, upper)
        elif kind == "prismatic":
            joint = PrismaticJoint(name, frame, body.body_frame(), axis)
        elif kind == "ball":
            joint = BallRpyJoint(name, frame, body.body_frame())
        elif kind == "screw":
            joint = ScrewJoint(name, frame, body.body_frame(), axis, 2 * math.pi * float(data["pitch"]), 0)
        else:
            raise CannotExpress(f"no joint {kind}")
        joint = self.plant.AddJoint(joint)
        if float(data.get("stiffness", 0)) > 0:
            spring = RevoluteSpring if kind == "revolute" else PrismaticSpring
            self.plant.AddForceElement(spring(joint, 0.0, float(data["stiffness"])))
        self.joint_data[name] = data
        return joint

    def add_constraint(self, data):
        if data["type"] == "ball":
            a, b = (self.plant.GetBodyByName(data[k]) for k in ("body_a", "body_b"))
            self.plant.AddBallConstraint(a, numbers(data["point_a"]), b, numbers(data["point_b"]))
        else:
            self.plant.AddCouplerConstraint(self.joints[data["joint_a"]], self.joints[data["joint_b"]], float(data["multiplier"]))

    def add_actuators(self):
        for data in self.data.get("actuators") or []:
            joint = self.joints[data["joint"]]
            if "gear" in data:
                self.pushes[data["joint"]] = numbers(data["gear"]) * float(data["control"])
                continue
            limit = float(data.get("effort_limit", math.inf))
            actuator = self.plant.AddJointActuator(data["name"], joint, limit)
            if data["type"] == "pd":
                actuator.set_controller_gains(PdControllerGains(p=float(data["stiffness"]), d=float(data["damping"])))

    def start(self):
        plant, context = self.plant, self.plant_context
        for name, data in self.joint_data.items():
            joint = self.joints[name]
            if data["type"] == "ball":
                q = numbers(data.get("initial", [1, 0, 0, 0]))
                rpy = RollPitchYaw(Quaternion(q / numpy.linalg.norm(q)))
                joint.set_angles(context, rpy.vector())
                joint.set_angular_velocity(context, numbers(data.get("initial_velocity", [0, 0, 0])))
                continue
            q = math.radians(float(data["initial_deg"])) if "initial_deg" in data else float(data.get("initial", 0))
            v = float(data.get("initial_velocity", 0))
            plant.SetPositions(context, joint_positions(plant.GetPositions(context), joint.position_start(), q))
            plant.SetVelocities(context, joint_positions(plant.GetVelocities(context), joint.velocity_start(), v))
        for body, data, joint in self.free:
            plant.SetFreeBodyPose(context, body, pose(data))
            v = numbers(joint.get("initial_velocity", [0] * 6))
            plant.SetFreeBodySpatialVelocity(context, body, SpatialVelocity(w=v[3:], v=v[:3]))
        if self.pushes:
            forces = []
            for name, wrench in self.pushes.items():
                body, force = self.joints[name], ExternallyAppliedSpatialForce()
                force.body_index, force.p_BoBq_B = body.index(), numpy.zeros(3)
                force.F_Bq_W = SpatialForce(tau=wrench[3:], f=wrench[:3])
                forces.append(force)
            plant.get_applied_spatial_force_input_port().FixValue(context, Value(forces))
        self.fix_actuation()

    def fix_actuation(self):
        plant, actuators = self.plant, self.data.get("actuators") or []
        by_name = {a["name"]: a for a in actuators if "gear" not in a}
        if not by_name:
            return
        n = plant.num_actuators()
        u, desired = numpy.zeros(n), numpy.zeros(2 * n)  # desired positions, then velocities
        for index in plant.GetJointActuatorIndices():
            actuator = plant.get_joint_actuator(index)
            data = by_name[actuator.name()]
            if data["type"] == "pd":
                desired[actuator.input_start()] = float(data.get("target", 0))
            else:
                u[actuator.input_start()] = float(data["control"])
        plant.get_actuation_input_port().FixValue(self.plant_context, u)
        if any(data["type"] == "pd" for data in by_name.values()):
            instance = plant.get_joint_actuator(plant.GetJointActuatorIndices()[0]).model_instance()
            plant.get_desired_state_input_port(instance).FixValue(self.plant_context, desired)

    def describe(self):
        """What Drake has, asked of Drake: masses, inertias, starts and shapes in world axes (BuiltBody, BuiltShape in gauntlet.h)."""
        plant, context, bodies, shapes = self.plant, self.plant_context, [], []
        for body in self.bodies:
            X, V = plant.EvalBodyPoseInWorld(context, body), plant.EvalBodySpatialVelocityInWorld(context, body)
            M, R = body.CalcSpatialInertiaInBodyFrame(context), X.rotation().matrix()
            central = M.Shift(M.get_com()).CalcRotationalInertia().CopyToFullMatrix3()
            bodies.append(dict(name=body.name(), mass=M.get_mass(), com=list(X @ M.get_com()), inertia=columns(R @ central @ R.T),
                               position=list(X.translation()), rotation=columns(R), velocity=list(V.translational()),
                               angular=list(V.rotational())))
        inspector = self.scene_graph.model_inspector()
        for frame in inspector.GetAllFrameIds():
            for geometry in inspector.GetGeometries(frame, Role.kProximity):
                body, shape = plant.GetBodyFromFrameId(frame), inspector.GetShape(geometry)
                X = plant.EvalBodyPoseInWorld(context, body) @ inspector.GetPoseInFrame(geometry)
                shapes.append(dict(body="" if body.index() == 0 else body.name(), position=list(X.translation()),
                                   rotation=columns(X.rotation().matrix()), **described_shape(shape, X)))
        return dict(gravity=list(plant.gravity_field().gravity_vector()), bodies=bodies, shapes=shapes)

    def line(self, t):
        row = [t]
        for body in self.bodies:
            X = self.plant.EvalBodyPoseInWorld(self.plant_context, body)
            V = self.plant.EvalBodySpatialVelocityInWorld(self.plant_context, body)
            row += [*X.translation(), *X.rotation().ToQuaternion().wxyz(), *V.translational(), *V.rotational()]
        return " ".join(repr(float(x)) for x in row)


def columns(matrix):
    return [float(x) for x in matrix.T.flatten()]


def described_shape(shape, X):
    if isinstance(shape, Sphere):
        return dict(type="sphere", size=[shape.radius()])
    if isinstance(shape, Box):
        return dict(type="box", size=list(shape.size()))
    if isinstance(shape, (Capsule, Cylinder)):
        return dict(type=type(shape).__name__.lower(), size=[shape.radius(), shape.length()])
    if isinstance(shape, HalfSpace):
        return dict(type="half_space", size=[])
    hull = shape.GetConvexHull()
    points = numpy.array([X @ hull.vertex(i) for i in range(hull.num_vertices())])
    return dict(type="mesh", size=[*points.min(axis=0), *points.max(axis=0)])


def joint_positions(values, at, value):
    values = values.copy()
    values[at] = value
    return values


def run(capstan, path, dt, accurate, limit):
    line = dict(engine="Drake", version=importlib.metadata.version("drake"), accurate=accurate, dt=dt, scene=path.stem)
    began = time.process_time()
    try:
        scene = Scene(path, dt, accurate)
    except CannotExpress as reason:
        return dict(line, cannot=str(reason))
    simulator = Simulator(scene.diagram, scene.context)
    lines, trouble = [scene.line(0)], ""
    try:
        simulator.Initialize()
        for k in range(1, round(float(scene.options["duration"]) / dt) + 1):
            simulator.AdvanceTo(k * dt)
            lines.append(scene.line(k * dt))
            if time.process_time() - began > limit:
                raise RuntimeError(f"took more than {limit:g} s of the processor")
    except RuntimeError as error:
        trouble = str(error).splitlines()[0][:200]
    if trouble:
        return dict(line, measured=None, error=None, trouble=trouble, **{"pass": False})
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file, tempfile.NamedTemporaryFile(suffix=".json") as verdict:
        file.write("\n".join(lines) + "\n")
        file.flush()
        subprocess.run([capstan, "gauntlet", path, "--judge", file.name, "--json", verdict.name], check=True, capture_output=True)
        row = json.loads(pathlib.Path(verdict.name).read_text())["rows"][0]
    return dict(line, **{k: row[k] for k in ("measured", "error", "pass")}, trouble="")


def described(path, accurate):
    """A line for compare.py."""
    try:
        return dict(scene=path.stem, built=Scene(path, 0.005, accurate).describe())
    except CannotExpress as reason:
        return dict(scene=path.stem, cannot=str(reason))


def option(arguments, name, default):
    return float(arguments[arguments.index(name) + 1]) if name in arguments else default


def main():
    arguments = sys.argv[2:]
    accurate = "--accurate" in arguments
    for name in arguments:
        if not name.endswith(".yaml"):
            continue
        if "--describe" in arguments:
            row = described(pathlib.Path(name), accurate)
        else:
            row = run(sys.argv[1], pathlib.Path(name), option(arguments, "--dt", 0.005), accurate, option(arguments, "--limit", math.inf))
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
