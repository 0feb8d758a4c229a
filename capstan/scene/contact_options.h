// Which contact law a step uses, and the numbers that all contacts of a scene share (docs/laws.md).
#pragma once

#include <array>

namespace capstan {

enum class ContactLaw { sap, lagged, similar, regularized_lagged, coulomb };
enum class NormalLaw { hunt_crossley, hertz, kelvin_voigt };

// Names as scene files and the command line have them, in the order of the enums.
inline constexpr std::array<const char*, 5> kContactLawNames = {"sap", "lagged", "similar",
                                                                "regularized_lagged", "coulomb"};
inline constexpr std::array<const char*, 3> kNormalLawNames = {"hunt_crossley", "hertz", "kelvin_voigt"};

struct ContactOptions {
  ContactLaw law = ContactLaw::coulomb;
  NormalLaw normal_law = NormalLaw::hunt_crossley;
  double sigma = 5e-4;           // R_t = sigma w (sap.txt eq. 30, which has 1e-3)
  double beta = 1.0;             // near-rigid period of contacts over dt (eq. 29)
  double constraint_beta = 0.1;  // the same of limits, welds, couplers, ...
  double recovery_speed = 1;     // [m/s or rad/s] errors of position are undone no faster (laws/recovery.h)
  bool operator==(const ContactOptions&) const = default;
};

}  // namespace capstan
