#include "capstan/io/vtu_file.h"

#include <fmt/core.h>
#include <tinyxml2.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace capstan {
namespace {

using tinyxml2::XMLElement;

constexpr const char* kVtuRemedy = "write it as text: 'meshio ascii part.vtu', or DataMode Ascii in ParaView";
constexpr int kTet = 10, kQuadraticTet = 24;  // types of cells

std::string_view trimmed(const char* text) {
  std::string_view all = text != nullptr ? text : "";
  const auto begin = all.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return all.substr(begin, all.find_last_not_of(" \t\r\n") - begin + 1);
}

std::optional<std::vector<unsigned char>> decode_base64(std::string_view text) {
  std::vector<unsigned char> bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    if (c >= '0' && c <= '9') value = c - '0' + 52;
    if (c == '+') value = 62;
    if (c == '/') value = 63;
    if (value < 0) {
      if (c == '=') count = (count + 3) / 4 * 4;  // a part ends
      if (c == '=' || c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
      return std::nullopt;
    }
    bits = (bits << 6 | static_cast<unsigned>(value)) & 0xffffff;
    if (++count % 4 != 1)
      bytes.push_back(static_cast<unsigned char>(bits >> (6 - 2 * ((count - 1) % 4)) & 0xff));
  }
  return bytes;
}

template <class T>
void append_values(const std::vector<unsigned char>& bytes, std::size_t first, std::vector<double>* values) {
  for (std::size_t at = first; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    values->push_back(static_cast<double>(value));
  }
}

class VtuReader {
 public:
  VtuReader(const std::string& path, Diagnostics* diagnostics) : path_(path), diagnostics_(diagnostics) {}

  bool read(const std::string& text, TetMesh* mesh) {
    tinyxml2::XMLDocument document;
    if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS)
      return fail(document.ErrorLineNum(), "the file is no XML");
    const XMLElement* root = document.RootElement();
    if (root == nullptr || std::string_view(root->Name()) != "VTKFile")
      return fail(1, "the file is no VTKFile");
    if (!root->Attribute("type", "UnstructuredGrid"))
      return fail(root, fmt::format("the VTK file has a {}, not an UnstructuredGrid", word(root, "type")));
    if (root->Attribute("compressor")) return fail(root, "the VTK file is compressed");
    if (word(root, "byte_order") == "BigEndian")
      return fail(root, "the VTK file has bytes in the other order");
    header_bytes_ = word(root, "header_type") == "UInt64" ? 8 : 4;
    const XMLElement* grid = root->FirstChildElement("UnstructuredGrid");
    if (grid == nullptr) return fail(root, "the VTK file has no UnstructuredGrid");
    for (auto* piece = grid->FirstChildElement("Piece"); piece; piece = piece->NextSiblingElement("Piece")) {
      if (!read_piece(piece, mesh)) return false;
    }
    return true;
  }

 private:
  static std::string word(const XMLElement* element, const char* attribute) {
    const char* text = element->Attribute(attribute);
    return text != nullptr ? text : "";
  }
  bool fail(int line, const std::string& what) {
    diagnostics_->error({path_, line}, what, kVtuRemedy);
    return false;
  }
  bool fail(const XMLElement* element, const std::string& what) { return fail(element->GetLineNum(), what); }

  bool read_array(const XMLElement* array, std::vector<double>* values) {
    const std::string format = word(array, "format"), type = word(array, "type");
    const std::string_view text = trimmed(array->GetText());
    if (format == "ascii" || format.empty()) {
      for (const char *at = text.data(), *end = at + text.size(); at < end;) {
        double value = 0;
        const auto [next, problem] = std::from_chars(at, end, value);
        if (problem != std::errc())
          return fail(array,
                      fmt::format("DataArray '{}' has something else than numbers", word(array, "Name")));
        values->push_back(value);
        at = next;
        while (at < end && std::strchr(" \t\r\n", *at) != nullptr) ++at;
      }
      return true;
    }
    if (format != "binary") return fail(array, fmt::format("a DataArray has format '{}'", format));
    const auto bytes = decode_base64(text);
    if (!bytes || bytes->size() < header_bytes_) return fail(array, "a DataArray is no base64");
    if (type == "Float32")
      append_values<float>(*bytes, header_bytes_, values);
    else if (type == "Float64")
      append_values<double>(*bytes, header_bytes_, values);
    else if (type == "Int32")
      append_values<std::int32_t>(*bytes, header_bytes_, values);
    else if (type == "Int64")
      append_values<std::int64_t>(*bytes, header_bytes_, values);
    else if (type == "UInt8")
      append_values<std::uint8_t>(*bytes, header_bytes_, values);
    else
      return fail(array, fmt::format("a DataArray has type '{}'", type));
    return true;
  }

  bool read_named(const XMLElement* cells, const char* name, std::vector<double>* values) {
    for (auto* array = cells->FirstChildElement("DataArray"); array;
         array = array->NextSiblingElement("DataArray")) {
      if (word(array, "Name") == name) return read_array(array, values);
    }
    return fail(cells, fmt::format("the cells have no DataArray '{}'", name));
  }

  bool read_piece(const XMLElement* piece, TetMesh* mesh) {
    const XMLElement *points = piece->FirstChildElement("Points"), *cells = piece->FirstChildElement("Cells");
    const XMLElement* array = points != nullptr ? points->FirstChildElement("DataArray") : nullptr;
    if (array == nullptr || cells == nullptr) return fail(piece, "a piece has no points or no cells");
    std::vector<double> x, nodes, ends, types;
    if (!read_array(array, &x) || !read_named(cells, "connectivity", &nodes) ||
        !read_named(cells, "offsets", &ends) || !read_named(cells, "types", &types))
      return false;
    if (x.size() % 3 != 0) return fail(array, "the coordinates of points are not three each");
    if (ends.size() != types.size()) return fail(cells, "there are not as many types as cells");
    const int first = static_cast<int>(mesh->vertices.size()), count = static_cast<int>(x.size() / 3);
    for (int i = 0; i < count; ++i) mesh->vertices.push_back({x[3 * i], x[3 * i + 1], x[3 * i + 2]});
    double begin = 0;
    for (std::size_t c = 0; c < ends.size(); begin = ends[c++]) {
      if (!(begin >= 0 && ends[c] >= begin && ends[c] <= static_cast<double>(nodes.size())))
        return fail(cells, "offsets do not grow, or go beyond the nodes of cells");
      if ((types[c] != kTet && types[c] != kQuadraticTet) || ends[c] - begin < 4) continue;
      std::array<int, 4> tet;
      for (int k = 0; k < 4; ++k) {
        const double node = nodes[static_cast<std::size_t>(begin) + k];
        if (!(node >= 0 && node < count))
          return fail(cells, fmt::format("a tet has node {:g} of {}", node, count));
        tet[k] = first + static_cast<int>(node);
      }
      mesh->tets.push_back(tet);
    }
    return true;
  }

  std::string path_;
  Diagnostics* diagnostics_;
  std::size_t header_bytes_ = 4;
};

}  // namespace

bool read_vtu(const std::string& text, const std::string& path, TetMesh* mesh, Diagnostics* diagnostics) {
  return VtuReader(path, diagnostics).read(text, mesh);
}

}  // namespace capstan
