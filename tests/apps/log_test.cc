// Recordings: both formats hold the same bits, names and units, and survive a run that is killed.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "tests/apps/program.h"

namespace capstan::test {
namespace {

struct Table {
  std::vector<std::string> names;  // "time [s]"
  std::vector<std::vector<double>> rows;

  int column(const std::string& name) const {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<int>(i);
    }
    ADD_FAILURE() << "no column " << name;
    return 0;
  }
};

// RFC 4180, one record a line (no names with line breaks here).
std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"')
        fields.back() += line[i++];
      else
        quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

Table read_csv(const std::string& path) {
  Table table;
  std::istringstream lines(read_text(path));
  std::string line;
  std::getline(lines, line);
  table.names = split_csv(line);
  while (std::getline(lines, line)) {
    table.rows.emplace_back();
    for (const std::string& field : split_csv(line)) table.rows.back().push_back(std::stod(field));
  }
  return table;
}

std::vector<std::string> read_strings(hid_t object, const char* name) {
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  EXPECT_GE(attribute, 0) << name;
  const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
  const std::size_t width = H5Tget_size(type);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  std::vector<char> block(width * count);
  H5Aread(attribute, type, block.data());
  std::vector<std::string> strings;
  for (hssize_t i = 0; i < count; ++i) strings.emplace_back(block.data() + i * width);
  H5Sclose(space), H5Tclose(type), H5Aclose(attribute);
  return strings;
}

// Empty when the file cannot be opened.
Table read_hdf5(const std::string& path) {
  Table table;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return table;
  for (const char* name :
       {"time", "q", "v", "control", "activation", "energy", "momentum", "solver", "judge", "sensor"}) {
    if (H5Lexists(file, name, H5P_DEFAULT) <= 0) continue;
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(dataset);
    hsize_t size[2] = {0, 1};
    H5Sget_simple_extent_dims(space, size, nullptr);
    std::vector<double> block(size[0] * size[1]);
    EXPECT_GE(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, block.data()), 0) << name;
    const auto names = read_strings(dataset, "name"), units = read_strings(dataset, "unit");
    EXPECT_EQ(names.size(), size[1]);
    EXPECT_EQ(units.size(), size[1]);
    for (std::size_t i = 0; i < names.size(); ++i) table.names.push_back(names[i] + " [" + units[i] + "]");
    table.rows.resize(size[0]);
    for (hsize_t r = 0; r < size[0]; ++r) {
      for (hsize_t c = 0; c < size[1]; ++c) table.rows[r].push_back(block[r * size[1] + c]);
    }
    H5Sclose(space), H5Dclose(dataset);
  }
  H5Fclose(file);
  return table;
}

TEST(Log, CsvAndHdf5AgreeBitForBit) {
  const Folder folder;
  for (const std::string scene : {"double_pendulum", "gyroscope", "quadruped", "arm_reach"}) {
    const std::string run = "run " + scene + " --duration 0.1 --quiet --log-every 7 --log " + scene;
    ASSERT_EQ(folder.capstan(run + ".csv").code, 0);
    ASSERT_EQ(folder.capstan(run + ".h5").code, 0);
    const Table csv = read_csv(folder / (scene + ".csv")), hdf5 = read_hdf5(folder / (scene + ".h5"));
    EXPECT_EQ(csv.names, hdf5.names);
    EXPECT_GT(csv.rows.size(), 5u);
    EXPECT_EQ(csv.rows, hdf5.rows);
  }
}

// What follows a control of 2 from the start: a first-order filter 2 (1 - exp(-t / T)), a sum 2 t; those of a
// recording are the same, and columns are of actuators that have one.
TEST(Log, TellsActivations) {
  const Folder folder;
  std::ofstream(folder / "a.yaml")
      << "capstan: 1\noptions: {dt: 0.01, duration: 0.5, gravity: [0, 0, 0]}\n"
         "bodies: [{name: m, joint: {name: j, type: prismatic, axis: [1, 0, 0]}, shape: {type: sphere, "
         "radius: 0.1, mass: 1}}]\n"
         "actuators:\n"
         "  - {name: now, type: torque, joint: j, control: 1}\n"
         "  - {name: slow, type: torque, joint: j, control: 2, activation: {type: filter_exact, "
         "time_constant: 0.1}}\n"
         "  - {name: sum, type: torque, joint: j, control: 2, activation: {type: integrator}}\n";
  ASSERT_EQ(folder.capstan("run a.yaml --quiet --log a.csv --record a.capstan --record-every 1").code, 0);
  ASSERT_EQ(folder.capstan("run a.yaml --quiet --log a.h5").code, 0);
  ASSERT_EQ(folder.capstan("export a.capstan again.csv").code, 0);
  const Table table = read_csv(folder / "a.csv"), hdf5 = read_hdf5(folder / "a.h5");
  EXPECT_EQ(table.names, hdf5.names);
  EXPECT_EQ(table.rows, hdf5.rows);
  EXPECT_EQ(read_csv(folder / "again.csv").rows, table.rows);
  const int slow = table.column("slow.activation [1]"), sum = table.column("sum.activation [1]");
  EXPECT_EQ(std::count(table.names.begin(), table.names.end(), "now.activation [1]"), 0);
  ASSERT_EQ(table.rows.size(), 51u);
  for (const std::vector<double>& row : table.rows) {
    EXPECT_NEAR(row[slow], 2 * (1 - std::exp(-row[0] / 0.1)), 1e-12) << row[0];
    EXPECT_NEAR(row[sum], 2 * row[0], 1e-12);
  }
  // The log serves as a table of controls; its activations are not among them.
  EXPECT_EQ(folder.capstan("run a.yaml --quiet --controls a.csv").code, 0);
  const Outcome plot = folder.capstan("plot a.capstan --y activation --out a.svg");
  EXPECT_EQ(plot.code, 0) << plot.err;
  EXPECT_NE(read_text(folder / "a.svg").find("slow.activation"), std::string::npos);
}

// (p + p_around) V of a sealed gas stays what it was, while its body falls on the floor and is pressed.
TEST(Log, TellsPressureAndVolumeOfASealedGas) {
  const Folder folder;
  const Outcome outcome = folder.capstan("run " CAPSTAN_SOURCE_DIR
                                         "/tests/fuzz/corpus/yaml/gas.yaml --duration 0.2 --log gas.csv");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Table table = read_csv(folder / "gas.csv");
  const int pressure = table.column("shell.pressure [Pa]"), volume = table.column("shell.gas_volume [m^3]");
  ASSERT_GT(table.rows.size(), 30u);
  const double before = table.rows[0][volume];
  // The inner of two tets: 0.4 of an edge of sqrt(2) 0.1 m; an edge a has a^3 / (6 sqrt(2)).
  EXPECT_NEAR(before, std::pow(0.04 * std::sqrt(2.0), 3) / (6 * std::sqrt(2.0)), 1e-12);
  double least = before;
  for (const std::vector<double>& row : table.rows) {
    EXPECT_NEAR((row[pressure] + 1e5) * row[volume], (2000 + 1e5) * before, 1e-9 * 1e5 * before);
    least = std::min(least, row[volume]);
  }
  EXPECT_LT(least, 0.999 * before);
}

TEST(Log, FileAttributesSayWhatWasRun) {
  const Folder folder;
  ASSERT_EQ(
      folder.capstan("run gyroscope --duration 0.01 --dt 0.002 --integrator implicit_euler --log a.h5").code,
      0);
  const hid_t file = H5Fopen((folder / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  EXPECT_EQ(read_strings(file, "scene"), std::vector<std::string>{"gyroscope"});
  EXPECT_EQ(read_strings(file, "integrator"), std::vector<std::string>{"implicit_euler"});
  EXPECT_TRUE(read_strings(file, "version")[0].starts_with("capstan "));
  EXPECT_TRUE(read_strings(file, "file")[0].ends_with("gyroscope.yaml"));
  const hid_t attribute = H5Aopen(file, "dt", H5P_DEFAULT);
  double dt = 0;
  H5Aread(attribute, H5T_NATIVE_DOUBLE, &dt);
  EXPECT_EQ(dt, 0.002);
  H5Aclose(attribute), H5Fclose(file);
}

TEST(Log, NamesAndUnitsOfEveryJointType) {
  const Folder folder;
  write_text(folder / "all.yaml", R"(capstan: 1
name: all
options: {dt: 0.01, duration: 0.05}
bodies:
  - {name: a, joint: {name: hinge, type: revolute, axis: [0, 0, 1]}, shape: {type: sphere, radius: 0.1, collides: false}}
  - {name: b, joint: {name: slide, type: prismatic, axis: [0, 0, 1]}, shape: {type: sphere, radius: 0.1, collides: false}}
  - {name: c, joint: {name: ball, type: ball}, shape: {type: sphere, radius: 0.1, collides: false}}
  - {name: d, joint: {name: root, type: free}, shape: {type: sphere, radius: 0.1, collides: false}}
  - {name: e, joint: {name: 'odd, "name"', type: revolute, axis: [0, 0, 1]}, shape: {type: sphere, radius: 0.1, collides: false}}
)");
  ASSERT_EQ(folder.capstan("run all.yaml --log a.csv").code, 0);
  ASSERT_EQ(folder.capstan("run all.yaml --log a.h5").code, 0);
  const Table table = read_csv(folder / "a.csv");
  EXPECT_EQ(table.names, read_hdf5(folder / "a.h5").names);
  for (const char* name :
       {"time [s]", "hinge.q [rad]", "hinge.v [rad/s]", "slide.q [m]", "slide.v [m/s]", "ball.q.quat_w [1]",
        "ball.v.angular_z [rad/s]", "root.q.x [m]", "root.q.quat_z [1]", "root.v.z [m/s]",
        "odd, \"name\".q [rad]", "energy.total [J]", "angular_momentum.x [N m s]", "linear_momentum.z [N s]",
        "free_motion.residual [1]"}) {
    table.column(name);
  }
  // Free fall: v_z = -g t after every step; the quaternion stays the identity.
  for (const auto& row : table.rows) {
    EXPECT_NEAR(row[table.column("root.v.z [m/s]")], -9.81 * row[0], 1e-12);
    EXPECT_EQ(row[table.column("root.q.quat_w [1]")], 1);
  }
}

TEST(Log, FirstAndLastStateAreAlwaysThere) {
  const Folder folder;
  ASSERT_EQ(folder.capstan("run double_pendulum --dt 0.01 --duration 0.25 --log-every 10 --log a.csv").code,
            0);
  const Table table = read_csv(folder / "a.csv");
  ASSERT_EQ(table.rows.size(), 4u);
  const double expected[] = {0, 0.1, 0.2, 0.25};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(table.rows[i][0], expected[i], 1e-12);
  const int kinetic = table.column("energy.kinetic [J]");
  for (const auto& row : table.rows) {
    EXPECT_NEAR(row[kinetic] + row[kinetic + 1] + row[kinetic + 2], row[kinetic + 3], 1e-12);
  }
}

TEST(Log, AResumedRunLogsOnFromItsCheckpoint) {
  const Folder folder;
  ASSERT_EQ(folder.capstan("run gyroscope --duration 0.1 --log whole.csv").code, 0);
  ASSERT_EQ(folder.capstan("run gyroscope --duration 0.05 --log a.csv --checkpoint a.state").code, 0);
  ASSERT_EQ(folder.capstan("run gyroscope --duration 0.1 --log b.csv --resume a.state").code, 0);
  const Table whole = read_csv(folder / "whole.csv"), a = read_csv(folder / "a.csv"),
              b = read_csv(folder / "b.csv");
  ASSERT_EQ(whole.rows.size(), a.rows.size() + b.rows.size() - 1);
  for (std::size_t i = 0; i < a.rows.size(); ++i) EXPECT_EQ(a.rows[i], whole.rows[i]);
  for (std::size_t i = 1; i < b.rows.size(); ++i) EXPECT_EQ(b.rows[i], whole.rows[a.rows.size() - 1 + i]);
}

class Killed : public ::testing::TestWithParam<const char*> {};

TEST_P(Killed, LeavesAReadableLog) {
  const Folder folder;
  const std::string log = GetParam();
  // Every hundredth step: batches are written because of the time, not because they are full.
  const Started started(folder, {"run", "double_pendulum", "--dt", "0.001", "--duration", "1e6", "--log", log,
                                 "--log-every", "100"});
  ASSERT_TRUE(wait_for_batch(folder / log, 20'000));
  EXPECT_EQ(started.stop(SIGKILL), 128 + SIGKILL);
  const bool is_csv = log.ends_with(".csv");
  if (is_csv) {  // the kill may have cut the last line: the system does not finish a long write
    std::filesystem::resize_file(folder / log, read_text(folder / log).rfind('\n') + 1);
  }
  const Table table = is_csv ? read_csv(folder / log) : read_hdf5(folder / log);
  ASSERT_GT(table.rows.size(), 100u);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    EXPECT_NEAR(table.rows[i][0], 0.1 * static_cast<double>(i), 1e-6);
  }
}

// Every dataset of a file, bytes in the file's own types.
std::map<std::string, std::vector<char>> read_datasets(const std::string& path) {
  std::map<std::string, std::vector<char>> all;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  EXPECT_GE(file, 0) << path;
  if (file < 0) return all;
  H5G_info_t info;
  H5Gget_info(file, &info);
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    char name[256];
    H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    std::vector<char>& bytes = all[name];
    bytes.resize(H5Tget_size(type) * static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    EXPECT_GE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), 0) << name;
    H5Sclose(space), H5Tclose(type), H5Dclose(set);
  }
  H5Fclose(file);
  return all;
}

template <typename T>
std::vector<T> as(const std::vector<char>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

TEST(Hdf5Recording, IsWhatAnExportOfTheRecordingIs) {
  const Folder folder;
  ASSERT_EQ(folder.capstan("run clutter --duration 0.6 --record direct.h5 --quiet").code, 0);
  ASSERT_EQ(folder.capstan("run clutter --duration 0.6 --record a.capstan --quiet").code, 0);
  ASSERT_EQ(folder.capstan("export a.capstan exported.h5").code, 0);
  const Outcome none = folder.capstan("export a.capstan none.csv --from 700 --to 800");
  EXPECT_EQ(none.code, 64);
  EXPECT_NE(none.err.find("has no frame between --from 700 and --to 800"), std::string::npos) << none.err;
  const auto direct = read_datasets(folder / "direct.h5"), exported = read_datasets(folder / "exported.h5");
  ASSERT_EQ(direct.size(), exported.size());
  for (const auto& [name, bytes] : direct) EXPECT_EQ(bytes, exported.at(name)) << name;

  const auto begin = as<std::int64_t>(direct.at("contact_begin"));
  const auto force = as<float>(direct.at("contact_force"));
  ASSERT_EQ(begin.size(), 62u);
  EXPECT_EQ(begin.front(), 0);
  EXPECT_EQ(begin.back(), static_cast<std::int64_t>(force.size() / 3));
  EXPECT_GT(begin.back(), begin[60]);
  EXPECT_EQ(std::string(direct.at("shape_name").data()), "ball_0");
  const Outcome info = folder.capstan("info direct.h5");
  EXPECT_NE(info.out.find("frames        61"), std::string::npos) << info.out;
  for (const std::string command : {"view", "replay", "export", "plot"}) {
    const Outcome refused = folder.capstan(command + " direct.h5" + (command == "export" ? " a.html" : ""));
    EXPECT_EQ(refused.code, 2) << command;
    EXPECT_NE(refused.err.find("HDF5"), std::string::npos) << refused.err;
  }
}

TEST(Hdf5Recording, AKilledRunLeavesFramesWithTheirContacts) {
  const Folder folder;
  const Started started(folder,
                        {"run", "clutter", "--duration", "1e6", "--record", "a.h5", "--record-every", "10"});
  ASSERT_TRUE(wait_for_batch(folder / "a.h5", 100'000));
  EXPECT_EQ(started.stop(SIGKILL), 128 + SIGKILL);
  const auto sets = read_datasets(folder / "a.h5");
  const auto time = as<double>(sets.at("time"));
  const auto begin = as<std::int64_t>(sets.at("contact_begin"));
  ASSERT_GT(time.size(), 10u);
  ASSERT_EQ(begin.size(), time.size() + 1);
  EXPECT_EQ(sets.at("contact_distance").size(), sizeof(float) * static_cast<std::size_t>(begin.back()));
  for (std::size_t i = 0; i < time.size(); ++i) EXPECT_NEAR(time[i], 0.1 * static_cast<double>(i), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(BothKinds, Killed, ::testing::Values("a.csv", "a.h5"));

}  // namespace
}  // namespace capstan::test
