#include "capstan/physics/rod_energy.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "capstan/math/rotation.h"

namespace capstan {
namespace {

// What the derivatives of both curvatures share.
struct Bend {
  Vec3 kb, t;  // t = (t_e + t_f) / chi
  double chi;  // 1 + t_e.t_f
};
Bend make_bend(const RodEdge& e, const RodEdge& f) {
  Bend b;
  b.chi = 1 + e.tangent.dot(f.tangent);
  b.kb = 2 / b.chi * cross(e.tangent, f.tangent);
  b.t = (e.tangent + f.tangent) / b.chi;
  return b;
}

// The places of x_0, gamma_e, x_1, gamma_f, x_2.
constexpr int kX0 = 0, kE = 3, kX1 = 4, kF = 7, kX2 = 8;

// H += the second derivatives by the vectors e and f, each a difference of nodes, and by the angles.
struct EdgeHessian {
  Mat3 ee, ff, ef;
  Vec3 e_e, e_f, f_e, f_f;  // by e or f, and by gamma_e or gamma_f
  double angle_e = 0, angle_f = 0;
};
void add(const EdgeHessian& h, Mat11* H) {
  const auto block = [&](int i, int j, const Mat3& B) { H->block<3, 3>(i, j) += B; };
  const Mat3 fe = h.ef.transpose();
  block(kX0, kX0, h.ee);
  block(kX0, kX1, h.ef - h.ee);
  block(kX0, kX2, -h.ef);
  block(kX1, kX0, fe - h.ee);
  block(kX1, kX1, h.ee - h.ef - fe + h.ff);
  block(kX1, kX2, h.ef - h.ff);
  block(kX2, kX0, -fe);
  block(kX2, kX1, fe - h.ff);
  block(kX2, kX2, h.ff);
  const auto column = [&](int j, const Vec3& by_e, const Vec3& by_f) {
    const Vec3 parts[3] = {-by_e, by_e - by_f, by_f};
    const int rows[3] = {kX0, kX1, kX2};
    for (int k = 0; k < 3; ++k) {
      H->block<3, 1>(rows[k], j) += parts[k];
      H->block<1, 3>(j, rows[k]) += parts[k].transpose();
    }
  };
  column(kE, h.e_e, h.f_e);
  column(kF, h.e_f, h.f_f);
  (*H)(kE, kE) += h.angle_e;
  (*H)(kF, kF) += h.angle_f;
}

Mat3 outer(const Vec3& a, const Vec3& b) {
  return a * b.transpose();
}
Mat3 twice_symmetric(const Vec3& a, const Vec3& b) {
  const Mat3 m = outer(a, b);
  return m + m.transpose();
}

// Of kappa = kb.(u_e + u_f) / 2.
EdgeHessian curvature_hessian(const RodEdge& e, const RodEdge& f, const Bend& b, const Vec3& u_e,
                              const Vec3& u_f) {
  const Vec3 u = (u_e + u_f) / b.chi, fu = cross(f.tangent, u), eu = cross(e.tangent, u);
  const double kappa = 0.5 * b.kb.dot(u_e + u_f), ie = 1 / e.length, jf = 1 / f.length;
  const Mat3 tt = 2 * kappa * outer(b.t, b.t), one = Mat3::Identity();
  EdgeHessian h;
  h.ee = ie * ie *
         (tt - twice_symmetric(fu, b.t) - kappa / b.chi * (one - outer(e.tangent, e.tangent)) +
          0.25 * twice_symmetric(b.kb, u_e));
  h.ff = jf * jf *
         (tt + twice_symmetric(eu, b.t) - kappa / b.chi * (one - outer(f.tangent, f.tangent)) +
          0.25 * twice_symmetric(b.kb, u_f));
  h.ef =
      ie * jf *
      (tt - outer(fu, b.t) + outer(b.t, eu) - skew(u) - kappa / b.chi * (one + outer(e.tangent, f.tangent)));
  const Vec3 w_e = cross(e.tangent, u_e), w_f = cross(f.tangent, u_f);  // du / dgamma
  const double k_e = 0.5 * b.kb.dot(w_e), k_f = 0.5 * b.kb.dot(w_f);
  h.e_e = ie * (-k_e * b.t + cross(f.tangent, w_e) / b.chi);
  h.e_f = ie * (-k_f * b.t + cross(f.tangent, w_f) / b.chi);
  h.f_e = jf * (-k_e * b.t - cross(e.tangent, w_e) / b.chi);
  h.f_f = jf * (-k_f * b.t - cross(e.tangent, w_f) / b.chi);
  h.angle_e = -0.5 * b.kb.dot(u_e);
  h.angle_f = -0.5 * b.kb.dot(u_f);
  return h;
}

// h += weight times that of tau.
void add_twist_hessian(const RodEdge& e, const RodEdge& f, const Bend& b, double weight, EdgeHessian* h) {
  const double ie = 1 / e.length, jf = 1 / f.length;
  h->ee -= 0.25 * weight * ie * ie * twice_symmetric(b.kb, e.tangent + b.t);
  h->ff -= 0.25 * weight * jf * jf * twice_symmetric(b.kb, f.tangent + b.t);
  h->ef += 0.5 * weight * ie * jf * (2 / b.chi * skew(e.tangent) - outer(b.kb, b.t));
}

}  // namespace

Vec3 parallel_transport(const Vec3& a, const Vec3& b, const Vec3& v) {
  const double c = a.dot(b);
  if (c < -1 + 1e-12) return rotate(quat_between(a, b), v);
  const Vec3 w = cross(a, b);
  return c * v + cross(w, v) + w.dot(v) / (1 + c) * w;
}

RodEdge make_rod_edge(const Vec3& span, const Vec3& director, double angle) {
  RodEdge e;
  e.length = span.norm();
  e.tangent = span / e.length;
  e.director = director;
  e.angle = angle;
  const Vec3 d2 = cross(e.tangent, director);
  const double c = std::cos(angle), s = std::sin(angle);
  e.m1 = c * director + s * d2;
  e.m2 = c * d2 - s * director;
  return e;
}

double calc_reference_twist(const RodEdge& e, const RodEdge& f, double previous) {
  const Vec3 d = parallel_transport(e.tangent, f.tangent, e.director);
  const double angle = std::atan2(cross(d, f.director).dot(f.tangent), d.dot(f.director));
  return angle + 2 * std::numbers::pi * std::round((previous - angle) / (2 * std::numbers::pi));
}

Vec3 calc_joint_strain(const RodEdge& e, const RodEdge& f, double beta) {
  const Bend b = make_bend(e, f);
  return {0.5 * b.kb.dot(e.m2 + f.m2), -0.5 * b.kb.dot(e.m1 + f.m1), f.angle - e.angle + beta};
}

JointGradient calc_joint_gradient(const RodEdge& e, const RodEdge& f) {
  const Bend b = make_bend(e, f);
  JointGradient g;
  const auto set = [&](int a, const Vec3& by_e, const Vec3& by_f, double angle_e, double angle_f) {
    g.col(a) << -by_e, angle_e, by_e - by_f, angle_f, by_f;
  };
  for (int a = 0; a < 2; ++a) {
    const Vec3 u_e = a == 0 ? e.m2 : Vec3(-e.m1), u_f = a == 0 ? f.m2 : Vec3(-f.m1);
    const Vec3 u = (u_e + u_f) / b.chi;
    const double kappa = 0.5 * b.kb.dot(u_e + u_f);
    set(a, (cross(f.tangent, u) - kappa * b.t) / e.length, (-cross(e.tangent, u) - kappa * b.t) / f.length,
        0.5 * b.kb.dot(cross(e.tangent, u_e)), 0.5 * b.kb.dot(cross(f.tangent, u_f)));
  }
  set(2, b.kb / (2 * e.length), b.kb / (2 * f.length), -1, 1);
  return g;
}

void add_joint_hessian(const RodEdge& e, const RodEdge& f, const Vec3& weight, Mat11* H) {
  const Bend b = make_bend(e, f);
  // Curvatures are linear in u: the weighted sum of both is one.
  EdgeHessian h =
      curvature_hessian(e, f, b, weight[0] * e.m2 - weight[1] * e.m1, weight[0] * f.m2 - weight[1] * f.m1);
  add_twist_hessian(e, f, b, weight[2], &h);
  add(h, H);
}

SectionConstants calc_section_constants(const RodSection& section) {
  const double a = section.width, b = section.type == RodSectionType::circle ? a : section.height;
  SectionConstants c;
  if (section.type == RodSectionType::rectangle) {
    c.area = a * b;
    c.second_moment[0] = a * a * a * b / 12;
    c.second_moment[1] = a * b * b * b / 12;
    const double x = std::max(a, b), y = std::min(a, b);
    double sum = 0;  // Saint-Venant's series
    for (int n = 1; n < 40; n += 2) sum += std::tanh(n * std::numbers::pi * x / (2 * y)) / std::pow(n, 5);
    c.torsion = x * y * y * y / 3 * (1 - 192 * y / (std::pow(std::numbers::pi, 5) * x) * sum);
  } else {
    c.area = std::numbers::pi / 4 * a * b;
    c.second_moment[0] = std::numbers::pi / 64 * a * a * a * b;
    c.second_moment[1] = std::numbers::pi / 64 * a * b * b * b;
    c.torsion = std::numbers::pi / 16 * a * a * a * b * b * b / (a * a + b * b);
  }
  if (section.torsion == TorsionConstant::polar) c.torsion = c.polar();
  return c;
}

}  // namespace capstan
