#include "capstan/io/yaml_tree.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>
#include <unordered_map>

namespace capstan {
namespace {

struct Stop {};  // an error was reported; the rest of the file is not looked at

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, const ReadLimits& limits, Diagnostics* diagnostics)
      : file_(file), limits_(limits), diagnostics_(diagnostics) {}

  std::shared_ptr<const YamlNode> root;

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    leaf(YamlNode::Kind::null, mark, anchor, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    leaf(YamlNode::Kind::scalar, mark, anchor, value);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      stop(mark, "an alias (*) stands inside the thing it names", "write that part out");
    }
    add(found->second, mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(YamlNode::Kind::list, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(YamlNode::Kind::map, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor;
    bool expects_value;  // map: a key was read
    bool drop;           // map: the value belongs to a repeated key
    std::unordered_map<std::string, int> key_line;
  };

  Source at(const YAML::Mark& mark) const { return {file_, mark.line + 1}; }
  [[noreturn]] void stop(const YAML::Mark& mark, const std::string& what, const std::string& remedy) {
    diagnostics_->error(at(mark), what, remedy);
    throw Stop();
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!" || tag.rfind("tag:yaml.org,2002:", 0) == 0) return;
    diagnostics_->not_understood(at(mark), fmt::format("the tag '{}' is not understood", tag.substr(0, 40)),
                                 "leave it out");
  }

  void leaf(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& value) {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->line = mark.line + 1;
    node->text = value;
    if (anchor) anchors_[anchor] = node;
    add(node, mark);
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (static_cast<int>(open_.size()) >= limits_.max_nesting) {
      stop(mark, fmt::format("the nesting is deeper than {}", limits_.max_nesting),
           "make the scene flatter: bodies can name their parent instead of being written inside it");
    }
    if (!open_.empty() && open_.back().node->kind == YamlNode::Kind::map && !open_.back().expects_value) {
      stop(mark, "a list or map stands where a key belongs", "keys are words");
    }
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->line = mark.line + 1;
    open_.push_back({node, anchor, false, false, {}});
    mark_ = mark;
  }

  void close() {
    const Open last = open_.back();
    open_.pop_back();
    if (last.anchor) anchors_[last.anchor] = last.node;
    add(last.node, mark_);
  }

  void add(const std::shared_ptr<const YamlNode>& node, const YAML::Mark& mark) {
    if (open_.empty()) {
      root = node;
      return;
    }
    Open& parent = open_.back();
    YamlNode& into = *parent.node;
    if (into.kind == YamlNode::Kind::map && !parent.expects_value) {
      if (node->kind != YamlNode::Kind::scalar) stop(mark, "a key of a map is missing", "write 'key: value'");
      if (node->text == "<<") {
        stop(mark, "the merge key '<<' is not part of the scene format", "write the keys out");
      }
      const auto [same, added] = parent.key_line.try_emplace(node->text, mark.line + 1);
      parent.drop = !added;
      if (parent.drop) {
        diagnostics_->error(at(mark), fmt::format("the key '{}' is written twice", node->text.substr(0, 40)),
                            fmt::format("it is at line {} already; remove one", same->second));
      } else {
        into.keys.push_back(node->text);
        into.key_lines.push_back(mark.line + 1);
      }
      parent.expects_value = true;
      return;
    }
    parent.expects_value = false;
    if (parent.drop) {
      parent.drop = false;
      return;
    }
    into.size += node->size;
    // Numbers of height fields and lists are nodes too, hence more of them than elements.
    const long max_size = 16L * limits_.max_elements;
    if (into.size > max_size) {
      stop(mark, fmt::format("the file has more than {} values, aliases written out", max_size),
           "make it smaller, or raise the limit (ReadLimits::max_elements)");
    }
    into.items.push_back(node);
  }

  const std::string& file_;
  const ReadLimits& limits_;
  Diagnostics* diagnostics_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::shared_ptr<const YamlNode>> anchors_;
  YAML::Mark mark_;
};

}  // namespace

std::shared_ptr<const YamlNode> parse_yaml(const std::string& text, const std::string& file,
                                           const ReadLimits& limits, Diagnostics* diagnostics) {
  TreeBuilder builder(file, limits, diagnostics);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder) || !builder.root || builder.root->kind == YamlNode::Kind::null) {
      diagnostics->error({file, 0}, "the file has no content", "begin it with 'capstan: 1'");
      return nullptr;
    }
    const std::shared_ptr<const YamlNode> root = builder.root;
    if (parser.HandleNextDocument(builder)) {
      diagnostics->error({file, builder.root->line}, "the file has a second YAML document",
                         "keep one scene in each file (no '---' between parts)");
    }
    return root;
  } catch (const YAML::Exception& problem) {
    const int line = problem.mark.is_null() ? 0 : problem.mark.line + 1;
    const std::string column =
        problem.mark.is_null() ? "" : fmt::format(" at column {}", problem.mark.column + 1);
    diagnostics->error({file, line}, fmt::format("this is not YAML: {}{}", problem.msg, column),
                       "check indentation, brackets, quotes and colons here and in the lines before");
  } catch (const Stop&) {
  }
  return nullptr;
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "empty";
    case YamlNode::Kind::scalar:
      return node.text.size() <= 40 ? "'" + node.text + "'" : "'" + node.text.substr(0, 40) + "...'";
    case YamlNode::Kind::list:
      return fmt::format("a list of {}", node.items.size());
    case YamlNode::Kind::map:
      return "a map";
  }
  return "";
}

}  // namespace capstan
