#include "transport/tcp/handshake.hpp"

#include <string_view>

namespace hr::transport::tcp {
namespace {

// Identify this protocol and its version.
constexpr std::uint64_t kHello = 0x314f4c4c45485248;    // "HRHELLO1"
constexpr std::uint64_t kWelcome = 0x31454d4f434c4557;  // "WELCOME1"

template <class Plain>
std::string_view bytes_of(const Plain& plain, std::size_t count = sizeof(Plain)) noexcept {
  return {reinterpret_cast<const char*>(&plain), count};
}

std::uint64_t proof_of(const Nonce& key, const Hello& hello) {
  return keyed_hash(key, bytes_of(hello, sizeof hello - sizeof hello.proof));
}

std::uint64_t proof_of(const Nonce& key, const Nonce& challenge) {
  // The hashed bytes differ in length from those of a Hello, so that its proof can never be taken for this one.
  return keyed_hash(key, bytes_of(challenge));
}

bool are_equal(std::uint64_t one, std::uint64_t other) noexcept {
  return equal_secrets(bytes_of(one), bytes_of(other));
}

}  // namespace

Hello make_hello(const Nonce& key, std::uint32_t name, std::uint32_t channel) {
  Hello made{kHello, name, channel, make_nonce(), 0};
  made.proof = proof_of(key, made);
  return made;
}

bool is_proven(const Nonce& key, const Hello& hello) noexcept {
  return hello.magic == kHello && are_equal(proof_of(key, hello), hello.proof);
}

Welcome make_welcome(const Nonce& key, const Nonce& challenge) { return {kWelcome, proof_of(key, challenge)}; }

bool is_proven(const Nonce& key, const Nonce& challenge, const Welcome& welcome) noexcept {
  return welcome.magic == kWelcome && are_equal(proof_of(key, challenge), welcome.proof);
}

}  // namespace hr::transport::tcp
