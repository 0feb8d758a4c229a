#include "capstan/physics/rod_lanes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/math/sine_lanes.h"
#include "capstan/math/spatial_lanes.h"
#include "capstan/physics/rod_energy.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 takes a Four made of four numbers for that
#endif

namespace capstan {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

CAPSTAN_INLINE inline void dot(const Lanes3& a, const Lanes3& b, Four* sum) {
  *sum = a.x * b.x + a.y * b.y + a.z * b.z;
}
CAPSTAN_INLINE inline Lanes3 unit(const Lanes3& a, Four* length) {
  Four square;
  dot(a, a, &square);
  square_root(square, length);
  const Four inverse = 1 / *length;
  return inverse * a;
}
CAPSTAN_INLINE inline const Four& four(const double* x) {
  return *reinterpret_cast<const Four*>(x);
}
CAPSTAN_INLINE inline Lanes3 load_vector(const RodEdgeRows& edges, int row, int i) {
  return {four(edges.row(row) + i), four(edges.row(row + 1) + i), four(edges.row(row + 2) + i)};
}
CAPSTAN_INLINE inline void store_vector(const Lanes3& a, int row, int i, RodEdgeRows* edges) {
  *reinterpret_cast<Four*>(edges->row(row) + i) = a.x;
  *reinterpret_cast<Four*>(edges->row(row + 1) + i) = a.y;
  *reinterpret_cast<Four*>(edges->row(row + 2) + i) = a.z;
}

// The nodes from i on, of any number that are not there the last, or in a ring those after it.
CAPSTAN_INLINE inline std::array<const double*, 4> nodes_at(const RodEdgeSource& s, int i, const double* x) {
  std::array<const double*, 4> at;
  for (int l = 0; l < 4; ++l) {
    const int k = i + l;
    at[l] = x + 4 * static_cast<long>(k < s.nodes ? k : s.closed ? k % s.nodes : s.nodes - 1);
  }
  return at;
}

// What the strains of a joint are made of.
struct JointLanes {
  Lanes3 te, tf, cross_ef;  // tangents and their product
  Lanes3 m1e, m2e, m1f, m2f;
  Four cosine = {}, chi = {};
  Lanes3 kb;
};
CAPSTAN_INLINE inline void load(const RodEdgeRows& edges, int j, JointLanes* joint) {
  JointLanes& b = *joint;
  b.te = load_vector(edges, RodEdgeRows::kTangent, j);
  b.tf = load_vector(edges, RodEdgeRows::kTangent, j + 1);
  b.m1e = load_vector(edges, RodEdgeRows::kM1, j);
  b.m1f = load_vector(edges, RodEdgeRows::kM1, j + 1);
  b.m2e = load_vector(edges, RodEdgeRows::kM2, j);
  b.m2f = load_vector(edges, RodEdgeRows::kM2, j + 1);
  dot(b.te, b.tf, &b.cosine);
  b.chi = 1 + b.cosine;
  b.cross_ef = cross(b.te, b.tf);
  const Four scale = 2 / b.chi;
  b.kb = scale * b.cross_ef;
}

// a b^T + b a^T: xx, yx, zx, yy, zy, zz.
CAPSTAN_INLINE inline void add_symmetric(const Lanes3& a, const Lanes3& b, Four* H) {
  H[0] += 2 * (a.x * b.x);
  H[1] += a.y * b.x + a.x * b.y;
  H[2] += a.z * b.x + a.x * b.z;
  H[3] += 2 * (a.y * b.y);
  H[4] += a.z * b.y + a.y * b.z;
  H[5] += 2 * (a.z * b.z);
}
CAPSTAN_INLINE inline void add_square(const Four& s, const Lanes3& a, Four* H) {
  const Lanes3 b = s * a;
  H[0] += a.x * b.x;
  H[1] += a.y * b.x;
  H[2] += a.z * b.x;
  H[3] += a.y * b.y;
  H[4] += a.z * b.y;
  H[5] += a.z * b.z;
}
// a b^T, column-major.
CAPSTAN_INLINE inline void add_outer(const Lanes3& a, const Lanes3& b, Four* H) {
  H[0] += a.x * b.x, H[1] += a.y * b.x, H[2] += a.z * b.x;
  H[3] += a.x * b.y, H[4] += a.y * b.y, H[5] += a.z * b.y;
  H[6] += a.x * b.z, H[7] += a.y * b.z, H[8] += a.z * b.z;
}

// By e, f, gamma_e, gamma_f.
struct HessianLanes {
  Four ee[6] = {}, ff[6] = {}, ef[9] = {};
  Lanes3 e_e, e_f, f_e, f_f;
  Four angle_ee = {}, angle_ff = {}, angle_ef = {};
};
struct GradientLanes {
  Lanes3 e, f;
  Four angle_e = {}, angle_f = {};
};

CAPSTAN_INLINE inline void add_square(const Four& k, const GradientLanes& g, HessianLanes* H) {
  add_square(k, g.e, H->ee);
  add_square(k, g.f, H->ff);
  const Lanes3 kf = k * g.f, ke = k * g.e;
  add_outer(g.e, kf, H->ef);
  H->e_e = H->e_e + g.angle_e * ke;
  H->e_f = H->e_f + g.angle_f * ke;
  H->f_e = H->f_e + g.angle_e * kf;
  H->f_f = H->f_f + g.angle_f * kf;
  H->angle_ee += k * g.angle_e * g.angle_e;
  H->angle_ff += k * g.angle_f * g.angle_f;
  H->angle_ef += k * g.angle_e * g.angle_f;
}

// The sum of w_a times the Hessian of strain a; see rod_energy.cc for the same without lanes.
CAPSTAN_INLINE inline void add_stresses(const JointLanes& b, const Lanes3& t, const Four* w,
                                        const Four* kappas, const Four& ie, const Four& jf, HessianLanes* H) {
  const Lanes3 u_e = w[0] * b.m2e - w[1] * b.m1e, u_f = w[0] * b.m2f - w[1] * b.m1f;
  const Lanes3 w_e = -1.0 * (w[0] * b.m1e + w[1] * b.m2e), w_f = -1.0 * (w[0] * b.m1f + w[1] * b.m2f);
  const Four by_chi = 1 / b.chi, kappa = w[0] * kappas[0] + w[1] * kappas[1], c = kappa * by_chi;
  const Lanes3 U = by_chi * (u_e + u_f), fu = cross(b.tf, U), eu = cross(b.te, U), kt = kappa * t;
  const Four iee = ie * ie, jff = jf * jf, ief = ie * jf, quarter = 0.25 + Four{};
  add_symmetric(iee * t, kt - fu, H->ee);
  add_square(iee * c, b.te, H->ee);
  add_symmetric(iee * b.kb, quarter * (u_e - w[2] * (b.te + t)), H->ee);
  add_symmetric(jff * t, kt + eu, H->ff);
  add_square(jff * c, b.tf, H->ff);
  add_symmetric(jff * b.kb, quarter * (u_f - w[2] * (b.tf + t)), H->ff);
  add_outer(ief * (kt - fu - (0.5 * w[2]) * b.kb), t, H->ef);
  add_outer(ief * t, kt + eu, H->ef);
  const Four minus = -(ief * c);
  add_outer(minus * b.te, b.tf, H->ef);
  const Lanes3 z = ief * ((w[2] * by_chi) * b.te - U);
  H->ef[1] += z.z, H->ef[2] -= z.y, H->ef[3] -= z.z, H->ef[5] += z.x, H->ef[6] += z.y, H->ef[7] -= z.x;
  for (const int k : {0, 3, 5}) {
    H->ee[k] -= iee * c;
    H->ff[k] -= jff * c;
  }
  for (const int k : {0, 4, 8}) H->ef[k] += minus;
  Four k_e, k_f, a_e, a_f;
  dot(b.kb, w_e, &k_e);
  dot(b.kb, w_f, &k_f);
  dot(b.kb, u_e, &a_e);
  dot(b.kb, u_f, &a_f);
  const Lanes3 to_e = (-0.5 * k_e) * t, to_f = (-0.5 * k_f) * t;
  H->e_e = H->e_e + ie * (to_e + by_chi * cross(b.tf, w_e));
  H->e_f = H->e_f + ie * (to_f + by_chi * cross(b.tf, w_f));
  H->f_e = H->f_e + jf * (to_e - by_chi * cross(b.te, w_e));
  H->f_f = H->f_f + jf * (to_f - by_chi * cross(b.te, w_f));
  H->angle_ee -= 0.5 * a_e;
  H->angle_ff -= 0.5 * a_f;
}

// Nodes' derivatives in the layout of RodElement.
constexpr int kNumbers = sizeof(RodElement) / sizeof(double);
CAPSTAN_INLINE inline void spread(const GradientLanes& g, Four* push) {
  const Lanes3 middle = g.e - g.f;
  push[0] = -g.e.x, push[1] = -g.e.y, push[2] = -g.e.z, push[3] = g.angle_e;
  push[4] = middle.x, push[5] = middle.y, push[6] = middle.z, push[7] = g.angle_f;
  push[8] = g.f.x, push[9] = g.f.y, push[10] = g.f.z, push[11] = Four{};
}
CAPSTAN_INLINE inline void spread(const HessianLanes& H, Four* out) {
  Four *aa = out + 12, *ba = out + 28, *ca = out + 44, *bb = out + 60, *cb = out + 76, *cc = out + 92;
  constexpr int kOf[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
  const auto at = [](const Lanes3& a, int k) CAPSTAN_INLINE -> const Four& {
    return k == 0 ? a.x : k == 1 ? a.y : a.z;
  };
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) {
      const Four &ee = H.ee[kOf[r][c]], &ff = H.ff[kOf[r][c]], &ef = H.ef[r + 3 * c], &fe = H.ef[c + 3 * r];
      aa[r + 4 * c] = ee;
      ba[r + 4 * c] = fe - ee;
      ca[r + 4 * c] = -fe;
      bb[r + 4 * c] = ee - ef - fe + ff;
      cb[r + 4 * c] = fe - ff;
      cc[r + 4 * c] = ff;
    }
    // Rows of gamma_e in a, of gamma_f in b; columns of the same.
    aa[3 + 4 * c] = aa[c + 12] = -at(H.e_e, c);
    ba[3 + 4 * c] = -at(H.e_f, c);
    ba[c + 12] = at(H.e_e, c) - at(H.f_e, c);
    ca[c + 12] = at(H.f_e, c);
    bb[3 + 4 * c] = bb[c + 12] = at(H.e_f, c) - at(H.f_f, c);
    cb[c + 12] = at(H.f_f, c);
    ca[3 + 4 * c] = cb[3 + 4 * c] = cc[3 + 4 * c] = Four{};
  }
  aa[15] = H.angle_ee;
  ba[15] = H.angle_ef;
  bb[15] = H.angle_ff;
  ca[15] = cb[15] = Four{};
}

CAPSTAN_INLINE inline void keep_larger(const Four& x, Four* most) {
  const auto is_less = *most < x;
  *most = is_less ? x : *most;
}
CAPSTAN_INLINE inline void keep_larger_size(const Four& x, Four* most) {
  keep_larger(x, most);
  keep_larger(-x, most);
}

}  // namespace

void RodEdgeRows::resize(int edges) {
  stride = (edges + 4) / 4 * 4 + 4;
  if (values.size() < static_cast<std::size_t>(stride) * kNumRows)
    values.resize(static_cast<std::size_t>(stride) * kNumRows);
}

CAPSTAN_CLONES void make_edges(const RodEdgeSource& s, RodEdgeRows* edges) {
  edges->resize(s.edges);
  for (int i = 0; i < s.edges; i += 4) {
    Four a[4], b[4], way_a[4] = {}, way_b[4] = {}, d0[3] = {};
    to_lanes(nodes_at(s, i, s.q), 4, a);
    to_lanes(nodes_at(s, i + 1, s.q), 4, b);
    std::array<const double*, 4> from;
    for (int l = 0; l < 4; ++l) from[l] = s.directors + 3 * static_cast<long>(std::min(i + l, s.edges - 1));
    to_lanes(from, 3, d0);
    Lanes3 span(b[0] - a[0], b[1] - a[1], b[2] - a[2]), d(d0[0], d0[1], d0[2]);
    Four angle = a[3], length;
    Lanes3 t = unit(span, &length);
    if (s.way != nullptr) {
      to_lanes(nodes_at(s, i, s.way), 4, way_a);
      to_lanes(nodes_at(s, i + 1, s.way), 4, way_b);
      const Lanes3 before = t, director = d;
      span = span + (Lanes3(way_b[0], way_b[1], way_b[2]) - Lanes3(way_a[0], way_a[1], way_a[2]));
      angle += way_a[3];
      t = unit(span, &length);
      Four c, along, off;
      dot(before, t, &c);
      const Lanes3 w = cross(before, t);
      dot(w, d, &along);
      const Four share = along / (1 + c);
      d = c * d + cross(w, d) + share * w;
      if (any(c < -1 + 1e-12)) {
        for (int l = 0; l < 4; ++l) {
          if (!(c[l] < -1 + 1e-12)) continue;
          const Vec3 turned =
              parallel_transport({before.x[l], before.y[l], before.z[l]}, {t.x[l], t.y[l], t.z[l]},
                                 {director.x[l], director.y[l], director.z[l]});
          d.x[l] = turned.x(), d.y[l] = turned.y(), d.z[l] = turned.z();
        }
      }
      dot(d, t, &off);
      Four size;
      d = unit(d - off * t, &size);
    }
    Four cosine, sine;
    calc_sine_and_cosine(angle, &sine, &cosine);
    const Lanes3 d2 = cross(t, d);
    store_vector(t, RodEdgeRows::kTangent, i, edges);
    store_vector(d, RodEdgeRows::kDirector, i, edges);
    store_vector(cosine * d + sine * d2, RodEdgeRows::kM1, i, edges);
    store_vector(cosine * d2 - sine * d, RodEdgeRows::kM2, i, edges);
    *reinterpret_cast<Four*>(edges->row(RodEdgeRows::kLength) + i) = length;
    *reinterpret_cast<Four*>(edges->row(RodEdgeRows::kAngle) + i) = angle;
  }
  for (int k = 0; k < RodEdgeRows::kNumRows; ++k) {
    double* const row = edges->row(k);
    const double next = s.closed ? row[0] : row[s.edges - 1];
    for (int i = s.edges; i < edges->stride; ++i) row[i] = next;
  }
}

CAPSTAN_CLONES void calc_joint_strains(const RodEdgeRows& edges, int joints, const double* beta,
                                       bool is_beta_given, double* strains, double* found) {
  const int stride = edges.stride;
  for (int j = 0; j < joints; j += 4) {
    JointLanes b;
    load(edges, j, &b);
    Four kappa_1, kappa_2, twist = {};
    dot(b.kb, b.m2e + b.m2f, &kappa_1);
    dot(b.kb, b.m1e + b.m1f, &kappa_2);
    for (int l = 0; l < 4; ++l) twist[l] = beta[std::min(j + l, joints - 1)];
    if (!is_beta_given) {
      const Lanes3 de = load_vector(edges, RodEdgeRows::kDirector, j),
                   df = load_vector(edges, RodEdgeRows::kDirector, j + 1);
      Four along, x, y;
      dot(b.cross_ef, de, &along);
      const Four share = along / b.chi;
      const Lanes3 d = b.cosine * de + cross(b.cross_ef, de) + share * b.cross_ef;
      dot(d, df, &x);
      dot(cross(d, df), b.tf, &y);
      for (int l = 0; l < 4; ++l) {
        const double angle = std::atan2(y[l], x[l]);
        twist[l] = angle + kTurn * std::round((twist[l] - angle) / kTurn);
      }
    }
    if (found != nullptr) *reinterpret_cast<Four*>(found + j) = twist;
    const Four tau = four(edges.row(RodEdgeRows::kAngle) + j + 1) - four(edges.row(RodEdgeRows::kAngle) + j);
    *reinterpret_cast<Four*>(strains + j) = 0.5 * kappa_1;
    *reinterpret_cast<Four*>(strains + stride + j) = -0.5 * kappa_2;
    *reinterpret_cast<Four*>(strains + 2 * stride + j) = tau + twist;
  }
}

CAPSTAN_CLONES void calc_elements(const RodEdgeRows& edges, const RodElementSource& s, RodElement* elements,
                                  RodLargest* largest) {
  const int stride = edges.stride;
  const bool has_rate = s.rate != nullptr, has_before = s.strain_before != nullptr;
  const double stiffer = has_before ? 1 + s.damping : 1;
  Four most_moment = {}, most_force = {}, most_bend = {}, most_inverse = {};
  for (int j = 0; j < s.joints; j += 4) {
    JointLanes b;
    load(edges, j, &b);
    const Four ie = 1 / four(edges.row(RodEdgeRows::kLength) + j),
               jf = 1 / four(edges.row(RodEdgeRows::kLength) + j + 1), by_chi = 1 / b.chi;
    const Lanes3 t = by_chi * (b.te + b.tf);
    std::array<const double*, 4> lengths, rests;
    for (int l = 0; l < 4; ++l) {
      const int at = std::min(j + l, s.joints - 1);
      lengths[l] = s.rest_length + at;
      rests[l] = s.rest_strain + 3 * static_cast<long>(at);
    }
    Four L_and_after[2] = {}, rest[3] = {};
    to_lanes(lengths, 2, L_and_after);
    to_lanes(rests, 3, rest);
    const Four L = L_and_after[0], after = L_and_after[1];
    const Four by_span = 2 / (L + after);
    const Four k[3] = {s.EI_1 * by_span, s.EI_2 * by_span, s.GJ * by_span};
    const Four strain[3] = {four(s.strain + j), four(s.strain + stride + j), four(s.strain + 2 * stride + j)};

    GradientLanes g[3];
    const Lanes3 u[2] = {by_chi * (b.m2e + b.m2f), -by_chi * (b.m1e + b.m1f)};
    for (int a = 0; a < 2; ++a) {
      const Lanes3 kt = strain[a] * t;
      g[a].e = ie * (cross(b.tf, u[a]) - kt);
      g[a].f = -jf * (cross(b.te, u[a]) + kt);
      Four of_e, of_f;
      dot(b.kb, a == 0 ? b.m1e : b.m2e, &of_e);
      dot(b.kb, a == 0 ? b.m1f : b.m2f, &of_f);
      g[a].angle_e = -0.5 * of_e;
      g[a].angle_f = -0.5 * of_f;
    }
    g[2].e = (0.5 * ie) * b.kb;
    g[2].f = (0.5 * jf) * b.kb;
    g[2].angle_e = -1.0 + Four{};
    g[2].angle_f = 1.0 + Four{};

    Four extra[3] = {}, rate_e[4] = {}, rate_f[4] = {}, rate_last[4] = {};
    if (has_before) {
      for (int a = 0; a < 3; ++a) extra[a] = s.damping * (strain[a] - four(s.strain_before + a * stride + j));
    } else if (has_rate) {
      std::array<const double*, 4> at;
      for (int l = 0; l < 4; ++l) at[l] = s.rate + 4 * static_cast<long>(std::min(j + l, s.joints - 1));
      to_lanes(at, 4, rate_e);
      for (const double*& x : at) x += 4;
      to_lanes(at, 4, rate_f);
      for (const double*& x : at) x += 4;
      to_lanes(at, 4, rate_last);
      const Lanes3 de(rate_f[0] - rate_e[0], rate_f[1] - rate_e[1], rate_f[2] - rate_e[2]);
      const Lanes3 df(rate_last[0] - rate_f[0], rate_last[1] - rate_f[1], rate_last[2] - rate_f[2]);
      for (int a = 0; a < 3; ++a) {
        Four by_e, by_f;
        dot(g[a].e, de, &by_e);
        dot(g[a].f, df, &by_f);
        extra[a] = s.damping * (by_e + by_f + g[a].angle_e * rate_e[3] + g[a].angle_f * rate_f[3]);
      }
    }
    Four stress[3];
    GradientLanes sum;
    for (int a = 0; a < 3; ++a) {
      stress[a] = k[a] * (strain[a] - rest[a] + extra[a]);
      sum.e = sum.e + stress[a] * g[a].e;
      sum.f = sum.f + stress[a] * g[a].f;
      sum.angle_e += stress[a] * g[a].angle_e;
      sum.angle_f += stress[a] * g[a].angle_f;
      keep_larger_size(stress[a], &most_moment);
      keep_larger(k[a], &most_bend);
    }
    keep_larger(ie, &most_inverse);
    keep_larger(jf, &most_inverse);
    alignas(32) Four out[kNumbers];
    HessianLanes H;
    if (s.per_q > 0) {
      for (int a = 0; a < 3; ++a) add_square((s.per_q * stiffer) * k[a], g[a], &H);
      const Four w[3] = {s.per_q * stress[0], s.per_q * stress[1], s.per_q * stress[2]};
      if (s.has_stress) add_stresses(b, t, w, strain, ie, jf, &H);
    }
    Four push[12];
    spread(sum, push);
    for (const Four& x : push) keep_larger_size(x, &most_force);
    if (s.has_stretch) {
      const Four length = four(edges.row(RodEdgeRows::kLength) + j);
      Four stretch = length / L - 1;
      if (s.length_before != nullptr) {
        stretch += s.stretch_damping * (length - four(s.length_before + j)) / L;
      } else if (has_rate) {
        Four along;
        dot(b.te, Lanes3(rate_f[0] - rate_e[0], rate_f[1] - rate_e[1], rate_f[2] - rate_e[2]), &along);
        stretch += s.damping * along / L;
      }
      const Four N = s.EA * stretch;
      keep_larger_size(N, &most_force);
      sum.e = sum.e + N * b.te;
      if (s.per_q > 0) {
        const Four along = (s.per_q * (1 + s.stretch_damping) * s.EA) / L, across = s.per_q * N * ie;
        add_square(along - across, b.te, H.ee);
        for (const int i : {0, 3, 5}) H.ee[i] += across;
      }
    }
    spread(sum, out);
    std::array<double*, 4> to = {};
    for (int l = 0; l < 4 && j + l < s.joints; ++l) to[l] = elements[j + l].push.data();
    if (s.per_q > 0) {
      spread(H, out);
      from_lanes(out, kNumbers, to);
    } else {
      from_lanes(out, 12, to);
    }
  }
  for (int l = 0; l < 4; ++l) {
    largest->force = std::max(largest->force, most_force[l]);
    largest->moment = std::max(largest->moment, most_moment[l]);
    largest->bend = std::max(largest->bend, most_bend[l]);
    if (most_inverse[l] > 0) largest->shortest = std::min(largest->shortest, 1 / most_inverse[l]);
  }
}

}  // namespace capstan
