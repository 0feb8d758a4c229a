#include "capstan/io/contact_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "capstan/io/log.h"
#include "capstan/io/output_file.h"

namespace capstan {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;
constexpr const char* kRegionNames[] = {"open", "stick", "slip"};

}  // namespace

ContactLog::ContactLog(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) throw OutputError(path, std::strerror(errno));
  text_ =
      "time [s],body_a,body_b,shape_a,shape_b,x [m],y [m],z [m],normal.x [1],normal.y [1],normal.z [1],"
      "distance [m],normal_force [N],friction.x [N],friction.y [N],friction.z [N],"
      "slip.x [m/s],slip.y [m/s],slip.z [m/s],region,kind,area [m^2],"
      "torque.x [N m],torque.y [N m],torque.z [N m]\n";
  write();
}

ContactLog::~ContactLog() {
  try {
    close();
  } catch (const OutputError&) {
  }
}

void ContactLog::append(const Model& model, double time, const Workspace& workspace) {
  calc_contact_forces(workspace, &forces_);
  for (const ContactForce& f : forces_) {
    const ModelShape &a = model.shapes[f.shape_a], &b = model.shapes[f.shape_b];
    auto out = std::back_inserter(text_);
    fmt::format_to(out, "{},{},{},{},{}", time, csv_field(model.bodies[a.body].name),
                   csv_field(model.bodies[b.body].name), csv_field(a.name), csv_field(b.name));
    const auto vector = [&](const Vec3& x) { fmt::format_to(out, ",{},{},{}", x.x(), x.y(), x.z()); };
    vector(f.p_W);
    vector(f.normal_W);
    fmt::format_to(out, ",{},{}", f.distance, f.normal_force);
    vector(f.friction_W);
    vector(f.slip_W);
    fmt::format_to(out, ",{},{},{}", kRegionNames[static_cast<int>(f.region)], contact_kind_name(f.kind),
                   f.area);
    vector(f.torque_W);
    text_ += '\n';
  }
  num_rows_ += static_cast<long>(forces_.size());
  if (text_.size() > kBufferBytes) write();
}

void ContactLog::close() {
  if (!file_) return;
  write();
  FILE* file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0) throw OutputError(path_, std::strerror(errno));
}

void ContactLog::write() {
  const bool good =
      std::fwrite(text_.data(), 1, text_.size(), file_) == text_.size() && std::fflush(file_) == 0;
  text_.clear();
  if (!good) throw OutputError(path_, std::strerror(errno));
}

}  // namespace capstan
