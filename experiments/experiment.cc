#include "experiments/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "capstan/io/output_file.h"
#include "experiments/programs.h"

namespace capstan::experiments {
namespace {

namespace fs = std::filesystem;

// Markdown tables have one line for each row, and bars between cells.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& c : cells) text += " " + cell(c) + " |";
  return text + "\n";
}

std::string markdown(const Table& table) {
  std::string text = row(table.columns);
  text += row(std::vector<std::string>(table.columns.size(), "---"));
  for (const auto& cells : table.rows) text += row(cells);
  return text;
}

std::string csv(const Table& table) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text;
    for (const std::string& c : cells) {
      std::string quoted = c;
      for (std::size_t at = 0; (at = quoted.find('"', at)) != std::string::npos; at += 2)
        quoted.insert(at, "\"");
      const bool plain = c.find_first_of(",\"\n") == std::string::npos;
      text += (text.empty() ? "" : ",") + (plain ? c : '"' + quoted + '"');
    }
    return text + "\n";
  };
  std::string text = line(table.columns);
  for (const auto& cells : table.rows) text += line(cells);
  return text;
}

std::string verdict(const Claim& claim) {
  if (claim.holds) return "holds";
  if (!claim.difference) return "**does not hold**";
  const auto& [why, bound, holds] = *claim.difference;
  return fmt::format("{}, {}: {}", holds ? "differs" : "**does not hold**, nor within its bound", bound, why);
}

// By rsvg-convert (Debian's librsvg2-bin); false where it is not there or fails.
bool make_png(const fs::path& svg, const fs::path& png) {
  const auto quoted = [](const fs::path& path) {
    std::string text = "'";
    for (const char c : path.string()) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
  };
  const std::string command = "rsvg-convert -o " + quoted(png) + " " + quoted(svg) + " 2>/dev/null";
  return std::system(command.c_str()) == 0;
}

fs::path make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw OutputError(folder, error.message());
  return folder;
}

}  // namespace

void Result::claim(const std::string& what, const std::string& published, const std::string& measured,
                   bool holds, const std::optional<Difference>& difference) {
  claims.push_back({what, published, measured, holds, difference});
}

void Result::figure(const std::string& name, const std::string& caption, const std::string& svg) {
  figures.push_back({name, caption, svg});
}

bool Result::good() const {
  return std::all_of(claims.begin(), claims.end(), [](const Claim& c) { return c.good(); });
}

std::string page_part(const Experiment& experiment, const Result& result) {
  std::string text = fmt::format("## {}\n\n{}. `capstan experiments {}`\n\n{}\n\n", experiment.title,
                                 experiment.source, experiment.name, experiment.shows);
  Table claims{"", "", {"statement", "published", "measured here", "verdict"}, {}, true};
  for (const Claim& c : result.claims) claims.rows.push_back({c.what, c.published, c.measured, verdict(c)});
  if (!claims.rows.empty()) text += markdown(claims) + "\n";
  for (const Figure& f : result.figures) {
    text += fmt::format("![{0}]({1}/{2}.png)\n\n{0}", f.caption, experiment.name, f.name);
    text += f.keeps_svg ? fmt::format(" ([SVG]({}/{}.svg))\n\n", experiment.name, f.name) : "\n\n";
  }
  for (const Table& t : result.tables) {
    if (t.on_page)
      text += fmt::format("{} ([CSV]({}/{}.csv))\n\n{}\n", t.caption, experiment.name, t.name, markdown(t));
  }
  for (const std::string& remark : result.remarks) text += remark + "\n\n";
  return text;
}

std::string write_result(const Experiment& experiment, const Result& result, const std::string& folder) {
  const fs::path own = make_folder(fs::path(folder) / experiment.name);
  bool all_png = true;
  for (const Figure& f : result.figures) {
    const fs::path svg = own / (f.name + ".svg");
    write_file(svg, f.svg);
    const bool has_png = make_png(svg, own / (f.name + ".png"));
    all_png = all_png && has_png;
    if (has_png && !f.keeps_svg) fs::remove(svg);
  }
  for (const Table& t : result.tables) write_file(own / (t.name + ".csv"), csv(t));
  write_file(fs::path(folder) / (std::string(experiment.name) + ".md"), page_part(experiment, result));
  return all_png ? "" : "no PNG figures: rsvg-convert (Debian: librsvg2-bin) is missing or failed";
}

void write_page(const std::string& folder) {
  std::string page =
      "# Published experiments, repeated\n\n"
      "The experiments of \"An Unconstrained Convex Formulation of Compliant Contact\" (Castro, Permenter, "
      "Han: SAP) "
      "and \"Irrotational Contact Fields\" (Castro, Han, Masterjohn: ICF), and some benchmarks of the field, "
      "run with "
      "Capstan. Every number and figure on this page was written by the programs in `experiments/`; "
      "`make experiments` runs all of them and writes this page again, `capstan experiments NAME` one of "
      "them. "
      "A program checks each statement itself and exits with an error when one does not hold; where we are "
      "known to "
      "differ from the paper, the table says why and how far, and the program fails beyond that. Times were "
      "measured on the machine of the last run and are "
      "meant as ratios.\n\n";
  std::string contents, parts, missing;
  for (const Experiment& e : all_experiments()) {
    std::ifstream stream(fs::path(folder) / (std::string(e.name) + ".md"));
    if (!stream) {
      missing += fmt::format("`{}` ", e.name);
      continue;
    }
    const std::string part{std::istreambuf_iterator<char>(stream), {}};
    // Verdicts stand in the first table, which a blank line ends; others may have such words too.
    const std::string claims =
        part.substr(0, part.find("\n\n", std::min(part.find("| statement |"), part.size())));
    const auto count = [&](const std::string& text) {
      int n = 0;
      for (std::size_t at = 0; (at = claims.find(text, at)) != std::string::npos; ++at) ++n;
      return std::to_string(n);
    };
    contents +=
        row({e.title, e.source, count("| holds |"), count("| differs, "), count("| **does not hold**")});
    parts += part;
  }
  page +=
      row({"experiment", "source", "statements that hold", "that differ within a bound", "that do not hold"});
  page += row({"---", "---", "---", "---", "---"}) + contents + "\n";
  if (!missing.empty()) page += "Not run yet: " + missing + "\n\n";
  write_file(fs::path(make_folder(folder)) / "README.md", page + parts);
}

const std::vector<Experiment>& all_experiments() {
  static const std::vector<Experiment> list = {
      {"spring_cylinder", "Cylinder on a spring", "SAP VI-B, figures 5 to 7",
       "A cylinder on a spring rolls to and fro. The midpoint rule conserves energy without friction, nearly "
       "so with "
       "it, and is of second order although there is contact; both Euler schemes are of first order.",
       spring_cylinder},
      {"clutter_sap", "Clutter with SAP", "SAP VI-C, figures 9 to 11 and 13 to 15",
       "Spheres and boxes fall in columns, into a box or onto the ground. Newton's method converges from any "
       "start, first "
       "linearly, then quadratically; warm starts leave a few iterations at rest. The slip parameter sigma "
       "sets how "
       "well contacts stick and how well the problem is conditioned.",
       clutter_sap},
      {"clutter_laws", "Clutter with all contact models", "ICF XII-A, figures 15 to 19",
       "The same clutter with the four models and the stiffness of steel. Lagged and Similar are harder to "
       "solve in impacts "
       "and easier at rest than SAP; regularization helps Lagged in impacts. Stiffness over eight decades "
       "changes "
       "the penetration as it should and the work hardly.",
       clutter_laws},
      {"conic_solvers", "Against general conic solvers", "SAP VI-A and VI-C, figures 12 and 13",
       "The problem of a SAP step is a second-order cone program. Solving it in the unconstrained form with "
       "warm starts is much "
       "faster than a general solver for small problems, and not at the price of accuracy.",
       conic_solvers},
      {"slip_control", "Slip control with soft bubbles", "SAP VI-D, figures 16 and 17",
       "Two soft fingers hold a spatula by the friction of their patches. A firm grip holds its moment, a "
       "loose "
       "one lets it pitch. Newton's method starts warm, and has little to do in most steps.",
       slip_control},
      {"dual_arm", "Dual arm manipulation", "SAP VI-E, figures 1, 18, 19 and 21",
       "Two arms with hands of 16 dofs each open a jar, pour its marbles into a bowl, close it and put it "
       "back: 160 "
       "dofs, held by friction alone. The solver's errors stay below its tolerance, and it starts warm.",
       dual_arm},
      {"conveyor_belt", "Oscillating conveyor belt", "ICF XI-A, figures 3 and 4",
       "A box on a belt that swings sticks and slides in turn. With Lagged it does not move up or down; SAP "
       "and Similar "
       "lift it while it slides and their normal force has spikes when it sticks again.",
       conveyor_belt},
      {"falling_sphere", "Falling sphere", "ICF XI-B, figures 6 and 7",
       "A ball falls with a horizontal speed, slides, then rolls, without any rule for rolling. Lagged stops "
       "the "
       "normal velocity at once; SAP and Similar act at a distance while the ball slides, and their normal "
       "force has a "
       "spike where it begins to roll.",
       falling_sphere},
      {"sliding_rod", "Sliding rod: impact without collision", "ICF XI-C, figures 9 to 13",
       "A rod slides with its tip ahead. Friction turns it into the ground until the force grows without "
       "bound in "
       "rigid theory (Painleve): it jams and jumps. All three models agree without dissipation; with it "
       "Similar meets "
       "earlier and SAP later.",
       sliding_rod},
      {"grasp", "Grasp stress test", "ICF XII-B, figures 21 and 22",
       "A two-finger hand swings a heavy rod on a circle until it slips out. Below the rod's frequency as a "
       "pendulum the grasp "
       "holds; above it the time to failure falls steeply. Lagged and Similar agree at small steps, and at "
       "large ones "
       "the weak coupling of Lagged is not what limits the accuracy.",
       grasp},
      {"grasp_pads", "Grasp stress test with compliant pads", "ICF XII-B, figures 21 and 22",
       "The same hand with soft pads that hold the rod over patches of pressure.", grasp_pads},
      {"barrett_finger", "The drive of a BarrettHand's finger", "ICF XII-C, figures 23 and 24",
       "Gears, worms, a thread and a clutch, all by contact alone: the clutch is loaded, takes the finger "
       "along, "
       "and breaks away when it is stopped; the worm holds it where it is.",
       barrett_finger},
      {"anisotropic_friction", "Friction that depends on direction",
       "ICF appendix B; course notes 6.1 to 6.3",
       "A friction tensor pushes a sliding body sideways, so that its path is curved. The Matchstick model "
       "makes the tensor "
       "from the structure of both surfaces, a texture makes it from the facets of a normal map.",
       anisotropic_friction},
      {"simulation_benchmarks", "Benchmarks of the field",
       "SimBenchmark (Kang and Hwangbo 2018): rolling, bouncing, 666, momentum, energy",
       "Simple scenes with known answers, on which other engines were measured: a box pushed under rolling "
       "balls, elastic balls, "
       "a cube of balls that collapses, a robot that floats freely.",
       simulation_benchmarks},
      {"no_ghosts", "Contact only where bodies meet", "small scenes with known answers",
       "What slides over seams, flies past corners or spins above a plane keeps its speed: a contact is "
       "where "
       "bodies meet, with the normal they meet with, and surfaces that are covered are none. And dominoes, "
       "which "
       "stand where friction is not limited by the normal force of its own step.",
       no_ghosts},
      {"no_slip_grasp", "A grasp without slip", "Drumwright 2015, VII-A, table I",
       "Four boxes in a row are held by force closure, with far more contacts than dofs. Without slip the "
       "problem is convex and small, and a pivoting method that never forms its matrix is many times faster "
       "than a polyhedral cone with Lemke's method.",
       no_slip_grasp},
      {"quadruped_walk", "A quadruped that walks without slip", "Drumwright 2015, VII-B, tables II and III",
       "A quadruped trots over hills for ten seconds with feet that cannot slip and with feet that only "
       "drag. "
       "Both problems are convex, and the modified pivoting method is compared with Lemke's.",
       quadruped_walk},
      {"rigid_models", "Models and solvers of rigid contact",
       "course notes 1.6 to 1.8, 3.2; figures 16 and 22",
       "What a polygon in place of the friction cone does to a slide, how the convex relaxation glides, how "
       "sweeps depend on the order of rows and on ratios of mass, and an arch that stands by friction.",
       rigid_models},
      {"course_scenes", "The course's scenes by all models", "course notes 1.6 to 1.8, 3.1 to 3.4",
       "Two boxes, a heavy one on a light one, an arch, cards, a wall, and a tower that a ball hits: what "
       "becomes "
       "of them by each model of rigid contact and by the convex laws, and how the solvers converge.",
       course_scenes},
      {"ncp_solvers", "Solvers of Coulomb's law", "measurements of Siconos 4.4 on problems of the same kind",
       "The exact friction cone to a residual of 1e-8 in a stack and in clutter. Sweeps are slow in stacks, "
       "the "
       "slower the taller; alternating directions with Newton's method at the end are not.",
       ncp_solvers},
      {"knots", "Knots pulled tight", "Li and Chou V-B, Table I, figures 1 and 4",
       "Ropes with knots of unknotting number 1 to 4 are pulled tight at 0.8 m/s and never pass through "
       "themselves; a chain of capsules with springs is beside them.",
       knots},
      {"ring_chain", "A chain of rings", "Li and Chou V-F, Table I, figures 4 and 9",
       "Closed rods hang in one another by contact alone, and stay; the cost is linear in their number.",
       ring_chain},
      {"filament_gripper", "An entangling gripper", "Li and Chou V-D, Table I, figures 4 and 7",
       "Twelve filaments curl up around a tree of sticks, each in a direction of its own, and lift it.",
       filament_gripper},
      {"crowned_pulley", "A belt on a crowned pulley", "Li and Chou V-C, Table I, figure 6",
       "A flat belt that runs beside the middle of a crowned pulley centres itself: a rod that touches over "
       "patches, is stretched and twists.",
       crowned_pulley},
      {"shoelace", "A shoelace is tied", "Li and Chou V-E, Table I, figure 8",
       "A lace is tied into a reef knot, a granny and a bow by fingers that pinch and pull it, loaded, and "
       "let go: friction alone holds it, over patches by either law, at points where the law bounds it by "
       "the load of the same step.",
       shoelace},
  };
  return list;
}

}  // namespace capstan::experiments
