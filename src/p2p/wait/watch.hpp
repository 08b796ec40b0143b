// Watch: runs a check in every round of progress. Rounds call it because it is in the list of transports, but it
// reaches no process. Threads: library lock.
#pragma once

#include "transport/transport.hpp"

namespace hr::p2p {

class Watch : public transport::Transport {
 public:
  [[nodiscard]] bool reaches(int /*proc*/) const noexcept final { return false; }
  [[nodiscard]] transport::Caps caps(int /*proc*/) const noexcept final { return {}; }
  Status connect(int /*proc*/) final { return Errc::kUnsupportedOperation; }
  Status send(int, const transport::Header&, const void*, std::size_t) final { return Errc::kUnsupportedOperation; }
  std::byte* reserve(int, std::size_t) final { return nullptr; }
  void commit(int, const transport::Header&) final {}
  Status finalize() final { return kOk; }
};

}  // namespace hr::p2p
