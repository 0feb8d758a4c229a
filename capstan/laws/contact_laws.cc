#include "capstan/laws/contact_laws.h"

namespace capstan {

ContactData make_contact(ContactLaw law, NormalLaw normal_law, const ContactInput& input) {
  return with_law(law, normal_law, [&](auto l) { return decltype(l)::make(input); });
}

void evaluate(ContactLaw law, NormalLaw normal_law, const ContactData& contact, const Vec3& v, double* cost,
              Vec3* gamma, Mat3* G) {
  with_law(law, normal_law, [&](auto l) { decltype(l)::evaluate(contact, v, cost, gamma, G); });
}

ContactRegion region(ContactLaw law, NormalLaw normal_law, const ContactData& contact, const Vec3& v) {
  return with_law(law, normal_law, [&](auto l) { return decltype(l)::region(contact, v); });
}

double evaluate(ContactLaw law, NormalLaw normal_law, std::span<const ContactData> contacts,
                std::span<const Vec3> v, std::span<Vec3> gamma, std::span<Mat3> G) {
  return with_law(law, normal_law, [&](auto l) {
    double sum = 0, cost = 0;
    for (size_t i = 0; i < contacts.size(); ++i) {
      decltype(l)::evaluate(contacts[i], v[i], &cost, gamma.empty() ? nullptr : &gamma[i],
                            G.empty() ? nullptr : &G[i]);
      sum += cost;
    }
    return sum;
  });
}

LineDerivatives evaluate_along(ContactLaw law, NormalLaw normal_law, std::span<const ContactData> contacts,
                               std::span<const Vec3> v, std::span<const Vec3> dv, double a) {
  return with_law(law, normal_law, [&](auto l) {
    LineDerivatives sum;
    double first = 0, second = 0;
    for (size_t i = 0; i < contacts.size(); ++i) {
      decltype(l)::evaluate_along(contacts[i], v[i] + a * dv[i], dv[i], &first, &second);
      sum.first += first;
      sum.second += second;
    }
    return sum;
  });
}

}  // namespace capstan
