// Where the nodes of a rod are, in YAML scenes: points, a formula, or a file of points.
#include <fmt/core.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <numbers>
#include <sstream>

#include "capstan/io/file.h"
#include "capstan/io/yaml_rods.h"
#include "capstan/math/rotation.h"
#include "capstan/math/spatial.h"

namespace capstan {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr long kMaxFileBytes = 64L << 20;

const std::vector<std::string> kPaths = {"points", "line", "arc", "circle", "helix", "file"};

bool read_points(YamlFields* fields, std::vector<Vec3>* points) {
  const YamlNode& node = *fields->find("points");
  if (node.kind != YamlNode::Kind::list) {
    fields->error(node, fmt::format("{} is {}, not a list", fields->of("points"), describe(node)),
                  "write [[x, y, z], ...] [m]");
    return false;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    std::vector<double> p;
    if (!read_numbers(fields->source(), *node.items[i], fmt::format("point {} of {}", i, fields->what()), 3,
                      3, kAny, &p))
      return false;
    points->push_back({p[0], p[1], p[2]});
  }
  return true;
}

// x, y, z in each line, with commas or blanks between; a first line of names and lines with # are left out.
bool read_point_file(YamlReader* reader, YamlFields* fields, std::vector<Vec3>* points) {
  std::string file, content;
  if (!fields->text("file", &file)) return false;
  const std::string path = reader->beside(file);
  Diagnostics* diagnostics = reader->source.diagnostics;
  if (!read_file(path, kMaxFileBytes, "points", fields->where("file"), &content, diagnostics)) return false;
  std::istringstream lines(content);
  int number = 0;
  bool is_first = true;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[line.find_first_not_of(" \t")] == '#')
      continue;
    std::vector<double> values;
    bool ok = true;
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == ',' || c == '\r' || c == ';'; };
    for (const char *at = line.data(), *end = at + line.size(); ok;) {
      while (at < end && is_blank(*at)) ++at;
      if (at == end) break;
      double value = 0;
      const auto [next, problem] = std::from_chars(at, end, value);
      ok = problem == std::errc() && (next == end || is_blank(*next)) && std::isfinite(value);
      values.push_back(value);
      at = next;
    }
    if (!ok && is_first && std::isalpha(static_cast<unsigned char>(line[0]))) {
      is_first = false;
      continue;
    }
    is_first = false;
    if (!ok || values.size() != 3) {
      diagnostics->error({path, number}, fmt::format("'{}' is not a point", line.substr(0, 60)),
                         "write x, y, z [m] in each line");
      return false;
    }
    points->push_back({values[0], values[1], values[2]});
  }
  return true;
}

// n + 1 points of a formula over [0, 1], or n of a closed one.
template <class Formula>
std::vector<Vec3> sample(long edges, bool closed, const Formula& formula) {
  std::vector<Vec3> points;
  for (long i = 0; i < edges + (closed ? 0 : 1); ++i)
    points.push_back(formula(static_cast<double>(i) / static_cast<double>(edges)));
  return points;
}

bool read_formula(YamlFields* rod, const std::string& key, long edges, std::vector<Vec3>* points) {
  YamlFields fields(rod->source(), *rod->find(key), rod->of(key));
  if (fields.node().kind != YamlNode::Kind::map) return false;
  const auto need = [&](bool is_read, const char* name, const char* unit) {
    if (!is_read && !fields.has(name)) {
      fields.error(fields.node(), fmt::format("{} has no {}", fields.what(), name),
                   fmt::format("write '{}: ...' [{}]", name, unit));
    }
    return is_read;
  };
  bool ok = true;
  if (key == "line") {
    Vec3 from = Vec3::Zero(), to = Vec3::Zero();
    ok = need(fields.vec3("from", &from), "from", "m");
    ok = need(fields.vec3("to", &to), "to", "m") && ok;
    if (ok) *points = sample(edges, false, [&](double s) { return Vec3((1 - s) * from + s * to); });
  } else {
    double radius = 0, angle = kTurn, pitch = 0, turns = 0;
    ok = need(fields.number("radius", &radius, kPositive), "radius", "m");
    if (key == "arc" && !fields.angle("angle", &angle)) {
      ok = need(fields.has("angle") || fields.has("angle_deg"), "angle", "rad") && false;
    }
    if (key == "helix") {
      ok = need(fields.number("pitch", &pitch), "pitch", "m for each turn") && ok;
      ok = need(fields.number("turns", &turns), "turns", "1") && ok;
      angle = kTurn * turns;
    }
    if (ok) {
      *points = sample(edges, key == "circle", [&](double s) {
        return Vec3(radius * std::cos(s * angle), radius * std::sin(s * angle), s * turns * pitch);
      });
    }
  }
  fields.done();
  return ok;
}

// The line through points, divided evenly.
std::vector<Vec3> divide(const std::vector<Vec3>& points, bool closed, long edges) {
  std::vector<double> at = {0};  // length along the line
  const std::size_t n = points.size();
  for (std::size_t i = 0; i + 1 < n + (closed ? 1 : 0); ++i)
    at.push_back(at.back() + (points[(i + 1) % n] - points[i]).norm());
  std::size_t k = 0;
  return sample(edges, closed, [&](double s) {
    const double length = s * at.back();
    while (k + 2 < at.size() && at[k + 1] < length) ++k;
    const double span = at[k + 1] - at[k], part = span > 0 ? (length - at[k]) / span : 0;
    return Vec3((1 - part) * points[k] + part * points[(k + 1) % n]);
  });
}

// The line through points with its corners made arcs. "" or why that cannot be.
std::string round_corners(double radius, bool closed, std::vector<Vec3>* points) {
  constexpr double kFinest = std::numbers::pi / 360;  // [rad] between points of an arc
  const std::size_t n = points->size();
  std::vector<Vec3> rounded;
  std::vector<double> taken(n);  // [m] of the two edges at a corner
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3& corner = (*points)[i];
    const Vec3 in = corner - (*points)[(i + n - 1) % n], out = (*points)[(i + 1) % n] - corner;
    const double turn = std::atan2(cross(in, out).norm(), in.dot(out));
    if ((!closed && (i == 0 || i + 1 == n)) || turn < kFinest) {
      rounded.push_back(corner);
      continue;
    }
    taken[i] = radius * std::tan(0.5 * turn);
    if (!(taken[i] < 1e6 * radius)) return fmt::format("the line turns back at point {}", i);
    const Vec3 t = in.normalized(), start = corner - taken[i] * t;
    const Vec3 inward = (out - out.dot(t) * t).normalized();
    const int pieces = static_cast<int>(std::ceil(turn / kFinest));
    for (int k = 0; k <= pieces; ++k) {
      const double a = k * turn / pieces;
      rounded.push_back(start + radius * (std::sin(a) * t + (1 - std::cos(a)) * inward));
    }
  }
  for (std::size_t i = 0; i + 1 < n + (closed ? 1 : 0); ++i) {
    const double room = ((*points)[(i + 1) % n] - (*points)[i]).norm();
    if (taken[i] + taken[(i + 1) % n] > room * (1 + 1e-9)) {
      return fmt::format("the arcs at points {} and {} need {:g} m, which are {:g} m apart", i, (i + 1) % n,
                         taken[i] + taken[(i + 1) % n], room);
    }
  }
  *points = std::move(rounded);
  return "";
}

void read_rounding(YamlFields* fields, bool has_edges, RodSpec* rod) {
  double radius = 0;
  if (!fields->number("rounding", &radius, kPositive)) return;
  const YamlNode& node = *fields->find("rounding");
  if (!has_edges) {
    fields->error(node,
                  fmt::format("{} has rounded corners, but does not say how many edges", fields->what()),
                  "write 'edges: ...'");
  } else if (const std::string why = round_corners(radius, rod->closed, &rod->nodes); !why.empty()) {
    fields->error(node, fmt::format("{} is {:g} m: {}", fields->of("rounding"), radius, why),
                  "write a smaller radius, or other points");
  }
}

}  // namespace

bool read_rod_path(YamlReader* reader, YamlFields* fields, RodSpec* rod) {
  const int ways = fields->at_most_one(kPaths);
  std::string key;
  for (const std::string& path : kPaths) {
    if (fields->has(path)) key = path;
  }
  if (ways == 0) {
    fields->error(
        fields->node(), fmt::format("{} has no nodes", fields->what()),
        "write 'points: [[x, y, z], ...]', 'line: {from: ..., to: ...}', arc, circle, helix, or file");
  }
  Pose pose;
  read_pose(fields, &pose);
  long edges = 0;
  const bool has_edges = fields->integer("edges", 1, kMostRodEdges, &edges);
  const bool is_list = key == "points" || key == "file";
  if (is_list) {
    fields->flag("closed", &rod->closed);
  } else {
    rod->closed = key == "circle";
  }
  if (ways != 1 || !fields->find(key)) return false;
  if (!is_list && !has_edges) {
    if (!fields->has("edges")) {
      fields->error(fields->node(), fmt::format("{} does not say how many edges it has", fields->what()),
                    "write 'edges: ...'");
    }
    return false;
  }
  std::vector<Vec3>& nodes = rod->nodes;
  const bool ok = key == "points" ? read_points(fields, &nodes)
                  : key == "file" ? read_point_file(reader, fields, &nodes)
                                  : read_formula(fields, key, edges, &nodes);
  if (!ok) return false;
  if (is_list) read_rounding(fields, has_edges, rod);
  if (is_list && has_edges && nodes.size() > 1) nodes = divide(nodes, rod->closed, edges);
  const bool is_placed = !pose.position.isZero(0) || !pose.quat_wxyz.tail<3>().isZero(0);
  for (Vec3& node : nodes) {
    if (is_placed) node = pose.position + rotate(pose.quat_wxyz, node);
  }
  rod->director = rotate(pose.quat_wxyz, rod->director);
  return true;
}

}  // namespace capstan
