#include "experiments/dual_arm_scene.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "capstan/math/rotation.h"

namespace capstan::experiments {
namespace {

constexpr double kPi = std::numbers::pi;

// What collides with what: a bit for each.
enum Kind : std::uint64_t {
  kTable = 1,
  kThing = 2,
  kLeftHand = 4,
  kRightHand = 8,
  kLeftArm = 16,
  kRightArm = 32
};

using Color = std::array<float, 4>;
constexpr Color kGrey = {0.75f, 0.75f, 0.78f, 1}, kDark = {0.25f, 0.26f, 0.3f, 1},
                kTip = {0.9f, 0.85f, 0.7f, 1}, kGlass = {0.55f, 0.75f, 0.85f, 0.45f},
                kCork = {0.8f, 0.6f, 0.35f, 1}, kBlue = {0.25f, 0.4f, 0.75f, 1},
                kRed = {0.8f, 0.25f, 0.2f, 1};

// --- Arms
constexpr double kBaseAt = 0.4;                              // [m] of the arms from the middle, y
constexpr double kShoulder = 0.34;                           // [m] height
constexpr double kUpper = 0.4, kFore = 0.4, kWrist = 0.126;  // [m] shoulder to elbow to wrist to flange
constexpr double kStiffness[kArmJoints] = {4000, 4000, 3000, 3000, 1000, 1000, 600};  // [N m/rad]
constexpr double kDamping[kArmJoints] = {400, 400, 300, 300, 60, 60, 40};             // [N m s/rad]
constexpr double kEffort[kArmJoints] = {300, 300, 170, 170, 110, 40, 40};             // [N m]
constexpr double kRotor[kArmJoints] = {0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.2};            // [kg m^2]
constexpr double kReach[kArmJoints] = {2.96, 2.09, 2.96, 2.09, 2.96, 2.09, 3.05};     // [rad] either way

// --- Hands
constexpr double kPalm = 0.1, kPalmHalf = 0.045, kPalmThick = 0.03;  // [m] length, half width, thickness
constexpr double kSpacing = 0.032, kFingerRadius = 0.01, kTipRadius = 0.012;  // [m]
constexpr double kFingerAt = -0.012;                                          // [m] below the palm's surface
constexpr double kPhalanx[4] = {0.0164, 0.054, 0.038, 0.027};  // [m] from each joint to the next, to the tip
constexpr double kThumbAt = 0.03;                              // [m] from the flange
constexpr double kThumbPhalanx[4] = {0.005, 0.042, 0.036, 0.024};
constexpr double kHandStiffness = 3, kHandDamping = 0.1,
                 kHandRotor = 1e-3;                       // [N m/rad], [N m s/rad], [kg m^2]
constexpr double kHandEffort[4] = {0.8, 0.9, 0.6, 0.35};  // [N m] of a finger's joints

// --- The jar
constexpr int kStaves = 12;
constexpr double kInside = 0.034, kWall = 0.005, kBottom = 0.006;  // [m] half width across flats
constexpr double kInterference = 1e-4;                             // [m] of the plug
constexpr double kPlugHalf = 0.009, kNose = 0.014;                 // [m] half length; length of the nose
constexpr double kRim = 0.006;                                     // [m] thickness
constexpr int kPatchPoints = 8;                                    // of a patch of the lid on a stave
constexpr double kCorkModulus = 3e6;                               // [Pa]

constexpr double kMarbleRadius = 0.012, kMarbleMass = 0.05;  // [m], [kg]

Pose at(const Vec3& p) {
  return {p, Vec4(1, 0, 0, 0)};
}
Pose at(const Vec3& p, const Vec3& axis, double angle) {
  return {p, quat_from_axis_angle(axis, angle)};
}

Body& add_body(Scene* scene, const std::string& name, const std::string& parent, const Pose& pose) {
  Body body;
  body.name = name, body.parent = parent, body.pose = pose;
  scene->bodies.push_back(body);
  return scene->bodies.back();
}

Body& add_hinge(Scene* scene, const std::string& name, const std::string& parent, const Vec3& p,
                const Vec3& axis, const Range& limits, double rotor) {
  Body& body = add_body(scene, name, parent, at(p));
  Joint joint;
  joint.name = name, joint.axis = axis, joint.rotor_inertia = rotor, joint.limits = {limits};
  body.joints = {joint};
  body.gravity_compensated = true;
  return body;
}

void add_free(Scene* scene, const std::string& name, const Vec3& p) {
  Joint joint;
  joint.name = name, joint.type = JointType::free;
  add_body(scene, name, kWorld, at(p)).joints = {joint};
}

ShapeInstance& add_shape(Scene* scene, const std::string& body, const std::string& material,
                         const Shape& shape, const Pose& pose, std::uint64_t group, const Color& color,
                         std::optional<double> mass) {
  ShapeInstance s;
  s.name = fmt::format("{}_{}", body == kWorld ? material : body, scene->shapes.size());
  s.body = body, s.material = material, s.shape = shape, s.pose = pose;
  s.group_bits = group, s.mask_bits = 0, s.rgba = color;
  s.mass = mass, s.has_mass = mass.has_value();
  s.patch.points = kPatchPoints;
  switch (group) {
    case kTable:
      s.mask_bits = kThing | kLeftHand | kRightHand;
      break;
    case kThing:
      s.mask_bits = kThing | kLeftHand | kRightHand | kLeftArm | kRightArm;
      break;
    case kLeftHand:
      s.mask_bits = kLeftHand | kRightHand | kRightArm;
      break;
    case kRightHand:
      s.mask_bits = kRightHand | kLeftArm;
      break;
    case kLeftArm:
      s.mask_bits = kRightArm;
      break;
    default:
      break;
  }
  scene->shapes.push_back(s);
  return scene->shapes.back();
}

// Between two points of the body along its z axis.
Shape stick(double length, double radius) {
  return Capsule{radius, 0.5 * length};
}

void add_servo(Scene* scene, const std::string& joint, double stiffness, double damping, double effort) {
  Actuator a;
  a.name = a.joint = joint;
  a.gain = stiffness, a.bias = Vec3(0, -stiffness, -damping), a.force_range = {-effort, effort};
  scene->actuators.push_back(a);
}

void add_finger(Scene* scene, const char* side, const char* name, const Vec3& root, bool is_thumb,
                std::uint64_t group) {
  const double* length = is_thumb ? kThumbPhalanx : kPhalanx;
  static constexpr const char* kJoints[] = {"side", "knuckle", "middle", "end"};
  const Vec3 along = is_thumb ? Vec3::UnitX() : Vec3::UnitZ();
  std::string parent = fmt::format("{}_palm", side);
  for (int i = 0; i < 4; ++i) {
    const std::string joint = fmt::format("{}_{}_{}", side, name, is_thumb && i == 0 ? "turn" : kJoints[i]);
    const Vec3 axis =
        i == 0 ? (is_thumb ? Vec3::UnitZ() : Vec3::UnitX()) : (is_thumb ? Vec3(0, -1, 0) : Vec3::UnitY());
    const Range limits = i == 0 ? Range{-0.5, 0.5} : Range{is_thumb ? -0.9 : -0.3, 1.7};
    Body& body = add_hinge(scene, joint, parent, i == 0 ? root : Vec3(along * length[i - 1]), axis, limits,
                           kHandRotor);
    parent = joint;
    if (i == 0) {
      body.inertia = Inertia{0.012, 0.5 * length[0] * along, Vec3::Constant(2e-6).asDiagonal()};
    } else {
      const double l = length[i];
      const Pose middle = is_thumb ? at(0.5 * l * along, Vec3::UnitY(), 0.5 * kPi) : at(0.5 * l * along);
      add_shape(scene, joint, "skin", stick(l, kFingerRadius), middle, group, i == 2 ? kGrey : kDark, 0.03);
      if (i == 3) add_shape(scene, joint, "skin", Sphere{kTipRadius}, at(l * along), group, kTip, 0.01);
    }
    add_servo(scene, joint, kHandStiffness, kHandDamping, kHandEffort[i]);
  }
}

void add_arm(Scene* scene, const char* side, bool has_hand) {
  const bool is_left = side[0] == 'l';
  const std::uint64_t arm = is_left ? kLeftArm : kRightArm, hand = is_left ? kLeftHand : kRightHand;
  const double lengths[kArmJoints] = {0.18, kUpper / 2, kUpper / 2, kFore / 2, kFore / 2, 0, 0};
  Vec3 p(0, is_left ? kBaseAt : -kBaseAt, kShoulder - lengths[0]);
  std::string parent = kWorld;
  for (int i = 0; i < kArmJoints; ++i) {
    const std::string name = joint_of_arm(side, i);
    add_hinge(scene, name, parent, p, i % 2 == 0 ? Vec3::UnitZ() : Vec3::UnitY(), {-kReach[i], kReach[i]},
              kRotor[i]);
    p = Vec3(0, 0, lengths[i]);
    parent = name;
    const double radius = 0.062 - 0.003 * i;
    if (i < 5) {
      add_shape(scene, name, "shell", stick(lengths[i], radius), at(0.5 * p), arm, i % 2 == 0 ? kGrey : kDark,
                3);
    } else if (i == 5) {
      add_shape(scene, name, "shell", Sphere{0.05}, at(Vec3::Zero()), arm, kDark, 1.5);
    } else {
      add_shape(scene, name, "shell", Cylinder{0.04, 0.03}, at(Vec3(0, 0, kWrist - 0.03)), arm, kGrey, 0.7);
    }
    if (has_hand) add_servo(scene, name, kStiffness[i], kDamping[i], kEffort[i]);
  }
  const std::string palm = fmt::format("{}_palm", side);
  add_body(scene, palm, parent, at(Vec3(0, 0, kWrist))).gravity_compensated = true;
  add_shape(scene, palm, "skin", Box{Vec3(0.5 * kPalmThick, kPalmHalf, 0.5 * kPalm)},
            at(Vec3(-0.5 * kPalmThick, 0, 0.5 * kPalm)), hand, kDark, 0.4);
  if (!has_hand) return;
  const char* fingers[] = {"index", "middle", "ring"};
  for (int k = 0; k < 3; ++k)
    add_finger(scene, side, fingers[k], Vec3(kFingerAt, (1 - k) * kSpacing, kPalm), false, hand);
  add_finger(scene, side, "thumb", Vec3(0, 0, kThumbAt), true, hand);
}

void add_materials(Scene* scene) {
  const auto material = [&](const char* name, double friction, double stiffness) {
    Material m;
    m.name = name, m.friction = friction, m.stiffness = stiffness;
    scene->materials.push_back(m);
    return &scene->materials.back();
  };
  material("skin", 1.0, 1e5);
  material("shell", 0.3, 1e6);
  material("table", 0.5, 1e6);
  material("marble", 0.3, 1e6);
  material("bowl", 0.5, 1e6);
  Material* glass = material("glass", 0.6, 1e6);
  glass->contact = ContactModel::patch, glass->elastic_modulus = kInfinity;
  Material* cork = material("cork", 0.6, 1e6);
  cork->contact = ContactModel::patch, cork->elastic_modulus = kCorkModulus;
  PairOverride skin;  // a hand holds on to everything alike
  for (const char* other : {"glass", "cork"}) {
    skin.a = "skin", skin.b = other, skin.friction = 0.9;
    scene->pairs.push_back(skin);
  }
  PairOverride seat;
  seat.a = "glass", seat.b = "cork", seat.friction = kLidFriction;
  scene->pairs.push_back(seat);
}

void add_jar(Scene* scene, bool has_lid) {
  add_free(scene, "jar", jar_start());
  add_shape(scene, "jar", "glass", Cylinder{kInside + kWall, 0.5 * kBottom}, at(Vec3(0, 0, 0.5 * kBottom)),
            kThing, kGlass, 0.06);
  const double half = 0.5 * (kJarHeight - kBottom);
  for (int k = 0; k < kStaves; ++k) {
    const double angle = 2 * kPi * k / kStaves, r = kInside + 0.5 * kWall;
    const Box stave{Vec3(0.5 * kWall, (kInside + kWall) * std::tan(kPi / kStaves), half)};
    add_shape(scene, "jar", "glass", stave,
              at(Vec3(r * std::cos(angle), r * std::sin(angle), kBottom + half), Vec3::UnitZ(), angle),
              kThing, kGlass, 0.015);
  }
  if (!has_lid) return;
  add_free(scene, "lid", jar_start() + Vec3(0, 0, kJarHeight));
  const double plug = kInside + kInterference;
  add_shape(scene, "lid", "cork", Cylinder{plug, kPlugHalf}, at(Vec3(0, 0, -kPlugHalf)), kThing, kCork, 0.02);
  add_shape(scene, "lid", "cork", Ellipsoid{Vec3(plug, plug, kNose)}, at(Vec3(0, 0, -2 * kPlugHalf)), kThing,
            kCork, 0.01);
  add_shape(scene, "lid", "cork", Cylinder{kJarRadius, 0.5 * kRim}, at(Vec3(0, 0, 0.5 * kRim)), kThing, kCork,
            0.02);
  const double knob = 2 * (kKnobHeight - kJarHeight - kRim);
  add_shape(scene, "lid", "cork", Cylinder{kKnobRadius, 0.5 * knob}, at(Vec3(0, 0, kRim + 0.5 * knob)),
            kThing, kCork, 0.05);
}

void add_bowl(Scene* scene) {
  add_free(scene, "bowl", bowl_start());
  constexpr int kSides = 16;
  constexpr double kFoot = 0.06, kThick = 0.006;
  add_shape(scene, "bowl", "bowl", Cylinder{kFoot, 0.5 * kThick}, at(Vec3(0, 0, 0.5 * kThick)), kThing, kBlue,
            0.2);
  const double run = kBowlRadius - kFoot, length = std::hypot(run, kBowlDepth),
               lean = std::atan2(run, kBowlDepth);
  for (int k = 0; k < kSides; ++k) {
    const double angle = 2 * kPi * k / kSides;
    const Vec3 out(std::cos(angle), std::sin(angle), 0);
    const Box side{Vec3(0.5 * kThick, kBowlRadius * std::tan(kPi / kSides), 0.5 * length)};
    Pose pose = at((kFoot + 0.5 * run) * out + Vec3(0, 0, kThick + 0.5 * kBowlDepth));
    pose.quat_wxyz =
        quat_multiply(quat_from_axis_angle(Vec3::UnitZ(), angle), quat_from_axis_angle(Vec3::UnitY(), lean));
    add_shape(scene, "bowl", "bowl", side, pose, kThing, kBlue, 0.02);
  }
}

void add_marbles(Scene* scene) {
  constexpr int kLayer = 4;
  for (int i = 0; i < kMarbles; ++i) {
    const int layer = i / kLayer;
    const double angle = 2 * kPi * (i % kLayer + 0.5 * (layer % 2)) / kLayer + 0.1, r = 1.5 * kMarbleRadius;
    const std::string name = fmt::format("marble_{}", i);
    add_free(scene, name,
             jar_start() + Vec3(r * std::cos(angle), r * std::sin(angle),
                                kBottom + kMarbleRadius * (1.05 + 1.8 * layer)));
    add_shape(scene, name, "marble", Sphere{kMarbleRadius}, at(Vec3::Zero()), kThing, kRed, kMarbleMass);
  }
}

}  // namespace

std::string joint_of_arm(const char* side, int i) {
  return fmt::format("{}_arm{}", side, i + 1);
}

std::string joint_of_hand(const char* side, int i) {
  static constexpr const char* kFingers[] = {"index", "middle", "ring", "thumb"};
  static constexpr const char* kJoints[] = {"side", "knuckle", "middle", "end"};
  return fmt::format("{}_{}_{}", side, kFingers[i / 4], i == 12 ? "turn" : kJoints[i % 4]);
}

double hand_target(int joint, double closed) {
  constexpr double kOpen[2][4] = {{0, -0.15, 0.1, 0.1}, {0, -0.6, 0, 0}};
  constexpr double kClosed[2][4] = {{0, 1.4, 1.6, 1.4}, {0, 1.0, 1.4, 1.2}};
  const int is_thumb = joint >= 12 ? 1 : 0;
  return kOpen[is_thumb][joint % 4] + closed * (kClosed[is_thumb][joint % 4] - kOpen[is_thumb][joint % 4]);
}

Scene make_arm(const char* side) {
  Scene scene;
  add_materials(&scene);
  add_arm(&scene, side, false);
  return scene;
}

Scene make_dual_arm(const DualArmOptions& options) {
  Scene scene;
  scene.name = "dual_arm";
  scene.options.dt = 0.005;
  add_materials(&scene);
  add_shape(&scene, kWorld, "table", HalfSpace{}, at(Vec3::Zero()), kTable, {0.6f, 0.5f, 0.42f, 1}, {});
  add_arm(&scene, "left", true);
  if (options.has_right_arm) add_arm(&scene, "right", true);
  add_jar(&scene, options.has_lid);
  if (options.has_marbles) add_marbles(&scene);
  if (options.has_bowl) add_bowl(&scene);
  return scene;
}

}  // namespace capstan::experiments
