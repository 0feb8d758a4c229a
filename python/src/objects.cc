// Rods and soft bodies of a model: where their numbers are in q and v, what is constant, functions of q and
// v. The classes Rod and SoftBody of capstan/_objects.py show these to users, bound to a simulation.
#include <fmt/core.h>

#include "capstan/model/add_rod.h"
#include "capstan/model/add_soft_body.h"
#include "python/src/support.h"

namespace capstan::python {
namespace {

struct ObjectView {
  ModelPtr owner;
  int index;
  const Model& model() const { return owner->model; }
  const Object& object() const { return model().objects[index]; }
  const Physics& physics() const { return *object().physics; }
  VecX q(nb::handle all) const {
    return to_finite_vector(all, model().num_positions, "q")
        .segment(object().q_begin, object().num_positions());
  }
  VecX v(nb::handle all) const {
    return to_finite_vector(all, model().num_velocities(), "v")
        .segment(object().dof_begin, object().num_dofs());
  }
};

struct RodView : ObjectView {
  const Rod& rod() const { return rod_of(model(), index); }
};

struct SoftBodyView : ObjectView {
  const SoftBody& body() const { return soft_body_of(model(), index); }
};

template <std::size_t N>
IntArray to_indices(const std::vector<std::array<int, N>>& rows) {
  const nb::object type = nb::module_::import_("numpy").attr("dtype")("int32");
  return nb::borrow<IntArray>(
      to_records(rows.data(), rows.size() * sizeof(rows[0]), type).attr("reshape")(nb::make_tuple(-1, N)));
}

// [joints, 3] of a function of (rod, joint): turns at joints over the length that they belong to.
template <class Strain>
FloatArray over_length(const Rod& rod, const Strain& strain) {
  RowMatrix k(rod.num_joints(), 3);
  for (int j = 0; j < rod.num_joints(); ++j) k.row(j) = (strain(j) / rod.rest_span(j)).transpose();
  return to_numpy(k);
}

void bind_both(nb::module_& module) {
  nb::class_<ObjectView>(module, "_Object")
      .def_prop_ro("q", [](const ObjectView& o) { return make_slice(o.object().q_begin, o.object().q_end); })
      .def_prop_ro("v",
                   [](const ObjectView& o) { return make_slice(o.object().dof_begin, o.object().dof_end); })
      .def_prop_ro("bodies",
                   [](const ObjectView& o) {  // numbers of the parts that contacts name
                     const Model& m = o.model();
                     return make_slice(m.links[o.object().link_begin].body,
                                       m.links[o.object().link_end - 1].body + 1);
                   })
      .def_prop_ro("mass",
                   [](const ObjectView& o) {
                     Vec3 moment;
                     return o.physics().calc_mass(
                         initial_state(o.model()).q.segment(o.object().q_begin, o.object().num_positions()),
                         &moment);
                   })
      .def("center_of_mass",
           [](const ObjectView& o, const ArrayLike& q) {
             Vec3 moment;
             const double mass = o.physics().calc_mass(o.q(q), &moment);
             return to_numpy(Vec3(moment / mass));
           })
      .def("elastic_energy",
           [](const ObjectView& o, const ArrayLike& q) { return o.physics().calc_elastic_energy(o.q(q)); })
      .def("kinetic_energy",
           [](const ObjectView& o, const ArrayLike& q, const ArrayLike& v) {
             return o.physics().calc_kinetic_energy(o.q(q), o.v(v));
           })
      .def("momentum", [](const ObjectView& o, const ArrayLike& q, const ArrayLike& v) {
        return to_numpy(VecX(o.physics().calc_momentum(o.q(q), o.v(v))));
      });
}

}  // namespace

void bind_objects(nb::module_& module, nb::class_<CompiledModel>& model) {
  bind_both(module);
  nb::class_<RodView, ObjectView>(module, "_Rod")
      .def_prop_ro("num_nodes", [](const RodView& r) { return r.rod().num_nodes(); })
      .def_prop_ro("is_closed", [](const RodView& r) { return r.rod().spec().closed; })
      .def_prop_ro("rest_lengths",
                   [](const RodView& r) {
                     VecX lengths(r.rod().num_edges());
                     for (int i = 0; i < r.rod().num_edges(); ++i) lengths[i] = r.rod().rest_length(i);
                     return to_numpy(lengths);
                   })
      .def("tension",
           [](const RodView& r, const ArrayLike& all) {
             const VecX q = r.q(all);
             VecX tension(r.rod().num_edges());
             for (int i = 0; i < r.rod().num_edges(); ++i) tension[i] = r.rod().tension(q, i);
             return to_numpy(tension);
           })
      .def("curvature",
           [](const RodView& r, const ArrayLike& all) {
             const VecX q = r.q(all);
             return over_length(r.rod(), [&](int j) { return r.rod().strain(q, j); });
           })
      .def("natural_curvature", [](const RodView& r, const ArrayLike& all) {
        const VecX q = r.q(all);
        return over_length(r.rod(), [&](int j) { return r.rod().natural_strain(q, j); });
      });
  nb::class_<SoftBodyView, ObjectView>(module, "_SoftBody")
      .def_prop_ro("num_nodes", [](const SoftBodyView& s) { return s.body().num_nodes(); })
      .def_prop_ro("triangles", [](const SoftBodyView& s) { return to_indices(s.body().triangles()); })
      .def_prop_ro("tets", [](const SoftBodyView& s) { return to_indices(s.body().spec().mesh->tets); })
      .def_prop_ro("rest_positions",
                   [](const SoftBodyView& s) {
                     RowMatrix rest(s.body().num_nodes(), 3);
                     for (int i = 0; i < s.body().num_nodes(); ++i)
                       rest.row(i) = s.body().rest(i).transpose();
                     return to_numpy(rest);
                   })
      .def_prop_ro("fixed",
                   [](const SoftBodyView& s) {
                     std::vector<bool> fixed;
                     for (int i = 0; i < s.body().num_nodes(); ++i) fixed.push_back(s.body().is_fixed(i));
                     return fixed;
                   })
      .def_prop_ro("rest_volume", [](const SoftBodyView& s) { return s.body().rest_volume(); })
      .def("strain",
           [](const SoftBodyView& s, const ArrayLike& q) {  // (volume, largest)
             const SoftStrain strain = s.body().calc_strain(s.q(q));
             return std::pair(strain.volume, strain.largest);
           })
      .def("von_mises", [](const SoftBodyView& s, const ArrayLike& q) {
        VecX stress(s.body().num_nodes());
        s.body().calc_von_mises(s.q(q), {stress.data(), static_cast<std::size_t>(stress.size())});
        return to_numpy(stress);
      });
  model
      .def_prop_ro(
          "rod_names", [](const CompiledModel& m) { return m.rods.list(); }, "Names of rods.")
      .def_prop_ro(
          "soft_body_names", [](const CompiledModel& m) { return m.soft_bodies.list(); },
          "Names of soft bodies.")
      .def("_rod",
           [](const ModelPtr& m, const NameOrNumber& name) {
             return RodView{{m, find_rods(m->model)[m->rods.find(name)]}};
           })
      .def("_soft_body",
           [](const ModelPtr& m, const NameOrNumber& name) {
             return SoftBodyView{{m, find_soft_bodies(m->model)[m->soft_bodies.find(name)]}};
           })
      .def("_places", [](const CompiledModel& m, const std::string& name) {
        // (slice of q, slice of v): of a joint, a rod, a soft body, or of a body that one joint moves.
        const auto of_object = [&](const Object& o) {
          return std::pair(make_slice(o.q_begin, o.q_end), make_slice(o.dof_begin, o.dof_end));
        };
        const auto of_joint = [&](const ModelJoint& j) {
          return std::pair(make_slice(j.q, j.q + num_positions(j.type)),
                           make_slice(j.v, j.v + num_velocities(j.type)));
        };
        const nb::str key(name.c_str());
        if (m.joints.has(name)) return of_joint(m.model.joints[m.joints.find(key)]);
        if (m.rods.has(name)) return of_object(m.model.objects[find_rods(m.model)[m.rods.find(key)]]);
        if (m.soft_bodies.has(name))
          return of_object(m.model.objects[find_soft_bodies(m.model)[m.soft_bodies.find(key)]]);
        const ModelJoint* only = nullptr;
        int count = 0;
        for (const ModelJoint& joint : m.model.joints) {
          if (m.model.bodies[joint.body].name != name) continue;
          only = &joint;
          ++count;
        }
        if (count == 1) return of_joint(*only);
        if (count > 1)
          throw nb::key_error(
              fmt::format("body '{}' has {} joints; give the name of one, model.joint_names lists them", name,
                          count)
                  .c_str());
        m.joints.find(key);  // throws KeyError with the nearest name
        throw nb::key_error(name.c_str());
      });
}

}  // namespace capstan::python
