#include "capstan/io/picture.h"
namespace capstan {
std::string draw_picture(const Model&, const std::vector<State>&, const PictureOptions&) {
  return "";
}
}  // namespace capstan
