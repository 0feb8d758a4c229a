// A belt on a crowned pulley (Li and Chou V-C, figure 6) with patches on the rod: it starts 20 mm beside the
// middle of the crown and runs there. Beside it, what takes the reason away: a flat pulley, a belt that is
// not stretched, and points of contact in place of patches.
//
// The scene is the shipped crowned_pulley. While the belt climbs its place on the crown falls as exp(-t / T):
// what it does in a turn depends on how inclined the crown is there, which is in proportion to the distance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "capstan/scene/rod.h"
#include "experiments/filament_runs.h"
#include "experiments/programs.h"
#include "experiments/simulation.h"

namespace capstan::experiments {
namespace {

constexpr double kStart = 0.02;              // [m] beside the middle
constexpr double kRate = 0.037;              // of real time: published
constexpr double kDt = 3e-3;                 // [s] as published
constexpr double kLong = 60, kBeside = 16;   // [s] of the crown with patches; of each run beside it
constexpr double kSpeed = 3.14159265358979;  // [rad/s] of the driver

struct Variant {
  const char* name;
  bool is_crowned = true, is_stretched = true, has_patches = true;
  double dt = kDt;
};

struct BeltRun {
  std::vector<double> time, place;  // [s], [m] of the middle of the belt beside that of the crown
  double spread = 0;                // [m] between its nodes, across, at the end
  double drum = 0, driver = 0;      // [rad] turned by each
  double tension = 0;               // [N] mean, at the beginning
  FilamentCost cost;
  std::string failure;
  double end() const { return place.back(); }
};

BeltRun run_belt(const Run& run, const Variant& variant, double duration, double speed) {
  Scene scene = shipped_scene("crowned_pulley");
  scene.actuators[0].control = speed;
  if (!variant.is_crowned) {
    scene.shapes[0].shape = Cylinder{0.03, 0.08};
    scene.shapes[0].pose = scene.shapes[1].pose;
  }
  if (!variant.is_stretched) scene.rods[0].rest_length.clear();
  if (!variant.has_patches) {
    for (Material& m : scene.materials) m.contact = ContactModel::point;
  }
  Filaments f(scene, variant.dt);
  f.begin();
  const Object& belt = f.model.objects.back();
  const int nodes = belt.num_dofs() / 4;
  BeltRun out;
  const auto look = [&] {
    double sum = 0, low = 1e9, high = -1e9;
    for (int i = 0; i < nodes; ++i) {
      const double y = f.state.q[belt.q_begin + 4 * i + 1];
      sum += y, low = std::min(low, y), high = std::max(high, y);
    }
    out.time.push_back(f.state.time), out.place.push_back(sum / nodes);
    out.spread = high - low;
  };
  look();
  try {
    while (f.state.time < duration - 0.5 * variant.dt) {
      f.advance(&out.cost);
      if (f.state.step % 33 == 0) {
        look();
        run.tell(f.state.time / duration, fmt::format("{}, t = {:.1f} s", variant.name, f.state.time));
      }
    }
  } catch (const StepFailure& failure) {
    out.failure = failure.what();
  }
  look();
  out.driver = f.state.q[0], out.drum = f.state.q[1];
  return out;
}

}  // namespace

Result crowned_pulley(const Run& run) {
  Result result;
  const double speed = run.is_short ? 4 * kSpeed : kSpeed, dt = run.is_short ? 2 * kDt : kDt;
  const double beside = run.is_short ? 1.2 : kBeside;
  const BeltRun crown = run_belt(run, {.name = "crown", .dt = dt}, run.is_short ? beside : kLong, speed);
  const BeltRun flat = run_belt(run, {.name = "flat pulley", .is_crowned = false, .dt = dt}, beside, speed);
  const auto at = [&](const BeltRun& r, double time) {
    const auto next = std::lower_bound(r.time.begin(), r.time.end(), time - 1e-9);
    return r.place[std::min<std::size_t>(next - r.time.begin(), r.place.size() - 1)];
  };
  const double crown_at = at(crown, beside);
  result.claim("the belt runs to the middle of the crown", "it centres itself",
               run.is_short
                   ? fmt::format("from 20 to {:.1f} mm in {:g} s, four times as fast", 1e3 * crown_at, beside)
                   : fmt::format("from 20 to {:.2f} mm in {:g} s, to {:.2f} mm in {:g} s", 1e3 * crown_at,
                                 beside, 1e3 * crown.end(), kLong),
               crown.failure.empty() &&
                   (run.is_short ? crown_at < 0.0185
                                 : std::abs(crown.end()) < 0.1 * kStart && crown_at < 0.6 * kStart));
  result.claim("on a flat pulley", "(ours) stays within 1 % of its place",
               fmt::format("{:.2f} mm after {:g} s", 1e3 * flat.end(), beside),
               flat.failure.empty() && std::abs(flat.end() - kStart) < 0.01 * kStart);
  const double carried = crown.drum / crown.driver;
  result.claim("the belt takes the second pulley along", "it does",
               fmt::format("{:.1f} turns of {:.1f}", crown.drum / (2 * kSpeed), crown.driver / (2 * kSpeed)),
               carried > 0.9 && carried < 1.1);
  if (run.is_short) return result;

  const BeltRun loose = run_belt(run, {.name = "not stretched", .is_stretched = false}, beside, speed);
  const BeltRun points = run_belt(run, {.name = "points", .has_patches = false}, beside, speed);
  const BeltRun coarse = run_belt(run, {.name = "crown, 6 ms", .dt = 2 * kDt}, beside, speed);
  const double gone = kStart - crown_at;
  result.claim(
      "a belt that is not stretched", "the effect disappears",
      loose.failure.empty()
          ? fmt::format("comes by {:.2f} mm nearer in {:g} s, against {:.2f}; the second pulley turns "
                        "{:.1f} of {:.1f} times",
                        1e3 * (kStart - loose.end()), beside, 1e3 * gone, loose.drum / (2 * kSpeed),
                        loose.driver / (2 * kSpeed))
          : "a step fails",
      loose.failure.empty() && std::abs(kStart - loose.end()) < 0.25 * gone,
      Difference{"the paper leaves stretching out of the model; ours is only not stretched at the start, is "
                 "driven all "
                 "the same, and stretched as it climbs",
                 "it runs to the middle as well", loose.failure.empty() && loose.end() < crown_at});
  result.claim("points of contact in place of patches", "cannot carry the belt on the crown",
               points.failure.empty()
                   ? fmt::format("{:.2f} mm after {:g} s, {:.1f} mm across between its nodes",
                                 1e3 * points.end(), beside, 1e3 * points.spread)
                   : "a step fails",
               points.failure.empty() && points.end() > 0.95 * kStart,
               Difference{"our points on a flat edge are as many as its corners need, and carry it",
                          "it goes the same way as with patches, within a quarter",
                          points.failure.empty() && std::abs(points.end() - crown_at) < 0.25 * gone});
  result.claim("twice the time step", "(ours) the same way, within 5 %",
               fmt::format("{:.2f} and {:.2f} mm after {:g} s", 1e3 * coarse.end(), 1e3 * crown_at, beside),
               coarse.failure.empty() && std::abs(coarse.end() - crown_at) < 0.05 * gone);
  result.claim("real-time rate at 3 ms", fmt::format("{:g}", kRate),
               fmt::format("{:.3f}: {:.1f} times as fast", crown.cost.rate(), crown.cost.rate() / kRate),
               crown.cost.rate() > 10 * kRate,
               Difference{"our goal is ten times the published rate", "faster, five times or more",
                          crown.cost.rate() > 5 * kRate});
  result.claim(
      "contacts, mean and most", "804 and 917",
      fmt::format("{:.0f} and {}", crown.cost.contacts / crown.cost.steps, crown.cost.most_contacts),
      std::abs(crown.cost.contacts / crown.cost.steps - 804) < 80,
      Difference{
          "facets are as large as the patch of each edge, the authors' as a mesh of the pulley has "
          "them",
          "100 to 917",
          crown.cost.contacts > 100.0 * crown.cost.steps && crown.cost.contacts < 917.0 * crown.cost.steps});
  const auto millimetres = [](std::vector<double> x) {
    for (double& value : x) value *= 1e3;
    return x;
  };
  result.figure(
      "crowned_pulley", "The belt beside the middle of the crown, and beside that of a flat pulley",
      draw_plot({{"crown, patches", crown.time, millimetres(crown.place)},
                 {"crown, patches, 6 ms", coarse.time, millimetres(coarse.place), LineStyle::dotted},
                 {"crown, points", points.time, millimetres(points.place), LineStyle::dashed},
                 {"crown, not stretched", loose.time, millimetres(loose.place)},
                 {"flat pulley", flat.time, millimetres(flat.place)}},
                {760, 400, "", "time [s]", "place of the belt [mm]", false, false, {}, {}}));
  Table table{"crowned_pulley",
              "Each run",
              {"run", "duration [s]", "place at its end [mm]", "nodes apart, across [mm]", "real-time rate",
               "contacts, mean / most"},
              {}};
  for (const auto& [name, r] : {std::pair<const char*, const BeltRun*>{"crown, patches", &crown},
                                {"crown, patches, 6 ms", &coarse},
                                {"crown, points", &points},
                                {"crown, not stretched", &loose},
                                {"flat pulley", &flat}}) {
    table.rows.push_back(
        {name, fmt::format("{:.0f}", r->time.back()), fmt::format("{:.2f}", 1e3 * r->end()),
         fmt::format("{:.2f}", 1e3 * r->spread), fmt::format("{:.3f}", r->cost.rate()),
         fmt::format("{:.0f} / {}", r->cost.contacts / r->cost.steps, r->cost.most_contacts)});
  }
  result.tables.push_back(table);
  result.remarks.push_back(
      "Sizes and materials are those of the authors' code; the profile of their crown between 30 and 27 mm "
      "is not "
      "told, ours is an ellipsoid. The law is coulomb. Rates count the time of one processor in steps.");
  return result;
}

}  // namespace capstan::experiments
