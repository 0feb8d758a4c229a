// 'capstan view' as a process: what strangers send to its port, and where its log goes.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/apps/program.h"

namespace capstan::view_test {
namespace {

using namespace test;

// The port that a server has printed the address of; 0: not within 20 s.
int port_in(const std::string& path) {
  if (!wait_for_size(path, 0)) return 0;
  const std::string text = read_text(path), before = "http://127.0.0.1:";
  const std::size_t at = text.find(before);
  return at == std::string::npos ? 0 : std::stoi(text.substr(at + before.size()));
}

// Sends a request; false when there was nobody to take it. The answer is waited for, 10 s at most.
bool send_to(int port, const std::string& request) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience = {10, 0};
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char answer[200];
  const bool taken = connect(s, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                     send(s, request.data(), request.size(), MSG_NOSIGNAL) > 0 &&
                     recv(s, answer, sizeof answer, 0) >= 0;
  close(s);
  return taken;
}

// A server whose stderr is a pipe of this test.
class ViewTest : public testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ / "page.html", "<p>a page</p>");
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    log_ = ends[0];
    const std::string page = folder_ / "page.html", out = folder_ / "out";
    pid_ = fork();
    if (pid_ == 0) {
      setenv("CAPSTAN_VIEWER_PAGE", page.c_str(), 1);
      const int file = open(out.c_str(), O_CREAT | O_WRONLY, 0600);
      if (dup2(file, STDOUT_FILENO) < 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(127);
      close(ends[0]);
      execl(program().c_str(), "capstan", "view", "double_pendulum", "--port", "0", "--token", "t", nullptr);
      _exit(127);
    }
    close(ends[1]);
    port_ = port_in(out);
    ASSERT_GT(port_, 0);
  }
  void TearDown() override {
    if (log_ >= 0) close(log_);
    kill(pid_, SIGTERM);
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  void expect_page() const {
    EXPECT_TRUE(send_to(port_, "GET /?token=t HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  }

  const Folder folder_;
  pid_t pid_ = -1;
  int log_ = -1, port_ = 0;
};

TEST_F(ViewTest, GoesOnWhenWhoReadItsLogIsGone) {
  close(log_);
  log_ = -1;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(send_to(port_, "nonsense\r\n\r\n")) << i;
  expect_page();
}

TEST_F(ViewTest, GoesOnWhenNobodyReadsItsLog) {
  ASSERT_EQ(fcntl(log_, F_SETPIPE_SZ, 4096), 4096);  // 35 lines of these
  const std::string request = "GET /?token=t HTTP/1.1\r\nHost: " + std::string(100, 'a') + "\r\n\r\n";
  for (int i = 0; i < 90; ++i) ASSERT_TRUE(send_to(port_, request)) << i;
  expect_page();
}

}  // namespace
}  // namespace capstan::view_test
