// What we tell a user about his input: where, what is wrong, and what to write instead.
//
// Readers, check() and compile() collect every problem they can find into one Diagnostics rather than
// stopping at the first. An error makes the input unusable; a warning does not. Something in a file that
// Capstan does not understand is a warning, or an error when `strict` is set.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace capstan {

// A place in an input file. line is 1-based; 0 when no line applies (the whole file, or built in code).
struct Source {
  std::string file;
  int line = 0;
};

// "arm.xml:12", "arm.xml", or "" when the thing was built in code.
std::string to_string(const Source& where);

enum class Severity { warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  Source where;
  std::string what;    // one sentence, names the thing and its value
  std::string remedy;  // what to write instead; may be empty
};

// "arm.xml:12: error: body 'hand' has mass -1 kg; write a mass above 0".
std::string to_string(const Diagnostic& diagnostic);

struct Diagnostics {
  bool strict = false;  // not_understood() then adds errors instead of warnings
  std::vector<Diagnostic> list;

  void error(const Source& where, std::string what, std::string remedy = "");
  void warning(const Source& where, std::string what, std::string remedy = "");
  void not_understood(const Source& where, std::string what, std::string remedy = "");

  int num_errors() const;
  int num_warnings() const;
  bool ok() const { return num_errors() == 0; }
  std::string text() const;  // one line for each, errors and warnings in the order found
};

// The user's input cannot be used. what() is the text of all errors found (and of the warnings among them).
class InputError : public std::runtime_error {
 public:
  explicit InputError(Diagnostics diagnostics);
  InputError(const Source& where, std::string what, std::string remedy = "");
  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  Diagnostics diagnostics_;
};

// Our own bug: an invariant of the engine does not hold. Always checked, in every build.
[[noreturn]] void fail_invariant(const char* condition, const char* file, int line);
#define CAPSTAN_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::capstan::fail_invariant(#condition, __FILE__, __LINE__))

}  // namespace capstan
