"""The answers of the gauntlet's scenes, worked out from the numbers in their files: one function for each kind (references.py)."""
import math

from reference_tools import complete_elliptic, must, reference, root, runge_kutta


# What stays as it is: the reference is that the inequality of the file holds.
@reference("box_on_incline", "cylinder_on_incline")
def below_the_angle(s):
    body = next(iter(s.bodies))
    if s.shape(body)["type"] == "cylinder":
        must(math.tan(s.slope()) < 2 * float(s.shape(body)["radius"]) / float(s.shape(body)["length"]), "it would topple")
    return must(math.tan(s.slope()) < s.mu, "it would slide")


@reference("soft_cube_holds")
def soft_below_the_angle(s):
    g = s.data["options"]["gravity"]
    return must(g[0] / -g[2] < s.mu, "it would slide")


@reference("push_below_the_limit")
def pushed(s):
    push = math.hypot(*s.actuator()["gear"][:3]) * float(s.actuator()["control"])
    return must(push < s.mu * s.mass("box") * s.g, "it would slide")


@reference("card_house")
def cards(s):
    return must(math.tan(math.radians(20)) / 2 < s.mu, "they would slide")


@reference("ladder_stands")
def ladder(s):
    shape, mu = s.shape("ladder"), s.mu
    along = [b - a for a, b in zip(shape["from"], shape["to"])]
    length, angle = math.hypot(*along), math.atan2(along[2], -along[0])
    ratio = float(shape["radius"]) / (length / 2)
    critical = root(lambda a: (1 - mu * mu) * math.cos(a) - 2 * mu * math.sin(a) - ratio * (mu + mu * mu), 0.1, 1.5)
    return must(angle > critical, "it would slide")


@reference("light_fingers", "pinched_capsule", "lift")
def pinched(s):
    body = s.extra["measure"]["body"]
    return must(2 * s.mu * min(abs(float(a["control"])) for a in s.data["actuators"] if a["type"] == "torque") > s.mass(body) * s.g,
                "it would slip")


@reference("grip_on_turning_arm")
def turning_grip(s):
    r, w = s.position("cube")[0], s.velocity("arm")
    return must(2 * s.mu * 10 > s.mass("cube") * math.hypot(r * w * w, s.g), "it would slip")


@reference("box_on_turntable")
def turntable(s):
    r, w = math.hypot(*s.position("box")[:2]), s.velocity("table")
    return must(r * w * w < s.mu * s.g, "it would slide")


@reference("rope_holds")
def rope_holds(s):
    masses = sorted(s.mass(b) for b in s.bodies)
    return must(masses[-1] < masses[0] * math.exp(s.mu * math.pi), "it would slip")


@reference("column_stands")
def column_stands(s):
    rod = s.data["rods"][0]
    stiffness = float(rod["young_modulus"]) * math.pi * float(rod["diameter"]) ** 4 / 64
    return must(s.mass("load") * s.g < math.pi ** 2 * stiffness / (4 * 0.5 ** 2), "it would buckle")


@reference("stiff_hinge")
def stiff_hinge(s):
    lever = s.bodies["arm"].get("inertia", {}).get("com") or s.shape("arm")["position"]
    return must(s.mass("arm") * s.g * math.hypot(*lever[:2]) < float(s.bodies["arm"]["joint"]["dry_friction"]), "it would turn")


@reference("three_legged_table")
def three_legs(s):
    x = (s.mass("load") * s.position("load")[0]) / (s.mass("load") + s.mass("table"))
    return must(x > -0.125, "it would fall")


@reference("arch")
def arch(s):
    # Thicker than 10.75 % of its mean radius, the least of a semicircular arch (Couplet, Heyman).
    points = [[float(x) for x in line.split()[1:4]]
              for line in (s.folder / s.shape("block3")["file"]).read_text().splitlines() if line.startswith("v ")]
    radii = [math.hypot(p[0], p[2]) for p in points]
    return must((max(radii) - min(radii)) / ((max(radii) + min(radii)) / 2) > 0.1075, "it is too thin")


@reference("flailing_robot", "floating_chain_of_constraints", "soft_ball_flies", "soft_balls_collide", "four_bar", "slider_crank",
           "cradle_comes_to_rest", "near_miss")
def conserved(s):
    return 0.0


@reference("ball_on_height_field", "ball_over_fields_and_boxes", "ball_over_tiles", "ball_past_corner", "box_on_mesh", "box_over_tiles",
           "box_over_tiles_slow", "box_past_shelf", "blade_above_floor", "capsule_along_seam", "fast_ball_past_corner", "foot_over_tiles")
def as_it_began(s):
    quantity = s.extra["measure"]["quantity"]
    v = s.velocity(s.extra["measure"]["body"])
    if not isinstance(v, list):
        return v
    return float(v[["vx", "vy", "vz", "wx", "wy", "wz"].index(quantity)])


@reference("heavy_on_light", "heavy_on_light_million", "stack_of_ten", "house", "grain")
def height_of_the_start(s):
    return s.position(s.extra["measure"]["body"])[2]


@reference("dead_drop", "card_falls_flat")
def half_its_height(s):
    return float(s.shape(s.extra["measure"]["body"])["size"][2]) / 2


@reference("lift_and_tilt")
def lift_and_tilt(s):
    F, arm = abs(float(s.actuator()["control"])), s.position("box")[0] - s.position("thumb")[0]
    side = s.shape("thumb")["size"][0]
    mean = (math.sqrt(2) + math.log(1 + math.sqrt(2))) / 6 * side  # distance from the middle of an evenly loaded square
    must(2 * s.mu * F > s.mass("box") * s.g, "it would slip")
    return must(2 * s.mu * F * mean > s.mass("box") * s.g * arm, "it would turn")


# Formulas.
@reference("four_legged_table")
def four_legs(s):
    return -(s.mass("table") / 4 + s.mass("scale0")) * s.g / float(s.actuator()["stiffness"])


@reference("box_on_reversing_plate")
def reversing_plate(s):
    u, a, b = s.velocity("plate"), -float(s.actuator()["control"]) / s.mass("plate"), s.mu * s.g
    must(a > b, "it would stick")
    t = u / (a + b)
    return b * t * t / 2 + b * t * (s.t - t) - b / 2 * (s.t - t) ** 2


@reference("arm_at_its_limit")
def limit(s):
    return math.radians(float(s.bodies["arm"]["joint"]["limits_deg"][1]))


@reference("atwood")
def atwood(s):
    M, m = s.mass("heavy"), s.mass("light")
    return -s.g / 2 * (M - m) / (M + m) * s.t ** 2


@reference("backspin_returns", "slide_to_roll")
def slides_to_roll(s):
    v = s.velocity("ball")
    return (5 * v[0] + 2 * float(s.shape("ball")["radius"]) * v[4]) / 7


@reference("ball_hits_hinged_rod")
def hinged_rod(s):
    size, m, d = s.shape("rod")["size"], s.mass("ball"), -s.position("ball")[2]
    I = s.mass("rod") * ((size[0] ** 2 + size[2] ** 2) / 12 + (size[2] / 2) ** 2)
    return -(1 + s.e) * m * s.velocity("ball")[0] * d / (I + m * d * d)


@reference("ball_rolls_down")
def ball_rolls_down(s):
    return 5 / 14 * s.g * math.sin(s.slope()) * s.t ** 2


@reference("cylinder_rolls_down")
def cylinder_rolls_down(s):
    return 1 / 3 * s.g * math.sin(s.slope()) * s.t ** 2


@reference("belt")
def belt(s):
    v = float(s.data["shapes"][0]["surface_velocity"][0])
    return v * s.t - v * v / (2 * s.mu * s.g)


@reference("box_on_moving_plate")
def moving_plate(s):
    return -s.velocity("plate") ** 2 / (2 * s.mu * s.g)


@reference("box_stops_on_tiles", "stopping_distance")
def stopping_distance(s):
    return s.velocity("box")[0] ** 2 / (2 * s.mu * s.g)


@reference("skate")
def skate(s):
    return s.velocity("puck")[1] ** 2 / (2 * float(s.material["friction_tensor"]["across"]) * s.g)


@reference("billiard")
def billiard(s):
    a = math.asin((s.position("target")[1] - s.position("cue")[1]) / (2 * float(s.shape("cue")["radius"])))
    return s.velocity("cue")[0] * math.cos(a) * math.sin(a)


@reference("bounce_height")
def bounce_height(s):
    r = float(s.shape("ball")["radius"])
    return r + s.e ** 2 * (s.position("ball")[2] - r)


@reference("box_on_free_plank")
def plank(s):
    m = s.mass("box")
    return m * s.velocity("box")[0] / (m + s.mass("plank"))


@reference("bullet_and_plate")
def bullet(s):
    return -float(s.shape("bullet")["radius"])


@reference("cart_rolls_down")
def cart(s):
    wheels = [b for b in s.bodies if b != "chassis"]
    m = s.mass("chassis") + sum(map(s.mass, wheels))
    return 0.5 * s.g * math.sin(s.slope()) * m / (m + sum(map(s.mass, wheels)) / 2) * s.t ** 2


@reference("catenary")
def catenary(s):
    points = s.data["rods"][0]["points"]
    length = 2 * math.dist(points[0], points[1])
    a = root(lambda a: 2 * a * math.sinh(1 / (2 * a)) - length, 0.2, 5)
    return -a * (math.cosh(1 / (2 * a)) - 1)


@reference("column_buckles")
def column_buckles(s):
    rod = s.data["rods"][0]
    stiffness, L = float(rod["young_modulus"]) * math.pi * float(rod["diameter"]) ** 4 / 64, 0.5
    load = s.mass("load") * s.g / (math.pi ** 2 * stiffness / (4 * L * L))
    k = root(lambda k: complete_elliptic(k) - math.pi / 2 * math.sqrt(load), 1e-6, 1 - 1e-6)
    return 2 * k * L / complete_elliptic(k)


@reference("conical_pendulum")
def conical_pendulum(s):
    q = s.bodies["bob"]["joint"]["initial"]
    angle = 2 * math.acos(q[0])
    return s.t * math.sqrt(s.g / math.cos(angle))


@reference("cradle")
def cradle(s):
    return float(s.velocity("ball0")[0])


@reference("curling")
def curling(s):
    m, I, v = s.mass("tripod"), s.moments("tripod")[2], s.velocity("tripod")
    feet = [shape["position"] for shape in s.bodies["tripod"]["shapes"] if shape["type"] == "sphere"]

    def rate(y):
        x, a, vx, vy, w = y
        fx = fy = torque = 0.0
        for p in feet:
            rx, ry = p[0] * math.cos(a) - p[1] * math.sin(a), p[0] * math.sin(a) + p[1] * math.cos(a)
            ux, uy = vx - w * ry, vy + w * rx
            u = max(math.hypot(ux, uy), 1e-4)
            gx, gy = -s.mu * m * s.g / 3 * ux / u, -s.mu * m * s.g / 3 * uy / u
            fx, fy, torque = fx + gx, fy + gy, torque + rx * gy - ry * gx
        return [vx, w, fx / m, fy / m, torque / I]
    return runge_kutta(rate, [0.0, 0.0, v[0], v[1], v[5]], s.t, 75000)[0]


@reference("dominoes")
def dominoes(s):
    return float(sum(name.startswith("tile") for name in s.bodies))


@reference("double_pendulum")
def double_pendulum(s):
    m, I, l = 1.0, s.moments("upper")[1], 1.0
    c = l / 2  # both links alike; angles from hanging, absolute

    def rate(y):
        a, b, p, q = y
        d = a - b
        A, B, C = I + m * c * c + m * l * l, m * l * c * math.cos(d), I + m * c * c
        f = -m * l * c * q * q * math.sin(d) - (m * c + m * l) * s.g * math.sin(a)
        h = m * l * c * p * p * math.sin(d) - m * c * s.g * math.sin(b)
        det = A * C - B * B
        return [p, q, (C * f - B * h) / det, (A * h - B * f) / det]
    a, b = 1.0, 1.5
    a, b, _, _ = runge_kutta(rate, [a, b, 0.0, 0.0], s.t, 20000)
    return -l * math.sin(a) - l * math.sin(b)


@reference("faceted_wheel_on_tiles")
def faceted_wheel(s):
    inertia, step = 0.4975, math.radians(10)  # of m R^2: a prism of 36 sides; the turn from facet to facet
    left = (inertia + math.cos(step)) / (inertia + 1)
    R = 0.1
    # v^2 falls by (1 - left^2) at each facet, that is each 2 R sin(step / 2) of way.
    rate = -math.log(left) / (2 * R * math.sin(step / 2))
    v = s.velocity("wheel")[0]
    times = [1.4 + 0.2 * i / 1000 for i in range(1001)]
    return sum(v / (1 + rate * v * t) for t in times) / len(times)


@reference("fast_blade")
def fast_blade(s):
    post, blade = s.data["shapes"][0], s.shape("blade")
    return math.pi / 2 - math.asin((float(post["radius"]) + blade["size"][1] / 2) / post["position"][1])


@reference("gears")
def gears(s):
    ratio = -float(s.data["constraints"][0]["multiplier"])
    return -ratio * float(s.actuator()["control"]) * s.t / (s.moments("big")[2] + ratio ** 2 * s.moments("small")[2])


@reference("gyroscope", "top_on_a_constraint")
def gyroscope(s):
    inertia = s.bodies["wheel"]["inertia"]
    v = s.velocity("wheel")
    w = math.hypot(*v[-3:-1])  # about the axle, which is horizontal
    return s.t * s.mass("wheel") * s.g * math.hypot(*inertia.get("com", [0.1, 0, 0])) / (max(s.moments("wheel")[0:1]) * w)


@reference("head_on_bullets")
def head_on(s):
    return float(s.velocity("b")[0])


@reference("incline_slides")
def incline_slides(s):
    return 0.5 * s.g * (math.sin(s.slope()) - s.mu * math.cos(s.slope())) * s.t ** 2


@reference("ladder_slides")
def ladder_lies(s):
    return float(s.shape("ladder")["radius"])


@reference("mallet_on_peg")
def mallet(s):
    M, m, u = s.mass("mallet"), s.mass("peg"), s.velocity("mallet")[2]
    v = M * u / (M + m)
    return -(M + m) * v * v / (2 * float(s.bodies["peg"]["joint"]["dry_friction"]))


@reference("marble_on_ramp")
def marble_on_ramp(s):
    a = math.atan(0.2)
    return 0.5 * 5 / 7 * s.g * math.sin(a) * math.cos(a) * s.t ** 2


@reference("marble_run")
def marble_run(s):
    return float(s.data["options"]["gravity"][0]) * s.t


@reference("needle", "needle_and_mesh")
def needle(s):
    shape = s.shape("needle")
    return float(shape["length"]) / 2 + float(shape["radius"]) if shape["type"] == "capsule" else float(shape["length"]) / 2


@reference("painleve_jams")
def painleve_jams(s):
    a, l = math.radians(float(s.bodies["rod"]["angle_deg"])), 0.5
    must(1 + 3 * math.cos(a) * (math.cos(a) - s.mu * math.sin(a)) < 0, "it would slide")
    return 3 * s.velocity("rod")[0] * (l / 2 * math.sin(a)) / l ** 2


@reference("painleve_slides")
def painleve_slides(s):
    """A rod whose lower end stays on the floor and slides forwards: z of its middle is c sin(a)."""
    a, c, m, I = math.radians(float(s.bodies["rod"]["angle_deg"])), 0.25, s.mass("rod"), s.moments("rod")[1]

    def rate(y):
        x, v, a, w = y  # a falls from standing: the tip is at (c cos a, -c sin a) from the middle; w = da/dt
        # z = c sin a; m z'' = N - m g; m x'' = -mu N; I a'' = -N c cos a + mu N c sin a (about y, see the file)
        k = (-c * math.cos(a) + s.mu * c * math.sin(a)) / I
        # c (cos a a'' - sin a w^2) = N / m - g
        N = (s.g - c * math.sin(a) * w * w) / (1 / m - c * math.cos(a) * k)
        return [v, -s.mu * N / m, w, N * k]
    return runge_kutta(rate, [0.0, float(s.velocity("rod")[0]), a, 0.0], s.t, 20000)[1]


@reference("patch_ball_rests")
def patch_ball(s):
    R, E, t = float(s.shape("ball")["radius"]), float(s.material["elastic_modulus"]), s.data["shapes"][0]["size"][2] / 2

    def force(d):  # the ball's lowest point is d below the surface of the layer
        total, n = 0.0, 100
        edge = math.sqrt(R * R - (R - d) ** 2)
        for i in range(n):
            rho = edge * (i + 0.5) / n
            # depth h in the layer where E h / t = E (1 - r / R), r the distance from the centre of the ball
            h = root(lambda h: h / t - 1 + math.hypot(rho, R - d + h) / R, 0, d)
            total += E * h / t * 2 * math.pi * rho * edge / n
        return total
    return R - root(lambda d: force(d) - s.mass("ball") * s.g, 0.001, 0.01)


@reference("patch_box_rests")
def patch_box(s):
    side, E, t = s.shape("box")["size"][0], float(s.material["elastic_modulus"]), s.data["shapes"][0]["size"][2] / 2
    H = side / 2

    def force(d):
        # x: distance from the nearest side. The box has the least of (height above its face) / H and x / H, the layer h / t.
        total, n = 0.0, 1000
        for i in range(n):
            x = H * (i + 0.5) / n
            p = min(d / (H + t), x / H)
            total += E * p * 8 * (H - x) * H / n
        return total
    return H - root(lambda d: force(d) - s.mass("box") * s.g, 1e-4, 0.01)


@reference("patch_box_spins")
def patch_spins(s):
    a, w = s.shape("box")["size"][0], s.velocity("box")[5]
    mean = (math.sqrt(2) + math.log(1 + math.sqrt(2))) / 6
    return a * (w - float(s.extra["measure"]["value"])) / (6 * mean * s.mu * s.g)


@reference("pendulum_100_s")
def pendulum_height(s):
    return -math.cos(math.radians(float(s.bodies["bob"]["joint"]["initial_deg"])))


@reference("pendulum_period")
def pendulum_period(s):
    I, m = s.moments("bob")[1] + s.mass("bob"), s.mass("bob")
    period = 4 * math.sqrt(I / (m * s.g)) * complete_elliptic(math.sin(math.radians(float(s.bodies["bob"]["joint"]["initial_deg"])) / 2))
    return (int(s.extra["measure"]["nth"]) - 0.75) * period


@reference("swing_on_three_bars")
def swing(s):
    l, bars = 0.5, ["left", "middle", "right"]
    I = sum(s.moments(b)[1] + s.mass(b) * (l / 2) ** 2 for b in bars) + s.mass("platform") * l * l
    weight = s.g * (sum(map(s.mass, bars)) * l / 2 + s.mass("platform") * l)
    period = 4 * math.sqrt(I / weight) * complete_elliptic(math.sin(math.radians(30) / 2))
    return (int(s.extra["measure"]["nth"]) - 0.75) * period


@reference("projectile")
def projectile(s):
    return 2 * s.velocity("ball")[2] / s.g


@reference("pushed_motor")
def pushed_motor(s):
    m, M = s.mass("ball"), s.mass("cart")
    u = m * s.velocity("ball")[0] / (M + m)
    return (M + m) * u * u / (2 * float(s.actuator()["effort_limit"]))


@reference("rod_cantilever")
def rod_cantilever(s):
    rod = s.data["rods"][0]
    d, L = float(rod["diameter"]), 0.5
    return -float(rod["density"]) * s.g * math.pi * d * d / 4 * L ** 4 / (8 * float(rod["young_modulus"]) * math.pi * d ** 4 / 64)


@reference("rolling_ball")
def rolling_ball(s):
    return s.velocity("ball")[0] * s.t


@reference("rope_slips")
def rope_slips(s):
    M, held = s.mass("heavy"), s.mass("light") * math.exp(s.mu * math.pi)
    return -s.g * (M - held) / (M + held) * (s.t - float(s.extra["measure"]["from"]))


@reference("screw")
def screw(s):
    p = float(s.bodies["nut"]["joint"]["pitch"])
    m = s.mass("nut")
    return -0.5 * s.g * m / (m + s.moments("nut")[2] / p ** 2) * s.t ** 2


@reference("servo")
def servo(s):
    return -s.mass("load") * s.g / float(s.actuator()["stiffness"])


@reference("slip_in_the_hand")
def slip_in_the_hand(s):
    F = min(abs(float(a["control"])) for a in s.data["actuators"])
    return -0.5 * (s.g - 2 * s.mu * F / s.mass("box")) * s.t ** 2


@reference("soft_cube_settles")
def soft_cube_settles(s):
    soft = s.data["soft_bodies"][0]
    h = soft["box"]["size"][2]
    return h - float(soft["density"]) * s.g * h * h / (2 * float(soft["young_modulus"]))


@reference("soft_cube_slides")
def soft_cube_slides(s):
    g = s.data["options"]["gravity"]
    return (g[0] + s.mu * g[2]) * s.t


@reference("spin_bounce_grips")
def spin_grips(s):
    return 2 / 7 * float(s.shape("ball")["radius"]) * s.velocity("ball")[4]


@reference("spin_bounce_slips")
def spin_slips(s):
    r = float(s.shape("ball")["radius"])
    return s.mu * (1 + s.e) * math.sqrt(2 * s.g * (s.position("ball")[2] - r))


@reference("spinning_tripod")
def spinning_tripod(s):
    r = s.bodies["tripod"]["shapes"][0]["position"][0]
    return s.moments("tripod")[2] * s.velocity("tripod")[5] ** 2 / (2 * s.mu * s.mass("tripod") * s.g * r)


@reference("spool")
def spool(s):
    gear, R, m = s.actuator()["gear"], float(s.shape("spool")["radius"]), s.mass("spool")
    return 0.5 * (gear[0] + gear[4] / R) / (m + m / 2) * s.t ** 2


@reference("spring_keeps_swinging")
def spring(s):
    return float(s.bodies["mass"]["joint"]["initial"])


@reference("stacked_drop")
def stacked_drop(s):
    M, m = s.mass("heavy"), s.mass("light")
    return -s.velocity("light")[2] * (3 * M - m) / (M + m)


@reference("tall_box_stands")
def tall_box_stands(s):
    size = s.shape("box")["size"]
    must(math.tan(s.slope()) < size[0] / size[2], "it would topple")
    return s.slope()


@reference("tall_box_topples")
def tall_box_topples(s):
    size = s.shape("box")["size"]
    must(math.tan(s.slope()) > size[0] / size[2], "it would stand")
    return math.pi / 2 + s.slope()


@reference("tumbling_energy")
def tumbling_energy(s):
    return sum(0.5 * I * w * w for I, w in zip(s.moments("handle"), s.velocity("handle")[3:]))


@reference("tumbling_handle")
def tumbling_handle(s):
    A, B, C = s.moments("handle")

    def rate(y):
        p, q, r, a, b, c = y  # spins in the axes of the body; the world's z in them
        return [(B - C) / A * q * r, (C - A) / B * r * p, (A - B) / C * p * q, r * b - q * c, p * c - r * a, q * a - p * b]
    return runge_kutta(rate, [*map(float, s.velocity("handle")[3:]), 0.0, 0.0, 1.0], s.t, 25000, until=lambda y: -y[5])


@reference("unequal_balls")
def unequal_balls(s):
    M, m = s.mass("heavy"), s.mass("light")
    return 2 * M * s.velocity("heavy")[0] / (M + m)


@reference("weak_motor")
def weak_motor(s):
    return -0.5 * (s.g - float(s.actuator()["effort_limit"]) / s.mass("load")) * s.t ** 2


@reference("wheel_runs_down")
def wheel_runs_down(s):
    return s.moments("wheel")[2] * s.velocity("wheel") ** 2 / (2 * float(s.bodies["wheel"]["joint"]["dry_friction"]))


@reference("wobbling_coin")
def wobbling_coin(s):
    """Steady rolling: the disk turns about the vertical at W, its spin is along the line to the contact, tilted by a."""
    R, h, a = float(s.shape("coin")["radius"]), float(s.shape("coin")["length"]), math.radians(float(s.bodies["coin"]["angle_deg"]))
    I, J = R * R / 4 + h * h / 12, R * R / 2  # over the mass: about a diameter, about the axis
    # The arm from the centre to the contact: R along the face, h / 2 against the axis. The centre is at rest, and so is the
    # point of contact, hence the spin is along the arm.
    # With W about the vertical, the part on the steepest line is -W sin(a), that on the axis W sin(a) h / (2 R); the floor
    # presses with the weight at the horizontal part of the arm, which turns the angular momentum about the vertical at W.
    arm = R * math.cos(a) - h / 2 * math.sin(a)
    return s.t * math.sqrt(s.g * arm / (math.sin(a) * (I * math.cos(a) - J * h / (2 * R) * math.sin(a))))
