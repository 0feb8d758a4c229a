#include "capstan/io/image.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "capstan/dynamics/tree.h"
#include "capstan/io/drawing.h"
#include "capstan/math/rotation.h"

namespace capstan {
namespace {

using drawing::Color;

constexpr float kFar = std::numeric_limits<float>::infinity();
constexpr int kShadowSize = 1024;  // [px] of the lamp's view

// Points of the world as an eye sees them: (right, up, depth). Parallel rays where f is 0.
struct Eye {
  Vec3 p_W = Vec3::Zero();
  Mat3 R_EW = Mat3::Identity();  // rows: right, up, ahead
  double f = 0;                  // [px]
  double scale = 1;              // [px/m] of parallel rays
  Vec2 center = Vec2::Zero();    // [px]

  Vec3 see(const Vec3& p) const { return R_EW * (p - p_W); }
  Vec2 project(const Vec3& seen) const {
    const double s = f > 0 ? f / seen.z() : scale;
    return center + s * Vec2(seen.x(), -seen.y());
  }
  // Of a pixel, with 1 m along the axis for each unit.
  Vec3 ray_W(double column, double row) const {
    return R_EW.transpose() * Vec3((column - center.x()) / f, -(row - center.y()) / f, 1);
  }
};

struct DrawnTriangle {
  std::array<Vec3, 3> p_W;
  Vec3 normal_W;
  int shape = 0;
};

// Nearest surface for each pixel: its depth and which triangle it is, -1 for none.
struct Buffer {
  int width, height;
  std::vector<float> depth;
  std::vector<int> triangle;
  Buffer(int w, int h)
      : width(w), height(h), depth(std::size_t(w) * h, kFar), triangle(std::size_t(w) * h, -1) {}
};

// Calls put(pixel, depth) for each pixel of a triangle whose corners are (column, row, depth); 1 / depth is
// linear over the picture where rays meet in an eye, depth itself where they are parallel.
template <class Put>
void fill(const std::array<Vec3, 3>& corner, bool is_perspective, int width, int height, const Put& put) {
  const Vec2 a = corner[0].head<2>(), ab = corner[1].head<2>() - a, ac = corner[2].head<2>() - a;
  const double area = ab.x() * ac.y() - ab.y() * ac.x();
  if (!(std::abs(area) > 1e-12)) return;
  const auto low = [&](int k) { return std::min({corner[0][k], corner[1][k], corner[2][k]}); };
  const auto high = [&](int k) { return std::max({corner[0][k], corner[1][k], corner[2][k]}); };
  const auto first = [](double x) { return static_cast<int>(std::ceil(std::clamp(x - 0.5, 0.0, 1e6))); };
  const auto last = [](double x, int n) {
    return static_cast<int>(std::floor(std::clamp(x - 0.5, -1.0, n - 1.0)));
  };
  const auto depth_at = [&](int i) { return is_perspective ? 1 / corner[i].z() : corner[i].z(); };
  const double d0 = depth_at(0), d1 = depth_at(1) - d0, d2 = depth_at(2) - d0;
  const int begin = first(low(0)), end = last(high(0), width), bottom = last(high(1), height);
  for (int row = first(low(1)); row <= bottom; ++row) {
    for (int column = begin; column <= end; ++column) {
      const double x = column + 0.5 - a.x(), y = row + 0.5 - a.y();
      const double u = (x * ac.y() - y * ac.x()) / area, w = (ab.x() * y - ab.y() * x) / area;
      if (u < 0 || w < 0 || u + w > 1) continue;
      const double d = d0 + u * d1 + w * d2;
      put(std::size_t(row) * width + column, static_cast<float>(is_perspective ? 1 / d : d));
    }
  }
}

// What is nearer than `near` [m] is cut off: a triangle becomes up to two.
template <class Put>
void draw(const Eye& eye, const DrawnTriangle& triangle, double near, int width, int height, const Put& put) {
  std::array<Vec3, 3> seen;
  for (int i = 0; i < 3; ++i) seen[i] = eye.see(triangle.p_W[i]);
  std::array<Vec3, 4> cut;
  int n = 0;
  for (int i = 0; i < 3; ++i) {
    const Vec3 &p = seen[i], &q = seen[(i + 1) % 3];
    if (p.z() >= near) cut[n++] = p;
    if ((p.z() >= near) != (q.z() >= near)) cut[n++] = p + (near - p.z()) / (q.z() - p.z()) * (q - p);
  }
  if (n < 3) return;
  std::array<Vec3, 4> corner;
  for (int i = 0; i < n; ++i) {
    corner[i].head<2>() = eye.project(cut[i]);
    corner[i].z() = cut[i].z();
  }
  for (int i = 1; i + 1 < n; ++i) fill({corner[0], corner[i], corner[i + 1]}, eye.f > 0, width, height, put);
}

void draw_nearest(const Eye& eye, const DrawnTriangle& triangle, int id, double near, Buffer* buffer) {
  draw(eye, triangle, near, buffer->width, buffer->height, [&](std::size_t at, float depth) {
    if (depth >= buffer->depth[at]) return;
    buffer->depth[at] = depth;
    buffer->triangle[at] = id;
  });
}

struct Floor {
  Vec3 p_W, normal_W;
  Mat3 R_WS;
  int shape;
};

struct Surroundings {
  std::vector<DrawnTriangle> triangles, glass;  // opaque; and what is seen through
  std::vector<Floor> grounds;
  Vec3 center = Vec3::Zero();
  double radius = 1;  // [m] of all triangles about the centre
};

Surroundings place_all(const Model& model, const State& state, double pixels_per_meter) {
  Surroundings all;
  Vec3 low = Vec3::Constant(kInfinity), high = -low;
  for (const drawing::Item& item : drawing::place_shapes(model, state, pixels_per_meter)) {
    const int shape = static_cast<int>(item.shape - model.shapes.data());
    for (const Vec3& p : item.facets.vertices) {
      low = low.cwiseMin(p);
      high = high.cwiseMax(p);
    }
    for (const std::vector<int>& face : item.facets.faces) {
      for (std::size_t i = 1; i + 1 < face.size(); ++i) {
        const std::array<Vec3, 3> p = {item.facets.vertices[face[0]], item.facets.vertices[face[i]],
                                       item.facets.vertices[face[i + 1]]};
        const Vec3 normal = cross(p[1] - p[0], p[2] - p[0]);
        if (!(normal.norm() > 0)) continue;
        (item.shape->rgba[3] < 0.99f ? all.glass : all.triangles).push_back({p, normal.normalized(), shape});
      }
    }
  }
  if (!all.triangles.empty() || !all.glass.empty()) {
    all.center = 0.5 * (low + high);
    all.radius = std::max(1e-6, 0.5 * (high - low).norm());
  }
  Placement placement = make_placement(model);
  calc_placement(model, state.q, &placement);
  for (std::size_t i = 0; i < model.shapes.size(); ++i) {
    const ModelShape& shape = model.shapes[i];
    if (!std::holds_alternative<HalfSpace>(shape.shape) || shape.rgba[3] <= 0.05f) continue;
    const Transform X = placement.X_WL[shape.link] * shape.X_LS;
    all.grounds.push_back({X.p, X.R.col(2), X.R, static_cast<int>(i)});
  }
  return all;
}

Eye look(const ImageCamera& camera, int width, int height) {
  const Vec3 ahead = camera.target - camera.eye, right = cross(ahead, camera.up);
  if (!(right.norm() > 1e-9 * ahead.norm() * camera.up.norm()) || !right.allFinite())
    throw std::invalid_argument("the camera's eye, target and up are on one line; move one of them");
  if (!(camera.fov > 0.001 && camera.fov < 3.1))
    throw std::invalid_argument("the camera's fov must be 0.001 to 3.1 rad");
  Eye eye;
  eye.p_W = camera.eye;
  eye.R_EW.row(2) = ahead.normalized();
  eye.R_EW.row(0) = right.normalized();
  eye.R_EW.row(1) = cross(right, ahead).normalized();
  eye.f = 0.5 * height / std::tan(0.5 * camera.fov);
  eye.center = 0.5 * Vec2(width, height);
  return eye;
}

// As pictures in lines look: at all shapes.
Eye look_at_all(const Model& model, const State& state, const ImageOptions& o, int samples) {
  PictureOptions options;
  options.width = o.width * samples;
  options.height = o.height * samples;
  options.azimuth = o.azimuth;
  options.elevation = o.elevation;
  std::vector<Vec3> points;
  for (const drawing::Item& item : drawing::place_shapes(model, state, 0))
    points.insert(points.end(), item.facets.vertices.begin(), item.facets.vertices.end());
  const drawing::Camera camera = drawing::aim(points, options);
  Eye eye;
  eye.p_W = camera.eye_W();
  eye.R_EW = camera.R_CW;
  eye.R_EW.row(2) *= -1;
  eye.f = camera.scale * camera.distance;
  eye.center = camera.center;
  return eye;
}

// The lamp's view: what is behind the surface that it sees is in shadow.
class Shadows {
 public:
  Shadows(const Surroundings& all, bool on) : buffer_(on ? kShadowSize : 0, on ? kShadowSize : 0), on_(on) {
    const Vec3 side = cross(drawing::kLight, Vec3(1, 0, 0)).normalized();
    lamp_.R_EW.row(0) = side;
    lamp_.R_EW.row(1) = cross(side, drawing::kLight);
    lamp_.R_EW.row(2) = -drawing::kLight;
    lamp_.p_W = all.center + 4 * all.radius * drawing::kLight;
    lamp_.scale = 0.5 * kShadowSize / (1.01 * all.radius);
    lamp_.center = Vec2::Constant(0.5 * kShadowSize);
    slack_ = 4 / lamp_.scale;
    if (!on_) return;
    for (const DrawnTriangle& t : all.triangles) draw_nearest(lamp_, t, 0, 0, &buffer_);
  }
  double light(const Vec3& p_W) const {
    if (!on_) return 1;
    const Vec3 seen = lamp_.see(p_W);
    const Vec2 at = lamp_.project(seen);
    if (!(at.x() >= 0 && at.y() >= 0 && at.x() < kShadowSize && at.y() < kShadowSize)) return 1;
    const std::size_t i = std::size_t(at.y()) * kShadowSize + std::size_t(at.x());
    return seen.z() > buffer_.depth[i] + slack_ ? 0.25 : 1;
  }

 private:
  Eye lamp_;
  Buffer buffer_;
  double slack_ = 0;
  bool on_;
};

// Tiles, fading to the paper far away.
Color ground_color(const Floor& floor, const Vec3& p_W, double spacing, double fade, double light) {
  const Vec3 p = floor.R_WS.transpose() * (p_W - floor.p_W);
  const double sum = std::floor(p.x() / spacing) + std::floor(p.y() / spacing);
  const bool is_dark = std::fmod(std::abs(sum), 2) == 1;
  const Color tile = is_dark ? Color(0.86f, 0.885f, 0.92f) : Color(0.91f, 0.925f, 0.95f);
  const auto lit = static_cast<float>(0.62 + 0.38 * light);
  const auto t = static_cast<float>(std::clamp(fade, 0.0, 1.0));
  return (1 - t) * lit * tile + t * drawing::kPaper;
}

// Over all else, from far to near: the faces that look at the eye.
void draw_glass(const Model& model, const Eye& eye, const Surroundings& all, double near,
                const Buffer& buffer, std::vector<Color>* colors) {
  std::vector<std::pair<double, const DrawnTriangle*>> sorted;
  for (const DrawnTriangle& t : all.glass) {
    const Vec3 middle = (t.p_W[0] + t.p_W[1] + t.p_W[2]) / 3;
    if (t.normal_W.dot(eye.p_W - middle) > 0) sorted.emplace_back(-eye.see(middle).z(), &t);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [depth_of, triangle] : sorted) {
    const ModelShape& shape = model.shapes[triangle->shape];
    const Vec3 to_viewer = (eye.p_W - triangle->p_W[0]).normalized();
    const Color color = drawing::shade(drawing::base_color(model, shape), triangle->normal_W, to_viewer);
    const float alpha = shape.rgba[3];
    draw(eye, *triangle, near, buffer.width, buffer.height, [&](std::size_t at, float depth) {
      if (depth < buffer.depth[at]) (*colors)[at] = (1 - alpha) * (*colors)[at] + alpha * color;
    });
  }
}

}  // namespace

Image draw_image(const Model& model, const State& state, const ImageOptions& options) {
  const int samples = std::clamp(options.samples, 1, 4);
  const int width = options.width * samples, height = options.height * samples;
  const Eye eye =
      options.camera ? look(*options.camera, width, height) : look_at_all(model, state, options, samples);
  Surroundings all = place_all(model, state, 1);
  all = place_all(model, state, eye.f / std::max(1e-9, (all.center - eye.p_W).norm()) / samples);
  const double near = 1e-3 * all.radius;
  Buffer buffer(width, height);
  for (std::size_t i = 0; i < all.triangles.size(); ++i)
    draw_nearest(eye, all.triangles[i], static_cast<int>(i), near, &buffer);
  const Shadows shadows(all, options.shadows);
  const double raw = all.radius / 4, power = std::pow(10, std::floor(std::log10(raw)));
  const double spacing = power * (raw / power > 5 ? 5 : raw / power > 2 ? 2 : 1);

  Image image;
  image.width = options.width;
  image.height = options.height;
  const std::size_t pixels = std::size_t(options.width) * options.height;
  image.rgb.resize(3 * pixels);
  image.depth.assign(pixels, kFar);
  image.shapes.assign(pixels, -1);
  std::vector<Color> colors(std::size_t(width) * height);
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const Vec3 ray = eye.ray_W(column + 0.5, row + 0.5);
      const std::size_t at = std::size_t(row) * width + column;
      double depth = buffer.depth[at];
      const Floor* ground = nullptr;
      for (const Floor& g : all.grounds) {
        const double down = g.normal_W.dot(ray);
        if (!(down < 0)) continue;  // from below it is not seen
        const double d = g.normal_W.dot(g.p_W - eye.p_W) / down;
        if (d > near && d < depth) depth = d, ground = &g;
      }
      Color color = drawing::kPaper;
      int shape = -1;
      if (ground != nullptr) {
        const Vec3 p = eye.p_W + depth * ray;
        const double away = ((p - all.center).norm() - 2 * all.radius) / (6 * all.radius);
        color = ground_color(*ground, p, spacing, away, shadows.light(p));
        shape = ground->shape;
      } else if (buffer.triangle[at] >= 0) {
        const DrawnTriangle& t = all.triangles[buffer.triangle[at]];
        const Vec3 to_viewer = -ray.normalized();
        const Vec3 normal = t.normal_W.dot(to_viewer) >= 0 ? t.normal_W : Vec3(-t.normal_W);
        shape = t.shape;
        color = drawing::shade(drawing::base_color(model, model.shapes[shape]), normal, to_viewer,
                               shadows.light(eye.p_W + depth * ray));
      }
      colors[at] = color;
      buffer.depth[at] = static_cast<float>(depth);
      const std::size_t pixel = std::size_t(row / samples) * options.width + column / samples;
      if (row % samples == samples / 2 && column % samples == samples / 2) {
        image.depth[pixel] = static_cast<float>(depth);
        image.shapes[pixel] = shape;
      }
    }
  }
  draw_glass(model, eye, all, near, buffer, &colors);
  const float share = 255.0f / static_cast<float>(samples * samples);
  for (int row = 0; row < options.height; ++row) {
    for (int column = 0; column < options.width; ++column) {
      Color sum = Color::Zero();
      for (int i = 0; i < samples * samples; ++i)
        sum += colors[std::size_t(row * samples + i / samples) * width + column * samples + i % samples];
      for (int k = 0; k < 3; ++k)
        image.rgb[3 * (std::size_t(row) * options.width + column) + k] =
            static_cast<std::uint8_t>(std::clamp(share * sum[k], 0.0f, 255.0f) + 0.5f);
    }
  }
  return image;
}

}  // namespace capstan
