#include "viewer/html.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "capstan/io/file.h"
#include "capstan/io/recording_codec.h"

namespace capstan::viewer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlace = "<!--recording-->";  // of page.html, where the data goes
constexpr long kMaxPageBytes = 64L << 20;

std::string base64(const Bytes& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) { return k < bytes.size() ? std::uint32_t{bytes[k]} : 0u; };
    const std::uint32_t word = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (int k = 0; k < 4; ++k) {
      const bool padding = i + static_cast<std::size_t>(k) > bytes.size();
      text += padding ? '=' : kDigits[word >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

}  // namespace

std::string read_page() {
  fs::path path;
  if (const char* given = std::getenv("CAPSTAN_VIEWER_PAGE")) {
    path = given;
  } else {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    path = program.parent_path().parent_path() / "share/capstan/viewer/page.html";
    if (error || !fs::exists(path)) path = CAPSTAN_VIEWER_PAGE;
  }
  if (!fs::exists(path)) {
    throw InputError(
        Source{path, 0}, "the viewer's page has not been built",
        "install node and npm and build again ('make build' tells what is missing); everything but view and "
        ".html, .mp4 and .gif files works without it");
  }
  Diagnostics diagnostics;
  std::string page;
  if (!read_file(path, kMaxPageBytes, "page", {path, 0}, &page, &diagnostics)) throw InputError(diagnostics);
  return page;
}

std::string replay_html(const std::string& page, const Json& scene, const Json& frames) {
  const std::size_t place = page.find(kPlace);
  if (place == std::string::npos) throw std::runtime_error("the viewer's page has no place for a recording");
  const Json all = {{"scene", scene}, {"frames", frames}};
  const Bytes data = pack(Json::to_msgpack(all));
  std::string html = page;
  html.replace(place, std::string(kPlace).size(),
               "<script type=\"text/plain\" id=\"recording\">" + base64(data) + "</script>");
  return html;
}

}  // namespace capstan::viewer
