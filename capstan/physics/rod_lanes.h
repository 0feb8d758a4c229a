// Edges and joints of a rod (physics/rod_energy.h), four at a time: one in each lane of a Four. Internal to
// physics/.
//
// Edges are kept in rows, one for each number, so that a joint j finds its edges at j and j + 1. The second
// derivatives are those by the vectors e and f, each a difference of nodes, and by the two angles; nodes get
// them by differences: x_0 has -e, x_1 has e - f, x_2 has f.
#pragma once

#include <array>
#include <vector>

#include "capstan/math/types.h"

namespace capstan {

// The rows of all edges. An open rod has its last edge again after it, a closed one its first.
struct RodEdgeRows {
  enum Row { kTangent = 0, kDirector = 3, kM1 = 6, kM2 = 9, kLength = 12, kAngle = 13, kNumRows = 14 };
  std::vector<double> values;  // [kNumRows][stride]
  int stride = 0;

  void resize(int edges);
  double* row(int k) { return values.data() + static_cast<long>(k) * stride; }
  const double* row(int k) const { return values.data() + static_cast<long>(k) * stride; }
  Vec3 vector(int k, int edge) const { return {row(k)[edge], row(k + 1)[edge], row(k + 2)[edge]}; }
};

// What the edges are made of.
struct RodEdgeSource {
  int edges = 0, nodes = 0;
  bool closed = false;
  const double* q = nullptr;          // positions of nodes and angles, four for each node
  const double* directors = nullptr;  // three for each edge
  const double* way = nullptr;        // as q, that they go by, with a number after the last; or null for none
};
void make_edges(const RodEdgeSource& source, RodEdgeRows* edges);

// (kappa_1, kappa_2, tau) of all joints, in rows of the edges' stride. beta is that of the joints before, and
// found anew, as the value nearest to it, unless `is_beta_given`; `found` gets it, unless null.
void calc_joint_strains(const RodEdgeRows& edges, int joints, const double* beta, bool is_beta_given,
                        double* strains, double* found = nullptr);

// Of one joint with the stretch of its first edge, in the layout of blocks: dofs (x_0, gamma_e), (x_1,
// gamma_f), x_2. Four rows for each column, the last of x_2's is zero.
struct RodElement {
  std::array<double, 12> push;                // the derivative of the potential
  std::array<double, 16> aa, ba, ca, bb, cb;  // block (b, a) and so on, column-major
  std::array<double, 12> cc;                  // three columns
};

struct RodElementSource {
  int joints = 0;
  const double *beta = nullptr, *strain = nullptr;  // [joints]; rows of calc_joint_strains()
  const double* rest_strain = nullptr;              // [joints][3]
  const double* rest_length = nullptr;              // [edges], with the first one, or any, after the last
  double EA = 0, EI_1 = 0, EI_2 = 0, GJ = 0;
  // Stress is k (s - s_rest + damping (s - s_before)) where strain_before is given, else k (s - s_rest + beta
  // ds/dt) with the rates of dofs in `rate`, laid out as RodEdgeSource::way. Null both: no damping.
  double damping = 0, stretch_damping = 0;  // the latter on length_before, whatever the joints have
  const double *strain_before = nullptr, *length_before = nullptr, *rate = nullptr;
  double per_q = 0;         // of second derivatives; 0: none
  bool has_stress = true;   // in second derivatives; false: of strains alone, k g g^T
  bool has_stretch = true;  // of each joint's first edge
};
struct RodLargest {
  double force = 0, moment = 0;       // [N], [N m] of one joint
  double shortest = 1e300, bend = 0;  // [m] edge; [N m] stiffness
};
void calc_elements(const RodEdgeRows& edges, const RodElementSource& source, RodElement* elements,
                   RodLargest* largest);

}  // namespace capstan
