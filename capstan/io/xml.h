// XML files for the MJCF and URDF readers: a thin layer over tinyxml2.
//
// It loads files within limits, reads attributes as numbers, vectors, booleans and keywords with a message at
// file:line when they are malformed, and remembers what has been read. report_unread() then lists every
// attribute and element that nobody asked for, so that nothing in a file is ignored in silence.
#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "capstan/base/diagnostics.h"
#include "capstan/io/read.h"
#include "capstan/math/types.h"

namespace tinyxml2 {
class XMLAttribute;
class XMLDocument;
class XMLElement;
}  // namespace tinyxml2

namespace capstan {

using XmlElement = tinyxml2::XMLElement;

class XmlFiles {
 public:
  XmlFiles(Diagnostics* diagnostics, const ReadLimits& limits);
  ~XmlFiles();
  XmlFiles(const XmlFiles&) = delete;
  XmlFiles& operator=(const XmlFiles&) = delete;

  // The root element of a file, or null with an error at `referrer` (or in the file itself, when it cannot
  // be parsed). A file may be loaded once; loading it again, or from within itself, is an error.
  const XmlElement* load(const std::string& path, const Source& referrer);

  // The child elements in order; an <include file="..."> is replaced by the children of that file's root.
  // Paths are relative to `include_directory`, or else to the file that has the element.
  std::vector<const XmlElement*> children(const XmlElement* element);
  std::vector<const XmlElement*> children(const XmlElement* element, std::string_view tag);
  std::string include_directory;
  // `first`, or where that is not there and it is, `name` beside the file that names it.
  static std::string either_path(const std::string& first, const std::string& naming_file,
                                 const std::string& name);
  bool replaces_includes = true;  // false: an <include> is an element like others

  Source where(const XmlElement* element) const;
  Source where(const XmlElement* element, const char* attribute) const;
  static std::string tag(const XmlElement* element);

  // Attribute readers. Absent: empty (or false), no message. Malformed: an error, and as if absent.
  bool has(const XmlElement* element, const char* name) const;          // does not count as read
  std::string peek(const XmlElement* element, const char* name) const;  // "" when absent; not read
  std::optional<std::string> text(const XmlElement* element, const char* name);
  std::string required_text(const XmlElement* element, const char* name);  // "" and an error when absent
  std::optional<double> number(const XmlElement* element, const char* name);
  std::optional<int> integer(const XmlElement* element, const char* name);
  std::optional<bool> boolean(const XmlElement* element, const char* name);  // true, false
  std::optional<Vec3> vec3(const XmlElement* element, const char* name);
  std::vector<double> numbers(const XmlElement* element, const char* name);  // any count
  // Between `least` and `most` numbers into out[0...]; the rest of `out` is left. Returns how many.
  int vector(const XmlElement* element, const char* name, int least, int most, double* out);
  // Index of the attribute's value in `words`.
  std::optional<int> keyword(const XmlElement* element, const char* name,
                             std::initializer_list<const char*> words);

  // The element has been looked at. accept_all: it and all below it can have no physical effect.
  void accept(const XmlElement* element) { used_.insert(element); }
  void accept_all(const XmlElement* element);
  void accept_attributes(const XmlElement* element, std::initializer_list<const char*> names);

  // Present and understood, but not simulated: a not_understood message that says why. The element with all
  // below it counts as read. The attribute form says nothing when the attribute is absent.
  void not_simulated(const XmlElement* element, const std::string& why);
  void not_simulated(const XmlElement* element, const char* attribute, const std::string& why);
  // The same, unless every number in the attribute is zero.
  void not_simulated_unless_zero(const XmlElement* element, const char* attribute, const std::string& why);

  // Each element counts against the limit each time it is used (repetition!). False, with one error, once
  // the limit is passed; the caller then stops.
  bool count(const XmlElement* element, int how_many = 1);
  bool exhausted() const { return exhausted_; }

  void error(const XmlElement* element, const std::string& what, const std::string& remedy = "");
  // At the attribute's line (the element's, when it is absent); one message for one attribute, however often
  // its element is used.
  void attribute_error(const XmlElement* element, const char* attribute, const std::string& what,
                       const std::string& remedy);
  void warning(const XmlElement* element, const std::string& what, const std::string& remedy = "");
  // True the first time it is called with this key.
  bool once(const std::string& key) { return said_.insert(key).second; }

  // Lists what was not read in all loaded files.
  void report_unread();

  Diagnostics* diagnostics() { return diagnostics_; }
  const ReadLimits& limits() const { return limits_; }

 private:
  struct File;
  const tinyxml2::XMLAttribute* find(const XmlElement* element, const char* name);
  bool parse_numbers(const XmlElement* element, const char* name, std::vector<double>* out);
  bool check_shape(const XmlElement* root);
  void list_unread(const XmlElement* element);

  Diagnostics* diagnostics_;
  ReadLimits limits_;
  std::vector<std::unique_ptr<File>> files_;
  std::map<const tinyxml2::XMLDocument*, const File*> file_of_;
  std::map<const XmlElement*, const XmlElement*> included_root_;  // of an include element; null: failed
  std::unordered_set<const void*> used_, complained_;             // elements and attributes
  std::set<std::string> said_;
  long count_ = 0;
  int include_depth_ = 0;
  bool exhausted_ = false;
};

}  // namespace capstan
