// How fast an error of position is undone: a joint beyond its limit, an open loop, bodies that overlap.
//
// A stiff law asks for the speed at which the error e is gone after one step, v_hat = e / (dt + tau). That is
// right for the small errors that loads cause, and an explosion where a scene starts with a large one: a knee
// that starts 0.9 rad beyond its limit would turn back at 450 rad/s. The speed is therefore bounded,
//
//   v_hat <= min(v_r, v_r / 100 + e / T)      v_r: ContactOptions::recovery_speed,   T = 0.1 s
//
// so that it takes a tenth of a second or longer, in mechanisms of any size. Where the bound holds, v_hat and
// R shrink by the same factor s:
//
//   gamma(v) = (s v_hat - v) / (s R),     gamma(0) = v_hat / R as before
//
// What stands still is held with the same force at the same depth, with or without the bound; only the
// rebound is less. Limits: v_r infinite, s = 1. e below v_r (dt + tau) / 100, s = 1: no step of a scene that
// starts without errors changes by a bit. R shrinks by 100 at most, so that no problem becomes too stiff to
// solve; beyond, the force at rest is less than gamma(0), and still v_r / (R / 100).
//
// Contacts: those of kelvin_voigt and sap part no faster than v_r, unless their material has a relaxation
// time; those of hunt_crossley and hertz push no more from the speed 1 / dissipation on (0.02 m/s by
// default). What is not bounded: springs, as the energy in them is real. These are constraints with a
// stiffness that the time step can show, contacts with a relaxation time, and contacts with little
// dissipation.
#pragma once

#include <algorithm>
#include <cmath>

namespace capstan {

inline constexpr double kRecoveryTime = 0.1;       // T [s]
inline constexpr double kSlowestRecovery = 0.01;   // of v_r: a speed that loads may ask for at rest
inline constexpr double kStiffestRecovery = 0.01;  // of R

// s for a law that would undo the error (>= 0) at the speed v_hat (>= 0).
inline double recovery_scale(double recovery_speed, double error, double v_hat) {
  const double most = std::min(recovery_speed, kSlowestRecovery * recovery_speed + error / kRecoveryTime);
  return v_hat > most ? most / v_hat : 1;
}

}  // namespace capstan
