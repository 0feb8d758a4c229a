// Random pairs of shapes that pass or hit each other within one step. Whether they do is decided by a plain
// twin: the free motion in 1000 substeps. Who misses gets no impulse; who is hit gets one, in this very step,
// and does not pass through.
//
//   meetings [--count 2000 | --each 0] [--seed 1] [--law 3] [--verbose]
//   meetings --page FILE [--each 10000] [--seed 11] [--law 4]    a page of the counts of one law, or three
//
// law: the number of a ContactLaw. --each goes on until as many have missed, and as many have hit.
// Exit code 1 if any answer is wrong.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "capstan/dynamics/free_turn.h"
#include "capstan/geometry/collide.h"
#include "capstan/math/rotation.h"
#include "tests/support/contact_simulation.h"

namespace capstan {
namespace {

constexpr int kSubsteps = 1000;
constexpr double kClear = 1e-3, kDeep = 0.02;  // of the smaller shape: surely missed, surely hit
constexpr double kMostDepth = 0.1;             // likewise: overlap after a hit

struct Random {
  std::mt19937 engine;
  double operator()(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine);
  }
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine); }
  Vec3 direction() {
    for (;;) {
      const Vec3 x((*this)(-1, 1), (*this)(-1, 1), (*this)(-1, 1));
      if (x.norm() > 0.1 && x.norm() < 1) return x.normalized();
    }
  }
};

std::shared_ptr<TriangleMesh> make_wedge(double x, double y, double z) {
  auto mesh = std::make_shared<TriangleMesh>();
  for (const double sx : {-1.0, 1.0}) {
    for (const double sy : {-1.0, 1.0}) {
      for (const double sz : {-1.0, 1.0})
        mesh->vertices.push_back({x * sx, y * sy * (sz > 0 ? 0.4 : 1), z * sz});
    }
  }
  mesh->triangles = {{0, 1, 3}, {0, 3, 2}, {4, 6, 7}, {4, 7, 5}, {0, 4, 5}, {0, 5, 1},
                     {2, 3, 7}, {2, 7, 6}, {0, 2, 6}, {0, 6, 4}, {1, 5, 7}, {1, 7, 3}};
  return mesh;
}

const char* const kNames[] = {"sphere", "capsule", "box", "cylinder", "ellipsoid", "hull", "mesh"};

Shape random_shape(int type, Random& random) {
  const auto length = [&] { return random(0.03, 0.1); };
  switch (type) {
    case 0:
      return Sphere{length()};
    case 1:
      return Capsule{length(), length()};
    case 2:
      return Box{Vec3(length(), length(), length())};
    case 3:
      return Cylinder{length(), length()};
    case 4:
      return Ellipsoid{Vec3(length(), length(), length())};
    case 5: {
      ConvexMesh hull;
      hull.mesh = make_wedge(length(), length(), length());
      return hull;
    }
    default: {
      SurfaceMesh mesh;
      mesh.mesh = make_wedge(2 * length(), 2 * length(), 2 * length());
      return mesh;
    }
  }
}

struct Motion1 {
  Vec3 p, v, w;
  Mat3 R;
  Transform at(double t) const { return {rotation_matrix(quat_exp(t * w)) * R, p + t * v}; }
};

double distance(const Collider& A, const Transform& X_WA, const Collider& B, const Transform& X_WB,
                double within) {
  if (is_convex(A.type) && is_convex(B.type)) return signed_distance(A, X_WA, B, X_WB);
  static std::vector<ContactPoint> points;
  points.clear();
  collide(A, X_WA, B, X_WB, within, &points);
  double d = within;
  for (const ContactPoint& c : points) d = std::min(d, c.distance);
  return d;
}

double least_distance(const Collider& A, const Motion1& a, const Collider& B, const Motion1& b, double dt,
                      int substeps) {
  double least = kInfinity;
  for (int i = 0; i <= substeps; ++i) {
    const double t = dt * i / substeps;
    least = std::min(least, distance(A, a.at(t), B, b.at(t), 0.1));
  }
  return least;
}

struct Counts {
  int missed = 0, hit = 0, unclear = 0, ghosts = 0, passed = 0, late = 0;
  bool is_right() const { return ghosts + passed + late == 0; }
};

double smallest_width(const Collider& c) {
  return c.half_box.minCoeff();
}

void try_pair(Random& random, ContactLaw law, bool verbose, int number, Counts* counts) {
  const int type_a = random.below(7), type_b = random.below(6);
  const Shape shape_a = random_shape(type_a, random), shape_b = random_shape(type_b, random);
  const Collider A = make_collider(shape_a), B = make_collider(shape_b);
  const double size = std::min(smallest_width(A), smallest_width(B));
  const bool is_fixed = type_a == 6 || random.below(3) == 0;
  const double dt = std::exp(random(std::log(1e-3), std::log(0.02)));
  const double way = std::exp(random(std::log(0.05), std::log(4))) * size;  // in this step
  const Vec3 along = random.direction();
  const bool spins = random.below(2) == 0;
  Motion1 a, b;
  a.p.setZero(), a.v.setZero(), a.w.setZero();
  a.R = rotation_matrix(quat_exp(3 * random.direction()));
  b.R = rotation_matrix(quat_exp(3 * random.direction()));
  b.v = way / dt * along;
  b.w = spins ? Vec3(random(0.05, 0.6) / dt * random.direction()) : Vec3(Vec3::Zero());
  if (!is_fixed) {
    a.v = random(0, 0.5) * way / dt * random.direction();
    if (random.below(2) == 0) a.w = random(0.05, 0.6) / dt * random.direction();
  }
  // b passes the place where a is at a random moment of the step, and is moved aside until they nearly touch.
  Vec3 aside = cross(along, random.direction()).normalized();
  const double when = random(0.2, 0.9), wanted = random(-0.15, 0.15) * size;
  const double reach = A.bounding_radius + B.bounding_radius + size;
  const Vec3 start = a.p - when * dt * (b.v - a.v) + random(-0.3, 0.3) * size * cross(aside, along);
  double low = 0, high = reach;
  for (int i = 0; i < 14; ++i) {
    const double middle = 0.5 * (low + high);
    b.p = start + middle * aside;
    (least_distance(A, a, B, b, dt, 60) < wanted ? low : high) = middle;
  }
  b.p = start + high * aside;
  if (distance(A, a.at(0), B, b.at(0), 0.1) < kClear * size) return;  // touches from the beginning

  Scene scene;
  scene.options.gravity.setZero();
  Material material;
  material.name = "default";
  scene.materials = {material};
  if (!is_fixed) scene.bodies.push_back(test::free_body("a", a.p));
  scene.bodies.push_back(test::free_body("b", b.p));
  scene.shapes = {test::make_shape("a", is_fixed ? std::string(kWorld) : "a", shape_a, is_fixed ? 0 : 1),
                  test::make_shape("b", "b", shape_b, 1)};
  const auto quat = [](const Mat3& R) { return quat_from_matrix(R); };
  if (is_fixed) scene.shapes[0].pose.quat_wxyz = quat(a.R);
  const auto start_at = [&](const char* name, const Motion1& m) {
    const Vec4 q = quat(m.R);
    scene.initial.q[name] = {m.p.x(), m.p.y(), m.p.z(), q[0], q[1], q[2], q[3]};
    scene.initial.v[name] = {m.v.x(), m.v.y(), m.v.z(), m.w.x(), m.w.y(), m.w.z()};
  };
  if (!is_fixed) start_at("a", a);
  start_at("b", b);
  test::Simulation s(scene, dt, law);
  s.go(dt);

  // The twin: free motion of the step.
  const VecX& v = s.workspace.motion.v_star;
  const auto set = [&](Motion1* m, int k) {
    m->v = v.segment<3>(k);
    m->w = calc_led_turn(s.model, s.workspace.motion, dt, k / 6, v.segment<3>(k + 3));
  };
  if (!is_fixed) set(&a, 0);
  set(&b, is_fixed ? 0 : 6);
  const double least = least_distance(A, a, B, b, dt, kSubsteps);
  double impulse = 0;
  for (const Vec3& gamma : s.workspace.newton.impulse) impulse += gamma.norm();
  const auto tell = [&](const char* what) {
    if (!verbose) return;
    std::printf(
        "%6d: %s: %s%s and %s%s, dt %.1f ms, way %.2f sizes, least distance %.2f%% of the size, impulse "
        "%.3g N s; contacts",
        number, what, is_fixed ? "fixed " : "", kNames[type_a], kNames[type_b], spins ? " that spins" : "",
        1e3 * dt, way / size, 100 * least / size, impulse);
    for (const ContactKind kind : s.workspace.contacts.kind) std::printf(" %s", contact_kind_name(kind));
    std::printf("\n");
  };
  if (least > kClear * size) {
    ++counts->missed;
    if (impulse > 0) ++counts->ghosts, tell("ghost");
  } else if (least < -kDeep * size) {
    ++counts->hit;
    const auto pose = [&](int k) -> Transform {
      return {rotation_matrix(s.state.q.segment<4>(k + 3)), s.state.q.segment<3>(k)};
    };
    const double end = distance(A, is_fixed ? a.at(0) : pose(0), B, pose(is_fixed ? 0 : 7), 0.1);
    if (!(impulse > 0)) {
      ++counts->passed, tell("no impulse");
    } else if (end < -kMostDepth * size) {
      ++counts->late, tell("deep");
    }
  } else {
    ++counts->unclear;
  }
}

struct Amount {
  int count = 2000, each = 0;  // misses and hits together; misses, and hits
  bool is_reached(const Counts& c) const {
    return each > 0 ? std::min(c.missed, c.hit) >= each : c.missed + c.hit >= count;
  }
  int most_tries() const { return 20 * std::max(count, each); }
};

// Prints what it counts.
Counts try_pairs(const Amount& amount, int seed, ContactLaw law, bool verbose) {
  Random random{std::mt19937(seed)};
  Counts c;
  for (int i = 0; !amount.is_reached(c) && i < amount.most_tries(); ++i)
    try_pair(random, law, verbose, i, &c);
  std::printf(
      "%s: %d missed, %d of them with an impulse; %d hit, %d of them without, %d left deep; %d too close to "
      "call\n",
      kContactLawNames[static_cast<int>(law)], c.missed, c.ghosts, c.hit, c.passed, c.late, c.unclear);
  std::fflush(stdout);
  return c;
}

constexpr const char* kPage = R"(# Random meetings

Written by `meetings --page FILE` (`tests/step/meetings.cc`, `make pages`). Do not edit.

Pairs of random shapes (spheres, capsules, boxes, cylinders, ellipsoids, convex hulls, or a mesh and one of these) with radii and half edges of 30
to 100 mm, where meshes and a third of the other first ones are fixed and half of all spin, go 0.05 to 4 times their size in a step of 1 to 20 ms. They pass each other or meet within the
step; the free motion in %d substeps tells which: whoever stays away by more than %g of the smaller one misses, whoever would overlap by more than
%g of it hits, and what is between is too close to call. A miss should have no impulse, a hit an impulse in this very step, and then overlap by %g of the smaller one at most.

| law | misses | of them with an impulse | hits | of them without an impulse | of them left too deep | too close to call |
|---|---|---|---|---|---|---|
)";

int write_page(const char* file, const Amount& amount, int seed, const std::vector<ContactLaw>& laws) {
  char head[2000];
  std::snprintf(head, sizeof head, kPage, kSubsteps, kClear, kDeep, kMostDepth);
  std::string page = head;
  bool good = true;
  for (const ContactLaw law : laws) {
    const Counts c = try_pairs(amount, seed, law, true);
    char row[200];
    std::snprintf(row, sizeof row, "| %s | %d | %d | %d | %d | %d | %d |\n",
                  kContactLawNames[static_cast<int>(law)], c.missed, c.ghosts, c.hit, c.passed, c.late,
                  c.unclear);
    page += row;
    good = good && c.is_right() && amount.is_reached(c);
    std::FILE* out = std::fopen(file, "w");
    if (out == nullptr) return std::perror(file), 1;
    std::fputs(page.c_str(), out);
    std::fclose(out);
  }
  return good ? 0 : 1;
}

int run(int argc, char** argv) {
  Amount amount;
  int seed = 0, law = -1;
  bool verbose = false;
  const char* page = nullptr;
  for (int i = 1; i < argc; ++i) {
    const auto value = [&] { return i + 1 < argc ? std::atoi(argv[++i]) : 0; };
    if (std::strcmp(argv[i], "--count") == 0) amount.count = value();
    if (std::strcmp(argv[i], "--each") == 0) amount.each = value();
    if (std::strcmp(argv[i], "--seed") == 0) seed = value();
    if (std::strcmp(argv[i], "--law") == 0) law = value();
    if (std::strcmp(argv[i], "--verbose") == 0) verbose = true;
    if (std::strcmp(argv[i], "--page") == 0 && i + 1 < argc) page = argv[++i];
  }
  if (page != nullptr) {
    if (amount.each == 0) amount.each = 10000;
    std::vector<ContactLaw> laws = {ContactLaw::coulomb, ContactLaw::regularized_lagged, ContactLaw::lagged};
    if (law >= 0) laws = {static_cast<ContactLaw>(law)};
    return write_page(page, amount, seed > 0 ? seed : 11, laws);
  }
  if (law < 0) law = static_cast<int>(ContactLaw::regularized_lagged);
  const Counts c = try_pairs(amount, seed > 0 ? seed : 1, static_cast<ContactLaw>(law), verbose);
  return c.is_right() && amount.is_reached(c) ? 0 : 1;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  return capstan::run(argc, argv);
}
