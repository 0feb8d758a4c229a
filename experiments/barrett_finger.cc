// The drive of a finger of the BarrettHand (ICF XII-C, figures 23 and 24), with gears of our own
// (gear_meshes.h): a motor's pinion turns the proximal gear, which rides on a thread of the proximal worm's
// shaft. Wound down to the clutch, a washer on that shaft, it takes the worm along, which closes the finger
// by its wheel. When the finger is stopped, the gear breaks away from the clutch and winds up its thread: the
// worm stands, and as it cannot be driven back, so does the finger.
//
//       x: pinion, gears, worms     y: wheels and joints     gear and worm share an axis; wheels lie below
//
// 7 dofs: the motor, the proximal gear (turn and travel), the proximal worm, its wheel with the link, the
// distal gear with its worm, its wheel; the distal link is coupled to that.
//
// With the clutch pressed by F the gear holds on it up to the torque mu F r_c, and the thread gives it
// -F lead / 2 pi in the one direction: it is wound down by F (mu r_c + lead / 2 pi) and breaks away at
// F (mu r_c - lead / 2 pi); r_c = 2/3 of the clutch's radius under an even pressure.
#include "experiments/barrett_finger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>

#include "capstan/io/picture.h"
#include "capstan/step/contact_forces.h"
#include "experiments/gear_meshes.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kDt = 4e-4;  // [s] a tooth of the pinion goes on by a quarter of its width
constexpr double kModule = 5e-4, kAngle = 25 * kPi / 180, kBacklash = 2e-5;  // [m], [rad], [m]
constexpr int kPinionTeeth = 10, kGearTeeth = 30, kWheelTeeth = 30;
constexpr double kWormRadius = 3.5e-3;  // [m] pitch radius
constexpr double kLead = 2.5e-3;        // [m] of the thread of the proximal gear
constexpr double kGap = 1e-4;           // [m] from the gear to the clutch at the start
constexpr double kClutchRadius = 5e-3, kClutchHalf = 5e-4, kClutchAt = 8e-3;  // [m]
constexpr double kHubAt = kClutchAt + kClutchHalf + kGap;                     // [m] where the gear begins
constexpr double kPinionAt = 10e-3, kDistalAt = 20e-3;                        // [m] axes, y
constexpr double kStop = 0.45, kShortStop = 0.12;                             // [rad] where the obstacle is
constexpr double kLoadSpeed = 40, kDriveSpeed = 200;                          // [rad/s] of the motor
constexpr double kLoadEffort = 6e-3, kDriveEffort = 6.6e-3;                   // [N m]
constexpr double kLoaded = 0.05;                                              // [s] until then it is loaded

double tan_lead() {
  return 0.5 * kModule / kWormRadius;
}

// What collides with what: a bit for each.
enum Mesh : std::uint64_t {
  kPinion = 1,
  kThread = 2,
  kClutch = 4,
  kWorm = 8,
  kDistalWorm = 16,
  kObstacle = 32
};

Pose along_x(const Vec3& p) {
  return {p, Vec4(0.5, 0.5, 0.5, 0.5)};  // z to x, x to y, y to z
}
Pose along_y(const Vec3& p) {
  return {p, Vec4(0.5, -0.5, -0.5, -0.5)};  // z to y, x to z, y to x
}

void add_body(Scene* scene, const std::string& name, const Vec3& p, const Vec3& axis, double mass,
              const Vec3& moments, const std::string& parent = kWorld, const Vec3& com = Vec3::Zero()) {
  Body body;
  body.name = name;
  body.parent = parent;
  body.pose.position = p;
  Joint joint;
  joint.name = name;
  joint.axis = axis;
  body.joints = {joint};
  body.inertia = Inertia{mass, com, moments.asDiagonal()};
  scene->bodies.push_back(body);
}

void add_shape(Scene* scene, const std::string& name, const std::string& body, const std::string& material,
               const Pose& pose, const Shape& shape, std::uint64_t group, std::uint64_t mask,
               const std::array<float, 4>& color) {
  ShapeInstance s;
  s.name = name, s.body = body, s.material = material, s.pose = pose, s.shape = shape;
  s.group_bits = group, s.mask_bits = mask, s.has_mass = false, s.rgba = color;
  scene->shapes.push_back(s);
}

void add_teeth(Scene* scene, const std::string& name, const std::string& body, const std::string& material,
               const Pose& pose, const Gear& gear, double first, std::uint64_t group, std::uint64_t mask,
               const std::array<float, 4>& color) {
  for (int k = 0; k < gear.teeth; ++k) {
    const auto mesh = std::make_shared<TriangleMesh>(make_tooth(gear, first + 2 * kPi * k / gear.teeth));
    add_shape(scene, fmt::format("{}_{}", name, k), body, material, pose, ConvexMesh{mesh}, group, mask,
              color);
  }
}

// With a groove where theta = -90 degrees, x = 0.
Thread worm_thread() {
  const double pitch = kPi * kModule, slope = std::tan(kAngle), addendum = 0.8, dedendum = 1.05;
  Thread thread;
  thread.pitch = thread.lead = pitch;
  thread.root = kWormRadius - dedendum * kModule, thread.tip = kWormRadius + addendum * kModule;
  thread.crest = pitch / 2 - 2 * addendum * kModule * slope,
  thread.foot = pitch / 2 + 2 * dedendum * kModule * slope;
  thread.middle = 0.75 * pitch;
  thread.length = 10e-3, thread.sectors = 32;
  return thread;
}

// A worm along x at this place, and its wheel below.
void add_worm_drive(Scene* scene, const std::string& worm, const std::string& wheel, double y, Mesh mesh,
                    const std::array<float, 4>& worm_color, const std::array<float, 4>& wheel_color) {
  add_shape(scene, worm, worm, "worm", along_x(Vec3::Zero()),
            SurfaceMesh{std::make_shared<TriangleMesh>(make_screw(worm_thread()))}, mesh, 0, worm_color);
  Gear gear;
  gear.teeth = kWheelTeeth, gear.module = kModule, gear.pressure_angle = kAngle, gear.backlash = kBacklash;
  gear.face = 3e-3, gear.twist = tan_lead() / gear.pitch_radius();
  add_body(scene, wheel, Vec3(0, y, -kWormRadius - gear.pitch_radius()), Vec3::UnitY(), 0.003,
           Vec3(6e-8, 1e-7, 6e-8));
  add_teeth(scene, wheel, wheel, "wheel", along_y(Vec3::Zero()), gear, 0, 0, mesh, wheel_color);
}

}  // namespace

Scene make_barrett_finger(double worm_friction, double stop) {
  Scene scene;
  scene.name = "barrett_finger";
  scene.options.dt = kDt;
  const auto material = [&](const char* name, double modulus) {
    Material m;
    m.name = name, m.contact = ContactModel::patch, m.elastic_modulus = modulus, m.friction = 0,
    m.dissipation = 20;
    scene.materials.push_back(m);
  };
  material("pinion", kInfinity), material("worm", kInfinity), material("hub", kInfinity);
  material("gear", 1e9), material("wheel", 1e9), material("clutch", 1e6);
  const auto pair = [&](const char* a, const char* b, double friction) {
    PairOverride p;
    p.a = a, p.b = b, p.friction = friction;
    scene.pairs.push_back(p);
  };
  pair("clutch", "hub", 1);
  pair("worm", "wheel", worm_friction);
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY();
  const std::array<float, 4> grey = {0.6f, 0.6f, 0.65f, 1}, blue = {0.25f, 0.45f, 0.8f, 1},
                             pink = {0.9f, 0.5f, 0.6f, 1}, green = {0.35f, 0.65f, 0.35f, 1},
                             purple = {0.55f, 0.35f, 0.7f, 1}, yellow = {0.9f, 0.8f, 0.3f, 1},
                             red = {0.8f, 0.3f, 0.25f, 1}, orange = {0.9f, 0.6f, 0.2f, 1};

  add_body(&scene, "motor", Vec3(12.5e-3, kPinionAt, 0), x, 0.01, Vec3(1e-8, 1e-7, 1e-7));
  Gear pinion;
  pinion.teeth = kPinionTeeth, pinion.module = kModule, pinion.pressure_angle = kAngle,
  pinion.backlash = kBacklash;
  pinion.face = 9e-3;
  add_teeth(&scene, "pinion", "motor", "pinion", along_x(Vec3::Zero()), pinion, kPi / kPinionTeeth, kPinion,
            0, grey);

  // The worm with its shaft: thread and clutch.
  add_body(&scene, "worm", Vec3::Zero(), x, 0.006, Vec3(4e-8, 3e-7, 3e-7));
  Thread shaft;
  shaft.pitch = shaft.lead = kLead, shaft.root = 2.2e-3, shaft.tip = 3e-3, shaft.crest = 0.6e-3,
  shaft.foot = 1e-3;
  shaft.middle = kHubAt - 0.5 * kLead, shaft.centre = 15e-3, shaft.length = 12e-3, shaft.sectors = 24;
  add_shape(&scene, "shaft", "worm", "worm", along_x(Vec3::Zero()),
            SurfaceMesh{std::make_shared<TriangleMesh>(make_screw(shaft))}, kThread, 0, green);
  add_shape(&scene, "clutch", "worm", "clutch", along_x(Vec3(kClutchAt, 0, 0)),
            Cylinder{kClutchRadius, kClutchHalf}, kClutch, 0, pink);

  // The proximal gear turns and travels along x.
  add_body(&scene, "gear", Vec3(kHubAt, 0, 0), x, 0.002, Vec3(5e-8, 3e-8, 3e-8));
  Joint travel;
  travel.name = "travel", travel.type = JointType::prismatic, travel.axis = x;
  scene.bodies.back().joints.insert(scene.bodies.back().joints.begin(), travel);
  Gear gear = pinion;
  gear.teeth = kGearTeeth, gear.face = 4e-3;
  add_teeth(&scene, "gear", "gear", "gear", along_x(Vec3(2.5e-3, 0, 0)), gear, 0, 0, kPinion, blue);
  add_shape(&scene, "hub", "gear", "hub", along_x(Vec3(0.5e-3, 0, 0)), Cylinder{6e-3, 0.5e-3}, 0, kClutch,
            blue);
  NutRidge nut;
  nut.lead = kLead, nut.inner = 2.35e-3, nut.outer = 3.2e-3, nut.crest = 1.475e-3, nut.foot = 1.9e-3;
  nut.centre = 3e-3, nut.turns = 1, nut.sectors = 12;
  int piece = 0;
  for (const TriangleMesh& mesh : make_nut(nut))
    add_shape(&scene, fmt::format("nut_{}", piece++), "gear", "gear", along_x(Vec3::Zero()),
              ConvexMesh{std::make_shared<TriangleMesh>(mesh)}, 0, kThread, blue);

  add_worm_drive(&scene, "worm", "wheel", 0, kWorm, green, purple);
  Body& wheel = scene.bodies.back();  // and the proximal link, which points along x and closes upwards
  wheel.inertia = Inertia{0.04, Vec3(0.03, 0, 0), Vec3(1e-6, 1.2e-5, 1.2e-5).asDiagonal()};
  wheel.joints[0].limits = {{-2, 0}};
  add_shape(&scene, "link", "wheel", "wheel", {Vec3(0.035, 0, 0), Vec4(1, 0, 0, 0)},
            Box{Vec3(0.025, 0.005, 0.005)}, 0, kObstacle, purple);

  // The distal gear and worm, beyond the pinion.
  add_body(&scene, "distal_worm", Vec3(0, kDistalAt, 0), x, 0.006, Vec3(9e-8, 3e-7, 3e-7));
  add_teeth(&scene, "distal_gear", "distal_worm", "gear", along_x(Vec3(12.5e-3, 0, 0)), gear, 0, 0, kPinion,
            yellow);
  add_worm_drive(&scene, "distal_worm", "distal_wheel", kDistalAt, kDistalWorm, red, orange);
  add_body(&scene, "distal_link", Vec3(0.06, 0, 0), y, 0.02, Vec3(4e-7, 3e-6, 3e-6), "wheel",
           Vec3(0.02, 0, 0));
  add_shape(&scene, "distal_link", "distal_link", "wheel", {Vec3(0.02, 0, 0), Vec4(1, 0, 0, 0)},
            Box{Vec3(0.02, 0.004, 0.004)}, 0, 0, orange);
  Constraint pulley;
  pulley.type = ConstraintType::coupler, pulley.name = "pulley";
  pulley.joint_a = "distal_link", pulley.joint_b = "distal_wheel";
  scene.constraints.push_back(pulley);

  // A ball in the way of the link, which it meets there.
  const double at = 0.05, up = 0.005 + 0.004, z = scene.bodies[3].pose.position.z();
  ShapeInstance ball;
  ball.name = "obstacle", ball.material = "worm", ball.shape = Sphere{0.004};
  ball.pose.position =
      Vec3(at * std::cos(stop) - up * std::sin(stop), 0, z + at * std::sin(stop) + up * std::cos(stop));
  ball.group_bits = kObstacle, ball.mask_bits = 0, ball.rgba = red;
  ball.patch.contact = ContactModel::point;
  scene.shapes.push_back(ball);

  Actuator motor;
  motor.name = "motor", motor.joint = "motor", motor.gain = 3e-4, motor.bias = Vec3(0, 0, -3e-4);
  motor.force_range = {-kLoadEffort, kLoadEffort}, motor.control = kLoadSpeed;
  scene.actuators.push_back(motor);
  Actuator push;  // to try whether the link drives the worm back
  push.name = push.joint = "wheel", push.gain = 1;
  scene.actuators.push_back(push);
  return scene;
}

namespace {

constexpr double kAfter = 0.03;     // [s] that is looked at after the breakaway
constexpr double kPush = 0.1;       // [N m] on the link, to open it, ...
constexpr double kPushed = 0.03;    // ... for so long [s]
constexpr double kFriction = 1.05;  // of the worm, times the tangent of its lead angle
constexpr double kStiction = 1e-4;  // [m/s] of Simulation
constexpr double kWindow = 0.05;    // [s] after the motor turned round: driving is even from then on

struct FingerRun {
  std::vector<double> time, wheel_torque, clutch_torque;  // [s], [N m] on the worm
  std::vector<double> preload;                            // [N] of the clutch
  std::vector<double> motor, gear, worm, wheel, distal;   // [rad]
  std::vector<double> contacts, iterations;
  double stopped = 0, broke = 0;  // [s] when the link met the obstacle, and when the clutch let go
  double pushed_back = 0;         // [rad] by which the push opened the link
  std::string failure;
  int at(double t) const {
    return static_cast<int>(std::lower_bound(time.begin(), time.end(), t - 1e-9) - time.begin());
  }
};

double angle_of(const Simulation& s, const char* joint) {
  return s.state.q[s.model.joints[s.model.find_joint(joint)].q];
}

// What the worm is given by contact, about its axis.
struct WormTorques {
  double wheel = 0, clutch = 0, preload = 0;  // [N m], [N m] with the thread, [N]
};
WormTorques torques_on_worm(const Simulation& s, std::vector<ContactForce>* forces) {
  WormTorques sum;
  const int worm = s.model.find_body("worm");
  calc_contact_forces(s.workspace, forces);
  for (const ContactForce& f : *forces) {
    const ModelShape &a = s.model.shapes[f.shape_a], &b = s.model.shapes[f.shape_b];
    if (a.body != worm && b.body != worm) continue;
    const Vec3 force = b.body == worm ? f.force_W() : Vec3(-f.force_W());
    const std::string& own = b.body == worm ? b.name : a.name;
    (own == "worm" ? sum.wheel : sum.clutch) += cross(f.p_W, force).x();
    if (own == "clutch") sum.preload -= force.x();
  }
  return sum;
}

FingerRun run_finger(const Run& run, ContactLaw law, double stop, double worm_friction) {
  Simulation s(make_barrett_finger(worm_friction, stop), law);
  FingerRun out;
  std::vector<ContactForce> forces;
  const auto look = [&](const WormTorques& t) {
    out.time.push_back(s.state.time);
    out.wheel_torque.push_back(t.wheel), out.clutch_torque.push_back(t.clutch);
    out.preload.push_back(t.preload);
    out.motor.push_back(angle_of(s, "motor")), out.gear.push_back(angle_of(s, "gear"));
    out.worm.push_back(angle_of(s, "worm")), out.wheel.push_back(angle_of(s, "wheel"));
    out.distal.push_back(angle_of(s, "distal_wheel"));
    out.contacts.push_back(s.report.contacts), out.iterations.push_back(s.report.solver.iterations);
    for (const ContactForce& f : forces) {
      const bool meets =
          s.model.shapes[f.shape_a].name == "obstacle" || s.model.shapes[f.shape_b].name == "obstacle";
      if (meets && f.normal_force > 0 && out.stopped == 0) out.stopped = s.state.time;
    }
    if (out.stopped > 0 && out.broke == 0 && t.preload <= 0) out.broke = s.state.time;
  };
  const double longest = 0.1 + 90 * (stop + 0.02) / kDriveSpeed + kAfter;
  try {
    while (s.state.time < (out.broke > 0 ? out.broke + kAfter : longest)) {
      const bool drives = s.state.time > kLoaded - 1e-9;
      const double effort = drives ? kDriveEffort : kLoadEffort;
      s.state.control[0] = drives ? -kDriveSpeed : kLoadSpeed;
      s.model.actuators[0].force_range = {-effort, effort};
      s.step();
      look(torques_on_worm(s, &forces));
      if (s.state.step % 20 == 0) run.tell(s.state.time / longest, fmt::format("t = {:.3f} s", s.state.time));
    }
    if (out.broke == 0) return out;
    const double before = angle_of(s, "wheel"), end = s.state.time + kPushed;
    s.state.control[1] = kPush;
    while (s.state.time < end) s.step();
    out.pushed_back = angle_of(s, "wheel") - before;
  } catch (const StepFailure& failure) {
    out.failure = failure.what();
  }
  return out;
}

// [rad] by which a push on the link turns it, from the start, with the motor off.
double drive_back(double worm_friction) {
  Simulation s(make_barrett_finger(worm_friction, kStop), ContactLaw::lagged);
  s.model.actuators[0].force_range = {0, 0};
  s.state.control[1] = -kPush;
  s.run_until(kPushed);
  return -angle_of(s, "wheel");
}

// Amplitude of each frequency in y, with Hann's window; the mean is taken out.
struct Spectrum {
  std::vector<double> frequency, amplitude;  // [Hz]
};
Spectrum spectrum_of(const std::vector<double>& y, int begin, int end) {
  Spectrum out;
  const int n = end - begin;
  double mean = 0;
  for (int i = begin; i < end; ++i) mean += y[i] / n;
  for (int k = 1; k <= n / 2; ++k) {
    std::complex<double> sum = 0;
    for (int i = 0; i < n; ++i)
      sum += (y[begin + i] - mean) * (1 - std::cos(2 * kPi * i / n)) * std::polar(1.0, -2 * kPi * k * i / n);
    out.frequency.push_back(k / (n * kDt));
    out.amplitude.push_back(2 * std::abs(sum) / n);
  }
  return out;
}

}  // namespace

Result barrett_finger(const Run& run) {
  Result result;
  const double friction = kFriction * tan_lead(), stop = run.is_short ? kShortStop : kStop;
  const FingerRun r = run_finger(run, ContactLaw::lagged, stop, friction);
  const int count = static_cast<int>(r.time.size());
  const bool is_whole = r.failure.empty() && r.broke > 0;
  result.claim(
      "loading, driving, breakaway", "each of them is seen",
      !r.failure.empty() ? "a step fails: " + r.failure
      : is_whole
          ? fmt::format(
                "loaded until {:g} s, the link is stopped at {:.3f} s, and the clutch lets go {:.1f} ms "
                "later",
                kLoaded, r.stopped, 1e3 * (r.broke - r.stopped))
          : "no breakaway",
      is_whole);
  if (!is_whole || count == 0) return result;
  const int loaded = r.at(kLoaded) - 1, even = r.at(kLoaded + (run.is_short ? 0.4 : 1) * kWindow),
            stopped = r.at(r.stopped), broke = r.at(r.broke);
  const double arm = 2.0 / 3 * kClutchRadius, thread = kLead / (2 * kPi);
  const double ratio = static_cast<double>(kGearTeeth) / kPinionTeeth;

  const double preload = r.preload[loaded], expected = ratio * kLoadEffort / (arm + thread);
  result.claim("the force on the clutch after loading with 0.6 N cm",
               fmt::format("(arithmetic) {:.2f} N: the torque of the gear over r_c + lead / 2 pi", expected),
               fmt::format("{:.2f} N", preload), std::abs(preload / expected - 1) < 0.15);
  double slip = 0;
  for (int i = r.at(kLoaded + 0.002); i < stopped; ++i)
    slip = std::max(slip, std::abs(r.gear[i] - r.worm[i] - r.gear[stopped - 1] + r.worm[stopped - 1]));
  const double creep = kStiction * (r.stopped - kLoaded) / arm;
  result.claim("while it drives, the gear stands on the clutch",
               fmt::format("engaged; what sticks may creep by {:.1e} rad, at the stiction tolerance", creep),
               fmt::format("turns by {:.1e} rad at most against the worm", slip), slip < creep);
  const double turned = (r.wheel[stopped] - r.wheel[even]) / (r.motor[stopped] - r.motor[even]);
  const double teeth = 1.0 / (ratio * kWheelTeeth);
  result.claim(
      "the wheel's speed over the motor's", fmt::format("1/{:.0f}, by the numbers of teeth", 1 / teeth),
      fmt::format("1/{:.2f}", 1 / turned), std::abs(turned / teeth - 1) < (run.is_short ? 0.05 : 0.01));

  const double most = *std::max_element(r.clutch_torque.begin() + stopped, r.clutch_torque.begin() + broke);
  const double holds = preload * (arm - thread);
  result.claim(
      "the torque at which the clutch lets go",
      fmt::format("below that of loading, {:.2f} N cm; (arithmetic) {:.2f} N cm, F (r_c - lead / 2 pi)",
                  100 * preload * (arm + thread), 100 * holds),
      fmt::format("{:.2f} N cm", 100 * most), std::abs(most / holds - 1) < 0.1);
  const int settled = std::min(count - 1, r.at(r.broke + 0.02));
  double left = 0;
  for (int i = settled; i < count; ++i)
    left = std::max(left, std::abs(r.clutch_torque[i] + r.wheel_torque[i]));
  result.claim("then the net torque on the worm", "is zero: the drivetrain is disconnected",
               fmt::format("{:.4f} N cm at most, from 20 ms after it on", 100 * left), left < 0.01 * most);
  const double stays = std::abs(r.wheel[count - 1] - r.wheel[settled]);
  const double distal = (r.distal[count - 1] - r.distal[settled]) / (r.motor[count - 1] - r.motor[settled]);
  result.claim(
      "and the motor turns the distal link alone", "it does",
      fmt::format("the proximal one moves by {:.1e} rad, the distal wheel turns at 1/{:.1f} of the motor",
                  stays, 1 / distal),
      stays < 1e-3 && std::abs(distal / teeth - 1) < 0.03);
  const double rough = drive_back(friction), smooth = drive_back(0.5 * friction);
  result.claim(
      "the worm cannot be driven back",
      "friction of 1.05 tan(lead angle) holds the link; (ours) half of it does not",
      fmt::format(
          "{:g} N m for {:g} ms turn the link by {:.1e} rad after the breakaway and {:.1e} rad from the "
          "start, its play; with half the friction by {:.2f} rad",
          kPush, 1e3 * kPushed, r.pushed_back, rough, smooth),
      r.pushed_back < 2e-3 && rough < 0.01 && smooth > 5 * rough && smooth > 0.02);
  const double contacts = mean(std::vector<double>(r.contacts.begin() + even, r.contacts.begin() + stopped));
  result.claim("contacts in a step while it drives", "about 1100", fmt::format("{:.0f} on average", contacts),
               std::abs(contacts - 1100) < 200,
               Difference{"the meshes are ours", "500 to 2500", contacts > 500 && contacts < 2500});

  // The pinion's teeth are the fastest; the wheel's go by with each turn of the worm.
  const double span = r.time[stopped - 1] - r.time[even];
  const double tooth = kPinionTeeth * std::abs(r.motor[stopped - 1] - r.motor[even]) / span / (2 * kPi);
  const Spectrum gear = spectrum_of(r.clutch_torque, even, stopped);
  const double bin = gear.frequency[0];
  std::vector<double> rest;
  for (std::size_t k = 0; k < gear.frequency.size(); ++k)
    if (gear.frequency[k] > 0.3 * tooth) rest.push_back(gear.amplitude[k]);
  const double floor = median(rest);
  const auto near = [&](double frequency) {
    double best = 0, at = 0;
    for (std::size_t k = 0; k < gear.frequency.size(); ++k) {
      if (std::abs(gear.frequency[k] - frequency) < 2 * bin && gear.amplitude[k] > best)
        best = gear.amplitude[k], at = gear.frequency[k];
    }
    return std::pair{best, at};
  };
  double top = 0, top_at = 0;
  for (std::size_t k = 0; k < gear.frequency.size(); ++k) {
    if (gear.frequency[k] > 0.3 * tooth && gear.amplitude[k] > top)
      top = gear.amplitude[k], top_at = gear.frequency[k];
  }
  const int harmonic = static_cast<int>(std::lround(top_at / tooth));
  std::string peaks;
  bool stands_out = true;
  for (const int k : {1, 2, 3}) {
    const auto [amplitude, at] = near(k * tooth);
    peaks += fmt::format("{}{:.1f} at {:.0f} Hz", k > 1 ? ", " : "", amplitude / floor, at);
    stands_out = stands_out && amplitude > 3 * floor;
  }
  result.claim(
      fmt::format("the torque has the frequency of the pinion's teeth, {:.0f} Hz", tooth),
      "harmonics consistent with gear ratios, teeth and speeds",
      fmt::format("its largest line above {:.0f} Hz is at {:.0f} Hz, harmonic {}; harmonics over the median "
                  "line: {}",
                  0.3 * tooth, top_at, harmonic, peaks),
      harmonic >= 1 && std::abs(top_at - harmonic * tooth) < 2 * bin && stands_out);
  const auto cm = [](std::vector<double> x) {
    for (double& value : x) value *= 100;
    return x;
  };
  Scene drive = make_barrett_finger(friction, stop);  // without what lies over the gears
  drive.shapes.erase(std::remove_if(drive.shapes.begin(), drive.shapes.end(),
                                    [](const ShapeInstance& shape) {
                                      return shape.name == "link" || shape.name == "distal_link" ||
                                             shape.name == "obstacle";
                                    }),
                     drive.shapes.end());
  const Model shown = compile(drive);
  PictureOptions view;
  view.azimuth = -0.6, view.elevation = 0.5;
  result.figure(
      "drive",
      "The drive (figure 23): the motor's pinion (grey), the proximal gear (blue) on the thread of the "
      "proximal worm (green) beside its clutch (pink), wheels (purple, orange), distal gear and worm "
      "(yellow, red)",
      draw_picture(shown, {initial_state(shown)}, view));
  result.figure(
      "torques",
      "Torques on the proximal worm, by the wheel and by the gear with clutch and thread (figure 24)",
      draw_plot({{"wheel", r.time, cm(r.wheel_torque)}, {"clutch and thread", r.time, cm(r.clutch_torque)}},
                {900, 400, "", "time [s]", "torque [N cm]", false, false, {}, {}}));
  result.figure("spectrum", "Amplitudes of the torque of clutch and thread while it drives",
                draw_plot({{"clutch and thread", gear.frequency, cm(gear.amplitude)}},
                          {900, 360, "", "frequency [Hz]", "amplitude [N cm]", false, true, {}, {}}));
  if (run.is_short) return result;

  const FingerRun similar = run_finger(run, ContactLaw::similar, stop, friction);
  const int end = std::min<int>(
      similar.stopped > 0 ? similar.at(similar.stopped) : static_cast<int>(similar.time.size()), stopped);
  double more = 0, less = 0;
  for (int i = even; i < end; ++i)
    more += std::abs(similar.wheel_torque[i]), less += std::abs(r.wheel_torque[i]);
  result.claim(
      "with Similar instead of Lagged", "the wheel's teeth lock in the threads of the worm as they glide",
      similar.failure.empty()
          ? fmt::format(
                "the wheel takes {:.2f} times the torque; the wheel comes to {:.3f} of {:.3f} rad until "
                "{:.3f} s",
                more / less, similar.wheel[end - 1], r.wheel[end - 1], r.time[end - 1])
          : "a step fails",
      similar.failure.empty() && more > 1.5 * less,
      Difference{
          fmt::format("they glide at a distance of mu dt v, {:.0f} um here, and have {:.0f} um of play",
                      1e6 * friction * kDt * kDriveSpeed / ratio * kWormRadius, 1e6 * kBacklash),
          "it takes more torque, and they run",
          similar.failure.empty() && more > less &&
              std::abs(similar.wheel[end - 1] - r.wheel[end - 1]) < 0.01});

  result.remarks.push_back(fmt::format(
      "Sizes are ours: gears of module {:g} mm with {}, {} and {} teeth (25 degrees, stub teeth), worms of "
      "{:g} mm, a "
      "thread of {:g} mm lead, a clutch of {:g} mm radius with E = 1e6 Pa; teeth have 1e9 Pa and 20 um of "
      "backlash. A "
      "tooth is one convex hull, a worm is a rigid mesh of {} triangles. With a step of {:g} ms a tooth of "
      "the pinion "
      "goes on by a quarter of its width, as in the paper. {:.1f} iterations in a step.",
      1e3 * kModule, kPinionTeeth, kGearTeeth, kWheelTeeth, 2e3 * kWormRadius, 1e3 * kLead,
      1e3 * kClutchRadius, make_screw(worm_thread()).triangles.size(), 1e3 * kDt, mean(r.iterations)));
  return result;
}

}  // namespace capstan::experiments
