// Which contact law a step uses, and the numbers that all contacts of a scene share (docs/laws.md).
//
// A law is in two lists, and what misses in either of them does not compile: its traits below, which all
// stages and files read, and with_law() (laws/contact_laws.h), which has its type.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace capstan {

enum class ContactLaw { sap, lagged, similar, regularized_lagged, coulomb };
enum class NormalLaw { hunt_crossley, hertz, kelvin_voigt };

struct NormalLawTraits {
  const char* name = nullptr;  // in scene files and on the command line
  bool relaxes = false;        // has a relaxation time instead of dissipation: k (phi + (dt + tau) v)
  double exponent = 1;         // of the depth in its force
};

constexpr NormalLawTraits traits(NormalLaw law) {
  switch (law) {
    case NormalLaw::hunt_crossley:
      return {.name = "hunt_crossley"};
    case NormalLaw::hertz:
      return {.name = "hertz", .exponent = 1.5};
    case NormalLaw::kelvin_voigt:
      return {.name = "kelvin_voigt", .relaxes = true};
  }
  return {};
}

// What there is to know of a friction law besides its equations (laws/).
struct ContactLawTraits {
  const char* name = nullptr;       // in scene files and on the command line
  bool has_own_normal_law = false;  // kelvin_voigt, whatever else was asked for
  bool glides = false;              // bodies that slide are held apart, the farther the faster they are
  bool lags = false;                // friction is bounded by a normal impulse that is known before the solve
  bool finds_bounds = false;        // the solver finds these bounds (solvers/coulomb.cc)
  bool has_sigma = true;            // friction is regularized by the mass at the contact (sigma)
  double sigma = 1e-5;              // where none is given: that of contacts, and of dry friction in joints
  bool is_projection = false;       // impulses are projections to the cone: complementarity can be measured
};

constexpr ContactLawTraits traits(ContactLaw law) {
  switch (law) {
    case ContactLaw::sap:
      return {
          .name = "sap", .has_own_normal_law = true, .glides = true, .sigma = 1e-4, .is_projection = true};
    case ContactLaw::lagged:
      return {.name = "lagged", .lags = true, .has_sigma = false};
    case ContactLaw::similar:
      return {.name = "similar", .glides = true, .has_sigma = false};
    case ContactLaw::regularized_lagged:
      return {.name = "regularized_lagged", .lags = true};
    case ContactLaw::coulomb:
      return {.name = "coulomb", .finds_bounds = true};
  }
  return {};
}

// Names in the order of an enum of laws; there are as many as have traits.
template <class Law>
constexpr int count_laws() {
  int n = 0;
  while (traits(static_cast<Law>(n)).name != nullptr) ++n;
  return n;
}
template <class Law>
constexpr auto law_names() {
  std::array<const char*, count_laws<Law>()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = traits(static_cast<Law>(i)).name;
  return names;
}
inline constexpr auto kContactLawNames = law_names<ContactLaw>();
inline constexpr auto kNormalLawNames = law_names<NormalLaw>();

struct ContactOptions {
  ContactLaw law = ContactLaw::coulomb;
  NormalLaw normal_law = NormalLaw::hunt_crossley;
  std::optional<double> sigma;   // R_t = sigma w (Castro et al., SAP, eq. 30, which has 1e-3); else the law's
  double beta = 1.0;             // near-rigid period of contacts over dt (eq. 29)
  double constraint_beta = 0.1;  // the same of limits, welds, couplers, ...
  double recovery_speed = 1;     // [m/s or rad/s] errors of position are undone no faster (laws/recovery.h)
  bool operator==(const ContactOptions&) const = default;
};

// That which acts: the law's own, or the one that was asked for.
constexpr NormalLaw acting_normal_law(const ContactOptions& options) {
  return traits(options.law).has_own_normal_law ? NormalLaw::kelvin_voigt : options.normal_law;
}

constexpr double acting_sigma(const ContactOptions& options) {
  return options.sigma.value_or(traits(options.law).sigma);
}

}  // namespace capstan
