#include "capstan/base/diagnostics.h"

#include <algorithm>

namespace capstan {

std::string to_string(const Source& where) {
  if (where.line <= 0) return where.file;
  return where.file + ":" + std::to_string(where.line);
}

std::string to_string(const Diagnostic& diagnostic) {
  const std::string place = to_string(diagnostic.where);
  std::string text = place.empty() ? "" : place + ": ";
  text += diagnostic.severity == Severity::error ? "error: " : "warning: ";
  text += diagnostic.what;
  if (!diagnostic.remedy.empty()) text += "; " + diagnostic.remedy;
  return text;
}

void Diagnostics::error(const Source& where, std::string what, std::string remedy) {
  list.push_back({Severity::error, where, std::move(what), std::move(remedy)});
}

void Diagnostics::warning(const Source& where, std::string what, std::string remedy) {
  list.push_back({Severity::warning, where, std::move(what), std::move(remedy)});
}

void Diagnostics::not_understood(const Source& where, std::string what, std::string remedy) {
  list.push_back({strict ? Severity::error : Severity::warning, where, std::move(what), std::move(remedy)});
}

int Diagnostics::num_errors() const {
  return static_cast<int>(std::count_if(list.begin(), list.end(),
                                        [](const Diagnostic& d) { return d.severity == Severity::error; }));
}

int Diagnostics::num_warnings() const {
  return static_cast<int>(list.size()) - num_errors();
}

std::string Diagnostics::text() const {
  std::string text;
  for (const Diagnostic& diagnostic : list) {
    if (!text.empty()) text += "\n";
    text += to_string(diagnostic);
  }
  return text;
}

namespace {
// All of them, or of many the first errors.
std::string short_text(const Diagnostics& diagnostics) {
  constexpr int kMost = 20;
  if (static_cast<int>(diagnostics.list.size()) <= kMost) return diagnostics.text();
  Diagnostics first;
  for (const Diagnostic& d : diagnostics.list) {
    if (d.severity == Severity::error && static_cast<int>(first.list.size()) < kMost) first.list.push_back(d);
  }
  const std::size_t more = diagnostics.list.size() - first.list.size();
  return first.text() + "\nand " + std::to_string(more) +
         " more errors and warnings; 'capstan check' lists all";
}

Diagnostics one_error(const Source& where, std::string what, std::string remedy) {
  Diagnostics diagnostics;
  diagnostics.error(where, std::move(what), std::move(remedy));
  return diagnostics;
}
}  // namespace

InputError::InputError(Diagnostics diagnostics)
    : std::runtime_error(short_text(diagnostics)), diagnostics_(std::move(diagnostics)) {}

InputError::InputError(const Source& where, std::string what, std::string remedy)
    : InputError(one_error(where, std::move(what), std::move(remedy))) {}

void fail_invariant(const char* condition, const char* file, int line) {
  throw std::logic_error(std::string("internal error, please report it: ") + condition +
                         " does not hold at " + file + ":" + std::to_string(line));
}

}  // namespace capstan
