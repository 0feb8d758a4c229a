// What every stage asks of an object that is not a kinematic tree: a rod, a soft body, masses on springs. One
// class for each kind; add_object() puts an instance into a model, and from there on it falls, touches,
// rests, sleeps, is saved and judged like everything else.
//
// An object has positions q, velocities v in *blocks* of at most six dofs, and *carriers*: what a contact
// point sits on, a node, an edge, a triangle. Carriers are links of the model without joints: shapes are
// attached to them, and collision moves them as rigid. The velocity of a point of a carrier is linear in the
// velocities of a few blocks,
//
//   v_W(p) = sum of J_b v_b,
//
// and these J_b are all that assembly, judge and forces need: an impulse at the point acts on block b with
// J_b^T.
//
// Momentum is balanced where m(v) = J^T impulse, with m as in dynamics/free_motion.h. Forces need not be
// linear in v: a step takes m by its tangent A at some velocity, and again at the answer until that is exact
// (step/relinearize.h). A is symmetric; it has the diagonal blocks, and those of the pairs in the layout.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capstan/math/spatial.h"
#include "capstan/math/transform.h"

namespace capstan {

class BlockMatrix;
struct Collider;

struct ObjectLayout {
  int num_positions = 0;
  std::vector<int> block_sizes;           // [blocks] dofs of each, 1 to 6
  std::vector<std::array<int, 2>> pairs;  // of blocks that A couples, each once
  int num_carriers = 0;
  std::vector<std::array<int, 2>> apart;  // pairs of carriers that never touch each other: neighbours
};

// What of one block moves a point: 3 rows, world axes.
struct PointPart {
  int block = 0;                  // of the object
  int size = 0;                   // its dofs
  std::array<double, 18> J = {};  // 3 x size, column-major
};
constexpr int kMostPointParts = 4;  // a tet has four nodes

// A time step of the theta-method (dynamics/free_motion.h) and what acts besides the object's own forces.
struct ObjectStep {
  Eigen::Ref<const VecX> q0, v0;
  Eigen::Ref<const VecX> force;  // [dofs] external [N or N m]
  Vec3 gravity;
  double dt = 0, theta = 0, theta_vq = 1, theta1 = 1;
  bool conserves_momentum = true;  // Options::conserve_momentum
};

// A of a step: the symmetric part of dm/dv, which may be indefinite (buckling); or with as much of it as
// makes every element positive semidefinite together with its share of M.
enum class Tangent { exact, convex };

// The largest impulse of a single force in a step, and what round-off makes of it [N s].
struct ImpulseSize {
  double largest = 0, round_off = 0;
};

class Physics {
 public:
  using ConstVector = Eigen::Ref<const VecX>;
  using Vector = Eigen::Ref<VecX>;

  virtual ~Physics() = default;
  virtual std::string kind() const = 0;  // "rod", for messages
  virtual ObjectLayout layout() const = 0;
  virtual void set_initial(Vector q, Vector v) const = 0;

  // Where carriers are, and how they turn and go: (angular, linear at `origin`), world axes.
  virtual void place(const ConstVector& q, std::span<Transform> X_WC) const = 0;
  virtual void calc_twists(const ConstVector& q, const ConstVector& v, const Vec3& origin,
                           std::span<Vec6> V) const = 0;
  // The blocks that move the point of a carrier that is at p_W, at most kMostPointParts. How many there are.
  virtual int calc_point(const ConstVector& q, int carrier, const Vec3& p_W, PointPart* parts) const = 0;

  // Where the point is that is at p_C in the frame of a carrier while this has its size of the start. One
  // that stretches takes its points along; its velocity is that of calc_point().
  virtual Vec3 place_point(const ConstVector& q, int carrier, const Vec3& p_C) const;
  // The collider on a carrier that changes its form, in the carrier's frame (ModelShape::flexible).
  virtual void bend(const ConstVector& q, int carrier, Collider* collider) const;
  // Whether carriers touch each other, but for those that the layout holds apart.
  virtual bool touches_itself() const { return true; }
  // Whether contacts are to be measured by the mass of the blocks that they touch, A_bb, rather than by all
  // of A: that takes a solve for each of them, and a large solid has hundreds.
  virtual bool has_local_mass() const { return false; }
  // Of all constants that the motion depends on, for the fingerprint of the model.
  virtual std::uint64_t fingerprint() const { return 0; }

  // m(v) of a step, and A unless it is null; then without the sizes.
  virtual ImpulseSize calc_system(const ObjectStep& step, const ConstVector& v, Vector m, Tangent tangent,
                                  BlockMatrix* A) const = 0;
  // Whether m is linear in v, so that its first tangent is exact wherever the answer is.
  virtual bool is_linear() const { return false; }
  // Corrects v of an object that no constraint acts on, whose momentum is then kept to round-off.
  virtual void balance(const ObjectStep&, Vector) const {}
  // The incremental potential [J], whose derivative by v is m: of inertia, external forces, gravity, strain
  // and damping. It tells whether a Newton step went too far; so it may be m's potential approximately, where
  // m has none. Any constant may be left out.
  virtual double calc_potential(const ObjectStep& step, const ConstVector& v) const = 0;
  virtual void move(const ConstVector& q0, const ConstVector& v, double dt, Vector q1) const = 0;

  // For reports and sleep: energies [J], (angular about the world's origin, linear) momentum, mass [kg] with
  // its first moment [kg m], and the root mean square speed of its fastest part [m/s].
  virtual double calc_kinetic_energy(const ConstVector& q, const ConstVector& v) const = 0;
  virtual double calc_elastic_energy(const ConstVector& q) const = 0;
  virtual Vec6 calc_momentum(const ConstVector& q, const ConstVector& v) const = 0;
  virtual double calc_mass(const ConstVector& q, Vec3* moment) const = 0;
  virtual double calc_speed(const ConstVector& q, const ConstVector& v) const = 0;
};

}  // namespace capstan
