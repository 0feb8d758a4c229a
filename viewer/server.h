// Serves the viewer's page and its WebSocket. One thread does all of the network; the player has its own.
//
// Safety: only the page is served, from memory. Every request needs the token of the address; a WebSocket
// also needs an Origin, if it has one, that is the page's own. Requests and messages are limited in size,
// connections in number; what is malformed is dropped with a line in the log, and who sends much of it is
// disconnected. A viewer has at most kMaxUnseenFrames frames that it has not said to have seen: the newest
// waits, older ones are forgotten, so that a slow viewer costs nothing.
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
inline constexpr int kMaxMalformed = 20;  // messages of one connection

struct ServerOptions {
  std::string address = "127.0.0.1";
  unsigned short port = 0;  // 0: any that is free
  std::string token;        // "": a random one
  std::string page;
  std::function<void(const std::string&)> log = [](const std::string&) {};
};

class Server {
 public:
  // Listens at once; throws std::runtime_error when the address or port cannot be had.
  Server(ServerOptions options, Player* player);
  ~Server();
  std::string url() const;
  unsigned short port() const;
  // Until stop() is called, or SIGINT or SIGTERM comes (its number is returned).
  int run();
  void stop();  // from any thread

  struct Hub;

 private:
  std::unique_ptr<Hub> hub_;
};

// 128 random bits in hexadecimal digits, from the system.
std::string random_token();

// Whether a page of this Origin may talk to a server that was asked for by this Host: both name the same
// place.
bool origin_fits(const std::string& origin, const std::string& host);

}  // namespace capstan::viewer
