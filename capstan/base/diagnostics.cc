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

InputError::InputError(Diagnostics diagnostics)
    : std::runtime_error(diagnostics.text()), diagnostics_(std::move(diagnostics)) {}

namespace {
Diagnostics one_error(const Source& where, std::string what, std::string remedy) {
  Diagnostics diagnostics;
  diagnostics.error(where, std::move(what), std::move(remedy));
  return diagnostics;
}
}  // namespace

InputError::InputError(const Source& where, std::string what, std::string remedy)
    : InputError(one_error(where, std::move(what), std::move(remedy))) {}

void fail_invariant(const char* condition, const char* file, int line) {
  throw std::logic_error(std::string("internal error, please report it: ") + condition +
                         " does not hold at " + file + ":" + std::to_string(line));
}

}  // namespace capstan
