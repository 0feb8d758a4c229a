// The viewer's server under use and abuse, by a real WebSocket client: whatever a client does, the simulation
// goes on.
#include "viewer/server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <fstream>
#include <random>
#include <thread>

#include "capstan/io/read.h"

namespace capstan::viewer {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;

constexpr const char* kToken = "secret";

class Client {
 public:
  Client(unsigned short port, const std::string& token, const std::string& origin = "") : socket_(context_) {
    beast::get_lowest_layer(socket_).connect({asio::ip::make_address("127.0.0.1"), port});
    socket_.set_option(websocket::stream_base::decorator([origin](websocket::request_type& request) {
      if (!origin.empty()) request.set(http::field::origin, origin);
    }));
    socket_.binary(true);
    socket_.handshake("127.0.0.1:" + std::to_string(port), "/ws?token=" + token);
  }
  void send(const Json& message) { send(Json::to_msgpack(message)); }
  void send(const Bytes& bytes) { socket_.write(asio::buffer(bytes)); }
  // The next message of this type; frames are said to have been seen.
  Json next(const std::string& type) {
    for (int i = 0; i < 1000; ++i) {
      beast::flat_buffer buffer;
      socket_.read(buffer);
      const auto* begin = static_cast<const std::uint8_t*>(buffer.data().data());
      const Json message = Json::from_msgpack(begin, begin + buffer.size());
      if (message["type"] == "frame") send({{"command", "seen"}});
      if (message["type"] == type) return message;
    }
    throw std::runtime_error("no message of type " + type);
  }
  Json status(bool playing) {
    for (;;) {
      const Json message = next("status");
      if (message["playing"] == playing) return message;
    }
  }

 private:
  asio::io_context context_;
  websocket::stream<beast::tcp_stream> socket_;
};

std::string get(unsigned short port, const std::string& request) {
  asio::io_context context;
  tcp::socket socket(context);
  socket.connect({asio::ip::make_address("127.0.0.1"), port});
  boost::system::error_code error;
  asio::write(socket, asio::buffer(request), error);
  std::string answer;
  asio::read(socket, asio::dynamic_buffer(answer), error);
  return answer;
}

double poses_z(const Json& frame, int link) {
  const auto& bytes = frame["poses"].get_binary();
  float z;
  std::memcpy(&z, bytes.data() + (7 * (link - 1) + 2) * sizeof z, sizeof z);
  return z;
}

class ServerTest : public testing::Test {
 protected:
  explicit ServerTest(const std::string& scene = "clutter")
      : model_(compile(read_scene(CAPSTAN_SOURCE_DIR "/scenes/" + scene + ".yaml"))) {
    player_ = simulate_live(model_, step_options(model_), initial_state(model_));
    ServerOptions options;
    options.token = kToken;
    options.page = "<p>the page</p>";
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    };
    server_ = std::make_unique<Server>(options, player_.get());
    player_->start(false);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~ServerTest() override {
    server_->stop();
    thread_.join();
    player_->stop();
  }
  unsigned short port() const { return server_->port(); }
  std::string own_origin() const { return "http://127.0.0.1:" + std::to_string(port()); }
  int logged(const std::string& part) {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::count_if(log_.begin(), log_.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    }));
  }
  // Another viewer sees the simulation go on.
  void expect_alive() {
    Client client(port(), kToken);
    client.send({{"command", "play"}});
    client.status(true);
    const auto before = client.next("frame")["step"].get<long>();
    long after = before;
    for (int i = 0; i < 100 && after < before + 3; ++i) after = client.next("frame")["step"].get<long>();
    EXPECT_GE(after, before + 3);
  }

  Model model_;
  std::unique_ptr<Player> player_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

TEST_F(ServerTest, ServesThePageToThoseWithTheToken) {
  const std::string ok = get(port(), "GET /?token=secret HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(ok.find("200 OK"), std::string::npos) << ok;
  EXPECT_NE(ok.find("<p>the page</p>"), std::string::npos);
  EXPECT_NE(ok.find("Content-Security-Policy"), std::string::npos);
  for (const char* target :
       {"/", "/?token=", "/?token=secre", "/?token=secrets", "/?token=SECRET", "/?x=secret"}) {
    const std::string refused =
        get(port(), std::string("GET ") + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_NE(refused.find("403 Forbidden"), std::string::npos) << target << refused;
    EXPECT_EQ(refused.find("the page"), std::string::npos);
  }
  for (const char* target :
       {"/../../etc/passwd", "/etc/passwd?token=secret", "/%2e%2e/x?token=secret", "//?token=secret"}) {
    const std::string nothing =
        get(port(), std::string("GET ") + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_NE(nothing.find("404 Not Found"), std::string::npos) << target << nothing;
  }
}

TEST_F(ServerTest, RefusesWrongTokensAndForeignPages) {
  EXPECT_THROW(Client(port(), "wrong"), std::exception);
  EXPECT_THROW(Client(port(), kToken, "http://evil.example"), std::exception);
  EXPECT_THROW(Client(port(), kToken, "null"), std::exception);
  EXPECT_THROW(Client(port(), kToken, own_origin() + ".evil.example"), std::exception);
  EXPECT_NO_THROW(Client(port(), kToken, own_origin()));
  EXPECT_TRUE(origin_fits("http://localhost:9000", "localhost:9000"));  // through an ssh tunnel
  EXPECT_FALSE(origin_fits("http://localhost:9001", "localhost:9000"));
  EXPECT_FALSE(origin_fits("", ""));
}

TEST_F(ServerTest, PlaysPausesStepsAndResets) {
  Client client(port(), kToken, own_origin());
  EXPECT_EQ(client.next("scene")["name"], "clutter");
  EXPECT_EQ(client.next("frame")["step"], 0);
  client.send({{"command", "step"}});
  EXPECT_EQ(client.next("frame")["step"], 1);
  client.send({{"command", "play"}});
  client.status(true);
  while (client.next("frame")["step"] < 20) {
  }
  client.send({{"command", "pause"}});
  client.status(false);
  const long stopped = Json::from_msgpack(*player_->last_frame())["step"].get<long>();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(Json::from_msgpack(*player_->last_frame())["step"].get<long>(), stopped);
  client.send({{"command", "reset"}});
  client.status(false);
  EXPECT_EQ(Json::from_msgpack(*player_->last_frame())["step"], 0);
}

TEST_F(ServerTest, GoesBackAndOnThroughTheSameStates) {
  Client client(port(), kToken);
  for (int i = 0; i < 60; ++i) client.send({{"command", "step"}});
  Json end = client.next("frame");
  while (end["step"] != 60) end = client.next("frame");
  client.send({{"command", "seek"}, {"time", 0.2}});
  Json shown = client.next("frame");  // a moment near it: not every step is kept when many come at once
  EXPECT_LE(shown["time"], 0.2 + 1e-9);
  EXPECT_GT(shown["time"], 0.2 - 0.03);
  const Json status = Json::from_msgpack(*player_->last_status());
  EXPECT_EQ(status["history"][0], 0);
  EXPECT_NEAR(status["history"][1].get<double>(), 0.6, 1e-9);  // looking forgets nothing
  for (long i = shown["step"]; i < 60; ++i) client.send({{"command", "step"}});
  Json again = client.next("frame");
  while (again["step"] != 60) again = client.next("frame");
  EXPECT_EQ(again["poses"], end["poses"]);
  EXPECT_EQ(again["contacts"], end["contacts"]);

  client.send({{"command", "record"}, {"on", true}});  // it was not started so
  client.send({{"command", "seek"}});
  client.send({{"command", "step"}});
  while (client.next("frame")["step"] != 61) {
  }
  EXPECT_EQ(logged("not started with --record"), 1);
  EXPECT_EQ(logged("seek needs a time"), 1);
}

TEST_F(ServerTest, ADragLiftsABody) {
  Client client(port(), kToken);
  const double before = poses_z(client.next("frame"), 1);
  client.send({{"command", "drag"}, {"link", 1}, {"point", {0, 0, 0}}, {"target", {0, 0, before + 1}}});
  for (int i = 0; i < 100; ++i) client.send({{"command", "step"}});
  for (;;) {
    const Json frame = client.next("frame");
    if (frame["step"] < 100) continue;
    EXPECT_NEAR(poses_z(frame, 1), before + 1,
                0.1);  // its weight pulls the spring down by g / omega^2 = 2.8 cm
    EXPECT_GT(poses_z(frame, 1), before + 0.8);
    break;
  }
}

class RodServerTest : public ServerTest {
 protected:
  RodServerTest() : ServerTest("cable_and_bob") {}
};

// The middle of a cable, against the bob that swings it down; frames tell what its edges bear.
TEST_F(RodServerTest, ADragLiftsTheEdgeOfARod) {
  Client client(port(), kToken);
  const Json scene = client.next("scene");
  const int edges = scene["rods"][0]["num_links"].get<int>(),
            link = scene["rods"][0]["first_link"].get<int>() + edges / 2;
  const double before = poses_z(client.next("frame"), link);
  client.send(
      {{"command", "drag"}, {"link", link}, {"point", {0, 0, 0}}, {"target", {0.3, 0, before + 0.2}}});
  for (int i = 0; i < 150; ++i) client.send({{"command", "step"}});
  for (;;) {
    const Json frame = client.next("frame");
    ASSERT_EQ(frame["rods"].get_binary().size(), 3 * edges * sizeof(float));
    if (frame["step"] < 150) continue;
    EXPECT_GT(poses_z(frame, link), before - 0.02);  // without the drag it is 0.1 m lower
    float tension;
    std::memcpy(&tension, frame["rods"].get_binary().data() + 3 * (edges - 1) * sizeof tension,
                sizeof tension);
    EXPECT_GT(tension, 0.05);
    break;
  }
}

class SoftServerTest : public ServerTest {
 protected:
  explicit SoftServerTest(const std::string& scene = "soft_cantilever") : ServerTest(scene) {}

  struct Pull {
    double hangs, held, shakes, let_go;  // [m] above where it is at first
  };
  // What the node of the first soft body farthest in x and z does in 150 steps, in 150 more while it is
  // pulled to `above` where it is at first, within the last 20 of these, and in 150 after.
  Pull pull_tip(double above) {
    Client client(port(), kToken);
    const Json scene = client.next("scene");
    const Json& body = scene["soft_bodies"][0];
    const auto& bytes = body["rest"].get_binary();
    std::vector<float> rest(bytes.size() / sizeof(float));
    std::memcpy(rest.data(), bytes.data(), bytes.size());
    std::size_t tip = 0;
    for (std::size_t c = 0; 3 * c < rest.size(); ++c) {
      if (rest[3 * c] + rest[3 * c + 2] > rest[3 * tip] + rest[3 * tip + 2]) tip = c;
    }
    const int link = body["first_link"].get<int>() + static_cast<int>(tip);
    Json frame = client.next("frame");
    const double start = poses_z(frame, link);
    const auto x = [&](int axis) {
      float value;
      std::memcpy(&value, frame["poses"].get_binary().data() + (7 * (link - 1) + axis) * sizeof value,
                  sizeof value);
      return value;
    };
    const Json target = {x(0), x(1), start + above};
    int step = 0;
    const auto go = [&](int steps) {
      for (int i = 0; i < steps; ++i) client.send({{"command", "step"}});
      step += steps;
      do frame = client.next("frame");
      while (frame["step"] < step);
      return poses_z(frame, link) - start;
    };
    Pull pull{};
    pull.hangs = go(150);
    client.send({{"command", "drag"}, {"link", link}, {"point", {0, 0, 0}}, {"target", target}});
    pull.held = go(130);
    double low = pull.held, high = low;
    for (int i = 0; i < 20; ++i) {
      pull.held = go(1);
      low = std::min(low, pull.held), high = std::max(high, pull.held);
    }
    pull.shakes = high - low;
    client.send({{"command", "release"}});
    pull.let_go = go(150);
    std::printf("hangs at %.2f mm, held at %.2f mm, shakes by %.4f mm, let go %.2f mm\n", 1e3 * pull.hangs,
                1e3 * pull.held, 1e3 * pull.shakes, 1e3 * pull.let_go);
    return pull;
  }
};

// The tip of a soft cantilever hangs 15 mm down. (Pulled as a part of its links' mean mass it came up 0.14
// mm.)
TEST_F(SoftServerTest, ADragLiftsANodeOfASoftBody) {
  const Pull pull = pull_tip(0.02);
  EXPECT_NEAR(pull.hangs, -0.015, 5e-4);
  EXPECT_GT(pull.held - pull.hangs, 5e-3);
  EXPECT_LT(pull.held, 0.02);
  EXPECT_LT(pull.shakes, 1e-4);
  EXPECT_NEAR(pull.let_go, pull.hangs, 1e-4);
}

class GelServerTest : public SoftServerTest {
 protected:
  GelServerTest() : SoftServerTest("soft_stack") {}
};

// The corner of a cube of soft gel under a plate.
TEST_F(GelServerTest, ADragDoesNotShakeANodeOfGel) {
  const Pull pull = pull_tip(0.05);
  EXPECT_GT(pull.held - pull.hangs, 5e-4);
  EXPECT_LT(pull.shakes, 1e-3);
}

class BubbleServerTest : public SoftServerTest {
 protected:
  BubbleServerTest() : SoftServerTest("bubble_gripper") {}
};

// The thin wall of a bubble that is filled with gas.
TEST_F(BubbleServerTest, ADragDoesNotShakeANodeOfABubble) {
  EXPECT_LT(pull_tip(0.05).shakes, 1e-3);
}

TEST_F(ServerTest, MalformedMessagesAreDroppedWithALine) {
  Client client(port(), kToken);
  client.next("frame");
  const std::vector<Json> wrong = {
      nullptr,
      1,
      "play",
      Json::array(),
      Json::object(),
      {{"command", 5}},
      {{"command", "fly"}},
      {{"command", "speed"}},
      {{"command", "speed"}, {"value", NAN}},
      {{"command", "control"}, {"index", 0}, {"value", 1}},
      {{"command", "drag"}, {"link", 0}, {"point", {0, 0, 0}}, {"target", {0, 0, 1}}},
      {{"command", "drag"}, {"link", 1}, {"point", {0, 0}}, {"target", {0, 0, 1}}},
      {{"command", "drag"}, {"link", 1}, {"point", {0, 0, 0}}, {"target", {0, 0, 1e300}}},
      {{"command", "drag"}, {"link", -1}, {"point", {0, 0, 0}}, {"target", {0, 0, 1}}},
      {{"command", "joint"}, {"index", 4000000000u}, {"value", 1}},
      {{"command", "seek"}, {"time", "now"}}};
  for (const Json& message : wrong) client.send(message);
  client.send({{"command", "play"}});
  client.status(true);
  EXPECT_EQ(logged("is dropped"), static_cast<int>(wrong.size()));
}

// An index of any type, beside a command that has none: this once ended the server.
TEST_F(ServerTest, NoIndexEndsTheServer) {
  const std::unique_ptr<Player> idle = simulate_live(model_, step_options(model_), initial_state(model_));
  const std::vector<Json> indices = {"x",
                                     "x",
                                     nullptr,
                                     nullptr,
                                     1.5,
                                     Json::array({1}),
                                     Json::object(),
                                     true,
                                     -1,
                                     1e300,
                                     {{"a", 1}},
                                     Json::binary({1, 2}),
                                     3};
  for (const Json& index : indices) {
    EXPECT_EQ(idle->command({{"command", "seek"}, {"time", 0}, {"index", index}}), "") << index;
    EXPECT_EQ(idle->command({{"command", "seek"}, {"time", 0}}), "");
  }
  {
    Client client(port(), kToken);
    for (int i = 0; i < 200; ++i) {
      client.send({{"command", "seek"},
                   {"time", 0},
                   {"index", indices[static_cast<std::size_t>(i) % indices.size()]}});
    }
  }
  expect_alive();
}

// Commands that are well-formed in part, each key with values of every type.
TEST_F(ServerTest, RandomCommandsDoNotHarm) {
  std::mt19937 random(11);
  const std::vector<Json> values = {nullptr,
                                    true,
                                    0,
                                    1,
                                    -1,
                                    1.5,
                                    NAN,
                                    INFINITY,
                                    1e300,
                                    4000000000u,
                                    "x",
                                    "",
                                    Json::array(),
                                    Json::array({0, 0, 0}),
                                    Json::array({0, "x", 1}),
                                    Json::object(),
                                    std::numeric_limits<std::int64_t>::min()};
  const char* names[] = {"play",  "pause", "step",    "reset",  "speed", "seek", "control",
                         "joint", "drag",  "release", "record", "seen",  "fly"};
  const char* keys[] = {"index", "value", "time", "link", "point", "target", "on", "command"};
  const auto pick = [&](const auto& list) { return list[random() % std::size(list)]; };
  for (int trial = 0; trial < 60; ++trial) {
    try {
      Client client(port(), kToken);
      for (int i = 0; i < 40; ++i) {
        Json message = {{"command", pick(names)}};
        for (int k = 0; k < 4; ++k) message[pick(keys)] = pick(values);
        client.send(message);
      }
    } catch (const std::exception&) {  // disconnected
    }
  }
  expect_alive();
}

TEST_F(ServerTest, WhatAClientSaysIsEscapedInTheLog) {
  Client client(port(), kToken);
  client.send({{"command", "\x1b[2Jgone\nviewer: all is well"}});
  client.send({{"command", "play"}});
  client.status(true);
  EXPECT_EQ(logged("'\\x1b[2Jgone\\x0aviewer: all is well'"), 1);
  EXPECT_EQ(logged("\x1b"), 0);
  EXPECT_EQ(logged("\n"), 0);
  EXPECT_EQ(printable("\\ \xc2\x9b"), "\\x5c \\xc2\\x9b");
}

// A page whose name was made to lead here has that name in Host and Origin, which fit each other.
TEST_F(ServerTest, RefusesHostsThatOthersCanName) {
  const auto ask = [&](const std::string& host) {
    return get(port(),
               "GET /?token=secret HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host + "\r\n\r\n");
  };
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example", "x", "", "[evil]:80"}) {
    EXPECT_NE(ask(host).find("403 Forbidden"), std::string::npos) << host;
    EXPECT_FALSE(host_fits(host)) << host;
  }
  EXPECT_NE(get(port(), "GET /?token=secret HTTP/1.0\r\n\r\n").find("403 Forbidden"), std::string::npos);
  for (const char* host : {"127.0.0.1:8080", "localhost", "LocalHost:9000", "192.168.1.7:80", "[::1]:8080"}) {
    EXPECT_NE(ask(host).find("200 OK"), std::string::npos) << host;
  }
  EXPECT_TRUE(host_fits(asio::ip::host_name() + ":8080"));
}

TEST_F(ServerTest, RandomBytesDoNotHarm) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 8; ++trial) {
    try {
      Client client(port(), kToken);
      for (int i = 0; i < 40; ++i) {
        Bytes bytes(random() % 4000);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        if (trial == 0) std::fill(bytes.begin(), bytes.end(), 0x91);  // arrays within arrays
        client.send(bytes);
      }
      for (int i = 0; i < 100; ++i) client.next("frame");
      ADD_FAILURE() << "who sends " << kMaxMalformed << " such messages is to be disconnected";
    } catch (const std::exception&) {
    }
  }
  for (int trial = 0; trial < 20; ++trial) {  // not even HTTP
    std::string bytes(1000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    get(port(), bytes + "\r\n\r\n");
  }
  get(port(), "GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n");
  expect_alive();
}

// Without the token, too: who can connect must not fill the disk of the log.
TEST_F(ServerTest, StrangersDoNotFillTheLog) {
  const auto began = std::chrono::steady_clock::now();
  constexpr int kRequests = 400;
  for (int i = 0; i < kRequests; ++i) get(port(), "nonsense\r\n\r\n");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  EXPECT_GE(logged("is dropped"), kMaxLogBurst);
  EXPECT_LE(logged("is dropped"), kMaxLogBurst + seconds + 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  get(port(), "nonsense\r\n\r\n");
  EXPECT_GE(logged("more lines were left out"), 1);
  expect_alive();
}

TEST_F(ServerTest, AHugeMessageEndsItsConnectionOnly) {
  try {
    Client client(port(), kToken);
    client.send(Bytes(10'000'000, 0xc0));
    for (int i = 0; i < 100; ++i) client.next("frame");
    ADD_FAILURE() << "the connection goes on";
  } catch (const std::exception&) {
  }
  EXPECT_EQ(logged("too long"), 1);
  expect_alive();
}

long resident_kilobytes() {
  std::ifstream file("/proc/self/statm");
  long pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4;
}

TEST_F(ServerTest, ManyConnectionsAndOnesThatNeverReadCostLittle) {
  Client steering(port(), kToken);
  steering.send({{"command", "play"}});
  steering.status(true);
  const long before = resident_kilobytes();
  std::vector<std::unique_ptr<Client>> silent;
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    try {
      silent.push_back(std::make_unique<Client>(port(), kToken));
    } catch (const std::exception&) {
      ++refused;
    }
  }
  EXPECT_LE(static_cast<int>(silent.size()), kMaxViewers);
  EXPECT_EQ(static_cast<int>(silent.size()) + refused, 100);
  // They never read, while 100 frames go to the one that does.
  long step = 0;
  for (int i = 0; i < 100; ++i) {
    const long now = steering.next("frame")["step"].get<long>();
    EXPECT_GE(now, step);
    step = now;
  }
  EXPECT_GT(step, 20);
  EXPECT_LT(resident_kilobytes() - before, 64 * 1024);
}

// What sensors read is among the numbers that pages plot, by name, and goes back with the run.
TEST(LiveSensors, AreNumbersOfFrames) {
  Diagnostics diagnostics;
  const Scene scene = read_yaml_text(
      "capstan: 1\noptions: {dt: 0.01}\nbodies: [{name: b, joint: {type: prismatic, axis: [0, 0, 1]}, "
      "inertia: "
      "{mass: 1, moments: [1, 1, 1]}}]\nactuators: [{name: up, type: torque, joint: b, control: "
      "3}]\nsensors: "
      "[{name: speed, type: joint_velocity, joint: b}]\n",
      {}, &diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const Model model = compile(scene);
  const auto player =
      simulate_live(model, step_options(model), initial_state(model), {}, {}, logged_sensors(model, scene));
  ServerOptions options;
  options.token = kToken;
  int first = 0;
  options.on_first_viewer = [&] { first += player->command({{"command", "step"}}).empty(); };
  Server server(options, player.get());
  player->start(false);
  std::thread thread([&] { server.run(); });
  {
    Client client(server.port(), kToken);
    const Json names = client.next("scene")["numbers"];
    ASSERT_GE(names.size(), 2u);
    EXPECT_EQ(names[names.size() - 2]["name"], "speed");
    EXPECT_EQ(names[names.size() - 2]["unit"], "m/s");
    EXPECT_EQ(names[names.size() - 1]["name"], "up.force");
    const auto number = [&](const Json& frame, std::size_t from_end) {
      const auto& bytes = frame["numbers"].get_binary();
      double x;
      std::memcpy(&x, bytes.data() + bytes.size() - from_end * sizeof x, sizeof x);
      return x;
    };
    Json frame = client.next("frame");
    while (frame["step"] != 1) frame = client.next("frame");
    EXPECT_NEAR(number(frame, 2), (3 - 9.81) * 0.01, 1e-12);
    EXPECT_EQ(number(frame, 1), 3);
    Client second(server.port(), kToken);
    second.next("scene");
    client.send({{"command", "reset"}});
    do {
      frame = client.next("frame");
    } while (frame["step"] != 0);
    EXPECT_EQ(number(frame, 2), 0);
  }
  server.stop();
  thread.join();
  player->stop();
  EXPECT_EQ(first, 1);  // once, not for every page
}

TEST_F(ServerTest, WhoIsBehindGetsTheNewestFrame) {
  Client client(port(), kToken);
  client.next("frame");
  client.send({{"command", "play"}});
  client.status(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // about 36 frames that it does not take
  int steps_seen = 0;
  long last = 0;
  for (int i = 0; i < kMaxUnseenFrames + 1; ++i) {
    last = client.next("frame")["step"].get<long>();
    ++steps_seen;
  }
  EXPECT_GT(last, 2 * steps_seen);  // the ones between were forgotten
}

}  // namespace
}  // namespace capstan::viewer
