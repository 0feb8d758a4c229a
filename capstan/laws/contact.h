// What a contact law is, and the plain data that all of them share.
//
// A contact law is a convex potential l(v) of one contact velocity v = (v_x, v_y, v_n) in the contact frame
// (z is the normal, v_n > 0 separates):
//
//   cost l(v) [J],   impulse gamma = -dl/dv [N s],   Hessian G = d2l/dv2 = -dgamma/dv [kg]
//
// G is symmetric positive semi-definite, gamma_n >= 0. Every law measures its cost from zero: l = 0 wherever
// the contact is open and does not slip, so that costs of stiff contacts do not drown small ones in
// round-off.
//
// A law is a struct with static functions (sap.h, lagged.h, similar.h):
//
//   static ContactData make(const ContactInput&);
//   static void evaluate(const ContactData&, const Vec3& v, double* cost, Vec3* gamma, Mat3* G);  // any null
//   static void evaluate_along(const ContactData&, const Vec3& v, const Vec3& dv, double* dl, double* d2l);
//   static void shift(const Vec3& v, ContactData*);  // from now on velocities are counted from v
//   static ContactRegion region(const ContactData&, const Vec3& v);
//
// and a normal law is one too (hunt_crossley.h, hertz.h, kelvin_voigt.h; the conditions are stated below).
// contact_laws.h chooses among them once for a whole pool of contacts.
#pragma once

#include <algorithm>
#include <limits>

#include "capstan/laws/recovery.h"
#include "capstan/math/types.h"
#include "capstan/scene/contact_options.h"

namespace capstan {

constexpr double kSmallestStictionTolerance = 1e-12;  // [m/s] guards the division by eps_s
constexpr double kSmallestRegularization = 1e-18;     // [1/kg] guards the divisions by R_t and R_n
constexpr double kLargestFriction = 1e9;              // stands for an infinite coefficient

enum class ContactRegion { open, sticking, sliding };

// What assembly knows of one contact.
struct ContactInput {
  double distance = 0;          // phi0 [m] at the beginning of the step; < 0 overlaps, > 0 speculative
  double stiffness = 1e6;       // k [N/m], Hertz: [N/m^1.5]; 0 to infinity (near-rigid)
  double dissipation = 50;      // Hunt-Crossley d [s/m], >= 0; not used by kelvin_voigt and sap
  double relaxation_time = -1;  // tau_d [s] of kelvin_voigt and sap; negative: the time step
  double friction = 0.5;        // mu, 0 to infinity
  bool has_friction_tensor = false;
  Mat2 friction_tensor = Mat2::Zero();  // replaces mu if has_friction_tensor: symmetric, positive
                                        // semi-definite, finite, in the contact frame. Not for sap.
  double stiction_tolerance = 1e-4;     // v_s [m/s], > 0; not used by sap
  Vec3 v0 = Vec3::Zero();               // contact velocity at the beginning of the step, without `bias` [m/s]
  Vec3 bias = Vec3::Zero();  // added to every contact velocity: surface velocity of B minus that of A (belts)
  double w_n = 1, w_t = 1;   // estimates of the Delassus diagonal, normal and tangential [1/kg], > 0
  double dt = 5e-3;          // [s], > 0
  double sigma = 1e-3;       // R_t = sigma w_t (SAP eq. 30, ICF eq. 26)
  double beta = 1;           // near-rigid period over dt (SAP eq. 29)
  // v_r [m/s] of kelvin_voigt and sap without a relaxation time (recovery.h).
  double recovery_speed = std::numeric_limits<double>::infinity();
  double lagged_impulse = -1;   // n0 [N s] for lagged friction, if the caller knows it better; negative: from
                                // the normal law at (phi0, v_n0), ICF eq. 18
  bool lagged_at_rest = false;  // n0 from v_n = 0 where v_n0 is less: as a guess, an impact tells too much
};

// Coefficients of a normal law. Which of c0, c1, offset mean what is the law's own matter.
struct NormalData {
  double v_hat = 0;  // breaking velocity [m/s]: the impulse is zero from here up
  double c0 = 0, c1 = 0, offset = 0;
};

// Value of a normal law at one normal velocity: cost l_n >= 0 [J], impulse n = -l_n' >= 0 [N s],
// slope l_n'' = -n' >= 0 [kg].
//
// A normal law is a force f_n(phi, v_n) >= 0 [N] that does not increase with phi, nor with v_n (ICF eq. 8).
// Then n(v) = dt f_n(phi0 + dt v, v) does not increase and l_n(v) = integral of n from v to v_hat is convex;
// lagged.h and similar.h take any such law:
//
//   static double force(const ContactInput&, double phi, double v_n);   // the definition
//   static NormalData make(const ContactInput&);
//   static NormalResponse evaluate(const NormalData&, double v_n);
//   static double resolve(const NormalData&, double rho, double z);    // optional: see resolve.h
struct NormalResponse {
  double cost = 0, impulse = 0, slope = 0;
};

// Precomputed for one contact and one step; 112 bytes, no pointers. Made by Law::make or make_contact().
struct ContactData {
  Vec3 bias = Vec3::Zero();
  NormalData normal;
  double mu_xx = 0, mu_xy = 0, mu_yy = 0;  // friction tensor; mu_xx is mu where it is isotropic
  double slip = 0;            // sap: R_t [1/kg]; others: eps = rms(mu) eps_s, soft-norm width of mu v_t [m/s]
  double normal_impulse = 0;  // lagged: n0 [N s]
  // similar: |M b|_s of the bias b [m/s] if z and v_hat are counted from there (shift), else 0
  double least_slip = 0, slip_rate = 0;  // lagged: slip is the larger of least_slip and slip_rate n0
};

// A contact without stiffness and friction: it never has an impulse.
inline bool is_inert(const ContactData& d) {
  return d.normal.c0 == 0 && d.normal.c1 == 0 && d.normal_impulse == 0 && d.mu_xx == 0 && d.mu_yy == 0;
}

// The normal stiffness that stands for an infinite one: the period of mass 1/w_n on it is beta dt
// (SAP V-B), so that a point mass rests at depth beta^2 g dt^2 / 4 pi^2.
inline double near_rigid_stiffness(const ContactInput& in) {
  constexpr double kFourPiSquared = 39.47841760435743;
  return kFourPiSquared / (std::max(in.beta * in.beta * in.w_n, kSmallestRegularization) * in.dt * in.dt);
}

inline double relaxation_time(const ContactInput& in) {
  return in.relaxation_time < 0 ? in.dt : in.relaxation_time;
}

// Bounds the speed at which the linear law n = c0 (v_hat - v) parts bodies that overlap, unless the material
// has a relaxation time of its own (recovery.h). The impulse at v = 0 stays.
inline void bound_recovery(const ContactInput& in, NormalData* d) {
  if (in.relaxation_time >= 0 || !(d->v_hat > in.recovery_speed)) return;
  const double scale = in.recovery_speed / d->v_hat;
  d->v_hat = in.recovery_speed;
  d->c0 /= std::max(scale, kStiffestRecovery);
}

}  // namespace capstan
