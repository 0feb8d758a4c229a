#include "capstan/io/tet_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "capstan/io/file.h"
#include "capstan/io/vtu_file.h"

namespace capstan {
namespace {

constexpr long kMaxTetFileBytes = 512L << 20;
constexpr long kMostTets = 10'000'000;

// Words of a text with the line that they are in.
class Words {
 public:
  Words(std::string_view text, std::string path, Diagnostics* diagnostics)
      : text_(text), path_(std::move(path)), diagnostics_(diagnostics) {}

  bool next(std::string_view* word) {
    while (at_ < text_.size() && is_blank(text_[at_])) line_ += text_[at_++] == '\n' ? 1 : 0;
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_])) ++at_;
    *word = text_.substr(begin, at_ - begin);
    return at_ > begin;
  }
  template <class T>
  bool number(T* value, const char* what) {
    std::string_view word;
    if (next(&word)) {
      const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), *value);
      if (problem == std::errc() && end == word.data() + word.size()) return true;
    }
    return fail(fmt::format("'{}' stands where {} is expected", word.substr(0, 40), what));
  }
  bool count(long* value, const char* what) {
    if (!number(value, what)) return false;
    // Each takes two characters at least: a file cannot have more than half of its bytes.
    if (*value >= 0 && *value <= static_cast<long>(text_.size())) return true;
    return fail(fmt::format("{} is {}, more than the file has room for", what, *value));
  }
  bool skip(long words) {
    std::string_view word;
    for (long i = 0; i < words; ++i) {
      if (!next(&word)) return fail("the file ends too early");
    }
    return true;
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }
  bool fail(const std::string& what) {
    diagnostics_->error({path_, line_}, what, "write the mesh anew, as text");
    return false;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  std::string_view text_;
  std::string path_;
  Diagnostics* diagnostics_;
  std::size_t at_ = 0;
  int line_ = 1;
};

using Numbers = std::unordered_map<long, int>;  // vertex of a node's tag

bool read_point(Words* words, Vec3* p) {
  for (int k = 0; k < 3; ++k) {
    if (!words->number(&(*p)[k], "a coordinate")) return false;
    if (!std::isfinite((*p)[k])) return words->fail(fmt::format("a coordinate is {}", (*p)[k]));
  }
  return true;
}

bool add_tet(Words* words, const long* tags, const Numbers& numbers, TetMesh* mesh) {
  std::array<int, 4> tet;
  for (int k = 0; k < 4; ++k) {
    const auto found = numbers.find(tags[k]);
    if (found == numbers.end())
      return words->fail(fmt::format("a tet has node {}, which is not there", tags[k]));
    tet[k] = found->second;
  }
  mesh->tets.push_back(tet);
  return true;
}

// Nodes of an element of Gmsh; 0: not one that solids are meshed with.
int nodes_of_type(int type) {
  constexpr int kNodes[] = {0, 2, 3, 4, 4, 8, 6, 5, 3, 6, 9, 10, 27, 18, 14, 1, 8, 20, 15, 13};
  return type >= 1 && type < 20 ? kNodes[type] : 0;
}
bool is_tet(int type) {
  return type == 4 || type == 11;
}

bool read_nodes(Words* words, bool is_old, Numbers* numbers, TetMesh* mesh) {
  const auto add = [&](long tag, const Vec3& p) {
    (*numbers)[tag] = static_cast<int>(mesh->vertices.size());
    mesh->vertices.push_back(p);
  };
  long count = 0, blocks = 0, unused = 0;
  Vec3 p;
  if (is_old) {
    if (!words->count(&count, "the number of nodes")) return false;
    for (long i = 0; i < count; ++i) {
      if (!words->number(&unused, "a node") || !read_point(words, &p)) return false;
      add(unused, p);
    }
    return true;
  }
  if (!words->count(&blocks, "the number of blocks") || !words->count(&count, "the number of nodes") ||
      !words->skip(2))
    return false;
  for (long b = 0; b < blocks; ++b) {
    long parametric = 0, size = 0;
    if (!words->skip(2) || !words->number(&parametric, "a flag") ||
        !words->count(&size, "the size of a block"))
      return false;
    if (parametric != 0) return words->fail("nodes are parametric");
    std::vector<long> tags(size);
    for (long& tag : tags) {
      if (!words->number(&tag, "a node")) return false;
    }
    for (const long tag : tags) {
      if (!read_point(words, &p)) return false;
      add(tag, p);
    }
  }
  return true;
}

bool read_elements(Words* words, bool is_old, const Numbers& numbers, TetMesh* mesh) {
  long tags[27];
  const auto read = [&](int type) {
    const int n = nodes_of_type(type);
    if (n == 0) return words->fail(fmt::format("an element has type {}, which is not known", type));
    for (int k = 0; k < n; ++k) {
      if (!words->number(&tags[k], "a node of an element")) return false;
    }
    return !is_tet(type) || add_tet(words, tags, numbers, mesh);
  };
  long count = 0, blocks = 0, type = 0, num_tags = 0;
  if (is_old) {
    if (!words->count(&count, "the number of elements")) return false;
    for (long i = 0; i < count; ++i) {
      if (!words->skip(1) || !words->number(&type, "a type") ||
          !words->count(&num_tags, "the number of tags") || !words->skip(num_tags) ||
          !read(static_cast<int>(type)))
        return false;
    }
    return true;
  }
  if (!words->count(&blocks, "the number of blocks") || !words->count(&count, "the number of elements") ||
      !words->skip(2))
    return false;
  for (long b = 0; b < blocks; ++b) {
    long size = 0;
    if (!words->skip(2) || !words->number(&type, "a type") || !words->count(&size, "the size of a block"))
      return false;
    for (long i = 0; i < size; ++i) {
      if (!words->skip(1) || !read(static_cast<int>(type))) return false;
    }
  }
  return true;
}

bool read_msh(Words* words, TetMesh* mesh) {
  Numbers numbers;
  bool is_old = false, has_format = false;
  for (std::string_view word; words->next(&word);) {
    if (word == "$MeshFormat") {
      double version = 0;
      long binary = 0;
      if (!words->number(&version, "a version") || !words->number(&binary, "the kind of file")) return false;
      if (binary != 0) return words->fail("the MSH file is binary");
      is_old = version < 3;
      has_format = true;
      if (!(version >= 2 && version < 3) && !(version >= 4.1 && version < 5))
        return words->fail(fmt::format("the MSH file has version {:g}; 2.2 and 4.1 are read", version));
    } else if (word == "$Nodes") {
      if (!read_nodes(words, is_old, &numbers, mesh)) return false;
    } else if (word == "$Elements") {
      if (!read_elements(words, is_old, numbers, mesh)) return false;
    }
  }
  return has_format || words->fail("the file has no $MeshFormat: it is no mesh of Gmsh");
}

bool read_vtk(Words* words, TetMesh* mesh) {
  words->skip_line();  // # vtk DataFile Version 3.0
  std::string_view word;
  std::vector<std::vector<long>> cells;
  Numbers numbers;
  for (bool is_text = false; words->next(&word);) {
    if (word == "ASCII") is_text = true;
    if (word == "BINARY") return words->fail("the VTK file is binary");
    if (word == "DATASET" && words->next(&word) && word != "UNSTRUCTURED_GRID")
      return words->fail(fmt::format("the VTK file has a {}, not an UNSTRUCTURED_GRID", word));
    long count = 0, size = 0;
    if (word == "POINTS" && is_text) {
      if (!words->count(&count, "the number of points") || !words->skip(1)) return false;
      for (long i = 0; i < count; ++i) {
        Vec3 p;
        if (!read_point(words, &p)) return false;
        numbers[i] = static_cast<int>(i);
        mesh->vertices.push_back(p);
      }
    } else if (word == "CELLS" && is_text) {
      if (!words->count(&count, "the number of cells") || !words->count(&size, "the size of cells"))
        return false;
      cells.resize(count);
      for (auto& cell : cells) {
        long n = 0;
        if (!words->count(&n, "the number of nodes of a cell")) return false;
        cell.resize(n);
        for (long& node : cell) {
          if (!words->number(&node, "a node of a cell (files of VTK 5.1 have none: write version 4.2)"))
            return false;
        }
      }
    } else if (word == "CELL_TYPES" && is_text) {
      if (!words->count(&count, "the number of cells")) return false;
      for (long i = 0; i < count; ++i) {
        long type = 0;
        if (!words->number(&type, "a type of cell")) return false;
        if ((type == 10 || type == 24) && i < static_cast<long>(cells.size()) && cells[i].size() >= 4 &&
            !add_tet(words, cells[i].data(), numbers, mesh))
          return false;
      }
    }
  }
  return true;
}

bool ends_with(const std::string& path, const char* ending) {
  const std::string_view end(ending);
  return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::shared_ptr<const TetMesh> read_tets(const std::string& path, double scale, const Source& referrer,
                                         Diagnostics* diagnostics) {
  const bool is_msh = ends_with(path, ".msh"), is_vtk = ends_with(path, ".vtk"),
             is_vtu = ends_with(path, ".vtu");
  if (!is_msh && !is_vtk && !is_vtu) {
    diagnostics->error(
        referrer, fmt::format("'{}' is no mesh of a solid that is known here", path),
        "give a .msh file of Gmsh, a .vtk or .vtu file, or the surface of the solid (.stl, .obj)");
    return nullptr;
  }
  std::string content;
  if (!read_file(path, kMaxTetFileBytes, "mesh", referrer, &content, diagnostics)) return nullptr;
  Words words(content, path, diagnostics);
  TetMesh mesh;
  if (!(is_msh   ? read_msh(&words, &mesh)
        : is_vtk ? read_vtk(&words, &mesh)
                 : read_vtu(content, path, &mesh, diagnostics)))
    return nullptr;
  if (mesh.tets.empty()) {
    diagnostics->error(referrer, fmt::format("mesh '{}' has no tets", path),
                       "mesh the volume, not the surface alone: gmsh -3");
    return nullptr;
  }
  if (static_cast<long>(mesh.tets.size()) > kMostTets) {
    diagnostics->error(referrer, fmt::format("mesh '{}' has {} tets", path, mesh.tets.size()),
                       "use a coarser mesh");
    return nullptr;
  }
  for (Vec3& x : mesh.vertices) x *= scale;
  if (!std::all_of(mesh.vertices.begin(), mesh.vertices.end(), [](const Vec3& x) { return x.allFinite(); })) {
    diagnostics->error(referrer, fmt::format("mesh '{}' has a vertex that is not finite", path),
                       "write the mesh anew, or another scale");
    return nullptr;
  }
  return std::make_shared<const TetMesh>(cleaned(mesh));
}

}  // namespace capstan
