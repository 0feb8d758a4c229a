#include "viewer/server.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/random.h>

#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <chrono>
#include <csignal>
#include <set>
#include <stdexcept>
#include <utility>

namespace capstan::viewer {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;
using Error = boost::system::error_code;

constexpr auto kHttpTimeout = std::chrono::seconds(10);
constexpr int kMaxHeaderBytes = 8192;

// In time that does not depend on where they differ.
bool same_token(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b[i % std::max<std::size_t>(1, b.size())]);
  }
  return difference == 0;
}

// "/path" and the value of token= of a request's target.
struct Target {
  std::string path, token;
};
Target parse_target(const std::string& text) {
  Target target;
  const std::size_t query = text.find('?');
  target.path = text.substr(0, query);
  if (query == std::string::npos) return target;
  const std::string rest = text.substr(query + 1);
  for (std::size_t begin = 0; begin <= rest.size();) {
    const std::size_t end = std::min(rest.find('&', begin), rest.size());
    const std::string part = rest.substr(begin, end - begin);
    if (part.starts_with("token=")) target.token = part.substr(6);
    begin = end + 1;
  }
  return target;
}

}  // namespace

TakenMessage take_message(const std::uint8_t* data, std::size_t size, Player* player) {
  try {
    const Json message = Json::from_msgpack(data, data + size, true, false);
    if (message.is_discarded()) return {false, "it is not msgpack"};
    if (message.is_object() && message.contains("command") && message["command"] == "seen") return {true, ""};
    return {false, player->command(message)};
  } catch (const std::exception& error) {
    return {false, error.what()};
  }
}

std::string random_token() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    throw std::runtime_error("the system gives no random numbers");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool host_fits(const std::string& host) {
  std::string name = host;
  if (name.starts_with('[')) {  // [::1]:8080
    name = name.substr(1, name.find(']') - 1);
  } else if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
    name.resize(colon);
  }
  Error not_an_address;
  asio::ip::make_address(name, not_an_address);
  if (!not_an_address) return true;
  const auto lower = [](std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
  };
  name = lower(name);
  Error no_name;
  const std::string own = lower(asio::ip::host_name(no_name)), label = own.substr(0, own.find('.'));
  return name == "localhost" ||
         (!no_name && !label.empty() && (name == own || name == label || name == label + ".local"));
}

std::string printable(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", byte);
    }
  }
  return result;
}

bool origin_fits(const std::string& origin, const std::string& host) {
  return !host.empty() && (origin == "http://" + host || origin == "https://" + host);
}

// What strangers can make the program say is bounded: it would fill a disk.
class BoundedLog {
 public:
  explicit BoundedLog(std::function<void(const std::string&)> log) : log_(std::move(log)) {}

  void operator()(const std::string& line) {
    const Clock::time_point now = Clock::now();
    allowed_ = std::min(kMaxLogBurst, allowed_ + std::chrono::duration<double>(now - last_).count());
    last_ = now;
    if (allowed_ < 1) {
      ++untold_;
      return;
    }
    allowed_ -= 1;
    if (untold_ > 0) log_(fmt::format("{} more lines were left out", std::exchange(untold_, 0)));
    log_(printable(line));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::function<void(const std::string&)> log_;
  double allowed_ = kMaxLogBurst;  // lines; another one each second
  long untold_ = 0;
  Clock::time_point last_ = Clock::now();
};

class Viewer;

// What all connections share.
struct Server::Hub {
  Hub(ServerOptions o, Player* p) : options(std::move(o)), player(p), acceptor(context), signals(context) {
    if (options.takes_signals) take_signals();
    options.log = BoundedLog(std::move(options.log));
  }

  void take_signals() {
    signals.add(SIGINT);
    signals.add(SIGTERM);
    struct sigaction hangup {};
    sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) signals.add(SIGHUP);  // nohup means what it says
    std::signal(SIGPIPE, SIG_IGN);  // a line of the log must not end it where who read the log is gone
  }
  void accept();
  void send_frame(const Message& message);
  void send_status(const Message& message);

  ServerOptions options;
  Player* player;
  std::set<Viewer*> viewers;
  bool had_viewer = false;
  int num_connections = 0;
  int signal = 0;
  asio::io_context context{1};  // after what its handlers use: it ends before them
  tcp::acceptor acceptor;
  asio::signal_set signals;
};

namespace {

// One more connection while it lives.
class Counted {
 public:
  explicit Counted(int* count) : count_(count) { ++*count_; }
  ~Counted() { --*count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  int* count_;
};

}  // namespace

// A WebSocket that watches.
class Viewer : public std::enable_shared_from_this<Viewer> {
 public:
  Viewer(beast::tcp_stream stream, Server::Hub* hub, std::shared_ptr<Counted> counted)
      : hub_(hub), counted_(std::move(counted)), socket_(std::move(stream)) {}
  ~Viewer() { hub_->viewers.erase(this); }

  void start(const http::request<http::empty_body>& request) {
    beast::get_lowest_layer(socket_).expires_never();
    auto timeout = websocket::stream_base::timeout::suggested(beast::role_type::server);
    timeout.idle_timeout = std::chrono::seconds(30);  // a ping is sent before; who does not answer is gone
    timeout.keep_alive_pings = true;
    socket_.set_option(timeout);
    socket_.read_message_max(kMaxCommandBytes);
    socket_.binary(true);
    socket_.auto_fragment(false);
    socket_.async_accept(request, [self = shared_from_this()](Error error) {
      if (error) return;
      self->hub_->viewers.insert(self.get());
      if (!std::exchange(self->hub_->had_viewer, true)) self->hub_->options.on_first_viewer();
      self->scene_ = self->hub_->player->scene();
      self->status_ = self->hub_->player->last_status();
      self->frame_ = self->hub_->player->last_frame();
      self->write();
      self->read();
    });
  }
  void send_frame(const Message& message) {
    frame_ = message;
    write();
  }
  void send_status(const Message& message) {
    status_ = message;
    write();
  }

 private:
  void write() {
    if (writing_) return;
    Message next;
    if (scene_) {
      next = std::exchange(scene_, nullptr);
    } else if (status_) {
      next = std::exchange(status_, nullptr);
    } else if (frame_ && unseen_ < kMaxUnseenFrames) {
      next = std::exchange(frame_, nullptr);
      ++unseen_;
    }
    if (!next) return;
    writing_ = true;
    socket_.async_write(asio::buffer(*next), [self = shared_from_this(), next](Error error, std::size_t) {
      self->writing_ = false;
      if (error) return self->hub_->viewers.erase(self.get()), void();
      self->write();
    });
  }
  void read() {
    socket_.async_read(buffer_, [self = shared_from_this()](Error error, std::size_t) {
      if (error) {
        if (error == websocket::error::message_too_big || error == websocket::error::buffer_overflow) {
          self->hub_->options.log("a viewer sent a message that is too long; it is disconnected");
        }
        self->hub_->viewers.erase(self.get());
        return;
      }
      self->take();
    });
  }
  void take() {
    const TakenMessage taken =
        take_message(static_cast<const std::uint8_t*>(buffer_.data().data()), buffer_.size(), hub_->player);
    buffer_.consume(buffer_.size());
    const std::string& wrong = taken.wrong;
    if (taken.seen) {
      unseen_ = std::max(0, unseen_ - 1);
      write();
    }
    if (!wrong.empty()) {
      hub_->options.log("a viewer's message is dropped: " + wrong);
      if (++malformed_ >= kMaxMalformed) {
        hub_->options.log("this viewer is disconnected");
        hub_->viewers.erase(this);
        socket_.async_close(websocket::close_code::policy_error, [self = shared_from_this()](Error) {});
        return;
      }
    }
    read();
  }

  Server::Hub* hub_;
  std::shared_ptr<Counted> counted_;
  websocket::stream<beast::tcp_stream> socket_;
  beast::flat_buffer buffer_{2 * kMaxCommandBytes};
  Message scene_, status_, frame_;  // to be sent; a newer one replaces an older one
  bool writing_ = false;
  int unseen_ = 0, malformed_ = 0;
};

namespace {

// One HTTP request, answered or turned into a Viewer.
class Request : public std::enable_shared_from_this<Request> {
 public:
  Request(tcp::socket socket, Server::Hub* hub)
      : hub_(hub), counted_(std::make_shared<Counted>(&hub_->num_connections)), stream_(std::move(socket)) {
    parser_.header_limit(kMaxHeaderBytes);
    parser_.body_limit(0);
  }
  void start() {
    stream_.expires_after(kHttpTimeout);
    http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](Error error, std::size_t) {
      if (!error) return self->handle();
      if (error != http::error::end_of_stream && error != beast::error::timeout) {
        self->hub_->options.log("a request is dropped: " + error.message());
      }
    });
  }

 private:
  void handle() {
    const auto& request = parser_.get();
    const Target target = parse_target(std::string(request.target()));
    const std::string host(request[http::field::host]), origin(request[http::field::origin]);
    if (target.path != "/" && target.path != "/ws")
      return answer(http::status::not_found, "There is nothing here.\n");
    if (!same_token(target.token, hub_->options.token)) {
      hub_->options.log("a request without the right token is refused");
      return answer(http::status::forbidden,
                    "Please use the whole address that capstan printed, with its token.\n");
    }
    if (!host_fits(host)) {
      hub_->options.log("a request for the host '" + host.substr(0, 80) + "' is refused");
      return answer(http::status::forbidden,
                    "Please use the address that capstan printed, with localhost or an IP address.\n");
    }
    if (!origin.empty() && !origin_fits(origin, host)) {
      hub_->options.log("a request from a foreign page is refused");
      return answer(http::status::forbidden, "Only capstan's own page may do this.\n");
    }
    if (target.path == "/") {
      if (request.method() != http::verb::get) return answer(http::status::method_not_allowed, "Only GET.\n");
      return answer(http::status::ok, hub_->options.page, "text/html; charset=utf-8");
    }
    if (!websocket::is_upgrade(request))
      return answer(http::status::upgrade_required, "This is a WebSocket.\n");
    if (static_cast<int>(hub_->viewers.size()) >= kMaxViewers) {
      hub_->options.log("there are too many viewers; one is refused");
      return answer(http::status::service_unavailable, "There are too many viewers.\n");
    }
    std::make_shared<Viewer>(std::move(stream_), hub_, counted_)->start(request);
  }
  void answer(http::status status, const std::string& body, const char* type = "text/plain; charset=utf-8") {
    response_.result(status);
    response_.version(11);
    response_.set(http::field::content_type, type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("Referrer-Policy", "no-referrer");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("X-Frame-Options", "DENY");
    response_.set(
        "Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self' ws: "
        "wss:; img-src data: blob:; font-src data:; frame-ancestors 'none'");
    response_.keep_alive(false);
    response_.body() = body;
    response_.prepare_payload();
    stream_.expires_after(kHttpTimeout);
    http::async_write(stream_, response_, [self = shared_from_this()](Error, std::size_t) {
      Error ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  Server::Hub* hub_;
  std::shared_ptr<Counted> counted_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMaxHeaderBytes};
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
};

}  // namespace

void Server::Hub::accept() {
  acceptor.async_accept([this](Error error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error && num_connections < kMaxConnections) {
      Error ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      std::make_shared<Request>(std::move(socket), this)->start();
    } else if (!error) {
      options.log("there are too many connections; one is refused");
    }
    accept();
  });
}

void Server::Hub::send_frame(const Message& message) {
  for (Viewer* viewer : std::set<Viewer*>(viewers)) viewer->send_frame(message);
}

void Server::Hub::send_status(const Message& message) {
  for (Viewer* viewer : std::set<Viewer*>(viewers)) viewer->send_status(message);
}

Server::Server(ServerOptions options, Player* player)
    : hub_(std::make_unique<Hub>(std::move(options), player)) {
  if (hub_->options.token.empty()) hub_->options.token = random_token();
  const std::string place = fmt::format("{} port {}", hub_->options.address, hub_->options.port);
  try {
    const tcp::endpoint endpoint(asio::ip::make_address(hub_->options.address), hub_->options.port);
    hub_->acceptor.open(endpoint.protocol());
    hub_->acceptor.set_option(asio::socket_base::reuse_address(true));
    hub_->acceptor.bind(endpoint);
    hub_->acceptor.listen();
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error(fmt::format("cannot listen on {}: {}", place, error.code().message()));
  }
  hub_->accept();
}

Server::~Server() = default;

unsigned short Server::port() const {
  return hub_->acceptor.local_endpoint().port();
}

std::string Server::url() const {
  const asio::ip::address address = hub_->acceptor.local_endpoint().address();
  const std::string host = address.is_unspecified() ? std::string("localhost")
                           : address.is_v6()        ? "[" + address.to_string() + "]"
                                                    : address.to_string();
  return fmt::format("http://{}:{}/?token={}", host, port(), hub_->options.token);
}

int Server::run() {
  if (hub_->options.takes_signals)
    hub_->signals.async_wait([hub = hub_.get()](Error error, int number) {
      if (error) return;
      hub->signal = number;
      hub->context.stop();
    });
  // The player's thread only leaves its newest messages here.
  struct Mail {
    std::mutex mutex;
    Message frame, status;
    bool waiting = false;
  };
  const auto mail = std::make_shared<Mail>();
  const auto deliver = [hub = hub_.get(), mail] {
    Message frame, status;
    {
      const std::lock_guard lock(mail->mutex);
      frame = std::exchange(mail->frame, nullptr);
      status = std::exchange(mail->status, nullptr);
      mail->waiting = false;
    }
    if (status) hub->send_status(status);
    if (frame) hub->send_frame(frame);
  };
  const auto leave = [hub = hub_.get(), mail, deliver](Message Mail::*slot, Message message) {
    const std::lock_guard lock(mail->mutex);
    (*mail).*slot = std::move(message);
    if (!std::exchange(mail->waiting, true)) asio::post(hub->context, deliver);
  };
  hub_->player->set_listener({[leave](Message m) { leave(&Mail::frame, std::move(m)); },
                              [leave](Message m) { leave(&Mail::status, std::move(m)); }});
  for (bool done = false; !done;) {
    try {
      hub_->context.run();
      done = true;
    } catch (const std::exception& error) {  // of one connection: the others and the simulation go on
      hub_->options.log(std::string("a connection failed: ") + error.what());
    }
  }
  hub_->player->set_listener({});
  return hub_->signal;
}

void Server::stop() {
  hub_->context.stop();
}

}  // namespace capstan::viewer
