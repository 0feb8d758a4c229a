// The painter's way: every facet is lit, projected, and drawn from far to near. Earlier states are drawn as
// the outlines of their shapes (convex hulls of the projected vertices), which keeps a picture of many states
// small.
#include "capstan/io/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capstan/dynamics/tree.h"
#include "capstan/io/drawing.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

using namespace drawing;
using Outline = std::vector<Vec2>;

constexpr int kSpringTurns = 7;

std::string hex(const Color& c) {
  const auto byte = [](float x) { return static_cast<int>(std::lround(255 * std::clamp(x, 0.0f, 1.0f))); };
  return fmt::format("#{:02x}{:02x}{:02x}", byte(c[0]), byte(c[1]), byte(c[2]));
}

void add_points(const Outline& outline, std::string* svg) {
  for (std::size_t i = 0; i < outline.size(); ++i) {
    fmt::format_to(std::back_inserter(*svg), "{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', outline[i].x(),
                   outline[i].y());
  }
  *svg += 'Z';
}

// Monotone chain.
Outline convex_hull(Outline points) {
  std::sort(points.begin(), points.end(),
            [](const Vec2& a, const Vec2& b) { return a.x() != b.x() ? a.x() < b.x() : a.y() < b.y(); });
  if (points.size() < 3) return points;
  Outline hull(2 * points.size());
  std::size_t k = 0;
  const auto turns_right = [&](const Vec2& p) {
    const Vec2 a = hull[k - 1] - hull[k - 2], b = p - hull[k - 2];
    return a.x() * b.y() - a.y() * b.x() <= 0;
  };
  for (const Vec2& p : points) {
    while (k >= 2 && turns_right(p)) --k;
    hull[k++] = p;
  }
  const std::size_t lower = k + 1;
  for (std::size_t i = points.size() - 1; i-- > 0;) {
    while (k >= lower && turns_right(points[i])) --k;
    hull[k++] = points[i];
  }
  hull.resize(k - 1);
  return hull;
}

// A grid on the ground around the scene, and the shadows on it.
struct Ground {
  bool exists = false;
  double height = 0;  // [m]; only grounds that face up are drawn
};

Ground find_ground(const Model& model, const State& state) {
  Placement placement = make_placement(model);
  calc_placement(model, state.q, &placement);
  for (const ModelShape& shape : model.shapes) {
    const Transform X_WS = placement.X_WL[shape.link] * shape.X_LS;
    if (std::holds_alternative<HalfSpace>(shape.shape) && X_WS.R(2, 2) > 0.999) return {true, X_WS.p.z()};
  }
  return {};
}

void draw_ground(const Camera& camera, const Ground& ground, double radius, const std::vector<Item>& items,
                 std::string* svg) {
  const Vec3 center(camera.target.x(), camera.target.y(), ground.height);
  const double raw = radius / 6, power = std::pow(10, std::floor(std::log10(raw)));
  const double spacing = power * (raw / power > 5 ? 5 : raw / power > 2 ? 2 : 1);
  Outline disc;
  for (int i = 0; i < 72; ++i) {
    const double angle = i * 2 * 3.14159265358979 / 72;
    disc.push_back(camera.project(center + radius * Vec3(std::cos(angle), std::sin(angle), 0)));
  }
  *svg += "<path fill=\"#e6eaf0\" d=\"";
  add_points(disc, svg);
  *svg += "\"/>\n<g stroke=\"#cfd6e0\" stroke-width=\"1\">\n";
  for (const int axis : {0, 1}) {
    const double middle = center[axis];
    for (double t = std::ceil((middle - radius) / spacing) * spacing; t <= middle + radius; t += spacing) {
      const double half = std::sqrt(std::max(0.0, radius * radius - (t - middle) * (t - middle)));
      Vec3 a = center, b = center;
      a[axis] = b[axis] = t;
      a[1 - axis] -= half;
      b[1 - axis] += half;
      const Vec2 p = camera.project(a), q = camera.project(b);
      *svg += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", p.x(), p.y(), q.x(), q.y());
    }
  }
  *svg += "</g>\n<g fill=\"#2b3648\" opacity=\"0.2\">\n";
  for (const Item& item : items) {
    Outline shadow;
    for (const Vec3& v : item.facets.vertices) {
      const double h = v.z() - ground.height;
      if (h >= -0.01 * radius) shadow.push_back(camera.project(v - std::max(0.0, h) / kLight.z() * kLight));
    }
    if (shadow.size() < 3) continue;
    *svg += "<path d=\"";
    add_points(convex_hull(std::move(shadow)), svg);
    *svg += "\"/>\n";
  }
  *svg += "</g>\n";
}

void draw_ghost(const Camera& camera, const std::vector<Item>& items, double strength, std::string* svg) {
  std::vector<std::pair<double, const Item*>> sorted;
  for (const Item& item : items) {
    Vec3 middle = Vec3::Zero();
    for (const Vec3& v : item.facets.vertices) middle += v;
    middle /= std::max<double>(1, static_cast<double>(item.facets.vertices.size()));
    sorted.emplace_back(camera.view(middle).z(), &item);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  *svg += fmt::format("<g opacity=\"{:.2f}\" stroke-width=\"0.7\">\n", strength);
  for (const auto& [depth, item] : sorted) {
    Outline outline;
    for (const Vec3& v : item->facets.vertices) outline.push_back(camera.project(v));
    const Color base = item->color;
    *svg += fmt::format("<path fill=\"{}\" stroke=\"{}\" d=\"", hex(0.75f * base + 0.2f * kPaper),
                        hex(0.45f * base));
    add_points(convex_hull(std::move(outline)), svg);
    *svg += "\"/>\n";
  }
  *svg += "</g>\n";
}

void draw_solid(const Camera& camera, const std::vector<Item>& items, std::string* svg) {
  struct Face {
    double depth;
    Outline outline;
    Color color;
    float opacity;
  };
  std::vector<Face> faces;
  for (const Item& item : items) {
    for (const std::vector<int>& face : item.facets.faces) {
      Vec3 middle = Vec3::Zero(), normal = Vec3::Zero();
      const auto corner = [&](std::size_t i) { return item.facets.vertices[face[i % face.size()]]; };
      for (std::size_t i = 0; i < face.size(); ++i) {
        middle += corner(i) / static_cast<double>(face.size());
        normal += cross(corner(i), corner(i + 1));
      }
      if (!(normal.norm() > 0)) continue;
      normal.normalize();
      const Vec3 to_viewer = camera.to_viewer(middle);
      if (normal.dot(to_viewer) <= 0) continue;
      Face drawn{camera.view(middle).z(), {}, shade(item.color, normal, to_viewer), item.shape->rgba[3]};
      for (std::size_t i = 0; i < face.size(); ++i) drawn.outline.push_back(camera.project(corner(i)));
      faces.push_back(std::move(drawn));
    }
  }
  std::stable_sort(faces.begin(), faces.end(),
                   [](const Face& a, const Face& b) { return a.depth < b.depth; });
  // A thin stroke of the same colour closes the seams between neighbours.
  *svg += "<g stroke-width=\"0.6\" stroke-linejoin=\"round\">\n";
  for (const Face& face : faces) {
    const std::string color = hex(face.color);
    *svg += fmt::format("<path fill=\"{}\" stroke=\"{}\"", color, color);
    if (face.opacity < 0.99f) *svg += fmt::format(" opacity=\"{:.2f}\"", face.opacity);
    *svg += " d=\"";
    add_points(face.outline, svg);
    *svg += "\"/>\n";
  }
  *svg += "</g>\n";
}

struct Spring {
  Vec3 from, to;  // [m] world
};

// For each prismatic joint with a spring: from the body it is joined to, to its own.
std::vector<Spring> find_springs(const Model& model, const State& state) {
  std::vector<Spring> springs;
  Placement placement = make_placement(model);
  calc_placement(model, state.q, &placement);
  for (const ModelJoint& joint : model.joints) {
    if (joint.type != JointType::prismatic || !(model.dofs[joint.v].stiffness > 0)) continue;
    const int parent = std::max(0, model.bodies[joint.body].parent);
    springs.push_back({body_pose(model, placement, parent).p, body_pose(model, placement, joint.body).p});
  }
  return springs;
}

void draw_springs(const Camera& camera, const std::vector<Spring>& springs, std::string* svg) {
  for (const auto& [a, b] : springs) {
    if (!((b - a).norm() > 0)) continue;
    const Mat3 R = frame_from_z((b - a).normalized());
    const double radius = 0.1 * (b - a).norm();
    constexpr int kPoints = 20 * kSpringTurns;
    *svg += "<path fill=\"none\" stroke=\"#6b7688\" stroke-width=\"1.6\" stroke-linejoin=\"round\" d=\"";
    for (int i = 0; i <= kPoints; ++i) {
      const double t = static_cast<double>(i) / kPoints, angle = 2 * 3.14159265358979 * kSpringTurns * t;
      const Vec3 coil = radius * (std::cos(angle) * R.col(0) + std::sin(angle) * R.col(1));
      const Vec2 p = camera.project(a + t * (b - a) + coil);
      fmt::format_to(std::back_inserter(*svg), "{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', p.x(), p.y());
    }
    *svg += "\"/>\n";
  }
}

void draw_trail(const Camera& camera, const std::vector<Vec3>& trail, std::string* svg) {
  // Older parts fade: a few pieces of growing opacity, each joined to the next.
  constexpr std::size_t kPieces = 12;
  for (std::size_t piece = 0; piece < kPieces && trail.size() > 1; ++piece) {
    const std::size_t begin = piece * (trail.size() - 1) / kPieces;
    const std::size_t end = (piece + 1) * (trail.size() - 1) / kPieces;
    if (begin == end) continue;
    *svg += fmt::format(
        "<path fill=\"none\" stroke=\"#d9480f\" stroke-width=\"1.6\" stroke-linecap=\"round\" "
        "stroke-linejoin=\"round\" opacity=\"{:.2f}\" d=\"",
        0.15 + 0.6 * static_cast<double>(piece + 1) / kPieces);
    for (std::size_t i = begin; i <= end; ++i) {
      const Vec2 p = camera.project(trail[i]);
      fmt::format_to(std::back_inserter(*svg), "{}{:.1f} {:.1f}", i == begin ? 'M' : 'L', p.x(), p.y());
    }
    *svg += "\"/>\n";
  }
}

}  // namespace

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

std::string draw_picture(const Model& model, const std::vector<State>& states,
                         const PictureOptions& options) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"{2}\"/>\n",
      options.width, options.height, hex(kPaper));
  std::vector<std::vector<Item>> placed;
  std::vector<Vec3> points = options.trail;
  for (const State& state : states) {
    placed.push_back(place_shapes(model, state, 0));
    for (const Item& item : placed.back()) {
      points.insert(points.end(), item.facets.vertices.begin(), item.facets.vertices.end());
    }
  }
  const std::vector<Spring> springs =
      states.empty() ? std::vector<Spring>{} : find_springs(model, states.back());
  for (const Spring& spring : springs) points.insert(points.end(), {spring.from, spring.to});
  const Camera camera = aim(points, options);
  if (!states.empty()) {
    double radius = 0;
    for (const Vec3& p : points) radius = std::max(radius, (p - camera.target).norm());
    const Ground ground = find_ground(model, states.back());
    if (ground.exists) draw_ground(camera, ground, 1.25 * radius, placed.back(), &svg);
    for (std::size_t i = 0; i + 1 < placed.size(); ++i) {
      const double age = static_cast<double>(i + 1) / static_cast<double>(placed.size());
      draw_ghost(camera, placed[i], 0.14 + 0.3 * age, &svg);
    }
    draw_springs(camera, springs, &svg);
    draw_solid(camera, place_shapes(model, states.back(), camera.scale), &svg);
    draw_trail(camera, options.trail, &svg);
  }
  if (!options.title.empty()) {
    svg += fmt::format(
        "<text x=\"20\" y=\"34\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"22\" "
        "fill=\"#2b3648\">{}</text>\n",
        xml_text(options.title));
  }
  return svg + "</svg>\n";
}

}  // namespace capstan
