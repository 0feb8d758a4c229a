// The page that the viewer shows, and replays that need nothing but a browser: the page with a recording
// inside.
#pragma once

#include <string>

#include "viewer/view_data.h"

namespace capstan::viewer {

// The built page: $CAPSTAN_VIEWER_PAGE if set, else ../share/capstan/viewer/page.html from the program, else
// that of the build. Throws InputError, with what to do, when it has not been built.
std::string read_page();

// One self-contained HTML file. `frames` are frame messages in order of time.
std::string replay_html(const std::string& page, const Json& scene, const Json& frames);

}  // namespace capstan::viewer
