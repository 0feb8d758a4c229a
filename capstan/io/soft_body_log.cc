#include "capstan/io/soft_body_log.h"

#include <algorithm>
#include <vector>

#include "capstan/model/add_soft_body.h"

namespace capstan {

std::vector<LogColumn> soft_body_columns(const Model& model) {
  std::vector<LogColumn> columns;
  for (const int object : find_soft_bodies(model)) {
    const std::string name = soft_body_name(model, object);
    columns.push_back({"soft_bodies", name + ".energy", "J"});
    columns.push_back({"soft_bodies", name + ".volume", "m^3"});
    columns.push_back({"soft_bodies", name + ".strain", "1"});
    columns.push_back({"soft_bodies", name + ".stress", "Pa"});
    if (soft_body_of(model, object).spec().is_sealed) {
      columns.push_back({"soft_bodies", name + ".pressure", "Pa"});
      columns.push_back({"soft_bodies", name + ".gas_volume", "m^3"});
    }
    for (const char* axis : {".x", ".y", ".z"}) columns.push_back({"soft_bodies", name + axis, "m"});
  }
  return columns;
}

void calc_soft_body_numbers(const Model& model, const State& state, std::span<double> numbers) {
  auto next = numbers.begin();
  std::vector<double> stress;  // [nodes]
  for (const int id : find_soft_bodies(model)) {
    const Object& object = model.objects[id];
    const SoftBody& body = soft_body_of(model, id);
    const auto q = state.q.segment(object.q_begin, object.num_positions());
    const SoftStrain strain = body.calc_strain(q);
    Vec3 moment;
    const double mass = body.calc_mass(q, &moment);
    *next++ = body.calc_elastic_energy(q);
    *next++ = strain.volume;
    *next++ = strain.largest;
    stress.resize(body.num_nodes());
    body.calc_von_mises(q, stress);
    *next++ = *std::max_element(stress.begin(), stress.end());
    if (body.spec().is_sealed) {
      *next++ = body.calc_pressure(q);
      *next++ = body.calc_cavity_volume(q);
    }
    for (int k = 0; k < 3; ++k) *next++ = mass > 0 ? moment[k] / mass : 0;
  }
}

}  // namespace capstan
