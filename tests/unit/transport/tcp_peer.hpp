// A socket that connects to the transport over TCP as rank 1 of a job of two, whose rank 0 is this process.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/network/address.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/interface.hpp"
#include "transport/tcp/tcp.hpp"

namespace hr::transport::tcp {

inline constexpr int kPeer = 1;

class TcpPeer {
 public:
  // `handlers`: the transport's handlers; must live as long as this object.
  explicit TcpPeer(const Handlers& handlers) {
    static const boot::Processes processes{"test", 0, {0, 1}};
    const Job job{.rank = 0, .size = 2, .processes = processes, .job_id = "test", .late = true};
    require(kRecord.create(job, handlers, &transport_).ok() && transport_->open().ok());
    std::string text;
    std::vector<std::byte> address;
    require(transport_->describe(&text).ok() && network::decode(std::string_view(text).substr(4), &address));
    require(network::split_secret(&address, &key_[1]) && network::split_secret(&address, &key_[0]));
    require(network::split_port(&address, &closed_port_) && read_address(address, &place_));
  }
  ~TcpPeer() { ::close(socket_); }
  TcpPeer(const TcpPeer&) = delete;
  TcpPeer& operator=(const TcpPeer&) = delete;

  [[nodiscard]] Transport& transport() noexcept { return *transport_; }
  [[nodiscard]] int socket() const noexcept { return socket_; }
  [[nodiscard]] const Nonce& key() const noexcept { return key_; }

  // Connects without a proof; returns the socket.
  [[nodiscard]] int dial() const {
    const int made = ::socket(place_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(::connect(made, reinterpret_cast<const sockaddr*>(&place_), length_of(place_)) == 0);
    return made;
  }
  // Connects with a proof, and waits for the answer.
  void connect() { socket_ = connect_to(0, nullptr); }
  // Connects with a proof to a channel. `*channel` may be null until this process has created it. Returns the socket.
  [[nodiscard]] int connect_to(std::uint32_t number, const std::unique_ptr<Transport>* channel) {
    const int made = dial();
    const Hello hello = make_hello(key_, kPeer, number);
    require(::send(made, &hello, sizeof hello, 0) == sizeof hello);
    Welcome welcome{};
    while (::recv(made, &welcome, sizeof welcome, MSG_DONTWAIT) != sizeof welcome) {
      transport_->progress();
      if (channel != nullptr && *channel != nullptr) (*channel)->progress();
    }
    require(is_proven(key_, hello.challenge, welcome));
    return made;
  }

 private:
  static void require(bool holds) {
    if (!holds) std::abort();
  }

  std::unique_ptr<Transport> transport_;
  Nonce key_{};
  sockaddr_storage place_{};
  std::uint16_t closed_port_ = 0;
  int socket_ = -1;
};

}  // namespace hr::transport::tcp
