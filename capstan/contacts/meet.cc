#include "capstan/contacts/meet.h"

#include <algorithm>
#include <cmath>

#include "capstan/contacts/hits.h"
#include "capstan/dynamics/objects.h"
#include "capstan/geometry/collide.h"
#include "capstan/physics/soft_body.h"

namespace capstan {
namespace {

constexpr double kTurnOfCarriage = 0.5;   // of that of a wheel
constexpr double kTurnOfScrew = 1e-3;     // [rad] slower turns are about the link's origin
constexpr double kTouchTolerance = 1e-5;  // of the smaller shape: what first_touch() takes for touching
constexpr double kAlong = 0.99;           // cosine of the angle between normals that are about the same
constexpr double kSame = 1 - 1e-9;        // likewise, where a bounce tells one from the other
constexpr double kOff = 0.02;  // of the least half width of the smaller shape: what contacts may have wrong
constexpr double kBent = 1 - 1e-5, kOffBent = 1e-5;  // likewise, where the surface bends
constexpr double kMostSlack = 0.02;                  // of the least half width of the smaller shape
constexpr double kSoftSlack = 0.01;  // of the length of an edge of a soft body: its faces have no thickness
constexpr double kGrazing = 2;       // times the slack: what comes nearer by less in a step is slow
constexpr double kLater = 10;        // times the slack: the way after which another surface has shown itself
constexpr double kShortWay = 0.25;  // of the least half width of the smaller shape: none goes through another

double size_of(const Collider& c) {
  return std::isfinite(c.bounding_radius) ? std::max(c.half_box.minCoeff(), 0.01 * c.bounding_radius)
                                          : kInfinity;
}

// [m] that any point goes, at most.
double way_of(const MovingShape& x) {
  return x.motion.travel.norm() + x.motion.turn.norm() * x.radius();
}

bool moves(const MovingShape& x) {
  return !x.motion.travel.isZero(0) || !x.motion.turn.isZero(0);
}

bool are_spheres(const MovingShape& a, const MovingShape& b) {
  return a.collider->type == ColliderType::sphere && b.collider->type == ColliderType::sphere;
}

bool is_soft_part(const ModelShape& shape) {
  return shape.part != SurfacePart::none;
}

// That of a part of the surface of a soft body is the length of its edges.
double size_of(const ModelShape& shape, const Collider& c) {
  if (!is_soft_part(shape)) return size_of(c);
  return c.bounding_radius / (shape.part == SurfacePart::vertex ? kVertexRadius : 0.5);
}

struct Pair {
  const Model& model;
  int shape_a, shape_b;
  const MovingShape &A, &B;
  bool is_elastic, bounces;

  // Of the smaller shape.
  double size() const {
    return std::min(size_of(model.shapes[shape_a], *A.collider), size_of(model.shapes[shape_b], *B.collider));
  }
  bool has_soft_part() const {
    return is_soft_part(model.shapes[shape_a]) || is_soft_part(model.shapes[shape_b]);
  }

  bool are_trees() const {
    const auto is_tree = [&](int shape) {
      const int link = model.shapes[shape].link;
      return link == 0 || model.objects[model.links[link].object].is_tree();
    };
    return is_tree(shape_a) && is_tree(shape_b);
  }

  // Where the point of both lies between where it is on A (1) and on B (0), by what a force along the normal
  // that acts beside its point turns.
  double calc_share_of_a(const Vec3& normal) const {
    const int a = model.shapes[shape_a].link, b = model.shapes[shape_b].link;
    if (a == 0 || b == 0) return a == 0 ? 0 : 1;
    if (!are_trees()) return moves(A) && moves(B) ? 0.5 : moves(A) ? 1 : 0;
    const Vec3 axis = cross(Vec3(B.motion.travel - A.motion.travel), normal);
    const auto inertia = [&](int shape, const MovingShape& X) {
      const ModelShape& of = model.shapes[shape];
      const Vec3 axis_L = of.X_LS.R * (X.X_WS.R.transpose() * axis);
      return axis_L.dot(model.links[of.link].inertia * axis_L);
    };
    const double I_a = inertia(shape_a, A), I_b = inertia(shape_b, B);
    return I_a + I_b > 0 ? I_b / (I_a + I_b) : 0.5;
  }

  // The contacts at the part s of the motions, as seen from the beginning: appended to `points`.
  Meeting linearize(double s, double within, const Told& told, double margin,
                    std::vector<ContactPoint>* points) const {
    const int first = static_cast<int>(points->size());
    const Transform X_WA = A.pose(s), X_WB = B.pose(s);
    collide(*A.collider, X_WA, *B.collider, X_WB, within, points);
    Meeting meeting;
    meeting.is_covered = drop_covered(model, shape_a, X_WA, shape_b, X_WB, first, points);
    if (static_cast<int>(points->size()) == first) return meeting;
    const auto deepest =
        std::min_element(points->begin() + first, points->end(),
                         [](const auto& x, const auto& y) { return x.distance < y.distance; });
    const double size = this->size();
    const double seen = s < 1 ? 0.0 : std::min(0.0, deepest->distance);
    const double cosine = deepest->normal.dot(told.normal);
    // A surface that bends away from what slides along it is not yet where its tangent of now leads.
    const bool bends_away = s == 1 && !is_elastic && cosine < kBent && are_trees() &&
                            told.gap < std::min(0.0, deepest->distance) - kOffBent * size;
    const bool is_told = cosine > (bounces && s < 1 ? kSame : kAlong) && !bends_away &&
                         told.gap <= margin + seen + kOff * size;
    meeting.kind = is_told && told.gap <= margin ? Meeting::Kind::along : Meeting::Kind::elsewhere;
    // One point of the world for both, so that their common momentum is kept: nearer to where it is on the
    // one that turns more easily.
    const double share_of_a = calc_share_of_a(deepest->normal);
    const Vec3 shift = s * (share_of_a * A.motion.travel + (1 - share_of_a) * B.motion.travel);
    for (std::size_t i = first; i < points->size(); ++i) {
      ContactPoint& c = (*points)[i];
      // How the gap goes on with the arms that they have then, up to the end of the step.
      const auto displacement = [&](const MovingShape& X) {
        const Vec3& p = &X == &A ? c.p_A : c.p_B;
        return X.motion.displacement(p - s * X.motion.travel);
      };
      const double end = c.distance + (1 - s) * c.normal.dot(displacement(B) - displacement(A));
      const Vec3 p = 0.5 * (c.p_A + c.p_B) - shift;
      c.distance = end - calc_opening(A, B, c.normal, p);
      if (has_soft_part()) {
        c.p_A = c.p_B =
            p;  // on which nodes act, and how much, goes by where a point is along the normal, too
        continue;
      }
      // Of balls that bounce p is on the one that moves, or between two that do.
      const double part_of_a = !bounces || !moves(B) ? 0 : moves(A) ? 0.5 : 1;
      c.p_A = p - part_of_a * c.distance * c.normal;
      c.p_B = p + (1 - part_of_a) * c.distance * c.normal;
    }
    return meeting;
  }
};

// Where the motion ends with the shapes in each other by no more than they may stand in each other (slack),
// the normal of that moment is chance: on its way from one tile to the next, a bottle ends a step with its
// rim 1 um beyond the edge and its base 3 um below the level of both. What the motion leads to a little later
// tells. If that is another surface than the points tell, from `first` on, those of then take their place.
bool goes_over(const Pair& pair, const Told& told, double margin, double slack, std::size_t first,
               std::vector<ContactPoint>* points, Meeting* meeting) {
  const double most = std::min(slack, kMostSlack * pair.size());
  double closing = 0;
  for (std::size_t i = first; i < points->size(); ++i) {
    const ContactPoint& c = (*points)[i];
    const double way = -calc_opening(pair.A, pair.B, c.normal, 0.5 * (c.p_A + c.p_B));
    if (c.distance - way < -most) return false;
    closing = std::max(closing, way);
  }
  if (!(closing > kGrazing * most)) return false;
  points->resize(first);
  const double way = way_of(pair.A) + way_of(pair.B);
  const Meeting later = pair.linearize(1 + kLater * most / closing, margin + way, told, margin, points);
  if (later.kind != Meeting::Kind::elsewhere) return false;
  for (std::size_t i = first; i < points->size(); ++i) {
    const ContactPoint& c = (*points)[i];
    if (c.distance < -most || c.normal.dot(told.normal) > kOtherSurface) return false;
  }
  *meeting = later;
  return true;
}

}  // namespace

RigidMotion link_motion(const Model& model, const Placement& placement, int link, const Vec6& V,
                        const Vec6& V_parent, double dt) {
  if (link == 0) return {};
  const Vec3 &origin = placement.origin[model.links[link].object], &pivot = placement.X_WL[link].p;
  const Vec3 turn = dt * V.head<3>(), linear = dt * V.tail<3>();
  // What can go anywhere goes straight; hinges turn about their axes, and arms about the axis of their screw.
  const Link& l = model.links[link];
  const auto goes = [](const Stage& stage) {
    return stage.type == StageType::free || stage.type == StageType::prismatic;
  };
  const bool is_free = !model.objects[l.object].is_tree() ||
                       (l.parent == 0 && std::any_of(model.stages.begin() + l.stage_begin,
                                                     model.stages.begin() + l.stage_end, goes));
  const double square = turn.squaredNorm();
  const auto straight = [&](const Vec3& p) {
    return RigidMotion{p, linear + cross(turn, Vec3(p - origin)), turn};
  };
  if (is_free || square < kTurnOfScrew * kTurnOfScrew) return straight(pivot);
  // A wheel turns about its axle, which goes straight if the carriage does.
  if (l.parent != 0) {
    const Vec3 own = turn - dt * V_parent.head<3>(), way = linear - dt * V_parent.tail<3>();
    const double own_square = own.squaredNorm();
    if (dt * V_parent.head<3>().norm() < kTurnOfCarriage * std::sqrt(own_square)) {
      const Vec3 axle = origin + cross(own, way) / own_square;
      return straight(axle + own.dot(Vec3(pivot - axle)) / own_square * own);
    }
  }
  return {origin + cross(turn, linear) / square, turn.dot(linear) / square * turn, turn};
}

Vec6 link_velocity(const Model& model, const Placement& placement, const VecX& v, int link) {
  Vec6 V = Vec6::Zero();
  if (link == 0) return V;
  if (const int object = model.links[link].object; !model.objects[object].is_tree()) {
    thread_local std::vector<Vec6> twists;
    twists.resize(model.num_links());
    calc_twists(model, placement, v, object, &twists);
    return twists[link];
  }
  for (int k = model.links[link].dof_end - 1; k >= 0; k = model.pattern.parent[k]) V += placement.S[k] * v[k];
  return V;
}

double calc_opening(const MovingShape& A, const MovingShape& B, const Vec3& normal, const Vec3& p_W) {
  return normal.dot(B.motion.displacement(p_W) - A.motion.displacement(p_W));
}

MovingShape moving_shape(const Model& model, const Placement& placement, int shape, const Transform& X_WS,
                         std::span<const Vec6> V, double dt) {
  const int link = model.shapes[shape].link;
  return moving_shape(model, placement, shape, X_WS, V[link], V[parent_link(model, link)], dt);
}

MovingShape moving_shape(const Model& model, const Placement& placement, int shape, const Transform& X_WS,
                         const Vec6& V, const Vec6& V_parent, double dt) {
  return {&collider_of(model, placement, shape), X_WS,
          link_motion(model, placement, model.shapes[shape].link, V, V_parent, dt)};
}

Meeting meet(const Model& model, int shape_a, const MovingShape& A, int shape_b, const MovingShape& B,
             const Told& told, double margin, double slack, std::vector<ContactPoint>* scratch,
             std::vector<ContactPoint>* points) {
  // Balls, which have no seams, bounce off each other with the normal and the arms of the touch.
  const bool is_elastic = combine_materials(model, shape_a, shape_b).restitution > 0;
  const bool bounces = is_elastic && are_spheres(A, B);
  const Pair pair{model, shape_a, shape_b, A, B, is_elastic, bounces};
  const std::size_t first = points->size();
  const double size = pair.size(), way = way_of(A) + way_of(B);
  if (pair.has_soft_part()) slack = std::max(slack, kSoftSlack * size);
  Meeting at_end = pair.linearize(1, margin, told, margin, points);
  if (at_end.kind == Meeting::Kind::none && way < kShortWay * size) return at_end;
  if (at_end.kind == Meeting::Kind::elsewhere && !bounces) {
    // Points that are not the first to touch are contacts, too.
    points->resize(first);
    at_end = pair.linearize(1, margin + way, told, margin, points);
    const double least = -std::min(slack, kMostSlack * size);
    if (std::all_of(points->begin() + first, points->end(),
                    [&](const ContactPoint& c) { return c.distance >= least; }))
      return at_end;
  }
  if (at_end.kind == Meeting::Kind::along && !bounces) {
    const bool grazes = slack > 0 && goes_over(pair, told, margin, slack, first, points, &at_end);
    if (!grazes) points->resize(first);
    return at_end;
  }
  points->resize(first);
  const double tolerance = std::max(margin, kTouchTolerance * size);
  const double s = first_touch(A, B, tolerance, scratch);
  if (s > 1) return at_end.kind == Meeting::Kind::along ? at_end : Meeting{};
  const Meeting meeting = pair.linearize(s, margin + tolerance + (1 - s) * way, told, margin, points);
  if (meeting.kind == Meeting::Kind::along) points->resize(first);
  return meeting;
}

double end_distance(const MovingShape& A, const MovingShape& B, std::vector<ContactPoint>* scratch) {
  const Transform X_WA = A.pose(1), X_WB = B.pose(1);
  if (is_convex(A.collider->type) && is_convex(B.collider->type))
    return signed_distance(*A.collider, X_WA, *B.collider, X_WB);
  scratch->clear();
  collide(*A.collider, X_WA, *B.collider, X_WB, 0.1 * A.collider->bounding_radius, scratch);
  double d = kInfinity;
  for (const ContactPoint& point : *scratch) d = std::min(d, point.distance);
  return d;
}

}  // namespace capstan
