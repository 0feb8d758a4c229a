#include "capstan/io/rigid_dump.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "capstan/io/file.h"

namespace capstan {
namespace {

using Json = nlohmann::ordered_json;

constexpr long kMostBytes = 1L << 30;
constexpr int kMostRows = 20000;

// JSON has no infinity: null.
Json bound(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
double bound(const Json& value, double infinite) {
  return value.is_null() ? infinite : value.get<double>();
}

Json list(const VecX& x) {
  return Json(std::vector<double>(x.begin(), x.end()));
}
Json list(const Vec3& x) {
  return Json{x.x(), x.y(), x.z()};
}

VecX read_list(const Json& j, int size) {
  const auto values = j.get<std::vector<double>>();
  if (static_cast<int>(values.size()) != size)
    throw std::runtime_error("a list of " + std::to_string(values.size()) + " numbers should have " +
                             std::to_string(size));
  for (const double value : values) {
    if (!std::isfinite(value)) throw std::runtime_error("a number is not finite");
  }
  return VecX::Map(values.data(), size);
}

Json block_json(const RigidBlock& b) {
  if (b.is_contact())
    return {{"row", b.row},
            {"friction", b.mu},
            {"gap", b.gap},
            {"restitution", b.restitution},
            {"threshold", b.threshold},
            {"before", list(b.before)}};
  return {{"row", b.row},
          {"lower", bound(b.lower)},
          {"upper", bound(b.upper)},
          {"v_hat", b.v_hat},
          {"R", b.compliance}};
}

RigidBlock read_block(const Json& j, bool is_contact, int rows) {
  RigidBlock b;
  b.row = j.at("row").get<int>();
  b.num_rows = is_contact ? 3 : 1;
  if (b.row < 0 || b.row + b.num_rows > rows) throw std::runtime_error("a row is beyond the matrix");
  if (is_contact) {
    b.mu = j.at("friction").get<double>();
    b.gap = j.at("gap").get<double>();
    b.restitution = j.at("restitution").get<double>();
    b.threshold = j.at("threshold").get<double>();
    b.before = read_list(j.at("before"), 3);
    if (!(b.mu >= 0)) throw std::runtime_error("a friction is below 0");
  } else {
    const double infinity = std::numeric_limits<double>::infinity();
    b.lower = bound(j.at("lower"), -infinity);
    b.upper = bound(j.at("upper"), infinity);
    b.v_hat = j.at("v_hat").get<double>();
    b.compliance = j.at("R").get<double>();
    if (!(b.lower <= b.upper) || !(b.compliance >= 0))
      throw std::runtime_error("bounds or R of a scalar are wrong");
  }
  return b;
}

RigidDump parse(const std::string& text) {
  const Json j = Json::parse(text);
  if (j.at("capstan_rigid_problem").get<int>() != 1)
    throw std::runtime_error("another version of the format");
  RigidDump dump;
  dump.scene = j.at("scene").get<std::string>();
  dump.step = j.at("step").get<long>();
  dump.time = j.at("time").get<double>();
  dump.dt = j.at("dt").get<double>();
  if (!(dump.dt > 0)) throw std::runtime_error("dt is not above 0");
  const int n = static_cast<int>(j.at("free").size());
  if (n > kMostRows || j.at("W").size() != j.at("free").size())
    throw std::runtime_error("W and free have different sizes, or too many rows");
  dump.free = read_list(j.at("free"), n);
  dump.W.resize(n, n);
  for (int i = 0; i < n; ++i) dump.W.row(i) = read_list(j.at("W").at(i), n).transpose();
  for (const Json& c : j.at("contacts")) dump.blocks.push_back(read_block(c, true, n));
  for (const Json& s : j.at("scalars")) dump.blocks.push_back(read_block(s, false, n));
  return dump;
}

}  // namespace

int RigidDump::num_contacts() const {
  return static_cast<int>(
      std::count_if(blocks.begin(), blocks.end(), [](const RigidBlock& b) { return b.is_contact(); }));
}

RigidDump make_dump(const RigidProblem& problem) {
  RigidDump dump;
  dump.dt = problem.dt();
  dump.W = problem.calc_W();
  dump.W.diagonal() -= problem.R;
  dump.W = 0.5 * (dump.W + dump.W.transpose()).eval();
  dump.free = problem.free;
  dump.blocks = problem.blocks;
  return dump;
}

// A factor J of W: eigenvectors times the roots of what is above rounding.
RigidProblem RigidDump::make(const RigidOptions& options) const {
  const Eigen::SelfAdjointEigenSolver<MatX> eigen(W);
  const double largest = W.rows() > 0 ? std::max(eigen.eigenvalues().maxCoeff(), 0.0) : 0;
  int first = 0;
  while (first < W.rows() && eigen.eigenvalues()[first] <= 1e-14 * largest) ++first;
  const long rank = W.rows() - first;
  const MatX J =
      eigen.eigenvectors().rightCols(rank) * eigen.eigenvalues().tail(rank).cwiseSqrt().asDiagonal();
  return RigidProblem(J, free, dt, blocks, options);
}

std::string to_json(const RigidDump& dump) {
  Json j;
  j["capstan_rigid_problem"] = 1;
  j["scene"] = dump.scene;
  j["step"] = dump.step;
  j["time"] = dump.time;
  j["dt"] = dump.dt;
  j["contacts"] = Json::array();
  j["scalars"] = Json::array();
  for (const RigidBlock& b : dump.blocks) j[b.is_contact() ? "contacts" : "scalars"].push_back(block_json(b));
  j["free"] = list(dump.free);
  j["W"] = Json::array();
  for (int i = 0; i < dump.W.rows(); ++i) j["W"].push_back(list(VecX(dump.W.row(i).transpose())));
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

RigidDump read_rigid_dump(const std::string& path) {
  Diagnostics diagnostics;
  std::string text;
  if (!read_file(path, kMostBytes, "problem", Source{path, 0}, &text, &diagnostics))
    throw InputError(std::move(diagnostics));
  try {
    return parse(text);
  } catch (const std::exception& error) {
    throw InputError(
        Source{path, 0},
        std::string("this is no problem of rigid contact that 'capstan compare' wrote: ") + error.what(),
        "write it anew with 'capstan compare SCENE --dump FOLDER'");
  }
}

}  // namespace capstan
