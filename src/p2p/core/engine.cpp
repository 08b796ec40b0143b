#include "p2p/core/engine.hpp"

#include <memory>
#include <new>

namespace hr::p2p {

Matcher& make_matcher(std::uint32_t context) {
  auto& matchers = the_engine->matchers;
  if (context >= kMostContexts) return the_engine->no_matcher;
  if (context >= matchers.size()) matchers.resize(context + 1);
  matchers[context] = std::make_unique<Matcher>();
  if (the_engine->failures != 0) matchers[context]->look_for_failures();
  return *matchers[context];
}

Peer& make_peer(int proc) {
  Peer*& entry = the_engine->peers[static_cast<std::size_t>(proc)];
  if (entry == &the_engine->unconnected) {
    entry = new Peer;
    entry->proc = proc;
  }
  return *entry;
}

// Stores unexpected messages in the engine's free blocks.
Unexpected* Unexpected::create(std::size_t payload_bytes) {
  const std::size_t bytes = sizeof(Unexpected) + payload_bytes;
  auto* message = ::new (take_block(bytes)) Unexpected;
  message->payload = reinterpret_cast<std::byte*>(message + 1);
  message->allocated = bytes;
  return message;
}

void Unexpected::destroy(Unexpected* message) noexcept {
  const std::size_t bytes = message->allocated;
  message->~Unexpected();
  give_back_block(message, bytes);
}

Engine::~Engine() {
  for (Peer* peer : peers) {
    if (peer != &unconnected) delete peer;
  }
}

}  // namespace hr::p2p
