// Handshake: two processes prove to each other that they know this connection's key, before either sends anything else.
//
// Every process has a key, a random number that it publishes with its address: through the launcher to its job, and to
// processes of other jobs when they connect. The process that connects sends a Hello: its name, the number of a
// channel, and a challenge, with a hash of all three under the key of the process that listens. That process answers
// with a hash of the challenge. The key itself is never sent, so a process that happens to listen at the address of one
// that has ended learns nothing.
//
// Plain functions over plain values. Threads: any.
#pragma once

#include <cstdint>

#include "base/secret.hpp"

namespace hr::transport::tcp {

struct Hello {
  std::uint64_t magic;
  std::uint32_t name;     // of the sender (network/names.hpp)
  std::uint32_t channel;  // channel whose messages follow; 0: the transport itself
  Nonce challenge;
  std::uint64_t proof;
};
static_assert(sizeof(Hello) == 40);

struct Welcome {
  std::uint64_t magic;
  std::uint64_t proof;
};
static_assert(sizeof(Welcome) == 16);

// `key`: that of the process that listens.
[[nodiscard]] Hello make_hello(const Nonce& key, std::uint32_t name, std::uint32_t channel = 0);
// False if the sender of the Hello does not know the key.
[[nodiscard]] bool is_proven(const Nonce& key, const Hello& hello) noexcept;
[[nodiscard]] Welcome make_welcome(const Nonce& key, const Nonce& challenge);
// False if the sender of the Welcome does not know the key.
[[nodiscard]] bool is_proven(const Nonce& key, const Nonce& challenge, const Welcome& welcome) noexcept;

}  // namespace hr::transport::tcp
