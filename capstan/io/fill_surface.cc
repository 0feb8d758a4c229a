#include "capstan/io/fill_surface.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "capstan/geometry/mesh_health.h"
#include "capstan/io/file.h"
#include "capstan/io/mesh_file.h"
#include "capstan/io/tet_file.h"

extern char** environ;

namespace capstan {
namespace {

namespace fs = std::filesystem;

constexpr double kCellsOfSide = 6;           // along the longest side, where no cell is given
constexpr double kMostTetsToMake = 2e5;      // as of generated meshes
constexpr double kTetsOfCell = 5;            // in the volume of a cube, about
constexpr double kLeastFilled = 0.5;         // of the volume: coarse cells cut off what is round
constexpr double kMostFilled = 1.02;         // likewise: cavities are empty
constexpr double kSharpDegrees = 40;         // between faces whose common edge is kept
constexpr std::size_t kMostOfMessage = 200;  // characters of what the program says

struct MesherFolder {
  std::string path = (fs::temp_directory_path() / "capstan_mesher_XXXXXX").string();
  bool is_there = ::mkdtemp(path.data()) != nullptr;
  ~MesherFolder() {
    std::error_code ignored;
    if (is_there) fs::remove_all(path, ignored);
  }
  std::string operator/(const char* name) const { return path + "/" + name; }
};

enum class Ending { well, badly, late, not_started };

// In a process group of its own, so that nothing of it is left where it takes too long.
Ending run_mesher(const std::vector<std::string>& arguments, const std::string& output) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Ending::not_started;
  constexpr int kWait = 20;  // [ms]
  int status = 0;
  for (int i = 0; i < 1000 / kWait * kMesherSeconds; ++i) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Ending::well : Ending::badly;
    if (ended < 0 && errno != EINTR) return Ending::badly;
    ::poll(nullptr, 0, kWait);
  }
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  return Ending::late;
}

// The last line with "rror" in it, or the last of all.
std::string complaint_of(const std::string& output) {
  std::ifstream file(output);
  std::string last, error;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    last = line;
    if (line.find("rror") != std::string::npos) error = line;
  }
  return (error.empty() ? last : error).substr(0, kMostOfMessage);
}

// Text, with coordinates over `size` from `origin`.
std::string stl_of(const TriangleMesh& mesh, const Vec3& origin, double size) {
  std::string text = "solid surface\n";
  for (const auto& triangle : mesh.triangles) {
    text += "facet normal 0 0 0\nouter loop\n";
    for (const int k : triangle) {
      const Vec3 x = (mesh.vertices[k] - origin) / size;
      text += fmt::format("vertex {:.17g} {:.17g} {:.17g}\n", x.x(), x.y(), x.z());
    }
    text += "endloop\nendfacet\n";
  }
  return text + "endsolid surface\n";
}

std::string gmsh_script(double cell) {
  return fmt::format(
      "General.NumThreads = 1;\nMesh.Binary = 0;\nMesh.MeshSizeExtendFromBoundary = 0;\n"
      "Mesh.MeshSizeMin = {0:.17g};\nMesh.MeshSizeMax = {0:.17g};\nMerge \"surface.stl\";\n"
      "ClassifySurfaces{{{1:g} * Pi / 180, 1, 1, Pi}};\nCreateGeometry;\n"
      "Surface Loop(1) = Surface{{:}};\nVolume(1) = {{1}};\n",
      cell, kSharpDegrees);
}

bool write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  return static_cast<bool>(file << text << std::flush);
}

// Runs the program on a surface whose longest side is 1. The path of the mesh, or "" with the reason.
std::string make_mesh(const std::string& mesher, const std::string& stl, double cell,
                      const MesherFolder& folder, std::string* reason) {
  const std::string name = fs::path(mesher).filename().string();
  const bool is_tetgen = name.find("tetgen") != std::string::npos;
  const std::string made = folder / (is_tetgen ? "surface.1.vtk" : "solid.msh"),
                    output = folder / "output.txt";
  if (!write_text(folder / "surface.stl", stl) ||
      (!is_tetgen && !write_text(folder / "fill.geo", gmsh_script(cell)))) {
    *reason = "its temporary folder cannot be written";
    return "";
  }
  const std::vector<std::string> gmsh = {
      mesher, "-3", "-nt", "1", "-format", "msh22", "-o", made, folder / "fill.geo"};
  const std::vector<std::string> tetgen = {
      mesher, fmt::format("-pq1.5a{:.12f}kQ", cell * cell * cell / kTetsOfCell), folder / "surface.stl"};
  const Ending ending = run_mesher(is_tetgen ? tetgen : gmsh, output);
  if (ending == Ending::late) *reason = fmt::format("it took longer than {} s", kMesherSeconds);
  if (ending == Ending::not_started) *reason = "it cannot be started";
  if (ending == Ending::badly) *reason = fmt::format("it failed: '{}'", complaint_of(output));
  if (ending == Ending::well && !fs::exists(made))
    *reason = fmt::format("it made no mesh: '{}'", complaint_of(output));
  return reason->empty() ? made : "";
}

}  // namespace

bool is_surface_file(const std::string& path) {
  const std::string extension = lower_extension(path);
  return extension == ".obj" || extension == ".stl" || extension == ".dae";
}

std::string find_mesher() {
  const auto in_path = [](const std::string& name) -> std::string {
    if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string candidate = folder + "/" + name;
      if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return "";
  };
  if (const char* given = std::getenv("CAPSTAN_MESHER"); given && *given)
    return std::strcmp(given, "none") == 0 ? "" : in_path(given);
  const std::string gmsh = in_path("gmsh");
  return gmsh.empty() ? in_path("tetgen") : gmsh;
}

std::shared_ptr<const TetMesh> fill_surface(const std::string& path, double scale, double cell,
                                            const Source& referrer, Diagnostics* diagnostics) {
  const auto read = read_mesh(path, Vec3::Constant(scale), referrer, kMaxMeshTriangles, diagnostics);
  if (!read) return nullptr;
  const TriangleMesh surface = repair_mesh(*read, path, referrer, diagnostics);
  if (surface.triangles.empty()) return nullptr;
  const MeshFindings findings = examine_mesh(surface);
  if (!findings.closed()) {
    report_findings(findings, path, referrer, true, diagnostics);
    return nullptr;
  }
  Vec3 lower = surface.vertices[0], upper = lower;
  for (const Vec3& x : surface.vertices) lower = lower.cwiseMin(x), upper = upper.cwiseMax(x);
  const double size = (upper - lower).maxCoeff(), length = cell > 0 ? cell : size / kCellsOfSide;
  const double tets = kTetsOfCell * findings.volume / (length * length * length);
  if (!(tets <= kMostTetsToMake)) {
    diagnostics->error(
        referrer, fmt::format("'{}' would have {:.3g} tets; {:g} is the most", path, tets, kMostTetsToMake),
        "write a larger 'cell'");
    return nullptr;
  }
  const std::string mesher = find_mesher();
  if (mesher.empty()) {
    diagnostics->error(
        referrer,
        fmt::format("'{}' is a surface, and there is no program here that fills it with tets", path),
        "install Gmsh ('apt install gmsh') or TetGen, name one in CAPSTAN_MESHER, or give a .msh, .vtk or "
        ".vtu "
        "file of a solid");
    return nullptr;
  }
  const MesherFolder folder;
  std::string reason;
  const std::string made =
      folder.is_there ? make_mesh(mesher, stl_of(surface, lower, size), length / size, folder, &reason)
                      : (reason = "there is no temporary folder");
  std::shared_ptr<const TetMesh> solid;
  if (reason.empty()) {
    Diagnostics of_file;
    solid = read_tets(made, size, referrer, &of_file);
    if (!solid && !of_file.list.empty()) reason = "its mesh cannot be used: " + of_file.list[0].what;
  }
  double volume = 0;
  for (int i = 0; solid && i < static_cast<int>(solid->tets.size()); ++i) volume += tet_volume(*solid, i);
  if (solid && !(volume > kLeastFilled * findings.volume && volume < kMostFilled * findings.volume)) {
    reason = fmt::format("it filled {:.4g} m^3 of {:.4g} m^3", volume, findings.volume);
  }
  if (!reason.empty()) {
    diagnostics->error(
        referrer, fmt::format("'{}' was not filled by {}: {}", path, mesher, reason),
        "try a smaller 'cell', see that the surface does not cut itself, or fill it elsewhere and give "
        "the .msh, .vtk or .vtu file");
    return nullptr;
  }
  TetMesh placed = *solid;
  for (Vec3& x : placed.vertices) x += lower;
  return std::make_shared<const TetMesh>(std::move(placed));
}

}  // namespace capstan
