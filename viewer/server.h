// Serves the viewer's page and its WebSocket. One thread does all of the network; the player has its own.
//
// Safety: only the page is served, from memory. Every request needs the token of the address, a Host that no
// foreign page can be at (see host_fits) and an Origin, if it has one, that is the page's own. Requests and
// messages are limited in size, connections in number; what is malformed is dropped with a line in the log,
// in which a client's text is escaped and which has no more than so many lines in a second, and who sends
// much of it is disconnected. No message ends the server. A viewer has at most kMaxUnseenFrames frames that
// it has not said to have seen: the newest waits, older ones are forgotten, so that a slow viewer costs
// nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "viewer/player.h"

namespace capstan::viewer {

inline constexpr int kMaxUnseenFrames = 3;
inline constexpr int kMaxViewers = 32;
inline constexpr int kMaxConnections = 64;
inline constexpr int kMaxCommandBytes = 4096;
inline constexpr int kMaxMalformed = 20;     // messages of one connection
inline constexpr double kMaxLogBurst = 100;  // lines of the log; after that one each second

struct ServerOptions {
  std::string address = "127.0.0.1";
  unsigned short port = 0;  // 0: any that is free
  std::string token;        // "": a random one
  std::string page;
  bool takes_signals = true;  // SIGINT, SIGTERM and SIGHUP end run(); false: they are someone else's
  std::function<void()> on_first_viewer = [] {};  // from the server's thread, once
  std::function<void(const std::string&)> log = [](const std::string&) {};
};

class Server {
 public:
  // Listens at once; throws std::runtime_error when the address or port cannot be had.
  Server(ServerOptions options, Player* player);
  ~Server();
  std::string url() const;
  unsigned short port() const;
  // Until stop() is called, or SIGINT, SIGTERM or SIGHUP comes (its number is returned).
  int run();
  void stop();  // from any thread

  struct Hub;

 private:
  std::unique_ptr<Hub> hub_;
};

// Carries out one message of a viewer (msgpack), or has the player do it. Never throws.
struct TakenMessage {
  bool seen = false;  // it says that a frame was seen; the player has no part in that
  std::string wrong;  // why it is dropped, or ""
};
TakenMessage take_message(const std::uint8_t* data, std::size_t size, Player* player);

// 128 random bits in hexadecimal digits, from the system.
std::string random_token();

// Whether the Host of a request is a name of this machine that nobody else can give to it: an address, or
// localhost, or the machine's own name. A foreign page whose name was made to lead here (DNS rebinding) has
// its own name in Host and in Origin alike.
bool host_fits(const std::string& host);

// The text with all but printable ASCII as \xNN: nothing that a terminal would obey.
std::string printable(const std::string& text);

// Whether a page of this Origin may talk to a server that was asked for by this Host: both name the same
// place.
bool origin_fits(const std::string& origin, const std::string& host);

}  // namespace capstan::viewer
