// Chooses a contact law and a normal law once for a pool of contacts; inside the loops nothing branches on
// them.
//
// The pool is an array of ContactData beside arrays of velocities, impulses and Hessians that the caller
// owns. All sums run in index order. No function allocates. For a loop that does more per contact than these
// (say, accumulate into the 6x6 of a pair of bodies), use with_law and call the law's own inline functions:
//
//   with_law(law, normal_law, [&](auto l) {
//     using Law = decltype(l);
//     for (...) Law::evaluate(data[i], v[i], &cost, &gamma, &G);
//   });
#pragma once

#include <span>

#include "capstan/laws/contact.h"
#include "capstan/laws/hertz.h"
#include "capstan/laws/hunt_crossley.h"
#include "capstan/laws/kelvin_voigt.h"
#include "capstan/laws/lagged.h"
#include "capstan/laws/sap.h"
#include "capstan/laws/similar.h"

namespace capstan {

// Calls f with a value of the type of the law. coulomb is regularized_lagged with bounds that the solver
// finds (solvers/coulomb.cc). sap has its own normal law (Kelvin-Voigt with the near-rigid floor) and takes
// no notice of normal_law.
template <class F>
decltype(auto) with_law(ContactLaw law, NormalLaw normal_law, F&& f) {
  const auto with_normal = [&]<class Normal>(Normal) -> decltype(auto) {
    switch (law) {
      case ContactLaw::sap:
        break;
      case ContactLaw::lagged:
        return f(Lagged<Normal>());
      case ContactLaw::similar:
        return f(Similar<Normal>());
      case ContactLaw::regularized_lagged:
      case ContactLaw::coulomb:
        return f(RegularizedLagged<Normal>());
    }
    __builtin_unreachable();
  };
  if (law == ContactLaw::sap) return f(Sap());
  switch (normal_law) {
    case NormalLaw::hunt_crossley:
      return with_normal(HuntCrossley());
    case NormalLaw::hertz:
      return with_normal(Hertz());
    case NormalLaw::kelvin_voigt:
      return with_normal(KelvinVoigt());
  }
  __builtin_unreachable();
}

ContactData make_contact(ContactLaw law, NormalLaw normal_law, const ContactInput& input);

// One contact. Any of cost, gamma, G may be null.
void evaluate(ContactLaw law, NormalLaw normal_law, const ContactData& contact, const Vec3& v, double* cost,
              Vec3* gamma, Mat3* G);
ContactRegion region(ContactLaw law, NormalLaw normal_law, const ContactData& contact, const Vec3& v);

// A pool: returns the sum of the costs; fills gamma and G where they are not empty (sizes as contacts).
double evaluate(ContactLaw law, NormalLaw normal_law, std::span<const ContactData> contacts,
                std::span<const Vec3> v, std::span<Vec3> gamma, std::span<Mat3> G);

// The same pool along the line v + a dv: first and second derivative in a.
struct LineDerivatives {
  double first = 0, second = 0;
};
LineDerivatives evaluate_along(ContactLaw law, NormalLaw normal_law, std::span<const ContactData> contacts,
                               std::span<const Vec3> v, std::span<const Vec3> dv, double a);

}  // namespace capstan
