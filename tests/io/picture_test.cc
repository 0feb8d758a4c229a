// Pictures and plots are well-formed SVG that shows what it should; images have each thing where a camera
// sees it. Nothing about their beauty is tested.
#include "capstan/io/picture.h"

#include <gtest/gtest.h>
#include <tinyxml2.h>

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include "capstan/io/image.h"
#include "capstan/io/plot.h"

namespace capstan::picture_test {
namespace {

Scene falling_ball() {
  Scene scene;
  scene.name = "a <ball> & \"floor\"";
  Body body;
  body.name = "ball";
  Joint joint;
  joint.name = "root";
  joint.type = JointType::free;
  body.joints = {joint};
  scene.bodies = {body};
  ShapeInstance ball;
  ball.name = "ball";
  ball.body = "ball";
  ball.shape = Sphere{0.1};
  ball.rgba = {1, 0, 0, 1};
  ShapeInstance floor;
  floor.name = "floor";
  floor.shape = HalfSpace{};
  scene.shapes = {ball, floor};
  return scene;
}

struct Drawing {
  tinyxml2::XMLDocument document;
  int num_paths = 0;
  double x_min = 1e9, x_max = -1e9, y_min = 1e9, y_max = -1e9;

  explicit Drawing(const std::string& svg) {
    EXPECT_EQ(document.Parse(svg.c_str()), tinyxml2::XML_SUCCESS) << document.ErrorStr();
    const std::function<void(const tinyxml2::XMLElement*)> visit = [&](const tinyxml2::XMLElement* element) {
      for (; element; element = element->NextSiblingElement()) {
        if (const char* d = element->Attribute("d")) {
          ++num_paths;
          std::string numbers = d;
          for (char& c : numbers) {
            if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = ' ';
          }
          std::istringstream stream(numbers);
          for (double x, y; stream >> x >> y;) {
            x_min = std::min(x_min, x), x_max = std::max(x_max, x);
            y_min = std::min(y_min, y), y_max = std::max(y_max, y);
          }
        }
        visit(element->FirstChildElement());
      }
    };
    visit(document.RootElement());
  }
};

TEST(Picture, IsWellFormedWhateverTheTitle) {
  const Model model = compile(falling_ball());
  PictureOptions options;
  options.title = "<&\"'>\x01";
  const Drawing drawing(draw_picture(model, {initial_state(model)}, options));
  EXPECT_GT(drawing.num_paths, 50);
  EXPECT_STREQ(drawing.document.RootElement()->Name(), "svg");
}

TEST(Picture, FitsTheShapesIntoTheFrame) {
  Scene scene = falling_ball();
  scene.shapes.pop_back();  // the floor may reach beyond the frame
  for (const double perspective : {0.0, 0.3}) {
    for (const double size : {1e-4, 1.0, 1e4}) {
      scene.shapes[0].shape = Box{Vec3(size, 2 * size, 0.5 * size)};
      const Model model = compile(scene);
      State moved = initial_state(model);
      moved.q[0] = 10 * size;
      PictureOptions options;
      options.perspective = perspective;
      const Drawing drawing(draw_picture(model, {initial_state(model), moved}, options));
      EXPECT_GE(drawing.x_min, 0);
      EXPECT_LE(drawing.x_max, options.width);
      EXPECT_GE(drawing.y_min, 0);
      EXPECT_LE(drawing.y_max, options.height);
      EXPECT_GT(drawing.x_max - drawing.x_min, 0.7 * options.width);  // and fills it
    }
  }
}

TEST(Picture, OnlyFacetsThatFaceTheViewerAreDrawn) {
  Scene scene = falling_ball();
  scene.shapes.pop_back();
  scene.shapes[0].shape = Box{Vec3(1, 1, 1)};
  const Model model = compile(scene);
  EXPECT_EQ(Drawing(draw_picture(model, {initial_state(model)})).num_paths, 3);
}

TEST(Picture, EarlierStatesAreOneOutlineForEachShape) {
  Scene scene = falling_ball();
  scene.shapes.pop_back();
  const Model model = compile(scene);
  const State state = initial_state(model);
  const int one = Drawing(draw_picture(model, {state})).num_paths;
  EXPECT_EQ(Drawing(draw_picture(model, {state, state, state})).num_paths, one + 2);
}

TEST(Picture, OfNothingIsEmptyButValid) {
  const Model model = compile(Scene{});
  EXPECT_EQ(Drawing(draw_picture(model, {})).num_paths, 0);
  EXPECT_EQ(Drawing(draw_picture(model, {initial_state(model)})).num_paths, 0);
}

TEST(Plot, TicksAreRoundAndCover) {
  for (const auto& [low, high] : {std::pair{0.0, 1.0}, {-3.7, 12.9}, {1e-9, 3e-9}, {-5e6, -4e6}}) {
    const std::vector<double> ticks = round_ticks(low, high, 5);
    EXPECT_LE(ticks.front(), low);
    EXPECT_GE(ticks.back(), high - 1e-9 * (high - low));
    EXPECT_GE(ticks.size(), 3u);
    EXPECT_LE(ticks.size(), 9u);
  }
}

TEST(Plot, SurvivesEmptyConstantAndNonFiniteSeries) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_GT(Drawing(draw_plot({}, {})).num_paths, 0);
  EXPECT_GT(Drawing(draw_plot({{"a", {0, 1}, {5, 5}}}, {})).num_paths, 0);
  const Drawing broken(draw_plot({{"<b>", {0, 1, 2, 3}, {1, nan, 2, 3}}}, {}));
  EXPECT_GE(broken.x_min, 0);
  EXPECT_LE(broken.x_max, 960);
}

TEST(Plot, LogTicksArePowersOfTen) {
  EXPECT_EQ(log_ticks(0.5, 2e3, 8), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_LE(log_ticks(1e-12, 1e12, 6).size(), 7u);
  const std::vector<double> short_axis = log_ticks(1.5, 30, 6);
  ASSERT_EQ(short_axis.size(), 4u);
  EXPECT_DOUBLE_EQ(short_axis[0], 2);
  EXPECT_DOUBLE_EQ(short_axis[3], 20);
}

TEST(Plot, LogAxisLeavesOutWhatHasNoLogarithm) {
  PlotOptions options;
  options.log_x = options.log_y = true;
  const Drawing drawing(
      draw_plot({{"a", {1, 10, 100}, {1e-6, 0, -1}}, {"b", {0, 10, 1000}, {1, 1e3, 1e5}}}, options));
  EXPECT_GE(drawing.x_min, 0);
  EXPECT_LE(drawing.x_max, 960);
  EXPECT_LE(drawing.y_max, 400);
}

// A peak of one point among 100,000 is drawn: the line's highest point is well above the rest.
TEST(Plot, LongLinesKeepTheirPeaks) {
  Series s{"a", {}, {}};
  for (int i = 0; i < 100000; ++i) s.x.push_back(i), s.y.push_back(i == 54321 ? 10 : 0);
  const std::string svg = draw_plot({s}, {});
  EXPECT_LT(svg.size(), 100000u);
  EXPECT_NE(svg.find(" 44.0L"), std::string::npos);  // the top of the plot
}

TEST(Plot, ArrangesPictures) {
  const std::string plot = draw_plot({}, {});
  const Drawing four(arrange({plot, plot, plot, plot}, 3, 960, 400));
  EXPECT_EQ(four.document.RootElement()->IntAttribute("width"), 3 * 960 + 2 * 6);
  EXPECT_EQ(four.document.RootElement()->IntAttribute("height"), 2 * 400 + 6);
}

// Row and column of a point of the world by the formula of image.h.
TEST(Image, CameraSeesThingsWhereTheyAre) {
  Scene scene = falling_ball();
  scene.shapes.push_back(scene.shapes[0]);  // a glass ball between the eye and the other one
  scene.shapes[2].name = "glass";
  scene.shapes[2].body = kWorld;
  scene.shapes[2].pose.position = {0, -1, 0.5};
  scene.shapes[2].rgba = {0, 0, 1, 0.5f};
  const Model model = compile(scene);
  State state = initial_state(model);
  state.q.head<3>() = Vec3(0.5, 0, 0.5);
  ImageOptions options;
  options.width = 101;
  options.height = 81;
  options.samples = 1;
  options.camera = ImageCamera{{0, -2, 0.5}, {0, 0, 0.5}, {0, 0, 1}, 0.7};
  const Image image = draw_image(model, state, options);
  const double f = 81 / (2 * std::tan(0.35));
  const auto at = [&](const Vec3& p) {  // the pixel of a point
    const double d = p.y() + 2;
    return static_cast<int>(40.5 - f * (p.z() - 0.5) / d) * 101 + static_cast<int>(50.5 + f * p.x() / d);
  };
  const int ball = at({0.5, 0, 0.5});
  EXPECT_EQ(image.shapes[ball], 0);
  EXPECT_NEAR(image.depth[ball], 2 * (1 - 0.1 / std::hypot(2, 0.5)), 2e-3);  // along the ray to its centre
  EXPECT_GT(image.rgb[3 * ball], 2 * image.rgb[3 * ball + 2]);               // red
  const int floor = at({-0.3, 0.5, 0});
  EXPECT_EQ(image.shapes[floor], 1);
  EXPECT_NEAR(image.depth[floor], 2.5, 0.06);  // a row is 5 cm there
  const int glass = at({0, -1, 0.5});
  EXPECT_NE(image.shapes[glass], 2);
  EXPECT_GT(image.rgb[3 * glass + 2],
            image.rgb[3 * glass] + 40);  // bluish, and behind it the paper or the floor
  EXPECT_EQ(image.shapes[0], -1);
  EXPECT_TRUE(std::isinf(image.depth[0]));
  options.camera->target = {0, -2, 3};  // along `up`
  EXPECT_THROW(draw_image(model, state, options), std::invalid_argument);
}

}  // namespace
}  // namespace capstan::picture_test
