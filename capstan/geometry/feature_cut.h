// Two contact features cut with each other, seen along the contact normal.
//
// Polygons by Sutherland and Hodgman (1974); discs and segments by the roots of |p + t e|^2 = r^2 and by
// clipping the parameter t. Each corner carries the ids of what made it: a vertex of A, a vertex of B, a
// crossing of two edges, an end, or one of four places on a rim.
#pragma once

#include "capstan/geometry/contact_feature.h"

namespace capstan {

struct CutPoint {   // without defaults: buffers of them stay untouched until used
  double x, y;      // [m] in the contact frame
  double z_A, z_B;  // [m] heights of the two features there
  std::uint32_t feature;
};

struct CutPoints {
  static constexpr int kCapacity = 2 * ContactFeature::kMaxVertices + 16;
  CutPoint point[kCapacity];
  int size = 0;

  void add(double x, double y, double z_A, double z_B, std::uint32_t feature) {
    if (size < kCapacity) point[size++] = {x, y, z_A, z_B, feature};
  }
};

constexpr double kMaxCrossingSine2 = 0.03;  // segments within 10 degrees are nearly parallel

enum class CutKind : std::uint32_t { vertex_of_A, vertex_of_B, crossing, other };

inline std::uint32_t feature_id(CutKind kind, unsigned i, unsigned j) {
  return static_cast<std::uint32_t>(kind) << 30 | (i & 0x7fff) << 15 | (j & 0x7fff);
}

// Corners that agree in x and y to `tolerance` metres are the same point to it.
void cut_features(const ContactFeature& A, const ContactFeature& B, double tolerance, CutPoints* points);

// Four places on a disc's rim, 0 <= i < 4, the first towards its axis_u: the one farthest along the normal.
Vec3 rim_point(const ContactFeature& disc, int i);

}  // namespace capstan
