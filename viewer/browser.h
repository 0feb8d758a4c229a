// Pictures and films by a headless Chromium, where it is installed.
#pragma once

#include <string>

namespace capstan::viewer {

// The browser's path: $CAPSTAN_CHROMIUM, or one of the usual names on the PATH; "" when there is none.
std::string find_browser();

// A folder of our own for files between programs, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Draws an SVG picture, or an HTML file of the viewer (`fragment` is what follows # in its address), to a PNG
// file. Throws OutputError when there is no browser or it fails.
void picture_of_svg(const std::string& svg, int width, int height, const std::string& png);
void picture_of_html(const std::string& html_file, const std::string& fragment, int width, int height,
                     const std::string& png);

// All frames of an HTML replay to a .mp4 or .gif file; needs node, the viewer's npm packages and ffmpeg, too.
void film_of_html(const std::string& html_file, const std::string& fragment, int width, int height,
                  double fps, const std::string& film);

}  // namespace capstan::viewer
