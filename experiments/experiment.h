// What an experiment is: it runs, checks what the paper says about it, and gives figures and tables.
//
// `capstan experiments NAME` runs one and writes, into a folder (docs/results by default), its figures (SVG,
// and PNG where rsvg-convert is there), its tables (CSV) and a part of the page; the page README.md is put
// together from the parts of all experiments that were ever run into that folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace capstan::experiments {

// Where we are known to differ from a paper: a statement of our own, measured in the same run, that can fail
// as any other.
struct Difference {
  std::string why;
  std::string bound;  // how far we may differ, or what holds in its place: "within 3 %", "above it"
  bool holds = false;
};

// One statement of a paper (or of arithmetic), and what came out here.
struct Claim {
  std::string what;
  std::string published;  // what the paper, or a formula, says
  std::string measured;
  bool holds = false;
  std::optional<Difference> difference;

  bool good() const { return holds || (difference && difference->holds); }
};

struct Figure {
  std::string name;  // of the file, without ending
  std::string caption;
  std::string svg;
  bool keeps_svg = true;  // false: the PNG alone, where that can be made, since the SVG is large
};

struct Table {
  std::string name;  // of the CSV file, without ending
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool on_page = true;  // else only the CSV file
};

struct Result {
  std::vector<Claim> claims;
  std::vector<Figure> figures;
  std::vector<Table> tables;
  std::vector<std::string> remarks;  // paragraphs: parameters that the paper leaves open, where we differ

  void claim(const std::string& what, const std::string& published, const std::string& measured, bool holds,
             const std::optional<Difference>& difference = {});
  void figure(const std::string& name, const std::string& caption, const std::string& svg);
  bool good() const;  // every claim holds, or differs within its bound
};

struct Run {
  bool is_short =
      false;           // a few seconds: fewer cases and coarser sweeps, the same claims where they make sense
  std::string folder;  // for files that an experiment wants to leave
  std::function<void(double fraction, const std::string& doing)> progress;

  void tell(double fraction, const std::string& doing) const {
    if (progress) progress(fraction, doing);
  }
};

struct Experiment {
  const char* name;
  const char* title;
  const char* source;  // section and figures
  const char* shows;   // what the paper shows with it, in our words
  Result (*run)(const Run&);
};

// In the order of the page.
const std::vector<Experiment>& all_experiments();

// Writes everything that `result` has into `folder`. Throws OutputError. Returns what could not be made (PNG
// without rsvg-convert), or "".
std::string write_result(const Experiment& experiment, const Result& result, const std::string& folder);

// README.md from the parts in `folder`, in order of all_experiments(); experiments never run there are named.
void write_page(const std::string& folder);

// The part of the page for one experiment.
std::string page_part(const Experiment& experiment, const Result& result);

}  // namespace capstan::experiments
