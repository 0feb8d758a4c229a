#include "capstan/io/xml.h"

#include <fmt/core.h>
#include <tinyxml2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "capstan/io/file.h"

namespace capstan {

namespace fs = std::filesystem;
using tinyxml2::XMLAttribute;
using tinyxml2::XMLDocument;

struct XmlFiles::File {
  XMLDocument document;
  std::string path;
  std::string canonical;
};

XmlFiles::XmlFiles(Diagnostics* diagnostics, const ReadLimits& limits)
    : diagnostics_(diagnostics), limits_(limits) {}
XmlFiles::~XmlFiles() = default;

// --- Loading

namespace {

// What tinyxml2 stumbled over, in words.
std::string syntax_problem(const XMLDocument& document, std::string* remedy) {
  switch (document.ErrorID()) {
    case tinyxml2::XML_ERROR_MISMATCHED_ELEMENT:
      *remedy = "close each element once, in the order opened";
      return "an element is not closed, or closed by another name";
    case tinyxml2::XML_ERROR_PARSING_ATTRIBUTE:
      *remedy = "write attributes as name=\"value\", each name once";
      return "malformed attribute";
    case tinyxml2::XML_ERROR_PARSING_ELEMENT:
      *remedy = "write elements as <name ...>...</name> or <name .../>";
      return "malformed element";
    case tinyxml2::XML_ERROR_PARSING_COMMENT:
      *remedy = "end the comment with -->";
      return "a comment is not closed";
    case tinyxml2::XML_ERROR_EMPTY_DOCUMENT:
      *remedy = "write a root element";
      return "the file holds no XML";
    case tinyxml2::XML_ELEMENT_DEPTH_EXCEEDED:
      *remedy = "move inner elements to a file of their own and <include> it";
      return fmt::format("elements are nested deeper than the parser takes (about {})",
                         TINYXML2_MAX_ELEMENT_DEPTH);
    default:
      return fmt::format("not well-formed XML ({})", document.ErrorName());
  }
}

std::string shortened(const char* text) {
  std::string result = text;
  if (result.size() > 60) result = result.substr(0, 57) + "...";
  return result;
}

}  // namespace

const XmlElement* XmlFiles::load(const std::string& path, const Source& referrer) {
  std::error_code failed;
  const std::string canonical = fs::weakly_canonical(path, failed).string();
  for (const auto& file : files_) {
    if (file->canonical == canonical) {
      diagnostics_->error(referrer, fmt::format("file '{}' is included already", path),
                          "include each file once, and never from within itself");
      return nullptr;
    }
  }
  std::string content;
  if (!read_file(path, limits_.max_file_bytes, "scene", referrer, &content, diagnostics_)) return nullptr;
  if (const auto zero = content.find('\0'); zero != std::string::npos) {
    const int line = 1 + static_cast<int>(std::count(content.begin(), content.begin() + zero, '\n'));
    diagnostics_->error({path, line}, "the file holds a zero byte", "write XML as UTF-8 text");
    return nullptr;
  }

  auto file = std::make_unique<File>();
  file->path = path;
  file->canonical = canonical;
  if (file->document.Parse(content.data(), content.size()) != tinyxml2::XML_SUCCESS) {
    std::string remedy;
    const std::string problem = syntax_problem(file->document, &remedy);
    diagnostics_->error({path, file->document.ErrorLineNum()}, problem, remedy);
    return nullptr;
  }
  const XmlElement* root = file->document.RootElement();
  if (!root) {
    diagnostics_->error({path, 0}, "the file has no root element", "write one, such as <mujoco> or <robot>");
    return nullptr;
  }
  file_of_[&file->document] = file.get();
  files_.push_back(std::move(file));
  if (!check_shape(root)) return nullptr;
  accept(root);
  return root;
}

// Nesting and number of elements, without recursion.
bool XmlFiles::check_shape(const XmlElement* root) {
  int depth = 1;
  const XmlElement* element = root;
  while (element) {
    if (!count(element)) return false;
    if (depth > limits_.max_nesting) {
      error(element, fmt::format("elements are nested deeper than {}", limits_.max_nesting),
            "flatten the file, or raise the limit max_nesting");
      return false;
    }
    if (const XmlElement* child = element->FirstChildElement()) {
      element = child;
      ++depth;
      continue;
    }
    while (element && element != root && !element->NextSiblingElement()) {
      element = element->Parent()->ToElement();
      --depth;
    }
    element = (!element || element == root) ? nullptr : element->NextSiblingElement();
  }
  return true;
}

bool XmlFiles::count(const XmlElement* element, int how_many) {
  if (exhausted_) return false;
  count_ += how_many;
  if (count_ <= limits_.max_elements) return true;
  exhausted_ = true;
  error(element, fmt::format("more than {} elements, repetitions included", limits_.max_elements),
        "lower the count of a <replicate>, or raise the limit max_elements");
  return false;
}

std::string XmlFiles::either_path(const std::string& first, const std::string& naming_file,
                                  const std::string& name) {
  std::error_code ignored;
  if (fs::exists(first, ignored)) return first;
  const std::string second = (fs::path(naming_file).parent_path() / name).string();
  return fs::exists(second, ignored) ? second : first;
}

std::vector<const XmlElement*> XmlFiles::children(const XmlElement* element) {
  std::vector<const XmlElement*> result;
  for (const XmlElement* child = element->FirstChildElement(); child; child = child->NextSiblingElement()) {
    if (!replaces_includes || tag(child) != "include") {
      result.push_back(child);
      continue;
    }
    accept(child);
    if (!included_root_.count(child)) {
      included_root_[child] = nullptr;
      const std::string file = required_text(child, "file");
      if (!file.empty())
        included_root_[child] =
            load(either_path((fs::path(include_directory) / file).string(), where(child).file, file),
                 where(child));
    }
    const XmlElement* root = included_root_[child];
    if (!root) continue;
    accept_attributes(root, {"model"});
    if (++include_depth_ > limits_.max_nesting) {
      error(child, fmt::format("includes are nested deeper than {}", limits_.max_nesting));
    } else {
      const auto inner = children(root);
      result.insert(result.end(), inner.begin(), inner.end());
    }
    --include_depth_;
  }
  return result;
}

std::vector<const XmlElement*> XmlFiles::children(const XmlElement* element, std::string_view wanted) {
  auto result = children(element);
  std::erase_if(result, [&](const XmlElement* child) { return wanted != child->Name(); });
  return result;
}

// --- Places

Source XmlFiles::where(const XmlElement* element) const {
  const auto file = file_of_.find(element->GetDocument());
  return {file == file_of_.end() ? "" : file->second->path, element->GetLineNum()};
}

Source XmlFiles::where(const XmlElement* element, const char* attribute) const {
  Source source = where(element);
  if (const XMLAttribute* a = element->FindAttribute(attribute)) source.line = a->GetLineNum();
  return source;
}

std::string XmlFiles::tag(const XmlElement* element) {
  return element->Name();
}

void XmlFiles::error(const XmlElement* element, const std::string& what, const std::string& remedy) {
  diagnostics_->error(where(element), what, remedy);
}

void XmlFiles::warning(const XmlElement* element, const std::string& what, const std::string& remedy) {
  diagnostics_->warning(where(element), what, remedy);
}

// --- Attributes

const XMLAttribute* XmlFiles::find(const XmlElement* element, const char* name) {
  const XMLAttribute* attribute = element->FindAttribute(name);
  if (attribute) used_.insert(attribute);
  return attribute;
}

void XmlFiles::attribute_error(const XmlElement* element, const char* name, const std::string& what,
                               const std::string& remedy) {
  const XMLAttribute* attribute = element->FindAttribute(name);
  const void* key = attribute ? static_cast<const void*>(attribute) : static_cast<const void*>(element);
  if (!complained_.insert(key).second) return;
  diagnostics_->error(where(element, name), what, remedy);
}

bool XmlFiles::has(const XmlElement* element, const char* name) const {
  return element->FindAttribute(name) != nullptr;
}

std::string XmlFiles::peek(const XmlElement* element, const char* name) const {
  const XMLAttribute* attribute = element->FindAttribute(name);
  return attribute ? attribute->Value() : "";
}

std::optional<std::string> XmlFiles::text(const XmlElement* element, const char* name) {
  const XMLAttribute* attribute = find(element, name);
  if (!attribute) return std::nullopt;
  return attribute->Value();
}

std::string XmlFiles::required_text(const XmlElement* element, const char* name) {
  const auto value = text(element, name);
  if (!value || value->empty()) {
    attribute_error(element, name, fmt::format("<{}> has no {}", tag(element), name),
                    fmt::format("write {}=\"...\"", name));
    return "";
  }
  return *value;
}

bool XmlFiles::parse_numbers(const XmlElement* element, const char* name, std::vector<double>* out) {
  const XMLAttribute* attribute = find(element, name);
  if (!attribute) return false;
  const char* at = attribute->Value();
  const char* const end = at + std::strlen(at);
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (true) {
    while (at != end && space(*at)) ++at;
    if (at == end) return true;
    if (*at == '+' && end - at > 1 && at[1] != '-') ++at;  // from_chars takes no plus sign
    double value = 0;
    auto [next, problem] = std::from_chars(at, end, value);
    if (problem == std::errc::result_out_of_range) value = std::strtod(at, nullptr);
    if (problem == std::errc::invalid_argument || (next != end && !space(*next))) {
      attribute_error(element, name,
                      fmt::format("<{}> {}=\"{}\" is not a list of numbers", tag(element), name,
                                  shortened(attribute->Value())),
                      "separate plain numbers by spaces");
      return false;
    }
    if (!std::isfinite(value)) {
      attribute_error(
          element, name,
          fmt::format("<{}> {}=\"{}\" is not finite", tag(element), name, shortened(attribute->Value())),
          "write finite numbers");
      return false;
    }
    out->push_back(value);
    at = next;
  }
}

int XmlFiles::vector(const XmlElement* element, const char* name, int least, int most, double* out) {
  std::vector<double> values;
  if (!parse_numbers(element, name, &values)) return 0;
  const int size = static_cast<int>(values.size());
  if (size == 0) {  // exporters leave such attributes behind, and MuJoCo takes no notice of them
    if (complained_.insert(element->FindAttribute(name)).second) {
      diagnostics_->warning(
          where(element, name),
          fmt::format("<{}> {}=\"\" is empty; it is taken as not written", tag(element), name),
          "remove it, or write its numbers");
    }
    return 0;
  }
  if (size < least || size > most) {
    const std::string expected = least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
    attribute_error(element, name,
                    fmt::format("<{}> {}=\"{}\" has {} number{}", tag(element), name,
                                shortened(element->Attribute(name)), size, size == 1 ? "" : "s"),
                    "write " + expected);
    return 0;
  }
  std::copy(values.begin(), values.end(), out);
  return size;
}

std::vector<double> XmlFiles::numbers(const XmlElement* element, const char* name) {
  std::vector<double> values;
  if (!parse_numbers(element, name, &values)) values.clear();
  return values;
}

std::optional<double> XmlFiles::number(const XmlElement* element, const char* name) {
  double value = 0;
  if (vector(element, name, 1, 1, &value) == 0) return std::nullopt;
  return value;
}

std::optional<Vec3> XmlFiles::vec3(const XmlElement* element, const char* name) {
  Vec3 value;
  if (vector(element, name, 3, 3, value.data()) == 0) return std::nullopt;
  return value;
}

std::optional<int> XmlFiles::integer(const XmlElement* element, const char* name) {
  const auto value = number(element, name);
  if (!value) return std::nullopt;
  if (*value != std::floor(*value) || std::abs(*value) > 2147483647.0) {
    attribute_error(element, name,
                    fmt::format("<{}> {}=\"{}\" is not a whole number", tag(element), name,
                                shortened(element->Attribute(name))),
                    "write an integer of at most 31 bits");
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

std::optional<int> XmlFiles::keyword(const XmlElement* element, const char* name,
                                     std::initializer_list<const char*> words) {
  const auto value = text(element, name);
  if (!value) return std::nullopt;
  int index = 0;
  std::string all;
  for (const char* word : words) {
    if (*value == word) return index;
    all += (index++ ? ", " : "") + std::string(word);
  }
  attribute_error(element, name,
                  fmt::format("<{}> {}=\"{}\" is unknown", tag(element), name, shortened(value->c_str())),
                  "write one of " + all);
  return std::nullopt;
}

std::optional<bool> XmlFiles::boolean(const XmlElement* element, const char* name) {
  const auto index = keyword(element, name, {"false", "true", "0", "1"});
  if (!index) return std::nullopt;
  return *index == 1 || *index == 3;
}

// --- What was read

void XmlFiles::accept_all(const XmlElement* element) {
  used_.insert(element);
  for (const XMLAttribute* a = element->FirstAttribute(); a; a = a->Next()) used_.insert(a);
  for (const XmlElement* child : children(element)) accept_all(child);
}

void XmlFiles::accept_attributes(const XmlElement* element, std::initializer_list<const char*> names) {
  for (const char* name : names) find(element, name);
}

void XmlFiles::not_simulated(const XmlElement* element, const std::string& why) {
  if (!complained_.insert(element).second) return;
  accept_all(element);
  const char* name = element->Attribute("name");
  diagnostics_->not_understood(
      where(element), fmt::format("<{}>{} {}", tag(element), name ? fmt::format(" '{}'", name) : "", why));
}

void XmlFiles::not_simulated(const XmlElement* element, const char* name, const std::string& why) {
  const XMLAttribute* attribute = find(element, name);
  if (!attribute || !complained_.insert(attribute).second) return;
  diagnostics_->not_understood(where(element, name), fmt::format("<{}> {}=\"{}\" {}", tag(element), name,
                                                                 shortened(attribute->Value()), why));
}

void XmlFiles::not_simulated_unless_zero(const XmlElement* element, const char* name,
                                         const std::string& why) {
  const std::vector<double> values = numbers(element, name);
  if (std::any_of(values.begin(), values.end(), [](double x) { return x != 0; })) {
    not_simulated(element, name, why);
  }
}

void XmlFiles::list_unread(const XmlElement* element) {
  if (!used_.count(element)) {
    diagnostics_->not_understood(where(element),
                                 fmt::format("element <{}> is not understood here", tag(element)),
                                 "remove it if it does not matter");
    return;
  }
  for (const XMLAttribute* a = element->FirstAttribute(); a; a = a->Next()) {
    if (used_.count(a)) continue;
    diagnostics_->not_understood(
        {where(element).file, a->GetLineNum()},
        fmt::format("attribute '{}' of <{}> is not understood", a->Name(), tag(element)),
        "remove it if it does not matter");
  }
  for (const XmlElement* child = element->FirstChildElement(); child; child = child->NextSiblingElement()) {
    list_unread(child);
  }
}

void XmlFiles::report_unread() {
  for (const auto& file : files_) list_unread(file->document.RootElement());
}

}  // namespace capstan
