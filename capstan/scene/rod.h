// A rod as the user asked for it: a rope, a cable, a belt. physics/rod.h has its equation.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "capstan/scene/scene.h"

namespace capstan {

enum class RodSectionType { circle, rectangle, ellipse };
enum class TorsionConstant {
  exact,  // Saint-Venant's: free warping
  polar,  // I_1 + I_2, as in Li and Chou: equal for a circle, 25 times too stiff for a belt of 20 x 2 mm
};
struct RodSection {
  RodSectionType type = RodSectionType::circle;
  double width = 0;   // [m] along m1; a circle's diameter
  double height = 0;  // [m] along m2; not used for a circle
  TorsionConstant torsion = TorsionConstant::exact;
};

enum class RodRest {
  as_it_starts,  // nodes and director of the spec, with all angles zero, have no stress
  straight,      // without curvature and twist
  given,         // RodSpec::natural
};

// A node that stays at a point of a body, or an edge whose middle stays there and whose section keeps its
// direction and angle. The edges about it do not touch that body.
struct RodAttachment {
  Source where = {};
  int node = -1, edge = -1;  // one of them; -1: not this one
  std::string body = kWorld;
  // In the frame of the body; an edge is along z, m1 along x. Absent: where the rod starts, with all joints
  // at their reference.
  std::optional<Pose> pose;
  double stiffness = kInfinity;  // as Constraint
  double relaxation_time = -1;
};

struct RodSpec {
  std::string name;
  Source where = {};
  std::string body = kWorld;     // whose frame, with all joints at their reference, nodes and director are in
  std::vector<Vec3> nodes;       // [m]
  bool closed = false;           // an edge from the last node to the first
  Vec3 director = Vec3::Zero();  // m1 of the first edge, made perpendicular to it; zero: any. Others follow
                                 // without twist; a closed rod takes the twist that closes it evenly
  std::vector<double> angles;    // [edges] that the sections are turned by at the start [rad]; empty: 0
  RodSection section;
  double young_modulus = 0;         // [Pa]
  double poisson_ratio = 0.5;       // G = E / (2 (1 + nu))
  double shear_modulus = 0;         // G [Pa] of what is laid or woven; 0: by poisson_ratio
  double density = 0;               // [kg/m^3]
  double alpha = 0, beta = 0;       // damping [1/s], [s]
  std::vector<double> rest_length;  // [edges] [m]; empty: as it starts
  RodRest rest = RodRest::as_it_starts;
  std::vector<Vec3> natural;       // [joints] (curvature about m2, about m1 [1/m], twist [rad/m])
  bool actuated = false;           // actuators NAME.natural and NAME.length: factors of natural curvature and
                                   // twist, and of rest lengths, both 1 at the start
  std::vector<int> pinned_nodes;   // their velocity is held
  std::vector<int> held_angles;    // edges whose angle rate is held
  std::vector<int> clamped_edges;  // both nodes and the angle
  std::vector<RodAttachment> attachments;
  Vec3 velocity = Vec3::Zero();  // [m/s] of all nodes that are not held, at the start
  // As ShapeInstance has them.
  std::string material = "default";
  std::optional<ContactModel> contact;  // absent: as its material says
  bool collides = true;
  std::uint64_t group_bits = 1, mask_bits = 1;
  double margin = 0;  // [m]
  std::array<float, 4> rgba = {0.6f, 0.6f, 0.65f, 1.0f};
};

}  // namespace capstan
