"""What references.py and formulas.py share: the numbers of a scene file, roots, integrals, differential equations."""
import math

import yaml

REFERENCES = {}


def reference(*names):
    """A function of the scene that gives the answer: for these scenes."""
    def keep(function):
        REFERENCES.update(dict.fromkeys(names, function))
        return function
    return keep


class Scene:
    def __init__(self, path):
        self.name, self.data = path.stem, yaml.safe_load(path.read_text())
        self.extra, self.folder = self.data["extra"], path.parent
        self.t = float(self.data["options"]["duration"])
        gravity = [float(x) for x in self.data["options"].get("gravity", [0, 0, -9.81])]
        self.g = math.hypot(*gravity)
        material = (self.data.get("materials") or [{}])[0]
        self.mu, self.e = float(material.get("friction", 0.5)), float(material.get("restitution", 0))
        self.material, self.bodies = material, {}
        self.take(self.data.get("bodies") or [])

    def take(self, bodies):
        for body in bodies:
            self.bodies[body["name"]] = body
            self.take(body.get("children") or [])

    def shape(self, name):
        return self.bodies[name].get("shape") or self.bodies[name]["shapes"][0]

    def mass(self, name):
        body = self.bodies[name]
        return float(body["inertia"]["mass"] if "inertia" in body else self.shape(name)["mass"])

    def moments(self, name):
        return [float(x) for x in self.bodies[name]["inertia"]["moments"]]

    def velocity(self, name):
        joint = self.bodies[name]["joint"]
        v = joint.get("initial_velocity", 0) if isinstance(joint, dict) else [0] * 6
        return v if isinstance(v, list) else float(v)

    def position(self, name):
        return [float(x) for x in self.bodies[name].get("position", [0, 0, 0])]

    def slope(self):  # [rad] of the half space
        return math.radians(float(next(s for s in self.data["shapes"] if s["type"] == "half_space")["angle_deg"]))

    def actuator(self, index=0):
        return self.data["actuators"][index]


def must(condition, what):
    if not condition:
        raise AssertionError(what)
    return 0.0


def complete_elliptic(k):
    """K(k), by the arithmetic and geometric mean."""
    a, b = 1.0, math.sqrt(1 - k * k)
    while abs(a - b) > 1e-15:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return math.pi / (2 * a)


def root(f, low, high):
    for _ in range(60):
        middle = (low + high) / 2
        if (f(low) < 0) == (f(middle) < 0):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def runge_kutta(f, y, t, steps, until=None):
    """y at t; with until(y) > 0, the time at which that becomes so, linear within a step."""
    h = t / steps
    for n in range(steps):
        before = y
        k1 = f(y)
        k2 = f([a + h / 2 * b for a, b in zip(y, k1)])
        k3 = f([a + h / 2 * b for a, b in zip(y, k2)])
        k4 = f([a + h * b for a, b in zip(y, k3)])
        y = [a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4)]
        if until and until(y) > 0:
            u, v = until(before), until(y)
            return (n + u / (u - v)) * h
    return y
