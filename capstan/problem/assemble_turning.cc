#include "capstan/laws/contact_laws.h"
#include "capstan/laws/turning.h"
#include "capstan/problem/assembler.h"

namespace capstan {
namespace {

constexpr double kImmovable = 1e-12;  // of the inverse mass of a point: bodies that cannot turn there
constexpr double kDefaultArm = 1;     // [m] where the point cannot move

}  // namespace

bool Assembler::has_turning(int begin, int end) const {
  return model.has_turning_friction &&
         std::any_of(contacts.rows.begin() + begin, contacts.rows.begin() + end,
                     [](ContactRows rows) { return rows != ContactRows::point; });
}

// What is not of a tree turns as two points beside p_W say (add_point), which may have more parts than p_W.
void Assembler::declare_turn(ConstraintGroup* group, int link, const Vec3& p_W) {
  if (is_tree(link)) return;
  const Mat3& R = motion.placement.X_WL[link].R;
  for (int k = 0; k < 2; ++k) declare_point(group, link, p_W + R.col(k));
}

// Of a point under sap or similar, from its velocity before the step: that of its depth; or, where it glides
// above the surface, that of its law, up to its own weight. (What comes in fast, or begins to slide, would be
// pushed out by far more than what it will be.)
double Assembler::guess_normal_impulse(int point, const Vec3& v0) const {
  const ContactKind kind = contacts.kind[point];
  if (kind != ContactKind::touching && kind != ContactKind::gliding) return 0;
  const ContactOptions& o = problem.options;
  const ContactData& d = problem.contacts[point];
  const auto impulse_at = [&](double x, double y) {
    Vec3 gamma;
    evaluate(o.law, o.normal_law, d, Vec3(x, y, std::max(v0.z(), 0.0)), nullptr, &gamma, nullptr);
    return gamma.z();
  };
  const double weight = dt * model.options.gravity.norm() * problem.contact_mass[point].z();
  return std::max(impulse_at(-d.bias.x(), -d.bias.y()), std::min(impulse_at(v0.x(), v0.y()), weight));
}

// Entry i of the group, which follows its point by `back`; W is that of the group, v0 the velocity of the
// point before the step.
void Assembler::set_turning_law(int i, int back, double sign, const Mat6& W, const Vec3& v0) {
  const ContactOptions& o = problem.options;
  const ContactMaterial& m = contacts.material[i];
  const int point = i - back;
  const Mat3& R = problem.R_WC[point];
  const bool rolls = contacts.rows[i] == ContactRows::rolling;
  const Vec3 W_turn = (R.transpose() * W.topLeftCorner<3, 3>() * R).diagonal();
  const double w_turn = rolls ? (W_turn.x() + W_turn.y()) / 2 : W_turn.z();
  const double w_point = 1 / problem.contact_mass[point].x();
  const bool turns = w_turn > 0 && w_turn > kImmovable * w_point;
  const double arm = turns && w_point > kImmovable * w_turn ? std::sqrt(w_point / w_turn) : kDefaultArm;
  const auto select = [&](const auto& v) -> Vec3 {  // what the entry has of a vector in the contact frame
    return rolls ? Vec3(v.x(), v.y(), 0) : Vec3(v.z(), 0, 0);
  };
  ContactInput in;
  in.friction = turns ? (rolls ? m.rolling_friction : m.torsional_friction) / arm : 0;
  in.stiction_tolerance = m.stiction_tolerance;
  in.w_t = turns ? arm * arm * w_turn : 1;
  in.sigma = acting_sigma(o);
  in.bias =
      arm *
      select(Vec3(R.transpose() * (surface_spin(contacts.shape_b[i]) - surface_spin(contacts.shape_a[i]))));
  if (traits(o.law).lags || traits(o.law).finds_bounds) {
    in.lagged_impulse = problem.contacts[point].normal_impulse;
  } else {
    in.lagged_impulse = guess_normal_impulse(point, v0);
  }
  problem.contacts[i] = make_turning(o.law, in);
  problem.turning[i] = {arm, back};
  problem.sticking_bias[i].setZero();
  Mat36& X = problem.X[i];
  X.setZero();
  for (int k = 0; k < (rolls ? 2 : 1); ++k)
    X.block<1, 3>(k, 0) = sign * arm * R.col(rolls ? k : 2).transpose();
  problem.contact_mass[i] = Vec3::Constant(1 / in.w_t);
  problem.R_WC[i] = R;
}

// [rad/s] of a moving surface against its own body, world frame.
Vec3 Assembler::surface_spin(int id) const {
  const ModelShape& shape = model.shapes[id];
  if (!shape.has_moving_surface) return Vec3::Zero();
  const Mat3 R_WS = shape.link == 0 ? shape.X_LS.R : Mat3(motion.placement.X_WL[shape.link].R * shape.X_LS.R);
  const double scale = input.surface_scale.size() > 0 ? input.surface_scale[id] : 1.0;
  return scale * (R_WS * shape.surface_spin);
}

}  // namespace capstan
